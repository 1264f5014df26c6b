/* SPDX-License-Identifier: MIT */
/*
 * A sequence that an erratum wants before each new event, and that clobbers counters
 * of others: on the model of a Nehalem that starts new events wrong without it.  The
 * sequence is written here, so that the core's part is tested whatever the backend
 * does (Linux arch/x86/events/intel/core.c, intel_pmu_nhm_workaround).
 */
#include <upmu/session.h>
#include <upmu/set.h>
#include "backends/x86_core/x86_core_registers.h"
#include "core/hw/backend.h"
#include "tests/common/host.h"
#include "tests/common/state.h"

static const struct upmu_prelude_step steps[] = {
    {UPMU_X86_ROW_SELECT + 0, 0x4300b5}, {UPMU_X86_ROW_PMC + 0, 0},       {UPMU_X86_ROW_SELECT + 1, 0x4300d2},
    {UPMU_X86_ROW_PMC + 1, 0},           {UPMU_X86_ROW_SELECT + 2, 0x4300b1}, {UPMU_X86_ROW_PMC + 2, 0},
    {UPMU_X86_ROW_SELECT + 3, 0x4300b1}, {UPMU_X86_ROW_PMC + 3, 0},       {UPMU_X86_ROW_GLOBAL_CTRL, 0xf},
    {UPMU_X86_ROW_GLOBAL_CTRL, 0},
};
static const struct upmu_prelude sequence = {steps, sizeof steps / sizeof steps[0], 0xf};
static const struct upmu_backend *real;
static struct upmu_backend wrapped;

static void render(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned alternative,
                   const uint8_t *counters, unsigned flags, struct upmu_image *image)
{
    real->render(pmu, event, alternative, counters, flags, image);
    if (counters[0] < UPMU_FIXED_COUNTER(0))
        image->prelude = true;
}

static void set_up(struct host *host)
{
    host_prepare(host, "nehalem");
    host->sim.rule[UPMU_SIM_RULE_HAZARD_AAK100] = 1;
    host_start(host);
    real = host->machine.pmu[0].backend;
    wrapped = *real;
    wrapped.render = render;
    wrapped.prelude = &sequence;
    host->machine.pmu[0].backend = &wrapped;
    host->machine.pmu[0].capabilities |= UPMU_PMU_PRELUDE;
}

static void the_first_period_of_a_new_event_is_right(void **state)
{
    struct host host;

    (void)state;
    set_up(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    assert_int_equal(host_value(&host.session, 0), 500);
    host_end(&host);
}

static void counts_of_others_survive_it(void **state)
{
    struct host host;
    struct upmu_count count;

    (void)state;
    set_up(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "branches,instructions,cycles", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    assert_int_equal(upmu_set_add(&host.other.set, "r04c4:u:k", NULL), UPMU_OK);
    host.sim.ns_per_access = 1000;
    host_begin(&host, &host.other);
    host.sim.ns_per_access = 0;
    assert_compare(host.cpu[0].meter.bank.accesses.prelude, >, 0);
    host_run(&host, 600);
    assert_int_equal(host_value(&host.session, 0), 800);
    assert_int_equal(host_value(&host.session, 1), 1600);
    assert_int_equal(host_value(&host.session, 2), 3200);
    /* Time passed while it was closed, and the count says so. */
    assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.quality, UPMU_QUALITY_SCALED);
    assert_int_equal(count.raw, 800);
    assert_compare(count.running_ns, <, count.enabled_ns);
    host_end(&host);
}

static void samples_of_others_stay_where_they_were_due(void **state)
{
    struct host host;
    struct upmu_sample sample = {.events = 0};

    (void)state;
    set_up(&host);
    host_sample(&host, "branches", 400);
    host_run(&host, 1000); /* 500: one, and 100 into the next */
    assert_int_equal(host_drain(&host, NULL), 1);
    assert_int_equal(upmu_set_add(&host.other.set, "r04c4", NULL), UPMU_OK);
    host_begin(&host, &host.other);
    host_run(&host, 598);
    assert_int_equal(host_drain(&host, NULL), 0);
    host_run(&host, 2);
    assert_int_equal(host_drain(&host, &sample), 1);
    assert_int_equal(sample.flags & UPMU_SAMPLE_NO_FRAME, 0);
    assert_int_equal(host_value(&host.session, 0), 800);
    host_end(&host);
}

static void the_count_of_a_stopped_session_survives_it(void **state)
{
    struct host host;

    (void)state;
    set_up(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.other.set, "r04c4", NULL), UPMU_OK);
    host_begin(&host, &host.other);
    host_run(&host, 1000);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    host_run(&host, 1000);
    assert_int_equal(host_value(&host.session, 0), 1000);
    host_end(&host);
}

