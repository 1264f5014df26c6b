/* SPDX-License-Identifier: MIT */
/*
 * From the registers that a program wrote to the events of a session, and from counts back to the values of PMDs.
 *
 * The value of a PMD that samples is minus the rest of its period; the value of a PMD that counts is the written value
 * plus the count.
 */
#include <upmu/event.h>
#include <upmu/pmu.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <abi/perfmon2/pfm_core.h>

/* The longest period of an event. A PMD that is further from its overflow begins with this period. */
#define LONGEST (~UINT64_C(0) >> 1)

/* USR, OS and ANY of a general select (Intel SDM vol 3, IA32_PERFEVTSELx), and of a fixed counter's control. */
#define SELECT_USR (UINT64_C(1) << 16)
#define SELECT_OS (UINT64_C(1) << 17)
#define SELECT_ANY (UINT64_C(1) << 21)
#define FIXED_OS 1u
#define FIXED_USR 2u
#define FIXED_ANY 4u

/* The events of the fixed counters, by their numbers, as select words (Intel SDM vol 3, architectural events). */
static const uint16_t fixed_code[] = {0x00c0, 0x003c, 0x0300, 0x0400};

static bool is_netburst(const struct upmu_pmu *pmu)
{
    return pmu->counter[0].select_row != UPMU_NO_ROW && pmu->family == 15 && pmu->shared_counters;
}

static bool pmd_samples(const struct pfarg_pmd *pmd)
{
    return pmd->reg_flags & (PFM_PMDFL_SMPL | PFM_PMDFL_SWITCH | PFM_PMDFL_OVFL_NOTIFY | PFM_PMDFL_RANDOM);
}

static uint64_t period_until_overflow(uint64_t value)
{
    uint64_t period = UINT64_C(0) - value;

    return period - 1u >= LONGEST ? LONGEST : period;
}

/* Return the select word of a fixed counter, made of its field in the control register; 0: the counter is off. */
static uint64_t fixed_word(const struct upmu_pmu *pmu, const struct upmu_pfm_set *set, unsigned counter)
{
    unsigned index = counter - UPMU_FIXED_COUNTER(0);
    uint64_t field = set->pmc[pmu->counter[counter].select_row] >> 4u * (index & 15u);

    if (!(field & (FIXED_OS | FIXED_USR)) || index >= sizeof fixed_code / sizeof *fixed_code)
        return 0;
    return fixed_code[index] | (field & FIXED_OS ? SELECT_OS : 0) | (field & FIXED_USR ? SELECT_USR : 0) |
           (field & FIXED_ANY ? SELECT_ANY : 0);
}

/*
 * Is this row a payload register or ESCR that the program has set: a row of no counter, written with another value than
 * 0?
 */
static bool is_payload(const struct upmu_pmu *pmu, const struct upmu_pfm_set *set, unsigned row)
{
    return upmu_rows_has(set->pmcs, row) && pmu->table->rows[row].counter == UPMU_NO_COUNTER && set->pmc[row];
}

/* Make the event of a select word, with the value of the payload register (NetBurst: the ESCR) that the word uses. */
static enum upmu_status event_of_word(const struct upmu_pmu *pmu, const struct upmu_pfm_set *set, unsigned counter,
                                      uint64_t word, struct upmu_event *out)
{
    bool netburst = is_netburst(pmu);
    enum upmu_status status = netburst ? UPMU_ERR_INVALID : upmu_event_raw(pmu, word, 0, 0, out);

    if (status == UPMU_OK && !out->payload)
        return UPMU_OK;
    for (unsigned row = 0; row < pmu->table->row_count; row++) {
        struct upmu_event event;

        if (is_payload(pmu, set, row) &&
            upmu_event_raw(pmu, netburst ? word << 32 | set->pmc[row] : word, netburst ? 0 : set->pmc[row], 0,
                           &event) == UPMU_OK &&
            upmu_event_uses_row(pmu, &event, counter, row)) {
            *out = event;
            return UPMU_OK;
        }
    }
    return status;
}

static enum upmu_status make_event(const struct upmu_pmu *pmu, const struct upmu_pfm_set *set, unsigned counter,
                                   struct upmu_event *out)
{
    bool fixed = !(pmu->general >> counter & 1u);
    unsigned row = pmu->counter[counter].select_row;
    uint64_t word = fixed ? fixed_word(pmu, set, counter) : set->pmc[row];
    enum upmu_status status;

