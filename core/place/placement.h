/* SPDX-License-Identifier: MIT */
/*
 * The work area of a placement, shared by the parts of the solver: place_read.c fills it,
 * place_search.c decides whether requests fit, place_why.c repeats that for subsets, and place.c
 * has the public call.
 */
#ifndef UPMU_CORE_PLACEMENT_H
#define UPMU_CORE_PLACEMENT_H

#include "core/util/bits.h"
#include <upmu/place.h>
#include <upmu/upmu.h>

#define PLACE_OPTIONS 115
#define PLACE_OPTIONS_EACH 32 /* most options of one request: bits of `viable` */
#define PLACE_CLAIMS 88
#define PLACE_LIST 256
#define PLACE_UNITS (UPMU_SLOTS * UPMU_REQUESTS)

/* Rounds of pruning in one search for a placement; to explain a refusal a search has as many again. */
#define PLACE_ROUNDS 20000u

/* Does upmu_placement_try() look for a place before a search? That saves time if there are many counters. */
#define PLACE_TRIES (UPMU_BACKEND_X86_P4 || !UPMU_PLACE_SEARCH)

/* The number of decisions that can be for a claim; further decisions are for single options. */
#define PLACE_DECISIONS 32

/* Can a request have a helper? A helper is a second slot. */
#define PLACE_HELPERS (UPMU_SLOTS > 1)
#define HELPED(p) (PLACE_HELPERS && (p)->helped != 0)

#define NO_CLAIM 0xffu
#define SERVES(pair) (PLACE_CLAIMS + (pair)) /* a number in place of a claim's: to serve the helpers of a pair */
#define NO_UNIT 0xffu
#define NO_OPTION 0xffu

/*
 * A way to run a request: an alternative, with one of its pairs. An alternative that ends in a helper makes two
 * options: in one the helper has a counter of its own, in the other a counter of another request serves the helper.
 */
struct place_option {
    uint32_t counters[UPMU_SLOTS];
    uint8_t alternative;
    uint8_t request;
    uint8_t shape;  /* number of slots that need a counter; flags; number of dormant slots' claims */
    uint8_t claims; /* offset in `list`: their number, then the claims: dormant slots', others, a helper's */
};

/* The parts of a shape. */
#define OPTION_SLOTS 3u
#define OPTION_BLOCKED 4u /* the option contradicts a value in use elsewhere */
#define OPTION_SERVED 8u  /* the option has a helper without a counter, which others must serve */
#define OPTION_DORMANT 4  /* shift in `shape`: number of dormant slots' claims */
#define OPTION_TORN 64u   /* the option needs one resource with two values */

/* Needed only while requests are read, to number their claims. */
struct place_reading {
    uint64_t value[PLACE_CLAIMS];
    uint8_t next[PLACE_CLAIMS];    /* next claim on the same resource */
    uint8_t chain[UPMU_RESOURCES]; /* first claim on a resource */
};

/* A decision of the search: for one option of a request, or for all that make a claim or serve a pair. */
struct place_decision {
    uint8_t option;
    uint8_t claim; /* a claim's number, or SERVES(pair), or NO_CLAIM */
    uint8_t trail; /* length of the trail before the decision */
};

/* Needed only while searching. A unit is a slot of a request: the unit's number is slot * UPMU_REQUESTS + request. */
struct place_search {
    uint32_t allowed[PLACE_UNITS];  /* counters that a unit may have; 0: the unit is not needed */
    uint32_t viable[UPMU_REQUESTS]; /* options not excluded: bit n: the request's n-th option */
    uint8_t counter[PLACE_UNITS];
    uint8_t owner[UPMU_COUNTERS];    /* unit on a used counter */
    uint32_t because[UPMU_REQUESTS]; /* requests because of which options were excluded */
    uint8_t choice[UPMU_REQUESTS];   /* option that the counters suggest */
    uint8_t spread[UPMU_RESOURCES];  /* by resource: claim that other requests' options agree with */
    uint8_t trail[PLACE_OPTIONS];    /* options excluded, in order */
    struct place_decision decision[PLACE_DECISIONS + UPMU_REQUESTS];
};

