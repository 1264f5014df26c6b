/* SPDX-License-Identifier: MIT */
/*
 * Carry out a plan, in seven steps: 1 close the counters that leave or change, 2 read the time, 3 take the counts of
 * sessions that leave, 4 write registers, 5 load start values, 6 publish what runs, 7 open the counters.
 *
 * A register that faults is noted in meter->failed, and the work goes on: upmu_reconcile_repair() stops the sessions on
 * such counters.  A handler that interrupts a bracket changes no data that is worked on here, but may stop counters in
 * the hardware (core/engine/interrupt.c).
 */
#include "core/engine/reconcile.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/hw/bank.h"
#include "core/hw/bank_inline.h"
#include "core/hw/port_call.h"
#include "core/engine/claims.h"
#include "core/engine/count.h"
#include "core/engine/features.h"
#include "core/engine/meter.h"
#include "core/engine/report.h"
#include "core/engine/sets.h"
#include "core/engine/special.h"
#include "core/engine/waiting.h"

/* ---- Step 1: close ---- */

/*
 * Stop counters.  After a fault the register is unknown: try once more, with a read of the register first.  Where that
 * fails, too, the counters are failed.
 */
static void close_counters(struct upmu_meter *meter, uint32_t counters)
{
    if (counters && !upmu_bank_gate(&meter->bank, 0, counters) && !upmu_bank_gate(&meter->bank, 0, counters))
        upmu_meter_fails(meter, counters);
}

/* ---- Step 3: take ---- */

/*
 * Add to the events of a session that leaves what their counters have counted.  Notes which events have a sample due
 * (session->due_events, plan->reports), and whether a counter could not be read (plan->lost).  From here until
 * leave_part() the session's sequence is odd.
 */
static inline void take_part(struct upmu_meter *meter, unsigned part, uint64_t now_ns)
{
    struct upmu_plan *plan = &meter->plan;
    struct upmu_session *session = plan->out[part];
    struct upmu_set *set = upmu_active(session);
    uint64_t bits = meter->bank.value_bits, seen = 0;
    bool odd = plan->odd;
    uint32_t due = 0;

    upmu_session_begin_change(session);
    if (__builtin_expect(odd, 0))
        upmu_special_begin_take(meter, session);
    for UPMU_TALLIES(tally, set) {
        unsigned counter = tally->counter;
        uint64_t value;

        if (__builtin_expect(odd, 0)) {
            counter = upmu_special_take(meter, tally);
            if (counter == UPMU_NO_COUNTER)
                continue;
            bits = upmu_bank_value_bits(&meter->bank, counter);
        }
        if (__builtin_expect(!upmu_bank_count(&meter->bank, counter, bits, &value), 0)) {
            if (upmu_bank_type(&meter->bank)) /* a unit: count `value`, with the last values of boxes that failed */
                upmu_count_fold(meter, tally, counter, value);
            upmu_count_lose(meter, tally);
            plan->lost |= (uint8_t)UPMU_BIT32(part);
        } else if (upmu_count_take(meter, session, tally, counter, bits, value, now_ns, odd, &seen)) {
            due |= UPMU_BIT32(tally->index);
        }
    }
    if (seen)
        UPMU_STORE(meter->seen_counting, 1);
    if (__builtin_expect(odd, 0))
        upmu_special_end_take(meter, session);
    if (__builtin_expect(due != 0, 0)) {
        session->due_events = due;
        plan->reports |= (uint8_t)UPMU_BIT32(part);
    }
}

/*
 * Store the samples that are due before load_parts() gives their sessions a new state: a sample may fill a ring, and
 * then the session is to be masked.  The sessions leave by this plan, which masks them: no work is due after it.
 */
static UPMU_APART void report_parts(struct upmu_meter *meter)
{
    const struct upmu_plan *plan = &meter->plan;
    uint8_t due = meter->work_due;

    for (unsigned part = 0; part < plan->outs; part++)
        if (plan->reports >> part & 1u)
            upmu_report_store(meter, plan->out[part], plan->out[part]->due_events, plan->now_ns);
    meter->work_due = due;
}

