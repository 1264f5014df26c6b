/* SPDX-License-Identifier: MIT */
/*
 * Sessions of threads, and which run where not all fit: states, calls from this and
 * other CPUs, threads that move and end, CPUs that leave, multiplexing.
 */
#define _GNU_SOURCE /* sigaction */
#include <signal.h>
#include <upmu/event.h>
#include <upmu/format.h>
#include <upmu/session.h>
#include <upmu/set.h>

#include "tests/common/host.h"
#include "tests/common/share.h"
#include "tests/common/state.h"
#include "tests/common/trap_flag.h"

#define IDLE 3 /* and the next are the CPUs' idle threads */
#define OFFCORE(value) "r01b7:offcore_rsp=" value

static void set_up(struct host *f, const char *profile, bool clock)
{
    host_prepare(f, profile);
    if (!clock)
        f->sim.port.clock_ns = NULL;
    host_machine(f);
    host_take_over(f, 2, false);
    host_threads(f, IDLE + 2);
}

static void tear_down(struct host *f)
{
    for (unsigned i = 0; i < 2; i++)
        host_thread_switch(f, i, IDLE + i);
    for (unsigned i = 0; i < IDLE; i++)
        assert_int_equal(upmu_thread_exit(&f->threads[i]), UPMU_OK, i);
    host_end_idle(f);
}

static void start(struct host *f, unsigned i)
{
    assert_int_equal(upmu_session_start(&f->sessions[i]), UPMU_OK, i);
}

/* Session i follows a thread that does not run. */
static void follow(struct host *f, unsigned i, unsigned thread)
{
    assert_int_equal(upmu_session_attach_thread(&f->sessions[i], &f->threads[thread], NULL), UPMU_OK, i, thread);
    start(f, i);
}

static void on_cpu(struct host *f, unsigned i, unsigned cpu)
{
    host_attach(f, i, cpu);
    start(f, i);
}

static void counted(struct host *f, unsigned i, unsigned event, uint64_t value)
{
    struct upmu_count count = host_count(&f->sessions[i], event);

    assert_int_equal(count.value, value);
    if (value || count.quality != UPMU_QUALITY_NEVER_RAN)
        assert_int_equal(count.quality, UPMU_QUALITY_EXACT, i, event);
}

/*
 * What shows which row: P2-005, P2-022, P2-065, MX-030: 100 while its thread runs on CPU 0 and not beside it, 110
 * after CPU 1.  MX-035: it was started (WAITING) before its thread ran.
 */
static void a_session_counts_while_its_thread_runs_wherever_that_is(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    host_add(&f, 0, "instructions,branches", 0);
    follow(&f, 0, 0);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_WAITING);
    host_work(&f, 0, 1000);
    host_thread_switch(&f, 0, 0);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
    host_work(&f, 0, 100);
    counted(&f, 0, 0, 100);
    host_work(&f, 1, 5000);
    host_thread_switch(&f, 0, IDLE);
    host_work(&f, 0, 1000);
    counted(&f, 0, 0, 100);
    host_thread_switch(&f, 1, 0);
    host_work(&f, 1, 10);
    host_work(&f, 0, 1000);
    host_thread_switch(&f, 1, 1);
    counted(&f, 0, 0, 110);
    counted(&f, 0, 1, 22);
    /* Back on the first CPU, where its counters still hold what they held. */
    host_thread_switch(&f, 0, 0);
    host_work(&f, 0, 5);
    host_thread_switch(&f, 0, IDLE);
    counted(&f, 0, 0, 115);
    tear_down(&f);
}

/*
 * MX-035, the steps of pmcstat: a child waits for its parent's signal; the parent sets the counters up, signals, and
 * polls from another CPU while the child runs its program, until it exits.  Nothing before the signal is counted,
 * nothing of the parent's, each poll tells as much as the child has run, and the last count stays.
 * Catches: a count of the CPU instead of the child's, of its time before the signal, or one that is told at the end
 * only.
 */
static void a_parent_prepares_its_waiting_child_and_polls_it_to_its_exit(void **state)
{
    enum { PARENT, CHILD };
    struct host f;
    uint64_t ran = 0;

    (void)state;
    set_up(&f, "skylake", true);
    /* The child is born on CPU 1 and goes to sleep; its parent runs on CPU 0. */
    host_thread_switch(&f, 0, PARENT);
    host_thread_switch(&f, 1, CHILD);
    host_work(&f, 1, 3000);
    host_thread_switch(&f, 1, IDLE + 1);
    upmu_sim_switch_cpu(&f.sim, 0);
    host_add(&f, 0, "instructions,branches:u", 0);
    follow(&f, 0, CHILD);
    host_work(&f, 0, 700);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_WAITING);
    counted(&f, 0, 0, 0);
    /* The signal: it runs now, here and there, and its parent polls from CPU 0. */
    for (unsigned round = 0; round < 6; round++) {
        host_thread_switch(&f, 1, CHILD);
        for (unsigned slice = 1; slice <= 3; slice++) {
            host_work(&f, 1, 1000 * slice);
            ran += 1000 * slice;
            host_work(&f, 0, 50);
            upmu_sim_switch_cpu(&f.sim, 0);
            counted(&f, 0, 0, ran);
            counted(&f, 0, 1, ran / 5);
        }
        host_thread_switch(&f, 1, round & 1u ? IDLE + 1 : 2);
        host_work(&f, 1, 400);
        upmu_sim_switch_cpu(&f.sim, 0);
        counted(&f, 0, 0, ran);
    }
    assert_int_equal(upmu_thread_exit(&f.threads[CHILD]), UPMU_OK);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_DETACHED);
    host_work(&f, 0, 90);
    counted(&f, 0, 0, ran);
    tear_down(&f);
}

static void enabled_time_is_the_threads_own(void **state)
{
    struct host f;
    struct upmu_count count;

    (void)state;
    set_up(&f, "skylake", true);
    host_add(&f, 0, "instructions", 0);
    follow(&f, 0, 0);
    host_thread_switch(&f, 0, 0);
    host_work(&f, 0, 500);
    host_thread_switch(&f, 0, IDLE);
    upmu_sim_advance_ns(&f.sim, 1000000000);
    host_thread_switch(&f, 0, 0);
    host_work(&f, 0, 500);
    host_thread_switch(&f, 0, IDLE);
    count = host_count(&f.sessions[0], 0);
    assert_int_equal(count.enabled_ns, 2000);
    assert_int_equal(count.running_ns, 2000);
    tear_down(&f);
}

static void a_thread_attaches_and_starts_for_itself(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    host_thread_switch(&f, 0, 0);
    host_add(&f, 0, "instructions", 0);
    assert_int_equal(upmu_session_attach_thread(&f.sessions[0], &f.threads[0], &f.cpu[0]), UPMU_OK);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_STOPPED);
    host_work(&f, 0, 50);
    start(&f, 0);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
    host_work(&f, 0, 100);
    assert_int_equal(upmu_session_stop(&f.sessions[0]), UPMU_OK);
    host_work(&f, 0, 50);
    counted(&f, 0, 0, 100);
    /* Stopped it stays, whatever its thread does. */
    host_thread_switch(&f, 0, IDLE);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_STOPPED);
    host_thread_switch(&f, 0, 0);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_STOPPED);
    host_work(&f, 0, 50);
    counted(&f, 0, 0, 100);
    start(&f, 0);
    host_work(&f, 0, 7);
    assert_int_equal(upmu_set_write(&f.sessions[0].set, 0, 1000), UPMU_OK);
    host_work(&f, 0, 3);
    counted(&f, 0, 0, 1003);
    assert_int_equal(upmu_session_close(&f.sessions[0]), UPMU_OK);
    assert_null(f.threads[0].sessions);
    tear_down(&f);
}

static void calls_from_elsewhere_find_the_thread_or_say_that_they_cannot(void **state)
{
    (void)state;
    for (unsigned reachable = 0; reachable < 2; reachable++) {
        struct host f;
        enum upmu_status expected = reachable ? UPMU_OK : UPMU_ERR_WRONG_CPU;
        struct upmu_count count;

        set_up(&f, "skylake", true);
        if (!reachable)
            f.sim.port.run_on_cpu = NULL;
        host_add(&f, 0, "instructions", 0);
        follow(&f, 0, 0);
        host_thread_switch(&f, 1, 0);
        host_work(&f, 1, 100);
        upmu_sim_switch_cpu(&f.sim, 0);
        assert_int_equal(upmu_set_read(&f.sessions[0].set, 0, 1, &count), expected);
        assert_int_equal(upmu_set_write(&f.sessions[0].set, 0, 7), expected);
        assert_int_equal(upmu_session_stop(&f.sessions[0]), expected);
        assert_int_equal(f.sessions[0].state, reachable ? UPMU_SESSION_STOPPED : UPMU_SESSION_RUNNING);
        host_work(&f, 1, 40); /* while it is stopped, if it is */
        upmu_sim_switch_cpu(&f.sim, 0);
        assert_int_equal(upmu_session_start(&f.sessions[0]), expected);
        host_work(&f, 1, 3);
        upmu_sim_switch_cpu(&f.sim, 0);
        assert_int_equal(upmu_session_detach(&f.sessions[0]), expected);
        assert_int_equal(f.sessions[0].state, reachable ? UPMU_SESSION_DETACHED : UPMU_SESSION_RUNNING);
        if (reachable) {
            assert_int_equal(count.value, 100);
            counted(&f, 0, 0, 7 + 3);
        }
        host_thread_switch(&f, 1, 1);
        upmu_sim_switch_cpu(&f.sim, 0);
        /* Off its CPU, any CPU may; what was refused has changed nothing. */
        if (!reachable) {
            counted(&f, 0, 0, 100 + 40 + 3);
            assert_int_equal(upmu_session_stop(&f.sessions[0]), UPMU_OK);
            assert_int_equal(upmu_set_write(&f.sessions[0].set, 0, 7), UPMU_OK);
            counted(&f, 0, 0, 7);
            start(&f, 0);
            assert_int_equal(upmu_session_detach(&f.sessions[0]), UPMU_OK);
        }
        tear_down(&f);
    }
}

static void a_zero_that_proves_nothing_is_told_while_the_thread_waits(void **state)
{
    static const struct {
        const char *profile;
        enum upmu_quality quality;
    } cases[] = {{"counts_nothing", UPMU_QUALITY_UNPROVEN}, {"skylake", UPMU_QUALITY_EXACT}};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct host f;

        set_up(&f, cases[i].profile, true);
        host_add(&f, 0, "instructions,cache-misses", 0);
        follow(&f, 0, 0);
        host_thread_switch(&f, 0, 0);
        upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = 1000, .cycles = 2000});
        host_thread_switch(&f, 0, IDLE);
        assert_int_equal(host_count(&f.sessions[0], 1).quality, cases[i].quality, i);
        assert_int_equal(upmu_session_detach(&f.sessions[0]), UPMU_OK);
        assert_int_equal(host_count(&f.sessions[0], 1).quality, cases[i].quality, i);
        tear_down(&f);
    }
}

static void the_end_of_a_thread_leaves_sessions_detached_and_readable(void **state)
{
    (void)state;
    for (unsigned running = 0; running < 2; running++) {
        struct host f;

        set_up(&f, "skylake", true);
        for (unsigned i = 0; i < 2; i++) {
            host_add(&f, i, i ? "branches" : "instructions", 0);
            follow(&f, i, 0);
        }
        host_thread_switch(&f, 0, 0);
        host_work(&f, 0, 1000);
        if (!running)
            host_thread_switch(&f, 0, IDLE);
        assert_int_equal(upmu_thread_exit(&f.threads[0]), UPMU_OK);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(f.sessions[i].state, UPMU_SESSION_DETACHED, i);
        host_work(&f, 0, 1000);
        counted(&f, 0, 0, 1000);
        counted(&f, 1, 0, 200);
        assert_int_equal(upmu_session_start(&f.sessions[0]), UPMU_ERR_STATE);
        /* Another thread, the same session. */
        follow(&f, 0, 1);
        host_thread_switch(&f, 0, 1);
        host_work(&f, 0, 1);
        counted(&f, 0, 0, 1001);
        tear_down(&f);
    }
}

static void a_cpu_that_goes_offline_keeps_no_thread(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    host_add(&f, 0, "instructions", 0);
    host_add(&f, 1, "instructions", 0);
    follow(&f, 0, 0);
    on_cpu(&f, 1, 1);
    host_thread_switch(&f, 1, 0);
    host_work(&f, 1, 100);
    assert_int_equal(upmu_cpu_fini(&f.cpu[1]), UPMU_OK);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_WAITING);
    assert_int_equal(f.sessions[1].state, UPMU_SESSION_DETACHED);
    assert_null(f.threads[0].cpu);
    upmu_sim_switch_cpu(&f.sim, 0);
    for (unsigned i = 0; i < 2; i++)
        counted(&f, i, 0, 100);
    f.running[1] = IDLE + 1;
    host_thread_switch(&f, 0, 0);
    host_work(&f, 0, 10);
    counted(&f, 0, 0, 110);
    assert_int_equal(upmu_session_attach_cpu(&f.sessions[1], &f.cpu[0]), UPMU_OK);
    start(&f, 1);
    host_work(&f, 0, 10);
    counted(&f, 1, 0, 110);
    assert_int_equal(upmu_cpu_init(&f.cpu[1], &f.machine, NULL), UPMU_OK);
    assert_int_equal(upmu_session_detach(&f.sessions[1]), UPMU_OK);
    tear_down(&f);
}

