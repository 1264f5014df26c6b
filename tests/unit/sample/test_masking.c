/* SPDX-License-Identifier: MIT */
/*
 * A handler masks a session while a call on it, or on another one, is under way: its
 * counts are taken all the same, and it is left as the call says.
 */
#include "tests/common/host.h"
#include <upmu/format.h>
#include <upmu/message.h>
#include <upmu/session.h>
#include <upmu/set.h>

static uint32_t inject_at;
static bool injecting;
static const char *list_of_other; /* "cycles" overflow twice as often as instructions, "branches" half as often */
static bool other_first;          /* attached */

/* Before the access that was chosen both sessions overflow. */
static void before(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)cpu;
    (void)kind;
    (void)address;
    if (!injecting || number != inject_at)
        return;
    injecting = false;
    host_run(sim->test, 100);
}

/* What the model's counters counted of the two. */
static void check_counts(struct host *host, uint32_t at)
{
    const struct upmu_sim_cpu *cpu = &host->sim.cpu[0];

    for (unsigned i = 0; i < 4; i++) {
        struct upmu_session *session = i & 1 ? &host->other : &host->session;
        unsigned counter = session->set.tally[i >> 1].counter;
        uint64_t value = host_value(session, i >> 1);

        if (value != cpu->counter[counter].counted)
            fail_msg("access %u: event %u of session %u has %u, its counter counted %u", (unsigned)at, i >> 1, i & 1,
                     (unsigned)value, (unsigned)cpu->counter[counter].counted);
    }
}

/* Two sessions whose rings are full but for the next overflow. */
static void set_up(struct host *host, const char *profile)
{
    struct upmu_sampling sampling = {.period = 100};

    host_set_up(host, profile);
    host->sim.before_access = before;
    for (unsigned i = 0; i < 2; i++) {
        bool other = (i == 0) == other_first;
        struct upmu_session *session = other ? &host->other : &host->session;

        assert_int_equal(upmu_set_add(&session->set, other ? list_of_other : "instructions", &sampling), UPMU_OK);
        assert_int_equal(upmu_set_add(&session->set, "branches", NULL), UPMU_OK);
        assert_int_equal(upmu_session_ring(session, host->ring + 256 * i, 256), UPMU_OK, i);
        upmu_session_mask_on_full(session, true);
        host_begin(host, session);
    }
}

static enum upmu_status stop_both(struct host *host)
{
    return upmu_session_stop(&host->session) != UPMU_OK ? UPMU_ERR_PORT : upmu_session_stop(&host->other);
}

static enum upmu_status stop_other_first(struct host *host)
{
    return upmu_session_stop(&host->other) != UPMU_OK ? UPMU_ERR_PORT : upmu_session_stop(&host->session);
}

static enum upmu_status sleep_and_wake(struct host *host)
{
    return upmu_cpu_suspend(&host->cpu[0]) != UPMU_OK ? UPMU_ERR_PORT : upmu_cpu_resume(&host->cpu[0]);
}

static enum upmu_status detach_both(struct host *host)
{
    return upmu_session_detach(&host->session) != UPMU_OK ? UPMU_ERR_PORT : upmu_session_detach(&host->other);
}

/* What it counted before is added again. */
static enum upmu_status write_and_stop(struct host *host)
{
    const struct upmu_tally *tally = &host->session.set.tally[1];
    enum upmu_status status = upmu_set_write(&host->session.set, 1, 0);

    if (status != UPMU_OK)
        return status;
    status = stop_both(host);
    if (host_value(&host->session, 1) > 50)
        fail_msg("%u are there after a write of 0", (unsigned)host_value(&host->session, 1));
    return status == UPMU_OK ? upmu_set_write(&host->session.set, 1, host->sim.cpu[0].counter[tally->counter].counted)
                             : status;
}

