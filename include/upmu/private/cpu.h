/* SPDX-License-Identifier: MIT */
/*
 * The structures of machines and CPUs, whole so that a host can place them in .bss or per-CPU memory.  The library
 * writes them; upmu/upmu.h and upmu/cpu.h say what a host may read.  tests/build/owners.tsv names the file that assigns
 * each field.
 */
#ifndef UPMU_PRIVATE_CPU_H
#define UPMU_PRIVATE_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/config.h>
#include <upmu/port.h>
#include <upmu/status.h>
#include <upmu/private/pmu.h>

struct upmu_session;
struct upmu_set;
struct upmu_tally;
struct upmu_ibs;
struct upmu_thread;
struct upmu_place_work;

/*
 * The PMUs of one machine.  `port`, `pmu` and `pmu_count` are constant after all CPUs are initialised.  Keep it in
 * static memory.
 */
struct upmu_machine {
    const struct upmu_port *port;         /* the host's functions */
    /* PMUs of cores, one for each core type; the first `pmu_count` entries are in use */
    struct upmu_pmu pmu[UPMU_CORE_TYPES];
    uint8_t pmu_count;                    /* entries of `pmu` in use */
    /* why machine or CPU was refused by its last initialisation, or a unit by its last search or open */
    struct upmu_why why;
    /* private */
    uint16_t cpu_count; /* number of upmu_cpu_init() calls that succeeded, modulo 65,536 */
    /* value that upmu_cpu.user_reads gets at upmu_cpu_init(): 0, or 2 once any session was published */
    uint8_t user_reads;
    uint32_t last_session; /* id of the session that was initialised last */
    uint32_t lives; /* upmu_meter.life of the CPU or unit that began to work last; 0: none has */
    uint32_t pages; /* bits 19:0: published sessions; bits 31:20: how often the last published one was withdrawn */
    uint32_t dropped; /* number of sessions without controller that have not ended yet */
#if UPMU_PRECISE
    uint32_t record_cpus; /* number of CPUs that have memory for precise records (upmu/precise.h) */
#if UPMU_BRANCH_SAMPLES
    uint32_t branch_cpus; /* number of CPUs that lend their branch stack to sessions (upmu_cpu_use_branches()) */
#endif
#endif
    struct upmu_cpu *only_cpu; /* the CPU that was initialised last: the executing one, if the port has no this_cpu */
#if UPMU_UNCORE
    struct upmu_unit_list *units; /* the list that upmu_units_find() was given; NULL: none yet */
    struct upmu_unit *open_units; /* first of the open units: linked by next_open */
    struct upmu_cpu *cpus;        /* first of the initialised CPUs: linked by `next` */
#endif
};

/* Numbers of register accesses since the CPU was initialised, or the unit was opened. */
struct upmu_accesses {
    uint32_t writes;  /* writes of registers */
    uint32_t reads;   /* reads of registers, without RDPMC */
    uint32_t rdpmcs;  /* RDPMC instructions */
    uint32_t rearms;  /* calls of pmi_rearm */
    uint32_t prelude; /* accesses of all kinds by preludes, which are in none of the other numbers */
#if UPMU_BACKEND_PARAVIRT
    uint32_t calls; /* calls of the hypervisor */
#endif
};

/*
 * A value for some bits of a register: the bits of (int64_t)mask << shift get the bits of value << shift.  Core code
 * reads these two by upmu_step_mask() and upmu_step_value().
 */
struct upmu_step {
    /* private */
    uint32_t value;
    int32_t mask;
    uint32_t guard;  /* mask: counters that are stopped while the register changes */
    uint8_t row;     /* row of the register in the PMU's register table */
    uint8_t shift;
    uint8_t odd;     /* 1: the register is a unit's, or has enable bits, or bits that the hardware changes */
};

/*
 * The registers of one PMU, of a CPU or a unit: their shadow, and how they are accessed.  core/hw/bank.c alone writes
 * these registers.  Members that name counters are masks: bit n is counter n.
 */
