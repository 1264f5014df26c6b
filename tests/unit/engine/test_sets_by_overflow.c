/* SPDX-License-Identifier: MIT */
/*
 * Sets switched by overflow: the handler switches them.  A set that has no valid placement waits for the next local
 * call, which searches one.
 */
#include <upmu/message.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include "tests/common/host.h"
#include "tests/common/state.h"

#define SETS 5
#define PERIOD 1000u /* branches: a fifth of instructions */

/* One of each protocol: a gate for all, selects that are gates, CCCRs, PerfMonV2. */
static const char *const protocols[] = {"core2",   "skylake", "version1",         "p6",
                                        "k8_revf", "zen4",    "northwood_smtoff", "prescott_smtoff"};

#define PROTOCOLS (sizeof protocols / sizeof protocols[0])

static void set_up(struct host *f, const char *profile)
{
    host_prepare(f, profile);
    f->sim.ns_per_access = 10;
    f->sim.port.request_tick = host_ask_tick;
    host_start(f);
    host_threads(f, 2);
    assert_int_equal(upmu_session_shuffle(&f->session, false, 0), UPMU_OK);
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

/* Set i: branches, whose n-th overflow ends it (0: it does not sample), beside others. */
static void fill(struct host *f, unsigned i, const char *branches, unsigned n, const char *others, unsigned flags,
                 uint64_t timeout_ns)
{
    struct upmu_sampling sampling = {.period = n ? PERIOD : 0, .switch_after = n};
    struct upmu_set *set = i ? &f->sets[i] : &f->session.set;

    assert_int_equal(upmu_session_add_set(&f->session, i ? set : NULL, (uint16_t)i, flags, timeout_ns), UPMU_OK, i);
    assert_int_equal(upmu_set_add(set, branches, &sampling), UPMU_OK);
    if (others)
        assert_int_equal(upmu_set_add(set, others, NULL), UPMU_OK);
}

static void two_sets(struct host *f)
{
    fill(f, 0, "branches", 1, "instructions", UPMU_SET_OVERFLOW_SWITCH, 0);
    fill(f, 1, "branches:u", 1, NULL, UPMU_SET_OVERFLOW_SWITCH, 0);
    assert_int_equal(upmu_session_ring(&f->session, f->ring, sizeof f->ring), UPMU_OK);
}

/* Each set has run once: all have their places. */
static void go_round(struct host *f)
{
    for (struct upmu_set *set = f->session.sets; set; set = set->next)
        assert_int_equal(upmu_session_switch(&f->session, NULL), UPMU_OK);
}

static void begin(struct host *f)
{
    host_begin(f, &f->session);
    go_round(f);
}

static uint64_t raw(struct upmu_set *set, unsigned index)
{
    struct upmu_count count;

    assert_int_equal(upmu_set_read(set, index, 1, &count), UPMU_OK);
    return count.raw;
}

static unsigned active(const struct host *f)
{
    return f->session.active->number;
}

/* ---- The handler ---- */

/* In little bits until another set is active: branches. */
static unsigned work_until_change(struct host *f)
{
    const struct upmu_set *before = f->session.active;
    unsigned branches = 0;

    while (f->session.active == before && branches < 2 * PERIOD) {
        host_work(f, 0, 50);
        branches += 10;
    }
    return branches;
}

static void the_handler_changes_sets_on_every_protocol(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROTOCOLS; p++) {
        struct host f;
        struct upmu_set_info info;
        unsigned total = 0;

        set_up(&f, protocols[p]);
        two_sets(&f);
        begin(&f);
        upmu_set_ask(&f.session.set, &info);
        assert_int_equal(info.runs, 2);
        for (unsigned k = 0; k < 10; k++) {
            struct upmu_set *old = k & 1u ? &f.sets[1] : &f.session.set, *next = k & 1u ? &f.session.set : &f.sets[1];
            unsigned branches;
            uint64_t spent, runs;

            assert_ptr_equal(f.session.active, old);
            upmu_set_ask(next, &info);
            runs = info.runs;
            branches = work_until_change(&f);
            if (branches > PERIOD + 100 || (!total && branches < PERIOD))
                fail_msg("%s: switched after %u", protocols[p], branches);
            total += branches;
            assert_ptr_equal(f.session.active, next);
            /* A set that was left has had its time, and gets no more of it. */
            upmu_set_ask(old, &info);
            spent = info.duration_ns;
            upmu_sim_advance_ns(&f.sim, 3000);
            upmu_set_ask(old, &info);
            assert_true(info.duration_ns == spent && !info.active && info.overflowed == 1);
            upmu_set_ask(next, &info);
            assert_true(info.runs == runs + 1 && info.active);
        }
        assert_int_equal(f.ticks_asked, 0);
        assert_int_equal(host_drain(&f, NULL), 10);
        /* Every branch is in one of both. */
        assert_int_equal(raw(&f.session.set, 0) + raw(&f.sets[1], 0), total);
        assert_compare(raw(&f.session.set, 1), >=, UINT64_C(5) * 5 * PERIOD - 500);
        tear_down(&f);
    }
}

