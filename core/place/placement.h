/* SPDX-License-Identifier: MIT */
/*
 * The work area of a placement, shared by the parts of the solver: place_read.c fills it, place_search.c decides
 * whether requests fit, place_why.c does that for subsets of requests to explain a refusal, and place.c has the public
 * call.
 */
#ifndef UPMU_CORE_PLACEMENT_H
#define UPMU_CORE_PLACEMENT_H

#include "core/util/bits.h"
#include <upmu/place.h>
#include <upmu/upmu.h>

#define PLACE_OPTIONS 115
#define PLACE_OPTIONS_EACH 32 /* most options of one request: each is a bit of `viable` and `usable` */
#define PLACE_CLAIMS 88
#define PLACE_LIST 256
#define PLACE_UNITS (UPMU_SLOTS * UPMU_REQUESTS)

/*
 * The rounds of pruning that the searches of one placement have. The last search of each component that keeps some
 * requests in their places has as many more, and explaining a refusal has as many again. With none left a search ends
 * with UPMU_ERR_TOO_HARD.
 */
#define PLACE_ROUNDS 20000u

/* Does upmu_placement_try() look for a place before a search? The pass saves time if there are many counters. */
#define PLACE_TRIES (UPMU_BACKEND_X86_P4 || !UPMU_PLACE_SEARCH)

/* The number of decisions of a search that can be for a claim; further decisions are for single options. */
#define PLACE_DECISIONS 32

/* Can a request have a helper? A helper is a slot behind the first: builds with one slot have none. */
#define PLACE_HELPERS (UPMU_SLOTS > 1)
#define HELPED(p) (PLACE_HELPERS && (p)->helped != 0)

#define NO_CLAIM 0xffu
/* A number in place of a claim's: to serve the helpers of a pair of resources (2 * pair and 2 * pair + 1). */
#define SERVES(pair) (PLACE_CLAIMS + (pair))
#define NO_UNIT 0xffu
#define NO_OPTION 0xffu

/*
 * A way to run a request: one alternative, with one of its pairs of counters if it has any. An alternative that ends in
 * a helper makes two options: in one the helper has a counter of its own, in the other a counter of another request
 * serves the helper.
 */
struct place_option {
    uint32_t counters[UPMU_SLOTS];
    uint8_t alternative;
    uint8_t request;
    uint8_t shape;  /* number of slots that need a counter; flags; number of claims of a dormant slot */
    uint8_t claims; /* offset in placement.list: number of claims; then claims of a dormant slot, others, of a helper */
};

/* The parts of a shape. */
#define OPTION_SLOTS 3u
/* the option needs a resource that users outside of this placement hold with another value, or do not share */
#define OPTION_BLOCKED 4u
/* the option has a helper without a counter of its own, which another request's counter must serve */
#define OPTION_SERVED 8u
#define OPTION_DORMANT 4  /* shift in `shape`: number of claims of a dormant slot */
/* the option needs one resource with two values: it can never be used, unless the rule is lifted */
#define OPTION_TORN 64u

/* Needed only while requests are read, to give each claim (a value of a resource) its number. */
struct place_reading {
    uint64_t value[PLACE_CLAIMS];  /* by claim: the value that it gives its resource */
    uint8_t next[PLACE_CLAIMS];    /* by claim: the next claim on the same resource, or NO_CLAIM */
    uint8_t chain[UPMU_RESOURCES]; /* by resource: the first claim on it, or NO_CLAIM */
};

/* A decision of the search: for one option of a request, or for its options that make a claim or serve a pair. */
struct place_decision {
    uint8_t option; /* index in placement.option, whose entry also has the request's number */
    uint8_t claim;  /* a claim's number, or SERVES(pair), or NO_CLAIM: for this option alone */
    uint8_t trail;  /* entries of `trail` in use before the decision */
};

/*
 * Needed only while searching. A unit is here a slot of a request, and no hardware: its number is slot * UPMU_REQUESTS
 * + request.
 */
struct place_search {
    uint32_t allowed[PLACE_UNITS];   /* by unit: counters that the slot may have; 0: the slot is not needed */
    uint32_t viable[UPMU_REQUESTS];  /* by request: bit n: its n-th option is not excluded */
    uint8_t counter[PLACE_UNITS];    /* by unit: the counter that the slot has, or UPMU_NO_COUNTER */
    uint8_t owner[UPMU_COUNTERS];    /* by counter in `used`: the unit (slot of a request) that has it */
    uint32_t because[UPMU_REQUESTS]; /* by request: the requests because of which options of it were excluded */
    uint8_t choice[UPMU_REQUESTS];   /* by request: index of the option that its slots' counters suggest */
    uint8_t spread[UPMU_RESOURCES];  /* by resource: the claim that all viable options agree with, or NO_CLAIM */
    uint8_t trail[PLACE_OPTIONS];    /* indices of the options that were excluded, in order */
    struct place_decision decision[PLACE_DECISIONS + UPMU_REQUESTS];
};

