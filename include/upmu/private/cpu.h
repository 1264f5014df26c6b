/* SPDX-License-Identifier: MIT */
/*
 * The structures of machines and CPUs, whole so that a host can place them in .bss or per-CPU memory.  What a host may
 * read of them stands in upmu/upmu.h and upmu/cpu.h; the library writes them.
 * tests/build/owners.tsv names the file that assigns each field.
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
    struct upmu_pmu pmu[UPMU_CORE_TYPES]; /* core PMUs, one per core type */
    uint8_t pmu_count;                    /* entries of `pmu` in use */
    struct upmu_why why;                  /* why the last init (machine, CPU) or search or open (units) was refused */
    /* private */
    uint16_t cpu_count; /* number of upmu_cpu_init() calls that succeeded, modulo 65,536 */
    uint8_t user_reads; /* what upmu_cpu.user_reads is at first: 0, or 2 once any session was published */
    uint32_t last_session; /* id of the session that was initialised last */
    uint32_t lives; /* upmu_meter.life of the CPU or unit that began to work last; 0: none has */
    uint32_t pages; /* bits 19:0: published sessions; bits 31:20: how often the last published one was withdrawn */
    uint32_t dropped; /* sessions without controller that have not ended yet */
    struct upmu_cpu *only_cpu; /* the CPU that was initialised last: the executing one, if the port has no this_cpu */
#if UPMU_UNCORE
    struct upmu_unit_list *units; /* the list of upmu_units_find(), or NULL */
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
 * A value for some bits of a register: the bits of (int64_t)mask << shift get the bits of value << shift.
 */
struct upmu_step {
    /* private */
    uint32_t value;
    int32_t mask;
    uint32_t guard;  /* counters that are stopped while the register changes */
    uint8_t row;     /* of the register in the PMU's table */
    uint8_t shift;
    uint8_t odd;     /* the register also has enable bits or bits that the hardware changes, or is a unit's */
};

/*
 * The shadow of the registers of one PMU, of a CPU or a unit.  core/hw/bank.c alone writes these registers.
 */
struct upmu_bank {
    struct upmu_accesses accesses;         /* by local calls */
    struct upmu_accesses handler_accesses; /* by upmu_pmi_handle() */
    /* private */
    struct upmu_accesses *counted;         /* where accesses are counted now: one of these two */
    const struct upmu_port *port;
    const struct upmu_pmu *pmu;
    const struct upmu_register *rows; /* rows of the PMU's register table */
    struct upmu_domain *domain;    /* has the found values of registers that other CPUs see, too; or NULL */
    struct upmu_dry_run *dry;      /* where a dry run stores the writes, and makes none; else NULL */
    /* Another number after each change of what is known of a register, but for enable bits.  No other bank has it. */
    uint64_t version;
    uint32_t faulted;              /* address of the register that faulted last */
    uint8_t gate_class;            /* P6: class of the selects that have `own_gate` */
    uint8_t gates;                 /* where the enable bits of counters are: enum upmu_gates of core/hw/bank.h */
    uint8_t direct;                /* 1: all registers are MSRs that get their shadow's value as it is; no dry run */
    uint64_t own_gate;             /* P6: a gate bit of selects that is in the shadow alone; else 0 */
    uint64_t value_bits;           /* mask of the bits that a counter's value has, if it is the same for all; else 0 */
    uint32_t others;               /* counters of the host, which may change their registers */
    uint32_t stopped;              /* counters that a handler has stopped, and the shadow has open */
    uint32_t by_rdpmc;             /* counters that RDPMC reads; of a unit: none */
#if UPMU_WORLDS
    uint32_t absent;               /* counters of sessions of the other world: they do not open */
#endif
#if UPMU_BACKEND_PARAVIRT
    uint32_t fresh;                /* slots whose values the hypervisor has stored, and no read has returned since */
#endif
#if UPMU_UNCORE
    uint32_t kept;                      /* of a unit: counters that other software uses */
    uint32_t lacks;                     /* of a unit: counters that missed an unknown part, until tallies note it */
    uint32_t reset;                     /* of a unit: counters of which a box was reset: write the registers again */
    uint32_t missed;                    /* of a unit: counters of which a box was gone since their counts began */
    uint16_t boxes;                     /* of a unit: number of its boxes, side by side in the list from of.box on */
    bool box_rdpmc;                     /* of a unit: it has one box, and RDPMC may read its counters */
    const struct upmu_unit_type *type;  /* type of the unit; NULL: the bank is a CPU's */
#endif
#if UPMU_UNCORE || UPMU_BACKEND_PARAVIRT
    union {
        const struct upmu_unit_info *box; /* of a unit: its first box */
        struct upmu_pv_page *page;        /* of a CPU: the page that the hypervisor was given; NULL: none */
    } of;
#endif
    /* Three arrays by row, in memory of the CPU or unit. */
    uint8_t *state;                /* what is known of the register: UPMU_ROW_… */
    uint64_t *shadow;
    uint64_t *found;               /* the register's value before upmu's first write, to be restored */
};

