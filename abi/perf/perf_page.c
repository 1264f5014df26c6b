/* SPDX-License-Identifier: MIT */
/*
 * Counts in mapped pages: what a program needs to read the counter of its own event by RDPMC, and to make the time from
 * the TSC, in the first page of the mapping.
 *
 * Layout and use: perf_event_open(2), "MMAP layout". The program extends the value of the counter by the sign of
 * pmc_width bits, and adds `offset`. RDPMC gives 0 in the bits above the counter's width (Intel SDM vol 2, RDPMC), so
 * with one bit more than the counter has no value is negative, and a count has no jump in the middle of the range.
 */
#include "abi/perf/perf_core.h"
#include <upmu/abi.h>
#include <upmu/session.h>

bool upmu_perf_page_is_readable(const struct upmu_perf_event *event)
{
    return event->of_task && !upmu_perf_is_software(event) && !upmu_perf_is_unit(event) && !event->attr.period &&
           !(event->attr.flags & UPMU_PERF_INHERIT) && upmu_machine_has_pmi(event->perf->machine);
}

/* ---- Time ---- */

#define MOST_SHIFT 31u /* a product of `mult` and the cycles below 1 << shift must have 64 bits at most */
#define NS_A_MS 1000000u

void upmu_perf_tsc_set(struct upmu_perf_tsc *tsc, uint32_t khz, uint64_t cycles, uint64_t ns)
{
    unsigned shift = MOST_SHIFT;
    uint64_t mult, rest;

    *tsc = (struct upmu_perf_tsc){.mult = 0};
    if (!khz)
        return;
    while ((mult = upmu_divide((uint64_t)NS_A_MS << shift, khz, &rest)) > UINT32_MAX)
        shift--;
    tsc->mult = (uint32_t)mult;
    tsc->shift = (uint16_t)shift;
    tsc->zero_ns = ns - upmu_perf_tsc_ns(tsc, cycles);
}

/* Return the bit by which a page tells the clock of its event's records; 0: the TSC does not tell it. */
static uint64_t zero_bit(const struct upmu_perf_event *event)
{
    return event->perf->tsc.mult && !(event->attr.flags & UPMU_PERF_USE_CLOCKID) ? UPMU_PERF_PAGE_TIME_ZERO : 0;
}

void upmu_perf_page_clock(const struct upmu_perf_event *event, struct upmu_perf_page *page, uint64_t capabilities)
{
    const struct upmu_perf_tsc *tsc = &event->perf->tsc;

    page->time_shift = tsc->shift;
    page->time_mult = tsc->mult;
    page->time_zero = zero_bit(event) ? tsc->zero_ns : 0;
    page->capabilities = UPMU_PERF_PAGE_CAPABILITIES | zero_bit(event) | capabilities;
}

/* ---- Counts ---- */

/*
 * Write the count of an event into its page, which the program may change: nothing is read from there. `from`: the
 * counts of the event's session. An event that runs on a counter that programs cannot read withdraws the capability.
 * Times grow with the TSC while the event runs: at other times only the library knows whether the task is on a CPU.
 */
static void page_write(struct upmu_perf_event *event, const struct upmu_user_page *from)
{
    const struct upmu_perf_sum *stopped = &event->stopped;
    struct upmu_perf_ring *ring = event->ring;
    struct upmu_perf_page *page = ring->pages[0];
    uint64_t count = stopped->value, capabilities = UPMU_PERF_PAGE_RDPMC;
    bool is_member = event->index != UPMU_PERF_NO_INDEX, runs = is_member && from->flags & UPMU_USER_RUNNING;
    struct upmu_user_event counter = {.index = 0};

    if (is_member)
        counter = from->event[event->index];
    if (runs)
        capabilities = (counter.index ? UPMU_PERF_PAGE_RDPMC : 0) | (event->perf->tsc.mult ? UPMU_PERF_PAGE_TIME : 0);
    count += counter.total - counter.base;
    __atomic_store_n(&page->lock, ++ring->lock, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    page->index = counter.index;
    page->offset = (int64_t)count;
    page->time_enabled = stopped->enabled_ns + (is_member ? from->enabled_ns : 0);
    page->time_running = stopped->running_ns + (is_member ? from->running_ns : 0);
    page->pmc_width = (uint16_t)(counter.width < 64u ? counter.width + 1u : counter.width);
    upmu_perf_page_clock(event, page, capabilities);
    page->time_offset = runs ? event->perf->tsc.zero_ns - from->time_ns : 0;
    __atomic_store_n(&page->lock, ++ring->lock, __ATOMIC_RELEASE);
}

static bool has_page(const struct upmu_perf_event *event)
{
    return event->mapped && event->ring && event->ring->counts;
}

/* Called by the writer of a session's counts: write the pages of its events. */
static void pages_write(struct upmu_watched_page *watched)
{
    const struct upmu_perf_counts *counts = (const struct upmu_perf_counts *)(const void *)watched;

    for (struct upmu_perf_event *event = counts->first; event; event = event->next)
        if (has_page(event))
            page_write(event, &watched->page);
}

void upmu_perf_page_begin(struct upmu_session *session, struct upmu_perf_event *first)
{
    struct upmu_perf_event *event = first;

    while (event && !has_page(event))
        event = event->next;
    if (!event)
        return;
    event->ring->counts->first = first;
    event->ring->counts->watched.written = pages_write;
    /* Without the hook allow_rdpmc no session is published, and pages have no counts. */
    (void)!upmu_session_publish_watched(session, &event->ring->counts->watched);
}
