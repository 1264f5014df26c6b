/* SPDX-License-Identifier: MIT */
/*
 * The work area of a placement, shared by the parts of the solver: place_read.c
 * fills it, place_search.c answers whether some requests fit, place_why.c asks
 * that again for subsets, and place.c is the call.
 */
#ifndef UPMU_CORE_PLACEMENT_H
#define UPMU_CORE_PLACEMENT_H

#include <upmu/place.h>
#include "core/bits.h"

#define PLACE_OPTIONS 176
#define PLACE_OPTIONS_EACH 32 /* of one request: bits of `viable` */
#define PLACE_CLAIMS 88
#define PLACE_MASKS 64
#define PLACE_LIST 512
#define PLACE_UNITS (UPMU_SLOTS * UPMU_REQUESTS)

/* Rounds of pruning in one search for a placement, and once more to explain a refusal. */
#define PLACE_ROUNDS 20000u

#define NO_CLAIM 0xffu
#define NO_PARENT 0xffu

/* The parts of an option's shape. */
#define OPTION_SLOTS 3u
#define OPTION_BLOCKED 4u /* contradicts a value held by others */
#define OPTION_REQUEST 3  /* shift */

/*
 * One way to run a request: an alternative, with one of its pairs.  A merged
 * option has one slot and is represented by its lead, the first of its kind:
 * mask[0] of a lead holds the counters of all, mask[1] an option's own.
 */
struct place_option {
    uint8_t alternative;
    uint8_t shape;   /* slot count, flag, request */
    uint8_t mask[3]; /* per slot: index into `mask` of the work area */
    uint8_t lead;    /* the option that represents this one */
    uint16_t claims; /* offset in `list`: how many, then the claims in rising order */
};

/* Needed while the requests are read. */
struct place_reading {
    uint64_t users;          /* resources that a request uses ... */
    uint64_t several_users;  /* ... that several do, */
    uint64_t several_values; /* ... and that are wanted with several values */
    uint64_t value[PLACE_CLAIMS];
    uint32_t given[PLACE_MASKS];   /* `mask` as the backend numbers counters */
    uint8_t next[PLACE_CLAIMS];    /* further claims on the same resource */
    uint8_t chain[UPMU_RESOURCES]; /* first claim on a resource */
};

/* Decision of the search. */
struct place_decision {
    uint8_t option;
    uint8_t trail; /* length of the trail before it */
};

/*
 * Needed while searching.  A unit is a slot of a request: slot * UPMU_REQUESTS +
 * request.
 */
struct place_search {
    uint32_t allowed[PLACE_UNITS];  /* counters its viable options leave; 0: not a unit yet */
    uint32_t viable[UPMU_REQUESTS]; /* options not excluded; bits from the request's first */
    uint8_t counter[PLACE_UNITS];
    uint8_t owner[UPMU_COUNTERS];  /* unit on a used counter */
    uint8_t parent[UPMU_COUNTERS]; /* unit that reached a counter, or NO_PARENT */
    uint8_t trail[PLACE_OPTIONS];  /* options excluded, in order */
    struct place_decision decision[UPMU_REQUESTS];
};

/* Scalars come first: the nearer a field, the shorter the instructions. */
struct placement {
    const struct upmu_place_input *input;

    /* The question: which requests, under which rules. */
    uint64_t idle;    /* resources over which no two requests can collide */
    uint64_t ignored; /* these, and those that do not matter for the moment */
    uint32_t members;
    uint32_t pinned;    /* of these, requests that must stay where they are */
    uint32_t available; /* counters */
    uint32_t limited;   /* 0: the limit cannot be felt */
    uint32_t wide;      /* requests that have options of several slots */
    bool lift_held;     /* values held by others do not matter */

    /* The state of the search. */
    uint8_t trail_count, decision_count;
    uint32_t used;      /* counters with a unit */
    uint32_t unmatched; /* requests that may have a unit without a counter */
    uint32_t changed;   /* requests whose options changed */
    uint32_t decided;   /* requests with one option that has not been spread */
    uint32_t settled;   /* requests with one option that has been spread */
    uint32_t rounds;    /* left */
    uint32_t witness;   /* requests that cannot be placed, found without any exclusion; or 0 */

    /* The requests, as read. */
    uint16_t list_used;
    uint8_t option_count, claim_count, mask_count;
    uint8_t first[UPMU_REQUESTS + 1];
    uint8_t order[UPMU_COUNTERS];      /* counter of a bit */
    uint8_t rank[UPMU_COUNTERS];       /* bit of a counter */
    uint64_t resources[UPMU_REQUESTS]; /* that it can collide over */
    uint32_t counters[UPMU_REQUESTS];  /* that any of its options names */
    uint32_t mask[PLACE_MASKS];
    struct place_option option[PLACE_OPTIONS];
    uint8_t list[PLACE_LIST];
    uint8_t resource[PLACE_CLAIMS]; /* of a claim */
    uint8_t blocker[UPMU_REQUESTS]; /* resource by which others block it, or UPMU_NO_RESOURCE */
    uint8_t keep[UPMU_REQUESTS];    /* option that a request runs on now */

    union {
        struct place_reading reading;
        struct place_search search;
    } u;
};

_Static_assert(sizeof(struct placement) <= sizeof(struct upmu_place_work), "the work area is too small");

static inline bool single_bit(uint32_t mask)
{
    return (mask & (mask - 1u)) == 0;
}

/* A mask of counters in the order of preference. */
uint32_t upmu_placement_ranked(const struct placement *p, uint32_t counters);

/*
 * Read and digest the requests.  UPMU_OK, UPMU_ERR_NO_SPACE, UPMU_ERR_INVALID.
 * Needs `rank`; begins the part of the work area that reading needs.
 */
enum upmu_status upmu_placement_read(struct placement *p);

/* The rules about counters, with those of others and the limit lifted or not. */
void upmu_placement_rules(struct placement *p, bool lift_taken, bool lift_limit);

/*
 * Place `members` alone, those in `pinned` where they are now.  UPMU_OK leaves the
 * placement in `viable` and `counter`; UPMU_ERR_DOES_NOT_FIT, UPMU_ERR_TOO_HARD.
 */
enum upmu_status upmu_placement_solve(struct placement *p, uint32_t members, uint32_t pinned);

/* Name the colliding subset of a component that was found not to fit, and what it collides over. */
void upmu_placement_explain(struct placement *p, uint32_t members, struct upmu_why *why);

#endif
