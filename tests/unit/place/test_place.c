/* SPDX-License-Identifier: MIT */
/*
 * Placement against an exhaustive search that shares no code with it.  Sets are
 * drawn from fixed seeds; a failure prints the seed of its set.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "tests/common/assertions.h"
#include "core/place/placement.h"
#include "tests/common/place_exhaustive.h"
#include "tests/common/share.h"

#define NONE UPMU_NO_COUNTER
#define ones exhaustive_ones

/* ---- Checks ---- */

static struct upmu_place_work work;
static struct upmu_place_result result[UPMU_REQUESTS];
static struct upmu_why why;
static uint32_t most_rounds;
static bool drawn_contradictions; /* sets may have alternatives that contradict themselves */

static enum upmu_status place(const struct shape *shape)
{
    const struct placement *p = (const struct placement *)(const void *)&work;
    struct shape copy = *shape;
    enum upmu_status status;

    copy.input.context = &copy;
    copy.input.held = copy.held;
    if (shape->input.preference)
        copy.input.preference = copy.preference;
    if (shape->input.stay) {
        copy.input.stay = (const uint8_t(*)[UPMU_SLOTS])copy.stay;
        copy.input.stay_alternative = copy.stay_alternative;
    }
    if (shape->input.set_of)
        copy.input.set_of = copy.set_of;
    memset(&work, 0xa5, sizeof work);
    status = upmu_requests_place(&copy.input, &work, result, &why);
    if (status == UPMU_OK && PLACE_ROUNDS - p->rounds > most_rounds && p->rounds <= PLACE_ROUNDS)
        most_rounds = PLACE_ROUNDS - p->rounds;
    assert_int_equal(why.status, status);
    return status;
}

/* What the result says, asked of the exhaustive search as if all requests ran there. */
static bool result_is_valid(const struct shape *shape)
{
    struct shape fixed = *shape;
    for (unsigned request = 0; request < shape->input.request_count; request++) {
        if (result[request].alternative >= shape->alternative_count[request])
            return false;
        for (unsigned k = 0; k < UPMU_SLOTS; k++) {
            const struct upmu_alternative *way = &shape->alternative[request][result[request].alternative];
            bool used = k < way->slot_count;
            if (used && k == way->slot_count - 1u && way->helper)
                used = result[request].counter[k] != NONE;
            if (used != (result[request].counter[k] != NONE))
                return false;
            fixed.stay[request][k] = result[request].counter[k];
        }
        fixed.stay_alternative[request] = result[request].alternative;
    }
    return exhaustive_fits(&fixed, exhaustive_all(shape), MUST_STAY);
}

static bool everybody_stayed(const struct shape *shape)
{
    for (unsigned request = 0; request < shape->input.request_count; request++)
        if (shape->stay[request][0] != NONE && (result[request].alternative != shape->stay_alternative[request] ||
                                                memcmp(result[request].counter, shape->stay[request], UPMU_SLOTS)))
            return false;
    return true;
}

static void assert_culprits_are_minimal(const struct shape *shape)
{
    assert_int_not_equal(why.culprits, 0);
    assert_false(exhaustive_fits(shape, why.culprits, 0));
    for (unsigned request = 0; request < shape->input.request_count; request++)
        if (why.culprits >> request & 1u)
            assert_true(exhaustive_fits(shape, why.culprits & ~(UINT32_C(1) << request), 0));
}

static uint32_t culprit_counters(const struct shape *shape)
{
    uint32_t counters = 0;
    for (unsigned request = 0; request < shape->input.request_count; request++)
        for (unsigned i = 0; i < shape->alternative_count[request] && (why.culprits >> request & 1u); i++)
            for (unsigned k = 0; k < shape->alternative[request][i].slot_count; k++)
                counters |= shape->alternative[request][i].slot[k].counters;
    return counters;
}

