/* SPDX-License-Identifier: MIT */
/*
 * More sessions on a CPU, in a thread or in an interrupt than one plan takes: each has its turn, and none is left
 * behind.
 */
#include "tests/common/host.h"
#include "tests/common/pointers.h"
#include <upmu/format.h>
#include <upmu/session.h>
#include <upmu/set.h>

#define MANY 14

static struct host host;
static struct upmu_session many[MANY];

/* Sessions of thread 2, which want the same counter unless a test says otherwise. */
#define CROWD 40
static struct upmu_session crowd[CROWD];

static void tick(void)
{
    assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
}

/* Eight general counters and four fixed ones: each a session, which shares or not. */
static void prepare_many(unsigned first_fixed, bool shares)
{
    static const char *const fixed[] = {"instructions", "cycles", "ref-cycles"};

    host_set_up_two(&host, "sapphirerapids");
    host_threads(&host, 4);
    for (unsigned i = 0; i < MANY; i++) {
        const char *name = i - first_fixed < 3 ? fixed[i - first_fixed] : "branches";

        assert_int_equal(upmu_session_init(&many[i], &host.machine), UPMU_OK, i);
        assert_int_equal(upmu_set_add(&many[i].set, name, NULL), UPMU_OK, i);
        if (shares)
            assert_int_equal(upmu_session_share(&many[i], true), UPMU_OK, i);
    }
}

/* More than one plan can take off share the CPU: those that have run longest leave first, wherever they stand. */
static void more_sharers_than_a_plan_takes_have_their_turns(void **state)
{
    (void)state;
    for (unsigned first = 0; first <= 8; first += 4) {
        unsigned ran[MANY] = {0}, least = 1000, most = 0, many_ran = 0;

        prepare_many(first, true);
        for (unsigned i = 0; i < MANY; i++) {
            assert_int_equal(upmu_session_attach_cpu(&many[i], &host.cpu[0]), UPMU_OK, i);
            assert_int_equal(upmu_session_start(&many[i]), UPMU_OK, i);
        }
        for (unsigned n = 0; n < 120; n++) {
            unsigned running = 0;

            host_work(&host, 0, 1000);
            tick();
            for (unsigned i = 0; i < MANY; i++) {
                ran[i] += many[i].state == UPMU_SESSION_RUNNING;
                running += many[i].state == UPMU_SESSION_RUNNING;
            }
            assert_true(running >= 8 && running <= 11);
            many_ran += running > 8;
        }
        for (unsigned i = 0; i < MANY; i++) {
            least = ran[i] < least ? ran[i] : least;
            most = ran[i] > most ? ran[i] : most;
            assert_int_equal(upmu_session_close(&many[i]), UPMU_OK, i);
        }
        assert_true(least >= 40 && most <= 120 && many_ran > 100);
        host_end(&host);
    }
}

/* A thread with more sessions than one plan takes comes and leaves: each counts while it runs, and only then. */
static void a_thread_leaves_with_more_sessions_than_a_plan_takes(void **state)
{
    static const unsigned thousands[] = {3, 6, 6}; /* instructions, cycles, reference cycles */

    (void)state;
    prepare_many(0, false);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(upmu_session_attach_thread(&many[i], &host.threads[2], NULL), UPMU_OK, i);
        assert_int_equal(upmu_session_start(&many[i]), UPMU_OK, i);
    }
    host_thread_switch(&host, 0, 3);
    host_thread_switch(&host, 0, 2); /* only searches in vain are limited */
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 10; i++)
            assert_int_equal(many[i].state, UPMU_SESSION_RUNNING, i);
        host_work(&host, 0, 1000);
        host_thread_switch(&host, 0, 3);
        host_work(&host, 0, 500);
        for (unsigned i = 0; i < 10; i++)
            assert_int_equal(many[i].state, UPMU_SESSION_WAITING, i);
        host_thread_switch(&host, 0, 2);
    }
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(host_value(&many[i], 0), i < 3 ? thousands[i] * 1000 : 600, i);
        assert_int_equal(host_count(&many[i], 0).quality, UPMU_QUALITY_EXACT, i);
        assert_int_equal(upmu_session_close(&many[i]), UPMU_OK, i);
    }
}

