/* SPDX-License-Identifier: MIT */
/*
 * The library on the silicon model of the Pentium 4: counting, sampling, stopping, two
 * hyper-threads, cascades, tags, errata.  What it costs: test_p4_cost.c.
 */
#include <upmu/probe.h>
#include <upmu/session.h>
#include "tests/unit/engine/p4_host.h"
#include "backends/x86_p4/x86_p4.h"

static void every_model_is_found(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ALL; p++) {
        set_up(all[p]);
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            assert_string_equal(f.cpu[cpu].meter.pmu->name,
                                (f.sim.profile->signature >> 4 & 0xf) < 3 ? "netburst" : "netburst_p");
            assert_int_equal(f.cpu[cpu].meter.thread, f.sim.profile->flags & UPMU_SIM_SMT ? cpu : 0, cpu);
        }
        tear_down();
    }
}

static void pmus_that_are_faked_are_refused(void **state)
{
    static const char *const names[] = {"p4_ignores_writes", "p4_faults", "p4_no_perfmon"};

    (void)state;
    for (unsigned p = 0; p < 3; p++) {
        memset(&f, 0, sizeof f);
        upmu_sim_init(&f.sim, upmu_sim_profile(names[p]), 1);
        upmu_sim_bind_cpu(&f.sim, 0, &f.cpu[0]);
        assert_int_equal(upmu_machine_init(&f.machine, upmu_sim_port(&f.sim)), UPMU_OK);
        assert_int_not_equal(upmu_cpu_init(&f.cpu[0], &f.machine, NULL), UPMU_OK);
        assert_false(f.cpu[0].meter.live);
    }
}

/* ---- Counting ---- */

static void generic_names_count_what_they_say(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ALL; p++) {
        set_up(all[p]);
        launch(0, 0, "instructions,cycles,branches,branch-misses,cache-references,cache-misses", 0);
        run(0, 10000);
        assert_int_equal(value(0, 0), 10000);
        assert_int_equal(value(0, 1), 20000);
        assert_int_equal(value(0, 2), 2000);
        assert_int_equal(value(0, 3), 200);
        assert_int_equal(value(0, 4), 1000);
        assert_int_equal(value(0, 5), 100);
        stop(0);
        run(0, 77);
        assert_int_equal(value(0, 0), 10000);
        tear_down();
    }
}

static void all_eighteen_counters_count_at_once(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ALL; p++) {
        uint32_t counters;

        set_up(all[p]);
        launch(0, 0, "cycles,cycles,cycles,cycles,tc_misc,tc_misc,tc_misc,tc_misc,memory_complete", 0);
        launch(1, 0, "memory_complete,memory_complete,memory_complete", 0);
        launch(2, 0, "instructions,instructions,instructions,branches,branches,branches", 0);
        counters = f.sessions[0].counters | f.sessions[1].counters | f.sessions[2].counters;
        assert_int_equal(counters, 0x3ffff);
        run(0, 1000);
        happen(0, 0x3c4, 0x06, 0x10, 50);
        happen(0, 0x3ae, 0x08, 0x01, 40);
        for (unsigned i = 0; i < 4; i++) {
            assert_int_equal(value(0, i), 2090, i);
            assert_int_equal(value(0, 4 + i), 100, i);
            assert_int_equal(i ? value(1, i - 1) : value(0, 8), 40, i);
        }
        for (unsigned i = 0; i < 6; i++)
            assert_int_equal(value(2, i), i < 3 ? 1000 : 200, i);
        tear_down();
    }
}

/* Threshold, complement, edge. */
static void filters_reach_the_hardware(void **state)
{
    (void)state;
    set_up("prescott");
    launch(0, 0, "uops_retired:NBOGUS:c=2,uops_retired:NBOGUS:c=1:e", 0);
    launch(1, 0, "execution_event:NBOGUS0:NBOGUS1:c=15:i", 0);
    upmu_sim_switch_cpu(&f.sim, 0);
    upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.cycles = 1000, .uops = 900, .per_cycle = 3, .runs = 7});
    assert_int_equal(value(0, 0), 300);
    assert_int_equal(value(0, 1), 7);
    assert_int_equal(value(1, 0), 1000); /* the clock that never stops */
    tear_down();
}

/* ---- Sampling ---- */

static void every_period_is_a_sample(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ALL; p++)
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            set_up(all[p]);
            launch(0, cpu, "instructions,cycles", 1000);
            add(1, "branches", 100);
            attach(1, cpu);
            start(1);
            for (unsigned i = 0; i < 10; i++)
                run(cpu, 2500);
            stop(0);
            stop(1);
            assert_int_equal(value(0, 0), 25000);
            assert_int_equal(value(0, 1), 50000);
            assert_int_equal(f.sessions[0].set.tally[0].lost + f.sessions[0].set.tally[1].lost, 0);
            assert_int_equal(samples(1), 50);
            assert_in_range(samples(0), 50, 75); /* two events may be due in one sample */
            assert_int_equal(f.answered[UPMU_PMI_NOT_OURS], 0);
            tear_down();
        }
}

static void a_stop_on_an_overflow_finds_it(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ALL; p++) {
        set_up(all[p]);
        launch(0, 0, "instructions", 1000);
        run(0, 1000); /* the interrupt would come with the next event */
        assert_int_equal(f.sim.cpu[0].interrupts, 0);
        stop(0);
        assert_int_equal(samples(0), 1);
        assert_int_equal(value(0, 0), 1000);
        start(0);
        run(0, 999);
        assert_int_equal(samples(0), 0);
        run(0, 2);
        assert_int_equal(samples(0), 1);
        stop(0);
        tear_down();
    }
}

/* Linux arch/x86/events/intel/p4.c p4_pmu_clear_cccr_ovf: an interrupt without OVF. */
static void unflagged_overflows_are_samples_too(void **state)
{
    (void)state;
    set_up("prescott");
    f.sim.rule[UPMU_SIM_RULE_HAZARD_P4_UNFLAGGED] = 1;
    launch(0, 0, "instructions", 1000);
    for (unsigned i = 0; i < 7; i++)
        run(0, 1500);
    stop(0);
    assert_int_equal(samples(0), 10);
    assert_int_equal(value(0, 0), 10500);
    tear_down();
}

/* The overflow comes while the interrupt is masked, and sets no flag that would raise the interrupt again. */
static void an_overflow_that_nobody_heard_is_found_by_a_poll(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ALL; p++) {
        set_up(all[p]);
        f.sim.rule[UPMU_SIM_RULE_HAZARD_P4_UNFLAGGED] = 1;
        launch(0, 0, "instructions", 1000);
        upmu_sim_set_delivery(&f.sim, 0, UPMU_SIM_LVTPC_NMI | 0x10000u);
        run(0, 1600);
        assert_int_equal(samples(0), 0);
        assert_int_equal(upmu_cpu_poll(&f.cpu[0]), UPMU_OK);
        assert_int_equal(samples(0), 1);
        assert_int_equal(upmu_cpu_poll(&f.cpu[0]), UPMU_OK);
        assert_int_equal(samples(0), 0);
        run(0, 900);
        assert_int_equal(upmu_cpu_poll(&f.cpu[0]), UPMU_OK);
        assert_int_equal(samples(0), 1);
        assert_int_equal(value(0, 0), 2500);
        tear_down();
    }
}

