/* SPDX-License-Identifier: MIT */
/*
 * Machines, CPUs and PMUs: the hardware, described by data.
 *
 * Structures are complete so that you can place them in .bss or per-CPU memory.  Fields below a line
 * "private" belong to the library.
 */
#ifndef UPMU_PMU_H
#define UPMU_PMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/config.h>
#include <upmu/port.h>
#include <upmu/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Counters of one PMU are numbered 0…31 and sets of them are 32-bit masks.  On
 * Intel: general counter n is n, fixed counter i is 16 + i, metric byte b is
 * 24 + b.  On NetBurst: 0…17.
 */
#define UPMU_COUNTERS 32
#define UPMU_FIXED_COUNTER(i) (16u + (i))
#define UPMU_NO_COUNTER 0xffu
#define UPMU_METRIC_COUNTERS(pmu) ((uint32_t)(pmu)->metrics << 24) /* metric bytes */
#define UPMU_SLOTS_COUNTER UPMU_FIXED_COUNTER(3) /* counts the slots that metrics are fractions of */

/* Rows of a register table, at most (NetBurst, the largest, has 83). */
#define UPMU_REGISTERS 96
#define UPMU_NO_ROW 0xffu

/* Classes of rows, at most. */
#define UPMU_REGISTER_CLASSES 24

/* Exclusive resources of one PMU, at most: fields that hold one value at a time. */
#define UPMU_RESOURCES 64
#define UPMU_NO_RESOURCE 0xffu

/*
 * A resource of a UPMU_PMU_PAIRED PMU (bits of upmu_pmu.shared): general counter n, below 8,
 * together with the counter of the same number on the other hyper-thread, which an exclusive event
 * disturbs.
 */
#define UPMU_PAIR_RESOURCE(n) (UPMU_RESOURCES - 8u + (n))

/* Where a register is. */
enum upmu_register_space {
    UPMU_SPACE_MSR = 0,
    UPMU_SPACE_PCI = 1,
    UPMU_SPACE_MMIO = 2,
    UPMU_SPACE_PAGE = 3 /* of a paravirtual PMU (upmu/paravirt.h) */
};

/* The CPUs that share a register or a unit. */
enum upmu_scope {
    UPMU_SCOPE_THREAD = 0,
    UPMU_SCOPE_CORE = 1,
    UPMU_SCOPE_MODULE = 2,
    UPMU_SCOPE_DIE = 3,
    UPMU_SCOPE_NODE = 4,
    UPMU_SCOPE_LLC = 5 /* the CPUs of one last-level cache */
};

/* The effect of reads and writes of a register. */
enum upmu_register_access {
    UPMU_ACCESS_RW = 0,
    UPMU_ACCESS_RO = 1,
    UPMU_ACCESS_WO = 2,
    UPMU_ACCESS_W1C = 3,    /* write 1 to clear; reads something else or 0 */
    UPMU_ACCESS_COMMAND = 4,  /* every write acts */
    UPMU_ACCESS_SET_CLEAR = 5 /* its address reads, and sets bits; the next address clears them (Arm) */
};

/* The purpose of a register. */
enum upmu_register_kind {
    UPMU_KIND_COUNTER = 0, /* counts; no shadow */
    UPMU_KIND_SELECT = 1,  /* chooses the event of one counter */
    UPMU_KIND_CONTROL = 2, /* concerns several counters */
    UPMU_KIND_STATUS = 3,  /* overflow status */
    UPMU_KIND_ACK = 4,     /* acknowledges it */
    UPMU_KIND_PAYLOAD = 5, /* further value of an event, an exclusive resource */
    UPMU_KIND_AUX = 6      /* switches something that counting depends on */
};

/* The level that may set a register: with some of them (DS_AREA) hardware can be made to write any memory. */
enum upmu_level {
    UPMU_LEVEL_SESSION = 0,    /* any program that may count */
    UPMU_LEVEL_PRIVILEGED = 1, /* the host's administrator */
    UPMU_LEVEL_LIBRARY = 2     /* upmu alone */
};

/*
 * Properties that all rows of one kind of register have.  Masks of bits: upmu writes `owned` bits and preserves all
 * others.  `gates` let counters count.  A select that has one of the `in_use` bits is in use, where its counter's gate
 * is set, too; in an auxiliary register, `in_use` bits are owned where they were found set.  `enables_all` bits of the
 * first select (P6) are needed by all counters.  The hardware changes `hardware` bits; they have no shadow.  With one
 * of the `interrupt` bits an overflow requests an interrupt.  Raw words may set `session` and `privileged` bits at that
 * level.  Of these, `kernel` bits count what the kernel does, and `beyond` bits count what other threads or guests do
 * while the counter's own thread runs.
 */