/* Both sessions start again, count and sample. */
static void begin_again(struct host *host, uint32_t at)
{
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_session *session = i ? &host->other : &host->session;
        struct upmu_sample sample;
        uint64_t value = host_value(session, 0), beside = host_value(session, 1);
        unsigned samples = 0;

        while (upmu_ring_next(&session->ring, &sample))
            ;
        if (session->state == UPMU_SESSION_DETACHED)
            assert_int_equal(upmu_session_attach_cpu(session, &host->cpu[0]), UPMU_OK);
        assert_int_equal(upmu_session_start(session), UPMU_OK);
        for (unsigned k = 0; k < 4; k++)
            host_run(host, 50);
        while (upmu_ring_next(&session->ring, &sample))
            samples++;
        assert_int_equal(upmu_session_stop(session), UPMU_OK);
        if (!samples || host_value(session, 0) < value + 100 || host_value(session, 1) != beside + 100)
            fail_msg("access %u: session %u counts %u and %u in 200 instructions afterwards, %u samples", (unsigned)at,
                     i, (unsigned)(host_value(session, 0) - value), (unsigned)(host_value(session, 1) - beside),
                     samples);
    }
}

/*
 * A call after so many hundred instructions, with 100 more before each of its accesses in turn: from none of the two
 * sessions masked to both.
 */
static void each_access(enum upmu_status (*call)(struct host *host), const char *profile)
{
    struct host host;
    uint32_t first = 0, last = 1;

    for (unsigned units = 1; units < 14; units++)
        for (uint32_t at = 0; at == 0 || first + at <= last; at++) {
            set_up(&host, profile);
            for (unsigned i = 0; i < units; i++)
                host_run(&host, 100);
            first = host.sim.accesses;
            inject_at = first + at;
            injecting = at != 0;
            assert_int_equal(call(&host), UPMU_OK);
            last = host.sim.accesses;
            injecting = false;
            check_counts(&host, at);
            begin_again(&host, at);
            host_end(&host);
        }
}

static void everywhere(enum upmu_status (*call)(struct host *host))
{
    static const char *const profiles[] = {"skylake", "k8_revc"};
    static const char *const lists[] = {"cycles", "branches"};

    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++)
        for (unsigned i = 0; i < 4; i++) {
            list_of_other = lists[i / 2];
            other_first = i % 2;
            each_access(call, profiles[p]);
        }
}

static void a_session_masked_in_a_stop_is_stopped_with_its_counts(void **state)
{
    (void)state;
    everywhere(stop_both);
    everywhere(stop_other_first);
}

static void a_session_masked_while_its_cpu_falls_asleep_keeps_its_counts(void **state)
{
    (void)state;
    everywhere(sleep_and_wake);
}

static void a_session_masked_in_a_detach_keeps_its_counts(void **state)
{
    (void)state;
    everywhere(detach_both);
}

static void a_session_masked_in_a_write_counts_from_there(void **state)
{
    (void)state;
    everywhere(write_and_stop);
}

/*
 * An overflow that would mask a session is found by its stop: no interrupt came.
 * Catches: a short way of a call that leaves out what the long way does at its end (seed 91356 of the simulated host):
 * a restart begins what was stopped.
 */
static void what_a_stop_masks_is_stopped(void **state)
{
    struct upmu_sampling sampling = {.period = 100, .flags = UPMU_SAMPLING_NOTIFY};
    static struct upmu_message messages[4];
    struct upmu_queue queue;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_session_messages(&host.session, &queue, messages, 4, 0, NULL), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", &sampling), UPMU_OK);
    host_begin(&host, &host.session);
    for (unsigned i = 0; i < 3; i++) {
        host.sim.cpu[0].lvtpc |= UPMU_SIM_LVTPC_MASKED; /* by other software */
        host_run(&host, 300);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(host.session.state, UPMU_SESSION_STOPPED);
        assert_int_equal(upmu_session_restart(&host.session), UPMU_OK);
        assert_int_equal(host.session.state, UPMU_SESSION_STOPPED);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    }
    assert_int_equal(host_value(&host.session, 0), 450);
    host_end(&host);
}

