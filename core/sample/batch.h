/* SPDX-License-Identifier: MIT */
/*
 * Batches: precise events of which the hardware stores many records before one look at them (UPMU_SAMPLING_BATCH).
 * Called by the engine and by core/sample/records_handle.c.  Context: a bracket, or a handler that interrupted none;
 * any for upmu_batch_refuses(); on the CPU of the meter for upmu_batch_value(), upmu_batch_waits() and
 * upmu_batch_interrupts().
 */
#ifndef UPMU_CORE_BATCH_H
#define UPMU_CORE_BATCH_H

#include "core/engine/count.h"
#include "core/sample/precise_core.h"
#include "core/sample/records_core.h"

#if UPMU_PRECISE

/*
 * Return those of the counters `seen`, which have stored the buffer's records, that a record's word of counters names.
 * In formats 1 and 2 a record that names none may be of each.
 */
uint32_t upmu_batch_named(const struct upmu_meter *meter, uint32_t seen, uint64_t bits);

/* Is it unknown whose record of these counters it is?  So where formats 1 and 2 name several. */
bool upmu_batch_is_shared(const struct upmu_meter *meter, uint32_t named);

/*
 * Return the place in the area of the value that a counter gets after a record.  Formats 5 and 6 have places for 32
 * general counters in front of those of fixed ones, older formats places for 8.
 */
unsigned upmu_batch_reload_at(const struct upmu_meter *meter, unsigned counter);

/*
 * Check a batch, or an event beside a batch: entry `index` of a set is to be this event, sampled so.  Returns NULL, or
 * why that is refused: a constant text below UPMU_WHY_WORD bytes.
 */
const char *upmu_batch_refuses(const struct upmu_set *set, unsigned index, const struct upmu_event *event,
                               const struct upmu_sampling *sampling);

/* Has any set of a session a batch? */
bool upmu_batch_any(const struct upmu_session *session);

/* Refuse an event for this reason, which becomes session->why.word.  Returns UPMU_ERR_UNSUPPORTED. */
enum upmu_status upmu_batch_refuse(struct upmu_session *session, const struct upmu_event *event, const char *reason);

/*
 * A CPU gets memory: compute after how many bytes of records the hardware interrupts (upmu_records.full_batch), so that
 * the handler stays within its budget of instructions.
 */
void upmu_batch_budget(struct upmu_records *records, const struct upmu_pmu *pmu);

/*
 * Return the highest maximum of the buffer for the area: no record that begins before it ends behind the buffer.
 */
uint64_t upmu_batch_maximum(const struct upmu_meter *meter);

/*
 * From now on these counters store records: note which of them are of batches, and set threshold and maximum of the
 * buffer for them.
 */
void upmu_batch_come(struct upmu_meter *meter, uint32_t counters);

/* The record at place `at` is of these counters of batches: note it as left. */
void upmu_batch_give(struct upmu_records *records, uint32_t counters, unsigned at);

/*
 * The records of these counters of batches are found (upmu_records.left) and the counters closed: count the periods of
 * the records, and mark those events that have samples due.
 */
void upmu_batch_fold(struct upmu_meter *meter, uint32_t counters);

/* The records of these counters of batches cannot be read: their counts lack an unknown part (`hole`). */
void upmu_batch_lose(struct upmu_meter *meter, uint32_t counters);

/*
 * Read the next record that is left of a batch.  Returns false where its sample is lost: the record is of several
 * counters, or damaged.
 */
bool upmu_batch_next(struct upmu_meter *meter, unsigned counter, struct upmu_precise *out);

/* Has the buffer records while batches run? */
static inline bool upmu_batch_waits(const struct upmu_meter *meter)
{
    const struct upmu_records *records = &meter->cpu->records;

    return meter->precise && records->batches && records->area[UPMU_AREA_INDEX] != records->buffer_linear;
}

/* Have batches reached the threshold, so that their interrupt may still come? */
static inline bool upmu_batch_interrupts(const struct upmu_meter *meter)
{
    const struct upmu_records *records = &meter->cpu->records;

    return upmu_batch_waits(meter) && records->area[UPMU_AREA_INDEX] >= records->area[UPMU_AREA_THRESHOLD];
}

/*
 * Read `counter` for the event of a tally as upmu_count_value() does.  For a batch add to the value the periods of the
 * records in the buffer, *out_missed events, that are in no count yet: then the difference to `base` is what the event
 * has counted.
 */
bool upmu_batch_value(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t *out_value,
                      uint64_t *out_missed);

/* Return how many records of an event are left; 0: the event is no batch, or has none. */
static inline unsigned upmu_batch_left(const struct upmu_cpu *cpu, const struct upmu_tally *tally)
{
    return upmu_tally_is_batch(tally) ? cpu->records.left[upmu_tally_runs_on(tally)] : 0;
}

#else

static inline bool upmu_batch_waits(const struct upmu_meter *meter)
{
    (void)meter;
    return false;
}

static inline bool upmu_batch_interrupts(const struct upmu_meter *meter)
{
    (void)meter;
    return false;
}

static inline unsigned upmu_batch_left(const struct upmu_cpu *cpu, const struct upmu_tally *tally)
{
    (void)cpu;
    (void)tally;
    return 0;
}

static UPMU_INSIDE bool upmu_batch_value(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter,
                                         uint64_t *out_value, uint64_t *out_missed)
{
    *out_missed = 0;
    return upmu_count_value(meter, tally, counter, out_value);
}

#endif

#endif
