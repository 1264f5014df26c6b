/* SPDX-License-Identifier: MIT */
/*
 * What a host does that the other tests do not: it switches threads on a CPU that sleeps,
 * ends threads whose sessions are zombies, takes a CPU down and up again, takes all sets
 * out of a session, reserves what was in use, lets its clock jump.
 */
#include <upmu/ibs.h>
#include <upmu/page.h>
#include "tests/common/host.h"
#include "tests/common/state.h"

#include "core/engine/placed.h"

/* ---- Companies ---- */

static uint64_t stamp(unsigned number)
{
    static struct upmu_session session;
    struct upmu_set set;

    memset(&set, 0, sizeof set);
    set.session = &session;
    set.stamp = number;
    return upmu_placed_stamp(&set);
}

/* A placement is good beside what ran when it was made, and that is known by a sum. */
static void no_two_companies_of_placements_have_the_same_sum(void **state)
{
    (void)state;
    for (unsigned a = 1; a < 40; a++)
        for (unsigned b = 1; b < a; b++) {
            for (unsigned c = 1; c < 80; c++)
                assert_int_not_equal(stamp(a) + stamp(b), stamp(c), a, b, c);
            for (unsigned c = 1; c < 40; c++)
                for (unsigned d = 1; d < c; d++)
                    assert_true((a == c && b == d) || stamp(a) + stamp(b) != stamp(c) + stamp(d), a, c, d);
        }
}

/* ---- Chains of sets ---- */

static void a_chain_goes_on_with_its_active_set_wherever_it_is_attached(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 3; way++) {
        struct upmu_set set[2];
        struct upmu_thread thread;
        struct host host;

        host_set_up(&host, "skylake");
        upmu_thread_init(&thread, 1, 1, NULL);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(upmu_session_add_set(&host.session, &set[i], (uint16_t)(i + 1), 0, 0), UPMU_OK, i);
            assert_int_equal(upmu_set_add(&set[i], "cycles", NULL), UPMU_OK, i);
        }
        host_begin(&host, &host.session);
        assert_int_equal(upmu_session_switch(&host.session, &set[0]), UPMU_OK);
        assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
        assert_ptr_equal(host.session.active, &set[0]);
        if (way == 2) {
            /* Refused: there is room for nothing. */
            assert_int_equal(upmu_cpu_reserve(&host.cpu[0], host.cpu[0].meter.pmu->counters), UPMU_OK);
            assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_ERR_DOES_NOT_FIT);
            upmu_cpu_unreserve(&host.cpu[0], ~0u);
        } else if (way == 1) {
            assert_int_equal(upmu_session_attach_thread(&host.session, &thread, NULL), UPMU_OK);
        } else {
            assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
        }
        assert_ptr_equal(host.session.active, &set[0]);
        assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
        host_end(&host);
    }
}

static void a_session_without_any_set_can_be_published_and_closed(void **state)
{
    struct upmu_dry_run dry_run = {0};
    struct upmu_user_page page;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_session_publish(&host.session, &page), UPMU_OK);
    assert_int_equal(upmu_session_remove_set(&host.session, 0), UPMU_OK);
    assert_int_equal(upmu_session_publish(&host.session, NULL), UPMU_OK);
    assert_int_equal(upmu_session_publish(&host.session, &page), UPMU_OK);
    assert_int_equal(page.count, 0);
    assert_int_equal(upmu_session_dry_run(&host.session, host.cpu[0].meter.pmu, &dry_run), UPMU_ERR_STATE);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_ERR_STATE);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    assert_int_equal(upmu_test_pages(&host.machine), 0);
    host_end(&host);
}

/* ---- Lives of sessions, threads and CPUs ---- */

