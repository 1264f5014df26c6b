/* SPDX-License-Identifier: MIT */
/*
 * Sets of NetBurst events from their names on, through the backend: the same verdict
 * as a search over tables that know neither names nor the backend.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/common/assertions.h"
#include <upmu/upmu.h>
#include "core/hw/backend.h"
#include "tests/common/p4_place_fits.h"

/* What is asked of an event beside its name: privileges.  Recipes tag in all rings. */
#define SETTINGS 3
#define SETTING_ALL 2
static const char *const setting_text[SETTINGS] = {":u", ":k", ""};

/* Settings that no plain event has. */
#define MASK_OF_RECIPE 16
#define TAGGING 32

/* Intel's recipes: tag what, count what (SDM vol 3 tables 19-32 to 19-34). */
static const struct recipe {
    const char *name, *counted, *upstream;
    uint8_t upstream_setting, sides, metric;
} recipes[] = {
    {"memory_loads", "front_end_event", "uop_type", TAGGING, 1, 0},
    {"memory_stores", "front_end_event", "uop_type", TAGGING + 1, 1, 0},
    {"packed_SP_retired", "execution_event", "packed_sp_uop", TAGGING, 3, 0},
    {"packed_DP_retired", "execution_event", "packed_dp_uop", TAGGING, 3, 0},
    {"scalar_SP_retired", "execution_event", "scalar_sp_uop", TAGGING, 3, 0},
    {"scalar_DP_retired", "execution_event", "scalar_dp_uop", TAGGING, 3, 0},
    {"64_bit_MMX_retired", "execution_event", "64bit_mmx_uop", TAGGING, 3, 0},
    {"128_bit_MMX_retired", "execution_event", "128bit_mmx_uop", TAGGING, 3, 0},
    {"X87_FP_retired", "execution_event", "x87_fp_uop", TAGGING, 3, 0},
    {"1stL_cache_load_miss_retired", "replay_event", NULL, 0, 0, 1},
    {"2ndL_cache_load_miss_retired", "replay_event", NULL, 0, 0, 2},
    {"DTLB_load_miss_retired", "replay_event", NULL, 0, 0, 3},
    {"MOB_load_replay_retired", "replay_event", "mob_load_replay", TAGGING, 3, 4},
    {"split_load_retired", "replay_event", "load_port_replay", SETTING_ALL, 2, 5},
    {"split_store_retired", "replay_event", "store_port_replay", SETTING_ALL, 1, 6},
};
#define RECIPES (sizeof recipes / sizeof recipes[0])

static struct upmu_pmu pmu;
static struct upmu_event event[UPMU_REQUESTS];
static char spec[UPMU_REQUESTS][96];
static struct shape shape;
static struct upmu_place_work work;
static struct upmu_place_result result[UPMU_REQUESTS];
static struct upmu_why why;

static bool alternative(const void *context, unsigned request, unsigned i, struct upmu_alternative *out)
{
    (void)context;
    return pmu.backend->alternative(&pmu, &event[request], 0, i, out);
}

static unsigned event_called(const char *name)
{
    unsigned found = p4_event_by_name(name, strlen(name));
    assert_compare(found, <, P4_EVENTS);
    return found;
}

static void add_recipe(struct p4_set *set, const struct recipe *recipe, unsigned setting)
{
    struct p4_request *request = p4_add(set, event_called(recipe->counted), setting + MASK_OF_RECIPE);

    snprintf(spec[set->count - 1], sizeof spec[0], "%s%s", recipe->name, setting_text[setting]);
    request->metric = recipe->metric;
    if (!recipe->upstream)
        return;
    request->kind = P4_TAGGED;
    request->second = (uint8_t)event_called(recipe->upstream);
    request->second_setting = recipe->upstream_setting;
    request->second_sides = recipe->sides;
    /* A tag bit for each side of FIRM. */
    request->follows = request->event == P4_EXECUTION_EVENT;
}

