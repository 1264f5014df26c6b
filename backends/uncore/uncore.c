/* SPDX-License-Identifier: MIT */
/*
 * The uncore backend: alternatives and register values of events, take-over, names of filters, counters and kinds of
 * boxes, and the table of the backend's functions.
 */
#include "backends/uncore/uncore_tables.h"
#include "core/util/bits.h"
#include "core/util/mem.h"

#if UPMU_UNCORE

#define UNCORE_BAND_FIRST 0x0bu
#define UNCORE_BANDS 4u
#define UNCORE_STOPS (UINT64_C(1) << 31) /* in the common MSR of switch_on() */

/*
 * Does an event need no other filter than the byte of its own code? Events 0Bh to 0Eh of the power control unit count
 * by byte 0 to 3 of the filter. Such an event can count by any byte, with the code that belongs to this byte.
 */
static bool has_band(const struct upmu_pmu *pmu, const struct upmu_event *event)
{
    unsigned code = (unsigned)event->config & 0xffu;

    return (pmu->quirks & UPMU_UNCORE_BANDS) && code - UNCORE_BAND_FIRST < UNCORE_BANDS &&
           event->flags == 1u << (code - UNCORE_BAND_FIRST);
}

/*
 * Return the value of a resource as slots and found filters have it, from its bits in config1 or config2: a band's byte
 * counts from bit 0, because events can move from band to band.
 */
static uint64_t value_of_resource(const struct upmu_pmu *pmu, unsigned resource, uint64_t bits)
{
    return pmu->quirks & UPMU_UNCORE_BANDS ? bits >> 8 * resource : bits;
}

bool upmu_uncore_alternative(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread, unsigned i,
                             struct upmu_alternative *out)
{
    struct upmu_slot *slot = &out->slot[0];

    (void)thread;
    memset(out, 0, sizeof *out);
    out->slot_count = 1;
    slot->counters = event->counters;
    if (has_band(pmu, event)) {
        unsigned own = ((unsigned)event->config & 0xffu) - UNCORE_BAND_FIRST;

        slot->resource_count = 1;
        slot->resource[0] = (uint8_t)((own + i) % UNCORE_BANDS);
        slot->value[0] = event->config1 >> 8 * own & 0xff;
        return i < UNCORE_BANDS;
    }
    out->last = true;
    for (unsigned rest = event->flags; rest; rest &= rest - 1) {
        uint64_t bits[2];
        unsigned resource = upmu_bits_lowest(rest);

        upmu_uncore_resource_bits(pmu, UPMU_BIT32(resource), bits);
        slot->resource[slot->resource_count] = (uint8_t)resource;
        /* A resource has all its bits in config1, or all in config2: one of the two terms is 0. */
        slot->value[slot->resource_count++] =
            value_of_resource(pmu, resource, (event->config1 & bits[0]) | (event->config2 & bits[1]));
    }
    return i == 0;
}

/* Has a type's register table, as its last row, an MSR that several types share and whose bits must be set? */
static bool needs_common_bits(const struct upmu_unit_type *type)
{
    return type->quirks & (UPMU_UNCORE_ABSOLUTE | UPMU_UNCORE_SWITCH_28);
}

/* Return the row of the first filter register in a unit's register table. */
static unsigned filter_row(const struct upmu_uncore_pmu *uncore)
{
    return uncore->table.row_count - (uncore->type->filters + (needs_common_bits(uncore->type) ? 1u : 0));
}

/*
 * Store in *out_value the value of a resource in the filter registers as take-over found them (`found`, by row), in the
 * form of upmu_slot.value. Returns false: the type has no filters, or the resource has no bits in them.
 */
static bool found_filter(const struct upmu_pmu *pmu, unsigned resource, const uint64_t *found, uint64_t *out_value)
{
    const struct upmu_uncore_pmu *uncore = upmu_uncore_of(pmu);
    unsigned count = uncore->type->filters, row = filter_row(uncore);
    uint64_t bits[2], words[2] = {0, 0};

    for (unsigned i = 0; i < count; i++)
        words[i >> 1] |= (found[row + i] & uncore->type->filter_mask[i]) << 32 * (i & 1u);
    upmu_uncore_resource_bits(pmu, UPMU_BIT32(resource), bits);
    *out_value = value_of_resource(pmu, resource, (words[0] & bits[0]) | (words[1] & bits[1]));
    return count && (bits[0] | bits[1]);
}

/*
 * Add to an image, for each filter register, a step for those of its bits that are in `bits`, with the values of
 * `values`. Index 0 of both is config1, index 1 config2. A type's only filter is config1; two filters are the halves of
 * config1, four those of config1 and config2.
 */
static void add_filters(const struct upmu_pmu *pmu, const uint64_t bits[2], const uint64_t values[2], uint32_t guard,
                        struct upmu_image *image)
{
    const struct upmu_uncore_pmu *uncore = upmu_uncore_of(pmu);
    for (unsigned i = 0; i < uncore->type->filters; i++) {
        unsigned shift = 32 * (i & 1u);
        uint64_t mask = bits[i >> 1] >> shift & uncore->type->filter_mask[i];

        if (mask)
            upmu_image_add(image, filter_row(uncore) + i, mask, values[i >> 1] >> shift & mask, guard);
    }
}

