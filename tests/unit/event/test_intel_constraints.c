/* SPDX-License-Identifier: MIT */
/*
 * Counters and payload registers of the Intel core PMUs: the driver's packed table
 * against the published rows of tests/golden/intel_constraints.tsv, which are
 * evaluated here in the plainest way, for every model and every event code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"
#include <upmu/upmu.h>

#include "backends/x86_core/x86_core.h"
#include "backends/x86_core/x86_core_registers.h"
#include "core/util/bits.h"
#include "core/hw/register.h"
#include "tests/common/share.h"
#include "tests/common/table.h"

#define GOLDEN_ROWS 128
#define USUAL (UPMU_X86_SELECT_USR | UPMU_X86_SELECT_OS)

enum { UMASK_EXACT, UMASK_ALL, UMASK_WITH };

struct golden_row {
    char kind[8];
    unsigned low, high, umask, how;
    char modifiers[8];
    uint32_t counters;
    uint32_t msr;
    uint64_t bits;
};

struct golden_model {
    char pmu[12];
    uint32_t general, fixed;
    int precise, exact;
    unsigned count;
    struct golden_row rows[GOLDEN_ROWS];
};

static struct golden_model models[40];
static unsigned model_count;

static uint64_t number(const char *text)
{
    char *end;
    uint64_t value = strtoull(text, &end, 0);

    if (end == text || *end)
        fail_msg("no number: \"%s\"", text);
    return value;
}

static void take_umask(struct golden_row *row, const char *text)
{
    row->how = strcmp(text, "any") == 0 ? UMASK_ALL : text[0] == '+' ? UMASK_WITH : UMASK_EXACT;
    row->umask = row->how == UMASK_ALL ? 0 : (unsigned)number(text + (row->how == UMASK_WITH));
}

static int read_golden(void **state)
{
    FILE *file = source_open("tests/golden/intel_constraints.tsv");
    char line[256], *field[10];

    (void)state;
    for (unsigned fields; (fields = table_row(file, line, sizeof line, field, 10)) != 0;) {
        struct golden_model *model = model_count ? &models[model_count - 1] : NULL;
        struct golden_row *row = model ? &model->rows[model->count] : NULL;

        if (line[0] == 'P') {
            model = &models[model_count++];
            snprintf(model->pmu, sizeof model->pmu, "%s", field[1]);
            model->general = (uint32_t)number(field[2]);
            model->fixed = (uint32_t)number(field[3]);
            model->precise = (int)number(field[4]);
            model->exact = (int)number(field[5]);
            continue;
        }
        if (!row || model->count == GOLDEN_ROWS || fields < 7)
            return 1;
        model->count++;
        snprintf(row->kind, sizeof row->kind, "%s", field[1]);
        row->low = (unsigned)number(field[2]);
        row->high = (unsigned)number(field[3]);
        take_umask(row, field[4]);
        if (line[0] == 'X') {
            row->msr = (uint32_t)number(field[5]);
            row->bits = number(field[6]);
            snprintf(row->modifiers, sizeof row->modifiers, "any");
        } else {
            snprintf(row->modifiers, sizeof row->modifiers, "%s", field[5]);
            row->counters = (uint32_t)number(field[6]);
            if (field[7][0] != '-')
                row->counters |= 0x10000u << number(field[7]);
        }
    }
    fclose(file);
    return model_count != 31;
}

/* ---- The plain evaluation ---- */

static bool modifiers_match(const struct golden_row *row, uint64_t config)
{
    bool precise = strcmp(row->kind, "pebs") == 0 || strcmp(row->kind, "pdist") == 0;
    uint64_t all = UPMU_X86_SELECT_EDGE | UPMU_X86_SELECT_INV | UPMU_X86_SELECT_CMASK | UPMU_X86_SELECT_IN_TX |
                   UPMU_X86_SELECT_IN_TXCP | (precise ? UPMU_X86_SELECT_ANY : 0);
    uint64_t wanted = 0;

    if (strcmp(row->modifiers, "any") == 0)
        return true;
    if (strncmp(row->modifiers, "inv", 3) == 0)
        wanted = UPMU_X86_SELECT_INV | number(row->modifiers + 3) << 24;
    return (config & all) == wanted;
}

