/* SPDX-License-Identifier: MIT */
/*
 * Batches of precise records.
 *
 * A record of a batch loads its counter with the whole period, so that the hardware stores one record after the other.
 * So each record lowers the value of the counter by a period: what the event has counted is the difference of the
 * values, plus a period for each record of it that is in no count yet.  Records are counted when they are taken: the
 * value right after the last one is known, and becomes the base (upmu_count_fold_records()).
 *
 * A buffer that is full stores no record and loads no counter (SDM 18.4.2): the counter goes on from zero, and its
 * count stays exact.
 */
#include "core/sample/batch.h"
#include "core/hw/bank.h"
#include "core/hw/port_call.h"
#include "core/engine/machine.h"
#include "core/engine/meter.h"
#include "core/engine/plan.h"
#include "core/event/why.h"
#include "core/sample/branch_samples.h"
#include <upmu/precise.h>

#if UPMU_PRECISE

/*
 * The budget of an interrupt in instructions, what it takes besides the records of batches (with an ordinary sample),
 * and the cost of a record with its sample: without parts, with parts of one word each, and with registers; for formats
 * 0 to 3, and for later ones.  Measured by tests/bench/bench_records.c (docs/PRECISE.md), and a tenth added.
 * `make check` compares them with what is measured (tools/bench.py).
 */
#define BUDGET 20000u
#define COST_BESIDES 2000u
#define SHAPES 3u
static const uint16_t record_cost[2][SHAPES] = {{890, 1120, 2250}, {900, 1200, 2270}};

/* The hardware may store so many records more until the handler has closed the counters. */
#define LATE_RECORDS 2u

/* The longest period: as much as one load of a counter can wait for where only 32 bits can be written. */
#define LONGEST_BATCHED UINT64_C(0x7fffffff)

static unsigned parts_bytes(const struct upmu_pmu *pmu)
{
    return pmu->record_capabilities & UPMU_RECORDS_ADAPTIVE ? UPMU_RECORD_GROUP_BYTES : 0;
}

/* ---- Formats ---- */

/* From this format on a record names the counters whose record it is, and no others. */
#define FORMAT_NAMED 3u

static unsigned record_format(const struct upmu_pmu *pmu)
{
    return pmu->record_capabilities >> 8 & 0xfu;
}

/* Return those of `counters` whose bits a record's word of counters has. */
static uint32_t counters_of_bits(const struct upmu_pmu *pmu, uint32_t counters, uint64_t bits)
{
    uint32_t named = 0;

    for (; counters; counters &= counters - 1u)
        if (bits >> pmu->counter[upmu_bits_lowest(counters)].gate_bit & 1u)
            named |= counters & ~(counters - 1u);
    return named;
}

uint32_t upmu_batch_named(const struct upmu_meter *meter, uint32_t seen, uint64_t bits)
{
    uint32_t named = counters_of_bits(meter->pmu, seen, bits);

    return !named && record_format(meter->pmu) < FORMAT_NAMED ? seen : named;
}

bool upmu_batch_is_shared(const struct upmu_meter *meter, uint32_t named)
{
    return record_format(meter->pmu) < FORMAT_NAMED && (named & (named - 1u));
}

unsigned upmu_batch_reload_at(const struct upmu_meter *meter, unsigned counter)
{
    unsigned general = record_format(meter->pmu) < 5 ? 8 : 32;

    return UPMU_AREA_RESET + (counter < UPMU_FIXED_COUNTER(0) ? counter : counter - UPMU_FIXED_COUNTER(0) + general);
}

/* ---- Refusals ---- */

