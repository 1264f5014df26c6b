/* SPDX-License-Identifier: MIT */
/*
 * What becomes of an event's name in four ways: a PMU on paper (upmu_pmu_by_name), a
 * CPU that was detected, and either with a file of catalogues.  Driven by
 * tests/build/check_records.py, which knows from the published records what must come out.
 *
 * Input lines, tab-separated:
 *   cpu SIGNATURE CORE A0 A1 A2 A3 X0 X1 X2 X3 FILE   leaf 1 EAX, leaf 1AH EAX, leaf 0AH, subleaf 0 EAX EBX
 *                                and subleaf 1 EAX EBX of leaf 23H, a packed file or "-"
 *   event NAME
 * Output lines: "cpu PMU CATALOGUE CATALOGUE-OF-FILE" (or "cpu - STATUS"), and for an event one per way:
 *   way STATUS COUNTERS GENERAL ADDRESS=VALUE...
 * where each ADDRESS=VALUE is a register that a session with this event alone would write.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <upmu/catalogs.h>
#include <upmu/pmu.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/upmu.h>

#define WRITES 64
#define MSRS 0x2000u

static struct {
    uint32_t signature, core, leaf_a[4], leaf_23[4];
    uint64_t msr[MSRS];
} fake;

/* Registers are memory; those that write counters in full width are the counters. */
static uint32_t stored(uint32_t msr)
{
    return msr >= 0x4c1 && msr < 0x4d1 ? msr - 0x400 : msr;
}

static bool fake_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    (void)context;
    msr = stored(msr);
    *out_value = msr < MSRS ? fake.msr[msr] : 0;
    return true;
}

static bool fake_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    (void)context;
    msr = stored(msr);
    if (msr < MSRS)
        fake.msr[msr] = value;
    return true;
}

static void fake_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    static const uint32_t vendor[4] = {0x23, 0x756e6547, 0x6c65746e, 0x49656e69};

    (void)context;
    memset(out, 0, 4 * sizeof out[0]);
    if (leaf == 0)
        memcpy(out, vendor, sizeof vendor);
    if (leaf == 1) {
        out[0] = fake.signature;
        out[2] = 1u << 15; /* PERF_CAPABILITIES */
        out[3] = 1u << 5 | 1u << 9;
    }
    if (leaf == 7 && subleaf == 0) {
        out[0] = 1;
        out[1] = 1u << 11; /* transactions */
        out[3] = fake.core != 0 ? 1u << 15 : 0;
    }
    if (leaf == 7 && subleaf == 1 && fake.leaf_23[0] != 0)
        out[0] = 1u << 8; /* leaf 23H */
    if (leaf == 0xa)
        memcpy(out, fake.leaf_a, sizeof fake.leaf_a);
    if (leaf == 0x1a && subleaf == 0)
        out[0] = fake.core;
    if (leaf == 0x23 && subleaf == 0)
        memcpy(out, fake.leaf_23, 2 * sizeof out[0]);
    if (leaf == 0x23 && subleaf == 1)
        memcpy(out, fake.leaf_23 + 2, 2 * sizeof out[0]);
}

static const struct upmu_port port = {
    .rdmsr = fake_rdmsr, .wrmsr = fake_wrmsr, .cpuid = fake_cpuid, .msr_faults_are_safe = true};

static struct upmu_machine machine, imported;
static struct upmu_cpu cpu, cpu_imported;
static struct upmu_pmu paper, paper_file;
static struct upmu_session session;
static bool up;

