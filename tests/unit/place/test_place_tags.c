/* SPDX-License-Identifier: MIT */
/*
 * Placement of NetBurst sets whose counter groups are coupled: tagging recipes, whose
 * upstream ESCR needs an enabled counter on itself or its twin, and cascades.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/common/assertions.h"
#include "core/place/placement.h"
#include "tests/common/p4_place_fits.h"

#define NONE UPMU_NO_COUNTER

static struct upmu_place_work work;
static struct upmu_place_result result[UPMU_REQUESTS];
static struct upmu_why why;
static struct shape shape;

static enum upmu_status place(const struct p4_set *set)
{
    p4_fill_shape(&shape, set);
    return upmu_requests_place(&shape.input, &work, result, &why);
}

static unsigned event_called(const char *name)
{
    unsigned event = p4_event_by_name(name, strlen(name));
    assert_compare(event, <, P4_EVENTS);
    return event;
}

static unsigned add_called(struct p4_set *set, const char *name, unsigned setting)
{
    p4_add(set, event_called(name), setting);
    return set->count - 1;
}

/* ---- Chosen sets ---- */

static void a_counter_on_the_twin_serves_a_tag(void **state)
{
    struct p4_set set = {0};
    (void)state;
    /* packed_sp retired, and four events that take all counters of its tag's group. */
    p4_add_tagged(&set, P4_EXECUTION_EVENT, 1, P4_PACKED_SP_UOP, 9, 3);
    add_called(&set, "scalar_dp_uop", 0);
    add_called(&set, "memory_cancel", 0);
    add_called(&set, "wc_buffer", 0);
    add_called(&set, "memory_complete", 0);
    assert_int_equal(place(&set), UPMU_OK);
    assert_true(p4_result_is_right(&set, &shape, result));
    assert_int_equal(result[0].counter[1], NONE);
    /* Without the one that serves, and with the group full: no. */
    set.request[1] = set.request[--set.count];
    add_called(&set, "load_port_replay", 0);
    assert_int_equal(place(&set), UPMU_ERR_DOES_NOT_FIT);
    assert_false(p4_everything_fits(&set, why.culprits));
    assert_true(why.culprits & 1);
    /* With one counter left: its own. */
    set.count--;
    assert_int_equal(place(&set), UPMU_OK);
    assert_int_not_equal(result[0].counter[1], NONE);
}

