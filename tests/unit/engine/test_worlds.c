/* SPDX-License-Identifier: MIT */
/*
 * Worlds: host and guests counted apart, on many PMUs.
 */
#include <stdio.h>
#include <upmu/format.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/world.h>

#include "tests/common/host.h"

/* `each`: each counter has an enable bit of its own. */
static const struct profile {
    const char *name;
    bool each;
} profiles[] = {
    {"skylake", false}, {"core2", false},   {"icelake", false},  {"sapphirerapids", false},
    {"zen4", false},    {"zen2", true},     {"k8_revf", true},   {"yonah", true},
    {"p6", true},       {"version1", true}, {"northwood", true}, {"nehalem", false},
};
#define PROFILES (sizeof profiles / sizeof profiles[0])

static struct host f;

static void enter(void)
{
    assert_int_equal(upmu_cpu_enter_guest(&f.cpu[0]), UPMU_OK);
}

static void leave(void)
{
    assert_int_equal(upmu_cpu_leave_guest(&f.cpu[0]), UPMU_OK);
}

/* Session i of a world, attached. */
static void attach(unsigned i, enum upmu_world world, const char *list, uint64_t period)
{
    assert_int_equal(upmu_session_world(&f.sessions[i], world), UPMU_OK, i);
    host_add(&f, i, list, period);
    host_attach(&f, i, 0);
}

static void start(unsigned i)
{
    assert_int_equal(upmu_session_start(&f.sessions[i]), UPMU_OK, i);
}

static void counts(unsigned i, uint64_t value)
{
    struct upmu_count count = host_count(&f.sessions[i], 0);

    if (count.raw != value || count.quality != UPMU_QUALITY_EXACT)
        fail_msg("%s: session %u has %llu, of quality %u, instead of %llu", f.sim.profile->name, i,
                 (unsigned long long)count.raw, (unsigned)count.quality, (unsigned long long)value);
}

/* Does a running counter of session i count although this is the world, or (BOTH: never)? */
static bool counts_in(unsigned i, enum upmu_world world)
{
    const struct upmu_session *session = &f.sessions[i];

    for (unsigned n = 0; world != UPMU_WORLD_BOTH && session->state == UPMU_SESSION_RUNNING && n < 32; n++)
        if ((session->counters >> n & 1u) && upmu_sim_runs(&f.sim, 0, n))
            return true;
    return false;
}

/* 1,000 instructions in guests and 2,000 in the host, in ten entries. */
static void cross_ten_times(void)
{
    for (unsigned i = 0; i < 10; i++) {
        host_run(&f, 100);
        enter();
        host_run(&f, 100);
        leave();
        host_run(&f, 100);
    }
}

static void host_and_guest_are_counted_apart(void **state)
{
    (void)state;
    for (const struct profile *p = profiles; p < profiles + PROFILES; p++) {
        host_set_up(&f, p->name);
        attach(0, UPMU_WORLD_HOST, "instructions", 0);
        attach(1, UPMU_WORLD_GUEST, "branches", 0);
        start(0);
        start(1);
        cross_ten_times();
        counts(0, 2000);
        counts(1, 500);
        host_end(&f);
    }
}

/* One write for all counters or one for each; none where no session of a world runs. */
static void an_entry_is_one_write(void **state)
{
    (void)state;
    for (const struct profile *p = profiles; p < profiles + PROFILES; p++) {
        host_set_up(&f, p->name);
        host_forget_cost(&f);
        enter();
        leave();
        host_costs(&f, "nothing runs", 0, 0);
        attach(0, UPMU_WORLD_HOST, "instructions", 0);
        attach(1, UPMU_WORLD_GUEST, "branches", 0);
        host_forget_cost(&f);
        enter();
        leave();
        host_costs(&f, "nothing is started", 0, 0);
        start(0);
        start(1);
        enter();
        leave(); /* the first entry writes the guest's select, which the start has put off */
        host_forget_cost(&f);
        enter();
        host_costs(&f, "entry", p->each ? 2 : 1, 0);
        enter();
        host_costs(&f, "in the guest already", 0, 0);
        leave();
        host_costs(&f, "exit", p->each ? 2 : 1, 0);
        leave();
        host_costs(&f, "in the host already", 0, 0);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(upmu_session_stop(&f.sessions[i]), UPMU_OK, i);
        host_forget_cost(&f);
        enter();
        leave();
        host_costs(&f, "nothing is started any more", 0, 0);
        host_end(&f);
    }
}

/* Where no write succeeds, no counter counts the other world: the sessions stop, and those of both worlds run on. */
static void sessions_that_cannot_change_their_world_stop(void **state)
{
    (void)state;
    for (const struct profile *p = profiles; p < profiles + PROFILES; p++)
        for (unsigned guest = 0; guest < 2; guest++) {
            host_set_up(&f, p->name);
            f.sim.expect_faults = true;
            f.sim.rule[UPMU_SIM_RULE_CHECK_P4_SIBLING] = 0;
            attach(0, UPMU_WORLD_HOST, "instructions", 0);
            attach(1, UPMU_WORLD_GUEST, "branches", 100);
            start(0);
            start(1);
            host_run(&f, 100);
            if (guest)
                enter();
            f.sim.fault_at = f.sim.accesses + 1;
            f.sim.fault_until = f.sim.fault_at + 5;
            assert_int_equal(guest ? upmu_cpu_leave_guest(&f.cpu[0]) : upmu_cpu_enter_guest(&f.cpu[0]), UPMU_ERR_PORT);
            f.sim.fault_at = f.sim.fault_until = 0;
            for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(f.sessions[i].state, UPMU_SESSION_STOPPED, i);
                assert_int_equal(f.sessions[i].error, UPMU_ERR_PORT, i);
            }
            host_forget_cost(&f);
            guest ? enter() : leave();
            host_costs(&f, "nothing runs", 0, 0);
            /* Both sessions count in their worlds again. */
            start(0);
            start(1);
            if (!guest)
                enter();
            host_run(&f, 1000);
            assert_int_equal(host_count(&f.sessions[1], 0).raw, 500);
            assert_int_equal(host_count(&f.sessions[0], 0).raw, 100);
            leave();
            host_end(&f);
        }
}

/* ---- What runs ---- */

/* Sampled in guests, whatever the interrupt's delay: none is lost, none comes twice, and nothing else is counted. */
static void samples_are_of_the_guest_alone(void **state)
{
    (void)state;
    for (const struct profile *p = profiles; p < profiles + PROFILES; p++)
        for (unsigned skid = 0; skid < 24; skid += 3) {
            host_prepare(&f, p->name);
            f.sim.skid = skid;
            host_start(&f);
            attach(0, UPMU_WORLD_HOST, "cycles", 0);
            attach(1, UPMU_WORLD_GUEST, "instructions", 100);
            start(0);
            start(1);
            for (unsigned i = 0; i < 50; i++) {
                host_run(&f, 40);
                enter();
                host_run(&f, 70);
                leave();
            }
            host_run(&f, 40);
            counts(0, 51 * 80);
            counts(1, 3500);
            assert_int_equal(upmu_session_stop(&f.sessions[1]), UPMU_OK);
            if (f.sessions[1].set.tally[0].overflows != 35 || f.sessions[1].set.tally[0].lost)
                fail_msg("%s: %u samples with a delay of %u", p->name, f.sessions[1].set.tally[0].overflows, skid);
            assert_int_equal(f.answered[UPMU_PMI_NOT_OURS], 0);
            host_end(&f);
        }
}

/* Sessions of two guests' threads, switched by the host and, once, while a guest runs. */
static void threads_switch_in_both_worlds(void **state)
{
    (void)state;
    for (const struct profile *p = profiles; p < profiles + PROFILES; p++) {
        host_set_up(&f, p->name);
        host_threads(&f, 3);
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(upmu_session_world(&f.sessions[i], UPMU_WORLD_GUEST), UPMU_OK, i);
            host_add(&f, i, "branches", i ? 0 : 90);
            assert_int_equal(upmu_session_attach_thread(&f.sessions[i], &f.threads[i], NULL), UPMU_OK, i);
            start(i);
        }
        attach(2, UPMU_WORLD_HOST, "instructions", 0);
        start(2);
        for (unsigned i = 0; i < 20; i++) {
            host_thread_switch(&f, 0, i % 2);
            host_run(&f, 10);
            enter();
            host_run(&f, 100);
            if (i == 10) {
                host_thread_switch(&f, 0, 1);
                host_run(&f, 60);
            }
            leave();
            host_run(&f, 10);
        }
        host_thread_switch(&f, 0, 2);
        enter();
        host_run(&f, 1000);
        leave();
        counts(0, 500);
        counts(1, 530);
        counts(2, 400);
        assert_int_equal(f.sessions[0].set.tally[0].overflows, 5);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(upmu_session_close(&f.sessions[i]), UPMU_OK, i);
        host_end(&f);
    }
}

