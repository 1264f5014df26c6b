/* SPDX-License-Identifier: MIT */
/*
 * What seldom happens to sessions: calls that meet what another call holds, more sessions than one plan takes,
 * faults where a sweep takes a share of the accesses, numbers that go round.
 */
#include "tests/common/host.h"
#include "tests/common/pointers.h"
#include <upmu/format.h>

#define MANY 14

static struct host host;
static struct upmu_session many[MANY];

static void tick(void)
{
    assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
}

/* ---- What is held elsewhere ---- */

static void what_another_call_holds_is_not_detached(void **state)
{
    (void)state;
    host_set_up_two(&host, "skylake");
    host_threads(&host, 3);
    host_add(&host, 0, "instructions", 0);
    assert_int_equal(upmu_session_attach_thread(&host.sessions[0], &host.threads[2], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.sessions[0]), UPMU_OK);
    host_thread_switch(&host, 0, 2);
    host_work(&host, 0, 100);
    host.sessions[0].held = 1; /* as inside a call on another CPU */
    assert_int_equal(upmu_session_detach(&host.sessions[0]), UPMU_ERR_BUSY);
    assert_ptr_equal(host.threads[2].sessions, &host.sessions[0]);
    assert_int_equal(host.threads[2].held, 0);
    host.sessions[0].held = 0;
    assert_int_equal(upmu_session_detach(&host.sessions[0]), UPMU_OK);
    assert_int_equal(host_value(&host.sessions[0], 0), 100);
    assert_null(host.threads[2].sessions);
}

static void a_list_that_is_held_takes_no_session(void **state)
{
    (void)state;
    host_set_up_two(&host, "skylake");
    host_threads(&host, 3);
    host_add(&host, 0, "instructions", 0);
    host.threads[2].held = 1; /* as inside a call on another CPU */
    assert_int_equal(upmu_session_attach_thread(&host.sessions[0], &host.threads[2], NULL), UPMU_ERR_BUSY);
    assert_int_equal(upmu_session_attach_thread(&host.sessions[0], &host.threads[2], &host.cpu[0]), UPMU_ERR_BUSY);
    assert_null(host.threads[2].sessions);
    assert_int_equal(host.cpu[0].meter.busy, 0);
    host.threads[2].held = 0;
    assert_int_equal(upmu_session_attach_thread(&host.sessions[0], &host.threads[2], NULL), UPMU_OK);
    assert_int_equal(upmu_session_detach(&host.sessions[0]), UPMU_OK);
}

/* One of two that a call held when their thread came is still held at the next tick: it joins with a later one. */
static void a_session_that_stays_held_joins_with_a_later_tick(void **state)
{
    (void)state;
    host_set_up_two(&host, "skylake");
    host_threads(&host, 3);
    for (unsigned i = 0; i < 2; i++) {
        host_add(&host, i, "instructions", 0);
        assert_int_equal(upmu_session_attach_thread(&host.sessions[i], &host.threads[2], NULL), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK);
        host.sessions[i].held = 1;
    }
    host_thread_switch(&host, 0, 2);
    host.sessions[1].held = 0;
    for (unsigned i = 0; i < 3; i++) {
        host_work(&host, 0, 100);
        if (i == 2)
            host.sessions[0].held = 0;
        tick();
        assert_int_equal(host.sessions[0].state, i < 2 ? UPMU_SESSION_WAITING : UPMU_SESSION_RUNNING);
        assert_int_equal(host.sessions[1].state, UPMU_SESSION_RUNNING);
    }
    host_work(&host, 0, 100);
    assert_int_equal(host_value(&host.sessions[0], 0), 100);
    assert_int_equal(host_value(&host.sessions[1], 0), 300);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(upmu_session_detach(&host.sessions[i]), UPMU_OK);
}

/*
 * The first event of one CPU and the first of another have one tag: what comes from elsewhere is tagged anew, even
 * where it comes with a tick.
 */
