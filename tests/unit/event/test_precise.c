/* SPDX-License-Identifier: MIT */
/*
 * precise=: each precise event of Intel's files, from tests/golden/precise.tsv, on each PMU.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
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
        assert_true(row_count < ROWS);
        snprintf(rows[row_count].catalogue, sizeof rows->catalogue, "%s", field[0]);
        snprintf(rows[row_count].name, sizeof rows->name, "%s", field[1]);
        rows[row_count].counters = *field[3] == '-' ? 0 : strtoull(field[3], NULL, 16);
    }
    fclose(file);
    file = source_open("tests/golden/precise_exceptions.tsv");
    for (; table_row(file, line, sizeof line, field, 4) == 4; exception_count++) {
        assert_true(exception_count < EXCEPTIONS);
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
    return (uint32_t)got == (uint32_t)row->counters && (!(row->counters >> 32) || got >> 32);
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
    } else if (strcmp(exception->answer, "refused") == 0) {
        assert_int_equal(status, UPMU_ERR_DOES_NOT_FIT);
    } else {
        assert_int_equal(status, UPMU_OK);
        assert_true(counters_of(&event) == strtoull(exception->answer, NULL, 16));
    }
}

/*
 * Class of mistake: a model that is left out of the list of models whose events are all precise (its events were
 * refused); an event that loses the one counter without a shadow, because another code counts the same.
 */
static void every_precise_event_of_the_files_has_their_counters(void **state)
{
    struct upmu_pmu pmu;

    (void)state;
    for (unsigned i = 0; i < row_count; i++) {
        if (i == 0 || strcmp(rows[i].catalogue, rows[i - 1].catalogue) != 0)
            assert_int_equal(upmu_pmu_by_name(&pmu, rows[i].catalogue), UPMU_OK);
        check_row(&rows[i], &pmu);
    }
    for (unsigned i = 0; i < exception_count; i++)
        if (!exceptions[i].needed)
            fail_msg("no row needs the exception %s %s", exceptions[i].catalogue, exceptions[i].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_precise_event_of_the_files_has_their_counters),
    };

    return cmocka_run_group_tests(tests, read_tables, NULL);
}
