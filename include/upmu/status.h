/* SPDX-License-Identifier: MIT */
/* The status codes that calls return, and struct upmu_why, which has the reason of a refusal. */
#ifndef UPMU_STATUS_H
#define UPMU_STATUS_H

#include <stddef.h>
#include <stdint.h>
#include <upmu/config.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The status codes, in groups: a refusal is due to the text, the machine or the caller.  Numbers are never reused. */
enum upmu_status {
    UPMU_OK = 0,

    /* The text. */
    UPMU_ERR_SYNTAX = 1,            /* the text is no specification from byte why.position on */
    UPMU_ERR_NO_SUCH_PMU = 2,       /* the text names a PMU or a unit that is not there, or not known */
    UPMU_ERR_NO_SUCH_EVENT = 3,     /* no catalogue of the PMU has an event of this name */
    UPMU_ERR_NO_SUCH_MASK = 4,      /* the event of this name has no such unit mask */
    UPMU_ERR_NO_SUCH_ATTRIBUTE = 5, /* the PMU has no such attribute */
    UPMU_ERR_BAD_VALUE = 6,         /* a value is not a number, or out of range */
    UPMU_ERR_CONTRADICTION = 7,     /* one field, or the world of a session, is given twice with different values */
    UPMU_ERR_MASK_REQUIRED = 8,     /* no unit mask is given, and the event has no default one */
    UPMU_ERR_MASKS_EXCLUSIVE = 9,   /* two unit masks that exclude each other */
    /* The machine. */
    UPMU_ERR_NO_PMU = 32,       /* no performance-monitoring unit, one that ignores writes, or one not initialised */
    UPMU_ERR_UNSUPPORTED = 33,  /* the PMU, the port or this version of upmu cannot do what was asked for */
    UPMU_ERR_PORT = 34,         /* a register access faulted, or the port or a table of the hardware failed */
    UPMU_ERR_DOES_NOT_FIT = 35, /* no placement exists; upmu_why.culprits are a conflicting subset of the events */
    UPMU_ERR_TOO_HARD = 36,     /* the placement search reached its step limit: a placement may exist */
    UPMU_ERR_CHANGED = 37,      /* upmu_cpu_verify(): a register that upmu owns was found changed; why.address */
    UPMU_ERR_LOST_CLAIM = 38,   /* another CPU claimed a shared counter or resource first */
    UPMU_ERR_NO_CPU = 39,       /* no CPU that is initialised can drive the unit */
    UPMU_ERR_NOT_PRECISE = 40,  /* the event has no precise records at this level; why.levels has the possible ones */
    /* The caller. */
    UPMU_ERR_VERSION = 64,       /* header, file or log is of another build or version than the library */
    UPMU_ERR_HOOK_MISSING = 65,  /* a mandatory hook is NULL, or an optional one that this call needs */
    UPMU_ERR_BUSY = 66,          /* inside another local call, or another call works on the object: try again */
    UPMU_ERR_WRONG_CPU = 67,     /* the call must run on another CPU, which cannot be reached (run_on_cpu) */
    UPMU_ERR_STATE = 68,         /* the object's state forbids the call (enum upmu_session_state) */
    UPMU_ERR_NO_SPACE = 69,      /* memory that the caller gave, or a documented limit, is too small */
    UPMU_ERR_INVALID = 70,       /* an argument is out of its documented range, or two contradict each other */
    UPMU_ERR_COMPILED_OUT = 71,  /* a build option (upmu/config.h) has left this out */
    UPMU_ERR_END = 72,           /* no further item */
    UPMU_ERR_NOT_PERMITTED = 73, /* the register, the value or the catalogue is not permitted here */
    UPMU_ERR_WRONG_PMU = 74,     /* the event is encoded for another PMU than that of the CPU or unit */
    UPMU_ERR_NOT_LINKED = 75,    /* the library's tables are all zero (.data.rel.ro is lost), or not relocated */
    UPMU_ERR_NOT_PER_THREAD = 76, /* the event is of a unit (upmu/unit.h); units cannot be counted for a thread */
    UPMU_ERR_WRITE = 77,   /* upmu_output.write returned false (upmu/results.h) */
    UPMU_ERR_DAMAGED = 78, /* the bytes are not a whole, unchanged log (upmu/results.h) */
    UPMU_ERR_FORMULA = 79, /* the text is not a formula (upmu/metric.h); why.position is the place */
    UPMU_ERR_NO_SUCH_NAME = 80, /* the PMU has no such metric or level, or a formula has an unknown name */
    UPMU_ERR_DIVISION = 81,     /* a formula divides by 0 */
    /* a formula needs a count that is neither exact nor scaled (enum upmu_quality); or a level has no value now */
    UPMU_ERR_NOT_COUNTED = 82
};