struct upmu_register_class {
    uint8_t kind;         /* enum upmu_register_kind */
    uint8_t space;        /* enum upmu_register_space */
    uint8_t scope;        /* enum upmu_scope */
    uint8_t access;       /* enum upmu_register_access */
    uint8_t load_rank;    /* order of loading, low first, below 8 */
    uint8_t release_rank; /* order of release, low first, below 8 */
    uint8_t found;        /* 1: read at take-over; 0: before its first write */
    uint8_t promised;     /* 1: CPUID (or the family) promises it: never faults */
    uint8_t by_counter;   /* 1: each bit belongs to a counter, as in IA32_PEBS_ENABLE: see upmu_backend.bits_of */
    uint8_t second;       /* 1: the address counts from upmu_unit_info.second */
    uint16_t source;      /* offset of the manual's section in the table's text */
    uint8_t bits;         /* of one register outside MSRs: 32, or 0 for 64 */
    uint64_t owned;
    uint64_t gates;
    uint64_t hardware;
    uint64_t interrupt;
    uint64_t in_use;
    uint64_t enables_all;
    uint64_t session;
    uint64_t privileged;
    uint64_t kernel;
    uint64_t beyond;
    uint64_t idle_keep;  /* idle value = (present value & idle_keep) | idle_value */
    uint64_t idle_value; /* bits set where the class is idle */
#if UPMU_FOREIGN
    uint64_t inverted;   /* bits that the register holds the other way round: gates that close (RISC-V) */
    uint64_t kernel_off; /* bits that are all set if the kernel's mode is not counted (Arm, RISC-V) */
#endif
};

/* A register. */
struct upmu_register {
    uint32_t address;    /* number of an MSR, or offset in its space */
    uint8_t class_index; /* into the table's classes, and into upmu_pmu.limit */
    uint8_t counter;     /* counter it belongs to, or UPMU_NO_COUNTER */
    uint16_t name;       /* offset of its name in the table's text */
};

/* The registers of one kind of PMU: constant data of its backend. */
struct upmu_register_table {
    const struct upmu_register *rows; /* in the order of their numbers */
    const struct upmu_register_class *classes; /* that rows have by index */
    const char *text;         /* names and sources, each NUL-terminated */
    uint8_t row_count;        /* entries of `rows` */
    uint8_t class_count;      /* entries of `classes` */
    const uint32_t *row_bits; /* per row, the bits 31:0 that exist; NULL: those of the class */
};

/* The registers and the size of one counter. */
struct upmu_counter {
    uint8_t value_row;  /* register with the count */
    uint8_t write_row;  /* alias to write it through, or value_row */
    uint8_t select_row; /* register that chooses its event */
    uint8_t gate_row;   /* register with the bit that lets it count */
    uint8_t gate_bit;   /* of this register: 0 to 63 */
    uint8_t width;      /* bits */
    uint8_t write_bits; /* bits that a write can set; the value is sign-extended from there */
    uint8_t unused;     /* no padding: equal PMUs have equal bytes */
    uint32_t rdpmc;     /* RDPMC index, or UPMU_NO_RDPMC */
};
#define UPMU_NO_RDPMC 0xffffffffu /* RDPMC cannot read the counter */

/* Facts about a PMU, for calls and tests: bits of upmu_pmu.capabilities. */
#define UPMU_PMU_GLOBAL_CTRL (1u << 0)  /* one register gates all counters */
#define UPMU_PMU_STATUS (1u << 1)       /* overflow status and acknowledgement exist */
#define UPMU_PMU_FULL_WRITE (1u << 2)   /* counters can be written at full width */
#define UPMU_PMU_INUSE (1u << 3)        /* a register says which counters are in use */
#define UPMU_PMU_ANYTHREAD (1u << 4)    /* events can count both hyper-threads */
#define UPMU_PMU_TSX (1u << 5)          /* in_tx, in_txcp */
#define UPMU_PMU_HYPERVISOR (1u << 6)   /* CPUID reports a hypervisor */
#define UPMU_PMU_FIXED_FLOORED (1u << 7) /* CPUID reported too few fixed counters */
#define UPMU_PMU_DEBUGCTL (1u << 8)     /* freeze bits exist and are kept clear */
#define UPMU_PMU_REARM_LAST (1u << 9)   /* the interrupt is re-armed after all overflows are acknowledged */
#define UPMU_PMU_CARRY_LOST (1u << 10)  /* a stop can lose the carry from bit 31 into bit 32 of a counter */
#define UPMU_PMU_PRELUDE (1u << 11)     /* a sequence that clobbers counters precedes every new event */
#define UPMU_PMU_PAIRED (1u << 12)      /* UPMU_ATTR_EXCLUSIVE: see UPMU_PAIR_RESOURCE */
#define UPMU_PMU_NO_PMI (1u << 13)      /* an overflow causes no interrupt */
#define UPMU_PMU_KEEPS (1u << 14)       /* a counter keeps its value when it gets another event */
#define UPMU_PMU_FREE (1u << 15)        /* counters are never stopped or written; sessions share them */
#define UPMU_PMU_PAGE (1u << 16)        /* its registers are a page of memory and a hypervisor's calls */
#define UPMU_PMU_SATURATES (1u << 17)   /* counters stop at their end: they begin at 0 */

struct upmu_backend;
struct upmu_branch_stack;
struct upmu_catalog;

/*
 * A kind of hardware unit.  Constant once detected.
 */
