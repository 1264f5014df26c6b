/* SPDX-License-Identifier: MIT */
/*
 * The mail that a handler leaves to the local call which it interrupted: the answer to later interrupts in that call,
 * the address of each sample, and the counters that the end of the call enables again.
 */
#include "tests/common/host.h"
#include "tests/common/state.h"
#include <upmu/page.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/world.h>

#include <stdio.h>

static struct host host;

static enum upmu_pmi last_answer(void)
{
    assert_in_range(host.answers, 1, HOST_ANSWERS);
    return host.answer[host.answers - 1];
}

/* A call that does nothing but what its end does. */
static void call(void)
{
    assert_int_equal(upmu_cpu_leave_guest(&host.cpu[0]), UPMU_OK);
}

/* Two sessions sample on counters that are stopped one by one: 100 instructions on counter 0, 100 branches on 1. */
static void set_up_two(void)
{
    host_set_up(&host, "k8_revf");
    for (unsigned i = 0; i < 2; i++) {
        host_add(&host, i, i ? "branches:counter=1" : "instructions:counter=0", 100);
        host_begin(&host, &host.sessions[i]);
    }
}

static void overflow(unsigned counter)
{
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){
                                   .instructions = counter ? 0 : 100, .branches = counter ? 100 : 0, .ip = 0x1000});
}

/* A counter that only counts has ten events to its end. */
static void wrap_soon(unsigned counter)
{
    host.sim.cpu[0].counter[counter].value = (UINT64_C(1) << host.cpu[0].meter.pmu->counter[counter].width) - 10;
}

static unsigned samples_of(unsigned i)
{
    struct upmu_sample sample;
    unsigned samples = 0;

    while (upmu_ring_next(&host.sessions[i].ring, &sample))
        samples++;
    return samples;
}

/*
 * A counter overflows within a call, and its status stays set until the end of the call.  The first interrupt is
 * answered for it, and each later one in that call is stale.  Catches: one overflow that two interrupts are answered
 * for; an overflow that waits for the end of the call taken for another source's a tenth of a second later.
 */
static void an_overflow_within_a_call_is_answered_for_once(void **state)
{
    static const char *const profiles[] = {"core2", "skylake", "zen4", "k8_revf", "version1"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++)
        for (unsigned wraps = 0; wraps < (p < 3 ? 2 : 1); wraps++) { /* without a status a wrap is no overflow */
            uint64_t before = 0;

            host_set_up(&host, profiles[p]);
            host_add(&host, 0, "branches", wraps ? 0 : 100);
            host_begin(&host, &host.session);
            if (wraps) {
                wrap_soon(host.session.set.tally[0].counter);
                assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
                before = host_value(&host.session, 0);
            }
            upmu_test_begin_call(&host.cpu[0]);
            host_run(&host, 200);
            assert_int_equal(host.answers, 1);
            assert_int_equal(last_answer(), UPMU_PMI_HANDLED);
            for (unsigned i = 0; i < 3; i++) {
                upmu_sim_foreign_nmi(&host.sim);
                if (last_answer() != UPMU_PMI_STALE)
                    fail_msg("%s, wraps %u: answer %u to interrupt %u", profiles[p], wraps, last_answer(), i);
                upmu_sim_advance_ns(&host.sim, 101000000);
            }
            upmu_test_end_call(&host.cpu[0]);
            call();
            assert_int_equal(host_value(&host.session, 0) - before, 100);
            host_end(&host);
        }
}

/* Another source's NMI within a call is not ours, and leaves the end of the call nothing to do. */
static void another_source_s_nmi_within_a_call_leaves_no_mail(void **state)
{
    static const char *const profiles[] = {"core2", "skylake", "zen4", "k8_revf", "version1"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        host_set_up(&host, profiles[p]);
        host_sample(&host, "instructions", 1000);
        host_run(&host, 500);
        upmu_test_begin_call(&host.cpu[0]);
        upmu_sim_foreign_nmi(&host.sim);
        upmu_test_end_call(&host.cpu[0]);
        assert_int_equal(last_answer(), UPMU_PMI_NOT_OURS);
        assert_null(upmu_test_left_over(&host.cpu[0]));
        host_end(&host);
    }
}

