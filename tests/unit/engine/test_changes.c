/* SPDX-License-Identifier: MIT */
/*
 * Changes of what runs on a CPU: counts that are not exact, or counted twice; gates that stay open, or closed; lost
 * periods.
 */
#include <upmu/session.h>
#include "tests/common/host.h"
#include "tests/common/state.h"

static struct host host;

/*
 * No interrupt, and no RDPMC (RISC-V without Sscofpmf): a difference of half a round marks the count.  Mistake: only a
 * read looks for that, and a session that leaves adds the difference as exact.
 */
static void a_possible_round_is_marked_when_its_session_leaves(void **state)
{
    (void)state;
    host_prepare(&host, "skylake");
    host.sim.port.rdpmc = NULL;
    host_machine(&host);
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    host.machine.pmu[host.cpu[0].meter.pmu->index].capabilities |= UPMU_PMU_NO_PMI;
    assert_true(host.cpu[0].meter.pmu->capabilities & UPMU_PMU_NO_PMI);
    assert_int_equal(upmu_session_init(&host.session, &host.machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 1000, .cycles = 5});
    assert_int_equal(host_count(&host.session, 0).quality, UPMU_QUALITY_EXACT);
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = (UINT64_C(1) << 47) + 5, .cycles = 5});
    assert_int_equal(host_count(&host.session, 0).quality, UPMU_QUALITY_PARTIAL);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(host_count(&host.session, 0).quality, UPMU_QUALITY_PARTIAL);
}

static struct {
    bool (*wrmsr)(void *context, uint32_t msr, uint64_t value);
    bool (*rdpmc)(void *context, uint32_t index, uint64_t *out_value);
    bool armed;
    unsigned faults, next_faults;
} gate;

/* An overflow interrupt comes before a read; the next writes of GLOBAL_CTRL fault. */
static bool late_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    if (gate.armed) {
        gate.armed = false;
        upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 1500, .cycles = 5});
        gate.faults = gate.next_faults;
    }
    return gate.rdpmc(context, index, out_value);
}

static bool faulting_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    if (msr == 0x38f && gate.faults) {
        gate.faults--;
        return false;
    }
    return gate.wrmsr(context, msr, value);
}

/* Mistake: what a handler has stopped is enabled again at the end of the call, though its session has ended there. */
static void what_a_handler_stopped_stays_closed_if_its_session_failed(void **state)
{
    unsigned stopped = 0;

    (void)state;
    for (unsigned faults = 0; faults < 8; faults++) {
        uint64_t enabled = 0;

        host_prepare(&host, "skylake");
        host.sim.expect_faults = true;
        host_start(&host);
        gate.wrmsr = host.sim.port.wrmsr;
        gate.rdpmc = host.sim.port.rdpmc;
        host.sim.port.wrmsr = faulting_wrmsr;
        host.sim.port.rdpmc = late_rdpmc;
        gate.faults = 0;
        gate.armed = false;
        host_add(&host, 0, "branches", 100000);
        host_add(&host, 1, "instructions", 1000);
        for (unsigned i = 0; i < 2; i++) {
            host_attach(&host, i, 0);
            assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK, i);
        }
        gate.armed = true;
        gate.next_faults = faults;
        (void)!upmu_session_stop(&host.sessions[0]);
        gate.faults = 0;
        assert_true(host.sim.port.rdmsr(host.sim.port.context, 0x38f, &enabled));
        print_message("%u faults: states %d %d enabled %llx\n", faults, (int)host.sessions[0].state,
                      (int)host.sessions[1].state, (unsigned long long)enabled);
        assert_int_equal(enabled != 0, host.sessions[1].state == UPMU_SESSION_RUNNING);
        stopped += host.sessions[1].state == UPMU_SESSION_STOPPED;
    }
    assert_in_range(stopped, 1, 7);
}

/*
 * A counter that a static session left running wraps, and its interrupt comes late, after the session has the counter
 * again.  Mistake: the event keeps the time of its former base, and the late flag is taken for a whole round.
 */
static void a_late_flag_of_a_counter_that_ran_for_no_session_is_no_round(void **state)
{
    (void)state;
    host_set_up_two(&host, "skylake");
    host_threads(&host, 3);
    host_add(&host, 0, "branches:counter=0", 0);
    assert_int_equal(upmu_session_static(&host.sessions[0], true), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&host.sessions[0], &host.threads[2], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.sessions[0]), UPMU_OK);
    host_thread_switch(&host, 0, 2);
    host_work(&host, 0, 1000);
    host_thread_switch(&host, 0, 0);
    host.sim.cpu[0].counter[0].value = (UINT64_C(1) << 48) - 50;
    host.sim.cpu[0].lvtpc |= UPMU_SIM_LVTPC_MASKED;
    host_work(&host, 0, 500);
    upmu_sim_advance_ns(&host.sim, UINT64_C(1) << 40);
    host_thread_switch(&host, 0, 2);
    host_work(&host, 0, 1000);
    upmu_sim_foreign_nmi(&host.sim);
    host_work(&host, 0, 1000);
    assert_int_equal(host_value(&host.sessions[0], 0), 600);
}