static inline void leave_part(struct upmu_meter *meter, unsigned part, uint64_t now_ns)
{
    struct upmu_session *session = meter->plan.out[part];
    uint8_t state = meter->plan.state_after;

    upmu_session_ran(session, now_ns);
    if (UPMU_SAMPLING && session->full) {
        state = UPMU_SESSION_MASKED;
        UPMU_STORE(session->full, 0);
    }
    if (__builtin_expect((meter->plan.lost & UPMU_BIT32(part)) || (meter->failed & session->counters), 0)) {
        state = UPMU_SESSION_STOPPED;
        (void)upmu_session_fault(meter, session);
    }
    upmu_session_enter(session, state);
    if (__builtin_expect(session->queued, 0)) /* with an empty set it was in meter->waiting[2] while it ran */
        upmu_waiting_take(meter, session);
#if UPMU_SETS
    if (session->following)
        upmu_sets_switched(session);
#endif
    upmu_session_end_change(session);
}

/* ---- Steps 4 and 5: registers and start values of the sets that come ---- */

/*
 * Load the start values of a set.  An event on a counter in plan->based takes the base of the event that leaves the
 * counter.  An event whose own value is still there (its tag) keeps it, unless plan->begun has its counter.  Any other
 * event writes its counter if plan->written has it, else reads it.  Counters get their users, and tags of the events
 * that begin; all events but targets of cascades get `ran`.
 */
static inline void load_values(struct upmu_meter *meter, struct upmu_session *session, struct upmu_set *set,
                               uint64_t now_ns)
{
    const struct upmu_plan *plan = &meter->plan;
    uint32_t stamp = upmu_count_stamp(now_ns), read = set->counters & ~(plan->based | plan->written), based, begun;
    uint64_t bits = meter->bank.value_bits;

    if (__builtin_expect((read & meter->flagged) != 0, 0) && !upmu_count_acknowledge(meter, read))
        upmu_meter_fails(meter, read);
    if (__builtin_expect(plan->odd, 0) && !upmu_special_before_load(meter, set)) {
        for UPMU_TALLIES(tally, set)
            UPMU_STORE(tally->ran, true);
        return;
    }
    based = plan->based;
    begun = plan->begun;
    for UPMU_TALLIES(tally, set) {
        struct upmu_counter_slot *slot = &meter->slot[tally->counter];
        const struct upmu_tally *left = slot->tally;

        slot->session = session;
        slot->tally = tally;
        if (__builtin_expect(!upmu_tally_cascades(tally), 1))
            UPMU_STORE(tally->ran, true);
        if (tally->counters & based)
            upmu_count_take_base(tally, left, stamp);
        else if (slot->tag == tally->tag && !(tally->counters & begun))
            continue;
        else if (!upmu_count_come_at(meter, tally, (tally->counters & plan->written) != 0, bits, stamp)) {
            upmu_meter_loses(meter, tally);
            continue;
        }
        slot->tag = tally->tag;
    }
    if (__builtin_expect(set->program.flags & UPMU_PROGRAM_ODD, 0))
        upmu_special_load(meter, session);
}

static bool is_out(const struct upmu_plan *plan, const struct upmu_session *session)
{
    for (unsigned i = 0; i < plan->outs; i++)
        if (plan->out[i] == session)
            return true;
    return false;
}

/*
 * A part does not come: close the counters that are open for it because they were carried or stood still.  What they
 * have counted since take_part() is in no count.
 */
static UPMU_APART void let_go(struct upmu_meter *meter, uint32_t counters)
{
    close_counters(meter, counters);
    upmu_meter_tag(meter, counters, 0);
}

/*
 * Take a part out of those that come: its session also leaves and was masked or failed, or one of its registers
 * faulted.
 */
