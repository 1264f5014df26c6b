/* SPDX-License-Identifier: MIT */
/*
 * When a counter of Intel's core PMU counts, how much it counts, and what an overflow does. Sources are with the rules
 * in models/sim/sim.h.
 */
#include "models/sim/sim_intern.h"

/* ---- Payload registers: of an address, of an event, and which CPU's is used ---- */

unsigned upmu_sim_intel_payload_at(const struct upmu_sim_profile *profile, uint32_t msr)
{
    for (unsigned i = 0; i < UPMU_SIM_PAYLOADS; i++) {
        if (profile->payload[i].address == msr && msr != 0)
            return i;
    }
    return UPMU_SIM_PAYLOADS;
}

unsigned upmu_sim_intel_payload(const struct upmu_sim_profile *profile, uint64_t select)
{
    for (unsigned i = 0; i < UPMU_SIM_PAYLOADS; i++) {
        const struct upmu_sim_payload *payload = &profile->payload[i];

        if (payload->address != 0 && (select & 0xffffu) == ((uint64_t)payload->umask << 8 | payload->event))
            return upmu_sim_intel_payload_at(profile, payload->address);
    }
    return UPMU_SIM_PAYLOADS;
}

/*
 * Return the CPU in whose structure a payload register of `cpu` is kept: with UPMU_SIM_SHARED_PAYLOAD that of the even
 * CPU of the two that share OFFCORE_RSP (1A6H, 1A7H); otherwise `cpu`. `payload` is an index in profile->payload.
 */
unsigned upmu_sim_intel_payload_home(const struct upmu_sim *sim, unsigned cpu, unsigned payload)
{
    uint32_t address = sim_is(sim, cpu)->payload[payload].address;

    if (sim_is(sim, cpu)->flags & UPMU_SIM_SHARED_PAYLOAD && (address == 0x1a6 || address == 0x1a7))
        return cpu & ~1u;
    return cpu;
}

/* ---- What counts ---- */

uint64_t upmu_sim_intel_config(const struct upmu_sim *sim, unsigned cpu, unsigned counter)
{
    const struct upmu_sim_profile *profile = sim_is(sim, cpu);
    uint64_t nibble;

    if (!sim_has_counter(profile, counter))
        return 0;
    if (!sim_is_fixed(counter) && profile->flags & (UPMU_SIM_P6 | UPMU_SIM_ONE_ENABLE) &&
        sim_on(sim, UPMU_SIM_RULE_COUNT_P6))
        return (sim->cpu[cpu].select[counter] & ~SIM_SELECT_EN) | (sim->cpu[cpu].select[0] & SIM_SELECT_EN);
    if (!sim_is_fixed(counter))
        return sim->cpu[cpu].select[counter];
    nibble = sim->cpu[cpu].fixed_ctrl >> (4u * (counter - UPMU_SIM_FIXED)) & 0xfu;
    return (nibble & 1u ? SIM_SELECT_OS : 0) | (nibble & 2u ? SIM_SELECT_USR : 0) | (nibble & 4u ? SIM_SELECT_ANY : 0) |
           (nibble & 8u ? SIM_SELECT_INT : 0) | (nibble & 3u ? SIM_SELECT_EN : 0);
}

/*
 * Do the gates (the counter's bit in GLOBAL_CTRL; from version 4 on, no freeze in GLOBAL_STATUS) let a counter count?
 */
static bool sim_gates_open(const struct upmu_sim *sim, unsigned cpu, unsigned counter)
{
    const struct upmu_sim_cpu *c = &sim->cpu[cpu];

    if (sim_is(sim, cpu)->version >= 2 && sim_on(sim, UPMU_SIM_RULE_COUNT_GLOBAL) &&
        !(c->global_ctrl & sim_global_bit(counter)))
        return false;
    return sim_is(sim, cpu)->version < 4 || !sim_on(sim, UPMU_SIM_RULE_COUNT_FROZEN) ||
           !(c->status & SIM_STATUS_FROZEN);
}

bool upmu_sim_intel_runs(const struct upmu_sim *sim, unsigned cpu, unsigned counter)
{
    uint64_t config = upmu_sim_intel_config(sim, cpu, counter);

    return config & SIM_SELECT_EN && config & (SIM_SELECT_OS | SIM_SELECT_USR) && sim_gates_open(sim, cpu, counter);
}

static uint64_t fixed_happened(const struct upmu_sim *sim, unsigned index, const struct upmu_sim_burst *burst)
{
    switch (index) {
    case 0:
        return burst->instructions;
    case 1:
        return burst->cycles;
    case 2:
        return sim_on(sim, UPMU_SIM_RULE_REF_IS_NOT_BUS) ? burst->ref_cycles : burst->bus_cycles;
    case 3:
        return burst->slots;
    case 4:
        return burst->bad_slots;
    case 5:
        return burst->frontend_slots;
    default:
        return burst->retiring_slots;
    }
}

