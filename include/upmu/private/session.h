/* SPDX-License-Identifier: MIT */
/*
 * The structures of sessions and threads, whole so that a host can place them.  The library writes them; upmu/upmu.h,
 * upmu/set.h and upmu/format.h say what a host may read.  tests/build/owners.tsv names the file that assigns each
 * field.
 */
#ifndef UPMU_PRIVATE_SESSION_H
#define UPMU_PRIVATE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/config.h>
#include <upmu/status.h>
#include <upmu/private/cpu.h>
#include <upmu/private/event.h>

struct upmu_callers;
struct upmu_compiled;
struct upmu_format;
struct upmu_queue;
struct upmu_user_page;

/* The state of one counting event: its count, its period, and the counter where it runs. */
struct upmu_tally {
    /* private */
    /* number that the event got on its meter; a counter whose slot has this tag holds the event's value */
    uint32_t tag;
    uint32_t counters;          /* mask of all counters that its placement gives the event; 0: not placed */
    uint8_t index;              /* number of the event in its set */
    /* public again */
    uint8_t counter;            /* the counter that is read for its count; UPMU_NO_COUNTER: not placed */
    /* private */
    /* by slot of the request: number of the counter, slot[0] is `counter`; UPMU_NO_COUNTER: no counter */
    uint8_t slot[UPMU_SLOTS];
    uint8_t alternative;        /* index of the way that its placement chose (upmu_backend.alternative) */
    uint8_t from; /* while a plan moves the event: number of the counter that it leaves; else UPMU_NO_COUNTER */
    uint8_t least_log2, step_log2; /* as in its upmu_event: limits of periods */
    bool throttled; /* overflows came too often: until a poll the counter is loaded with its longest period */
    bool ran;                   /* the counter has run for the event; of a cascade: the initiator has overflowed */
    bool hole;                  /* an unknown part is missing in the event's count, whose quality is PARTIAL */
    uint8_t scale; /* in `squares` and `products` of its upmu_estimate counts are shifted right by so many bits */
    /* Properties of the event, which change with the event only; but for `lent` and `recorded`. */
    bool wide : 1;              /* slot[1] is a counter with the bits above those of `counter` */
    bool falls : 1;             /* a later count of the event can be lower than an earlier one (UPMU_ATTR_IN_TXCP) */
    bool shared : 1;            /* AMD: its counter also counts for other CPUs, in any mode: it never stands still */
    /*
     * the handler does less: the event samples, not precisely, on one counter, with a fixed period without limits;
     * there is a clock, and overflows switch no set
     */
    bool ordinary : 1;
    bool cascades : 1;          /* a cascade: the counter slot[1], the initiator, starts `counter` when it overflows */
    bool notifies : 1;          /* UPMU_SAMPLING_NOTIFY */
    bool wraps : 1;             /* UPMU_SAMPLING_WRAP was asked for */
    bool metric : 1;            /* the event is a byte of the register of top-down metrics, and no counter */
    bool lent : 1;              /* upmu_set_lend(): its counter is loaded with `total` + `reset` */
#if UPMU_PRECISE
    bool precise : 1;           /* samples precisely: its counter stores records, and a sample is due if `recorded` */
    bool recorded : 1; /* of a precise event: its counter has stored a record, or may have, that is not a sample yet */
    bool batch : 1;             /* UPMU_SAMPLING_BATCH: records load its counter with the whole period */
#endif
    uint16_t storm; /* overflows of the event in the throttle's window (one with lost periods counts 64 times) ... */
    uint16_t window;            /* ... that has this number (upmu_cpu.window); in later windows 0 */
    uint32_t frequency;         /* upmu_sampling.frequency */
    uint64_t total;             /* events counted when the counter had the value `base` */
    uint64_t base;              /* value of the counter at which `total` was right */
    uint64_t due;               /* of an event that samples: the value of `total` at which the next sample is due */
    uint64_t period; /* in events: upmu_sampling.period, or as adapted to `frequency`; 0: the event only counts */
    uint64_t reset; /* of an event that samples: the period that runs now, in events, with its random part ... */
    uint64_t ended;             /* ... and the period that ended with the last overflow */
    uint64_t random;            /* state of the generator of random numbers for periods ... */
    uint64_t random_mask;       /* ... of which these bits are added to a period (upmu_sampling.random_mask) */
    uint64_t adapted_ns;        /* for `frequency`: enabled time of the session at which the period was adapted last */
    /*
     * Correction of what its set has missed (upmu_session_missed()), modulo 2^64: time without a counter while the set
     * ran, less the time that the set had missed when this count was set.
     */
    uint64_t gap_ns;
    uint32_t overflows;         /* periods completed, also those in `lost` */
    uint32_t lost; /* number of periods that ended without a sample: the event was throttled, or the period too short */
    uint32_t to_switch; /* number of overflows until the next set of the chain is due; 0: overflows switch no set */
    uint32_t turned;            /* time, in 2^20 ns, when the counter began with the event or last passed 0 */
};

