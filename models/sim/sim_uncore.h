/* SPDX-License-Identifier: MIT */
/*
 * A model of the PMUs outside of the cores: memory controllers, cache slices, links, power units, AMD's northbridge,
 * L3, data fabric and UMC. A machine has one die or several; the registers of a unit are MSRs, or in PCI configuration
 * space, or in memory. sim_uncore_types.c and sim_uncore_rules.h say what the model is written from.
 *
 *     static struct upmu_sim sim;
 *     static struct upmu_sim_uncore uncore;
 *     upmu_sim_uncore_init(&uncore, &sim, upmu_sim_machine("skx2"));
 *     unit = upmu_sim_unit(&uncore, "imc", 1, 3);      die 1, number 3
 *     upmu_sim_happen(&uncore, unit, &(struct upmu_sim_happening){.event = 4, .umask = 3, .count = 100});
 *
 * Rules: sim_uncore_rules.h. Accesses are numbered together with those of the cores, so that faults, callbacks
 * and the trace of struct upmu_sim apply to units, too.
 */
#ifndef UPMU_SIM_UNCORE_H
#define UPMU_SIM_UNCORE_H

#include <upmu/unit.h>
#include "models/sim/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most boxes of a machine; counters of a box, the fixed one included; filters of a box; mappings at a time. */
#define UPMU_SIM_UNITS 192
#define UPMU_SIM_UNIT_COUNTERS 18
#define UPMU_SIM_UNIT_FILTERS 4
#define UPMU_SIM_MAPPINGS 128

/* ---- Types of boxes: how counters are enabled, where registers are, layouts of selects, quirks ---- */

enum upmu_sim_unit_style {
    UPMU_SIM_UNIT_GLOBAL_BITS, /* NHM: a counter needs its bit in a global register and the enable bit of its select */
    UPMU_SIM_UNIT_SELECT,      /* the enable bit of the select, and no box control, gates a counter */
    UPMU_SIM_UNIT_BOX,         /* box control: bit 0 resets selects, 1 counters, 8 freezes (with 16); enable bit 22 */
    UPMU_SIM_UNIT_LIVE,        /* box control: bit 0 freezes, 8 and 9 reset; a select that is not 0 is enabled */
    UPMU_SIM_UNIT_CLIENT,      /* as LIVE, but bit 1 resets selects and bit 2 counters */
    UPMU_SIM_UNIT_BITS,        /* NHM-EX: a counter needs its bit in box control (fixed: 31) and the enable bit */
    UPMU_SIM_UNIT_FREE         /* free-running */
};

enum upmu_sim_unit_space { UPMU_SIM_SPACE_MSR, UPMU_SIM_SPACE_PCI, UPMU_SIM_SPACE_MMIO };

/* Layouts of selects: in which bits they have the event, and what else selects it. */
enum upmu_sim_unit_layout {
    UPMU_SIM_LAYOUT_INTEL,  /* event 7:0, umask 15:8, more umask 63:32, threshold from bit 24 on */
    UPMU_SIM_LAYOUT_AMD_NB, /* event: bits 35:32, then 7:0; umask 15:8 */
    UPMU_SIM_LAYOUT_AMD_DF, /* event 60:59 35:32 7:0 */
    UPMU_SIM_LAYOUT_AMD_V2, /* event: bits 37:32, then 7:0; umask: 27:24, then 15:8 */
    UPMU_SIM_LAYOUT_AMD_L3, /* event 7:0, umask 15:8; slices 51:48, hyper-threads 63:56 */
    UPMU_SIM_LAYOUT_AMD_19, /* event 7:0, umask 15:8; core 44:42 or all 47, slice 50:48 or all 46, threads 57:56 */
    UPMU_SIM_LAYOUT_AMD_UMC /* event 7:0; umask 9:8, reads and writes, 0: both and others */
};

#define UPMU_SIM_NO_REGISTER 0xffffffffu