/* A guest's thread goes to a CPU that has not seen a session of a world yet. */
static void a_thread_of_a_guest_migrates(void **state)
{
    static const char *const names[] = {"skylake", "zen4", "zen2"};

    (void)state;
    for (unsigned n = 0; n < sizeof names / sizeof names[0]; n++) {
        host_set_up_two(&f, names[n]);
        host_threads(&f, 3);
        assert_int_equal(upmu_session_world(&f.sessions[0], UPMU_WORLD_GUEST), UPMU_OK);
        host_add(&f, 0, "branches", 0);
        assert_int_equal(upmu_session_attach_thread(&f.sessions[0], &f.threads[0], NULL), UPMU_OK);
        start(0);
        for (unsigned i = 0; i < 4; i++) {
            unsigned cpu = i / 2;

            upmu_sim_switch_cpu(&f.sim, cpu);
            host_thread_switch(&f, cpu, 0);
            host_run(&f, 1000);
            assert_int_equal(upmu_cpu_enter_guest(&f.cpu[cpu]), UPMU_OK, cpu);
            host_run(&f, 100);
            assert_int_equal(upmu_cpu_leave_guest(&f.cpu[cpu]), UPMU_OK, cpu);
            host_run(&f, 1000);
            host_thread_switch(&f, cpu, 1 + cpu);
        }
        counts(0, 200);
        assert_int_equal(upmu_session_close(&f.sessions[0]), UPMU_OK);
        upmu_sim_switch_cpu(&f.sim, 0);
        host_end(&f);
    }
}

/* The second of three alternates with the others' counters closed: a switch costs no more than without worlds. */
static void a_switch_between_guests_moves_no_gate(void **state)
{
    static const char *const names[] = {"skylake", "zen4", "zen2", "core2"};

    (void)state;
    for (unsigned n = 0; n < sizeof names / sizeof names[0]; n++) {
        host_set_up(&f, names[n]);
        host_threads(&f, 3);
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(upmu_session_world(&f.sessions[i], UPMU_WORLD_GUEST), UPMU_OK, i);
            host_add(&f, i, i ? "branches" : "branches:u", 0);
            assert_int_equal(upmu_session_attach_thread(&f.sessions[i], &f.threads[i], NULL), UPMU_OK, i);
            start(i);
        }
        for (unsigned i = 0; i < 6; i++) {
            if (i > 3)
                host_forget_cost(&f);
            host_thread_switch(&f, 0, i % 2);
            if (i > 3)
                host_costs(&f, "one select changes", n != 2, 2); /* a select that is a gate is written when it opens */
            enter();
            host_run(&f, 100);
            leave();
        }
        counts(1, 150);
        host_thread_switch(&f, 0, 2);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(upmu_session_close(&f.sessions[i]), UPMU_OK, i);
        host_end(&f);
    }
}

/* Two sets, each until its overflow; the interrupt comes late, when the guest has been left. */
static void sets_switch_by_overflows_of_guests(void **state)
{
    static const char *const names[] = {"skylake", "zen4", "zen2", "k8_revf"};
    struct upmu_sampling sampling = {.period = 50, .switch_after = 1};
    struct upmu_session *session = &f.sessions[0];

    (void)state;
    for (unsigned n = 0; n < sizeof names / sizeof names[0]; n++)
        for (unsigned skid = 0; skid < 20; skid += 2) {
            uint64_t counted = 0;

            host_prepare(&f, names[n]);
            f.sim.skid = skid;
            f.sim.port.request_tick = host_ask_tick;
            host_start(&f);
            assert_int_equal(upmu_session_world(session, UPMU_WORLD_GUEST), UPMU_OK);
            assert_int_equal(upmu_session_shuffle(session, false, 0), UPMU_OK);
            for (unsigned i = 0; i < 2; i++) {
                struct upmu_set *set = i ? &f.sets[0] : &session->set;

                assert_int_equal(
                    upmu_session_add_set(session, i ? set : NULL, (uint16_t)i, UPMU_SET_OVERFLOW_SWITCH, 0),
                    UPMU_OK, i);
                assert_int_equal(upmu_set_add(set, i ? "branches" : "branches,cycles", &sampling), UPMU_OK, i);
            }
            attach(1, UPMU_WORLD_HOST, "instructions", 0);
            host_attach(&f, 0, 0);
            start(1);
            start(0);
            for (unsigned i = 0; i < 40; i++) {
                host_run(&f, 100);
                if (counts_in(0, UPMU_WORLD_HOST))
                    fail_msg("%s: a counter of guests runs in the host (delay %u)", names[n], skid);
                enter();
                host_run(&f, 60);
                if (counts_in(1, UPMU_WORLD_GUEST))
                    fail_msg("%s: a counter of the host runs in a guest (delay %u)", names[n], skid);
                leave();
                if (f.ticks_asked) {
                    f.ticks_asked = 0;
                    assert_int_equal(upmu_cpu_tick(&f.cpu[0]), UPMU_OK);
                }
            }
            counts(1, 4000);
            assert_int_equal(upmu_session_stop(session), UPMU_OK);
            for (unsigned i = 0; i < 2; i++) {
                struct upmu_count count;

                assert_int_equal(upmu_set_read(i ? &f.sets[0] : &session->set, 0, 1, &count), UPMU_OK, i);
                counted += count.raw;
            }
            assert_true(counted <= 40 * 30 && counted >= 40 * 30 / 2);
            assert_true(session->set.runs > 5 && f.sets[0].runs > 5);
            host_end(&f);
        }
}

/* Nine sessions share the counters; ticks come in both worlds. */
static void sharing_sessions_stay_in_their_worlds(void **state)
{
    static const char *const names[] = {"skylake", "k8_revf", "core2"};
    static const char *const lists[] = {"branches,cache-references", "branches:u,cache-misses",
                                        "branches,branch-misses"};

    (void)state;
    for (unsigned n = 0; n < sizeof names / sizeof names[0]; n++) {
        host_set_up(&f, names[n]);
        for (unsigned i = 0; i < 6; i++) {
            assert_int_equal(upmu_session_share(&f.sessions[i], true), UPMU_OK, i);
            attach(i, (enum upmu_world)(i % 3), lists[i / 2], 0);
            start(i);
        }
        for (unsigned i = 0; i < 200; i++) {
            host_run(&f, 100);
            if (i % 3 == 0)
                assert_int_equal(upmu_cpu_tick(&f.cpu[0]), UPMU_OK);
            enter();
            for (unsigned j = 0; j < 6; j++)
                if (j % 3 && counts_in(j, j % 3 == 1 ? UPMU_WORLD_GUEST : UPMU_WORLD_BOTH))
                    fail_msg("%s: a host's session counts in a guest", names[n]);
            host_run(&f, 100);
            if (i % 3 == 1)
                assert_int_equal(upmu_cpu_tick(&f.cpu[0]), UPMU_OK);
            leave();
            for (unsigned j = 0; j < 6; j++)
                if (j % 3 == 2 && counts_in(j, UPMU_WORLD_HOST))
                    fail_msg("%s: a guest's session counts in the host", names[n]);
        }
        for (unsigned i = 0; i < 6; i++) {
            struct upmu_count count = host_count(&f.sessions[i], 0);

            if (i / 2 != 1) /* the model runs no program, so that branches:u stay 0 */
                assert_true(count.raw > 0 && count.raw <= (i % 3 ? 200 * 50 : 400 * 50), i);
            assert_compare(count.running_ns, <, count.enabled_ns);
        }
        host_end(&f);
    }
}

