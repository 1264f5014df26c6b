/* SPDX-License-Identifier: MIT */
/*
 * What operations cost on the silicon model of the Pentium 4, in register accesses,
 * exactly, on one thread and on two.
 */
#include "tests/unit/engine/p4_host.h"

static void forget_cost(void)
{
    memset(f.sim.access_count, 0, sizeof f.sim.access_count);
}

static void costs(unsigned writes, unsigned reads, unsigned rdpmcs)
{
    const uint32_t *count = f.sim.access_count;

    if (count[UPMU_SIM_WRMSR] != writes || count[UPMU_SIM_RDMSR] != reads || count[UPMU_SIM_RDPMC] != rdpmcs)
        fail_msg("%s: %u W %u R %u P instead of %u W %u R %u P", f.sim.profile->name, count[UPMU_SIM_WRMSR],
                 count[UPMU_SIM_RDMSR], count[UPMU_SIM_RDPMC], writes, reads, rdpmcs);
    forget_cost();
}

/* Models that lose a carry at a stop are read before it, too. */
static unsigned twice(void)
{
    return f.cpu[0].meter.pmu->capabilities & UPMU_PMU_CARRY_LOST ? 2 : 1;
}

static const char *const single[] = {"willamette", "northwood_smtoff", "prescott_smtoff", "smithfield",
                                     "cedarmill_smtoff"};
#define SINGLE (sizeof single / sizeof single[0])

static void start_stop_and_read_cost_one_access_per_counter(void **state)
{
    (void)state;
    for (unsigned p = 0; p < SINGLE; p++)
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            struct upmu_count counts[4];

            set_up(single[p]);
            add(0, "instructions,cycles,branches,cache-references", 0);
            attach(0, cpu);
            start(0);
            stop(0);
            forget_cost();
            for (unsigned round = 0; round < 3; round++) {
                start(0);
                costs(4, 0, 0);
                assert_int_equal(upmu_set_read(&f.sessions[0].set, 0, 4, counts), UPMU_OK);
                costs(0, 0, 4);
                stop(0);
                costs(4, 0, 4 * twice());
                assert_int_equal(upmu_set_read(&f.sessions[0].set, 0, 4, counts), UPMU_OK);
                costs(0, 0, 0);
            }
            tear_down();
        }
}

/* The counters of a stopped session are free, but until they are taken a start costs no more. */
static void a_start_on_two_threads_costs_the_same_without_a_conflict(void **state)
{
    static const char list[] = "instructions,cycles,branches,cache-references";

    (void)state;
    for (unsigned p = 0; p < THREADED; p++)
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            struct upmu_count counts[4];

            set_up(threaded[p]);
            add(0, list, 0);
            add(1, list, 0);
            add(2, list, 0);
            attach(0, cpu);
            forget_cost();
            for (unsigned round = 0; round < 3; round++) {
                start(0);
                costs(4, 0, 0);
                assert_int_equal(upmu_set_read(&f.sessions[0].set, 0, 4, counts), UPMU_OK);
                costs(0, 0, 4);
                stop(0);
                costs(4, 0, 4);
            }
            /* Another session of the same thread has used the counters. */
            attach(1, cpu);
            start(1);
            stop(1);
            forget_cost();
            start(0);
            costs(4, 0, 4);
            stop(0);
            /* The other thread has: nothing is known of the registers any more. */
            attach(2, !cpu);
            start(2);
            assert_int_equal(f.sessions[2].counters, f.sessions[0].counters);
            stop(2);
            upmu_sim_switch_cpu(&f.sim, cpu);
            forget_cost();
            start(0);
            costs(8, 4, 4);
            stop(0);
            tear_down();
        }
}

static void a_region_reads_each_counter_once(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ALL; p++) {
        static struct upmu_region region;

        set_up(all[p]);
        assert_int_equal(upmu_region_open(&region, &f.cpu[0], "instructions,cycles,branches"), UPMU_OK);
        forget_cost();
        for (unsigned round = 0; round < 3; round++) {
            assert_int_equal(upmu_region_begin(&region), UPMU_OK);
            costs(0, 0, 3);
            run(0, 100);
            assert_int_equal(upmu_region_end(&region), UPMU_OK);
            costs(0, 0, 3);
            assert_int_equal(region.count[0].value, 100);
        }
        assert_int_equal(upmu_region_close(&region), UPMU_OK);
        tear_down();
    }
}

/* Its CCCR is closed anyway: one write more, and no read of where it stands. */
static void a_sampling_counter_costs_one_more_write_a_switch(void **state)
{
    (void)state;
    for (unsigned p = 0; p < SINGLE; p++) {
        set_up(single[p]);
        add(0, "instructions:counter=12", 100000);
        add(1, "uops_retired:NBOGUS:counter=12", 100000);
        attach(0, 0);
        attach(1, 0);
        start(0);
        stop(0);
        start(1);
        forget_cost();
        for (unsigned turn = 0; turn < 4; turn++) {
            run(0, 10);
            stop(!(turn & 1u));
            start(turn & 1u);
            costs(4, 0, twice());
        }
        tear_down();
    }
}

static void a_changed_counter_costs_three_writes_and_two_reads(void **state)
{
    (void)state;
    for (unsigned p = 0; p < SINGLE; p++) {
        set_up(single[p]);
        add(0, "instructions:counter=12,cycles:counter=0", 0);
        add(1, "uops_retired:NBOGUS:counter=12,FSB_data_activity:DRDY_DRV:counter=0", 0);
        attach(0, 0);
        attach(1, 0);
        start(0);
        stop(0);
        start(1);
        forget_cost();
        for (unsigned turn = 0; turn < 4; turn++) {
            stop(!(turn & 1u));
            start(turn & 1u);
            costs(3 * 2, 0, 2 * (1 + twice()));
        }
        tear_down();
    }
}

static void an_overflow_costs_3_writes_and_a_read_per_counter_and_one(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ALL; p++)
        for (unsigned cpu = 0; cpu < 2; cpu++)
            for (unsigned s = 1; s <= 3; s++) {
                set_up(all[p]);
                add(0, "branches", 300);
                if (s > 1)
                    add(0, "cycles", 100000000);
                if (s > 2)
                    add(0, "cache-references", 1000000);
                add(0, "instructions", 0);
                attach(0, cpu);
                start(0);
                run(cpu, 2000);
                assert_int_equal(f.answered[UPMU_PMI_HANDLED], 1);
                assert_int_equal(f.handler.writes, 3);
                assert_int_equal(f.handler.reads, 0);
                assert_int_equal(f.handler.rdpmcs, s + 1, s);
                assert_int_equal(f.handler.rearms, 1);
                tear_down();
            }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_stop_and_read_cost_one_access_per_counter),
        cmocka_unit_test(a_start_on_two_threads_costs_the_same_without_a_conflict),
        cmocka_unit_test(a_region_reads_each_counter_once),
        cmocka_unit_test(a_sampling_counter_costs_one_more_write_a_switch),
        cmocka_unit_test(a_changed_counter_costs_three_writes_and_two_reads),
        cmocka_unit_test(an_overflow_costs_3_writes_and_a_read_per_counter_and_one),
    };

    return cmocka_run_group_tests_name("p4_cost", tests, NULL, NULL);
}
