/* SPDX-License-Identifier: MIT */
/*
 * Two hyper-threads of a Pentium 4 that call the library at the same moment: each
 * runs on a stack of its own, and at every hook the other one may go on.
 *
 * Which one does is a schedule: the first k hooks of one thread, then m of the other,
 * and so on by turns; or drawn by lot (the seed is printed by a failure).  Whatever
 * the order, each thread must get its own events, to the last one, and its samples.
 * With `schedule=… seed=…` (or `k=… m=…`) that one run is played and told.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "tests/common/assertions.h"

#include "models/sim/sim.h"
#include <upmu/cpu.h>
#include <upmu/session.h>
#include <upmu/upmu.h>

#define STACK 0x40000
#define EVENTS 3

/* What a thread does. */
struct part {
    const char *list;
    uint64_t period;
    const char *second; /* another session beside it, or NULL */
};

static struct {
    struct upmu_sim sim;
    struct upmu_port hooks; /* the model's own */
    struct upmu_machine machine;
    struct upmu_domain domain;
    struct upmu_domain *domains[2];
    struct upmu_cpu cpu[2];
    struct upmu_session session[2], beside[2];
    uint64_t ring[2][256];
    ucontext_t main, thread[2];
    unsigned current; /* thread that runs */
    bool done[2];
    unsigned in_handler;
    uint64_t ran[2];      /* instructions while the session certainly ran */
    uint64_t ran_beside[2];
    uint64_t possible[2]; /* between entering a start and leaving its stop */
    uint64_t retired[2];
    unsigned refused; /* starts that had to wait for the other's counters */
    /* The schedule. */
    unsigned k, m;
    uint64_t random;
    bool by_lot, told;
    unsigned left;
    uint32_t hooks_seen;
    bool failed;
    char failure[200];
} t;

static char stacks[2][STACK];
static uint32_t runs, switches;
static const struct part *parts;

static void fails(const char *text, uint64_t got, uint64_t wanted)
{
    if (!t.failed)
        snprintf(t.failure, sizeof t.failure, "%s: %llu, not %llu", text, (unsigned long long)got,
                 (unsigned long long)wanted);
    t.failed = true;
}

/* ---- Schedules ---- */

static void go_on(unsigned thread)
{
    unsigned from = t.current;

    switches++;
    t.current = thread;
    upmu_sim_switch_cpu(&t.sim, thread);
    swapcontext(&t.thread[from], &t.thread[thread]);
    upmu_sim_switch_cpu(&t.sim, t.current);
}

static unsigned turn(void)
{
    if (!t.by_lot)
        return t.current == 0 ? t.m : t.k;
    t.random = t.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(t.random >> 60) + 1;
}

/* A hook is entered: the other thread's turn? */
static void hook(void)
{
    t.hooks_seen++;
    if (t.in_handler || t.done[!t.current])
        return;
    if (t.left != 0) {
        t.left--;
        return;
    }
    t.left = turn();
    go_on(!t.current);
}

static bool thread_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    hook();
    return t.hooks.rdmsr(context, msr, out_value);
}

static bool thread_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    hook();
    if (t.told)
        printf("    CPU %u wrmsr %x %llx\n", t.current, (unsigned)msr, (unsigned long long)value);
    return t.hooks.wrmsr(context, msr, value);
}

static bool thread_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    hook();
    return t.hooks.rdpmc(context, index, out_value);
}

static struct upmu_cpu *thread_this_cpu(void *context)
{
    hook();
    return t.hooks.this_cpu(context);
}

static void thread_pmi_rearm(void *context)
{
    hook();
    t.hooks.pmi_rearm(context);
}

static uint64_t thread_clock_ns(void *context)
{
    hook();
    return t.hooks.clock_ns(context);
}

static void deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};

    (void)sim;
    t.in_handler++;
    if (upmu_pmi_handle(&t.cpu[cpu], &frame) == UPMU_PMI_NOT_OURS)
        fails("an interrupt answered NOT_OURS on CPU", cpu, 2);
    t.in_handler--;
}

/* ---- What a thread does ---- */

