/* SPDX-License-Identifier: MIT */
/*
 * What happens to the counters of hardware_intel.c: events, overflows, interrupts and precise records.  From
 * facts/intel ("m", "c" and "Q" as in hardware_intel.c) and facts/precise ("r 1" is item 1 of rules.md, section "A
 * counter with PEBS"; "registers" is registers.tsv).
 */
#include "tests/host/hardware_intel.h"

/* m 7: with LVTPC masked the interrupt is dropped.  m 10: it may come later than its overflow. */
void intel_raise_interrupt(struct intel *intel, struct cpu *cpu, unsigned counter)
{
    uint64_t calls = intel->options.late ? (uint32_t)next_random(&intel->random) % (intel->options.late + 1u) : 0;
    if (!calls)
        cpu->asserted |= !cpu->masked;
    else if (!(cpu->late >> counter & 1))
        cpu->due[counter] = (uint8_t)calls;
    cpu->late |= calls ? 1u << counter : 0;
}

/* models, registers: DEBUGCTL 0, or bit 0 of the architectural control; status 58 freezes (lbr). */
bool intel_stack_is_on(const struct intel *intel, const struct cpu *cpu)
{
    bool enabled =
        intel->stack && ((intel->stack->format == BRANCHES_ARCH ? cpu->branches.control : cpu->debugctl) & 1);
    return enabled && !(intel->part->version >= 4 && (cpu->status & BIT(58)));
}

/* registers, row 1A0; CPUID has what traces need (c 1.1). */
bool intel_can_trace(const struct intel *intel)
{
    return intel->options.traces && (intel->part->flags & PEBS) &&
           !(intel->options.trace_ways & (HARDWARE_TRACES_DENIED | HARDWARE_TRACES_DROPS));
}

static void trace(void *context, const struct hardware_branch *branch)
{
    struct intel *intel = context;
    struct cpu *cpu = &intel->cpu[branch->cpu];
    struct traces_kind kind = {intel->options.trace_ways, intel->options.traces};
    bool on = (cpu->debugctl & TRACES_ON) == TRACES_ON && intel_can_trace(intel);
    bool stored = on && traces_want(&kind, cpu->debugctl, branch);
    kind.memory->taken(branch, on, stored);
    if (stored && traces_take_off(&kind, &cpu->traces, branch))
        intel_land_trace(intel, branch->cpu);
}

void intel_branch(void *hardware, unsigned index, bool user, uint64_t count)
{
    struct intel *intel = hardware;
    struct cpu *cpu = &intel->cpu[index];
    struct branches_state state = {.cpu = index};
    if (!intel->stack && !intel->options.traces)
        return;
    if (intel->stack) {
        struct branches filter = {.select = *intel_select_of(intel, index), .control = cpu->branches.control};
        state.on = intel_stack_is_on(intel, cpu);
        state.select = branches_sorted_out(intel->stack, &filter);
    }
    if (intel->options.traces)
        state.also = trace, state.context = intel;
    branches_take(intel->stack, &cpu->branches, &state, user, count, intel->options.trace);
}

/* m 8: what an interrupt of a counter or of records freezes. */
static void freeze(const struct intel *intel, struct cpu *cpu)
{
    bool streamlined = intel->part->version >= 4, was = intel_stack_is_on(intel, cpu);
    uint64_t status = cpu->status;
    if ((cpu->debugctl & BIT(12)) && !streamlined)
        cpu->enable = 0;
    if ((cpu->debugctl & BIT(11)) && !streamlined)
        cpu->debugctl &= ~BIT(0);
    if ((cpu->debugctl & BIT(11)) && intel->options.traces && intel->part->model == 0x1C)
        cpu->debugctl &= ~BIT(6); /* hardware_traces.c, "manual": Atoms */
    if (streamlined)
        cpu->status |= (cpu->debugctl & (BIT(11) | BIT(12))) << 47;
    if (intel->stack && (streamlined ? cpu->status & ~status & BIT(58) : was && !intel_stack_is_on(intel, cpu)))
        intel->options.trace->stopped((unsigned)(cpu - intel->cpu), true);
}

