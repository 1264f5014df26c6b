/* SPDX-License-Identifier: MIT */
/*
 * Read the requests of a placement into its work area: alternatives become options
 * and values small numbers.
 */
#include "core/bits.h"
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

/* The claim of a value on a resource. */
static unsigned number_claim(struct placement *p, unsigned resource, uint64_t value)
{
    struct place_reading *reading = &p->u.reading;
    unsigned first = reading->chain[resource], claim = first;

    while (claim != NO_CLAIM && reading->value[claim] != value)
        claim = reading->next[claim];
    if (claim != NO_CLAIM)
        return claim;
    claim = p->claim_count;
    if (claim == PLACE_CLAIMS) {
        p->fault = UPMU_ERR_NO_SPACE;
        return 0;
    }
    p->claim_count = (uint8_t)(claim + 1);
    if (first != NO_CLAIM)
        p->contested |= UPMU_BIT64(resource);
    reading->value[claim] = value;
    reading->next[claim] = (uint8_t)first;
    reading->chain[resource] = (uint8_t)claim;
    p->resource[claim] = (uint8_t)resource;
    return claim;
}

/* Does an option under construction make another claim on a resource? */
static bool is_torn(const struct placement *p, const struct place_option *option, const uint8_t *end, unsigned claim)
{
    for (const uint8_t *list = &p->list[option->claims]; ++list != end;)
        if (*list != claim && p->resource[*list] == p->resource[claim])
            return true;
    return false;
}

/* Add what one slot of an option claims to the list, from `end` on; the new end. */
static uint8_t *read_claims(struct placement *p, struct place_option *option, const struct upmu_slot *slot,
                            uint8_t *end, uint64_t *resources)
{
    for (unsigned j = 0; j < slot->resource_count; j++) {
        unsigned resource = j < UPMU_SLOT_RESOURCES ? slot->resource[j] : UPMU_NO_RESOURCE, claim;

        if (resource >= UPMU_RESOURCES) {
            p->fault = UPMU_ERR_INVALID;
            break;
        }
        if (held_by_others(p->input, resource, slot->value[j])) {
            option->shape |= OPTION_BLOCKED;
            p->blocker[option->request] = (uint8_t)resource;
        }
        claim = number_claim(p, resource, slot->value[j]);
        if ((*resources >> resource & 1u) != 0 && is_torn(p, option, end, claim))
            option->shape |= OPTION_TORN;
        *resources |= UPMU_BIT64(resource);
        *end++ = (uint8_t)claim;
    }
    return end;
}

/* Keep the option under construction; where another one can be made. */
static struct place_option *keep_option(struct placement *p, struct place_option *option)
{
    p->option_count++;
    if (p->option_count == PLACE_OPTIONS - 2)
        p->fault = UPMU_ERR_NO_SPACE;
    return option + 1;
}

/* If the last slot is a helper: keep it with no counter and serving nobody, and with a counter of its own. */
static struct place_option *keep_both(struct placement *p, struct place_option *option, bool helper)
{
    if (PLACE_HELPERS && helper) {
        p->helpers |= UPMU_BIT32(option->request);
        option[1] = option[0];
        option->shape += OPTION_SERVED - 1u;
        option = keep_option(p, option);
    }
    return keep_option(p, option);
}

/* Keep an option for each pair that the slots allow. */
static void keep_pairs(struct placement *p, struct place_option *option, const struct upmu_alternative *from)
{
    struct place_option model = *option;
    uint32_t counters = from->slot[0].counters, others = from->slot[UPMU_SECOND_SLOT].counters;
    const struct upmu_pair *pair = from->pairs;

    for (unsigned left = from->pair_count; left != 0; left--, pair++) {
        unsigned first = pair->first, second = pair->second;

        if ((first | second) >= UPMU_COUNTERS) {
            p->fault = UPMU_ERR_INVALID;
            return;
        }
        if ((counters >> first & 1u) == 0 || (others >> second & 1u) == 0)
            continue;
        if (p->fault != UPMU_OK)
            return;
        *option = model;
        option->counters[0] = UPMU_BIT32(first);
        option->counters[UPMU_SECOND_SLOT] = UPMU_BIT32(second);
        option = keep_both(p, option, from->helper);
    }
}

static bool alternative_is_valid(const struct upmu_alternative *from)
{
    unsigned slots = from->slot_count, tied = from->pair_count != 0 ? 2 : 1;

    if (slots - 1u >= UPMU_SLOTS || slots < tied || (tied == 2 && from->pairs == NULL))
        return false;
    return !from->helper || (PLACE_HELPERS && slots > tied && from->slot[slots - 1].resource_count == 1);
}

static void read_alternative(struct placement *p, struct place_option *option, const struct upmu_alternative *from)
{
    unsigned slots = from->slot_count;
    uint8_t *start = &p->list[p->list_used], *end = start + 1;
    uint32_t counters = 0;
    uint64_t resources = 0;

    if (!alternative_is_valid(from)) {
        p->fault = UPMU_ERR_INVALID;
        return;
    }
    if (p->slots < slots)
        p->slots = (uint8_t)slots;
    option->shape = (uint8_t)slots;
    if (from->dormant)
        option->shape += (uint8_t)(from->slot[0].resource_count << OPTION_DORMANT);
    option->claims = p->list_used;
    for (unsigned k = 0; k < slots; k++) {
        option->counters[k] = from->slot[k].counters;
        counters |= option->counters[k];
        end = read_claims(p, option, &from->slot[k], end, &resources);
    }
    p->counters[option->request] |= counters;
    p->resources[option->request] |= resources;
    if (PLACE_HELPERS && from->helper && p->fault == UPMU_OK)
        p->helped |= UINT64_C(3) << (p->resource[end[-1]] & 62u);
    *start = (uint8_t)(end - start - 1);
    p->list_used = (uint8_t)(end - p->list);
    if (end - p->list >= PLACE_LIST - (1 + UPMU_SLOTS * UPMU_SLOT_RESOURCES)) /* there must be room for one more */
        p->fault = UPMU_ERR_NO_SPACE;
    if (from->pair_count != 0)
        keep_pairs(p, option, from);
    else
        keep_both(p, option, from->helper);
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
        for (unsigned i = 0; p->fault == UPMU_OK; i++) {
            struct place_option *option = &p->option[p->option_count];

            if (!input->alternative(input->context, request, i, &alternative))
                break;
            if (alternative.slot[0].counters == 0)
                continue;
            option->alternative = (uint8_t)i;
            option->request = (uint8_t)request;
            read_alternative(p, option, &alternative);
        }
        if (p->option_count - p->first[request] > PLACE_OPTIONS_EACH)
            p->fault = UPMU_ERR_NO_SPACE;
        if (p->fault == UPMU_OK)
            p->count++;
        else
            p->option_count = p->first[request];
    }
    p->first[request] = p->option_count;
}
