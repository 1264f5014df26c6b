/* SPDX-License-Identifier: MIT */
/*
 * A model of the PMUs outside of the cores: memory controllers, cache slices, links, power units,
 * AMD's northbridge, L3, data fabric and UMC.  A machine has several dies; each unit answers by
 * MSR, in PCI configuration space or in memory.  Written from the manuals' register lists alone.
 *
 *     static struct upmu_sim sim;
 *     static struct upmu_sim_uncore uncore;
 *     upmu_sim_uncore_init(&uncore, &sim, upmu_sim_machine("skx2"));
 *     unit = upmu_sim_unit(&uncore, "imc", 1, 3);      die 1, number 3
 *     upmu_sim_happen(&uncore, unit, &(struct upmu_sim_happening){.event = 4, .umask = 3, .count = 100});
 *
 * Rules: port/sim/sim_uncore_rules.h.  Accesses are numbered together with those of the cores, so
 * that faults, callbacks and the trace of struct upmu_sim hold for them as well.
 */
#ifndef UPMU_SIM_UNCORE_H
#define UPMU_SIM_UNCORE_H

#include <upmu/unit.h>
#include "port/sim/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most boxes of a machine; counters of a box, the fixed one included; filter words of a box. */
#define UPMU_SIM_UNITS 192
#define UPMU_SIM_UNIT_COUNTERS 18
#define UPMU_SIM_UNIT_FILTERS 4
#define UPMU_SIM_MAPPINGS 128

/* ---- Types: what a box looks like ---- */

enum upmu_sim_unit_style {
    UPMU_SIM_UNIT_GLOBAL_BITS, /* NHM: an enable bit for each counter in a global register, and one in the select */
    UPMU_SIM_UNIT_SELECT,      /* the enable bit of the select alone */
    UPMU_SIM_UNIT_BOX,         /* box control: bits 0 and 1 reset, 8 freezes, 16 allows freezing; enable bit 22 */
    UPMU_SIM_UNIT_LIVE,        /* box control: bit 0 freezes, 8 and 9 reset; a select that is not 0 is live */
    UPMU_SIM_UNIT_CLIENT,      /* the same, bits 1 and 2 reset */
    UPMU_SIM_UNIT_FREE         /* free-running */
};

enum upmu_sim_unit_space { UPMU_SIM_SPACE_MSR, UPMU_SIM_SPACE_PCI, UPMU_SIM_SPACE_MMIO };

/* How a select names its event. */
enum upmu_sim_unit_layout {
    UPMU_SIM_LAYOUT_INTEL,  /* event 7:0, umask 15:8, extended 63:32, threshold from 24 on */
    UPMU_SIM_LAYOUT_AMD_NB, /* event 35:32 7:0, umask 15:8 */
    UPMU_SIM_LAYOUT_AMD_DF, /* event 60:59 35:32 7:0 */
    UPMU_SIM_LAYOUT_AMD_V2, /* event 38:32 7:0, umask 27:24 15:8 */
    UPMU_SIM_LAYOUT_AMD_L3, /* event 7:0, umask 15:8; slices 51:48, threads 63:56 */
    UPMU_SIM_LAYOUT_AMD_19, /* event 7:0, umask 15:8; all slices 46, all cores 47, threads 57:56 */
    UPMU_SIM_LAYOUT_AMD_UMC /* event 7:0, reads and writes 9:8 */
};

#define UPMU_SIM_NO_REGISTER 0xffffffffu

/* Bits of upmu_sim_unit_type.quirks. */
#define UPMU_SIM_QUIRK_NEEDS_16 (1u << 0)       /* freeze needs bit 16 */
#define UPMU_SIM_QUIRK_SBOX (1u << 1)           /* resets one at a time */
#define UPMU_SIM_QUIRK_SATURATES (1u << 2)      /* UMC */
#define UPMU_SIM_QUIRK_EVENT_21 (1u << 3)       /* select bit 21 is event bit 8 */
#define UPMU_SIM_QUIRK_STATUS_1 (1u << 4)       /* status bit 0 is the fixed counter's, 1 up the others' */
#define UPMU_SIM_QUIRK_COMPANION (1u << 5)      /* filters stand in another PCI function */
#define UPMU_SIM_QUIRK_LLC (1u << 6)            /* one for each LLC, not for each die */
#define UPMU_SIM_QUIRK_FIXED_BIT_0 (1u << 7)    /* bit 0 enables the fixed counter */
#define UPMU_SIM_QUIRK_ENABLE_31 (1u << 8)      /* bit 31 enables */
#define UPMU_SIM_QUIRK_PACKAGE (1u << 9)       /* gated by the package's global control */

