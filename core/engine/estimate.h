/* SPDX-License-Identifier: MIT */
/*
 * Error bounds of estimated counts.
 */
#ifndef UPMU_CORE_ESTIMATE_H
#define UPMU_CORE_ESTIMATE_H

#include "core/engine/session_core.h"

/* A run of a set is over: one more turn for the estimates. */
void upmu_estimate_turn(struct upmu_set *set);

/* Three standard errors of an estimate from `raw` events in running_ns of enabled_ns. */
uint64_t upmu_estimate_error(const struct upmu_set *set, const struct upmu_tally *tally,
                             const struct upmu_count *count);

#endif