/* A closed session's first set has no events any more; the memory of the other sets may be used for something else. */
static void the_sets_of_a_closed_session_are_not_changed(void **state)
{
    struct upmu_set set;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "cycles", NULL), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&host.session, &set, 1, 0, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_set_write(&set, 0, 5), UPMU_OK);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    assert_int_equal(upmu_set_write(&set, 0, 6), UPMU_ERR_STATE);
    assert_int_equal(upmu_set_replace(&set, 0, "cycles", NULL), UPMU_ERR_STATE);
    assert_int_equal(set.tally[0].total, 5);
    assert_int_equal(upmu_set_write(&host.session.set, 0, 6), UPMU_ERR_INVALID);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    host_end(&host);
}

static void a_fault_in_an_attach_names_the_register(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    host.sim.expect_faults = true;
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    host.sim.fault_address = 0x186;
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_ERR_PORT);
    assert_int_equal(host.session.why.status, UPMU_ERR_PORT);
    assert_int_equal(host.session.why.address, 0x186);
    host.sim.fault_address = 0;
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
    assert_int_equal(host.session.why.status, UPMU_OK);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

#define NO_MEMORY "\"upmu_cpu_use_records\": hook is missing"

/* Refusals by what the list's events are to do, not by their names. */
static void a_refused_session_says_which_event_or_hook_is_to_blame(void **state)
{
    static const struct {
        const char *list, *text;
        struct upmu_sampling sampling;
        bool pmi, clock;
    } cases[] = {
        {"cycles,r1c0:ppp, branches", NO_MEMORY, {.period = 1000}, true, true},
        {"cpu/event=0xc4,precise/ cycles", NO_MEMORY, {.period = 1000}, true, true},
        {" branches:u cycles", "\"branches:u\": invalid argument", {.period = ~UINT64_C(0)}, true, true},
        {"branches", "\"pmi_rearm\": hook is missing", {.period = 1000}, false, true},
        {"branches", "\"clock_ns\": hook is missing", {.frequency = 1000}, true, false},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct upmu_event event;
        struct host host;
        char text[200];

        host_prepare(&host, "skylake");
        if (!cases[i].pmi)
            host.sim.port.pmi_rearm = NULL;
        if (!cases[i].clock)
            host.sim.port.clock_ns = NULL;
        host_start(&host);
        assert_int_not_equal(upmu_set_add(&host.session.set, cases[i].list, &cases[i].sampling), UPMU_OK, i);
        assert_int_equal(host.session.set.count, 0);
        upmu_why_text(&host.session.why, text, sizeof text);
        assert_string_equal(text, cases[i].text);
        /* A refusal without a text names none. */
        assert_int_equal(upmu_event_parse(host.cpu[0].meter.pmu, "r20c4:p", &event, NULL), UPMU_OK);
        assert_int_equal(upmu_set_add_event(&host.session.set, &event, &(struct upmu_sampling){.period = 1000}),
                         UPMU_ERR_HOOK_MISSING);
        upmu_why_text(&host.session.why, text, sizeof text);
        assert_string_equal(text, NO_MEMORY);
        assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
        assert_int_equal(host.session.why.status, UPMU_OK);
        assert_int_equal(host.session.why.length, 0);
        host_end(&host);
    }
}

static void a_cpu_that_cannot_be_taken_over_says_why(void **state)
{
    struct host host;
    char text[100];

    (void)state;
    host_prepare(&host, "skylake");
    host.sim.expect_faults = true;
    host.sim.fault_address = 0x38f;
    host_machine(&host);
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_ERR_PORT);
    upmu_why_text(&host.machine.why, text, sizeof text);
    assert_string_equal(text, "register access faulted: register 0x38f");
    host.sim.fault_address = 0;
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    assert_int_equal(host.machine.why.status, UPMU_OK);
    host_end(&host);
    host_prepare(&host, "amd_ignores_writes");
    host_machine(&host);
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_ERR_NO_PMU);
    upmu_why_text(&host.machine.why, text, sizeof text);
    assert_memory_equal(text, "no usable PMU on amd64", 22);
}