static void a_session_that_comes_with_a_tick_is_tagged_on_its_new_cpu(void **state)
{
    (void)state;
    host_set_up_two(&host, "skylake");
    host_threads(&host, 3); /* 1 and 2 are what the CPUs run */
    host_add(&host, 0, "branches", 0);
    host_add(&host, 1, "branches", 0);
    assert_int_equal(upmu_session_attach_thread(&host.sessions[0], &host.threads[0], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.sessions[0]), UPMU_OK);
    host_thread_switch(&host, 0, 0);
    host_work(&host, 0, 1000);
    host_thread_switch(&host, 0, 1);
    host_attach(&host, 1, 1);
    assert_int_equal(upmu_session_start(&host.sessions[1]), UPMU_OK);
    host_work(&host, 1, 5000);
    assert_int_equal(upmu_session_stop(&host.sessions[1]), UPMU_OK);
    host.sessions[0].held = 1; /* as inside a call on another CPU */
    host_thread_switch(&host, 1, 0);
    host.sessions[0].held = 0;
    assert_int_equal(upmu_cpu_tick(&host.cpu[1]), UPMU_OK);
    assert_int_equal(host.sessions[0].state, UPMU_SESSION_RUNNING);
    host_work(&host, 1, 100);
    assert_int_equal(host_value(&host.sessions[0], 0), 220);
    host_thread_switch(&host, 1, 2);
    assert_int_equal(host_value(&host.sessions[0], 0), 220);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(upmu_session_detach(&host.sessions[i]), UPMU_OK);
}

/* ---- Many at once ---- */

/* Eight general counters and four fixed ones: each a session, which shares or not. */
static void prepare_many(unsigned first_fixed, bool shares)
{
    static const char *const fixed[] = {"instructions", "cycles", "ref-cycles"};

    host_set_up_two(&host, "sapphirerapids");
    host_threads(&host, 4);
    for (unsigned i = 0; i < MANY; i++) {
        const char *name = i - first_fixed < 3 ? fixed[i - first_fixed] : "branches";

        assert_int_equal(upmu_session_init(&many[i], &host.machine), UPMU_OK);
        assert_int_equal(upmu_session_add(&many[i], name, NULL), UPMU_OK);
        if (shares)
            assert_int_equal(upmu_session_share(&many[i], true), UPMU_OK);
    }
}

/* More than one plan can take off share the CPU: those that have run longest leave first, wherever they stand. */
static void more_sharers_than_a_plan_takes_have_their_turns(void **state)
{
    (void)state;
    for (unsigned first = 0; first <= 8; first += 4) {
        unsigned ran[MANY] = {0}, least = 1000, most = 0, many_ran = 0;

        prepare_many(first, true);
        for (unsigned i = 0; i < MANY; i++) {
            assert_int_equal(upmu_session_attach_cpu(&many[i], &host.cpu[0]), UPMU_OK);
            assert_int_equal(upmu_session_start(&many[i]), UPMU_OK);
        }
        for (unsigned n = 0; n < 120; n++) {
            unsigned running = 0;

            host_work(&host, 0, 1000);
            tick();
            for (unsigned i = 0; i < MANY; i++) {
                ran[i] += many[i].state == UPMU_SESSION_RUNNING;
                running += many[i].state == UPMU_SESSION_RUNNING;
            }
            assert_true(running >= 8 && running <= 11);
            many_ran += running > 8;
        }
        for (unsigned i = 0; i < MANY; i++) {
            least = ran[i] < least ? ran[i] : least;
            most = ran[i] > most ? ran[i] : most;
            assert_int_equal(upmu_session_close(&many[i]), UPMU_OK);
        }
        assert_true(least >= 40 && most <= 120 && many_ran > 100);
        host_end(&host);
    }
}