/* Two hyper-threads share counters: a claim takes as long as the other one lets it, and is no work for a handler. */
static void a_set_that_has_to_be_claimed_waits_for_the_next_call(void **state)
{
    struct host f;

    (void)state;
    host_prepare(&f, "northwood");
    f.sim.port.request_tick = host_ask_tick;
    host_machine(&f);
    host_take_over(&f, 2, true);
    upmu_sim_switch_cpu(&f.sim, 0);
    assert_int_equal(upmu_session_shuffle(&f.session, false, 0), UPMU_OK);
    two_sets(&f);
    begin(&f);
    host_work(&f, 0, 5000);
    host_work(&f, 0, 500); /* the interrupt is late */
    assert_int_equal(f.session.state, UPMU_SESSION_WAITING);
    assert_int_equal(f.ticks_asked, 1);
    tick(&f);
    assert_int_equal(active(&f), 1);
    assert_int_equal(f.session.state, UPMU_SESSION_RUNNING);
    tear_down(&f);
}

static void a_set_without_a_placement_waits_for_the_next_call(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake");
    two_sets(&f);
    assert_int_equal(upmu_session_attach_cpu(&f.session, &f.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&f.session), UPMU_OK);
    host_work(&f, 0, 6000);
    assert_int_equal(active(&f), 1);
    assert_int_equal(f.session.state, UPMU_SESSION_WAITING);
    assert_int_equal(f.ticks_asked, 1);
    tick(&f);
    assert_int_equal(active(&f), 1);
    assert_int_equal(f.session.state, UPMU_SESSION_RUNNING);
    assert_int_equal(raw(&f.session.set, 0), PERIOD);
    assert_int_equal(raw(&f.sets[1], 0), 0);
    /* From then on it has one. */
    host_work(&f, 0, 5000);
    assert_int_equal(active(&f), 0);
    host_work(&f, 0, 5000);
    assert_int_equal(active(&f), 1);
    assert_int_equal(f.ticks_asked, 1);
    tear_down(&f);
}