/* Does the CPU have an architectural event, by the event's bit in leaf 23H or, without that, in leaf 0AH? */
static bool named_exists(const struct upmu_sim_profile *profile, unsigned bit)
{
    if (profile->extended != NULL)
        return sim_extended(profile, 3, 0) >> bit & 1u;
    return profile->events_length > bit && !((unsigned)profile->events_unavailable >> bit & 1u);
}

/*
 * Return how often an event for which the burst has a field of its own happens in it, by unit mask (bits 15:8) and
 * event code (7:0); 0 for other codes, and for events that the CPU does not have.
 */
static uint64_t named_happened(const struct upmu_sim *sim, unsigned cpu, uint32_t code,
                               const struct upmu_sim_burst *burst)
{
    const struct upmu_sim_profile *profile = sim_is(sim, cpu);
    bool wrong = profile->flags & UPMU_SIM_AAJ80;
    bool p6 = profile->flags & UPMU_SIM_P6;
    bool one_clock = profile->flags & UPMU_SIM_ONE_REF_CLOCK && sim_on(sim, UPMU_SIM_RULE_REF_IS_BUS);

    switch (code) {
    case 0x00c0:
        return burst->instructions;
    case 0x003c: /* P6 counts cycles by 79H (Linux arch/x86/events/intel/p6.c) */
        return p6 ? 0 : burst->cycles;
    case 0x0079:
        return p6 ? burst->cycles : 0;
    case 0x013c:
        return p6 ? 0 : one_clock ? burst->ref_cycles : burst->bus_cycles;
    case 0x0062:
        return p6 ? burst->bus_cycles : 0;
    case 0x4f2e:
        return p6 ? 0 : burst->llc_references;
    case 0x412e:
        return p6 ? 0 : burst->llc_misses;
    case 0x0f2e: /* L2_RQSTS in all states */
        return p6 ? burst->llc_references : 0;
    case 0x012e: /* L2_RQSTS in state invalid */
        return p6 ? burst->llc_misses : 0;
    case 0x00c4:
        return burst->branches;
    case 0x00c5:
        return wrong && sim_on(sim, UPMU_SIM_RULE_ERRATUM_AAJ80) ? burst->mispredicts >> 2 : burst->mispredicts;
    case 0x7f89:
        return wrong ? burst->mispredicts : 0;
    case 0x01a4:
        return named_exists(profile, 7) ? burst->slots : 0;
    case 0x0073:
        return named_exists(profile, 9) ? burst->bad_slots : 0;
    case 0x019c:
        return named_exists(profile, 10) ? burst->frontend_slots : 0;
    case 0x02c2:
        return named_exists(profile, 11) ? burst->retiring_slots : 0;
    default:
        return 0;
    }
}

static uint64_t other_happened(const struct upmu_sim *sim, unsigned cpu, unsigned counter, uint64_t config,
                               const struct upmu_sim_burst *burst)
{
    unsigned payload = upmu_sim_intel_payload(sim_is(sim, cpu), config);
    unsigned umask2 = (unsigned)(config >> 40) & 0xffu;
    uint64_t present = 0;
    uint64_t sum = 0;

    if (payload < UPMU_SIM_PAYLOADS)
        present = sim->cpu[upmu_sim_intel_payload_home(sim, cpu, payload)].payload[payload];
    for (unsigned i = 0; i < UPMU_SIM_OTHERS && burst->other[i].count != 0; i++) {
        const struct upmu_sim_other *other = &burst->other[i];

        if ((config & 0xffffu) != ((uint64_t)other->umask << 8 | other->event))
            continue;
        if (other->umask2 != umask2 && sim_on(sim, UPMU_SIM_RULE_COUNT_UMASK2))
            continue;
        if (other->counters != 0 && !(other->counters >> counter & 1u))
            continue;
        if (other->payload == 0 || other->payload == present)
            sum += other->count;
    }
    return sum;
}

/*
 * Apply CMASK, EQ, INV and EDGE. `count` occurrences come `per_cycle` at a time, each time in one cycle; these cycles
 * come in `runs` runs, with idle cycles between the runs. INV and EDGE without CMASK: INV has no effect, EDGE counts
 * the runs.
 */
