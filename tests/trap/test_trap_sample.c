/* SPDX-License-Identifier: MIT */
/*
 * Samples of real instructions: 1000 overflows at a period of 100 are 1000 samples,
 * 100 instructions apart.  Where the n-th instruction after the enabling write led is
 * remembered by the harness, which knows nothing of counters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/assertions.h"
#include <upmu/format.h>
#include <upmu/session.h>

#include "tests/common/share.h"
#include "tests/common/workload.h"
#include "tests/trap/trap.h"

#define PERIOD 100u
#define SAMPLES 1000u

/* Runs of a thousand samples: in the soak, on each profile once, in 32 bits. */
#define RUNS 20u
#define RUNS_64 PROFILES
#define RUNS_32 3u

/* As many passes as so many samples need, the last one's skid included. */
#define PASSES_FOR(samples) ((samples)*PERIOD / WORKLOAD_INSTRUCTIONS + 3)

static struct trap trap;

static bool workload_holds(uint64_t ip)
{
    return ip >= (uintptr_t)workload_begin && ip < (uintptr_t)workload_end;
}

/* Start, enough passes, stop. */
static void run(const char *event, uint32_t samples)
{
    trap_up(&trap);
    trap_session(&trap, event, PERIOD);
    trap_step_on(&trap);
    assert_int_equal(upmu_session_start(&trap.session), UPMU_OK);
    workload(PASSES_FOR(samples));
    assert_int_equal(upmu_session_stop(&trap.session), UPMU_OK);
    trap_step_off(&trap);
}

/* On a Pentium 4 the interrupt comes with the event after the overflow (Intel SDM vol 3 18.15). */
static unsigned one_event_late(void)
{
    return trap.sim.profile->flags & UPMU_SIM_P4 && trap.sim.rule[UPMU_SIM_RULE_P4_PMI_NEXT];
}

/*
 * Every sample is where the harness was after `PERIOD` more counted steps and the
 * skid.  Returns how many there were; those of the workload in *out_inside.
 */
static unsigned check_samples(unsigned *out_inside)
{
    uint64_t expected = 0;
    struct upmu_sample sample;
    unsigned samples = 0, inside = 0;

    while (upmu_ring_next(&trap.session.ring, &sample)) {
        samples++;
        expected = (uint64_t)samples * PERIOD + trap.sim.skid + one_event_late();
        if (trap.rings == TRAP_RING_KERNEL && !trap.enabling_counts)
            expected++;
        assert_compare(expected, <, TRAP_SEEN);
        assert_int_equal((uint32_t)sample.ip, trap.seen[expected], expected);
        assert_int_equal(sample.events, 1);
        assert_int_equal(sample.lost, 0);
        assert_int_equal(sample.flags, trap.rings == TRAP_RING_WORKLOAD ? UPMU_SAMPLE_USER : 0);
        inside += workload_holds(sample.ip);
    }
    assert_int_equal(upmu_ring_lost(&trap.session.ring), 0);
    assert_int_equal(trap.sim.cpu[0].pmi_dropped, 0);
    assert_int_equal(trap.session.set.tally[0].lost, 0);
    assert_int_equal(trap.answers[UPMU_PMI_HANDLED], samples);
    assert_int_equal(trap.interrupts, samples);
    assert_int_equal(trap.eois, trap.vector ? samples : 0);
    *out_inside = inside;
    return samples;
}

/*
 * Everything is ring 0: the samples outside of the workload are those of the instructions that start executes behind
 * its enabling write, and stop before its disabling one: 400 to 650 in any build, on a Pentium 4, too.  More of them
 * are a longer way through start or stop, or a handler that is counted.
 */
#define OUTSIDE 8u

static void kernel_run(const char *event, uint32_t passed)
{
    unsigned inside, samples;

    run(event, passed);
    samples = check_samples(&inside);
    assert_int_equal(samples, trap_value(&trap, 0) / PERIOD);
    assert_int_equal(trap_value(&trap, 0), trap_between(&trap) + trap.enabling_counts + trap.disabling_counts);
    assert_in_range(inside, passed - 1, passed + 3);
    assert_in_range(samples - inside, 0, OUTSIDE);
    trap_down(&trap);
}