static void tags_serve_each_other_but_not_those_of_another_set(void **state)
{
    struct p4_set set = {0};
    (void)state;
    p4_add_tagged(&set, P4_EXECUTION_EVENT, 1, P4_PACKED_SP_UOP, 9, 3);
    p4_add_tagged(&set, P4_EXECUTION_EVENT, 2, P4_SCALAR_DP_UOP, 9, 3);
    assert_int_equal(place(&set), UPMU_OK);
    assert_int_not_equal(result[0].counter[1] == NONE, result[1].counter[1] == NONE);
    set.several_sets = true;
    set.request[1].set = 1;
    assert_int_equal(place(&set), UPMU_OK);
    assert_true(result[0].counter[1] != NONE && result[1].counter[1] != NONE);
    set.taken = 0xe00; /* one FLAME counter: not enough for two sets, and for one it is */
    assert_int_equal(place(&set), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(why.culprits, 3);
    set.several_sets = false;
    assert_int_equal(place(&set), UPMU_OK);
}

static void equal_tags_share_their_escr_and_one_counter(void **state)
{
    struct p4_set set = {0};
    (void)state;
    p4_add_tagged(&set, P4_EXECUTION_EVENT, 1, P4_PACKED_SP_UOP, 9, 1);
    p4_add_tagged(&set, P4_EXECUTION_EVENT, 1, P4_PACKED_SP_UOP, 9, 1);
    set.taken = 0x100;
    assert_int_equal(place(&set), UPMU_OK);
    assert_true(p4_result_is_right(&set, &shape, result));
    set.request[1].second_setting = 8;
    assert_int_equal(place(&set), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(why.collision, UPMU_COLLISION_RESOURCE);
    assert_int_equal(why.resource / 2, p4_event_unit(P4_PACKED_SP_UOP));
}

static void the_target_of_a_cascade_serves_no_tag_and_its_initiator_does(void **state)
{
    struct p4_set set = {0};
    (void)state;
    p4_add_tagged(&set, P4_EXECUTION_EVENT, 1, P4_PACKED_SP_UOP, 9, 3);
    p4_add_cascade(&set, P4_SCALAR_DP_UOP, 0, event_called("memory_cancel"));
    add_called(&set, "memory_complete", 0);
    add_called(&set, "load_port_replay", 0);
    assert_int_equal(place(&set), UPMU_ERR_DOES_NOT_FIT);
    set.request[1].event = (uint8_t)event_called("memory_cancel");
    set.request[1].second = P4_SCALAR_DP_UOP;
    assert_int_equal(place(&set), UPMU_OK);
    assert_int_equal(result[0].counter[1], NONE);
}

static void two_replay_metrics_never_run_together(void **state)
{
    struct p4_set set = {0};
    (void)state;
    p4_add_tagged(&set, P4_REPLAY_EVENT, 0, P4_LOAD_PORT_REPLAY, 1, 2)->metric = 1;
    assert_int_equal(place(&set), UPMU_OK);
    p4_add_tagged(&set, P4_REPLAY_EVENT, 0, P4_STORE_PORT_REPLAY, 1, 1)->metric = 2;
    assert_int_equal(place(&set), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(why.collision, UPMU_COLLISION_RESOURCE);
    assert_int_equal(why.resource, P4_PEBS_ENABLE);
}

static void a_served_tag_that_runs_stays_served(void **state)
{
    struct p4_set set = {0};
    (void)state;
    p4_add_tagged(&set, P4_EXECUTION_EVENT, 1, P4_PACKED_SP_UOP, 9, 3);
    add_called(&set, "scalar_dp_uop", 0);
    add_called(&set, "memory_cancel", 0);
    p4_fill_shape(&shape, &set);
    shape.input.stay = (const uint8_t(*)[UPMU_SLOTS])shape.stay;
    shape.input.stay_alternative = shape.stay_alternative;
    memcpy(shape.stay, (const uint8_t[2][UPMU_SLOTS]){{14, NONE, NONE}, {11, NONE, NONE}}, 6);
    shape.stay_alternative[0] = 1; /* execution_event odd, packed_sp even */
    shape.stay_alternative[1] = 1;
    assert_int_equal(upmu_requests_place(&shape.input, &work, result, &why), UPMU_OK);
    assert_int_equal(result[0].counter[0], 14);
    assert_int_equal(result[0].counter[1], NONE);
    assert_int_equal(result[1].counter[0], 11);
    /* Its own counter, once it has one, stays too. */
    shape.stay[0][1] = 8;
    assert_int_equal(upmu_requests_place(&shape.input, &work, result, &why), UPMU_OK);
    assert_int_equal(result[0].counter[1], 8);
}

/* Served by a request that shares neither a counter nor a register with it, only the pair of registers. */
static void a_server_may_share_nothing_but_the_pair(void **state)
{
    (void)state;
    for (unsigned server = 0; server < 2; server++) { /* before and behind the one that it serves */
        unsigned served = 1 - server;

        shape_begin(&shape, 0x7);
        shape.input.request_count = 2;
        shape_claim(shape_way(&shape, server, 4), 7, 1);
        shape_way(&shape, served, 1);
        shape.alternative[served][0].slot_count = 2;
        shape.alternative[served][0].helper = true;
        shape.alternative[served][0].slot[1].counters = 2;
        shape_claim(&shape.alternative[served][0].slot[1], 6, 1);
        shape.input.taken = 2;
        assert_int_equal(upmu_requests_place(&shape.input, &work, result, &why), UPMU_OK);
        assert_int_equal(result[served].counter[1], NONE, served);
        shape.alternative[server][0].slot[0].resource[0] = 8;
        assert_int_equal(upmu_requests_place(&shape.input, &work, result, &why), UPMU_ERR_DOES_NOT_FIT);
        assert_int_equal(why.culprits, 1u << served);
        assert_int_equal(why.collision, UPMU_COLLISION_CLAIMED);
    }
}

/* Without the server the set does not fit, either: the culprits are the requests without which the rest fits. */
static void culprits_are_minimal_where_leaving_out_a_server_spoils_a_fit(void **state)
{
    (void)state;
    shape_begin(&shape, 0x3);
    shape.input.request_count = 4;
    for (unsigned request = 0; request < 3; request++)
        shape_way(&shape, request, request == 2 ? 2 : 1);
    shape_claim(&shape.alternative[1][0].slot[0], 6, 1);
    shape_way(&shape, 3, 2);
    shape.alternative[3][0].slot_count = 2;
    shape.alternative[3][0].helper = true;
    shape.alternative[3][0].slot[1].counters = 2;
    shape_claim(&shape.alternative[3][0].slot[1], 7, 1);
    assert_int_equal(upmu_requests_place(&shape.input, &work, result, &why), UPMU_ERR_DOES_NOT_FIT);
    assert_true(why.culprits == 3 || why.culprits == 0xc || why.culprits == 8);
}

static void a_malformed_helper_is_refused(void **state)
{
    struct upmu_alternative *way = &shape.alternative[0][0];
    (void)state;
    shape_begin(&shape, 0xf);
    shape.input.request_count = 1;
    shape_way(&shape, 0, 1);
    way->slot_count = 2;
    way->slot[1].counters = 2;
    way->helper = true;
    assert_int_equal(upmu_requests_place(&shape.input, &work, result, &why), UPMU_ERR_INVALID); /* no resource */
    shape_claim(&way->slot[1], 5, 0);
    assert_int_equal(upmu_requests_place(&shape.input, &work, result, &why), UPMU_OK);
    shape_claim(&way->slot[1], 6, 0);
    assert_int_equal(upmu_requests_place(&shape.input, &work, result, &why), UPMU_ERR_INVALID); /* two */
    way->slot[1].resource_count = 1;
    way->pairs = p4_cascades;
    way->pair_count = 1;
    assert_int_equal(upmu_requests_place(&shape.input, &work, result, &why), UPMU_ERR_INVALID); /* tied */
    way->pair_count = 0;
    way->slot[1].resource[0] = UPMU_RESOURCES;
    assert_int_equal(upmu_requests_place(&shape.input, &work, result, &why), UPMU_ERR_INVALID);
    way->slot_count = 1;
    assert_int_equal(upmu_requests_place(&shape.input, &work, result, &why), UPMU_ERR_INVALID); /* slot 0 */
}

/* ---- Seeded sets ---- */

static bool culprits_are_minimal(const struct p4_set *set)
{
    if (!why.culprits || p4_everything_fits(set, why.culprits))
        return false;
    for (unsigned i = 0; i < set->count; i++)
        if ((why.culprits >> i & 1) && !p4_everything_fits(set, why.culprits & ~(UINT32_C(1) << i)))
            return false;
    return true;
}

static void check_sets(uint64_t seed, unsigned sets, void (*draw)(struct p4_set *, uint64_t *))
{
    const struct placement *p = (const struct placement *)(const void *)&work;
    unsigned fitting = 0, refused = 0, served = 0, own = 0;
    uint32_t most = 0;

    printf("seeds 0x%llx + 0..%u\n", (unsigned long long)seed, sets - 1);
    for (unsigned i = 0; i < sets; i++) {
        uint64_t random = (seed + i) * UINT64_C(0x9e3779b97f4a7c15) | 1u;
        struct p4_set set;
        enum upmu_status status;

        draw(&set, &random);
        status = place(&set);
        if (!p4_everything_fits(&set, ~UINT32_C(0))) {
            refused++;
            if (status != UPMU_ERR_DOES_NOT_FIT || !culprits_are_minimal(&set))
                fail_msg("seed 0x%llx does not fit: status %d", (unsigned long long)(seed + i), (int)status);
            continue;
        }
        fitting++;
        if (status != UPMU_OK || !p4_result_is_right(&set, &shape, result))
            fail_msg("seed 0x%llx fits: status %d", (unsigned long long)(seed + i), (int)status);
        if (PLACE_ROUNDS - p->rounds > most)
            most = PLACE_ROUNDS - p->rounds;
        for (unsigned k = 0; k < set.count; k++)
            if (set.request[k].kind == P4_TAGGED)
                ++*(result[k].counter[1] == NONE ? &served : &own);
    }
    printf("%u sets fit and were placed (tags: %u served, %u with a counter; at most %u rounds), %u do not fit\n",
           fitting, served, own, (unsigned)most, refused);
    assert_true(fitting > sets / 8 && refused > sets / 5 && served > sets / 50 && own > sets / 50);
    assert_compare(most, <, 2000); /* of 20,000 */
}

static void seeded_sets_with_tags_and_cascades_fit_when_a_search_fits(void **state)
{
    (void)state;
    check_sets(UINT64_C(0x7a95) << 32, share_of("sets", 150000, share_few(1, 2), 50), p4_draw_small);
}

static void large_ones_too(void **state)
{
    (void)state;
    check_sets(UINT64_C(0x1a95) << 32, share_of("large sets", 50000, share_few(5, 8), 50), p4_draw_large);
}

/* More than the solver's work area holds: what it holds collides, and the culprits are among that. */
static void any_number_of_tags_is_refused_for_a_real_collision(void **state)
{
    unsigned sets = share_of("sets of tags", 3000, 1, 10);

    (void)state;
    printf("seeds 0xa117a90000 + 0..%u\n", sets - 1);
    for (unsigned i = 0; i < sets; i++) {
        uint64_t random = (UINT64_C(0xa117a90000) + i) * UINT64_C(0x9e3779b97f4a7c15) | 1u;
        struct p4_set set = {0};

        while (set.count < 18 + i % 15)
            p4_draw_tagged(&set, &random);
        p4_draw_finish(&set, &random);
        if (place(&set) != UPMU_ERR_DOES_NOT_FIT || !culprits_are_minimal(&set))
            fail_msg("set %u: status %d, culprits 0x%x", i, (int)why.status, (unsigned)why.culprits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_on_the_twin_serves_a_tag),
        cmocka_unit_test(tags_serve_each_other_but_not_those_of_another_set),
        cmocka_unit_test(equal_tags_share_their_escr_and_one_counter),
        cmocka_unit_test(the_target_of_a_cascade_serves_no_tag_and_its_initiator_does),
        cmocka_unit_test(two_replay_metrics_never_run_together),
        cmocka_unit_test(a_served_tag_that_runs_stays_served),
        cmocka_unit_test(a_server_may_share_nothing_but_the_pair),
        cmocka_unit_test(culprits_are_minimal_where_leaving_out_a_server_spoils_a_fit),
        cmocka_unit_test(a_malformed_helper_is_refused),
        cmocka_unit_test(seeded_sets_with_tags_and_cascades_fit_when_a_search_fits),
        cmocka_unit_test(large_ones_too),
        cmocka_unit_test(any_number_of_tags_is_refused_for_a_real_collision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
