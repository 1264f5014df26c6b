/* SPDX-License-Identifier: MIT */
/*
 * Derived metrics of the models (upmu_metric_next()): each formula is of events that its model has, and gives what the
 * published description of the metric says for counts that were made up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/assertions.h"

#include <upmu/catalogs.h>
#include <upmu/metric.h>
#include <upmu/pmu.h>

/* Whose units a model's formulas may name: catalogues of units, by the catalogue of the cores. */
static const char *const units_of[][2] = {
    {"adl_glc", "adl_uncore"}, {"arl_lnc", "mtl_uncore"}, {"bdw", "bdw_uncore"}, {"bdw_ep", "bdx_uncore"},
    {"clx", "skx_uncore"},     {"cwf", "gnr_uncore"},     {"emr", "spr_uncore"}, {"gnr", "gnr_uncore"},
    {"grr", "gnr_uncore"},
    {"hsw", "hsw_uncore"},     {"hsw_ep", "hsx_uncore"},  {"icl", "icl_uncore"}, {"icx", "icx_uncore"},
    {"rkl", "rkl_uncore"},     {"skl", "skl_uncore"},     {"skx", "skx_uncore"}, {"spr", "spr_uncore"},
    {"srf", "gnr_uncore"},     {"tgl", "tgl_uncore"},
};

struct model {
    struct upmu_pmu pmu;
    const char *name;
    unsigned events, smt;
    uint64_t counts[12]; /* in the order of `names` */
    const char *names[12];
};

static const struct upmu_catalog *units_catalogue(const char *core)
{
    const struct upmu_catalog *catalog;

    for (unsigned i = 0; i < sizeof units_of / sizeof units_of[0]; i++)
        for (unsigned n = 0; strcmp(units_of[i][0], core) == 0 && (catalog = upmu_catalog_builtin(n)) != NULL; n++)
            if (strcmp(upmu_catalog_name(catalog), units_of[i][1]) == 0)
                return catalog;
    return NULL;
}

/* A word is an event of the model, or of one of its units, or a name that docs/METRICS.md has. */
static enum upmu_status look_up(void *context, const struct upmu_formula_word *word,
                                struct upmu_formula_value *out_value)
{
    struct model *model = context;
    struct upmu_event_id id;
    struct upmu_event event;
    char text[100];
    const char *slash;

    snprintf(text, sizeof text, "%.*s", (int)word->length, word->text);
    slash = strchr(text, '/');
    out_value->unknown = word->event;
    if (!word->event) {
        assert_true(strcmp(text, "seconds") == 0 || strcmp(text, "smt") == 0);
        out_value->value = strcmp(text, "smt") == 0 ? model->smt : 1;
        return UPMU_OK;
    }
    model->events++;
    if (!slash && upmu_event_parse(&model->pmu, text, &event, NULL) != UPMU_OK)
        fail_msg("%s has no %s", model->name, text);
    if (slash && (!units_catalogue(model->name) ||
                  upmu_catalog_lookup(units_catalogue(model->name), slash + 1, strlen(slash + 1), &id) != UPMU_OK))
        fail_msg("%s has no %s", model->name, text);
    return UPMU_OK;
}

static void every_formula_is_of_events_that_its_model_has(void **state)
{
    const struct upmu_catalog *catalog;
    unsigned published = 0, generic = 0;

    (void)state;
    for (unsigned n = 0; (catalog = upmu_catalog_builtin(n)) != NULL; n++) {
        struct model model = {.name = upmu_catalog_name(catalog)};
        const struct upmu_formula_values values = {.value = look_up, .context = &model};
        struct upmu_formula_result result;
        struct upmu_metric metric, other;
        unsigned cursor = 0, inner;

        if (strstr(model.name, "uncore") || upmu_pmu_by_name(&model.pmu, model.name) != UPMU_OK)
            continue;
        while (upmu_metric_next(&model.pmu, "", 0, &cursor, &metric) == UPMU_OK) {
            for (model.smt = 0; metric.published && model.smt < 2; model.smt++) {
                struct upmu_why why;

                model.events = 0;
                if (upmu_formula(metric.formula, &values, &result, &why) != UPMU_OK)
                    fail_msg("%s: %s: status %d at byte %u", model.name, metric.name, (int)why.status, why.position);
                assert_true(result.unknown && model.events);
            }
            published += metric.published;
            generic += !metric.published;
            /* Each name is there once. */
            for (inner = 0; upmu_metric_next(&model.pmu, "", 0, &inner, &other) == UPMU_OK;)
                assert_true(inner == cursor || strcmp(other.name, metric.name) != 0);
        }
    }
    assert_true(published > 150 && generic > 100);
}

