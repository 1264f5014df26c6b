/* SPDX-License-Identifier: MIT */
/*
 * What a thread switch costs, in register accesses, exactly, on each profile, and whose
 * the events are.
 */
#include <stdio.h>
#include <upmu/session.h>

#include "tests/common/host.h"

#define THREADS 3 /* with sessions of their own; two more run at the start, and have none */

/* `general` events that fill the general counters; the same, changed by a modifier. */
struct profile {
    const char *name;
    unsigned general;
    bool global; /* one register gates all counters */
    const char *generals;
    const char *changed;
    const char *one;   /* the second differs */
    unsigned each;     /* writes for a changed counter, where each has a gate of its own */
    bool fixed;        /* has fixed counters */
};

#define EVENTS2 "branches,cache-references"
#define EVENTS4 EVENTS2 ",cache-misses,bus-cycles"
#define CHANGED2 "branches:u,cache-references:u"
#define CHANGED4 CHANGED2 ",cache-misses:u,bus-cycles:u"
#define ONE2 "branches,branch-misses"
#define ONE4 "branches,branch-misses,cache-misses,bus-cycles"
#define AMD4 EVENTS2 ",cache-misses,instructions"
#define AMD_CHANGED4 CHANGED2 ",cache-misses:u,instructions:u"
#define AMD_ONE4 "branches,branch-misses,cache-misses,instructions"
static const struct profile profiles[] = {
    {"core2", 2, true, EVENTS2, CHANGED2, ONE2, 0, true},
    {"sandybridge", 4, true, EVENTS4, CHANGED4, ONE4, 0, true},
    {"skylake", 4, true, EVENTS4, CHANGED4, ONE4, 0, true},
    {"icelake", 4, true, EVENTS4, CHANGED4, ONE4, 0, true},
    {"lnl_p", 4, true, EVENTS4, CHANGED4, ONE4, 0, false},
    {"zen4", 4, true, AMD4, AMD_CHANGED4, AMD_ONE4, 0, false},
    {"version1", 2, false, EVENTS2, CHANGED2, ONE2, 2, false},
    {"k8_revf", 4, false, AMD4, AMD_CHANGED4, AMD_ONE4, 2, false},
    {"barcelona", 4, false, AMD4, AMD_CHANGED4, AMD_ONE4, 2, false},
    {"zen1", 4, false, AMD4, AMD_CHANGED4, AMD_ONE4, 2, false},
    {"northwood_smtoff", 2, false, EVENTS2, CHANGED2, ONE2, 3, false},
    {"prescott", 2, false, EVENTS2, CHANGED2, ONE2, 3, false},
};
#define PROFILES (sizeof profiles / sizeof profiles[0])

static void set_up(struct host *f, const char *profile)
{
    host_set_up_two(f, profile);
    host_threads(f, THREADS + 2);
}

static void tear_down(struct host *f)
{
    for (unsigned i = 0; i <= THREADS; i++)
        assert_int_equal(upmu_thread_exit(&f->threads[i]), UPMU_OK, i);
    host_end_idle(f);
}

/* Thread i has these events, started; attached while it does not run. */
static void monitor(struct host *f, unsigned i, const char *list, uint64_t period)
{
    host_add(f, i, list, period);
    assert_int_equal(upmu_session_attach_thread(&f->sessions[i], &f->threads[i], NULL), UPMU_OK, i);
    assert_int_equal(upmu_session_start(&f->sessions[i]), UPMU_OK, i);
    assert_int_equal(f->sessions[i].state, UPMU_SESSION_WAITING, i);
}

static void work(struct host *f, uint64_t branches)
{
    upmu_sim_events(&f->sim, &(struct upmu_sim_burst){.instructions = 5 * branches,
                                                      .cycles = 9 * branches,
                                                      .branches = branches,
                                                      .mispredicts = branches / 10,
                                                      .llc_references = branches / 20,
                                                      .llc_misses = branches / 50,
                                                      .user = true,
                                                      .ip = 0x1000,
                                                      .ip_step = 4});
}