/* Bits of upmu_sim_unit_type.quirks: how a type differs from others of its style. */
#define UPMU_SIM_QUIRK_NEEDS_16 (1u << 0)       /* bit 8 of box control freezes only while bit 16 is set */
#define UPMU_SIM_QUIRK_SBOX (1u << 1)           /* #GP if a write sets two of control bits 0, 1, 16 that never were 1 */
#define UPMU_SIM_QUIRK_SATURATES (1u << 2)      /* UMC: a counter stays at its end, with bit 48 set */
#define UPMU_SIM_QUIRK_EVENT_21 (1u << 3)       /* select bit 21 is bit 8 of the event code */
#define UPMU_SIM_QUIRK_STATUS_1 (1u << 4)       /* status: bit 0 is the fixed counter, bit 1 + n counter n */
#define UPMU_SIM_QUIRK_COMPANION (1u << 5)      /* filters are in a PCI function of their own, the companion */
#define UPMU_SIM_QUIRK_LLC (1u << 6)            /* a die has one box for each of its LLCs */
#define UPMU_SIM_QUIRK_FIXED_BIT_0 (1u << 7)    /* bit 0 of the fixed counter's select enables it */
#define UPMU_SIM_QUIRK_ENABLE_31 (1u << 8)      /* select bit 31 is the enable bit */
#define UPMU_SIM_QUIRK_PACKAGE (1u << 9)       /* the package's global control can stop the box */
#define UPMU_SIM_QUIRK_CPU (1u << 10)          /* a die has one box for each of its CPUs, which alone sees it */
#define UPMU_SIM_QUIRK_CORE (1u << 11)         /* a die has one box for each of its cores, whose CPUs alone see it */
#define UPMU_SIM_QUIRK_NODES (1u << 12)        /* events 35H, 36H need bits 0, 1 and 5 of filter 1 (KNL) */
#define UPMU_SIM_QUIRK_ENABLE_0 (1u << 13)      /* select bit 0 is the enable bit, and no part of the event */

/*
 * Events that only some counters (a mask) can count: those whose event code has the value `code` in the bits of `mask`.
 * The list ends with mask 0.
 */
struct upmu_sim_unit_tie {
    uint16_t code;
    uint16_t mask;
    uint32_t counters;
};

/*
 * Bits of filter number `filter` that have an effect on a counter if the bits of `mask` in its select are `config`. The
 * list ends with mask 0.
 */
struct upmu_sim_unit_use {
    uint32_t config;
    uint32_t mask;
    uint8_t filter;
    uint64_t bits;
};

/* A group of `count` free-running counters at equal steps. A list of groups ends with count 0. */
struct upmu_sim_free {
    uint32_t address; /* first counter: MSR number of box 0, or offset from the box's address */
    uint16_t step;    /* distance from one counter to the next */
    uint8_t count;
    uint8_t width;
    uint16_t unit_step;   /* MSR: box i is i times this from box 0 */
    const uint16_t *list; /* MSR: distance of each box from box 0; NULL: `unit_step` is used */
};

/*
 * A type of box. `control` to `filter` are the places of registers: MSR numbers of box 0, offsets in the box's PCI
 * function, or offsets from its physical address; UPMU_SIM_NO_REGISTER: the type has no such register.
 */
