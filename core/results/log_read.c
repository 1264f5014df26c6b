/* SPDX-License-Identifier: MIT */
/*
 * Read a log, whose bytes may be anything. Each length in a record is checked against the record's end, and each record
 * against the log's end and against its own check, a CRC-32, before any of it is used.
 */
#include "core/results/log_core.h"
#include "core/results/emit.h"
#include "core/util/bits.h"
#include "core/util/mem.h"

#if UPMU_RESULTS

/* The part of a record's body that is not read yet: `left` bytes from `at` on. */
struct log_cursor {
    const uint8_t *at;
    size_t left;
    bool lacks; /* the body is too short for its kind, or has a value that is not allowed */
};

static uint64_t number_at(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;

    while (bytes--)
        value = value << 8 | at[bytes];
    return value;
}

static const uint8_t *cursor_skip(struct log_cursor *cursor, size_t bytes)
{
    const uint8_t *at = cursor->at;

    if (cursor->left < bytes) {
        cursor->lacks = true;
        return NULL;
    }
    cursor->at += bytes;
    cursor->left -= bytes;
    return at;
}

static uint64_t take_bytes(struct log_cursor *cursor, unsigned bytes)
{
    const uint8_t *at = cursor_skip(cursor, bytes);

    return at ? number_at(at, bytes) : 0;
}

static uint16_t take_number16(struct log_cursor *cursor)
{
    return (uint16_t)take_bytes(cursor, 2);
}

static uint32_t take_number32(struct log_cursor *cursor)
{
    return (uint32_t)take_bytes(cursor, 4);
}

static uint64_t take_number64(struct log_cursor *cursor)
{
    return take_bytes(cursor, 8);
}

static void take_text(struct log_cursor *cursor, struct upmu_log_text *text)
{
    text->length = take_number16(cursor);
    text->at = (const char *)cursor_skip(cursor, text->length);
}

static void take_words(struct log_cursor *cursor, struct upmu_log_words *words, unsigned count)
{
    words->count = count;
    words->at = cursor_skip(cursor, 8u * (size_t)count);
}

uint64_t upmu_log_word(struct upmu_log_words words, unsigned index)
{
    return index < words.count ? number_at(words.at + 8u * (size_t)index, 8) : 0;
}

static void take_event(struct log_cursor *cursor, struct upmu_log_event *event)
{
    event->source = take_number16(cursor);
    event->set = take_number16(cursor);
    event->event = (uint8_t)take_bytes(cursor, 1);
    event->origin = (uint8_t)take_bytes(cursor, 1);
    event->attributes = take_number32(cursor);
    event->id.catalogue = take_number16(cursor);
    event->id.row = take_number16(cursor);
    event->id.masks = take_number32(cursor);
    event->frequency = take_number32(cursor);
    event->values = take_number32(cursor);
    event->config = take_number64(cursor);
    event->config1 = take_number64(cursor);
    event->config2 = take_number64(cursor);
    event->period = take_number64(cursor);
    event->random_mask = take_number64(cursor);
    event->event_id = take_number64(cursor);
    take_text(cursor, &event->name);
    take_text(cursor, &event->pmu);
    take_text(cursor, &event->catalogue);
    cursor->lacks |= event->event > 31;
}

static void take_range(struct log_cursor *cursor, struct upmu_log_range *range)
{
    range->start = take_number64(cursor);
    range->end = take_number64(cursor);
    range->offset = take_number64(cursor);
    range->process = take_number32(cursor);
    take_text(cursor, &range->name);
    cursor->lacks |= range->start >= range->end;
}