/* The thread stays on its CPU: what passes in the sleep is in neither of its session's times. */
static void sleep_of_a_cpu_is_nobodys_time(void **state)
{
    struct upmu_count count;
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    host_add(&f, 0, "instructions", 0);
    follow(&f, 0, 0);
    host_thread_switch(&f, 0, 0);
    host_work(&f, 0, 100);
    assert_int_equal(upmu_cpu_suspend(&f.cpu[0]), UPMU_OK);
    upmu_sim_reset_cpu(&f.sim, 0);
    upmu_sim_advance_ns(&f.sim, 1000000000);
    assert_int_equal(upmu_cpu_resume(&f.cpu[0]), UPMU_OK);
    host_work(&f, 0, 100);
    host_thread_switch(&f, 0, IDLE);
    counted(&f, 0, 0, 200);
    count = host_count(&f.sessions[0], 0);
    assert_int_equal(count.enabled_ns, 400);
    assert_int_equal(count.running_ns, 400);
    tear_down(&f);
}

#define FOUR_A "branches,cache-references,cache-misses,bus-cycles"
#define FOUR_B "branches:u,cache-references:u,cache-misses:u,bus-cycles:u"

static void sessions_that_share_take_turns_and_estimate_what_they_missed(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    for (unsigned i = 0; i < 3; i++) {
        host_add(&f, i, i & 1u ? FOUR_B : FOUR_A, 0);
        assert_int_equal(upmu_session_share(&f.sessions[i], true), UPMU_OK, i);
        on_cpu(&f, i, 0);
    }
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
    assert_int_equal(f.sessions[1].state, UPMU_SESSION_WAITING);
    assert_int_equal(f.sessions[2].state, UPMU_SESSION_WAITING);
    for (unsigned turn = 0; turn < 30; turn++) {
        unsigned runs = 0;

        host_work(&f, 0, 10000);
        assert_int_equal(upmu_cpu_tick(&f.cpu[0]), UPMU_OK);
        for (unsigned i = 0; i < 3; i++)
            runs += f.sessions[i].state == UPMU_SESSION_RUNNING;
        assert_int_equal(runs, 1);
    }
    for (unsigned i = 0; i < 3; i++) {
        struct upmu_count count = host_count(&f.sessions[i], 0);

        assert_int_equal(count.quality, UPMU_QUALITY_SCALED);
        assert_int_equal(count.enabled_ns, 600000);
        assert_int_equal(count.running_ns, 200000);
        assert_int_equal(count.raw, 20000);
        assert_int_equal(count.value, 60000);
        assert_compare(count.error, >, 0);
    }
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(upmu_session_detach(&f.sessions[i]), UPMU_OK, i);
    tear_down(&f);
}

/*
 * Enabled time of what waits runs on, and its CPU adds to it in two stores: another CPU must not read in
 * between.  The mistake that this catches: only what runs is taken for what its CPU is working on.
 */
static void what_waits_for_a_counter_is_read_on_its_cpu(void **state)
{
    (void)state;
    for (unsigned reachable = 0; reachable < 2; reachable++) {
        struct upmu_count count;
        struct host f;

        set_up(&f, "skylake", true);
        if (!reachable)
            f.sim.port.run_on_cpu = NULL;
        for (unsigned i = 0; i < 2; i++) {
            host_add(&f, i, i ? FOUR_B : FOUR_A, 0);
            assert_int_equal(upmu_session_share(&f.sessions[i], true), UPMU_OK, i);
            on_cpu(&f, i, 0);
        }
        host_work(&f, 0, 1000);
        assert_int_equal(f.sessions[1].state, UPMU_SESSION_WAITING);
        upmu_sim_switch_cpu(&f.sim, 1);
        assert_int_equal(upmu_set_read(&f.sessions[1].set, 0, 1, &count), reachable ? UPMU_OK : UPMU_ERR_WRONG_CPU);
        upmu_sim_switch_cpu(&f.sim, 0);
        assert_int_equal(upmu_set_read(&f.sessions[1].set, 0, 1, &count), UPMU_OK);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(upmu_session_detach(&f.sessions[i]), UPMU_OK, i);
        upmu_sim_switch_cpu(&f.sim, 1);
        assert_int_equal(upmu_set_read(&f.sessions[1].set, 0, 1, &count), UPMU_OK);
        tear_down(&f);
    }
}

/*
 * A thread was switched to while its CPU slept: its session joins with a tick in which turns move on, and finds
 * no room.  The mistake that this catches: what one part of a tick has noted is wiped by another.
 */
static void time_before_a_session_joins_is_not_enabled_time(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    for (unsigned i = 0; i < 3; i++) {
        host_add(&f, i, i & 1u ? FOUR_B : FOUR_A, 0);
        assert_int_equal(upmu_session_share(&f.sessions[i], true), UPMU_OK, i);
    }
    on_cpu(&f, 0, 0);
    on_cpu(&f, 1, 0);
    follow(&f, 2, 0);
    host_work(&f, 0, 100000);
    assert_int_equal(upmu_cpu_suspend(&f.cpu[0]), UPMU_OK);
    upmu_sim_reset_cpu(&f.sim, 0);
    host_thread_switch(&f, 0, 0);
    assert_int_equal(upmu_cpu_resume(&f.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_cpu_tick(&f.cpu[0]), UPMU_OK);
    assert_int_equal(f.sessions[2].state, UPMU_SESSION_WAITING);
    assert_compare(host_count(&f.sessions[2], 0).enabled_ns, <, 1000);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(upmu_session_detach(&f.sessions[i]), UPMU_OK, i);
    tear_down(&f);
}

/*
 * The mistake that this catches: what a session is while it comes is still noted when it has come, and acted upon
 * by what happens to others.
 */
static void a_session_that_came_keeps_its_time_if_others_find_no_room(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    host_add(&f, 0, "instructions", 0);
    follow(&f, 0, 0);
    host_thread_switch(&f, 0, 0);
    host_thread_switch(&f, 0, IDLE);
    host_thread_switch(&f, 0, 0); /* its place is known now, so that it comes at once */
    host_work(&f, 0, 10000);
    for (unsigned i = 1; i < 3; i++) {
        host_add(&f, i, i & 1u ? FOUR_A : FOUR_B, 0);
        assert_int_equal(upmu_session_share(&f.sessions[i], true), UPMU_OK, i);
        on_cpu(&f, i, 0);
    }
    assert_int_equal(f.sessions[2].state, UPMU_SESSION_WAITING);
    assert_compare(host_count(&f.sessions[0], 0).enabled_ns, >=, 10000);
    counted(&f, 0, 0, 10000);
    for (unsigned i = 1; i < 3; i++)
        assert_int_equal(upmu_session_close(&f.sessions[i]), UPMU_OK, i);
    tear_down(&f);
}

/*
 * An erratum's sequence closes all counters, one that a static session left running, too.  The mistake that
 * this catches: a counter stops by another way than the one on which its base is forgotten.
 */
static void a_static_counter_that_a_prelude_stopped_is_read_again(void **state)
{
    (void)state;
    for (unsigned idle = 0; idle < 2; idle++) {
        struct upmu_test_state now;
        struct host f;

        set_up(&f, "nehalem", true);
        host_add(&f, 0, "instructions:counter=16", 0);
        assert_int_equal(upmu_session_static(&f.sessions[0], true), UPMU_OK);
        follow(&f, 0, 0);
        for (unsigned i = 1; i < 3; i++) { /* both have places, and each needs the sequence after the other */
            host_add(&f, i, i == 1 ? "branches:counter=0" : "branch-misses:counter=0", 0);
            follow(&f, i, i);
            host_thread_switch(&f, 0, i);
        }
        host_thread_switch(&f, 0, 0);
        host_work(&f, 0, 1000);
        if (idle)
            host_thread_switch(&f, 0, IDLE);
        if (idle)
            host_work(&f, 0, 500); /* in no count */
        host_thread_switch(&f, 0, 1);
        upmu_test_state(&f.cpu[0], &now);
        assert_int_equal(now.unowned, 0);
        host_work(&f, 0, 100);
        host_thread_switch(&f, 0, 0);
        host_work(&f, 0, 1000);
        host_thread_switch(&f, 0, IDLE);
        counted(&f, 0, 0, 2000);
        tear_down(&f);
    }
}

/* Select and value of counter 0 are written only while it stands still. */
static void watch_counter_0(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                            uint32_t address)
{
    (void)number;
    if (kind == UPMU_SIM_WRMSR && (address == 0x186 || address == 0xc1 || address == 0x4c1))
        assert_false(upmu_sim_runs(sim, cpu, 0));
}

/*
 * A static session has left its counter running, and another one comes to that, at once or after a thread without
 * sessions.  It samples the same event, or it counts another one.
 * Catches: a counter that is thought to be closed, or to go on as it is, and is written while it runs.
 */
static void a_static_counter_is_stopped_for_what_loads_it(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 4; way++) {
        bool samples = way & 1u, idle = way & 2u;
        struct host f;

        set_up(&f, "skylake", true);
        host_add(&f, 0, "branches:counter=0", 0);
        assert_int_equal(upmu_session_static(&f.sessions[0], true), UPMU_OK);
        host_add(&f, 1, samples ? "branches:counter=0" : "cache-references:counter=0", samples ? 1000 : 0);
        for (unsigned i = 0; i < 2; i++) {
            follow(&f, i, i);
            host_thread_switch(&f, 0, i); /* now its place is known */
        }
        f.sim.before_access = watch_counter_0;
        for (unsigned round = 0; round < 2; round++) {
            host_thread_switch(&f, 0, 0);
            host_work(&f, 0, 1000);
            if (idle) {
                host_thread_switch(&f, 0, IDLE);
                assert_true(upmu_sim_runs(&f.sim, 0, 0));
                host_work(&f, 0, 500);
            }
            host_thread_switch(&f, 0, 1);
            host_work(&f, 0, 3000);
        }
        host_thread_switch(&f, 0, IDLE);
        counted(&f, 0, 0, 400);
        counted(&f, 1, 0, samples ? 1200 : 600);
        tear_down(&f);
    }
}

/* Catches: a counter that is left running for a session that does not wait for it. */
static void a_static_session_that_is_stopped_leaves_nothing_running(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    host_add(&f, 0, "branches:counter=0", 0);
    assert_int_equal(upmu_session_static(&f.sessions[0], true), UPMU_OK);
    on_cpu(&f, 0, 0);
    host_work(&f, 0, 1000);
    assert_int_equal(upmu_session_stop(&f.sessions[0]), UPMU_OK);
    assert_false(upmu_sim_runs(&f.sim, 0, 0));
    assert_int_equal(upmu_session_detach(&f.sessions[0]), UPMU_OK);
    tear_down(&f);
}

/* Session 0 of thread 0 is static and has this event; it has counted, and another thread runs. */
static void leave_running(struct host *f, const char *event, unsigned next)
{
    host_add(f, 0, event, 0);
    assert_int_equal(upmu_session_static(&f->sessions[0], true), UPMU_OK);
    follow(f, 0, 0);
    host_thread_switch(f, 0, 0);
    host_work(f, 0, 1000);
    host_thread_switch(f, 0, next);
    host_work(f, 0, 500); /* in no count of session 0 */
}

/* The mistake that this catches: a counter that runs without a session is taken for one that stands still. */
static void an_attachment_writes_no_counter_that_was_left_running(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    leave_running(&f, "branches:counter=0", IDLE);
    host_add(&f, 1, "branches:counter=0", 100000);
    host_attach(&f, 1, 0);
    host_no_violation(&f);
    start(&f, 1);
    host_work(&f, 0, 100);
    counted(&f, 1, 0, 20);
    assert_int_equal(upmu_session_close(&f.sessions[1]), UPMU_OK);
    host_thread_switch(&f, 0, 0);
    host_work(&f, 0, 1000);
    counted(&f, 0, 0, 400);
    tear_down(&f);
}

/*
 * Counters 12 and 13 of NetBurst look at one ESCR.  The mistake that this catches: only the counter of the event that
 * comes is closed before the ESCR changes, or the other, which was closed, is thought to hold what its session left.
 */
static void no_select_changes_under_a_counter_that_was_left_running(void **state)
{
    static const struct {
        const char *other;
        unsigned next;
    } rows[] = {
        {"instructions:k:counter=13", 1}, {"instructions:k:counter=13", IDLE}, {"cycles:counter=0", IDLE}};

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host f;

        set_up(&f, "willamette", true);
        host_add(&f, 1, rows[i].other, 0);
        follow(&f, 1, 1);
        if (rows[i].next == 1)
            host_thread_switch(&f, 0, 1); /* the session has its place, and comes as the other leaves */
        leave_running(&f, "instructions:u:counter=12", rows[i].next);
        host_thread_switch(&f, 0, 1);
        host_work(&f, 0, 100);
        host_no_violation(&f);
        assert_false(upmu_sim_runs(&f.sim, 0, 12));
        host_thread_switch(&f, 0, 0);
        host_work(&f, 0, 1000);
        host_thread_switch(&f, 0, IDLE);
        counted(&f, 0, 0, 2000);
        tear_down(&f);
    }
}

/*
 * On a port without interrupts of counters one that a static session left running wraps.  The same session has it
 * again, or another one does, and another source's NMI looks at the status.  Catches: a wrap that was in no count taken
 * for one of what runs.
 */
