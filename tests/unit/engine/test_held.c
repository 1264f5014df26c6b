/* SPDX-License-Identifier: MIT */
/*
 * Sessions and lists of sessions that a call on another CPU holds: a call on them is refused, a switch passes them
 * over, and they join with a later tick.
 */
#include <upmu/session.h>
#include "tests/common/host.h"

static struct host host;

static void tick(void)
{
    assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
}

static void what_another_call_holds_is_not_detached(void **state)
{
    (void)state;
    host_set_up_two(&host, "skylake");
    host_threads(&host, 3);
    host_add(&host, 0, "instructions", 0);
    assert_int_equal(upmu_session_attach_thread(&host.sessions[0], &host.threads[2], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.sessions[0]), UPMU_OK);
    host_thread_switch(&host, 0, 2);
    host_work(&host, 0, 100);
    host.sessions[0].held = 1; /* as inside a call on another CPU */
    assert_int_equal(upmu_session_detach(&host.sessions[0]), UPMU_ERR_BUSY);
    assert_ptr_equal(host.threads[2].sessions, &host.sessions[0]);
    assert_int_equal(host.threads[2].held, 0);
    host.sessions[0].held = 0;
    assert_int_equal(upmu_session_detach(&host.sessions[0]), UPMU_OK);
    assert_int_equal(host_value(&host.sessions[0], 0), 100);
    assert_null(host.threads[2].sessions);
}

static void a_list_that_is_held_takes_no_session(void **state)
{
    (void)state;
    host_set_up_two(&host, "skylake");
    host_threads(&host, 3);
    host_add(&host, 0, "instructions", 0);
    host.threads[2].held = 1; /* as inside a call on another CPU */
    assert_int_equal(upmu_session_attach_thread(&host.sessions[0], &host.threads[2], NULL), UPMU_ERR_BUSY);
    assert_int_equal(upmu_session_attach_thread(&host.sessions[0], &host.threads[2], &host.cpu[0]), UPMU_ERR_BUSY);
    assert_null(host.threads[2].sessions);
    assert_int_equal(host.cpu[0].meter.busy, 0);
    host.threads[2].held = 0;
    assert_int_equal(upmu_session_attach_thread(&host.sessions[0], &host.threads[2], NULL), UPMU_OK);
    assert_int_equal(upmu_session_detach(&host.sessions[0]), UPMU_OK);
}

/* One of two that a call held when their thread came is still held at the next tick: it joins with a later one. */
static void a_session_that_stays_held_joins_with_a_later_tick(void **state)
{
    (void)state;
    host_set_up_two(&host, "skylake");
    host_threads(&host, 3);
    for (unsigned i = 0; i < 2; i++) {
        host_add(&host, i, "instructions", 0);
        assert_int_equal(upmu_session_attach_thread(&host.sessions[i], &host.threads[2], NULL), UPMU_OK, i);
        assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK, i);
        host.sessions[i].held = 1;
    }
    host_thread_switch(&host, 0, 2);
    host.sessions[1].held = 0;
    for (unsigned i = 0; i < 3; i++) {
        host_work(&host, 0, 100);
        if (i == 2)
            host.sessions[0].held = 0;
        tick();
        assert_int_equal(host.sessions[0].state, i < 2 ? UPMU_SESSION_WAITING : UPMU_SESSION_RUNNING, i);
        assert_int_equal(host.sessions[1].state, UPMU_SESSION_RUNNING);
    }
    host_work(&host, 0, 100);
    assert_int_equal(host_value(&host.sessions[0], 0), 100);
    assert_int_equal(host_value(&host.sessions[1], 0), 300);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(upmu_session_detach(&host.sessions[i]), UPMU_OK, i);
}

/*
 * The first event of one CPU and the first of another have one tag: what comes from elsewhere is tagged anew, even
 * where it comes with a tick.
 */
static void a_session_that_comes_with_a_tick_is_tagged_on_its_new_cpu(void **state)
{
    (void)state;
    host_set_up_two(&host, "skylake");
    host_threads(&host, 3); /* 1 and 2 are what the CPUs run */
    host_add(&host, 0, "branches", 0);
    host_add(&host, 1, "branches", 0);
    assert_int_equal(upmu_session_attach_thread(&host.sessions[0], &host.threads[0], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.sessions[0]), UPMU_OK);
    host_thread_switch(&host, 0, 0);
    host_work(&host, 0, 1000);
    host_thread_switch(&host, 0, 1);
    host_attach(&host, 1, 1);
    assert_int_equal(upmu_session_start(&host.sessions[1]), UPMU_OK);
    host_work(&host, 1, 5000);
    assert_int_equal(upmu_session_stop(&host.sessions[1]), UPMU_OK);
    host.sessions[0].held = 1; /* as inside a call on another CPU */
    host_thread_switch(&host, 1, 0);
    host.sessions[0].held = 0;
    assert_int_equal(upmu_cpu_tick(&host.cpu[1]), UPMU_OK);
    assert_int_equal(host.sessions[0].state, UPMU_SESSION_RUNNING);
    host_work(&host, 1, 100);
    assert_int_equal(host_value(&host.sessions[0], 0), 220);
    host_thread_switch(&host, 1, 2);
    assert_int_equal(host_value(&host.sessions[0], 0), 220);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(upmu_session_detach(&host.sessions[i]), UPMU_OK, i);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_another_call_holds_is_not_detached),
        cmocka_unit_test(a_list_that_is_held_takes_no_session),
        cmocka_unit_test(a_session_that_stays_held_joins_with_a_later_tick),
        cmocka_unit_test(a_session_that_comes_with_a_tick_is_tagged_on_its_new_cpu),
    };

    return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
