/* SPDX-License-Identifier: MIT */
/*
 * From raw counter values to 64-bit counts and due samples.  The caller holds the
 * tally (its sequence is odd, or it is the handler).
 */
#ifndef UPMU_CORE_COUNT_H
#define UPMU_CORE_COUNT_H

#include <upmu/session.h>

/* Does this tally sample?  In a build without sampling none does. */
static inline bool upmu_tally_samples(const struct upmu_tally *tally)
{
    return UPMU_SAMPLING && tally->period;
}

/* Add what a counter counted since the tally's base; false: nothing. */
bool upmu_count_fold(const struct upmu_pmu *pmu, const struct upmu_event *event, struct upmu_tally *tally,
                     unsigned counter, uint64_t value);

/* Has a sampling counter passed zero?  The value decides. */
bool upmu_count_overflowed(const struct upmu_pmu *pmu, unsigned counter, uint64_t value);

/*
 * After a fold: is a sample due?  Moves `due` on and counts periods that passed
 * without one.
 */
bool upmu_count_due(struct upmu_tally *tally);

/* The value to load so that the counter overflows when the next sample is due. */
uint64_t upmu_count_load(const struct upmu_pmu *pmu, const struct upmu_tally *tally, unsigned counter);

/* The count of a tally, given the counter's present value (if it is running). */
uint64_t upmu_count_now(const struct upmu_pmu *pmu, const struct upmu_event *event, uint64_t total, uint64_t base,
                        unsigned counter, uint64_t value);

#endif
