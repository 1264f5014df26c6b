/* SPDX-License-Identifier: MIT */
/*
 * Write a log (docs/RESULTS.md has its layout): a head, records, and a record that is the end. Each record has a check,
 * which is a CRC-32. In a buffer a record is written whole, or not at all.
 */
#include <upmu/branches.h>
#include "core/results/log_core.h"
#include "core/catalog/catalog.h"
#include "core/results/emit.h"
#include "core/engine/machine.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/util/text.h"

#if UPMU_RESULTS

#define LOG_NAME_BYTES 1023u
#define LOG_LEAST_BYTES 256u

static unsigned text_length(const char *name)
{
    size_t length = upmu_text_length(name);

    return length < LOG_NAME_BYTES ? (unsigned)length : LOG_NAME_BYTES;
}

static void put_name(struct upmu_emit *emit, const char *name)
{
    unsigned length = text_length(name);

    upmu_emit_number(emit, length, 2);
    upmu_emit_bytes(emit, name, length);
}

/* Return the length in bytes of a record whose body has `body` bytes: with length, kind and check, a multiple of 8. */
static uint32_t record_bytes(size_t body)
{
    return (uint32_t)(UPMU_LOG_RECORD_BYTES + body + UPMU_LOG_CHECK_BYTES + 7u) & ~UINT32_C(7);
}

/*
 * Return how many bytes of the output's buffer a new record must leave free: room for the record that ends the log; if
 * the new record is a sample, also room for a count record of each event of the log.
 */
static size_t room_kept(const struct upmu_log *log, unsigned kind)
{
    if (kind == UPMU_LOG_END)
        return 0;
    return UPMU_LOG_TOTAL_BYTES +
           (kind == UPMU_LOG_SAMPLE || (UPMU_PRECISE && kind == UPMU_LOG_PRECISE)
                ? log->events * (size_t)record_bytes(UPMU_LOG_COUNT_BYTES)
                : 0);
}

static enum upmu_status record_begin(struct upmu_log *log, unsigned kind, size_t body)
{
    const struct upmu_output *output = log->emit.output;
    uint32_t bytes = record_bytes(body);

    if (log->status != UPMU_OK)
        return log->status;
    if (!output->write && output->size - log->emit.length < bytes + room_kept(log, kind))
        return UPMU_ERR_NO_SPACE;
    log->emit.sums = true;
    log->emit.crc = upmu_log_check_start(log->first_check, log->records);
    upmu_emit_number(&log->emit, bytes, 4);
    upmu_emit_number(&log->emit, kind, 4);
    return UPMU_OK;
}

static enum upmu_status record_end(struct upmu_log *log)
{
    struct upmu_emit *emit = &log->emit;
    uint32_t check;

    upmu_emit_zeros(emit, (8u - UPMU_LOG_CHECK_BYTES - (emit->length & 7u)) & 7u);
    check = upmu_emit_crc(emit->crc, emit->stage, emit->staged);
    emit->sums = false;
    upmu_emit_number(emit, check, UPMU_LOG_CHECK_BYTES);
    if (!log->records++)
        log->first_check = check;
    if (!upmu_emit_flush(emit))
        log->status = UPMU_ERR_WRITE;
    return log->status;
}

enum upmu_status upmu_log_begin(struct upmu_log *log, struct upmu_output *output, const char *machine,
                                uint64_t time_ns)
{
    memset(log, 0, sizeof *log);
    upmu_emit_begin(&log->emit, output);
    log->status = UPMU_ERR_STATE;
    if (!output->write && output->size < LOG_LEAST_BYTES)
        return UPMU_ERR_NO_SPACE;
    log->status = UPMU_OK;
    upmu_emit_bytes(&log->emit, UPMU_LOG_MAGIC, 8);
    upmu_emit_number(&log->emit, UPMU_LOG_VERSION, 8);
    (void)upmu_emit_flush(&log->emit); /* empty the stage: the head must not be in the check of the first record */
    if (record_begin(log, UPMU_LOG_MACHINE, 14u + text_length(machine)) != UPMU_OK) {
        log->status = UPMU_ERR_STATE;
        return UPMU_ERR_NO_SPACE;
    }
    upmu_emit_number(&log->emit, time_ns, 8);
    upmu_emit_number(&log->emit, UPMU_VERSION, 4);
    put_name(&log->emit, machine);
    return record_end(log);
}

