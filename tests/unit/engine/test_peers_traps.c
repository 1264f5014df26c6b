/* SPDX-License-Identifier: MIT */
/*
 * What other drivers of performance counters (perf_events, hwpmc, perfmon2, XNU,
 * Zircon, Haiku) were caught by, one test for each where an Intel core PMU shows it.
 *
 * Elsewhere: late NMIs and LVTPC as AMD has them come with AMD's backend; placements
 * that depend on the order of events: test_place.c; status of a counter that does
 * not run, zombie and back-to-back interrupts, interrupts before init: test_pmi.c;
 * registers that only store: test_probe.c; unknown models: test_intel_models.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <upmu/session.h>
#include <upmu/set.h>

#include "tests/common/host.h"

#include "backends/x86_core/x86_core_registers.h"
#include "core/hw/backend.h"
#include "core/util/bits.h"
#include "tests/common/intel_leaves.h"

static void add(struct upmu_session *session, const char *list)
{
    assert_int_equal(upmu_set_add(&session->set, list, NULL), UPMU_OK);
}

/* Some CPUs and hypervisors come up with 0, others with all general counters: neither counts on it. */
static void global_control_may_reset_to_0_or_to_ones(void **state)
{
    static const char *const profiles[] = {"core2", "nehalem", "skylake", "icelake", "lnl_p"};

    (void)state;
    for (unsigned p = 0; p < 5; p++)
        for (unsigned ones = 0; ones < 2; ones++) {
            struct host host;

            host_prepare(&host, profiles[p]);
            upmu_sim_poke(&host.sim, 0, 0x38f, ones ? (1u << host.sim.profile->general) - 1 : 0);
            host_start(&host);
            add(&host.session, "branches,instructions");
            host_begin(&host, &host.session);
            host_run(&host, 1000);
            assert_int_equal(host_value(&host.session, 0), 500);
            assert_int_equal(host_value(&host.session, 1), 1000);
            host_end(&host);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38f), ones ? (1u << host.sim.profile->general) - 1 : 0);
        }
}

/* A write of C1h carries 31 bits and a sign: a count beyond and a long period are right all the same. */
static void writes_of_31_bits_lose_no_count_and_no_period(void **state)
{
    const uint64_t step = UINT64_C(0x90000000); /* more than one write can say */
    struct host host;

    (void)state;
    host_set_up(&host, "skylake_nofw");
    upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
    host_sample(&host, "branches", 3 * step);
    for (unsigned i = 0; i < 6; i++)
        upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.branches = step, .cycles = step});
    assert_int_equal(host_value(&host.session, 0), 6 * step);
    assert_int_equal(host_drain(&host, NULL), 2);
    host_end(&host);
}

static void parts_of_two_counters_have_two(void **state)
{
    static const char *const profiles[] = {"version1", "core2", "bonnell_odd", "silvermont", "knl", "p6",  "yonah"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        struct host host;

        host_set_up(&host, profiles[p]);
        assert_int_equal(host.cpu[0].meter.pmu->general, 0x3);
        add(&host.session, "branches,branch-misses");
        host_begin(&host, &host.session);
        add(&host.other, "cache-misses");
        assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK); /* fits, but not beside it */
        assert_int_equal(upmu_session_start(&host.other), UPMU_ERR_DOES_NOT_FIT);
        assert_int_equal(upmu_session_detach(&host.other), UPMU_OK);
        add(&host.other, "cache-references,branches");
        assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_ERR_DOES_NOT_FIT);
        host_end(&host);
    }
}

static void fixed_counters_may_be_narrower_than_general_ones(void **state)
{
    struct upmu_sim_profile odd = *upmu_sim_profile("skylake");
    struct host host;

    (void)state;
    odd.fixed_width = 40;
    memset(&host, 0, sizeof host);
    upmu_sim_init(&host.sim, &odd, 2);
    host.sim.test = &host;
    host.sim.deliver = host_deliver;
    upmu_sim_bind_cpu(&host.sim, 0, &host.cpu[0]);
    upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
    upmu_sim_poke(&host.sim, 0, 0x30a, UINT64_C(0xffffffffff) - 99);
    host_start(&host);
    assert_int_equal(host.cpu[0].meter.pmu->counter[17].width, 40);
    assert_int_equal(host.cpu[0].meter.pmu->counter[0].width, 48);
    add(&host.other, "cycles");
    host_begin(&host, &host.other);
    host_sample(&host, "instructions", 1000);
    host_run(&host, 5000);
    assert_int_equal(host_value(&host.other, 0), 10000); /* it wrapped */
    assert_int_equal(host_value(&host.session, 0), 5000);
    assert_int_equal(host_drain(&host, NULL), 5);
    host_end(&host);
}

