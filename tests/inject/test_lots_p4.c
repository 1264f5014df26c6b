/* SPDX-License-Identifier: MIT */
/*
 * Calls drawn by lot on both threads of a Pentium 4, with an overflow, a foreign NMI
 * or a fault at an access drawn by lot: what tests/inject/rig.h promises must hold.
 *
 * `LOTS=soak`: a hundred times as many.  With `seed=N` that one run is played and told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"
#include <upmu/session.h>

#include "tests/inject/rig.h"

#if defined(__SANITIZE_ADDRESS__)
#define LOTS 1500u
#else
#define LOTS 8000u
#endif

static const char *const profiles[] = {"prescott", "northwood", "cedarmill", "nocona"};
static const struct rig_variant variants[] = {
    {.name = "plain"},
    {.name = "vector", .vector = true},
    {.name = "own_events", .events_per_access = 3},
    {.name = "late_status", .status_lag = 3},
    {.name = "skid_16", .skid = 16},
    {.name = "no_clock", .no_clock = true},
};

/* What the sessions count: each kind once on each thread, so that all of it fits at any time. */
static const struct {
    const char *list;
    unsigned sampled, cpu;
} plans[RIG_DUTIES] = {
    {"instructions,cycles", 1, 0}, {"branches", 1, 0}, {"instructions,branches", 3, 1}, {"cycles", 0, 1}};

static struct rig rig;
static uint64_t state_of_lots;
static bool asleep[2];

static unsigned draw(unsigned below)
{
    state_of_lots = state_of_lots * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state_of_lots >> 33) % below;
}

static void session_call(unsigned i)
{
    struct rig_duty *duty = &rig.duty[i];

    upmu_sim_switch_cpu(&rig.sim, plans[i].cpu);
    if (!rig.cpu_up[plans[i].cpu] || asleep[plans[i].cpu])
        return;
    if (!duty->attached)
        rig_attach(&rig, i, plans[i].cpu);
    else if (draw(3) == 0)
        rig_read(&rig, i);
    else if (duty->session.state != UPMU_SESSION_RUNNING)
        rig_start(&rig, i);
    else if (draw(4) == 0)
        rig_detach(&rig, i);
    else
        rig_stop(&rig, i);
}

static void cpu_call(unsigned cpu)
{
    if (!rig.cpu_up[cpu]) {
        rig_cpu_init(&rig, cpu);
    } else if (asleep[cpu]) {
        rig_resume(&rig, cpu);
        asleep[cpu] = false;
    } else {
        switch (draw(6)) {
        case 0:
            rig_suspend(&rig, cpu);
            asleep[cpu] = true;
            break;
        case 1:
            rig_cpu_fini(&rig, cpu);
            break;
        default:
            rig_poll(&rig, cpu);
        }
    }
}

static void play_lots(void)
{
    unsigned calls = 15 + draw(25);

    rig.apart = true;
    rig.others_concerned = true;
    for (unsigned cpu = 0; cpu < 2; cpu++)
        rig_cpu_init(&rig, cpu);
    for (unsigned i = 0; i < RIG_DUTIES; i++)
        rig_session(&rig, i, plans[i].list, plans[i].sampled);
    for (unsigned k = 0; k < calls && !rig.failed; k++) {
        unsigned cpu = draw(2);

        if (draw(12) == 0)
            cpu_call(cpu);
        else if (draw(2))
            session_call(draw(RIG_DUTIES));
        upmu_sim_switch_cpu(&rig.sim, cpu);
        rig_run(&rig, 10 * draw(90));
    }
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        if (asleep[cpu])
            rig_resume(&rig, cpu);
        if (!rig.cpu_up[cpu])
            rig_cpu_init(&rig, cpu);
    }
    for (unsigned i = 0; i < RIG_DUTIES; i++)
        rig.duty[i].cpu = plans[i].cpu;
    upmu_sim_switch_cpu(&rig.sim, 0);
    rig_end(&rig);
}

static bool play(uint64_t seed, bool told)
{
    struct rig_order order = {.scenario = "lots", .width = 1, .trace = told};

    state_of_lots = seed * UINT64_C(0x9e3779b97f4a7c15);
    order.profile = profiles[draw(4)];
    order.variant = &variants[draw(sizeof variants / sizeof variants[0])];
    /* No fault here: what a call does after one depends on where it came. */
    order.injection = (enum rig_injection)draw(3);
    order.at = 85 + draw(150);
    order.after = draw(2);
    memset(asleep, 0, sizeof asleep);
    rig_begin(&rig, &order);
    play_lots();
    if (rig.failed)
        print_error("%s\n    build/gcc-64/tests/inject/test_lots_p4 seed=%llu\n", rig.failure,
                    (unsigned long long)seed);
    return !rig.failed;
}

static void calls_by_lot_on_two_threads_lose_nothing(void **state)
{
    const char *asked = getenv("LOTS");
    uint32_t lots = asked && !strcmp(asked, "soak") ? 100 * LOTS : LOTS;
    unsigned bad = 0;

    (void)state;
    printf("%u of %u lots%s\n", (unsigned)lots, 100 * LOTS, lots < 100 * LOTS ? "; all of them with LOTS=soak" : "");
    for (uint64_t seed = 1; seed <= lots && bad < 5; seed++)
        bad += play(seed, false) ? 0u : 1u;
    assert_int_equal(bad, 0);
}

int main(int count, char **arguments)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_by_lot_on_two_threads_lose_nothing),
    };

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (count > 1 && !strncmp(arguments[1], "seed=", 5))
        return play(strtoull(arguments[1] + 5, NULL, 10), true) ? 0 : 1;
    return cmocka_run_group_tests_name("lots_p4", tests, NULL, NULL);
}
