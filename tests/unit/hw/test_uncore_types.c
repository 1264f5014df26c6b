/* SPDX-License-Identifier: MIT */
/*
 * Types of units against what was collected about the hardware (tests/common/uncore_map.h, which knows nothing of the
 * library's tables): every register of every box, PCI functions, widths, bits of selects, counters of events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "backends/uncore/uncore_tables.h"
#include "core/util/bits.h"
#include "tests/common/uncore_map.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

/* "SKX" and "skx_uncore" */
static bool names_catalog(const char *generation, const char *catalog)
{
    size_t length = strlen(generation);

    if (!catalog || strcmp(catalog + length, "_uncore"))
        return false;
    for (size_t i = 0; i < length; i++)
        if ((generation[i] | 0x20) != catalog[i] && generation[i] != catalog[i])
            return false;
    return true;
}

/* The type of a box; `nth` of those with the name.  -1: there is none. */
static int make(struct upmu_uncore_pmu *pmu, const char *generation, const char *box)
{
    for (unsigned g = 0; g < upmu_uncore_generation_count; g++) {
        const struct upmu_uncore_generation *is = &upmu_uncore_generations[g];

        if (!names_catalog(generation, &upmu_uncore_text[is->catalog]))
            continue;
        for (unsigned row = is->first; row < is->first + (unsigned)is->rows; row++) {
            if (upmu_uncore_rows[row].rule == UPMU_UNCORE_RULE_TABLE ||
                upmu_uncore_rows[row].rule == UPMU_UNCORE_RULE_BROKEN)
                continue;
            upmu_uncore_make(g, row, NULL, pmu);
            if (!strcmp(pmu->type->name, box))
                return (int)row;
        }
    }
    return -1;
}

static uint64_t address_of(const struct upmu_uncore_pmu *pmu, unsigned row, uint64_t base, uint64_t second)
{
    const struct upmu_register_class *class = &pmu->table.classes[pmu->row[row].class_index];
    uint64_t address = pmu->row[row].address;

    if (class->kind == UPMU_KIND_AUX)
        return address;
    return (uint32_t)(address + (class->second ? second : base));
}

/* Registers of one list, "e01 e02", or "-". */
static unsigned parse(const char **text, uint64_t out[32])
{
    unsigned count = 0;

    while (**text && **text != '|') {
        char *end;

        if (**text == '-' || **text == ' ') {
            (*text)++;
            continue;
        }
        out[count++] = strtoull(*text, &end, 16);
        *text = end;
    }
    if (**text)
        (*text)++;
    return count;
}

static const struct {
    const char *generation, *box, *reason;
} unlike[] = {
    {"NHM", "uncore", "its global enable register is no box control in the map"},
    {"SNB", "cbox", "the fixed counter is a type of its own"},
    {"IVB", "cbox", "the fixed counter is a type of its own"},
    {"HSW", "cbox", "the fixed counter is a type of its own"},
    {"BDW", "cbox", "the fixed counter is a type of its own"},
    {"SKL", "cbox", "the fixed counter is a type of its own"},
};

static const char *why_unlike(const char *generation, const char *box)
{
    for (size_t i = 0; i < LENGTH(unlike); i++)
        if (!strcmp(unlike[i].generation, generation) && !strcmp(unlike[i].box, box))
            return unlike[i].reason;
    return NULL;
}

static unsigned differences;

static void differ(const char *generation, const char *box, unsigned unit, const char *what, uint64_t is,
                   uint64_t is_not)
{
    printf("%s %s %u: %s %#llx, not %#llx\n", generation, box, unit, what, (unsigned long long)is,
           (unsigned long long)is_not);
    differences++;
}

static void compare(const char *generation, const char *box, unsigned unit, const char *what, uint64_t is,
                    uint64_t expected)
{
    if (is != expected)
        differ(generation, box, unit, what, is, expected);
}

