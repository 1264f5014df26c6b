/* SPDX-License-Identifier: MIT */
/*
 * Sessions: events that run together, their counts and samples; and regions, the
 * short form around a piece of code.
 */
#ifndef UPMU_SESSION_H
#define UPMU_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/event.h>
#include <upmu/place.h>
#include <upmu/pmu.h>
#include <upmu/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct upmu_callers;
struct upmu_format;
struct upmu_queue;
struct upmu_user_page;

/* How a count was obtained. */
enum upmu_quality {
    UPMU_QUALITY_EXACT = 0,     /* the event was counted all the time it was enabled */
    UPMU_QUALITY_SCALED = 1,    /* estimated from part of the time; see `error` */
    UPMU_QUALITY_PARTIAL = 2,   /* raw: some of the time is missing, how much is unknown */
    UPMU_QUALITY_NEVER_RAN = 3, /* no value: never started, never had its counter, or its initiator never overflowed */
    UPMU_QUALITY_UNPROVEN = 4   /* 0, on a CPU where no counter was ever seen to move */
};

/*
 * A result.  `error` of an estimate is three standard errors of the rates in the runs that were seen (docs/ENGINE.md).
 * It is too small where these runs say nothing about the others: few runs, events in rare bursts, or a load that
 * changes in time with the runs of sharing sessions, which come in a fixed order.
 */
struct upmu_count {
    uint64_t value;      /* events, scaled where quality says so; saturates */
    uint64_t raw;        /* events really counted */
    uint64_t error;      /* the part of `value` that is uncertain; 0 of an exact count */
    uint64_t enabled_ns; /* time between start and stop; 0 without clock_ns */
    uint64_t running_ns; /* of it, the time with a counter */
    uint64_t left;       /* of a sampling event: events until the next sample ... */
    uint64_t reset;      /* ... and the present period, with its random part */
    enum upmu_quality quality; /* how it was obtained */
    uint32_t lost;       /* of a sampling event: periods that ended without a sample: throttled, or too short */
};

/*
 * Sampling attributes of one event.  All zero: count only.  An event with UPMU_ATTR_CASCADE is
 * never sampled: `period`, at least 1, is how often its initiator must happen after each start
 * before the event is counted.
 */
struct upmu_sampling {
    uint64_t period;   /* events between two samples, 1 to 2^63 - 1; 0: count only */
    uint64_t event_id; /* stored unchanged in the samples of this event (upmu/format.h) */
    uint32_t values;   /* bit i: samples contain the count of event i */
    uint32_t switch_after; /* overflows until the next set (UPMU_SET_OVERFLOW_SWITCH); 0: none */
    uint64_t long_period;  /* the period after a restart, if this event stopped the session; 0: `period` */
    uint64_t random_mask;  /* each further period is longer by (a random number & this): core/util/random.h */
    uint64_t random_seed;  /* where its random numbers begin */
    uint32_t resets;       /* bit i: an overflow sets event i to 0, or to the begin of a period */
    uint32_t frequency;    /* samples per second; the period adapts, `period` (0: 10000) is the first */
    uint32_t flags;    /* UPMU_SAMPLING_… */
};

/* Bits of upmu_sampling.flags. */
#define UPMU_SAMPLING_NOTIFY (1u << 0) /* an overflow makes a message (upmu/message.h) */
#define UPMU_SAMPLING_WRAP (1u << 1)   /* for an event without period: no interrupt, the count wraps like its counter */
#define UPMU_SAMPLING_FLAGS (UPMU_SAMPLING_NOTIFY | UPMU_SAMPLING_WRAP) /* all that are known */

/* 64-bit state of one event.  Private. */
struct upmu_tally {
    uint32_t tag;               /* identifies the last user of a counter: unique on its CPU */
    uint32_t counters;          /* of its placement; 0: not placed */
    uint8_t index;              /* in its set */
    uint8_t counter;            /* that counts; UPMU_NO_COUNTER: not placed */
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
    uint64_t total;             /* events up to `base` */
    uint64_t base;              /* counter value that `total` belongs to */
    uint64_t due;               /* sampling: total at which the next sample is due */
    uint64_t period;            /* sampling: events between samples; 0: counts only */
    uint64_t reset;             /* sampling: the present period, with its random part ... */
    uint64_t ended;             /* ... and the one before it */
    uint64_t random;            /* state of the generator */
    uint64_t adapted_ns;        /* enabled time at the last sample, for a frequency */
    uint64_t gap_ns;            /* enabled without a counter */
    uint32_t overflows;         /* periods completed */
    uint32_t lost;              /* periods completed without a sample: throttled, or too short */
    uint32_t to_switch;         /* overflows until the next set; 0: none */
    uint32_t turned;            /* when its counter was taken or last known to pass zero, in 2^20 ns */
};