static const char *refuse_alone(const struct upmu_set *set, const struct upmu_event *event,
                                const struct upmu_sampling *sampling)
{
    if (!sampling->period || !(event->attributes & UPMU_ATTR_PRECISE))
        return "BATCH: not a sampled precise event";
    if (sampling->random_mask || sampling->frequency || sampling->long_period)
        return "BATCH: its period cannot change";
    if (sampling->switch_after || (sampling->flags & UPMU_SAMPLING_NOTIFY))
        return "BATCH: no switches of sets, no messages";
    if (upmu_session_wants_branches(set->session))
        return "BATCH: its samples have no branches";
    if (event->least_log2 | event->step_log2)
        return "BATCH: an erratum limits its loads";
    /* A record loads the counter with one event less than the period. */
    if (sampling->period <= upmu_machine_pmu_of(set->session->machine, event->pmu)->min_period ||
        sampling->period < 2 || sampling->period > LONGEST_BATCHED)
        return "BATCH: period too short, or above 2^31 - 1";
    return NULL;
}

const char *upmu_batch_refuses(const struct upmu_set *set, unsigned index, const struct upmu_event *event,
                               const struct upmu_sampling *sampling)
{
    bool batch = sampling->flags & UPMU_SAMPLING_BATCH, beside = false, precise = false;
    uint32_t touched = sampling->values | sampling->resets;

    for (unsigned i = 0; i < set->count; i++) {
        if (i == index)
            continue;
        beside = beside || set->tally[i].batch;
        precise = precise || set->tally[i].precise;
        touched |= set->sampling[i].values | set->sampling[i].resets;
    }
    if (!batch && !beside)
        return NULL;
    if (touched)
        return "BATCH: no values and no resets in its set";
    if (batch ? precise : sampling->period && (event->attributes & UPMU_ATTR_PRECISE))
        return "BATCH: another precise event in its set";
    return batch ? refuse_alone(set, event, sampling) : NULL;
}

bool upmu_batch_any(const struct upmu_session *session)
{
    for (const struct upmu_set *set = session->sets; set; set = upmu_set_after(set))
        for (unsigned i = 0; i < set->count; i++)
            if (set->tally[i].batch)
                return true;
    return false;
}

enum upmu_status upmu_batch_refuse(struct upmu_session *session, const struct upmu_event *event, const char *reason)
{
    const struct upmu_pmu *pmu = upmu_machine_pmu_of(session->machine, event->pmu);

    (void)upmu_why_refuse(&session->why, UPMU_ERR_UNSUPPORTED, pmu, NULL, 0, 0);
    for (unsigned i = 0; UPMU_WHY_TEXT && i < UPMU_WHY_WORD - 1u && reason[i]; i++)
        session->why.word[i] = reason[i];
    return UPMU_ERR_UNSUPPORTED;
}

/* ---- Threshold ---- */

void upmu_batch_budget(struct upmu_records *records, const struct upmu_pmu *pmu)
{
    const uint16_t *cost = record_cost[parts_bytes(pmu) != 0];

    for (unsigned shape = 0; shape < SHAPES; shape++) {
        unsigned size = pmu->record_bytes + (shape ? parts_bytes(pmu) : 0);
        unsigned most = (BUDGET - COST_BESIDES) / cost[shape] - LATE_RECORDS;
        unsigned room = (records->bytes - parts_bytes(pmu)) / size - LATE_RECORDS;

        records->full_batch[shape] = (uint16_t)(size * (most < room ? most : room));
    }
}

/* Return the shape of an event's records, by the parts of its samples: an index of upmu_records.full_batch. */
static unsigned shape_of(unsigned parts)
{
    return parts & UPMU_PART_REGISTERS ? 2 : parts != 0;
}

/*
 * Return those of `counters` whose present events are batches, and in *out_bytes after how many bytes the hardware is
 * to interrupt: several batches share the budget.
 */
static uint32_t find_batches(const struct upmu_meter *meter, uint32_t counters, unsigned *out_bytes)
{
    unsigned least = UINT16_MAX, number = 0;
    uint32_t batches = 0;

    for (; counters; counters &= counters - 1u) {
        unsigned counter = upmu_bits_lowest(counters);
        const struct upmu_tally *tally = upmu_meter_on(meter, counter);
        unsigned bytes;

        if (!tally || !tally->batch)
            continue;
        batches |= UPMU_BIT32(counter);
        number++;
        bytes = meter->cpu->records.full_batch[shape_of(
            upmu_active(meter->slot[counter].session)->sampling[tally->index].parts)];
        least = bytes < least ? bytes : least;
    }
    *out_bytes = number > 1 ? least / number : least;
    return batches;
}

