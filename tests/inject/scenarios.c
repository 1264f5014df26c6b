/* SPDX-License-Identifier: MIT */
/*
 * What a host does with counters, written once.  The first scenarios know no backend; the last ones are of what only a
 * Pentium 4 has: two hyper-threads that share counters, cascades, tags.
 *
 * Most are scripts: statements with a `;` between them, each a word of statements[] and its numbers (the session first,
 * then the CPU or the thread), and `N ( ... )`, so many times.  Others need more, and are functions that use scripts:
 *
 *     session I LIST SAMPLED                rig_session()
 *     event I TEXT KIND SAMPLED CASCADE     rig_p4_event()
 *     apart, concerned, user, nests         flags of the rig
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <upmu/session.h>

#include "tests/inject/rig.h"

/* ---- Scripts ---- */

static void execute_on(struct rig *rig, unsigned cpu)
{
    upmu_sim_switch_cpu(&rig->sim, cpu);
}

static void run_so_many(struct rig *rig, unsigned instructions)
{
    rig_run(rig, instructions);
}

static const struct {
    const char *word;
    void (*one)(struct rig *rig, unsigned which);
    void (*two)(struct rig *rig, unsigned duty, unsigned other);
} statements[] = {
    {"attach", NULL, rig_attach},
    {"branches", rig_branches, NULL},
    {"changed", rig_changed, NULL},
    {"cpu", rig_cpu_init, NULL},
    {"detach", rig_detach, NULL},
    {"drain", rig_drain, NULL},
    {"enter", rig_enter, NULL},
    {"exit", rig_exit, NULL},
    {"follow", NULL, rig_follow},
    {"leave", rig_cpu_fini, NULL},
    {"next-set", rig_switch_set, NULL},
    {"on", execute_on, NULL},
    {"poll", rig_poll, NULL},
    {"power", rig_power_on, NULL},
    {"read", rig_read, NULL},
    {"record", rig_record, NULL},
    {"restart", rig_restart, NULL},
    {"resume", rig_resume, NULL},
    {"run", run_so_many, NULL},
    {"sets", rig_second_set, NULL},
    {"share", rig_share, NULL},
    {"start", rig_start, NULL},
    {"stop", rig_stop, NULL},
    {"suspend", rig_suspend, NULL},
    {"switch", rig_switch, NULL},
    {"tick", rig_tick, NULL},
    {"world", NULL, rig_world},
};

static enum rig_kind kind_of(const char *word)
{
    return !strcmp(word, "branches") ? RIG_BRANCHES : !strcmp(word, "tagged") ? RIG_TAGGED : RIG_REPLAYED;
}

/* One statement of this many words; false: there is none such. */
static bool state(struct rig *rig, char words[][64], int count)
{
    unsigned first = count > 1 ? (unsigned)strtoul(words[1], NULL, 10) : 0;

    for (unsigned i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        if (strcmp(statements[i].word, words[0]) || count != (statements[i].one ? 2 : 3))
            continue;
        if (statements[i].one)
            statements[i].one(rig, first);
        else
            statements[i].two(rig, first, (unsigned)strtoul(words[2], NULL, 10));
        return true;
    }
    if (count == 4 && !strcmp(words[0], "session"))
        rig_session(rig, first, words[2], (unsigned)strtoul(words[3], NULL, 10));
    else if (count == 6 && !strcmp(words[0], "event"))
        rig_p4_event(rig, first, words[2], kind_of(words[3]), words[4][0] == '1', strtoul(words[5], NULL, 10));
    else if (count == 1 && !strcmp(words[0], "apart"))
        rig->apart = true;
    else if (count == 1 && !strcmp(words[0], "concerned"))
        rig->others_concerned = true;
    else if (count == 1 && !strcmp(words[0], "user"))
        rig->user = true;
    else if (count == 1 && !strcmp(words[0], "nests"))
        rig->nests = true;
    else if (count == 1 && !strcmp(words[0], "end"))
        rig_end(rig);
    else
        return false;
    return true;
}

