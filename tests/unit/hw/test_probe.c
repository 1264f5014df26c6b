/* SPDX-License-Identifier: MIT */
/*
 * The graded probe: each verdict by a PMU that deserves it, and nothing stolen.
 */
#include <upmu/probe.h>
#include "tests/common/host.h"

static const char *const every_profile[] = {
    "core2",   "merom_early",           "version1", "nehalem", "skylake", "skylake_nofw", "skylake_smtoff",
    "icelake", "hypervisor_v2_nofixed", "k7",       "k8_revf", "zen2",    "zen4",         "northwood_smtoff",
    NULL};

#define EACH(profile) for (const char *const *profile = every_profile; *profile; profile++)

static struct upmu_probe a_probe(struct host *host)
{
    return (struct upmu_probe){.loop = upmu_sim_work, .loop_context = &host->sim};
}

static void without_a_pmu_the_verdict_is_absent(void **state)
{
    static const char *const without[] = {"no_pmu", "tcg"};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct host host;
        struct upmu_probe probe;

        host_prepare(&host, without[i]);
        host_machine(&host);
        assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_ERR_NO_PMU);
        probe = a_probe(&host);
        assert_int_equal(upmu_cpu_probe(&host.cpu[0], &probe), UPMU_OK);
        assert_int_equal(probe.verdict, UPMU_VERDICT_ABSENT);
        assert_int_equal(probe.counter, UPMU_NO_COUNTER);
        assert_int_equal(probe.counted, 0);
    }
}

static void registers_that_drop_writes_are_told(void **state)
{
    struct host host;
    struct upmu_probe probe;

    (void)state;
    host_prepare(&host, "ignores_writes");
    host_machine(&host);
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_ERR_NO_PMU);
    probe = a_probe(&host);
    assert_int_equal(upmu_cpu_probe(&host.cpu[0], &probe), UPMU_OK);
    assert_int_equal(probe.verdict, UPMU_VERDICT_IGNORES_WRITES);
    assert_string_equal(upmu_verdict_text(probe.verdict), "ignores writes");
}

static void registers_that_are_only_memory_are_told(void **state)
{
    struct host host;
    struct upmu_probe probe;

    (void)state;
    host_set_up(&host, "counts_nothing");
    probe = a_probe(&host);
    assert_int_equal(upmu_cpu_probe(&host.cpu[0], &probe), UPMU_OK);
    assert_int_equal(probe.verdict, UPMU_VERDICT_COUNTS_NOTHING);
    assert_int_equal(probe.counted, 0);
    assert_int_not_equal(probe.counter, UPMU_NO_COUNTER);
    host_end(&host);
}

static void a_pmu_whose_interrupts_do_not_arrive_only_counts(void **state)
{
    (void)state;
    EACH(profile)
    {
        struct host host;
        struct upmu_probe probe;

        host_set_up(&host, *profile);
        host.sim.deliver = NULL;
        probe = a_probe(&host);
        assert_int_equal(upmu_cpu_probe(&host.cpu[0], &probe), UPMU_OK);
        assert_int_equal(probe.verdict, UPMU_VERDICT_COUNTS);
        assert_int_equal(probe.counted, UPMU_SIM_WORK_INSTRUCTIONS);
        host_end(&host);
    }
}

static void without_a_way_to_rearm_it_only_counts(void **state)
{
    struct host host;
    struct upmu_probe probe;

    (void)state;
    host_prepare(&host, "skylake");
    host.sim.port.pmi_rearm = NULL;
    host_start(&host);
    probe = a_probe(&host);
    assert_int_equal(upmu_cpu_probe(&host.cpu[0], &probe), UPMU_OK);
    assert_int_equal(probe.verdict, UPMU_VERDICT_COUNTS);
    host_end(&host);
}

