/* SPDX-License-Identifier: MIT */
/*
 * What operations cost, in register accesses, exactly, on each CPU of two: what the
 * silicon model saw and what the library says of itself.
 */
#include <upmu/event.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include "tests/common/host.h"

/* A profile, as many events as it has general counters, and the same for user code only. */
struct profile {
    const char *name;
    unsigned general;
    bool global;
    const char *generals;
    const char *changed;
};

#define EVENTS2 "branches,cache-references"
#define EVENTS4 EVENTS2 ",cache-misses,bus-cycles"
#define CHANGED2 "branches:u,cache-references:u"
#define CHANGED4 CHANGED2 ",cache-misses:u,bus-cycles:u"
static const struct profile profiles[] = {
    {"core2", 2, true, EVENTS2, CHANGED2},   {"sandybridge", 4, true, EVENTS4, CHANGED4},
    {"skylake", 4, true, EVENTS4, CHANGED4}, {"icelake", 4, true, EVENTS4, CHANGED4},
    {"version1", 2, false, EVENTS2, CHANGED2},
};
#define PROFILES (sizeof profiles / sizeof profiles[0])

static struct host_cost seen_by_model(const struct host *f)
{
    return (struct host_cost){f->sim.access_count[UPMU_SIM_WRMSR], f->sim.access_count[UPMU_SIM_RDMSR],
                         f->sim.access_count[UPMU_SIM_RDPMC], f->sim.access_count[UPMU_SIM_REARM]};
}

/* What the library counted, handlers included. */
static struct host_cost seen_by_library(const struct host *f)
{
    struct host_cost cost = {0, 0, 0, 0};

    for (unsigned i = 0; i < 2; i++) {
        const struct upmu_bank *bank = &f->cpu[i].meter.bank;

        cost.writes += bank->accesses.writes + bank->handler_accesses.writes;
        cost.reads += bank->accesses.reads + bank->handler_accesses.reads;
        cost.rdpmcs += bank->accesses.rdpmcs + bank->handler_accesses.rdpmcs;
        cost.rearms += bank->accesses.rearms + bank->handler_accesses.rearms;
    }
    return cost;
}

static void forget_cost(struct host *f)
{
    memset(f->sim.access_count, 0, sizeof f->sim.access_count);
    for (unsigned i = 0; i < 2; i++) {
        memset(&f->cpu[i].meter.bank.accesses, 0, sizeof f->cpu[i].meter.bank.accesses);
        memset(&f->cpu[i].meter.bank.handler_accesses, 0, sizeof f->cpu[i].meter.bank.handler_accesses);
    }
}

static void same_cost(const char *where, struct host_cost cost, struct host_cost expected)
{
    if (memcmp(&cost, &expected, sizeof cost))
        fail_msg("%s: %u W %u R %u P %u LVT instead of %u W %u R %u P %u LVT", where, cost.writes, cost.reads,
                 cost.rdpmcs, cost.rearms, expected.writes, expected.reads, expected.rdpmcs, expected.rearms);
}

/* Since forget_cost(). */
static void costs(struct host *f, unsigned writes, unsigned rdpmcs)
{
    struct host_cost expected = {writes, 0, rdpmcs, 0};

    same_cost(f->sim.profile->name, seen_by_model(f), expected);
    same_cost("the library's own count", seen_by_library(f), expected);
    forget_cost(f);
}

static struct upmu_region region;

static void tear_down(struct host *f)
{
    for (unsigned i = 0; i < 3; i++)
        if (f->sessions[i].meter) {
            upmu_sim_switch_cpu(&f->sim, f->sessions[i].meter == &f->cpu[1].meter);
            assert_int_equal(upmu_session_detach(&f->sessions[i]), UPMU_OK, i);
        }
    host_end(f);
}

static void add(struct upmu_session *session, const char *list, uint64_t period)
{
    struct upmu_sampling sampling = {.period = period};

    assert_int_equal(upmu_set_add(&session->set, list, period ? &sampling : NULL), UPMU_OK);
}

static void attach(struct host *f, unsigned i, unsigned cpu)
{
    assert_int_equal(upmu_session_attach_cpu(&f->sessions[i], &f->cpu[cpu]), UPMU_OK, i, cpu);
}

static void start(struct host *f, unsigned i)
{
    assert_int_equal(upmu_session_start(&f->sessions[i]), UPMU_OK, i);
}

