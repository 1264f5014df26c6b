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
#include <upmu/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Requests of one list, at most. */
#define UPMU_PACK_REQUESTS 65535u

/* Memory that packing `count` requests takes. */
#define UPMU_PACK_BYTES(count) (sizeof(struct upmu_pack_work) + (count) * sizeof(struct upmu_pack_request))

/* Working memory; contents private. */
struct upmu_pack_request {
    uint64_t resources;
    uint32_t counters;
    uint16_t component;
    uint16_t order;
};
/* Requests that never run together, unless one of some others runs with them and serves their helpers. */
struct upmu_pack_lesson {
    uint32_t together;
    uint32_t others;
};
#define UPMU_PACK_LESSONS 64
struct upmu_pack_work {
    struct upmu_place_work place;
    struct upmu_pack_lesson lesson[UPMU_PACK_LESSONS];
    struct upmu_place_result result[UPMU_REQUESTS];
    uint16_t member[UPMU_REQUESTS];
    struct upmu_pack_request request[1]; /* one for each of the list: UPMU_PACK_BYTES */
};

struct upmu_pack_input {
    /* The requests and what may be used: as in upmu_place(), but for `request_count`; `stay` and
       `set_of` are ignored. */
    const struct upmu_place_input *place;
    unsigned request_count; /* 1 to UPMU_PACK_REQUESTS */
    unsigned limit;         /* requests in one set, at most; 0: UPMU_REQUESTS */
    uint32_t steps;         /* placements that may be tried to better the first packing */
};

struct upmu_pack_result {
    unsigned sets;    /* in which the list can run */
    unsigned bound;   /* fewer are proven to be impossible */
    bool optimal;     /* sets == bound */
    uint32_t steps;   /* placements tried, those for the first packing included */
    unsigned culprit; /* after UPMU_ERR_DOES_NOT_FIT: the request that does not even run alone */
};

/*
 * Pack requests into few sets.
 *
 * What shares no counters and no resources with others is packed apart.  The first
 * packing is first-fit-decreasing, the most constrained request first; if it misses the
 * lower bound, requests are exchanged between sets, and groups of up to UPMU_REQUESTS
 * searched through, until `steps` are used up: never more sets than first-fit-decreasing.
 * set_of[i], for each request, is its set, from 0 on; all sets can be placed.
 * Returns UPMU_OK; UPMU_ERR_DOES_NOT_FIT (out->culprit); UPMU_ERR_NO_SPACE (`bytes` are
 * fewer than UPMU_PACK_BYTES, or a request has too many alternatives); UPMU_ERR_INVALID
 * (no or too many requests, or as upmu_place()); UPMU_ERR_TOO_HARD (a request alone);
 * UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_pack(const struct upmu_pack_input *input, struct upmu_pack_work *work, size_t bytes,
                           uint16_t *set_of, struct upmu_pack_result *out);

/*
 * The same for encoded events of one PMU on which nothing else runs.  `limit` and `steps`
 * as in struct upmu_pack_input.
 *
 * Returns as upmu_pack().
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_pack_events(const struct upmu_pmu *pmu, const struct upmu_event *events, unsigned count,
                                  unsigned limit, uint32_t steps, struct upmu_pack_work *work, size_t bytes,
                                  uint16_t *set_of, struct upmu_pack_result *out);

#ifdef __cplusplus
}
#endif

#endif
