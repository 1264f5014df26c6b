/* SPDX-License-Identifier: MIT */
/*
 * Sampling formats: what an overflow produces.
 *
 * The default format puts a record into the session's ring.  A record is a sample; for events that ask for it
 * (upmu_sampling.values, event_id) it also has the values of other events, the event's id and the period that ended.
 * A host can provide other formats.
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
 * Actions after an overflow: bits that upmu_format.overflow returns; ..._MASK also from upmu_format.restart, to keep
 * the session masked.  At the restart of a masked session the events that masked it begin their
 * upmu_sampling.long_period, if they have one.  The periods of all other events continue.
 */
#define UPMU_OVERFLOW_NOTIFY (1u << 0) /* store a message and call the hooks (upmu/message.h) */
#define UPMU_OVERFLOW_MASK (1u << 1)   /* mask the session: it stops until it is restarted */

/*
 * For upmu_format.overflow: return the count of event `event` of the set that overflowed.  The count is up to date for
 * the event that overflowed and for the events in its upmu_sampling.values, except an event that a local call is
 * changing at this moment.  0: there is no such event, or formats are compiled out.
 * Context: nmi.
 */
uint64_t upmu_overflow_value(const struct upmu_overflow *overflow, unsigned event);

/*
 * For upmu_format.overflow: store the return addresses of the callers of the interrupted code, the nearest first.  They
 * are found as upmu_session_callers() says: at most `capacity`, and at most upmu_callers.depth of the session.  The
 * walk calls upmu_callers.read once for each address, and perhaps once more.
 *
 * Returns the number of addresses in out_callers; entries after these are unchanged.  0: the session has no
 * upmu_callers, the overflow has no frame pointer (upmu_overflow.frame says when), the code has no caller, or callers
 * are compiled out.
 * Context: nmi.
 */
unsigned upmu_overflow_callers(const struct upmu_overflow *overflow, uint64_t *out_callers, unsigned capacity);

/*
 * A format.  Constant; must stay while a session uses it.
 *
 * Contract: `overflow` runs inside upmu_pmi_handle(), perhaps in an NMI; or inside a local call that finds the overflow
 * itself, or that the interrupt has interrupted.  It must not wait, lock, allocate, log or call upmu except for
 * upmu_overflow_value(), upmu_overflow_callers() and upmu_overflow_event_id() of upmu/abi.h.  It must use at most 128
 * bytes of stack, without these three, and a bounded time.  It is called once for each event that overflowed.  Where
 * one register enables all counters (UPMU_PMU_GLOBAL_CTRL), the handler keeps the counters of the session closed
 * meanwhile; elsewhere they may count.  No other function of the format runs for the same session at that time on this
 * CPU.  `overflow` may read overflow->frame and the registers there until it returns, and keeps copies of what it
 * needs.
 */
struct upmu_format {
    const char *name; /* the format's name, by which upmu_format_by_name() finds it */
    /*
     * Called by upmu_session_format().  Check `argument` (memory of the caller; may be NULL if `bytes` is 0) and
     * prepare; *out_state is passed to the other functions.  NULL: the format takes no argument.
     * Returns UPMU_OK, or the status that upmu_session_format() is to return.  Context: any.
     */
    enum upmu_status (*begin)(struct upmu_session *session, const void *argument, size_t bytes, void **out_state);
    /* An event overflowed (see the contract).  `notify`: the event has UPMU_SAMPLING_NOTIFY.  Returns UPMU_OVERFLOW_…
       bits for the session.  Context: nmi. */
    unsigned (*overflow)(void *state, const struct upmu_overflow *overflow, bool notify);
    /* Called before a masked session continues.  Returns UPMU_OVERFLOW_MASK to keep the session masked, else 0.  NULL:
       the session continues.  Context: that of upmu_session_restart(). */
    unsigned (*restart)(void *state, struct upmu_session *session);
    /* The session no longer uses the format: it has another one, or was closed.  NULL: nothing to do.  Context: any. */
    void (*end)(void *state, struct upmu_session *session);
};

/* Return the format named `name` among `formats` (an array that ends with NULL; may be NULL); for the name "default"
   the default format.  NULL: no such format, or formats are compiled out.  Context: any. */
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

/* The most callers of one sample. */
#define UPMU_CALLERS_DEPTH 64