/* Intel 249199, N17: a counter that is closed soon after a carry into its upper half may lose the carry. */
static void carries_that_a_stop_loses_are_not_missed(void **state)
{
    (void)state;
    for (unsigned beyond = 0; beyond < 10; beyond++) {
        uint64_t total = 1000 + beyond;

        prepare("willamette", 2);
        for (unsigned n = 0; n < UPMU_SIM_P4_COUNTERS; n++)
            upmu_sim_poke(&f.sim, 0, 0x300 + n, UINT64_C(0x4ffffffff) - 999);
        take_over(0);
        f.sim.rule[UPMU_SIM_RULE_HAZARD_P4_CARRY] = 1;
        launch(0, 0, "instructions", 0);
        run(0, total);
        stop(0);
        assert_int_equal(value(0, 0), total);
        start(0);
        run(0, 50);
        stop(0);
        assert_int_equal(value(0, 0), total + 50);
        tear_down();
    }
}

static void a_lost_carry_costs_no_sample(void **state)
{
    (void)state;
    set_up("willamette");
    f.sim.rule[UPMU_SIM_RULE_HAZARD_P4_CARRY] = 1;
    launch(0, 0, "instructions", 1000);
    for (unsigned i = 1; i <= 20; i++) {
        run(0, 1000 + (i & 3u));
        stop(0);
        start(0);
    }
    stop(0);
    assert_int_equal(value(0, 0), 20000 + 5 * 6);
    assert_int_equal(samples(0), 20);
    tear_down();
}

/* A counter passes zero between the two reads of a stop, and loses its carry. */
static void overflow_before_the_close(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                                      uint32_t address)
{
    (void)cpu, (void)number;
    if (kind != UPMU_SIM_RDPMC || (address & 31u) != f.sessions[0].set.tally[1].counter)
        return;
    sim->after_access = NULL;
    upmu_sim_events(sim, &(struct upmu_sim_burst){.branches = 10}); /* the next event would interrupt */
}

/*
 * A sample of the first event sets the second one back, whose counter is not loaded for that: it overflows when nothing
 * is due.  Catches: a counter that is thought to hold its value though its carry may be lost.
 */
static void a_lost_carry_of_an_event_that_was_set_back_costs_no_sample(void **state)
{
    struct upmu_sampling first = {.period = 100, .resets = 2}, second = {.period = 1000};
    struct upmu_sample sample;

    (void)state;
    set_up("willamette");
    f.sim.rule[UPMU_SIM_RULE_HAZARD_P4_CARRY] = 1;
    assert_int_equal(upmu_set_add(&f.sessions[0].set, "instructions", &first), UPMU_OK);
    assert_int_equal(upmu_set_add(&f.sessions[0].set, "branches", &second), UPMU_OK);
    assert_int_equal(upmu_session_ring(&f.sessions[0], f.rings[0], sizeof f.rings[0]), UPMU_OK);
    attach(0, 0);
    start(0);
    upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.branches = 300});
    upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = 101});
    assert_int_equal(samples(0), 1);
    upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.branches = 690});
    f.sim.after_access = overflow_before_the_close;
    stop(0);
    assert_null(f.sim.after_access);
    assert_int_equal(value(0, 1), 700);
    start(0);
    upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.branches = 301});
    assert_true(upmu_ring_next(&f.sessions[0].ring, &sample));
    assert_int_equal(sample.events, 2);
    assert_int_equal(value(0, 1), 1001);
    tear_down();
}

/*
 * A close that lost the carry left the counter a round from its overflow: a load that faulted is made up for.  After a
 * second fault of a register the session is stopped, and samples when it is started again.
 */
static void a_load_that_faults_after_a_lost_carry_is_made_up_for(void **state)
{
    (void)state;
    for (unsigned at = 1; at <= 7; at++)
        for (unsigned width = 1; width <= 3; width++)
            for (unsigned restarted = 0; restarted < 2; restarted++) {
                unsigned after;

                set_up("willamette");
                f.sim.rule[UPMU_SIM_RULE_HAZARD_P4_CARRY] = 1;
                launch(0, 0, "instructions", 1000);
                f.sim.fault_at = f.sim.accesses + at;
                f.sim.fault_until = f.sim.fault_at + width - 1;
                run(0, 1001);
                f.sim.fault_at = 0;
                f.sim.fault_until = 0;
                if (f.sessions[0].state == UPMU_SESSION_STOPPED) {
                    assert_compare(width, >, 1);
                    assert_int_equal(f.sessions[0].error, UPMU_ERR_PORT);
                    start(0);
                } else if (restarted) {
                    stop(0);
                    start(0);
                } else {
                    assert_int_equal(upmu_cpu_poll(&f.cpu[0]), UPMU_OK);
                }
                (void)samples(0);
                for (unsigned i = 0; i < 5; i++)
                    run(0, 1001);
                after = samples(0);
                if (after < 4)
                    fail_msg("access %u, %u of them: %u samples in 5 periods", at, width, after);
                tear_down();
            }
}

/*
 * The load of a sampling counter faults, and the session is stopped.  Catches: of what its other event has counted
 * since the last fold, multiples of 2^32 are lost, in a count that is EXACT.
 */
static void a_fault_costs_no_multiples_of_2_32(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ALL; p++) {
        struct upmu_sampling sampling = {.period = 2000000000};
        struct upmu_count count;
        uint64_t ran = 0;

        set_up(all[p]);
        assert_int_equal(upmu_set_add(&f.sessions[0].set, "instructions", NULL), UPMU_OK);
        assert_int_equal(upmu_set_add(&f.sessions[0].set, "branches", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_ring(&f.sessions[0], f.rings[0], sizeof f.rings[0]), UPMU_OK);
        attach(0, 0);
        start(0);
        f.sim.fault_address = 0x300 + f.sessions[0].set.tally[1].counter;
        for (unsigned i = 0; i < 20 && f.sessions[0].state == UPMU_SESSION_RUNNING; i++, ran += UINT64_C(1) << 30)
            run(0, UINT64_C(1) << 30);
        f.sim.fault_address = 0;
        assert_int_equal(f.sessions[0].state, UPMU_SESSION_STOPPED, p);
        assert_compare(ran, >, UINT64_C(2) << 32, p);
        count = host_count(&f.sessions[0], 0);
        assert_int_equal(count.quality, UPMU_QUALITY_EXACT, p);
        assert_compare(count.value, <=, ran, p);
        assert_compare(count.value, >, ran - (UINT64_C(1) << 30), p);
        tear_down();
    }
}