/*
 * The hardware stores no record that begins at the maximum.  One that begins before it may be stored whole.  Records of
 * formats 0 to 3 have one size.  Of later formats the longest one fits behind a begin just before the maximum.
 */
uint64_t upmu_batch_maximum(const struct upmu_meter *meter)
{
    const struct upmu_records *records = &meter->cpu->records;
    uint64_t end = records->buffer_linear + records->bytes;

    return parts_bytes(meter->pmu) ? end - (meter->pmu->record_bytes + records->more) + sizeof(uint64_t) : end;
}

/* May the buffer lack room for a record of the longest size, with this maximum? */
static bool lacks_room(const struct upmu_meter *meter, uint64_t maximum)
{
    const struct upmu_records *records = &meter->cpu->records;

    return records->area[UPMU_AREA_INDEX] + meter->pmu->record_bytes + records->more > maximum;
}

/*
 * Beside a precise event that is no batch each record interrupts.  Without interrupts the whole buffer is used.
 * Batches whose records may have had no room before a higher maximum are noted (`unstored`), and loaded at the next
 * look.
 */
void upmu_batch_come(struct upmu_meter *meter, uint32_t counters)
{
    struct upmu_records *records = &meter->cpu->records;
    uint64_t former = records->area[UPMU_AREA_MAXIMUM], base = records->buffer_linear, end = upmu_batch_maximum(meter);
    uint64_t threshold = base + meter->pmu->record_bytes, late;
    uint32_t had = records->batches;
    unsigned bytes;

    records->batches = find_batches(meter, counters, &bytes);
    if (records->batches && records->batches == counters) {
        threshold = port_has_pmi(meter->machine->port) ? base + bytes : end;
        threshold = threshold < end ? threshold : end;
        late = threshold + LATE_RECORDS * (meter->pmu->record_bytes + records->more);
        end = late < end ? late : end;
    }
    records->area[UPMU_AREA_THRESHOLD] = threshold;
    records->area[UPMU_AREA_MAXIMUM] = end;
    UPMU_BARRIER();
    if (lacks_room(meter, former)) /* a counter that runs may have stored a record until now */
        records->unstored |= had;
}

/* ---- Records ---- */

void upmu_batch_give(struct upmu_records *records, uint32_t counters, unsigned at)
{
    records->has |= counters;
    for (; counters; counters &= counters - 1u) {
        unsigned counter = upmu_bits_lowest(counters);

        if (!records->left[counter]++)
            records->at[counter] = (uint16_t)at;
    }
}

/*
 * Read the records from byte *at on, until one names the counter; *at is moved behind it.  `end`: of the records;
 * `seen`: the counters that have stored them.
 * Returns the counters that the record names; 0: there is no such record.
 */
static uint32_t find_named(const struct upmu_meter *meter, unsigned counter, uint32_t seen, uint32_t *at,
                            uint64_t end, struct upmu_precise *out)
{
    const struct upmu_records *records = &meter->cpu->records;

    while (*at < end && !(*at & 7u) &&
           upmu_precise_decode(meter->pmu->record_capabilities, records->buffer + *at, (size_t)end - *at, out) ==
               UPMU_PRECISE_FINE) {
        uint32_t named = upmu_batch_named(meter, seen, out->counters);

        *at += out->bytes;
        if (named >> counter & 1u)
            return named;
    }
    return 0;
}

bool upmu_batch_next(struct upmu_meter *meter, unsigned counter, struct upmu_precise *out)
{
    struct upmu_records *records = &meter->cpu->records;
    uint32_t at = records->at[counter] * 8u;
    uint32_t named = find_named(meter, counter, records->looked_for, &at, records->bytes, out);

    records->at[counter] = (uint16_t)(at / 8u);
    if (!--records->left[counter])
        records->has &= ~UPMU_BIT32(counter);
    return named && !upmu_batch_is_shared(meter, named);
}