/* The reason is one whose absence would let the culprits fit, and the first of the documented order. */
static void assert_collision_is_the_reason(const struct shape *shape)
{
    const struct upmu_place_input *input = &shape->input;
    switch (why.collision) {
    case UPMU_COLLISION_CLAIMED:
        assert_true(exhaustive_fits(shape, why.culprits, LIFT_TAKEN | LIFT_HELD));
        assert_true(why.counters || why.resource != UPMU_NO_RESOURCE);
        assert_int_equal(why.counters & ~input->taken, 0);
        if (why.resource == UPMU_NO_RESOURCE)
            assert_true(exhaustive_fits(shape, why.culprits, LIFT_TAKEN));
        if (!why.counters)
            assert_true(exhaustive_fits(shape, why.culprits, LIFT_HELD));
        break;
    case UPMU_COLLISION_RESOURCE:
        assert_false(exhaustive_fits(shape, why.culprits, LIFT_TAKEN | LIFT_HELD));
        assert_true(exhaustive_fits(shape, why.culprits, LIFT_RESOURCES));
        assert_compare(why.resource, <, UPMU_RESOURCES);
        break;
    case UPMU_COLLISION_LIMIT:
        assert_false(exhaustive_fits(shape, why.culprits, LIFT_TAKEN | LIFT_HELD));
        assert_true(exhaustive_fits(shape, why.culprits, LIFT_LIMIT));
        assert_int_equal(why.counters, input->limited & input->counters);
        break;
    case UPMU_COLLISION_COUNTERS:
        assert_false(exhaustive_fits(shape, why.culprits, LIFT_TAKEN | LIFT_HELD));
        assert_false(exhaustive_fits(shape, why.culprits, LIFT_LIMIT));
        /* Alternatives that contradict themselves do not count. */
        assert_int_equal(why.counters & ~(culprit_counters(shape) & input->counters & ~input->taken), 0);
        if (!drawn_contradictions)
            assert_int_equal(why.counters, culprit_counters(shape) & input->counters & ~input->taken);
        break;
    default:
        fail_msg("collision %d", (int)why.collision);
    }
}

static unsigned fits_seen, refusals_seen, collisions_seen[5];

/* One set against the exhaustive search, in all respects. */
static void check_set(const struct shape *shape)
{
    bool fits = exhaustive_fits(shape, exhaustive_all(shape), 0);
    enum upmu_status status = place(shape);

    assert_int_equal(status, fits ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT);
    if (fits) {
        fits_seen++;
        assert_int_equal(why.culprits, 0);
        assert_true(result_is_valid(shape));
        if (shape->input.stay && exhaustive_fits(shape, exhaustive_all(shape), MUST_STAY))
            assert_true(everybody_stayed(shape));
        return;
    }
    refusals_seen++;
    collisions_seen[why.collision]++;
    assert_culprits_are_minimal(shape);
    assert_collision_is_the_reason(shape);
}

static uint64_t failed_seed; /* of the set being checked */

static int print_failed_seed(void **state)
{
    (void)state;
    if (failed_seed)
        printf("FAILED with seed 0x%llx\n", (unsigned long long)failed_seed);
    failed_seed = 0;
    return 0;
}

typedef void draw_shape(struct shape *shape, uint64_t *state);

static void check_sets(const char *what, uint64_t seed, unsigned sets, draw_shape *draw)
{
    static struct shape shape;
    fits_seen = refusals_seen = most_rounds = 0;
    memset(collisions_seen, 0, sizeof collisions_seen);
    sets = share_of("sets", sets, share_few(1, 2), 10);
    printf("%s: seeds 0x%llx + 0..%u\n", what, (unsigned long long)seed, sets - 1);
    for (unsigned i = 0; i < sets; i++) {
        failed_seed = seed + i;
        uint64_t state = failed_seed * UINT64_C(0x9e3779b97f4a7c15) | 1u;
        draw(&shape, &state);
        check_set(&shape);
    }
    failed_seed = 0;
    printf("%s: %u fit, %u do not (counters %u, resource %u, limit %u, claimed %u); at most %u rounds\n", what,
           fits_seen, refusals_seen, collisions_seen[1], collisions_seen[2], collisions_seen[3], collisions_seen[4],
           (unsigned)most_rounds);
    assert_in_range(fits_seen, sets / 20, sets - sets / 20);
}

/* ---- Sets of real shapes ---- */

