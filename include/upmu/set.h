/* SPDX-License-Identifier: MIT */
/*
 * Event sets: more events than counters.  A session is a chain of sets, one of them
 * active; set 0 is in it from the beginning (upmu_session.set).  A set belongs to its session from upmu_session_init()
 * or upmu_session_add_set() on until it is removed.
 */
#ifndef UPMU_SET_H
#define UPMU_SET_H

#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* When the next set of the chain follows the active one: bits of upmu_set.flags.  None: only by upmu_session_switch().
   Both: the first of the two. */
#define UPMU_SET_TIME_SWITCH (1u << 0)     /* after timeout_ns: of its thread's time; of a CPU's session: wall time */
#define UPMU_SET_OVERFLOW_SWITCH (1u << 1) /* when an event has overflowed upmu_sampling.switch_after times */

/* Bytes of a set with room for `events` events, 1 to UPMU_SET_EVENTS: struct upmu_set has room for UPMU_SET_EVENTS. */
#define UPMU_SET_BYTES(events) (offsetof(struct upmu_set, room) + UPMU_ROOM_WORDS(events) * sizeof(uint64_t))

/* UPMU_SET_BYTES() of the library's build; 0 for numbers of events that it does not allow.  Context: any. */
size_t upmu_set_bytes(unsigned events);

/*
 * Put an empty set into the chain, which is in rising order of `number`.  The former contents of
 * its memory do not matter; the memory must stay until the set is removed or the session is closed.
 * If the chain has this number already, the flags and timeout of that set are replaced, its events
 * stay, its runs and duration begin at 0, and `set` is not used (it may be NULL).
 *
 * `timeout_ns` is rounded up to a multiple of port->tick_ns; set->timeout_ns has the result.
 * Returns UPMU_OK; UPMU_ERR_STATE (not detached); UPMU_ERR_INVALID (an unknown flag,
 * a time switch without timeout or the reverse, no memory for a new set, or memory that is a set of this
 * chain already; a set of another session's chain is not noticed); UPMU_ERR_HOOK_MISSING (a time switch
 * without clock_ns); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_add_set(struct upmu_session *session, struct upmu_set *set, uint16_t number,
                                      unsigned flags, uint64_t timeout_ns);

/*
 * upmu_session_add_set() with memory for a set of fewer events than UPMU_SET_EVENTS: as many as `bytes` bytes have room
 * for (UPMU_SET_BYTES()); nothing behind is touched.  upmu_session_find_set() returns the set, which begins where the
 * memory does.  Do not copy it, nor take its size by sizeof, because struct upmu_set is longer.
 *
 * Returns as upmu_session_add_set(); UPMU_ERR_NO_SPACE (a new set has not even room for one event: fewer bytes than
 * UPMU_SET_BYTES(1), or memory that is not aligned as uint64_t).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_add_set_sized(struct upmu_session *session, void *memory, size_t bytes, uint16_t number,
                                            unsigned flags, uint64_t timeout_ns);

/*
 * Remove a set, which may be set 0, from the chain; its counts are lost.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (not detached); UPMU_ERR_INVALID (no such number);
 * UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_remove_set(struct upmu_session *session, uint16_t number);

/* The set of a number, or NULL.  Context: any. */
struct upmu_set *upmu_session_find_set(struct upmu_session *session, uint16_t number);

