/* SPDX-License-Identifier: MIT */
/*
 * What a host does with counters, written once; nothing here knows a backend.
 */
#include <stdio.h>

#include "tests/inject/rig.h"

static void bring_up(struct rig *rig)
{
    rig_cpu_init(rig, 0);
}

static void counts_and_restarts(struct rig *rig)
{
    bring_up(rig);
    rig_session(rig, 0, "instructions,cycles", 0);
    rig_attach(rig, 0, 0);
    rig_run(rig, 300);
    rig_start(rig, 0);
    rig_run(rig, 700);
    rig_read(rig, 0);
    rig_run(rig, 500);
    rig_stop(rig, 0);
    rig_read(rig, 0);
    rig_run(rig, 300);
    rig_start(rig, 0);
    rig_run(rig, 100);
    rig_read(rig, 0);
    rig_stop(rig, 0);
    rig_end(rig);
}

static void samples_and_restarts(struct rig *rig)
{
    bring_up(rig);
    rig_session(rig, 0, "instructions", 1);
    rig_attach(rig, 0, 0);
    rig_run(rig, 300);
    rig_start(rig, 0);
    for (unsigned i = 0; i < 4; i++)
        rig_run(rig, 600);
    rig_read(rig, 0);
    rig_stop(rig, 0);
    rig_run(rig, 1500);
    rig_start(rig, 0);
    rig_run(rig, 650);
    rig_read(rig, 0);
    rig_run(rig, 650);
    rig_stop(rig, 0);
    rig_end(rig);
}

static void counts_beside_sampling(struct rig *rig)
{
    bring_up(rig);
    rig_session(rig, 0, "cycles", 0);
    rig_session(rig, 1, "instructions", 1);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    rig_run(rig, 100);
    rig_attach(rig, 1, 0);
    rig_start(rig, 1);
    rig_run(rig, 1300);
    rig_read(rig, 0);
    rig_stop(rig, 1);
    rig_run(rig, 500);
    rig_start(rig, 1);
    rig_run(rig, 800);
    rig_stop(rig, 0);
    rig_run(rig, 900);
    rig_read(rig, 1);
    rig_detach(rig, 1);
    rig_end(rig);
}

static void samples_two_counters(struct rig *rig)
{
    bring_up(rig);
    rig_session(rig, 0, "instructions,branches", 3);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    rig_run(rig, 1400);
    rig_run(rig, 1400);
    rig_read(rig, 0);
    rig_stop(rig, 0);
    rig_start(rig, 0);
    rig_run(rig, 1400);
    rig_stop(rig, 0);
    rig_end(rig);
}

/* Two sessions that sample: each has its own handler work and its own samples. */
static void samples_in_two_sessions(struct rig *rig)
{
    bring_up(rig);
    rig_session(rig, 0, "branches", 1);
    rig_session(rig, 1, "instructions", 1);
    rig_attach(rig, 0, 0);
    rig_attach(rig, 1, 0);
    rig_start(rig, 0);
    rig_run(rig, 300);
    rig_start(rig, 1);
    rig_run(rig, 1300);
    rig_stop(rig, 0);
    rig_run(rig, 1300);
    rig_start(rig, 0);
    rig_run(rig, 700);
    rig_read(rig, 1);
    rig_stop(rig, 1);
    rig_run(rig, 700);
    rig_stop(rig, 0);
    rig_end(rig);
}

static void displace(struct rig *rig, bool sampled)
{
    char pinned[32];

    bring_up(rig);
    rig->others_concerned = true;
    rig_session(rig, 0, "branches", sampled);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    rig_run(rig, 1300);
    /* Something else that this counter can count. */
    snprintf(pinned, sizeof pinned, "%s:counter=%u", rig_is_p4(rig) || rig_is_amd(rig) ? "instructions" : "cycles",
             (unsigned)rig->duty[0].session.set.tally[0].counter);
    rig_session(rig, 1, pinned, 0);
    rig_attach(rig, 1, 0);
    rig_start(rig, 1);
    rig_run(rig, 1300);
    rig_read(rig, 0);
    rig_stop(rig, 0);
    rig_run(rig, 300);
    rig_start(rig, 0);
    rig_run(rig, 1300);
    rig_stop(rig, 1);
    rig_run(rig, 500);
    rig_end(rig);
}

