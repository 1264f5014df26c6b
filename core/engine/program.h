/* SPDX-License-Identifier: MIT */
/*
 * Compiled placements (docs/ENGINE.md, "What runs"): what the registers of a placed set are to hold, in load order.
 */
#ifndef UPMU_CORE_PROGRAM_H
#define UPMU_CORE_PROGRAM_H

#include "core/hw/backend.h"
#include "core/engine/session_core.h"

/* Bits of upmu_program.flags, for the events of the set. */
#define UPMU_PROGRAM_FREE 1u  /* no event needs a register that others share: valid where its counters are free */
#define UPMU_PROGRAM_WRAPS 2u /* the count of an event wraps as its counter does */
#define UPMU_PROGRAM_OTHERS 8u /* an overflow reads or resets other events of the set */
#define UPMU_PROGRAM_PRELUDE 16u /* if a register differs, an erratum's sequence is written first */
#define UPMU_PROGRAM_RECORDS 32u /* an event has values or an id in its records, or sends messages */
#define UPMU_PROGRAM_ODD 64u /* an event is a cascade, a metric, of two counters, can fall, or can stand still */

/*
 * Compile the placement of a set, if that is not done.  Returns false where the set has none, it has too many steps, or
 * the set samples slots beside their metrics.
 */
bool upmu_program_ready(struct upmu_meter *meter, struct upmu_set *set);

/* Is the program of a set compiled for this kind of CPU, and valid beside these co-runners? */
bool upmu_program_fits(const struct upmu_meter *meter, const struct upmu_set *set, uint64_t corunners);

/* The placement of a set is no longer valid: forget its program, and the co-runners beside which no place was found. */
static inline void upmu_program_forget(struct upmu_set *set)
{
    set->placed_class = 0;
    set->program.kind = 0;
    UPMU_STORE(set->program.placement, 0);
    set->program.refused = 0;
}

#endif
