/* SPDX-License-Identifier: MIT */
/*
 * The uncore backend: types of units from packed tables, their events and registers, and how units are found.
 * Contracts of the backend's functions are those of struct upmu_backend.  docs/uncore.md.
 *
 * An event's `config` is its select register without the enable bit.  `config1` and `config2` are the filters: one has
 * config1; two have its halves; four have the halves of both words.
 */
#ifndef UPMU_UNCORE_H
#define UPMU_UNCORE_H

#include "core/hw/unit_backend.h"

#if UPMU_UNCORE

/* upmu_unit_type.quirks */
#define UPMU_UNCORE_FIXED_ENABLE_0 0x0001u /* bit 0 enables the fixed counter, not enable_bit */
#define UPMU_UNCORE_FIXED_GATE_31 0x0002u  /* gate of the fixed counter in the enable register, not bit 32 */
#define UPMU_UNCORE_GATE_28 0x0004u        /* gate of counter 0 there */
#define UPMU_UNCORE_ABSOLUTE 0x0008u       /* `control` is an MSR, whose bits control_idle must be set */
#define UPMU_UNCORE_FREEZE_ENABLE 0x0010u  /* box control reads as 0; bit 16 lets it freeze */
#define UPMU_UNCORE_SECOND_FIXED 0x0040u   /* the fixed counter is at the second base */
#define UPMU_UNCORE_SECOND_FILTERS 0x0080u /* the filters are */
#define UPMU_UNCORE_BANDS 0x0100u          /* events 0Bh to 0Eh count with the filter's byte 0 to 3, each with any */
#define UPMU_UNCORE_SELECT_32 0x0200u      /* memory: selects and box control have 32 bits, counters 64 */
#define UPMU_UNCORE_COUNTER_32 0x0400u     /* memory: counters have 32 bits */
#define UPMU_UNCORE_SATURATES 0x0800u      /* counters stop at their end */
#define UPMU_UNCORE_SLICES_17H 0x1000u     /* AMD L3: slices and threads default to all, families 17h and 18h */
#define UPMU_UNCORE_SLICES_19H 0x2000u     /* the same, later families */
#define UPMU_UNCORE_WIDE_STEP 0x4000u      /* memory: selects have 64 bits */
#define UPMU_UNCORE_GROWING_RESET 0x8000u  /* the engine's UPMU_UNIT_GROWING_RESET */

/* Offsets of a unit whose layout a table of discovery gives.  (Without holes: it is compared as a whole.) */
struct upmu_uncore_found {
    uint16_t control;        /* PCI: offset of the unit's control */
    uint16_t type;           /* its number in the table */
    uint8_t select, counter; /* from the unit's control */
    uint8_t counters, width;
    uint16_t space;
};

/* The PMU of a built-in type: row of a generation.  `found`: what a table of discovery says, or NULL. */
void upmu_uncore_make(unsigned generation, unsigned row, const struct upmu_uncore_found *found,
                      struct upmu_uncore_pmu *out);

/* The i-th generation of a CPU, or -1: the next ones add to it. */
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

/* The bits of resources, a mask of their numbers: out[0] in config1, out[1] in config2. */
void upmu_uncore_resource_bits(const struct upmu_pmu *pmu, unsigned resources, uint64_t out[2]);

static inline const struct upmu_uncore_pmu *upmu_uncore_of(const struct upmu_pmu *pmu)
{
    return (const struct upmu_uncore_pmu *)(const void *)pmu;
}

#endif

#endif
