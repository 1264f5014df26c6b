/* SPDX-License-Identifier: MIT */
/*
 * The effects of writes to registers of AMD's PMUs. Sources are with the rules in models/sim/sim_amd_rules.h.
 */
#include "models/sim/sim_amd.h"

/* Mask of the select bits that all families have: 18:0, 20, 22, 31:23. */
#define ALWAYS UINT64_C(0xffd7ffff)

static void sa_check(struct upmu_sim *sim, bool wrong, enum upmu_sim_rule_id rule, const char *text, uint32_t msr,
                     uint64_t value)
{
    if (wrong && sim_on(sim, rule))
        upmu_sim_violate(sim, text, msr, value);
}

/* ---- Selects ---- */

/*
 * Return the mask of the bits of a counter's select that have a meaning on this CPU; others are reserved. Reserved bits
 * that the CPU stores all the same (19, 42) are not in it: see sa_select_kept().
 */
static uint64_t sa_select_bits(const struct upmu_sim *sim, unsigned cpu, unsigned counter)
{
    unsigned family = sa_family(sim_is(sim, cpu));
    bool svm = sa_facts(sim, cpu)->features & UPMU_SIM_AMD_SVM;
    bool hides_modes = sim_is(sim, cpu)->flags & UPMU_SIM_HYPERVISOR && !svm;
    uint64_t bits = ALWAYS;

    if (family < 0x10)
        bits |= SIM_SELECT_PIN;
    if (family >= 0x10 || !sim_on(sim, UPMU_SIM_RULE_AMD_SELECT_HIGH))
        bits |= UINT64_C(0xf) << 32;
    if ((family >= 0x10 && family != 0x11 && !hides_modes) || !sim_on(sim, UPMU_SIM_RULE_AMD_SELECT_VIRT))
        bits |= SA_GUEST_ONLY | SA_HOST_ONLY;
    if (sa_facts(sim, cpu)->quirks & UPMU_SIM_AMD_PRECISE &&
        (counter == 2 || !sim_on(sim, UPMU_SIM_RULE_AMD_SELECT_PRECISE)))
        bits |= SA_PRECISE;
    return bits;
}

static uint64_t sa_select_kept(const struct upmu_sim *sim, unsigned cpu, unsigned counter)
{
    uint32_t quirks = sa_facts(sim, cpu)->quirks;
    uint64_t bits = sa_select_bits(sim, cpu, counter);

    if (quirks & UPMU_SIM_AMD_BIT_19)
        bits |= SIM_SELECT_PIN;
    if (!sim_on(sim, UPMU_SIM_RULE_AMD_SELECT_PIN))
        bits &= ~SIM_SELECT_PIN;
    if (quirks & UPMU_SIM_AMD_BIT_42 && sim_on(sim, UPMU_SIM_RULE_AMD_SELECT_42))
        bits |= SIM_BIT(42);
    return bits;
}

/*
 * K8 revision E: a write of a select sets core counters of northbridge events, on all cores of the node, to 0, if the
 * node has several.
 */
static void sa_zero_nb(struct upmu_sim *sim, unsigned cpu)
{
    if (!(sa_facts(sim, cpu)->quirks & UPMU_SIM_AMD_REV_E) || !sim_on(sim, UPMU_SIM_RULE_AMD_REV_E) ||
        sim->cpus < 2 || sim->cpus_per_node == 1)
        return;
    for (unsigned other = 0; other < sim->cpus; other++) {
        if (upmu_sim_amd_home(sim, other) != upmu_sim_amd_home(sim, cpu))
            continue;
        for (unsigned i = 0; i < sim_is(sim, other)->general; i++) {
            if (upmu_sim_amd_is_nb(sim, other, sim->cpu[other].select[i]))
                sim->cpu[other].counter[i].value = 0;
        }
    }
}

/* Does another CPU of the node run northbridge events on its core counter with the same number? */
static bool sa_collides(const struct upmu_sim *sim, unsigned cpu, unsigned counter)
{
    for (unsigned other = 0; other < sim->cpus; other++) {
        if (other != cpu && upmu_sim_amd_home(sim, other) == upmu_sim_amd_home(sim, cpu) &&
            upmu_sim_amd_runs(sim, other, counter) && upmu_sim_amd_is_nb(sim, other, sim->cpu[other].select[counter]))
            return true;
    }
    return false;
}

/*
 * After a write of `msr`, check each core counter that now runs. Violations: the counter cannot count its event;
 * another core has northbridge events on the same counter number; event 003H runs without the merge event.
 */