static void moves_a_counter(struct rig *rig)
{
    displace(rig, false);
}

static void moves_a_sampling_counter(struct rig *rig)
{
    displace(rig, true);
}

/* A whole period is full at the moment of the stop. */
static void stops_on_an_overflow(struct rig *rig)
{
    bring_up(rig);
    rig_session(rig, 0, "instructions,cycles", 1);
    rig_attach(rig, 0, 0);
    for (unsigned i = 0; i < 3; i++) {
        rig_start(rig, 0);
        rig_run(rig, RIG_UNIT);
        rig_stop(rig, 0);
    }
    rig_start(rig, 0);
    rig_run(rig, RIG_UNIT - 1);
    rig_stop(rig, 0);
    rig_detach(rig, 0);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    rig_run(rig, 1);
    rig_stop(rig, 0);
    rig_end(rig);
}

static void moves_to_another_cpu(struct rig *rig)
{
    bring_up(rig);
    rig_cpu_init(rig, 1);
    rig_session(rig, 0, "instructions,cycles", 1);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    rig_run(rig, 1300);
    rig_detach(rig, 0);
    rig_run(rig, 500);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_attach(rig, 0, 1);
    rig_start(rig, 0);
    rig_run(rig, 900);
    rig_read(rig, 0);
    rig_detach(rig, 0);
    rig_end(rig);
}

/* Calls from CPU 1 are sent to the session's CPU. */
static void is_driven_from_another_cpu(struct rig *rig)
{
    bring_up(rig);
    rig_cpu_init(rig, 1);
    rig_session(rig, 0, "instructions,cycles", 1);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_run(rig, 1300);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_run(rig, 400);
    rig_read(rig, 0);
    rig_stop(rig, 0);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_run(rig, 400);
    rig_start(rig, 0);
    rig_run(rig, 900);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_detach(rig, 0);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_end(rig);
}

static void sleeps(struct rig *rig)
{
    bring_up(rig);
    rig_session(rig, 0, "cycles", 0);
    rig_session(rig, 1, "instructions", 1);
    rig_attach(rig, 0, 0);
    rig_attach(rig, 1, 0);
    rig_start(rig, 0);
    rig_start(rig, 1);
    rig_run(rig, 1300);
    rig_suspend(rig, 0);
    rig_run(rig, 500);
    rig_power_on(rig, 0);
    rig_resume(rig, 0);
    rig_run(rig, 1300);
    rig_read(rig, 0);
    rig_read(rig, 1);
    rig_stop(rig, 0);
    rig_run(rig, 200);
    rig_stop(rig, 1);
    rig_end(rig);
}

/* A world switch swapped the registers. */
static void is_changed_behind_its_back(struct rig *rig)
{
    bring_up(rig);
    rig->others_concerned = true;
    rig_session(rig, 0, "cycles", 0);
    rig_session(rig, 1, "instructions", 1);
    rig_attach(rig, 0, 0);
    rig_attach(rig, 1, 0);
    rig_start(rig, 0);
    rig_start(rig, 1);
    rig_run(rig, 1300);
    upmu_sim_poke(&rig->sim, 0, rig_select_msr(rig, 0), rig_is_p4(rig) ? 0 : 0x4300c4);
    upmu_sim_poke(&rig->sim, 0, rig_select_msr(rig, 1), 0);
    if (rig_is_p4(rig)) {
        upmu_sim_poke(&rig->sim, 0, 0x3b8, 0x0600020c);
        upmu_sim_poke(&rig->sim, 0, rig_select_msr(rig, 12), 0x39000);
    } else if (rig_is_amd(rig)) {
        upmu_sim_poke(&rig->sim, 0, 0xc0000301, 1);
    } else if (rig->sim.profile->version >= 2) {
        upmu_sim_poke(&rig->sim, 0, 0x38d, 0);
        upmu_sim_poke(&rig->sim, 0, 0x38f, 1);
    }
    rig_account(rig);
    rig_changed(rig, 0);
    rig_run(rig, 1300);
    rig_stop(rig, 0);
    rig_stop(rig, 1);
    rig_end(rig);
}