/* A thread with more sessions than one plan takes comes and leaves: each counts while it runs, and only then. */
static void a_thread_leaves_with_more_sessions_than_a_plan_takes(void **state)
{
    (void)state;
    prepare_many(0, false);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(upmu_session_attach_thread(&many[i], &host.threads[2], NULL), UPMU_OK);
        assert_int_equal(upmu_session_start(&many[i]), UPMU_OK);
    }
    host_thread_switch(&host, 0, 3);
    host_thread_switch(&host, 0, 2); /* (only searches in vain are limited) */
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 10; i++)
            assert_int_equal(many[i].state, UPMU_SESSION_RUNNING);
        host_work(&host, 0, 1000);
        host_thread_switch(&host, 0, 3);
        host_work(&host, 0, 500);
        for (unsigned i = 0; i < 10; i++)
            assert_int_equal(many[i].state, UPMU_SESSION_WAITING);
        host_thread_switch(&host, 0, 2);
    }
    for (unsigned i = 3; i < 10; i++) {
        assert_int_equal(host_value(&many[i], 0), 600);
        assert_int_equal(upmu_session_close(&many[i]), UPMU_OK);
    }
}

/* A session of the thread needs the counters that its sharing ones have just got: those wait, and are asked no more. */
static void sharers_that_one_of_their_own_thread_displaces_wait(void **state)
{
    (void)state;
    for (unsigned order = 0; order < 2; order++) {
        host_set_up_two(&host, "skylake");
        host_threads(&host, 3);
        host_add(&host, 0, "branches", 0);
        host_add(&host, 1, "branches:u,branch-misses:u,cache-references:u,cache-misses:u", 0);
        assert_int_equal(upmu_session_share(&host.sessions[0], true), UPMU_OK);
        if (order) {
            assert_int_equal(upmu_session_attach_thread(&host.sessions[1], &host.threads[2], NULL), UPMU_OK);
        }
        assert_int_equal(upmu_session_attach_thread(&host.sessions[0], &host.threads[2], NULL), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.sessions[0]), UPMU_OK);
        host_thread_switch(&host, 0, 2);
        host_thread_switch(&host, 0, 0);
        if (!order)
            assert_int_equal(upmu_session_attach_thread(&host.sessions[1], &host.threads[2], NULL), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.sessions[1]), UPMU_OK);
        for (unsigned round = 0; round < 2; round++) {
            host_thread_switch(&host, 0, 2);
            assert_int_equal(host.sessions[1].state, UPMU_SESSION_RUNNING);
            assert_int_equal(host.sessions[0].state, UPMU_SESSION_WAITING);
            host_work(&host, 0, 1000);
            host_thread_switch(&host, 0, 0);
        }
        assert_int_equal(host_value(&host.sessions[1], 0), 400);
        assert_int_equal(host_count(&host.sessions[1], 0).quality, UPMU_QUALITY_EXACT);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(upmu_session_detach(&host.sessions[i]), UPMU_OK);
    }
}

/* ---- Overflows ---- */

static void two_events_that_end_a_set_in_one_interrupt_end_it_once(void **state)
{
    struct upmu_sampling sampling = {.period = 1000, .switch_after = 1};

    (void)state;
    host_set_up(&host, "skylake");
    host.sim.skid = 40;
    assert_int_equal(upmu_session_shuffle(&host.session, false, 0), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&host.session, NULL, 0, UPMU_SET_OVERFLOW_SWITCH, 0), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&host.session, &host.sets[1], 1, UPMU_SET_OVERFLOW_SWITCH, 0), UPMU_OK);
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_set *set = i ? &host.sets[1] : &host.session.set;

        assert_int_equal(upmu_set_add(&host.session, set, "instructions", &sampling), UPMU_OK);
        sampling.period = 500;
        assert_int_equal(upmu_set_add(&host.session, set, "branches", &sampling), UPMU_OK);
        sampling.period = 1000;
    }
    assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
    host_begin(&host, &host.session);
    for (unsigned i = 0; i < 2; i++) /* each has its place */
        assert_int_equal(upmu_session_switch(&host.session, NULL), UPMU_OK);
    for (unsigned i = 0; i < 6; i++) {
        unsigned done = 0;

        assert_int_equal(host.session.active->number, i % 2);
        for (; host.session.active->number == i % 2 && done < 3000; done += 10)
            host_run(&host, 10);
        assert_in_range(done, 1000, 1100); /* (the interrupt is late) */
    }
    host_end(&host);
}