static void a_wrap_of_what_a_static_session_left_running_is_in_no_count(void **state)
{
    static const char *const profiles[] = {"core2", "skylake", "zen4", "k8_revf", "northwood_smtoff", "p6"};
    static const char *const next[] = {NULL, "branches:counter=0", "cache-references:counter=0"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++)
        for (unsigned n = 0; n < sizeof next / sizeof next[0]; n++) {
            bool is_p4 = profiles[p][0] == 'n';
            struct host f;

            if (is_p4 && n)
                continue;
            host_prepare(&f, profiles[p]);
            f.sim.port.pmi_rearm = NULL;
            host_machine(&f);
            host_take_over(&f, 2, false);
            host_threads(&f, IDLE + 2);
            host_add(&f, 0, is_p4 ? "branches" : "branches:counter=0", 0);
            assert_int_equal(upmu_session_static(&f.sessions[0], true), UPMU_OK);
            if (n)
                host_add(&f, 1, next[n], 0);
            for (unsigned i = 0; i < 1 + !!n; i++)
                follow(&f, i, i);
            host_thread_switch(&f, 0, 0);
            host_work(&f, 0, 1000);
            host_thread_switch(&f, 0, IDLE);
            for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
                if (upmu_sim_runs(&f.sim, 0, i))
                    f.sim.cpu[0].counter[i].value = (UINT64_C(1) << f.cpu[0].meter.pmu->counter[i].width) - 50;
            host_work(&f, 0, 500);
            host_thread_switch(&f, 0, n ? 1 : 0);
            host_work(&f, 0, 1000);
            upmu_sim_advance_ns(&f.sim, UINT64_C(1) << 40); /* long enough for a round */
            upmu_sim_foreign_nmi(&f.sim);
            host_work(&f, 0, 1000);
            host_thread_switch(&f, 0, IDLE);
            counted(&f, n ? 1 : 0, 0, n == 2 ? 200 : n ? 400 : 600);
            tear_down(&f);
        }
}

/*
 * Session 0 is static, and its counter wraps while it runs for no session.  Session 1 is to get a set of the same
 * event, so that the counter would run on; but the counter of its present set cannot be read, so it stops, and the set
 * does not come.  On a port without interrupts of counters the flag of the wrap stays.  Catches: a counter that was
 * closed so and is thought to run on for session 0, or whose flag is taken for a round of what session 0 counts next.
 */
static void a_counter_closed_for_a_set_that_does_not_come_begins_anew(void **state)
{
    struct host f;

    (void)state;
    host_prepare(&f, "skylake");
    f.sim.port.pmi_rearm = NULL;
    f.sim.port.rdpmc = NULL;
    host_machine(&f);
    host_take_over(&f, 2, false);
    host_threads(&f, IDLE + 2);
    assert_int_equal(upmu_set_add(&f.sessions[1].set, "branches:counter=0", NULL), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&f.sessions[1], &f.sets[1], 1, 0, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&f.sets[1], "cache-references:counter=1", NULL), UPMU_OK);
    on_cpu(&f, 1, 0);
    for (unsigned i = 0; i < 2; i++) /* now both sets have places */
        assert_int_equal(upmu_session_switch(&f.sessions[1], NULL), UPMU_OK);
    leave_running(&f, "cache-references:counter=1", IDLE);
    f.sim.cpu[0].counter[1].value = (UINT64_C(1) << 48) - 10;
    host_work(&f, 0, 500);
    f.sim.expect_faults = true;
    f.sim.fault_address = 0xc1;
    assert_int_equal(upmu_session_switch(&f.sessions[1], NULL), UPMU_OK);
    f.sim.fault_address = 0;
    assert_int_equal(f.sessions[1].error, UPMU_ERR_PORT);
    assert_false(upmu_sim_runs(&f.sim, 0, 1));
    host_thread_switch(&f, 0, 0);
    assert_true(upmu_sim_runs(&f.sim, 0, 1));
    host_work(&f, 0, 1000);
    upmu_sim_advance_ns(&f.sim, UINT64_C(1) << 40); /* long enough for a round */
    upmu_sim_foreign_nmi(&f.sim);
    host_work(&f, 0, 1000);
    host_thread_switch(&f, 0, IDLE);
    counted(&f, 0, 0, 300);
    assert_int_equal(upmu_session_detach(&f.sessions[1]), UPMU_OK);
    tear_down(&f);
}

/*
 * An erratum's sequence closes the counter that a static session left running, after it has wrapped, on a port without
 * interrupts of counters.  The session has its counter again, and another source's NMI looks at the status.  Catches:
 * the flag of that wrap taken for one of what runs.
 */
static void a_wrap_before_an_errata_sequence_closed_is_in_no_count(void **state)
{
    struct host f;

    (void)state;
    host_prepare(&f, "nehalem");
    f.sim.port.pmi_rearm = NULL;
    host_machine(&f);
    host_take_over(&f, 2, false);
    host_threads(&f, IDLE + 2);
    for (unsigned i = 1; i < 3; i++) { /* both have places, and each needs the sequence after the other */
        host_add(&f, i, i == 1 ? "cache-references:counter=1" : "branch-misses:counter=1", 0);
        follow(&f, i, i);
        host_thread_switch(&f, 0, i);
    }
    leave_running(&f, "branches:counter=0", IDLE);
    f.sim.cpu[0].counter[0].value = (UINT64_C(1) << 48) - 10;
    host_work(&f, 0, 500);
    host_thread_switch(&f, 0, 1);
    assert_false(upmu_sim_runs(&f.sim, 0, 0));
    host_thread_switch(&f, 0, 0);
    host_work(&f, 0, 1000);
    upmu_sim_advance_ns(&f.sim, UINT64_C(1) << 40); /* long enough for a round */
    upmu_sim_foreign_nmi(&f.sim);
    host_work(&f, 0, 1000);
    host_thread_switch(&f, 0, IDLE);
    counted(&f, 0, 0, 600);
    tear_down(&f);
}

/*
 * Registers that CPUs share are claimed while a session runs.  The mistake that this catches: a counter runs on without
 * the claim, and another CPU changes its registers.
 */
static void no_counter_runs_on_without_the_claim_on_its_registers(void **state)
{
    static const struct {
        const char *profile, *event;
    } rows[] = {
        {"northwood", "branches"},
        {"nehalem", OFFCORE("0x101")},
        {"haswell_smt", "r81d0"},
        {"haswell_smt", "branches"}, /* it shares no register, and runs on */
    };

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned runs = 0;
        struct host f;

        host_prepare_cpus(&f, rows[i].profile, 2);
        host_machine(&f);
        host_take_over(&f, 2, true);
        host_threads(&f, IDLE + 2);
        leave_running(&f, rows[i].event, IDLE);
        for (unsigned counter = 0; counter < UPMU_SIM_COUNTERS; counter++)
            runs += upmu_sim_runs(&f.sim, 0, counter);
        assert_int_equal(runs, i == 3, i);
        host_add(&f, 1, rows[i].event, 0);
        on_cpu(&f, 1, 1);
        host_no_violation(&f);
        assert_int_equal(upmu_session_close(&f.sessions[1]), UPMU_OK);
        upmu_sim_switch_cpu(&f.sim, 0);
        tear_down(&f);
    }
}

static bool failing_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    (void)context;
    (void)msr;
    (void)value;
    return false;
}

/* The mistake that this catches: an error's way out forgets what the usual way looks at. */
static void a_session_that_faults_when_its_thread_comes_was_not_enabled(void **state)
{
    struct upmu_port hooks;
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    host_add(&f, 0, "instructions", 0);
    follow(&f, 0, 0);
    host_work(&f, 0, 100000);
    hooks = f.sim.port;
    f.sim.port.wrmsr = failing_wrmsr;
    host_thread_switch(&f, 0, 0);
    f.sim.port.wrmsr = hooks.wrmsr;
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_STOPPED);
    assert_int_equal(f.sessions[0].error, UPMU_ERR_PORT);
    assert_compare(host_count(&f.sessions[0], 0).enabled_ns, <, 1000);
    tear_down(&f);
}

static void without_a_clock_what_waited_is_partial(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", false);
    for (unsigned i = 0; i < 2; i++) {
        host_add(&f, i, i ? FOUR_B : FOUR_A, 0);
        assert_int_equal(upmu_session_share(&f.sessions[i], true), UPMU_OK, i);
        on_cpu(&f, i, 0);
    }
    host_work(&f, 0, 1000);
    assert_int_equal(upmu_cpu_tick(&f.cpu[0]), UPMU_OK);
    host_work(&f, 0, 1000);
    assert_int_equal(upmu_cpu_tick(&f.cpu[0]), UPMU_OK);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(host_count(&f.sessions[i], 0).quality, UPMU_QUALITY_PARTIAL, i);
        assert_int_equal(host_count(&f.sessions[i], 0).value, 200, i);
        assert_int_equal(upmu_session_detach(&f.sessions[i]), UPMU_OK, i);
    }
    tear_down(&f);
}

/*
 * Where others wait and there is no clock, a thread's session comes by the long way, at once.
 * Catches: what is said of one that is still to come, believed when it has come.
 */
static void without_a_clock_what_comes_beside_those_that_wait_is_exact(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", false);
    for (unsigned i = 1; i < 3; i++) {
        host_add(&f, i, i & 1u ? FOUR_A : FOUR_B, 0);
        assert_int_equal(upmu_session_share(&f.sessions[i], true), UPMU_OK, i);
        on_cpu(&f, i, 0);
    }
    assert_int_equal(f.sessions[2].state, UPMU_SESSION_WAITING);
    host_add(&f, 0, "instructions", 0);
    follow(&f, 0, 0);
    for (unsigned k = 1; k <= 3; k++) {
        host_thread_switch(&f, 0, 0);
        assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
        host_work(&f, 0, 1000);
        host_thread_switch(&f, 0, IDLE);
        host_work(&f, 0, 1000);
        counted(&f, 0, 0, 1000 * k);
    }
    for (unsigned i = 1; i < 3; i++)
        assert_int_equal(upmu_session_detach(&f.sessions[i]), UPMU_OK, i);
    tear_down(&f);
}

static void the_unshared_come_first_and_are_refused_beside_their_like(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    host_add(&f, 0, FOUR_A, 0);
    assert_int_equal(upmu_session_share(&f.sessions[0], true), UPMU_OK);
    on_cpu(&f, 0, 0);
    host_add(&f, 1, "branches:u,cache-references:u", 0);
    on_cpu(&f, 1, 0);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_WAITING);
    assert_int_equal(f.sessions[1].state, UPMU_SESSION_RUNNING);
    host_add(&f, 2, FOUR_B, 0);
    assert_int_equal(upmu_session_attach_cpu(&f.sessions[2], &f.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&f.sessions[2]), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(f.sessions[2].state, UPMU_SESSION_STOPPED);
    host_work(&f, 0, 1000);
    counted(&f, 1, 0, 200);
    /* A thread's session that does not share comes before those of the CPU that do. */
    assert_int_equal(upmu_session_detach(&f.sessions[1]), UPMU_OK);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
    host_add(&f, 3, "branches:u,cache-references:u,cache-misses:u", 0);
    follow(&f, 3, 0);
    host_thread_switch(&f, 0, 0);
    assert_int_equal(f.sessions[3].state, UPMU_SESSION_RUNNING);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_WAITING);
    host_work(&f, 0, 1000);
    host_thread_switch(&f, 0, IDLE);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
    counted(&f, 3, 0, 200);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(upmu_session_detach(&f.sessions[i]), UPMU_OK, i);
    tear_down(&f);
}

static void a_threads_session_without_room_waits_and_says_why(void **state)
{
    struct host f;
    struct upmu_count count;

    (void)state;
    set_up(&f, "skylake", true);
    host_add(&f, 0, FOUR_A, 0);
    on_cpu(&f, 0, 0);
    host_add(&f, 1, "branches:u", 0);
    follow(&f, 1, 0);
    host_thread_switch(&f, 0, 0);
    assert_int_equal(f.sessions[1].state, UPMU_SESSION_WAITING);
    assert_int_equal(f.sessions[1].why.collision, UPMU_COLLISION_COUNTERS);
    host_work(&f, 0, 1000);
    count = host_count(&f.sessions[1], 0);
    assert_int_equal(count.quality, UPMU_QUALITY_NEVER_RAN);
    assert_int_equal(count.enabled_ns, 2000);
    assert_int_equal(count.running_ns, 0);
    /* Room is made: it runs at once. */
    assert_int_equal(upmu_session_stop(&f.sessions[0]), UPMU_OK);
    assert_int_equal(f.sessions[1].state, UPMU_SESSION_RUNNING);
    host_work(&f, 0, 1000);
    host_thread_switch(&f, 0, IDLE);
    count = host_count(&f.sessions[1], 0);
    assert_int_equal(count.quality, UPMU_QUALITY_SCALED);
    assert_int_equal(count.raw, 200);
    assert_int_equal(count.value, 400);
    assert_int_equal(upmu_session_detach(&f.sessions[0]), UPMU_OK);
    tear_down(&f);
}

static void what_comes_and_goes_disturbs_nobodys_count(void **state)
{
    struct host f;
    uint64_t total = 0, branches = 0, references = 0;

    (void)state;
    set_up(&f, "skylake", true);
    host_add(&f, 0, "instructions,branches", 0);
    on_cpu(&f, 0, 0);
    host_add(&f, 1, "cache-references", 0);
    follow(&f, 1, 0);
    for (unsigned round = 0; round < 20; round++) {
        host_add(&f, 2, round & 1u ? "cycles,branch-misses" : "cache-misses,branches:u", 0);
        follow(&f, 2, 0);
        host_thread_switch(&f, 0, 0);
        host_work(&f, 0, 1000 + round);
        assert_int_equal(upmu_session_close(&f.sessions[2]), UPMU_OK);
        host_work(&f, 0, 500);
        total += 1000 + round + 500;
        branches += (1000 + round) / 5 + 100;
        references += (1000 + round) / 10 + 50;
        host_thread_switch(&f, 0, IDLE);
        assert_int_equal(upmu_session_init(&f.sessions[2], &f.machine), UPMU_OK);
    }
    counted(&f, 0, 0, total);
    counted(&f, 0, 1, branches);
    counted(&f, 1, 0, references);
    assert_int_equal(upmu_session_detach(&f.sessions[0]), UPMU_OK);
    tear_down(&f);
}