static void every_register_of_every_box_is_where_the_hardware_has_it(void **state)
{
    static struct upmu_uncore_pmu pmu;
    unsigned boxes = 0, registers = 0;

    (void)state;
    differences = 0;
    for (size_t i = 0; i < LENGTH(uncore_msrs); i++) {
        const char *generation = uncore_msrs[i].generation, *box = uncore_msrs[i].box, *text = uncore_msrs[i].registers;
        int row = make(&pmu, generation, box);
        unsigned unit = uncore_msrs[i].unit, counts[6], filters;
        uint64_t base, second, lists[6][32];

        if (row < 0) {
            differ(generation, box, unit, "type", 0, 1);
            continue;
        }
        base = upmu_uncore_base(&upmu_uncore_rows[row], unit);
        second = upmu_uncore_second_base(&upmu_uncore_rows[row], unit);
        for (unsigned k = 0; k < 6; k++)
            counts[k] = parse(&text, lists[k]);
        if (why_unlike(generation, box) && strcmp(box, "uncore"))
            counts[3] = counts[4] = 0;
        compare(generation, box, unit, "unit", unit < upmu_uncore_rows[row].most, 1);
        if (counts[0] && pmu.type->style != UPMU_UNIT_SELECT)
            compare(generation, box, unit, "control", address_of(&pmu, 0, base, second), lists[0][0]);
        compare(generation, box, unit, "counters", pmu.type->counters, counts[2]);
        for (unsigned k = 0; k < pmu.type->counters && k < counts[2]; k++) {
            if (counts[1])
                compare(generation, box, unit, "select", address_of(&pmu, pmu.pmu.counter[k].select_row, base, second),
                        lists[1][k]);
            compare(generation, box, unit, "counter", address_of(&pmu, pmu.pmu.counter[k].value_row, base, second),
                    lists[2][k]);
        }
        compare(generation, box, unit, "fixed", pmu.type->fixed_width != 0, counts[4]);
        if (counts[4]) {
            const struct upmu_counter *fixed = &pmu.pmu.counter[UPMU_FIXED_COUNTER(0)];

            if (counts[3])
                compare(generation, box, unit, "fixed select", address_of(&pmu, fixed->select_row, base, second),
                        lists[3][0]);
            compare(generation, box, unit, "fixed counter", address_of(&pmu, fixed->value_row, base, second),
                    lists[4][0]);
        }
        filters = pmu.type->filters;
        if (strcmp(generation, "NHM"))
            compare(generation, box, unit, "filters", filters, counts[5]);
        for (unsigned k = 0; k < counts[5] && k < filters; k++)
            compare(generation, box, unit, "filter", (uint32_t)(base + pmu.type->filter[k]), lists[5][k]);
        boxes++;
        for (unsigned k = 0; k < 6; k++)
            registers += counts[k];
    }
    printf("%u boxes, %u registers\n", boxes, registers);
    assert_true(boxes > 250 && registers > 2000);
    assert_int_equal(differences, 0);
}

/* (AMD's manuals: 6 to 9 and then from 16 on; 10 to 15.) */
static void counters_have_the_numbers_that_rdpmc_takes(void **state)
{
    static struct upmu_uncore_pmu pmu;

    (void)state;
    assert_compare(make(&pmu, "ZEN4", "df"), >=, 0);
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(pmu.pmu.counter[i].rdpmc, i < 4 ? 6 + i : 12 + i, i);
    assert_compare(make(&pmu, "ZEN4", "l3"), >=, 0);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(pmu.pmu.counter[i].rdpmc, 10 + i, i);
    assert_compare(make(&pmu, "ZEN4", "umc"), >=, 0);
    assert_int_equal(pmu.pmu.counter[0].rdpmc, UPMU_NO_RDPMC);
    assert_compare(make(&pmu, "SKX", "cha"), >=, 0);
    assert_int_equal(pmu.pmu.counter[0].rdpmc, UPMU_NO_RDPMC);
}

/* Intel's guides; a box whose further counters are not offered is not reset: they may be in use. */
static void bits_of_box_control_are_those_of_the_style(void **state)
{
    static const struct {
        const char *generation, *box;
        uint32_t idle, freeze, reset;
    } boxes[] = {
        {"SNBEP", "cbox", 0x10000, 0x100, 3},
        {"IVBEP", "imc", 0, 0x100, 3},
        {"HSX", "imc", 0x10000, 0x100, 3},
        {"SKX", "cha", 0, 0x100, 3},
        {"HSX", "irp", 0x10000, 0x100, 0},
        {"SPR", "upi", 0, 1, 0x300},
        {"SPR", "m3upi", 0, 1, 0},
        {"ADL", "imc", 0, 1, 0},
        {"SNB", "arb", 0x20000000, 0, 0},
        {"ICL", "arb", 0, 0, 0},
        {"SKX", "ubox", 0, 0, 0},
    };
    static struct upmu_uncore_pmu pmu;

    (void)state;
    for (size_t i = 0; i < LENGTH(boxes); i++) {
        assert_compare(make(&pmu, boxes[i].generation, boxes[i].box), >=, 0, i);
        assert_int_equal(pmu.type->control_idle, boxes[i].idle, i);
        assert_int_equal(pmu.type->freeze, boxes[i].freeze, i);
        assert_int_equal(pmu.type->reset, boxes[i].reset, i);
    }
}

