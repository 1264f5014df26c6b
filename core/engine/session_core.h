/* SPDX-License-Identifier: MIT */
/* Declarations of sessions for other core files: states, times, links, ties and ends. */
#ifndef UPMU_CORE_SESSION_CORE_H
#define UPMU_CORE_SESSION_CORE_H

#include "core/util/bits.h"
#include "core/util/byte.h"
#include "core/util/shared.h"
#include "core/hw/port_call.h"
#include <upmu/event.h>
#include <upmu/session.h>
#include <upmu/set.h>

/* Get the address of the set of a session that is active: its events run, or will run when the session does. */
#if UPMU_SETS
#define upmu_active(session) ((session)->active)

/* the load is atomic: another CPU may be switching sets */
#define upmu_active_seen(session) UPMU_LOAD((session)->active)
#else
#define upmu_active(session) (&(session)->set)
#define upmu_active_seen(session) (&(session)->set)
#endif

/* Walk over the tallies of a set: `for UPMU_TALLIES(tally, set)`. */
#define UPMU_TALLIES(tally, set)                                                                                      \
    (struct upmu_tally *tally = (set)->tally, *tally##_end = tally + (set)->count; tally < tally##_end; tally++)

/*
 * Can an event's running time be shorter than its session's enabled time?  Only in a build with one of these features.
 */
#define UPMU_GAPS (UPMU_MOVES || UPMU_PRELUDES || UPMU_THREADS || UPMU_SETS)

/* Do sets run in turns (core/engine/estimate.c)?  Only in a build with sharing sessions or chains. */
#define UPMU_TURNS (UPMU_SHARING || UPMU_SETS)

/* Is the session started, and waits for counters?  False in a build without threads, where no session waits. */
static inline bool upmu_session_waits(const struct upmu_session *session)
{
    return UPMU_THREADS && UPMU_LOAD(session->state) == UPMU_SESSION_WAITING;
}

/* Is the session a sharing one (upmu_session_share())?  Returns 0 or 1; 0 in a build without sharing sessions. */
static inline uint8_t upmu_session_shares(const struct upmu_session *session)
{
    return UPMU_SHARING ? session->shares : 0;
}

/* Let a session enter a state.  Release: the state CLOSED is the last thing stored in a session. */
static inline void upmu_session_enter(struct upmu_session *session, enum upmu_session_state state)
{
    __atomic_store_n(&session->state, (uint8_t)state, __ATOMIC_RELEASE);
}

/*
 * Begin a change of a session's counts, times, state or active set, and end it.  In between its sequence is odd: a read
 * that meets the change is made again.
 */
static inline void upmu_session_begin_change(struct upmu_session *session)
{
    UPMU_STORE(session->sequence, session->sequence + 1u);
    UPMU_BARRIER();
}

static inline void upmu_session_end_change(struct upmu_session *session)
{
    UPMU_BARRIER();
    UPMU_STORE(session->sequence, session->sequence + 1u);
}

/* Let the reads of a session that other CPUs have begun be made again. */
static inline void upmu_session_repeat_reads(struct upmu_session *session)
{
    UPMU_STORE(session->sequence, session->sequence + 2u);
}

/* A session gives up its counters, or comes to a CPU or leaves it: its active set is not placed any more. */
static inline void upmu_session_lose_place(struct upmu_session *session)
{
    UPMU_STORE(session->counters, 0);
}

/* Make `set` the active set of a session that has no counters.  The place that the set had is the session's again. */
static inline void upmu_session_turn_to(struct upmu_session *session, struct upmu_set *set)
{
    if (set != session->active)
        UPMU_STORE(session->counters, set->counters);
    UPMU_STORE(session->active, set);
}

/*
 * Let a search for places take `set` for the active set.  The session is detached, and the caller ends with the set
 * that was active before.
 */
static inline void upmu_session_try_set(struct upmu_session *session, struct upmu_set *set)
{
    UPMU_STORE(session->active, set);
}

/* Return the set that follows in the chain of its session; NULL: it is the last one. */
static inline struct upmu_set *upmu_set_after(const struct upmu_set *set)
{
    return UPMU_SETS ? set->next : NULL;
}

/*
 * A call for a session: the function and its arguments, so that it can run in the bracket of the CPU where it has to.
 */
struct upmu_call {
    enum upmu_status (*work)(const struct upmu_call *call);
    struct upmu_session *session;
    struct upmu_meter *meter; /* the meter to which the session is linked, or is to be; NULL: none */
    struct upmu_set *set;
    unsigned index;
    uint64_t value, period;
    const struct upmu_event *event;
    const struct upmu_sampling *sampling;
    enum upmu_status status;
    bool listed; /* the caller already holds the list of the session's thread */
    bool detaches;
    bool targeted; /* a session without a target is refused (UPMU_ERR_STATE) */
    bool follow; /* if the session goes to another CPU meanwhile, the call goes there */
    bool joins;  /* if no switch has linked the session yet, the call goes to the CPU where its thread runs */
#if UPMU_LOANS
    bool lends;
#endif
};

/*
 * Run call->work in the bracket of the CPU that the session is on; with `joins`, of the CPU where its thread runs.  If
 * there is no such CPU, or a session is detached from a unit that no CPU drives, run it here, without a bracket.
 * Returns the status of the work.  Without running the work: UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY or UPMU_ERR_NO_CPU;
 * for a session without a target, UPMU_OK if the call detaches, else UPMU_ERR_STATE if it is closed or with `targeted`.
 */
enum upmu_status upmu_session_call(struct upmu_call *call);

/* Return the number of events in all sets of a session together. */
unsigned upmu_session_events(const struct upmu_session *session);

/*
 * To be called after the chain of sets has changed: make the first set active.  If the session has begun (`begun`), its
 * active set stays.
 */
void upmu_session_rewind(struct upmu_session *session);

/*
 * Add the time since `started_ns` to the enabled time of a started session that is linked to a CPU or unit, and set
 * `started_ns` to `now_ns`.  While that CPU or unit sleeps nothing is added.
 */
void upmu_session_enabled(struct upmu_session *session, uint64_t now_ns);

/*
 * For a session of a thread that waits and is linked to no meter: add `missed_ns` to its enabled time, and set
 * `started_ns` to `clock_ns`, the present value of the thread's clock.
 */
void upmu_session_settle(struct upmu_session *session, uint64_t missed_ns, uint64_t clock_ns);

/*
 * Set `started_ns` of a session that waits: to the present time, or if it is linked to no meter to a value of its
 * thread's clock.
 */
static inline void upmu_session_note(struct upmu_session *session, uint64_t clock_ns)
{
    UPMU_STORE(session->started_ns, clock_ns);
}

/*
 * Hold a session: no switch and no tick links it, no other call works on it, and its thread does not end.  Returns
 * false where another call has held it during all tries.
 */
bool upmu_session_hold_at_last(struct upmu_session *session);

/* As upmu_session_hold_at_last(), with an inline first try. */
static inline bool upmu_session_hold_here(struct upmu_session *session)
{
    return !__atomic_exchange_n(&session->held, 1, __ATOMIC_ACQUIRE) ||
           (UPMU_THREADS && upmu_session_hold_at_last(session));
}

static inline void upmu_session_release(struct upmu_session *session)
{
    __atomic_store_n(&session->held, 0, __ATOMIC_RELEASE);
}

/* Return the enabled time at `now_ns` of a session that runs: the sum so far, and the time since `started_ns`. */
static inline uint64_t upmu_session_clock(const struct upmu_session *session, uint64_t now_ns)
{
    return session->enabled_ns + (now_ns - session->started_ns);
}

/*
 * When a session leaves its counters: add the time since `running_ns` to the running time of its active set and
 * subtract it from the set's timeout (`left_ns`), and add the time since `started_ns` to the session's enabled time.
 */
void upmu_session_ran(struct upmu_session *session, uint64_t now_ns);

/*
 * Return for how many ns of its session's enabled time a set has not run, up to `now_ns`.  In a build without threads
 * and chains: 0.  *out_enabled_ns gets the enabled time.
 */
uint64_t upmu_session_missed(const struct upmu_session *session, const struct upmu_set *set, uint64_t now_ns,
                             uint64_t *out_enabled_ns);

/*
 * Bits of session->ties.  The session ends when its target and its owner are both gone: the call that takes the second
 * one away ends it.  `ties` is changed by one atomic operation, so exactly one call sees that it was the second.
 */
#define UPMU_TIED 1u    /* it has a target */
#define UPMU_DROPPED 2u /* it has no owner */

/*
 * Has the session a target?  True also while its thread runs on no CPU.  To be called before `state` is read: the code
 * that takes the target away stores `state` first.
 */
static inline bool upmu_session_attached(const struct upmu_session *session)
{
    return __atomic_load_n(&session->ties, __ATOMIC_ACQUIRE) & UPMU_TIED;
}

/*
 * Has the session no owner, since its last controller has dropped it?  Acquire: the call that dropped the session does
 * not look at it any more.
 */
static inline bool upmu_session_dropped(const struct upmu_session *session)
{
    return __atomic_load_n(&session->ties, __ATOMIC_ACQUIRE) & UPMU_DROPPED;
}

static inline void upmu_session_tie(struct upmu_session *session)
{
    (void)upmu_byte_or(&session->ties, UPMU_TIED);
}

/* Bits of meter->work_due. */
#define UPMU_DUE_SESSIONS 1u /* a session is full, or its next set is due */
#define UPMU_DUE_LOG 2u      /* a repair has stopped sessions: the host's log is to get a line */

/*
 * Returns the running session that has the lowest counter of *rest, and removes the session's counters from *rest.
 * NULL: *rest is 0.
 */
static inline struct upmu_session *upmu_meter_next_running(const struct upmu_meter *meter, uint32_t *rest)
{
    struct upmu_session *session;

    if (!*rest)
        return NULL;
    session = meter->slot[upmu_bits_lowest(*rest)].session;
    *rest &= ~session->counters & (*rest - 1u);
    return session;
}

/*
 * Set session->why to a status and clear its details; returns that status.  `session` NULL: the set is in no session,
 * and UPMU_ERR_STATE is returned, whatever `status` is.
 */
enum upmu_status upmu_session_refuse(struct upmu_session *session, enum upmu_status status);

/*
 * Note in a session that the register bank.faulted has faulted: `error` and why.status become UPMU_ERR_PORT, why.pmu
 * and why.address say where.  Returns UPMU_ERR_PORT.
 */
enum upmu_status upmu_session_fault(struct upmu_meter *meter, struct upmu_session *session);

/*
 * Stop, release and unlink a session.  If it has no owner, it is closed, and its memory is no longer the library's;
 * else it is detached.  `listed`: the caller holds the list of its thread.  Returns UPMU_OK; UPMU_ERR_BUSY where that
 * list, or the session, is held elsewhere: nothing was done; or another status where a register faulted, and the
 * session has left all the same.  Inside a local bracket, or for a unit that no CPU drives.
 */
enum upmu_status upmu_session_leave(struct upmu_meter *meter, struct upmu_session *session, bool listed);

/* upmu_session_detach() for a session of a thread whose list the caller holds. */
enum upmu_status upmu_session_detach_listed(struct upmu_session *session);

/*
 * Close a session that has no target: its owner closes it, or it has no owner.  The state CLOSED is the last thing
 * written to it.
 */
void upmu_session_end(struct upmu_session *session);

/* Index in meter->waiting of the list of sessions that run with an empty set: no counter leads to them. */
#define UPMU_WAIT_EMPTY 2u

/* Index in meter->waiting of the lists of sessions of the running thread; 1 more: of those that share. */
#define UPMU_WAIT_THREAD 3u

/*
 * Note in a set the session whose chain has it.  `session` NULL: the set is in no chain any more; its memory may
 * outlive the session's.
 */
void upmu_session_keep_set(struct upmu_session *session, struct upmu_set *set);

/*
 * The session, whose only set has the list of a group, is to share placements with the members of the group, whose
 * entries these are; NULL: it shares no placement any more.
 */
static inline void upmu_session_know(struct upmu_session *session, struct upmu_compiled *compiled)
{
#if UPMU_GROUPS
    session->compiled = compiled;
#else
    (void)session, (void)compiled;
#endif
}

/*
 * Forget the placements of all sets of a session, and its tags, as it is attached anew.  Returns whether any of its
 * events samples.
 */
bool upmu_session_unplace(struct upmu_session *session);

#if UPMU_GROUPS
/*
 * Store events in a new session, which upmu_set_add_event() and upmu_session_attach_thread() have accepted in another
 * session of the machine.
 */
void upmu_session_take_list(struct upmu_session *session, const struct upmu_event *event, unsigned count);
#endif

/* Give each event of a session a new tag of this meter, and the session a new ticket. */
void upmu_session_tag(struct upmu_meter *meter, struct upmu_session *session);

/*
 * Link a session into the list of a meter's sessions, or unlink it; it has no counters then.  A session whose tags are
 * another meter's gets new ones when it is linked.
 */
void upmu_session_link(struct upmu_meter *meter, struct upmu_session *session);
void upmu_session_unlink(struct upmu_meter *meter, struct upmu_session *session);

/* Is the session's state UPMU_SESSION_RUNNING?  Then it has the counters of its active set, which may be empty. */
static inline bool upmu_session_occupies(const struct upmu_session *session)
{
    return UPMU_LOAD(session->state) == UPMU_SESSION_RUNNING;
}

/* Does the session run, or wait for counters?  A session that is to be masked (`full`) still runs. */
static inline bool upmu_session_is_started(const struct upmu_session *session)
{
    return upmu_session_occupies(session) || upmu_session_waits(session);
}

/* The world where a session counts (enum upmu_world). */
static inline uint8_t upmu_session_world_of(const struct upmu_session *session)
{
#if UPMU_WORLDS
    return session->world;
#else
    (void)session;
    return UPMU_WORLD_BOTH;
#endif
}

/* Returns the counters of the session's active set that are targets of cascades. */
uint32_t upmu_session_targets(const struct upmu_session *session);

/* Store in session->counters all counters that the placement of its active set has. */
void upmu_session_sum(struct upmu_session *session);

/* Is the event a cascade?  Always false in a build without NetBurst, the only PMU that has cascades. */
static inline bool upmu_event_cascades(const struct upmu_event *event)
{
    return UPMU_BACKEND_X86_P4 && (event->attributes & UPMU_ATTR_CASCADE);
}

/* Returns the counter that an event runs on.  While its session moves, that is the one that the event leaves. */
static inline unsigned upmu_tally_runs_on(const struct upmu_tally *tally)
{
    return tally->from != UPMU_NO_COUNTER ? tally->from : tally->counter;
}

/*
 * Is the event's counter lent (upmu_set_lend())?  Then it holds a value of the host's choice, which software besides
 * the library reads.
 */
static inline bool upmu_tally_is_lent(const struct upmu_tally *tally)
{
    return UPMU_LOANS && tally->lent;
}

static inline bool upmu_tally_cascades(const struct upmu_tally *tally)
{
    return UPMU_BACKEND_X86_P4 && tally->cascades;
}

/*
 * Stop a session in any state: it neither runs nor waits afterwards.  `meter` is NULL where the session is on no CPU.
 * Returns UPMU_OK, or session->error where a register faulted.
 */
enum upmu_status upmu_session_halt(struct upmu_meter *meter, struct upmu_session *session);

/* Untie a session from its target.  If the session has no owner, either, it ends here: do not touch it afterwards. */
void upmu_session_untie(struct upmu_session *session);

/* Give a tally a new tag, which no other event of the meter has: no counter holds the event's value then. */
void upmu_session_give_tag(struct upmu_meter *meter, struct upmu_tally *tally);

#endif