/* Each access of an interrupt whose sample has the counts of other events faults. */
static void a_sample_of_other_events_survives_a_fault(void **state)
{
    struct upmu_sampling sampling = {.period = 100, .values = 3, .resets = 0};

    (void)state;
    for (unsigned resets = 0; resets < 2; resets++)
        for (unsigned at = 1; at < 12; at++) {
            struct upmu_count count;

            host_set_up(&host, "skylake");
            assert_int_equal(upmu_session_add(&host.session, "branches,instructions", NULL), UPMU_OK);
            sampling.resets = resets ? 1 : 0;
            assert_int_equal(upmu_session_add(&host.session, "cycles", &sampling), UPMU_OK);
            assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
            host_begin(&host, &host.session);
            host.sim.fault_at = host.sim.accesses + at;
            host_run(&host, 60);
            host.sim.fault_at = 0;
            host_run(&host, 60);
            if (host.session.state == UPMU_SESSION_STOPPED)
                assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
            host_run(&host, 60);
            /* What was told is not more than there was, and what is exact is all. */
            assert_int_equal(upmu_session_read(&host.session, 1, 1, &count), UPMU_OK);
            assert_true(count.raw <= 180);
            if (count.quality == UPMU_QUALITY_EXACT)
                assert_int_equal(count.raw, 180);
            host_end(&host);
        }
}

static unsigned mask_at_once(void *state, const struct upmu_overflow *overflow, bool nmi)
{
    (void)state;
    (void)overflow;
    (void)nmi;
    return UPMU_OVERFLOW_MASK;
}

/*
 * One interrupt is to mask more sessions than a plan takes, and the registers are lost before the next call.
 * Catches: a session that is masked by the start over alone, and to which its CPU points when it has ended.
 */
static void a_session_that_a_start_over_masks_is_forgotten(void **state)
{
    static const char *const events[] = {"instructions", "cycles",   "ref-cycles", "branches", "branches",
                                         "branches",     "branches", "branches",   "branches"};
    static const struct upmu_format masking = {.name = "masks", .overflow = mask_at_once};
    struct upmu_sampling sampling = {.period = 100};
    const struct memory cpu = {"CPU", &host.cpu[0], sizeof host.cpu[0]}, sessions = {"sessions", many, sizeof many};
    unsigned running = 0;

    (void)state;
    host_set_up_two(&host, "sapphirerapids");
    for (unsigned i = 0; i < 9; i++) {
        assert_int_equal(upmu_session_init(&many[i], &host.machine), UPMU_OK);
        assert_int_equal(upmu_session_add(&many[i], events[i], &sampling), UPMU_OK);
        assert_int_equal(upmu_session_format(&many[i], &masking, NULL, 0), UPMU_OK);
        host_begin(&host, &many[i]);
    }
    host.sim.deliver = NULL; /* their interrupt is late */
    host_work(&host, 0, 1000);
    upmu_sim_irqs(&host.sim, false);
    assert_int_equal(upmu_handle_pmi(&host.cpu[0], NULL), UPMU_PMI_HANDLED);
    upmu_sim_irqs(&host.sim, true);
    for (unsigned i = 0; i < 9; i++)
        running += many[i].state == UPMU_SESSION_RUNNING;
    assert_int_equal(running, 1);
    assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK);
    for (unsigned i = 0; i < 9; i++) {
        assert_int_equal(many[i].state, UPMU_SESSION_MASKED);
        assert_int_equal(upmu_session_close(&many[i]), UPMU_OK);
    }
    memory_forgotten("masked by a start over", &cpu, 1, &sessions);
    host_end(&host);
}

/* ---- Faults ---- */

static struct upmu_port real;
static unsigned refusals; /* so many of the next writes fault */

static bool refuse_writes(void *context, uint32_t address, uint64_t value)
{
    if (!refusals)
        return real.wrmsr(context, address, value);
    refusals--;
    return false;
}

/*
 * The write that closes a gate faults, and the next one does not.
 * Catches: a stop that gives up at the first fault.
 */