static void take_log_sample(struct log_cursor *cursor, struct upmu_log_sample *sample)
{
    unsigned frames;

    sample->source = take_number16(cursor);
    sample->set = take_number16(cursor);
    sample->flags = take_number16(cursor);
    frames = take_number16(cursor);
    sample->cpu = take_number32(cursor);
    sample->events = take_number32(cursor);
    sample->process = take_number32(cursor);
    sample->thread = take_number32(cursor);
    sample->lost = take_number32(cursor);
    sample->values = take_number32(cursor);
    sample->ip = take_number64(cursor);
    sample->sp = take_number64(cursor);
    sample->time_ns = take_number64(cursor);
    sample->event_id = take_number64(cursor);
    sample->period = take_number64(cursor);
    take_words(cursor, &sample->value, upmu_bits_count(sample->values));
    take_words(cursor, &sample->frame, frames);
    cursor->lacks |= frames > UPMU_LOG_FRAMES || sample->events == 0;
}

#if UPMU_PRECISE

/* Read the parts of a precise sample. */
static void take_sample_parts(struct log_cursor *cursor, struct upmu_log_sample *sample)
{
    uint64_t *const single[] = {&sample->address, &sample->data_source, &sample->weight, &sample->transaction};
    unsigned branches, exact, i;

    sample->parts = take_number16(cursor);
    sample->retire = take_number16(cursor);
    branches = (unsigned)take_bytes(cursor, 1);
    exact = (unsigned)take_bytes(cursor, 3);
    sample->exact = exact;
    cursor->lacks |= sample->parts & ~UPMU_LOG_PARTS || exact > 1 ||
                     (branches && !(sample->parts & UPMU_PART_BRANCHES)) ||
                     (sample->retire && !(sample->parts & UPMU_PART_RETIRE));
    for (i = 0; i < sizeof single / sizeof single[0]; i++)
        if ((uint32_t)sample->parts >> i & 1u)
            *single[i] = take_number64(cursor);
    take_words(cursor, &sample->registers, sample->parts & UPMU_PART_REGISTERS ? UPMU_RECORD_REGISTERS : 0);
    take_words(cursor, &sample->branch, 3u * branches);
}

#endif

static void take_count(struct log_cursor *cursor, struct upmu_log_count *count)
{
    count->source = take_number16(cursor);
    count->set = take_number16(cursor);
    count->event = (uint8_t)take_bytes(cursor, 1);
    count->quality = (uint8_t)take_bytes(cursor, 1);
    cursor->lacks |= take_number16(cursor) != 0;
    count->value = take_number64(cursor);
    count->raw = take_number64(cursor);
    count->error = take_number64(cursor);
    count->enabled_ns = take_number64(cursor);
    count->running_ns = take_number64(cursor);
    count->lost = take_number32(cursor);
}

/* Read the body of a record as item->kind says; false: the kind is unknown. The caller checks cursor->lacks. */
static bool take_body(struct log_cursor *cursor, struct upmu_log_item *item)
{
    switch (item->kind) {
    case UPMU_LOG_MACHINE:
        item->of.machine.time_ns = take_number64(cursor);
        item->of.machine.version = take_number32(cursor);
        take_text(cursor, &item->of.machine.name);
        return true;
    case UPMU_LOG_EVENT:
        take_event(cursor, &item->of.event);
        return true;
    case UPMU_LOG_SYMBOL:
    case UPMU_LOG_MAPPING:
        take_range(cursor, &item->of.range);
        return true;
    case UPMU_LOG_TASK:
        item->of.task.process = take_number32(cursor);
        item->of.task.thread = take_number32(cursor);
        take_text(cursor, &item->of.task.name);
        return true;
    case UPMU_LOG_SAMPLE:
        take_log_sample(cursor, &item->of.sample);
        return true;
#if UPMU_PRECISE
    case UPMU_LOG_PRECISE:
        item->kind = UPMU_LOG_SAMPLE;
        take_log_sample(cursor, &item->of.sample);
        take_sample_parts(cursor, &item->of.sample);
        return true;
#endif
    case UPMU_LOG_COUNT:
        take_count(cursor, &item->of.count);
        return true;
    case UPMU_LOG_END:
        item->of.total.records = take_number64(cursor);
        item->of.total.samples = take_number64(cursor);
        item->of.total.lost = take_number64(cursor);
        item->of.total.cut = take_number64(cursor);
        item->of.total.time_ns = take_number64(cursor);
        return true;
    default:
        return false;
    }
}

