/* SPDX-License-Identifier: MIT */
/*
 * What handlers left to the local side.
 */
#ifndef UPMU_CORE_DEFERRED_H
#define UPMU_CORE_DEFERRED_H

#include <upmu/session.h>

/*
 * Replay overflows that handlers deferred, mask sessions that they found full.  Where overflows come faster, some wait
 * for the next local call.
 */
void upmu_deferred_run(struct upmu_meter *meter);

#endif