/* A session that comes takes the counter of the set that does not run, or leaves it free. */
static void company_that_takes_a_counter_makes_placements_void(void **state)
{
    (void)state;
    for (unsigned taken = 0; taken < 2; taken++) {
        struct host f;
        struct upmu_count count;
        char list[] = "branches:k:counter=0,branches";

        set_up(&f, "skylake");
        two_sets(&f);
        begin(&f);
        list[19] = (char)('0' + (f.sets[1].tally[0].counter + !taken) % 4);
        assert_int_equal(upmu_set_add(&f.other.set, list, NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&f.other, &f.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_session_start(&f.other), UPMU_OK);
        host_work(&f, 0, 5000);
        assert_int_equal(active(&f), 1);
        assert_int_equal(f.session.state, taken ? UPMU_SESSION_WAITING : UPMU_SESSION_RUNNING);
        assert_int_equal(f.ticks_asked, taken);
        tick(&f);
        host_work(&f, 0, 5000);
        tick(&f);
        /* Both sets are placed beside it now. */
        assert_int_equal(active(&f), 0);
        assert_int_equal(f.session.state, UPMU_SESSION_RUNNING);
        f.ticks_asked = 0;
        for (unsigned k = 0; k < 6; k++) {
            host_work(&f, 0, 5000);
            assert_int_equal(active(&f), !(k & 1u), k);
        }
        assert_int_equal(f.ticks_asked, 0);
        /* Sessions that none of that concerned. */
        assert_int_equal(upmu_set_read(&f.other.set, 1, 1, &count), UPMU_OK);
        assert_int_equal(count.raw, 8 * PERIOD);
        assert_int_equal(count.quality, UPMU_QUALITY_EXACT);
        tear_down(&f);
    }
}

/*
 * A set that needs a register beside its counter has a place that is good on an empty CPU.  Two sharing sessions ran
 * there meanwhile, one after the other.
 * Catches: sessions that have left, still counted among what runs.
 */
static void company_that_has_left_makes_no_placement_void(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake");
    fill(&f, 0, "branches", 1, NULL, UPMU_SET_OVERFLOW_SWITCH, 0);
    fill(&f, 1, "branches", 1, "r01b7:offcore_rsp=0x10001", UPMU_SET_OVERFLOW_SWITCH, 0);
    assert_int_equal(upmu_session_ring(&f.session, f.ring, sizeof f.ring), UPMU_OK);
    begin(&f);
    assert_int_equal(upmu_session_stop(&f.session), UPMU_OK);
    for (unsigned i = 1; i < 3; i++) {
        assert_int_equal(upmu_set_add(&f.sessions[i].set, "branches,cache-references,cache-misses,bus-cycles", NULL),
                         UPMU_OK, i);
        assert_int_equal(upmu_session_share(&f.sessions[i], true), UPMU_OK, i);
        host_begin(&f, &f.sessions[i]);
    }
    assert_int_equal(f.sessions[2].state, UPMU_SESSION_WAITING);
    tick(&f);
    assert_int_equal(f.sessions[1].state, UPMU_SESSION_WAITING);
    for (unsigned i = 1; i < 3; i++)
        assert_int_equal(upmu_session_detach(&f.sessions[i]), UPMU_OK, i);
    assert_int_equal(upmu_session_start(&f.session), UPMU_OK);
    host_work(&f, 0, 5000);
    assert_int_equal(active(&f), 1);
    assert_int_equal(f.session.state, UPMU_SESSION_RUNNING);
    assert_int_equal(f.ticks_asked, 0);
    tear_down(&f);
}

static void a_handler_that_changes_sets_asks_for_a_tick_if_one_waits(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "core2");
    two_sets(&f);
    begin(&f);
    /* Two counters, and set 0 has one: there is no room for two more. */
    assert_int_equal(upmu_session_share(&f.other, true), UPMU_OK);
    assert_int_equal(upmu_set_add(&f.other.set, "branch-misses,cache-references", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&f.other, &f.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&f.other), UPMU_OK);
    assert_int_equal(f.other.state, UPMU_SESSION_WAITING);
    host_work(&f, 0, 5000);
    assert_int_equal(active(&f), 1);
    assert_int_equal(f.session.state, UPMU_SESSION_RUNNING);
    assert_int_equal(f.ticks_asked, 1);
    tick(&f);
    assert_int_equal(active(&f), 1);
    tear_down(&f);
}

/* Where selects are gates, the handler has closed a counter that both sets want the same of: it is opened again. */
static void what_a_handler_has_closed_does_not_run_on(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "k8_revf");
    fill(&f, 0, "branches", 1, "instructions", UPMU_SET_OVERFLOW_SWITCH, 0);
    fill(&f, 1, "branches", 1, "instructions", UPMU_SET_OVERFLOW_SWITCH, 0);
    assert_int_equal(upmu_session_ring(&f.session, f.ring, sizeof f.ring), UPMU_OK);
    begin(&f);
    /* Two of four counters are free. */
    assert_int_equal(upmu_session_share(&f.other, true), UPMU_OK);
    assert_int_equal(upmu_set_add(&f.other.set, "branch-misses,cache-references,cycles", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&f.other, &f.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&f.other), UPMU_OK);
    assert_int_equal(f.other.state, UPMU_SESSION_WAITING);
    assert_int_equal(f.session.set.tally[1].counter, f.sets[1].tally[1].counter);
    host_work(&f, 0, 5000);
    assert_int_equal(f.ticks_asked, 1);
    tick(&f);
    assert_int_equal(active(&f), 1);
    host_work(&f, 0, 500);
    assert_int_equal(raw(&f.sets[1], 1), 500);
    tear_down(&f);
}

/* The select of counter 1 changes while that stands still. */
static unsigned selects;

static void look_at_the_select(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                               uint32_t address)
{
    (void)number;
    if (kind != UPMU_SIM_WRMSR || address != 0x187)
        return;
    selects++;
    assert_false(upmu_sim_runs(sim, cpu, 1));
}

/*
 * A session of a thread waits for counters 0 and 1.  In a call the handler finds that the set on counter 0 is over.  At
 * the end of the call the next set comes on counter 2: counter 1, which the handler has stopped, too, runs again.  Then
 * its session, which shares, leaves it to the session that waits.
 * Catches: a counter taken for stopped because a handler stopped it before something else was opened.
 */
