/* SPDX-License-Identifier: MIT */
/*
 * The worst placement of many seeded sets, in instructions: built by worst_place.py,
 * which makes the program count what it executes.
 *
 *     worst_place SETS [KIND [SEED]]
 *
 * prints for each kind of sets how many fit and how many are refused, with the mean and
 * the worst of both, the seeds of the worst, and how many are above the limits: exit code
 * 1 if those are more than the kind is allowed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <upmu/upmu.h>
#include "core/hw/backend.h"
#include "core/place/placement.h"
#include "tests/common/p4_place_tables.h"
#include "tests/common/zen_shapes.h"

#define LIMIT_PLACED 20000
#define LIMIT_REFUSED 120000

static struct shape shape;
static struct p4_set set;
static struct upmu_place_work work;
static struct upmu_place_result result[UPMU_REQUESTS];
static struct upmu_why why;
static enum upmu_status status;

static uint64_t instructions;

static __attribute__((noinline)) void place(void)
{
    uint64_t before, after;

    __asm__ volatile("movq %%xmm15, %0" : "=r"(before) : : "memory");
    status = upmu_requests_place(&shape.input, &work, result, &why);
    __asm__ volatile("movq %%xmm15, %0" : "=r"(after) : : "memory");
    instructions = after - before;
}

/* ---- NetBurst, from tables ---- */

static void draw_full18(uint64_t *random)
{
    bool tight = shape_chance(random, 30);

    shape_p4_dense(&shape, random, tight ? 17 : 18);
    if (tight)
        shape_take(&shape, 1);
}

static void draw_wild18(uint64_t *random)
{
    shape_p4(&shape, random, 18);
}

static void draw_wild32(uint64_t *random)
{
    shape_p4(&shape, random, 32);
}

static void draw_mixed12(uint64_t *random)
{
    p4_draw_mixed(&set, random, 12);
    p4_fill_shape(&shape, &set);
}

static void draw_mixed18(uint64_t *random)
{
    p4_draw_mixed(&set, random, 18);
    p4_fill_shape(&shape, &set);
}

static void draw_small(uint64_t *random)
{
    p4_draw_small(&set, random);
    p4_fill_shape(&shape, &set);
}

static void draw_large(uint64_t *random)
{
    p4_draw_large(&set, random);
    p4_fill_shape(&shape, &set);
}

static void draw_all_tags(uint64_t *random)
{
    memset(&set, 0, sizeof set);
    while (set.count < 18)
        p4_draw_tagged(&set, random);
    p4_draw_finish(&set, random);
    p4_fill_shape(&shape, &set);
}

/* What the other hyper-thread runs: some counters and the ESCRs that they see. */
static void draw_sibling(uint64_t *random)
{
    set.held_shareable = shape_chance(random, 50);
    for (unsigned held = 1 + shape_random(random, SHAPE_HELD); held != 0; held--) {
        unsigned event = shape_random(random, P4_EVENTS), unit = p4_event_unit(event), side = shape_random(random, 2);
        uint32_t counters = p4_side_counters[p4_unit_group[unit]][side];

        set.held[unit][side] = p4_content(event, shape_random(random, 2));
        set.taken |= counters & (0u - counters);
    }
}

/* A request to exactly one counter. */
static void draw_pin(struct p4_request *request, uint64_t *random)
{
    unsigned side = shape_random(random, 2);
    uint32_t left = p4_side_counters[p4_group_of(request)][side];

    for (unsigned skip = shape_random(random, 3); skip != 0 && (left & (left - 1u)) != 0; skip--)
        left &= left - 1u;
    request->counters = left & (0u - left);
}

/* One request more, of any kind. */
static void draw_request(uint64_t *random, unsigned tags, unsigned cascades)
{
    unsigned halves = shape_chance(random, 30) ? shape_random(random, 2) << 2 : 0;

    if (shape_chance(random, tags))
        p4_draw_tagged(&set, random);
    else if (shape_chance(random, cascades))
        p4_draw_cascade(&set, random);
    else
        p4_add(&set, shape_chance(random, 50) ? shape_random(random, P4_EVENTS) : p4_draw_neighbour(random),
               shape_random(random, 2) | halves);
    if (set.count > 1 && shape_chance(random, 8)) { /* doubled */
        set.count--;
        set.request[set.count] = set.request[shape_random(random, set.count)];
        set.count++;
    }
    if (shape_chance(random, 5) && set.request[set.count - 1].kind == P4_PLAIN)
        draw_pin(&set.request[set.count - 1], random);
    if (set.several_sets)
        set.request[set.count - 1].set = (uint8_t)shape_random(random, 2);
}

