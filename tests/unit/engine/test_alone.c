/* SPDX-License-Identifier: MIT */
/*
 * Sessions that run alone on their PMU: while one has counters no other session has any, of the CPU, of a thread, in a
 * chain of sets or in turn.  Class of mistake: a way to counters that does not look at the others.
 */
#include <upmu/session.h>
#include <upmu/set.h>
#include "tests/common/host.h"

#define IDLE 3
#define FOUR "branches,branch-misses,cache-references,cache-misses"

static struct host host;

static void set_up(void)
{
    host_set_up(&host, "skylake");
    host_threads(&host, IDLE + 1);
}

static void make(unsigned i, const char *list, bool shares, bool alone)
{
    struct upmu_session *session = &host.sessions[i];

    assert_int_equal(upmu_set_add(&session->set, list, NULL), UPMU_OK);
    assert_int_equal(upmu_session_share(session, shares), UPMU_OK);
    assert_int_equal(upmu_session_alone(session, alone), UPMU_OK);
}

static void make_for_cpu(unsigned i, const char *list, bool shares, bool alone)
{
    make(i, list, shares, alone);
    assert_int_equal(upmu_session_attach_cpu(&host.sessions[i], &host.cpu[0]), UPMU_OK, i);
}

static void make_for_thread(unsigned i, const char *list, bool alone, unsigned thread)
{
    make(i, list, false, alone);
    assert_int_equal(upmu_session_attach_thread(&host.sessions[i], &host.threads[thread], NULL), UPMU_OK, i, thread);
}

static enum upmu_status start(unsigned i)
{
    return upmu_session_start(&host.sessions[i]);
}

static void stop(unsigned i)
{
    assert_int_equal(upmu_session_stop(&host.sessions[i]), UPMU_OK, i);
}

static bool runs(unsigned i)
{
    return host.sessions[i].state == UPMU_SESSION_RUNNING;
}

/* How many of the first sessions run?  None beside one that is alone. */
static unsigned running(unsigned sessions)
{
    unsigned all = 0, alone = 0;

    for (unsigned i = 0; i < sessions; i++) {
        all += runs(i);
        alone += runs(i) && host.sessions[i].alone;
    }
    assert_true(!alone || all == 1);
    return all;
}

static void end(void)
{
    for (unsigned i = 0; i < IDLE; i++)
        assert_int_equal(upmu_thread_exit(&host.threads[i]), UPMU_OK, i);
    host_end(&host);
}

/* Of two sessions of a CPU the second is refused, whichever is alone, though there are counters enough for both. */
static void the_second_session_of_a_cpu_is_refused(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 2; first++) {
        set_up();
        make_for_cpu(0, "branches", false, true);
        make_for_cpu(1, "cache-misses", false, false);
        for (unsigned round = 0; round < 2; round++) {
            assert_int_equal(start(first), UPMU_OK);
            assert_int_equal(start(!first), UPMU_ERR_DOES_NOT_FIT);
            assert_int_equal(host.sessions[!first].why.status, UPMU_ERR_DOES_NOT_FIT, first);
            host_work(&host, 0, 1000);
            stop(first);
            assert_int_equal(start(!first), UPMU_OK);
            host_work(&host, 0, 1000);
            stop(!first);
        }
        assert_int_equal(host_value(&host.sessions[0], 0), 2 * 200);
        assert_int_equal(host_count(&host.sessions[0], 0).quality, UPMU_QUALITY_EXACT);
        end();
    }
}

