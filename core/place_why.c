/* SPDX-License-Identifier: MIT */
/*
 * Why a placement does not exist: an inclusion-minimal colliding subset, found by
 * leaving out one request after the other, and what it collides over, found by
 * lifting one rule after the other.
 */
#include "core/placement.h"

static uint32_t unranked_mask(const struct placement *p, uint32_t mask)
{
    uint32_t counters = 0;

    for (; mask != 0; mask &= mask - 1u)
        counters |= UPMU_BIT32(p->order[upmu_bits_lowest(mask)]);
    return counters;
}

/*
 * Does the whole refusal of `members` follow from the matching, which names no
 * request too many?  Not with further slots, of which some may not have been matched.
 */
static bool only_counters_matter(const struct placement *p, uint32_t members)
{
    if ((p->wide & members) != 0)
        return false;
    for (; members != 0; members &= members - 1u) {
        unsigned request = upmu_bits_lowest(members);

        if (p->resources[request] != 0 || !single_bit(p->u.search.viable[request]))
            return false;
    }
    return true;
}

/* Leave out requests while the rest still collides. */
static uint32_t colliding_subset(struct placement *p, uint32_t members)
{
    if (p->witness != 0 && (single_bit(p->witness) || only_counters_matter(p, p->witness)))
        return p->witness;
    if (p->witness != 0)
        members = p->witness;
    for (uint32_t left = members; left != 0; left &= left - 1u) {
        uint32_t rest = members & ~(left & (0u - left));

        if (upmu_placement_solve(p, rest, 0) != UPMU_ERR_DOES_NOT_FIT)
            continue;
        members = p->witness ? p->witness : rest;
        left &= members | (left & (0u - left));
    }
    return members;
}

static bool fits_now(struct placement *p, uint32_t members)
{
    return upmu_placement_solve(p, members, 0) == UPMU_OK;
}

/* Would the subset fit, were it not for others? */
static bool explain_claims(struct placement *p, uint32_t members, uint32_t counters, struct upmu_why *why)
{
    unsigned resource = UPMU_NO_RESOURCE;

    counters &= p->input->taken & p->input->counters;
    for (uint32_t left = members; left != 0 && resource == UPMU_NO_RESOURCE; left &= left - 1u)
        resource = p->blocker[upmu_bits_lowest(left)];
    for (unsigned lift = 1; lift <= 3; lift++) {
        bool lift_taken = (lift & 1u) != 0, lift_held = (lift & 2u) != 0;

        if ((lift_taken && counters == 0) || (lift_held && resource == UPMU_NO_RESOURCE))
            continue;
        p->lift_held = lift_held;
        upmu_placement_rules(p, lift_taken, false);
        if (!fits_now(p, members))
            continue;
        why->collision = UPMU_COLLISION_CLAIMED;
        why->counters = lift_taken ? counters : 0;
        why->resource = (uint8_t)(lift_held ? resource : UPMU_NO_RESOURCE);
        return true;
    }
    p->lift_held = false;
    upmu_placement_rules(p, false, false);
    return false;
}

/* Would the subset fit, were it not for resources?  Names the one that suffices, or the first. */
static bool explain_resource(struct placement *p, uint32_t members, uint64_t resources, struct upmu_why *why)
{
    unsigned first = UPMU_NO_RESOURCE;

    p->ignored = ~UINT64_C(0);
    if (resources == 0 || !fits_now(p, members))
        return false;
    why->collision = UPMU_COLLISION_RESOURCE;
    for (unsigned resource = 0; resource < UPMU_RESOURCES; resource++) {
        if ((resources & UPMU_BIT64(resource)) == 0)
            continue;
        if (first == UPMU_NO_RESOURCE)
            first = resource;
        p->ignored = p->idle | UPMU_BIT64(resource);
        if (fits_now(p, members)) {
            first = resource;
            break;
        }
    }
    why->resource = (uint8_t)first;
    return true;
}

void upmu_placement_explain(struct placement *p, uint32_t members, struct upmu_why *why)
{
    uint64_t resources = 0;
    uint32_t counters = 0;

    p->rounds = PLACE_ROUNDS;
    members = colliding_subset(p, members);
    why->status = UPMU_ERR_DOES_NOT_FIT;
    why->culprits = members;
    why->resource = UPMU_NO_RESOURCE;
    for (uint32_t left = members; left != 0; left &= left - 1u) {
        counters |= p->counters[upmu_bits_lowest(left)];
        resources |= p->resources[upmu_bits_lowest(left)];
    }
    counters = unranked_mask(p, counters);
    if (explain_claims(p, members, counters, why))
        return;
    if (explain_resource(p, members, resources, why))
        return;
    p->ignored = p->idle;
    upmu_placement_rules(p, false, true);
    if (p->input->limited != 0 && fits_now(p, members)) {
        why->collision = UPMU_COLLISION_LIMIT;
        why->counters = p->input->limited & p->input->counters;
        return;
    }
    why->collision = UPMU_COLLISION_COUNTERS;
    why->counters = counters & p->input->counters & ~p->input->taken;
}