/* The sampling attributes (struct upmu_sampling) of an event, but for those that its tally has. */
struct upmu_kept {
    /* private */
    uint64_t period;
    uint64_t event_id;
    uint64_t long_period;
    uint32_t values;
    uint32_t switch_after;
    uint32_t resets;
#if UPMU_PRECISE
    uint16_t parts;             /* UPMU_PART_… that samples are to have, where their records have them */
#endif
};

/* Sums over the runs of a set, from which the count of one event in the time between the runs is estimated. */
struct upmu_estimate {
    /* private */
    uint64_t turn_total;        /* the event's `total` when the last run of its set ended */
    uint64_t squares;           /* sum over the runs of (count >> upmu_tally.scale) squared */
    uint64_t products;          /* sum of (count >> upmu_tally.scale) * (time >> upmu_set.scale) */
    uint64_t since_ns;          /* the session's enabled time from which the times of the count are counted */
};

/*
 * The most steps (register values) of the placement of `events` events.  On NetBurst 18 counters have two registers
 * each, six of these counters, which count tagged uops, have a third one, and there are two registers more.  Elsewhere
 * an event takes two steps (on RISC-V three), and four further registers take two steps each.
 */
#define UPMU_STEPS_WANTED(events)                                                                                      \
    (UPMU_BACKEND_X86_P4 ? 6u * (events) + 4u : (2u + UPMU_BACKEND_RISCV_HPM) * (events) + 8u)
#define UPMU_STEPS_OF(events) (UPMU_STEPS_WANTED(events) < 44u ? UPMU_STEPS_WANTED(events) : 44u)
#define UPMU_STEPS UPMU_STEPS_OF(UPMU_SET_EVENTS)

/*
 * A placement of a set, compiled into register values when the set is first loaded with it; then constant until the set
 * is placed anew.
 */
struct upmu_program {
    /* private */
    /* upmu_placed_stamp() of the placement, which is added to meter.corunners while it runs; 0: not compiled */
    uint64_t placement;
    /* number made of co-runners and blocked counters with which the set found no place last (placed.c); 0: none */
    uint64_t refused;
    uint64_t seen;      /* upmu_bank.version at which the registers had all values of the program; 0: unknown */
    /* mask: counters of events that only count; not those of cascades, metrics and their pipeline slots */
    uint32_t counting;
    /* mask: counters of events that sample: they are loaded so that they overflow at the next sample */
    uint32_t sampling;
    uint32_t user; /* mask: counters of events of user mode alone, which can stand still (upmu_pmu.kernel_select) */
    uint8_t kind;       /* upmu_placed_class() of the CPU for which the program was made */
    uint8_t steps;      /* entries of `step` in use */
    uint8_t flags;      /* UPMU_PROGRAM_… */
    /* the steps in the order of loading, those of one register side by side; in the set's room */
    struct upmu_step *step;
};

/*
 * Words of 64 bits in a set's room that `events` events, with what belongs to each, and the steps of their program
 * take.
 */
#define UPMU_ROOM_WORDS(events)                                                                                        \
    (((size_t)(events) * (sizeof(struct upmu_tally) + sizeof(struct upmu_event) + sizeof(struct upmu_kept) +           \
                          sizeof(struct upmu_estimate)) +                                                              \
      (size_t)UPMU_STEPS_OF(events) * sizeof(struct upmu_step) + sizeof(uint64_t) - 1) / sizeof(uint64_t))

/*
 * Events that run together or not at all; one member of a session's chain of sets (<upmu/set.h>).
 *
 * The memory of a set may end early: for `events` events it has the first UPMU_SET_BYTES(events) bytes.
 */
