/* SPDX-License-Identifier: MIT */
/*
 * Interrupts that come at one moment of a call, and what they leave behind: judged by counts, samples, answers of
 * upmu_pmi_handle() and the model's registers.
 */
#include <string.h>

#include "tests/common/host.h"
#include "tests/common/state.h"
#include <upmu/format.h>
#include <upmu/session.h>

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
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(upmu_set_add(&host.other.set, "cycles", &sampling), UPMU_OK);
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
 * An overflow inside of a call whose interrupt has no frame has no address, though one with a frame had come before;
 * the next one with a frame has its own.  Catches: what belongs to one interrupt is kept for the next.
 */
static void an_overflow_inside_of_a_call_without_frame_has_no_address(void **state)
{
    struct upmu_sample sample;

    (void)state;
    host_set_up(&host, "skylake");
    host_sample(&host, "instructions", 100);
    for (unsigned i = 0; i < 3; i++) {
        host.no_frame = i == 1;
        upmu_test_begin_call(&host.cpu[0]);
        host_run(&host, 100);
        upmu_test_end_call(&host.cpu[0]);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(host_drain(&host, &sample), 1);
        assert_int_equal(sample.ip != 0, i != 1, i);
        assert_int_equal(sample.flags & UPMU_SAMPLE_NO_FRAME, i == 1 ? UPMU_SAMPLE_NO_FRAME : 0, i);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    }
    host_end(&host);
}

/*
 * The counters of two sessions overflow, one after the other, within a call.  The address of the
 * first interrupt stays with the first sample, and the second one has none.  Catches: the address of the last interrupt
 * given to what waited before it.
 */
static void a_second_interrupt_leaves_the_first_overflow_its_address(void **state)
{
    struct upmu_sample sample;

    (void)state;
    host_set_up(&host, "k8_revf"); /* only what has overflowed is stopped */
    for (unsigned i = 0; i < 2; i++) {
        host_add(&host, i, i ? "branches" : "instructions", 100);
        host_begin(&host, &host.sessions[i]);
    }
    upmu_test_begin_call(&host.cpu[0]);
    for (uint64_t ip = 0x1000; ip <= 0x2000; ip += 0x1000)
        upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 100, .branches = 50, .ip = ip});
    upmu_test_end_call(&host.cpu[0]);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(upmu_session_stop(&host.sessions[i]), UPMU_OK, i);
        assert_true(upmu_ring_next(&host.sessions[i].ring, &sample), i);
        assert_int_equal(sample.ip & 0xf000, i ? 0 : 0x1000, i);
        assert_int_equal(sample.flags & UPMU_SAMPLE_NO_FRAME, i ? UPMU_SAMPLE_NO_FRAME : 0, i);
    }
    host_end(&host);
}

/*
 * A handler that interrupts a call stores to the mailbox alone: what the call works on is as it was.  At the end of the
 * next call all is counted.  Catches: two writers of one field.
 */
static void a_handler_within_a_call_changes_its_mail_alone(void **state)
{
    static const char *const profiles[] = {"core2", "skylake", "zen4", "k8_revf", "version1", "p6", "northwood_smtoff"};
    static struct upmu_session sessions[2];
    static struct upmu_cpu before, after;
    struct upmu_sampling sampling = {.period = 1000};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        host_set_up(&host, profiles[p]);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        host_begin(&host, &host.session);
        assert_int_equal(upmu_set_add(&host.other.set, "branches", NULL), UPMU_OK);
        host_begin(&host, &host.other);
        run_user(900);
        upmu_test_begin_call(&host.cpu[0]);
        memcpy(sessions, host.sessions, sizeof sessions);
        memcpy(&before, &host.cpu[0], sizeof before);
        run_user(200);
        assert_int_equal(host.answers, 1);
        assert_int_equal(host.answer[0], UPMU_PMI_HANDLED);
        memcpy(&after, &host.cpu[0], sizeof after);
        upmu_test_take_mail_back(&after, &before);
        assert_memory_equal(&after, &before, sizeof after);
        assert_memory_equal(sessions, host.sessions, sizeof sessions);
        upmu_test_end_call(&host.cpu[0]);
        assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
        assert_int_equal(host_drain(&host, NULL), 1);
        assert_in_range(host_value(&host.session, 0), 1000, 1100);
        assert_null(upmu_test_left_over(&host.cpu[0]));
        run_user(1000);
        assert_int_equal(host_drain(&host, NULL), 1);
        host_end(&host);
    }
}

