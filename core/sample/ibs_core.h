/* SPDX-License-Identifier: MIT */
/*
 * Sampling units (IBS): what the handler does, and what happens when a CPU leaves or sleeps.
 */
#ifndef UPMU_CORE_IBS_CORE_H
#define UPMU_CORE_IBS_CORE_H

#include <upmu/ibs.h>
#include <upmu/session.h>

#if UPMU_IBS

/*
 * Take the sample of each IBS unit (fetch, op) of the executing CPU that has one, and arm that unit again; called by
 * the handler.  Returns the number of units that had a sample, 0 to 2; a sample that was lost is counted, too.
 */
unsigned upmu_ibs_handle(struct upmu_meter *meter, const struct upmu_frame *frame);

/* Write some steps of a unit's plan, by the local side or the handler; false: a register faulted. */
bool upmu_ibs_steps(struct upmu_bank *bank, const struct upmu_ibs_step *step, unsigned count);

/* Move the sample of a unit, if there is one, into the queue; false: the unit has no sample. */
bool upmu_ibs_take(struct upmu_meter *meter, struct upmu_ibs *ibs, const struct upmu_frame *frame);

/* Stop all units of a CPU that leaves or sleeps; false: a register faulted. Context: a local bracket. */
bool upmu_ibs_end(struct upmu_meter *meter);

#else

static inline unsigned upmu_ibs_handle(struct upmu_meter *meter, const struct upmu_frame *frame)
{
    (void)meter, (void)frame;
    return 0;
}

static inline bool upmu_ibs_end(struct upmu_meter *meter)
{
    (void)meter;
    return true;
}

#endif

#endif
