/* SPDX-License-Identifier: MIT */
/*
 * Corners of a change of what runs: counts that are not exact, or counted twice; gates that stay open, or closed; lost
 * periods.
 */
#include "tests/unit/engine/unit_double.h"

static struct unit_double d;
static struct host host;

/*
 * No interrupt, and no RDPMC (RISC-V without Sscofpmf): a difference of half a round marks the count.  Mistake: only a
 * read looks for that, and a session that leaves adds the difference as exact.
 */
static void a_counter_that_may_have_gone_round_is_marked_when_its_session_leaves(void **state)
{
    (void)state;
    host_prepare(&host, "skylake");
    host.sim.port.rdpmc = NULL;
    host_machine(&host);
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    host.machine.pmu[host.cpu[0].meter.pmu->index].capabilities |= UPMU_PMU_NO_PMI;
    assert_true(host.cpu[0].meter.pmu->capabilities & UPMU_PMU_NO_PMI);
    assert_int_equal(upmu_session_init(&host.session, &host.machine), UPMU_OK);
    assert_int_equal(upmu_session_add(&host.session, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = (UINT64_C(1) << 47) + 5, .cycles = 5});
    assert_int_equal(host_count(&host.session, 0).quality, UPMU_QUALITY_PARTIAL);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(host_count(&host.session, 0).quality, UPMU_QUALITY_PARTIAL);
}

static const unsigned styles[] = {UPMU_UNIT_GLOBAL, UPMU_UNIT_SELECT, UPMU_UNIT_BOX};

static struct upmu_session *session_of(unsigned i)
{
    return &d.host.sessions[i];
}

static void begin_unit(unsigned style, unsigned filters)
{
    double_prepare(&d, style, UPMU_SPACE_PCI, 1, 1);
    d.type.filters = (uint8_t)filters;
    d.type.filter[0] = DOUBLE_FILTER;
    d.type.filter_mask[0] = 0xffff;
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
}

static enum upmu_status run(unsigned i, unsigned code, uint64_t filter, uint32_t counters)
{
    struct upmu_event event;
    enum upmu_status status;

    assert_int_equal(upmu_session_init(session_of(i), &d.host.machine), UPMU_OK);
    assert_int_equal(upmu_event_raw(&d.pmu[0].pmu, code, filter, 0, &event), UPMU_OK);
    if (counters)
        event.counters = counters;
    assert_int_equal(upmu_session_add_event(session_of(i), &event, NULL), UPMU_OK);
    status = upmu_session_attach_unit(session_of(i), &d.unit);
    return status == UPMU_OK ? upmu_session_start(session_of(i)) : status;
}

/* Mistake: where enable bits are dense an event of a unit is placed alone, and overwrites the filter of another. */
static void events_with_different_filters_do_not_run_side_by_side(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        begin_unit(styles[i], 1);
        assert_int_equal(run(0, 3, 5, 0), UPMU_OK);
        assert_int_equal(d.box[0].filter, 5);
        print_message("style %u: %d\n", styles[i], (int)run(1, 4, 6, 0));
        assert_int_equal(d.box[0].filter, 5);
        (void)!upmu_session_close(session_of(0));
        (void)!upmu_session_close(session_of(1));
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    }
}