/* The sample of an overflow that comes while a thread is switched out is that thread's. */
static void an_overflow_inside_a_switch_is_of_the_thread_that_made_it(void **state)
{
    (void)state;
    for (unsigned skid = 0; skid < 30; skid++) {
        struct host f;
        struct upmu_sample sample;
        unsigned samples = 0;

        set_up(&f, "skylake", true);
        f.sim.skid = skid;
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(upmu_set_add(&f.sessions[i].set, "branches", &(struct upmu_sampling){.period = 1000}),
                             UPMU_OK, i);
            assert_int_equal(upmu_session_ring(&f.sessions[i], f.rings[i], sizeof f.rings[i]), UPMU_OK, i);
            follow(&f, i, i);
        }
        host_thread_switch(&f, 0, 0);
        host_work(&f, 0, 4999);
        host_work(&f, 0, 6);
        host_thread_switch(&f, 0, 1);
        host_work(&f, 0, 2500);
        host_thread_switch(&f, 0, IDLE);
        while (upmu_ring_next(&f.sessions[0].ring, &sample))
            samples++;
        assert_int_equal(samples, 1);
        assert_false(upmu_ring_next(&f.sessions[1].ring, &sample));
        assert_int_equal(f.sessions[0].set.tally[0].total, 1000);
        assert_int_equal(f.sessions[1].set.tally[0].total, 500);
        tear_down(&f);
    }
}

static void a_session_that_a_call_holds_joins_with_the_next_tick(void **state)
{
    struct upmu_count count;
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    host_add(&f, 0, "instructions", 0);
    follow(&f, 0, 0);
    f.sessions[0].held = 1; /* as inside upmu_session_stop() on another CPU */
    host_thread_switch(&f, 0, 0);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_WAITING);
    assert_int_equal(upmu_session_start(&f.sessions[0]), UPMU_ERR_BUSY);
    host_work(&f, 0, 1000);
    f.sessions[0].held = 0;
    assert_int_equal(upmu_cpu_tick(&f.cpu[0]), UPMU_OK);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
    host_work(&f, 0, 100);
    host_thread_switch(&f, 0, IDLE);
    count = host_count(&f.sessions[0], 0);
    assert_int_equal(count.raw, 100);
    assert_int_equal(count.quality, UPMU_QUALITY_SCALED); /* it was enabled since its thread came */
    assert_compare(count.enabled_ns, >, 10 * count.running_ns);
    tear_down(&f);
}

static void the_last_of_its_controllers_closes_a_session(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    host_add(&f, 0, "instructions", 0);
    upmu_session_hold(&f.sessions[0]);
    follow(&f, 0, 0);
    host_thread_switch(&f, 0, 0);
    assert_int_equal(upmu_session_drop(&f.sessions[0]), UPMU_OK);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
    host_work(&f, 0, 100);
    counted(&f, 0, 0, 100); /* the controller that is left can use it */
    assert_int_equal(upmu_session_drop(&f.sessions[0]), UPMU_OK);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_CLOSED);
    assert_null(f.threads[0].sessions);
    tear_down(&f);
}

/*
 * Two without an owner end with the same switch: the memory of either may be given away first.
 * Catches: a list of what is about to end left in what has ended (seed 5550 of the simulated host).
 */
static void zombies_of_a_thread_do_not_point_to_each_other(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    for (unsigned i = 0; i < 2; i++) {
        host_add(&f, i, "instructions", 0);
        follow(&f, i, 0);
        f.sessions[i].ties |= 2; /* dropped while a call held it */
        f.machine.dropped++;
    }
    host_thread_switch(&f, 0, 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(f.sessions[i].state, UPMU_SESSION_CLOSED, i);
        assert_null(f.sessions[i].next_of_thread, i);
    }
    tear_down(&f);
}

static void a_zombie_gives_no_sample_and_is_closed_by_its_target(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 3; way++) {
        struct host f;
        struct upmu_sample sample;
        unsigned before = 0;

        set_up(&f, "skylake", true);
        f.sim.port.run_on_cpu = NULL;
        host_add(&f, 0, "branches", 1000);
        if (way < 2) {
            follow(&f, 0, 0);
            host_thread_switch(&f, 1, 0);
        } else {
            on_cpu(&f, 0, 1);
        }
        host_work(&f, 1, 7000);
        while (upmu_ring_next(&f.sessions[0].ring, &sample))
            before++;
        assert_int_equal(before, 1);
        upmu_sim_switch_cpu(&f.sim, 0);
        assert_int_equal(upmu_session_drop(&f.sessions[0]), UPMU_OK);
        assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
        host_work(&f, 1, 7000);
        assert_false(upmu_ring_next(&f.sessions[0].ring, &sample));
        if (way == 0)
            host_thread_switch(&f, 1, IDLE + 1);
        else
            assert_int_equal(upmu_cpu_tick(&f.cpu[1]), UPMU_OK);
        assert_int_equal(f.sessions[0].state, UPMU_SESSION_CLOSED);
        assert_null(f.threads[0].sessions);
        for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
            assert_false(upmu_sim_runs(&f.sim, 1, i), i, way);
        host_work(&f, 1, 7000);
        assert_false(upmu_ring_next(&f.sessions[0].ring, &sample), way);
        tear_down(&f);
    }
}

static void a_session_whose_interrupt_was_dropped_is_not_silent_for_ever(void **state)
{
    struct host f;
    struct upmu_sample sample;
    unsigned samples = 0;

    (void)state;
    set_up(&f, "skylake", true);
    assert_int_equal(upmu_set_add(&f.sessions[0].set, "branches", &(struct upmu_sampling){.period = 1000}), UPMU_OK);
    assert_int_equal(upmu_session_ring(&f.sessions[0], f.rings[0], sizeof f.rings[0]), UPMU_OK);
    on_cpu(&f, 0, 0);
    host_work(&f, 0, 5000);
    f.sim.cpu[0].lvtpc |= UPMU_SIM_LVTPC_MASKED; /* by other software */
    host_work(&f, 0, 15000);
    assert_int_equal(upmu_cpu_poll(&f.cpu[0]), UPMU_OK);
    host_work(&f, 0, 20000);
    while (upmu_ring_next(&f.sessions[0].ring, &sample))
        samples++;
    assert_int_equal(samples + f.sessions[0].set.tally[0].lost, 8);
    assert_compare(samples, >=, 6);
    counted(&f, 0, 0, 8000);
    assert_int_equal(upmu_session_detach(&f.sessions[0]), UPMU_OK);
    tear_down(&f);
}

/* A place that was good is not any more: its registers have been given to others meanwhile. */
static void a_remembered_place_holds_only_beside_the_same_company(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    host_add(&f, 0, OFFCORE("0x10001") ":counter=3", 0);
    follow(&f, 0, 0);
    host_thread_switch(&f, 0, 0);
    host_thread_switch(&f, 0, IDLE);
    host_add(&f, 1, OFFCORE("0x10002"), 0);
    on_cpu(&f, 1, 0);
    assert_int_equal(upmu_sim_peek(&f.sim, 0, 0x1a6), 0x10002);
    host_thread_switch(&f, 0, 0);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
    assert_int_equal(upmu_sim_peek(&f.sim, 0, 0x1a6), 0x10002);
    assert_int_equal(upmu_sim_peek(&f.sim, 0, 0x1a7), 0x10001);
    host_thread_switch(&f, 0, IDLE);
    /* One other session instead of one other session, but with both registers. */
    assert_int_equal(upmu_session_detach(&f.sessions[1]), UPMU_OK);
    host_add(&f, 2, OFFCORE("0x10004"), 0);
    host_add(&f, 2, OFFCORE("0x10008"), 0);
    on_cpu(&f, 2, 0);
    host_thread_switch(&f, 0, 0);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_WAITING);
    assert_int_equal(upmu_sim_peek(&f.sim, 0, 0x1a6) + upmu_sim_peek(&f.sim, 0, 0x1a7), 0x20000 + 0xc);
    assert_int_equal(upmu_session_detach(&f.sessions[2]), UPMU_OK);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
    tear_down(&f);
}

/*
 * Two sessions of a thread have been placed one after the other, on the same counter.
 * Catches: a place that is good beside what runs, and taken by what comes with it.
 */
static void sessions_that_remember_the_same_counter_come_to_two(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    host_thread_switch(&f, 0, 0);
    for (unsigned i = 0; i < 2; i++) {
        host_add(&f, i, i ? "cache-references" : "branches", 0);
        assert_int_equal(upmu_session_attach_thread(&f.sessions[i], &f.threads[0], &f.cpu[0]), UPMU_OK, i);
        start(&f, i);
        assert_int_equal(upmu_session_stop(&f.sessions[i]), UPMU_OK, i);
    }
    assert_int_equal(f.sessions[0].set.tally[0].counter, f.sessions[1].set.tally[0].counter);
    host_thread_switch(&f, 0, IDLE);
    for (unsigned i = 0; i < 2; i++)
        start(&f, i);
    host_thread_switch(&f, 0, 0);
    assert_int_not_equal(f.sessions[0].set.tally[0].counter, f.sessions[1].set.tally[0].counter);
    host_work(&f, 0, 1000);
    host_thread_switch(&f, 0, IDLE);
    counted(&f, 0, 0, 200);
    counted(&f, 1, 0, 100);
    tear_down(&f);
}

static void a_counter_that_was_reserved_meanwhile_is_left_alone(void **state)
{
    struct host f;
    unsigned counter;

    (void)state;
    set_up(&f, "skylake", true);
    host_add(&f, 0, "branches", 0);
    follow(&f, 0, 0);
    host_thread_switch(&f, 0, 0);
    counter = f.sessions[0].set.tally[0].counter;
    host_thread_switch(&f, 0, IDLE);
    assert_int_equal(upmu_cpu_reserve(&f.cpu[0], 1u << counter), UPMU_OK);
    host_thread_switch(&f, 0, 0);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
    assert_int_not_equal(f.sessions[0].set.tally[0].counter, counter);
    assert_false(upmu_sim_runs(&f.sim, 0, counter));
    host_thread_switch(&f, 0, IDLE);
    upmu_cpu_unreserve(&f.cpu[0], 1u << counter);
    tear_down(&f);
}

/* The overflow that finds the ring full is found by the switch itself. */
static void a_ring_that_a_switch_finds_full_masks_the_session(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    assert_int_equal(upmu_set_add(&f.sessions[0].set, "branches", &(struct upmu_sampling){.period = 1000}), UPMU_OK);
    assert_int_equal(upmu_session_ring(&f.sessions[0], f.rings[0], 256), UPMU_OK);
    upmu_session_mask_on_full(&f.sessions[0], true);
    follow(&f, 0, 0);
    host_thread_switch(&f, 0, 0);
    while (upmu_ring_lost(&f.sessions[0].ring) == 0 && f.sessions[0].set.tally[0].overflows < 5)
        host_work(&f, 0, 5000);
    f.sim.cpu[0].lvtpc |= UPMU_SIM_LVTPC_MASKED; /* no interrupt comes */
    host_work(&f, 0, 5000 * 3);
    host_thread_switch(&f, 0, IDLE);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_MASKED);
    host_thread_switch(&f, 0, 0);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_MASKED);
    host_work(&f, 0, 5000);
    host_thread_switch(&f, 0, IDLE);
    assert_int_equal(upmu_session_restart(&f.sessions[0]), UPMU_OK);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_WAITING);
    tear_down(&f);
}

/*
 * Of a thread's two sessions one waits when its CPU falls asleep; it is read and written there, and the other detached.
 * Catches: the time of the sleep told as enabled, by a read or for what a write begins at, that the wake-up drops.
 */
static void time_asleep_is_no_enabled_time_of_a_session_that_waits(void **state)
{
    struct upmu_count count;
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    for (unsigned i = 0; i < 2; i++) {
        host_add(&f, i, i ? FOUR_A : FOUR_B, 0);
        follow(&f, i, 0);
    }
    host_thread_switch(&f, 0, 0);
    host_work(&f, 0, 1000);
    for (unsigned way = 0; way < 2; way++) {
        unsigned i = f.sessions[0].state == UPMU_SESSION_WAITING ? 0 : 1;
        uint64_t before_ns;

        assert_int_equal(f.sessions[i].state, UPMU_SESSION_WAITING, i);
        assert_ptr_equal(f.sessions[i].meter, &f.cpu[0], i);
        assert_int_equal(upmu_cpu_suspend(&f.cpu[0]), UPMU_OK);
        before_ns = host_count(&f.sessions[i], 0).enabled_ns;
        upmu_sim_advance_ns(&f.sim, 1000000000);
        assert_int_equal(host_count(&f.sessions[i], 0).enabled_ns, before_ns, i);
        if (way)
            assert_int_equal(upmu_session_detach(&f.sessions[i]), UPMU_OK, i);
        else
            assert_int_equal(upmu_set_write(&f.sessions[i].set, 0, 5), UPMU_OK, i);
        assert_int_equal(upmu_cpu_resume(&f.cpu[0]), UPMU_OK);
        count = host_count(&f.sessions[i], 0);
        assert_compare(count.enabled_ns, <, 1000000000);
    }
    tear_down(&f);
}

/*
 * One waits, of the CPU or of a thread; two ran, of which the one that is loaded first leaves it room for a moment.
 * Catches: a loop over sessions in whose middle others are let in: one that waits is enabled for the time asleep
 * (seeds 823, 1549 of the simulated host), and takes the counters of one that ran.
 */
