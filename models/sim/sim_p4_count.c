/* SPDX-License-Identifier: MIT */
/*
 * When a counter of the Pentium 4 counts, how much it counts, and what an overflow does. Sources are with the rules in
 * models/sim/sim.h.
 *
 * A burst is the execution of one hyper-thread. If both hyper-threads of a core run at the same time, that is two
 * bursts, one after the other. In the clocks of each burst both hyper-threads are active, unless one is halted.
 */
#include "models/sim/sim_p4.h"

/* ---- Running ---- */

/*
 * Return the value of the ESCR that a counter sees, and in *out_address its address; 0 in both: the counter sees none.
 */
static uint64_t nb_seen(const struct upmu_sim *sim, unsigned home, unsigned counter, uint32_t *out_address)
{
    const struct upmu_sim_p4 *p4 = &sim->cpu[home].p4;

    *out_address = upmu_sim_p4_wired(sim, counter, p4->cccr[counter]);
    return *out_address != 0 ? p4->escr[upmu_sim_p4_escr(sim, *out_address)] : 0;
}

bool upmu_sim_p4_runs(const struct upmu_sim *sim, unsigned cpu, unsigned counter)
{
    unsigned home = upmu_sim_p4_home(sim, cpu);
    uint32_t address;

    if (counter >= UPMU_SIM_P4_COUNTERS || !upmu_sim_p4_enabled(sim, home, counter))
        return false;
    return nb_seen(sim, home, counter, &address) & 0xfu;
}

/* ---- Whose events an ESCR counts: hyper-thread, ring; and is a unit at work? ---- */

struct nb_view {
    const struct upmu_sim *sim;
    const struct upmu_sim_burst *burst;
    unsigned home;
    unsigned thread; /* the hyper-thread that executes the burst: 0, 1 */
};

static bool nb_independent(uint32_t unit, uint32_t event)
{
    switch (unit) {
    case P4_FIRM:
        return true;
    case P4_TC:
    case P4_PMH:
        return event == 0x01;
    case P4_DAC:
        return event == 0x05;
    case P4_FSB:
        return event == 0x17 || event == 0x16 || event == 0x08 || event == 0x06 || event == 0x04;
    default:
        return false;
    }
}

static bool nb_ring_ignored(const struct nb_view *view, uint32_t unit, uint32_t event)
{
    if (unit != P4_FSB)
        return false;
    return event == 0x1a ||
           (event == 0x03 && view->sim->profile->signature < 0xf27 && sim_on(view->sim, UPMU_SIM_RULE_P4_IOQ_CPL));
}

/* Do bits 3:0 of an ESCR (T0 OS, T0 USR, T1 OS, T1 USR) include the hyper-thread and the ring of the burst? */
static bool nb_sees(const struct nb_view *view, uint32_t unit, uint64_t escr)
{
    const struct upmu_sim *sim = view->sim;
    bool independent = nb_independent(unit, P4_ESCR_EVENT(escr)) && sim_on(sim, UPMU_SIM_RULE_P4_THREAD_INDEPENDENT);
    uint32_t rings;

    if (!sim_on(sim, UPMU_SIM_RULE_P4_THREAD) || independent)
        rings = (uint32_t)(escr | escr >> 2) & 3u;
    else
        rings = (uint32_t)(view->thread != 0 ? escr : escr >> 2) & 3u;
    if (nb_ring_ignored(view, unit, P4_ESCR_EVENT(escr)) || !sim_on(sim, UPMU_SIM_RULE_P4_RING))
        return (escr & 0xfu) != 0;
    return rings & (view->burst->user ? 1u : 2u);
}

/* Is the unit at work: is there an enabled counter that can see an ESCR of the unit? */
static bool nb_unit_works(const struct nb_view *view, uint32_t unit)
{
    for (unsigned i = 0; i < UPMU_SIM_P4_COUNTERS; i++) {
        if (upmu_sim_p4_enabled(view->sim, view->home, i) && upmu_sim_p4_reaches(view->sim, i, unit))
            return true;
    }
    return !sim_on(view->sim, UPMU_SIM_RULE_P4_NULL_UNIT);
}