/* "name name ..." of what a word gives. */
static const char *named(const char *pmu_name, const char *word)
{
    static char text[300];
    struct upmu_metric metric;
    struct upmu_pmu pmu;
    unsigned cursor = 0;
    enum upmu_status status;

    text[0] = '\0';
    assert_int_equal(upmu_pmu_by_name(&pmu, pmu_name), UPMU_OK);
    while ((status = upmu_metric_next(&pmu, word, strlen(word), &cursor, &metric)) == UPMU_OK)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s ", metric.name,
                 metric.published ? "" : "(generic)");
    assert_int_equal(status, cursor ? UPMU_ERR_END : UPMU_ERR_NO_SUCH_NAME);
    return text;
}

static void a_word_names_a_metric_or_a_group(void **state)
{
    (void)state;
    assert_string_equal(named("skl", "tma"), "frontend_bound bad_speculation backend_bound retiring ");
    assert_string_equal(named("skl", "Retiring"), "retiring ");
    assert_string_equal(named("skl", "IPC"), "ipc ");
    assert_string_equal(named("skl", "misses"),
                        "l1_mpki l2_mpki l3_mpki branch_miss_rate(generic) llc_miss_rate(generic) ");
    assert_string_equal(named("skx", "bandwidth"), "memory_read memory_write memory_total ");
    assert_string_equal(named("skx", "memory_read"), "memory_read ");
    assert_string_equal(named("skl", "bandwidth"), "memory_total ");
    /* A model with the units of another one: its own name finds none of their events. */
    assert_string_equal(named("cwf", "bandwidth"), "memory_read memory_write memory_total ");
    assert_string_equal(named("srf", "ipc"), "ipc ");
    assert_string_equal(named("core", "ipc"), "ipc(generic) ");
    assert_string_equal(named("zen4", ""), "ipc(generic) branch_miss_rate(generic) llc_miss_rate(generic) ");
    assert_string_equal(named("zen4", "tma"), "");
    assert_string_equal(named("skl", "tm"), "");
    assert_string_equal(named("skl", "tmaa"), "");
}

/* ---- Values ---- */

static enum upmu_status counted(void *context, const struct upmu_formula_word *word,
                                struct upmu_formula_value *out_value)
{
    const struct model *model = context;

    if (word->length == 3 && memcmp(word->text, "smt", 3) == 0) {
        out_value->value = model->smt;
        return UPMU_OK;
    }
    if (!word->event) {
        out_value->value = 2500000000;
        out_value->divisor = 1000000000;
        return UPMU_OK;
    }
    for (unsigned i = 0; i < 12 && model->names[i]; i++) {
        if (strlen(model->names[i]) == word->length && memcmp(model->names[i], word->text, word->length) == 0) {
            out_value->value = model->counts[i];
            return UPMU_OK;
        }
    }
    fail_msg("%.*s is not counted", (int)word->length, word->text);
    return UPMU_ERR_NO_SUCH_EVENT;
}

static int64_t value_of(struct model *model, const char *name)
{
    const struct upmu_formula_values values = {.value = counted, .context = model};
    struct upmu_formula_result result;
    struct upmu_metric metric;
    unsigned cursor = 0;

    assert_int_equal(upmu_pmu_by_name(&model->pmu, model->name), UPMU_OK);
    assert_int_equal(upmu_metric_next(&model->pmu, name, strlen(name), &cursor, &metric), UPMU_OK);
    assert_int_equal(upmu_formula(metric.formula, &values, &result, NULL), UPMU_OK);
    return result.millionths;
}

