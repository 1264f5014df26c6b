/* SPDX-License-Identifier: MIT */
/*
 * Which CPU has which catalogue: the sources' own lines, CPUID as detection reads it,
 * and PMUs by the name of a catalogue.
 */
#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "core/hw/backend.h"
#include "core/catalog/catalog.h"
#include "tests/common/intel_leaves.h"

/* How many catalogues are for a CPU. */
static unsigned servants(const struct upmu_pmu *pmu)
{
    const struct upmu_catalog *catalog;
    unsigned count = 0;

    for (unsigned i = 0; (catalog = upmu_catalog_builtin(i)) != NULL; i++)
        count += upmu_catalog_serves(catalog, pmu);
    return count;
}

/* One "# cpu:" line; how many steppings it has. */
static unsigned check_cpu(const char *catalogue, const char *text)
{
    unsigned family, model, steppings, type, native, checked = 0;
    struct upmu_pmu pmu;

    assert_int_equal(sscanf(text, "# cpu: %u %x %x %x %u", &family, &model, &steppings, &type, &native), 5);
    assert_int_equal(upmu_pmu_by_name(&pmu, "ix86arch"), UPMU_OK);
    pmu.family = (uint16_t)family;
    pmu.model = (uint16_t)model;
    pmu.core_type = (uint8_t)type;
    pmu.native = (uint8_t)native;
    for (pmu.stepping = 0; pmu.stepping < 16; pmu.stepping++) {
        if (!(steppings >> pmu.stepping & 1u))
            continue;
        upmu_pmu_find_catalog(&pmu);
        if (strcmp(upmu_catalog_name(pmu.catalog), catalogue) != 0)
            fail_msg("%s %u: %s", text, pmu.stepping, upmu_catalog_name(pmu.catalog));
        assert_int_equal(servants(&pmu), 1);
        checked++;
    }
    return checked;
}

static void every_cpu_of_a_source_has_that_catalogue_and_no_other(void **state)
{
    DIR *folder = opendir(UPMU_SOURCE_DIR "/events");
    struct dirent *entry;
    unsigned checked = 0;

    (void)state;
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        char path[512], line[512], catalogue[32] = "";
        size_t length = strlen(entry->d_name);
        FILE *file;

        if (length < 4 || strcmp(entry->d_name + length - 4, ".tsv") != 0)
            continue;
        snprintf(path, sizeof path, "%s/events/%s", UPMU_SOURCE_DIR, entry->d_name);
        file = fopen(path, "r");
        assert_non_null(file);
        while (fgets(line, sizeof line, file) && (line[0] == '#' || line[0] == '\n')) {
            (void)sscanf(line, "# catalogue: %31s", catalogue);
            if (strncmp(line, "# cpu:", 6) == 0)
                checked += check_cpu(catalogue, line);
        }
        fclose(file);
    }
    closedir(folder);
    assert_compare(checked, >, 1000);
}