static void leaves_with_sessions_running(struct rig *rig)
{
    bring_up(rig);
    rig_session(rig, 0, "cycles", 0);
    rig_session(rig, 1, "instructions", 1);
    rig_attach(rig, 0, 0);
    rig_attach(rig, 1, 0);
    rig_start(rig, 0);
    rig_start(rig, 1);
    rig_run(rig, 1300);
    rig_cpu_fini(rig, 0);
    rig_run(rig, 1300);
    rig_cpu_init(rig, 0);
    rig_attach(rig, 1, 0);
    rig_start(rig, 1);
    rig_run(rig, 1300);
    rig_stop(rig, 1);
    rig_end(rig);
}

static void masks_a_full_ring(struct rig *rig)
{
    bring_up(rig);
    rig->loses_samples = true;
    rig_session(rig, 0, "instructions", 1);
    rig_session(rig, 1, "cycles", 0);
    rig->duty[0].masks = true;
    if (upmu_session_ring(&rig->duty[0].session, rig->duty[0].buffer, 256) != UPMU_OK)
        rig_fail(rig, "session_ring");
    upmu_session_mask_on_full(&rig->duty[0].session, true);
    rig_attach(rig, 0, 0);
    rig_attach(rig, 1, 0);
    rig_start(rig, 1);
    rig_start(rig, 0);
    for (unsigned i = 0; i < 7; i++)
        rig_run(rig, RIG_UNIT);
    rig_poll(rig, 0);
    RIG_CHECK(rig, rig->duty[0].session.state == UPMU_SESSION_MASKED || rig->fault_hit, "a full ring masks nothing");
    rig_drain(rig, 0);
    RIG_CHECK(rig, rig->duty[0].samples[0] >= 3 || rig->fault_hit, "%u samples in 256 bytes",
              (unsigned)rig->duty[0].samples[0]);
    rig_restart(rig, 0);
    rig_run(rig, 2 * RIG_UNIT);
    rig_drain(rig, 0);
    rig_stop(rig, 0);
    rig_stop(rig, 1);
    rig_end(rig);
}

/* The ring fills up inside a call: when it returns, the session is masked. */
static void masks_inside_a_call(struct rig *rig)
{
    bring_up(rig);
    rig->loses_samples = true;
    rig_session(rig, 0, "instructions", 1);
    rig->duty[0].masks = true;
    if (upmu_session_ring(&rig->duty[0].session, rig->duty[0].buffer, 256) != UPMU_OK)
        rig_fail(rig, "session_ring");
    upmu_session_mask_on_full(&rig->duty[0].session, true);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    for (unsigned i = 0; i < 5; i++) /* one more does not fit */
        rig_run(rig, RIG_UNIT);
    for (unsigned i = 0; i < 3; i++) {
        rig_poll(rig, 0);
        RIG_CHECK(rig,
                  upmu_ring_lost(&rig->duty[0].session.ring) == 0 ||
                      rig->duty[0].session.state == UPMU_SESSION_MASKED || rig->fault_hit,
                  "a call returns, and a full ring has masked nothing");
    }
    rig_drain(rig, 0);
    rig_restart(rig, 0);
    rig_run(rig, 2 * RIG_UNIT);
    rig_stop(rig, 0);
    rig_end(rig);
}

