/* SPDX-License-Identifier: MIT */
/*
 * Sessions that wait for counters: their lists, and the choice which of them run.  All functions: inside a bracket;
 * those of the lists also in a handler that interrupted none.
 */
#ifndef UPMU_CORE_WAITING_H
#define UPMU_CORE_WAITING_H

#include "core/engine/session_core.h"

/*
 * Put a session by ticket into its list of meter->waiting: a running session with an empty set into [2]; a session that
 * waits into [0], or if it shares into [1], or if it is the running thread's into [3] or [4].  Or take it out of its
 * list.  A session that is in a list is not put again; one that is in none is not taken.
 */
void upmu_waiting_put(struct upmu_meter *meter, struct upmu_session *session);
void upmu_waiting_take(struct upmu_meter *meter, struct upmu_session *session);

/* Give a session that is in no list the next ticket of a meter, behind all others; 0 in a build without threads. */
static inline void upmu_waiting_ticket(struct upmu_meter *meter, struct upmu_session *session)
{
    session->ticket = UPMU_THREADS ? ++meter->tickets : 0;
}

/*
 * Let a started session wait: its state becomes WAITING, it is put into its list, and from `now_ns` on it has enabled
 * time only.
 */
void upmu_waiting_begin(struct upmu_meter *meter, struct upmu_session *session, uint64_t now_ns);

/* After a plan: each session that has left and is still started (its state is WAITING) begins to wait, in its list. */
void upmu_waiting_leavers(struct upmu_meter *meter);

/*
 * Give a session that does not run the state `state`.  If it is on a meter, it is taken out of the list in which it is.
 */
void upmu_waiting_end(struct upmu_session *session, enum upmu_session_state state);

/* Does any session wait here that does not share (`shares` 0), or that shares (1)? */
static inline bool upmu_waiting_of(const struct upmu_meter *meter, unsigned shares)
{
    return UPMU_THREADS && (UPMU_SHARING || !shares) &&
           (meter->waiting[shares] || meter->waiting[UPMU_WAIT_THREAD + shares]);
}

/* Does any session wait here? */
static inline bool upmu_waiting_any(const struct upmu_meter *meter)
{
    return upmu_waiting_of(meter, 0) || upmu_waiting_of(meter, 1);
}

/*
 * Start a session.  Sharing sessions are displaced for a session that does not share; `may_move`: running events may be
 * moved.  A session of a thread, or a sharing session, waits if it does not fit or is for another PMU: that is UPMU_OK,
 * too.  Else returns why the session does not run.
 */
enum upmu_status upmu_waiting_start(struct upmu_meter *meter, struct upmu_session *session, bool may_move);

/*
 * Start sessions at the head of the lists of those that wait, if their placements are valid and the counters are free
 * or belong to sharing sessions, which leave for a session that does not share.  With `searches`, or where nothing
 * runs, a place is searched for one session more.  A tick starts others.  Where nothing runs and none waits, first
 * sessions of the running thread that are linked to no CPU become candidates (upmu_thread_fill()).
 */
void upmu_waiting_admit(struct upmu_meter *meter, bool searches);

/*
 * Do the work of the host's clock tick: switch sets that have had their time, start sessions that wait, choose anew
 * which sharing sessions run, end sessions without owner.
 */
void upmu_waiting_tick(struct upmu_meter *meter);

#if UPMU_THREADS

/*
 * Start a session that comes with its thread and has no valid placement.  `search`: search a place, unless too few
 * counters are free or a search beside the same sessions has failed before.  Without a search the session begins to
 * wait, from `now_ns` on.  `taken`: what upmu_waiting_taken() returned before the first of many sessions came.  Returns
 * whether a place was searched; false if the search was refused at once, because the CPU lacks a hook.
 */
bool upmu_waiting_come(struct upmu_meter *meter, struct upmu_session *session, bool search, uint32_t taken,
                       uint64_t now_ns);