static UPMU_APART void drop_part(struct upmu_meter *meter, unsigned part)
{
    struct upmu_plan *plan = &meter->plan;
    const struct upmu_set *set = plan->set[part];

    plan->come &= ~set->counters;
    plan->sampled_in &= ~set->counters;
    plan->halted_in &= ~set->counters;
    plan->counted_in &= ~set->counters;
    plan->corunners -= set->program.placement;
    plan->in[part] = NULL;
}

/*
 * A register or a counter of a part that comes has faulted: stop its session before it has begun to count, with
 * `error`, and take the part out of the plan.
 */
static UPMU_APART void refuse_part(struct upmu_meter *meter, unsigned part)
{
    struct upmu_session *session = meter->plan.in[part];
    uint32_t counters = meter->plan.set[part]->counters;

    upmu_meter_fails(meter, counters);
    upmu_meter_tag(meter, counters, 0);
    for (uint32_t rest = counters; rest; rest &= rest - 1u) {
        meter->slot[upmu_bits_lowest(rest)].tally = NULL;
        meter->slot[upmu_bits_lowest(rest)].session = NULL;
    }
    UPMU_STORE(session->full, 0);
    if (session->queued)
        upmu_session_enabled(session, meter->plan.now_ns);
    upmu_waiting_end(session, UPMU_SESSION_STOPPED);
    (void)upmu_session_fault(meter, session);
    drop_part(meter, part);
}

static inline void load_part(struct upmu_meter *meter, unsigned part, uint64_t now_ns)
{
    struct upmu_plan *plan = &meter->plan;
    struct upmu_session *session = plan->in[part];
    struct upmu_set *set = plan->set[part];
    uint32_t failed = meter->failed;

    if (__builtin_expect(plan->outs && session->state != UPMU_SESSION_WAITING, 0) && is_out(plan, session) &&
        session->state != plan->state_after) {
        let_go(meter, set->counters & (plan->carried | plan->still));
        drop_part(meter, part);
        return;
    }
    if (__builtin_expect((failed & set->counters) != 0, 0)) {
        refuse_part(meter, part);
        return;
    }
    upmu_session_begin_change(session);
    if (set->program.seen != meter->bank.version) {
        uint32_t wrong;

        if (__builtin_expect(!upmu_bank_put(&meter->bank, set->program.step, set->program.steps,
                                            plan->come & ~plan->dormant, &wrong), 0))
            upmu_meter_fails(meter, wrong);
    }
#if UPMU_SETS
    UPMU_STORE(session->active, set);
#endif
    UPMU_STORE(session->counters, set->counters);
    load_values(meter, session, set, now_ns);
    if (__builtin_expect(meter->failed != failed, 0)) {
        refuse_part(meter, part);
        upmu_session_end_change(session);
        return;
    }
    if (session->queued) {
        UPMU_STORE(session->enabled_ns, session->enabled_ns + (now_ns - session->started_ns));
        upmu_waiting_take(meter, session);
    }
    UPMU_STORE(session->error, UPMU_OK);
    UPMU_STORE(session->full, 0);
    UPMU_STORE(session->started_ns, now_ns);
    UPMU_STORE(session->running_ns, now_ns);
    upmu_session_enter(session, UPMU_SESSION_RUNNING);
    if (UPMU_SETS && session->switch_due)
        meter->work_due |= UPMU_DUE_SESSIONS;
    upmu_session_end_change(session);
    if (!set->counters)
        upmu_waiting_put(meter, session);
}

/* ---- Steps 6 and 7 of upmu_reconcile(): note in the meter what runs now, then open the counters that come ---- */

