/* SPDX-License-Identifier: MIT */
/*
 * Units outside the cores: memory controllers, cache slices, links, power units, and devices of the host's own.
 *
 * A box is a piece of hardware with counters.  A unit is one box, or several boxes of one type on one die that are
 * driven as one.  One CPU drives a unit: accesses to its registers are made there.  Its events belong to no thread.
 *
 * UPMU_UNCORE=0: no function of this header is compiled in.
 */
#ifndef UPMU_UNIT_H
#define UPMU_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/pmu.h>
#include <upmu/private/unit.h>
#include <upmu/unit_addr.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The PMU upmu_unit_list.pmu[i] has upmu_pmu.index = UPMU_UNIT_PMU + i, which is also upmu_event.pmu of its events. */
#define UPMU_UNIT_PMU 4u

/* Where the enable bits of a type's counters are, and how its counters are stopped. */
enum upmu_unit_style {
    UPMU_UNIT_GLOBAL = 0,     /* one register has an enable bit for each counter */
    UPMU_UNIT_SELECT = 1, /* each select has the enable bit of its own counter; nothing stops all counters at once */
    UPMU_UNIT_BOX = 2,        /* one bit freezes all counters of a box; each select has an enable bit, too */
    UPMU_UNIT_DISCOVERED = 3, /* one bit freezes all counters of a box; a counter counts if its select is not 0 */
    UPMU_UNIT_CLIENT_IMC = 4, /* as UPMU_UNIT_DISCOVERED; memory controllers of clients */
    UPMU_UNIT_FREE = 5        /* the counters are never stopped and never written */
};

/*
 * A bit of upmu_unit_type.quirks: a reset of the box takes several writes of box control, each with one bit of
 * control_idle | reset more than the one before, the lowest bit first.
 */
#define UPMU_UNIT_GROWING_RESET (1u << 15)

/* The value that upmu_unit_type.rate_mhz 0 stands for, in millions of events per second. */
#define UPMU_UNIT_RATE_MHZ 4000u

/* A rule for events of a type: events whose (code & code_mask) is `code` can use these counters only. */
struct upmu_unit_constraint {
    uint16_t code;      /* the compared bits of the event code */
    uint16_t code_mask; /* mask: bits of the event code that are compared; 0 ends the list */
    uint32_t counters;  /* bit i: counter i */
};

/*
 * A type of boxes: constant data of the library or (hook own_unit) of the host.  Index n below 16 is general counter n
 * of a box; the fixed counter has index UPMU_FIXED_COUNTER(0).
 */
struct upmu_unit_type {
    const char *name;    /* name of the type's units: "imc" */
    const char *pmu;     /* name of the type's PMU, as in libpfm4 where that has one: "skx_unc_imc" */
    const char *title;   /* text for display: "Skylake-X memory controller" */
    const char *prefix;  /* begin of all its events' names, which a text may leave out: "UNC_M_"; or NULL */
    const char *catalog; /* name of the catalogue with its events: "skx_uncore"; NULL: raw events only */
    uint8_t style;         /* enum upmu_unit_style */
    uint8_t space;         /* enum upmu_register_space */
    uint8_t number;        /* number of the type in the catalogue: upmu_row.unit of its events */
    uint8_t counters;      /* number of general counters, at most 16 */
    uint8_t width;         /* bits of a general counter, at most 64 */
    uint8_t fixed_width;   /* bits of the fixed counter; 0: there is none */
    uint8_t select_step;   /* distance of the selects of two counters, in addresses of the space */
    uint8_t counter_step;  /* distance of two counters, in addresses of the space */
    uint8_t register_bits; /* bits of one access: 32 or 64.  In configuration space each access has 32 bits, and 64
                              bits are two accesses.  In memory, box control and filters have 32 bits */
    uint8_t enable_bit;    /* number of a select's enable bit: 22 or 31 (UPMU_UNIT_SELECT); 0, 22, or 0xff for none
                              (other styles) */
    uint8_t filters;       /* number of filter registers: entries of filter[] in use */
    /*
     * enum upmu_scope: the CPUs that reach the MSRs of a box; a box in another space is reached by all CPUs.  In a
     * host's own type UPMU_SCOPE_LLC stands for the CPUs of the box's last-level cache, any other value for those of
     * its die
     */
    uint8_t scope;
    /* bits, ORed: UPMU_UNIT_GROWING_RESET; the others are the library's backend's, and 0 in a host's own type */
    uint16_t quirks;
    uint16_t rdpmc;        /* RDPMC index of counter 0; 0xffff: none */
    /* Offsets of registers from the box's base, where no flag (UPMU_UNIT_…) gives them another meaning. */
    uint32_t control;      /* box control; with UPMU_UNIT_GLOBAL the register that enables all counters */
    uint32_t select;       /* select of counter 0 */
    uint32_t counter;      /* counter 0 */
    uint32_t fixed_select;
    uint32_t fixed_counter;
    uint32_t filter[4];
    uint32_t freeze;       /* bits of box control that freeze the counters; not 0 for styles BOX to CLIENT_IMC */
    uint32_t control_idle; /* value that box control has at the begin, without reset bits */
    uint32_t reset;        /* reset bits of box control, written when a unit none of whose counters is in use is opened
                              (styles BOX to CLIENT_IMC alone); 0: no reset */
    uint64_t select_mask;  /* bits of a select that an event may set; the enable bit is none of them */
    uint64_t filter_mask[4]; /* bits of filter[i] that an event may set */
    uint32_t rate_mhz;     /* highest rate of a counter, in millions of events per second; 0: UPMU_UNIT_RATE_MHZ */
    const struct upmu_unit_constraint *constraints; /* a list that ends with code_mask 0; or NULL */
};

