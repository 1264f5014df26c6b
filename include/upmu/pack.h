/* SPDX-License-Identifier: MIT */
/*
 * Packing: in how few sets can a list of events be counted?  Placement (upmu/place.h) says whether the events of one
 * set fit; packing distributes the events over as many sets as are needed.
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

/* The most requests of one list. */
#define UPMU_PACK_REQUESTS 65535u

/* Bytes of working memory (struct upmu_pack_work) that packing `count` requests takes. */
#define UPMU_PACK_BYTES(count) (sizeof(struct upmu_pack_work) + (count) * sizeof(struct upmu_pack_request))

/* The input of a packing: the events as requests, and the limits of one set. */
struct upmu_pack_input {
    /* The requests, and the counters and resources that each set may use, as for upmu_requests_place().  Its
       `request_count`, `stay` and `set_of` are ignored. */
    const struct upmu_place_input *place;
    unsigned request_count; /* 1 to UPMU_PACK_REQUESTS */
    unsigned limit;         /* the most requests in one set; 0 or more than UPMU_REQUESTS: UPMU_REQUESTS */
};

/* The result of a packing. */
struct upmu_pack_result {
    unsigned sets;    /* number of sets that were made; set_of[] has numbers below it */
    unsigned bound;   /* lower bound: counters alone exclude that fewer sets suffice; 0 after a refusal */
    bool optimal;     /* sets == bound; false: fewer sets may suffice, or the call was refused */
    uint32_t steps;   /* number of calls of upmu_requests_place() that were made */
    unsigned culprit; /* after UPMU_ERR_DOES_NOT_FIT: index of the request that cannot be placed even alone */
};

/*
 * Pack requests into few sets.
 *
 * First-fit-decreasing: the request that can have the fewest counters comes first, and each request goes into the first
 * set into which it can be placed.  So the number of sets need not be the least; the tool `upmu pack` (tools/cmd)
 * searches for the least.  `out->bound` comes from counters alone: requests that can have only certain counters need
 * so many sets that each of them has one of these counters.
 * `bytes` is the size of `work`.  set_of[i] (uint16_t for each request) becomes the number of the set of request i,
 * from 0 on; each set by itself can be placed.
 * Returns UPMU_OK; UPMU_ERR_DOES_NOT_FIT (out->culprit); UPMU_ERR_NO_SPACE (`bytes` are fewer than UPMU_PACK_BYTES, or
 * a request has too many alternatives); UPMU_ERR_INVALID (no or too many requests, or as upmu_requests_place());
 * UPMU_ERR_TOO_HARD (the search for a place of one request alone reached its step limit); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_requests_pack(const struct upmu_pack_input *input, struct upmu_pack_work *work, size_t bytes,
                           uint16_t *set_of, struct upmu_pack_result *out);

/*
 * Do as upmu_requests_pack() for `count` encoded events of one PMU on which nothing else runs.  `limit` is that of
 * struct upmu_pack_input.
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
