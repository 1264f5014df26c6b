/* SPDX-License-Identifier: MIT */
/*
 * Counts of real instructions: what the library reports for code whose instructions
 * and branches are known is that number, plus the steps between the write that lets
 * the counter run and the one that stops it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "tests/common/workload.h"
#include "tests/trap/trap.h"

static struct trap trap;

static const char *const profiles[] = {
    "core2",  "skylake", "nehalem",   "icelake", "version1", "willamette", "northwood_smtoff",
    "nocona", "k8_revc", "bulldozer", "zen2",    "zen4"};
#define PROFILES (sizeof profiles / sizeof profiles[0])

/*
 * Start, `passes` of the workload, stop.  On version 1 each event has an enabling
 * write of its own: one event at a time.
 */
static void run(const char *profile, const char *events, uint32_t passes, bool enabling, bool disabling)
{
    trap_prepare(&trap, profile);
    trap.enabling_counts = enabling;
    trap.disabling_counts = disabling;
    trap_up(&trap);
    trap_session(&trap, events, 0);
    trap_step_on(&trap);
    assert_int_equal(upmu_session_start(&trap.session), UPMU_OK);
    workload(passes);
    assert_int_equal(upmu_session_stop(&trap.session), UPMU_OK);
    trap_step_off(&trap);
}

/* 10, 100 and 1000 passes; the longest on Skylake in 64 bits alone, and with TRAP_RUNS=soak on all. */
static unsigned lengths_on(const char *profile)
{
    bool longest = sizeof(void *) == 8 && !strcmp(profile, "skylake");

    return longest || trap_soaks() ? 3 : 2;
}

/* One of how many profiles: in 32 bits a third, with TRAP_RUNS=soak all. */
static unsigned profile_step(void)
{
    return sizeof(void *) == 8 || trap_soaks() ? 1 : 3;
}

static uint64_t constant_of(const char *profile, const char *event, unsigned per_pass, bool enabling, bool disabling)
{
    static const uint32_t passes[] = {10, 100, 1000};
    bool branches = per_pass == WORKLOAD_BRANCHES;
    uint64_t first = 0;

    for (unsigned i = 0; i < lengths_on(profile); i++) {
        uint64_t between, constant;

        run(profile, event, passes[i], enabling, disabling);
        between = branches ? trap_branches_between(&trap) : trap_between(&trap) + enabling + disabling;
        assert_int_equal(trap_value(&trap, 0), between);
        constant = between - (uint64_t)passes[i] * per_pass;
        if (i == 0)
            first = constant;
        assert_int_equal(constant, first);
        assert_true(constant > 10 && constant < 3000);
        trap_down(&trap);
    }
    return first;
}

static void counts_are_the_known_number_and_one_constant(const char *profile, bool enabling, bool disabling)
{
    uint64_t instructions = constant_of(profile, "instructions", WORKLOAD_INSTRUCTIONS, enabling, disabling);
    uint64_t branches = constant_of(profile, "branches", WORKLOAD_BRANCHES, enabling, disabling);

    printf("%s: 10 to %u passes: %u instructions and %u branches more than the workload's\n", profile,
           lengths_on(profile) == 3 ? 1000u : 100u, (unsigned)instructions, (unsigned)branches);
}

static void the_workload_is_as_long_as_it_says(void **state)
{
    (void)state;
    for (uint32_t passes = 1; passes < 4; passes++) {
        struct trap_moment before;

        trap_prepare(&trap, "skylake");
        trap.rings = TRAP_RING_WORKLOAD;
        trap_up(&trap);
        trap_step_on(&trap);
        before = (struct trap_moment){trap.steps, trap.branches, trap.user_steps};
        workload(passes);
        trap_step_off(&trap);
        assert_int_equal(trap.user_steps - before.user_steps,
                         passes * WORKLOAD_INSTRUCTIONS + WORKLOAD_AROUND_INSTRUCTIONS);
        trap_down(&trap);
    }
}

static void counts_are_exact_on_every_profile(void **state)
{
    (void)state;
    if (profile_step() > 1)
        printf("every third of %u profiles; all with TRAP_RUNS=soak\n", (unsigned)PROFILES);
    for (unsigned i = 0; i < PROFILES; i += profile_step())
        counts_are_the_known_number_and_one_constant(profiles[i], true, false);
}

