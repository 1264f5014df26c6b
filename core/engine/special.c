/* SPDX-License-Identifier: MIT */
/*
 * Hooks of upmu_reconcile() for plans that are not plain: cascades, metrics, an erratum's sequence, static sessions,
 * moves, worlds, boxes of units, counters that stand still, and counters that lose a carry.
 */
#include "core/engine/special.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/hw/bank.h"
#include "core/hw/port_call.h"
#include "core/engine/count.h"
#include "core/engine/features.h"
#include "core/engine/meter.h"
#include "core/engine/report.h"

bool upmu_special_pmu(const struct upmu_meter *meter)
{
#if UPMU_WORLDS
    if (meter->worlds || meter->by_hardware)
        return true;
#endif
#if UPMU_PRECISE
    if (meter->precise)
        return true;
#endif
    /* A CPU without a PMU (meter->pmu is NULL) has plans, too, in which no session leaves or comes. */
    return !meter->bank.value_bits || upmu_bank_type(&meter->bank) || meter->unowned ||
           (meter->pmu && (upmu_count_adds_first(meter) || upmu_features_hide(meter) ||
                           ((UPMU_UNCORE || UPMU_FOREIGN) && (meter->pmu->capabilities & UPMU_PMU_NO_PMI))));
}

/* ---- Which counters stay open, and how the events that come begin ---- */

/*
 * Return the counters that stand still on both sides of the plan, as their events count user mode alone: they are
 * changed without a stop.  `running`: counters that leave and would be stopped else.
 */
static uint32_t find_still(const struct upmu_meter *meter, uint32_t running)
{
    const struct upmu_plan *plan = &meter->plan;
    uint32_t still = 0;

    for (unsigned part = 0; UPMU_BACKEND_AMD && meter->pmu->kernel_select && part < plan->ins; part++) {
        uint32_t both = plan->set[part]->program.user & running;

        if (!both)
            continue;
        for UPMU_TALLIES(tally, plan->set[part]) {
            const struct upmu_tally *left = upmu_meter_on(meter, tally->counter);

            if ((tally->counters & both) && !tally->shared && left && upmu_meter_still(meter, left))
                still |= tally->counters;
        }
    }
    return still;
}

/* Has the event registers that CPUs share?  Its claim ends when its session leaves: other CPUs may write them then. */
static bool is_claimed(const struct upmu_meter *meter, const struct upmu_set *set, const struct upmu_tally *tally)
{
    const struct upmu_event *event = &set->event[tally->index];

    return upmu_meter_domain(meter) && ((tally->counters & meter->pmu->shared_counters) || event->payload ||
                                        upmu_event_is_exclusive(event));
}

/*
 * Does the plan change any register on a PMU whose counters share the registers of their events (NetBurst: an ESCR)?
 * Then it may disturb counters outside of the plan.
 */
static bool may_disturb(const struct upmu_meter *meter)
{
    return UPMU_BACKEND_X86_P4 && meter->pmu->backend->seen_by && meter->plan.changed;
}

/*
 * Return the counters that static sessions leave running, in no session's count: those whose events only count and have
 * no registers that CPUs share, and which the plan neither needs nor changes.
 */
static uint32_t find_kept(const struct upmu_meter *meter)
{
    const struct upmu_plan *plan = &meter->plan;
    uint32_t kept = 0;

    if (plan->state_after != UPMU_SESSION_WAITING || may_disturb(meter))
        return 0;
    for (unsigned part = 0; part < plan->outs; part++)
        for UPMU_TALLIES(tally, upmu_active(plan->out[part]))
            if (plan->out[part]->is_static && !plan->out[part]->full && !upmu_tally_samples(tally) &&
                !is_claimed(meter, upmu_active(plan->out[part]), tally))
                kept |= tally->counters & ~(plan->changed | plan->come);
    return kept;
}

void upmu_special_empty(struct upmu_meter *meter, uint32_t counters)
{
    upmu_meter_tag(meter, counters, 0);
    meter->unowned &= ~counters;
}