/*
 * Return the length in bytes of the record at offset `at`; 0: too few bytes of the log are left for a record, or the
 * length that the record states is impossible.
 */
static size_t record_at(const struct upmu_log_reader *reader, size_t at)
{
    size_t left = reader->length - at, bytes;

    if (left < UPMU_LOG_RECORD_BYTES + UPMU_LOG_CHECK_BYTES)
        return 0;
    bytes = (size_t)number_at(reader->bytes + at, 4);
    return bytes >= UPMU_LOG_RECORD_BYTES + UPMU_LOG_CHECK_BYTES && bytes <= left && (bytes & 7u) == 0 ? bytes : 0;
}

/*
 * Read the record of `bytes` bytes at offset `at`. *out_known: its kind is known. Returns false if the kind is known
 * and the body has another length than the kind needs, padded to a multiple of 8, or a value that is not allowed.
 */
static bool record_read(const struct upmu_log_reader *reader, size_t at, size_t bytes, struct upmu_log_item *out_item,
                        bool *out_known)
{
    struct log_cursor cursor = {reader->bytes + at + UPMU_LOG_RECORD_BYTES,
                                bytes - UPMU_LOG_RECORD_BYTES - UPMU_LOG_CHECK_BYTES, false};

    memset(out_item, 0, sizeof *out_item);
    out_item->kind = (unsigned)number_at(reader->bytes + at + 4, 4);
    *out_known = take_body(&cursor, out_item);
    return !*out_known || (!cursor.lacks && cursor.left < 8);
}

bool upmu_log_item_at(const struct upmu_log_reader *reader, size_t at, struct upmu_log_item *out_item)
{
    size_t bytes = record_at(reader, at);
    bool known;

    return bytes && record_read(reader, at, bytes, out_item, &known) && known;
}

/* Return the check that a record should have, computed from its bytes. check_stored() returns the one that it has. */
static uint32_t check_made(const struct upmu_log_reader *reader, size_t at, size_t bytes, uint32_t start)
{
    return upmu_emit_crc(start, reader->bytes + at, bytes - UPMU_LOG_CHECK_BYTES);
}

static uint32_t check_stored(const struct upmu_log_reader *reader, size_t at, size_t bytes)
{
    return (uint32_t)number_at(reader->bytes + at + bytes - UPMU_LOG_CHECK_BYTES, UPMU_LOG_CHECK_BYTES);
}

/*
 * Is a record, the log's record number `number`, as it was written? Then its check is right, its body has a valid
 * form, and it is a UPMU_LOG_MACHINE record if it is the first of the log, and only then.
 */
static bool record_sound(const struct upmu_log_reader *reader, size_t at, size_t bytes, uint64_t number,
                         struct upmu_log_item *out_item, bool *out_known)
{
    uint32_t stored = check_stored(reader, at, bytes);
    bool right = false;
    unsigned i;

    for (i = 0; i < 2 && !right; i++)
        right = check_made(reader, at, bytes, upmu_log_check_start(reader->first_check[i], number)) == stored;
    return right && record_read(reader, at, bytes, out_item, out_known) &&
           (number == 0) == (out_item->kind == UPMU_LOG_MACHINE);
}

bool upmu_log_next(struct upmu_log_reader *reader, struct upmu_log_item *out_item)
{
    size_t bytes;

    while (reader->at < reader->length && (bytes = record_at(reader, reader->at)) != 0) {
        uint64_t number = reader->number++;
        bool known = false;

        reader->item = reader->at;
        reader->at += bytes;
        if ((!reader->salvages || record_sound(reader, reader->item, bytes, number, out_item, &known)) &&
            upmu_log_item_at(reader, reader->item, out_item))
            return true;
    }
    return false;
}

/*
 * Are all records of a log as they were written? The record of the end must be the last one, and must state how many
 * records and samples stand before it.
 */