/* A box. */
struct upmu_unit_info {
    uint64_t base;    /* by space: number of an MSR; `where` of a PCI function (upmu/port.h); physical address */
    void *mapped;     /* address of the mapped registers, while a unit with the box is open; else NULL */
    const char *name; /* the path that the host gave the box, or NULL */
    uint32_t second;  /* second MSR or PCI function with registers of the box, where the type has one */
    uint32_t address; /* packed address (upmu/unit_addr.h), or UPMU_UNIT_NO_ADDRESS */
    uint16_t number;  /* number of the box among those of its type on its die */
    uint16_t llc;     /* number of the last-level cache to which the box belongs */
    uint8_t type;     /* index of the type in upmu_unit_list.pmu */
    uint8_t package;  /* number of the package */
    uint8_t die;      /* number of the die within its package */
    uint8_t flags;    /* the backend's */
    struct upmu_box_history history; /* the library's */
};

struct upmu_unit_list;

/* The PMU of a type of units. */
struct upmu_uncore_pmu {
    struct upmu_pmu pmu;        /* the PMU for which events are encoded */
    const struct upmu_unit_type *type; /* the type: `made`, or the host's own */
    const struct upmu_unit_list *list; /* the list that this PMU is in; NULL: none, and no path of a unit is known */
    struct upmu_register_table table; /* the registers of a box, whose rows are `row` */
    struct upmu_register row[UPMU_UNIT_REGISTERS]; /* addresses are offsets from the box's base */
    uint16_t packed;            /* 1 + number of the type in the library's table; 0: the host's own type */
    uint16_t found[5];          /* the backend's: what the processor's own tables and registers say of the type */
    struct upmu_unit_type made; /* unpacked data of a type of the library, to which `type` then points */
    char text[96];              /* the names of `made` */
};

/*
 * The boxes of a machine and their types, in the caller's memory.  Boxes of one type and die that one call of
 * upmu_units_find() finds stand side by side in `unit`; boxes of the host's own stand in the order in which own_unit
 * names them.
 */
struct upmu_unit_list {
    struct upmu_unit_info *unit;  /* array of the caller: the boxes */
    struct upmu_uncore_pmu *pmu;  /* array of the caller: the types */
    uint16_t unit_capacity;       /* entries of `unit` */
    uint16_t unit_count;          /* entries of `unit` in use */
    uint8_t pmu_capacity;         /* entries of `pmu` */
    uint8_t pmu_count;            /* entries of `pmu` in use */
    struct upmu_machine *machine; /* the machine whose CPUs drive the units */
    struct upmu_unit_search search; /* the library's: zero it before the first upmu_units_find() */
};

/*
 * Fill in the PMU of type number `index` that the library knows, without hardware: for tools and tests.  A type whose
 * number of counters only a processor's own table says has four.
 *
 * Returns false: no type has this number, nor a greater one.
 * Context: any.
 */
bool upmu_uncore_pmu_at(unsigned index, struct upmu_uncore_pmu *out_pmu);

