/* SPDX-License-Identifier: MIT */
/*
 * The work area that a host lends a CPU for placements.  Class of mistake: memory that is
 * used where it is not lent, is still needed when a call has returned, or is trusted by a
 * handler.  (That it saves stack is tests/build/check_stack.py.)
 */
#include <upmu/place.h>
#include <upmu/probe.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include "tests/common/host.h"

#define LIST "instructions,cycles,branches,branch-misses"

static struct host host;
static struct upmu_place_work work[2];
static struct upmu_thread threads[2];

static void fill(unsigned char byte)
{
    memset(work, byte, sizeof work);
}

static bool is_untouched(unsigned cpu, unsigned char byte)
{
    const unsigned char *bytes = (const unsigned char *)&work[cpu];

    for (size_t i = 0; i < sizeof work[cpu]; i++)
        if (bytes[i] != byte)
            return false;
    return true;
}

static void set_up(bool lent)
{
    host_set_up(&host, "skl");
    fill(0xa5);
    if (lent)
        assert_int_equal(upmu_cpu_use_work(&host.cpu[0], &work[0]), UPMU_OK);
}

static void call(enum upmu_status status)
{
    assert_int_equal(status, UPMU_OK);
    fill((unsigned char)(0x5a + host.answers)); /* what was kept there is lost now */
}

/* Sessions that start beside each other, share in turns, move, have sets and follow threads: all that places. */
static void work_through(bool lent, uint64_t *counts)
{
    static struct upmu_session session[4];
    static struct upmu_set second;
    unsigned k = 0;

    set_up(lent);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(upmu_session_init(&session[i], &host.machine), UPMU_OK, i);
        call(upmu_set_add(&session[i].set, i == 3 ? "branches" : LIST, NULL));
        call(upmu_session_share(&session[i], i < 2));
    }
    call(upmu_session_add_set(&session[2], &second, 1, 0, 0));
    call(upmu_set_add(&second, "branch-misses,cycles", NULL));
    upmu_thread_init(&threads[0], 1, 1, NULL);
    upmu_thread_init(&threads[1], 2, 2, NULL);
    call(upmu_session_attach_cpu(&session[0], &host.cpu[0]));
    call(upmu_session_attach_cpu(&session[1], &host.cpu[0]));
    call(upmu_session_attach_thread(&session[2], &threads[0], &host.cpu[0]));
    call(upmu_session_attach_thread(&session[3], &threads[1], NULL));
    for (unsigned i = 0; i < 4; i++)
        call(upmu_session_start(&session[i]));
    for (unsigned round = 0; round < 24; round++) {
        host_run(&host, 1000 + round);
        call(upmu_cpu_tick(&host.cpu[0]));
        call(upmu_thread_switch(&host.cpu[0], &threads[round & 1u], &threads[~round & 1u]));
        if (round == 9)
            call(upmu_session_switch(&session[2], &second));
    }
    for (unsigned i = 0; i < 4; i++) {
        call(upmu_session_stop(&session[i]));
        for (unsigned event = 0; event < (i == 3 ? 1 : 4); event++)
            counts[k++] = host_value(&session[i], event);
        call(upmu_session_close(&session[i]));
    }
    counts[k++] = host.cpu[0].meter.bank.accesses.writes;
    counts[k++] = host.cpu[0].meter.bank.accesses.rdpmcs;
    host_no_violation(&host);
    call(upmu_cpu_fini(&host.cpu[0]));
}

static void calls_do_the_same_with_a_work_area_and_keep_nothing_in_it(void **state)
{
    uint64_t with[16] = {0}, without[16] = {0};

    (void)state;
    work_through(false, without);
    work_through(true, with);
    assert_memory_equal(with, without, sizeof with);
    assert_true(with[0] != 0 && with[4] != 0 && with[12] != 0);
}

