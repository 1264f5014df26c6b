/* SPDX-License-Identifier: MIT */
/*
 * Start, stop, read and the handler with hooks that do nothing, and lookups of every
 * name of every catalogue: run under callgrind by tools/bench.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <upmu/upmu.h>
#include "core/catalog/catalog_table.h"
#include "models/sim/sim.h"
#include "tests/bench/callgrind_count.h"

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_session session;
static struct upmu_region region;
static struct upmu_count counts[UPMU_SET_EVENTS];
static uint64_t ring[512];
static uint64_t pretended_status;
static enum upmu_status last_status;
static enum upmu_pmi last_answer;

#define EMPTY_CPU (&cpu)
#define EMPTY_READ pretended_status
#define EMPTY_CLOCK 1000000
#include "tests/bench/empty_hooks.h"

static void must(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

/* ---- Hooks that cost next to nothing ---- */

static bool empty_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    (void)context, (void)index;
    *out_value = 7;
    return true;
}

static void empty_rearm(void *context)
{
    (void)context;
}

/* From here on the model is out of it. */
static void empty_the_hooks(void)
{
    empty_hooks(&sim.port);
    sim.port.rdpmc = empty_rdpmc;
    sim.port.pmi_rearm = empty_rearm;
}

/* ---- Operations ---- */

static void do_start(void *argument)
{
    last_status = upmu_session_start(argument);
}

static void do_stop(void *argument)
{
    last_status = upmu_session_stop(argument);
}

static void do_read(void *argument)
{
    struct upmu_session *read = argument;

    last_status = upmu_set_read(&read->set, 0, 5, counts);
}

static void do_region_begin(void *argument)
{
    last_status = upmu_region_begin(argument);
}

static void do_region_end(void *argument)
{
    last_status = upmu_region_end(argument);
}

static void do_interrupt(void *argument)
{
    struct upmu_frame frame = {.ip = 0x1000, .sp = 0x2000};
    last_answer = upmu_pmi_handle(argument, &frame);
}

static void measure(const char *name, void (*function)(void *argument), void *argument)
{
    bench_count_run(function, argument);
    must(last_status == UPMU_OK, name);
    bench_count_name(name);
}

static void begin(const char *profile)
{
    upmu_sim_init(&sim, upmu_sim_profile(profile), 1);
    cpu = (struct upmu_cpu){0};
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    must(upmu_machine_init(&machine, upmu_sim_port(&sim)) == UPMU_OK, "machine");
    must(upmu_cpu_init(&cpu, &machine, NULL) == UPMU_OK, "cpu");
}

static void measure_counting(void)
{
    begin("skl");
    must(upmu_session_init(&session, &machine) == UPMU_OK &&
             upmu_set_add(&session.set, "instructions,branches,branch-misses,cache-references,cache-misses", NULL) ==
                 UPMU_OK &&
             upmu_session_attach_cpu(&session, &cpu) == UPMU_OK,
         "session");
    empty_the_hooks();
    measure("start-5-events", do_start, &session);
    measure("read-5-events", do_read, &session);
    measure("stop-5-events", do_stop, &session);

    begin("skl");
    must(upmu_region_open(&region, &cpu, "instructions,cycles,branch-misses") == UPMU_OK, "region");
    empty_the_hooks();
    measure("region-begin-3-events", do_region_begin, &region);
    measure("region-end-3-events", do_region_end, &region);
}

static void measure_interrupt(void)
{
    const struct upmu_sampling sampling = {.period = 100000};
    begin("skl");
    must(upmu_session_init(&session, &machine) == UPMU_OK &&
             upmu_session_ring(&session, ring, sizeof ring) == UPMU_OK &&
             upmu_set_add(&session.set, "branches", &sampling) == UPMU_OK &&
             upmu_set_add(&session.set, "instructions,cycles,branch-misses,cache-misses", NULL) == UPMU_OK &&
             upmu_session_attach_cpu(&session, &cpu) == UPMU_OK && upmu_session_start(&session) == UPMU_OK,
         "sampling");
    empty_the_hooks();
    /* The status register says counter 0…3 overflowed; the value 7 proves it for the one that samples. */
    pretended_status = 0xf;
    bench_count_run(do_interrupt, &cpu);
    must(last_answer == UPMU_PMI_HANDLED, "interrupt not handled");
    bench_count_name("interrupt-1-of-5-events");
    pretended_status = 0;
}

/* ---- Lookups ---- */

struct lookup {
    const struct upmu_catalog *catalog;
    char name[256];
    size_t length;
    struct upmu_event_id id;
    enum upmu_status status;
};

static void do_lookup(void *argument)
{
    struct lookup *lookup = argument;
    lookup->status = upmu_catalog_lookup(lookup->catalog, lookup->name, lookup->length, &lookup->id);
}

static void do_row(void *argument)
{
    struct lookup *lookup = argument;
    struct upmu_row row;
    lookup->status = upmu_catalog_row(lookup->catalog, lookup->id.row, &row) ? UPMU_OK : UPMU_ERR_INVALID;
}

