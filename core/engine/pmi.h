/* SPDX-License-Identifier: MIT */
/*
 * What the interrupt handler and the local side share: emitting samples.
 */
#ifndef UPMU_CORE_PMI_H
#define UPMU_CORE_PMI_H

#include <upmu/session.h>

/*
 * From the local side, which holds all tallies of the session: one sample for the
 * events whose overflow it found.  `deferred`: with the frame that the handler
 * left, if there is one.
 */
void upmu_pmi_emit(struct upmu_cpu *cpu, struct upmu_session *session, uint32_t events, bool deferred);

#endif
