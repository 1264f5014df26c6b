/* SPDX-License-Identifier: MIT */
/*
 * Rights and limits of a context's owner. The library asks the host for every right that an event needs; a right that
 * no hook gives is refused.
 */
#include <abi/perfmon2/pfm_core.h>

bool upmu_pfm_may_use(const struct upmu_pfm_context *context, const struct upmu_event *event, uint32_t rights)
{
    const struct upmu_pfm *pfm = context->pfm;

    return pfm->may_use ? pfm->may_use(pfm->context, context->owner, event, rights) : !rights;
}

bool upmu_pfm_may_use_all(struct upmu_pfm_context *context)
{
    for (unsigned i = 0; i < context->memory.set_count; i++) {
        struct upmu_pfm_set *set = &context->memory.sets[i];
        const struct upmu_event *event;

        for (unsigned k = 0; set->used && (event = upmu_set_event(upmu_pfm_core_set(context, set), k)); k++)
            if (!upmu_pfm_may_use(context, event, upmu_rights_of(upmu_pfm_pmu(context), event)))
                return false;
    }
    return true;
}

/* ---- Contexts and memory of an owner ---- */

/*
 * Add 1 to *count; false: *count has reached `most` (0: there is no limit). Several CPUs may create contexts at once:
 * the limit is never passed, not even for a moment.
 */
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
