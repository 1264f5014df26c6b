/* SPDX-License-Identifier: MIT */
/*
 * A ring of samples in pages that a program maps, so that it takes samples without a call.
 *
 *     struct upmu_mapped_ring ring = {.page = pages, .pages = 9};   // pages of 4096 bytes, wherever they are
 *
 *     upmu_session_format(&session, &upmu_mapped_format, &ring, sizeof ring);
 *
 * The handler stores a sample where it stays, and publishes it by one store; nothing is copied and nothing is locked.
 * The program may write any byte of the pages at any time.  The library reads one word of them, the tail, and compares
 * it; what it needs else it keeps in struct upmu_mapped_ring, which the program does not see.  So a hostile program
 * spoils or loses its own samples, and nothing else.
 *
 * A session of a program needs upmu_session_hide_kernel(), as with every other way for samples.
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

/* Bytes of a page of such a ring, whatever the host's own pages are. */
#define UPMU_MAPPED_PAGE 4096u

/*
 * A ring, in memory that the program does not map.  It and its pages stay until the session has another format or is
 * closed; one session uses it.  Fill in the members before `lost`.
 */
struct upmu_mapped_ring {
    void *const *page; /* addresses of pages: first that of struct upmu_mapped_page; the program maps them in order */
    uint32_t pages;    /* 1 + 2^n, n at most 16 */
    bool mask_on_full; /* a sample that finds no room stops the session, until it is restarted and there is room */
    uint32_t lost;     /* samples that found no room, in all; to be read */
    struct upmu_mapped_state state; /* the library's */
};

/*
 * The format "mapped" for upmu_session_format(), whose argument is a struct upmu_mapped_ring, which is used and not
 * copied: its first page is filled in, its other pages are not touched before a sample.
 *
 * upmu_session_format() returns UPMU_ERR_INVALID where the argument has another size, where a page is missing or not
 * aligned to 8 bytes, or where their number is not 1 + 2^n.  Without UPMU_FORMATS there is no such format.
 */
extern const struct upmu_format upmu_mapped_format;

#ifdef __cplusplus
}
#endif

#endif
