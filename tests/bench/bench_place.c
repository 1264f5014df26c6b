/* SPDX-License-Identifier: MIT */
/*
 * Instructions of upmu_place() over seeded sets that fit and seeded sets that are
 * refused with an explanation: run under callgrind by tools/bench.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/bench/callgrind_count.h"
#include "tests/common/place_shapes.h"

/* Sets counted of each shape and outcome, and sets drawn to find them. */
#define SETS 150
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

static const struct corpus {
    const char *placed, *refused;
    void (*draw)(uint64_t *random);
} corpora[] = {
    {"place-skylake6-placed", "place-skylake6-refused", draw_skylake6},
    {"place-icelake12-placed", "place-icelake12-refused", draw_icelake12},
    {"place-p4full18-placed", "place-p4full18-refused", draw_p4_full18},
    {NULL, "place-p4wild18-refused", draw_p4_wild18},
};

static void place_once(void *argument)
{
    (void)argument;
    status = upmu_place(&shape.input, &work, result, &why);
}

/* The caches and the branch predictor do not count, so a set can be tried before it is counted. */
static void measure(const struct corpus *corpus)
{
    unsigned counted[2] = {corpus->placed ? 0 : SETS, 0};

    for (uint64_t seed = 1; seed <= DRAWN && (counted[0] < SETS || counted[1] < SETS); seed++) {
        uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1u;
        unsigned refused;

        corpus->draw(&random);
        place_once(NULL);
        if (status != UPMU_OK && status != UPMU_ERR_DOES_NOT_FIT) {
            fprintf(stderr, "%s: seed %llu: status %d\n", corpus->refused, (unsigned long long)seed, (int)status);
            exit(1);
        }
        refused = status != UPMU_OK;
        if (counted[refused]++ >= SETS)
            continue;
        bench_count_run(place_once, NULL);
        bench_count_name(refused ? corpus->refused : corpus->placed);
    }
}

int main(void)
{
    for (unsigned i = 0; i < sizeof corpora / sizeof *corpora; i++)
        measure(&corpora[i]);
    return 0;
}
