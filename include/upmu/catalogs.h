/* SPDX-License-Identifier: MIT */
/*
 * Catalogues: the events of one PMU by name, built in or imported.
 */
#ifndef UPMU_CATALOGS_H
#define UPMU_CATALOGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/event.h>

#ifdef __cplusplus
extern "C" {
#endif

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
