/* SPDX-License-Identifier: MIT */
/*
 * The sample ring: variable records in the caller's bytes, one writer (an
 * interrupt handler), one reader.
 *
 * A record is a 16-bit length in bytes, a multiple of 8, a 16-bit kind, and its
 * body; it never wraps: kind PAD fills the rest of the buffer.  Positions are byte
 * offsets; head == tail means empty, so a full ring keeps 8 bytes free.
 */
#include "core/ring.h"
#include "core/mem.h"
#include "core/port_call.h"

#if UPMU_SAMPLING

enum record_kind { RECORD_PAD = 0, RECORD_SAMPLE = 1 };

struct record_header {
    uint16_t bytes;
    uint16_t kind;
    uint32_t zero;
};

/* A multiple of 8, so that what is left at the end always holds a header. */
#define RECORD_BYTES ((uint32_t)(sizeof(struct record_header) + sizeof(struct upmu_sample) + 7u) & ~UINT32_C(7))

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

/* Where a record of `bytes` can go; false: nowhere.  May have to skip to the start. */
static bool find_room(const struct upmu_ring *ring, uint32_t bytes, uint32_t *out_at, bool *out_pad)
{
    uint32_t head = ring->head, tail = ring->tail;

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

bool upmu_ring_put(struct upmu_ring *ring, const struct upmu_sample *sample)
{
    struct upmu_sample record = *sample;
    uint32_t lost = ring->lost;
    uint32_t at;
    bool pad;

    if (!ring->buffer || !find_room(ring, RECORD_BYTES, &at, &pad)) {
        ring->lost = lost + 1;
        return false;
    }
    record.lost = lost - ring->lost_reported;
    if (record.lost)
        record.flags |= UPMU_SAMPLE_LOST;
    ring->lost_reported = lost;
    if (pad && ring->head < ring->bytes)
        put_header(ring, ring->head, 8, RECORD_PAD);
    put_header(ring, at, RECORD_BYTES, RECORD_SAMPLE);
    memcpy(ring->buffer + at + sizeof(struct record_header), &record, sizeof record);
    UPMU_BARRIER();
    at += RECORD_BYTES;
    __atomic_store_n(&ring->head, at == ring->bytes ? 0 : at, __ATOMIC_RELEASE);
    return true;
}

bool upmu_ring_next(struct upmu_ring *ring, struct upmu_sample *out_sample)
{
    uint32_t tail = ring->tail;
    uint32_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
    struct record_header header;

    if (!ring->buffer || tail == head)
        return false;
    memcpy(&header, ring->buffer + tail, sizeof header);
    if (header.kind == RECORD_PAD) {
        tail = 0;
        memcpy(&header, ring->buffer, sizeof header);
    }
    memcpy(out_sample, ring->buffer + tail + sizeof header, sizeof *out_sample);
    tail += header.bytes;
    __atomic_store_n(&ring->tail, tail == ring->bytes ? 0 : tail, __ATOMIC_RELEASE);
    return true;
}

uint32_t upmu_ring_lost(const struct upmu_ring *ring)
{
    return ring->lost;
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

uint32_t upmu_ring_lost(const struct upmu_ring *ring)
{
    (void)ring;
    return 0;
}

#endif