/* Up to the end, or to the `)` of what is repeated. */
static const char *repeated(struct rig *rig, const char *text)
{
    while (*(text += strspn(text, "; ")) && *text != ')') {
        char words[6][64] = {""};
        int length = (int)strcspn(text, ";()"), count;

        if (text[length] == '(') {
            const char *inside = text + length + 1;

            for (unsigned long left = strtoul(text, NULL, 10); left; left--)
                text = repeated(rig, inside) + 1;
            continue;
        }
        count = sscanf(text, "%63[^;() ] %63[^;() ] %63[^;() ] %63[^;() ] %63[^;() ] %63[^;() ]", words[0], words[1],
                       words[2], words[3], words[4], words[5]);
        if (!state(rig, words, count)) {
            rig_fail(rig, "no statement: %.*s", length, text);
            return "";
        }
        text += length;
    }
    return text;
}

static void script(struct rig *rig, const char *text)
{
    (void)repeated(rig, text);
}

void scenario_play(const struct scenario *scenario, struct rig *rig)
{
    if (scenario->script)
        script(rig, scenario->script);
    else
        scenario->play(rig);
}

/* ---- Those that need more ---- */

static void displace(struct rig *rig, bool sampled)
{
    char pinned[32];

    rig_cpu_init(rig, 0);
    rig->others_concerned = true;
    rig_session(rig, 0, "branches", sampled);
    script(rig, "attach 0 0; start 0; run 1300");
    /* Something else that this counter can count. */
    snprintf(pinned, sizeof pinned, "%s:counter=%u", rig_is_p4(rig) || rig_is_amd(rig) ? "instructions" : "cycles",
             (unsigned)rig->duty[0].session.set.tally[0].counter);
    rig_session(rig, 1, pinned, 0);
    script(rig, "attach 1 0; start 1; run 1300; read 0; stop 0; run 300; start 0; run 1300; stop 1; run 500; end");
}

static void moves_a_counter(struct rig *rig)
{
    displace(rig, false);
}

static void moves_a_sampling_counter(struct rig *rig)
{
    displace(rig, true);
}

/* A world switch swapped the registers. */
static void is_changed_behind_its_back(struct rig *rig)
{
    script(rig, "cpu 0; concerned; session 0 cycles 0; session 1 instructions 1; attach 0 0; attach 1 0; start 0; "
                "start 1; run 1300");
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
    script(rig, "changed 0; run 1300; stop 0; stop 1; end");
}

static void masks_a_full_ring(struct rig *rig)
{
    rig_cpu_init(rig, 0);
    rig->loses_samples = true;
    rig_session(rig, 0, "instructions", 1);
    rig_session(rig, 1, "cycles", 0);
    rig->duty[0].masks = true;
    if (upmu_session_ring(&rig->duty[0].session, rig->duty[0].buffer, 256) != UPMU_OK)
        rig_fail(rig, "session_ring");
    upmu_session_mask_on_full(&rig->duty[0].session, true);
    script(rig, "attach 0 0; attach 1 0; start 1; start 0; 7 ( run 1000 ); poll 0");
    RIG_CHECK(rig, rig->duty[0].session.state == UPMU_SESSION_MASKED || rig->fault_hit, "a full ring masks nothing");
    rig_drain(rig, 0);
    RIG_CHECK(rig, rig->duty[0].samples[0] >= 3 || rig->fault_hit, "%u samples in 256 bytes",
              (unsigned)rig->duty[0].samples[0]);
    script(rig, "restart 0; run 2000; drain 0; stop 0; stop 1; end");
}

/* The ring fills up inside a call: when it returns, the session is masked. */
static void masks_inside_a_call(struct rig *rig)
{
    rig_cpu_init(rig, 0);
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
    script(rig, "drain 0; restart 0; run 2000; stop 0; end");
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
    script(rig, "cpu 0; session 0 instructions,branches 0; attach 0 0; start 0; run 400; poll 0; run 700; read 0; "
                "poll 0; run 900; read 0; stop 0; end");
}

