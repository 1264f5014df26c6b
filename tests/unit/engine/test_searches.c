/* SPDX-License-Identifier: MIT */
/*
 * How many searches for places a call makes, on a PMU with four general counters.  The aim is one at most; each test
 * has what holds today, and names it.  A stop and a switch away make none unless the PMU would stand idle.  Class of
 * mistake: a search that is made again
 * though nothing has changed, and one that is made where only a look is allowed.
 */
#include <upmu/abi.h>
#include <upmu/event.h>
#include <upmu/group.h>
#include <upmu/place.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include "core/hw/backend.h"
#include "tests/common/host.h"
#include "tests/common/searches.h"
#include "tests/common/state.h"

#define FOUR_A "branches,cache-references,cache-misses,bus-cycles"
#define FOUR_B "branches:u,cache-references:u,cache-misses:u,bus-cycles:u"
#define IDLE 3

static struct host host;
static struct upmu_place_work work;
static unsigned seen;

/* Searches of a call. */
static unsigned made(enum upmu_status status)
{
    unsigned before = seen;

    assert_int_equal(status, UPMU_OK);
    seen = upmu_test_searches();
    return seen - before;
}

static void set_up(void)
{
    host_prepare(&host, "skylake");
    host_machine(&host);
    host_take_over(&host, 1, false);
    host_threads(&host, IDLE + 1);
    assert_int_equal(upmu_cpu_use_work(&host.cpu[0], &work), UPMU_OK);
    upmu_test_count_searches(&host.machine);
    seen = upmu_test_searches();
}

static void attach(unsigned i, const char *list, bool shares)
{
    struct upmu_session *session = &host.sessions[i];

    assert_int_equal(upmu_set_add(&session->set, list, NULL), UPMU_OK);
    assert_int_equal(upmu_session_share(session, shares), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(session, &host.cpu[0]), UPMU_OK);
    (void)made(UPMU_OK);
}

static unsigned start(unsigned i)
{
    return made(upmu_session_start(&host.sessions[i]));
}

static unsigned stop(unsigned i)
{
    return made(upmu_session_stop(&host.sessions[i]));
}

static unsigned tick(void)
{
    return made(upmu_cpu_tick(&host.cpu[0]));
}

static unsigned change_to(unsigned next)
{
    unsigned from = host.running[0];

    host.running[0] = next;
    return made(upmu_thread_switch(&host.cpu[0], &host.threads[from], &host.threads[next]));
}

/* Aim: 1.  The attachment asks whether the session could run at all, and then for a place beside what runs. */
static void an_attachment_makes_two_searches_and_what_has_a_place_none(void **state)
{
    (void)state;
    set_up();
    assert_int_equal(upmu_set_add(&host.sessions[0].set, FOUR_A, NULL), UPMU_OK);
    assert_int_equal(made(upmu_session_attach_cpu(&host.sessions[0], &host.cpu[0])), 2);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(start(0), 0);
        assert_int_equal(tick(), 0);
        assert_int_equal(stop(0), 0);
    }
    assert_int_equal(made(upmu_session_detach(&host.sessions[0])), 0);
    host_end(&host);
}

/*
 * Sessions that share all counters.  Places that were found are kept, so turns need none.  Aim: 1.  A start that
 * displaces looks for a place for both; the tick after it asks for each of two sessions, alone and with what runs.
 */