/* Only these counters count an event: event code & mask == code.  Ends with mask 0. */
struct upmu_sim_unit_tie {
    uint16_t code;
    uint16_t mask;
    uint32_t counters;
};

/* A select whose bits under `mask` are `config` uses these bits of a filter.  Ends with mask 0. */
struct upmu_sim_unit_use {
    uint32_t config;
    uint32_t mask;
    uint8_t filter;
    uint64_t bits;
};

/* Free-running counters.  Ends with count 0. */
struct upmu_sim_free {
    uint32_t address; /* MSR, or distance from the box */
    uint16_t step;    /* from one counter to the next */
    uint8_t count;
    uint8_t width;
    uint16_t unit_step;   /* MSR: from box to box … */
    const uint16_t *list; /* … or the distances */
};

/* Registers: MSR numbers of box 0; offsets in the PCI function, or from the box's physical address. */
struct upmu_sim_unit_type {
    const char *name;
    uint8_t style;
    uint8_t space;
    uint8_t layout;
    uint8_t counters;
    uint8_t width;
    uint8_t fixed_width; /* 0: no fixed counter */
    uint8_t select_step; /* PCI: 8 means that a select has a high dword */
    uint8_t counter_step;
    uint8_t bits; /* MMIO: of an access to a counter, 32 or 64 */
    uint8_t filters;
    uint8_t threshold; /* how many bits, from 24 on */
    uint16_t quirks;
    uint32_t control;
    uint32_t select;
    uint32_t counter;
    uint32_t fixed_select;
    uint32_t fixed_counter;
    uint32_t status;
    uint32_t filter[UPMU_SIM_UNIT_FILTERS];
    uint64_t select_bits; /* that may be written, besides 17, 20 and the enable bit */
    uint64_t filter_bits[UPMU_SIM_UNIT_FILTERS];
    const struct upmu_sim_free *free; /* free-running counters, one after the other; count of them is `counters` */
    uint32_t global; /* ADL's IMC: the controller's own copy of control */
    const struct upmu_sim_unit_tie *ties;
    const struct upmu_sim_unit_use *uses;
};

/* ---- Machines ---- */

/* A PCI function of every package: which of the package's buses, device and function, vendor and device. */
struct upmu_sim_pci_place {
    uint8_t bus;
    uint8_t devfn;
    uint16_t device;
};

/* Boxes of one type on each die. */
struct upmu_sim_unit_row {
    const struct upmu_sim_unit_type *type;
    uint8_t count;
    uint64_t absent;                         /* bit n: fused off or hidden */
    uint32_t step;                           /* MSR: from one to the next; MMIO: bytes */
    const uint16_t *list;                    /* MSR: distances, instead of a step */
    const struct upmu_sim_pci_place *place;  /* PCI */
    const struct upmu_sim_pci_place *second; /* companion functions, of as many as there are */
    uint8_t seconds;
    uint8_t group;       /* MMIO: so many boxes … */
    uint32_t group_step; /* … and then so many bytes; 0: one group */
    uint64_t physical;   /* MMIO: of box 0 on die 0; dies lie UPMU_SIM_DIE_BYTES apart */
    const uint16_t *ids; /* numbers, instead of 0, 1, 2 … */
};

#define UPMU_SIM_DIE_BYTES (UINT64_C(1) << 36)

/* Other functions: their registers, by package.  Ends with value[0] and offset 0. */
struct upmu_sim_pci_register {
    uint8_t bus;
    uint8_t devfn;
    uint16_t offset;
    uint32_t value[2];
};

/* MSRs that say how many there are; by package. */
struct upmu_sim_msr_value {
    uint32_t msr;
    uint64_t value[2];
};

enum upmu_sim_global {
    UPMU_SIM_GLOBAL_NONE,
    UPMU_SIM_GLOBAL_NHM,    /* 391H to 393H: bits 7:0 and 32 */
    UPMU_SIM_GLOBAL_CLIENT, /* bit 29 */
    UPMU_SIM_GLOBAL_LATCH,  /* one bit freezes, another one ends that; read 0 */
    UPMU_SIM_GLOBAL_LEVEL   /* bit 0 is the freeze */
};

