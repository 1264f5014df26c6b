/* SPDX-License-Identifier: MIT */
/*
 * What a thread switch costs, in register accesses, exactly, on each profile, and whose
 * the events are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "port/sim/sim.h"
#include <upmu/upmu.h>

#define THREADS 3

struct fixture {
    struct upmu_sim sim;
    struct upmu_machine machine;
    struct upmu_cpu cpu[2];
    struct upmu_thread thread[THREADS + 1]; /* the last is not monitored */
    struct upmu_session session[THREADS];
    struct upmu_session of_cpu;
    uint64_t ring[THREADS][512];
    unsigned running; /* thread on CPU 0 */
    unsigned interrupts;
};

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

static void deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct fixture *f = sim->test;
    struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};

    if (upmu_handle_pmi(&f->cpu[cpu], &frame) == UPMU_PMI_HANDLED)
        f->interrupts++;
}

static void set_up(struct fixture *f, const char *profile)
{
    memset(f, 0, sizeof *f);
    upmu_sim_init(&f->sim, upmu_sim_profile(profile), 2);
    f->sim.test = f;
    f->sim.deliver = deliver;
    assert_int_equal(upmu_machine_init(&f->machine, upmu_sim_port(&f->sim)), UPMU_OK);
    for (unsigned i = 0; i < 2; i++) {
        upmu_sim_switch_cpu(&f->sim, i);
        upmu_sim_bind_cpu(&f->sim, i, &f->cpu[i]);
        assert_int_equal(upmu_cpu_init(&f->cpu[i], &f->machine, NULL), UPMU_OK);
    }
    upmu_sim_switch_cpu(&f->sim, 0);
    for (unsigned i = 0; i <= THREADS; i++)
        upmu_thread_init(&f->thread[i], 100 + i, 200 + i, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(upmu_session_init(&f->session[i], &f->machine), UPMU_OK);
    assert_int_equal(upmu_session_init(&f->of_cpu, &f->machine), UPMU_OK);
    f->running = THREADS;
}

static void to_thread(struct fixture *f, unsigned next)
{
    assert_int_equal(upmu_thread_switch(&f->cpu[0], &f->thread[f->running], &f->thread[next]), UPMU_OK);
    f->running = next;
}

static void tear_down(struct fixture *f)
{
    for (unsigned i = 0; i <= THREADS; i++)
        assert_int_equal(upmu_thread_exit(&f->thread[i]), UPMU_OK);
    for (unsigned i = 0; i < 2; i++) {
        upmu_sim_switch_cpu(&f->sim, i);
        assert_int_equal(upmu_cpu_fini(&f->cpu[i]), UPMU_OK);
        for (unsigned n = 0; n < UPMU_SIM_COUNTERS; n++)
            assert_false(upmu_sim_runs(&f->sim, i, n));
    }
    if (f->sim.violation_count)
        fail_msg("%s (register %x)", f->sim.first_violation.text, (unsigned)f->sim.first_violation.address);
}

static void forget_cost(struct fixture *f)
{
    memset(f->sim.access_count, 0, sizeof f->sim.access_count);
}

/* Since forget_cost(); both W and P are exact. */
static void costs(struct fixture *f, const char *what, unsigned writes, unsigned reads)
{
    unsigned w = f->sim.access_count[UPMU_SIM_WRMSR];
    unsigned p = f->sim.access_count[UPMU_SIM_RDPMC] + f->sim.access_count[UPMU_SIM_RDMSR];

    if (w != writes || p != reads || f->sim.access_count[UPMU_SIM_REARM])
        fail_msg("%s, %s: %u W %u P instead of %u W %u P", f->sim.profile->name, what, w, p, writes, reads);
    forget_cost(f);
}

/* Thread i has these events, started; attached while it does not run. */
static void monitor(struct fixture *f, unsigned i, const char *list, uint64_t period)
{
    struct upmu_sampling sampling = {.period = period};

    assert_int_equal(upmu_session_add(&f->session[i], list, period ? &sampling : NULL), UPMU_OK);
    if (period)
        assert_int_equal(upmu_session_ring(&f->session[i], f->ring[i], sizeof f->ring[i]), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&f->session[i], &f->thread[i], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&f->session[i]), UPMU_OK);
    assert_int_equal(f->session[i].state, UPMU_SESSION_WAITING);
}

static void work(struct fixture *f, uint64_t branches)
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

static uint64_t value(struct fixture *f, unsigned i, unsigned event)
{
    struct upmu_count count;

    assert_int_equal(upmu_session_read(&f->session[i], event, 1, &count), UPMU_OK);
    if (count.quality != UPMU_QUALITY_EXACT)
        fail_msg("%s: thread %u, event %u: quality %d, %llu of %llu ns", f->sim.profile->name, i, event,
                 (int)count.quality, (unsigned long long)count.running_ns, (unsigned long long)count.enabled_ns);
    return count.value;
}