static void stop(struct host *f, unsigned i)
{
    assert_int_equal(upmu_session_stop(&f->sessions[i]), UPMU_OK, i);
}

static void work(struct host *f)
{
    upmu_sim_events(&f->sim, &(struct upmu_sim_burst){.instructions = 5000,
                                                      .cycles = 9000,
                                                      .branches = 1000,
                                                      .mispredicts = 100,
                                                      .llc_references = 60,
                                                      .llc_misses = 10,
                                                      .ip = 0x1000,
                                                      .ip_step = 4});
}

/* Runs `test` for each profile on CPU 0, on CPU 1, and on CPU 1 while CPU 0 counts. */
static void on_each(void (*test)(struct host *f, const struct profile *profile, unsigned cpu))
{
    for (unsigned p = 0; p < PROFILES; p++)
        for (unsigned k = 0; k < 3; k++) {
            struct host f;
            unsigned cpu = k > 0;

            host_set_up_two(&f, profiles[p].name);
            if (k == 2) {
                upmu_sim_switch_cpu(&f.sim, 0);
                add(&f.sessions[2], profiles[p].generals, 0);
                attach(&f, 2, 0);
                start(&f, 2);
            }
            upmu_sim_switch_cpu(&f.sim, cpu);
            forget_cost(&f);
            test(&f, &profiles[p], cpu);
            tear_down(&f);
        }
}

/* ---- Counting ---- */

static void start_stop_read(struct host *f, const struct profile *profile, unsigned cpu)
{
    unsigned n = profile->general, gates = profile->global ? 1 : n;
    struct upmu_count counts[UPMU_SET_EVENTS];

    add(&f->sessions[0], profile->generals, 0);
    attach(f, 0, cpu);
    forget_cost(f);
    for (unsigned round = 0; round < 3; round++) {
        start(f, 0);
        costs(f, gates, 0);
        work(f);
        assert_int_equal(upmu_set_read(&f->sessions[0].set, 0, n, counts), UPMU_OK, n);
        assert_int_equal(counts[0].value, (round + 1) * 1000);
        costs(f, 0, n);
        assert_int_equal(upmu_set_read(&f->sessions[0].set, 1, 1, counts), UPMU_OK);
        costs(f, 0, 1);
        stop(f, 0);
        costs(f, gates, n);
        assert_int_equal(upmu_set_read(&f->sessions[0].set, 0, n, counts), UPMU_OK, n);
        costs(f, 0, 0);
        /* Doing it again does nothing. */
        stop(f, 0);
        costs(f, 0, 0);
    }
    assert_int_equal(upmu_session_detach(&f->sessions[0]), UPMU_OK);
    forget_cost(f);
    assert_int_equal(upmu_set_read(&f->sessions[0].set, 0, n, counts), UPMU_OK, n);
    assert_int_equal(counts[0].value, 3000);
    costs(f, 0, 0);
}

static void start_stop_and_read_cost_what_is_promised(void **state)
{
    (void)state;
    on_each(start_stop_read);
}

static void one_write_for_fixed_and_general(struct host *f, const struct profile *profile, unsigned cpu)
{
    unsigned n = profile->general + 2;

    if (!profile->global)
        return;
    add(&f->sessions[0], profile->generals, 0);
    add(&f->sessions[0], "instructions,cycles", 0);
    attach(f, 0, cpu);
    assert_true(f->sessions[0].counters >> 16);
    forget_cost(f);
    start(f, 0);
    costs(f, 1, 0);
    stop(f, 0);
    costs(f, 1, n);
}

static void one_write_starts_fixed_and_general_counters(void **state)
{
    (void)state;
    on_each(one_write_for_fixed_and_general);
}

static void two_sessions_alike(struct host *f, const struct profile *profile, unsigned cpu)
{
    unsigned n = profile->general, gates = profile->global ? 1 : n;

    for (unsigned i = 0; i < 2; i++) {
        add(&f->sessions[i], profile->generals, 0);
        attach(f, i, cpu);
    }
    forget_cost(f);
    for (unsigned turn = 0; turn < 6; turn++) {
        start(f, turn & 1u);
        assert_int_equal(f->sessions[0].counters, f->sessions[1].counters);
        costs(f, gates, n);
        start(f, turn & 1u);
        costs(f, 0, 0);
        stop(f, turn & 1u);
        costs(f, gates, n);
        /* No other session ran in between. */
        start(f, turn & 1u);
        costs(f, gates, 0);
        stop(f, turn & 1u);
        costs(f, gates, n);
    }
}