static uint64_t value(struct host *f, unsigned i, unsigned event)
{
    struct upmu_count count;

    assert_int_equal(upmu_set_read(&f->sessions[i].set, event, 1, &count), UPMU_OK, i);
    if (count.quality != UPMU_QUALITY_EXACT)
        fail_msg("%s: thread %u, event %u: quality %d, %llu of %llu ns", f->sim.profile->name, i, event,
                 (int)count.quality, (unsigned long long)count.running_ns, (unsigned long long)count.enabled_ns);
    return count.value;
}

static void on_each(void (*test)(struct host *f, const struct profile *profile))
{
    for (unsigned p = 0; p < PROFILES; p++) {
        struct host f;

        set_up(&f, profiles[p].name);
        test(&f, &profiles[p]);
        tear_down(&f);
    }
}

static void two_alike(struct host *f, const struct profile *profile)
{
    unsigned n = profile->general;

    monitor(f, 0, profile->generals, 0);
    monitor(f, 1, profile->generals, 0);
    host_thread_switch(f, 0, 0);
    host_thread_switch(f, 0, 1);
    host_forget_cost(f);
    for (unsigned round = 0; round < 10; round++) {
        work(f, 1000);
        host_thread_switch(f, 0, 0);
        host_costs(f, "the same configuration", 0, n);
        work(f, 300);
        host_thread_switch(f, 0, 1);
        host_costs(f, "the same configuration", 0, n);
    }
    host_thread_switch(f, 0, THREADS);
    assert_int_equal(value(f, 0, 0), 3000);
    assert_int_equal(value(f, 1, 0), 10000);
    assert_int_equal(value(f, 0, 1), 150);
    assert_int_equal(value(f, 1, 1), 500);
}

static void the_same_configuration_on_both_sides_is_a_read_per_counter(void **state)
{
    (void)state;
    on_each(two_alike);
}

static void two_unlike(struct host *f, const struct profile *profile)
{
    unsigned n = profile->general, writes = profile->global ? 2 + n : profile->each * n;

    monitor(f, 0, profile->generals, 0);
    monitor(f, 1, profile->changed, 0);
    host_thread_switch(f, 0, 0);
    host_thread_switch(f, 0, 1);
    host_forget_cost(f);
    for (unsigned round = 0; round < 10; round++) {
        work(f, 1000);
        host_thread_switch(f, 0, 0);
        host_costs(f, "all changed", writes, 2 * n);
        work(f, 300);
        host_thread_switch(f, 0, 1);
        host_costs(f, "all changed", writes, 2 * n);
    }
    host_thread_switch(f, 0, THREADS);
    assert_int_equal(value(f, 0, 0), 3000);
    assert_int_equal(value(f, 1, 0), 10000);
}

static void a_changed_configuration_is_two_writes_and_one_per_select(void **state)
{
    (void)state;
    on_each(two_unlike);
}

static void five_events(struct host *f, const struct profile *profile)
{
    char list[128], changed[128];

    if (!profile->fixed)
        return;
    snprintf(list, sizeof list, "%s,instructions", profile->generals);
    snprintf(changed, sizeof changed, "%s,instructions:u", profile->changed);
    monitor(f, 0, list, 0);
    monitor(f, 1, changed, 0);
    host_thread_switch(f, 0, 0);
    host_thread_switch(f, 0, 1);
    host_forget_cost(f);
    work(f, 1000);
    host_thread_switch(f, 0, 0);
    host_costs(f, "general and fixed, all changed", 3 + profile->general, 2 * profile->general + 2);
    work(f, 1000);
    host_thread_switch(f, 0, 1);
    host_costs(f, "general and fixed, all changed", 3 + profile->general, 2 * profile->general + 2);
    host_thread_switch(f, 0, THREADS);
    assert_int_equal(value(f, 0, profile->general), 5000);
    assert_int_equal(value(f, 1, profile->general), 5000);
}

