/* SPDX-License-Identifier: MIT */
/*
 * Top-down metrics: bytes of PERF_METRICS as 64-bit counts of slots, on the model of
 * an Ice Lake, which spoils them if they are zeroed in the wrong order.
 */
#include <upmu/event.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include "core/util/bits.h"
#include "tests/common/host.h"
#include "tests/common/state.h"

/* Event 00h with unit masks 80h to 83h: retiring, bad speculation, front end, back end. */
static struct upmu_event metric(const struct host *host, unsigned byte)
{
    struct upmu_event event;

    assert_int_equal(upmu_event_raw(&host->machine.pmu[0], 0x30000u | (0x80u + byte) << 8, 0, 0, &event), UPMU_OK);
    assert_int_equal(event.counters, UINT32_C(1) << (24 + byte));
    return event;
}

static struct upmu_event slots(const struct host *host)
{
    struct upmu_event event;

    assert_int_equal(upmu_event_raw(&host->machine.pmu[0], 0x30400, 0, 0, &event), UPMU_OK);
    return event;
}

static void add(struct upmu_session *session, struct upmu_event event, uint64_t period)
{
    struct upmu_sampling sampling = {.period = period};

    assert_int_equal(upmu_set_add_event(&session->set, &event, &sampling), UPMU_OK);
}

/* Slots, of which so many 255ths are of each kind. */
static void happen(struct host *host, uint64_t count, uint64_t bytes)
{
    upmu_sim_events(&host->sim, &(struct upmu_sim_burst){.instructions = count / 4,
                                                         .cycles = count / 5,
                                                         .branches = count / 8,
                                                         .slots = count,
                                                         .metrics = bytes,
                                                         .ip = 0x1000,
                                                         .ip_step = 1});
}

static void set_up_metrics(struct host *host, unsigned count)
{
    host_set_up(host, "icelake");
    for (unsigned i = 0; i < count; i++)
        add(&host->session, metric(host, i), 0);
}

/* Are all metrics right to their own error, and is that what it may be? */
static void check(struct host *host, unsigned count, uint64_t all, unsigned windows)
{
    struct upmu_count counts[8];

    assert_int_equal(upmu_set_read(&host->session.set, 0, count, counts), UPMU_OK);
    for (unsigned i = 0; i < count; i++) {
        uint64_t truth = host->sim.cpu[0].metric_truth[i] / 255u;
        uint64_t off = counts[i].value > truth ? counts[i].value - truth : truth - counts[i].value;

        if (off > counts[i].error)
            fail_msg("metric %u: %llu, not %llu", i, (unsigned long long)counts[i].value, (unsigned long long)truth);
        assert_int_equal(counts[i].quality, UPMU_QUALITY_SCALED, i);
        assert_compare(counts[i].error, <=, all / 510u + windows, i);
    }
}

static void a_metric_counts_its_part_of_the_slots(void **state)
{
    static struct host host;

    (void)state;
    set_up_metrics(&host, 4);
    host_begin(&host, &host.session);
    happen(&host, 1000000, 0x20405f40);
    check(&host, 4, 1000000, 1);
    happen(&host, 500000, 0x00ff0000);
    happen(&host, 70, 0xff000000);
    check(&host, 4, 1500070, 2);
    assert_compare(host_value(&host.session, 2), >, 700000);
    host_end(&host);
}

/*
 * Catches: metrics read with the width of the other counters, 48 bits, so that the shares of the last two are 0.  The
 * other tests of metrics have a PMU with four.
 */
static void each_of_eight_metrics_counts(void **state)
{
    static const char *const profiles[] = {"sapphirerapids", "adl_p"};
    static struct host host;

    (void)state;
    for (unsigned i = 0; i < sizeof profiles / sizeof profiles[0]; i++)
        for (unsigned by_msr = 0; by_msr < 2; by_msr++) {
            host_prepare(&host, profiles[i]);
            if (by_msr)
                host.sim.port.rdpmc = NULL;
            host_start(&host);
            for (unsigned byte = 0; byte < 8; byte++)
                add(&host.session, metric(&host, byte), 0);
            host_begin(&host, &host.session);
            happen(&host, 1000000, UINT64_C(0x1f2f3f4f20405f40));
            check(&host, 8, 1000000, 1);
            assert_compare(host_value(&host.session, 6), >, 180000, by_msr);
            assert_compare(host_value(&host.session, 7), >, 120000, by_msr);
            host_end(&host);
        }
}

