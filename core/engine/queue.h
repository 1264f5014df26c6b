/* SPDX-License-Identifier: MIT */
/*
 * The lists of sessions that wait on a CPU, by ticket.
 */
#ifndef UPMU_CORE_QUEUE_H
#define UPMU_CORE_QUEUE_H

#include <upmu/session.h>

/* Into the list of those that wait on a CPU, by turn, and out of it; nothing if it is there, or not there. */
#if UPMU_THREADS
void upmu_queue_put(struct upmu_meter *meter, struct upmu_session *session);
void upmu_queue_take(struct upmu_meter *meter, struct upmu_session *session);
#else
static inline void upmu_queue_put(struct upmu_meter *meter, struct upmu_session *session)
{
    (void)meter;
    (void)session;
}

static inline void upmu_queue_take(struct upmu_meter *meter, struct upmu_session *session)
{
    (void)meter;
    (void)session;
}
#endif

#endif
