/* SPDX-License-Identifier: MIT */
/*
 * Further calls for sessions, besides those of upmu/upmu.h: sharing, several controllers, changes of several sessions
 * at once, a list of the register writes of a start.
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

/* The state of a session. */
enum upmu_session_state {
    UPMU_SESSION_DETACHED = 0, /* not attached: events, ring, format, ... can be changed; counts stay readable */
    UPMU_SESSION_STOPPED = 1,  /* attached to a CPU, a thread or a unit, and not started */
    UPMU_SESSION_RUNNING = 2,
    UPMU_SESSION_MASKED = 3,   /* stopped by a full ring, a message or its format, until a restart, start or stop */
    UPMU_SESSION_SUSPENDED = 4, /* started; its CPU is suspended: the session continues at upmu_cpu_resume() */
    UPMU_SESSION_CLOSED = 5,   /* upmu_session_close() has ended it: calls on it are refused or do nothing */
    UPMU_SESSION_WAITING = 6   /* started; its thread does not run, or counters that it needs are in use */
};

/* Bits of upmu_sampling.flags, the flags of one event. */
/* an overflow of the event makes a message; with the default format it also masks the session */
#define UPMU_SAMPLING_NOTIFY (1u << 0)
/* for an event that is not sampled: no interrupt at an overflow; the count wraps at its counter's width */
#define UPMU_SAMPLING_WRAP (1u << 1)
#define UPMU_SAMPLING_FLAGS (UPMU_SAMPLING_NOTIFY | UPMU_SAMPLING_WRAP) /* mask of all flags that are known */

/* A register write that a dry run lists. */
struct upmu_write {
    const char *name; /* name of the register */
    uint32_t address; /* address of the register */
    uint64_t value;   /* the value of the whole register */
};

/* The result of a dry run.  Set `writes` and `capacity` before the call. */
struct upmu_dry_run {
    struct upmu_write *writes; /* array of the caller, which gets the first `capacity` writes */
    size_t capacity;           /* entries of `writes` */
    size_t count; /* number of all writes, which can be greater than `capacity` */
};

/*
 * Bytes of memory for a session whose first set has room for `events` events, 1 to UPMU_SET_EVENTS.  A session for one
 * event takes less than a third of sizeof(struct upmu_session), which has room for UPMU_SET_EVENTS.
 */
#define UPMU_SESSION_BYTES(events)                                                                                     \
    (offsetof(struct upmu_session, set.room) + UPMU_ROOM_WORDS(events) * sizeof(uint64_t))

/* Return UPMU_SESSION_BYTES() as the library was built; 0 for a number of events that this build does not allow.
   Context: any. */
size_t upmu_session_bytes(unsigned events);

/*
 * Make an empty session in `bytes` bytes of memory, whose former contents do not matter; *out_session becomes `memory`.
 * The first set has room for as many events as fit into the memory (UPMU_SESSION_BYTES()); bytes after the memory are
 * not touched.  The session is used like any other; a call that adds more events than there is room for is refused with
 * UPMU_ERR_NO_SPACE.  Do not copy the session by assignment, nor take its size by sizeof: struct upmu_session is longer
 * than the memory.  The memory and `machine` must stay until upmu_session_close().
 *
 * Returns UPMU_OK; UPMU_ERR_NO_SPACE (not even one event: fewer bytes than UPMU_SESSION_BYTES(1), or memory that is not
 * aligned as uint64_t; *out_session is unchanged).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_init_sized(void *memory, size_t bytes, struct upmu_machine *machine,
                                         struct upmu_session **out_session);

/* Return the number of samples that have found no room in a ring so far.  Context: any. */
uint32_t upmu_ring_lost(const struct upmu_ring *ring);

/* `mask_on_full` true: a sample that finds no room in the ring masks the session.  False, as after upmu_session_init():
   the session runs on, and samples are lost.  Valid from the next overflow on.  Context: any. */
void upmu_session_mask_on_full(struct upmu_session *session, bool mask_on_full);

/*
 * `hide` true: where the interrupted code was not in user mode, addresses are 0 in this session's samples and messages,
 * and its format gets no frame.  Use it for sessions of programs that must not learn the kernel's addresses.  A session
 * that counts user mode alone needs it, too, because its interrupt may come a few instructions late.  False, as after
 * upmu_session_init(): nothing is hidden.  Valid from the next overflow on; what a sample can have of branches is
 * chosen at the start (upmu_session_branches()).
 * Context: any.
 */
void upmu_session_hide_kernel(struct upmu_session *session, bool hide);