/* The workload is ring 3: exactly so many samples, all of them in it. */
static void user_run(const char *event, uint32_t samples)
{
    unsigned inside;

    run(event, samples);
    assert_int_equal(check_samples(&inside), samples);
    assert_int_equal(inside, samples);
    assert_int_equal(trap_value(&trap, 0), PASSES_FOR(samples) * WORKLOAD_INSTRUCTIONS + WORKLOAD_AROUND_INSTRUCTIONS);
    trap_down(&trap);
}

/* ---- 20 of 20 ---- */

static const char *const profiles[] = {"core2",   "skylake", "k8_revc",   "zen4", "version1",
                                       "nehalem", "icelake", "bulldozer", "zen2"};
#define PROFILES (sizeof profiles / sizeof profiles[0])

static void a_thousand_overflows_are_a_thousand_samples_in_every_run(void **state)
{
    bool few = !trap_soaks();
    unsigned runs = !few ? RUNS : sizeof(void *) == 4 ? RUNS_32 : RUNS_64;

    (void)state;
    for (unsigned i = 0; i < runs; i++) {
        const char *profile = profiles[i % PROFILES];
        uint32_t samples = few && (i || sizeof(void *) == 4) ? SAMPLES / 10 : SAMPLES;

        trap_prepare(&trap, profile);
        trap.x2apic = i >> 1 & 1;
        trap.no_rdpmc = i % 3 == 2;
        trap.rings = i & 1 ? TRAP_RING_WORKLOAD : TRAP_RING_KERNEL;
        /* (a vector waits while start and stop have interrupts off: the sample is later than the overflow) */
        trap.vector = (i & 5) == 5 ? 0xe0 : 0;
        trap.enabling_counts = i % 7 != 3;
        if (i & 1)
            user_run("instructions:u", samples);
        else
            kernel_run("instructions", samples);
    }
    printf("%u of %u runs, %s %u samples%s, %u instructions apart%s\n", runs, RUNS,
           few && sizeof(void *) == 4 ? "each of a tenth of" : "one of", SAMPLES,
           !few                  ? " as all"
           : sizeof(void *) == 4 ? ""
                                 : ", the others of a tenth",
           PERIOD, few ? "; all with TRAP_RUNS=soak" : "");
}

/* F12, F29, F43: no common gate, the counters' own enables. */
static void a_pentium_4_samples_as_exactly_and_one_event_late(void **state)
{
    static const char *const pentiums[] = {"willamette", "northwood_smtoff", "nocona"};

    uint32_t samples = trap_soaks() ? SAMPLES : SAMPLES / 10;

    (void)state;
    printf("%u samples of %u on each Pentium 4%s\n", samples, SAMPLES, trap_soaks() ? "" : "; all with TRAP_RUNS=soak");
    for (unsigned i = 0; i < 3; i++) {
        trap_prepare(&trap, pentiums[i]);
        trap.rings = TRAP_RING_WORKLOAD;
        trap.vector = i == 1 ? 0xe0 : 0;
        trap.x2apic = i == 2;
        trap.sim.rule[UPMU_SIM_RULE_P4_PMI_NEXT] = i != 1;
        user_run("instructions:u", samples);
        trap_prepare(&trap, pentiums[i]);
        trap.no_rdpmc = i == 1;
        kernel_run("instructions", samples / 4);
    }
    for (unsigned i = 0; i < 3; i++) {
        trap_prepare(&trap, pentiums[i]);
        trap.rings = TRAP_RING_WORKLOAD;
        trap.step_handler = true;
        trap.vector = i == 1 ? 0xe0 : 0;
        user_run("instructions:u", trap_soaks() ? 20 : 7);
    }
}

/* As many instructions as are asked for, to SLIDE: it is entered so far from its end. */
#define SLIDE 100
void trap_slide(void);
__asm__(".text\n.globl trap_slide\ntrap_slide:\n\t.rept 100\n\tnop\n\t.endr\n\tret\n");

