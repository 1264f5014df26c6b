/* SPDX-License-Identifier: MIT */
/*
 * Events: from the text that a user types to register words, and back to a name.
 *
 * The text is specified in docs/EVENTS.md; struct upmu_event is in upmu/private/event.h, and its fields may be read.
 */
#ifndef UPMU_EVENT_H
#define UPMU_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Specifications: parsed text, independent of hardware ---- */

/* Attributes of one specification, at most. */
#define UPMU_SPEC_ATTRIBUTES 16

/* NAME or an attribute of one specification, as a position in the caller's text: bytes from its begin. */
struct upmu_spec_part {
    uint16_t position; /* first byte */
    uint16_t length;   /* bytes; of NAME in NAME=VALUE */
    uint16_t value;    /* first byte of VALUE, 0: there is none */
    uint16_t value_length; /* bytes */
    char separator;    /* ':' or ',' before it; '/' before the first of perf's terms */
};

/*
 * A parsed specification.  Points into `text`, which must stay until the event is encoded.
 */
struct upmu_spec {
    const char *text;
    struct upmu_spec_part unit;  /* "unit/", length 0: none */
    struct upmu_spec_part pmu;   /* "pmu::", length 0: none */
    struct upmu_spec_part name;  /* NAME; length 0: perf's terms, which are attributes */
    struct upmu_spec_part row;   /* leading counter index of "IDX SPEC", its own value; length 0: none */
    uint16_t end;                /* end of its text, which begins with its unit, PMU or name */
    uint8_t attribute_count;     /* entries of `attribute` in use */
    struct upmu_spec_part attribute[UPMU_SPEC_ATTRIBUTES]; /* in the order of the text */
};

/*
 * Parse the next specification of a list, which is separated by blanks or commas.
 *
 * `*cursor` is the byte offset at which to continue; begin with 0.
 * Returns UPMU_OK; UPMU_ERR_END after the last one; UPMU_ERR_SYNTAX or UPMU_ERR_NO_SPACE (more than
 * UPMU_SPEC_ATTRIBUTES) with why->position.  `why` may be NULL.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_spec_next(const char *list, size_t *cursor, struct upmu_spec *out_spec, struct upmu_why *why);

/*
 * Texts with a length, for languages whose strings have no NUL: `bytes` is the length of the text, which also ends at a
 * NUL among these bytes.  With UPMU_TO_NUL it ends at its NUL.
 */
#define UPMU_TO_NUL SIZE_MAX

/* Do as upmu_spec_next() for a list of `bytes` bytes.  Returns and context: the same. */
UPMU_MUST_CHECK
enum upmu_status upmu_spec_next_n(const char *list, size_t bytes, size_t *cursor, struct upmu_spec *out_spec,
                                  struct upmu_why *why);

/* Do as upmu_set_add() for a list of `bytes` bytes.  Returns and context: the same. */
UPMU_MUST_CHECK
enum upmu_status upmu_set_add_n(struct upmu_set *set, const char *list, size_t bytes,
                                const struct upmu_sampling *sampling);

/* Do as upmu_region_open() for a list of `bytes` bytes.  Returns and context: the same. */
UPMU_MUST_CHECK
enum upmu_status upmu_region_open_n(struct upmu_region *region, struct upmu_cpu *cpu, const char *list, size_t bytes);

/*
 * Write a specification in its plain form: lower-case prefix, attributes in their order, separators
 * as given.  upmu_spec_next() of the result gives the same specification.
 *
 * Returns the whole length; at most `size` bytes including the NUL are written.
 * Context: any.
 */
size_t upmu_spec_format(const struct upmu_spec *spec, char *buffer, size_t size);

/* ---- Events: encoded for one PMU ---- */

/* Attributes of an event.  Bits of upmu_event.attributes. */
#define UPMU_ATTR_USR (1u << 0)
#define UPMU_ATTR_OS (1u << 1)
#define UPMU_ATTR_EDGE (1u << 2)
#define UPMU_ATTR_INV (1u << 3)
#define UPMU_ATTR_CMASK (1u << 4)
#define UPMU_ATTR_ANY (1u << 5)
#define UPMU_ATTR_IN_TX (1u << 6)
#define UPMU_ATTR_IN_TXCP (1u << 7)
#define UPMU_ATTR_PAYLOAD (1u << 9) /* config1 was given (ldlat=, offcore_rsp=, frontend=) */
#define UPMU_ATTR_PIN (1u << 10)    /* counter=N */
#define UPMU_ATTR_RAW (1u << 11)    /* raw words, no name */
#define UPMU_ATTR_CASCADE (1u << 12) /* counts after its initiator happened as often as its sampling period says */
#define UPMU_ATTR_ACTIVE (1u << 13)  /* active=: how many hyper-threads must be awake */
#define UPMU_ATTR_EXCLUSIVE (1u << 14) /* not from the text: disturbs the same counter of the other hyper-thread */
#define UPMU_ATTR_WIDE (1u << 15) /* not from the text: a second counter has the bits above those of the first */
#define UPMU_ATTR_EQ (1u << 16)   /* eq: cycles in which as many happen as the counter mask says */

