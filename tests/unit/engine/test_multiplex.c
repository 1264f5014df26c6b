/* SPDX-License-Identifier: MIT */
/*
 * Which runs when, where thousands of sessions share the counters of a CPU: how long each waits, in which order, and
 * that none is forgotten when sessions, threads and sets come and go.
 */
#include <upmu/session.h>
#include <upmu/set.h>
#include "tests/common/host.h"

#define MANY 10000

static struct host host;
static struct upmu_session many[MANY];
static unsigned waited[MANY], ran[MANY]; /* ticks: in a row, in all */

static void share(unsigned i, const char *list)
{
    assert_int_equal(upmu_session_init(&many[i], &host.machine), UPMU_OK, i);
    assert_int_equal(upmu_set_add(&many[i].set, list, NULL), UPMU_OK, i);
    assert_int_equal(upmu_session_share(&many[i], true), UPMU_OK, i);
    waited[i] = ran[i] = 0;
}

static void begin_sharing(unsigned i, const char *list)
{
    share(i, list);
    assert_int_equal(upmu_session_attach_cpu(&many[i], &host.cpu[0]), UPMU_OK, i);
    assert_int_equal(upmu_session_start(&many[i]), UPMU_OK, i);
}

static void tick(void)
{
    assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
}

/* One more tick has passed; returns how many run. */
static unsigned look_at(unsigned count)
{
    unsigned running = 0;

    for (unsigned i = 0; i < count; i++) {
        bool runs = many[i].state == UPMU_SESSION_RUNNING;

        running += runs;
        ran[i] += runs;
        waited[i] = runs ? 0 : waited[i] + 1;
    }
    return running;
}

static unsigned longest(unsigned count)
{
    unsigned most = 0;

    for (unsigned i = 0; i < count; i++)
        most = waited[i] > most ? waited[i] : most;
    return most;
}

static void close_all(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(upmu_session_close(&many[i]), UPMU_OK, i);
}

/* Four general counters, three fixed ones. */
#define ONE "branches"
#define TWO "branch-misses,cache-misses"
#define THREE "branches,branch-misses,cache-misses"
#define FOUR "branches:u,branch-misses:u,cache-references:u,cache-misses:u"

/*
 * Of n sessions of which g run together each waits n/g ticks at most, and all run equally long.  The mistakes that this
 * catches: one leaves in each tick where g could; one that has no search left keeps another one running.
 */
static void with_n_sessions_of_which_g_run_each_waits_n_over_g_ticks(void **state)
{
    static const struct {
        const char *list;
        unsigned together;
    } kinds[] = {{FOUR, 1}, {TWO, 2}, {ONE, 4}};
    static const unsigned counts[] = {5, 6, 7, 9, 11, 12, 1000};

    (void)state;
    for (unsigned kind = 0; kind < 3; kind++)
        for (unsigned k = 0; k < 7; k++) {
            unsigned n = counts[k], g = kinds[kind].together;

            host_set_up(&host, "skylake");
            for (unsigned i = 0; i < n; i++)
                begin_sharing(i, kinds[kind].list);
            /* A tick searches a place for three, then all have one. */
            for (unsigned i = 0; i < n; i++)
                tick();
            (void)look_at(n);
            for (unsigned i = 0; i < n; i++)
                waited[i] = ran[i] = 0;
            for (unsigned i = 0; i < 4 * n; i++) {
                tick();
                assert_int_equal(look_at(n), g, n);
                assert_compare(longest(n) * g, <=, n, g);
            }
            for (unsigned i = 0; i < n; i++)
                assert_int_equal(ran[i], 4 * g, i, g);
            close_all(n);
            host_end(&host);
        }
}

/* Places have still to be searched, and yet each round is a full one: the estimate is what all missed. */
static void ten_thousand_sessions_all_run_in_each_round(void **state)
{
    (void)state;
    host_set_up(&host, "skylake");
    for (unsigned i = 0; i < MANY; i++)
        begin_sharing(i, TWO);
    for (unsigned round = 1; round <= 2; round++) {
        for (unsigned i = 0; i < MANY / 2; i++) {
            host_work(&host, 0, 10000); /* 20,000 ns, 200 of the event */
            tick();
        }
        for (unsigned i = 0; i < MANY; i++) {
            struct upmu_count count = host_count(&many[i], 0);

            assert_int_equal(count.running_ns, round * 20000);
            assert_int_equal(count.enabled_ns, round * 20000 * (MANY / 2));
            assert_int_equal(count.raw, round * 200);
            assert_int_equal(count.value, round * 200 * (MANY / 2));
            assert_int_equal(count.quality, UPMU_QUALITY_SCALED);
            assert_int_equal(many[i].set.turns, round, i);
        }
    }
    close_all(MANY);
    host_end(&host);
}

