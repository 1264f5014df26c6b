/* SPDX-License-Identifier: MIT */
/*
 * All 18 counters of a Pentium 4 in one session, in a build whose sets have room for
 * them (UPMU_SET_EVENTS); compiled and run by tests/build/check_p4.py.
 */
#include <stdio.h>

#include "models/sim/sim.h"
#include <upmu/cpu.h>
#include <upmu/upmu.h>

#define EVENTS 18u

_Static_assert(UPMU_SET_EVENTS >= EVENTS, "built with -DUPMU_SET_EVENTS=18");

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_session session;

static int expect(const char *what, uint32_t found, uint32_t wanted)
{
    if (found != wanted)
        printf("%s: %u, not %u\n", what, (unsigned)found, (unsigned)wanted);
    return found != wanted;
}

/* Accesses since the last call: writes * 10000 + reads * 100 + RDPMCs. */
static uint32_t accesses(void)
{
    static struct upmu_accesses last;
    const struct upmu_accesses *now = &cpu.meter.bank.accesses;
    uint32_t made = (now->writes - last.writes) * 10000u + (now->reads - last.reads) * 100u + now->rdpmcs - last.rdpmcs;

    last = *now;
    return made;
}

int main(void)
{
    static const char list[] =
        "BPU_fetch_request ITLB_reference BSQ_allocation cycles TC_deliver_mode tc_ms_xfer retired_branch_type "
        "retired_mispred_branch_type packed_SP_uop memory_cancel memory_complete load_port_replay instructions "
        "uops_retired branches machine_clear uop_type resource_stall";
    struct upmu_count count[EVENTS];
    uint32_t counters = 0;
    int wrong = 0;

    upmu_sim_init(&sim, upmu_sim_profile("prescott"), 1);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    wrong += expect("machine", upmu_machine_init(&machine, upmu_sim_port(&sim)), UPMU_OK);
    wrong += expect("CPU", upmu_cpu_init(&cpu, &machine, NULL), UPMU_OK);
    wrong += expect("session", upmu_session_init(&session, &machine), UPMU_OK);
    wrong += expect("add", upmu_set_add(&session.set, list, NULL), UPMU_OK);
    wrong += expect("attach", upmu_session_attach_cpu(&session, &cpu), UPMU_OK);
    for (unsigned round = 0; round < 2; round++) {
        (void)accesses();
        wrong += expect("start", upmu_session_start(&session), UPMU_OK);
        if (round)
            wrong += expect("writes of a start", accesses(), EVENTS * 10000u);
        (void)accesses();
        upmu_sim_work(&sim);
        wrong += expect("read", upmu_set_read(&session.set, 0, EVENTS, count), UPMU_OK);
        wrong += expect("accesses of a read", accesses(), EVENTS);
        wrong += expect("instructions", (uint32_t)count[12].value, (round + 1) * UPMU_SIM_WORK_INSTRUCTIONS);
        wrong += expect("cycles", (uint32_t)count[3].value, (round + 1) * UPMU_SIM_WORK_CYCLES);
        (void)accesses();
        wrong += expect("stop", upmu_session_stop(&session), UPMU_OK);
        wrong += expect("accesses of a stop", accesses(), EVENTS * 10000u + EVENTS);
    }
    for (unsigned i = 0; i < EVENTS; i++)
        counters |= 1u << session.set.tally[i].counter;
    wrong += expect("counters", counters, 0x3ffff);
    wrong += expect("fini", upmu_cpu_fini(&cpu), UPMU_OK);
    wrong += expect("violations", sim.violation_count, 0);
    return wrong != 0;
}
