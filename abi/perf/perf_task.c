/* SPDX-License-Identifier: MIT */
/*
 * Notes of the host: tasks begin, run, execute another program and end; faults and migrations happen.
 */
#include <string.h>
#include "abi/perf/perf_core.h"

void upmu_perf_task_init(struct upmu_perf_task *task, uint32_t pid, uint32_t tid)
{
    memset(task, 0, sizeof *task);
    upmu_thread_init(&task->thread, pid, tid, task);
}

/* ---- Switches ---- */

/* Software events of a task that count on one CPU alone begin and end there with it. */
static void limited_begin(const struct upmu_perf_task *task)
{
    for (struct upmu_perf_event *event = task->events; event; event = event->next_of_task)
        if (event->cpu >= 0 && upmu_perf_is_software(event) && event->enabled && event->leader->enabled &&
            !event->leader->failed)
            upmu_perf_soft_begin(event);
}

static void limited_end(const struct upmu_perf_task *task)
{
    for (struct upmu_perf_event *event = task->events; event; event = event->next_of_task)
        if (event->cpu >= 0 && upmu_perf_is_software(event))
            upmu_perf_soft_end(event);
}

enum upmu_status upmu_perf_switch(struct upmu_perf *perf, unsigned cpu, struct upmu_perf_task *prev,
                                  struct upmu_perf_task *next)
{
    enum upmu_status status = upmu_thread_switch(perf->cpus[cpu].cpu, &prev->thread, &next->thread);
    uint64_t now;

    if (status != UPMU_OK)
        return status;
    now = perf->clock_ns ? perf->clock_ns(perf->context) : 0;
    upmu_perf_note(perf, cpu, prev, UPMU_PERF_NOTE_SWITCH, false);
    prev->notes.ran_ns += prev->runs ? now - prev->notes.since_ns : 0;
    prev->runs = false;
    limited_end(prev);
    next->notes.since_ns = now;
    next->runs = true;
    perf->cpus[cpu].running = next;
    limited_begin(next);
    return UPMU_OK;
}

/* ---- Other notes ---- */

void upmu_perf_note(struct upmu_perf *perf, unsigned cpu, struct upmu_perf_task *task, enum upmu_perf_note note,
                    bool user)
{
    task->notes.count[user][note]++;
    perf->cpus[cpu].notes.count[user][note]++;
}

/* Events of a group that wait for exec begin; those that end with it leave their task. */
static void group_exec(struct upmu_perf_event *leader)
{
    if (upmu_perf_group_stop(leader))
        return;
    for (struct upmu_perf_event *event = leader; event; event = event->next) {
        if (event->attr.flags & UPMU_PERF_ENABLE_ON_EXEC)
            event->enabled = true;
        event->attr.flags &= ~UPMU_PERF_ENABLE_ON_EXEC;
        event->enabled &= !(event->attr.flags & UPMU_PERF_REMOVE_ON_EXEC);
    }
    upmu_perf_group_start(leader);
}

void upmu_perf_exec(struct upmu_perf_task *task)
{
    for (struct upmu_perf_event *event = task->events; event; event = event->next_of_task)
        if (event->leader == event)
            group_exec(event);
}

/* An event of a task that has ended can be read by its descriptor; an inherited one has none. */
static void event_end(struct upmu_perf_event *event)
{
    upmu_perf_leave_task(event);
    if (event->original)
        upmu_perf_child_end(event);
}

enum upmu_status upmu_perf_exit(struct upmu_perf_task *task)
{
    for (struct upmu_perf_event *event = task->events; event; event = event->next_of_task)
        if (event->leader == event && upmu_perf_group_stop(event))
            return UPMU_ERR_BUSY;
    while (task->events)
        event_end(task->events);
    return upmu_thread_exit(&task->thread);
}

int64_t upmu_perf_fork(struct upmu_perf_task *parent, struct upmu_perf_task *child, bool is_thread)
{
    const uint64_t inherit = UPMU_PERF_INHERIT;

    for (struct upmu_perf_event *event = parent->events; event; event = event->next_of_task) {
        if (event->leader != event || !(event->attr.flags & inherit) ||
            (event->attr.flags & UPMU_PERF_INHERIT_THREAD && !is_thread) || upmu_perf_group_copy(event, child))
            continue;
        (void)upmu_perf_exit(child); /* the copies that were made have counted nothing */
        return -UPMU_PERF_ENOMEM;
    }
    return 0;
}
