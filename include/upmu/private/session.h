/* SPDX-License-Identifier: MIT */
/*
 * The structures of sessions and threads, whole so that a host can place them.  What a host may read of them stands in
 * upmu/upmu.h, upmu/set.h and upmu/format.h; the library writes them, each field the file that tests/build/owners.tsv
 * names.
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

/* 64-bit state of one event. */
struct upmu_tally {
    /* private */
    uint32_t tag;               /* identifies the last user of a counter: unique on its CPU */
    uint32_t counters;          /* of its placement; 0: not placed */
    uint8_t index;              /* in its set */
    /* public again */
    uint8_t counter;            /* that counts; UPMU_NO_COUNTER: not placed */
    /* private */
    uint8_t slot[UPMU_SLOTS];   /* this counter and the other ones of the event, or UPMU_NO_COUNTER */
    uint8_t alternative;
    uint8_t from;               /* counter that it moves from, in a change; or UPMU_NO_COUNTER */
    uint8_t least_log2, step_log2; /* the event's */
    bool throttled;
    bool ran;
    bool hole;                  /* was moved with a gap, or its register was lost */
    uint8_t scale;              /* bits that counts are shifted by in the sums of its estimate */
    /* Properties of the event: they change with it only. */
    bool wide : 1;              /* slot[1] holds the bits above its counter's */
    bool falls : 1;             /* the event's count can fall: UPMU_ATTR_IN_TXCP */
    bool shared : 1;            /* counts for other CPUs, too, in any mode */
    bool ordinary : 1;          /* a clock, a fixed period, no steps, no switch of sets: the handler's short way */
    bool cascades : 1;          /* slot[1] starts it: UPMU_ATTR_CASCADE */
    bool notifies : 1;          /* UPMU_SAMPLING_NOTIFY */
    bool wraps : 1;             /* UPMU_SAMPLING_WRAP */
    bool metric : 1;            /* a byte of top-down metrics, which no counter counts */
    bool lent : 1;              /* upmu_set_lend(): its counter holds `total` + `reset` */
    uint16_t storm;             /* overflows in a throttle window ... */
    uint16_t window;            /* ... the number of which is this */
    uint32_t frequency;         /* upmu_sampling's */
    uint64_t total;             /* events up to `base` */
    uint64_t base;              /* counter value that `total` belongs to */
    uint64_t due;               /* sampling: total at which the next sample is due */
    uint64_t period;            /* sampling: events between samples; 0: counts only */
    uint64_t reset;             /* sampling: the present period, with its random part ... */
    uint64_t ended;             /* ... and the one before it */
    uint64_t random;            /* state of the generator ... */
    uint64_t random_mask;       /* ... and the bits of its numbers that a period gets */
    uint64_t adapted_ns;        /* enabled time at the last sample, for a frequency */
    uint64_t gap_ns;            /* enabled without a counter */
    uint32_t overflows;         /* periods completed */
    uint32_t lost;              /* periods completed without a sample: throttled, or too short */
    uint32_t to_switch;         /* overflows until the next set; 0: none */
    uint32_t turned;            /* when its counter was taken or last known to pass zero, in 2^20 ns */
};

/* The sampling attributes of an event, but for those that its tally has. */
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
    uint64_t turn_total;        /* total at the begin of this run of its set */
    uint64_t squares;           /* of counts in runs, and their products with the time: scaled */
    uint64_t products;
    uint64_t since_ns;          /* enabled time of its session when the count was written */
};

/*
 * Steps of a placement, at most.  On NetBurst 18 counters have two registers each, six of them that count tagged uops a
 * third, and two registers are beside; elsewhere two values of 32 bits for each event, and for four registers beside.
 * On RISC-V a select has three.
 */
#define UPMU_STEPS_WANTED(events)                                                                                      \
    (UPMU_BACKEND_X86_P4 ? 6u * (events) + 4u : (2u + UPMU_BACKEND_RISCV_HPM) * (events) + 8u)
#define UPMU_STEPS_OF(events) (UPMU_STEPS_WANTED(events) < 44u ? UPMU_STEPS_WANTED(events) : 44u)
#define UPMU_STEPS UPMU_STEPS_OF(UPMU_SET_EVENTS)