/* Returns the counters of the running sessions that do not share. */
uint32_t upmu_waiting_taken(const struct upmu_meter *meter);

/*
 * Plan a waiting session in, if its placement is valid beside the sessions that run with it.  Sharing sessions on its
 * counters leave for a session that does not share; if either side runs alone, all leave.  A session of the thread that
 * comes, which the caller holds, is linked then, unless it is linked already.  Returns false where the session is not
 * planned in.
 */
bool upmu_waiting_plan(struct upmu_meter *meter, struct upmu_session *session);

/*
 * Plan in the first sharing sessions that wait, where their placements are valid.  `own`: not those of the thread that
 * runs here, which leaves.
 */
void upmu_waiting_fill(struct upmu_meter *meter, bool own);

/* ---- For waiting_tick.c ---- */

/* How many waiting sessions of one kind, sharing or not, a call looks at.  A tick looks at more sharing ones. */
#define UPMU_WAITING_LOOKS 4u

/* A walk by ticket over the sessions that wait here: those of the CPU, and those of the thread that runs here. */
struct upmu_waiters {
    struct upmu_session *own, *threads; /* the next ones of both lists */
};

static inline struct upmu_waiters upmu_waiters_of(const struct upmu_meter *meter, unsigned shares)
{
    return (struct upmu_waiters){meter->waiting[shares], meter->waiting[UPMU_WAIT_THREAD + shares]};
}

/* Returns the next session of a walk, or NULL.  The session may leave its list before the next call. */
static inline struct upmu_session *upmu_waiters_next(struct upmu_waiters *walk)
{
    struct upmu_session *own = walk->own, *threads = walk->threads;

    if (!threads || (own && own->ticket < threads->ticket)) {
        walk->own = own ? own->next_waiting : NULL;
        return own;
    }
    walk->threads = threads->next_waiting;
    return threads;
}

/*
 * Could the events of a set have counters beside those in `taken`?  Each event needs a free counter (`may_move`: also
 * one that a move could free), and there must be as many free counters as events.  Only a search tells whether they
 * fit.
 */
bool upmu_waiting_could_fit(const struct upmu_meter *meter, const struct upmu_set *set, uint32_t taken, bool may_move);

/*
 * Has a search beside the same co-runners found no place for a session?  Its co-runners are all that run if the session
 * shares, else those that do not share.  With a domain: false, as claims of other CPUs may have changed since.  True,
 * too, if the session cannot run on this CPU (upmu_placing_lacks_hook()).
 */
bool upmu_waiting_was_refused(const struct upmu_meter *meter, const struct upmu_session *session, bool may_move);

/*
 * After a plan: each session that left and is still started is put into the list of those that wait, and its turn is
 * over (upmu_estimate_turn()).
 */
void upmu_waiting_end_turns(struct upmu_meter *meter);

/*
 * As upmu_waiting_bring(), but sharing sessions are displaced for a session that does not share.  A session that has no
 * place is not put into a list.
 */
enum upmu_status upmu_waiting_try(struct upmu_meter *meter, struct upmu_session *session, bool may_move);

/*
 * Look at the first UPMU_WAITING_LOOKS sessions that wait, of those that share (`shares` 1) or of those that do not
 * (0).  For the first one for which a search is worth it, search a place and start it there.  Returns whether there was
 * such a session.
 */
bool upmu_waiting_search(struct upmu_meter *meter, unsigned shares);

#endif

/*
 * Run a session on the counters of its last placement if that is valid; else search a place.  `may_move`: running
 * events may be moved for it.  Returns UPMU_OK, or why the session does not run.
 */
enum upmu_status upmu_waiting_bring(struct upmu_meter *meter, struct upmu_session *session, bool may_move);

/*
 * After registers were lost: load and start again each suspended session of the meter.  `where_it_was`: on its former
 * counters, without a search.  Returns the status of the last session that did not start, or UPMU_OK.
 */
enum upmu_status upmu_waiting_reload(struct upmu_meter *meter, bool where_it_was);

#endif