/* Flag of upmu_units_find(): find units under a hypervisor, too.  A unit whose selects do not keep what is written is
   then refused by upmu_unit_open(). */
#define UPMU_UNITS_FORCE (1u << 0)

/*
 * Flag of upmu_units_find(): find also the units that belong to the executing CPU or to its core (`msr`,
 * `cstate_core`).  Call it on each CPU then.  A machine has as many `msr` units as CPUs, and as many `cstate_core`
 * units as cores.
 */
#define UPMU_UNITS_EACH_CPU (1u << 1)

/*
 * Find the boxes of a machine, and add them to a list.  Call it once on each die (with UPMU_UNITS_EACH_CPU: on each
 * CPU), on an initialised CPU of that die, and stay on that CPU meanwhile.  The first call finds the boxes that all
 * CPUs can access, and calls own_unit; each call finds the boxes that only CPUs of its die can access, and removes
 * boxes of its die that an earlier call found in a processor's table and that do not exist.  Before the
 * first call set the two arrays of *list and their capacities, and all else to 0; arrays and list must stay as long as
 * the machine.  Registers are read, none is written; memory may be mapped, and is unmapped again.
 *
 * Returns UPMU_OK (also if there are no units); UPMU_ERR_NO_PMU (`cpu` is not initialised or is suspended, or there is
 * a hypervisor and no UPMU_UNITS_FORCE: then the list has the host's own boxes alone); UPMU_ERR_WRONG_CPU (`cpu` is not
 * the executing CPU); UPMU_ERR_NO_SPACE (an array is full, a host's type has more registers than UPMU_UNIT_REGISTERS,
 * or more than UPMU_UNIT_STOPS processors' tables name a register that stops their units: the boxes of further tables
 * are left out.  Boxes that were found before are right, and with a longer array another call finds the others, but for
 * the host's own); UPMU_ERR_STATE (the machine has another list); UPMU_ERR_PORT (a processor's table is
 * damaged, or registers that say where some boxes are cannot be read: the boxes that were found are right);
 * UPMU_ERR_UNSUPPORTED (a type of own_unit cannot be driven: its boxes are left out).  machine->why has the details.
 * Context: any, but not while units are opened.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_units_find(struct upmu_cpu *cpu, struct upmu_unit_list *list, unsigned flags);

/*
 * Take over `boxes` boxes of one type, die and last-level cache, which stand side by side in the list from `info` on,
 * as one unit: a write goes to all of them, a count is the sum of their counts.  Boxes that belong to one CPU or core
 * are units of one box.  The library chooses the CPU that drives the unit (hook nearest_cpu), and accesses registers
 * there.  A counter that is in use in one box is left alone in all boxes.  `unit` and the list must stay until
 * upmu_unit_close().
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (no such boxes stand there); UPMU_ERR_STATE (a unit with one of the boxes is open;
 * machine->why has the box's path; or `unit` itself is open, and stays open); UPMU_ERR_HOOK_MISSING (pci_read,
 * mmio_map); UPMU_ERR_NO_CPU; UPMU_ERR_WRONG_CPU (the CPU cannot be reached: run_on_cpu); UPMU_ERR_BUSY;
 * UPMU_ERR_NO_SPACE (memory was not mapped); UPMU_ERR_PORT (a register of a box faulted or is gone, or the register
 * that stops all units of the die did: no count would be certain); UPMU_ERR_NO_PMU (under a hypervisor: the unit
 * ignores writes).
 * After an error `unit` is not open, but for UPMU_ERR_STATE as above; machine->why has the details.
 * Context: any; units are opened, closed and handed over one at a time, and not while a CPU comes or goes.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_unit_open(struct upmu_unit *unit, struct upmu_machine *machine,
                                const struct upmu_unit_info *info, unsigned boxes);

/*
 * Open the unit that has a path, as upmu_unit_find() with UPMU_UNIT_PATH and then upmu_unit_open() do.  Returns as
 * these two functions.  Context: as upmu_unit_open().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_unit_open_text(struct upmu_unit *unit, struct upmu_machine *machine, const char *path);

/*
 * Close a unit: detach its sessions and restore its registers.  The registers of a unit of one box become as they were
 * found; those of several boxes get idle values.  A unit that is not open is left as it is.  No other CPU may open or
 * poll the unit, attach a session to it, or be in another call on it or on a session of it meanwhile.
 *
 * Returns UPMU_OK; UPMU_ERR_PORT (the unit is closed, but some register was not restored: a box may stay frozen);
 * UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY (the unit is still open).
 * Context: as upmu_unit_open().
 */