struct upmu_sim_unit_type {
    const char *name;
    uint8_t style;
    uint8_t space;
    uint8_t layout;
    uint8_t counters;
    uint8_t width;
    uint8_t fixed_width; /* 0: no fixed counter */
    uint8_t select_step; /* PCI, MMIO: 8: a select has a high dword */
    uint8_t counter_step;
    uint8_t bits; /* MMIO: width of a counter's register, 32 or 64 */
    uint8_t filters;
    uint8_t threshold; /* how many bits of a select, from bit 24 on, are the threshold */
    uint16_t quirks;
    uint32_t control;
    uint32_t select;
    uint32_t counter;
    uint32_t fixed_select;
    uint32_t fixed_counter;
    uint32_t status;
    uint32_t filter[UPMU_SIM_UNIT_FILTERS];
    uint64_t select_bits; /* bits of a select that can be written, besides 17 and 20 (Intel) and the enable bit */
    uint64_t filter_bits[UPMU_SIM_UNIT_FILTERS];
    const struct upmu_sim_free *free; /* style FREE: the groups of counters; `counters` is how many all have */
    uint32_t global; /* ADL's IMC: offset in box 1 of a second box control, which is that of all boxes of the type */
    const struct upmu_sim_unit_tie *ties;
    const struct upmu_sim_unit_use *uses;
};

/* ---- Machines ---- */

/* A PCI function that each package has: `bus` is an index in upmu_sim_machine.bus[package], `device` the device id. */
struct upmu_sim_pci_place {
    uint8_t bus;
    uint8_t devfn;
    uint16_t device;
};

/* A row of upmu_sim_machine.units: the boxes of one type, and where they are. Each die has the same ones. */
struct upmu_sim_unit_row {
    const struct upmu_sim_unit_type *type;
    uint8_t count;
    uint64_t absent;                         /* mask: bit n is set if box n is fused off or hidden */
    uint32_t step;                           /* distance from a box to the next, in MSR numbers or in bytes */
    const uint16_t *list;                    /* MSR: distance of each box from box 0; NULL: by `step` */
    const struct upmu_sim_pci_place *place;  /* PCI */
    const struct upmu_sim_pci_place *second; /* companion functions of the first `seconds` boxes */
    uint8_t seconds;
    uint8_t group;       /* MMIO: how many boxes a group has; 0: no groups */
    uint32_t group_step; /* MMIO: bytes from the first box of a group to that of the next */
    uint64_t physical;   /* MMIO: address of box 0 on die 0; dies are UPMU_SIM_DIE_BYTES apart */
    const uint16_t *ids; /* numbers by which the machine names the boxes; NULL: 0, 1, 2 … */
};

#define UPMU_SIM_DIE_BYTES (UINT64_C(1) << 36)

/*
 * A register of a PCI function that has no box, with its value for each package. The list ends with an entry whose
 * offset and value[0] are 0.
 */
struct upmu_sim_pci_register {
    uint8_t bus;
    uint8_t devfn;
    uint16_t offset;
    uint32_t value[2];
};

/*
 * A read-only MSR that describes a package (how many boxes it has, or its bus numbers), with its value for each
 * package.
 */
struct upmu_sim_msr_value {
    uint32_t msr;
    uint64_t value[2];
};

enum upmu_sim_global {
    UPMU_SIM_GLOBAL_NONE,
    UPMU_SIM_GLOBAL_NHM,    /* control: bit n enables general counter n, bit 32 the fixed one */
    UPMU_SIM_GLOBAL_CLIENT, /* bit 29 lets all boxes with the quirk PACKAGE count */
    UPMU_SIM_GLOBAL_EX,     /* bit 28 lets all boxes count, a written 29 resets all, 31 freezes all */
    UPMU_SIM_GLOBAL_LATCH,  /* a written freeze_bit freezes, unfreeze_bit ends it; reads 0 */
    UPMU_SIM_GLOBAL_LEVEL   /* units are frozen while bit 0 is set */
};

/*
 * An entry for one unit in a discovery table, which is in memory at the address in a BAR of the PCI function with
 * device id 09A7H (which BAR: in the capability at 140H).
 */
struct upmu_sim_table_row {
    uint8_t access; /* 0 MSR, 1 MMIO, 2 PCI, 0xff: an empty row of ones */
    uint8_t counters;
    uint8_t select; /* of select and counter: offset from the unit's control */
    uint8_t width;
    uint8_t counter;
    uint16_t type;
    uint16_t id;
    uint64_t address; /* address of the unit's control on package 0 */
    uint64_t package; /* address on package 1 less that on package 0 */
};