static void sharers_take_turns_without_a_search(void **state)
{
    (void)state;
    set_up();
    attach(0, FOUR_A, true);
    attach(1, FOUR_B, true);
    attach(2, "cache-misses:k", false);
    assert_int_equal(start(0), 0);
    assert_int_equal(start(1), 1);
    assert_int_equal(host.sessions[1].state, UPMU_SESSION_WAITING);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(tick(), 0);
    assert_int_equal(start(2), 2);
    assert_int_equal(host.sessions[2].state, UPMU_SESSION_RUNNING);
    assert_int_equal(tick(), 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(tick(), 0);
    assert_int_equal(stop(2), 0);
    host_end(&host);
}

/* A session whose place others have waits for the tick.  A refusal beside the same co-runners is remembered. */
static void a_stop_leaves_the_search_to_the_tick(void **state)
{
    static const char *const shared[] = {"branches", "cache-references", "cache-misses", "bus-cycles"};

    (void)state;
    set_up();
    for (unsigned i = 0; i < 4; i++)
        attach(i, shared[i], true);
    attach(4, "branches:counter=0,branch-misses:counter=1", false);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(start(i), i ? 1 : 0, i);
    assert_int_equal(start(4), 2);
    assert_int_equal(host.sessions[4].state, UPMU_SESSION_RUNNING);
    assert_int_equal(tick(), 2);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(tick(), 0);
    assert_int_equal(stop(4), 0);
    for (unsigned i = 0; i < 6; i++) /* two sessions alternate in each place, until each has a place of its own */
        assert_int_equal(tick(), i < 2, i);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(host.sessions[i].state, UPMU_SESSION_RUNNING, i);
    host_end(&host);
}

static enum upmu_session_state state_of(unsigned i)
{
    return (enum upmu_session_state)host.sessions[i].state;
}

static void attach_to_thread(unsigned i, const char *list)
{
    assert_int_equal(upmu_set_add(&host.sessions[i].set, list, NULL), UPMU_OK, i);
    assert_int_equal(upmu_session_attach_thread(&host.sessions[i], &host.threads[1], NULL), UPMU_OK, i);
    (void)made(UPMU_OK);
}

/*
 * Sessions of a thread that wait for one which has all counters.  A start that finds no room notes places for later, so
 * that those which wait one after the other do not wait for each other: two of two events come at once, and the third
 * when the first has left.
 */
static void what_waits_comes_in_the_order_of_its_starts_without_a_search(void **state)
{
    static const char *const pair[] = {"branches,branch-misses", "branches:u,cache-misses", "branches:k,bus-cycles",
                                       "cache-misses:u,cache-references"};

    (void)state;
    set_up();
    attach_to_thread(0, FOUR_A);
    for (unsigned i = 0; i < 4; i++)
        attach_to_thread(1 + i, pair[i]);
    (void)change_to(1);
    assert_int_equal(start(0), 1);
    for (unsigned i = 1; i < 5; i++) {
        assert_int_equal(start(i), 2, i);
        assert_int_equal(state_of(i), UPMU_SESSION_WAITING, i);
    }
    for (unsigned gone = 0; gone < 3; gone++) {
        assert_int_equal(stop(gone), 0);
        for (unsigned i = gone + 1; i < 5; i++)
            assert_int_equal(state_of(i), i < gone + 3 ? UPMU_SESSION_RUNNING : UPMU_SESSION_WAITING, i);
    }
    assert_int_equal(upmu_thread_exit(&host.threads[1]), UPMU_OK);
    host_end(&host);
}

/* A set that has not run yet has no place: the switch to it searches one, also where others run. */
static void a_set_that_is_switched_to_is_searched_for_at_once(void **state)
{
    (void)state;
    set_up();
    attach(0, "branches", false);
    assert_int_equal(start(0), 0);
    assert_int_equal(upmu_session_add_set(&host.sessions[1], &host.sets[0], 1, 0, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.sets[0], "cache-references", NULL), UPMU_OK);
    attach(1, "cache-misses", true);
    assert_int_equal(start(1), 0);
    for (unsigned round = 0; round < 2; round++) {
        assert_int_equal(made(upmu_session_switch(&host.sessions[1], &host.sets[0])), round ? 0 : 1);
        assert_int_equal(state_of(1), UPMU_SESSION_RUNNING);
        assert_int_equal(made(upmu_session_switch(&host.sessions[1], &host.sessions[1].set)), 0);
        assert_int_equal(state_of(1), UPMU_SESSION_RUNNING);
    }
    host_end(&host);
}

/* Sessions for which no switch has searched have no place: a stop that leaves nothing running looks for one of them. */
static void a_stop_searches_where_nothing_would_run(void **state)
{
    (void)state;
    set_up();
    for (unsigned i = 0; i < HOST_SESSIONS; i++) {
        attach_to_thread(i, i & 1u ? FOUR_B : FOUR_A);
        assert_int_equal(start(i), 0, i);
    }
    assert_int_equal(change_to(1), 1); /* the first one leaves no counter to the others */
    for (unsigned i = 0; i < HOST_SESSIONS; i++) {
        assert_int_equal(state_of(i), UPMU_SESSION_RUNNING, i);
        assert_int_equal(stop(i), i + 1 < HOST_SESSIONS ? 1 : 0, i);
    }
    assert_int_equal(upmu_thread_exit(&host.threads[1]), UPMU_OK);
    host_end(&host);
}

/* For sessions of a thread, those that share and those that do not, no place is searched where no counter is free. */
static void a_switch_makes_no_search_that_must_fail(void **state)
{
    (void)state;
    set_up();
    for (unsigned i = 0; i < HOST_SESSIONS; i++) {
        assert_int_equal(upmu_session_share(&host.sessions[i], i >= HOST_SESSIONS / 2), UPMU_OK, i);
        attach_to_thread(i, i & 1u ? FOUR_B : FOUR_A);
        assert_int_equal(start(i), 0, i);
    }
    assert_int_equal(change_to(1), 1);
    assert_int_equal(upmu_thread_exit(&host.threads[1]), UPMU_OK);
    host_end(&host);
}

/* An event with a register of its own beside the selects: its place is good beside the same sessions, and alone. */
static void a_place_that_was_found_beside_others_is_good_alone(void **state)
{
    (void)state;
    set_up();
    attach(0, "branches", false);
    assert_int_equal(start(0), 0);
    attach(1, "r01b7:offcore_rsp=0x10001", false);
    assert_int_equal(start(1), 0);
    assert_int_equal(stop(1), 0);
    assert_int_equal(stop(0), 0);
    assert_int_equal(start(1), 0);
    assert_int_equal(state_of(1), UPMU_SESSION_RUNNING);
    host_end(&host);
}

/* The number of an AMD core says which one has the northbridge.  A place is good on each core, so a thread keeps it. */
static void a_thread_takes_its_place_from_core_to_core_of_amd(void **state)
{
    static struct upmu_place_work works[3];

    (void)state;
    host_prepare_cpus(&host, "zen2", 3);
    host_machine(&host);
    host_take_over(&host, 3, false);
    host_threads(&host, 5);
    for (unsigned i = 0; i < 3; i++) {
        upmu_sim_switch_cpu(&host.sim, i);
        assert_int_equal(upmu_cpu_use_work(&host.cpu[i], &works[i]), UPMU_OK, i);
    }
    upmu_test_count_searches(&host.machine);
    assert_int_equal(upmu_set_add(&host.sessions[0].set, "instructions,branches", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&host.sessions[0], &host.threads[0], NULL), UPMU_OK);
    (void)made(upmu_session_start(&host.sessions[0]));
    for (unsigned cpu = 1; cpu < 3; cpu++) {
        host_thread_switch(&host, cpu, 0);
        assert_int_equal(made(UPMU_OK), cpu == 1 ? 1 : 0);
        assert_int_equal(state_of(0), UPMU_SESSION_RUNNING);
        host_work(&host, cpu, 1000);
        host_thread_switch(&host, cpu, 2 + cpu);
    }
    assert_int_not_equal(host_value(&host.sessions[0], 0), 0);
    assert_int_equal(host_count(&host.sessions[0], 0).quality, UPMU_QUALITY_EXACT);
    assert_int_equal(upmu_thread_exit(&host.threads[0]), UPMU_OK);
    host_end(&host);
}

/*
 * Aim: 1.  A switch searches for each session that it finds a place for, and not where no counter is free.  A switch
 * away searches for nothing where nothing waits.
 */
static void a_switch_searches_until_four_sessions_have_found_no_place(void **state)
{
    unsigned running = 0;

    (void)state;
    set_up();
    for (unsigned i = 0; i < HOST_SESSIONS; i++) {
        assert_int_equal(upmu_set_add(&host.sessions[i].set, i & 1u ? FOUR_B : FOUR_A, NULL), UPMU_OK, i);
        assert_int_equal(made(upmu_session_attach_thread(&host.sessions[i], &host.threads[i < 2 ? i : 2], NULL)), 1, i);
        assert_int_equal(start(i), 0, i);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(change_to(0), i ? 0 : 1, i);
        assert_int_equal(change_to(IDLE), 0);
        assert_int_equal(change_to(1), i ? 0 : 1, i);
    }
    assert_int_equal(change_to(2), 1);
    for (unsigned i = 2; i < HOST_SESSIONS; i++)
        running += host.sessions[i].state == UPMU_SESSION_RUNNING;
    assert_int_equal(running, 1);
    for (unsigned i = 0; i < 7; i++) /* a tick could move what runs: it searches once for each of the five that wait */
        assert_int_equal(tick(), i < 5 ? 1 : 0, i);
    assert_int_equal(change_to(IDLE), 0);
    for (unsigned i = 0; i < IDLE; i++)
        assert_int_equal(upmu_thread_exit(&host.threads[i]), UPMU_OK, i);
    host_end(&host);
}

/* A handler masks the session that has all counters, while another one waits for them: that gets them with the tick. */
static void a_handler_makes_no_search(void **state)
{
    struct upmu_sampling sampling = {.period = 100};

    (void)state;
    set_up();
    host.sim.port.request_tick = host_ask_tick;
    assert_int_equal(upmu_set_add(&host.sessions[0].set, FOUR_A, &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.sessions[0], host.rings[0], 256), UPMU_OK);
    upmu_session_mask_on_full(&host.sessions[0], true);
    attach(0, "instructions", false);
    attach(1, FOUR_B, true);
    (void)start(0);
    (void)start(1);
    assert_int_equal(host.sessions[1].state, UPMU_SESSION_WAITING);
    for (unsigned i = 0; i < 100 && host.sessions[0].state == UPMU_SESSION_RUNNING; i++) {
        host_run(&host, 200);
        assert_int_equal(made(UPMU_OK), 0);
    }
    assert_int_equal(host.sessions[0].state, UPMU_SESSION_MASKED);
    assert_int_equal(host.sessions[1].state, UPMU_SESSION_WAITING);
    assert_int_not_equal(host.ticks_asked, 0);
    (void)tick();
    assert_int_equal(host.sessions[1].state, UPMU_SESSION_RUNNING);
    host_end(&host);
}

/*
 * A tick finds a place for a session of the thread, meets one that is for the other type of core, and has sharing
 * sessions: it has made its search.  Catches: the session that cannot run here makes it forget that.
 */
static void a_tick_that_has_searched_leaves_sharers_to_the_next(void **state)
{
    (void)state;
    host_prepare(&host, "adl_p");
    upmu_sim_set_profile(&host.sim, 1, upmu_sim_profile("adl_e"));
    host_machine(&host);
    host_take_over(&host, 2, false);
    host_threads(&host, IDLE + 1);
    assert_int_equal(upmu_cpu_use_work(&host.cpu[0], &work), UPMU_OK);
    upmu_test_count_searches(&host.machine);
    seen = upmu_test_searches();
    attach(0, "instructions", false);
    (void)start(0);
    attach(1, "branches,branches:u,branches:k,cache-misses,cache-misses:u,cache-misses:k,cache-references:u", false);
    (void)start(1);
    attach_to_thread(2, "raw:config=0x12a:config1=0x10001,branches:u");
    attach_to_thread(3, "adl_grt::branches");
    (void)change_to(1);
    (void)start(2);
    (void)start(3);
    attach(4, "raw:config=0x12b:config1=0x10001,branches:u", true);
    (void)start(4);
    for (unsigned i = 2; i <= 4; i++)
        assert_int_equal(host.sessions[i].state, UPMU_SESSION_WAITING, i);
    assert_int_equal(stop(1), 0);
    assert_int_equal(host.sessions[2].state, UPMU_SESSION_WAITING);
    assert_int_equal(tick(), 1);
    assert_int_equal(host.sessions[2].state, UPMU_SESSION_RUNNING);
    assert_int_equal(host.sessions[4].state, UPMU_SESSION_WAITING);
    (void)tick();
    assert_int_equal(host.sessions[4].state, UPMU_SESSION_RUNNING);
    assert_int_equal(host.sessions[3].state, UPMU_SESSION_WAITING);
    assert_int_equal(upmu_thread_exit(&host.threads[1]), UPMU_OK);
    host_end(&host);
}

static void overflow_inside(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                            uint32_t address)
{
    (void)cpu, (void)number, (void)kind, (void)address;
    sim->before_access = NULL;
    host_run(sim->test, 200);
}

/*
 * A local call at whose end a session has left all general counters, as its ring is full.  The overflow interrupted the
 * call, or its interrupt is late and the call found it, or the counter was throttled, and the call takes its sample.  A
 * session that waits needs a register besides its counters, so it has no valid place beside what runs on, and a search
 * is needed.  The end of the call makes it: the next tick may be far away.
 */
static void the_end_of_a_call_that_masked_a_session_searches_once(void **state)
{
    enum { INSIDE, LATE, THROTTLED, WAYS };
    struct upmu_sampling sampling = {.period = 100};

    (void)state;
    for (unsigned way = 0; way < WAYS; way++) {
        unsigned samples = way == THROTTLED ? 1000 : 5; /* the last four stay in the ring, which is full then */
        struct upmu_sample sample;

        set_up();
        assert_int_equal(upmu_set_add(&host.sessions[0].set, "branches", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.sessions[0], host.rings[0], 256), UPMU_OK);
        upmu_session_mask_on_full(&host.sessions[0], true);
        attach(0, "cache-references,cache-misses,bus-cycles", false);
        attach(2, "cycles", false);
        (void)start(2);
        (void)start(0);
        attach(1, "raw:config=0x1b7:config1=0x10001,cache-misses:u,bus-cycles:u", true);
        (void)start(1);
        assert_int_equal(host.sessions[1].state, UPMU_SESSION_WAITING);
        upmu_sim_advance_ns(&host.sim, 20000000); /* the throttle counts from here */
        for (unsigned i = 1; i <= samples; i++) {
            host_run(&host, 200);
            while (i + 4 <= samples && upmu_ring_next(&host.sessions[0].ring, &sample))
                ;
        }
        assert_int_equal(host.sessions[0].set.tally[0].throttled, way == THROTTLED);
        if (way == INSIDE)
            host.sim.before_access = overflow_inside;
        else if (way == LATE)
            host.sim.deliver = NULL;
        if (way != INSIDE)
            host_run(&host, 200);
        assert_int_equal(host.sessions[0].state, UPMU_SESSION_RUNNING);
        assert_int_equal(made(upmu_cpu_poll(&host.cpu[0])), 1);
        assert_int_equal(host.sessions[0].state, UPMU_SESSION_MASKED);
        assert_int_equal(host.sessions[1].state, UPMU_SESSION_RUNNING);
        host_end(&host);
    }
}

/* ---- Groups: members count one list, in threads 0 to MEMBERS - 1 ---- */

#define MEMBERS 4

static struct upmu_group group;
static struct upmu_member members[MEMBERS];
static struct upmu_event events[4];
static struct upmu_place_work works[2];

/* CPUs whose idle threads are the last ones, and an empty group with a list of one PMU. */
static void set_up_group(const char *profile, const char *second, unsigned cpus, const char *const *list)
{
    unsigned count = 0;

    host_prepare_cpus(&host, profile, cpus);
    if (second)
        upmu_sim_set_profile(&host.sim, 1, upmu_sim_profile(second));
    host_machine(&host);
    host_take_over(&host, cpus, false);
    host_threads(&host, MEMBERS + cpus);
    for (unsigned i = 0; i < cpus; i++) {
        upmu_sim_switch_cpu(&host.sim, i);
        assert_int_equal(upmu_cpu_use_work(&host.cpu[i], &works[i]), UPMU_OK, i);
    }
    upmu_sim_switch_cpu(&host.sim, 0);
    memset(members, 0, sizeof members);
    for (; list[count]; count++)
        assert_int_equal(upmu_event_parse(host.cpu[0].meter.pmu, list[count], &events[count], NULL), UPMU_OK, count);
    assert_int_equal(upmu_group_init(&group, &host.machine, events, count, 0), UPMU_OK);
    upmu_test_count_searches(&host.machine);
    (void)made(UPMU_OK);
}

static unsigned join(unsigned i)
{
    return made(upmu_group_join(&group, &members[i], &host.threads[i], NULL));
}

static void join_all(void)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_int_equal(join(i), i ? 0 : 1, i);
}

