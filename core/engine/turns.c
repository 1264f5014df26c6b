/* SPDX-License-Identifier: MIT */
/*
 * Which sessions run where not all can (R31): sessions of the CPU, those of the thread, then those
 * that share, in the order of their tickets.
 */
#include "core/engine/turns.h"
#include "core/engine/transition.h"
#include "core/util/apart.h"
#include "core/engine/joint.h"
#include "core/hw/port_call.h"
#include "core/engine/run.h"
#include "core/engine/schedule.h"
#include "core/engine/sets.h"
#include <upmu/thread.h>

/* Sessions without a controller. */
static void bury_zombies(struct upmu_meter *meter)
{
    bool bury = __atomic_load_n(&meter->machine->dropped, __ATOMIC_RELAXED) != 0;
    struct upmu_session *next;

    for (struct upmu_session *session = bury ? meter->sessions : NULL; session; session = next) {
        next = session->next;
        if (upmu_session_dropped(session))
            (void)upmu_session_leave(meter, session, false); /* (or with the next tick) */
    }
}

#if UPMU_THREADS

/* By ticket: new ones are mostly the last. */
void upmu_queue_put(struct upmu_meter *meter, struct upmu_session *session)
{
    struct upmu_session **first = &meter->waiting[session->shares], **last = &meter->last_waiting[session->shares];
    struct upmu_session *after = *last, *before = NULL;

    if (session->queued)
        return;
    if (after && after->ticket > session->ticket) {
        before = *first;
        while (before->ticket < session->ticket)
            before = before->next_waiting;
        after = before->before_waiting;
    }
    session->queued = 1;
    session->next_waiting = before;
    session->before_waiting = after;
    *(after ? &after->next_waiting : first) = session;
    *(before ? &before->before_waiting : last) = session;
}

void upmu_queue_take(struct upmu_meter *meter, struct upmu_session *session)
{
    struct upmu_session *after = session->before_waiting, *before = session->next_waiting;

    if (!session->queued)
        return;
    session->queued = 0;
    session->next_waiting = session->before_waiting = NULL;
    *(after ? &after->next_waiting : &meter->waiting[session->shares]) = before;
    *(before ? &before->before_waiting : &meter->last_waiting[session->shares]) = after;
}

/* The first after a turn among those that wait, which may have changed since: first those that do not share. */
static struct upmu_session *next_waiting(const struct upmu_meter *meter, bool shares, uint32_t ticket)
{
    struct upmu_session *session = shares ? NULL : meter->waiting[0];

    while (session && session->ticket <= ticket)
        session = session->next_waiting;
    if (session)
        return session;
    session = meter->waiting[1];
    while (shares && session && session->ticket <= ticket)
        session = session->next_waiting;
    return session;
}

static bool has_no_room(enum upmu_status status)
{
    return status == UPMU_ERR_DOES_NOT_FIT || status == UPMU_ERR_TOO_HARD || status == UPMU_ERR_LOST_CLAIM ||
           status == UPMU_ERR_WRONG_PMU || status == UPMU_ERR_NO_SPACE;
}

/* Sharing sessions make room for one that does not share, if that helps. */
static bool make_room(struct upmu_meter *meter, struct upmu_session *session)
{
    struct upmu_session *other;
    uint32_t rest = meter->running;
    bool room = false;

    while ((other = upmu_meter_next_running(meter, &rest)) != NULL)
        room |= other->shares && upmu_session_holds(other);
    if (session->shares || !room || !upmu_schedule_fits_pinned(meter, session))
        return false;
    for (rest = meter->running; (other = upmu_meter_next_running(meter, &rest)) != NULL;)
        if (other->shares && other->state == UPMU_SESSION_RUNNING && upmu_schedule_stop(meter, other) == UPMU_OK) {
            if (other->state == UPMU_SESSION_STOPPED)
                upmu_session_become(other, UPMU_SESSION_WAITING);
            upmu_estimate_slot(upmu_active(other));
        }
    return true;
}

static enum upmu_status try_start(struct upmu_meter *meter, struct upmu_session *session, bool may_move)
{
    enum upmu_status status = upmu_schedule_start(meter, session, may_move);

    if (status == UPMU_ERR_DOES_NOT_FIT && make_room(meter, session))
        status = upmu_schedule_start(meter, session, may_move);
    return status;
}

/* Found no place beside the same co-runners the last time. */
static bool is_hopeless(const struct upmu_meter *meter, const struct upmu_session *session)
{
    const struct upmu_set *set = upmu_active(session);

    return session->shares && set->count && upmu_set_was_refused(meter, set, meter->corunners);
}

/* Those that share and wait: so many are looked at in one call. */
#define LOOKS 8u

