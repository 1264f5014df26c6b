/* SPDX-License-Identifier: MIT */
/*
 * Which Intel core PMU a CPU has: every model of tests/golden/intel_models.tsv by its
 * CPUID leaves, and unknown models and leaves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"
#include <upmu/upmu.h>

#include "backends/x86_core/x86_core_registers.h"
#include "core/hw/backend.h"
#include "core/util/bits.h"
#include "tests/common/intel_leaves.h"
#include "tests/common/table.h"

#define FIELDS 25

enum {
    FAMILY, MODEL, STEPPING, DUMP, LEAF_EAX, LEAF_EBX, LEAF_ECX, LEAF_EDX, CORE_TYPE, EXT0_EAX, EXT0_EBX, EXT1_EAX,
    EXT1_EBX, EXT3_EAX, FULL_WIDTH, COLON, NAME, VERSION, GENERAL, FIXED, WIDTH, FIXED_WIDTH, EVENTS, METRICS, QUIRKS
};

static const struct {
    const char *name;
    uint32_t bit;
} quirk_names[] = {
    {"prelude", UPMU_X86_QUIRK_PRELUDE}, {"exclusive", UPMU_X86_QUIRK_EXCLUSIVE}, {"hsw11", UPMU_X86_QUIRK_HSW11},
    {"bdm55", UPMU_X86_QUIRK_BDM55},     {"ldlat", UPMU_X86_QUIRK_LDLAT_AUX},     {"cap15", UPMU_X86_QUIRK_NO_CAP_15},
    {"aaj80", UPMU_X86_QUIRK_AAJ80},
};

static uint32_t number(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 0);
}

/* "prelude,aaj80", "-": none */
static uint32_t quirks_of(const char *list)
{
    uint32_t quirks = 0;
    char text[64], *at;

    snprintf(text, sizeof text, "%s", list);
    for (at = strtok(text, ","); at && strcmp(at, "-") != 0; at = strtok(NULL, ",")) {
        unsigned i = 0;

        while (strcmp(quirk_names[i].name, at) != 0)
            assert_compare(++i, <, sizeof quirk_names / sizeof quirk_names[0], i);
        quirks |= quirk_names[i].bit;
    }
    return quirks;
}

static void set_leaves(char *const *field, struct leaves *leaves)
{
    memset(leaves, 0, sizeof *leaves);
    leaves->family = number(field[FAMILY]);
    leaves->model = number(field[MODEL]);
    leaves->stepping = number(field[STEPPING]);
    for (unsigned i = 0; i < 4; i++)
        leaves->perfmon[i] = number(field[LEAF_EAX + i]);
    leaves->core_type = number(field[CORE_TYPE]);
    leaves->extended[0][0] = number(field[EXT0_EAX]);
    leaves->extended[0][1] = number(field[EXT0_EBX]);
    leaves->extended[1][0] = number(field[EXT1_EAX]);
    leaves->extended[1][1] = number(field[EXT1_EBX]);
    leaves->extended[3][0] = number(field[EXT3_EAX]);
    leaves->capabilities = number(field[FULL_WIDTH]) << 13;
    if (number(field[METRICS]) && !strstr(field[QUIRKS], "cap15"))
        leaves->capabilities |= 1u << 15;
}

static void check_registers(const struct upmu_pmu *pmu, char *const *field)
{
    for (uint32_t rest = pmu->counters & 0xffffff; rest; rest &= rest - 1u) {
        unsigned i = upmu_bits_lowest(rest);
        const struct upmu_counter *counter = &pmu->counter[i];
        bool fixed = i >= UPMU_FIXED_COUNTER(0);
        unsigned n = fixed ? i - UPMU_FIXED_COUNTER(0) : i;
        uint32_t block = pmu->version >= 6;

        assert_int_equal(counter->width, number(field[fixed ? FIXED_WIDTH : WIDTH]), fixed);
        assert_int_equal(upmu_register_address(pmu, counter->value_row),
                         fixed ? (block ? 0x1980 + 4 * n : 0x309 + n) : (block ? 0x1900 + 4 * n : 0xc1 + n), n);
        assert_int_equal(upmu_register_address(pmu, counter->select_row),
                         fixed ? 0x38d : (block ? 0x1901 + 4 * n : 0x186 + n), n);
        if (number(field[FAMILY]) == 6 && number(field[MODEL]) == 1 && number(field[STEPPING]) < 9)
            assert_int_equal(counter->rdpmc, UPMU_NO_RDPMC, n); /* erratum 26 */
        else
            assert_int_equal(counter->rdpmc, fixed ? 0x40000000 + n : n, n);
        if (fixed || block || number(field[FULL_WIDTH])) {
            assert_int_equal(counter->write_bits, counter->width);
            assert_int_equal(upmu_register_address(pmu, counter->write_row),
                             fixed || block ? upmu_register_address(pmu, counter->value_row) : 0x4c1 + n, n);
        } else {
            assert_int_equal(counter->write_bits, 32);
            assert_int_equal(counter->write_row, counter->value_row);
        }
        if (pmu->version >= 2) {
            assert_int_equal(upmu_register_address(pmu, counter->gate_row), 0x38f);
            assert_int_equal(counter->gate_bit, fixed ? 32 + n : n, n);
        }
    }
}