/* Returns the searches of a switch of a CPU to a member, which runs then, and counts what its thread does. */
static unsigned run(unsigned i, unsigned cpu)
{
    unsigned idle = host.running[cpu], searches;
    struct upmu_session *session = &members[i].session;
    uint64_t before = host_value(session, 0);

    (void)made(UPMU_OK);
    host_thread_switch(&host, cpu, i);
    searches = made(UPMU_OK);
    assert_int_equal(session->state, UPMU_SESSION_RUNNING, i);
    host_work(&host, cpu, 1000);
    host_thread_switch(&host, cpu, idle);
    assert_int_equal(made(UPMU_OK), 0);
    assert_int_not_equal(host_value(session, 0), before);
    assert_int_equal(host_count(session, 0).quality, UPMU_QUALITY_EXACT);
    return searches;
}

/* Have two members one compiled placement? */
static bool have_one_program(unsigned a, unsigned b)
{
    struct upmu_test_program one, other;

    assert_true(upmu_test_program(&members[a].session.set, &one), a);
    assert_true(upmu_test_program(&members[b].session.set, &other), b);
    for (unsigned i = 0; i < members[a].session.set.count; i++) {
        const struct upmu_tally *tally = &members[a].session.set.tally[i], *same = &members[b].session.set.tally[i];

        if (tally->alternative != same->alternative || tally->counters != same->counters ||
            tally->counter != same->counter || memcmp(tally->slot, same->slot, sizeof tally->slot))
            return false;
    }
    return members[a].session.set.count == members[b].session.set.count && !memcmp(&one, &other, sizeof one);
}