static void slide(unsigned instructions)
{
    ((void (*)(void))((uintptr_t)trap_slide + SLIDE - instructions))();
}

/* It is started, runs for so many instructions, and is stopped, or its thread leaves. */
static void start_and_stop(unsigned instructions)
{
    assert_int_equal(upmu_session_start(&trap.session), UPMU_OK);
    slide(instructions);
    assert_int_equal(upmu_session_stop(&trap.session), UPMU_OK);
}

static struct upmu_thread one, other;

static void come_and_go(unsigned instructions)
{
    assert_int_equal(upmu_thread_switch(&trap.cpu, &other, &one), UPMU_OK);
    slide(instructions);
    assert_int_equal(upmu_thread_switch(&trap.cpu, &one, &other), UPMU_OK);
}

static void check_phase(unsigned phase, bool of_thread)
{
    unsigned inside;

    trap_up(&trap);
    trap_session(&trap, "instructions", PERIOD);
    if (of_thread) {
        upmu_thread_init(&one, 1, 1, NULL);
        upmu_thread_init(&other, 2, 2, NULL);
        assert_int_equal(upmu_session_detach(&trap.session), UPMU_OK);
        assert_int_equal(upmu_session_attach_thread(&trap.session, &one, NULL), UPMU_OK);
        assert_int_equal(upmu_session_start(&trap.session), UPMU_OK);
        /* (The first time it is placed, after that its registers are there.) */
        come_and_go(0);
        come_and_go(0);
    }
    trap_step_on(&trap);
    (of_thread ? come_and_go : start_and_stop)(phase);
    trap_step_off(&trap);
    assert_int_equal(trap_value(&trap, 0), trap_between(&trap) + trap.enabling_counts + trap.disabling_counts);
    assert_int_equal(check_samples(&inside), trap_value(&trap, 0) / PERIOD);
    if (of_thread)
        assert_int_equal(upmu_thread_exit(&one), UPMU_OK);
    trap_down(&trap);
}

/* An overflow at each of their instructions, as the first comes one instruction later each time. */
static void a_stop_and_a_switch_lose_no_event_wherever_an_overflow_comes(void **state)
{
    static const char *const some[] = {"skylake", "version1", "zen2", "nocona"};
    unsigned pace = trap_soaks() ? 1 : share_few(3, 5), models = trap_soaks() ? 4 : 1;

    (void)state;
    for (unsigned i = 0; i < models; i++)
        for (unsigned phase = 0; phase < PERIOD; phase += pace)
            for (unsigned of_thread = 0; of_thread < 2; of_thread++) {
                trap_prepare(&trap, some[i]);
                check_phase(phase, of_thread);
            }
    printf("an overflow at one instruction in %u of a stop and of a switch, %u of 4 models%s\n", pace, models,
           trap_soaks() ? "" : "; all with TRAP_RUNS=soak");
}

/* ---- Masked in a switch ---- */

#define LONGER 4000u /* than the rest of a quick switch, and shorter than one that is not quick */
#define CLOSING 1200u /* a later write of the switch opens what is masked, until the end of its bracket closes it */

static unsigned overflows;

static unsigned mask_at_once(void *unused, const struct upmu_overflow *overflow, bool notify)
{
    (void)unused, (void)overflow, (void)notify;
    overflows++;
    return UPMU_OVERFLOW_MASK;
}

