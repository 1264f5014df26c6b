/* SPDX-License-Identifier: MIT */
/*
 * RDPMC that is there and tells something else than the counter: emulators answer 0.
 */
#include "tests/common/host.h"

static bool zero(void *context, uint32_t index, uint64_t *out_value)
{
    (void)context, (void)index;
    *out_value = 0;
    return true;
}

static const char *const profiles[] = {"core2", "skylake", "nocona", "k8_revf", "zen2", "zen4"};

#define EACH(profile) for (const char *const *profile = profiles; profile < profiles + 6; profile++)

static void an_rdpmc_that_tells_something_else_is_not_used(void **state)
{
    (void)state;
    EACH(profile)
    {
        const struct upmu_sampling sampling = {.period = 1000};
        struct upmu_count count;
        struct host host;

        host_prepare(&host, *profile);
        host.sim.port.rdpmc = zero;
        host_machine(&host);
        assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
        assert_int_equal(host.cpu[0].meter.bank.accesses.rdpmcs, 1);
        assert_int_equal(upmu_session_init(&host.session, &host.machine), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 2500, .cycles = 2500});
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
        assert_int_equal(count.value, 2500);
        assert_int_equal(host.answers, 2);
        assert_int_equal(host.cpu[0].meter.bank.accesses.rdpmcs, 1);
        host_end(&host);
    }
}

static void an_rdpmc_that_tells_the_truth_is_used(void **state)
{
    (void)state;
    EACH(profile)
    {
        struct upmu_count count;
        struct host host;

        host_set_up(&host, *profile);
        assert_int_equal(host.cpu[0].meter.bank.accesses.rdpmcs, 1);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 2500, .cycles = 2500});
        assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
        assert_int_equal(count.value, 2500);
        assert_compare(host.cpu[0].meter.bank.accesses.rdpmcs, >, 1);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        host_end(&host);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_rdpmc_that_tells_something_else_is_not_used),
        cmocka_unit_test(an_rdpmc_that_tells_the_truth_is_used),
    };

    return cmocka_run_group_tests_name("rdpmc", tests, NULL, NULL);
}