/*
 * Requests are added as long as they fit, up to `count`; `over`: then those that do not.
 * These are the sets with the least room: no better ones are known than by asking for each.
 */
static void build_set(uint64_t *random, unsigned count, unsigned over, unsigned tags, unsigned cascades)
{
    memset(&set, 0, sizeof set);
    set.several_sets = (tags != 0) && shape_chance(random, 20);
    if (shape_chance(random, 20))
        set.taken = UINT32_C(1) << shape_random(random, 18);
    if (shape_chance(random, 15))
        draw_sibling(random);
    for (unsigned tries = 0; tries < 60 && set.count < count; tries++) {
        draw_request(random, tags, cascades);
        p4_fill_shape(&shape, &set);
        place();
        if (status != UPMU_OK)
            set.count--;
    }
    while (over-- != 0)
        draw_request(random, tags, cascades);
    for (unsigned i = 0; i < set.count; i++) {
        unsigned other = shape_random(random, set.count);
        struct p4_request moved = set.request[i];

        set.request[i] = set.request[other];
        set.request[other] = moved;
    }
    p4_fill_shape(&shape, &set);
}

static void draw_built_plain(uint64_t *random)
{
    build_set(random, 18, shape_random(random, 2), 0, 0);
}

static void draw_built_tags(uint64_t *random)
{
    build_set(random, 18, shape_random(random, 2), 20, 0);
}

static void draw_built_cascades(uint64_t *random)
{
    build_set(random, 18, shape_random(random, 2), 0, 25);
}

static void draw_built_all(uint64_t *random)
{
    build_set(random, 18, shape_random(random, 2), 15 + 10 * shape_random(random, 3), 5 + 10 * shape_random(random, 3));
}

static void draw_any_size(uint64_t *random)
{
    build_set(random, 2 + shape_random(random, 17), shape_random(random, 3), 10 * shape_random(random, 4),
              10 * shape_random(random, 3));
}

/* ---- Through the backends ---- */

static struct upmu_pmu pmu;
static struct upmu_event chosen[UPMU_REQUESTS];
static unsigned thread;

static bool backend_alternative(const void *context, unsigned request, unsigned i, struct upmu_alternative *out)
{
    (void)context;
    return pmu.backend->alternative(&pmu, &chosen[request], thread, i, out);
}

static void begin_backend(const char *model)
{
    if ((pmu.name == NULL || strcmp(pmu.name, model) != 0) && upmu_pmu_by_name(&pmu, model) != UPMU_OK) {
        fprintf(stderr, "no %s\n", model);
        exit(2);
    }
    shape_begin(&shape, pmu.counters);
    shape.input.alternative = backend_alternative;
    shape.input.preference = pmu.preference;
    shape.input.preference_count = pmu.preference_count;
    shape.input.request_count = 0;
}

static void draw_netburst_spec(char *spec, size_t size, uint64_t *random, unsigned tags, unsigned cascades)
{
    static const char *const recipes[] = {
        "memory_loads", "memory_stores", "packed_SP_retired", "packed_DP_retired", "scalar_SP_retired",
        "scalar_DP_retired", "64_bit_MMX_retired", "128_bit_MMX_retired", "X87_FP_retired",
        "1stL_cache_load_miss_retired", "2ndL_cache_load_miss_retired", "DTLB_load_miss_retired",
        "MOB_load_replay_retired", "split_load_retired", "split_store_retired"};
    static const char *const settings[] = {":u", ":k", ""};
    unsigned event = shape_chance(random, 50) ? shape_random(random, P4_EVENTS) : p4_draw_neighbour(random), length;
    unsigned group = p4_unit_group[p4_event_unit(event)], first = p4_group_first[group];
    const char *name = shape_chance(random, tags) ? recipes[shape_random(random, sizeof recipes / sizeof *recipes)]
                                                  : p4_event_name[event];

    length = (unsigned)snprintf(spec, size, "%s%s", name, settings[shape_random(random, 3)]);
    if (name == p4_event_name[event] && shape_chance(random, cascades))
        snprintf(spec + length, size - length, ":cascade=%s",
                 p4_event_name[first + shape_random(random, (uint32_t)(p4_group_first[group + 1] - first))]);
    else if (shape_chance(random, 5))
        snprintf(spec + length, size - length, ":counter=%u", shape_random(random, 18));
}

