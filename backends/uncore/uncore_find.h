/* SPDX-License-Identifier: MIT */
/*
 * The state of one search for units, and the functions that the files of the search call: uncore_find.c,
 * uncore_finder.c, uncore_discovery.c and uncore_reading.c.
 */
#ifndef UPMU_UNCORE_FIND_H
#define UPMU_UNCORE_FIND_H

#include "backends/uncore/uncore_tables.h"

#if UPMU_UNCORE

/* The most accesses of one upmu_uncore_find(), so that a damaged table cannot keep the search busy without end. */
#define UPMU_UNCORE_ACCESSES 100000u

#define UPMU_UNCORE_BUSES 256u
#define UPMU_UNCORE_NO_DIE 0xffu

struct upmu_uncore_finder {
    struct upmu_uncore_seen *seen;
    struct upmu_unit_list *list;
    unsigned generation;
    bool full, damaged;
    uint8_t empty[UPMU_UNCORE_BUSES / 8];
    uint8_t die_of[UPMU_UNCORE_BUSES]; /* by bus: number of the die in the machine, or UPMU_UNCORE_NO_DIE */
};

/* ---- uncore_finder.c ---- */

/*
 * Read 32 bits of a PCI function, an MSR, or memory of 32 or 64 bits. Returns false: the register cannot be read, or
 * there were too many accesses. upmu_uncore_pci() also returns false where it reads all ones: the function or register
 * is absent.
 */
bool upmu_uncore_pci(struct upmu_uncore_finder *finder, uint32_t where, uint32_t offset, uint32_t *out_value);
bool upmu_uncore_msr(struct upmu_uncore_finder *finder, uint32_t msr, bool promised, uint64_t *out_value);
bool upmu_uncore_memory(struct upmu_uncore_finder *finder, const void *pointer, unsigned bits, uint64_t *out_value);

/* Can `bits` (32 or 64) of memory at a physical address be mapped and read, and is the value not all ones? */
bool upmu_uncore_answers(struct upmu_uncore_finder *finder, uint64_t physical, unsigned bits);

void *upmu_uncore_map(struct upmu_uncore_finder *finder, uint64_t physical, size_t bytes);
void upmu_uncore_unmap(struct upmu_uncore_finder *finder, void *pointer, size_t bytes);

/*
 * Note that the list of units is incomplete. Text and place of the search's first failure are kept for the caller.
 * `at`: a physical address, or the `where` or the device id of a PCI function, by the text; 0: there is no place.
 */
void upmu_uncore_fail(struct upmu_uncore_finder *finder, const char *failure, uint64_t at);

/*
 * Add a box of a built-in type, unless the list has the box already, or has a box whose registers share bytes with
 * those of this box. Returns the PMU of the box, also if there is no room for the box (finder->full); NULL: there is no
 * room for the PMU (finder->full), or the registers that `found` says cannot be right.
 */
struct upmu_uncore_pmu *upmu_uncore_add(struct upmu_uncore_finder *finder, unsigned row,
                                        const struct upmu_uncore_found *found, const struct upmu_unit_info *box);

/*
 * Set package and die of a box by the number that the die has in the machine; UPMU_UNCORE_NO_DIE: by those of the
 * executing CPU.
 */
void upmu_uncore_place(const struct upmu_uncore_finder *finder, unsigned die, struct upmu_unit_info *box);

/* Return a box at a base on the die of the executing CPU. */
struct upmu_unit_info upmu_uncore_here(const struct upmu_uncore_finder *finder, uint64_t base, unsigned number);

/* Leave the PMU of a type only the counters of a mask: remove all others and their registers. */
void upmu_uncore_keep(struct upmu_uncore_pmu *uncore, uint32_t counters);

/* ---- uncore_reading.c ---- */

/* Add the unit of a row with the rule READING or READING_PACKAGE, if one of its registers can be read. */
void upmu_uncore_find_readings(struct upmu_uncore_finder *finder, unsigned row);

/* ---- uncore_discovery.c ---- */

/*
 * Add the units of a table of discovery: of a PCI function that has one, or of a table at a physical address. `package`
 * and `die`: where the boxes of the table are.
 */
void upmu_uncore_find_table(struct upmu_uncore_finder *finder, uint32_t where);
void upmu_uncore_read_table(struct upmu_uncore_finder *finder, uint64_t physical, uint8_t package, uint8_t die);

/*
 * Remove cache slices of the executing CPU's die that a table lists and that do not exist, also if an earlier search
 * has found them.
 */
void upmu_uncore_drop_slices(struct upmu_uncore_finder *finder);

#endif

#endif