static void a_gate_whose_close_faults_once_is_closed(void **state)
{
    static const char *const profiles[] = {"skylake", "zen4", "k8_revf", "version1", "northwood_smtoff"};

    (void)state;
    for (unsigned i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        host_prepare(&host, profiles[i]);
        real = host.sim.port;
        host.sim.port.wrmsr = refuse_writes;
        host_start(&host);
        assert_int_equal(upmu_session_add(&host.session, "branches", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 100);
        refusals = 1;
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(refusals, 0);
        host_run(&host, 100);
        assert_int_equal(host_value(&host.session, 0), 50);
        assert_int_equal(host_count(&host.session, 0).quality, UPMU_QUALITY_EXACT);
        host_end(&host);
    }
}

static void a_sleep_that_faults_is_told_and_the_cpu_sleeps(void **state)
{
    static const char *const profiles[] = {"skylake", "zen2"};

    (void)state;
    for (unsigned p = 0; p < 2; p++) {
        unsigned told = 0;

        for (unsigned at = 1; at < 40; at++) {
            static struct upmu_ibs_sample samples[16];
            struct upmu_ibs fetch = {.kind = UPMU_IBS_FETCH, .period = 1600, .samples = samples, .capacity = 16};
            enum upmu_status status;

            host_prepare(&host, profiles[p]);
            host.sim.cpu[0].amd.ibs[0xa] = 0x101;
            host_start(&host);
            host_add(&host, 0, "instructions", 0);
            host_begin(&host, &host.session);
            if (p)
                assert_int_equal(upmu_ibs_start(&host.cpu[0], &fetch), UPMU_OK);
            host_run(&host, 100);
            host.sim.fault_at = host.sim.accesses + at;
            host.sim.fault_until = host.sim.fault_at + 3;
            status = upmu_cpu_suspend(&host.cpu[0]);
            host.sim.fault_at = 0;
            assert_true(status == UPMU_OK || status == UPMU_ERR_PORT);
            told += status == UPMU_ERR_PORT;
            assert_int_equal(host.cpu[0].meter.live, 0);
            assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
            assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        }
        assert_true(told >= 3);
    }
}

/* ---- Registers that threads of a core share ---- */

/* A counter that the firmware had running is given to the host, and is given back stopped: it stays so at the end. */
static void a_shared_counter_back_stopped_does_not_run_at_the_end(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 8; way++) {
        uint64_t left = way & 1 ? 0x3c000 : 0; /* without its enable bit, or nothing */
        unsigned cpu = way >> 1 & 1;
        bool taken = way & 4;

        host_prepare(&host, "prescott");
        upmu_sim_poke(&host.sim, 0, 0x3a2, 0x2600020c);
        upmu_sim_poke(&host.sim, 0, 0x360, 0x3d000);
        assert_true(upmu_sim_runs(&host.sim, 0, 0));
        host_machine(&host);
        host_take_over(&host, 2, true);
        upmu_sim_switch_cpu(&host.sim, cpu);
        assert_int_equal(upmu_cpu_owner(&host.cpu[cpu], 0), UPMU_OWNER_FIRMWARE);
        if (taken)
            upmu_cpu_take_firmware(&host.cpu[cpu]);
        assert_int_equal(upmu_cpu_reserve(&host.cpu[cpu], 1), UPMU_OK);
        upmu_sim_poke(&host.sim, 0, 0x360, left);
        upmu_cpu_unreserve(&host.cpu[cpu], 1);
        for (unsigned i = 0; i < 2; i++) {
            upmu_sim_switch_cpu(&host.sim, i);
            assert_int_equal(upmu_cpu_fini(&host.cpu[i]), UPMU_OK);
        }
        if (upmu_sim_runs(&host.sim, 0, 0))
            fail_msg("CPU %u, %x%s: it runs", cpu, (unsigned)left, taken ? ", taken" : "");
    }
}

/* ---- Numbers ---- */

/*
 * What a transaction that is rolled back takes away again is not nearly 2^48 events, of a raw word as of a name.
 * Catches: a raw word of an event whose count can fall taken for one whose count cannot.
 */