/* Sleep, changes behind the library's back, checks and moves, in a guest. */
static void the_life_of_a_cpu_goes_on_in_a_guest(void **state)
{
    (void)state;
    for (const struct profile *p = profiles; p < profiles + PROFILES; p++) {
        host_set_up(&f, p->name);
        attach(0, UPMU_WORLD_HOST, "instructions", 0);
        attach(1, UPMU_WORLD_GUEST, "branches", 0);
        start(0);
        start(1);
        assert_int_equal(upmu_cpu_verify(&f.cpu[0], NULL), UPMU_OK);
        host_run(&f, 100);
        enter();
        assert_int_equal(upmu_cpu_verify(&f.cpu[0], NULL), UPMU_OK);
        host_run(&f, 100);
        assert_int_equal(upmu_cpu_suspend(&f.cpu[0]), UPMU_OK);
        host_run(&f, 1000);
        leave();
        enter();
        assert_int_equal(upmu_cpu_resume(&f.cpu[0]), UPMU_OK);
        host_run(&f, 100);
        leave();
        host_run(&f, 100);
        counts(0, 200);
        counts(1, 100);
        enter();
        assert_int_equal(upmu_cpu_poll(&f.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_cpu_changed(&f.cpu[0]), UPMU_OK);
        host_run(&f, 100);
        assert_int_equal(upmu_cpu_poll(&f.cpu[0]), UPMU_OK);
        leave();
        host_run(&f, 100);
        assert_int_equal(host_count(&f.sessions[0], 0).raw, 300);
        assert_int_equal(host_count(&f.sessions[1], 0).raw, 150);
        enter();
        host_end(&f);
    }
}

/* A stopped session goes to another CPU, which is in a guest. */
static void a_session_goes_to_a_cpu_in_a_guest(void **state)
{
    (void)state;
    host_set_up_two(&f, "skylake");
    attach(0, UPMU_WORLD_GUEST, "instructions", 0);
    attach(1, UPMU_WORLD_HOST, "branches", 0);
    start(0);
    start(1);
    enter();
    host_run(&f, 100);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(upmu_session_detach(&f.sessions[i]), UPMU_OK, i);
    leave();
    upmu_sim_switch_cpu(&f.sim, 1);
    assert_int_equal(upmu_cpu_enter_guest(&f.cpu[1]), UPMU_OK);
    assert_int_equal(upmu_cpu_enter_guest(&f.cpu[0]), UPMU_ERR_WRONG_CPU);
    for (unsigned i = 0; i < 2; i++) {
        host_attach(&f, i, 1);
        start(i);
    }
    host_run(&f, 50);
    counts(0, 150);
    counts(1, 0);
    assert_int_equal(upmu_cpu_leave_guest(&f.cpu[1]), UPMU_OK);
    host_run(&f, 50);
    counts(0, 150);
    counts(1, 25);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(upmu_session_detach(&f.sessions[i]), UPMU_OK, i);
    host_end(&f);
}

/* A running event of the absent world moves to make room, and stays absent. */
static void an_absent_event_moves(void **state)
{
    static const char *const names[] = {"skylake", "zen2"};

    (void)state;
    for (unsigned n = 0; n < sizeof names / sizeof names[0]; n++) {
        char pinned[40];

        host_set_up(&f, names[n]);
        attach(0, UPMU_WORLD_GUEST, "branches", 0);
        start(0);
        enter();
        host_run(&f, 100);
        leave();
        snprintf(pinned, sizeof pinned, "instructions:counter=%u", f.sessions[0].set.tally[0].counter);
        attach(1, UPMU_WORLD_HOST, pinned, 0);
        start(1);
        assert_int_not_equal(f.sessions[0].set.tally[0].counter, f.sessions[1].set.tally[0].counter);
        host_run(&f, 100);
        enter();
        host_run(&f, 100);
        leave();
        host_run(&f, 100);
        assert_int_equal(host_count(&f.sessions[0], 0).raw, 100);
        counts(1, 200);
        host_end(&f);
    }
}

/* Counters that a static session has left running count for no session, until its thread runs again. */
static void static_sessions_have_worlds(void **state)
{
    static const char *const names[] = {"skylake", "zen2", "k8_revf"};

    (void)state;
    for (unsigned n = 0; n < sizeof names / sizeof names[0]; n++) {
        host_set_up(&f, names[n]);
        host_threads(&f, 2);
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(upmu_session_static(&f.sessions[i], true), UPMU_OK, i);
            assert_int_equal(upmu_session_world(&f.sessions[i], i ? UPMU_WORLD_HOST : UPMU_WORLD_GUEST), UPMU_OK, i);
            host_add(&f, i, i ? "instructions" : "branches", 0);
            assert_int_equal(upmu_session_attach_thread(&f.sessions[i], &f.threads[0], NULL), UPMU_OK, i);
            start(i);
        }
        for (unsigned i = 0; i < 6; i++) {
            host_thread_switch(&f, 0, 0);
            host_run(&f, 10);
            enter();
            host_run(&f, 100);
            if (i % 3)
                leave();
            host_thread_switch(&f, 0, 1);
            host_run(&f, 1000);
            if (!(i % 3))
                leave();
        }
        host_thread_switch(&f, 0, 0);
        host_run(&f, 10);
        counts(0, 300);
        counts(1, 70);
        host_thread_switch(&f, 0, 1);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(upmu_session_close(&f.sessions[i]), UPMU_OK, i);
        host_end(&f);
    }
}

/* A count is written, and a full ring masks the session, while its world is absent. */
static void absent_sessions_are_written_and_masked(void **state)
{
    (void)state;
    for (const struct profile *p = profiles; p < profiles + PROFILES; p++) {
        host_set_up(&f, p->name);
        attach(0, UPMU_WORLD_GUEST, "instructions", 100);
        upmu_session_mask_on_full(&f.sessions[0], true);
        start(0);
        enter();
        host_run(&f, 50);
        leave();
        assert_int_equal(upmu_set_write(&f.sessions[0].set, 0, 1000), UPMU_OK);
        host_run(&f, 500);
        enter();
        host_run(&f, 70);
        leave();
        counts(0, 1070);
        enter();
        for (unsigned i = 0; i < 200 && f.sessions[0].state == UPMU_SESSION_RUNNING; i++) {
            host_run(&f, 100);
            leave();
            host_run(&f, 10);
            enter();
        }
        assert_int_equal(f.sessions[0].state, UPMU_SESSION_MASKED);
        leave();
        assert_true(upmu_ring_next(&f.sessions[0].ring, &(struct upmu_sample){0}));
        assert_int_equal(upmu_session_restart(&f.sessions[0]), UPMU_OK);
        host_run(&f, 1000);
        assert_int_equal(f.sessions[0].state, UPMU_SESSION_RUNNING);
        host_end(&f);
    }
}

/* A program's counters stand still while the library works; those of an absent session are closed all the same. */
static void counters_of_user_mode_have_worlds(void **state)
{
    static const char *const names[] = {"k8_revf", "zen2"};

    (void)state;
    for (unsigned n = 0; n < sizeof names / sizeof names[0]; n++) {
        host_prepare(&f, names[n]);
        f.sim.port.in_kernel_mode = true;
        host_start(&f);
        host_threads(&f, 3);
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(upmu_session_world(&f.sessions[i], i ? UPMU_WORLD_GUEST : UPMU_WORLD_HOST), UPMU_OK, i);
            host_add(&f, i, i ? "branches:u" : "instructions:u", 0);
            assert_int_equal(upmu_session_attach_thread(&f.sessions[i], &f.threads[i], NULL), UPMU_OK, i);
            start(i);
        }
        for (unsigned i = 0; i < 10; i++) {
            struct upmu_sim_burst user = {.instructions = 100, .cycles = 200, .branches = 50, .user = true};

            host_thread_switch(&f, 0, i % 2);
            upmu_sim_events(&f.sim, &user);
            enter();
            upmu_sim_events(&f.sim, &user);
            leave();
            upmu_sim_events(&f.sim, &user);
        }
        counts(0, 1000);
        counts(1, 250);
        host_thread_switch(&f, 0, 2);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(upmu_session_close(&f.sessions[i]), UPMU_OK, i);
        host_end(&f);
    }
}

/* A counter of the host's own stays as the host sets it: the register is read before it is written. */
static void reserved_counters_are_in_both_worlds(void **state)
{
    (void)state;
    host_set_up(&f, "skylake");
    assert_int_equal(upmu_cpu_reserve(&f.cpu[0], 1), UPMU_OK);
    attach(0, UPMU_WORLD_GUEST, "branches", 0);
    start(0);
    upmu_sim_poke(&f.sim, 0, 0x38f, upmu_sim_peek(&f.sim, 0, 0x38f) | 1u);
    host_forget_cost(&f);
    enter();
    host_costs(&f, "entry", 1, 1);
    assert_int_equal(upmu_sim_peek(&f.sim, 0, 0x38f), 1u | 1u << f.sessions[0].set.tally[0].counter);
    leave();
    assert_int_equal(upmu_sim_peek(&f.sim, 0, 0x38f), 1);
    assert_int_equal(upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_HOST), 1);
    assert_int_equal(upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_GUEST), 1u | 1u << f.sessions[0].set.tally[0].counter);
    upmu_sim_poke(&f.sim, 0, 0x38f, 0);
    host_end(&f);
}

