/* SPDX-License-Identifier: MIT */
/*
 * A group is one session, with the enabled hardware events of the group in the order of their opens. Every change of a
 * group (an event more or less, an event enabled or disabled) stops the session, adds its counts to the events, and
 * makes the session anew.
 *
 * The memory of a session is taken when an event is opened or inherited, with room for the hardware events that the
 * group has then. No memory can be missing when an event ends: if the event leads a group, the others become groups of
 * one, and stay together in the session that is there. An event that joins one of them gets that one a session of its
 * own. So a list of events with one session is either one group, led by the first event, or has groups of one alone.
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

/* Return the list of events to which an event of a task or a CPU belongs. */
static struct upmu_perf_event **events_of_target(const struct upmu_perf_event *event)
{
    return event->of_task ? &event->task->events : &event->perf->cpus[event->cpu].events;
}

bool upmu_perf_is_switched(const struct upmu_perf_event *event)
{
    return event->attr.flags & UPMU_PERF_CONTEXT_SWITCH ||
           (upmu_perf_is_software(event) &&
            (event->cpu >= 0 || (event->attr.period && event->attr.config == UPMU_PERF_SWITCHES)));
}

void upmu_perf_link(struct upmu_perf_event *event, struct upmu_perf_event *leader)
{
    struct upmu_perf_event **end = &leader->next, **list;

    upmu_perf_hold(event);
    event->leader = event->first = leader;
    while (leader != event && *end)
        end = &(*end)->next;
    if (leader != event)
        *end = event;
    if (event->task || !event->of_task) {
        list = events_of_target(event);
        event->next_of_task = *list;
        __atomic_store_n(list, event, __ATOMIC_RELEASE);
        if (event->task)
            event->task->watches += upmu_perf_is_switched(event);
    }
}

void upmu_perf_leave_task(struct upmu_perf_event *event)
{
    if (event->of_task && !event->task)
        return;
    upmu_perf_hold(event);
    for (struct upmu_perf_event **link = events_of_target(event); *link; link = &(*link)->next_of_task)
        if (*link == event) {
            __atomic_store_n(link, event->next_of_task, __ATOMIC_RELAXED);
            break;
        }
    upmu_perf_wait_switch(event);
    if (event->task)
        event->task->watches -= upmu_perf_is_switched(event);
    event->task = NULL;
}

/* A switch that begins to look after the fence does not find the event, or finds its new ring. */
void upmu_perf_wait_switch(const struct upmu_perf_event *event)
{
    const uint32_t *walks = event->of_task ? NULL : &event->perf->cpus[event->cpu].walks;
    uint32_t before;

    if (!walks)
        return;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    before = __atomic_load_n(walks, __ATOMIC_SEQ_CST);
    while (before & 1u && __atomic_load_n(walks, __ATOMIC_ACQUIRE) == before)
        ;
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
    else if (leader->task->runs)
        cpu = perf->cpus[leader->task->cpu].cpu;
    return cpu && cpu->meter.pmu ? cpu : NULL;
}

/* Return the first event of a list that a unit outside the cores counts, and so all hardware events do; or NULL. */
static const struct upmu_perf_event *first_of_unit(const struct upmu_perf_event *event)
{
    while (event && !upmu_perf_is_unit(event))
        event = event->next;
    return event;
}

static enum upmu_status session_attach(struct upmu_session *session, const struct upmu_perf_event *leader)
{
    const struct upmu_perf_event *of_unit = first_of_unit(leader);
    struct upmu_cpu *cpu;
    enum upmu_status status = UPMU_OK;

    if (of_unit)
        return upmu_perf_unit_attach(session, of_unit);
    cpu = place_of(leader);
    if (!leader->of_task)
        return cpu ? upmu_session_attach_cpu(session, cpu) : UPMU_ERR_NO_PMU;
    if (leader->cpu >= 0)
        status = upmu_session_limit_cpu(session, leader->perf->cpus[leader->cpu].cpu);
    return status == UPMU_OK ? upmu_session_attach_thread(session, &leader->task->thread, cpu) : status;
}

/*
 * May an event count: it and its leader are enabled, its group has not failed, its task has not ended, and the CPU to
 * which it is limited, if any, is online? Another CPU drives a unit when its CPU goes.
 */
