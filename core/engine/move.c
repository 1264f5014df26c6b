/* SPDX-License-Identifier: MIT */
/*
 * Running events that must move for a placement (R12).
 */
#include "core/engine/move.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/hw/bank_inline.h"
#include "core/hw/port_call.h"
#include "core/engine/absent.h"
#include "core/engine/count.h"
#include "core/engine/joint.h"
#include "core/engine/placed.h"
#include "core/engine/program.h"
#include "core/engine/report.h"
#include "core/engine/run.h"
#include "core/engine/session_core.h"
#include "core/engine/transition.h"

#if UPMU_MOVES

/* The new counter is visible to handlers before its gate opens. */
static void announce(struct upmu_meter *meter, struct upmu_session *session, struct upmu_tally *tally)
{
    upmu_run_take(meter, session, tally);
    if (upmu_tally_samples(tally)) {
        meter->quiet |= UPMU_BIT32(tally->counter);
        meter->stop_bits = upmu_stop_bits(meter->pmu, meter->quiet);
        meter->sampling |= UPMU_BIT32(tally->counter);
    }
    UPMU_BARRIER();
    meter->running |= UPMU_BIT32(tally->counter);
    if (upmu_absent_any(meter))
        upmu_absent_find(meter);
}

/* The program of a set whose event has another place.  (Handlers look at it only where that does not matter.) */
static bool compile_anew(struct upmu_meter *meter, struct upmu_set *set)
{
    set->program.kind = 0;
    return upmu_program_ready(meter, set);
}

/*
 * A register faulted before the event had moved: it runs on where it was.  If that was the
 * write to move the gates, a handler that came before it may have moved them all the same,
 * and the new counter has counted since.
 */
static void stay(struct upmu_meter *meter, struct upmu_session *session, struct upmu_tally *tally,
                 const struct upmu_tally *where, bool announced)
{
    unsigned tried = tally->counter;
    uint64_t base = tally->base, value;

    upmu_run_tag(meter, UPMU_BIT32(tried), 0);
    *tally = *where;
    (void)compile_anew(meter, upmu_active(session));
    upmu_run_publish(meter);
    if (announced && upmu_bank_gate(&meter->bank, UPMU_BIT32(tally->counter), UPMU_BIT32(tried)) &&
        upmu_bank_read(&meter->bank, tried, &value))
        UPMU_STORE(tally->total, tally->total + upmu_count_delta(meter->pmu, tally, tried, value - base));
    else
        UPMU_STORE(tally->hole, tally->hole || announced);
    /* A handler that came meanwhile may have passed an overflow by. */
    if (upmu_tally_samples(tally))
        __atomic_fetch_or(&meter->deferred, UPMU_BIT32(tally->counter), __ATOMIC_RELAXED);
    upmu_run_end(session);
}

/* What the counter that it left has counted. */
static bool take_rest(struct upmu_meter *meter, struct upmu_session *session, struct upmu_tally *tally, unsigned old,
                      uint64_t old_base)
{
    uint64_t base = tally->base, value;

    meter->last_tag[old] = 0;
    if (!upmu_bank_read(&meter->bank, old, &value)) {
        UPMU_STORE(tally->hole, true);
        return false;
    }
    UPMU_STORE(tally->base, old_base);
    if (upmu_run_settle(meter, session, tally, old, value))
        upmu_report_emit(meter->cpu, session, UPMU_BIT32(tally->index), NULL);
    UPMU_STORE(tally->base, base);
    return true;
}

/* Write the registers of the one event that moves; false: one faulted. */
static bool load_one(struct upmu_meter *meter, const struct upmu_program *program, const struct upmu_tally *tally)
{
    const struct upmu_step *step = program->step, *end = step + program->steps;
    unsigned count = 0;
    uint32_t changed;

    while (step < end && !(step->guard & tally->counters))
        step++;
    while (step + count < end && (step[count].guard & tally->counters))
        count++;
    return upmu_bank_load(&meter->bank, step, count, 0, &changed);
}

/*
 * Without a gap: the new counter is loaded while its gate is closed, then one
 * write closes the old gate and opens the new one.
 */