static inline void publish_plan(struct upmu_meter *meter)
{
    const struct upmu_plan *plan = &meter->plan;
    uint32_t gone = plan->leave & ~plan->come;

    meter->corunners = plan->corunners;
    meter->left |= plan->come;
    meter->used |= plan->come;
    meter->unowned = (meter->unowned & ~(plan->come | plan->changed)) | plan->kept;
    if ((meter->halted & plan->leave) | plan->halted_in) {
        meter->sampling = (meter->sampling & ~plan->leave) | plan->sampled_in;
        meter->halted = (meter->halted & ~plan->leave) | plan->halted_in;
    }
    UPMU_BARRIER();
    meter->running = (meter->running & ~plan->leave) | plan->come;
    UPMU_BARRIER();
    /* A session that has left may be freed from now on: clear the pointers to it in meter->slot. */
    for (; gone; gone &= gone - 1u) {
        meter->slot[upmu_bits_lowest(gone)].tally = NULL;
        meter->slot[upmu_bits_lowest(gone)].session = NULL;
    }
}

static inline void open_parts(struct upmu_meter *meter)
{
    const struct upmu_plan *plan = &meter->plan;
    uint32_t opening = plan->come & ~(plan->carried | meter->failed | plan->dormant);

    if ((opening | plan->moved) && !upmu_bank_gate(&meter->bank, opening, plan->moved))
        upmu_meter_fails(meter, opening | plan->moved);
}

/* Steps 1 to 3.  Neither this function nor load_parts() is inlined: their stack is free during reports and repairs. */
static UPMU_APART void take_parts(struct upmu_meter *meter)
{
    struct upmu_plan *plan = &meter->plan;
    uint32_t stop, idle;

    if (UPMU_PRELUDES && __builtin_expect(plan->sequence, 0) && !upmu_plan_again(meter)) {
        /* no room: never, by upmu_plan_has_room() */
        upmu_meter_fails(meter, plan->come);
        plan->sequence = 0;
    }
    if (__builtin_expect(plan->odd, 0) && upmu_features_regroup(meter))
        upmu_plan_regroup(meter);
    plan->carried = plan->based = plan->counted_out & plan->counted_in & ~plan->changed;
    plan->written = plan->sampled_in;
    plan->begun = plan->changed;
    plan->reports = 0;
    plan->lost = 0;
    if (__builtin_expect(plan->odd, 0))
        upmu_special_prepare(meter);
    stop = ((plan->leave & ~plan->carried) | (plan->changed & (meter->running | meter->unowned))) &
           ~(plan->kept | plan->still | plan->moved);
    if (__builtin_expect(meter->unowned != 0, 0))
        stop |= meter->unowned & plan->come & ~plan->carried;
    idle = plan->come & ~(meter->running | meter->unowned);
    /* coming counters that no event has now: a fault may have left one open, or its enable bit unknown; close these */
    if (idle)
        stop |= upmu_bank_open(&meter->bank, idle);
    if (__builtin_expect(plan->odd, 0)) {
        uint32_t first = upmu_special_before_close(meter) & stop;

        close_counters(meter, first);
        stop &= ~first;
    }
    close_counters(meter, stop);
    plan->now_ns = port_clock_ns(meter->bank.port);
    upmu_features_closed(meter, true);
    for (unsigned part = 0; part < plan->outs; part++)
        take_part(meter, part, plan->now_ns);
}

/* The new states of sessions that left, then steps 4 to 7: registers, start values, publish, open. */
static UPMU_APART void load_parts(struct upmu_meter *meter)
{
    const struct upmu_plan *plan = &meter->plan;

    for (unsigned part = 0; part < plan->outs; part++)
        leave_part(meter, part, plan->now_ns);
    if (UPMU_PRELUDES && __builtin_expect(plan->sequence, 0) && !upmu_special_sequence(meter))
        upmu_meter_fails(meter, plan->come);
    for (unsigned part = 0; part < plan->ins; part++)
        load_part(meter, part, plan->now_ns);
    publish_plan(meter);
    if (__builtin_expect(plan->odd, 0)) {
        upmu_special_worlds(meter);
        upmu_features_opens(meter);
    }
    open_parts(meter);
    if (__builtin_expect(plan->odd, 0))
        upmu_special_opened(meter);
    if (upmu_meter_domain(meter))
        upmu_claims_review(meter);
}