static void check_model(char *const *field)
{
    struct upmu_pmu pmu, again;
    struct leaves leaves;

    set_leaves(field, &leaves);
    assert_true(leaves_detect(&leaves, &pmu));
    if (strcmp(pmu.name, field[NAME]) != 0)
        fail_msg("%s_%s %#x is %s, not %s", field[FAMILY], field[MODEL], leaves.core_type, pmu.name, field[NAME]);
    assert_int_equal(pmu.version, number(field[VERSION]));
    assert_int_equal(pmu.general, number(field[GENERAL]));
    assert_int_equal(pmu.counters & 0xffffff, number(field[GENERAL]) | number(field[FIXED]) << 16);
    assert_int_equal(pmu.counters >> 24, (1u << number(field[METRICS])) - 1);
    assert_int_equal(pmu.arch_events, number(field[EVENTS]));
    assert_int_equal(pmu.quirks & ~UPMU_X86_QUIRK_TFA, quirks_of(field[QUIRKS]));
    assert_int_equal(pmu.core_type, leaves.core_type >> 24);
    assert_int_equal(pmu.capabilities & UPMU_PMU_ANYTHREAD,
                     pmu.version >= 3 && !(leaves.perfmon[3] >> 15 & 1) ? UPMU_PMU_ANYTHREAD : 0);
    check_registers(&pmu, field);
    /* And by name. */
    assert_int_equal(upmu_pmu_by_name(&again, field[NAME]), UPMU_OK);
    assert_string_equal(again.name, pmu.name);
    assert_string_equal(again.title, pmu.title);
    assert_int_equal(again.min_period, pmu.min_period);
    if (strcmp(pmu.name, "ix86arch") == 0)
        return;
    assert_int_equal(again.variant, pmu.variant);
    assert_int_equal(again.counter[0].width, pmu.counter[0].width);
    assert_int_equal(again.shared, pmu.shared);
    assert_int_equal(again.shared_scope, pmu.shared_scope);
}

static void every_model_is_recognised_by_its_leaves(void **state)
{
    FILE *file = source_open("tests/golden/intel_models.tsv");
    char line[512], *field[FIELDS + 1];
    unsigned rows = 0, dumps = 0, seen = 0;
    const char *name;
    char names[4096] = "";

    (void)state;
    for (unsigned fields; (fields = table_row(file, line, sizeof line, field, FIELDS + 1)) != 0; rows++) {
        assert_int_equal(fields, FIELDS + 1);
        dumps += strcmp(field[DUMP], "yes") == 0;
        check_model(field);
        strcat(strcat(strcat(names, " "), field[NAME]), " ");
    }
    fclose(file);
    assert_int_equal(rows, 132);
    assert_compare(dumps, >=, 105);
    /* Each name of this backend belongs to some model. */
    for (unsigned i = 0; (name = upmu_x86_core_backend.names(i)) != NULL; i++, seen++) {
        char padded[16];

        snprintf(padded, sizeof padded, " %s ", name);
        if (!strstr(names, padded))
            fail_msg("no model is called %s", name);
    }
    assert_compare(seen, >=, 44);
}

/* ---- Unknown models ---- */

static void an_unknown_model_has_cpuids_and_architectural_events(void **state)
{
    (void)state;
    for (unsigned version = 1; version < 9; version++)
        for (unsigned family = 6; family < 24; family++) {
            struct leaves leaves = {.family = family, .model = 0xEE};
            struct upmu_event event;
            struct upmu_pmu pmu;

            leaves_perfmon(&leaves, version, 4, version == 1 ? 0 : 3);
            if (family == 11 || family == 15) {
                assert_false(leaves_detect(&leaves, &pmu));
                continue;
            }
            assert_true(leaves_detect(&leaves, &pmu));
            assert_string_equal(pmu.name, "ix86arch");
            assert_int_equal(pmu.counters, version == 1 ? 0xf : 0x7000f);
            upmu_pmu_find_catalog(&pmu);
            assert_int_equal(upmu_event_parse(&pmu, "instructions", &event, NULL), UPMU_OK);
            assert_int_equal(event.counters, version == 1 ? 0xf : 0x1000f);
            /* Codes of one model mean nothing on another. */
            assert_int_equal(upmu_event_raw(&pmu, 0x1b7, 1, 0, &event), UPMU_ERR_NOT_PERMITTED);
            assert_int_equal(upmu_event_raw(&pmu, 0x1b7, 0, 0, &event), UPMU_OK);
        }
}