static uint64_t nb_escr_at(const struct nb_view *view, uint32_t address)
{
    return view->sim->cpu[view->home].p4.escr[upmu_sim_p4_escr(view->sim, address)];
}

/* ---- Tags ---- */

/* Return which uops are tagged now by uop_type at the RAT, as bits of its event mask: bit 1 loads, bit 2 stores. */
static uint32_t nb_front_tags(const struct nb_view *view)
{
    uint32_t tags = 0;

    for (unsigned side = 0; side < 2; side++) {
        uint64_t escr = nb_escr_at(view, P4_RAT + side);

        if (P4_ESCR_EVENT(escr) == 0x02 && nb_sees(view, P4_RAT, escr))
            tags |= P4_ESCR_MASK(escr) & 6u;
    }
    return tags != 0 && nb_unit_works(view, P4_RAT) ? tags : 0;
}

static uint64_t nb_front_tagged(const struct nb_view *view)
{
    uint32_t tags = nb_front_tags(view);

    return (tags & 2u ? view->burst->loads : 0) + (tags & 4u ? view->burst->stores : 0);
}

/* Return the mask of the tags that an occurrence at the FIRM unit gets. */
static uint32_t nb_execution_tags(const struct nb_view *view, const struct upmu_sim_other *other)
{
    uint32_t tags = 0;

    for (unsigned side = 0; side < 2; side++) {
        uint64_t escr = nb_escr_at(view, P4_FIRM + side);

        if (P4_ESCR_EVENT(escr) != other->event || !(P4_ESCR_MASK(escr) & other->mask) || !nb_sees(view, P4_FIRM, escr))
            continue;
        if (!sim_on(view->sim, UPMU_SIM_RULE_P4_TAG_ENABLE))
            tags |= 1u;
        else if (escr & P4_ESCR_TAG_ENABLE)
            tags |= P4_ESCR_TAG(escr);
    }
    return tags != 0 && nb_unit_works(view, P4_FIRM) ? tags : 0;
}

static bool nb_upstream(const struct nb_view *view, uint32_t address, uint32_t event, uint32_t mask)
{
    uint64_t escr = nb_escr_at(view, address);

    return P4_ESCR_EVENT(escr) == event && P4_ESCR_MASK(escr) & mask && nb_sees(view, address & ~1u, escr) &&
           nb_unit_works(view, address);
}

/*
 * Is this replay tagged: are bit 24 and its own bit of 3F1H set, and its bit of 3F2H, and does an upstream ESCR select
 * the event that a MOB or split replay needs?
 */
static bool nb_replay_tagged(const struct nb_view *view, const struct upmu_sim_other *other)
{
    const struct upmu_sim_p4 *p4 = &view->sim->cpu[view->home].p4;

    if (!(p4->replay & other->payload) || !(p4->matrix & other->matrix))
        return false;
    if (!(p4->replay & SIM_BIT(24)) && sim_on(view->sim, UPMU_SIM_RULE_P4_UOP_TAG))
        return false;
    if (!sim_on(view->sim, UPMU_SIM_RULE_P4_REPLAY_UPSTREAM))
        return true;
    if (other->payload == SIM_BIT(9))
        return nb_upstream(view, P4_MOB, 0x03, 0x30) || nb_upstream(view, P4_MOB + 1u, 0x03, 0x30);
    if (other->payload == SIM_BIT(10) && other->matrix == 1)
        return nb_upstream(view, P4_SAAT + 1u, 0x04, 0x02);
    if (other->payload == SIM_BIT(10))
        return nb_upstream(view, P4_SAAT, 0x05, 0x02);
    return true;
}

/* ---- Occurrences ---- */

static uint64_t nb_instructions(const struct nb_view *view, uint32_t mask)
{
    uint64_t tagged = sim_on(view->sim, UPMU_SIM_RULE_P4_TAGGED_INSTRUCTIONS) ? nb_front_tagged(view) : 0;

    if (tagged > view->burst->instructions)
        tagged = view->burst->instructions;
    return (mask & 1u ? view->burst->instructions - tagged : 0) + (mask & 2u ? tagged : 0);
}