void upmu_reconcile(struct upmu_meter *meter)
{
    take_parts(meter);
    if (__builtin_expect(meter->plan.reports != 0, 0))
        report_parts(meter);
    load_parts(meter);
    if (__builtin_expect(meter->failed != 0, 0))
        upmu_reconcile_repair(meter);
}

/* ---- Due work ---- */

/*
 * Choose the next set of a session that leaves by this plan, and plan the session in with it.  If the set does not fit,
 * the session waits.
 */
static UPMU_APART void plan_next_set(struct upmu_meter *meter, struct upmu_session *session)
{
#if UPMU_SETS
    upmu_sets_choose(session, NULL);
    /* A handler runs no erratum's sequence.  If the set needs one, the session waits for the next tick. */
    if (UPMU_PRELUDES && meter->in_handler && (session->following->program.flags & UPMU_PROGRAM_PRELUDE) &&
        session->following->program.seen != meter->bank.version)
        return;
    if (upmu_plan_fits(meter, session->following))
        (void)upmu_plan_in(meter, session, session->following);
#else
    (void)meter;
    (void)session;
#endif
}

UPMU_APART bool upmu_reconcile_due(struct upmu_meter *meter)
{
    struct upmu_session *session;
    uint32_t rest = meter->running;

    meter->work_due &= UPMU_DUE_LOG;
    upmu_plan_begin(meter, UPMU_SESSION_WAITING);
    while ((session = upmu_meter_next_running(meter, &rest)) != NULL) {
        bool switches = UPMU_SETS && session->switch_due;

        if (!session->full && !switches)
            continue;
        if (!upmu_plan_out(meter, session)) {
            meter->work_due |= UPMU_DUE_SESSIONS; /* the rest (no room in this plan) leave by a later one */
            break;
        }
        if (switches && !session->full)
            plan_next_set(meter, session);
    }
    if (!meter->plan.outs)
        return false;
    upmu_reconcile(meter);
    upmu_waiting_leavers(meter);
    return upmu_waiting_any(meter);
}

/* ---- Faults ---- */

/*
 * Add what the counters of a session had counted before a fault.  An event whose counter cannot be read, or has not its
 * value any more, and a metric lack an unknown part (`hole`).
 */
static void take_failed(struct upmu_meter *meter, struct upmu_session *session, uint64_t now_ns)
{
    for UPMU_TALLIES(tally, upmu_active(session)) {
        uint64_t value, missed;

        if (upmu_tally_is_metric(tally) || tally->counter >= UPMU_COUNTERS ||
            meter->slot[tally->counter].tag != tally->tag ||
            !upmu_batch_value(meter, tally, tally->counter, &value, &missed))
            upmu_count_mar_one(tally);
        else
            upmu_count_take_failed(meter, session, tally, value, now_ns);
    }
}

static void fail_session(struct upmu_meter *meter, struct upmu_session *session, uint64_t now_ns)
{
    upmu_session_begin_change(session);
    take_failed(meter, session, now_ns);
    upmu_session_ran(session, now_ns);
    upmu_meter_tag(meter, session->counters, 0);
    UPMU_STORE(session->full, 0);
    (void)upmu_session_fault(meter, session);
    upmu_session_enter(session, UPMU_SESSION_STOPPED);
    upmu_session_end_change(session);
    upmu_waiting_take(meter, session);
    meter->corunners -= upmu_active(session)->program.placement;
}

/*
 * Before a close that can lose carries: fold those of these counters that hold their event's value, so that less than
 * 2^32 is left for take_failed().  A counter that cannot be read now: `hole` of its event is set.
 */
