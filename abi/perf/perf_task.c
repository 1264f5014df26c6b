/* SPDX-License-Identifier: MIT */
/* Notes of the host about tasks: switches, faults, migrations, exec, exit and fork. */
#include <string.h>
#include "abi/perf/perf_core.h"

void upmu_perf_task_init(struct upmu_perf_task *task, uint32_t pid, uint32_t tid)
{
    memset(task, 0, sizeof *task);
    upmu_thread_init(&task->thread, pid, tid, task);
}

/* ---- Switches ---- */

/*
 * Begin (limited_begin) or end (limited_end) the software events of a task that count on one CPU alone, when the task
 * is switched to or from.
 */
static void limited_begin(const struct upmu_perf_task *task)
{
    for (struct upmu_perf_event *event = upmu_perf_switched(task); event; event = event->next_of_task)
        if (event->cpu >= 0 && upmu_perf_is_software(event) && event->enabled && event->leader->enabled &&
            !event->leader->failed)
            upmu_perf_soft_begin(event);
}

static void limited_end(const struct upmu_perf_task *task)
{
    for (struct upmu_perf_event *event = upmu_perf_switched(task); event; event = event->next_of_task)
        if (event->cpu >= 0 && upmu_perf_is_software(event))
            upmu_perf_soft_end(event);
}

enum upmu_status upmu_perf_switch(struct upmu_perf *perf, unsigned cpu, struct upmu_perf_task *prev,
                                  struct upmu_perf_task *next)
{
    enum upmu_status status;
    uint64_t now;

    /* Before the events of `next` count: a sample of theirs uses what belongs to this CPU. */
    next->cpu = prev->cpu = cpu;
    next->perf = prev->perf = perf;
    upmu_perf_unthrottle_task(next);
    status = upmu_thread_switch(perf->cpus[cpu].cpu, &prev->thread, &next->thread);
    if (status != UPMU_OK)
        return status;
    now = perf->clock_ns ? perf->clock_ns(perf->context) : 0;
    upmu_perf_note(perf, cpu, prev, UPMU_PERF_NOTE_SWITCH, false);
    prev->notes.ran_ns += prev->runs ? now - prev->notes.since_ns : 0;
    prev->runs = false;
    upmu_perf_tell_switch(prev, next, false, now);
    limited_end(prev);
    next->notes.since_ns = now;
    next->runs = true;
    perf->cpus[cpu].running = next;
    limited_begin(next);
    upmu_perf_tell_switch(next, prev, true, now);
    return UPMU_OK;
}

/* ---- Other notes ---- */

void upmu_perf_note(struct upmu_perf *perf, unsigned cpu, struct upmu_perf_task *task, enum upmu_perf_note note,
                    bool user)
{
    upmu_perf_notes_add(perf, cpu, task, note, user);
}

/* ---- exec and exit ---- */

/*
 * Enable the events of a group that have UPMU_PERF_ENABLE_ON_EXEC. Returns 0, or -EBUSY: a CPU cannot be reached, and
 * the next call of upmu_perf_exec() does it.
 */
static int group_exec(struct upmu_perf_event *leader)
{
    int error = upmu_perf_session_stop(leader);

    for (struct upmu_perf_event *event = leader; event && !error; event = upmu_perf_group_next(event))
        event->enabled |= !!(event->attr.flags & UPMU_PERF_ENABLE_ON_EXEC);
    if (!error && upmu_perf_session_start(leader) == -UPMU_PERF_EBUSY)
        error = -UPMU_PERF_EBUSY;
    for (struct upmu_perf_event *event = leader->first; event && error; event = event->next)
        event->failed = false;
    for (struct upmu_perf_event *event = leader; event && !error; event = upmu_perf_group_next(event))
        event->attr.flags &= ~UPMU_PERF_ENABLE_ON_EXEC;
    return error;
}

/*
 * Take the events with UPMU_PERF_REMOVE_ON_EXEC out of their groups and the task. Inherited ones have no descriptor,
 * and end.
 */
static int task_remove_events(struct upmu_perf_task *task)
{
    struct upmu_perf_event *event = task->events;
    int error = 0;

    while (event && !error) {
        struct upmu_perf_event *next = event->next_of_task;

        if (event->attr.flags & UPMU_PERF_REMOVE_ON_EXEC) {
            error = upmu_perf_remove(event);
            if (!error && event->original)
                upmu_perf_child_end(event);
        }
        event = next;
    }
    return error;
}

/*
 * Stop and take all events out of the task. Their groups stay, and can be read by their descriptors; inherited events
 * have no descriptor, and end.
 */
static int task_end_events(struct upmu_perf_task *task)
{
    for (struct upmu_perf_event *event = task->events; event; event = event->next_of_task) {
        int error = event->first == event ? upmu_perf_session_stop(event) : 0;

        if (error)
            return error;
    }
    while (task->events) {
        struct upmu_perf_event *event = task->events;

        upmu_perf_leave_task(event);
        if (event->original)
            upmu_perf_child_end(event);
    }
    return 0;
}

int64_t upmu_perf_exec(struct upmu_perf_task *task, bool others_may_watch)
{
    int error = others_may_watch ? task_remove_events(task) : task_end_events(task);

    for (struct upmu_perf_event *event = task->events; event && !error; event = event->next_of_task)
        if (event->leader == event)
            error = group_exec(event);
    return error;
}

enum upmu_status upmu_perf_exit(struct upmu_perf_task *task)
{
    upmu_perf_tell_life(task, task, UPMU_PERF_RECORD_EXIT);
    return task_end_events(task) ? UPMU_ERR_BUSY : upmu_thread_exit(&task->thread);
}

int64_t upmu_perf_fork(struct upmu_perf_task *parent, struct upmu_perf_task *child, bool is_thread)
{
    for (struct upmu_perf_event *event = parent->events; event; event = event->next_of_task) {
        int error = 0;

        if (event->leader == event && event->attr.flags & UPMU_PERF_INHERIT &&
            (is_thread || !(event->attr.flags & UPMU_PERF_INHERIT_THREAD)))
            error = upmu_perf_group_copy(event, child);
        if (error) {
            (void)upmu_perf_exit(child); /* end the copies that were made: none has counted */
            return error;
        }
    }
    upmu_perf_tell_life(parent, child, UPMU_PERF_RECORD_FORK);
    return 0;
}