/* Return the text of a status, for logs: "no such event".  Never NULL.  Context: any. */
const char *upmu_status_text(enum upmu_status status);

/* The id of an event: a row of a catalogue (upmu/catalogs.h) and the chosen unit masks.
   All zero: no event, or an event given as raw words. */
struct upmu_event_id {
    uint16_t catalogue; /* upmu_catalog_number() of the catalogue */
    uint16_t row;       /* number of the row; it stays the same within one catalogue */
    uint32_t masks;     /* bit i: unit mask i of the row is chosen; 0 for rows without unit masks */
};

/* What the events of a conflicting subset conflict over. */
enum upmu_collision {
    UPMU_COLLISION_NONE = 0,
    UPMU_COLLISION_COUNTERS = 1, /* the events can have fewer counters (why.counters) than they need */
    UPMU_COLLISION_RESOURCE = 2, /* the events need one register (why.resource) with different values */
    UPMU_COLLISION_LIMIT = 3,    /* only some of the general counters can be used at a time */
    UPMU_COLLISION_CLAIMED = 4   /* counters or a register are in use by another CPU, the firmware or the host */
};

#define UPMU_WHY_CULPRITS 8 /* the most entries of upmu_why.culprit */
#define UPMU_WHY_WORD 48    /* size of upmu_why.word in bytes, with the NUL */

struct upmu_pmu;

/*
 * The reason of a refusal: in the struct upmu_why that was passed to the call, or in that of the call's session, or for
 * calls that initialise a machine, a CPU or units in the machine's.  Other calls give the status alone.  Success sets
 * `status` of one that was passed to UPMU_OK; a session's may keep the former refusal.  `pmu` is the machine's.
 */
struct upmu_why {
    enum upmu_status status;      /* the status that was returned; UPMU_OK: no refusal */
    enum upmu_collision collision; /* UPMU_ERR_DOES_NOT_FIT: what the culprits conflict over */
    uint16_t position;            /* byte offset of the refused part in the caller's text */
    uint16_t length;              /* bytes of this part, or of another text in `word`; 0: not stored */
    /* The refused part of the text, shortened, NUL-terminated; or the name of the missing hook; or what is wrong with
     * the hardware. */
    char word[UPMU_WHY_WORD];
    const struct upmu_pmu *pmu;   /* PMU concerned, or NULL */
    struct upmu_event_id nearest; /* event with the most similar name, or 0; UPMU_ERR_WRONG_PMU: named event */
    uint32_t culprits;            /* bit i: request i of the placement belongs to the conflicting subset */
    struct upmu_event_id culprit[UPMU_WHY_CULPRITS]; /* ids of the events of the first requests of this subset */
    uint8_t culprit_count;        /* number of entries of `culprit` in use */
    uint8_t resource;             /* UPMU_COLLISION_RESOURCE, _CLAIMED: number of the resource in conflict */
    uint8_t levels;               /* UPMU_ERR_NOT_PRECISE: bit n: precise=n is possible; bit 0: no other is, as yet */
    uint32_t counters;            /* mask: counters in conflict */
    uint32_t address;             /* address of the register that faulted or was found changed */
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