/* Intel 249199, N17: a counter that is closed soon after a carry into its upper half may lose it. */
static void no_carry_is_lost_at_an_exit(void **state)
{
    uint64_t expected = 0;

    (void)state;
    host_prepare(&f, "willamette");
    f.sim.rule[UPMU_SIM_RULE_HAZARD_P4_CARRY] = 1;
    host_start(&f);
    attach(0, UPMU_WORLD_GUEST, "instructions", 1000);
    attach(1, UPMU_WORLD_GUEST, "branches", 0);
    start(0);
    for (unsigned i = 1; i <= 20; i++) {
        enter();
        host_run(&f, 1000 + (i & 3u));
        leave();
        host_run(&f, 500);
    }
    assert_int_equal(upmu_session_stop(&f.sessions[0]), UPMU_OK);
    counts(0, 20000 + 5 * 6);
    assert_int_equal(f.sessions[0].set.tally[0].overflows, 20);
    assert_int_equal(f.sessions[0].set.tally[0].lost, 0);
    start(1);
    for (unsigned i = 0; i < 12; i++) {
        /* Every fourth time up to the carry, then a few beyond it. */
        uint64_t value = f.sim.cpu[0].counter[f.sessions[1].set.tally[0].counter].value;
        uint64_t branches = i % 4 == 1 ? UINT32_MAX - (uint32_t)value : 1 + i % 3;

        enter();
        host_run(&f, 2 * branches);
        leave();
        expected += branches;
        if (i % 4 != 2)
            counts(1, expected);
    }
    /* A stay of more events than the lower half holds, that ends soon after a carry. */
    uint64_t branches =
        UINT64_C(0x200000001) - (uint32_t)f.sim.cpu[0].counter[f.sessions[1].set.tally[0].counter].value;

    enter();
    host_run(&f, 2 * branches);
    leave();
    expected += branches;
    counts(1, expected);
    assert_int_equal(upmu_session_stop(&f.sessions[1]), UPMU_OK);
    counts(1, expected);
    host_end(&f);
}

static bool (*read_counter)(void *context, uint32_t index, uint64_t *out_value);
static bool interrupts; /* comes just after the next read */

static bool read_and_interrupt(void *context, uint32_t index, uint64_t *out_value)
{
    bool fine = read_counter(context, index, out_value);

    if (interrupts) {
        interrupts = false;
        assert_int_equal(upmu_pmi_handle(&f.cpu[0], NULL), UPMU_PMI_HANDLED);
    }
    return fine;
}

/* The handler loads a counter that an exit has just read: what was read counts no more. */
static void an_interrupt_within_an_exit_counts_once(void **state)
{
    (void)state;
    host_prepare(&f, "willamette");
    f.sim.skid = 100000;
    host_start(&f);
    read_counter = f.sim.port.rdpmc;
    f.sim.port.rdpmc = read_and_interrupt;
    attach(0, UPMU_WORLD_GUEST, "instructions", 1000);
    start(0);
    enter();
    host_run(&f, 1500);
    interrupts = true;
    leave();
    assert_false(interrupts);
    counts(0, 1500);
    assert_int_equal(upmu_session_stop(&f.sessions[0]), UPMU_OK);
    counts(0, 1500);
    assert_int_equal(f.sessions[0].set.tally[0].overflows, 1);
    host_end(&f);
}

/* A start that faults leaves no counter that a later entry opens. */
static void a_session_that_failed_is_in_no_world(void **state)
{
    unsigned failed = 0;

    (void)state;
    for (unsigned at = 1; at < 12; at++) {
        host_set_up(&f, "skylake");
        attach(0, UPMU_WORLD_GUEST, "branches", 0);
        enter();
        f.sim.expect_faults = true;
        f.sim.fault_at = f.sim.accesses + at;
        f.sim.fault_until = f.sim.fault_at + 3;
        failed += upmu_session_start(&f.sessions[0]) != UPMU_OK;
        f.sim.fault_at = f.sim.fault_until = 0;
        leave();
        enter();
        for (unsigned n = 0; n < 8; n++)
            assert_true(f.sessions[0].state == UPMU_SESSION_RUNNING || !upmu_sim_runs(&f.sim, 0, n), n);
        leave();
        host_end(&f);
    }
    assert_compare(failed, >, 0);
}

/* There counters are read at an exit: where one faults the crossing goes on, or what cannot be closed is stopped. */
static void a_fault_at_an_exit_counts_nothing_of_the_host(void **state)
{
    unsigned crossed = 0, at = 0;
    bool reached;

    (void)state;
    do {
        enum upmu_status status;

        host_set_up(&f, "willamette");
        attach(0, UPMU_WORLD_GUEST, "instructions", 1000);
        attach(1, UPMU_WORLD_GUEST, "branches", 0);
        start(0);
        start(1);
        enter();
        host_run(&f, 1010);
        f.sim.expect_faults = true;
        f.sim.fault_at = f.sim.accesses + ++at;
        status = upmu_cpu_leave_guest(&f.cpu[0]);
        reached = f.sim.faults != 0;
        f.sim.fault_at = 0;
        host_run(&f, 5000);
        assert_int_equal(host_value(&f.sessions[1], 0), 505);
        assert_int_equal(host_value(&f.sessions[0], 0), 1010);
        assert_true(status == UPMU_OK || status == UPMU_ERR_PORT);
        crossed += reached && status == UPMU_OK;
        host_end(&f);
    } while (reached);
    assert_compare(crossed, >, 2);
}

static bool (*write_register)(void *context, uint32_t msr, uint64_t value);
static bool late_and_faulting;

/* A late interrupt comes before the write, which faults. */
static bool interrupt_and_fault(void *context, uint32_t msr, uint64_t value)
{
    if (!late_and_faulting)
        return write_register(context, msr, value);
    late_and_faulting = false;
    assert_int_equal(upmu_pmi_handle(&f.cpu[0], NULL), UPMU_PMI_HANDLED);
    return false;
}

/* The handler has closed the counter before a write that does so faults: what is read then has its event no more. */
static void a_fault_beside_an_interrupt_in_an_exit_forgets_no_event(void **state)
{
    static const char *const some[] = {"yonah", "version1", "k8_revf", "zen2"};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        host_prepare(&f, some[i]);
        f.sim.skid = 100000;
        f.sim.expect_faults = true;
        write_register = f.sim.port.wrmsr;
        f.sim.port.wrmsr = interrupt_and_fault;
        host_start(&f);
        attach(0, UPMU_WORLD_GUEST, "instructions", 1000);
        start(0);
        enter();
        host_run(&f, 1500);
        late_and_faulting = true;
        leave();
        assert_false(late_and_faulting);
        host_run(&f, 100);
        enter();
        host_run(&f, 300);
        leave();
        counts(0, 1800);
        host_end(&f);
    }
}

/* ---- The hardware changes the gates ---- */

static void deliver_to_a_hypervisor(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    host_deliver(sim, cpu, interrupt);
    sim->cpu[0].gate_in_guest = upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_GUEST);
}

/* No access at an entry or an exit; counts are exact to the instruction, and an interrupt leaves the guest. */
static void the_hardware_moves_the_gates(void **state)
{
    static const char *const names[] = {"skylake", "core2", "icelake"};

    (void)state;
    for (unsigned n = 0; n < sizeof names / sizeof names[0]; n++) {
        struct upmu_sim_cpu *cpu = &f.sim.cpu[0];

        host_prepare(&f, names[n]);
        f.sim.deliver = deliver_to_a_hypervisor;
        host_start(&f);
        assert_int_equal(upmu_cpu_world_by_hardware(&f.cpu[0], true), UPMU_OK);
        attach(0, UPMU_WORLD_HOST, "instructions", 0);
        attach(1, UPMU_WORLD_GUEST, "branches", 30);
        attach(2, UPMU_WORLD_BOTH, "cycles", 0);
        for (unsigned i = 0; i < 3; i++)
            start(i);
        assert_int_equal(upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_HOST), upmu_sim_peek(&f.sim, 0, 0x38f));
        assert_int_equal(upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_BOTH), upmu_sim_peek(&f.sim, 0, 0x38f));
        cpu->loads_gate = true;
        for (unsigned i = 0; i < 20; i++) {
            struct upmu_accesses before = f.cpu[0].meter.bank.accesses;

            host_run(&f, 50);
            cpu->gate_in_host = upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_HOST);
            cpu->gate_in_guest = upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_GUEST);
            enter();
            upmu_sim_enter_guest(&f.sim);
            host_run(&f, 100);
            upmu_sim_leave_guest(&f.sim);
            leave();
            assert_memory_equal(&before, &f.cpu[0].meter.bank.accesses, sizeof before);
        }
        cpu->loads_gate = false;
        counts(0, 1000);
        counts(1, 1000);
        counts(2, 6000);
        assert_int_equal(f.sessions[1].set.tally[0].overflows, 1000 / 30);
        host_end(&f);
    }
}

