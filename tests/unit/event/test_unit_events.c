/* SPDX-License-Identifier: MIT */
/*
 * Events of the built-in catalogues of units, encoded by the types of their units: each name gives the words of its
 * row, and each row has a type that counts it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/assertions.h"
#include <upmu/upmu.h>

#include "backends/uncore/uncore.h"
#include "backends/uncore/uncore_tables.h"
#include "core/catalog/catalog.h"

#define CATALOGUES 200u
#define ROWS 1024u

static bool encoded[CATALOGUES][ROWS]; /* by the catalogue's number and row */

/* The select as the guides lay it out. */
static uint64_t select_of(const struct upmu_row *row, const struct upmu_uncore_pmu *pmu)
{
    const char *catalogue = upmu_catalog_name(pmu->pmu.catalog), *unit = pmu->type->name;
    bool amd = strncmp(catalogue, "zen", 3) == 0 || strncmp(catalogue, "f1", 2) == 0;
    uint64_t select = (row->umask & 0xffu) << 8 | (uint64_t)row->cmask << 24, code = row->code;

    select |= (row->flags & UPMU_ROW_EDGE ? 1u << 18 : 0) | (row->flags & UPMU_ROW_INV ? 1u << 23 : 0);
    if (strstr(catalogue, "ex_uncore") && (strcmp(unit, "bbox") == 0 || strcmp(unit, "rbox") == 0))
        return code << 1; /* bits 5:1 */
    select |= code & 0xffu;
    if (amd)
        select |= code >> 8 << 32 | (uint64_t)(row->umask >> 8) << 24;
    else
        select |= code >> 8 << 21;
    if (row->msr == UPMU_ROW_SELECT_HIGH)
        select |= row->payload << 32;
    else if (strcmp(unit, "l3") == 0) /* all slices, all threads or cores */
        select |= catalogue[3] < '3' ? UINT64_C(0xff0f) << 48 : UINT64_C(0x300c) << 44;
    return select;
}

/* Units of event files for which no source has registers. */
static bool has_no_type(const char *catalogue, unsigned unit)
{
    static const struct {
        const char *catalogue;
        unsigned unit;
    } none[] = {{"snbep_uncore", 12}, {"gnr_uncore", 51}, {"lnl_uncore", 43}};

    for (unsigned i = 0; i < sizeof none / sizeof none[0]; i++)
        if (strcmp(none[i].catalogue, catalogue) == 0 && none[i].unit == unit)
            return true;
    return false;
}

static unsigned wrong;

/* A generation's processor lacks the event of this row of its list. */
static bool is_of_another_processor(unsigned generation, unsigned row)
{
    for (unsigned i = 0; i < upmu_uncore_absent_count; i++)
        if (upmu_uncore_absent[i].generation == generation && row >= upmu_uncore_absent[i].first &&
            row < upmu_uncore_absent[i].first + (unsigned)upmu_uncore_absent[i].rows)
            return true;
    return false;
}

static void check_type(unsigned generation, const struct upmu_uncore_pmu *pmu)
{
    const struct upmu_catalog *catalog = pmu->pmu.catalog;
    char name[UPMU_CATALOG_NAME];

    for (unsigned i = 0; i < upmu_catalog_rows(catalog); i++) {
        struct upmu_event event;
        struct upmu_row row;
        enum upmu_status status;
        uint64_t filter;

        assert_true(upmu_catalog_row(catalog, i, &row), i);
        upmu_catalog_row_name(catalog, i, name, sizeof name);
        if (row.unit != pmu->type->number)
            continue;
        encoded[upmu_catalog_number(catalog)][i] = true;
        filter = row.msr == UPMU_ROW_FILTER ? row.payload : 0;
        /* Bits that are 1 at all times (Linux's fix of 2016 by Intel, ec336c879c3b). */
        if (strcmp(upmu_catalog_name(catalog), "knl_uncore") == 0 && strstr(name, "UNC_H_TOR_"))
            filter = UINT64_C(0x2300000000);
        status = upmu_event_parse(&pmu->pmu, name, &event, NULL);
        if (status == UPMU_ERR_UNSUPPORTED && filter && !pmu->type->filters)
            continue; /* registers that the type lacks: NHM-EX M- and R-boxes */
        if (status == UPMU_ERR_UNSUPPORTED && is_of_another_processor(generation, i))
            continue;
        if (is_of_another_processor(generation, i)) {
            print_message("    %s %s: of another processor\n", pmu->pmu.name, name);
            wrong++;
        } else if (status != UPMU_OK && status != UPMU_ERR_MASK_REQUIRED) {
            print_message("    %s %s: %s\n", pmu->pmu.name, name, upmu_status_text(status));
            wrong++;
        } else if (status == UPMU_OK && !row.mask_count &&
                   (event.config != select_of(&row, pmu) || event.config1 != filter)) {
            print_message("    %s %s: %#llx %#llx, not %#llx %#llx\n", pmu->pmu.name, name,
                          (unsigned long long)event.config, (unsigned long long)event.config1,
                          (unsigned long long)select_of(&row, pmu), (unsigned long long)filter);
            wrong++;
        }
    }
}

static void every_event_is_encoded_by_its_unit(void **state)
{
    const struct upmu_catalog *catalog;

    (void)state;
    for (unsigned g = 0; g < upmu_uncore_generation_count; g++)
        for (unsigned r = 0; r < upmu_uncore_generations[g].rows; r++) {
            static const struct upmu_uncore_found found = {.counters = 8, .width = 48, .select = 8, .counter = 64};
            static struct upmu_uncore_pmu pmu;
            unsigned row = upmu_uncore_generations[g].first + r;

            if (row == upmu_uncore_other)
                continue;
            upmu_uncore_make(g, row, NULL, &pmu);
            if (!pmu.type->counters && pmu.type->style == UPMU_UNIT_DISCOVERED) /* a table of the machine says */
                upmu_uncore_make(g, row, &found, &pmu);
            if (pmu.pmu.catalog)
                check_type(g, &pmu);
        }
    for (unsigned i = 0; (catalog = upmu_catalog_builtin(i)) != NULL; i++) {
        for (unsigned row = 0; row < upmu_catalog_rows(catalog); row++) {
            unsigned unit = upmu_catalog_row_unit(catalog, row);

            if (unit && !encoded[upmu_catalog_number(catalog)][row] && !has_no_type(upmu_catalog_name(catalog), unit)) {
                char name[UPMU_CATALOG_NAME];

                upmu_catalog_row_name(catalog, row, name, sizeof name);
                print_message("    %s %s: no type of unit %u\n", upmu_catalog_name(catalog), name, unit);
                wrong++;
            }
        }
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_is_encoded_by_its_unit),
    };

    return cmocka_run_group_tests_name("unit_events", tests, NULL, NULL);
}