/* Catches: mail of before a sleep that answers for an overflow after it. */
static void an_overflow_within_a_call_after_a_sleep_is_answered_for(void **state)
{
    (void)state;
    host_set_up(&host, "skylake");
    host_sample(&host, "instructions", 100);
    for (unsigned sleeps = 0; sleeps < 3; sleeps++) {
        upmu_test_begin_call(&host.cpu[0]);
        host_run(&host, 100);
        assert_int_equal(host.answers, sleeps + 1);
        assert_int_equal(last_answer(), UPMU_PMI_HANDLED);
        upmu_test_end_call(&host.cpu[0]);
        assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
        assert_null(upmu_test_left_over(&host.cpu[0]));
        assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
    }
    assert_int_equal(host_drain(&host, NULL), 3);
    host_end(&host);
}

/* The counter of instructions overflows once more as soon as the call has enabled it again. */
static void overflow_when_it_runs(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                                  uint32_t address)
{
    (void)number, (void)address;
    if (sim->cpu[cpu].in_nmi || kind != UPMU_SIM_WRMSR || !upmu_sim_runs(sim, cpu, host.session.set.tally[0].counter))
        return;
    sim->after_access = NULL;
    host_run(&host, 100);
}

/*
 * A write to a running session stores the sample of an interrupt that came before, with its address, and the same
 * counter overflows again before the call ends.  Catches: the address of one interrupt in two samples.
 */
static void the_address_of_an_interrupt_is_in_one_sample(void **state)
{
    struct upmu_sample sample;

    (void)state;
    host_set_up(&host, "skylake");
    host_sample(&host, "instructions", 100);
    upmu_test_begin_call(&host.cpu[0]);
    host_run(&host, 100);
    upmu_test_end_call(&host.cpu[0]);
    host.sim.after_access = overflow_when_it_runs;
    assert_int_equal(upmu_set_write(&host.session.set, 0, 0), UPMU_OK);
    assert_null(host.sim.after_access);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(upmu_ring_next(&host.session.ring, &sample));
        assert_int_equal(sample.ip & 0xf000, i ? 0 : 0x1000, i);
        assert_int_equal(sample.flags & UPMU_SAMPLE_NO_FRAME, i ? UPMU_SAMPLE_NO_FRAME : 0, i);
    }
    host_end(&host);
}

/*
 * Both counters overflow within a call, and the first interrupt is that of counter 1: its address is in no sample of
 * counter 0, whose interrupt had the address of an earlier call.  Catches: counters of an earlier interrupt that share
 * the address of a later one.
 */
static void the_address_of_an_interrupt_is_of_its_own_counter(void **state)
{
    struct upmu_sample sample;

    (void)state;
    set_up_two();
    for (unsigned first = 0; first < 2; first++) {
        upmu_test_begin_call(&host.cpu[0]);
        overflow(first);
        if (first)
            overflow(0);
        upmu_test_end_call(&host.cpu[0]);
        call();
        for (unsigned i = 0; i <= first; i++) {
            assert_true(upmu_ring_next(&host.sessions[i].ring, &sample), i);
            assert_int_equal(sample.flags & UPMU_SAMPLE_NO_FRAME, i == first ? 0 : UPMU_SAMPLE_NO_FRAME, i);
        }
    }
    host_end(&host);
}

/* The counter of the session that samples overflows as soon as a start has begun. */
static void overflow_in_a_start(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                                uint32_t address)
{
    (void)cpu, (void)number, (void)kind, (void)address;
    sim->before_access = NULL;
    host_run(&host, 100);
}

/*
 * A session moves to another counter, since one that starts can use its own counter alone, and overflows before it
 * does.  Catches: an address that is looked for under the counter to which the session moves.
 */
static void the_address_of_an_interrupt_follows_a_session_that_moves(void **state)
{
    static const char *const profiles[] = {"k8_revf", "bulldozer", "version1", "skylake"};
    struct upmu_sample sample;
    char text[40];

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        unsigned before;

        host_set_up(&host, profiles[p]);
        host_sample(&host, "branches", 50);
        before = host.session.set.tally[0].counter;
        snprintf(text, sizeof text, "branch-misses:counter=%u", before);
        host_add(&host, 1, text, 0);
        assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK);
        host.sim.before_access = overflow_in_a_start;
        assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
        assert_null(host.sim.before_access);
        assert_int_not_equal(host.session.set.tally[0].counter, before);
        assert_true(upmu_ring_next(&host.session.ring, &sample));
        if (sample.flags & UPMU_SAMPLE_NO_FRAME)
            fail_msg("%s: the sample has no address", profiles[p]);
        host_end(&host);
    }
}

