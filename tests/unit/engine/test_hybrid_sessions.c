/* SPDX-License-Identifier: MIT */
/*
 * Hybrid sessions: a thread on a machine with two core types, counted on both.  What a sum is compared with is counted
 * beside the library: the work that the thread was given, and the model's time.
 */
#include "tests/common/host.h"
#include <upmu/event.h>
#include <upmu/hybrid.h>

#define CPUS 4 /* 0 and 1 are P-cores, 2 and 3 E-cores */
#define IDLE (HOST_THREADS - CPUS)
#define P 0
#define E 1

static struct host host;
static struct upmu_hybrid *hybrid;
static uint64_t memory[UPMU_HYBRID_WORDS(UPMU_CORE_TYPES, UPMU_SET_EVENTS) + 1];

/* What thread 0 did on each core type. */
static struct {
    uint64_t instructions[2], ns[2];
    uint64_t came_ns;
} truth;

/* Whether counters are read by RDPMC; else by RDMSR, where the model can let one register fault. */
static bool by_rdpmc = true;

static void set_up_machine(const char *p, const char *e)
{
    memset(&truth, 0, sizeof truth);
    host_prepare_cpus(&host, p, CPUS);
    if (!by_rdpmc)
        host.sim.port.rdpmc = NULL;
    for (unsigned cpu = 2; cpu < CPUS; cpu++)
        upmu_sim_set_profile(&host.sim, cpu, upmu_sim_profile(e));
    host_machine(&host);
    host_take_over(&host, CPUS, false);
    host_threads(&host, HOST_THREADS);
}

static void make(unsigned events)
{
    memset(memory, 0x5a, sizeof memory);
    assert_int_equal(upmu_hybrid_init(memory, sizeof memory, &host.machine, events, &hybrid), UPMU_OK);
    assert_ptr_equal(hybrid, memory);
}

/* A hybrid session of thread 0, which is started. */
static void follow(const char *list)
{
    make(UPMU_SET_EVENTS);
    assert_int_equal(upmu_hybrid_add(hybrid, list), UPMU_OK);
    assert_int_equal(upmu_hybrid_attach_thread(hybrid, &host.threads[0], NULL), UPMU_OK);
    assert_int_equal(upmu_hybrid_start(hybrid), UPMU_OK);
}

static unsigned type_of(unsigned cpu)
{
    return cpu < 2 ? P : E;
}

static void come(unsigned cpu)
{
    truth.came_ns = host.sim.now_ns;
    host_thread_switch(&host, cpu, 0);
}

static void leave(unsigned cpu)
{
    host_thread_switch(&host, cpu, IDLE + cpu);
    truth.ns[type_of(cpu)] += host.sim.now_ns - truth.came_ns;
}

static void work(unsigned cpu, uint64_t instructions)
{
    host_work(&host, cpu, instructions);
    truth.instructions[type_of(cpu)] += instructions;
}

static struct upmu_count sum_of(unsigned i)
{
    struct upmu_count count;

    assert_int_equal(upmu_hybrid_read(hybrid, i, 1, &count), UPMU_OK, i);
    return count;
}

static struct upmu_count on_type(unsigned type, unsigned i)
{
    struct upmu_count count;

    assert_int_equal(upmu_hybrid_read_type(hybrid, type, i, 1, &count), UPMU_OK, type, i);
    return count;
}

static void tear_down(void)
{
    assert_int_equal(upmu_hybrid_close(hybrid), UPMU_OK);
    for (unsigned type = 0; type < hybrid->types; type++)
        assert_int_equal(hybrid->session[type]->state, UPMU_SESSION_CLOSED, type);
    host_no_violation(&host);
    host_end_idle(&host);
}

