/* SPDX-License-Identifier: MIT */
/*
 * Event sets of a context: create, delete and describe them.
 */
#include <upmu/pmu.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <abi/perfmon2/pfm_core.h>

#define SET_FLAGS (PFM_SETFL_OVFL_SWITCH | PFM_SETFL_TIME_SWITCH)

static unsigned unused_sets(const struct upmu_pfm_context *context)
{
    unsigned unused = 0;

    for (unsigned i = 0; i < context->memory.set_count; i++)
        unused += !context->memory.sets[i].used;
    return unused;
}

static bool is_clean(const struct pfarg_setdesc *set)
{
    uint64_t rest = set->set_reserved1;

    for (unsigned i = 0; i < sizeof set->reserved / sizeof *set->reserved; i++)
        rest |= set->reserved[i];
    return !rest;
}

static enum upmu_status check_created(struct upmu_pfm_context *context, const struct pfarg_setdesc *set, size_t count)
{
    unsigned unused = unused_sets(context);

    for (size_t i = 0; i < count; i++) {
        bool seen = upmu_pfm_find_set(context, set[i].set_id) != NULL;

        if ((set[i].set_flags & ~(uint32_t)SET_FLAGS) || !is_clean(&set[i]) ||
            (!(set[i].set_flags & PFM_SETFL_TIME_SWITCH) != !set[i].set_timeout))
            return UPMU_ERR_INVALID;
        if ((set[i].set_flags & PFM_SETFL_TIME_SWITCH) && !upmu_machine_has_clock(context->pfm->machine))
            return UPMU_ERR_HOOK_MISSING;
        for (size_t k = 0; k < i; k++)
            seen = seen || set[k].set_id == set[i].set_id;
        if (!seen && unused-- == 0)
            return UPMU_ERR_NO_SPACE;
    }
    return UPMU_OK;
}

static enum upmu_status create_set(struct upmu_pfm_context *context, const struct pfarg_setdesc *from)
{
    struct upmu_pfm_set *set = upmu_pfm_find_set(context, from->set_id);
    bool fresh = !set;
    unsigned flags = 0;
    enum upmu_status status;

    for (unsigned i = 0; !set; i++)
        if (!context->memory.sets[i].used)
            set = &context->memory.sets[i];
    if (from->set_flags & PFM_SETFL_TIME_SWITCH)
        flags |= UPMU_SET_TIME_SWITCH;
    if (from->set_flags & PFM_SETFL_OVFL_SWITCH)
        flags |= UPMU_SET_OVERFLOW_SWITCH;
    status = upmu_session_add_set(&context->session, fresh ? &set->own : NULL, from->set_id, flags, from->set_timeout);
    if (status != UPMU_OK || !fresh)
        return status;
    /* Leave `own` as it is: the session's chain of sets goes through it. */
    __builtin_memset(set, 0, offsetof(struct upmu_pfm_set, own));
    __builtin_memset(set->event_of, PFM_NO_EVENT, sizeof set->event_of);
    set->number = from->set_id;
    set->used = true;
    return UPMU_OK;
}

enum upmu_status upmu_pfm_create_evtsets(struct upmu_pfm_context *context, const void *user, size_t bytes)
{
    const struct pfarg_setdesc *set = context->memory.vector;
    size_t count;
    enum upmu_status status;

    if (context->session.state != UPMU_SESSION_DETACHED)
        return UPMU_ERR_STATE;
    status = upmu_pfm_fetch(context, user, bytes, sizeof *set, &count);
    if (status == UPMU_OK)
        status = check_created(context, set, count);
    for (size_t i = 0; i < count && status == UPMU_OK; i++)
        status = create_set(context, &set[i]);
    return status;
}

enum upmu_status upmu_pfm_delete_evtsets(struct upmu_pfm_context *context, const void *user, size_t bytes)
{
    const struct pfarg_setdesc *set = context->memory.vector;
    size_t count;
    enum upmu_status status;

    if (context->session.state != UPMU_SESSION_DETACHED)
        return UPMU_ERR_STATE;
    status = upmu_pfm_fetch(context, user, bytes, sizeof *set, &count);
    for (size_t i = 0; i < count && status == UPMU_OK; i++) {
        if (!upmu_pfm_find_set(context, set[i].set_id) || !is_clean(&set[i]))
            status = UPMU_ERR_INVALID;
        for (size_t k = 0; k < i && status == UPMU_OK; k++)
            if (set[k].set_id == set[i].set_id)
                status = UPMU_ERR_INVALID;
    }
    for (size_t i = 0; i < count && status == UPMU_OK; i++) {
        status = upmu_session_remove_set(&context->session, set[i].set_id);
        if (status == UPMU_OK)
            upmu_pfm_find_set(context, set[i].set_id)->used = false;
    }
    return status;
}

static void fill_info(struct upmu_pfm_context *context, struct upmu_pfm_set *set, struct pfarg_setinfo *out)
{
    const struct upmu_pmu *pmu = upmu_pfm_pmu(context);
    struct upmu_set_info info;

    upmu_set_ask(upmu_pfm_core_set(context, set), &info);
    __builtin_memset(out, 0, sizeof *out);
    out->set_id = set->number;
    out->set_flags = (info.flags & UPMU_SET_TIME_SWITCH ? PFM_SETFL_TIME_SWITCH : 0u) |
                     (info.flags & UPMU_SET_OVERFLOW_SWITCH ? PFM_SETFL_OVFL_SWITCH : 0u);
    out->set_runs = info.runs;
    out->set_timeout = info.active ? info.left_ns : info.timeout_ns;
    out->set_act_duration = info.duration_ns;
    for (unsigned counter = 0; counter < UPMU_COUNTERS; counter++) {
        if (set->event_of[counter] < 32 && (info.overflowed >> set->event_of[counter] & 1u))
            upmu_pfm_set_bit(out->set_ovfl_pmds, pmu->counter[counter].value_row);
        if (!(info.available_counters & ~UPMU_METRIC_COUNTERS(pmu) & UPMU_BIT32(counter)))
            continue;
        upmu_pfm_set_bit(out->set_avail_pmds, pmu->counter[counter].value_row);
        upmu_pfm_set_bit(out->set_avail_pmcs, pmu->counter[counter].select_row);
    }
    for (unsigned number = 0; number < pmu->table->row_count; number++)
        if (upmu_pfm_is_pmc(pmu, number) && pmu->table->rows[number].counter == UPMU_NO_COUNTER)
            upmu_pfm_set_bit(out->set_avail_pmcs, number);
}

enum upmu_status upmu_pfm_getinfo_evtsets(struct upmu_pfm_context *context, void *user, size_t bytes)
{
    struct pfarg_setinfo *info = context->memory.vector;
    size_t count;
    enum upmu_status status = upmu_pfm_fetch(context, user, bytes, sizeof *info, &count);

    for (size_t i = 0; i < count && status == UPMU_OK; i++) {
        struct upmu_pfm_set *set = upmu_pfm_find_set(context, info[i].set_id);

        if (!set)
            return UPMU_ERR_INVALID;
        fill_info(context, set, &info[i]);
    }
    if (status != UPMU_OK)
        return status;
    return context->pfm->copy_out(context->pfm->context, user, info, bytes) ? UPMU_OK : UPMU_ERR_PORT;
}