static void a_count_that_falls_is_none(void **state)
{
    /* It falls below where it began, then to where it was more; each time from where its thread left it, or not. */
    static const unsigned counted[2][3] = {{0, 95, 90}, {0, 100, 100}};
    struct upmu_sampling often = {.period = 100000};
    struct upmu_event event;

    (void)state;
    for (unsigned follows = 0; follows < 2; follows++) {
        uint64_t value;

        host_set_up_two(&host, "haswell_smt");
        host_threads(&host, 3);
        assert_int_equal(upmu_event_raw(host.cpu[0].meter.pmu, UINT64_C(0x3004300c4), 0, 0, &event), UPMU_OK);
        assert_int_equal(event.counters, 4);
        assert_int_equal(upmu_session_add_event(&host.session, &event, &often), UPMU_ERR_INVALID);
        assert_int_equal(upmu_session_add_event(&host.session, &event, NULL), UPMU_OK);
        if (follows)
            assert_int_equal(upmu_session_attach_thread(&host.session, &host.threads[2], NULL), UPMU_OK);
        else
            host_attach(&host, 0, 0);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        for (unsigned i = 0; i < 3; i++) {
            if (follows)
                host_thread_switch(&host, 0, 2);
            value = host.sim.cpu[0].counter[2].value;
            upmu_sim_poke(&host.sim, 0, 0xc3, i == 1 ? value + 100 : value - 5);
            assert_int_equal(host_value(&host.session, 0), counted[follows][i]);
            if (follows)
                host_thread_switch(&host, 0, 0);
        }
        assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    }
}

static void a_pmu_is_found_by_its_number(void **state)
{
    (void)state;
    host_prepare(&host, "skylake");
    host_machine(&host);
    assert_null(upmu_machine_pmu(&host.machine, 0)); /* before a CPU was seen */
    host_take_over(&host, 2, false);
    assert_ptr_equal(upmu_machine_pmu(&host.machine, 0), host.cpu[1].meter.pmu);
    for (unsigned index = 1; index < 300; index++)
        assert_null(upmu_machine_pmu(&host.machine, index));
}

/* 0 is the tag of no event: a counter is never thought to hold the value of one that was never there. */
static void tags_go_round_without_0(void **state)
{
    (void)state;
    for (unsigned left = 0; left < 4; left++) {
        host_set_up(&host, "skylake");
        host.cpu[0].meter.next_tag = UINT32_MAX - left;
        host_add(&host, 0, "branches,instructions,cycles", 0);
        host_begin(&host, &host.session);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(host.session.set.tally[i].tag, i < left ? UINT32_MAX - left + 1 + i : i - left + 1);
        host_run(&host, 100);
        assert_int_equal(host_value(&host.session, 1), 100);
        host_end(&host);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_another_call_holds_is_not_detached),
        cmocka_unit_test(a_list_that_is_held_takes_no_session),
        cmocka_unit_test(a_session_that_stays_held_joins_with_a_later_tick),
        cmocka_unit_test(a_session_that_comes_with_a_tick_is_tagged_on_its_new_cpu),
        cmocka_unit_test(more_sharers_than_a_plan_takes_have_their_turns),
        cmocka_unit_test(a_thread_leaves_with_more_sessions_than_a_plan_takes),
        cmocka_unit_test(sharers_that_one_of_their_own_thread_displaces_wait),
        cmocka_unit_test(two_events_that_end_a_set_in_one_interrupt_end_it_once),
        cmocka_unit_test(a_sample_of_other_events_survives_a_fault),
        cmocka_unit_test(a_session_that_a_start_over_masks_is_forgotten),
        cmocka_unit_test(a_gate_whose_close_faults_once_is_closed),
        cmocka_unit_test(a_sleep_that_faults_is_told_and_the_cpu_sleeps),
        cmocka_unit_test(a_shared_counter_back_stopped_does_not_run_at_the_end),
        cmocka_unit_test(a_count_that_falls_is_none),
        cmocka_unit_test(a_pmu_is_found_by_its_number),
        cmocka_unit_test(tags_go_round_without_0),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
