/* SPDX-License-Identifier: MIT */
/*
 * Event sets: chains, switches by time, by overflow and by hand, what they cost, and
 * estimates with their error.
 */
#include <stdio.h>
#include <upmu/event.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/world.h>

#include "tests/common/host.h"
#include "tests/common/share.h"

/* Runs of a thousand switches each, and periods of a load. */
#define RUNS 1000u
#define PERIODS 500u

static void set_up(struct host *f, const char *profile)
{
    host_prepare(f, profile);
    f->sim.port.request_tick = host_ask_tick;
    host_start(f);
    host_threads(f, 2);
}

static void tear_down(struct host *f)
{
    assert_int_equal(upmu_session_detach(&f->session), UPMU_OK);
    assert_int_equal(upmu_session_detach(&f->other), UPMU_OK);
    host_end(f);
}

static void tick(struct host *f)
{
    assert_int_equal(upmu_cpu_tick(&f->cpu[0]), UPMU_OK);
}

/* A new set of these events in the chain. */
static void chain(struct host *f, unsigned i, uint16_t number, const char *list, unsigned flags, uint64_t timeout_ns)
{
    assert_int_equal(upmu_session_add_set(&f->session, &f->sets[i], number, flags, timeout_ns), UPMU_OK, i);
    assert_int_equal(upmu_set_add(&f->sets[i], list, NULL), UPMU_OK, i);
}

/*
 * What shows which row: P2-130: set 0 is in the chain.  P2-132, P2-131: order[].  P2-082: upmu_session_find_set().
 * P2-141: set 0 has no switch and stays.  P2-143: UPMU_ERR_STATE.  P2-142: set 0 is
 * removed.
 */
static void sets_stand_in_rising_order_and_the_first_is_the_lowest(void **state)
{
    static const uint16_t numbers[] = {9, 3, 65535, 5};
    static const uint16_t order[] = {0, 3, 5, 9, 65535};
    struct host f;
    const struct upmu_set *set;
    unsigned i;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_set_add(&f.session.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_shuffle(&f.session, false, 0), UPMU_OK);
    for (i = 0; i < 4; i++)
        chain(&f, i + 1, numbers[i], "branches", UPMU_SET_TIME_SWITCH, 1000);
    for (set = f.session.sets, i = 0; set; set = set->next, i++)
        assert_int_equal(set->number, order[i], i);
    assert_int_equal(i, sizeof order / sizeof order[0]);
    assert_ptr_equal(upmu_session_find_set(&f.session, 9), &f.sets[1]);
    assert_null(upmu_session_find_set(&f.session, 4));
    host_begin(&f, &f.session);
    assert_int_equal(f.session.active->number, 0);
    /* Set 0 has no switch: it stays until it is told. */
    host_work(&f, 0, 100000);
    tick(&f);
    assert_int_equal(f.session.active->number, 0);
    assert_int_equal(upmu_session_switch(&f.session, NULL), UPMU_OK);
    for (i = 1; i < 11; i++) {
        assert_int_equal(f.session.active->number, order[i % 5], i);
        host_work(&f, 0, 1000);
        if (i % 5)
            tick(&f);
        else
            assert_int_equal(upmu_session_switch(&f.session, NULL), UPMU_OK);
    }
    /* Without set 0 the first is the lowest that is left. */
    assert_int_equal(upmu_session_add_set(&f.session, &f.sets[5], 7, 0, 0), UPMU_ERR_STATE);
    assert_int_equal(upmu_session_remove_set(&f.session, 3), UPMU_ERR_STATE);
    assert_int_equal(upmu_session_detach(&f.session), UPMU_OK);
    assert_int_equal(upmu_session_remove_set(&f.session, 0), UPMU_OK);
    assert_int_equal(upmu_session_remove_set(&f.session, 0), UPMU_ERR_INVALID);
    f.session.begun = 0;
    assert_int_equal(upmu_session_attach_cpu(&f.session, &f.cpu[0]), UPMU_OK);
    assert_int_equal(f.session.active->number, 3);
    assert_int_equal(upmu_session_detach(&f.session), UPMU_OK);
    for (i = 1; i < 5; i++)
        assert_int_equal(upmu_session_remove_set(&f.session, order[i]), UPMU_OK, i);
    assert_int_equal(upmu_session_attach_cpu(&f.session, &f.cpu[0]), UPMU_ERR_STATE);
    tear_down(&f);
}

/*
 * P2-141: sets without a flag stay active, whatever time passes, and however often an event of theirs overflows.
 * Catches: a switch that is made for a set that has none.
 */
static void sets_without_a_switch_never_switch(void **state)
{
    const struct upmu_sampling every_100 = {.period = 100, .switch_after = 2};
    struct host f;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_session_shuffle(&f.session, false, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&f.session.set, "branches", &every_100), UPMU_OK);
    assert_int_equal(upmu_session_ring(&f.session, f.ring, sizeof f.ring), UPMU_OK);
    chain(&f, 1, 7, "instructions", 0, 0);
    host_begin(&f, &f.session);
    for (unsigned i = 0; i < 2; i++) { /* both sets have their places */
        assert_int_equal(upmu_session_switch(&f.session, NULL), UPMU_OK, i);
        host_work(&f, 0, 10);
    }
    for (unsigned i = 0; i < 30; i++) {
        host_work(&f, 0, 500);
        upmu_sim_advance_ns(&f.sim, 1000000000);
        tick(&f);
        assert_int_equal(f.session.active->number, 0, i);
    }
    assert_int_equal(host_drain(&f, NULL), 30);
    assert_int_equal(f.ticks_asked, 0);
    tear_down(&f);
}

