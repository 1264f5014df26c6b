/* SPDX-License-Identifier: MIT */
/*
 * The rig: what must hold when a scenario is over.
 */
#include <upmu/session.h>
#include "tests/inject/rig.h"

/* Counts at rest against the truth. */
static void check_counts(struct rig *rig, unsigned index)
{
    struct rig_duty *duty = &rig->duty[index];
    struct upmu_count counts[RIG_EVENTS];

    if (rig_counts(duty, counts) != UPMU_OK) {
        rig_fail(rig, "session %u cannot be read at rest", index);
        return;
    }
    for (unsigned k = 0; k < duty->events; k++)
        if (counts[k].quality == UPMU_QUALITY_PARTIAL && rig->fault_hit)
            duty->marred = true;
    for (unsigned k = 0; k < duty->events; k++) {
        unsigned long long value = counts[k].raw, truth = rig_truth(rig, duty, k);

        RIG_CHECK(rig, value <= rig_possible(duty, k), "session %u event %u has %llu, possible are %llu", index, k,
                  value, (unsigned long long)rig_possible(duty, k));
        /* Also after a fault a count that lacks something says so. */
        if (duty->marred && counts[k].quality == UPMU_QUALITY_EXACT && !duty->late)
            RIG_CHECK(rig, value >= duty->certain[k], "session %u event %u has %llu and is exact, certain are %llu",
                      index, k, value, (unsigned long long)duty->certain[k]);
        if (duty->marred)
            continue;
        RIG_CHECK(rig, value >= duty->certain[k], "session %u event %u has %llu, certain are %llu", index, k, value,
                  (unsigned long long)duty->certain[k]);
        RIG_CHECK(rig, value == truth, "session %u event %u has %llu, its counter counted %llu", index, k, value,
                  truth);
    }
}

static void check_samples(struct rig *rig, unsigned index)
{
    struct rig_duty *duty = &rig->duty[index];

    for (unsigned k = 0; k < duty->events && !duty->marred && !rig->loses_samples; k++) {
        const struct upmu_tally *tally = rig_tally(duty, k);
        unsigned periods;

        if (!duty->period[k])
            continue;
        periods = (unsigned)(tally->total / duty->period[k]);
        RIG_CHECK(rig, duty->samples[k] + tally->lost == periods,
                  "session %u event %u gave %u samples and lost %u in %u periods", index, k, (unsigned)duty->samples[k],
                  (unsigned)tally->lost, periods);
        RIG_CHECK(rig, tally->lost <= rig->may_lose, "session %u event %u lost %u samples", index, k,
                  (unsigned)tally->lost);
    }
}

/* Alone and undisturbed, it counts and samples exactly. */
static void look_alive(struct rig *rig, unsigned index)
{
    struct rig_duty *duty = &rig->duty[index];
    uint64_t total[RIG_EVENTS];
    uint32_t samples[RIG_EVENTS];
    uint64_t truth[RIG_EVENTS];

    rig_tell(rig, "alive?", index);
    if (duty->session.state == UPMU_SESSION_DETACHED)
        rig_attach(rig, index, duty->cpu);
    upmu_sim_switch_cpu(&rig->sim, duty->cpu);
    rig_drain(rig, index);
    rig_account(rig);
    for (unsigned k = 0; k < duty->events; k++) {
        total[k] = rig_tally(duty, k)->total;
        truth[k] = rig_truth(rig, duty, k);
        samples[k] = duty->samples[k] + rig_tally(duty, k)->lost;
    }
    rig_start(rig, index);
    rig_visit(rig, duty);
    for (unsigned i = 0; i < 6; i++)
        rig_run(rig, RIG_UNIT / 2);
    rig_visit(rig, NULL);
    rig_stop(rig, index);
    for (unsigned k = 0; k < duty->events; k++) {
        const struct upmu_tally *tally = rig_tally(duty, k);
        uint64_t counted = tally->total - total[k];

        if (!rig_is_active(duty, k))
            continue;
        /* A gate that a fault left open lets the model count before the start. */
        RIG_CHECK(rig,
                  counted <= rig_truth(rig, duty, k) - truth[k] &&
                      (counted == rig_truth(rig, duty, k) - truth[k] || duty->marred) &&
                      counted >= (rig->switch_after && duty->second ? 0
                                  : duty->late                      ? 1
                                                                    : rig_amount(duty->kind[k], 3 * RIG_UNIT)),
                  "session %u event %u counted %u afterwards, not %u", index, k, (unsigned)counted,
                  (unsigned)rig_amount(duty->kind[k], 3 * RIG_UNIT));
        if (duty->period[k] && !rig->loses_samples) {
            uint32_t expected = (uint32_t)(tally->total / duty->period[k] - total[k] / duty->period[k]);

            /* After a fault the phase may have been lost, the rate not. */
            RIG_CHECK(rig,
                      duty->samples[k] + tally->lost - samples[k] + duty->marred >= expected &&
                          duty->samples[k] + tally->lost - samples[k] <= expected + duty->marred,
                      "session %u event %u gave %u samples afterwards, not %u", index, k,
                      (unsigned)(duty->samples[k] + tally->lost - samples[k]), (unsigned)expected);
        }
    }
}

