/* SPDX-License-Identifier: MIT */
/*
 * Images: making steps of the register values that a backend gives.
 */
#include "core/hw/image.h"
#include "core/util/bits.h"
#include "core/hw/register.h"
#include <upmu/unit.h>

/* Returns the sort key of a row's steps: the load rank (release rank in a released image), then the row's number. */
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
 * Add one or more steps, as one step cannot have every mask of 64 bits.  The mask of a step has bits in a range of 31
 * bits and, if its highest one (a sign bit) is set, all bits from there up to bit 63.  The value has 32 bits.
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