static void sa_check_running(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t value)
{
    for (unsigned i = 0; i < sim_is(sim, cpu)->general; i++) {
        uint64_t select = sim->cpu[cpu].select[i];
        bool runs = upmu_sim_amd_runs(sim, cpu, i);

        sa_check(sim, runs && !(upmu_sim_amd_counters(sim, cpu, select) >> i & 1u), UPMU_SIM_RULE_CHECK_AMD_COUNTER,
                 "an event runs on a counter that cannot count it", msr, value);
        sa_check(sim, runs && upmu_sim_amd_is_nb(sim, cpu, select) && sa_collides(sim, cpu, i),
                 UPMU_SIM_RULE_CHECK_AMD_NB, "northbridge events on one counter number of two cores", msr, value);
        sa_check(sim,
                 runs && sa_family(sim_is(sim, cpu)) >= 0x17 && sa_event(select) == 3 &&
                     !upmu_sim_amd_merged(sim, cpu, i),
                 UPMU_SIM_RULE_CHECK_AMD_MERGE, "event 003H runs without the merge event", msr, value);
    }
}

/*
 * On a CPU with extended registers, record a violation if both legacy and extended addresses have been written since
 * reset: they are the same hardware. `legacy`: this write is by a legacy address.
 */
static void sa_check_mixed(struct upmu_sim *sim, unsigned cpu, bool legacy, uint32_t msr, uint64_t value)
{
    struct upmu_sim_amd *amd = &sim->cpu[cpu].amd;

    if (!(sa_facts(sim, cpu)->features & UPMU_SIM_AMD_CORE))
        return;
    amd->legacy_used = amd->legacy_used || legacy;
    amd->extended_used = amd->extended_used || !legacy;
    sa_check(sim, amd->legacy_used && amd->extended_used, UPMU_SIM_RULE_CHECK_AMD_MIXED,
             "legacy and extended registers are both written", msr, value);
}

/*
 * May a running counter with this select be written without losing events? AMD's manuals do not forbid the write, and
 * drivers do it (Linux arch/x86/events/core.c, x86_pmu_handle_irq; perfctr 2.6.42 x86.c, k7_write_control), but events
 * between a read and the write are lost. None are lost if the counter counts user mode alone and the hook runs in
 * kernel mode. A counter of northbridge events counts those of other cores all the time.
 */
static bool sa_stands_still(struct upmu_sim *sim, unsigned cpu, uint64_t select)
{
    return sim_on(sim, UPMU_SIM_RULE_AMD_USER_STANDS_STILL) && !sim->cpu[cpu].user && !(select & SIM_SELECT_OS) &&
           !upmu_sim_amd_is_nb(sim, cpu, select);
}

static bool sa_write_select(struct upmu_sim *sim, unsigned cpu, const struct sa_where *where, uint32_t msr,
                            uint64_t value)
{
    unsigned counter = where->index;
    uint64_t kept = value & sa_select_kept(sim, cpu, counter);
    bool reserved = value & ~sa_select_bits(sim, cpu, counter);

    sa_check_mixed(sim, cpu, where->legacy, msr, value);
    sa_check(sim, reserved, UPMU_SIM_RULE_CHECK_AMD_RESERVED, "reserved select bits", msr, value);
    sa_check(sim,
             sa_family(sim_is(sim, cpu)) >= 0x17 && sa_event(value) == sa_event(SA_MERGE_SELECT) &&
                 value & SIM_SELECT_EN && value != SA_MERGE_SELECT,
             UPMU_SIM_RULE_CHECK_AMD_MERGE, "the merge event with more bits than the enable bit", msr, value);
    if (reserved && !sim_on(sim, UPMU_SIM_RULE_AMD_SELECT_DROPS))
        return false;
    sa_check(sim, upmu_sim_amd_runs(sim, cpu, counter) && kept != *where->place && kept & SIM_SELECT_EN &&
                 !(sa_stands_still(sim, cpu, kept) && sa_stands_still(sim, cpu, *where->place)),
             UPMU_SIM_RULE_CHECK_RUNNING_SELECT, "change of a running counter's select", msr, value);
    *where->place = kept;
    if (!sim_on(sim, UPMU_SIM_RULE_SELECT_KEEPS_STATUS))
        sim->cpu[cpu].status &= ~SIM_BIT(counter);
    sa_zero_nb(sim, cpu);
    sa_check_running(sim, cpu, msr, value);
    return true;
}

static bool sa_write_counter(struct upmu_sim *sim, unsigned cpu, const struct sa_where *where, uint32_t msr,
                             uint64_t value)
{
    if (value >> 48 != 0 && !sim_on(sim, UPMU_SIM_RULE_AMD_COUNTER_HIGH))
        return false;
    sa_check_mixed(sim, cpu, where->legacy, msr, value);
    /* A write of the odd counter of a merged pair is one of a running counter, too, while the even one runs. */
    sa_check(sim,
             (upmu_sim_amd_runs(sim, cpu, where->index) &&
              !sa_stands_still(sim, cpu, sim->cpu[cpu].select[where->index])) ||
                 (where->index & 1u && upmu_sim_amd_merged(sim, cpu, where->index - 1u) &&
                  upmu_sim_amd_runs(sim, cpu, where->index - 1u)),
             UPMU_SIM_RULE_CHECK_RUNNING_COUNTER, "write of a running counter", msr, value);
    *where->place = value & SA_COUNTER_MASK;
    if (!sim_on(sim, UPMU_SIM_RULE_WRITE_KEEPS_STATUS))
        sim->cpu[cpu].status &= ~SIM_BIT(where->index);
    return true;
}