/*
 * A read while a call changes the counts of a session, as by a handler that interrupted it, gives up and leaves what it
 * was given as it is.  Catches: counts of before and after in one sum.
 */
static void a_read_within_a_change_gives_up(void **state)
{
    struct upmu_count count = {.raw = 7};

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 100);
    upmu_test_hold_session(&host.session);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_ERR_BUSY);
    assert_int_equal(count.raw, 7);
    upmu_test_release_session(&host.session);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.raw, 100);
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
 * NMI of another source is not answered for, and the count is right.  Catches: an overflow inside of a call that is
 * acknowledged without a note.
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
            assert_int_equal(upmu_set_add(&host.session.set, "instructions:counter=1", NULL), UPMU_OK);
            host_begin(&host, &host.session);
            host.sim.after_access = wrap_after_the_read;
            for (unsigned k = 0; k < 16 && ticks; k++)
                assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
            if (!ticks)
                assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
            assert_null(host.sim.after_access);
            upmu_sim_advance_ns(&host.sim, UINT64_C(1000000000));
            upmu_sim_irqs(&host.sim, false);
            assert_int_equal(upmu_pmi_handle(&host.cpu[0], NULL), UPMU_PMI_NOT_OURS);
            upmu_sim_irqs(&host.sim, true);
            assert_int_equal(host_value(&host.session, 0), 1000);
            host_end(&host);
        }
}

/* The session of the CPU overflows in a thread switch.  The handler leaves mail, and changes no session. */
static bool interrupted;

static void overflow_in_a_switch(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                                 uint32_t address)
{
    struct upmu_test_state now;

    (void)number;
    (void)address;
    if (sim->cpu[cpu].in_nmi || interrupted || kind != UPMU_SIM_RDPMC)
        return;
    interrupted = true;
    host_run(&host, 100);
    upmu_test_state(&host.cpu[0], &now);
    assert_true(now.mail);
    assert_int_equal(host.sessions[2].state, UPMU_SESSION_RUNNING);
    assert_false(upmu_sim_runs(sim, cpu, host.sessions[2].set.tally[0].counter));
}

/* A switch in which a session of the CPU overflows, after so many overflows; is it masked at the end of the switch? */
static bool switch_masks(unsigned overflows)
{
    bool masked;

    host_set_up(&host, "skylake");
    host_threads(&host, 2);
    for (unsigned i = 0; i < 2; i++) {
        host_add(&host, i, i ? "branches:counter=2" : "branches:counter=1", 0);
        assert_int_equal(upmu_session_attach_thread(&host.sessions[i], &host.threads[i], NULL), UPMU_OK, i);
        assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK, i);
    }
    host_thread_switch(&host, 0, 0);
    host_add(&host, 2, "instructions:counter=0", 100);
    assert_int_equal(upmu_session_ring(&host.sessions[2], host.rings[2], 256), UPMU_OK);
    upmu_session_mask_on_full(&host.sessions[2], true);
    host_begin(&host, &host.sessions[2]);
    host_run(&host, 100 * overflows);
    assert_int_equal(host.sessions[2].state, UPMU_SESSION_RUNNING);
    interrupted = false;
    host.sim.after_access = overflow_in_a_switch;
    host_thread_switch(&host, 0, 1);
    host.sim.after_access = NULL;
    assert_true(interrupted);
    assert_null(upmu_test_left_over(&host.cpu[0]));
    masked = host.sessions[2].state == UPMU_SESSION_MASKED;
    assert_int_equal(upmu_sim_runs(&host.sim, 0, host.sessions[2].set.tally[0].counter), !masked);
    assert_int_equal(host.sessions[1].state, UPMU_SESSION_RUNNING);
    host_run(&host, 50);
    assert_int_equal(host_value(&host.sessions[1], 0), 25);
    assert_int_equal(host_value(&host.sessions[2], 0), 100 * (overflows + 1) + (masked ? 0 : 50));
    assert_int_equal(host.sessions[2].set.tally[0].overflows, overflows + 1);
    host_end(&host);
    return masked;
}

/*
 * A session whose ring is full with an overflow in a switch is masked at the end of that switch, and counts no more.
 * Catches: mail that is read after the last look for sessions to be masked; a counter that is enabled once more.
 */
