/* SPDX-License-Identifier: MIT */
/*
 * Interrupts that come at one moment of a call, and what they leave behind: judged by counts, samples, answers of
 * upmu_handle_pmi() and the model's registers.
 */
#include "tests/common/host.h"
#include "tests/common/state.h"
#include <upmu/format.h>

static struct host host;

static void run_user(uint64_t instructions)
{
    upmu_sim_events(&host.sim,
                    &(struct upmu_sim_burst){.instructions = instructions, .cycles = instructions, .user = true});
}

/*
 * A status register that faults in a handler says nothing; the model stores all ones then.  Catches: a value that a
 * failed read has left is taken for the register's.
 */
static void a_status_that_faults_is_not_believed(void **state)
{
    struct upmu_sampling sampling = {.period = 1000};

    (void)state;
    host_set_up(&host, "skylake");
    host.sim.expect_faults = true;
    assert_int_equal(upmu_session_add(&host.session, "instructions", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(upmu_session_add(&host.other, "cycles", &sampling), UPMU_OK);
    host_begin(&host, &host.other);
    run_user(900);
    upmu_sim_advance_ns(&host.sim, UINT64_C(700000000000)); /* a counter of 48 bits may go round in that time */
    host.sim.fault_address = 0x38e;
    run_user(200);
    host.sim.fault_address = 0;
    assert_int_equal(host_value(&host.session, 0), 1100);
    host_end(&host);
}

/*
 * An overflow without a frame that waits for the local side has no address, though one with a frame had waited before.
 * Catches: what belongs to one interrupt is kept for the next.
 */
static void a_deferred_overflow_without_frame_has_no_address(void **state)
{
    struct upmu_sample sample;

    (void)state;
    host_set_up(&host, "skylake");
    host_sample(&host, "instructions", 100);
    for (unsigned i = 0; i < 2; i++) {
        host.no_frame = i;
        upmu_test_hold_event(&host.session, 0);
        host_run(&host, 100);
        upmu_test_release_event(&host.session, 0);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(host_drain(&host, &sample), 1);
        assert_int_equal(sample.ip != 0, !i);
        assert_int_equal(sample.flags & UPMU_SAMPLE_NO_FRAME, i ? UPMU_SAMPLE_NO_FRAME : 0);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    }
    host_end(&host);
}

/*
 * The counters of two sessions overflow, one after the other, while the local side holds both.  The address of the
 * first interrupt stays with the first sample, and the second one has none.  Catches: the address of the last interrupt
 * given to what waited before it.
 */
static void a_second_interrupt_leaves_the_first_overflow_its_address(void **state)
{
    struct upmu_sample sample;

    (void)state;
    host_set_up(&host, "skylake");
    for (unsigned i = 0; i < 2; i++) {
        host_add(&host, i, i ? "branches" : "instructions", 100);
        host_begin(&host, &host.sessions[i]);
        upmu_test_hold_event(&host.sessions[i], 0);
    }
    for (uint64_t ip = 0x1000; ip <= 0x2000; ip += 0x1000)
        upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 100, .branches = 50, .ip = ip});
    for (unsigned i = 0; i < 2; i++) {
        upmu_test_release_event(&host.sessions[i], 0);
        assert_int_equal(upmu_session_stop(&host.sessions[i]), UPMU_OK);
        assert_true(upmu_ring_next(&host.sessions[i].ring, &sample));
        assert_int_equal(sample.ip & 0xf000, i ? 0 : 0x1000);
        assert_int_equal(sample.flags & UPMU_SAMPLE_NO_FRAME, i ? UPMU_SAMPLE_NO_FRAME : 0);
    }
    host_end(&host);
}

/* A counter wraps right after a call has read it. */
static void wrap_after_the_read(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                                uint32_t address)
{
    (void)number;
    if (kind != UPMU_SIM_RDPMC || address != 1 || sim->cpu[cpu].in_nmi)
        return;
    sim->after_access = NULL;
    host_run(sim->test, 1000);
}

/*
 * A counter that only counts wraps inside a poll, after it was read.  The poll folds it before it returns, so that an
 * NMI of another source is not answered for, and the count is right.  Catches: an overflow that meets a held tally and
 * is acknowledged without a note.
 */
static void a_wrap_inside_a_poll_is_folded_by_it(void **state)
{
    static const char *const profiles[] = {"core2", "skylake", "zen4"};

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        for (unsigned ticks = 0; ticks < 2; ticks++) {
            host_prepare(&host, profiles[i]);
            host_start(&host);
            upmu_sim_poke(&host.sim, 0, i < 2 ? 0xc2 : 0xc0010203,
                          UINT64_C(0) - 500 + (UINT64_C(1) << (i ? 48 : 40)));
            assert_int_equal(upmu_session_add(&host.session, "instructions:counter=1", NULL), UPMU_OK);
            host_begin(&host, &host.session);
            host.sim.after_access = wrap_after_the_read;
            for (unsigned k = 0; k < 16 && ticks; k++)
                assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
            if (!ticks)
                assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
            assert_null(host.sim.after_access);
            upmu_sim_advance_ns(&host.sim, UINT64_C(1000000000));
            upmu_sim_irqs(&host.sim, false);
            assert_int_equal(upmu_handle_pmi(&host.cpu[0], NULL), UPMU_PMI_NOT_OURS);
            upmu_sim_irqs(&host.sim, true);
            assert_int_equal(host_value(&host.session, 0), 1000);
            host_end(&host);
        }
}