/* Sources disagree about all but the first counter. */
static bool first_counter_only(const char *generation, const char *box)
{
    static const char *const boxes[][2] = {
        {"HSX", "irp"}, {"BDX", "irp"}, {"LNL", "hbo"}, {"LNL", "sncu"}, {"SPR", "m3upi"}};

    for (size_t i = 0; i < LENGTH(boxes); i++)
        if (!strcmp(boxes[i][0], generation) && !strcmp(boxes[i][1], box))
            return true;
    return false;
}

static void offsets_widths_and_bits_of_selects_are_those_of_the_hardware(void **state)
{
    static struct upmu_uncore_pmu pmu;
    unsigned types = 0;

    (void)state;
    differences = 0;
    for (size_t i = 0; i < LENGTH(uncore_offsets); i++) {
        const char *generation = uncore_offsets[i].generation, *box = uncore_offsets[i].box;
        unsigned fewer = first_counter_only(generation, box) ? 1 : uncore_offsets[i].counters,
                 width = uncore_offsets[i].width;
        uint64_t mask = uncore_offsets[i].mask;
        uint32_t control;

        if (make(&pmu, generation, box) < 0)
            continue;
        if (!strcmp(box, "r3qpi"))
            width = 44; /* LIKWID has 44 where Linux has 48 */
        control = pmu.type->control;
        compare(generation, box, 0, "control", control, uncore_offsets[i].control);
        compare(generation, box, 0, "select", pmu.type->select, uncore_offsets[i].select);
        compare(generation, box, 0, "counter", pmu.type->counter, uncore_offsets[i].counter);
        compare(generation, box, 0, "counters", pmu.type->counters, fewer);
        compare(generation, box, 0, "width", pmu.type->width, width);
        if (fewer > 1)
            compare(generation, box, 0, "select step", pmu.type->select_step, uncore_offsets[i].select_step);
        if (fewer > 1 && uncore_offsets[i].counter_step)
            compare(generation, box, 0, "counter step", pmu.type->counter_step, uncore_offsets[i].counter_step);
        if (uncore_offsets[i].fixed_select) {
            compare(generation, box, 0, "fixed select", pmu.type->fixed_select, uncore_offsets[i].fixed_select);
            compare(generation, box, 0, "fixed counter", pmu.type->fixed_counter, uncore_offsets[i].fixed_counter);
        }
        compare(generation, box, 0, "mask", pmu.type->select_mask, mask);
        types++;
    }
    printf("%u types\n", types);
    assert_compare(types, >=, 30);
    assert_int_equal(differences, 0);
}

/* Rows of PCI functions, the last with the functions of the filters. */
static void every_function_is_known_by_its_device_and_place(void **state)
{
    static struct upmu_uncore_pmu pmu;
    unsigned functions = 0;

    (void)state;
    differences = 0;
    for (size_t i = 0; i < LENGTH(uncore_functions); i++) {
        const char *generation = uncore_functions[i].generation, *box = uncore_functions[i].box;
        bool filter = !strcmp(box, "qpi_filter");
        unsigned unit = uncore_functions[i].unit;
        const uint16_t *words;
        int row;

        row = make(&pmu, generation, filter ? "qpi" : box);
        if (row < 0) {
            differ(generation, box, unit, "type", 0, 1);
            continue;
        }
        words = filter ? upmu_uncore_second(&upmu_uncore_rows[row]) : &upmu_uncore_words[upmu_uncore_rows[row].words];
        if (filter)
            compare(generation, box, unit, "unit", unit < *words++, 1);
        else
            compare(generation, box, unit, "unit", unit < upmu_uncore_rows[row].most, 1);
        compare(generation, box, unit, "device", words[2 * unit], uncore_functions[i].device);
        /* (Those of Sapphire Rapids' links are where no table says it rightly.) */
        if (strcmp(generation, "SPR"))
            compare(generation, box, unit, "place", words[2 * unit + 1], uncore_functions[i].where);
        functions++;
    }
    printf("%u functions\n", functions);
    assert_compare(functions, >, 80);
    assert_int_equal(differences, 0);
}

/* What the sources allow, together. */
static unsigned allowed(const char *generation, const char *box, unsigned code, unsigned all)
{
    for (size_t i = 0; i < LENGTH(uncore_constraints); i++)
        if (!strcmp(uncore_constraints[i].generation, generation) && !strcmp(uncore_constraints[i].box, box) &&
            (code & uncore_constraints[i].mask) == uncore_constraints[i].code)
            all &= uncore_constraints[i].counters & uncore_constraints[i].intel;
    return all;
}