/* KVM recomputes a running counter that is written, real CPUs lose events: the model forbids it. */
static void no_counter_is_written_while_it_runs(void **state)
{
    static const char *const profiles[] = {"version1", "core2", "nehalem", "skylake", "icelake", "lnl_p", "p6"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        struct host host;

        host_set_up(&host, profiles[p]);
        upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
        host_sample(&host, "branches", 100);
        host_run(&host, 1000);
        assert_int_equal(upmu_set_write(&host.session.set, 0, 50), UPMU_OK);
        host_run(&host, 1000);
        assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
        host_run(&host, 1000);
        host_end(&host); /* which looks for violations */
    }
}

/* Wraps at any moment of a stop and a start: each is counted once. */
static uint32_t overflow_at;
static unsigned overflows_between;

static void overflow(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)cpu;
    (void)kind;
    (void)address;
    if (number != overflow_at)
        return;
    overflows_between++;
    upmu_sim_events(sim, &(struct upmu_sim_burst){.branches = 100, .cycles = 200});
}

static void an_overflow_between_a_read_and_a_switch_is_counted_once(void **state)
{
    static const char *const profiles[] = {"core2", "skylake", "version1"};

    (void)state;
    for (unsigned p = 0; p < 3; p++) {
        overflows_between = 0;
        for (uint32_t at = 1; at < 30; at++) {
            uint64_t runs = 0;
            struct host host;
            unsigned counter;

            host_set_up(&host, profiles[p]);
            upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
            host_sample(&host, "branches", 100);
            counter = upmu_bits_lowest(host.session.counters);
            runs = host.sim.cpu[0].counter[counter].counted;
            host.sim.before_access = overflow;
            overflow_at = host.sim.accesses + at;
            for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
                assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
            }
            assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
            host.sim.before_access = NULL;
            assert_int_equal(host_value(&host.session, 0), host.sim.cpu[0].counter[counter].counted - runs, counter);
            host_end(&host);
        }
        assert_compare(overflows_between, >=, 6, p);
    }
}

/* Linux' and FreeBSD's trouble: the second NMI of two finds nothing, and another's is not ours. */
static void an_nmi_of_somebody_else_is_never_claimed(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
    host_sample(&host, "branches", 1000);
    host_run(&host, 100);
    for (unsigned i = 0; i < 5; i++)
        upmu_sim_foreign_nmi(&host.sim);
    assert_int_equal(host.answers, 5);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(host.answer[i], UPMU_PMI_NOT_OURS, i);
    host_end(&host);
}

/* Hardware masks LVTPC at each delivery: without re-arming there would be one sample. */
static void the_masked_vector_entry_is_unmasked_by_each_interrupt(void **state)
{
    static const char *const profiles[] = {"p6",      "yonah",  "version1", "core2", "silvermont",
                                           "skylake", "icelake", "lnl_e"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++)
        for (unsigned vector = 0; vector < 2; vector++) {
            struct host host;

            host_set_up(&host, profiles[p]);
            upmu_sim_set_delivery(&host.sim, 0, vector ? 0xf0 : UPMU_SIM_LVTPC_NMI);
            upmu_sim_irqs(&host.sim, true);
            host.sim.rule[UPMU_SIM_RULE_CHECK_CONTEXT] = 0;
            host_sample(&host, "branches", 100);
            for (unsigned i = 0; i < 50; i++)
                host_run(&host, 200);
            assert_int_equal(host_drain(&host, NULL), 50);
            assert_int_equal(host.sim.cpu[0].pmi_dropped, 0);
            host_end(&host);
        }
}

/* XNU: on some CPU a write of the select zeroes the counter: the base is read behind it. */
static unsigned zeroed;

static void zero_counter(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                         uint32_t address)
{
    (void)number;
    if (kind != UPMU_SIM_WRMSR || address < 0x186 || address >= 0x18a)
        return;
    zeroed++;
    upmu_sim_poke(sim, cpu, 0xc1 + address - 0x186, 0);
}

static void a_select_write_that_resets_the_counter_changes_no_count(void **state)
{
    static const char *const profiles[] = {"version1", "core2", "sandybridge", "skylake", "icelake"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        uint64_t expected = 0;
        struct host host;

        host_set_up(&host, profiles[p]);
        zeroed = 0;
        host.sim.after_access = zero_counter;
        add(&host.session, "branches");
        add(&host.other, "cache-misses");
        for (unsigned i = 0; i < 4; i++) {
            assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
            assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
            host_run(&host, 1000);
            expected += 500;
            /* Before version 2 a stop is such a write. */
            if (host.cpu[0].meter.pmu->version >= 2) {
                assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
                assert_int_equal(host_value(&host.session, 0), expected);
            } else {
                assert_int_equal(host_value(&host.session, 0), expected);
                host.sim.after_access = NULL;
            }
            assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
            host.sim.after_access = zero_counter;
            assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK);
            assert_int_equal(upmu_session_detach(&host.other), UPMU_OK);
        }
        host.sim.after_access = NULL;
        assert_compare(zeroed, >=, 8, p);
        host_end(&host);
    }
}