/* Scalars are first: small offsets make short instructions. */
struct placement {
    const struct upmu_place_input *input;
    uint64_t contested; /* bit n: resource n is needed with several values */
    uint64_t helped;    /* bit n: a counter that uses resource n can do the work of a helper, which needs none then */
    uint32_t helpers;   /* mask of the requests that have an option with a helper */
    uint32_t served;    /* bit n: requests outside of this input serve the helpers of pair n (for tools/cmd) */

    /* The input of a search: requests and rules. Masks of requests and of counters have a bit for each number. */
    uint32_t members;   /* requests to place */
    uint32_t pinned;    /* those of `members` that must stay on the counters that they have now */
    uint32_t available; /* counters of the PMU that requests may use: without `taken`, unless that rule is lifted */
    uint32_t limited;   /* those of `available` of which requests may have at most input->limit; 0: any number */
    uint8_t lifted;     /* bits PLACE_LIFT_... of the rules that do not apply now */

    /* The state of the search. */
    uint8_t trail_count, decision_count; /* entries in use of `trail` and `decision` */
    bool tries;                          /* PLACE_TRIES; false while requests that could not all be read are placed */
    uint32_t used;                       /* mask of the counters that a slot has */
    uint32_t failed;                     /* requests that found no place in the last pass */
    uint32_t unmatched;                  /* requests of which a slot may lack a counter */
    uint32_t changed;                    /* requests whose options changed since conclusions were drawn */
    uint32_t rounds;                     /* rounds that are left, of PLACE_ROUNDS */
    uint32_t witness;                    /* requests that cannot all be placed with the present decisions */

    /* The requests, as read. */
    uint8_t fault; /* UPMU_OK, or why not all requests could be read */
    uint8_t count; /* number of requests that could be read, from the first on */
    uint8_t option_count, claim_count;
    uint8_t barred;                    /* `shape` of all options, ORed; 0xff: an option has a slot without counters */
    uint8_t slots;                     /* the number of slots of the option that has most */
    uint8_t first[UPMU_REQUESTS + 1];  /* by request: index of its first option in `option` */
    uint64_t resources[UPMU_REQUESTS]; /* by request: resources that any option of it claims */
    uint32_t counters[UPMU_REQUESTS];  /* by request: counters that any option of it names */
    uint32_t usable[UPMU_REQUESTS];    /* by request: bit n: the request alone could run by its n-th option */
    uint8_t keep[UPMU_REQUESTS];       /* by request: index of the option that it runs by now, or PLACE_OPTIONS */
    uint8_t blocker[UPMU_REQUESTS];    /* by request: a resource whose use elsewhere blocks it, or UPMU_NO_RESOURCE */
    uint8_t rank[UPMU_COUNTERS];       /* by counter: its place in `preference`; counters of low rank are tried first */
    struct place_option option[PLACE_OPTIONS]; /* the options of all requests, request by request */
    uint8_t list[PLACE_LIST];                  /* numbers of claims, where place_option.claims points to */
    uint8_t resource[PLACE_CLAIMS];            /* the resource of a claim */

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

/* Rules of a placement. Each can be lifted, to find the cause of a conflict. */
#define PLACE_LIFT_TAKEN 1u     /* counters in `taken` may not be used */
#define PLACE_LIFT_HELD 2u      /* resources in use elsewhere (`held`) keep their values */
#define PLACE_LIFT_RESOURCES 4u /* all requests need the same value of a resource */
#define PLACE_LIFT_LIMIT 8u     /* at most `limit` counters of the mask `limited` */

/*
 * Prepare the work area for a valid input: read its requests, with all rules in force. p->fault tells whether that
 * succeeded.
 */
void upmu_placement_begin(struct placement *p, const struct upmu_place_input *input);

/* Read the requests of p->input. Where that is not possible, p->fault becomes UPMU_ERR_NO_SPACE or UPMU_ERR_INVALID. */
void upmu_placement_read(struct placement *p);

/*
 * Lift the rules in `rules` (PLACE_LIFT_...); all others apply. Computes p->available, p->limited and p->usable anew.
 */
void upmu_placement_lift(struct placement *p, unsigned rules);

/*
 * Try to place `members` as upmu_placement_solve() does, but in one pass that undoes nothing. Returns the mask of the
 * requests without a place: requests that found none, and requests that were not tried because they share counters with
 * these.
 */
uint32_t upmu_placement_try(struct placement *p, uint32_t members, uint32_t pinned);

/*
 * Place the requests `members` as if there were no others; requests in `pinned` stay where they run now. Returns
 * UPMU_OK, with the placement in p->u.search.choice and .counter; UPMU_ERR_DOES_NOT_FIT, with requests in p->witness
 * that do not fit by themselves; or UPMU_ERR_TOO_HARD.
 */
enum upmu_status upmu_placement_solve(struct placement *p, uint32_t members, uint32_t pinned);

/*
 * Store in *why a subset of p->witness that conflicts, and the cause of the conflict. A build without UPMU_PLACE_SEARCH
 * stores p->witness alone.
 */
void upmu_placement_explain(struct placement *p, struct upmu_why *why);

#endif
