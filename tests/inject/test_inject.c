/* SPDX-License-Identifier: MIT */
/*
 * Sweeps: every scenario, on every profile that counts, with an overflow, a
 * foreign NMI or a fault at every register access, and with an overflow some accesses
 * before a fault.
 *
 * Without arguments: as tests; `every`: without leaving accesses out; with
 * INJECT_STRIDE in the environment only every so many are taken, with INJECT_EARLY=N
 * an overflow comes N accesses before each fault, and nothing else is injected (`make
 * soak` does both); with INJECT_ONLY=TEXT only scenarios with TEXT in their names.  With
 * `scenario=… profile=… variant=…` and `before=N`, `after=N`, `nmi-before=N`,
 * `nmi-after=N`, `fault=N early=N` or nothing injected: that one run, told access by
 * access.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "tests/common/share.h"
#include "tests/inject/rig.h"

/* tests/inject/test_inject_p4.c and test_inject_models.c have their own, and their part of the runs. */
#ifndef RIG_PROFILES
#define RIG_PROFILES                                                                                                   \
    "core2", "merom_early", "version1", "nehalem", "skylake", "skylake_nofw", "skylake_smtoff", "icelake",             \
        "hypervisor_v2_nofixed"
#define RIG_P4 0
#define RIG_STRIDE 1u
#define RIG_PROGRAM "test_inject"
#endif

/* With every skid from 0 to 16, on every profile. */
#ifndef RIG_SKIDS
#define RIG_SKIDS 0
#endif

/* Every variant on every profile, or some on each. */
#ifndef RIG_SOME
#define RIG_SOME 0
#endif

static const char *const profiles[] = {RIG_PROFILES};

#define PROFILES (sizeof profiles / sizeof profiles[0])

static const struct rig_variant variants[] = {
    {.name = "plain"},
    {.name = "no_rdpmc", .no_rdpmc = true},
    {.name = "no_clock", .no_clock = true},
    {.name = "vector", .vector = true},
    {.name = "own_events", .events_per_access = 3},
    {.name = "late_status", .status_lag = 3},
    {.name = "skid_2", .skid = 2},
    {.name = "skid_16", .skid = 16},
    {.name = "latch", .latch = true},
    {.name = "domain", .domain = true},
    {.name = "no_pmi", .no_pmi = true},
    {.name = "carry", .carry = true},
    {.name = "unflagged", .unflagged = true},
    {.name = "hostile", .hostile = true},
    {.name = "vector_latch_skid_16_own_events", .vector = true, .latch = true, .skid = 16, .events_per_access = 3},
    {.name = "late_status_skid_2_own_events", .status_lag = 3, .skid = 2, .events_per_access = 3, .no_rdpmc = true},
#if RIG_SKIDS
    /* The rest of 0 to 16. */
    {.name = "skid_1", .skid = 1},
    {.name = "skid_3", .skid = 3},
    {.name = "skid_4", .skid = 4},
    {.name = "skid_5", .skid = 5},
    {.name = "skid_6", .skid = 6},
    {.name = "skid_7", .skid = 7},
    {.name = "skid_8", .skid = 8},
    {.name = "skid_9", .skid = 9},
    {.name = "skid_10", .skid = 10},
    {.name = "skid_11", .skid = 11},
    {.name = "skid_12", .skid = 12},
    {.name = "skid_13", .skid = 13},
    {.name = "skid_14", .skid = 14},
    {.name = "skid_15", .skid = 15},
#endif
};

#define VARIANTS (sizeof variants / sizeof variants[0])

static uint32_t runs, injections, failures, refused;
static bool every;

static const char *only;
static unsigned wide;  /* every so many accesses, everywhere */
static unsigned early; /* faults only, and an overflow so many accesses before */
static struct rig rig;

static const struct scenario *scenario_at(unsigned i)
{
    return scenarios[i].name && (RIG_P4 || !scenarios[i].p4) ? &scenarios[i] : NULL;
}

static void describe(const struct rig_order *order)
{
    printf("build/gcc-64/tests/inject/" RIG_PROGRAM " scenario=%s profile=%s variant=%s", order->scenario,
           order->profile, order->variant->name);
    if (order->injection == RIG_OVERFLOW)
        printf(" %s=%u", order->after ? "after" : "before", (unsigned)order->at);
    else if (order->injection == RIG_FOREIGN)
        printf(" nmi-%s=%u", order->after ? "after" : "before", (unsigned)order->at);
    else if (order->injection == RIG_FAULT)
        printf(" fault=%u width=%u early=%u", (unsigned)order->at, (unsigned)order->width, (unsigned)order->early);
    printf("\n");
}