static void end_group(void)
{
    assert_int_equal(upmu_group_close(&group), UPMU_OK);
    host_end(&host);
}

static const char *const two_events[] = {"branches", "cache-misses", NULL};
static const char *const of_user_mode[] = {"branches:u", "cache-misses:u", NULL};
static const char *const of_two_ways[] = {"branches", "branches:u", "branch-misses", NULL};
static const char *const with_a_register[] = {"branches", "r01b7:offcore_rsp=0x10001", NULL};

/* The first one is checked when it is attached, and searched for when it runs; then nothing is, on any CPU. */
static void members_of_a_group_have_one_search_for_all(void **state)
{
    (void)state;
    set_up_group("skylake", NULL, 2, two_events);
    assert_int_equal(join(0), 1);
    assert_int_equal(join(1), 0);
    assert_int_equal(run(0, 0), 1);
    assert_int_equal(run(1, 1), 0);
    assert_true(have_one_program(0, 1));
    assert_int_equal(made(upmu_group_fork(&members[1], &members[2], &host.threads[2])), UPMU_OK);
    assert_ptr_equal(members[2].group, NULL); /* of another process */
    host.threads[2].pid = host.threads[1].pid;
    assert_int_equal(made(upmu_group_fork(&members[1], &members[2], &host.threads[2])), 0);
    assert_ptr_equal(members[2].group, &group);
    assert_int_equal(run(2, 0), 0);
    assert_int_equal(run(2, 1), 0);
    assert_int_equal(run(0, 1), 0);
    assert_true(have_one_program(0, 2));
    for (unsigned i = 1; i < 2; i++)
        assert_int_equal(host_value(&members[2].session, i), 2 * host_value(&members[1].session, i), i);
    end_group();
}

