/* SPDX-License-Identifier: MIT */
/*
 * Sampling formats: what becomes of an overflow.
 *
 * The default one puts a record into the session's ring: a sample, and for events that
 * ask for it (upmu_sampling.values, event_id) the values of other events, the event's id
 * and the last reset value.  A host registers others by name.
 */
#ifndef UPMU_FORMAT_H
#define UPMU_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/session.h>
#include <upmu/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What happens after an overflow; bits of upmu_format.overflow's and .restart's answer. */
#define UPMU_OVERFLOW_NOTIFY (1u << 0) /* message and hooks */
#define UPMU_OVERFLOW_MASK (1u << 1)   /* the session stops until it is restarted */
#define UPMU_OVERFLOW_RESET (1u << 2)  /* at a restart: begin new periods (else the old ones go on) */

/*
 * From inside upmu_format.overflow: the count of an event of the set, which is up to date
 * for the event that overflowed and those in its upmu_sampling.values (but for one that a
 * local call is just changing).  0: there is no such event.
 * Context: nmi.
 */
uint64_t upmu_overflow_value(const struct upmu_overflow *overflow, unsigned event);

/*
 * A format.  Constant; must stay while a session uses it.
 *
 * PMI-safe contract: `overflow` runs inside upmu_handle_pmi(), perhaps in an NMI: it must
 * not wait, lock, allocate, log or call upmu except for upmu_overflow_value(), use at most
 * 128 bytes of stack, and take a bounded time.  It is called once for each event that
 * overflowed, the counters of the session being closed; its session's calls never run at
 * the same time on this CPU.
 */
struct upmu_format {
    const char *name;
    /*
     * Check `argument` (which is the caller's, and may be NULL if `bytes` is 0) and prepare;
     * *out_state is handed to the others.  NULL: takes no argument.
     * Returns UPMU_OK or what upmu_session_format() shall answer.  Context: any.
     */
    enum upmu_status (*begin)(struct upmu_session *session, const void *argument, size_t bytes, void **out_state);
    /* Returns UPMU_OVERFLOW_ bits; `notify`: the event asks for a message.  Context: nmi. */
    unsigned (*overflow)(void *state, const struct upmu_overflow *overflow, bool notify);
    /* Before a masked session runs on: UPMU_OVERFLOW_MASK keeps it masked.  NULL: runs on.
       Context: upmu_session_restart()'s. */
    unsigned (*restart)(void *state, struct upmu_session *session);
    /* The session uses it no more.  NULL: nothing to do.  Context: any. */
    void (*end)(void *state, struct upmu_session *session);
};

/* The format "default", and the one named `name` among `formats`, which ends with NULL and may be
   NULL; NULL: there is none.  Context: any. */
const struct upmu_format *upmu_format_by_name(const struct upmu_format *const *formats, const char *name);

/*
 * Choose a detached session's format (NULL: the default, which takes no argument).
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (not detached); UPMU_ERR_INVALID (an argument where the
 * format takes none); what the format's `begin` answers; UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_format(struct upmu_session *session, const struct upmu_format *format,
                                     const void *argument, size_t bytes);

/*
 * A record of the ring in place: pointers into it, valid until upmu_ring_drop().
 */
struct upmu_record {
    const struct upmu_sample *sample;
    bool extended;          /* the rest is there */
    uint8_t event;          /* the one event it is about */
    uint16_t set;
    uint32_t values;        /* events whose counts follow ... */
    uint32_t process;
    uint32_t thread;
    uint64_t event_id;      /* upmu_sampling.event_id, unchanged */
    uint64_t last_reset;    /* the period that ended, with its random part */
    const uint64_t *value;  /* ... one for each bit of `values`, lowest first */
};

/*
 * Look at the oldest record without taking it; false: none.  upmu_ring_next() takes the
 * sample alone of either kind.
 * Context: any; one reader at a time.
 */
bool upmu_ring_view(struct upmu_ring *ring, struct upmu_record *out_record);

/* Take the oldest record, if there is one, out of the ring.  Context: as upmu_ring_view(). */
void upmu_ring_drop(struct upmu_ring *ring);

#ifdef __cplusplus
}
#endif

#endif