/* Mistake: an event that comes to a counter takes the base of the event that leaves, which has moved already. */
static void an_event_takes_the_place_of_one_that_moves(void **state)
{
    static const unsigned code[] = {3, 5, 7};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t seen[3] = {0, 0, 0};

        begin_unit(styles[i], 0);
        assert_int_equal(run(0, code[0], 0, 0), UPMU_OK);
        print_message("first on %u\n", session_of(0)->set.tally[0].counter);
        double_steps(100);
        seen[0] += 100;
        assert_int_equal(run(1, code[1], 0, 0x3), UPMU_OK);
        print_message("second on %u\n", session_of(1)->set.tally[0].counter);
        double_steps(10);
        seen[0] += 10;
        seen[1] += 10;
        assert_int_equal(run(2, code[2], 0, 1u << session_of(1)->set.tally[0].counter), UPMU_OK);
        print_message("now %u %u %u\n", session_of(0)->set.tally[0].counter, session_of(1)->set.tally[0].counter,
                      session_of(2)->set.tally[0].counter);
        double_steps(1);
        for (unsigned n = 0; n < 3; n++) {
            seen[n]++;
            print_message("%u: %llu of %llu\n", n, (unsigned long long)host_count(session_of(n), 0).value,
                          (unsigned long long)(seen[n] * code[n]));
        }
        for (unsigned n = 0; n < 3; n++)
            assert_int_equal(host_count(session_of(n), 0).value, seen[n] * code[n]);
        for (unsigned n = 0; n < 3; n++)
            assert_int_equal(upmu_session_close(session_of(n)), UPMU_OK);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    }
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
static void what_a_handler_stopped_stays_closed_where_its_session_has_failed(void **state)
{
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
            assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK);
        }
        gate.armed = true;
        gate.next_faults = faults;
        (void)!upmu_session_stop(&host.sessions[0]);
        gate.faults = 0;
        assert_true(host.sim.port.rdmsr(host.sim.port.context, 0x38f, &enabled));
        print_message("%u faults: states %d %d enabled %llx\n", faults, (int)host.sessions[0].state,
                      (int)host.sessions[1].state, (unsigned long long)enabled);
        assert_int_equal(enabled != 0, host.sessions[1].state == UPMU_SESSION_RUNNING);
    }
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

/*
 * Mistake: an event moves to a counter that a static session left running with the same event.  What happens between
 * the read of the one and the close of the other is counted twice.
 */
static void an_event_that_moves_to_a_running_counter_counts_nothing_twice(void **state)
{
    uint64_t before, after;

    (void)state;
    leave_static("core2", "cycles");
    host_add(&host, 1, "cycles", 0);
    host_attach(&host, 1, 0);
    host_thread_switch(&host, 0, 1);
    assert_int_equal(upmu_session_start(&host.sessions[1]), UPMU_OK);
    assert_int_not_equal(host.sessions[0].counters, host.sessions[1].counters);
    host_thread_switch(&host, 0, 0);
    host_add(&host, 2, "branches:counter=0", 0);
    host_add(&host, 3, "branches:counter=1", 0);
    for (unsigned i = 2; i < 4; i++)
        host_attach(&host, i, 0);
    host_work(&host, 0, 1000);
    before = host_value(&host.sessions[1], 0) - host.sim.cpu[0].truth[0].cycles - host.sim.cpu[0].truth[1].cycles;
    host.sim.events_per_access = 5;
    for (unsigned i = 2; i < 4; i++)
        assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK);
    host.sim.events_per_access = 0;
    after = host_value(&host.sessions[1], 0) - host.sim.cpu[0].truth[0].cycles - host.sim.cpu[0].truth[1].cycles;
    assert_true((int64_t)(after - before) <= 0);
    host_end(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_that_may_have_gone_round_is_marked_when_its_session_leaves),
        cmocka_unit_test(events_with_different_filters_do_not_run_side_by_side),
        cmocka_unit_test(an_event_takes_the_place_of_one_that_moves),
        cmocka_unit_test(what_a_handler_stopped_stays_closed_where_its_session_has_failed),
        cmocka_unit_test(a_late_flag_of_a_counter_that_ran_for_no_session_is_no_round),
        cmocka_unit_test(a_period_that_a_fault_ends_is_lost),
        cmocka_unit_test(a_fault_leaves_no_counter_running_that_the_host_wants),
        cmocka_unit_test(a_fault_leaves_no_counter_running_where_a_cpu_starts_over),
        cmocka_unit_test(an_event_that_moves_to_a_running_counter_counts_nothing_twice),
    };

    return cmocka_run_group_tests_name("change_corners", tests, NULL, NULL);
}