/* ---- Global registers of PerfMonV2: status, control, clear, set ---- */

static bool sa_write_global(struct upmu_sim *sim, unsigned index, uint32_t msr, uint64_t value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint64_t counters = SIM_BIT(sim_is(sim, index)->general) - 1u;
    uint64_t freezes = sa_facts(sim, index)->perfmon[0] & 4u ? SIM_STATUS_FROZEN | SIM_STATUS_LBR_FROZEN : 0;
    uint64_t flags = counters | freezes;

    switch (msr) {
    case SA_MSR_STATUS:
        return sim_on(sim, UPMU_SIM_RULE_AMD_STATUS_IGNORES);
    case SA_MSR_CONTROL:
        if (value & ~counters && !sim_on(sim, UPMU_SIM_RULE_AMD_CONTROL_DROPS))
            return false;
        sa_check(sim, value & ~counters, UPMU_SIM_RULE_CHECK_AMD_RESERVED, "control bits of missing counters", msr,
                 value);
        cpu->global_ctrl = value & counters;
        sa_check_running(sim, index, msr, value);
        return true;
    case SA_MSR_CLEAR:
        if (value & ~flags && !sim_on(sim, UPMU_SIM_RULE_AMD_CLEAR_ANY))
            return false;
        cpu->status &= sim_on(sim, UPMU_SIM_RULE_AMD_CLEAR) ? ~value : 0;
        return true;
    default: /* SA_MSR_SET */
        cpu->status |= value & flags;
        if (value & counters && !sim_on(sim, UPMU_SIM_RULE_AMD_SET_SILENT))
            upmu_sim_request_pmi(sim, index);
        return true;
    }
}

/* ---- Others ---- */

static void sa_write_other(struct upmu_sim *sim, unsigned cpu, const struct sa_where *where, uint32_t msr,
                           uint64_t value)
{
    bool brs = sa_facts(sim, cpu)->features_8 >> 31;

    upmu_sim_branches_amd_access(sim, cpu, msr);
    sa_check(sim, msr == SA_MSR_DEBUG_EXTENSION && brs && (value & 0x18) != 0x18, UPMU_SIM_RULE_CHECK_AMD_BRS,
             "bits 4:3 of C000_010FH are not 11B", msr, value);
    if (msr == SA_MSR_IRPERF) /* read-only */
        return;
    if (msr == SA_MSR_LBR_SELECT)
        value &= 0x1ff;
    if (msr == SA_MSR_DEBUGCTL)
        value &= 0x3fu | (sa_facts(sim, cpu)->perfmon[0] & 4u ? SIM_DEBUGCTL_FREEZE | SIM_DEBUGCTL_FREEZE_LBR : 0);
    *where->place = value;
}

static void sa_write_node(struct upmu_sim *sim, unsigned cpu, const struct sa_where *where, uint32_t msr,
                          uint64_t value)
{
    uint64_t bits = upmu_sim_amd_unit_bits(sim, cpu, where->unit);

    if (where->kind == SA_NODE_COUNTER) {
        *where->place = value & SA_COUNTER_MASK;
        return;
    }
    sa_check(sim, value & ~bits, UPMU_SIM_RULE_CHECK_AMD_RESERVED, "reserved bits of a node's control", msr, value);
    *where->place = value & bits;
}

bool upmu_sim_amd_write(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t value)
{
    const struct upmu_sim_profile *profile = sim_is(sim, cpu);
    struct sa_where where = upmu_sim_amd_find(sim, cpu, msr);

    if (msr == SA_MSR_TSC) {
        sim->cpu[cpu].tsc_offset = value - sim->now_ns;
        return true;
    }
    if (profile->flags & UPMU_SIM_IGNORES_WRITES)
        return true;
    if (upmu_sim_amd_withheld(profile, msr))
        return false;
    switch (where.kind) {
    case SA_NOTHING:
        return !sim_on(sim, UPMU_SIM_RULE_MISSING_FAULTS);
    case SA_SELECT:
        return sa_write_select(sim, cpu, &where, msr, value);
    case SA_COUNTER:
        return sa_write_counter(sim, cpu, &where, msr, value);
    case SA_GLOBAL:
        return sa_write_global(sim, cpu, msr, value);
    case SA_IBS:
        upmu_sim_amd_ibs_write(sim, cpu, where.index, value);
        return true;
    case SA_NODE_CONTROL:
    case SA_NODE_COUNTER:
        sa_write_node(sim, cpu, &where, msr, value);
        return true;
    default:
        sa_write_other(sim, cpu, &where, msr, value);
        return true;
    }
}
