/* SPDX-License-Identifier: MIT */
/*
 * How a session of a thread comes from the lists of its thread (thread_list.c) to the list of a CPU (session_link.c),
 * and leaves that list; which sessions that wait are linked to the CPU as candidates.
 */
#include "core/engine/features.h"
#include "core/engine/meter.h"
#include "core/engine/reconcile.h"
#include "core/engine/session_core.h"
#include "core/engine/sets.h"
#include "core/engine/thread_core.h"
#include "core/engine/waiting.h"

#if UPMU_THREADS

void upmu_thread_bury(struct upmu_session *dropped)
{
    struct upmu_session *next;

    for (; dropped; dropped = next) {
        next = dropped->next_of_thread;
        dropped->next_of_thread = NULL;
        upmu_session_end(dropped);
    }
}

void upmu_thread_unlink(struct upmu_meter *meter, struct upmu_session *session, uint64_t now_ns)
{
    if (session->state == UPMU_SESSION_SUSPENDED)
        upmu_session_enter(session, UPMU_SESSION_WAITING);
    upmu_features_detach(meter->cpu, session); /* the session's page gets the time when the session stopped */
    if (session->state == UPMU_SESSION_WAITING) {
        if (session->queued)
            upmu_session_enabled(session, now_ns);
        upmu_session_note(session, upmu_thread_clock(session->thread, now_ns));
    }
    upmu_session_unlink(meter, session);
}

void upmu_thread_link(struct upmu_meter *meter, struct upmu_session *session, uint64_t now_ns)
{
    uint64_t clock_ns = upmu_thread_clock(session->thread, now_ns);

    if ((clock_ns != session->started_ns || session->passed_ns) && upmu_session_waits(session))
        upmu_thread_end_wait(session, clock_ns, now_ns);
    upmu_session_link(meter, session);
    if (UPMU_SETS && session->switch_due)
        upmu_sets_advance(session, NULL);
}

bool upmu_thread_join(struct upmu_meter *meter, struct upmu_session *session, uint64_t now_ns)
{
    if (!upmu_session_hold_here(session)) {
        UPMU_STORE(session->thread->unjoined, 1);
        if (session->limit)
            UPMU_STORE(session->passed_ns, session->passed_ns || !now_ns ? UPMU_PASSED : now_ns);
        return false;
    }
    upmu_thread_link(meter, session, now_ns);
    upmu_session_release(session);
    return true;
}

enum upmu_status upmu_thread_admit(struct upmu_meter *meter, struct upmu_session *session)
{
    enum upmu_status status = UPMU_ERR_WRONG_CPU;
    struct upmu_thread *thread;

    if (__atomic_load_n(&session->meter, __ATOMIC_RELAXED) == meter)
        return UPMU_OK;
    if (!upmu_session_hold_here(session))
        return UPMU_ERR_BUSY;
    thread = UPMU_LOAD(session->thread); /* while the session is held, the thread does not end */
    if (thread && !__atomic_load_n(&session->meter, __ATOMIC_RELAXED) && UPMU_LOAD(thread->cpu) == meter->cpu &&
        upmu_thread_may_join(session, meter->cpu))
        status = upmu_thread_hold(thread) ? UPMU_OK : UPMU_ERR_BUSY;
    if (status == UPMU_OK) {
        bool waits = upmu_session_waits(session);
        uint64_t now_ns = waits ? upmu_meter_now(meter) : 0;

        upmu_thread_list(thread, session);
        if (waits)
            upmu_thread_end_wait(session, upmu_thread_clock(thread, now_ns), now_ns);
        upmu_session_link(meter, session);
        if (waits)
            upmu_waiting_begin(meter, session, now_ns);
        upmu_thread_release(thread);
    }
    upmu_session_release(session);
    return status;
}

enum upmu_status upmu_thread_put(struct upmu_meter *meter, struct upmu_session *session)
{
    enum upmu_status status = UPMU_OK;

    if (upmu_session_occupies(session)) {
        upmu_plan_begin(meter, UPMU_SESSION_WAITING);
        (void)upmu_plan_out(meter, session);
        upmu_reconcile(meter);
        status = session->error;
    }
    if (session->thread)
        UPMU_STORE(session->thread->unjoined, 1);
    upmu_thread_unlink(meter, session, upmu_meter_now(meter));
    return status;
}

/* ---- Candidates ---- */

/*
 * Returns how many candidates without a limit are here, of those that share (`shares` 1) or of those that do not (0).
 */
static unsigned count_candidates(const struct upmu_meter *meter, unsigned shares)
{
    unsigned count = 0;

    for (const struct upmu_session *session = meter->waiting[UPMU_WAIT_THREAD + shares]; session;
         session = session->next_waiting)
        count += !session->limit;
    return count;
}

static unsigned kept_candidates(unsigned shares)
{
    return shares ? UPMU_KEPT_SHARING : UPMU_KEPT;
}