/* B's first start comes after its attach, when A had not run yet: the bases are as fresh as they can be. */
static void a_counter_that_ran_for_another_session_costs_one_more_read(void **state)
{
    (void)state;
    on_each(two_sessions_alike);
}

static void region_costs(struct host *f, const struct profile *profile, unsigned cpu)
{
    unsigned n = profile->general;

    assert_int_equal(upmu_region_open(&region, &f->cpu[cpu], profile->generals), UPMU_OK, cpu);
    forget_cost(f);
    for (unsigned round = 0; round < 3; round++) {
        assert_int_equal(upmu_region_begin(&region), UPMU_OK);
        costs(f, 0, n);
        work(f);
        assert_int_equal(upmu_region_end(&region), UPMU_OK);
        assert_int_equal(region.count[0].value, 1000);
        costs(f, 0, n);
    }
    assert_int_equal(upmu_region_close(&region), UPMU_OK);
}

static void region_begin_and_end_read_each_counter_once(void **state)
{
    (void)state;
    on_each(region_costs);
}

/* ---- Changed configuration ---- */

static void change_selects(struct host *f, const struct profile *profile, unsigned cpu)
{
    unsigned n = profile->general;

    add(&f->sessions[0], profile->generals, 0);
    add(&f->sessions[1], profile->changed, 0);
    attach(f, 0, cpu);
    attach(f, 1, cpu);
    start(f, 0);
    forget_cost(f);
    for (unsigned turn = 0; turn < 4; turn++) {
        work(f);
        stop(f, turn & 1u);
        start(f, !(turn & 1u));
        assert_int_equal(f->sessions[0].counters, f->sessions[1].counters);
        costs(f, profile->global ? 2 + n : 2 * n, 2 * n);
    }
}

static void a_changed_select_costs_a_write_and_a_read_or_two_ungated(void **state)
{
    (void)state;
    on_each(change_selects);
}

static void change_fixed(struct host *f, const struct profile *profile, unsigned cpu)
{
    if (!profile->global)
        return;
    add(&f->sessions[0], "instructions,cycles", 0);
    add(&f->sessions[1], "instructions:u,cycles:u", 0);
    attach(f, 0, cpu);
    attach(f, 1, cpu);
    start(f, 0);
    forget_cost(f);
    for (unsigned turn = 0; turn < 4; turn++) {
        stop(f, turn & 1u);
        start(f, !(turn & 1u));
        assert_int_equal(f->sessions[0].counters, UINT32_C(3) << 16);
        assert_int_equal(f->sessions[1].counters, UINT32_C(3) << 16);
        costs(f, 3, 4);
    }
}

static void changed_fixed_counters_cost_one_write_together(void **state)
{
    (void)state;
    on_each(change_fixed);
}

static void change_four_and_one(struct host *f, const struct profile *profile, unsigned cpu)
{
    if (!profile->global || profile->general != 4)
        return;
    add(&f->sessions[0], profile->generals, 0);
    add(&f->sessions[0], "instructions", 0);
    add(&f->sessions[1], profile->changed, 0);
    add(&f->sessions[1], "instructions:u", 0);
    attach(f, 0, cpu);
    attach(f, 1, cpu);
    start(f, 0);
    forget_cost(f);
    for (unsigned turn = 0; turn < 4; turn++) {
        stop(f, turn & 1u);
        start(f, !(turn & 1u));
        costs(f, 7, 10);
    }
}

static void four_general_and_one_fixed_change_in_7_writes_and_10_reads(void **state)
{
    (void)state;
    on_each(change_four_and_one);
}

static void add_offcore(struct host *f, unsigned i, unsigned cpu, uint64_t payload)
{
    struct upmu_event event;

    assert_int_equal(upmu_event_raw(f->cpu[cpu].meter.pmu, 0x4301b7, payload, 0, &event), UPMU_OK, cpu);
    assert_int_equal(upmu_set_add_event(&f->sessions[i].set, &event, NULL), UPMU_OK, i);
    attach(f, i, cpu);
}

