/* SPDX-License-Identifier: MIT */
/*
 * Thread switches, starts, stops, reads, interrupts and ticks with hooks that do nothing: run under callgrind by
 * tools/bench.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <upmu/cpu.h>
#include <upmu/event.h>
#include <upmu/group.h>
#include <upmu/place.h>
#include <upmu/session.h>
#include <upmu/upmu.h>
#include "models/sim/sim.h"
#include "tests/bench/callgrind_count.h"

#define MANY 10000

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_place_work work;
static struct upmu_cpu other_cpu[64];
static struct upmu_session first, second, third, many[MANY];
static struct upmu_thread idle, one, other, wide;
static struct upmu_group group;
static struct upmu_member parent, child;
static struct upmu_region region;
static struct upmu_count counts[UPMU_SET_EVENTS];
static uint64_t ring[4096], status_register, value_of_all, now_ns;
static uint64_t value_of[64];
static enum upmu_status last_status;
static enum upmu_pmi last_answer;
static unsigned clocks, lookups_of_cpu;

static void must(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

/* ---- Hooks ---- */

static bool quick_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    (void)context;
    (void)msr;
    *out_value = status_register;
    return true;
}

static bool quick_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    (void)context;
    (void)msr;
    (void)value;
    return true;
}

static bool quick_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    (void)context;
    *out_value = value_of_all + value_of[index & 63u];
    return true;
}

static struct upmu_cpu *quick_this_cpu(void *context)
{
    (void)context;
    lookups_of_cpu++;
    return &cpu;
}

static uintptr_t quick_irq_save(void *context)
{
    (void)context;
    return 0;
}

static void quick_irq_restore(void *context, uintptr_t state)
{
    (void)context;
    (void)state;
}

static void quick_rearm(void *context)
{
    (void)context;
}

static uint64_t quick_clock(void *context)
{
    (void)context;
    clocks++;
    return now_ns += 1000;
}

/* From here on the model is out of it. */
static void empty_hooks(void)
{
    sim.port.rdmsr = quick_rdmsr;
    sim.port.wrmsr = quick_wrmsr;
    sim.port.rdpmc = quick_rdpmc;
    sim.port.this_cpu = quick_this_cpu;
    sim.port.irq_save = quick_irq_save;
    sim.port.irq_restore = quick_irq_restore;
    sim.port.pmi_rearm = quick_rearm;
    sim.port.clock_ns = quick_clock;
}

/* ---- Operations ---- */

static void do_switch_to_one(void *argument)
{
    last_status = upmu_thread_switch(&cpu, argument, &one);
}

static void do_switch_to_other(void *argument)
{
    last_status = upmu_thread_switch(&cpu, argument, &other);
}

static void do_switch_to_idle(void *argument)
{
    last_status = upmu_thread_switch(&cpu, argument, &idle);
}

static void do_switch_to_wide(void *argument)
{
    last_status = upmu_thread_switch(&cpu, argument, &wide);
}

static void do_begin(void *argument)
{
    last_status = upmu_session_start(argument);
}

static void do_end(void *argument)
{
    last_status = upmu_session_stop(argument);
}

static void do_read_one(void *argument)
{
    struct upmu_session *session = argument;

    last_status = upmu_set_read(&session->set, 0, 1, counts);
}

static void do_read_all(void *argument)
{
    struct upmu_session *session = argument;

    last_status = upmu_set_read(&session->set, 0, 5, counts);
}

static void do_enter_region(void *argument)
{
    last_status = upmu_region_begin(argument);
}

static void do_leave_region(void *argument)
{
    last_status = upmu_region_end(argument);
}

static void do_tick(void *argument)
{
    last_status = upmu_cpu_tick(argument);
}

static void do_pmi(void *argument)
{
    struct upmu_frame frame = {.ip = 0x1000, .sp = 0x2000};
    last_answer = upmu_pmi_handle(argument, &frame);
}