static void what_ran_before_a_sleep_comes_before_what_waited(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 2; way++) {
        struct host f;

        set_up(&f, "skylake", true);
        host_thread_switch(&f, 0, 0);
        host_add(&f, 0, FOUR_A, 0);
        host_add(&f, 1, FOUR_B, 0);
        host_add(&f, 2, "instructions", 0);
        on_cpu(&f, 0, 0);
        if (way) {
            assert_int_equal(upmu_session_attach_thread(&f.sessions[1], &f.threads[0], &f.cpu[0]), UPMU_OK);
            start(&f, 1);
        } else {
            assert_int_equal(upmu_session_share(&f.sessions[1], true), UPMU_OK);
            on_cpu(&f, 1, 0);
        }
        on_cpu(&f, 2, 0);
        assert_int_equal(f.sessions[1].state, UPMU_SESSION_WAITING);
        assert_int_equal(upmu_cpu_suspend(&f.cpu[0]), UPMU_OK);
        upmu_sim_advance_ns(&f.sim, 1000000000);
        assert_int_equal(upmu_cpu_resume(&f.cpu[0]), UPMU_OK);
        assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
        assert_int_equal(f.sessions[1].state, UPMU_SESSION_WAITING);
        assert_compare(host_count(&f.sessions[1], 0).enabled_ns, <, 1000000000);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(upmu_session_detach(&f.sessions[i]), UPMU_OK, i);
        tear_down(&f);
    }
}

/* Steps of one switch, by the processor's trap flag. */
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__)

static volatile unsigned steps;

/* A call that is stepped through has more instructions: fewer, and the steps did not come. */
#define STEPS_AT_LEAST 20u

static void count_step(int number, siginfo_t *info, void *where)
{
    (void)number;
    (void)info;
    (void)where;
    steps++;
}

/* What happens elsewhere before one step of a call, once. */
static struct {
    struct host *f;
    void (*act)(struct host *f);
    unsigned at, steps;
    bool enough; /* no more steps */
} elsewhere;

static void act_elsewhere(int number, siginfo_t *info, void *where)
{
    ucontext_t *context = where;

    (void)number;
    (void)info;
    if (elsewhere.steps++ == elsewhere.at)
        elsewhere.act(elsewhere.f);
    if (elsewhere.enough)
        FLAGS_OF(context) &= ~TRAP_FLAG;
}

static void step_prepare(struct host *f, void (*act)(struct host *), unsigned at, struct sigaction *before)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = act_elsewhere;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, before);
    elsewhere.f = f;
    elsewhere.act = act;
    elsewhere.at = at;
    elsewhere.steps = 0;
    elsewhere.enough = false;
}

static void step_begin(struct host *f, void (*act)(struct host *), unsigned at, struct sigaction *before)
{
    step_prepare(f, act, at, before);
    trap_flag_set();
}

static void step_end(const struct sigaction *before)
{
    trap_flag_clear();
    sigaction(SIGTRAP, before, NULL);
}

/* How many steps lie between two that are tried. */
static unsigned steps_apart(unsigned quick)
{
    unsigned distance = share_few(1, share_step(quick, quick));

    if (distance > 1)
        printf("one step of %u; each one in make soak (FUZZ_RUNS=soak)\n", distance);
    return distance;
}

static struct upmu_accesses accesses_before;

/* Before this step, or the first later one at which a call is in progress, if it has touched nothing yet. */
static void fill_the_ring(struct host *f)
{
    struct upmu_test_state now;

    upmu_test_state(&f->cpu[0], &now);
    if (!now.busy) {
        elsewhere.at++;
        return;
    }
    elsewhere.enough = !memcmp(&f->cpu[0].meter.bank.accesses, &accesses_before, sizeof accesses_before);
    if (elsewhere.enough)
        host_work(f, 0, 5000);
}

/*
 * Two threads count the same on one counter, which runs on from one to the other and is its own gate; the first one
 * samples, too, and is masked by its handler before each seventh step of a switch that comes before its first access.
 * Catches: a plan that is carried out though it was made from what a handler has changed since.
 */
static void what_a_handler_closed_before_a_switch_counts_for_the_next(void **state)
{
    const struct upmu_sampling sampling = {.period = 1000};
    struct sigaction before;
    unsigned masked = 0;

    (void)state;
    for (unsigned at = 0; !at || elsewhere.enough; at = elsewhere.at + 7) {
        struct host f;
        enum upmu_status status;

        set_up(&f, "barcelona", true);
        assert_int_equal(upmu_set_add(&f.sessions[0].set, "branches", &sampling), UPMU_OK);
        assert_int_equal(upmu_set_add(&f.sessions[0].set, "cycles", NULL), UPMU_OK);
        assert_int_equal(upmu_session_ring(&f.sessions[0], f.rings[0], 256), UPMU_OK);
        upmu_session_mask_on_full(&f.sessions[0], true);
        host_add(&f, 1, "branches,cycles", 0);
        for (unsigned i = 0; i < 2; i++)
            follow(&f, i, i);
        for (unsigned i = 0; i < 5; i++)
            host_thread_switch(&f, 0, i & 1u);
        for (unsigned i = 0; i < 5; i++)
            host_work(&f, 0, 5000);
        assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
        accesses_before = f.cpu[0].meter.bank.accesses;
        step_begin(&f, fill_the_ring, at, &before);
        status = upmu_thread_switch(&f.cpu[0], &f.threads[0], &f.threads[1]);
        step_end(&before);
        f.running[0] = 1;
        assert_int_equal(status, UPMU_OK);
        masked += f.sessions[0].state == UPMU_SESSION_MASKED;
        host_work(&f, 0, 700);
        counted(&f, 1, 0, 140);
        counted(&f, 1, 1, 1400);
        tear_down(&f);
    }
    assert_compare(masked, >, 10);
}

static void detach_on_the_other_cpu(struct host *f)
{
    enum upmu_status status;

    elsewhere.enough = true;
    upmu_sim_switch_cpu(&f->sim, 1);
    status = upmu_session_detach(&f->sessions[0]);
    (void)status; /* busy where the list is held */
    upmu_sim_switch_cpu(&f->sim, 0);
}

/*
 * On a CPU that sleeps a thread's sessions are in no list of the CPU: the only one may be detached elsewhere before
 * each step of a switch to the thread, and of one away from it.
 * Catches: "it runs here" kept by the CPU or the thread when it has left, which is freed, and the next tick looks at
 * it; and a switch away that is not seen, as there are no sessions any more.
 */
static void what_runs_where_is_known_whatever_a_switch_met(void **state)
{
    const unsigned distance = steps_apart(3);
    struct sigaction before;

    (void)state;
    for (unsigned away = 0; away < 2; away++) {
        unsigned at;

        for (at = 0; !at || elsewhere.enough; at += distance) {
            struct host f;
            enum upmu_status status;

            set_up(&f, "skylake", true);
            host_add(&f, 0, "instructions", 0);
            follow(&f, 0, 0);
            assert_int_equal(upmu_cpu_suspend(&f.cpu[0]), UPMU_OK);
            if (away)
                assert_int_equal(upmu_thread_switch(&f.cpu[0], &f.threads[IDLE], &f.threads[0]), UPMU_OK);
            step_begin(&f, detach_on_the_other_cpu, at, &before);
            status = upmu_thread_switch(&f.cpu[0], &f.threads[away ? 0 : IDLE], &f.threads[away ? IDLE : 0]);
            step_end(&before);
            f.running[0] = 0;
            assert_int_equal(status, UPMU_OK);
            assert_ptr_equal(f.cpu[0].current, f.threads[0].cpu ? &f.threads[0] : NULL);
            if (!away && f.threads[0].sessions)
                assert_ptr_equal(f.threads[0].cpu, &f.cpu[0]);
            assert_int_equal(upmu_session_detach(&f.sessions[0]), UPMU_OK);
            if (!away)
                assert_int_equal(upmu_thread_switch(&f.cpu[0], &f.threads[0], &f.threads[IDLE]), UPMU_OK);
            assert_null(f.threads[0].cpu);
            assert_null(f.cpu[0].current);
            assert_int_equal(upmu_cpu_resume(&f.cpu[0]), UPMU_OK);
            tear_down(&f);
        }
        assert_compare(at, >, STEPS_AT_LEAST);
    }
}

static enum upmu_status stopped_elsewhere;

static void stop_on_the_other_cpu(struct host *f)
{
    elsewhere.enough = true;
    upmu_sim_switch_cpu(&f->sim, 1);
    stopped_elsewhere = upmu_session_stop(&f->sessions[0]);
    upmu_sim_switch_cpu(&f->sim, 0);
}

/*
 * A session that has no place yet is stopped elsewhere before each seventh of the first 2,100 steps of the switch to
 * its thread.
 * Catches: "it waits" looked at before the session is held, so that a stopped session is started.
 */
static void what_is_stopped_while_its_thread_comes_stays_stopped(void **state)
{
    const unsigned distance = 7 * steps_apart(3);
    struct sigaction before;
    unsigned stopped = 0;

    (void)state;
    for (unsigned at = 0; (!at || elsewhere.enough) && at < 2100; at += distance) {
        struct host f;
        enum upmu_status status;

        set_up(&f, "skylake", true);
        host_add(&f, 0, "instructions", 0);
        follow(&f, 0, 0);
        step_begin(&f, stop_on_the_other_cpu, at, &before);
        status = upmu_thread_switch(&f.cpu[0], &f.threads[IDLE], &f.threads[0]);
        step_end(&before);
        f.running[0] = 0;
        assert_int_equal(status, UPMU_OK);
        if (elsewhere.enough && stopped_elsewhere == UPMU_OK) {
            assert_int_equal(f.sessions[0].state, UPMU_SESSION_STOPPED, at);
            stopped++;
        } else {
            assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING, at);
        }
        tear_down(&f);
    }
    assert_compare(stopped, >, 10);
}

/* The thread comes to the other CPU, and goes so many steps later: more than lie between two looks at where it is. */
#define STAY 30
static void pass_by_the_other_cpu(struct host *f)
{
    bool comes = !f->running[1];
    enum upmu_status status;

    elsewhere.enough = !comes;
    elsewhere.at = elsewhere.steps + STAY;
    upmu_sim_switch_cpu(&f->sim, 1);
    status = upmu_thread_switch(&f->cpu[1], &f->threads[comes ? IDLE + 1 : 0], &f->threads[comes ? 0 : IDLE + 1]);
    (void)status;
    f->running[1] = comes;
    upmu_sim_switch_cpu(&f->sim, 0);
}

/*
 * A metric of a thread that does not run is read, while the thread comes to another CPU and goes again.
 * Catches: where a session is, looked at twice, the second time for its PMU.
 */
static void a_read_outlives_a_thread_that_passes_by_elsewhere(void **state)
{
    struct sigaction before;
    bool passed = true;
    unsigned at;

    (void)state;
    for (at = 0; passed; at++) {
        struct host f;
        struct upmu_event event;
        struct upmu_count count;
        enum upmu_status status;

        set_up(&f, "icelake", true);
        assert_int_equal(upmu_event_raw(&f.machine.pmu[0], 0x38000, 0, 0, &event), UPMU_OK);
        assert_int_equal(upmu_set_add_event(&f.sessions[0].set, &event, NULL), UPMU_OK);
        follow(&f, 0, 0);
        f.running[1] = 0;
        upmu_sim_switch_cpu(&f.sim, 0);
        step_begin(&f, pass_by_the_other_cpu, at, &before);
        status = upmu_set_read(&f.sessions[0].set, 0, 1, &count);
        step_end(&before);
        assert_true(status == UPMU_OK || status == UPMU_ERR_WRONG_CPU);
        passed = elsewhere.enough;
        upmu_sim_switch_cpu(&f.sim, 1);
        if (f.running[1])
            assert_int_equal(upmu_thread_switch(&f.cpu[1], &f.threads[0], &f.threads[IDLE + 1]), UPMU_OK);
        f.running[1] = IDLE + 1;
        assert_int_equal(upmu_session_detach(&f.sessions[0]), UPMU_OK);
        tear_down(&f);
    }
    assert_compare(at, >, STEPS_AT_LEAST);
}

static bool reach_no_cpu(void *context, struct upmu_cpu *cpu, void (*function)(void *argument), void *argument)
{
    (void)context;
    (void)cpu;
    (void)function;
    (void)argument;
    return false;
}

/* Steps of one part of a call alone: the second one that CPU 0 executes without interrupts. */
static unsigned saves;
static uintptr_t (*save_of_model)(void *context);
static void (*restore_of_model)(void *context, uintptr_t state);

static uintptr_t save_and_step(void *context)
{
    const struct upmu_sim *sim = context;
    uintptr_t saved = save_of_model(context);

    if (sim->current == 0 && ++saves == 2)
        trap_flag_set();
    return saved;
}

static void end_steps_and_restore(void *context, uintptr_t saved)
{
    const struct upmu_sim *sim = context;

    if (sim->current == 0)
        trap_flag_clear();
    restore_of_model(context, saved);
}

/* Read a session on CPU 0, and act before step `at` of the part of the call that looks for the counts. */
static enum upmu_status read_and_act(struct host *f, void (*act)(struct host *), unsigned at, struct upmu_count *count)
{
    struct sigaction before;
    enum upmu_status status;

    upmu_sim_switch_cpu(&f->sim, 0);
    saves = 0;
    save_of_model = f->sim.port.irq_save;
    restore_of_model = f->sim.port.irq_restore;
    f->sim.port.irq_save = save_and_step;
    f->sim.port.irq_restore = end_steps_and_restore;
    step_prepare(f, act, at, &before);
    status = upmu_set_read(&f->sessions[0].set, 0, 1, count);
    step_end(&before);
    f->sim.port.irq_save = save_of_model;
    f->sim.port.irq_restore = restore_of_model;
    assert_true(status == UPMU_OK || status == UPMU_ERR_WRONG_CPU);
    return status;
}

static unsigned accesses_here;

static void note_access(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)sim, (void)number, (void)kind, (void)address;
    accesses_here += cpu == 0;
}

static void start_on_the_other_cpu(struct host *f)
{
    enum upmu_status status;

    elsewhere.enough = true;
    upmu_sim_switch_cpu(&f->sim, 1);
    status = upmu_session_start(&f->sessions[0]);
    (void)status;
    upmu_sim_switch_cpu(&f->sim, 0);
}

/*
 * A session is started on its CPU before each step of a read on another one, which cannot reach that CPU.  Catches: the
 * state of the session asked for twice, once to know where it may be read and once to know whether it has counters.
 * The register that is read then is of the reader's own CPU.
 */
