/* SPDX-License-Identifier: MIT */
/*
 * The four functions that a compiler may call on its own and that the host
 * provides; there is no <string.h> on a bare 32-bit target.
 */
#ifndef UPMU_CORE_MEM_H
#define UPMU_CORE_MEM_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

/* With -ffreestanding only the builtins let a compiler do small copies in place. */
#define memcpy __builtin_memcpy
#define memset __builtin_memset

#endif
