/* SPDX-License-Identifier: MIT */
/*
 * Guards that no everyday use needs: each test fails if one line of the library is
 * left out (tests/mutants).
 */
#include "backends/x86_core/x86_core.h"
#include "backends/x86_core/x86_core_registers.h"
#include "core/hw/backend.h"
#include "core/engine/count.h"
#include "core/hw/register.h"
#include "tests/common/host.h"
#include "tests/common/state.h"

static struct host host;

static void a_level_sets_no_more_than_its_bits(void **state)
{
    struct upmu_pmu pmu;
    const uint64_t interrupt = UPMU_X86_SELECT_INT, pin = UINT64_C(1) << 19;

    (void)state;
    assert_true(upmu_x86_core_backend.describe("skl", &pmu));
    for (unsigned i = 0; i < 4; i++) {
        uint64_t session = upmu_register_settable(&pmu, UPMU_X86_ROW_SELECT + i, UPMU_LEVEL_SESSION);
        uint64_t privileged = upmu_register_settable(&pmu, UPMU_X86_ROW_SELECT + i, UPMU_LEVEL_PRIVILEGED);

        assert_int_equal(session & 0xffff, 0xffff);
        assert_true(!(session & (interrupt | pin)));
        assert_true((privileged & interrupt) && !(privileged & pin));
    }
    assert_true(upmu_register_settable(&pmu, UPMU_X86_ROW_GLOBAL_CTRL, UPMU_LEVEL_PRIVILEGED) == 0);
    assert_true(upmu_register_settable(&pmu, UPMU_X86_ROW_DEBUGCTL, UPMU_LEVEL_PRIVILEGED) == 0);
}

static void only_counters_overflow(void **state)
{
    struct upmu_pmu pmu;

    (void)state;
    assert_true(upmu_x86_core_backend.describe("skl", &pmu));
    assert_int_equal(upmu_x86_core_backend.overflowed(&pmu, ~UINT64_C(0)), pmu.counters);
}