static void what_runs_again_since_the_handler_is_closed_before_a_change(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake");
    fill(&f, 0, "branches:counter=0", 1, NULL, UPMU_SET_OVERFLOW_SWITCH, 0);
    fill(&f, 1, "branches:counter=2", 1, NULL, UPMU_SET_OVERFLOW_SWITCH, 0);
    assert_int_equal(upmu_session_ring(&f.session, f.ring, sizeof f.ring), UPMU_OK);
    begin(&f);
    assert_int_equal(upmu_session_share(&f.other, true), UPMU_OK);
    host_add(&f, 1, "branches:counter=1", 100 * PERIOD);
    host_begin(&f, &f.other);
    assert_int_equal(upmu_set_add(&f.sessions[2].set, "branch-misses:counter=0", NULL), UPMU_OK);
    assert_int_equal(upmu_set_add(&f.sessions[2].set, "branch-misses:counter=1", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&f.sessions[2], &f.threads[0], &f.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&f.sessions[2]), UPMU_OK);
    assert_int_equal(f.sessions[2].state, UPMU_SESSION_WAITING);
    upmu_test_begin_call(&f.cpu[0]);
    host_work(&f, 0, 5000);
    upmu_test_end_call(&f.cpu[0]);
    assert_int_equal(active(&f), 0);
    selects = 0;
    f.sim.before_access = look_at_the_select;
    assert_int_equal(upmu_cpu_poll(&f.cpu[0]), UPMU_OK);
    f.sim.before_access = NULL;
    assert_int_equal(active(&f), 1);
    assert_int_equal(f.other.state, UPMU_SESSION_WAITING);
    assert_int_equal(f.sessions[2].state, UPMU_SESSION_RUNNING);
    assert_int_equal(selects, 1);
    assert_int_equal(upmu_session_detach(&f.sessions[2]), UPMU_OK);
    assert_int_equal(upmu_thread_exit(&f.threads[0]), UPMU_OK);
    tear_down(&f);
}

static void a_chain_of_one_gives_way_to_itself(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROTOCOLS; p++) {
        struct host f;
        struct upmu_set_info info;

        set_up(&f, protocols[p]);
        fill(&f, 0, "branches", 2, "instructions", UPMU_SET_OVERFLOW_SWITCH, 0);
        begin(&f);
        upmu_set_ask(&f.session.set, &info);
        assert_int_equal(info.runs, 2);
        for (unsigned k = 0; k < 6; k++)
            host_work(&f, 0, 5000);
        host_work(&f, 0, 500);
        upmu_set_ask(&f.session.set, &info);
        if (info.runs != 5)
            fail_msg("%s: %u runs", protocols[p], (unsigned)info.runs);
        assert_int_equal(f.ticks_asked, 0);
        assert_int_equal(raw(&f.session.set, 0), 6 * PERIOD + 100);
        assert_int_equal(raw(&f.session.set, 1), 6 * 5 * PERIOD + 500);
        tear_down(&f);
    }
}

static void timed_sets_take_turns_with_those_by_overflow(void **state)
{
    struct host f;
    struct upmu_set_info info;

    (void)state;
    set_up(&f, "skylake");
    fill(&f, 0, "branches", 1, NULL, UPMU_SET_OVERFLOW_SWITCH, 0);
    fill(&f, 1, "branch-misses", 0, "cache-references", UPMU_SET_TIME_SWITCH, 10000);
    fill(&f, 2, "instructions", 0, NULL, UPMU_SET_TIME_SWITCH, 10000);
    begin(&f);
    for (unsigned k = 0; k < 4; k++) {
        assert_int_equal(active(&f), 0);
        upmu_sim_advance_ns(&f.sim, 50000);
        tick(&f);
        assert_int_equal(active(&f), 0);
        host_work(&f, 0, 5000);
        assert_int_equal(active(&f), 1);
        /* Its time begins with the handler. */
        upmu_sim_advance_ns(&f.sim, 9000);
        tick(&f);
        assert_int_equal(active(&f), 1);
        upmu_sim_advance_ns(&f.sim, 1000);
        tick(&f);
        assert_int_equal(active(&f), 2);
        upmu_sim_advance_ns(&f.sim, 10000);
        tick(&f);
    }
    assert_int_equal(f.ticks_asked, 0);
    upmu_set_ask(&f.sets[1], &info);
    assert_true(info.duration_ns >= 40000 && info.duration_ns < 45000);
    tear_down(&f);
}

