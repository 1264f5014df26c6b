/* SPDX-License-Identifier: MIT */
/*
 * Compiled placements (docs/DESIGN.md, "Transitions"): what the registers of a placed set are to hold, in load order.
 */
#ifndef UPMU_CORE_PROGRAM_H
#define UPMU_CORE_PROGRAM_H

#include "core/hw/backend.h"
#include "core/engine/session_core.h"

/* Bits of upmu_program.flags. */
#define UPMU_PROGRAM_FREE 1u  /* wants nothing that events share: good wherever its counters are free */
#define UPMU_PROGRAM_WRAPS 2u /* the count of an event wraps as its counter does */
#define UPMU_PROGRAM_FALLS 4u /* the count of an event can fall */
#define UPMU_PROGRAM_OTHERS 8u /* an overflow reads or resets other events of the set */
#define UPMU_PROGRAM_PRELUDE 16u /* what is not loaded already needs an erratum's sequence first */
#define UPMU_PROGRAM_RECORDS 32u /* an event has records of its own, or messages */

/* Bits of its register that a step is about, and what they are to be. */
static inline uint64_t upmu_step_mask(const struct upmu_step *step)
{
    return (uint64_t)(int64_t)step->mask << step->shift;
}

static inline uint64_t upmu_step_value(const struct upmu_step *step)
{
    return (uint64_t)step->value << step->shift;
}

/* Is a value other than a step wants? */
static inline bool upmu_step_differs(const struct upmu_step *step, uint64_t value)
{
    return (value >> step->shift ^ step->value) & (uint64_t)(int64_t)step->mask;
}

/* Add the registers of one placed event to an image. */
void upmu_program_render(const struct upmu_meter *meter, const struct upmu_set *set, unsigned i,
                         struct upmu_image *image);

/* The registers of a placed set. */
void upmu_program_image(const struct upmu_meter *meter, const struct upmu_set *set, struct upmu_image *image);

#if UPMU_THREADS

/* Compile it now if it is not; false: it cannot be. */
bool upmu_program_ready(struct upmu_meter *meter, struct upmu_set *set);

/* Is a set's program that of its placement, on such a CPU, and good beside these co-runners? */
bool upmu_program_fits(const struct upmu_meter *meter, const struct upmu_set *set, uint64_t corunners);

#if UPMU_SETS && UPMU_SAMPLING

/*
 * By a handler that interrupted no local call.  May it change all registers of a placement?  Load them, but for
 * selects of `opening` that are gates; false: one faulted, and what follows it is unknown.
 */
bool upmu_program_handler_may(const struct upmu_bank *bank, const struct upmu_program *program);
bool upmu_program_handler_load(struct upmu_bank *bank, const struct upmu_program *program, uint32_t opening);

#endif

#endif

/* The placement of a set is no more, nor what was found out of it. */
static inline void upmu_program_forget(struct upmu_set *set)
{
    set->placed_class = 0;
    set->program.placement = 0;
    set->program.refused = 0;
}

/* Has a set that is placed nothing that only a start can bring: a cascade, metrics, a wide event? */
bool upmu_program_is_plain(const struct upmu_set *set);

#endif