struct upmu_bank {
    struct upmu_accesses accesses;         /* by local calls */
    struct upmu_accesses handler_accesses; /* by upmu_pmi_handle() */
    /* private */
    struct upmu_accesses *counted;         /* &accesses or &handler_accesses: where accesses are counted now */
    const struct upmu_port *port;
    const struct upmu_pmu *pmu;
    const struct upmu_register *rows; /* rows of the PMU's register table */
    /* the domain that has the found values of registers that other CPUs see, too; NULL: none */
    struct upmu_domain *domain;
    struct upmu_dry_run *dry;      /* the dry run that gets the writes, which are then not made; NULL: no dry run */
    /*
     * Changes with each change of what is known of a register, but not with that of an enable bit alone. Each
     * initialisation of a CPU begins at another number, so that banks do not have the same one.
     */
    uint64_t version;
    uint32_t faulted;              /* address of the register that faulted last */
    uint8_t gate_class;            /* P6: class_index of the selects, for which own_gate is */
    uint8_t gates; /* in which registers the enable bits of counters are: enum upmu_gates of core/hw/bank.h */
    /* 1: every register is an MSR that gets its shadow's value unchanged, and there is no dry run: writes are short */
    uint8_t direct;
    /* P6: a bit of selects that is in the shadow alone, and notes that the counter is open; else 0 */
    uint64_t own_gate;
    uint64_t value_bits;           /* mask of a counter's value, if it is the same for all but metrics; else 0 */
    /* mask: counters that other software has, by an agreement with the host or without: it may write their registers */
    uint32_t others;
    /* mask: counters that a handler has stopped in the hardware, while the shadow still has them open */
    uint32_t stopped;
    uint32_t by_rdpmc;             /* mask: counters whose values RDPMC can read; of a unit: 0 */
#if UPMU_WORLDS
    uint32_t absent; /* mask: counters of sessions of the world where the CPU is not now: they stay closed */
#endif
#if UPMU_BACKEND_PARAVIRT
    /* mask of slots: a call has had their values stored in the page, and no read has taken them since */
    uint32_t fresh;
#endif
#if UPMU_UNCORE
    uint32_t kept;                      /* of a unit: counters that other software uses */
    uint32_t lacks; /* of a unit: counters whose counts lack an unknown part, until the tallies note it (`hole`) */
    uint32_t reset; /* of a unit: counters of which a box was reset, so that their registers are to be written again */
    /*
     * of a unit: mask of counters that some box lost, because the box did not answer (all ones), since their counts
     * began
     */
    uint32_t missed;
    uint16_t boxes;                     /* of a unit: number of its boxes, side by side in the list from of.box on */
    bool box_rdpmc;                     /* of a unit: it has one box, whose counters RDPMC can read on this CPU */
    const struct upmu_unit_type *type;  /* type of the unit; NULL: the bank is a CPU's */
#endif
#if UPMU_UNCORE || UPMU_BACKEND_PARAVIRT
    union {
        const struct upmu_unit_info *box; /* of a unit: its first box */
        struct upmu_pv_page *page;        /* of a CPU: the page that the hypervisor was given; NULL: none */
    } of;
#endif
    /* Three arrays with an entry for each row of the register table, in memory of the CPU or unit. */
    uint8_t *state;                /* by row: what is known of the register (bits UPMU_ROW_… of core/hw) */
    uint64_t *shadow;
    uint64_t *found; /* by row: value of the register before upmu's first write, which is restored at the end */
};

/* Words of 64 bits that the three arrays of a bank (state, shadow, found) take for `rows` registers. */
#define UPMU_BANK_WORDS(rows) (2u * (rows) + ((rows) + 7u) / 8u)

/* The use of one counter of a meter: which event has it, and whose value it holds. */
struct upmu_counter_slot {
    /* private */
    struct upmu_tally *tally;     /* tally of the event that runs on the counter; NULL: none */
    struct upmu_session *session; /* session of that event */
    uint32_t tag;                 /* upmu_tally.tag of the event whose value the counter holds; 0: no event's */
};

/* The most sessions on one side of a plan: that leave, or that come. */
#define UPMU_PARTS 8u

/*
 * A change of what runs: sessions that leave and sessions that come (core/engine/plan.h).  A session on both sides
 * moves, gets another set, or is loaded again.  Members that name counters are masks: bit n is counter n.
 */