static enum upmu_status log_event(struct upmu_log *log, const struct upmu_session *session,
                                  const struct upmu_set *set, unsigned index, unsigned source)
{
    const struct upmu_event *event = &set->event[index];
    const struct upmu_kept *sampling = &set->sampling[index];
    const struct upmu_tally *tally = &set->tally[index];
    const struct upmu_pmu *pmu = upmu_machine_pmu_of(session->machine, event->pmu);
    const struct upmu_catalog *catalog = UPMU_NAMES && event->id.catalogue ? upmu_catalog_of(pmu, event->id) : NULL;
    const char *catalogue = catalog ? upmu_catalog_name(catalog) : "";
    struct upmu_emit *emit = &log->emit;
    enum upmu_status status;
    char name[LOG_NAME_BYTES + 1u];

    name[0] = '\0';
    (void)upmu_event_format(pmu, event, name, sizeof name);
    status = record_begin(log, UPMU_LOG_EVENT,
                          80u + text_length(name) + text_length(pmu->name) + text_length(catalogue));
    if (status != UPMU_OK)
        return status;
    upmu_emit_number(emit, source, 2);
    upmu_emit_number(emit, set->number, 2);
    upmu_emit_number(emit, index, 1);
    upmu_emit_number(emit, catalog ? upmu_catalog_source(catalog) : 0, 1);
    upmu_emit_number(emit, event->attributes, 4);
    upmu_emit_number(emit, event->id.catalogue, 2);
    upmu_emit_number(emit, event->id.row, 2);
    upmu_emit_number(emit, event->id.masks, 4);
    upmu_emit_number(emit, tally->frequency, 4);
    upmu_emit_number(emit, sampling->values, 4);
    upmu_emit_number(emit, event->config, 8);
    upmu_emit_number(emit, event->config1, 8);
    upmu_emit_number(emit, event->config2, 8);
    upmu_emit_number(emit, sampling->period, 8);
    upmu_emit_number(emit, tally->random_mask, 8);
    upmu_emit_number(emit, sampling->event_id, 8);
    put_name(emit, name);
    put_name(emit, pmu->name);
    put_name(emit, catalogue);
    log->events++;
    return record_end(log);
}

enum upmu_status upmu_log_session(struct upmu_log *log, const struct upmu_session *session, unsigned source)
{
    const struct upmu_set *set;
    enum upmu_status status = log->status;
    unsigned i;

    for (set = session->sets; set && status == UPMU_OK; set = set->next)
        for (i = 0; i < set->count && status == UPMU_OK; i++)
            status = log_event(log, session, set, i, source);
    return status;
}

enum upmu_status upmu_log_counts(struct upmu_log *log, unsigned source, unsigned set, const struct upmu_count *counts,
                                 unsigned count)
{
    struct upmu_emit *emit = &log->emit;
    enum upmu_status status = log->status;
    unsigned i;

    for (i = 0; i < count && status == UPMU_OK; i++) {
        status = record_begin(log, UPMU_LOG_COUNT, UPMU_LOG_COUNT_BYTES);
        if (status != UPMU_OK)
            break;
        upmu_emit_number(emit, source, 2);
        upmu_emit_number(emit, set, 2);
        upmu_emit_number(emit, i, 1);
        upmu_emit_number(emit, (unsigned)counts[i].quality, 3);
        upmu_emit_number(emit, counts[i].value, 8);
        upmu_emit_number(emit, counts[i].raw, 8);
        upmu_emit_number(emit, counts[i].error, 8);
        upmu_emit_number(emit, counts[i].enabled_ns, 8);
        upmu_emit_number(emit, counts[i].running_ns, 8);
        upmu_emit_number(emit, counts[i].lost, 4);
        status = record_end(log);
    }
    return status;
}

static enum upmu_status log_range(struct upmu_log *log, enum upmu_log_kind kind, const struct upmu_log_range *range,
                                  const char *name)
{
    enum upmu_status status;

    if (range->start >= range->end)
        return UPMU_ERR_INVALID;
    status = record_begin(log, kind, 30u + text_length(name));
    if (status != UPMU_OK)
        return status;
    upmu_emit_number(&log->emit, range->start, 8);
    upmu_emit_number(&log->emit, range->end, 8);
    upmu_emit_number(&log->emit, range->offset, 8);
    upmu_emit_number(&log->emit, range->process, 4);
    put_name(&log->emit, name);
    return record_end(log);
}

