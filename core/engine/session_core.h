/* SPDX-License-Identifier: MIT */
/*
 * Declarations of sessions for other core files.
 */
#ifndef UPMU_CORE_SESSION_CORE_H
#define UPMU_CORE_SESSION_CORE_H

#include "core/util/bits.h"
#include "core/util/byte.h"
#include "core/util/shared.h"
#include "core/hw/port_call.h"
#include <upmu/event.h>
#include <upmu/session.h>
#include <upmu/set.h>

/* The set whose events run, or would run next. */
#if UPMU_SETS
#define upmu_active(session) ((session)->active)
#define upmu_active_seen(session) UPMU_LOAD((session)->active) /* another CPU may be switching sets */
#else
#define upmu_active(session) (&(session)->set)
#define upmu_active_seen(session) (&(session)->set)
#endif

/* The tallies of a set: `for UPMU_TALLIES(tally, set)`. */
#define UPMU_TALLIES(tally, set)                                                                                      \
    (struct upmu_tally *tally = (set)->tally, *tally##_end = tally + (set)->count; tally < tally##_end; tally++)

/* Times can differ between enabled and running, in a build that has one of the reasons. */
#define UPMU_GAPS (UPMU_MOVES || UPMU_PRELUDES || UPMU_THREADS || UPMU_SETS)

/* Is the session started, without counters now? */
static inline bool upmu_session_waits(const struct upmu_session *session)
{
    return UPMU_THREADS && UPMU_LOAD(session->state) == UPMU_SESSION_WAITING;
}

/* The sets of a session, from session->sets on. */
static inline struct upmu_set *upmu_set_after(const struct upmu_set *set)
{
    return UPMU_SETS ? set->next : NULL;
}

/* A call that needs its CPU, so that it can be sent to another one. */
struct upmu_call {
    enum upmu_status (*work)(const struct upmu_call *call);
    struct upmu_session *session;
    struct upmu_meter *meter; /* NULL: the thread does not run, or it is attached nowhere */
    struct upmu_set *set;
    unsigned index;
    uint64_t value, period;
    const struct upmu_event *event;
    const struct upmu_sampling *sampling;
    enum upmu_status status;
    bool listed; /* the caller holds the list of the session's thread */
    bool detaches;
    bool targeted; /* refused where the session has no target */
    bool follow; /* on the CPU where the session is, wherever its thread goes meanwhile */
    bool joins;  /* and where its thread runs, though no switch has brought the session */
#if UPMU_LOANS
    bool lends;
#endif
};

/* Do the work in the bracket of its CPU, or anywhere. */
enum upmu_status upmu_session_call(struct upmu_call *call);

/* Events in all sets. */
unsigned upmu_session_events(const struct upmu_session *session);

/* The set that a start begins with: the one that was active last, or the first. */
void upmu_session_rewind(struct upmu_session *session);

/* Enabled time of a session that is started, and whose target is here, up to now. */
void upmu_session_enabled(struct upmu_session *session, uint64_t now_ns);

/* Enabled time of a session that runs. */
static inline uint64_t upmu_session_clock(const struct upmu_session *session, uint64_t now_ns)
{
    return session->enabled_ns + (now_ns - session->started_ns);
}

/* Enabled and running time of a session that leaves the hardware. */
void upmu_session_ran(struct upmu_session *session, uint64_t now_ns);

/* Of what a session waits or ran, how much its active set was enabled without running. */
uint64_t upmu_session_missed(const struct upmu_session *session, const struct upmu_set *set, uint64_t now_ns,
                             uint64_t *out_enabled_ns);

/*
 * Bits of session->ties.  The last one to go ends the session: the owner if it has no
 * target any more, else what takes it from its target.  One atomic operation decides.
 */
#define UPMU_TIED 1u    /* it has a target */
#define UPMU_DROPPED 2u /* it has no owner */

/*
 * Has the session a target?  It is attached, but perhaps nowhere now.  Ask before `state` is looked at: the code that
 * takes the target away has stored `state` before.
 */
static inline bool upmu_session_attached(const struct upmu_session *session)
{
    return __atomic_load_n(&session->ties, __ATOMIC_ACQUIRE) & UPMU_TIED;
}

static inline bool upmu_session_dropped(const struct upmu_session *session)
{
    return __atomic_load_n(&session->ties, __ATOMIC_RELAXED) & UPMU_DROPPED;
}

static inline void upmu_session_tie(struct upmu_session *session)
{
    (void)upmu_byte_or(&session->ties, UPMU_TIED);
}

/* Bits of meter->work_due: a session is full or its next set is due; a fault is to be told to the host's log. */
#define UPMU_DUE_SESSIONS 1u
#define UPMU_DUE_LOG 2u

/* The next session that runs after those of `rest`, whose counters are taken off it; NULL: none. */
static inline struct upmu_session *upmu_meter_next_running(const struct upmu_meter *meter, uint32_t *rest)
{
    struct upmu_session *session;

    if (!*rest)
        return NULL;
    session = meter->slot[upmu_bits_lowest(*rest)].session;
    *rest &= ~session->counters & (*rest - 1u);
    return session;
}

/* The sampling attributes of a tally. */
static inline const struct upmu_kept *upmu_tally_sampling(const struct upmu_tally *tally)
{
    const char *set = (const char *)(tally - tally->index) - offsetof(struct upmu_set, tally);

    return &((const struct upmu_set *)(const void *)set)->sampling[tally->index];
}

/* Fill session->why with a status and nothing else; returns it. */
enum upmu_status upmu_session_refuse(struct upmu_session *session, enum upmu_status status);

/* Say in a session that a register faulted; returns UPMU_ERR_PORT. */
enum upmu_status upmu_session_fault(struct upmu_meter *meter, struct upmu_session *session);

/*
 * Stop, release and unlink a session: it is detached or, if it has no owner, closed, and its
 * memory no longer the library's.  `listed`: the list of its thread is held.  UPMU_ERR_BUSY:
 * that list, or the session, is held elsewhere, and nothing was done.  Inside a local bracket.
 */
enum upmu_status upmu_session_leave(struct upmu_meter *meter, struct upmu_session *session, bool listed);

/* Detach a session of a thread whose list the caller holds. */
enum upmu_status upmu_session_detach_listed(struct upmu_session *session);

/* Close a session, which is detached and has no owner.  The state CLOSED is the last thing written. */
void upmu_session_end(struct upmu_session *session);

/* The third of a CPU's lists: those that run a set without events, and so have no counter by which they are found. */
#define UPMU_WAIT_EMPTY 2u

/* Nothing of a session is placed; true: it samples. */
bool upmu_session_unplace(struct upmu_session *session);

/* Give the events of a session tags of a CPU. */
void upmu_session_tag(struct upmu_meter *meter, struct upmu_session *session);

/* Into the list of a CPU, with tags of that CPU, and out of it. */
void upmu_session_link(struct upmu_meter *meter, struct upmu_session *session);
void upmu_session_unlink(struct upmu_meter *meter, struct upmu_session *session);

/* Does a session have its counters? */
static inline bool upmu_session_occupies(const struct upmu_session *session)
{
    return UPMU_LOAD(session->state) == UPMU_SESSION_RUNNING;
}

/* The targets of a session's cascades, and the sum of its counters. */
uint32_t upmu_session_targets(const struct upmu_session *session);
void upmu_session_sum(struct upmu_session *session);

/* Only NetBurst has cascades: builds without it save the code. */
static inline bool upmu_event_cascades(const struct upmu_event *event)
{
    return UPMU_BACKEND_X86_P4 && (event->attributes & UPMU_ATTR_CASCADE);
}

/* The counter that an event runs on: while its session moves, the one that it leaves. */
static inline unsigned upmu_tally_runs_on(const struct upmu_tally *tally)
{
    return tally->from != UPMU_NO_COUNTER ? tally->from : tally->counter;
}

/* Does its counter hold a value that others read? */
static inline bool upmu_tally_is_lent(const struct upmu_tally *tally)
{
    return UPMU_LOANS && tally->lent;
}

static inline bool upmu_tally_cascades(const struct upmu_tally *tally)
{
    return UPMU_BACKEND_X86_P4 && tally->cascades;
}

/* Halt a session: it runs no more, nor waits where its target is. */
enum upmu_status upmu_session_halt(struct upmu_meter *meter, struct upmu_session *session);

/* Take the target from a session.  A session that has no owner, either, ends: it is not touched afterwards. */
void upmu_session_untie(struct upmu_session *session);

/* A tag that no event of its CPU has. */
void upmu_session_give_tag(struct upmu_meter *meter, struct upmu_tally *tally);

#endif
