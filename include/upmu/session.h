/* SPDX-License-Identifier: MIT */
/*
 * Sessions beyond upmu/upmu.h: sharing, several controllers, changes while they run, what a start would write.
 */
#ifndef UPMU_SESSION_H
#define UPMU_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The state of a session, and the calls that it permits. */
enum upmu_session_state {
    UPMU_SESSION_DETACHED = 0, /* add, ring, attach; counts stay readable */
    UPMU_SESSION_STOPPED = 1,  /* attached */
    UPMU_SESSION_RUNNING = 2,
    UPMU_SESSION_MASKED = 3,   /* stopped by a full ring, a message or its format until restart */
    UPMU_SESSION_SUSPENDED = 4, /* its CPU is suspended; continues at resume */
    UPMU_SESSION_CLOSED = 5,   /* after upmu_session_close(): calls are refused or do nothing */
    UPMU_SESSION_WAITING = 6   /* started, but its thread does not run, or its counters are in use */
};

/* Bits of upmu_sampling.flags. */
#define UPMU_SAMPLING_NOTIFY (1u << 0) /* an overflow makes a message (upmu/message.h) */
#define UPMU_SAMPLING_WRAP (1u << 1)   /* for an event without period: no interrupt, the count wraps like its counter */
#define UPMU_SAMPLING_FLAGS (UPMU_SAMPLING_NOTIFY | UPMU_SAMPLING_WRAP) /* all that are known */

/* A write that a dry run would have made. */
struct upmu_write {
    const char *name; /* of the register */
    uint32_t address; /* of the register */
    uint64_t value;   /* all of its bits */
};

/* The writes of a dry run: the first `capacity` are stored, all are counted. */
struct upmu_dry_run {
    struct upmu_write *writes; /* memory of the caller */
    size_t capacity;
    size_t count; /* writes that there were */
};

/*
 * Bytes of a session whose first set has room for `events` events, 1 to UPMU_SET_EVENTS.  A session of one event takes
 * less than a third of struct upmu_session, which has room for UPMU_SET_EVENTS.
 */
#define UPMU_SESSION_BYTES(events)                                                                                     \
    (offsetof(struct upmu_session, set.room) + UPMU_ROOM_WORDS(events) * sizeof(uint64_t))

/* UPMU_SESSION_BYTES() of the library's build; 0 for numbers of events that it does not allow.  Context: any. */
size_t upmu_session_bytes(unsigned events);

/*
 * Make an empty session in `bytes` bytes of memory, whose former contents do not matter; *out_session is where the
 * memory begins.  The first set has room for as many events as the memory has (UPMU_SESSION_BYTES()); nothing behind
 * is touched.  Then it is a session as any other: a call that adds more events is refused with UPMU_ERR_NO_SPACE.  Do
 * not copy it, nor take its size by sizeof, because struct upmu_session is longer.  The memory and `machine` must stay
 * until upmu_session_close().
 *
 * Returns UPMU_OK; UPMU_ERR_NO_SPACE (not even one event: fewer bytes than UPMU_SESSION_BYTES(1), or memory that is not
 * aligned as uint64_t; *out_session is unchanged).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_init_sized(void *memory, size_t bytes, struct upmu_machine *machine,
                                         struct upmu_session **out_session);

/* Number of samples that found no room so far.  Context: any. */
uint32_t upmu_ring_lost(const struct upmu_ring *ring);

/* See upmu_session_ring(); off after upmu_session_init().  Valid from the next overflow on.  Context: any. */
void upmu_session_mask_on_full(struct upmu_session *session, bool mask_on_full);

/*
 * `hide` true: addresses of the kernel (the frame is not of user mode) are 0 in this session's
 * samples and messages, and for its format.  It is for sessions of programs that must not learn the
 * kernel's addresses.  A counter of user mode alone needs it, too: its interrupt may come a few
 * instructions late.  Off after upmu_session_init(); valid from the next overflow on.
 * Context: any.
 */
void upmu_session_hide_kernel(struct upmu_session *session, bool hide);

