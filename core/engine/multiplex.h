/* SPDX-License-Identifier: MIT */
/*
 * Which sessions run where not all can (docs/DESIGN.md, "Threads, multiplexing and sets").  All inside a local
 * bracket.
 */
#ifndef UPMU_CORE_MULTIPLEX_H
#define UPMU_CORE_MULTIPLEX_H

#include "core/engine/session_core.h"

struct upmu_transition;

/* The host's clock tick. */
void upmu_multiplex_tick(struct upmu_meter *meter);

#if UPMU_THREADS

/*
 * Start a session; those that share leave their counters to one that does not, and one that may wait does.  Those
 * that left are admitted by the caller.
 */
enum upmu_status upmu_multiplex_start(struct upmu_meter *meter, struct upmu_session *session, bool may_move);

/* One comes with its thread, and finds no place known: it is searched for, or waits at once.  True: it was searched. */
bool upmu_multiplex_come(struct upmu_meter *meter, struct upmu_session *session, bool search);

/* Does any session wait? */
static inline bool upmu_multiplex_wanted(const struct upmu_meter *meter)
{
    return meter->waiting[0] || meter->waiting[1];
}

/* Start waiting sessions that fit without moving others: those at the head of the lists, the others with a tick. */
void upmu_multiplex_admit(struct upmu_meter *meter);

/* One that shares and waits gets a place, if the first few have none. */
void upmu_multiplex_search(struct upmu_meter *meter);

/*
 * Parts of a plan: sharing sessions that occupy `wanted` leave (false: others do); those at the head of the list
 * that have a place beside it come, but for those of the thread that leaves.
 */
bool upmu_multiplex_displace(struct upmu_transition *plan, uint32_t wanted);
void upmu_multiplex_fill(struct upmu_transition *plan, const struct upmu_thread *thread);

/* After the transition: those that left, but for that thread's, wait. */
void upmu_multiplex_settle(struct upmu_transition *plan, const struct upmu_thread *thread);

#else

#include "core/engine/schedule.h"

static inline bool upmu_multiplex_wanted(const struct upmu_meter *meter)
{
    (void)meter;
    return false;
}

static inline enum upmu_status upmu_multiplex_start(struct upmu_meter *meter, struct upmu_session *session,
                                                    bool may_move)
{
    return upmu_schedule_start(meter, session, may_move);
}

static inline void upmu_multiplex_admit(struct upmu_meter *meter)
{
    (void)meter;
}

#endif

/* Change what runs to that set (NULL: the next).  Inside a local bracket. */
void upmu_multiplex_switch(struct upmu_meter *meter, struct upmu_session *session, struct upmu_set *set);

/* Registers were lost: load and open again all that ran; with meter->keep_claims where it was. */
enum upmu_status upmu_multiplex_reload(struct upmu_meter *meter);

#endif
