/* SPDX-License-Identifier: MIT */
/*
 * Units outside the cores: memory controllers, cache slices, links, power units, and devices of the host's own.
 *
 * A unit is one box, or several alike on one die that are driven as one.  One CPU drives it, and its
 * events belong to no thread.
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

/* Uncore PMU number i of a machine has upmu_pmu.index = UPMU_UNIT_PMU + i, and so have its events. */
#define UPMU_UNIT_PMU 4u

/* How a type's counters are started and stopped. */
enum upmu_unit_style {
    UPMU_UNIT_GLOBAL = 0,     /* one register has a bit for each counter */
    UPMU_UNIT_SELECT = 1,     /* each select enables its own counter */
    UPMU_UNIT_BOX = 2,        /* one bit freezes all counters of a box, selects have enable bits, too */
    UPMU_UNIT_DISCOVERED = 3, /* the same without enable bits: a select that is not 0 counts */
    UPMU_UNIT_CLIENT_IMC = 4, /* as DISCOVERED; of clients' memory controllers */
    UPMU_UNIT_FREE = 5        /* never stopped, never written */
};

/* The bits of control_idle and reset are set one more at a time, the lowest first. */
#define UPMU_UNIT_GROWING_RESET (1u << 15)

/* A counter of which the host does not know how fast it counts. */
#define UPMU_UNIT_RATE_MHZ 4000u

/* Events whose code & code_mask is `code` have these counters only. */
struct upmu_unit_constraint {
    uint16_t code;      /* of the event */
    uint16_t code_mask; /* bits of its code that are compared */
    uint32_t counters;  /* bit i: counter i */
};

/*
 * A kind of box: constant data, the library's or (hook own_unit) the host's.  Counter n is general counter n; the fixed
 * one is UPMU_FIXED_COUNTER(0).
 */
struct upmu_unit_type {
    const char *name;    /* of its units: "imc" */
    const char *pmu;     /* of its PMU, libpfm4's where it has one: "skx_unc_imc" */
    const char *title;   /* for display: "Skylake-X memory controller" */
    const char *prefix;  /* of its events' names: "UNC_M_" */
    const char *catalog; /* of its generation: "skx_uncore"; NULL: raw events only */
    uint8_t style;         /* enum upmu_unit_style */
    uint8_t space;         /* enum upmu_register_space */
    uint8_t number;        /* of the type in the catalogue's rows */
    uint8_t counters;      /* general ones: 16 at most */
    uint8_t width;         /* of these, bits: 64 at most */
    uint8_t fixed_width;   /* of the fixed counter; 0: there is none */
    uint8_t select_step;   /* from one select to the next */
    uint8_t counter_step;  /* from one counter to the next */
    uint8_t register_bits; /* 32 or 64: of one access; in configuration space each is 32, and 64 bits are two; in
                              memory box control and filters have 32 */
    uint8_t enable_bit;    /* of a select: 22 or 31 (UPMU_UNIT_SELECT); 0, 22 or, for none, 0xff (others) */
    uint8_t filters;       /* entries of filter[] in use */
    uint8_t scope;         /* enum upmu_scope: the CPUs that reach it by MSRs */
    uint16_t quirks;       /* UPMU_UNIT_GROWING_RESET, or the backend's bits */
    uint16_t rdpmc;        /* RDPMC index of counter 0, or 0xffff: none */
    /* Offsets from the box's base. */
    uint32_t control;      /* box control; of UPMU_UNIT_GLOBAL: the enable register */
    uint32_t select;       /* of counter 0 */
    uint32_t counter;      /* counter 0 */
    uint32_t fixed_select;
    uint32_t fixed_counter;
    uint32_t filter[4];
    uint32_t freeze;       /* bits of box control that freeze the counters; not 0 where there is one */
    uint32_t control_idle; /* its value to begin with, without reset bits */
    uint32_t reset;        /* its reset bits, sent once where the box is not in use */
    uint64_t select_mask;  /* bits of a select that an event may set, without the enable bit */
    uint64_t filter_mask[4];
    uint32_t rate_mhz;     /* the most that one counter counts, in millions per second; 0: UPMU_UNIT_RATE_MHZ */
    const struct upmu_unit_constraint *constraints; /* ends with mask 0; or NULL */
};

