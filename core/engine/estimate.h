/* SPDX-License-Identifier: MIT */
/*
 * Error bounds of estimated counts.
 */
#ifndef UPMU_CORE_ESTIMATE_H
#define UPMU_CORE_ESTIMATE_H

#include "core/engine/session_core.h"

/* Add a run of a set that is over, one turn, to the sums of the estimates. */
void upmu_estimate_turn(struct upmu_set *set);

/* Returns the error of an estimate: three standard errors, for count->raw events in running_ns of enabled_ns. */
uint64_t upmu_estimate_error(const struct upmu_set *set, const struct upmu_tally *tally,
                             const struct upmu_count *count);

#endif