static void a_fixed_counter_counts_the_sibling_if_asked(void **state)
{
    (void)state;
    host_set_up(&host, "nehalem");
    assert_int_equal(upmu_session_add(&host.session, "cycles:t=1", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(host.session.set.tally[0].counter, UPMU_FIXED_COUNTER(1));
    upmu_sim_switch_cpu(&host.sim, 1);
    host_run(&host, 1000);
    upmu_sim_switch_cpu(&host.sim, 0);
    assert_int_equal(host_value(&host.session, 0), 2000);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

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
    assert_true(host_value(&host.session, 0) == UINT64_C(0x90000000));
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

static void a_transaction_that_rolls_back_counts_nothing_negative(void **state)
{
    struct upmu_pmu pmu;
    struct upmu_tally tally = {.falls = true};

    (void)state;
    assert_true(upmu_x86_core_backend.describe("skl", &pmu));
    assert_true(upmu_count_delta(&pmu, &tally, 2, 90u - UINT64_C(100)) == 0);
    assert_true(upmu_count_delta(&pmu, &tally, 2, 7) == 7);
}

/* From the middle of the counter on, through its end, and more than once round. */
static void a_wrap_is_folded_when_it_happens(void **state)
{
    const uint64_t round = UINT64_C(1) << 48;

    (void)state;
    host_prepare(&host, "skylake");
    upmu_sim_poke(&host.sim, 0, 0xc1, round / 2);
    host_start(&host);
    assert_int_equal(upmu_session_add(&host.session, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 2 * (round + round / 4));
    assert_true(host_value(&host.session, 0) == round + round / 4);
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
        assert_int_equal(upmu_session_add(&host.session, "branches", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        for (unsigned i = 1; i <= 4; i++) {
            host_run(&host, 2 * (round + i));
            assert_true(host_value(&host.session, 0) == i * round + i * (i + 1) / 2);
        }
        /* A fold of the local side right behind a round, before its interrupt, does not count it twice. */
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        assert_true(host_value(&host.session, 0) == 4 * round + 10);
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
        assert_int_equal(upmu_session_add(&host.other, "branches", NULL), UPMU_OK);
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
        assert_true(host_value(&host.other, 0) == 900);
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

/* Core 2: FP_COMP_OPS_EXE counts on counter 0 only, so that a branch counter has to move. */
static void add_mover(void)
{
    assert_int_equal(upmu_session_add(&host.other, "raw:config=0x430010", NULL), UPMU_OK);
    host_begin(&host, &host.other);
}

static void a_counter_that_was_left_is_loaded_anew(void **state)
{
    (void)state;
    host_set_up(&host, "core2");
    assert_int_equal(upmu_session_add(&host.session, "branches", NULL), UPMU_OK);
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
    host_set_up(&host, "willamette");
    assert_int_equal(upmu_session_add(&host.session, "instructions", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(host.session.set.tally[0].counter, 12);
    host_run(&host, 1000);
    assert_int_equal(upmu_session_add(&host.other, "uops_retired:NBOGUS:counter=13", NULL), UPMU_OK);
    host_begin(&host, &host.other);
    assert_int_equal(host.session.set.tally[0].counter, 14);
    host_run(&host, 600);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_session_detach(&host.other), UPMU_OK);
    assert_int_equal(upmu_session_add(&host.sessions[2], "instructions:counter=13", NULL), UPMU_OK);
    host_begin(&host, &host.sessions[2]);
    assert_int_equal(upmu_session_add(&host.sessions[3], "uops_retired:NBOGUS:counter=14", NULL), UPMU_OK);
    host_begin(&host, &host.sessions[3]);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_int_equal(host.session.set.tally[0].counter, 12);
    host_run(&host, 20);
    assert_int_equal(host_count(&host.session, 0).raw, 1620);
    for (unsigned i = 4; i-- > 0;)
        assert_int_equal(upmu_session_close(&host.sessions[i]), UPMU_OK);
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
    assert_int_equal(upmu_session_add(&host.session, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(host.session.set.tally[0].counter, 0);
    host_run(&host, 1000);
    assert_int_equal(upmu_session_add(&host.other, "raw:config=0x4300c1", NULL), UPMU_OK);
    host_begin(&host, &host.other);
    assert_int_equal(host.session.set.tally[0].counter, 1);
    host_run(&host, 1000);
    assert_int_equal(upmu_session_read(&host.session, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.quality, UPMU_QUALITY_SCALED);
    assert_int_equal(count.raw, 1000);
    assert_true(host.session.set.tally[0].gap_ns > 0);
    assert_true(count.running_ns == count.enabled_ns - host.session.set.tally[0].gap_ns);
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
    uint64_t begun_ns;

    (void)state;
    host_prepare(&host, "nehalem");
    host.sim.ns_per_access = 10;
    host_start(&host);
    assert_int_equal(upmu_session_add(&host.session, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    before = host_count(&host.session, 0);
    begun_ns = host.sim.now_ns;
    text[sizeof text - 2] = (char)('0' + host.session.set.tally[0].counter);
    assert_int_equal(upmu_session_add(&host.other, text, NULL), UPMU_OK);
    host_begin(&host, &host.other);
    after = host_count(&host.session, 0);
    assert_true(after.enabled_ns - before.enabled_ns <= host.sim.now_ns - begun_ns);
    assert_true(after.running_ns >= before.running_ns && after.running_ns < after.enabled_ns);
    assert_int_equal(upmu_session_detach(&host.other), UPMU_OK);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

static void take_over_leaves_the_firmware_s_overflow(void **state)
{
    (void)state;
    host_prepare(&host, "skylake");
    upmu_sim_poke(&host.sim, 0, 0x186, 0x53003c);
    upmu_sim_poke(&host.sim, 0, 0x38e, 3);
    host_start(&host);
    assert_int_equal(host.cpu[0].meter.firmware, 1);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38e), 1);
    host_end(&host);
}

/* An overflow found without its interrupt; the interrupt is lost in a sleep, which is longer than it is awaited. */
static void no_late_interrupt_is_expected_after_sleep(void **state)
{
    (void)state;
    host_set_up(&host, "skylake");
    host.sim.skid = 5000;
    host_sample(&host, "instructions", 100);
    host_run(&host, 150);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_not_equal(host.cpu[0].expected, 0);
    assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
    upmu_sim_advance_ns(&host.sim, 110000000);
    upmu_sim_reset_cpu(&host.sim, 0);
    upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
    assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
    upmu_sim_foreign_nmi(&host.sim);
    assert_int_equal(host.answers, 1);
    assert_int_equal(host.answer[0], UPMU_PMI_NOT_OURS);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

/* Version 1: what is closed is not enabled, whatever else its select holds. */
static void a_select_that_is_its_own_gate_goes_idle(void **state)
{
    (void)state;
    host_set_up(&host, "version1");
    assert_int_equal(upmu_session_add(&host.session, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_true(upmu_sim_peek(&host.sim, 0, 0x186) & UPMU_X86_SELECT_EN);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_true(!(upmu_sim_peek(&host.sim, 0, 0x186) & UPMU_X86_SELECT_EN));
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

/* Closing faults, and the counter runs on: what it counts then is in no count. */
static void a_counter_left_open_is_loaded_before_it_runs_again(void **state)
{
    struct upmu_count count;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_session_add(&host.session, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 200);
    host.sim.fault_address = 0x38f;
    assert_int_equal(upmu_session_stop(&host.session), UPMU_ERR_PORT);
    host_run(&host, 1000);
    host.sim.fault_address = 0;
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    host_run(&host, 20);
    assert_int_equal(upmu_session_read(&host.session, 0, 1, &count), UPMU_OK);
    assert_true(count.raw == 110 || count.quality == UPMU_QUALITY_PARTIAL);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_sets_no_more_than_its_bits),
        cmocka_unit_test(only_counters_overflow),
        cmocka_unit_test(a_fixed_counter_counts_the_sibling_if_asked),
        cmocka_unit_test(a_period_longer_than_a_write_is_waited_for),
        cmocka_unit_test(a_transaction_that_rolls_back_counts_nothing_negative),
        cmocka_unit_test(a_wrap_is_folded_when_it_happens),
        cmocka_unit_test(every_round_of_a_counter_is_counted),
        cmocka_unit_test(a_flag_that_is_seen_late_is_no_round),
        cmocka_unit_test(periods_that_are_lost_in_a_row_throttle),
        cmocka_unit_test(a_counter_that_was_left_is_loaded_anew),
        cmocka_unit_test(a_counter_that_was_left_with_a_gap_is_loaded_anew),
        cmocka_unit_test(a_counter_that_moves_keeps_what_is_left_of_its_period),
        cmocka_unit_test(a_gap_is_taken_off_what_ran),
        cmocka_unit_test(a_move_beside_a_sequence_has_one_gap),
        cmocka_unit_test(take_over_leaves_the_firmware_s_overflow),
        cmocka_unit_test(no_late_interrupt_is_expected_after_sleep),
        cmocka_unit_test(a_select_that_is_its_own_gate_goes_idle),
        cmocka_unit_test(a_counter_left_open_is_loaded_before_it_runs_again),
    };

    return cmocka_run_group_tests_name("guards", tests, NULL, NULL);
}
