/* SPDX-License-Identifier: MIT */
/*
 * Catalogues: the events of one PMU model by name.  A catalogue is built in or imported.  A row of a catalogue is one
 * event.
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

/* The origin of a catalogue: a table of the library, or a file that the host gave (upmu_catalog_load()). */
enum upmu_source { UPMU_SOURCE_BUILT_IN = 0, UPMU_SOURCE_IMPORTED = 1 };

/* Flags of a row.  A wired attribute or value is part of the event itself, and not given by the text. */
#define UPMU_ROW_MASKED (1u << 0)     /* the row has unit masks to choose from; not set: the row is flat, complete */
/* UPMU_ATTR_INV is wired; the next three flags likewise, for edge, any and counter mask */
#define UPMU_ROW_INV (1u << 1)
#define UPMU_ROW_EDGE (1u << 2)
#define UPMU_ROW_ANY (1u << 3)
#define UPMU_ROW_CMASK (1u << 4)
#define UPMU_ROW_PAYLOAD (1u << 5)    /* `payload` is wired */
/* the code is a pseudo code: a fixed counter, or a top-down metric, has the event, and no general counter */
#define UPMU_ROW_FIXED_ONLY (1u << 6)
#define UPMU_ROW_PRECISE (1u << 7)    /* the event can be sampled precisely */
#define UPMU_ROW_PRECISE_ONLY (1u << 8)
#define UPMU_ROW_DEPRECATED (1u << 9)
#define UPMU_ROW_GENERIC (1u << 10)   /* the name is a generic one, and not the PMU's own name of the event */
#define UPMU_ROW_PAIR (1u << 11)      /* the event has a second code (off-core response): code2 */
#define UPMU_ROW_COMPOSED (1u << 12)  /* a masked row that is named and listed as flat ones: EVENT.MASK.MASK */
/* wired: count if the number of events is equal to the counter mask, not at least as great (Intel, leaf 23H) */
#define UPMU_ROW_EQUAL (1u << 14)
#define UPMU_ROW_REVISIONS (1u << 13) /* AMD: bits 15:8 of `umask`, and `payload`, say which revisions have the event */

/* A row, unpacked. */
struct upmu_row {
    uint16_t code;      /* event code */
    uint16_t code2;     /* code that selects the second payload register in place of the first, or 0 */
    uint16_t umask;     /* bits of the unit mask */
    uint8_t cmask;      /* wired counter mask (threshold of the count per cycle); 0: none */
    uint16_t flags;     /* UPMU_ROW_… */
    uint32_t counters;  /* mask: general counters that the event file allows; 0: the file says nothing */
    /*
     * of cores: address of the payload register (1A6h, 3F6h, 3F7h); of units: UPMU_ROW_SELECT_HIGH, ..._FILTER; 0: no
     * payload
     */
    uint32_t msr;
    uint64_t payload;   /* value of the payload register; without UPMU_ROW_PAYLOAD a default that a text may replace */
    uint8_t unit;       /* upmu_unit_type.number of the type of unit that counts the event; 0: a core counts it */
    uint8_t mask_count; /* number of unit masks of a masked row, at most 32 */
};

/* Values of upmu_row.msr for events of units: bits 63:32 of the select; the filter word, which is config1. */
#define UPMU_ROW_SELECT_HIGH 1u
#define UPMU_ROW_FILTER 2u

/* A unit mask of a masked row (UPMU_ROW_MASKED), unpacked. */
struct upmu_mask {
    uint64_t bits;      /* bits ORed into upmu_row.umask (bits 15:0) or, with UPMU_MASK_PAYLOAD, into .payload */
    uint8_t group;      /* number of the mask's group: a mask that is named replaces the defaults of its group */
    uint8_t flags;      /* UPMU_MASK_… */
    uint8_t cmask;      /* counter mask that is wired with this unit mask; 0: none */
};
#define UPMU_MASK_DEFAULT (1u << 0)   /* the mask is used if no mask of its group is named */
#define UPMU_MASK_EXCLUSIVE (1u << 1) /* only one mask of the group can be used */
#define UPMU_MASK_PAYLOAD (1u << 2)   /* `bits` are ORed into the payload, not into the unit mask */
#define UPMU_MASK_REQUIRED (1u << 3)  /* a text must name some mask of the group */
#define UPMU_MASK_INV (1u << 4)       /* wired: cycles count if the number of events is below the counter mask */
#define UPMU_MASK_EDGE (1u << 5)      /* wired: edges are counted */
#define UPMU_MASK_ALONE (1u << 6)     /* the mask excludes the other masks of its group */
#define UPMU_MASK_LAST (1u << 7)      /* the mask excludes the masks of all groups that follow, their defaults, too */

/*
 * Return the built-in catalogue that has the name `pmu_name`, of a PMU model or of some CPUs of a model; NULL: there is
 * none.  Context: any.
 */
const struct upmu_catalog *upmu_catalog_find(const char *pmu_name);

/* Return built-in catalogue number i, from 0 on; NULL after the last.  Context: any. */
const struct upmu_catalog *upmu_catalog_builtin(unsigned i);