struct upmu_set {
    uint8_t count;        /* number of its events */
    uint8_t flags;        /* UPMU_SET_… */
    uint16_t number;      /* number by which the chain is sorted; each set of a chain has another one */
    /* private */
    uint32_t counters;    /* mask: counters of the set's last placement; 0: not placed */
    /* public again */
    struct upmu_tally *tally; /* array in `room` with an entry for each event, as the next three are */
    /* private */
    struct upmu_event *event;
    struct upmu_kept *sampling;
    struct upmu_estimate *estimate;
    struct upmu_program program;
    /* public again */
    uint64_t timeout_ns;  /* with UPMU_SET_TIME_SWITCH: time of a run, a multiple of the port's tick_ns */
    uint64_t runs;        /* how often it became the active set, the first start included */
    /* private */
    struct upmu_set *next;
    struct upmu_session *session; /* the session in whose chain it is, or NULL */
    uint64_t left_ns; /* rest of timeout_ns in the present run; while the set runs, as it was when the set was loaded */
    uint64_t duration_ns; /* time in which the set had counters, in all runs, up to the last stop */
    uint64_t turn_ns;     /* duration_ns when its last run ended (a run: from one switch of sets to the next) */
    uint64_t turn_squares; /* sum over the runs of (time >> scale) squared */
    /* number of runs in the sums of the estimates: ended ones in which the set had counters for some time */
    uint32_t turns;
    uint32_t round;       /* value of upmu_session.round when the set was drawn last */
    uint64_t placed_beside; /* sum of the stamps of the co-runners beside which the last placement is valid */
    uint32_t placed_blocked; /* counters that sessions could not have when it was placed (upmu_meter_blocked()) */
    uint32_t stamp; /* number of the set's last placement: unique among those of one CPU or unit until it wraps */
    uint8_t placed_class; /* upmu_placed_class() of the CPU for which the set was placed last; 0: not placed */
    uint8_t scale;        /* times are shifted right by so many bits in the sums of the estimates */
    /* in upmu_session.set alone: meter->seen_counting when the session was last unlinked from a meter */
    uint8_t proven;
    uint8_t capacity;     /* number of events for which the memory of the set has room */
    uint64_t room[UPMU_ROOM_WORDS(UPMU_SET_EVENTS)];
};

/* A ring of samples' records, of variable length.  One writer (the handler, or a bracket), one reader. */
struct upmu_ring {
    /* private */
    uint8_t *buffer;
    uint32_t bytes;
    volatile uint32_t head; /* place in `buffer` behind the newest record; written by the handler */
    volatile uint32_t tail; /* place in `buffer` of the oldest record; written by the reader */
    volatile uint32_t lost; /* number of samples since upmu_ring_init() that found no room in the ring; may wrap */
    uint32_t open;          /* place in `buffer` of the record to which callers are being added */
    uint32_t lost_reported; /* how many of the `lost` samples the `lost` of written records has told */
};

/*
 * A session: sets of events, a target, and the events' counts.  The memory must stay until the session is closed.  The
 * memory may end early, in the room of the first set: UPMU_SESSION_BYTES() (upmu/session.h).
 */
