/* SPDX-License-Identifier: MIT */
/*
 * The two places where hardware that stores samples into memory by itself has its buffer emptied (core/sample/drain.h).
 * They are reached once in each plan and once for each interrupt, with the counters closed, before counts are taken.
 *
 * This program has a drain of its own in place of core/sample/drain.h, and the two files of the engine that call it.
 */
#include <upmu/world.h>
#include "tests/common/host.h"
#include "tests/common/state.h"

#define UPMU_CORE_DRAIN_H
#include "core/sample/records_core.h"

static void upmu_drain(struct upmu_meter *meter, bool of_plan);

#include "core/engine/interrupt.c"
#include "core/engine/reconcile.c"

static struct host host;

/* Of one call of the drain. */
struct call {
    bool of_plan, in_handler, has_open, has_status;
    uint64_t total;   /* of the watched session's event 0 */
    unsigned samples; /* of the watched session, stored before */
};

static struct call calls[8];
static unsigned call_count, plans, interrupts;
static const struct upmu_session *watched;

static bool is_open(uint32_t counters)
{
    for (; counters; counters &= counters - 1u)
        if (upmu_sim_runs(&host.sim, 0, upmu_bits_lowest(counters)))
            return true;
    return false;
}

/* Enable bits are in the selects, and a handler closes what has overflowed alone: by the published manuals. */
static bool selects_enable(void)
{
    return !strcmp(host.sim.profile->name, "version1") || !strcmp(host.sim.profile->name, "k8_revf");
}

static void upmu_drain(struct upmu_meter *meter, bool of_plan)
{
    struct call *call = &calls[call_count++ % 8u];
    struct upmu_ring ring = watched->ring;

    assert_ptr_equal(meter, &host.cpu[0].meter);
    assert_true(meter->busy || meter->in_handler);
    memset(call, 0, sizeof *call);
    call->of_plan = of_plan;
    call->in_handler = meter->in_handler;
    call->has_open = is_open(watched->counters);
    call->has_status = upmu_sim_peek(&host.sim, 0, 0x38e) != 0;
    call->total = watched->set.tally[0].total;
    for (struct upmu_sample sample; watched->ring.buffer && upmu_ring_next(&ring, &sample);)
        call->samples++;
    plans += call->of_plan;
    interrupts += !call->of_plan;
}

/* Since the last look. */
static void drained(const char *what, unsigned by_plans, unsigned by_interrupts)
{
    if (plans != by_plans || interrupts != by_interrupts)
        fail_msg("%s, %s: %u plans and %u interrupts drained, not %u and %u", host.sim.profile->name, what, plans,
                 interrupts, by_plans, by_interrupts);
    plans = interrupts = call_count = 0;
}

static const char *const profiles[] = {"skylake", "core2", "nehalem", "zen4", "k8_revf", "version1"};
#define PROFILES (sizeof profiles / sizeof profiles[0])

static void set_up(const char *profile)
{
    host_set_up(&host, profile);
    watched = &host.session;
    plans = interrupts = call_count = 0;
}

/* The watched session leaves by a plan: it is closed unless it is carried, and its count is as before. */
static void leaves(const char *what, bool carried, uint64_t total)
{
    assert_true(calls[0].of_plan);
    assert_false(calls[0].in_handler);
    if (calls[0].has_open != carried)
        fail_msg("%s, %s: a counter is %s", host.sim.profile->name, what, carried ? "closed" : "open");
    assert_int_equal(calls[0].total, total);
    drained(what, 1, 0);
}

/* Catches: a place that a start, a stop, a sleep or a write does not reach, or reaches twice. */
static void each_plan_drains_once_with_its_counters_closed(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        set_up(profiles[p]);
        host_add(&host, 0, "branches", 0);
        assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
        drained("attachment", 0, 0);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        assert_false(calls[0].has_open);
        drained("start", 1, 0);
        host_run(&host, 100);
        assert_int_equal(host_value(&host.session, 0), 50);
        drained("read", 0, 0);
        assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
        drained("tick", 0, 0);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        leaves("stop", false, 0);
        assert_int_equal(host_value(&host.session, 0), 50);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        drained("second start", 1, 0);
        host_run(&host, 100);
        assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
        leaves("suspend", false, 50);
        assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
        drained("resume", 1, 0);
        assert_int_equal(host_value(&host.session, 0), 100);
        host_end(&host);
    }
}

