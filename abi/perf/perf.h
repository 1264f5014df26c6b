/* SPDX-License-Identifier: MIT */
/*
 * The kernel's side of perf_event_open: what a kernel that runs programs made for Linux embeds to answer that call, and
 * read, ioctl and close on its descriptors.  This stage counts: hardware events of CPUs, software events, groups, on
 * threads and on CPUs.  docs/PERF.md has the wiring and what differs from Linux.
 *
 * Results are 0 or more, or a negative number of enum upmu_perf_errno, which the host returns to the program
 * unchanged. Calls on one struct upmu_perf are made one at a time (the host's lock), except upmu_perf_switch() and
 * the notes, which may come at the same time from other CPUs.  A call on an event of a task that runs on another CPU,
 * or of another CPU, needs the port's run_on_cpu (upmu/port.h).
 */
#ifndef UPMU_ABI_PERF_H
#define UPMU_ABI_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/abi.h>
#include <upmu/cpu.h>
#include <upmu/event.h>
#include <upmu/pmu.h>
#include <upmu/upmu.h>
#include "abi/perf/perf_event.h"

#ifdef __cplusplus
extern "C" {
#endif

struct upmu_perf_event;

/* Software events that hosts note. */
enum upmu_perf_note {
    UPMU_PERF_NOTE_FAULT_MINOR = 0,
    UPMU_PERF_NOTE_FAULT_MAJOR = 1,
    UPMU_PERF_NOTE_SWITCH = 2,
    UPMU_PERF_NOTE_MIGRATION = 3,
    UPMU_PERF_NOTES = 4
};

/* What has been noted: of user mode, then of the kernel's.  All private. */
struct upmu_perf_notes {
    uintptr_t count[2][UPMU_PERF_NOTES];
    uint64_t ran_ns;   /* time that the task ran, up to ... */
    uint64_t since_ns; /* ... this moment, if it runs */
};

/* A thread of a program.  The host embeds it, and upmu_perf_task_init() fills it in. */
struct upmu_perf_task {
    struct upmu_thread thread; /* its pid and tid are the host's to change; pass it to no call of the library */
    /* private */
    struct upmu_perf_event *events; /* that count it */
    struct upmu_perf_notes notes;
    bool runs;
};

/* A CPU.  Cleared by the host, which sets `cpu`. */
struct upmu_perf_cpu {
    struct upmu_cpu *cpu; /* NULL: offline */
    /* private */
    struct upmu_perf_task *running; /* as upmu_perf_switch() said */
    struct upmu_perf_notes notes;
};

/* What the host provides.  Clear it, then fill in what stands before the private fields. */
struct upmu_perf {
    struct upmu_machine *machine;
    struct upmu_perf_cpu *cpus; /* by the number that programs give */
    unsigned cpu_count;
    int32_t paranoid;     /* Linux's perf_event_paranoid: -1 to 2, as there */
    uint32_t max_rate;    /* samples a second; 0: 100000 */
    uint32_t max_stack;   /* callers of a sample; 0: 127 */
    uint32_t most_events; /* open at a time; 0: no limit */
    void *context;        /* first argument of the hooks */
    /* Copy memory of the calling program; false: it is not the program's. */
    bool (*copy_in)(void *context, void *to, const void *user, size_t bytes);
    bool (*copy_out)(void *context, void *user, const void *from, size_t bytes);
    /*
     * The thread that `caller` names by a pid (0: itself); NULL: there is none.  *out_may: may the caller observe it,
     * as ptrace would?  It must stay until upmu_perf_exit().
     */
    struct upmu_perf_task *(*find_task)(void *context, uint32_t caller, int32_t pid, bool *out_may);
    /*
     * The CPU that runs a task, NULL: none.  It stays so until the call that asked has ended: the host's scheduler is
     * kept from the task, or the task is the caller's own, on this CPU, and is not preempted.  A call may ask several
     * times, and for several tasks (children).  NULL: all calls are made with the scheduler kept from all tasks, or on
     * a machine with one CPU whose interrupts are off.
     */
    struct upmu_cpu *(*task_cpu)(void *context, struct upmu_perf_task *task);
    /*
     * May `caller` do as an administrator does (Linux: CAP_PERFMON)?  NULL: no caller may.
     */
    bool (*may_all)(void *context, uint32_t caller);
    /*
     * May `caller` use an event that needs these UPMU_RIGHT_ rights?  Asked at each open of a hardware event.  NULL:
     * those with may_all() may, others where `paranoid` grants it.
     */
    bool (*may_use)(void *context, uint32_t caller, const struct upmu_event *event, uint32_t rights);
    /* The time in ns, as the port's clock_ns; NULL: clocks and times are 0. */
    uint64_t (*clock_ns)(void *context);
    /* The event behind a descriptor of the caller; NULL: the descriptor is none of an event. */
    struct upmu_perf_event *(*event_of)(void *context, uint32_t caller, int file);
    /*
     * Memory for the events that a new task inherits (UPMU_PERF_INHERIT), one at a time, and its return.  NULL: an
     * event that is to be inherited is refused (-EOPNOTSUPP).
     */
    struct upmu_perf_event *(*take)(void *context);
    void (*give)(void *context, struct upmu_perf_event *event);
    /* private */
    uint64_t next_id;
    uint32_t events;
};

/* Index of an event that is not in its group's session. */
#define UPMU_PERF_NO_INDEX 0xffu

/* An event: memory of the host, one for each descriptor, until upmu_perf_close().  All private. */
struct upmu_perf_event {
    struct upmu_perf *perf;
    struct upmu_perf_attr attr;
    struct upmu_perf_event *leader;       /* of its group, perhaps itself */
    struct upmu_perf_event *next;         /* of its group, in the order of their opens */
    struct upmu_perf_event *next_of_task; /* in its task's list */
    struct upmu_perf_task *task;          /* NULL: a CPU's, or the task has ended */
    uint64_t id;
    int32_t cpu;  /* -1: each */
    bool of_task; /* it was opened for a task */
    bool enabled;
    bool failed;                        /* pinned, and its counters were not to be had; or a register faulted */
    uint8_t index;                      /* in its group's session, or UPMU_PERF_NO_INDEX */
    struct upmu_event event;            /* of hardware */
    uint64_t value;                     /* what earlier sessions of the group have counted ... */
    uint64_t enabled_ns, running_ns;    /* ... and their times */
    struct upmu_perf_event *original;   /* that it was inherited from, which a program opened; or NULL */
    struct upmu_perf_event *children;   /* of an original: those of living tasks ... */
    struct upmu_perf_event *next_child; /* ... in a list */
    uint64_t children_value, children_enabled_ns, children_running_ns; /* of those that have ended */
    uint64_t since;              /* of a software event that counts: what was noted when it began ... */
    uint64_t since_ns;           /* ... and the clock of its target */
    bool counting;               /* a software event counts */
    struct upmu_session session; /* of its group, where it leads */
};

/*
 * Answer perf_event_open.  `event`: memory for the new one.  0: the host makes a descriptor for it (close-on-exec with
 * UPMU_PERF_FLAG_CLOEXEC); else the memory is free.
 *
 * Context: that of upmu_session_attach_cpu().
 */
int64_t upmu_perf_open(struct upmu_perf *perf, uint32_t caller, struct upmu_perf_event *event, void *user_attr,
                       int32_t pid, int32_t cpu, int group_file, uint64_t flags);

/*
 * Answer ioctl on its descriptor.
 *
 * Context: as upmu_perf_open().
 */
int64_t upmu_perf_ioctl(struct upmu_perf_event *event, uint32_t caller, uint32_t command, uint64_t argument);

/*
 * Answer read on its descriptor: the bytes that were written to `user`.  0 of an event that could not be counted (a
 * pinned one whose counters were in use); -ENOSPC: `bytes` are too few.
 *
 * Context: as upmu_perf_open().
 */
int64_t upmu_perf_read(struct upmu_perf_event *event, void *user, size_t bytes);

/*
 * The last descriptor of an event is closed.  Its siblings, if it leads, become groups of their own.  Returns 0: its
 * memory is free; -EBUSY: a CPU cannot be reached, call again.
 *
 * Context: as upmu_perf_open().
 */
int64_t upmu_perf_close(struct upmu_perf_event *event);

/* ---- Files ---- */

/* A file of the system: its path and its text, which are valid during the call.  `context`: upmu_perf.context. */
typedef void upmu_perf_emit(void *context, const char *path, const char *text);

/*
 * Tell the files that programs read about events: below /sys/bus/event_source/devices the PMU of the first CPU, with
 * the fields of its raw words and its generic events, and software events; below /proc/sys/kernel the limits.  Call
 * it again when `paranoid` or a limit has changed.
 *
 * Context: any.
 */
void upmu_perf_files(const struct upmu_perf *perf, upmu_perf_emit *emit);

/* ---- Notes of the host ---- */

/* Make a task before its first switch.  Context: any. */
void upmu_perf_task_init(struct upmu_perf_task *task, uint32_t pid, uint32_t tid);

/*
 * A CPU switches between two tasks, which must differ: in place of upmu_thread_switch(), which it calls.
 *
 * Returns and context: those of upmu_thread_switch().
 */
enum upmu_status upmu_perf_switch(struct upmu_perf *perf, unsigned cpu, struct upmu_perf_task *prev,
                                  struct upmu_perf_task *next);

/*
 * A task made another one, which has not run yet: `child` inherits the events of `parent` that are to be, and their
 * counts are added to those of the events that were opened.  `is_thread`: both are threads of one process.
 *
 * Returns 0, or -ENOMEM (`take` gave too little; the child has none).
 * Context: as upmu_perf_open(), on the CPU of the parent.
 */
int64_t upmu_perf_fork(struct upmu_perf_task *parent, struct upmu_perf_task *child, bool is_thread);

/*
 * A task called exec: events that wait for this begin, and those that are to be removed leave the task.
 * `others_may_watch` false: the new program has rights that the old one had not (set-id), so all events leave it.
 *
 * Returns 0; -EBUSY: a CPU cannot be reached, and events are left (of a program that others may not watch, the host
 * must not start it).
 * Context: as upmu_perf_open(), on the CPU of the task.
 */
int64_t upmu_perf_exec(struct upmu_perf_task *task, bool others_may_watch);

/*
 * A task ends: its events keep their counts and can be read; what it inherited is added to what was opened.
 *
 * Returns and context: those of upmu_thread_exit().
 */
enum upmu_status upmu_perf_exit(struct upmu_perf_task *task);

/* Something happened while `task` ran on a CPU: count it.  `user`: in user mode.  Context: any, on that CPU. */
void upmu_perf_note(struct upmu_perf *perf, unsigned cpu, struct upmu_perf_task *task, enum upmu_perf_note note,
                    bool user);

#ifdef __cplusplus
}
#endif

#endif
