/* SPDX-License-Identifier: MIT */
/*
 * What the parts of packing share: pack.c splits a list into components and packs
 * first-fit-decreasing; pack_search.c bounds and betters a component of up to
 * UPMU_REQUESTS requests.
 */
#ifndef UPMU_CORE_PACKING_H
#define UPMU_CORE_PACKING_H

#include <upmu/pack.h>
#include "core/placement.h"

/*
 * A component that was read as one placement: its sets are masks of requests, most
 * constrained request first.
 */
struct packing {
    struct placement *p;
    uint32_t steps; /* placements left */
    uint32_t tried;
    bool unsure;   /* some placement was too hard: nothing is proven by search */
    uint8_t limit; /* requests in one set */
    uint8_t count;
    uint8_t sets;
    uint8_t bound;
    uint32_t set[UPMU_REQUESTS + 1]; /* 0 after the last */

    /* Pairs of resources on which a request might serve helpers, and on which it might be served. */
    uint32_t serves[UPMU_REQUESTS];
    uint32_t wants[UPMU_REQUESTS];

    /* The search for a better packing. */
    uint32_t trial[UPMU_REQUESTS + 1];
    uint32_t left;                  /* requests without a set */
    uint32_t weight[UPMU_REQUESTS]; /* of those left, the heaviest is given a set first */
    uint32_t lessons;
    struct upmu_pack_lesson *lesson; /* the latest ones: UPMU_PACK_LESSONS */
};

/* Can these requests run together?  Takes a step. */
bool upmu_packing_fits(struct packing *packing, uint32_t requests);

/* Find the lower bound, and search for a packing that reaches it. */
void upmu_packing_better(struct packing *packing);

#endif
