/* SPDX-License-Identifier: MIT */
/*
 * Events: from the text that a user types to register words, and back to a name.
 *
 * docs/EVENTS.md specifies the text.  The encoded form, struct upmu_event, is in upmu/private/event.h; its fields may
 * be read.
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

/* ---- Specifications: the text of an event, cut into its parts; no PMU is needed ---- */

/* The most attributes of one specification. */
#define UPMU_SPEC_ATTRIBUTES 16

/* A part of a specification: NAME, or NAME=VALUE.  Positions are byte offsets from the begin of the caller's text. */
struct upmu_spec_part {
    uint16_t position; /* of the part's first byte */
    uint16_t length;   /* bytes of NAME */
    uint16_t value;    /* position of VALUE; 0: the part has no value */
    uint16_t value_length; /* bytes of VALUE */
    char separator;    /* of an attribute: the ':' or ',' before it; '/' before the first of perf's terms */
};

/*
 * A parsed specification.  The parts are positions in `text`, which must stay until the event is encoded.
 */
struct upmu_spec {
    const char *text;
    struct upmu_spec_part unit;  /* "unit/", length 0: none */
    struct upmu_spec_part pmu;   /* "pmu::", length 0: none */
    struct upmu_spec_part name;  /* NAME; length 0: the event is given by perf's terms, which are in `attribute` */
    struct upmu_spec_part row;   /* counter index in front ("2 cycles"); VALUE is this number, too; length 0: none */
    uint16_t end;                /* position just after the specification's last byte */
    uint8_t attribute_count;     /* entries of `attribute` in use */
    struct upmu_spec_part attribute[UPMU_SPEC_ATTRIBUTES]; /* in the order of the text */
};

/*
 * Parse the next specification of a list, which is separated by blanks or commas.
 *
 * `*cursor` is the byte offset at which to continue; set it to 0 before the first call.
 * Returns UPMU_OK; UPMU_ERR_END after the last one; UPMU_ERR_SYNTAX or UPMU_ERR_NO_SPACE (more attributes than
 * UPMU_SPEC_ATTRIBUTES, or a specification that goes beyond byte 65,534 of the text), with the place in why->position;
 * UPMU_ERR_COMPILED_OUT.  After an error *cursor and *out_spec are unchanged.  `why` may be NULL.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_spec_next(const char *list, size_t *cursor, struct upmu_spec *out_spec, struct upmu_why *why);

/*
 * For upmu_..._n(), which take texts with a length, for languages whose strings have no NUL.  `bytes` is the length of
 * the text; a NUL among these bytes also ends the text.  With `bytes` UPMU_TO_NUL the text ends at its NUL.
 */
#define UPMU_TO_NUL SIZE_MAX

/*
 * Do as upmu_spec_next(), but `list` is a text of `bytes` bytes, or UPMU_TO_NUL.  Returns and context: as
 * upmu_spec_next().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_spec_next_n(const char *list, size_t bytes, size_t *cursor, struct upmu_spec *out_spec,
                                  struct upmu_why *why);

/*
 * Do as upmu_set_add(), but `list` is a text of `bytes` bytes, or UPMU_TO_NUL.  Returns and context: as upmu_set_add().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_set_add_n(struct upmu_set *set, const char *list, size_t bytes,
                                const struct upmu_sampling *sampling);

/*
 * Do as upmu_region_open(), but `list` is a text of `bytes` bytes, or UPMU_TO_NUL.  Returns and context: as
 * upmu_region_open().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_region_open_n(struct upmu_region *region, struct upmu_cpu *cpu, const char *list, size_t bytes);

/*
 * Write a specification as text: counter index and a blank, unit and PMU in lower case; the name, attributes and
 * separators as they were given, without blanks.  upmu_spec_next() of the result gives the same specification.  Without
 * UPMU_NAMES the text is empty.
 *
 * Returns the length of the whole text without the NUL; at most `size` bytes including the NUL are written.
 * Context: any.
 */
size_t upmu_spec_format(const struct upmu_spec *spec, char *buffer, size_t size);

/* ---- Events: a specification as register words of one PMU, and back to text ---- */

/* Attributes of an event, as docs/EVENTS.md names them: bits of upmu_event.attributes. */
#define UPMU_ATTR_USR (1u << 0)
#define UPMU_ATTR_OS (1u << 1)
#define UPMU_ATTR_EDGE (1u << 2)
#define UPMU_ATTR_INV (1u << 3)
#define UPMU_ATTR_CMASK (1u << 4)
#define UPMU_ATTR_ANY (1u << 5)
#define UPMU_ATTR_IN_TX (1u << 6)
#define UPMU_ATTR_IN_TXCP (1u << 7)
#define UPMU_ATTR_PAYLOAD (1u << 9) /* the text gives config1 (ldlat=, offcore_rsp=, frontend=) */
#define UPMU_ATTR_PIN (1u << 10)    /* counter=N: upmu_event.pin is the counter */
#define UPMU_ATTR_RAW (1u << 11)    /* the event is given by register words, not by a name */
#define UPMU_ATTR_CASCADE (1u << 12) /* the event is counted once its initiator has happened a whole period */
/* NetBurst, active=: counted only while the given number of hyper-threads of the core is active */
#define UPMU_ATTR_ACTIVE (1u << 13)
#define UPMU_ATTR_EXCLUSIVE (1u << 14) /* set by the backend: disturbs the same counter of the other hyper-thread */
#define UPMU_ATTR_WIDE (1u << 15) /* set by the backend: a second counter has the bits above those of the first */
#define UPMU_ATTR_EQ (1u << 16)   /* eq: cycles in which the number of events is equal to the counter mask */

