/* SPDX-License-Identifier: MIT */
/*
 * Names to register words (upmu_event_parse()): under callgrind, by tools/bench.py.
 *
 * name-own-MODEL: every name of a model that a listing shows, and of events with unit masks each mask and as
 * many of them together as it takes.  Skylake, and the models with the highest mean and worst of all.
 * name-upmu-MODEL, name-libpfm4-MODEL: libpfm4's names that both encode, in the same run; libpfm4 is loaded if
 * it is there.
 */
#include <stdbool.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <upmu/upmu.h>
#include "core/catalog/catalog.h"
#include "tests/bench/callgrind_count.h"

struct name {
    struct upmu_pmu pmu;
    char text[1000];
    bool encoded;
};

static void do_ours(void *argument)
{
    struct name *name = argument;
    struct upmu_event event;

    name->encoded = upmu_event_parse(&name->pmu, name->text, &event, NULL) == UPMU_OK;
}

/* ---- A model's own names ---- */

static void measure_own(struct name *name, const char *model)
{
    char figure[80];

    bench_count_run(do_ours, name);
    if (!name->encoded)
        return;
    snprintf(figure, sizeof figure, "name-own-%s", model);
    bench_count_name(figure);
}

/* An event with each of its masks, and with those together that it takes. */
static void measure_masks(struct name *name, const char *model, unsigned row, unsigned masks)
{
    const struct upmu_catalog *catalog = name->pmu.catalog;
    char base[UPMU_CATALOG_NAME], together[sizeof name->text - UPMU_CATALOG_NAME], mask[UPMU_CATALOG_NAME];
    struct upmu_event event;

    upmu_catalog_row_name(catalog, row, base, sizeof base);
    snprintf(together, sizeof together, "%s", base);
    for (unsigned i = 0; i < masks; i++) {
        enum upmu_status status;

        upmu_catalog_mask_name(catalog, row, i, mask, sizeof mask);
        snprintf(name->text, sizeof name->text, "%s:%s", together, mask);
        status = upmu_event_parse(&name->pmu, name->text, &event, NULL);
        if ((status == UPMU_OK || status == UPMU_ERR_MASK_REQUIRED) && strlen(name->text) < sizeof together)
            memcpy(together, name->text, strlen(name->text) + 1);
        snprintf(name->text, sizeof name->text, "%s:%s", base, mask);
        measure_own(name, model);
    }
    memcpy(name->text, together, sizeof together);
    measure_own(name, model);
}

static void measure_model(const char *model)
{
    static struct name name;
    const struct upmu_catalog *catalog;
    struct upmu_event_id id;
    struct upmu_row row;
    uint32_t cursor = 0;
    bool alias;

    if (upmu_pmu_by_name(&name.pmu, model) != UPMU_OK || !name.pmu.catalog)
        exit(1);
    catalog = name.pmu.catalog;
    while (upmu_catalog_next(catalog, NULL, &cursor, &id, name.text, sizeof name.text, &alias) == UPMU_OK)
        measure_own(&name, model);
    for (unsigned i = 0; i < upmu_catalog_rows(catalog); i++)
        if (upmu_catalog_row(catalog, i, &row) && row.mask_count)
            measure_masks(&name, model, i, row.mask_count);
}

static void measure_models(void)
{
    static const char *const models[] = {"skl", "clx", "nhm"};

    for (unsigned i = 0; i < sizeof models / sizeof models[0]; i++)
        measure_model(models[i]);
}

/* ---- Beside libpfm4 ---- */

#if __has_include(<perfmon/pfmlib.h>)
#include <perfmon/pfmlib.h>

static pfm_err_t (*initialize)(void);
static pfm_err_t (*pmu_info)(pfm_pmu_t pmu, pfm_pmu_info_t *out);
static pfm_err_t (*event_info)(int event, pfm_os_t os, pfm_event_info_t *out);
static int (*event_next)(int event);
static pfm_err_t (*attribute_info)(int event, int attribute, pfm_os_t os, pfm_event_attr_info_t *out);
static pfm_err_t (*encode)(const char *name, int levels, pfm_os_t os, void *arguments);

