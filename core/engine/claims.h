/* SPDX-License-Identifier: MIT */
/*
 * Claims of this CPU on counters and resources that other CPUs share.
 */
#ifndef UPMU_CORE_CLAIMS_H
#define UPMU_CORE_CLAIMS_H

#include <upmu/cpu.h>
#include "core/engine/joint.h"

/* The domain where a meter's shared parts are claimed, or NULL. */
static inline struct upmu_domain *upmu_meter_domain(const struct upmu_meter *meter)
{
    return UPMU_DOMAINS ? meter->domain : NULL;
}

/* May a placed set use parts that other CPUs see? */
bool upmu_claims_share_set(const struct upmu_meter *meter, const struct upmu_set *set);

/*
 * Claim all shared parts of a joint problem's places.  Returns false where another CPU has a claim: upmu_claims_trim()
 * then parks what was claimed before that.
 */
bool upmu_claims_take(struct upmu_meter *meter, const struct upmu_joint *joint);

/* As upmu_claims_take(), for the placement that a set has.  Returns false in a handler, which may claim nothing. */
bool upmu_claims_take_set(struct upmu_meter *meter, struct upmu_set *set);

/* Tell the bank which registers other CPUs of the domain see, too. */
void upmu_claims_share(struct upmu_meter *meter);

/* Has another CPU of the domain taken over, too? */
bool upmu_claims_others(const struct upmu_meter *meter);

/*
 * Claim those of these counters that CPUs share.  Returns the counters that are not shared or are claimed now;
 * upmu_claims_trim() parks the claims.
 */
uint32_t upmu_claims_counters(struct upmu_meter *meter, uint32_t counters);

/*
 * Write back the values that were found at take-over.  Shared registers: only the last CPU of the domain does it, with
 * the values that the first one found.  Returns false where a register faulted.
 */
bool upmu_claims_restore(struct upmu_meter *meter);

/* Let the end of the bracket park the claims that no running session needs. */
static inline void upmu_claims_review(struct upmu_meter *meter)
{
    meter->claims_due = 1;
}

/*
 * At the end of a bracket: park the claims that no running session needs.  `say_nothing`: the registers of these claims
 * are unknown from now on, even if no other CPU takes the claims.
 */
void upmu_claims_trim(struct upmu_meter *meter, bool say_nothing);

#endif