static void follow(struct upmu_session *session, const char *event, struct upmu_thread *thread)
{
    assert_int_equal(upmu_session_init(session, &trap.machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&session->set, event, NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(session, thread, NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(session), UPMU_OK);
}

/*
 * The CPU's session overflows so many instructions `after` the begin of a switch; returns how often.  `steps`: what it
 * counts before that without a delay, or 0: that is found, and returned.
 */
static uint64_t mask_in_switch(uint64_t steps, unsigned after)
{
    static const struct upmu_format format = {.name = "masks", .overflow = mask_at_once};
    static struct upmu_session first, second;
    static struct upmu_thread idle;
    uint64_t begun;

    trap_prepare(&trap, "skylake");
    trap_up(&trap);
    trap_session(&trap, "instructions", LONGER);
    assert_int_equal(upmu_session_detach(&trap.session), UPMU_OK);
    assert_int_equal(upmu_session_format(&trap.session, &format, NULL, 0), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&trap.session, &trap.cpu), UPMU_OK);
    upmu_thread_init(&idle, 0, 0, NULL);
    upmu_thread_init(&one, 1, 1, NULL);
    upmu_thread_init(&other, 2, 2, NULL);
    follow(&first, "branches", &one);
    follow(&second, "cycles", &other);
    for (unsigned i = 0; i < 2; i++) { /* (The first time they are placed.) */
        assert_int_equal(upmu_thread_switch(&trap.cpu, &idle, &one), UPMU_OK);
        assert_int_equal(upmu_thread_switch(&trap.cpu, &one, &other), UPMU_OK);
        assert_int_equal(upmu_thread_switch(&trap.cpu, &other, &idle), UPMU_OK);
    }
    assert_int_equal(upmu_thread_switch(&trap.cpu, &idle, &one), UPMU_OK);
    overflows = 0;
    trap_step_on(&trap);
    assert_int_equal(upmu_session_start(&trap.session), UPMU_OK);
    for (unsigned left = steps ? LONGER - (unsigned)steps - after : 0; left; left -= left < SLIDE ? left : SLIDE)
        slide(left < SLIDE ? left : SLIDE);
    if (!steps)
        trap_step_off(&trap);
    begun = steps ? 0 : trap_value(&trap, 0);
    assert_int_equal(upmu_thread_switch(&trap.cpu, &one, &other), UPMU_OK);
    trap_step_off(&trap);
    assert_in_range(overflows, 0, 1);
    assert_in_range(trap_value(&trap, 0), 0, LONGER + CLOSING);
    assert_int_equal(upmu_session_close(&first), UPMU_OK);
    assert_int_equal(upmu_session_close(&second), UPMU_OK);
    assert_int_equal(upmu_thread_exit(&one), UPMU_OK);
    assert_int_equal(upmu_thread_exit(&other), UPMU_OK);
    trap_down(&trap);
    return steps ? overflows : begun;
}

/*
 * The CPU's session is masked by a handler in the first steps of a switch of threads.
 * Catches: a switch that opens its counters with those of the thread that comes, or as it stops those of the thread
 * that leaves, and lets them run on.
 */
static void what_is_masked_in_a_switch_stays_masked(void **state)
{
    uint64_t steps = mask_in_switch(0, 0);
    unsigned after = 0;

    (void)state;
    while (after < LONGER / 2 && mask_in_switch(steps, after))
        after += trap_soaks() ? 7 : share_few(50, 90);
    assert_compare(after, >, 700);
}

static void general_counters_sample_as_fixed_ones_do(void **state)
{
    (void)state;
    trap_prepare(&trap, "skylake");
    trap.rings = TRAP_RING_WORKLOAD;
    user_run("INST_RETIRED.ANY_P:u", 200);
    trap_prepare(&trap, "core2");
    trap.rings = TRAP_RING_WORKLOAD;
    user_run("INST_RETIRED.ANY_P:u", 200);
}

static void skid_moves_every_sample_by_as_much(void **state)
{
    static const uint32_t skids[] = {1, 3, 16};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        trap_prepare(&trap, profiles[i % 2]);
        trap.rings = TRAP_RING_WORKLOAD;
        trap.sim.skid = skids[i];
        user_run("instructions:u", 100);
    }
}

static void a_status_that_comes_late_changes_no_sample(void **state)
{
    (void)state;
    trap_prepare(&trap, "skylake");
    trap.rings = TRAP_RING_WORKLOAD;
    trap.sim.status_lag = 5;
    run("instructions:u", 100);
    assert_int_equal(trap_value(&trap, 0), PASSES_FOR(100) * WORKLOAD_INSTRUCTIONS + WORKLOAD_AROUND_INSTRUCTIONS);
    assert_int_equal(trap.session.set.tally[0].overflows, 100);
    trap_down(&trap);
}