/* Compare sums and parts with what thread 0 did; it does not run. */
static void check_truth(unsigned step)
{
    static const unsigned each[] = {10, 2, 1}; /* tenths of the instructions: instructions, branches, references */
    uint64_t tolerance_ns = 20u + step * 4u;

    for (unsigned i = 0; i < 3; i++) {
        struct upmu_count sum = sum_of(i), parts = {0};

        for (unsigned type = 0; type < 2; type++) {
            struct upmu_count part = on_type(type, i);

            assert_int_equal(part.raw, truth.instructions[type] / 10u * each[i], step, i, type);
            assert_int_equal(part.enabled_ns, part.running_ns, step, i, type);
            assert_in_range(part.enabled_ns, truth.ns[type] > tolerance_ns ? truth.ns[type] - tolerance_ns : 0,
                            truth.ns[type], step, i, type);
            parts.raw += part.raw;
            parts.enabled_ns += part.enabled_ns;
            parts.running_ns += part.running_ns;
        }
        assert_int_equal(sum.raw, parts.raw, step, i);
        assert_int_equal(sum.value, parts.raw, step, i);
        assert_int_equal(sum.enabled_ns, parts.enabled_ns, step, i);
        assert_int_equal(sum.running_ns, parts.running_ns, step, i);
        assert_int_equal(sum.quality, UPMU_QUALITY_EXACT, step, i);
    }
}

static uint64_t draw;

static unsigned below(unsigned bound)
{
    draw = draw * UINT64_C(6364136223846793005) + 1;
    return (unsigned)(draw >> 40) % bound;
}

static void follow_random_moves(const char *p, const char *e)
{
    uint64_t stopped[2];

    draw = 76;
    set_up_machine(p, e);
    follow("instructions,branches,cache-references");
    assert_int_equal(sum_of(0).quality, UPMU_QUALITY_NEVER_RAN);
    for (unsigned step = 1; step <= 2000; step++) {
        unsigned cpu = below(CPUS), other = below(CPUS);

        come(cpu);
        work(cpu, 10u * (1u + below(300)));
        if (!below(8))
            assert_int_equal(upmu_cpu_tick(&host.cpu[cpu]), UPMU_OK, step);
        leave(cpu);
        upmu_sim_switch_cpu(&host.sim, other);
        host_work(&host, other, 777); /* of no thread that is followed */
        if (step % 50 == 0)
            check_truth(step);
    }
    assert_compare(truth.instructions[P], >, 0);
    assert_compare(truth.instructions[E], >, 0);
    for (unsigned type = 0; type < 2; type++)
        stopped[type] = on_type(type, 0).raw;
    assert_int_equal(upmu_hybrid_stop(hybrid), UPMU_OK);
    come(0), host_work(&host, 0, 100), leave(0);
    come(2), host_work(&host, 2, 100), leave(2);
    assert_int_equal(upmu_hybrid_detach(hybrid), UPMU_OK);
    for (unsigned type = 0; type < 2; type++) {
        assert_int_equal(hybrid->session[type]->state, UPMU_SESSION_DETACHED, type);
        assert_int_equal(on_type(type, 0).raw, stopped[type], type);
    }
    tear_down();
}

static void a_thread_that_moves_at_random_has_exact_sums(void **state)
{
    (void)state;
    follow_random_moves("adl_p", "adl_e");
    follow_random_moves("mtl_p", "mtl_e");
}

/*
 * On the other core type neither a switch nor a tick looks at the session.
 * Catches: a session that waits on a CPU of the other type, is refused there, or has enabled time.
 */
static void the_session_of_the_other_type_stays_apart(void **state)
{
    (void)state;
    set_up_machine("adl_p", "adl_e");
    follow("instructions,branches");
    for (unsigned i = 0; i < 4; i++) {
        unsigned cpu = i < 2 ? 2 : 0, here = type_of(cpu), there = 1 - here;

        come(cpu);
        work(cpu, 1000);
        if (i & 1u)
            assert_int_equal(upmu_cpu_tick(&host.cpu[cpu]), UPMU_OK);
        assert_int_equal(hybrid->session[here]->state, UPMU_SESSION_RUNNING, i);
        assert_int_equal(hybrid->session[there]->state, UPMU_SESSION_WAITING, i);
        assert_null(hybrid->session[there]->meter);
        assert_int_equal(hybrid->session[there]->why.status, UPMU_OK, i);
        if (i < 2) {
            assert_int_equal(on_type(there, 0).enabled_ns, 0, i);
            assert_int_equal(on_type(there, 0).quality, UPMU_QUALITY_NEVER_RAN, i);
            assert_int_equal(sum_of(0).quality, UPMU_QUALITY_EXACT, i); /* a type where it never ran is no gap */
        }
        leave(cpu);
    }
    assert_int_equal(sum_of(0).raw, 4000);
    tear_down();
}