static const struct golden_row *first_row(const struct golden_model *model, const char *kind, uint64_t config)
{
    unsigned code = config & 0xff, umask = config >> 8 & 0xff;

    for (unsigned i = 0; i < model->count; i++) {
        const struct golden_row *row = &model->rows[i];

        if (code < row->low || code > row->high || strcmp(row->kind, kind) != 0)
            continue;
        if (row->how == UMASK_EXACT ? umask != row->umask : row->how == UMASK_WITH && !(umask & row->umask))
            continue;
        if (modifiers_match(row, config))
            return row;
    }
    return NULL;
}

/* Of the counters of a precise event those of its level. */
static uint32_t level_counters(const struct golden_model *model, uint64_t config, unsigned level, uint32_t counters)
{
    const struct golden_row *row = first_row(model, "pdist", config);

    if (level == 2 && !model->exact)
        return 0;
    if (level < 3)
        return counters;
    /* With a fixed counter in it, the row stands for the whole. */
    return !row                  ? 0
           : row->counters >> 16 ? row->counters & (model->general | model->fixed << 16)
                                 : row->counters & counters;
}

static uint32_t plain_counters(const struct golden_model *model, uint64_t config, unsigned level)
{
    uint32_t all = model->general | model->fixed << 16;
    const struct golden_row *row = NULL, *file = first_row(model, "file", config);
    uint32_t counters = config & 0xff ? model->general : 0;

    if (level) {
        /* Linux does not look at the modifiers of some events; a counter with PEBS has neither (SDM 18.4.4). */
        if (config & (UPMU_X86_SELECT_EDGE | UPMU_X86_SELECT_ANY))
            return 0;
        row = first_row(model, "pebs", config);
        if (!row && !model->precise)
            return 0;
    }
    if (!row)
        row = first_row(model, "plain", config);
    if (row)
        counters = row->counters & all;
    if (file)
        counters &= file->counters | 0xffff0000u;
    counters = level_counters(model, config, level, counters);
    return config & UPMU_X86_SELECT_IN_TXCP ? counters & 4 : counters;
}

/* ---- Compared ---- */

/* The model with all the general counters that its rows speak of (hyper-threading off). */
static void describe(const struct golden_model *model, struct upmu_pmu *pmu)
{
    assert_int_equal(upmu_pmu_by_name(pmu, model->pmu), UPMU_OK);
    pmu->general = model->general;
    pmu->counters = model->general | (pmu->counters & 0xffff0000u);
    assert_int_equal(pmu->counters >> 16 & 0xff, model->fixed);
}

static uint64_t compare(const struct golden_model *model, const struct upmu_pmu *pmu, uint64_t config)
{
    for (unsigned level = 0; level < 4; level++) {
        struct upmu_event event;
        uint32_t wanted = plain_counters(model, config, level), counters;

        memset(&event, 0, sizeof event);
        event.config = config | USUAL;
        event.attributes = level << UPMU_ATTR_PRECISE_SHIFT;
        counters = upmu_x86_core_counters(pmu, &event);
        if ((config & 0xf8ff) == 0x8000) /* the bytes of PERF_METRICS: no row here */
            counters &= 0xffffff;
        if (counters != wanted)
            fail_msg("%s %#llx level %u: %#x, published: %#x", model->pmu, (unsigned long long)config, level, counters,
                     wanted);
    }
    return 4;
}