/* Calls of two hooks that may be slow, and how many may be made. */
static void note_hooks(const char *name)
{
    size_t length = strlen(name), searches = sizeof "-search" - 1;
    /*
     * A session that is placed starts by itself, as do those that come after a stop; a tick looks before its first
     * plan, and at each of its plans.
     */
    bool is_search = length > searches && !strcmp(name + length - searches, "-search");
    bool places = is_search || (strstr(name, "-switch-in-") && strstr(name, "-private"));
    unsigned limit = strstr(name, "-tick-") ? 3 : places ? 6 : strstr(name, "-stop-") ? 2 : 1;

    printf("hooks.%s.clock\t%u\tcalls\nbudget.hooks.%s.clock\t%u\tcalls\n", name, clocks, name, limit);
    printf("hooks.%s.this_cpu\t%u\tcalls\nbudget.hooks.%s.this_cpu\t1\tcalls\n", name, lookups_of_cpu, name);
}

static void measure_call(const char *name, void (*function)(void *argument), void *argument)
{
    last_status = UPMU_OK;
    clocks = lookups_of_cpu = 0;
    bench_count_run(function, argument);
    must(last_status == UPMU_OK, name);
    bench_count_name(name);
    note_hooks(name);
}

static void begin(const char *profile)
{
    memset(&sim, 0, sizeof sim);
    upmu_sim_init(&sim, upmu_sim_profile(profile), 1);
    memset(&cpu, 0, sizeof cpu);
    memset(value_of, 0, sizeof value_of);
    memset(&one, 0, sizeof one);
    memset(&other, 0, sizeof other);
    memset(&idle, 0, sizeof idle);
    memset(&wide, 0, sizeof wide);
    status_register = value_of_all = 0;
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    must(upmu_machine_init(&machine, upmu_sim_port(&sim)) == UPMU_OK, "machine");
    must(upmu_cpu_init(&cpu, &machine, NULL) == UPMU_OK, "cpu");
    must(upmu_cpu_use_work(&cpu, &work) == UPMU_OK, "work area");
    upmu_thread_init(&one, 1, 1, NULL);
    upmu_thread_init(&other, 2, 2, NULL);
    upmu_thread_init(&wide, 3, 3, NULL);
    upmu_thread_init(&idle, 0, 0, NULL);
}

static void open_session(struct upmu_session *session, const char *list, const struct upmu_sampling *sampling)
{
    must(upmu_session_init(session, &machine) == UPMU_OK &&
         upmu_set_add(&session->set, list, sampling) == UPMU_OK, list);
    must(!sampling || upmu_session_ring(session, ring, sizeof ring) == UPMU_OK, "ring");
}

/* ---- Threads ---- */

/* Both threads have run once: all is placed and compiled. */
static void two_threads(const char *profile, const char *list, const char *second_list)
{
    begin(profile);
    open_session(&first, list, NULL);
    open_session(&second, second_list, NULL);
    must(upmu_session_attach_thread(&first, &one, NULL) == UPMU_OK &&
             upmu_session_attach_thread(&second, &other, NULL) == UPMU_OK && upmu_session_start(&first) == UPMU_OK &&
             upmu_session_start(&second) == UPMU_OK,
         "attach");
    empty_hooks();
    for (unsigned i = 0; i < 2; i++) {
        do_switch_to_one(&idle);
        do_switch_to_other(&one);
        do_switch_to_idle(&other);
    }
    do_switch_to_one(&idle);
}

#define FIVE "instructions,branches,branch-misses,cache-references,cache-misses"
#define CHANGED "instructions:u,branches:u,branch-misses:u,cache-references:u,cache-misses:u"

#define FOUR "instructions,branches,branch-misses,cycles"
#define FOUR_CHANGED "instructions:k,branches:k,branch-misses:k,cycles:k"

