/* SPDX-License-Identifier: MIT */
/*
 * Registers of AMD's PMUs: which exist, reads, RDPMC, reset. Sources are with the rules in models/sim/sim_amd_rules.h.
 */
#include "models/sim/sim_amd.h"

#define FIRST_IBS_OFFSET 0x101u /* C001_103AH after reset: offset 1 in the extended LVT, bit 8: valid */

/* ---- What exists ---- */

static bool sa_feature(const struct upmu_sim *sim, unsigned cpu, uint32_t feature)
{
    return sa_facts(sim, cpu)->features & feature;
}

/* Does the CPU have branch records: an LBR stack of version 2, or Zen 3's branch sampling (BRS)? */
static bool sa_has_branches(const struct upmu_sim *sim, unsigned cpu)
{
    return sa_branch_depth(sa_facts(sim, cpu)) != 0;
}

/*
 * Find a select or counter of the core by its legacy address (C001_0000H up) or extended one (C001_0200H up). Both are
 * the same registers, unless rule AMD_ALIAS is off. Kind SA_NOTHING: the address is that of neither.
 */
static struct sa_where sa_find_core(struct upmu_sim *sim, unsigned index, uint32_t msr)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    bool extended = sa_feature(sim, index, UPMU_SIM_AMD_CORE);
    struct sa_where where = {SA_NOTHING, 0, 0, false, NULL};
    uint32_t distance = msr - SA_MSR_LEGACY_SELECT;
    bool apart = extended && !sim_on(sim, UPMU_SIM_RULE_AMD_ALIAS);

    if (distance < 8) {
        where.legacy = true;
        where.kind = distance < 4 ? SA_SELECT : SA_COUNTER;
        where.index = distance & 3u;
    } else if (msr - SA_MSR_CORE < 2u * sim_is(sim, index)->general &&
               (extended || !sim_on(sim, UPMU_SIM_RULE_AMD_EXTENDED))) {
        where.kind = (msr & 1u) == 0 ? SA_SELECT : SA_COUNTER;
        where.index = (msr - SA_MSR_CORE) >> 1;
    } else {
        return where;
    }
    if (where.legacy && apart)
        where.place =
            where.kind == SA_SELECT ? &cpu->amd.legacy_select[where.index] : &cpu->amd.legacy_counter[where.index];
    else
        where.place = where.kind == SA_SELECT ? &cpu->select[where.index] : &cpu->counter[where.index].value;
    return where;
}

/*
 * Find a control or counter of a unit that the CPUs of a node share (northbridge or data fabric, L2I or L3, memory
 * controllers). Kind SA_NOTHING: the node has fewer counters of this unit.
 */
static struct sa_where sa_find_node(struct upmu_sim *sim, unsigned cpu, uint32_t msr)
{
    struct upmu_sim_amd *home = &sim->cpu[upmu_sim_amd_home(sim, cpu)].amd;
    struct sa_where where = {SA_NOTHING, 0, UPMU_SIM_UNIT_CORE, false, NULL};
    uint32_t distance;

    if (msr >= SA_MSR_UMC)
        distance = msr - SA_MSR_UMC, where.unit = UPMU_SIM_UNIT_UMC;
    else if (msr >= SA_MSR_NB)
        distance = msr - SA_MSR_NB, where.unit = UPMU_SIM_UNIT_NB;
    else
        distance = msr - SA_MSR_LLC, where.unit = UPMU_SIM_UNIT_LLC;
    where.index = distance >> 1;
    if (where.index >= upmu_sim_amd_units(sim, cpu, where.unit))
        return where;
    where.kind = (msr & 1u) == 0 ? SA_NODE_CONTROL : SA_NODE_COUNTER;
    where.place = (where.unit == UPMU_SIM_UNIT_UMC  ? home->umc
                   : where.unit == UPMU_SIM_UNIT_NB ? home->nb
                                                    : home->llc)[where.index] +
                  (msr & 1u);
    return where;
}

/*
 * Return where the value of any other register of a CPU is kept (no counter, select, global or IBS register); NULL: no
 * register has this address.
 */
