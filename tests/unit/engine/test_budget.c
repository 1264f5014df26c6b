/* SPDX-License-Identifier: MIT */
/*
 * What operations cost, in register accesses, exactly, on each CPU of two: what the
 * silicon model saw and what the library says of itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "port/sim/sim.h"
#include <upmu/upmu.h>

/* Writes, MSR reads, RDPMCs, re-arms. */
struct cost {
    unsigned writes, reads, rdpmcs, rearms;
};

struct fixture {
    struct upmu_sim sim;
    struct upmu_machine machine;
    struct upmu_cpu cpu[2];
    struct upmu_session session[3];
    struct upmu_region region;
    uint64_t ring[512];
    uint64_t other_ring[512];
    struct cost interrupt; /* of the last one */
    unsigned interrupts;
};

/* A profile, as many events as it has general counters, the same for user code only, fixed events. */
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

static struct cost seen_by_model(const struct fixture *f)
{
    return (struct cost){f->sim.access_count[UPMU_SIM_WRMSR], f->sim.access_count[UPMU_SIM_RDMSR],
                         f->sim.access_count[UPMU_SIM_RDPMC], f->sim.access_count[UPMU_SIM_REARM]};
}

/* What the library counted, handlers included. */
static struct cost seen_by_library(const struct fixture *f)
{
    struct cost cost = {0, 0, 0, 0};

    for (unsigned i = 0; i < 2; i++) {
        const struct upmu_bank *bank = &f->cpu[i].meter.bank;

        cost.writes += bank->accesses.writes + bank->handler_accesses.writes;
        cost.reads += bank->accesses.reads + bank->handler_accesses.reads;
        cost.rdpmcs += bank->accesses.rdpmcs + bank->handler_accesses.rdpmcs;
        cost.rearms += bank->accesses.rearms + bank->handler_accesses.rearms;
    }
    return cost;
}

static void forget_cost(struct fixture *f)
{
    memset(f->sim.access_count, 0, sizeof f->sim.access_count);
    for (unsigned i = 0; i < 2; i++) {
        memset(&f->cpu[i].meter.bank.accesses, 0, sizeof f->cpu[i].meter.bank.accesses);
        memset(&f->cpu[i].meter.bank.handler_accesses, 0, sizeof f->cpu[i].meter.bank.handler_accesses);
    }
}

static void same_cost(const char *where, struct cost cost, struct cost expected)
{
    if (memcmp(&cost, &expected, sizeof cost))
        fail_msg("%s: %u W %u R %u P %u LVT instead of %u W %u R %u P %u LVT", where, cost.writes, cost.reads,
                 cost.rdpmcs, cost.rearms, expected.writes, expected.reads, expected.rdpmcs, expected.rearms);
}

/* Since forget_cost(). */
static void costs(struct fixture *f, unsigned writes, unsigned rdpmcs)
{
    struct cost expected = {writes, 0, rdpmcs, 0};

    same_cost(f->sim.profile->name, seen_by_model(f), expected);
    same_cost("the library's own count", seen_by_library(f), expected);
    forget_cost(f);
}

static void deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct fixture *f = sim->test;
    struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};
    struct upmu_accesses before = f->cpu[cpu].meter.bank.handler_accesses, after;

    if (upmu_handle_pmi(&f->cpu[cpu], &frame) == UPMU_PMI_HANDLED)
        f->interrupts++;
    after = f->cpu[cpu].meter.bank.handler_accesses;
    f->interrupt = (struct cost){after.writes - before.writes, after.reads - before.reads, after.rdpmcs - before.rdpmcs,
                                 after.rearms - before.rearms};
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
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(upmu_session_init(&f->session[i], &f->machine), UPMU_OK);
}

static void tear_down(struct fixture *f)
{
    for (unsigned i = 0; i < 3; i++)
        if (f->session[i].meter) {
            upmu_sim_switch_cpu(&f->sim, f->session[i].meter == &f->cpu[1].meter);
            assert_int_equal(upmu_session_detach(&f->session[i]), UPMU_OK);
        }
    for (unsigned i = 0; i < 2; i++) {
        upmu_sim_switch_cpu(&f->sim, i);
        assert_int_equal(upmu_cpu_fini(&f->cpu[i]), UPMU_OK);
    }
    if (f->sim.violation_count)
        fail_msg("%s (register %x)", f->sim.first_violation.text, (unsigned)f->sim.first_violation.address);
}