/*
 * P2-106, P2-133: the first activation is that of the lowest set, also where set 0 or the active one was deleted.
 * In the walk above the active set is the lowest that is left, so that either rule would give it.
 */
static void the_first_start_begins_with_the_lowest_set(void **state)
{
    struct host f;

    (void)state;
    for (unsigned way = 0; way < 3; way++) {
        set_up(&f, "skylake");
        assert_int_equal(upmu_set_add(&f.session.set, "instructions", NULL), UPMU_OK);
        chain(&f, 1, 9, "branches", 0, 0);
        chain(&f, 2, 3, "cycles", 0, 0);
        if (way)
            assert_int_equal(upmu_session_remove_set(&f.session, 0), UPMU_OK);
        host_begin(&f, &f.session);
        assert_int_equal(f.session.active->number, way ? 3 : 0);
        host_work(&f, 0, 10);
        assert_int_equal(upmu_session_switch(&f.session, &f.sets[1]), UPMU_OK);
        assert_int_equal(upmu_session_detach(&f.session), UPMU_OK);
        if (way == 2)
            assert_int_equal(upmu_session_remove_set(&f.session, 9), UPMU_OK);
        host_begin(&f, &f.session);
        assert_int_equal(f.session.active->number, way == 2 ? 3 : 9);
        tear_down(&f);
    }
}

static void what_a_set_cannot_be_is_refused(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_session_add_set(&f.session, &f.sets[1], 1, 4, 0), UPMU_ERR_INVALID);
    assert_int_equal(upmu_session_add_set(&f.session, &f.sets[1], 1, UPMU_SET_TIME_SWITCH, 0), UPMU_ERR_INVALID);
    assert_int_equal(upmu_session_add_set(&f.session, &f.sets[1], 1, 0, 5), UPMU_ERR_INVALID);
    assert_int_equal(upmu_session_add_set(&f.session, NULL, 1, 0, 0), UPMU_ERR_INVALID);
    assert_int_equal(upmu_session_switch(&f.session, NULL), UPMU_ERR_STATE);
    assert_int_equal(upmu_set_add(&f.session.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&f.session, &f.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_switch(&f.session, &f.sets[3]), UPMU_ERR_INVALID);
    assert_int_equal(upmu_session_shuffle(&f.session, false, 0), UPMU_ERR_STATE);
    assert_int_equal(upmu_session_detach(&f.session), UPMU_OK);
    f.sim.port.clock_ns = NULL;
    assert_int_equal(upmu_session_add_set(&f.session, &f.sets[1], 1, UPMU_SET_TIME_SWITCH, 5), UPMU_ERR_HOOK_MISSING);
    assert_string_equal(f.session.why.word, "clock_ns");
    tear_down(&f);
}

/* Nothing was missed: what a set made anew forgets is its own duration, not that of its counts. */
static void the_counts_of_a_set_that_is_made_again_stay_exact(void **state)
{
    struct host f;
    struct upmu_count count;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_set_add(&f.session.set, "instructions", NULL), UPMU_OK);
    host_begin(&f, &f.session);
    for (uint64_t total = 1000; total <= 3000; total += 1000) {
        host_work(&f, 0, 1000);
        assert_int_equal(upmu_session_detach(&f.session), UPMU_OK);
        assert_int_equal(upmu_session_add_set(&f.session, NULL, 0, 0, 0), UPMU_OK);
        assert_int_equal(upmu_set_read(&f.session.set, 0, 1, &count), UPMU_OK);
        assert_int_equal(count.value, total);
        assert_int_equal(count.quality, UPMU_QUALITY_EXACT);
        assert_int_equal(count.enabled_ns, 2 * total);
        assert_int_equal(count.running_ns, 2 * total);
        host_begin(&f, &f.session);
    }
    assert_int_equal(upmu_session_detach(&f.session), UPMU_OK);
    tear_down(&f);
}

static void a_set_that_is_made_again_keeps_its_events(void **state)
{
    struct host f;
    struct upmu_set_info info;

    (void)state;
    set_up(&f, "skylake");
    f.sim.port.tick_ns = 1000;
    assert_int_equal(upmu_set_add(&f.session.set, "instructions,branches", NULL), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&f.session, NULL, 0, UPMU_SET_TIME_SWITCH, 2500), UPMU_OK);
    host_begin(&f, &f.session);
    host_work(&f, 0, 100);
    assert_int_equal(upmu_session_detach(&f.session), UPMU_OK);
    upmu_set_ask(&f.session.set, &info);
    assert_int_equal(info.runs, 1);
    assert_int_equal(info.duration_ns, 200);
    assert_int_equal(info.timeout_ns, 3000);
    assert_int_equal(info.left_ns, 2800);
    assert_int_equal(info.flags, UPMU_SET_TIME_SWITCH);
    assert_true(info.active);
    assert_int_equal(upmu_session_add_set(&f.session, NULL, 0, 0, 0), UPMU_OK);
    upmu_set_ask(&f.session.set, &info);
    assert_int_equal(info.runs, 0);
    assert_int_equal(info.duration_ns, 0);
    assert_int_equal(info.flags, 0);
    assert_int_equal(f.session.set.count, 2);
    assert_int_equal(info.available_counters, f.cpu[0].meter.pmu->counters);
    assert_int_equal(upmu_session_attach_cpu(&f.session, &f.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_cpu_reserve(&f.cpu[0], 8), UPMU_OK);
    upmu_set_ask(&f.session.set, &info);
    assert_int_equal(info.available_counters, f.cpu[0].meter.pmu->counters & ~8u);
    upmu_cpu_unreserve(&f.cpu[0], 8);
    tear_down(&f);
}