struct upmu_pmu {
    const char *name;                   /* libpfm4's where it has one: "skl", "core" */
    const char *title;                  /* for display: "Intel Skylake" */
    const struct upmu_backend *backend; /* functions of its family */
    const struct upmu_register_table *table; /* its registers */
    const struct upmu_catalog *catalog; /* its events, or NULL: architectural and raw only */
    const struct upmu_catalog *imported; /* from outside, searched first; NULL: none */
    uint32_t capabilities;              /* UPMU_PMU_… */
    uint32_t quirks;                    /* the backend's bits: errata and the like */
    uint32_t counters;                  /* all that exist */
    uint32_t general;                   /* of these, the general counters */
    uint32_t shared_counters;           /* counters that other CPUs see, too */
    uint16_t family, model;             /* CPUID's, extended parts included */
    uint8_t stepping;                   /* CPUID's, extended parts included */
    uint8_t version;                    /* architectural perfmon version, 0: none */
    uint8_t core_type;                  /* CPUID 1Ah EAX[31:24], 0 where there is none */
    uint8_t native;                     /* CPUID 1Ah EAX[7:0], which of its core type it is; 0 where there is none */
    uint8_t refuses;                    /* bit n: events of enum upmu_source n are refused */
    uint8_t status_row, ack_row, inuse_row; /* or UPMU_NO_ROW */
    uint8_t preference_count;           /* entries of `preference` */
    uint8_t shared_scope;               /* the CPUs that see them: enum upmu_scope */
    uint8_t index;                      /* upmu_machine_pmu(); 0 without a machine */
    uint8_t metrics;                    /* bit b: counter 24 + b is a metric byte, and no counter */
    uint8_t variant;                    /* the backend's number of the model or of its rules */
    uint32_t present[UPMU_REGISTERS / 32]; /* rows that this PMU has */
    uint64_t shared;                    /* resources that other CPUs see, too: bit = resource */
    uint64_t max_period;                /* events that one load of a counter can wait for */
    struct upmu_counter counter[UPMU_COUNTERS]; /* by number; those in `counters` exist */
    uint64_t min_period;                /* shortest period programmed */
    uint64_t limit[UPMU_REGISTER_CLASSES]; /* bits that exist, per class */
    uint32_t kernel_select;             /* select bit: counts kernel mode; 0: a running counter must not be written */
    uint32_t arch_events;               /* bit n: architectural event n is available */
    uint32_t ibs;                       /* upmu_ibs_capabilities() */
    uint32_t call;                      /* UPMU_PMU_PAGE: number of the hypervisor's call */
    uint64_t loop_config;               /* raw event that happens in every loop: for the probe */
#if UPMU_BRANCHES
    const struct upmu_branch_stack *branch_stack; /* registers of its branch records, or NULL ... */
    const char *no_branches;            /* ... for this reason */
    uint16_t branch_filters;            /* UPMU_BRANCH_… that the hardware sorts out */
    uint8_t branch_depth;               /* entries of the stack */
    uint8_t branch_format;              /* what an entry is like: enum upmu_branch_format */
    uint8_t branch_trace;               /* 1: Processor Trace exists, and excludes branch records */
    uint8_t no_padding[3];              /* equal PMUs have equal bytes */
#endif
    uint8_t preference[UPMU_COUNTERS];  /* counters in the order they are tried */
};

/*
 * The PMUs of one machine.  Constant after all CPUs are initialised.  Keep it in static memory.
 */
struct upmu_machine {
    const struct upmu_port *port;         /* the host's functions */
    struct upmu_pmu pmu[UPMU_CORE_TYPES]; /* core PMUs, one per core type */
    uint8_t pmu_count;                    /* entries of `pmu` in use */
    struct upmu_why why;                  /* of the last upmu_cpu_init(), or the hook that upmu_machine_init() misses */
    /* private */
    uint16_t cpu_count; /* initialised so far, modulo 65,536 */
    uint8_t user_reads; /* of a CPU when it is initialised: 2 once a session was published, which may have run there */
    uint32_t last_session;
    uint32_t lives; /* of CPUs: initialised so far, never 0 again */
    uint32_t pages; /* sessions that are published; upper 12 bits: how often the last one was withdrawn */
    uint32_t dropped; /* sessions left to their targets */
    struct upmu_cpu *only_cpu;
#if UPMU_UNCORE
    struct upmu_unit_list *units; /* outside the cores, or NULL */
    struct upmu_unit *open_units;
    struct upmu_cpu *cpus;        /* that are initialised */
#endif
};

/*
 * State that several CPUs share: of a core with two hyper-threads, a module, a node.  Claims are taken by 32-bit
 * compare-and-swap; only the holder of a claim writes.  Initialise it with upmu_domain_init(); it must stay as long as
 * its CPUs.
 */
struct upmu_domain {
    enum upmu_scope scope; /* the CPUs that share it */
    uint32_t generation; /* number of claims released, for waiting sessions */
    /* private */
    uint32_t cpus; /* bit i: CPU number i of this domain is linked */
    uint32_t live; /* bit i: it has taken over */
    uint32_t used; /* counters written by CPUs that have left, or taken from the firmware */
    uint32_t known[UPMU_REGISTERS / 32]; /* rows in `found` */
    uint64_t found[UPMU_REGISTERS];      /* values of shared registers before the first CPU took over */
    uint32_t claim[UPMU_RESOURCES + UPMU_COUNTERS]; /* resources, then counters */
    uint32_t value[UPMU_RESOURCES][2]; /* low and high half */
};

