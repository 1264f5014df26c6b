/* SPDX-License-Identifier: MIT */
/*
 * Instructions of upmu_requests_place() over seeded sets that fit and seeded sets that are
 * refused with an explanation: run under callgrind by tools/bench.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <upmu/upmu.h>
#include "core/hw/backend.h"
#include "tests/bench/callgrind_count.h"
#include "tests/common/p4_place_tables.h"

/* Sets counted of each shape and outcome, and sets drawn to find them. */
#define SETS 500
#define DRAWN 40000

static struct shape shape;
static struct upmu_place_work work;
static struct upmu_place_result result[UPMU_REQUESTS];
static struct upmu_why why;
static enum upmu_status status;

static void draw_skylake6(uint64_t *random)
{
    shape_skylake(&shape, random, 6);
}

static void draw_icelake12(uint64_t *random)
{
    shape_icelake(&shape, random, 12);
}

/* Any events, most sets far too large for some group. */
static void draw_p4_wild18(uint64_t *random)
{
    shape_p4(&shape, random, 18);
}

/* One event for each counter; sometimes counter 1 is taken. */
static void draw_p4_full18(uint64_t *random)
{
    bool tight = shape_chance(random, 30);
    shape_p4_dense(&shape, random, tight ? 17 : 18);
    if (tight)
        shape_take(&shape, 1);
}

/* Tags and cascades among them: the counter groups hang together. */
static void draw_p4_tags12(uint64_t *random)
{
    struct p4_set set;
    p4_draw_mixed(&set, random, 12);
    p4_fill_shape(&shape, &set);
}

static void draw_p4_tags18(uint64_t *random)
{
    struct p4_set set;
    p4_draw_mixed(&set, random, 18);
    p4_fill_shape(&shape, &set);
}

/* Nothing but tags: no set fits, many not even into the work area. */
static void draw_p4_all_tags18(uint64_t *random)
{
    struct p4_set set = {0};
    while (set.count < 18)
        p4_draw_tagged(&set, random);
    p4_draw_finish(&set, random);
    p4_fill_shape(&shape, &set);
}

/* As "full", but told by the backend: its part counts too. */
static struct upmu_pmu pmu;
static struct upmu_event event[P4_EVENTS][3], chosen[UPMU_REQUESTS];

static bool backend_alternative(const void *context, unsigned request, unsigned i, struct upmu_alternative *out)
{
    (void)context;
    return pmu.backend->alternative(&pmu, &chosen[request], 0, i, out);
}

static void encode_events(void)
{
    static const char *const settings[3] = {":u", ":k", ""};
    char spec[80];

    for (unsigned i = 0; i < P4_EVENTS * 3; i++) {
        snprintf(spec, sizeof spec, "%s%s", p4_event_name[i / 3], settings[i % 3]);
        if ((i == 0 && upmu_pmu_by_name(&pmu, "netburst_p") != UPMU_OK) ||
            upmu_event_parse(&pmu, spec, &event[i / 3][i % 3], NULL) != UPMU_OK) {
            fprintf(stderr, "netburst_p: %s\n", spec);
            exit(1);
        }
    }
}

static void draw_netburst18(uint64_t *random)
{
    draw_p4_full18(random);
    for (unsigned i = 0; i < shape.input.request_count; i++)
        chosen[i] = event[shape.event[i]][shape.setting[i]];
    shape.input.alternative = backend_alternative;
}

static const struct corpus {
    const char *placed, *refused;
    void (*draw)(uint64_t *random);
    unsigned sets;
} corpora[] = {
    {"place-skylake6-placed", "place-skylake6-refused", draw_skylake6, SETS},
    {"place-icelake12-placed", "place-icelake12-refused", draw_icelake12, SETS},
    {"place-p4full18-placed", "place-p4full18-refused", draw_p4_full18, SETS},
    {NULL, "place-p4wild18-refused", draw_p4_wild18, SETS},
    {"place-p4tags12-placed", "place-p4tags12-refused", draw_p4_tags12, SETS / 5},
    {"place-p4tags18-placed", "place-p4tags18-refused", draw_p4_tags18, SETS / 5},
    {NULL, "place-p4alltags18-refused", draw_p4_all_tags18, SETS / 5},
    {"place-netburst18-placed", "place-netburst18-refused", draw_netburst18, SETS / 5},
};

static void place_once(void *argument)
{
    (void)argument;
    status = upmu_requests_place(&shape.input, &work, result, &why);
}

/* The caches and the branch predictor do not count, so a set can be tried before it is counted. */
static void measure(const struct corpus *corpus)
{
    unsigned sets = corpus->sets / bench_every();
    unsigned counted[2] = {corpus->placed ? 0 : sets, 0};

    for (uint64_t seed = 1; seed <= DRAWN && (counted[0] < sets || counted[1] < sets); seed++) {
        uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1u;
        unsigned refused;

        corpus->draw(&random);
        place_once(NULL);
        if (status != UPMU_OK && status != UPMU_ERR_DOES_NOT_FIT) {
            fprintf(stderr, "%s: seed %llu: status %d\n", corpus->refused, (unsigned long long)seed, (int)status);
            exit(1);
        }
        refused = status != UPMU_OK;
        if (counted[refused]++ >= sets)
            continue;
        bench_count_run(place_once, NULL);
        bench_count_name(refused ? corpus->refused : corpus->placed);
    }
}

int main(void)
{
    encode_events();
    for (unsigned i = 0; i < sizeof corpora / sizeof *corpora; i++)
        measure(&corpora[i]);
    return 0;
}