/* A box. */
struct upmu_unit_info {
    uint64_t base;    /* number of an MSR; `where` of a PCI function (upmu/port.h); physical address */
    void *mapped;     /* memory, while open; or NULL */
    const char *name; /* the host's path, or NULL */
    uint32_t second;  /* second MSR or function, where the type has one */
    uint32_t address; /* packed (upmu/unit_addr.h), or UPMU_UNIT_NO_ADDRESS */
    uint16_t number;  /* among the boxes of its type on its die */
    uint16_t llc;     /* which last-level cache it belongs to */
    uint8_t type;     /* index in upmu_unit_list.pmu */
    uint8_t package;  /* number of the package */
    uint8_t die;      /* within its package */
    uint8_t flags;    /* the backend's */
    struct upmu_box_history history; /* the library's */
};

struct upmu_unit_list;

/* The PMU of a type, made from it. */
struct upmu_uncore_pmu {
    struct upmu_pmu pmu;        /* what sessions and names are for */
    const struct upmu_unit_type *type; /* `made`, or the host's own */
    const struct upmu_unit_list *list; /* that it is in, or NULL: then no path of a unit is known */
    struct upmu_register_table table; /* its registers: `row` */
    struct upmu_register row[UPMU_UNIT_REGISTERS]; /* of one box, as offsets */
    uint16_t packed;            /* 1 + its row in the library's table; 0: the host's own type */
    uint16_t found[5];          /* what a table of the processor says of it: the backend's */
    struct upmu_unit_type made; /* a type of the library, unpacked */
    char text[96];              /* its names */
};

/*
 * The units of a machine and their types, in the caller's memory.  Boxes of one type and die that one call finds stand
 * side by side; the host's own stand as own_unit names them.
 */
struct upmu_unit_list {
    struct upmu_unit_info *unit;  /* the caller's: boxes */
    struct upmu_uncore_pmu *pmu;  /* the caller's: types */
    uint16_t unit_capacity;       /* entries of `unit` */
    uint16_t unit_count;          /* of these in use */
    uint8_t pmu_capacity;         /* entries of `pmu` */
    uint8_t pmu_count;            /* of these in use */
    struct upmu_machine *machine; /* whose CPUs drive them */
    struct upmu_unit_search search; /* the library's: zero it first */
};

/*
 * Fill in the index-th type that the library knows, without hardware: for tools and tests.  Types whose counters a
 * processor's own table tells have four.
 *
 * Returns false after the last.
 * Context: any.
 */
bool upmu_uncore_pmu_at(unsigned index, struct upmu_uncore_pmu *out_pmu);

/* For upmu_units_find(): look under a hypervisor, too.  A unit whose selects ignore what is written is not opened. */
#define UPMU_UNITS_FORCE (1u << 0)