/* Threads that run already on both CPUs join. */
static void a_member_that_joins_while_it_runs_makes_no_search_either(void **state)
{
    (void)state;
    set_up_group("skylake", NULL, 2, two_events);
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        host_thread_switch(&host, cpu, cpu);
        assert_int_equal(made(upmu_group_join(&group, &members[cpu], &host.threads[cpu], &host.cpu[cpu])),
                         cpu ? 0 : 2);
        assert_int_equal(members[cpu].session.state, UPMU_SESSION_RUNNING, cpu);
    }
    assert_true(have_one_program(0, 1));
    end_group();
}

/* Number 0 of AMD's cores is a kind of its own (core/engine/placed.h): each kind has one search. */
static void each_kind_of_cpu_has_a_search(void **state)
{
    (void)state;
    set_up_group("zen2", NULL, 2, of_user_mode);
    join_all();
    assert_int_equal(run(0, 1), 1);
    assert_int_equal(run(1, 1), 0);
    assert_true(have_one_program(0, 1));
    assert_int_equal(run(2, 0), 1);
    assert_int_equal(run(3, 0), 0);
    assert_true(have_one_program(2, 3));
    end_group();
}

/* The second event of NetBurst cannot have the register of the first one, and is counted in another way. */
static void a_program_has_the_ways_of_its_events(void **state)
{
    bool another = false;

    (void)state;
    set_up_group("northwood_smtoff", NULL, 2, of_two_ways);
    join_all();
    assert_int_equal(run(0, 0), 1);
    for (unsigned i = 0; i < 3; i++)
        another |= members[0].session.set.tally[i].alternative != 0;
    assert_true(another);
    assert_int_equal(run(1, 0), 0);
    assert_int_equal(run(2, 1), 0);
    assert_true(have_one_program(0, 1));
    assert_true(have_one_program(0, 2));
    end_group();
}

