/* SPDX-License-Identifier: MIT */
/*
 * Packing: in how few sets can a list of events be counted?  The inverse of placement.
 */
#ifndef UPMU_PACK_H
#define UPMU_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/event.h>
#include <upmu/place.h>
#include <upmu/private/pack.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Requests of one list, at most. */
#define UPMU_PACK_REQUESTS 65535u

/* Memory that packing `count` requests takes. */
#define UPMU_PACK_BYTES(count) (sizeof(struct upmu_pack_work) + (count) * sizeof(struct upmu_pack_request))

/* Events to pack, and limits. */
struct upmu_pack_input {
    /* The requests and what may be used: as in upmu_requests_place(), but for `request_count`; `stay` and
       `set_of` are ignored. */
    const struct upmu_place_input *place;
    unsigned request_count; /* 1 to UPMU_PACK_REQUESTS */
    unsigned limit;         /* requests in one set, at most; 0: UPMU_REQUESTS */
};

/* The result of a packing. */
struct upmu_pack_result {
    unsigned sets;    /* in which the list can run */
    unsigned bound;   /* fewer are impossible, as the counters show */
    bool optimal;     /* sets == bound; else fewer sets may do */
    uint32_t steps;   /* placements tried */
    unsigned culprit; /* after UPMU_ERR_DOES_NOT_FIT: the request that does not even run alone */
};

/*
 * Pack requests into few sets.
 *
 * First-fit-decreasing: the request with the fewest counters first, each in the first set that
 * has room.  The bound comes from counters alone: requests that can have only certain counters
 * need enough sets to have one of them each.  (`upmu pack` searches exactly: tools/cmd.)
 * set_of[i], for each request, is its set, from 0 on; all sets can be placed.
 * Returns UPMU_OK; UPMU_ERR_DOES_NOT_FIT (out->culprit); UPMU_ERR_NO_SPACE (`bytes` are
 * fewer than UPMU_PACK_BYTES, or a request has too many alternatives); UPMU_ERR_INVALID
 * (no or too many requests, or as upmu_requests_place()); UPMU_ERR_TOO_HARD (a request alone);
 * UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_requests_pack(const struct upmu_pack_input *input, struct upmu_pack_work *work, size_t bytes,
                           uint16_t *set_of, struct upmu_pack_result *out);

/*
 * As upmu_requests_pack(), for encoded events of one PMU on which nothing else runs; `limit` as in upmu_pack_input.
 *
 * Returns as upmu_requests_pack().
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_events_pack(const struct upmu_pmu *pmu, const struct upmu_event *events, unsigned count,
                                  unsigned limit, struct upmu_pack_work *work, size_t bytes, uint16_t *set_of,
                                  struct upmu_pack_result *out);

#ifdef __cplusplus
}
#endif

#endif
