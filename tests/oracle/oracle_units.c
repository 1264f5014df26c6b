/* SPDX-License-Identifier: MIT */
/*
 * Events of units outside the cores against libpfm4: every event of its uncore tables bare and with each unit mask.
 * Where a catalogue of units has that name, the select and the filter word must be those that libpfm4 gives.
 *
 * The catalogues are the built-in ones.  UPMU_UNITS_BLOB names a packed file with Intel's complete lists
 * (tests/build/check_import.py makes it); names are then searched there first.  Differences are listed, with the
 * correct side by a second source, in tests/oracle/unit_exceptions.tsv; a line that explains nothing is a failure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"
#include <perfmon/pfmlib.h>
#include <upmu/upmu.h>

#include "backends/uncore/uncore.h"
#include "backends/uncore/uncore_tables.h"
#include "core/catalog/catalog.h"
#include "tests/oracle/exceptions.h"

#define TEXT_SIZE 256

/* Bits of the select that libpfm4 sets and the driver decides: interrupt and enable. */
#define SELECT_IGNORED ((UINT64_C(1) << 20) | (UINT64_C(1) << 22))

struct words {
    uint64_t select, filter;
};

/* libpfm4's tables by the begin of their names, and the catalogues that have the same events. */
static const struct {
    const char *table, *catalogue;
} catalogues[] = {
    {"nhm_unc", "nhm_uncore"},
    {"wsm_unc", "wsm_uncore"},
    {"snb_unc_", "snb_uncore"},
    {"ivb_unc_", "ivb_uncore"},
    {"snbep_unc_", "snbep_uncore"},
    {"ivbep_unc_", "ivbep_uncore"},
    {"hswep_unc_", "hsx_uncore"},
    {"bdx_unc_", "bdx_uncore"},
    {"knl_unc_", "knl_uncore"},
    {"knm_unc_", "knl_uncore"},
    {"skx_unc_", "skx_uncore"},
    {"icx_unc_", "icx_uncore"},
    {"spr_unc_", "spr_uncore"},
    {"emr_unc_", "spr_uncore"},
    {"gnr_unc_", "gnr_uncore"},
    {"amd64_fam15h_nb", "f15h_uncore"},
    {"amd64_fam17h_zen1_l3", "zen1_uncore"},
    {"amd64_fam17h_zen2_l3", "zen2_uncore"},
    {"amd64_fam19h_zen3_l3", "zen3_uncore"},
    {"amd64_fam19h_zen4_l3", "zen4_uncore"},
    {"amd64_fam1ah_zen5_l3", "zen5_uncore"},
};

static struct oracle_exceptions exceptions;
static unsigned char *blob; /* or NULL */
static unsigned unexplained, wrong_unit;

static const struct upmu_catalog *catalogue_of(const char *table, bool from_outside)
{
    const struct upmu_catalog *catalog;

    for (unsigned i = 0; i < sizeof catalogues / sizeof catalogues[0]; i++) {
        if (strncmp(table, catalogues[i].table, strlen(catalogues[i].table)) != 0)
            continue;
        if (!from_outside)
            return upmu_catalog_find(catalogues[i].catalogue);
        for (unsigned k = 0; blob && (catalog = upmu_catalog_loaded(blob, k)) != NULL; k++)
            if (strcmp(upmu_catalog_name(catalog), catalogues[i].catalogue) == 0)
                return catalog;
        return NULL;
    }
    return NULL;
}

/* The words of an event of ours: as the guides lay out a select, except AMD's. */
static struct words words_of(const struct upmu_row *row, bool amd)
{
    struct words words = {0, row->msr == UPMU_ROW_FILTER ? row->payload : 0};
    uint64_t code = row->code;

    words.select = (code & 0xff) | (uint64_t)(row->umask & 0xff) << 8 | (uint64_t)row->cmask << 24;
    words.select |= row->flags & UPMU_ROW_EDGE ? UINT64_C(1) << 18 : 0;
    words.select |= row->flags & UPMU_ROW_INV ? UINT64_C(1) << 23 : 0;
    words.select |= amd ? code >> 8 << 32 : code >> 8 << 21;
    words.select |= row->msr == UPMU_ROW_SELECT_HIGH ? row->payload << 32 : 0;
    return words;
}

