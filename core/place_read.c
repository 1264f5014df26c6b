/* SPDX-License-Identifier: MIT */
/*
 * Read the requests of a placement into its work area: values become small
 * numbers, and options that differ in counters alone become one.
 */
#include "core/mem.h"
#include "core/placement.h"

static bool held_by_others(const struct upmu_place_input *input, unsigned resource, uint64_t value)
{
    for (unsigned i = 0; i < input->held_count; i++) {
        const struct upmu_held *held = &input->held[i];

        if (held->resource == resource && (!held->shareable || held->value != value))
            return true;
    }
    return false;
}

/* The claim of a value on a resource; NO_CLAIM if there is no room. */
static unsigned number_claim(struct placement *p, unsigned resource, uint64_t value)
{
    struct place_reading *reading = &p->u.reading;
    unsigned first = reading->chain[resource], claim;

    for (claim = first; claim != NO_CLAIM; claim = reading->next[claim])
        if (reading->value[claim] == value)
            return claim;
    claim = p->claim_count;
    if (claim == PLACE_CLAIMS)
        return NO_CLAIM;
    p->claim_count++;
    if (first != NO_CLAIM)
        p->contested |= UPMU_BIT64(resource);
    reading->value[claim] = value;
    reading->next[claim] = (uint8_t)first;
    reading->chain[resource] = (uint8_t)claim;
    p->resource[claim] = (uint8_t)resource;
    return claim;
}

/* Add what one slot claims to the option under construction. */
static void read_slot(struct placement *p, unsigned request, const struct upmu_slot *slot)
{
    struct place_option *option = &p->option[p->option_count];
    uint8_t *list = &p->list[p->list_used];

    if (slot->resource_count > UPMU_SLOT_RESOURCES)
        p->fault = UPMU_ERR_INVALID;
    for (unsigned j = 0; j < slot->resource_count && p->fault == UPMU_OK; j++) {
        unsigned resource = slot->resource[j], claim;

        if (resource >= UPMU_RESOURCES) {
            p->fault = UPMU_ERR_INVALID;
            return;
        }
        p->resources[request] |= UPMU_BIT64(resource);
        if (held_by_others(p->input, resource, slot->value[j])) {
            option->shape |= OPTION_BLOCKED;
            p->blocker[request] = (uint8_t)resource;
        }
        claim = number_claim(p, resource, slot->value[j]);
        if (claim == NO_CLAIM)
            p->fault = UPMU_ERR_NO_SPACE;
        list[++list[0]] = (uint8_t)claim;
    }
}

/* Keep the option under construction, and begin another like it. */
static void keep_option(struct placement *p, unsigned request)
{
    struct place_option *option = &p->option[p->option_count];

    option->lead = p->option_count;
    for (unsigned k = 0; k < (option->shape & OPTION_SLOTS); k++)
        p->counters[request] |= option->counters[k];
    option[1] = option[0];
    p->option_count++;
    if (p->option_count - p->first[request] == PLACE_OPTIONS_EACH || p->option_count == PLACE_OPTIONS - 1)
        p->fault = UPMU_ERR_NO_SPACE;
}

/* Keep an option for each pair that the slots allow. */
static void keep_pairs(struct placement *p, unsigned request, const struct upmu_alternative *from)
{
    for (unsigned i = 0; i < from->pair_count && p->fault == UPMU_OK; i++) {
        const struct upmu_pair *pair = &from->pairs[i];
        struct place_option *option = &p->option[p->option_count];

        if ((pair->first | pair->second) >= UPMU_COUNTERS) {
            p->fault = UPMU_ERR_INVALID;
            return;
        }
        option->counters[0] = from->slot[0].counters & UPMU_BIT32(pair->first);
        option->counters[1] = from->slot[1].counters & UPMU_BIT32(pair->second);
        if (option->counters[0] != 0 && option->counters[1] != 0)
            keep_option(p, request);
    }
}

static void read_alternative(struct placement *p, unsigned request, unsigned i, const struct upmu_alternative *from)
{
    struct place_option *option = &p->option[p->option_count];
    uint8_t *list = &p->list[p->list_used];
    unsigned slots = from->slot_count;

    if (slots - 1u >= UPMU_SLOTS || (from->pair_count != 0 && (slots == 1 || from->pairs == NULL))) {
        p->fault = UPMU_ERR_INVALID;
        return;
    }
    option->alternative = (uint8_t)i;
    option->shape = (uint8_t)(slots | request << OPTION_REQUEST);
    option->claims = p->list_used;
    if (p->slots < slots)
        p->slots = (uint8_t)slots;
    list[0] = 0;
    for (unsigned k = 0; k < slots; k++) {
        option->counters[k] = from->slot[k].counters;
        read_slot(p, request, &from->slot[k]);
    }
    p->list_used = (uint8_t)(p->list_used + 1u + list[0]);
    if (p->list_used >= PLACE_LIST - 2u * (1u + UPMU_SLOTS * UPMU_SLOT_RESOURCES)) /* there must be room for one more */
        p->fault = UPMU_ERR_NO_SPACE;
    if (from->pair_count != 0)
        keep_pairs(p, request, from);
    else
        keep_option(p, request);
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
 * Give one-slot options to the first of their request whose claims are the same,
 * or are nobody's business.
 */
static void merge_options(struct placement *p, unsigned request)
{
    bool contested = (p->resources[request] & p->contested) != 0;

    for (unsigned i = p->first[request]; i < p->first[request + 1]; i++) {
        struct place_option *option = &p->option[i], *lead = &p->option[p->first[request]];

        if ((option->shape & OPTION_SLOTS) != 1)
            continue;
        option->counters[1] = option->counters[0];
        while (lead->shape != option->shape || (contested && !same_claims(p, lead, option)))
            lead++;
        lead->counters[0] |= option->counters[0];
        option->lead = lead->lead;
    }
}

void upmu_placement_read(struct placement *p)
{
    const struct upmu_place_input *input = p->input;
    struct upmu_alternative alternative;
    unsigned request;

    memset(p->u.reading.chain, NO_CLAIM, sizeof p->u.reading.chain);
    memset(p->blocker, UPMU_NO_RESOURCE, sizeof p->blocker);
    for (request = 0; request < input->request_count; request++) {
        p->first[request] = p->option_count;
        for (unsigned i = 0; p->fault == UPMU_OK && input->alternative(input->context, request, i, &alternative); i++)
            read_alternative(p, request, i, &alternative);
    }
    p->first[request] = p->option_count;
    if (p->fault == UPMU_OK)
        while (request != 0)
            merge_options(p, --request);
}
