/* SPDX-License-Identifier: MIT */
/*
 * More sessions on a CPU, in a thread or in an interrupt than one plan takes: each has its turn, and none is left
 * behind.
 */
#include "tests/common/host.h"
#include "tests/common/pointers.h"
#include <upmu/format.h>
#include <upmu/session.h>

#define MANY 14

static struct host host;
static struct upmu_session many[MANY];

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
    (void)state;
    prepare_many(0, false);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(upmu_session_attach_thread(&many[i], &host.threads[2], NULL), UPMU_OK, i);
        assert_int_equal(upmu_session_start(&many[i]), UPMU_OK, i);
    }
    host_thread_switch(&host, 0, 3);
    host_thread_switch(&host, 0, 2); /* (only searches in vain are limited) */
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
    for (unsigned i = 3; i < 10; i++) {
        assert_int_equal(host_value(&many[i], 0), 600, i);
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

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_sharers_than_a_plan_takes_have_their_turns),
        cmocka_unit_test(a_thread_leaves_with_more_sessions_than_a_plan_takes),
        cmocka_unit_test(sharers_that_one_of_their_own_thread_displaces_wait),
        cmocka_unit_test(a_session_that_a_start_over_masks_is_forgotten),
    };

    return cmocka_run_group_tests_name("many_sessions", tests, NULL, NULL);
}