/* Discovery tables: in memory behind a BAR of function 09A7H. */
struct upmu_sim_table_row {
    uint8_t access; /* 0 MSR, 1 MMIO, 2 PCI */
    uint8_t counters;
    uint8_t select; /* offsets from the unit's control */
    uint8_t width;
    uint8_t counter;
    uint16_t type;
    uint16_t id;
    uint64_t address; /* of the unit's control on package 0 */
    uint64_t package; /* what is added for package 1 */
};

struct upmu_sim_machine {
    const char *name;
    const char *about;
    const char *core; /* profile of its cores … */
    uint32_t signature; /* … with this CPUID.1:EAX; 0: the profile's */
    uint8_t packages;
    uint8_t dies; /* of a package */
    uint8_t llcs; /* of a die */
    uint8_t cpus;
    uint8_t cores;   /* of a package, as CPUID tells; 0: those that the model has */
    uint8_t segment; /* of PCI */
    uint8_t global; /* enum upmu_sim_global */
    uint8_t freeze_bit;
    uint8_t unfreeze_bit;
    bool starts_frozen;
    bool bar_bit_0; /* client: BAR 48H needs bit 0 */
    uint32_t global_control;
    uint32_t global_status; /* 0: none; the register after it clears (NHM, client), others clear by 1 */
    uint8_t bus[2][6];      /* of each package */
    const struct upmu_sim_unit_row *units; /* until type NULL */
    const struct upmu_sim_pci_register *functions;
    const struct upmu_sim_msr_value *values;       /* until msr 0 */
    const struct upmu_sim_table_row *table;        /* NULL: not self-describing */
    uint16_t table_rows;
    uint64_t table_address; /* of package 0's */
};

/* By name; NULL if unknown.  The i-th, NULL after the last. */
const struct upmu_sim_machine *upmu_sim_machine(const char *name);
const struct upmu_sim_machine *upmu_sim_machine_at(unsigned index);

/* ---- State ---- */

struct upmu_sim_unit_counter {
    uint64_t value;
    uint64_t select;
    uint64_t counted; /* all that it ever counted: the truth, which writes do not change */
    uint32_t high;    /* PCI: the high dword as written; it takes effect with the low one */
    uint32_t wraps;
};

/* A box.  The fixed counter comes after the others. */
struct upmu_sim_unit {
    const struct upmu_sim_unit_type *type;
    const struct upmu_sim_unit_row *row;
    uint64_t base;     /* MSR: what is added to the type's numbers; PCI: where; MMIO: physical address */
    uint32_t second;   /* PCI: where the companion is; 0: none */
    uint8_t die;       /* of the machine */
    uint8_t llc;       /* of the machine */
    uint8_t index;     /* among the boxes of its type and die */
    uint16_t number;   /* as it is called there */
    bool absent;       /* fused off, hidden */
    bool frozen;       /* ADL's IMC: by the controller's own copy of control */
    int8_t manager;    /* the CPU that wrote to it, -1: none yet */
    uint32_t control;
    uint32_t resets_seen; /* S-box */
    uint64_t status;
    uint64_t filter[UPMU_SIM_UNIT_FILTERS];
    uint32_t strangers; /* these counters are a stranger's */
    struct upmu_sim_unit_counter counter[UPMU_SIM_UNIT_COUNTERS];
};

struct upmu_sim_mapping {
    uint64_t physical;
    size_t bytes;
    bool live;
};

struct upmu_sim_place {
    uint8_t package;
    uint8_t die; /* of the machine, as llc */
    uint8_t llc;
    uint8_t core;
};

struct upmu_sim_global_state {
    uint64_t control;
    uint64_t status;
    bool frozen;
};

/* The i-th word of 8 bytes of a die's discovery table, which may be changed. */
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

    /* Knobs */
    bool no_ecam;             /* configuration space has 256 bytes only */
    bool chain_loops;         /* the table's function: the last capability leads back to an earlier one */
    bool bar_off;             /* client: BAR 48H is not enabled */
    bool no_u_boxes;          /* U-box functions are hidden */
    bool many_managers;       /* any CPU may write, until cleared */
    uint32_t dies_excluded;   /* bit n: CHECK_U_DIE for MSRs of die n */
    uint32_t accesses_left;   /* so many more may come; 0: any number */
    uint32_t ns_per_access;   /* of units, besides sim->ns_per_access */
    uint32_t refused_map;     /* the n-th mapping from here on is refused; 0: none */
    upmu_sim_on_table *table; /* NULL: as it is */

    /* Seen */
    uint32_t unit_reads; /* accesses to boxes, by any way; global registers excluded */
    uint32_t unit_writes;
    uint32_t maps;
    uint32_t unmaps;
    uint32_t remote_calls;

    /* Private */
    uint32_t next_mapping;
    unsigned remote_depth;
};