/*
 * The level of precise=, 0 to 3: how near the address of a sample is to the instruction that the event belongs to.
 * 0: wherever the interrupt came; 1: the instruction after; 2: the instruction itself; 3: the same, and each
 * instruction is sampled as often as it is executed.
 */
#define UPMU_ATTR_PRECISE_SHIFT 17u
#define UPMU_ATTR_PRECISE (3u << UPMU_ATTR_PRECISE_SHIFT)
#define UPMU_PRECISE_LEVEL(attributes) ((attributes) >> UPMU_ATTR_PRECISE_SHIFT & 3u)

/* In config2 of a cascade: it begins after that many initiators, unless its sampling has a period. */
#define UPMU_EVENT_AFTER (UINT64_C(1) << 63)

/* Where is counted (upmu/world.h). */
enum upmu_world {
    UPMU_WORLD_BOTH = 0,
    UPMU_WORLD_HOST = 1, /* while no guest runs */
    UPMU_WORLD_GUEST = 2 /* while a guest runs */
};

/*
 * Encode a specification for a PMU.
 *
 * `*out_event` is written on success only; `why` may be NULL.
 * Returns UPMU_OK; any code of the group "The text" in upmu/status.h; UPMU_ERR_UNSUPPORTED;
 * UPMU_ERR_DOES_NOT_FIT (no counter of this PMU can count it as specified); UPMU_ERR_WRONG_PMU (an event of another
 * type of unit, which why->nearest is); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_event_encode(const struct upmu_pmu *pmu, const struct upmu_spec *spec,
                                   struct upmu_event *out_event, struct upmu_why *why);

/* upmu_spec_next() and upmu_event_encode() for a text that is one specification.  Returns and context: theirs. */
UPMU_MUST_CHECK
enum upmu_status upmu_event_parse(const struct upmu_pmu *pmu, const char *text, struct upmu_event *out_event,
                                  struct upmu_why *why);

/* Events that need no name. */
enum upmu_basic_event {
    UPMU_BASIC_CYCLES = 0,      /* cycles that are not halted */
    UPMU_BASIC_INSTRUCTIONS = 1 /* instructions retired */
};

/*
 * Encode cycles or instructions, at all levels of privilege, for a PMU: also without UPMU_NAMES.  They are what the
 * names `cycles` and `instructions` are.
 *
 * Returns UPMU_OK; UPMU_ERR_UNSUPPORTED (the library knows no such word: NetBurst, paravirtual PMUs, RISC-V, units
 * outside the cores, an Arm PMU that has no event of instructions); UPMU_ERR_DOES_NOT_FIT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_event_basic(const struct upmu_pmu *pmu, enum upmu_basic_event which,
                                  struct upmu_event *out_event);

/*
 * Encode an event by its register words: `config` is the word of the select register (gate and
 * interrupt bits are ignored), `config1` the word of the extra register that the event code uses,
 * `config2` as in struct upmu_event.
 *
 * Returns UPMU_OK; UPMU_ERR_NOT_PERMITTED (a bit that no session may set, or that
 * this PMU does not have); UPMU_ERR_DOES_NOT_FIT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_event_raw(const struct upmu_pmu *pmu, uint64_t config, uint64_t config1, uint64_t config2,
                                struct upmu_event *out_event);

/*
 * The canonical specification of an event: encoding it again gives an equal one.
 *
 * Returns the whole length; at most `size` bytes including the NUL are written.
 * Context: any.
 */
size_t upmu_event_format(const struct upmu_pmu *pmu, const struct upmu_event *event, char *buffer, size_t size);

/* The name of an id, with its masks.  Returns and context: as upmu_event_format(). */
size_t upmu_event_name(const struct upmu_pmu *pmu, struct upmu_event_id id, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
