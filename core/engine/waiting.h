/* SPDX-License-Identifier: MIT */
/*
 * Sessions that wait for counters, and which of them come.  All inside a bracket.
 */
#ifndef UPMU_CORE_WAITING_H
#define UPMU_CORE_WAITING_H

#include "core/engine/session_core.h"

/* Into the list of those that wait on a CPU, by ticket, and out of it; nothing if it is there, or not there. */
void upmu_waiting_put(struct upmu_meter *meter, struct upmu_session *session);
void upmu_waiting_take(struct upmu_meter *meter, struct upmu_session *session);

/* A session is started, and has no counters from this time on. */
void upmu_waiting_begin(struct upmu_meter *meter, struct upmu_session *session, uint64_t now_ns);

/* After a plan was carried out: sessions that left, and are started, wait. */
void upmu_waiting_leavers(struct upmu_meter *meter);

/* A session that does not run gets another state, and leaves the list in which it is. */
void upmu_waiting_end(struct upmu_session *session, enum upmu_session_state state);

/* Does any session wait? */
static inline bool upmu_waiting_any(const struct upmu_meter *meter)
{
    return UPMU_THREADS && (meter->waiting[0] || meter->waiting[1]);
}

/*
 * Start a session.  Sharing sessions leave their counters to a session that does not share.  A session of a thread and
 * one that shares wait if they do not fit.
 */
enum upmu_status upmu_waiting_start(struct upmu_meter *meter, struct upmu_session *session, bool may_move);

/* Start waiting sessions that fit without moving others: those at the head of the lists, the others with a tick. */
void upmu_waiting_admit(struct upmu_meter *meter);

/* The host's clock tick. */
void upmu_waiting_tick(struct upmu_meter *meter);

#if UPMU_THREADS

/* A session comes with its thread, and has no known place: search one, or let it wait.  True: it was searched for. */
bool upmu_waiting_come(struct upmu_meter *meter, struct upmu_session *session, bool search);

/*
 * Parts of a plan: sharing sessions that occupy `wanted` leave (false: others do); those at the head of the list that
 * have a place beside it come, but for those of a thread that leaves.
 */
bool upmu_waiting_displace(struct upmu_meter *meter, uint32_t wanted);
void upmu_waiting_fill(struct upmu_meter *meter, const struct upmu_thread *thread);

/* Search a place for one of the first few sharing sessions that wait. */
void upmu_waiting_search(struct upmu_meter *meter);

#endif

/* Registers were lost: load and open again all that ran. */
enum upmu_status upmu_waiting_reload(struct upmu_meter *meter, bool where_it_was);

#endif