/* "Alone" may be set only while nothing is attached; the default is to run beside others. */
static void it_is_chosen_before_the_session_is_attached(void **state)
{
    (void)state;
    set_up();
    make_for_cpu(0, "branches", false, true);
    assert_int_equal(upmu_session_alone(&host.sessions[0], false), UPMU_ERR_STATE);
    assert_int_equal(host.sessions[0].why.status, UPMU_ERR_STATE);
    make_for_cpu(1, "cache-misses", false, false);
    assert_int_equal(start(0), UPMU_OK);
    assert_int_equal(start(1), UPMU_ERR_DOES_NOT_FIT);
    stop(0);
    assert_int_equal(upmu_session_detach(&host.sessions[0]), UPMU_OK);
    assert_int_equal(upmu_session_alone(&host.sessions[0], false), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.sessions[0], &host.cpu[0]), UPMU_OK);
    assert_int_equal(start(1), UPMU_OK);
    assert_int_equal(start(0), UPMU_OK);
    assert_true(runs(0) && runs(1));
    end();
}

/* All sessions that share leave for one that does not and is alone, on whatever counters they are, and run again. */
static void sharers_leave_for_it_and_come_back(void **state)
{
    static const char *const lists[] = {"branches", "branch-misses", "cache-references"};

    (void)state;
    set_up();
    for (unsigned i = 0; i < 3; i++) {
        make_for_cpu(i, lists[i], true, false);
        assert_int_equal(start(i), UPMU_OK, i);
    }
    make_for_cpu(3, "cache-misses", false, true);
    assert_int_equal(running(3), 3);
    for (unsigned round = 0; round < 3; round++) {
        assert_int_equal(start(3), UPMU_OK);
        assert_true(runs(3) && running(4) == 1);
        assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
        assert_true(runs(3) && running(4) == 1);
        host_work(&host, 0, 1000);
        stop(3);
        assert_int_equal(running(4), 3);
        host_work(&host, 0, 1000);
    }
    assert_int_equal(host_value(&host.sessions[3], 0), 3 * 10);
    assert_int_equal(host_count(&host.sessions[3], 0).quality, UPMU_QUALITY_EXACT);
    assert_int_equal(host_count(&host.sessions[0], 0).raw, 3 * 200);
    end();
}

/* A session alone that shares has turns of its own: none starves, and each counts what happens in its turns. */
static void it_takes_turns_with_others(void **state)
{
    static const char *const lists[] = {"branches", "branches:u", "branches:k", "branches", "branches"};

    (void)state;
    for (unsigned alone = 0; alone < 5; alone++) {
        unsigned ran[5] = {0};

        set_up();
        for (unsigned i = 0; i < 5; i++) {
            make_for_cpu(i, lists[i], true, i == alone);
            assert_int_equal(start(i), UPMU_OK, i);
            assert_compare(running(5), >, 0);
        }
        for (unsigned tick = 0; tick < 60; tick++) {
            assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
            assert_compare(running(5), >, 0);
            for (unsigned i = 0; i < 5; i++)
                ran[i] += runs(i);
            host_work(&host, 0, 1000);
        }
        for (unsigned i = 0; i < 5; i++) {
            assert_in_range(ran[i], 10, 50, i);
            stop(i);
            if (i == alone && i != 1 && i != 2)
                assert_int_equal(host_count(&host.sessions[i], 0).raw, ran[i] * 200, i);
        }
        end();
    }
}

/*
 * A thread's session that is alone comes with it, and sharing sessions of the CPU leave meanwhile.  Another session of
 * the thread waits behind it; it waits behind another one that was started before, and comes when that stops.
 */