static void work(unsigned cpu, uint64_t instructions, bool certain)
{
    upmu_sim_switch_cpu(&t.sim, cpu);
    t.retired[cpu] += instructions;
    upmu_sim_events(&t.sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                     .cycles = 2 * instructions,
                                                     .branches = instructions / 10,
                                                     .ip = 0x1000,
                                                     .ip_step = 1});
    if (certain)
        t.ran[cpu] += instructions;
}

/* Started; the other thread may hold what it needs at first. */
static bool started(struct upmu_session *session)
{
    for (unsigned attempt = 0; attempt < 50; attempt++) {
        enum upmu_status status = upmu_session_start(session);

        if (status == UPMU_OK)
            return true;
        if (status != UPMU_ERR_LOST_CLAIM && status != UPMU_ERR_DOES_NOT_FIT) {
            fails(upmu_status_text(status), status, UPMU_OK);
            return false;
        }
        t.refused++;
        if (!t.done[!t.current])
            go_on(!t.current);
    }
    fails("a start never succeeded", 0, 1);
    return false;
}

static void one_round(unsigned cpu)
{
    uint64_t entered = t.retired[cpu];

    if (!started(&t.session[cpu]))
        return;
    work(cpu, 700, true);
    if (parts[cpu].second && started(&t.beside[cpu])) {
        work(cpu, 300, true);
        t.ran_beside[cpu] += 300;
        if (upmu_session_stop(&t.beside[cpu]) != UPMU_OK)
            fails("stop of the second session", 0, 1);
    }
    work(cpu, 610, true);
    if (upmu_session_stop(&t.session[cpu]) != UPMU_OK)
        fails("stop", 0, 1);
    t.possible[cpu] += t.retired[cpu] - entered;
    work(cpu, 90, false);
}

static void thread_main(void)
{
    unsigned cpu = t.current;

    upmu_sim_switch_cpu(&t.sim, cpu);
    if (upmu_session_attach_cpu(&t.session[cpu], &t.cpu[cpu]) != UPMU_OK)
        fails("attach", 0, 1);
    if (parts[cpu].second && upmu_session_attach_cpu(&t.beside[cpu], &t.cpu[cpu]) != UPMU_OK)
        fails("attach", 0, 2);
    for (unsigned i = 0; i < 3; i++)
        one_round(cpu);
    if (upmu_session_detach(&t.session[cpu]) != UPMU_OK)
        fails("detach", 0, 1);
    t.done[cpu] = true;
    if (!t.done[!cpu]) {
        t.current = !cpu;
        upmu_sim_switch_cpu(&t.sim, !cpu);
        setcontext(&t.thread[!cpu]);
    }
    setcontext(&t.main);
}

/* ---- One run ---- */

static void set_up(const char *profile)
{
    bool by_lot = t.by_lot, told = t.told;
    unsigned k = t.k, m = t.m;
    uint64_t random = t.random;

    memset(&t, 0, sizeof t);
    t.by_lot = by_lot, t.told = told, t.k = k, t.m = m, t.random = random;
    upmu_sim_init(&t.sim, upmu_sim_profile(profile), 2);
    t.sim.deliver = deliver;
    t.hooks = t.sim.port;
    upmu_domain_init(&t.domain, UPMU_SCOPE_CORE);
    t.domains[0] = &t.domain;
    assert_int_equal(upmu_machine_init(&t.machine, upmu_sim_port(&t.sim)), UPMU_OK);
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        struct upmu_sampling sampling = {.period = parts[cpu].period};

        upmu_sim_switch_cpu(&t.sim, cpu);
        upmu_sim_bind_cpu(&t.sim, cpu, &t.cpu[cpu]);
        assert_int_equal(upmu_cpu_init(&t.cpu[cpu], &t.machine, t.domains), UPMU_OK, cpu);
        assert_int_equal(upmu_session_init(&t.session[cpu], &t.machine), UPMU_OK, cpu);
        assert_int_equal(upmu_session_init(&t.beside[cpu], &t.machine), UPMU_OK, cpu);
        assert_int_equal(upmu_set_add(&t.session[cpu].set, parts[cpu].list, &sampling), UPMU_OK, cpu);
        if (parts[cpu].period)
            assert_int_equal(upmu_session_ring(&t.session[cpu], t.ring[cpu], sizeof t.ring[cpu]), UPMU_OK, cpu);
        if (parts[cpu].second)
            assert_int_equal(upmu_set_add(&t.beside[cpu].set, parts[cpu].second, NULL), UPMU_OK, cpu);
    }
    t.sim.port.rdmsr = thread_rdmsr;
    t.sim.port.wrmsr = thread_wrmsr;
    t.sim.port.rdpmc = thread_rdpmc;
    t.sim.port.this_cpu = thread_this_cpu;
    t.sim.port.pmi_rearm = thread_pmi_rearm;
    t.sim.port.clock_ns = thread_clock_ns;
}

