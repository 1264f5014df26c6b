/* SPDX-License-Identifier: MIT */
/*
 * precise=: each precise event of Intel's files, from tests/golden/precise.tsv, on each PMU; events that the files do
 * not mark; the levels, and what a refusal says of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"
#include <upmu/catalogs.h>
#include <upmu/ibs.h>
#include <upmu/pmu.h>
#include <upmu/upmu.h>

#include "tests/common/table.h"

#define ROWS 4096
#define EXCEPTIONS 64

struct golden_event {
    char catalogue[12], name[80];
    uint64_t counters; /* bit n: general n, bit 32 + n: fixed n; 0: not listed */
};

struct golden_exception {
    char catalogue[12], name[64], answer[32];
    bool needed;
};

static struct golden_event rows[ROWS];
static unsigned row_count;
static struct golden_exception exceptions[EXCEPTIONS];
static unsigned exception_count;

static int read_tables(void **state)
{
    char line[512], *field[4];
    FILE *file = source_open("tests/golden/precise.tsv");

    (void)state;
    for (; table_row(file, line, sizeof line, field, 4); row_count++) {
        assert_compare(row_count, <, ROWS);
        snprintf(rows[row_count].catalogue, sizeof rows->catalogue, "%s", field[0]);
        snprintf(rows[row_count].name, sizeof rows->name, "%s", field[1]);
        rows[row_count].counters = *field[3] == '-' ? 0 : strtoull(field[3], NULL, 16);
    }
    fclose(file);
    file = source_open("tests/golden/precise_exceptions.tsv");
    for (; table_row(file, line, sizeof line, field, 4) == 4; exception_count++) {
        assert_compare(exception_count, <, EXCEPTIONS);
        snprintf(exceptions[exception_count].catalogue, sizeof exceptions->catalogue, "%s", field[0]);
        snprintf(exceptions[exception_count].name, sizeof exceptions->name, "%s", field[1]);
        snprintf(exceptions[exception_count].answer, sizeof exceptions->answer, "%s", field[2]);
    }
    fclose(file);
    return row_count == 3092 ? 0 : 1;
}

/* An event's counters as the table writes them. */
static uint64_t counters_of(const struct upmu_event *event)
{
    return (event->counters & 0xffff) | (uint64_t)(event->counters >> 16) << 32;
}

static enum upmu_status parse(const struct upmu_pmu *pmu, const char *name, const char *attributes,
                              struct upmu_event *out)
{
    char text[128];

    snprintf(text, sizeof text, "%s%s", name, attributes);
    memset(out, 0, sizeof *out);
    return upmu_event_parse(pmu, text, out, NULL);
}

static struct golden_exception *exception_of(const struct golden_event *row)
{
    for (unsigned i = 0; i < exception_count; i++)
        if (strcmp(exceptions[i].name, row->name) == 0 &&
            (strcmp(exceptions[i].catalogue, "*") == 0 || strcmp(exceptions[i].catalogue, row->catalogue) == 0))
            return &exceptions[i];
    return NULL;
}

/* Does a row come to what the file says?  A general counter may have a fixed one beside it that counts the same. */
static bool agrees(const struct golden_event *row, enum upmu_status status, const struct upmu_event *event)
{
    uint64_t got = counters_of(event);

    if (status != UPMU_OK)
        return false;
    if (!row->counters) /* before Ice Lake: counters 0 to 3, of Atoms counter 0 */
        return got && !(got & ~UINT64_C(0xf)) && (strcmp(row->catalogue, "atom") != 0 || got == 1);
    return (uint32_t)got == (uint32_t)row->counters && !(row->counters & ~got);
}

/*
 * A level changes counters alone: the select word and the payload are those of the name, which
 * tests/build/check_records.py compares with the files.
 */
static void check_words(const struct golden_event *row, const struct upmu_pmu *pmu)
{
    static const char *const levels[] = {":precise=1", ":precise=2", ":precise=3"};
    struct upmu_event plain, precise;

    assert_int_equal(parse(pmu, row->name, "", &plain), UPMU_OK);
    for (unsigned i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        enum upmu_status status = parse(pmu, row->name, levels[i], &precise);

        if (status != UPMU_ERR_NOT_PRECISE &&
            (status != UPMU_OK || precise.config != plain.config || precise.config1 != plain.config1 ||
             precise.payload != plain.payload))
            fail_msg("%s %s%s: status %d, %#llx, without a level %#llx", row->catalogue, row->name, levels[i], status,
                     (unsigned long long)precise.config, (unsigned long long)plain.config);
    }
}