/* Return how many hyper-threads of a core are not halted; a second one counts only if the model has it. */
static unsigned nb_active(const struct upmu_sim *sim, unsigned home)
{
    unsigned active = sim->cpu[home].halted ? 0 : 1;

    if (upmu_sim_p4_threads(sim, home) && !sim->cpu[home + 1u].halted)
        active++;
    return active;
}

/* Return the clocks of the burst in which its hyper-thread is not halted. */
static uint64_t nb_clocks(const struct nb_view *view)
{
    return view->sim->cpu[view->home + view->thread].halted ? 0 : view->burst->cycles;
}

/*
 * Return how often the event of an ESCR happens in a burst, as far as fields of the burst other than `other` have it.
 */
static uint64_t nb_named(const struct nb_view *view, uint32_t unit, uint64_t escr)
{
    const struct upmu_sim_burst *burst = view->burst;
    uint32_t mask = P4_ESCR_MASK(escr);
    uint64_t predicted = burst->branches > burst->mispredicts ? burst->branches - burst->mispredicts : 0;
    uint64_t hits = burst->llc_references > burst->llc_misses ? burst->llc_references - burst->llc_misses : 0;

    switch (unit << 8 | P4_ESCR_EVENT(escr)) {
    case P4_CRU0 << 8 | 0x02: /* instr_retired */
        return nb_instructions(view, mask);
    case P4_CRU0 << 8 | 0x07: /* instr_completed */
        return upmu_sim_p4_model(view->sim->profile) > 2 && mask & 1u ? burst->instructions : 0;
    case P4_CRU0 << 8 | 0x01: /* uops_retired */
        return mask & 1u ? burst->uops : 0;
    case P4_CRU0 << 8 | 0x03: /* mispred_branch_retired */
        return mask & 1u ? burst->mispredicts : 0;
    case P4_CRU2 << 8 | 0x06: /* branch_retired: all branches of a burst are taken */
        return (mask & 4u ? predicted : 0) + (mask & 8u ? burst->mispredicts : 0);
    case P4_CRU2 << 8 | P4_FRONT_END_EVENT:
        return mask & 1u ? nb_front_tagged(view) : 0;
    case P4_TBPU << 8 | 0x04: /* retired_branch_type: all branches of a burst are conditional */
        return mask & 2u ? burst->branches : 0;
    case P4_TBPU << 8 | 0x05: /* retired_mispred_branch_type */
        return mask & 2u ? burst->mispredicts : 0;
    case P4_FSB << 8 | 0x13: /* global_power_events */
        return mask & 1u ? nb_clocks(view) : 0;
    case P4_BSU << 8 | 0x0c: /* bsq_cache_reference: bit 1 read hits, bit 8 read misses */
        return (mask & 2u ? hits : 0) + (mask & 0x100u ? burst->llc_misses : 0);
    default:
        return 0;
    }
}

static bool nb_ioq_answers(const struct upmu_sim *sim, uint32_t mask, uint32_t what)
{
    bool type = (mask & 0x1fu) == (what & 0x1fu);
    bool access = mask & what & 0x60u;
    bool memory = mask & what & 0xf80u;

    if (!(mask & what & 0x6000u))
        return false;
    if (upmu_sim_p4_model(sim->profile) >= 2 && sim_on(sim, UPMU_SIM_RULE_P4_IOQ_AND))
        return type && access && memory;
    return type || access || (memory && !(mask & 0x60u));
}

/*
 * Does an ESCR of a unit select an event of burst->other: the same unit and event number, and event masks that have a
 * bit in common? Allocations of IOQ and BSQ, whose masks contain codes, have rules of their own.
 */