struct upmu_sim_machine {
    const char *name;
    const char *about;
    const char *core; /* profile of the cores */
    uint32_t signature; /* CPUID.1:EAX in place of the profile's; 0: the profile's */
    uint8_t packages;
    uint8_t dies; /* dies of a package */
    uint8_t llcs; /* LLCs of a die */
    uint8_t cpus;
    uint8_t cores;   /* how many cores a package has by CPUID; 0: as many as it has */
    uint8_t threads; /* CPUs of a core; 0: one */
    uint8_t segment; /* PCI segment */
    bool aperf;      /* CPUID: there are APERF and MPERF */
    bool thermal;    /* CPUID: there is a digital thermal sensor */
    uint8_t global; /* enum upmu_sim_global */
    uint8_t freeze_bit;
    uint8_t unfreeze_bit;
    bool starts_frozen; /* styles LATCH and LEVEL */
    bool bar_bit_0; /* client: units in memory are there only with bit 0 of BAR 48H */
    uint32_t global_control;
    uint64_t global_memory; /* style LEVEL: physical address of package 0's control, which is in memory; 0: an MSR */
    uint32_t global_status; /* MSR; 0: none. A 1 clears, written here or (NHM, client) to the next MSR */
    uint8_t bus[2][6];      /* by package: its bus numbers */
    const struct upmu_sim_unit_row *units; /* the boxes; a row of type NULL ends the list */
    const struct upmu_sim_pci_register *functions;
    const struct upmu_sim_msr_value *values;       /* read-only MSRs; an entry of msr 0 ends the list; may be NULL */
    const struct upmu_sim_table_row *table;        /* the discovery table of each package; NULL: no table */
    uint16_t table_rows;
    uint64_t table_address; /* physical address of package 0's table */
    uint8_t table_stride;   /* words of 8 bytes from an entry to the next; 0: 8 */
};

/*
 * Return a machine by name; NULL: there is none. The second function returns the machine with an index; NULL: after the
 * last.
 */
const struct upmu_sim_machine *upmu_sim_machine(const char *name);
const struct upmu_sim_machine *upmu_sim_machine_at(unsigned index);

/* ---- State ---- */

struct upmu_sim_unit_counter {
    uint64_t value;
    uint64_t select;
    uint64_t counted; /* for tests: all events that the counter ever counted; writes and wraps do not change it */
    uint32_t high;    /* PCI: high dword of the select as written: takes effect with the low one */
    uint32_t wraps;
};

/* A box. In `counter`, general counters are followed by the fixed one, at index type->counters. */
struct upmu_sim_unit {
    const struct upmu_sim_unit_type *type;
    const struct upmu_sim_unit_row *row;
    uint64_t base;     /* MSR: is added to the type's MSR numbers; PCI: `where` of the hooks; MMIO: physical address */
    uint32_t second;   /* PCI: `where` of the companion function; 0: the box has none */
    uint8_t die;       /* number of the die, counted through all packages */
    uint8_t llc;       /* number of the LLC, counted through all packages */
    uint8_t index;     /* index of the box among those of its type on its die; quirk CPU: its number in the package */
    uint16_t number;   /* number by which the machine names the box (row->ids) */
    bool absent;       /* fused off, or hidden */
    bool frozen;       /* ADL's IMC: bit 0 of the control of all boxes is set */
    int8_t manager;    /* the CPU that last wrote to the box; -1: none since upmu_sim_hand_over() */
    uint32_t control;
    uint32_t resets_seen; /* S-box: which of the bits 0, 1, 16 of control were ever written as 1 */
    uint64_t status;
    uint64_t filter[UPMU_SIM_UNIT_FILTERS];
    uint32_t strangers; /* mask of the counters that other software uses */
    struct upmu_sim_unit_counter counter[UPMU_SIM_UNIT_COUNTERS];
};

