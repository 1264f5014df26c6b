/* SPDX-License-Identifier: MIT */
/*
 * Some hardware itself stores samples into a buffer in memory (precise sampling; docs/ENGINE.md, "Features"). A library
 * that drives such hardware empties the buffer in upmu_drain(). None does yet: tests/unit/engine/test_drain.c has a
 * function of its own in place of this one.
 */
#ifndef UPMU_CORE_DRAIN_H
#define UPMU_CORE_DRAIN_H

#include <upmu/session.h>

/*
 * Empty the sample buffer of a CPU's PMU; a unit outside the cores has no buffer. Does nothing as yet. Called once
 *
 * - in each plan (`frame` is NULL), after counters were closed and before a count is taken. A counter that leaves or
 *   changes is closed, unless it is in meter->failed, stands still or moves without a gap. All other counters are open.
 * - for each interrupt, after its samples are stored and before it is acknowledged: by the handler, or by the end of
 *   the call that was interrupted, which treats several interrupts as one. If one register enables all counters, those
 *   of sessions that sample are closed, unless they are in meter->failed. `frame`: the interrupted code, or NULL if it
 *   is not known.
 *
 * Context: a bracket, or a handler that interrupted none.
 */
static inline void upmu_drain(struct upmu_meter *meter, const struct upmu_frame *frame)
{
    (void)meter, (void)frame;
}

#endif
