/* SPDX-License-Identifier: MIT */
/*
 * Write and read registers. A vector is copied from the program as a whole, checked as a whole, and only then takes
 * effect.
 */
#include <upmu/pmu.h>
#include <upmu/session.h>
#include <abi/perfmon2/pfm_core.h>

#define PMD_FLAGS (PFM_PMDFL_SMPL | PFM_PMDFL_SWITCH | PFM_PMDFL_OVFL_NOTIFY | PFM_PMDFL_RANDOM)

unsigned upmu_pfm_counter(const struct upmu_pmu *pmu, unsigned number)
{
    for (uint32_t rest = pmu->counters & ~UPMU_METRIC_COUNTERS(pmu); rest; rest &= rest - 1u)
        if (pmu->counter[upmu_bits_lowest(rest)].value_row == number)
            return upmu_bits_lowest(rest);
    return UPMU_NO_COUNTER;
}

static const struct upmu_register_class *class_of(const struct upmu_pmu *pmu, unsigned number)
{
    return &pmu->table->classes[pmu->table->rows[number].class_index];
}

/*
 * Return the bits of a PMC that a program may set: those of events, and those that upmu sets itself, which are ignored.
 */
static uint64_t writable_bits(const struct upmu_pmu *pmu, unsigned number)
{
    const struct upmu_register_class *class = class_of(pmu, number);

    return (class->session | class->privileged | class->gates | class->owned) &
           pmu->limit[pmu->table->rows[number].class_index];
}

bool upmu_pfm_is_pmc(const struct upmu_pmu *pmu, unsigned number)
{
    unsigned kind;

    if (number >= pmu->table->row_count || !upmu_rows_has(pmu->present, number))
        return false;
    kind = class_of(pmu, number)->kind;
    if (kind == UPMU_KIND_SELECT || kind == UPMU_KIND_PAYLOAD)
        return true;
    /* Control of fixed counters and ESCRs are PMCs; the register that gates all counters is not. */
    return kind == UPMU_KIND_CONTROL && class_of(pmu, number)->session;
}

void upmu_pfm_set_bit(uint64_t *bits, unsigned number)
{
    bits[number >> 6] |= UPMU_BIT64(number & 63u);
}

static bool all_zero(const void *bytes, size_t count)
{
    const uint8_t *byte = bytes;

    while (count && !*byte) {
        byte++;
        count--;
    }
    return !count;
}

/* Are all bits of a bit vector numbers of PMDs that exist? */
static bool are_pmds(const struct upmu_pmu *pmu, const uint64_t *bits)
{
    for (unsigned number = 0; number < 64u * PFM_PMD_BV; number++)
        if ((bits[number >> 6] >> (number & 63u) & 1u) && upmu_pfm_counter(pmu, number) == UPMU_NO_COUNTER)
            return false;
    return true;
}

/* ---- PMCs ---- */

static enum upmu_status check_pmc(struct upmu_pfm_context *context, const struct pfarg_pmc *pmc)
{
    const struct upmu_pmu *pmu = upmu_pfm_pmu(context);

    if (!upmu_pfm_find_set(context, pmc->reg_set) || !upmu_pfm_is_pmc(pmu, pmc->reg_num) ||
        (pmc->reg_flags & ~(uint32_t)PFM_PMCFL_NO_EMUL64) ||
        !all_zero(pmc->reg_reserved2, sizeof pmc->reg_reserved2))
        return UPMU_ERR_INVALID;
    return pmc->reg_value & ~writable_bits(pmu, pmc->reg_num) ? UPMU_ERR_NOT_PERMITTED : UPMU_OK;
}

/*
 * Until a write has succeeded, the vector's element has the PMC's old value in reg_value, and these bits in
 * reg_reserved2[0], which was checked to be 0: the PMC was written before; its counter was in `narrow`.
 */
#define WAS_WRITTEN 1u
#define WAS_NARROW 2u

static void change_bit(uint32_t *mask, unsigned bit, bool set)
{
    *mask = (*mask & ~UPMU_BIT32(bit)) | (set ? UPMU_BIT32(bit) : 0u);
}

