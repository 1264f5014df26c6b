/* SPDX-License-Identifier: MIT */
/*
 * How fast the time-stamp counter runs, timed by channel 2 of the PIT: one shot of
 * 20 ms, its output read at port 61h bit 5 (as Linux arch/x86/kernel/tsc.c does).
 */
#include <examples/kernel/kernel.h>

#define PIT_HZ 1193182u
#define PIT_MS 20u
#define PIT_SHOT (PIT_HZ * PIT_MS / 1000u)
/* An I/O read takes about a microsecond: fewer in 20 ms means that there is no PIT. */
#define PIT_FEWEST 200u
#define PIT_MOST 4000000u

static bool has_tsc(void)
{
    uint32_t leaf[4];

    upmu_x86_cpuid(1, 0, leaf);
    return (leaf[3] >> 4 & 1u) != 0;
}

uint32_t kernel_tsc_khz(void)
{
    uint64_t ticks;
    uint32_t reads = 0;

    if (!has_tsc())
        return 0;
    kernel_out8(0x61, (uint8_t)((kernel_in8(0x61) & ~2u) | 1u)); /* speaker off, gate on */
    kernel_out8(0x43, 0xb0);
    kernel_out8(0x42, PIT_SHOT & 0xffu);
    kernel_out8(0x42, PIT_SHOT >> 8);
    ticks = upmu_x86_rdtsc();
    while (!(kernel_in8(0x61) & 0x20u))
        if (++reads == PIT_MOST)
            return 0;
    ticks = upmu_x86_rdtsc() - ticks;
    return reads < PIT_FEWEST ? 0 : (uint32_t)ticks / PIT_MS;
}