/*
 * Of the unowned counters, those that something has closed are unowned no more, and those that the plan disturbs are
 * closed by it.  Both kinds lose their tags: they hold no event's value.
 */
static void settle_unowned(struct upmu_meter *meter)
{
    uint32_t closed = meter->unowned & ~upmu_bank_open(&meter->bank, meter->unowned), disturbed = 0;

    meter->unowned &= ~closed;
    if (may_disturb(meter))
        disturbed = meter->unowned;
    meter->plan.changed |= disturbed;
    upmu_meter_tag(meter, closed | disturbed, 0);
    upmu_count_suspect(meter, closed | disturbed); /* as they may have wrapped */
}

/*
 * Return the unowned counters on which an event comes that counts the same: it takes them over as they run.  An event
 * that moves cannot: the write that closes its old counter has to open its new one, or both would count.
 */
static uint32_t find_unowned(const struct upmu_meter *meter)
{
    const struct upmu_plan *plan = &meter->plan;
    uint32_t counters = 0;

    for (unsigned part = 0; meter->unowned && part < plan->ins; part++)
        for UPMU_TALLIES(tally, plan->set[part])
            if (!upmu_tally_samples(tally) && tally->from == UPMU_NO_COUNTER &&
                !(tally->counters & (plan->changed | ~meter->unowned)) &&
                upmu_bank_knows(&meter->bank, meter->pmu->counter[tally->counter].gate_row))
                counters |= tally->counters;
    return counters;
}

static uint32_t absent_of(const struct upmu_meter *meter)
{
    uint32_t absent = 0;

#if UPMU_WORLDS
    for (unsigned part = 0; part < meter->plan.ins; part++)
        if (meter->plan.in[part]->world && (meter->plan.in[part]->world == UPMU_WORLD_GUEST) != meter->in_guest)
            absent |= meter->plan.set[part]->counters;
#else
    (void)meter;
#endif
    return absent;
}

/*
 * Return the counters that run on.  The first choice is plan->carried: on both sides an event that only counts, with
 * equal registers.  `apart`: counters that are absent on one side of the plan only.
 */
static uint32_t find_carried(const struct upmu_meter *meter, uint32_t apart)
{
    const struct upmu_plan *plan = &meter->plan;
    uint32_t carried = plan->carried;

    /*
     * Nothing is carried through an erratum's sequence, which stops all counters, nor where programs may read counters:
     * no counter may keep the value of another session there.
     */
    if (plan->sequence || upmu_features_hide(meter))
        return 0;
    for (unsigned part = 0; UPMU_LOANS && part < plan->ins; part++)
        for UPMU_TALLIES(tally, plan->set[part])
            if (upmu_tally_is_lent(tally)) /* the value of a lent counter is not the event's count */
                carried &= ~tally->counters;
    carried = (carried | find_unowned(meter)) & ~(apart & plan->come);
    /* A session that leaves because it is full is to be masked: its counters are closed, not carried. */
    for (unsigned part = 0; part < plan->outs; part++)
        if (plan->out[part]->full)
            carried &= ~plan->out[part]->counters;
    return carried;
}

/*
 * Decide how the events that come begin, in masks of counters: those that are written (`written`), those whose event
 * takes the base of the event that leaves (`based`), those whose event begins anew even if its own value is still there
 * (`begun`), and those that the hardware opens, the targets of cascades (`dormant`).
 */
