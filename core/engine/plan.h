/* SPDX-License-Identifier: MIT */
/*
 * A plan: the sessions that leave the counters of a meter, and the sessions that come.
 *
 * Each operation that changes what runs chooses both sides and calls upmu_reconcile(), the one function that carries
 * plans out (docs/ENGINE.md, "What runs").  The plan lies in the meter, and may be dropped: nothing has changed before
 * upmu_reconcile(), except claims, which the end of the bracket gives back.  All functions: inside a bracket, or in a
 * handler that interrupted none.
 */
#ifndef UPMU_CORE_PLAN_H
#define UPMU_CORE_PLAN_H

#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/engine/claims.h"
#include "core/engine/meter.h"
#include "core/engine/program.h"
#include "core/engine/session_core.h"

/*
 * Begin the plan of a meter: empty, with the present co-runners.  Sessions that leave get the state `state_after`,
 * except those that are to be masked (`full`).
 */
void upmu_plan_begin(struct upmu_meter *meter, enum upmu_session_state state_after);

/* Remove all sessions and sets from a meter's plan and clear its pointers to them, as they may be freed afterwards. */
void upmu_plan_forget(struct upmu_meter *meter);

/* The only bit of upmu_plan.odd: something in the plan needs the hooks of core/engine/special.h. */
#define UPMU_PLAN_ODD 1u

/* Let a plan call the hooks of core/engine/special.h. */
static inline void upmu_plan_hook(struct upmu_plan *plan)
{
    plan->odd |= UPMU_PLAN_ODD;
}

/*
 * Has one side of a plan room beside `parts` sessions for a session that has these counters there?  On a PMU with an
 * erratum's sequence a session with an empty set comes first or not at all.  Then upmu_plan_again() finds room for all
 * that runs: each session has one of the counters, which are fewer than UPMU_PARTS.
 */
static inline bool upmu_plan_has_room(const struct upmu_meter *meter, unsigned parts, uint32_t counters)
{
    return parts < UPMU_PARTS &&
           (!UPMU_PRELUDES || counters || !parts || !(meter->pmu->capabilities & UPMU_PMU_PRELUDE));
}

/*
 * Add a running session to those that leave, and remove its stamp from plan.corunners.  Returns false where the plan
 * has no room (UPMU_PARTS sessions leave already).  For a session with an empty set ask upmu_plan_has_room() before,
 * unless the plan is new.
 */
static inline bool upmu_plan_out(struct upmu_meter *meter, struct upmu_session *session)
{
    struct upmu_plan *plan = &meter->plan;
    const struct upmu_program *program = &upmu_active(session)->program;

    if (plan->outs == UPMU_PARTS)
        return false;
    plan->out[plan->outs++] = session;
    plan->leave |= session->counters;
    plan->counted_out |= program->counting;
    plan->corunners -= program->placement;
    plan->odd |= (uint8_t)(program->flags & UPMU_PROGRAM_ODD ? UPMU_PLAN_ODD : 0) | session->is_static;
    return true;
}

/* Return the mask of the counters that sessions will have after the plan, as far as it is made. */
static inline uint32_t upmu_plan_taken(const struct upmu_meter *meter)
{
    return (meter->running & ~meter->plan.leave) | meter->plan.come;
}

/*
 * Is the set placed for this kind of CPU, are its counters free after the plan as far as it is made, and is its
 * placement valid beside the sessions that will run?  Always true for an empty set.
 */
static inline bool upmu_plan_fits(const struct upmu_meter *meter, const struct upmu_set *set)
{
    return !set->count ||
           (!(set->counters & upmu_plan_taken(meter)) && upmu_program_fits(meter, set, meter->plan.corunners));
}

/*
 * Add a session that comes with `set`, and claim those of its registers that CPUs share.  A set with events has a
 * program, and after the plan its counters are free and its placement is valid, as upmu_plan_fits() or the caller has
 * found.  Returns false: the plan has no room, another CPU has the claim, a handler makes the plan and may claim
 * nothing, or the set wants other branches in samples than a set beside it.
 */
bool upmu_plan_in(struct upmu_meter *meter, struct upmu_session *session, struct upmu_set *set);

/*
 * Plan each running session out and in again, except those that already leave: an erratum's sequence is to overwrite
 * their counters.  Returns false where the plan has no room.
 */
bool upmu_plan_again(struct upmu_meter *meter);

/*
 * Plan the running sessions whose counters store precise records out and in again, except those that already leave:
 * what records have changes while no counter stores any.  Where the plan has no room for all, the records stay as they
 * are.
 */
#if UPMU_BRANCH_SAMPLES
void upmu_plan_regroup(struct upmu_meter *meter);
#else
static inline void upmu_plan_regroup(struct upmu_meter *meter)
{
    (void)meter;
}
#endif

/* Note in meter->failed that a register of these counters has faulted: upmu_reconcile_repair() stops their sessions. */
static inline void upmu_meter_fails(struct upmu_meter *meter, uint32_t counters)
{
    meter->failed |= counters;
}

/*
 * Note that a tally's counter has no valid value: the tally's counters count as failed, and the one that is read loses
 * its tag.
 */
static inline void upmu_meter_loses(struct upmu_meter *meter, const struct upmu_tally *tally)
{
    upmu_meter_fails(meter, tally->counters | UPMU_BIT32(tally->counter & 31u));
    upmu_meter_forget_value(meter, tally->counter & 31u);
}

#endif