void upmu_uncore_render(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned alternative,
                        const uint8_t *counters, unsigned flags, struct upmu_image *image)
{
    const struct upmu_unit_type *type = upmu_uncore_of(pmu)->type;
    const struct upmu_counter *counter = &pmu->counter[counters[0]];
    uint64_t select = event->config, bits[2] = {0, 0}, values[2] = {event->config1, event->config2};
    uint32_t guard = UPMU_BIT32(counters[0]);

    (void)flags;
    if (type->style == UPMU_UNIT_FREE)
        return;
    if (counters[0] >= UPMU_FIXED_COUNTER(0))
        select = type->quirks & UPMU_UNCORE_FIXED_ENABLE_0 ? 1 : UINT64_C(1) << 22;
    else if (type->enable_bit < 64)
        select |= UINT64_C(1) << type->enable_bit;
    if (has_band(pmu, event)) {
        unsigned own = ((unsigned)select & 0xffu) - UNCORE_BAND_FIRST, band = (own + alternative) % UNCORE_BANDS;

        select += band - own;
        bits[0] = UINT64_C(0xff) << 8 * band;
        values[0] = (event->config1 >> 8 * own & 0xff) << 8 * band;
    } else {
        upmu_uncore_resource_bits(pmu, event->flags, bits);
    }
    add_filters(pmu, bits, values, guard, image);
    upmu_image_add(image, counter->select_row, ~UINT64_C(0), select, guard);
}

void upmu_uncore_release(const struct upmu_pmu *pmu, uint32_t counters, struct upmu_image *image)
{
    if (upmu_uncore_of(pmu)->type->style == UPMU_UNIT_FREE)
        return;
    for (; counters; counters &= counters - 1u)
        upmu_image_add(image, pmu->counter[upmu_bits_lowest(counters)].select_row, ~UINT64_C(0), 0,
                       counters & (0u - counters));
}

/*
 * Add the write of take-over that sets bits of a common MSR (UPMU_UNCORE_ABSOLUTE, UPMU_UNCORE_SWITCH_28) without which
 * nothing counts, and clears bit 31. Several types share the MSR. While bit 31 is set, an overflow in any client unit
 * of the package stops all of them; on Nehalem-EX all boxes are stopped. Other drivers leave it set.
 */
static void switch_on(const struct upmu_pmu *pmu, struct upmu_image *image)
{
    const struct upmu_uncore_pmu *uncore = upmu_uncore_of(pmu);
    uint64_t bits = uncore->type->quirks & UPMU_UNCORE_SWITCH_28 ? UINT64_C(1) << 28 : uncore->type->control_idle;

    if (needs_common_bits(uncore->type))
        upmu_image_add(image, uncore->table.row_count - 1u, bits | UNCORE_STOPS, bits, 0);
}

static const char *filter_name(const struct upmu_pmu *pmu, unsigned resource)
{
    unsigned packed = upmu_uncore_of(pmu)->packed;
    const struct upmu_uncore_field *field = packed ? &upmu_uncore_fields[upmu_uncore_rows[packed - 1].fields] : NULL;

    for (; field && field->width; field++)
        if (field->resource == resource)
            return &upmu_uncore_text[field->name];
    return resource ? "config2" : "config1";
}

static const char *counter_name(const struct upmu_pmu *pmu, unsigned counter, unsigned *out_index)
{
    bool fixed = counter >= UPMU_FIXED_COUNTER(0);

    (void)pmu;
    *out_index = fixed ? counter - UPMU_FIXED_COUNTER(0) : counter;
    return fixed ? "FIXED" : "CTR";
}

#if UPMU_NAMES
static const char *kind_name(unsigned number)
{
    for (unsigned i = 0; i < upmu_uncore_box_count; i++)
        if (upmu_uncore_boxes[i].number == number)
            return &upmu_uncore_text[upmu_uncore_boxes[i].name];
    return NULL;
}
#endif

/*
 * The backend of units outside the cores. The backend detects no CPU. Counters of units do not interrupt: see
 * upmu_unit_poll(). The filters are rendered with the events that need them, so the backend names no row for a
 * resource.
 */
const struct upmu_backend upmu_uncore_backend = {
    .name = "uncore",
#if UPMU_NAMES
    .attribute = upmu_uncore_attribute,
    .from_row = upmu_uncore_from_row,
    .format = upmu_uncore_format,
    .unit_name = kind_name,
#endif
    .finish = upmu_uncore_finish,
    .alternative = upmu_uncore_alternative,
    .render = upmu_uncore_render,
    .release = upmu_uncore_release,
    .filter = found_filter,
    .take_over = switch_on,
    .resource_name = filter_name,
    .counter_prefix = counter_name,
};

#endif
