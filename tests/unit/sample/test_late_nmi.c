/* SPDX-License-Identifier: MIT */
/*
 * Interrupts of ours that come late: after an overflow that a local call has found, at every moment of that call at
 * which it looks at the clock, and several after one call.  None is NOT_OURS, or a host that panics on those dies.
 */
#include <stdio.h>
#include <upmu/session.h>
#include <upmu/set.h>

#include "tests/common/host.h"

static const char *const profiles[] = {"skylake", "core2", "nehalem", "icelake", "zen2", "bulldozer", "prescott"};
#define PROFILES (sizeof profiles / sizeof profiles[0])

static struct host host;
static unsigned clocks, late_at, late, accesses, late_behind, together;
static enum upmu_pmi late_answer;
static uint64_t (*model_clock)(void *context);
static struct upmu_port model;

/* So many in a row: the last answer counts. */
static void arrive(void)
{
    for (unsigned i = 0; i < together; i++, late++)
        late_answer = upmu_pmi_handle(&host.cpu[0], NULL);
}

/* Our own interrupt arrives at one look at the clock, or behind one access to a register. */
static uint64_t clock_with_interrupt(void *context)
{
    if (++clocks == late_at)
        arrive();
    return model_clock(context);
}

static bool rdmsr_with_interrupt(void *context, uint32_t address, uint64_t *out_value)
{
    bool fine = model.rdmsr(context, address, out_value);

    if (++accesses == late_behind)
        arrive();
    return fine;
}

static bool wrmsr_with_interrupt(void *context, uint32_t address, uint64_t value)
{
    bool fine = model.wrmsr(context, address, value);

    if (++accesses == late_behind)
        arrive();
    return fine;
}

static bool rdpmc_with_interrupt(void *context, uint32_t counter, uint64_t *out_value)
{
    bool fine = model.rdpmc(context, counter, out_value);

    if (++accesses == late_behind)
        arrive();
    return fine;
}

static void not_heard(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    (void)sim, (void)cpu, (void)interrupt;
}

/* A session whose events have overflowed, but whose interrupts are still on their way. */
static void overflow_unheard(const char *profile, const char *list)
{
    host_prepare(&host, profile);
    host.sim.now_ns = UINT64_C(10000000000);
    model_clock = host.sim.port.clock_ns;
    host.sim.port.clock_ns = clock_with_interrupt;
    model = host.sim.port;
    host.sim.port.rdmsr = rdmsr_with_interrupt;
    host.sim.port.wrmsr = wrmsr_with_interrupt;
    host.sim.port.rdpmc = rdpmc_with_interrupt;
    late_at = clocks = late = accesses = late_behind = 0;
    together = 1;
    host_start(&host);
    host_sample(&host, list, 100);
    host.sim.deliver = not_heard;
    host_run(&host, 250);
    clocks = accesses = 0;
}

static enum upmu_status poll_it(void)
{
    return upmu_cpu_poll(&host.cpu[0]);
}

static enum upmu_status stop_it(void)
{
    return upmu_session_stop(&host.session);
}

static enum upmu_status detach_it(void)
{
    return upmu_session_detach(&host.session);
}

static enum upmu_status write_it(void)
{
    return upmu_set_write(&host.session.set, 0, 0);
}

static enum upmu_status change_it(void)
{
    return upmu_cpu_changed(&host.cpu[0]);
}

/* Our interrupt comes once at each such moment of each call; how many there are. */
static unsigned answered_at_each(unsigned *moment, const char *what)
{
    static enum upmu_status (*const calls[])(void) = {poll_it, stop_it, detach_it, write_it, change_it};
    unsigned swept = 0;

    for (unsigned p = 0; p < PROFILES; p++)
        for (unsigned call = 0; call < sizeof calls / sizeof calls[0]; call++)
            for (unsigned at = 1;; at++, swept++) {
                overflow_unheard(profiles[p], "instructions");
                *moment = at;
                assert_int_equal(calls[call](), UPMU_OK, call);
                if (!late)
                    break;
                if (late_answer == UPMU_PMI_NOT_OURS)
                    fail_msg("%s, call %u, %s %u: our interrupt is NOT_OURS", profiles[p], call, what, at);
                assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
            }
    assert_compare(swept, >, 50);
    return swept;
}

/*
 * The class: several words that say one thing, stored in an order in which an interrupt between two of them is told
 * something else.
 */
static void an_own_interrupt_is_answered_at_every_look_at_the_clock(void **state)
{
    (void)state;
    printf("%u looks at the clock at which our interrupt came\n", answered_at_each(&late_at, "clock"));
}

/* A counter that has just been loaded says nothing of its overflow any more, nor does a flag that was cleared. */
static void an_own_interrupt_is_answered_behind_every_access(void **state)
{
    (void)state;
    printf("%u accesses behind which our interrupt came\n", answered_at_each(&late_behind, "access"));
}