static void check_row(const struct golden_event *row, const struct upmu_pmu *pmu)
{
    struct golden_exception *exception = exception_of(row);
    struct upmu_event event, other;
    enum upmu_status status = parse(pmu, row->name, ":precise", &event);

    if (agrees(row, status, &event))
        return;
    if (!exception)
        fail_msg("%s %s: status %d, counters %#llx, the file has %#llx", row->catalogue, row->name, status,
                 (unsigned long long)counters_of(&event), (unsigned long long)row->counters);
    exception->needed = true;
    if (exception->answer[0] == '=') {
        assert_int_equal(parse(pmu, exception->answer + 1, ":precise", &other), UPMU_OK);
        assert_true(event.config == other.config && event.counters == other.counters);
        assert_true(!(row->counters & ~counters_of(&event)));
    } else if (strcmp(exception->answer, "refused") == 0) {
        assert_int_equal(status, UPMU_ERR_NOT_PRECISE);
    } else {
        assert_int_equal(status, UPMU_OK);
        assert_int_equal(counters_of(&event), strtoull(exception->answer, NULL, 16));
    }
}

/*
 * Class of mistake: a model that is left out of the list of models whose events are all precise (its events were
 * refused); an event that loses the one counter without a shadow, because another code counts the same; a level that
 * changes what is counted.
 */
static void every_precise_event_of_the_files_has_their_counters(void **state)
{
    struct upmu_pmu pmu;

    (void)state;
    for (unsigned i = 0; i < row_count; i++) {
        if (i == 0 || strcmp(rows[i].catalogue, rows[i - 1].catalogue) != 0)
            assert_int_equal(upmu_pmu_by_name(&pmu, rows[i].catalogue), UPMU_OK, i);
        check_row(&rows[i], &pmu);
        check_words(&rows[i], &pmu);
    }
    for (unsigned i = 0; i < exception_count; i++)
        if (!exceptions[i].needed)
            fail_msg("no row needs the exception %s %s", exceptions[i].catalogue, exceptions[i].name);
}

/* Is the encoding that of a row of the golden table? */
static bool is_golden(const struct upmu_pmu *pmu, unsigned first, const struct upmu_event *event)
{
    for (unsigned i = first; i < row_count && strcmp(rows[i].catalogue, rows[first].catalogue) == 0; i++) {
        struct upmu_event other;

        if (parse(pmu, rows[i].name, "", &other) == UPMU_OK && (other.config & 0xffff) == (event->config & 0xffff))
            return true;
    }
    return false;
}

/*
 * Class of mistake: any event taken as precise.  Before Ice Lake an event that does not retire makes no record, so its
 * profile would be empty, without a word.
 */
static void before_ice_lake_an_event_that_no_file_marks_is_refused(void **state)
{
    static const char *const catalogues[] = {"atom", "nhm", "wsm", "snb", "ivb", "hsw",
                                             "bdw",  "skl", "clx", "slm", "knl"};
    unsigned refused = 0;

    (void)state;
    for (unsigned c = 0; c < sizeof catalogues / sizeof catalogues[0]; c++) {
        unsigned first = 0;
        struct upmu_pmu pmu;

        assert_int_equal(upmu_pmu_by_name(&pmu, catalogues[c]), UPMU_OK, c);
        while (strcmp(rows[first].catalogue, catalogues[c]) != 0)
            assert_compare(++first, <, row_count);
        for (unsigned i = 0; i < upmu_catalog_rows(pmu.catalog); i++) {
            struct upmu_event event, precise;
            struct upmu_row row;
            char name[128];

            assert_true(upmu_catalog_row(pmu.catalog, i, &row), i);
            assert_compare(upmu_catalog_row_name(pmu.catalog, i, name, sizeof name), <, sizeof name, i);
            if (parse(&pmu, name, "", &event) != UPMU_OK || is_golden(&pmu, first, &event))
                continue;
            if (parse(&pmu, name, ":precise", &precise) == UPMU_OK)
                /* Cycles have a recipe.  The head of composed names is as precise as they are. */
                assert_true((event.config & 0xffff) == 0x3c || (row.flags & UPMU_ROW_COMPOSED));
            else
                refused++;
        }
    }
    assert_compare(refused, >, 2000);
}