static void a_whole_pmu_interrupts(void **state)
{
    (void)state;
    EACH(profile)
    {
        struct host host;
        struct upmu_probe probe;

        host_set_up(&host, *profile);
        probe = a_probe(&host);
        assert_int_equal(upmu_cpu_probe(&host.cpu[0], &probe), UPMU_OK);
        assert_int_equal(probe.verdict, UPMU_VERDICT_INTERRUPTS);
        assert_int_equal(probe.counted, UPMU_SIM_WORK_INSTRUCTIONS);
        assert_compare(probe.counter, <, UPMU_COUNTERS);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], probe.counter), UPMU_OWNER_FREE);
        assert_false(upmu_sim_runs(&host.sim, 0, probe.counter));
        host_end(&host);
    }
}

static void sessions_do_not_notice_the_probe(void **state)
{
    (void)state;
    EACH(profile)
    {
        struct upmu_sampling sampling = {.period = 500};
        struct host host;
        struct upmu_probe probe;

        host_set_up(&host, *profile);
        if (host.sim.profile->general + host.sim.profile->fixed < 3)
            continue;
        assert_int_equal(upmu_set_add(&host.other.set, "cycles", NULL), UPMU_OK);
        host_begin(&host, &host.other);
        assert_int_equal(upmu_set_add(&host.session.set, "branches", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 1000);
        probe = a_probe(&host);
        assert_int_equal(upmu_cpu_probe(&host.cpu[0], &probe), UPMU_OK);
        assert_int_equal(probe.verdict, UPMU_VERDICT_INTERRUPTS);
        host_run(&host, 1000);
        assert_int_equal(host_value(&host.other, 0), 4000 + 2 * UPMU_SIM_WORK_CYCLES);
        assert_int_equal(host_value(&host.session, 0), 1000 + 2 * UPMU_SIM_WORK_INSTRUCTIONS / 5);
        assert_int_equal(host_drain(&host, NULL), 2);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        host_end(&host);
    }
}

static void counters_of_others_are_not_probed(void **state)
{
    struct host host;
    struct upmu_probe probe;

    (void)state;
    host_set_up(&host, "core2");
    assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 1), UPMU_OK);
    upmu_sim_poke(&host.sim, 0, 0x186, 0x3003c);
    upmu_sim_poke(&host.sim, 0, 0xc1, 0x1234);
    probe = a_probe(&host);
    assert_int_equal(upmu_cpu_probe(&host.cpu[0], &probe), UPMU_OK);
    assert_int_equal(probe.verdict, UPMU_VERDICT_INTERRUPTS);
    assert_int_not_equal(probe.counter, 0);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x186), 0x3003c);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0xc1), 0x1234);
}

static void without_a_free_counter_there_is_no_verdict(void **state)
{
    struct host host;
    struct upmu_probe probe;
    uint32_t writes;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_cpu_reserve(&host.cpu[0], host.cpu[0].meter.pmu->counters), UPMU_OK);
    writes = host.sim.access_count[UPMU_SIM_WRMSR];
    probe = a_probe(&host);
    probe.verdict = UPMU_VERDICT_COUNTS;
    assert_int_equal(upmu_cpu_probe(&host.cpu[0], &probe), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(probe.verdict, UPMU_VERDICT_UNKNOWN);
    assert_int_equal(host.sim.access_count[UPMU_SIM_WRMSR], writes);
    upmu_cpu_unreserve(&host.cpu[0], ~UINT32_C(0));
    host_end(&host);
}