static void every_event_of_every_model_gets_the_published_counters(void **state)
{
    static const uint64_t modifiers[] = {0,
                                         UPMU_X86_SELECT_EDGE,
                                         UPMU_X86_SELECT_INV | UINT64_C(16) << 24,
                                         UPMU_X86_SELECT_INV | UINT64_C(10) << 24,
                                         UPMU_X86_SELECT_INV | UINT64_C(1) << 24,
                                         UPMU_X86_SELECT_ANY,
                                         UPMU_X86_SELECT_IN_TX,
                                         UPMU_X86_SELECT_IN_TXCP};
    unsigned step = share_step(share_few(1, 3), 7);
    uint64_t compared = 0;

    (void)state;
    for (unsigned m = 0; m < model_count; m++) {
        struct upmu_pmu pmu;

        describe(&models[m], &pmu);
        /* (65,536 codes and unit masks: the share wanders from model to model.) */
        for (uint64_t config = m % step; config < 0x10000; config += step)
            compared += compare(&models[m], &pmu, config);
        for (unsigned i = 0; i < models[m].count; i++)
            for (unsigned k = 1; k < sizeof modifiers / sizeof modifiers[0]; k++)
                for (unsigned off = 0; off < 3; off++)
                    compared += compare(&models[m], &pmu,
                                        models[m].rows[i].low | ((models[m].rows[i].umask + off) & 0xff) << 8 |
                                            modifiers[k]);
    }
    print_message("    %llu events compared: one code of %u%s\n", (unsigned long long)compared, step,
                  step > 1 ? " (make soak: each)" : "");
}

/* Select bits that came with version 6 make another event of it: no fixed counter counts that. */
static void further_unit_mask_bits_and_equality_are_modifiers(void **state)
{
    struct upmu_event event;
    struct upmu_pmu pmu;

    (void)state;
    assert_int_equal(upmu_pmu_by_name(&pmu, "lnc"), UPMU_OK);
    assert_int_equal(upmu_event_raw(&pmu, 0xc0, 0, 0, &event), UPMU_OK);
    assert_int_equal(event.counters, 0x103ff);
    assert_int_equal(upmu_event_raw(&pmu, 0xc0 | UINT64_C(1) << 40, 0, 0, &event), UPMU_OK);
    assert_int_equal(event.counters, 0x3ff);
    assert_int_equal(upmu_event_raw(&pmu, 0xc0 | UPMU_X86_SELECT_EQ | 1u << 24, 0, 0, &event), UPMU_OK);
    assert_int_equal(event.counters, 0x3ff);
    assert_int_equal(upmu_pmu_by_name(&pmu, "icl"), UPMU_OK);
    assert_int_equal(upmu_event_raw(&pmu, 0xc0 | UINT64_C(1) << 40, 0, 0, &event), UPMU_ERR_NOT_PERMITTED);
    assert_int_equal(upmu_event_raw(&pmu, 0xc0 | UPMU_X86_SELECT_EQ, 0, 0, &event), UPMU_ERR_NOT_PERMITTED);
}

/* ---- Payload registers ---- */

static void every_payload_register_takes_the_published_bits_alone(void **state)
{
    unsigned rows = 0;

    (void)state;
    for (unsigned m = 0; m < model_count; m++) {
        struct upmu_pmu pmu;

        describe(&models[m], &pmu);
        for (unsigned i = 0; i < models[m].count; i++) {
            const struct golden_row *row = &models[m].rows[i];
            struct upmu_alternative alternative;
            struct upmu_event event;

            if (strcmp(row->kind, "extra") != 0)
                continue;
            rows++;
            assert_int_equal(upmu_event_raw(&pmu, row->low | row->umask << 8, row->bits, 0, &event), UPMU_OK);
            assert_true(pmu.backend->alternative(&pmu, &event, 0, 0, &alternative));
            assert_int_equal(alternative.slot[0].resource_count, 1);
            assert_int_equal(alternative.slot[0].value[0], row->bits);
            assert_int_equal(
                upmu_register_address(&pmu, pmu.backend->resource_row(&pmu, alternative.slot[0].resource[0])),
                row->msr);
            for (unsigned bit = 0; bit < 64; bit++)
                if (!(row->bits >> bit & 1))
                    assert_int_equal(upmu_event_raw(&pmu, row->low | row->umask << 8,
                                                    (row->bits & 0xffff) | UINT64_C(1) << bit, 0, &event),
                                     UPMU_ERR_NOT_PERMITTED);
        }
    }
    assert_int_equal(rows, 127);
}

