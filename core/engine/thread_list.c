/* SPDX-License-Identifier: MIT */
/*
 * The lists of a thread's sessions: one of all its sessions, and lists of the started ones, one for each limit.
 * thread_join.c links sessions from them to a CPU.
 */
#include "core/engine/thread_core.h"

#if UPMU_THREADS

/* How often a call tries to hold a list before it gives up.  The holder does little meanwhile. */
#define PATIENCE 1000u

bool upmu_thread_hold_at_last(struct upmu_thread *thread)
{
    for (unsigned i = 0; i < PATIENCE; i++)
        if (!__atomic_exchange_n(&thread->held, 1, __ATOMIC_ACQUIRE))
            return true;
    return false;
}

void upmu_thread_know(struct upmu_thread *thread, struct upmu_session *session)
{
    session->next_of_thread = thread->sessions;
    session->link_of_thread = &thread->sessions;
    if (session->next_of_thread)
        session->next_of_thread->link_of_thread = &session->next_of_thread;
    __atomic_store_n(&thread->sessions, session, __ATOMIC_RELEASE);
}

/*
 * Return the address of the pointer to the first session of the list of started sessions for `limit` (a CPU, or NULL:
 * no limit).  The pointer is NULL if no started session has this limit.
 */
static struct upmu_session **find_list(struct upmu_thread *thread, const struct upmu_cpu *limit)
{
    struct upmu_session **first = &thread->started;

    while (*first && (*first)->limit != limit)
        first = &(*first)->next_list;
    return first;
}

/*
 * Put a session at the end of the list of started sessions for its limit.  In the first session of a list,
 * `before_started` is the last session, so that the end is found without a walk.  NULL: the session is in no list.
 */
void upmu_thread_list(struct upmu_thread *thread, struct upmu_session *session)
{
    struct upmu_session **first;

    if (session->before_started)
        return;
    first = find_list(thread, session->limit);
    session->before_started = *first ? (*first)->before_started : session;
    *(*first ? &session->before_started->next_started : first) = session;
    (*first)->before_started = session;
}

void upmu_thread_unlist(struct upmu_session *session)
{
    struct upmu_session *after = session->before_started, *before = session->next_started, **first;

    if (!after)
        return;
    first = find_list(session->thread, session->limit);
    if (*first != session) {
        after->next_started = before;
        (before ? before : *first)->before_started = after;
    } else if (before) {
        before->before_started = after;
        before->next_list = session->next_list;
        *first = before;
    } else {
        *first = session->next_list;
    }
    session->next_started = session->before_started = session->next_list = NULL;
}

void upmu_thread_forget(struct upmu_session *session)
{
    if (!session->thread)
        return;
    upmu_thread_unlist(session);
    if (session->next_of_thread)
        session->next_of_thread->link_of_thread = session->link_of_thread;
    /* Relaxed: a switch that could not hold the list only asks whether the list is empty. */
    __atomic_store_n(session->link_of_thread, session->next_of_thread, __ATOMIC_RELAXED);
    session->next_of_thread = NULL;
    session->link_of_thread = NULL;
    UPMU_STORE(session->thread, NULL);
}

enum upmu_status upmu_thread_start(struct upmu_session *session)
{
    struct upmu_thread *thread = session->thread;

    if (!upmu_thread_hold(thread))
        return UPMU_ERR_BUSY;
    upmu_thread_list(thread, session);
    UPMU_STORE(session->state, UPMU_SESSION_WAITING);
    UPMU_STORE(thread->unjoined, 1);
    upmu_thread_release(thread);
    return UPMU_OK;
}

struct upmu_session *upmu_thread_take_dropped(struct upmu_thread *thread)
{
    struct upmu_session *next, *dropped = NULL;

    for (struct upmu_session *session = thread->sessions; session; session = next) {
        next = session->next_of_thread;
        if (!upmu_session_dropped(session) || session->meter)
            continue;
        upmu_thread_forget(session);
        session->next_of_thread = dropped;
        dropped = session;
    }
    return dropped;
}

#else

void upmu_thread_forget(struct upmu_session *session)
{
    (void)session;
}

enum upmu_status upmu_thread_start(struct upmu_session *session)
{
    return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
}

#endif
