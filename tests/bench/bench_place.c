/* SPDX-License-Identifier: MIT */
/*
 * upmu_place() over seeded sets, those that fit and those that are refused with an
 * explanation: run under callgrind by tools/bench.py, which finds the worst.
 *
 * bench_place [SHAPE [SEED]]: all shapes, one, or one set of one.
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/bench/callgrind_count.h"
#include "tests/common/place_shapes.h"

#ifndef SETS
#define SETS 2000
#endif

static struct shape shape;
static struct upmu_place_work work;
static struct upmu_place_result result[UPMU_REQUESTS];
static struct upmu_why why;
static enum upmu_status status;

static void draw_skylake_six(uint64_t *random)
{
    shape_skylake(&shape, random, 6);
}

static void draw_icelake_twelve(uint64_t *random)
{
    shape_icelake(&shape, random, 12);
}

static void draw_p4_eighteen(uint64_t *random)
{
    shape_p4(&shape, random, 18);
}

static void draw_p4_dense_eighteen(uint64_t *random)
{
    shape_p4_dense(&shape, random, 18);
}

static void draw_p4_tight(uint64_t *random)
{
    shape_p4_dense(&shape, random, 12 + shape_random(random, 7));
    shape_take(&shape, 1);
}

static const struct corpus {
    const char *name;
    void (*draw)(uint64_t *random);
} corpora[] = {
    {"skylake_6", draw_skylake_six},           {"icelake_12", draw_icelake_twelve},
    {"p4_18", draw_p4_eighteen},               {"p4_dense_18", draw_p4_dense_eighteen},
    {"p4_tight_12_to_18", draw_p4_tight},
};

static void draw(const struct corpus *corpus, uint64_t seed)
{
    uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1u;
    corpus->draw(&random);
}

static void place_once(void *argument)
{
    (void)argument;
    status = upmu_place(&shape.input, &work, result, &why);
}

static void measure(const struct corpus *corpus)
{
    for (uint64_t seed = 1; seed <= SETS; seed++) {
        char name[64];
        draw(corpus, seed);
        bench_count_run(place_once, NULL);
        if (status != UPMU_OK && status != UPMU_ERR_DOES_NOT_FIT)
            exit(1);
        snprintf(name, sizeof name, "place-%s-%s", corpus->name, status == UPMU_OK ? "placed" : "refused");
        bench_count_name(name);
    }
}

int main(int argc, char **argv)
{
    for (unsigned i = 0; i < sizeof corpora / sizeof *corpora; i++) {
        if (argc > 1 && strcmp(argv[1], corpora[i].name))
            continue;
        if (argc > 2) {
            draw(&corpora[i], strtoull(argv[2], NULL, 0));
            place_once(NULL);
            printf("%s: status %d\n", corpora[i].name, (int)status);
        } else {
            measure(&corpora[i]);
        }
    }
    return 0;
}