struct pebs_kind intel_records(const struct intel *intel, const struct cpu *cpu)
{
    return (struct pebs_kind){cpu->capabilities >> 8 & 15, intel->full_at_maximum, intel->options.memory};
}

/* The record in flight is in memory (r "Order of writes": at the latest with the next write of a register). */
void intel_land(struct intel *intel, unsigned index)
{
    struct cpu *cpu = &intel->cpu[index];
    struct pebs_kind kind = intel_records(intel, cpu);
    enum pebs_landing landing = pebs_land(&kind, &cpu->pebs, index);
    cpu->pebs.loaded = 0;
    if (landing == PEBS_STALE)
        intel->damage = "a PEBS record was written to a stale DS area, or beyond what is lent";
    if (landing != PEBS_THRESHOLD)
        return;
    /* r, table "Which PEBS": of format 3 bit 62 can be clear; then the bit of a counter is set. */
    bool odd = kind.format == 3 && intel->options.lost_flags && next_random(&intel->random) % 4 == 0;
    cpu->status |= odd ? cpu->pebs.whose : BIT(62);
    cpu->pebs.instead |= odd ? cpu->pebs.whose : 0;
    freeze(intel, cpu);
    intel_raise_interrupt(intel, cpu, COUNTERS);
}

/* registers, row 38E: bit 62 tells of traces, too. */
void intel_land_trace(struct intel *intel, unsigned index)
{
    struct cpu *cpu = &intel->cpu[index];
    struct traces_kind kind = {intel->options.trace_ways, intel->options.traces};
    if (!cpu->traces.count)
        return;
    switch (traces_land(&kind, &cpu->traces, cpu->debugctl, cpu->pebs.area, index)) {
    case TRACES_STALE:
        kind.memory->lost(index);
        break;
    case TRACES_THRESHOLD:
        cpu->status |= BIT(62);
        freeze(intel, cpu);
        intel_raise_interrupt(intel, cpu, COUNTERS);
        break;
    default:
        break;
    }
}

/* A call of the fake for this CPU: late interrupts and records come nearer. */
struct cpu *intel_enter(struct intel *intel, unsigned index)
{
    struct cpu *cpu = &intel->cpu[index];
    if (cpu->pebs.due && --cpu->pebs.due == 0)
        intel_land(intel, index);
    for (unsigned counter = 0; cpu->late && counter <= COUNTERS; counter++)
        if ((cpu->late >> counter & 1) && --cpu->due[counter] == 0) {
            cpu->late &= ~(1u << counter);
            cpu->asserted |= !cpu->masked;
        }
    return cpu;
}

/* r 3: a counter gets its slot after the record, so where that value is seen, the record is. */
void intel_see(struct intel *intel, unsigned index, unsigned counter)
{
    if (counter < COUNTERS && (intel->cpu[index].pebs.loaded & counter_bit(counter)))
        intel_land(intel, index);
}

/*
 * r 2: counters of which the event that overflows them is recorded; others record the next one.  Of E-cores from
 * Crestmont on general counter 1 is one, too (Linux 6.12 events/intel/core.c, cmt_get_event_constraints).
 */
static bool is_reduced(const struct intel *intel, const struct cpu *cpu, unsigned counter)
{
    unsigned format = cpu->capabilities >> 8 & 15;
    if (format >= 4)
        return counter == GENERAL || (format >= 5 && counter <= (intel->part->core_type >> 24 == 0x20 ? 1 : 0));
    return counter == 1 && intel->part->model >= 0x2A && intel->part->model != 0x2C &&
           (cpu->select[1] & 0xFFFF) == 0x01C0;
}