static void wind_up(struct rig *rig)
{
    for (unsigned i = 0; i < (rig_is_p4(rig) ? UPMU_SIM_P4_COUNTERS : 2u); i++)
        upmu_sim_poke(&rig->sim, 0, rig_value_msr(rig, i), (UINT64_C(1) << rig->sim.profile->general_width) - 900u - i);
}

/* Counters that were not reset wrap soon; without interrupts the polls must catch it. */
static void wraps_while_counting(struct rig *rig)
{
    wind_up(rig);
    for (unsigned i = 0; i < 2 && i < rig->sim.profile->fixed; i++)
        upmu_sim_poke(&rig->sim, 0, 0x309 + i, (UINT64_C(1) << rig->sim.profile->fixed_width) - 1100u - i);
    bring_up(rig);
    rig_session(rig, 0, "instructions,branches", 0);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    rig_run(rig, 400);
    rig_poll(rig, 0);
    rig_run(rig, 700);
    rig_read(rig, 0);
    rig_poll(rig, 0);
    rig_run(rig, 900);
    rig_read(rig, 0);
    rig_stop(rig, 0);
    rig_end(rig);
}

static void wraps_beside_sampling(struct rig *rig)
{
    wind_up(rig);
    bring_up(rig);
    rig_session(rig, 0, "branches", 0);
    rig_session(rig, 1, "instructions", 1);
    rig_attach(rig, 0, 0);
    rig_attach(rig, 1, 0);
    rig_start(rig, 0);
    rig_start(rig, 1);
    rig_run(rig, 1700);
    rig_read(rig, 0);
    rig_run(rig, 700);
    rig_stop(rig, 0);
    rig_stop(rig, 1);
    rig_end(rig);
}

static void polls_while_sampling(struct rig *rig)
{
    bring_up(rig);
    rig_session(rig, 0, "instructions,branches", 1);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    for (unsigned i = 0; i < 4; i++) {
        rig_run(rig, 700);
        rig_poll(rig, 0);
        rig_read(rig, 0);
    }
    rig_stop(rig, 0);
    rig_end(rig);
}

/* Freezing would let the hardware stop the firmware's counter; a common enable would run what is stale beside it. */
static void tame(struct rig *rig)
{
    if (rig->sim.profile->flags & (UPMU_SIM_P6 | UPMU_SIM_ONE_ENABLE))
        upmu_sim_poke(&rig->sim, 0, 0x187, 0);
    if (rig->sim.profile->version < 2 || rig_is_amd(rig))
        return;
    upmu_sim_poke(&rig->sim, 0, 0x1d9, 1);
    upmu_sim_poke(&rig->sim, 0, 0x38e, upmu_sim_peek(&rig->sim, 0, 0x38e) & ~(UINT64_C(3) << 58));
}

/* Counter 0 and, where there are any, fixed counters belong to the firmware. */
static void leaves_the_firmware_alone(struct rig *rig)
{
    unsigned pmu_free;

    /* The sequence needs all selects, and one is the firmware's. */
    rig->sim.rule[UPMU_SIM_RULE_HAZARD_AAK100] = 0;
    upmu_sim_firmware(&rig->sim, 0);
    if (rig->order.variant->hostile)
        tame(rig);
    if (rig->sim.profile->version >= 2 && !rig_is_amd(rig))
        upmu_sim_poke(&rig->sim, 0, 0x38f, (UINT64_C(1) << rig->sim.profile->general) - 1u);
    upmu_sim_set_delivery(&rig->sim, 0, rig->order.variant->vector ? 0x40 : UPMU_SIM_LVTPC_NMI);
    rig_account(rig);
    rig->not_ours[0] = rig_is_p4(rig) || rig_is_amd(rig) ? 1u : 1u | 0xf0000u;
    bring_up(rig);
    rig_account(rig);
    rig->not_ours[0] = rig->cpu[0].meter.firmware;
    if (!rig->cpu[0].meter.pmu)
        return;
    pmu_free = rig->cpu[0].meter.pmu->general & ~rig->cpu[0].meter.firmware;
    RIG_CHECK(rig, pmu_free && (rig->cpu[0].meter.firmware & 1u), "counters %x of the firmware",
              (unsigned)rig->cpu[0].meter.firmware);
    rig_session(rig, 0, "instructions", 1);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    rig_run(rig, 1300);
    rig_stop(rig, 0);
    rig_start(rig, 0);
    rig_run(rig, 1300);
    rig_stop(rig, 0);
    RIG_CHECK(rig, upmu_sim_runs(&rig->sim, 0, 0) || rig->fault_hit, "the firmware's counter was stopped");
    rig_end(rig);
}

