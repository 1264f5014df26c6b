/* SPDX-License-Identifier: MIT */
/*
 * The lists of sessions that wait on a CPU, by ticket.
 */
#include "core/engine/queue.h"
#include "core/engine/session_core.h"

#if UPMU_THREADS

/* By ticket: new ones are mostly the last. */
void upmu_queue_put(struct upmu_meter *meter, struct upmu_session *session)
{
    unsigned list = upmu_session_waits(session) ? session->shares : UPMU_WAIT_EMPTY;
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
    session->queued = (uint8_t)(1u + list);
    session->next_waiting = before;
    session->before_waiting = after;
    *(after ? &after->next_waiting : first) = session;
    *(before ? &before->before_waiting : last) = session;
}

void upmu_queue_take(struct upmu_meter *meter, struct upmu_session *session)
{
    struct upmu_session *after = session->before_waiting, *before = session->next_waiting;
    unsigned list = session->queued - 1u;

    if (!session->queued)
        return;
    session->queued = 0;
    session->next_waiting = session->before_waiting = NULL;
    *(after ? &after->next_waiting : &meter->waiting[list]) = before;
    *(before ? &before->before_waiting : &meter->last_waiting[list]) = after;
}

#endif
