/* SPDX-License-Identifier: MIT */
/*
 * Which sessions run where not all can (R31): sessions of the CPU, those of the thread, then those
 * that share, in the order of their tickets.
 */
#include "core/turns.h"
#include "core/apart.h"
#include "core/joint.h"
#include "core/port_call.h"
#include "core/run.h"
#include "core/schedule.h"
#include "core/sets.h"
#include <upmu/thread.h>

/* Sessions without a controller. */
static void bury_zombies(struct upmu_cpu *cpu)
{
    bool bury = __atomic_load_n(&cpu->machine->dropped, __ATOMIC_RELAXED) != 0;
    struct upmu_session *next;

    for (struct upmu_session *session = bury ? cpu->sessions : NULL; session; session = next) {
        next = session->next;
        if (upmu_session_dropped(session))
            (void)upmu_session_leave(cpu, session, false); /* (or with the next tick) */
    }
}

#if UPMU_THREADS

/* By ticket: new ones are mostly the last. */
void upmu_queue_put(struct upmu_cpu *cpu, struct upmu_session *session)
{
    struct upmu_session **first = &cpu->waiting[session->shares], **last = &cpu->last_waiting[session->shares];
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

void upmu_queue_take(struct upmu_cpu *cpu, struct upmu_session *session)
{
    struct upmu_session *after = session->before_waiting, *before = session->next_waiting;

    if (!session->queued)
        return;
    session->queued = 0;
    session->next_waiting = session->before_waiting = NULL;
    *(after ? &after->next_waiting : &cpu->waiting[session->shares]) = before;
    *(before ? &before->before_waiting : &cpu->last_waiting[session->shares]) = after;
}

/* The first after a turn among those that wait, which may have changed since: first those that do not share. */
static struct upmu_session *next_waiting(const struct upmu_cpu *cpu, bool shares, uint32_t ticket)
{
    struct upmu_session *session = shares ? NULL : cpu->waiting[0];

    while (session && session->ticket <= ticket)
        session = session->next_waiting;
    if (session)
        return session;
    session = cpu->waiting[1];
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
static bool make_room(struct upmu_cpu *cpu, struct upmu_session *session)
{
    struct upmu_session *other;
    uint32_t rest = cpu->running;
    bool room = false;

    while ((other = upmu_cpu_next_running(cpu, &rest)) != NULL)
        room |= other->shares && upmu_session_holds(other);
    if (session->shares || !room || !upmu_schedule_fits_pinned(cpu, session))
        return false;
    for (rest = cpu->running; (other = upmu_cpu_next_running(cpu, &rest)) != NULL;)
        if (other->shares && other->state == UPMU_SESSION_RUNNING && upmu_schedule_stop(cpu, other) == UPMU_OK) {
            if (other->state == UPMU_SESSION_STOPPED)
                upmu_session_become(other, UPMU_SESSION_WAITING);
            upmu_estimate_slot(upmu_active(other));
        }
    return true;
}

static enum upmu_status try_start(struct upmu_cpu *cpu, struct upmu_session *session, bool may_move)
{
    enum upmu_status status = upmu_schedule_start(cpu, session, may_move);

    if (status == UPMU_ERR_DOES_NOT_FIT && make_room(cpu, session))
        status = upmu_schedule_start(cpu, session, may_move);
    return status;
}

/* Found no place beside the same co-runners the last time. */
static bool is_hopeless(const struct upmu_cpu *cpu, const struct upmu_session *session)
{
    const struct upmu_set *set = upmu_active(session);

    return session->shares && set->count && upmu_set_was_refused(cpu, set, cpu->corunners);
}

/* Those that share and wait: so many are looked at in one call. */
#define LOOKS 8u

static void admit(struct upmu_cpu *cpu, bool may_move)
{
    struct upmu_session *session = next_waiting(cpu, false, 0);
    unsigned looks = LOOKS;
    uint64_t now_ns;

    while (session && looks) {
        uint32_t ticket = session->ticket;
        bool shares = session->shares;

        looks -= shares;
        if (!is_hopeless(cpu, session) && try_start(cpu, session, may_move) == UPMU_OK)
            session->change = 0;
        else if (!port_has_clock(cpu->machine->port))
            upmu_run_mar(session);
        session = next_waiting(cpu, shares, ticket);
    }
    if (!cpu->fresh)
        return;
    cpu->fresh = 0;
    now_ns = upmu_machine_clock_ns(cpu->machine);
    for (session = cpu->sessions; session; session = session->next)
        if (session->change & UPMU_CHANGE_FRESH) {
            session->change = 0;
            session->started_ns = now_ns;
        }
}

void upmu_turns_admit(struct upmu_cpu *cpu)
{
    if (cpu->live && upmu_turns_wanted(cpu))
        admit(cpu, false);
}

enum upmu_status upmu_turns_start(struct upmu_cpu *cpu, struct upmu_session *session)
{
    enum upmu_status status = try_start(cpu, session, true);

    if (has_no_room(status) && (session->thread || session->shares)) {
        session->started_ns = upmu_machine_clock_ns(cpu->machine);
        session->error = UPMU_OK;
        upmu_session_become(session, UPMU_SESSION_WAITING);
        if (!port_has_clock(cpu->machine->port))
            upmu_run_mar(session);
        status = UPMU_OK;
    }
    return status;
}

/* The next after a turn among those that share, and wait or run; NULL: none. */
static struct upmu_session *next_turn(const struct upmu_cpu *cpu, uint32_t after)
{
    struct upmu_session *best = NULL;

    for (struct upmu_session *session = cpu->sessions; session; session = session->next)
        if (session->shares && (session->state == UPMU_SESSION_WAITING || session->state == UPMU_SESSION_RUNNING) &&
            session->ticket > after && (!best || session->ticket < best->ticket))
            best = session;
    return best;
}

/* The sharing sessions that run together from now on: marked UPMU_CHANGE_COMES. */
static UPMU_APART void plan(struct upmu_cpu *cpu)
{
    struct upmu_joint joint;
    uint32_t turn = 0;
    struct upmu_session *session;

    upmu_joint_begin(&joint, cpu->pmu);
    for (session = cpu->sessions; session; session = session->next)
        if (!session->shares && upmu_session_holds(session) && !upmu_joint_add(&joint, session, true))
            return;
    while ((session = next_turn(cpu, turn)) != NULL) {
        unsigned count = joint.count;
        uint8_t sets = joint.sets;

        turn = session->ticket;
        if (upmu_joint_add(&joint, session, session->state == UPMU_SESSION_RUNNING) &&
            upmu_joint_place(cpu, &joint, false, NULL) == UPMU_OK) {
            session->change |= UPMU_CHANGE_COMES;
        } else { /* (what was found for those before it stays: a refusal changes no result) */
            joint.count = count;
            joint.sets = sets;
        }
    }
}

/* The turn moves on: the first of those that run goes to the end. */
static void rotate(struct upmu_cpu *cpu)
{
    struct upmu_session *first = NULL;

    for (struct upmu_session *session = cpu->sessions; session; session = session->next)
        if (session->shares && session->state == UPMU_SESSION_RUNNING && (!first || session->ticket < first->ticket))
            first = session;
    if (first)
        first->ticket = ++cpu->tickets;
    plan(cpu);
    for (struct upmu_session *session = cpu->sessions; session; session = session->next) {
        session->coming = upmu_active(session);
        if (session->shares && session->state == UPMU_SESSION_RUNNING)
            session->change ^= session->change & UPMU_CHANGE_COMES ? UPMU_CHANGE_COMES
                                                                   : UPMU_CHANGE_LEAVES | UPMU_CHANGE_TURN;
    }
    upmu_change_run(cpu);
    for (struct upmu_session *session = cpu->sessions; session; session = session->next)
        session->change = 0;
}

/* Sessions of the thread that runs, which a call held when it was switched to. */
static void join_current(struct upmu_cpu *cpu)
{
    struct upmu_thread *thread = __atomic_load_n(&cpu->current, __ATOMIC_RELAXED);

    if (!thread || !upmu_thread_hold(thread))
        return;
    for (struct upmu_session *session = thread->sessions; session; session = session->next_of_thread)
        if (!session->cpu && upmu_thread_join(cpu, session)) {
            /* (Here, as a turn may come before it is asked whether it fits.) */
            session->started_ns = upmu_machine_clock_ns(cpu->machine);
            session->change = 0;
        }
    upmu_thread_release(thread);
}

void upmu_turns_tick(struct upmu_cpu *cpu)
{
    join_current(cpu);
    bury_zombies(cpu);
    if (UPMU_SETS && upmu_sets_expire(cpu, upmu_machine_clock_ns(cpu->machine)))
        upmu_change_run(cpu);
    if (cpu->waiting[1])
        rotate(cpu);
    if (upmu_turns_wanted(cpu))
        admit(cpu, true);
}

#else

void upmu_turns_tick(struct upmu_cpu *cpu)
{
    bury_zombies(cpu);
}

#endif