/* Memory of a bank with so many rows, in words of 64 bits. */
#define UPMU_BANK_WORDS(rows) (2u * (rows) + ((rows) + 7u) / 8u)

/* The use of one counter of a meter: which event has it, and whose value it holds. */
struct upmu_counter_slot {
    /* private */
    struct upmu_tally *tally;     /* the event that has the counter, or NULL */
    struct upmu_session *session; /* its session */
    uint32_t tag;                 /* upmu_tally.tag of the event whose value the counter holds; 0: no event's */
};

/* Sessions on one side of a plan, at most. */
#define UPMU_PARTS 8u

/*
 * A change of what runs: sessions that leave and sessions that come (core/engine/plan.h).  A session on both sides
 * moves, gets another set, or is loaded again.
 */
struct upmu_plan {
    /* private */
    uint32_t leave, come;    /* counters of the sessions out[]; counters of the sets set[] */
    uint32_t changed;        /* counters whose registers differ from the programs of the sets that come */
    uint32_t counted_out, counted_in; /* counters of `leave` and of `come` whose events only count */
    uint32_t sampled_in;     /* counters of `come` that are loaded to overflow */
    uint32_t halted_in;      /* counters of `come` that sessions which sample have */
    uint32_t kept;           /* counters of `leave` that are left running, and become unowned */
    uint32_t carried;        /* counters that run on, from one event that only counts to another */
    uint32_t still;          /* counters that stand still while the library runs: changed while they are enabled */
    uint32_t based;          /* counters whose coming event takes the base of the event that leaves */
    uint32_t dormant;        /* counters of `come` that the hardware opens: targets of cascades */
    uint32_t written;        /* counters whose coming event, if it begins, writes a start value; else it reads one */
    uint32_t moved;          /* counters left without a gap: one write closes them and opens the events' new ones */
    uint32_t begun;          /* counters whose coming event begins anew, even if its own value is still there */
    uint64_t corunners;      /* sum of the stamps of the placements that run afterwards */
    uint64_t now_ns;         /* the time of the plan: read once, after the close */
    uint64_t moved_base[UPMU_PARTS]; /* for each event of `moved`, in turn: value that is in `total` */
    uint8_t outs, ins;       /* entries of out[]; of in[] and set[] */
    uint8_t state_after;     /* state of the sessions that leave, but for full ones */
    uint8_t odd;             /* something in the plan is not plain: core/engine/special.h */
    uint8_t sequence;        /* 1: a prelude is run, so everything that runs leaves and comes again */
    uint8_t lost;            /* bit n: the session out[n] has a counter that could not be read */
    uint8_t reports;         /* bit n: the session out[n] has samples due (upmu_session.due_events) */
    struct upmu_session *out[UPMU_PARTS], *in[UPMU_PARTS]; /* the sessions that leave, and that come */
    struct upmu_set *set[UPMU_PARTS]; /* the set with which the session in[] of this index comes */
};

