/* SPDX-License-Identifier: MIT */
/*
 * Read the requests of a placement into its work area: values become small
 * numbers, what cannot matter is forgotten, what is alike is merged.
 */
#include "core/mem.h"
#include "core/placement.h"

uint32_t upmu_placement_ranked(const struct placement *p, uint32_t counters)
{
    uint32_t mask = 0;

    for (; counters != 0; counters &= counters - 1u)
        mask |= UPMU_BIT32(p->rank[upmu_bits_lowest(counters)]);
    return mask;
}

/* Index of a mask; PLACE_MASKS if there is no room. */
static unsigned intern_given_mask(struct placement *p, uint32_t counters)
{
    unsigned i;

    for (i = 0; i < p->mask_count; i++)
        if (p->u.reading.given[i] == counters)
            return i;
    if (i < PLACE_MASKS) {
        p->u.reading.given[i] = counters;
        p->mask[i] = upmu_placement_ranked(p, counters);
        p->mask_count++;
    }
    return i;
}

static unsigned intern_ranked_mask(struct placement *p, uint32_t mask)
{
    unsigned i;

    for (i = 0; i < p->mask_count; i++)
        if (p->mask[i] == mask)
            return i;
    if (i < PLACE_MASKS) {
        p->mask[i] = mask;
        p->mask_count++;
    }
    return i;
}

static bool contradicted_by_others(const struct upmu_place_input *input, unsigned resource, uint64_t value)
{
    for (unsigned i = 0; i < input->held_count; i++) {
        const struct upmu_held *held = &input->held[i];

        if (held->resource == resource && (!held->shareable || held->value != value))
            return true;
    }
    return false;
}

/* The claim of a value on a resource; NO_CLAIM if there is no room. */
static unsigned intern_claim(struct placement *p, unsigned resource, uint64_t value)
{
    struct place_reading *reading = &p->u.reading;
    unsigned i;

    for (i = reading->chain[resource]; i != NO_CLAIM; i = reading->next[i])
        if (reading->value[i] == value)
            return i;
    i = p->claim_count;
    if (i == PLACE_CLAIMS)
        return NO_CLAIM;
    p->claim_count++;
    reading->value[i] = value;
    reading->next[i] = reading->chain[resource];
    if (reading->chain[resource] != NO_CLAIM)
        reading->several_values |= UPMU_BIT64(resource);
    reading->chain[resource] = (uint8_t)i;
    p->resource[i] = (uint8_t)resource;
    return i;
}

/*
 * Insert a claim into the sorted list at the end of `list`.  False: it contradicts
 * another of the same option.
 */
static bool insert_claim(struct placement *p, uint8_t *list, unsigned claim)
{
    unsigned i;

    for (i = 1; i <= list[0]; i++) {
        if (list[i] == claim)
            return true;
        if (p->resource[list[i]] == p->resource[claim])
            return false;
    }
    for (i = ++list[0]; i > 1 && list[i - 1] > claim; i--)
        list[i] = list[i - 1];
    list[i] = (uint8_t)claim;
    return true;
}

/* Add what one slot claims to a new option.  UPMU_ERR_END: the option contradicts itself. */
static enum upmu_status read_claims(struct placement *p, unsigned request, const struct upmu_slot *slot,
                                    struct place_option *option)
{
    enum upmu_status status = UPMU_OK;

    if (slot->resource_count > UPMU_SLOT_RESOURCES)
        return UPMU_ERR_INVALID;
    for (unsigned j = 0; j < slot->resource_count; j++) {
        unsigned resource = slot->resource[j], claim;

        if (resource >= UPMU_RESOURCES)
            return UPMU_ERR_INVALID;
        p->resources[request] |= UPMU_BIT64(resource);
        if (contradicted_by_others(p->input, resource, slot->value[j])) {
            option->shape |= OPTION_BLOCKED;
            p->blocker[request] = (uint8_t)resource;
        }
        claim = intern_claim(p, resource, slot->value[j]);
        if (claim == NO_CLAIM)
            return UPMU_ERR_NO_SPACE;
        if (!insert_claim(p, &p->list[option->claims], claim))
            status = UPMU_ERR_END;
    }
    return status;
}

/* Keep the option under construction, with these counters, and begin another like it. */
static enum upmu_status add_option(struct placement *p, unsigned request, const uint32_t *counters)
{
    struct place_option *option = &p->option[p->option_count];
    unsigned slots = option->shape & OPTION_SLOTS;

    if (p->option_count - p->first[request] == PLACE_OPTIONS_EACH)
        return UPMU_ERR_NO_SPACE;
    option->lead = p->option_count;
    if (slots > 1)
        p->wide |= UPMU_BIT32(request);
    for (unsigned k = 0; k < slots; k++) {
        unsigned mask = intern_given_mask(p, counters[k]);

        if (mask == PLACE_MASKS)
            return UPMU_ERR_NO_SPACE;
        option->mask[k] = (uint8_t)mask;
        p->counters[request] |= p->mask[mask];
    }
    if (++p->option_count == PLACE_OPTIONS)
        return UPMU_ERR_NO_SPACE;
    option[1] = option[0];
    return UPMU_OK;
}

/* One option for each pair that the slots allow. */
static enum upmu_status add_pairs(struct placement *p, unsigned request, const struct upmu_alternative *from)
{
    uint32_t counters[UPMU_SLOTS];