static void time_of_a_threads_sets_is_its_own_and_the_rest_is_kept(void **state)
{
    struct host f;
    struct upmu_set_info info;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_session_shuffle(&f.session, false, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&f.session.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&f.session, NULL, 0, UPMU_SET_TIME_SWITCH, 10000), UPMU_OK);
    chain(&f, 1, 1, "branches", UPMU_SET_TIME_SWITCH, 10000);
    assert_int_equal(upmu_session_attach_thread(&f.session, &f.threads[0], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&f.session), UPMU_OK);
    for (unsigned round = 0; round < 9; round++) {
        host_thread_switch(&f, 0, 0);
        host_work(&f, 0, 500);
        tick(&f);
        assert_int_equal(f.session.active->number, 0);
        host_thread_switch(&f, 0, 1);
        upmu_sim_advance_ns(&f.sim, 1000000);
        tick(&f);
        upmu_set_ask(&f.session.set, &info);
        assert_int_equal(info.left_ns, 10000 - 1000 * (round + 1));
    }
    host_thread_switch(&f, 0, 0);
    host_work(&f, 0, 500);
    tick(&f);
    assert_int_equal(f.session.active->number, 1);
    host_work(&f, 0, 100);
    host_thread_switch(&f, 0, 1);
    upmu_set_ask(&f.session.set, &info);
    assert_int_equal(info.duration_ns, 10000);
    upmu_set_ask(&f.sets[1], &info);
    assert_int_equal(info.duration_ns, 200);
    assert_int_equal(info.runs, 1);
    tear_down(&f);
}

static struct host *switched;
static uint64_t (*clock_of_model)(void *context);

static void no_access(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)sim, (void)cpu, (void)number;
    fail_msg("access of kind %u to %x", kind, (unsigned)address);
}

static uint64_t clock_in_which_a_set_ends(void *context)
{
    struct host *f = switched;

    switched = NULL;
    if (f) {
        (void)!upmu_session_switch(&f->session, NULL);
        f->sim.before_access = no_access;
    }
    return clock_of_model(context);
}

/*
 * A set is read that becomes the active one on the way, and has no place.  Catches: a register that is read by the
 * number of no counter, for a session that had its counters a moment before.
 */
static void a_set_that_gets_no_place_in_a_read_is_read_without_a_counter(void **state)
{
    struct upmu_count count;
    struct host f;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_set_add(&f.session.set, "branches:counter=1", NULL), UPMU_OK);
    assert_int_equal(upmu_session_shuffle(&f.session, false, 0), UPMU_OK);
    chain(&f, 1, 1, "branch-misses:counter=0", 0, 0);
    host_begin(&f, &f.session);
    host_add(&f, 1, "cache-references:counter=0", 0);
    host_begin(&f, &f.other);
    clock_of_model = f.sim.port.clock_ns;
    f.sim.port.clock_ns = clock_in_which_a_set_ends;
    switched = &f;
    assert_int_equal(upmu_set_read(&f.sets[1], 0, 1, &count), UPMU_OK);
    assert_null(switched);
    f.sim.port.clock_ns = clock_of_model;
    f.sim.before_access = NULL;
    assert_int_equal(count.value, 0);
    assert_int_equal(f.session.state, UPMU_SESSION_WAITING);
    tear_down(&f);
}

static void wall_time_is_what_counts_for_a_cpu(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_set_add(&f.session.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_shuffle(&f.session, false, 0), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&f.session, NULL, 0, UPMU_SET_TIME_SWITCH, 10000), UPMU_OK);
    chain(&f, 1, 1, "branches", UPMU_SET_TIME_SWITCH, 10000);
    host_begin(&f, &f.session);
    upmu_sim_advance_ns(&f.sim, 9999);
    tick(&f);
    assert_int_equal(f.session.active->number, 0);
    upmu_sim_advance_ns(&f.sim, 1);
    tick(&f);
    assert_int_equal(f.session.active->number, 1);
    /* Each run has all of its time. */
    for (unsigned i = 0; i < 6; i++) {
        upmu_sim_advance_ns(&f.sim, 9000);
        tick(&f);
        assert_int_equal(f.session.active->number, !(i & 1u), i);
        upmu_sim_advance_ns(&f.sim, 1000);
        tick(&f);
        assert_int_equal(f.session.active->number, i & 1u, i);
    }
    tear_down(&f);
}