/* The events of these counters are recorded: one record for each of them, or one for all. */
static void record(struct intel *intel, unsigned index, struct hardware_record truth, uint64_t counters)
{
    struct cpu *cpu = &intel->cpu[index];
    struct pebs_kind kind = intel_records(intel, cpu);
    /* r "Order of writes", errata: before format 3 one record; facts are silent since: its bits may be several. */
    bool one = kind.format < 3 || next_random(&intel->random) % 2;
    truth.cpu = (uint8_t)index;
    truth.ordinal = cpu->pebs.ordinal[truth.event];
    for (uint64_t rest = counters; rest; rest &= ~truth.counters) {
        struct pebs_view view = {.status = cpu->status,
                                 .general = cpu->value,
                                 .fixed = cpu->value + GENERAL,
                                 .stack = intel->stack,
                                 .branches = &cpu->branches};
        intel_land(intel, index);
        truth.counters = one ? rest : rest & (0 - rest);
        truth.named = kind.format < 3 ? cpu->status & cpu->pebs.enable : truth.counters;
        truth.reduced = truth.counters & ~cpu->pebs.armed;
        for (unsigned counter = 0; counter < COUNTERS; counter++)
            if ((truth.counters & counter_bit(counter)) &&
                (counter < GENERAL ? cpu->select[counter] & BIT(34)
                                   : cpu->control & BIT(32 + 4 * (counter - GENERAL)))) /* registers: 34, 32 + 4n */
                view.groups = cpu->pebs.config;
        if (!pebs_take_off(&kind, &cpu->pebs, &truth, &view))
            intel->damage = "a PEBS record was written to a stale DS area";
        else
            intel->options.memory->recorded(&truth);
        cpu->pebs.whose = truth.counters;
        cpu->pebs.due = intel->options.late ? (uint8_t)(next_random(&intel->random) % 8) : 0;
        cpu->pebs.armed &= ~truth.counters;
        cpu->status &= ~(truth.counters & ~cpu->pebs.instead);                      /* m 5 */
        for (unsigned counter = 0; counter < COUNTERS && !truth.dropped; counter++) /* r 3; m 5: a store loads it */
            if ((truth.counters & counter_bit(counter)) &&
                pebs_slot(&kind, &cpu->pebs, index, counter_bit(counter), &cpu->value[counter])) {
                cpu->value[counter] &= width_mask(intel);
                cpu->pebs.loaded |= cpu->value[counter] > 1 ? counter_bit(counter) : 0;
            }
    }
    if (!cpu->pebs.due)
        intel_land(intel, index);
}

/* True: the event is recorded. */
static bool overflow(struct intel *intel, struct cpu *cpu, unsigned counter)
{
    uint64_t bit = counter_bit(counter), was = cpu->status;
    bool records = counter < GENERAL || (cpu->capabilities & BIT(14)); /* c 14: bit 32 + i was load latency before */
    if (records && (cpu->pebs.enable & bit)) { /* m 5: a record instead of an interrupt */
        if (mode(cpu, counter) & 8) /* r 1 */
            intel->damage = "a counter that is to store PEBS records has its interrupt bit set";
        if (counter && !(cpu->capabilities & 0xF00)) /* r, table "Which PEBS" */
            intel->damage = "a PEBS record of format 0 by a counter other than general counter 0";
        cpu->status |= bit;
        if (is_reduced(intel, cpu, counter))
            return true;
        cpu->pebs.armed |= bit;
        return false;
    }
    for (unsigned i = 0; i < COUNTERS; i++) /* c 2, c 15: auto counter reload */
        if (cpu->cause[i] & bit)
            cpu->value[i] = (uint64_t)(int64_t)(int32_t)(uint32_t)cpu->refill[i] & width_mask(intel);
    if (cpu->cause[counter] & bit) /* Q-B13: no flag */
        return false;
    cpu->status |= bit; /* m 5: whatever the interrupt bit says */
    if (!(mode(cpu, counter) & 8))
        return false;
    if (intel->options.lost_flags && intel->part->version >= 2) {
        /* foreign.md 6.1: a flag that is hidden has to be cleared all the same (version 1 has none: c 1.3) */
        if (was & bit)
            return false;
        cpu->hidden |= next_random(&intel->random) % 4 ? 0 : bit;
    }
    freeze(intel, cpu);
    intel_raise_interrupt(intel, cpu, counter);
    return false;
}