static unsigned mask_always(void *state, const struct upmu_overflow *overflow, bool notify)
{
    (void)state;
    (void)overflow;
    (void)notify;
    return UPMU_OVERFLOW_MASK;
}

/* A masked session's counters stay closed: the gates that the hardware is given are asked for at each entry. */
static void the_hardware_opens_no_counter_that_a_handler_masked(void **state)
{
    static const struct upmu_format masking = {.name = "masks", .overflow = mask_always};
    static const enum upmu_world worlds[] = {UPMU_WORLD_GUEST, UPMU_WORLD_HOST, UPMU_WORLD_BOTH};

    (void)state;
    for (unsigned n = 0; n < 3; n++) {
        struct upmu_sim_cpu *cpu = &f.sim.cpu[0];
        bool guest = worlds[n] != UPMU_WORLD_HOST;

        host_prepare(&f, "skylake");
        f.sim.deliver = deliver_to_a_hypervisor;
        host_start(&f);
        assert_int_equal(upmu_cpu_world_by_hardware(&f.cpu[0], true), UPMU_OK);
        assert_int_equal(upmu_session_world(&f.sessions[0], worlds[n]), UPMU_OK, n);
        host_add(&f, 0, "instructions", 100);
        assert_int_equal(upmu_session_format(&f.sessions[0], &masking, NULL, 0), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&f.sessions[0], &f.cpu[0]), UPMU_OK);
        start(0);
        cpu->loads_gate = true;
        cpu->gate_in_host = upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_HOST);
        cpu->gate_in_guest = upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_GUEST);
        if (guest)
            upmu_sim_enter_guest(&f.sim);
        host_run(&f, 100);
        if (guest)
            upmu_sim_leave_guest(&f.sim);
        assert_int_equal(f.sessions[0].state, UPMU_SESSION_MASKED);
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_GUEST), 0);
            assert_int_equal(upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_HOST), 0);
            assert_int_equal(upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_BOTH), 0);
            if (i == 0) {
                cpu->gate_in_guest = upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_GUEST);
                upmu_sim_enter_guest(&f.sim);
                host_run(&f, 50);
                upmu_sim_leave_guest(&f.sim);
            } else if (i == 1) {
                enter();
                leave();
            }
        }
        counts(0, 100);
        assert_int_equal(f.sessions[0].state, UPMU_SESSION_MASKED);
        cpu->loads_gate = false;
        host_end(&f);
    }
}

/*
 * An NMI masks a session when the hypervisor has asked for its fields: the exit opens counters that the library has
 * closed.  Catches: a counter that is loaded as it runs, and events of before a start in its count.
 */
static void what_an_exit_opens_in_error_is_closed_before_its_next_load(void **state)
{
    static const struct upmu_format masking = {.name = "masks", .overflow = mask_always};

    (void)state;
    for (unsigned reserved = 0; reserved < 2; reserved++) {
        struct upmu_sim_cpu *cpu = &f.sim.cpu[0];

        host_prepare(&f, "skylake");
        host_start(&f);
        assert_int_equal(upmu_cpu_world_by_hardware(&f.cpu[0], true), UPMU_OK);
        if (reserved)
            assert_int_equal(upmu_cpu_reserve(&f.cpu[0], 1u << 3), UPMU_OK);
        host_add(&f, 0, "instructions", 100);
        assert_int_equal(upmu_session_format(&f.sessions[0], &masking, NULL, 0), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&f.sessions[0], &f.cpu[0]), UPMU_OK);
        start(0);
        cpu->gate_in_host = upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_HOST);
        host_run(&f, 100); /* its NMI */
        assert_int_equal(f.sessions[0].state, UPMU_SESSION_MASKED);
        cpu->gate_in_guest = upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_GUEST);
        cpu->loads_gate = true;
        upmu_sim_enter_guest(&f.sim);
        host_run(&f, 50);
        upmu_sim_leave_guest(&f.sim);
        cpu->loads_gate = false;
        assert_int_not_equal(upmu_sim_peek(&f.sim, 0, 0x38f), 0);
        host_run(&f, 20); /* on the counter that the exit has opened */
        assert_int_equal(upmu_session_detach(&f.sessions[0]), UPMU_OK);
        attach(1, UPMU_WORLD_BOTH, "instructions", 0);
        host_run(&f, 20);
        f.sim.events_per_access = 5; /* a counter that runs while it is loaded has some of them */
        start(1);
        f.sim.events_per_access = 0;
        host_run(&f, 30);
        counts(1, 30);
        counts(0, 100);
        host_end(&f);
    }
}

/*
 * A handler masks as many sessions as go into a plan, and the next local call the rest: until then the hardware opens
 * no counter of these, either.  Catches: gates from the enable register alone.
 */
static void the_hardware_opens_no_counter_that_is_still_to_be_masked(void **state)
{
    static const struct upmu_format masking = {.name = "masks", .overflow = mask_always};
    static struct upmu_session sessions[UPMU_PARTS + 1];
    unsigned running = 0;

    (void)state;
    host_prepare(&f, "icelake");
    f.sim.deliver = deliver_to_a_hypervisor;
    host_start(&f);
    assert_int_equal(upmu_cpu_world_by_hardware(&f.cpu[0], true), UPMU_OK);
    for (unsigned i = 0; i <= UPMU_PARTS; i++) {
        struct upmu_sampling sampling = {.period = i ? 50 : 100};

        assert_int_equal(upmu_session_init(&sessions[i], &f.machine), UPMU_OK, i);
        assert_int_equal(upmu_set_add(&sessions[i].set, i ? "branches" : "instructions", &sampling), UPMU_OK, i);
        assert_int_equal(upmu_session_format(&sessions[i], &masking, NULL, 0), UPMU_OK, i);
        host_begin(&f, &sessions[i]);
    }
    host_run(&f, 100);
    for (unsigned i = 0; i <= UPMU_PARTS; i++)
        running += sessions[i].state == UPMU_SESSION_RUNNING;
    assert_int_equal(running, 1);
    assert_int_equal(upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_HOST), 0);
    assert_int_equal(upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_GUEST), 0);
    assert_int_equal(upmu_cpu_tick(&f.cpu[0]), UPMU_OK);
    for (unsigned i = 0; i <= UPMU_PARTS; i++) {
        assert_int_equal(sessions[i].state, UPMU_SESSION_MASKED, i);
        assert_int_equal(host_value(&sessions[i], 0), i ? 50 : 100, i);
        assert_int_equal(upmu_session_close(&sessions[i]), UPMU_OK, i);
    }
    host_end(&f);
}

/* ---- Attributes ---- */

static enum upmu_status add(unsigned i, const char *list)
{
    return upmu_set_add(&f.sessions[i].set, list, NULL);
}

static void attributes_choose_the_world(void **state)
{
    static const char *const lists[][2] = {{"instructions:guest", "branches:host"},
                                           {"instructions:g", "branches:H"},
                                           {"instructions:G=1:h=0", "branches:h=1"},
                                           {"instructions:ug:k", "branches:kh:u"}};

    (void)state;
    for (const struct profile *p = profiles; p < profiles + PROFILES; p++)
        for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++) {
            if (strncmp(p->name, "zen", 3) == 0) /* its selects have bits for it: the_bits_of_selects_need_no_gates */
                continue;
            host_set_up(&f, p->name);
            assert_int_equal(add(0, lists[i][0]), UPMU_OK, i);
            assert_int_equal(add(1, lists[i][1]), UPMU_OK, i);
            for (unsigned j = 0; j < 2; j++) {
                host_attach(&f, j, 0);
                start(j);
            }
            cross_ten_times();
            counts(0, 1000);
            counts(1, 1000);
            host_end(&f);
        }
}

