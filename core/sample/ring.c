/* SPDX-License-Identifier: MIT */
/*
 * A session's ring of samples: records of variable length in the caller's buffer, one writer (the handler, or a bracket
 * that does its work), one reader.
 *
 * A record is a 16-bit length in bytes, a multiple of 8, a 16-bit kind, 32 zero bits, and its body. No record wraps: if
 * the next one does not fit behind the last, a record of kind PAD fills the end of the buffer. Positions are byte
 * offsets; head == tail means empty, so a full ring keeps at least 8 bytes free.
 */
#include <upmu/branches.h>
#include <upmu/session.h>
#include "core/sample/ring.h"
#include <upmu/precise.h>
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/port_call.h"

#if UPMU_SAMPLING

enum record_kind { RECORD_PAD = 0, RECORD_SAMPLE = 1, RECORD_EXTENDED = 2, RECORD_PARTS = 3 };

struct record_header {
    uint16_t bytes;
    uint16_t kind;
    uint32_t zero;
};

/* The extension of a record, behind its sample (see struct upmu_record). Counts and callers' addresses follow it. */
struct record_extension {
    uint64_t event_id;
    uint64_t last_reset;
    uint32_t values;
    uint32_t process;
    uint32_t thread;
    uint16_t set;
    uint8_t event;
    uint8_t frames;
};

/*
 * A record of kind PARTS has this behind its extension, then a word for each of the first four parts that it has, then
 * the registers, then three words for each branch.  Counts and callers' addresses follow them.
 */
struct record_parts {
    uint16_t parts; /* UPMU_PART_... */
    uint16_t retire;
    uint32_t bytes; /* of this structure, and of the words of the parts */
};

/* For what both writers of records do, so that the one of ordinary samples takes no instruction more for the other. */
#if UPMU_PRECISE
#define INSIDE_BOTH UPMU_INSIDE
#else
#define INSIDE_BOTH
#endif

#define HEADER_BYTES ((uint32_t)sizeof(struct record_header))
/* All sizes are multiples of 8, so that there is always room for a header at the end of the buffer. */
#define SAMPLE_BYTES ((uint32_t)(sizeof(struct upmu_sample) + 7u) & ~UINT32_C(7))
#define EXTENSION_BYTES ((uint32_t)sizeof(struct record_extension))

_Static_assert(sizeof(struct record_header) == 8 && sizeof(struct record_extension) == 32,
               "records are made of multiples of 8 bytes");

void upmu_ring_init(struct upmu_ring *ring, void *buffer, uint32_t bytes)
{
    memset(ring, 0, sizeof *ring);
    ring->buffer = buffer;
    ring->bytes = bytes & ~UINT32_C(7);
}

static void put_header(struct upmu_ring *ring, uint32_t at, uint32_t bytes, enum record_kind kind)
{
    struct record_header header = { (uint16_t)bytes, (uint16_t)kind, 0 };

    memcpy(ring->buffer + at, &header, sizeof header);
}

/*
 * Find the position for a record of `bytes` bytes; false: the ring has no room. *out_pad: the position is the start of
 * the buffer, and the bytes from the head to the end of the buffer must become a PAD record.
 */
static INSIDE_BOTH bool find_room(const struct upmu_ring *ring, uint32_t bytes, uint32_t *out_at, bool *out_pad)
{
    /* Acquire: the reader's reads of a record, before it moved the tail, come before the bytes are overwritten. */
    uint32_t head = ring->head, tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);

    *out_pad = false;
    *out_at = head;
    if (head < tail)
        return tail - head > bytes;
    if (ring->bytes - head > bytes || (ring->bytes - head == bytes && tail > 0))
        return true;
    *out_pad = true;
    *out_at = 0;
    return tail > bytes;
}

/*
 * Fill in the sample of a record, which stands in the ring's buffer; the buffer is aligned for it. The samples that
 * were lost since the last record are noted in it.
 */