struct upmu_session {
    enum upmu_status error;    /* why the library has stopped the session by itself (a fault); UPMU_OK: it has not */
    uint32_t id;               /* number of the session, unique on its machine; 0: the session is closed */
    volatile uint8_t state;    /* enum upmu_session_state */
    /* private, what is used most first */
    volatile uint8_t ties;     /* UPMU_TIED: it has a target; UPMU_DROPPED: it has no controller any more */
    volatile uint8_t full; /* the next plan is to mask the session, because its ring was full or a message was sent */
    /* the next plan is to switch to the next set, because an event has overflowed often enough */
    volatile uint8_t switch_due;
    uint8_t alone;             /* while it has counters, no other session has any of this PMU */
    /* at a switch of threads its counters that only count are left running if what comes does not need them */
    uint8_t is_static;
    uint8_t chain;             /* it has several sets, or one set that is switched (to itself) */
    uint8_t shares;            /* it is a sharing session: upmu_session_share() */
    uint8_t mask_on_full;      /* a full ring masks it: upmu_session_mask_on_full() */
    uint8_t hides_kernel;      /* its samples, messages and format get 0 in place of the kernel's addresses */
    uint8_t queued;            /* 1 + index of the list in meter->waiting[] that it is in; 0: in none */
    uint8_t ordered;           /* its sets run in rising order, not shuffled */
    /* 1: a start or a switch has begun a run of the active set, and the chain still has it: a start continues it */
    uint8_t begun;
    uint8_t page_open;         /* it is in the list upmu_cpu.pages */
    uint8_t page_watched;      /* its page is that of a struct upmu_watched_page */
    uint8_t pmu;               /* upmu_pmu.index of the PMU for which texts without a PMU's name are encoded */
#if UPMU_WORLDS
    uint8_t world;             /* enum upmu_world */
#endif
#if UPMU_BRANCH_SAMPLES
    uint8_t began_hidden;      /* `hides_kernel` at its last start, which says what the branch stack records for it */
    uint16_t branches;         /* UPMU_BRANCH_…: the branches that its samples are to have; 0: none */
#endif
    struct upmu_machine *machine;
    struct upmu_meter *meter;  /* the meter to which it is linked, or NULL */
    struct upmu_session *next; /* next session in the list meter->sessions */
    /* the pointer in the list meter->sessions that points to this session; NULL: in no list */
    struct upmu_session **link;
    struct upmu_session *next_waiting, *before_waiting; /* in the list meter->waiting[queued - 1], by ticket */
    struct upmu_thread *thread; /* the thread that it is attached to, or NULL */
    struct upmu_session *next_of_thread; /* next session in the list thread->sessions */
    struct upmu_set *sets;     /* first set of its chain, which is in rising order of numbers */
    struct upmu_set *active;
    struct upmu_set *following; /* the set that was chosen to be active next, until the switch to it; else NULL */
    /*
     * time up to which enabled_ns is counted; of a session that is started and whose target is here.  Of a session of a
     * thread that waits and is linked to no meter: the same by the thread's clock (upmu_thread.clock)
     */
    uint64_t started_ns;
    uint64_t running_ns;       /* time at which the active set was loaded last */
    uint64_t enabled_ns;       /* enabled time up to started_ns */
    uint32_t counters;         /* counters of the active set's placement; 0: not placed */
    uint32_t ticket;           /* position in the order in which the sharing sessions of the meter run */
    /* 1: a call works on the session while its thread does not run, or detaches it: others keep off */
    volatile uint32_t held;
    /*
     * odd: counts, times or state of the session are being changed; a reader reads again if it was odd or has changed
     */
    uint32_t sequence;
    /* upmu_meter.life of the meter on which the tags of its tallies were given; 0: they are not valid */
    uint32_t tagged_by;
    uint32_t long_due;         /* bit i: event i of the active set masked it, and waits for its long period next */
    uint32_t due_events;       /* bit i: event i of the active set has a sample due, which the present plan stores */
    uint32_t round;            /* number of the round in which sets are drawn */
    uint32_t controllers;      /* number of its controllers less one (upmu_session_hold()) */
    uint64_t random;           /* state of the generator by which sets are drawn */
    struct upmu_queue *queue;  /* its messages, or NULL */
    const struct upmu_format *format; /* the format; NULL: the default one */
    void *format_state;
    struct upmu_user_page *page;      /* its published page, or NULL */
    struct upmu_session *next_page;   /* next session in the list upmu_cpu.pages */
    const struct upmu_callers *callers; /* how callers of samples are found; NULL: records have no callers */
    struct upmu_session **link_of_thread; /* the pointer in the list thread->sessions that points to this session */
    /* next and previous session in a list of thread->started; previous of the first: the last */
    struct upmu_session *next_started, *before_started;
    /* of the first session of such a list: first session of the thread's next list; else NULL */
    struct upmu_session *next_list;
    /*
     * where it counts: 0: on each CPU; a number up to UPMU_CORE_TYPES: 1 + upmu_pmu.index of the PMU of those CPUs;
     * else the address of the only CPU (upmu_session_limit_cpu(), upmu_session_limit_pmu())
     */
    uintptr_t limit;
#if UPMU_GROUPS
    /* the entries of its group, with whose list its first set was made (core/engine/program.c); NULL: none */
    struct upmu_compiled *compiled;
#endif
    /* with a limit: since this time its CPU has run its thread without it; UPMU_PASSED: unknown time; 0: none */
    uint64_t passed_ns;
    /* public again */
    struct upmu_ring ring;
    struct upmu_why why;       /* why the last call on it was refused */
    struct upmu_set set;       /* set 0 of the chain.  Last member: the memory may end within its `room` */
};

/*
 * A thread of the host's scheduler, as the library sees it.  The host embeds it in its own structure.  At most 64
 * bytes.
 */
struct upmu_thread {
    uint32_t pid, tid; /* the host's numbers of process and thread, which may be changed at any time */
    void *host;        /* the library does not use this */
    /* private */
    struct upmu_session *sessions; /* list of its attached sessions; NULL: it is not monitored */
    /* started sessions of this thread, and some stopped ones: first session of the first list (upmu_thread_list()) */
    struct upmu_session *started;
    /* the CPU on which the monitored thread runs; NULL: it does not run. That CPU alone changes this */
    struct upmu_cpu *cpu;
    volatile uint32_t held;        /* 1: a call walks or changes the lists of this thread, and no other may */
    volatile uint16_t turns;       /* counts up twice at each start and stop of `clock`: bit 1 is set while it runs */
    uint8_t unjoined;              /* 1: some sessions of the running thread may not be linked to its CPU's meter yet */
    /*
     * The time for which the thread has run where it was monitored, in ns: low and high half.  While the clock runs,
     * the time of the machine's clock has to be added.
     */
    uint32_t clock[2];
    uint32_t reads;                /* not 0: its program has had a page (upmu_session_publish()), and may use RDPMC */
    uint32_t passed;               /* number of a CPU that could not hold the lists as the thread came; 0: none */
};

/* Values that upmu_region_begin() keeps for upmu_region_end(): the events' counts and the enabled time at the begin. */
struct upmu_region_begun {
    /* private */
    uint64_t count[UPMU_SET_EVENTS];
    uint64_t ns;
};

#endif
