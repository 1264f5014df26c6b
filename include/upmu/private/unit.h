/* SPDX-License-Identifier: MIT */
/*
 * The library's state of units outside the cores, of their boxes and of the search for them (upmu/unit.h).
 */
#ifndef UPMU_PRIVATE_UNIT_H
#define UPMU_PRIVATE_UNIT_H

#include <stdbool.h>
#include <stdint.h>
#include <upmu/config.h>
#include <upmu/private/cpu.h>

struct upmu_unit_info;

#define UPMU_UNIT_COUNTERS 17u /* the most counters of a box: 16 general ones and the fixed one */

/*
 * The values that a box's counters had when they were last read: general counter n in last[n], the fixed one in
 * last[16].
 */
struct upmu_box_history {
    /* private */
    uint64_t last[UPMU_UNIT_COUNTERS];
};

/*
 * A register that a processor's own table of units names: its bit 0 stops all units of the table.  `address` is the
 * number of an MSR, or a physical address; 0: the entry is not in use.  `mapped`: where that memory is mapped while
 * units of its die are open.
 */
struct upmu_unit_stop {
    /* private */
    uint64_t address;
    void *mapped;
    uint8_t package, die;
    bool in_memory;
    bool found; /* the bit was found set, and the library has cleared it */
};

#define UPMU_UNIT_STOPS 8u /* the most tables of units whose registers are known */

/* Facts that the calls of upmu_units_find() on a list have found out, besides the boxes. */
struct upmu_unit_search {
    /* private */
    uint8_t scanned;       /* 1: PCI configuration space was searched already */
    /* 1: the search is made under a hypervisor, so upmu_unit_open() tests that the unit keeps what is written */
    uint8_t guest;
    /* by die: 1 + `where` (upmu/port.h) of the PCI function that says how many boxes some kinds have; 0: none */
    uint16_t counts_at[8];
    struct upmu_unit_stop stop[UPMU_UNIT_STOPS]; /* those in use come first */
};

/*
 * A unit at work.  A box that vanishes meanwhile (all ones, or faults) or was reset makes counts UPMU_QUALITY_PARTIAL:
 * they have what the others counted and what was read of it, and never go back (docs/uncore.md has what cannot be
 * detected).  upmu_unit_open() needs no zeroed memory; any other call on a unit that was never opened does.  `box`,
 * meter.pmu and meter.cpu (the one that drives the unit, or NULL) may be read.
 */
struct upmu_unit {
    struct upmu_meter meter;
    const struct upmu_unit_info *box; /* its first box; the others stand behind it in the list of units */
    /* private */
    uint16_t boxes;             /* number of its boxes */
    uint8_t maps;               /* the boxes' registers are mapped memory (UPMU_SPACE_MMIO): unmap them at the close */
    uint8_t is_timed;           /* cost_ns was measured */
    /* ticks from one rotation to the next: `base` as upmu_unit_turns() asked for, `every` as it is now */
    uint32_t base, every;
    uint32_t ticks;             /* ticks since the last rotation */
    uint32_t rotations;         /* number of rotations so far that changed what runs */
    uint32_t cost_ns;           /* time that a rotation takes in ns, as a moving average */
    uint32_t tick_ns;           /* time between two ticks in ns, measured, as a moving average */
    uint64_t last_ns;           /* time of the last tick */
    uint64_t folded_ns;         /* time at which the unit's counters were last folded as a whole (upmu_unit_fold()) */
    struct upmu_unit *next;     /* next unit that the same CPU drives (upmu_cpu.units) */
    struct upmu_unit *next_open; /* next unit in the list upmu_machine.open_units */
    uint64_t registers[UPMU_BANK_WORDS(UPMU_UNIT_REGISTERS)];
};

#endif