/* Give a PMC its new value, and store the old one in the element. */
static void take_pmc(struct upmu_pfm_context *context, struct pfarg_pmc *pmc)
{
    struct upmu_pfm_set *set = upmu_pfm_find_set(context, pmc->reg_set);
    unsigned number = pmc->reg_num, counter = upmu_pfm_pmu(context)->table->rows[number].counter;
    uint64_t before = set->pmc[number];

    set->pmc[number] = pmc->reg_value;
    pmc->reg_value = before;
    pmc->reg_reserved2[0] = upmu_rows_has(set->pmcs, number) ? WAS_WRITTEN : 0;
    upmu_rows_set(set->pmcs, number);
    if (counter >= UPMU_COUNTERS)
        return;
    pmc->reg_reserved2[0] |= set->narrow >> counter & 1u ? WAS_NARROW : 0;
    change_bit(&set->narrow, counter, pmc->reg_flags & PFM_PMCFL_NO_EMUL64);
}

static void give_pmc_back(struct upmu_pfm_context *context, const struct pfarg_pmc *pmc)
{
    struct upmu_pfm_set *set = upmu_pfm_find_set(context, pmc->reg_set);
    unsigned counter = upmu_pfm_pmu(context)->table->rows[pmc->reg_num].counter;

    set->pmc[pmc->reg_num] = pmc->reg_value;
    if (!(pmc->reg_reserved2[0] & WAS_WRITTEN))
        upmu_rows_clear(set->pmcs, pmc->reg_num);
    if (counter < UPMU_COUNTERS)
        change_bit(&set->narrow, counter, pmc->reg_reserved2[0] & WAS_NARROW);
}

/*
 * State of a loaded session that let_go() has detached. take_up() attaches the session again: PMDs keep their values,
 * events are made anew.
 */
struct reload {
    struct upmu_cpu *cpu;
    struct upmu_thread *thread;
    uint32_t due; /* mask of counters of the active set whose long reset is due */
    bool loaded;
    uint8_t state;
    uint16_t active;
};

/*
 * Return the mask of the counters of set `number`, the active one, whose long reset is due. The mask is one of
 * counters, because events are numbered anew.
 */
static uint32_t due_counters(struct upmu_pfm_context *context, unsigned number)
{
    const struct upmu_pfm_set *set = upmu_pfm_find_set(context, number);
    struct upmu_session_info info;
    uint32_t due = 0;

    upmu_session_ask(&context->session, &info);
    for (unsigned counter = 0; set && counter < UPMU_COUNTERS; counter++)
        if (set->event_of[counter] != PFM_NO_EVENT && (info.stopped_by >> set->event_of[counter] & 1u))
            due |= UPMU_BIT32(counter);
    return due;
}

/* Return the mask of the new events for the counters in reload->due. */
static uint32_t due_events(struct upmu_pfm_context *context, const struct reload *reload)
{
    const struct upmu_pfm_set *set = upmu_pfm_find_set(context, reload->active);
    uint32_t events = 0;

    for (uint32_t rest = set ? reload->due : 0; rest; rest &= rest - 1u)
        if (set->event_of[upmu_bits_lowest(rest)] != PFM_NO_EVENT)
            events |= UPMU_BIT32(set->event_of[upmu_bits_lowest(rest)]);
    return events;
}

static enum upmu_status let_go(struct upmu_pfm_context *context, struct reload *reload)
{
    struct upmu_session *session = &context->session;
    struct upmu_session_info info;
    enum upmu_status status;

    __builtin_memset(reload, 0, sizeof *reload);
    if (!context->loaded)
        return UPMU_OK;
    /* The session was detached because its target has ended: the written values are for the next target. */
    if (session->state == UPMU_SESSION_DETACHED) {
        upmu_pfm_keep(context);
        context->loaded = false;
        return UPMU_OK;
    }
    reload->loaded = true;
    reload->state = session->state;
    upmu_session_ask(session, &info);
    reload->cpu = info.cpu;
    reload->thread = info.thread;
    reload->active = info.active->number;
    status = upmu_session_detach(session);
    if (session->state != UPMU_SESSION_DETACHED)
        return status;
    reload->due = due_counters(context, reload->active);
    upmu_pfm_keep(context);
    return UPMU_OK;
}

static enum upmu_status take_up(struct upmu_pfm_context *context, const struct reload *reload)
{
    struct upmu_session *session = &context->session;
    enum upmu_status status;

    if (!reload->loaded)
        return UPMU_OK;
    status = upmu_pfm_build(context);
    if (status == UPMU_OK)
        status = reload->thread ? upmu_session_attach_thread(session, reload->thread, reload->cpu)
                                : upmu_session_attach_cpu(session, reload->cpu);
    context->loaded = status == UPMU_OK;
    if (status == UPMU_OK)
        status = upmu_session_continue(session, due_events(context, reload), reload->state == UPMU_SESSION_MASKED);
    if (status == UPMU_OK && (reload->state == UPMU_SESSION_RUNNING || reload->state == UPMU_SESSION_WAITING))
        status = upmu_session_start(session);
    if (status != UPMU_OK && context->loaded) {
        context->loaded = false;
        if (upmu_session_detach(session) != UPMU_OK)
            return status;
    }
    return status;
}