/* Intel 249199, N15: a write of an enabled counter is lost; the model calls it a violation, too. */
static void counters_are_loaded_while_they_are_closed(void **state)
{
    (void)state;
    set_up("willamette");
    launch(0, 0, "instructions", 100);
    launch(1, 0, "branches", 33);
    for (unsigned i = 0; i < 50; i++) {
        run(0, 130);
        if (i % 7 == 0) {
            stop(0);
            start(0);
        }
    }
    assert_int_equal(value(0, 0), 6500);
    assert_int_equal(samples(0), 65);
    tear_down();
}

/* Other sources' NMIs are not ours, also where a lost carry hides an overflow: nothing has stopped the counter. */
static void an_interrupt_is_answered_once(void **state)
{
    static const char *const profiles[] = {"cedarmill", "willamette"};

    (void)state;
    for (unsigned p = 0; p < 2; p++) {
        set_up(profiles[p]);
        launch(0, 0, "instructions", 1000);
        run(0, 5500);
        assert_int_equal(f.answered[UPMU_PMI_HANDLED], 5);
        assert_int_equal(f.answered[UPMU_PMI_STALE] + f.answered[UPMU_PMI_NOT_OURS], 0);
        assert_int_equal(f.sim.cpu[0].interrupts, 5);
        assert_int_equal(f.sim.cpu[1].interrupts, 0);
        upmu_sim_advance_ns(&f.sim, 101000000);
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            upmu_sim_switch_cpu(&f.sim, cpu);
            upmu_sim_foreign_nmi(&f.sim);
            assert_int_equal(f.answered[UPMU_PMI_NOT_OURS], cpu + 1);
        }
        tear_down();
    }
}

/* A counter that a fault kept from being closed overflows: its interrupt would never end. */
static void what_a_fault_left_running_is_silenced(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ALL; p++)
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            set_up(all[p]);
            launch(0, cpu, "instructions", 1000);
            run(cpu, 500);
            f.sim.fault_address = 0x360 + f.sessions[0].set.tally[0].counter;
            assert_int_equal(upmu_session_stop(&f.sessions[0]), UPMU_ERR_PORT);
            f.sim.fault_address = 0;
            assert_true(upmu_sim_runs(&f.sim, cpu, f.sessions[0].set.tally[0].counter));
            run(cpu, 5000);
            assert_false(upmu_sim_runs(&f.sim, cpu, f.sessions[0].set.tally[0].counter));
            assert_compare(f.sim.cpu[cpu].interrupts, <=, 2, cpu);
            assert_int_equal(f.answered[UPMU_PMI_NOT_OURS], 0);
            tear_down();
        }
}

/* Counters that were ours and are closed leave nothing: another source's NMI is its own.  Catches: a doubt for ever. */
static void what_was_closed_long_ago_interrupts_no_more(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ALL; p++) {
        set_up(all[p]);
        launch(0, 0, "instructions,branches", 1000);
        run(0, 5500);
        assert_int_equal(upmu_session_detach(&f.sessions[0]), UPMU_OK);
        upmu_sim_advance_ns(&f.sim, 101000000);
        memset(f.answered, 0, sizeof f.answered);
        for (unsigned i = 0; i < 3; i++)
            upmu_sim_foreign_nmi(&f.sim);
        assert_int_equal(f.answered[UPMU_PMI_NOT_OURS], 3);
        tear_down();
    }
}

/*
 * Without OVF_PMI an overflow is no interrupt, though a fault left its counter running: another source's NMI is its
 * own.  Catches: a flag that is taken for an interrupt.
 */
static void what_a_fault_left_counting_is_no_interrupt(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ALL; p++) {
        unsigned counter;

        set_up(all[p]);
        launch(0, 0, "instructions", 0);
        counter = f.sessions[0].set.tally[0].counter;
        upmu_sim_poke(&f.sim, 0, 0x300 + counter, UINT64_C(0xffffffffff) - 999);
        f.sim.fault_address = 0x360 + counter;
        assert_int_equal(upmu_session_stop(&f.sessions[0]), UPMU_ERR_PORT);
        f.sim.fault_address = 0;
        run(0, 5000);
        assert_true(upmu_sim_peek(&f.sim, 0, 0x360 + counter) & UINT64_C(0x80000000));
        upmu_sim_advance_ns(&f.sim, 101000000);
        memset(f.answered, 0, sizeof f.answered);
        for (unsigned i = 0; i < 3; i++)
            upmu_sim_foreign_nmi(&f.sim);
        assert_int_equal(f.answered[UPMU_PMI_NOT_OURS], 3);
        start(0); /* it is the session's again, which closes it */
        stop(0);
        assert_false(upmu_sim_runs(&f.sim, 0, counter));
        tear_down();
    }
}

/* Other drivers would take this counter for free, or restore what they found over the firmware's values. */
static void a_firmware_s_counter_is_neither_used_nor_written(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ALL; p++) {
        prepare(all[p], 2);
        upmu_sim_firmware(&f.sim, 0);
        take_over(0);
        take_over(1);
        launch(0, 0, "cycles,cycles", 0);
        assert_int_equal(f.sessions[0].counters & 3u, 0);
        run(0, 1000);
        assert_int_equal(value(0, 0), 2000);
        upmu_sim_forget(&f.sim);
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            upmu_sim_switch_cpu(&f.sim, cpu);
            assert_int_equal(upmu_cpu_fini(&f.cpu[cpu]), UPMU_OK, cpu);
        }
        assert_true(upmu_sim_runs(&f.sim, 0, 0));
        assert_int_equal(upmu_sim_peek(&f.sim, 0, 0x360), 0x403d000);
        assert_int_equal(upmu_sim_peek(&f.sim, 0, 0x300), 2000);
        assert_int_equal(f.sim.violation_count, 0);
    }
}

/* ---- Two threads ---- */

static void each_thread_counts_its_own(void **state)
{
    (void)state;
    for (unsigned p = 0; p < THREADED; p++) {
        set_up(threaded[p]);
        launch(0, 0, "instructions,cycles,branches", 0);
        launch(1, 1, "instructions,cycles,branches", 0);
        assert_int_equal(f.sessions[0].counters & f.sessions[1].counters, 0);
        for (unsigned i = 0; i < 4; i++) {
            run(0, 1000);
            run(1, 250);
        }
        upmu_sim_switch_cpu(&f.sim, 0);
        assert_int_equal(value(0, 0), 4000);
        assert_int_equal(value(0, 1), 8000);
        assert_int_equal(value(0, 2), 800);
        stop(0);
        run(0, 11);
        run(1, 100);
        assert_int_equal(value(1, 0), 1100);
        assert_int_equal(value(1, 1), 2200);
        assert_int_equal(value(1, 2), 220);
        tear_down();
    }
}

static void each_thread_is_interrupted_for_its_own(void **state)
{
    (void)state;
    for (unsigned p = 0; p < THREADED; p++) {
        set_up(threaded[p]);
        launch(0, 0, "instructions", 1000);
        launch(1, 1, "instructions", 300);
        for (unsigned i = 0; i < 10; i++) {
            run(0, 750);
            run(1, 450);
        }
        assert_int_equal(f.answered[UPMU_PMI_HANDLED], f.sim.cpu[0].interrupts + f.sim.cpu[1].interrupts);
        assert_int_equal(f.sim.cpu[0].interrupts, 7);
        stop(1);
        upmu_sim_switch_cpu(&f.sim, 0);
        stop(0);
        assert_int_equal(samples(0), 7);
        assert_int_equal(samples(1), 15);
        tear_down();
    }
}