static void under_a_hypervisor_without_safe_faults_it_must_be_forced(void **state)
{
    struct host host;
    struct upmu_probe probe;
    uint32_t accesses;

    (void)state;
    host_prepare(&host, "hypervisor_v2_nofixed");
    host.sim.port.msr_faults_are_safe = false;
    host_start(&host);
    accesses = host.sim.accesses;
    probe = a_probe(&host);
    assert_int_equal(upmu_cpu_probe(&host.cpu[0], &probe), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(host.sim.accesses, accesses);
    host.sim.forced = true;
    probe.force = true;
    assert_int_equal(upmu_cpu_probe(&host.cpu[0], &probe), UPMU_OK);
    assert_int_equal(probe.verdict, UPMU_VERDICT_INTERRUPTS);
    host_end(&host);
}

/* PERF_CAPABILITIES is promised and faults: where a fault is fatal it is not read. */
static void a_hypervisors_promise_is_not_read_where_faults_are_unsafe(void **state)
{
    struct host host;

    (void)state;
    for (unsigned safe = 0; safe < 2; safe++) {
        host_prepare(&host, "hypervisor_faults");
        host.sim.port.msr_faults_are_safe = safe;
        host_start(&host);
        assert_int_equal(host.sim.faults != 0, safe);
        host_end(&host);
    }
}

static void the_built_in_loop_runs_without_the_callers(void **state)
{
    struct host host;
    struct upmu_probe probe = {.force = false};

    (void)state;
    host_set_up(&host, "skylake");
    /* The model cannot see real instructions; what it counts are the accesses' own events. */
    host.sim.events_per_access = 200;
    assert_int_equal(upmu_cpu_probe(&host.cpu[0], &probe), UPMU_OK);
    assert_compare(probe.verdict, >=, UPMU_VERDICT_COUNTS);
    host.sim.events_per_access = 0;
    host_end(&host);
}

static void a_fault_leaves_no_session_behind(void **state)
{
    struct host host;
    struct upmu_probe probe;
    unsigned told = 0;
    bool reached = true;

    (void)state;
    for (unsigned n = 1; reached; n++) {
        enum upmu_status status;

        host_set_up(&host, "skylake");
        probe = a_probe(&host);
        host.sim.fault_at = host.sim.accesses + n;
        status = upmu_cpu_probe(&host.cpu[0], &probe);
        reached = host.sim.accesses >= host.sim.fault_at;
        assert_true(status == UPMU_OK || status == UPMU_ERR_PORT);
        assert_true(reached || (status == UPMU_OK && probe.verdict == UPMU_VERDICT_INTERRUPTS));
        told += status == UPMU_ERR_PORT;
        assert_null(host.cpu[0].meter.sessions);
        host.sim.fault_at = 0;
        for (unsigned i = 0; i < UPMU_COUNTERS; i++)
            assert_false(upmu_sim_runs(&host.sim, 0, i < UPMU_SIM_COUNTERS ? i : 0), i);
        host_end(&host);
    }
    assert_compare(told, >=, 5);
}

static void verdicts_have_names(void **state)
{
    static const char *const names[] = {"unknown", "absent",     "ignores writes", "counts nothing",
                                        "counts",  "interrupts"};

    (void)state;
    for (unsigned i = 0; i < 6; i++)
        assert_string_equal(upmu_verdict_text((enum upmu_verdict)i), names[i]);
    assert_non_null(upmu_verdict_text((enum upmu_verdict)99));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_pmu_the_verdict_is_absent),
        cmocka_unit_test(registers_that_drop_writes_are_told),
        cmocka_unit_test(registers_that_are_only_memory_are_told),
        cmocka_unit_test(a_pmu_whose_interrupts_do_not_arrive_only_counts),
        cmocka_unit_test(without_a_way_to_rearm_it_only_counts),
        cmocka_unit_test(a_whole_pmu_interrupts),
        cmocka_unit_test(sessions_do_not_notice_the_probe),
        cmocka_unit_test(counters_of_others_are_not_probed),
        cmocka_unit_test(without_a_free_counter_there_is_no_verdict),
        cmocka_unit_test(under_a_hypervisor_without_safe_faults_it_must_be_forced),
        cmocka_unit_test(a_hypervisors_promise_is_not_read_where_faults_are_unsafe),
        cmocka_unit_test(the_built_in_loop_runs_without_the_callers),
        cmocka_unit_test(a_fault_leaves_no_session_behind),
        cmocka_unit_test(verdicts_have_names),
    };

    return cmocka_run_group_tests_name("probe", tests, NULL, NULL);
}