static void reading_metrics_takes_four_writes_and_two_reads(void **state)
{
    static struct host host;
    struct upmu_count counts[4];

    (void)state;
    set_up_metrics(&host, 4);
    host_begin(&host, &host.session);
    happen(&host, 1000000, 0x20405f40);
    host.cpu[0].meter.bank.accesses = (struct upmu_accesses){.writes = 0};
    assert_int_equal(upmu_set_read(&host.session.set, 0, 4, counts), UPMU_OK);
    assert_int_equal(host.cpu[0].meter.bank.accesses.writes, 4);
    assert_int_equal(host.cpu[0].meter.bank.accesses.rdpmcs, 2);
    assert_int_equal(host.cpu[0].meter.bank.accesses.reads, 0);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    host.cpu[0].meter.bank.accesses = (struct upmu_accesses){.writes = 0};
    assert_int_equal(upmu_set_read(&host.session.set, 0, 4, counts), UPMU_OK);
    assert_int_equal(host.cpu[0].meter.bank.accesses.writes + host.cpu[0].meter.bank.accesses.rdpmcs, 0);
    host_end(&host);
}

static void metrics_go_on_after_a_stop_and_a_poll(void **state)
{
    static struct host host;

    (void)state;
    set_up_metrics(&host, 3);
    host_begin(&host, &host.session);
    for (unsigned i = 0; i < 6; i++) {
        uint64_t before[3];

        happen(&host, 10000 + i, 0x10604040);
        assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
        happen(&host, 10000 + i, 0x60104040);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        memcpy(before, host.sim.cpu[0].metric_truth, sizeof before);
        happen(&host, 10000, 0xff); /* not counted */
        memcpy(host.sim.cpu[0].metric_truth, before, sizeof before);
        check(&host, 3, 20000u * (i + 1) + 100, 2 * (i + 1));
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    }
    host_end(&host);
}

static void slots_beside_their_metrics_are_exact(void **state)
{
    static struct host host;
    struct upmu_count count;

    (void)state;
    set_up_metrics(&host, 2);
    add(&host.session, slots(&host), 0);
    host_begin(&host, &host.session);
    for (unsigned i = 1; i <= 4; i++) {
        happen(&host, 12345, 0x8040);
        check(&host, 2, 12345 * i, 2 * i);
        assert_int_equal(upmu_set_read(&host.session.set, 2, 1, &count), UPMU_OK);
        assert_int_equal(count.value, 12345 * i, i);
        assert_int_equal(count.quality, UPMU_QUALITY_EXACT);
    }
    host_end(&host);
}

static void metrics_are_not_sampled_nor_are_slots_beside_them(void **state)
{
    static struct host host;
    struct upmu_sampling sampling = {.period = 1000};
    struct upmu_event event;

    (void)state;
    set_up_metrics(&host, 1);
    event = metric(&host, 1);
    assert_int_equal(upmu_set_add_event(&host.session.set, &event, &sampling), UPMU_ERR_UNSUPPORTED);
    add(&host.session, slots(&host), 1000);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_ERR_UNSUPPORTED);
    /* Catches a refusal that is returned, but not told. */
    assert_int_equal(host.session.why.status, UPMU_ERR_UNSUPPORTED);
    assert_int_equal(host.session.state, UPMU_SESSION_STOPPED);
    happen(&host, 5000, 0x8040);
    assert_int_equal(host.answers, 0);
    host_end(&host);
}

/* A thread's session that samples slots beside its metrics waits for their register, and stays away when it is free. */
static void what_waits_and_samples_slots_beside_metrics_does_not_come(void **state)
{
    static struct host host;

    (void)state;
    set_up_metrics(&host, 1);
    host_threads(&host, 2);
    host_begin(&host, &host.session);
    add(&host.other, metric(&host, 1), 0);
    add(&host.other, slots(&host), 1000);
    assert_int_equal(upmu_session_attach_thread(&host.other, &host.threads[1], NULL), UPMU_OK);
    host_thread_switch(&host, 0, 1);
    assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
    assert_int_equal(host.other.state, UPMU_SESSION_WAITING);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(host.other.state, UPMU_SESSION_WAITING);
    assert_int_equal(upmu_session_stop(&host.other), UPMU_OK);
    assert_int_equal(upmu_thread_exit(&host.threads[1]), UPMU_OK);
    host_end(&host);
}

/* Does it run, or do slots of its time interrupt? */
static void stays_away(struct host *host)
{
    assert_int_not_equal(host->other.state, UPMU_SESSION_RUNNING);
    happen(host, 5000, 0x8040);
    assert_int_equal(host->answers, 0);
    assert_int_equal(host_value(&host->other, 0), 0);
}