struct upmu_plan {
    /* private */
    uint32_t leave, come;    /* counters of the sessions out[], which leave; counters of the sets set[], which come */
    uint32_t changed;        /* counters whose registers differ from the programs of the sets that come */
    uint32_t counted_out, counted_in; /* counters of `leave` and of `come` whose events only count */
    uint32_t sampled_in;     /* counters of `come` whose events sample: loaded so that they overflow */
    uint32_t halted_in;      /* counters of `come` in sessions of which some event samples */
    uint32_t kept;           /* counters of `leave` that a static session leaves running: they become unowned */
    /* counters whose leaving and coming events only count, with equal registers: neither closed nor read twice */
    uint32_t carried;
    uint32_t still;          /* counters that stand still while the library runs: changed while they are enabled */
    uint32_t based;          /* counters whose coming event takes the base of the event that leaves */
    uint32_t dormant;        /* counters of `come` that the hardware opens: targets of cascades */
    uint32_t written;        /* counters whose coming event, if it begins, writes a start value; else it reads one */
    /* counters of `leave` whose event moves without a gap: one write closes them and opens the event's new counter */
    uint32_t moved;
    uint32_t begun;          /* counters whose coming event begins anew, even if its own value is still there */
    uint64_t corunners;      /* meter.corunners as it is after the plan */
    uint64_t now_ns;         /* the time of the plan, read once, after the counters that leave were closed */
    /* of the events that leave counters of `moved`, in their order: counter value up to which `total` counts */
    uint64_t moved_base[UPMU_PARTS];
    uint8_t outs, ins;       /* entries in use of out[]; of in[] and set[] */
    uint8_t state_after;     /* enum upmu_session_state that the sessions that leave get; full ones become MASKED */
    uint8_t odd;             /* UPMU_PLAN_ODD: something in the plan needs the functions of core/engine/special.h */
    uint8_t sequence;        /* 1: a prelude is run, so everything that runs leaves and comes again */
#if UPMU_BRANCH_SAMPLES
    uint8_t regroups;        /* 1: sessions with precise events leave and come again: their records get branches */
#endif
    uint8_t lost;            /* bit n: the session out[n] has a counter that could not be read */
    uint8_t reports;         /* bit n: the session out[n] has samples due (upmu_session.due_events) */
    struct upmu_session *out[UPMU_PARTS], *in[UPMU_PARTS]; /* the sessions that leave, and that come */
    struct upmu_set *set[UPMU_PARTS]; /* the set with which the session in[] of this index comes */
};

/*
 * Mail of the handlers that interrupted a local call, which the end of the call's bracket reads. Which counters have
 * overflowed is not here: their values say so.  Members that name counters are masks: bit n is counter n.
 */
struct upmu_mailbox {
    /* private */
    volatile uint8_t pending; /* 1: there is mail to read */
    uint8_t has_frame;        /* `frame` is valid */
    uint32_t stopped; /* counters that a handler has stopped in the hardware, while the shadow may have them open */
    /* mask: counters of whose overflows an interrupt was answered in this call; the next interrupt of them is STALE */
    uint32_t answered;
    uint32_t taken; /* those of `answered` whose overflows the pass that reads the mail is counting now, else 0 */
    uint32_t framed;  /* counters that had overflowed at the interrupt of which `frame` is */
    struct upmu_frame frame; /* of the first interrupt that found an overflow; frame pointer and registers are 0 */
};

/* An overflow of one session's events on one CPU, as it is passed to the session's format (upmu/format.h). */
struct upmu_overflow {
    struct upmu_session *session; /* the session whose events overflowed */
    struct upmu_cpu *cpu;       /* the CPU where they overflowed */
    const struct upmu_set *set; /* the set that was active when they overflowed, not the one after a switch */
    /*
     * The interrupted code, until upmu_format.overflow returns.  NULL: the host gave no frame, the frame is another
     * overflow's (UPMU_SAMPLE_NO_FRAME), or it is hidden (UPMU_SAMPLE_HIDDEN).  Where the interrupt came inside a local
     * call, the end of this call reports the overflow: then `fp` is 0 and `registers` NULL.
     */
    const struct upmu_frame *frame;
    uint64_t ip;                /* of the frame, or 0 */
    uint64_t sp;                /* of the frame, or 0 */
    uint64_t time_ns; /* clock_ns, or 0 */
    uint32_t events; /* bit i: event i of `set` overflowed; together with `event` all others of the same moment */
    uint32_t process;           /* upmu_frame.process */
    uint32_t thread;            /* upmu_frame.thread */
    uint16_t set_number;        /* upmu_set.number of `set` */
    uint16_t flags;             /* UPMU_SAMPLE_… */
    uint8_t event;              /* index in `set` of the event for which the format is called now */
#if UPMU_PRECISE
    /* With UPMU_SAMPLE_PRECISE in `flags`, the parts of its record; without, the members below have no meaning. */
    uint16_t parts;             /* UPMU_PART_…: parts that the event asks for and the record has */
    uint16_t retire;            /* this and the words: as in upmu_record */
    bool old_order;             /* private: order of `registers` */
    uint64_t address, source, weight, transaction;
    const uint8_t *registers;   /* private: upmu_overflow_register() reads them */
#endif
#if UPMU_BRANCH_SAMPLES
    /*
     * The last branches before the overflow, the newest first (upmu_session_branches()); valid until the format
     * returns.  0 branches: the session asks for none, or they are not known (docs/BRANCHES.md, "In samples").
     */
    const struct upmu_branch *branch;
    unsigned branches;
#endif
};