static void wraps_beside_sampling(struct rig *rig)
{
    wind_up(rig);
    script(rig, "cpu 0; session 0 branches 0; session 1 instructions 1; attach 0 0; attach 1 0; start 0; start 1; "
                "run 1700; read 0; run 700; stop 0; stop 1; end");
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
    rig_cpu_init(rig, 0);
    rig_account(rig);
    rig->not_ours[0] = rig->cpu[0].meter.firmware;
    if (!rig->cpu[0].meter.pmu)
        return;
    pmu_free = rig->cpu[0].meter.pmu->general & ~rig->cpu[0].meter.firmware;
    RIG_CHECK(rig, pmu_free && (rig->cpu[0].meter.firmware & 1u), "counters %x of the firmware",
              (unsigned)rig->cpu[0].meter.firmware);
    script(rig, "session 0 instructions 1; attach 0 0; start 0; run 1300; stop 0; start 0; run 1300; stop 0");
    RIG_CHECK(rig, upmu_sim_runs(&rig->sim, 0, 0) || rig->fault_hit, "the firmware's counter was stopped");
    rig_end(rig);
}

static void respects_a_reservation(struct rig *rig)
{
    unsigned counter = rig_is_p4(rig) ? 12 : 0;
    uint64_t select = rig_is_p4(rig) ? 0x38000 : 0x4300c5;

    rig->sim.rule[UPMU_SIM_RULE_HAZARD_AAK100] = 0; /* as above */
    rig_cpu_init(rig, 0);
    rig_reserve(rig, 0, 1u << counter);
    upmu_sim_poke(&rig->sim, 0, rig_select_msr(rig, counter), select);
    script(rig, "session 0 branches 1; attach 0 0; start 0; run 1300");
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
    script(rig, "cpu 0; session 0 instructions 1; attach 0 0; start 0; run 1300; run 1300; stop 0; end");
}