/* The owner of a counter. */
enum upmu_owner {
    UPMU_OWNER_FREE = 0,
    UPMU_OWNER_OURS = 1,     /* a session of upmu */
    UPMU_OWNER_FIRMWARE = 2, /* in use at take-over; left running */
    UPMU_OWNER_WATCHDOG = 3, /* reserved by upmu_cpu_reserve() */
    UPMU_OWNER_FOREIGN = 4,  /* used by other software since: its register was found changed, or in use */
    UPMU_OWNER_ABSENT = 5    /* no such counter */
};

/* A write that a dry run would have made. */
struct upmu_write {
    const char *name; /* of the register */
    uint32_t address; /* of the register */
    uint64_t value;   /* all of its bits */
};

/* The writes of a dry run: the first `capacity` are stored, all are counted. */
struct upmu_dry_run {
    struct upmu_write *writes; /* memory of the caller */
    size_t capacity;
    size_t count; /* writes that there were */
};

/* Number of register accesses since upmu_cpu_init(). */
struct upmu_accesses {
    uint32_t writes;  /* of registers */
    uint32_t reads;   /* of registers, without RDPMC */
    uint32_t rdpmcs;  /* RDPMC instructions */
    uint32_t rearms;  /* calls of pmi_rearm */
    uint32_t prelude; /* accesses of all kinds for an erratum's sequence and its consequences */
#if UPMU_BACKEND_PARAVIRT
    uint32_t calls; /* of the hypervisor */
#endif
};

/*
 * A value for some bits of a register: `value` << shift in those of `mask`, signed, << shift.  Private.
 */
struct upmu_step {
    uint32_t value;
    int32_t mask;
    uint32_t guard;  /* counters that are stopped while it changes */
    uint8_t row;
    uint8_t shift;
    uint8_t odd;     /* the register has more than is programmed: enable bits or a status; or it is a unit's */
};

/*
 * Shadow and only writer of one PMU's registers on one CPU.  All private but
 * the two access counts.
 */
struct upmu_bank {
    struct upmu_accesses accesses;         /* by local calls */
    struct upmu_accesses handler_accesses; /* by upmu_handle_pmi() */
    struct upmu_accesses *counted;         /* the one of these two that is in use */
    const struct upmu_port *port;
    const struct upmu_pmu *pmu;
    const struct upmu_register *rows; /* of its table */
    struct upmu_domain *domain;    /* has the values found in shared registers; or NULL */
    struct upmu_dry_run *dry;      /* list writes instead of making them */
    uint64_t version;              /* of the shadow but for common gates: no other bank, nor life, has had it */
    uint32_t faulted;              /* address of the last fault */
    uint8_t gate_class;            /* class of rows with a gate of their own ... */
    uint8_t gates;                 /* where the enable bits of counters are: enum upmu_gates of core/hw/bank.h */
    uint8_t direct;                /* registers are MSRs, written as their shadows are; no dry run */
    uint64_t own_gate;             /* ... which no register has, or 0 */
    uint64_t value_bits;           /* of each counter's value, if all have the same; else 0 */
    uint32_t others;               /* counters of the host, which may change their registers */
    uint32_t stopped;              /* counters that a handler has stopped, and the shadow has open */
    uint32_t by_rdpmc;             /* counters that RDPMC reads; of a unit: none */
#if UPMU_WORLDS
    uint32_t absent;               /* counters of sessions of the other world: they do not open */
#endif
#if UPMU_BACKEND_PARAVIRT
    uint32_t fresh;                /* slots whose stored values have not been given yet */
#endif
#if UPMU_UNCORE
    uint32_t kept;                      /* of a unit: counters that are in use by others */
    uint32_t lacks;                     /* of a unit: counters of which an unknown part was not counted ... */
    uint32_t reset;                     /* ... as a box has lost its registers, which it has again */
    uint32_t missed;                    /* of a unit: counters of which a box was gone since their counts began */
    uint16_t boxes;                     /* of a unit, side by side from `box` on */
    bool box_rdpmc;                     /* of a unit: RDPMC reads its one box */
    const struct upmu_unit_type *type;  /* NULL: a CPU's bank */
#endif
#if UPMU_UNCORE || UPMU_BACKEND_PARAVIRT
    union {
        const struct upmu_unit_info *box; /* of a unit */
        struct upmu_pv_page *page;        /* of a CPU: that the hypervisor has; NULL: none */
    } of;
#endif
    /* By row, in memory of its owner. */
    uint8_t *state;                /* knowledge about it: UPMU_ROW_… */
    uint64_t *shadow;
    uint64_t *found;
};

/* Memory of a bank with so many rows, in words of 64 bits. */
#define UPMU_BANK_WORDS(rows) (2u * (rows) + ((rows) + 7u) / 8u)

struct upmu_session;
struct upmu_tally;
struct upmu_ibs;
struct upmu_thread;
struct upmu_place_work;