/* A set without events has its time as any other.  Catches: a set that is looked for by its counters alone. */
static void a_set_without_events_ends_with_its_time(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_set_add(&f.session.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_shuffle(&f.session, false, 0), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&f.session, NULL, 0, UPMU_SET_TIME_SWITCH, 10000), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&f.session, &f.sets[1], 1, UPMU_SET_TIME_SWITCH, 10000), UPMU_OK);
    host_begin(&f, &f.session);
    for (unsigned i = 0; i < 6; i++) {
        host_run(&f, 100);
        upmu_sim_advance_ns(&f.sim, 10000);
        tick(&f);
        assert_int_equal(f.session.active->number, ~i & 1u, i);
    }
    assert_int_equal(host_value(&f.session, 0), 300);
    tear_down(&f);
}

/*
 * P2-139: the threshold is an event's own, whichever event of the set reaches its own first.
 * Catches: one threshold, or one number of overflows, for all events of a set.
 */
static void each_event_of_a_set_has_its_own_threshold(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 2; first++) {
        struct host f;
        struct upmu_sampling sampling[2] = {{.period = 1000}, {.period = 200}};

        /* Each 1000 instructions overflow both: the fifth of them are branches. */
        sampling[first].switch_after = 50;
        sampling[!first].switch_after = 2;
        set_up(&f, "skylake");
        assert_int_equal(upmu_session_shuffle(&f.session, false, 0), UPMU_OK);
        assert_int_equal(upmu_session_add_set(&f.session, NULL, 0, UPMU_SET_OVERFLOW_SWITCH, 0), UPMU_OK);
        assert_int_equal(upmu_set_add(&f.session.set, "instructions", &sampling[0]), UPMU_OK);
        assert_int_equal(upmu_set_add(&f.session.set, "branches", &sampling[1]), UPMU_OK);
        assert_int_equal(upmu_session_ring(&f.session, f.ring, sizeof f.ring), UPMU_OK);
        chain(&f, 1, 7, "cycles", 0, 0);
        host_begin(&f, &f.session);
        for (unsigned done = 0; done < 2; done++) {
            assert_int_equal(f.session.active->number, 0);
            for (unsigned i = 0; i < 10; i++)
                host_work(&f, 0, 100);
            tick(&f);
        }
        assert_int_equal(f.session.active->number, 7);
        tear_down(&f);
    }
}

static void a_set_gives_way_at_the_nth_overflow_exactly(void **state)
{
    (void)state;
    for (unsigned direct = 0; direct < 2; direct++) {
        struct host f;
        struct upmu_sampling sampling = {.period = 1000, .switch_after = 3};
        struct upmu_sample sample;
        struct upmu_count count;
        unsigned samples = 0;

        set_up(&f, "skylake");
        if (!direct)
            f.sim.port.request_tick = NULL;
        assert_int_equal(upmu_session_shuffle(&f.session, false, 0), UPMU_OK);
        assert_int_equal(upmu_session_add_set(&f.session, NULL, 0, UPMU_SET_OVERFLOW_SWITCH, 0), UPMU_OK);
        assert_int_equal(upmu_set_add(&f.session.set, "branches", &sampling), UPMU_OK);
        assert_int_equal(upmu_set_add(&f.session.set, "cache-references", NULL), UPMU_OK);
        assert_int_equal(upmu_session_ring(&f.session, f.ring, sizeof f.ring), UPMU_OK);
        chain(&f, 1, 7, "instructions", 0, 0);
        host_begin(&f, &f.session);
        for (unsigned i = 0; i < 2; i++) {
            host_work(&f, 0, 5000);
            tick(&f);
            assert_int_equal(f.session.active->number, 0);
        }
        host_work(&f, 0, 5000);
        assert_int_equal(f.ticks_asked, direct);
        /* Its counters are closed until then. */
        host_work(&f, 0, 300);
        tick(&f);
        assert_int_equal(f.session.active->number, 7);
        host_work(&f, 0, 100);
        while (upmu_ring_next(&f.session.ring, &sample))
            samples++;
        assert_int_equal(samples, 3);
        assert_int_equal(upmu_set_read(&f.session.set, 1, 1, &count), UPMU_OK);
        assert_int_equal(count.raw, 1500);
        assert_int_equal(count.quality, UPMU_QUALITY_SCALED);
        assert_int_equal(upmu_set_read(&f.sets[1], 0, 1, &count), UPMU_OK);
        assert_int_equal(count.raw, 100);
        tear_down(&f);
    }
}