static void each_p_is_one_level_and_a_number_is_the_level(void **state)
{
    static const struct {
        const char *text;
        unsigned level;
    } cases[] = {{"cycles", 0},
                 {"cycles:p", 1},
                 {"cycles:pp", 2},
                 {"cycles:ppp", 3},
                 {"cycles:precise", 1},
                 {"cycles:precise=0", 0},
                 {"cycles:precise=2:u", 2},
                 {"cycles:p=3", 3},
                 {"cycles:upp", 2},
                 {"cycles:precise=2:precise=2", 2},
                 {"cpu/event=0x3c,precise=2/", 2}};
    static const struct {
        const char *text;
        enum upmu_status status;
    } wrong[] = {{"cycles:pppp", UPMU_ERR_BAD_VALUE},
                 {"cycles:precise=4", UPMU_ERR_BAD_VALUE},
                 {"cycles:pp:precise=1", UPMU_ERR_CONTRADICTION}};
    struct upmu_event event, again;
    struct upmu_pmu pmu;
    char text[128];

    (void)state;
    assert_int_equal(upmu_pmu_by_name(&pmu, "skl"), UPMU_OK);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(parse(&pmu, cases[i].text, "", &event), UPMU_OK, i);
        assert_int_equal(UPMU_PRECISE_LEVEL(event.attributes), cases[i].level, i);
        assert_compare(upmu_event_format(&pmu, &event, text, sizeof text), <, sizeof text);
        assert_int_equal(parse(&pmu, text, "", &again), UPMU_OK);
        assert_memory_equal(&event, &again, sizeof event);
    }
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(parse(&pmu, wrong[i].text, "", &event), wrong[i].status, i);
}

/*
 * Where NAME_P is another event, NAME:p has the level all the same.
 * Catches: a name that is searched in folded form takes an attribute for its end.
 */
static void a_level_is_no_part_of_another_name(void **state)
{
    static const char *const names[] = {"INST_RETIRED.ANY", "inst_retired.any", "CPU_CLK_UNHALTED.THREAD",
                                        "skl::INST_RETIRED.ANY"}; /* the name does not begin its text */
    struct upmu_event short_form, long_form, other;
    struct upmu_pmu pmu;
    char text[80];

    (void)state;
    assert_int_equal(upmu_pmu_by_name(&pmu, "skl"), UPMU_OK);
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        enum upmu_status status = parse(&pmu, names[i], ":precise", &long_form);

        assert_int_equal(parse(&pmu, names[i], ":p", &short_form), status, i);
        if (status == UPMU_OK)
            assert_memory_equal(&short_form, &long_form, sizeof long_form);
        snprintf(text, sizeof text, "%s_P", names[i]);
        assert_int_equal(parse(&pmu, text, "", &other), UPMU_OK);
        assert_true(status != UPMU_OK || memcmp(&short_form.id, &other.id, sizeof other.id) != 0);
    }
}

/* Core cycles retire nothing: another event counts them, and the name stays. */
static void precise_cycles_are_counted_by_what_retires(void **state)
{
    static const struct {
        const char *pmu, *text;
        uint32_t config, counters;
    } cases[] = {{"core", "cycles:p", 0x108300c0, 0x1},    {"nhm", "cycles:p", 0x108300c0, 0xf},
                 {"snb", "cycles:p", 0x108301c2, 0xf},     {"ivb", "cycles:ppp", 0x108301c0, 0x2},
                 {"hsw", "cycles:pp", 0x108301c2, 0xf},    {"skl", "cycles:pp", 0x108300c0, 0xf},
                 {"skl", "cycles:ppp:u", 0x108101c0, 0x2}, {"slm", "cycles:p", 0x108300c0, 0x1},
                 {"glp", "cycles:pp", 0x3003c, 0x2000f},   {"icl", "cycles:pp", 0x3003c, 0x200ff},
                 {"spr", "cycles:ppp", 0x3003c, 0x1},      {"skt", "cycles:ppp", 0x3003c, 0x3}};
    struct upmu_event event;
    struct upmu_pmu pmu;
    char text[128];

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(upmu_pmu_by_name(&pmu, cases[i].pmu), UPMU_OK, i);
        assert_int_equal(parse(&pmu, cases[i].text, "", &event), UPMU_OK, i);
        if (event.config != cases[i].config || event.counters != cases[i].counters)
            fail_msg("%s on %s: %#llx on %#x", cases[i].text, cases[i].pmu, (unsigned long long)event.config,
                     event.counters);
        assert_compare(upmu_event_format(&pmu, &event, text, sizeof text), <, sizeof text);
        assert_non_null(strstr(text, ":precise="));
        assert_null(strstr(text, ":c="));
    }
}

/* Level 3 needs the counters without a shadow, and an event that they have it for. */
static void level_3_is_on_the_counters_without_a_shadow(void **state)
{
    static const struct {
        const char *pmu, *text;
        uint32_t counters;
    } cases[] = {{"snb", "INST_RETIRED.PREC_DIST:ppp", 0x2},
                 {"skl", "INST_RETIRED.TOTAL_CYCLES_PS:ppp", 0x2},
                 {"icl", "INST_RETIRED.PREC_DIST:ppp", 0x10000},
                 {"icl", "instructions:ppp", 0x10000},
                 {"spr", "INST_RETIRED.PREC_DIST", 0x10000},
                 {"spr", "instructions:ppp", 0x10000},
                 {"spr", "instructions:pp", 0xfe},
                 {"spr", "BR_INST_RETIRED.COND:ppp", 0x1},
                 {"glp", "INST_RETIRED.PREC_DIST:ppp", 0x1},
                 {"tmt", "instructions:ppp", 0x10001},
                 {"mtl_cmt", "instructions:ppp", 0x10003},
                 {"lnc", "INST_RETIRED.PREC_DIST:ppp", 0x10000}};
    struct upmu_event event;
    struct upmu_pmu pmu;

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(upmu_pmu_by_name(&pmu, cases[i].pmu), UPMU_OK, i);
        if (parse(&pmu, cases[i].text, "", &event) != UPMU_OK || event.counters != cases[i].counters)
            fail_msg("%s on %s: %#x", cases[i].text, cases[i].pmu, event.counters);
    }
}