/*
 * What does not share holds two counters.  Those that need more can never run meanwhile: of them a tick passes over
 * eight at least, however many there are, and the first that fits runs with the next tick at the latest.
 */
static void the_first_that_fits_beside_the_unshared_runs_next_tick(void **state)
{
    (void)state;
    for (unsigned misfits = 0; misfits < 40; misfits++) {
        unsigned ticks = 1 + misfits / 8;

        host_set_up(&host, "skylake");
        host_add(&host, 0, "branches,branches:u", 0);
        host_begin(&host, &host.session);
        for (unsigned i = 0; i < misfits; i++)
            begin_sharing(i, i & 1u ? FOUR : THREE);
        share(misfits, TWO);
        assert_int_equal(upmu_session_attach_cpu(&many[misfits], &host.cpu[0]), UPMU_OK, misfits);
        /* It has not begun where there was room. */
        host_add(&host, 1, "branches:k,branch-misses:k", 0);
        host_begin(&host, &host.other);
        assert_int_equal(upmu_session_start(&many[misfits]), UPMU_OK, misfits);
        assert_int_equal(many[misfits].state, UPMU_SESSION_WAITING, misfits);
        assert_int_equal(upmu_session_stop(&host.other), UPMU_OK);
        if (misfits >= 4)
            assert_int_equal(many[misfits].state, UPMU_SESSION_WAITING, misfits);
        for (unsigned i = 0; i < ticks; i++)
            tick();
        assert_int_equal(many[misfits].state, UPMU_SESSION_RUNNING, misfits);
        /* What held the counters ends: all have their turns. */
        assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
        for (unsigned i = 0; i < 2 * misfits + 2; i++) {
            tick();
            (void)look_at(misfits + 1);
        }
        for (unsigned i = 0; i <= misfits; i++)
            assert_compare(ran[i], >, 0, i);
        assert_int_equal(upmu_session_init(&host.session, &host.machine), UPMU_OK);
        close_all(misfits + 1);
        assert_int_equal(upmu_session_close(&host.other), UPMU_OK);
        assert_int_equal(upmu_session_init(&host.other, &host.machine), UPMU_OK);
        host_end(&host);
    }
}

/* A large one is not kept out by small ones that fill its place one after the other. */
static void a_large_session_has_its_turn_among_small_ones(void **state)
{
    (void)state;
    host_set_up(&host, "skylake");
    for (unsigned i = 0; i < 6; i++)
        begin_sharing(i, ONE);
    begin_sharing(6, FOUR);
    (void)look_at(7);
    for (unsigned i = 0; i < 60; i++) {
        tick();
        (void)look_at(7);
        assert_compare(longest(7), <=, 7);
    }
    assert_compare(ran[6], >=, 60 / 7);
    close_all(7);
    host_end(&host);
}