/* The handler has closed all its counters: one that both sets have alike is opened again. */
static void both_sets_have(const char *profile)
{
    struct host f;
    struct upmu_sampling sampling = {.period = 1000, .switch_after = 1};
    struct upmu_count count;

    set_up(&f, profile);
    assert_int_equal(upmu_session_shuffle(&f.session, false, 0), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&f.session, NULL, 0, UPMU_SET_OVERFLOW_SWITCH, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&f.session.set, "branches", &sampling), UPMU_OK);
    assert_int_equal(upmu_set_add(&f.session.set, "cache-references", NULL), UPMU_OK);
    chain(&f, 1, 1, "branch-misses,cache-references", 0, 0);
    host_begin(&f, &f.session);
    /* Once round, so that both have their places. */
    assert_int_equal(upmu_session_switch(&f.session, NULL), UPMU_OK);
    assert_int_equal(upmu_session_switch(&f.session, NULL), UPMU_OK);
    assert_int_equal(f.session.set.tally[1].counter, f.sets[1].tally[1].counter);
    host_work(&f, 0, 5000);
    tick(&f);
    assert_int_equal(f.session.active->number, 1);
    host_work(&f, 0, 3000);
    assert_int_equal(upmu_set_read(&f.sets[1], 1, 1, &count), UPMU_OK);
    assert_int_equal(count.raw, 300);
    tear_down(&f);
}

static void a_counter_that_both_sets_have_runs_on_after_an_overflow(void **state)
{
    (void)state;
    both_sets_have("skylake");
    both_sets_have("k8_revf");
    both_sets_have("version1");
}

/* Nothing runs for a session that has stopped, and what is done until its next start is in no count. */
static void stands_still(struct host *f, uint64_t expected)
{
    struct upmu_set *set = f->session.active;
    struct upmu_count before, after;

    for (unsigned n = 0; n < 18; n++)
        assert_false(upmu_sim_runs(&f->sim, 0, n), n);
    assert_int_equal(upmu_set_read(set, 1, 1, &before), UPMU_OK);
    host_work(f, 0, 10000);
    assert_int_equal(upmu_session_start(&f->session), UPMU_OK);
    assert_ptr_equal(f->session.active, set);
    host_work(f, 0, 3000);
    assert_int_equal(upmu_set_read(set, 1, 1, &after), UPMU_OK);
    assert_int_equal(after.raw - before.raw, expected);
}

/*
 * Two faults from each access of a switch on.  One counter is open while the sets change: both have it alike, or it
 * stands still in the kernel (AMD).
 */
static void a_counter_that_stays_open_stops_with_a_fault(void **state)
{
    static const struct {
        const char *profile, *first, *second;
        unsigned expected;
    } cases[] = {
        {"skylake", "branches,cache-references", "branch-misses,cache-references", 300},
        {"k8_revf", "branches,cache-references", "branch-misses,cache-references", 300},
        {"version1", "branches,cache-references", "branch-misses,cache-references", 300},
        {"p6", "branches,cache-references", "branch-misses,cache-references", 300},
        {"northwood_smtoff", "branches,cache-references", "branch-misses,cache-references", 300},
        {"k8_revf", "branches:u,cache-references", "branch-misses:u,cache-misses", 30},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned stopped = 0;

        for (unsigned at = 1; at < 12; at++) {
            struct host f;

            set_up(&f, cases[i].profile);
            f.sim.expect_faults = true;
            assert_int_equal(upmu_session_shuffle(&f.session, false, 0), UPMU_OK);
            assert_int_equal(upmu_set_add(&f.session.set, cases[i].first, NULL), UPMU_OK, i);
            chain(&f, 1, 1, cases[i].second, 0, 0);
            host_begin(&f, &f.session);
            for (unsigned round = 0; round < 4; round++)
                assert_int_equal(upmu_session_switch(&f.session, NULL), UPMU_OK);
            host_work(&f, 0, 5000);
            f.sim.fault_at = f.sim.accesses + at;
            f.sim.fault_until = f.sim.fault_at + 1;
            (void)!upmu_session_switch(&f.session, NULL);
            f.sim.fault_at = f.sim.fault_until = 0;
            if (f.session.state == UPMU_SESSION_STOPPED) {
                stopped++;
                stands_still(&f, cases[i].expected);
            }
            tear_down(&f);
        }
        assert_in_range(stopped, 1, 10);
    }
}

static void work_before(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                        uint32_t address)
{
    (void)number, (void)kind, (void)address;
    host_work(sim->test, cpu, 100);
}

/*
 * The same where a switch, to another set or to the same one, finds an overflow whose interrupt was lost, and no room
 * in the ring.  What happens between its accesses is in no later count.
 */
static void a_counter_that_stays_open_stops_where_a_switch_masks(void **state)
{
    const struct upmu_sampling every_100 = {.period = 100};

    (void)state;
    for (unsigned same = 0; same < 2; same++) {
        struct host f;

        set_up(&f, "skylake");
        f.sim.deliver = NULL;
        assert_int_equal(upmu_session_shuffle(&f.session, false, 0), UPMU_OK);
        assert_int_equal(upmu_set_add(&f.session.set, "branches", &every_100), UPMU_OK);
        assert_int_equal(upmu_set_add(&f.session.set, "cache-references", NULL), UPMU_OK);
        chain(&f, 1, 1, "branch-misses,cache-references", 0, 0);
        assert_int_equal(upmu_session_ring(&f.session, f.ring, 256), UPMU_OK);
        upmu_session_mask_on_full(&f.session, true);
        host_begin(&f, &f.session);
        for (unsigned switches = 0; f.session.state == UPMU_SESSION_RUNNING; switches++) {
            assert_in_range(switches, 0, 20);
            host_work(&f, 0, 5000);
            f.sim.before_access = work_before;
            assert_int_equal(upmu_session_switch(&f.session, same ? &f.session.set : NULL), UPMU_OK);
            f.sim.before_access = NULL;
        }
        assert_int_equal(f.session.state, UPMU_SESSION_MASKED);
        stands_still(&f, 300);
        tear_down(&f);
    }
}

