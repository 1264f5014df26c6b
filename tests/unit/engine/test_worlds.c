/* SPDX-License-Identifier: MIT */
/*
 * Worlds: host and guests counted apart, on many PMUs.
 */
#include "tests/common/host.h"

/* `each`: each counter has an enable bit of its own. */
static const struct profile {
    const char *name;
    bool each;
} profiles[] = {
    {"skylake", false}, {"core2", false},  {"icelake", false}, {"sapphirerapids", false},
    {"zen4", false},    {"zen2", true},    {"k8_revf", true},  {"yonah", true},
    {"p6", true},       {"version1", true}, {"northwood", true}, {"nehalem", false},
};
#define PROFILES (sizeof profiles / sizeof profiles[0])

static struct host f;

static void enter(void)
{
    assert_int_equal(upmu_cpu_enter_guest(&f.cpu[0]), UPMU_OK);
}

static void leave(void)
{
    assert_int_equal(upmu_cpu_leave_guest(&f.cpu[0]), UPMU_OK);
}

/* Session i of a world, attached. */
static void attach(unsigned i, enum upmu_world world, const char *list, uint64_t period)
{
    assert_int_equal(upmu_session_world(&f.sessions[i], world), UPMU_OK);
    host_add(&f, i, list, period);
    host_attach(&f, i, 0);
}

static void start(unsigned i)
{
    assert_int_equal(upmu_session_start(&f.sessions[i]), UPMU_OK);
}

static void counts(unsigned i, uint64_t value)
{
    struct upmu_count count = host_count(&f.sessions[i], 0);

    if (count.raw != value || count.quality != UPMU_QUALITY_EXACT)
        fail_msg("%s: session %u has %llu, of quality %u, instead of %llu", f.sim.profile->name, i,
                 (unsigned long long)count.raw, (unsigned)count.quality, (unsigned long long)value);
}

/* 1,000 instructions in guests and 2,000 in the host, in ten entries. */
static void cross_ten_times(void)
{
    for (unsigned i = 0; i < 10; i++) {
        host_run(&f, 100);
        enter();
        host_run(&f, 100);
        leave();
        host_run(&f, 100);
    }
}

static void host_and_guest_are_counted_apart(void **state)
{
    (void)state;
    for (const struct profile *p = profiles; p < profiles + PROFILES; p++) {
        host_set_up(&f, p->name);
        attach(0, UPMU_WORLD_HOST, "instructions", 0);
        attach(1, UPMU_WORLD_GUEST, "branches", 0);
        start(0);
        start(1);
        cross_ten_times();
        counts(0, 2000);
        counts(1, 500);
        host_end(&f);
    }
}

/* One write for all counters or one for each; none where no session of a world runs. */
static void an_entry_is_one_write(void **state)
{
    (void)state;
    for (const struct profile *p = profiles; p < profiles + PROFILES; p++) {
        host_set_up(&f, p->name);
        host_forget_cost(&f);
        enter();
        leave();
        host_costs(&f, "nothing runs", 0, 0);
        attach(0, UPMU_WORLD_HOST, "instructions", 0);
        attach(1, UPMU_WORLD_GUEST, "branches", 0);
        host_forget_cost(&f);
        enter();
        leave();
        host_costs(&f, "nothing is started", 0, 0);
        start(0);
        start(1);
        enter();
        leave(); /* (The first entry writes the guest's select, which the start has put off.) */
        host_forget_cost(&f);
        enter();
        host_costs(&f, "entry", p->each ? 2 : 1, 0);
        enter();
        host_costs(&f, "in the guest already", 0, 0);
        leave();
        host_costs(&f, "exit", p->each ? 2 : 1, 0);
        leave();
        host_costs(&f, "in the host already", 0, 0);
        host_end(&f);
    }
}

static void options_are_checked(void **state)
{
    (void)state;
    memset(&f, 0, sizeof f);
    assert_int_equal(upmu_cpu_enter_guest(&f.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_cpu_leave_guest(&f.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_GUEST), 0);
    assert_int_equal(upmu_cpu_world_by_hardware(&f.cpu[0], true), UPMU_ERR_NO_PMU);
    host_set_up(&f, "k8_revf");
    assert_int_equal(upmu_cpu_world_by_hardware(&f.cpu[0], true), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_GUEST), 0);
    host_end(&f);
    host_set_up(&f, "skylake");
    assert_int_equal(upmu_session_world(&f.sessions[0], (enum upmu_world)3), UPMU_ERR_INVALID);
    attach(0, UPMU_WORLD_GUEST, "instructions", 0);
    assert_int_equal(upmu_session_world(&f.sessions[0], UPMU_WORLD_HOST), UPMU_ERR_STATE);
    assert_int_equal(upmu_cpu_world_by_hardware(&f.cpu[0], true), UPMU_ERR_STATE);
    host_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_and_guest_are_counted_apart),
        cmocka_unit_test(an_entry_is_one_write),
        cmocka_unit_test(options_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
