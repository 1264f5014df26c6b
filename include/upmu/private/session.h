/* SPDX-License-Identifier: MIT */
/*
 * The structures of sessions and threads, whole so that a host can place them.  What a host may read of them stands in
 * upmu/upmu.h, upmu/set.h and upmu/format.h; the library writes them.  tests/build/owners.tsv
 * names the file that assigns each field.
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
struct upmu_format;
struct upmu_queue;
struct upmu_user_page;

/* The state of one counting event: its count, its period, and the counter where it runs. */
struct upmu_tally {
    /* private */
    uint32_t tag;               /* number of the event on its meter: a counter with this tag holds the event's value */
    uint32_t counters;          /* mask of all counters that its placement gives the event; 0: not placed */
    uint8_t index;              /* number of the event in its set */
    /* public again */
    uint8_t counter;            /* the counter that is read for its count; UPMU_NO_COUNTER: not placed */
    /* private */
    uint8_t slot[UPMU_SLOTS];   /* by slot: `counter`, and the event's other counters; or UPMU_NO_COUNTER */
    uint8_t alternative;        /* index of the way that its placement chose (upmu_backend.alternative) */
    uint8_t from;               /* while a plan moves the event: the counter that it leaves; else UPMU_NO_COUNTER */
    uint8_t least_log2, step_log2; /* as in its upmu_event: limits of periods */
    bool throttled;             /* too many overflows: the counter waits as long as it can, until a poll */
    bool ran;                   /* its counter has run; of a cascade: its initiator has overflowed */
    bool hole;                  /* its count lacks an unknown part: the quality is PARTIAL */
    uint8_t scale;              /* counts are shifted right by so many bits in the sums of its estimate */
    /* Properties of the event: they change with the event only. */
    bool wide : 1;              /* slot[1] is a counter with the bits above those of `counter` */
    bool falls : 1;             /* the event's count can fall: UPMU_ATTR_IN_TXCP */
    bool shared : 1;            /* AMD: its counter also counts for other CPUs, in any mode: it never stands still */
    bool ordinary : 1;          /* a clock, a fixed period, no steps, no switch of sets: the handler does less */
    bool cascades : 1;          /* the counter slot[1] starts its counter: UPMU_ATTR_CASCADE */
    bool notifies : 1;          /* UPMU_SAMPLING_NOTIFY */
    bool wraps : 1;             /* UPMU_SAMPLING_WRAP */
    bool metric : 1;            /* the event is a byte of the register of top-down metrics, and no counter */
    bool lent : 1;              /* upmu_set_lend(): its counter is loaded with `total` + `reset` */
    uint16_t storm;             /* overflows in the throttle's window ... */
    uint16_t window;            /* ... with this number (upmu_cpu.window) */
    uint32_t frequency;         /* upmu_sampling.frequency */
    uint64_t total;             /* events counted when the counter had the value `base` */
    uint64_t base;              /* value of the counter at which `total` was right */
    uint64_t due;               /* sampling: total at which the next sample is due */
    uint64_t period;            /* sampling: events between samples; 0: counts only */
    uint64_t reset;             /* sampling: the present period, with its random part ... */
    uint64_t ended;             /* ... and the period before it */
    uint64_t random;            /* state of the generator of random numbers ... */
    uint64_t random_mask;       /* ... and their bits that are added to a period */
    uint64_t adapted_ns;        /* `frequency`: the session's enabled time when the period was adapted last */
    /*
     * Correction of what its set has missed (upmu_session_missed()), modulo 2^64: time without a counter while the set
     * ran, less the time that the set had missed when this count was set.
     */
    uint64_t gap_ns;
    uint32_t overflows;         /* periods completed, also those in `lost` */
    uint32_t lost;              /* periods completed without a sample: throttled, or too short */
    uint32_t to_switch;         /* overflows until the next set of the chain is due; 0: none are counted */
    uint32_t turned;            /* when its counter began this event's value or last passed zero, in 2^20 ns */
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
};

/* Sums over the runs of a set, from which one event's count between runs is estimated. */
struct upmu_estimate {
    /* private */
    uint64_t turn_total;        /* the tally's total when the last run of its set ended */
    uint64_t squares;           /* sum over the runs of (count >> upmu_tally.scale) squared */
    uint64_t products;          /* sum of (count >> upmu_tally.scale) * (time >> upmu_set.scale) */
    uint64_t since_ns;          /* enabled time of its session when the times of the count began at 0 */
};

/*
 * Steps of the placement of so many events, at most.  On NetBurst 18 counters have two registers each, six of these
 * counters, which count tagged uops, have a third one, and there are two registers more.  Elsewhere an event takes two
 * steps (on RISC-V three), and four registers beside take two steps each.
 */
#define UPMU_STEPS_WANTED(events)                                                                                      \
    (UPMU_BACKEND_X86_P4 ? 6u * (events) + 4u : (2u + UPMU_BACKEND_RISCV_HPM) * (events) + 8u)
