/* SPDX-License-Identifier: MIT */
/*
 * Declarations for the files that find units.
 */
#ifndef UPMU_UNCORE_FIND_H
#define UPMU_UNCORE_FIND_H

#include "backends/uncore/uncore_tables.h"

#if UPMU_UNCORE

/* Accesses of one upmu_uncore_find(), at most: a damaged table ends here. */
#define UPMU_UNCORE_ACCESSES 100000u

#define UPMU_UNCORE_BUSES 256u
#define UPMU_UNCORE_NO_DIE 0xffu

struct upmu_uncore_finder {
    struct upmu_uncore_seen *seen;
    struct upmu_unit_list *list;
    unsigned first; /* unit that was added first */
    unsigned generation;
    bool full, damaged;
    uint8_t empty[UPMU_UNCORE_BUSES / 8];
    uint8_t die_of[UPMU_UNCORE_BUSES]; /* die of a bus, or UPMU_UNCORE_NO_DIE */
};

/* ---- uncore_finder.c ---- */

/* False: it is absent (all ones), or cannot be read. */
bool upmu_uncore_pci(struct upmu_uncore_finder *finder, uint32_t where, uint32_t offset, uint32_t *out_value);
bool upmu_uncore_msr(struct upmu_uncore_finder *finder, uint32_t msr, bool promised, uint64_t *out_value);
bool upmu_uncore_memory(struct upmu_uncore_finder *finder, const void *pointer, unsigned bits, uint64_t *out_value);

/* Does memory answer? */
bool upmu_uncore_answers(struct upmu_uncore_finder *finder, uint64_t physical, unsigned bits);

void *upmu_uncore_map(struct upmu_uncore_finder *finder, uint64_t physical, size_t bytes);
void upmu_uncore_unmap(struct upmu_uncore_finder *finder, void *pointer, size_t bytes);

/* Something is wrong, at an address. */
void upmu_uncore_fail(struct upmu_uncore_finder *finder, const char *failure, uint64_t at);

/* Add a box of a built-in type; a box that is there already is not added again.  Its PMU, or NULL: there is no room. */
struct upmu_uncore_pmu *upmu_uncore_add(struct upmu_uncore_finder *finder, unsigned row,
                                        const struct upmu_uncore_found *found, const struct upmu_unit_info *box);

/* The place of a die by its number in the machine. */
void upmu_uncore_place(const struct upmu_uncore_finder *finder, unsigned die, struct upmu_unit_info *box);

/* ---- uncore_discovery.c ---- */

/* A PCI function with a table of discovery, or a table by its address; a die as upmu_uncore_finder.die_of has it. */
void upmu_uncore_find_table(struct upmu_uncore_finder *finder, uint32_t where);
void upmu_uncore_read_table(struct upmu_uncore_finder *finder, uint64_t physical, uint8_t package, uint8_t die);

#endif

#endif