/* The owner of a session could not reach it; then the session's thread ends, or its CPU goes. */
static void a_zombie_is_closed_by_the_end_of_its_thread_or_cpu(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 3; way++) {
        struct upmu_thread idle, thread;
        struct host host;

        host_set_up(&host, "skylake");
        upmu_sim_switch_cpu(&host.sim, 1);
        assert_int_equal(upmu_cpu_init(&host.cpu[1], &host.machine, NULL), UPMU_OK);
        host.sim.port.run_on_cpu = NULL;
        upmu_thread_init(&idle, 0, 0, NULL);
        upmu_thread_init(&thread, 1, 1, NULL);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
        if (way == 2) {
            assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[1]), UPMU_OK);
        } else {
            assert_int_equal(upmu_session_attach_thread(&host.session, &thread, NULL), UPMU_OK);
            assert_int_equal(upmu_thread_switch(&host.cpu[1], &idle, &thread), UPMU_OK);
        }
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        upmu_sim_switch_cpu(&host.sim, 0);
        assert_int_equal(upmu_session_drop(&host.session), UPMU_OK);
        assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
        upmu_sim_switch_cpu(&host.sim, 1);
        if (way == 0)
            assert_int_equal(upmu_thread_exit(&thread), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&host.cpu[1]), UPMU_OK);
        if (way == 1)
            assert_int_equal(upmu_thread_exit(&thread), UPMU_OK);
        assert_int_equal(host.session.state, UPMU_SESSION_CLOSED);
        assert_int_equal(host.session.id, 0);
        assert_null(thread.sessions);
        upmu_sim_switch_cpu(&host.sim, 0);
        host_end(&host);
    }
}

/* The counter has an event of the session's, and a number that the session's had in the CPU's life before. */
static void a_cpu_that_was_taken_down_and_up_again_knows_nobody(void **state)
{
    struct upmu_thread idle, thread;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    upmu_thread_init(&idle, 0, 0, NULL);
    upmu_thread_init(&thread, 1, 1, NULL);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&host.session, &thread, NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &idle, &thread), UPMU_OK);
    host_run(&host, 200);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &thread, &idle), UPMU_OK);
    assert_int_equal(host_value(&host.session, 0), 100);
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.other.set, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.other);
    host_run(&host, 2000);
    assert_int_equal(upmu_session_stop(&host.other), UPMU_OK);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &idle, &thread), UPMU_OK);
    assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
    host_run(&host, 200);
    assert_int_equal(host_value(&host.session, 0), 200);
    assert_int_equal(upmu_thread_exit(&thread), UPMU_OK);
    assert_int_equal(upmu_session_detach(&host.other), UPMU_OK);
    host_end(&host);
}

/* On the way to sleep, and back, the host goes on switching threads; one of them wakes elsewhere. */
static void a_thread_that_leaves_a_sleeping_cpu_is_counted_where_it_runs(void **state)
{
    struct upmu_thread idle[2], thread, late;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    upmu_sim_switch_cpu(&host.sim, 1);
    assert_int_equal(upmu_cpu_init(&host.cpu[1], &host.machine, NULL), UPMU_OK);
    for (unsigned i = 0; i < 2; i++)
        upmu_thread_init(&idle[i], 0, i, NULL);
    upmu_thread_init(&thread, 1, 1, NULL);
    upmu_thread_init(&late, 2, 2, NULL);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&host.session, &thread, NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.other.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&host.other, &late, NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
    assert_int_equal(upmu_thread_switch(&host.cpu[1], &idle[1], &thread), UPMU_OK);
    host_run(&host, 100);
    assert_int_equal(upmu_cpu_suspend(&host.cpu[1]), UPMU_OK);
    assert_int_equal(upmu_thread_switch(&host.cpu[1], &thread, &idle[1]), UPMU_OK);
    assert_int_equal(upmu_thread_switch(&host.cpu[1], &idle[1], &late), UPMU_OK);
    host_run(&host, 1000);
    upmu_sim_switch_cpu(&host.sim, 0);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &idle[0], &thread), UPMU_OK);
    assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
    host_run(&host, 10);
    assert_int_equal(host_value(&host.session, 0), 110);
    upmu_sim_switch_cpu(&host.sim, 1);
    upmu_sim_reset_cpu(&host.sim, 1);
    assert_int_equal(upmu_cpu_resume(&host.cpu[1]), UPMU_OK);
    assert_int_equal(upmu_cpu_tick(&host.cpu[1]), UPMU_OK);
    assert_int_equal(host.other.state, UPMU_SESSION_RUNNING);
    host_run(&host, 7);
    assert_int_equal(host_value(&host.other, 0), 7);
    assert_int_equal(upmu_thread_exit(&late), UPMU_OK);
    upmu_sim_switch_cpu(&host.sim, 0);
    assert_int_equal(host_value(&host.session, 0), 110);
    assert_int_equal(upmu_thread_exit(&thread), UPMU_OK);
    upmu_sim_switch_cpu(&host.sim, 1);
    assert_int_equal(upmu_cpu_fini(&host.cpu[1]), UPMU_OK);
    upmu_sim_switch_cpu(&host.sim, 0);
    host_end(&host);
}