/* A list for the big cores of a hybrid: on the other cores members wait, and take no program. */
static void a_program_for_another_pmu_is_not_taken(void **state)
{
    (void)state;
    set_up_group("adl_p", "adl_e", 2, two_events);
    join_all();
    assert_int_equal(run(0, 0), 1);
    host_thread_switch(&host, 1, 1);
    assert_int_equal(members[1].session.state, UPMU_SESSION_WAITING);
    assert_int_equal(members[1].session.set.counters, 0);
    host_thread_switch(&host, 1, MEMBERS + 1);
    (void)made(UPMU_OK);
    assert_int_equal(run(1, 0), 0);
    assert_true(have_one_program(0, 1));
    end_group();
}

/* Reserve counters on a CPU, and no others. */
static void reserve(unsigned cpu, uint32_t counters)
{
    upmu_sim_switch_cpu(&host.sim, cpu);
    upmu_cpu_unreserve(&host.cpu[cpu], ~0u);
    assert_int_equal(upmu_cpu_reserve(&host.cpu[cpu], counters), UPMU_OK, counters);
}

/* The host has reserved counters of the program on one CPU: there a member gets others, and nowhere else. */
static void a_reserved_counter_of_the_program_makes_a_search(void **state)
{
    uint32_t reserved;

    (void)state;
    set_up_group("skylake", NULL, 2, two_events);
    join_all();
    assert_int_equal(run(0, 0), 1);
    reserved = members[0].session.set.counters;
    reserve(1, reserved);
    assert_int_equal(run(1, 1), 1);
    assert_int_equal(members[1].session.set.counters & reserved, 0);
    assert_int_equal(run(2, 0), 0);
    assert_true(have_one_program(0, 2));
    /* member 1 has counted elsewhere: it is searched for where its own counters are reserved */
    reserve(1, members[1].session.set.counters);
    assert_int_equal(run(3, 1), 0);
    assert_true(have_one_program(0, 3));
    assert_int_equal(run(1, 1), 1);
    assert_int_equal(host_value(&members[1].session, 0), 2 * host_value(&members[3].session, 0));
    end_group();
}

