/* SPDX-License-Identifier: MIT */
/*
 * A session's claims on what other CPUs share.
 */
#ifndef UPMU_CORE_CLAIMS_H
#define UPMU_CORE_CLAIMS_H

#include <upmu/session.h>

/* Claim the shared parts of a placed session; false: another CPU was faster, nothing is held. */
bool upmu_claims_take(struct upmu_cpu *cpu, struct upmu_session *session);

/* Give back what no other session that runs needs; others may change it from now on. */
void upmu_claims_release(struct upmu_cpu *cpu, struct upmu_session *session);

#endif
