/* SPDX-License-Identifier: MIT */
/*
 * Sets of requests for tests and measurements of placement: the shapes of real
 * PMUs, drawn at random from a seed.  Knows no backend.
 */
#ifndef UPMU_PLACE_SHAPES_H
#define UPMU_PLACE_SHAPES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <upmu/place.h>
#include <upmu/upmu.h>

#define SHAPE_ALTERNATIVES 4
#define SHAPE_HELD 4

/* A placement problem that owns all it points to. */
struct shape {
    struct upmu_place_input input;
    unsigned alternative_count[UPMU_REQUESTS];
    struct upmu_alternative alternative[UPMU_REQUESTS][SHAPE_ALTERNATIVES];
    struct upmu_held held[SHAPE_HELD];
    uint8_t preference[UPMU_COUNTERS];
    uint8_t stay[UPMU_REQUESTS][UPMU_SLOTS];
    uint8_t stay_alternative[UPMU_REQUESTS];
    uint8_t set_of[UPMU_REQUESTS];
    /* NetBurst sets: what each request is. */
    uint8_t event[UPMU_REQUESTS];
    uint8_t setting[UPMU_REQUESTS];
};

/* ---- Random numbers ---- */

static inline uint32_t shape_random(uint64_t *state, uint32_t below)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)((*state >> 16 & 0xffffffffu) * below >> 32);
}

static inline bool shape_chance(uint64_t *state, uint32_t percent)
{
    return shape_random(state, 100) < percent;
}

/* ---- Building ---- */

static inline bool shape_alternative(const void *context, unsigned request, unsigned i, struct upmu_alternative *out)
{
    const struct shape *shape = context;
    if (i >= shape->alternative_count[request])
        return false;
    *out = shape->alternative[request][i];
    return true;
}

static inline void shape_begin(struct shape *shape, uint32_t counters)
{
    memset(shape, 0, sizeof *shape);
    shape->input.alternative = shape_alternative;
    shape->input.context = shape;
    shape->input.counters = counters;
    shape->input.held = shape->held;
    memset(shape->stay, UPMU_NO_COUNTER, sizeof shape->stay);
    memset(shape->stay_alternative, 0xff, sizeof shape->stay_alternative);
}

/* Say of each way that the next one is its twin, if it is, and of the last one that it is. */
static inline void shape_note_twins(struct shape *shape)
{
    for (unsigned request = 0; request < shape->input.request_count; request++) {
        unsigned count = shape->alternative_count[request];
        for (unsigned i = 0; i < count; i++) {
            struct upmu_alternative *way = &shape->alternative[request][i], twin = *way;
            const struct upmu_alternative *next = way + 1;
            if (i + 1 < count && !way->pair_count && way->slot[0].resource_count) {
                twin.slot[0].counters = next->slot[0].counters;
                twin.slot[0].resource[0]++;
                if (way->slot[0].counters && memcmp(&twin, next, sizeof twin) == 0)
                    way->twin = next->slot[0].counters;
            }
            way->last = i + 1 + (way->twin != 0) >= count;
            i += way->twin != 0;
        }
    }
}

/* A further way to run a request, with one slot. */
static inline struct upmu_slot *shape_way(struct shape *shape, unsigned request, uint32_t counters)
{
    struct upmu_alternative *way = &shape->alternative[request][shape->alternative_count[request]++];
    way->slot_count = 1;
    way->slot[0].counters = counters;
    return &way->slot[0];
}

static inline void shape_claim(struct upmu_slot *slot, unsigned resource, uint64_t value)
{
    slot->resource[slot->resource_count] = (uint8_t)resource;
    slot->value[slot->resource_count++] = value;
}

/* A counter has been given to others. */
static inline void shape_take(struct shape *shape, unsigned counter)
{
    shape->input.taken |= UINT32_C(1) << counter;
}

/* Fixed counters first, then general ones. */
static inline void shape_prefer_fixed(struct shape *shape)
{
    unsigned count = 0;
    for (unsigned counter = 16; counter < 32; counter++)
        shape->preference[count++] = (uint8_t)counter;
    for (unsigned counter = 0; counter < 16; counter++)
        shape->preference[count++] = (uint8_t)counter;
    shape->input.preference = shape->preference;
    shape->input.preference_count = count;
}

/* ---- Intel (Linux arch/x86/events/intel/core.c) ---- */

enum { RSP_0, RSP_1, FRONTEND, LATENCY };