static void it_comes_and_leaves_with_its_thread(void **state)
{
    (void)state;
    set_up();
    make_for_cpu(0, "branches", true, false);
    assert_int_equal(start(0), UPMU_OK);
    make_for_thread(1, "cache-misses", true, 1);
    make_for_thread(2, "cache-references", false, 1);
    make_for_thread(3, "branch-misses", false, 2);
    for (unsigned i = 1; i < 4; i++)
        assert_int_equal(start(i), UPMU_OK, i);
    for (unsigned round = 0; round < 3; round++) {
        host_thread_switch(&host, 0, 1);
        assert_true(runs(1) && running(4) == 1);
        host_work(&host, 0, 1000);
        host_thread_switch(&host, 0, 2);
        assert_true(runs(0) && runs(3) && running(4) == 2);
        host_work(&host, 0, 1000);
        host_thread_switch(&host, 0, IDLE);
        assert_true(runs(0) && running(4) == 1);
    }
    assert_int_equal(host_value(&host.sessions[1], 0), 3 * 10);
    assert_int_equal(host_count(&host.sessions[1], 0).quality, UPMU_QUALITY_EXACT);
    host_thread_switch(&host, 0, 1);
    stop(1);
    assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK); /* no switch has found a place for session 2 */
    assert_true(runs(0) && runs(2));
    assert_int_equal(start(1), UPMU_OK);
    assert_int_equal(host.sessions[1].state, UPMU_SESSION_WAITING);
    stop(2);
    assert_true(runs(1) && running(4) == 1);
    host_thread_switch(&host, 0, IDLE);
    end();
}

/* A session of the CPU holds counters: the thread's waits, and comes when it has gone. */
static void it_waits_for_a_session_of_the_cpu(void **state)
{
    (void)state;
    set_up();
    make_for_cpu(0, "branches", false, false);
    assert_int_equal(start(0), UPMU_OK);
    make_for_thread(1, "cache-misses", true, 1);
    assert_int_equal(start(1), UPMU_OK);
    for (unsigned round = 0; round < 2; round++) {
        host_thread_switch(&host, 0, 1);
        assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
        assert_int_equal(host.sessions[1].state, UPMU_SESSION_WAITING);
        host_thread_switch(&host, 0, IDLE);
    }
    host_thread_switch(&host, 0, 1);
    stop(0);
    assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
    assert_true(runs(1));
    assert_int_equal(start(0), UPMU_ERR_DOES_NOT_FIT);
    host_thread_switch(&host, 0, IDLE);
    assert_int_equal(start(0), UPMU_OK);
    end();
}

/* Each set of its chain runs alone; while a set without events is the active one, others have the counters. */
static void each_of_its_sets_runs_alone(void **state)
{
    (void)state;
    set_up();
    make(0, "branches", false, true);
    assert_int_equal(upmu_session_add_set(&host.sessions[0], &host.sets[0], 1, 0, 0), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&host.sessions[0], &host.sets[1], 2, 0, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.sets[0], FOUR, NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.sessions[0], &host.cpu[0]), UPMU_OK);
    make_for_cpu(1, "cache-misses", true, false);
    make_for_cpu(2, "instructions", true, false);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(start(i), UPMU_OK, i);
    for (unsigned round = 0; round < 2; round++) {
        assert_true(runs(0) && running(3) == 1);
        assert_int_equal(upmu_session_switch(&host.sessions[0], &host.sets[0]), UPMU_OK);
        assert_true(runs(0) && running(3) == 1);
        assert_int_equal(upmu_session_switch(&host.sessions[0], &host.sets[1]), UPMU_OK);
        for (unsigned tick = 0; tick < 2; tick++)
            assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
        assert_true(runs(0) && runs(1) && runs(2));
        stop(1);
        stop(2);
        assert_int_equal(upmu_session_switch(&host.sessions[0], &host.session.set), UPMU_OK);
        assert_int_equal(start(1), UPMU_OK);
        assert_int_equal(start(2), UPMU_OK);
    }
    end();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_session_of_a_cpu_is_refused),
        cmocka_unit_test(it_is_chosen_before_the_session_is_attached),
        cmocka_unit_test(sharers_leave_for_it_and_come_back),
        cmocka_unit_test(it_takes_turns_with_others),
        cmocka_unit_test(it_comes_and_leaves_with_its_thread),
        cmocka_unit_test(it_waits_for_a_session_of_the_cpu),
        cmocka_unit_test(each_of_its_sets_runs_alone),
    };

    return cmocka_run_group_tests_name("alone", tests, NULL, NULL);
}