/* A session of the thread needs the counters that its sharing ones have just got: those wait, and are asked no more. */
static void sharers_that_one_of_their_own_thread_displaces_wait(void **state)
{
    (void)state;
    for (unsigned order = 0; order < 2; order++) {
        host_set_up_two(&host, "skylake");
        host_threads(&host, 3);
        host_add(&host, 0, "branches", 0);
        host_add(&host, 1, "branches:u,branch-misses:u,cache-references:u,cache-misses:u", 0);
        assert_int_equal(upmu_session_share(&host.sessions[0], true), UPMU_OK);
        if (order) {
            assert_int_equal(upmu_session_attach_thread(&host.sessions[1], &host.threads[2], NULL), UPMU_OK);
        }
        assert_int_equal(upmu_session_attach_thread(&host.sessions[0], &host.threads[2], NULL), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.sessions[0]), UPMU_OK);
        host_thread_switch(&host, 0, 2);
        host_thread_switch(&host, 0, 0);
        if (!order)
            assert_int_equal(upmu_session_attach_thread(&host.sessions[1], &host.threads[2], NULL), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.sessions[1]), UPMU_OK);
        for (unsigned round = 0; round < 2; round++) {
            host_thread_switch(&host, 0, 2);
            assert_int_equal(host.sessions[1].state, UPMU_SESSION_RUNNING);
            assert_int_equal(host.sessions[0].state, UPMU_SESSION_WAITING);
            host_work(&host, 0, 1000);
            host_thread_switch(&host, 0, 0);
        }
        assert_int_equal(host_value(&host.sessions[1], 0), 400);
        assert_int_equal(host_count(&host.sessions[1], 0).quality, UPMU_QUALITY_EXACT);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(upmu_session_detach(&host.sessions[i]), UPMU_OK, i);
    }
}

static unsigned mask_at_once(void *state, const struct upmu_overflow *overflow, bool nmi)
{
    (void)state;
    (void)overflow;
    (void)nmi;
    return UPMU_OVERFLOW_MASK;
}

/*
 * One interrupt is to mask more sessions than a plan takes, and the registers are lost before the next call.
 * Catches: a session that is masked by the start over alone, and to which its CPU points when it has ended.
 */
static void a_session_that_a_start_over_masks_is_forgotten(void **state)
{
    static const char *const events[] = {"instructions", "cycles",   "ref-cycles", "branches", "branches",
                                         "branches",     "branches", "branches",   "branches"};
    static const struct upmu_format masking = {.name = "masks", .overflow = mask_at_once};
    struct upmu_sampling sampling = {.period = 100};
    const struct memory cpu = {"CPU", &host.cpu[0], sizeof host.cpu[0]}, sessions = {"sessions", many, sizeof many};
    unsigned running = 0;

    (void)state;
    host_set_up_two(&host, "sapphirerapids");
    for (unsigned i = 0; i < 9; i++) {
        assert_int_equal(upmu_session_init(&many[i], &host.machine), UPMU_OK, i);
        assert_int_equal(upmu_set_add(&many[i].set, events[i], &sampling), UPMU_OK, i);
        assert_int_equal(upmu_session_format(&many[i], &masking, NULL, 0), UPMU_OK, i);
        host_begin(&host, &many[i]);
    }
    host.sim.deliver = NULL; /* their interrupt is late */
    host_work(&host, 0, 1000);
    upmu_sim_irqs(&host.sim, false);
    assert_int_equal(upmu_pmi_handle(&host.cpu[0], NULL), UPMU_PMI_HANDLED);
    upmu_sim_irqs(&host.sim, true);
    for (unsigned i = 0; i < 9; i++)
        running += many[i].state == UPMU_SESSION_RUNNING;
    assert_int_equal(running, 1);
    assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK);
    for (unsigned i = 0; i < 9; i++) {
        assert_int_equal(many[i].state, UPMU_SESSION_MASKED, i);
        assert_int_equal(upmu_session_close(&many[i]), UPMU_OK, i);
    }
    memory_forgotten("masked by a start over", &cpu, 1, &sessions);
    host_end(&host);
}