static void the_enabling_write_itself_may_count_or_not(void **state)
{
    uint64_t constant[2][2];

    (void)state;
    for (unsigned enabling = 0; enabling < 2; enabling++)
        for (unsigned disabling = 0; disabling < 2; disabling++) {
            run("core2", "instructions", 10, enabling, disabling);
            constant[enabling][disabling] = trap_value(&trap, 0);
            assert_int_equal(constant[enabling][disabling], trap_between(&trap) + enabling + disabling, enabling,
                             disabling);
            trap_down(&trap);
        }
    assert_int_equal(constant[1][0], constant[0][0] + 1);
    assert_int_equal(constant[0][1], constant[0][0] + 1);
    assert_int_equal(constant[1][1], constant[0][0] + 2);
}

static void the_constant_holds_whichever_writes_count(void **state)
{
    (void)state;
    counts_are_the_known_number_and_one_constant("skylake", false, true);
    counts_are_the_known_number_and_one_constant("core2", false, false);
}

static void general_counters_count_as_fixed_ones_do(void **state)
{
    (void)state;
    run("skylake", "INST_RETIRED.ANY_P,BR_INST_RETIRED.ALL_BRANCHES,INST_RETIRED.ANY", 100, true, false);
    assert_int_equal(trap_value(&trap, 0), trap_between(&trap) + 1);
    assert_int_equal(trap_value(&trap, 1), trap_branches_between(&trap));
    assert_int_equal(trap_value(&trap, 2), trap_between(&trap) + 1);
    trap_down(&trap);
}

/* Of the ring that is asked for: exact, without any constant. */
static void rings_are_told_apart(void **state)
{
    static const uint32_t passes[] = {10, 100, 1000};

    (void)state;
    for (unsigned p = 0; p < PROFILES; p += profile_step())
        for (unsigned i = 0; i < lengths_on(profiles[p]); i++) {
            trap_prepare(&trap, profiles[p]);
            trap.rings = TRAP_RING_WORKLOAD;
            trap_up(&trap);
            trap_session(&trap, "instructions:u,instructions:k", 0);
            trap_step_on(&trap);
            assert_int_equal(upmu_session_start(&trap.session), UPMU_OK);
            workload(passes[i]);
            assert_int_equal(upmu_session_stop(&trap.session), UPMU_OK);
            trap_step_off(&trap);
            assert_int_equal(trap_value(&trap, 0), passes[i] * WORKLOAD_INSTRUCTIONS + WORKLOAD_AROUND_INSTRUCTIONS, i);
            if (trap.sim.profile->version > 1) /* one enabling write for both */
                assert_int_equal(trap_value(&trap, 0) + trap_value(&trap, 1), trap_between(&trap) + 1);
            trap_down(&trap);
        }
}

/* A region only reads: what lies between the two reads is the workload and constant. */
static void regions_count_the_known_number_and_one_constant(void **state)
{
    static const uint32_t passes[] = {10, 100, 1000};
    static struct upmu_region region;

    (void)state;
    for (unsigned p = 0; p < 2; p++) {
        uint64_t around[3];

        for (unsigned i = 0; i < lengths_on(profiles[p]); i++) {
            trap_prepare(&trap, profiles[p]);
            trap.no_rdpmc = p == 1;
            trap_up(&trap);
            assert_int_equal(upmu_region_open(&region, &trap.cpu, "instructions,cycles"), UPMU_OK);
            trap_step_on(&trap);
            assert_int_equal(upmu_region_begin(&region), UPMU_OK);
            workload(passes[i]);
            assert_int_equal(upmu_region_end(&region), UPMU_OK);
            trap_step_off(&trap);
            around[i] = region.count[0].value - (uint64_t)passes[i] * WORKLOAD_INSTRUCTIONS;
            assert_int_equal(around[i], around[0], i);
            assert_compare(around[i], <, 3000, i);
            assert_int_equal(upmu_region_close(&region), UPMU_OK);
            trap_down(&trap);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_workload_is_as_long_as_it_says),
        cmocka_unit_test(counts_are_exact_on_every_profile),
        cmocka_unit_test(the_enabling_write_itself_may_count_or_not),
        cmocka_unit_test(the_constant_holds_whichever_writes_count),
        cmocka_unit_test(general_counters_count_as_fixed_ones_do),
        cmocka_unit_test(rings_are_told_apart),
        cmocka_unit_test(regions_count_the_known_number_and_one_constant),
    };
    if (!trap_able())
        return 0;
    return cmocka_run_group_tests_name("trap_count", tests, NULL, NULL);
}