static void respects_a_reservation(struct rig *rig)
{
    unsigned counter = rig_is_p4(rig) ? 12 : 0;
    uint64_t select = rig_is_p4(rig) ? 0x38000 : 0x4300c5;

    rig->sim.rule[UPMU_SIM_RULE_HAZARD_AAK100] = 0; /* as above */
    bring_up(rig);
    rig_reserve(rig, 0, 1u << counter);
    upmu_sim_poke(&rig->sim, 0, rig_select_msr(rig, counter), select);
    rig_session(rig, 0, "branches", 1);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    rig_run(rig, 1300);
    RIG_CHECK(rig, rig->duty[0].session.set.tally[0].counter != counter, "a reserved counter was taken");
    rig_stop(rig, 0);
    RIG_CHECK(rig, upmu_sim_peek(&rig->sim, 0, rig_select_msr(rig, counter)) == select,
              "a reserved counter was written");
    upmu_sim_poke(&rig->sim, 0, rig_select_msr(rig, counter), 0);
    upmu_cpu_unreserve(&rig->cpu[0], 1u << counter);
    rig_end(rig);
}

/* An overflow while the LVTPC was masked: that interrupt is never sent again. */
static void survives_an_interrupt_before_init(struct rig *rig)
{
    unsigned counter = rig_is_p4(rig) ? 12 : 0;

    rig->strangers = true;
    upmu_sim_poke(&rig->sim, 0, rig_select_msr(rig, counter), rig_is_p4(rig) ? 0x4039000 : 0x5300c0);
    if (!rig_is_amd(rig))
        upmu_sim_poke(&rig->sim, 0, rig_is_p4(rig) ? 0x3b8 : 0x38f, rig_is_p4(rig) ? 0x0400060c : 1);
    upmu_sim_poke(&rig->sim, 0, rig_value_msr(rig, counter), (UINT64_C(1) << rig->sim.profile->general_width) - 100u);
    rig_run(rig, 200);
    upmu_sim_poke(&rig->sim, 0, rig_select_msr(rig, counter), 0);
    rig_account(rig);
    rig->truth[0][RIG_INSTRUCTIONS] = 0;
    bring_up(rig);
    rig_session(rig, 0, "instructions", 1);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    rig_run(rig, 1300);
    rig_run(rig, 1300);
    rig_stop(rig, 0);
    rig_end(rig);
}

/* Two threads on one counter, sampling both; beside them a session of the CPU that counts. */
static void switches_threads(struct rig *rig)
{
    bring_up(rig);
    rig_session(rig, 0, "branches", 1);
    rig_session(rig, 1, "cache-references", 1);
    rig_session(rig, 2, "cycles", 0);
    rig_attach(rig, 2, 0);
    rig_start(rig, 2);
    rig_follow(rig, 0, 1);
    rig_follow(rig, 1, 2);
    rig_run(rig, 300);
    for (unsigned round = 0; round < 2; round++) {
        rig_switch(rig, 1);
        rig_run(rig, 700);
        rig_switch(rig, 2);
        rig_run(rig, 700);
    }
    rig_read(rig, 1);
    rig_switch(rig, 0);
    rig_run(rig, 300);
    rig_switch(rig, 2);
    rig_run(rig, 800);
    rig_switch(rig, 1);
    rig_run(rig, 800);
    rig_switch(rig, 0);
    rig_stop(rig, 2);
    rig_detach(rig, 0);
    rig_detach(rig, 1);
    rig_end(rig);
}

