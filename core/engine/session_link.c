/* SPDX-License-Identifier: MIT */
/* Link a session into the lists of a CPU or unit, and unlink it; link a set to its session; end a session. */
#include "core/engine/features.h"
#include "core/engine/joint.h"
#include "core/engine/meter.h"
#include "core/engine/program.h"
#include "core/engine/placing.h"
#include "core/engine/reconcile.h"
#include "core/engine/session_core.h"
#include "core/engine/thread_core.h"
#include "core/engine/waiting.h"

/* Tags count up, from 1.  After 2^32 tags of a meter they begin anew: 0 is left out. */
void upmu_session_give_tag(struct upmu_meter *meter, struct upmu_tally *tally)
{
    if (!++meter->next_tag)
        meter->next_tag = 1;
    tally->tag = meter->next_tag;
}

/* Tags and ticket are numbers of the meter to which the session was linked last (session->tagged_by: meter->life). */
void upmu_session_tag(struct upmu_meter *meter, struct upmu_session *session)
{
    for (struct upmu_set *set = session->sets; set; set = upmu_set_after(set))
        for UPMU_TALLIES(tally, set)
            upmu_session_give_tag(meter, tally);
    session->tagged_by = meter->life;
#if UPMU_WORLDS
    meter->worlds |= session->world;
#endif
    upmu_waiting_ticket(meter, session);
}

void upmu_session_keep_set(struct upmu_session *session, struct upmu_set *set)
{
    set->session = session;
}

/* Sessions of threads stand before the others, so that a switch finds those of the thread that leaves. */
void upmu_session_link(struct upmu_meter *meter, struct upmu_session *session)
{
    struct upmu_session **link;

    if (!UPMU_THREADS || session->tagged_by != meter->life)
        upmu_session_tag(meter, session);
    __atomic_store_n(&session->meter, meter, __ATOMIC_RELEASE); /* a call elsewhere can find this CPU from now on */
    upmu_session_lose_place(session);
    link = &meter->sessions;
    while (!session->thread && *link && (*link)->thread)
        link = &(*link)->next;
    session->next = *link;
    session->link = link;
    if (session->next)
        session->next->link = &session->next;
    UPMU_BARRIER();
    *link = session;
}

void upmu_session_unlink(struct upmu_meter *meter, struct upmu_session *session)
{
    upmu_waiting_take(meter, session);
    upmu_plan_forget(meter);
    if (!upmu_meter_is_unit(meter))
        upmu_features_detach(meter->cpu, session);
    *session->link = session->next;
    if (session->next)
        session->next->link = session->link;
    UPMU_BARRIER();
    upmu_session_lose_place(session);
    session->next = NULL;
    session->link = NULL;
    UPMU_STORE(session->set.proven, meter->seen_counting);
    /*
     * The sequence grows by 2, and stays even.  A read on another CPU that began before the session was linked sees
     * this change, though it finds the session on no CPU again, and reads anew.
     */
    upmu_session_repeat_reads(session);
    /* The last step: from now on the session is on no CPU, and a call on another CPU may change it. */
    __atomic_store_n(&session->meter, NULL, __ATOMIC_RELEASE);
}

bool upmu_session_unplace(struct upmu_session *session)
{
    bool samples = false;

    session->tagged_by = 0;
    upmu_session_know(session, NULL);
    for (struct upmu_set *set = session->sets; set; set = upmu_set_after(set)) {
        upmu_program_forget(set);
        for UPMU_TALLIES(tally, set) {
            upmu_joint_forget(tally);
            samples |= tally->period != 0;
        }
    }
    return samples;
}

void upmu_session_untie(struct upmu_session *session)
{
    upmu_thread_forget(session);
    __atomic_store_n(&session->held, 0, __ATOMIC_RELEASE);
    upmu_session_enter(session, UPMU_SESSION_DETACHED);
    if (upmu_byte_and(&session->ties, (uint8_t)~UPMU_TIED) & UPMU_DROPPED)
        upmu_session_end(session);
}

enum upmu_status upmu_session_halt(struct upmu_meter *meter, struct upmu_session *session)
{
    enum upmu_status status = UPMU_OK;

    if (upmu_session_occupies(session)) {
        upmu_plan_begin(meter, UPMU_SESSION_STOPPED);
        (void)upmu_plan_out(meter, session);
        upmu_reconcile(meter);
        status = session->error;
    } else if (upmu_session_waits(session) && meter) {
        upmu_session_enabled(session, upmu_meter_now(meter));
    } else if (upmu_session_waits(session)) {
        upmu_thread_settle(session);
    }
    upmu_waiting_end(session, UPMU_SESSION_STOPPED);
    return status;
}

enum upmu_status upmu_session_leave(struct upmu_meter *meter, struct upmu_session *session, bool listed)
{
    struct upmu_thread *thread = session->thread;
    enum upmu_status status, released;

    if (UPMU_THREADS && thread && !listed && !upmu_thread_hold(thread))
        return UPMU_ERR_BUSY;
    if (UPMU_THREADS && thread && !upmu_session_hold_here(session)) {
        if (!listed)
            upmu_thread_release(thread);
        return UPMU_ERR_BUSY;
    }
    status = upmu_session_halt(meter, session);
    released = meter->live ? upmu_placing_release(meter, session) : UPMU_OK;
    upmu_session_unlink(meter, session);
    upmu_session_untie(session);
    if (UPMU_THREADS && thread && !listed)
        upmu_thread_release(thread);
    return status != UPMU_OK ? status : released;
}

void upmu_session_end(struct upmu_session *session)
{
    if (upmu_session_dropped(session))
        (void)__atomic_fetch_sub(&session->machine->dropped, 1, __ATOMIC_RELAXED);
    session->id = 0;
    for (struct upmu_set *set = session->sets; set; set = upmu_set_after(set))
        if (set != &session->set)
            upmu_session_keep_set(NULL, set);
    UPMU_STORE(session->set.count, 0);
    upmu_features_close(session);
    upmu_session_enter(session, UPMU_SESSION_CLOSED);
}
