/* SPDX-License-Identifier: MIT */
/*
 * The uncore backend: types of units from packed tables, their events and registers, and how units are found. Contracts
 * of the backend's functions are those of struct upmu_backend. docs/uncore.md.
 *
 * An event's `config` is the value of its select register without the enable bit. `config1` and `config2` hold the
 * values of filter registers, whose number depends on the type: one is config1; two are the halves of config1; four are
 * the halves of both words.
 */
#ifndef UPMU_UNCORE_H
#define UPMU_UNCORE_H

#include "core/hw/unit_backend.h"

#if UPMU_UNCORE

/* Bits of upmu_unit_type.quirks (also in upmu_pmu.quirks of a unit's PMU) */
#define UPMU_UNCORE_FIXED_ENABLE_0 0x0001u /* bit 0 of the fixed counter's select enables it, not bit 22 */
#define UPMU_UNCORE_FIXED_GATE_31 0x0002u  /* the fixed counter's gate in the enable register is bit 31, not bit 32 */
/* no counter of the package's boxes counts unless bit 28 of MSR C00h, the U-box's control, is set (Nehalem-EX) */
#define UPMU_UNCORE_SWITCH_28 0x0004u
/* `control` is the number of an MSR that several types share; its bits control_idle must be set */
#define UPMU_UNCORE_ABSOLUTE 0x0008u
#define UPMU_UNCORE_FREEZE_ENABLE 0x0010u  /* box control reads as 0; its bit 16, always set, allows freezing */
#define UPMU_UNCORE_SECOND_FIXED 0x0040u   /* the fixed counter is at upmu_unit_info.second */
#define UPMU_UNCORE_SECOND_FILTERS 0x0080u /* upmu_unit_type.filter[] are offsets from upmu_unit_info.second */
#define UPMU_UNCORE_BANDS 0x0100u          /* events 0Bh to 0Eh count by byte 0 to 3 of the filter: see has_band() */
#define UPMU_UNCORE_SELECT_32 0x0200u      /* of units in memory: selects have 32 bits */
#define UPMU_UNCORE_COUNTER_32 0x0400u     /* of units in memory: counters have 32 bits */
#define UPMU_UNCORE_SATURATES 0x0800u      /* counters stay at their greatest value and do not wrap */
#define UPMU_UNCORE_SLICES_17H 0x1000u     /* AMD L3, families 17h and 18h: all slices and threads by default */
#define UPMU_UNCORE_SLICES_19H 0x2000u     /* AMD L3, later families: all slices, cores and threads by default */
#define UPMU_UNCORE_WIDE_STEP 0x4000u      /* of units in memory: selects have 64 bits */
#define UPMU_UNCORE_GROWING_RESET 0x8000u  /* UPMU_UNIT_GROWING_RESET of upmu/unit.h */

/*
 * The layout of a unit, as a table of discovery (the processor's own list of its units) describes it. The structure has
 * no holes, because it is compared as a whole.
 */
struct upmu_uncore_found {
    uint16_t control;        /* PCI: offset of the box control in the function; else 0 */
    uint16_t type;           /* number of the unit's type in the table */
    uint8_t select, counter; /* of selects and counters: offsets from the box control */
    uint8_t counters, width;
    uint16_t space;
};

/*
 * Make the PMU of a built-in type: row `row` of upmu_uncore_rows, for a generation. `found`: what a table of discovery
 * says of the type; NULL: nothing, which is not permitted for the row of rule OTHER.
 */
void upmu_uncore_make(unsigned generation, unsigned row, const struct upmu_uncore_found *found,
                      struct upmu_uncore_pmu *out);

/*
 * Return the index in upmu_uncore_generations of the i-th generation for a CPU; -1: there are no more. A later
 * generation adds types to those of the first.
 */
int upmu_uncore_generation_of(bool amd, unsigned family, unsigned model, unsigned stepping, unsigned i);

#if UPMU_NAMES
enum upmu_status upmu_uncore_attribute(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                       size_t length, const uint64_t *value);
enum upmu_status upmu_uncore_from_row(const struct upmu_pmu *pmu, const struct upmu_row *row, struct upmu_event *event);
void upmu_uncore_format(const struct upmu_pmu *pmu, const struct upmu_event *event, const struct upmu_row *row,
                        struct upmu_text *out);
#endif
enum upmu_status upmu_uncore_finish(const struct upmu_pmu *pmu, struct upmu_event *event);

bool upmu_uncore_alternative(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread, unsigned i,
                             struct upmu_alternative *out);
void upmu_uncore_render(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned alternative,
                        const uint8_t *counters, unsigned flags, struct upmu_image *image);
void upmu_uncore_release(const struct upmu_pmu *pmu, uint32_t counters, struct upmu_image *image);

/*
 * Store the bits of a mask of resources in the words of an event: out[0] has those in config1, out[1] those in config2.
 */
void upmu_uncore_resource_bits(const struct upmu_pmu *pmu, unsigned resources, uint64_t out[2]);

static inline const struct upmu_uncore_pmu *upmu_uncore_of(const struct upmu_pmu *pmu)
{
    return (const struct upmu_uncore_pmu *)(const void *)pmu;
}

#endif

#endif
