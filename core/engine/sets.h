/* SPDX-License-Identifier: MIT */
/*
 * Chains of event sets: which is next, and what their runs tell about what they missed.
 */
#ifndef UPMU_CORE_SETS_H
#define UPMU_CORE_SETS_H

#include "core/engine/session_core.h"

/* A session is started: the first run of its first set begins. */
void upmu_sets_begin(struct upmu_session *session);

/* session->following becomes this set, or (NULL) the one that the order gives. */
void upmu_sets_choose(struct upmu_session *session, struct upmu_set *set);

/* session->following becomes the active set: the active one has left the counters, and its counts are taken. */
void upmu_sets_switched(struct upmu_session *session);

/* Choose and switch, of a session that is not on the counters. */
void upmu_sets_advance(struct upmu_session *session, struct upmu_set *set);

/* Does a session run a set that has had its time? */
bool upmu_sets_over(const struct upmu_session *session, uint64_t now_ns);

#endif