/* Register writes at the end of a call in which a counter has overflowed. */
static uint32_t writes_after(unsigned counter)
{
    uint32_t writes;

    upmu_test_begin_call(&host.cpu[0]);
    overflow(counter);
    upmu_test_end_call(&host.cpu[0]);
    writes = host.cpu[0].meter.bank.accesses.writes;
    call();
    assert_int_equal(last_answer(), UPMU_PMI_HANDLED);
    assert_int_equal(samples_of(counter), 1);
    return host.cpu[0].meter.bank.accesses.writes - writes;
}

/*
 * Catches: the counters that one interrupt has stopped enabled once more after each later one; an overflow that was
 * answered for in one call taken for answered in the next.
 */
static void what_an_interrupt_has_stopped_is_enabled_once(void **state)
{
    uint32_t writes;

    (void)state;
    set_up_two();
    writes = writes_after(0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(writes_after(~i & 1u), writes, i);
    host_end(&host);
}

static unsigned looks;

/* Counter 1 overflows when the end of a call has looked at it, for the first time. */
static void overflow_after_the_look(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                                    uint32_t address)
{
    (void)number;
    if (kind != UPMU_SIM_RDPMC || address != 1 || sim->cpu[cpu].in_nmi)
        return;
    assert_false(upmu_sim_runs(sim, cpu, 0));
    if (!looks++)
        overflow(1);
}

/*
 * An interrupt comes while the end of a call reads the mail of an earlier one: its overflow is found by a second look.
 * What the first interrupt has stopped stands still until the end.  Catches: mail that is cleared after it was read;
 * counters that run while the end of the call is still at work.
 */
static void an_interrupt_while_mail_is_read_is_found_by_the_same_call(void **state)
{
    (void)state;
    set_up_two();
    upmu_test_begin_call(&host.cpu[0]);
    overflow(0);
    upmu_test_end_call(&host.cpu[0]);
    looks = 0;
    host.sim.after_access = overflow_after_the_look;
    call();
    host.sim.after_access = NULL;
    assert_in_range(looks, 2, 3);
    assert_null(upmu_test_left_over(&host.cpu[0]));
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(samples_of(i), 1, i);
        assert_true(upmu_sim_runs(&host.sim, 0, i), i);
    }
    host_end(&host);
}

static unsigned rights; /* how often user mode got the right to execute RDPMC */

/* The end of a call has read the mail, and counter 1 overflows before it enables what was stopped. */
static void overflow_at_the_right(void *context, bool allow)
{
    (void)context;
    if (allow && !rights++)
        overflow(1);
}

static unsigned samples_when_it_ran;

static void look_when_counter_0_runs(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                                     uint32_t address)
{
    (void)number, (void)address;
    if (kind != UPMU_SIM_WRMSR || sim->cpu[cpu].in_nmi || !rights || !upmu_sim_runs(sim, cpu, 0))
        return;
    sim->after_access = NULL;
    samples_when_it_ran = samples_of(1);
}

/*
 * An interrupt comes at the end of a call, after the last look for mail and before the counters that an earlier one
 * has stopped are enabled: they stand still until this mail is read, too.  Catches: counters that go through the work
 * of their own call, and overflow in it again and again.
 */
static void counters_stand_still_until_the_last_mail_is_read(void **state)
{
    static struct upmu_user_page page;

    (void)state;
    host_prepare(&host, "k8_revf");
    host.sim.port.allow_rdpmc = overflow_at_the_right;
    host_start(&host);
    for (unsigned i = 0; i < 2; i++) {
        host_add(&host, i, i ? "branches:counter=1" : "instructions:counter=0", 100);
        host_begin(&host, &host.sessions[i]);
    }
    assert_int_equal(upmu_set_add(&host.sessions[2].set, "cycles:counter=2", NULL), UPMU_OK);
    assert_int_equal(upmu_session_publish(&host.sessions[2], &page), UPMU_OK);
    upmu_test_begin_call(&host.cpu[0]);
    overflow(0);
    upmu_test_end_call(&host.cpu[0]);
    rights = samples_when_it_ran = 0;
    host.sim.after_access = look_when_counter_0_runs;
    assert_int_equal(upmu_session_attach_cpu(&host.sessions[2], &host.cpu[0]), UPMU_OK);
    assert_null(host.sim.after_access);
    assert_int_equal(samples_when_it_ran, 1);
    assert_int_equal(samples_of(0), 1);
    assert_int_equal(rights, 1);
    host_end(&host);
}

/* Counter 1 wraps while the end of a call reads mail, and another source's NMI comes after its acknowledgement. */
static unsigned steps_of_reading;