/* ---- Counters that the host keeps for itself ---- */

/* A session has run and is stopped, its event loaded; the host takes its counter and begins a watchdog there. */
static void a_reserved_counter_is_idle_and_the_hosts_until_given_back(void **state)
{
    static const char *const profiles[] = {"skylake", "core2", "version1", "yonah", "zen2", "zen4", "k8_revc"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof *profiles; p++)
        for (unsigned way = 0; way < 3; way++) {
            struct host host;
            uint32_t select;
            uint64_t watchdog = 0x43003c, counted;

            host_prepare(&host, profiles[p]);
            select = p == 4 || p == 5 ? 0xc0010200 : p == 6 ? 0xc0010000 : 0x186;
            if (select != 0x186)
                watchdog = 0x430076;
            host_start(&host);
            assert_int_equal(upmu_set_add(&host.session.set, "branches:counter=0", NULL), UPMU_OK);
            host_begin(&host, &host.session);
            host_run(&host, 100);
            assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 1), UPMU_ERR_STATE);
            assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
            assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 1), UPMU_OK);
            assert_false(upmu_sim_runs(&host.sim, 0, 0));
            upmu_sim_poke(&host.sim, 0, select, watchdog);
            if (host.sim.profile->version >= 2)
                upmu_sim_poke(&host.sim, 0, 0x38f, upmu_sim_peek(&host.sim, 0, 0x38f) | 1);
            if (p == 5)
                upmu_sim_poke(&host.sim, 0, 0xc0000301, upmu_sim_peek(&host.sim, 0, 0xc0000301) | 1);
            assert_true(upmu_sim_runs(&host.sim, 0, 0));
            assert_int_equal(upmu_session_start(&host.session), UPMU_ERR_DOES_NOT_FIT);
            if (way == 1) {
                assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
                assert_true(upmu_sim_runs(&host.sim, 0, 0));
                assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
            }
            if (way == 2)
                assert_int_equal(upmu_cpu_verify(&host.cpu[0], NULL), UPMU_OK);
            assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
            assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, select), watchdog);
            counted = host.sim.cpu[0].counter[0].counted;
            host_run(&host, 100);
            assert_int_equal(host.sim.cpu[0].counter[0].counted, counted + 200);
            host_no_violation(&host);
        }
}