enum upmu_status upmu_pfm_take_pmcs(struct upmu_pfm_context *context, size_t count)
{
    struct pfarg_pmc *pmc = context->memory.vector;
    struct reload reload;
    enum upmu_status status = UPMU_OK;

    for (size_t i = 0; status == UPMU_OK && i < count; i++)
        status = check_pmc(context, &pmc[i]);
    if (status == UPMU_OK)
        status = let_go(context, &reload);
    if (status != UPMU_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        take_pmc(context, &pmc[i]);
    status = take_up(context, &reload);
    if (status == UPMU_OK)
        return UPMU_OK;
    for (size_t i = count; i--;)
        give_pmc_back(context, &pmc[i]);
    (void)take_up(context, &reload);
    return status;
}

enum upmu_status upmu_pfm_write_pmcs(struct upmu_pfm_context *context, const void *user, size_t bytes)
{
    size_t count;
    enum upmu_status status = upmu_pfm_fetch(context, user, bytes, sizeof(struct pfarg_pmc), &count);

    return status == UPMU_OK ? upmu_pfm_take_pmcs(context, count) : status;
}

/* ---- PMDs ---- */

static enum upmu_status check_pmd(struct upmu_pfm_context *context, const struct pfarg_pmd *pmd)
{
    const struct upmu_pmu *pmu = upmu_pfm_pmu(context);

    if (!upmu_pfm_find_set(context, pmd->reg_set) || upmu_pfm_counter(pmu, pmd->reg_num) == UPMU_NO_COUNTER ||
        (pmd->reg_flags & ~(uint32_t)PMD_FLAGS) || !all_zero(pmd->reg_reserved2, sizeof pmd->reg_reserved2))
        return UPMU_ERR_INVALID;
    /* Fields are ignored without their flag. */
    if ((pmd->reg_flags & PFM_PMDFL_SMPL) &&
        (!are_pmds(pmu, pmd->reg_reset_pmds) || !are_pmds(pmu, pmd->reg_smpl_pmds)))
        return UPMU_ERR_INVALID;
    if ((pmd->reg_flags & PFM_PMDFL_SWITCH) && (!pmd->reg_ovfl_switch_cnt || pmd->reg_ovfl_switch_cnt >> 32))
        return UPMU_ERR_INVALID;
    return UPMU_OK;
}

/*
 * Does the write change only the value of a PMD that counts, and that no overflow of another PMD resets? Then the
 * session can stay loaded.
 */
static bool changes_value_only(struct upmu_pfm_context *context, const struct pfarg_pmd *pmd)
{
    const struct upmu_pfm_set *set = upmu_pfm_find_set(context, pmd->reg_set);
    unsigned counter = upmu_pfm_counter(upmu_pfm_pmu(context), pmd->reg_num);
    uint64_t resets = 0;

    for (unsigned other = 0; other < UPMU_COUNTERS; other++)
        if (set->pmd[other].reg_flags & PFM_PMDFL_SMPL)
            resets |= set->pmd[other].reg_reset_pmds[pmd->reg_num >> 6];
    return !pmd->reg_flags && !set->pmd[counter].reg_flags && !(resets >> (pmd->reg_num & 63u) & 1u);
}

static enum upmu_status can_read(struct upmu_pfm_context *context, const struct pfarg_pmd *pmd)
{
    uint64_t value;

