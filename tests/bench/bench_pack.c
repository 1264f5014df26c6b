/* SPDX-License-Identifier: MIT */
/*
 * Instructions of packing seeded lists of 24 events, by the library and exactly by the tools'
 * cmd_pack_exact(), which packs all of them optimally: run under callgrind by tools/bench.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <upmu/upmu.h>
#include <tools/cmd/cmd_pack_exact.c>
#include <tools/cmd/cmd_pack_search.c>
#include "tests/bench/callgrind_count.h"
#include "tests/common/p4_place_tables.h"
#include "tests/common/zen_shapes.h"

#define EVENTS 24u
#define LISTS 100u
#define STEPS 4000u

static union {
    struct upmu_pack_work work;
    uint64_t words[UPMU_PACK_BYTES(EVENTS) / 8 + 1];
} memory;
static struct cmd_pack_work exact_memory;
static struct shape shape;
static uint16_t set_of[EVENTS];
static struct upmu_pack_result result;
static enum upmu_status status;

static void draw_skylake24(uint64_t *random)
{
    shape_skylake(&shape, random, EVENTS);
}

static void draw_p4_24(uint64_t *random)
{
    shape_p4(&shape, random, EVENTS);
}

/* Events of a few units, which collide. */
static void draw_p4_crowd24(uint64_t *random)
{
    shape_p4_begin(&shape, EVENTS);
    for (unsigned i = 0; i < EVENTS; i++)
        shape_p4_event(&shape, i, 21 + shape_random(random, 10), shape_random(random, 3));
}

/* Tags and cascades among them. */
static void draw_p4_tags24(uint64_t *random)
{
    struct p4_set set;

    p4_draw_mixed(&set, random, EVENTS);
    set.several_sets = false;
    set.taken = 0;
    p4_fill_shape(&shape, &set);
}

static void draw_zen24(uint64_t *random)
{
    (void)shape_zen(&shape, random, EVENTS, "zen4");
}

static const struct corpus {
    const char *name;
    void (*draw)(uint64_t *random);
} corpora[] = {
    {"pack-skylake24", draw_skylake24}, {"pack-p4_24", draw_p4_24}, {"pack-p4crowd24", draw_p4_crowd24},
    {"pack-p4tags24", draw_p4_tags24},  {"pack-zen24", draw_zen24},
};

static void pack_exactly(void *argument)
{
    const struct upmu_pack_input *input = argument;

    status = cmd_pack_exact(input, STEPS, &exact_memory, set_of, &result);
}

static void pack_once(void *argument)
{
    const struct upmu_pack_input *input = argument;

    status = upmu_requests_pack(input, &memory.work, sizeof memory, set_of, &result);
}

int main(void)
{
    for (unsigned i = 0; i < sizeof corpora / sizeof *corpora; i++)
        for (uint64_t seed = 1; seed <= LISTS; seed++) {
            uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1u;

            struct upmu_pack_input input = {&shape.input, EVENTS, 0};
            char name[40];

            corpora[i].draw(&random);
            bench_count_run(pack_once, &input);
            snprintf(name, sizeof name, "%s-first-fit", corpora[i].name);
            bench_count_name(name);
            bench_count_run(pack_exactly, &input);
            bench_count_name(corpora[i].name);
            if (status != UPMU_OK || !result.optimal) {
                fprintf(stderr, "%s: seed %llu: status %d, %u sets, bound %u\n", corpora[i].name,
                        (unsigned long long)seed, (int)status, result.sets, result.bound);
                return 1;
            }
        }
    return 0;
}