/* The sampling attributes of an event, but for those that its tally has.  Private. */
struct upmu_kept {
    uint64_t period;
    uint64_t event_id;
    uint64_t long_period;
    uint64_t random_mask;
    uint32_t values;
    uint32_t switch_after;
    uint32_t resets;
    uint32_t frequency;
};

/* Sums over the runs of a set, from which one event's count between runs is estimated.  Private. */
struct upmu_estimate {
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
#define UPMU_STEPS_WANTED                                                                                              \
    (UPMU_BACKEND_X86_P4 ? 6 * UPMU_SET_EVENTS + 4 : (2 + UPMU_BACKEND_RISCV_HPM) * UPMU_SET_EVENTS + 8)
#define UPMU_STEPS (UPMU_STEPS_WANTED < 44 ? UPMU_STEPS_WANTED : 44)

/* A placement of a set, compiled when it is first loaded; constant until the next placement.  Private. */
struct upmu_program {
    uint64_t placement; /* scattered id; 0: not compiled.  Their sum over what runs is cpu->meter.corunners */
    uint64_t refused;   /* beside what runs no place was found: that sum */
    uint64_t seen;      /* upmu_bank.version that has all of it */
    uint32_t counting;  /* counters of events that only count */
    uint32_t sampling;  /* counters of events that are loaded to overflow */
    uint32_t user;      /* counters of events of user mode alone, where that matters */
    uint8_t kind;       /* of CPU that it is for */
    uint8_t steps;
    uint8_t flags;      /* UPMU_PROGRAM_… */
    struct upmu_step step[UPMU_STEPS]; /* in load order, those of one register together */
};

/*
 * Requests that run together or not at all; one link of a session's chain
 * (<upmu/set.h>).
 */
struct upmu_set {
    uint8_t count;        /* events in it */
    uint8_t flags;        /* UPMU_SET_… */
    uint16_t number;      /* place in the chain, which is in rising order */
    uint32_t counters;    /* of its last placement; 0: none (private) */
    struct upmu_tally tally[UPMU_SET_EVENTS]; /* near the beginning: short code */
    uint64_t timeout_ns;  /* UPMU_SET_TIME_SWITCH: how long it runs, as effective */
    uint64_t runs;        /* number of switches to it */
    /* private */
    struct upmu_set *next;
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
    uint8_t proven;       /* a session's first: its CPU's seen_counting when it left it */
    struct upmu_event event[UPMU_SET_EVENTS];
    struct upmu_kept sampling[UPMU_SET_EVENTS];
    struct upmu_estimate estimate[UPMU_SET_EVENTS];
    struct upmu_program program;
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

/* Bits of upmu_sample.flags. */
#define UPMU_SAMPLE_USER (1u << 0)     /* the interrupted code was user code */
#define UPMU_SAMPLE_LOST (1u << 1)     /* `lost` samples before this one found no room */
#define UPMU_SAMPLE_NO_FRAME (1u << 2) /* overflow found without its interrupt: ip is 0 */
#define UPMU_SAMPLE_HIDDEN (1u << 3)   /* ip and sp were the kernel's and are 0: upmu_session_hide_kernel() */

/* A sample: a copy, which does not depend on the ring. */
struct upmu_sample {
    uint64_t ip;      /* interrupted instruction */
    uint64_t sp;      /* its stack pointer */
    uint64_t time_ns; /* clock_ns, or 0 */
    uint32_t events;  /* bit i: event i of the session overflowed */
    uint32_t lost;    /* samples before this one that found no room */
    uint16_t cpu;     /* order of initialisation */
    uint16_t flags;   /* UPMU_SAMPLE_… */
};

/* The state of a session, and the calls that it permits. */
enum upmu_session_state {
    UPMU_SESSION_DETACHED = 0, /* add, ring, attach; counts stay readable */
    UPMU_SESSION_STOPPED = 1,  /* attached */
    UPMU_SESSION_RUNNING = 2,
    UPMU_SESSION_MASKED = 3,   /* stopped by a full ring, a message or its format until restart */
    UPMU_SESSION_SUSPENDED = 4, /* its CPU is suspended; continues at resume */
    UPMU_SESSION_CLOSED = 5,   /* after upmu_session_close(): calls are refused or do nothing */
    UPMU_SESSION_WAITING = 6   /* started, but its thread does not run, or its counters are in use */
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
 * Events, their target and their counts.  The memory must stay until the session is closed.
 */
struct upmu_session {
    enum upmu_status error;    /* why the library stopped it, or UPMU_OK */
    uint32_t id;               /* unique among the machine's sessions; 0: closed */
    volatile uint8_t state;    /* enum upmu_session_state */
    /* private, what is used most first */
    volatile uint8_t ties;     /* UPMU_TIED, UPMU_DROPPED */
    volatile uint8_t full;     /* to be masked by the next plan: the ring was full, a message was sent */
    volatile uint8_t switch_due; /* after an overflow the next set is due */
    uint8_t unused;
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
    struct upmu_overflow overflow;    /* being reported: by a bracket, or by a handler that interrupted none */
    /* public again */
    struct upmu_ring ring;
    struct upmu_why why;       /* of the last call that refused */
    struct upmu_set set;
};

/*
 * Make an empty session.  Touches no register; the former contents of the memory do not matter.
 * `session` and `machine` must stay until the session is closed.  Sessions of one machine that two
 * CPUs make at the same moment have different ids.
 *
 * Returns UPMU_OK.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_init(struct upmu_session *session, struct upmu_machine *machine);

/*
 * Add the events of a specification list ("instructions,cycles:u"); `sampling` (may be NULL: count
 * only) applies to each of them and is copied.  All events are added or none.  On hybrids the
 * events belong to the PMU of the first CPU, or to the PMU that a prefix names ("adl_grt::cycles");
 * those of a region belong to the PMU of its CPU.
 *
 * Returns UPMU_OK; any code of upmu_spec_next() and upmu_event_encode() (an empty list is
 * UPMU_ERR_SYNTAX); UPMU_ERR_NO_PMU (no CPU is initialised); UPMU_ERR_NO_SPACE (more than
 * UPMU_SET_EVENTS); UPMU_ERR_STATE (not detached); UPMU_ERR_INVALID (a period, with its random
 * part, above 2^63 - 1 or below the PMU's shortest, with in_txcp below 2^31 - 1; a cascade without
 * period or above the PMU's longest; an unknown flag); UPMU_ERR_HOOK_MISSING (sampling without
 * pmi_rearm, a frequency without clock_ns); UPMU_ERR_NOT_PRECISE (a precise event with a period: upmu
 * does not drive PEBS yet; without a period it counts); UPMU_ERR_UNSUPPORTED (a sampled metric, a
 * cascade in one world); UPMU_ERR_CONTRADICTION also if the event names another world than the session
 * or its other events do (upmu/world.h); UPMU_ERR_COMPILED_OUT.
 * session->why has the details.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_add(struct upmu_session *session, const char *list,
                                  const struct upmu_sampling *sampling);

/*
 * As upmu_session_add(), for an event encoded for a PMU of the machine (cpu->meter.pmu); the event is copied.  Returns
 * and context: as upmu_session_add().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_add_event(struct upmu_session *session, const struct upmu_event *event,
                                        const struct upmu_sampling *sampling);

/*
 * Give the session memory for samples: at least 256 bytes, below 2 GiB, aligned as uint64_t, and
 * more than twice the largest record, because a larger record may never find room.  A record has 48
 * bytes; with values, an id or callers it has 80 and 8 for each value and caller.  The memory must stay until the
 * session has another ring or is closed.  With upmu_session_mask_on_full() a full ring stops the
 * session (UPMU_SESSION_MASKED) until upmu_session_restart(), instead of losing samples.
 *
 * Returns UPMU_OK, UPMU_ERR_INVALID or UPMU_ERR_STATE (not detached).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_ring(struct upmu_session *session, void *buffer, size_t bytes);

/* See upmu_session_ring(); off after upmu_session_init().  Valid from the next overflow on.  Context: any. */
void upmu_session_mask_on_full(struct upmu_session *session, bool mask_on_full);

/*
 * `hide` true: addresses of the kernel (the frame is not of user mode) are 0 in this session's
 * samples and messages, and for its format.  It is for sessions of programs that must not learn the
 * kernel's addresses.  A counter of user mode alone needs it, too: its interrupt may come a few
 * instructions late.  Off after upmu_session_init(); valid from the next overflow on.
 * Context: any.
 */
void upmu_session_hide_kernel(struct upmu_session *session, bool hide);

/*
 * Bind the session to a CPU; it is stopped afterwards.  If it fits beside the running sessions, its
 * configuration is loaded, so that a start is one write.  Once detached, the session can be bound
 * to another CPU or to a thread (upmu/thread.h), and its counts continue.
 *
 * Returns UPMU_OK; UPMU_ERR_DOES_NOT_FIT (not even alone); UPMU_ERR_TOO_HARD; UPMU_ERR_NO_SPACE
 * (placement needs more than its work area); UPMU_ERR_STATE (attached, or no events);
 * UPMU_ERR_WRONG_PMU (events of another PMU); UPMU_ERR_NO_PMU (the CPU is not initialised or
 * suspended); UPMU_ERR_WRONG_CPU; UPMU_ERR_BUSY; UPMU_ERR_PORT (detached again).  session->why has
 * the details.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_attach_cpu(struct upmu_session *session, struct upmu_cpu *cpu);

/*
 * `share` true: the session is multiplexed with other sharing sessions.  Where its counters are in
 * use it waits and is not refused (UPMU_SESSION_WAITING: enabled time runs, running time does not,
 * counts are UPMU_QUALITY_SCALED).  upmu_cpu_tick() rotates sharing sessions.  Sessions that do not
 * share (false, as after init) have priority: first those of the CPU, then those of the thread.
 *
 * Returns UPMU_OK or UPMU_ERR_STATE (not detached).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_share(struct upmu_session *session, bool share);

/*
 * `is_static` true: at a switch to a thread that does not need its counters, the counters are left
 * running and only their values are read.  Such a switch is one read for each counter and no write,
 * in both directions.  It applies to events that are counted, not sampled.  Events of the meantime
 * are in no count.  An event whose registers other CPUs may change when its session has left is
 * stopped at each switch, in a domain (hyper-threads of NetBurst, OFFCORE_RSP of a core).
 *
 * Returns UPMU_OK or UPMU_ERR_STATE (not detached).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_static(struct upmu_session *session, bool is_static);

/*
 * Add one controller of the session (a descriptor that was duplicated).  After init there is one.
 *
 * Context: any; the host serialises these calls for one session.
 */
void upmu_session_hold(struct upmu_session *session);

/*
 * Remove one controller.  With the last one the session is closed.  If it runs on a CPU that cannot
 * be reached, it becomes a zombie: it produces no more samples or messages, and the next switch of
 * its thread or tick of its CPU closes it.  Its memory may be freed when its state is
 * UPMU_SESSION_CLOSED.
 *
 * Returns UPMU_OK, or UPMU_ERR_PORT as upmu_session_close().
 * Context: local; any while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_drop(struct upmu_session *session);

/*
 * Start counting, together with all sessions that run on the CPU, or not at all.  A running session
 * is left as it is.  A sharing session and a session of a thread wait if they do not fit or the
 * thread does not run.
 *
 * Returns UPMU_OK; UPMU_ERR_DOES_NOT_FIT (session->why has the conflict); UPMU_ERR_TOO_HARD;
 * UPMU_ERR_NO_SPACE (more than UPMU_REQUESTS events on the CPU, or placement needs more than its
 * work area); UPMU_ERR_STATE (not attached, or its CPU is suspended); UPMU_ERR_WRONG_PMU;
 * UPMU_ERR_WRONG_CPU; UPMU_ERR_UNSUPPORTED (slots sampled beside their top-down metrics);
 * UPMU_ERR_BUSY; UPMU_ERR_LOST_CLAIM; UPMU_ERR_PORT (the session is stopped with session->error
 * set, other sessions continue).
 * Context: local; any while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_start(struct upmu_session *session);

/*
 * Stop counting; counts and configuration stay.  A stopped session is left as it is.
 *
 * Returns UPMU_OK, UPMU_ERR_STATE (not attached), UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY, UPMU_ERR_PORT
 * (stopped all the same).
 * Context: local; any while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_stop(struct upmu_session *session);

/*
 * Start some sessions and stop others in one change: what a thread switch does, without the switch.
 * Sessions that have a place since an earlier start cost one write that closes and one that opens,
 * however many they are (up to 8 each way), and what differs between; the others are stopped, then
 * started, one by one.  All are attached to this CPU, or to the thread that runs on it.  A session
 * that cannot be started or stopped does not keep the others from it; its `why` has the reason.
 *
 * Returns UPMU_OK; the first refusal, as upmu_session_start() and upmu_session_stop();
 * UPMU_ERR_WRONG_CPU also if a session is not attached here; UPMU_ERR_NO_PMU (the CPU is not
 * initialised); UPMU_ERR_BUSY (nothing was done).
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_change_these(struct upmu_cpu *cpu, struct upmu_session *const *start, unsigned starts,
                                   struct upmu_session *const *stop, unsigned stops);

/*
 * Continue a masked session; its format may keep it masked.  Does nothing in other states.
 *
 * Returns as upmu_session_start().
 * Context: local; any while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_restart(struct upmu_session *session);

/*
 * Unbind the session from its CPU or thread; a running session is stopped first.  Counts stay
 * readable, and it can be attached elsewhere and continue.  A detached session is left as it is.
 *
 * Returns UPMU_OK, UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY (both: still attached), UPMU_ERR_PORT
 * (detached all the same).
 * Context: local; any while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_detach(struct upmu_session *session);

/*
 * End the session: stop it, detach it, forget its events.  Its id is 0 then, and its memory may be
 * freed; the samples in the ring stay readable.  A closed session is left as it is.
 *
 * Returns as upmu_session_detach(); with UPMU_ERR_WRONG_CPU and UPMU_ERR_BUSY it is not closed.
 * Context: local; any while detached or while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_close(struct upmu_session *session);

/*
 * Read `count` events from event `first` on.  Running: one counter read each and no write (if the
 * session has top-down metrics: 4 writes and 2 reads for these); stopped or detached: no access.  A
 * session that runs or waits on another CPU is read there, through run_on_cpu.
 *
 * Returns UPMU_OK, UPMU_ERR_INVALID (no such event), UPMU_ERR_WRONG_CPU, UPMU_ERR_PORT;
 * UPMU_ERR_BUSY (metrics inside a local call, or the counts changed during each of several
 * attempts).
 * Context: local; any while detached or stopped, or while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_read(struct upmu_session *session, unsigned first, unsigned count,
                                   struct upmu_count *out_counts);

/*
 * Set an event's 64-bit count to `value`, at most 2^63 - 1; a sampling event also begins a full
 * period.  The times of the count begin at 0, so an estimate covers the time since.  (Without
 * UPMU_THREADS they continue: there are no estimates.)  An estimate scales the whole value: write 0
 * where sets or sessions are multiplexed.  No select register is written.  A running session continues
 * on its counters, whatever other CPUs started meanwhile; a sample that is due at this moment may mask
 * it.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (no such event, or the value), UPMU_ERR_STATE (closed),
 * UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY (nothing was changed); UPMU_ERR_PORT (a register faulted: the
 * session is stopped with its `error` set; the count is the former one if the stop faulted,
 * otherwise the new one).
 * Context: local; any while detached or while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_write(struct upmu_session *session, unsigned index, uint64_t value);

/*
 * Replace an event and keep its index; its count begins at 0, with its times.
 *
 * Returns as upmu_session_add(), but UPMU_ERR_STATE means that the session is started, and
 * UPMU_ERR_INVALID also that there is no such event; UPMU_ERR_WRONG_CPU; UPMU_ERR_BUSY.
 * Context: local; any while detached or while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_replace(struct upmu_session *session, unsigned index, const char *specification,
                                      const struct upmu_sampling *sampling);

/*
 * List the register writes of a start of this session, alone on an idle `pmu`, in their order and
 * without hardware.  The events must be encoded for this kind of PMU; this is not checked.  If the
 * session is detached, set.tally[i].counter is the counter of event i afterwards.
 *
 * Returns UPMU_OK, UPMU_ERR_DOES_NOT_FIT, UPMU_ERR_TOO_HARD or UPMU_ERR_STATE (no events);
 * UPMU_ERR_BUSY, only where the executing CPU has a work area (upmu_cpu_use_work()).  Writes beyond
 * `dry_run->capacity` are counted, not stored.
 * Context: any; local if the executing CPU has a work area.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_dry_run(struct upmu_session *session, const struct upmu_pmu *pmu,
                                      struct upmu_dry_run *dry_run);

/*
 * Take the oldest sample out of the ring.
 *
 * Returns false if there is none.  One reader at a time.
 * Context: any.
 */
bool upmu_ring_next(struct upmu_ring *ring, struct upmu_sample *out_sample);

/* Number of samples that found no room so far.  Context: any. */
uint32_t upmu_ring_lost(const struct upmu_ring *ring);

/* The answer of upmu_handle_pmi() about an interrupt. */
enum upmu_pmi {
    UPMU_PMI_NOT_OURS = 0, /* check your other sources */
    UPMU_PMI_HANDLED = 1,
    UPMU_PMI_STALE = 2     /* maybe ours: check your other sources, and drop it if none raised it */
};

/*
 * STALE: no own counter had overflowed, but an own interrupt was expected.  Hardware delivers late, or after another
 * source's NMI in which the overflow was found; which overflow an interrupt belongs to cannot be seen.  With clock_ns
 * this is the answer for 100 ms after the last overflow that a handler or a call found, or that was thrown away (a
 * change, a counter that you gave back, take-over).  It is so after upmu_cpu_fini() and upmu_cpu_suspend(), too: the
 * upmu_port must stay.  While a session samples often, every NMI of another source is STALE.  Without clock_ns there
 * is one such answer for each overflow, at most one for each counter: NMIs of other sources can use these up, and
 * then an own NMI is NOT_OURS.
 */

/*
 * Handle a performance-monitoring interrupt, which came as an NMI or on a vector (then the host
 * acknowledges the APIC).  `frame` may be NULL.  It may be called at any moment, also before
 * upmu_cpu_init() (cpu NULL or zeroed) and after upmu_cpu_fini().
 *
 * Context: nmi.
 */
enum upmu_pmi upmu_handle_pmi(struct upmu_cpu *cpu, const struct upmu_frame *frame);

/* ---- Regions: three lines around the code to measure ---- */

/* Counts a piece of code.  `count[i]` belongs to event i of the list. */
struct upmu_region {
    struct upmu_count count[UPMU_SET_EVENTS]; /* of the last begin…end */
    unsigned events;                          /* in `count` */
    struct upmu_session session;              /* session.why explains a refusal */
    /* private */
    uint64_t begun[UPMU_SET_EVENTS];
    uint64_t begun_ns;
};

/*
 * Set up a region on the executing CPU.  Its events run until upmu_region_close(), so begin and end
 * only read counters.
 *
 * Returns any code of upmu_session_add(), _attach_cpu() and _start().  On error the region is
 * closed; region->session.why has the details.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_region_open(struct upmu_region *region, struct upmu_cpu *cpu, const char *list);

/*
 * Begin a measurement; begin and end may be repeated.  One counter read per event, no write.  The
 * cost of the reads themselves is included in the counts.  On another CPU than the region's the
 * call reads the region's CPU, through run_on_cpu; it does not measure the executing CPU.  After
 * upmu_cpu_changed() all counts are UPMU_QUALITY_PARTIAL until the region is opened again.
 *
 * Returns UPMU_OK, UPMU_ERR_STATE, UPMU_ERR_WRONG_CPU or UPMU_ERR_PORT.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_region_begin(struct upmu_region *region);

/* End a measurement: region->count[] has the counts since the last begin.  Returns and context: as begin. */
UPMU_MUST_CHECK
enum upmu_status upmu_region_end(struct upmu_region *region);

/* Stop and detach.  Returns as upmu_session_detach().  Context: local. */
UPMU_MUST_CHECK
enum upmu_status upmu_region_close(struct upmu_region *region);

#ifdef __cplusplus
}
#endif

#endif