/* A work area is not zeroed: what it holds, numbers of counters too, moves no event. */
static void what_it_held_before_does_not_matter(void **state)
{
    unsigned char counters[4];

    (void)state;
    for (unsigned byte = 0; byte < 12; byte++) {
        set_up(byte > 0);
        assert_int_equal(upmu_set_add(&host.session.set, "branches,branch-misses", NULL), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.other.set, "cache-misses,cache-references", NULL), UPMU_OK);
        for (unsigned i = 0; i < 4; i++) {
            struct upmu_session *session = &host.sessions[i / 2];

            fill((unsigned char)(byte - 1));
            if (i % 2 == 0)
                host_begin(&host, session);
            if (byte == 0)
                counters[i] = session->set.tally[i % 2].counter;
            assert_int_equal(session->set.tally[i % 2].counter, counters[i], i);
        }
        host_end(&host);
    }
}

/* The plan of a change lies in its CPU: where each has its place, nothing is lent. */
static void what_changes_at_once_needs_no_area(void **state)
{
    struct upmu_session *const first[] = {&host.session}, *const second[] = {&host.other};

    (void)state;
    set_up(true);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(upmu_set_add(&host.sessions[i].set, i ? "branches" : "instructions", NULL), UPMU_OK, i);
        assert_int_equal(upmu_session_attach_cpu(&host.sessions[i], &host.cpu[0]), UPMU_OK, i);
    }
    fill(0xa5);
    call(upmu_sessions_change(&host.cpu[0], first, 1, NULL, 0));
    host_run(&host, 1000);
    fill(0xa5);
    call(upmu_sessions_change(&host.cpu[0], second, 1, first, 1));
    host_run(&host, 100);
    fill(0xa5);
    assert_int_equal(upmu_sessions_change(&host.cpu[0], first, 1, second, 1), UPMU_OK);
    assert_true(is_untouched(0, 0xa5));
    host_run(&host, 10);
    assert_int_equal(host_value(&host.session, 0), 1010);
    assert_int_equal(host_value(&host.other, 0), 50);
    host_end(&host);
}

static void area_is_used_by_the_cpu_that_it_was_lent_to(void **state)
{
    (void)state;
    set_up(true);
    assert_int_equal(upmu_set_add(&host.session.set, LIST, NULL), UPMU_OK);
    host_begin(&host, &host.session);
    /* By the placement, too: in 64 bits its state ends the area, where no register image reaches. */
    assert_false(is_untouched(0, 0xa5));
    if (sizeof(void *) == 8)
        assert_true(work[0].words[500] != UINT64_C(0xa5a5a5a5a5a5a5a5) ||
                    work[0].words[440] != UINT64_C(0xa5a5a5a5a5a5a5a5));
    assert_true(is_untouched(1, 0xa5));
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    /* Taken back. */
    assert_int_equal(upmu_cpu_use_work(&host.cpu[0], NULL), UPMU_OK);
    fill(0xa5);
    host_begin(&host, &host.session);
    assert_true(is_untouched(0, 0xa5));
    host_end(&host);
}

static void handlers_leave_it_alone(void **state)
{
    struct upmu_cpu *cpu = &host.cpu[0];

    (void)state;
    set_up(true);
    host_sample(&host, "cycles", 1000);
    fill(0xa5);
    host_run(&host, 5000);
    assert_compare(host.answers, >=, 9);
    assert_true(is_untouched(0, 0xa5));
    assert_ptr_equal(cpu->meter.work, &work[0]);
    host_end(&host);
}

/* An area is refused where another call is under way, and not used any more after fini. */
static void area_is_lent_between_calls_and_until_fini(void **state)
{
    struct upmu_dry_run dry = {NULL, 0, 0};

    (void)state;
    host_prepare(&host, "skl");
    host_machine(&host);
    assert_int_equal(upmu_cpu_use_work(&host.cpu[0], &work[0]), UPMU_ERR_NO_PMU);
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    host.cpu[0].meter.busy = 1;
    assert_int_equal(upmu_cpu_use_work(&host.cpu[0], &work[0]), UPMU_ERR_BUSY);
    host.cpu[0].meter.busy = 0;
    assert_null(host.cpu[0].meter.work);
    upmu_sim_switch_cpu(&host.sim, 1);
    assert_int_equal(upmu_cpu_use_work(&host.cpu[0], &work[0]), UPMU_ERR_WRONG_CPU);
    upmu_sim_switch_cpu(&host.sim, 0);
    assert_int_equal(upmu_cpu_use_work(&host.cpu[0], &work[0]), UPMU_OK);
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    fill(0xa5);
    assert_int_equal(upmu_set_add(&host.session.set, LIST, NULL), UPMU_OK);
    assert_int_equal(upmu_session_dry_run(&host.session, &host.machine.pmu[0], &dry), UPMU_OK);
    assert_true(is_untouched(0, 0xa5));
}