static void thread_independent_events_have_one_owner(void **state)
{
    (void)state;
    for (unsigned p = 0; p < THREADED; p++) {
        char text[300];

        set_up(threaded[p]);
        launch(0, 0, "page_walk_type:DTMISS", 0);
        add(1, "page_walk_type:DTMISS", 0);
        upmu_sim_switch_cpu(&f.sim, 1);
        if (upmu_session_attach_cpu(&f.sessions[1], &f.cpu[1]) == UPMU_OK)
            assert_int_equal(upmu_session_start(&f.sessions[1]), UPMU_ERR_DOES_NOT_FIT);
        (void)upmu_why_text(&f.sessions[1].why, text, sizeof text);
        assert_non_null(strstr(text, "hyper-thread"));
        happen(1, 0x3ac, 0x01, 1, 5); /* which is why */
        upmu_sim_switch_cpu(&f.sim, 0);
        assert_int_equal(value(0, 0), 5);
        stop(0);
        upmu_sim_switch_cpu(&f.sim, 1);
        if (f.sessions[1].state == UPMU_SESSION_DETACHED)
            attach(1, 1);
        start(1);
        tear_down();
    }
}

static void a_thread_is_taken_over_while_the_other_one_counts(void **state)
{
    (void)state;
    for (unsigned p = 0; p < THREADED; p++) {
        prepare(threaded[p], 2);
        take_over(0);
        launch(0, 0, "instructions,cycles,branches", 0);
        run(0, 1000);
        upmu_sim_forget(&f.sim);
        take_over(1);
        assert_int_equal(f.sim.access_count[UPMU_SIM_WRMSR], 0);
        run(0, 1000);
        upmu_sim_switch_cpu(&f.sim, 1);
        assert_int_equal(upmu_cpu_fini(&f.cpu[1]), UPMU_OK);
        run(0, 1000);
        assert_int_equal(value(0, 0), 3000);
        assert_int_equal(value(0, 1), 6000);
        assert_int_equal(value(0, 2), 600);
        tear_down();
    }
}

/* Neither takes the other's registers for changed ones. */
static void each_thread_finds_its_registers_as_they_should_be(void **state)
{
    (void)state;
    for (unsigned p = 0; p < THREADED; p++) {
        set_up(threaded[p]);
        launch(0, 0, "instructions,cycles", 1000);
        launch(1, 1, "packed_SP_retired", 0);
        launch(2, 1, "branches,cache-references", 0);
        add(3, "branches:complement:thr=3,cache-references:edge:thr=1", 0);
        attach(3, 0);
        for (unsigned round = 0; round < 3; round++)
            for (unsigned cpu = 0; cpu < 2; cpu++) {
                struct upmu_why why;

                run(cpu, 1700);
                assert_int_equal(upmu_cpu_verify(&f.cpu[cpu], &why), UPMU_OK, cpu);
                if (cpu && round == 1)
                    stop(2);
                if (cpu && round == 2)
                    start(2);
                /* On the counters that the stopped session had. */
                if (!cpu && round == 2) {
                    start(3);
                    assert_int_equal(f.sessions[3].counters, f.sessions[2].counters);
                    stop(3);
                }
            }
        upmu_sim_switch_cpu(&f.sim, 0);
        stop(0);
        assert_int_equal(value(0, 0), 5100);
        upmu_sim_switch_cpu(&f.sim, 1);
        assert_int_equal(value(2, 0), 680);
        tear_down();
    }
}

/* PEBS left over from a former kernel: the counters that would write records stay the firmware's. */
static void counters_that_would_write_records_are_left_alone(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ALL; p++) {
        bool looked;

        prepare(all[p], 2);
        upmu_sim_poke(&f.sim, 0, 0x3f1, 3u << 24);
        take_over(0);
        take_over(1);
        upmu_sim_switch_cpu(&f.sim, 0);
        upmu_cpu_take_firmware(&f.cpu[0]);
        looked = upmu_sim_peek(&f.sim, 0, 0x3f1) != 0;
        for (unsigned n = 0; n < UPMU_SIM_P4_COUNTERS; n++)
            assert_int_equal(upmu_cpu_owner(&f.cpu[0], n),
                             looked && n >= 16 ? UPMU_OWNER_FIRMWARE : UPMU_OWNER_FREE, n);
        tear_down();
    }
}

/*
 * A thread that comes takes an interrupt before the host could reserve its watchdog's counter there, too, whether the
 * host programs that before the thread comes or afterwards.  Class of mistake: a mask of what CPUs have used, applied
 * later without a check of the present owner.
 */
static void a_thread_that_comes_leaves_the_others_watchdog_running(void **state)
{
    (void)state;
    for (unsigned p = 0; p < 2 * THREADED; p++) {
        const uint64_t watchdog = 0x403b000; /* it runs, and interrupts thread 0 */
        unsigned counter;

        set_up(threaded[p / 2]);
        launch(0, 1, "instructions", 0);
        counter = f.sessions[0].set.tally[0].counter;
        assert_int_equal(upmu_session_close(&f.sessions[0]), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&f.cpu[1]), UPMU_OK);
        upmu_sim_switch_cpu(&f.sim, 0);
        assert_int_equal(upmu_cpu_reserve(&f.cpu[0], UINT32_C(1) << counter), UPMU_OK);
        if (p & 1u)
            upmu_sim_poke(&f.sim, 0, 0x360 + counter, watchdog);
        memset(&f.cpu[1], 0, sizeof f.cpu[1]);
        take_over(1);
        upmu_sim_poke(&f.sim, 0, 0x360 + counter, watchdog);
        upmu_sim_foreign_nmi(&f.sim);
        assert_int_equal(upmu_sim_peek(&f.sim, 0, 0x360 + counter), watchdog);
        upmu_sim_poke(&f.sim, 0, 0x360 + counter, 0);
        tear_down();
    }
}

/*
 * A session was placed on FSB_ESCR0, and stopped.  Since then the host has reserved counter 0, which looks at that
 * ESCR: the place is good no more, though its own counter is free.
 * Catches: a place that is good where its counters are, whatever else is the host's.
 */
