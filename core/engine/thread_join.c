/* SPDX-License-Identifier: MIT */
/*
 * How a session of a thread comes from the lists of its thread (thread_list.c) to the list of a CPU (session_link.c),
 * and leaves that list.
 */
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

void upmu_thread_unlink(struct upmu_meter *meter, struct upmu_session *session, uint64_t *now_ns)
{
    if (session->state == UPMU_SESSION_SUSPENDED)
        UPMU_STORE(session->state, UPMU_SESSION_WAITING);
    if (session->queued && session->state == UPMU_SESSION_WAITING) {
        if (!*now_ns)
            *now_ns = upmu_meter_now(meter);
        upmu_session_enabled(session, *now_ns);
    }
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

enum upmu_status upmu_thread_admit(struct upmu_meter *meter, struct upmu_session *session)
{
    enum upmu_status status = UPMU_ERR_WRONG_CPU;
    struct upmu_thread *thread;

    if (__atomic_load_n(&session->meter, __ATOMIC_RELAXED) == meter)
        return UPMU_OK;
    if (__atomic_exchange_n(&session->held, 1, __ATOMIC_ACQUIRE))
        return UPMU_ERR_BUSY;
    thread = UPMU_LOAD(session->thread); /* while the session is held, the thread does not end */
    if (thread && !__atomic_load_n(&session->meter, __ATOMIC_RELAXED) && UPMU_LOAD(thread->cpu) == meter->cpu &&
        upmu_thread_may_join(session, meter->cpu))
        status = upmu_thread_hold(thread) ? UPMU_OK : UPMU_ERR_BUSY;
    if (status == UPMU_OK) {
        upmu_thread_list(thread, session);
        upmu_session_link(meter, session);
        if (upmu_session_waits(session))
            upmu_waiting_begin(meter, session, upmu_meter_now(meter));
        upmu_thread_release(thread);
    }
    __atomic_store_n(&session->held, 0, __ATOMIC_RELEASE);
    return status;
}

enum upmu_status upmu_thread_put(struct upmu_meter *meter, struct upmu_session *session)
{
    enum upmu_status status = UPMU_OK;
    uint64_t now_ns = 0;

    if (upmu_session_occupies(session)) {
        upmu_plan_begin(meter, UPMU_SESSION_WAITING);
        (void)upmu_plan_out(meter, session);
        upmu_reconcile(meter);
        status = session->error;
    }
    if (session->thread)
        UPMU_STORE(session->thread->unjoined, 1);
    upmu_thread_unlink(meter, session, &now_ns);
    return status;
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

#endif