static void wrap_while_mail_is_read(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                                    uint32_t address)
{
    (void)number;
    if (sim->cpu[cpu].in_nmi)
        return;
    if (steps_of_reading == 0 && kind == UPMU_SIM_RDPMC && address == 0) {
        steps_of_reading = 1;
        overflow(1);
    } else if (steps_of_reading == 1 && kind == UPMU_SIM_WRMSR && address == 0x390) {
        steps_of_reading = 2;
    } else if (steps_of_reading == 2) {
        steps_of_reading = 3;
        upmu_sim_foreign_nmi(sim);
    }
}

/*
 * The interrupt of the wrap is answered for it, so that the other source's is stale.  Catches: what was answered for
 * while mail is read, forgotten with the mail.
 */
static void a_wrap_while_mail_is_read_is_answered_for_once(void **state)
{
    (void)state;
    host_set_up(&host, "skylake");
    host_add(&host, 0, "instructions:counter=0", 100);
    host_begin(&host, &host.session);
    host_add(&host, 1, "branches:counter=1", 0);
    host_begin(&host, &host.other);
    wrap_soon(1);
    assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
    upmu_test_begin_call(&host.cpu[0]);
    overflow(0);
    upmu_test_end_call(&host.cpu[0]);
    steps_of_reading = 0;
    host.sim.after_access = wrap_while_mail_is_read;
    call();
    host.sim.after_access = NULL;
    assert_int_equal(steps_of_reading, 3);
    assert_int_equal(host.answers, 3);
    assert_int_equal(host.answer[1], UPMU_PMI_HANDLED);
    assert_int_equal(last_answer(), UPMU_PMI_STALE);
    host_end(&host);
}

/*
 * An interrupt within a call stops a counter that has just overflowed, which loses its carry on this CPU (erratum N17):
 * the end of the call takes the overflow all the same.  Catches: a value that is believed though a stop has changed it.
 */
static void an_overflow_whose_carry_a_stop_within_a_call_loses_is_found(void **state)
{
    (void)state;
    host_set_up(&host, "willamette");
    host.sim.rule[UPMU_SIM_RULE_HAZARD_P4_CARRY] = 1;
    host_sample(&host, "instructions", 100);
    for (unsigned i = 1; i <= 3; i++) {
        upmu_test_begin_call(&host.cpu[0]);
        host_run(&host, i == 1 ? 101 : 100); /* the event after the overflow interrupts */
        assert_int_equal(host.answers, i);
        upmu_test_end_call(&host.cpu[0]);
        call();
        assert_int_equal(samples_of(0), 1);
        assert_int_equal(host_value(&host.session, 0), 100 * i + 1, i);
    }
    host_end(&host);
}

/*
 * The register that enables a counter again at the end of a call faults: the same call stops its session.  Catches: a
 * fault of the last step of a call, which the next call finds.
 */
static void a_fault_at_the_end_of_a_call_is_answered_by_it(void **state)
{
    static const char *const profiles[] = {"core2", "skylake", "zen4", "k8_revf"};
    unsigned stopped = 0;

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++)
        for (uint32_t at = 1; at < 20; at++) {
            host_set_up(&host, profiles[p]);
            host_sample(&host, "instructions", 100);
            upmu_test_begin_call(&host.cpu[0]);
            host_run(&host, 100);
            upmu_test_end_call(&host.cpu[0]);
            host.sim.expect_faults = true;
            host.sim.fault_at = host.sim.accesses + at;
            host.sim.fault_until = host.sim.fault_at + 1;
            call();
            host.sim.fault_at = host.sim.fault_until = 0;
            if (upmu_test_left_over(&host.cpu[0]))
                fail_msg("%s, access %u: %s", profiles[p], (unsigned)at, upmu_test_left_over(&host.cpu[0]));
            stopped += host.session.state == UPMU_SESSION_STOPPED;
            assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
            host_end(&host);
        }
    assert_compare(stopped, >, 3);
}

/* Catches: an interrupt of ours, within a call, that is not ours since the counter cannot be read. */
static void an_overflow_within_a_call_that_cannot_be_read_is_ours(void **state)
{
    static const char *const profiles[] = {"k8_revf", "version1", "willamette"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        host_set_up(&host, profiles[p]);
        host_sample(&host, "instructions", 100);
        upmu_test_begin_call(&host.cpu[0]);
        host.sim.expect_faults = true;
        host.sim.fault_at = host.sim.accesses + 1;
        host.sim.fault_until = host.sim.fault_at + 100;
        host_run(&host, 101);
        host.sim.fault_at = host.sim.fault_until = 0;
        upmu_test_end_call(&host.cpu[0]);
        assert_in_range(host.answers, 1, 50); /* on NetBurst an overflow interrupts until it is cleared */
        if (host.answered[UPMU_PMI_NOT_OURS])
            fail_msg("%s: not ours", profiles[p]);
        call();
        assert_null(upmu_test_left_over(&host.cpu[0]));
        host_end(&host);
    }
}