/*
 * How the callers of interrupted code are found: by frame pointers, for code that keeps them
 * (-fno-omit-frame-pointer).  The structure must stay unchanged while a session uses it.
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
    unsigned depth; /* the most callers of one sample, 1 to UPMU_CALLERS_DEPTH */
};

/*
 * Choose how the callers of a detached session's samples are found; with NULL, as after upmu_session_init(), samples
 * have no callers.  In the default format each event that overflows then has a record of its own with its callers
 * (upmu_record.extended), as if it had an event_id.  A format of the host calls upmu_overflow_callers() for them.
 * Hosts give the frame pointer in upmu_frame.fp.  A walk ends after `depth` callers, at a return address of 0, where
 * `read` returns false, and where the next frame pointer is not above the last.
 *
 * Returns UPMU_OK, UPMU_ERR_STATE (not detached), UPMU_ERR_INVALID (no hook, or the depth) or
 * UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_callers(struct upmu_session *session, const struct upmu_callers *callers);

/* Parts of a sample: bits of upmu_record.parts.  All but branches are of precise samples, which the hardware itself has
   stored. */
#define UPMU_PART_ADDRESS (1u << 0)     /* address: linear address of the data that the instruction accessed */
#define UPMU_PART_SOURCE (1u << 1)      /* source: the CPU's code of the place where it found the data */
#define UPMU_PART_WEIGHT (1u << 2)      /* weight: cycles of the access */
#define UPMU_PART_TRANSACTION (1u << 3) /* transaction: cycles and abort reasons (the hardware's tuning word) */
#define UPMU_PART_REGISTERS (1u << 4)   /* registers */
#define UPMU_PART_BRANCHES (1u << 5)    /* branch, branches */
#define UPMU_PART_COUNTERS (1u << 6)    /* values of counters: they are no part of an upmu_record yet */
#define UPMU_PART_RETIRE (1u << 7)      /* retire: cycles from the retirement before to this one */

/* The number of a precise sample's registers: flags, ip, ax, cx, dx, bx, sp, bp, si, di, r8 to r15, in this order. */
#define UPMU_RECORD_REGISTERS 18u

struct upmu_branch;

/*
 * A record of the ring, read in place: its pointers lead into the ring, and are valid until upmu_ring_drop().
 */
struct upmu_record {
    const struct upmu_sample *sample; /* the sample, as upmu_ring_next() gives it */
    bool extended;          /* true: the members below are valid; false: they are 0 */
    uint8_t event;          /* index in its set of the event that overflowed */
    uint16_t set;           /* upmu_set.number of the set that was active */
    uint32_t values;        /* mask: events of the set whose counts are in `value` */
    uint32_t process;       /* upmu_frame.process of the interrupted code */
    uint32_t thread;        /* upmu_frame.thread of the interrupted code */
    uint64_t event_id;      /* upmu_sampling.event_id of the event that overflowed, unchanged */
    uint64_t last_reset;    /* the period of this event that ended with the overflow, in events, with its random part */
    const uint64_t *value;  /* a count for each bit of `values`, the lowest bit first */
    const uint64_t *frame;  /* return addresses of the callers, the nearest first */
    unsigned frames;        /* number of addresses in `frame` */
#if UPMU_PRECISE
    /* The parts that the event of a precise sample asks for (upmu/precise.h), branches of any sample
       (upmu_session_branches()), or what a host's own driver has taken, for upmu_log_sample(). */
    uint16_t parts;         /* UPMU_PART_…: which of the members below are valid */
    uint16_t retire;
    bool exact;             /* sample->ip is the sampled instruction itself */
    uint64_t address, source, weight, transaction; /* raw words */
    const uint64_t *registers;        /* UPMU_RECORD_REGISTERS of them */
    const struct upmu_branch *branch; /* the last branches before the sample, the newest first */
    unsigned branches;                /* number of `branch`; at most 255 */
#endif
};

/*
 * Fill in *out_record from the oldest record, which stays in the ring; false: the ring is empty.  upmu_ring_next()
 * takes the sample of each record out, extended or not.
 * Context: any; one reader at a time.
 */
bool upmu_ring_view(struct upmu_ring *ring, struct upmu_record *out_record);

/* Remove the oldest record from the ring; an empty ring is left as it is.  Context: as upmu_ring_view(). */
void upmu_ring_drop(struct upmu_ring *ring);

#ifdef __cplusplus
}
#endif

#endif