static void sampling_goes_on_where_a_set_left_it(void **state)
{
    struct host f;
    struct upmu_sampling sampling = {.period = 1000};
    struct upmu_sample sample;
    unsigned samples = 0;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_session_shuffle(&f.session, false, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&f.session.set, "branches", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&f.session, f.ring, sizeof f.ring), UPMU_OK);
    chain(&f, 1, 7, "branches:u", 0, 0);
    host_begin(&f, &f.session);
    for (unsigned i = 0; i < 100; i++) {
        host_work(&f, 0, 555);
        assert_int_equal(upmu_session_switch(&f.session, NULL), UPMU_OK);
    }
    while (upmu_ring_next(&f.session.ring, &sample))
        samples++;
    assert_int_equal(samples, 5);
    assert_int_equal(f.session.set.tally[0].total, 50 * 111);
    tear_down(&f);
}

#define FOUR_A "branches,cache-references,cache-misses,bus-cycles"
#define FOUR_B "branches:u,cache-references:u,cache-misses:u,bus-cycles:u"

/*
 * P2-126: two events that need the same counter do not fit in one set, and in two sets both are counted.
 * Catches: a set that counts what the set before it has left in the counter.
 */
static void events_that_need_one_counter_are_counted_in_two_sets(void **state)
{
    static const char *const profiles[] = {"skylake", "k8_revf", "p6", "zen4"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        struct host f;

        set_up(&f, profiles[p]);
        assert_int_equal(upmu_set_add(&f.other.set, "branches:counter=1,branch-misses:counter=1", NULL), UPMU_OK, p);
        assert_int_equal(upmu_session_attach_cpu(&f.other, &f.cpu[0]), UPMU_ERR_DOES_NOT_FIT, p);
        assert_int_equal(upmu_session_shuffle(&f.session, false, 0), UPMU_OK);
        assert_int_equal(upmu_set_add(&f.session.set, "branches:counter=1", NULL), UPMU_OK);
        chain(&f, 1, 1, "branch-misses:counter=1", 0, 0);
        host_begin(&f, &f.session);
        for (unsigned i = 0; i < 6; i++) {
            host_work(&f, 0, 1000);
            assert_int_equal(upmu_session_switch(&f.session, NULL), UPMU_OK);
            assert_int_equal(f.session.active->tally[0].counter, 1, p, i);
        }
        for (unsigned i = 0; i < 2; i++) {
            struct upmu_count count;

            assert_int_equal(upmu_set_read(i ? &f.sets[1] : &f.session.set, 0, 1, &count), UPMU_OK, p, i);
            assert_int_equal(count.raw, i ? 60 : 600, p, i);
            assert_int_equal(count.quality, UPMU_QUALITY_SCALED, p, i);
            assert_in_range(count.value, i ? 110 : 1100, i ? 130 : 1300, p, i);
        }
        tear_down(&f);
    }
}

static void a_set_switch_costs_what_a_thread_switch_does(void **state)
{
    static const struct {
        const char *name, *a, *b;
        unsigned n;
        bool global;
    } profiles[] = {
        {"skylake", FOUR_A, FOUR_B, 4, true},
        {"icelake", FOUR_A, FOUR_B, 4, true},
        {"core2", "branches,cache-references", "branches:u,cache-references:u", 2, true},
        {"p6", "branches,cache-references", "branches:u,cache-references:u", 2, false},
    };

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        struct host f;
        unsigned n = profiles[p].n;

        set_up(&f, profiles[p].name);
        assert_int_equal(upmu_session_shuffle(&f.session, false, 0), UPMU_OK);
        assert_int_equal(upmu_set_add(&f.session.set, profiles[p].a, NULL), UPMU_OK, p);
        chain(&f, 1, 1, profiles[p].b, 0, 0);
        host_begin(&f, &f.session);
        assert_int_equal(upmu_session_switch(&f.session, NULL), UPMU_OK);
        assert_int_equal(upmu_session_switch(&f.session, NULL), UPMU_OK);
        host_forget_cost(&f);
        for (unsigned i = 0; i < 5; i++) {
            host_work(&f, 0, i & 1u ? 300 : 100);
            assert_int_equal(upmu_session_switch(&f.session, NULL), UPMU_OK);
            host_costs(&f, __func__, profiles[p].global ? 2 + n : 2 * n, 2 * n);
        }
        for (unsigned i = 0; i < 2; i++) {
            struct upmu_set *set = i ? &f.sets[1] : &f.session.set;

            assert_int_equal(set->tally[0].total, i ? 2 * 60 : 3 * 20, p);
            assert_int_equal(set->tally[1].total, i ? 2 * 30 : 3 * 10, p);
        }
        tear_down(&f);
    }
}

