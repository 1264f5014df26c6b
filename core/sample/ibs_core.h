/* SPDX-License-Identifier: MIT */
/*
 * Sampling units (AMD's instruction-based sampling, IBS): take samples in the handler, and stop the units when their
 * CPU is taken out of the machine or suspended.
 */
#ifndef UPMU_CORE_IBS_CORE_H
#define UPMU_CORE_IBS_CORE_H

#include <upmu/ibs.h>
#include <upmu/session.h>

#if UPMU_IBS

/*
 * Take the sample of each IBS unit (fetch, op) of the executing CPU that has one into the unit's queue, and arm that
 * unit again. Called by the handler. Returns the number of units that had a sample, 0 to 2, also if the sample was
 * lost.
 */
unsigned upmu_ibs_handle(struct upmu_meter *meter, const struct upmu_frame *frame);

/*
 * Write `count` steps (a register and its value each) of a struct upmu_ibs_plan, in order; false: a register faulted,
 * and the other steps were written all the same. Called by the local side and by the handler.
 */
bool upmu_ibs_steps(struct upmu_bank *bank, const struct upmu_ibs_step *step, unsigned count);

/*
 * If an IBS unit has a sample in its registers, copy it into the unit's queue, or count it as lost (no room, or a
 * register faulted twice), or drop it if the backend discards it for an erratum. The unit is not armed again. Returns
 * false if the unit has no sample or its control register faulted twice. `frame` NULL: the interrupted code is not
 * known.
 */
bool upmu_ibs_take(struct upmu_meter *meter, struct upmu_ibs *ibs, const struct upmu_frame *frame);

/*
 * Stop all IBS units of a CPU that is taken out of the machine or suspended; false: a register faulted. Context: a
 * bracket on this CPU.
 */
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