static void the_bits_of_selects_need_no_gates(void **state)
{
    static const char *const zen[] = {"zen2", "zen4"};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        host_prepare(&f, zen[i]);
        f.sim.cpu[0].amd.efer = 1u << 12;
        host_start(&f);
        assert_int_equal(add(0, "instructions:guest,branches:host"), UPMU_OK);
        host_begin(&f, &f.session);
        host_forget_cost(&f);
        for (unsigned j = 0; j < 10; j++) {
            host_run(&f, 200);
            enter();
            f.sim.cpu[0].guest = true;
            host_run(&f, 100);
            f.sim.cpu[0].guest = false;
            leave();
        }
        host_costs(&f, "entries and exits", 0, 0);
        assert_int_equal(host_count(&f.session, 0).raw, 1000);
        assert_int_equal(host_count(&f.session, 1).raw, 1000);
        host_end(&f);
    }
}

static void events_of_a_session_agree_on_the_world(void **state)
{
    static const struct {
        enum upmu_world world;
        const char *list;
        enum upmu_status status;
    } lists[] = {
        {UPMU_WORLD_BOTH, "instructions:g,branches:g", UPMU_OK},
        {UPMU_WORLD_BOTH, "instructions:g,branches", UPMU_ERR_CONTRADICTION},
        {UPMU_WORLD_BOTH, "instructions,branches:g", UPMU_ERR_CONTRADICTION},
        {UPMU_WORLD_BOTH, "instructions:h,branches:g", UPMU_ERR_CONTRADICTION},
        {UPMU_WORLD_BOTH, "instructions:g:h,branches", UPMU_OK},
        {UPMU_WORLD_HOST, "instructions:h", UPMU_OK},
        {UPMU_WORLD_HOST, "instructions", UPMU_OK},
        {UPMU_WORLD_HOST, "instructions:g", UPMU_ERR_CONTRADICTION},
        {UPMU_WORLD_BOTH, "instructions:g=2", UPMU_ERR_BAD_VALUE},
        {UPMU_WORLD_BOTH, "instructions:g:g=0", UPMU_ERR_CONTRADICTION},
    };
    struct upmu_session *session = &f.sessions[0];
    struct upmu_event event;
    char text[64];

    (void)state;
    host_set_up(&f, "skylake");
    for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        assert_int_equal(upmu_session_init(session, &f.machine), UPMU_OK);
        assert_int_equal(upmu_session_world(session, lists[i].world), UPMU_OK, i);
        if (add(0, lists[i].list) != lists[i].status)
            fail_msg("%s: %u", lists[i].list, (unsigned)session->why.status);
        /* What was refused has left nothing. */
        if (lists[i].status != UPMU_OK)
            assert_int_equal(add(0, lists[i].world ? "branches:h" : "branches:h,cycles:h"), UPMU_OK, i);
    }
    assert_int_equal(upmu_session_init(session, &f.machine), UPMU_OK);
    assert_int_equal(add(0, "instructions:h"), UPMU_OK);
    assert_int_equal(upmu_session_world(session, UPMU_WORLD_GUEST), UPMU_ERR_CONTRADICTION);
    assert_int_equal(upmu_session_init(session, &f.machine), UPMU_OK);
    assert_int_equal(add(0, "instructions:g"), UPMU_OK);
    assert_int_equal(upmu_session_world(session, UPMU_WORLD_HOST), UPMU_ERR_CONTRADICTION);
    assert_int_equal(upmu_session_world(session, UPMU_WORLD_BOTH), UPMU_ERR_CONTRADICTION);
    assert_int_equal(upmu_session_world(session, UPMU_WORLD_GUEST), UPMU_OK);
    assert_int_equal(upmu_set_replace(&session->set, 0, "branches", NULL), UPMU_ERR_CONTRADICTION);
    assert_int_equal(upmu_set_replace(&session->set, 0, "branches:g", NULL), UPMU_OK);
    assert_compare(upmu_event_format(f.cpu[0].meter.pmu, &session->set.event[0], text, sizeof text), <, sizeof text);
    assert_string_equal(text, "BR_INST_RETIRED.ALL_BRANCHES:g=1");
    assert_int_equal(upmu_event_parse(f.cpu[0].meter.pmu, text, &event, NULL), UPMU_OK);
    assert_memory_equal(&event, &session->set.event[0], sizeof event);
    host_end(&f);
    host_set_up(&f, "northwood");
    assert_int_equal(add(0, "branch_retired:g,cascade=uops_retired.nbogus"), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_set_add(&session->set, "branch_retired,cascade=uops_retired.nbogus",
                                      &(struct upmu_sampling){.period = 1500}),
                     UPMU_OK);
    assert_int_equal(upmu_session_world(session, UPMU_WORLD_HOST), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_session_world(session, UPMU_WORLD_BOTH), UPMU_OK);
    /* A cascade has no world, whether it is added or replaces another event. */
    assert_int_equal(upmu_session_init(session, &f.machine), UPMU_OK);
    assert_int_equal(upmu_session_world(session, UPMU_WORLD_HOST), UPMU_OK);
    assert_int_equal(add(0, "branch_retired"), UPMU_OK);
    assert_int_equal(upmu_set_replace(&session->set, 0, "branch_retired,cascade=uops_retired.nbogus",
                                      &(struct upmu_sampling){.period = 1500}),
                     UPMU_ERR_UNSUPPORTED);
    assert_int_equal(session->why.status, UPMU_ERR_UNSUPPORTED);
    assert_int_equal(session->set.event[0].world, 0);
    assert_int_equal(upmu_session_start(session), UPMU_ERR_STATE);
    host_end(&f);
}

static void a_region_counts_a_guest_apart(void **state)
{
    static struct upmu_region region;

    (void)state;
    host_set_up(&f, "skylake");
    assert_int_equal(upmu_region_open(&region, &f.cpu[0], "instructions:guest,branches:guest"), UPMU_OK);
    assert_int_equal(upmu_region_begin(&region), UPMU_OK);
    cross_ten_times();
    assert_int_equal(upmu_region_end(&region), UPMU_OK);
    assert_int_equal(region.count[0].raw, 1000);
    assert_int_equal(region.count[1].raw, 500);
    assert_int_equal(upmu_region_close(&region), UPMU_OK);
    host_end(&f);
}

/* ---- Events and periods of a session that stays attached ---- */

static struct upmu_event encoded(const char *text)
{
    struct upmu_event event;

    assert_int_equal(upmu_event_parse(f.cpu[0].meter.pmu, text, &event, NULL), UPMU_OK);
    return event;
}

/* No register is written until the start. */
static void an_encoded_event_replaces_another(void **state)
{
    static const char *const names[] = {"skylake", "zen4", "k8_revf", "northwood", "p6"};
    struct upmu_sampling sampling = {.period = 100, .flags = 0x80000000u};
    struct upmu_session *session = &f.sessions[0];

    (void)state;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct upmu_event event;
        unsigned counter;

        host_set_up(&f, names[i]);
        attach(0, UPMU_WORLD_BOTH, "instructions,cycles", 0);
        start(0);
        host_run(&f, 1000);
        event = encoded("branches");
        assert_int_equal(upmu_set_replace_event(&session->set, 0, &event, NULL), UPMU_ERR_STATE);
        assert_int_equal(upmu_session_stop(session), UPMU_OK);
        counter = session->set.tally[0].counter;
        assert_int_equal(upmu_cpu_owner(&f.cpu[0], counter), UPMU_OWNER_OURS);
        host_forget_cost(&f);
        assert_int_equal(upmu_set_replace_event(&session->set, 0, &event, NULL), UPMU_OK);
        assert_int_equal(upmu_cpu_owner(&f.cpu[0], counter), UPMU_OWNER_FREE);
        assert_int_equal(upmu_set_replace_event(&session->set, 2, &event, NULL), UPMU_ERR_INVALID);
        assert_int_equal(upmu_set_replace_event(&session->set, 0, &event, &sampling), UPMU_ERR_INVALID);
        host_costs(&f, "replaced", 0, 0);
        host_run(&f, 1000);
        start(0);
        host_run(&f, 1000);
        counts(0, 500);
        assert_int_equal(host_count(session, 1).raw, 4000);
        assert_int_equal(upmu_cpu_verify(&f.cpu[0], NULL), UPMU_OK);
        host_end(&f);
    }
}

static void samples(unsigned expected)
{
    unsigned found = host_drain(&f, NULL);

    if (found != expected)
        fail_msg("%s: %u samples instead of %u", f.sim.profile->name, found, expected);
}

