/* SPDX-License-Identifier: MIT */
/*
 * Events that overflow too often: an event with too many samples between two ticks takes no samples until the next
 * tick, and counts on.
 */
#include "abi/perf/perf_core.h"

/*
 * The engine throttles an event with 1,000 overflows in a hundredth of a second, and tells no format. So the layer
 * throttles before: a hundredth of a second has parts of two ticks besides the whole ones.
 */
#define ENGINE_OVERFLOWS 999u
#define ENGINE_WINDOWS 100u
#define THROTTLED UINT16_MAX /* upmu_perf_event.samples of a throttled event */

/* Return the most samples that an event may take between two ticks. */
static uint32_t most_samples(const struct upmu_perf *perf)
{
    uint32_t most = upmu_perf_most_rate(perf) / perf->tick_rate;
    uint32_t of_engine = ENGINE_OVERFLOWS / (perf->tick_rate / ENGINE_WINDOWS + 2u);

    most = most < of_engine ? most : of_engine;
    return most ? most : 1u;
}

/* Tell the program that an event is throttled, or no more. */
static void tell_throttle(struct upmu_perf_event *event, const struct upmu_perf_origin *origin, uint32_t type)
{
    struct upmu_perf_record record = {.event = upmu_perf_opened(event), .origin = *origin};

    if (!upmu_perf_record_begin(&record, type, 0, 3u))
        return;
    upmu_perf_record_word(&record, upmu_perf_record_time(&record));
    upmu_perf_record_word(&record, record.event->id);
    upmu_perf_record_word(&record, record.event->id);
    upmu_perf_record_end(&record, type);
}

bool upmu_perf_throttles(struct upmu_perf_event *event, uint64_t time_ns)
{
    const struct upmu_perf *perf = event->perf;
    struct upmu_perf_origin origin;

    if (!perf->tick_rate || event->samples == THROTTLED)
        return perf->tick_rate;
    upmu_perf_origin_find(event, time_ns, &origin);
    if (event->tick != perf->cpus[origin.cpu].ticks)
        event->samples = 0;
    event->tick = perf->cpus[origin.cpu].ticks;
    if (event->samples++ < most_samples(perf))
        return false;
    event->samples = THROTTLED;
    if (event->task)
        event->task->throttled = true;
    tell_throttle(event, &origin, UPMU_PERF_RECORD_THROTTLE);
    return true;
}

void upmu_perf_unthrottle(struct upmu_perf_event *event, uint64_t time_ns)
{
    struct upmu_perf_origin origin;

    if (event->samples != THROTTLED)
        return;
    upmu_perf_origin_find(event, time_ns, &origin);
    event->samples = 0;
    tell_throttle(event, &origin, UPMU_PERF_RECORD_UNTHROTTLE);
}

/* Events that are limited to another CPU stay throttled until the task runs there. */
void upmu_perf_unthrottle_task(struct upmu_perf_task *task)
{
    const struct upmu_perf *perf = task->perf;
    bool throttled = task->throttled;

    task->throttled = false;
    for (struct upmu_perf_event *event = throttled ? task->events : NULL; event; event = event->next_of_task)
        if (event->samples == THROTTLED && event->cpu >= 0 && (unsigned)event->cpu != task->cpu)
            task->throttled = true;
        else if (event->samples == THROTTLED)
            upmu_perf_unthrottle(event, perf->clock_ns ? perf->clock_ns(perf->context) : 0);
}