static void a_set_without_room_waits_and_the_next_does_not(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_session_shuffle(&f.session, false, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&f.other.set, "branches,cache-references", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&f.other, &f.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&f.other), UPMU_OK);
    assert_int_equal(upmu_set_add(&f.session.set, "branches:u", NULL), UPMU_OK);
    chain(&f, 1, 1, FOUR_B, 0, 0);
    host_begin(&f, &f.session);
    host_work(&f, 0, 100);
    assert_int_equal(upmu_session_switch(&f.session, NULL), UPMU_OK);
    assert_int_equal(f.session.state, UPMU_SESSION_WAITING);
    host_work(&f, 0, 100);
    assert_int_equal(upmu_session_switch(&f.session, NULL), UPMU_OK);
    assert_int_equal(f.session.state, UPMU_SESSION_RUNNING);
    assert_int_equal(f.session.active->number, 0);
    tear_down(&f);
}

/* How much of a slot a load is on that is on for half of each period (of slots; 0: always): in halves. */
static unsigned halves_on(unsigned slot, unsigned period)
{
    return period ? (2 * slot % (2 * period) < period) + ((2 * slot + 1) % (2 * period) < period) : 2;
}

/* Forty events on four counters, under a load of that period.  `stated`: the greatest error that a count states. */
static void forty_events(uint64_t seed, unsigned slots, unsigned period, unsigned *inside, unsigned *asked,
                         uint64_t *worst_permille, uint64_t *stated_permille)
{
    static const char *const lists[2] = {FOUR_A, FOUR_B};
    struct host f;
    uint64_t random = seed * 7919 + 1, truth[4] = {0, 0, 0, 0};

    set_up(&f, "skylake");
    assert_int_equal(upmu_session_shuffle(&f.session, true, seed), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&f.session, NULL, 0, UPMU_SET_TIME_SWITCH, 100000), UPMU_OK);
    assert_int_equal(upmu_set_add(&f.session.set, FOUR_A, NULL), UPMU_OK);
    for (unsigned i = 1; i < HOST_SETS; i++)
        chain(&f, i, (uint16_t)i, lists[i & 1u], UPMU_SET_TIME_SWITCH, 100000);
    host_begin(&f, &f.session);
    for (unsigned slot = 0; slot < slots; slot++) {
        unsigned halves = halves_on(slot, period);
        struct upmu_sim_burst burst = {.cycles = 100000, .ref_cycles = 100000, .user = true, .ip = 1};

        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        burst.branches = (20000 + (random >> 40) % 1000) * halves / 2;
        burst.llc_references = (5000 + (random >> 30) % 400) * halves / 2;
        burst.llc_misses = (1200 + (random >> 20) % 100) * halves / 2;
        burst.bus_cycles = 12500 * halves;
        burst.instructions = 4 * burst.branches;
        truth[0] += burst.branches;
        truth[1] += burst.llc_references;
        truth[2] += burst.llc_misses;
        truth[3] += burst.bus_cycles;
        upmu_sim_events(&f.sim, &burst);
        tick(&f);
    }
    for (unsigned i = 0; i < HOST_SETS; i++)
        for (unsigned k = 0; k < 4; k++) {
            struct upmu_set *set = upmu_session_find_set(&f.session, (uint16_t)i);
            struct upmu_count count;
            uint64_t error;

            assert_int_equal(upmu_set_read(set, k, 1, &count), UPMU_OK, k);
            assert_int_equal(count.quality, UPMU_QUALITY_SCALED);
            error = count.value > truth[k] ? count.value - truth[k] : truth[k] - count.value;
            *asked += 1;
            *inside += error <= count.error;
            if (error * 1000 / truth[k] > *worst_permille)
                *worst_permille = error * 1000 / truth[k];
            assert_compare(count.error, <, UINT64_MAX / 1000, i, k);
            if (count.error * 1000 / truth[k] > *stated_permille)
                *stated_permille = count.error * 1000 / truth[k];
        }
    tear_down(&f);
}

/* Nor is the error that is stated a number behind which any estimate is right. */
static void a_stationary_load_is_estimated_to_1_percent_within_its_error(void **state)
{
    unsigned inside = 0, asked = 0;
    unsigned runs = share_of("runs", RUNS, 4, 20);
    uint64_t worst = 0, stated = 0;

    (void)state;
    for (uint64_t seed = runs; seed > 0; seed--)
        forty_events(seed, 1000, 0, &inside, &asked, &worst, &stated);
    print_message("inside %u of %u, worst error %u per mille, at most %u stated\n", inside, asked, (unsigned)worst,
                  (unsigned)stated);
    assert_compare(worst, <=, 10);
    assert_compare(stated, <=, 20);
    assert_compare(inside * 100, >=, asked * 99);
}

static void a_load_of_any_period_is_inside_the_stated_error(void **state)
{
    unsigned inside = 0, asked = 0;
    unsigned step = PERIODS / share_of("periods", PERIODS, 4, 20);
    uint64_t worst = 0, stated = 0;

    (void)state;
    for (unsigned period = 1; period <= PERIODS; period += step) {
        unsigned here = 0, of = 0;

        for (uint64_t seed = 1; seed <= 2; seed++)
            forty_events(seed + 100 * period, 1000, period, &here, &of, &worst, &stated);
        if (here * 100 < of * 95)
            fail_msg("a load with a period of %u slots: inside %u of %u", period, here, of);
        inside += here;
        asked += of;
    }
    print_message("inside %u of %u, worst error %u per mille, at most %u stated\n", inside, asked, (unsigned)worst,
                  (unsigned)stated);
}