static void find_values(struct upmu_meter *meter)
{
    struct upmu_plan *plan = &meter->plan;
    bool keeps = UPMU_UNCORE && (meter->pmu->capabilities & UPMU_PMU_KEEPS);

    for (unsigned part = 0; part < plan->ins; part++)
        for UPMU_TALLIES(tally, plan->set[part]) {
            if (upmu_count_is_written(meter, tally))
                plan->written |= tally->counters;
            if (upmu_tally_cascades(tally))
                plan->dormant |= UPMU_BIT32(tally->counter & 31u);
        }
    plan->based = (plan->carried | (upmu_features_hide(meter) ? 0 : plan->still)) & ~plan->written;
    plan->begun = plan->changed & ~plan->still;
    if (keeps) {
        plan->based = plan->leave;
        plan->begun = 0;
    }
    plan->based &= plan->leave; /* an unowned counter is left by no event whose base could be taken */
    for (unsigned part = 0; UPMU_MOVES && part < plan->outs; part++)
        for UPMU_TALLIES(tally, upmu_active(plan->out[part]))
            /* an event that comes to `from` cannot take this event's base, which by then is of its new counter */
            if (tally->from != UPMU_NO_COUNTER && tally->from != tally->counter)
                plan->based &= ~UPMU_BIT32(tally->from);
    plan->begun |= meter->unowned;
    if (!meter->bank.value_bits || upmu_bank_type(&meter->bank))
        plan->written = ~0u; /* value widths differ, or a unit: upmu_count_write_at() reads or writes, by event */
}

/*
 * The last exit from a guest may have opened coming counters that an interrupt had closed (`exit_opens`).  So make the
 * enable register unknown, and let these counters begin anew.  In a handler exit_opens keeps them, because that exit
 * may still be to come.
 */
static void doubt_exit(struct upmu_meter *meter)
{
#if UPMU_WORLDS
    uint32_t doubt = meter->exit_opens & meter->plan.come & ~(meter->running | meter->unowned);

    if (!doubt)
        return;
    upmu_bank_forget_row(&meter->bank, meter->pmu->counter[0].gate_row);
    upmu_meter_tag(meter, doubt, 0);
    if (!meter->in_handler)
        meter->exit_opens = 0;
#else
    (void)meter;
#endif
}

void upmu_special_prepare(struct upmu_meter *meter)
{
    struct upmu_plan *plan = &meter->plan;
    uint32_t absent = upmu_bank_absent(&meter->bank), coming = absent_of(meter);

    doubt_exit(meter);
    if (meter->unowned)
        settle_unowned(meter);
    plan->carried = find_carried(meter, absent ^ coming);
    plan->still = find_still(meter, plan->leave & ~(plan->carried | absent | coming));
    /* Counters that static sessions leave running stay open, unless the plan has an erratum's sequence. */
    if (!plan->sequence) /* a sequence stops all of them */
        plan->kept = find_kept(meter) & ~absent;
    find_values(meter);
}

/* ---- Hooks when counts are taken and before values are loaded ---- */

void upmu_special_begin_take(struct upmu_meter *meter, struct upmu_session *session)
{
    if (upmu_session_has_metrics(meter, session))
        (void)upmu_special_take_metrics(meter, session);
}

unsigned upmu_special_take(struct upmu_meter *meter, struct upmu_tally *tally)
{
    unsigned counter = upmu_tally_runs_on(tally);
    bool moves = tally->from != UPMU_NO_COUNTER;

    if (upmu_tally_is_metric(tally) ||
        (meter->plan.moved & UPMU_BIT32(counter & 31u) & (moves ? ~0u : tally->counters)))
        return UPMU_NO_COUNTER;
    if (upmu_count_armed(meter, tally))
        return counter;
    upmu_count_lose(meter, tally);
    return UPMU_NO_COUNTER;
}

/*
 * Take over a counter that a static session left running, for the event that comes (`tally`).  If this event had the
 * counter before and the plan lets the counter run on, the counter's present value becomes the event's base: what was
 * counted in between is left out.  In between the counter may have wrapped; its status bit would look like an overflow
 * of the event.  On a port without interrupts the bit is cleared here, unless the new base is at least the old one (no
 * wrap).  Elsewhere the handler clears such bits.  After a fault the counter counts as failed.
 */
static void adopt_counter(struct upmu_meter *meter, struct upmu_tally *tally)
{
    uint64_t before = tally->base;

    if (meter->slot[tally->counter].tag == tally->tag && (tally->counters & meter->plan.carried)) {
        if (!upmu_count_go_on_at(meter, tally, meter->plan.now_ns)) {
            upmu_meter_loses(meter, tally);
            return;
        }
        meter->plan.begun &= ~tally->counters;
        if (tally->base >= before)
            return;
    }
    upmu_count_suspect(meter, tally->counters);
    if (!upmu_count_acknowledge(meter, tally->counters))
        upmu_meter_loses(meter, tally);
}

