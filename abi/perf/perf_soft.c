/* SPDX-License-Identifier: MIT */
/*
 * Software events. The host notes what happens, once for the task and once for the CPU. The count of an event is the
 * difference between the sum of the notes now and their sum when the event began to count, so that a note costs the
 * same however many events there are.
 */
#include "abi/perf/perf_core.h"

static uint64_t clock_of(const struct upmu_perf *perf)
{
    return perf->clock_ns ? perf->clock_ns(perf->context) : 0;
}

static const struct upmu_perf_notes *notes_of(const struct upmu_perf_event *event)
{
    return event->task ? &event->task->notes : &event->perf->cpus[event->cpu].notes;
}

/* Return the clock of an event's target: for a task the time that it has run, for a CPU the present time. */
static uint64_t target_ns(const struct upmu_perf_event *event)
{
    const struct upmu_perf_notes *notes = notes_of(event);
    uint64_t now = clock_of(event->perf);

    if (!event->task)
        return now;
    return notes->ran_ns + (event->task->runs ? now - notes->since_ns : 0);
}

static uint64_t notes_sum(const struct upmu_perf_event *event, enum upmu_perf_note note)
{
    const struct upmu_perf_notes *notes = notes_of(event);
    uintptr_t count = 0;

    if (!(event->attr.flags & UPMU_PERF_EXCLUDE_USER))
        count += __atomic_load_n(&notes->count[1][note], __ATOMIC_RELAXED);
    if (!(event->attr.flags & UPMU_PERF_EXCLUDE_KERNEL))
        count += __atomic_load_n(&notes->count[0][note], __ATOMIC_RELAXED);
    return count;
}

static bool is_clock(const struct upmu_perf_event *event)
{
    return event->attr.config == UPMU_PERF_CPU_CLOCK || event->attr.config == UPMU_PERF_TASK_CLOCK;
}

/*
 * Return the total of an event's kind for its target: ns of a clock in 64 bits, else a sum of notes as wide as
 * uintptr_t.
 */
static uint64_t event_total(const struct upmu_perf_event *event)
{
    switch (event->attr.config) {
    case UPMU_PERF_FAULTS:
        return notes_sum(event, UPMU_PERF_NOTE_FAULT_MINOR) + notes_sum(event, UPMU_PERF_NOTE_FAULT_MAJOR);
    case UPMU_PERF_FAULTS_MINOR:
        return notes_sum(event, UPMU_PERF_NOTE_FAULT_MINOR);
    case UPMU_PERF_FAULTS_MAJOR:
        return notes_sum(event, UPMU_PERF_NOTE_FAULT_MAJOR);
    case UPMU_PERF_SWITCHES:
        return notes_sum(event, UPMU_PERF_NOTE_SWITCH);
    case UPMU_PERF_MIGRATIONS:
        return notes_sum(event, UPMU_PERF_NOTE_MIGRATION);
    default:
        return is_clock(event) ? target_ns(event) : 0;
    }
}

uint64_t upmu_perf_soft_since(const struct upmu_perf_event *event)
{
    uint64_t more = event_total(event) - event->since.total;

    return is_clock(event) ? more : (uintptr_t)more;
}

bool upmu_perf_is_software(const struct upmu_perf_event *event)
{
    return event->attr.type == UPMU_PERF_TYPE_SOFTWARE;
}

void upmu_perf_soft_begin(struct upmu_perf_event *event)
{
    if (event->counting || (event->task && event->cpu >= 0 && event->perf->cpus[event->cpu].running != event->task))
        return;
    event->counting = true;
    event->since.total = event_total(event);
    event->since.ns = target_ns(event);
}

void upmu_perf_soft_count(const struct upmu_perf_event *event, struct upmu_perf_sum *out_sum)
{
    *out_sum = event->stopped;
    if (event->counting) {
        uint64_t ns = target_ns(event) - event->since.ns;

        upmu_perf_sum_add(out_sum, &(struct upmu_perf_sum){upmu_perf_soft_since(event), ns, ns});
    }
}

void upmu_perf_soft_end(struct upmu_perf_event *event)
{
    struct upmu_perf_sum sum;

    upmu_perf_soft_count(event, &sum);
    event->stopped = sum;
    if (event->counting)
        event->since.due -= upmu_perf_soft_since(event);
    event->counting = false;
}
