/* SPDX-License-Identifier: MIT */
/*
 * Sampling formats: what an overflow produces.
 *
 * The default format puts a record into the session's ring: a sample, and for events that ask for
 * it (upmu_sampling.values, event_id) the values of other events, the event's id and the last reset
 * value.  A host can provide other formats.
 */
#ifndef UPMU_FORMAT_H
#define UPMU_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Actions after an overflow; bits that upmu_format.overflow and .restart return.  At the restart of a masked session
 * the events that masked it begin their upmu_sampling.long_period, if they have one.  All other periods continue.
 */
#define UPMU_OVERFLOW_NOTIFY (1u << 0) /* message and hooks */
#define UPMU_OVERFLOW_MASK (1u << 1)   /* the session stops until it is restarted */

/*
 * For upmu_format.overflow: the count of an event of the set.  It is up to date for the event that
 * overflowed and for the events in its upmu_sampling.values, except an event that a local call is
 * changing at this moment.  0: there is no such event.
 * Context: nmi.
 */
uint64_t upmu_overflow_value(const struct upmu_overflow *overflow, unsigned event);

/*
 * For upmu_format.overflow: the return addresses of the callers of the interrupted code, the nearest first.  They are
 * found as upmu_session_callers() says, and are at most `capacity` and at most its depth.  The walk calls its `read`
 * once for each of them, and perhaps once more.
 *
 * Returns how many there are in out_callers; the rest of it is unchanged.  0: the session has no upmu_callers, the
 * overflow has no frame pointer (upmu_overflow.frame says when), the code has no caller, or callers are compiled out.
 * Context: nmi.
 */
unsigned upmu_overflow_callers(const struct upmu_overflow *overflow, uint64_t *out_callers, unsigned capacity);

/*
 * A format.  Constant; must stay while a session uses it.
 *
 * Contract: `overflow` runs inside upmu_pmi_handle(), perhaps in an NMI.  It must not wait, lock,
 * allocate, log or call upmu except for upmu_overflow_value(), upmu_overflow_callers() and
 * upmu_overflow_event_id() of upmu/abi.h.  It must use at most 128 bytes of stack, without these
 * three, and a bounded time.  It is called once for each event that overflowed, while the counters
 * of the session are closed.  Calls on its session never run at the same time on this CPU.  It may
 * read overflow->frame and the registers there until it returns, and keeps copies of what it needs.
 */
struct upmu_format {
    const char *name; /* as messages and tools show it */
    /*
     * Check `argument` (memory of the caller; may be NULL if `bytes` is 0) and prepare; *out_state
     * is passed to the other functions.  NULL: the format takes no argument.
     * Returns UPMU_OK, or the status that upmu_session_format() is to return.  Context: any.
     */
    enum upmu_status (*begin)(struct upmu_session *session, const void *argument, size_t bytes, void **out_state);
    /* Returns UPMU_OVERFLOW_ bits; `notify`: the event asks for a message.  Context: nmi. */
    unsigned (*overflow)(void *state, const struct upmu_overflow *overflow, bool notify);
    /* Before a masked session continues: UPMU_OVERFLOW_MASK keeps it masked.  NULL: it continues.
       Context: that of upmu_session_restart(). */
    unsigned (*restart)(void *state, struct upmu_session *session);
    /* The session no longer uses the format.  NULL: nothing to do.  Context: any. */
    void (*end)(void *state, struct upmu_session *session);
};

/* The format named `name` among `formats` (an array that ends with NULL; may be NULL), or "default".
   NULL: there is none.  Context: any. */
const struct upmu_format *upmu_format_by_name(const struct upmu_format *const *formats, const char *name);

/*
 * Choose a detached session's format (NULL: the default, which takes no argument).
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (not detached); UPMU_ERR_INVALID (an argument where the format
 * takes none); the status of the format's `begin`; UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_format(struct upmu_session *session, const struct upmu_format *format,
                                     const void *argument, size_t bytes);

/* Callers of one sample, at most. */
#define UPMU_CALLERS_DEPTH 64

/*
 * How the callers of interrupted code are found: by frame pointers, for code that keeps them
 * (-fno-omit-frame-pointer).  Constant; must stay while a session uses it.
 */
struct upmu_callers {
    /*
     * Read the two words at the frame pointer `fp`: the caller's frame pointer and the return address.  `user`: the
     * interrupted code was user mode, and so is its stack.  False: the words cannot be read; the record ends with the
     * caller before.  The hook must check that both words are memory of a stack that it may read, on each call: `fp` is
     * what a register or the stack held, and in user mode it is what a program chose.
     * Context: nmi.
     */
    bool (*read)(void *context, uint64_t fp, bool user, uint64_t *out_next, uint64_t *out_return);
    void *context;  /* for `read` */
    unsigned depth; /* callers of one sample, 1 to UPMU_CALLERS_DEPTH */
};

/*
 * Choose how the callers of a detached session's samples are found (NULL, as after upmu_session_init(): they have
 * none).  In the default format each event then has a record of its own (upmu_record.extended), as if it had an
 * event_id, with its callers.  Another format asks for them (upmu_overflow_callers()).
 * Hosts give the frame pointer in upmu_frame.fp.  A walk ends at `depth`, at a return address of 0, where `read`
 * refuses, and where the next frame pointer is not above the last.
 *
 * Returns UPMU_OK, UPMU_ERR_STATE (not detached), UPMU_ERR_INVALID (no hook, or the depth) or
 * UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_callers(struct upmu_session *session, const struct upmu_callers *callers);

/*
 * A record of the ring in place: pointers into the ring, valid until upmu_ring_drop().
 */
struct upmu_record {
    const struct upmu_sample *sample; /* the same as in the default format */
    bool extended;          /* the members below are valid */
    uint8_t event;          /* the event of the record */
    uint16_t set;           /* number of the set that was active */
    uint32_t values;        /* events whose counts follow ... */
    uint32_t process;       /* upmu_frame's: of the interrupted code */
    uint32_t thread;        /* the same */
    uint64_t event_id;      /* upmu_sampling.event_id, unchanged */
    uint64_t last_reset;    /* the period that ended, with its random part */
    const uint64_t *value;  /* ... one for each bit of `values`, lowest first */
    const uint64_t *frame;  /* return addresses of the callers, the nearest first */
    unsigned frames;        /* how many */
};

/*
 * Look at the oldest record without taking it out; false: there is none.  upmu_ring_next() takes
 * the sample of either kind of record.
 * Context: any; one reader at a time.
 */
bool upmu_ring_view(struct upmu_ring *ring, struct upmu_record *out_record);

/* Take the oldest record, if there is one, out of the ring.  Context: as upmu_ring_view(). */
void upmu_ring_drop(struct upmu_ring *ring);

#ifdef __cplusplus
}
#endif

#endif
