/* SPDX-License-Identifier: MIT */
/*
 * Register accesses of each operation beside its budget, as the silicon model saw
 * them: `name<TAB>value<TAB>unit` lines, the worst of two CPUs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <upmu/session.h>
#include <upmu/upmu.h>
#include "models/sim/sim.h"

/* Writes, MSR reads, RDPMCs and re-arms of the local APIC. */
struct cost {
    unsigned writes, reads, rdpmcs, rearms;
};

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu[2];
static struct upmu_session first, second, third;
static struct upmu_thread idle, one, other, same;
static struct upmu_region region;
static uint64_t ring[512];
static struct cost of_interrupt, of_attach;
static unsigned interrupts;

static void must(enum upmu_status status, const struct upmu_why *why, const char *what)
{
    char text[200] = "";
    if (status == UPMU_OK)
        return;
    if (why)
        upmu_why_text(why, text, sizeof text);
    fprintf(stderr, "%s: %s: %s\n", what, upmu_status_text(status), text);
    exit(1);
}

static struct cost seen(void)
{
    return (struct cost){sim.access_count[UPMU_SIM_WRMSR], sim.access_count[UPMU_SIM_RDMSR],
                         sim.access_count[UPMU_SIM_RDPMC], sim.access_count[UPMU_SIM_REARM]};
}

static struct cost since(struct cost before)
{
    struct cost now = seen();
    return (struct cost){now.writes - before.writes, now.reads - before.reads, now.rdpmcs - before.rdpmcs,
                         now.rearms - before.rearms};
}

/* ---- Results: the worst of the CPUs ---- */

#define RESULTS 48
static struct result {
    const char *profile, *name;
    struct cost cost, budget;
} results[RESULTS];
static unsigned result_count;

static unsigned larger(unsigned left, unsigned right)
{
    return left > right ? left : right;
}

static void report(const char *profile, const char *name, struct cost cost, struct cost budget)
{
    struct result *result = results;
    while (result < results + result_count && (result->profile != profile || result->name != name))
        result++;
    if (result == results + result_count) {
        if (result_count++ == RESULTS)
            exit(2);
        *result = (struct result){profile, name, cost, budget};
    }
    result->cost.writes = larger(result->cost.writes, cost.writes);
    result->cost.reads = larger(result->cost.reads, cost.reads);
    result->cost.rdpmcs = larger(result->cost.rdpmcs, cost.rdpmcs);
    result->cost.rearms = larger(result->cost.rearms, cost.rearms);
}

static void print_cost(const char *prefix, const struct result *result, struct cost cost)
{
    printf("%s.%s.%s.writes\t%u\twrites\n", prefix, result->profile, result->name, cost.writes);
    printf("%s.%s.%s.rdpmcs\t%u\trdpmcs\n", prefix, result->profile, result->name, cost.rdpmcs);
    printf("%s.%s.%s.reads\t%u\treads\n", prefix, result->profile, result->name, cost.reads);
    printf("%s.%s.%s.rearms\t%u\trearms\n", prefix, result->profile, result->name, cost.rearms);
}

/* ---- Operations ---- */

static void deliver(struct upmu_sim *model, unsigned number, const struct upmu_sim_interrupt *interrupt)
{
    struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};
    struct cost before = seen();
    (void)model;
    if (upmu_pmi_handle(&cpu[number], &frame) == UPMU_PMI_HANDLED)
        interrupts++;
    of_interrupt = since(before);
}

static void work(void)
{
    struct upmu_sim_burst burst = {.instructions = 5000, .cycles = 9000, .branches = 1000, .mispredicts = 20,
                                   .llc_references = 60, .llc_misses = 10, .ip = 0x1000, .ip_step = 4};
    upmu_sim_events(&sim, &burst);
}

static void open_session(struct upmu_session *session, const char *list, const char *sampled, unsigned number)
{
    struct cost before;

    must(upmu_session_init(session, &machine), NULL, "init");
    if (sampled) {
        struct upmu_sampling sampling = {.period = 600};
        must(upmu_set_add(&session->set, sampled, &sampling), &session->why, sampled);
        must(upmu_session_ring(session, ring, sizeof ring), NULL, "ring");
    }
    must(upmu_set_add(&session->set, list, NULL), &session->why, list);
    before = seen();
    must(upmu_session_attach_cpu(session, &cpu[number]), &session->why, "attach");
    of_attach = since(before);
}

