/* SPDX-License-Identifier: MIT */
/*
 * Working memory of one packing (upmu/pack.h).
 */
#ifndef UPMU_PRIVATE_PACK_H
#define UPMU_PRIVATE_PACK_H

#include <stdint.h>
#include <upmu/place.h>

/*
 * Entry i of an array over the list: `counters` and `ease` are of request i, `order` is the request packed as the i-th.
 */
struct upmu_pack_request {
    /* private */
    uint32_t counters; /* counters that any way of the request can have */
    uint16_t order;
    uint8_t ease; /* requests with the least ease are packed first (core/place/pack.c) */
};

/* The working memory of upmu_requests_pack(). */
struct upmu_pack_work {
    /* private */
    struct upmu_place_work place;
    struct upmu_place_result result[UPMU_REQUESTS];
    uint16_t member[UPMU_REQUESTS];      /* numbers of the requests of the set that is being tried */
    struct upmu_pack_request request[1]; /* one entry for each request of the list: UPMU_PACK_BYTES() */
};

#endif
