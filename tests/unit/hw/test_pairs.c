/* SPDX-License-Identifier: MIT */
/*
 * Events that disturb the counter of the same number on the other hyper-thread
 * (BJ122, BV98, HSD29), on the model of two threads of a Sandy Bridge, which does so.
 */
#include <upmu/session.h>
#include <upmu/set.h>
#include "core/hw/domain.h"
#include "tests/common/host.h"

static struct host p;

#define EXCLUSIVE "r81d0" /* all loads retired */

static void set_up(unsigned cpus)
{
    host_prepare(&p, "sandybridge");
    host_machine(&p);
    host_take_over(&p, cpus, true);
    assert_int_equal(p.machine.pmu[0].general, 0xf);
}

static void attach(unsigned i, const char *list, unsigned cpu)
{
    upmu_sim_switch_cpu(&p.sim, cpu);
    assert_int_equal(upmu_set_add(&p.sessions[i].set, list, NULL), UPMU_OK, i);
    assert_int_equal(upmu_session_attach_cpu(&p.sessions[i], &p.cpu[cpu]), UPMU_OK, i, cpu);
}

static enum upmu_status start(unsigned i)
{
    upmu_sim_switch_cpu(&p.sim, (unsigned)(p.sessions[i].meter->cpu - p.cpu));
    return upmu_session_start(&p.sessions[i]);
}

static void stop(unsigned i)
{
    upmu_sim_switch_cpu(&p.sim, (unsigned)(p.sessions[i].meter->cpu - p.cpu));
    assert_int_equal(upmu_session_stop(&p.sessions[i]), UPMU_OK, i);
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

    upmu_sim_switch_cpu(&p.sim, (unsigned)(p.sessions[i].meter->cpu - p.cpu));
    assert_int_equal(upmu_set_read(&p.sessions[i].set, event, 1, &count), UPMU_OK, i);
    return count.value;
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
    assert_int_equal(p.sessions[0].counters & p.sessions[1].counters, 0);
    assert_int_equal(value(0, 0), 500);
    stop(1);
    assert_int_equal(start(2), UPMU_OK);
    assert_int_equal(p.sessions[0].counters & p.sessions[2].counters, 0);
    run(0, 1000);
    run(1, 400);
    assert_int_equal(value(0, 0), 1000);
    assert_int_equal(value(2, 0), 200);
    host_end(&p);
}

static void an_exclusive_event_takes_no_number_of_the_other_thread(void **state)
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
    assert_int_equal(p.sessions[0].counters & p.sessions[2].counters, 0);
    stop(2);
    host_end(&p);
}

/*
 * The sibling's exclusive event leaves no room for a new placement of what runs here, but a write and a reload need
 * none.  The class: a call that stops, changes and starts again, and can be refused in the middle.
 */
static void what_runs_is_written_and_reloaded_even_if_it_fits_no_more(void **state)
{
    (void)state;
    set_up(2);
    attach(0, EXCLUSIVE, 0);
    attach(2, "branches,r8c4,r10c4", 1);
    assert_int_equal(start(2), UPMU_OK);
    assert_int_equal(start(0), UPMU_OK);
    run(1, 400);
    assert_int_equal(value(2, 0), 100);
    assert_int_equal(upmu_set_write(&p.sessions[2].set, 0, 7000), UPMU_OK);
    assert_int_equal(p.sessions[2].state, UPMU_SESSION_RUNNING);
    run(1, 400);
    assert_int_equal(value(2, 0), 7100);
    upmu_sim_switch_cpu(&p.sim, 1);
    assert_int_equal(upmu_cpu_poll(&p.cpu[1]), UPMU_OK);
    assert_int_equal(upmu_cpu_changed(&p.cpu[1]), UPMU_OK);
    assert_int_equal(p.sessions[2].state, UPMU_SESSION_RUNNING);
    run(1, 400);
    assert_int_equal(value(2, 0), 7200);
    stop(2);
    host_end(&p);
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
    assert_int_equal(p.sessions[1].why.collision, UPMU_COLLISION_LIMIT);
    assert_int_equal(start(2), UPMU_OK);
    assert_int_equal(start(3), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(start(4), UPMU_OK);
    stop(0);
    stop(2);
    assert_int_equal(start(1), UPMU_OK);
    host_end(&p);
}

static void without_an_exclusive_event_both_threads_use_all(void **state)
{
    (void)state;
    set_up(2);
    for (unsigned i = 0; i < 2; i++) {
        attach(i, "r4c4,r8c4,r10c4,r20c4", i);
        assert_int_equal(start(i), UPMU_OK, i);
        assert_int_equal(p.sessions[i].counters, 0xf, i);
    }
    host_end(&p);
}

static void a_thread_that_is_alone_uses_all(void **state)
{
    (void)state;
    set_up(1);
    attach(0, EXCLUSIVE ",r4c4,r8c4,r10c4", 0);
    assert_int_equal(start(0), UPMU_OK);
    host_end(&p);
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
            assert_int_equal(p.sessions[!i].counters >> p.sessions[i].set.tally[0].counter & 1u, 0, i);
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
        assert_true(!(p.domain[0].claim[i] & 0x1ffffu) || (p.domain[0].claim[i] & UPMU_CLAIM_PARKED), i);
    host_end(&p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exclusive_event_keeps_its_number_from_the_other_thread),
        cmocka_unit_test(an_exclusive_event_takes_no_number_of_the_other_thread),
        cmocka_unit_test(what_runs_is_written_and_reloaded_even_if_it_fits_no_more),
        cmocka_unit_test(while_one_runs_each_thread_uses_half_of_the_counters),
        cmocka_unit_test(without_an_exclusive_event_both_threads_use_all),
        cmocka_unit_test(a_thread_that_is_alone_uses_all),
        cmocka_unit_test(numbers_are_given_back),
    };

    return cmocka_run_group_tests_name("pairs", tests, NULL, NULL);
}