/* "X_active_entries" needs the allocations to be set up alike on the other ESCR. */
static void add_plain(struct p4_set *set, unsigned plain, unsigned setting)
{
    struct p4_request *request = p4_add(set, plain, setting);

    snprintf(spec[set->count - 1], sizeof spec[0], "%s%s", p4_event_name[plain], setting_text[setting]);
    if (p4_event_sides(plain) == 2)
        request->partner = (uint8_t)event_called(plain < P4_IOQ_ALLOCATION ? "bsq_allocation" : "ioq_allocation");
}

static void add_cascade(struct p4_set *set, unsigned target, unsigned initiator, unsigned setting)
{
    if (p4_event_sides(target) == 2 || p4_event_sides(initiator) == 2)
        return;
    p4_add_cascade(set, target, setting, initiator);
    snprintf(spec[set->count - 1], sizeof spec[0], "%s%s:cascade=%s", p4_event_name[target], setting_text[setting],
             p4_event_name[initiator]);
}

static void add_pin(struct p4_set *set, uint64_t *random)
{
    struct p4_request *request = &set->request[set->count - 1];
    unsigned side = shape_random(random, 2), counter;
    uint32_t counters = p4_side_counters[p4_group_of(request)][side];

    if (request->kind != P4_PLAIN || !(request->sides >> side & 1))
        return;
    for (unsigned skip = shape_random(random, p4_ones(counters)); skip; skip--)
        counters &= counters - 1;
    counter = (unsigned)__builtin_ctz(counters);
    request->sides = (uint8_t)(1u << side);
    request->counters = UINT32_C(1) << counter;
    snprintf(spec[set->count - 1] + strlen(spec[set->count - 1]), 16, ":counter=%u", counter);
}

static void draw_set(struct p4_set *set, uint64_t *random)
{
    unsigned count = 1 + shape_random(random, 8), dense = shape_random(random, 2);

    memset(set, 0, sizeof *set);
    while (set->count < count) {
        unsigned setting = shape_random(random, SETTINGS), drawn = p4_draw_neighbour(random);
        unsigned group = p4_unit_group[p4_event_unit(drawn)], first = p4_group_first[group];
        if (shape_chance(random, 25))
            add_recipe(set, &recipes[shape_random(random, RECIPES)], setting);
        else if (shape_chance(random, 15))
            add_cascade(set, drawn, first + shape_random(random, (uint32_t)(p4_group_first[group + 1] - first)),
                        setting);
        else
            add_plain(set, dense ? drawn : shape_random(random, P4_EVENTS), setting);
        if (shape_chance(random, 10) && set->count)
            add_pin(set, random);
    }
    if (shape_chance(random, 30))
        set->taken = UINT32_C(1) << shape_random(random, 18);
}

static enum upmu_status place(const struct p4_set *set)
{
    for (unsigned i = 0; i < set->count; i++)
        if (upmu_event_parse(&pmu, spec[i], &event[i], NULL) != UPMU_OK)
            fail_msg("cannot parse %s", spec[i]);
    shape_p4_begin(&shape, set->count);
    shape.input.alternative = alternative;
    shape.input.taken = set->taken;
    shape.input.preference = pmu.preference;
    shape.input.preference_count = pmu.preference_count;
    return upmu_requests_place(&shape.input, &work, result, &why);
}

static void print_set(const struct p4_set *set)
{
    for (unsigned i = 0; i < set->count; i++)
        printf("  %s\n", spec[i]);
    printf("  without counters 0x%x\n", (unsigned)set->taken);
}

/* ---- Chosen sets ---- */

static void check_specs(const char *const *specs, enum upmu_status expected)
{
    unsigned count = 0;
    struct p4_set set;

    memset(&set, 0, sizeof set);
    for (; specs[count]; count++)
        snprintf(spec[count], sizeof spec[0], "%s", specs[count]);
    set.count = count;
    if (place(&set) != expected) {
        print_set(&set);
        fail_msg("status %d", (int)why.status);
    }
}

