/* SPDX-License-Identifier: MIT */
/*
 * Event catalogues inside the library: the packed form of a catalogue, and functions that upmu/event.h does not
 * declare. docs/CATALOGUES.md specifies the form.
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
 * The numbers by which the architectural catalogue identifies its events: event, unit mask and modifiers, placed as in
 * the select of a counter of Intel (SDM vol 3, 20.2.1.2). Backends translate these numbers to events of their CPUs; the
 * backend of paravirtual PMUs translates them to the generic events of upmu/paravirt.h.
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

/* Bytes of the longest name of an event, with the names of its unit masks and the NUL. */
#define UPMU_CATALOG_NAME 121

/*
 * A catalogue, as its first packed bytes: it has no pointers and needs no initialisation. Catalogues lie in files (in
 * memory); bytes 8 to 11 say how many bytes before the catalogue its file begins. The file has the names.
 */
struct upmu_catalog {
    uint8_t byte[72];
};

/* Return the other name of a catalogue ("core2" for the catalogue "core"); "": the catalogue has only one name. */
static inline const char *upmu_catalog_other_name(const struct upmu_catalog *catalog)
{
    return (const char *)(catalog->byte + 60);
}

/*
 * The file of all built-in catalogues of cores, which tools/catalog_pack.py generates. A build that chooses some
 * catalogues (UPMU_EVENTS_ALL is 0) has each of them in a file of its own in place of this one.
 */
extern const uint8_t upmu_catalog_data[];

/* Return the i-th file (in memory) of catalogues of units outside the cores; NULL after the last. Context: any. */
#if UPMU_EVENTS_UNCORE
const uint8_t *upmu_catalog_units_at(unsigned i);
#else
static inline const uint8_t *upmu_catalog_units_at(unsigned i)
{
    (void)i;
    return NULL;
}
#endif

/*
 * Return the i-th file (in memory) of built-in catalogues, except the files of upmu_catalog_foreign_at(); NULL after
 * the last. Files of cores come first, then those of units. Context: any.
 */
#if UPMU_EVENTS_ALL
static inline const uint8_t *upmu_catalog_file_at(unsigned i)
{
    return i ? upmu_catalog_units_at(i - 1) : upmu_catalog_data;
}
#else
const uint8_t *upmu_catalog_file_at(unsigned i);
#endif

/*
 * Return the i-th file (in memory) of catalogues for other CPUs than x86's; NULL after the last. upmu_catalog_builtin()
 * counts these catalogues behind all others. Context: any.
 */
#if UPMU_FOREIGN
const uint8_t *upmu_catalog_foreign_at(unsigned i);
#endif

/*
 * Unpack the row of an id, and merge the id's unit masks and the default masks of groups without a named mask into it.
 * *out_masks, if `out_masks` is not NULL, receives all masks that were merged (bit n: unit mask n of the row).
 *
 * Returns UPMU_OK; UPMU_ERR_NO_SUCH_EVENT (the id is of another catalogue, or there is no such row);
 * UPMU_ERR_NO_SUCH_MASK; UPMU_ERR_MASKS_EXCLUSIVE; UPMU_ERR_MASK_REQUIRED; UPMU_ERR_CONTRADICTION (the wired counter
 * masks of two unit masks differ, or those of the row and a unit mask). Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_catalog_merge(const struct upmu_catalog *catalog, struct upmu_event_id id,
                                    struct upmu_row *out_row, uint32_t *out_masks);

/*
 * Write the name of an id: the names of its row and of its unit masks, each after a ':' (in a composed row the first of
 * a group after a '.'). upmu_catalog_lookup() of this name gives an id that means the same: default masks that are in
 * force without being named can be missing.
 *
 * Returns the whole length; 0: the id is of another catalogue, or there is no such row. At most `size` bytes including
 * the NUL are written. Context: any.
 */
size_t upmu_catalog_id_name(const struct upmu_catalog *catalog, struct upmu_event_id id, char *buffer, size_t size);

/*
 * core/catalog/catalog_cpu.c: return the name of the PMU that a catalogue is for; if the catalogue has none, its own
 * name. Context: any.
 */
const char *upmu_catalog_pmu(const struct upmu_catalog *catalog);

/*
 * Is a catalogue for the CPU of this PMU, by vendor, family, model, stepping, core type and native model? Context: any.
 */
bool upmu_catalog_serves(const struct upmu_catalog *catalog, const struct upmu_pmu *pmu);

/*
 * Return the PMU's imported catalogue if it has the id's catalogue number, else the PMU's built-in one. Context: any.
 */
const struct upmu_catalog *upmu_catalog_of(const struct upmu_pmu *pmu, struct upmu_event_id id);

/*
 * Is a catalogue the architectural one ("ix86arch")? x86 backends translate its events for their models. Context: any.
 */
bool upmu_catalog_is_architectural(const struct upmu_catalog *catalog);

/* Return the built-in catalogue for the CPU of a PMU; NULL: none is for that CPU. Context: any. */
const struct upmu_catalog *upmu_catalog_for(const struct upmu_pmu *pmu);

/*
 * Set family, model, stepping, core type and native model of a PMU to those of the first CPU that a catalogue names. A
 * catalogue that names no CPU changes nothing. Context: any.
 */
void upmu_catalog_first_cpu(const struct upmu_catalog *catalog, struct upmu_pmu *pmu);

/* As upmu_catalog_nearest(), and store the similar name, too, which may be an alias. Context: any. */
bool upmu_catalog_nearest_name(const struct upmu_catalog *catalog, const char *name, size_t length,
                               struct upmu_event_id *out_id, char out_name[UPMU_CATALOG_NAME]);

#endif