static void a_hybrid_core_of_an_unknown_kind_is_told_by_its_type(void **state)
{
    static const struct {
        unsigned family, model;
        uint32_t core_type;
        const char *name;
    } cases[] = {
        {6, 0xBD, 0x40000000, "lnc"}, {6, 0xBD, 0x20000000, "skt"}, {6, 0xBD, 0x40000009, "lnc"},
        {6, 0xBD, 0x20000009, "skt"}, {6, 0xBD, 0x30000003, "lnc"}, {18, 0x01, 0x20000000, "awf"},
        {6, 0x97, 0, "adl_glc"},      {6, 0xC5, 0x20000002, "mtl_cmt"},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct leaves leaves = {.family = cases[i].family, .model = cases[i].model, .core_type = cases[i].core_type};
        struct upmu_pmu pmu;

        leaves_perfmon(&leaves, 5, 6, 3);
        assert_true(leaves_detect(&leaves, &pmu));
        assert_string_equal(pmu.name, cases[i].name);
    }
}

/* ---- P6 ---- */

static void p6_has_two_counters_without_a_leaf(void **state)
{
    struct leaves leaves = {.family = 6, .model = 0x08};
    struct upmu_pmu pmu;

    (void)state;
    assert_true(leaves_detect(&leaves, &pmu));
    assert_int_equal(pmu.version, 0);
    assert_int_equal(pmu.counters, 0x3);
    assert_int_equal(pmu.counter[1].width, 40);
    assert_int_equal(pmu.counter[1].write_bits, 32);
    assert_int_equal(pmu.status_row, UPMU_NO_ROW);
    assert_int_equal(pmu.capabilities, 0);
    leaves.hypervisor = true;
    assert_false(leaves_detect(&leaves, &pmu));
    leaves.hypervisor = false;
    leaves.model = 0x02; /* no such P6 */
    assert_false(leaves_detect(&leaves, &pmu));
    leaves.model = 0x0F; /* a Core 2 whose leaf 0Ah is hidden */
    assert_false(leaves_detect(&leaves, &pmu));
}

static void p6_selects_have_no_bit_above_31(void **state)
{
    struct upmu_pmu pmu;

    (void)state;
    assert_int_equal(upmu_pmu_by_name(&pmu, "p6"), UPMU_OK);
    assert_int_equal(pmu.limit[UPMU_X86_CLASS_SELECT] >> 32, 0);
    assert_int_equal(pmu.counter[0].gate_bit, UPMU_X86_P6_GATE);
}

/* ---- Leaves that are no use ---- */

static void leaves_that_promise_nothing_usable_are_no_pmu(void **state)
{
    static const uint32_t eax[] = {0, 0x07300400, 0x07300002, 0x071f0402, 0x07410402};

    (void)state;
    for (unsigned i = 0; i < sizeof eax / sizeof eax[0]; i++) {
        struct leaves leaves = {.family = 6, .model = 0x5E, .perfmon = {eax[i]}, .max_leaf = 0xA};
        struct upmu_pmu pmu;

        assert_false(leaves_detect(&leaves, &pmu));
    }
}

static void counters_beyond_those_there_are_registers_for_are_left_alone(void **state)
{
    struct leaves leaves = {.family = 6, .model = 0xBD, .core_type = 0x40000003};
    struct upmu_pmu pmu;

    (void)state;
    leaves_perfmon(&leaves, 6, 0xff, 31);
    assert_true(leaves_detect(&leaves, &pmu));
    assert_int_equal(pmu.counters & 0xffffff, 0x7f03ff);
    leaves.extended[0][0] = 0xb;
    leaves.extended[1][0] = 0xffffffff;
    leaves.extended[1][1] = 0xffffffff;
    assert_true(leaves_detect(&leaves, &pmu));
    assert_int_equal(pmu.counters & 0xffffff, 0x7f03ff);
    leaves.extended[1][0] = 0; /* a leaf without counters is not believed */
    assert_true(leaves_detect(&leaves, &pmu));
    assert_int_equal(pmu.general, 0x3ff);
}

static void core_2_goes_by_either_name(void **state)
{
    struct upmu_pmu pmu;

    (void)state;
    assert_int_equal(upmu_pmu_by_name(&pmu, "core2"), UPMU_OK);
    assert_string_equal(pmu.name, "core");
    assert_non_null(pmu.catalog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_is_recognised_by_its_leaves),
        cmocka_unit_test(an_unknown_model_has_cpuids_and_architectural_events),
        cmocka_unit_test(a_hybrid_core_of_an_unknown_kind_is_told_by_its_type),
        cmocka_unit_test(p6_has_two_counters_without_a_leaf),
        cmocka_unit_test(p6_selects_have_no_bit_above_31),
        cmocka_unit_test(leaves_that_promise_nothing_usable_are_no_pmu),
        cmocka_unit_test(core_2_goes_by_either_name),
        cmocka_unit_test(counters_beyond_those_there_are_registers_for_are_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