static uint64_t sim_conditioned(const struct upmu_sim *sim, uint64_t config, uint64_t count,
                                const struct upmu_sim_burst *burst)
{
    uint64_t per_cycle = burst->per_cycle != 0 ? burst->per_cycle : 1;
    uint64_t runs = burst->runs != 0 ? burst->runs : 1;
    uint64_t active = upmu_sim_divide(count + per_cycle - 1u, per_cycle);
    uint64_t cmask = sim_on(sim, UPMU_SIM_RULE_COUNT_CMASK) ? config >> 24 & 0xffu : 0;
    bool equal = config & SIM_SELECT_EQ && sim_on(sim, UPMU_SIM_RULE_COUNT_EQ);
    bool enough = equal ? per_cycle == cmask : per_cycle >= cmask;
    uint64_t cycles = cmask != 0 ? (enough ? active : 0) : active;
    bool inverted = cmask != 0 && config & SIM_SELECT_INV && sim_on(sim, UPMU_SIM_RULE_COUNT_INV);

    if (inverted)
        cycles = burst->cycles > cycles ? burst->cycles - cycles : 0;
    if (config & SIM_SELECT_EDGE && sim_on(sim, UPMU_SIM_RULE_COUNT_EDGE))
        return cycles < runs ? cycles : runs;
    return cmask != 0 ? cycles : count;
}

static uint64_t general_happened(const struct upmu_sim *sim, unsigned cpu, unsigned counter, uint64_t config,
                                 const struct upmu_sim_burst *burst)
{
    bool other = config & SIM_SELECT_UMASK2 && sim_on(sim, UPMU_SIM_RULE_COUNT_UMASK2);
    uint64_t count = other ? 0 : named_happened(sim, cpu, (uint32_t)(config & 0xffffu), burst);

    if (config & SIM_SELECT_IN_TX && !burst->in_tx && sim_on(sim, UPMU_SIM_RULE_COUNT_TX))
        return 0;
    return sim_conditioned(sim, config, count + other_happened(sim, cpu, counter, config, burst), burst);
}

uint64_t upmu_sim_intel_delta(const struct upmu_sim *sim, unsigned cpu, unsigned counter, unsigned from,
                              const struct upmu_sim_burst *burst)
{
    uint64_t config = upmu_sim_intel_config(sim, cpu, counter);
    uint64_t ring = burst->user ? SIM_SELECT_USR : SIM_SELECT_OS;

    if (sim_is(sim, cpu)->flags & (UPMU_SIM_COUNTS_NOTHING | UPMU_SIM_IGNORES_WRITES))
        return 0;
    if (sim_on(sim, UPMU_SIM_RULE_COUNT_ENABLE) && !(config & SIM_SELECT_EN))
        return 0;
    if (sim_on(sim, UPMU_SIM_RULE_COUNT_RING) && !(config & ring))
        return 0;
    if (cpu != from && !(config & SIM_SELECT_ANY && sim_on(sim, UPMU_SIM_RULE_COUNT_ANY)))
        return 0;
    if (!sim_gates_open(sim, cpu, counter))
        return 0;
    if (burst->smm && sim->cpu[cpu].debugctl & SIM_DEBUGCTL_FREEZE_SMM && sim_on(sim, UPMU_SIM_RULE_SMM_FREEZE))
        return 0;
    if (sim_is_fixed(counter))
        return fixed_happened(sim, counter - UPMU_SIM_FIXED, burst);
    return general_happened(sim, cpu, counter, config, burst);
}

/* ---- Periods ---- */

uint64_t upmu_sim_intel_period(struct upmu_sim *sim, unsigned index, unsigned counter, uint32_t msr, uint64_t value)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);
    uint64_t mask = sim_width_mask(profile, counter);
    uint64_t config = upmu_sim_intel_config(sim, index, counter);
    bool retired = !sim_is_fixed(counter) && (config & 0xffffu) == 0x01c0;
    uint64_t period = (0 - value) & mask;
    uint64_t shortest = retired && profile->flags & UPMU_SIM_HSW11 ? 128 : profile->shortest;

    if (value <= mask >> 1)
        return value;
    if (period < shortest && sim_on(sim, UPMU_SIM_RULE_CHECK_PERIOD))
        upmu_sim_violate(sim, "period shorter than the CPU counts right", msr, value);
    if (retired && profile->flags & UPMU_SIM_BDM55 && sim_on(sim, UPMU_SIM_RULE_ERRATUM_BDM55))
        period &= ~UINT64_C(0x3f);
    return (0 - period) & mask;
}

/* ---- Effects of counting besides the counter's value: PERF_METRICS, erratum BJ122 ---- */

/*
 * Fixed counter 3 has counted `slots` of a burst: set each byte of PERF_METRICS to the share, in 255ths, that its
 * metric has had of all slots since the register was written. Nothing changes if the burst has no metrics, or if bit 48
 * of GLOBAL_CTRL is clear (rule METRICS_GATE).
 */