static void take_time(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)cpu;
    (void)number;
    (void)kind;
    (void)address;
    upmu_sim_advance_ns(sim, 10);
}

/* Its time goes on until its counts are taken, and what a sequence before another's event cost is no more than that. */
static void what_a_handler_has_masked_reads_like_what_runs(void **state)
{
    struct upmu_sampling sampling = {.period = 100};
    struct upmu_count before, masked, after;
    struct host host;

    (void)state;
    host_set_up(&host, "nehalem");
    assert_int_equal(upmu_set_add(&host.session.set, "branches", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, 256), UPMU_OK);
    upmu_session_mask_on_full(&host.session, true);
    host_begin(&host, &host.session);
    host.sim.before_access = take_time;
    assert_int_equal(upmu_set_add(&host.other.set, "branch-misses", NULL), UPMU_OK);
    host_begin(&host, &host.other);
    host_run(&host, 400);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &before), UPMU_OK);
    assert_true(before.quality == UPMU_QUALITY_SCALED && before.enabled_ns > before.running_ns);
    for (unsigned i = 0; i < 20; i++)
        host_run(&host, 200);
    assert_int_equal(host.session.state, UPMU_SESSION_MASKED);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &masked), UPMU_OK);
    assert_true(masked.enabled_ns >= before.enabled_ns && masked.running_ns >= before.running_ns);
    assert_true(masked.value >= masked.raw && masked.value < 2 * masked.raw);
    assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &after), UPMU_OK);
    assert_int_equal(after.raw, masked.raw);
    assert_true(after.enabled_ns >= masked.enabled_ns && after.running_ns >= masked.running_ns);
    host_end(&host);
}

/* A session that masks itself has a ring with room for no more samples. */
static void almost_full(struct host *host, const char *profile)
{
    struct upmu_sampling sampling = {.period = 100};

    host_set_up(host, profile);
    assert_int_equal(upmu_set_add(&host->session.set, "instructions", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host->session, host->ring, 256), UPMU_OK);
    upmu_session_mask_on_full(&host->session, true);
    host_begin(host, &host->session);
    for (unsigned i = 0; i < 5; i++)
        host_run(host, 100);
}

static void what_is_masked_counts_no_more_though_a_register_faulted(void **state)
{
    unsigned masked = 0;

    (void)state;
    for (uint32_t at = 1; at < 8; at++) {
        struct host host;
        uint64_t value;

        almost_full(&host, "k8_revc");
        host.sim.fault_at = host.sim.accesses + at;
        host_run(&host, 100);
        host.sim.fault_at = 0;
        if (host.session.state == UPMU_SESSION_MASKED) {
            masked++;
            value = host_value(&host.session, 0);
            host_run(&host, 50);
            if (host_value(&host.session, 0) != value)
                fail_msg("masked, access %u faulted: it counts on", (unsigned)at);
        }
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    }
    assert_compare(masked, >, 0);
}

static unsigned accesses_until_full;

static void fill_the_ring(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                          uint32_t address)
{
    (void)cpu;
    (void)number;
    (void)kind;
    (void)address;
    if (accesses_until_full && !--accesses_until_full)
        host_run(sim->test, 100);
}

/*
 * The overflow that masks a session comes before any access of a verification.
 * Catches: what the library's own handler has closed, and the local side has not heard of yet, taken for a change by
 * something else.
 */
static void what_a_handler_masks_during_a_verification_is_no_difference(void **state)
{
    static const char *const profiles[] = {"skylake", "k8_revc", "zen4", "prescott"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof *profiles; p++)
        for (unsigned at = 1, masked = 1; masked; at++) {
            struct host host;
            enum upmu_status status;

            almost_full(&host, profiles[p]);
            assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
            host.sim.before_access = fill_the_ring;
            accesses_until_full = at;
            status = upmu_cpu_verify(&host.cpu[0], NULL);
            masked = !accesses_until_full;
            accesses_until_full = 0;
            if (status != UPMU_OK)
                fail_msg("%s, before access %u: %s", profiles[p], at, upmu_status_text(status));
            assert_true(masked || at > 4, p); /* some of its accesses were interrupted */
            host_end(&host);
        }
}