static UPMU_APART void fold_failed(struct upmu_meter *meter, uint32_t counters, uint64_t now_ns)
{
    for (; counters; counters &= counters - 1u) {
        unsigned counter = upmu_bits_lowest(counters);
        struct upmu_tally *tally = upmu_meter_on(meter, counter);

        if (tally && meter->slot[counter].tag == tally->tag && !upmu_count_add(meter, tally, now_ns))
            upmu_count_mar_one(tally);
    }
}

/* Return the mask of all counters of those running sessions that have a counter in `failed`. */
static uint32_t find_concerned(const struct upmu_meter *meter, uint32_t failed)
{
    uint32_t counters = 0, rest = meter->running;

    for (const struct upmu_session *session; (session = upmu_meter_next_running(meter, &rest)) != NULL;)
        if (session->counters & failed)
            counters |= session->counters;
    return counters;
}

UPMU_APART void upmu_reconcile_repair(struct upmu_meter *meter)
{
    uint32_t failed = meter->failed, closing = find_concerned(meter, failed), rest;
    uint64_t now_ns = upmu_meter_now(meter);
    struct upmu_session *session;

    upmu_count_expect(meter, closing);
    meter->running &= ~closing;
    meter->sampling &= ~closing;
    meter->halted &= ~closing;
    if (upmu_count_adds_first(meter))
        fold_failed(meter, closing, now_ns);
    if (!upmu_meter_is_free(meter)) /* a counter that never stops (a free PMU) has no gate to close */
        close_counters(meter, closing | upmu_bank_open(&meter->bank, failed & ~meter->running));
    for (rest = closing; rest;) {
        session = meter->slot[upmu_bits_lowest(rest)].session;
        rest &= ~session->counters & (rest - 1u);
        fail_session(meter, session, now_ns);
    }
    for (rest = closing; rest; rest &= rest - 1u) {
        meter->slot[upmu_bits_lowest(rest)].tally = NULL;
        meter->slot[upmu_bits_lowest(rest)].session = NULL;
    }
    upmu_special_empty(meter, failed);
    upmu_features_opens(meter);
    meter->failed = 0;
    if (UPMU_WORLDS)
        upmu_special_worlds(meter);
    meter->work_due |= UPMU_DUE_LOG;
}

void upmu_reconcile_log(struct upmu_meter *meter)
{
    meter->work_due &= UPMU_DUE_SESSIONS;
    upmu_meter_log(meter, "upmu: a register faulted; a session was stopped");
}

void upmu_reconcile_forget(struct upmu_meter *meter)
{
    meter->failed = 0;
    upmu_bank_forget(&meter->bank);
    upmu_special_empty(meter, ~0u);
}

void upmu_reconcile_lose(struct upmu_meter *meter)
{
    struct upmu_session *session;
    uint64_t now_ns = upmu_meter_now(meter);
    uint32_t rest = meter->running;

    while ((session = upmu_meter_next_running(meter, &rest)) != NULL) {
        upmu_session_begin_change(session);
        upmu_count_mar(session);
        upmu_session_ran(session, now_ns);
        upmu_session_enter(session, session->full ? UPMU_SESSION_MASKED : UPMU_SESSION_SUSPENDED);
        UPMU_STORE(session->full, 0);
        upmu_session_end_change(session);
    }
    rest = meter->running;
    /* Clear `running` before `sampling`: a handler that comes in between finds a counter as sampling or as stray. */
    meter->running = 0;
    UPMU_BARRIER();
    meter->sampling = meter->halted = meter->unowned = 0;
    UPMU_BARRIER();
    for (; rest; rest &= rest - 1u) {
        meter->slot[upmu_bits_lowest(rest)].tally = NULL;
        meter->slot[upmu_bits_lowest(rest)].session = NULL;
    }
    meter->corunners = 0;
    meter->failed = 0;
    upmu_plan_begin(meter, UPMU_SESSION_WAITING);
    if (UPMU_WORLDS)
        upmu_special_worlds(meter);
}