static void a_read_of_what_starts_elsewhere_meanwhile_reads_no_register(void **state)
{
    unsigned at;

    (void)state;
    elsewhere.enough = true;
    for (at = 0; elsewhere.enough; at++) {
        struct host f;
        struct upmu_count count;

        set_up(&f, "skylake", true);
        f.sim.port.run_on_cpu = reach_no_cpu;
        host_add(&f, 0, "instructions", 0);
        host_attach(&f, 0, 1);
        f.sim.before_access = note_access;
        accesses_here = 0;
        if (read_and_act(&f, start_on_the_other_cpu, at, &count) == UPMU_OK)
            assert_int_equal(count.raw, 0);
        assert_int_equal(accesses_here, 0);
        f.sim.before_access = NULL;
        upmu_sim_switch_cpu(&f.sim, 1);
        assert_int_equal(upmu_session_detach(&f.sessions[0]), UPMU_OK);
        upmu_sim_switch_cpu(&f.sim, 0);
        tear_down(&f);
    }
    assert_compare(at, >, STEPS_AT_LEAST);
}

static void overflow_and_switch_the_set(struct host *f)
{
    elsewhere.enough = true;
    host_work(f, 0, 2500);
}

/*
 * The interrupt of an overflow comes before each step of a read, and switches to a set that has no place yet.  The host
 * has no RDPMC.  Catches: of a session that has just lost its counters, RDPMC seems to read all counters, and a hook is
 * called that is not there.
 */
static void a_read_in_which_a_set_ends_calls_no_hook_that_the_host_lacks(void **state)
{
    const struct upmu_sampling sampling = {.period = 1000, .switch_after = 1};
    const unsigned distance = steps_apart(7);
    unsigned at;

    (void)state;
    elsewhere.enough = true;
    for (at = 0; elsewhere.enough; at += distance) {
        struct host f;
        struct sigaction before;
        struct upmu_count count;
        enum upmu_status status;

        host_prepare(&f, "skylake");
        f.sim.port.rdpmc = NULL;
        host_machine(&f);
        host_take_over(&f, 2, false);
        host_threads(&f, IDLE + 2);
        assert_int_equal(upmu_session_shuffle(&f.session, false, 0), UPMU_OK);
        assert_int_equal(upmu_session_add_set(&f.session, NULL, 0, UPMU_SET_OVERFLOW_SWITCH, 0), UPMU_OK);
        assert_int_equal(upmu_set_add(&f.session.set, "branches", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_add_set(&f.session, &f.sets[1], 1, 0, 0), UPMU_OK);
        assert_int_equal(upmu_set_add(&f.sets[1], "cycles", NULL), UPMU_OK);
        on_cpu(&f, 0, 0);
        host_work(&f, 0, 2500);
        step_begin(&f, overflow_and_switch_the_set, at, &before);
        status = upmu_set_read(&f.session.set, 0, 1, &count);
        step_end(&before);
        assert_int_equal(status, UPMU_OK);
        assert_true(count.raw == 500 || (count.raw == 1000 && elsewhere.enough));
        assert_int_equal(f.session.active->number, elsewhere.enough);
        assert_int_equal(upmu_session_detach(&f.session), UPMU_OK);
        tear_down(&f);
    }
    assert_compare(at, >, STEPS_AT_LEAST);
}

/* Time passes, and the thread comes to the other CPU, where its session waits, and goes before the read looks again. */
static void wait_on_the_other_cpu(struct host *f)
{
    upmu_sim_advance_ns(&f->sim, 1000000);
    pass_by_the_other_cpu(f);
}

/*
 * A thread whose session finds no room comes to another CPU before each step of a read of the session, and goes again.
 * Catches: a read that found the session nowhere, before and after, and takes the time of its stay for one that
 * began before the clock was read: less than 0.
 */
static void a_read_counts_no_time_of_a_thread_that_passes_by_elsewhere(void **state)
{
    unsigned at;

    (void)state;
    elsewhere.enough = true;
    for (at = 0; elsewhere.enough; at++) {
        struct host f;
        struct upmu_count count;

        set_up(&f, "skylake", true);
        host_add(&f, 0, FOUR_A, 0);
        follow(&f, 0, 0);
        host_add(&f, 1, FOUR_B, 0);
        on_cpu(&f, 1, 1);
        f.running[1] = 0;
        if (read_and_act(&f, wait_on_the_other_cpu, at, &count) == UPMU_OK)
            assert_in_range(count.enabled_ns, 0, 10000000);
        upmu_sim_switch_cpu(&f.sim, 1);
        if (f.running[1])
            assert_int_equal(upmu_thread_switch(&f.cpu[1], &f.threads[0], &f.threads[IDLE + 1]), UPMU_OK);
        f.running[1] = IDLE + 1;
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(upmu_session_detach(&f.sessions[i]), UPMU_OK, i);
        tear_down(&f);
    }
    assert_compare(at, >, STEPS_AT_LEAST);
}

static void leave_the_other_cpu(struct host *f)
{
    enum upmu_status status;

    upmu_sim_switch_cpu(&f->sim, 1);
    status = upmu_cpu_fini(&f->cpu[1]);
    (void)status;
    upmu_sim_switch_cpu(&f->sim, 0);
}

/*
 * The CPU of a session takes no calls any more, and leaves before each step of a detach or a close elsewhere.
 * Catches: two looks at what another CPU changes, one for the status and one for the deed (seed 57 of the simulated
 * host): a session is closed, and its caller is told that it is not.
 */
static void a_session_is_closed_if_and_only_if_its_close_says_so(void **state)
{
    const unsigned distance = steps_apart(3);
    struct sigaction before;

    (void)state;
    for (unsigned close = 0; close < 2; close++) {
        unsigned at, last, done = 0, refused = 0;

        for (at = 0, last = 1; at < last; at += distance) {
            struct host f;
            enum upmu_status status;

            set_up(&f, "skylake", true);
            f.sim.port.run_on_cpu = reach_no_cpu;
            host_add(&f, 0, "instructions", 0);
            on_cpu(&f, 0, 1);
            upmu_sim_switch_cpu(&f.sim, 0);
            step_begin(&f, leave_the_other_cpu, at, &before);
            status = close ? upmu_session_close(&f.sessions[0]) : upmu_session_detach(&f.sessions[0]);
            step_end(&before);
            last = elsewhere.steps;
            if (status == UPMU_OK)
                assert_int_equal(f.sessions[0].state, close ? UPMU_SESSION_CLOSED : UPMU_SESSION_DETACHED);
            else
                assert_int_not_equal(f.sessions[0].state, UPMU_SESSION_CLOSED);
            done += status == UPMU_OK;
            refused += status != UPMU_OK;
            tear_down(&f);
        }
        assert_compare(at, >, STEPS_AT_LEAST);
        assert_true(done > 0 && refused > 0, close);
    }
}

/* As soon as the session has no target it is another thread's, and a call works on it. */
static void attach_and_hold(struct host *f)
{
    elsewhere.at++;
    if (f->sessions[0].state != UPMU_SESSION_DETACHED)
        return;
    elsewhere.enough = upmu_session_attach_thread(&f->sessions[0], &f->threads[1], NULL) == UPMU_OK;
    if (elsewhere.enough)
        f->sessions[0].held = 1;
}

/*
 * A session whose thread does not run is detached, and attached elsewhere before the detach returns.
 * Catches: a store to what has been given back.
 */
static void a_detach_leaves_what_others_do_with_the_session_next(void **state)
{
    struct sigaction before;
    struct host f;
    enum upmu_status status;

    (void)state;
    set_up(&f, "skylake", true);
    host_add(&f, 0, "instructions", 0);
    follow(&f, 0, 0);
    step_begin(&f, attach_and_hold, 0, &before);
    status = upmu_session_detach(&f.sessions[0]);
    step_end(&before);
    assert_int_equal(status, UPMU_OK);
    assert_true(elsewhere.enough);
    assert_int_equal(f.sessions[0].held, 1);
    f.sessions[0].held = 0;
    tear_down(&f);
}

static unsigned steps_of_a_switch(struct host *f, unsigned next)
{
    steps = 0;
    trap_flag_set();
    assert_int_equal(upmu_thread_switch(&f->cpu[0], &f->threads[f->running[0]], &f->threads[next]), UPMU_OK, next);
    trap_flag_clear();
    f->running[0] = next;
    return steps;
}

static unsigned steps_of_a_tick(struct host *f)
{
    steps = 0;
    trap_flag_set();
    assert_int_equal(upmu_cpu_tick(&f->cpu[0]), UPMU_OK);
    trap_flag_clear();
    return steps;
}

static void a_switch_and_a_tick_cost_the_same_with_ten_thousand_sessions(void **state)
{
    static struct upmu_session many[10000];
    static struct upmu_thread threads[10000];
    static const unsigned counts[] = {1, 100, 10000};
    struct sigaction action, before;
    unsigned first = 0, first_tick = 0;

    (void)state;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = count_step;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, &before);
    for (unsigned k = 0; k < 3; k++) {
        struct host f;
        unsigned cost, tick, accesses;

        set_up(&f, "skylake", true);
        for (unsigned i = 0; i < counts[k]; i++) {
            assert_int_equal(upmu_session_init(&many[i], &f.machine), UPMU_OK, i);
            assert_int_equal(upmu_set_add(&many[i].set, FOUR_A, NULL), UPMU_OK, i);
            /* Half of them wait for threads that do not run. */
            upmu_thread_init(&threads[i], i, i, NULL);
            if (i & 1u) {
                assert_int_equal(upmu_session_attach_thread(&many[i], &threads[i], NULL), UPMU_OK, i);
                assert_int_equal(upmu_session_start(&many[i]), UPMU_OK, i);
            }
        }
        for (unsigned i = 0; i < 2; i++) {
            host_add(&f, i, i ? FOUR_A : FOUR_B, 0);
            follow(&f, i, i);
        }
        for (unsigned i = 0; i < 4; i++)
            host_thread_switch(&f, 0, i & 1u);
        accesses = f.sim.accesses;
        host_thread_switch(&f, 0, 0);
        accesses = f.sim.accesses - accesses;
        assert_int_equal(accesses, 6 + 8);
        cost = steps_of_a_switch(&f, 1);
        if (!first)
            first = cost;
        accesses = f.sim.accesses;
        tick = steps_of_a_tick(&f);
        assert_int_equal(f.sim.accesses, accesses);
        if (!first_tick)
            first_tick = tick;
        print_message("%u sessions: a switch %u instructions, a tick %u, model and hooks included\n", counts[k], cost,
                      tick);
        assert_compare(tick, >, 50);
        assert_true(tick * 100 <= first_tick * 102 && tick * 102 >= first_tick * 100);
        assert_compare(cost, >, 500);
        assert_true(cost * 100 <= first * 102 && cost * 102 >= first * 100);
        for (unsigned i = 0; i < counts[k]; i++)
            assert_int_equal(upmu_thread_exit(&threads[i]), UPMU_OK, i);
        tear_down(&f);
    }
    sigaction(SIGTRAP, &before, NULL);
}

#else

static void a_switch_and_a_tick_cost_the_same_with_ten_thousand_sessions(void **state)
{
    (void)state;
    print_message("single steps are counted on x86-64 without instrumentation only\n");
    skip();
}

static void what_a_handler_closed_before_a_switch_counts_for_the_next(void **state)
{
    a_switch_and_a_tick_cost_the_same_with_ten_thousand_sessions(state);
}

static void a_read_of_what_starts_elsewhere_meanwhile_reads_no_register(void **state)
{
    a_switch_and_a_tick_cost_the_same_with_ten_thousand_sessions(state);
}

static void a_read_counts_no_time_of_a_thread_that_passes_by_elsewhere(void **state)
{
    a_switch_and_a_tick_cost_the_same_with_ten_thousand_sessions(state);
}

static void a_read_outlives_a_thread_that_passes_by_elsewhere(void **state)
{
    a_switch_and_a_tick_cost_the_same_with_ten_thousand_sessions(state);
}

static void a_read_in_which_a_set_ends_calls_no_hook_that_the_host_lacks(void **state)
{
    a_switch_and_a_tick_cost_the_same_with_ten_thousand_sessions(state);
}

static void what_runs_where_is_known_whatever_a_switch_met(void **state)
{
    a_switch_and_a_tick_cost_the_same_with_ten_thousand_sessions(state);
}

static void what_is_stopped_while_its_thread_comes_stays_stopped(void **state)
{
    a_switch_and_a_tick_cost_the_same_with_ten_thousand_sessions(state);
}

static void a_detach_leaves_what_others_do_with_the_session_next(void **state)
{
    a_switch_and_a_tick_cost_the_same_with_ten_thousand_sessions(state);
}

static void a_session_is_closed_if_and_only_if_its_close_says_so(void **state)
{
    a_switch_and_a_tick_cost_the_same_with_ten_thousand_sessions(state);
}

#endif

/* CPU 0 is a P-core, 1 an E-core. */
static void set_up_hybrid(struct host *f)
{
    host_prepare(f, "adl_p");
    upmu_sim_set_profile(&f->sim, 1, upmu_sim_profile("adl_e"));
    host_machine(f);
    host_take_over(f, 2, false);
    host_threads(f, IDLE + 2);
}

/* Thread 0 runs on the P-core, then on the E-core, where session 0 waits. */
static void wait_on_the_other_type(struct host *f)
{
    host_thread_switch(f, 0, 0);
    host_work(f, 0, 1000);
    host_thread_switch(f, 0, IDLE);
    host_thread_switch(f, 1, 0);
    assert_int_equal(f->sessions[0].state, UPMU_SESSION_WAITING);
    assert_int_equal(f->sessions[0].why.status, UPMU_ERR_WRONG_PMU);
    host_work(f, 1, 1000);
}