struct upmu_sim_mapping {
    uint64_t physical;
    size_t bytes;
    bool live;
};

struct upmu_sim_place {
    uint8_t package;
    uint8_t die; /* numbers in the machine */
    uint8_t llc;
    uint8_t core;   /* number of the core on its die */
    uint8_t thread; /* number of the CPU in its core */
};

struct upmu_sim_global_state {
    uint64_t control;
    uint64_t status;
    bool frozen;
};

/*
 * Called when a caller reads a word of 8 bytes of a package's discovery table: `word` is its index in the table. The
 * function may change the value that is read.
 */
typedef void upmu_sim_on_table(struct upmu_sim *sim, unsigned package, unsigned word, uint64_t *value);

struct upmu_sim_uncore {
    struct upmu_sim *sim;
    const struct upmu_sim_machine *machine;
    struct upmu_sim_profile core;
    struct upmu_sim_place place[UPMU_SIM_CPUS];
    struct upmu_sim_unit unit[UPMU_SIM_UNITS];
    unsigned units;
    struct upmu_sim_global_state global[2];
    struct upmu_sim_mapping mapping[UPMU_SIM_MAPPINGS];

    /* Settings for tests */
    bool no_ecam;             /* accesses to configuration space from offset 100H on fail */
    bool chain_loops;         /* capabilities of the discovery table's function are a loop */
    bool bar_off;             /* client: bit 0 of BAR 48H is 0 */
    bool no_u_boxes;          /* PCI functions of U-boxes, which tell the nodes, are hidden */
    bool many_managers;       /* while true, any CPU may write to a unit (no CHECK_U_MANAGER) */
    uint32_t dies_excluded;   /* bit n: an access to units' MSRs of die n is a violation of CHECK_U_DIE */
    uint32_t accesses_left;   /* the n-th access from now on violates CHECK_U_ACCESSES; 0: none does */
    uint32_t ns_per_access;   /* time of an access to a box, in addition to sim->ns_per_access */
    uint32_t refused_map;     /* the n-th call of mmio_map from now on returns NULL; 0: no call does */
    upmu_sim_on_table *table; /* called at each read of the discovery table; NULL: not called */

    /* Results for tests */
    uint32_t unit_reads; /* reads of boxes' registers in any space; global registers excluded */
    uint32_t unit_writes;
    uint32_t maps;
    uint32_t unmaps;
    uint32_t remote_calls;

    /* Private */
    uint32_t next_mapping;
    unsigned remote_depth;
};

/*
 * Make `sim` and `uncore` this machine after reset: calls upmu_sim_init() with its profile and number of CPUs, sets the
 * hooks for PCI and memory, places the CPUs on dies and makes the boxes, whose counters have made-up values.
 */
void upmu_sim_uncore_init(struct upmu_sim_uncore *uncore, struct upmu_sim *sim, const struct upmu_sim_machine *machine);

/* Return box number `index` (from 0) of a type, by name ("imc"), on a die of the machine; NULL: the die lacks it. */
struct upmu_sim_unit *upmu_sim_unit(struct upmu_sim_uncore *uncore, const char *type, unsigned die, unsigned index);

/*
 * Does a counter count now: enabled, not frozen, not stopped by the global control, of a present box? The fixed counter
 * has the number type->counters.
 */
bool upmu_sim_unit_runs(const struct upmu_sim_uncore *uncore, const struct upmu_sim_unit *unit, unsigned counter);

