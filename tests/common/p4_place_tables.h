/* SPDX-License-Identifier: MIT */
/*
 * NetBurst sets of events for tests of placement: what each event needs, and sets in a
 * form that does not know the solver, seeded or chosen.
 *
 * Source: Intel SDM vol 3 (325384-059) 18.15 and 19.10.  Units, sides and counters of a
 * side come from place_shapes.h.
 */
#ifndef UPMU_P4_PLACE_TABLES_H
#define UPMU_P4_PLACE_TABLES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/place_shapes.h"
#include "tests/common/share.h"

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
    uint8_t partner; /* event that the other ESCR of the unit has to have (P4_EVENTS: none) */
    bool follows;    /* the first event's content depends on the side of the second */
    uint8_t metric;  /* what PEBS_ENABLE and MATRIX_VERT have to say; 0: nothing */
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
    request->partner = P4_EVENTS;
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

static inline unsigned p4_setting(const struct p4_request *request, unsigned second_side)
{
    return request->setting | (request->follows ? second_side << 7 : 0);
}

/* ---- For the solver ---- */

/* Initiators and targets, by bit 30 of the target's CCCR and by bit 11: {target, initiator}. */
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
            p4_fill_slot(&out->slot[0], request->event, p4_setting(request, second), side);
            out->slot[0].counters &= request->counters;
            if (request->partner != P4_EVENTS)
                shape_claim(&out->slot[0], 2 * p4_event_unit(request->event) + !side,
                            p4_content(request->partner, request->setting));
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
    shape_note_twins(shape);
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
        p4_add_tagged(set, P4_EXECUTION_EVENT, shape_random(random, 4), upstream, 8, 3)->follows =
            shape_chance(random, 50);
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

#endif
