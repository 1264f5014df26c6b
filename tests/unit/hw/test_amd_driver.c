/* SPDX-License-Identifier: MIT */
/*
 * The library on the silicon model of AMD's PMUs: wide events, one owner for a node's
 * northbridge, host and guest, erratum 1292, hypervisors, unknown families.
 */
#include <upmu/probe.h>
#include <upmu/session.h>
#include "tests/common/host.h"
#include "tests/common/state.h"

#define WIDE "cpu/event=0x03,umask=0xff/"
#define NB "cpu/event=0xe0,umask=0x01/"

static void run_other(struct host *host, unsigned event, unsigned umask, uint64_t count, unsigned per_cycle)
{
    struct upmu_sim_burst burst = {.instructions = 1, .cycles = count, .per_cycle = per_cycle};

    burst.other[0] = (struct upmu_sim_other){.count = count, .event = (uint8_t)event, .umask = (uint8_t)umask};
    if ((event & 0xe0) == 0xe0)
        burst.other[0].unit = UPMU_SIM_UNIT_NB;
    upmu_sim_events(&host->sim, &burst);
}

static void run_wide(struct host *host, uint64_t count)
{
    run_other(host, 0x03, 0xff, count, 64);
}

static const char *const zens[] = {"zen1", "zen2", "hygon",       "zen3",      "zen4",
                                   "zen5", "zen6", "amd_kvm_ext", "amd_kvm_v2"};
#define ZENS (sizeof zens / sizeof zens[0])

/* Up to 64 in a cycle, more than a counter of its own takes. */
static void a_wide_event_counts_every_operation(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ZENS; i++) {
        struct host host;

        host_set_up(&host, zens[i]);
        assert_int_equal(upmu_set_add(&host.session.set, WIDE "," WIDE ",cycles," WIDE, NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_ERR_DOES_NOT_FIT);
        host_end(&host);
        host_set_up(&host, zens[i]);
        assert_int_equal(upmu_set_add(&host.session.set, WIDE "," WIDE ",cycles,instructions", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        for (unsigned round = 1; round < 4; round++) {
            run_wide(&host, 640000);
            assert_int_equal(host_value(&host.session, 0), round * UINT64_C(640000));
            assert_int_equal(host_value(&host.session, 1), round * UINT64_C(640000));
            assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
            run_wide(&host, 640);
            assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        }
        host_no_violation(&host);
        host_end(&host);
    }
}

/* LX amd/core.c: the odd counter starts first and stops last; it is loaded with FFFFh. */
static void the_upper_counter_of_a_pair_opens_first_and_closes_last(void **state)
{
    struct upmu_sim_access trace[64];
    unsigned selects = 0;
    bool loaded = false;
    struct host host;

    (void)state;
    host_set_up(&host, "zen2");
    assert_int_equal(upmu_set_add(&host.session.set, WIDE, NULL), UPMU_OK);
    host.sim.trace = trace;
    host.sim.trace_size = 64;
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    for (unsigned i = 0; i < host.sim.trace_count; i++) {
        static const struct {
            uint32_t address;
            uint64_t value;
        } expected[] = {{0xc0010200, 0x03ff03}, /* attached */
                        {0xc0010202, UINT64_C(0xf000000ff)},
                        {0xc0010202, UINT64_C(0xf004000ff)},
                        {0xc0010200, 0x43ff03},
                        {0xc0010200, 0x03ff03},
                        {0xc0010202, UINT64_C(0xf000000ff)}};

        if (trace[i].kind != UPMU_SIM_WRMSR)
            continue;
        if (trace[i].address == 0xc0010203) {
            assert_true(trace[i].value == 0xffff && selects == 2 && !loaded, i);
            loaded = true;
        } else {
            assert_compare(selects, <, 6);
            assert_int_equal(trace[i].address, expected[selects].address, i, selects);
            assert_int_equal(trace[i].value, expected[selects].value, i, selects);
            selects++;
        }
    }
    assert_true(loaded);
    assert_int_equal(selects, 6);
    host.sim.trace_size = 0;
    host_no_violation(&host);
    host_end(&host);
}

static void a_wide_event_is_sampled_by_both_halves(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ZENS; i++) {
        struct host host;

        host_set_up(&host, zens[i]);
        host_sample(&host, WIDE, 10000);
        for (unsigned round = 0; round < 50; round++)
            run_wide(&host, 6400);
        assert_int_equal(host_value(&host.session, 0), 320000);
        assert_int_equal(host_drain(&host, NULL), 32);
        assert_int_equal(host.session.set.tally[0].lost, 0);
        host_no_violation(&host);
        host_end(&host);
    }
}

/* The other session used the odd counter meanwhile. */
static void a_pair_is_loaded_again_after_another_session(void **state)
{
    static const char *const profiles[] = {"zen2", "zen4"};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct host host;

        host_set_up(&host, profiles[i]);
        assert_int_equal(upmu_set_add(&host.session.set, WIDE, NULL), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.other.set, "cycles,instructions,branches,branch-misses:u", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        run_wide(&host, 1000);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        host_begin(&host, &host.other);
        host_run(&host, 1000);
        assert_int_equal(upmu_session_stop(&host.other), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        run_wide(&host, 500);
        assert_int_equal(host_value(&host.session, 0), 1500);
        assert_int_equal(host_value(&host.other, 1), 1000);
        host_no_violation(&host);
        host_end(&host);
    }
}

/* With a status, counting counters interrupt when they wrap; a pair's upper half is then loaded again. */
static void a_counting_pair_wraps_and_counts_on(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "zen4");
    host.sim.cpu[0].counter[0].value = (UINT64_C(1) << 48) - 1000;
    host_start(&host);
    assert_int_equal(upmu_set_add(&host.session.set, WIDE, NULL), UPMU_OK);
    host_begin(&host, &host.session);
    run_wide(&host, 5000);
    assert_int_equal(host.answers, 1);
    assert_int_equal(host.answer[0], UPMU_PMI_HANDLED);
    assert_int_equal(host.sim.cpu[0].counter[1].value, 0xffff);
    assert_int_equal(host_value(&host.session, 0), 5000);
    host_no_violation(&host);
    host_end(&host);
}

/* ---- The northbridge ---- */

static struct upmu_domain node;
static struct upmu_domain *const nodes[] = {&node, NULL};

static void two_cores(struct host *host, const char *profile)
{
    host_prepare(host, profile);
    host->sim.cpus_per_node = 2;
    host_machine(host);
    memset(&node, 0, sizeof node);
    upmu_domain_init(&node, UPMU_SCOPE_NODE);
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        upmu_sim_switch_cpu(&host->sim, cpu);
        assert_int_equal(upmu_cpu_init(&host->cpu[cpu], &host->machine, nodes), UPMU_OK, cpu);
    }
    upmu_sim_switch_cpu(&host->sim, 0);
}