/* One run; false: something did not hold. */
static bool play(const struct scenario *scenario, const struct rig_order *order)
{
    rig_begin(&rig, order);
    scenario_play(scenario, &rig);
    runs++;
    injections += rig.injected;
    refused += rig.refused;
    if (!rig.failed)
        return true;
    printf("%s\n    ", rig.failure);
    describe(order);
    failures++;
    return false;
}

/* Without flags nothing cascades, and periods whose interrupts are not heard make no samples. */
static bool needs_flags(const char *name)
{
    return strstr(name, "cascade") || !strcmp(name, "masks_a_full_ring") || !strcmp(name, "takes_turns");
}

static bool applies(const struct scenario *scenario, const char *profile, const struct rig_variant *variant)
{
    const struct upmu_sim_profile *model = upmu_sim_profile(profile);

    /* An unknown model has no generic names of caches. */
    if (!strcmp(profile, "amd_future") && (strstr(scenario->name, "switches") || strstr(scenario->name, "gives_way") ||
                                           !strcmp(scenario->name, "takes_turns")))
        return false;
    return model->general >= scenario->general && !(scenario->samples && variant->no_pmi) &&
           !(scenario->threads && !(model->flags & UPMU_SIM_SMT)) &&
           !(variant->unflagged && (!(model->flags & UPMU_SIM_P4) || needs_flags(scenario->name))) &&
           !(variant->carry && !(model->flags & UPMU_SIM_P4 && model->signature < 0xf20));
}

/*
 * Every profile as it is and, Intel cores, after a hostile reset; other variants on all, or one on each.
 * `make test` takes a share of the pairs of profile and skid and, in slow builds, of the other pairs: each variant
 * on one profile.
 */
static bool combined(unsigned profile, unsigned variant)
{
    bool all = every || wide || share_everything();

    if (variants[variant].hostile)
        return !RIG_P4 && (all || !SHARE_SLOW_BUILD || profile % 3 == 0);
    if (RIG_SKIDS && !strncmp(variants[variant].name, "skid_", 5)) {
        unsigned step = SHARE_SLOW_BUILD ? (all ? 5 : 15) : all ? 1 : 3;

        return every || profile % step == variant % step;
    }
    if (SHARE_SLOW_BUILD && !all && !RIG_SOME)
        return variant == 0 || profile == variant % PROFILES;
    return !RIG_SOME || variant == 0 || variant == profile % VARIANTS;
}

/* The injection at every access, until the scenario ends before it.  Failures up to `limit`. */
static unsigned sweep(const struct scenario *scenario, struct rig_order order, unsigned stride, unsigned phase,
                      unsigned limit)
{
    unsigned bad = 0;

    for (order.at = 1 + phase % stride;; order.at += stride) {
        bad += play(scenario, &order) ? 0u : 1u;
        if (bad >= limit || rig.sim.accesses < order.at)
            return bad;
    }
}

struct task {
    const struct scenario *scenario;
    enum rig_injection injection;
};

/*
 * Access numbers left out: none for one plain profile (on the Pentium 4 eleven of twelve),
 * some for the other pairs, more where runs are slow; `make soak` leaves out half as many,
 * and with INJECT_STRIDE=1 none.
 * `every`: none anywhere.
 */
static unsigned stride_of(unsigned profile, unsigned variant)
{
    unsigned share = RIG_STRIDE * share_step(share_few(3, 9), 2);

    if (every)
        return 1;
    if (wide)
        return wide;
#if defined(__SANITIZE_ADDRESS__)
    return share * (variant == 0 && profile < 5 ? 47 : 251);
#else
    if (RIG_SKIDS && variants[variant].skid)
        return share * 83;
    if (SHARE_SLOW_BUILD)
        return share * (variant == 0 ? 7 : 23);
    if (variant == 0 && profile == 0)
        return RIG_P4 ? share_step(share_few(6, 12), 2) : 1;
    return share * (variant == 0 || profile == variant % PROFILES ? 5 : 13);
#endif
}

