/* SPDX-License-Identifier: MIT */
/*
 * 64-bit arithmetic without the compiler's division.
 */
#ifndef UPMU_CORE_MULDIV_H
#define UPMU_CORE_MULDIV_H

#include <stdint.h>

/* dividend / divisor; *out_rest what is left.  A divisor of 0 gives all ones. */
uint64_t upmu_divide(uint64_t dividend, uint64_t divisor, uint64_t *out_rest);

/* value × numerator / denominator, saturating.  A denominator of 0 saturates. */
uint64_t upmu_muldiv(uint64_t value, uint64_t numerator, uint64_t denominator);

#endif
