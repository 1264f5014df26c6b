/* SPDX-License-Identifier: MIT */
/*
 * Images in tests: what an event, or a take-over, has for a register.
 */
#ifndef TESTS_STEPS_H
#define TESTS_STEPS_H

#include "core/hw/backend.h"
#include "core/hw/register.h"

/* Bits of a register that an image is about. */
static inline uint64_t image_mask(const struct upmu_image *image, unsigned row)
{
    uint64_t mask = 0;

    for (unsigned i = 0; i < image->count; i++)
        if (image->step[i].row == row)
            mask |= (uint64_t)(int64_t)image->step[i].mask << image->step[i].shift;
    return mask;
}

static inline uint64_t image_value(const struct upmu_image *image, unsigned row)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < image->count; i++)
        if (image->step[i].row == row)
            value |= (uint64_t)image->step[i].value << image->step[i].shift;
    return value;
}

/* Counters that stand still while it changes. */
static inline uint32_t image_guard(const struct upmu_image *image, unsigned row)
{
    uint32_t guard = 0;

    for (unsigned i = 0; i < image->count; i++)
        if (image->step[i].row == row)
            guard |= image->step[i].guard;
    return guard;
}

#endif
