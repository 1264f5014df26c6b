/* SPDX-License-Identifier: MIT */
/*
 * Event sets: a session can have more events than there are counters.  A session has a chain of sets, of which one, the
 * active set, has counters at a time.  Set 0 is in the chain from the beginning (upmu_session.set).  A set belongs to
 * its session from upmu_session_init() or upmu_session_add_set() on until it is removed.
 */
#ifndef UPMU_SET_H
#define UPMU_SET_H

#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* When the next set of the chain becomes active in place of this one: bits of upmu_set.flags.  No bit: only by
   upmu_session_switch().  Both bits: at the first of the two moments. */
#define UPMU_SET_TIME_SWITCH (1u << 0)     /* at the first tick after timeout_ns in which the set had counters */
/* when an event of the set has overflowed upmu_sampling.switch_after times since the set became active */
#define UPMU_SET_OVERFLOW_SWITCH (1u << 1)

/*
 * Bytes of memory for a set with room for `events` events, 1 to UPMU_SET_EVENTS.  sizeof(struct upmu_set) has room for
 * UPMU_SET_EVENTS.
 */
#define UPMU_SET_BYTES(events) (offsetof(struct upmu_set, room) + UPMU_ROOM_WORDS(events) * sizeof(uint64_t))

/* Return UPMU_SET_BYTES() as the library was built; 0 for a number of events that this build does not allow.  Context:
   any. */
size_t upmu_set_bytes(unsigned events);

/*
 * Put an empty set with the number `number` into the chain of a detached session.  The chain is in rising order of
 * these numbers.  The former contents of *set do not matter; its memory must stay until the set is removed or the
 * session is closed.  If the chain has a set with this number already, the flags and the timeout of that set are
 * replaced, its events stay, its runs and duration begin at 0, and `set` is not used (it may be NULL).
 *
 * `timeout_ns` is rounded up to a multiple of port->tick_ns, if that is not 0; upmu_set.timeout_ns has the result.
 * Returns UPMU_OK; UPMU_ERR_STATE (not detached); UPMU_ERR_INVALID (an unknown flag; UPMU_SET_TIME_SWITCH without a
 * timeout, or a timeout without it; `set` NULL for a new set, or a set that is in this chain already; that a set is in
 * the chain of another session is not noticed); UPMU_ERR_HOOK_MISSING (UPMU_SET_TIME_SWITCH without clock_ns);
 * UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_add_set(struct upmu_session *session, struct upmu_set *set, uint16_t number,
                                      unsigned flags, uint64_t timeout_ns);

/*
 * Do as upmu_session_add_set(), with `bytes` bytes of memory for a set of fewer events than UPMU_SET_EVENTS: as many as
 * fit (UPMU_SET_BYTES()).  Bytes after the memory are not touched.  upmu_session_find_set() returns the set, whose
 * address is `memory`.  Do not copy the set by assignment, nor take its size by sizeof: struct upmu_set is longer than
 * the memory.
 *
 * Returns as upmu_session_add_set(); UPMU_ERR_NO_SPACE (a new set has not even room for one event: fewer bytes than
 * UPMU_SET_BYTES(1), or memory that is not aligned as uint64_t).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_add_set_sized(struct upmu_session *session, void *memory, size_t bytes, uint16_t number,
                                            unsigned flags, uint64_t timeout_ns);

/*
 * Remove the set with the number `number`, which may be 0, from the chain of a detached session.  Its counts are lost.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (not detached); UPMU_ERR_INVALID (no such number);
 * UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_remove_set(struct upmu_session *session, uint16_t number);

/* Return the set of a session's chain that has a number; NULL: the chain has no such set.  Context: any. */
struct upmu_set *upmu_session_find_set(struct upmu_session *session, uint16_t number);

