/* SPDX-License-Identifier: MIT */
/*
 * Placement: which counter and which exclusive resources each request of a list gets.  A request is one event to count.
 * A resource is a register besides the counter that can have only one value at a time, such as an ESCR of NetBurst.
 *
 * The search is exact (UPMU_PLACE_SEARCH): if a placement exists it is found; if none exists, the refusal names a
 * conflicting subset of the requests from which no request can be left out.  The solver knows no CPU: the caller
 * describes by `struct upmu_alternative` what each request needs.
 */
#ifndef UPMU_PLACE_H
#define UPMU_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <upmu/status.h>
#include <upmu/private/pmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Index of a request's second slot.  In a build with one slot for each request (UPMU_SLOTS 1) it is 0 and never used.
 */
#define UPMU_SECOND_SLOT (UPMU_SLOTS > 1 ? 1 : 0)
/* The most exclusive resources that one slot can need. */
#define UPMU_SLOT_RESOURCES 3
/* The most requests of one call of upmu_requests_place(). */
#define UPMU_REQUESTS 32

/* A slot: one counter of a request, with the resources that this counter needs. */
struct upmu_slot {
    uint32_t counters; /* mask: the slot may have any one of these counters */
    uint8_t resource_count; /* number of resources that the slot needs: entries of `resource` and `value` in use */
    uint8_t resource[UPMU_SLOT_RESOURCES]; /* numbers of the exclusive resources that the slot needs */
    uint64_t value[UPMU_SLOT_RESOURCES];   /* value that resource[i] must have; slots with equal values share it */
};

/*
 * A pair of counters that slots 0 and 1 of a request may have together.  Pairs are for counters that depend on each
 * other: two merged into a wide one, the two of a cascade, two that must be adjacent.
 */
struct upmu_pair {
    uint8_t first;  /* number of the counter that slot 0 gets */
    uint8_t second; /* number of the counter that slot 1 gets with it */
};

/*
 * An alternative: one way to run a request, by its slots.
 *
 * The last slot may be a helper.  No count of a helper is wanted: the request only needs that some enabled counter of
 * the same set uses the helper's one resource r, or the other resource of its pair, r ^ 1.  A slot of any request of
 * the set that needs one of these two resources serves the helper, if that slot has a counter and is not `dormant`.  A
 * helper that has a counter serves the other helpers of the set, too.  A served helper gets no counter (UPMU_NO_COUNTER
 * in the result); any other helper gets its own.  In both cases the helper's resource gets the helper's value.  Two
 * uses: NetBurst's upstream ESCR works only if a counter is enabled on the ESCR or its twin; top-down metrics need one
 * common counter that counts pipeline slots.
 */
struct upmu_alternative {
    uint8_t slot_count; /* 1 to UPMU_SLOTS */
    uint8_t pair_count; /* entries of `pairs`: slots 0 and 1 must get one of these pairs; 0: they are independent */
    bool helper;        /* the last slot is a helper; a helper is not slot 0, and not tied by `pairs` */
    bool dormant;       /* slot 0 is the target of a cascade: its counter does not run until another one overflows */
    bool last;          /* this alternative, or its twin if it has one, is the request's last: no further call */
    /*
     * 0, or a mask: the next alternative (the twin) is equal, but its slot 0 may have these counters, and needs
     * resource[0] + 1 instead of resource[0].  No other slot needs one of these two resources; there are no `pairs`.
     */
    uint32_t twin;
    const struct upmu_pair *pairs;
    struct upmu_slot slot[UPMU_SLOTS];
};

/* A resource that is in use outside of this placement, and must keep its value. */
struct upmu_held {
    uint8_t resource; /* number of the resource, below UPMU_RESOURCES */
    bool shareable; /* requests that need `value` may use the resource; false: no request may */
    uint64_t value; /* value that the resource has now, and keeps */
};

/* Requests to place. */
struct upmu_place_input {
    /*
     * Write alternative `i` of request `request` to *out, the best one first; false: there is no alternative `i`, and
     * none after it.  All fields are written but `last` and `twin`, which are 0 before the first call for a request;
     * they only save calls.  An alternative whose slot 0 has no counters is not used.  The function is pure: it gives
     * the same answer each time.
     */
    bool (*alternative)(const void *context, unsigned request, unsigned i, struct upmu_alternative *out);
    const void *context;
    unsigned request_count;       /* up to UPMU_REQUESTS */
    uint32_t counters;            /* mask: counters of the PMU that requests may use */
    uint32_t taken;               /* mask: counters of `counters` that others use, and no request may have */
    /* array of `held_count` resources that are in use outside of this placement; NULL if `held_count` is 0 */
    const struct upmu_held *held;
    unsigned held_count;
    uint32_t limited; /* mask: requests may have at most `limit` of these counters together; 0: no limit */
    uint8_t limit;
    const uint8_t *preference; /* indexes of counters, in the order in which the solver tries them */
    unsigned preference_count;
    const uint8_t (*stay)[UPMU_SLOTS]; /* stay[r][k]: counter that slot k of request r has now, or UPMU_NO_COUNTER;
                                          NULL: no request runs now */
    const uint8_t *stay_alternative;   /* index of the alternative by which request r runs now; 0xff: r does not run */
    const uint8_t *set_of;             /* set of request r: helpers are served within a set only; NULL: one set */
};

/* Where one request runs. */
struct upmu_place_result {
    uint8_t alternative;         /* index of the alternative that was chosen for the request */
    uint8_t counter[UPMU_SLOTS]; /* counter of each slot; UPMU_NO_COUNTER beyond its slots, and for a served helper */
};

/* Working memory of one placement, 4 KiB; contents private. */
struct upmu_place_work {
    uint64_t words[512];
};

/*
 * Place all requests or none.
 *
 * Requests that run now (`stay`) keep their counters, and served helpers stay without one, if any placement allows this
 * for all of these requests; otherwise for as many as the search finds.  No function calls itself.  `out` has
 * request_count entries, written on success only.  `why` (may be NULL) gets `status`; after UPMU_ERR_DOES_NOT_FIT also
 * `culprits`, `collision`, and the counters or the resource in conflict (without UPMU_PLACE_SEARCH `culprits` alone).
 * Names of events are not filled in.
 * Returns UPMU_OK, UPMU_ERR_DOES_NOT_FIT, UPMU_ERR_TOO_HARD (step limit), UPMU_ERR_NO_SPACE (`work` cannot hold all
 * alternatives, and the requests that it holds do not conflict), UPMU_ERR_INVALID (no or too many requests, a resource
 * or counter out of range, a malformed alternative).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_requests_place(const struct upmu_place_input *input, struct upmu_place_work *work,
                            struct upmu_place_result *out, struct upmu_why *why);

#ifdef __cplusplus
}
#endif

#endif