/* Leaf 0Ah of a buggy BIOS or an early part: no fixed counters, wrong widths, bits that are reserved. */
static void a_leaf_0ah_that_lies_is_corrected_or_refused(void **state)
{
    static const struct {
        unsigned model;
        uint32_t eax, edx, counters;
        unsigned fixed_width;
    } cases[] = {
        {0x0F, 0x07280202, 0, 0x70003, 40},          /* no fixed counters */
        {0x0F, 0x07280202, 0x0500, 0x70003, 40},     /* width without count */
        {0x1C, 0x07280203, 0x2501, 0x70003, 40},     /* one, and a reserved bit */
        {0x37, 0x07280203, 0x4503, 0x70003, 40},     /* another one */
        {0x17, 0x07280202, 0x0503, 0x70003, 40},
        {0x17, 0x07280202, 0x1fe3, 0x3, 0},          /* fixed counters of 255 bits: none */
        {0x17, 0x07280202, 0x0063, 0x3, 0},          /* of 3 bits */
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct leaves leaves = {.family = 6, .model = cases[i].model, .perfmon = {cases[i].eax, 0, 0, cases[i].edx}};
        struct upmu_pmu pmu;

        assert_true(leaves_detect(&leaves, &pmu));
        assert_int_equal(pmu.counters, cases[i].counters, i);
        if (cases[i].fixed_width)
            assert_int_equal(pmu.counter[16].width, cases[i].fixed_width, i);
    }
}

static void perf_capabilities_that_fault_take_nothing_else_with_them(void **state)
{
    struct leaves leaves = {.family = 6, .model = 0x5E, .hypervisor = true, .no_capabilities = true};
    struct upmu_pmu pmu;
    struct host host;

    (void)state;
    leaves_perfmon(&leaves, 4, 4, 3);
    leaves.capabilities = ~UINT64_C(0);
    assert_true(leaves_detect(&leaves, &pmu));
    assert_int_equal(leaves.capability_reads, 1);
    assert_false(pmu.capabilities & UPMU_PMU_FULL_WRITE);
    assert_int_equal(pmu.counters, 0x7000f);
    host_prepare(&host, "hypervisor_faults");
    host.sim.expect_faults = true;
    host_start(&host);
    add(&host.session, "branches,cycles");
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    assert_int_equal(host_value(&host.session, 0), 500);
    host_end(&host);
}

/* Zircon, FreeBSD: an interrupt that freezes takes events from every session. */
static void an_interrupt_of_one_session_costs_the_others_nothing(void **state)
{
    static const char *const profiles[] = {"core2", "haswell_smt", "skylake", "icelake", "lnl_p"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        struct host host;
        uint32_t accesses;

        host_set_up(&host, profiles[p]);
        upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
        host.sim.events_per_access = 3; /* the handler's own events count, too */
        add(&host.other, "instructions");
        host_begin(&host, &host.other);
        host_sample(&host, "branches", 100);
        accesses = host.sim.accesses;
        host_run(&host, 20000);
        accesses = host.sim.accesses - accesses;
        assert_int_equal(upmu_session_stop(&host.other), UPMU_OK);
        assert_compare(host.answers, >=, 100);
        assert_compare(host_value(&host.other, 0), >=, 20000 + 3 * (uint64_t)accesses, accesses);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        host.sim.events_per_access = 0;
        host_end(&host);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(global_control_may_reset_to_0_or_to_ones),
        cmocka_unit_test(writes_of_31_bits_lose_no_count_and_no_period),
        cmocka_unit_test(parts_of_two_counters_have_two),
        cmocka_unit_test(fixed_counters_may_be_narrower_than_general_ones),
        cmocka_unit_test(no_counter_is_written_while_it_runs),
        cmocka_unit_test(an_overflow_between_a_read_and_a_switch_is_counted_once),
        cmocka_unit_test(an_nmi_of_somebody_else_is_never_claimed),
        cmocka_unit_test(the_masked_vector_entry_is_unmasked_by_each_interrupt),
        cmocka_unit_test(a_select_write_that_resets_the_counter_changes_no_count),
        cmocka_unit_test(a_leaf_0ah_that_lies_is_corrected_or_refused),
        cmocka_unit_test(perf_capabilities_that_fault_take_nothing_else_with_them),
        cmocka_unit_test(an_interrupt_of_one_session_costs_the_others_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