static void measure_switches(void)
{
    two_threads("skl", FIVE, FIVE);
    measure_call("engine-switch-same", do_switch_to_other, &one);
    measure_call("engine-switch-out", do_switch_to_idle, &other);
    measure_call("engine-switch-in", do_switch_to_other, &idle);
    two_threads("skl", FIVE, CHANGED);
    measure_call("engine-switch-changed", do_switch_to_other, &one);
    two_threads("k8_revb", FOUR, FOUR_CHANGED);
    measure_call("engine-switch-changed-k8", do_switch_to_other, &one);
    two_threads("northwood_smtoff", FOUR, FOUR_CHANGED);
    measure_call("engine-switch-changed-p4", do_switch_to_other, &one);
}

/* ---- A new thread with a known list ---- */

static void do_fork(void *argument)
{
    last_status = upmu_group_fork(&parent, argument, &other);
}

/* A thread of a group that has run makes another one, which runs then for the first time. */
static void measure_fork(void)
{
    static const char *const names[] = {"instructions", "branches", "branch-misses", "cache-references",
                                        "cache-misses"};
    static struct upmu_event events[5];

    begin("skl");
    for (unsigned i = 0; i < 5; i++)
        must(upmu_event_parse(cpu.meter.pmu, names[i], &events[i], NULL) == UPMU_OK, names[i]);
    memset(&parent, 0, sizeof parent);
    memset(&child, 0, sizeof child);
    must(upmu_group_init(&group, &machine, events, 5, UPMU_GROUP_CHILDREN) == UPMU_OK &&
             upmu_group_join(&group, &parent, &one, NULL) == UPMU_OK,
         "group");
    empty_hooks();
    do_switch_to_one(&idle);
    measure_call("engine-fork", do_fork, &child);
    do_switch_to_idle(&one);
    measure_call("engine-switch-new", do_switch_to_other, &idle);
    must(child.session.state == UPMU_SESSION_RUNNING, "the child does not run");
}

/* ---- One session ---- */

static void measure_session(void)
{
    begin("skl");
    open_session(&first, FIVE, NULL);
    must(upmu_session_attach_cpu(&first, &cpu) == UPMU_OK && upmu_session_start(&first) == UPMU_OK &&
             upmu_session_stop(&first) == UPMU_OK,
         "session");
    empty_hooks();
    do_begin(&first);
    value_of_all = 1000;
    do_end(&first);
    measure_call("engine-start", do_begin, &first);
    value_of_all = 2000;
    measure_call("engine-read-1", do_read_one, &first);
    measure_call("engine-read-5", do_read_all, &first);
    measure_call("engine-stop", do_end, &first);
    begin("skl");
    must(upmu_region_open(&region, &cpu, FIVE) == UPMU_OK, "region");
    empty_hooks();
    do_enter_region(&region);
    value_of_all = 1000;
    do_leave_region(&region);
    measure_call("engine-region-begin", do_enter_region, &region);
    measure_call("engine-region-end", do_leave_region, &region);
}

/* ---- Interrupts ---- */

static void measure_pmi(const char *name, enum upmu_pmi answer)
{
    clocks = lookups_of_cpu = 0;
    bench_count_run(do_pmi, &cpu);
    must(last_answer == answer, name);
    bench_count_name(name);
    note_hooks(name);
}

static void measure_interrupts(void)
{
    const struct upmu_sampling sampling = {.period = 100000};
    uint64_t full = UINT64_C(1) << 47;

    begin("skl");
    open_session(&first, "branches", &sampling);
    must(upmu_set_add(&first.set, "instructions,cycles,branch-misses,cache-misses", NULL) == UPMU_OK &&
             upmu_session_attach_cpu(&first, &cpu) == UPMU_OK && upmu_session_start(&first) == UPMU_OK,
         "one samples");
    empty_hooks();
    value_of_all = 7;
    status_register = 1;
    measure_pmi("engine-pmi-1-of-5", UPMU_PMI_HANDLED);
    measure_pmi("engine-pmi-1-of-5", UPMU_PMI_HANDLED);

    begin("icl");
    open_session(&first, "branches,branches:u,branches:k,branch-misses,branch-misses:u,branch-misses:k,"
                         "cache-references,cache-misses", &sampling);
    must(upmu_session_attach_cpu(&first, &cpu) == UPMU_OK && upmu_session_start(&first) == UPMU_OK, "eight sample");
    empty_hooks();
    for (unsigned i = 1; i < 8; i++)
        value_of[i] = full;
    value_of_all = 7;
    status_register = 1;
    measure_pmi("engine-pmi-8-one", UPMU_PMI_HANDLED);
    memset(value_of, 0, sizeof value_of);
    status_register = 0xff;
    measure_pmi("engine-pmi-8-all", UPMU_PMI_HANDLED);
    value_of_all = full;
    status_register = 0;
    now_ns += UINT64_C(10000000000); /* none of ours is expected any more */
    do_pmi(&cpu);
    measure_pmi("engine-pmi-8-foreign", UPMU_PMI_NOT_OURS);
}