bool upmu_special_before_load(struct upmu_meter *meter, struct upmu_set *set)
{
    struct upmu_plan *plan = &meter->plan;
    bool free = upmu_meter_is_free(meter);

    for UPMU_TALLIES(tally, set) {
        if (free) {
            if (!upmu_count_begin_at(meter, tally, plan->now_ns))
                upmu_meter_loses(meter, tally);
            continue;
        }
        if (upmu_tally_is_metric(tally)) { /* no counter has a metric's value */
            upmu_meter_tag(meter, tally->counters, tally->tag);
            plan->begun &= ~tally->counters;
            continue;
        }
        if (!meter->slot[tally->counter].tag) /* the count of the event that leaves was lost: it has no base to take */
            plan->based &= ~tally->counters;
        if (upmu_meter_tagged(meter, tally) != tally->counters)
            plan->begun |= tally->counters;
        if (tally->counters & meter->unowned)
            adopt_counter(meter, tally);
    }
    return !free;
}

void upmu_special_end_take(struct upmu_meter *meter, const struct upmu_session *session)
{
    upmu_count_note_lacks(meter);
    upmu_count_unlearn(meter, session->counters);
}

/* ---- Cascades ---- */

static uint32_t find_targets(const struct upmu_plan *plan)
{
    uint32_t targets = 0;

    if (!UPMU_BACKEND_X86_P4)
        return 0;
    for (unsigned part = 0; part < plan->outs; part++)
        targets |= upmu_session_targets(plan->out[part]) & plan->out[part]->counters;
    return targets;
}

/* Close the counter that starts a cascade, and load it to overflow after `period` events; each start begins it anew. */
static void load_initiator(struct upmu_meter *meter, const struct upmu_tally *tally, uint64_t period)
{
    unsigned counter = tally->slot[UPMU_SECOND_SLOT];

    if (!upmu_bank_close(&meter->bank, UPMU_BIT32(counter)) ||
        !upmu_bank_write(&meter->bank, counter, UINT64_C(0) - period))
        upmu_meter_fails(meter, tally->counters);
}

/* ---- Lost carries ---- */

/*
 * Before a close: fold events of the sessions that leave.  Events that move are folded, and their values are kept in
 * plan->moved_base.  On PMUs where a close loses a carry all events are folded.
 */
static void add_before(struct upmu_meter *meter)
{
    const struct upmu_plan *plan = &meter->plan;
    uint64_t now_ns = upmu_meter_now(meter);

    for (unsigned part = 0, moved = 0; part < plan->outs; part++)
        for UPMU_TALLIES(tally, upmu_active(plan->out[part])) {
            bool moves = tally->from != UPMU_NO_COUNTER && (plan->moved >> tally->from & 1u);
            unsigned counter = upmu_tally_runs_on(tally);
            uint64_t value;

            if (!moves && !upmu_count_adds_first(meter))
                continue;
            if (!upmu_bank_read(&meter->bank, counter, &value)) {
                upmu_count_lose(meter, tally);
                value = tally->base;
            }
            if (value < tally->base)
                upmu_count_note_wrap(meter, tally, now_ns, false);
            upmu_count_fold(meter, tally, counter, value);
            if (moves)
                meter->plan.moved_base[moved++] = value;
        }
}

uint32_t upmu_special_before_close(struct upmu_meter *meter)
{
    if ((UPMU_MOVES && meter->plan.moved) || upmu_count_adds_first(meter))
        add_before(meter);
    return find_targets(&meter->plan);
}

/* ---- An erratum's sequence of register writes (prelude) ---- */

