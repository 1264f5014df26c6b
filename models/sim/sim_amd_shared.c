/* SPDX-License-Identifier: MIT */
/*
 * AMD's counters outside of the cores: of the northbridge or data fabric, of L2I or L3, of memory controllers. The CPUs
 * of a node share them. They count a burst when it has ended, so that their overflows do not cut it. Also IRPERF, which
 * counts so, too. Layouts: Linux arch/x86/events/amd/uncore.c.
 */
#include "models/sim/sim_amd.h"

#define SELECT_LOW UINT64_C(0xffff)
#define NB_BITS (SELECT_LOW | SIM_SELECT_INT | SIM_SELECT_EN | UINT64_C(0x1ff) << 32)
#define DF_BITS (SELECT_LOW | SIM_SELECT_EN | UINT64_C(0xf) << 32 | UINT64_C(3) << 59)
#define DF_V2_BITS (SELECT_LOW | SIM_SELECT_EN | UINT64_C(0xf) << 24 | UINT64_C(0x3f) << 32)
#define L3_BITS (SELECT_LOW | SIM_SELECT_EN | UINT64_C(0xf) << 48 | UINT64_C(0xff) << 56)
#define L3_19H_BITS (SELECT_LOW | SIM_SELECT_EN | UINT64_C(0x1f7) << 42 | UINT64_C(3) << 56)
#define UMC_BITS (UINT64_C(0x3ff) | SIM_BIT(31))

unsigned upmu_sim_amd_home(const struct upmu_sim *sim, unsigned cpu)
{
    unsigned per_node = sim->cpus_per_node != 0 ? sim->cpus_per_node : sim->cpus;

    if (!sim_on(sim, UPMU_SIM_RULE_AMD_SHARED_ONE))
        return cpu;
    return cpu - cpu % per_node;
}

unsigned upmu_sim_amd_units(const struct upmu_sim *sim, unsigned cpu, unsigned unit)
{
    const struct upmu_sim_amd_facts *facts = sa_facts(sim, cpu);
    bool v2 = facts->perfmon[0] & 1u;

    if (!sim_on(sim, UPMU_SIM_RULE_AMD_SHARED))
        return 0;
    switch (unit) {
    case UPMU_SIM_UNIT_NB:
        return facts->features & UPMU_SIM_AMD_HAS_NB ? (v2 ? facts->perfmon[1] >> 10 & 0x3fu : 4) : 0;
    case UPMU_SIM_UNIT_LLC:
        return facts->features & UPMU_SIM_AMD_HAS_LLC ? (sa_family(sim_is(sim, cpu)) == 0x16 ? 4 : 6) : 0;
    default:
        return v2 ? facts->perfmon[1] >> 16 & 0x3fu : 0;
    }
}

uint64_t upmu_sim_amd_unit_bits(const struct upmu_sim *sim, unsigned cpu, unsigned unit)
{
    unsigned family = sa_family(sim_is(sim, cpu));

    if (unit == UPMU_SIM_UNIT_UMC)
        return UMC_BITS;
    if (family < 0x17)
        return NB_BITS;
    if (unit == UPMU_SIM_UNIT_LLC)
        return family >= 0x19 ? L3_19H_BITS : L3_BITS;
    return sa_facts(sim, cpu)->perfmon[0] & 1u ? DF_V2_BITS : DF_BITS;
}

static uint64_t sa_ones(uint64_t bits)
{
    uint64_t ones = 0;

    for (; bits != 0; bits &= bits - 1u)
        ones++;
    return ones;
}

uint64_t upmu_sim_amd_l3_part(bool from_19h, uint64_t control, uint64_t count)
{
    uint64_t slices = control >> 46 & 1u ? 8 : 1, cores = control >> 47 & 1u ? 8 : 1;
    uint64_t event = control & 0xffu;

    if (event == 0x90 || (from_19h && event == 0x9a))
        return count;
    if (from_19h)
        return count * slices * cores * sa_ones(control >> 56 & 3u) >> 7;
    return count * sa_ones(control >> 48 & 0xfu) * sa_ones(control >> 56) >> 5;
}

/* Return the event code in a control of a unit, all its bits: which bits follow 7:0 depends on unit and family. */
static uint32_t sa_unit_event(const struct upmu_sim *sim, unsigned cpu, unsigned unit, uint64_t control)
{
    uint32_t event = (uint32_t)(control & 0xffu);

    if (unit == UPMU_SIM_UNIT_UMC || (unit == UPMU_SIM_UNIT_LLC && sa_family(sim_is(sim, cpu)) >= 0x17))
        return event;
    if (sa_family(sim_is(sim, cpu)) < 0x17)
        return sa_event(control);
    if (sa_facts(sim, cpu)->perfmon[0] & 1u)
        return event | (uint32_t)(control >> 24 & 0x3f00u);
    return event | (uint32_t)(control >> 24 & 0xf00u) | (uint32_t)(control >> 47 & 0x3000u);
}