/* Calls without a CPU use the area of the CPU that executes them, as a call on it would. */
static void calls_without_a_cpu_use_the_area_of_the_executing_one(void **state)
{
    struct upmu_write writes[2][64];
    struct upmu_dry_run dry[2] = {{writes[0], 64, 0}, {writes[1], 64, 0}};

    (void)state;
    set_up(false);
    upmu_thread_init(&threads[0], 1, 1, NULL);
    assert_int_equal(upmu_set_add(&host.session.set, LIST, NULL), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.other.set, LIST, NULL), UPMU_OK);
    assert_int_equal(upmu_session_dry_run(&host.session, host.cpu[0].meter.pmu, &dry[0]), UPMU_OK);
    assert_int_equal(upmu_cpu_use_work(&host.cpu[0], &work[0]), UPMU_OK);
    assert_int_equal(upmu_session_dry_run(&host.session, host.cpu[0].meter.pmu, &dry[1]), UPMU_OK);
    assert_false(is_untouched(0, 0xa5));
    assert_int_equal(dry[0].count, dry[1].count);
    for (size_t i = 0; i < dry[0].count; i++) {
        assert_int_equal(writes[0][i].address, writes[1][i].address, i);
        assert_int_equal(writes[0][i].value, writes[1][i].value, i);
    }
    fill(0xa5);
    assert_int_equal(upmu_session_attach_thread(&host.session, &threads[0], NULL), UPMU_OK);
    assert_false(is_untouched(0, 0xa5));
    /* From an interrupt handler in the middle of a call: that call may be placing. */
    fill(0xa5);
    host.cpu[0].meter.busy = 1;
    assert_int_equal(upmu_session_attach_thread(&host.other, &threads[0], NULL), UPMU_ERR_BUSY);
    assert_int_equal(host.other.why.status, UPMU_ERR_BUSY);
    assert_int_equal(upmu_session_dry_run(&host.other, host.cpu[0].meter.pmu, &dry[0]), UPMU_ERR_BUSY);
    host.cpu[0].meter.busy = 0;
    assert_true(is_untouched(0, 0xa5));
    assert_int_equal(upmu_session_attach_thread(&host.other, &threads[0], NULL), UPMU_OK);
    assert_int_equal(upmu_thread_exit(&threads[0]), UPMU_OK);
    host_end(&host);
}

static void probe_runs_in_memory_of_the_host(void **state)
{
    static struct upmu_probe probe;

    (void)state;
    set_up(true);
    probe.loop = upmu_sim_work;
    probe.loop_context = &host.sim;
    assert_int_equal(upmu_cpu_probe(&host.cpu[0], &probe), UPMU_OK);
    assert_int_equal(probe.verdict, UPMU_VERDICT_INTERRUPTS);
    assert_int_equal(probe.work.session.state, UPMU_SESSION_DETACHED);
    assert_null(host.cpu[0].meter.sessions);
    host_end(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_do_the_same_with_a_work_area_and_keep_nothing_in_it),
        cmocka_unit_test(what_it_held_before_does_not_matter),
        cmocka_unit_test(what_changes_at_once_needs_no_area),
        cmocka_unit_test(area_is_used_by_the_cpu_that_it_was_lent_to),
        cmocka_unit_test(handlers_leave_it_alone),
        cmocka_unit_test(area_is_lent_between_calls_and_until_fini),
        cmocka_unit_test(calls_without_a_cpu_use_the_area_of_the_executing_one),
        cmocka_unit_test(probe_runs_in_memory_of_the_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