static bool nb_answers(const struct upmu_sim *sim, uint32_t unit, uint64_t escr, const struct upmu_sim_other *other)
{
    uint32_t mask = P4_ESCR_MASK(escr), event = P4_ESCR_EVENT(escr);

    if (other->escr != unit || other->event != event)
        return false;
    if (unit == P4_FSB && (event == 0x03 || event == 0x1a))
        return nb_ioq_answers(sim, mask, other->mask);
    if (unit == P4_BSU && (event == 0x05 || event == 0x06) && sim_on(sim, UPMU_SIM_RULE_P4_BSQ_FIELDS))
        return ((mask ^ other->mask) & 0x380fu) == 0 && mask & other->mask & 0x7e0u;
    return mask & other->mask;
}

/*
 * Does an event count entries of a queue that the unit does not add up: IOQ_active_entries or bsq_active_entries, while
 * the even ESCR of the unit does not select the allocation with the same event mask?
 */
static bool nb_lacks_allocation(const struct nb_view *view, uint32_t unit, uint64_t escr)
{
    uint32_t event = P4_ESCR_EVENT(escr);
    uint64_t even = nb_escr_at(view, unit);

    if (!(unit == P4_FSB && event == 0x1a) && !(unit == P4_BSU && event == 0x06))
        return false;
    return (P4_ESCR_EVENT(even) != (unit == P4_FSB ? 0x03u : 0x05u) || P4_ESCR_MASK(even) != P4_ESCR_MASK(escr)) &&
           sim_on(view->sim, UPMU_SIM_RULE_P4_OCCUPANCY);
}

/*
 * Return how much an entry of burst->other adds to a counter whose ESCR selects it: its count, except twice the count
 * of TC_misc, half of bsq_active_entries on models 3 and 4, and 0 of a replay without its tag.
 */
static uint64_t nb_weight(const struct nb_view *view, const struct upmu_sim_other *other)
{
    const struct upmu_sim *sim = view->sim;
    unsigned model = upmu_sim_p4_model(sim->profile);

    if (other->escr == P4_TC && other->event == 0x06 && sim_on(sim, UPMU_SIM_RULE_P4_TC_MISC_TWICE))
        return other->count << 1;
    if (other->escr == P4_BSU && other->event == 0x06 && (model == 3 || model == 4) &&
        sim_on(sim, UPMU_SIM_RULE_P4_BSQ_HALF))
        return other->count >> 1;
    if (other->escr == P4_CRU2 && other->event == P4_REPLAY_EVENT)
        return nb_replay_tagged(view, other) ? other->count : 0;
    return other->count;
}

static uint64_t nb_happened(const struct nb_view *view, uint32_t unit, uint64_t escr)
{
    uint64_t sum = nb_named(view, unit, escr);
    bool executed = unit == P4_CRU2 && P4_ESCR_EVENT(escr) == P4_EXECUTION_EVENT;

    for (unsigned i = 0; i < UPMU_SIM_OTHERS && view->burst->other[i].count != 0; i++) {
        const struct upmu_sim_other *other = &view->burst->other[i];

        if (executed && other->escr == P4_FIRM) {
            if (nb_execution_tags(view, other) & P4_ESCR_MASK(escr))
                sum += other->count;
        } else if (nb_answers(view->sim, unit, escr, other)) {
            sum += nb_weight(view, other);
        }
    }
    return sum;
}

/*
 * Return what a counter counts of `count` occurrences with COMPARE, COMPLEMENT, THRESHOLD and EDGE of its CCCR. The
 * occurrences come `per_cycle` at a time, each time in one clock; these clocks come in `runs` runs. In the other clocks
 * of the burst there is no occurrence, and 0 is not above any threshold. Without COMPARE all occurrences count.
 */