static bool libpfm4_words(const char *table, const char *event, struct words *out)
{
    pfm_pmu_encode_arg_t argument;
    uint64_t codes[4] = {0};
    char text[TEXT_SIZE];
    int answer;

    snprintf(text, sizeof text, "%s::%s", table, event);
    memset(&argument, 0, sizeof argument);
    argument.size = sizeof argument;
    argument.codes = codes;
    argument.count = 4;
    answer = pfm_get_os_event_encoding(text, 0, PFM_OS_NONE, &argument);
    out->select = codes[0] & ~SELECT_IGNORED;
    out->filter = argument.count > 1 ? codes[1] : 0;
    return answer == PFM_SUCCESS;
}

/* Begins of names that the two spell differently. */
static const struct {
    const char *table, *theirs, *ours;
} begins[] = {
    {"skx_unc_cha", "UNC_C_", "UNC_CHA_"},
    {"skx_unc_iio", "UNC_IO_", "UNC_IIO_"},
    {"skx_unc_m2m", "UNC_M2_", "UNC_M2M_"},
    {"skx_unc_m3upi", "UNC_M3_", "UNC_M3UPI_"},
    {"snb_unc_", "UNC_CLOCKTICKS", "UNC_CLOCK.CLOCKTICKS"},
    {"ivb_unc_", "UNC_CLOCKTICKS", "UNC_CLOCK.SOCKET"},
};

struct tally {
    const char *table;
    unsigned theirs, both, encoded, agreed, explained;
};

/* The type of a table's units: their names differ in a number behind; false: there is none yet. */
static bool type_of(const char *table, struct upmu_uncore_pmu *out)
{
    size_t length = strlen(table);

    if (!strstr(table, "_l3"))
        while (length && table[length - 1] >= '0' && table[length - 1] <= '9')
            length--;
    for (unsigned g = 0; g < upmu_uncore_generation_count; g++)
        for (unsigned r = 0; r < upmu_uncore_generations[g].rows; r++) {
            unsigned row = upmu_uncore_generations[g].first + r;

            if (row == upmu_uncore_other)
                continue;
            upmu_uncore_make(g, row, NULL, out);
            if (strlen(out->pmu.name) == length && strncmp(out->pmu.name, table, length) == 0)
                return !blob || upmu_pmu_import(&out->pmu, blob) != UPMU_ERR_INVALID;
        }
    return false;
}

/* "EVENT:WHAT:WHOSE_FILTER" of client C-boxes is EVENT.WHAT_WHOSE of snoops, EVENT.WHOSE_WHAT of look-ups. */
static void client_name(const char *theirs, char *out)
{
    const char *what = strchr(theirs, ':') + 1, *whose = strchr(what, ':') + 1;
    int event = (int)(what - theirs), first = (int)(whose - what) - 1,
        second = (int)(strlen(whose) - strlen("_FILTER"));
    bool look_up = strncmp(what, "STATE_", 6) == 0;

    if (look_up)
        snprintf(out, TEXT_SIZE, "%.*s%.*s_%.*s", event, theirs, second, whose, first - 6, what + 6);
    else
        snprintf(out, TEXT_SIZE, "%.*s%.*s_%.*s", event, theirs, first, what, second, whose);
}