/*
 * The same overflow comes while other software has the select of counter 2: the verification names it.
 * Catches: mail that each look leaves unread, so that none of them is believed.
 */
static void a_change_is_found_though_a_handler_interrupts_the_look(void **state)
{
    static const char *const profiles[] = {"skylake", "k8_revc", "zen4"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof *profiles; p++)
        for (unsigned at = 1, masked = 1; masked; at++) {
            const struct upmu_pmu *pmu;
            struct upmu_why why;
            struct host host;
            enum upmu_status status;

            almost_full(&host, profiles[p]);
            pmu = host.cpu[0].meter.pmu;
            upmu_sim_poke(&host.sim, 0, pmu->table->rows[pmu->counter[2].select_row].address, 0x4300c2);
            host.sim.before_access = fill_the_ring;
            accesses_until_full = at;
            status = upmu_cpu_verify(&host.cpu[0], &why);
            masked = !accesses_until_full;
            accesses_until_full = 0;
            if (status != UPMU_ERR_CHANGED)
                fail_msg("%s, before access %u: %s", profiles[p], at, upmu_status_text(status));
            assert_true(masked || at > 1, p);
            assert_int_equal(why.address, pmu->table->rows[pmu->counter[2].select_row].address);
            host_end(&host);
        }
}

static struct host *interrupted; /* an NMI comes with the next report of an overflow */
static bool overflow_masks;

static unsigned interrupt_the_switch(void *state, const struct upmu_overflow *overflow, bool nmi)
{
    struct host *host = interrupted;

    (void)state;
    (void)overflow;
    (void)nmi;
    interrupted = NULL;
    if (host)
        (void)upmu_pmi_handle(&host->cpu[0], NULL);
    return overflow_masks ? UPMU_OVERFLOW_MASK : 0;
}

/*
 * A thread switch finds an overflow that masks what leaves (or, without `masks`, wants its next set), and an NMI
 * comes right then.  The counter of instructions runs on for what comes, at once or (`later`) after a thread without
 * sessions.
 */
static void switch_with_an_nmi(const char *profile, bool masks, bool later)
{
    static const struct upmu_format masking = {.name = "masks", .overflow = interrupt_the_switch};
    struct upmu_sampling sampling = {.period = 1000, .switch_after = masks ? 0 : 1};
    struct upmu_thread idle, mine, theirs;
    struct upmu_set second;
    struct host host;

    host_set_up(&host, profile);
    upmu_thread_init(&idle, 0, 0, NULL);
    upmu_thread_init(&mine, 1, 1, NULL);
    upmu_thread_init(&theirs, 2, 2, NULL);
    if (!masks)
        assert_int_equal(upmu_session_add_set(&host.session, NULL, 0, UPMU_SET_OVERFLOW_SWITCH, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", &sampling), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
    if (!masks) {
        assert_int_equal(upmu_session_add_set(&host.session, &second, 1, 0, 0), UPMU_OK);
        assert_int_equal(upmu_set_add(&second, "branches", NULL), UPMU_OK);
    }
    assert_int_equal(upmu_session_format(&host.session, &masking, NULL, 0), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, 1024), UPMU_OK);
    assert_int_equal(upmu_session_static(&host.session, later), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.other.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&host.other, &theirs, NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&host.session, &mine, NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &idle, &theirs), UPMU_OK);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &theirs, &idle), UPMU_OK);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &idle, &mine), UPMU_OK);
    host.sim.deliver = NULL; /* the overflow's own interrupt is late */
    host_run(&host, 2000);
    overflow_masks = masks;
    interrupted = &host;
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &mine, later ? &idle : &theirs), UPMU_OK);
    assert_null(interrupted);
    host_run(&host, 10);
    if (later)
        assert_int_equal(upmu_thread_switch(&host.cpu[0], &idle, &theirs), UPMU_OK);
    host_run(&host, 700);
    if (host_value(&host.other, 0) != (later ? 700 : 710))
        fail_msg("%s, masks %d, later %d: %u counted", profile, masks, later, (unsigned)host_value(&host.other, 0));
    assert_int_equal(host_value(&host.session, 1), 2000);
    assert_int_equal(upmu_thread_exit(&mine), UPMU_OK);
    assert_int_equal(upmu_thread_exit(&theirs), UPMU_OK);
    host_end(&host);
}

