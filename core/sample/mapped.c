/* SPDX-License-Identifier: MIT */
/*
 * The format "mapped": samples are written into pages that a program has mapped too, and may write at any time. So what
 * is read back from them is not trusted.
 */
#include <upmu/mapped.h>

#include "core/util/mem.h"

#if UPMU_FORMATS && UPMU_SAMPLING

#define SAMPLES_PER_PAGE (UPMU_MAPPED_PAGE / (uint32_t)sizeof(struct upmu_mapped_sample))
#define DATA_PAGES_MOST 65536u

_Static_assert(sizeof(struct upmu_mapped_sample) == 64, "a sample lies in one page");
_Static_assert(sizeof(struct upmu_mapped_page) <= UPMU_MAPPED_PAGE, "the first page has the words");

static enum upmu_status begin_mapped(struct upmu_session *session, const void *argument, size_t bytes,
                                     void **out_state)
{
    struct upmu_mapped_ring *ring = (void *)(uintptr_t)argument;
    struct upmu_mapped_page *page;
    uint32_t data;

    (void)session;
    if (bytes != sizeof *ring)
        return UPMU_ERR_INVALID;
    data = ring->pages - 1u;
    if (!ring->page || !data || data > DATA_PAGES_MOST || (data & (data - 1u)))
        return UPMU_ERR_INVALID;
    for (uint32_t i = 0; i < ring->pages; i++)
        if (!ring->page[i] || ((uintptr_t)ring->page[i] & 7u))
            return UPMU_ERR_INVALID;
    ring->state.records = data * SAMPLES_PER_PAGE;
    ring->state.head = ring->lost = ring->state.told = 0;
    page = ring->page[0];
    memset(page, 0, sizeof *page);
    page->version = UPMU_MAPPED_VERSION;
    page->records = ring->state.records;
    *out_state = ring;
    return UPMU_OK;
}

/*
 * Is there room for a sample?  The program writes page->tail, the number of samples that it has read.  If that is
 * impossible (above the head, or too far below), there is no room.
 */
static bool has_room(const struct upmu_mapped_ring *ring)
{
    const struct upmu_mapped_page *page = ring->page[0];
    /* Acquire: the program's reads of a sample, before it wrote the tail, come before this sample is overwritten. */
    uint32_t tail = __atomic_load_n(&page->tail, __ATOMIC_ACQUIRE);

    return ring->state.head - tail < ring->state.records;
}

/* Store the sample of an overflow in the next place of the ring, with the number of samples lost before it. */
static void fill_mapped(struct upmu_mapped_ring *ring, const struct upmu_overflow *overflow)
{
    uint32_t at = ring->state.head & (ring->state.records - 1u), lost = ring->lost - ring->state.told;
    struct upmu_mapped_sample *sample = ring->page[1u + at / SAMPLES_PER_PAGE];

    sample += at % SAMPLES_PER_PAGE;
    sample->ip = overflow->ip;
    sample->sp = overflow->sp;
    sample->time_ns = overflow->time_ns;
    sample->event_id = overflow->set->sampling[overflow->event].event_id;
    sample->value = upmu_overflow_value(overflow, overflow->event);
    sample->events = overflow->events;
    sample->lost = lost;
    sample->process = overflow->process;
    sample->thread = overflow->thread;
    sample->cpu = overflow->cpu->meter.number;
    sample->flags = (uint16_t)(overflow->flags | (lost ? UPMU_SAMPLE_LOST : 0u));
    sample->set = overflow->set_number;
    sample->event = overflow->event;
    sample->zero = 0;
    ring->state.told = ring->lost;
}

static unsigned store_mapped(void *state, const struct upmu_overflow *overflow, bool notify)
{
    struct upmu_mapped_ring *ring = state;
    struct upmu_mapped_page *page = ring->page[0];
    unsigned answer = notify ? UPMU_OVERFLOW_NOTIFY : 0;

    if (!has_room(ring)) {
        __atomic_store_n(&ring->lost, ring->lost + 1u, __ATOMIC_RELAXED);
        __atomic_store_n(&page->lost, ring->lost, __ATOMIC_RELAXED);
        return answer | (ring->mask_on_full ? UPMU_OVERFLOW_MASK : 0);
    }
    fill_mapped(ring, overflow);
    ring->state.head++;
    __atomic_store_n(&page->head, ring->state.head, __ATOMIC_RELEASE);
    return answer;
}

static unsigned restart_mapped(void *state, struct upmu_session *session)
{
    const struct upmu_mapped_ring *ring = state;

    (void)session;
    return ring->mask_on_full && !has_room(ring) ? UPMU_OVERFLOW_MASK : 0;
}

const struct upmu_format upmu_mapped_format = {
    .name = "mapped", .begin = begin_mapped, .overflow = store_mapped, .restart = restart_mapped
};

#endif
