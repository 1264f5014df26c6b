/* SPDX-License-Identifier: MIT */
/*
 * Hybrid sessions: the same events of a thread on each core type of a hybrid processor, while the thread goes from core
 * to core.
 *
 *     static uint64_t memory[UPMU_HYBRID_WORDS(2, 2)];                          // two core types, two events
 *     struct upmu_hybrid *hybrid;
 *     struct upmu_count sum[2], on_p[2];
 *
 *     upmu_hybrid_init(memory, sizeof memory, &machine, 2, &hybrid);            // after all CPUs are initialised
 *     upmu_hybrid_add(hybrid, "instructions,cycles");
 *     upmu_hybrid_attach_thread(hybrid, &thread->pmu, cpu);
 *     upmu_hybrid_start(hybrid);
 *     upmu_hybrid_read(hybrid, 0, 2, sum);                                      // all core types together
 *     upmu_hybrid_read_type(hybrid, 0, 0, 2, on_p);                             // core type 0: machine.pmu[0]
 *     upmu_hybrid_close(hybrid);
 *
 * A hybrid session is one ordinary session for each core type, hybrid->session[0] to [types - 1], whose events are of
 * that type's PMU and which is limited to its CPUs (upmu_session_limit_pmu()).  The host may call functions of
 * <upmu/session.h> and <upmu/set.h> for each of them while it is detached: rings, sharing, or events that sample.  On a
 * machine with one core type there is one session, and all calls do the same.
 */
#ifndef UPMU_HYBRID_H
#define UPMU_HYBRID_H

#include <stddef.h>
#include <stdint.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A hybrid session.  The library writes it; the host may read it. */
struct upmu_hybrid {
    uint8_t types;   /* number of core types of the machine, and of sessions */
    uint8_t refused; /* number of the core type where the last call was refused: session[refused]->why has the reason */
    struct upmu_session *session[UPMU_CORE_TYPES]; /* by number of the core type, which is upmu_pmu.index of its PMU */
};

/*
 * Words of 64 bits that a hybrid session takes with `events` events, 1 to UPMU_SET_EVENTS, on a machine with `types`
 * core types, 1 to UPMU_CORE_TYPES.
 */
#define UPMU_HYBRID_WORDS(types, events)                                                                               \
    (UPMU_HYBRID_HEAD / 8u + (types) * ((UPMU_SESSION_BYTES(events) + 7u) / 8u))

/* Bytes before the first session in the memory of a hybrid session. */
#define UPMU_HYBRID_HEAD ((sizeof(struct upmu_hybrid) + 7u) & ~(size_t)7u)

/* Return the bytes of UPMU_HYBRID_WORDS() as the library was built; 0 for numbers that this build does not allow.
   Context: any. */
size_t upmu_hybrid_bytes(unsigned types, unsigned events);

