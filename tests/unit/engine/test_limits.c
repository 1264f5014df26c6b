/* SPDX-License-Identifier: MIT */
/*
 * Sessions of threads with a limit that their CPU could not link when the thread came: another call held the session
 * or the thread's list.  What they have missed is in no exact count, and what other CPUs did makes none partial.
 */
#include "tests/common/host.h"
#include <upmu/session.h>
#include <upmu/set.h>

#define CPUS 4
#define IDLE (HOST_THREADS - CPUS) /* and the next are the CPUs' idle threads */

static struct host host;

/* Sessions 0 to 2 of thread 0: limited to CPU 0, to CPU 1, without a limit. */
static void set_up(bool clock)
{
    host_prepare_cpus(&host, "skylake", CPUS);
    if (!clock)
        host.sim.port.clock_ns = NULL;
    host_machine(&host);
    host_take_over(&host, CPUS, false);
    host_threads(&host, HOST_THREADS);
    for (unsigned i = 0; i < 3; i++) {
        host_add(&host, i, "instructions", 0);
        if (i < 2)
            assert_int_equal(upmu_session_limit_cpu(&host.sessions[i], &host.cpu[i]), UPMU_OK, i);
        assert_int_equal(upmu_session_attach_thread(&host.sessions[i], &host.threads[0], NULL), UPMU_OK, i);
        assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK, i);
    }
}

static void come(unsigned cpu)
{
    host_thread_switch(&host, cpu, 0);
}

static void leave(unsigned cpu)
{
    host_thread_switch(&host, cpu, IDLE + cpu);
}

static void tear_down(unsigned cpu)
{
    leave(cpu);
    assert_int_equal(upmu_thread_exit(&host.threads[0]), UPMU_OK);
    host_end_idle(&host);
}

static void counted(unsigned session, uint64_t raw, enum upmu_quality quality, const char *when)
{
    struct upmu_count count = host_count(&host.sessions[session], 0);

    assert_int_equal(count.raw, raw, session);
    if (count.quality != quality)
        fail_msg("%s: session %u has quality %d, not %d (raw %u, enabled %u, running %u)", when, session,
                 (int)count.quality, (int)quality, (unsigned)count.raw, (unsigned)count.enabled_ns,
                 (unsigned)count.running_ns);
}

/* The word by which a call keeps others off: of a session, or of the thread's lists. */
static volatile uint32_t *word(unsigned list)
{
    return list ? &host.threads[0].held : &host.sessions[0].held;
}

/*
 * Session 0 or the lists are held while the thread comes to CPU 0, and until it leaves or a tick.
 * Catches: a session with a limit that is exact though its thread ran without it.
 */
static void what_a_passed_session_missed_is_in_no_exact_count(void **state)
{
    (void)state;
    for (unsigned list = 0; list < 2; list++)
        for (unsigned leaves = 0; leaves < 2; leaves++) {
            struct upmu_count count;

            set_up(true);
            come(0);
            host_work(&host, 0, 10);
            leave(0);
            counted(0, 10, UPMU_QUALITY_EXACT, "before");
            *word(list) = 1;
            come(0);
            *word(list) = 0;
            host_work(&host, 0, 1000);
            counted(0, 10, UPMU_QUALITY_PARTIAL, "before any tick");
            count = host_count(&host.sessions[0], 0);
            assert_compare(count.enabled_ns, >, count.running_ns);
            if (leaves) {
                leave(0);
                counted(0, 10, UPMU_QUALITY_PARTIAL, "after it left");
                come(0);
            } else {
                assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
            }
            assert_int_equal(host.sessions[0].state, UPMU_SESSION_RUNNING, list, leaves);
            host_work(&host, 0, 100);
            count = host_count(&host.sessions[0], 0);
            assert_int_equal(count.raw, 110, list, leaves);
            assert_int_equal(count.quality, list || leaves ? UPMU_QUALITY_PARTIAL : UPMU_QUALITY_SCALED, list, leaves);
            assert_compare(count.enabled_ns, >, count.running_ns);
            if (!list && !leaves) /* the switch noted when it passed the session over */
                assert_compare(count.enabled_ns, >, 5 * count.running_ns);
            tear_down(0);
        }
}

/* The thread leaves while the word is still held: no tick and no switch away has had it. */
static void a_word_held_from_switch_to_switch_leaves_a_note(void **state)
{
    (void)state;
    for (unsigned list = 0; list < 2; list++) {
        set_up(true);
        *word(list) = 1;
        come(0);
        host_work(&host, 0, 1000);
        assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
        leave(0);
        *word(list) = 0;
        assert_compare(host_count(&host.sessions[0], 0).enabled_ns, >, 0);
        assert_int_equal(host_count(&host.sessions[0], 0).quality, UPMU_QUALITY_NEVER_RAN, list);
        come(1);
        host_work(&host, 1, 50);
        counted(1, 50, UPMU_QUALITY_EXACT, "limited to the other CPU");
        leave(1);
        counted(1, 50, UPMU_QUALITY_EXACT, "limited to the other CPU, not running");
        come(0);
        host_work(&host, 0, 7);
        counted(0, 7, UPMU_QUALITY_PARTIAL, "at last");
        leave(0);
        counted(0, 7, UPMU_QUALITY_PARTIAL, "and after that");
        tear_down(0);
    }
}