/* Static sessions of a thread leave their counters running. */
static void leave_static(const char *profile, const char *list)
{
    host_prepare(&host, profile);
    host.sim.expect_faults = true;
    host_machine(&host);
    host_take_over(&host, 1, false);
    host_threads(&host, 3);
    host_add(&host, 0, list, 0);
    assert_int_equal(upmu_session_static(&host.sessions[0], true), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&host.sessions[0], &host.threads[1], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.sessions[0]), UPMU_OK);
    host_thread_switch(&host, 0, 1);
    host_work(&host, 0, 1000);
    host_thread_switch(&host, 0, 0);
    host_work(&host, 0, 1000);
}

static uint32_t running_counters(void)
{
    uint32_t counters = 0;

    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
        if (upmu_sim_runs(&host.sim, 0, i))
            counters |= 1u << i;
    return counters;
}

static void fault_in_gates(unsigned faults)
{
    gate.wrmsr = host.sim.port.wrmsr;
    host.sim.port.wrmsr = faulting_wrmsr;
    gate.faults = faults;
}

/* Mistake: a period that has ended when its session is stopped for a fault is neither a sample nor lost. */
static void a_period_that_a_fault_ends_is_lost(void **state)
{
    struct upmu_count count;

    (void)state;
    host_prepare(&host, "skylake");
    host.sim.expect_faults = true;
    host_start(&host);
    host_sample(&host, "instructions", 1000);
    host.sim.cpu[0].lvtpc |= UPMU_SIM_LVTPC_MASKED;
    host_work(&host, 0, 1500);
    fault_in_gates(2); /* the handler cannot stop the counter */
    upmu_sim_foreign_nmi(&host.sim);
    assert_int_equal(host.session.state, UPMU_SESSION_STOPPED);
    count = host_count(&host.session, 0);
    assert_int_equal(count.raw, 1500);
    assert_int_equal(count.quality, UPMU_QUALITY_EXACT);
    assert_int_equal(host_drain(&host, NULL) + count.lost, 1);
    host_end(&host);
}

/* Mistake: one fault leaves a counter running that no session has. */
static void a_fault_leaves_no_counter_running_that_the_host_wants(void **state)
{
    (void)state;
    leave_static("skylake", "branches:counter=0");
    assert_int_equal(running_counters(), 1);
    fault_in_gates(1);
    assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 1), UPMU_OK);
    assert_int_equal(gate.faults, 0);
    assert_int_equal(running_counters(), 0);
    upmu_cpu_unreserve(&host.cpu[0], 1);
    host_end(&host);
}

/* Mistake: the same where a CPU starts over. */
static void a_fault_leaves_no_counter_running_where_a_cpu_starts_over(void **state)
{
    (void)state;
    leave_static("skylake", "branches:counter=0");
    assert_int_equal(running_counters(), 1);
    fault_in_gates(1);
    assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK);
    assert_int_equal(gate.faults, 0);
    assert_int_equal(running_counters(), 0);
    host_end(&host);
}

/* Mistake: a static session's counter that a fault has stopped is still said to run. */
static void what_a_fault_has_stopped_runs_for_no_static_session(void **state)
{
    (void)state;
    /* With four faults it cannot be stopped. */
    for (unsigned faults = 0; faults < 4; faults++) {
        struct upmu_test_state now;

        leave_static("skylake", "branches:counter=0");
        host_add(&host, 1, "branches:counter=0", 1000);
        host_attach(&host, 1, 0);
        fault_in_gates(faults);
        assert_int_equal(upmu_session_start(&host.sessions[1]), faults < 2 ? UPMU_OK : UPMU_ERR_PORT);
        gate.faults = 0;
        upmu_test_state(&host.cpu[0], &now);
        if ((now.running | now.unowned) != running_counters())
            fail_msg("%u faults: running %x, of static sessions %x, but %x run", faults, (unsigned)now.running,
                     (unsigned)now.unowned, (unsigned)running_counters());
        host_end(&host);
    }
}

/*
 * Mistake: an event moves to a counter that a static session left running with the same event.  What happens between
 * the read of the one and the close of the other is counted twice.
 */
