/* SPDX-License-Identifier: MIT */
/*
 * The alternatives of a NetBurst event, and the register values of one alternative. An event may use the even or the
 * odd ESCR of its part of the CPU; some counters of its group see the even one, the others the odd one. No hardware is
 * accessed; placement and the load of a placement call these functions.
 *
 * Sources: Intel SDM vol 3 (325384-059) 18.15.5 (cascading), 18.15.6 and tables 19-32 to 19-34 (tagging), 18.16
 * (hyper-threads); 18.15.3: an ESCR works, for tagging too, only if an enabled counter can reach it or its twin.
 */
#include "backends/x86_p4/x86_p4.h"
#include "core/util/bits.h"
#include "core/hw/register.h"

#if UPMU_BACKEND_X86_P4

/*
 * Cascades: {target, initiator}, group by group. The initiator's overflow starts the target if bit 30 of the target's
 * CCCR is set or, for pairs from EXTENDED on, bit 11, which models 0 and 1 lack. In groups of four counters target and
 * initiator are on different sides.
 */
static const struct upmu_pair cascades[] = {
    {0, 2},  {1, 3},   {2, 0},   {3, 1},   {4, 6},   {5, 7},   {6, 4},   {7, 5},   {8, 10},  {9, 11},  {10, 8},
    {11, 9}, {12, 14}, {13, 15}, {14, 12}, {15, 13}, {16, 14}, {17, 15}, {12, 16}, {15, 17}, {16, 17}, {17, 16},
};
#define EXTENDED 18u
#define CASCADE_PAIRS (sizeof cascades / sizeof cascades[0])
#define PAIRS_OF_FOUR 4u

#define CCCR(bits) ((bits) << 32)

/*
 * Return the ESCR of a word for a hyper-thread: for hyper-thread 1 the privileges move from T0_USR, T0_OS to T1_USR,
 * T1_OS. A word that has T1 bits is used unchanged.
 */
static uint64_t escr_value(uint64_t word, unsigned thread)
{
    uint64_t both = UPMU_P4_ESCR_T0_USR | UPMU_P4_ESCR_T0_OS;
    uint64_t value = word & 0xffffffffu;

    if (!thread || (value & (both >> 2)))
        return value;
    return (value & ~both) | (value & both) >> 2;
}

static void add_value(struct upmu_slot *slot, unsigned resource, uint64_t value)
{
    slot->resource[slot->resource_count] = (uint8_t)resource;
    slot->value[slot->resource_count++] = value;
}

/*
 * Fill in the resources of a slot that counts with the even or the odd ESCR of a word; the ESCR is the first one.
 * `row`: the row of the event in p4_events; below 0: no resource of a thread-independent event is needed.
 */
static void fill_slot(struct upmu_slot *slot, unsigned group, uint64_t word, int row, unsigned thread, unsigned odd)
{
    slot->resource_count = 1;
    slot->resource[0] = (uint8_t)(upmu_p4_even_escr(group, word) + odd);
    slot->value[0] = escr_value(word, thread);
    /* A thread-independent event always counts for both hyper-threads: only one of them can have it. */
    if (row >= 0 && row < (int)UPMU_P4_TI_EVENTS)
        add_value(slot, UPMU_P4_RESOURCE_TI + (unsigned)row, thread);
}

/*
 * Return a word for the odd FIRM_ESCR, which upmu lets tag by the tag bit above that of the even one (1 instead of 0).
 * The caller moves the mask bit of the counted event in the same way.
 */
static uint64_t moved_tag(uint64_t word)
{
    return (word & ~UPMU_P4_ESCR_TAG_VALUE) | (word & UPMU_P4_ESCR_TAG_VALUE) << 1;
}

/*
 * Fill in slot 1, a helper, with the upstream ESCR of an event that counts tagged uops: the odd ESCR if `odd` is 1. The
 * side of two kinds of ESCRs is fixed. Front-end tags are a single bit, for which each hyper-thread has one RAT_ESCR:
 * so loads and stores cannot be counted together. The SAAT_ESCR of a split metric is that of tables 19-32 to 19-34.
 *
 * This function and the two below return the number of alternatives of the event; 0: this alternative cannot be used.
 */
