/* SPDX-License-Identifier: MIT */
/*
 * The library's state of units outside the cores, of their boxes and of the search for them (upmu/unit.h).
 */
#ifndef UPMU_PRIVATE_UNIT_H
#define UPMU_PRIVATE_UNIT_H

#include <stdint.h>
#include <upmu/config.h>
#include <upmu/private/cpu.h>

struct upmu_unit_info;

#define UPMU_UNIT_COUNTERS 17u /* counters of a box, at most: 16 general ones and the fixed one */

/* The values of a box's counters at the last look: general counter n in last[n], the fixed one in last[16]. */
struct upmu_box_history {
    /* private */
    uint64_t last[UPMU_UNIT_COUNTERS];
};

/* Facts that the calls of upmu_units_find() have found out, besides the units. */
struct upmu_unit_search {
    /* private */
    uint8_t scanned;       /* PCI configuration space was searched */
    uint8_t guest;         /* the search was made under a hypervisor */
    uint16_t counts_at[8]; /* by die: 1 + `where` of the PCI function with the number of boxes (upmu/port.h); 0: none */
};

/*
 * A unit at work.  A box that vanishes meanwhile (all ones, or faults) or was reset makes counts UPMU_QUALITY_PARTIAL:
 * they have what the others counted and what was read of it, and never go back (docs/uncore.md has what cannot be
 * detected).  For open it need not be zeroed; for any other call on one that was never opened, zero it.  `box`,
 * meter.pmu and meter.cpu (the one that drives the unit, or NULL) may be read.
 */
struct upmu_unit {
    struct upmu_meter meter;
    const struct upmu_unit_info *box; /* its first box; the others stand behind it in the list of units */
    /* private */
    uint16_t boxes;             /* number of its boxes */
    uint8_t maps;               /* its boxes are mapped memory */
    uint8_t is_timed;           /* cost_ns was measured */
    uint32_t base, every;       /* ticks from one rotation of sessions to the next: as asked for; as they are now */
    uint32_t ticks;             /* ticks since the last rotation */
    uint32_t rotations;         /* rotations that changed what runs, so far */
    uint32_t cost_ns;           /* time that a rotation takes, smoothed */
    uint32_t tick_ns;           /* time between two ticks, smoothed, as measured */
    uint64_t last_ns;           /* time of the last tick */
    uint64_t folded_ns;         /* time of the last upmu_unit_fold() */
    struct upmu_unit *next;     /* next unit that the same CPU drives (upmu_cpu.units) */
    struct upmu_unit *next_open; /* next unit in the list upmu_machine.open_units */
    uint64_t registers[UPMU_BANK_WORDS(UPMU_UNIT_REGISTERS)];
};

#endif