/*
 * A PMU at work: what the engine needs of it, and what runs on it.  The meter of a CPU is the first member of its
 * upmu_cpu, the meter of a unit the first member of its upmu_unit.  Masks of counters: bit n is counter n.
 */
struct upmu_meter {
    struct upmu_machine *machine;
    const struct upmu_pmu *pmu; /* the kind of PMU; NULL: this CPU has none */
    struct upmu_cpu *cpu;       /* the CPU that drives the PMU; of a unit that no CPU drives: NULL */
    /* private, what is used most first */
    /*
     * list of the sessions that are linked to this meter, also of threads that run here: linked by `next`; those of
     * threads come first
     */
    struct upmu_session *sessions;
    /* the domain where this CPU claims the counters and resources that it shares with other CPUs; NULL: shares none */
    struct upmu_domain *domain;
    /* working memory for placements on this CPU (upmu_cpu_use_work()); NULL: they use the stack */
    struct upmu_place_work *work;
    uint8_t domain_number;              /* number of this CPU in `domain` */
    uint8_t thread; /* what upmu_backend.thread returned: number of the hyper-thread in its core (AMD: APIC id), or 0 */
    uint16_t number;                    /* number of the CPU in the order of initialisation, modulo 65,536 */
    uint8_t claims_due; /* 1: `domain` may hold claims of this CPU that no running session needs any more */
    volatile uint8_t live;              /* 1: the PMU is taken over and does not sleep; handlers may act */
    volatile uint8_t busy;              /* 1: a local call is in progress on this meter */
    /* 1: a handler is in progress, or the end of a bracket reads the mail: a further interrupt is STALE */
    volatile uint8_t in_handler;
    /* 1: some counter of this meter was seen to count; 0: counts of 0 are UPMU_QUALITY_UNPROVEN */
    uint8_t seen_counting;
    /* 1: the last take-over found that a register does not keep what is written (UPMU_ERR_NO_PMU) */
    uint8_t ignores_writes;
    volatile uint8_t work_due; /* work that the next plan is to do: bits UPMU_DUE_* of core/engine/session_core.h */
    uint8_t ticks;                      /* number of ticks, modulo 256; of a unit without clock: since its last fold */
    uint8_t kind; /* upmu_placed_class() of this CPU: a program made for another class is not used here */
    uint32_t firmware;                  /* counters that other software used at take-over */
    uint32_t watchdog;                  /* mask: counters that the host has reserved (upmu_cpu_reserve()) */
    uint32_t foreign;                   /* counters found changed, or in use by other software, since take-over */
    volatile uint32_t running;          /* mask: counters that count for a session that runs now */
    volatile uint32_t sampling;         /* counters of `running` that are loaded to overflow */
    volatile uint32_t halted;           /* counters of `running` in sessions that sample: a handler stops these */
    uint32_t failed;                    /* counters whose registers have faulted, until upmu_reconcile_repair() */
    uint32_t used;                      /* counters whose registers were written since take-over, to be restored */
    /* counters that the host reserved while they were in `used`: back into `used` when the reservation ends */
    uint32_t lent;
    uint32_t flagged;                   /* counters whose status bit may be set, though no new overflow belongs to it */
    uint32_t next_tag;                  /* the tag that was given last (upmu_tally.tag) */
    uint32_t life;                      /* number of the initialisation, from upmu_machine.lives; not 0 while at work */
    /* counters that sessions have had since the counters of former sessions were last set to 0 (user_page.c) */
    uint32_t left;
    /* mask: counters that static sessions left running at a switch of threads; their events are in no count */
    uint32_t unowned;
#if UPMU_PRECISE
    /*
     * mask: counters that may store records: of running events that sample precisely, until a plan takes them off;
     * after faults others, too, or counters of records that are still to be cleared: the next plan tries once more
     */
    uint32_t precise;
    uint8_t takes_records;              /* 1: the CPU has memory for records, and the hardware its address */
#endif
#if UPMU_BRANCH_SAMPLES
    uint8_t takes_branches;             /* 1: the branch stack is at the disposal of sessions that sample */
    /* UPMU_BRANCH_…: what the stack records for running sessions; 0: none is wanted, or a start is in progress */
    volatile uint16_t branches;
#endif
    uint64_t corunners;                 /* sum of upmu_program.placement of all sets that run */
    /*
     * First and last session of lists by ticket: [0] waiting, [1] waiting and sharing, [2] running an empty set; [3]
     * and [4] as [0] and [1], of sessions of the thread that runs here.
     */
    struct upmu_session *waiting[5], *last_waiting[5];
#if UPMU_WORLDS
    uint8_t worlds; /* not 0: some session of world HOST or GUEST was linked here since upmu_cpu_init() */
    uint8_t in_guest;                   /* a guest runs */
    /* 1: upmu_cpu_world_by_hardware(): the hardware changes enable bits at entry and exit; in_guest stays 0 */
    uint8_t by_hardware;
    /* mask: counters that ran at the last upmu_cpu_gate_value() for the host: an exit from a guest may open them */
    uint32_t exit_opens;
#endif
    /* public again */
    struct upmu_bank bank;              /* registers, shadow; bank.accesses has the numbers of register accesses */
    /* private */
    struct upmu_counter_slot slot[UPMU_COUNTERS]; /* by counter: the event that runs on it, and the tag of its value */
    struct upmu_plan plan;                       /* the plan that is being made or carried out */
    uint32_t stamps;                             /* number of placements made on this meter (see upmu_set.stamp) */
    uint32_t tickets; /* the ticket that a session got last on this meter; tickets count from 1 */
#if UPMU_WORLDS
    /* masks: counters of running sessions of world HOST [0], of world GUEST [1]; of both worlds: in neither */
    uint32_t of_world[2];
#endif
};