static void a_threads_sets_are_changed_and_stay_with_it(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake");
    two_sets(&f);
    assert_int_equal(upmu_session_attach_thread(&f.session, &f.threads[0], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&f.session), UPMU_OK);
    assert_int_equal(upmu_thread_switch(&f.cpu[0], &f.threads[1], &f.threads[0]), UPMU_OK);
    go_round(&f);
    host_work(&f, 0, 5000);
    assert_int_equal(active(&f), 1);
    host_work(&f, 0, 2000);
    assert_int_equal(upmu_thread_switch(&f.cpu[0], &f.threads[0], &f.threads[1]), UPMU_OK);
    host_work(&f, 0, 9000);
    assert_int_equal(active(&f), 1);
    assert_int_equal(upmu_thread_switch(&f.cpu[0], &f.threads[1], &f.threads[0]), UPMU_OK);
    host_work(&f, 0, 2900);
    assert_int_equal(active(&f), 1);
    host_work(&f, 0, 100);
    assert_int_equal(active(&f), 0);
    assert_int_equal(f.ticks_asked, 0);
    assert_int_equal(raw(&f.sets[1], 0), PERIOD);
    assert_int_equal(upmu_thread_switch(&f.cpu[0], &f.threads[0], &f.threads[1]), UPMU_OK);
    assert_int_equal(upmu_thread_exit(&f.threads[0]), UPMU_OK);
    tear_down(&f);
}

/*
 * What is stopped between an overflow and its interrupt has run until the stop, not until the overflow was found a
 * moment later: its count is exact.  Catches an end of a run that is taken after the end of the enabled time.
 */