static void one_core_of_a_node_counts_the_northbridge(void **state)
{
    static const char *const profiles[] = {"k8_revf", "barcelona", "griffin", "llano", "bobcat"};

    (void)state;
    for (unsigned i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        struct host host;
        char words[200];

        two_cores(&host, profiles[i]);
        assert_int_equal(upmu_set_add(&host.session.set, NB "," NB ",instructions", NULL), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.other.set, NB, NULL), UPMU_OK);
        host_begin(&host, &host.session);
        run_other(&host, 0xe0, 1, 70, 1);
        upmu_sim_switch_cpu(&host.sim, 1);
        /* What the other core makes happen is counted, too. */
        run_other(&host, 0xe0, 1, 7, 1);
        assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[1]), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.other), UPMU_ERR_DOES_NOT_FIT);
        (void)upmu_why_text(&host.other.why, words, sizeof words);
        assert_non_null(strstr(words, "the node's northbridge, in use by others"));
        upmu_sim_switch_cpu(&host.sim, 0);
        assert_int_equal(host_value(&host.session, 0), 77);
        assert_int_equal(host_value(&host.session, 1), 77);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        upmu_sim_switch_cpu(&host.sim, 1);
        assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
        run_other(&host, 0xe0, 1, 9, 1);
        assert_int_equal(host_value(&host.other, 0), 9);
        assert_int_equal(upmu_session_detach(&host.other), UPMU_OK);
        host_no_violation(&host);
        assert_int_equal(upmu_cpu_fini(&host.cpu[1]), UPMU_OK);
        upmu_sim_switch_cpu(&host.sim, 0);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    }
}