/*
 * Does the unit mask in a control select an event? UMC: bits 9:8 are reads and writes, both 0: all. Data fabric of
 * PerfMonV2: 12 bits, 27:24 above 15:8. Others: 15:8.
 */
static bool sa_unit_mask(const struct upmu_sim *sim, unsigned cpu, uint64_t control, const struct upmu_sim_other *other)
{
    uint64_t umask = sa_umask(control), high = 0;

    if (other->unit == UPMU_SIM_UNIT_UMC)
        return (umask & 3u) == 0 || umask & 3u & other->umask;
    if (other->unit == UPMU_SIM_UNIT_NB && sa_facts(sim, cpu)->perfmon[0] & 1u)
        high = control >> 24 & 0xfu;
    return umask == other->umask && high == other->umask2;
}

static uint64_t sa_unit_happened(const struct upmu_sim *sim, unsigned cpu, unsigned unit, uint64_t control,
                                 const struct upmu_sim_burst *burst)
{
    uint32_t event = sa_unit_event(sim, cpu, unit, control);
    bool sliced = unit == UPMU_SIM_UNIT_LLC && sa_family(sim_is(sim, cpu)) >= 0x17;
    uint64_t sum = 0;

    for (unsigned i = 0; i < UPMU_SIM_OTHERS && burst->other[i].count != 0; i++) {
        const struct upmu_sim_other *other = &burst->other[i];

        if (other->unit == unit && event == (other->event | (uint32_t)other->high << 8) &&
            sa_unit_mask(sim, cpu, control, other))
            sum += other->count;
    }
    if (sliced && sim_on(sim, UPMU_SIM_RULE_U_SLICES))
        sum = upmu_sim_amd_l3_part(sa_family(sim_is(sim, cpu)) >= 0x19, control, sum);
    return sum;
}

/*
 * Return the value of a memory controller's counter after `count` more events. A counter that would wrap stays at its
 * maximum, with bit 48 set.
 */
static uint64_t sa_umc_sum(const struct upmu_sim *sim, uint64_t value, uint64_t count)
{
    if (value + count <= SA_COUNTER_MASK || !sim_on(sim, UPMU_SIM_RULE_AMD_UMC_SATURATES))
        return (value + count) & SA_COUNTER_MASK;
    return SA_COUNTER_MASK | SIM_BIT(48);
}

static void sa_unit_count(struct upmu_sim *sim, unsigned cpu, unsigned unit, uint64_t registers[2],
                          const struct upmu_sim_burst *burst)
{
    bool umc = unit == UPMU_SIM_UNIT_UMC;
    uint64_t enable = umc && sim_on(sim, UPMU_SIM_RULE_AMD_UMC_ENABLE) ? SIM_BIT(31) : SIM_SELECT_EN;
    uint64_t count;

    if (!(registers[0] & enable))
        return;
    count = sa_unit_happened(sim, cpu, unit, registers[0], burst);
    if (umc) {
        registers[1] = sa_umc_sum(sim, registers[1], count);
        return;
    }
    if (registers[1] + count > SA_COUNTER_MASK && registers[0] & SIM_SELECT_INT)
        upmu_sim_request_pmi(sim, cpu);
    registers[1] = (registers[1] + count) & SA_COUNTER_MASK;
}

void upmu_sim_amd_after(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_burst *burst)
{
    struct upmu_sim_amd *home = &sim->cpu[upmu_sim_amd_home(sim, cpu)].amd;
    struct upmu_sim_amd *own = &sim->cpu[cpu].amd;

    if (own->hwcr & SA_HWCR_IRPERF || !sim_on(sim, UPMU_SIM_RULE_AMD_IRPERF))
        own->irperf = (own->irperf + burst->instructions) & SA_COUNTER_MASK;
    for (unsigned i = 0; i < upmu_sim_amd_units(sim, cpu, UPMU_SIM_UNIT_NB) && i < UPMU_SIM_AMD_NB; i++)
        sa_unit_count(sim, cpu, UPMU_SIM_UNIT_NB, home->nb[i], burst);
    for (unsigned i = 0; i < upmu_sim_amd_units(sim, cpu, UPMU_SIM_UNIT_LLC) && i < UPMU_SIM_AMD_LLC; i++)
        sa_unit_count(sim, cpu, UPMU_SIM_UNIT_LLC, home->llc[i], burst);
    for (unsigned i = 0; i < upmu_sim_amd_units(sim, cpu, UPMU_SIM_UNIT_UMC) && i < UPMU_SIM_AMD_UMC; i++)
        sa_unit_count(sim, cpu, UPMU_SIM_UNIT_UMC, home->umc[i], burst);
}