static void on_another_type_of_core_a_session_waits_and_says_why(void **state)
{
    struct host f;

    (void)state;
    set_up_hybrid(&f);
    host_add(&f, 0, "instructions,branches", 0);
    follow(&f, 0, 0);
    wait_on_the_other_type(&f);
    host_thread_switch(&f, 1, IDLE + 1);
    host_thread_switch(&f, 0, 0);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
    host_work(&f, 0, 1000);
    host_thread_switch(&f, 0, IDLE);
    assert_int_equal(host_count(&f.sessions[0], 0).raw, 2000);
    assert_int_equal(host_count(&f.sessions[0], 0).quality, UPMU_QUALITY_SCALED);
    tear_down(&f);
}

/* Of a thread's sessions one waits, on a CPU of another kind, and one is stopped when that CPU ends. */
static void sessions_that_do_not_run_leave_a_cpu_that_ends(void **state)
{
    struct host f;

    (void)state;
    set_up_hybrid(&f);
    host_add(&f, 0, "instructions,branches", 0);
    follow(&f, 0, 0);
    host_add(&f, 1, "branches", 0);
    assert_int_equal(upmu_session_attach_thread(&f.sessions[1], &f.threads[0], NULL), UPMU_OK);
    wait_on_the_other_type(&f);
    assert_int_equal(upmu_cpu_fini(&f.cpu[1]), UPMU_OK);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_WAITING);
    assert_null(f.sessions[0].meter);
    assert_int_equal(f.sessions[1].state, UPMU_SESSION_STOPPED);
    assert_null(f.sessions[1].meter);
    assert_int_equal(upmu_cpu_init(&f.cpu[1], &f.machine, NULL), UPMU_OK);
    f.running[1] = IDLE + 1;
    host_thread_switch(&f, 0, 0);
    start(&f, 1);
    host_work(&f, 0, 1000);
    host_thread_switch(&f, 0, IDLE);
    assert_int_equal(host_count(&f.sessions[0], 0).raw, 2000);
    assert_int_equal(host_count(&f.sessions[1], 0).raw, 200);
    assert_compare(host_count(&f.sessions[0], 0).enabled_ns, >, host_count(&f.sessions[0], 0).running_ns);
    tear_down(&f);
}

/* A program counts a thread that runs on another CPU: the call goes there. */
static void a_session_is_attached_to_a_thread_that_runs_elsewhere(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    host_thread_switch(&f, 0, 0);
    host_add(&f, 1, "instructions", 0);
    upmu_sim_switch_cpu(&f.sim, 1);
    assert_int_equal(upmu_session_attach_thread(&f.sessions[1], &f.threads[0], &f.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&f.sessions[1]), UPMU_OK);
    host_work(&f, 0, 1000);
    host_thread_switch(&f, 0, IDLE);
    host_work(&f, 0, 1000);
    assert_int_equal(host_count(&f.sessions[1], 0).raw, 1000);
    tear_down(&f);
}

static void what_is_refused_changes_nothing(void **state)
{
    bool (*run_on_cpu)(void *, struct upmu_cpu *, void (*)(void *), void *);
    uint32_t accesses;
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    run_on_cpu = f.sim.port.run_on_cpu;
    assert_int_equal(upmu_session_attach_thread(&f.sessions[0], &f.threads[0], NULL), UPMU_ERR_STATE);
    host_add(&f, 0, "branches,branches,branches,branches", 0);
    host_add(&f, 0, "branches", 0);
    assert_int_equal(upmu_session_attach_thread(&f.sessions[0], &f.threads[0], NULL), UPMU_ERR_DOES_NOT_FIT);
    assert_null(f.threads[0].sessions);
    host_add(&f, 1, "branches", 0);
    upmu_sim_switch_cpu(&f.sim, 1);
    f.sim.port.run_on_cpu = NULL;
    accesses = f.sim.accesses;
    assert_int_equal(upmu_session_attach_thread(&f.sessions[1], &f.threads[0], &f.cpu[0]), UPMU_ERR_WRONG_CPU);
    assert_int_equal(upmu_session_attach_cpu(&f.sessions[1], &f.cpu[0]), UPMU_ERR_WRONG_CPU); /* P2-066 */
    assert_int_equal(f.sim.accesses, accesses);
    assert_null(f.cpu[0].meter.sessions);
    f.sim.port.run_on_cpu = run_on_cpu;
    f.cpu[1].meter.busy = 1;
    assert_int_equal(upmu_session_attach_thread(&f.sessions[1], &f.threads[0], &f.cpu[1]), UPMU_ERR_BUSY);
    f.cpu[1].meter.busy = 0;
    assert_null(f.threads[0].sessions);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(f.sessions[i].state, UPMU_SESSION_DETACHED, i);
    follow(&f, 1, 0);
    assert_int_equal(upmu_session_attach_thread(&f.sessions[1], &f.threads[1], NULL), UPMU_ERR_STATE);
    assert_int_equal(upmu_session_attach_cpu(&f.sessions[1], &f.cpu[0]), UPMU_ERR_STATE);
    assert_int_equal(upmu_session_share(&f.sessions[1], true), UPMU_ERR_STATE);
    assert_int_equal(upmu_thread_switch(&f.cpu[0], &f.threads[IDLE], &f.threads[0]), UPMU_ERR_WRONG_CPU);
    f.cpu[1].meter.busy = 1;
    assert_int_equal(upmu_thread_switch(&f.cpu[1], &f.threads[IDLE + 1], &f.threads[0]), UPMU_ERR_BUSY);
    f.cpu[1].meter.busy = 0;
    assert_int_equal(f.sessions[1].state, UPMU_SESSION_WAITING);
    upmu_sim_switch_cpu(&f.sim, 0);
    host_thread_switch(&f, 0, 0);
    host_work(&f, 0, 1000);
    counted(&f, 1, 0, 200);
    tear_down(&f);
}

/*
 * P2-006: a session of the core is given nothing when it is made that its target could contradict.  Detached, it may
 * be attached to a CPU or a thread, and its counts go with it; attached, it keeps its target.
 */
static void a_detached_session_may_go_from_a_cpu_to_a_thread_and_back(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    host_add(&f, 0, "instructions", 0);
    assert_int_equal(upmu_session_attach_cpu(&f.sessions[0], &f.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&f.sessions[0], &f.threads[0], NULL), UPMU_ERR_STATE);
    assert_int_equal(upmu_session_start(&f.sessions[0]), UPMU_OK);
    host_work(&f, 0, 100);
    assert_int_equal(upmu_session_detach(&f.sessions[0]), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&f.sessions[0], &f.threads[0], NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&f.sessions[0], &f.cpu[0]), UPMU_ERR_STATE);
    assert_int_equal(upmu_session_start(&f.sessions[0]), UPMU_OK);
    host_work(&f, 0, 1000); /* of others */
    host_thread_switch(&f, 0, 0);
    host_work(&f, 0, 10);
    assert_int_equal(upmu_session_detach(&f.sessions[0]), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&f.sessions[0], &f.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&f.sessions[0]), UPMU_OK);
    host_work(&f, 0, 1);
    counted(&f, 0, 0, 111);
    tear_down(&f);
}

static struct host *detaching;
static bool dropped_at_its_end;

/* CPU 0 is in a call, which detaches the session as soon as the interrupt is over. */
static bool detach_there(void *context, struct upmu_cpu *cpu, void (*function)(void *argument), void *argument)
{
    (void)context;
    upmu_sim_switch_cpu(&detaching->sim, 0);
    cpu->meter.busy = 1;
    function(argument);
    cpu->meter.busy = 0;
    assert_int_equal(upmu_session_detach(&detaching->sessions[0]), UPMU_OK);
    upmu_sim_switch_cpu(&detaching->sim, 1);
    return true;
}

static unsigned mask_nothing(void *state, const struct upmu_overflow *overflow, bool nmi)
{
    (void)state;
    (void)overflow;
    (void)nmi;
    return 0;
}

static void note_the_end(void *state, struct upmu_session *session)
{
    (void)state;
    dropped_at_its_end = session->ties != 0;
}

/*
 * Its memory may be given away as soon as it is closed: the note that it was dropped is there before.
 * Catches: a store to a session after it was closed.
 */
static void nothing_is_stored_in_a_dropped_session_after_its_end(void **state)
{
    static const struct upmu_format format = {.name = "notes", .overflow = mask_nothing, .end = note_the_end};
    static struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    f.sim.port.run_on_cpu = detach_there;
    detaching = &f;
    assert_int_equal(upmu_set_add(&f.sessions[0].set, FOUR_A, NULL), UPMU_OK);
    assert_int_equal(upmu_session_format(&f.sessions[0], &format, NULL, 0), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&f.sessions[0], &f.cpu[0]), UPMU_OK);
    upmu_sim_switch_cpu(&f.sim, 1);
    assert_int_equal(upmu_session_drop(&f.sessions[0]), UPMU_OK);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_CLOSED);
    assert_true(dropped_at_its_end);
    tear_down(&f);
}

static void sixty_four_prepared_sessions_attach_where_threads_are_born(void **state)
{
    static struct upmu_session pool[64];
    static struct upmu_thread threads[64];
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(upmu_session_init(&pool[i], &f.machine), UPMU_OK, i);
        assert_int_equal(upmu_set_add(&pool[i].set, FOUR_A, NULL), UPMU_OK, i);
        upmu_thread_init(&threads[i], i, i, NULL);
    }
    upmu_sim_forget(&f.sim);
    for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(upmu_session_attach_thread(&pool[i], &threads[i], NULL), UPMU_OK, i);
        assert_int_equal(upmu_session_start(&pool[i]), UPMU_OK, i);
    }
    assert_int_equal(f.sim.accesses, 0);
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(upmu_thread_exit(&threads[i]), UPMU_OK, i);
    assert_int_equal(f.sim.accesses, 0);
    tear_down(&f);
}

static void add_offcore(struct host *f, unsigned i, uint64_t payload)
{
    struct upmu_event event;

    assert_int_equal(upmu_event_raw(f->cpu[0].meter.pmu, 0x01b7 | 3u << 16, payload, 0, &event), UPMU_OK);
    assert_int_equal(upmu_set_add_event(&f->sessions[i].set, &event, NULL), UPMU_OK, i);
}

/* The 257th CPU makes its first placements as the first one did: they are not taken for the same. */
static void beyond_256_cpus_a_placement_is_good_beside_its_makers_alone(void **state)
{
    static struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    upmu_sim_switch_cpu(&f.sim, 1);
    for (unsigned i = 0; i < 255; i++) {
        assert_int_equal(upmu_cpu_fini(&f.cpu[1]), UPMU_OK);
        assert_int_equal(upmu_cpu_init(&f.cpu[1], &f.machine, NULL), UPMU_OK);
    }
    /* What runs on each has the counter that the other has, too, but only one has the register. */
    assert_int_equal(upmu_set_add(&f.sessions[0].set, "branches:counter=0", NULL), UPMU_OK);
    add_offcore(&f, 1, 0x10001);
    add_offcore(&f, 2, 0x10004);
    on_cpu(&f, 0, 0);
    on_cpu(&f, 1, 1);
    follow(&f, 2, 0);
    host_thread_switch(&f, 0, 0);
    assert_int_equal(f.sessions[2].state, UPMU_SESSION_RUNNING);
    host_thread_switch(&f, 0, IDLE);
    assert_int_equal(upmu_sim_peek(&f.sim, 1, 0x1a6), 0x10001);
    host_thread_switch(&f, 1, 0);
    assert_int_equal(f.sessions[2].state, UPMU_SESSION_RUNNING);
    assert_int_equal(upmu_sim_peek(&f.sim, 1, 0x1a6), 0x10001);
    assert_int_equal(upmu_sim_peek(&f.sim, 1, 0x1a7), 0x10004);
    /* Samples and messages say which CPU, too. */
    assert_int_equal(f.cpu[1].meter.number, 256);
    host_thread_switch(&f, 1, IDLE + 1);
    upmu_sim_switch_cpu(&f.sim, 1);
    assert_int_equal(upmu_session_close(&f.sessions[1]), UPMU_OK);
    tear_down(&f);
}

/* The thread leaves CPU 0 and comes again. */
static void leave_and_come(struct host *f, unsigned thread)
{
    host_thread_switch(f, 0, IDLE);
    host_thread_switch(f, 0, thread);
}

/*
 * A session that is not started is on no CPU, so no switch looks at it.  A start brings it at once: here, from another
 * CPU, and in a change of several sessions.  From then on switches bring it.
 * Catches: a start that waits for the next switch or tick; a session that is started and in no list.
 */
static void a_start_brings_a_session_that_no_switch_has_brought(void **state)
{
    struct upmu_session *these[1];
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    these[0] = &f.sessions[0];
    host_add(&f, 0, "instructions", 0);
    assert_int_equal(upmu_session_attach_thread(&f.sessions[0], &f.threads[0], NULL), UPMU_OK);
    host_thread_switch(&f, 0, 0);
    host_work(&f, 0, 1000);
    assert_null(f.sessions[0].meter);
    start(&f, 0);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
    host_work(&f, 0, 100);
    assert_int_equal(upmu_session_stop(&f.sessions[0]), UPMU_OK);
    leave_and_come(&f, 0);
    assert_null(f.sessions[0].meter);
    assert_null(f.threads[0].started);
    upmu_sim_switch_cpu(&f.sim, 1);
    start(&f, 0);
    upmu_sim_switch_cpu(&f.sim, 0);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
    host_work(&f, 0, 10);
    leave_and_come(&f, 0);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
    host_work(&f, 0, 5);
    assert_int_equal(upmu_session_stop(&f.sessions[0]), UPMU_OK);
    leave_and_come(&f, 0);
    assert_int_equal(upmu_sessions_change(&f.cpu[0], NULL, 0, these, 1), UPMU_OK);
    assert_int_equal(upmu_sessions_change(&f.cpu[0], these, 1, NULL, 0), UPMU_OK);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
    host_work(&f, 0, 1);
    counted(&f, 0, 0, 116);
    tear_down(&f);
}