static void draw_skylake(struct shape *shape, uint64_t *state)
{
    shape_skylake(shape, state, 1 + shape_random(state, 6));
}

static void draw_core2(struct shape *shape, uint64_t *state)
{
    shape_core2(shape, state, 1 + shape_random(state, 6));
}

static void place_agrees_with_exhaustive_search_on_skylake_shapes(void **state)
{
    (void)state;
    check_sets("skylake", 0x51c0, 60000, draw_skylake);
}

static void place_agrees_with_exhaustive_search_on_core2_shapes(void **state)
{
    (void)state;
    check_sets("core2", 0xc02e, 60000, draw_core2);
}

/* ---- Sets of everything at once ---- */

static const struct upmu_pair adjacent[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}};
static const struct upmu_pair crossed[] = {{2, 0}, {3, 1}, {0, 5}, {1, 1}};

/* Few, so that many share them: two pairs. */
static unsigned drawn_resource(uint64_t *state)
{
    static const uint8_t resources[4] = {0, 1, 62, 63};
    return resources[shape_random(state, 4)];
}

static void draw_way(struct shape *shape, uint64_t *state, unsigned request, unsigned counters)
{
    struct upmu_alternative *way = &shape->alternative[request][shape->alternative_count[request]++];

    way->slot_count = (uint8_t)(shape_chance(state, 70) ? 1 : 2 + shape_random(state, 2));
    for (unsigned k = 0; k < way->slot_count; k++) {
        way->slot[k].counters = shape_random(state, UINT32_C(1) << counters);
        for (unsigned j = shape_chance(state, 50) ? shape_random(state, 4) : 0; j; j--)
            shape_claim(&way->slot[k], drawn_resource(state), shape_random(state, 3));
    }
    way->dormant = shape_chance(state, 20);
    if (way->slot_count > 1 && shape_chance(state, 50)) {
        struct upmu_slot *last = &way->slot[way->slot_count - 1];
        way->helper = true;
        last->resource_count = 0;
        shape_claim(last, drawn_resource(state), shape_random(state, 3));
    }
    if (way->slot_count > 1u + way->helper && shape_chance(state, 40)) {
        bool order = shape_chance(state, 50);
        way->pairs = order ? adjacent : crossed;
        way->pair_count = order ? 5 : 4;
    }
}

/* Where the requests run now: where they could run without the newest of them. */
static void draw_stay(struct shape *shape, uint64_t *state)
{
    struct shape before = *shape;
    unsigned running = shape_random(state, shape->input.request_count + 1);

    before.input.request_count = running;
    before.input.taken = 0;
    if (running == 0 || place(&before) != UPMU_OK)
        return;
    shape->input.stay = (const uint8_t(*)[UPMU_SLOTS])shape->stay;
    shape->input.stay_alternative = shape->stay_alternative;
    for (unsigned request = 0; request < running; request++) {
        memcpy(shape->stay[request], result[request].counter, UPMU_SLOTS);
        shape->stay_alternative[request] = result[request].alternative;
    }
    /* Once running, it is not the newest any more. */
    if (running < shape->input.request_count) {
        unsigned other = shape->input.request_count - 1;
        struct upmu_alternative swapped[SHAPE_ALTERNATIVES];
        unsigned count = shape->alternative_count[0];
        memcpy(swapped, shape->alternative[0], sizeof swapped);
        memcpy(shape->alternative[0], shape->alternative[other], sizeof swapped);
        memcpy(shape->alternative[other], swapped, sizeof swapped);
        shape->alternative_count[0] = shape->alternative_count[other];
        shape->alternative_count[other] = count;
        memcpy(shape->stay[other], shape->stay[0], UPMU_SLOTS);
        shape->stay_alternative[other] = shape->stay_alternative[0];
        uint8_t set = shape->set_of[0];
        shape->set_of[0] = shape->set_of[other];
        shape->set_of[other] = set;
        memset(shape->stay[0], NONE, UPMU_SLOTS);
        shape->stay_alternative[0] = 0xff;
    }
}