static void an_event_without_payload_takes_none(void **state)
{
    (void)state;
    for (unsigned m = 0; m < model_count; m++) {
        struct upmu_event event;
        struct upmu_pmu pmu;

        describe(&models[m], &pmu);
        assert_int_equal(upmu_event_raw(&pmu, 0xc0, 1, 0, &event), UPMU_ERR_NOT_PERMITTED);
        assert_int_equal(upmu_event_raw(&pmu, 0xc0, 0, 0, &event), UPMU_OK);
        assert_int_equal(event.payload, 0);
    }
}

/* Offcore responses: the other register and the code or unit mask that goes with it. */
static void offcore_responses_have_two_registers_with_the_models_codes(void **state)
{
    static const struct {
        const char *pmu;
        unsigned code0, code1; /* code1 0: there is no second register */
        uint64_t both, first;  /* payload that both take; that only the first takes, or 0 */
    } cases[] = {
        {"nhm", 0x1b7, 0, 0x1, 0},
        {"wsm", 0x1b7, 0x1bb, 0x1, 0},
        {"snb", 0x1b7, 0x1bb, 0x1, 0},
        {"hsw", 0x1b7, 0x1bb, 0x1, 0},
        {"skl", 0x1b7, 0x1bb, 0x1, 0},
        {"icl", 0x1b7, 0x1bb, 0x1, 0},
        {"spr", 0x12a, 0x12b, 0x1, 0},
        {"adl_glc", 0x12a, 0x12b, 0x1, 0},
        {"lnc", 0x12a, 0x12b, 0x1, 0},
        {"slm", 0x1b7, 0x2b7, 0x1, UINT64_C(1) << 38},
        {"glm", 0x1b7, 0x2b7, 0x1, UINT64_C(1) << 38},
        {"knl", 0x1b7, 0x2b7, 0x1, UINT64_C(1) << 38},
        {"tmt", 0x1b7, 0x2b7, 0x1, UINT64_C(1) << 63},
        {"adl_grt", 0x1b7, 0x2b7, 0x1, UINT64_C(1) << 63},
        {"skt", 0x1b7, 0x2b7, 0x1, UINT64_C(1) << 63},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (unsigned second = 0; second < (cases[i].code1 ? 2u : 1u); second++) {
            unsigned code = second ? cases[i].code1 : cases[i].code0, other = second ? cases[i].code0 : cases[i].code1;
            struct upmu_alternative alternative;
            struct upmu_event event;
            struct upmu_pmu pmu;

            assert_int_equal(upmu_pmu_by_name(&pmu, cases[i].pmu), UPMU_OK, i);
            assert_int_equal(upmu_event_raw(&pmu, code, cases[i].both, 0, &event), UPMU_OK, i);
            assert_true(pmu.backend->alternative(&pmu, &event, 0, 0, &alternative));
            assert_int_equal(alternative.slot[0].resource[0], second);
            assert_int_equal(upmu_x86_core_select(&event, 0) & 0xffff, code);
            assert_int_equal(pmu.backend->alternative(&pmu, &event, 0, 1, &alternative), other != 0);
            if (other) {
                assert_int_equal(alternative.slot[0].resource[0], second ^ 1);
                assert_int_equal(upmu_x86_core_select(&event, 1) & 0xffff, other);
            }
            assert_false(pmu.backend->alternative(&pmu, &event, 0, 2, &alternative));
            if (!cases[i].first)
                continue;
            assert_int_equal(upmu_event_raw(&pmu, code, cases[i].first, 0, &event),
                             second ? UPMU_ERR_NOT_PERMITTED : UPMU_OK, i);
            if (!second)
                assert_false(pmu.backend->alternative(&pmu, &event, 0, 1, &alternative));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_of_every_model_gets_the_published_counters),
        cmocka_unit_test(further_unit_mask_bits_and_equality_are_modifiers),
        cmocka_unit_test(every_payload_register_takes_the_published_bits_alone),
        cmocka_unit_test(an_event_without_payload_takes_none),
        cmocka_unit_test(offcore_responses_have_two_registers_with_the_models_codes),
    };

    return cmocka_run_group_tests(tests, read_golden, NULL);
}
