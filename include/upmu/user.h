/* SPDX-License-Identifier: MIT */
/*
 * Reading counts from user mode: the page that the kernel publishes (upmu/page.h), and upmu_user_read(), which needs
 * only this header.  For C99 and later, and C++.
 *
 * RDPMC reads the counters of the CPU that executes it.  So the page of a thread's session is for that thread, and the
 * page of a CPU's session is for code that cannot leave that CPU.
 */
#ifndef UPMU_USER_H
#define UPMU_USER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UPMU_USER_VERSION 1u /* version of the page's layout */
#define UPMU_USER_EVENTS 32  /* the most events of a page */

/* Bits of upmu_user_page.flags, which the kernel writes. */
#define UPMU_USER_RUNNING (1u << 0) /* the session runs now: its events have counters */
#define UPMU_USER_CLOSED (1u << 1)  /* the session has ended, or the kernel has withdrawn the page */

/* An event: count = total + ((counter - base) modulo 2^width). */
struct upmu_user_event {
    uint64_t total; /* events counted up to the counter value `base` */
    uint64_t base;  /* value of the counter when the count was `total` */
    uint32_t index; /* 1 + RDPMC index of the counter; 0: ask the kernel, whose last count is `total` */
    uint32_t width; /* bits of the counter */
};

/*
 * The page with a session's counts, which the kernel writes and maps read-only.  The layout is the same for programs of
 * 32 and 64 bits.
 */
struct upmu_user_page {
    uint32_t version;           /* UPMU_USER_VERSION */
    volatile uint32_t sequence; /* odd: the kernel is writing the page; each write adds 2 */
    uint32_t generation;        /* increases when the counter of an event changes */
    uint32_t count;             /* entries of `event` in use */
    uint32_t flags;             /* UPMU_USER_… */
    uint32_t set;               /* upmu_set.number of the active set */
    /* clock_ns at which the two times below were right; 0: no clock, not started since it was published, closed */
    uint64_t time_ns;
    uint64_t enabled_ns;        /* time that the session was enabled, from its first start to time_ns */
    uint64_t running_ns;        /* part of enabled_ns in which the active set had counters */
    struct upmu_user_event event[UPMU_USER_EVENTS]; /* entry i is event i of the active set */
};

/* Keep the compiler from moving memory accesses from one side of this line to the other. */
#ifndef UPMU_USER_BARRIER
#define UPMU_USER_BARRIER() __asm__ volatile("" ::: "memory")
#endif

/* Execute RDPMC.  A program that cannot use this function defines UPMU_USER_RDPMC(index, fence) itself, before this
   header.  Context: user mode, where CR4.PCE is set. */
#ifndef UPMU_USER_RDPMC
#if defined __x86_64__ || defined __i386__
static inline uint64_t upmu_user_rdpmc(uint32_t index, bool fence)
{
    uint32_t low, high;

    /*
     * RDPMC does not wait for earlier instructions, which may still be executed when the counter is read (Intel SDM vol
     * 2, RDPMC); LFENCE waits for them.
     */
    if (fence)
        __asm__ volatile("lfence" ::: "memory");
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
    return (uint64_t)high << 32 | low;
}
/* Read the counter with an RDPMC index; with `fence` true after all earlier instructions. */
#define UPMU_USER_RDPMC(index, fence) upmu_user_rdpmc(index, fence)
#else
/* CPUs other than x86 have no RDPMC: all events of their pages have index 0. */
#define UPMU_USER_RDPMC(index, fence) ((void)(index), (void)(fence), (uint64_t)0)
#endif
#endif

/*
 * Read the present count of event `event` of the active set, below UPMU_USER_EVENTS.  `fence` true: wait until all
 * earlier instructions have finished.
 *
 * Returns true: *out_count is the count.  False: ask the kernel for the count.  Then the event has no counter at this
 * moment, or a counter that programs cannot read, and *out_count is the kernel's last count; or the page changed in
 * each of 1,000 tries, and *out_count is 0.
 * Context: any, in the program that has the page.
 */
static inline bool upmu_user_read(const struct upmu_user_page *page, unsigned event, bool fence, uint64_t *out_count)
{
    unsigned tries;

    *out_count = 0;
    for (tries = 0; tries < 1000; tries++) {
        const struct upmu_user_event *from = &page->event[event % UPMU_USER_EVENTS];
        uint32_t sequence = page->sequence, index, width;
        uint64_t total, value;

        UPMU_USER_BARRIER();
        if (sequence & 1u)
            continue;
        index = from->index;
        width = from->width;
        total = from->total;
        value = index ? UPMU_USER_RDPMC(index - 1u, fence) - from->base : 0;
        UPMU_USER_BARRIER();
        if (page->sequence != sequence)
            continue;
        if (index && width < 64)
            value &= ((uint64_t)1 << width) - 1u;
        *out_count = total + value;
        return index != 0;
    }
    return false;
}

#ifdef __cplusplus
}
#endif

#endif