enum upmu_status upmu_unit_close(struct upmu_unit *unit);

/*
 * Bind a session to a unit, as upmu_session_attach_cpu() binds it to a CPU; but the call may come from any CPU.  All
 * events of the session must be of the unit's type and have no period.  The session is started, read and stopped by the
 * calls of upmu/upmu.h and upmu/session.h, which act on the CPU that drives the unit.  These calls return
 * UPMU_ERR_NO_CPU while no CPU drives the unit; but detach, close and drop do their work then, though they may not be
 * called while a CPU comes that may drive the unit.  While the unit is handed over from one CPU to another the calls
 * return UPMU_ERR_BUSY, and a read UPMU_ERR_WRONG_CPU: repeat them.
 *
 * Returns as upmu_session_attach_cpu(), with UPMU_ERR_NO_PMU for a unit that is not open; UPMU_ERR_WRONG_PMU (an event
 * of another type, or of a box with another number or another path); UPMU_ERR_NO_CPU; UPMU_ERR_UNSUPPORTED (a published
 * session; a session of one world; an event whose filters are in a second PCI function of the box, which was not found;
 * upmu_session_alone()).
 * Context: local, on any CPU.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_attach_unit(struct upmu_session *session, struct upmu_unit *unit);

/*
 * Let `cpu` drive the unit from now on.  If another CPU drove it, no register is written and counts have no gap; if
 * none did, the unit is taken over and its suspended sessions continue.  A host need not call this when a CPU goes
 * offline: upmu_cpu_suspend() and upmu_cpu_fini() hand the units of their CPU over to other CPUs.  Where no other CPU
 * can drive a unit, its sessions are suspended until one that can is initialised or resumed.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (`cpu` cannot drive the unit); UPMU_ERR_WRONG_CPU (the former or the new CPU cannot
 * be reached: the unit is driven as before; where neither can, the unit counts on, but no tick folds its counters until
 * the call is repeated); UPMU_ERR_BUSY; UPMU_ERR_PORT; UPMU_ERR_STATE (not open); where no CPU drove it, also those of
 * upmu_cpu_resume().
 * Context: as upmu_unit_open().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_unit_manage(struct upmu_unit *unit, struct upmu_cpu *cpu);

/*
 * Declare that the firmware no longer needs its counters of this unit: counters that were found in use when the unit
 * was opened are stopped, and sessions may use them.  upmu_unit_close() still restores the registers of a unit of one
 * box as they were found.  If all CPUs that can drive the unit go, and one of them comes again, the counters are found
 * in use again.
 *
 * Returns UPMU_OK; UPMU_ERR_PORT (the counters are still the firmware's); UPMU_ERR_STATE (not open);
 * UPMU_ERR_WRONG_CPU; UPMU_ERR_BUSY; UPMU_ERR_NO_CPU; UPMU_ERR_COMPILED_OUT (upmu_unit_open() took them).
 * Context: local, on any CPU.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_unit_take_firmware(struct upmu_unit *unit);

/*
 * Fold the running counters of a unit, so that no counter wraps twice between two folds.  upmu_cpu_tick() does it where
 * the host has ticks; else call this at least every upmu_unit_poll_interval() ns.  Counts that were folded too late get
 * UPMU_QUALITY_PARTIAL, as far as the delay can be measured.
 *
 * Returns UPMU_OK, UPMU_ERR_STATE (not open), UPMU_ERR_PORT, UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY, UPMU_ERR_NO_CPU.
 * Context: local, on any CPU.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_unit_poll(struct upmu_unit *unit);

/*
 * The longest time between two polls of a unit, in ns: the time in which its fastest counter can pass half its range,
 * at most 60 s.  For a unit that is not open: 60 s.
 *
 * Context: any.
 */
uint64_t upmu_unit_poll_interval(const struct upmu_unit *unit);

/*
 * Rotate the sharing sessions of a unit in each `every`th tick (1 or more; after open 1).  While rotations take more
 * than 1/128 of the time, the library doubles the number of ticks between them, up to 64 * `every`.  While they take
 * less than 1/512 of it, the library halves that number, down to `every`.  Without the hook clock_ns it stays.
 *
 * Context: any.
 */