/* An event that happens at a box. upmu_sim_happen() lets each running counter that selects the event count it. */
struct upmu_sim_happening {
    uint64_t count;    /* in how many cycles the event happens */
    uint64_t each;     /* how often in each of these cycles; 0 means 1 */
    uint64_t runs;     /* for edge: in how many unbroken runs these cycles come; 0 means 1 */
    uint16_t event;    /* event code, put together from the select's bits by the type's layout */
    uint16_t umask;    /* unit mask that a select must have; with `some`, and of UMCs, one common bit is enough */
    uint32_t extended; /* what a select must have in bits 63:32, threshold and event left out */
    bool some;
    uint8_t filtered; /* how many of the box's filters are compared, from filter 0 on */
    uint64_t filter[UPMU_SIM_UNIT_FILTERS];      /* value that the box's filter must have to count the event */
    uint64_t filter_mask[UPMU_SIM_UNIT_FILTERS]; /* bits of `filter` that are compared */
};
void upmu_sim_happen(struct upmu_sim_uncore *uncore, struct upmu_sim_unit *unit,
                     const struct upmu_sim_happening *happening);

/* Let clocks pass for a box's fixed counter. The second function lets a free-running counter count `count` events. */
void upmu_sim_clock(struct upmu_sim_uncore *uncore, struct upmu_sim_unit *unit, uint64_t clocks);
void upmu_sim_flow(struct upmu_sim_uncore *uncore, struct upmu_sim_unit *unit, unsigned counter, uint64_t count);

/*
 * Memory traffic on a die: cache lines read from and written to memory, look-ups in the last-level cache and misses
 * among them. upmu_sim_traffic() deals it out evenly to the present boxes of each type whose events count it.
 * upmu_sim_events() calls the function for the last-level cache's references and misses of a burst.
 */
struct upmu_sim_load {
    uint64_t reads;
    uint64_t writes;
    uint64_t lookups;
    uint64_t misses;
};
void upmu_sim_traffic(struct upmu_sim_uncore *uncore, unsigned die, const struct upmu_sim_load *load);

/* Return a mask of all bits that a counter has. */
uint64_t upmu_sim_unit_range(const struct upmu_sim_uncore *uncore, const struct upmu_sim_unit *unit, unsigned counter);

/* Set the value of a counter without an access: for a test near a wrap. */
void upmu_sim_unit_set(struct upmu_sim_unit *unit, unsigned counter, uint64_t value);

/*
 * Let other software use a counter: its select becomes `select`, it is noted as a stranger's (unit->strangers), and the
 * global enable (NHM, NHM-EX, clients) and its bit in box control (style BITS) are set; a global freeze ends.
 */
void upmu_sim_stranger(struct upmu_sim_uncore *uncore, struct upmu_sim_unit *unit, unsigned counter, uint64_t select);

/* Forget which CPU has written to each box: after a hand-over another CPU may write without a violation. */
void upmu_sim_hand_over(struct upmu_sim_uncore *uncore);

/* The hooks of struct upmu_port for PCI and memory, which upmu_sim_uncore_init() sets; the context is the upmu_sim. */
bool upmu_sim_uncore_pci_read(void *context, uint32_t where, uint32_t offset, uint32_t *out_value);
bool upmu_sim_uncore_pci_write(void *context, uint32_t where, uint32_t offset, uint32_t value);
void *upmu_sim_uncore_map(void *context, uint64_t physical, size_t bytes);
void upmu_sim_uncore_unmap(void *context, void *pointer, size_t bytes);
bool upmu_sim_uncore_mmio_read(void *context, const volatile void *pointer, unsigned bits, uint64_t *out_value);
bool upmu_sim_uncore_mmio_write(void *context, volatile void *pointer, unsigned bits, uint64_t value);

/*
 * Hooks about the machine. The port has the first only if a test sets it; own_unit is set on the machine "lab" alone.
 */
bool upmu_sim_uncore_port_place(void *context, struct upmu_cpu *cpu, struct upmu_cpu_place *out_place);
bool upmu_sim_uncore_port_own(void *context, unsigned i, struct upmu_unit_info *out_info,
                              const struct upmu_unit_type **out_type);

#ifdef __cplusplus
}
#endif

#endif