/* Makes `sim` this machine: profile, number of CPUs, hooks.  (Calls upmu_sim_init.) */
void upmu_sim_uncore_init(struct upmu_sim_uncore *uncore, struct upmu_sim *sim, const struct upmu_sim_machine *machine);

/* The index-th box of this type on this die (of the machine); NULL if there is none. */
struct upmu_sim_unit *upmu_sim_unit(struct upmu_sim_uncore *uncore, const char *type, unsigned die, unsigned index);

/* Does this counter count now?  The fixed one is number type->counters. */
bool upmu_sim_unit_runs(const struct upmu_sim_uncore *uncore, const struct upmu_sim_unit *unit, unsigned counter);

/* Events that happen at a box. */
struct upmu_sim_happening {
    uint64_t count;    /* cycles in which it happens … */
    uint64_t each;     /* … and how much in each; 0 is 1 */
    uint64_t runs;     /* for edge: such cycles come in this many runs; 0 is 1 */
    uint16_t event;    /* as the select names it */
    uint16_t umask;    /* likewise; with `some`, one of these bits is enough */
    uint32_t extended; /* select bits 63:32 that are not threshold or event */
    bool some;
    uint8_t filtered; /* filter words 0 to filtered - 1 are looked at */
    uint64_t filter[UPMU_SIM_UNIT_FILTERS];      /* counts only while the box's filter holds this … */
    uint64_t filter_mask[UPMU_SIM_UNIT_FILTERS]; /* … under this mask */
};
void upmu_sim_happen(struct upmu_sim_uncore *uncore, struct upmu_sim_unit *unit,
                     const struct upmu_sim_happening *happening);

/* So many clocks for its fixed counter; so much for its free-running counter. */
void upmu_sim_clock(struct upmu_sim_uncore *uncore, struct upmu_sim_unit *unit, uint64_t clocks);
void upmu_sim_flow(struct upmu_sim_uncore *uncore, struct upmu_sim_unit *unit, unsigned counter, uint64_t count);

/*
 * A load on a die, shared by its controllers and slices: cache lines read from and written to memory, look-ups in
 * the last-level cache and misses among them.  upmu_sim_events() calls it for the last cache's references and
 * misses of a burst.
 */
struct upmu_sim_load {
    uint64_t reads;
    uint64_t writes;
    uint64_t lookups;
    uint64_t misses;
};
void upmu_sim_traffic(struct upmu_sim_uncore *uncore, unsigned die, const struct upmu_sim_load *load);

/* All bits that a counter has. */
uint64_t upmu_sim_unit_range(const struct upmu_sim_uncore *uncore, const struct upmu_sim_unit *unit, unsigned counter);

/* The value of a counter without an access; sets it (for a test near a wrap). */
void upmu_sim_unit_set(struct upmu_sim_unit *unit, unsigned counter, uint64_t value);

/* A stranger's counter: live with this select. */
void upmu_sim_stranger(struct upmu_sim_uncore *uncore, struct upmu_sim_unit *unit, unsigned counter, uint64_t select);

/* Other CPUs may write from now on: a hand-over took place. */
void upmu_sim_hand_over(struct upmu_sim_uncore *uncore);

/* The hooks, as struct upmu_port has them; the context is the struct upmu_sim. */
bool upmu_sim_uncore_pci_read(void *context, uint32_t where, uint32_t offset, uint32_t *out_value);
bool upmu_sim_uncore_pci_write(void *context, uint32_t where, uint32_t offset, uint32_t value);
void *upmu_sim_uncore_map(void *context, uint64_t physical, size_t bytes);
void upmu_sim_uncore_unmap(void *context, void *pointer, size_t bytes);
bool upmu_sim_uncore_mmio_read(void *context, const volatile void *pointer, unsigned bits, uint64_t *out_value);
bool upmu_sim_uncore_mmio_write(void *context, volatile void *pointer, unsigned bits, uint64_t value);

/* Hooks about the machine, which the port has not unless a test sets them; own_unit is the machine "lab"'s. */
bool upmu_sim_uncore_port_place(void *context, struct upmu_cpu *cpu, struct upmu_cpu_place *out_place);
bool upmu_sim_uncore_port_own(void *context, unsigned i, struct upmu_unit_info *out_info,
                              const struct upmu_unit_type **out_type);

#ifdef __cplusplus
}
#endif

#endif
