/* SPDX-License-Identifier: MIT */
/*
 * Working memory of one packing (upmu/pack.h).
 */
#ifndef UPMU_PRIVATE_PACK_H
#define UPMU_PRIVATE_PACK_H

#include <stdint.h>
#include <upmu/place.h>

/* A request on the list. */
struct upmu_pack_request {
    /* private */
    uint32_t counters;
    uint16_t order;
    uint8_t ease;
};

/* The working memory. */
struct upmu_pack_work {
    /* private */
    struct upmu_place_work place;
    struct upmu_place_result result[UPMU_REQUESTS];
    uint16_t member[UPMU_REQUESTS];
    struct upmu_pack_request request[1]; /* one for each of the list: UPMU_PACK_BYTES */
};

#endif