static void a_set_stopped_before_the_interrupt_ran_while_enabled_alone(void **state)
{
    (void)state;
    for (unsigned p = 0; p < 2 * PROTOCOLS; p++) {
        struct host f;
        struct upmu_count count;

        set_up(&f, protocols[p / 2]);
        upmu_sim_set_delivery(&f.sim, 0, 0x40);
        upmu_sim_irqs(&f.sim, true);
        two_sets(&f);
        if (p % 2)
            assert_int_equal(upmu_session_attach_cpu(&f.session, &f.cpu[0]), UPMU_OK);
        else
            assert_int_equal(upmu_session_attach_thread(&f.session, &f.threads[0], &f.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_session_start(&f.session), UPMU_OK);
        upmu_sim_irqs(&f.sim, false);
        host_work(&f, 0, 5000);
        if (p % 2)
            assert_int_equal(upmu_session_stop(&f.session), UPMU_OK);
        else
            assert_int_equal(upmu_thread_switch(&f.cpu[0], &f.threads[0], &f.threads[1]), UPMU_OK);
        upmu_sim_irqs(&f.sim, true);
        assert_int_equal(upmu_set_read(&f.session.set, 0, 1, &count), UPMU_OK);
        assert_int_equal(count.value, PERIOD);
        if (count.quality != UPMU_QUALITY_EXACT || count.running_ns != count.enabled_ns)
            fail_msg("%s: quality %u, %u ns of %u", protocols[p / 2], count.quality, (unsigned)count.running_ns,
                     (unsigned)count.enabled_ns);
        tear_down(&f);
    }
}

/*
 * A thread that left between an overflow and its interrupt returns with its next set, also where there is no room
 * for the old one any more.  A session of the CPU that was stopped then starts so, too.
 * Catches a wish for another set that waits until the old one has run.
 */
static void a_session_that_left_before_the_interrupt_has_its_next_set(void **state)
{
    (void)state;
    for (unsigned stops = 0; stops < 2; stops++) {
        struct host f;

        set_up(&f, "skylake");
        upmu_sim_set_delivery(&f.sim, 0, 0x40);
        upmu_sim_irqs(&f.sim, true);
        fill(&f, 0, "branches:counter=0", 1, NULL, UPMU_SET_OVERFLOW_SWITCH, 0);
        fill(&f, 1, "branches:counter=1", 1, NULL, UPMU_SET_OVERFLOW_SWITCH, 0);
        assert_int_equal(upmu_session_ring(&f.session, f.ring, sizeof f.ring), UPMU_OK);
        assert_int_equal(stops ? upmu_session_attach_cpu(&f.session, &f.cpu[0])
                               : upmu_session_attach_thread(&f.session, &f.threads[0], &f.cpu[0]),
                         UPMU_OK);
        assert_int_equal(upmu_session_start(&f.session), UPMU_OK);
        upmu_sim_irqs(&f.sim, false);
        host_work(&f, 0, 5000);
        assert_int_equal(stops ? upmu_session_stop(&f.session)
                               : upmu_thread_switch(&f.cpu[0], &f.threads[0], &f.threads[1]),
                         UPMU_OK);
        upmu_sim_irqs(&f.sim, true);
        assert_int_equal(active(&f), 0);
        assert_int_equal(upmu_set_add(&f.other.set, "cycles:counter=0", NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&f.other, &f.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_session_start(&f.other), UPMU_OK);
        assert_int_equal(stops ? upmu_session_start(&f.session)
                               : upmu_thread_switch(&f.cpu[0], &f.threads[1], &f.threads[0]),
                         UPMU_OK);
        assert_int_equal(active(&f), 1);
        assert_int_equal(f.session.state, UPMU_SESSION_RUNNING);
        host_work(&f, 0, 500);
        assert_int_equal(raw(&f.sets[1], 0), 100);
        assert_int_equal(raw(&f.session.set, 0), PERIOD);
        if (!stops)
            assert_int_equal(upmu_thread_switch(&f.cpu[0], &f.threads[0], &f.threads[1]), UPMU_OK);
        tear_down(&f);
    }
}

/*
 * A session that shares was displaced between an overflow and its interrupt, and its next set is due.  A poll masks the
 * session that displaced it: the same call lets it run, and then its next set.
 * Catches: the end of a call that looks once at what it has to do.
 */
static void a_set_due_while_its_session_waited_comes_in_one_call(void **state)
{
    struct host f;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_session_share(&f.session, true), UPMU_OK);
    fill(&f, 0, "branches:counter=0", 1, NULL, UPMU_SET_OVERFLOW_SWITCH, 0);
    fill(&f, 1, "branches:counter=1", 1, NULL, UPMU_SET_OVERFLOW_SWITCH, 0);
    assert_int_equal(upmu_session_ring(&f.session, f.ring, sizeof f.ring), UPMU_OK);
    begin(&f);
    host_add(&f, 1, "branches:counter=0", PERIOD);
    assert_int_equal(upmu_session_ring(&f.other, f.rings[1], 256), UPMU_OK);
    upmu_session_mask_on_full(&f.other, true);
    f.sim.cpu[0].lvtpc |= UPMU_SIM_LVTPC_MASKED; /* by other software */
    host_work(&f, 0, 5000);
    host_begin(&f, &f.other);
    assert_int_equal(active(&f), 0);
    assert_int_equal(f.session.state, UPMU_SESSION_WAITING);
    for (unsigned i = 0; i < 20 && f.other.state == UPMU_SESSION_RUNNING; i++) {
        f.sim.cpu[0].lvtpc |= UPMU_SIM_LVTPC_MASKED;
        f.other.set.tally[0].throttled = true;
        host_work(&f, 0, 5000);
        assert_int_equal(upmu_cpu_poll(&f.cpu[0]), UPMU_OK);
    }
    assert_int_equal(f.other.state, UPMU_SESSION_MASKED);
    assert_int_equal(f.session.state, UPMU_SESSION_RUNNING);
    assert_int_equal(active(&f), 1);
    assert_null(upmu_test_left_over(&f.cpu[0]));
    tear_down(&f);
}

static void shuffled_sets_run_once_in_each_round(void **state)
{
    struct host f;
    struct upmu_set_info info;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_session_shuffle(&f.session, true, 7), UPMU_OK);
    for (unsigned i = 0; i < SETS; i++)
        fill(&f, i, "branches", 1, NULL, UPMU_SET_OVERFLOW_SWITCH, 0);
    assert_int_equal(upmu_session_attach_cpu(&f.session, &f.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&f.session), UPMU_OK);
    for (unsigned round = 1; round <= 8; round++) {
        for (unsigned i = 0; i < SETS; i++) {
            upmu_set_ask(i ? &f.sets[i] : &f.session.set, &info);
            assert_int_equal(info.runs, round - !info.active);
        }
        f.ticks_asked = 0;
        /* The first of the round runs already; the last one draws a new round. */
        for (unsigned k = 0; k < SETS; k++) {
            host_work(&f, 0, 5000);
            if (round < 2)
                tick(&f);
        }
        if (round >= 2)
            assert_int_equal(f.ticks_asked, 0);
    }
    tear_down(&f);
}

/* ---- What has precedence, what goes wrong ---- */

static void a_full_ring_masks_the_set_before_it_gives_way(void **state)
{
    struct host f;
    struct upmu_sample sample;
    unsigned n = 0;

    (void)state;
    set_up(&f, "skylake");
    two_sets(&f);
    assert_int_equal(upmu_session_ring(&f.session, f.ring, 256), UPMU_OK);
    upmu_session_mask_on_full(&f.session, true);
    begin(&f);
    while (f.session.state == UPMU_SESSION_RUNNING && n < 100) {
        host_work(&f, 0, 5000);
        n++;
    }
    assert_true(n > 2 && n < 100, n);
    /* The last overflow masked it: the set is the one that overflowed. */
    assert_int_equal(active(&f), !(n & 1u), n);
    tick(&f);
    assert_int_equal(f.session.state, UPMU_SESSION_MASKED);
    assert_int_equal(active(&f), !(n & 1u), n);
    while (upmu_ring_next(&f.session.ring, &sample))
        ;
    assert_int_equal(upmu_session_restart(&f.session), UPMU_OK);
    assert_int_equal(active(&f), n & 1u, n);
    assert_int_equal(f.session.state, UPMU_SESSION_RUNNING);
    tear_down(&f);
}