static void four_general_and_one_fixed_cost_seven_writes_and_ten_reads(void **state)
{
    (void)state;
    on_each(five_events);
}

static void one_changes(struct host *f, const struct profile *profile)
{
    unsigned n = profile->general, writes = profile->global ? 3 : profile->each;

    /* A Pentium 4's other event has another counter, and its own stays loaded. */
    if (profile->each == 3)
        return;
    monitor(f, 0, profile->generals, 0);
    monitor(f, 1, profile->one, 0);
    host_thread_switch(f, 0, 0);
    host_thread_switch(f, 0, 1);
    host_forget_cost(f);
    for (unsigned round = 0; round < 4; round++) {
        work(f, 1000);
        host_thread_switch(f, 0, round & 1u);
        host_costs(f, "one changed", writes, n + 1);
    }
    host_thread_switch(f, 0, THREADS);
}

static void one_changed_select_costs_one_more_read(void **state)
{
    (void)state;
    on_each(one_changes);
}

static void alone(struct host *f, const struct profile *profile)
{
    unsigned n = profile->general, gates = profile->global ? 1 : n;

    monitor(f, 0, profile->generals, 0);
    host_thread_switch(f, 0, 0);
    host_forget_cost(f);
    for (unsigned round = 0; round < 3; round++) {
        work(f, 1000);
        host_thread_switch(f, 0, THREADS);
        host_costs(f, "to a thread that is not monitored", gates, n);
        work(f, 77);
        host_thread_switch(f, 0, 0);
        host_costs(f, "from one", gates, 0);
    }
    host_thread_switch(f, 0, THREADS);
    assert_int_equal(value(f, 0, 0), 3000);
}

static void an_unmonitored_thread_is_one_write_away(void **state)
{
    (void)state;
    on_each(alone);
}

static void samplers(struct host *f, const struct profile *profile)
{
    unsigned n = profile->general;
    struct upmu_sample sample;
    unsigned samples = 0;

    monitor(f, 0, profile->generals, 0);
    assert_int_equal(upmu_set_add(&f->sessions[1].set, "branches", &(struct upmu_sampling){.period = 700}), UPMU_OK);
    monitor(f, 1, strchr(profile->generals, ',') + 1, 0);
    assert_int_equal(upmu_session_detach(&f->sessions[1]), UPMU_OK);
    assert_int_equal(upmu_session_ring(&f->sessions[1], f->rings[1], sizeof f->rings[1]), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&f->sessions[1], &f->threads[1], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&f->sessions[1]), UPMU_OK);
    host_thread_switch(f, 0, 0);
    host_thread_switch(f, 0, 1);
    host_forget_cost(f);
    for (unsigned round = 0; round < 10; round++) {
        work(f, 500);
        host_forget_cost(f);
        host_thread_switch(f, 0, 0);
        /* Its counter is closed, and closed is what the other's has to be opened from. */
        if (profile->global)
            host_costs(f, "from a sampler", 2, n + 1);
        work(f, 500);
        host_forget_cost(f);
        host_thread_switch(f, 0, 1);
        if (profile->global)
            host_costs(f, "to a sampler", 3, n);
    }
    host_thread_switch(f, 0, THREADS);
    while (upmu_ring_next(&f->sessions[1].ring, &sample))
        samples++;
    assert_int_equal(samples, 5000 / 700);
    assert_int_equal(value(f, 1, 0), 5000);
    assert_int_equal(value(f, 0, 0), 5000);
}

static void sampling_costs_one_more_write_and_no_sample_is_lost(void **state)
{
    (void)state;
    on_each(samplers);
}

