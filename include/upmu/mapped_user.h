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

/* Version of the layout: another one is another layout. */
#define UPMU_MAPPED_VERSION 1u

/* A sample: 64 bytes, so none lies in two pages. */
struct upmu_mapped_sample {
    uint64_t ip;       /* interrupted instruction; all as in struct upmu_sample */
    uint64_t sp;       /* its stack pointer */
    uint64_t time_ns;  /* clock_ns, or 0 */
    uint64_t event_id; /* upmu_sampling.event_id */
    uint64_t value;    /* count of the event, this overflow included */
    uint32_t events;   /* bit i: event i of the session overflowed, too */
    uint32_t lost;     /* samples before this one that found no room */
    uint32_t process;  /* upmu_frame's: of the interrupted code */
    uint32_t thread;   /* the same */
    uint16_t cpu;      /* order of initialisation */
    uint16_t flags;    /* UPMU_SAMPLE_… of upmu/upmu.h */
    uint16_t set;      /* number of the set that was active */
    uint8_t event;     /* that this sample is about */
    uint8_t zero;      /* reserved */
};

/* The begin of the first page.  Samples are in the pages behind it. */
struct upmu_mapped_page {
    uint32_t version; /* UPMU_MAPPED_VERSION */
    uint32_t records; /* room for so many samples, a power of two */
    uint32_t lost;    /* samples that found no room, in all */
    uint32_t zero[13]; /* reserved */
    uint32_t head;    /* samples that were ever stored; the kernel writes it */
    uint32_t rest[15]; /* reserved: head and tail are in lines of their own */
    uint32_t tail;    /* samples that were taken; the program writes it */
};

/*
 * Take the oldest sample; false: there is none.  `data` is the address of the second page, behind which all others
 * follow.
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
