/* SPDX-License-Identifier: MIT */
/*
 * Faults of a register in an interrupt, in a stop and in a sleep: counts and samples are all that there was, a gate
 * that stays open is told, and the CPU sleeps.
 */
#include <upmu/ibs.h>
#include <upmu/session.h>
#include "tests/common/host.h"

static struct host host;
static struct upmu_port real;
static unsigned refusals; /* so many of the next writes fault */

static bool refuse_writes(void *context, uint32_t address, uint64_t value)
{
    if (!refusals)
        return real.wrmsr(context, address, value);
    refusals--;
    return false;
}

/*
 * An access of an interrupt whose sample has the counts of other events faults, each in turn, alone or with the next
 * one.  One fault costs nothing; two may stop the session, which is told.  What it counted until then is kept, and the
 * period whose sample was to come is a sample or a lost one.
 */
static void a_sample_of_other_events_survives_a_fault(void **state)
{
    struct upmu_sampling sampling = {.period = 100, .values = 3, .resets = 0};
    unsigned faults = 0, stopped = 0;

    (void)state;
    for (unsigned way = 0; way < 4; way++)
        for (unsigned at = 1; at < 12; at++) {
            struct upmu_count count;
            unsigned samples, lost = 0;

            host_set_up(&host, "skylake");
            assert_int_equal(upmu_set_add(&host.session.set, "branches,instructions", NULL), UPMU_OK);
            sampling.resets = way & 1u;
            assert_int_equal(upmu_set_add(&host.session.set, "cycles", &sampling), UPMU_OK);
            assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
            host_begin(&host, &host.session);
            host.sim.fault_at = host.sim.accesses + at;
            host.sim.fault_until = host.sim.fault_at + way / 2;
            host_run(&host, 60);
            host.sim.fault_at = host.sim.fault_until = 0;
            if (host.session.state == UPMU_SESSION_STOPPED) {
                assert_int_equal(way / 2, 1, way, at);
                assert_int_equal(host.session.error, UPMU_ERR_PORT, at);
                stopped++;
                lost = 10; /* of the instructions, those after the overflow at the 50th */
                assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
            }
            host_run(&host, 120);
            for (unsigned i = 1; i < 3; i++) {
                count = host_count(&host.session, i);
                assert_in_range(count.raw, (180 - lost) * i, 180 * i, i, at, way);
                if (!lost || count.quality != UPMU_QUALITY_PARTIAL)
                    assert_int_equal(count.quality, UPMU_QUALITY_EXACT, i, at, way);
            }
            samples = host_drain(&host, NULL);
            assert_int_equal(samples + host.session.set.tally[2].lost, 3, at, way);
            assert_compare(samples, >=, lost ? 2u : 3u, at, way);
            faults += host.sim.faults;
            host_end(&host);
        }
    assert_compare(faults, >=, 4 * 8);
    assert_compare(stopped, >, 0);
}

/*
 * The write that closes a gate faults, and the next one does not.
 * Catches: a stop that gives up at the first fault.
 */
static void a_gate_whose_close_faults_once_is_closed(void **state)
{
    static const char *const profiles[] = {"skylake", "zen4", "k8_revf", "version1", "northwood_smtoff"};

    (void)state;
    for (unsigned i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        host_prepare(&host, profiles[i]);
        real = host.sim.port;
        host.sim.port.wrmsr = refuse_writes;
        host_start(&host);
        assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 100);
        refusals = 1;
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(refusals, 0);
        host_run(&host, 100);
        assert_int_equal(host_value(&host.session, 0), 50);
        assert_int_equal(host_count(&host.session, 0).quality, UPMU_QUALITY_EXACT);
        host_end(&host);
    }
}

static void a_sleep_that_faults_is_told_and_the_cpu_sleeps(void **state)
{
    static const char *const profiles[] = {"skylake", "zen2"};

    (void)state;
    for (unsigned p = 0; p < 2; p++) {
        unsigned told = 0;

        for (unsigned at = 1; at < 40; at++) {
            static struct upmu_ibs_sample samples[16];
            struct upmu_ibs fetch = {.kind = UPMU_IBS_FETCH, .period = 1600, .samples = samples, .capacity = 16};
            enum upmu_status status;

            host_prepare(&host, profiles[p]);
            host.sim.cpu[0].amd.ibs[0xa] = 0x101;
            host_start(&host);
            host_add(&host, 0, "instructions", 0);
            host_begin(&host, &host.session);
            if (p)
                assert_int_equal(upmu_ibs_start(&host.cpu[0], &fetch), UPMU_OK);
            host_run(&host, 100);
            host.sim.fault_at = host.sim.accesses + at;
            host.sim.fault_until = host.sim.fault_at + 3;
            status = upmu_cpu_suspend(&host.cpu[0]);
            host.sim.fault_at = 0;
            assert_true(status == UPMU_OK || status == UPMU_ERR_PORT);
            told += status == UPMU_ERR_PORT;
            assert_int_equal(host.cpu[0].meter.live, 0);
            /* What four writes in a row could not close is told; nothing else runs in the sleep. */
            for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
                assert_false(upmu_sim_runs(&host.sim, 0, i) && status == UPMU_OK, i, at);
            assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
            assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        }
        assert_compare(told, >=, 3);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_of_other_events_survives_a_fault),
        cmocka_unit_test(a_gate_whose_close_faults_once_is_closed),
        cmocka_unit_test(a_sleep_that_faults_is_told_and_the_cpu_sleeps),
    };

    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
