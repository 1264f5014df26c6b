/* SPDX-License-Identifier: MIT */
/* The lists of meter->waiting, of sessions without counters, in the order of their tickets. */
#include "core/engine/waiting.h"
#include "core/hw/port_call.h"
#include "core/engine/count.h"
#include "core/engine/meter.h"

/* Returns the index in meter->waiting of the list for a session. */
static unsigned list_of(const struct upmu_session *session)
{
    if (!upmu_session_waits(session))
        return UPMU_WAIT_EMPTY;
    return upmu_session_shares(session) + (session->thread ? UPMU_WAIT_THREAD : 0);
}

/* Put a session by ticket into its list.  New tickets are mostly the highest: then it goes to the end. */
void upmu_waiting_put(struct upmu_meter *meter, struct upmu_session *session)
{
    unsigned list = list_of(session);
    struct upmu_session **first = &meter->waiting[list], **last = &meter->last_waiting[list];
    struct upmu_session *after = *last, *before = NULL;

    if (session->queued)
        return;
    if (after && after->ticket > session->ticket) {
        before = *first;
        while (before->ticket < session->ticket)
            before = before->next_waiting;
        after = before->before_waiting;
    }
    UPMU_STORE(session->queued, (uint8_t)(1u + list));
    session->next_waiting = before;
    session->before_waiting = after;
    *(after ? &after->next_waiting : first) = session;
    *(before ? &before->before_waiting : last) = session;
}

void upmu_waiting_take(struct upmu_meter *meter, struct upmu_session *session)
{
    struct upmu_session *after = session->before_waiting, *before = session->next_waiting;
    unsigned list = session->queued - 1u;

    if (!session->queued)
        return;
    UPMU_STORE(session->queued, 0);
    session->next_waiting = session->before_waiting = NULL;
    *(after ? &after->next_waiting : &meter->waiting[list]) = before;
    *(before ? &before->before_waiting : &meter->last_waiting[list]) = after;
}

/* Without a clock the time is unknown for which a waiting session has no counters: mark its counts (`hole`). */
static void wait_here(struct upmu_meter *meter, struct upmu_session *session)
{
    if (!port_has_clock(meter->machine->port))
        upmu_count_mar(session);
}

void upmu_waiting_begin(struct upmu_meter *meter, struct upmu_session *session, uint64_t now_ns)
{
    UPMU_STORE(session->started_ns, now_ns);
    UPMU_STORE(session->state, UPMU_SESSION_WAITING);
    upmu_waiting_put(meter, session);
    wait_here(meter, session);
}

void upmu_waiting_end(struct upmu_session *session, enum upmu_session_state state)
{
    UPMU_STORE(session->state, (uint8_t)state);
    if (session->meter)
        upmu_waiting_take(session->meter, session);
}

void upmu_waiting_leavers(struct upmu_meter *meter)
{
    struct upmu_plan *plan = &meter->plan;

    for (unsigned i = 0; i < plan->outs; i++) {
        struct upmu_session *session = plan->out[i];

        if (session->state == UPMU_SESSION_WAITING)
            upmu_waiting_begin(meter, session, plan->now_ns);
    }
}