/* Link sessions of a list of the thread's started ones, and let them wait, until enough candidates are here. */
static void fill_list(struct upmu_meter *meter, struct upmu_thread *thread, struct upmu_session *session,
                      uint64_t *now_ns)
{
    unsigned count = count_candidates(meter, upmu_session_shares(session));
    unsigned kept = kept_candidates(upmu_session_shares(session));
    struct upmu_session *next;

    for (; session; session = next) {
        next = session->next_started;
        if (session->meter)
            continue;
        if (!upmu_session_waits(session)) {
            upmu_thread_unlist(session);
            continue;
        }
        if (!session->limit && count >= kept) {
            UPMU_STORE(thread->unjoined, 1);
            break;
        }
        if (!*now_ns)
            *now_ns = upmu_meter_now(meter);
        if (!upmu_thread_join(meter, session, *now_ns))
            continue;
        if (upmu_session_waits(session))
            upmu_waiting_begin(meter, session, *now_ns);
        count += !session->limit;
    }
}

/* upmu_thread_fill() while the thread's list is held.  *now_ns: the time, or 0 while it is not read. */
static void fill_lists(struct upmu_meter *meter, struct upmu_thread *thread, uint64_t *now_ns)
{
    struct upmu_session *next;

    UPMU_STORE(thread->unjoined, 0);
    upmu_thread_spread(thread);
    for (struct upmu_session *list = thread->started; list; list = next) {
        next = list->next_list;
        if (upmu_thread_may_join(list, meter->cpu))
            fill_list(meter, thread, list, now_ns);
    }
    if (!UPMU_LOAD(thread->unjoined) || (thread->turns & UPMU_CLOCK_RUNS))
        return;
    if (!*now_ns)
        *now_ns = upmu_meter_now(meter);
    upmu_thread_clock_turn(thread, true, *now_ns);
}

bool upmu_thread_fill(struct upmu_meter *meter, struct upmu_thread *thread)
{
    struct upmu_session *dropped = NULL;
    uint64_t now_ns = 0;

    if (!upmu_thread_hold(thread))
        return false;
    if (upmu_thread_any_dropped(meter->machine))
        dropped = upmu_thread_take_dropped(thread);
    fill_lists(meter, thread, &now_ns);
    upmu_thread_release(thread);
    upmu_thread_bury(dropped);
    return true;
}

/* Unlink a session of the running thread that waits: from now on its time is that of the thread's clock. */
static void unlink_candidate(struct upmu_meter *meter, struct upmu_session *session, uint64_t now_ns)
{
    UPMU_STORE(session->thread->unjoined, 1);
    upmu_thread_clock_turn(session->thread, true, now_ns);
    upmu_thread_unlink(meter, session, now_ns);
}

/*
 * Unlink candidates at the end of one list of meter->waiting, but for those with a limit: those with a ticket above
 * `last`, which go to the end of the thread's list, and as many as are too many.  Nothing is done if there are not too
 * many and no other session of the thread is unlinked.  The thread's list is held.
 */
static void spare_list(struct upmu_meter *meter, struct upmu_thread *thread, unsigned shares, uint32_t last,
                       uint64_t *now_ns)
{
    struct upmu_session *session = meter->last_waiting[UPMU_WAIT_THREAD + shares], *next;
    unsigned count = count_candidates(meter, shares), kept = kept_candidates(shares);
    unsigned spared = count > kept ? count - kept : 0, renewed = 0;
    bool others = UPMU_LOAD(thread->unjoined);

    for (; session && (session->limit || session->ticket > last || renewed < spared); session = session->before_waiting)
        renewed += !session->limit;
    if (!renewed || (!others && !spared))
        return;
    if (!*now_ns)
        *now_ns = upmu_meter_now(meter);
    session = session ? session->next_waiting : meter->waiting[UPMU_WAIT_THREAD + shares];
    for (; session; session = next) {
        next = session->next_waiting;
        if (session->limit)
            continue;
        if (session->ticket > last) {
            upmu_thread_unlist(session);
            upmu_thread_list(thread, session);
        }
        unlink_candidate(meter, session, *now_ns);
    }
}

void upmu_thread_rotate(struct upmu_meter *meter, struct upmu_thread *thread, uint32_t last)
{
    uint64_t now_ns = 0;

    if (!upmu_thread_hold(thread))
        return;
    for (unsigned shares = 0; shares <= UPMU_SHARING; shares++)
        spare_list(meter, thread, shares, last, &now_ns);
    if (UPMU_LOAD(thread->unjoined))
        fill_lists(meter, thread, &now_ns);
    upmu_thread_release(thread);
}

void upmu_thread_spare(struct upmu_meter *meter, struct upmu_session *session)
{
    if (!session->thread || session->limit || !session->queued || !upmu_session_waits(session) ||
        count_candidates(meter, upmu_session_shares(session)) <= kept_candidates(upmu_session_shares(session)))
        return;
    unlink_candidate(meter, session, session->started_ns);
}

#else

enum upmu_status upmu_thread_admit(struct upmu_meter *meter, struct upmu_session *session)
{
    return __atomic_load_n(&session->meter, __ATOMIC_RELAXED) == meter ? UPMU_OK : UPMU_ERR_WRONG_CPU;
}

enum upmu_status upmu_thread_put(struct upmu_meter *meter, struct upmu_session *session)
{
    return upmu_session_leave(meter, session, false);
}

void upmu_thread_spare(struct upmu_meter *meter, struct upmu_session *session)
{
    (void)meter;
    (void)session;
}

#endif