static void a_set_that_greedy_placers_lose_is_placed_by_name(void **state)
{
    (void)state;
    check_specs((const char *const[]){"bpu_fetch_request", "itlb_reference", "bsq_allocation", "global_power_events",
                                      "tc_deliver_mode", "tc_ms_xfer", "retired_branch_type",
                                      "retired_mispred_branch_type", "packed_sp_uop", "memory_cancel",
                                      "memory_complete", "load_port_replay", "instr_retired", "uops_retired",
                                      "branch_retired", "machine_clear", "uop_type", "resource_stall", NULL},
                UPMU_OK);
}

static void a_tag_is_served_by_an_event_on_the_twin_by_name(void **state)
{
    (void)state;
    check_specs((const char *const[]){"packed_SP_retired", "scalar_dp_uop", "memory_cancel", "wc_buffer",
                                      "memory_complete", NULL},
                UPMU_OK);
    assert_int_equal(result[0].counter[1], UPMU_NO_COUNTER);
    check_specs((const char *const[]){"packed_SP_retired", "load_port_replay", "memory_cancel", "wc_buffer",
                                      "memory_complete", NULL},
                UPMU_ERR_DOES_NOT_FIT);
}

static void occupancy_needs_both_escrs_of_its_unit(void **state)
{
    (void)state;
    check_specs((const char *const[]){"ioq_allocation", "ioq_active_entries", "uops_retired", NULL}, UPMU_OK);
    check_specs((const char *const[]){"ioq_allocation", "ioq_active_entries", "global_power_events", NULL},
                UPMU_ERR_DOES_NOT_FIT);
    check_specs((const char *const[]){"ioq_allocation:u", "ioq_active_entries:k", NULL}, UPMU_ERR_DOES_NOT_FIT);
}

static void replay_metrics_exclude_each_other_by_name(void **state)
{
    (void)state;
    check_specs((const char *const[]){"1stL_cache_load_miss_retired", "branch_retired", NULL}, UPMU_OK);
    check_specs((const char *const[]){"1stL_cache_load_miss_retired", "2ndL_cache_load_miss_retired", NULL},
                UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(why.collision, UPMU_COLLISION_RESOURCE);
}

/* ---- Seeded sets ---- */

static void seeded_sets_of_names_get_the_verdict_of_the_tables(void **state)
{
    const uint64_t seed = UINT64_C(0xbac4e9d) << 24;
    unsigned fitting = 0, refused = 0, sets = share_of("sets", 100000, 2, 20);
    (void)state;

    printf("seeds 0x%llx + 0..%u\n", (unsigned long long)seed, sets - 1);
    for (unsigned i = 0; i < sets; i++) {
        uint64_t random = (seed + i) * UINT64_C(0x9e3779b97f4a7c15) | 1u;
        struct p4_set set;
        enum upmu_status status, expected;

        draw_set(&set, &random);
        expected = p4_everything_fits(&set, ~UINT32_C(0)) ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT;
        ++*(expected == UPMU_OK ? &fitting : &refused);
        status = place(&set);
        if (status != expected) {
            print_set(&set);
            fail_msg("seed 0x%llx: status %d, the tables say %d", (unsigned long long)(seed + i), (int)status,
                     (int)expected);
        }
    }
    printf("%u sets fit, %u do not\n", fitting, refused);
    assert_true(fitting > sets / 5 && refused > sets / 5);
}

static int choose_pmu(void **state)
{
    (void)state;
    return upmu_pmu_by_name(&pmu, "netburst_p") != UPMU_OK;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_that_greedy_placers_lose_is_placed_by_name),
        cmocka_unit_test(a_tag_is_served_by_an_event_on_the_twin_by_name),
        cmocka_unit_test(occupancy_needs_both_escrs_of_its_unit),
        cmocka_unit_test(replay_metrics_exclude_each_other_by_name),
        cmocka_unit_test(seeded_sets_of_names_get_the_verdict_of_the_tables),
    };
    return cmocka_run_group_tests(tests, choose_pmu, NULL);
}