/* Other sources interrupt beside it: while the overflow waits for the end of the call, each may be its own. */
static void an_overflow_that_waits_for_a_call_answers_each_interrupt(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        overflow_unheard(profiles[p], "instructions");
        host.sim.port.clock_ns = NULL; /* (Without a clock one interrupt is expected for each overflow.) */
        late_behind = 1;
        together = 3;
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(late, 3);
        if (late_answer == UPMU_PMI_NOT_OURS)
            fail_msg("%s: an interrupt in a call is NOT_OURS while an overflow waits", profiles[p]);
        assert_int_equal(host_value(&host.session, 0), 250);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    }
}

/* One that comes while the poll is about to expect it: 100 ms after that the next one is another source's. */
static void an_interrupt_that_was_answered_is_not_awaited_for_long(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        overflow_unheard(profiles[p], "instructions");
        late_at = 1;
        assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
        assert_int_equal(late, 1);
        assert_int_not_equal(late_answer, UPMU_PMI_NOT_OURS);
        upmu_sim_advance_ns(&host.sim, 101000000); /* (before that it could be its own, after another source's) */
        assert_int_equal(upmu_pmi_handle(&host.cpu[0], NULL), UPMU_PMI_NOT_OURS);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    }
}

static bool (*model_rdpmc)(void *context, uint32_t counter, uint64_t *out_value);
static bool is_due;

static bool rdpmc_before_interrupt(void *context, uint32_t counter, uint64_t *out_value)
{
    bool fine = model_rdpmc(context, counter, out_value);

    if (is_due) {
        is_due = false;
        late_answer = upmu_pmi_handle(&host.cpu[0], NULL);
    }
    return fine;
}

/*
 * One that was only late when the poll looked leaves it mail: the poll writes what the interrupt would have written,
 * and has no lost interrupt to unmask.
 */
static void an_interrupt_behind_a_polls_look_leaves_the_poll_its_work(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        uint32_t writes, rearms;
        struct upmu_sample sample;

        overflow_unheard(profiles[p], "instructions");
        writes = host.cpu[0].meter.bank.handler_accesses.writes;
        assert_int_equal(upmu_pmi_handle(&host.cpu[0], NULL), UPMU_PMI_HANDLED);
        writes = host.cpu[0].meter.bank.handler_accesses.writes - writes;
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        overflow_unheard(profiles[p], "instructions");
        model_rdpmc = host.sim.port.rdpmc;
        host.sim.port.rdpmc = rdpmc_before_interrupt;
        is_due = true;
        writes += host.cpu[0].meter.bank.accesses.writes;
        rearms = host.cpu[0].meter.bank.accesses.rearms;
        assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
        assert_false(is_due);
        assert_int_equal(late_answer, UPMU_PMI_HANDLED);
        assert_int_equal(host.cpu[0].meter.bank.accesses.rearms, rearms);
        /* (One more enables again what the handler has stopped.) */
        if (host.cpu[0].meter.bank.accesses.writes > writes + 1u)
            fail_msg("%s: %u writes instead of %u", profiles[p], host.cpu[0].meter.bank.accesses.writes, writes);
        assert_int_equal(host_drain(&host, &sample), 1);
        assert_int_equal(host_value(&host.session, 0), 250);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    }
}

static void an_interrupt_inside_of_a_stop_is_not_awaited_long_after_it(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++)
        for (unsigned at = 1; at <= 2; at++) { /* (Later the status alone tells of it, where there is one.) */
            overflow_unheard(profiles[p], "instructions");
            late_at = at;
            assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
            late_at = 0;
            if (!late && at > 1) {
                assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
                continue;
            }
            assert_int_equal(late_answer, UPMU_PMI_HANDLED);
            upmu_sim_advance_ns(&host.sim, 101000000);
            if (upmu_pmi_handle(&host.cpu[0], NULL) != UPMU_PMI_NOT_OURS)
                fail_msg("%s, clock %u: another interrupt is awaited", profiles[p], at);
            assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        }
}

/* The class: a grant for one where several can come. */
static void each_counter_s_interrupt_is_answered_after_a_change(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        overflow_unheard(profiles[p], "branches,instructions");
        assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK);
        for (unsigned i = 0; i < 2; i++)
            if (upmu_pmi_handle(&host.cpu[0], NULL) == UPMU_PMI_NOT_OURS)
                fail_msg("%s: interrupt %u is NOT_OURS", profiles[p], i);
        upmu_sim_advance_ns(&host.sim, 101000000);
        assert_int_equal(upmu_pmi_handle(&host.cpu[0], NULL), UPMU_PMI_NOT_OURS);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_own_interrupt_is_answered_at_every_look_at_the_clock),
        cmocka_unit_test(an_own_interrupt_is_answered_behind_every_access),
        cmocka_unit_test(an_overflow_that_waits_for_a_call_answers_each_interrupt),
        cmocka_unit_test(an_interrupt_that_was_answered_is_not_awaited_for_long),
        cmocka_unit_test(an_interrupt_behind_a_polls_look_leaves_the_poll_its_work),
        cmocka_unit_test(an_interrupt_inside_of_a_stop_is_not_awaited_long_after_it),
        cmocka_unit_test(each_counter_s_interrupt_is_answered_after_a_change),
        cmocka_unit_test(no_late_interrupt_is_expected_after_sleep),
    };

    return cmocka_run_group_tests_name("late_nmi", tests, NULL, NULL);
}
