/* SPDX-License-Identifier: MIT */
/*
 * A machine with two core types: names are encoded for the PMU of the CPU that they
 * are counted on, for that which a prefix names, or for the first CPU's.
 */
#include <upmu/event.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include "tests/common/host.h"

static struct host host;
static struct upmu_region region;

/* CPU 0 is a P-core, 1 and 2 are E-cores. */
static int boot(void **state)
{
    (void)state;
    host_prepare_cpus(&host, "adl_p", 3);
    host_machine(&host);
    for (unsigned i = 0; i < 3; i++) {
        if (i)
            upmu_sim_set_profile(&host.sim, i, upmu_sim_profile("adl_e"));
        host_take_over_one(&host, i, false);
    }
    assert_int_equal(host.machine.pmu_count, 2);
    assert_ptr_equal(host.cpu[1].meter.pmu, host.cpu[2].meter.pmu);
    return 0;
}

static void a_region_counts_by_name_on_each_core_type(void **state)
{
    const struct upmu_sim_burst burst = {.instructions = 12000, .cycles = 9000, .branches = 2000};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        upmu_sim_switch_cpu(&host.sim, i);
        assert_int_equal(upmu_region_open(&region, &host.cpu[i], "instructions,cycles,branches"), UPMU_OK, i);
        assert_int_equal(upmu_region_begin(&region), UPMU_OK);
        upmu_sim_events(&host.sim, &burst);
        assert_int_equal(upmu_region_end(&region), UPMU_OK);
        assert_int_equal(region.count[0].value, 12000);
        assert_int_equal(region.count[1].value, 9000);
        assert_int_equal(region.count[2].value, 2000);
        assert_int_equal(upmu_region_close(&region), UPMU_OK);
    }
}

static void a_prefix_chooses_the_core_type(void **state)
{
    (void)state;
    assert_int_equal(upmu_set_add(&host.session.set, "adl_grt::cycles", NULL), UPMU_OK);
    upmu_sim_switch_cpu(&host.sim, 0);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_ERR_WRONG_PMU);
    upmu_sim_switch_cpu(&host.sim, 2);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[2]), UPMU_OK);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    upmu_sim_switch_cpu(&host.sim, 1);
    assert_int_equal(upmu_region_open(&region, &host.cpu[1], "adl_glc::cycles"), UPMU_ERR_WRONG_PMU);
    assert_int_equal(upmu_session_init(&host.session, &host.machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "skl::cycles", NULL), UPMU_ERR_NO_SUCH_PMU);
    assert_int_equal(upmu_set_add(&host.session.set, "adl_grt::cycels", NULL), UPMU_ERR_NO_SUCH_EVENT);
    assert_ptr_equal(host.session.why.pmu, host.cpu[1].meter.pmu);
}

static void one_session_counts_on_one_core_type(void **state)
{
    struct upmu_thread thread;

    (void)state;
    upmu_thread_init(&thread, 1, 1, NULL);
    assert_int_equal(upmu_set_add(&host.session.set, "adl_glc::cycles", NULL), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "adl_grt::cycles", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&host.session, &thread, NULL), UPMU_ERR_WRONG_PMU);
    assert_null(thread.sessions);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_ERR_WRONG_PMU);
    assert_int_equal(host.session.state, UPMU_SESSION_DETACHED);
}

static void an_event_that_is_encoded_knows_its_core_type(void **state)
{
    struct upmu_event event;

    (void)state;
    assert_int_equal(upmu_event_parse(host.cpu[1].meter.pmu, "branches", &event, NULL), UPMU_OK);
    assert_int_equal(upmu_set_add_event(&host.session.set, &event, NULL), UPMU_OK);
    assert_int_equal(upmu_event_raw(host.cpu[1].meter.pmu, 0xc0, 0, 0, &event), UPMU_OK);
    assert_int_equal(upmu_set_add_event(&host.session.set, &event, NULL), UPMU_OK);
    upmu_sim_switch_cpu(&host.sim, 1);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[1]), UPMU_OK);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
}

static void a_pmu_is_the_same_with_events_from_outside(void **state)
{
    (void)state;
    upmu_sim_switch_cpu(&host.sim, 2);
    assert_int_equal(upmu_cpu_fini(&host.cpu[2]), UPMU_OK);
    host.machine.pmu[1].imported = host.machine.pmu[1].catalog;
    assert_int_equal(upmu_cpu_init(&host.cpu[2], &host.machine, NULL), UPMU_OK);
    assert_ptr_equal(host.cpu[2].meter.pmu, host.cpu[1].meter.pmu);
    assert_int_equal(upmu_cpu_suspend(&host.cpu[2]), UPMU_OK);
    assert_int_equal(upmu_cpu_resume(&host.cpu[2]), UPMU_OK);
    assert_ptr_equal(host.cpu[2].meter.pmu, &host.machine.pmu[1]);
    assert_int_equal(host.machine.pmu_count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_region_counts_by_name_on_each_core_type, boot),
        cmocka_unit_test_setup(a_prefix_chooses_the_core_type, boot),
        cmocka_unit_test_setup(one_session_counts_on_one_core_type, boot),
        cmocka_unit_test_setup(an_event_that_is_encoded_knows_its_core_type, boot),
        cmocka_unit_test_setup(a_pmu_is_the_same_with_events_from_outside, boot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