static bool records_sound(const struct upmu_log_reader *reader)
{
    struct upmu_log_item item;
    uint64_t records = 0, samples = 0;
    size_t at = UPMU_LOG_HEAD_BYTES, bytes;
    bool known;

    for (; (bytes = record_at(reader, at)) != 0; at += bytes, records++) {
        if (!record_sound(reader, at, bytes, records, &item, &known))
            return false;
        if (item.kind == UPMU_LOG_END)
            return at + bytes == reader->length && bytes == UPMU_LOG_TOTAL_BYTES &&
                   item.of.total.records == records && item.of.total.samples == samples;
        samples += item.kind == UPMU_LOG_SAMPLE;
    }
    return false;
}

/*
 * Begin to read a log: check its head. The check of each later record is computed from that of the first, too. Store in
 * reader->first_check the check that the first record states and the one that its bytes give: if one of these is
 * damaged, later records fit the other.
 */
static enum upmu_status head_open(struct upmu_log_reader *reader, const void *log, size_t bytes)
{
    size_t first;

    memset(reader, 0, sizeof *reader);
    reader->bytes = log;
    reader->length = bytes;
    reader->at = reader->item = UPMU_LOG_HEAD_BYTES;
    if (bytes < UPMU_LOG_HEAD_BYTES || memcmp(log, UPMU_LOG_MAGIC, 8) != 0)
        return UPMU_ERR_DAMAGED;
    if (number_at(reader->bytes + 8, 8) != UPMU_LOG_VERSION)
        return UPMU_ERR_VERSION;
    first = record_at(reader, UPMU_LOG_HEAD_BYTES);
    if (!first)
        return UPMU_ERR_DAMAGED;
    reader->first_check[0] = check_stored(reader, UPMU_LOG_HEAD_BYTES, first);
    reader->first_check[1] = check_made(reader, UPMU_LOG_HEAD_BYTES, first, 0);
    return UPMU_OK;
}

enum upmu_status upmu_log_open(struct upmu_log_reader *reader, const void *log, size_t bytes)
{
    enum upmu_status status = head_open(reader, log, bytes);

    return status != UPMU_OK || records_sound(reader) ? status : UPMU_ERR_DAMAGED;
}

enum upmu_status upmu_log_salvage(struct upmu_log_reader *reader, const void *log, size_t bytes,
                                  struct upmu_log_salvaged *out_salvaged)
{
    enum upmu_status status = head_open(reader, log, bytes);
    size_t at = UPMU_LOG_HEAD_BYTES, end = at, size;
    struct upmu_log_item item;
    uint64_t number;
    bool known;

    memset(out_salvaged, 0, sizeof *out_salvaged);
    if (status != UPMU_OK)
        return status;
    for (number = 0; !out_salvaged->ended && (size = record_at(reader, at)) != 0; at += size, number++) {
        if (!record_sound(reader, at, size, number, &item, &known))
            continue;
        out_salvaged->records++;
        out_salvaged->dropped = number + 1 - out_salvaged->records;
        out_salvaged->ended = item.kind == UPMU_LOG_END;
        end = at + size;
    }
    out_salvaged->left = bytes - end;
    reader->length = end;
    reader->salvages = true;
    return out_salvaged->records ? UPMU_OK : UPMU_ERR_DAMAGED;
}

#else

uint64_t upmu_log_word(struct upmu_log_words words, unsigned index)
{
    (void)words, (void)index;
    return 0;
}

bool upmu_log_next(struct upmu_log_reader *reader, struct upmu_log_item *out_item)
{
    (void)reader, (void)out_item;
    return false;
}

enum upmu_status upmu_log_open(struct upmu_log_reader *reader, const void *log, size_t bytes)
{
    (void)reader, (void)log, (void)bytes;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_log_salvage(struct upmu_log_reader *reader, const void *log, size_t bytes,
                                  struct upmu_log_salvaged *out_salvaged)
{
    (void)reader, (void)log, (void)bytes, (void)out_salvaged;
    return UPMU_ERR_COMPILED_OUT;
}

#endif
