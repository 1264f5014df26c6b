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
    reading->chain[resource] = (uint8_t)i;
    p->resource[i] = (uint8_t)(resource | (contradicted_by_others(p->input, resource, value) ? 0x80u : 0u));
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
        if (((p->resource[list[i]] ^ p->resource[claim]) & 0x7fu) == 0)
            return false;
    }
    for (i = ++list[0]; i > 1 && list[i - 1] > claim; i--)
        list[i] = list[i - 1];
    list[i] = (uint8_t)claim;
    return true;
}

/*
 * Collect the claims of an alternative in the free end of `list`.  UPMU_ERR_END:
 * it contradicts itself and cannot be run.
 */
static enum upmu_status read_claims(struct placement *p, unsigned request, const struct upmu_alternative *from)
{
    uint8_t *list = &p->list[p->list_used];
    enum upmu_status status = UPMU_OK;

    if (p->list_used + 1u + UPMU_SLOTS * UPMU_SLOT_RESOURCES > PLACE_LIST)
        return UPMU_ERR_NO_SPACE;
    list[0] = 0;
    for (unsigned k = 0; k < from->slot_count; k++) {
        const struct upmu_slot *slot = &from->slot[k];

        if (slot->resource_count > UPMU_SLOT_RESOURCES)
            return UPMU_ERR_INVALID;
        for (unsigned j = 0; j < slot->resource_count; j++) {
            unsigned resource = slot->resource[j], claim;

            if (resource >= UPMU_RESOURCES)
                return UPMU_ERR_INVALID;
            claim = intern_claim(p, resource, slot->value[j]);
            if (claim == NO_CLAIM)
                return UPMU_ERR_NO_SPACE;
            if (!insert_claim(p, list, claim))
                status = UPMU_ERR_END;
            if (p->u.reading.user[resource] != request)
                p->u.reading.user[resource] =
                    (uint8_t)(p->u.reading.user[resource] == NO_USER ? request : MANY_USERS);
        }
    }
    return status;
}

/* Store one option, with the claims at the end of `list`. */
static enum upmu_status add_option(struct placement *p, unsigned request, unsigned alternative, unsigned slots,
                                   const uint32_t *counters)
{
    struct place_option *option = &p->option[p->option_count];
    const uint8_t *list = &p->list[p->list_used];

    if (p->option_count == PLACE_OPTIONS || p->option_count - p->first[request] == PLACE_OPTIONS_EACH)
        return UPMU_ERR_NO_SPACE;
    option->alternative = (uint8_t)alternative;
    option->shape = (uint8_t)(slots | request << OPTION_REQUEST);
    option->lead = p->option_count;
    option->claims = list[0] ? p->list_used : 0;
    for (unsigned k = 0; k < slots; k++) {
        unsigned mask = intern_given_mask(p, counters[k]);

        if (mask == PLACE_MASKS)
            return UPMU_ERR_NO_SPACE;
        option->mask[k] = (uint8_t)mask;
    }
    for (unsigned i = 1; i <= list[0]; i++)
        if (p->resource[list[i]] & 0x80u) {
            option->shape |= OPTION_BLOCKED;
            p->blocker[request] = p->resource[list[i]] & 0x7fu;
        }
    p->option_count++;
    return UPMU_OK;
}

/* One option for each pair that the slots allow. */
static enum upmu_status add_pairs(struct placement *p, unsigned request, unsigned alternative,
                                  const struct upmu_alternative *from)
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
        if (counters[0] == 0 || counters[1] == 0 || counters[0] == counters[1])
            continue;
        status = add_option(p, request, alternative, from->slot_count, counters);
        if (status != UPMU_OK)
            return status;
    }
    return UPMU_OK;
}

static enum upmu_status add_alternative(struct placement *p, unsigned request, unsigned alternative,
                                        const struct upmu_alternative *from)
{
    uint32_t counters[UPMU_SLOTS];
    enum upmu_status status;

    if (from->slot_count == 0 || from->slot_count > UPMU_SLOTS)
        return UPMU_ERR_INVALID;
    if (from->pair_count != 0 && (from->slot_count < 2 || from->pairs == NULL))
        return UPMU_ERR_INVALID;
    status = read_claims(p, request, from);
    if (status != UPMU_OK)
        return status == UPMU_ERR_END ? UPMU_OK : status;
    if (from->pair_count != 0) {
        status = add_pairs(p, request, alternative, from);
    } else {
        for (unsigned k = 0; k < from->slot_count; k++)
            counters[k] = from->slot[k].counters;
        status = add_option(p, request, alternative, from->slot_count, counters);
    }
    if (p->list[p->list_used] != 0)
        p->list_used = (uint16_t)(p->list_used + 1u + p->list[p->list_used]);
    return status;
}