static void beside_a_cpu_session(struct host *f, const struct profile *profile)
{
    struct upmu_count count;

    if (!profile->fixed)
        return;
    assert_int_equal(upmu_set_add(&f->sessions[THREADS].set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&f->sessions[THREADS], &f->cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&f->sessions[THREADS]), UPMU_OK);
    monitor(f, 0, profile->generals, 0);
    monitor(f, 1, profile->changed, 0);
    host_thread_switch(f, 0, 0);
    host_thread_switch(f, 0, 1);
    host_forget_cost(f);
    for (unsigned round = 0; round < 4; round++) {
        work(f, 1000);
        host_thread_switch(f, 0, round & 1u);
        host_costs(f, "beside a session of the CPU", 2 + profile->general, 2 * profile->general);
    }
    assert_int_equal(upmu_set_read(&f->sessions[THREADS].set, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.value, 20000);
    assert_int_equal(count.quality, UPMU_QUALITY_EXACT);
    assert_int_equal(upmu_session_detach(&f->sessions[THREADS]), UPMU_OK);
}

static void a_session_of_the_cpu_makes_no_switch_dearer_and_counts_on(void **state)
{
    (void)state;
    on_each(beside_a_cpu_session);
}

/* What runs on has no write either way, beside a thread that is not monitored. */
static void kept_running(struct host *f, const struct profile *profile)
{
    unsigned n = profile->general;

    assert_int_equal(upmu_session_static(&f->sessions[0], true), UPMU_OK);
    monitor(f, 0, profile->generals, 0);
    assert_int_equal(upmu_session_static(&f->sessions[0], true), UPMU_ERR_STATE);
    host_thread_switch(f, 0, 0);
    host_forget_cost(f);
    for (unsigned round = 0; round < 10; round++) {
        work(f, 1000);
        host_thread_switch(f, 0, THREADS);
        host_costs(f, "a static session leaves", 0, n);
        work(f, 333);
        host_thread_switch(f, 0, 0);
        host_costs(f, "a static session comes", 0, n);
    }
    host_thread_switch(f, 0, THREADS);
    assert_int_equal(value(f, 0, 0), 10000);
    /* Another takes its counters, and it is loaded again. */
    monitor(f, 1, profile->changed, 0);
    host_thread_switch(f, 0, 1);
    work(f, 500);
    host_thread_switch(f, 0, 0);
    work(f, 500);
    host_thread_switch(f, 0, THREADS);
    work(f, 500);
    host_thread_switch(f, 0, 1);
    host_thread_switch(f, 0, THREADS);
    assert_int_equal(value(f, 0, 0), 10500);
    assert_int_equal(value(f, 1, 0), 500);
}

static void static_counters_run_on_and_a_switch_only_reads_them(void **state)
{
    (void)state;
    on_each(kept_running);
}

static void detached_ones(struct host *f, const struct profile *profile)
{
    static struct upmu_session many[100];

    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(upmu_session_init(&many[i], &f->machine), UPMU_OK, i);
        assert_int_equal(upmu_set_add(&many[i].set, profile->generals, NULL), UPMU_OK, i);
    }
    two_unlike(f, profile);
}

static void sessions_that_are_attached_nowhere_cost_nothing(void **state)
{
    (void)state;
    on_each(detached_ones);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_configuration_on_both_sides_is_a_read_per_counter),
        cmocka_unit_test(a_changed_configuration_is_two_writes_and_one_per_select),
        cmocka_unit_test(four_general_and_one_fixed_cost_seven_writes_and_ten_reads),
        cmocka_unit_test(one_changed_select_costs_one_more_read),
        cmocka_unit_test(an_unmonitored_thread_is_one_write_away),
        cmocka_unit_test(sampling_costs_one_more_write_and_no_sample_is_lost),
        cmocka_unit_test(a_session_of_the_cpu_makes_no_switch_dearer_and_counts_on),
        cmocka_unit_test(static_counters_run_on_and_a_switch_only_reads_them),
        cmocka_unit_test(sessions_that_are_attached_nowhere_cost_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
