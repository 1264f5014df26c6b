/* SPDX-License-Identifier: MIT */
/*
 * Find out why a placement does not exist: a conflicting subset from which no request can be left out, found by leaving
 * out one request after the other; and the cause of the conflict, found by lifting one rule after the other.
 */
#include "core/util/shared.h"
#include "core/place/placement.h"

#if UPMU_PLACE_SEARCH

/* The properties that the requests of a subset have in common. */
struct place_needs {
    uint32_t counters;
    uint64_t contested; /* resources that requests need with several values */
    uint64_t shared;    /* contested resources that several requests claim */
    uint64_t common;    /* contested resources that all requests claim */
    unsigned blocker;   /* a resource whose use outside of the placement blocks a request, or UPMU_NO_RESOURCE */
};

static struct place_needs needs_of(const struct placement *p, uint32_t members)
{
    struct place_needs needs = {0, 0, 0, ~UINT64_C(0), UPMU_NO_RESOURCE};

    for (; members != 0; members &= members - 1u) {
        unsigned request = upmu_bits_lowest(members);
        uint64_t contested = p->resources[request] & p->contested;

        needs.counters |= p->counters[request];
        needs.shared |= needs.contested & contested;
        needs.contested |= contested;
        needs.common &= contested;
        if (p->blocker[request] != UPMU_NO_RESOURCE)
            needs.blocker = p->blocker[request];
    }
    return needs;
}

/*
 * Remove requests from `members` as long as the remaining ones still conflict, and return these. A conflict over
 * counters alone is minimal as it was found: without any one of its requests the others fit. A request that is removed
 * may have served a helper of another one: then all remaining requests are tried again.
 */
static uint32_t colliding_subset(struct placement *p, uint32_t members)
{
    if (p->slots == 1 && needs_of(p, members).contested == 0)
        return members;
    for (uint32_t left = members; left != 0;) {
        uint32_t tried = UPMU_BIT32(upmu_bits_highest(left));

        left ^= tried;
        if (upmu_placement_solve(p, members & ~tried, 0) != UPMU_ERR_DOES_NOT_FIT)
            continue;
        members = p->witness;
        left = HELPED(p) ? members : left & members;
    }
    return members;
}

/* Return the rules (PLACE_LIFT_...) without which the requests `members` would fit; 0: no rule is the cause. */
static unsigned rule_to_lift(struct placement *p, uint32_t members, const struct place_needs *needs)
{
    static const uint8_t tried[] = {PLACE_LIFT_TAKEN, PLACE_LIFT_HELD, PLACE_LIFT_TAKEN | PLACE_LIFT_HELD,
                                    PLACE_LIFT_RESOURCES, PLACE_LIFT_LIMIT};
    unsigned felt = p->limited != 0 ? PLACE_LIFT_RESOURCES | PLACE_LIFT_LIMIT : PLACE_LIFT_RESOURCES;

    if (needs->counters & p->input->counters & p->input->taken)
        felt |= PLACE_LIFT_TAKEN;
    if (needs->blocker != UPMU_NO_RESOURCE)
        felt |= PLACE_LIFT_HELD;
    for (unsigned i = 0; i < sizeof tried; i++) {
        if ((tried[i] & ~felt) != 0)
            continue;
        upmu_placement_lift(p, tried[i]);
        if (upmu_placement_solve(p, members, 0) == UPMU_OK)
            return tried[i];
    }
    return 0;
}

void upmu_placement_explain(struct placement *p, struct upmu_why *why)
{
    const struct upmu_place_input *input = p->input;
    struct place_needs needs;
    unsigned lift, resource = UPMU_NO_RESOURCE;
    uint32_t counters, members;

    p->rounds = PLACE_ROUNDS;
    p->tries = PLACE_TRIES != 0;
    members = colliding_subset(p, p->witness);
    needs = needs_of(p, members);
    lift = rule_to_lift(p, members, &needs);
    counters = needs.counters & input->counters;
    UPMU_STORE(why->culprits, members);
    if (lift & (PLACE_LIFT_TAKEN | PLACE_LIFT_HELD)) {
        UPMU_STORE(why->collision, UPMU_COLLISION_CLAIMED);
        counters = lift & PLACE_LIFT_TAKEN ? counters & input->taken : 0;
        if (lift & PLACE_LIFT_HELD)
            resource = needs.blocker;
    } else if (lift == PLACE_LIFT_RESOURCES) {
        UPMU_STORE(why->collision, UPMU_COLLISION_RESOURCE);
        counters = 0;
        if (needs.shared == 0) /* one request needs a resource with two values */
            needs.shared = needs.contested;
        if (needs.common & needs.shared) /* preferably a resource that all requests need */
            needs.shared &= needs.common;
        for (resource = 0; (needs.shared >> resource & 1u) == 0; resource++)
            continue;
    } else if (lift == PLACE_LIFT_LIMIT) {
        UPMU_STORE(why->collision, UPMU_COLLISION_LIMIT);
        counters = input->limited & input->counters;
    } else {
        UPMU_STORE(why->collision, UPMU_COLLISION_COUNTERS);
        counters &= ~input->taken;
    }
    UPMU_STORE(why->counters, counters);
    UPMU_STORE(why->resource, (uint8_t)resource);
}

#else

void upmu_placement_explain(struct placement *p, struct upmu_why *why)
{
    UPMU_STORE(why->culprits, p->witness);
}

#endif