static void branches_are_sampled_at_branches(void **state)
{
    struct upmu_sample sample;
    unsigned samples = 0;

    (void)state;
    trap_prepare(&trap, "skylake");
    trap.rings = TRAP_RING_WORKLOAD;
    run("branches:u", 100);
    while (upmu_ring_next(&trap.session.ring, &sample)) {
        samples++;
        assert_true(workload_holds(sample.ip));
    }
    /* (one at the end belongs to the workload's return) */
    assert_int_equal(samples, (PASSES_FOR(100) * WORKLOAD_BRANCHES + WORKLOAD_AROUND_BRANCHES) / PERIOD);
    trap_down(&trap);
}

/* ---- The handler's own instructions ---- */

/* Ring 3 is sampled, the handler is ring 0: it may take as long as it likes. */
static void a_stepped_handler_leaves_the_other_ring_alone(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        trap_prepare(&trap, profiles[i % 2]);
        trap.rings = TRAP_RING_WORKLOAD;
        trap.step_handler = true;
        trap.vector = i & 2 ? 0xe0 : 0;
        user_run("instructions:u", trap_soaks() ? 40 : 8);
    }
}

/*
 * Ring 0 is sampled, the handler in it: what it executes before it has closed the gate
 * and after it has opened it is counted, as on silicon, and is in the next period.
 */
static void a_stepped_handler_counts_itself_and_loses_nothing(void **state)
{
    uint32_t passes = trap_soaks() ? 3000 : 700;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_sampling every = {.period = 1000};
        struct upmu_sample sample;
        unsigned samples = 0, counter;
        uint64_t value;

        trap_prepare(&trap, profiles[i]);
        trap.step_handler = true;
        trap_up(&trap);
        assert_int_equal(upmu_session_init(&trap.session, &trap.machine), UPMU_OK);
        assert_int_equal(upmu_set_add(&trap.session.set, "instructions", &every), UPMU_OK);
        assert_int_equal(upmu_session_ring(&trap.session, trap.ring, sizeof trap.ring), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&trap.session, &trap.cpu), UPMU_OK);
        trap_step_on(&trap);
        assert_int_equal(upmu_session_start(&trap.session), UPMU_OK);
        workload(passes);
        assert_int_equal(upmu_session_stop(&trap.session), UPMU_OK);
        trap_step_off(&trap);
        value = trap_value(&trap, 0);
        counter = trap.session.set.tally[0].counter;
        assert_int_equal(value, trap.sim.cpu[0].counter[counter].counted, counter);
        assert_true(value > passes * WORKLOAD_INSTRUCTIONS && value < trap.steps);
        assert_int_equal(value, trap_between(&trap) + trap.enabling_counts + trap.disabling_counts);
        while (upmu_ring_next(&trap.session.ring, &sample))
            samples++;
        assert_int_equal(samples, value / 1000);
        assert_int_equal(trap.session.set.tally[0].lost, 0);
        trap_down(&trap);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_overflows_are_a_thousand_samples_in_every_run),
        cmocka_unit_test(a_pentium_4_samples_as_exactly_and_one_event_late),
        cmocka_unit_test(a_stop_and_a_switch_lose_no_event_wherever_an_overflow_comes),
        cmocka_unit_test(what_is_masked_in_a_switch_stays_masked),
        cmocka_unit_test(general_counters_sample_as_fixed_ones_do),
        cmocka_unit_test(skid_moves_every_sample_by_as_much),
        cmocka_unit_test(a_status_that_comes_late_changes_no_sample),
        cmocka_unit_test(branches_are_sampled_at_branches),
        cmocka_unit_test(a_stepped_handler_leaves_the_other_ring_alone),
        cmocka_unit_test(a_stepped_handler_counts_itself_and_loses_nothing),
    };

    if (!trap_able())
        return 0;
    return cmocka_run_group_tests_name("trap_sample", tests, NULL, NULL);
}
