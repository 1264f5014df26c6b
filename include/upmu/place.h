/* SPDX-License-Identifier: MIT */
/*
 * Placement: the counter and the exclusive resources of each request.
 *
 * It is exact: if a placement exists it is found; if none exists, a conflicting subset is named
 * from which no request can be left out.  It knows no CPU: requests describe themselves.
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

/* Index of a request's second slot; 0, and never used, in a build with one slot (UPMU_SLOTS). */
#define UPMU_SECOND_SLOT (UPMU_SLOTS > 1 ? 1 : 0)
/* Exclusive resources of one slot. */
#define UPMU_SLOT_RESOURCES 3
/* Requests placed together. */
#define UPMU_REQUESTS 32

/* A counter of a request, with the resources that it needs. */
struct upmu_slot {
    uint32_t counters; /* any one of these */
    uint8_t resource_count;                /* entries of `resource` and `value` in use */
    uint8_t resource[UPMU_SLOT_RESOURCES]; /* exclusive resources it occupies ... */
    uint64_t value[UPMU_SLOT_RESOURCES];   /* ... with this value; equal values share */
};

/* An allowed (counter, counter) of two tied slots: merge, cascade, adjacency. */
struct upmu_pair {
    uint8_t first;  /* counter of the first slot */
    uint8_t second; /* counter of the second one */
};

/*
 * A way to run a request.
 *
 * The last slot may be a helper: it needs no count, but an enabled counter of the same set at its one resource r or at
 * the other of the pair, r ^ 1.  A slot of any request of the set that claims one of the two serves the helper, if that
 * slot has a counter and is not `dormant`.  Helpers of the set serve each other.  A served helper gets no counter
 * (UPMU_NO_COUNTER in the result); any other helper gets its own.  Its resource has its value in both cases.  Two uses:
 * NetBurst's upstream ESCR works only if a counter is enabled on the ESCR or its twin; top-down metrics need one common
 * counter of slots.
 */
struct upmu_alternative {
    uint8_t slot_count; /* 1 to UPMU_SLOTS */
    uint8_t pair_count; /* number of `pairs`; slots 0 and 1 must be one of them; 0: any counters */
    bool helper;        /* the last slot is a helper; it is not slot 0, and not tied by `pairs` */
    bool dormant;       /* something else enables slot 0 later: the target of a cascade */
    bool last;          /* no alternative follows it and its twin: no further call is needed */
    uint32_t twin;      /* 0; or counters of slot 0 in the next alternative, which is equal except that its slot 0 */
                        /* claims resource[0] + 1 instead of resource[0], each in no other slot; without `pairs` */
    const struct upmu_pair *pairs;
    struct upmu_slot slot[UPMU_SLOTS];
};

/* A resource in use outside of this placement: a value that it must keep. */
struct upmu_held {
    uint8_t resource; /* its number, below UPMU_RESOURCES */
    bool shareable; /* requests with the same value may use it */
    uint64_t value; /* that it has */
};

/* Requests to place. */
struct upmu_place_input {
    /*
     * The i-th way to run request `request`, best first; false after the last.  A way whose slot 0
     * has no counters is not used.  Pure: the same answer each time.  `last` and `twin` save calls;
     * they are 0 before the first call and need not be set.
     */
    bool (*alternative)(const void *context, unsigned request, unsigned i, struct upmu_alternative *out);
    const void *context;
    unsigned request_count;       /* up to UPMU_REQUESTS */
    uint32_t counters;            /* counters that may be used at all */
    uint32_t taken;               /* of these, not available */
    const struct upmu_held *held; /* resources in use outside of this placement */
    unsigned held_count;
    uint32_t limited; /* at most `limit` counters of this mask; 0: no limit */
    uint8_t limit;
    const uint8_t *preference; /* counters in the order in which they are tried */
    unsigned preference_count;
    const uint8_t (*stay)[UPMU_SLOTS]; /* per request: counters it runs on now, or UPMU_NO_COUNTER; NULL: none */
    const uint8_t *stay_alternative;   /* per request: its alternative now, or 0xff */
    const uint8_t *set_of;             /* per request: the set whose requests run together; NULL: one set */
};

/* Where one request runs. */
struct upmu_place_result {
    uint8_t alternative;         /* index in the request's alternatives */
    uint8_t counter[UPMU_SLOTS]; /* UPMU_NO_COUNTER beyond its slots, and for a served helper */
};

/* Working memory of one placement; contents private.  At most 4 KiB. */
struct upmu_place_work {
    uint64_t words[512];
};

/*
 * Place all requests or none.
 *
 * Requests with `stay` keep their counters (and served helpers stay without one) if any solution
 * allows this for all of them; otherwise as many as the search finds.  Never recurses.  `out` has
 * request_count entries, written on success only.  `why` (may be NULL) gets culprits, collision,
 * and the counters or the resource in conflict; the caller adds names.
 * Returns UPMU_OK, UPMU_ERR_DOES_NOT_FIT, UPMU_ERR_TOO_HARD (step limit), UPMU_ERR_NO_SPACE (`work`
 * cannot hold all alternatives, and those that it holds do not conflict), UPMU_ERR_INVALID (no or
 * too many requests, a resource or counter out of range, a malformed helper).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_requests_place(const struct upmu_place_input *input, struct upmu_place_work *work,
                            struct upmu_place_result *out, struct upmu_why *why);

#ifdef __cplusplus
}
#endif

#endif
