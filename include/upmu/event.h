/* SPDX-License-Identifier: MIT */
/*
 * Events: from the text that a user types to register words, and back to a name.
 *
 * The text is specified in docs/EVENTS.md.
 */
#ifndef UPMU_EVENT_H
#define UPMU_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/pmu.h>
#include <upmu/status.h>

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
 * An event of one PMU.  A value: copy it freely.
 */
struct upmu_event {
    struct upmu_event_id id; /* all zero for raw words */
    uint64_t config;         /* select word without gate and interrupt bits */
    uint64_t config1;        /* payload of an extra register */
    uint64_t config2;        /* NetBurst: PEBS_ENABLE and MATRIX_VERT words, or UPMU_EVENT_AFTER + N; else 0 */
    uint32_t counters;       /* counters that catalogue, constraints and pin allow */
    uint32_t attributes;     /* UPMU_ATTR_… that were given, or defaults for os, usr */
    uint8_t pmu;             /* upmu_pmu.index of the PMU that it was encoded for */
    uint8_t payload;         /* backend's number of the payload register's kind, 0: none */
    uint8_t flags;           /* backend's */
    uint8_t flags1;          /* backend's, of config1; of a unit: not 0 where the text had a path (see `unit`) */
    uint8_t pin : 6;         /* counter, with UPMU_ATTR_PIN */
    uint8_t world : 2;       /* enum upmu_world that the text named, where the select has no bits for it */
    uint8_t least_log2 : 4;  /* shortest period programmed: 1 << least_log2 (an erratum) */
    uint8_t step_log2 : 4;   /* programmed periods are multiples of 1 << step_log2 */
    uint16_t unit;           /* of a unit: 1 + the number that the text named ("imc3/..."), or where it had a path 1 +
                                the first of the list's units with it; 0: none */
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

/* ---- Catalogues: the events of one PMU ---- */

/* The origin of a catalogue. */
enum upmu_source { UPMU_SOURCE_BUILT_IN = 0, UPMU_SOURCE_IMPORTED = 1 };

/* Row flags. */
#define UPMU_ROW_MASKED (1u << 0)     /* has unit masks to choose from; otherwise the code is complete */
#define UPMU_ROW_INV (1u << 1)        /* wired attributes of the row: */
#define UPMU_ROW_EDGE (1u << 2)
#define UPMU_ROW_ANY (1u << 3)
#define UPMU_ROW_CMASK (1u << 4)
#define UPMU_ROW_PAYLOAD (1u << 5)    /* `payload` is wired */
#define UPMU_ROW_FIXED_ONLY (1u << 6) /* pseudo code: a fixed counter only */
#define UPMU_ROW_PRECISE (1u << 7)    /* can be sampled precisely */
#define UPMU_ROW_PRECISE_ONLY (1u << 8)
#define UPMU_ROW_DEPRECATED (1u << 9)
#define UPMU_ROW_GENERIC (1u << 10)   /* a generic name that is no event name of the PMU */
#define UPMU_ROW_PAIR (1u << 11)      /* code and its twin (offcore: second code), see code2 */
#define UPMU_ROW_COMPOSED (1u << 12)  /* masked, but named and listed flat: EVENT.MASK.MASK */
#define UPMU_ROW_EQUAL (1u << 14)     /* wired: equality with the counter mask, not "at least" (Intel, leaf 23H) */
#define UPMU_ROW_REVISIONS (1u << 13) /* AMD: bits 15:8 of the unit mask, and the payload, limit it to revisions */

/* A row, unpacked. */
struct upmu_row {
    uint16_t code;      /* event code */
    uint16_t code2;     /* alternative code for the second payload register, or 0 */
    uint16_t umask;     /* bits of its unit mask */
    uint8_t cmask;      /* wired counter mask, 0: none */
    uint16_t flags;     /* UPMU_ROW_… */
    uint32_t counters;  /* general counters that the event file allows; 0: no restriction there */
    uint32_t msr;       /* payload register: 1A6h, 3F6h, 3F7h; of units UPMU_ROW_SELECT_HIGH, ..._FILTER; 0: none */
    uint64_t payload;   /* its value; without UPMU_ROW_PAYLOAD a default that may be replaced */
    uint8_t unit;       /* type of the unit outside the cores that counts it (upmu_unit_type.number); 0: a core */
    uint8_t mask_count; /* unit masks of a masked row, at most 32 */
};

/* Payload registers of rows of units: bits 63:32 of the select; the filter word, which is config1. */
#define UPMU_ROW_SELECT_HIGH 1u
#define UPMU_ROW_FILTER 2u

/* A unit mask of a masked row. */
struct upmu_mask {
    uint64_t bits;      /* ORed into umask (bits 15:0) or, with UPMU_MASK_PAYLOAD, payload */
    uint8_t group;      /* equal for masks of one group; masks of an exclusive group replace each other */
    uint8_t flags;      /* UPMU_MASK_… */
    uint8_t cmask;      /* wired counter mask, 0: none */
};
#define UPMU_MASK_DEFAULT (1u << 0)   /* used if no mask of its group is named */
#define UPMU_MASK_EXCLUSIVE (1u << 1) /* one mask of its group at a time */
#define UPMU_MASK_PAYLOAD (1u << 2)   /* bits go to the payload */
#define UPMU_MASK_REQUIRED (1u << 3)  /* one mask of its group is required */
#define UPMU_MASK_INV (1u << 4)       /* wired: the comparison with the counter mask is inverted */
#define UPMU_MASK_EDGE (1u << 5)      /* wired: edges are counted */
#define UPMU_MASK_ALONE (1u << 6)     /* excludes the other masks of its group */
#define UPMU_MASK_LAST (1u << 7)      /* excludes the groups that follow, with their defaults */

/* The catalogue of a PMU by name, or NULL.  Context: any. */
const struct upmu_catalog *upmu_catalog_find(const char *pmu_name);

/* The i-th built-in catalogue, or NULL after the last.  Context: any. */
const struct upmu_catalog *upmu_catalog_builtin(unsigned i);

/*
 * Check a packed file of catalogues from outside (tools/catalog_pack.py --blob): its checksum,
 * bounds and order, and that each name leads to its event and back.  The file belongs to the host,
 * and must stay unchanged while a PMU uses it: its headers are trusted from then on.  If other
 * bytes change all the same, between calls or during one, names and events may be wrong, but no
 * byte outside the file is read or written.  For a file that other software can write (a program, a
 * mapped file) use upmu_catalog_copy().  For a file of 10,000 names this takes about ten
 * milliseconds, and 2 KiB of stack.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (damaged, or no such file); UPMU_ERR_VERSION (for
 * another version of upmu); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_catalog_load(const void *file, size_t size);

/*
 * Copy a file to memory of the host, of any alignment, and check the copy.  Use the copy from then
 * on; `file` is no longer needed.
 *
 * Returns as upmu_catalog_load(), or UPMU_ERR_NO_SPACE (`room` is less than `size`).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_catalog_copy(void *to, size_t room, const void *file, size_t size);

/* The i-th catalogue of a file that was checked, or NULL after the last.  Context: any. */
const struct upmu_catalog *upmu_catalog_loaded(const void *file, unsigned i);

/*
 * Let a PMU use the catalogue of a checked file that is for its CPU, or otherwise the one with its
 * name.  Names are searched there first, then among the built-in ones.  `file` must stay unchanged
 * until the PMU no longer uses it; NULL ends the use.  Call it before events are encoded for the
 * PMU, and for each PMU of a machine.
 *
 * Returns UPMU_OK; UPMU_ERR_NO_SUCH_PMU (no catalogue of the file is for it);
 * UPMU_ERR_NOT_PERMITTED (pmu->refuses excludes catalogues from outside); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_pmu_import(struct upmu_pmu *pmu, const void *file);

/* The number of a catalogue, never 0: upmu_event_id.catalogue of its events.  Context: any. */
uint16_t upmu_catalog_number(const struct upmu_catalog *catalog);

/* The name of a catalogue, "skl": constant text, valid as long as the catalogue.  Context: any. */
const char *upmu_catalog_name(const struct upmu_catalog *catalog);

/* The origin of a catalogue.  Context: any. */
enum upmu_source upmu_catalog_source(const struct upmu_catalog *catalog);

/* The number of rows; they are numbered from 0.  Context: any. */
unsigned upmu_catalog_rows(const struct upmu_catalog *catalog);

/*
 * Find an event by name: exactly first, then folded (case; '-' '_' '.' ':' are equal).  An alias
 * gives the canonical id.
 *
 * Returns UPMU_OK or UPMU_ERR_NO_SUCH_EVENT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_catalog_lookup(const struct upmu_catalog *catalog, const char *name, size_t length,
                                     struct upmu_event_id *out_id);

/* Unpack a row; false if there is none.  Context: any. */
bool upmu_catalog_row(const struct upmu_catalog *catalog, unsigned row, struct upmu_row *out_row);

/* The type of the unit that counts the event of a row, as upmu_row.unit; 0: a core, or no such row.  Context: any. */
unsigned upmu_catalog_row_unit(const struct upmu_catalog *catalog, unsigned row);

/* Unpack unit mask `mask` of a masked row; false if there is none.  Context: any. */
bool upmu_catalog_mask(const struct upmu_catalog *catalog, unsigned row, unsigned mask, struct upmu_mask *out_mask);

/* Find a unit mask by (folded) name; false if there is none.  Context: any. */
bool upmu_catalog_mask_lookup(const struct upmu_catalog *catalog, unsigned row, const char *name, size_t length,
                              unsigned *out_mask);

/*
 * Canonical name of a row, without masks.
 *
 * Returns the whole length (0: no such row); at most `size` bytes including the NUL
 * are written.
 * Context: any.
 */
size_t upmu_catalog_row_name(const struct upmu_catalog *catalog, unsigned row, char *buffer, size_t size);

/* Name of unit mask `mask` of a masked row; returns as upmu_catalog_row_name().  Context: any. */
size_t upmu_catalog_mask_name(const struct upmu_catalog *catalog, unsigned row, unsigned mask, char *buffer,
                              size_t size);

/*
 * Walk the names of a catalogue in alphabetical order, aliases included; masked rows that are
 * listed flat (offcore responses) appear once per combination, all of them after the row's name.
 *
 * `*cursor`: begin with 0.  `glob`: '*' and '?', folded as in a lookup; NULL: all.
 * `out_alias` (may be NULL) says whether the name is an alias.
 * Returns UPMU_OK or UPMU_ERR_END.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_catalog_next(const struct upmu_catalog *catalog, const char *glob, uint32_t *cursor,
                                   struct upmu_event_id *out_id, char *buffer, size_t size, bool *out_alias);

/*
 * The id of an encoding: code, unit mask, wired attributes and payload of `row`. Of several rows
 * with one encoding, a flat row has priority over a masked row, then the first by name.  The limits
 * of AMD's rows to revisions are not compared.
 *
 * Returns UPMU_OK or UPMU_ERR_NO_SUCH_EVENT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_catalog_by_encoding(const struct upmu_catalog *catalog, const struct upmu_row *row,
                                          struct upmu_event_id *out_id);

/* The most similar name; false if no name is similar.  Context: any. */
bool upmu_catalog_nearest(const struct upmu_catalog *catalog, const char *name, size_t length,
                          struct upmu_event_id *out_id);

#ifdef __cplusplus
}
#endif

#endif