static UPMU_APART bool move_one(struct upmu_meter *meter, struct upmu_session *session, struct upmu_tally *tally,
                     const struct upmu_place_result *result)
{
    struct upmu_set *set = upmu_active(session);
    struct upmu_tally before;
    bool fine, announced = false;

    upmu_run_begin(session);
    /* What is left of the period is known only with what was counted so far. */
    if (upmu_tally_samples(tally))
        (void)upmu_run_fold(meter, tally);
    before = *tally;
    upmu_joint_note(tally, result);
    fine = compile_anew(meter, set) && load_one(meter, &set->program, tally) && upmu_run_prime(meter, tally);
    if (fine) {
        announce(meter, session, tally);
        announced = true;
        fine = upmu_bank_gate(&meter->bank, UPMU_BIT32(tally->counter), UPMU_BIT32(before.counter));
    }
    if (!fine) {
        stay(meter, session, tally, &before, announced);
        return false;
    }
    fine = take_rest(meter, session, tally, before.counter, before.base);
    /* Handlers look for a session's samples by its counters. */
    upmu_placed_note(meter, session);
    (void)upmu_program_ready(meter, set);
    upmu_run_end(session);
    return fine;
}

/*
 * One counter, no payload register, on a PMU whose gates share a register: the move leaves no gap.  (What a lent one is
 * to hold is known only when it stands still.)
 */
static bool moves_alone(const struct upmu_meter *meter, const struct upmu_joint *joint, unsigned i)
{
    const struct upmu_event *event = upmu_joint_event(joint, i);

    return (meter->pmu->capabilities & (UPMU_PMU_GLOBAL_CTRL | UPMU_PMU_PRELUDE)) == UPMU_PMU_GLOBAL_CTRL &&
           !event->payload && !upmu_tally_is_lent(upmu_joint_tally(joint, i)) &&
           (UPMU_SLOTS == 1 || (upmu_joint_tally(joint, i)->slot[UPMU_SECOND_SLOT] == UPMU_NO_COUNTER &&
                                joint->result[i].counter[UPMU_SECOND_SLOT] == UPMU_NO_COUNTER)) &&
           !(meter->running >> joint->result[i].counter[0] & 1u);
}

/* The counters of a session were closed for `gap_ns`: all its events have this gap. */
static void add_gap(struct upmu_joint *joint, struct upmu_session *session, uint64_t gap_ns)
{
    for (unsigned i = 0; i < joint->count; i++)
        if (joint->session[i] == session)
            UPMU_STORE(upmu_joint_tally(joint, i)->gap_ns, upmu_joint_tally(joint, i)->gap_ns + gap_ns);
    UPMU_STORE(session->enabled_ns, session->enabled_ns + gap_ns);
    UPMU_STORE(upmu_active(session)->duration_ns, upmu_active(session)->duration_ns + gap_ns);
}

/* Sessions whose moves block one another stop, move and continue: their counts have a gap. */
static enum upmu_status move_with_hole(struct upmu_meter *meter, struct upmu_joint *joint)
{
    const struct upmu_port *port = meter->machine->port;
    enum upmu_status status = UPMU_OK;

    for (unsigned i = 0; i < joint->count; i++) {
        struct upmu_session *session = joint->session[i];

        if (!upmu_joint_moves(joint, i))
            continue;
        if (upmu_transition_take_off(meter, session) != UPMU_OK)
            status = UPMU_ERR_PORT;
        if (session->state == UPMU_SESSION_STOPPED)
            UPMU_STORE(session->state, UPMU_SESSION_SUSPENDED);
    }
    for (unsigned i = 0; i < joint->count; i++)
        if (joint->session[i]->state == UPMU_SESSION_SUSPENDED) {
            upmu_run_place(meter, upmu_joint_tally(joint, i), &joint->result[i]);
            upmu_joint_tally(joint, i)->hole |=
                !port_has_clock(port) || upmu_tally_cascades(upmu_joint_tally(joint, i));
        }
    for (unsigned i = 0; i < joint->count; i++) {
        struct upmu_session *session = joint->session[i];
        uint64_t stopped_ns = session->started_ns;

        if (session->state != UPMU_SESSION_SUSPENDED)
            continue;
        upmu_placed_note(meter, session);
        UPMU_STORE(session->state, UPMU_SESSION_STOPPED);
        if (upmu_transition_bring(meter, session) != UPMU_OK)
            status = UPMU_ERR_PORT;
        add_gap(joint, session, session->started_ns - stopped_ns);
    }
    return status;
}

enum upmu_status upmu_move_all(struct upmu_meter *meter, struct upmu_joint *joint)
{
    bool moved, waiting, fine;

    do {
        moved = false;
        waiting = false;
        for (unsigned i = 0; i < joint->count; i++) {
            if (!upmu_joint_moves(joint, i))
                continue;
            if (!moves_alone(meter, joint, i)) {
                waiting = true;
                continue;
            }
            fine = move_one(meter, joint->session[i], upmu_joint_tally(joint, i), &joint->result[i]);
            upmu_run_publish(meter);
            if (!fine)
                return UPMU_ERR_PORT;
            moved = true;
        }
    } while (moved && waiting);
    return waiting ? move_with_hole(meter, joint) : UPMU_OK;
}

#endif