/*
 * The order of sets.  `shuffle` true (as after init, with seed 0): each set once in a round, drawn
 * by lot, so that a periodic load does not always meet the same set.  False: in rising order, then
 * from the first again.  Without shuffling, a load whose phases are as long as the time of some
 * sets can make estimates wrong by any amount, beyond their error: by 82 % with 10 sets and phases
 * of 5 runs.
 *
 * Returns UPMU_OK or UPMU_ERR_STATE (not detached).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_shuffle(struct upmu_session *session, bool shuffle, uint64_t seed);

/*
 * Add an event that is encoded for a PMU of the machine (cpu->meter.pmu); the event is copied.
 *
 * Returns and context: as upmu_set_add().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_set_add_event(struct upmu_set *set, const struct upmu_event *event,
                                    const struct upmu_sampling *sampling);

/*
 * Set an event's 64-bit count to `value`, at most 2^63 - 1; a sampling event also begins a full period.  The times of
 * the count begin at 0, so an estimate covers the time since.  (Without UPMU_THREADS they continue: there are no
 * estimates.)  An estimate scales the whole value: write 0 where sets or sessions are multiplexed.  No select register
 * is written; of a set that is not active no register is accessed.  A running session continues on its counters,
 * whatever other CPUs started meanwhile; a sample that is due at this moment may mask it.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (no such event, or the value), UPMU_ERR_STATE (closed, or a set of no session),
 * UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY (nothing was changed); UPMU_ERR_PORT (a register faulted: the session is stopped
 * with its `error` set; the count is the former one if the stop faulted, otherwise the new one).
 * Context: local; any while detached or while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_set_write(struct upmu_set *set, unsigned index, uint64_t value);

/*
 * Replace an event and keep its index; its count begins at 0, with its times.
 *
 * Returns as upmu_set_add(), but UPMU_ERR_STATE means that the session is started (or that the set is of none), and
 * UPMU_ERR_INVALID also that there is no such event; UPMU_ERR_WRONG_CPU; UPMU_ERR_BUSY.
 * Context: local; any while detached or while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_set_replace(struct upmu_set *set, unsigned index, const char *specification,
                                  const struct upmu_sampling *sampling);

/*
 * Replace an event by an encoded one and keep its index, as upmu_set_replace() does.  No register is
 * accessed: what the old event needed stays loaded, closed, until something else is loaded there.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (the session is started, or closed); UPMU_ERR_INVALID (no such
 * event, or its sampling, as upmu_set_add()); UPMU_ERR_HOOK_MISSING, UPMU_ERR_UNSUPPORTED,
 * UPMU_ERR_COMPILED_OUT (as upmu_set_add()); UPMU_ERR_CONTRADICTION (it names another world than
 * the old event); UPMU_ERR_WRONG_CPU; UPMU_ERR_BUSY.
 * Context: local; any while detached or while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_set_replace_event(struct upmu_set *set, unsigned index, const struct upmu_event *event,
                                        const struct upmu_sampling *sampling);

/*
 * The next sample of a sampling event comes after `left` events, later ones every `period`.  The
 * count stays as it is.  While the set is not on the hardware, no register is accessed, and its next
 * start writes the counter (1 W).  A running session is stopped and started again on its counters; a
 * sample that is due at this moment may mask it.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (no such event, or it does not sample; `left` is 0 or above
 * 2^63 - 1; `period`, or `left` of a count that falls, is not as upmu_set_add() demands); UPMU_ERR_STATE (closed);
 * UPMU_ERR_COMPILED_OUT; UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY (nothing was changed); UPMU_ERR_PORT (a
 * register faulted: the session is stopped with its `error` set).
 * Context: local; any while detached or while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_set_wait(struct upmu_set *set, unsigned index, uint64_t left, uint64_t period);

/*
 * Make a set the active one.  NULL: the next in the order.  Its timeout begins anew.  A running
 * session is switched at once; if the set does not fit, the session waits.  Without this call a
 * start continues with the set that was active last; the first start begins with the first set of
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
    uint16_t number;             /* place in the chain */
    uint8_t flags;               /* UPMU_SET_... */
    bool active;                 /* it runs, or runs first at the next start */
    uint32_t overflowed;         /* bit i: event i of the set has overflowed */
    uint32_t available_counters; /* not used by firmware, watchdog or foreign software on its CPU */
    uint64_t runs;               /* number of times that it became active */
    uint64_t timeout_ns;         /* effective */
    uint64_t left_ns;            /* rest of it, in this run */
    uint64_t duration_ns;        /* on the hardware, in all */
};

/* Get the facts about a set; all 0: it is in no session.  Context: any; exact while the session does not run. */
void upmu_set_ask(const struct upmu_set *set, struct upmu_set_info *out_info);

#ifdef __cplusplus
}
#endif

#endif