/* What one side has and the other does not is closed; an event on both sides runs on. */
static void a_thread_switch_drains_once_and_what_it_carries_runs_on(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++)
        for (unsigned same = 0; same < 2; same++) {
            set_up(profiles[p]);
            host_threads(&host, 3);
            for (unsigned i = 0; i < 2; i++) {
                host_add(&host, i, i && !same ? "branches" : "instructions", 0);
                assert_int_equal(upmu_session_attach_thread(&host.sessions[i], &host.threads[i], NULL), UPMU_OK, i);
                assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK, i);
            }
            drained("threads that do not run", 0, 0);
            for (unsigned i = 0; i < 3; i++) /* each is placed once, by a plan more */
                host_thread_switch(&host, 0, i);
            plans = call_count = 0;
            host_thread_switch(&host, 0, 0);
            drained("switch in", 1, 0);
            host_run(&host, 100);
            host_thread_switch(&host, 0, 1);
            leaves("switch", same, 0);
            host_thread_switch(&host, 0, 0);
            drained("switch back", 1, 0);
            host_run(&host, 100);
            host_thread_switch(&host, 0, 2);
            leaves("switch out", false, 100);
            assert_int_equal(host_value(&host.session, 0), 200);
            for (unsigned i = 0; i < 2; i++)
                assert_int_equal(upmu_session_close(&host.sessions[i]), UPMU_OK, i);
            host_end(&host);
        }
}

/*
 * A handler that interrupted no call: before it has stored the sample and acknowledged the overflow.  Catches: a place
 * that is reached for each counter, or behind the sample.
 */
static void each_interrupt_drains_once_before_its_samples(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        set_up(profiles[p]);
        host_sample(&host, "instructions,branches", 100);
        drained("start", 1, 0);
        host_run(&host, 200); /* instructions alone, then both */
        assert_int_equal(host.answers, 2);
        for (unsigned i = 0; i < 2; i++) {
            assert_false(calls[i].of_plan, i);
            assert_true(calls[i].in_handler, i);
            assert_int_equal(calls[i].samples, i, i);
            assert_true(selects_enable() || !calls[i].has_open, i);
            assert_true(strcmp(profiles[p], "skylake") || calls[i].has_status, p, i);
        }
        drained("two interrupts", 0, 2);
        upmu_sim_foreign_nmi(&host.sim);
        drained("another source's interrupt", 0, 1);
        host_end(&host);
    }
}

/* The ring is full: the handler's plan masks the session, and drains, too. */
static void an_interrupt_that_makes_a_plan_drains_for_both(void **state)
{
    struct upmu_sampling sampling = {.period = 100, .flags = UPMU_SAMPLING_NOTIFY};
    struct upmu_message messages[4];
    struct upmu_queue queue;

    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        set_up(profiles[p]);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        assert_int_equal(upmu_session_messages(&host.session, &queue, messages, 4, 0, NULL), UPMU_OK);
        host_begin(&host, &host.session);
        drained("start", 1, 0);
        host_run(&host, 100);
        assert_int_equal(host.session.state, UPMU_SESSION_MASKED);
        assert_false(calls[0].of_plan);
        assert_true(calls[1].of_plan && calls[1].in_handler && !calls[1].has_open);
        drained("an interrupt that masks", 1, 1);
        assert_int_equal(upmu_session_restart(&host.session), UPMU_OK);
        drained("restart", 1, 0);
        host_end(&host);
    }
}

/*
 * An interrupt inside of a call leaves all to the end of the call.  Catches: a handler that drains while the call may
 * be changing what it would touch; mail that drains once for each interrupt.
 */
static void interrupts_inside_of_a_call_drain_once_at_its_end(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        set_up(profiles[p]);
        host_sample(&host, "instructions", 100);
        drained("start", 1, 0);
        upmu_test_begin_call(&host.cpu[0]);
        host_run(&host, 100);
        upmu_sim_foreign_nmi(&host.sim);
        drained("two interrupts inside of a call", 0, 0);
        upmu_test_end_call(&host.cpu[0]);
        assert_int_equal(upmu_cpu_leave_guest(&host.cpu[0]), UPMU_OK);
        assert_false(calls[0].in_handler);
        assert_int_equal(calls[0].samples, 0);
        assert_true(selects_enable() || !calls[0].has_open);
        drained("end of the call", 0, 1);
        host_end(&host);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_plan_drains_once_with_its_counters_closed),
        cmocka_unit_test(a_thread_switch_drains_once_and_what_it_carries_runs_on),
        cmocka_unit_test(each_interrupt_drains_once_before_its_samples),
        cmocka_unit_test(an_interrupt_that_makes_a_plan_drains_for_both),
        cmocka_unit_test(interrupts_inside_of_a_call_drain_once_at_its_end),
    };

    return cmocka_run_group_tests_name("drain", tests, NULL, NULL);
}