/*
 * Check a packed file of catalogues from outside (tools/catalog_pack.py --blob): its checksum, bounds and order, and
 * that each name leads to its event, and each event's own name back.  The file belongs to the host, and must stay
 * unchanged while a PMU uses it: later calls trust its headers.  If other bytes of the file change nevertheless,
 * between calls or during one, names and events may be wrong, but no byte outside the file is read or written.  For a
 * file that other software can write (a program, a mapped file) use upmu_catalog_copy().  The check of a file of
 * 10,000 names takes about ten milliseconds, and 2 KiB of stack.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (damaged, no such file, or more than 16 MiB); UPMU_ERR_VERSION (for another version
 * of upmu); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_catalog_load(const void *file, size_t size);

/*
 * Copy a file to memory of the host and check the copy as upmu_catalog_load() does.  `to` has `room` bytes, of any
 * alignment.  Use the copy from then on; `file` is no longer needed.
 *
 * Returns as upmu_catalog_load(), or UPMU_ERR_NO_SPACE (`room` is less than `size`).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_catalog_copy(void *to, size_t room, const void *file, size_t size);

/* Return catalogue number i, from 0 on, of a file that was checked; NULL after the last.  Context: any. */
const struct upmu_catalog *upmu_catalog_loaded(const void *file, unsigned i);

/*
 * Let a PMU use a catalogue of a checked file: the catalogue that is for the PMU's CPU, or, if the file has none, the
 * catalogue with the name of the PMU or of its built-in catalogue.  Names of events are searched there first, then in
 * the built-in catalogue.  `file` must stay unchanged until the PMU no longer uses it; `file` NULL ends the use.  Call
 * it before events are encoded for the PMU, and for each PMU of a machine.
 *
 * Returns UPMU_OK; UPMU_ERR_NO_SUCH_PMU (no catalogue of the file is for it);
 * UPMU_ERR_NOT_PERMITTED (pmu->refuses excludes catalogues from outside); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_pmu_import(struct upmu_pmu *pmu, const void *file);

/* Return the number of a catalogue, never 0: upmu_event_id.catalogue of its events.  Context: any. */
uint16_t upmu_catalog_number(const struct upmu_catalog *catalog);

/* Return the name of a catalogue, "skl": constant text, valid as long as the catalogue.  Context: any. */
const char *upmu_catalog_name(const struct upmu_catalog *catalog);

/* Return the origin of a catalogue: built in, or from a checked file.  Context: any. */
enum upmu_source upmu_catalog_source(const struct upmu_catalog *catalog);

/* Return the number of rows of a catalogue; rows are numbered from 0.  Context: any. */
unsigned upmu_catalog_rows(const struct upmu_catalog *catalog);

/*
 * Find an event by its name of `length` bytes: first a name that is equal; then a name that differs only in the case of
 * letters and in the separators '-' '_' '.' ':'.  Names of unit masks may follow that of a masked row: then
 * out_id->masks has these masks.  For an alias *out_id becomes the id of the canonical name.
 *
 * Returns UPMU_OK or UPMU_ERR_NO_SUCH_EVENT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_catalog_lookup(const struct upmu_catalog *catalog, const char *name, size_t length,
                                     struct upmu_event_id *out_id);

/* Unpack a row; false: the catalogue has no row of this number.  Context: any. */
bool upmu_catalog_row(const struct upmu_catalog *catalog, unsigned row, struct upmu_row *out_row);

/* Return upmu_row.unit of a row, the type of unit that counts the event; 0: a core, or no such row.  Context: any. */
unsigned upmu_catalog_row_unit(const struct upmu_catalog *catalog, unsigned row);

/* Unpack unit mask number `mask`, from 0 on, of a masked row; false: the row has no such mask.  Context: any. */
bool upmu_catalog_mask(const struct upmu_catalog *catalog, unsigned row, unsigned mask, struct upmu_mask *out_mask);

/* Find the number of a row's unit mask by its name; case and separators do not matter.  False: the row has no such
   mask.  Context: any. */
bool upmu_catalog_mask_lookup(const struct upmu_catalog *catalog, unsigned row, const char *name, size_t length,
                              unsigned *out_mask);

/*
 * Write the canonical name of a row, without unit masks.
 *
 * Returns the length of the whole text without the NUL (0: no such row); at most `size` bytes including the NUL are
 * written.
 * Context: any.
 */
size_t upmu_catalog_row_name(const struct upmu_catalog *catalog, unsigned row, char *buffer, size_t size);

/* Write the name of unit mask number `mask` of a masked row.  Returns and context: as upmu_catalog_row_name(). */
size_t upmu_catalog_mask_name(const struct upmu_catalog *catalog, unsigned row, unsigned mask, char *buffer,
                              size_t size);

/*
 * Get the next name of a catalogue, in alphabetical order, aliases included.  A masked row that is listed flat
 * (UPMU_ROW_COMPOSED, off-core responses) has its own name, and after that a name for each combination of its masks.
 *
 * `*cursor` is where to continue; set it to 0 before the first call.  `glob` is a pattern with '*' and '?', for which
 * case and separators do not matter; NULL: all names.  `buffer` gets at most `size` bytes of the name including the
 * NUL.  *out_alias (`out_alias` may be NULL) becomes true if the name is an alias.
 * Returns UPMU_OK, or UPMU_ERR_END after the last name.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_catalog_next(const struct upmu_catalog *catalog, const char *glob, uint32_t *cursor,
                                   struct upmu_event_id *out_id, char *buffer, size_t size, bool *out_alias);

/*
 * Find the event that has an encoding: code, unit mask, wired attributes and payload of `row`.  Of several rows with
 * the same encoding, a flat row has priority over a masked row, then the row whose name is first.  The
 * revisions of AMD's rows with UPMU_ROW_REVISIONS are not compared.
 *
 * Returns UPMU_OK or UPMU_ERR_NO_SUCH_EVENT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_catalog_by_encoding(const struct upmu_catalog *catalog, const struct upmu_row *row,
                                          struct upmu_event_id *out_id);

/* Find the event whose name is most similar to a text; false: no name is similar.  Context: any. */
bool upmu_catalog_nearest(const struct upmu_catalog *catalog, const char *name, size_t length,
                          struct upmu_event_id *out_id);

#ifdef __cplusplus
}
#endif

#endif