/*
 * A session that has no place yet is held while its thread comes; the thread leaves, runs elsewhere, and comes again.
 * Catches: all the time since the note as time that the session has missed.
 */
static void a_note_of_an_earlier_visit_is_no_time(void **state)
{
    struct upmu_count count;

    (void)state;
    set_up(true);
    host_work(&host, 0, 1000);
    host.sessions[0].held = 1;
    come(0);
    host.sessions[0].held = 0;
    leave(0);
    come(1);
    host_work(&host, 1, 100000);
    leave(1);
    come(0);
    assert_int_equal(host.sessions[0].state, UPMU_SESSION_RUNNING);
    host_work(&host, 0, 7);
    count = host_count(&host.sessions[0], 0);
    counted(0, 7, UPMU_QUALITY_PARTIAL, "at the second visit");
    assert_in_range(count.enabled_ns, count.running_ns + 1, 10000);
    tear_down(0);
}

/* Both CPUs could not hold the list, and no call could hold it in between. */
static void each_cpu_that_could_not_hold_the_list_is_noted(void **state)
{
    (void)state;
    set_up(true);
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        come(cpu);
        host_work(&host, cpu, 10);
        leave(cpu);
    }
    host.threads[0].held = 1;
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        come(cpu);
        host_work(&host, cpu, 100);
        leave(cpu);
    }
    host.threads[0].held = 0;
    counted(0, 10, UPMU_QUALITY_PARTIAL, "CPU 0");
    counted(1, 10, UPMU_QUALITY_PARTIAL, "CPU 1");
    tear_down(0);
}

/*
 * The thread's clock goes on other CPUs, also where the list is held there.
 * Catches: a session with a limit that has time of, or is partial because of, another CPU.
 */
static void what_other_cpus_passed_over_is_not_the_sessions(void **state)
{
    uint64_t enabled_ns;

    (void)state;
    set_up(true);
    come(0);
    host_work(&host, 0, 10);
    leave(0);
    enabled_ns = host_count(&host.sessions[0], 0).enabled_ns;
    for (unsigned i = 0; i < 6; i++) {
        unsigned cpu = 1 + i % 2;

        host.threads[0].held = i < 3;
        host.sessions[1].held = host.sessions[2].held = i >= 3;
        come(cpu);
        host.sessions[1].held = host.sessions[2].held = host.threads[0].held = 0;
        host_work(&host, cpu, 1000);
        counted(0, 10, UPMU_QUALITY_EXACT, "while the thread is elsewhere");
        if (i & 1u) /* else the next switch takes the note */
            assert_int_equal(upmu_cpu_tick(&host.cpu[cpu]), UPMU_OK);
        leave(cpu);
        host_thread_switch(&host, 3, 0);
        leave(3);
    }
    come(0);
    host_work(&host, 0, 5);
    counted(0, 15, UPMU_QUALITY_EXACT, "on its CPU again");
    assert_in_range(host_count(&host.sessions[0], 0).enabled_ns, enabled_ns + 1, enabled_ns + 1000);
    assert_compare(host_count(&host.sessions[1], 0).enabled_ns, >, host_count(&host.sessions[1], 0).running_ns);
    tear_down(0);
}

/* A session that was passed over is stopped: partial.  Started anew with a new count, it is exact. */
static void what_was_missed_belongs_to_the_count_of_that_time(void **state)
{
    (void)state;
    for (unsigned list = 0; list < 2; list++) {
        set_up(true);
        come(0);
        host_work(&host, 0, 10);
        leave(0);
        *word(list) = 1;
        come(0);
        host_work(&host, 0, 100);
        leave(0);
        *word(list) = 0;
        assert_int_equal(upmu_session_stop(&host.sessions[0]), UPMU_OK);
        counted(0, 10, UPMU_QUALITY_PARTIAL, "stopped");
        assert_int_equal(upmu_set_write(&host.sessions[0].set, 0, 0), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.sessions[0]), UPMU_OK);
        come(0);
        host_work(&host, 0, 3);
        counted(0, 3, UPMU_QUALITY_EXACT, "since the new start");
        leave(0);
        counted(0, 3, UPMU_QUALITY_EXACT, "since the new start, not running");
        tear_down(0);
    }
}

/*
 * A call stops the session, which it holds, while the thread comes and finds it held: the switch's note is stored
 * behind the stop.
 */