static void do_row_name(void *argument)
{
    struct lookup *lookup = argument;
    char name[256];
    lookup->status =
        upmu_catalog_row_name(lookup->catalog, lookup->id.row, name, sizeof name) ? UPMU_OK : UPMU_ERR_INVALID;
}

static void measure_lookup(struct lookup *lookup, const char *name, enum upmu_status expected, const char *figure)
{
    if (name != lookup->name)
        snprintf(lookup->name, sizeof lookup->name, "%s", name);
    lookup->length = strlen(lookup->name);
    bench_count_run(do_lookup, lookup);
    must(lookup->status == expected, name);
    bench_count_name(figure);
}

static void measure_by_id(struct lookup *lookup)
{
    bench_count_run(do_row, lookup);
    must(lookup->status == UPMU_OK, "row");
    bench_count_name("row");
    bench_count_run(do_row_name, lookup);
    must(lookup->status == UPMU_OK, "name");
    bench_count_name("row-name");
}

/* No name becomes another one by it. */
static char other_letter(char last)
{
    return last == 'j' || last == 'J' ? 'q' : 'j';
}

/* Every name as listed, folded, and with its last letter changed, which is a miss. */
static void measure_every_lookup(struct lookup *lookup)
{
    char listed[256];
    struct upmu_event_id id;
    unsigned every = bench_every(), names = 0;
    for (uint32_t cursor = 0;
         upmu_catalog_next(lookup->catalog, NULL, &cursor, &id, listed, sizeof listed, NULL) == UPMU_OK;) {
        if (names++ % every)
            continue;
        measure_lookup(lookup, listed, UPMU_OK, "lookup-hit");
        measure_by_id(lookup);
        for (char *c = listed; *c; c++)
            *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c == '.' ? '-' : *c);
        measure_lookup(lookup, listed, UPMU_OK, "lookup-folded");
        listed[strlen(listed) - 1] = other_letter(listed[strlen(listed) - 1]);
        measure_lookup(lookup, listed, UPMU_ERR_NO_SUCH_EVENT, "lookup-miss");
    }
}

/* Every unit mask alone and, as long as the row takes them, one after the other. */
static void measure_masks(struct lookup *lookup)
{
    struct upmu_row row;
    /* A small file, of units with masks of long names, spells these in fragments. */
    bool small = !upmu_file_wide(upmu_catalog_file(lookup->catalog));
    for (unsigned r = 0; upmu_catalog_row(lookup->catalog, r, &row); r++) {
        char name[256], mask[128];
        size_t base = upmu_catalog_row_name(lookup->catalog, r, name, sizeof name), length = base;
        for (unsigned m = 0; m < row.mask_count; m++) {
            upmu_catalog_mask_name(lookup->catalog, r, m, mask, sizeof mask);
            snprintf(lookup->name, sizeof lookup->name, "%.*s:%s", (int)length, name, mask);
            lookup->length = strlen(lookup->name);
            do_lookup(lookup);
            if (lookup->status != UPMU_OK)
                continue;
            measure_lookup(lookup, lookup->name, UPMU_OK, small ? "lookup-small-masks" : "lookup-masks");
            snprintf(name, sizeof name, "%s", lookup->name);
            length = lookup->length;
            lookup->name[lookup->length - 1] = other_letter(lookup->name[lookup->length - 1]);
            measure_lookup(lookup, lookup->name, UPMU_ERR_NO_SUCH_EVENT,
                           small ? "lookup-small-masks-miss" : "lookup-masks-miss");
        }
    }
}

static void measure_catalog(struct lookup *lookup)
{
    measure_every_lookup(lookup);
    measure_masks(lookup);
    measure_lookup(lookup, "NO_SUCH_EVENT.AT_ALL", UPMU_ERR_NO_SUCH_EVENT, "lookup-miss");
    /* The longest text that is looked at, and no name. */
    memset(lookup->name, '-', 120);
    lookup->name[120] = '\0';
    measure_lookup(lookup, lookup->name, UPMU_ERR_NO_SUCH_EVENT, "lookup-separators");
}

/* What `upmu list --pmu spr 'L2_*'` asks of the library. */
static void do_list(void *argument)
{
    struct lookup *lookup = argument;
    struct upmu_event_id id;
    uint32_t cursor = 0;
    char name[256];
    lookup->length = 0;
    lookup->catalog = upmu_catalog_find("spr");
    while (upmu_catalog_next(lookup->catalog, "L2_*", &cursor, &id, name, sizeof name, NULL) == UPMU_OK)
        lookup->length++;
}

int main(void)
{
    static struct lookup lookup;
    bench_count_run(do_list, &lookup);
    must(lookup.length > 20, "list");
    bench_count_name("list-spr-l2");
    measure_counting();
    measure_interrupt();
    must(upmu_catalog_builtin(0) != NULL, "no catalogue");
    for (unsigned i = 0; (lookup.catalog = upmu_catalog_builtin(i)) != NULL; i++)
        measure_catalog(&lookup);
    return 0;
}