/* The interrupted code: fill in what is known, set the rest to 0. */
struct upmu_frame {
    uint64_t ip;      /* instruction pointer */
    uint64_t sp;      /* stack pointer */
    bool user;        /* it was in user mode */
    uint32_t process; /* for messages: the host's numbers of the interrupted program */
    uint32_t thread;  /* the same */
    uint64_t fp;      /* frame pointer, or 0: for callers (upmu_session_callers()) */
    /*
     * Registers of the interrupted code, for formats (upmu_overflow.frame), or NULL: registers[n] is register n if
     * bit n of `register_mask` is set.  You number the registers; the library reads none of them.  The array must
     * stay until upmu_handle_pmi() returns.
     */
    const uint64_t *registers;
    uint64_t register_mask;
};

/* The event that runs on a counter.  Private. */
struct upmu_counter_slot {
    struct upmu_tally *tally;     /* the event that has the counter, or NULL */
    struct upmu_session *session; /* its session */
    uint32_t tag;                 /* of the event that ran there last, whose value the counter has; 0: none */
};

/* Sessions on one side of a plan. */
#define UPMU_PARTS 8u

/*
 * A change of what runs: sessions that leave and sessions that come (core/engine/plan.h).  A session on both sides
 * moves, gets another set, or is loaded again.  Private.
 */
struct upmu_plan {
    uint32_t leave, come;    /* counters */
    uint32_t changed;        /* counters whose registers differ from what comes */
    uint32_t counted_out, counted_in; /* counters of events that only count, and can continue from one to another */
    uint32_t sampled_in;     /* counters that come, and are loaded to overflow */
    uint32_t halted_in;      /* counters that come, of sessions that sample */
    uint32_t kept;           /* counters that are left running in no session's count */
    uint32_t carried;        /* counters that run on, from one event that only counts to another */
    uint32_t still;          /* counters that stand still while the library works: changed while they are enabled */
    uint32_t based;          /* counters whose events that come take the base of those that leave */
    uint32_t dormant;        /* counters that come, and are opened by the hardware: targets of cascades */
    uint32_t written;        /* counters whose events that come write them, as far as they begin */
    uint32_t moved;          /* counters that are left without a gap: closed by the write that opens the others */
    uint32_t begun;          /* counters whose events that come begin, though they have left a value there */
    uint64_t corunners;      /* sum of the placements that run afterwards */
    uint64_t now_ns;         /* when it was carried out */
    uint64_t moved_base[UPMU_PARTS]; /* values of these counters that are in their counts already */
    uint8_t outs, ins;
    uint8_t state_after;     /* of sessions that leave, but for full ones */
    uint8_t odd;             /* something in it is not plain: core/engine/special.h */
    uint8_t sequence;        /* an erratum's sequence comes first */
    uint8_t lost;            /* of parts that leave, those with a counter that could not be read */
    uint8_t reports;         /* of parts that leave, those with samples due (upmu_session.due_events) */
    struct upmu_session *out[UPMU_PARTS], *in[UPMU_PARTS];
    struct upmu_set *set[UPMU_PARTS]; /* of each that comes */
};

/*
 * Mail of a handler that interrupted a local call: that it came, what it interrupted, and which counters had overflowed
 * then.  The counters say the rest.  Private.
 */
struct upmu_mailbox {
    volatile uint8_t pending;
    uint8_t has_frame;
    uint32_t stopped; /* counters that it stopped, and the shadow may have open */
    uint32_t answered; /* counters whose overflow an interrupt has been answered for */
    uint32_t framed;  /* counters that `frame` belongs to */
    struct upmu_frame frame; /* without what its interrupted code has changed since: stack and registers */
};

/*
 * A PMU at work: what the engine needs of it, and what runs on it.  A CPU's is the first member of its
 * upmu_cpu.  Its first two fields may be read; all else is private.
 */
struct upmu_meter {
    struct upmu_machine *machine;
    const struct upmu_pmu *pmu; /* NULL: this CPU has none */
    /* private, what is used most first */
    struct upmu_cpu *cpu;               /* that drives it */
    struct upmu_session *sessions;      /* attached here */
    struct upmu_domain *domain;         /* where the PMU's shared parts are claimed, or NULL */
    struct upmu_place_work *work;       /* for placements here, or NULL: they use the stack */
    uint8_t domain_number;              /* number of this CPU there */
    uint8_t thread;                     /* number of the hyper-thread in its core, where the PMU needs it */
    uint16_t number;                    /* order of initialisation, modulo 65,536 */
    uint8_t claims_due;                 /* claims may be held that nothing needs */
    volatile uint8_t live;              /* 1: handlers may act */
    volatile uint8_t busy;              /* a local call is in progress */
    volatile uint8_t in_handler;
    uint8_t seen_counting;              /* some counter was seen to move */
    uint8_t ignores_writes;             /* take-over found that writes have no effect */
    volatile uint8_t work_due;          /* bits UPMU_DUE_* of core/engine/session_core.h */
    uint8_t ticks;                      /* since counts were folded */
    uint8_t kind;                       /* of CPU, for which a placement is good */
    uint32_t firmware;                  /* counters in use at take-over */
    uint32_t watchdog;                  /* counters that the host reserved */
    uint32_t foreign;                   /* counters found changed or in use by others */
    volatile uint32_t running;          /* counters that run for a session */
    volatile uint32_t sampling;         /* of these, loaded to overflow */
    volatile uint32_t halted;           /* of these, those of sessions that sample: stopped while a handler works */
    uint32_t failed;                    /* counters whose registers faulted: upmu_reconcile_repair() answers */
    uint32_t used;                      /* counters written since take-over */
    uint32_t lent;                      /* counters that the host reserved, and that were written before */
    uint32_t flagged;                   /* counters whose status may still be set from an earlier overflow */
    uint32_t next_tag;
    uint32_t life;                      /* number of the upmu_cpu_init() of its machine */
    uint32_t left;                      /* counters that still hold a count of an earlier session */
    uint32_t unowned;                   /* counters that static sessions left running: in no session's count */
    uint64_t corunners;                 /* sum of the placements that run */
    struct upmu_session *waiting[3], *last_waiting[3]; /* by ticket: those that wait; and share; run without counters */
#if UPMU_WORLDS
    uint8_t worlds;                     /* a session of one world was linked here */
    uint8_t in_guest;                   /* a guest runs */
    uint8_t by_hardware;                /* the hardware changes the gates: always in the host */
    uint32_t exit_opens;                /* counters that the next exit from a guest may open */
#endif
    struct upmu_bank bank;              /* bank.accesses: number of accesses */
    struct upmu_counter_slot slot[UPMU_COUNTERS];
    struct upmu_plan plan;                       /* of the change of what runs that is being made */
    uint32_t stamps;                             /* placements made here */
    uint32_t tickets;                            /* tickets given here */
#if UPMU_WORLDS
    uint32_t of_world[2];                        /* counters that run for host sessions, for guest sessions */
#endif
};

