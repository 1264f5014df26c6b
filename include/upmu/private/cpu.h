/* SPDX-License-Identifier: MIT */
/*
 * The structures of machines and CPUs, whole so that a host can place them in .bss or per-CPU memory.  What a host may
 * read of them stands in upmu/upmu.h and upmu/cpu.h; the library writes them, each field the file that
 * tests/build/owners.tsv names.
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
 * The PMUs of one machine.  Constant after all CPUs are initialised.  Keep it in static memory.
 */
struct upmu_machine {
    const struct upmu_port *port;         /* the host's functions */
    struct upmu_pmu pmu[UPMU_CORE_TYPES]; /* core PMUs, one per core type */
    uint8_t pmu_count;                    /* entries of `pmu` in use */
    struct upmu_why why;                  /* why the last init (machine, CPU) or search or open (units) was refused */
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
 * A value for some bits of a register: `value` << shift in those of `mask`, signed, << shift.
 */
struct upmu_step {
    /* private */
    uint32_t value;
    int32_t mask;
    uint32_t guard;  /* counters that are stopped while it changes */
    uint8_t row;
    uint8_t shift;
    uint8_t odd;     /* the register has more than is programmed: enable bits or a status; or it is a unit's */
};

/*
 * Shadow and only writer of one PMU's registers on one CPU.
 */
struct upmu_bank {
    struct upmu_accesses accesses;         /* by local calls */
    struct upmu_accesses handler_accesses; /* by upmu_pmi_handle() */
    /* private */
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

/* The event that runs on a counter. */
struct upmu_counter_slot {
    /* private */
    struct upmu_tally *tally;     /* the event that has the counter, or NULL */
    struct upmu_session *session; /* its session */
    uint32_t tag;                 /* of the event that ran there last, whose value the counter has; 0: none */
};

/* Sessions on one side of a plan. */
#define UPMU_PARTS 8u

/*
 * A change of what runs: sessions that leave and sessions that come (core/engine/plan.h).  A session on both sides
 * moves, gets another set, or is loaded again.
 */
struct upmu_plan {
    /* private */
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
 * then.  The counters say the rest.
 */
struct upmu_mailbox {
    /* private */
    volatile uint8_t pending;
    uint8_t has_frame;
    uint32_t stopped; /* counters that it stopped, and the shadow may have open */
    uint32_t answered; /* counters whose overflow an interrupt has been answered for */
    uint32_t framed;  /* counters that `frame` belongs to */
    struct upmu_frame frame; /* without what its interrupted code has changed since: stack and registers */
};

/* An overflow, as it is passed to the format (upmu/format.h). */
struct upmu_overflow {
    struct upmu_session *session; /* whose events overflowed */
    struct upmu_cpu *cpu;       /* where they overflowed */
    const struct upmu_set *set; /* active when it happened, not after a switch */
    /*
     * The interrupted code, until upmu_format.overflow returns.  NULL: the host gave no frame, the frame is another
     * overflow's (UPMU_SAMPLE_NO_FRAME), or it is hidden (UPMU_SAMPLE_HIDDEN).  Where the interrupt came inside a local
     * call, the end of this call reports the overflow: then `fp` is 0 and `registers` NULL.
     */
    const struct upmu_frame *frame;
    uint64_t ip;                /* of the frame, or 0 */
    uint64_t sp;                /* of the frame, or 0 */
    uint64_t time_ns; /* clock_ns, or 0 */
    uint32_t events;            /* all events of the session that overflowed together */
    uint32_t process;           /* upmu_frame's */
    uint32_t thread;            /* upmu_frame's */
    uint16_t set_number;        /* upmu_set.number */
    uint16_t flags;             /* UPMU_SAMPLE_… */
    uint8_t event;              /* the one that this call is about */
};

/*
 * A PMU at work: what the engine needs of it, and what runs on it.  A CPU's is the first member of its
 * upmu_cpu.
 */
struct upmu_meter {
    struct upmu_machine *machine;
    const struct upmu_pmu *pmu; /* NULL: this CPU has none */
    struct upmu_cpu *cpu;       /* that drives it; of a unit: or NULL */
    /* private, what is used most first */
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
    struct upmu_session *waiting[3], *last_waiting[3]; /* by ticket; 0: wait; 1: wait and share; 2: run an empty set */
#if UPMU_WORLDS
    uint8_t worlds;                     /* a session of one world was linked here */
    uint8_t in_guest;                   /* a guest runs */
    uint8_t by_hardware;                /* the hardware changes the gates: always in the host */
    uint32_t exit_opens;                /* counters that the next exit from a guest may open */
#endif
    /* public again */
    struct upmu_bank bank;              /* bank.accesses: number of accesses */
    /* private */
    struct upmu_counter_slot slot[UPMU_COUNTERS];
    struct upmu_plan plan;                       /* of the change of what runs that is being made */
    uint32_t stamps;                             /* placements made here */
    uint32_t tickets;                            /* tickets given here */
#if UPMU_WORLDS
    uint32_t of_world[2];                        /* counters that run for host sessions, for guest sessions */
#endif
};

#if UPMU_BRANCHES
/* The branch stack of a CPU (upmu/branches.h). */
struct upmu_branch_unit {
    /* private */
    const struct upmu_branch_stack *volatile stack; /* records, or is frozen; NULL: it was not started */
    uint64_t control;          /* what the controlling register held before */
    uint64_t select, depth;    /* the same of these registers */
    uint64_t kernel_from;
    uint16_t record;           /* UPMU_BRANCH_… */
    uint8_t proven;            /* the hardware was seen to record */
    volatile uint8_t frozen;   /* by the host */
    volatile uint8_t readers;  /* reads in progress: one can interrupt another */
    volatile uint8_t ours;     /* from the first write of a start to the last one of a stop */
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
#if UPMU_SAMPLING
    struct upmu_overflow overflow;               /* being reported: by a bracket, or a handler that interrupted none */
#endif
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

#endif
