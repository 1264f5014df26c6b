/* SPDX-License-Identifier: MIT */
/*
 * Does a NetBurst set of events fit?  Two answers that share nothing with the solver:
 * the rules of the counter groups, group by group, and for tags and cascades, which
 * couple the groups, a search over everything.  And is a result a placement?
 */
#ifndef UPMU_P4_PLACE_FITS_H
#define UPMU_P4_PLACE_FITS_H

#include "tests/common/p4_place_tables.h"

/* ---- Does it fit?  Group by group: no tags, no cascades ---- */

static inline unsigned p4_ones(uint32_t mask)
{
    return (unsigned)__builtin_popcount(mask);
}

/* One choice of sides for the members of a group: is there an ESCR and a counter for each? */
static inline bool p4_sides_fit(const struct p4_set *set, const uint8_t *member, unsigned count, unsigned sides)
{
    uint32_t content[P4_UNITS][2];
    uint32_t pinned[2] = {0, 0};
    unsigned users[2] = {0, 0};

    memcpy(content, set->held, sizeof content);
    for (unsigned i = 0; i < count; i++) {
        const struct p4_request *request = &set->request[member[i]];
        unsigned side = sides >> i & 1, unit = p4_event_unit(request->event);
        uint32_t wanted = p4_content(request->event, request->setting);
        uint32_t free = p4_side_counters[p4_unit_group[unit]][side] & ~set->taken;

        if (!(request->sides >> side & 1) || (content[unit][side] && content[unit][side] != wanted) ||
            (set->held[unit][side] && !set->held_shareable))
            return false;
        content[unit][side] = wanted;
        if (++users[side] > p4_ones(free))
            return false;
        /* A pin names one counter; without a pin a member can run on each counter of the side. */
        if (request->counters != 0x3ffff) {
            uint32_t pin = request->counters & free & ~pinned[side];
            if (!pin)
                return false;
            pinned[side] |= pin;
        }
    }
    return true;
}

static inline bool p4_group_fits(const struct p4_set *set, uint32_t members, unsigned group)
{
    uint8_t member[8];
    unsigned count = 0;

    for (unsigned i = 0; i < set->count; i++)
        if ((members >> i & 1) && p4_group_of(&set->request[i]) == group) {
            if (count == (group == 3 ? 6 : 4))
                return false;
            member[count++] = (uint8_t)i;
        }
    for (unsigned sides = 0; sides < 1u << count; sides++)
        if (p4_sides_fit(set, member, count, sides))
            return true;
    return false;
}

static inline bool p4_groups_fit(const struct p4_set *set, uint32_t members)
{
    for (unsigned group = 0; group < 4; group++)
        if (!p4_group_fits(set, members, group))
            return false;
    return true;
}

/* Placements of the requests of one group, each with its ESCR and counter. */
static inline uint64_t p4_count_group(const struct p4_set *set, unsigned group, unsigned from, uint32_t used,
                                      uint32_t content[P4_UNITS][2])
{
    uint64_t found = 0;
    const struct p4_request *request;

    while (from < set->count && p4_group_of(&set->request[from]) != group)
        from++;
    if (from == set->count)
        return 1;
    request = &set->request[from];
    for (unsigned side = 0; side < 2; side++) {
        unsigned unit = p4_event_unit(request->event);
        uint32_t before = content[unit][side], wanted = p4_content(request->event, request->setting);
        if (!(request->sides >> side & 1) || (before && before != wanted))
            continue;
        content[unit][side] = wanted;
        for (unsigned counter = 0; counter < 18; counter++)
            if ((p4_side_counters[group][side] & request->counters & ~used & ~set->taken) >> counter & 1)
                found += p4_count_group(set, group, from + 1, used | UINT32_C(1) << counter, content);
        content[unit][side] = before;
    }
    return found;
}

