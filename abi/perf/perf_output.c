/* SPDX-License-Identifier: MIT */
/*
 * Which ring the records of an event go to: mmap, poll, SET_OUTPUT.
 *
 * A ring is written by one CPU at a time: it belongs to one CPU, or to one task, whose records are written on the CPU
 * that runs the task.
 */
#include "abi/perf/perf_core.h"

/* ---- The ring of an event ---- */

static void writers_start(struct upmu_perf_event *event)
{
    (void)upmu_perf_session_start(event);
    for (struct upmu_perf_event *child = event->children; child; child = child->next_child)
        (void)upmu_perf_session_start(child);
}

/*
 * Stop the sessions of an event and of those inherited from it. Returns 0; -EBUSY: a CPU cannot be reached, and those
 * that were stopped are started again.
 */
static int writers_stop(struct upmu_perf_event *event)
{
    int error = upmu_perf_session_stop(event);

    for (struct upmu_perf_event *child = event->children; child && !error; child = child->next_child) {
        error = upmu_perf_session_stop(child);
        if (!error)
            continue;
        (void)upmu_perf_session_start(event);
        for (struct upmu_perf_event *other = event->children; other != child; other = other->next_child)
            (void)upmu_perf_session_start(other);
    }
    return error;
}

/*
 * Let the records of an event go to another ring; NULL: nowhere. If the event had a ring, the event and those inherited
 * from it are stopped meanwhile, so that no handler writes into that ring later. Returns 0 or -EBUSY, with nothing
 * changed.
 */
static int output_change(struct upmu_perf_event *event, struct upmu_perf_ring *ring)
{
    struct upmu_perf_ring *former = event->ring;
    int error = former ? writers_stop(event) : 0;

    if (error)
        return error;
    for (struct upmu_perf_event **link = former ? &former->events : NULL; link && *link; link = &(*link)->next_of_ring)
        if (*link == event) {
            *link = event->next_of_ring;
            break;
        }
    if (ring) {
        event->next_of_ring = ring->events;
        ring->events = event;
    }
    __atomic_store_n(&event->ring, ring, __ATOMIC_RELEASE);
    upmu_perf_wait_switch(event);
    if (former)
        writers_start(event);
    return 0;
}

/* Would records of the event come from several CPUs at the same time? */
static bool is_everywhere(const struct upmu_perf_event *event)
{
    return event->cpu == -1 && event->attr.flags & UPMU_PERF_INHERIT;
}

int upmu_perf_output_set(struct upmu_perf_event *event, const struct upmu_perf_event *output)
{
    if (event->mapped)
        return -UPMU_PERF_EINVAL;
    if (output &&
        (output == event || !output->ring || output->cpu != event->cpu || is_everywhere(event) ||
         (event->cpu == -1 && output->task != event->task) || !upmu_perf_attr_same_clock(&output->attr, &event->attr) ||
         (output->attr.flags ^ event->attr.flags) & UPMU_PERF_WRITE_BACKWARD))
        return -UPMU_PERF_EINVAL;
    return output_change(event, output ? output->ring : NULL);
}

static void ring_give(const struct upmu_perf *perf, struct upmu_perf_ring *ring)
{
    if (ring->counts)
        perf->give(perf->context, ring->counts, sizeof *ring->counts);
    perf->give(perf->context, ring, sizeof *ring);
}

/*
 * Take memory for a ring in these pages, and for the counts of an event that a program may read; such an event is
 * stopped. Returns 0 or a negative errno, with nothing changed.
 */
static int ring_take(struct upmu_perf_event *event, void *const *pages, uint32_t count,
                     struct upmu_perf_ring **out_ring)
{
    const struct upmu_perf *perf = event->perf;
    struct upmu_perf_ring *ring = perf->take(perf->context, sizeof *ring);
    bool readable = upmu_perf_page_is_readable(event);
    int error;

    if (!ring)
        return -UPMU_PERF_ENOMEM;
    error = upmu_perf_ring_init(ring, pages, count, event->attr.flags & UPMU_PERF_WATERMARK ? event->attr.wakeup : 0);
    if (!error)
        upmu_perf_page_clock(event, pages[0], 0);
    if (!error && readable) {
        ring->counts = perf->take(perf->context, sizeof *ring->counts);
        error = ring->counts ? upmu_perf_session_stop(event) : -UPMU_PERF_ENOMEM;
    }
    if (error)
        ring_give(perf, ring);
    *out_ring = ring;
    return error;
}

int64_t upmu_perf_map(struct upmu_perf_event *event, void *const *pages, uint32_t count, bool writable)
{
    struct upmu_perf_ring *ring;
    int error;

    if (event->ring || is_everywhere(event))
        return -UPMU_PERF_EINVAL;
    error = ring_take(event, pages, count, &ring);
    if (error)
        return error;
    ring->overwrite = !writable;
    ring->backward = event->attr.flags & UPMU_PERF_WRITE_BACKWARD;
    ring->owner = event;
    event->mapped = true;
    (void)output_change(event, ring); /* no former ring: no CPU has to be reached */
    if (ring->counts)
        (void)upmu_perf_session_start(event);
    return 0;
}

int64_t upmu_perf_unmap(struct upmu_perf_event *event)
{
    struct upmu_perf_ring *ring = event->ring;

    if (!event->mapped)
        return 0;
    while (ring->events) {
        int error = output_change(ring->events, NULL);

        if (error)
            return error;
    }
    event->mapped = false;
    ring_give(event->perf, ring);
    return 0;
}

int upmu_perf_output_end(struct upmu_perf_event *event)
{
    return event->mapped ? (int)upmu_perf_unmap(event) : event->ring ? output_change(event, NULL) : 0;
}

/* ---- poll ---- */

unsigned upmu_perf_poll(struct upmu_perf_event *event)
{
    if (!event->ring || (event->of_task && !event->task && !event->children))
        return UPMU_PERF_POLL_HUP;
    return __atomic_exchange_n(&event->ring->woken, 0, __ATOMIC_ACQUIRE) ? UPMU_PERF_POLL_IN : 0;
}
