/* SPDX-License-Identifier: MIT */
/*
 * The files that programs read about units outside the cores: CPUs that drive them, fields of their words, events of
 * their catalogue in these fields, and what a count stands for.
 *
 * Source of the fields: Linux 6.12, arch/x86/events/intel/uncore.c, uncore_snbep.c (format attributes), rapl.c, msr.c,
 * intel/cstate.c, amd/uncore.c.
 */
#include "abi/perf/perf_core.h"
#include <upmu/catalogs.h>

#if UPMU_UNCORE

#define RANGES 3u
#define UNIT_FIELDS 12u

/* A field of the words of a unit: the ranges of bits that its value has, the lowest first. */
struct unit_field {
    const char *name;
    struct {
        uint8_t first, last;
    } range[RANGES];
    unsigned ranges; /* entries of `range` in use */
    unsigned word;   /* 0: config; 1: config1; 2: config2 */
};

/* The fields that a unit's PMU has. */
struct unit_fields {
    struct unit_field field[UNIT_FIELDS];
    unsigned count;
};

/* ---- Fields ---- */

static struct unit_field *field_add(struct unit_fields *fields, const char *name, unsigned word)
{
    struct unit_field *field = &fields->field[fields->count++];

    *field = (struct unit_field){.name = name, .word = word};
    return field;
}

/* Add to a field the bits from `first` to `last` that `mask` has, which are one range; nothing if it has none. */
static void range_add(struct unit_field *field, uint64_t mask, unsigned first, unsigned last)
{
    while (first <= last && !(mask >> first & 1u))
        first++;
    while (last > first && !(mask >> last & 1u))
        last--;
    if (first > last)
        return;
    field->range[field->ranges].first = (uint8_t)first;
    field->range[field->ranges++].last = (uint8_t)last;
}

/* Add a field if the mask has bits of it. */
static void field_maybe(struct unit_fields *fields, const char *name, uint64_t mask, unsigned first, unsigned last)
{
    if (mask >> first & upmu_bits_ones(last - first + 1u))
        range_add(field_add(fields, name, 0), mask, first, last);
}

/* Upper halves of select_mask of Intel's I/O stacks, whose selects have masks of channels and of completions there. */
#define STACK_SKX UINT64_C(0x7fff)
#define STACK_SNR UINT64_C(0x7ffff)

#define OCCUPANCY 0xc000u        /* the bits of a select in the place of a unit mask, in power units */
#define READ_WRITE 0x300u        /* the same of AMD's memory controllers */
#define THRESHOLD_SHORT (1u << 29) /* a threshold without this bit has five */

/* Fields that types of Intel's may have, beside code and unit mask. */
static const struct {
    const char *name;
    uint8_t first, last;
} intel[] = {{"edge", 18, 18}, {"tid_en", 19, 19}, {"inv", 23, 23}};

/* Find the fields of a unit's words. A counter that no select controls has the code of its event alone. */
static void fields_find(const struct upmu_unit *unit, bool is_amd, struct unit_fields *out_fields)
{
    const struct upmu_unit_type *type = upmu_perf_unit_pmu(unit)->type;
    uint64_t code = upmu_perf_unit_is_reading(unit) ? 0xffu : 0xffffu;
    uint64_t mask = type->style == UPMU_UNIT_FREE ? code : type->select_mask, above = mask >> 32;
    bool is_stack = !is_amd && (above == STACK_SKX || above == STACK_SNR);
    bool is_short = !is_amd && !(mask & THRESHOLD_SHORT);
    struct unit_field *field;

    out_fields->count = 0;
    field = field_add(out_fields, "event", 0);
    range_add(field, mask | 0xffu, 0, 7);
    if (is_amd) {
        range_add(field, mask, 32, 37);
        range_add(field, mask, 59, 60);
    }
    if ((mask & 0xff00u) == OCCUPANCY) {
        field_maybe(out_fields, "occ_sel", mask, 14, 15);
    } else if (mask & 0xff00u) {
        field = field_add(out_fields, is_amd && (mask & 0xff00u) == READ_WRITE ? "rdwrmask" : "umask", 0);
        range_add(field, mask, 8, 15);
        range_add(field, is_stack ? 0 : mask, is_amd ? 24 : 32, is_amd ? 27 : 63);
    }
    for (unsigned i = 0; !is_amd && i < sizeof intel / sizeof *intel; i++)
        field_maybe(out_fields, intel[i].name, mask, intel[i].first, intel[i].last);
    if (!is_amd)
        field_maybe(out_fields, "thresh", mask, 24, is_short ? 28 : is_stack ? 35 : 31);
    if (is_short) {
        field_maybe(out_fields, "occ_invert", mask, 30, 30);
        field_maybe(out_fields, "occ_edge", mask, 31, 31);
    }
    if (is_stack) {
        field_maybe(out_fields, "ch_mask", mask, 36, above == STACK_SKX ? 43 : 47);
        field_maybe(out_fields, "fc_mask", mask, above == STACK_SKX ? 44 : 48, above == STACK_SKX ? 46 : 50);
    }
    if (type->filters)
        range_add(field_add(out_fields, "filter", 1), ~UINT64_C(0), 0, 63);
    if (type->filters > 1u)
        range_add(field_add(out_fields, "filter2", 2), ~UINT64_C(0), 0, 63);
}