static void a_record_and_a_message_are_of_the_set_that_overflowed(void **state)
{
    struct host f;
    struct upmu_sampling sampling = {.period = PERIOD, .switch_after = 1, .flags = UPMU_SAMPLING_NOTIFY};
    struct upmu_message kept[4], message;
    struct upmu_queue queue;
    uint32_t count = 0;

    (void)state;
    set_up(&f, "skylake");
    fill(&f, 0, "branches", 1, "instructions", UPMU_SET_OVERFLOW_SWITCH, 0);
    assert_int_equal(upmu_session_add_set(&f.session, &f.sets[1], 9, UPMU_SET_OVERFLOW_SWITCH, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&f.sets[1], "branches", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_messages(&f.session, &queue, kept, 4, 0, NULL), UPMU_OK);
    begin(&f);
    host_work(&f, 0, 5000);
    assert_int_equal(active(&f), 9);
    assert_int_equal(upmu_queue_waiting(&queue), 0);
    host_work(&f, 0, 5000);
    assert_int_equal(upmu_queue_read(&queue, &message, 1, &count), UPMU_OK);
    assert_int_equal(count, 1);
    assert_int_equal(message.set, 9);
    assert_int_equal(message.events, 1);
    /* It masks the session until it is restarted, with the next set. */
    assert_int_equal(active(&f), 9);
    tick(&f);
    assert_int_equal(f.session.state, UPMU_SESSION_MASKED);
    assert_int_equal(upmu_session_restart(&f.session), UPMU_OK);
    assert_int_equal(active(&f), 0);
    host_work(&f, 0, 2500);
    assert_int_equal(raw(&f.session.set, 0), PERIOD + PERIOD / 2);
    tear_down(&f);
}

static void a_fault_stops_the_session_or_the_set_is_changed(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROTOCOLS; p++) {
        unsigned stopped = 0, left = 0, done = 0;

        for (unsigned at = 1; at < 30; at++) {
            struct upmu_test_state now;
            struct host f;
            uint64_t counted;

            set_up(&f, protocols[p]);
            two_sets(&f);
            begin(&f);
            host_work(&f, 0, 4900);
            f.sim.fault_at = f.sim.accesses + at;
            f.sim.fault_until = f.sim.fault_at + 1;
            host_work(&f, 0, 300);
            f.sim.fault_at = 0;
            if (f.session.state == UPMU_SESSION_STOPPED) {
                stopped++;
                assert_int_equal(f.session.error, UPMU_ERR_PORT);
                upmu_test_state(&f.cpu[0], &now);
                assert_int_equal(now.running, 0);
            } else if (active(&f) == 0) {
                left++;
            } else {
                done++;
            }
            tick(&f);
            if (f.session.state == UPMU_SESSION_STOPPED)
                assert_int_equal(upmu_session_start(&f.session), UPMU_OK);
            assert_int_equal(f.session.state, UPMU_SESSION_RUNNING);
            /* It goes on, and what was counted is not lost. */
            counted = raw(&f.session.set, 0) + raw(&f.sets[1], 0);
            assert_in_range(counted, PERIOD, PERIOD + 40, p, at);
            host_work(&f, 0, 20000);
            tick(&f);
            host_work(&f, 0, 5000);
            assert_compare(raw(&f.session.set, 0) + raw(&f.sets[1], 0), >=, counted + 2 * PERIOD);
            tear_down(&f);
        }
        if (!stopped || left || !done)
            fail_msg("%s: %u stopped, %u left, %u done", protocols[p], stopped, left, done);
    }
}

/* ---- A verification that is interrupted ---- */

static struct host *disturbed; /* a set's end comes before each access */
static unsigned disturbed_for;  /* so many times */

static void end_the_set(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)sim;
    (void)cpu;
    (void)number;
    (void)kind;
    (void)address;
    if (disturbed_for) {
        disturbed_for--;
        host_work(disturbed, 0, 5 * PERIOD);
    }
}

