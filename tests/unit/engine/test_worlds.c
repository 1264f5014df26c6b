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

/* ---- Attributes ---- */

static enum upmu_status add(unsigned i, const char *list)
{
    return upmu_session_add(&f.sessions[i], list, NULL);
}

static void attributes_choose_the_world(void **state)
{
    static const char *const lists[][2] = {{"instructions:guest", "branches:host"},
                                           {"instructions:g", "branches:H"},
                                           {"instructions:G=1:h=0", "branches:h=1"},
                                           {"instructions:ug:k", "branches:kh:u"}};

    (void)state;
    for (const struct profile *p = profiles; p < profiles + PROFILES; p++)
        for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++) {
            if (strncmp(p->name, "zen", 3) == 0) /* its selects have bits for it: the_bits_of_selects_need_no_gates */
                continue;
            host_set_up(&f, p->name);
            assert_int_equal(add(0, lists[i][0]), UPMU_OK);
            assert_int_equal(add(1, lists[i][1]), UPMU_OK);
            for (unsigned j = 0; j < 2; j++) {
                host_attach(&f, j, 0);
                start(j);
            }
            cross_ten_times();
            counts(0, 1000);
            counts(1, 1000);
            host_end(&f);
        }
}

static void the_bits_of_selects_need_no_gates(void **state)
{
    static const char *const zen[] = {"zen2", "zen4"};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        host_prepare(&f, zen[i]);
        f.sim.cpu[0].amd.efer = 1u << 12;
        host_start(&f);
        assert_int_equal(add(0, "instructions:guest,branches:host"), UPMU_OK);
        host_begin(&f, &f.session);
        host_forget_cost(&f);
        for (unsigned j = 0; j < 10; j++) {
            host_run(&f, 200);
            enter();
            f.sim.cpu[0].amd.guest = true;
            host_run(&f, 100);
            f.sim.cpu[0].amd.guest = false;
            leave();
        }
        host_costs(&f, "entries and exits", 0, 0);
        assert_int_equal(host_count(&f.session, 0).raw, 1000);
        assert_int_equal(host_count(&f.session, 1).raw, 1000);
        host_end(&f);
    }
}

static void events_of_a_session_agree_on_the_world(void **state)
{
    static const struct {
        enum upmu_world world;
        const char *list;
        enum upmu_status status;
    } lists[] = {
        {UPMU_WORLD_BOTH, "instructions:g,branches:g", UPMU_OK},
        {UPMU_WORLD_BOTH, "instructions:g,branches", UPMU_ERR_CONTRADICTION},
        {UPMU_WORLD_BOTH, "instructions,branches:g", UPMU_ERR_CONTRADICTION},
        {UPMU_WORLD_BOTH, "instructions:h,branches:g", UPMU_ERR_CONTRADICTION},
        {UPMU_WORLD_BOTH, "instructions:g:h,branches", UPMU_OK},
        {UPMU_WORLD_HOST, "instructions:h", UPMU_OK},
        {UPMU_WORLD_HOST, "instructions", UPMU_OK},
        {UPMU_WORLD_HOST, "instructions:g", UPMU_ERR_CONTRADICTION},
        {UPMU_WORLD_BOTH, "instructions:g=2", UPMU_ERR_BAD_VALUE},
        {UPMU_WORLD_BOTH, "instructions:g:g=0", UPMU_ERR_CONTRADICTION},
    };
    struct upmu_session *session = &f.sessions[0];
    struct upmu_event event;
    char text[64];

    (void)state;
    host_set_up(&f, "skylake");
    for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        assert_int_equal(upmu_session_init(session, &f.machine), UPMU_OK);
        assert_int_equal(upmu_session_world(session, lists[i].world), UPMU_OK);
        if (add(0, lists[i].list) != lists[i].status)
            fail_msg("%s: %u", lists[i].list, (unsigned)session->why.status);
        /* What was refused has left nothing. */
        if (lists[i].status != UPMU_OK)
            assert_int_equal(add(0, lists[i].world ? "branches:h" : "branches:h,cycles:h"), UPMU_OK);
    }
    assert_int_equal(upmu_session_init(session, &f.machine), UPMU_OK);
    assert_int_equal(add(0, "instructions:g"), UPMU_OK);
    assert_int_equal(upmu_session_world(session, UPMU_WORLD_HOST), UPMU_ERR_CONTRADICTION);
    assert_int_equal(upmu_session_world(session, UPMU_WORLD_BOTH), UPMU_ERR_CONTRADICTION);
    assert_int_equal(upmu_session_world(session, UPMU_WORLD_GUEST), UPMU_OK);
    assert_int_equal(upmu_session_replace(session, 0, "branches", NULL), UPMU_ERR_CONTRADICTION);
    assert_int_equal(upmu_session_replace(session, 0, "branches:g", NULL), UPMU_OK);
    assert_true(upmu_event_format(f.cpu[0].meter.pmu, &session->set.event[0], text, sizeof text) < sizeof text);
    assert_string_equal(text, "BR_INST_RETIRED.ALL_BRANCHES:g=1");
    assert_int_equal(upmu_event_parse(f.cpu[0].meter.pmu, text, &event, NULL), UPMU_OK);
    assert_memory_equal(&event, &session->set.event[0], sizeof event);
    host_end(&f);
    host_set_up(&f, "northwood");
    assert_int_equal(add(0, "branch_retired:g,cascade=uops_retired.nbogus"), UPMU_ERR_UNSUPPORTED);
    host_end(&f);
}