static void metrics_have_the_values_that_their_definition_gives(void **state)
{
    /* Skylake, one thread: of 4 x 1000 slots 1000 were not filled, 2000 retired, 100 + 4 x 50 were lost. */
    struct model skl = {.name = "skl",
                        .names = {"IDQ_UOPS_NOT_DELIVERED.CORE", "CPU_CLK_UNHALTED.THREAD", "UOPS_ISSUED.ANY",
                                  "UOPS_RETIRED.RETIRE_SLOTS", "INT_MISC.RECOVERY_CYCLES", "INST_RETIRED.ANY",
                                  "MEM_LOAD_RETIRED.L2_MISS"},
                        .counts = {1000, 1000, 2100, 2000, 50, 1700, 17}};
    /* Two threads: the core's cycles are half of what both count. */
    struct model siblings = {.name = "skl",
                             .smt = 1,
                             .names = {"IDQ_UOPS_NOT_DELIVERED.CORE", "CPU_CLK_UNHALTED.THREAD_ANY", "UOPS_ISSUED.ANY",
                                       "UOPS_RETIRED.RETIRE_SLOTS", "INT_MISC.RECOVERY_CYCLES_ANY"},
                             .counts = {1000, 2000, 2100, 2000, 100}};
    /* Ice Lake-SP: the register's four shares; 10 of 1000 slots dropped, 2 clears of 5 slots each. */
    struct model icx = {.name = "icx",
                        .names = {"topdown-fe-bound", "topdown-bad-spec", "topdown-retiring", "topdown-be-bound",
                                  "INT_MISC.UOP_DROPPING", "TOPDOWN.SLOTS", "INT_MISC.CLEARS_COUNT"},
                        .counts = {200, 100, 400, 300, 10, 1000, 2}};
    struct model skx = {
        .name = "skx", .names = {"imc/UNC_M_CAS_COUNT.RD", "imc/UNC_M_CAS_COUNT.WR"}, .counts = {10000000, 2500000}};
    struct model client = {.name = "skl",
                           .names = {"arb/UNC_ARB_TRK_REQUESTS.ALL", "arb/UNC_ARB_COH_TRK_REQUESTS.ALL"},
                           .counts = {10000000, 2500000}};
    struct model zen = {.name = "zen3",
                        .names = {"instructions", "cycles", "branches", "branch-misses"},
                        .counts = {3000, 2000, 500, 3}};

    (void)state;
    assert_int_equal(value_of(&skl, "ipc"), 1700000);
    assert_int_equal(value_of(&skl, "l2_mpki"), 10000000);
    for (unsigned i = 0; i < 2; i++) {
        struct model *model = i ? &siblings : &skl;

        assert_int_equal(value_of(model, "frontend_bound"), 25000000);
        assert_int_equal(value_of(model, "bad_speculation"), 7500000);
        assert_int_equal(value_of(model, "retiring"), 50000000);
        assert_int_equal(value_of(model, "backend_bound"), 17500000);
    }
    assert_int_equal(value_of(&icx, "frontend_bound"), 19000000);
    assert_int_equal(value_of(&icx, "backend_bound"), 31000000);
    assert_int_equal(value_of(&icx, "retiring"), 40000000);
    assert_int_equal(value_of(&icx, "bad_speculation"), 10000000);
    assert_int_equal(value_of(&skx, "memory_read"), 256000000);
    assert_int_equal(value_of(&skx, "memory_write"), 64000000);
    assert_int_equal(value_of(&skx, "memory_total"), 320000000);
    assert_int_equal(value_of(&client, "memory_total"), 320000000);
    assert_int_equal(value_of(&zen, "ipc"), 1500000);
    assert_int_equal(value_of(&zen, "branch_miss_rate"), 600000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_formula_is_of_events_that_its_model_has),
        cmocka_unit_test(a_word_names_a_metric_or_a_group),
        cmocka_unit_test(metrics_have_the_values_that_their_definition_gives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