static void a_session_with_a_full_ring_in_a_switch_is_masked_at_its_end(void **state)
{
    unsigned overflows = 0;

    (void)state;
    while (!switch_masks(overflows))
        overflows++;
    assert_in_range(overflows, 1, 20);
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
    assert_int_equal(upmu_set_add(&host.session.set, "instructions:counter=0", &first), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "branches:counter=1", &second), UPMU_OK);
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

static uint64_t (*clock_of_model)(void *context);

static void no_access(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)sim, (void)cpu, (void)number;
    fail_msg("access of kind %u to %x", kind, (unsigned)address);
}

static uint64_t clock_in_which_a_sample_masks(void *context)
{
    host.sim.port.clock_ns = clock_of_model;
    host_run(&host, 100);
    host.sim.before_access = no_access;
    return clock_of_model(context);
}

/*
 * An interrupt masks a session while it is read, after the read has seen that it runs.  Catches: a register that is
 * read for a session that has lost its counters on the way.
 */
static void a_session_masked_in_a_read_is_read_without_a_register(void **state)
{
    static const struct upmu_format masks = {.name = "masks", .overflow = mask_at_once};
    struct upmu_sampling sampling = {.period = 100};
    struct upmu_count count;

    (void)state;
    host_prepare(&host, "skylake");
    host.sim.port.rdpmc = NULL; /* the count is read in the way that serves all sessions */
    host_start(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_format(&host.session, &masks, NULL, 0), UPMU_OK);
    host_begin(&host, &host.session);
    clock_of_model = host.sim.port.clock_ns;
    host.sim.port.clock_ns = clock_in_which_a_sample_masks;
    assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
    host.sim.before_access = NULL;
    assert_int_equal(host.session.state, UPMU_SESSION_MASKED);
    assert_int_equal(count.raw, 100);
    host_end(&host);
}

/*
 * One interrupt masks more sessions than the handler puts into one plan: the rest is masked by the next call.
 * Catches: work that is due and forgotten.
 */
static void sessions_too_many_for_a_plan_are_masked_by_the_next_call(void **state)
{
    static const struct upmu_format masks = {.name = "masks", .overflow = mask_at_once};
    static struct upmu_session ninth;
    struct upmu_sampling sampling = {.period = 100};
    struct upmu_session *sessions[HOST_SESSIONS + 1];
    unsigned count = sizeof sessions / sizeof sessions[0], running = 0;

    (void)state;
    host_set_up(&host, "icelake");
    assert_int_equal(upmu_session_init(&ninth, &host.machine), UPMU_OK);
    for (unsigned i = 0; i < count; i++) {
        sessions[i] = i < HOST_SESSIONS ? &host.sessions[i] : &ninth;
        assert_int_equal(upmu_set_add(&sessions[i]->set, i ? "branches" : "instructions", &sampling), UPMU_OK, i);
        assert_int_equal(upmu_session_format(sessions[i], &masks, NULL, 0), UPMU_OK, i);
        host_begin(&host, sessions[i]);
    }
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 100, .branches = 100});
    for (unsigned i = 0; i < count; i++)
        running += sessions[i]->state == UPMU_SESSION_RUNNING;
    assert_int_equal(running, count - UPMU_PARTS);
    assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(sessions[i]->state, UPMU_SESSION_MASKED, i);
        assert_int_equal(upmu_session_close(sessions[i]), UPMU_OK, i);
    }
    host_end(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_that_faults_is_not_believed),
        cmocka_unit_test(an_overflow_inside_of_a_call_without_frame_has_no_address),
        cmocka_unit_test(a_handler_within_a_call_changes_its_mail_alone),
        cmocka_unit_test(a_read_within_a_change_gives_up),
        cmocka_unit_test(a_second_interrupt_leaves_the_first_overflow_its_address),
        cmocka_unit_test(a_wrap_inside_a_poll_is_folded_by_it),
        cmocka_unit_test(a_session_with_a_full_ring_in_a_switch_is_masked_at_its_end),
        cmocka_unit_test(a_session_that_is_masked_reports_no_more),
        cmocka_unit_test(a_session_masked_in_a_read_is_read_without_a_register),
        cmocka_unit_test(sessions_too_many_for_a_plan_are_masked_by_the_next_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