static void admit(struct upmu_meter *meter, bool may_move)
{
    struct upmu_session *session = next_waiting(meter, false, 0);
    unsigned looks = LOOKS;
    uint64_t now_ns;

    while (session && looks) {
        uint32_t ticket = session->ticket;
        bool shares = session->shares;

        looks -= shares;
        if (!is_hopeless(meter, session) && try_start(meter, session, may_move) == UPMU_OK)
            session->change = 0;
        else if (!port_has_clock(meter->machine->port))
            upmu_run_mar(session);
        session = next_waiting(meter, shares, ticket);
    }
    if (!meter->fresh)
        return;
    meter->fresh = 0;
    now_ns = upmu_machine_clock_ns(meter->machine);
    for (session = meter->sessions; session; session = session->next)
        if (session->change & UPMU_CHANGE_FRESH) {
            session->change = 0;
            session->started_ns = now_ns;
        }
}

void upmu_turns_admit(struct upmu_meter *meter)
{
    if (meter->live && upmu_turns_wanted(meter))
        admit(meter, false);
}

enum upmu_status upmu_turns_start(struct upmu_meter *meter, struct upmu_session *session)
{
    enum upmu_status status = try_start(meter, session, true);

    if (has_no_room(status) && (session->thread || session->shares)) {
        session->started_ns = upmu_machine_clock_ns(meter->machine);
        session->error = UPMU_OK;
        upmu_session_become(session, UPMU_SESSION_WAITING);
        if (!port_has_clock(meter->machine->port))
            upmu_run_mar(session);
        status = UPMU_OK;
    }
    return status;
}

/* The next after a turn among those that share, and wait or run; NULL: none. */
static struct upmu_session *next_turn(const struct upmu_meter *meter, uint32_t after)
{
    struct upmu_session *best = NULL;

    for (struct upmu_session *session = meter->sessions; session; session = session->next)
        if (session->shares && (session->state == UPMU_SESSION_WAITING || session->state == UPMU_SESSION_RUNNING) &&
            session->ticket > after && (!best || session->ticket < best->ticket))
            best = session;
    return best;
}

/* The sharing sessions that run together from now on: marked UPMU_CHANGE_COMES. */
static UPMU_APART void plan(struct upmu_meter *meter)
{
    struct upmu_joint joint;
    uint32_t turn = 0;
    struct upmu_session *session;

    upmu_joint_begin(&joint, meter->pmu);
    for (session = meter->sessions; session; session = session->next)
        if (!session->shares && upmu_session_holds(session) && !upmu_joint_add(&joint, session, true))
            return;
    while ((session = next_turn(meter, turn)) != NULL) {
        unsigned count = joint.count;
        uint8_t sets = joint.sets;

        turn = session->ticket;
        if (upmu_joint_add(&joint, session, session->state == UPMU_SESSION_RUNNING) &&
            upmu_joint_place(meter, &joint, false, NULL) == UPMU_OK) {
            session->change |= UPMU_CHANGE_COMES;
        } else { /* (what was found for those before it stays: a refusal changes no result) */
            joint.count = count;
            joint.sets = sets;
        }
    }
}

/* The turn moves on: the first of those that run goes to the end. */
static void rotate(struct upmu_meter *meter)
{
    struct upmu_session *first = NULL;

    for (struct upmu_session *session = meter->sessions; session; session = session->next)
        if (session->shares && session->state == UPMU_SESSION_RUNNING && (!first || session->ticket < first->ticket))
            first = session;
    if (first)
        first->ticket = ++meter->tickets;
    plan(meter);
    for (struct upmu_session *session = meter->sessions; session; session = session->next) {
        session->coming = upmu_active(session);
        if (session->shares && session->state == UPMU_SESSION_RUNNING)
            session->change ^= session->change & UPMU_CHANGE_COMES ? UPMU_CHANGE_COMES
                                                                   : UPMU_CHANGE_LEAVES | UPMU_CHANGE_TURN;
    }
    upmu_change_run(meter);
    for (struct upmu_session *session = meter->sessions; session; session = session->next)
        session->change = 0;
}

/* Sessions of the thread that runs, which a call held when it was switched to. */
static void join_current(struct upmu_meter *meter)
{
    struct upmu_thread *thread = __atomic_load_n(&meter->cpu->current, __ATOMIC_RELAXED);

    if (!thread || !upmu_thread_hold(thread))
        return;
    for (struct upmu_session *session = thread->sessions; session; session = session->next_of_thread)
        if (!session->meter && upmu_thread_join(meter, session)) {
            /* (Here, as a turn may come before it is asked whether it fits.) */
            session->started_ns = upmu_machine_clock_ns(meter->machine);
            session->change = 0;
        }
    upmu_thread_release(thread);
}

void upmu_turns_tick(struct upmu_meter *meter)
{
    join_current(meter);
    bury_zombies(meter);
    if (UPMU_SETS && upmu_sets_expire(meter, upmu_machine_clock_ns(meter->machine)))
        upmu_change_run(meter);
    if (meter->waiting[1])
        rotate(meter);
    if (upmu_turns_wanted(meter))
        admit(meter, true);
}

#else

void upmu_turns_tick(struct upmu_meter *meter)
{
    bury_zombies(meter);
}

#endif