static void draw_general(struct shape *shape, uint64_t *state)
{
    unsigned counters = 3 + shape_random(state, 5);

    shape_begin(shape, (UINT32_C(1) << counters) - 1);
    shape->input.request_count = 1 + shape_random(state, 6);
    for (unsigned request = 0; request < shape->input.request_count; request++)
        for (unsigned ways = 1 + shape_random(state, 3); ways; ways--)
            draw_way(shape, state, request, counters);
    if (shape_chance(state, 50)) {
        shape->input.preference = shape->preference;
        shape->input.preference_count = counters;
        for (unsigned i = 0; i < counters; i++)
            shape->preference[i] = (uint8_t)shape_random(state, counters);
    }
    if (shape_chance(state, 30)) {
        shape->input.set_of = shape->set_of;
        for (unsigned request = 0; request < shape->input.request_count; request++)
            shape->set_of[request] = (uint8_t)shape_random(state, 2);
    }
    if (shape_chance(state, 30))
        draw_stay(shape, state);
    if (shape_chance(state, 30))
        shape_take(shape, shape_random(state, counters));
    if (shape_chance(state, 30))
        for (unsigned i = 1 + shape_random(state, 2); i; i--)
            shape->held[shape->input.held_count++] = (struct upmu_held){.resource = (uint8_t)drawn_resource(state),
                                                                        .shareable = shape_chance(state, 70),
                                                                        .value = shape_random(state, 3)};
    if (shape_chance(state, 30)) {
        shape->input.limited = shape_random(state, UINT32_C(1) << counters);
        shape->input.limit = (uint8_t)shape_random(state, 5);
    }
}

static void place_agrees_with_exhaustive_search_on_general_sets(void **state)
{
    (void)state;
    drawn_contradictions = true;
    check_sets("general", 0x6e0e, 80000, draw_general);
    drawn_contradictions = false;
    assert_true(collisions_seen[UPMU_COLLISION_COUNTERS] > 100 && collisions_seen[UPMU_COLLISION_RESOURCE] > 100 &&
                collisions_seen[UPMU_COLLISION_LIMIT] > 100 && collisions_seen[UPMU_COLLISION_CLAIMED] > 100);
}

/* Many values on few resources: the search has to decide, not the matching. */
static void draw_tangled(struct shape *shape, uint64_t *state)
{
    shape_begin(shape, 0xffff);
    shape->input.request_count = 6 + shape_random(state, 4);
    for (unsigned request = 0; request < shape->input.request_count; request++)
        for (unsigned ways = 2 + shape_random(state, 2); ways; ways--) {
            struct upmu_slot *slot = shape_way(shape, request, UINT32_C(1) << request);
            unsigned resource = shape_random(state, 8);
            shape_claim(slot, resource, shape_random(state, 3));
            shape_claim(slot, resource + 1, shape_random(state, 3));
        }
}

static void place_agrees_with_exhaustive_search_on_tangled_resources(void **state)
{
    (void)state;
    check_sets("tangled", 0x7a61, 20000, draw_tangled);
    assert_in_range(most_rounds, 3, 100);
}

/* Helpers that only other requests can serve, which might be placed otherwise: refusals name them. */
static void draw_helpers(struct shape *shape, uint64_t *state)
{
    shape_begin(shape, 0xf);
    shape->input.request_count = 2 + shape_random(state, 4);
    for (unsigned request = 0; request < shape->input.request_count; request++) {
        bool helps = shape_chance(state, 90);

        for (unsigned ways = 1 + shape_random(state, 3); ways; ways--) {
            struct upmu_alternative *way = &shape->alternative[request][shape->alternative_count[request]];
            struct upmu_slot *slot = shape_way(shape, request, 1 + shape_random(state, 15));

            if (shape_chance(state, 60))
                shape_claim(slot, shape_random(state, 6), shape_random(state, 2));
            if (!helps)
                continue;
            way->slot_count = 2;
            way->helper = true;
            way->slot[1].counters = 1 + shape_random(state, 15);
            shape_claim(&way->slot[1], shape_random(state, 6), shape_random(state, 2));
        }
    }
}

static void place_agrees_with_exhaustive_search_on_sets_of_helpers(void **state)
{
    (void)state;
    check_sets("helpers", 0x4e19, 30000, draw_helpers);
}