static void the_escr_of_a_counter_reserved_since_is_the_hosts(void **state)
{
    static const char *const alone[] = {"willamette", "northwood_smtoff", "prescott_smtoff", "cedarmill_smtoff"};

    (void)state;
    for (unsigned p = 0; p < sizeof alone / sizeof alone[0]; p++) {
        uint64_t cccr, escr;

        prepare(alone[p], 1);
        upmu_sim_firmware(&f.sim, 0);
        cccr = upmu_sim_peek(&f.sim, 0, 0x360);
        escr = upmu_sim_peek(&f.sim, 0, 0x3a2);
        take_over(0);
        upmu_cpu_take_firmware(&f.cpu[0]);
        launch(0, 0, "cycles:counter=1", 0);
        stop(0);
        assert_int_equal(upmu_cpu_reserve(&f.cpu[0], 1), UPMU_OK);
        upmu_sim_poke(&f.sim, 0, 0x3a2, escr);
        upmu_sim_poke(&f.sim, 0, 0x360, cccr);
        assert_int_equal(upmu_session_start(&f.sessions[0]), UPMU_ERR_DOES_NOT_FIT);
        assert_int_equal(upmu_sim_peek(&f.sim, 0, 0x3a2), escr);
        assert_true(upmu_sim_runs(&f.sim, 0, 0));
        upmu_sim_poke(&f.sim, 0, 0x360, 0);
        upmu_cpu_unreserve(&f.cpu[0], 1);
        start(0);
        host_end(&f);
    }
}

/* pmu.h: by its ESCR as long as it is reserved, and by its CCCR before it is returned. */
static void a_counter_that_the_host_stopped_stands_still_after_the_end(void **state)
{
    (void)state;
    for (unsigned p = 0; p < THREADED; p++)
        for (unsigned returned = 0; returned < 2; returned++) {
            prepare(threaded[p], 2);
            upmu_sim_firmware(&f.sim, 0);
            assert_true(upmu_sim_runs(&f.sim, 0, 0));
            take_over(0);
            take_over(1);
            for (unsigned i = 0; i < 2; i++) {
                upmu_sim_switch_cpu(&f.sim, i);
                assert_int_equal(upmu_cpu_reserve(&f.cpu[i], 1), UPMU_OK, i);
            }
            upmu_sim_poke(&f.sim, 0, returned ? 0x360 : 0x3a2, 0);
            for (unsigned i = 0; returned && i < 2; i++) {
                upmu_sim_switch_cpu(&f.sim, i);
                upmu_cpu_unreserve(&f.cpu[i], 1);
            }
            for (unsigned i = 0; i < 2; i++) {
                upmu_sim_switch_cpu(&f.sim, i);
                assert_int_equal(upmu_cpu_fini(&f.cpu[i]), UPMU_OK, i);
            }
            assert_false(upmu_sim_runs(&f.sim, 0, 0));
            assert_int_equal(upmu_sim_peek(&f.sim, 0, returned ? 0x360 : 0x3a2) & ~UINT64_C(0x30000), 0);
        }
}

/*
 * The host reserves a counter that a session left, and does not program it: all is as found at the end.  A watchdog
 * there keeps its ESCR, also while it is disabled.  Class of mistake: what upmu left is taken for the host's.
 */
static void a_reserved_counter_that_is_not_programmed_holds_no_escr(void **state)
{
    const uint32_t escr = 0x3b8; /* CRU_ESCR0: instructions */
    enum { IDLE, DISABLED, BETWEEN, WAYS }; /* never programmed; programmed, and now disabled; before CPU 1 reserves */

    (void)state;
    for (unsigned p = 0; p < ALL; p++)
        for (unsigned n = 0; n < 2 * WAYS; n++) {
            const uint64_t watchdog = 0x4038000, looks = 0x600000c;
            unsigned way = n >> 1, used = n & 1, threads;
            uint32_t counter;

            set_up(all[p]);
            threads = f.sim.profile->flags & UPMU_SIM_SMT ? 2 : 1;
            used &= threads - 1;
            launch(0, used, "instructions", 1000);
            counter = f.sessions[0].set.tally[0].counter;
            run(used, 100);
            assert_int_not_equal(upmu_sim_peek(&f.sim, used, escr), 0);
            assert_int_equal(upmu_session_close(&f.sessions[0]), UPMU_OK);
            for (unsigned i = 0; i < threads; i++) {
                upmu_sim_switch_cpu(&f.sim, i);
                if (way == BETWEEN && i == 1) {
                    upmu_sim_poke(&f.sim, 0, 0x360 + counter, watchdog);
                    upmu_sim_poke(&f.sim, 0, escr, looks);
                }
                assert_int_equal(upmu_cpu_reserve(&f.cpu[i], UINT32_C(1) << counter), UPMU_OK, i);
            }
            if (way == DISABLED || (way == BETWEEN && threads == 1)) {
                upmu_sim_poke(&f.sim, 0, 0x360 + counter, watchdog);
                upmu_sim_poke(&f.sim, 0, escr, looks);
            }
            for (unsigned i = 0; i < threads; i++) {
                upmu_sim_switch_cpu(&f.sim, i);
                assert_int_equal(upmu_cpu_fini(&f.cpu[i]), UPMU_OK, i);
            }
            assert_int_equal(upmu_sim_peek(&f.sim, 0, escr), way == IDLE ? 0 : looks);
            assert_int_equal(upmu_sim_peek(&f.sim, 0, 0x360 + counter), way == IDLE ? 0 : watchdog);
            host_no_violation(&f);
        }
}

/* The sibling of a thread that reserves a counter. */
enum sibling {
    SIBLING_GONE,   /* has left */
    SIBLING_RUNS,   /* its session runs there: it refuses with STATE */
    SIBLING_FAULTS, /* cannot empty what its stopped session has left there: PORT */
    SIBLING_BUSY,   /* its interrupt asks, in a call: BUSY */
    SIBLINGS
};

static bool (*whole_wrmsr)(void *context, uint32_t msr, uint64_t value);
static uint32_t not_written;

static bool write_but_one(void *context, uint32_t msr, uint64_t value)
{
    return msr != not_written && whole_wrmsr(context, msr, value);
}

/* The answer of CPU 0 to a reservation. */
static void refuse(enum sibling sibling, uint32_t counter)
{
    static const enum upmu_status answers[SIBLINGS] = {UPMU_OK, UPMU_ERR_STATE, UPMU_ERR_PORT, UPMU_ERR_BUSY};

    if (sibling == SIBLING_GONE)
        return;
    upmu_sim_switch_cpu(&f.sim, 0);
    not_written = sibling == SIBLING_FAULTS ? 0x360 + counter : 0;
    f.cpu[0].meter.busy = sibling == SIBLING_BUSY;
    assert_int_equal(upmu_cpu_reserve(&f.cpu[0], UINT32_C(1) << counter), answers[sibling], sibling);
    f.cpu[0].meter.busy = 0;
    not_written = 0;
}

/*
 * A reservation is taken back: the last thread restores the counter as found, also where the thread that had written it
 * has left meanwhile, and whatever the sibling refuses with.
 * Class of mistake: a note of what is to be undone is dropped before all have agreed.
 */
