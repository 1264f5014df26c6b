/* SPDX-License-Identifier: MIT */
/*
 * The calls of section 9: their elements are converted to those of section 10, in place.
 */
#include <abi/perfmon2/pfm_core.h>

static bool is_clear(const uint64_t *words, unsigned count)
{
    uint64_t rest = 0;

    while (count--)
        rest |= words[count];
    return !rest;
}

enum upmu_status upmu_pfm9_create_session(struct upmu_pfm *pfm, struct upmu_pfm_owner *owner,
                                          struct upmu_pfm_context *context, const struct upmu_pfm_memory *memory,
                                          const void *user, const char *name, const void *argument,
                                          size_t argument_bytes)
{
    struct pfarg_ctx from;

    if (!pfm->copy_in(pfm->context, &from, user, sizeof from))
        return UPMU_ERR_PORT;
    if ((from.flags & ~(uint32_t)PFM_CTX_SYSTEM_WIDE) || from.padding || !is_clear(from.reserved, 4))
        return UPMU_ERR_INVALID;
    return upmu_pfm_create_context(pfm, owner, context, memory, from.flags | (name ? PFM_FL_SMPL_FMT : 0u), name,
                                   argument, argument_bytes);
}

/* An element of section 9, of either kind: the types are alike, as is asserted below. */
struct element9 {
    uint16_t reg_num;
    uint16_t padding[3];
    uint64_t reg_value;
    uint64_t reserved[4];
};

#define ALIKE(type)                                                                                                    \
    (sizeof(type) == sizeof(struct element9) && offsetof(type, reg_num) == offsetof(struct element9, reg_num) &&       \
     offsetof(type, reg_value) == offsetof(struct element9, reg_value) &&                                              \
     offsetof(type, reserved) == offsetof(struct element9, reserved))
_Static_assert(ALIKE(struct pfarg_pmc9) && ALIKE(struct pfarg_pmd9), "one reader serves both");

/*
 * Copy elements of section 9 from the program, and check that fields without a counterpart in section 10 are 0.
 * `widened`: bytes of an element of section 10, for which there must be room, too.
 */
static enum upmu_status fetch_elements(struct upmu_pfm_context *context, const void *user, unsigned count,
                                       size_t widened)
{
    const struct element9 *from = context->memory.vector;
    size_t fetched;
    enum upmu_status status;

    if (count && widened > context->memory.vector_bytes / count)
        return UPMU_ERR_NO_SPACE;
    status = upmu_pfm_fetch(context, user, count * sizeof *from, sizeof *from, &fetched);
    for (unsigned i = 0; i < count && status == UPMU_OK; i++)
        if (from[i].padding[0] || from[i].padding[1] || from[i].padding[2] || !is_clear(from[i].reserved, 4))
            status = UPMU_ERR_INVALID;
    return status;
}

/* Convert elements to the longer ones of section 10: from the last one on, because they are in the same memory. */
static void widen_elements(struct upmu_pfm_context *context, unsigned count, size_t widened)
{
    while (count--) {
        struct element9 from = ((const struct element9 *)context->memory.vector)[count];
        char *to = (char *)context->memory.vector + count * widened;

        /* Elements of section 10 begin with number, set and flags, then the value. */
        __builtin_memset(to, 0, widened);
        __builtin_memcpy(to, &from.reg_num, sizeof from.reg_num);
        __builtin_memcpy(to + offsetof(struct pfarg_pmd, reg_value), &from.reg_value, sizeof from.reg_value);
    }
}

_Static_assert(offsetof(struct pfarg_pmd, reg_value) == offsetof(struct pfarg_pmc, reg_value) &&
                   sizeof(struct pfarg_pmc) >= sizeof(struct element9),
               "elements are widened alike");

enum upmu_status upmu_pfm9_write_pmcs(struct upmu_pfm_context *context, const void *user, unsigned count)
{
    enum upmu_status status = fetch_elements(context, user, count, sizeof(struct pfarg_pmc));

    if (status != UPMU_OK)
        return status;
    widen_elements(context, count, sizeof(struct pfarg_pmc));
    return upmu_pfm_take_pmcs(context, count);
}

enum upmu_status upmu_pfm9_write_pmds(struct upmu_pfm_context *context, const void *user, unsigned count)
{
    enum upmu_status status = fetch_elements(context, user, count, sizeof(struct pfarg_pmd));

    if (status != UPMU_OK)
        return status;
    widen_elements(context, count, sizeof(struct pfarg_pmd));
    return upmu_pfm_take_pmds(context, count);
}

enum upmu_status upmu_pfm9_read_pmds(struct upmu_pfm_context *context, void *user, unsigned count)
{
    struct pfarg_pmd9 *out = context->memory.vector;
    enum upmu_status status = fetch_elements(context, user, count, sizeof(struct pfarg_pmd));

    if (status != UPMU_OK)
        return status;
    widen_elements(context, count, sizeof(struct pfarg_pmd));
    status = upmu_pfm_fill_pmds(context, count);
    if (status != UPMU_OK)
        return status;
    for (unsigned i = 0; i < count; i++) {
        struct pfarg_pmd from = ((const struct pfarg_pmd *)context->memory.vector)[i];

        __builtin_memset(&out[i], 0, sizeof out[i]);
        out[i].reg_num = from.reg_num;
        out[i].reg_value = from.reg_value;
    }
    return context->pfm->copy_out(context->pfm->context, user, out, count * sizeof *out) ? UPMU_OK : UPMU_ERR_PORT;
}

enum upmu_status upmu_pfm9_load_context(struct upmu_pfm_context *context, const void *user)
{
    struct pfarg_load load;

    if (!context->pfm->copy_in(context->pfm->context, &load, user, sizeof load))
        return UPMU_ERR_PORT;
    if (load.padding || !is_clear(load.reserved, 4))
        return UPMU_ERR_INVALID;
    return upmu_pfm_load_context(context, 0, load.target);
}

enum upmu_status upmu_pfm9_unload_context(struct upmu_pfm_context *context)
{
    return upmu_pfm_unload_context(context, 0);
}

enum upmu_status upmu_pfm9_start(struct upmu_pfm_context *context)
{
    return upmu_pfm_start(context, 0, 0);
}

enum upmu_status upmu_pfm9_stop(struct upmu_pfm_context *context)
{
    return upmu_pfm_stop(context, 0);
}