static void a_restart_of_the_same_event_needs_none(void **state)
{
    struct host host;
    uint32_t before;

    (void)state;
    set_up(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    before = host.cpu[0].meter.bank.accesses.prelude;
    assert_compare(before, >=, 10);
    host.cpu[0].meter.bank.accesses.writes = 0;
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_int_equal(host.cpu[0].meter.bank.accesses.writes, 1);
    assert_int_equal(host.cpu[0].meter.bank.accesses.prelude, before);
    host_end(&host);
}

static void what_the_firmware_uses_is_left_out_of_it(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "nehalem");
    upmu_sim_poke(&host.sim, 0, 0x187, 0x4300c4);
    upmu_sim_poke(&host.sim, 0, 0x38f, 0x2);
    host_machine(&host);
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    assert_int_equal(host.cpu[0].meter.firmware, 2);
    real = host.machine.pmu[0].backend;
    wrapped = *real;
    wrapped.render = render;
    wrapped.prelude = &sequence;
    host.machine.pmu[0].backend = &wrapped;
    host.machine.pmu[0].capabilities |= UPMU_PMU_PRELUDE;
    host_run(&host, 100);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 100);
    assert_int_equal(host_value(&host.session, 0), 50);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x187), 0x4300c4);
    assert_true(upmu_sim_runs(&host.sim, 0, 1));
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0xc2), 100);
    host_end(&host);
}

/* ---- An overflow at each access of the start that needs it ---- */

static struct host *injected;
static uint32_t inject_at, seen;

static void inject(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)cpu, (void)number, (void)kind, (void)address;
    if (injected && ++seen == inject_at)
        host_run(injected, 700);
    (void)sim;
}

static uint32_t overflow_at(uint32_t at, bool after)
{
    static struct host host;
    uint64_t raw;
    struct upmu_sampling sampling = {.period = 300};
    uint64_t truth;

    set_up(&host);
    host_sample(&host, "branches", 300);
    host_run(&host, 500);
    assert_int_equal(upmu_set_add(&host.other.set, "branches,r04c4", &sampling), UPMU_OK);
    injected = &host;
    inject_at = at;
    seen = 0;
    if (after)
        host.sim.after_access = inject;
    else
        host.sim.before_access = inject;
    host_begin(&host, &host.other);
    injected = NULL;
    host_run(&host, 5000);
    raw = host_value(&host.session, 0);
    truth = 2750 + (at && seen >= at ? 350 : 0);
    /* What happened while it was closed is in no count. */
    if (raw < 2750 || raw > truth)
        fail_msg("access %u: %u branches", (unsigned)at, (unsigned)raw);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_session_stop(&host.other), UPMU_OK);
    raw = host_value(&host.session, 0);
    if (host_drain(&host, NULL) + host.session.set.tally[0].lost != raw / 300)
        fail_msg("access %u: not %u samples", (unsigned)at, (unsigned)(raw / 300));
    raw = host_value(&host.other, 0);
    if (raw < 2500 || raw > 2850)
        fail_msg("access %u: %u branches of the new one", (unsigned)at, (unsigned)raw);
    host_end(&host);
    return seen;
}

static void an_overflow_at_any_access_of_it_is_lost_to_nobody(void **state)
{
    uint32_t accesses = overflow_at(0, false);

    (void)state;
    assert_compare(accesses, >, 20);
    for (uint32_t at = 1; at <= accesses; at++) {
        (void)overflow_at(at, false);
        (void)overflow_at(at, true);
    }
}