/*
 * Before each access of a verification a set ends, for as long as it looks or for a shorter time: it answers that it
 * was disturbed, or finds nothing, and ends before that does.
 * Catches: what the library's own handlers have closed in the last of all attempts taken for a change by something
 * else.
 */
static void handlers_that_come_again_and_again_are_no_difference(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROTOCOLS; p++) {
        unsigned outlived = 0;

        for (unsigned times = 1; times < 1000; times += 1 + times / 4) {
            struct host f;
            struct upmu_why why;
            enum upmu_status status;

            set_up(&f, protocols[p]);
            two_sets(&f);
            begin(&f);
            disturbed = &f;
            disturbed_for = times;
            f.sim.before_access = end_the_set;
            status = upmu_cpu_verify(&f.cpu[0], &why);
            f.sim.before_access = NULL;
            outlived += disturbed_for > 0 && f.cpu[0].interrupts > 0;
            if (status != UPMU_OK && status != UPMU_ERR_BUSY)
                fail_msg("%s, %u sets end: %s, register %x", protocols[p], times, upmu_status_text(status),
                         (unsigned)why.address);
            assert_int_equal(upmu_cpu_verify(&f.cpu[0], &why), UPMU_OK);
            assert_int_equal(f.session.state, UPMU_SESSION_RUNNING);
            tear_down(&f);
        }
        assert_compare(outlived, >, 0);
    }
}

static void two_events_that_end_a_set_in_one_interrupt_end_it_once(void **state)
{
    static struct host host;
    struct upmu_sampling sampling = {.period = 1000, .switch_after = 1};

    (void)state;
    host_set_up(&host, "skylake");
    host.sim.skid = 40;
    assert_int_equal(upmu_session_shuffle(&host.session, false, 0), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&host.session, NULL, 0, UPMU_SET_OVERFLOW_SWITCH, 0), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&host.session, &host.sets[1], 1, UPMU_SET_OVERFLOW_SWITCH, 0), UPMU_OK);
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_set *set = i ? &host.sets[1] : &host.session.set;

        assert_int_equal(upmu_set_add(set, "instructions", &sampling), UPMU_OK);
        sampling.period = 500;
        assert_int_equal(upmu_set_add(set, "branches", &sampling), UPMU_OK);
        sampling.period = 1000;
    }
    assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
    host_begin(&host, &host.session);
    for (unsigned i = 0; i < 2; i++) /* each has its place */
        assert_int_equal(upmu_session_switch(&host.session, NULL), UPMU_OK);
    for (unsigned i = 0; i < 6; i++) {
        unsigned done = 0;

        assert_int_equal(host.session.active->number, i % 2, i);
        for (; host.session.active->number == i % 2 && done < 3000; done += 10)
            host_run(&host, 10);
        assert_in_range(done, 1000, 1100); /* the interrupt is late */
    }
    host_end(&host);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_handler_changes_sets_on_every_protocol),
        cmocka_unit_test(a_set_without_a_placement_waits_for_the_next_call),
        cmocka_unit_test(a_set_that_has_to_be_claimed_waits_for_the_next_call),
        cmocka_unit_test(company_that_takes_a_counter_makes_placements_void),
        cmocka_unit_test(company_that_has_left_makes_no_placement_void),
        cmocka_unit_test(a_handler_that_changes_sets_asks_for_a_tick_if_one_waits),
        cmocka_unit_test(what_a_handler_has_closed_does_not_run_on),
        cmocka_unit_test(what_runs_again_since_the_handler_is_closed_before_a_change),
        cmocka_unit_test(a_chain_of_one_gives_way_to_itself),
        cmocka_unit_test(timed_sets_take_turns_with_those_by_overflow),
        cmocka_unit_test(a_threads_sets_are_changed_and_stay_with_it),
        cmocka_unit_test(a_set_due_while_its_session_waited_comes_in_one_call),
        cmocka_unit_test(a_session_that_left_before_the_interrupt_has_its_next_set),
        cmocka_unit_test(a_set_stopped_before_the_interrupt_ran_while_enabled_alone),
        cmocka_unit_test(shuffled_sets_run_once_in_each_round),
        cmocka_unit_test(a_full_ring_masks_the_set_before_it_gives_way),
        cmocka_unit_test(a_record_and_a_message_are_of_the_set_that_overflowed),
        cmocka_unit_test(a_fault_stops_the_session_or_the_set_is_changed),
        cmocka_unit_test(handlers_that_come_again_and_again_are_no_difference),
        cmocka_unit_test(two_events_that_end_a_set_in_one_interrupt_end_it_once),
    };

    return cmocka_run_group_tests_name("sets_by_overflow", tests, NULL, NULL);
}