static void sweep_all(void **state)
{
    const struct task *task = *state;
    bool one = SHARE_SLOW_BUILD && !every && !wide && !early && !share_everything();
    unsigned bad = 0, phase = 0, pair = 0;

    if ((early && task->injection != RIG_FAULT) || (only && !strstr(task->scenario->name, only)))
        skip();
    for (unsigned p = 0; p < PROFILES && bad < 6; p++)
        for (unsigned v = 0; v < VARIANTS && bad < 6; v++) {
            struct rig_order order = {.scenario = task->scenario->name,
                                      .profile = profiles[p],
                                      .variant = &variants[v],
                                      .injection = task->injection,
                                      .width = 1,
                                      .early = early};
            unsigned stride = stride_of(p, v);

            if (!combined(p, v) || !applies(task->scenario, profiles[p], &variants[v]))
                continue;
            /* Where nothing flags an overflow, its interrupt and the fault may both be lost. */
            if (early && variants[v].unflagged)
                continue;
            /* In slow builds each pair has one of the three kinds, in turn: each ends with a whole run without. */
            pair++;
            if (!one || pair % 3 == 0)
                bad += sweep(task->scenario, order, stride, phase++, 2);
            order.after = task->injection != RIG_FAULT;
            order.width = 3;
            if (!one || pair % 3 == 1)
                bad += sweep(task->scenario, order, stride, phase++, 2);
            if (task->injection != RIG_FAULT || early || variants[v].unflagged || (one && pair % 3 != 2))
                continue;
            order.width = 1;
            order.early = 1 + phase % 8;
            bad += sweep(task->scenario, order, 8 * stride, phase++, 2);
        }
    assert_compare(pair, >, 0);
    if (bad)
        fail_msg("%u runs failed", bad);
}

static void nothing_injected(void **state)
{
    const struct task *task = *state;
    unsigned bad = 0, played = 0;

    for (unsigned p = 0; p < PROFILES; p++)
        for (unsigned v = 0; v < VARIANTS; v++) {
            struct rig_order order = {
                .scenario = task->scenario->name, .profile = profiles[p], .variant = &variants[v]};

            if (!combined(p, v) || !applies(task->scenario, profiles[p], &variants[v]))
                continue;
            played++;
            bad += play(task->scenario, &order) ? 0u : 1u;
        }
    assert_compare(played, >, 0);
    if (bad)
        fail_msg("%u runs failed", bad);
}

/* ---- One run, told ---- */

static uint32_t number_of(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 10);
}

static bool take_argument(const char *argument, struct rig_order *order, const struct scenario **scenario)
{
    const char *value = strchr(argument, '=');

    if (!value)
        return false;
    value++;
    if (!strncmp(argument, "scenario=", 9)) {
        for (unsigned i = 0; scenario_at(i); i++)
            if (!strcmp(scenario_at(i)->name, value))
                *scenario = scenario_at(i);
        order->scenario = value;
    } else if (!strncmp(argument, "profile=", 8)) {
        order->profile = value;
    } else if (!strncmp(argument, "variant=", 8)) {
        for (unsigned i = 0; i < VARIANTS; i++)
            if (!strcmp(variants[i].name, value))
                order->variant = &variants[i];
    } else if (!strncmp(argument, "early=", 6)) {
        order->early = number_of(value);
    } else if (!strncmp(argument, "width=", 6)) {
        order->width = number_of(value);
    } else {
        order->at = number_of(value);
        order->after = strstr(argument, "after=") != NULL;
        order->injection = !strncmp(argument, "nmi-", 4)     ? RIG_FOREIGN
                           : !strncmp(argument, "fault=", 6) ? RIG_FAULT
                                                             : RIG_OVERFLOW;
    }
    return true;
}

static int tell_one(int count, char **arguments)
{
    struct rig_order order = {.profile = "skylake", .variant = &variants[0], .width = 1, .trace = true};
    const struct scenario *scenario = NULL;

    for (int i = 1; i < count; i++)
        if (!take_argument(arguments[i], &order, &scenario))
            return 2;
    if (!scenario || !upmu_sim_profile(order.profile))
        return 2;
    return play(scenario, &order) ? 0 : 1;
}

/* ---- Tests ---- */

#if RIG_P4

static const char *claim(unsigned i, unsigned k)
{
    static const char *const how[] = {"", "_with_overflows", "_with_foreign_nmis", "_with_faults"};
    static char text[64][4][100];

    snprintf(text[i][k], sizeof text[i][k], "netburst_%s%s", scenario_at(i)->name, how[k]);
    return text[i][k];
}