/* Memory that is a set already is refused, under any number.  Catches: a list that a second link makes a circle. */
static void memory_of_a_set_is_not_added_twice(void **state)
{
    struct upmu_set sets[2];
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_session_add_set(&host.session, &sets[0], 5, 0, 0), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&host.session, &sets[1], 7, 0, 0), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&host.session, &sets[0], 6, 0, 0), UPMU_ERR_INVALID);
    assert_int_equal(upmu_session_add_set(&host.session, &sets[0], 8, 0, 0), UPMU_ERR_INVALID);
    assert_int_equal(upmu_session_add_set(&host.session, &host.session.set, 9, 0, 0), UPMU_ERR_INVALID);
    assert_int_equal(upmu_session_add_set(&host.session, &sets[0], 5, 0, 0), UPMU_OK); /* the number is there */
    assert_null(upmu_session_find_set(&host.session, 9));
    assert_int_equal(upmu_session_remove_set(&host.session, 5), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&host.session, &sets[0], 9, 0, 0), UPMU_OK);
    host_end(&host);
}

static void refused_by_each_call(struct upmu_set *set, const struct upmu_event *event)
{
    struct upmu_set_info info;
    struct upmu_count count;

    assert_int_equal(upmu_set_add(set, "branches", NULL), UPMU_ERR_STATE);
    assert_int_equal(upmu_set_add_event(set, event, NULL), UPMU_ERR_STATE);
    assert_int_equal(upmu_set_read(set, 0, 1, &count), UPMU_ERR_STATE);
    assert_int_equal(upmu_set_write(set, 0, 1), UPMU_ERR_STATE);
    assert_int_equal(upmu_set_replace(set, 0, "branches", NULL), UPMU_ERR_STATE);
    assert_int_equal(upmu_set_replace_event(set, 0, event, NULL), UPMU_ERR_STATE);
    assert_int_equal(upmu_set_wait(set, 0, 1000, 1000), UPMU_ERR_STATE);
    assert_int_equal(upmu_set_lend(set, 0, 1), UPMU_ERR_STATE);
    memset(&info, 0xa5, sizeof info);
    upmu_set_ask(set, &info);
    assert_true(info.number == 0 && !info.active && info.available_counters == 0 && info.duration_ns == 0);
}

/* One that was never added, one that was removed, and one whose session was closed. */
static void a_set_of_no_session_is_refused_by_each_call(void **state)
{
    static struct upmu_set fresh;
    struct host f;
    struct upmu_event event;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_event_parse(f.cpu[0].meter.pmu, "cycles", &event, NULL), UPMU_OK);
    refused_by_each_call(&fresh, &event);
    chain(&f, 0, 3, "cycles", 0, 0);
    chain(&f, 1, 4, "cycles", 0, 0);
    assert_int_equal(upmu_session_remove_set(&f.session, 3), UPMU_OK);
    refused_by_each_call(&f.sets[0], &event);
    assert_int_equal(upmu_set_write(&f.sets[1], 0, 7), UPMU_OK);
    upmu_session_close(&f.session);
    refused_by_each_call(&f.sets[1], &event);
    assert_int_equal(f.sets[1].count, 1);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_a_set_is_not_added_twice),
        cmocka_unit_test(a_set_of_no_session_is_refused_by_each_call),
        cmocka_unit_test(sets_stand_in_rising_order_and_the_first_is_the_lowest),
        cmocka_unit_test(sets_without_a_switch_never_switch),
        cmocka_unit_test(the_first_start_begins_with_the_lowest_set),
        cmocka_unit_test(what_a_set_cannot_be_is_refused),
        cmocka_unit_test(a_set_that_is_made_again_keeps_its_events),
        cmocka_unit_test(the_counts_of_a_set_that_is_made_again_stay_exact),
        cmocka_unit_test(time_of_a_threads_sets_is_its_own_and_the_rest_is_kept),
        cmocka_unit_test(a_set_that_gets_no_place_in_a_read_is_read_without_a_counter),
        cmocka_unit_test(wall_time_is_what_counts_for_a_cpu),
        cmocka_unit_test(a_set_without_events_ends_with_its_time),
        cmocka_unit_test(each_event_of_a_set_has_its_own_threshold),
        cmocka_unit_test(a_set_gives_way_at_the_nth_overflow_exactly),
        cmocka_unit_test(a_counter_that_both_sets_have_runs_on_after_an_overflow),
        cmocka_unit_test(a_counter_that_stays_open_stops_with_a_fault),
        cmocka_unit_test(a_counter_that_stays_open_stops_where_a_switch_masks),
        cmocka_unit_test(sampling_goes_on_where_a_set_left_it),
        cmocka_unit_test(events_that_need_one_counter_are_counted_in_two_sets),
        cmocka_unit_test(a_set_switch_costs_what_a_thread_switch_does),
        cmocka_unit_test(a_set_without_room_waits_and_the_next_does_not),
        cmocka_unit_test(a_stationary_load_is_estimated_to_1_percent_within_its_error),
        cmocka_unit_test(a_load_of_any_period_is_inside_the_stated_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
