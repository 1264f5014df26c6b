/* SPDX-License-Identifier: MIT */
/*
 * NetBurst sets of events for tests of placement: what each event needs, sets in a
 * form that does not know the solver, seeded or chosen, and two ways to answer whether a set fits that
 * share nothing with it: the rules of the counter groups, group by group, and for tags
 * and cascades, which couple the groups, a search over everything.
 *
 * Source: Intel SDM vol 3 (325384-059) 18.15 and 19.10.  Units, sides and counters of a
 * side come from place_shapes.h.
 */
#ifndef UPMU_P4_PLACE_TABLES_H
#define UPMU_P4_PLACE_TABLES_H

#include "tests/common/place_shapes.h"

static const char *const p4_event_name[P4_EVENTS] = {
    "bpu_fetch_request",
    "itlb_reference",
    "mob_load_replay",
    "page_walk_type",
    "bsq_cache_reference",
    "bsq_allocation",
    "bsq_active_entries",
    "ioq_allocation",
    "fsb_data_activity",
    "global_power_events",
    "b2b_cycles",
    "bnr",
    "snoop",
    "response",
    "ioq_active_entries",
    "tc_deliver_mode",
    "tc_misc",
    "tc_ms_xfer",
    "uop_queue_writes",
    "retired_mispred_branch_type",
    "retired_branch_type",
    "memory_cancel",
    "wc_buffer",
    "memory_complete",
    "load_port_replay",
    "store_port_replay",
    "sse_input_assist",
    "packed_sp_uop",
    "packed_dp_uop",
    "scalar_sp_uop",
    "scalar_dp_uop",
    "64bit_mmx_uop",
    "128bit_mmx_uop",
    "x87_fp_uop",
    "x87_simd_moves_uop",
    "resource_stall",
    "front_end_event",
    "execution_event",
    "replay_event",
    "branch_retired",
    "x87_assist",
    "machine_clear",
    "instr_retired",
    "uops_retired",
    "mispred_branch_retired",
    "instr_completed",
    "uop_type",
};

enum {
    P4_MOB_LOAD_REPLAY = 2,
    P4_IOQ_ALLOCATION = 7,
    P4_LOAD_PORT_REPLAY = 24,
    P4_STORE_PORT_REPLAY = 25,
    P4_PACKED_SP_UOP = 27,
    P4_SCALAR_DP_UOP = 30,
    P4_X87_SIMD_MOVES_UOP = 34,
    P4_FRONT_END_EVENT = 36,
    P4_EXECUTION_EVENT = 37,
    P4_REPLAY_EVENT = 38,
    P4_UOP_TYPE = 46,
};

/* First event of each counter group, and of none. */
static const uint8_t p4_group_first[5] = {0, 15, 21, 35, P4_EVENTS};

/* Resources beside the ESCRs, which are 2 * unit + side. */
#define P4_PEBS_ENABLE 45
#define P4_MATRIX_VERT 46

/* An ESCR is wanted with this content; 0: none. */
static inline uint32_t p4_content(unsigned event, unsigned setting)
{
    return (uint32_t)event << 16 | setting << 1 | 1u;
}

enum p4_kind { P4_PLAIN, P4_TAGGED, P4_CASCADED };

struct p4_request {
    enum p4_kind kind;
    uint8_t event, setting, sides;                /* sides: bit 0 even, bit 1 odd */
    uint8_t second, second_setting, second_sides; /* upstream (P4_EVENTS: none) or initiator */
    uint8_t metric;                               /* what PEBS_ENABLE and MATRIX_VERT have to say; 0: nothing */
    uint8_t set;
    uint32_t counters; /* of the first event: where it may run; pins */
};

struct p4_set {
    unsigned count;
    struct p4_request request[UPMU_REQUESTS];
    uint32_t taken;             /* counters of others */
    uint32_t held[P4_UNITS][2]; /* contents that others keep */
    bool held_shareable;
    bool several_sets;
};

static inline unsigned p4_event_by_name(const char *name, size_t length)
{
    unsigned event = 0;
    while (event < P4_EVENTS && (strlen(p4_event_name[event]) != length || memcmp(p4_event_name[event], name, length)))
        event++;
    return event;
}

static inline unsigned p4_group_of(const struct p4_request *request)
{
    return p4_unit_group[p4_event_unit(request->event)];
}

static inline struct p4_request *p4_add(struct p4_set *set, unsigned event, unsigned setting)
{
    struct p4_request *request = &set->request[set->count++];
    memset(request, 0, sizeof *request);
    request->event = (uint8_t)event;
    request->setting = (uint8_t)setting;
    request->sides = (uint8_t)p4_event_sides(event);
    request->second = P4_EVENTS;
    request->counters = 0x3ffff;
    return request;
}

/* A recipe: the event that counts what another one tags. */
static inline struct p4_request *p4_add_tagged(struct p4_set *set, unsigned event, unsigned setting, unsigned upstream,
                                               unsigned upstream_setting, unsigned upstream_sides)
{
    struct p4_request *request = p4_add(set, event, setting);
    request->kind = P4_TAGGED;
    request->second = (uint8_t)upstream;
    request->second_setting = (uint8_t)upstream_setting;
    request->second_sides = (uint8_t)(upstream_sides & p4_event_sides(upstream));
    return request;
}

