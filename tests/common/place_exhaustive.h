/* SPDX-License-Identifier: MIT */
/*
 * Exhaustive search for a placement: tries everything, shares no code with the
 * library's solver, and can leave out rules.
 */
#ifndef UPMU_PLACE_EXHAUSTIVE_H
#define UPMU_PLACE_EXHAUSTIVE_H

#include "tests/common/place_shapes.h"

/* Rules that it may leave out. */
#define LIFT_TAKEN 1u
#define LIFT_HELD 2u
#define LIFT_LIMIT 4u
#define LIFT_RESOURCES 8u
#define MUST_STAY 16u

struct exhaustive {
    const struct shape *shape;
    uint32_t requests;
    unsigned rules;
    uint32_t used;
    unsigned slot_counter[UPMU_SLOTS];
    unsigned claim_count;
    struct {
        unsigned resource;
        uint64_t value;
    } claim[UPMU_REQUESTS * 9];
    /* Slots that serve helpers, and helpers without a counter: set, pair of resources. */
    unsigned serving_count, wanting_count;
    struct {
        unsigned set, pair;
    } serving[UPMU_REQUESTS * 9], wanting[UPMU_REQUESTS];
};

static inline bool exhaustive_slots(struct exhaustive *e, unsigned request, unsigned alternative, unsigned slot);
static inline bool exhaustive_next(struct exhaustive *e, unsigned request);

static inline bool exhaustive_claims_agree(struct exhaustive *e, const struct upmu_alternative *way)
{
    const struct upmu_place_input *input = &e->shape->input;
    for (unsigned k = 0; k < way->slot_count; k++)
        for (unsigned j = 0; j < way->slot[k].resource_count; j++) {
            unsigned resource = way->slot[k].resource[j];
            uint64_t value = way->slot[k].value[j];
            for (unsigned i = 0; i < input->held_count && !(e->rules & LIFT_HELD); i++)
                if (input->held[i].resource == resource && !(input->held[i].shareable && input->held[i].value == value))
                    return false;
            for (unsigned i = 0; i < e->claim_count; i++)
                if (e->claim[i].resource == resource && e->claim[i].value != value)
                    return false;
            e->claim[e->claim_count].resource = resource;
            e->claim[e->claim_count++].value = value;
        }
    return true;
}

/* Is every helper without a counter served? */
static inline bool exhaustive_served(const struct exhaustive *e)
{
    for (unsigned i = 0; i < e->wanting_count; i++) {
        bool served = false;
        for (unsigned j = 0; j < e->serving_count; j++)
            served |= e->serving[j].set == e->wanting[i].set && e->serving[j].pair == e->wanting[i].pair;
        if (!served)
            return false;
    }
    return true;
}

static inline unsigned exhaustive_set(const struct exhaustive *e, unsigned request)
{
    return e->shape->input.set_of ? e->shape->set_of[request] : 0;
}

/* The last slot without a counter, if it is a helper. */
static inline bool exhaustive_helper(struct exhaustive *e, unsigned request, const struct upmu_alternative *way)
{
    bool fits;
    if ((e->rules & MUST_STAY) && e->shape->stay[request][0] != UPMU_NO_COUNTER &&
        e->shape->stay[request][way->slot_count - 1] != UPMU_NO_COUNTER)
        return false;
    e->wanting[e->wanting_count].set = exhaustive_set(e, request);
    e->wanting[e->wanting_count++].pair = way->slot[way->slot_count - 1].resource[0] / 2;
    fits = exhaustive_next(e, request + 1);
    e->wanting_count--;
    return fits;
}

static inline bool exhaustive_next(struct exhaustive *e, unsigned request)
{
    while (request < e->shape->input.request_count && !(e->requests >> request & 1u))
        request++;
    if (request == e->shape->input.request_count)
        return exhaustive_served(e);
    for (unsigned i = 0; i < e->shape->alternative_count[request]; i++) {
        unsigned claims = e->claim_count;
        bool fits = (e->rules & LIFT_RESOURCES) || exhaustive_claims_agree(e, &e->shape->alternative[request][i]);
        if ((e->rules & MUST_STAY) && e->shape->stay[request][0] != UPMU_NO_COUNTER &&
            e->shape->stay_alternative[request] != i)
            fits = false;
        fits = fits && exhaustive_slots(e, request, i, 0);
        e->claim_count = claims;
        if (fits)
            return true;
    }
    return false;
}

static inline unsigned exhaustive_ones(uint32_t mask)
{
    unsigned count = 0;
    for (; mask; mask &= mask - 1)
        count++;
    return count;
}

static inline bool exhaustive_slots(struct exhaustive *e, unsigned request, unsigned alternative, unsigned slot)
{
    const struct upmu_place_input *input = &e->shape->input;
    const struct upmu_alternative *way = &e->shape->alternative[request][alternative];
    uint32_t counters;
    unsigned serving = e->serving_count;

    if (slot == way->slot_count)
        return exhaustive_next(e, request + 1);
    if (way->helper && slot == way->slot_count - 1u && exhaustive_helper(e, request, way))
        return true;
    for (unsigned j = 0; j < way->slot[slot].resource_count && !(way->dormant && slot == 0); j++) {
        e->serving[e->serving_count].set = exhaustive_set(e, request);
        e->serving[e->serving_count++].pair = way->slot[slot].resource[j] / 2;
    }
    counters = way->slot[slot].counters & input->counters & ~e->used;
    if (!(e->rules & LIFT_TAKEN))
        counters &= ~input->taken;
    if ((e->rules & MUST_STAY) && e->shape->stay[request][0] != UPMU_NO_COUNTER)
        counters &= e->shape->stay[request][slot] == UPMU_NO_COUNTER ? 0 : UINT32_C(1) << e->shape->stay[request][slot];
    for (unsigned counter = 0; counter < 32; counter++) {
        uint32_t bit = UINT32_C(1) << counter;
        unsigned first = e->slot_counter[0];
        bool fits = (counters & bit) != 0;
        if (fits && input->limited && !(e->rules & LIFT_LIMIT))
            fits = exhaustive_ones((e->used | bit) & input->limited) <= input->limit;
        if (fits && slot == 1 && way->pair_count) {
            fits = false;
            for (unsigned i = 0; i < way->pair_count; i++)
                fits |= way->pairs[i].first == first && way->pairs[i].second == counter;
        }
        if (!fits)
            continue;
        e->used |= bit;
        e->slot_counter[slot] = counter;
        fits = exhaustive_slots(e, request, alternative, slot + 1);
        e->slot_counter[0] = first;
        e->used &= ~bit;
        if (fits)
            return true;
    }
    e->serving_count = serving;
    return false;
}

static inline bool exhaustive_fits(const struct shape *shape, uint32_t requests, unsigned rules)
{
    struct exhaustive e;
    e.shape = shape;
    e.requests = requests;
    e.rules = rules;
    e.used = 0;
    e.claim_count = 0;
    e.serving_count = 0;
    e.wanting_count = 0;
    return exhaustive_next(&e, 0);
}

/* All requests of a set. */
static inline uint32_t exhaustive_all(const struct shape *shape)
{
    return (uint32_t)((UINT64_C(1) << shape->input.request_count) - 1);
}

#endif