static uint64_t *sa_find_other(struct upmu_sim *sim, unsigned index, uint32_t msr)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];

    if (msr - SA_MSR_LBR < 2u * sa_branch_depth(sa_facts(sim, index)))
        return &cpu->amd.lbr[(msr - SA_MSR_LBR) >> 1][msr & 1u];
    switch (msr) {
    case SA_MSR_DEBUGCTL:
        return &cpu->debugctl;
    case SA_MSR_EFER:
        return &cpu->amd.efer;
    case SA_MSR_HWCR:
        return &cpu->amd.hwcr;
    case SA_MSR_IRPERF:
        return sa_facts(sim, index)->features_8 & 2u ? &cpu->amd.irperf : NULL;
    case SA_MSR_LBR_SELECT:
        return sa_facts(sim, index)->perfmon[0] & 2u ? &cpu->amd.lbr_select : NULL;
    case SA_MSR_DEBUG_EXTENSION:
        return sa_has_branches(sim, index) ? &cpu->amd.debug_extension : NULL;
    default:
        return NULL;
    }
}

struct sa_where upmu_sim_amd_find(struct upmu_sim *sim, unsigned cpu, uint32_t msr)
{
    struct sa_where where = sa_find_core(sim, cpu, msr);

    if (where.kind != SA_NOTHING)
        return where;
    if (msr - SA_MSR_LLC < 2u * UPMU_SIM_AMD_LLC || msr - SA_MSR_NB < 2u * UPMU_SIM_AMD_NB ||
        msr - SA_MSR_UMC < 2u * UPMU_SIM_AMD_UMC)
        return sa_find_node(sim, cpu, msr);
    if (msr - SA_MSR_STATUS < 4 && sa_v2(sim, cpu)) {
        where.kind = SA_GLOBAL;
        where.place = msr == SA_MSR_STATUS    ? &sim->cpu[cpu].status
                      : msr == SA_MSR_CONTROL ? &sim->cpu[cpu].global_ctrl
                                              : NULL;
    } else if (msr - SA_MSR_IBS < UPMU_SIM_AMD_IBS_REGISTERS && upmu_sim_amd_ibs_exists(sim, cpu, msr - SA_MSR_IBS)) {
        where.kind = SA_IBS;
        where.index = msr - SA_MSR_IBS;
        where.place = &sim->cpu[cpu].amd.ibs[where.index];
    } else {
        where.place = sa_find_other(sim, cpu, msr);
        where.kind = where.place != NULL ? SA_OTHER : SA_NOTHING;
    }
    return where;
}

bool upmu_sim_amd_withheld(const struct upmu_sim_profile *profile, uint32_t msr)
{
    return profile->flags & UPMU_SIM_FEATURES_FAULT &&
           (msr - SA_MSR_STATUS < 4 || (msr >= SA_MSR_LEGACY_SELECT && msr != SA_MSR_HWCR));
}

/* ---- Reset ---- */

static void sa_wipe(void *memory, size_t bytes)
{
    unsigned char *byte = memory;

    while (bytes-- != 0)
        *byte++ = 0;
}

void upmu_sim_amd_reset(struct upmu_sim *sim, unsigned index)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];

    sa_wipe(&cpu->amd, sizeof cpu->amd);
    cpu->amd.random = 0x2a;
    /*
     * On family 10H reset leaves the interrupt of IBS without an LVT entry: the operating system sets it up (LX ibs.c).
     */
    if (sa_family(sim_is(sim, index)) != 0x10)
        cpu->amd.ibs[SA_IBS_CONTROL] = FIRST_IBS_OFFSET;
    if (sa_facts(sim, index)->features_8 >> 31)
        cpu->amd.debug_extension = 0x18;
    cpu->debugctl = 0;
    cpu->global_ctrl = 0;
    if (sa_v2(sim, index) && sim_on(sim, UPMU_SIM_RULE_AMD_RESET_CONTROL))
        cpu->global_ctrl = SIM_BIT(sim_is(sim, index)->general) - 1u;
    cpu->counter[UPMU_SIM_AMD_FETCH].value = cpu->counter[UPMU_SIM_AMD_OP].value = 0;
}

/* ---- Reads ---- */