/* A session that does not share takes the counters that it needs, and those that have others run on, exactly. */
static void one_that_does_not_share_displaces_those_in_its_place_alone(void **state)
{
    struct upmu_count count;
    unsigned running = 0;

    (void)state;
    host_set_up(&host, "skylake");
    host_threads(&host, 3);
    for (unsigned i = 0; i < 4; i++)
        begin_sharing(i, ONE);
    host_add(&host, 0, "branch-misses", 0);
    assert_int_equal(upmu_session_attach_thread(&host.session, &host.threads[0], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    for (unsigned round = 0; round < 3; round++) {
        host_thread_switch(&host, 0, 0);
        assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
        running = 0;
        for (unsigned i = 0; i < 4; i++)
            running += many[i].state == UPMU_SESSION_RUNNING;
        assert_int_equal(running, 3);
        host_work(&host, 0, 1000);
        host_thread_switch(&host, 0, 1);
        /* They return without a tick. */
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(many[i].state, UPMU_SESSION_RUNNING, i);
        host_work(&host, 0, 1000);
    }
    for (unsigned i = 0; i < 4; i++) {
        count = host_count(&many[i], 0);
        running -= count.quality == UPMU_QUALITY_EXACT;
        assert_int_equal(count.raw, count.quality == UPMU_QUALITY_EXACT ? 1200 : 600);
        assert_int_equal(count.value, 1200);
    }
    assert_int_equal(running, 0);
    assert_int_equal(host_value(&host.session, 0), 60);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    assert_int_equal(upmu_session_init(&host.session, &host.machine), UPMU_OK);
    close_all(4);
    host_end(&host);
}

/* Sets of chains are candidates as all others are; each runs in each round of its chain. */
static void chains_of_sets_have_their_turns(void **state)
{
    enum { CHAINS = 5 };
    static struct upmu_set second[CHAINS];

    (void)state;
    host_set_up(&host, "skylake");
    for (unsigned i = 0; i < CHAINS; i++) {
        share(i, FOUR);
        assert_int_equal(upmu_session_add_set(&many[i], NULL, 0, UPMU_SET_TIME_SWITCH, 20000), UPMU_OK, i);
        assert_int_equal(upmu_session_add_set(&many[i], &second[i], 1, UPMU_SET_TIME_SWITCH, 20000), UPMU_OK, i);
        assert_int_equal(upmu_set_add(&second[i], i & 1u ? FOUR : THREE, NULL), UPMU_OK, i);
        assert_int_equal(upmu_session_attach_cpu(&many[i], &host.cpu[0]), UPMU_OK, i);
        assert_int_equal(upmu_session_start(&many[i]), UPMU_OK, i);
    }
    for (unsigned i = 0; i < 20 * CHAINS; i++) {
        host_work(&host, 0, 10000);
        tick();
        assert_int_equal(look_at(CHAINS), 1);
        assert_compare(longest(CHAINS), <=, CHAINS);
    }
    for (unsigned i = 0; i < CHAINS; i++) {
        assert_int_equal(ran[i], 20, i);
        assert_true(many[i].set.runs >= 10 && second[i].runs >= 9, i);
    }
    close_all(CHAINS);
    host_end(&host);
}

/* Sessions, threads and counters of what does not share come and go, on two CPUs; none is forgotten. */
static void none_is_forgotten_when_sessions_and_threads_come_and_go(void **state)
{
    enum { SHARERS = 40, THREADS = 3 };
    static const char *const lists[] = {ONE, TWO, THREE, FOUR, "instructions,branches"};
    uint64_t random = 1;

    (void)state;
    host_set_up_two(&host, "skylake");
    host_threads(&host, THREADS + 2);
    for (unsigned i = 0; i < SHARERS; i++)
        share(i, lists[i % 5]);
    for (unsigned i = 0; i < THREADS; i++) {
        host_add(&host, i, i == 2 ? FOUR : TWO, 0);
        assert_int_equal(upmu_session_attach_thread(&host.sessions[i], &host.threads[i], NULL), UPMU_OK, i);
        assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK, i);
    }
    for (unsigned step = 0; step < 20000; step++) {
        unsigned chance = (unsigned)((random = random * UINT64_C(6364136223846793005) + 1) >> 33), cpu = chance & 1u;
        unsigned i = chance / 2 % SHARERS, running = 0, waiting = 0;
        uint32_t counters[2] = {0, 0};

        upmu_sim_switch_cpu(&host.sim, cpu);
        if (chance / 128 % 4 == 0) {
            unsigned next = chance / 1024 % THREADS;

            if (host.running[!cpu] != next && host.running[cpu] != next)
                host_thread_switch(&host, cpu, chance / 4096 % 3 ? next : THREADS + cpu);
        } else if (chance / 128 % 4 == 1 && many[i].state == UPMU_SESSION_DETACHED) {
            if (i < 4 && host.running[0] != i % THREADS && host.running[1] != i % THREADS)
                assert_int_equal(upmu_session_attach_thread(&many[i], &host.threads[i % THREADS], NULL), UPMU_OK, i);
            else if (i >= 4)
                assert_int_equal(upmu_session_attach_cpu(&many[i], &host.cpu[cpu]), UPMU_OK, i, cpu);
            if (many[i].state != UPMU_SESSION_DETACHED)
                assert_int_equal(upmu_session_start(&many[i]), UPMU_OK, i);
        } else if (chance / 128 % 32 == 2) {
            if (many[i].meter)
                upmu_sim_switch_cpu(&host.sim, (unsigned)(many[i].meter->cpu - host.cpu));
            assert_int_equal(upmu_session_detach(&many[i]), UPMU_OK, i);
            waited[i] = 0;
        } else {
            host_work(&host, cpu, 100);
            assert_int_equal(upmu_cpu_tick(&host.cpu[cpu]), UPMU_OK, cpu);
        }
        for (unsigned k = 0; k < SHARERS + THREADS; k++) {
            struct upmu_session *session = k < SHARERS ? &many[k] : &host.sessions[k - SHARERS];
            unsigned where = session->meter == &host.cpu[1].meter;

            if (session->state == UPMU_SESSION_RUNNING) {
                assert_int_equal(counters[where] & session->counters, 0, where);
                counters[where] |= session->counters;
                running += where == cpu;
                if (k < SHARERS)
                    waited[k] = 0;
            } else if (session->state == UPMU_SESSION_WAITING && session->meter == &host.cpu[cpu].meter) {
                waiting++;
                if (k < SHARERS && k >= 4 && ++waited[k] > 2000)
                    fail_msg("step %u: session %u waits for ever", step, k);
                /* What does not share waits for its like alone. */
                if (k >= SHARERS)
                    fail_msg("step %u: a session that does not share waits", step);
            }
        }
        if (waiting && !running)
            fail_msg("step %u: %u wait and none runs", step, waiting);
    }
    for (unsigned cpu = 0; cpu < 2; cpu++)
        host_thread_switch(&host, cpu, THREADS + cpu);
    for (unsigned i = 0; i < SHARERS; i++) {
        if (many[i].meter)
            upmu_sim_switch_cpu(&host.sim, (unsigned)(many[i].meter->cpu - host.cpu));
        assert_int_equal(upmu_session_close(&many[i]), UPMU_OK, i);
    }
    upmu_sim_switch_cpu(&host.sim, 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(upmu_session_close(&host.sessions[i]), UPMU_OK, i);
    host_no_violation(&host);
}

/* On a core of another kind a thread's session has no event: it keeps none waiting there. */
static void a_session_of_another_kind_of_core_keeps_none_waiting(void **state)
{
    (void)state;
    host_prepare(&host, "adl_p");
    upmu_sim_set_profile(&host.sim, 1, upmu_sim_profile("adl_e"));
    host_machine(&host);
    host_take_over(&host, 2, false);
    host_threads(&host, 4);
    for (unsigned i = 0; i < 20; i++) {
        share(i, "adl_glc::branches");
        assert_int_equal(upmu_session_attach_thread(&many[i], &host.threads[0], NULL), UPMU_OK, i);
        assert_int_equal(upmu_session_start(&many[i]), UPMU_OK, i);
    }
    host_thread_switch(&host, 1, 0);
    for (unsigned i = 20; i < 40; i++) {
        share(i, "adl_grt::branches,adl_grt::branches:u,adl_grt::branches:k,adl_grt::branch-misses");
        assert_int_equal(upmu_session_attach_cpu(&many[i], &host.cpu[1]), UPMU_OK, i);
        assert_int_equal(upmu_session_start(&many[i]), UPMU_OK, i);
    }
    for (unsigned i = 0; i < 200; i++) {
        assert_int_equal(upmu_cpu_tick(&host.cpu[1]), UPMU_OK);
        (void)look_at(40);
    }
    for (unsigned i = 0; i < 40; i++)
        if ((i < 20) != (ran[i] == 0))
            fail_msg("session %u ran in %u ticks", i, ran[i]);
    for (unsigned i = 20; i < 40; i++) {
        assert_compare(ran[i], >=, 5, i);
        assert_int_equal(upmu_session_close(&many[i]), UPMU_OK, i);
    }
    host_thread_switch(&host, 1, 3);
    host_thread_switch(&host, 0, 0);
    for (unsigned i = 0; i < 20; i++)
        ran[i] = 0;
    for (unsigned i = 0; i < 20; i++) {
        tick();
        (void)look_at(20);
    }
    for (unsigned i = 0; i < 20; i++)
        assert_compare(ran[i], >, 0, i);
    host_thread_switch(&host, 0, 2);
    close_all(20);
    host_no_violation(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_n_sessions_of_which_g_run_each_waits_n_over_g_ticks),
        cmocka_unit_test(ten_thousand_sessions_all_run_in_each_round),
        cmocka_unit_test(the_first_that_fits_beside_the_unshared_runs_next_tick),
        cmocka_unit_test(a_large_session_has_its_turn_among_small_ones),
        cmocka_unit_test(one_that_does_not_share_displaces_those_in_its_place_alone),
        cmocka_unit_test(chains_of_sets_have_their_turns),
        cmocka_unit_test(none_is_forgotten_when_sessions_and_threads_come_and_go),
        cmocka_unit_test(a_session_of_another_kind_of_core_keeps_none_waiting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
