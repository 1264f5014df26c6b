/* SPDX-License-Identifier: MIT */
/* Error bounds of counts that are estimated because their set ran for a part of the time. */
#ifndef UPMU_CORE_ESTIMATE_H
#define UPMU_CORE_ESTIMATE_H

#include "core/engine/session_core.h"

#if UPMU_TURNS

/*
 * When a run of a set (a turn) is over: add its time and its counts to the sums from which errors are estimated.  A
 * turn that took no time is not counted.
 */
void upmu_estimate_turn(struct upmu_set *set);

/*
 * Return the error of an estimated count, in events: three standard errors for count->raw events in running_ns of
 * enabled_ns.  After fewer than two turns: all events that were estimated, not counted.  ~0: the error is larger than
 * 64 bits.
 */
uint64_t upmu_estimate_error(const struct upmu_set *set, const struct upmu_tally *tally,
                             const struct upmu_count *count);

#else

static inline void upmu_estimate_turn(struct upmu_set *set)
{
    (void)set;
}

static inline uint64_t upmu_estimate_error(const struct upmu_set *set, const struct upmu_tally *tally,
                                           const struct upmu_count *count)
{
    (void)set;
    (void)tally;
    return count->value - count->raw;
}

#endif

#endif
