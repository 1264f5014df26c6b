/* SPDX-License-Identifier: MIT */
/*
 * Sessions, regions and the life of a CPU on the silicon model.
 */
#include <upmu/session.h>
#include "tests/common/host.h"

static void a_session_counts_between_start_and_stop(void **state)
{
    static const char *const profiles[] = { "skl", "core", "nhm", "icl", "version1", "skylake_nofw" };

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        struct host host;

        host_set_up(&host, profiles[p]);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions,cycles", NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
        host_run(&host, 100);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        host_run(&host, 1000);
        assert_int_equal(host_count(&host.session, 0).value, 1000);
        assert_int_equal(host_count(&host.session, 1).value, 2000);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        host_run(&host, 100);
        assert_int_equal(host_count(&host.session, 0).value, 1000);
        assert_int_equal(host_count(&host.session, 1).value, 2000);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        host_run(&host, 500);
        assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
        host_run(&host, 100);
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(host_count(&host.session, i).value, i ? 3000 : 1500, p, i);
            assert_int_equal(host_count(&host.session, i).quality, UPMU_QUALITY_EXACT, p, i);
        }
        host_end(&host);
    }
}

static void sampling_gives_one_sample_a_period(void **state)
{
    static const char *const profiles[] = { "skl", "core", "nhm", "icl", "version1", "skylake_nofw" };

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        struct upmu_sampling sampling = { .period = 100 };
        struct upmu_sample sample;
        struct host host;
        unsigned samples = 0;

        host_set_up(&host, profiles[p]);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        host_begin(&host, &host.session);
        for (unsigned round = 0; round < 20; round++) {
            host_run(&host, 150);
            while (upmu_ring_next(&host.session.ring, &sample)) {
                assert_int_equal(sample.events, 1);
                assert_int_equal(sample.flags, 0);
                samples++;
            }
        }
        assert_int_equal(samples, 30);
        assert_int_equal(host_count(&host.session, 0).value, 3000);
        assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
        host_end(&host);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_counts_between_start_and_stop),
        cmocka_unit_test(sampling_gives_one_sample_a_period),
    };

    return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
