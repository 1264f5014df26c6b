/* SPDX-License-Identifier: MIT */
/*
 * The kernel's side of perf_event_open. A kernel that runs programs made for Linux embeds it to answer that call, and
 * read, ioctl, mmap, poll and close on the descriptors that the call made.  Hardware events of CPUs and software events
 * count and sample, alone and in groups, on threads and on CPUs.  docs/PERF.md has the wiring and what differs from
 * Linux.
 *
 * Results are 0 or more, or a negative number of enum upmu_perf_errno, which the host returns to the program unchanged.
 * `caller` is the host's number for the task that makes the system call; only the hooks use it. Calls on one struct
 * upmu_perf are made one at a time (the host's lock), except upmu_perf_switch() and upmu_perf_note(), which may come at
 * the same time from other CPUs.  A call on an event of a task that runs on another CPU, or on an event of another CPU,
 * needs the port's run_on_cpu (upmu/port.h).
 */
#ifndef UPMU_ABI_PERF_H
#define UPMU_ABI_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/abi.h>
#include <upmu/cpu.h>
#include <upmu/event.h>
#include <upmu/format.h>
#include <upmu/pmu.h>
#include <upmu/unit.h>
#include <upmu/upmu.h>
#include "abi/perf/perf_event.h"

#ifdef __cplusplus
extern "C" {
#endif

struct upmu_perf_event;
struct upmu_perf_ring;

/*
 * Occurrences for software events.  The host passes them to upmu_perf_note(), except SWITCH, which upmu_perf_switch()
 * does.
 */
enum upmu_perf_note {
    UPMU_PERF_NOTE_FAULT_MINOR = 0,
    UPMU_PERF_NOTE_FAULT_MAJOR = 1,
    UPMU_PERF_NOTE_SWITCH = 2,
    UPMU_PERF_NOTE_MIGRATION = 3,
    UPMU_PERF_NOTES = 4
};

/* Sums of what was noted for a task or a CPU.  All fields are private. */
struct upmu_perf_notes {
    uintptr_t count[2][UPMU_PERF_NOTES]; /* [0]: in the kernel, [1]: in user mode */
    uint64_t ran_ns;                     /* time that the task has run, up to `since_ns` if it runs now */
    uint64_t since_ns;                   /* clock_ns() when the task last began to run */
};

/* A thread of a program.  The host embeds the structure in its own, and upmu_perf_task_init() fills it in. */
struct upmu_perf_task {
    struct upmu_thread thread; /* the host may change pid and tid of it; pass it to no call of the library */
    /* private */
    struct upmu_perf *perf;         /* that of its switches; NULL: it has never run */
    struct upmu_perf_event *events; /* list by `next_of_task`: events that count this task */
    struct upmu_perf_notes notes;
    bool runs;        /* the task runs on a CPU now */
    bool throttled;   /* an event of the task may be throttled */
    unsigned cpu;     /* the CPU on which it runs, or ran last */
    uint32_t watches; /* number of its events that a switch has to look at: upmu_perf_is_switched() */
};

/* A CPU.  The host sets all fields to 0, and then sets `cpu`. */
struct upmu_perf_cpu {
    struct upmu_cpu *cpu; /* NULL: offline */
    /* private */
    struct upmu_perf_task *running; /* the task that the last upmu_perf_switch() switched to */
    struct upmu_perf_event *events; /* list by `next_of_task`: events that count this CPU, whatever runs */
    struct upmu_perf_notes notes;
    uint32_t walks; /* odd: a switch looks at `events` now */
    uint16_t ticks; /* calls of upmu_perf_tick() */
    uint64_t callers[UPMU_CALLERS_DEPTH]; /* of the sample that is being written */
};

/*
 * Bits of the last argument of upmu_perf.wake(): what happened to the event of a descriptor.
 *
 * READABLE: its pages have records for which the program wanted to be woken, so upmu_perf_poll() tells
 * UPMU_PERF_POLL_IN.  OVERFLOW: the event overflowed: a descriptor with O_ASYNC gets its signal (SIGIO, POLL_IN).
 * LIMIT, with OVERFLOW: this was the last overflow that REFRESH has allowed: POLL_HUP in place of POLL_IN.
 */
#define UPMU_PERF_WAKE_READABLE (1u << 0)
#define UPMU_PERF_WAKE_OVERFLOW (1u << 1)
#define UPMU_PERF_WAKE_LIMIT (1u << 2)

/*
 * How the TSC tells the time: clock_ns() is zero_ns + cycles * mult, shifted right by `shift`, on each CPU.
 * upmu_perf_tsc_set() fills the structure in.  `mult` 0: the TSC does not tell the time.
 */
struct upmu_perf_tsc {
    uint64_t zero_ns;
    uint32_t mult;
    uint16_t shift; /* less than 32 */
};

/* The host's part.  Set all fields to 0, then fill in those before the private ones. */
struct upmu_perf {
    struct upmu_machine *machine;
    struct upmu_perf_cpu *cpus; /* array; the index is the number of the CPU that programs give */
    unsigned cpu_count;
    int32_t paranoid;     /* Linux's perf_event_paranoid, -1 to 2 with Linux's meanings */
    uint32_t max_rate;    /* largest sampling frequency (samples a second); 0: 100000 */
    uint32_t max_stack;   /* most callers in a sample; 0: 127 */
    uint32_t most_events; /* most events that are open at the same time; 0: no limit */
    bool frames_of_notes; /* upmu_perf_note_frame() is called in the place of upmu_perf_note() */
    uint32_t tick_rate;   /* calls of upmu_perf_tick() a second on each CPU; 0: none (see there what is missing then) */
    /*
     * The clock of clock_ns(), if that is made from the TSC: pages that programs map tell it (cap_user_time), and perf
     * relates times of records to the TSC.  The TSC must count at one rate, on all CPUs the same.  Set it before
     * programs map pages: a page has the clock of its last write, and that of an event with samples is written once.
     */
    struct upmu_perf_tsc tsc;
    /*
     * The units outside the cores that programs may count: an array of open units, or NULL.  A type of PMU is the place
     * of its first unit in the array, so units may only be added, at the end.  A unit that is closed while an event
     * counts on it counts no further; events on it must be closed before its memory is freed.
     */
    struct upmu_unit *const *units;
    unsigned unit_count;
    void *context;        /* first argument of each hook */
    /*
     * copy_in() reads memory of the calling program, copy_out() writes it.  False: the program may not access this
     * memory.
     */
    bool (*copy_in)(void *context, void *to, const void *user, size_t bytes);
    bool (*copy_out)(void *context, void *user, const void *from, size_t bytes);
    /*
     * Return the task that `caller` names by a pid (0: itself); NULL: there is none.  *out_may: may the caller observe
     * that task, as ptrace would?  The task must stay until upmu_perf_exit().
     */
    struct upmu_perf_task *(*find_task)(void *context, uint32_t caller, int32_t pid, bool *out_may);
    /*
     * Return the CPU that runs a task now; NULL: none runs it.  The answer must hold until the call of this layer that
     * asked has ended: the host keeps its scheduler from starting and stopping the task, or the task is the caller's
     * own, on this CPU, and is not preempted.  A call may ask several times, and for several tasks (children).  NULL in
     * place of the hook: all calls are made with the scheduler kept from all tasks, or on a machine with one CPU whose
     * interrupts are off.
     */
    struct upmu_cpu *(*task_cpu)(void *context, struct upmu_perf_task *task);
    /* May `caller` do what an administrator may (Linux: CAP_PERFMON), whatever `paranoid` is?  NULL: no caller may. */
    bool (*may_all)(void *context, uint32_t caller);
    /*
     * May `caller` use an event that needs the rights `rights` (UPMU_RIGHT_ bits, or 0)?  Asked at each open of a
     * hardware event.  NULL: callers with may_all() may; others may count the kernel's mode if `paranoid` is 1 or less,
     * other threads and CPUs if 0 or less, privileged events if -1.
     */
    bool (*may_use)(void *context, uint32_t caller, const struct upmu_event *event, uint32_t rights);
    /*
     * Return the present time in ns, from the same clock as the port's clock_ns; NULL: clocks and times of software
     * events are 0.  Context: nmi.
     */
    uint64_t (*clock_ns)(void *context);
    /*
     * Return the time in ns of the clock that has this number in Linux (CLOCK_REALTIME 0, MONOTONIC 1, MONOTONIC_RAW 4,
     * BOOTTIME 7, TAI 11), for records.  NULL: events that choose another clock than MONOTONIC, which is that of
     * clock_ns, are refused if they sample.  Context: nmi.
     */
    uint64_t (*clock_of)(void *context, int32_t number);
    /*
     * Note for later what happened to an event: bits UPMU_PERF_WAKE_.  Programs that wait by poll are woken, and
     * signals are sent, after the interrupt.  NULL: none are.  Context: nmi.
     */
    void (*wake)(void *context, struct upmu_perf_event *event, unsigned what);
    /* How the callers of interrupted code are found (upmu_session_callers()); NULL: chains have the interrupted code
       alone. */
    const struct upmu_callers *callers;
    /*
     * Registers of a program that samples can have: bits with perf's numbers for this architecture.  All frames that
     * the host gives, to upmu_pmi_handle() and upmu_perf_tick(), have them with these numbers (upmu_frame.registers).
     */
    uint64_t registers;
    /*
     * Copy `bytes` bytes of the interrupted program's stack, from this address up, without waiting.  Return how many
     * could be read; 0: none.  NULL: samples have no stacks.  Context: nmi.
     */
    size_t (*read_stack)(void *context, uint64_t address, void *to, size_t bytes);
    /*
     * Return the event that a descriptor of the caller is for; NULL: the descriptor is of something else, or there is
     * none.
     */
    struct upmu_perf_event *(*event_of)(void *context, uint32_t caller, int file);
    /*
     * take() returns memory for this layer, aligned as uint64_t, or NULL: there is none.  Memory is taken for the
     * session of a group at each open of an event in a group with hardware events (UPMU_SESSION_BYTES() of those that
     * the group has then), for the events and sessions that a new task inherits, and for a ring; never when an event or
     * a task ends.  give() gets memory back, with the number of bytes that it was taken with.  Both hooks must be
     * there.  They are called within upmu_perf_open(), upmu_perf_fork() and upmu_perf_map(), and give() also within
     * upmu_perf_unmap(), upmu_perf_close(), upmu_perf_exec() and upmu_perf_exit(); not in a switch, tick or interrupt.
     */
    void *(*take)(void *context, size_t bytes);
    void (*give)(void *context, void *memory, size_t bytes);
    /* private */
    uint64_t next_id;
    uint32_t events;
};

/* upmu_perf_event.index of an event that is not in its group's session. */
#define UPMU_PERF_NO_INDEX 0xffu

#define UPMU_PERF_KEPT_BRANCHES_SHIFT 48
/* Return UPMU_BRANCH_…, the branches that samples of an event have, from upmu_perf_kept.flags; 0: none. */
#define UPMU_PERF_KEPT_BRANCHES(flags) ((uint32_t)((flags) >> UPMU_PERF_KEPT_BRANCHES_SHIFT))

/* Attributes that an event keeps: fields of struct upmu_perf_attr. */
struct upmu_perf_kept {
    uint16_t type; /* all bits set: one that does not fit, which no PMU has */
    int8_t clockid;
    uint8_t read_format;
    uint32_t wakeup;
    uint64_t config;
    uint64_t period; /* sample_period; 0: the event does not sample */
    uint64_t flags; /* bits UPMU_PERF_…, and above them those of UPMU_PERF_KEPT_BRANCHES() */
    uint32_t sample_type;
    uint32_t regs_user, regs_intr;
    uint16_t stack_user; /* bytes */
    uint16_t callers;    /* sample_max_stack, or the limit where that is 0 */
};

/* The present period of a hardware event that samples, by overflows or by ticks (upmu_perf_is_polled()). */
struct upmu_perf_rest {
    /*
     * events until the next sample, when the session was last stopped; 0: a new period begins; by ticks: time of the
     * last sample, in ns
     */
    uint64_t left;
    uint64_t period; /* events of the whole period */
    /* with a frequency: the event's count in the session at its last sample; by ticks: its whole count then */
    uint64_t reached;
};

/* Of a software event that counts: where it began. */
struct upmu_perf_since {
    uint64_t total; /* total of its kind */
    uint64_t ns;    /* clock of its target: target_ns() */
    uint64_t due;   /* of an event that samples: how much it counts from `total` until its next sample */
};

/* A raw count, and its times enabled and running. */
struct upmu_perf_sum {
    uint64_t value, enabled_ns, running_ns;
};

/*
 * An event.  Its memory is the host's, one for each descriptor, until upmu_perf_close(); memory for sessions is taken
 * by the hook take().  All fields are private.
 */
struct upmu_perf_event {
    struct upmu_perf *perf;
    struct upmu_perf_kept attr;
    struct upmu_perf_event *leader;       /* leader of the event's group; a leader's is itself */
    struct upmu_perf_event *first;        /* first event of a list: its hardware events have one session */
    struct upmu_perf_event *next;         /* next event of this list, in the order of their opens */
    struct upmu_perf_event *next_of_task; /* next event in upmu_perf_task.events, or of a CPU in upmu_perf_cpu.events */
    struct upmu_perf_task *task;  /* the task that is counted; NULL: the event is of a CPU, or has left its task */
    struct upmu_session *session; /* in the first event of a list: the session of the list, or NULL */
    uint64_t id;
    int32_t cpu;    /* number of the CPU on which alone it counts; -1: on every CPU on which its task runs */
    uint32_t lost;  /* records that found no room, also of inherited events */
    uint32_t limit; /* overflows until the event is disabled (REFRESH); 0: no overflow disables it */
    bool of_task;   /* it was opened for a task */
    bool enabled;
    /* in a leader: no counters for a pinned group, or a register faulted: nothing counts */
    bool failed;
    uint8_t room;                         /* events that `session` has room for */
    uint8_t index;                        /* index in the set of the session, or UPMU_PERF_NO_INDEX */
    bool hides;                           /* it samples, and its program must not learn the kernel's addresses */
    bool mapped;                          /* `ring` is in pages that were mapped by this event's descriptor */
    bool counting;                        /* this is a software event, and it counts now */
    uint16_t samples;                     /* samples in the present tick; all bits set: the event is throttled */
    uint16_t tick;                        /* upmu_perf_cpu.ticks of its last sample */
    struct upmu_event event;              /* of a hardware event: its encoded form */
    struct upmu_perf_sum stopped;         /* count and times until the session was last stopped */
    struct upmu_perf_event *original;     /* of an inherited event: the one that a program opened; else NULL */
    struct upmu_perf_event *children;     /* of an event that a program opened: list of the events inherited from it */
    struct upmu_perf_event *next_child;   /* next event in `children` */
    struct upmu_perf_sum ended;           /* counts and times of inherited events that have ended, added up */
    struct upmu_perf_ring *ring;          /* where records go, of an event that a program opened; NULL: nowhere */
    struct upmu_perf_event *next_of_ring; /* next event whose records go there */
    __extension__ union {
        struct upmu_perf_rest rest;   /* of a hardware event */
        struct upmu_perf_since since; /* of a software event */
        struct upmu_unit *unit;       /* of an event of a unit outside the cores */
    };
};

/*
 * Find `mult`, `shift` and `zero_ns` for a TSC of `khz` cycles in a ms, which was `cycles` when the clock was `ns`.
 * With `khz` 0 the TSC does not tell the time.  Context: any.
 */
void upmu_perf_tsc_set(struct upmu_perf_tsc *tsc, uint32_t khz, uint64_t cycles, uint64_t ns);

/* Return the time in ns when the TSC is `cycles`: clock_ns() must return the same then.  Context: any. */
static inline uint64_t upmu_perf_tsc_ns(const struct upmu_perf_tsc *tsc, uint64_t cycles)
{
    uint64_t rest = cycles & ((UINT64_C(1) << tsc->shift) - 1u);

    return tsc->zero_ns + (cycles >> tsc->shift) * tsc->mult + ((rest * tsc->mult) >> tsc->shift);
}

/*
 * Answer perf_event_open.  `event`: memory for the new event.  Returns 0: the host makes a descriptor for the event
 * (close-on-exec with UPMU_PERF_FLAG_CLOEXEC); a negative errno: there is no event, and its memory is free.  -ENOMEM:
 * take() had none for the session of the group, which counts on without the event.
 *
 * Context: that of upmu_session_attach_cpu().
 */
int64_t upmu_perf_open(struct upmu_perf *perf, uint32_t caller, struct upmu_perf_event *event, void *user_attr,
                       int32_t pid, int32_t cpu, int group_file, uint64_t flags);

/*
 * Answer ioctl on the descriptor of an event.  Returns 0 or a negative errno.
 *
 * Context: as upmu_perf_open().
 */
int64_t upmu_perf_ioctl(struct upmu_perf_event *event, uint32_t caller, uint32_t command, uint64_t argument);

/*
 * Answer read on the descriptor of an event.  Returns the number of bytes that were written to `user`; 0: the event's
 * group could not be counted (a pinned one whose counters were in use, or a register faulted); -ENOSPC: `bytes` are too
 * few; or another negative errno.
 *
 * Context: as upmu_perf_open().
 */
int64_t upmu_perf_read(struct upmu_perf_event *event, void *user, size_t bytes);

/*
 * Answer mmap on the descriptor of an event: give the event a ring for records.  `pages`: addresses of `count` pages of
 * UPMU_PERF_PAGE_BYTES, aligned to 8 bytes, in the order in which the program has them; the array and the pages must
 * stay until upmu_perf_unmap().  `writable`: the program may write them; otherwise old records are overwritten.  The
 * first mapping of a descriptor alone is told, and its last unmapping; it is for the host to limit how much memory a
 * program maps (Linux: EPERM).
 *
 * Returns 0; -EINVAL (not 1 or 1 + 2^n pages; the event has a ring; it is inherited and limited to no CPU); -ENOMEM
 * (take() has none for the ring).
 * Context: as upmu_perf_open().
 */
int64_t upmu_perf_map(struct upmu_perf_event *event, void *const *pages, uint32_t count, bool writable);

/*
 * End the ring of an event: no event writes into its pages any more, and they may be freed.  Nothing is done for an
 * event that has no pages.  Returns 0; -EBUSY: a CPU cannot be reached, the pages stay in use: call again.
 *
 * Context: as upmu_perf_open().
 */
int64_t upmu_perf_unmap(struct upmu_perf_event *event);

/*
 * Answer poll on the descriptor of an event: UPMU_PERF_POLL_IN: the program was to be woken since the last such answer;
 * UPMU_PERF_POLL_HUP: the event's task and all that inherited it have ended, or the event has no ring; or 0.
 *
 * Context: any.
 */
unsigned upmu_perf_poll(struct upmu_perf_event *event);

/*
 * End an event whose last descriptor is closed.  If it leads a group, each of the other events becomes a group of its
 * own; they stay together in the session of the former group.  A ring in its pages is ended.  Returns 0: the event's
 * memory is free; -EBUSY: a CPU cannot be reached, call again.
 *
 * Context: as upmu_perf_open().
 */
int64_t upmu_perf_close(struct upmu_perf_event *event);

/* ---- Files ---- */

/*
 * The host's function that takes one file: its path, and its content as a text with a NUL, both valid during the call.
 * `context`: upmu_perf.context.
 */
typedef void upmu_perf_emit(void *context, const char *path, const char *text);

/*
 * Call `emit` for each file that programs read about events: below /sys/bus/event_source/devices the PMU of the first
 * CPU, with the fields of its raw words and its generic events, and software events; below /proc/sys/kernel the limits.
 * A hybrid has a PMU for each type of core, with the list of its online CPUs (as many ranges as 160 bytes hold).  Units
 * outside the cores (`units`) have the list of the CPUs that drive them (cpumask), the fields of their words, and the
 * events of their catalogue that these fields can express.  Call the function again when `paranoid`, a limit, `units`
 * or one of these lists has changed.
 *
 * Context: any.
 */
void upmu_perf_files(const struct upmu_perf *perf, upmu_perf_emit *emit);

/* ---- Notes of the host: calls by which it tells what its tasks do ---- */

/*
 * Initialise a task, before its first switch: it has no events.  `pid` and `tid` are the host's numbers.  Context: any.
 */
void upmu_perf_task_init(struct upmu_perf_task *task, uint32_t pid, uint32_t tid);

/*
 * Note that a CPU switches between two tasks, which must differ.  Call this in place of upmu_thread_switch(), which it
 * calls.
 *
 * Returns and context: those of upmu_thread_switch().
 */
enum upmu_status upmu_perf_switch(struct upmu_perf *perf, unsigned cpu, struct upmu_perf_task *prev,
                                  struct upmu_perf_task *next);

/*
 * Note that a task has made another one, which has not run yet.  `child` inherits those events of `parent` that are to
 * be inherited; their counts are added to those of the events that programs opened.  `is_thread`: both are threads of
 * one process; else events with UPMU_PERF_INHERIT_THREAD are not inherited.
 *
 * Returns 0, or -ENOMEM (take() had too little memory; the child has no events).
 * Context: as upmu_perf_open(), on the CPU of the parent.
 */
int64_t upmu_perf_fork(struct upmu_perf_task *parent, struct upmu_perf_task *child, bool is_thread);

/*
 * Note that a task called exec: events with UPMU_PERF_ENABLE_ON_EXEC begin to count, and those with
 * UPMU_PERF_REMOVE_ON_EXEC leave the task.  `others_may_watch` false: the new program has rights that the old one had
 * not (set-id), so all events leave the task.
 *
 * Returns 0; -EBUSY: a CPU cannot be reached, and events are left that must leave or begin.  Call the function again
 * before the new program runs; events that are done are not changed again.  Where others may not watch the new program,
 * the host must not start it before the function returns 0.
 * Context: as upmu_perf_open(), on the CPU of the task.
 */
int64_t upmu_perf_exec(struct upmu_perf_task *task, bool others_may_watch);

/*
 * Note that a task ends.  Its events keep their counts and can be read; the counts of inherited events are added to
 * those of the events that programs opened.
 *
 * Returns UPMU_ERR_BUSY (an event could not be stopped), or what upmu_thread_exit() returns.  Context: its context, on
 * the CPU on which the task runs or ran last: rings may get a record of its end.
 */
enum upmu_status upmu_perf_exit(struct upmu_perf_task *task);

/*
 * Note the name of a task, which it has got: a text of at most 15 characters.  `is_exec`: from exec; call this after
 * upmu_perf_exec().  Enabled events that ask for it (attr.comm) get a record.
 *
 * Context: as upmu_perf_open(), on the CPU that runs the task, or while none runs it.
 */
void upmu_perf_comm(struct upmu_perf_task *task, const char *name, bool is_exec);

/* A mapping of a program. */
struct upmu_perf_mapping {
    uint64_t address, bytes;
    uint64_t offset;            /* in the file, in bytes */
    uint32_t major, minor;      /* device of the file */
    uint64_t inode, generation; /* of the file */
    uint32_t protection, flags; /* PROT_ and MAP_ bits with Linux's values */
    const char *path;           /* of at most 4,095 characters; "//anon" of memory without a file */
};

/*
 * Note a mapping that a task has made, also those that exec makes.  Enabled events that ask for it (attr.mmap and
 * attr.mmap2: executable ones; attr.mmap_data: others) get a record.
 *
 * Context: as upmu_perf_comm().
 */
void upmu_perf_mmap(struct upmu_perf_task *task, const struct upmu_perf_mapping *mapping);

/*
 * Note a tick of a CPU.  Clocks that sample, and on a port without pmi_rearm hardware events, get a sample of `frame`
 * (what the tick interrupted, or NULL) if their period has ended: it is as long as a tick at least.  An event that
 * overflows more often than max_rate allows is throttled: it takes no samples until the next tick, counts on, and has
 * records of type THROTTLE and UNTHROTTLE.  Without ticks clocks and such hardware events are refused if they sample,
 * and no record tells that an event was throttled by the engine.
 *
 * The call is one of those that are made one at a time: where your lock is taken, leave the tick out.  It does not
 * replace upmu_cpu_tick(), which comes before.
 * Context: local, on that CPU.
 */
void upmu_perf_tick(struct upmu_perf *perf, unsigned cpu, const struct upmu_frame *frame);

/*
 * Count an occurrence of `note`, as upmu_perf_note() does, and let events that count it with a period take samples of
 * `frame`, which is what was interrupted (NULL: nothing is known, and the note is of the kernel's mode).  `address`: of
 * a fault, what was accessed (ADDR of its samples); of others 0.  Set `frames_of_notes`; without it page faults and
 * migrations are refused with a period.
 *
 * The call is one of those that are made one at a time.
 * Context: local, on that CPU, which runs the task.
 */
void upmu_perf_note_frame(struct upmu_perf *perf, unsigned cpu, struct upmu_perf_task *task, enum upmu_perf_note note,
                          uint64_t address, const struct upmu_frame *frame);

/* Count an occurrence of `note` while `task` ran on a CPU.  `user`: in user mode.  Context: any, on that CPU. */
void upmu_perf_note(struct upmu_perf *perf, unsigned cpu, struct upmu_perf_task *task, enum upmu_perf_note note,
                    bool user);

#ifdef __cplusplus
}
#endif

#endif