/* What each event of a session's list makes of this many instructions: none happen while a call starts or stops it. */
static void check_events(const struct upmu_session *session, const char *list, uint64_t instructions)
{
    for (unsigned i = 0; i < session->set.count; i++) {
        uint64_t expected = !strncmp(list, "cycles", 6)     ? 2 * instructions
                            : !strncmp(list, "branches", 8) ? instructions / 10
                                                            : instructions;

        if (session->set.tally[i].total != expected)
            fails(list, session->set.tally[i].total, expected);
        list = strchr(list, ',') ? strchr(list, ',') + 1 : list;
    }
}

/* Events of the list: the first is instructions. */
static void check(unsigned cpu)
{
    struct upmu_session *session = &t.session[cpu];
    struct upmu_sample sample;
    uint64_t total = session->set.tally[0].total;
    uint64_t taken = session->set.tally[0].lost;

    if (total < t.ran[cpu])
        fails("too few instructions", total, t.ran[cpu]);
    if (total > t.possible[cpu])
        fails("too many instructions", total, t.possible[cpu]);
    check_events(session, parts[cpu].list, t.ran[cpu]);
    if (parts[cpu].second)
        check_events(&t.beside[cpu], parts[cpu].second, t.ran_beside[cpu]);
    while (upmu_ring_next(&session->ring, &sample))
        taken += 1 + sample.lost;
    if (parts[cpu].period) {
        uint64_t periods = 0;

        for (uint64_t rest = total; rest >= parts[cpu].period; rest -= parts[cpu].period)
            periods++;
        if (taken != periods)
            fails("samples", taken, periods);
    }
}

static void begin_thread(unsigned cpu)
{
    getcontext(&t.thread[cpu]);
    t.thread[cpu].uc_stack.ss_sp = stacks[cpu];
    t.thread[cpu].uc_stack.ss_size = STACK;
    t.thread[cpu].uc_link = NULL;
    makecontext(&t.thread[cpu], thread_main, 0);
}

/* The other thread starts with thread_main() too: `current` tells it which thread it is. */
static bool play(const char *profile)
{
    set_up(profile);
    begin_thread(0);
    begin_thread(1);
    t.left = t.by_lot ? turn() : t.k;
    t.current = 0;
    runs++;
    swapcontext(&t.main, &t.thread[0]);
    t.sim.port = t.hooks;
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        check(cpu);
        upmu_sim_switch_cpu(&t.sim, cpu);
        if (upmu_cpu_fini(&t.cpu[cpu]) != UPMU_OK)
            fails("cpu_fini", 0, 1);
    }
    for (unsigned n = 0; n < UPMU_SIM_P4_COUNTERS; n++)
        if (upmu_sim_peek(&t.sim, 0, 0x360 + n) != 0)
            fails("a CCCR is left behind", n, 0);
    if (t.sim.violation_count)
        fails(t.sim.first_violation.text, t.sim.first_violation.address, 0);
    return !t.failed;
}

/* ---- Tests ---- */

static const char *const profiles[] = {"prescott", "northwood", "cedarmill"};

static const struct part alike[2] = {{"instructions,cycles", 0, NULL}, {"instructions,cycles", 0, NULL}};
static const struct part sampling[2] = {{"instructions,branches", 400, NULL}, {"instructions,branches", 300, NULL}};
static const struct part crossed[2] = {{"instructions", 400, "cycles,branches"},
                                       {"instructions,branches", 0, "cycles,cycles"}};
/* Each thread wants all of what there is one of: half of the rounds wait. */
static const struct part rivals[2] = {{"instr_retired:NBOGUSNTAG:NBOGUSTAG:counter=12", 0, NULL},
                                      {"instr_retired:NBOGUSNTAG:NBOGUSTAG:counter=12", 0, NULL}};