/* A placement of a set, compiled when it is first loaded; constant until the next placement. */
struct upmu_program {
    /* private */
    uint64_t placement; /* scattered id; 0: not compiled.  Their sum over what runs is cpu->meter.corunners */
    uint64_t refused;   /* beside what runs no place was found: that sum */
    uint64_t seen;      /* upmu_bank.version that has all of it */
    uint32_t counting;  /* counters of events that only count */
    uint32_t sampling;  /* counters of events that are loaded to overflow */
    uint32_t user;      /* counters of events of user mode alone, where that matters */
    uint8_t kind;       /* of CPU that it is for */
    uint8_t steps;
    uint8_t flags;      /* UPMU_PROGRAM_… */
    struct upmu_step *step; /* in load order, those of one register together; in the set's room */
};

/* Words that the events of a set take, and the steps of their program: core/engine/room.c lays them out. */
#define UPMU_ROOM_WORDS(events)                                                                                        \
    (((size_t)(events) * (sizeof(struct upmu_tally) + sizeof(struct upmu_event) + sizeof(struct upmu_kept) +           \
                          sizeof(struct upmu_estimate)) +                                                              \
      (size_t)UPMU_STEPS_OF(events) * sizeof(struct upmu_step) + sizeof(uint64_t) - 1) / sizeof(uint64_t))

/*
 * Requests that run together or not at all; one link of a session's chain
 * (<upmu/set.h>).
 *
 * The memory of a set may end early: for `events` events it has the first UPMU_SET_BYTES(events) bytes.
 */
struct upmu_set {
    uint8_t count;        /* events in it */
    uint8_t flags;        /* UPMU_SET_… */
    uint16_t number;      /* place in the chain, which is in rising order */
    /* private */
    uint32_t counters;    /* of its last placement; 0: none */
    /* public again */
    struct upmu_tally *tally; /* of its events, as the next three: arrays in `room` */
    /* private */
    struct upmu_event *event;
    struct upmu_kept *sampling;
    struct upmu_estimate *estimate;
    struct upmu_program program;
    /* public again */
    uint64_t timeout_ns;  /* UPMU_SET_TIME_SWITCH: how long it runs, as effective */
    uint64_t runs;        /* number of switches to it */
    /* private */
    struct upmu_set *next;
    struct upmu_session *session; /* in whose chain it is, or NULL */
    uint64_t left_ns;     /* of its timeout, kept while it does not run */
    uint64_t duration_ns; /* on the hardware, in all */
    uint64_t turn_ns;     /* duration at the begin of this run */
    uint64_t turn_squares; /* of the times of runs, scaled */
    uint32_t turns;       /* finished runs that have counted */
    uint32_t round;       /* the last in which it was drawn */
    uint64_t placed_beside; /* sum of the stamps that ran when it was placed */
    uint32_t placed_blocked; /* counters that were not available then */
    uint32_t stamp;       /* that placement: unique on the machine until it wraps */
    uint8_t placed_class; /* PMU and hyper-thread that it was placed for */
    uint8_t scale;        /* bits that times are shifted by in these sums */
    uint8_t proven;       /* first set of a session: the meter's seen_counting when the session left it */
    uint8_t capacity;     /* events that it has room for */
    uint64_t room[UPMU_ROOM_WORDS(UPMU_SET_EVENTS)];
};