/*
 * Find units.  Call it once on each die, on a CPU of it that is initialised, and stay on that CPU meanwhile.  The first
 * call finds what is seen from everywhere and asks own_unit; each call finds the units that only its die sees.  Before
 * the first call set the two arrays of *list and their capacities, and all else to 0; both must stay as long as the
 * machine.  Registers are read, none is written; memory may be mapped, and is unmapped again.
 *
 * Returns UPMU_OK (also if there are none); UPMU_ERR_NO_PMU (`cpu` is not initialised, or there is a hypervisor and no
 * UPMU_UNITS_FORCE); UPMU_ERR_WRONG_CPU; UPMU_ERR_NO_SPACE (an array is full, or a host's type has more registers than
 * UPMU_UNIT_REGISTERS: what was found before is right, and with a longer array another call finds the rest but for the
 * host's own units); UPMU_ERR_STATE (the machine has another list); UPMU_ERR_PORT (a processor's table is damaged, or
 * what it takes to find some units cannot be read: the rest is right); UPMU_ERR_UNSUPPORTED (a type of own_unit cannot
 * be right: its units are left out); UPMU_ERR_COMPILED_OUT.  machine->why has the details.
 * Context: any, but not while units are opened.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_units_find(struct upmu_cpu *cpu, struct upmu_unit_list *list, unsigned flags);

/*
 * Take over `boxes` boxes, which stand side by side in the list from `info` on and are of one type and die, as one
 * unit: what is written goes to all of them, a count is the sum of theirs.  The library chooses the CPU that drives it
 * (hook nearest_cpu), and does the work there.  Counters that are in use are left alone, in all boxes.  `unit` and the
 * list must stay until upmu_unit_close().
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (such boxes do not stand there); UPMU_ERR_STATE (one of them is open; machine->why
 * has its path; or `unit` is: it stays so); UPMU_ERR_HOOK_MISSING (pci_read, mmio_map); UPMU_ERR_NO_CPU;
 * UPMU_ERR_WRONG_CPU (the CPU cannot be reached: run_on_cpu); UPMU_ERR_BUSY; UPMU_ERR_NO_SPACE (memory was not mapped);
 * UPMU_ERR_PORT; UPMU_ERR_NO_PMU (under a hypervisor: it ignores writes); UPMU_ERR_COMPILED_OUT.
 * On any other error nothing is open; machine->why has the details.
 * Context: any; units are opened, closed and handed over one at a time, and not while a CPU comes or goes.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_unit_open(struct upmu_unit *unit, struct upmu_machine *machine,
                                const struct upmu_unit_info *info, unsigned boxes);

/*
 * Open a unit by its path (see upmu_unit_find()).  Returns as upmu_unit_open() and upmu_unit_find().  Context: as
 * upmu_unit_open().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_unit_open_text(struct upmu_unit *unit, struct upmu_machine *machine, const char *path);

/*
 * Detach its sessions and restore the registers: of one box as they were found, of several to idle values.  A unit that
 * is not open is left as it is.  No other CPU may open or poll it, attach a session to it, or be in another call on it
 * or on a session of it meanwhile.
 *
 * Returns UPMU_OK; UPMU_ERR_PORT (closed all the same, but a register keeps what it has: a box may stay frozen);
 * UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY (still open).
 * Context: as upmu_unit_open().
 */
enum upmu_status upmu_unit_close(struct upmu_unit *unit);

