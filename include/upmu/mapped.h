/* SPDX-License-Identifier: MIT */
/*
 * A ring of samples in pages that a program maps, so that it takes samples without a call.
 *
 *     struct upmu_mapped_ring ring = {.page = pages, .pages = 9};   // pages of 4096 bytes, wherever they are
 *
 *     upmu_session_format(&session, &upmu_mapped_format, &ring, sizeof ring);
 *
 * The handler writes a sample to the place in the pages where the program reads it, and publishes it by one store of
 * the head; nothing is copied and nothing is locked.  The program may write any byte of the pages at any time.  The
 * library reads only one word of the pages, the tail, and only compares it.  All else that the library needs is in
 * struct upmu_mapped_ring, which the program does not see.  So a hostile program can spoil or lose its own samples, and
 * nothing else.
 *
 * Call upmu_session_hide_kernel() for a session whose samples a program gets, here as for every other ring.
 */
#ifndef UPMU_MAPPED_H
#define UPMU_MAPPED_H

#include <stdbool.h>
#include <stdint.h>
#include <upmu/format.h>
#include <upmu/mapped_user.h>
#include <upmu/private/mapped.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a page of the ring, whatever size the host's own pages have. */
#define UPMU_MAPPED_PAGE 4096u

/*
 * The library's side of a ring, in memory that the program does not map.  The structure and the pages must stay until
 * the session has another format or is closed.  One session uses a ring.  Fill in the members before `lost`.
 */
struct upmu_mapped_ring {
    void *const *page; /* addresses of the pages in the order in which the program maps them: page[0] has struct
                          upmu_mapped_page, the others have samples */
    uint32_t pages;    /* number of pages: 1 + 2^n, n at most 16 */
    bool mask_on_full; /* a sample that finds no room masks the session, which can be restarted when there is room */
    uint32_t lost;     /* to be read: number of samples that found no room, in all */
    struct upmu_mapped_state state; /* the library's */
};

/*
 * The format "mapped" for upmu_session_format().  The argument is a struct upmu_mapped_ring, which is used in place and
 * not copied.  upmu_session_format() fills in the ring's first page; the other pages are not touched before a sample.
 *
 * upmu_session_format() returns UPMU_ERR_INVALID if the argument has another size, if a page is missing or not aligned
 * to 8 bytes, or if the number of pages is not 1 + 2^n.  Without UPMU_FORMATS or UPMU_SAMPLING there is no such format.
 */
extern const struct upmu_format upmu_mapped_format;

#ifdef __cplusplus
}
#endif

#endif