/*
 * Mail of the handlers that interrupted a local call, which the end of the call's bracket reads.  Which counters have
 * overflowed is not here: their values say so.
 */
struct upmu_mailbox {
    /* private */
    volatile uint8_t pending; /* 1: there is mail to read */
    uint8_t has_frame;        /* `frame` is valid */
    uint32_t stopped; /* counters that a handler stopped, and the shadow may have open */
    uint32_t answered; /* counters whose overflow an interrupt has been answered for */
    uint32_t framed;  /* counters whose overflow came with `frame` */
    struct upmu_frame frame; /* of the first interrupt with an overflow; frame pointer and registers are left out */
};

/* An overflow, as it is passed to the format (upmu/format.h). */
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
    uint32_t events;            /* bit i: event i of `set` has overflowed: all events that did so together */
    uint32_t process;           /* upmu_frame.process */
    uint32_t thread;            /* upmu_frame.thread */
    uint16_t set_number;        /* upmu_set.number of `set` */
    uint16_t flags;             /* UPMU_SAMPLE_… */
    uint8_t event;              /* index of the event that this call of the format is about */
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
    struct upmu_session *sessions;      /* list of the sessions here, linked by `next`: those of threads come first */
    struct upmu_domain *domain;         /* where the PMU's shared parts are claimed, or NULL */
    struct upmu_place_work *work;       /* working memory for placements here; NULL: they use the stack */
    uint8_t domain_number;              /* number of this CPU in `domain` */
    uint8_t thread;                     /* upmu_backend.thread: number of the hyper-thread in its core, or 0 */
    uint16_t number;                    /* order of initialisation, modulo 65,536 */
    uint8_t claims_due;                 /* 1: claims may be held in `domain` that no running session needs */
    volatile uint8_t live;              /* 1: the PMU is taken over and does not sleep; handlers may act */
    volatile uint8_t busy;              /* a local call is in progress */
    volatile uint8_t in_handler;        /* a handler is in progress, or the last mail is read: interrupts are STALE */
    uint8_t seen_counting;              /* some counter was seen to move */
    uint8_t ignores_writes;             /* take-over found that writes have no effect */
    volatile uint8_t work_due;          /* work for the next plan: bits UPMU_DUE_* of core/engine/session_core.h */
    uint8_t ticks;                      /* number of ticks, modulo 256; of a unit without clock: since its last fold */
    uint8_t kind;                       /* the kind of CPU that a program must be for: upmu_placed_class() */
    uint32_t firmware;                  /* counters that other software used at take-over */
    uint32_t watchdog;                  /* counters that the host reserved */
    uint32_t foreign;                   /* counters found changed, or in use by other software, since take-over */
    volatile uint32_t running;          /* counters that run for a session */
    volatile uint32_t sampling;         /* counters of `running` that are loaded to overflow */
    volatile uint32_t halted;           /* counters of `running` in sessions that sample: a handler stops these */
    uint32_t failed;                    /* counters whose registers have faulted, until upmu_reconcile_repair() */
    uint32_t used;                      /* counters whose registers were written since take-over, to be restored */
    uint32_t lent;                      /* counters that the host reserved while they were in `used` */
    uint32_t flagged;                   /* counters whose status bit may be set, though no new overflow belongs to it */
    uint32_t next_tag;                  /* the tag that was given last (upmu_tally.tag) */
    uint32_t life;                      /* number of the initialisation, from upmu_machine.lives; not 0 while at work */
    uint32_t left;                      /* counters that sessions had since clear_left() of user_page.c set them to 0 */
    uint32_t unowned;                   /* counters that static sessions left running: in no session's count */
    uint64_t corunners;                 /* sum of upmu_program.placement of all sets that run */
    /*
     * First and last session of lists by ticket: [0] waiting, [1] waiting and sharing, [2] running an empty set; [3]
     * and [4] as [0] and [1], of sessions of the thread that runs here.
     */
    struct upmu_session *waiting[5], *last_waiting[5];