enum upmu_status upmu_log_symbol(struct upmu_log *log, uint64_t start, uint64_t end, const char *name)
{
    const struct upmu_log_range range = {.start = start, .end = end};

    return log_range(log, UPMU_LOG_SYMBOL, &range, name);
}

enum upmu_status upmu_log_mapping(struct upmu_log *log, uint32_t process, uint64_t start, uint64_t end,
                                  uint64_t offset, const char *name)
{
    const struct upmu_log_range range = {.start = start, .end = end, .offset = offset, .process = process};

    return log_range(log, UPMU_LOG_MAPPING, &range, name);
}

enum upmu_status upmu_log_task(struct upmu_log *log, uint32_t process, uint32_t thread, const char *name)
{
    enum upmu_status status = record_begin(log, UPMU_LOG_TASK, 10u + text_length(name));

    if (status != UPMU_OK)
        return status;
    upmu_emit_number(&log->emit, process, 4);
    upmu_emit_number(&log->emit, thread, 4);
    put_name(&log->emit, name);
    return record_end(log);
}

#if UPMU_PRECISE

static bool is_precise(const struct upmu_record *record)
{
    return record->exact || record->parts & UPMU_LOG_PARTS;
}

/* Return the number of words of a precise sample's parts. */
static unsigned part_words(const struct upmu_record *record)
{
    const unsigned single = UPMU_PART_ADDRESS | UPMU_PART_SOURCE | UPMU_PART_WEIGHT | UPMU_PART_TRANSACTION;

    return upmu_bits_count(record->parts & single) + (record->parts & UPMU_PART_REGISTERS ? UPMU_RECORD_REGISTERS : 0) +
           (record->parts & UPMU_PART_BRANCHES ? 3u * record->branches : 0);
}

static void put_parts(struct upmu_emit *emit, const struct upmu_record *record)
{
    const uint64_t single[] = {record->address, record->source, record->weight, record->transaction};
    unsigned branches = record->parts & UPMU_PART_BRANCHES ? record->branches : 0, i;

    upmu_emit_number(emit, record->parts & UPMU_LOG_PARTS, 2);
    upmu_emit_number(emit, record->parts & UPMU_PART_RETIRE ? record->retire : 0, 2);
    upmu_emit_number(emit, branches, 1);
    upmu_emit_number(emit, record->exact, 3);
    for (i = 0; i < sizeof single / sizeof single[0]; i++)
        if (record->parts >> i & 1u)
            upmu_emit_number(emit, single[i], 8);
    for (i = 0; i < UPMU_RECORD_REGISTERS && record->parts & UPMU_PART_REGISTERS; i++)
        upmu_emit_number(emit, record->registers[i], 8);
    for (i = 0; i < branches; i++) {
        upmu_emit_number(emit, record->branch[i].from, 8);
        upmu_emit_number(emit, record->branch[i].to, 8);
        upmu_emit_number(emit, record->branch[i].info, 8);
    }
}

#else

static bool is_precise(const struct upmu_record *record)
{
    (void)record;
    return false;
}

static unsigned part_words(const struct upmu_record *record)
{
    (void)record;
    return 0;
}

static void put_parts(struct upmu_emit *emit, const struct upmu_record *record)
{
    (void)emit, (void)record;
}

#endif

static enum upmu_status log_sample(struct upmu_log *log, const struct upmu_record *record, unsigned source)
{
    const struct upmu_sample *sample = record->sample;
    struct upmu_emit *emit = &log->emit;
    bool precise = is_precise(record);
    unsigned values = upmu_bits_count(record->values), i;
    enum upmu_status status = record_begin(log, precise ? UPMU_LOG_PRECISE : UPMU_LOG_SAMPLE,
                                           UPMU_LOG_SAMPLE_BYTES + 8u * (values + record->frames) +
                                               (precise ? UPMU_LOG_PARTS_BYTES + 8u * part_words(record) : 0));

