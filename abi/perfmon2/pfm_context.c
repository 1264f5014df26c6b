/* SPDX-License-Identifier: MIT */
/* Functions for all files of this layer: find a set of a context by its number, copy a vector from a program. */
#include <upmu/set.h>
#include <abi/perfmon2/pfm_core.h>

struct upmu_pfm_set *upmu_pfm_find_set(struct upmu_pfm_context *context, unsigned number)
{
    for (unsigned i = 0; i < context->memory.set_count; i++)
        if (context->memory.sets[i].used && context->memory.sets[i].number == number)
            return &context->memory.sets[i];
    return NULL;
}

struct upmu_set *upmu_pfm_core_set(struct upmu_pfm_context *context, struct upmu_pfm_set *set)
{
    struct upmu_set *core = upmu_session_find_set(&context->session, set->number);

    return core ? core : &set->own;
}

enum upmu_status upmu_pfm_fetch(struct upmu_pfm_context *context, const void *user, size_t bytes, size_t element,
                                size_t *out_count)
{
    *out_count = 0;
    if (bytes > context->memory.vector_bytes)
        return UPMU_ERR_NO_SPACE;
    if (!bytes || bytes % element)
        return UPMU_ERR_INVALID;
    *out_count = bytes / element;
    return context->pfm->copy_in(context->pfm->context, context->memory.vector, user, bytes) ? UPMU_OK : UPMU_ERR_PORT;
}