/*
 * Of two sessions of a thread for one counter, the one that was started first has it after each switch.
 * Catches: a session that is started later takes the counter of one that runs.
 */
static void sessions_of_a_thread_come_in_the_order_of_their_starts(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    for (unsigned i = 0; i < 3; i++) {
        host_add(&f, i, i == 1 ? "instructions" : "branches:counter=0", 0);
        assert_int_equal(upmu_session_attach_thread(&f.sessions[i], &f.threads[0], NULL), UPMU_OK, i);
    }
    start(&f, 2);
    start(&f, 1);
    start(&f, 0);
    for (unsigned i = 0; i < 3; i++) {
        leave_and_come(&f, 0);
        assert_int_equal(f.sessions[0].state, UPMU_SESSION_WAITING);
        assert_int_equal(f.sessions[1].state, UPMU_SESSION_RUNNING);
        assert_int_equal(f.sessions[2].state, UPMU_SESSION_RUNNING);
    }
    /* A session that stops leaves the begin, the middle or the end of the list; with its next start it is the last. */
    for (unsigned i = 3; i-- > 0;) {
        assert_int_equal(upmu_session_stop(&f.sessions[i ? i : 2]), UPMU_OK, i);
        leave_and_come(&f, 0);
        start(&f, i ? i : 2);
        leave_and_come(&f, 0);
        assert_int_equal(f.sessions[1].state, UPMU_SESSION_RUNNING);
        assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
        assert_int_equal(f.sessions[2].state, UPMU_SESSION_WAITING);
    }
    tear_down(&f);
}

/*
 * Something holds the list of a thread that does not run while one of its sessions is started.
 * Catches: a list that is changed while another CPU walks it; a session that is started and in no list.
 */
static void a_start_is_refused_while_the_list_of_its_thread_is_held(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    host_add(&f, 0, "instructions", 0);
    assert_int_equal(upmu_session_attach_thread(&f.sessions[0], &f.threads[0], NULL), UPMU_OK);
    f.threads[0].held = 1;
    assert_int_equal(upmu_session_start(&f.sessions[0]), UPMU_ERR_BUSY);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_STOPPED);
    f.threads[0].held = 0;
    host_thread_switch(&f, 0, 0);
    f.threads[0].held = 1;
    assert_int_equal(upmu_session_start(&f.sessions[0]), UPMU_ERR_BUSY);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_STOPPED);
    f.threads[0].held = 0;
    start(&f, 0);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
    tear_down(&f);
}

/*
 * A session of the running thread that is not started loses its controller while a call works on it.
 * Catches: a session that stays until its thread leaves.
 */
static void a_tick_ends_a_stopped_session_without_a_controller(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    host_add(&f, 0, "instructions", 0);
    assert_int_equal(upmu_session_attach_thread(&f.sessions[0], &f.threads[0], NULL), UPMU_OK);
    host_thread_switch(&f, 0, 0);
    f.sessions[0].held = 1;
    assert_int_equal(upmu_session_drop(&f.sessions[0]), UPMU_OK);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_STOPPED);
    f.sessions[0].held = 0;
    assert_int_equal(upmu_cpu_tick(&f.cpu[0]), UPMU_OK);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_CLOSED);
    assert_null(f.threads[0].sessions);
    tear_down(&f);
}

/*
 * Sessions of one thread: one for each CPU, and one for both.  The thread runs on each CPU.
 * Catches: a session that counts, or has enabled time, on another CPU than its limit; a start that brings it there.
 */
static void a_session_with_a_limit_counts_on_that_cpu_alone(void **state)
{
    struct upmu_session *these[1];
    struct host f;

    (void)state;
    set_up(&f, "skylake", true);
    these[0] = &f.sessions[0];
    for (unsigned i = 0; i < 3; i++) {
        host_add(&f, i, "instructions", 0);
        if (i < 2)
            assert_int_equal(upmu_session_limit_cpu(&f.sessions[i], &f.cpu[i]), UPMU_OK, i);
        follow(&f, i, 0);
    }
    assert_int_equal(upmu_session_limit_cpu(&f.sessions[0], NULL), UPMU_ERR_STATE);
    host_thread_switch(&f, 0, 0);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
    assert_int_equal(f.sessions[1].state, UPMU_SESSION_WAITING);
    assert_null(f.sessions[1].meter);
    host_work(&f, 0, 100);
    assert_int_equal(upmu_cpu_tick(&f.cpu[0]), UPMU_OK);
    assert_null(f.sessions[1].meter);
    host_thread_switch(&f, 0, IDLE);
    host_thread_switch(&f, 1, 0);
    assert_null(f.sessions[0].meter);
    host_work(&f, 1, 30);
    /* Where the thread runs, and not the session, a start leaves it waiting. */
    assert_int_equal(upmu_session_stop(&f.sessions[0]), UPMU_OK);
    assert_int_equal(upmu_sessions_change(&f.cpu[1], these, 1, NULL, 0), UPMU_ERR_WRONG_CPU);
    assert_int_equal(upmu_session_start(&f.sessions[0]), UPMU_OK);
    assert_int_equal(f.sessions[0].state, UPMU_SESSION_WAITING);
    host_thread_switch(&f, 1, IDLE + 1);
    counted(&f, 0, 0, 100);
    counted(&f, 1, 0, 30);
    counted(&f, 2, 0, 130);
    assert_int_equal(host_count(&f.sessions[0], 0).enabled_ns + host_count(&f.sessions[1], 0).enabled_ns,
                     host_count(&f.sessions[2], 0).enabled_ns);
    host_thread_switch(&f, 0, 0);
    host_work(&f, 0, 7);
    counted(&f, 0, 0, 107);
    counted(&f, 1, 0, 30);
    tear_down(&f);
}

/*
 * Six sessions of a thread with three limits start and stop in any order, and the thread goes from CPU to CPU.
 * Catches: a list of started sessions that is lost or torn.
 */
static void sessions_with_limits_start_and_stop_in_any_order(void **state)
{
    static const char *const events[] = {"instructions", "cycles", "branches", "cache-misses", "branch-misses",
                                         "cache-references"};
    uint64_t truth[6] = {0}, draw = 1;
    bool started[6] = {false};
    unsigned at = 0;
    struct host f;

    (void)state;
    set_up(&f, "icelake", true);
    for (unsigned i = 0; i < 6; i++) {
        host_add(&f, i, events[i], 0);
        if (i % 3)
            assert_int_equal(upmu_session_limit_cpu(&f.sessions[i], &f.cpu[i % 3 - 1]), UPMU_OK, i);
        assert_int_equal(upmu_session_attach_thread(&f.sessions[i], &f.threads[0], NULL), UPMU_OK, i);
    }
    host_thread_switch(&f, 0, 0);
    for (unsigned step = 0; step < 600; step++) {
        unsigned i = (unsigned)((draw = draw * UINT64_C(6364136223846793005) + 1) >> 40) % 8;

        if (i < 6) {
            started[i] = !started[i];
            assert_int_equal(started[i] ? upmu_session_start(&f.sessions[i]) : upmu_session_stop(&f.sessions[i]),
                             UPMU_OK, i);
        } else {
            host_thread_switch(&f, at, IDLE + at);
            at = i - 6;
            host_thread_switch(&f, at, 0);
        }
        host_work(&f, at, 1000);
        for (i = 0; i < 6; i++) {
            bool here = started[i] && (i % 3 == 0 || i % 3 - 1 == at);

            assert_int_equal(f.sessions[i].state, here ? UPMU_SESSION_RUNNING
                                                       : started[i] ? UPMU_SESSION_WAITING : UPMU_SESSION_STOPPED, i);
            truth[i] += here;
        }
    }
    for (unsigned i = 0; i < 6; i++) {
        static const unsigned each[] = {1000, 2000, 200, 10, 0, 0};

        if (each[i])
            counted(&f, i, 0, truth[i] * each[i]);
    }
    host_thread_switch(&f, at, IDLE + at);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_counts_while_its_thread_runs_wherever_that_is),
        cmocka_unit_test(a_parent_prepares_its_waiting_child_and_polls_it_to_its_exit),
        cmocka_unit_test(enabled_time_is_the_threads_own),
        cmocka_unit_test(a_thread_attaches_and_starts_for_itself),
        cmocka_unit_test(calls_from_elsewhere_find_the_thread_or_say_that_they_cannot),
        cmocka_unit_test(a_zero_that_proves_nothing_is_told_while_the_thread_waits),
        cmocka_unit_test(the_end_of_a_thread_leaves_sessions_detached_and_readable),
        cmocka_unit_test(a_cpu_that_goes_offline_keeps_no_thread),
        cmocka_unit_test(sleep_of_a_cpu_is_nobodys_time),
        cmocka_unit_test(sessions_that_share_take_turns_and_estimate_what_they_missed),
        cmocka_unit_test(what_waits_for_a_counter_is_read_on_its_cpu),
        cmocka_unit_test(time_before_a_session_joins_is_not_enabled_time),
        cmocka_unit_test(a_session_that_came_keeps_its_time_if_others_find_no_room),
        cmocka_unit_test(a_static_counter_that_a_prelude_stopped_is_read_again),
        cmocka_unit_test(a_static_counter_is_stopped_for_what_loads_it),
        cmocka_unit_test(a_static_session_that_is_stopped_leaves_nothing_running),
        cmocka_unit_test(an_attachment_writes_no_counter_that_was_left_running),
        cmocka_unit_test(no_select_changes_under_a_counter_that_was_left_running),
        cmocka_unit_test(a_wrap_of_what_a_static_session_left_running_is_in_no_count),
        cmocka_unit_test(a_wrap_before_an_errata_sequence_closed_is_in_no_count),
        cmocka_unit_test(a_counter_closed_for_a_set_that_does_not_come_begins_anew),
        cmocka_unit_test(no_counter_runs_on_without_the_claim_on_its_registers),
        cmocka_unit_test(a_session_that_faults_when_its_thread_comes_was_not_enabled),
        cmocka_unit_test(without_a_clock_what_waited_is_partial),
        cmocka_unit_test(without_a_clock_what_comes_beside_those_that_wait_is_exact),
        cmocka_unit_test(the_unshared_come_first_and_are_refused_beside_their_like),
        cmocka_unit_test(a_threads_session_without_room_waits_and_says_why),
        cmocka_unit_test(what_comes_and_goes_disturbs_nobodys_count),
        cmocka_unit_test(an_overflow_inside_a_switch_is_of_the_thread_that_made_it),
        cmocka_unit_test(a_session_that_a_call_holds_joins_with_the_next_tick),
        cmocka_unit_test(the_last_of_its_controllers_closes_a_session),
        cmocka_unit_test(zombies_of_a_thread_do_not_point_to_each_other),
        cmocka_unit_test(a_zombie_gives_no_sample_and_is_closed_by_its_target),
        cmocka_unit_test(a_session_whose_interrupt_was_dropped_is_not_silent_for_ever),
        cmocka_unit_test(a_remembered_place_holds_only_beside_the_same_company),
        cmocka_unit_test(sessions_that_remember_the_same_counter_come_to_two),
        cmocka_unit_test(a_counter_that_was_reserved_meanwhile_is_left_alone),
        cmocka_unit_test(a_ring_that_a_switch_finds_full_masks_the_session),
        cmocka_unit_test(time_asleep_is_no_enabled_time_of_a_session_that_waits),
        cmocka_unit_test(what_ran_before_a_sleep_comes_before_what_waited),
        cmocka_unit_test(a_switch_and_a_tick_cost_the_same_with_ten_thousand_sessions),
        cmocka_unit_test(what_a_handler_closed_before_a_switch_counts_for_the_next),
        cmocka_unit_test(what_runs_where_is_known_whatever_a_switch_met),
        cmocka_unit_test(what_is_stopped_while_its_thread_comes_stays_stopped),
        cmocka_unit_test(a_read_outlives_a_thread_that_passes_by_elsewhere),
        cmocka_unit_test(a_read_of_what_starts_elsewhere_meanwhile_reads_no_register),
        cmocka_unit_test(a_read_counts_no_time_of_a_thread_that_passes_by_elsewhere),
        cmocka_unit_test(a_read_in_which_a_set_ends_calls_no_hook_that_the_host_lacks),
        cmocka_unit_test(a_session_is_closed_if_and_only_if_its_close_says_so),
        cmocka_unit_test(a_detach_leaves_what_others_do_with_the_session_next),
        cmocka_unit_test(on_another_type_of_core_a_session_waits_and_says_why),
        cmocka_unit_test(sessions_that_do_not_run_leave_a_cpu_that_ends),
        cmocka_unit_test(a_session_is_attached_to_a_thread_that_runs_elsewhere),
        cmocka_unit_test(what_is_refused_changes_nothing),
        cmocka_unit_test(beyond_256_cpus_a_placement_is_good_beside_its_makers_alone),
        cmocka_unit_test(a_detached_session_may_go_from_a_cpu_to_a_thread_and_back),
        cmocka_unit_test(nothing_is_stored_in_a_dropped_session_after_its_end),
        cmocka_unit_test(sixty_four_prepared_sessions_attach_where_threads_are_born),
        cmocka_unit_test(a_start_brings_a_session_that_no_switch_has_brought),
        cmocka_unit_test(sessions_of_a_thread_come_in_the_order_of_their_starts),
        cmocka_unit_test(a_start_is_refused_while_the_list_of_its_thread_is_held),
        cmocka_unit_test(a_tick_ends_a_stopped_session_without_a_controller),
        cmocka_unit_test(a_session_with_a_limit_counts_on_that_cpu_alone),
        cmocka_unit_test(sessions_with_limits_start_and_stop_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