static void switch_programs(struct rig *rig, const char *first, const char *second)
{
    rig->user = true;
    bring_up(rig);
    rig_session(rig, 0, first, 1);
    rig_session(rig, 1, second, 1);
    rig_follow(rig, 0, 1);
    rig_follow(rig, 1, 2);
    rig_run(rig, 300);
    for (unsigned round = 0; round < 3; round++) {
        rig_switch(rig, 1);
        rig_run(rig, 700);
        rig_read(rig, 0);
        rig_switch(rig, 2);
        rig_run(rig, 1300);
    }
    rig_switch(rig, 0);
    rig_run(rig, 300);
    rig_switch(rig, 2);
    rig_run(rig, RIG_UNIT);
    rig_switch(rig, 1);
    rig_run(rig, RIG_UNIT - 1);
    rig_switch(rig, 2);
    rig_run(rig, 700);
    rig_poll(rig, 0);
    rig_switch(rig, 0);
    rig_detach(rig, 0);
    rig_detach(rig, 1);
    rig_end(rig);
}

/* Of user mode alone: where selects are gates their counters may be changed while they run. */
static void switches_programs(struct rig *rig)
{
    switch_programs(rig, "branches:u,instructions:u", "cache-references:u,branches:u");
}

/* The samplers stay on their counter, one starts or ends where the other counts. */
static void switches_programs_alike(struct rig *rig)
{
    switch_programs(rig, "branches:u,instructions:u", "branches:u,cache-references:u");
}

static void switches_a_sampled_program(struct rig *rig)
{
    switch_programs(rig, "branches:u,instructions:u", "instructions:u,branches:u");
}

/* Two sets of a session, both sampling, one beside a counter that only counts. */
static void switches_sets(struct rig *rig)
{
    bring_up(rig);
    rig_session(rig, 0, "branches", 1);
    rig_second_set(rig, 0);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    for (unsigned round = 0; round < 2; round++) {
        rig_run(rig, 1300);
        rig_switch_set(rig, 0);
        rig_run(rig, 700);
        rig_read(rig, 0);
        rig_run(rig, 900);
        rig_switch_set(rig, 0);
    }
    rig_run(rig, 600);
    rig_stop(rig, 0);
    rig_end(rig);
}

/* The same with switches by overflow: handlers switch the sets, and calls those that handlers leave. */
static void give_way(struct rig *rig, bool beside)
{
    bring_up(rig);
    rig->switch_after = 1;
    if (beside) {
        /* A sequence before new events stops every session. */
        rig->others_concerned = rig->cpu[0].meter.pmu->capabilities & UPMU_PMU_PRELUDE;
        rig_session(rig, 1, "cycles", 1);
        rig_attach(rig, 1, 0);
        rig_start(rig, 1);
    }
    rig_session(rig, 0, "branches", 1);
    rig_second_set(rig, 0);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    /* Once round by hand: placements are known then. */
    rig_run(rig, 300);
    rig_switch_set(rig, 0);
    rig_run(rig, 300);
    rig_switch_set(rig, 0);
    for (unsigned round = 0; round < 5; round++) {
        rig_run(rig, 900);
        if (round == 2)
            rig_read(rig, 0);
        if (round == 3)
            rig_tick(rig, 0);
    }
    rig_stop(rig, 0);
    if (beside)
        rig_stop(rig, 1);
    rig_end(rig);
}

static void gives_way_on_overflows(struct rig *rig)
{
    give_way(rig, false);
}

static void gives_way_beside_another(struct rig *rig)
{
    give_way(rig, true);
}

