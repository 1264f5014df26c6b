/* SPDX-License-Identifier: MIT */
/*
 * A group is one session, with the enabled hardware events of the group in the order of their opens. Every change of a
 * group (an event more or less, an event enabled or disabled) stops the session, adds its counts to the events, and
 * makes the session anew.
 */
#include "abi/perf/perf_core.h"
#include <upmu/session.h>
#include <upmu/set.h>

/* ---- Members ---- */

void upmu_perf_hold(const struct upmu_perf_event *event)
{
    if (event->task && event->perf->task_cpu)
        (void)event->perf->task_cpu(event->perf->context, event->task);
}

void upmu_perf_link(struct upmu_perf_event *event, struct upmu_perf_event *leader)
{
    struct upmu_perf_event **end = &leader->next;

    upmu_perf_hold(event);
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
    upmu_perf_hold(event);
    for (struct upmu_perf_event **link = &event->task->events; *link; link = &(*link)->next_of_task)
        if (*link == event) {
            *link = event->next_of_task;
            break;
        }
    event->task = NULL;
}

/* ---- The session ---- */

/*
 * Return the CPU that runs the task of a group; for a group of a CPU, that CPU. NULL: the task does not run, or the CPU
 * is offline or has no PMU.
 */
static struct upmu_cpu *place_of(const struct upmu_perf_event *leader)
{
    const struct upmu_perf *perf = leader->perf;
    struct upmu_cpu *cpu = NULL;

    if (!leader->of_task)
        cpu = perf->cpus[leader->cpu].cpu;
    else if (perf->task_cpu)
        cpu = perf->task_cpu(perf->context, leader->task);
    return cpu && cpu->meter.pmu ? cpu : NULL;
}

static enum upmu_status session_attach(struct upmu_session *session, const struct upmu_perf_event *leader)
{
    struct upmu_cpu *cpu = place_of(leader);
    enum upmu_status status = UPMU_OK;

    if (!leader->of_task)
        return cpu ? upmu_session_attach_cpu(session, cpu) : UPMU_ERR_NO_PMU;
    if (leader->cpu >= 0)
        status = upmu_session_limit_cpu(session, leader->perf->cpus[leader->cpu].cpu);
    return status == UPMU_OK ? upmu_session_attach_thread(session, &leader->task->thread, cpu) : status;
}

/*
 * Make a session of events of a group: of the enabled ones, or (`all`) of all of them, and of `more` if it is not NULL.
 * *out_events: how many hardware events these are.
 */
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
    return status == UPMU_OK ? upmu_session_share(session, !(leader->attr.flags & UPMU_PERF_PINNED)) : status;
}

/* The session is tried on a thread that runs nowhere, so that no CPU has to be reached. */
int upmu_perf_group_fits(struct upmu_perf_event *leader, struct upmu_perf_event *more)
{
    struct upmu_thread thread;
    unsigned events;
    enum upmu_status status = session_make(&more->session, leader, true, leader == more ? NULL : more, &events);

    upmu_thread_init(&thread, 0, 0, NULL);
    if (status == UPMU_OK)
        status = upmu_session_attach_thread(&more->session, &thread, NULL);
    (void)upmu_session_close(&more->session);
    return upmu_perf_errno(status);
}

/* ---- Start and stop ---- */

/*
 * Mark a group as failed and close its session: no event of it counts. If the session's CPU cannot be reached now, the
 * next upmu_perf_group_stop() closes the session.
 */
static void group_fail(struct upmu_perf_event *leader)
{
    leader->failed = true;
    for (struct upmu_perf_event *event = leader; event; event = event->next)
        event->index = UPMU_PERF_NO_INDEX;
    (void)upmu_session_close(&leader->session);
}

/* May a group count: is it enabled, and are its task and its CPU there? */
static bool group_counts(const struct upmu_perf_event *leader)
{
    return leader->enabled && !leader->failed && (!leader->of_task || leader->task) &&
           (leader->cpu < 0 || leader->perf->cpus[leader->cpu].cpu);
}

int upmu_perf_group_start(struct upmu_perf_event *leader)
{
    enum upmu_status status;
    unsigned events = 0;

    if (!group_counts(leader))
        return 0;
    status = session_make(&leader->session, leader, false, NULL, &events);
    if (status == UPMU_OK && events)
        status = session_attach(&leader->session, leader);
    if (status == UPMU_OK && events)
        status = upmu_session_start(&leader->session);
    if (status != UPMU_OK) {
        group_fail(leader);
        return leader->attr.flags & UPMU_PERF_PINNED ? 0 : upmu_perf_errno(status);
    }
    for (struct upmu_perf_event *event = leader; event; event = event->next)
        if (upmu_perf_is_software(event) && event->enabled)
            upmu_perf_soft_begin(event);
    return 0;
}

int upmu_perf_count(struct upmu_perf_event *event, struct upmu_count *out_count)
{
    enum upmu_status status;

    upmu_perf_hold(event);
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

/* Store in an event its count and times, after its group's session was detached. The event counts no more. */
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
    enum upmu_status status;

    upmu_perf_hold(leader);
    status = upmu_session_detach(&leader->session);
    if (status != UPMU_OK && status != UPMU_ERR_PORT)
        return upmu_perf_errno(status);
    for (struct upmu_perf_event *event = leader; event; event = event->next)
        event_keep(event);
    (void)upmu_session_close(&leader->session);
    return 0;
}

/* ---- An event leaves ---- */

static void event_unlink(struct upmu_perf_event *event)
{
    for (struct upmu_perf_event **link = &event->leader->next; event->leader != event && *link; link = &(*link)->next)
        if (*link == event) {
            *link = event->next;
            break;
        }
    upmu_perf_leave_task(event);
}

int upmu_perf_remove(struct upmu_perf_event *event)
{
    struct upmu_perf_event *leader = event->leader, *sibling = leader == event ? event->next : NULL, *next;
    int error = upmu_perf_group_stop(leader);

    if (error)
        return error;
    event_unlink(event);
    event->leader = event;
    event->next = NULL;
    if (leader != event)
        (void)upmu_perf_group_start(leader);
    for (; sibling; sibling = next) {
        next = sibling->next;
        sibling->next = NULL;
        sibling->leader = sibling;
        (void)upmu_perf_group_start(sibling);
    }
    return 0;
}