/* The session of the CPU overflows while a thread switch holds the counters of its threads, and fills its ring. */
static bool masked;

static void watch(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)number;
    (void)address;
    if (sim->cpu[cpu].in_nmi)
        return;
    if (!masked && kind == UPMU_SIM_RDPMC) {
        masked = true;
        for (unsigned i = 0; i < 20 && host.sessions[2].state != UPMU_SESSION_MASKED; i++)
            host_run(&host, 100);
        assert_int_equal(host.sessions[2].state, UPMU_SESSION_MASKED);
    }
    if (masked && upmu_sim_runs(sim, cpu, host.sessions[2].set.tally[0].counter))
        fail_msg("a counter that the handler has closed runs again");
}

/*
 * The enable write of a switch does not open what a handler has closed meanwhile.  Catches: a write from the shadow,
 * which does not know what handlers close.
 */
static void a_session_that_a_handler_masks_in_a_switch_stays_closed(void **state)
{
    (void)state;
    host_set_up(&host, "skylake");
    host_threads(&host, 2);
    for (unsigned i = 0; i < 2; i++) {
        host_add(&host, i, i ? "branches:counter=2" : "branches:counter=1", 0);
        assert_int_equal(upmu_session_attach_thread(&host.sessions[i], &host.threads[i], NULL), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK);
    }
    host_thread_switch(&host, 0, 0);
    host_add(&host, 2, "instructions:counter=0", 100);
    assert_int_equal(upmu_session_ring(&host.sessions[2], host.rings[2], 256), UPMU_OK);
    upmu_session_mask_on_full(&host.sessions[2], true);
    host_begin(&host, &host.sessions[2]);
    masked = false;
    host.sim.after_access = watch;
    host_thread_switch(&host, 0, 1);
    host.sim.after_access = NULL;
    assert_true(masked);
    assert_int_equal(host.sessions[2].state, UPMU_SESSION_MASKED);
    assert_int_equal(host.sessions[1].state, UPMU_SESSION_RUNNING);
    host_run(&host, 100);
    assert_int_equal(host_value(&host.sessions[1], 0), 50);
    host_end(&host);
}

static unsigned reports;

static unsigned mask_at_once(void *state, const struct upmu_overflow *overflow, bool notify)
{
    (void)state, (void)overflow, (void)notify;
    reports++;
    return UPMU_OVERFLOW_MASK;
}

/* The second counter overflows after the handler has looked at it, and before the first one's sample masks both. */
static void overflow_after_the_look(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                                    uint32_t address)
{
    (void)number;
    if (kind != UPMU_SIM_RDPMC || address != 1 || !sim->cpu[cpu].in_nmi)
        return;
    sim->after_access = NULL;
    host_run(sim->test, 300);
}

/*
 * A session that its format has masked is reported no more: an overflow on a counter that was still open is a lost
 * period.  Catches: the end of sampling applied to the next interrupt's counters, and not to its reports.
 */
static void a_session_that_is_masked_reports_no_more(void **state)
{
    static const struct upmu_format masks = {.name = "masks", .overflow = mask_at_once};
    struct upmu_sampling first = {.period = 1000}, second = {.period = 600};

    (void)state;
    host_set_up(&host, "k8_revf");
    assert_int_equal(upmu_session_add(&host.session, "instructions:counter=0", &first), UPMU_OK);
    assert_int_equal(upmu_session_add(&host.session, "branches:counter=1", &second), UPMU_OK);
    assert_int_equal(upmu_session_format(&host.session, &masks, NULL, 0), UPMU_OK);
    host_begin(&host, &host.session);
    reports = 0;
    host.sim.after_access = overflow_after_the_look;
    host_run(&host, 1000);
    assert_null(host.sim.after_access);
    assert_int_equal(host.session.state, UPMU_SESSION_MASKED);
    assert_int_equal(reports, 1);
    assert_int_equal(host.session.set.tally[1].overflows, 1);
    assert_int_equal(host.session.set.tally[1].lost, 1);
    assert_int_equal(host_value(&host.session, 0), 1300);
    assert_int_equal(host_value(&host.session, 1), 650);
    host_end(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_that_faults_is_not_believed),
        cmocka_unit_test(a_deferred_overflow_without_frame_has_no_address),
        cmocka_unit_test(a_second_interrupt_leaves_the_first_overflow_its_address),
        cmocka_unit_test(a_wrap_inside_a_poll_is_folded_by_it),
        cmocka_unit_test(a_session_that_a_handler_masks_in_a_switch_stays_closed),
        cmocka_unit_test(a_session_that_is_masked_reports_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