/* ---- Many sessions of one thread that wait ---- */

static void prepare_crowd(bool shares, const char *last)
{
    host_set_up_two(&host, "skylake");
    host_threads(&host, 4);
    for (unsigned i = 0; i < CROWD; i++) {
        const char *event = i == CROWD - 1 ? last : "branches:counter=0";

        assert_int_equal(upmu_session_init(&crowd[i], &host.machine), UPMU_OK, i);
        assert_int_equal(upmu_set_add(&crowd[i].set, event, NULL), UPMU_OK, i);
        assert_int_equal(upmu_session_share(&crowd[i], shares), UPMU_OK, i);
        assert_int_equal(upmu_session_attach_thread(&crowd[i], &host.threads[2], NULL), UPMU_OK, i);
        assert_int_equal(upmu_session_start(&crowd[i]), UPMU_OK, i);
    }
    host_thread_switch(&host, 0, 3);
}

static void end_crowd(void)
{
    host_thread_switch(&host, 0, 3);
    for (unsigned i = 0; i < CROWD; i++)
        assert_int_equal(upmu_session_close(&crowd[i]), UPMU_OK, i);
    host_end(&host);
}

static unsigned count_linked(void)
{
    unsigned linked = 0;

    for (unsigned i = 0; i < CROWD; i++)
        linked += crowd[i].meter != NULL;
    return linked;
}

static unsigned count_running(void)
{
    unsigned running = 0;

    for (unsigned i = 0; i < CROWD; i++)
        running += crowd[i].state == UPMU_SESSION_RUNNING;
    return running;
}

static uint64_t enabled_of(unsigned i)
{
    return host_count(&crowd[i], 0).enabled_ns;
}

/*
 * Of many sessions that wait, a switch links a few; all have the enabled time of their thread, wherever they are read.
 * Catches: a switch that walks all sessions of a thread; enabled time that a session loses, or has twice, as it is
 * linked, unlinked, stopped or written; time while the thread does not run, or its CPU sleeps.
 */
static void a_switch_links_a_few_of_many_sessions_that_wait(void **state)
{
    uint64_t before_ns;

    (void)state;
    prepare_crowd(false, "branches:counter=0");
    host_thread_switch(&host, 0, 2);
    assert_int_equal(crowd[0].state, UPMU_SESSION_RUNNING);
    assert_int_equal(count_running(), 1);
    assert_in_range(count_linked(), 2, 5);
    host_work(&host, 0, 1000);
    before_ns = enabled_of(0);
    assert_compare(before_ns, >, 0);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < CROWD; i++)
            assert_in_range(enabled_of(i), before_ns - before_ns / 50, before_ns + before_ns / 50, i, round);
        host_thread_switch(&host, 0, 3);
        assert_int_equal(count_linked(), 0);
        host_work(&host, 0, 100000);
        for (unsigned i = 0; i < CROWD; i++)
            assert_in_range(enabled_of(i), before_ns - before_ns / 50, before_ns + before_ns / 50, i, round);
        host_thread_switch(&host, round & 1, 2);
        host_work(&host, round & 1, 1000);
        for (unsigned tick = 0; tick < 5; tick++)
            assert_int_equal(upmu_cpu_tick(&host.cpu[round & 1]), UPMU_OK);
        assert_in_range(count_linked(), 2, 5);
        before_ns = enabled_of(0);
        upmu_sim_switch_cpu(&host.sim, 1);
        for (unsigned i = 0; i < CROWD; i++)
            assert_in_range(enabled_of(i), before_ns - before_ns / 50, before_ns + before_ns / 50, i, round);
        upmu_sim_switch_cpu(&host.sim, 0);
        if (round & 1) {
            upmu_sim_switch_cpu(&host.sim, 1);
            host_thread_switch(&host, 1, 3);
            upmu_sim_switch_cpu(&host.sim, 0);
            host_thread_switch(&host, 0, 2);
        }
    }
    host_work(&host, 0, 1000);
    before_ns = enabled_of(CROWD - 1);
    assert_null(crowd[CROWD - 1].meter);
    assert_int_equal(upmu_session_stop(&crowd[CROWD - 1]), UPMU_OK);
    host_work(&host, 0, 1000);
    assert_int_equal(enabled_of(CROWD - 1), before_ns);
    before_ns = enabled_of(CROWD - 2);
    assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
    host.sim.now_ns += 1000000;
    assert_in_range(enabled_of(CROWD - 2), before_ns, before_ns + 1000);
    assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
    host_work(&host, 0, 1000);
    assert_compare(enabled_of(CROWD - 2), >, before_ns);
    assert_int_equal(upmu_set_write(&crowd[CROWD - 2].set, 0, 0), UPMU_OK);
    assert_in_range(enabled_of(CROWD - 2), 0, 100);
    before_ns = enabled_of(CROWD - 3);
    assert_int_equal(upmu_session_detach(&crowd[CROWD - 3]), UPMU_OK);
    assert_in_range(enabled_of(CROWD - 3), before_ns, before_ns + 100);
    end_crowd();
}

