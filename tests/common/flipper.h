/* SPDX-License-Identifier: MIT */
/*
 * A byte that changes all the time: another thread writes it, to and fro.
 */
#ifndef UPMU_TESTS_COMMON_FLIPPER_H
#define UPMU_TESTS_COMMON_FLIPPER_H

#include <stdint.h>

/* From now on the byte is now what it is, now `value`; flipper_end(): it is what it was. */
void flipper_begin(uint8_t *at, uint8_t value);
void flipper_end(void);

#endif