#if UPMU_BRANCHES

/* The state of the branch stack of a CPU (upmu/branches.h). */
struct upmu_branch_unit {
    /* private */
    /* the stack that records now, or is frozen; NULL: not started, or stopped */
    const struct upmu_branch_stack *volatile stack;
    uint64_t control;          /* value of the register upmu_branch_stack.control before the start */
    uint64_t select, depth;    /* values of the registers upmu_branch_stack.select and .size before the start */
    uint64_t kernel_from;      /* upmu_branch_filter.kernel_from */
    uint16_t record;           /* upmu_branch_filter.record: UPMU_BRANCH_… */
    uint8_t proven; /* 1: the first start has seen the hardware record a branch, so later starts do not test it */
    volatile uint8_t frozen;   /* 1: upmu_branches_freeze() has stopped recording, and no resume has followed */
    volatile uint8_t readers;  /* number of reads in progress: one can interrupt another */
    volatile uint8_t ours;     /* 1 from the first write of a start to the last write of a stop */
#if UPMU_BRANCH_SAMPLES
    /*
     * The CPU lends its stack to sessions that sample (upmu_cpu_use_branches()).  Then `stack` is not NULL while a
     * session records branches.
     */
    uint8_t given;             /* 1: sessions have the stack; also while the CPU sleeps */
    uint8_t take;              /* 1: given with UPMU_BRANCH_TAKE */
    uint8_t stale;             /* 1: another thread runs than that whose branches are in the stack */
    /* not 0: an interrupt has stopped recording until its samples are stored, or a guest runs (UPMU_BRANCH_OFF, ...) */
    volatile uint8_t halted;
    uint8_t taken;             /* what `newest` has: enum branch_taken of branch_samples.c */
    uint8_t count;             /* number of branches in `newest` */
    uint64_t written;          /* value of the register upmu_branch_stack.select */
    uint64_t newest[3 * 64];   /* the branches at the present interrupt, the newest first: struct upmu_branch */
#endif
};
#endif

#if UPMU_PRECISE

/* Only counters with numbers below this can store records: general counters (0 to 15), and fixed ones (from 16 on). */
#define UPMU_RECORD_COUNTERS 24u