/* Core events of both cores run side by side all the same. */
static void core_events_share_nothing_with_the_other_core(void **state)
{
    struct host host;

    (void)state;
    two_cores(&host, "k8_revf");
    assert_int_equal(upmu_set_add(&host.session.set, NB ",instructions,cycles,branches", NULL), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.other.set, "instructions,cycles,branches,branch-misses", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    upmu_sim_switch_cpu(&host.sim, 1);
    assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[1]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
    host_run(&host, 1000);
    assert_int_equal(host_value(&host.other, 0), 1000);
    upmu_sim_switch_cpu(&host.sim, 0);
    assert_int_equal(host_value(&host.session, 1), 0);
    host_no_violation(&host);
}

static void revision_e_with_two_cores_refuses_the_northbridge(void **state)
{
    struct host host;

    (void)state;
    two_cores(&host, "k8_reve");
    assert_int_equal(upmu_set_add(&host.session.set, NB, NULL), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
}

/* ---- SVM ---- */

static void host_only_counts_with_svm_and_without(void **state)
{
    (void)state;
    for (unsigned svme = 0; svme < 2; svme++) {
        struct host host;

        host_prepare(&host, "zen2");
        host.sim.cpu[0].amd.efer = svme ? 1u << 12 : 0;
        host_start(&host);
        assert_int_equal(
            upmu_set_add(&host.session.set, "instructions:h,instructions:g,instructions:h:g,instructions", NULL),
            UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 1000);
        host.sim.cpu[0].guest = svme;
        host_run(&host, 50);
        assert_int_equal(host_value(&host.session, 0), svme ? 1000 : 1050);
        assert_int_equal(host_value(&host.session, 1), svme ? 50 : 0);
        assert_int_equal(host_value(&host.session, 2), 1050);
        assert_int_equal(host_value(&host.session, 3), 1050);
        host_no_violation(&host);
        host_end(&host);
    }
}

/* ---- Erratum 1292 ---- */

static void instructions_of_early_zen_3_count_right_on_counter_2(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "zen3");
    host.sim.rule[UPMU_SIM_RULE_HAZARD_AMD_1292] = 1;
    host_start(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "cycles,cycles:u,instructions", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    assert_int_equal(host.session.set.tally[2].counter, 2);
    assert_int_equal(host_value(&host.session, 2), 1000);
    host_no_violation(&host);
    host_end(&host);
}

/* ---- Interrupts, owners ---- */

/* Without a clock late interrupts are told by their number: one for each counter, at most. */
static void overflows_leave_a_credit_for_each_counter_at_most(void **state)
{
    static const char *const profiles[] = {"k8_revf", "zen2", "zen4"};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct host host;
        unsigned stale = 0;

        host_prepare(&host, profiles[i]);
        host.sim.port.clock_ns = NULL;
        host_start(&host);
        host_sample(&host, "instructions", 1000);
        host_run(&host, 50500);
        assert_int_equal(host_drain(&host, NULL), 50);
        /* As an NMI of another source; the model is not asked (it would find interrupts on). */
        while (upmu_pmi_handle(&host.cpu[0], NULL) == UPMU_PMI_STALE)
            assert_compare(++stale, <, 50);
        assert_in_range(stale, 1, i ? 6 : 4, i);
    }
}

/* Enabled, or only the interrupt enabled: it is in use. */
static void counters_in_use_at_take_over_are_left_alone(void **state)
{
    static const char *const profiles[] = {"k7", "k8_revf", "bulldozer", "zen2", "zen4"};

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        struct host host;

        host_prepare(&host, profiles[i]);
        host.sim.cpu[0].select[0] = 0x4300c0;
        host.sim.cpu[0].select[2] = 0x1300c0;
        host.sim.cpu[0].select[3] = 0x0300c0;
        host_start(&host);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 0), UPMU_OWNER_FIRMWARE);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 1), UPMU_OWNER_FREE);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 2), UPMU_OWNER_FIRMWARE);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 3), UPMU_OWNER_FREE);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions,cycles", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 100);
        assert_int_equal(host_value(&host.session, 0), 100);
        assert_true(host.sim.cpu[0].select[0] == 0x4300c0 && host.sim.cpu[0].select[2] == 0x1300c0);
        assert_compare(host.sim.cpu[0].counter[0].value, >=, 100);
        host_no_violation(&host);
        host_end(&host);
        assert_int_equal(host.sim.cpu[0].select[3], 0x0300c0);
    }
}