static unsigned fill_upstream(const struct upmu_pmu *pmu, struct upmu_alternative *out, const struct upmu_event *event,
                              unsigned thread, unsigned odd)
{
    unsigned group = UPMU_P4_PAYLOAD_SECOND(event->payload), ways = odd ? 0 : 2;
    unsigned even = upmu_p4_even_escr(group, event->config1);
    uint64_t word = event->config1;

    if (even == UPMU_P4_RAT_ESCR0)
        odd = thread;
    else if (even == UPMU_P4_SAAT_ESCR0)
        odd = (word & UPMU_P4_ESCR_SELECT) >> 25 == 0x04; /* loads */
    else if (even != UPMU_P4_SSU_ESCR0)                   /* there is no SSU_ESCR1 */
        ways = 4;
    if (ways == 0)
        return 0;
    if (odd && (word & UPMU_P4_ESCR_TAG_ENABLE)) {
        uint64_t *value = &out->slot[0].value[0], mask = *value & UPMU_P4_ESCR_MASK;

        word = moved_tag(word);
        *value = (*value ^ mask) | mask << 1;
        out->twin = 0;
        /* The moved mask bit of a raw word may be beyond the mask, or missing in this ESCR. */
        if ((mask << 1 & ~UPMU_P4_ESCR_MASK) ||
            (*value & ~upmu_register_bits(pmu, UPMU_P4_ROW_ESCR + out->slot[0].resource[0])))
            return 0;
    }
    out->helper = true;
    out->slot_count = 2;
    out->slot[1].counters = upmu_p4_side(group, odd);
    fill_slot(&out->slot[1], group, word, -1, thread, odd);
    return ways;
}

static unsigned fill_cascade(const struct upmu_pmu *pmu, struct upmu_alternative *out, const struct upmu_event *event,
                             unsigned thread, unsigned odd, unsigned second)
{
    unsigned group = UPMU_P4_PAYLOAD_SECOND(event->payload), row = event->flags1;
    unsigned from = group * PAIRS_OF_FOUR, end = from + PAIRS_OF_FOUR;

    if (group == UPMU_P4_GROUP_IQ)
        end = event->config & CCCR(UPMU_P4_CCCR_EXTENDED_CASCADE) ? CASCADE_PAIRS : EXTENDED;
    else if (odd == second)
        return 0;
    if (!(event->config & CCCR(UPMU_P4_CCCR_CASCADE)))
        from = EXTENDED;
    if (from >= end)
        return 0;
    out->slot_count = 2;
    out->dormant = 1;
    out->pairs = cascades + from;
    out->pair_count = (uint8_t)(end - from);
    out->slot[1].counters = upmu_p4_counters(pmu, group, event->config1, (int)row - 1) & upmu_p4_side(group, second);
    fill_slot(&out->slot[1], group, event->config1, (int)row - 1, thread, second);
    return out->slot[1].counters ? 4 : 0;
}

/*
 * Fill in what the second word of an event needs besides slot 0. `odd` is the side of slot 0, `second` that of the
 * second word's ESCR: 0 for even, 1 for odd.
 */
static unsigned fill_second(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread, unsigned odd,
                            unsigned second, struct upmu_alternative *out)
{
    unsigned group = UPMU_P4_PAYLOAD_GROUP(event->payload);
    enum upmu_p4_second kind = upmu_p4_second(event);

    if (kind == UPMU_P4_UPSTREAM)
        return fill_upstream(pmu, out, event, thread, second);
    out->twin = 0;
    if (kind == UPMU_P4_INITIATOR)
        return fill_cascade(pmu, out, event, thread, odd, second);
    add_value(&out->slot[0], upmu_p4_even_escr(group, event->config1) + !odd, escr_value(event->config1, thread));
    return !second && upmu_p4_even_escr(group, event->config1) != UPMU_P4_SSU_ESCR0 ? 2 : 0;
}

bool upmu_p4_alternative(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread, unsigned i,
                         struct upmu_alternative *out)
{
    unsigned group = UPMU_P4_PAYLOAD_GROUP(event->payload), odd = i & 1u, ways = 2;
    uint32_t counters = event->counters;
    struct upmu_slot *slot = &out->slot[0];