#if UPMU_BRANCHES
/* Private: the branch stack of a CPU (upmu/branches.h). */
struct upmu_branch_unit {
    const struct upmu_branch_stack *volatile stack; /* records, or is frozen; NULL: it was not started */
    uint64_t control;          /* what the controlling register held before */
    uint64_t select, depth;    /* the same of these registers */
    uint64_t kernel_from;
    uint16_t record;           /* UPMU_BRANCH_… */
    uint8_t proven;            /* the hardware was seen to record */
    volatile uint8_t frozen;   /* by the host */
    volatile uint8_t readers;  /* reads in progress: one can interrupt another */
};
#endif

/*
 * A logical CPU.  Zero it before its first use (.bss is zero).  It must stay from upmu_cpu_init() to upmu_cpu_fini(),
 * and upmu_cpu_init() must not be called again before that: it would take counters of running sessions for the
 * firmware's.
 */
struct upmu_cpu {
    struct upmu_meter meter; /* of its cores' PMU */
    /* private */
    struct upmu_thread *current;        /* the running thread, if it is monitored */
    volatile uint32_t expected;         /* until when own interrupts can come; without a clock: how many; 0: none */
    volatile uint32_t interrupts;       /* handled since upmu_cpu_init() */
    struct upmu_session *pages;         /* published ones that run */
    struct upmu_mailbox mail;
    uint64_t window_start_ns;                    /* of the throttle */
    uint8_t user_reads;                          /* user mode may execute RDPMC; 2: the register may have been lost */
    uint8_t readers;                             /* for pages of: 1: the CPU's sessions, 2: the thread's */
    uint16_t window;                             /* number of the throttle's window */
    struct upmu_ibs *volatile ibs[2];            /* units at work */
#if UPMU_BRANCHES
    struct upmu_branch_unit branches;
#endif
    uint64_t registers[UPMU_BANK_WORDS(UPMU_REGISTERS)]; /* of the bank */
#if UPMU_UNCORE
    struct upmu_cpu *next;                       /* CPU of the machine */
    struct upmu_unit *units;                     /* that it drives */
    struct upmu_cpu_place place;
#endif
};

/*
 * Start using a machine.  Checks the port and reads no register.
 *
 * `machine` and `port` must stay as long as a CPU is initialised; `*machine` need not be
 * initialised.
 * Returns UPMU_OK, UPMU_ERR_HOOK_MISSING (rdmsr, wrmsr or cpuid is NULL, or only
 * one of irq_save and irq_restore is given), UPMU_ERR_VERSION (the library was
 * built from other headers or with other options) or UPMU_ERR_NOT_LINKED (its tables of
 * functions are all zero: a position-independent kernel without .data.rel.ro).
 * Context: any.
 */
#define upmu_machine_init(machine, port) \
    upmu_machine_init_checked((machine), (port), UPMU_VERSION, sizeof(struct upmu_machine), sizeof(struct upmu_cpu))

/* The function behind upmu_machine_init(), with the version and sizes that the caller was compiled with. */
UPMU_MUST_CHECK
enum upmu_status upmu_machine_init_checked(struct upmu_machine *machine, const struct upmu_port *port, uint32_t version,
                                           size_t machine_bytes, size_t cpu_bytes);

/*
 * A PMU by its number, which events have, too (upmu_event.pmu): of core type 0 to 3, or number i of the units' PMUs
 * with UPMU_UNIT_PMU + i (upmu/unit.h).  NULL: there is none.
 *
 * Context: any.
 */
const struct upmu_pmu *upmu_machine_pmu(const struct upmu_machine *machine, unsigned index);

/*
 * Initialise a domain: what several CPUs share.  Call it once per core, module or node, before the
 * first of its CPUs is initialised.
 *
 * Context: any.
 */