/* intel_skl_event_constraints, intel_skl_extra_regs; `general` is 0xf or 0xff. */
static inline void shape_skylake_event(struct shape *shape, uint64_t *state, unsigned request, uint32_t general)
{
    uint64_t value = shape_random(state, 3);
    switch (shape_random(state, 10)) {
    case 0: /* INST_RETIRED.ANY, CPU_CLK_UNHALTED.CORE */
    case 1:
        shape_way(shape, request, UINT32_C(1) << (16 + shape_random(state, 2)));
        shape_way(shape, request, general);
        break;
    case 2: /* CPU_CLK_UNHALTED.REF */
        shape_way(shape, request, UINT32_C(1) << 18);
        break;
    case 3: /* INST_RETIRED.PREC_DIST */
        shape_way(shape, request, 2);
        break;
    case 4: /* OFFCORE_RESPONSE: B7h with 1A6h or BBh with 1A7h */
    case 5:
        shape_claim(shape_way(shape, request, general), RSP_0, value);
        shape_claim(shape_way(shape, request, general), RSP_1, value);
        break;
    case 6: /* FRONTEND_RETIRED */
        shape_claim(shape_way(shape, request, 0xf), FRONTEND, value);
        break;
    case 7: /* MEM_TRANS_RETIRED.LOAD_LATENCY */
        shape_claim(shape_way(shape, request, 0xf), LATENCY, value);
        break;
    case 8: /* MEM_LOAD_RETIRED */
        shape_way(shape, request, 0xf);
        break;
    default:
        shape_way(shape, request, general);
        break;
    }
}

static inline void shape_skylake(struct shape *shape, uint64_t *state, unsigned count)
{
    uint32_t general = shape_chance(state, 70) ? 0xf : 0xff;
    shape_begin(shape, general | 0x70000u);
    shape_prefer_fixed(shape);
    shape->input.request_count = count;
    for (unsigned request = 0; request < count; request++)
        shape_skylake_event(shape, state, request, general);
}

/* intel_core2_event_constraints. */
static inline void shape_core2(struct shape *shape, uint64_t *state, unsigned count)
{
    shape_begin(shape, 0x70003u);
    shape_prefer_fixed(shape);
    shape->input.request_count = count;
    for (unsigned request = 0; request < count; request++) {
        switch (shape_random(state, 6)) {
        case 0:
        case 1:
            shape_way(shape, request, UINT32_C(1) << (16 + shape_random(state, 2)));
            shape_way(shape, request, 3);
            break;
        case 2:
            shape_way(shape, request, UINT32_C(1) << 18);
            break;
        case 3:
            shape_way(shape, request, UINT32_C(1) << shape_random(state, 2));
            break;
        default:
            shape_way(shape, request, 3);
            break;
        }
    }
}

/* intel_icl_event_constraints: 8 general and 4 fixed counters, many events on 0-3 alone. */
static inline void shape_icelake(struct shape *shape, uint64_t *state, unsigned count)
{
    shape_begin(shape, 0xf00ffu);
    shape_prefer_fixed(shape);
    shape->input.request_count = count;
    for (unsigned request = 0; request < count; request++) {
        uint64_t value = shape_random(state, 3);
        uint32_t fixed = shape_random(state, 4);
        switch (shape_random(state, 12)) {
        case 0:
        case 1:
        case 2:
        case 3:
            shape_way(shape, request, UINT32_C(1) << (16 + fixed));
            if (fixed != 2)
                shape_way(shape, request, 0xff);
            break;
        case 4:
            shape_claim(shape_way(shape, request, 0xf), RSP_0, value);
            shape_claim(shape_way(shape, request, 0xf), RSP_1, value);
            break;
        case 5:
            shape_claim(shape_way(shape, request, 0xff), FRONTEND, value);
            break;
        case 6:
        case 7:
            shape_way(shape, request, 0xf);
            break;
        default:
            shape_way(shape, request, 0xff);
            break;
        }
    }
}

/* ---- NetBurst (Intel SDM vol 3, tables of ESCRs, CCCRs and counters) ---- */

#define P4_UNITS 16
#define P4_EVENTS 47

/* Counters of the groups BPU, MS, FLAME, IQ that ESCR 0 and ESCR 1 of a unit reach. */
static const uint32_t p4_side_counters[4][2] = {{0x3, 0xc}, {0x30, 0xc0}, {0x300, 0xc00}, {0x13000, 0x2c000}};

/* Group of each unit: BPU ITLB MOB PMH BSU FSB, TC MS TBPU, DAC SAAT FIRM, ALF CRU1 CRU0 RAT. */
static const uint8_t p4_unit_group[P4_UNITS] = {0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3};