static bool event_may_count(const struct upmu_perf_event *event)
{
    return event->enabled && event->leader->enabled && !event->leader->failed && (!event->of_task || event->task) &&
           (event->cpu < 0 || upmu_perf_is_unit(event) || event->perf->cpus[event->cpu].cpu);
}

static bool event_has_counter(const struct upmu_perf_event *event)
{
    return !upmu_perf_is_software(event) && event_may_count(event);
}

/* Is a group to have its PMU alone? Members of a group are refused with this attribute. */
static bool is_alone(const struct upmu_perf_event *leader)
{
    return leader->attr.flags & UPMU_PERF_EXCLUSIVE;
}

/*
 * Make the session of a list of events anew, of the hardware events that may count, and start it where there are any.
 */
static enum upmu_status session_begin(struct upmu_perf_event *first)
{
    enum upmu_status status =
        upmu_session_init_sized(first->session, upmu_session_bytes(first->room), first->perf->machine, &first->session);
    unsigned events = 0;
    uint8_t index = 0;

    for (const struct upmu_perf_event *event = first; event; event = event->next)
        events += event_has_counter(event);
    for (struct upmu_perf_event *event = first; event && status == UPMU_OK; event = event->next)
        if (event_has_counter(event)) {
            event->index = index++;
            status = upmu_perf_sample_add(first->session, event, events);
        }
    if (status == UPMU_OK)
        upmu_perf_page_begin(first->session, first);
    if (status != UPMU_OK || !events)
        return status;
    status = upmu_session_share(first->session, UPMU_SHARING && !(first->attr.flags & UPMU_PERF_PINNED));
    if (status == UPMU_OK)
        status = upmu_session_alone(first->session, is_alone(first));
    if (status == UPMU_OK)
        status = upmu_perf_sample_begin(first->session, first);
    if (status == UPMU_OK)
        status = session_attach(first->session, first);
    return status == UPMU_OK ? upmu_session_start(first->session) : status;
}

/*
 * Mark all groups of a list as failed and close the session: no event counts. If the session's CPU cannot be reached
 * now, the next upmu_perf_session_stop() closes the session.
 */
static void session_fail(struct upmu_perf_event *first)
{
    for (struct upmu_perf_event *event = first; event; event = event->next) {
        event->leader->failed = true;
        event->index = UPMU_PERF_NO_INDEX;
    }
    (void)upmu_session_close(first->session);
}

int upmu_perf_session_start(struct upmu_perf_event *event)
{
    struct upmu_perf_event *first = event->first;
    enum upmu_status status = first->session ? session_begin(first) : UPMU_OK;

    if (status != UPMU_OK) {
        session_fail(first);
        return first->attr.flags & UPMU_PERF_PINNED ? 0 : upmu_perf_errno(status);
    }
    for (event = first; event; event = event->next)
        if (upmu_perf_is_software(event) && event_may_count(event))
            upmu_perf_soft_begin(event);
    return 0;
}

int upmu_perf_count(struct upmu_perf_event *event, struct upmu_perf_sum *out_sum)
{
    upmu_perf_hold(event);
    return upmu_perf_count_here(event, out_sum);
}

int upmu_perf_session_stop(struct upmu_perf_event *event)
{
    struct upmu_perf_event *first = event->first;
    enum upmu_status status = UPMU_OK;

    upmu_perf_hold(first);
    if (first->session)
        status = upmu_session_detach(first->session);
    if (status != UPMU_OK && status != UPMU_ERR_PORT)
        return upmu_perf_errno(status);
    for (event = first; event; event = event->next) {
        bool has_counted = event->index != UPMU_PERF_NO_INDEX;
        struct upmu_perf_sum sum;
        struct upmu_count count;

        upmu_perf_soft_end(event);
        sum = event->stopped;
        if (has_counted && !upmu_perf_count_add(event, &count, &sum)) {
            upmu_perf_sample_stop(event, &count);
            event->stopped = sum;
        }
        event->index = UPMU_PERF_NO_INDEX;
    }
    if (first->session)
        (void)upmu_session_close(first->session);
    return 0;
}

/* ---- Memory of the session ---- */

static void session_give(const struct upmu_perf *perf, struct upmu_session *session, unsigned events)
{
    if (session)
        perf->give(perf->context, session, upmu_session_bytes(events));
}

