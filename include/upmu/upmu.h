/* SPDX-License-Identifier: MIT */
/*
 * upmu: performance counters for systems without Linux.  A kernel samples one of its threads:
 *
 *     static struct upmu_machine machine; // one for the system
 *     static struct upmu_cpu cpu;         // one for each CPU, in zeroed memory
 *     static struct upmu_session session;
 *     static uint64_t buffer[512];
 *
 *     enum upmu_status profile(const struct upmu_port *port, struct upmu_thread *thread)
 *     {
 *         const struct upmu_sampling each = {.period = 100000};
 *         enum upmu_status status;
 *         if ((status = upmu_machine_init(&machine, port)) != UPMU_OK || // the host's functions: upmu/port.h
 *             (status = upmu_cpu_init(&cpu, &machine, NULL)) != UPMU_OK ||
 *             (status = upmu_session_init(&session, &machine)) != UPMU_OK ||
 *             (status = upmu_set_add(&session.set, "instructions", &each)) != UPMU_OK ||
 *             (status = upmu_session_ring(&session, buffer, sizeof buffer)) != UPMU_OK ||
 *             (status = upmu_session_attach_thread(&session, thread, &cpu)) != UPMU_OK)
 *             return status; // upmu_why_text(&session.why, ...) says why
 *         return upmu_session_start(&session);
 *     } // the host calls upmu_thread_switch(), upmu_pmi_handle(), upmu_cpu_tick(); a reader upmu_ring_next()
 *
 * What holds everywhere:
 * - The caller owns all memory.  If a call keeps a pointer, its comment says for how long.
 * - Calls that can refuse return enum upmu_status.  A refused call has changed nothing, unless its comment says so.
 * - Pointers are not NULL unless the comment allows it.  0 is the default of every field.
 * - Counts are 64-bit and never negative; periods count events, times end in _ns.
 * - A comment ends with the context in which a call may be made (upmu/port.h).  A `local` call may also return
 *   UPMU_ERR_BUSY (inside another local call) and UPMU_ERR_WRONG_CPU (its CPU cannot be reached): nothing was done.
 */
#ifndef UPMU_UPMU_H
#define UPMU_UPMU_H

#include <upmu/config.h>
#include <upmu/port.h>
#include <upmu/status.h>
#include <upmu/private/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Machine and CPUs.  Fields to read: machine.pmu[], .pmu_count, .why; cpu.meter.pmu.  More in upmu/cpu.h ---- */

/*
 * Start using a machine; no register is read.  `machine` and `port` must stay as long as a CPU or a session uses them.
 *
 * Returns UPMU_OK, UPMU_ERR_HOOK_MISSING (rdmsr, wrmsr, cpuid except on Arm, or one of irq_save and irq_restore),
 * UPMU_ERR_VERSION (the library was built from other headers or options), UPMU_ERR_NOT_LINKED (its tables of functions
 * are all zero, or not relocated: a position-independent kernel without .data.rel.ro).  The function of this name, for
 * other languages than C, compares no versions.
 * Context: any.
 */
UPMU_MUST_CHECK enum upmu_status upmu_machine_init(struct upmu_machine *machine, const struct upmu_port *port);
#define upmu_machine_init(machine, port) \
    upmu_machine_init_checked((machine), (port), UPMU_VERSION, sizeof(struct upmu_machine), sizeof(struct upmu_cpu))

/*
 * Take over the PMU of the executing CPU: detect it, store the values of its registers, leave counters in use alone,
 * verify that a counter can be written.  One CPU at a time; `cpu` must stay until upmu_cpu_fini().  `domains`: what it
 * shares with other CPUs (upmu/cpu.h), an array that ends with NULL; or NULL.
 *
 * Returns UPMU_OK; UPMU_ERR_NO_PMU (none, or it ignores writes: only upmu_cpu_probe() can be used); UPMU_ERR_PORT (a
 * register faulted, or hypercall or shared_page failed); UPMU_ERR_HOOK_MISSING (second CPU without this_cpu);
 * UPMU_ERR_NO_SPACE (too many core types, or 16 CPUs of a domain); UPMU_ERR_STATE (it drives a unit); see machine->why.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_init(struct upmu_cpu *cpu, struct upmu_machine *machine, struct upmu_domain *const *domains);

/* To be called by the clock tick, 10 to 1000 times a second: rotate sharing sessions and sets, start sessions that a
   thread switch left waiting, and every 16th time fold counters.  A session that a fault has stopped has its `error`
   set.  Returns UPMU_OK (also if the CPU is not initialised) or UPMU_ERR_PORT.  Context: local. */