/* The E-cores' counters are the host's all the time, or the first half of it. */
static void a_type_without_free_counters_makes_the_sum_partial(void **state)
{
    (void)state;
    for (unsigned half = 0; half < 2; half++) {
        struct upmu_count sum, on_e;
        uint64_t came_ns, ran_ns;

        set_up_machine("adl_p", "adl_e");
        follow("instructions,branches");
        for (unsigned cpu = 2; cpu < CPUS; cpu++) {
            upmu_sim_switch_cpu(&host.sim, cpu);
            assert_int_equal(upmu_cpu_reserve(&host.cpu[cpu], host.cpu[cpu].meter.pmu->counters), UPMU_OK, cpu);
        }
        come(0), work(0, 10000), leave(0);
        came_ns = host.sim.now_ns;
        come(2), work(2, 5000);
        if (half) {
            upmu_cpu_unreserve(&host.cpu[2], ~0u);
            assert_int_equal(upmu_cpu_tick(&host.cpu[2]), UPMU_OK);
            work(2, 5000);
        }
        ran_ns = host.sim.now_ns - came_ns;
        leave(2);
        for (unsigned i = 0; i < 2; i++) {
            sum = sum_of(i);
            on_e = on_type(E, i);
            assert_int_equal(sum.raw, (half ? 15000u : 10000u) / (i ? 5u : 1u), half, i);
            assert_int_equal(sum.quality, half ? UPMU_QUALITY_SCALED : UPMU_QUALITY_PARTIAL, half, i);
            assert_in_range(on_e.enabled_ns, ran_ns - 10, ran_ns + 10, half, i);
            assert_in_range(on_e.running_ns, half ? ran_ns / 2 - 20 : 0, half ? ran_ns / 2 + 20 : 0, half, i);
            assert_int_equal(sum.enabled_ns, on_type(P, i).enabled_ns + on_e.enabled_ns, half, i);
            assert_int_equal(sum.running_ns, on_type(P, i).running_ns + on_e.running_ns, half, i);
            assert_int_equal(on_type(P, i).quality, UPMU_QUALITY_EXACT, half, i);
            if (half)
                assert_in_range(sum.value, 19000u / (i ? 5u : 1u), 21000u / (i ? 5u : 1u), i);
        }
        tear_down();
    }
}

/* The thread runs while the sessions are attached and started, and goes to the other type then. */
static void a_thread_that_runs_is_followed_from_the_start_on(void **state)
{
    (void)state;
    for (unsigned cpu = 0; cpu < CPUS; cpu += 2) {
        set_up_machine("adl_p", "adl_e");
        make(1);
        assert_int_equal(upmu_hybrid_add(hybrid, "instructions"), UPMU_OK);
        come(cpu);
        assert_int_equal(upmu_hybrid_attach_thread(hybrid, &host.threads[0], &host.cpu[cpu]), UPMU_OK, cpu);
        work(cpu, 50);
        assert_int_equal(upmu_hybrid_start(hybrid), UPMU_OK, cpu);
        work(cpu, 100);
        leave(cpu);
        come(2 - cpu), work(2 - cpu, 10), leave(2 - cpu);
        assert_int_equal(sum_of(0).raw, 110, cpu);
        assert_int_equal(on_type(type_of(cpu), 0).raw, 100, cpu);
        tear_down();
    }
}

/* A CPU of one type cannot hold the thread's lists: the count of that type is partial, that of the other is not. */
static void a_type_that_could_not_be_linked_is_partial_alone(void **state)
{
    (void)state;
    for (unsigned type = 0; type < 2; type++) {
        unsigned cpu = type ? 3 : 1;

        set_up_machine("adl_p", "adl_e");
        follow("instructions");
        come(0), work(0, 100), leave(0);
        come(2), work(2, 100), leave(2);
        host.threads[0].held = 1;
        come(cpu), work(cpu, 1000), leave(cpu);
        host.threads[0].held = 0;
        assert_int_equal(on_type(type, 0).quality, UPMU_QUALITY_PARTIAL, type);
        assert_int_equal(on_type(1 - type, 0).quality, UPMU_QUALITY_EXACT, type);
        assert_int_equal(sum_of(0).quality, UPMU_QUALITY_PARTIAL, type);
        come(cpu), work(cpu, 7), leave(cpu);
        assert_int_equal(on_type(type, 0).quality, UPMU_QUALITY_PARTIAL, type);
        assert_int_equal(on_type(1 - type, 0).quality, UPMU_QUALITY_EXACT, type);
        assert_int_equal(sum_of(0).raw, 207, type);
        tear_down();
    }
}

