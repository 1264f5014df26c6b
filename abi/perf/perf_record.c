/* SPDX-License-Identifier: MIT */
/*
 * Records as they all are: a header, the words that the caller writes, and the identity of the event (sample_id_all).
 * Records of inherited events go to the ring of the event that a program opened.
 *
 * Layouts: perf_event_open(2), "MMAP layout".
 */
#include "abi/perf/perf_core.h"

#define IDENTITY                                                                                                       \
    (UPMU_PERF_SAMPLE_TID | UPMU_PERF_SAMPLE_TIME | UPMU_PERF_SAMPLE_ID | UPMU_PERF_SAMPLE_STREAM_ID |                 \
     UPMU_PERF_SAMPLE_CPU | UPMU_PERF_SAMPLE_IDENTIFIER)

static void ring_wake(struct upmu_perf_ring *ring)
{
    const struct upmu_perf *perf = ring->owner->perf;

    __atomic_store_n(&ring->woken, 1u, __ATOMIC_RELEASE);
    if (perf->wake)
        perf->wake(perf->context, ring->owner, UPMU_PERF_WAKE_READABLE);
}

uint64_t upmu_perf_record_time(const struct upmu_perf_record *record)
{
    const struct upmu_perf_event *event = record->event;

    if (event->attr.flags & UPMU_PERF_USE_CLOCKID && event->perf->clock_of)
        return event->perf->clock_of(event->perf->context, event->attr.clockid);
    return record->origin.time_ns;
}

static unsigned identity_words(const struct upmu_perf_event *event)
{
    unsigned words = 0;

    if (event->attr.flags & UPMU_PERF_SAMPLE_ID_ALL)
        for (uint64_t rest = event->attr.sample_type & IDENTITY; rest; rest &= rest - 1u)
            words++;
    return words;
}

static void put_if(struct upmu_perf_record *record, uint64_t part, uint64_t word)
{
    if (record->event->attr.sample_type & part)
        upmu_perf_record_word(record, word);
}

/* Write the identity of the event, as it stands at the end of each record that is no sample. */
static void put_identity(struct upmu_perf_record *record)
{
    const struct upmu_perf_event *event = record->event;

    if (!(event->attr.flags & UPMU_PERF_SAMPLE_ID_ALL))
        return;
    put_if(record, UPMU_PERF_SAMPLE_TID, record->origin.task);
    put_if(record, UPMU_PERF_SAMPLE_TIME, upmu_perf_record_time(record));
    put_if(record, UPMU_PERF_SAMPLE_ID, event->id);
    put_if(record, UPMU_PERF_SAMPLE_STREAM_ID, event->id);
    put_if(record, UPMU_PERF_SAMPLE_CPU, record->origin.cpu);
    put_if(record, UPMU_PERF_SAMPLE_IDENTIFIER, event->id);
}

static void put_header(struct upmu_perf_record *record, uint32_t type, uint32_t misc, uint32_t words)
{
    upmu_perf_record_word(record, type | (uint64_t)misc << 32 | (uint64_t)(8u * words) << 48);
}

bool upmu_perf_record_begin(struct upmu_perf_record *record, uint32_t type, uint32_t misc, uint32_t words)
{
    struct upmu_perf_event *event = record->event;
    struct upmu_perf_ring *ring = __atomic_load_n(&event->ring, __ATOMIC_ACQUIRE);
    unsigned identity = identity_words(event);

    words += 1u + (type == UPMU_PERF_RECORD_SAMPLE ? 0 : identity);
    if (!ring || !ring->bytes)
        return false;
    if (!upmu_perf_ring_begin(ring, 8u * words, 8u * (3u + identity), &record->cursor)) {
        (void)__atomic_fetch_add(&event->lost, 1u, __ATOMIC_RELAXED);
        return false;
    }
    if (record->cursor.has_lost) {
        put_header(record, UPMU_PERF_RECORD_LOST, 0, 3u + identity);
        upmu_perf_record_word(record, event->id);
        upmu_perf_record_word(record, record->cursor.lost);
        put_identity(record);
    }
    put_header(record, type, misc, words);
    return true;
}

void upmu_perf_record_end(struct upmu_perf_record *record, uint32_t type)
{
    const struct upmu_perf_event *event = record->event;
    struct upmu_perf_ring *ring = record->cursor.ring;
    bool wakes = false;

    if (type != UPMU_PERF_RECORD_SAMPLE)
        put_identity(record);
    else if (event->attr.wakeup && !(event->attr.flags & UPMU_PERF_WATERMARK) &&
             ++ring->samples >= event->attr.wakeup) {
        ring->samples = 0;
        wakes = true;
    }
    if (upmu_perf_ring_end(ring) || wakes)
        ring_wake(ring);
}

void upmu_perf_origin_find(const struct upmu_perf_event *event, uint64_t time_ns, struct upmu_perf_origin *out_origin)
{
    const struct upmu_perf_task *task = event->of_task ? event->task : event->perf->cpus[event->cpu].running;

    out_origin->cpu = event->of_task ? task->cpu : (uint32_t)event->cpu;
    out_origin->task = task ? task->thread.pid | (uint64_t)task->thread.tid << 32 : 0;
    out_origin->time_ns = time_ns;
}