/* Which PMU, what is counted, and whether one register gates all counters. */
struct scenario {
    const char *profile;
    const char *list;    /* all counters of a usual session */
    const char *changed; /* the same number of events, all configured differently */
    const char *sampled; /* an event to sample, and */
    const char *beside;  /* what counts beside it */
    unsigned events;
    bool global;
    bool in_use;         /* a register says which counters other software uses: attach reads it */
};

static void measure_counting(const struct scenario *scenario, unsigned number)
{
    const char *profile = scenario->profile;
    unsigned n = scenario->events, gates = scenario->global ? 1 : n;
    struct upmu_count counts[UPMU_SET_EVENTS];
    struct cost before;

    open_session(&first, scenario->list, NULL, number);
    report(profile, "attach", of_attach, (struct cost){.writes = n, .reads = scenario->in_use, .rdpmcs = n});
    before = seen();
    must(upmu_session_start(&first), &first.why, "start");
    report(profile, "start", since(before), (struct cost){.writes = gates});
    work();
    before = seen();
    must(upmu_set_read(&first.set, 0, n, counts), NULL, "read");
    report(profile, "read", since(before), (struct cost){.rdpmcs = n});
    before = seen();
    must(upmu_session_stop(&first), NULL, "stop");
    report(profile, "stop", since(before), (struct cost){.writes = gates, .rdpmcs = n});
    before = seen();
    must(upmu_set_read(&first.set, 0, n, counts), NULL, "read");
    report(profile, "read-stopped", since(before), (struct cost){0});

    open_session(&second, scenario->changed, NULL, number);
    must(upmu_session_start(&first), &first.why, "start");
    work();
    for (unsigned turn = 0; turn < 2; turn++) {
        before = seen();
        must(upmu_session_stop(turn ? &second : &first), NULL, "stop");
        must(upmu_session_start(turn ? &first : &second), NULL, "start");
        report(profile, "switch-changed", since(before),
               (struct cost){.writes = scenario->global ? 2 + n : 2 * n, .rdpmcs = 2 * n});
        work();
    }
    must(upmu_session_detach(&first), NULL, "detach");
    must(upmu_session_detach(&second), NULL, "detach");
}

static void measure_region(const struct scenario *scenario, unsigned number)
{
    struct cost before;
    must(upmu_region_open(&region, &cpu[number], scenario->list), &region.session.why, "region");
    before = seen();
    must(upmu_region_begin(&region), NULL, "begin");
    report(scenario->profile, "region-begin", since(before), (struct cost){.rdpmcs = scenario->events});
    work();
    before = seen();
    must(upmu_region_end(&region), NULL, "end");
    report(scenario->profile, "region-end", since(before), (struct cost){.rdpmcs = scenario->events});
    must(upmu_region_close(&region), NULL, "close");
}

static void measure_sampling(const struct scenario *scenario, unsigned number)
{
    unsigned n = scenario->events, gates = scenario->global ? 1 : n;
    struct cost before;
    open_session(&first, scenario->beside, scenario->sampled, number);
    before = seen();
    must(upmu_session_start(&first), &first.why, "start");
    report(scenario->profile, "start-sampling", since(before), (struct cost){.writes = gates + 1});
    interrupts = 0;
    work();
    if (!interrupts) {
        fprintf(stderr, "%s: no interrupt\n", scenario->profile);
        exit(1);
    }
    report(scenario->profile, "interrupt", of_interrupt,
           scenario->global ? (struct cost){.writes = 4, .reads = 1, .rdpmcs = 1, .rearms = 1}
                            : (struct cost){.writes = 3, .rdpmcs = 2, .rearms = 1});
    must(upmu_session_detach(&first), NULL, "detach");
}

static void follow(struct upmu_session *session, struct upmu_thread *thread, const char *list)
{
    upmu_thread_init(thread, 1, 1, NULL);
    must(upmu_session_init(session, &machine), NULL, "init");
    must(upmu_set_add(&session->set, list, NULL), &session->why, list);
    must(upmu_session_attach_thread(session, thread, NULL), &session->why, "attach");
    must(upmu_session_start(session), &session->why, "start");
}

static struct cost switch_threads(unsigned number, struct upmu_thread *prev, struct upmu_thread *next)
{
    struct cost before = seen();

    must(upmu_thread_switch(&cpu[number], prev, next), NULL, "switch");
    work();
    return since(before);
}