/* ---- Many ---- */

static void measure_many_calls(const char *what, const char *where, void (*function)(void *argument), void *argument)
{
    char name[64];

    snprintf(name, sizeof name, "engine-%s-%s", what, where);
    measure_call(name, function, argument);
}

/* Two threads of which one leaves no counter to others, between ticks. */
static void measure_round(const char *where)
{
    measure_many_calls("tick", where, do_tick, &cpu);
    measure_many_calls("switch", where, do_switch_to_other, &one);
    measure_many_calls("switch", where, do_switch_to_wide, &other);
    measure_many_calls("switch", where, do_switch_to_one, &wide);
}

/* Stops of sessions that run while others wait; each time a tick lets one of these come. */
static void measure_stops(const char *where, unsigned count)
{
    for (unsigned i = 0; i < 8; i++) {
        unsigned running = 0;

        while (running < count && many[running].state != UPMU_SESSION_RUNNING)
            running++;
        must(running < count, "none of many runs");
        measure_many_calls("stop", where, do_end, &many[running]);
        do_tick(&cpu);
    }
}

/* Sessions that share, for which one thread leaves two counters. */
static void measure_sharing(const char *list, unsigned count, const char *searched, const char *searching,
                            const char *placed)
{
    two_threads("skl", "instructions,branches,cycles:k", "instructions,branches,cycles:k");
    open_session(&third, "branches:u,branch-misses:u,cache-references:u,cache-misses:u", NULL);
    must(upmu_session_attach_thread(&third, &wide, NULL) == UPMU_OK && upmu_session_start(&third) == UPMU_OK, "wide");
    for (unsigned i = 0; i < count; i++) {
        open_session(&many[i], list, NULL);
        must(upmu_session_share(&many[i], true) == UPMU_OK && upmu_session_attach_cpu(&many[i], &cpu) == UPMU_OK &&
                 upmu_session_start(&many[i]) == UPMU_OK,
             "share");
    }
    /* One that waits gets a place; then those that share leave for a session that had none. */
    measure_many_calls("switch", searched, do_switch_to_idle, &one);
    measure_many_calls("switch", searched, do_switch_to_wide, &idle);
    must(third.state == UPMU_SESSION_RUNNING && many[0].state == UPMU_SESSION_WAITING, "no room was made");
    do_switch_to_one(&wide);
    for (unsigned i = 0; i < 20; i++)
        measure_round(searching);
    for (unsigned i = 0; i < count; i++)
        do_tick(&cpu);
    for (unsigned i = 0; i < 20; i++)
        measure_round(placed);
    measure_stops(placed, count);
}