void upmu_sim_intel_metrics(struct upmu_sim *sim, unsigned index, uint64_t slots, const struct upmu_sim_burst *burst)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    const struct upmu_sim_profile *profile = sim_is(sim, index);
    bool open = cpu->global_ctrl & SIM_STATUS_METRICS || !sim_on(sim, UPMU_SIM_RULE_METRICS_GATE);

    if (burst->metrics == 0 || slots == 0 || !sim_has_metrics(profile) || !open)
        return;
    cpu->metric_slots += slots;
    cpu->metrics = 0;
    for (unsigned i = 0; i < UPMU_SIM_METRICS && i < profile->metrics; i++) {
        cpu->metric_sum[i] += slots * (burst->metrics >> 8u * i & 0xffu);
        cpu->metrics |= upmu_sim_divide(cpu->metric_sum[i] + (cpu->metric_slots >> 1), cpu->metric_slots) << 8u * i;
    }
}

/*
 * Apply BJ122 and similar errata (UPMU_SIM_BJ122): if the event of a general counter is D0H to D3H, add `count` also to
 * the value of the other hyper-thread's counter with the same number, without an overflow.
 */
void upmu_sim_intel_side_effects(struct upmu_sim *sim, unsigned index, unsigned counter, uint64_t count)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);
    unsigned sibling = index ^ 1u;

    if (sim_is_fixed(counter) || !(profile->flags & UPMU_SIM_BJ122) || !(profile->flags & UPMU_SIM_SMT) ||
        sibling >= sim->cpus || !sim_on(sim, UPMU_SIM_RULE_ERRATUM_BJ122))
        return;
    if ((sim->cpu[index].select[counter] & 0xfcu) == 0xd0)
        sim->cpu[sibling].counter[counter].value =
            (sim->cpu[sibling].counter[counter].value + count) & sim_width_mask(profile, counter);
}

/* ---- Overflow ---- */

void upmu_sim_intel_freeze(struct upmu_sim *sim, unsigned index)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    unsigned version = sim_is(sim, index)->version;
    bool streamlined = version >= 4 && sim_on(sim, UPMU_SIM_RULE_FREEZE_STREAMLINED);

    if (version < 2)
        return;
    if (cpu->debugctl & SIM_DEBUGCTL_FREEZE) {
        if (streamlined)
            cpu->status |= SIM_STATUS_FROZEN;
        else if (sim_on(sim, UPMU_SIM_RULE_FREEZE_LEGACY))
            cpu->global_ctrl = 0;
    }
    if (cpu->debugctl & SIM_DEBUGCTL_FREEZE_LBR) {
        if (streamlined)
            cpu->status |= SIM_STATUS_LBR_FROZEN;
        else
            cpu->debugctl &= ~SIM_DEBUGCTL_LBR;
    }
}

/*
 * `counter` has overflowed: reload each counter that has the bit of `counter` in its CFG_B, with the value in its
 * CFG_C. True: `counter` itself is one of them, and its overflow sets no status bit and requests no interrupt.
 */
static bool reload_counters(struct upmu_sim *sim, unsigned index, unsigned counter)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint64_t cause = sim_on(sim, UPMU_SIM_RULE_V6_RELOADS) ? sim_global_bit(counter) : 0;

    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
        if (cpu->reload[i][0] & cause)
            cpu->counter[i].value =
                (uint64_t)(int64_t)(int32_t)(uint32_t)cpu->reload[i][1] & sim_width_mask(sim_is(sim, index), i);
    return cpu->reload[counter][0] & cause;
}

void upmu_sim_intel_overflow(struct upmu_sim *sim, unsigned index, unsigned counter)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    bool wants_pmi = upmu_sim_intel_config(sim, index, counter) & SIM_SELECT_INT;

    if (reload_counters(sim, index, counter))
        return;
    if (sim_has_global(sim, index) && (wants_pmi || sim_on(sim, UPMU_SIM_RULE_STATUS_WITHOUT_INT))) {
        if (sim->status_lag != 0)
            cpu->counter[counter].late = sim->status_lag;
        else
            cpu->status |= sim_global_bit(counter);
    }
    if (counter == UPMU_SIM_FIXED + 2 && sim_is(sim, index)->flags & UPMU_SIM_STICKY_REF &&
        sim_on(sim, UPMU_SIM_RULE_HAZARD_FIXED2))
        cpu->sticky_armed = true;
    if (wants_pmi || !sim_on(sim, UPMU_SIM_RULE_FREEZE_NEEDS_INT))
        upmu_sim_intel_freeze(sim, index);
    if ((wants_pmi && sim_on(sim, UPMU_SIM_RULE_INT_REQUESTS_PMI)) ||
        (!wants_pmi && !sim_on(sim, UPMU_SIM_RULE_INT_NEEDED)))
        upmu_sim_request_pmi(sim, index);
}