#if UPMU_WORLDS
    uint8_t worlds;                     /* not 0: a session of one world was linked here */
    uint8_t in_guest;                   /* a guest runs */
    uint8_t by_hardware;                /* the hardware changes the gates at entry and exit: in_guest stays 0 */
    uint32_t exit_opens;                /* counters that the next exit from a guest may open */
#endif
    /* public again */
    struct upmu_bank bank;              /* bank.accesses: number of accesses */
    /* private */
    struct upmu_counter_slot slot[UPMU_COUNTERS]; /* what runs on each counter */
    struct upmu_plan plan;                       /* the plan that is being made or carried out */
    uint32_t stamps;                             /* number of placements made here */
    uint32_t tickets;                            /* number of tickets given here; the last one has this number */
#if UPMU_WORLDS
    uint32_t of_world[2];                        /* counters that run for host sessions; for guest sessions */
#endif
};

#if UPMU_BRANCHES
/* The branch stack of a CPU (upmu/branches.h). */
struct upmu_branch_unit {
    /* private */
    const struct upmu_branch_stack *volatile stack; /* the stack that records, or is frozen; NULL: none was started */
    uint64_t control;          /* value of the register upmu_branch_stack.control before the start */
    uint64_t select, depth;    /* values of the registers upmu_branch_stack.select and .size before the start */
    uint64_t kernel_from;      /* upmu_branch_filter.kernel_from */
    uint16_t record;           /* upmu_branch_filter.record: UPMU_BRANCH_… */
    uint8_t proven;            /* the hardware was seen to record */
    volatile uint8_t frozen;   /* the host has frozen the stack */
    volatile uint8_t readers;  /* number of reads in progress: one can interrupt another */
    volatile uint8_t ours;     /* 1 from the first write of a start to the last write of a stop */
};
#endif

/*
 * A logical CPU.  Zero it before its first use (.bss is zero).  It must stay from upmu_cpu_init() to upmu_cpu_fini(),
 * and upmu_cpu_init() must not be called again before that: it would take counters of running sessions for the
 * firmware's.
 */
struct upmu_cpu {
    struct upmu_meter meter; /* the CPU's own PMU at work */
    /* private */
    struct upmu_thread *current;        /* the thread that runs here, if it is monitored; else NULL */
    volatile uint32_t expected;         /* own interrupts can come until then (2^20 ns), or so many without a clock */
    volatile uint32_t interrupts;       /* number of interrupts answered UPMU_PMI_HANDLED since upmu_cpu_init() */
    struct upmu_session *pages;         /* list of running sessions that are published: linked by next_page */
    struct upmu_mailbox mail;
#if UPMU_SAMPLING
    struct upmu_overflow overflow;               /* reported now, by a bracket or a handler that interrupted none */
#endif
    uint64_t window_start_ns;                    /* begin of the throttle's present window of time */
    uint8_t user_reads;                          /* 1: user mode may execute RDPMC, 0: not, 2: unknown, set it anew */
    uint8_t readers;                             /* bits UPMU_READS_…: whose pages user_reads is for */
    uint16_t window;                             /* number of the throttle's present window */
    struct upmu_ibs *volatile ibs[2];            /* IBS units at work, by upmu_ibs.kind; NULL: not started */
#if UPMU_BRANCHES
    struct upmu_branch_unit branches;
#endif
    uint64_t registers[UPMU_BANK_WORDS(UPMU_REGISTERS)]; /* memory of meter.bank */
#if UPMU_UNCORE
    struct upmu_cpu *next;                       /* next CPU in the list machine->cpus */
    struct upmu_unit *units;                     /* list of the units that it drives: linked by upmu_unit.next */
    struct upmu_cpu_place place;                 /* where the CPU is: package, die, node, cache */
#endif
};

#endif
