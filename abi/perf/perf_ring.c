/* SPDX-License-Identifier: MIT */
/*
 * Rings of records in pages that a program maps, and may write at any time. The pages may lie anywhere. A record is
 * written in place, in words, and is seen by the program when the head is stored behind it.
 *
 * Layout and meaning of head and tail: perf_event_open(2), "MMAP layout".
 */
#include <string.h>
#include "abi/perf/perf_core.h"

_Static_assert(offsetof(struct upmu_perf_page, head) == 1024, "the positions are in the second KiB of the page");
_Static_assert(offsetof(struct upmu_perf_page, reserved) == UPMU_PERF_PAGE_SIZE, "the fields of the first KiB");

#define MOST_DATA_PAGES 65536u

int upmu_perf_ring_init(struct upmu_perf_ring *ring, void *const *pages, uint32_t count, uint32_t watermark)
{
    uint32_t data = count - 1u;
    struct upmu_perf_page *page;

    memset(ring, 0, sizeof *ring);
    if (data > MOST_DATA_PAGES || (data & (data - 1u)))
        return -UPMU_PERF_EINVAL;
    ring->pages = pages;
    ring->bytes = (uintptr_t)data * UPMU_PERF_PAGE_BYTES;
    ring->watermark = watermark ? watermark : ring->bytes / 2u;
    if (ring->watermark > ring->bytes)
        ring->watermark = ring->bytes;
    page = pages[0];
    memset(page, 0, sizeof *page);
    page->capabilities = UPMU_PERF_PAGE_CAPABILITIES;
    page->size = UPMU_PERF_PAGE_SIZE;
    page->data_offset = UPMU_PERF_PAGE_BYTES;
    page->data_bytes = ring->bytes;
    return 0;
}

/* Return the position after so many bytes of records, or the number of bytes for a position. */
static uintptr_t ring_position(const struct upmu_perf_ring *ring, uintptr_t bytes)
{
    return ring->backward ? (uintptr_t)0 - bytes : bytes;
}

/*
 * Is there room for `bytes` more after the `begun` ones? Never so much that the data are full: then head and tail would
 * be at the same place. A tail that no honest program writes (beyond the head, or too far below) leaves no room.
 */
static bool ring_has_room(const struct upmu_perf_ring *ring, uintptr_t begun, uint32_t bytes)
{
    const struct upmu_perf_page *page = ring->pages[0];
    uintptr_t used = 0;

    if (ring->paused)
        return false;
    if (!ring->overwrite) {
        /* Acquire: the program's reads of records come before these are overwritten. */
        uintptr_t tail = __atomic_load_n(&page->tail.low, __ATOMIC_ACQUIRE);

        used = begun - ring_position(ring, tail);
    }
    return used < ring->bytes && bytes < ring->bytes - used;
}

bool upmu_perf_ring_begin(struct upmu_perf_ring *ring, uint32_t bytes, uint32_t lost_bytes,
                          struct upmu_perf_cursor *out_cursor)
{
    bool has_lost = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED);
    uintptr_t begun = __atomic_load_n(&ring->begun, __ATOMIC_RELAXED);

    if (has_lost)
        bytes += lost_bytes;
    /* Before `begun` rises: from then on an interrupt must not publish this record, which has no words yet. */
    (void)__atomic_fetch_add(&ring->writers, 1u, __ATOMIC_ACQUIRE);
    do {
        if (!ring_has_room(ring, begun, bytes)) {
            (void)__atomic_fetch_add(&ring->lost, 1u, __ATOMIC_RELAXED);
            (void)upmu_perf_ring_end(ring);
            return false;
        }
    } while (
        !__atomic_compare_exchange_n(&ring->begun, &begun, begun + bytes, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    *out_cursor = (struct upmu_perf_cursor){
        .ring = ring, .at = ring_position(ring, ring->backward ? begun + bytes : begun), .has_lost = has_lost};
    /* 0 if a record that interrupted this one has told it */
    if (has_lost)
        out_cursor->lost = __atomic_exchange_n(&ring->lost, 0, __ATOMIC_RELAXED);
    return true;
}

/* Publish the records of `begun` bytes. Returns true: the watermark is passed. */
static bool ring_publish(struct upmu_perf_ring *ring, uintptr_t begun)
{
    struct upmu_perf_page *page = ring->pages[0];
    bool passed = begun - ring->told > ring->watermark;

    __atomic_store_n(&page->head.low, ring_position(ring, begun), __ATOMIC_RELEASE);
    if (passed)
        ring->told += ring->watermark;
    return passed;
}

bool upmu_perf_ring_end(struct upmu_perf_ring *ring)
{
    bool passed = false;
    uintptr_t begun;

    if (__atomic_load_n(&ring->writers, __ATOMIC_RELAXED) > 1u) {
        (void)__atomic_fetch_sub(&ring->writers, 1u, __ATOMIC_RELEASE);
        return false;
    }
    for (;;) {
        begun = __atomic_load_n(&ring->begun, __ATOMIC_RELAXED);
        passed |= ring_publish(ring, begun);
        (void)__atomic_fetch_sub(&ring->writers, 1u, __ATOMIC_RELEASE);
        /* Has an interrupt since the load of `begun` left its record to this loop? */
        if (__atomic_load_n(&ring->begun, __ATOMIC_RELAXED) == begun)
            return passed;
        (void)__atomic_fetch_add(&ring->writers, 1u, __ATOMIC_ACQUIRE);
    }
}
