/* SPDX-License-Identifier: MIT */
/*
 * The lists of threads' sessions.
 */
#include "core/hw/port_call.h"
#include "core/engine/meter.h"
#include "core/engine/reconcile.h"
#include "core/engine/sets.h"
#include "core/engine/session_core.h"
#include "core/engine/thread_core.h"
#include "core/engine/waiting.h"

#if UPMU_THREADS

/* What holds a list does little: it is tried so often. */
#define PATIENCE 1000u

bool upmu_thread_hold_at_last(struct upmu_thread *thread)
{
    for (unsigned i = 0; i < PATIENCE; i++)
        if (!__atomic_exchange_n(&thread->held, 1, __ATOMIC_ACQUIRE))
            return true;
    return false;
}

void upmu_thread_forget(struct upmu_session *session)
{
    struct upmu_thread *thread = session->thread;
    struct upmu_session **link;

    if (!thread)
        return;
    link = &thread->sessions;
    while (*link != session)
        link = &(*link)->next_of_thread;
    /* (A switch that could not hold the list only asks whether it is empty.) */
    __atomic_store_n(link, session->next_of_thread, __ATOMIC_RELAXED);
    session->next_of_thread = NULL;
    UPMU_STORE(session->thread, NULL);
}

/* One that slept with its CPU waits now. */
void upmu_thread_unlink(struct upmu_meter *meter, struct upmu_session *session)
{
    if (session->state == UPMU_SESSION_SUSPENDED)
        UPMU_STORE(session->state, UPMU_SESSION_WAITING);
    if (session->queued && session->state == UPMU_SESSION_WAITING)
        upmu_session_enabled(session, upmu_meter_now(meter));
    upmu_session_unlink(meter, session);
}

bool upmu_thread_join(struct upmu_meter *meter, struct upmu_session *session)
{
    if (__atomic_exchange_n(&session->held, 1, __ATOMIC_ACQUIRE))
        return false;
    upmu_session_link(meter, session);
    __atomic_store_n(&session->held, 0, __ATOMIC_RELEASE);
    if (UPMU_SETS && session->switch_due)
        upmu_sets_advance(session, NULL);
    return true;
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
        session->thread->unjoined = 1;
    upmu_thread_unlink(meter, session);
    return status;
}

#else

void upmu_thread_forget(struct upmu_session *session)
{
    (void)session;
}

enum upmu_status upmu_thread_put(struct upmu_meter *meter, struct upmu_session *session)
{
    return upmu_session_leave(meter, session, false);
}

#endif