/* ---- Hypervisors, unknown families ---- */

static void hypervisors_that_only_pretend_are_told_apart(void **state)
{
    static const struct {
        const char *profile;
        enum upmu_status status;
        enum upmu_verdict verdict;
        bool unsafe; /* faults may not be provoked */
    } kinds[] = {
        {"amd_ignores_writes", UPMU_ERR_NO_PMU, UPMU_VERDICT_IGNORES_WRITES, false},
        {"amd_counts_nothing", UPMU_OK, UPMU_VERDICT_COUNTS_NOTHING, false},
        {"amd_kvm_legacy", UPMU_OK, UPMU_VERDICT_INTERRUPTS, false},
        {"amd_kvm_ext", UPMU_OK, UPMU_VERDICT_INTERRUPTS, false},
        {"amd_kvm_v2", UPMU_OK, UPMU_VERDICT_INTERRUPTS, false},
        {"amd_kvm_v2_few", UPMU_OK, UPMU_VERDICT_INTERRUPTS, false},
        {"zen4", UPMU_OK, UPMU_VERDICT_INTERRUPTS, false},
        {"k7", UPMU_OK, UPMU_VERDICT_INTERRUPTS, false},
        {"k7_model1", UPMU_OK, UPMU_VERDICT_COUNTS, false},
        {"amd_future", UPMU_OK, UPMU_VERDICT_INTERRUPTS, false},
        {"amd_kvm_legacy", UPMU_ERR_NO_PMU, UPMU_VERDICT_ABSENT, true},
        {"k8_revf", UPMU_OK, UPMU_VERDICT_INTERRUPTS, true},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct upmu_probe probe;
        struct host host;
        enum upmu_status status;

        host_prepare(&host, kinds[i].profile);
        host.sim.port.msr_faults_are_safe = !kinds[i].unsafe;
        host_machine(&host);
        status = upmu_cpu_init(&host.cpu[0], &host.machine, NULL);
        if (status != kinds[i].status)
            fail_msg("%s: %s", kinds[i].profile, upmu_status_text(status));
        memset(&probe, 0, sizeof probe);
        probe.loop = upmu_sim_work;
        probe.loop_context = &host.sim;
        probe.force = true;
        assert_int_equal(upmu_cpu_probe(&host.cpu[0], &probe), UPMU_OK);
        if (probe.verdict != kinds[i].verdict)
            fail_msg("%s: %s", kinds[i].profile, upmu_verdict_text(probe.verdict));
        host_no_violation(&host);
    }
}

static void a_family_that_nobody_knows_counts_what_all_have(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "amd_future");
    assert_string_equal(host.cpu[0].meter.pmu->name, "amd64_zen");
    assert_int_equal(upmu_set_add(&host.session.set, "instructions,cycles,branches,branch-misses", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    assert_int_equal(host_value(&host.session, 0), 1000);
    assert_int_equal(host_value(&host.session, 1), 2000);
    assert_int_equal(host_value(&host.session, 2), 500);
    host_no_violation(&host);
    host_end(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wide_event_counts_every_operation),
        cmocka_unit_test(the_upper_counter_of_a_pair_opens_first_and_closes_last),
        cmocka_unit_test(a_wide_event_is_sampled_by_both_halves),
        cmocka_unit_test(a_pair_is_loaded_again_after_another_session),
        cmocka_unit_test(a_counting_pair_wraps_and_counts_on),
        cmocka_unit_test(one_core_of_a_node_counts_the_northbridge),
        cmocka_unit_test(core_events_share_nothing_with_the_other_core),
        cmocka_unit_test(revision_e_with_two_cores_refuses_the_northbridge),
        cmocka_unit_test(host_only_counts_with_svm_and_without),
        cmocka_unit_test(instructions_of_early_zen_3_count_right_on_counter_2),
        cmocka_unit_test(overflows_leave_a_credit_for_each_counter_at_most),
        cmocka_unit_test(counters_in_use_at_take_over_are_left_alone),
        cmocka_unit_test(hypervisors_that_only_pretend_are_told_apart),
        cmocka_unit_test(a_family_that_nobody_knows_counts_what_all_have),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