/* Samples come after 30, then every 100; the count goes on. */
static void the_next_sample_can_be_given(void **state)
{
    static const char *const names[] = {"skylake", "zen4", "k8_revf", "icelake", "core2"};
    struct upmu_session *session = &f.sessions[0];

    (void)state;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        host_set_up(&f, names[i]);
        host_sample(&f, "instructions", 1000);
        host_run(&f, 2500);
        samples(2);
        assert_int_equal(upmu_session_stop(session), UPMU_OK);
        host_forget_cost(&f);
        assert_int_equal(upmu_set_wait(&session->set, 0, 30, 100), UPMU_OK);
        host_costs(&f, "stopped", 0, 0);
        start(0);
        host_run(&f, 29);
        samples(0);
        host_run(&f, 1);
        samples(1);
        host_run(&f, 299);
        samples(2);
        /* A session that runs goes on. */
        assert_int_equal(upmu_set_wait(&session->set, 0, 5, 7), UPMU_OK);
        host_run(&f, 5 + 7 * 3);
        samples(4);
        counts(0, 2500 + 30 + 299 + 26);
        assert_int_equal(upmu_set_wait(&session->set, 1, 5, 7), UPMU_ERR_INVALID);
        assert_int_equal(upmu_set_wait(&session->set, 0, 0, 7), UPMU_ERR_INVALID);
        assert_int_equal(upmu_set_wait(&session->set, 0, 5, 0), UPMU_ERR_INVALID);
        assert_int_equal(upmu_set_wait(&session->set, 0, 5, UINT64_C(1) << 63), UPMU_ERR_INVALID);
        assert_int_equal(upmu_set_wait(&session->set, 0, UINT64_C(1) << 63, 7), UPMU_ERR_INVALID);
        host_end(&f);
    }
}

/* An overflow that transactions take back would come again and again. */
static void a_count_that_can_fall_is_given_no_near_sample(void **state)
{
    struct upmu_session *session = &f.sessions[0];

    (void)state;
    host_set_up(&f, "skylake");
    host_sample(&f, "instructions:intxcp=1", 0x7fffffff);
    assert_int_equal(upmu_set_wait(&session->set, 0, 0x7ffffffe, 0x7fffffff), UPMU_ERR_INVALID);
    assert_int_equal(upmu_set_wait(&session->set, 0, 0x7fffffff, 0x7ffffffe), UPMU_ERR_INVALID);
    assert_int_equal(upmu_set_wait(&session->set, 0, 0x7fffffff, 0x7fffffff), UPMU_OK);
    host_end(&f);
}

/* While its thread does not run, from anywhere: what its counter was loaded with is not used. */
static void a_thread_away_is_given_its_next_sample(void **state)
{
    struct upmu_session *session = &f.sessions[0];

    (void)state;
    host_set_up(&f, "skylake");
    host_threads(&f, 2);
    host_add(&f, 0, "instructions", 1000);
    assert_int_equal(upmu_session_attach_thread(session, &f.threads[0], NULL), UPMU_OK);
    start(0);
    host_thread_switch(&f, 0, 0);
    host_run(&f, 100);
    host_thread_switch(&f, 0, 1);
    host_forget_cost(&f);
    assert_int_equal(upmu_set_wait(&session->set, 0, 30, 100), UPMU_OK);
    host_costs(&f, "away", 0, 0);
    host_thread_switch(&f, 0, 0);
    host_run(&f, 30);
    assert_int_equal(upmu_ring_lost(&session->ring), 0);
    assert_int_equal(session->set.tally[0].overflows, 1);
    counts(0, 130);
    host_thread_switch(&f, 0, 1);
    assert_int_equal(upmu_session_close(session), UPMU_OK);
    host_end(&f);
}

/* Three stop and three start: one write closes, one opens. */
static void several_change_at_once(void **state)
{
    struct upmu_session *const first[] = {&f.sessions[0], &f.sessions[1], &f.sessions[2]};
    struct upmu_session *const second[] = {&f.sessions[3], &f.sessions[4]};
    static const char *const names[] = {"skylake", "zen4", "k8_revf"};
    struct upmu_session *const absent[] = {&f.sessions[5]};

    (void)state;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        host_set_up(&f, names[i]);
        attach(0, UPMU_WORLD_BOTH, "instructions", 0);
        attach(1, UPMU_WORLD_BOTH, "branches", 0);
        attach(2, UPMU_WORLD_BOTH, "cycles", 0);
        attach(3, UPMU_WORLD_BOTH, "branch-misses,branches:u", 0);
        attach(4, UPMU_WORLD_BOTH, "instructions:k", 0);
        assert_int_equal(upmu_sessions_change(&f.cpu[0], first, 3, NULL, 0), UPMU_OK);
        host_run(&f, 100);
        assert_int_equal(upmu_sessions_change(&f.cpu[0], second, 2, first, 3), UPMU_OK);
        host_run(&f, 100);
        assert_int_equal(upmu_sessions_change(&f.cpu[0], first, 3, second, 2), UPMU_OK);
        host_run(&f, 100);
        host_forget_cost(&f);
        assert_int_equal(upmu_sessions_change(&f.cpu[0], NULL, 0, first, 3), UPMU_OK);
        host_costs(&f, "three stop", i == 2 ? 3 : 1, 3);
        assert_int_equal(upmu_sessions_change(&f.cpu[0], NULL, 0, first, 3), UPMU_OK);
        host_costs(&f, "stopped already", 0, 0);
        host_run(&f, 100);
        assert_int_equal(upmu_sessions_change(&f.cpu[0], first, 3, NULL, 0), UPMU_OK);
        host_costs(&f, "three start", i == 2 ? 3 : 1, 0);
        host_run(&f, 100);
        counts(0, 300);
        counts(1, 150);
        counts(2, 600);
        counts(4, 100);
        assert_int_equal(upmu_sessions_change(&f.cpu[0], absent, 1, first, 3), UPMU_ERR_WRONG_CPU);
        counts(0, 300);
        assert_int_equal(f.sessions[5].why.status, UPMU_ERR_WRONG_CPU);
        assert_int_equal(f.sessions[0].state, UPMU_SESSION_STOPPED);
        host_end(&f);
    }
    memset(&f, 0, sizeof f);
    assert_int_equal(upmu_sessions_change(&f.cpu[0], NULL, 0, NULL, 0), UPMU_ERR_NO_PMU);
}

/* A register that others read: from the next load on it is ahead of the count by what was said. */
static void a_lent_counter_holds_what_was_said(void **state)
{
    static const char *const names[] = {"skylake", "zen2", "core2", "skylake_nofw"};

    (void)state;
    for (unsigned n = 0; n < sizeof names / sizeof names[0]; n++) {
        struct upmu_session *session = &f.sessions[0];
        bool narrow = n >= 2; /* 32 bits are written */
        unsigned counter;
        uint64_t ahead;

        host_set_up(&f, names[n]);
        host_add(&f, 0, n == 1 ? "retired-branch-instructions" : "branches", 0);
        assert_int_equal(upmu_set_lend(&session->set, 0, 100), UPMU_ERR_INVALID); /* of no world */
        assert_int_equal(upmu_session_world(session, UPMU_WORLD_GUEST), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(session, &f.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_set_lend(&session->set, 1, 100), UPMU_ERR_INVALID);
        assert_int_equal(upmu_set_lend(&session->set, 0, 1000), narrow ? UPMU_ERR_UNSUPPORTED : UPMU_OK);
        assert_false(upmu_set_where(&session->set, 0, &counter, &ahead));
        start(0);
        assert_true(upmu_set_where(&session->set, 0, &counter, &ahead));
        if (!narrow) {
            assert_int_equal(ahead, 1000);
            enter();
            upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = 40, .branches = 10});
            leave();
            counts(0, 10);
            assert_int_equal(upmu_set_lend(&session->set, 0, 5), UPMU_OK);
            assert_true(upmu_set_where(&session->set, 0, &counter, &ahead));
            assert_int_equal(ahead, (uint64_t)-5);
            counts(0, 10);
            /* A count that is written ends it. */
            assert_int_equal(upmu_set_write(&session->set, 0, 7), UPMU_OK);
            assert_false(session->set.tally[0].lent);
            counts(0, 7);
        }
        assert_int_equal(upmu_session_close(session), UPMU_OK);
        host_end(&f);
    }
}

static void count_a_branch(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                           uint32_t address)
{
    (void)cpu;
    (void)number;
    (void)kind;
    (void)address;
    upmu_sim_events(sim, &(struct upmu_sim_burst){.instructions = 4, .branches = 1});
}

/*
 * Another session needs its counter: the one that it gets holds what was said, with all that was counted before.  Every
 * other time branches come before each access of the move.
 */