static void switch_programs(struct rig *rig, const char *first, const char *second)
{
    rig->user = true;
    rig_cpu_init(rig, 0);
    rig_session(rig, 0, first, 1);
    rig_session(rig, 1, second, 1);
    script(rig, "follow 0 1; follow 1 2; run 300; 3 ( switch 1; run 700; read 0; switch 2; run 1300 ); switch 0; "
                "run 300; switch 2; run 1000; switch 1; run 999; switch 2; run 700; poll 0; switch 0; detach 0; "
                "detach 1; end");
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

/* Sets that switch by overflow: handlers switch them, and calls switch those that handlers leave. */
static void give_way(struct rig *rig, bool beside)
{
    rig_cpu_init(rig, 0);
    rig->switch_after = 1;
    if (beside) {
        /* A sequence before new events stops every session. */
        rig->others_concerned = rig->cpu[0].meter.pmu->capabilities & UPMU_PMU_PRELUDE;
        rig_session(rig, 1, "cycles", 1);
        rig_attach(rig, 1, 0);
        rig_start(rig, 1);
    }
    script(rig, "session 0 branches 1; sets 0; attach 0 0; start 0");
    /* Once round by hand: placements are known then. */
    script(rig, "run 300; next-set 0; run 300; next-set 0");
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

    rig_cpu_init(rig, 0);
    /* A start or a rotation may move running sessions; waiting without a clock makes counts partial. */
    script(rig, "concerned; session 3 branches 0; attach 3 0");
    counter = rig->duty[3].session.set.tally[0].counter;
    rig_detach(rig, 3);
    rig->duty[3].events = 0;
    snprintf(first, sizeof first, "branches:counter=%u", counter);
    snprintf(second, sizeof second, "%s:counter=%u", rig_is_p4(rig) || rig_is_amd(rig) ? "instructions" : "cycles",
             counter);
    rig_session(rig, 0, first, 1);
    script(rig, "share 0; attach 0 0; start 0; run 700; stop 0; detach 0");
    rig_session(rig, 1, second, 1);
    script(rig, "share 1; session 2 cache-references 0; attach 2 0; start 2; attach 0 0; start 0; attach 1 0; "
                "start 1; 5 ( run 700; tick 0 ); stop 0; run 700; stop 2; stop 1");
    for (unsigned i = 0; i < 3; i++)
        rig_detach(rig, i);
    rig_end(rig);
}

/* Counter 0 is the firmware's; both threads leave it alone. */
static void two_threads_leave_firmware_alone(struct rig *rig)
{
    rig->apart = true;
    upmu_sim_firmware(&rig->sim, 0);
    upmu_sim_set_delivery(&rig->sim, 0, rig->order.variant->vector ? 0x40 : UPMU_SIM_LVTPC_NMI);
    rig_account(rig);
    rig->not_ours[0] = rig->not_ours[1] = 1u;
    rig_cpu_init(rig, 0);
    rig_cpu_init(rig, 1);
    if (!rig->cpu[0].meter.pmu || !rig->cpu[1].meter.pmu)
        return;
    RIG_CHECK(rig, rig->cpu[0].meter.firmware == 1 && rig->cpu[1].meter.firmware == 1,
              "counters %x, %x of the firmware", (unsigned)rig->cpu[0].meter.firmware,
              (unsigned)rig->cpu[1].meter.firmware);
    script(rig, "session 0 instructions,cycles 1; session 1 branches,instructions 1; attach 0 0; start 0; on 1; "
                "attach 1 1; start 1; run 1300; on 0; run 1300; stop 0; on 1; stop 1; on 0");
    RIG_CHECK(rig, upmu_sim_runs(&rig->sim, 0, 0) || rig->fault_hit, "the firmware's counter was stopped");
    rig_end(rig);
}

/* Both threads go to sleep with their sessions running; what the core held is gone. */
static void two_threads_sleep(struct rig *rig)
{
    script(rig, "apart; cpu 0; cpu 1; session 0 instructions,cycles 1; session 1 instructions,branches 0; "
                "attach 0 0; start 0; on 1; attach 1 1; start 1; run 900; on 0; run 1300; suspend 1; run 300; "
                "suspend 0; run 500");
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        upmu_sim_reset_cpu(&rig->sim, cpu);
        upmu_sim_set_delivery(&rig->sim, cpu, rig->order.variant->vector ? 0x40 : UPMU_SIM_LVTPC_NMI);
    }
    script(rig, "resume 0; run 700; resume 1; on 1; run 1100; read 1; stop 1; on 0; run 700; stop 0; end");
}

/* ---- All of them ---- */

#define SAMPLES_AND_RESTARTS \
    "cpu 0; session 0 instructions 1; attach 0 0; run 300; start 0; 4 ( run 600 ); read 0; stop 0; run 1500; " \
    "start 0; run 650; read 0; run 650; stop 0; end"