static inline uint64_t p4_count_placements(const struct p4_set *set)
{
    uint64_t product = 1;
    for (unsigned group = 0; group < 4; group++) {
        uint32_t content[P4_UNITS][2] = {{0}};
        product *= p4_count_group(set, group, 0, 0, content);
    }
    return product;
}

/* ---- Does it fit?  Everything at once: tags, cascades, pins to one counter ---- */

/* What has been given away. */
struct p4_search {
    uint32_t content[P4_UNITS][2];
    uint32_t metric;
    uint32_t used;        /* counters that a cascade or a pin names */
    uint8_t others[4][2]; /* users of a side, each on any counter of it */
    uint16_t enabled[2];  /* units with an enabled counter, by set */
    uint16_t wanting[2];  /* units that have to have one */
};

static inline bool p4_take_escr(struct p4_search *s, unsigned event, unsigned setting, unsigned side)
{
    uint32_t *content = &s->content[p4_event_unit(event)][side], wanted = p4_content(event, setting);
    if (*content && *content != wanted)
        return false;
    *content = wanted;
    return true;
}

/* Are there counters enough on both sides of a group? */
static inline bool p4_has_counters(const struct p4_search *s, uint32_t taken, unsigned group)
{
    for (unsigned side = 0; side < 2; side++)
        if (s->others[group][side] > p4_ones(p4_side_counters[group][side] & ~taken & ~s->used))
            return false;
    return true;
}

static inline bool p4_search_from(const struct p4_set *set, uint32_t members, unsigned from,
                                  const struct p4_search *before);

/* The second ESCR of a tagged request on one side, served or with a counter of its own. */
static inline bool p4_search_upstream(const struct p4_set *set, uint32_t members, unsigned from, unsigned side,
                                      const struct p4_search *before)
{
    const struct p4_request *request = &set->request[from];
    unsigned unit = p4_event_unit(request->second), group = p4_unit_group[unit];

    for (unsigned own = 0; own < 2; own++) {
        struct p4_search s = *before;
        if (!p4_take_escr(&s, request->second, request->second_setting, side))
            return false;
        if (own) {
            s.others[group][side]++;
            s.enabled[request->set] |= (uint16_t)(1u << unit);
        } else {
            s.wanting[request->set] |= (uint16_t)(1u << unit);
        }
        if (p4_has_counters(&s, set->taken, group) && p4_search_from(set, members, from + 1, &s))
            return true;
    }
    return false;
}

static inline bool p4_search_cascade(const struct p4_set *set, uint32_t members, unsigned from,
                                     const struct p4_search *before)
{
    const struct p4_request *request = &set->request[from];
    unsigned group = p4_group_of(request), second_group = p4_unit_group[p4_event_unit(request->second)];

    for (unsigned i = 0; i < P4_CASCADES; i++) {
        uint32_t target = UINT32_C(1) << p4_cascades[i].first, initiator = UINT32_C(1) << p4_cascades[i].second;
        unsigned side = (p4_side_counters[group][1] & target) != 0;
        unsigned second = (p4_side_counters[second_group][1] & initiator) != 0;
        struct p4_search s = *before;
        if (!(p4_side_counters[group][side] & target) || !(p4_side_counters[second_group][second] & initiator) ||
            ((target | initiator) & (s.used | set->taken)) || !(request->sides >> side & 1) ||
            !(request->second_sides >> second & 1) || !p4_take_escr(&s, request->event, request->setting, side) ||
            !p4_take_escr(&s, request->second, request->second_setting, second))
            continue;
        s.used |= target | initiator;
        s.enabled[request->set] |= (uint16_t)(1u << p4_event_unit(request->second));
        if (p4_has_counters(&s, set->taken, group) && p4_has_counters(&s, set->taken, second_group) &&
            p4_search_from(set, members, from + 1, &s))
            return true;
    }
    return false;
}