/* Each of many sessions of a thread that share has its turn, whether the thread runs on, or leaves and returns. */
static void each_of_many_sessions_of_a_thread_has_its_turn(void **state)
{
    (void)state;
    for (unsigned leaves = 0; leaves < 2; leaves++) {
        unsigned ran[CROWD] = {0};

        prepare_crowd(true, "branches:counter=0");
        host_thread_switch(&host, 0, 2);
        for (unsigned n = 0; n < 8 * CROWD; n++) {
            host_work(&host, 0, 1000);
            tick();
            assert_int_equal(count_running(), 1, n);
            assert_in_range(count_linked(), 2, 10, n);
            for (unsigned i = 0; i < CROWD; i++)
                ran[i] += crowd[i].state == UPMU_SESSION_RUNNING;
            if (leaves && n % 7 == 3) {
                host_thread_switch(&host, 0, 3);
                host_thread_switch(&host, 0, 2);
            }
        }
        for (unsigned i = 0; i < CROWD; i++)
            assert_in_range(ran[i], leaves ? 1 : 7, leaves ? 60 : 9, i);
        end_crowd();
    }
}

/* A session for which there is a counter comes, though many stand before it that wait for another one. */
static void many_that_wait_do_not_hide_one_that_fits(void **state)
{
    unsigned ticks = 0;

    (void)state;
    prepare_crowd(false, "instructions");
    host_thread_switch(&host, 0, 2);
    while (crowd[CROWD - 1].state != UPMU_SESSION_RUNNING && ticks < 2 * CROWD) {
        tick();
        ticks++;
    }
    assert_in_range(ticks, 1, CROWD);
    assert_int_equal(crowd[0].state, UPMU_SESSION_RUNNING);
    end_crowd();
}

/*
 * Starts while the thread runs, of stopped sessions and of those that wait already, link no more sessions than a tick.
 * A session of the CPU that comes meanwhile hides none of them from the next switch.
 */
static void starts_of_many_sessions_link_a_few(void **state)
{
    (void)state;
    prepare_crowd(false, "branches:counter=0");
    for (unsigned i = 0; i < CROWD; i++)
        assert_int_equal(upmu_session_stop(&crowd[i]), UPMU_OK, i);
    assert_null(host.threads[2].started);
    host_thread_switch(&host, 0, 2);
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < CROWD; i++) {
            assert_int_equal(upmu_session_start(&crowd[i]), UPMU_OK, i);
            assert_int_equal(crowd[i].state, i ? UPMU_SESSION_WAITING : UPMU_SESSION_RUNNING, i);
            assert_in_range(count_linked(), 1, 5, i, round);
        }
    host_add(&host, 0, "instructions", 0);
    host_begin(&host, &host.sessions[0]);
    host_thread_switch(&host, 0, 3);
    assert_int_equal(count_linked(), 0);
    assert_int_equal(upmu_session_close(&host.sessions[0]), UPMU_OK);
    end_crowd();
}

