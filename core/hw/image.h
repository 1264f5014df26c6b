/* SPDX-License-Identifier: MIT */
/*
 * Values for the registers of a PMU, as steps in load order.
 */
#ifndef UPMU_CORE_IMAGE_H
#define UPMU_CORE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <upmu/pmu.h>

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

/* The value of its register, with what a step wants. */
static inline uint64_t upmu_step_apply(const struct upmu_step *step, uint64_t value)
{
    return value ^ ((value >> step->shift ^ step->value) & (uint64_t)(int64_t)step->mask) << step->shift;
}

/* Values for the registers of one PMU, in load order; those of one register together. */
struct upmu_image {
    const struct upmu_pmu *pmu;
    struct upmu_step *step;
    uint8_t count, room;
    bool released; /* in the order in which counters are given back */
    bool prelude;  /* upmu_backend.prelude comes first, if anything differs */
    bool overfull; /* there was no room for a step */
};

/* Room for what all counters are given back with. */
#define UPMU_IMAGE_STEPS 48

/* An image without steps, in this memory. */
static inline struct upmu_image upmu_image_on(const struct upmu_pmu *pmu, struct upmu_step *step, unsigned room)
{
    return (struct upmu_image){.pmu = pmu, .step = step, .room = (uint8_t)room};
}

/*
 * Add a value for some bits of a register, but for gates and what is not ours.  `guard`: counters that are stopped
 * while it changes.  What says the same for other counters is one with it.
 */
void upmu_image_add(struct upmu_image *image, unsigned row, uint64_t mask, uint64_t value, uint32_t guard);

#endif