/* A general and a fixed counter, switched on while sessions count and sample; upmu is not told. */
static void a_watchdog_that_begins_at_any_time_runs_on_beside_sessions(void **state)
{
    static const char *const profiles[] = {"skylake", "core2", "zen4"};

    (void)state;
    for (unsigned p = 0; p < 3; p++) {
        struct upmu_sampling sampling = {.period = 100};
        bool amd = p == 2;
        uint32_t control = amd ? 0xc0000301 : 0x38f;
        uint64_t general = 0;
        struct host host;

        host_set_up(&host, profiles[p]);
        assert_int_equal(upmu_cpu_reserve(&host.cpu[0], amd ? 1u : 1u | 2u << 16), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.other.set, "branches", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 50);
        upmu_sim_poke(&host.sim, 0, amd ? 0xc0010200 : 0x186, amd ? 0x430076 : 0x43003c);
        if (!amd)
            upmu_sim_poke(&host.sim, 0, 0x38d, upmu_sim_peek(&host.sim, 0, 0x38d) | 0x30);
        upmu_sim_poke(&host.sim, 0, control, upmu_sim_peek(&host.sim, 0, control) | (amd ? 1 : UINT64_C(2) << 32 | 1));
        for (unsigned i = 0; i < 5; i++) {
            host_run(&host, 150);
            general += 300;
            if (i == 1)
                host_begin(&host, &host.other);
            if (i == 2)
                assert_int_equal(upmu_session_detach(&host.other), UPMU_OK);
            assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
            assert_int_equal(upmu_cpu_verify(&host.cpu[0], NULL), UPMU_OK);
            assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
            assert_int_equal(host.sim.cpu[0].counter[0].counted, general);
            assert_int_equal(host.sim.cpu[0].counter[UPMU_SIM_FIXED + 1].counted, amd ? 0 : general);
        }
        assert_int_equal(host_drain(&host, NULL), 8);
        /* The host ends it again. */
        upmu_sim_poke(&host.sim, 0, control, upmu_sim_peek(&host.sim, 0, control) & ~UINT64_C(1));
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        host_run(&host, 150);
        assert_int_equal(host.sim.cpu[0].counter[0].counted, general);
        assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
        host_end(&host);
    }
}

/* A counter was left running for the next turn of its session's thread, and is reserved then. */
static void reserving_a_counter_ends_what_a_static_session_left_running(void **state)
{
    struct upmu_thread idle, thread;
    struct host host;
    unsigned counter;

    (void)state;
    host_set_up(&host, "skylake");
    upmu_thread_init(&idle, 0, 0, NULL);
    upmu_thread_init(&thread, 1, 1, NULL);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    assert_int_equal(upmu_session_static(&host.session, true), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&host.session, &thread, NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &idle, &thread), UPMU_OK);
    counter = host.session.set.tally[0].counter;
    host_run(&host, 100);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &thread, &idle), UPMU_OK);
    assert_true(upmu_sim_runs(&host.sim, 0, counter));
    assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 1u << counter), UPMU_OK);
    assert_false(upmu_sim_runs(&host.sim, 0, counter));
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &idle, &thread), UPMU_OK);
    assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
    assert_int_not_equal(host.session.set.tally[0].counter, counter);
    host_run(&host, 100);
    assert_int_equal(host_value(&host.session, 0), 100);
    assert_int_equal(upmu_thread_exit(&thread), UPMU_OK);
    upmu_cpu_unreserve(&host.cpu[0], 1u << counter);
    host_end(&host);
}

/* ---- Interrupts where no register is touched ---- */

static uint64_t (*model_clock)(void *context);
static uintptr_t (*model_save)(void *context);
static unsigned overflows_at; /* calls of these hooks until a period passes */

static void interrupt_in_a_hook(const struct upmu_sim *sim)
{
    if (overflows_at && !--overflows_at)
        host_run(sim->test, 200);
}

static uint64_t clock_that_is_interrupted(void *context)
{
    interrupt_in_a_hook(context);
    return model_clock(context);
}

/* Before interrupts are off, and so before the call has begun. */
static uintptr_t save_that_is_interrupted(void *context)
{
    interrupt_in_a_hook(context);
    return model_save(context);
}

/*
 * An overflow comes in each hook of a call that loads everything anew.  If its handler has masked the session, as it
 * does before the call has begun, the session stays masked.
 */
