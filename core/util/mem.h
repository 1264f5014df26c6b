/* SPDX-License-Identifier: MIT */
/*
 * The four functions that a compiler may call where the source has no call, and that the host defines.  The functions
 * are declared here because a bare 32-bit target has no <string.h>.
 */
#ifndef UPMU_CORE_MEM_H
#define UPMU_CORE_MEM_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

/* With -ffreestanding a compiler makes a small copy by moves, without a call, only if it sees the builtin. */
#define memcpy __builtin_memcpy
#define memset __builtin_memset

#endif