static void a_reservation_that_is_taken_back_leaves_all_to_be_restored(void **state)
{
    (void)state;
    for (unsigned p = 0; p < THREADED; p++)
        for (enum sibling sibling = SIBLING_GONE; sibling < SIBLINGS; sibling++) {
            const uint64_t found = 0x123456;
            unsigned gone = sibling == SIBLING_GONE;
            uint32_t counter;

            set_up(threaded[p]);
            launch(0, 0, "instructions", 0);
            counter = f.sessions[0].set.tally[0].counter;
            assert_int_equal(upmu_session_close(&f.sessions[0]), UPMU_OK);
            tear_down();
            prepare(threaded[p], 2);
            upmu_sim_poke(&f.sim, 0, 0x300 + counter, found);
            take_over(0);
            take_over(1);
            launch(0, 0, "instructions", 0);
            assert_int_equal(f.sessions[0].set.tally[0].counter, counter);
            run(0, 100);
            whole_wrmsr = f.sim.port.wrmsr;
            f.sim.port.wrmsr = write_but_one;
            if (sibling != SIBLING_RUNS)
                assert_int_equal(upmu_session_close(&f.sessions[0]), UPMU_OK);
            if (gone)
                assert_int_equal(upmu_cpu_fini(&f.cpu[0]), UPMU_OK);
            upmu_sim_switch_cpu(&f.sim, 1);
            assert_int_equal(upmu_cpu_reserve(&f.cpu[1], UINT32_C(1) << counter), UPMU_OK);
            refuse(sibling, counter);
            upmu_sim_switch_cpu(&f.sim, 1);
            upmu_cpu_unreserve(&f.cpu[1], UINT32_C(1) << counter);
            for (unsigned i = gone; i < 2; i++) {
                upmu_sim_switch_cpu(&f.sim, i);
                assert_int_equal(upmu_cpu_fini(&f.cpu[i]), UPMU_OK, i);
            }
            assert_int_equal(upmu_sim_peek(&f.sim, 0, 0x300 + counter), found);
            assert_int_equal(upmu_sim_peek(&f.sim, 0, 0x360 + counter), 0);
            host_no_violation(&f);
        }
}

/* The host knows better than to leave a counter to the firmware. */
static void the_firmware_s_counter_can_be_taken(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ALL; p++) {
        prepare(all[p], 2);
        upmu_sim_firmware(&f.sim, 0);
        take_over(0);
        take_over(1);
        upmu_sim_switch_cpu(&f.sim, 0);
        upmu_cpu_take_firmware(&f.cpu[0]);
        assert_false(upmu_sim_runs(&f.sim, 0, 0));
        if (!(f.sim.profile->flags & UPMU_SIM_SMT)) {
            launch(0, 0, "cycles:counter=0", 1000);
            run(0, 5000);
            stop(0);
            assert_int_equal(value(0, 0), 10000);
            assert_int_equal(samples(0), 10);
        }
        assert_int_equal(f.sim.violation_count, 0);
    }
}

/* The class: a shared register is put back by one CPU's knowledge, though another wrote it. */
static void the_last_thread_gives_back_what_the_other_took_of_firmware(void **state)
{
    (void)state;
    for (unsigned p = 0; p < THREADED; p++)
        for (unsigned last = 0; last < 2; last++) {
            prepare(threaded[p], 2);
            upmu_sim_poke(&f.sim, 0, 0x364, 0x35000);
            take_over(0);
            take_over(1);
            upmu_sim_switch_cpu(&f.sim, 0);
            upmu_cpu_take_firmware(&f.cpu[0]);
            assert_false(upmu_sim_runs(&f.sim, 0, 4));
            for (unsigned i = 0; i < 2; i++) {
                upmu_sim_switch_cpu(&f.sim, i ^ last ^ 1u);
                assert_int_equal(upmu_cpu_fini(&f.cpu[i ^ last ^ 1u]), UPMU_OK, i, last);
            }
            assert_int_equal(upmu_sim_peek(&f.sim, 0, 0x364), 0x35000);
        }
}

/* The host asks both threads, and takes back what the first has granted. */
static void a_reservation_that_the_other_thread_refuses_forgets_nothing(void **state)
{
    const uint32_t counter = UINT32_C(1) << 12;

    (void)state;
    for (unsigned p = 0; p < THREADED; p++)
        for (unsigned last = 0; last < 2; last++) {
            prepare(threaded[p], 2);
            upmu_sim_poke(&f.sim, 0, 0x36c, 0x35000);
            take_over(0);
            take_over(1);
            upmu_sim_switch_cpu(&f.sim, 0);
            upmu_cpu_take_firmware(&f.cpu[0]);
            launch(0, 0, "instructions:counter=12", 0);
            upmu_sim_switch_cpu(&f.sim, 1);
            if (upmu_cpu_reserve(&f.cpu[1], counter) == UPMU_OK) {
                upmu_sim_switch_cpu(&f.sim, 0);
                assert_int_equal(upmu_cpu_reserve(&f.cpu[0], counter), UPMU_ERR_STATE);
                upmu_sim_switch_cpu(&f.sim, 1);
                upmu_cpu_unreserve(&f.cpu[1], counter);
            }
            stop(0);
            for (unsigned i = 0; i < 2; i++) {
                upmu_sim_switch_cpu(&f.sim, i ^ last ^ 1u);
                assert_int_equal(upmu_cpu_fini(&f.cpu[i ^ last ^ 1u]), UPMU_OK, i, last);
            }
            assert_int_equal(upmu_sim_peek(&f.sim, 0, 0x36c), 0x35000);
        }
}

static void four_threads_of_two_cores_have_two_pmus(void **state)
{
    (void)state;
    prepare("cedarmill", 4);
    for (unsigned i = 0; i < 4; i++)
        take_over(i);
    for (unsigned i = 0; i < 4; i++)
        launch(i, i, "instructions,instructions,instructions", 0);
    for (unsigned i = 0; i < 4; i++)
        run(i, 100 * (i + 1));
    for (unsigned i = 0; i < 4; i++) {
        upmu_sim_switch_cpu(&f.sim, i);
        assert_int_equal(f.cpu[i].meter.thread, i & 1u, i);
        for (unsigned k = 0; k < 3; k++)
            assert_int_equal(value(i, k), 100 * (i + 1), i, k);
    }
    tear_down();
}

static void two_cores_without_threads_need_no_domain(void **state)
{
    (void)state;
    set_up("smithfield");
    launch(0, 0, "instructions,page_walk_type:DTMISS", 0);
    launch(1, 1, "instructions,page_walk_type:DTMISS", 0);
    run(0, 100);
    run(1, 30);
    happen(1, 0x3ac, 0x01, 1, 5);
    assert_int_equal(value(1, 0), 30);
    assert_int_equal(value(1, 1), 5);
    upmu_sim_switch_cpu(&f.sim, 0);
    assert_int_equal(value(0, 0), 100);
    assert_int_equal(value(0, 1), 0);
    tear_down();
}

/*
 * A BIOS may limit CPUID to leaf 3 (bit 22 of MISC_ENABLE): then two CPUs of model 6 may be two cores or two
 * hyper-threads of one; those of model 4 are what the stepping says. Catches: a core that is taken for the second
 * hyper-thread of the other one, and counts nothing; a single core that is refused.
 */