/* As build_set(), by names. */
static void build_netburst(uint64_t *random, unsigned count, unsigned over, unsigned tags, unsigned cascades)
{
    char spec[96];

    begin_backend("netburst_p");
    thread = shape_random(random, 2);
    if (shape_chance(random, 20))
        shape_take(&shape, shape_random(random, 18));
    for (unsigned tries = 0; tries < 80 && shape.input.request_count < count; tries++) {
        draw_netburst_spec(spec, sizeof spec, random, tags, cascades);
        if (upmu_event_parse(&pmu, spec, &chosen[shape.input.request_count], NULL) != UPMU_OK)
            continue;
        shape.input.request_count++;
        place();
        if (status != UPMU_OK)
            shape.input.request_count--;
    }
    while (over != 0) {
        draw_netburst_spec(spec, sizeof spec, random, tags, cascades);
        if (upmu_event_parse(&pmu, spec, &chosen[shape.input.request_count], NULL) == UPMU_OK) {
            shape.input.request_count++;
            over--;
        }
    }
    for (unsigned i = 0; i < shape.input.request_count; i++) {
        unsigned other = shape_random(random, shape.input.request_count);
        struct upmu_event moved = chosen[i];

        chosen[i] = chosen[other];
        chosen[other] = moved;
    }
}

static void draw_netburst_plain(uint64_t *random)
{
    build_netburst(random, 18, shape_random(random, 2), 0, 0);
}

static void draw_netburst_all(uint64_t *random)
{
    unsigned tags = 10 + 10 * shape_random(random, 4);

    build_netburst(random, 18, shape_random(random, 2), tags, 10 * shape_random(random, 3));
}

static void draw_netburst_wild(uint64_t *random)
{
    build_netburst(random, 0, 2 + shape_random(random, 17), 10 * shape_random(random, 5), 10 * shape_random(random, 3));
}

static void draw_icelake12(uint64_t *random)
{
    shape_icelake(&shape, random, 12);
}

static void draw_icelake(uint64_t *random)
{
    shape_icelake(&shape, random, 1 + shape_random(random, 16));
    if (shape_chance(random, 20))
        shape_take(&shape, shape_random(random, 8));
}

static void draw_skylake(uint64_t *random)
{
    shape_skylake(&shape, random, 1 + shape_random(random, 12));
    if (shape_chance(random, 20))
        shape_take(&shape, shape_random(random, 4));
}

static void draw_core2(uint64_t *random)
{
    shape_core2(&shape, random, 1 + shape_random(random, 7));
}

/* Half of the counters only: another hyper-thread has an exclusive event. */
static void draw_limited(uint64_t *random)
{
    shape_skylake(&shape, random, 1 + shape_random(random, 8));
    shape.input.limited = 0xff;
    shape.input.limit = 4;
}

static void draw_zen(uint64_t *random)
{
    static const char *const models[] = {"zen2", "zen3", "zen4", "zen1"};

    if (!shape_zen(&shape, random, 1 + shape_random(random, 8), models[shape_random(random, 3)]))
        exit(2);
}

static void draw_15h(uint64_t *random)
{
    static const uint16_t codes[] = {0x001, 0x000, 0x003, 0x004, 0x02e, 0x02d, 0x023, 0x041, 0x046, 0x065, 0x076,
                                     0x07e, 0x081, 0x08f, 0x187, 0x0c0, 0x0c3, 0x0d0, 0x1c0, 0x1d8, 0x0db, 0x031};

    begin_backend("fam15h");
    thread = 0;
    for (unsigned count = 1 + shape_random(random, 8); shape.input.request_count < count;) {
        uint64_t code = codes[shape_random(random, sizeof codes / sizeof *codes)];

        if (upmu_event_raw(&pmu, (code & 0xff) | (code & 0xf00) << 24 | shape_random(random, 256) << 8, 0, 0,
                           &chosen[shape.input.request_count]) == UPMU_OK)
            shape.input.request_count++;
    }
}