static void a_region_counts_a_guest_apart(void **state)
{
    static struct upmu_region region;

    (void)state;
    host_set_up(&f, "skylake");
    assert_int_equal(upmu_region_open(&region, &f.cpu[0], "instructions:guest,branches:guest"), UPMU_OK);
    assert_int_equal(upmu_region_begin(&region), UPMU_OK);
    cross_ten_times();
    assert_int_equal(upmu_region_end(&region), UPMU_OK);
    assert_int_equal(region.count[0].raw, 1000);
    assert_int_equal(region.count[1].raw, 500);
    assert_int_equal(upmu_region_close(&region), UPMU_OK);
    host_end(&f);
}

/* ---- Events and periods of a session that stays attached ---- */

static struct upmu_event encoded(const char *text)
{
    struct upmu_event event;

    assert_int_equal(upmu_event_parse(f.cpu[0].meter.pmu, text, &event, NULL), UPMU_OK);
    return event;
}

/* No register is written until the start. */
static void an_encoded_event_replaces_another(void **state)
{
    static const char *const names[] = {"skylake", "zen4", "k8_revf", "northwood", "p6"};
    struct upmu_sampling sampling = {.period = 100, .flags = 0x80000000u};
    struct upmu_session *session = &f.sessions[0];

    (void)state;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct upmu_event event;

        host_set_up(&f, names[i]);
        attach(0, UPMU_WORLD_BOTH, "instructions,cycles", 0);
        start(0);
        host_run(&f, 1000);
        event = encoded("branches");
        assert_int_equal(upmu_set_replace_event(session, &session->set, 0, &event, NULL), UPMU_ERR_STATE);
        assert_int_equal(upmu_session_stop(session), UPMU_OK);
        host_forget_cost(&f);
        assert_int_equal(upmu_set_replace_event(session, &session->set, 0, &event, NULL), UPMU_OK);
        assert_int_equal(upmu_set_replace_event(session, &session->set, 2, &event, NULL), UPMU_ERR_INVALID);
        assert_int_equal(upmu_set_replace_event(session, &session->set, 0, &event, &sampling), UPMU_ERR_INVALID);
        host_costs(&f, "replaced", 0, 0);
        host_run(&f, 1000);
        start(0);
        host_run(&f, 1000);
        counts(0, 500);
        assert_int_equal(host_count(session, 1).raw, 4000);
        assert_int_equal(upmu_cpu_verify(&f.cpu[0], NULL), UPMU_OK);
        host_end(&f);
    }
}

static void samples(unsigned expected)
{
    unsigned found = host_drain(&f, NULL);

    if (found != expected)
        fail_msg("%s: %u samples instead of %u", f.sim.profile->name, found, expected);
}

/* Samples come after 30, then every 100; the count goes on. */
static void the_next_sample_can_be_given(void **state)
{
    static const char *const names[] = {"skylake", "zen4", "k8_revf", "icelake", "core2"};
    struct upmu_session *session = &f.sessions[0];

    (void)state;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        host_set_up(&f, names[i]);
        host_sample(&f, "instructions", 1000);
        host_run(&f, 2500);
        samples(2);
        assert_int_equal(upmu_session_stop(session), UPMU_OK);
        host_forget_cost(&f);
        assert_int_equal(upmu_set_wait(session, &session->set, 0, 30, 100), UPMU_OK);
        host_costs(&f, "stopped", 0, 0);
        start(0);
        host_run(&f, 29);
        samples(0);
        host_run(&f, 1);
        samples(1);
        host_run(&f, 299);
        samples(2);
        /* One that runs goes on. */
        assert_int_equal(upmu_set_wait(session, &session->set, 0, 5, 7), UPMU_OK);
        host_run(&f, 5 + 7 * 3);
        samples(4);
        counts(0, 2500 + 30 + 299 + 26);
        assert_int_equal(upmu_set_wait(session, &session->set, 1, 5, 7), UPMU_ERR_INVALID);
        assert_int_equal(upmu_set_wait(session, &session->set, 0, 0, 7), UPMU_ERR_INVALID);
        assert_int_equal(upmu_set_wait(session, &session->set, 0, 5, 0), UPMU_ERR_INVALID);
        assert_int_equal(upmu_set_wait(session, &session->set, 0, 5, UINT64_C(1) << 63), UPMU_ERR_INVALID);
        assert_int_equal(upmu_set_wait(session, &session->set, 0, UINT64_C(1) << 63, 7), UPMU_ERR_INVALID);
        host_end(&f);
    }
}