static bool finish(const struct upmu_uncore_pmu *pmu, unsigned code, struct upmu_event *event)
{
    memset(event, 0, sizeof *event);
    event->config = code;
    event->attributes = UPMU_ATTR_RAW;
    return upmu_uncore_finish(&pmu->pmu, event) == UPMU_OK;
}

struct pair {
    const struct upmu_uncore_pmu *pmu;
    const struct upmu_event *event[2];
};

static bool way(const void *context, unsigned request, unsigned i, struct upmu_alternative *out)
{
    const struct pair *pair = context;

    return upmu_uncore_alternative(&pair->pmu->pmu, pair->event[request], 0, i, out);
}

/* Are two events with filters of 0 placed together exactly if they have two different counters? */
static unsigned place_pairs(const struct upmu_uncore_pmu *pmu, const char *generation, const char *box)
{
    static struct upmu_place_work work;
    static struct upmu_event event[256];
    unsigned all = pmu->pmu.general, pairs = 0, may[256];
    bool is_event[256];

    for (unsigned code = 0; code < 256; code++) {
        may[code] = allowed(generation, box, code, all);
        is_event[code] = finish(pmu, code, &event[code]);
    }
    for (unsigned a = 0; a < 256; a++)
        for (unsigned b = a; b < 256; b++) {
            unsigned first = may[a], second = may[b];
            struct upmu_place_result result[2];
            struct pair pair = {pmu, {&event[a], &event[b]}};
            struct upmu_place_input input = {.alternative = way,
                                             .context = &pair,
                                             .request_count = 2,
                                             .counters = pmu->pmu.counters,
                                             .preference = pmu->pmu.preference,
                                             .preference_count = pmu->pmu.preference_count};
            bool fit = (first & ~second) || (second & ~first) || (first & (first - 1));

            /* One of all pairs with the same counters is enough, but for codes that are limited. */
            if ((first == all && second == all && (a || b > 1)) || !is_event[a] || !is_event[b])
                continue;
            if ((upmu_requests_place(&input, &work, result, NULL) == UPMU_OK) != (fit && first && second))
                differ(generation, box, a << 8 | b, "pair", !fit, fit);
            pairs++;
        }
    return pairs;
}

static void counters_of_events_are_those_that_all_sources_allow(void **state)
{
    static struct upmu_uncore_pmu pmu;
    unsigned types = 0, codes = 0, pairs = 0;

    (void)state;
    differences = 0;
    for (unsigned g = 0; g < upmu_uncore_generation_count; g++) {
        const struct upmu_uncore_generation *is = &upmu_uncore_generations[g];
        char generation[16] = "";

        for (unsigned i = 0; is->catalog && upmu_uncore_text[is->catalog + i] != '_'; i++)
            generation[i] = (char)(upmu_uncore_text[is->catalog + i] & ~0x20);
        /* Their tables are those of another generation. */
        if (!strcmp(generation, "WSM") || !strcmp(generation, "CLX") || !strcmp(generation, "WSMEX") || !is->catalog)
            continue;
        for (unsigned row = is->first; row < is->first + (unsigned)is->rows; row++) {
            upmu_uncore_make(g, row, NULL, &pmu);
            if (pmu.type->style == UPMU_UNIT_FREE || !pmu.type->counters || !strcmp(generation, "DMR"))
                continue;
            for (unsigned code = 0; code < 256; code++) {
                struct upmu_event event;

                if (!finish(&pmu, code, &event) || (event.counters & UPMU_BIT32(UPMU_FIXED_COUNTER(0))))
                    continue;
                compare(generation, pmu.type->name, code, "counters", event.counters,
                        allowed(generation, pmu.type->name, code, pmu.pmu.general));
                codes++;
            }
            pairs += place_pairs(&pmu, generation, pmu.type->name);
            types++;
        }
    }
    printf("%u types, %u codes, %u pairs\n", types, codes, pairs);
    assert_true(types > 60 && codes > 10000 && pairs > 10000);
    assert_int_equal(differences, 0);
}

/* ---- Bytes of registers ---- */

/* Of a 64-bit counter in configuration space or memory the other half is the register's own, too. */
static unsigned bytes_of(const struct upmu_uncore_pmu *made, unsigned row)
{
    const struct upmu_register_class *class = &made->table.classes[made->row[row].class_index];

    return made->type->space == UPMU_SPACE_MSR ? 1 : class->bits == 32 ? 4 : 8;
}