/* Register words of the event alone, on the lowest general counter that may count it, else the lowest. */
static void show(const char *way, struct upmu_machine *of, const struct upmu_pmu *pmu, const char *name)
{
    struct upmu_write writes[WRITES];
    struct upmu_dry_run dry = {writes, WRITES, 0};
    struct upmu_event event;
    struct upmu_why why;
    enum upmu_status status = upmu_event_parse(pmu, name, &event, &why);
    uint32_t candidates;
    size_t i, later;

    printf("%s\t%s", way, status == UPMU_OK ? "ok" : upmu_status_text(status));
    if (status == UPMU_OK) {
        printf("\t%x\t%x", event.counters, pmu->general);
        candidates = (event.counters & pmu->general) != 0 ? event.counters & pmu->general : event.counters;
        event.counters = candidates & (0u - candidates);
        status = upmu_session_init(&session, of);
        if (status == UPMU_OK)
            status = upmu_set_add_event(&session.set, &event, NULL);
        if (status == UPMU_OK)
            status = upmu_session_dry_run(&session, pmu, &dry);
        if (status != UPMU_OK)
            printf("\t%s", upmu_status_text(status));
        for (i = 0; i < dry.count && i < WRITES; i++) {
            for (later = i + 1; later < dry.count && writes[later].address != writes[i].address; later++)
                continue;
            if (later >= dry.count)
                printf("\t%x=%llx", writes[i].address, (unsigned long long)writes[i].value);
        }
    }
    printf("\n");
}

static void *slurp(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    void *bytes;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        exit(2);
    *out_size = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(*out_size + 1);
    if (bytes == NULL || fread(bytes, 1, *out_size, file) != *out_size)
        exit(2);
    fclose(file);
    return bytes;
}

static enum upmu_status bring_up(struct upmu_machine *of, struct upmu_cpu *on)
{
    enum upmu_status status;

    memset(fake.msr, 0, sizeof fake.msr);
    fake.msr[0x345] = 1u << 13 | 1u << 15; /* full-width writes, PERF_METRICS */
    memset(of, 0, sizeof *of);
    memset(on, 0, sizeof *on);
    status = upmu_machine_init(of, &port);
    return status == UPMU_OK ? upmu_cpu_init(on, of, NULL) : status;
}

static void new_cpu(char *line)
{
    static void *file;
    char path[400], catalogue[80];
    enum upmu_status status;
    unsigned i;
    size_t size;

    if (sscanf(line, "%x %x %x %x %x %x %x %x %x %x %399s", &fake.signature, &fake.core, &fake.leaf_a[0],
               &fake.leaf_a[1], &fake.leaf_a[2], &fake.leaf_a[3], &fake.leaf_23[0], &fake.leaf_23[1], &fake.leaf_23[2],
               &fake.leaf_23[3], path) != 11)
        exit(2);
    status = bring_up(&machine, &cpu);
    if (status == UPMU_OK)
        status = bring_up(&imported, &cpu_imported);
    free(file);
    file = NULL;
    if (status == UPMU_OK && strcmp(path, "-") != 0) {
        file = slurp(path, &size);
        status = upmu_catalog_load(file, size);
        for (i = 0; status == UPMU_OK && i < imported.pmu_count; i++)
            status = upmu_pmu_import(&imported.pmu[i], file);
    }
    up = status == UPMU_OK;
    if (!up) {
        printf("cpu\t-\t%s\n", upmu_status_text(status));
        return;
    }
    snprintf(catalogue, sizeof catalogue, "%s", upmu_catalog_name(machine.pmu[0].catalog));
    if (upmu_pmu_by_name(&paper, catalogue) != UPMU_OK && upmu_pmu_by_name(&paper, machine.pmu[0].name) != UPMU_OK)
        exit(2);
    paper_file = paper;
    if (file != NULL && upmu_pmu_import(&paper_file, file) != UPMU_OK)
        paper_file.imported = imported.pmu[0].imported;
    printf("cpu\t%s\t%s\t%s\t%s\n", machine.pmu[0].name, catalogue, upmu_catalog_name(paper.catalog),
           imported.pmu[0].imported != NULL ? upmu_catalog_name(imported.pmu[0].imported) : "-");
}

int main(void)
{
    static char line[1000];

    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "cpu\t", 4) == 0)
            new_cpu(line + 4);
        if (up && strncmp(line, "event\t", 6) == 0) {
            show("paper", &machine, &paper, line + 6);
            show("detected", &machine, &machine.pmu[0], line + 6);
            show("file", &imported, &imported.pmu[0], line + 6);
            show("paper-file", &imported, &paper_file, line + 6);
        }
        fflush(stdout);
    }
    return 0;
}