/*
 * The buffer is full, as records of the longest size go: if the counter has passed zero and its record was not stored,
 * count the periods that are lost, and load the counter.
 */
static void count_lost(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t load)
{
    bool waits = (load + tally->period) & upmu_bits_ones(meter->pmu->counter[counter].width);
    uint64_t value;

    if (!upmu_bank_read(&meter->bank, counter, &value)) {
        upmu_meter_fails(meter, tally->counters);
        return;
    }
    /* A counter at 0 may still store its record, with the next event (`waits`). */
    if (!upmu_count_overflowed(meter->pmu, counter, value) || (!value && waits))
        return;
    upmu_count_fold(meter, tally, counter, value);
    upmu_count_skip(tally);
    if (!upmu_count_write_at(meter, tally) && !upmu_count_write_at(meter, tally))
        upmu_meter_loses(meter, tally);
}

void upmu_batch_fold(struct upmu_meter *meter, uint32_t counters)
{
    struct upmu_records *records = &meter->cpu->records;
    uint32_t full = lacks_room(meter, records->area[UPMU_AREA_MAXIMUM]) ? counters : counters & records->unstored;

    records->unstored &= ~counters;
    for (; counters; counters &= counters - 1u) {
        unsigned counter = upmu_bits_lowest(counters);
        struct upmu_tally *tally = upmu_meter_on(meter, counter);
        uint64_t load = records->area[upmu_batch_reload_at(meter, counter)];

        if (!tally)
            continue;
        upmu_session_begin_change(meter->slot[counter].session);
        if (records->left[counter]) {
            upmu_count_fold_records(meter, tally, counter, load, records->left[counter]);
            upmu_tally_record(tally, true);
        }
        if (full >> counter & 1u)
            count_lost(meter, tally, counter, load);
        upmu_session_end_change(meter->slot[counter].session);
    }
}

void upmu_batch_lose(struct upmu_meter *meter, uint32_t counters)
{
    struct upmu_records *records = &meter->cpu->records;

    records->has &= ~counters;
    for (; counters; counters &= counters - 1u) {
        unsigned counter = upmu_bits_lowest(counters);
        struct upmu_tally *tally = upmu_meter_on(meter, counter);

        records->left[counter] = 0;
        if (!tally)
            continue;
        upmu_session_begin_change(meter->slot[counter].session);
        if (!upmu_count_lose_records(meter, tally, counter))
            upmu_meter_fails(meter, tally->counters);
        upmu_session_end_change(meter->slot[counter].session);
    }
}

/* Return how many records of a batch are in the buffer and in no count, up to this index. */
static unsigned count_records(const struct upmu_meter *meter, unsigned counter, uint64_t index)
{
    const struct upmu_records *records = &meter->cpu->records;
    uint64_t end = index - records->buffer_linear;
    uint32_t at = records->since[counter] * 8u;
    struct upmu_precise record;
    unsigned number = 0;

    if (end <= records->bytes)
        while (find_named(meter, counter, records->seen, &at, end, &record))
            number++;
    return number;
}

/* The hardware may store a record at any time: then the value is read again, as it is of another index. */
bool upmu_batch_value(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t *out_value,
                      uint64_t *out_missed)
{
    const struct upmu_records *records = &meter->cpu->records;
    unsigned tries = 64;
    uint64_t index;

    *out_missed = 0;
    if (!upmu_tally_is_batch(tally) || !(meter->precise >> counter & 1u))
        return upmu_count_value(meter, tally, counter, out_value);
    do {
        index = records->area[UPMU_AREA_INDEX];
        if (!upmu_count_value(meter, tally, counter, out_value))
            return false;
    } while (records->area[UPMU_AREA_INDEX] != index && --tries);
    *out_missed = count_records(meter, counter, index) * tally->period;
    *out_value += *out_missed;
    return true;
}

#endif