static void add(struct upmu_session *session, const char *list, uint64_t period)
{
    struct upmu_sampling sampling = {.period = period};

    assert_int_equal(upmu_session_add(session, list, period ? &sampling : NULL), UPMU_OK);
}

static void attach(struct fixture *f, unsigned i, unsigned cpu)
{
    assert_int_equal(upmu_session_attach_cpu(&f->session[i], &f->cpu[cpu]), UPMU_OK);
}

static void start(struct fixture *f, unsigned i)
{
    assert_int_equal(upmu_session_start(&f->session[i]), UPMU_OK);
}

static void stop(struct fixture *f, unsigned i)
{
    assert_int_equal(upmu_session_stop(&f->session[i]), UPMU_OK);
}

static void work(struct fixture *f)
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
static void on_each(void (*test)(struct fixture *f, const struct profile *profile, unsigned cpu))
{
    for (unsigned p = 0; p < PROFILES; p++)
        for (unsigned k = 0; k < 3; k++) {
            struct fixture f;
            unsigned cpu = k > 0;

            set_up(&f, profiles[p].name);
            if (k == 2) {
                upmu_sim_switch_cpu(&f.sim, 0);
                add(&f.session[2], profiles[p].generals, 0);
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

static void start_stop_read(struct fixture *f, const struct profile *profile, unsigned cpu)
{
    unsigned n = profile->general, gates = profile->global ? 1 : n;
    struct upmu_count counts[UPMU_SET_EVENTS];

    add(&f->session[0], profile->generals, 0);
    attach(f, 0, cpu);
    forget_cost(f);
    for (unsigned round = 0; round < 3; round++) {
        start(f, 0);
        costs(f, gates, 0);
        work(f);
        assert_int_equal(upmu_session_read(&f->session[0], 0, n, counts), UPMU_OK);
        assert_true(counts[0].value == (round + 1) * 1000);
        costs(f, 0, n);
        assert_int_equal(upmu_session_read(&f->session[0], 1, 1, counts), UPMU_OK);
        costs(f, 0, 1);
        stop(f, 0);
        costs(f, gates, n);
        assert_int_equal(upmu_session_read(&f->session[0], 0, n, counts), UPMU_OK);
        costs(f, 0, 0);
        /* Doing it again does nothing. */
        stop(f, 0);
        costs(f, 0, 0);
    }
    assert_int_equal(upmu_session_detach(&f->session[0]), UPMU_OK);
    forget_cost(f);
    assert_int_equal(upmu_session_read(&f->session[0], 0, n, counts), UPMU_OK);
    assert_true(counts[0].value == 3000);
    costs(f, 0, 0);
}

static void start_stop_and_read_cost_what_is_promised(void **state)
{
    (void)state;
    on_each(start_stop_read);
}

static void one_write_for_fixed_and_general(struct fixture *f, const struct profile *profile, unsigned cpu)
{
    unsigned n = profile->general + 2;

    if (!profile->global)
        return;
    add(&f->session[0], profile->generals, 0);
    add(&f->session[0], "instructions,cycles", 0);
    attach(f, 0, cpu);
    assert_true(f->session[0].counters >> 16);
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

static void two_sessions_alike(struct fixture *f, const struct profile *profile, unsigned cpu)
{
    unsigned n = profile->general, gates = profile->global ? 1 : n;

    for (unsigned i = 0; i < 2; i++) {
        add(&f->session[i], profile->generals, 0);
        attach(f, i, cpu);
    }
    forget_cost(f);
    for (unsigned turn = 0; turn < 6; turn++) {
        start(f, turn & 1u);
        assert_int_equal(f->session[0].counters, f->session[1].counters);
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

static void region_costs(struct fixture *f, const struct profile *profile, unsigned cpu)
{
    unsigned n = profile->general;

    assert_int_equal(upmu_region_open(&f->region, &f->cpu[cpu], profile->generals), UPMU_OK);
    forget_cost(f);
    for (unsigned round = 0; round < 3; round++) {
        assert_int_equal(upmu_region_begin(&f->region), UPMU_OK);
        costs(f, 0, n);
        work(f);
        assert_int_equal(upmu_region_end(&f->region), UPMU_OK);
        assert_true(f->region.count[0].value == 1000);
        costs(f, 0, n);
    }
    assert_int_equal(upmu_region_close(&f->region), UPMU_OK);
}

static void region_begin_and_end_read_each_counter_once(void **state)
{
    (void)state;
    on_each(region_costs);
}

/* ---- Changed configuration ---- */

static void change_selects(struct fixture *f, const struct profile *profile, unsigned cpu)
{
    unsigned n = profile->general;

    add(&f->session[0], profile->generals, 0);
    add(&f->session[1], profile->changed, 0);
    attach(f, 0, cpu);
    attach(f, 1, cpu);
    start(f, 0);
    forget_cost(f);
    for (unsigned turn = 0; turn < 4; turn++) {
        work(f);
        stop(f, turn & 1u);
        start(f, !(turn & 1u));
        assert_int_equal(f->session[0].counters, f->session[1].counters);
        costs(f, profile->global ? 2 + n : 2 * n, 2 * n);
    }
}

static void a_changed_select_costs_one_write_and_one_read_or_two_without_global_control(void **state)
{
    (void)state;
    on_each(change_selects);
}

static void change_fixed(struct fixture *f, const struct profile *profile, unsigned cpu)
{
    if (!profile->global)
        return;
    add(&f->session[0], "instructions,cycles", 0);
    add(&f->session[1], "instructions:u,cycles:u", 0);
    attach(f, 0, cpu);
    attach(f, 1, cpu);
    start(f, 0);
    forget_cost(f);
    for (unsigned turn = 0; turn < 4; turn++) {
        stop(f, turn & 1u);
        start(f, !(turn & 1u));
        assert_int_equal(f->session[0].counters, UINT32_C(3) << 16);
        assert_int_equal(f->session[1].counters, UINT32_C(3) << 16);
        costs(f, 3, 4);
    }
}

static void changed_fixed_counters_cost_one_write_together(void **state)
{
    (void)state;
    on_each(change_fixed);
}

static void change_four_and_one(struct fixture *f, const struct profile *profile, unsigned cpu)
{
    if (!profile->global || profile->general != 4)
        return;
    add(&f->session[0], profile->generals, 0);
    add(&f->session[0], "instructions", 0);
    add(&f->session[1], profile->changed, 0);
    add(&f->session[1], "instructions:u", 0);
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

static void four_general_and_one_fixed_counter_change_in_seven_writes_and_ten_reads(void **state)
{
    (void)state;
    on_each(change_four_and_one);
}

static void add_offcore(struct fixture *f, unsigned i, unsigned cpu, uint64_t payload)
{
    struct upmu_event event;

    assert_int_equal(upmu_event_raw(f->cpu[cpu].meter.pmu, 0x4301b7, payload, 0, &event), UPMU_OK);
    assert_int_equal(upmu_session_add_event(&f->session[i], &event, NULL), UPMU_OK);
    attach(f, i, cpu);
}

static void a_changed_payload_costs_one_write(void **state)
{
    static const char *const names[] = {"sandybridge", "skylake", "icelake"};

    (void)state;
    for (unsigned p = 0; p < 3; p++)
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            struct fixture f;

            set_up(&f, names[p]);
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

static void sampling_switch(struct fixture *f, const struct profile *profile, unsigned cpu)
{
    unsigned n = profile->general;

    add(&f->session[0], "branches", 1000000);
    add(&f->session[1], "branches:u", 1000000);
    for (unsigned i = 0; i < 2; i++) {
        const char *rest = strchr(i ? profile->changed : profile->generals, ',') + 1;

        add(&f->session[i], rest, 0);
        assert_int_equal(upmu_session_ring(&f->session[i], i ? f->ring : f->other_ring, sizeof f->ring), UPMU_OK);
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

static void sampling_restart(struct fixture *f, const struct profile *profile, unsigned cpu)
{
    add(&f->session[0], "branches", 1000000);
    assert_int_equal(upmu_session_ring(&f->session[0], f->ring, sizeof f->ring), UPMU_OK);
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

static void a_sampling_counter_that_kept_its_place_goes_on_where_it_stopped(void **state)
{
    (void)state;
    on_each(sampling_restart);
}

static void interrupt_cost(struct fixture *f, const struct profile *profile, unsigned cpu)
{
    for (unsigned s = 1; s <= 2; s++) {
        /* The first of the sampling events overflows, alone. */
        add(&f->session[0], "branches", 300);
        if (s == 2)
            add(&f->session[0], "cache-references", 1000000);
        if (profile->general > s)
            add(&f->session[0], "cache-misses", 0);
        assert_int_equal(upmu_session_ring(&f->session[0], f->ring, sizeof f->ring), UPMU_OK);
        attach(f, 0, cpu);
        start(f, 0);
        f->interrupts = 0;
        work(f);
        assert_int_equal(f->interrupts, 3);
        same_cost(profile->name, f->interrupt,
                  profile->global ? (struct cost){4, 1, s, 1} : (struct cost){3, 0, s + 1, 1});
        assert_int_equal(upmu_session_detach(&f->session[0]), UPMU_OK);
        assert_int_equal(upmu_session_init(&f->session[0], &f->machine), UPMU_OK);
    }
}

/*
 * With global control: close, load, acknowledge, open, one status read, one read per
 * sampling counter.  Without it the value tells which counter overflowed, and only
 * that one is closed, read again (it ran until then), loaded and opened.
 */
static void an_overflow_costs_four_writes_or_three_without_global_control(void **state)
{
    (void)state;
    on_each(interrupt_cost);
}

/* ---- Nothing before, nothing after ---- */

static void making_machines_and_sessions_touches_no_register(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        struct fixture f;
        struct upmu_machine machine;
        struct upmu_session session;
        struct upmu_dry_run dry = {NULL, 0, 0};

        set_up(&f, profiles[p].name);
        forget_cost(&f);
        assert_int_equal(upmu_machine_init(&machine, upmu_sim_port(&f.sim)), UPMU_OK);
        assert_int_equal(upmu_session_init(&session, &f.machine), UPMU_OK);
        add(&session, "branches", 1000);
        add(&session, "cache-references", 0);
        assert_int_equal(upmu_session_ring(&session, f.ring, sizeof f.ring), UPMU_OK);
        assert_int_equal(upmu_session_dry_run(&session, f.cpu[0].meter.pmu, &dry), UPMU_OK);
        assert_true(dry.count > 2);
        costs(&f, 0, 0);
        tear_down(&f);
    }
}

static void nothing_left(struct fixture *f, const struct profile *profile, unsigned cpu)
{
    struct upmu_why why;

    add(&f->session[0], profile->generals, 0);
    if (profile->global)
        add(&f->session[0], "instructions,cycles", 0);
    for (unsigned round = 0; round < 2; round++) {
        attach(f, 0, cpu);
        start(f, 0);
        work(f);
        if (round)
            stop(f, 0);
        assert_int_equal(upmu_session_detach(&f->session[0]), UPMU_OK);
        for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++) {
            assert_false(upmu_sim_runs(&f->sim, cpu, i));
            if (upmu_cpu_owner(&f->cpu[cpu], i) != UPMU_OWNER_ABSENT)
                assert_int_equal(upmu_cpu_owner(&f->cpu[cpu], i), UPMU_OWNER_FREE);
        }
        for (unsigned i = 0; i < profile->general; i++)
            assert_true(upmu_sim_peek(&f->sim, cpu, 0x186 + i) == 0);
        assert_true(upmu_sim_peek(&f->sim, cpu, 0x38D) == 0);
        assert_true(upmu_sim_peek(&f->sim, cpu, 0x38F) == 0);
        assert_int_equal(upmu_cpu_verify(&f->cpu[cpu], &why), UPMU_OK);
    }
}

static void detach_leaves_nothing_behind(void **state)
{
    (void)state;
    on_each(nothing_left);
}

static void attach_ten_times(struct fixture *f, const struct profile *profile, unsigned cpu)
{
    unsigned n = profile->general, gates = profile->global ? 1 : n;
    struct cost first = {0, 0, 0, 0};

    add(&f->session[0], profile->generals, 0);
    for (unsigned round = 0; round < 10; round++) {
        struct cost cost;

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
        assert_int_equal(upmu_session_detach(&f->session[0]), UPMU_OK);
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
        cmocka_unit_test(a_changed_select_costs_one_write_and_one_read_or_two_without_global_control),
        cmocka_unit_test(changed_fixed_counters_cost_one_write_together),
        cmocka_unit_test(four_general_and_one_fixed_counter_change_in_seven_writes_and_ten_reads),
        cmocka_unit_test(a_changed_payload_costs_one_write),
        cmocka_unit_test(a_sampling_counter_costs_one_more_write_a_switch),
        cmocka_unit_test(a_sampling_counter_that_kept_its_place_goes_on_where_it_stopped),
        cmocka_unit_test(an_overflow_costs_four_writes_or_three_without_global_control),
        cmocka_unit_test(making_machines_and_sessions_touches_no_register),
        cmocka_unit_test(detach_leaves_nothing_behind),
        cmocka_unit_test(start_costs_the_same_after_the_tenth_attach),
    };

    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
