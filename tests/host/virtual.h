/* SPDX-License-Identifier: MIT */
/*
 * The virtual PMU of a guest, as far as the rules about its registers and those about its counts both need it.
 *
 * Intel: SDM vol 3, 20.2 (architectural performance monitoring, versions 1 to 4) and vol 4; AMD: APM vol 2, 13.2.
 * What is the library's choice is in abi/guest/guest.h and docs/GUESTS.md.
 */
#ifndef UPMU_TESTS_HOST_VIRTUAL_H
#define UPMU_TESTS_HOST_VIRTUAL_H

#include "tests/host/simulated.h"

#define BIT(n) (UINT64_C(1) << (n))
#define INT_GENERAL BIT(20)
#define LVTPC_MASKED BIT(16)
#define FREEZES (BIT(11) | BIT(12))
#define FROZEN BIT(59)
#define FROZEN_BRANCHES BIT(58)

static inline bool is_intel(const struct virtual_pmu *pmu)
{
    return pmu->shape.door == UPMU_GUEST_INTEL;
}

static inline bool has_global(const struct virtual_pmu *pmu)
{
    return is_intel(pmu) ? pmu->shape.version >= 2 : pmu->shape.door == UPMU_GUEST_AMD_V2;
}

/* Interrupts set a bit of the status to freeze all counters; before, they cleared the register of all gates. */
static inline bool freezes_by_status(const struct virtual_pmu *pmu)
{
    return is_intel(pmu) ? pmu->shape.version >= 4 : pmu->shape.door == UPMU_GUEST_AMD_V2;
}

static inline bool exists(const struct virtual_pmu *pmu, unsigned i)
{
    return i < VIRTUAL_GENERAL ? i < pmu->shape.general : i - VIRTUAL_GENERAL < pmu->shape.fixed;
}

/* Its bit in the registers for all counters. */
static inline uint64_t bit_of(unsigned i)
{
    return i < VIRTUAL_GENERAL ? BIT(i) : BIT(32 + i - VIRTUAL_GENERAL);
}

static inline uint64_t all_bits(const struct virtual_pmu *pmu)
{
    return (BIT(pmu->shape.general) - 1u) | (BIT(pmu->shape.fixed) - 1u) << 32;
}

static inline bool interrupts(const struct virtual_counter *counter, unsigned i)
{
    return counter->select & (i < VIRTUAL_GENERAL ? INT_GENERAL : BIT(3));
}

#endif
