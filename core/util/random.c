/* SPDX-License-Identifier: MIT */
/*
 * The random generator (core/util/random.h).  Pure.
 */
#include "core/util/random.h"

/* Used in place of a state of 0, which the shifts would keep for ever. */
#define SEED_OF_ZERO UINT64_C(0x9e3779b97f4a7c15)
/* The multiplier that Vigna gives for the shifts 12, 25 and 27. */
#define SCRAMBLE UINT64_C(2685821657736338717)

uint64_t upmu_random_next(uint64_t *state)
{
    uint64_t bits = *state ? *state : SEED_OF_ZERO;

    bits ^= bits >> 12;
    bits ^= bits << 25;
    bits ^= bits >> 27;
    *state = bits;
    return bits * SCRAMBLE;
}

uint32_t upmu_random_below(uint64_t *state, uint32_t below)
{
    return (uint32_t)((upmu_random_next(state) >> 32) * below >> 32);
}