static void measure_threads(const struct scenario *scenario, unsigned number)
{
    const char *profile = scenario->profile;
    unsigned n = scenario->events, gates = scenario->global ? 1 : n;

    upmu_thread_init(&idle, 0, 0, NULL);
    follow(&first, &one, scenario->list);
    follow(&second, &other, scenario->changed);
    follow(&third, &same, scenario->list);
    /* Each is placed when it first comes. */
    (void)switch_threads(number, &idle, &one);
    (void)switch_threads(number, &one, &same);
    (void)switch_threads(number, &same, &other);
    for (unsigned turn = 0; turn < 2; turn++) {
        report(profile, "thread-switch-changed", switch_threads(number, &other, &one),
               (struct cost){.writes = scenario->global ? 2 + n : 2 * n, .rdpmcs = 2 * n});
        report(profile, "thread-switch-same", switch_threads(number, &one, &same), (struct cost){.rdpmcs = n});
        (void)switch_threads(number, &same, &other);
    }
    report(profile, "thread-switch-unmonitored", switch_threads(number, &other, &idle),
           (struct cost){.writes = gates, .rdpmcs = n});
    must(upmu_thread_exit(&one), NULL, "exit");
    must(upmu_thread_exit(&other), NULL, "exit");
    must(upmu_thread_exit(&same), NULL, "exit");
}

static void bring_up(const char *profile)
{
    upmu_sim_init(&sim, upmu_sim_profile(profile), 2);
    sim.deliver = deliver;
    must(upmu_machine_init(&machine, upmu_sim_port(&sim)), NULL, "machine");
    for (unsigned number = 0; number < 2; number++) {
        cpu[number] = (struct upmu_cpu){0};
        upmu_sim_switch_cpu(&sim, number);
        upmu_sim_bind_cpu(&sim, number, &cpu[number]);
        must(upmu_cpu_init(&cpu[number], &machine, NULL), NULL, "cpu");
    }
}

static void measure(const struct scenario *scenario)
{
    bring_up(scenario->profile);
    for (unsigned number = 0; number < 2; number++) {
        upmu_sim_switch_cpu(&sim, number);
        measure_counting(scenario, number);
        measure_region(scenario, number);
        measure_sampling(scenario, number);
        measure_threads(scenario, number);
    }
}

/* All metrics of a session in one read (R29). */
static void measure_metrics(const char *profile)
{
    struct upmu_count counts[4];
    struct cost before;

    bring_up(profile);
    upmu_sim_switch_cpu(&sim, 0);
    open_session(&first, "r8000,r8100,r8200,r8300", NULL, 0);
    must(upmu_session_start(&first), &first.why, "start");
    work();
    before = seen();
    must(upmu_set_read(&first.set, 0, 4, counts), NULL, "read");
    report(profile, "read-metrics", since(before), (struct cost){.writes = 4, .rdpmcs = 2});
    must(upmu_session_detach(&first), NULL, "detach");
}

/* What an erratum's sequence costs a start, alone and beside two events that run (R10); no budget has it. */
static void measure_prelude(const char *profile)
{
    uint32_t alone;

    bring_up(profile);
    upmu_sim_switch_cpu(&sim, 0);
    open_session(&first, "branches,branch-misses", NULL, 0);
    must(upmu_session_start(&first), &first.why, "start");
    alone = cpu[0].meter.bank.accesses.prelude;
    open_session(&second, "cache-misses", NULL, 0);
    must(upmu_session_start(&second), &second.why, "start");
    printf("prelude.%s.alone\t%u\taccesses\n", profile, (unsigned)alone);
    printf("prelude.%s.beside-two\t%u\taccesses\n", profile, (unsigned)(cpu[0].meter.bank.accesses.prelude - alone));
    must(upmu_session_detach(&first), NULL, "detach");
    must(upmu_session_detach(&second), NULL, "detach");
}

int main(void)
{
    static const struct scenario scenarios[] = {
        {"skl", "instructions,branches,branch-misses,cache-references,cache-misses",
         "instructions:u,branches:u,branch-misses:u,cache-references:u,cache-misses:u", "branches",
         "instructions,cycles,branch-misses,cache-misses", 5, true, true},
        {"core", "instructions,branches,branch-misses", "instructions:u,branches:u,branch-misses:u", "branches",
         "instructions,branch-misses", 3, true, false},
        {"version1", "branches,branch-misses", "branches:u,branch-misses:u", "branches", "branch-misses", 2,
         false, false},
    };
    for (unsigned i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        measure(&scenarios[i]);
    measure_metrics("icl");
    measure_prelude("nhm");
    for (unsigned i = 0; i < result_count; i++) {
        print_cost("accesses", &results[i], results[i].cost);
        print_cost("budget.accesses", &results[i], results[i].budget);
    }
    return 0;
}