#else

/* In the order of scenarios[]: undisturbed, and with each injection. */
static const char *const claims[][4] = {
    {"counts_and_restarts", "counts_and_restarts_with_overflows", "counts_and_restarts_with_foreign_nmis",
     "counts_and_restarts_with_faults"},
    {"samples_and_restarts", "samples_and_restarts_with_overflows", "samples_and_restarts_with_foreign_nmis",
     "samples_and_restarts_with_faults"},
    {"counts_beside_sampling", "counts_beside_sampling_with_overflows", "counts_beside_sampling_with_foreign_nmis",
     "counts_beside_sampling_with_faults"},
    {"samples_two_counters", "samples_two_counters_with_overflows", "samples_two_counters_with_foreign_nmis",
     "samples_two_counters_with_faults"},
    {"samples_in_two_sessions", "samples_in_two_sessions_with_overflows", "samples_in_two_sessions_with_foreign_nmis",
     "samples_in_two_sessions_with_faults"},
    {"moves_a_counter", "moves_a_counter_with_overflows", "moves_a_counter_with_foreign_nmis",
     "moves_a_counter_with_faults"},
    {"moves_a_sampling_counter", "moves_a_sampling_counter_with_overflows",
     "moves_a_sampling_counter_with_foreign_nmis", "moves_a_sampling_counter_with_faults"},
    {"stops_on_an_overflow", "stops_on_an_overflow_with_overflows", "stops_on_an_overflow_with_foreign_nmis",
     "stops_on_an_overflow_with_faults"},
    {"moves_to_another_cpu", "moves_to_another_cpu_with_overflows", "moves_to_another_cpu_with_foreign_nmis",
     "moves_to_another_cpu_with_faults"},
    {"is_driven_from_another_cpu", "is_driven_from_another_cpu_with_overflows",
     "is_driven_from_another_cpu_with_foreign_nmis", "is_driven_from_another_cpu_with_faults"},
    {"sleeps", "sleeps_with_overflows", "sleeps_with_foreign_nmis", "sleeps_with_faults"},
    {"records_branches", "records_branches_with_overflows", "records_branches_with_foreign_nmis",
     "records_branches_with_faults"},
    {"is_changed_behind_its_back", "is_changed_behind_its_back_with_overflows",
     "is_changed_behind_its_back_with_foreign_nmis", "is_changed_behind_its_back_with_faults"},
    {"leaves_with_sessions_running", "leaves_with_sessions_running_with_overflows",
     "leaves_with_sessions_running_with_foreign_nmis", "leaves_with_sessions_running_with_faults"},
    {"masks_a_full_ring", "masks_a_full_ring_with_overflows", "masks_a_full_ring_with_foreign_nmis",
     "masks_a_full_ring_with_faults"},
    {"masks_inside_a_call", "masks_inside_a_call_with_overflows", "masks_inside_a_call_with_foreign_nmis",
     "masks_inside_a_call_with_faults"},
    {"wraps_while_counting", "wraps_while_counting_with_overflows", "wraps_while_counting_with_foreign_nmis",
     "wraps_while_counting_with_faults"},
    {"wraps_beside_sampling", "wraps_beside_sampling_with_overflows", "wraps_beside_sampling_with_foreign_nmis",
     "wraps_beside_sampling_with_faults"},
    {"polls_while_sampling", "polls_while_sampling_with_overflows", "polls_while_sampling_with_foreign_nmis",
     "polls_while_sampling_with_faults"},
    {"leaves_the_firmware_alone", "leaves_the_firmware_alone_with_overflows",
     "leaves_the_firmware_alone_with_foreign_nmis", "leaves_the_firmware_alone_with_faults"},
    {"respects_a_reservation", "respects_a_reservation_with_overflows", "respects_a_reservation_with_foreign_nmis",
     "respects_a_reservation_with_faults"},
    {"survives_an_interrupt_before_init", "survives_an_interrupt_before_init_with_overflows",
     "survives_an_interrupt_before_init_with_foreign_nmis", "survives_an_interrupt_before_init_with_faults"},
    {"refuses_calls_inside_calls", "refuses_calls_inside_calls_with_overflows",
     "refuses_calls_inside_calls_with_foreign_nmis", "refuses_calls_inside_calls_with_faults"},
    {"switches_threads", "switches_threads_with_overflows", "switches_threads_with_foreign_nmis",
     "switches_threads_with_faults"},
    {"takes_turns", "takes_turns_with_overflows", "takes_turns_with_foreign_nmis", "takes_turns_with_faults"},
    {"switches_sets", "switches_sets_with_overflows", "switches_sets_with_foreign_nmis", "switches_sets_with_faults"},
    {"gives_way_on_overflows", "gives_way_on_overflows_with_overflows", "gives_way_on_overflows_with_foreign_nmis",
     "gives_way_on_overflows_with_faults"},
    {"gives_way_beside_another", "gives_way_beside_another_with_overflows",
     "gives_way_beside_another_with_foreign_nmis", "gives_way_beside_another_with_faults"},
    {"switches_programs", "switches_programs_with_overflows", "switches_programs_with_foreign_nmis",
     "switches_programs_with_faults"},
    {"switches_programs_alike", "switches_programs_alike_with_overflows", "switches_programs_alike_with_foreign_nmis",
     "switches_programs_alike_with_faults"},
    {"switches_a_sampled_program", "switches_a_sampled_program_with_overflows",
     "switches_a_sampled_program_with_foreign_nmis", "switches_a_sampled_program_with_faults"},
    {"enters_guests", "enters_guests_with_overflows", "enters_guests_with_foreign_nmis", "enters_guests_with_faults"},
    {"switches_guests", "switches_guests_with_overflows", "switches_guests_with_foreign_nmis",
     "switches_guests_with_faults"},
    {"sleeps_in_a_guest", "sleeps_in_a_guest_with_overflows", "sleeps_in_a_guest_with_foreign_nmis",
     "sleeps_in_a_guest_with_faults"},
};