/* The counter of branches wraps when the switch has closed what it closes. */
static void wrap_in_a_switch(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                             uint32_t address)
{
    (void)number, (void)address;
    if (kind != UPMU_SIM_RDPMC || sim->cpu[cpu].in_nmi)
        return;
    sim->after_access = NULL;
    host_run(&host, 100);
}

/*
 * The counter of a static session wraps in the switch from its thread, and the interrupt stops it: it runs on after the
 * switch.  Catches: what an interrupt has stopped enabled again for running sessions alone.
 */
static void a_static_counter_that_an_interrupt_has_stopped_runs_on(void **state)
{
    static const char *const profiles[] = {"core2", "skylake", "zen4"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        unsigned counter;

        host_set_up(&host, profiles[p]);
        host_threads(&host, 2);
        host_add(&host, 0, "instructions", 1000);
        host_add(&host, 0, "branches", 0);
        assert_int_equal(upmu_session_static(&host.session, true), UPMU_OK);
        assert_int_equal(upmu_session_attach_thread(&host.session, &host.threads[0], NULL), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        host_thread_switch(&host, 0, 0);
        counter = host.session.set.tally[1].counter;
        wrap_soon(counter);
        host.sim.after_access = wrap_in_a_switch;
        host_thread_switch(&host, 0, 1);
        assert_null(host.sim.after_access);
        assert_int_equal(host.answers, 1);
        if (!upmu_sim_runs(&host.sim, 0, counter))
            fail_msg("%s: it stands still", profiles[p]);
        assert_int_equal(upmu_thread_exit(&host.threads[0]), UPMU_OK);
        host_end(&host);
    }
}

/* A write of the common enable register faults, and the counter of instructions overflows before it is read again. */
static void fault_and_overflow(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                               uint32_t address)
{
    if (address != 0x38f || sim->cpu[cpu].in_nmi)
        return;
    if (kind == UPMU_SIM_WRMSR) {
        sim->fault_at = number;
        return;
    }
    sim->before_access = NULL;
    host_run(&host, 100);
}

/*
 * After a fault the enable register is read, in which an interrupt has just stopped the counters of a session that
 * samples: they run on after the call.  Catches: what a handler has stopped believed to be closed.
 */
static void a_counter_stopped_before_its_register_is_read_runs_on(void **state)
{
    (void)state;
    host_set_up(&host, "skylake");
    host.sim.expect_faults = true;
    host_sample(&host, "instructions", 100);
    host_add(&host, 1, "branches", 0);
    assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK);
    host.sim.before_access = fault_and_overflow;
    assert_int_equal(upmu_session_start(&host.other), UPMU_ERR_PORT);
    assert_null(host.sim.before_access);
    host.sim.fault_at = 0;
    host_run(&host, 100);
    assert_int_equal(host_value(&host.session, 0), 200);
    assert_int_equal(samples_of(0), 2);
    host_end(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_overflow_within_a_call_is_answered_for_once),
        cmocka_unit_test(another_source_s_nmi_within_a_call_leaves_no_mail),
        cmocka_unit_test(an_overflow_within_a_call_after_a_sleep_is_answered_for),
        cmocka_unit_test(the_address_of_an_interrupt_is_in_one_sample),
        cmocka_unit_test(the_address_of_an_interrupt_is_of_its_own_counter),
        cmocka_unit_test(the_address_of_an_interrupt_follows_a_session_that_moves),
        cmocka_unit_test(what_an_interrupt_has_stopped_is_enabled_once),
        cmocka_unit_test(an_interrupt_while_mail_is_read_is_found_by_the_same_call),
        cmocka_unit_test(counters_stand_still_until_the_last_mail_is_read),
        cmocka_unit_test(a_wrap_while_mail_is_read_is_answered_for_once),
        cmocka_unit_test(an_overflow_whose_carry_a_stop_within_a_call_loses_is_found),
        cmocka_unit_test(a_fault_at_the_end_of_a_call_is_answered_by_it),
        cmocka_unit_test(an_overflow_within_a_call_that_cannot_be_read_is_ours),
        cmocka_unit_test(a_static_counter_that_an_interrupt_has_stopped_runs_on),
        cmocka_unit_test(a_counter_stopped_before_its_register_is_read_runs_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