    if (status != UPMU_OK)
        return status;
    upmu_emit_number(emit, source, 2);
    upmu_emit_number(emit, record->set, 2);
    upmu_emit_number(emit, sample->flags, 2);
    upmu_emit_number(emit, record->frames, 2);
    upmu_emit_number(emit, sample->cpu, 4);
    upmu_emit_number(emit, sample->events, 4);
    upmu_emit_number(emit, record->process, 4);
    upmu_emit_number(emit, record->thread, 4);
    upmu_emit_number(emit, sample->lost, 4);
    upmu_emit_number(emit, record->values, 4);
    upmu_emit_number(emit, sample->ip, 8);
    upmu_emit_number(emit, sample->sp, 8);
    upmu_emit_number(emit, sample->time_ns, 8);
    upmu_emit_number(emit, record->event_id, 8);
    upmu_emit_number(emit, record->last_reset, 8);
    for (i = 0; i < values; i++)
        upmu_emit_number(emit, record->value[i], 8);
    for (i = 0; i < record->frames; i++)
        upmu_emit_number(emit, record->frame[i], 8);
    if (precise)
        put_parts(emit, record);
    return record_end(log);
}

enum upmu_status upmu_log_sample(struct upmu_log *log, const struct upmu_record *record, unsigned source)
{
    enum upmu_status status = log_sample(log, record, source);

    if (status != UPMU_OK && status != UPMU_ERR_NO_SPACE)
        return status;
    log->lost += record->sample->lost;
    log->samples += status == UPMU_OK;
    log->cut += status != UPMU_OK;
    return UPMU_OK;
}

enum upmu_status upmu_log_samples(struct upmu_log *log, struct upmu_session *session, unsigned source)
{
    enum upmu_status status = log->status;
    struct upmu_record record;

    while (status == UPMU_OK && upmu_ring_view(&session->ring, &record)) {
        status = upmu_log_sample(log, &record, source);
        if (status == UPMU_OK)
            upmu_ring_drop(&session->ring);
    }
    return status;
}

enum upmu_status upmu_log_end(struct upmu_log *log, struct upmu_session *const *sessions, unsigned count,
                              uint64_t time_ns)
{
    struct upmu_emit *emit = &log->emit;
    enum upmu_status status = record_begin(log, UPMU_LOG_END, 40);
    unsigned i;

    if (status != UPMU_OK)
        return status;
    for (i = 0; i < count; i++)
        log->lost += sessions[i]->ring.lost - sessions[i]->ring.lost_reported;
    upmu_emit_number(emit, log->records, 8);
    upmu_emit_number(emit, log->samples, 8);
    upmu_emit_number(emit, log->lost, 8);
    upmu_emit_number(emit, log->cut, 8);
    upmu_emit_number(emit, time_ns, 8);
    status = record_end(log);
    log->status = status == UPMU_OK ? UPMU_ERR_STATE : status;
    return status;
}

#else

enum upmu_status upmu_log_begin(struct upmu_log *log, struct upmu_output *output, const char *machine,
                                uint64_t time_ns)
{
    (void)log, (void)output, (void)machine, (void)time_ns;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_log_session(struct upmu_log *log, const struct upmu_session *session, unsigned source)
{
    (void)log, (void)session, (void)source;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_log_counts(struct upmu_log *log, unsigned source, unsigned set, const struct upmu_count *counts,
                                 unsigned count)
{
    (void)log, (void)source, (void)set, (void)counts, (void)count;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_log_symbol(struct upmu_log *log, uint64_t start, uint64_t end, const char *name)
{
    (void)log, (void)start, (void)end, (void)name;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_log_mapping(struct upmu_log *log, uint32_t process, uint64_t start, uint64_t end,
                                  uint64_t offset, const char *name)
{
    (void)log, (void)process, (void)start, (void)end, (void)offset, (void)name;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_log_task(struct upmu_log *log, uint32_t process, uint32_t thread, const char *name)
{
    (void)log, (void)process, (void)thread, (void)name;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_log_sample(struct upmu_log *log, const struct upmu_record *record, unsigned source)
{
    (void)log, (void)record, (void)source;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_log_samples(struct upmu_log *log, struct upmu_session *session, unsigned source)
{
    (void)log, (void)session, (void)source;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_log_end(struct upmu_log *log, struct upmu_session *const *sessions, unsigned count,
                              uint64_t time_ns)
{
    (void)log, (void)sessions, (void)count, (void)time_ns;
    return UPMU_ERR_COMPILED_OUT;
}

#endif