static void what_an_interrupt_has_masked_is_not_started_over(void **state)
{
    unsigned masked = 0;

    (void)state;
    for (unsigned at = 1; at < 6; at++) {
        struct upmu_sampling sampling = {.period = 1000, .flags = UPMU_SAMPLING_NOTIFY};
        struct upmu_message messages[2];
        struct upmu_queue queue;
        struct host host;

        overflows_at = 0;
        host_prepare(&host, "skylake");
        model_clock = host.sim.port.clock_ns;
        host.sim.port.clock_ns = clock_that_is_interrupted;
        model_save = host.sim.port.irq_save;
        host.sim.port.irq_save = save_that_is_interrupted;
        host_start(&host);
        assert_int_equal(upmu_session_messages(&host.session, &queue, messages, 2, 0, NULL), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 900);
        overflows_at = at;
        assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK);
        overflows_at = 0;
        assert_int_equal(host.session.state, upmu_queue_waiting(&queue) ? UPMU_SESSION_MASKED : UPMU_SESSION_RUNNING);
        if (host.session.state == UPMU_SESSION_MASKED) {
            assert_int_equal(upmu_session_restart(&host.session), UPMU_OK);
            masked++;
        }
        assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
        assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
        host_end(&host);
    }
    assert_compare(masked, >, 0);
}

static enum upmu_pmi answered;

static void rearm_that_is_interrupted(void *context)
{
    struct upmu_sim *sim = context;
    struct host *host = sim->test;

    answered = upmu_pmi_handle(&host->cpu[0], NULL);
}

/* A poll finds an overflow without its interrupt, which comes before the poll has handled it: both are one. */
static void what_an_interrupt_tells_a_poll_is_handled_once(void **state)
{
    struct host host;
    uint32_t writes;

    (void)state;
    host_set_up(&host, "skylake");
    host_sample(&host, "branches", 100);
    host.sim.cpu[0].lvtpc |= UPMU_SIM_LVTPC_MASKED;
    host_run(&host, 210);
    assert_int_equal(host.sim.cpu[0].pmi_dropped, 1);
    host.sim.port.pmi_rearm = rearm_that_is_interrupted;
    writes = host.cpu[0].meter.bank.accesses.writes;
    assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
    assert_int_equal(answered, UPMU_PMI_HANDLED);
    assert_in_range(host.cpu[0].meter.bank.accesses.writes, writes, writes + 4); /* what an overflow costs */
    assert_int_equal(host_drain(&host, NULL), 1);
    host_run(&host, 90);
    assert_int_equal(host_value(&host.session, 0), 150);
    host.sim.port.pmi_rearm = NULL;
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

/* ---- Clocks and counts ---- */

/* Two sets are multiplexed; the clock goes back an hour, stands still, jumps by 250 years. */
static void a_clock_that_jumps_spoils_no_count(void **state)
{
    static const uint64_t jumps[] = {UINT64_C(1) << 62, 0, UINT64_C(0) - UINT64_C(3600000000000), UINT64_C(1) << 63,
                                     1000};
    struct upmu_set set;
    struct host host;
    uint64_t counts = 0;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&host.session, &set, 1, 0, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&set, "instructions", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    for (unsigned i = 0; i < 50; i++) {
        struct upmu_count count[2];

        host_run(&host, 1000);
        host.sim.now_ns += jumps[i % 5];
        assert_int_equal(upmu_session_switch(&host.session, i & 1 ? &host.session.set : &set), UPMU_OK, i);
        assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count[0]), UPMU_OK);
        assert_int_equal(upmu_set_read(&set, 0, 1, &count[1]), UPMU_OK);
        counts += 1000;
        assert_int_equal(count[0].raw + count[1].raw, counts);
        /* Sums of squares stay below what a word can hold. */
        assert_true(host.session.set.turn_squares < UINT64_C(5) << 60 && set.turn_squares < UINT64_C(5) << 60);
        assert_true(host.session.set.scale < 64 && set.scale < 64);
    }
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