/*
 * Slots sampled beside their metrics, of a thread: the session is started while the thread does not run, so no call can
 * refuse it.  Switches to the thread and ticks, in turn: a switch that searches a place for it leaves a placement that
 * the next one must not take.
 */
static void a_switch_brings_no_session_that_samples_slots_beside_metrics(void **state)
{
    static struct host host;

    (void)state;
    for (unsigned shares = 0; shares < 2; shares++)
        for (unsigned ticks = 0; ticks < 2; ticks++) {
            set_up_metrics(&host, 0);
            host_threads(&host, 2);
            add(&host.other, metric(&host, 1), 0);
            add(&host.other, slots(&host), 1000);
            if (shares)
                assert_int_equal(upmu_session_share(&host.other, true), UPMU_OK);
            assert_int_equal(upmu_session_attach_thread(&host.other, &host.threads[0], NULL), UPMU_OK);
            assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
            for (unsigned i = 0; i < 3; i++) {
                host_thread_switch(&host, 0, 0);
                stays_away(&host);
                if (ticks)
                    assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
                stays_away(&host);
                host_thread_switch(&host, 0, 1);
            }
            assert_int_equal(upmu_thread_exit(&host.threads[0]), UPMU_OK);
            host_end(&host);
        }
}

/* A refusal tells the same while sharing sessions run, and these run on. */
static void slots_sampled_beside_metrics_displace_no_sharing_session(void **state)
{
    static struct host host;

    (void)state;
    set_up_metrics(&host, 1);
    assert_int_equal(upmu_session_share(&host.session, true), UPMU_OK);
    host_begin(&host, &host.session);
    add(&host.other, metric(&host, 1), 0);
    add(&host.other, slots(&host), 1000);
    assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.other), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
    host_end(&host);
}

/* The first set counts instructions, the second one samples slots beside their metrics: its turn never comes. */
static void no_set_that_samples_slots_beside_metrics_gets_a_turn(void **state)
{
    static struct host host;
    static struct upmu_set second;
    struct upmu_sampling sampling = {.period = 1000};
    struct upmu_event event;

    (void)state;
    set_up_metrics(&host, 0);
    assert_int_equal(upmu_set_add(&host.other.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&host.other, &second, 1, 0, 0), UPMU_OK);
    event = metric(&host, 1);
    assert_int_equal(upmu_set_add_event(&second, &event, NULL), UPMU_OK);
    event = slots(&host);
    assert_int_equal(upmu_set_add_event(&second, &event, &sampling), UPMU_OK);
    host_begin(&host, &host.other);
    for (unsigned i = 1; i < 4; i++) {
        assert_int_equal(upmu_session_switch(&host.other, &second), UPMU_OK);
        assert_int_equal(host.other.state, UPMU_SESSION_WAITING);
        happen(&host, 5000, 0x8040);
        assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
        happen(&host, 5000, 0x8040);
        assert_int_equal(host.answers, 0);
        assert_int_equal(upmu_session_switch(&host.other, &host.other.set), UPMU_OK);
        assert_int_equal(host.other.state, UPMU_SESSION_RUNNING);
        happen(&host, 4000, 0x8040);
        assert_int_equal(host_value(&host.other, 0), 1000 * i);
    }
    host_end(&host);
}

/* A PMU with counters like any other from 24 on samples them, and a poll folds them. */
static void counters_from_24_on_are_metrics_only_where_the_pmu_says_so(void **state)
{
    static struct host host;
    struct upmu_sampling sampling = {.period = 1000};
    struct upmu_pmu pmu;
    struct upmu_event event;
    const char *name;

    (void)state;
    host_set_up(&host, "icelake");
    event = metric(&host, 1);
    assert_int_equal(host.machine.pmu[0].metrics, 0xf);
    host.machine.pmu[0].metrics = 0;
    assert_int_equal(upmu_set_add_event(&host.session.set, &event, &sampling), UPMU_OK);
    assert_false(host.session.set.tally[0].metric);
    host.machine.pmu[0].metrics = 0xf;
    assert_int_equal(upmu_set_add_event(&host.session.set, &event, NULL), UPMU_OK);
    assert_true(host.session.set.tally[1].metric);
    host_end(&host);
    for (unsigned i = 0; (name = upmu_pmu_known(i)) != NULL; i++) {
        assert_int_equal(upmu_pmu_by_name(&pmu, name), UPMU_OK);
        /* On x86 nothing else has such numbers: general counters end before 16, fixed ones before 24. */
        assert_int_equal(pmu.counters >> 24, pmu.metrics);
    }
}

