/* SPDX-License-Identifier: MIT */
/*
 * Images: making steps of the register values that a backend gives.
 */
#include "core/hw/image.h"
#include "core/util/bits.h"
#include "core/hw/register.h"
#include <upmu/unit.h>

/* Returns a number for the order in which rows are written, or given up. */
static unsigned order_of(const struct upmu_image *image, unsigned row)
{
    const struct upmu_register_class *class = upmu_register_class_of(image->pmu, row);

    return (unsigned)(image->released ? class->release_rank : class->load_rank) << 8 | row;
}

static void put_step(struct upmu_image *image, struct upmu_step step)
{
    unsigned at = image->count;

    for (unsigned i = 0; i < image->count; i++) {
        struct upmu_step *other = &image->step[i];

        if (other->row == step.row && other->shift == step.shift && other->mask == step.mask &&
            other->value == step.value) {
            other->guard |= step.guard;
            return;
        }
    }
    if (image->count == image->room) {
        image->overfull = true;
        return;
    }
    for (; at && order_of(image, image->step[at - 1].row) > order_of(image, step.row); at--)
        image->step[at] = image->step[at - 1];
    image->step[at] = step;
    image->count++;
}

/*
 * Add as many steps as the mask takes.  A step's mask has a range of 31 bits, or in addition all bits above it up to
 * the top; its value has 32 bits.
 */
void upmu_image_add(struct upmu_image *image, unsigned row, uint64_t mask, uint64_t value, uint32_t guard)
{
    const struct upmu_register_class *class = upmu_register_class_of(image->pmu, row);

    mask &= class->owned & ~class->gates;
    while (mask) {
        unsigned shift = upmu_bits_lowest64(mask);
        struct upmu_step step = {
            .mask = (int32_t)(uint32_t)(mask >> shift),
            .guard = guard,
            .row = (uint8_t)row,
            .shift = (uint8_t)shift,
            .odd = class->gates || class->hardware || image->pmu->index >= UPMU_UNIT_PMU
        };

        if ((upmu_step_mask(&step) & ~mask) || (value & mask) >> shift > UINT32_MAX)
            step.mask &= INT32_MAX;
        step.value = (uint32_t)((value >> shift) & (uint64_t)(int64_t)step.mask);
        mask &= ~upmu_step_mask(&step);
        put_step(image, step);
    }
}