/* If the fault came only now: all is well that goes well afterwards. */
static void check_alive(struct rig *rig, unsigned index)
{
    bool hit = rig->fault_hit, failed = rig->failed;

    /* What executes is of the session's thread. */
    if (rig->user)
        rig->thread_on = rig->duty[index].thread - 1u;
    look_alive(rig, index);
    if (hit || !rig->fault_hit)
        return;
    rig->failed = failed;
    look_alive(rig, index);
}

static void check_others(struct rig *rig)
{
    /* What a sequence before a new event keeps closed is a gap of unknown length then, fault or no fault. */
    if (rig->order.variant->no_clock && (rig->cpu[0].meter.pmu->capabilities & UPMU_PMU_PRELUDE))
        return;
    if (rig->order.injection != RIG_FAULT || !rig->fault_hit || rig->others_concerned || !rig->fault_calling ||
        rig->order.width > 1)
        return;
    for (unsigned i = 0; i < RIG_DUTIES; i++) {
        bool sampled = false;

        /* Without a clock it is unknown what sets miss. */
        if (rig->duty[i].second && rig->order.variant->no_clock)
            continue;
        for (unsigned k = 0; k < rig->duty[i].events; k++)
            sampled |= rig->duty[i].period[k] != 0;
        /*
         * A fault in a handler is that of the session whose overflow is handled; so is a fault at the end of a call
         * whose middle the overflow came into (`early`): the rest of the handler's work is done there.
         */
        if (&rig->duty[i] != rig->fault_calling && rig->duty[i].marred &&
            !((rig->fault_in_handler || rig->order.early) && sampled))
            rig_fail(rig, "session %u is marred by a fault in a call on another", i);
    }
}

/* After a fault and a poll, what runs samples on without being started again. */
static void check_going_on(struct rig *rig, unsigned index)
{
    struct rig_duty *duty = &rig->duty[index];
    const struct upmu_tally *tally = &duty->session.set.tally[0];
    uint32_t before;

    if (!rig->fault_hit || duty->session.state != UPMU_SESSION_RUNNING || !duty->period[0] || rig->loses_samples ||
        (duty->second && rig->switch_after))
        return;
    upmu_sim_switch_cpu(&rig->sim, duty->cpu);
    rig_poll(rig, duty->cpu);
    rig_drain(rig, index);
    before = duty->samples[0] + tally->lost;
    rig_visit(rig, duty);
    rig_run(rig, 3 * RIG_UNIT);
    rig_visit(rig, NULL);
    rig_drain(rig, index);
    RIG_CHECK(rig, duty->session.state != UPMU_SESSION_RUNNING || duty->samples[0] + tally->lost >= before + 2,
              "session %u samples no more, though it runs", index);
}

void rig_end(struct rig *rig)
{
    for (unsigned i = 0; i < RIG_DUTIES; i++)
        if (rig->duty[i].entitled)
            check_going_on(rig, i);
    for (unsigned i = 0; i < RIG_DUTIES; i++)
        if (rig->duty[i].entitled) {
            upmu_sim_switch_cpu(&rig->sim, rig->duty[i].cpu);
            rig_stop(rig, i);
        }
    rig_account(rig);
    for (unsigned i = 0; i < RIG_DUTIES; i++)
        if (rig->duty[i].events) {
            rig_drain(rig, i);
            check_counts(rig, i);
            check_samples(rig, i);
        }
    check_others(rig);
    for (unsigned i = 0; i < RIG_DUTIES; i++)
        if (rig->duty[i].events && rig->cpu_up[rig->duty[i].cpu])
            check_alive(rig, i);
    for (unsigned cpu = 0; cpu < 2; cpu++)
        if (rig->cpu_up[cpu])
            rig_cpu_fini(rig, cpu);
    if (rig->sim.violation_count)
        rig_fail(rig, "violation at access %u: %s (register %x)", (unsigned)rig->sim.first_violation.access,
                 rig->sim.first_violation.text, (unsigned)rig->sim.first_violation.address);
}
