/* SPDX-License-Identifier: MIT */
/* Sums of counts of one event over several sessions: the members of a group, the core types of a hybrid session. */
#ifndef UPMU_CORE_SUM_H
#define UPMU_CORE_SUM_H

#include <stdbool.h>
#include <upmu/set.h>

/* Begin a sum: nothing has run. */
void upmu_sum_begin(struct upmu_count *sum);

/*
 * Add a count to a sum.  Times are added, too: those of different threads, or of one thread on different CPUs, are
 * different times.  A count of a session that was never enabled changes nothing; one of a session that was enabled and
 * had no counter makes the sum partial.
 */
void upmu_sum_add(struct upmu_count *sum, const struct upmu_count *count);

/*
 * Read `count` events of a set from event `first` on, one by one (the stack has room for one count), and add them to
 * *sums.  Where a register faults, *out_fault becomes true, and that count is missing.  Returns UPMU_OK, or the first
 * other status.
 */
enum upmu_status upmu_sum_read(struct upmu_set *set, unsigned first, unsigned count, struct upmu_count *sums,
                               bool *out_fault);

/* Make sums partial. */
void upmu_sum_part(struct upmu_count *sums, unsigned count);

#endif