static uint64_t nb_conditioned(const struct nb_view *view, uint64_t cccr, uint64_t count)
{
    const struct upmu_sim *sim = view->sim;
    const struct upmu_sim_burst *burst = view->burst;
    uint64_t all = nb_active(sim, view->home) != 0 ? burst->cycles : 0;
    uint64_t per_cycle = burst->per_cycle != 0 ? burst->per_cycle : 1;
    uint64_t runs = burst->runs != 0 ? burst->runs : 1;
    bool compare = cccr & P4_CCCR_COMPARE && sim_on(sim, UPMU_SIM_RULE_P4_COMPARE);
    bool edge = cccr & P4_CCCR_EDGE && sim_on(sim, UPMU_SIM_RULE_P4_EDGE) &&
                (compare || !sim_on(sim, UPMU_SIM_RULE_P4_EDGE_COMPARE));
    uint64_t clocks = upmu_sim_divide(count + per_cycle - 1u, per_cycle);

    if (compare && per_cycle <= (cccr >> 20 & 0xfu))
        clocks = 0;
    if (compare && cccr & P4_CCCR_COMPLEMENT && sim_on(sim, UPMU_SIM_RULE_P4_COMPLEMENT))
        clocks = all > clocks ? all - clocks : 0;
    if (edge)
        return clocks < runs ? clocks : runs;
    return compare ? clocks : count;
}

/* Does ACTIVE_THREAD of a CCCR let it count: 3 always, 0 to 2 if so many hyper-threads of the core are not halted? */
static bool nb_activity(const struct upmu_sim *sim, unsigned home, uint64_t cccr)
{
    unsigned wanted = (unsigned)(cccr >> 16) & 3u;

    return wanted == 3 || wanted == nb_active(sim, home) || !sim_on(sim, UPMU_SIM_RULE_P4_ACTIVE_THREAD);
}

uint64_t upmu_sim_p4_delta(const struct upmu_sim *sim, unsigned cpu, unsigned counter, unsigned from,
                           const struct upmu_sim_burst *burst)
{
    struct nb_view view = {sim, burst, upmu_sim_p4_home(sim, from), from - upmu_sim_p4_home(sim, from)};
    uint64_t cccr = sim->cpu[view.home].p4.cccr[counter];
    uint64_t escr, count = 0;
    uint32_t address, unit;

    if (cpu != view.home || sim->profile->flags & (UPMU_SIM_COUNTS_NOTHING | UPMU_SIM_IGNORES_WRITES))
        return 0;
    if (!upmu_sim_p4_enabled(sim, view.home, counter) || !nb_activity(sim, view.home, cccr))
        return 0;
    escr = nb_seen(sim, view.home, counter, &address);
    unit = address & ~1u;
    if (address == 0)
        return 0;
    if (P4_ESCR_EVENT(escr) == 0)
        return sim_on(sim, UPMU_SIM_RULE_P4_NULL_EVENT) ? 0 : burst->cycles;
    if (unit == P4_FSB && P4_ESCR_EVENT(escr) == 0x03 && address != unit && sim->profile->signature < 0xf27 &&
        sim_on(sim, UPMU_SIM_RULE_P4_IOQ_CPL))
        return 0;
    if (nb_sees(&view, unit, escr) && !nb_lacks_allocation(&view, unit, escr))
        count = nb_happened(&view, unit, escr);
    return nb_conditioned(&view, cccr, count);
}

/* ---- Overflow ---- */

/*
 * Does a counter that runs by a cascade request no interrupt? So it is on model 2, and on models 0 and 1 from stepping
 * 10 on.
 */
static bool nb_silent(const struct upmu_sim *sim, uint64_t cccr)
{
    unsigned model = upmu_sim_p4_model(sim->profile);

    return !(cccr & P4_CCCR_ENABLE) && sim_on(sim, UPMU_SIM_RULE_P4_CASCADE_PMI) &&
           (model == 2 || (model < 2 && (sim->profile->signature & 0xfu) > 9));
}

bool upmu_sim_p4_asserted(const struct upmu_sim *sim, unsigned cpu)
{
    unsigned home = upmu_sim_p4_home(sim, cpu);
    uint64_t wants = cpu != home ? P4_CCCR_PMI_T1 : P4_CCCR_PMI_T0;

    if (!sim_is_p4(sim) || !sim_on(sim, UPMU_SIM_RULE_P4_OVF_ASSERTS))
        return false;
    for (unsigned i = 0; i < UPMU_SIM_P4_COUNTERS; i++) {
        uint64_t cccr = sim->cpu[home].p4.cccr[i];

        if (cccr & P4_CCCR_OVF && cccr & wants && !(cccr & P4_CCCR_CASCADES && nb_silent(sim, cccr)))
            return true;
    }
    return false;
}

