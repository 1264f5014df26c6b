/* SPDX-License-Identifier: MIT */
/*
 * Rights and limits of a context's owner.  The library asks the host for every right that an event
 * needs; what no hook allows is refused.
 */
#include <abi/perfmon2/pfm_core.h>
#include "core/hw/backend.h"
#include "core/hw/register.h"
#include "core/util/bits.h"

bool upmu_pfm_may_use(const struct upmu_pfm_context *context, const struct upmu_event *event, uint32_t rights)
{
    const struct upmu_pfm *pfm = context->pfm;

    return pfm->may_use ? pfm->may_use(pfm->context, context->owner, event, rights) : !rights;
}

/* The registers of an event on its counter, as they will be written; false: it has no way to run there. */
static bool render(const struct upmu_pmu *pmu, const struct upmu_event *event, struct upmu_image *image,
                   bool *out_shared)
{
    struct upmu_alternative way;
    uint8_t counters[UPMU_SLOTS] = {UPMU_NO_COUNTER};

    for (unsigned i = 0; pmu->backend->alternative(pmu, event, 0, i, &way); i++) {
        if (!(way.slot[0].counters >> event->pin & 1u))
            continue;
        *out_shared = pmu->shared_scope > UPMU_SCOPE_CORE && way.slot[0].resource_count;
        counters[0] = event->pin;
        for (unsigned slot = 1; slot < UPMU_SLOTS && slot < way.slot_count; slot++)
            counters[slot] = (uint8_t)upmu_bits_lowest(way.slot[slot].counters);
        pmu->backend->render(pmu, event, i, counters, 0, image);
        return !image->overfull;
    }
    return false;
}

/* The rights that an event needs, by its register values and their classes. */
static uint32_t rights_of(const struct upmu_pmu *pmu, const struct upmu_event *event)
{
    struct upmu_step step[UPMU_STEPS];
    struct upmu_image image = upmu_image_on(pmu, step, UPMU_STEPS);
    bool shared = false;
    uint32_t rights = 0;

    if (!render(pmu, event, &image, &shared))
        return UPMU_PFM_KERNEL | UPMU_PFM_BEYOND | UPMU_PFM_PRIVILEGED;
    for (unsigned i = 0; i < image.count; i++) {
        const struct upmu_register_class *class =
            &pmu->table->classes[pmu->table->rows[step[i].row].class_index];
        uint64_t value = upmu_step_value(&step[i]);

        rights |= value & class->kernel ? UPMU_PFM_KERNEL : 0;
        rights |= value & class->beyond ? UPMU_PFM_BEYOND : 0;
        rights |= value & class->privileged & ~class->session ? UPMU_PFM_PRIVILEGED : 0;
    }
    return rights | (shared ? UPMU_PFM_BEYOND : 0);
}

bool upmu_pfm_may_use_all(struct upmu_pfm_context *context)
{
    for (const struct upmu_set *set = context->session.sets; set; set = set->next)
        for (unsigned i = 0; i < set->count; i++)
            if (!upmu_pfm_may_use(context, &set->event[i], rights_of(upmu_pfm_pmu(context), &set->event[i])))
                return false;
    return true;
}

/* ---- What an owner holds ---- */

/* Several CPUs may create contexts at once: a limit is never passed, not even for a moment. */
static bool take_one(uint32_t *count, uint32_t most)
{
    uint32_t now = __atomic_load_n(count, __ATOMIC_RELAXED);

    do
        if (most && now >= most)
            return false;
    while (!__atomic_compare_exchange_n(count, &now, now + 1u, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return true;
}

static bool take_bytes(size_t *bytes, size_t most, size_t more)
{
    size_t now = __atomic_load_n(bytes, __ATOMIC_RELAXED);

    do
        if (most && (now > most || more > most - now))
            return false;
    while (!__atomic_compare_exchange_n(bytes, &now, now + more, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return true;
}

static size_t bytes_of(const struct upmu_pfm_memory *memory)
{
    return memory->set_count * sizeof *memory->sets + memory->vector_bytes +
           memory->message_count * sizeof *memory->messages + memory->ring_bytes;
}

bool upmu_pfm_account(struct upmu_pfm *pfm, struct upmu_pfm_owner *owner, const struct upmu_pfm_memory *memory)
{
    if (!take_one(&pfm->contexts, pfm->most_contexts))
        return false;
    if (!owner)
        return true;
    if (take_one(&owner->contexts, owner->most_contexts)) {
        if (take_bytes(&owner->bytes, owner->most_bytes, bytes_of(memory)))
            return true;
        __atomic_fetch_sub(&owner->contexts, 1u, __ATOMIC_RELAXED);
    }
    __atomic_fetch_sub(&pfm->contexts, 1u, __ATOMIC_RELAXED);
    return false;
}

void upmu_pfm_discharge(struct upmu_pfm *pfm, struct upmu_pfm_owner *owner, const struct upmu_pfm_memory *memory)
{
    __atomic_fetch_sub(&pfm->contexts, 1u, __ATOMIC_RELAXED);
    if (!owner)
        return;
    __atomic_fetch_sub(&owner->contexts, 1u, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&owner->bytes, bytes_of(memory), __ATOMIC_RELAXED);
}
