/* SPDX-License-Identifier: MIT */
/*
 * A call on a session whose thread does not run, and at every instruction of it the
 * thread runs after all, on another CPU, with interrupts and a tick, and stops again or
 * runs on: nothing is lost, nothing is counted twice, and the call either did its work
 * or says that it did not.
 *
 * The process steps itself through the call and forks at each instruction; the child
 * lets the thread run there.  x86 with Linux only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/common/assertions.h"

#include "models/sim/sim.h"
#include "tests/inject/fork_step.h"
#include <upmu/session.h>
#include <upmu/upmu.h>

/* Forks copy shadow memory where it is instrumented. */
#if defined(__SANITIZE_ADDRESS__)
#define STRIDE 29u
#elif !defined(__x86_64__)
#define STRIDE 3u
#else
#define STRIDE 1u
#endif

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpus[2];
static struct upmu_thread thread, idle;
static struct upmu_session session;
static uint64_t ring[2048];
static unsigned steps, samples;
static bool stays;

static void deliver(struct upmu_sim *model, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct upmu_frame frame = {.ip = interrupt->ip};

    (void)model;
    (void)upmu_pmi_handle(&cpus[cpu], &frame);
}

static void burst(uint64_t branches)
{
    upmu_sim_events(&sim, &(struct upmu_sim_burst){
                              .instructions = 5 * branches, .cycles = 10 * branches, .branches = branches, .ip = 1});
}

static uint64_t truth(void)
{
    uint64_t sum = 0;

    for (unsigned cpu = 0; cpu < 2; cpu++)
        for (unsigned i = 0; i < UPMU_SIM_GENERAL; i++)
            sum += sim.cpu[cpu].counter[i].counted;
    return sum;
}

/* The thread runs on CPU 1. */
static void preempt(void)
{
    unsigned current = sim.current;

    upmu_sim_switch_cpu(&sim, 1);
    if (upmu_thread_switch(&cpus[1], &idle, &thread) != UPMU_OK)
        _exit(2);
    burst(1500);
    if (upmu_cpu_tick(&cpus[1]) != UPMU_OK)
        _exit(3);
    burst(700);
    if (!stays && upmu_thread_switch(&cpus[1], &thread, &idle) != UPMU_OK)
        _exit(4);
    upmu_sim_switch_cpu(&sim, current);
}

static bool is_tried(uintptr_t ip)
{
    (void)ip;
    return ++steps % STRIDE == 0;
}

static void set_up(bool started)
{
    struct upmu_sampling sampling = {.period = 1000};

    memset(&session, 0, sizeof session);
    upmu_sim_init(&sim, upmu_sim_profile("skylake"), 2);
    sim.deliver = deliver;
    assert_int_equal(upmu_machine_init(&machine, upmu_sim_port(&sim)), UPMU_OK);
    for (unsigned i = 0; i < 2; i++) {
        upmu_sim_switch_cpu(&sim, i);
        upmu_sim_bind_cpu(&sim, i, &cpus[i]);
        assert_int_equal(upmu_cpu_init(&cpus[i], &machine, NULL), UPMU_OK, i);
    }
    upmu_thread_init(&thread, 1, 1, NULL);
    upmu_thread_init(&idle, 0, 0, NULL);
    assert_int_equal(upmu_session_init(&session, &machine), UPMU_OK);
    assert_int_equal(upmu_session_ring(&session, ring, sizeof ring), UPMU_OK);
    assert_int_equal(upmu_set_add(&session.set, "branches", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&session, &thread, NULL), UPMU_OK);
    if (started)
        assert_int_equal(upmu_session_start(&session), UPMU_OK);
    upmu_sim_switch_cpu(&sim, 1);
    assert_int_equal(upmu_thread_switch(&cpus[1], &idle, &thread), UPMU_OK);
    burst(1234);
    assert_int_equal(upmu_thread_switch(&cpus[1], &thread, &idle), UPMU_OK);
    upmu_sim_switch_cpu(&sim, 0);
}

static void look(bool condition, const char *what)
{
    if (condition)
        return;
    printf("%s (state %u, total %u of %u)\n", what, session.state, (unsigned)session.set.tally[0].total,
           (unsigned)truth());
    fflush(stdout);
    _exit(1);
}

/* All at rest: what was counted is what the counters counted, and nothing runs any more. */
static void settle(void)
{
    struct upmu_sample sample;

    upmu_sim_switch_cpu(&sim, 1);
    if (stays)
        look(upmu_thread_switch(&cpus[1], &thread, &idle) == UPMU_OK, "the last switch");
    look(session.state != UPMU_SESSION_RUNNING, "runs without its thread");
    look(upmu_session_detach(&session) == UPMU_OK, "detach");
    look(session.set.tally[0].total == truth(), "counts");
    for (unsigned n = 0; n < UPMU_SIM_COUNTERS; n++)
        look(!upmu_sim_runs(&sim, 1, n), "a counter runs on");
    while (upmu_ring_next(&session.ring, &sample))
        samples++;
    look(samples + session.set.tally[0].lost == session.set.tally[0].total / 1000, "samples");
    look(!sim.violation_count, "the model");
    burst(5000);
    look(session.set.tally[0].total == truth(), "counts afterwards");
}

static void each_instruction(bool started, enum upmu_status (*call)(struct upmu_session *), uint8_t expected)
{
    for (unsigned way = 0; way < 2; way++) {
        enum upmu_status status;

        stays = way;
        steps = 0;
        set_up(started);
        fork_step_begin(is_tried, preempt);
        status = call(&session);
        if (fork_step_end()) {
            look(status == UPMU_OK || status == UPMU_ERR_BUSY, upmu_status_text(status));
            if (status == UPMU_OK && (!stays || expected == UPMU_SESSION_STOPPED))
                look(session.state == expected, "the call's work");
            if (status == UPMU_ERR_BUSY && (!stays || !started))
                look(session.state == (started ? UPMU_SESSION_WAITING : UPMU_SESSION_STOPPED), "a refused call's work");
            settle();
            _exit(0);
        }
        if (fork_step.failed)
            fail_msg("at step %u", steps);
        assert_compare(steps, >, 20);
        assert_int_equal(status, UPMU_OK);
        settle();
        samples = 0;
    }
}

static enum upmu_status read_it(struct upmu_session *which)
{
    struct upmu_count count;
    enum upmu_status status = upmu_set_read(&which->set, 0, 1, &count);

    if (status == UPMU_OK)
        look(count.raw >= 1234 && count.raw <= truth(), "what was read");
    return status;
}

static void a_start_is_preempted_by_its_thread_at_every_instruction(void **state)
{
    (void)state;
    each_instruction(false, upmu_session_start, UPMU_SESSION_WAITING);
}

static void a_stop_is_preempted_by_its_thread_at_every_instruction(void **state)
{
    (void)state;
    each_instruction(true, upmu_session_stop, UPMU_SESSION_STOPPED);
}

static void a_read_is_preempted_by_its_thread_at_every_instruction(void **state)
{
    (void)state;
    each_instruction(true, read_it, UPMU_SESSION_WAITING);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_is_preempted_by_its_thread_at_every_instruction),
        cmocka_unit_test(a_stop_is_preempted_by_its_thread_at_every_instruction),
        cmocka_unit_test(a_read_is_preempted_by_its_thread_at_every_instruction),
    };
    int failed;

    setvbuf(stdout, NULL, _IOLBF, 0);
    failed = cmocka_run_group_tests_name("preempt", tests, NULL, NULL);
    printf("%u switches between instructions\n", fork_step.forks);
    return failed;
}