#define UPMU_STEPS_OF(events) (UPMU_STEPS_WANTED(events) < 44u ? UPMU_STEPS_WANTED(events) : 44u)
#define UPMU_STEPS UPMU_STEPS_OF(UPMU_SET_EVENTS)

/* A placement of a set, compiled when it is first loaded; constant until the next placement. */
struct upmu_program {
    /* private */
    uint64_t placement; /* upmu_placed_stamp() of the placement, a part of meter.corunners; 0: not compiled */
    uint64_t refused;   /* made of the co-runners' stamps beside which no place was found (core/engine/placed.c) */
    uint64_t seen;      /* upmu_bank.version at which all registers held what the program wants */
    uint32_t counting;  /* counters of events that only count, but for cascades and metrics (and their slots) */
    uint32_t sampling;  /* counters of events that are loaded to overflow */
    uint32_t user;      /* counters that can stand still: of events of user mode alone (upmu_pmu.kernel_select) */
    uint8_t kind;       /* the kind of CPU that it is for: upmu_placed_class() */
    uint8_t steps;      /* entries of `step` in use */
    uint8_t flags;      /* UPMU_PROGRAM_… */
    struct upmu_step *step; /* in load order, the steps of one register together; in the set's room */
};

/* Words of 64 bits that so many events of a set and the steps of their program take (core/engine/room.c). */
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
    uint16_t number;      /* its number in the chain, which is in rising order of numbers */
    /* private */
    uint32_t counters;    /* counters of its last placement; 0: none */
    /* public again */
    struct upmu_tally *tally; /* array in `room` with an entry for each event, as the next three are */
    /* private */
    struct upmu_event *event;
    struct upmu_kept *sampling;
    struct upmu_estimate *estimate;
    struct upmu_program program;
    /* public again */
    uint64_t timeout_ns;  /* UPMU_SET_TIME_SWITCH: how long it runs, rounded up to ticks */
    uint64_t runs;        /* how often it became the active set, the first start included */
    /* private */
    struct upmu_set *next;
    struct upmu_session *session; /* the session in whose chain it is, or NULL */
    uint64_t left_ns;     /* rest of timeout_ns in this run; while it runs, the rest when it was loaded */
    uint64_t duration_ns; /* time on the hardware, in all runs up to the last stop */
    uint64_t turn_ns;     /* duration_ns when its last run ended (a run: from one switch of sets to the next) */
    uint64_t turn_squares; /* sum over the runs of (time >> scale) squared */
    uint32_t turns;       /* runs in the sums of the estimates: ended ones that had any time */
    uint32_t round;       /* upmu_session.round in which it was drawn last */
    uint64_t placed_beside; /* sum of the stamps of the co-runners beside which the last placement is valid */
    uint32_t placed_blocked; /* counters that sessions could not have when it was placed (upmu_meter_blocked()) */
    uint32_t stamp;       /* number of its last placement: unique on the machine until the number wraps */
    uint8_t placed_class; /* the kind of CPU that it was placed for: upmu_placed_class() */
    uint8_t scale;        /* times are shifted right by so many bits in the sums of the estimates */
    uint8_t proven;       /* of upmu_session.set alone: meter->seen_counting when the session left its meter */
    uint8_t capacity;     /* events that it has room for */
    uint64_t room[UPMU_ROOM_WORDS(UPMU_SET_EVENTS)];
};

/* A byte ring of records; one writer (the handler), one reader. */
struct upmu_ring {
    /* private */
    uint8_t *buffer;
    uint32_t bytes;
    volatile uint32_t head; /* place in `buffer` behind the newest record; written by the handler */
    volatile uint32_t tail; /* place in `buffer` of the oldest record; written by the reader */
    volatile uint32_t lost; /* samples that found no room, in all */
    uint32_t open;          /* place in `buffer` of the record to which callers are being added */
    uint32_t lost_reported; /* how many of `lost` records have reported */
};

/*
 * Events, their target and their counts.  The memory must stay until the session is closed.  The memory may end early,
 * in the room of the first set: UPMU_SESSION_BYTES() (upmu/session.h).
 */
