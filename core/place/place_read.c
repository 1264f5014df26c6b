/* SPDX-License-Identifier: MIT */
/*
 * Read the requests of a placement into its work area: alternatives become options
 * and values small numbers.  At the end: which options and counters the rules leave.
 */
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/place/placement.h"

static bool held_by_others(const struct upmu_place_input *input, unsigned resource, uint64_t value)
{
    for (unsigned i = 0; i < input->held_count; i++) {
        const struct upmu_held *held = &input->held[i];

        if (held->resource == resource && (!held->shareable || held->value != value))
            return true;
    }
    return false;
}

/*
 * Return the number of a claim: of a value on a resource. A claim that no option has made before gets the next number.
 */
static unsigned number_claim(struct placement *p, unsigned resource, uint64_t value)
{
    struct place_reading *reading = &p->u.reading;
    unsigned claim = p->claim_count;
    uint8_t *link = &reading->chain[resource];

    if (*link != NO_CLAIM) {
        do {
            if (reading->value[*link] == value)
                return *link;
            link = &reading->next[*link];
        } while (*link != NO_CLAIM);
        p->contested |= UPMU_BIT64(resource);
    }
    if (claim == PLACE_CLAIMS) {
        p->fault = UPMU_ERR_NO_SPACE;
        return 0;
    }
    *link = (uint8_t)claim;
    p->claim_count++;
    reading->value[claim] = value;
    reading->next[claim] = NO_CLAIM;
    p->resource[claim] = (uint8_t)resource;
    return claim;
}

/*
 * Does a list of claims (behind its first byte) have a claim on the same resource as its last one, with another value?
 */
static bool is_torn(const struct placement *p, const uint8_t *list, const uint8_t *last)
{
    while (++list != last)
        if (*list != *last && p->resource[*list] == p->resource[*last])
            return true;
    return false;
}

/*
 * Keep the option *option, which was just made of the alternative *from; if the alternative has pairs of counters, keep
 * one option for each pair that the slots allow instead. A last slot that is a helper makes two options of each: in the
 * first the helper has no counter (other requests serve it, and this option serves none), in the second the helper has
 * a counter of its own. Returns the place for the next option; NULL: a pair is malformed.
 */
static UPMU_APART_IF_SMALL struct place_option *keep_options(struct placement *p, struct place_option *option,
                                                             const struct upmu_alternative *from)
{
    struct place_option model = *option;
    const struct upmu_pair *pair = from->pairs;
    unsigned left = from->pair_count;

    do {
        if (from->pair_count != 0) {
            unsigned first = pair->first, second = pair->second;

            pair++;
            if ((first | second) >= UPMU_COUNTERS)
                return NULL;
            if ((model.counters[0] >> first & 1u) == 0 || (model.counters[UPMU_SECOND_SLOT] >> second & 1u) == 0)
                continue;
            if (option >= &p->option[PLACE_OPTIONS - PLACE_HELPERS]) {
                p->fault = UPMU_ERR_NO_SPACE;
                break;
            }
            *option = model;
            option->counters[0] = UPMU_BIT32(first);
            option->counters[UPMU_SECOND_SLOT] = UPMU_BIT32(second);
        }
        if (PLACE_HELPERS && from->helper) {
            p->helpers |= UPMU_BIT32(option->request);
            option[1] = option[0];
            option->shape += OPTION_SERVED - 1u;
            option++;
        }
        option++;
    } while (left-- > 1u);
    return option;
}

static bool alternative_is_valid(const struct upmu_alternative *from)
{
    unsigned slots = from->slot_count, tied = from->pair_count != 0 ? 2 : 1;

    if (slots - 1u >= UPMU_SLOTS || slots < tied || (tied == 2 && from->pairs == NULL))
        return false;
    return !from->helper || (PLACE_HELPERS && slots > tied && from->slot[slots - 1].resource_count == 1);
}

/*
 * Add the options that an alternative makes, from *option on, and their claims, from **list on. Returns the place for
 * the next option; NULL: the alternative is malformed.
 */
