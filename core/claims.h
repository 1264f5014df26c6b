/* SPDX-License-Identifier: MIT */
/*
 * What of the hardware that other CPUs share this CPU has claimed.
 */
#ifndef UPMU_CORE_CLAIMS_H
#define UPMU_CORE_CLAIMS_H

#include "core/joint.h"

/*
 * Claim all shared parts of a placement, beside what runs already; false: another
 * CPU was faster, nothing is held but for what runs.
 */
bool upmu_claims_take(struct upmu_cpu *cpu, const struct upmu_joint *joint);

/* Give back what no session that runs needs, unless cpu->keep_claims. */
void upmu_claims_trim(struct upmu_cpu *cpu);

#endif