/*
 * Bind a session to a unit: as upmu_session_attach_cpu(), from any CPU.  All its events are of the unit's type, without
 * period.  The calls of upmu/session.h do the rest; they act on the CPU that drives the unit, and return
 * UPMU_ERR_NO_CPU where none does.  (Detach, close and drop work all the same, but not while a CPU comes that may
 * drive the unit.)  While it is handed over from one CPU to another they return UPMU_ERR_BUSY, and a read
 * UPMU_ERR_WRONG_CPU: repeat them.
 *
 * Returns as upmu_session_attach_cpu(); UPMU_ERR_WRONG_PMU (an event of another type, or of a box with
 * another number or another path); UPMU_ERR_NO_CPU; UPMU_ERR_UNSUPPORTED (a published session;
 * an event with filters in a companion function of the box that was not found).
 * Context: local, on any CPU.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_attach_unit(struct upmu_session *session, struct upmu_unit *unit);

/*
 * From now on this CPU drives the unit.  Nothing is written, counts have no gap.  A unit without a CPU begins to work
 * again.  (Where a CPU goes offline, upmu_cpu_suspend() and upmu_cpu_fini() hand its units over to others by
 * themselves.  Where that cannot be, sessions are suspended until a CPU that may drive it is initialised or resumed.)
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (it may not drive it); UPMU_ERR_WRONG_CPU (one of both cannot be reached: it is
 * driven as before; where neither can, it counts on, but no tick looks at it until the call is repeated);
 * UPMU_ERR_BUSY; UPMU_ERR_PORT; UPMU_ERR_STATE (not open).
 * Context: as upmu_unit_open().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_unit_manage(struct upmu_unit *unit, struct upmu_cpu *cpu);

/*
 * Declare that the firmware no longer needs its counters: those that were found in use when the unit was opened stand
 * still and are free.  upmu_unit_close() restores the registers all the same (of one box), and where all CPUs of the
 * unit go meanwhile, the counters are found in use again.
 *
 * Returns UPMU_OK; UPMU_ERR_PORT (they are still the firmware's); UPMU_ERR_STATE (not open); UPMU_ERR_WRONG_CPU;
 * UPMU_ERR_BUSY; UPMU_ERR_NO_CPU.
 * Context: local, on any CPU.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_unit_take_firmware(struct upmu_unit *unit);

/*
 * Take the counts of what runs, so that no counter goes round unseen.  upmu_cpu_tick() does it where the host has
 * ticks; else call this at least every upmu_unit_poll_interval() ns.  A count that was looked at too late has quality
 * UPMU_QUALITY_PARTIAL, as far as it can be seen.
 *
 * Returns UPMU_OK, UPMU_ERR_PORT, UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY, UPMU_ERR_NO_CPU.
 * Context: local, on any CPU.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_unit_poll(struct upmu_unit *unit);

/* Context: any. */
uint64_t upmu_unit_poll_interval(const struct upmu_unit *unit);

/*
 * Sessions that share change places with each `every`th tick (1 or more; 1 after open).  Where that takes more than
 * 0.8 % of the time, it becomes less frequent by itself, 64 times at most.
 *
 * Context: any.
 */
void upmu_unit_turns(struct upmu_unit *unit, unsigned every);

#define UPMU_UNIT_CPUS 32 /* CPUs that upmu_unit_facts lists */

/* Facts about a unit at work. */
struct upmu_unit_facts {
    struct upmu_cpu *cpu;                     /* that drives it, or NULL */
    struct upmu_cpu *allowed[UPMU_UNIT_CPUS]; /* that may: the first of them, best first */
    unsigned allowed_count;                   /* in `allowed` */
    unsigned boxes;                           /* driven as one */
    uint64_t cost_ns;                         /* of a turn; 0: unknown */
    uint64_t poll_interval_ns;                /* least often that it must be polled */
    uint32_t every;                           /* ticks from turn to turn, now */
    uint32_t rotations;                       /* turns so far */
    uint32_t firmware;                        /* counters that were in use */
    struct upmu_accesses accesses;            /* so far */
};

/* Context: any. */
void upmu_unit_ask(const struct upmu_unit *unit, struct upmu_unit_facts *out_facts);

/*
 * The path of a unit: the one that the host gave it, or "package0/die0/imc3", "package0/die0/l3_1".  `unit` is one
 * of the list.
 *
 * Returns the whole length; at most `size` bytes including the NUL are written.
 * Context: any.
 */
size_t upmu_unit_path(const struct upmu_unit_list *list, const struct upmu_unit_info *unit, char *buffer, size_t size);

/* The boxes that were found: `boxes` of them side by side from `unit` on. */
struct upmu_unit_found {
    const struct upmu_unit_info *unit;  /* in the list, or NULL: nothing was found */
    const struct upmu_unit_info *other; /* a second one to which the text or the address applies, or NULL */
    uint16_t boxes;
};

/* For upmu_unit_find(): the text is a path. */
#define UPMU_UNIT_PATH (1u << 0)