/* Write an erratum's sequence.  Its accesses are counted in accesses.prelude alone. */
bool upmu_special_sequence(struct upmu_meter *meter)
{
    const struct upmu_prelude *prelude = meter->pmu->backend->prelude;
    uint32_t blocked = upmu_meter_blocked(meter);
    struct upmu_accesses *now = upmu_bank_counted(&meter->bank), before = *now;

    upmu_meter_tag(meter, prelude->counters | meter->unowned, 0);
    if (__builtin_expect(meter->unowned != 0, 0)) /* they may have wrapped in no session's count */
        upmu_count_suspect(meter, meter->unowned);
    meter->unowned = 0;
    meter->used |= prelude->counters & ~blocked;
    /* After a fault write it once more: an event that is selected after an incomplete sequence counts wrong. */
    bool fine = upmu_bank_prelude(&meter->bank, prelude, blocked) || upmu_bank_prelude(&meter->bank, prelude, blocked);

    before.prelude += now->writes - before.writes + now->reads - before.reads + now->rdpmcs - before.rdpmcs;
    *now = before;
    meter->plan.changed |= meter->plan.come;
    meter->plan.begun |= meter->plan.come;
    return fine;
}

/* ---- Moves ---- */

/* Add what the counter that the event leaves has counted since add_before() read `base` from it. */
static void take_rest(struct upmu_meter *meter, struct upmu_session *session, struct upmu_tally *tally, uint64_t base)
{
    uint64_t value;

    if (!upmu_bank_read(&meter->bank, tally->from, &value)) {
        upmu_count_mar_one(tally);
        upmu_meter_fails(meter, tally->counters);
        return;
    }
    if (upmu_count_take_rest(meter, session, tally, base, value, meter->plan.now_ns))
        upmu_report_store(meter, session, UPMU_BIT32(tally->index), meter->plan.now_ns);
}

/* Did the event's counter stand in the plan, though its session runs on: was everything stopped, or its records? */
static inline bool is_stopped_for_others(const struct upmu_plan *plan, const struct upmu_tally *tally)
{
#if UPMU_BRANCH_SAMPLES
    if (plan->regroups && !(tally->counters & plan->carried))
        return true;
#else
    (void)tally;
#endif
    return UPMU_PRELUDES && plan->sequence;
}

void upmu_special_opened(struct upmu_meter *meter)
{
    struct upmu_plan *plan = &meter->plan;
    bool timed = port_has_clock(meter->bank.port);
    uint64_t gap_ns = 0;

    for (unsigned part = 0, moved = 0; (UPMU_MOVES || UPMU_PRELUDES || UPMU_BRANCH_SAMPLES) && part < plan->outs;
         part++)
        for UPMU_TALLIES(tally, upmu_active(plan->out[part])) {
            bool moves = UPMU_MOVES && tally->from != UPMU_NO_COUNTER;

            if (moves && (plan->moved >> tally->from & 1u)) {
                take_rest(meter, plan->out[part], tally, plan->moved_base[moved++]);
                continue;
            }
            if (!(moves || is_stopped_for_others(plan, tally)) || plan->out[part]->state != UPMU_SESSION_RUNNING)
                continue;
            gap_ns = gap_ns ? gap_ns : upmu_meter_now(meter) - plan->now_ns;
            UPMU_STORE(tally->gap_ns, tally->gap_ns + gap_ns);
            if (!timed || upmu_tally_cascades(tally))
                upmu_count_mar_one(tally);
        }
}

/* ---- Worlds ---- */

void upmu_special_worlds(struct upmu_meter *meter)
{
#if UPMU_WORLDS
    meter->of_world[0] = meter->of_world[1] = 0;
    for (uint32_t rest = meter->worlds ? meter->running : 0; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);
        unsigned world = meter->slot[counter].session->world;

        if (world)
            meter->of_world[world == UPMU_WORLD_GUEST] |= UPMU_BIT32(counter);
    }
    /* Where the hardware opens and closes counters at entry and exit, in_guest stays 0: guest counters are absent. */
    meter->bank.absent = meter->of_world[!meter->in_guest];
#else
    (void)meter;
#endif
}

/* ---- Metrics ---- */

#if UPMU_METRICS