static INSIDE_BOTH void fill_sample(struct upmu_sample *sample, const struct upmu_overflow *overflow, uint32_t events)
{
    struct upmu_ring *ring = &overflow->session->ring;

    sample->ip = overflow->ip;
    sample->sp = overflow->sp;
    sample->time_ns = overflow->time_ns;
    sample->events = events;
    sample->lost = ring->lost - ring->lost_reported;
    sample->cpu = overflow->cpu->meter.number;
    sample->flags = (uint16_t)(overflow->flags | (sample->lost ? UPMU_SAMPLE_LOST : 0u));
    ring->lost_reported = ring->lost;
}

#if UPMU_PRECISE

#define SINGLE_PARTS (UPMU_PART_ADDRESS | UPMU_PART_SOURCE | UPMU_PART_WEIGHT | UPMU_PART_TRANSACTION)

/* Return the number of branches that a sample has. */
static inline uint32_t branches_held(const struct upmu_overflow *overflow)
{
#if UPMU_BRANCH_SAMPLES
    return overflow->parts & UPMU_PART_BRANCHES ? overflow->branches : 0;
#else
    (void)overflow;
    return 0;
#endif
}

/* Store the branches of a sample; `at` is where its record has them. */
static inline void fill_branches(const struct upmu_overflow *overflow, void *at)
{
#if UPMU_BRANCH_SAMPLES
    if (branches_held(overflow))
        memcpy(at, overflow->branch, overflow->branches * sizeof *overflow->branch);
#else
    (void)overflow, (void)at;
#endif
}

/* Return the bytes that the parts of a sample take in its record; 0 where it has none. */
static uint32_t bytes_of_parts(const struct upmu_overflow *overflow)
{
    uint32_t words = upmu_bits_count(overflow->parts & SINGLE_PARTS);

    if (!overflow->parts)
        return 0;
    if (overflow->parts & UPMU_PART_REGISTERS)
        words += UPMU_RECORD_REGISTERS;
    words += 3u * branches_held(overflow);
    return (uint32_t)sizeof(struct record_parts) + 8u * words;
}

/* Store the parts of a sample behind its extension, and change the kind of its record. */
static UPMU_APART void fill_parts(struct record_extension *extension, const struct upmu_overflow *overflow,
                                  uint32_t bytes)
{
    struct record_header *header = (void *)((uint8_t *)extension - SAMPLE_BYTES - HEADER_BYTES);
    struct record_parts *head = (void *)(extension + 1);
    uint64_t *word = (uint64_t *)(void *)(head + 1);

    header->kind = RECORD_PARTS;
    head->parts = overflow->parts;
    head->retire = overflow->parts & UPMU_PART_RETIRE ? overflow->retire : 0;
    head->bytes = bytes;
    if (overflow->parts & UPMU_PART_ADDRESS)
        *word++ = overflow->address;
    if (overflow->parts & UPMU_PART_SOURCE)
        *word++ = overflow->source;
    if (overflow->parts & UPMU_PART_WEIGHT)
        *word++ = overflow->weight;
    if (overflow->parts & UPMU_PART_TRANSACTION)
        *word++ = overflow->transaction;
    for (unsigned i = 0; i < UPMU_RECORD_REGISTERS && (overflow->parts & UPMU_PART_REGISTERS); i++)
        *word++ = upmu_overflow_register(overflow, i);
    fill_branches(overflow, word);
}

/* Let the reader have the parts of a record, which begin at `head`.  Returns their bytes. */
static uint32_t view_parts(const struct record_parts *head, struct upmu_record *out_record)
{
    const uint64_t *word = (const uint64_t *)(const void *)(head + 1);

    out_record->parts = head->parts;
    out_record->retire = head->retire;
    if (head->parts & UPMU_PART_ADDRESS)
        out_record->address = *word++;
    if (head->parts & UPMU_PART_SOURCE)
        out_record->source = *word++;
    if (head->parts & UPMU_PART_WEIGHT)
        out_record->weight = *word++;
    if (head->parts & UPMU_PART_TRANSACTION)
        out_record->transaction = *word++;
    if (head->parts & UPMU_PART_REGISTERS)
        out_record->registers = word;
    if (UPMU_BRANCH_SAMPLES && (head->parts & UPMU_PART_BRANCHES)) {
        word += head->parts & UPMU_PART_REGISTERS ? UPMU_RECORD_REGISTERS : 0;
        out_record->branch = (const void *)word;
        out_record->branches = (head->bytes - (unsigned)((const uint8_t *)word - (const uint8_t *)head)) /
                               (unsigned)sizeof *out_record->branch;
    }
    return head->bytes;
}