static inline bool p4_search_from(const struct p4_set *set, uint32_t members, unsigned from,
                                  const struct p4_search *before)
{
    const struct p4_request *request;

    while (from < set->count && !(members >> from & 1))
        from++;
    if (from == set->count)
        return !(before->wanting[0] & ~before->enabled[0]) && !(before->wanting[1] & ~before->enabled[1]);
    request = &set->request[from];
    if (request->metric && before->metric && request->metric != before->metric)
        return false;
    if (request->kind == P4_CASCADED)
        return p4_search_cascade(set, members, from, before);
    for (unsigned way = 0; way < 4; way++) {
        unsigned unit = p4_event_unit(request->event), group = p4_unit_group[unit], side = way & 1, second = way >> 1;
        struct p4_search s = *before;
        if (!(request->sides >> side & 1) ||
            (request->second == P4_EVENTS ? second : !(request->second_sides >> second & 1)) ||
            !p4_take_escr(&s, request->event, p4_setting(request, second), side) ||
            (request->partner != P4_EVENTS && !p4_take_escr(&s, request->partner, request->setting, !side)))
            continue;
        if (request->metric)
            s.metric = request->metric;
        if (request->counters == 0x3ffff)
            s.others[group][side]++;
        else if (!(request->counters & p4_side_counters[group][side] & ~(s.used | set->taken)))
            continue;
        else
            s.used |= request->counters;
        s.enabled[request->set] |= (uint16_t)(1u << unit);
        if (!p4_has_counters(&s, set->taken, group))
            continue;
        if (request->second == P4_EVENTS ? p4_search_from(set, members, from + 1, &s)
                                         : p4_search_upstream(set, members, from, second, &s))
            return true;
    }
    return false;
}

static inline bool p4_everything_fits(const struct p4_set *set, uint32_t members)
{
    struct p4_search s;
    memset(&s, 0, sizeof s);
    return p4_search_from(set, members, 0, &s);
}

/* ---- Is it a placement? ---- */

/* Check a result against the set, request by request, ESCR by ESCR. */
static inline bool p4_result_is_right(const struct p4_set *set, const struct shape *shape,
                                      const struct upmu_place_result *result)
{
    uint64_t value[UPMU_RESOURCES] = {0};
    uint32_t used = set->taken;
    uint16_t enabled[2] = {0, 0}, wanting[2] = {0, 0};

    for (unsigned unit = 0; unit < P4_UNITS; unit++)
        for (unsigned side = 0; side < 2; side++)
            value[2 * unit + side] = set->held[unit][side];
    for (unsigned i = 0; i < set->count; i++) {
        const struct p4_request *request = &set->request[i];
        const struct upmu_alternative *way = &shape->alternative[i][result[i].alternative];
        if (result[i].alternative >= shape->alternative_count[i])
            return false;
        for (unsigned k = 0; k < way->slot_count; k++) {
            const struct upmu_slot *slot = &way->slot[k];
            uint16_t unit = (uint16_t)(1u << slot->resource[0] / 2);
            unsigned counter = result[i].counter[k];
            for (unsigned j = 0; j < slot->resource_count; j++) {
                if (value[slot->resource[j]] && value[slot->resource[j]] != slot->value[j])
                    return false;
                value[slot->resource[j]] = slot->value[j];
            }
            if (counter == UPMU_NO_COUNTER && way->helper && k == way->slot_count - 1u) {
                wanting[request->set] |= unit;
                continue;
            }
            if (counter >= 18 || (used >> counter & 1) || !(slot->counters >> counter & 1))
                return false;
            used |= UINT32_C(1) << counter;
            if (!(way->dormant && k == 0))
                enabled[request->set] |= unit;
        }
        if (request->kind == P4_CASCADED) {
            bool tied = false;
            for (unsigned j = 0; j < P4_CASCADES; j++)
                tied |= p4_cascades[j].first == result[i].counter[0] && p4_cascades[j].second == result[i].counter[1];
            if (!tied)
                return false;
        }
    }
    return !(wanting[0] & ~enabled[0]) && !(wanting[1] & ~enabled[1]);
}

#endif
