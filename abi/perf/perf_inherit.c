/* SPDX-License-Identifier: MIT */
/*
 * Inherited events. A new task gets a copy of each group that is to be inherited, which counts the task from its first
 * instruction. A program reads the sum of the event that it opened, of that event's copies, and of the copies of tasks
 * that have ended.
 */
#include <string.h>
#include "abi/perf/perf_core.h"

int upmu_perf_count_all(struct upmu_perf_event *event, struct upmu_count *out_count)
{
    int error = upmu_perf_count(event, out_count);

    out_count->raw += event->children_value;
    out_count->enabled_ns += event->children_enabled_ns;
    out_count->running_ns += event->children_running_ns;
    for (struct upmu_perf_event *child = event->children; child && !error; child = child->next_child) {
        struct upmu_count count;

        error = upmu_perf_count(child, &count);
        out_count->raw += count.raw;
        out_count->enabled_ns += count.enabled_ns;
        out_count->running_ns += count.running_ns;
    }
    return error;
}

void upmu_perf_child_end(struct upmu_perf_event *event)
{
    struct upmu_perf_event *original = event->original;

    for (struct upmu_perf_event **link = &original->children; *link; link = &(*link)->next_child)
        if (*link == event) {
            *link = event->next_child;
            break;
        }
    original->children_value += event->value;
    original->children_enabled_ns += event->enabled_ns;
    original->children_running_ns += event->running_ns;
    event->perf->give(event->perf->context, event);
}

/* Make a copy of an event for a child. Its count and times begin at 0. NULL: the host has no memory. */
static struct upmu_perf_event *event_copy(const struct upmu_perf_event *event, struct upmu_perf_task *child)
{
    struct upmu_perf_event *copy = event->perf->take(event->perf->context);

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
    copy->index = UPMU_PERF_NO_INDEX;
    copy->event = event->event;
    return copy;
}

/* Each copy knows the event that a program opened, also where the parent's event is itself inherited. */
bool upmu_perf_group_copy(struct upmu_perf_event *leader, struct upmu_perf_task *child)
{
    struct upmu_perf_event *first = NULL;

    for (struct upmu_perf_event *event = leader; event; event = event->next) {
        struct upmu_perf_event *copy = event_copy(event, child);

        if (!copy)
            return false;
        copy->original = event->original ? event->original : event;
        copy->next_child = copy->original->children;
        copy->original->children = copy;
        if (!first)
            first = copy;
        upmu_perf_link(copy, first);
    }
    (void)upmu_perf_group_start(first);
    return true;
}
