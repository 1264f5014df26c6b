/* SPDX-License-Identifier: MIT */
/*
 * The program's side of a ring of samples in pages that it maps (upmu/mapped.h has the kernel's).  This header needs no
 * other one of upmu.
 *
 *     struct upmu_mapped_page *page = map(...);                     // the first page, writable
 *     const struct upmu_mapped_sample *data = (void *)((char *)page + 4096);
 *     struct upmu_mapped_sample sample;
 *
 *     if (page->version == UPMU_MAPPED_VERSION)
 *         while (upmu_mapped_next(page, data, &sample))
 *             use(&sample);
 */
#ifndef UPMU_MAPPED_USER_H
#define UPMU_MAPPED_USER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the layout of the pages: each layout has its own number. */
#define UPMU_MAPPED_VERSION 1u

/* A sample of one event.  A sample has 64 bytes, so it is in one page as a whole. */
struct upmu_mapped_sample {
    uint64_t ip;       /* interrupted instruction, as in struct upmu_sample */
    uint64_t sp;       /* stack pointer of the interrupted code */
    uint64_t time_ns;  /* clock_ns, or 0 */
    uint64_t event_id; /* upmu_sampling.event_id of the event */
    uint64_t value;    /* number of events counted so far, up to and with this overflow */
    uint32_t events;   /* mask: all events of the set that overflowed together, this one included */
    uint32_t lost;     /* number of samples that found no room since the sample stored before this one */
    uint32_t process;  /* upmu_frame.process of the interrupted code */
    uint32_t thread;   /* upmu_frame.thread of the interrupted code */
    uint16_t cpu;      /* number of the CPU, in the order of upmu_cpu_init() */
    uint16_t flags;    /* UPMU_SAMPLE_… of upmu/upmu.h */
    uint16_t set;      /* upmu_set.number of the set that was active */
    uint8_t event;     /* index in the set of the event that overflowed */
    uint8_t zero;      /* reserved */
};

/* The first bytes of the first page.  The samples are in the pages that follow. */
struct upmu_mapped_page {
    uint32_t version; /* UPMU_MAPPED_VERSION */
    uint32_t records; /* number of samples for which the pages have room, a power of two */
    uint32_t lost;    /* number of samples that found no room, in all */
    uint32_t zero[13]; /* reserved */
    uint32_t head;    /* number of samples stored so far, modulo 2^32; the kernel writes it */
    uint32_t rest[15]; /* reserved: so that head and tail are in different cache lines */
    uint32_t tail;    /* number of samples taken so far, modulo 2^32; the program writes it */
};

/*
 * Take the oldest sample out of the ring; false: the ring is empty.  `data` is the address of the second page; all
 * other pages follow it without a gap.
 *
 * Context: a program; one thread at a time.
 */
static inline bool upmu_mapped_next(struct upmu_mapped_page *page, const struct upmu_mapped_sample *data,
                                    struct upmu_mapped_sample *out_sample)
{
    uint32_t tail = page->tail;

    if (tail == __atomic_load_n(&page->head, __ATOMIC_ACQUIRE))
        return false;
    *out_sample = data[tail & (page->records - 1u)];
    __atomic_store_n(&page->tail, tail + 1u, __ATOMIC_RELEASE);
    return true;
}

#ifdef __cplusplus
}
#endif

#endif