static void an_event_moved_to_a_running_counter_counts_nothing_twice(void **state)
{
    uint64_t before, after;
    uint32_t counters;

    (void)state;
    leave_static("core2", "cycles");
    host_add(&host, 1, "cycles", 0);
    host_attach(&host, 1, 0);
    host_thread_switch(&host, 0, 1);
    assert_int_equal(upmu_session_start(&host.sessions[1]), UPMU_OK);
    counters = host.sessions[1].counters;
    assert_int_not_equal(host.sessions[0].counters, counters);
    host_thread_switch(&host, 0, 0);
    host_add(&host, 2, "branches:counter=0", 0);
    host_add(&host, 3, "branches:counter=1", 0);
    for (unsigned i = 2; i < 4; i++)
        host_attach(&host, i, 0);
    host_work(&host, 0, 1000);
    before = host_value(&host.sessions[1], 0) - host.sim.cpu[0].truth[0].cycles - host.sim.cpu[0].truth[1].cycles;
    host.sim.events_per_access = 5;
    for (unsigned i = 2; i < 4; i++)
        assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK, i);
    host.sim.events_per_access = 0;
    after = host_value(&host.sessions[1], 0) - host.sim.cpu[0].truth[0].cycles - host.sim.cpu[0].truth[1].cycles;
    assert_int_not_equal(host.sessions[1].counters, counters);
    assert_int_equal(after, before);
    host_end(&host);
}

/* With each write of a call an interrupt leaves mail; enabling faults in the last look at it, which is after that. */
static bool refuse_last_enabling(void *context, uint32_t msr, uint64_t value)
{
    const struct upmu_meter *meter = &host.cpu[0].meter;

    if (meter->busy)
        host.cpu[0].mail.pending = 1;
    if (msr == 0x38f && value >> 32 && meter->in_handler && meter->bank.counted == &meter->bank.accesses) {
        gate.faults++;
        return false;
    }
    return gate.wrmsr(context, msr, value);
}

/* Mistake: its session is said to run on, and to be exact, though no counter runs. */
static void what_the_last_look_at_mail_cannot_enable_is_stopped(void **state)
{
    (void)state;
    host_prepare(&host, "skylake");
    host.sim.expect_faults = true;
    host_start(&host);
    host_add(&host, 1, "branches", 0);
    host_attach(&host, 1, 0);
    host_sample(&host, "instructions", 1000);
    gate.wrmsr = host.sim.port.wrmsr;
    gate.faults = 0;
    host.sim.port.wrmsr = refuse_last_enabling;
    assert_int_equal(upmu_session_start(&host.sessions[1]), UPMU_OK);
    host.sim.port.wrmsr = gate.wrmsr;
    assert_int_not_equal(gate.faults, 0);
    assert_int_equal(host.session.state == UPMU_SESSION_RUNNING, running_counters() >> 16 != 0);
}

/* Mistake: a wrap that a sample of another event finds is not noted, and its late flag is taken for a whole round. */
static void a_wrap_that_a_sample_of_another_event_finds_is_no_round(void **state)
{
    struct upmu_sampling sampling = {.period = 1000, .values = 1u << 1};

    (void)state;
    host_prepare(&host, "skylake");
    host.sim.cpu[0].counter[UPMU_SIM_FIXED].value = (UINT64_C(1) << 48) - 50;
    host_start(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "branches:counter=0", &sampling), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
    host.sim.cpu[0].counter[UPMU_SIM_FIXED].value = (UINT64_C(1) << 48) - 50;
    host_begin(&host, &host.session);
    host.session.set.tally[0].throttled = true;
    host.sim.cpu[0].lvtpc |= UPMU_SIM_LVTPC_MASKED;
    upmu_sim_advance_ns(&host.sim, UINT64_C(1) << 40);
    host_work(&host, 0, 10000);
    assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
    upmu_sim_foreign_nmi(&host.sim);
    assert_int_equal(host_value(&host.session, 1), 10000);
    host_end(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_possible_round_is_marked_when_its_session_leaves),
        cmocka_unit_test(what_a_handler_stopped_stays_closed_if_its_session_failed),
        cmocka_unit_test(a_late_flag_of_a_counter_that_ran_for_no_session_is_no_round),
        cmocka_unit_test(a_period_that_a_fault_ends_is_lost),
        cmocka_unit_test(a_fault_leaves_no_counter_running_that_the_host_wants),
        cmocka_unit_test(a_fault_leaves_no_counter_running_where_a_cpu_starts_over),
        cmocka_unit_test(what_a_fault_has_stopped_runs_for_no_static_session),
        cmocka_unit_test(an_event_moved_to_a_running_counter_counts_nothing_twice),
        cmocka_unit_test(what_the_last_look_at_mail_cannot_enable_is_stopped),
        cmocka_unit_test(a_wrap_that_a_sample_of_another_event_finds_is_no_round),
    };

    return cmocka_run_group_tests_name("changes", tests, NULL, NULL);
}
