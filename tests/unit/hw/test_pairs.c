/* SPDX-License-Identifier: MIT */
/*
 * Events that disturb the counter of the same number on the other hyper-thread
 * (BJ122, BV98, HSD29), on the model of two threads of a Sandy Bridge, which does so.
 */
#include "core/domain.h"
#include "tests/common/host.h"

struct pair {
    struct upmu_sim sim;
    struct upmu_machine machine;
    struct upmu_domain domain;
    struct upmu_domain *domains[2];
    struct upmu_cpu cpu[2];
    struct upmu_session session[6];
};

static struct pair p;

#define EXCLUSIVE "r81d0" /* all loads retired */

static void set_up(unsigned cpus)
{
    memset(&p, 0, sizeof p);
    upmu_sim_init(&p.sim, upmu_sim_profile("sandybridge"), 2);
    upmu_domain_init(&p.domain, UPMU_SCOPE_CORE);
    p.domains[0] = &p.domain;
    assert_int_equal(upmu_machine_init(&p.machine, upmu_sim_port(&p.sim)), UPMU_OK);
    for (unsigned i = 0; i < cpus; i++) {
        upmu_sim_switch_cpu(&p.sim, i);
        upmu_sim_bind_cpu(&p.sim, i, &p.cpu[i]);
        assert_int_equal(upmu_cpu_init(&p.cpu[i], &p.machine, p.domains), UPMU_OK);
    }
    assert_int_equal(p.machine.pmu[0].general, 0xf);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(upmu_session_init(&p.session[i], &p.machine), UPMU_OK);
    upmu_sim_switch_cpu(&p.sim, 0);
}

static void attach(unsigned i, const char *list, unsigned cpu)
{
    upmu_sim_switch_cpu(&p.sim, cpu);
    assert_int_equal(upmu_session_add(&p.session[i], list, NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&p.session[i], &p.cpu[cpu]), UPMU_OK);
}

static enum upmu_status start(unsigned i)
{
    upmu_sim_switch_cpu(&p.sim, (unsigned)(p.session[i].meter->cpu - p.cpu));
    return upmu_session_start(&p.session[i]);
}

static void stop(unsigned i)
{
    upmu_sim_switch_cpu(&p.sim, (unsigned)(p.session[i].meter->cpu - p.cpu));
    assert_int_equal(upmu_session_stop(&p.session[i]), UPMU_OK);
}

static void run(unsigned cpu, uint64_t instructions)
{
    struct upmu_sim_burst burst = {.instructions = instructions, .cycles = instructions, .branches = instructions / 4};

    upmu_sim_switch_cpu(&p.sim, cpu);
    burst.other[0] = (struct upmu_sim_other){.count = instructions / 2, .event = 0xd0, .umask = 0x81};
    upmu_sim_events(&p.sim, &burst);
}

static uint64_t value(unsigned i, unsigned event)
{
    struct upmu_count count;

    upmu_sim_switch_cpu(&p.sim, (unsigned)(p.session[i].meter->cpu - p.cpu));
    assert_int_equal(upmu_session_read(&p.session[i], event, 1, &count), UPMU_OK);
    return count.value;
}

static void tear_down(unsigned cpus)
{
    for (unsigned i = 0; i < cpus; i++) {
        upmu_sim_switch_cpu(&p.sim, i);
        assert_int_equal(upmu_cpu_fini(&p.cpu[i]), UPMU_OK);
    }
    if (p.sim.violation_count)
        fail_msg("%s", p.sim.first_violation.text);
}

static void an_exclusive_event_keeps_its_number_from_the_other_thread(void **state)
{
    (void)state;
    set_up(2);
    attach(0, EXCLUSIVE, 0);
    attach(1, "r4c4,r8c4", 1);
    attach(2, EXCLUSIVE, 1);
    assert_int_equal(start(0), UPMU_OK);
    assert_int_equal(start(1), UPMU_OK);
    run(0, 1000);
    run(1, 400);
    assert_int_equal(p.session[0].counters & p.session[1].counters, 0);
    assert_int_equal(value(0, 0), 500);
    stop(1);
    assert_int_equal(start(2), UPMU_OK);
    assert_int_equal(p.session[0].counters & p.session[2].counters, 0);
    run(0, 1000);
    run(1, 400);
    assert_int_equal(value(0, 0), 1000);
    assert_int_equal(value(2, 0), 200);
    tear_down(2);
}

static void an_exclusive_event_takes_no_number_that_the_other_thread_uses(void **state)
{
    (void)state;
    set_up(2);
    attach(0, EXCLUSIVE, 0);
    attach(1, "r4c4,r8c4,r10c4,r20c4", 1);
    attach(2, "r4c4,r8c4,r10c4", 1);
    assert_int_equal(start(1), UPMU_OK);
    assert_int_equal(start(0), UPMU_ERR_DOES_NOT_FIT);
    stop(1);
    assert_int_equal(start(2), UPMU_OK);
    assert_int_equal(start(0), UPMU_OK);
    assert_int_equal(p.session[0].counters & p.session[2].counters, 0);
    stop(2);
    tear_down(2);
}