static inline struct p4_request *p4_add_cascade(struct p4_set *set, unsigned target, unsigned setting,
                                                unsigned initiator)
{
    struct p4_request *request = p4_add_tagged(set, target, setting, initiator, setting, 3);
    request->kind = P4_CASCADED;
    return request;
}

/* ---- For the solver ---- */

/* Whose overflow starts whom, by bit 30 of the target's CCCR and by bit 11: {target, initiator}. */
static const struct upmu_pair p4_cascades[] = {
    {0, 2},  {1, 3},   {2, 0},   {3, 1},   {4, 6},   {5, 7},   {6, 4},   {7, 5},   {8, 10},  {9, 11},  {10, 8},
    {11, 9}, {12, 14}, {13, 15}, {14, 12}, {15, 13}, {16, 14}, {17, 15}, {12, 16}, {15, 17}, {16, 17}, {17, 16},
};
#define P4_CASCADES (sizeof p4_cascades / sizeof p4_cascades[0])

static inline void p4_fill_slot(struct upmu_slot *slot, unsigned event, unsigned setting, unsigned side)
{
    unsigned unit = p4_event_unit(event);
    slot->counters = p4_side_counters[p4_unit_group[unit]][side];
    shape_claim(slot, 2 * unit + side, p4_content(event, setting));
}

static inline void p4_fill_shape(struct shape *shape, const struct p4_set *set)
{
    shape_p4_begin(shape, set->count);
    shape->input.taken = set->taken;
    shape->input.set_of = set->several_sets ? shape->set_of : NULL;
    for (unsigned unit = 0; unit < P4_UNITS; unit++)
        for (unsigned side = 0; side < 2; side++)
            if (set->held[unit][side] && shape->input.held_count < SHAPE_HELD)
                shape->held[shape->input.held_count++] = (struct upmu_held){.resource = (uint8_t)(2 * unit + side),
                                                                            .shareable = set->held_shareable,
                                                                            .value = set->held[unit][side]};
    for (unsigned i = 0; i < set->count; i++) {
        const struct p4_request *request = &set->request[i];
        shape->set_of[i] = request->set;
        for (unsigned way = 0; way < 4; way++) {
            unsigned side = way & 1, second = way >> 1;
            struct upmu_alternative *out = &shape->alternative[i][shape->alternative_count[i]];
            if (!(request->sides >> side & 1) ||
                (request->second == P4_EVENTS ? second : !(request->second_sides >> second & 1)))
                continue;
            memset(out, 0, sizeof *out);
            out->slot_count = 1;
            p4_fill_slot(&out->slot[0], request->event, request->setting, side);
            out->slot[0].counters &= request->counters;
            if (request->metric) {
                shape_claim(&out->slot[0], P4_PEBS_ENABLE, request->metric);
                shape_claim(&out->slot[0], P4_MATRIX_VERT, request->metric & 3);
            }
            if (request->second != P4_EVENTS) {
                out->slot_count = 2;
                p4_fill_slot(&out->slot[1], request->second, request->second_setting, second);
                out->helper = request->kind == P4_TAGGED;
                out->dormant = request->kind == P4_CASCADED;
            }
            if (request->kind == P4_CASCADED) {
                out->pairs = p4_cascades;
                out->pair_count = P4_CASCADES;
            }
            shape->alternative_count[i]++;
        }
    }
}

/* ---- Does it fit?  Group by group: no tags, no cascades ---- */

static inline unsigned p4_ones(uint32_t mask)
{
    return (unsigned)__builtin_popcount(mask);
}

/* One choice of sides for the members of a group: is there an ESCR and a counter for everybody? */
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
        /* A pin names one counter; whoever has none can run on each counter of the side. */
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

/* ---- Does it fit?  Everything at once: tags and cascades, no pins ---- */

