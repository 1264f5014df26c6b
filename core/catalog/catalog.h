/* SPDX-License-Identifier: MIT */
/*
 * Event catalogues inside the library: the packed form and functions that event.h does not declare.
 * The form is specified in docs/CATALOGUES.md.
 */
#ifndef UPMU_CORE_CATALOG_H
#define UPMU_CORE_CATALOG_H

#include <stddef.h>
#include <stdint.h>
#include <upmu/catalogs.h>
#include <upmu/config.h>
#include <upmu/event.h>
#include <upmu/pmu.h>

/*
 * The words by which the architectural catalogue names its events: event, unit mask and modifiers as Intel defines them
 * (SDM vol 3, 20.2.1.2). Backends translate these words to events of their CPUs; guests and hosts number events by
 * these words.
 */
#define UPMU_WORD_CYCLES 0x003cu
#define UPMU_WORD_INSTRUCTIONS 0x00c0u
#define UPMU_WORD_BUS_CYCLES 0x013cu
#define UPMU_WORD_CACHE_REFERENCES 0x4f2eu
#define UPMU_WORD_CACHE_MISSES 0x412eu
#define UPMU_WORD_BRANCHES 0x00c4u
#define UPMU_WORD_BRANCH_MISSES 0x00c5u
#define UPMU_WORD_REF_CYCLES 0x0300u
#define UPMU_WORD_FRONTEND 0x0180010eu
#define UPMU_WORD_BACKEND 0x018001b1u

/* Bytes of the longest name, with the names of its masks and the NUL. */
#define UPMU_CATALOG_NAME 121

/*
 * A catalogue is its packed bytes: it has no pointers and needs no initialisation. Bytes 8 to 11 say how many bytes
 * before the catalogue its file begins; the file has the names.
 */
struct upmu_catalog {
    uint8_t byte[72];
};

/* The second name of a catalogue's PMU ("core2"), or "". */
static inline const char *upmu_catalog_other_name(const struct upmu_catalog *catalog)
{
    return (const char *)(catalog->byte + 60);
}

/*
 * Files that tools/catalog_pack.py generates: the built-in catalogues of cores, all in one file or each in its own, and
 * those of units outside the cores.
 */
extern const uint8_t upmu_catalog_data[];

/* Return the i-th file of catalogues of units outside the cores, NULL after the last. Context: any. */
#if UPMU_EVENTS_UNCORE
const uint8_t *upmu_catalog_units_at(unsigned i);
#else
static inline const uint8_t *upmu_catalog_units_at(unsigned i)
{
    (void)i;
    return NULL;
}
#endif

/* Return the i-th file of built-in catalogues, NULL after the last; the files of cores are first. Context: any. */
#if UPMU_EVENTS_ALL
static inline const uint8_t *upmu_catalog_file_at(unsigned i)
{
    return i ? upmu_catalog_units_at(i - 1) : upmu_catalog_data;
}
#else
const uint8_t *upmu_catalog_file_at(unsigned i);
#endif

/*
 * Return the i-th file of catalogues for other CPUs than x86's, NULL after the last; they are listed last. Context:
 * any.
 */
#if UPMU_FOREIGN
const uint8_t *upmu_catalog_foreign_at(unsigned i);
#endif

/*
 * Unpack the row of an id, and merge its unit masks and the defaults of groups without a named mask
 * into it.  `out_masks`, if not NULL, receives all masks used.
 *
 * Returns UPMU_OK; UPMU_ERR_NO_SUCH_EVENT (no such row); UPMU_ERR_NO_SUCH_MASK;
 * UPMU_ERR_MASKS_EXCLUSIVE; UPMU_ERR_MASK_REQUIRED; UPMU_ERR_CONTRADICTION (masks
 * with different wired counter masks).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_catalog_merge(const struct upmu_catalog *catalog, struct upmu_event_id id,
                                    struct upmu_row *out_row, uint32_t *out_masks);

/*
 * Write the name of an id: the names of its row and of its masks, joined by ':' (by '.' for a composed row).
 * upmu_catalog_lookup() finds the same id by this name.
 *
 * Returns the whole length; 0: there is no such row. At most `size` bytes including the NUL are written. Context: any.
 */
size_t upmu_catalog_id_name(const struct upmu_catalog *catalog, struct upmu_event_id id, char *buffer, size_t size);

/* core/catalog/catalog_cpu.c: return the name of the PMU that a catalogue is for. Context: any. */
const char *upmu_catalog_pmu(const struct upmu_catalog *catalog);

/* Is a catalogue for the CPU of this PMU: its family, model, stepping, core type? Context: any. */
bool upmu_catalog_serves(const struct upmu_catalog *catalog, const struct upmu_pmu *pmu);

/* Return the catalogue of a PMU that an id belongs to: the imported one or the built-in one. Context: any. */
const struct upmu_catalog *upmu_catalog_of(const struct upmu_pmu *pmu, struct upmu_event_id id);

/* Are the rows of a catalogue architectural events, which a backend translates for its models? Context: any. */
bool upmu_catalog_is_architectural(const struct upmu_catalog *catalog);

/* Return the built-in catalogue for the CPU of a PMU; NULL: no catalogue is for that CPU. Context: any. */
const struct upmu_catalog *upmu_catalog_for(const struct upmu_pmu *pmu);

/* Set family, model, ... of a PMU to the first CPU that a catalogue names, if the catalogue names any. Context: any. */
void upmu_catalog_first_cpu(const struct upmu_catalog *catalog, struct upmu_pmu *pmu);

/* Do as upmu_catalog_nearest(), and store the similar name as well, which may be an alias. Context: any. */
bool upmu_catalog_nearest_name(const struct upmu_catalog *catalog, const char *name, size_t length,
                               struct upmu_event_id *out_id, char out_name[UPMU_CATALOG_NAME]);

#endif