/*
 * Top-down metrics: bytes of PERF_METRICS, each the fraction of the slots that one metric has had.  Fixed counter 3
 * counts the slots; both registers count from the moment at which they are set to 0.  The metrics of a session are read
 * together; each read ends a window, and sets both to 0 for the next one.  Order: slots are read before metrics, and
 * set to 0 before them (Linux arch/x86/events/intel/core.c, icl_update_topdown_event and icl_set_topdown_event_period).
 */

static UPMU_APART struct upmu_tally *slots_of(struct upmu_session *session)
{
    for UPMU_TALLIES(tally, upmu_active(session))
        if (tally->counter == UPMU_SLOTS_COUNTER)
            return tally;
    return NULL;
}

static unsigned register_of(const struct upmu_meter *meter, const struct upmu_session *session)
{
    return upmu_bits_lowest(session->counters & UPMU_METRIC_COUNTERS(meter->pmu));
}

/*
 * Begin a window of metrics: set slots and metrics to 0.  The counters are stopped.  A register that faults: all
 * counters of the session count as failed.
 */
static void begin_metrics(struct upmu_meter *meter, struct upmu_session *session)
{
    struct upmu_tally *slots = slots_of(session);

    if (!upmu_bank_write(&meter->bank, UPMU_SLOTS_COUNTER, 0) ||
        !upmu_bank_write(&meter->bank, register_of(meter, session), 0))
        upmu_meter_fails(meter, session->counters);
    meter->used |= UPMU_BIT32(UPMU_SLOTS_COUNTER);
    upmu_meter_tag(meter, UPMU_BIT32(UPMU_SLOTS_COUNTER), slots ? slots->tag : 0);
    if (slots)
        upmu_count_from_zero(slots);
}

/*
 * Add to each metric its share of the slots of the window.  A metric's tally has no counter value: in `base` the error
 * of its count so far is summed up.  On a fault `hole` of all events is set, and their counters count as failed.
 */
bool upmu_special_take_metrics(struct upmu_meter *meter, struct upmu_session *session)
{
    uint64_t slots, metrics;

    if (!upmu_bank_read(&meter->bank, UPMU_SLOTS_COUNTER, &slots) ||
        !upmu_bank_count(&meter->bank, register_of(meter, session), ~UINT64_C(0), &metrics)) {
        upmu_count_mar(session);
        upmu_meter_fails(meter, session->counters);
        return false;
    }
    for UPMU_TALLIES(tally, upmu_active(session))
        if (slots && upmu_tally_is_metric(tally))
            upmu_count_add_metric(meter, tally, slots, metrics);
    return true;
}

void upmu_special_update_metrics(struct upmu_meter *meter, struct upmu_session *session)
{
    uint32_t counters = session->counters & (UPMU_METRIC_COUNTERS(meter->pmu) | UPMU_BIT32(UPMU_SLOTS_COUNTER));
    struct upmu_tally *slots = slots_of(session);

    upmu_session_begin_change(session);
    if (!upmu_bank_gate(&meter->bank, 0, counters))
        upmu_meter_fails(meter, counters);
    (void)upmu_special_take_metrics(meter, session);
    if (slots && !upmu_count_add(meter, slots, upmu_meter_now(meter)))
        upmu_meter_fails(meter, counters);
    begin_metrics(meter, session);
    if (!upmu_bank_gate(&meter->bank, counters, 0))
        upmu_meter_fails(meter, counters);
    upmu_session_end_change(session);
}

#endif

void upmu_special_load(struct upmu_meter *meter, struct upmu_session *session)
{
    for UPMU_TALLIES(tally, upmu_active(session)) {
        upmu_meter_give(meter, session, tally);
        if (meter->slot[tally->counter].tag == tally->tag)
            upmu_meter_tag(meter, tally->counters, tally->tag);
        if (upmu_tally_cascades(tally))
            load_initiator(meter, tally, upmu_active(session)->sampling[tally->index].period);
    }
#if UPMU_METRICS
    if (upmu_session_has_metrics(meter, session))
        begin_metrics(meter, session);
#endif
}