/*
 * The level of precise=, 0 to 3: which address a sample has, compared with the instruction that caused the event.
 * 0: wherever the interrupt came; 1: the instruction after; 2: the instruction itself; 3: the instruction itself, and
 * each instruction is sampled as often as it is executed.
 */
#define UPMU_ATTR_PRECISE_SHIFT 17u
#define UPMU_ATTR_PRECISE (3u << UPMU_ATTR_PRECISE_SHIFT)
#define UPMU_PRECISE_LEVEL(attributes) ((attributes) >> UPMU_ATTR_PRECISE_SHIFT & 3u)

/*
 * In upmu_event.config2 of a cascade: bits 62:0 are how often the initiator must happen before the event is counted.  A
 * period in upmu_sampling replaces this number.
 */
#define UPMU_EVENT_AFTER (UINT64_C(1) << 63)

/* The world in which an event or a session counts (upmu/world.h). */
enum upmu_world {
    UPMU_WORLD_BOTH = 0,
    UPMU_WORLD_HOST = 1, /* while no guest runs */
    UPMU_WORLD_GUEST = 2 /* while a guest runs */
};

/*
 * Encode a specification for a PMU.
 *
 * `*out_event` is written on success only; `why` may be NULL.
 * Returns UPMU_OK; any code of the group "The text" in upmu/status.h; UPMU_ERR_UNSUPPORTED; UPMU_ERR_NOT_PRECISE
 * (why->levels); UPMU_ERR_DOES_NOT_FIT (no counter of this PMU can count it as specified); UPMU_ERR_WRONG_PMU (the name
 * is that of an event of another type of unit; why->nearest is this event); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_event_encode(const struct upmu_pmu *pmu, const struct upmu_spec *spec,
                                   struct upmu_event *out_event, struct upmu_why *why);

/*
 * Encode a text that is exactly one specification: upmu_spec_next() and upmu_event_encode() in one call.
 *
 * Returns as these two, with UPMU_ERR_SYNTAX in place of UPMU_ERR_END, and also where another specification follows.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_event_parse(const struct upmu_pmu *pmu, const char *text, struct upmu_event *out_event,
                                  struct upmu_why *why);

/* Events that can be encoded without their name (upmu_event_basic()). */
enum upmu_basic_event {
    UPMU_BASIC_CYCLES = 0,      /* core cycles in which the CPU is not halted */
    UPMU_BASIC_INSTRUCTIONS = 1 /* instructions retired */
};

/*
 * Encode cycles or instructions, at all levels of privilege, for a PMU.  The events are those that the names `cycles`
 * and `instructions` give; this call works without UPMU_NAMES, too.
 *
 * Returns UPMU_OK; UPMU_ERR_UNSUPPORTED (the library knows no register word for the event: NetBurst, paravirtual PMUs,
 * RISC-V, units outside the cores, an Arm PMU that has no event of instructions); UPMU_ERR_DOES_NOT_FIT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_event_basic(const struct upmu_pmu *pmu, enum upmu_basic_event which,
                                  struct upmu_event *out_event);

/*
 * Encode an event by its register words: `config` is the value of the select register (its gate and interrupt bits are
 * ignored), `config1` the value of the payload register that the event code uses, or 0, `config2` as in struct
 * upmu_event.
 *
 * Returns UPMU_OK; UPMU_ERR_NOT_PERMITTED (a bit that no session may set, or that this PMU does not have);
 * UPMU_ERR_DOES_NOT_FIT; UPMU_ERR_UNSUPPORTED (an event that this PMU does not have, or that the library cannot count
 * right); UPMU_ERR_CONTRADICTION (bits that exclude each other); UPMU_ERR_COMPILED_OUT (an event of two counters).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_event_raw(const struct upmu_pmu *pmu, uint64_t config, uint64_t config1, uint64_t config2,
                                struct upmu_event *out_event);

/*
 * Write the canonical specification of an event.  Encoding this text again gives an equal event.  Without UPMU_NAMES
 * the text is empty.
 *
 * Returns the length of the whole text without the NUL; at most `size` bytes including the NUL are written.
 * Context: any.
 */
size_t upmu_event_format(const struct upmu_pmu *pmu, const struct upmu_event *event, char *buffer, size_t size);

/*
 * Write the name that an event id has in the catalogues of a PMU, with its unit masks; an empty text if these do not
 * have the id.  Returns and context: as upmu_event_format().
 */
size_t upmu_event_name(const struct upmu_pmu *pmu, struct upmu_event_id id, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