    if (!upmu_rows_has(set->pmcs, row) || !word)
        return UPMU_ERR_END;
    status = event_of_word(pmu, set, counter, word, out);
    if (status != UPMU_OK)
        return status;
    if (!(out->counters >> counter & 1u))
        return UPMU_ERR_DOES_NOT_FIT;
    out->counters = UPMU_BIT32(counter);
    out->pin = counter & 31u;
    out->attributes |= UPMU_ATTR_PIN;
    return UPMU_OK;
}

/* Return the mask of the events of a set that count for the PMDs of a bit vector. */
static uint32_t events_of(const struct upmu_pmu *pmu, const struct upmu_pfm_set *set, const uint64_t *pmds)
{
    uint32_t events = 0;

    for (uint32_t rest = pmu->counters; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest), number = pmu->counter[counter].value_row;

        if ((pmds[number >> 6] >> (number & 63u) & 1u) && set->event_of[counter] != PFM_NO_EVENT)
            events |= UPMU_BIT32(set->event_of[counter]);
    }
    return events;
}

static void fill_sampling(const struct upmu_pmu *pmu, const struct upmu_pfm_set *set, unsigned counter,
                          struct upmu_sampling *out)
{
    const struct pfarg_pmd *pmd = &set->pmd[counter];

    __builtin_memset(out, 0, sizeof *out);
    if (!pmd_samples(pmd)) {
        out->flags = set->narrow >> counter & 1u ? UPMU_SAMPLING_WRAP : 0;
        return;
    }
    out->period = period_until_overflow(pmd->reg_short_reset ? pmd->reg_short_reset : pmd->reg_value);
    out->flags = pmd->reg_flags & PFM_PMDFL_OVFL_NOTIFY ? UPMU_SAMPLING_NOTIFY : 0;
    if (pmd->reg_flags & PFM_PMDFL_SMPL) {
        out->event_id = pmd->reg_smpl_eventid;
        out->values = events_of(pmu, set, pmd->reg_smpl_pmds);
        out->resets = events_of(pmu, set, pmd->reg_reset_pmds);
    }
    if ((pmd->reg_flags & PFM_PMDFL_OVFL_NOTIFY) && pmd->reg_long_reset)
        out->long_period = period_until_overflow(pmd->reg_long_reset);
    if (pmd->reg_flags & PFM_PMDFL_RANDOM) {
        out->random_mask = pmd->reg_random_mask;
        out->random_seed = pmd->reg_value;
    }
    if (pmd->reg_flags & PFM_PMDFL_SWITCH)
        out->switch_after = (uint32_t)pmd->reg_ovfl_switch_cnt;
}

/*
 * Let a new event continue at the value of its PMD. `origin`, the value at the count 0, is the value last written, to
 * which overflows of other PMDs reset a PMD that counts.
 */
static enum upmu_status go_on(struct upmu_pfm_set *set, unsigned counter, struct upmu_set *core, unsigned event)
{
    const struct pfarg_pmd *pmd = &set->pmd[counter];
    struct upmu_progress from;

    set->origin[counter] = pmd->reg_last_reset_val;
    __builtin_memset(&from, 0, sizeof from);
    if (pmd_samples(pmd)) {
        from.due = period_until_overflow(pmd->reg_value);
        from.reset = period_until_overflow(pmd->reg_last_reset_val);
        from.to_switch = core->flags & UPMU_SET_OVERFLOW_SWITCH ? set->to_switch[counter] : 0;
    } else {
        from.count = pmd->reg_value - pmd->reg_last_reset_val;
    }
    return upmu_set_continue(core, event, &from);
}

static enum upmu_status build_set(struct upmu_pfm_context *context, struct upmu_pfm_set *set)
{
    const struct upmu_pmu *pmu = upmu_pfm_pmu(context);
    struct upmu_set *core = upmu_pfm_core_set(context, set);
    struct upmu_event event[UPMU_SET_EVENTS];
    unsigned count = 0;
    enum upmu_status status = upmu_set_clear(core);

    if (status != UPMU_OK)
        return status;
    __builtin_memset(set->event_of, PFM_NO_EVENT, sizeof set->event_of);
    for (uint32_t rest = pmu->counters; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);

