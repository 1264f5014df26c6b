/* SPDX-License-Identifier: MIT */
/*
 * Chains of event sets: which is next, and what their runs tell about what they missed.
 */
#ifndef UPMU_CORE_CHAIN_H
#define UPMU_CORE_CHAIN_H

#include "core/engine/session_core.h"

/* Make a set (NULL: the next) the active one of a session that is not on the hardware. */
void upmu_chain_advance(struct upmu_session *session, struct upmu_set *set);

/* A change takes the active set off for this one (NULL: the next). */
void upmu_chain_mark(struct upmu_session *session, struct upmu_set *set);

/* A session is started: the first run of its first set begins. */
void upmu_chain_begin(struct upmu_session *session);

/* A change takes the set `before` off the hardware for session->coming. */
void upmu_chain_switched(struct upmu_session *session, struct upmu_set *before);

/* The next of those that run on *rest whose set has had its time. */
struct upmu_session *upmu_chain_next_over(const struct upmu_meter *meter, uint32_t *rest, uint64_t now_ns);

/* Mark sessions whose set has had its time: to be changed. */
bool upmu_chain_expire(struct upmu_meter *meter, uint64_t now_ns);

/*
 * A handler that interrupted no local call changes a session, whose counters it has closed, to its
 * next set, if that concerns no other session; otherwise nothing has changed (false).  The old
 * set's counts are taken; then the next one is put on, and the caller opens it.  A fault there
 * stops the session.
 */
bool upmu_chain_relieve(struct upmu_meter *meter, struct upmu_session *session);
void upmu_chain_put_on(struct upmu_meter *meter, struct upmu_session *session);

#endif