static void metrics_of_two_sessions_do_not_share_their_slots(void **state)
{
    static struct host host;

    (void)state;
    set_up_metrics(&host, 2);
    host_begin(&host, &host.session);
    add(&host.other, metric(&host, 2), 0);
    assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.other), UPMU_ERR_DOES_NOT_FIT);
    happen(&host, 5000, 0x8040);
    check(&host, 2, 5000, 1);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
    host_end(&host);
}

static void a_region_measures_metrics(void **state)
{
    static struct host host;
    static struct upmu_region region;

    (void)state;
    host_set_up(&host, "icelake");
    assert_int_equal(upmu_region_open(&region, &host.cpu[0], "r8000,instructions"), UPMU_OK);
    for (unsigned i = 0; i < 2; i++) {
        happen(&host, 33333, 0xff);
        assert_int_equal(upmu_region_begin(&region), UPMU_OK);
        happen(&host, 255000, 0x33);
        assert_int_equal(upmu_region_end(&region), UPMU_OK);
        assert_in_range(region.count[0].value + region.count[0].error, 51000, 51000 + 2 * region.count[0].error);
        assert_int_equal(region.count[0].quality, UPMU_QUALITY_SCALED);
        assert_int_equal(region.count[1].value, 63750);
        assert_int_equal(region.count[1].quality, UPMU_QUALITY_EXACT);
    }
    assert_int_equal(upmu_region_close(&region), UPMU_OK);
    host_end(&host);
}

/* ---- Interrupts and faults at each access of a read ---- */

static struct host *injected;
static uint32_t inject_at, seen;

static void inject(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)sim, (void)cpu, (void)number, (void)kind, (void)address;
    if (injected && ++seen == inject_at)
        happen(injected, 4096, 0x20405f40);
}

static uint32_t overflow_at(uint32_t at)
{
    static struct host host;
    struct upmu_sampling sampling = {.period = 1000};
    struct upmu_count counts[4];

    set_up_metrics(&host, 4);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
    host_begin(&host, &host.session);
    happen(&host, 3000, 0x20405f40);
    injected = &host;
    inject_at = at;
    seen = 0;
    host.sim.before_access = inject;
    assert_int_equal(upmu_set_read(&host.session.set, 0, 4, counts), UPMU_OK);
    injected = NULL;
    happen(&host, 30000, 0x20405f40);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 4, counts), UPMU_OK);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t truth = 33000u * (0x20405f40u >> 8 * i & 0xffu) / 255u;

        assert_in_range(counts[i].value + counts[i].error, truth, truth + 4096 + 2 * counts[i].error, i);
    }
    assert_int_equal(host_drain(&host, NULL) + host.session.set.tally[4].lost, host_value(&host.session, 4) / 1000);
    assert_in_range(host_value(&host.session, 4), 8250, 8250 + 1024);
    host_end(&host);
    return seen;
}

static void an_overflow_at_any_access_of_a_read_is_lost_to_nobody(void **state)
{
    uint32_t accesses = overflow_at(0);

    (void)state;
    assert_compare(accesses, >=, 6);
    for (uint32_t at = 1; at <= accesses; at++)
        (void)overflow_at(at);
}

/*
 * A fault stops the session, with the metric marked; or the access is made again, and the count is right.  What other
 * events of it counted is not lost: as a_fault_when_throttling_ends_loses_no_count in test_pmi.c.
 */
static void a_fault_at_an_access_of_a_read_costs_no_other_count(void **state)
{
    unsigned stopped = 0;

    (void)state;
    for (uint32_t at = 1; at <= 6; at++) {
        static struct host host;
        struct upmu_count count;

        set_up_metrics(&host, 2);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        happen(&host, 3000, 0x20405f40);
        host.sim.fault_at = host.sim.accesses + at;
        if (upmu_set_read(&host.session.set, 0, 1, &count) != UPMU_OK) {
            stopped++;
            assert_int_equal(host.session.state, UPMU_SESSION_STOPPED);
            assert_int_equal(host.session.error, UPMU_ERR_PORT);
            assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
            assert_int_equal(count.quality, UPMU_QUALITY_PARTIAL);
            assert_int_equal(host_value(&host.session, 2), 750);
        } else {
            assert_int_equal(count.quality, UPMU_QUALITY_SCALED);
            assert_in_range(count.value + count.error, 752, 752 + 2 * count.error, at);
            assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
        }
        assert_compare(host.sim.faults, >, 0, at);
        assert_false(upmu_test_session_is_held(&host.session));
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    }
    assert_in_range(stopped, 1, 5);
}