static void nb_request(struct upmu_sim *sim, unsigned home, unsigned counter)
{
    uint64_t cccr = sim->cpu[home].p4.cccr[counter];
    bool threads = upmu_sim_p4_threads(sim, home);
    unsigned first = threads && !sim_on(sim, UPMU_SIM_RULE_P4_PMI) ? home + 1u : home;

    sim->cpu[home].p4.pmi_due &= ~(1u << counter);
    if (cccr & P4_CCCR_PMI_T0)
        upmu_sim_request_pmi(sim, first);
    if (cccr & P4_CCCR_PMI_T1 && threads)
        upmu_sim_request_pmi(sim, first ^ 1u);
}

/*
 * Set OVF of a counter that overflowed sim->status_lag steps ago. Also request its interrupt, because OVF asserts the
 * line, unless the interrupt is still due with the next event, or the counter runs by a cascade without interrupts.
 */
void upmu_sim_p4_flag(struct upmu_sim *sim, unsigned home, unsigned counter)
{
    struct upmu_sim_p4 *p4 = &sim->cpu[home].p4;

    p4->cccr[counter] |= P4_CCCR_OVF;
    if (!(p4->pmi_due >> counter & 1u) && !nb_silent(sim, p4->cccr[counter]) &&
        sim_on(sim, UPMU_SIM_RULE_P4_OVF_ASSERTS))
        nb_request(sim, home, counter);
}

static void nb_overflow(struct upmu_sim *sim, unsigned home, unsigned counter)
{
    struct upmu_sim_p4 *p4 = &sim->cpu[home].p4;

    if (sim_on(sim, UPMU_SIM_RULE_P4_OVF) && !sim_on(sim, UPMU_SIM_RULE_HAZARD_P4_UNFLAGGED)) {
        if (sim->status_lag != 0)
            sim->cpu[home].counter[counter].late = sim->status_lag;
        else
            p4->cccr[counter] |= P4_CCCR_OVF;
    }
    if (!(p4->cccr[counter] & (P4_CCCR_PMI_T0 | P4_CCCR_PMI_T1)) || nb_silent(sim, p4->cccr[counter]))
        return;
    if (sim_on(sim, UPMU_SIM_RULE_P4_PMI_NEXT))
        p4->pmi_due |= 1u << counter;
    else
        nb_request(sim, home, counter);
}

static bool nb_forced(const struct upmu_sim *sim, unsigned home, unsigned counter)
{
    return sim->cpu[home].p4.cccr[counter] & P4_CCCR_FORCE_OVF && sim_on(sim, UPMU_SIM_RULE_P4_FORCE_OVF);
}

uint64_t upmu_sim_p4_room(const struct upmu_sim *sim, unsigned home, unsigned counter)
{
    if (sim->cpu[home].p4.pmi_due >> counter & 1u || nb_forced(sim, home, counter))
        return 1;
    return SIM_BIT(40) - sim->cpu[home].counter[counter].value;
}

void upmu_sim_p4_count(struct upmu_sim *sim, unsigned home, unsigned index, uint64_t count)
{
    struct upmu_sim_cpu *core = &sim->cpu[home];
    uint64_t value = core->counter[index].value;
    bool wrapped = (value + count) >> 40 != 0;

    if (count == 0)
        return;
    core->counter[index].value = (value + count) & (SIM_BIT(40) - 1u);
    if (((value + count) ^ value) >> 32 != 0)
        core->p4.carried |= 1u << index;
    if (core->p4.pmi_due >> index & 1u)
        nb_request(sim, home, index);
    core->counter[index].wraps += wrapped ? 1u : 0u;
    if (wrapped || nb_forced(sim, home, index))
        nb_overflow(sim, home, index);
}