    return upmu_pfm_value(context, upmu_pfm_find_set(context, pmd->reg_set),
                          upmu_pfm_counter(upmu_pfm_pmu(context), pmd->reg_num), &value);
}

/* Give a PMD its new contents, and store the old ones in the element, except number and set. */
static void take_pmd(struct upmu_pfm_context *context, struct pfarg_pmd *pmd)
{
    struct upmu_pfm_set *set = upmu_pfm_find_set(context, pmd->reg_set);
    unsigned counter = upmu_pfm_counter(upmu_pfm_pmu(context), pmd->reg_num);
    struct pfarg_pmd before = set->pmd[counter];
    uint64_t value;

    if (context->loaded && set->event_of[counter] != PFM_NO_EVENT &&
        upmu_pfm_value(context, set, counter, &value) == UPMU_OK)
        set->origin[counter] += pmd->reg_value - value;
    set->pmd[counter] = *pmd;
    set->pmd[counter].reg_last_reset_val = pmd->reg_value;
    before.reg_num = pmd->reg_num;
    before.reg_set = pmd->reg_set;
    before.reg_reserved2[0] = set->pmds >> counter & 1u;
    before.reg_reserved2[1] = set->to_switch[counter];
    set->to_switch[counter] = pmd->reg_flags & PFM_PMDFL_SWITCH ? (uint32_t)pmd->reg_ovfl_switch_cnt : 0;
    *pmd = before;
    change_bit(&set->pmds, counter, true);
}

static void give_pmd_back(struct upmu_pfm_context *context, const struct pfarg_pmd *pmd)
{
    struct upmu_pfm_set *set = upmu_pfm_find_set(context, pmd->reg_set);
    unsigned counter = upmu_pfm_counter(upmu_pfm_pmu(context), pmd->reg_num);

    set->pmd[counter] = *pmd;
    set->pmd[counter].reg_reserved2[0] = set->pmd[counter].reg_reserved2[1] = 0;
    set->to_switch[counter] = pmd->reg_reserved2[1];
    change_bit(&set->pmds, counter, pmd->reg_reserved2[0]);
}

enum upmu_status upmu_pfm_take_pmds(struct upmu_pfm_context *context, size_t count)
{
    struct pfarg_pmd *pmd = context->memory.vector;
    struct reload reload;
    uint32_t due;
    bool light = true;
    enum upmu_status status = UPMU_OK;

    for (size_t i = 0; status == UPMU_OK && i < count; i++) {
        status = check_pmd(context, &pmd[i]);
        light = light && status == UPMU_OK && changes_value_only(context, &pmd[i]);
        /* A write of values alone leaves the session loaded, and take_pmd() needs the present counts. */
        if (light)
            status = can_read(context, &pmd[i]);
    }
    __builtin_memset(&reload, 0, sizeof reload);
    if (status == UPMU_OK && !light)
        status = let_go(context, &reload);
    if (status != UPMU_OK)
        return status;
    due = reload.due;
    for (size_t i = 0; i < count; i++) {
        /* The written value begins the next period: the counter's long reset is not due any more. */
        if (pmd[i].reg_set == reload.active)
            change_bit(&reload.due, upmu_pfm_counter(upmu_pfm_pmu(context), pmd[i].reg_num), false);
        take_pmd(context, &pmd[i]);
    }
    status = take_up(context, &reload);
    if (status == UPMU_OK)
        return UPMU_OK;
    reload.due = due;
    for (size_t i = count; i--;)
        give_pmd_back(context, &pmd[i]);
    (void)take_up(context, &reload);
    return status;
}

enum upmu_status upmu_pfm_write_pmds(struct upmu_pfm_context *context, const void *user, size_t bytes)
{
    size_t count;
    enum upmu_status status = upmu_pfm_fetch(context, user, bytes, sizeof(struct pfarg_pmd), &count);

    return status == UPMU_OK ? upmu_pfm_take_pmds(context, count) : status;
}

enum upmu_status upmu_pfm_fill_pmds(struct upmu_pfm_context *context, size_t count)
{
    const struct upmu_pmu *pmu = upmu_pfm_pmu(context);
    struct pfarg_pmd *pmd = context->memory.vector;
    enum upmu_status status = UPMU_OK;

    for (size_t i = 0; status == UPMU_OK && i < count; i++) {
        struct upmu_pfm_set *set = upmu_pfm_find_set(context, pmd[i].reg_set);
        unsigned counter = upmu_pfm_counter(pmu, pmd[i].reg_num);

        if (!set || counter == UPMU_NO_COUNTER || !all_zero(pmd[i].reg_reserved2, sizeof pmd[i].reg_reserved2))
            return UPMU_ERR_INVALID;
        status = upmu_pfm_value(context, set, counter, &pmd[i].reg_value);
        pmd[i].reg_last_reset_val = upmu_pfm_last_reset(context, set, counter);
    }
    return status;
}

enum upmu_status upmu_pfm_read_pmds(struct upmu_pfm_context *context, void *user, size_t bytes)
{
    size_t count;
    enum upmu_status status = upmu_pfm_fetch(context, user, bytes, sizeof(struct pfarg_pmd), &count);

    if (status == UPMU_OK)
        status = upmu_pfm_fill_pmds(context, count);
    if (status != UPMU_OK)
        return status;
    return context->pfm->copy_out(context->pfm->context, user, context->memory.vector, bytes) ? UPMU_OK : UPMU_ERR_PORT;
}