void upmu_domain_init(struct upmu_domain *domain, enum upmu_scope scope);

/*
 * Take over the PMU of the executing CPU: detect it (the first CPU of a core type fills in a
 * machine->pmu), store the values of its registers, leave counters alone that are in use, verify
 * that a counter can be written, re-arm the interrupt.
 *
 * `domains`: array of pointers that ends with NULL; the domains must stay until upmu_cpu_fini(),
 * the array need not.  NULL: this CPU shares nothing.  Registers that other CPUs see, too, are read
 * by the first CPU of the domain, left alone by later CPUs, and restored by the last.  CPUs are
 * initialised one at a time.  No CPU may be initialised or resumed while another CPU of its domain
 * leaves or suspends.
 * Returns UPMU_OK; UPMU_ERR_NO_PMU (no PMU, or it ignores writes: the CPU counts nothing, and only
 * upmu_cpu_probe() can be used); UPMU_ERR_PORT (a promised register faulted); UPMU_ERR_HOOK_MISSING
 * (second CPU without this_cpu); UPMU_ERR_NO_SPACE (UPMU_CORE_TYPES core types exist already, or a
 * domain has 16 CPUs); UPMU_ERR_STATE (it is initialised and drives a unit, whose path is
 * machine->why.word).  machine->why has the reason.  On error nothing was changed.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_init(struct upmu_cpu *cpu, struct upmu_machine *machine, struct upmu_domain *const *domains);

/*
 * Call it before the registers lose their contents (sleep, offline).  It folds all counts, restores
 * the registers as found at take-over and clears the shadow.  Sessions stay attached; sessions that
 * ran continue after upmu_cpu_resume().  If a thread leaves the CPU meanwhile, its sessions wait
 * and continue where the thread runs next.
 *
 * Returns UPMU_OK (also if the CPU is not initialised or suspended already); UPMU_ERR_PORT
 * (suspended all the same); UPMU_ERR_BUSY, UPMU_ERR_WRONG_CPU (nothing was done).
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_suspend(struct upmu_cpu *cpu);

/*
 * Continue after upmu_cpu_suspend(): the same take-over as upmu_cpu_init(), then sessions that ran
 * are loaded again.  If the take-over fails (UPMU_ERR_NO_PMU, UPMU_ERR_PORT), the CPU sleeps on, and its
 * registers are restored: the next call begins anew.
 *
 * Returns UPMU_OK (also if the CPU was not suspended); UPMU_ERR_NO_PMU; UPMU_ERR_PORT;
 * UPMU_ERR_DOES_NOT_FIT (counters were reserved meanwhile); UPMU_ERR_BUSY; UPMU_ERR_WRONG_CPU.  A
 * session that could not be started again is stopped with its `error` set; other sessions run.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_resume(struct upmu_cpu *cpu);

/*
 * Call it after other software changed registers (a world switch, a microcode update, firmware).
 * Shadows are cleared and running sessions are loaded again.  Events counted since the last fold of
 * a running counter (upmu_cpu_poll(), an interrupt) are lost: the counts of affected sessions
 * become UPMU_QUALITY_PARTIAL.  Each session continues on its counters, whatever other CPUs started
 * meanwhile.
 *
 * Returns UPMU_OK; UPMU_ERR_PORT; UPMU_ERR_BUSY; UPMU_ERR_WRONG_CPU; UPMU_ERR_NO_PMU (not
 * initialised, or suspended).
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_changed(struct upmu_cpu *cpu);

/*
 * Read all bits that upmu owns and compare them with the shadow.  A counter whose own register
 * differs becomes UPMU_OWNER_FOREIGN, unless it runs.
 *
 * `why` may be NULL.
 * Returns UPMU_OK (also if the CPU is not initialised); UPMU_ERR_CHANGED (why->address is the first
 * register that differs); UPMU_ERR_PORT (why->address faulted); UPMU_ERR_BUSY (also if handlers of
 * overflows disturb it again and again); UPMU_ERR_WRONG_CPU.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_verify(struct upmu_cpu *cpu, struct upmu_why *why);

/*
 * Detach every session and restore the registers as upmu_cpu_init() found them.
 *
 * Returns UPMU_OK (also if the CPU is not initialised); UPMU_ERR_PORT (all other registers were
 * restored); UPMU_ERR_BUSY, UPMU_ERR_WRONG_CPU (nothing was done).
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_fini(struct upmu_cpu *cpu);

/*
 * Lend a CPU a work area for placements (struct upmu_place_work of upmu/place.h, 4 KiB, one for
 * each CPU).  With it no call needs more than 3 KiB of stack, without it 8 KiB (docs/PORTING.md,
 * "Stack").  Calls on this CPU use it with interrupts off; a handler never does.
 *
 * `work` must stay until upmu_cpu_fini() or the next call with another area or NULL; its contents
 * are not kept between calls.
 * Returns UPMU_OK; UPMU_ERR_NO_PMU (not initialised, or no PMU); UPMU_ERR_BUSY; UPMU_ERR_WRONG_CPU.
 * On error nothing was changed.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_use_work(struct upmu_cpu *cpu, struct upmu_place_work *work);

/*
 * Fold the running counters of this CPU into their 64-bit counts, and let throttled counters sample
 * again.  On a port without pmi_rearm call it at least once within half a counter's range (32 bits
 * on P6; with 40 bits at 4 GHz every two minutes).  On every other port call it, too, from the host's
 * clock tick, and at least once within half a counter's range: where the PMU has no status register (K7,
 * K8, and AMD before PerfMonV2) a counter that only counts does not tell of its wrap, and a whole round
 * without a poll is in no count.
 *
 * Returns UPMU_OK (also if the CPU is not initialised); UPMU_ERR_PORT; UPMU_ERR_BUSY;
 * UPMU_ERR_WRONG_CPU.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_poll(struct upmu_cpu *cpu);

/*
 * Call it from the host's clock tick, 10 to 1000 times a second.  It multiplexes sharing sessions,
 * switches event sets whose timeout is over, starts sessions that a switch had to leave waiting,
 * and every 16th time does all that upmu_cpu_poll() does.  Where no session waits it makes no
 * register access except for that.
 *
 * Returns as upmu_cpu_poll(); a session that a fault stopped has `error` set.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_tick(struct upmu_cpu *cpu);

/*
 * The owner of a counter of this CPU; UPMU_OWNER_ABSENT where there is no such counter.
 *
 * Context: any.
 */
