/* SPDX-License-Identifier: MIT */
/* 64-bit arithmetic without the compiler's division, by shifts and subtractions. */
#include "core/util/muldiv.h"
#include "core/util/apart.h"

/*
 * Return the quotient of high:low and a divisor that is greater than `high`, so that the quotient fits into 64 bits;
 * *out_rest gets the remainder.
 */
static UPMU_APART uint64_t divide_wide(uint64_t high, uint64_t low, uint64_t divisor, uint64_t *out_rest)
{
    for (unsigned i = 0; i < 64; i++) {
        uint64_t carry = high >> 63;

        high = high << 1 | low >> 63;
        low <<= 1;
        if (carry || high >= divisor) {
            high -= divisor;
            low |= 1;
        }
    }
    *out_rest = high;
    return low;
}

uint64_t upmu_divide(uint64_t dividend, uint64_t divisor, uint64_t *out_rest)
{
    if (divisor)
        return divide_wide(0, dividend, divisor, out_rest);
    *out_rest = 0;
    return ~UINT64_C(0);
}

uint64_t upmu_muldiv(uint64_t value, uint64_t numerator, uint64_t denominator)
{
    uint64_t a1 = value >> 32, a0 = value & 0xffffffffu;
    uint64_t b1 = numerator >> 32, b0 = numerator & 0xffffffffu;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    uint64_t middle2 = a0 * b1 + (middle & 0xffffffffu);
    uint64_t high = a1 * b1 + (middle >> 32) + (middle2 >> 32);
    uint64_t rest;

    if (high >= denominator)
        return ~UINT64_C(0);
    return divide_wide(high, value * numerator, denominator, &rest);
}
