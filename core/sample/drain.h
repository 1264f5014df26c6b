/* SPDX-License-Identifier: MIT */
/*
 * The place where the buffer of hardware that stores samples into memory by itself is emptied (precise sampling;
 * docs/ENGINE.md, "Features").  No such feature is built: tests/unit/engine/test_drain.c has a function of its own.
 */
#ifndef UPMU_CORE_DRAIN_H
#define UPMU_CORE_DRAIN_H

#include <upmu/session.h>

/*
 * Empty the buffer of a PMU at work.  A unit outside the cores has none.  Called once
 *
 * - in each plan (`frame` NULL), after its close and before a count is taken.  A counter that leaves or changes is
 *   closed, unless it is in meter->failed, stands still or moves without a gap.  The others are open.
 * - for each interrupt, after its samples are stored and before it is acknowledged: by the handler, or by the end of
 *   the call that was interrupted, which makes one of several interrupts.  Where one register enables all counters,
 *   those of sessions that sample are closed, unless they are in meter->failed.  `frame`: what was interrupted, or
 *   NULL.
 *
 * Context: a bracket, or a handler that interrupted none.
 */
static inline void upmu_drain(struct upmu_meter *meter, const struct upmu_frame *frame)
{
    (void)meter, (void)frame;
}

#endif