    /* Counter 16 makes precise samples, for the second hyper-thread counter 17. */
    if (event->attributes & UPMU_ATTR_PRECISE)
        counters &= UPMU_BIT32(thread ? 17 : 16);
    /* For speed only the members that are read for this event are set: placement calls this function very often. */
    out->slot_count = 1;
    out->pair_count = 0;
    out->helper = false;
    out->dormant = false;
    slot->counters = counters & upmu_p4_side(group, odd);
    out->twin = odd || !slot->counters ? 0 : counters & upmu_p4_side(group, 1);
    fill_slot(slot, group, event->config, event->flags - 1, thread, odd);
    if (event->config2 && !(event->config2 & UPMU_EVENT_AFTER)) {
        add_value(slot, UPMU_P4_RESOURCE_PEBS_ENABLE, event->config2 & 0xffffffffu);
        add_value(slot, UPMU_P4_RESOURCE_MATRIX_VERT, event->config2 >> 32);
    }
    if (event->config1) {
        ways = fill_second(pmu, event, thread, odd, i >> 1 & 1u, out);
        if (!ways) {
            ways = 4;
            out->twin = 0;
            slot->counters = 0;
        }
    }
    out->last = (out->twin ? i + 2u : i + 1u) >= ways;
    return i < ways;
}

/* Return the value of a slot's CCCR, without ENABLE, OVF and interrupts. `counters`: the counter of each slot. */
static uint64_t cccr_value(const struct upmu_event *event, unsigned slot, const uint8_t *counters)
{
    uint64_t value = (slot ? event->config1 : event->config) >> 32, both;

    if (slot || !(event->attributes & UPMU_ATTR_CASCADE))
        return value;
    /* The target's CCCR has bit 11 if target and initiator are a pair from EXTENDED on, bit 30 if of another pair. */
    both = UPMU_P4_CCCR_CASCADE | UPMU_P4_CCCR_EXTENDED_CASCADE;
    for (unsigned i = EXTENDED; i < CASCADE_PAIRS; i++)
        if (cascades[i].first == counters[0] && cascades[i].second == counters[1])
            return (value & ~both) | UPMU_P4_CCCR_EXTENDED_CASCADE;
    return (value & ~both) | UPMU_P4_CCCR_CASCADE;
}

unsigned upmu_p4_resource_row(const struct upmu_pmu *pmu, unsigned resource)
{
    unsigned row = UPMU_P4_ROW_ESCR + resource;

    return resource < UPMU_P4_RESOURCES && upmu_rows_has(pmu->present, row) ? row : UPMU_NO_ROW;
}

void upmu_p4_render(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned alternative,
                    const uint8_t *counters, unsigned flags, struct upmu_image *image)
{
    unsigned thread = flags & UPMU_RENDER_THREAD1 ? 1 : 0;
    struct upmu_alternative way;

    if (!upmu_p4_alternative(pmu, event, thread, alternative, &way))
        return;
    for (unsigned slot = 0; slot < way.slot_count; slot++) {
        uint32_t guard = UPMU_BIT32(counters[0]);

        if (counters[slot] != UPMU_NO_COUNTER) {
            uint64_t value = cccr_value(event, slot, counters);

            guard |= UPMU_BIT32(counters[slot]);
            /*
             * A cascade requests no interrupt: that of a target is lost (erratum, models 0 to 2), and the handler would
             * clear OVF of an initiator, which stops the target.
             */
            if (!slot && (flags & UPMU_RENDER_INTERRUPT) && !(event->attributes & UPMU_ATTR_CASCADE))
                value |= thread ? UPMU_P4_CCCR_OVF_PMI_T1 : UPMU_P4_CCCR_OVF_PMI_T0;
            upmu_image_add(image, UPMU_P4_ROW_CCCR + counters[slot],
                           0xffffffffu & ~(UPMU_P4_CCCR_ENABLE | UPMU_P4_CCCR_OVF), value, UPMU_BIT32(counters[slot]));
        }
        for (unsigned k = 0; k < way.slot[slot].resource_count; k++) {
            unsigned row = upmu_p4_resource_row(pmu, way.slot[slot].resource[k]);

            if (row != UPMU_NO_ROW)
                upmu_image_add(image, row, ~UINT64_C(0), way.slot[slot].value[k], guard);
        }
    }
}

#endif
