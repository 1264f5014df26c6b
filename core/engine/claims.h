/* SPDX-License-Identifier: MIT */
/* Claims of a CPU in its domain: on counters and resources that other CPUs share. */
#ifndef UPMU_CORE_CLAIMS_H
#define UPMU_CORE_CLAIMS_H

#include <upmu/cpu.h>
#include "core/engine/joint.h"

/* Return the domain where a meter's shared parts are claimed; NULL: the meter has none, or the build has no domains. */
static inline struct upmu_domain *upmu_meter_domain(const struct upmu_meter *meter)
{
    return UPMU_DOMAINS ? meter->domain : NULL;
}

/*
 * May a placed set use parts that other CPUs share?  Yes, in a domain, if it has shared counters, if the PMU is paired,
 * or if an event has a payload register and the PMU shares resources.
 */
bool upmu_claims_share_set(const struct upmu_meter *meter, const struct upmu_set *set);

/*
 * Claim all shared counters and resources of the places in `joint`.  Returns true without a domain; false where another
 * CPU has a claim that excludes one of these: the claims that were got before stay until upmu_claims_trim() parks them.
 */
bool upmu_claims_take(struct upmu_meter *meter, const struct upmu_joint *joint);

/*
 * As upmu_claims_take(), for the placement that a set has, on a meter with a domain.  Returns false in a handler
 * (meter->in_handler), which may claim nothing.
 */
bool upmu_claims_take_set(struct upmu_meter *meter, struct upmu_set *set);

/*
 * Give the bank its domain, and mark in it the registers of shared counters and resources, which other CPUs of the
 * domain also write.
 */
void upmu_claims_share(struct upmu_meter *meter);

/*
 * Has another CPU of the domain taken over its PMU, and neither left nor gone to sleep since?  False without a domain.
 */
bool upmu_claims_others(const struct upmu_meter *meter);

/*
 * Claim those of these counters that CPUs share.  Returns the mask without the counters that another CPU has claimed;
 * counters that are not shared stay in it.  The claims last until upmu_claims_trim() parks them.
 */
uint32_t upmu_claims_counters(struct upmu_meter *meter, uint32_t counters);

/*
 * A meter ends or goes to sleep: end its CPU's part in the domain, and write back the found values of registers
 * (bank->found).  In shared registers the last CPU of the domain alone does that, with the values that the first one
 * found.  Registers of counters that the host reserved stay as they are.  Returns false where a register faulted twice,
 * or a box of a unit is gone.
 */
bool upmu_claims_restore(struct upmu_meter *meter);

/* Let the end of the bracket park the claims that no running session needs. */
static inline void upmu_claims_review(struct upmu_meter *meter)
{
    meter->claims_due = 1;
}

/*
 * Park the claims that no running session needs: at the end of a bracket that changed claims, and before registers are
 * verified.  `say_nothing`: the registers of these claims are unknown from now on, even if no other CPU takes the
 * claims.
 */
void upmu_claims_trim(struct upmu_meter *meter, bool say_nothing);

#endif