static void what_cpuid_says_leads_to_the_catalogue(void **state)
{
    static const struct {
        unsigned family, model, stepping;
        uint32_t core_type;
        const char *catalogue;
    } cases[] = {
        {6, 0x55, 4, 0, "skx"},
        {6, 0x55, 7, 0, "clx"},
        {6, 0x55, 11, 0, "clx"},
        {6, 0x5E, 3, 0, "skl"},
        {6, 0xA7, 1, 0, "rkl"},
        {6, 0x8C, 1, 0, "tgl"},
        {6, 0x56, 3, 0, "bdw_de"},
        {6, 0x2F, 2, 0, "wsm_ex"},
        {6, 0x85, 0, 0, "knl"},
        {6, 0x96, 1, 0, "ehl"},
        {6, 0x86, 7, 0, "tmt"},
        {6, 0xAF, 3, 0, "srf"},
        {6, 0xB6, 0, 0, "grr"},
        {6, 0xBE, 0, 0, "adl_grt"},
        {6, 0xBE, 0, 0x20000001, "adl_grt"},
        {6, 0x97, 2, 0x40000001, "adl_glc"},
        {6, 0x97, 2, 0x20000001, "adl_grt"},
        {6, 0x97, 2, 0, "adl_glc"},
        {6, 0xBD, 1, 0x40000003, "lnc"},
        {6, 0xBD, 1, 0x20000003, "skt"},
        {6, 0xC5, 0, 0x40000003, "arl_lnc"},
        {6, 0xC5, 0, 0x20000003, "arl_skt"},
        {6, 0xC5, 0, 0x20000002, "arl_cmt"},
        {6, 0xC6, 0, 0x20000003, "arl_skt"},
        {6, 0xB5, 0, 0x40000002, "mtl_rwc"}, /* no table has these: the model's, or the architectural one */
        {6, 0x75, 0, 0, "slm"},
        {6, 0xD7, 0, 0, "adl_glc"},
        {6, 0xEE, 0, 0, "ix86arch"},
        {6, 0xCC, 0, 0x40000004, "cgc"},
        {6, 0xD5, 1, 0x20000004, "dkt"},
        {6, 0xDD, 0, 0x20000004, "cwf"},
        {18, 0x01, 0, 0x40000005, "cyc"},
        {18, 0x03, 0, 0x20000005, "awf"},
        {19, 0x01, 0, 0x40000006, "ix86arch"},
        {25, 0x55, 4, 0, "ix86arch"},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct leaves leaves = {.family = cases[i].family,
                                .model = cases[i].model,
                                .stepping = cases[i].stepping,
                                .core_type = cases[i].core_type};
        struct upmu_pmu pmu;

        leaves_perfmon(&leaves, 5, 6, 3);
        assert_true(leaves_detect(&leaves, &pmu));
        upmu_pmu_find_catalog(&pmu);
        if (strcmp(upmu_catalog_name(pmu.catalog), cases[i].catalogue) != 0)
            fail_msg("%u %#x %u: %s, not %s", cases[i].family, cases[i].model, cases[i].stepping,
                     upmu_catalog_name(pmu.catalog), cases[i].catalogue);
    }
}

static void another_vendor_with_the_same_numbers_has_none(void **state)
{
    struct upmu_backend other = {.name = "other", .vendor = UPMU_VENDOR_AMD};
    struct upmu_pmu pmu;

    (void)state;
    assert_int_equal(upmu_pmu_by_name(&pmu, "skx"), UPMU_OK);
    assert_int_equal(servants(&pmu), 1);
    pmu.backend = &other;
    assert_int_equal(servants(&pmu), 0);
}

static void a_pmu_is_found_by_the_name_of_its_catalogue(void **state)
{
    static const struct {
        const char *name, *pmu, *catalogue;
        unsigned model, stepping, type, native;
    } cases[] = {
        {"rkl", "icl", "rkl", 0xA7, 0, 0, 0},
        {"Rocketlake", "icl", "rkl", 0xA7, 0, 0, 0},
        {"arl_cmt", "mtl_cmt", "arl_cmt", 0xC5, 0, 0x20, 2},
        {"arl_lnc", "lnc", "arl_lnc", 0xC5, 0, 0x40, 3},
        {"wsm_ex", "wsm_dp", "wsm_ex", 0x2F, 0, 0, 0},
        {"goldencove", "adl_glc", "adl_glc", 0x97, 0, 0x40, 1},
        {"ehl", "tmt", "ehl", 0x96, 0, 0, 0},
        {"cascadelake", "clx", "clx", 0x55, 5, 0, 0},
        {"cwf", "dkt", "cwf", 0xDD, 0, 0, 0},
        {"awf", "awf", "awf", 0x01, 0, 0x20, 5},
        {"darkmont", "dkt", "dkt", 0xCC, 0, 0x20, 4},
    };
    struct upmu_pmu pmu;

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(upmu_pmu_by_name(&pmu, cases[i].name), UPMU_OK, i);
        assert_string_equal(pmu.name, cases[i].pmu);
        assert_string_equal(upmu_catalog_name(pmu.catalog), cases[i].catalogue);
        assert_int_equal(pmu.model, cases[i].model, i);
        assert_int_equal(pmu.stepping, cases[i].stepping, i);
        assert_int_equal(pmu.core_type, cases[i].type, i);
        assert_int_equal(pmu.native, cases[i].native, i);
    }
    assert_int_equal(upmu_pmu_by_name(&pmu, "clx"), UPMU_OK);
    assert_string_equal(upmu_catalog_name(pmu.catalog), "clx");
    assert_int_equal(upmu_pmu_by_name(&pmu, "rk"), UPMU_ERR_NO_SUCH_PMU);
}