/* (What a table of discovery says is made up here: only what the row says itself can be wrong.) */
static void no_byte_of_a_box_belongs_to_two_registers(void **state)
{
    static struct upmu_uncore_pmu made;
    unsigned registers = 0;

    (void)state;
    for (unsigned g = 0; g < upmu_uncore_generation_count; g++)
        for (unsigned i = 0; i < upmu_uncore_generations[g].rows; i++) {
            const struct upmu_uncore_row *packed = &upmu_uncore_rows[upmu_uncore_generations[g].first + i];
            struct upmu_uncore_found found = {.space = upmu_uncore_layouts[packed->layout].space,
                                              .counters = 4, .width = 48, .select = 0xa0, .counter = 0x60};

            upmu_uncore_make(g, upmu_uncore_generations[g].first + i,
                             packed->rule == UPMU_UNCORE_RULE_TABLE || packed->rule == UPMU_UNCORE_RULE_BROKEN ||
                             packed->rule == UPMU_UNCORE_RULE_OTHER ? &found : NULL, &made);
            for (unsigned a = 0; a < made.table.row_count; a++, registers++)
                for (unsigned b = 0; b < a; b++) {
                    uint64_t first = made.row[a].address, second = made.row[b].address;
                    bool apart = first >= second + bytes_of(&made, b) || second >= first + bytes_of(&made, a) ||
                                 made.table.classes[made.row[a].class_index].second !=
                                     made.table.classes[made.row[b].class_index].second;

                    if (!apart)
                        printf("%s: registers %u and %u\n", made.pmu.name, a, b);
                    assert_true(apart);
                    assert_true(made.type->space == UPMU_SPACE_MSR || first % 4 == 0);
                }
        }
    assert_compare(registers, >, 2000);
}

/* The boxes of one generation on one die: no MSR and no byte of memory at a fixed place belongs to two of them. */
static void no_register_belongs_to_two_boxes(void **state)
{
    static struct upmu_uncore_pmu made;
    static struct taken {
        uint64_t begin, end;
        unsigned row;
    } taken[4096];

    (void)state;
    for (unsigned g = 0; g < upmu_uncore_generation_count; g++) {
        const struct upmu_uncore_generation *is = &upmu_uncore_generations[g];
        unsigned count = 0;

        for (unsigned row = is->first; row < is->first + (unsigned)is->rows; row++) {
            const struct upmu_uncore_row *packed = &upmu_uncore_rows[row];

            if (packed->rule == UPMU_UNCORE_RULE_TABLE || packed->rule == UPMU_UNCORE_RULE_BROKEN ||
                packed->rule == UPMU_UNCORE_RULE_AMD_UMC)
                continue;
            upmu_uncore_make(g, row, NULL, &made);
            if (made.type->space == UPMU_SPACE_PCI || packed->rule == UPMU_UNCORE_RULE_SERVER_IMC ||
                packed->rule == UPMU_UNCORE_RULE_SERVER_MEM)
                continue;
            for (unsigned n = 0; n < packed->most; n++)
                for (unsigned i = 0; i < made.table.row_count; i++) {
                    const struct upmu_register_class *class = &made.table.classes[made.row[i].class_index];
                    uint64_t base = class->second ? upmu_uncore_second_base(packed, n) : upmu_uncore_base(packed, n);
                    struct taken now = {base + made.row[i].address, 0, row};

                    /* (One register switches on several types.) */
                    if (class->kind == UPMU_KIND_AUX)
                        continue;
                    now.end = now.begin + bytes_of(&made, i);
                    now.begin += (uint64_t)made.type->space << 40;
                    now.end += (uint64_t)made.type->space << 40;
                    for (unsigned k = 0; k < count; k++)
                        if (now.begin < taken[k].end && taken[k].begin < now.end)
                            printf("%s: box %u, register %u: also of row %u\n", made.pmu.name, n, i, taken[k].row);
                    for (unsigned k = 0; k < count; k++)
                        assert_false(now.begin < taken[k].end && taken[k].begin < now.end, k);
                    assert_compare(count, <, LENGTH(taken));
                    taken[count++] = now;
                }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_register_of_every_box_is_where_the_hardware_has_it),
        cmocka_unit_test(offsets_widths_and_bits_of_selects_are_those_of_the_hardware),
        cmocka_unit_test(counters_have_the_numbers_that_rdpmc_takes),
        cmocka_unit_test(bits_of_box_control_are_those_of_the_style),
        cmocka_unit_test(every_function_is_known_by_its_device_and_place),
        cmocka_unit_test(counters_of_events_are_those_that_all_sources_allow),
        cmocka_unit_test(no_byte_of_a_box_belongs_to_two_registers),
        cmocka_unit_test(no_register_belongs_to_two_boxes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