/* ---- NetBurst ---- */

static void check_p4_set(const struct shape *shape)
{
    bool fits = shape_p4_fits(shape, exhaustive_all(shape));
    enum upmu_status status = place(shape);

    assert_int_equal(status, fits ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT);
    if (fits) {
        fits_seen++;
        assert_true(result_is_valid(shape));
        return;
    }
    refusals_seen++;
    assert_true(why.culprits != 0 && !shape_p4_fits(shape, why.culprits));
    for (unsigned request = 0; request < shape->input.request_count; request++)
        if (why.culprits >> request & 1u)
            assert_true(shape_p4_fits(shape, why.culprits & ~(UINT32_C(1) << request)));
}

static void place_agrees_with_the_rules_of_the_groups_on_netburst_sets(void **state)
{
    static struct shape shape;
    (void)state;
    unsigned sets = share_of("sets", 30000, share_few(1, 2), 10);

    fits_seen = refusals_seen = most_rounds = 0;
    for (unsigned i = 0; i < sets; i++) {
        failed_seed = 0xfeed0 + (uint64_t)i;
        uint64_t random = failed_seed * UINT64_C(0x9e3779b97f4a7c15) | 1u;
        if (i & 1)
            shape_p4_dense(&shape, &random, 12 + shape_random(&random, 7));
        else
            shape_p4(&shape, &random, 1 + shape_random(&random, 18));
        if (shape_chance(&random, 20))
            shape_take(&shape, 1);
        check_p4_set(&shape);
    }
    failed_seed = 0;
    printf("netburst: seeds 0xfeed0 + 0..%u: %u fit, %u do not; at most %u rounds\n", sets - 1, fits_seen,
           refusals_seen, (unsigned)most_rounds);
    assert_true(fits_seen > sets / 10 && refusals_seen > sets / 10);
}

/* ---- Chosen cases ---- */