/*
 * `share` true: the session is multiplexed with other sharing sessions.  Where its counters are in
 * use it waits and is not refused (UPMU_SESSION_WAITING: enabled time runs, running time does not,
 * counts are UPMU_QUALITY_SCALED).  upmu_cpu_tick() rotates sharing sessions.  Sessions that do not
 * share (false, as after init) have priority: first those of the CPU, then those of the thread.
 *
 * Returns UPMU_OK or UPMU_ERR_STATE (not detached).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_share(struct upmu_session *session, bool share);

/*
 * `alone` true: while the session has counters, no other session has counters of the same CPU's PMU, or of the same
 * unit, as with perf's attr.exclusive.  It has no priority over others: where they hold counters it waits for all of
 * them to leave, or is refused, as a session whose counters are in use (UPMU_ERR_DOES_NOT_FIT), and so are they while
 * it runs.  Sharing sessions leave for one that does not share; one that shares has its turns alone.  Counters of the
 * host, the firmware and the other hyper-thread are no session's and count on.  While its active set is empty the
 * session has no counters, and others run.  It cannot be attached to a unit whose counters never stop, because sessions
 * have no counters of their own there: UPMU_ERR_UNSUPPORTED from upmu_session_attach_unit().
 *
 * Returns UPMU_OK or UPMU_ERR_STATE (not detached).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_alone(struct upmu_session *session, bool alone);

/*
 * `is_static` true: at a switch to a thread that does not need its counters, the counters are left
 * running and only their values are read.  Such a switch is one read for each counter and no write,
 * in both directions.  It applies to events that are counted, not sampled.  Events of the meantime
 * are in no count.  An event whose registers other CPUs may change when its session has left is
 * stopped at each switch, in a domain (hyper-threads of NetBurst, OFFCORE_RSP of a core).
 *
 * Returns UPMU_OK or UPMU_ERR_STATE (not detached).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_static(struct upmu_session *session, bool is_static);

/*
 * Let a session of a thread count on one CPU alone; NULL, as at first: on each.  So a session for each pair of thread
 * and CPU counts what perf calls (pid, cpu).  While the thread runs elsewhere the session waits, its enabled time
 * stands, and a switch does not look at it.  `cpu` is compared and not accessed: it may end, and be initialised again
 * in the same memory.  A session that is attached to a CPU or a unit has no limit.
 *
 * Returns UPMU_OK, UPMU_ERR_STATE (attached), UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_limit_cpu(struct upmu_session *session, struct upmu_cpu *cpu);

/*
 * Add one controller of the session (a descriptor that was duplicated).  After init there is one.
 *
 * Context: any; the host serialises these calls for one session.
 */
void upmu_session_hold(struct upmu_session *session);

/*
 * Remove one controller.  With the last one the session is closed.  If it runs on a CPU that cannot
 * be reached, it becomes a zombie: it produces no more samples or messages, and the next switch of
 * its thread or tick of its CPU closes it.  Its memory may be freed when its state is
 * UPMU_SESSION_CLOSED.
 *
 * Returns UPMU_OK, or UPMU_ERR_PORT as upmu_session_close().
 * Context: local; any while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_drop(struct upmu_session *session);

/*
 * Start some sessions and stop others in one change: what a thread switch does, without the switch.
 * Sessions that have a place since an earlier start cost one write that closes and one that opens,
 * however many they are (up to 8 each way), and what differs between; the others are stopped, then
 * started, one by one.  All are attached to this CPU, or to the thread that runs on it.  A session
 * that cannot be started or stopped does not keep the others from it; its `why` has the reason.
 *
 * Returns UPMU_OK; the first refusal, as upmu_session_start() and upmu_session_stop();
 * UPMU_ERR_WRONG_CPU also if a session is not attached here; UPMU_ERR_NO_PMU (the CPU is not
 * initialised); UPMU_ERR_BUSY (nothing was done).
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_sessions_change(struct upmu_cpu *cpu, struct upmu_session *const *start, unsigned starts,
                                   struct upmu_session *const *stop, unsigned stops);

/*
 * Continue a masked session; its format may keep it masked.  Does nothing in other states.
 *
 * Returns as upmu_session_start().
 * Context: local; any while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_restart(struct upmu_session *session);

/*
 * Unbind the session from its CPU or thread; a running session is stopped first.  Counts stay
 * readable, and it can be attached elsewhere and continue.  A detached session is left as it is.
 *
 * Returns UPMU_OK, UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY (both: still attached), UPMU_ERR_PORT
 * (detached all the same).
 * Context: local; any while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_detach(struct upmu_session *session);

/*
 * List the register writes of a start of this session, alone on an idle `pmu`, in their order and
 * without hardware.  The events must be encoded for this kind of PMU; this is not checked.  If the
 * session is detached, set.tally[i].counter is the counter of event i afterwards.
 *
 * Returns UPMU_OK, UPMU_ERR_DOES_NOT_FIT, UPMU_ERR_TOO_HARD or UPMU_ERR_STATE (no events);
 * UPMU_ERR_BUSY, only where the executing CPU has a work area (upmu_cpu_use_work()).  Writes beyond
 * `dry_run->capacity` are counted, not stored.
 * Context: any; local if the executing CPU has a work area.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_dry_run(struct upmu_session *session, const struct upmu_pmu *pmu,
                                      struct upmu_dry_run *dry_run);

#ifdef __cplusplus
}
#endif

#endif