static void on_each(void (*test)(struct fixture *f, const struct profile *profile))
{
    for (unsigned p = 0; p < PROFILES; p++) {
        struct fixture f;

        set_up(&f, profiles[p].name);
        test(&f, &profiles[p]);
        tear_down(&f);
    }
}

static void two_alike(struct fixture *f, const struct profile *profile)
{
    unsigned n = profile->general;

    monitor(f, 0, profile->generals, 0);
    monitor(f, 1, profile->generals, 0);
    to_thread(f, 0);
    to_thread(f, 1);
    forget_cost(f);
    for (unsigned round = 0; round < 10; round++) {
        work(f, 1000);
        to_thread(f, 0);
        costs(f, "the same configuration", 0, n);
        work(f, 300);
        to_thread(f, 1);
        costs(f, "the same configuration", 0, n);
    }
    to_thread(f, THREADS);
    assert_true(value(f, 0, 0) == 3000);
    assert_true(value(f, 1, 0) == 10000);
    assert_true(value(f, 0, 1) == 150);
    assert_true(value(f, 1, 1) == 500);
}

static void the_same_configuration_on_both_sides_is_one_read_for_each_counter(void **state)
{
    (void)state;
    on_each(two_alike);
}

static void two_unlike(struct fixture *f, const struct profile *profile)
{
    unsigned n = profile->general, writes = profile->global ? 2 + n : profile->each * n;

    monitor(f, 0, profile->generals, 0);
    monitor(f, 1, profile->changed, 0);
    to_thread(f, 0);
    to_thread(f, 1);
    forget_cost(f);
    for (unsigned round = 0; round < 10; round++) {
        work(f, 1000);
        to_thread(f, 0);
        costs(f, "all changed", writes, 2 * n);
        work(f, 300);
        to_thread(f, 1);
        costs(f, "all changed", writes, 2 * n);
    }
    to_thread(f, THREADS);
    assert_true(value(f, 0, 0) == 3000);
    assert_true(value(f, 1, 0) == 10000);
}

static void a_changed_configuration_is_two_writes_and_one_for_each_select(void **state)
{
    (void)state;
    on_each(two_unlike);
}

static void five_events(struct fixture *f, const struct profile *profile)
{
    char list[128], changed[128];

    if (!profile->fixed)
        return;
    snprintf(list, sizeof list, "%s,instructions", profile->generals);
    snprintf(changed, sizeof changed, "%s,instructions:u", profile->changed);
    monitor(f, 0, list, 0);
    monitor(f, 1, changed, 0);
    to_thread(f, 0);
    to_thread(f, 1);
    forget_cost(f);
    work(f, 1000);
    to_thread(f, 0);
    costs(f, "general and fixed, all changed", 3 + profile->general, 2 * profile->general + 2);
    work(f, 1000);
    to_thread(f, 1);
    costs(f, "general and fixed, all changed", 3 + profile->general, 2 * profile->general + 2);
    to_thread(f, THREADS);
    assert_true(value(f, 0, profile->general) == 5000);
    assert_true(value(f, 1, profile->general) == 5000);
}

static void four_general_and_one_fixed_cost_seven_writes_and_ten_reads(void **state)
{
    (void)state;
    on_each(five_events);
}

static void one_changes(struct fixture *f, const struct profile *profile)
{
    unsigned n = profile->general, writes = profile->global ? 3 : profile->each;

    /* A Pentium 4's other event has another counter, and its own stays loaded. */
    if (profile->each == 3)
        return;
    monitor(f, 0, profile->generals, 0);
    monitor(f, 1, profile->one, 0);
    to_thread(f, 0);
    to_thread(f, 1);
    forget_cost(f);
    for (unsigned round = 0; round < 4; round++) {
        work(f, 1000);
        to_thread(f, round & 1u);
        costs(f, "one changed", writes, n + 1);
    }
    to_thread(f, THREADS);
}

static void one_changed_select_costs_one_more_read(void **state)
{
    (void)state;
    on_each(one_changes);
}

static void alone(struct fixture *f, const struct profile *profile)
{
    unsigned n = profile->general, gates = profile->global ? 1 : n;

    monitor(f, 0, profile->generals, 0);
    to_thread(f, 0);
    forget_cost(f);
    for (unsigned round = 0; round < 3; round++) {
        work(f, 1000);
        to_thread(f, THREADS);
        costs(f, "to a thread that is not monitored", gates, n);
        work(f, 77);
        to_thread(f, 0);
        costs(f, "from one", gates, 0);
    }
    to_thread(f, THREADS);
    assert_true(value(f, 0, 0) == 3000);
}

static void an_unmonitored_thread_is_one_write_away(void **state)
{
    (void)state;
    on_each(alone);
}