/* The memory for records of a CPU (upmu/precise.h), and which of the records are whose. */
struct upmu_records {
    /* private */
    volatile uint64_t *area;   /* the debug store area; NULL: the CPU was given no memory */
    const uint8_t *buffer;     /* the records, the oldest first */
    uint64_t area_linear, buffer_linear; /* addresses of the two for the hardware */
    uint64_t found;            /* value of the register with the area's address before it got ours */
    uint64_t found_groups;     /* of the register that says which parts records have, likewise */
    uint64_t kernel_from;      /* records from this address on are of the kernel */
    uint32_t bytes;            /* of the buffer that can hold whole records */
    uint32_t storing;          /* mask: counters whose present events store records */
    uint32_t has;              /* mask: counters of which the last look at the buffer found a record */
    uint32_t seen;             /* mask: counters that have been in meter->precise since the buffer was empty */
    uint32_t taken, shared, strange; /* as in upmu_record_counts */
    volatile uint8_t ours;     /* 1: registers of the CPU may have the address of the memory */
#if UPMU_BRANCH_SAMPLES
    uint8_t grown;             /* enum upmu_record_group: have records with groups the branches, too? */
    uint16_t restarted;        /* place, in words, before which records have branches of another thread or filter */
    uint32_t outdated;         /* mask: counters in `has` whose records have such branches */
#endif
    uint16_t looked;           /* words of the buffer whose records a look has counted in `shared` and `strange` */
    uint16_t since[UPMU_RECORD_COUNTERS]; /* place, in words, from which on records of a counter are its event's */
    uint16_t at[UPMU_RECORD_COUNTERS];    /* place, in words, of the (next) record of a counter in `has` */
    uint32_t looked_for;       /* `seen` at the last look at the buffer */
    uint32_t batches;          /* mask: counters of meter.precise whose events have UPMU_SAMPLING_BATCH */
    uint32_t unstored;         /* mask: those whose records may have had no room before the maximum was changed */
    uint16_t left[UPMU_RECORD_COUNTERS];  /* of `batches`: records from `at` on that are no samples yet */
    /* bytes of records of a batch after which the hardware interrupts: without parts, with words, with registers */
    uint16_t full_batch[3];
    uint16_t more; /* bytes that the longest record may have more than the shortest: groups of parts, and of branches */
};
#endif

/*
 * A logical CPU.  Zero it before its first use (.bss is zero).  The structure must stay from upmu_cpu_init() to
 * upmu_cpu_fini(), and upmu_cpu_init() must not be called again before that: it would take counters of running sessions
 * for the firmware's.
 */
struct upmu_cpu {
    struct upmu_meter meter; /* the CPU's own PMU at work */
    /* private */
    struct upmu_thread *current;        /* the thread that runs here, if it is monitored; else NULL */
    /* late interrupts of upmu may come until this time (in 2^20 ns); without a clock: how many may come; 0: none */
    volatile uint32_t expected;
    volatile uint32_t interrupts;       /* number of interrupts answered UPMU_PMI_HANDLED since upmu_cpu_init() */
    struct upmu_session *pages;         /* list of running sessions that are published: linked by next_page */
    struct upmu_mailbox mail;
#if UPMU_SAMPLING
    struct upmu_overflow overflow;               /* the overflow that is passed to formats now */
#endif
    uint64_t window_start_ns;                    /* time at which the throttle's present window began */
    /* 1: the hook allow_rdpmc was told to allow RDPMC; 0: to forbid it; 2: unknown, so tell it again */
    uint8_t user_reads;
    /* bits UPMU_READS_…: whether a page of a CPU's session, or of the thread that runs here, gives the right */
    uint8_t readers;
    uint16_t window;                             /* number of that window, modulo 65,536 */
#if UPMU_UNCORE
    uint16_t number, core;                       /* numbers of the CPU and of its core in their package, by CPUID */
#endif
    struct upmu_ibs *volatile ibs[2];            /* IBS units at work, by upmu_ibs.kind; NULL: not started */
#if UPMU_BRANCHES
    struct upmu_branch_unit branches;
#endif
#if UPMU_PRECISE
    struct upmu_records records;
#endif
#if UPMU_BTS
    struct upmu_bts *volatile bts;               /* trace of branches at work; NULL: not started */
#endif
    uint64_t registers[UPMU_BANK_WORDS(UPMU_REGISTERS)]; /* memory of meter.bank */
#if UPMU_UNCORE
    struct upmu_cpu *next;                       /* next CPU in the list machine->cpus */
    struct upmu_unit *units;                     /* list of the units that it drives: linked by upmu_unit.next */
    struct upmu_cpu_place place;                 /* where the CPU is: package, die, node, cache */
#endif
};

#endif
