/* SPDX-License-Identifier: MIT */
/*
 * Nanoseconds from a time-stamp counter of known frequency, without a 64-bit
 * division.
 */
#ifndef UPMU_X86_CLOCK_H
#define UPMU_X86_CLOCK_H

#include <stdint.h>
#include <port/x86_native/x86_instructions.h>

/* A clock: ns = (ticks * multiplier) >> 24; multiplier 0: there is no clock. */
struct upmu_x86_clock {
    uint32_t multiplier; /* ns per tick, times 2^24 */
};

/* Make a clock for `khz` thousand ticks a second. A rate below 4 MHz gives a clock with multiplier 0: none. */
static inline struct upmu_x86_clock upmu_x86_clock_make(uint32_t khz)
{
    struct upmu_x86_clock clock = {0};
    uint64_t rest = (uint64_t)1000000u << 24;
    unsigned bit;

    if (khz < 4000)
        return clock;
    /* (10^6 << 24) / khz, by shift and subtract; fits 32 bits above 3906 kHz */
    for (bit = 32; bit-- > 0;) {
        if (rest >> bit >= khz) {
            rest -= (uint64_t)khz << bit;
            clock.multiplier |= (uint32_t)1 << bit;
        }
    }
    return clock;
}

static inline uint64_t upmu_x86_clock_ns(struct upmu_x86_clock clock, uint64_t ticks)
{
    uint64_t low = (ticks & 0xffffffffu) * clock.multiplier;
    uint64_t high = (ticks >> 32) * clock.multiplier;

    return (high << 8) + (low >> 24);
}

#endif