/* Two sampling sessions of one counter are multiplexed. */
static void takes_turns(struct rig *rig)
{
    char first[40], second[40];
    unsigned counter;

    bring_up(rig);
    /* A start or a rotation may move running sessions; waiting without a clock makes counts partial. */
    rig->others_concerned = true;
    rig_session(rig, 3, "branches", 0);
    rig_attach(rig, 3, 0);
    counter = rig->duty[3].session.set.tally[0].counter;
    rig_detach(rig, 3);
    rig->duty[3].events = 0;
    snprintf(first, sizeof first, "branches:counter=%u", counter);
    snprintf(second, sizeof second, "%s:counter=%u", rig_is_p4(rig) || rig_is_amd(rig) ? "instructions" : "cycles",
             counter);
    rig_session(rig, 0, first, 1);
    rig_share(rig, 0);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    rig_run(rig, 700);
    rig_stop(rig, 0);
    rig_detach(rig, 0);
    rig_session(rig, 1, second, 1);
    rig_share(rig, 1);
    rig_session(rig, 2, "cache-references", 0);
    rig_attach(rig, 2, 0);
    rig_start(rig, 2);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    rig_attach(rig, 1, 0);
    rig_start(rig, 1);
    for (unsigned round = 0; round < 5; round++) {
        rig_run(rig, 700);
        rig_tick(rig, 0);
    }
    rig_stop(rig, 0);
    rig_run(rig, 700);
    rig_stop(rig, 2);
    rig_stop(rig, 1);
    for (unsigned i = 0; i < 3; i++)
        rig_detach(rig, i);
    rig_end(rig);
}

static void refuses_calls_inside_calls(struct rig *rig)
{
    rig->nests = true;
    samples_and_restarts(rig);
}

const struct scenario scenarios[] = {
    {"counts_and_restarts", counts_and_restarts, 1, false, false},
    {"samples_and_restarts", samples_and_restarts, 1, true, false},
    {"counts_beside_sampling", counts_beside_sampling, 2, true, false},
    {"samples_two_counters", samples_two_counters, 2, true, false},
    {"samples_in_two_sessions", samples_in_two_sessions, 2, true, false},
    {"moves_a_counter", moves_a_counter, 2, false, false},
    {"moves_a_sampling_counter", moves_a_sampling_counter, 2, true, false},
    {"stops_on_an_overflow", stops_on_an_overflow, 2, true, false},
    {"moves_to_another_cpu", moves_to_another_cpu, 2, true, false},
    {"is_driven_from_another_cpu", is_driven_from_another_cpu, 2, true, false},
    {"sleeps", sleeps, 2, true, false},
    {"is_changed_behind_its_back", is_changed_behind_its_back, 2, true, false},
    {"leaves_with_sessions_running", leaves_with_sessions_running, 2, true, false},
    {"masks_a_full_ring", masks_a_full_ring, 2, true, false},
    {"masks_inside_a_call", masks_inside_a_call, 1, true, false},
    {"wraps_while_counting", wraps_while_counting, 2, false, false},
    {"wraps_beside_sampling", wraps_beside_sampling, 2, true, false},
    {"polls_while_sampling", polls_while_sampling, 2, true, false},
    {"leaves_the_firmware_alone", leaves_the_firmware_alone, 2, true, false},
    {"respects_a_reservation", respects_a_reservation, 2, true, false},
    {"survives_an_interrupt_before_init", survives_an_interrupt_before_init, 1, true, false},
    {"refuses_calls_inside_calls", refuses_calls_inside_calls, 1, true, false},
    {"switches_threads", switches_threads, 2, true, false},
    {"takes_turns", takes_turns, 2, true, false},
    {"switches_sets", switches_sets, 2, true, false},
    {"gives_way_on_overflows", gives_way_on_overflows, 2, true, false},
    {"gives_way_beside_another", gives_way_beside_another, 4, true, false},
    {"switches_programs", switches_programs, 2, true, false},
    {"switches_programs_alike", switches_programs_alike, 2, true, false},
    {"switches_a_sampled_program", switches_a_sampled_program, 2, true, false},
};

const unsigned scenario_count = sizeof scenarios / sizeof scenarios[0];