UPMU_MUST_CHECK enum upmu_status upmu_cpu_tick(struct upmu_cpu *cpu);

/* The answers of upmu_pmi_handle(): whose the interrupt was. */
enum upmu_pmi {
    UPMU_PMI_NOT_OURS = 0, /* another source has raised the interrupt: check your other sources */
    UPMU_PMI_HANDLED = 1,  /* counters of upmu had overflowed, or an IBS unit had a sample */
    UPMU_PMI_STALE = 2     /* nothing found, but it may be a late one of upmu's: check others; drop it if none has it */
};

/* Handle a performance-monitoring interrupt: an NMI, or on a vector (then the host acknowledges the APIC).  `frame` may
   be NULL.  Allowed always, also before upmu_cpu_init() (cpu NULL or zeroed), after upmu_cpu_fini().  Context: nmi. */
enum upmu_pmi upmu_pmi_handle(struct upmu_cpu *cpu, const struct upmu_frame *frame);

/* ---- Sessions: events that run together.  Fields to read: error (why the library stopped the session), id, state, why
        (of the last refusal), ring, and set, its first set of events.  Calls on a session of a thread are `local` on
        the CPU where the thread runs, and `any` while it does not run.  More in upmu/session.h, upmu/set.h ---- */

/* Sampling attributes of one event.  All zero: count only.  Of a cascade `period` is how often its initiator must
   happen after each start before the event is counted. */
struct upmu_sampling {
    uint64_t period;       /* events between two samples, 1 to 2^63 - 1; 0: count only */
    uint64_t event_id;     /* a number of the caller, stored in the samples of this event (upmu/format.h) */
    uint32_t values;       /* mask, bit i: each sample also has the count of event i of the set */
    uint32_t switch_after; /* overflows until the next set becomes active (UPMU_SET_OVERFLOW_SWITCH); 0: no switch */
    uint64_t long_period;  /* the period after a restart, if this event masked the session; 0: `period` */
    uint64_t random_mask;  /* each period but the first is longer by (a random number & random_mask) */
    uint64_t random_seed;  /* seed of these random numbers */
    uint32_t resets;       /* bit i: an overflow sets the count of event i to 0, and its first period begins anew */
    uint32_t frequency;    /* samples per second: the period adapts, and `period` is the first (0: 10000); 0: none */
    uint32_t flags;        /* bits UPMU_SAMPLING_… (upmu/session.h) */
};

/* Make an empty session; former contents do not matter.  It and `machine` must stay until upmu_session_close().
   Returns UPMU_OK.  Context: any. */
UPMU_MUST_CHECK enum upmu_status upmu_session_init(struct upmu_session *session, struct upmu_machine *machine);

/*
 * Add the events of a list ("instructions,cycles:u"; docs/EVENTS.md) to a set of a detached session, all or none: to
 * the first one, session.set, or one of upmu_session_add_set() (upmu/set.h); for any other UPMU_ERR_STATE.  `sampling`
 * (NULL: count only) is for each of them, and copied.  On hybrids they belong to the PMU of the first CPU, or to that
 * which a prefix names ("adl_grt::cycles").
 *
 * Returns UPMU_OK; those of upmu_spec_next() and upmu_event_encode(); UPMU_ERR_NO_PMU (no CPU was ever initialised);
 * UPMU_ERR_NO_SPACE (the set is full); UPMU_ERR_STATE (not detached); UPMU_ERR_INVALID (an unknown flag; a
 * period above 2^63 - 1, random part included, or below the PMU's shortest, 2^31 - 1 with in_txcp, 128 of some
 * precise events; of a cascade 0, or above the PMU's longest); UPMU_ERR_HOOK_MISSING (sampling without pmi_rearm, a
 * frequency without clock_ns, a precise sample without upmu_cpu_use_records()); UPMU_ERR_NOT_PRECISE (sampled, and the
 * PMU has no records that upmu drives); UPMU_ERR_UNSUPPORTED (a sampled metric, a sampled event of a PMU without
 * interrupts, a cascade in one world, a precise sample of guests); UPMU_ERR_CONTRADICTION (two worlds);
 * UPMU_ERR_COMPILED_OUT.  Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_set_add(struct upmu_set *set, const char *list, const struct upmu_sampling *sampling);

/* Give a detached session memory for samples, until it has another ring or is closed: at least 256 bytes, below 2 GiB,
   aligned as uint64_t, more than two of the largest record (48 bytes; with ids 80; 80 + 8 for each value and caller).
   Returns UPMU_OK, UPMU_ERR_INVALID, UPMU_ERR_STATE (not detached).  Context: any. */