/* Make a session with room for `events` hardware events; for 0 events none. Returns 0; -ENOMEM; -EINVAL: too many. */
static int session_take(const struct upmu_perf *perf, unsigned events, struct upmu_session **out_session)
{
    size_t bytes = upmu_session_bytes(events);
    void *memory;

    *out_session = NULL;
    if (!bytes)
        return events ? -UPMU_PERF_EINVAL : 0;
    memory = perf->take(perf->context, bytes);
    return memory && upmu_session_init_sized(memory, bytes, perf->machine, out_session) == UPMU_OK ? 0
                                                                                                   : -UPMU_PERF_ENOMEM;
}

static unsigned group_hardware_events(const struct upmu_perf_event *leader)
{
    unsigned events = 0;

    for (; leader; leader = upmu_perf_group_next(leader))
        events += !upmu_perf_is_software(leader);
    return events;
}

int upmu_perf_group_room(struct upmu_perf_event *leader)
{
    leader->room = (uint8_t)group_hardware_events(leader);
    return session_take(leader->perf, leader->room, &leader->session);
}

/*
 * Can the hardware events of a group run together with `more`, which is the leader or joins? The session is tried on a
 * thread that runs nowhere, so that no CPU has to be reached, or on the events' unit.
 */
static int session_try(struct upmu_session *session, struct upmu_perf_event *leader, struct upmu_perf_event *more)
{
    enum upmu_status status = upmu_session_share(session, UPMU_SHARING && !(leader->attr.flags & UPMU_PERF_PINNED));
    const struct upmu_perf_event *of_unit = first_of_unit(leader);
    struct upmu_thread thread;

    if (!of_unit)
        of_unit = first_of_unit(more);
    upmu_thread_init(&thread, 0, 0, NULL);
    if (status == UPMU_OK)
        status = upmu_session_alone(session, is_alone(leader));
    for (struct upmu_perf_event *event = leader; event && status == UPMU_OK; event = upmu_perf_group_next(event))
        if (!upmu_perf_is_software(event))
            status = upmu_perf_sample_add(session, event, 1u);
    if (leader != more && !upmu_perf_is_software(more) && status == UPMU_OK)
        status = upmu_perf_sample_add(session, more, 1u);
    if (status == UPMU_OK)
        status = of_unit ? upmu_perf_unit_attach(session, of_unit)
                         : upmu_session_attach_thread(session, &thread, NULL);
    (void)upmu_session_close(session);
    return upmu_perf_errno(status);
}

int upmu_perf_group_grow(struct upmu_perf_event *leader, struct upmu_perf_event *more)
{
    unsigned events = group_hardware_events(leader) + (leader != more && !upmu_perf_is_software(more));
    struct upmu_perf_event *others = NULL;
    struct upmu_session *session;
    int error = session_take(leader->perf, events, &session);

    if (!error && session)
        error = session_try(session, leader, more);
    if (!error)
        error = upmu_perf_session_stop(leader);
    if (error) {
        session_give(leader->perf, session, events);
        return error;
    }
    if (upmu_perf_group_next(leader))
        session_give(leader->perf, leader->session, leader->room);
    else
        others = upmu_perf_session_leave(leader);
    leader->session = session;
    leader->room = (uint8_t)events;
    if (others)
        (void)upmu_perf_session_start(others);
    return 0;
}

/* ---- An event leaves its group and its task ---- */

struct upmu_perf_event *upmu_perf_session_leave(struct upmu_perf_event *event)
{
    struct upmu_perf_event *first = event->first, **link = &first;

    while (*link != event)
        link = &(*link)->next;
    *link = event->next;
    if (!first)
        session_give(event->perf, event->session, event->room);
    else if (first != event->first) {
        first->session = event->session;
        first->room = event->room;
    }
    for (struct upmu_perf_event *other = first; other; other = other->next) {
        other->first = first;
        if (other->leader == event)
            other->leader = other;
    }
    event->session = NULL;
    event->leader = event->first = event;
    event->next = NULL;
    return first;
}

int upmu_perf_remove(struct upmu_perf_event *event)
{
    struct upmu_perf_event *others;
    int error = upmu_perf_session_stop(event);

    if (error)
        return error;
    others = upmu_perf_session_leave(event);
    upmu_perf_leave_task(event);
    if (others)
        (void)upmu_perf_session_start(others);
    return 0;
}