static void samplers(struct fixture *f, const struct profile *profile)
{
    unsigned n = profile->general;
    struct upmu_sample sample;
    unsigned samples = 0;

    monitor(f, 0, profile->generals, 0);
    assert_int_equal(upmu_session_add(&f->session[1], "branches", &(struct upmu_sampling){.period = 700}), UPMU_OK);
    monitor(f, 1, strchr(profile->generals, ',') + 1, 0);
    assert_int_equal(upmu_session_detach(&f->session[1]), UPMU_OK);
    assert_int_equal(upmu_session_ring(&f->session[1], f->ring[1], sizeof f->ring[1]), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&f->session[1], &f->thread[1], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&f->session[1]), UPMU_OK);
    to_thread(f, 0);
    to_thread(f, 1);
    forget_cost(f);
    for (unsigned round = 0; round < 10; round++) {
        work(f, 500);
        forget_cost(f);
        to_thread(f, 0);
        /* Its counter is closed, and closed is what the other's has to be opened from. */
        if (profile->global)
            costs(f, "from a sampler", 2, n + 1);
        work(f, 500);
        forget_cost(f);
        to_thread(f, 1);
        if (profile->global)
            costs(f, "to a sampler", 3, n);
    }
    to_thread(f, THREADS);
    while (upmu_ring_next(&f->session[1].ring, &sample))
        samples++;
    assert_int_equal(samples, 5000 / 700);
    assert_true(value(f, 1, 0) == 5000);
    assert_true(value(f, 0, 0) == 5000);
}

static void sampling_costs_one_more_write_and_no_sample_is_lost(void **state)
{
    (void)state;
    on_each(samplers);
}

static void beside_a_cpu_session(struct fixture *f, const struct profile *profile)
{
    struct upmu_count count;

    if (!profile->fixed)
        return;
    assert_int_equal(upmu_session_add(&f->of_cpu, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&f->of_cpu, &f->cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&f->of_cpu), UPMU_OK);
    monitor(f, 0, profile->generals, 0);
    monitor(f, 1, profile->changed, 0);
    to_thread(f, 0);
    to_thread(f, 1);
    forget_cost(f);
    for (unsigned round = 0; round < 4; round++) {
        work(f, 1000);
        to_thread(f, round & 1u);
        costs(f, "beside a session of the CPU", 2 + profile->general, 2 * profile->general);
    }
    assert_int_equal(upmu_session_read(&f->of_cpu, 0, 1, &count), UPMU_OK);
    assert_true(count.value == 20000);
    assert_int_equal(count.quality, UPMU_QUALITY_EXACT);
    assert_int_equal(upmu_session_detach(&f->of_cpu), UPMU_OK);
}

static void a_session_of_the_cpu_makes_no_switch_dearer_and_counts_on(void **state)
{
    (void)state;
    on_each(beside_a_cpu_session);
}

/* What runs on has no write either way, beside a thread that is not monitored. */
static void kept_running(struct fixture *f, const struct profile *profile)
{
    unsigned n = profile->general;

    assert_int_equal(upmu_session_static(&f->session[0], true), UPMU_OK);
    monitor(f, 0, profile->generals, 0);
    assert_int_equal(upmu_session_static(&f->session[0], true), UPMU_ERR_STATE);
    to_thread(f, 0);
    forget_cost(f);
    for (unsigned round = 0; round < 10; round++) {
        work(f, 1000);
        to_thread(f, THREADS);
        costs(f, "a static session leaves", 0, n);
        work(f, 333);
        to_thread(f, 0);
        costs(f, "a static session comes", 0, n);
    }
    to_thread(f, THREADS);
    assert_true(value(f, 0, 0) == 10000);
    /* Another takes its counters, and it is loaded again. */
    monitor(f, 1, profile->changed, 0);
    to_thread(f, 1);
    work(f, 500);
    to_thread(f, 0);
    work(f, 500);
    to_thread(f, THREADS);
    work(f, 500);
    to_thread(f, 1);
    to_thread(f, THREADS);
    assert_true(value(f, 0, 0) == 10500);
    assert_true(value(f, 1, 0) == 500);
}

static void static_counters_run_on_and_a_switch_only_reads_them(void **state)
{
    (void)state;
    on_each(kept_running);
}

static void detached_ones(struct fixture *f, const struct profile *profile)
{
    static struct upmu_session many[100];

    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(upmu_session_init(&many[i], &f->machine), UPMU_OK);
        assert_int_equal(upmu_session_add(&many[i], profile->generals, NULL), UPMU_OK);
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
        cmocka_unit_test(the_same_configuration_on_both_sides_is_one_read_for_each_counter),
        cmocka_unit_test(a_changed_configuration_is_two_writes_and_one_for_each_select),
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