static void cores_that_a_bios_hides_are_no_threads(void **state)
{
    static const struct {
        const char *profile;
        uint32_t signature;
        unsigned cpus; /* of the package */
        bool threads;  /* has a core two of them? */
        bool hidden;
    } cases[] = {{"northwood", 0xf29, 2, true, false},        {"prescott", 0xf34, 2, true, false},
                 {"prescott_smtoff", 0xf34, 1, true, false},  {"nocona", 0xf41, 2, true, false},
                 {"nocona", 0xf43, 2, true, false},           {"nocona", 0xf49, 2, true, false},
                 {"nocona", 0xf4a, 2, true, false},           {"smithfield", 0xf44, 2, false, false},
                 {"smithfield", 0xf47, 2, false, false},      {"smithfield", 0xf48, 2, false, false},
                 {"nocona", 0xf48, 4, true, false},           {"cedarmill", 0xf62, 2, true, true},
                 {"cedarmill", 0xf64, 2, true, true},         {"cedarmill", 0xf65, 2, true, true},
                 {"cedarmill", 0xf64, 4, true, false},        {"cedarmill_smtoff", 0xf64, 1, true, true},
                 {"cedarmill", 0xf68, 4, true, false},        {"cedarmill_smtoff", 0xf68, 1, false, false}};
    static struct upmu_sim sim;
    static struct upmu_machine machine;
    static struct upmu_cpu cpu;

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (unsigned limited = 0; limited < 2; limited++) {
            struct upmu_sim_profile profile = *upmu_sim_profile(cases[i].profile);
            bool refused = limited && cases[i].hidden;
            char text[80];

            profile.signature = cases[i].signature;
            upmu_sim_init(&sim, &profile, cases[i].cpus);
            sim.cpu[0].irqs_on = false;
            sim.cpu[0].misc_enable |= limited << 22;
            assert_int_equal(upmu_machine_init(&machine, upmu_sim_port(&sim)), UPMU_OK);
            assert_int_equal(upmu_cpu_init(&cpu, &machine, NULL), refused ? UPMU_ERR_NO_PMU : UPMU_OK, i);
            if (limited && !refused)
                assert_int_equal(cpu.meter.pmu->quirks & UPMU_P4_HT ? 1 : 0, cases[i].threads, i);
            upmu_why_text(&machine.why, text, sizeof text);
            assert_true(!refused || !strcmp(text, "no usable PMU: switch off Limit CPUID (BIOS)"), i);
        }
}

/* ---- Cascades, tags ---- */

static void cascades_count_on_every_model(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ALL; p++)
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            set_up(all[p]);
            launch(0, cpu, "branch_retired,cascade=uops_retired.nbogus", 1500);
            run(cpu, 900);
            assert_int_equal(value(0, 0), 0);
            run(cpu, 100); /* 1500 uops */
            run(cpu, 500);
            assert_in_range(value(0, 0), 100, 101);
            assert_int_equal(f.sim.cpu[cpu].interrupts, 0, cpu);
            stop(0);
            run(cpu, 5000);
            assert_in_range(value(0, 0), 100, 101);
            start(0);
            run(cpu, 900);
            assert_in_range(value(0, 0), 100, 101);
            run(cpu, 1100);
            assert_in_range(value(0, 0), 300, 302);
            tear_down();
        }
}

static void both_directions_of_the_counters_16_and_17_cascade(void **state)
{
    (void)state;
    set_up("prescott");
    launch(0, 0, "instr_retired:NBOGUSNTAG:NBOGUSTAG:counter=17,cascade=uops_retired.nbogus", 150);
    assert_true(f.sessions[0].counters >> 17 & 1u);
    run(0, 100);
    run(0, 500);
    assert_in_range(value(0, 0), 500, 501);
    tear_down();
}

static void tagged_uops_are_counted_by_recipes(void **state)
{
    static const struct {
        const char *name;
        uint64_t payload;
        uint16_t matrix;
    } replays[] = {
        {"replay_event:NBOGUS:L1_LD_MISS", 0x1, 1},    {"replay_event:NBOGUS:L2_LD_MISS", 0x2, 1},
        {"replay_event:NBOGUS:DTLB_LD_MISS", 0x4, 1},  {"replay_event:NBOGUS:DTLB_ST_MISS", 0x4, 2},
        {"replay_event:NBOGUS:DTLB_ALL_MISS", 0x4, 2}, {"replay_event:NBOGUS:MOB_LD_REPLAY", 0x200, 1},
        {"replay_event:NBOGUS:SP_LD_RET", 0x400, 1},   {"replay_event:NBOGUS:SP_ST_RET", 0x400, 2},
        {"replay_event:NBOGUS:BR_MSP", 0x10000, 0x10},
    };

    (void)state;
    for (unsigned p = 0; p < ALL; p++)
        for (unsigned i = 0; i < sizeof replays / sizeof replays[0]; i++) {
            unsigned cpu = i & 1u;

            set_up(all[p]);
            launch(0, cpu, replays[i].name, 0);
            upmu_sim_switch_cpu(&f.sim, cpu);
            upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.cycles = 90,
                                                             .other = {{.count = 33,
                                                                        .escr = 0x3cc,
                                                                        .event = 9,
                                                                        .mask = 1,
                                                                        .payload = replays[i].payload,
                                                                        .matrix = replays[i].matrix}}});
            if (value(0, 0) != 33)
                fail_msg("%s on %s counts %u", replays[i].name, all[p], (unsigned)value(0, 0));
            tear_down();
        }
}

static void uops_tagged_in_execution_are_counted(void **state)
{
    static const struct {
        const char *name;
        uint8_t event;
        uint16_t mask;
    } classes[] = {
        {"packed_SP_retired", 0x08, 0x8000},  {"packed_DP_retired", 0x0c, 0x8000},
        {"scalar_SP_retired", 0x0a, 0x8000},  {"scalar_DP_retired", 0x0e, 0x8000},
        {"64_bit_MMX_retired", 0x02, 0x8000}, {"128_bit_MMX_retired", 0x1a, 0x8000},
        {"X87_FP_retired", 0x04, 0x8000},     {"X87_SIMD_memory_moves_retired", 0x2e, 0x0008},
    };

    (void)state;
    for (unsigned p = 0; p < ALL; p++)
        for (unsigned i = 0; i < sizeof classes / sizeof classes[0]; i++) {
            unsigned cpu = i & 1u;

            set_up(all[p]);
            launch(0, cpu, classes[i].name, 0);
            happen(cpu, 0x3a4, classes[i].event, classes[i].mask, 21);
            happen(cpu, 0x3a4, classes[i].event ^ 0x10, classes[i].mask, 5);
            if (value(0, 0) != 21)
                fail_msg("%s on %s counts %u", classes[i].name, all[p], (unsigned)value(0, 0));
            tear_down();
        }
}

/* Two classes at once, by the tags of the two sides. */
static void two_classes_of_tags_do_not_mix(void **state)
{
    (void)state;
    set_up("prescott_smtoff");
    launch(0, 0, "packed_SP_retired,scalar_DP_retired", 0);
    happen(0, 0x3a4, 0x08, 0x8000, 21);
    happen(0, 0x3a4, 0x0e, 0x8000, 4);
    assert_int_equal(value(0, 0), 21);
    assert_int_equal(value(0, 1), 4);
    tear_down();
}