/*
 * Find one unit.  With UPMU_UNIT_PATH `text` is a path or the last components of one, in any case of letters; after a
 * leading '/' it is the whole path.  A number that is left out stands for every number; left out of the last component
 * it means all boxes of that type on that die, of AMD's L3 one cache.  The last component may also be written imc_3,
 * imc/3, uncore_imc_3 (or amd_df_0) and as the PMU with a number, skx_unc_imc3.
 * Without the flag `address` is a packed address (upmu/unit_addr.h), and `text` a type's name, or NULL if it is the
 * only one there.
 *
 * Returns UPMU_OK; UPMU_ERR_NO_SUCH_PMU (no such unit); UPMU_ERR_INVALID (more than one, and `unit` and `other` are
 * the first two; or, both NULL, `address` is invalid or a path is missing).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_unit_find(const struct upmu_unit_list *list, unsigned flags, uint32_t address, const char *text,
                                struct upmu_unit_found *out_found);

/* ---- Regions over all dies ---- */

/*
 * Add a count of another die: what was counted adds up (saturating), the worst quality and the longest times stay.  A
 * die that is idle (0, UPMU_QUALITY_UNPROVEN) makes a sum unproven only if no other die counted.  Context: any.
 */
void upmu_counts_add(struct upmu_count *sum, const struct upmu_count *count);

/* Counts on one unit of each die.  `region.count[i]` is this die's part of event i of the list. */
struct upmu_uncore_region {
    struct upmu_unit unit;     /* the die's */
    struct upmu_region region; /* of the first die region.session.why explains a refusal of open */
    bool open;                 /* between upmu_uncore_region_open() and _close() */
};

/*
 * Open the unit that the first specification names ("imc/CAS_COUNT.RD,imc/CAS_COUNT.WR") on each die that has it, and
 * start the events there.  `dies` has room for `count` dies; events run until upmu_uncore_region_close(), so
 * the other calls only read counters.  All events belong to that unit.
 *
 * Returns UPMU_ERR_NO_SUCH_PMU (no die has such a unit); UPMU_ERR_NO_SPACE (more dies than `count`, or that is 0);
 * UPMU_ERR_STATE (`dies` are open already, and stay so); any code of upmu_unit_open(), upmu_set_add(),
 * _attach_unit() and _start(); UPMU_ERR_COMPILED_OUT.  After UPMU_ERR_BUSY and UPMU_ERR_WRONG_CPU (a CPU in the middle
 * of a call, or out of reach) some of `dies` may still be open: upmu_uncore_region_close() until it answers UPMU_OK,
 * before the memory is given back.  On any other error all is closed.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_uncore_region_open(struct upmu_uncore_region *dies, unsigned count, struct upmu_machine *machine,
                                         const char *list);

/*
 * Begin a measurement; begin and end may be repeated.  Dies are read one after the other.
 *
 * Returns as upmu_region_begin(); UPMU_ERR_STATE also if the CPU that drives a unit is just starting over
 * (upmu_cpu_changed()): try again.  Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_uncore_region_begin(struct upmu_uncore_region *dies, unsigned count);

/* End a measurement: `counts` gets the sums over all dies since begin, of the first `events` events.  As
   upmu_uncore_region_begin(). */
UPMU_MUST_CHECK
enum upmu_status upmu_uncore_region_end(struct upmu_uncore_region *dies, unsigned count, struct upmu_count *counts,
                                        unsigned events);

/* As upmu_uncore_region_end(), for counts since the region was opened.  Returns and context: as
 * upmu_uncore_region_begin(). */
UPMU_MUST_CHECK
enum upmu_status upmu_uncore_region_read(struct upmu_uncore_region *dies, unsigned count, struct upmu_count *counts,
                                         unsigned events);

/* Stop, and close the units.  Returns as upmu_session_close() and upmu_unit_close().  Context: local. */
enum upmu_status upmu_uncore_region_close(struct upmu_uncore_region *dies, unsigned count);

#ifdef __cplusplus
}
#endif

#endif
