/* SPDX-License-Identifier: MIT */
/*
 * A plan: sessions that leave the counters of a context and sessions that come, and its execution.
 *
 * Every operation that changes what runs chooses both sides and calls upmu_reconcile(), which is the one function that
 * changes what runs (docs/ENGINE.md, "What runs").  A plan lies in its context, and may be dropped: nothing has changed
 * before upmu_reconcile(), but for claims, which the end of the bracket gives back.  All inside a bracket, or in a
 * handler that interrupted none.
 */
#ifndef UPMU_CORE_PLAN_H
#define UPMU_CORE_PLAN_H

#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/engine/claims.h"
#include "core/engine/program.h"
#include "core/engine/session_core.h"

/* Begin the plan of a context.  Sessions that leave get this state. */
void upmu_plan_begin(struct upmu_meter *meter, enum upmu_session_state state_after);

/* Nothing of the context points to sessions that a plan had. */
void upmu_plan_forget(struct upmu_meter *meter);

/* More than a plain take and load is to be done for some of it. */
#define UPMU_PLAN_ODD 1u

/* Add a session that runs to those that leave; false: there is no room. */
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

/* Counters that run after the plan, as far as it is made. */
static inline uint32_t upmu_plan_taken(const struct upmu_meter *meter)
{
    return (meter->running & ~meter->plan.leave) | meter->plan.come;
}

/* Is the set placed for this kind of CPU, are its counters free, and is its placement valid beside what will run? */
static inline bool upmu_plan_fits(const struct upmu_meter *meter, const struct upmu_set *set)
{
    return !set->count ||
           (!(set->counters & upmu_plan_taken(meter)) && upmu_program_fits(meter, set, meter->plan.corunners));
}

/*
 * Add a session that comes with this set, which fits; what CPUs share is claimed.  False: there is no room, another CPU
 * has what is shared, or a handler makes the plan and would have to claim.
 */
bool upmu_plan_in(struct upmu_meter *meter, struct upmu_session *session, struct upmu_set *set);

/* Plan every running session out and in again: an erratum's sequence overwrites counters.  False: there is no room. */
bool upmu_plan_again(struct upmu_meter *meter);

/* A register of these counters has faulted. */
static inline void upmu_meter_fails(struct upmu_meter *meter, uint32_t counters)
{
    meter->failed |= counters;
}

/* A counter has no value of its event: what it counts is in no count. */
static inline void upmu_meter_loses(struct upmu_meter *meter, const struct upmu_tally *tally)
{
    upmu_meter_fails(meter, tally->counters | UPMU_BIT32(tally->counter & 31u));
    meter->slot[tally->counter & 31u].tag = 0;
}

#endif
