/* SPDX-License-Identifier: MIT */
/*
 * Samples that no overflow of a counter takes. The host's tick looks at clocks and, on a port without interrupts at
 * overflows, at the counts of hardware events; a switch looks at the number of switches.
 */
#include "abi/perf/perf_core.h"

#define NS_A_SECOND 1000000000u

static uint64_t ns_of_frequency(const struct upmu_perf_event *event)
{
    uint64_t rest;

    return upmu_divide(NS_A_SECOND, (uint32_t)event->attr.period, &rest);
}

static uint64_t period_of(const struct upmu_perf_event *event)
{
    if (!(event->attr.flags & UPMU_PERF_FREQ))
        return event->attr.period;
    return event->attr.config > UPMU_PERF_TASK_CLOCK && upmu_perf_is_software(event) ? 1u : ns_of_frequency(event);
}

void upmu_perf_polled_begin(struct upmu_perf_event *event)
{
    if (!upmu_perf_is_polled(event))
        return;
    if (upmu_perf_is_software(event))
        event->since.due = period_of(event);
    else
        event->rest.reached = event->stopped.value;
}

/* Write a sample, and end the event if REFRESH has allowed no further one. */
static void sample_write(struct upmu_perf_event *event, const struct upmu_overflow *overflow, uint64_t period)
{
    upmu_perf_sample_write(event, overflow, period);
    if (!upmu_perf_sample_told(event))
        return;
    if (upmu_perf_is_software(event))
        upmu_perf_soft_end(event);
    else if (!upmu_perf_session_stop(event))
        (void)upmu_perf_session_start(event);
}

/* Sample a software event if its period has ended. `excluded`: the event excludes the mode that was interrupted. */
static void sample_software(struct upmu_perf_event *event, const struct upmu_overflow *overflow, bool excluded)
{
    uint64_t now, period = period_of(event), since;

    if (!event->counting)
        return;
    now = upmu_perf_soft_since(event);
    if ((int64_t)(now - event->since.due) < 0)
        return;
    since = now - (event->since.due - period);
    event->since.due = now + period;
    if (!excluded)
        sample_write(event, overflow, since);
}

/* Sample a hardware event if it has counted its period, or if the time of its frequency has passed. */
static void sample_hardware(struct upmu_perf_event *event, const struct upmu_overflow *overflow)
{
    struct upmu_perf_rest *rest = &event->rest;
    struct upmu_perf_sum sum;
    uint64_t more;
    bool due;

    if (event->index == UPMU_PERF_NO_INDEX || upmu_perf_count(event, &sum))
        return;
    more = sum.value - rest->reached;
    due = event->attr.flags & UPMU_PERF_FREQ ? more && overflow->time_ns - rest->left >= ns_of_frequency(event)
                                             : more >= event->attr.period;
    if (!due)
        return;
    rest->reached = sum.value;
    rest->left = overflow->time_ns;
    sample_write(event, overflow, more);
}

/* Make the overflow that stands for a tick, as an event may see it: the kernel's addresses can be hidden. */
static void overflow_of(const struct upmu_perf_event *event, const struct upmu_frame *frame, uint64_t time_ns,
                        struct upmu_overflow *out_overflow)
{
    bool hidden = frame && event->hides && !frame->user;

    *out_overflow = (struct upmu_overflow){.frame = hidden ? NULL : frame,
                                           .ip = frame && !hidden ? frame->ip : 0,
                                           .time_ns = time_ns,
                                           .flags = (uint16_t)(!frame        ? UPMU_SAMPLE_NO_FRAME
                                                               : frame->user ? UPMU_SAMPLE_USER
                                                                             : 0)};
}

/* Is an event sampled by ticks: one that no note of the host samples? */
static bool is_of_ticks(const struct upmu_perf_event *event)
{
    return upmu_perf_is_polled(event) && !(upmu_perf_is_software(event) && event->attr.config > UPMU_PERF_TASK_CLOCK);
}

static void tick_event(struct upmu_perf_event *event, const struct upmu_frame *frame, uint64_t time_ns)
{
    struct upmu_overflow overflow;

    upmu_perf_unthrottle(event, time_ns);
    if (!is_of_ticks(event))
        return;
    overflow_of(event, frame, time_ns, &overflow);
    if (!upmu_perf_is_software(event))
        sample_hardware(event, &overflow);
    else
        sample_software(event, &overflow,
                        frame && event->attr.flags & (frame->user ? UPMU_PERF_EXCLUDE_USER : UPMU_PERF_EXCLUDE_KERNEL));
}

void upmu_perf_tick(struct upmu_perf *perf, unsigned cpu, const struct upmu_frame *frame)
{
    struct upmu_perf_cpu *here = &perf->cpus[cpu];
    uint64_t now = perf->clock_ns ? perf->clock_ns(perf->context) : 0;

    here->ticks++;
    if (here->running)
        for (struct upmu_perf_event *event = here->running->events; event; event = event->next_of_task)
            if (event->cpu < 0 || (unsigned)event->cpu == cpu)
                tick_event(event, frame, now);
    for (struct upmu_perf_event *event = here->events; event; event = event->next_of_task)
        tick_event(event, frame, now);
}

void upmu_perf_sample_switch(struct upmu_perf_event *event, uint64_t time_ns)
{
    struct upmu_overflow overflow = {.time_ns = time_ns};

    if (event->attr.period && upmu_perf_is_software(event) && event->attr.config == UPMU_PERF_SWITCHES)
        sample_software(event, &overflow, false);
}

/* ---- Notes ---- */

/*
 * After a note: sample an event whose period the note has ended. Clocks are sampled by ticks. `address`: of a fault in
 * the kernel's mode, it can be one of the kernel.
 */
static void note_event(struct upmu_perf_event *event, const struct upmu_frame *frame, uint64_t address,
                       uint64_t time_ns)
{
    struct upmu_overflow overflow;

    if (!event->attr.period || !upmu_perf_is_software(event) || event->attr.config <= UPMU_PERF_TASK_CLOCK)
        return;
    overflow_of(event, frame, time_ns, &overflow);
    overflow.sp = event->hides && !(frame && frame->user) ? 0 : address;
    sample_software(event, &overflow, false);
}

void upmu_perf_note_frame(struct upmu_perf *perf, unsigned cpu, struct upmu_perf_task *task, enum upmu_perf_note note,
                          uint64_t address, const struct upmu_frame *frame)
{
    uint64_t now = perf->clock_ns ? perf->clock_ns(perf->context) : 0;

    upmu_perf_notes_add(perf, cpu, task, note, frame && frame->user);
    for (struct upmu_perf_event *event = task->events; event; event = event->next_of_task)
        if (event->cpu < 0 || (unsigned)event->cpu == cpu)
            note_event(event, frame, address, now);
    for (struct upmu_perf_event *event = perf->cpus[cpu].events; event; event = event->next_of_task)
        note_event(event, frame, address, now);
}
