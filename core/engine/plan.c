/* SPDX-License-Identifier: MIT */
/*
 * Making a plan: the sessions that leave, the sessions that come, and the counters for which registers must be written
 * because they differ from the programs of the sets that come (`changed`).
 */
#include "core/engine/plan.h"
#include "core/util/apart.h"
#include "core/hw/bank.h"
#include "core/hw/bank_inline.h"
#include "core/engine/claims.h"
#include "core/engine/features.h"
#include "core/engine/special.h"

void upmu_plan_begin(struct upmu_meter *meter, enum upmu_session_state state_after)
{
    struct upmu_plan *plan = &meter->plan;

    plan->leave = plan->come = plan->changed = 0;
    plan->counted_out = plan->counted_in = 0;
    plan->sampled_in = plan->halted_in = 0;
    plan->kept = plan->still = plan->dormant = plan->moved = 0;
    plan->corunners = meter->corunners;
    plan->outs = plan->ins = 0;
    plan->sequence = 0;
#if UPMU_BRANCH_SAMPLES
    plan->regroups = 0;
#endif
    plan->state_after = (uint8_t)state_after;
    plan->odd = upmu_special_pmu(meter);
}

void upmu_plan_forget(struct upmu_meter *meter)
{
    struct upmu_plan *plan = &meter->plan;

    /*
     * Clear the entries of `out`, `in` and `set` that this plan and former ones have filled, up to the first one that
     * is NULL.
     */
    for (unsigned part = 0; part < UPMU_PARTS && plan->out[part]; part++)
        plan->out[part] = NULL;
    for (unsigned part = 0; part < UPMU_PARTS && plan->set[part]; part++) {
        plan->in[part] = NULL;
        plan->set[part] = NULL;
    }
    plan->outs = plan->ins = 0;
}

/*
 * Add to plan.changed the counters of those steps of a program whose registers do not hold the program's value.  A
 * register is compared by its shadow, one that is not plain (upmu_bank_is_plain()) by upmu_bank_same(), too.  If all
 * are equal and plain, program->seen notes the bank's version, and the next plan can skip this.  If any differs and the
 * program needs an erratum's sequence, plan.sequence is set.
 */
static UPMU_APART void compare_program(struct upmu_meter *meter, struct upmu_program *program)
{
    const struct upmu_bank *bank = &meter->bank;
    const struct upmu_step *step = program->step, *end = step + program->steps;
    uint32_t changed = 0;
    bool plain = true;

    for (; step < end; step++) {
        bool same = !upmu_step_differs(step, bank->shadow[step->row]);

        if (__builtin_expect(!upmu_bank_is_plain(bank, step->row), 0)) {
            plain = false;
            same = same && upmu_bank_same(bank, step);
        }
        if (!same)
            changed |= step->guard;
    }
    meter->plan.changed |= changed;
    if (!changed && plain)
        program->seen = bank->version;
    if (UPMU_PRELUDES && changed && (program->flags & UPMU_PROGRAM_PRELUDE)) {
        meter->plan.sequence = 1;
        upmu_plan_hook(&meter->plan);
    }
}

bool upmu_plan_in(struct upmu_meter *meter, struct upmu_session *session, struct upmu_set *set)
{
    struct upmu_plan *plan = &meter->plan;
    struct upmu_program *program = &set->program;

#if UPMU_BRANCH_SAMPLES
    if ((program->flags & UPMU_PROGRAM_BRANCHES) && !upmu_branch_samples_join(meter, set))
        return false;
#endif
    if (!upmu_plan_has_room(meter, plan->ins, set->counters) ||
        (upmu_meter_domain(meter) && upmu_claims_share_set(meter, set) && !upmu_claims_take_set(meter, set)))
        return false;
    if (program->seen != meter->bank.version)
        compare_program(meter, program);
    plan->set[plan->ins] = set;
    plan->in[plan->ins++] = session;
    plan->come |= set->counters;
    plan->counted_in |= program->counting;
    plan->sampled_in |= program->sampling;
    if (program->sampling)
        plan->halted_in |= set->counters;
    plan->corunners += program->placement;
    if (program->flags & UPMU_PROGRAM_ODD)
        upmu_plan_hook(plan);
#if UPMU_WORLDS
    if (session->world)
        upmu_plan_hook(plan);
#endif
    return true;
}

bool upmu_plan_again(struct upmu_meter *meter)
{
    uint32_t rest = meter->running & ~meter->plan.leave;
    struct upmu_session *session;

    while ((session = upmu_meter_next_running(meter, &rest)) != NULL)
        if (!upmu_plan_out(meter, session) || !upmu_plan_in(meter, session, upmu_active(session)))
            return false;
    return true;
}

#if UPMU_BRANCH_SAMPLES

void upmu_plan_regroup(struct upmu_meter *meter)
{
    struct upmu_plan *plan = &meter->plan;
    uint32_t rest = meter->precise & meter->running & ~plan->leave;
    struct upmu_session *session;

    while (plan->outs < UPMU_PARTS && plan->ins < UPMU_PARTS &&
           (session = upmu_meter_next_running(meter, &rest)) != NULL) {
        (void)upmu_plan_out(meter, session);
        (void)upmu_plan_in(meter, session, upmu_active(session));
        plan->regroups = 1;
    }
}

#endif