/* A session with a limit is enabled where its thread runs on that CPU, whatever the clock of the thread says. */
static void a_session_with_a_limit_has_the_time_of_its_cpu(void **state)
{
    struct upmu_session *limited = &host.sessions[0];
    uint64_t before_ns;

    (void)state;
    prepare_crowd(false, "branches:counter=0");
    host_add(&host, 0, "branches:counter=0", 0);
    assert_int_equal(upmu_session_limit_cpu(limited, &host.cpu[1]), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(limited, &host.threads[2], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(limited), UPMU_OK);
    host_thread_switch(&host, 0, 2);
    host_work(&host, 0, 1000);
    assert_int_equal(host_count(limited, 0).enabled_ns, 0);
    host_thread_switch(&host, 0, 3);
    host_thread_switch(&host, 1, 2);
    assert_non_null(limited->meter);
    host_work(&host, 1, 1000);
    before_ns = host_count(limited, 0).enabled_ns;
    assert_compare(before_ns, >, 0);
    host_thread_switch(&host, 1, 3);
    host_thread_switch(&host, 0, 2);
    host_work(&host, 0, 100000);
    assert_in_range(host_count(limited, 0).enabled_ns, before_ns, before_ns + 100);
    host_thread_switch(&host, 0, 3);
    host_thread_switch(&host, 1, 2);
    assert_in_range(host_count(limited, 0).enabled_ns, before_ns, before_ns + 100);
    host_thread_switch(&host, 1, 3);
    upmu_sim_switch_cpu(&host.sim, 0);
    assert_int_equal(upmu_session_close(limited), UPMU_OK);
    end_crowd();
}

/* A stop lets the next one come at once, whether ticks come between or not. */
static void stops_let_those_that_wait_come_one_after_the_other(void **state)
{
    (void)state;
    for (unsigned ticks = 0; ticks < 2; ticks++) {
        bool stopped[CROWD] = {false};

        prepare_crowd(false, "branches:counter=0");
        host_thread_switch(&host, 0, 2);
        for (unsigned n = 0; n < CROWD; n++) {
            unsigned running = 0;

            while (running < CROWD && crowd[running].state != UPMU_SESSION_RUNNING)
                running++;
            assert_in_range(running, 0, CROWD - 1, n);
            assert_false(stopped[running], n);
            stopped[running] = true;
            assert_int_equal(upmu_session_stop(&crowd[running]), UPMU_OK, n);
            assert_int_equal(count_running(), n < CROWD - 1, n);
            if (ticks && n % 4 == 3)
                tick();
        }
        end_crowd();
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_sharers_than_a_plan_takes_have_their_turns),
        cmocka_unit_test(a_thread_leaves_with_more_sessions_than_a_plan_takes),
        cmocka_unit_test(sharers_that_one_of_their_own_thread_displaces_wait),
        cmocka_unit_test(a_session_that_a_start_over_masks_is_forgotten),
        cmocka_unit_test(a_switch_links_a_few_of_many_sessions_that_wait),
        cmocka_unit_test(each_of_many_sessions_of_a_thread_has_its_turn),
        cmocka_unit_test(many_that_wait_do_not_hide_one_that_fits),
        cmocka_unit_test(stops_let_those_that_wait_come_one_after_the_other),
        cmocka_unit_test(starts_of_many_sessions_link_a_few),
        cmocka_unit_test(a_session_with_a_limit_has_the_time_of_its_cpu),
    };

    return cmocka_run_group_tests_name("many_sessions", tests, NULL, NULL);
}