/* The select word that a row means, put together from its fields, with both privileges. */
static uint64_t word_of(const struct upmu_row *row)
{
    uint64_t word = row->code | (uint64_t)(row->umask & 0xffu) << 8 | (uint64_t)(row->umask >> 8) << 40 | 0x30000;

    if (row->flags & UPMU_ROW_CMASK)
        word |= (uint64_t)row->cmask << 24;
    word |= row->flags & UPMU_ROW_EDGE ? UINT64_C(1) << 18 : 0;
    word |= row->flags & UPMU_ROW_ANY ? UINT64_C(1) << 21 : 0;
    word |= row->flags & UPMU_ROW_INV ? UINT64_C(1) << 23 : 0;
    return word;
}

/*
 * Every event of every catalogue that a backend knows is encoded under its name, with a counter.
 * Catches: a field of a row that is lost on its way to the select word, at whatever bit it stands.
 */
static void every_event_of_every_intel_model_is_encoded_by_name(void **state)
{
    const char *name;
    unsigned events = 0, models = 0, refused = 0, extended = 0;

    (void)state;
    for (unsigned i = 0; (name = upmu_pmu_known(i)) != NULL; i++) {
        struct upmu_pmu pmu;
        uint32_t cursor = 0;
        struct upmu_event_id id;
        char text[128], again[256];
        bool alias;

        assert_int_equal(upmu_pmu_by_name(&pmu, name), UPMU_OK);
        if (pmu.backend != &upmu_x86_core_backend || strcmp(upmu_catalog_name(pmu.catalog), "ix86arch") == 0)
            continue;
        models++;
        while (upmu_catalog_next(pmu.catalog, NULL, &cursor, &id, text, sizeof text, &alias) == UPMU_OK) {
            struct upmu_event event, back;
            struct upmu_row row;
            enum upmu_status status = upmu_event_parse(&pmu, text, &event, NULL);

            if (status == UPMU_ERR_UNSUPPORTED || status == UPMU_ERR_MASK_REQUIRED || status == UPMU_ERR_BAD_VALUE) {
                if (!refused++ || getenv("SHOW_REFUSED"))
                    print_message("%s on %s: %s\n", text, name, upmu_status_text(status));
                continue; /* CPUID says that there is none; no event by itself */
            }
            if (status != UPMU_OK)
                fail_msg("%s on %s: %s", text, name, upmu_status_text(status));
            assert_int_equal(event.id.row, id.row);
            assert_int_equal(upmu_catalog_merge(pmu.catalog, event.id, &row, NULL), UPMU_OK);
            if (!(row.flags & UPMU_ROW_GENERIC) && event.config != word_of(&row)) /* AAJ80 replaces branch-misses */
                fail_msg("%s on %s: %#" PRIx64 ", not %#" PRIx64, text, name, event.config, word_of(&row));
            extended += row.umask > 0xff;
            assert_true(event.counters & pmu.counters);
            upmu_event_format(&pmu, &event, again, sizeof again);
            assert_int_equal(upmu_event_parse(&pmu, again, &back, NULL), UPMU_OK);
            assert_memory_equal(&back, &event, sizeof event);
            events++;
        }
    }
    print_message("%u events of %u PMUs, %u refused\n", events, models, refused);
    assert_true(models >= 54 && events > 20500 && refused < 70 && extended >= 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cpu_of_a_source_has_that_catalogue_and_no_other),
        cmocka_unit_test(what_cpuid_says_leads_to_the_catalogue),
        cmocka_unit_test(another_vendor_with_the_same_numbers_has_none),
        cmocka_unit_test(a_pmu_is_found_by_the_name_of_its_catalogue),
        cmocka_unit_test(every_event_of_every_intel_model_is_encoded_by_name),
    };

    return cmocka_run_group_tests_name("catalog_cpu", tests, NULL, NULL);
}