/* Class of mistake: a level that the hardware does not have taken as the next lower one, without a word. */
static void a_refusal_names_the_levels_that_are_possible(void **state)
{
    static const struct {
        const char *pmu, *text;
        unsigned levels;
        const char *words;
    } cases[] = {
        {"ivb", "cycles:pp", 0xa, "\"cycles\": not precise at this level on ivb; possible: precise=1, precise=3"},
        {"snb", "cycles:ppp", 0x2, "\"cycles\": not precise at this level on snb; possible: precise=1"},
        {"skl", "instructions:p", 0, "\"instructions\": not precise at this level on skl, nor at another"},
        {"icl", "cycles:ppp", 0x6, "\"cycles\": not precise at this level on icl; possible: precise=1, precise=2"},
        {"core", "INST_RETIRED:pp", 0x2, NULL},
        {"p6", "INST_RETIRED:p", 0, NULL},
        {"spr", "INST_RETIRED.NOP:ppp", 0x6, NULL},
        {"icl", "MEM_INST_RETIRED.ALL_LOADS:pp:e", 0, NULL}, /* a counter with PEBS counts no edges */
        {"glp", "MEM_UOPS_RETIRED.ALL_LOADS:p:e", 0, NULL},
        {"spr", "MEM_INST_RETIRED.ALL_LOADS:ppp:e", 0, NULL},
        {"nhm", "UOPS_RETIRED.ANY:p:e", 0, NULL},
        {"glm", "INST_RETIRED.ANY_P:ppp", 0x6, NULL}, /* no counter is known to be without a shadow */
        {"netburst", "replay_event:L1_LD_MISS:pp", 0x2, NULL},
        {"netburst", "instr_retired:NBOGUSNTAG:p", 0, NULL},
        {"amd64_fam19h_zen3", "RETIRED_INSTRUCTIONS:p", 0, NULL},
        {"amd64_k8_revg", "cycles:p", 0, NULL},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct upmu_event event;
        struct upmu_why why;
        struct upmu_pmu pmu;
        char text[160];

        assert_int_equal(upmu_pmu_by_name(&pmu, cases[i].pmu), UPMU_OK, i);
        if (upmu_event_parse(&pmu, cases[i].text, &event, &why) != UPMU_ERR_NOT_PRECISE ||
            why.levels != cases[i].levels)
            fail_msg("%s on %s: status %d, levels %#x", cases[i].text, cases[i].pmu, why.status, why.levels);
        upmu_why_text(&why, text, sizeof text);
        if (cases[i].words)
            assert_string_equal(text, cases[i].words);
    }
}

/* Where a CPU has IBS, the refusal names it. */
static void amd_names_ibs(void **state)
{
    struct upmu_event event;
    struct upmu_why why;
    struct upmu_pmu pmu;
    char text[160];

    (void)state;
    assert_int_equal(upmu_pmu_by_name(&pmu, "amd64_fam19h_zen3"), UPMU_OK);
    pmu.ibs = 1;
    assert_int_equal(upmu_event_parse(&pmu, "cycles:pp", &event, &why), UPMU_ERR_NOT_PRECISE);
    upmu_why_text(&why, text, sizeof text);
    assert_non_null(strstr(text, "upmu_ibs_start()"));
    assert_int_equal(upmu_event_parse(&pmu, "cycles:precise=0", &event, &why), UPMU_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_precise_event_of_the_files_has_their_counters),
        cmocka_unit_test(before_ice_lake_an_event_that_no_file_marks_is_refused),
        cmocka_unit_test(each_p_is_one_level_and_a_number_is_the_level),
        cmocka_unit_test(a_level_is_no_part_of_another_name),
        cmocka_unit_test(precise_cycles_are_counted_by_what_retires),
        cmocka_unit_test(level_3_is_on_the_counters_without_a_shadow),
        cmocka_unit_test(a_refusal_names_the_levels_that_are_possible),
        cmocka_unit_test(amd_names_ibs),
    };

    return cmocka_run_group_tests(tests, read_tables, NULL);
}