static UPMU_APART_IF_SMALL struct place_option *read_alternative(struct placement *p, struct place_option *option,
                                                                 const struct upmu_alternative *from, uint8_t **list)
{
    const struct upmu_slot *slot = from->slot, *last = slot + from->slot_count;
    uint8_t *start = *list, *end = start;
    uint32_t counters = 0, *into = option->counters;
    uint64_t resources = 0;
    unsigned shape = from->slot_count;
    bool plain = shape == 1 && from->pair_count == 0 && !from->helper;

    if (!plain && !alternative_is_valid(from))
        return NULL;
    if (from->dormant)
        shape += (unsigned)slot->resource_count << OPTION_DORMANT;
    for (; slot != last; slot++) {
        const uint64_t *value = slot->value;
        const uint8_t *at = slot->resource;

        *into++ = slot->counters;
        counters |= slot->counters;
        if (PLACE_TRIES != 0 && slot->counters == 0)
            p->barred = 0xff;
        if (slot->resource_count > UPMU_SLOT_RESOURCES)
            return NULL;
        for (const uint8_t *stop = at + slot->resource_count; at != stop; at++, value++) {
            unsigned resource = *at;

            if (resource >= UPMU_RESOURCES)
                return NULL;
            if (p->input->held_count != 0 && held_by_others(p->input, resource, *value)) {
                shape |= OPTION_BLOCKED;
                p->blocker[option->request] = (uint8_t)resource;
            }
            *++end = (uint8_t)number_claim(p, resource, *value);
            if ((resources >> resource & 1u) != 0 && is_torn(p, start, end))
                shape |= OPTION_TORN;
            resources |= UPMU_BIT64(resource);
        }
    }
    *start = (uint8_t)(end - start);
    *list = end + 1;
    option->shape = (uint8_t)shape;
    p->barred |= (uint8_t)shape;
    option->claims = (uint8_t)(start - p->list);
    p->counters[option->request] |= counters;
    p->resources[option->request] |= resources;
    if (plain)
        return option + 1;
    if (p->slots < from->slot_count)
        p->slots = from->slot_count;
    if (PLACE_HELPERS && from->helper)
        p->helped |= UINT64_C(3) << (p->resource[*end] & 62u);
    return keep_options(p, option, from);
}

void upmu_placement_read(struct placement *p)
{
    const struct upmu_place_input *input = p->input;
    struct place_option *option = p->option;
    uint8_t *list = p->list;
    struct upmu_alternative alternative;
    unsigned request;

    memset(p->u.reading.chain, NO_CLAIM, sizeof p->u.reading.chain);
    memset(p->blocker, UPMU_NO_RESOURCE, sizeof p->blocker);
    p->slots = 1;
    for (request = 0; request < input->request_count; request++) {
        struct place_option *first = option;

        p->first[request] = (uint8_t)(first - p->option);
        alternative.last = false;
        alternative.twin = 0;
        for (unsigned i = 0; p->fault == UPMU_OK; i++) {
            if (UPMU_BACKEND_X86_P4 && alternative.twin != 0) {
                alternative.slot[0].counters = alternative.twin;
                alternative.slot[0].resource[0]++;
                alternative.twin = 0;
            } else if (alternative.last || !input->alternative(input->context, request, i, &alternative)) {
                break;
            }
            if (alternative.slot[0].counters == 0)
                continue;
            option->alternative = (uint8_t)i;
            option->request = (uint8_t)request;
            option = read_alternative(p, option, &alternative, &list);
            if (option == NULL) {
                p->fault = UPMU_ERR_INVALID;
                option = first;
                break;
            }
            if (option > &p->option[PLACE_OPTIONS - 1 - PLACE_HELPERS] ||
                list >= &p->list[PLACE_LIST - UPMU_SLOTS * UPMU_SLOT_RESOURCES]) /* no room for one more option */
                p->fault = UPMU_ERR_NO_SPACE;
        }
        if (option - first > PLACE_OPTIONS_EACH)
            p->fault = UPMU_ERR_NO_SPACE;
        if (p->fault == UPMU_OK)
            p->count++;
        else
            option = first;
    }
    p->option_count = p->first[request] = (uint8_t)(option - p->option);
}

void upmu_placement_lift(struct placement *p, unsigned rules)
{
    const struct upmu_place_input *input = p->input;
    unsigned barred = (rules & PLACE_LIFT_HELD ? 0 : OPTION_BLOCKED) | (rules & PLACE_LIFT_RESOURCES ? 0 : OPTION_TORN);
    uint32_t available = input->counters;

    if ((rules & PLACE_LIFT_TAKEN) == 0)
        available &= ~input->taken;
    p->lifted = (uint8_t)rules;
    p->available = available;
    p->limited = input->limited & available;
    if ((rules & PLACE_LIFT_LIMIT) || upmu_bits_count(p->limited) <= input->limit)
        p->limited = 0;
    for (unsigned request = 0, i = 0; request < input->request_count; request++) {
        unsigned end = p->first[request + 1];

        if (PLACE_TRIES != 0 && (p->counters[request] & ~available) == 0 && (p->barred & barred) == 0) {
            p->usable[request] = (uint32_t)(UPMU_BIT64(end - i) - 1u);
            i = end;
            continue;
        }
        p->usable[request] = 0;
        for (uint32_t bit = 1; i < end; i++, bit <<= 1) {
            const struct place_option *option = &p->option[i];
            unsigned k = option->shape & OPTION_SLOTS;

            if ((option->shape & barred) != 0 || (option->counters[0] & available) == 0)
                continue;
            while (UPMU_SLOTS > 1 && k > 1u && (option->counters[k - 1u] & available) != 0)
                k--;
            if (k == 1u)
                p->usable[request] |= bit;
        }
    }
}
