/* SPDX-License-Identifier: MIT */
/*
 * Claims of this CPU on hardware that other CPUs share.
 */
#ifndef UPMU_CORE_CLAIMS_H
#define UPMU_CORE_CLAIMS_H

#include <upmu/cpu.h>
#include "core/engine/joint.h"

/* Where this CPU's shared parts are claimed, or NULL. */
static inline struct upmu_domain *upmu_meter_domain(const struct upmu_meter *meter)
{
    return UPMU_DOMAINS ? meter->domain : NULL;
}

/* Might a set that has a placement use parts that other CPUs see? */
bool upmu_claims_share_set(const struct upmu_meter *meter, const struct upmu_set *set);

/*
 * Claim all shared parts of a placement, beside what runs already; false: another
 * CPU was faster, and upmu_claims_trim() parks what was claimed before that.
 */
bool upmu_claims_take(struct upmu_meter *meter, const struct upmu_joint *joint);

/* As upmu_claims_take(), for a set where it is placed.  A handler claims nothing: false. */
bool upmu_claims_take_set(struct upmu_meter *meter, struct upmu_set *set);

/* Name the registers that other CPUs of the domain see, too. */
void upmu_claims_share(struct upmu_meter *meter);

/* Has another CPU of the domain taken over, too? */
bool upmu_claims_others(const struct upmu_meter *meter);

/* Of these counters, those that are not shared, or could be claimed: upmu_claims_trim() parks them. */
uint32_t upmu_claims_counters(struct upmu_meter *meter, uint32_t counters);

/*
 * Write back what was found: of what is shared, the last CPU of the domain restores
 * what the first one found, for all.
 */
bool upmu_claims_restore(struct upmu_meter *meter);

/*
 * Release claims that no running session needs: at the end of a bracket.  `say_nothing`: the shadow
 * of these is unknown from now on, even if no CPU takes them.
 */
void upmu_claims_trim(struct upmu_meter *meter, bool say_nothing);

#endif