/* Scalars are first: small offsets make short instructions. */
struct placement {
    const struct upmu_place_input *input;
    uint64_t contested; /* resources that are needed with several values */
    uint64_t helped;    /* resources by which helpers are served */
    uint32_t helpers;   /* requests that have helpers */
    uint32_t served;    /* pairs of resources that serve helpers outside of this input (tools/cmd: part of a set) */

    /* The input of a search: requests and rules. */
    uint32_t members;
    uint32_t pinned;    /* members that must stay where they are */
    uint32_t available; /* counters that may be used */
    uint32_t limited;   /* counters under the limit; 0: the limit has no effect */
    uint8_t lifted;     /* rules that are lifted at the moment: PLACE_LIFT_... */

    /* The state of the search. */
    uint8_t trail_count, decision_count;
    bool tries;         /* PLACE_TRIES; false while requests that could not all be read are placed */
    uint32_t used;      /* counters that a unit has */
    uint32_t failed;    /* requests that found no place in the last try */
    uint32_t unmatched; /* requests that may have a unit without a counter */
    uint32_t changed;   /* requests whose options changed */
    uint32_t rounds;    /* rounds that are left */
    uint32_t witness;   /* requests that cannot be placed with the present decisions */

    /* The requests, as read. */
    uint8_t fault; /* UPMU_OK, or why the requests cannot be read */
    uint8_t count; /* requests that could be read */
    uint8_t option_count, claim_count;
    uint8_t barred;                    /* flags of all options, ORed; 0xff: a slot has no counters */
    uint8_t slots;                     /* the most slots of an option */
    uint8_t first[UPMU_REQUESTS + 1];  /* number of each request's first option */
    uint64_t resources[UPMU_REQUESTS]; /* resources that any option of a request claims */
    uint32_t counters[UPMU_REQUESTS];  /* counters that any option of a request names */
    uint32_t usable[UPMU_REQUESTS];    /* options by which a request alone could run */
    uint8_t keep[UPMU_REQUESTS];       /* option that a request is on now */
    uint8_t blocker[UPMU_REQUESTS];    /* resource in use elsewhere that blocks a request, or UPMU_NO_RESOURCE */
    uint8_t rank[UPMU_COUNTERS];       /* counters of low rank are tried first */
    struct place_option option[PLACE_OPTIONS];
    uint8_t list[PLACE_LIST];
    uint8_t resource[PLACE_CLAIMS]; /* the resource of a claim */

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

/* Rules that can be lifted, to find the cause of a conflict. */
#define PLACE_LIFT_TAKEN 1u     /* counters that are taken */
#define PLACE_LIFT_HELD 2u      /* values of resources in use elsewhere */
#define PLACE_LIFT_RESOURCES 4u /* requests must agree on values of resources */
#define PLACE_LIFT_LIMIT 8u

/* Prepare the work area for a valid input, and read its requests. */
void upmu_placement_begin(struct placement *p, const struct upmu_place_input *input);

/* Read the requests. If that is not possible, p->fault is UPMU_ERR_NO_SPACE or UPMU_ERR_INVALID. */
void upmu_placement_read(struct placement *p);

/* Lift some rules (PLACE_LIFT_...); all others apply. */
void upmu_placement_lift(struct placement *p, unsigned rules);

/*
 * Try to place `members` as upmu_placement_solve() does, but without undoing.  Returns the requests
 * without a place: those that found none, and those that were not tried because they share counters
 * with these.
 */
uint32_t upmu_placement_try(struct placement *p, uint32_t members, uint32_t pinned);

/*
 * Place `members` alone, those in `pinned` where they are now. Returns UPMU_OK, with the placement in `choice` and
 * `counter`; UPMU_ERR_DOES_NOT_FIT, with requests that do not fit by themselves in `witness`; or UPMU_ERR_TOO_HARD.
 */
enum upmu_status upmu_placement_solve(struct placement *p, uint32_t members, uint32_t pinned);

/* Store in *why a subset of the witness that conflicts, and the cause of the conflict; without a search the witness. */
void upmu_placement_explain(struct placement *p, struct upmu_why *why);

#endif