/* Six events have a third register each, or share two more; all of it is compiled. */
static void the_largest_sets_are_compiled(void **state)
{
    static const char *const lists[] = {
        "packed_SP_retired,packed_SP_retired,packed_SP_retired,scalar_DP_retired,scalar_DP_retired,scalar_DP_retired,"
        "cycles,cycles,tc_misc,tc_misc,memory_complete,memory_complete",
        "replay_event:NBOGUS:L1_LD_MISS,replay_event:NBOGUS:L1_LD_MISS,replay_event:NBOGUS:L1_LD_MISS,"
        "replay_event:NBOGUS:L1_LD_MISS,replay_event:NBOGUS:L1_LD_MISS,replay_event:NBOGUS:L1_LD_MISS,"
        "cycles,cycles,tc_misc,tc_misc,memory_complete,memory_complete",
    };

    (void)state;
    for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        set_up("prescott_smtoff");
        launch(0, 0, lists[i], 0);
        assert_int_equal(f.sessions[0].set.count, 12);
        assert_int_not_equal(f.sessions[0].set.program.placement, 0);
        tear_down();
    }
}

/* ---- The probe ---- */

static void the_probe_believes_the_model(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ALL; p++)
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            struct upmu_probe probe;

            set_up(all[p]);
            upmu_sim_switch_cpu(&f.sim, cpu);
            memset(&probe, 0, sizeof probe);
            probe.loop = upmu_sim_work;
            probe.loop_context = &f.sim;
            assert_int_equal(upmu_cpu_probe(&f.cpu[cpu], &probe), UPMU_OK, cpu);
            assert_int_equal(probe.verdict, UPMU_VERDICT_INTERRUPTS);
            tear_down();
        }
}

/*
 * A search for a session beside those that do not share finds that one of these would have to move: the place that the
 * session had beside their former places is not good beside the new ones.  Catches: a stale place that is believed.
 */
static void a_place_that_would_need_a_move_is_not_taken(void **state)
{
    enum { MIXED, PAIR, SHARING };

    (void)state;
    for (unsigned p = 0; p < ALL; p++) {
        set_up(all[p]);
        host_threads(&f, 2);
        add(PAIR, "instr_retired:NBOGUSNTAG,instr_retired:NBOGUSNTAG", 0);
        add(MIXED, "mispred_branch_retired:NBOGUS,instr_retired:NBOGUSNTAG,branches", 0);
        add(SHARING, "instr_retired:NBOGUSNTAG", 0);
        assert_int_equal(upmu_session_share(&f.sessions[SHARING], true), UPMU_OK);
        assert_int_equal(upmu_session_attach_thread(&f.sessions[PAIR], &f.threads[1], NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_thread(&f.sessions[MIXED], &f.threads[1], NULL), UPMU_OK);
        host_thread_switch(&f, 0, 1);
        start(MIXED);
        start(PAIR);
        run(0, 10000);
        host_thread_switch(&f, 0, 0);
        attach(SHARING, 0);
        start(SHARING);
        host_thread_switch(&f, 0, 1);
        run(0, 10000);
        host_thread_switch(&f, 0, 0);
        stop(SHARING);
        host_thread_switch(&f, 0, 1);
        run(0, 10000);
        stop(MIXED);
        stop(PAIR);
        assert_int_equal(value(MIXED, 0), 600);
        assert_int_equal(value(MIXED, 1), 30000);
        assert_int_equal(value(MIXED, 2), 6000);
        tear_down();
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_is_found),
        cmocka_unit_test(counters_that_would_write_records_are_left_alone),
        cmocka_unit_test(pmus_that_are_faked_are_refused),
        cmocka_unit_test(generic_names_count_what_they_say),
        cmocka_unit_test(all_eighteen_counters_count_at_once),
        cmocka_unit_test(filters_reach_the_hardware),
        cmocka_unit_test(every_period_is_a_sample),
        cmocka_unit_test(a_stop_on_an_overflow_finds_it),
        cmocka_unit_test(unflagged_overflows_are_samples_too),
        cmocka_unit_test(an_overflow_that_nobody_heard_is_found_by_a_poll),
        cmocka_unit_test(carries_that_a_stop_loses_are_not_missed),
        cmocka_unit_test(a_lost_carry_costs_no_sample),
        cmocka_unit_test(a_lost_carry_of_an_event_that_was_set_back_costs_no_sample),
        cmocka_unit_test(a_load_that_faults_after_a_lost_carry_is_made_up_for),
        cmocka_unit_test(a_fault_costs_no_multiples_of_2_32),
        cmocka_unit_test(counters_are_loaded_while_they_are_closed),
        cmocka_unit_test(an_interrupt_is_answered_once),
        cmocka_unit_test(what_a_fault_left_running_is_silenced),
        cmocka_unit_test(what_was_closed_long_ago_interrupts_no_more),
        cmocka_unit_test(what_a_fault_left_counting_is_no_interrupt),
        cmocka_unit_test(a_firmware_s_counter_is_neither_used_nor_written),
        cmocka_unit_test(each_thread_counts_its_own),
        cmocka_unit_test(each_thread_is_interrupted_for_its_own),
        cmocka_unit_test(thread_independent_events_have_one_owner),
        cmocka_unit_test(a_thread_is_taken_over_while_the_other_one_counts),
        cmocka_unit_test(each_thread_finds_its_registers_as_they_should_be),
        cmocka_unit_test(a_thread_that_comes_leaves_the_others_watchdog_running),
        cmocka_unit_test(the_escr_of_a_counter_reserved_since_is_the_hosts),
        cmocka_unit_test(a_counter_that_the_host_stopped_stands_still_after_the_end),
        cmocka_unit_test(a_reserved_counter_that_is_not_programmed_holds_no_escr),
        cmocka_unit_test(a_reservation_that_is_taken_back_leaves_all_to_be_restored),
        cmocka_unit_test(the_firmware_s_counter_can_be_taken),
        cmocka_unit_test(the_last_thread_gives_back_what_the_other_took_of_firmware),
        cmocka_unit_test(a_reservation_that_the_other_thread_refuses_forgets_nothing),
        cmocka_unit_test(four_threads_of_two_cores_have_two_pmus),
        cmocka_unit_test(two_cores_without_threads_need_no_domain),
        cmocka_unit_test(cores_that_a_bios_hides_are_no_threads),
        cmocka_unit_test(cascades_count_on_every_model),
        cmocka_unit_test(both_directions_of_the_counters_16_and_17_cascade),
        cmocka_unit_test(tagged_uops_are_counted_by_recipes),
        cmocka_unit_test(uops_tagged_in_execution_are_counted),
        cmocka_unit_test(two_classes_of_tags_do_not_mix),
        cmocka_unit_test(the_largest_sets_are_compiled),
        cmocka_unit_test(a_place_that_would_need_a_move_is_not_taken),
        cmocka_unit_test(the_probe_believes_the_model),
    };

    return cmocka_run_group_tests_name("p4_run", tests, NULL, NULL);
}
