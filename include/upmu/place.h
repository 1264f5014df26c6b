/* SPDX-License-Identifier: MIT */
/*
 * Placement: which counter and which exclusive resources each request gets.
 *
 * Exact: if a placement exists it is found; if none does, an inclusion-minimal
 * colliding subset is named.  Knows no CPU: requests describe themselves.
 */
#ifndef UPMU_PLACE_H
#define UPMU_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <upmu/pmu.h>
#include <upmu/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Index of a request's second slot; in a build without one (UPMU_SLOTS) of what is never used. */
#define UPMU_SECOND_SLOT (UPMU_SLOTS > 1 ? 1 : 0)
/* Exclusive resources of one slot. */
#define UPMU_SLOT_RESOURCES 3
/* Requests placed together. */
#define UPMU_REQUESTS 32

/* A counter of a request, and what it needs beside it. */
struct upmu_slot {
    uint32_t counters; /* any one of these */
    uint8_t resource_count;
    uint8_t resource[UPMU_SLOT_RESOURCES]; /* exclusive resources it occupies ... */
    uint64_t value[UPMU_SLOT_RESOURCES];   /* ... with this value; equal values share */
};

/* An allowed (counter, counter) of two tied slots: merge, cascade, adjacency. */
struct upmu_pair {
    uint8_t first;
    uint8_t second;
};

/*
 * One way to run a request.
 *
 * The last slot may be a helper: it wants no count, only that some counter of the
 * same set is enabled on its one resource r or on the other of the pair, r ^ 1.  A
 * slot of any request of the set that claims either serves it, if that slot has a
 * counter and is not `dormant`; helpers of the set serve each other.  A served
 * helper gets no counter (UPMU_NO_COUNTER in the result), any other one of its
 * own.  Its resource has its value either way.  Two uses: NetBurst's upstream ESCR
 * works only if a counter is enabled on the ESCR or its twin; top-down metrics
 * need one counter of slots between them.
 */
struct upmu_alternative {
    uint8_t slot_count; /* 1 to UPMU_SLOTS */
    uint8_t pair_count; /* slots 0 and 1 must be one of `pairs`; 0: free */
    bool helper;        /* the last slot is one; it is not slot 0, and not tied by `pairs` */
    bool dormant;       /* something else enables slot 0 later: the target of a cascade */
    bool last;          /* there is none after it and its twin: nobody need ask */
    uint32_t twin;      /* 0; or counters of slot 0 in the next way, which else differs in nothing but that slot */
                        /* 0 claims resource[0] + 1 instead of resource[0], each nowhere else; without `pairs` */
    const struct upmu_pair *pairs;
    struct upmu_slot slot[UPMU_SLOTS];
};

/* Something held by others: a value that a resource must keep. */
struct upmu_held {
    uint8_t resource;
    bool shareable; /* equal values may join */
    uint64_t value;
};

struct upmu_place_input {
    /*
     * The i-th way to run request `request`, best first; false after the last.  One
     * whose slot 0 has no counters is none.  Pure: the same answer each time.  `last`
     * and `twin`, which save calls, are 0 before the first one; who never sets them
     * leaves them so.
     */
    bool (*alternative)(const void *context, unsigned request, unsigned i, struct upmu_alternative *out);
    const void *context;
    unsigned request_count;       /* up to UPMU_REQUESTS */
    uint32_t counters;            /* counters that may be used at all */
    uint32_t taken;               /* of these, held by others */
    const struct upmu_held *held; /* resource values held by others */
    unsigned held_count;
    uint32_t limited; /* at most `limit` counters of this mask; 0: no limit */
    uint8_t limit;
    const uint8_t *preference; /* counters in the order they are tried */
    unsigned preference_count;
    const uint8_t (*stay)[UPMU_SLOTS]; /* per request: counters it runs on now, or UPMU_NO_COUNTER; NULL: none */
    const uint8_t *stay_alternative;   /* per request: its alternative now, or 0xff */
    const uint8_t *set_of;             /* per request: the set whose requests run together; NULL: one set */
};

/* Where one request runs. */
struct upmu_place_result {
    uint8_t alternative;
    uint8_t counter[UPMU_SLOTS]; /* UPMU_NO_COUNTER beyond its slots, and for a served helper */
};

/* Working memory of one placement; contents private.  At most 4 KiB. */
struct upmu_place_work {
    uint64_t words[512];
};

/*
 * Place all requests or none.
 *
 * Requests with `stay` keep their counters (and served helpers go without) if any
 * solution lets all of them keep theirs; else as many as found.  Never recurses.  `out` has request_count
 * entries, written on success only.  `why` (may be NULL) gets culprits, collision
 * and the counters or resource collided over; names are the caller's to add.
 * Returns UPMU_OK, UPMU_ERR_DOES_NOT_FIT, UPMU_ERR_TOO_HARD (step limit),
 * UPMU_ERR_NO_SPACE (`work` cannot hold the alternatives, and those that it holds do
 * not collide), UPMU_ERR_INVALID (no
 * or too many requests, a resource or counter out of range, a malformed helper).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_place(const struct upmu_place_input *input, struct upmu_place_work *work,
                            struct upmu_place_result *out, struct upmu_why *why);

#ifdef __cplusplus
}
#endif

#endif