static void memory_is_what_its_macro_and_function_say(void **state)
{
    uint8_t *const bytes = (uint8_t *)memory;
    size_t need;

    (void)state;
    set_up_machine("adl_p", "adl_e");
    for (unsigned events = 1; events <= UPMU_SET_EVENTS; events++)
        for (unsigned types = 1; types <= UPMU_CORE_TYPES; types++)
            assert_int_equal(upmu_hybrid_bytes(types, events), 8 * UPMU_HYBRID_WORDS(types, events), events, types);
    assert_int_equal(upmu_hybrid_bytes(0, 1), 0);
    assert_int_equal(upmu_hybrid_bytes(UPMU_CORE_TYPES + 1, 1), 0);
    assert_int_equal(upmu_hybrid_bytes(2, 0), 0);
    assert_int_equal(upmu_hybrid_bytes(2, UPMU_SET_EVENTS + 1), 0);
    need = upmu_hybrid_bytes(2, 2);
    memset(memory, 0x5a, sizeof memory);
    assert_int_equal(upmu_hybrid_init(memory, need - 1, &host.machine, 2, &hybrid), UPMU_ERR_NO_SPACE);
    assert_int_equal(upmu_hybrid_init(bytes + 1, need + 8, &host.machine, 2, &hybrid), UPMU_ERR_NO_SPACE);
    assert_int_equal(upmu_hybrid_init(memory, sizeof memory, &host.machine, 0, &hybrid), UPMU_ERR_INVALID);
    assert_int_equal(upmu_hybrid_init(memory, sizeof memory, &host.machine, UPMU_SET_EVENTS + 1, &hybrid),
                     UPMU_ERR_INVALID);
    assert_int_equal(bytes[0], 0x5a);
    assert_int_equal(upmu_hybrid_init(memory, need, &host.machine, 2, &hybrid), UPMU_OK);
    assert_int_equal(hybrid->types, 2);
    assert_int_equal(upmu_hybrid_add(hybrid, "instructions,cycles"), UPMU_OK);
    assert_int_equal(upmu_hybrid_add(hybrid, "branches"), UPMU_ERR_NO_SPACE);
    assert_int_equal(hybrid->session[P]->set.count, 2);
    for (size_t i = need; i < sizeof memory; i++)
        assert_int_equal(bytes[i], 0x5a, i);
    tear_down();
}

/* Before any CPU is initialised there is no PMU; with one core type there is one session. */
static void a_machine_with_one_core_type_has_one_session(void **state)
{
    (void)state;
    host_prepare_cpus(&host, "skylake", CPUS);
    host_machine(&host);
    assert_int_equal(upmu_hybrid_init(memory, sizeof memory, &host.machine, 1, &hybrid), UPMU_ERR_NO_PMU);
    host_take_over(&host, CPUS, false);
    host_threads(&host, HOST_THREADS);
    follow("instructions");
    assert_int_equal(hybrid->types, 1);
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        come(cpu), host_work(&host, cpu, 100), leave(cpu);
    assert_int_equal(sum_of(0).raw, 400);
    assert_int_equal(sum_of(0).quality, UPMU_QUALITY_EXACT);
    tear_down();
}

static void refuse(enum upmu_status status, enum upmu_status wanted, unsigned type, const char *what)
{
    if (status != wanted || hybrid->refused != type || hybrid->session[type]->why.status != wanted)
        fail_msg("%s: %d by type %u, why %d", what, (int)status, hybrid->refused,
                 (int)hybrid->session[hybrid->refused]->why.status);
    for (unsigned i = 0; i < hybrid->types; i++)
        assert_int_equal(hybrid->session[i]->set.count, 1, i);
}