void upmu_unit_turns(struct upmu_unit *unit, unsigned every);

/* What a count of an event stands for: value * multiplier / divisor, measured in `measure`. */
struct upmu_unit_scale {
    const char *measure; /* "J" (joules), "ticks" (of the TSC), "cycles", "instructions", "interrupts"; constant text */
    uint32_t multiplier; /* not 0 */
    uint32_t divisor;    /* not 0 */
};

/*
 * Get the scale of an event of an open unit: of energy (`power`), of residencies (`cstate_core`, `cstate_pkg`) and of
 * `msr`.
 *
 * Returns false, and leaves *out_scale as it is: a count is a number of events, and stands for itself; or the register
 * that says the unit of energy could not be read; or the unit is not open.
 * Context: any.
 */
bool upmu_unit_scale(const struct upmu_unit *unit, const struct upmu_event *event, struct upmu_unit_scale *out_scale);

/* A value of the moment: no count, but what a register shows (upmu_unit_level()). */
struct upmu_unit_level {
    const char *measure; /* "C" (degrees); constant text */
    uint64_t value;      /* in `measure` */
};

/*
 * Read a level of an open unit: `cpu_thermal_margin` of `msr`, by how many degrees the CPU is cooler than the limit at
 * which it slows down.  The register is read on the CPU that drives the unit.  Levels are no events: no session counts
 * them.
 *
 * Returns UPMU_OK; UPMU_ERR_NO_SUCH_NAME (the unit has no level of this name, or its CPU lacks the register, or there
 * is a hypervisor); UPMU_ERR_NOT_COUNTED (the register says that it has no value now); UPMU_ERR_PORT (it cannot be
 * read); UPMU_ERR_STATE (not open); UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY, UPMU_ERR_NO_CPU.  After an error *out_level is
 * as it was.
 * Context: local, on any CPU.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_unit_level(struct upmu_unit *unit, const char *name, struct upmu_unit_level *out_level);

#define UPMU_UNIT_CPUS 32 /* the most CPUs that upmu_unit_facts lists */

/* Facts about an open unit (upmu_unit_ask()). */
struct upmu_unit_facts {
    struct upmu_cpu *cpu;                     /* the CPU that drives the unit; NULL: none does now */
    struct upmu_cpu *allowed[UPMU_UNIT_CPUS]; /* the first CPUs that can drive it, the best one first */
    unsigned allowed_count;                   /* entries of `allowed` in use */
    unsigned boxes;                           /* number of boxes that are driven as one */
    uint64_t cost_ns;                         /* time that a rotation takes, on average; 0: unknown */
    uint64_t poll_interval_ns;                /* upmu_unit_poll_interval() */
    uint32_t every;                           /* ticks from one rotation to the next, at present */
    uint32_t rotations;                       /* number of rotations so far that accessed registers */
    uint32_t firmware;                        /* mask: counters found in use that are still the firmware's */
    struct upmu_accesses accesses;            /* register accesses so far */
};

/* Can a CPU drive an open unit, and is it on the unit's die?  Context: any. */
bool upmu_unit_is_near(const struct upmu_unit *unit, const struct upmu_cpu *cpu);

/* Get the facts about a unit; all 0: it is not open.  Context: any. */
void upmu_unit_ask(const struct upmu_unit *unit, struct upmu_unit_facts *out_facts);

/*
 * Write the path of a box of the list: the path that the host gave it, or "package0/die0/imc3", "package0/die0/l3_1".
 *
 * Returns the length of the whole text without the NUL; at most `size` bytes including the NUL are written.
 * Context: any.
 */
size_t upmu_unit_path(const struct upmu_unit_list *list, const struct upmu_unit_info *unit, char *buffer, size_t size);

/* The result of upmu_unit_find(): `boxes` boxes, which stand side by side in the list from `unit` on. */
struct upmu_unit_found {
    const struct upmu_unit_info *unit;  /* the first box; NULL: nothing was found */
    const struct upmu_unit_info *other; /* first box of a second unit to which text or address apply, or NULL */
    uint16_t boxes;
};

/* Flag of upmu_unit_find(): the text is a path. */
#define UPMU_UNIT_PATH (1u << 0)