static void a_lent_counter_that_moves_holds_what_was_said(void **state)
{
    static const char *const names[] = {"skylake", "zen4"};

    (void)state;
    for (unsigned n = 0; n < 2 * sizeof names / sizeof names[0]; n++) {
        struct upmu_session *session = &f.sessions[0];
        bool busy = n & 1u;
        unsigned first, counter;
        uint64_t ahead;
        char text[40];

        host_set_up(&f, names[n / 2]);
        host_add(&f, 0, "branches", 0);
        assert_int_equal(upmu_session_world(session, UPMU_WORLD_HOST), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(session, &f.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_set_lend(&session->set, 0, 1000), UPMU_OK);
        start(0);
        assert_true(upmu_set_where(&session->set, 0, &first, &ahead));
        upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = 40, .branches = 10});
        snprintf(text, sizeof text, "branches:counter=%u", first);
        host_add(&f, 1, text, 0);
        assert_int_equal(upmu_session_attach_cpu(&f.sessions[1], &f.cpu[0]), UPMU_OK);
        f.sim.before_access = busy ? count_a_branch : NULL;
        start(1);
        f.sim.before_access = NULL;
        assert_true(upmu_set_where(&session->set, 0, &counter, &ahead));
        assert_int_not_equal(counter, first);
        assert_int_equal(ahead, 1000);
        upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = 40, .branches = 10});
        if (!busy) {
            counts(0, 20);
            counts(1, 10);
        }
        assert_true(upmu_set_where(&session->set, 0, &counter, &ahead));
        assert_int_equal(ahead, 1000);
        assert_int_equal(upmu_session_close(&f.sessions[1]), UPMU_OK);
        assert_int_equal(upmu_session_close(session), UPMU_OK);
        host_end(&f);
    }
}

/*
 * Sessions of two threads count the same on one counter, which is lent: each switch writes what the one that comes has
 * said, and the counter stands still then (the model says so of a counter that is written while it runs).
 */
static void a_lent_counter_is_closed_before_another_session_writes_it(void **state)
{
    static const char *const names[] = {"skylake", "icelake"};

    (void)state;
    for (unsigned n = 0; n < sizeof names / sizeof names[0]; n++) {
        unsigned counter;
        uint64_t ahead;

        host_set_up(&f, names[n]);
        host_threads(&f, 3);
        for (unsigned i = 0; i < 2; i++) {
            struct upmu_session *session = &f.sessions[i];

            host_add(&f, i, "branches:counter=0", 0);
            assert_int_equal(upmu_session_world(session, UPMU_WORLD_HOST), UPMU_OK);
            assert_int_equal(upmu_session_attach_thread(session, &f.threads[i], NULL), UPMU_OK, i);
            assert_int_equal(upmu_set_lend(&session->set, 0, 1000 * (i + 1)), UPMU_OK, i);
            assert_int_equal(upmu_session_start(session), UPMU_OK);
        }
        for (unsigned k = 0; k < 8; k++) {
            struct upmu_session *session = &f.sessions[k & 1u];

            host_thread_switch(&f, 0, k & 1u);
            host_no_violation(&f);
            upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = 40, .branches = 10});
            assert_true(upmu_set_where(&session->set, 0, &counter, &ahead));
            assert_int_equal(ahead, 1000 * ((k & 1u) + 1), k);
            assert_int_equal(counter, 0);
        }
        host_thread_switch(&f, 0, 2);
        for (unsigned i = 0; i < 2; i++) {
            counts(i, 40);
            assert_int_equal(upmu_thread_exit(&f.threads[i]), UPMU_OK, i);
        }
        host_end(&f);
    }
}

/* Each session has run alone, on the same counter. */
static void two_that_start_have_two_counters(void **state)
{
    struct upmu_session *const both[] = {&f.sessions[0], &f.sessions[1]};
    static const char *const names[] = {"skylake", "zen4", "k8_revf"};

    (void)state;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        host_set_up(&f, names[i]);
        attach(0, UPMU_WORLD_BOTH, "branches", 0);
        attach(1, UPMU_WORLD_BOTH, "branch-misses", 0);
        for (unsigned j = 0; j < 4; j++) {
            start(j % 2);
            assert_int_equal(upmu_session_stop(&f.sessions[j % 2]), UPMU_OK, j);
        }
        assert_int_equal(f.sessions[0].counters, f.sessions[1].counters);
        assert_int_equal(upmu_sessions_change(&f.cpu[0], both, 2, NULL, 0), UPMU_OK);
        assert_int_equal(f.sessions[0].counters & f.sessions[1].counters, 0);
        host_run(&f, 100);
        counts(0, 50);
        host_end(&f);
    }
}

static void options_are_checked(void **state)
{
    (void)state;
    memset(&f, 0, sizeof f);
    assert_int_equal(upmu_cpu_enter_guest(&f.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_cpu_leave_guest(&f.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_GUEST), 0);
    assert_int_equal(upmu_cpu_world_by_hardware(&f.cpu[0], true), UPMU_ERR_NO_PMU);
    host_set_up(&f, "k8_revf");
    assert_int_equal(upmu_cpu_world_by_hardware(&f.cpu[0], true), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_cpu_gate_value(&f.cpu[0], UPMU_WORLD_GUEST), 0);
    host_end(&f);
    host_set_up(&f, "skylake");
    assert_int_equal(upmu_session_world(&f.sessions[0], (enum upmu_world)3), UPMU_ERR_INVALID);
    attach(0, UPMU_WORLD_GUEST, "instructions", 0);
    assert_int_equal(upmu_session_world(&f.sessions[0], UPMU_WORLD_HOST), UPMU_ERR_STATE);
    assert_int_equal(upmu_cpu_world_by_hardware(&f.cpu[0], true), UPMU_ERR_STATE);
    host_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_and_guest_are_counted_apart),
        cmocka_unit_test(an_entry_is_one_write),
        cmocka_unit_test(sessions_that_cannot_change_their_world_stop),
        cmocka_unit_test(samples_are_of_the_guest_alone),
        cmocka_unit_test(threads_switch_in_both_worlds),
        cmocka_unit_test(a_thread_of_a_guest_migrates),
        cmocka_unit_test(a_switch_between_guests_moves_no_gate),
        cmocka_unit_test(sets_switch_by_overflows_of_guests),
        cmocka_unit_test(sharing_sessions_stay_in_their_worlds),
        cmocka_unit_test(the_life_of_a_cpu_goes_on_in_a_guest),
        cmocka_unit_test(a_session_goes_to_a_cpu_in_a_guest),
        cmocka_unit_test(an_absent_event_moves),
        cmocka_unit_test(static_sessions_have_worlds),
        cmocka_unit_test(absent_sessions_are_written_and_masked),
        cmocka_unit_test(counters_of_user_mode_have_worlds),
        cmocka_unit_test(reserved_counters_are_in_both_worlds),
        cmocka_unit_test(no_carry_is_lost_at_an_exit),
        cmocka_unit_test(an_interrupt_within_an_exit_counts_once),
        cmocka_unit_test(a_session_that_failed_is_in_no_world),
        cmocka_unit_test(a_fault_at_an_exit_counts_nothing_of_the_host),
        cmocka_unit_test(a_fault_beside_an_interrupt_in_an_exit_forgets_no_event),
        cmocka_unit_test(the_hardware_moves_the_gates),
        cmocka_unit_test(the_hardware_opens_no_counter_that_a_handler_masked),
        cmocka_unit_test(what_an_exit_opens_in_error_is_closed_before_its_next_load),
        cmocka_unit_test(the_hardware_opens_no_counter_that_is_still_to_be_masked),
        cmocka_unit_test(attributes_choose_the_world),
        cmocka_unit_test(the_bits_of_selects_need_no_gates),
        cmocka_unit_test(events_of_a_session_agree_on_the_world),
        cmocka_unit_test(a_region_counts_a_guest_apart),
        cmocka_unit_test(an_encoded_event_replaces_another),
        cmocka_unit_test(the_next_sample_can_be_given),
        cmocka_unit_test(a_count_that_can_fall_is_given_no_near_sample),
        cmocka_unit_test(a_thread_away_is_given_its_next_sample),
        cmocka_unit_test(several_change_at_once),
        cmocka_unit_test(a_lent_counter_holds_what_was_said),
        cmocka_unit_test(a_lent_counter_that_moves_holds_what_was_said),
        cmocka_unit_test(a_lent_counter_is_closed_before_another_session_writes_it),
        cmocka_unit_test(two_that_start_have_two_counters),
        cmocka_unit_test(options_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