/* The count began long before sets were multiplexed; it is set to 0 and estimated from there on. */
static void an_estimate_is_of_the_time_since_the_count_was_written(void **state)
{
    struct upmu_count count;
    struct upmu_set set;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&host.session, &set, 1, 0, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&set, "instructions", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 1000000);
    assert_int_equal(upmu_set_write(&host.session.set, 0, 0), UPMU_OK);
    for (unsigned i = 0; i < 10; i++) {
        host_run(&host, 1000);
        assert_int_equal(upmu_session_switch(&host.session, i & 1 ? &host.session.set : &set), UPMU_OK, i);
    }
    assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.raw, 5000);
    assert_int_equal(count.value, 10000);
    assert_int_equal(count.enabled_ns, 2 * count.running_ns);
    assert_int_equal(count.quality, UPMU_QUALITY_SCALED);
    assert_int_equal(upmu_set_read(&set, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.raw, 5000);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

/* An event that comes later was not enabled before: neither its times nor an estimate cover that. */
static void the_times_of_an_event_that_comes_later_begin_at_0(void **state)
{
    struct upmu_count count[2];
    struct upmu_set set;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 1000000);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_set_replace(&host.session.set, 0, "cycles", NULL), UPMU_OK);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&host.session, &set, 1, 0, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&set, "instructions", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 2, count), UPMU_OK);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(count[i].quality, UPMU_QUALITY_EXACT, i);
        assert_int_equal(count[i].enabled_ns, count[i].running_ns, i);
        assert_true(count[i].enabled_ns && count[i].enabled_ns < 10000, i);
    }
    /* Half of the time since. */
    for (unsigned i = 0; i < 9; i++) {
        assert_int_equal(upmu_session_switch(&host.session, i & 1 ? &host.session.set : &set), UPMU_OK, i);
        host_run(&host, 1000);
    }
    assert_int_equal(upmu_set_read(&set, 0, 1, count), UPMU_OK);
    assert_int_equal(count[0].raw, 5000);
    assert_int_equal(count[0].value, 10000);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

/* ---- Units beside the counters ---- */

static void a_unit_that_does_not_exist_is_refused(void **state)
{
    struct upmu_ibs_sample samples[4];
    struct host host;

    (void)state;
    host_set_up(&host, "zen4");
    for (unsigned kind = 2; kind < 70; kind++) {
        struct upmu_ibs ibs = {.kind = (enum upmu_ibs_kind)kind, .period = 0x1000, .samples = samples, .capacity = 4};
        struct upmu_cpu before = host.cpu[0];

        assert_int_equal(upmu_ibs_start(&host.cpu[0], &ibs), UPMU_ERR_UNSUPPORTED);
        assert_memory_equal(&before, &host.cpu[0], sizeof before);
    }
    host_end(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_companies_of_placements_have_the_same_sum),
        cmocka_unit_test(a_chain_goes_on_with_its_active_set_wherever_it_is_attached),
        cmocka_unit_test(the_sets_of_a_closed_session_are_not_changed),
        cmocka_unit_test(a_fault_in_an_attach_names_the_register),
        cmocka_unit_test(a_refused_session_says_which_event_or_hook_is_to_blame),
        cmocka_unit_test(a_cpu_that_cannot_be_taken_over_says_why),
        cmocka_unit_test(a_zombie_is_closed_by_the_end_of_its_thread_or_cpu),
        cmocka_unit_test(a_cpu_that_was_taken_down_and_up_again_knows_nobody),
        cmocka_unit_test(a_thread_that_leaves_a_sleeping_cpu_is_counted_where_it_runs),
        cmocka_unit_test(a_reserved_counter_is_idle_and_the_hosts_until_given_back),
        cmocka_unit_test(a_watchdog_that_begins_at_any_time_runs_on_beside_sessions),
        cmocka_unit_test(reserving_a_counter_ends_what_a_static_session_left_running),
        cmocka_unit_test(what_an_interrupt_tells_a_poll_is_handled_once),
        cmocka_unit_test(an_estimate_is_of_the_time_since_the_count_was_written),
        cmocka_unit_test(the_times_of_an_event_that_comes_later_begin_at_0),
        cmocka_unit_test(what_an_interrupt_has_masked_is_not_started_over),
        cmocka_unit_test(a_clock_that_jumps_spoils_no_count),
        cmocka_unit_test(a_unit_that_does_not_exist_is_refused),
        cmocka_unit_test(a_session_without_any_set_can_be_published_and_closed),
    };

    return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