UPMU_MUST_CHECK enum upmu_status upmu_session_ring(struct upmu_session *session, void *buffer, size_t bytes);

/*
 * Bind a detached session to a CPU; the session is stopped afterwards.
 * Returns UPMU_OK; UPMU_ERR_DOES_NOT_FIT (not even alone); UPMU_ERR_TOO_HARD; UPMU_ERR_NO_SPACE (placement needs more
 * than its work area); UPMU_ERR_STATE (not detached, or no events); UPMU_ERR_WRONG_PMU; UPMU_ERR_NO_PMU (the CPU is not
 * initialised, or suspended); UPMU_ERR_PORT (detached again); UPMU_ERR_COMPILED_OUT.  Context: local.
 */
UPMU_MUST_CHECK enum upmu_status upmu_session_attach_cpu(struct upmu_session *session, struct upmu_cpu *cpu);

/* Bind a detached session to a thread.  `cpu`: where the thread runs; NULL: it does not run, nor begins to during the
   call.  Returns as for a CPU; UPMU_ERR_NOT_PER_THREAD.  Context: local; any with NULL and no upmu_cpu_use_work(). */
UPMU_MUST_CHECK
enum upmu_status upmu_session_attach_thread(struct upmu_session *session, struct upmu_thread *thread,
                                            struct upmu_cpu *cpu);

/* Start all events of a session beside the sessions that run on the CPU, or none.  A running session is left as it is;
   a sharing session, and that of a thread, waits if it does not fit or the thread does not run.  Returns those of an
   attach; UPMU_ERR_STATE (not attached; CPU suspended); UPMU_ERR_PORT (stopped, `error` is set); UPMU_ERR_UNSUPPORTED
   (slots sampled beside their top-down metrics); UPMU_ERR_LOST_CLAIM.  Context: local. */
UPMU_MUST_CHECK enum upmu_status upmu_session_start(struct upmu_session *session);
/* Stop; counts and placement stay.  Returns UPMU_OK, UPMU_ERR_STATE (not attached), UPMU_ERR_PORT.  Context: local. */
UPMU_MUST_CHECK enum upmu_status upmu_session_stop(struct upmu_session *session);
/* Stop, detach and end a session: its memory may be freed.  Returns UPMU_OK, UPMU_ERR_PORT.  Context: local. */
enum upmu_status upmu_session_close(struct upmu_session *session);

/* How a count was obtained: upmu_count.quality. */
enum upmu_quality {
    UPMU_QUALITY_EXACT = 0,     /* the event was counted during all of enabled_ns */
    UPMU_QUALITY_SCALED = 1,    /* an estimate, from part of the time or of a top-down metric; see `error` */
    UPMU_QUALITY_PARTIAL = 2,   /* the count is `raw`: an unknown part of the time is missing */
    UPMU_QUALITY_NEVER_RAN = 3, /* no value: never started, never had its counter, or its initiator never overflowed */
    UPMU_QUALITY_UNPROVEN = 4   /* the count is 0, on a CPU where no counter was ever seen to move */
};

/* The count of an event.  `error` of a count scaled in time is three standard errors (docs/ENGINE.md): too small where
   few runs were seen, events come in rare bursts, or the load changes in step with the runs. */
struct upmu_count {
    uint64_t value;      /* number of events; if `quality` is SCALED, scaled from running_ns to enabled_ns; saturates */
    uint64_t raw;        /* number of events that counters have counted, not scaled */
    uint64_t error;      /* uncertainty of `value`, in events; 0 of an exact count */
    uint64_t enabled_ns; /* time in which the session was enabled (started); 0 without clock_ns */
    uint64_t running_ns; /* part of enabled_ns in which the event had a counter */
    uint64_t left;       /* of a sampling event: events until the next sample */
    uint64_t reset;      /* of a sampling event: the present period, with its random part */
    enum upmu_quality quality; /* how the count was obtained */
    uint32_t lost;       /* of a sampling event: periods that gave no sample: too short, throttled, masked, faulted */
};

/* Read `count` events of a set from event `first` on.  Running: one counter read each (a cascade: 2), no write (with
   top-down metrics 4 writes and 2 reads more); else no access.  Returns UPMU_OK, UPMU_ERR_INVALID (no such event),
   UPMU_ERR_STATE (of no session), UPMU_ERR_PORT, UPMU_ERR_BUSY (also: the counts changed again and again).
   Context: local; any while detached or stopped. */