const struct scenario scenarios[] = {
    {.name = "counts_and_restarts",
     .general = 1,
     .script =
        "cpu 0; session 0 instructions,cycles 0; attach 0 0; run 300; start 0; run 700; read 0; run 500; stop 0; "
        "read 0; run 300; start 0; run 100; read 0; stop 0; end"},
    {.name = "samples_and_restarts", .general = 1, .samples = true, .script = SAMPLES_AND_RESTARTS},
    {.name = "counts_beside_sampling",
     .general = 2, .samples = true,
     .script =
        "cpu 0; session 0 cycles 0; session 1 instructions 1; attach 0 0; start 0; run 100; attach 1 0; start 1; "
        "run 1300; read 0; stop 1; run 500; start 1; run 800; stop 0; run 900; read 1; detach 1; end"},
    {.name = "samples_two_counters",
     .general = 2, .samples = true,
     .script =
        "cpu 0; session 0 instructions,branches 3; attach 0 0; start 0; run 1400; run 1400; read 0; stop 0; start 0; "
        "run 1400; stop 0; end"},
    /* Two sessions that sample: each has its own handler work and its own samples. */
    {.name = "samples_in_two_sessions",
     .general = 2, .samples = true,
     .script =
        "cpu 0; session 0 branches 1; session 1 instructions 1; attach 0 0; attach 1 0; start 0; run 300; start 1; "
        "run 1300; stop 0; run 1300; start 0; run 700; read 1; stop 1; run 700; stop 0; end"},
    {.name = "moves_a_counter", .general = 2, .play = moves_a_counter},
    {.name = "moves_a_sampling_counter", .general = 2, .samples = true, .play = moves_a_sampling_counter},
    /* A whole period is full at the moment of the stop. */
    {.name = "stops_on_an_overflow",
     .general = 2, .samples = true,
     .script =
        "cpu 0; session 0 instructions,cycles 1; attach 0 0; 3 ( start 0; run 1000; stop 0 ); start 0; run 999; "
        "stop 0; detach 0; attach 0 0; start 0; run 1; stop 0; end"},
    {.name = "moves_to_another_cpu",
     .general = 2, .samples = true,
     .script =
        "cpu 0; cpu 1; session 0 instructions,cycles 1; attach 0 0; start 0; run 1300; detach 0; run 500; on 1; "
        "attach 0 1; start 0; run 900; read 0; detach 0; end"},
    /* Calls from CPU 1 are sent to the session's CPU. */
    {.name = "is_driven_from_another_cpu",
     .general = 2, .samples = true,
     .script =
        "cpu 0; cpu 1; session 0 instructions,cycles 1; on 1; attach 0 0; start 0; on 0; run 1300; on 1; run 400; "
        "read 0; stop 0; on 0; run 400; start 0; run 900; on 1; detach 0; on 0; end"},
    {.name = "sleeps",
     .general = 2, .samples = true,
     .script =
        "cpu 0; session 0 cycles 0; session 1 instructions 1; attach 0 0; attach 1 0; start 0; start 1; run 1300; "
        "suspend 0; run 500; power 0; resume 0; run 1300; read 0; read 1; stop 0; run 200; stop 1; end"},
    /* Branch records beside sessions: a sleep ends them. */
    {.name = "records_branches",
     .general = 1, .samples = true,
     .script =
        "cpu 0; session 0 instructions 1; attach 0 0; record 0; start 0; run 700; branches 0; run 700; suspend 0; "
        "resume 0; record 0; run 1300; branches 0; stop 0; run 100; end"},
    {.name = "is_changed_behind_its_back", .general = 2, .samples = true, .play = is_changed_behind_its_back},
    {.name = "leaves_with_sessions_running",
     .general = 2, .samples = true,
     .script =
        "cpu 0; session 0 cycles 0; session 1 instructions 1; attach 0 0; attach 1 0; start 0; start 1; run 1300; "
        "leave 0; run 1300; cpu 0; attach 1 0; start 1; run 1300; stop 1; end"},
    {.name = "masks_a_full_ring", .general = 2, .samples = true, .play = masks_a_full_ring},
    {.name = "masks_inside_a_call", .general = 1, .samples = true, .play = masks_inside_a_call},
    {.name = "wraps_while_counting", .general = 2, .play = wraps_while_counting},
    {.name = "wraps_beside_sampling", .general = 2, .samples = true, .play = wraps_beside_sampling},
    {.name = "polls_while_sampling",
     .general = 2, .samples = true,
     .script =
        "cpu 0; session 0 instructions,branches 1; attach 0 0; start 0; 4 ( run 700; poll 0; read 0 ); stop 0; end"},
    {.name = "leaves_the_firmware_alone", .general = 2, .samples = true, .play = leaves_the_firmware_alone},
    {.name = "respects_a_reservation", .general = 2, .samples = true, .play = respects_a_reservation},
    {.name = "survives_an_interrupt_before_init", .general = 1, .samples = true,
     .play = survives_an_interrupt_before_init},
    {.name = "refuses_calls_inside_calls", .general = 1, .samples = true, .script = "nests; " SAMPLES_AND_RESTARTS},
    /* Two threads on one counter, sampling both; beside them a session of the CPU that counts. */
    {.name = "switches_threads",
     .general = 2, .samples = true,
     .script =
        "cpu 0; session 0 branches 1; session 1 cache-references 1; session 2 cycles 0; attach 2 0; start 2; "
        "follow 0 1; follow 1 2; run 300; 2 ( switch 1; run 700; switch 2; run 700 ); read 1; switch 0; run 300; "
        "switch 2; run 800; switch 1; run 800; switch 0; stop 2; detach 0; detach 1; end"},
    {.name = "takes_turns", .general = 2, .samples = true, .play = takes_turns},
    /* Two sets of a session, both sampling, one beside a counter that only counts. */
    {.name = "switches_sets",
     .general = 2, .samples = true,
     .script =
        "cpu 0; session 0 branches 1; sets 0; attach 0 0; start 0; "
        "2 ( run 1300; next-set 0; run 700; read 0; run 900; next-set 0 ); run 600; stop 0; end"},
    {.name = "gives_way_on_overflows", .general = 2, .samples = true, .play = gives_way_on_overflows},
    {.name = "gives_way_beside_another", .general = 4, .samples = true, .play = gives_way_beside_another},
    {.name = "switches_programs", .general = 2, .samples = true, .play = switches_programs},
    {.name = "switches_programs_alike", .general = 2, .samples = true, .play = switches_programs_alike},
    {.name = "switches_a_sampled_program", .general = 2, .samples = true, .play = switches_a_sampled_program},
    /* Host and guests: each session is in its world only, started, read and stopped in both. */
    {.name = "enters_guests",
     .general = 3, .samples = true,
     .script =
        "cpu 0; session 0 instructions 1; session 1 branches 1; session 2 cycles 0; world 0 1; world 1 2; attach 0 0; "
        "attach 1 0; attach 2 0; start 0; start 2; start 1; run 700; enter 0; run 1300; read 0; read 1; exit 0; "
        "run 900; read 1; stop 0; enter 0; start 0; run 800; stop 1; run 300; exit 0; run 500; start 1; enter 0; "
        "run 600; exit 0; stop 1; stop 2; run 200; stop 0; end"},
    /* The threads of two guests, each with a session of its guest on one counter, and one of the host beside them. */
    {.name = "switches_guests",
     .general = 2, .samples = true,
     .script =
        "cpu 0; session 0 branches 1; session 1 cache-references 1; session 2 cycles 0; world 0 2; world 1 2; "
        "world 2 1; attach 2 0; start 2; follow 0 1; follow 1 2; switch 1; enter 0; run 700; exit 0; run 300; "
        "switch 2; enter 0; run 1200; exit 0; run 100; switch 1; enter 0; run 900; switch 2; run 400; exit 0; "
        "switch 0; run 300; stop 2; detach 0; detach 1; end"},
    {.name = "sleeps_in_a_guest",
     .general = 2, .samples = true,
     .script =
        "cpu 0; session 0 instructions 1; session 1 branches 0; world 0 2; world 1 1; attach 0 0; attach 1 0; start 0; "
        "start 1; enter 0; run 1300; suspend 0; run 500; power 0; resume 0; run 900; poll 0; exit 0; run 700; stop 0; "
        "stop 1; end"},
    /* What only a Pentium 4 has. */
    /* Both threads count and sample at the same time; each gets its own events. */
    {.name = "two_threads", .p4 = true,
     .general = 2, .samples = true, .threads = true,
     .script =
        "apart; cpu 0; cpu 1; session 0 instructions,cycles 1; session 1 instructions,branches 3; attach 0 0; on 1; "
        "attach 1 1; start 1; on 0; start 0; 3 ( on 0; run 700; on 1; run 900 ); read 1; stop 1; on 0; run 700; "
        "read 0; on 1; start 1; run 800; on 0; stop 0; on 1; run 800; stop 1; on 0; end"},
    /* The second thread is taken over, and given back, while the first one samples. */
    {.name = "a_sibling_comes_and_goes", .p4 = true,
     .general = 2, .samples = true, .threads = true,
     .script =
        "apart; cpu 0; session 0 instructions,cycles 1; session 1 branches 1; attach 0 0; start 0; run 1300; cpu 1; "
        "run 300; on 1; attach 1 1; start 1; run 1300; detach 1; leave 1; on 0; run 1300; read 0; stop 0; end"},
    /* A cascade counts branches after every 600 instructions' start, beside a sampling session. */
    {.name = "cascades", .p4 = true,
     .general = 2, .samples = true,
     .script =
        "cpu 0; event 0 branch_retired,cascade=instr_retired.nbogusntag branches 0 600; session 1 cycles 1; "
        "attach 0 0; attach 1 0; start 1; start 0; run 500; read 0; run 900; read 0; poll 0; run 700; stop 0; "
        "run 700; start 0; run 1100; stop 1; run 300; stop 0; end"},
    /* Uops tagged in execution are sampled, those tagged by replay are counted. */
    {.name = "tags", .p4 = true,
     .general = 2, .samples = true,
     .script =
        "cpu 0; event 0 packed_SP_retired tagged 1 0; event 1 1stL_cache_load_miss_retired replayed 0 0; attach 0 0; "
        "attach 1 0; start 0; run 700; start 1; run 1300; read 0; read 1; stop 0; run 500; start 0; run 600; stop 1; "
        "run 900; stop 0; end"},
    /* Two threads, each with tags of its own kind; both sample. */
    {.name = "tags_of_two_threads", .p4 = true,
     .general = 2, .samples = true, .threads = true,
     .script =
        "apart; cpu 0; cpu 1; event 0 packed_SP_retired tagged 1 0; "
        "event 1 1stL_cache_load_miss_retired replayed 1 0; attach 0 0; start 0; on 1; attach 1 1; start 1; "
        "3 ( on 0; run 700; on 1; run 900 ); read 1; on 0; stop 0; on 1; run 800; detach 1; on 0; start 0; run 800; "
        "stop 0; end"},
    /* A cascade of the second thread, while the first one samples. */
    {.name = "a_cascade_beside_a_thread", .p4 = true,
     .general = 2, .samples = true, .threads = true,
     .script =
        "apart; cpu 0; cpu 1; session 0 instructions,branches 1; "
        "event 1 branch_retired,cascade=uops_retired.nbogus branches 0 600; attach 0 0; start 0; on 1; attach 1 1; "
        "start 1; on 0; run 900; on 1; run 900; on 0; run 900; on 1; run 900; read 1; stop 1; run 300; start 1; "
        "run 900; on 0; run 400; stop 0; on 1; stop 1; on 0; end"},
    {.name = "two_threads_leave_firmware_alone", .p4 = true, .general = 2, .samples = true, .threads = true,
     .play = two_threads_leave_firmware_alone},
    {.name = "two_threads_sleep", .p4 = true, .general = 2, .samples = true, .threads = true,
     .play = two_threads_sleep},
    /* One thread's registers may have changed behind its back; the other thread samples on. */
    {.name = "one_thread_is_told_of_a_change", .p4 = true,
     .general = 2, .samples = true, .threads = true,
     .script =
        "apart; concerned; cpu 0; cpu 1; session 0 instructions,cycles 1; session 1 instructions,branches 1; "
        "attach 0 0; start 0; on 1; attach 1 1; start 1; run 1300; on 0; run 1300; changed 0; run 1300; on 1; "
        "run 900; read 1; stop 1; on 0; stop 0; end"},
    /* The first thread leaves with its session running; the second one goes on. */
    {.name = "one_thread_leaves", .p4 = true,
     .general = 2, .samples = true, .threads = true,
     .script =
        "apart; cpu 0; cpu 1; session 0 instructions,cycles 1; session 1 instructions,branches 3; attach 0 0; "
        "start 0; on 1; attach 1 1; start 1; run 1300; on 0; run 700; leave 0; run 700; on 1; run 900; read 1; on 0; "
        "cpu 0; attach 0 0; start 0; run 1300; on 1; run 300; stop 1; on 0; stop 0; end"},
    {.name = NULL},
};
