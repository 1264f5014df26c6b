/* SPDX-License-Identifier: MIT */
/* The status that a call returns, and the reasons for a refusal. */
#ifndef UPMU_STATUS_H
#define UPMU_STATUS_H

#include <stddef.h>
#include <stdint.h>
#include <upmu/config.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A code has one cause; numbers are never reused.  Grouped by whose fault it is. */
enum upmu_status {
    UPMU_OK = 0,

    /* The text. */
    UPMU_ERR_SYNTAX = 1,            /* not a specification; why.position is the place */
    UPMU_ERR_NO_SUCH_PMU = 2,       /* the "pmu::" prefix names no PMU of this machine */
    UPMU_ERR_NO_SUCH_EVENT = 3,     /* no catalogue of the PMU has the name */
    UPMU_ERR_NO_SUCH_MASK = 4,      /* the event has no such unit mask */
    UPMU_ERR_NO_SUCH_ATTRIBUTE = 5, /* the PMU has no such attribute */
    UPMU_ERR_BAD_VALUE = 6,         /* not a number, or out of the attribute's range */
    UPMU_ERR_CONTRADICTION = 7,     /* one field given twice with different values */
    UPMU_ERR_MASK_REQUIRED = 8,     /* the event has no default unit mask */
    UPMU_ERR_MASKS_EXCLUSIVE = 9,   /* two masks of one group */

    /* The machine. */
    UPMU_ERR_NO_PMU = 32,       /* no performance-monitoring unit, or a fake one */
    UPMU_ERR_UNSUPPORTED = 33,  /* this PMU, port or version of upmu cannot do it */
    UPMU_ERR_PORT = 34,         /* a register access faulted */
    UPMU_ERR_DOES_NOT_FIT = 35, /* no placement exists; the why names a conflicting subset */
    UPMU_ERR_TOO_HARD = 36,     /* the placement search reached its step limit */
    UPMU_ERR_CHANGED = 37,      /* a register that upmu owns was found changed */
    UPMU_ERR_LOST_CLAIM = 38,   /* another CPU took a shared resource in the meantime */
    UPMU_ERR_NO_CPU = 39,       /* no CPU that is online may drive the unit */
    UPMU_ERR_NOT_PRECISE = 40,  /* no records of this event at the level of precise=; why.levels has the others */

    /* The caller. */
    UPMU_ERR_VERSION = 64,       /* header and library are of different builds */
    UPMU_ERR_HOOK_MISSING = 65,  /* a mandatory hook is NULL, or an optional one is needed */
    UPMU_ERR_BUSY = 66,          /* a local call inside another local call: nothing was done */
    UPMU_ERR_WRONG_CPU = 67,     /* must run on the session's CPU, which cannot be reached (run_on_cpu) */
    UPMU_ERR_STATE = 68,         /* not possible in this state (see struct upmu_session) */
    UPMU_ERR_NO_SPACE = 69,      /* the caller's memory or a stated capacity is used up */
    UPMU_ERR_INVALID = 70,       /* an argument is outside its documented range */
    UPMU_ERR_COMPILED_OUT = 71,  /* left out by a build option */
    UPMU_ERR_END = 72,           /* no further item */
    UPMU_ERR_NOT_PERMITTED = 73, /* the register or the value is not allowed at this level */
    UPMU_ERR_WRONG_PMU = 74,     /* encoded for a PMU that is not this CPU's */
    UPMU_ERR_NOT_LINKED = 75,    /* the library's tables are all zero: the linker script lost .data.rel.ro */
    UPMU_ERR_NOT_PER_THREAD = 76, /* an event of a unit outside the cores belongs to no thread */
    UPMU_ERR_WRITE = 77,   /* the caller's output did not take the bytes (upmu/results.h) */
    UPMU_ERR_DAMAGED = 78, /* bytes that are not the whole log that was written */
    UPMU_ERR_FORMULA = 79, /* not a formula (upmu/metric.h); why.position is the place */
    UPMU_ERR_NO_SUCH_NAME = 80, /* no such metric of the PMU, or no such name in a formula */
    UPMU_ERR_DIVISION = 81,     /* a formula divides by 0 */
    UPMU_ERR_NOT_COUNTED = 82   /* a formula needs a count that has no value, or only of part of the time */
};

/*
 * The name of a status in words, for logs: "no such event".  Never NULL.
 *
 * Context: any.
 */
const char *upmu_status_text(enum upmu_status status);

/* An event without its text: a row of a catalogue and the chosen unit masks.
   All zero: none, or an event given as raw words. */
struct upmu_event_id {
    uint16_t catalogue; /* upmu_catalog_number() */
    uint16_t row;       /* canonical row, stable within one catalogue */
    uint32_t masks;     /* bit i: mask i of the row; 0 for flat rows */
};

/* The kind of conflict of a conflicting subset. */
enum upmu_collision {
    UPMU_COLLISION_NONE = 0,
    UPMU_COLLISION_COUNTERS = 1, /* fewer counters than events; why.counters */
    UPMU_COLLISION_RESOURCE = 2, /* one register, different values; why.resource */
    UPMU_COLLISION_LIMIT = 3,    /* a limit on general counters */
    UPMU_COLLISION_CLAIMED = 4   /* in use by another CPU, the firmware or the host */
};

#define UPMU_WHY_CULPRITS 8 /* culprits that a why names */
#define UPMU_WHY_WORD 48    /* bytes of upmu_why.word, with its end */

struct upmu_pmu;

/*
 * The reason of a refusal.  Every refusal fills it in.  Success sets one that was passed to the call
 * to zero; that of a session may still have the former refusal then.  It is a value, except for
 * `pmu`, which is valid as long as its machine.
 */
struct upmu_why {
    enum upmu_status status;      /* the refusal itself; UPMU_OK: none */
    enum upmu_collision collision; /* UPMU_ERR_DOES_NOT_FIT: what they conflict over */
    uint16_t position;            /* byte offset into the caller's text */
    uint16_t length;              /* bytes of the text concerned */
    /* The text concerned, shortened, NUL-terminated; or the missing hook; or, with length 0, why there is no such
     * hardware. */
    char word[UPMU_WHY_WORD];
    const struct upmu_pmu *pmu;   /* PMU concerned, or NULL */
    struct upmu_event_id nearest; /* most similar name, or all zero */
    uint32_t culprits;            /* bit i: request i belongs to the conflicting subset */
    struct upmu_event_id culprit[UPMU_WHY_CULPRITS]; /* the first of them */
    uint8_t culprit_count;        /* entries of `culprit` in use */
    uint8_t resource;             /* resource in conflict, for COLLISION_RESOURCE */
    uint8_t levels;               /* UPMU_ERR_NOT_PRECISE: bit n: precise=n is possible; bit 0: only that, as yet */
    uint32_t counters;            /* counters in conflict */
    uint32_t address;             /* register that faulted or was found changed */
};

/*
 * Explain a refusal in one line of English, without a newline.
 *
 * Writes at most `size` bytes including the NUL.  Returns the length of the whole text: a return >=
 * size means that the text was shortened.
 * Context: any.
 */
size_t upmu_why_text(const struct upmu_why *why, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