/* All events or none; what was refused says for which core type. */
static void events_are_added_for_each_type_or_for_none(void **state)
{
    const char *const uneven[] = {"cycles,branches", "cycles"};
    const char *const own[] = {"adl_glc::mem_load_retired.l3_hit", "adl_grt::mem_load_uops_retired.l3_hit"};
    const char *const wrong[] = {"cycles", "adl_glc::cycles"};
    const struct upmu_event *events[2];
    struct upmu_event event[2];

    (void)state;
    set_up_machine("adl_p", "adl_e");
    make(4);
    assert_int_equal(upmu_hybrid_add(hybrid, "branches"), UPMU_OK);
    refuse(upmu_hybrid_add(hybrid, "cycles,,"), UPMU_ERR_SYNTAX, P, "syntax");
    refuse(upmu_hybrid_add(hybrid, "cycles,mem_load_retired.l3_hit"), UPMU_ERR_NO_SUCH_EVENT, E, "a name of one type");
    refuse(upmu_hybrid_add(hybrid, "adl_glc::cycles"), UPMU_ERR_WRONG_PMU, E, "a prefix of type 0");
    refuse(upmu_hybrid_add(hybrid, "cycles,adl_grt::cycles"), UPMU_ERR_WRONG_PMU, P, "a prefix of type 1");
    refuse(upmu_hybrid_add_each(hybrid, uneven), UPMU_ERR_INVALID, E, "lists of two lengths");
    refuse(upmu_hybrid_add_each(hybrid, wrong), UPMU_ERR_WRONG_PMU, E, "a list of the other type");
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(upmu_event_parse(upmu_machine_pmu(&host.machine, i), "cycles", &event[i], NULL), UPMU_OK, i);
        events[i] = &event[i];
    }
    events[E] = &event[P];
    refuse(upmu_hybrid_add_event(hybrid, events), UPMU_ERR_WRONG_PMU, E, "an event of the other type");
    events[E] = &event[E];
    assert_int_equal(upmu_hybrid_add_event(hybrid, events), UPMU_OK);
    assert_int_equal(upmu_hybrid_add_each(hybrid, own), UPMU_OK);
    for (unsigned type = 0; type < 2; type++)
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(hybrid->session[type]->set.event[i].pmu, type, i);
    assert_int_equal(hybrid->session[E]->set.count, 3);
    tear_down();
}

/* An attach or a start that one session refuses leaves the others as they were. */
static void an_attach_or_a_start_is_for_all_or_for_none(void **state)
{
    struct upmu_count counts[2];

    (void)state;
    set_up_machine("adl_p", "adl_e");
    make(4);
    assert_int_equal(upmu_hybrid_attach_thread(hybrid, &host.threads[0], NULL), UPMU_ERR_STATE); /* no events */
    assert_int_equal(upmu_hybrid_add(hybrid, "instructions"), UPMU_OK);
    assert_int_equal(upmu_hybrid_start(hybrid), UPMU_ERR_STATE);
    assert_int_equal(upmu_set_add(&hybrid->session[E]->set, "adl_grt::cycles", NULL), UPMU_OK);
    assert_int_equal(upmu_hybrid_attach_thread(hybrid, &host.threads[0], NULL), UPMU_ERR_INVALID);
    assert_int_equal(hybrid->refused, E);
    assert_int_equal(hybrid->session[E]->why.status, UPMU_ERR_INVALID);
    assert_int_equal(hybrid->session[P]->state, UPMU_SESSION_DETACHED);
    assert_int_equal(upmu_set_add(&hybrid->session[P]->set, "cycles", NULL), UPMU_OK);
    assert_int_equal(upmu_hybrid_attach_thread(hybrid, &host.threads[0], NULL), UPMU_OK);
    assert_int_equal(upmu_hybrid_attach_thread(hybrid, &host.threads[0], NULL), UPMU_ERR_STATE);
    hybrid->session[E]->held = 1; /* as inside a call on another CPU */
    assert_int_equal(upmu_hybrid_start(hybrid), UPMU_ERR_BUSY);
    assert_int_equal(hybrid->refused, E);
    assert_int_equal(hybrid->session[P]->state, UPMU_SESSION_STOPPED);
    hybrid->session[E]->held = 0;
    assert_int_equal(upmu_hybrid_start(hybrid), UPMU_OK);
    hybrid->session[P]->held = 1; /* the other session stops all the same */
    assert_int_equal(upmu_hybrid_stop(hybrid), UPMU_ERR_BUSY);
    assert_int_equal(hybrid->refused, P);
    assert_int_equal(hybrid->session[E]->state, UPMU_SESSION_STOPPED);
    hybrid->session[P]->held = 0;
    assert_int_equal(upmu_hybrid_stop(hybrid), UPMU_OK);
    assert_int_equal(upmu_hybrid_read(hybrid, 0, 3, counts), UPMU_ERR_INVALID);
    assert_int_equal(upmu_hybrid_read(hybrid, 2, 1, counts), UPMU_ERR_INVALID);
    assert_int_equal(upmu_hybrid_read(hybrid, 0, 2, counts), UPMU_OK);
    assert_int_equal(upmu_hybrid_read_type(hybrid, 2, 0, 1, counts), UPMU_ERR_INVALID);
    assert_int_equal(upmu_hybrid_read_type(hybrid, E, 2, 1, counts), UPMU_ERR_INVALID);
    tear_down();
}