/* Does this select count the event?  intel_arch_events.csv; one event happens a cycle (m 4.5). */
static bool selects(const struct part *part, uint64_t select, enum hardware_event event)
{
    static const struct {
        uint32_t code, bit;
    } codes[HARDWARE_EVENTS] = {{0x003C, 0}, {0x00C0, 1}, {0x00C4, 5}, {0x00C5, 6},
                                {0x4F2E, 3}, {0x412E, 4}, {0x013C, 2}};
    uint64_t code = (select & 0xFFFF) | (select >> 40 << 16), least = select >> 24 & 0xFF;
    uint32_t there = part->version >= 6 ? part->leaf_23[3] : ~part->leaf_a[1]; /* c 1.2, c 1.4 */
    if (least > 1 || (least == 1 && (select & BIT(23))))
        return false;
    if (event == HARDWARE_REFERENCE_CYCLES && part->version < 6) /* Q-B16: another clock */
        return false;
    if (code == 0x7F89 && part->model == 0x1A) /* Q-B1 */
        return event == HARDWARE_BRANCH_MISSES;
    if (code == 0x01C0 && (part->flags & LATENCY)) /* perfmon_precise.tsv: INST_RETIRED.PREC_DIST, .ANY_P */
        return event == HARDWARE_INSTRUCTIONS;
    return code == codes[event].code && (there >> codes[event].bit & 1);
}

/* m 4: all of it must hold. */
static bool counts(struct intel *intel, unsigned index, unsigned counter, enum hardware_event event, bool user,
                   bool own)
{
    static const enum hardware_event fixed[] = {HARDWARE_INSTRUCTIONS, HARDWARE_CYCLES, HARDWARE_REFERENCE_CYCLES};
    struct cpu *cpu = &intel->cpu[index];
    unsigned how = exists(intel, counter) ? mode(cpu, counter) : 0;
    if (!(how & (user ? 2 : 1)) || (!own && !(how & 4)))
        return false;
    if (intel->part->version >= 2 && !(cpu->enable & counter_bit(counter)))
        return false;
    if (intel->part->version >= 4 && (cpu->status & STATUS_FROZEN))
        return false;
    if (counter >= GENERAL) /* intel_fixed.csv */
        return counter - GENERAL < 3 && fixed[counter - GENERAL] == event;
    if (counter == 3 && (intel->part->flags & TFA) && !cpu->force_abort) { /* Q-B8: microcode uses it */
        cpu->value[counter] = next_random(&intel->random) & 0xFFFF;
        return false;
    }
    return selects(intel->part, cpu->select[counter], event);
}

void intel_happen(void *hardware, unsigned index, enum hardware_event event, bool user, uint64_t count)
{
    struct intel *intel = hardware;
    const uint8_t *core = intel->model->core;
    intel_enter(intel, index);
    for (bool first = true; count; first = false) { /* up to the next overflow, which may freeze counters */
        uint32_t ticking[HARDWARE_CPUS] = {0};
        uint64_t recorded[HARDWARE_CPUS] = {0};
        uint64_t step = count;
        for (unsigned i = 0; i < intel->model->cpus; i++)
            for (unsigned counter = 0; core[i] == core[index] && counter < COUNTERS; counter++) {
                bool edge = counter < GENERAL && (intel->cpu[i].select[counter] & BIT(18)); /* m 4.5: once */
                if (!counts(intel, i, counter, event, user, i == index) || (edge && !first))
                    continue;
                bool once = edge || (intel->cpu[i].pebs.armed & counter_bit(counter));
                uint64_t left = once ? 1 : width_mask(intel) + 1 - intel->cpu[i].value[counter];
                step = left < step ? left : step;
                ticking[i] |= 1u << counter;
            }
        count -= step;
        intel->cpu[index].pebs.ordinal[event] += step;
        if (event == HARDWARE_BRANCHES)
            intel_branch(intel, index, user, step);
        for (unsigned i = 0; i < intel->model->cpus; i++)
            for (unsigned counter = 0; counter < COUNTERS; counter++)
                if (ticking[i] >> counter & 1) {
                    uint64_t *value = &intel->cpu[i].value[counter], bit = counter_bit(counter);
                    *value = (*value + step) & width_mask(intel);
                    /* m 5: once a wrap; r 2: the event after it */
                    if ((intel->cpu[i].pebs.armed & bit) || (*value == 0 && overflow(intel, &intel->cpu[i], counter)))
                        recorded[i] |= bit;
                }
        for (unsigned i = 0; i < intel->model->cpus; i++)
            if (recorded[i])
                record(intel, i, (struct hardware_record){.event = event, .user = user, .left = count}, recorded[i]);
    }
}