static bool find(const char *table, const char *theirs, char event[TEXT_SIZE], struct upmu_row *out_row)
{
    snprintf(event, TEXT_SIZE, "%s", theirs);
    if (strstr(theirs, "_FILTER") && strchr(theirs, ':') != strrchr(theirs, ':'))
        client_name(theirs, event);
    for (unsigned i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (strncmp(table, begins[i].table, strlen(begins[i].table)) == 0 &&
            strncmp(theirs, begins[i].theirs, strlen(begins[i].theirs)) == 0)
            snprintf(event, TEXT_SIZE, "%s%s", begins[i].ours, theirs + strlen(begins[i].theirs));
    for (unsigned built_in = blob ? 0 : 1; built_in < 2; built_in++) {
        const struct upmu_catalog *catalog = catalogue_of(table, !built_in);
        struct upmu_event_id id;

        if (catalog && upmu_catalog_lookup(catalog, event, strlen(event), &id) == UPMU_OK &&
            upmu_catalog_merge(catalog, id, out_row, NULL) == UPMU_OK)
            return true;
    }
    return false;
}

static void compare(struct tally *tally, const char *event)
{
    bool amd = strncmp(tally->table, "amd", 3) == 0;
    char difference[TEXT_SIZE], name[TEXT_SIZE];
    static struct upmu_uncore_pmu pmu;
    struct words ours, theirs;
    struct upmu_event encoded;
    struct upmu_row row;

    if (!libpfm4_words(tally->table, event, &theirs))
        return;
    tally->theirs++;
    if (!find(tally->table, event, name, &row))
        return;
    tally->both++;
    wrong_unit += row.unit == 0;
    ours = words_of(&row, amd);
    /* libpfm4 has a client's clock among the events of its first C-box, and an event of C-boxes with the S-boxes. */
    if (type_of(tally->table, &pmu) &&
        (row.unit == pmu.type->number ||
         (strcmp(event, "UNC_CLOCKTICKS") != 0 && strcmp(event, "UNC_C_BOUNCE_CONTROL") != 0))) {
        enum upmu_status status = upmu_event_parse(&pmu.pmu, name, &encoded, NULL);

        if (status != UPMU_OK) {
            print_message("    %s\t%s\t%s\n", tally->table, name, upmu_status_text(status));
            unexplained++;
        }
        ours.select = encoded.config;
        ours.filter = encoded.config1;
        tally->encoded++;
    }
    if (ours.select == theirs.select && ours.filter == theirs.filter) {
        tally->agreed++;
        return;
    }
    snprintf(difference, sizeof difference, "select^%#llx filter^%#llx",
             (unsigned long long)(ours.select ^ theirs.select), (unsigned long long)(ours.filter ^ theirs.filter));
    if (oracle_exceptions_explain(&exceptions, tally->table, event, difference)) {
        tally->explained++;
        return;
    }
    print_message("    %s\t%s\t%s\tours %#llx %#llx\n", tally->table, event, difference,
                  (unsigned long long)ours.select, (unsigned long long)ours.filter);
    unexplained++;
}

/* A filter of a client's C-box chooses what a unit mask counts: both are a name of ours. */
static void compare_with_filters(struct tally *tally, int event, const pfm_event_info_t *info, const char *mask)
{
    char text[TEXT_SIZE];

    for (int i = 0; i < info->nattrs; i++) {
        pfm_event_attr_info_t attribute;

        memset(&attribute, 0, sizeof attribute);
        attribute.size = sizeof attribute;
        assert_int_equal(pfm_get_event_attr_info(event, i, PFM_OS_NONE, &attribute), PFM_SUCCESS, i);
        if (attribute.type == PFM_ATTR_UMASK && strstr(attribute.name, "_FILTER") && !strstr(mask, "_FILTER")) {
            snprintf(text, sizeof text, "%s:%s:%s", info->name, mask, attribute.name);
            compare(tally, text);
        }
    }
}

static void compare_table(const pfm_pmu_info_t *table, struct tally *tally)
{
    char text[TEXT_SIZE];

    for (int event = table->first_event; event != -1; event = pfm_get_event_next(event)) {
        pfm_event_info_t info;

        memset(&info, 0, sizeof info);
        info.size = sizeof info;
        assert_int_equal(pfm_get_event_info(event, PFM_OS_NONE, &info), PFM_SUCCESS);
        compare(tally, info.name);
        for (int i = 0; i < info.nattrs; i++) {
            pfm_event_attr_info_t attribute;

            memset(&attribute, 0, sizeof attribute);
            attribute.size = sizeof attribute;
            assert_int_equal(pfm_get_event_attr_info(event, i, PFM_OS_NONE, &attribute), PFM_SUCCESS, i);
            if (attribute.type != PFM_ATTR_UMASK)
                continue;
            snprintf(text, sizeof text, "%s:%s", info.name, attribute.name);
            compare(tally, text);
            compare_with_filters(tally, event, &info, attribute.name);
        }
    }
}

/* The table of a type's first unit: names of units of one type differ in their number. */
static bool is_first_of_its_type(const char *table)
{
    static char before[TEXT_SIZE];
    size_t length = strlen(table);
    bool same;

    while (length && table[length - 1] >= '0' && table[length - 1] <= '9')
        length--;
    same = strlen(before) == length && strncmp(before, table, length) == 0;
    snprintf(before, sizeof before, "%.*s", (int)length, table);
    return !same;
}

static void names_mean_what_they_mean_to_libpfm4(void **state)
{
    struct tally sum = {"all", 0, 0, 0, 0, 0};
    unsigned tables = 0;

    (void)state;
    for (int i = 0; i < PFM_PMU_MAX; i++) {
        struct tally tally = {NULL, 0, 0, 0, 0, 0};
        pfm_pmu_info_t info;

        memset(&info, 0, sizeof info);
        info.size = sizeof info;
        if (pfm_get_pmu_info((pfm_pmu_t)i, &info) != PFM_SUCCESS || info.type != PFM_PMU_TYPE_UNCORE ||
            !is_first_of_its_type(info.name))
            continue;
        tally.table = info.name;
        tables++;
        compare_table(&info, &tally);
        print_message("    %s: %u names, upmu has %u (%u encoded), %u agree, %u differ for a reason\n", info.name,
                      tally.theirs, tally.both, tally.encoded, tally.agreed, tally.explained);
        sum.theirs += tally.theirs;
        sum.both += tally.both;
        sum.encoded += tally.encoded;
        sum.agreed += tally.agreed;
        sum.explained += tally.explained;
    }
    print_message("    %u tables: %u names, upmu has %u (%u encoded), %u agree, %u differ for a reason\n", tables,
                  sum.theirs, sum.both, sum.encoded, sum.agreed, sum.explained);
    assert_compare(tables, >, 60);
    assert_compare(sum.both, >, 1000);
    assert_int_equal(wrong_unit, 0);
    assert_int_equal(unexplained, 0);
}

/* Runs last.  Rows that a line explains: with the built-in catalogues / with the complete lists. */
static void every_exception_explains_its_rows_by_a_second_source(void **state)
{
    unsigned wrong = 0;

    (void)state;
    for (unsigned i = 0; i < exceptions.count; i++) {
        const struct oracle_exception *exception = &exceptions.line[i];
        const char *rows = blob ? strchr(exception->rows, '/') : exception->rows;

        assert_non_null(rows);
        if (exception->used != strtoul(blob ? rows + 1 : rows, NULL, 10)) {
            print_message("    unit_exceptions.tsv:%u: %s::%s explains %u rows, not %s\n", exception->number,
                          exception->pmu, exception->pattern, exception->used, exception->rows);
            wrong++;
        }
        assert_true(exception->reason[0] && exception->source[0] && oracle_exception_is_ours(exception));
        assert_null(strstr(exception->source, "libpfm4"));
    }
    assert_int_equal(wrong, 0);
}

static int start(void **state)
{
    const char *path = getenv("UPMU_UNITS_BLOB");
    FILE *file = path ? fopen(path, "rb") : NULL;
    size_t size;

    (void)state;
    if (file) {
        blob = malloc(1 << 20);
        size = blob ? fread(blob, 1, 1 << 20, file) : 0;
        (void)fclose(file);
        if (upmu_catalog_load(blob, size) != UPMU_OK)
            return 1;
    }
    if (setenv("LIBPFM_ENCODE_INACTIVE", "1", 1) != 0 || pfm_initialize() != PFM_SUCCESS)
        return 1;
    return oracle_exceptions_read(&exceptions, UPMU_SOURCE_DIR "/tests/oracle/unit_exceptions.tsv") ? 0 : 1;
}

static int stop(void **state)
{
    (void)state;
    free(blob);
    pfm_terminate();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_mean_what_they_mean_to_libpfm4),
        cmocka_unit_test(every_exception_explains_its_rows_by_a_second_source),
    };

    return cmocka_run_group_tests_name("oracle_units", tests, start, stop);
}