UPMU_MUST_CHECK
enum upmu_status upmu_set_read(struct upmu_set *set, unsigned first, unsigned count, struct upmu_count *out_counts);

/* A sample of a ring, as upmu_ring_next() copies it out: valid whatever happens to the ring. */
struct upmu_sample {
    uint64_t ip;      /* interrupted instruction */
    uint64_t sp;      /* stack pointer of the interrupted code */
    uint64_t time_ns; /* clock_ns, or 0 */
    uint32_t events;  /* bit i: event i of the active set overflowed */
    uint32_t lost;    /* number of samples since the last one in the ring that found no room */
    uint16_t cpu;     /* number of the CPU, in the order of upmu_cpu_init() */
    uint16_t flags;   /* UPMU_SAMPLE_… */
};
#define UPMU_SAMPLE_USER (1u << 0)     /* the interrupted code was in user mode */
#define UPMU_SAMPLE_LOST (1u << 1)     /* `lost` is not 0: samples before this one found no room */
#define UPMU_SAMPLE_NO_FRAME (1u << 2) /* a call found the overflow, or the host gave no frame: ip is 0, or precise */
#define UPMU_SAMPLE_HIDDEN (1u << 3)   /* ip and sp are 0 in place of the kernel's (upmu_session_hide_kernel()) */

/* Take the oldest sample out of a ring; false: the ring is empty.  Context: any; one reader at a time. */
bool upmu_ring_next(struct upmu_ring *ring, struct upmu_sample *out_sample);

/* ---- Threads: the host embeds a struct upmu_thread in its own; pid, tid, host may be changed at any time ---- */

/* Initialise a thread, before its first switch; its memory must stay until upmu_thread_exit().  Context: any. */
void upmu_thread_init(struct upmu_thread *thread, uint32_t pid, uint32_t tid, void *host);

/* The CPU switches from thread `prev` to `next`, which must differ; an idle thread is a thread, too.  Two threads
   without sessions cost four loads and one branch; else each register that differs is written once.  Returns UPMU_OK;
   UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY (mistakes of the host).  A session's error is in its `error`.  Context: local. */
UPMU_INLINE
enum upmu_status upmu_thread_switch(struct upmu_cpu *cpu, struct upmu_thread *prev, struct upmu_thread *next);

/* End a thread: its sessions are detached and stay readable, and the thread's memory may be freed.  Attach no session
   to it once this call has begun.  Returns UPMU_OK; UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY (sessions are still attached:
   call again); UPMU_ERR_PORT (all are detached).  Context: local, on the CPU where it runs; any if it does not run. */
UPMU_MUST_CHECK enum upmu_status upmu_thread_exit(struct upmu_thread *thread);

/* ---- Regions: count events in a piece of code, by a call before it and a call after it ---- */

/* A region: a session on one CPU, and the counts between two calls. */
struct upmu_region {
    struct upmu_count count[UPMU_SET_EVENTS]; /* count[i]: event i of the list, between the last begin and end */
    unsigned events;                          /* entries of `count` in use */
    struct upmu_session session;              /* the session that counts; session.why explains a refusal */
    struct upmu_region_begun begun;           /* the library's */
};

/* Run the events of a list on a CPU, the executing one, until upmu_region_close().  After upmu_cpu_changed() all
   counts are UPMU_QUALITY_PARTIAL.  Returns those of upmu_set_add(), upmu_session_attach_cpu() and
   upmu_session_start(); a region that is refused is closed.  Context: local. */
UPMU_MUST_CHECK enum upmu_status upmu_region_open(struct upmu_region *region, struct upmu_cpu *cpu, const char *list);
/* Begin a measurement: read the counter of each event once; the cost of these reads is counted, too.  Returns as
   upmu_set_read(); UPMU_ERR_STATE also if the session does not run.  Context: local. */
UPMU_MUST_CHECK enum upmu_status upmu_region_begin(struct upmu_region *region);
/* End a measurement: `count` gets the counts since the begin; then another may begin.  As upmu_region_begin(). */
UPMU_MUST_CHECK enum upmu_status upmu_region_end(struct upmu_region *region);
/* Stop the events of a region.  Returns as upmu_session_close().  Context: local. */
enum upmu_status upmu_region_close(struct upmu_region *region);

#ifdef __cplusplus
}
#endif

#include <upmu/private/inline.h>

#endif