    counters[2] = from->slot[2].counters;
    for (unsigned i = 0; i < from->pair_count; i++) {
        const struct upmu_pair *pair = &from->pairs[i];
        enum upmu_status status;

        if (pair->first >= UPMU_COUNTERS || pair->second >= UPMU_COUNTERS)
            return UPMU_ERR_INVALID;
        counters[0] = from->slot[0].counters & UPMU_BIT32(pair->first);
        counters[1] = from->slot[1].counters & UPMU_BIT32(pair->second);
        if (counters[0] == 0 || counters[1] == 0)
            continue;
        status = add_option(p, request, counters);
        if (status != UPMU_OK)
            return status;
    }
    return UPMU_OK;
}

static enum upmu_status add_alternative(struct placement *p, unsigned request, unsigned alternative,
                                        const struct upmu_alternative *from)
{
    struct place_option *option = &p->option[p->option_count];
    uint32_t counters[UPMU_SLOTS];
    uint8_t *list = &p->list[p->list_used];

    if (from->slot_count == 0 || from->slot_count > UPMU_SLOTS)
        return UPMU_ERR_INVALID;
    if (from->pair_count != 0 && (from->slot_count < 2 || from->pairs == NULL))
        return UPMU_ERR_INVALID;
    if (p->list_used > PLACE_LIST - 1u - UPMU_SLOTS * UPMU_SLOT_RESOURCES)
        return UPMU_ERR_NO_SPACE;
    option->alternative = (uint8_t)alternative;
    option->shape = (uint8_t)(from->slot_count | request << OPTION_REQUEST);
    option->claims = p->list_used;
    list[0] = 0;
    for (unsigned k = 0; k < from->slot_count; k++) {
        enum upmu_status status = read_claims(p, request, &from->slot[k], option);

        counters[k] = from->slot[k].counters;
        if (status != UPMU_OK)
            return status == UPMU_ERR_END ? UPMU_OK : status;
    }
    if (list[0] != 0)
        p->list_used = (uint16_t)(p->list_used + 1u + list[0]);
    else
        option->claims = 0;
    return from->pair_count ? add_pairs(p, request, from) : add_option(p, request, counters);
}

/* Read all ways to run a request, and note which of its resources others use, too. */
static enum upmu_status read_request(struct placement *p, unsigned request)
{
    const struct upmu_place_input *input = p->input;
    struct place_reading *reading = &p->u.reading;
    struct upmu_alternative alternative;

    p->first[request] = p->option_count;
    p->blocker[request] = UPMU_NO_RESOURCE;
    p->counters[request] = 0;
    p->resources[request] = 0;
    for (unsigned i = 0; input->alternative(input->context, request, i, &alternative); i++) {
        enum upmu_status status = i < 0xff ? add_alternative(p, request, i, &alternative) : UPMU_ERR_NO_SPACE;

        if (status != UPMU_OK)
            return status;
    }
    reading->several_users |= reading->users & p->resources[request];
    reading->users |= p->resources[request];
    return UPMU_OK;
}

static bool same_claims(const struct placement *p, const struct place_option *a, const struct place_option *b)
{
    const uint8_t *x = &p->list[a->claims], *y = &p->list[b->claims];

    for (unsigned i = 0; i <= x[0]; i++)
        if (x[i] != y[i])
            return false;
    return true;
}

/*
 * Give a one-slot option to the first option of its request that differs in
 * counters alone: whose claims are the same, or are nobody's business.
 */
static enum upmu_status merge_option(struct placement *p, unsigned request, unsigned index)
{
    struct place_option *option = &p->option[index];

    for (unsigned i = p->first[request]; i < index; i++) {
        struct place_option *lead = &p->option[i];
        unsigned mask;

        if (lead->lead != i || lead->shape != option->shape ||
            (p->resources[request] != 0 && !same_claims(p, lead, option)))
            continue;
        mask = intern_ranked_mask(p, p->mask[lead->mask[0]] | p->mask[option->mask[0]]);
        if (mask == PLACE_MASKS)
            return UPMU_ERR_NO_SPACE;
        lead->mask[0] = (uint8_t)mask;
        option->lead = (uint8_t)i;
        break;
    }
    return UPMU_OK;
}

/* Merge options, and forget the resources over which no two requests can collide. */
static enum upmu_status digest_request(struct placement *p, unsigned request)
{
    p->resources[request] &= ~p->idle;
    for (unsigned i = p->first[request]; i < p->first[request + 1]; i++) {
        enum upmu_status status;

        if ((p->option[i].shape & OPTION_SLOTS) != 1)
            continue;
        p->option[i].mask[1] = p->option[i].mask[0];
        status = merge_option(p, request, i);
        if (status != UPMU_OK)
            return status;
    }
    return UPMU_OK;
}

enum upmu_status upmu_placement_read(struct placement *p)
{
    unsigned requests = p->input->request_count;
    enum upmu_status status = UPMU_OK;

    p->list[0] = 0; /* the empty list */
    p->list_used = 1;
    p->option_count = 0;
    p->claim_count = 0;
    p->mask_count = 0;
    p->wide = 0;
    p->u.reading.users = 0;
    p->u.reading.several_users = 0;
    p->u.reading.several_values = 0;
    memset(p->u.reading.chain, NO_CLAIM, sizeof p->u.reading.chain);
    for (unsigned request = 0; request < requests && status == UPMU_OK; request++)
        status = read_request(p, request);
    p->first[requests] = p->option_count;
    p->idle = ~(p->u.reading.several_users & p->u.reading.several_values);
    for (unsigned request = 0; request < requests && status == UPMU_OK; request++)
        status = digest_request(p, request);
    return status;
}
