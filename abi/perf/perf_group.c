/* SPDX-License-Identifier: MIT */
/*
 * A group is one session: the enabled events of its hardware, in the order of their opens. Every change of a group
 * (an event more or less, one that is enabled or disabled) stops it, which adds what the session has counted to its
 * events, and makes the session anew.
 */
#include "abi/perf/perf_core.h"
#include <upmu/session.h>
#include <upmu/set.h>

/* ---- Members ---- */

void upmu_perf_link(struct upmu_perf_event *event, struct upmu_perf_event *leader)
{
    struct upmu_perf_event **end = &leader->next;

    event->leader = leader;
    while (leader != event && *end)
        end = &(*end)->next;
    if (leader != event)
        *end = event;
    if (event->task) {
        event->next_of_task = event->task->events;
        event->task->events = event;
    }
}

void upmu_perf_leave_task(struct upmu_perf_event *event)
{
    if (!event->task)
        return;
    for (struct upmu_perf_event **link = &event->task->events; *link; link = &(*link)->next_of_task)
        if (*link == event) {
            *link = event->next_of_task;
            break;
        }
    event->task = NULL;
}

/* ---- The session ---- */

/* The CPU that runs the task of a group, if it is a task's; the CPU of the group otherwise. */
static struct upmu_cpu *place_of(const struct upmu_perf_event *leader)
{
    const struct upmu_perf *perf = leader->perf;

    if (!leader->of_task)
        return perf->cpus[leader->cpu].cpu;
    return perf->task_cpu ? perf->task_cpu(perf->context, leader->task) : NULL;
}

static enum upmu_status session_attach(struct upmu_session *session, const struct upmu_perf_event *leader)
{
    enum upmu_status status = UPMU_OK;

    if (!leader->of_task)
        return upmu_session_attach_cpu(session, place_of(leader));
    if (leader->cpu >= 0)
        status = upmu_session_limit_cpu(session, leader->perf->cpus[leader->cpu].cpu);
    return status == UPMU_OK ? upmu_session_attach_thread(session, &leader->task->thread, place_of(leader)) : status;
}

/* Make a session of the events of a group and attach it: of the enabled ones, or (`all`) of all and `more`. */
static enum upmu_status session_make(struct upmu_session *session, struct upmu_perf_event *leader, bool all,
                                     const struct upmu_perf_event *more, unsigned *out_events)
{
    enum upmu_status status = upmu_session_init(session, leader->perf->machine);
    unsigned events = 0;

    for (struct upmu_perf_event *event = leader; event && status == UPMU_OK; event = event->next) {
        if (!all)
            event->index = UPMU_PERF_NO_INDEX;
        if (upmu_perf_is_software(event) || !(all || event->enabled))
            continue;
        status = upmu_set_add_event(&session->set, &event->event, NULL);
        if (!all && status == UPMU_OK)
            event->index = (uint8_t)events;
        events++;
    }
    if (more && status == UPMU_OK) {
        status = upmu_set_add_event(&session->set, &more->event, NULL);
        events++;
    }
    *out_events = events;
    if (!events || status != UPMU_OK)
        return status;
    status = upmu_session_share(session, !(leader->attr.flags & UPMU_PERF_PINNED));
    return status == UPMU_OK ? session_attach(session, leader) : status;
}

int upmu_perf_group_fits(struct upmu_perf_event *leader, struct upmu_perf_event *more)
{
    unsigned events;
    enum upmu_status status = session_make(&more->session, leader, true, leader == more ? NULL : more, &events);
    enum upmu_status closed = upmu_session_close(&more->session);

    return upmu_perf_errno(status == UPMU_OK ? closed : status);
}

/* ---- Start and stop ---- */

/* No event of a group counts: its leader is pinned, and the counters are in use. */
static void group_fail(struct upmu_perf_event *leader)
{
    leader->failed = true;
    for (struct upmu_perf_event *event = leader; event; event = event->next)
        event->index = UPMU_PERF_NO_INDEX;
    (void)upmu_session_close(&leader->session);
}

void upmu_perf_group_start(struct upmu_perf_event *leader)
{
    enum upmu_status status;
    unsigned events = 0;

    if (!leader->enabled || leader->failed || (leader->of_task && !leader->task))
        return;
    status = session_make(&leader->session, leader, false, NULL, &events);
    if (status == UPMU_OK && events)
        status = upmu_session_start(&leader->session);
    if (status != UPMU_OK) {
        group_fail(leader);
        return;
    }
    for (struct upmu_perf_event *event = leader; event; event = event->next)
        if (upmu_perf_is_software(event) && event->enabled)
            upmu_perf_soft_begin(event);
}

int upmu_perf_count(struct upmu_perf_event *event, struct upmu_count *out_count)
{
    enum upmu_status status;

    if (upmu_perf_is_software(event) || event->index == UPMU_PERF_NO_INDEX) {
        upmu_perf_soft_count(event, out_count);
        return 0;
    }
    status = upmu_set_read(&event->leader->session.set, event->index, 1, out_count);
    out_count->raw += event->value;
    out_count->enabled_ns += event->enabled_ns;
    out_count->running_ns += event->running_ns;
    return upmu_perf_errno(status);
}

/* What a detached session has counted is its event's. */
static void event_keep(struct upmu_perf_event *event)
{
    struct upmu_count count;

    if (upmu_perf_count(event, &count))
        return;
    event->value = count.raw;
    event->enabled_ns = count.enabled_ns;
    event->running_ns = count.running_ns;
    event->counting = false;
    event->index = UPMU_PERF_NO_INDEX;
}

int upmu_perf_group_stop(struct upmu_perf_event *leader)
{
    enum upmu_status status = UPMU_OK;
    bool hardware = false;

    for (const struct upmu_perf_event *event = leader; event; event = event->next)
        hardware |= event->index != UPMU_PERF_NO_INDEX;
    if (hardware)
        status = upmu_session_detach(&leader->session);
    if (status != UPMU_OK && status != UPMU_ERR_PORT)
        return upmu_perf_errno(status);
    for (struct upmu_perf_event *event = leader; event; event = event->next)
        event_keep(event);
    if (hardware)
        (void)upmu_session_close(&leader->session);
    return 0;
}
