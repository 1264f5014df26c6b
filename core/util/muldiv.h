/* SPDX-License-Identifier: MIT */
/* 64-bit arithmetic without the compiler's division, which is a call of its library on 32-bit targets. */
#ifndef UPMU_CORE_MULDIV_H
#define UPMU_CORE_MULDIV_H

#include <stdint.h>
#include <upmu/abi.h>

/*
 * Return value × numerator / denominator, rounded down, at most UINT64_MAX.  If the denominator is 0, the result is
 * UINT64_MAX.
 */
uint64_t upmu_muldiv(uint64_t value, uint64_t numerator, uint64_t denominator);

/* Return value + more, at most UINT64_MAX. */
static inline uint64_t upmu_add_saturating(uint64_t value, uint64_t more)
{
    return value + more < more ? UINT64_MAX : value + more;
}

/* Return value + more, at most UINT32_MAX. */
static inline uint32_t upmu_add_saturating_32(uint32_t value, uint32_t more)
{
    return value + more < more ? UINT32_MAX : value + more;
}

#endif