#else

static inline void fill_parts(struct record_extension *extension, const struct upmu_overflow *overflow, uint32_t bytes)
{
    (void)extension, (void)overflow, (void)bytes;
}

static inline uint32_t view_parts(const struct record_parts *head, struct upmu_record *out_record)
{
    (void)head, (void)out_record;
    return 0;
}

#endif

static INSIDE_BOTH void fill_extension(struct record_extension *extension, const struct upmu_overflow *overflow,
                           const struct upmu_kept *sampling, uint32_t values, uint32_t extra)
{
    uint64_t *value = (uint64_t *)(void *)((uint8_t *)(extension + 1) + extra);

    extension->event_id = sampling->event_id;
    extension->last_reset = overflow->set->tally[overflow->event].ended;
    extension->values = values;
    extension->process = overflow->process;
    extension->thread = overflow->thread;
    extension->set = overflow->set_number;
    extension->event = overflow->event;
    extension->frames = 0;
    if (UPMU_PRECISE && extra)
        fill_parts(extension, overflow, extra);
    for (; values; values &= values - 1u)
        *value++ = overflow->set->tally[upmu_bits_lowest(values)].total;
}

/* Move the head to position `end`, so that the reader sees all records before it. */
static void ring_publish(struct upmu_ring *ring, uint32_t end)
{
    UPMU_BARRIER();
    __atomic_store_n(&ring->head, end == ring->bytes ? 0 : end, __ATOMIC_RELEASE);
}

#if UPMU_PRECISE
/* Append a record as upmu_ring_put() does; `extra`: bytes of the parts of a precise sample. */
static UPMU_INSIDE bool append_record(const struct upmu_overflow *overflow, uint32_t events,
                                      const struct upmu_kept *sampling, uint32_t extra)
#else
enum { extra = 0 };

bool upmu_ring_put(const struct upmu_overflow *overflow, uint32_t events, const struct upmu_kept *sampling)
#endif
{
    struct upmu_ring *ring = &overflow->session->ring;
    uint32_t bytes = HEADER_BYTES + SAMPLE_BYTES, most = 0, values = 0;
    uint32_t at;
    bool pad;

    if (UPMU_FORMATS && sampling) {
        values = sampling->values & (uint32_t)upmu_bits_ones(overflow->set->count);
        bytes += EXTENSION_BYTES + extra + 8u * upmu_bits_count(values);
        most = UPMU_CALLERS && overflow->session->callers ? 8u * overflow->session->callers->depth : 0;
    }
    if (!find_room(ring, bytes + most, &at, &pad)) {
        __atomic_store_n(&ring->lost, ring->lost + 1u, __ATOMIC_RELAXED);
        return false;
    }
    if (pad && ring->head < ring->bytes)
        put_header(ring, ring->head, 8, RECORD_PAD);
    put_header(ring, at, bytes, UPMU_FORMATS && sampling ? RECORD_EXTENDED : RECORD_SAMPLE);
    fill_sample((void *)(ring->buffer + at + HEADER_BYTES), overflow, events);
    if (UPMU_FORMATS && sampling)
        fill_extension((void *)(ring->buffer + at + HEADER_BYTES + SAMPLE_BYTES), overflow, sampling, values,
                       extra);
    if (UPMU_CALLERS && most)
        ring->open = at;
    else
        ring_publish(ring, at + bytes);
    return true;
}

#if UPMU_PRECISE

bool upmu_ring_put(const struct upmu_overflow *overflow, uint32_t events, const struct upmu_kept *sampling)
{
    return append_record(overflow, events, sampling, 0);
}

/* A function of its own: records of ordinary samples take no instruction for parts. */
bool upmu_ring_put_parts(const struct upmu_overflow *overflow, const struct upmu_kept *sampling)
{
    return append_record(overflow, UPMU_BIT32(overflow->event), sampling, bytes_of_parts(overflow));
}

#endif

#if UPMU_CALLERS

uint64_t *upmu_ring_callers(const struct upmu_ring *ring)
{
    const struct record_header *header = (const void *)(ring->buffer + ring->open);

    return (void *)(ring->buffer + ring->open + header->bytes);
}