static void place_refuses_nine_equal_requests_on_eight_and_names_all(void **state)
{
    struct shape shape;
    (void)state;
    shape_begin(&shape, 0xff);
    shape.input.request_count = 9;
    for (unsigned request = 0; request < 9; request++)
        shape_way(&shape, request, 0xff);
    assert_int_equal(place(&shape), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(why.culprits, 0x1ff);
    assert_int_equal(why.collision, UPMU_COLLISION_COUNTERS);
    assert_int_equal(why.counters, 0xff);
    shape.input.request_count = 8;
    assert_int_equal(place(&shape), UPMU_OK);
}

static void place_refuses_32_netburst_requests_of_one_unit_naming_three(void **state)
{
    struct shape shape;
    (void)state;
    shape_p4_begin(&shape, 32);
    for (unsigned request = 0; request < 32; request++)
        shape_p4_event(&shape, request, 19, request);
    assert_int_equal(place(&shape), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(ones(why.culprits), 3);
    assert_int_equal(why.collision, UPMU_COLLISION_RESOURCE);
}

static void place_follows_the_order_of_alternatives_and_of_preference(void **state)
{
    static const uint8_t preference[] = {3, 1, 2};
    struct shape shape;
    (void)state;
    shape_begin(&shape, 0x1000f);
    shape.input.request_count = 2;
    shape_way(&shape, 0, 0x10000);
    shape_way(&shape, 0, 0xf);
    shape_way(&shape, 1, 0xf);
    shape.input.preference = preference;
    memcpy(shape.preference, preference, sizeof preference);
    shape.input.preference_count = 3;
    assert_int_equal(place(&shape), UPMU_OK);
    assert_int_equal(result[0].counter[0], 16);
    assert_int_equal(result[0].alternative, 0);
    assert_int_equal(result[1].counter[0], 3);
    shape.input.taken = 0x1000a;
    assert_int_equal(place(&shape), UPMU_OK);
    assert_int_equal(result[0].counter[0], 2);
    assert_int_equal(result[0].alternative, 1);
    assert_int_equal(result[1].counter[0], 0);
}

static void place_gives_up_fixed_counters_only_when_it_must(void **state)
{
    struct shape shape;
    (void)state;
    shape_begin(&shape, 0x10003);
    shape.input.request_count = 3;
    shape_way(&shape, 0, 0x10000);
    shape_way(&shape, 0, 0x3);
    shape_way(&shape, 1, 0x10000);
    shape_way(&shape, 2, 0x3);
    assert_int_equal(place(&shape), UPMU_OK);
    assert_int_equal(result[0].alternative, 1);
    assert_int_equal(result[1].counter[0], 16);
}

static void place_moves_as_few_running_requests_as_found(void **state)
{
    struct shape shape;
    (void)state;
    /* 0, 1 and 2 run on counters 3, 2 and 1, not where they would be put; 3 needs counter 2. */
    shape_begin(&shape, 0xf);
    shape.input.request_count = 4;
    for (unsigned request = 0; request < 3; request++) {
        shape_way(&shape, request, 0xf);
        shape.stay[request][0] = (uint8_t)(3 - request);
        shape.stay_alternative[request] = 0;
    }
    shape_way(&shape, 3, 0x4);
    shape.input.stay = (const uint8_t(*)[UPMU_SLOTS])shape.stay;
    shape.input.stay_alternative = shape.stay_alternative;
    assert_int_equal(place(&shape), UPMU_OK);
    assert_int_equal(result[0].counter[0], 3);
    assert_int_equal(result[1].counter[0], 0);
    assert_int_equal(result[2].counter[0], 1);
    assert_int_equal(result[3].counter[0], 2);
    shape.alternative[3][0].slot[0].counters = 0x2;
    assert_int_equal(place(&shape), UPMU_OK);
    assert_int_equal(result[0].counter[0], 3);
    assert_int_equal(result[1].counter[0], 2);
    assert_int_equal(result[2].counter[0], 0);
    assert_int_equal(result[3].counter[0], 1);
}

static void place_keeps_the_alternative_of_a_request_that_stays(void **state)
{
    struct shape shape;
    (void)state;
    shape_begin(&shape, 0xf);
    shape.input.request_count = 1;
    shape_claim(shape_way(&shape, 0, 0xf), 5, 1);
    shape_claim(shape_way(&shape, 0, 0xf), 6, 1);
    shape.stay[0][0] = 2;
    shape.stay_alternative[0] = 1;
    shape.input.stay = (const uint8_t(*)[UPMU_SLOTS])shape.stay;
    shape.input.stay_alternative = shape.stay_alternative;
    assert_int_equal(place(&shape), UPMU_OK);
    assert_int_equal(result[0].counter[0], 2);
    assert_int_equal(result[0].alternative, 1);
}

static void place_counts_a_limit_over_requests_that_share_nothing_else(void **state)
{
    struct shape shape;
    (void)state;
    shape_begin(&shape, 0xf000f);
    shape.input.request_count = 4;
    for (unsigned request = 0; request < 4; request++)
        shape_way(&shape, request, 0x10001u << request);
    shape.input.limited = 0xf;
    shape.input.limit = 0;
    shape.input.taken = 0;
    assert_int_equal(place(&shape), UPMU_OK);
    for (unsigned request = 0; request < 4; request++)
        assert_int_equal(result[request].counter[0], 16 + request, request);
    shape.input.taken = 0x70000;
    shape.input.limit = 2;
    assert_int_equal(place(&shape), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(why.culprits, 0x7);
    shape.input.limit = 3;
    assert_int_equal(place(&shape), UPMU_OK);
}

static void place_names_a_request_without_any_alternative(void **state)
{
    struct shape shape;
    (void)state;
    shape_begin(&shape, 0xf);
    shape.input.request_count = 3;
    shape_way(&shape, 0, 0xf);
    shape_way(&shape, 2, 0xf);
    assert_int_equal(place(&shape), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(why.culprits, 2);
    assert_int_equal(why.collision, UPMU_COLLISION_COUNTERS);
    assert_int_equal(why.counters, 0);
}

static void place_names_the_resource_that_the_culprits_share(void **state)
{
    struct shape shape;
    struct upmu_slot *slot;
    (void)state;
    /* 0 and 1 want different values of resource 5; 2 and 0 use resource 3, without a collision. */
    shape_begin(&shape, 0xf);
    shape.input.request_count = 3;
    slot = shape_way(&shape, 0, 0xf);
    shape_claim(slot, 3, 1);
    shape_claim(slot, 5, 1);
    shape_claim(shape_way(&shape, 1, 0xf), 5, 2);
    shape_claim(shape_way(&shape, 2, 0xf), 3, 1);
    shape_claim(shape_way(&shape, 2, 0xf), 3, 2);
    assert_int_equal(place(&shape), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(why.culprits, 3);
    assert_int_equal(why.collision, UPMU_COLLISION_RESOURCE);
    assert_int_equal(why.resource, 5);
}

static void place_leaves_the_results_alone_when_it_refuses(void **state)
{
    struct shape shape;
    (void)state;
    shape_begin(&shape, 0x3);
    shape.input.request_count = 3;
    for (unsigned request = 0; request < 3; request++)
        shape_way(&shape, request, 0x3);
    memset(result, 0x5a, sizeof result);
    assert_int_equal(place(&shape), UPMU_ERR_DOES_NOT_FIT);
    for (unsigned i = 0; i < sizeof result; i++)
        assert_int_equal(((const uint8_t *)result)[i], 0x5a, i);
    assert_int_equal(upmu_requests_place(&shape.input, &work, result, NULL), UPMU_ERR_DOES_NOT_FIT);
}

/* ---- Refusals of another kind ---- */

static void place_has_room_for_32_netburst_requests_or_says_it_has_none(void **state)
{
    static struct shape shape;
    uint64_t value = 0;
    (void)state;
    shape_p4_begin(&shape, 32);
    for (unsigned request = 0; request < 32; request++)
        shape_p4_event(&shape, request, request, 0);
    assert_int_equal(place(&shape), UPMU_ERR_DOES_NOT_FIT);
    shape_begin(&shape, UINT32_MAX);
    shape.input.request_count = 32;
    for (unsigned request = 0; request < 32; request++)
        for (unsigned way = 0; way < 4; way++)
            shape_claim(shape_way(&shape, request, UINT32_MAX), request, value++);
    assert_int_equal(place(&shape), UPMU_ERR_NO_SPACE);
    assert_int_equal(why.culprits, 0);
    /* Unless those for which it has room collide already. */
    shape.input.counters = 0xff;
    assert_int_equal(place(&shape), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(ones(why.culprits), 9);
    assert_int_equal(why.collision, UPMU_COLLISION_COUNTERS);
}

static bool endless_alternatives(const void *context, unsigned request, unsigned i, struct upmu_alternative *out)
{
    (void)request;
    (void)i;
    memset(out, 0, sizeof *out);
    out->slot_count = 1;
    out->slot[0].counters = 1;
    return context == NULL;
}

static void place_stops_reading_alternatives_without_end(void **state)
{
    struct upmu_place_input input = {.alternative = endless_alternatives, .request_count = 1, .counters = 1};
    (void)state;
    assert_int_equal(upmu_requests_place(&input, &work, result, &why), UPMU_ERR_NO_SPACE);
}

static void begin_valid(struct shape *shape)
{
    shape_begin(shape, 0xf);
    shape->input.request_count = 1;
    shape->alternative[0][0].slot_count = 2;
    shape->alternative_count[0] = 1;
    shape->alternative[0][0].slot[0].counters = 0xf;
    shape->alternative[0][0].slot[1].counters = 0xf;
}

static void place_refuses_what_is_out_of_range(void **state)
{
    static const struct upmu_pair bad_pair = {0, 32};
    struct shape shape;
    struct upmu_alternative *way = &shape.alternative[0][0];
    (void)state;

    begin_valid(&shape);
    assert_int_equal(place(&shape), UPMU_OK);
#define REFUSES(change)                                                                                                \
    do {                                                                                                               \
        begin_valid(&shape);                                                                                           \
        change;                                                                                                        \
        assert_int_equal(place(&shape), UPMU_ERR_INVALID);                                                             \
    } while (0)
    REFUSES(shape.input.request_count = 0);
    REFUSES(shape.input.request_count = 33);
    REFUSES(way->slot_count = 0);
    REFUSES(way->slot_count = 4);
    REFUSES(way->slot[1].resource_count = 4);
    REFUSES((way->slot[0].resource_count = 1, way->slot[0].resource[0] = UPMU_RESOURCES));
    REFUSES((way->pair_count = 1, way->pairs = NULL));
    REFUSES((way->pair_count = 1, way->pairs = &bad_pair));
    REFUSES((way->pair_count = 1, way->pairs = adjacent, way->slot_count = 1));
    REFUSES((shape.input.held_count = 1, shape.held[0].resource = UPMU_RESOURCES));
    REFUSES((shape.input.preference_count = 1, shape.input.preference = shape.preference,
             shape.preference[0] = UPMU_COUNTERS));
}

/* context[0] resources, one value for each request: one request too many for any search to see at once. */
static bool pigeonhole(const void *context, unsigned request, unsigned i, struct upmu_alternative *out)
{
    memset(out, 0, sizeof *out);
    out->slot_count = 1;
    out->slot[0].counters = UINT32_C(1) << request;
    out->slot[0].resource_count = 1;
    out->slot[0].resource[0] = (uint8_t)i;
    out->slot[0].value[0] = request;
    return i < *(const unsigned *)context;
}

static void place_gives_up_instead_of_guessing_when_a_set_is_too_hard(void **state)
{
    unsigned resources = 4;
    struct upmu_place_input input = {.alternative = pigeonhole, .context = &resources, .counters = UINT32_MAX};
    (void)state;
    input.request_count = 5;
    assert_int_equal(upmu_requests_place(&input, &work, result, &why), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(why.culprits, 0x1f);
    assert_int_equal(why.collision, UPMU_COLLISION_RESOURCE);
    input.request_count = 9;
    resources = 8;
    assert_int_equal(upmu_requests_place(&input, &work, result, &why), UPMU_ERR_TOO_HARD);
    assert_int_equal(why.status, UPMU_ERR_TOO_HARD);
    input.request_count = 8;
    assert_int_equal(upmu_requests_place(&input, &work, result, &why), UPMU_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(place_agrees_with_exhaustive_search_on_skylake_shapes, print_failed_seed),
        cmocka_unit_test_teardown(place_agrees_with_exhaustive_search_on_core2_shapes, print_failed_seed),
        cmocka_unit_test_teardown(place_agrees_with_exhaustive_search_on_general_sets, print_failed_seed),
        cmocka_unit_test_teardown(place_agrees_with_exhaustive_search_on_tangled_resources, print_failed_seed),
        cmocka_unit_test_teardown(place_agrees_with_exhaustive_search_on_sets_of_helpers, print_failed_seed),
        cmocka_unit_test_teardown(place_agrees_with_the_rules_of_the_groups_on_netburst_sets, print_failed_seed),
        cmocka_unit_test(place_refuses_nine_equal_requests_on_eight_and_names_all),
        cmocka_unit_test(place_refuses_32_netburst_requests_of_one_unit_naming_three),
        cmocka_unit_test(place_follows_the_order_of_alternatives_and_of_preference),
        cmocka_unit_test(place_gives_up_fixed_counters_only_when_it_must),
        cmocka_unit_test(place_moves_as_few_running_requests_as_found),
        cmocka_unit_test(place_keeps_the_alternative_of_a_request_that_stays),
        cmocka_unit_test(place_counts_a_limit_over_requests_that_share_nothing_else),
        cmocka_unit_test(place_names_a_request_without_any_alternative),
        cmocka_unit_test(place_names_the_resource_that_the_culprits_share),
        cmocka_unit_test(place_leaves_the_results_alone_when_it_refuses),
        cmocka_unit_test(place_has_room_for_32_netburst_requests_or_says_it_has_none),
        cmocka_unit_test(place_stops_reading_alternatives_without_end),
        cmocka_unit_test(place_refuses_what_is_out_of_range),
        cmocka_unit_test(place_gives_up_instead_of_guessing_when_a_set_is_too_hard),
    };
    return cmocka_run_group_tests_name("place", tests, NULL, NULL);
}