static void emit_field(const struct upmu_perf_folder *folder, const struct unit_field *field)
{
    static const char *const words[] = {"config:", "config1:", "config2:"};
    struct upmu_perf_text path = {.length = 0}, text = {.length = 0};

    upmu_perf_text_add(&path, "format/");
    upmu_perf_text_add(&path, field->name);
    upmu_perf_text_add(&text, words[field->word]);
    for (unsigned i = 0; i < field->ranges; i++) {
        if (i)
            upmu_perf_text_add(&text, ",");
        upmu_perf_text_add_digits(&text, field->range[i].first);
        if (field->range[i].last == field->range[i].first)
            continue;
        upmu_perf_text_add(&text, "-");
        upmu_perf_text_add_digits(&text, field->range[i].last);
    }
    upmu_perf_text_add(&text, "\n");
    upmu_perf_folder_add(folder, path.bytes, text.bytes);
}

/* ---- Events ---- */

static void text_add_short_hex(struct upmu_perf_text *text, uint64_t value)
{
    unsigned digits = 2;

    while (digits < 16u && value >> 4u * digits)
        digits++;
    upmu_perf_text_add(text, "=0x");
    while (digits--) {
        const char digit[] = {"0123456789abcdef"[value >> 4u * digits & 15u], 0};

        upmu_perf_text_add(text, digit);
    }
}

/* Add the fields of an event's words, as "event=0x04,umask=0x03". Returns false: the event is more than its fields. */
static bool text_add_fields(struct upmu_perf_text *text, const struct upmu_pmu *pmu, const struct unit_fields *fields,
                            const struct upmu_event *event)
{
    uint64_t rest[] = {event->config, event->config1, event->config2};
    struct upmu_event again;

    for (unsigned i = 0; i < fields->count; i++) {
        const struct unit_field *field = &fields->field[i];
        uint64_t value = 0;
        unsigned shift = 0;

        for (unsigned k = 0; k < field->ranges; k++) {
            unsigned width = field->range[k].last - field->range[k].first + 1u;
            uint64_t ones = upmu_bits_ones(width);

            value |= (rest[field->word] >> field->range[k].first & ones) << shift;
            rest[field->word] &= ~(ones << field->range[k].first);
            shift += width;
        }
        if (!value && i)
            continue;
        upmu_perf_text_add(text, i ? "," : "");
        upmu_perf_text_add(text, field->name);
        text_add_short_hex(text, value);
    }
    upmu_perf_text_add(text, "\n");
    return upmu_event_raw(pmu, event->config & ~rest[0], event->config1 & ~rest[1], event->config2 & ~rest[2],
                          &again) == UPMU_OK &&
           again.config == event->config && again.config1 == event->config1 && again.config2 == event->config2;
}