static void a_stop_that_a_switch_met_leaves_nothing_for_the_next_start(void **state)
{
    (void)state;
    set_up(true);
    come(0);
    host_work(&host, 0, 10);
    leave(0);
    assert_int_equal(upmu_session_stop(&host.sessions[0]), UPMU_OK);
    host.sessions[0].passed_ns = 1;
    assert_int_equal(upmu_session_start(&host.sessions[0]), UPMU_OK);
    counted(0, 10, UPMU_QUALITY_EXACT, "started again");
    come(0);
    host_work(&host, 0, 5);
    counted(0, 15, UPMU_QUALITY_EXACT, "on its CPU again");
    tear_down(0);
}

/* Catches: a note that stays after the link. */
static void what_was_missed_is_added_once(void **state)
{
    uint64_t missed_ns;
    struct upmu_count count;

    (void)state;
    set_up(true);
    host_work(&host, 0, 1000); /* the model's clock begins at 0 */
    host.sessions[0].held = 1;
    come(0);
    host.sessions[0].held = 0;
    host_work(&host, 0, 1000);
    assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
    count = host_count(&host.sessions[0], 0);
    missed_ns = count.enabled_ns - count.running_ns;
    for (unsigned i = 0; i < 3; i++) {
        host_work(&host, 0, 100);
        leave(0);
        come(0);
    }
    count = host_count(&host.sessions[0], 0);
    assert_int_equal(count.raw, 300);
    assert_int_equal(count.quality, UPMU_QUALITY_SCALED);
    assert_in_range(count.enabled_ns - count.running_ns, missed_ns, missed_ns + 10);
    tear_down(0);
}

/* The count is written while the thread runs without the session: the rest until the tick is missed all the same. */
static void a_count_written_meanwhile_lacks_the_rest(void **state)
{
    (void)state;
    for (unsigned list = 0; list < 2; list++) {
        set_up(true);
        *word(list) = 1;
        come(0);
        *word(list) = 0;
        host_work(&host, 0, 100);
        assert_int_equal(upmu_set_write(&host.sessions[0].set, 0, 0), UPMU_OK);
        host_work(&host, 0, 100);
        assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
        host_work(&host, 0, 3);
        counted(0, 3, UPMU_QUALITY_PARTIAL, "since the count was written");
        tear_down(0);
    }
}

/* Without a clock times are unknown, and what was passed over is partial all the same. */
static void without_a_clock_what_was_passed_over_is_partial(void **state)
{
    (void)state;
    for (unsigned list = 0; list < 2; list++) {
        set_up(false);
        *word(list) = 1;
        come(0);
        *word(list) = 0;
        host_work(&host, 0, 100);
        assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
        host_work(&host, 0, 3);
        counted(0, 3, UPMU_QUALITY_PARTIAL, "after the tick");
        tear_down(0);
    }
}

/* Sleep is no time of the session, in whichever order it is passed over and the CPU sleeps; what it missed is told. */
static void a_sleep_is_not_what_a_passed_session_missed(void **state)
{
    (void)state;
    for (unsigned passed = 0; passed < 3; passed++) {
        struct upmu_count count;

        set_up(true);
        if (passed) {
            host.sessions[0].held = 1;
            come(0);
            host.sessions[0].held = 0;
        }
        if (passed == 2)
            leave(0);
        assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
        if (passed != 1)
            come(0);
        host_work(&host, 0, 1000000);
        assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
        assert_non_null(host.sessions[0].meter, passed);
        host_work(&host, 0, 100);
        assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
        host_work(&host, 0, 10);
        count = host_count(&host.sessions[0], 0);
        assert_int_equal(count.raw, 10, passed);
        assert_int_not_equal(count.quality, UPMU_QUALITY_EXACT, passed);
        assert_in_range(count.enabled_ns, count.running_ns + 1, 100000, passed);
        tear_down(0);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_passed_session_missed_is_in_no_exact_count),
        cmocka_unit_test(a_word_held_from_switch_to_switch_leaves_a_note),
        cmocka_unit_test(a_note_of_an_earlier_visit_is_no_time),
        cmocka_unit_test(each_cpu_that_could_not_hold_the_list_is_noted),
        cmocka_unit_test(what_other_cpus_passed_over_is_not_the_sessions),
        cmocka_unit_test(what_was_missed_belongs_to_the_count_of_that_time),
        cmocka_unit_test(a_stop_that_a_switch_met_leaves_nothing_for_the_next_start),
        cmocka_unit_test(what_was_missed_is_added_once),
        cmocka_unit_test(a_count_written_meanwhile_lacks_the_rest),
        cmocka_unit_test(without_a_clock_what_was_passed_over_is_partial),
        cmocka_unit_test(a_sleep_is_not_what_a_passed_session_missed),
    };

    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