static void a_fault_at_any_access_of_it_stops_whom_it_must(void **state)
{
    uint32_t accesses = overflow_at(0, false), ran_on = 0;

    (void)state;
    for (uint32_t at = 1; at <= accesses; at++) {
        static struct host host;
        struct upmu_count count;
        enum upmu_status status;

        set_up(&host);
        assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 500);
        assert_int_equal(upmu_set_add(&host.other.set, "r04c4", NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK);
        host.sim.fault_at = host.sim.accesses + at;
        status = upmu_session_start(&host.other);
        host_run(&host, 500);
        assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
        if (host.session.state != UPMU_SESSION_RUNNING)
            assert_int_equal(host.session.error, UPMU_ERR_PORT);
        else if (status == UPMU_OK || count.quality != UPMU_QUALITY_PARTIAL)
            assert_int_equal(count.raw, 500);
        if (status == UPMU_OK)
            assert_int_equal(host_value(&host.other, 0), 0);
        ran_on += host.session.state == UPMU_SESSION_RUNNING;
        assert_false(upmu_test_session_is_held(&host.session));
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    }
    assert_compare(ran_on, >, accesses / 2);
}

/* Catches: an event that was selected without the whole sequence, and counts wrong. */
static void a_sequence_that_faults_twice_starts_nothing(void **state)
{
    static struct host host;

    (void)state;
    set_up(&host);
    host.sim.expect_faults = true;
    assert_int_equal(upmu_set_add(&host.session.set, "branches:counter=3", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 500);
    assert_int_equal(upmu_set_add(&host.other.set, "r04c4:counter=2", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_set_replace(&host.other.set, 0, "r02c4:counter=2", NULL), UPMU_OK);
    host.sim.fault_address = 0x186; /* of the sequence alone */
    assert_int_equal(upmu_session_start(&host.other), UPMU_ERR_PORT);
    host.sim.fault_address = 0;
    assert_int_equal(host.other.state, UPMU_SESSION_STOPPED);
    assert_int_equal(host.session.state, UPMU_SESSION_STOPPED);
    assert_int_equal(host.session.error, UPMU_ERR_PORT);
    assert_int_equal(host_value(&host.session, 0), 250);
    for (unsigned i = 2; i < 4; i++)
        assert_false(upmu_sim_runs(&host.sim, 0, i), i);
    host_end(&host);
}

static uint32_t interrupt_from;

static void interrupt(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)cpu, (void)kind, (void)address;
    if (number > interrupt_from)
        upmu_sim_foreign_nmi(sim);
}

/*
 * The sequence sets counters to 0, and a fault keeps the library from giving them their start values: a handler does
 * not take a value below the last one for a wrap, nor a sampling counter at 0 for an overflow.
 */
static void a_handler_after_a_fault_of_it_counts_no_round(void **state)
{
    uint32_t accesses = overflow_at(0, false);

    (void)state;
    for (uint32_t at = 1; at <= accesses; at++)
        for (unsigned samples = 0; samples < 2; samples++) {
            static struct host host;
            struct upmu_sampling sampling = {.period = 1000};
            struct upmu_count count;

            set_up(&host);
            host.sim.ns_per_access = 1000000;
            assert_int_equal(upmu_set_add(&host.session.set, "branches", samples ? &sampling : NULL), UPMU_OK);
            assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
            host_begin(&host, &host.session);
            host_run(&host, 500);
            assert_int_equal(upmu_set_add(&host.other.set, "r04c4", NULL), UPMU_OK);
            assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK);
            host.sim.fault_at = interrupt_from = host.sim.accesses + at;
            host.sim.before_access = interrupt;
            if (upmu_session_start(&host.other) != UPMU_OK)
                assert_int_equal(host.other.error, UPMU_ERR_PORT);
            host.sim.before_access = NULL;
            assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
            if (count.raw != 250)
                fail_msg("access %u, %u: %llu", (unsigned)at, samples, (unsigned long long)count.raw);
            assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        }
}

/*
 * A set that is due in a handler wants the sequence: a local call runs it.  Catches: a handler that clobbers counters
 * of others, which nothing has stopped for it.
 */