static void a_changed_payload_costs_one_write(void **state)
{
    static const char *const names[] = {"sandybridge", "skylake", "icelake"};

    (void)state;
    for (unsigned p = 0; p < 3; p++)
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            struct host f;

            host_set_up_two(&f, names[p]);
            upmu_sim_switch_cpu(&f.sim, cpu);
            add_offcore(&f, 0, cpu, 0x0101);
            add_offcore(&f, 1, cpu, 0x0402);
            start(&f, 0);
            stop(&f, 0);
            start(&f, 1);
            forget_cost(&f);
            for (unsigned turn = 0; turn < 4; turn++) {
                stop(&f, !(turn & 1u));
                start(&f, turn & 1u);
                costs(&f, 3, 2);
            }
            tear_down(&f);
        }
}

/* ---- Sampling ---- */

static void sampling_switch(struct host *f, const struct profile *profile, unsigned cpu)
{
    unsigned n = profile->general;

    add(&f->sessions[0], "branches", 1000000);
    add(&f->sessions[1], "branches:u", 1000000);
    for (unsigned i = 0; i < 2; i++) {
        const char *rest = strchr(i ? profile->changed : profile->generals, ',') + 1;

        add(&f->sessions[i], rest, 0);
        assert_int_equal(upmu_session_ring(&f->sessions[i], f->rings[i], sizeof f->rings[i]), UPMU_OK, i);
        attach(f, i, cpu);
    }
    start(f, 0);
    forget_cost(f);
    for (unsigned turn = 0; turn < 4; turn++) {
        work(f);
        stop(f, turn & 1u);
        start(f, !(turn & 1u));
        /* The sampling counter is loaded instead of read. */
        costs(f, (profile->global ? 2 + n : 2 * n) + 1, n + n - 1);
    }
}

static void a_sampling_counter_costs_one_more_write_a_switch(void **state)
{
    (void)state;
    on_each(sampling_switch);
}

static void sampling_restart(struct host *f, const struct profile *profile, unsigned cpu)
{
    add(&f->sessions[0], "branches", 1000000);
    assert_int_equal(upmu_session_ring(&f->sessions[0], f->rings[0], sizeof f->rings[0]), UPMU_OK);
    attach(f, 0, cpu);
    forget_cost(f);
    (void)profile;
    for (unsigned round = 0; round < 3; round++) {
        start(f, 0);
        costs(f, 1, 0);
        work(f);
        stop(f, 0);
        costs(f, 1, 1);
    }
}

static void a_sampling_counter_in_its_old_place_goes_on_where_it_stopped(void **state)
{
    (void)state;
    on_each(sampling_restart);
}

static void interrupt_cost(struct host *f, const struct profile *profile, unsigned cpu)
{
    for (unsigned s = 1; s <= 2; s++) {
        /* The first of the sampling events overflows, alone. */
        add(&f->sessions[0], "branches", 300);
        if (s == 2)
            add(&f->sessions[0], "cache-references", 1000000);
        if (profile->general > s)
            add(&f->sessions[0], "cache-misses", 0);
        assert_int_equal(upmu_session_ring(&f->sessions[0], f->rings[0], sizeof f->rings[0]), UPMU_OK);
        attach(f, 0, cpu);
        start(f, 0);
        f->answered[UPMU_PMI_HANDLED] = 0;
        work(f);
        assert_int_equal(f->answered[UPMU_PMI_HANDLED], 3);
        same_cost(profile->name, f->handler,
                  profile->global ? (struct host_cost){4, 1, s, 1} : (struct host_cost){3, 0, s + 1, 1});
        assert_int_equal(upmu_session_detach(&f->sessions[0]), UPMU_OK);
        assert_int_equal(upmu_session_init(&f->sessions[0], &f->machine), UPMU_OK);
    }
}

/*
 * With global control: close, load, acknowledge, open, one status read, one read per
 * sampling counter.  Without it the value tells which counter overflowed, and only
 * that one is closed, read again (it ran until then), loaded and opened.
 */
static void an_overflow_costs_four_writes_three_without_global_control(void **state)
{
    (void)state;
    on_each(interrupt_cost);
}

/* ---- Nothing before, nothing after ---- */