/* Add a fraction as a decimal number, with as many digits as it has; at most 40, and a denominator below 2^32. */
static void text_add_fraction(struct upmu_perf_text *text, uint32_t numerator, uint32_t denominator)
{
    uint64_t rest, whole = upmu_divide(numerator, denominator, &rest);

    upmu_perf_text_add_digits(text, (int64_t)whole);
    for (unsigned i = 0; rest && i < 40u; i++) {
        upmu_perf_text_add(text, i ? "" : ".");
        upmu_perf_text_add_digits(text, (int64_t)upmu_divide(10u * rest, denominator, &rest));
    }
    upmu_perf_text_add(text, "\n");
}

/* Emit what a count of an event of energy stands for. Other counts stand for themselves. */
static void emit_scale(const struct upmu_perf_folder *folder, const struct upmu_event *event,
                       const struct upmu_perf_text *path)
{
    struct upmu_perf_text file = *path, text = {.length = 0};
    struct upmu_unit_scale scale;

    if (!upmu_unit_scale(folder->unit, event, &scale) || scale.measure[0] != 'J')
        return;
    text_add_fraction(&text, scale.multiplier, scale.divisor);
    upmu_perf_text_add(&file, ".scale");
    upmu_perf_folder_add(folder, file.bytes, text.bytes);
    file = *path;
    upmu_perf_text_add(&file, ".unit");
    upmu_perf_folder_add(folder, file.bytes, "Joules\n");
}

#define LONGEST_NAME 80u /* a path with a longer one does not fit into a text; its event has no file */

static void unit_emit_events(const struct upmu_perf_folder *folder, const struct unit_fields *fields)
{
    struct upmu_event_id id;
    char name[LONGEST_NAME];
    uint32_t cursor = 0;
    bool alias;

    while (folder->pmu->catalog && upmu_catalog_next(folder->pmu->catalog, NULL, &cursor, &id, name, sizeof name,
                                                     &alias) == UPMU_OK) {
        struct upmu_perf_text path = {.length = 0}, text = {.length = 0};
        struct upmu_event event;

        if (alias || upmu_event_parse(folder->pmu, name, &event, NULL) != UPMU_OK ||
            !text_add_fields(&text, folder->pmu, fields, &event))
            continue;
        upmu_perf_text_add(&path, "events/");
        upmu_perf_text_add(&path, name);
        for (char *at = path.bytes; *at; at++)
            if (*at == ':')
                *at = '.'; /* perf takes no colon as a part of a name */
        upmu_perf_folder_add(folder, path.bytes, text.bytes);
        emit_scale(folder, &event, &path);
    }
}

static void emit_unit(const struct upmu_perf_folder *folder, unsigned type, bool is_amd)
{
    struct upmu_perf_text text = {.length = 0};
    struct unit_fields fields;

    upmu_perf_text_add_digits(&text, type);
    upmu_perf_text_add(&text, "\n");
    upmu_perf_folder_add(folder, "type", text.bytes);
    upmu_perf_folder_cpus(folder, "cpumask");
    fields_find(folder->unit, is_amd, &fields);
    for (unsigned i = 0; i < fields.count; i++)
        emit_field(folder, &fields.field[i]);
    unit_emit_events(folder, &fields);
}

void upmu_perf_unit_files(const struct upmu_perf *perf, upmu_perf_emit *emit)
{
    const struct upmu_pmu *core = upmu_machine_pmu(perf->machine, 0);

    for (unsigned i = 0; i < perf->unit_count; i++) {
        const struct upmu_unit *unit = upmu_perf_unit_first(perf, i);
        struct upmu_perf_text name;
        struct upmu_perf_folder folder = {.perf = perf, .emit = emit, .unit = unit, .name = name.bytes};

        if (!unit)
            continue;
        folder.pmu = unit->meter.pmu;
        upmu_perf_unit_name(perf, unit, &name);
        emit_unit(&folder, UPMU_PERF_TYPE_UNIT + i, core && upmu_pmu_is_amd(core));
    }
}

#else

void upmu_perf_unit_files(const struct upmu_perf *perf, upmu_perf_emit *emit)
{
    (void)perf;
    (void)emit;
}

#endif