/*
 * Find one unit in the list.  With UPMU_UNIT_PATH, `text` is a path or the last components of a path, in any case of
 * letters; with a leading '/' it is a whole path.  A component without its number stands for every number.  The last
 * component without its number stands for all boxes of that type on one die together (of AMD's L3: of one cache).  The
 * last component may also be written imc_3, imc/3, uncore_imc_3 (or amd_df_0), or as the PMU's name with a number,
 * skx_unc_imc3.
 * Without the flag `address` is a packed address (upmu/unit_addr.h), and `text` the name of a type; `text` may be NULL
 * if only one unit has the address.
 *
 * Returns UPMU_OK; UPMU_ERR_NO_SUCH_PMU (no such unit); UPMU_ERR_INVALID (text or address apply to several units:
 * `unit` and `other` are the first two; or, with both NULL, `address` is invalid or `text` is missing).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_unit_find(const struct upmu_unit_list *list, unsigned flags, uint32_t address, const char *text,
                                struct upmu_unit_found *out_found);

/* ---- Regions that count on one unit of each die, and add up the dies ---- */

/*
 * Add the count of another die to a sum.  `value`, `raw`, `error` and `lost` are added, each up to its largest value.
 * `enabled_ns` becomes the longest of the dies, and `running_ns` this time less the longest time without a counter.
 * The quality becomes the worst of the dies; but a die that is idle (0, UPMU_QUALITY_UNPROVEN) makes a sum unproven
 * only if no other die counted.  Context: any.
 */
void upmu_counts_add(struct upmu_count *sum, const struct upmu_count *count);

/* A region counts on one unit of each die; one of these for each die.  `region.count[i]` is the die's count of event i
   of the list. */
struct upmu_uncore_region {
    struct upmu_unit unit;     /* the unit of the die */
    struct upmu_region region; /* in the first die, region.session.why explains why the open was refused */
    bool open;                 /* between upmu_uncore_region_open() and upmu_uncore_region_close() */
};

/*
 * Open the unit that the first specification names ("imc/CAS_COUNT.RD,imc/CAS_COUNT.WR") on each die that has it, and
 * start the events there.  `dies` has room for `count` dies.  The events run until upmu_uncore_region_close(), so
 * begin, end and read only read counters.  All events of the list must belong to that unit.
 *
 * Returns UPMU_OK; UPMU_ERR_NO_SUCH_PMU (no die has such a unit); UPMU_ERR_NO_SPACE (more dies than `count`, or `count`
 * is 0); UPMU_ERR_STATE (`dies` are open already, and stay open); any code of upmu_spec_next(), upmu_unit_open(),
 * upmu_set_add(), upmu_session_attach_unit() and upmu_session_start(); UPMU_ERR_COMPILED_OUT.  After UPMU_ERR_BUSY and
 * UPMU_ERR_WRONG_CPU (a CPU is in a call, or cannot be reached) some of `dies` may still be open: call
 * upmu_uncore_region_close() until it returns UPMU_OK, before the memory is freed.  After any other error no unit is
 * open.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_uncore_region_open(struct upmu_uncore_region *dies, unsigned count, struct upmu_machine *machine,
                                         const char *list);

/*
 * Begin a measurement; begin and end may be repeated while the region is open.  Dies are read one after the other.
 *
 * Returns as upmu_region_begin(); UPMU_ERR_STATE also if no die is open, or if the CPU that drives a unit is just
 * loading its registers again (upmu_cpu_changed()): try again.  Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_uncore_region_begin(struct upmu_uncore_region *dies, unsigned count);

/* End a measurement: counts[i], for the first `events` events, gets the sum of all dies since the begin.  Returns and
   context: as upmu_uncore_region_begin(). */
UPMU_MUST_CHECK
enum upmu_status upmu_uncore_region_end(struct upmu_uncore_region *dies, unsigned count, struct upmu_count *counts,
                                        unsigned events);

/* Get sums as upmu_uncore_region_end() does, but since the region was opened.  Returns and context: as
 * upmu_uncore_region_begin(). */
UPMU_MUST_CHECK
enum upmu_status upmu_uncore_region_read(struct upmu_uncore_region *dies, unsigned count, struct upmu_count *counts,
                                         unsigned events);

/* Stop the events, and close the units of all dies.  Returns as upmu_session_close() and upmu_unit_close().  Context:
   local. */
enum upmu_status upmu_uncore_region_close(struct upmu_uncore_region *dies, unsigned count);

#ifdef __cplusplus
}
#endif

#endif