static void making_machines_and_sessions_touches_no_register(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        struct host f;
        struct upmu_machine machine;
        struct upmu_session session;
        struct upmu_dry_run dry = {NULL, 0, 0};

        host_set_up_two(&f, profiles[p].name);
        forget_cost(&f);
        assert_int_equal(upmu_machine_init(&machine, upmu_sim_port(&f.sim)), UPMU_OK);
        assert_int_equal(upmu_session_init(&session, &f.machine), UPMU_OK);
        add(&session, "branches", 1000);
        add(&session, "cache-references", 0);
        assert_int_equal(upmu_session_ring(&session, f.ring, sizeof f.ring), UPMU_OK);
        assert_int_equal(upmu_session_dry_run(&session, f.cpu[0].meter.pmu, &dry), UPMU_OK);
        assert_compare(dry.count, >, 2);
        costs(&f, 0, 0);
        tear_down(&f);
    }
}

static void nothing_left(struct host *f, const struct profile *profile, unsigned cpu)
{
    struct upmu_why why;

    add(&f->sessions[0], profile->generals, 0);
    if (profile->global)
        add(&f->sessions[0], "instructions,cycles", 0);
    for (unsigned round = 0; round < 2; round++) {
        attach(f, 0, cpu);
        start(f, 0);
        work(f);
        if (round)
            stop(f, 0);
        assert_int_equal(upmu_session_detach(&f->sessions[0]), UPMU_OK);
        for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++) {
            assert_false(upmu_sim_runs(&f->sim, cpu, i), i);
            if (upmu_cpu_owner(&f->cpu[cpu], i) != UPMU_OWNER_ABSENT)
                assert_int_equal(upmu_cpu_owner(&f->cpu[cpu], i), UPMU_OWNER_FREE, cpu, i);
        }
        for (unsigned i = 0; i < profile->general; i++)
            assert_int_equal(upmu_sim_peek(&f->sim, cpu, 0x186 + i), 0, i);
        assert_int_equal(upmu_sim_peek(&f->sim, cpu, 0x38D), 0);
        assert_int_equal(upmu_sim_peek(&f->sim, cpu, 0x38F), 0);
        assert_int_equal(upmu_cpu_verify(&f->cpu[cpu], &why), UPMU_OK, cpu);
    }
}

static void detach_leaves_nothing_behind(void **state)
{
    (void)state;
    on_each(nothing_left);
}

static void attach_ten_times(struct host *f, const struct profile *profile, unsigned cpu)
{
    unsigned n = profile->general, gates = profile->global ? 1 : n;
    struct host_cost first = {0, 0, 0, 0};

    add(&f->sessions[0], profile->generals, 0);
    for (unsigned round = 0; round < 10; round++) {
        struct host_cost cost;

        forget_cost(f);
        attach(f, 0, cpu);
        cost = seen_by_model(f);
        if (!round)
            first = cost;
        same_cost("attach", cost, first);
        forget_cost(f);
        start(f, 0);
        costs(f, gates, 0);
        stop(f, 0);
        costs(f, gates, n);
        assert_int_equal(upmu_session_detach(&f->sessions[0]), UPMU_OK);
    }
}

static void start_costs_the_same_after_the_tenth_attach(void **state)
{
    (void)state;
    on_each(attach_ten_times);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_stop_and_read_cost_what_is_promised),
        cmocka_unit_test(one_write_starts_fixed_and_general_counters),
        cmocka_unit_test(a_counter_that_ran_for_another_session_costs_one_more_read),
        cmocka_unit_test(region_begin_and_end_read_each_counter_once),
        cmocka_unit_test(a_changed_select_costs_a_write_and_a_read_or_two_ungated),
        cmocka_unit_test(changed_fixed_counters_cost_one_write_together),
        cmocka_unit_test(four_general_and_one_fixed_change_in_7_writes_and_10_reads),
        cmocka_unit_test(a_changed_payload_costs_one_write),
        cmocka_unit_test(a_sampling_counter_costs_one_more_write_a_switch),
        cmocka_unit_test(a_sampling_counter_in_its_old_place_goes_on_where_it_stopped),
        cmocka_unit_test(an_overflow_costs_four_writes_three_without_global_control),
        cmocka_unit_test(making_machines_and_sessions_touches_no_register),
        cmocka_unit_test(detach_leaves_nothing_behind),
        cmocka_unit_test(start_costs_the_same_after_the_tenth_attach),
    };

    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
