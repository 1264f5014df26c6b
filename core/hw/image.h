/* SPDX-License-Identifier: MIT */
/*
 * Images: values for the registers of a PMU, as steps in load order.
 */
#ifndef UPMU_CORE_IMAGE_H
#define UPMU_CORE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <upmu/pmu.h>

/* Returns the bits of a register that a step sets. */
static inline uint64_t upmu_step_mask(const struct upmu_step *step)
{
    return (uint64_t)(int64_t)step->mask << step->shift;
}

/* Returns the value that these bits get; all other bits are 0. */
static inline uint64_t upmu_step_value(const struct upmu_step *step)
{
    return (uint64_t)step->value << step->shift;
}

/* Does a register's value differ from the step's in the bits that the step sets? */
static inline bool upmu_step_differs(const struct upmu_step *step, uint64_t value)
{
    return (value >> step->shift ^ step->value) & (uint64_t)(int64_t)step->mask;
}

/* Returns a register's value in which the bits of the step's mask are as in the step's value. */
static inline uint64_t upmu_step_apply(const struct upmu_step *step, uint64_t value)
{
    return value ^ ((value >> step->shift ^ step->value) & (uint64_t)(int64_t)step->mask) << step->shift;
}

/* Values for the registers of one PMU, in load order; the steps of one register stand together. */
struct upmu_image {
    const struct upmu_pmu *pmu;
    struct upmu_step *step;
    uint8_t count, room;
    bool released; /* the steps are in the order of release_rank: counters are given up */
    bool prelude;  /* upmu_backend.prelude comes first, if a register differs */
    bool overfull; /* there was no room for a step */
};

/* Steps that it takes to give up all counters of a PMU (upmu_backend.release), at most. */
#define UPMU_IMAGE_STEPS 48

/* Returns an image without steps, in the memory `step`. */
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
