/* SPDX-License-Identifier: MIT */
/*
 * Counters that go round, fall, or have periods longer than a write: every event is in the count once, and every
 * period in a sample or in the lost ones.
 */
#include "backends/x86_core/x86_core.h"
#include "core/engine/count.h"
#include "core/hw/backend.h"
#include "tests/common/host.h"
#include "tests/common/state.h"

static struct host host;

/* 32-bit writes: a longer period takes several loads, none of which looks overflowed. */
static void a_period_longer_than_a_write_is_waited_for(void **state)
{
    (void)state;
    host_set_up(&host, "core2");
    host_sample(&host, "branches", UINT64_C(0x90000000));
    host_run(&host, UINT64_C(2) * 0x90000000u - 2u);
    assert_int_equal(host_drain(&host, NULL), 0);
    host_run(&host, 2);
    assert_int_equal(host_drain(&host, NULL), 1);
    assert_int_equal(host_value(&host.session, 0), UINT64_C(0x90000000));
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

static void a_transaction_that_rolls_back_counts_nothing_negative(void **state)
{
    struct upmu_pmu pmu;
    struct upmu_tally tally = {.falls = true};

    (void)state;
    assert_true(upmu_x86_core_backend.describe("skl", &pmu));
    assert_int_equal(upmu_count_delta(&pmu, &tally, 2, 90u - UINT64_C(100)), 0);
    assert_int_equal(upmu_count_delta(&pmu, &tally, 2, 7), 7);
}

/*
 * What a transaction that is rolled back takes away again is not nearly 2^48 events, of a raw word as of a name.
 * Catches: a raw word of an event whose count can fall taken for one whose count cannot.
 */
static void a_count_that_falls_is_none(void **state)
{
    /* It falls below where it began, then to where it was more; each time from where its thread left it, or not. */
    static const unsigned counted[2][3] = {{0, 95, 90}, {0, 100, 100}};
    struct upmu_sampling often = {.period = 100000};
    struct upmu_event event;

    (void)state;
    for (unsigned follows = 0; follows < 2; follows++) {
        uint64_t value;

        host_set_up_two(&host, "haswell_smt");
        host_threads(&host, 3);
        assert_int_equal(upmu_event_raw(host.cpu[0].meter.pmu, UINT64_C(0x3004300c4), 0, 0, &event), UPMU_OK);
        assert_int_equal(event.counters, 4);
        assert_int_equal(upmu_set_add_event(&host.session.set, &event, &often), UPMU_ERR_INVALID);
        assert_int_equal(upmu_set_add_event(&host.session.set, &event, NULL), UPMU_OK);
        if (follows)
            assert_int_equal(upmu_session_attach_thread(&host.session, &host.threads[2], NULL), UPMU_OK);
        else
            host_attach(&host, 0, 0);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        for (unsigned i = 0; i < 3; i++) {
            if (follows)
                host_thread_switch(&host, 0, 2);
            value = host.sim.cpu[0].counter[2].value;
            upmu_sim_poke(&host.sim, 0, 0xc3, i == 1 ? value + 100 : value - 5);
            assert_int_equal(host_value(&host.session, 0), counted[follows][i], follows, i);
            if (follows)
                host_thread_switch(&host, 0, 0);
        }
        assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    }
}

/* From the middle of the counter on, through its end, and more than once round. */
static void a_wrap_is_folded_when_it_happens(void **state)
{
    const uint64_t round = UINT64_C(1) << 48;

    (void)state;
    host_prepare(&host, "skylake");
    upmu_sim_poke(&host.sim, 0, 0xc1, round / 2);
    host_start(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 2 * (round + round / 4));
    assert_int_equal(host_value(&host.session, 0), round + round / 4);
    assert_false(upmu_test_session_is_held(&host.session));
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

/* A counter that begins at 0 is at 0 again when it interrupts, and so it is each time that follows. */
static void every_round_of_a_counter_is_counted(void **state)
{
    static const char *const profiles[] = {"core2", "skylake"};

    (void)state;
    for (unsigned p = 0; p < 2; p++) {
        const uint64_t round = UINT64_C(1) << (p ? 48 : 40);

        host_prepare(&host, profiles[p]);
        host_start(&host);
        assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        for (unsigned i = 1; i <= 4; i++) {
            host_run(&host, 2 * (round + i));
            assert_int_equal(host_value(&host.session, 0), i * round + i * (i + 1) / 2, i);
        }
        /* A fold of the local side right behind a round, before its interrupt, does not count it twice. */
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        assert_int_equal(host_value(&host.session, 0), 4 * round + 10);
        assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
        host_end(&host);
    }
}

/* A stop folds a wrap whose interrupt is dropped; its flag is seen minutes later, with another overflow. */
static void a_flag_that_is_seen_late_is_no_round(void **state)
{
    static const struct {
        const char *profile;
        unsigned width;
        uint64_t late_ns;
    } cases[] = {
        {"skylake", 48, 1000000},
        {"skylake", 48, UINT64_C(5000000000)},
        {"skylake", 48, UINT64_C(300000000000)},
        {"core2", 40, UINT64_C(60000000000)},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        host_prepare(&host, cases[i].profile);
        upmu_sim_poke(&host.sim, 0, 0xc1, (UINT64_C(1) << cases[i].width) - 100);
        host_start(&host);
        assert_int_equal(upmu_set_add(&host.other.set, "branches", NULL), UPMU_OK);
        host_begin(&host, &host.other);
        assert_int_equal(host.other.set.tally[0].counter, 0);
        host.sim.cpu[0].lvtpc |= UPMU_SIM_LVTPC_MASKED;
        host_run(&host, 400);
        assert_int_equal(host.answers, 0);
        assert_int_equal(upmu_session_stop(&host.other), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
        upmu_sim_advance_ns(&host.sim, cases[i].late_ns);
        host_sample(&host, "instructions", 1000);
        host_run(&host, 1400);
        assert_int_equal(host.answers, 1);
        assert_int_equal(host_value(&host.other, 0), 900);
        assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
        assert_int_equal(upmu_session_detach(&host.other), UPMU_OK);
        host_end(&host);
    }
}

/* The handler's own events are longer than a period: it is throttled after 16 in a row. */
static void periods_that_are_lost_in_a_row_throttle(void **state)
{
    (void)state;
    host_prepare(&host, "skylake");
    host.sim.port.clock_ns = NULL;
    host_start(&host);
    host_sample(&host, "instructions", 50);
    host.sim.events_per_access = 60;
    for (unsigned i = 0; i < 40; i++)
        host_run(&host, 60);
    host.sim.events_per_access = 0;
    assert_in_range(host.answers, 16, 20);
    assert_true(host.session.set.tally[0].throttled);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_period_longer_than_a_write_is_waited_for),
        cmocka_unit_test(a_transaction_that_rolls_back_counts_nothing_negative),
        cmocka_unit_test(a_count_that_falls_is_none),
        cmocka_unit_test(a_wrap_is_folded_when_it_happens),
        cmocka_unit_test(every_round_of_a_counter_is_counted),
        cmocka_unit_test(a_flag_that_is_seen_late_is_no_round),
        cmocka_unit_test(periods_that_are_lost_in_a_row_throttle),
    };

    return cmocka_run_group_tests_name("rounds", tests, NULL, NULL);
}