/*
 * Choose the order in which the sets of a detached session become active.  `shuffle` true (as after
 * upmu_session_init(), with seed 0): each set becomes active once in a round, in a random order, so that a periodic
 * load does not always coincide with the same set.  False: in rising order of their numbers, then from the first one
 * again.  Without shuffling, a load whose phases are as long as some runs of sets can make estimates wrong by any
 * amount, beyond upmu_count.error: by 82 % with 10 sets and phases of 5 runs.
 *
 * Returns UPMU_OK, UPMU_ERR_STATE (not detached) or UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_shuffle(struct upmu_session *session, bool shuffle, uint64_t seed);

/*
 * Add an encoded event to a set of a detached session; the event must be encoded for a PMU of the machine
 * (cpu->meter.pmu).  The event is copied.
 *
 * Returns and context: as upmu_set_add().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_set_add_event(struct upmu_set *set, const struct upmu_event *event,
                                    const struct upmu_sampling *sampling);

/*
 * Set the 64-bit count of event `index` of a set to `value`, at most 2^63 - 1; an event that samples also begins a full
 * period.  The times of the count begin at 0, so an estimate covers the time after this call.  Without UPMU_THREADS the
 * times continue: then there are no estimates.  An estimate scales the whole count: write 0 where sets or sessions are
 * multiplexed.  No select register is written; if the set is not active no register is accessed.  A running session
 * continues on its counters, whatever sessions other CPUs of a domain have started meanwhile.  A sample that is due at
 * this moment may mask the session.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (no such event, as after a close, or the value), UPMU_ERR_STATE (a set of no
 * session), UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY (nothing was changed); UPMU_ERR_PORT (a register faulted: the session is
 * stopped with its `error` set; the count is the former one if the stop faulted, otherwise the new one).
 * Context: local; any while detached or while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_set_write(struct upmu_set *set, unsigned index, uint64_t value);

/*
 * Replace event `index` of a set by the event of a specification.  The new event has the same index; its count and the
 * times of the count begin at 0.
 *
 * Returns as upmu_set_add(), but UPMU_ERR_STATE means that the session is started (or that the set is in no session),
 * and UPMU_ERR_INVALID also that the set has no such event; UPMU_ERR_WRONG_CPU; UPMU_ERR_BUSY.
 * Context: local; any while detached or while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_set_replace(struct upmu_set *set, unsigned index, const char *specification,
                                  const struct upmu_sampling *sampling);

/*
 * Replace event `index` of a set by an encoded event, as upmu_set_replace() does.  No register is accessed: the values
 * that the old event needed stay in the registers, and its counters stay closed, until other events are loaded there.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (the session is started, or the set is in no session); UPMU_ERR_INVALID (no such
 * event, as after a close, or its sampling, as upmu_set_add()); UPMU_ERR_NOT_PRECISE, UPMU_ERR_HOOK_MISSING,
 * UPMU_ERR_UNSUPPORTED, UPMU_ERR_COMPILED_OUT (as upmu_set_add()); UPMU_ERR_CONTRADICTION (the new event names another
 * world than the old one); UPMU_ERR_WRONG_CPU; UPMU_ERR_BUSY.
 * Context: local; any while detached or while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_set_replace_event(struct upmu_set *set, unsigned index, const struct upmu_event *event,
                                        const struct upmu_sampling *sampling);

/*
 * Let the next sample of event `index` of a set come after `left` events, and further samples every `period` events.
 * The count is not changed.  While the set has no counters no register is accessed, and its next start writes the
 * event's counter (one register write).  A running session is stopped and started again on its counters.  A sample that
 * is due at this moment may mask the session.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (no such event, as after a close, or it does not sample; `left` is 0 or above 2^63
 * - 1; `period`, or `left` of a count that falls, is not as upmu_set_add() demands); UPMU_ERR_STATE (a set of no
 * session); UPMU_ERR_COMPILED_OUT; UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY (nothing was changed); UPMU_ERR_PORT (a register
 * faulted: the session is stopped with its `error` set).
 * Context: local; any while detached or while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_set_wait(struct upmu_set *set, unsigned index, uint64_t left, uint64_t period);

/*
 * Make a set of the session's chain the active one; `set` NULL: the next one in the order (upmu_session_shuffle()).
 * The set's timeout begins anew.  A running session is switched at once; if the set does not fit, the session waits.
 * Without this call a start continues with the set that was active last; the first start begins with the first set of
 * the chain.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (not attached); UPMU_ERR_INVALID (not a set of its
 * chain); UPMU_ERR_WRONG_CPU; UPMU_ERR_BUSY; UPMU_ERR_COMPILED_OUT.
 * Context: local; any while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_switch(struct upmu_session *session, struct upmu_set *set);

/* Facts about a set. */
struct upmu_set_info {
    uint16_t number;             /* number of the set; the chain is in rising order of these numbers */
    uint8_t flags;               /* UPMU_SET_... */
    bool active;                 /* true: the set runs, or runs first at the next start */
    uint32_t overflowed;         /* bit i: event i of the set samples, and at least one of its periods has ended */
    /* mask: counters of its CPU that firmware, watchdog or foreign software do not use; on no CPU: all of its PMU's */
    uint32_t available_counters;
    uint64_t runs;               /* number of times that the set became active */
    uint64_t timeout_ns;         /* upmu_set.timeout_ns: the timeout in effect */
    uint64_t left_ns;            /* rest of the timeout in this run, when the set last left its counters */
    uint64_t duration_ns;        /* time in which the set had counters, until it last left them */
};

/* Get the facts about a set; all 0: the set is in no session, or UPMU_SETS is 0.  Context: any; exact while the session
   does not run. */
void upmu_set_ask(const struct upmu_set *set, struct upmu_set_info *out_info);

#ifdef __cplusplus
}
#endif

#endif
