/* SPDX-License-Identifier: MIT */
/*
 * Event sets: more events than counters.  A session is a chain of sets, one of them
 * active; set 0 is in it from the beginning (upmu_session.set).
 */
#ifndef UPMU_SET_H
#define UPMU_SET_H

#include <upmu/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/* When an active set gives way to the next of its chain: bits of upmu_set.flags.  None: never by itself.  Both:
   whichever comes first. */
#define UPMU_SET_TIME_SWITCH (1u << 0)     /* after timeout_ns: of its thread's time; of a CPU's session: wall time */
#define UPMU_SET_OVERFLOW_SWITCH (1u << 1) /* when an event has overflowed upmu_sampling.switch_after times */

/*
 * Put an empty set into the chain, which is in rising order of `number`; its memory's
 * contents do not matter, and it must stay until it is removed or the session is
 * closed.  If there is such a number already, its flags and timeout are replaced, its
 * events stay, its runs and duration begin at 0, and `set` is not used (it may be NULL).
 *
 * `timeout_ns` is rounded up to port->tick_ns; set->timeout_ns tells.
 * Returns UPMU_OK; UPMU_ERR_STATE (not detached); UPMU_ERR_INVALID (an unknown flag,
 * a time switch without timeout or the reverse, no memory for a new set); UPMU_ERR_HOOK_MISSING (a time
 * switch without clock_ns); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_add_set(struct upmu_session *session, struct upmu_set *set, uint16_t number,
                                      unsigned flags, uint64_t timeout_ns);

/*
 * Take a set, which may be set 0, out of the chain; its counts are gone.
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
 * The order in which sets that give way are followed.  Shuffled (as after init, with
 * seed 0): each once in a round, drawn by lot, so that a load with a period of its own
 * does not always meet the same set.  Not shuffled: in rising order and from the first
 * again; a load whose phases are as long as some sets' time then spoils estimates by
 * any amount: with 10 sets and phases of 5 slots, 82 %, and no error bound tells.
 *
 * Returns UPMU_OK or UPMU_ERR_STATE (not detached).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_shuffle(struct upmu_session *session, bool shuffle, uint64_t seed);

/*
 * The session calls of the same names for one set of the session's chain, which is not
 * checked: another session's set is the caller's mistake.  They return what those
 * return; contexts are the same.  A set that is not active is read and written without
 * an access.
 *
 * Add the events of a list, all or none: upmu_session_add().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_set_add(struct upmu_session *session, struct upmu_set *set, const char *list,
                              const struct upmu_sampling *sampling);

/* Add an event that is encoded already: upmu_session_add_event(). */
UPMU_MUST_CHECK
enum upmu_status upmu_set_add_event(struct upmu_session *session, struct upmu_set *set,
                                    const struct upmu_event *event, const struct upmu_sampling *sampling);

/* Read counts: upmu_session_read().  Counts of sets that took turns are estimates with an error. */
UPMU_MUST_CHECK
enum upmu_status upmu_set_read(struct upmu_session *session, struct upmu_set *set, unsigned first, unsigned count,
                               struct upmu_count *out_counts);

/* Give a count a new value: upmu_session_write(). */
UPMU_MUST_CHECK
enum upmu_status upmu_set_write(struct upmu_session *session, struct upmu_set *set, unsigned index, uint64_t value);

/* Replace an event, keeping its index: upmu_session_replace(). */
UPMU_MUST_CHECK
enum upmu_status upmu_set_replace(struct upmu_session *session, struct upmu_set *set, unsigned index,
                                  const char *specification, const struct upmu_sampling *sampling);

/*
 * Make a set the active one: by hand, or before upmu_session_start().  NULL: the next in
 * the order.  Its timeout begins anew.  A running session changes at once; if there is no
 * room for the set, the session waits.  Without this a start goes on with the set that
 * was active last, at first with the first of the chain.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (not attached); UPMU_ERR_INVALID (not a set of its
 * chain); UPMU_ERR_WRONG_CPU; UPMU_ERR_BUSY; UPMU_ERR_COMPILED_OUT.
 * Context: local; any while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_switch(struct upmu_session *session, struct upmu_set *set);

/* What is known of a set. */
struct upmu_set_info {
    uint16_t number;
    uint8_t flags;
    bool active;
    uint32_t overflowed;         /* bit i: event i of the set has overflowed */
    uint32_t available_counters; /* that no firmware, watchdog or foreigner has where it is, or of its PMU */
    uint64_t runs;               /* times it became active */
    uint64_t timeout_ns;         /* effective */
    uint64_t left_ns;            /* of it, in this run */
    uint64_t duration_ns;        /* on the hardware, in all */
};

/* Context: any; exact while the session does not run. */
void upmu_set_ask(const struct upmu_session *session, const struct upmu_set *set, struct upmu_set_info *out_info);

#ifdef __cplusplus
}
#endif

#endif
