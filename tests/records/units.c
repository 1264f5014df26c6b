/* SPDX-License-Identifier: MIT */
/*
 * What becomes of the name of a unit's event in three ways: with the built-in catalogue, with the catalogue of a file
 * itself, and after the run-time import of that file.  Driven by tests/build/check_units.py, which knows from the
 * published records what must come out.
 *
 * Input lines, tab-separated:
 *   file PATH        the packed file of the model, or "-"
 *   use INDEX COUNTERS   the type of units (upmu_uncore_pmu_at()) that the next events are for; a type whose counters
 *                    a processor's table tells has this many
 *   event NAME
 *   names            those of the built-in list that the type takes
 * Output lines:
 *   "pmu INDEX NAME BOX COUNTERS TITLE" for each type, once at the begin, then "end"
 *   for "file": "file STATUS"; for "use": "use STATUS", that of the import
 *   for "names": "name NAME" for each, then "names"
 *   for an event one per way: WAY STATUS CANDIDATES ADDRESS=VALUE...
 * where each ADDRESS=VALUE is a register, by its offset in the box, that a session with this event alone writes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/upmu.h>

#include "backends/uncore/uncore_tables.h"

#define WRITES 64

/* A CPU with four counters, whose registers are memory: sessions need a machine, whichever units they are for. */
static uint64_t registers[0x2000];

static bool small_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    (void)context;
    *out_value = msr < sizeof registers / sizeof registers[0] ? registers[msr] : 0;
    return true;
}

static bool small_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    (void)context;
    if (msr < sizeof registers / sizeof registers[0])
        registers[msr] = value;
    return true;
}

static void small_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    static const uint32_t vendor[4] = {10, 0x756e6547, 0x6c65746e, 0x49656e69};

    (void)context;
    (void)subleaf;
    memset(out, 0, 4 * sizeof out[0]);
    if (leaf == 0)
        memcpy(out, vendor, sizeof vendor);
    if (leaf == 1) {
        out[0] = 0x506e3;
        out[3] = 1u << 5 | 1u << 9;
    }
    if (leaf == 10) {
        out[0] = 0x07300404;
        out[3] = 0x603;
    }
}

static const struct upmu_port port = {
    .rdmsr = small_rdmsr, .wrmsr = small_wrmsr, .cpuid = small_cpuid, .msr_faults_are_safe = true};
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_session session;
static struct upmu_uncore_pmu types[3]; /* one for each way */
static struct upmu_unit_list units = {.pmu = types, .pmu_capacity = 3, .pmu_count = 3};
static const char *const way_name[3] = {"built-in", "blob", "import"};
static void *file;

/* The registers that the event writes on the lowest counter that may count it. */
static void show(const char *way, const struct upmu_pmu *pmu, const char *name)
{
    struct upmu_write writes[WRITES];
    struct upmu_dry_run dry = {writes, WRITES, 0};
    struct upmu_event event;
    struct upmu_why why;
    enum upmu_status status = upmu_event_parse(pmu, name, &event, &why);

    printf("%s\t%s", way, status == UPMU_OK ? "ok" : upmu_status_text(status));
    if (status == UPMU_OK) {
        printf("\t%x", event.counters);
        status = upmu_session_init(&session, &machine);
        if (status == UPMU_OK)
            status = upmu_set_add_event(&session.set, &event, NULL);
        if (status == UPMU_OK)
            status = upmu_session_dry_run(&session, pmu, &dry);
        if (status != UPMU_OK)
            printf("\t%s", upmu_status_text(status));
        for (size_t i = 0; i < dry.count && i < WRITES; i++)
            printf("\t%s:%x=%llx", writes[i].name != NULL ? writes[i].name : "-", writes[i].address,
                   (unsigned long long)writes[i].value);
    }
    printf("\n");
}

static void show_names(const struct upmu_pmu *pmu)
{
    struct upmu_event_id id;
    struct upmu_event event;
    uint32_t cursor = 0;
    char name[160];

    while (pmu->catalog != NULL &&
           upmu_catalog_next(pmu->catalog, NULL, &cursor, &id, name, sizeof name, NULL) == UPMU_OK)
        if (upmu_event_parse(pmu, name, &event, NULL) == UPMU_OK)
            printf("name\t%s\n", name);
    printf("names\n");
}

static enum upmu_status load(const char *path)
{
    static void *bytes;
    FILE *stream;
    long size;

    free(bytes);
    file = bytes = NULL;
    if (strcmp(path, "-") == 0)
        return UPMU_OK;
    stream = fopen(path, "rb");
    if (stream == NULL || fseek(stream, 0, SEEK_END) != 0)
        exit(2);
    size = ftell(stream);
    rewind(stream);
    bytes = malloc((size_t)size + 1);
    if (bytes == NULL || fread(bytes, 1, (size_t)size, stream) != (size_t)size)
        exit(2);
    fclose(stream);
    file = bytes;
    return upmu_catalog_load(file, (size_t)size);
}

/* A processor's table says that boxes of this type have `counters` counters. */
static void set_counters(struct upmu_uncore_pmu *pmu, unsigned counters)
{
    struct upmu_uncore_found found;
    unsigned row = pmu->packed - 1u;
    char name[64];

    memcpy(&found, pmu->found, sizeof found);
    if (found.counters == 0)
        return;
    found.counters = (uint8_t)counters;
    snprintf(name, sizeof name, "%s", pmu->pmu.name);
    for (unsigned g = 0; g < upmu_uncore_generation_count; g++) {
        if (row < upmu_uncore_generations[g].first ||
            row >= (unsigned)upmu_uncore_generations[g].first + upmu_uncore_generations[g].rows)
            continue;
        upmu_uncore_make(g, row, &found, pmu);
        if (strcmp(pmu->pmu.name, name) == 0)
            return;
    }
    exit(2);
}

static enum upmu_status use(unsigned index, unsigned counters)
{
    for (unsigned way = 0; way < 3; way++) {
        memset(&types[way], 0, sizeof types[way]);
        if (!upmu_uncore_pmu_at(index, &types[way]))
            exit(2);
        set_counters(&types[way], counters);
        types[way].pmu.index = (uint8_t)(UPMU_UNIT_PMU + way);
    }
    if (file == NULL)
        return UPMU_OK;
    types[1].pmu.catalog = upmu_catalog_loaded(file, 0);
    return upmu_pmu_import(&types[2].pmu, file);
}

static enum upmu_status use_of(const char *text)
{
    unsigned index, counters;

    if (sscanf(text, "%u %u", &index, &counters) != 2)
        exit(2);
    return use(index, counters);
}

int main(void)
{
    static char line[1000];

    if (upmu_machine_init(&machine, &port) != UPMU_OK || upmu_cpu_init(&cpu, &machine, NULL) != UPMU_OK)
        return 2;
    for (unsigned i = 0; upmu_uncore_pmu_at(i, &types[0]); i++)
        printf("pmu\t%u\t%s\t%s\t%x\t%s\n", i, types[0].pmu.name, types[0].type->name, types[0].pmu.counters,
               types[0].pmu.title);
    machine.units = &units;
    printf("end\n");
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "file\t", 5) == 0)
            printf("file\t%s\n", upmu_status_text(load(line + 5)));
        if (strncmp(line, "use\t", 4) == 0)
            printf("use\t%s\n", upmu_status_text(use_of(line + 4)));
        if (strcmp(line, "names") == 0)
            show_names(&types[0].pmu);
        for (unsigned way = 0; way < 3 && strncmp(line, "event\t", 6) == 0; way++)
            show(way_name[way], &types[way].pmu, line + 6);
    }
    return 0;
}
