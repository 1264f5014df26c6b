/* SPDX-License-Identifier: MIT */
/*
 * A build of a profile at work: on a silicon model, instructions and cycles of one of two threads, without names and by
 * generic names where the build has names.  tests/build/check_profiles.py compiles and runs it.
 */
#include <stdio.h>
#include <models/sim/sim.h>
#include <upmu/cpu.h>
#include <upmu/event.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/upmu.h>

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_session session;
static struct upmu_thread worker, other;

static bool add(enum upmu_basic_event which)
{
    struct upmu_event event;

    return upmu_event_basic(cpu.meter.pmu, which, &event) == UPMU_OK &&
           upmu_set_add_event(&session.set, &event, NULL) == UPMU_OK;
}

static bool run(struct upmu_thread *from, struct upmu_thread *to, uint64_t instructions)
{
    bool switched = upmu_thread_switch(&cpu, from, to) == UPMU_OK;

    upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = instructions, .cycles = 2 * instructions});
    return switched;
}

static bool count(const char *model, const char *names)
{
    struct upmu_count counts[2];

    if (upmu_session_init(&session, &machine) != UPMU_OK)
        return false;
    if (names ? upmu_set_add(&session.set, names, NULL) != UPMU_OK
              : !(add(UPMU_BASIC_INSTRUCTIONS) && add(UPMU_BASIC_CYCLES)))
        return false;
    upmu_thread_init(&worker, 1, 1, NULL);
    upmu_thread_init(&other, 1, 2, NULL);
    if (upmu_session_attach_thread(&session, &worker, NULL) != UPMU_OK || upmu_session_start(&session) != UPMU_OK ||
        !run(&other, &worker, 7000) || !run(&worker, &other, 90000) || !run(&other, &worker, 5000) ||
        !run(&worker, &other, 1) || upmu_set_read(&session.set, 0, 2, counts) != UPMU_OK ||
        upmu_thread_exit(&worker) != UPMU_OK || upmu_session_close(&session) != UPMU_OK)
        return false;
    printf("%s %s %llu %llu\n", model, names ? names : "basic", (unsigned long long)counts[0].value,
           (unsigned long long)counts[1].value);
    return true;
}

static bool measure(const char *model)
{
    upmu_sim_init(&sim, upmu_sim_profile(model), 1);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    if (upmu_machine_init(&machine, upmu_sim_port(&sim)) != UPMU_OK || upmu_cpu_init(&cpu, &machine, NULL) != UPMU_OK)
        return false;
    return count(model, NULL) && (!UPMU_NAMES || count(model, "instructions,cycles")) &&
           upmu_cpu_fini(&cpu) == UPMU_OK;
}

int main(void)
{
    return measure("skl") && measure("p6") && measure("zen3") ? 0 : 1;
}