/*
 * Catches: a handler that closes a counter which the local side has already taken for running, so that nothing opens
 * it again.
 */
static void what_runs_on_through_a_switch_is_not_masked(void **state)
{
    static const char *const profiles[] = {"skylake", "core2", "yonah", "k8_revc", "zen4"};

    (void)state;
    for (unsigned i = 0; i < sizeof profiles / sizeof *profiles; i++)
        for (unsigned kind = 0; kind < 4; kind++)
            switch_with_an_nmi(profiles[i], kind & 1u, kind & 2u);
}

/*
 * The overflow that masks a session is found as its next set comes, or as it moves for another one: no interrupt came.
 * Catches: a session that is masked as it leaves its counters, and runs again on those that it was to have next.
 */
static void what_is_masked_as_it_leaves_does_not_come(void **state)
{
    static const struct upmu_format masking = {.name = "masks", .overflow = interrupt_the_switch};
    struct upmu_sampling sampling = {.period = 100};

    (void)state;
    overflow_masks = true;
    for (unsigned moves = 0; moves < 2; moves++) {
        char name[] = "branch-misses:counter=0";
        struct upmu_set second;
        struct host host;

        host_set_up(&host, moves ? "k8_revf" : "skylake");
        assert_int_equal(upmu_set_add(&host.session.set, "branches", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_format(&host.session, &masking, NULL, 0), UPMU_OK);
        if (!moves) {
            assert_int_equal(upmu_session_add_set(&host.session, &second, 1, 0, 0), UPMU_OK);
            assert_int_equal(upmu_set_add(&second, "branch-misses", NULL), UPMU_OK);
        }
        host_begin(&host, &host.session);
        for (unsigned i = 0; i < 2 && !moves; i++) /* each set gets its place */
            assert_int_equal(upmu_session_switch(&host.session, i ? &host.session.set : &second), UPMU_OK, i);
        host.sim.deliver = NULL;
        host_run(&host, 300);
        assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
        name[sizeof name - 2] = (char)('0' + host.session.set.tally[0].counter);
        if (moves) {
            assert_int_equal(upmu_set_add(&host.other.set, name, NULL), UPMU_OK);
            host_begin(&host, &host.other);
        } else {
            assert_int_equal(upmu_session_switch(&host.session, &second), UPMU_OK);
        }
        assert_int_equal(host.session.state, UPMU_SESSION_MASKED);
        host_run(&host, 300);
        assert_int_equal(host_value(&host.session, 0), 150);
        host_end(&host);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_masked_in_a_stop_is_stopped_with_its_counts),
        cmocka_unit_test(a_session_masked_while_its_cpu_falls_asleep_keeps_its_counts),
        cmocka_unit_test(a_session_masked_in_a_detach_keeps_its_counts),
        cmocka_unit_test(what_a_stop_masks_is_stopped),
        cmocka_unit_test(a_session_masked_in_a_write_counts_from_there),
        cmocka_unit_test(what_a_handler_has_masked_reads_like_what_runs),
        cmocka_unit_test(what_is_masked_counts_no_more_though_a_register_faulted),
        cmocka_unit_test(what_a_handler_masks_during_a_verification_is_no_difference),
        cmocka_unit_test(a_change_is_found_though_a_handler_interrupts_the_look),
        cmocka_unit_test(what_runs_on_through_a_switch_is_not_masked),
        cmocka_unit_test(what_is_masked_as_it_leaves_does_not_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