/*
 * `share` true: make the session a sharing one, which is multiplexed with other sharing sessions.  If counters that it
 * needs are in use, a start is not refused: the session waits (UPMU_SESSION_WAITING: its enabled time goes on, its
 * running time stands, and counts are UPMU_QUALITY_SCALED, without clock_ns UPMU_QUALITY_PARTIAL).  upmu_cpu_tick()
 * rotates sharing sessions.  Sessions that do not share (false, as after upmu_session_init()) have priority: first
 * those of the CPU, then those of the thread.  Without UPMU_THREADS nothing is shared: the call has no effect.
 *
 * Returns UPMU_OK, UPMU_ERR_STATE (not detached) or UPMU_ERR_COMPILED_OUT (`share` true, in a build without it).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_share(struct upmu_session *session, bool share);

/*
 * `alone` true: while the session has counters, no other session has counters of the same CPU's PMU, or of the same
 * unit, as with perf's attr.exclusive.  The session has no priority over others: while other sessions have counters, it
 * waits or is refused like a session whose counters are in use (UPMU_ERR_DOES_NOT_FIT); while it has counters, this
 * holds for the others.  If it does not share, sharing sessions leave their counters to it; if it shares, it runs alone
 * in its turns.  Counters of the host, the firmware and the other hyper-thread belong to no session of the CPU and
 * count on.  While its active set is empty the session has no counters, and others run.  It cannot be attached to a
 * unit whose counters never stop, because sessions have no counters of their own there: upmu_session_attach_unit()
 * returns UPMU_ERR_UNSUPPORTED.
 *
 * Returns UPMU_OK or UPMU_ERR_STATE (not detached).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_alone(struct upmu_session *session, bool alone);

/*
 * `is_static` true: make a session of a thread static.  When the CPU switches to a thread whose sessions do not need
 * the session's counters, these are left running and only their values are read.  Such a switch costs one read for each
 * counter and no write, in both directions.  Events that are counted while the session's thread does not run are in no
 * count.  Events that sample are stopped at each switch.  So are, in a domain, events whose registers other CPUs may
 * change when the session has left (hyper-threads of NetBurst, OFFCORE_RSP of a core).
 *
 * Returns UPMU_OK or UPMU_ERR_STATE (not detached).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_static(struct upmu_session *session, bool is_static);

/*
 * Limit a session of a thread to one CPU: it counts only while the thread runs on `cpu`; NULL, as after
 * upmu_session_init(): on each CPU.  A session for a pair of thread and CPU counts what perf calls (pid, cpu).  While
 * the thread runs on another CPU the session waits, its enabled time stands, and thread switches do not look at the
 * session.  The pointer `cpu` is compared and not dereferenced: that CPU may end, and be initialised again in the same
 * memory.  For a session that is attached to a CPU or a unit the limit has no effect.
 *
 * Returns UPMU_OK, UPMU_ERR_STATE (attached), UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_limit_cpu(struct upmu_session *session, struct upmu_cpu *cpu);

/*
 * Limit a session of a thread to the CPUs of one core type: it counts only while the thread runs on a CPU whose PMU
 * (cpu->meter.pmu) is `pmu`, as upmu_session_limit_cpu() does for one CPU.  The enabled time of the session is that for
 * which the thread has run on such CPUs.  A session has one limit: this call and upmu_session_limit_cpu() replace the
 * other's.  <upmu/hybrid.h> makes a session for each core type.
 *
 * Returns UPMU_OK, UPMU_ERR_STATE (attached), UPMU_ERR_INVALID (no PMU of a core type of the session's machine),
 * UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_limit_pmu(struct upmu_session *session, const struct upmu_pmu *pmu);

/*
 * Add one to the number of the session's controllers: another program holds the session (a descriptor was duplicated).
 * After upmu_session_init() there is one controller.
 *
 * Context: any; the host serialises these calls for one session.
 */
void upmu_session_hold(struct upmu_session *session);

/*
 * Remove one controller.  With the last controller the session is closed.  If its CPU cannot be reached, or another
 * call works there or on the session, the session is dropped: it makes no more samples or messages, and the next switch
 * of its thread or tick of its CPU closes it.  Its memory may be freed when its state is UPMU_SESSION_CLOSED.
 *
 * Returns UPMU_OK, or UPMU_ERR_PORT as upmu_session_close().
 * Context: local; any while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_drop(struct upmu_session *session);

/*
 * Start some sessions and stop others in one change, as a thread switch does.  Up to 8 sessions that stop, and up to 8
 * that start and have a placement from an earlier start, cost together one write that closes counters, one that opens
 * counters, and the writes of registers that differ.  Further sessions, those without a placement, and all of them
 * while any session waits for counters of the CPU, are stopped and then started one by one.  All sessions must be
 * attached to this CPU, or to the thread that runs on it.  If a session cannot be started or stopped, the others are
 * nevertheless; its `why` has the reason.
 *
 * Returns UPMU_OK; the first refusal, as upmu_session_start() and upmu_session_stop(), or the `error` of a session that
 * is stopped or started already; UPMU_ERR_WRONG_CPU also if a session is attached elsewhere, or to nothing;
 * UPMU_ERR_NO_PMU (the CPU is not initialised); UPMU_ERR_BUSY (nothing was done).
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_sessions_change(struct upmu_cpu *cpu, struct upmu_session *const *start, unsigned starts,
                                   struct upmu_session *const *stop, unsigned stops);

/*
 * Restart a masked session; its format may keep it masked (upmu_format.restart).  In other states nothing is done.
 *
 * Returns as upmu_session_start().
 * Context: local; any while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_restart(struct upmu_session *session);

/*
 * Detach a session from its CPU, thread or unit; a running session is stopped first.  Its counts stay readable, and it
 * can be attached to another one and continue.  A detached session is left as it is.
 *
 * Returns UPMU_OK, UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY (both: still attached), UPMU_ERR_PORT
 * (detached all the same).
 * Context: local; any while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_detach(struct upmu_session *session);

/*
 * List the register writes that a start of this session would make on an idle `pmu`, in their order and without
 * hardware.  The events must be encoded for this kind of PMU; this is not checked.  If the session is detached,
 * tally[i].counter of its active set is the counter of event i afterwards.
 *
 * Returns UPMU_OK, UPMU_ERR_DOES_NOT_FIT, UPMU_ERR_TOO_HARD, UPMU_ERR_NO_SPACE, UPMU_ERR_UNSUPPORTED (the events write
 * too many registers) or UPMU_ERR_STATE (no events); UPMU_ERR_BUSY, only where the executing CPU has a work area
 * (upmu_cpu_use_work()); UPMU_ERR_COMPILED_OUT.  Writes beyond `dry_run->capacity` are counted, not stored.
 * Context: any; local if the executing CPU has a work area.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_dry_run(struct upmu_session *session, const struct upmu_pmu *pmu,
                                      struct upmu_dry_run *dry_run);

#ifdef __cplusplus
}
#endif

#endif
