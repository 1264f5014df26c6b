/* SPDX-License-Identifier: MIT */
/*
 * What the library keeps of units outside the cores, their boxes and the search for them (upmu/unit.h).
 */
#ifndef UPMU_PRIVATE_UNIT_H
#define UPMU_PRIVATE_UNIT_H

#include <stdint.h>
#include <upmu/config.h>
#include <upmu/private/cpu.h>

struct upmu_unit_info;

#define UPMU_UNIT_COUNTERS 17u /* of a box at most: 16 and the fixed one */

/* What the counters of a box held at the last look. */
struct upmu_box_history {
    /* private */
    uint64_t last[UPMU_UNIT_COUNTERS];
};

/* What searches have found out, besides the units. */
struct upmu_unit_search {
    /* private */
    uint8_t scanned;       /* configuration space was searched */
    uint8_t guest;         /* a hypervisor shows the units */
    uint16_t counts_at[8]; /* by die: 1 + the function that says how many boxes there are */
};

/*
 * A unit at work.  A box that vanishes meanwhile (all ones, or faults) or was reset makes counts UPMU_QUALITY_PARTIAL:
 * they have what the others counted and what was read of it, and never go back (docs/uncore.md has what cannot be
 * detected).  For open it need not be zeroed; for any other call on one that was never opened, zero it.  `box`,
 * meter.pmu and meter.cpu (the one that drives the unit, or NULL) may be read.
 */
struct upmu_unit {
    struct upmu_meter meter;
    const struct upmu_unit_info *box; /* the first */
    /* private */
    uint16_t boxes;
    uint8_t maps;               /* its boxes are mapped memory */
    uint8_t is_timed;           /* cost_ns is a measured one */
    uint32_t base, every;       /* turns: in each so many ticks; as asked for, and now */
    uint32_t ticks;             /* since a turn */
    uint32_t rotations;
    uint32_t cost_ns;           /* of a turn, smoothed */
    uint32_t tick_ns;           /* distance of ticks, smoothed, and the last one, where the port does not say */
    uint64_t last_ns;
    uint64_t folded_ns;         /* last poll */
    struct upmu_unit *next;     /* that the same CPU drives */
    struct upmu_unit *next_open;
    uint64_t registers[UPMU_BANK_WORDS(UPMU_UNIT_REGISTERS)];
};

#endif