/* What has been given away. */
struct p4_search {
    uint32_t content[P4_UNITS][2];
    uint32_t metric;
    uint32_t used;        /* counters that a cascade names */
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

/* The second ESCR of a tagged request, served or with a counter of its own. */
static inline bool p4_search_upstream(const struct p4_set *set, uint32_t members, unsigned from,
                                      const struct p4_search *before)
{
    const struct p4_request *request = &set->request[from];
    unsigned unit = p4_event_unit(request->second), group = p4_unit_group[unit];

    for (unsigned way = 0; way < 4; way++) {
        struct p4_search s = *before;
        unsigned side = way & 1;
        if (!(request->second_sides >> side & 1) || !p4_take_escr(&s, request->second, request->second_setting, side))
            continue;
        if (way & 2) {
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
    for (unsigned side = 0; side < 2; side++) {
        unsigned unit = p4_event_unit(request->event), group = p4_unit_group[unit];
        struct p4_search s = *before;
        if (!(request->sides >> side & 1) || !p4_take_escr(&s, request->event, request->setting, side))
            continue;
        if (request->metric)
            s.metric = request->metric;
        s.others[group][side]++;
        s.enabled[request->set] |= (uint16_t)(1u << unit);
        if (!p4_has_counters(&s, set->taken, group))
            continue;
        if (request->second == P4_EVENTS ? p4_search_from(set, members, from + 1, &s)
                                         : p4_search_upstream(set, members, from, &s))
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

/* ---- Seeded sets with tags and cascades ---- */

/* Intel's recipes: front-end, execution and replay tagging. */
static inline void p4_draw_tagged(struct p4_set *set, uint64_t *random)
{
    unsigned variant = shape_random(random, 8), upstream;

    switch (variant) {
    case 0:
    case 1: /* memory_loads, memory_stores retired */
        p4_add_tagged(set, P4_FRONT_END_EVENT, 0, P4_UOP_TYPE, 8 + variant, 3);
        break;
    case 2: /* split loads, split stores, MOB replays retired */
        p4_add_tagged(set, P4_REPLAY_EVENT, 0, P4_LOAD_PORT_REPLAY, 1, 2)->metric = 1;
        break;
    case 3:
        p4_add_tagged(set, P4_REPLAY_EVENT, 0, P4_STORE_PORT_REPLAY, 1, 1)->metric = 2;
        break;
    case 4:
        p4_add_tagged(set, P4_REPLAY_EVENT, 0, P4_MOB_LOAD_REPLAY, 1, 3)->metric = 5;
        break;
    case 5: /* cache misses retired: no upstream event */
        p4_add(set, P4_REPLAY_EVENT, 0)->metric = (uint8_t)(9 + shape_random(random, 2));
        break;
    default:
        upstream = P4_PACKED_SP_UOP + shape_random(random, 8);
        p4_add_tagged(set, P4_EXECUTION_EVENT, shape_random(random, 4), upstream, 8, 3);
        break;
    }
}

/* Events that tags and cascades meet: FIRM, DAC and SAAT, CRU and RAT, MOB. */
static inline unsigned p4_draw_neighbour(uint64_t *random)
{
    if (shape_chance(random, 40))
        return 21 + shape_random(random, 14);
    if (shape_chance(random, 60))
        return 35 + shape_random(random, 12);
    return shape_random(random, P4_EVENTS);
}

static inline void p4_draw_cascade(struct p4_set *set, uint64_t *random)
{
    unsigned target = p4_draw_neighbour(random), group = p4_unit_group[p4_event_unit(target)];
    unsigned events = (unsigned)(p4_group_first[group + 1] - p4_group_first[group]);

    p4_add_cascade(set, target, shape_random(random, 2), p4_group_first[group] + shape_random(random, events));
}

static inline void p4_draw_finish(struct p4_set *set, uint64_t *random)
{
    set->several_sets = shape_chance(random, 25);
    for (unsigned i = 0; i < set->count && set->several_sets; i++)
        set->request[i].set = (uint8_t)shape_random(random, 2);
    if (shape_chance(random, 30))
        set->taken = UINT32_C(1) << shape_random(random, 18);
}

/* Up to eight, mostly where tags and cascades meet. */
static inline void p4_draw_small(struct p4_set *set, uint64_t *random)
{
    unsigned count = 1 + shape_random(random, 8);

    memset(set, 0, sizeof *set);
    while (set->count < count) {
        if (shape_chance(random, 35))
            p4_draw_tagged(set, random);
        else if (shape_chance(random, 25))
            p4_draw_cascade(set, random);
        else
            p4_add(set, p4_draw_neighbour(random), shape_random(random, 2));
    }
    p4_draw_finish(set, random);
}

/* A few tags and cascades, and events that might fill the rest. */
static inline void p4_draw_mixed(struct p4_set *set, uint64_t *random, unsigned count)
{
    unsigned tags = shape_random(random, 5), cascades = shape_random(random, 3);

    memset(set, 0, sizeof *set);
    while (tags--)
        p4_draw_tagged(set, random);
    while (cascades--)
        p4_draw_cascade(set, random);
    for (unsigned tries = 0; set->count < count; tries++) {
        unsigned event = shape_random(random, P4_EVENTS), unit = p4_event_unit(event), users = 0, members = 0;
        for (unsigned i = 0; i < set->count; i++) {
            users += p4_event_unit(set->request[i].event) == unit;
            members += p4_group_of(&set->request[i]) == p4_unit_group[unit];
        }
        if ((users < 2 && members < 4) || tries > 40)
            p4_add(set, event, shape_random(random, 2));
    }
    for (unsigned i = 0; i < set->count; i++) {
        unsigned other = shape_random(random, set->count);
        struct p4_request moved = set->request[i];
        set->request[i] = set->request[other];
        set->request[other] = moved;
    }
    p4_draw_finish(set, random);
}

static inline void p4_draw_large(struct p4_set *set, uint64_t *random)
{
    p4_draw_mixed(set, random, 9 + shape_random(random, 10));
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