/* Sessions of one thread that do not share, of which few have room; and as many of the CPU that are stopped. */
static void measure_crowd(unsigned count, const char *crowd, const char *stopped)
{
    two_threads("skl", "instructions,branches", "instructions,branches");
    for (unsigned i = 0; i < count; i++) {
        open_session(&many[i], "branch-misses,cache-misses", NULL);
        must(upmu_session_attach_cpu(&many[i], &cpu) == UPMU_OK, "stopped");
    }
    do_switch_to_other(&one);
    do_switch_to_one(&other);
    measure_many_calls("switch", stopped, do_switch_to_other, &one);
    measure_many_calls("tick", stopped, do_tick, &cpu);
    begin("skl");
    empty_hooks();
    for (unsigned i = 0; i < count; i++) {
        open_session(&many[i], "branch-misses,cache-misses", NULL);
        must(upmu_session_attach_thread(&many[i], &one, NULL) == UPMU_OK && upmu_session_start(&many[i]) == UPMU_OK,
             "crowd");
    }
    do_switch_to_one(&idle);
    for (unsigned i = 0; i < 40; i++)
        measure_many_calls("tick", crowd, do_tick, &cpu);
    measure_stops(crowd, count);
    open_session(&first, "branch-misses,cache-misses", NULL);
    must(upmu_session_attach_thread(&first, &one, NULL) == UPMU_OK, "one more");
    measure_many_calls("start", crowd, do_begin, &first);
    must(first.state == UPMU_SESSION_WAITING, "a session for which there is no room runs");
    measure_many_calls("switch-out", crowd, do_switch_to_idle, &one);
    measure_many_calls("switch-in", crowd, do_switch_to_one, &idle);
}

/* Sessions that share all eight counters of Ice Lake, and leave them to one another. */
static void measure_hard(unsigned count, const char *hard)
{
    static const char *const lists[] = {
        "branches,branches:u,branches:k,branch-misses,branch-misses:u,branch-misses:k,cache-references,cache-misses",
        "cache-misses:u,cache-misses:k,cache-references:u,cache-references:k,branches:u,branch-misses:u,branches"};

    begin("icl");
    empty_hooks();
    for (unsigned i = 0; i < count; i++) {
        open_session(&many[i], lists[i & 1u], NULL);
        must(upmu_session_share(&many[i], true) == UPMU_OK && upmu_session_attach_cpu(&many[i], &cpu) == UPMU_OK,
             "hard");
        measure_many_calls("start", hard, do_begin, &many[i]);
    }
    for (unsigned i = 0; i < 40; i++)
        measure_many_calls("tick", hard, do_tick, &cpu);
    measure_stops(hard, count);
}

/*
 * A thread that has many sessions beside the one that runs, which are stopped, or started and limited to other CPUs:
 * switches to it and from it, a stop and a start.
 */
static void measure_own(unsigned count, const char *what, unsigned other_cpus)
{
    two_threads("skl", "instructions,branches,branch-misses", "instructions,branches,branch-misses");
    for (unsigned i = 0; i < count; i++) {
        open_session(&many[i], "cycles,cache-references", NULL);
        must((!other_cpus || upmu_session_limit_cpu(&many[i], &other_cpu[i % other_cpus]) == UPMU_OK) &&
                 upmu_session_attach_thread(&many[i], &other, NULL) == UPMU_OK &&
                 (!other_cpus || upmu_session_start(&many[i]) == UPMU_OK),
             "own");
    }
    measure_many_calls("switch-in", what, do_switch_to_other, &one);
    must(second.state == UPMU_SESSION_RUNNING, "the session of the thread does not run");
    measure_many_calls("stop", what, do_end, &second);
    measure_many_calls("start", what, do_begin, &second);
    measure_many_calls("switch-out", what, do_switch_to_one, &other);
}

#define PAIR "branch-misses,cache-misses"

static void measure_many(void)
{
    measure_sharing(PAIR, 1000, "1000-search", "1000-searching", "1000");
    measure_sharing(PAIR, 10000, "10000-search", "10000-searching", "10000");
    measure_sharing("branch-misses", 1000, "1000-single-search", "1000-single-searching", "1000-single");
    measure_crowd(1000, "1000-private", "1000-stopped");
    measure_crowd(10000, "10000-private", "10000-stopped");
    measure_hard(1000, "1000-hard");
    measure_own(1000, "1000-own-stopped", 0);
    measure_own(10000, "10000-own-stopped", 0);
    measure_own(10000, "10000-own-limited", 1);
    measure_own(10000, "10000-own-limited-64", 64);
}

int main(void)
{
    measure_switches();
    measure_fork();
    measure_session();
    measure_interrupts();
    measure_many();
    return 0;
}
