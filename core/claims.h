/* SPDX-License-Identifier: MIT */
/*
 * What of the hardware that other CPUs share this CPU has claimed.
 */
#ifndef UPMU_CORE_CLAIMS_H
#define UPMU_CORE_CLAIMS_H

#include "core/joint.h"

/* Where this CPU's shared parts are claimed, or NULL. */
static inline struct upmu_domain *upmu_cpu_domain(const struct upmu_cpu *cpu)
{
    return UPMU_DOMAINS ? cpu->domain : NULL;
}

/* Does the PMU of this CPU have parts that others see? */
static inline bool upmu_cpu_shares(const struct upmu_cpu *cpu)
{
    return upmu_cpu_domain(cpu) && (cpu->pmu->shared || cpu->pmu->shared_counters);
}

/*
 * Claim all shared parts of a placement, beside what runs already; false: another
 * CPU was faster, nothing is held but for what runs.
 */
bool upmu_claims_take(struct upmu_cpu *cpu, const struct upmu_joint *joint);

/* Give back what no session that runs needs, unless cpu->keep_claims. */
void upmu_claims_trim(struct upmu_cpu *cpu);

#endif