/*
 * Another counter than the program's is reserved.  The program is valid where it needs no other register; else other
 * software may have that register with its counter.  Where the same counter is reserved, it is valid again.
 */
static void another_reserved_counter_matters_to_a_shared_register(void **state)
{
    (void)state;
    for (unsigned shares = 0; shares < 2; shares++) {
        set_up_group("skylake", NULL, 2, shares ? with_a_register : two_events);
        join_all();
        reserve(0, 8);
        reserve(1, 4);
        assert_int_equal(run(0, 0), 1);
        assert_int_equal(members[0].session.set.counters & 12, 0);
        assert_int_equal(run(1, 1), shares);
        assert_int_equal(run(2, 0), 0);
        reserve(1, 8);
        assert_int_equal(run(3, 1), 0);
        end_group();
    }
}

/* A list that the host has changed in one member is no longer the group's. */
static void a_member_with_another_list_takes_and_gives_nothing(void **state)
{
    struct upmu_event other;

    (void)state;
    for (unsigned way = 0; way < 2; way++) {
        set_up_group("skylake", NULL, 1, two_events);
        join_all();
        assert_int_equal(upmu_event_parse(host.cpu[0].meter.pmu, "bus-cycles", &other, NULL), UPMU_OK);
        for (unsigned i = 0; i < 4; i += 2) {
            struct upmu_session *session = &members[i].session;

            assert_int_equal(upmu_session_stop(session), UPMU_OK, i);
            if (way) {
                assert_int_equal(upmu_session_detach(session), UPMU_OK, i);
                assert_int_equal(upmu_set_clear(&session->set), UPMU_OK, i);
                assert_int_equal(upmu_set_add_event(&session->set, &other, NULL), UPMU_OK, i);
                assert_int_equal(upmu_session_attach_thread(session, &host.threads[i], NULL), UPMU_OK, i);
            } else {
                assert_int_equal(upmu_set_replace_event(&session->set, 0, &other, NULL), UPMU_OK, i);
            }
            assert_int_equal(upmu_session_start(session), UPMU_OK, i);
        }
        assert_int_equal(run(0, 0), 1); /* and gives nothing */
        assert_int_equal(run(1, 0), 1);
        assert_int_equal(run(2, 0), 1); /* and takes nothing */
        assert_int_equal(run(3, 0), 0);
        assert_true(have_one_program(1, 3));
        assert_false(have_one_program(0, 1));
        assert_false(have_one_program(2, 1));
        end_group();
    }
}

/* A session of a member that is attached anew is as any other. */
static void a_member_that_is_attached_anew_is_searched_for(void **state)
{
    struct upmu_session *session = &members[1].session;

    (void)state;
    set_up_group("skylake", NULL, 1, two_events);
    join_all();
    assert_int_equal(run(0, 0), 1);
    assert_int_equal(upmu_session_detach(session), UPMU_OK);
    assert_int_equal(made(upmu_session_attach_thread(session, &host.threads[1], NULL)), 1);
    assert_int_equal(upmu_session_start(session), UPMU_OK);
    assert_int_equal(run(1, 0), 1);
    end_group();
}

/* Other sessions share all counters: they leave them for a new member, without a search. */
static void sharers_leave_their_counters_for_a_new_member(void **state)
{
    (void)state;
    set_up_group("skylake", NULL, 1, two_events);
    join_all();
    assert_int_equal(run(0, 0), 1);
    attach(0, FOUR_A, true);
    assert_int_equal(start(0), 0);
    assert_int_equal(run(1, 0), 0);
    assert_int_equal(host.sessions[0].state, UPMU_SESSION_RUNNING);
    end_group();
}

