/* SPDX-License-Identifier: MIT */
/*
 * The files that programs read about units outside the cores: CPUs that drive them, fields of their words, events of
 * their catalogue in these fields, and what a count stands for.
 *
 * Fields are those of texts of events (upmu_uncore_field()), and so what the library accepts.
 */
#include "abi/perf/perf_core.h"
#include <upmu/abi.h>
#include <upmu/catalogs.h>

#if UPMU_UNCORE

/* ---- Fields ---- */

/* Return how many bits of a mask follow each other from bit `first` on, which is set. */
static unsigned run_of(uint64_t bits, unsigned first)
{
    unsigned length = 1;

    while (first + length < 64u && bits >> (first + length) & 1u)
        length++;
    return length;
}

static void emit_field(const struct upmu_perf_folder *folder, const struct upmu_unit_field *field)
{
    static const char *const words[] = {"config:", "config1:", "config2:"};
    struct upmu_perf_text path = {.length = 0}, text = {.length = 0};

    upmu_perf_text_add(&path, "format/");
    upmu_perf_text_add(&path, field->name);
    for (uint64_t rest = field->bits; rest;) {
        unsigned first = upmu_bits_lowest64(rest), length = run_of(rest, first);

        upmu_perf_text_add(&text, rest == field->bits ? words[field->word] : ",");
        upmu_perf_text_add_digits(&text, first);
        if (length > 1u) {
            upmu_perf_text_add(&text, "-");
            upmu_perf_text_add_digits(&text, first + length - 1u);
        }
        rest &= ~(upmu_bits_ones(length) << first);
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

/* Take the bits of a field out of the words of an event.  Returns the value of the field. */
static uint64_t field_take(const struct upmu_unit_field *field, uint64_t *words)
{
    uint64_t value = 0, rest = field->bits;

    for (unsigned shift = 0; rest; shift++, rest &= rest - 1u)
        value |= (words[field->word] >> upmu_bits_lowest64(rest) & 1u) << shift;
    words[field->word] &= ~field->bits;
    return value;
}

/* Add the fields of an event's words, as "event=0x04,umask=0x03". Returns false: the event is more than its fields. */
static bool text_add_fields(struct upmu_perf_text *text, const struct upmu_pmu *pmu, const struct upmu_event *event)
{
    uint64_t rest[] = {event->config, event->config1, event->config2};
    struct upmu_unit_field field;
    struct upmu_event again;

    for (unsigned i = 0; upmu_uncore_field(pmu, i, &field); i++) {
        uint64_t value = field_take(&field, rest);

        if (!value && i)
            continue;
        upmu_perf_text_add(text, i ? "," : "");
        upmu_perf_text_add(text, field.name);
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

static void unit_emit_events(const struct upmu_perf_folder *folder)
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
            !text_add_fields(&text, folder->pmu, &event))
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

static void emit_unit(const struct upmu_perf_folder *folder, unsigned type)
{
    struct upmu_perf_text text = {.length = 0};
    struct upmu_unit_field field;

    upmu_perf_text_add_digits(&text, type);
    upmu_perf_text_add(&text, "\n");
    upmu_perf_folder_add(folder, "type", text.bytes);
    upmu_perf_folder_cpus(folder, "cpumask");
    for (unsigned i = 0; upmu_uncore_field(folder->pmu, i, &field); i++)
        emit_field(folder, &field);
    unit_emit_events(folder);
}

void upmu_perf_unit_files(const struct upmu_perf *perf, upmu_perf_emit *emit)
{
    for (unsigned i = 0; i < perf->unit_count; i++) {
        const struct upmu_unit *unit = upmu_perf_unit_first(perf, i);
        struct upmu_perf_text name;
        struct upmu_perf_folder folder = {.perf = perf, .emit = emit, .unit = unit, .name = name.bytes};

        if (!unit)
            continue;
        folder.pmu = unit->meter.pmu;
        upmu_perf_unit_name(perf, unit, &name);
        emit_unit(&folder, UPMU_PERF_TYPE_UNIT + i);
    }
}

#else

void upmu_perf_unit_files(const struct upmu_perf *perf, upmu_perf_emit *emit)
{
    (void)perf;
    (void)emit;
}

#endif