/* Kinds of sets, and how many of a thousand that fit, and of a thousand refused, may cost more than the limit. */
static const struct kind {
    const char *name;
    void (*draw)(uint64_t *random);
    unsigned placed_above, refused_above;
} kinds[] = {
    {"p4-full-18", draw_full18, 0, 0},
    {"p4-wild-18", draw_wild18, 0, 0},
    {"p4-wild-32", draw_wild32, 0, 0},
    {"p4-mixed-12", draw_mixed12, 45, 3},
    {"p4-mixed-18", draw_mixed18, 0, 2},
    {"p4-mixed-1-8", draw_small, 8, 5},
    {"p4-mixed-9-18", draw_large, 45, 4},
    {"p4-tags-18", draw_all_tags, 0, 2},
    {"p4-built-plain", draw_built_plain, 8, 0},
    {"p4-built-tags", draw_built_tags, 280, 25},
    {"p4-built-cascades", draw_built_cascades, 225, 0},
    {"p4-built-all", draw_built_all, 390, 35},
    {"p4-built-2-18", draw_any_size, 85, 14},
    {"netburst-plain", draw_netburst_plain, 11, 0},
    {"netburst-all", draw_netburst_all, 210, 9},
    {"netburst-wild", draw_netburst_wild, 3, 2},
    {"icelake-12", draw_icelake12, 0, 0},
    {"icelake-1-16", draw_icelake, 0, 0},
    {"skylake-1-12", draw_skylake, 0, 0},
    {"skylake-limited", draw_limited, 0, 0},
    {"core2-1-7", draw_core2, 0, 0},
    {"zen-1-8", draw_zen, 0, 0},
    {"fam15h-1-8", draw_15h, 0, 0},
};

struct figure {
    unsigned sets, above;
    uint64_t sum, worst, seed;
};

static void note(struct figure *figure, uint64_t seed, uint64_t limit)
{
    figure->sets++;
    figure->above += instructions > limit;
    figure->sum += instructions;
    if (instructions > figure->worst) {
        figure->worst = instructions;
        figure->seed = seed;
    }
}

/* False: too many are above the limit. */
static bool print_figure(const char *name, const char *outcome, const struct figure *figure, unsigned limit,
                         unsigned above)
{
    if (figure->sets == 0)
        return true;
    printf("%s-%s\t%u sets\tmean %llu\tworst %llu\tseed %llu\tabove %u: %u\n", name, outcome, figure->sets,
           (unsigned long long)(figure->sum / figure->sets), (unsigned long long)figure->worst,
           (unsigned long long)figure->seed, limit, figure->above);
    /* (Of a few, two more may be.) */
    if (figure->above <= (above ? (uint64_t)figure->sets * above / 1000 + 2 : 0))
        return true;
    printf("OVER: %s-%s: at most %u of 1000 may be above %u\n", name, outcome, above, limit);
    return false;
}

/* (Of its own, so that a profiler can tell it from those that build a set.) */
static __attribute__((noinline)) void place_finally(void)
{
    place();
    __asm__ volatile("" : : : "memory");
}

static bool measure(const struct kind *kind, uint64_t seed, uint64_t end, bool show)
{
    struct figure placed = {0}, refused = {0};

    for (; seed < end; seed++) {
        uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1u;

        kind->draw(&random);
#ifdef PROFILE /* sets of this status only */
        place();
        if (status != PROFILE)
            continue;
#endif
        place_finally();
        if (status == UPMU_OK) {
            note(&placed, seed, LIMIT_PLACED);
        } else if (status == UPMU_ERR_DOES_NOT_FIT) {
            note(&refused, seed, LIMIT_REFUSED);
        } else {
            printf("%s\tseed %llu\tstatus %d\n", kind->name, (unsigned long long)seed, (int)status);
            return false;
        }
        if (show || (getenv("ABOVE") && instructions > (status == UPMU_OK ? LIMIT_PLACED : LIMIT_REFUSED)))
            printf("%s\tseed %llu\tstatus %d\t%llu\tcount %u\trounds %u\n", kind->name, (unsigned long long)seed,
                   (int)status, (unsigned long long)instructions, shape.input.request_count,
                   PLACE_ROUNDS - ((const struct placement *)(const void *)&work)->rounds);
    }
    return print_figure(kind->name, "placed", &placed, LIMIT_PLACED, kind->placed_above) &
           print_figure(kind->name, "refused", &refused, LIMIT_REFUSED, kind->refused_above);
}

int main(int argc, char **argv)
{
    uint64_t sets = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000, first = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
    bool fine = true;

    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (argc < 3 || strcmp(argv[2], kinds[i].name) == 0)
            fine &= measure(&kinds[i], first, first + sets, argc > 3 && sets == 1);
    return !fine;
}
