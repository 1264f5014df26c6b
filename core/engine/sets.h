/* SPDX-License-Identifier: MIT */
/* Chains of sets: which set of a session is next, and when it is due.  In a build with UPMU_SETS. */
#ifndef UPMU_CORE_SETS_H
#define UPMU_CORE_SETS_H

#include "core/engine/session_core.h"

/*
 * When a session is started that has not begun (session->begun): begin the first run of its active set, and the first
 * round of its sets.
 */
void upmu_sets_begin(struct upmu_session *session);

/*
 * Choose the next set, session->following: `set`, or where that is NULL the next one of the chain or one drawn by lot.
 */
void upmu_sets_choose(struct upmu_session *session, struct upmu_set *set);

/*
 * Make session->following the active set, and begin its run; no switch is due any more.  The former set must have left
 * its counters, with its counts taken.
 */
void upmu_sets_switched(struct upmu_session *session);

/* For a session without counters: choose the next set as upmu_sets_choose() does, and make it active. */
void upmu_sets_advance(struct upmu_session *session, struct upmu_set *set);

/* Does a session run a set with UPMU_SET_TIME_SWITCH whose time is over? */
bool upmu_sets_over(const struct upmu_session *session, uint64_t now_ns);

#endif