static const struct {
    const char *name;
    const struct part *parts;
} duets[] = {{"alike", alike}, {"sampling", sampling}, {"crossed", crossed}, {"rivals", rivals}};

/* Switching is slow to check where it is instrumented. */
#if defined(__SANITIZE_ADDRESS__)
#define LOTS 60
#define LONGEST 6
#else
#define LOTS 1500
#define LONGEST 24
#endif

static void tell(const char *duet, const char *profile)
{
    if (t.by_lot)
        print_error("%s\n    test_threads duet=%s profile=%s seed=%llu\n", t.failure, duet, profile,
                    (unsigned long long)t.random);
    else
        print_error("%s\n    test_threads duet=%s profile=%s k=%u m=%u\n", t.failure, duet, profile, t.k, t.m);
}

static void by_turns(unsigned duet)
{
    unsigned bad = 0;

    parts = duets[duet].parts;
    t.by_lot = false;
    for (unsigned p = 0; p < 3; p++)
        for (unsigned k = 0; k <= LONGEST && bad < 3; k++)
            for (unsigned m = 0; m <= LONGEST && bad < 3; m++) {
                t.k = k;
                t.m = m;
                if (!play(profiles[p])) {
                    tell(duets[duet].name, profiles[p]);
                    bad++;
                }
            }
    assert_int_equal(bad, 0);
}

static void by_lot(unsigned duet)
{
    unsigned bad = 0;

    parts = duets[duet].parts;
    t.by_lot = true;
    for (uint64_t seed = 1; seed <= LOTS && bad < 3; seed++) {
        t.random = seed * UINT64_C(0x9e3779b97f4a7c15);
        if (!play(profiles[seed % 3])) {
            t.random = seed * UINT64_C(0x9e3779b97f4a7c15);
            tell(duets[duet].name, profiles[seed % 3]);
            bad++;
        }
    }
    t.by_lot = false;
    assert_int_equal(bad, 0);
}

static void threads_that_count_the_same_do_not_meet(void **state)
{
    (void)state;
    by_turns(0);
    by_lot(0);
}

static void threads_that_sample_get_their_own_samples(void **state)
{
    (void)state;
    by_turns(1);
    by_lot(1);
}

static void sessions_that_come_and_go_on_both_threads_do_not_meet(void **state)
{
    (void)state;
    by_turns(2);
    by_lot(2);
}

static void rivals_for_one_counter_have_it_by_turns(void **state)
{
    unsigned refused = 0;

    (void)state;
    by_turns(3);
    refused += t.refused;
    by_lot(3);
    refused += t.refused;
    assert_compare(refused, >, 0);
}

static int tell_one(int count, char **arguments)
{
    const char *profile = "prescott";

    for (int i = 1; i < count; i++) {
        const char *value = strchr(arguments[i], '=');

        if (!value)
            return 2;
        value++;
        for (unsigned d = 0; d < sizeof duets / sizeof duets[0]; d++)
            if (!strncmp(arguments[i], "duet=", 5) && !strcmp(value, duets[d].name))
                parts = duets[d].parts;
        if (!strncmp(arguments[i], "profile=", 8))
            profile = value;
        if (!strncmp(arguments[i], "k=", 2))
            t.k = (unsigned)strtoul(value, NULL, 10);
        if (!strncmp(arguments[i], "m=", 2))
            t.m = (unsigned)strtoul(value, NULL, 10);
        if (!strncmp(arguments[i], "seed=", 5)) {
            t.by_lot = true;
            t.random = strtoull(value, NULL, 10);
        }
    }
    if (!parts)
        return 2;
    t.told = true;
    if (play(profile))
        return 0;
    printf("%s\n", t.failure);
    return 1;
}

int main(int count, char **arguments)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_count_the_same_do_not_meet),
        cmocka_unit_test(threads_that_sample_get_their_own_samples),
        cmocka_unit_test(sessions_that_come_and_go_on_both_threads_do_not_meet),
        cmocka_unit_test(rivals_for_one_counter_have_it_by_turns),
    };
    int failed;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (count > 1)
        return tell_one(count, arguments);
    failed = cmocka_run_group_tests_name("threads", tests, NULL, NULL);
    printf("%u runs, %u changes of thread\n", (unsigned)runs, (unsigned)switches);
    return failed;
}
