/* SPDX-License-Identifier: MIT */
/*
 * Events that move to another counter, return, or find a counter that ran on: which value is loaded, what is left
 * of a period, and the gap that a count tells.
 */
#include <upmu/session.h>
#include "tests/common/host.h"

static struct host host;

/* Core 2: FP_COMP_OPS_EXE counts on counter 0 only, so that a branch counter has to move. */
static void add_mover(void)
{
    assert_int_equal(upmu_set_add(&host.other.set, "raw:config=0x430010", NULL), UPMU_OK);
    host_begin(&host, &host.other);
}

static void a_counter_that_was_left_is_loaded_anew(void **state)
{
    (void)state;
    host_set_up(&host, "core2");
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(host.session.set.tally[0].counter, 0);
    host_run(&host, 1000);
    add_mover();
    assert_int_equal(host.session.set.tally[0].counter, 1);
    host_run(&host, 600);
    assert_int_equal(upmu_session_detach(&host.other), UPMU_OK);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(host_value(&host.session, 0), 800);
    host_run(&host, 400);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    host_run(&host, 20);
    assert_int_equal(host_value(&host.session, 0), 810);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

/*
 * NetBurst: an event moves, with a gap, because another one wants its ESCR, and none comes on the counter that it left.
 * Another one puts back what the ESCR held.  Placed there again the event is loaded anew.
 */
static void a_counter_that_was_left_with_a_gap_is_loaded_anew(void **state)
{
    (void)state;
    host_prepare(&host, "willamette");
    host.sim.ns_per_access = 100;
    host_start(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(host.session.set.tally[0].counter, 12);
    host_run(&host, 1000);
    assert_int_equal(upmu_set_add(&host.other.set, "uops_retired:NBOGUS:counter=13", NULL), UPMU_OK);
    host_begin(&host, &host.other);
    assert_int_equal(host.session.set.tally[0].counter, 14);
    assert_compare(host.session.set.tally[0].gap_ns, >, 0);
    host_run(&host, 600);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_session_detach(&host.other), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.sessions[2].set, "instructions:counter=13", NULL), UPMU_OK);
    host_begin(&host, &host.sessions[2]);
    assert_int_equal(upmu_set_add(&host.sessions[3].set, "uops_retired:NBOGUS:counter=14", NULL), UPMU_OK);
    host_begin(&host, &host.sessions[3]);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_int_equal(host.session.set.tally[0].counter, 12);
    host_run(&host, 20);
    assert_int_equal(host_count(&host.session, 0).raw, 1620);
    for (unsigned i = 4; i-- > 0;)
        assert_int_equal(upmu_session_close(&host.sessions[i]), UPMU_OK, i);
    host_end(&host);
}

static void a_counter_that_moves_keeps_what_is_left_of_its_period(void **state)
{
    (void)state;
    host_set_up(&host, "core2");
    host_sample(&host, "branches", 1000);
    host_run(&host, 1200);
    add_mover();
    assert_int_equal(host.session.set.tally[0].counter, 1);
    host_run(&host, 798);
    assert_int_equal(host_drain(&host, NULL), 0);
    host_run(&host, 2);
    assert_int_equal(host_drain(&host, NULL), 1);
    assert_int_equal(upmu_session_detach(&host.other), UPMU_OK);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

/* Core Duo's gates are in two registers: a move leaves a gap, which the count tells. */
static void a_gap_is_taken_off_what_ran(void **state)
{
    struct upmu_count count;

    (void)state;
    host_prepare(&host, "yonah");
    host.sim.ns_per_access = 100;
    host_start(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(host.session.set.tally[0].counter, 0);
    host_run(&host, 1000);
    assert_int_equal(upmu_set_add(&host.other.set, "raw:config=0x4300c1", NULL), UPMU_OK);
    host_begin(&host, &host.other);
    assert_int_equal(host.session.set.tally[0].counter, 1);
    host_run(&host, 1000);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.quality, UPMU_QUALITY_SCALED);
    assert_int_equal(count.raw, 1000);
    assert_compare(host.session.set.tally[0].gap_ns, >, 0);
    assert_int_equal(count.running_ns, count.enabled_ns - host.session.set.tally[0].gap_ns);
    assert_true(count.value > count.raw && count.error == count.value - count.raw);
    assert_int_equal(upmu_session_detach(&host.other), UPMU_OK);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

/* Nehalem: what comes needs an erratum's sequence, and a running event moves for it. */
static void a_move_beside_a_sequence_has_one_gap(void **state)
{
    struct upmu_count before, after;
    char text[] = "branch-misses:counter=0";
    unsigned counter;
    uint64_t begun_ns;

    (void)state;
    host_prepare(&host, "nehalem");
    host.sim.ns_per_access = 10;
    host_start(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    before = host_count(&host.session, 0);
    begun_ns = host.sim.now_ns;
    counter = host.session.set.tally[0].counter;
    text[sizeof text - 2] = (char)('0' + counter);
    assert_int_equal(upmu_set_add(&host.other.set, text, NULL), UPMU_OK);
    host_begin(&host, &host.other);
    assert_int_not_equal(host.session.set.tally[0].counter, counter);
    after = host_count(&host.session, 0);
    assert_compare(after.enabled_ns - before.enabled_ns, <=, host.sim.now_ns - begun_ns);
    assert_true(after.running_ns >= before.running_ns && after.running_ns < after.enabled_ns);
    assert_int_equal(upmu_session_detach(&host.other), UPMU_OK);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

/* Closing faults, and the counter runs on: what it counts then is in no count. */
static void a_counter_left_open_is_loaded_before_it_runs_again(void **state)
{
    struct upmu_count count;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 200);
    host.sim.fault_address = 0x38f;
    assert_int_equal(upmu_session_stop(&host.session), UPMU_ERR_PORT);
    host_run(&host, 1000);
    host.sim.fault_address = 0;
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    host_run(&host, 20);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.raw, 110);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

/* 0 is the tag of no event: a counter is never thought to hold the value of one that was never there. */
static void tags_go_round_without_0(void **state)
{
    (void)state;
    for (unsigned left = 0; left < 4; left++) {
        host_set_up(&host, "skylake");
        host.cpu[0].meter.next_tag = UINT32_MAX - left;
        host_add(&host, 0, "branches,instructions,cycles", 0);
        host_begin(&host, &host.session);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(host.session.set.tally[i].tag, i < left ? UINT32_MAX - left + 1 + i : i - left + 1, i);
        host_run(&host, 100);
        assert_int_equal(host_value(&host.session, 1), 100);
        host_end(&host);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_that_was_left_is_loaded_anew),
        cmocka_unit_test(a_counter_that_was_left_with_a_gap_is_loaded_anew),
        cmocka_unit_test(a_counter_that_moves_keeps_what_is_left_of_its_period),
        cmocka_unit_test(a_gap_is_taken_off_what_ran),
        cmocka_unit_test(a_move_beside_a_sequence_has_one_gap),
        cmocka_unit_test(a_counter_left_open_is_loaded_before_it_runs_again),
        cmocka_unit_test(tags_go_round_without_0),
    };

    return cmocka_run_group_tests_name("moves", tests, NULL, NULL);
}