static enum upmu_status read_requests(struct placement *p)
{
    const struct upmu_place_input *input = p->input;
    struct upmu_alternative alternative;

    for (unsigned request = 0; request < input->request_count; request++) {
        p->first[request] = p->option_count;
        p->blocker[request] = UPMU_NO_RESOURCE;
        for (unsigned i = 0; input->alternative(input->context, request, i, &alternative); i++) {
            enum upmu_status status = i < 0xff ? add_alternative(p, request, i, &alternative) : UPMU_ERR_NO_SPACE;

            if (status != UPMU_OK)
                return status;
        }
    }
    p->first[input->request_count] = p->option_count;
    return UPMU_OK;
}

/* Keep only the claims that can collide with another request's. */
static void forget_idle_claims(struct placement *p)
{
    const struct place_reading *reading = &p->u.reading;
    unsigned last = 0;

    for (unsigned i = 0; i < p->claim_count; i++) {
        unsigned resource = p->resource[i] & 0x7fu;
        bool alone = reading->next[reading->chain[resource]] == NO_CLAIM;

        p->resource[i] = (uint8_t)(alone || reading->user[resource] != MANY_USERS ? UPMU_NO_RESOURCE : resource);
    }
    for (unsigned i = 0; i < p->option_count; i++) {
        uint8_t *list = &p->list[p->option[i].claims];
        unsigned kept = 0;

        if (p->option[i].claims == last) /* shared with the option before, or the empty one */
            continue;
        last = p->option[i].claims;
        for (unsigned j = 1; j <= list[0]; j++)
            if (p->resource[list[j]] != UPMU_NO_RESOURCE)
                list[++kept] = list[j];
        list[0] = (uint8_t)kept;
    }
}

static bool same_claims(const struct placement *p, const struct place_option *a, const struct place_option *b)
{
    const uint8_t *x = &p->list[a->claims], *y = &p->list[b->claims];

    for (unsigned i = 0; i <= x[0]; i++)
        if (x[i] != y[i])
            return false;
    return true;
}

/* Give a one-slot option to the first option of its request that differs in counters alone. */
static enum upmu_status merge_option(struct placement *p, unsigned index)
{
    struct place_option *option = &p->option[index];

    if ((option->shape & OPTION_SLOTS) != 1)
        return UPMU_OK;
    option->mask[1] = option->mask[0];
    for (unsigned i = p->first[option->shape >> OPTION_REQUEST]; i < index; i++) {
        struct place_option *lead = &p->option[i];
        unsigned mask;

        if (lead->lead != i || lead->shape != option->shape || !same_claims(p, lead, option))
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

/* Merge options, and sum up what each request can touch. */
static enum upmu_status digest_requests(struct placement *p)
{
    forget_idle_claims(p);
    for (unsigned request = 0; request < p->input->request_count; request++) {
        uint64_t resources = 0;
        uint32_t counters = 0;

        for (unsigned i = p->first[request]; i < p->first[request + 1]; i++) {
            const uint8_t *list = &p->list[p->option[i].claims];
            enum upmu_status status;

            for (unsigned k = 0; k < (p->option[i].shape & OPTION_SLOTS); k++)
                counters |= p->mask[p->option[i].mask[k]];
            for (unsigned j = 1; j <= list[0]; j++)
                resources |= UPMU_BIT64(p->resource[list[j]]);
            status = merge_option(p, i);
            if (status != UPMU_OK)
                return status;
        }
        p->resources[request] = resources;
        p->counters[request] = counters;
    }
    return UPMU_OK;
}

enum upmu_status upmu_placement_read(struct placement *p)
{
    enum upmu_status status;

    p->list[0] = 0; /* the empty list */
    p->list_used = 1;
    p->option_count = 0;
    p->claim_count = 0;
    p->mask_count = 0;
    memset(p->u.reading.chain, NO_CLAIM, sizeof p->u.reading.chain);
    memset(p->u.reading.user, NO_USER, sizeof p->u.reading.user);
    status = read_requests(p);
    return status == UPMU_OK ? digest_requests(p) : status;
}
