/* SPDX-License-Identifier: MIT */
/* Images: values for bits of a PMU's registers, as a list of steps in the order in which they are written. */
#ifndef UPMU_CORE_IMAGE_H
#define UPMU_CORE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <upmu/pmu.h>

/* Return the mask of the bits of the register that a step sets. */
static inline uint64_t upmu_step_mask(const struct upmu_step *step)
{
    return (uint64_t)(int64_t)step->mask << step->shift;
}

/* Return the value that a step gives the bits of its mask, in their places in the register; all other bits are 0. */
static inline uint64_t upmu_step_value(const struct upmu_step *step)
{
    return (uint64_t)step->value << step->shift;
}

/* Does the register value `value` differ from the step's in any bit that the step sets? */
static inline bool upmu_step_differs(const struct upmu_step *step, uint64_t value)
{
    return (value >> step->shift ^ step->value) & (uint64_t)(int64_t)step->mask;
}

/* Return `value`, a register's value, with the bits of the step's mask replaced by the step's value. */
static inline uint64_t upmu_step_apply(const struct upmu_step *step, uint64_t value)
{
    return value ^ ((value >> step->shift ^ step->value) & (uint64_t)(int64_t)step->mask) << step->shift;
}

/* Values for registers of one PMU: steps in load order, in which the steps of one register stand together. */
struct upmu_image {
    const struct upmu_pmu *pmu;
    struct upmu_step *step;
    uint8_t count, room;
    bool released; /* the steps are in the order of release_rank: counters are given up */
    bool prelude;  /* a register of the image must be written after upmu_backend.prelude, if it differs */
    bool overfull; /* the memory had no room for a step, which is missing */
};

/* How many steps it takes at most to give up all counters of a PMU (upmu_backend.release). */
#define UPMU_IMAGE_STEPS 48

/* Return an image without steps, whose steps are to lie in the memory `step` with room for `room` of them. */
static inline struct upmu_image upmu_image_on(const struct upmu_pmu *pmu, struct upmu_step *step, unsigned room)
{
    return (struct upmu_image){.pmu = pmu, .step = step, .room = (uint8_t)room};
}

/*
 * Add a value for the bits `mask` of a register; gates and bits that upmu does not own are left out.  `guard`: counters
 * that are stopped while the register changes.  If the image has a step with the same row, mask and value, no step is
 * added, and that step's guard gets these counters, too.
 */
void upmu_image_add(struct upmu_image *image, unsigned row, uint64_t mask, uint64_t value, uint32_t guard);

#endif