void upmu_ring_end(struct upmu_ring *ring, unsigned callers)
{
    struct record_header *header = (void *)(ring->buffer + ring->open);
    struct record_extension *extension = (void *)(ring->buffer + ring->open + HEADER_BYTES + SAMPLE_BYTES);

    extension->frames = (uint8_t)callers;
    header->bytes = (uint16_t)(header->bytes + callers * sizeof(uint64_t));
    ring_publish(ring, ring->open + header->bytes);
}

#endif

/* Find the oldest record that the reader has not dropped: its position and its header; false: the ring is empty. */
static UPMU_INSIDE bool oldest_record(const struct upmu_ring *ring, uint32_t *out_at, struct record_header *out_header)
{
    uint32_t tail = ring->tail;

    if (!ring->buffer || tail == __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE))
        return false;
    memcpy(out_header, ring->buffer + tail, HEADER_BYTES);
    if (out_header->kind == RECORD_PAD) {
        tail = 0;
        memcpy(out_header, ring->buffer, HEADER_BYTES);
    }
    *out_at = tail;
    return true;
}

static void drop_record(struct upmu_ring *ring, uint32_t at, const struct record_header *header)
{
    at += header->bytes;
    __atomic_store_n(&ring->tail, at == ring->bytes ? 0 : at, __ATOMIC_RELEASE);
}

bool upmu_ring_next(struct upmu_ring *ring, struct upmu_sample *out_sample)
{
    struct upmu_record record;

    if (!upmu_ring_view(ring, &record))
        return false;
    *out_sample = *record.sample;
    upmu_ring_drop(ring);
    return true;
}

bool upmu_ring_view(struct upmu_ring *ring, struct upmu_record *out_record)
{
    struct record_header header;
    const struct record_extension *extension;
    uint32_t at;

    memset(out_record, 0, sizeof *out_record);
    if (!oldest_record(ring, &at, &header))
        return false;
    out_record->sample = (const void *)(ring->buffer + at + HEADER_BYTES);
#if UPMU_PRECISE
    out_record->exact = out_record->sample->flags & UPMU_SAMPLE_EXACT;
#endif
    if (header.kind != RECORD_EXTENDED && !(UPMU_PRECISE && header.kind == RECORD_PARTS))
        return true;
    extension = (const void *)(ring->buffer + at + HEADER_BYTES + SAMPLE_BYTES);
    out_record->extended = true;
    out_record->event = extension->event;
    out_record->set = extension->set;
    out_record->values = extension->values;
    out_record->process = extension->process;
    out_record->thread = extension->thread;
    out_record->event_id = extension->event_id;
    out_record->last_reset = extension->last_reset;
    out_record->value = (const void *)(extension + 1);
    if (UPMU_PRECISE && header.kind == RECORD_PARTS)
        out_record->value += view_parts((const void *)(extension + 1), out_record) / 8u;
    out_record->frames = extension->frames;
    out_record->frame = out_record->value + upmu_bits_count(extension->values);
    return true;
}

void upmu_ring_drop(struct upmu_ring *ring)
{
    struct record_header header;
    uint32_t at;

    if (oldest_record(ring, &at, &header))
        drop_record(ring, at, &header);
}

uint32_t upmu_ring_lost(const struct upmu_ring *ring)
{
    return __atomic_load_n(&ring->lost, __ATOMIC_RELAXED);
}

#else

void upmu_ring_init(struct upmu_ring *ring, void *buffer, uint32_t bytes)
{
    (void)buffer;
    (void)bytes;
    memset(ring, 0, sizeof *ring);
}

bool upmu_ring_next(struct upmu_ring *ring, struct upmu_sample *out_sample)
{
    (void)ring;
    (void)out_sample;
    return false;
}

bool upmu_ring_view(struct upmu_ring *ring, struct upmu_record *out_record)
{
    (void)ring;
    (void)out_record;
    return false;
}

void upmu_ring_drop(struct upmu_ring *ring)
{
    (void)ring;
}

uint32_t upmu_ring_lost(const struct upmu_ring *ring)
{
    (void)ring;
    return 0;
}

#endif
