/* SPDX-License-Identifier: MIT */
/*
 * Derive the rights that an event needs from the classes of the registers that it writes. Pure.
 */
#include "core/hw/backend.h"
#include "core/hw/register.h"
#include "core/util/bits.h"
#include <upmu/session.h>

#define OF_AN_EVENT (UPMU_RIGHT_KERNEL | UPMU_RIGHT_BEYOND | UPMU_RIGHT_PRIVILEGED)

/* Does a value of a register select an event of other cores or agents? */
static bool is_of_others(const struct upmu_pmu *pmu, unsigned row, uint64_t value)
{
    const struct upmu_beyond *event = pmu->backend->beyond ? pmu->backend->beyond(pmu) : NULL;

    for (; event && event->rows; event++)
        if (row - event->row < event->rows && (value & event->mask) == event->event)
            return true;
    return false;
}

/*
 * Return the rights (UPMU_RIGHT_...) that a program needs to write a value to a register. Where only the privileged
 * level may set bits (payload registers), every value needs the right, also 0: an event that holds such a register
 * keeps other events from it.
 */
static uint32_t rights_of_value(const struct upmu_pmu *pmu, unsigned row, uint64_t value)
{
    const struct upmu_register_class *class = upmu_register_class_of(pmu, row);
    uint32_t rights = 0;

    rights |= value & class->kernel ? UPMU_RIGHT_KERNEL : 0;
    rights |= value & class->beyond || is_of_others(pmu, row, value) ? UPMU_RIGHT_BEYOND : 0;
    rights |= class->privileged && !class->session ? UPMU_RIGHT_PRIVILEGED : 0;
#if UPMU_FOREIGN
    rights |= ~value & class->kernel_off ? UPMU_RIGHT_KERNEL : 0;
#endif
    return rights;
}

/* Return the rights that an event needs if it runs by alternative `number` (*way) with `counter` in its first slot. */
static uint32_t rights_on(const struct upmu_pmu *pmu, const struct upmu_event *event,
                          const struct upmu_alternative *way, unsigned number, unsigned counter)
{
    uint8_t counters[UPMU_SLOTS] = {(uint8_t)counter};
    struct upmu_step step[UPMU_STEPS];
    struct upmu_image image = upmu_image_on(pmu, step, UPMU_STEPS);
    uint32_t rights = 0;

    for (unsigned slot = 1; slot < UPMU_SLOTS && slot < way->slot_count; slot++)
        counters[slot] = (uint8_t)upmu_bits_lowest(way->slot[slot].counters);
    pmu->backend->render(pmu, event, number, counters, 0, &image);
    if (image.overfull)
        return OF_AN_EVENT;
    for (unsigned i = 0; i < image.count; i++)
        rights |= rights_of_value(pmu, step[i].row, upmu_step_value(&step[i]));
    return rights;
}

uint32_t upmu_rights_of(const struct upmu_pmu *pmu, const struct upmu_event *event)
{
    struct upmu_alternative way;
    uint32_t rights = event->world == UPMU_WORLD_GUEST ? UPMU_RIGHT_BEYOND : 0;
    bool found = false;

    for (unsigned i = 0; pmu->backend->alternative(pmu, event, 0, i, &way); i++) {
        uint32_t counters = way.slot[0].counters;

        if (event->attributes & UPMU_ATTR_PIN)
            counters &= UPMU_BIT32(event->pin);
        for (; counters; counters &= counters - 1u, found = true)
            rights |= rights_on(pmu, event, &way, i, upmu_bits_lowest(counters));
    }
    return found ? rights : OF_AN_EVENT;
}