/* A counter of one type faults: the sum has the rest, and is partial. */
static void a_fault_on_one_type_makes_the_sum_partial(void **state)
{
    struct upmu_count count;

    (void)state;
    by_rdpmc = false;
    set_up_machine("adl_p", "adl_e");
    by_rdpmc = true;
    follow("instructions");
    come(2), work(2, 500), leave(2);
    come(0), work(0, 1000);
    host.sim.expect_faults = true;
    host.sim.fault_address = 0x309;
    assert_int_equal(upmu_hybrid_read(hybrid, 0, 1, &count), UPMU_ERR_PORT);
    host.sim.fault_address = 0;
    assert_int_equal(count.quality, UPMU_QUALITY_PARTIAL);
    assert_int_equal(count.raw, 500);
    assert_int_equal(sum_of(0).raw, 1500);
    leave(0);
    assert_int_equal(upmu_hybrid_close(hybrid), UPMU_OK);
    host_end_idle(&host);
}

/* A session has one limit, which is a core type of its own machine. */
static void a_limit_to_a_core_type_is_one_of_the_machine(void **state)
{
    static struct upmu_pmu other;
    struct upmu_session *session = &host.sessions[0];

    (void)state;
    set_up_machine("adl_p", "adl_e");
    host_add(&host, 0, "instructions", 0);
    assert_int_equal(upmu_session_limit_pmu(session, &other), UPMU_ERR_INVALID);
    assert_int_equal(upmu_session_limit_pmu(session, &host.machine.pmu[2]), UPMU_ERR_INVALID);
    assert_int_equal(upmu_session_limit_pmu(session, &host.machine.pmu[E]), UPMU_OK);
    assert_int_equal(upmu_session_limit_cpu(session, &host.cpu[1]), UPMU_OK); /* in place of the other */
    assert_int_equal(upmu_session_attach_thread(session, &host.threads[0], NULL), UPMU_OK);
    assert_int_equal(upmu_session_limit_pmu(session, NULL), UPMU_ERR_STATE);
    assert_int_equal(upmu_session_start(session), UPMU_OK);
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        come(cpu), work(cpu, 100), leave(cpu);
    assert_int_equal(host_count(session, 0).raw, 100);
    assert_int_equal(upmu_session_detach(session), UPMU_OK);
    assert_int_equal(upmu_session_limit_pmu(session, NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(session, &host.threads[0], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(session), UPMU_OK);
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        come(cpu), work(cpu, 100), leave(cpu);
    assert_int_equal(host_count(session, 0).raw, 300);
    assert_int_equal(upmu_session_close(session), UPMU_OK);
    host_end_idle(&host);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_moves_at_random_has_exact_sums),
        cmocka_unit_test(the_session_of_the_other_type_stays_apart),
        cmocka_unit_test(a_type_without_free_counters_makes_the_sum_partial),
        cmocka_unit_test(a_thread_that_runs_is_followed_from_the_start_on),
        cmocka_unit_test(a_type_that_could_not_be_linked_is_partial_alone),
        cmocka_unit_test(memory_is_what_its_macro_and_function_say),
        cmocka_unit_test(a_machine_with_one_core_type_has_one_session),
        cmocka_unit_test(events_are_added_for_each_type_or_for_none),
        cmocka_unit_test(an_attach_or_a_start_is_for_all_or_for_none),
        cmocka_unit_test(a_fault_on_one_type_makes_the_sum_partial),
        cmocka_unit_test(a_limit_to_a_core_type_is_one_of_the_machine),
    };

    return cmocka_run_group_tests_name("hybrid_sessions", tests, NULL, NULL);
}