static void do_theirs(void *argument)
{
    struct name *name = argument;
    uint64_t codes[4] = {0};
    pfm_pmu_encode_arg_t arguments = {.codes = codes, .count = 4, .size = sizeof arguments};

    name->encoded = encode(name->text, PFM_PLM0 | PFM_PLM3, PFM_OS_NONE, &arguments) == PFM_SUCCESS;
}

/* Both libraries' cost of a name that both encode. */
static void measure(struct name *name, const char *pmu)
{
    static unsigned names;
    char figure[80];

    if (names++ % bench_every())
        return;
    do_ours(name);
    if (!name->encoded)
        return;
    do_theirs(name);
    if (!name->encoded)
        return;
    bench_count_run(do_ours, name);
    snprintf(figure, sizeof figure, "name-upmu-%s", pmu);
    bench_count_name(figure);
    bench_count_run(do_theirs, name);
    snprintf(figure, sizeof figure, "name-libpfm4-%s", pmu);
    bench_count_name(figure);
}

/* An event alone, with each of its unit masks, and with as many of them together as libpfm4 takes. */
static void measure_event(struct name *name, const char *pmu, const pfm_event_info_t *event)
{
    int start = snprintf(name->text, sizeof name->text, "%s::%s", pmu, event->name);
    char together[sizeof name->text];

    measure(name, pmu);
    memcpy(together, name->text, sizeof together);
    for (int i = 0; i < event->nattrs; i++) {
        pfm_event_attr_info_t mask = {.size = sizeof mask};
        size_t length = strlen(together);

        if (attribute_info(event->idx, i, PFM_OS_NONE, &mask) != PFM_SUCCESS || mask.type != PFM_ATTR_UMASK)
            continue;
        snprintf(name->text + start, sizeof name->text - (size_t)start, ":%s", mask.name);
        measure(name, pmu);
        snprintf(together + length, sizeof together - length, ":%s", mask.name);
        memcpy(name->text, together, sizeof together);
        do_theirs(name);
        if (!name->encoded)
            together[length] = 0;
        name->text[start] = 0;
    }
    memcpy(name->text, together, sizeof together);
    measure(name, pmu);
}

static void measure_table(pfm_pmu_t table)
{
    pfm_pmu_info_t pmu = {.size = sizeof pmu};
    static struct name name;

    if (pmu_info(table, &pmu) != PFM_SUCCESS || upmu_pmu_by_name(&name.pmu, pmu.name) != UPMU_OK)
        return;
    for (int event = pmu.first_event; event != -1; event = event_next(event)) {
        pfm_event_info_t info = {.size = sizeof info};

        if (event_info(event, PFM_OS_NONE, &info) == PFM_SUCCESS)
            measure_event(&name, pmu.name, &info);
    }
}

static bool load(void)
{
    void *library = dlopen("libpfm.so.4", RTLD_NOW);

    if (!library || setenv("LIBPFM_ENCODE_INACTIVE", "1", 1) != 0)
        return false;
    *(void **)&initialize = dlsym(library, "pfm_initialize");
    *(void **)&pmu_info = dlsym(library, "pfm_get_pmu_info");
    *(void **)&event_info = dlsym(library, "pfm_get_event_info");
    *(void **)&event_next = dlsym(library, "pfm_get_event_next");
    *(void **)&attribute_info = dlsym(library, "pfm_get_event_attr_info");
    *(void **)&encode = dlsym(library, "pfm_get_os_event_encoding");
    return initialize && pmu_info && event_info && event_next && attribute_info && encode &&
           initialize() == PFM_SUCCESS;
}

int main(void)
{
    static const pfm_pmu_t tables[] = {PFM_PMU_INTEL_CORE, PFM_PMU_INTEL_NHM, PFM_PMU_INTEL_SKL, PFM_PMU_AMD64_K8_REVG,
                                       PFM_PMU_AMD64_FAM17H_ZEN2};

    measure_models();
    if (!load())
        return 0;
    for (unsigned i = 0; i < sizeof tables / sizeof tables[0]; i++)
        measure_table(tables[i]);
    return 0;
}

#else

int main(void)
{
    measure_models();
    return 0;
}

#endif