struct upmu_session {
    enum upmu_status error;    /* why the library stopped it, or UPMU_OK */
    uint32_t id;               /* unique among the machine's sessions; 0: closed */
    volatile uint8_t state;    /* enum upmu_session_state */
    /* private, what is used most first */
    volatile uint8_t ties;     /* UPMU_TIED: it has a target; UPMU_DROPPED: it has no controller any more */
    volatile uint8_t full;     /* the next plan is to mask it: the ring was full, or a message was sent */
    volatile uint8_t switch_due; /* the next set is due: an event has overflowed often enough */
    uint8_t alone;             /* while it has counters, no other session has any of this PMU */
    uint8_t is_static;         /* at a switch of threads its counters are left running: upmu_session_static() */
    uint8_t chain;             /* it has several sets, or one set that is switched (to itself) */
    uint8_t shares;            /* it is a sharing session: upmu_session_share() */
    uint8_t mask_on_full;      /* a full ring masks it: upmu_session_mask_on_full() */
    uint8_t hides_kernel;      /* its samples, messages and format get 0 in place of the kernel's addresses */
    uint8_t queued;            /* 1 + index of the list in meter->waiting[] that it is in; 0: in none */
    uint8_t ordered;           /* its sets run in rising order, not shuffled */
    uint8_t begun;             /* it was started before: a start continues with the active set */
    uint8_t page_open;         /* it is in the list upmu_cpu.pages */
#if UPMU_WORLDS
    uint8_t world;             /* enum upmu_world */
#endif
    uint8_t pmu;               /* upmu_pmu.index of the PMU for events whose text names no PMU */
    struct upmu_machine *machine;
    struct upmu_meter *meter;  /* the meter to which it is linked, or NULL */
    struct upmu_session *next; /* next session in the list meter->sessions */
    struct upmu_session **link; /* the pointer in that list that points to this session */
    struct upmu_session *next_waiting, *before_waiting; /* in the list meter->waiting[queued - 1], by ticket */
    struct upmu_thread *thread; /* the thread that it is attached to, or NULL */
    struct upmu_session *next_of_thread; /* next session in the list thread->sessions */
    struct upmu_set *sets;     /* first set of its chain, which is in rising order of numbers */
    struct upmu_set *active;
    struct upmu_set *following; /* the set that was chosen to be active next, until the switch to it; else NULL */
    /*
     * Time up to which enabled_ns is right; it runs while the target is here.  Of a session of a thread that waits and
     * is linked to no meter: the value of the thread's clock (upmu_thread.clock) up to which enabled_ns is right.
     */
    uint64_t started_ns;
    uint64_t running_ns;       /* when the active set was loaded last */
    uint64_t enabled_ns;       /* enabled time up to started_ns */
    uint32_t counters;         /* counters of the active set's placement; 0: not placed */
    uint32_t ticket;           /* position among the sharing sessions of the meter */
    volatile uint32_t held;    /* a call works on it while its thread does not run, or detaches it */
    uint32_t sequence;         /* odd: its counts, times or state are being changed */
    uint32_t tagged_by;        /* upmu_meter.life of the meter whose tags its tallies have; 0: the tags are not valid */
    uint32_t long_due;         /* bit i: event i of the active set masked it, and waits for its long period next */
    uint32_t due_events;       /* bit i: event i of the active set has a sample due, which the present plan stores */
    uint32_t round;            /* number of the round in which sets are drawn */
    uint32_t controllers;      /* number of its controllers beside the first */
    uint64_t random;           /* state of the generator by which sets are drawn */
    struct upmu_queue *queue;  /* its messages, or NULL */
    const struct upmu_format *format; /* or NULL: samples are default records */
    void *format_state;
    struct upmu_user_page *page;      /* its published page, or NULL */
    struct upmu_session *next_page;   /* next session in the list upmu_cpu.pages */
    const struct upmu_callers *callers; /* or NULL: records have no callers */
    struct upmu_session **link_of_thread; /* the pointer in the list thread->sessions that points to this session */
    struct upmu_session *next_started, *before_started; /* in a list of thread->started; NULL: in none */
    struct upmu_session *next_list; /* of the first session in such a list: the first one in the next list */
    struct upmu_cpu *limit;    /* the only CPU where it counts (upmu_session_limit_cpu()); NULL: it counts on each */
    /* public again */
    struct upmu_ring ring;
    struct upmu_why why;       /* why the last call on it was refused */
    struct upmu_set set;       /* the last member: its room may be shorter */
};

/* A thread, which the host embeds in its own structure.  At most 64 bytes. */
struct upmu_thread {
    uint32_t pid, tid; /* the host's numbers, for messages; may be changed at any time */
    void *host;        /* the library does not use this */
    /* private */
    struct upmu_session *sessions; /* list of its attached sessions; NULL: it is not monitored */
    struct upmu_session *started;  /* all started ones of these, and some stopped ones: upmu_thread_list() */
    struct upmu_cpu *cpu;          /* where it runs while it is monitored, or NULL; that CPU alone changes this */
    volatile uint32_t held;        /* a call walks or changes these lists */
    volatile uint16_t turns;       /* counts up twice at each start and stop of `clock`: bit 1 is set while it runs */
    uint8_t unjoined;              /* it runs, but some of its started sessions may not be linked to that CPU */
    /*
     * The time for which it has run where it was monitored: low and high half.  While the clock runs, the time of the
     * machine's clock has to be added.
     */
    uint32_t clock[2];
    uintptr_t reads;               /* not 0: its program has had a page (upmu_session_publish()), and may use RDPMC */
};

/* Counts and enabled time of a region's events at upmu_region_begin(). */
struct upmu_region_begun {
    /* private */
    uint64_t count[UPMU_SET_EVENTS];
    uint64_t ns;
};

#endif