/*
 * Make an empty hybrid session with room for `events` events in `bytes` bytes of memory; *out_hybrid becomes `memory`.
 * All CPUs of the machine must be initialised: a core type whose first CPU is initialised later has no session.  The
 * memory and the machine must stay until upmu_hybrid_close().
 *
 * Returns UPMU_OK; UPMU_ERR_NO_PMU (no CPU of the machine has a PMU); UPMU_ERR_INVALID (the number of events);
 * UPMU_ERR_NO_SPACE (fewer bytes than upmu_hybrid_bytes(machine->pmu_count, events), or memory that is not aligned as
 * uint64_t); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_hybrid_init(void *memory, size_t bytes, struct upmu_machine *machine, unsigned events,
                                  struct upmu_hybrid **out_hybrid);

/*
 * Add the events of a list, as upmu_set_add() does, for each core type: a name is looked up in the catalogue of each,
 * and may stand for other codes there.  The events are counted and not sampled.  All or none are added.  A list with
 * the prefix of one core type belongs to upmu_hybrid_add_each().
 *
 * Returns UPMU_OK; those of upmu_set_add(); UPMU_ERR_WRONG_PMU (a prefix names another core type than hybrid->refused,
 * or a unit); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_hybrid_add(struct upmu_hybrid *hybrid, const char *list);

/*
 * Do as upmu_hybrid_add() with a list for each core type, where one name does not do: lists[i] is for
 * hybrid->session[i] ("mem_load_retired.l3_hit" and "mem_load_uops_retired.l3_hit" on Alder Lake).  Event n of each
 * list is counted as event n of the hybrid session.
 *
 * Returns as upmu_hybrid_add(); UPMU_ERR_INVALID (the list of type hybrid->refused has another number of events).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_hybrid_add_each(struct upmu_hybrid *hybrid, const char *const *lists);

/*
 * Add one event that is encoded for each core type: events[i] points to that of hybrid->session[i].  The events are
 * copied.
 *
 * Returns UPMU_OK; those of upmu_set_add_event(); UPMU_ERR_WRONG_PMU (events[hybrid->refused] is of another PMU);
 * UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_hybrid_add_event(struct upmu_hybrid *hybrid, const struct upmu_event *const *events);

/*
 * Bind the sessions to a thread; `cpu` as for upmu_session_attach_thread().  After a refusal all are detached.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (the sessions have different numbers of events); those of
 * upmu_session_attach_thread(); UPMU_ERR_COMPILED_OUT.  Only if a session could not be detached again, because the
 * thread's list is in use, is it still attached: upmu_hybrid_detach().
 * Context: as upmu_session_attach_thread().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_hybrid_attach_thread(struct upmu_hybrid *hybrid, struct upmu_thread *thread,
                                           struct upmu_cpu *cpu);

/*
 * Start all sessions, or none.  On the CPUs of one core type its session runs, or waits for counters; the others wait
 * and have no enabled time there.
 *
 * Returns UPMU_OK; those of upmu_session_start(); UPMU_ERR_COMPILED_OUT.
 * Context: as upmu_session_start().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_hybrid_start(struct upmu_hybrid *hybrid);

/*
 * Stop all sessions.  The counts stay.
 *
 * Returns UPMU_OK; UPMU_ERR_COMPILED_OUT; or the first error of upmu_session_stop(): after UPMU_ERR_BUSY and
 * UPMU_ERR_WRONG_CPU call again.
 * Context: as upmu_session_stop().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_hybrid_stop(struct upmu_hybrid *hybrid);

/*
 * Detach all sessions from the thread.  The counts stay.
 *
 * Returns UPMU_OK; UPMU_ERR_COMPILED_OUT; or the first error of upmu_session_detach(): after UPMU_ERR_BUSY and
 * UPMU_ERR_WRONG_CPU call again.
 * Context: as upmu_session_detach().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_hybrid_detach(struct upmu_hybrid *hybrid);

/*
 * Read `count` events from event `first` on, added over the core types.  `value`, `raw`, `error`, `lost` and both times
 * are sums, because the thread runs on one core at a time; `left` and `reset` are 0.  The quality is the worst of the
 * core types where the thread has run since the start: a type on which the event had no counter makes the sum partial.
 * UPMU_QUALITY_NEVER_RAN: the thread has not run.  UPMU_QUALITY_UNPROVEN: the sum is 0, and a type's 0 is unproven.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (no such event); those of upmu_set_read().  UPMU_ERR_PORT is returned after all
 * types were read: the sums lack the counts that faulted, and are partial.  After other errors `out_counts` has no
 * meaning.
 * Context: as upmu_set_read() of the sessions.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_hybrid_read(struct upmu_hybrid *hybrid, unsigned first, unsigned count,
                                  struct upmu_count *out_counts);

/*
 * Read `count` events on core type `type` alone.  enabled_ns is the time for which the thread has run on CPUs of this
 * type since the start.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (no such type or event); those of upmu_set_read(); UPMU_ERR_COMPILED_OUT.
 * Context: as upmu_set_read() of hybrid->session[type].
 */
UPMU_MUST_CHECK
enum upmu_status upmu_hybrid_read_type(struct upmu_hybrid *hybrid, unsigned type, unsigned first, unsigned count,
                                       struct upmu_count *out_counts);

/*
 * Close all sessions: their memory may be freed.
 *
 * Returns UPMU_OK, or the first error of upmu_session_close(): after UPMU_ERR_BUSY and UPMU_ERR_WRONG_CPU some sessions
 * are still attached: call again.
 * Context: as upmu_session_close().
 */
enum upmu_status upmu_hybrid_close(struct upmu_hybrid *hybrid);

#ifdef __cplusplus
}
#endif

#endif
