/* SPDX-License-Identifier: MIT */
/*
 * Reading counts from user mode: the page that the kernel publishes, and a reader that needs only
 * this header.  For C99 and later, and C++.
 *
 * The reader is for the thread that is monitored (or, of a CPU's session, for code that
 * cannot leave this CPU): RDPMC reads the counters of the CPU it runs on.
 */
#ifndef UPMU_USER_H
#define UPMU_USER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UPMU_USER_VERSION 1u /* of the page's layout */
#define UPMU_USER_EVENTS 32  /* events of a page */

/* Bits of upmu_user_page.flags. */
#define UPMU_USER_RUNNING (1u << 0) /* the session has its counters at this moment */
#define UPMU_USER_CLOSED (1u << 1)  /* the session has ended */

/* An event: count = total + (counter - base) modulo 2^width. */
struct upmu_user_event {
    uint64_t total; /* events before `base` */
    uint64_t base;  /* value of the counter at `total` */
    uint32_t index; /* RDPMC index + 1; 0: ask the kernel, `total` is its last value */
    uint32_t width; /* bits */
};

/* The page, which the kernel maps read-only.  The layout is the same for 32 and 64 bits. */
struct upmu_user_page {
    uint32_t version;           /* UPMU_USER_VERSION */
    volatile uint32_t sequence; /* odd: being written */
    uint32_t generation;        /* changes when the counter of an event changes */
    uint32_t count;             /* events in use */
    uint32_t flags;             /* UPMU_USER_… */
    uint32_t set;               /* number of the active event set */
    uint64_t time_ns;           /* of this state; 0: no clock, or it is detached */
    uint64_t enabled_ns;        /* of the session, from its first start to time_ns */
    uint64_t running_ns;        /* of it, the time of the active set with counters */
    struct upmu_user_event event[UPMU_USER_EVENTS]; /* of the active set */
};

/* Keep the compiler from moving accesses across. */
#ifndef UPMU_USER_BARRIER
#define UPMU_USER_BARRIER() __asm__ volatile("" ::: "memory")
#endif

/* RDPMC; a program that cannot use it defines UPMU_USER_RDPMC itself.  Context: user mode, where CR4.PCE is set. */
#ifndef UPMU_USER_RDPMC
#if defined __x86_64__ || defined __i386__
static inline uint64_t upmu_user_rdpmc(uint32_t index, bool fence)
{
    uint32_t low, high;

    /* RDPMC is not serializing: earlier instructions may still be under way (Intel SDM vol 2, RDPMC). */
    if (fence)
        __asm__ volatile("lfence" ::: "memory");
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
    return (uint64_t)high << 32 | low;
}
/* The value of a counter; with `fence` after all earlier loads. */
#define UPMU_USER_RDPMC(index, fence) upmu_user_rdpmc(index, fence)
#else
/* Pages of other CPUs have no index. */
#define UPMU_USER_RDPMC(index, fence) ((void)(index), (void)(fence), (uint64_t)0)
#endif
#endif

/*
 * The count of an event now.  `fence`: wait until all earlier instructions have finished.
 *
 * Returns false if the event has no counter at this moment, or changed too often during the read.
 * Then *out_count is the kernel's last value; ask the kernel for the present one.
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