/* Events of each unit, and of these those on ESCR 0 or ESCR 1 alone. */
static const uint8_t p4_unit_events[P4_UNITS] = {1, 1, 1, 1, 3, 8, 2, 2, 2, 2, 3, 9, 1, 6, 4, 1};

static inline unsigned p4_event_unit(unsigned event)
{
    unsigned unit = 0;
    while (event >= p4_unit_events[unit])
        event -= p4_unit_events[unit++];
    return unit;
}

/* ESCRs of an event: bit 0, bit 1. */
static inline unsigned p4_event_sides(unsigned event)
{
    switch (event) {
    case 5: /* bsq_allocation */
        return 1;
    case 6:  /* bsq_active_entries */
    case 14: /* ioq_active_entries */
        return 2;
    default:
        return 3;
    }
}

/* Add an event with one of its settings (mask, privilege): the value of the ESCR. */
static inline void shape_p4_event(struct shape *shape, unsigned request, unsigned event, unsigned setting)
{
    unsigned unit = p4_event_unit(event);
    shape->event[request] = (uint8_t)event;
    shape->setting[request] = (uint8_t)setting;
    for (unsigned side = 0; side < 2; side++)
        if (p4_event_sides(event) >> side & 1u)
            shape_claim(shape_way(shape, request, p4_side_counters[p4_unit_group[unit]][side]), 2 * unit + side,
                        (uint64_t)event << 25 | setting);
}

static inline void shape_p4_begin(struct shape *shape, unsigned count)
{
    shape_begin(shape, 0x3ffffu);
    for (unsigned counter = 0; counter < 18; counter++) /* counter 1 last */
        shape->preference[counter] = (uint8_t)(counter == 0 ? 0 : counter == 17 ? 1 : counter + 1);
    shape->input.preference = shape->preference;
    shape->input.preference_count = 18;
    shape->input.request_count = count;
}

static inline void shape_p4(struct shape *shape, uint64_t *state, unsigned count)
{
    shape_p4_begin(shape, count);
    for (unsigned request = 0; request < count; request++)
        shape_p4_event(shape, request, shape_random(state, P4_EVENTS), shape_random(state, 3));
}

/* A set near capacity: few events for each group, drawn until each counter could have one. */
static inline void shape_p4_dense(struct shape *shape, uint64_t *state, unsigned count)
{
    static const uint8_t room[4] = {4, 4, 4, 6};
    unsigned users[4] = {0, 0, 0, 0}, unit_users[P4_UNITS] = {0};

    shape_p4_begin(shape, count);
    for (unsigned request = 0; request < count;) {
        unsigned event = shape_random(state, P4_EVENTS), unit = p4_event_unit(event), group = p4_unit_group[unit];
        if (users[group] >= room[group] || unit_users[unit] >= 2)
            continue;
        users[group]++;
        unit_users[unit]++;
        shape_p4_event(shape, request++, event, shape_random(state, 3));
    }
}

/* Is there room for the chosen requests of a NetBurst set?  Tries all sides, group by group. */
static inline bool shape_p4_fits(const struct shape *shape, uint32_t requests)
{
    for (unsigned group = 0; group < 4; group++) {
        unsigned member[UPMU_REQUESTS], count = 0, room[2];
        bool found = false;

        for (unsigned request = 0; request < shape->input.request_count; request++)
            if ((requests >> request & 1u) && p4_unit_group[p4_event_unit(shape->event[request])] == group)
                member[count++] = request;
        for (unsigned side = 0; side < 2; side++) {
            room[side] = 0;
            for (unsigned counter = 0; counter < 18; counter++)
                room[side] += (p4_side_counters[group][side] & ~shape->input.taken) >> counter & 1u;
        }
        if (count > room[0] + room[1])
            return false;
        for (uint32_t sides = 0; sides < UINT32_C(1) << count && !found; sides++) {
            unsigned users[2] = {0, 0};
            bool good = true;
            for (unsigned i = 0; i < count && good; i++) {
                unsigned side = sides >> i & 1u, event = shape->event[member[i]];
                good = (p4_event_sides(event) >> side & 1u) && ++users[side] <= room[side];
                for (unsigned j = 0; j < i && good; j++)
                    good = (sides >> j & 1u) != side ||
                           p4_event_unit(event) != p4_event_unit(shape->event[member[j]]) ||
                           (event == shape->event[member[j]] && shape->setting[member[i]] == shape->setting[member[j]]);
            }
            found = good;
        }
        if (!found)
            return false;
    }
    return true;
}

#endif
