/* SPDX-License-Identifier: MIT */
/*
 * Some hardware itself stores samples into a buffer in memory (precise sampling; docs/PRECISE.md, docs/ENGINE.md,
 * "Features"). The engine calls upmu_drain() where records are to be taken from the buffer.
 */
#ifndef UPMU_CORE_DRAIN_H
#define UPMU_CORE_DRAIN_H

#include "core/sample/records_core.h"
#include <upmu/session.h>

/*
 * Take records from the sample buffer of a CPU's PMU; a unit outside the cores has no buffer. Called once
 *
 * - in each plan (`of_plan`), after counters were closed and before a count is taken. A counter that leaves or changes
 *   is closed, unless it is in meter->failed, stands still or moves without a gap. All other counters are open.
 * - for each interrupt while any event samples, before its overflows are taken: by the handler, or by the end of the
 *   call that was interrupted, which treats several interrupts as one. If one register enables all counters, those of
 *   sessions that sample are closed, unless they are in meter->failed.
 *
 * Context: a bracket, or a handler that interrupted none.
 */
static inline void upmu_drain(struct upmu_meter *meter, bool of_plan)
{
#if UPMU_PRECISE
    if (__builtin_expect(meter->precise == 0, 1))
        return;
    if (of_plan)
        upmu_records_leave(meter);
    else
        upmu_records_interrupt(meter);
#else
    (void)meter;
    (void)of_plan;
#endif
}

#endif