static void a_handler_runs_no_sequence(void **state)
{
    static struct host host;
    struct upmu_sampling sampling = {.period = 500, .switch_after = 1};
    struct upmu_set second;

    (void)state;
    set_up(&host);
    assert_int_equal(upmu_session_shuffle(&host.session, false, 0), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&host.session, NULL, 0, UPMU_SET_OVERFLOW_SWITCH, 0), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&host.session, &second, 1, 0, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "branches:counter=0", &sampling), UPMU_OK);
    assert_int_equal(upmu_set_add(&second, "r04c4:counter=0", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    for (unsigned i = 0; i < 2; i++) /* both sets get their places */
        assert_int_equal(upmu_session_switch(&host.session, NULL), UPMU_OK);
    host_run(&host, 1000);
    assert_int_equal(host.answers, 1);
    assert_int_equal(host.cpu[0].meter.bank.handler_accesses.prelude, 0);
    assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
    assert_ptr_equal(host.session.active, &second);
    assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
    host_end(&host);
}

/*
 * A thread has seven sessions whose active sets are empty and one that needs the sequence; a session of the CPU runs
 * beside them.  Catches: a plan that is full of sessions without counters, so that what runs cannot be stopped and
 * loaded again for the sequence, and sessions end with an error though no register faulted.
 */
static void empty_sets_leave_room_for_what_it_stops(void **state)
{
    static struct host host;
    static struct upmu_session empty[7];

    (void)state;
    set_up(&host);
    host_threads(&host, 3);
    host_add(&host, 0, "instructions", 0);
    host_begin(&host, &host.sessions[0]);
    for (unsigned i = 0; i < 2; i++) { /* both get their places */
        host_add(&host, 1 + i, i ? "branch-misses:counter=0" : "branches:counter=0", 0);
        assert_int_equal(upmu_session_attach_thread(&host.sessions[1 + i], &host.threads[i], NULL), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.sessions[1 + i]), UPMU_OK);
        host_thread_switch(&host, 0, i);
    }
    host_thread_switch(&host, 0, 0);
    for (unsigned i = 0; i < 7; i++) {
        assert_int_equal(upmu_session_init(&empty[i], &host.machine), UPMU_OK);
        assert_int_equal(upmu_session_add_set(&empty[i], &host.sets[i], 1, 0, 0), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.sets[i], "cycles", NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_thread(&empty[i], &host.threads[1], NULL), UPMU_OK);
        assert_int_equal(upmu_session_start(&empty[i]), UPMU_OK);
    }
    for (unsigned i = 0; i < 4; i++) { /* the seven come, leave, come and leave */
        uint32_t before = host.cpu[0].meter.bank.accesses.prelude;

        host_thread_switch(&host, 0, !(i & 1u));
        assert_int_equal(host.sessions[0].state, UPMU_SESSION_RUNNING, i);
        assert_int_equal(host.sessions[2 - (i & 1u)].error, UPMU_OK, i);
        assert_int_equal(host.sessions[2 - (i & 1u)].state, UPMU_SESSION_RUNNING, i);
        for (unsigned k = 0; k < 7; k++)
            assert_int_equal(empty[k].state, i & 1u ? UPMU_SESSION_WAITING : UPMU_SESSION_RUNNING, i, k);
        assert_compare(host.cpu[0].meter.bank.accesses.prelude, >, before);
        host_run(&host, 1000);
    }
    assert_int_equal(host_value(&host.sessions[0], 0), 4000);
    assert_int_equal(host_value(&host.sessions[1], 0), 1000);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(upmu_thread_exit(&host.threads[i]), UPMU_OK, i);
    host_end(&host);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_period_of_a_new_event_is_right),
        cmocka_unit_test(counts_of_others_survive_it),
        cmocka_unit_test(samples_of_others_stay_where_they_were_due),
        cmocka_unit_test(the_count_of_a_stopped_session_survives_it),
        cmocka_unit_test(a_restart_of_the_same_event_needs_none),
        cmocka_unit_test(what_the_firmware_uses_is_left_out_of_it),
        cmocka_unit_test(an_overflow_at_any_access_of_it_is_lost_to_nobody),
        cmocka_unit_test(a_fault_at_any_access_of_it_stops_whom_it_must),
        cmocka_unit_test(a_sequence_that_faults_twice_starts_nothing),
        cmocka_unit_test(a_handler_after_a_fault_of_it_counts_no_round),
        cmocka_unit_test(a_handler_runs_no_sequence),
        cmocka_unit_test(empty_sets_leave_room_for_what_it_stops),
    };

    return cmocka_run_group_tests_name("prelude", tests, NULL, NULL);
}