static const char *claim(unsigned i, unsigned k)
{
    return strncmp(claims[i][k], scenarios[i].name, strlen(scenarios[i].name)) ? NULL : claims[i][k];
}

#endif

/* What applies(), needs_flags(), the firmware scenario and the strides leave out. */
static void tell_left_out(void)
{
    if (RIG_P4)
        printf("skipped: an overflow before a fault where nothing flags it: its interrupt may be lost\n");
    if (RIG_P4)
        printf("skipped: overflows without flag where counters cascade, in masks_a_full_ring and in takes_turns\n");
    else
        printf("skipped: freezing left on, and a stale select beside a common enable, where firmware counts\n");
    for (unsigned p = 0; p < PROFILES; p++)
        if (!strcmp(profiles[p], "amd_future"))
            printf("skipped: switches and takes_turns on amd_future, which has no names of cache events\n");
    for (unsigned p = 0; p < PROFILES; p++)
        if (!strcmp(profiles[p], "nehalem"))
            printf("skipped: whether a fault mars other sessions, where there is no clock and a sequence precedes new\n"
                   "  events: the sequence alone is a gap of unknown length to them\n");
    if (!every)
        printf("a share of the accesses on most profiles: the argument `every` takes all%s\n",
               share_everything() ? "" : ", make soak (FUZZ_RUNS=soak) more of them and more pairs");
}

int main(int count, char **arguments)
{
    static struct task tasks[64][4];
    static struct CMUnitTest tests[256];
    unsigned test_count = 0;
    int failed;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (count > 1 && strcmp(arguments[1], "every"))
        return tell_one(count, arguments);
    every = count > 1;
    only = getenv("INJECT_ONLY");
    if (getenv("INJECT_STRIDE"))
        wide = number_of(getenv("INJECT_STRIDE"));
    if (getenv("INJECT_EARLY"))
        early = number_of(getenv("INJECT_EARLY"));
    for (unsigned i = 0; scenario_at(i); i++)
        for (unsigned k = 0; k < 4; k++) {
            if (!claim(i, k))
                return 2;
            tasks[i][k] = (struct task){scenario_at(i), (enum rig_injection)k};
            tests[test_count++] =
                (struct CMUnitTest){claim(i, k), k ? sweep_all : nothing_injected, NULL, NULL, &tasks[i][k]};
        }
    failed = _cmocka_run_group_tests(RIG_P4 ? "inject_p4" : "inject", tests, test_count, NULL, NULL);
    printf("%u injections in %u runs of %u scenarios; %u calls inside calls were refused\n", (unsigned)injections,
           (unsigned)runs, test_count / 4, (unsigned)refused);
    tell_left_out();
    return failed;
}