static void metrics_that_cannot_be_read_at_a_stop_are_said_to_be_partial(void **state)
{
    (void)state;
    for (uint32_t at = 2; at <= 3; at++) { /* slots, metrics */
        static struct host host;
        struct upmu_count count;

        set_up_metrics(&host, 2);
        host_begin(&host, &host.session);
        happen(&host, 3000, 0x20405f40);
        host.sim.fault_at = host.sim.accesses + at;
        host.sim.fault_until = host.sim.fault_at + 1;
        assert_int_equal(upmu_session_stop(&host.session), UPMU_ERR_PORT);
        assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
        assert_int_equal(count.quality, UPMU_QUALITY_PARTIAL);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    }
}

static void a_dry_run_shows_slots_zeroed_before_their_metrics(void **state)
{
    static struct host host;
    struct upmu_write writes[8];
    struct upmu_dry_run dry = {.writes = writes, .capacity = 8};

    (void)state;
    set_up_metrics(&host, 3);
    assert_int_equal(upmu_session_dry_run(&host.session, &host.machine.pmu[0], &dry), UPMU_OK);
    assert_int_equal(dry.count, 4);
    assert_int_equal(writes[0].address, 0x38d);
    assert_int_equal(writes[1].address, 0x30c);
    assert_int_equal(writes[2].address, 0x329);
    assert_int_equal(writes[1].value | writes[2].value, 0);
    assert_int_equal(writes[3].address, 0x38f);
    assert_int_equal(writes[3].value, UINT64_C(1) << 48 | UINT64_C(1) << 35);
    host_end(&host);
}

static uint64_t always_enabled;

static void note_what_is_enabled(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                                 uint32_t address)
{
    (void)number, (void)kind, (void)address;
    if (sim->cpu[cpu].in_nmi)
        always_enabled &= upmu_sim_peek(sim, cpu, 0x38f);
}

/* Catches: the slots of a session stopped while the handler works, and the metrics that are fractions of them not. */
static void a_handler_stops_metrics_with_what_samples_beside_them(void **state)
{
    struct upmu_sampling sampling = {.period = 100};
    struct host host;

    (void)state;
    host_set_up(&host, "icelake");
    add(&host.session, metric(&host, 0), 0);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
    host_begin(&host, &host.session);
    assert_true(upmu_sim_peek(&host.sim, 0, 0x38f) >> 48 & 1u);
    always_enabled = ~UINT64_C(0);
    host.sim.before_access = note_what_is_enabled;
    host_run(&host, 250);
    host.sim.before_access = NULL;
    assert_int_equal(host_drain(&host, NULL), 1);
    assert_int_equal(always_enabled, 0);
    assert_true(upmu_sim_peek(&host.sim, 0, 0x38f) >> 48 & 1u);
    host_end(&host);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_metric_counts_its_part_of_the_slots),
        cmocka_unit_test(each_of_eight_metrics_counts),
        cmocka_unit_test(reading_metrics_takes_four_writes_and_two_reads),
        cmocka_unit_test(metrics_go_on_after_a_stop_and_a_poll),
        cmocka_unit_test(slots_beside_their_metrics_are_exact),
        cmocka_unit_test(metrics_are_not_sampled_nor_are_slots_beside_them),
        cmocka_unit_test(what_waits_and_samples_slots_beside_metrics_does_not_come),
        cmocka_unit_test(a_switch_brings_no_session_that_samples_slots_beside_metrics),
        cmocka_unit_test(slots_sampled_beside_metrics_displace_no_sharing_session),
        cmocka_unit_test(no_set_that_samples_slots_beside_metrics_gets_a_turn),
        cmocka_unit_test(counters_from_24_on_are_metrics_only_where_the_pmu_says_so),
        cmocka_unit_test(metrics_of_two_sessions_do_not_share_their_slots),
        cmocka_unit_test(a_region_measures_metrics),
        cmocka_unit_test(an_overflow_at_any_access_of_a_read_is_lost_to_nobody),
        cmocka_unit_test(a_fault_at_an_access_of_a_read_costs_no_other_count),
        cmocka_unit_test(metrics_that_cannot_be_read_at_a_stop_are_said_to_be_partial),
        cmocka_unit_test(a_handler_stops_metrics_with_what_samples_beside_them),
        cmocka_unit_test(a_dry_run_shows_slots_zeroed_before_their_metrics),
    };

    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