static struct upmu_backend meeting;
static void (*render)(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned alternative,
                      const uint8_t *counter, unsigned flags, struct upmu_image *image);
static unsigned meetings;

/* CPU 0 compiles the placement of member 0: meanwhile CPU 1 switches to member 1, and does the same. */
static void render_and_meet(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned alternative,
                            const uint8_t *counter, unsigned flags, struct upmu_image *image)
{
    if (meetings == 1) {
        meetings++;
        host_thread_switch(&host, 1, 1);
        upmu_sim_switch_cpu(&host.sim, 0);
    }
    render(pmu, event, alternative, counter, flags, image);
}

/* Two CPUs search for the first two members at once: both run, and the later ones take the program of one of them. */
static void members_that_two_cpus_place_at_once_have_two_programs(void **state)
{
    (void)state;
    set_up_group("skylake", NULL, 2, two_events);
    join_all();
    meeting = *host.machine.pmu[0].backend;
    render = meeting.render;
    meeting.render = render_and_meet;
    host.machine.pmu[0].backend = &meeting;
    meetings = 1;
    (void)made(UPMU_OK);
    host_thread_switch(&host, 0, 0);
    assert_int_equal(meetings, 2);
    assert_int_equal(made(UPMU_OK), 2);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(members[i].session.state, UPMU_SESSION_RUNNING, i);
    host_work(&host, 0, 1000);
    host_work(&host, 1, 2000);
    host_thread_switch(&host, 0, MEMBERS);
    host_thread_switch(&host, 1, MEMBERS + 1);
    assert_int_equal(host_value(&members[1].session, 0), 2 * host_value(&members[0].session, 0));
    assert_false(have_one_program(0, 1)); /* their stamps differ */
    assert_int_equal(run(2, 0), 0);
    assert_true(have_one_program(1, 2));
    assert_int_equal(run(3, 1), 0);
    assert_true(have_one_program(1, 3));
    end_group();
}

/* Another CPU is storing the program: a member does not wait for that. */
static void a_program_that_is_being_stored_is_not_taken(void **state)
{
    (void)state;
    set_up_group("skylake", NULL, 1, two_events);
    join_all();
    assert_int_equal(run(0, 0), 1);
    for (unsigned i = 0; i < UPMU_COMPILED_KINDS; i++)
        group.state.compiled[i].state = 1;
    assert_int_equal(run(1, 0), 1);
    assert_false(have_one_program(0, 1));
    end_group();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_attachment_makes_two_searches_and_what_has_a_place_none),
        cmocka_unit_test(sharers_take_turns_without_a_search),
        cmocka_unit_test(a_stop_leaves_the_search_to_the_tick),
        cmocka_unit_test(what_waits_comes_in_the_order_of_its_starts_without_a_search),
        cmocka_unit_test(a_set_that_is_switched_to_is_searched_for_at_once),
        cmocka_unit_test(a_stop_searches_where_nothing_would_run),
        cmocka_unit_test(a_switch_makes_no_search_that_must_fail),
        cmocka_unit_test(a_place_that_was_found_beside_others_is_good_alone),
        cmocka_unit_test(a_thread_takes_its_place_from_core_to_core_of_amd),
        cmocka_unit_test(a_switch_searches_until_four_sessions_have_found_no_place),
        cmocka_unit_test(a_handler_makes_no_search),
        cmocka_unit_test(a_tick_that_has_searched_leaves_sharers_to_the_next),
        cmocka_unit_test(the_end_of_a_call_that_masked_a_session_searches_once),
        cmocka_unit_test(members_of_a_group_have_one_search_for_all),
        cmocka_unit_test(a_member_that_joins_while_it_runs_makes_no_search_either),
        cmocka_unit_test(each_kind_of_cpu_has_a_search),
        cmocka_unit_test(a_program_has_the_ways_of_its_events),
        cmocka_unit_test(a_program_for_another_pmu_is_not_taken),
        cmocka_unit_test(a_reserved_counter_of_the_program_makes_a_search),
        cmocka_unit_test(another_reserved_counter_matters_to_a_shared_register),
        cmocka_unit_test(a_member_with_another_list_takes_and_gives_nothing),
        cmocka_unit_test(a_member_that_is_attached_anew_is_searched_for),
        cmocka_unit_test(sharers_leave_their_counters_for_a_new_member),
        cmocka_unit_test(members_that_two_cpus_place_at_once_have_two_programs),
        cmocka_unit_test(a_program_that_is_being_stored_is_not_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