/* While its thread does not run, from anywhere: what its counter was loaded with is not used. */
static void a_thread_away_is_given_its_next_sample(void **state)
{
    struct upmu_session *session = &f.sessions[0];

    (void)state;
    host_set_up(&f, "skylake");
    host_threads(&f, 2);
    host_add(&f, 0, "instructions", 1000);
    assert_int_equal(upmu_session_attach_thread(session, &f.threads[0], NULL), UPMU_OK);
    start(0);
    host_thread_switch(&f, 0, 0);
    host_run(&f, 100);
    host_thread_switch(&f, 0, 1);
    host_forget_cost(&f);
    assert_int_equal(upmu_set_wait(session, &session->set, 0, 30, 100), UPMU_OK);
    host_costs(&f, "away", 0, 0);
    host_thread_switch(&f, 0, 0);
    host_run(&f, 30);
    assert_int_equal(upmu_ring_lost(&session->ring), 0);
    assert_int_equal(session->set.tally[0].overflows, 1);
    counts(0, 130);
    host_thread_switch(&f, 0, 1);
    assert_int_equal(upmu_session_close(session), UPMU_OK);
    host_end(&f);
}

/* Three stop and three start: one write closes, one opens. */
static void several_change_at_once(void **state)
{
    struct upmu_session *const first[] = {&f.sessions[0], &f.sessions[1], &f.sessions[2]};
    struct upmu_session *const second[] = {&f.sessions[3], &f.sessions[4]};
    static const char *const names[] = {"skylake", "zen4", "k8_revf"};
    struct upmu_session *const absent[] = {&f.sessions[5]};

    (void)state;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        host_set_up(&f, names[i]);
        attach(0, UPMU_WORLD_BOTH, "instructions", 0);
        attach(1, UPMU_WORLD_BOTH, "branches", 0);
        attach(2, UPMU_WORLD_BOTH, "cycles", 0);
        attach(3, UPMU_WORLD_BOTH, "branch-misses,branches:u", 0);
        attach(4, UPMU_WORLD_BOTH, "instructions:k", 0);
        assert_int_equal(upmu_change_these(&f.cpu[0], first, 3, NULL, 0), UPMU_OK);
        host_run(&f, 100);
        assert_int_equal(upmu_change_these(&f.cpu[0], second, 2, first, 3), UPMU_OK);
        host_run(&f, 100);
        assert_int_equal(upmu_change_these(&f.cpu[0], first, 3, second, 2), UPMU_OK);
        host_run(&f, 100);
        host_forget_cost(&f);
        assert_int_equal(upmu_change_these(&f.cpu[0], NULL, 0, first, 3), UPMU_OK);
        host_costs(&f, "three stop", i == 2 ? 3 : 1, 3);
        assert_int_equal(upmu_change_these(&f.cpu[0], NULL, 0, first, 3), UPMU_OK);
        host_costs(&f, "stopped already", 0, 0);
        host_run(&f, 100);
        assert_int_equal(upmu_change_these(&f.cpu[0], first, 3, NULL, 0), UPMU_OK);
        host_costs(&f, "three start", i == 2 ? 3 : 1, 0);
        host_run(&f, 100);
        counts(0, 300);
        counts(1, 150);
        counts(2, 600);
        counts(4, 100);
        assert_int_equal(upmu_change_these(&f.cpu[0], absent, 1, first, 3), UPMU_ERR_WRONG_CPU);
        counts(0, 300);
        assert_int_equal(f.sessions[5].why.status, UPMU_ERR_WRONG_CPU);
        assert_int_equal(f.sessions[0].state, UPMU_SESSION_STOPPED);
        host_end(&f);
    }
    memset(&f, 0, sizeof f);
    assert_int_equal(upmu_change_these(&f.cpu[0], NULL, 0, NULL, 0), UPMU_ERR_NO_PMU);
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
        cmocka_unit_test(attributes_choose_the_world),
        cmocka_unit_test(the_bits_of_selects_need_no_gates),
        cmocka_unit_test(events_of_a_session_agree_on_the_world),
        cmocka_unit_test(a_region_counts_a_guest_apart),
        cmocka_unit_test(an_encoded_event_replaces_another),
        cmocka_unit_test(the_next_sample_can_be_given),
        cmocka_unit_test(a_thread_away_is_given_its_next_sample),
        cmocka_unit_test(several_change_at_once),
        cmocka_unit_test(options_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