        status = count < UPMU_SET_EVENTS ? make_event(pmu, set, counter, &event[count]) : UPMU_ERR_NO_SPACE;
        if (status == UPMU_OK)
            set->event_of[counter] = (uint8_t)count++;
        else if (status != UPMU_ERR_END)
            return status;
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned counter = event[i].pin;
        struct upmu_sampling sampling;

        fill_sampling(pmu, set, counter, &sampling);
        status = upmu_set_add_event(core, &event[i], &sampling);
        if (status == UPMU_OK)
            status = go_on(set, counter, core, i);
        if (status != UPMU_OK)
            return status;
    }
    return UPMU_OK;
}

enum upmu_status upmu_pfm_build(struct upmu_pfm_context *context)
{
    enum upmu_status status = UPMU_OK;

    for (unsigned i = 0; i < context->memory.set_count && status == UPMU_OK; i++)
        if (context->memory.sets[i].used)
            status = build_set(context, &context->memory.sets[i]);
    if (status == UPMU_OK && !upmu_pfm_may_use_all(context))
        status = UPMU_ERR_NOT_PERMITTED;
    return status;
}

enum upmu_status upmu_pfm_value(struct upmu_pfm_context *context, struct upmu_pfm_set *set, unsigned counter,
                                uint64_t *out_value)
{
    struct upmu_set *core = upmu_pfm_core_set(context, set);
    unsigned event = set->event_of[counter];
    struct upmu_progress progress;
    struct upmu_count count;
    enum upmu_status status;

    *out_value = set->pmd[counter].reg_value;
    if (event == PFM_NO_EVENT || !context->loaded)
        return UPMU_OK;
    status = upmu_set_read(core, event, 1, &count);
    if (status != UPMU_OK)
        return status;
    upmu_set_progress(core, event, &progress);
    *out_value = progress.reset ? count.raw - progress.due : set->origin[counter] + count.raw;
    if (set->narrow >> counter & 1u)
        *out_value = upmu_bits_low(*out_value, upmu_pfm_pmu(context)->counter[counter].width);
    return UPMU_OK;
}

uint64_t upmu_pfm_last_reset(struct upmu_pfm_context *context, struct upmu_pfm_set *set, unsigned counter)
{
    unsigned event = set->event_of[counter];
    struct upmu_progress progress;

    upmu_set_progress(upmu_pfm_core_set(context, set), event, &progress);
    return context->loaded && progress.reset ? UINT64_C(0) - progress.reset : set->pmd[counter].reg_last_reset_val;
}

/* upmu_message.type of a message whose `events` is a mask of counters, not of events. */
#define ABOUT_COUNTERS (UPMU_MESSAGE_OVERFLOW + 1u)

uint32_t upmu_pfm_overflowed(struct upmu_pfm_context *context, const struct upmu_message *message)
{
    const struct upmu_pfm_set *set = upmu_pfm_find_set(context, message->set);
    uint32_t counters = 0;

    if (message->type == ABOUT_COUNTERS)
        return message->events;
    for (unsigned counter = 0; set && counter < UPMU_COUNTERS; counter++)
        if (set->event_of[counter] < 32 && (message->events >> set->event_of[counter] & 1u))
            counters |= UPMU_BIT32(counter);
    return counters;
}

/* Let a message in the queue name counters, because events are about to get other numbers. */
static void name_counters(void *context, struct upmu_message *message)
{
    message->events = upmu_pfm_overflowed(context, message);
    message->type = ABOUT_COUNTERS;
}

void upmu_pfm_keep(struct upmu_pfm_context *context)
{
    upmu_queue_rename(&context->queue, name_counters, context);
    for (unsigned i = 0; i < context->memory.set_count; i++) {
        struct upmu_pfm_set *set = &context->memory.sets[i];

        for (unsigned counter = 0; set->used && counter < UPMU_COUNTERS; counter++) {
            struct upmu_progress progress;
            uint64_t value;

            if (set->event_of[counter] == PFM_NO_EVENT || upmu_pfm_value(context, set, counter, &value) != UPMU_OK)
                continue;
            set->pmd[counter].reg_value = value;
            set->pmd[counter].reg_last_reset_val = upmu_pfm_last_reset(context, set, counter);
            upmu_set_progress(upmu_pfm_core_set(context, set), set->event_of[counter], &progress);
            set->to_switch[counter] = progress.to_switch;
        }
        __builtin_memset(set->event_of, PFM_NO_EVENT, sizeof set->event_of);
    }
}