/* A byte ring of records; one writer (the handler), one reader. */
struct upmu_ring {
    /* private */
    uint8_t *buffer;
    uint32_t bytes;
    volatile uint32_t head; /* written by the handler */
    volatile uint32_t tail; /* written by the reader */
    volatile uint32_t lost; /* samples that found no room, in all */
    uint32_t open;          /* the record that gets its callers */
    uint32_t lost_reported; /* of these, reported in the stream */
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
    volatile uint8_t ties;     /* UPMU_TIED, UPMU_DROPPED */
    volatile uint8_t full;     /* to be masked by the next plan: the ring was full, a message was sent */
    volatile uint8_t switch_due; /* after an overflow the next set is due */
    uint8_t alone;             /* while it has counters no other session has any of this PMU */
    uint8_t is_static;         /* its counters are left running */
    uint8_t chain;             /* its sets are switched, or its only one to itself */
    uint8_t shares;            /* is multiplexed with others (these eight are one word: core/engine/session_core.h) */
    uint8_t mask_on_full;
    uint8_t hides_kernel;      /* addresses of the kernel do not leave the handler */
    uint8_t queued;            /* in its CPU's list of those that wait */
    uint8_t ordered;           /* sets are not shuffled */
    uint8_t begun;             /* was started: a start continues with the active set */
    uint8_t page_open;         /* in its CPU's list of pages */
#if UPMU_WORLDS
    uint8_t world;             /* enum upmu_world */
#endif
    uint8_t pmu;               /* upmu_pmu.index for names without a prefix */
    struct upmu_machine *machine;
    struct upmu_meter *meter;
    struct upmu_session *next; /* on its CPU */
    struct upmu_session **link; /* what points to it there */
    struct upmu_session *next_waiting, *before_waiting; /* in its CPU's list of those that wait, by turn */
    struct upmu_thread *thread; /* that it is attached to, or NULL */
    struct upmu_session *next_of_thread; /* in its list of all sessions */
    struct upmu_set *sets;     /* chain, in rising order */
    struct upmu_set *active;
    struct upmu_set *following; /* the set that was drawn to be the next */
    uint64_t started_ns;       /* begin of the present enabled time: started, and its target is here */
    uint64_t running_ns;       /* begin of the active set's time on the hardware */
    uint64_t enabled_ns;
    uint32_t counters;         /* of its placement; 0: not placed */
    uint32_t ticket;           /* order among sharing sessions */
    volatile uint32_t held;    /* a call works on it while its thread does not run, or detaches it */
    uint32_t sequence;         /* odd: its counts, times or state are being changed */
    uint32_t tagged_by;        /* upmu_meter.life of the CPU whose tags its tallies have */
    uint32_t long_due;         /* events that stopped it: their long period is next */
    uint32_t due_events;       /* of its active set, whose samples a plan stores that it leaves by */
    uint32_t round;            /* of drawing sets */
    uint32_t controllers;      /* beside the first */
    uint64_t random;           /* state of the generator */
    struct upmu_queue *queue;  /* of messages, or NULL */
    const struct upmu_format *format; /* or NULL: the default */
    void *format_state;
    struct upmu_user_page *page;      /* published, or NULL */
    struct upmu_session *next_page;
    const struct upmu_callers *callers; /* or NULL: records have none */
    struct upmu_session **link_of_thread; /* what points to it in its thread's list of all sessions */
    struct upmu_session *next_started, *before_started; /* in that of started sessions; NULL: it is not there */
    struct upmu_session *next_list; /* of the first of such a list: the first of that for the next limit */
    struct upmu_cpu *limit;    /* the CPU where it counts, or NULL: each */
    /* public again */
    struct upmu_ring ring;
    struct upmu_why why;       /* of the last call that refused */
    struct upmu_set set;       /* the last member: its room may be shorter */
};

/* A thread, which the host embeds in its own structure.  At most 64 bytes. */
struct upmu_thread {
    uint32_t pid, tid; /* the host's numbers, for messages; may be changed at any time */
    void *host;        /* for the host */
    /* private */
    struct upmu_session *sessions; /* attached; NULL: it is not monitored */
    struct upmu_session *started;  /* of these, all that are started, and some stopped ones: a list for each limit */
    struct upmu_cpu *cpu;          /* it runs there, and its next switch is to be seen; that CPU alone changes this */
    volatile uint32_t held;        /* a call walks or changes its list */
    uint8_t unjoined;              /* it runs, but a session may not be in the list of its CPU */
    uintptr_t reads;               /* not 0: its program has had a page (upmu_session_publish()) */
};

/* Values of a region's counters when it was begun. */
struct upmu_region_begun {
    /* private */
    uint64_t count[UPMU_SET_EVENTS];
    uint64_t ns;
};

#endif