enum upmu_owner upmu_cpu_owner(const struct upmu_cpu *cpu, unsigned counter);

/*
 * Keep counters for the host (a watchdog).  `counters` is a mask.  Reserve first, then program.
 * Counters that stopped sessions had loaded, or that static sessions left running, are made idle.
 * (Counters that two CPUs share must be reserved on both; they are closed.)  After that upmu leaves
 * their registers as they are, also in upmu_cpu_suspend() and upmu_cpu_fini().  A register with
 * bits of reserved and of other counters (IA32_PERF_GLOBAL_CTRL, the control of fixed counters) is
 * read before each write: 1 R more, in the handler, too.  You may enable and disable your counters
 * at any time except in an NMI.  On P6 bit 22 of select 0 enables both counters: with counter 0
 * reserved, leave it set while sessions run; with counter 1 reserved, upmu leaves it set.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (a running session uses one of them); UPMU_ERR_NO_PMU (not
 * initialised); UPMU_ERR_PORT; UPMU_ERR_BUSY; UPMU_ERR_WRONG_CPU.  On error nothing is reserved.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_reserve(struct upmu_cpu *cpu, uint32_t counters);

/*
 * Return reserved counters to sessions; close them first (on NetBurst by the enable bit of the CCCR: the ESCR is
 * restored as it was found, and lets the counter run again).  Others in the mask are ignored.  A counter that returns
 * without running does not run after upmu_cpu_suspend() and upmu_cpu_fini(), either: where the registers as found would
 * let it run, its enable bit stays clear.  Records and reloads (IA32_PEBS_ENABLE, CFG_B and CFG_C) that you have ended
 * are not begun again.  Context: local.
 */
void upmu_cpu_unreserve(struct upmu_cpu *cpu, uint32_t counters);

/*
 * Declare that the firmware no longer needs its counters: counters found in use at take-over become
 * free, except those that the host has reserved.  Two kinds count as in use although they stand
 * still: counters for which a former kernel left PEBS enabled, because their overflows would write
 * records to its memory; and counters that an overflow loads anew (auto counter reload).  This call
 * disables both features, and a branch trace to memory (BTS) that a former kernel left on and upmu_cpu_init() logged
 * (Intel from Core 2 on); on NetBurst, and where one of these counters is reserved, they stay the
 * firmware's.  upmu_cpu_fini() still restores the registers as found.
 *
 * Context: local.
 */
void upmu_cpu_take_firmware(struct upmu_cpu *cpu);

/* An owner in words: "free", "firmware"; constant text, "unknown" for other values.  Context: any. */
const char *upmu_owner_text(enum upmu_owner owner);

/*
 * The name of a counter: "PMC3", "FIXED1".
 *
 * Writes at most `size` bytes including the NUL; returns the whole length.
 * Context: any.
 */
size_t upmu_counter_text(const struct upmu_pmu *pmu, unsigned counter, char *buffer, size_t size);

/*
 * The name of a row of a PMU's register table, or NULL if the PMU has no such row.  Constant text.
 *
 * Context: any.
 */
const char *upmu_register_name(const struct upmu_pmu *pmu, unsigned row);

/* The address of a row in its space, or 0 beyond the table.  Context: any. */
uint32_t upmu_register_address(const struct upmu_pmu *pmu, unsigned row);

/*
 * Fill in a PMU of a known model, without hardware: for tools and tests.  `name` as in
 * upmu_pmu.name ("skl", "core", "nhm", "icl").
 *
 * Returns UPMU_OK, UPMU_ERR_NO_SUCH_PMU, or UPMU_ERR_COMPILED_OUT without UPMU_NAMES.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_pmu_by_name(struct upmu_pmu *pmu, const char *name);

/* The names that upmu_pmu_by_name() accepts, from index 0 on; NULL after the last.  Context: any. */
const char *upmu_pmu_known(unsigned index);

#ifdef __cplusplus
}
#endif

#endif
