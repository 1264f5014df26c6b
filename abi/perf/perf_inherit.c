/* SPDX-License-Identifier: MIT */
/*
 * Inherited events. A new task gets a copy of each group that is to be inherited, which counts the task from its first
 * instruction. A program reads the sum of the event that it opened, of that event's copies, and of the copies of tasks
 * that have ended.
 */
#include <string.h>
#include "abi/perf/perf_core.h"

int upmu_perf_count_all(struct upmu_perf_event *event, struct upmu_perf_sum *out_sum)
{
    int error = upmu_perf_count(event, out_sum);

    upmu_perf_sum_add(out_sum, &event->ended);
    for (struct upmu_perf_event *child = event->children; child && !error; child = child->next_child) {
        struct upmu_perf_sum sum;

        error = upmu_perf_count(child, &sum);
        upmu_perf_sum_add(out_sum, &sum);
    }
    return error;
}

void upmu_perf_child_end(struct upmu_perf_event *event)
{
    struct upmu_perf_event *original = event->original;

    (void)upmu_perf_session_leave(event);
    for (struct upmu_perf_event **link = &original->children; *link; link = &(*link)->next_child)
        if (*link == event) {
            *link = event->next_child;
            break;
        }
    upmu_perf_sum_add(&original->ended, &event->stopped);
    event->perf->give(event->perf->context, event, sizeof *event);
}

/* Make a copy of an event for a child. Its count and times begin at 0. NULL: the host has no memory. */
static struct upmu_perf_event *event_copy(const struct upmu_perf_event *event, struct upmu_perf_task *child)
{
    struct upmu_perf_event *copy = event->perf->take(event->perf->context, sizeof *copy);

    if (!copy)
        return NULL;
    memset(copy, 0, sizeof *copy);
    copy->perf = event->perf;
    copy->attr = event->attr;
    copy->task = child;
    copy->id = event->id;
    copy->cpu = event->cpu;
    copy->of_task = true;
    copy->enabled = event->enabled;
    copy->hides = event->hides;
    copy->index = UPMU_PERF_NO_INDEX;
    copy->event = event->event;
    upmu_perf_polled_begin(copy);
    return copy;
}

/* Each copy knows the event that a program opened, also where the parent's event is itself inherited. */
int upmu_perf_group_copy(struct upmu_perf_event *leader, struct upmu_perf_task *child)
{
    struct upmu_perf_event *first = NULL;
    int error;

    for (struct upmu_perf_event *event = leader; event; event = upmu_perf_group_next(event)) {
        struct upmu_perf_event *copy = event_copy(event, child);

        if (!copy)
            return -UPMU_PERF_ENOMEM;
        copy->original = event->original ? event->original : event;
        copy->next_child = copy->original->children;
        copy->original->children = copy;
        if (!first)
            first = copy;
        upmu_perf_link(copy, first);
    }
    error = upmu_perf_group_room(first);
    if (!error)
        (void)upmu_perf_session_start(first);
    return error;
}