/* Return what a read of the global status shows: with rule HAZARD_AMD_STATUS reserved bits are set, too. */
static uint64_t sa_status(const struct upmu_sim *sim, unsigned cpu)
{
    return sim->cpu[cpu].status | (sim_on(sim, UPMU_SIM_RULE_HAZARD_AMD_STATUS) ? UINT64_C(0x3f80) << 32 : 0);
}

bool upmu_sim_amd_read(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t *out_value)
{
    const struct upmu_sim_profile *profile = sim_is(sim, cpu);
    struct sa_where where = upmu_sim_amd_find(sim, cpu, msr);

    *out_value = 0;
    if (msr == SA_MSR_TSC || (msr == SA_MSR_PTSC && sa_feature(sim, cpu, UPMU_SIM_AMD_PTSC))) {
        *out_value = sim->now_ns + sim->cpu[cpu].tsc_offset;
        return true;
    }
    if (profile->flags & UPMU_SIM_IGNORES_WRITES)
        return true;
    if (upmu_sim_amd_withheld(profile, msr))
        return false;
    if (where.kind == SA_NOTHING)
        return !sim_on(sim, UPMU_SIM_RULE_MISSING_FAULTS);
    upmu_sim_branches_amd_access(sim, cpu, msr);
    if (where.kind == SA_IBS)
        *out_value = upmu_sim_amd_ibs_control(sim, cpu, where.index);
    else if (msr == SA_MSR_STATUS)
        *out_value = sa_status(sim, cpu);
    else if (where.place != NULL)
        *out_value = *where.place;
    else if (!sim_on(sim, UPMU_SIM_RULE_AMD_ACK_ZERO))
        *out_value = sim->cpu[cpu].status;
    return true;
}

/* ---- RDPMC ---- */

/* Return the MSR address of the counter, of the core or the node, that an RDPMC index names; 0: no counter. */
static uint32_t sa_rdpmc_msr(const struct upmu_sim *sim, unsigned cpu, uint32_t which)
{
    const struct upmu_sim_profile *profile = sim_is(sim, cpu);

    if (which < profile->general)
        return profile->general > 4 ? SA_MSR_CORE + 1u + 2u * which : SA_MSR_LEGACY_COUNTER + which;
    if (!sim_on(sim, UPMU_SIM_RULE_AMD_RDPMC_MAP))
        return 0;
    if (which - 6u < 4 && which - 6u < upmu_sim_amd_units(sim, cpu, UPMU_SIM_UNIT_NB))
        return SA_MSR_NB + 1u + 2u * (which - 6u);
    if (which - 10u < upmu_sim_amd_units(sim, cpu, UPMU_SIM_UNIT_LLC))
        return SA_MSR_LLC + 1u + 2u * (which - 10u);
    if (which >= 16 && which - 12u < upmu_sim_amd_units(sim, cpu, UPMU_SIM_UNIT_NB))
        return SA_MSR_NB + 1u + 2u * (which - 12u);
    return 0;
}

bool upmu_sim_amd_rdpmc(struct upmu_sim *sim, unsigned index, uint32_t which, uint64_t *out_value)
{
    struct sa_where where = upmu_sim_amd_find(sim, index, sa_rdpmc_msr(sim, index, which));

    *out_value = 0;
    if (sim_is(sim, index)->flags & UPMU_SIM_IGNORES_WRITES)
        return true;
    if (sim_is(sim, index)->flags & UPMU_SIM_FEATURES_FAULT)
        return false;
    if (where.kind != SA_COUNTER && where.kind != SA_NODE_COUNTER)
        return !sim_on(sim, UPMU_SIM_RULE_RDPMC_RANGE);
    *out_value = *where.place & SA_COUNTER_MASK;
    return true;
}

/* ---- Peek and poke without rules; firmware ---- */

uint64_t *upmu_sim_amd_place(struct upmu_sim *sim, unsigned cpu, uint32_t msr)
{
    return upmu_sim_amd_find(sim, cpu, msr).place;
}

/* Leave a CPU as a BIOS may: counter 0 is enabled, counts cycles in both rings and requests interrupts. */
void upmu_sim_amd_firmware(struct upmu_sim *sim, unsigned cpu)
{
    sim->cpu[cpu].select[0] = 0x530076;
}
