/* SPDX-License-Identifier: MIT */
/*
 * Sessions that wait for counters, and the choice which of them run.  All functions: inside a bracket.
 */
#ifndef UPMU_CORE_WAITING_H
#define UPMU_CORE_WAITING_H

#include "core/engine/session_core.h"

/*
 * Put a session into the list of those that wait on its CPU, by ticket, or take it out.  Both do nothing if it is
 * there, or not there, already.
 */
void upmu_waiting_put(struct upmu_meter *meter, struct upmu_session *session);
void upmu_waiting_take(struct upmu_meter *meter, struct upmu_session *session);

/* Let a started session wait: it has no counters from `now_ns` on. */
void upmu_waiting_begin(struct upmu_meter *meter, struct upmu_session *session, uint64_t now_ns);

/* A walk over sessions of which many begin to wait; at first all 0. */
struct upmu_walk {
    uint64_t now_ns;           /* the time, which is read when the first session needs it */
    struct upmu_session *last; /* the last one that began to wait: the ticket of the next is mostly a little higher */
};

/* Let the next session of a walk wait. */
void upmu_waiting_join(struct upmu_meter *meter, struct upmu_session *session, struct upmu_walk *walk);

/* After a plan: each session that left and is still started begins to wait. */
void upmu_waiting_leavers(struct upmu_meter *meter);

/* Give a session that does not run another state, and take it out of the list in which it waits. */
void upmu_waiting_end(struct upmu_session *session, enum upmu_session_state state);

/* Does any session wait? */
static inline bool upmu_waiting_any(const struct upmu_meter *meter)
{
    return UPMU_THREADS && (meter->waiting[0] || meter->waiting[1]);
}

/*
 * Start a session.  Sharing sessions are displaced for a session that does not share.  A session of a thread, or a
 * sharing session, waits if it does not fit.
 */
enum upmu_status upmu_waiting_start(struct upmu_meter *meter, struct upmu_session *session, bool may_move);

/*
 * Start sessions that wait, at the head of the lists, where they have a valid place and its counters are free or those
 * of sharing sessions, which leave.  `searches`, or nothing runs: search a place for one of them, such as a session
 * whose next set has not run yet.  A tick starts others.
 */
void upmu_waiting_admit(struct upmu_meter *meter, bool searches);

/* Do the work of the host's clock tick: next sets, sessions that wait, rotation of sharing sessions. */
void upmu_waiting_tick(struct upmu_meter *meter);

#if UPMU_THREADS

/*
 * Start a session that comes with its thread and has no valid place.  `search`: search one; else the session waits.
 * Returns whether a place was searched.
 */
bool upmu_waiting_come(struct upmu_meter *meter, struct upmu_session *session, bool search, struct upmu_walk *walk);

/*
 * Plan a waiting session in, if it has a place beside those that run with it.  Sharing sessions on its counters, or
 * all where one side is alone, leave for a session that does not share.  Returns false where the session has no place.
 */
bool upmu_waiting_plan(struct upmu_meter *meter, struct upmu_session *session);

/*
 * Plan in the first sharing sessions that wait, where they have a valid place; not those of `thread`, which leaves
 * (NULL: no thread leaves).
 */
void upmu_waiting_fill(struct upmu_meter *meter, const struct upmu_thread *thread);

#endif

/*
 * After registers were lost: load and start again each session that was suspended.  `where_it_was`: in its former
 * place, without a search.  Returns the status of the last session that did not start, or UPMU_OK.
 */
enum upmu_status upmu_waiting_reload(struct upmu_meter *meter, bool where_it_was);

#endif