/*
 * The sibling's exclusive event leaves no room for a new placement of what runs here, but a write and a reload need
 * none.  The class: a call that stops, changes and starts again, and can be refused in the middle.
 */
static void what_runs_is_written_and_reloaded_though_it_would_fit_no_more(void **state)
{
    (void)state;
    set_up(2);
    attach(0, EXCLUSIVE, 0);
    attach(2, "branches,r8c4,r10c4", 1);
    assert_int_equal(start(2), UPMU_OK);
    assert_int_equal(start(0), UPMU_OK);
    run(1, 400);
    assert_int_equal(value(2, 0), 100);
    assert_int_equal(upmu_session_write(&p.session[2], 0, 7000), UPMU_OK);
    assert_int_equal(p.session[2].state, UPMU_SESSION_RUNNING);
    run(1, 400);
    assert_int_equal(value(2, 0), 7100);
    upmu_sim_switch_cpu(&p.sim, 1);
    assert_int_equal(upmu_cpu_poll(&p.cpu[1]), UPMU_OK);
    assert_int_equal(upmu_cpu_changed(&p.cpu[1]), UPMU_OK);
    assert_int_equal(p.session[2].state, UPMU_SESSION_RUNNING);
    run(1, 400);
    assert_int_equal(value(2, 0), 7200);
    stop(2);
    tear_down(2);
}

static void while_one_runs_each_thread_uses_half_of_the_counters(void **state)
{
    (void)state;
    set_up(2);
    attach(0, EXCLUSIVE, 0);
    attach(1, "r4c4,r8c4,r10c4", 1);
    attach(2, "r4c4,r8c4", 1);
    attach(3, "r4c4,r8c4", 0);
    attach(4, "r4c4", 0);
    assert_int_equal(start(0), UPMU_OK);
    assert_int_equal(start(1), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(p.session[1].why.collision, UPMU_COLLISION_LIMIT);
    assert_int_equal(start(2), UPMU_OK);
    assert_int_equal(start(3), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(start(4), UPMU_OK);
    stop(0);
    stop(2);
    assert_int_equal(start(1), UPMU_OK);
    tear_down(2);
}

static void without_an_exclusive_event_both_threads_use_all(void **state)
{
    (void)state;
    set_up(2);
    for (unsigned i = 0; i < 2; i++) {
        attach(i, "r4c4,r8c4,r10c4,r20c4", i);
        assert_int_equal(start(i), UPMU_OK);
        assert_int_equal(p.session[i].counters, 0xf);
    }
    tear_down(2);
}

static void a_thread_that_is_alone_uses_all(void **state)
{
    (void)state;
    set_up(1);
    attach(0, EXCLUSIVE ",r4c4,r8c4,r10c4", 0);
    assert_int_equal(start(0), UPMU_OK);
    tear_down(1);
}

static void numbers_are_given_back(void **state)
{
    (void)state;
    set_up(2);
    attach(0, EXCLUSIVE ",r4c4", 0);
    attach(1, EXCLUSIVE ",r8c4", 1);
    attach(2, "r4c4,r8c4,r10c4,r20c4", 1);
    for (unsigned round = 0; round < 3; round++) {
        assert_int_equal(start(0), UPMU_OK);
        assert_int_equal(start(1), UPMU_OK);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(p.session[!i].counters >> p.session[i].set.tally[0].counter & 1u, 0);
        run(0, 100);
        run(1, 100);
        stop(0);
        stop(1);
        assert_int_equal(start(2), UPMU_OK);
        run(0, 100);
        stop(2);
    }
    assert_int_equal(value(0, 0), 150);
    assert_int_equal(value(1, 0), 150);
    for (unsigned i = 0; i < UPMU_RESOURCES; i++) /* its last holder has parked it */
        assert_true(!(p.domain.claim[i] & 0x1ffffu) || (p.domain.claim[i] & UPMU_CLAIM_PARKED));
    tear_down(2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exclusive_event_keeps_its_number_from_the_other_thread),
        cmocka_unit_test(an_exclusive_event_takes_no_number_that_the_other_thread_uses),
        cmocka_unit_test(what_runs_is_written_and_reloaded_though_it_would_fit_no_more),
        cmocka_unit_test(while_one_runs_each_thread_uses_half_of_the_counters),
        cmocka_unit_test(without_an_exclusive_event_both_threads_use_all),
        cmocka_unit_test(a_thread_that_is_alone_uses_all),
        cmocka_unit_test(numbers_are_given_back),
    };

    return cmocka_run_group_tests_name("pairs", tests, NULL, NULL);
}
