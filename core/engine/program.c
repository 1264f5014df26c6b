/* SPDX-License-Identifier: MIT */
/*
 * Compiled placements.
 */
#include "core/engine/program.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/hw/port_call.h"
#include "core/hw/register.h"
#include "core/place/placement.h"
#include "core/engine/count.h"
#include "core/engine/meter.h"
#include "core/engine/metrics.h"
#include "core/engine/placed.h"
#include "core/engine/run.h"
#include "core/engine/session_core.h"

/* What its registers are to hold. */
static void render_set(const struct upmu_meter *meter, const struct upmu_set *set, struct upmu_image *image)
{
    const struct upmu_pmu *pmu = meter->pmu;

    for (unsigned i = 0; i < set->count; i++) {
        const struct upmu_tally *tally = &set->tally[i];
        unsigned flags = meter->thread ? UPMU_RENDER_THREAD1 : 0;

        if (UPMU_SAMPLING && port_has_pmi(meter->machine->port) && !tally->wraps &&
            (tally->period || (pmu->capabilities & UPMU_PMU_STATUS)))
            flags |= UPMU_RENDER_INTERRUPT;
        pmu->backend->render(pmu, &set->event[i], tally->alternative, tally->slot, flags, image);
    }
}

/* All counters of an event stand still while one of its registers changes. */
static void widen_guards(struct upmu_set *set)
{
    for (unsigned i = 0; UPMU_SLOTS > 1 && i < set->program.steps; i++)
        for UPMU_TALLIES(tally, set)
            if (tally->counters & set->program.step[i].guard)
                set->program.step[i].guard |= tally->counters;
}

#if UPMU_THREADS

/* Has a set that is placed nothing that only a start can bring: a cascade, metrics, a wide event? */
static bool only_writes(const struct upmu_set *set)
{
    for (unsigned i = 0; i < set->count; i++)
        if (upmu_tally_cascades(&set->tally[i]) || upmu_tally_is_metric(&set->tally[i]) ||
            upmu_tally_is_wide(&set->tally[i]))
            return false;
    return true;
}

/* What is known of the events without looking at each of them. */
static void sum_up(const struct upmu_meter *meter, struct upmu_set *set)
{
    struct upmu_program *program = &set->program;

    program->counting = 0;
    program->sampling = 0;
    program->user = 0;
    if (meter->straight)
        UPMU_STORE(program->flags, program->flags | UPMU_PROGRAM_FREE);
    for UPMU_TALLIES(tally, set) {
        if (upmu_tally_samples(tally))
            program->sampling |= tally->counters;
        else
            program->counting |= tally->counters;
        if (set->event[tally->index].payload || tally->counters != UPMU_BIT32(tally->counter))
            UPMU_STORE(program->flags, program->flags & ((uint8_t)~UPMU_PROGRAM_FREE));
        if (UPMU_SAMPLING && tally->wraps)
            UPMU_STORE(program->flags, program->flags | UPMU_PROGRAM_WRAPS);
        if (tally->falls)
            UPMU_STORE(program->flags, program->flags | UPMU_PROGRAM_FALLS);
        if (UPMU_SAMPLING && (set->sampling[tally->index].values | set->sampling[tally->index].resets))
            UPMU_STORE(program->flags, program->flags | UPMU_PROGRAM_OTHERS);
        if (UPMU_SAMPLING && (set->sampling[tally->index].values || set->sampling[tally->index].event_id ||
                              tally->notifies))
            UPMU_STORE(program->flags, program->flags | UPMU_PROGRAM_RECORDS);
    }
    for (unsigned i = 0; UPMU_BACKEND_AMD && i < program->steps; i++)
        if (upmu_step_mask(&program->step[i]) & ~upmu_step_value(&program->step[i]) & meter->pmu->kernel_select)
            program->user |= program->step[i].guard;
}

#endif

/* (A handler that looks at it meanwhile finds it not compiled.) */
static void compile(struct upmu_meter *meter, struct upmu_set *set)
{
    struct upmu_program *program = &set->program;
    struct upmu_image image = upmu_image_on(meter->pmu, program->step, UPMU_STEPS);

    if (UPMU_THREADS && !set->placed_class)
        return;
    UPMU_STORE(program->placement, 0);
    program->seen = 0;
    UPMU_BARRIER();
    render_set(meter, set, &image);
    if (image.overfull)
        return;
    program->steps = image.count;
    UPMU_STORE(program->flags, UPMU_PRELUDES && image.prelude ? UPMU_PROGRAM_PRELUDE : 0);
    widen_guards(set);
    program->kind = upmu_placed_class(meter);
#if UPMU_THREADS
    sum_up(meter, set);
    UPMU_BARRIER();
    if (only_writes(set))
        UPMU_STORE(program->placement, upmu_placed_stamp(set));
#endif
}

bool upmu_program_ready(struct upmu_meter *meter, struct upmu_set *set)
{
    if (!set->program.kind)
        compile(meter, set);
    return set->program.kind != 0;
}

#if UPMU_THREADS

bool upmu_program_fits(const struct upmu_meter *meter, const struct upmu_set *set, uint64_t corunners)
{
    const struct upmu_program *program = &set->program;

    return program->placement && set->counters && program->kind == meter->kind &&
           !(set->counters & upmu_meter_blocked(meter)) &&
           ((program->flags & UPMU_PROGRAM_FREE) ||
            (set->placed_beside == corunners && set->placed_blocked == upmu_meter_blocked(meter)));
}

#if UPMU_SETS && UPMU_SAMPLING

bool upmu_program_handler_may(const struct upmu_bank *bank, const struct upmu_program *program)
{
    for (unsigned i = 0; i < program->steps; i++)
        if (!upmu_bank_handler_may(bank, program->step[i].row))
            return false;
    return program->placement && !(program->flags & UPMU_PROGRAM_PRELUDE);
}

/* (Apart: the handler's stack is short.) */
static UPMU_APART uint64_t with_step(const struct upmu_step *step, uint64_t value)
{
    return upmu_step_apply(step, value);
}

/* (Its gates are closed: in which order does not matter.) */
bool upmu_program_handler_load(struct upmu_bank *bank, const struct upmu_program *program, uint32_t opening)
{
    const struct upmu_step *step = program->step, *end = step + program->steps;
    bool fine = true;

    while (step < end) {
        unsigned row = step->row;
        uint64_t value = bank->shadow[row];

        do
            value = with_step(step, value);
        while (++step < end && step->row == row);
        if (!fine)
            upmu_bank_forget_row(bank, row);
        else if (value != bank->shadow[row])
            fine = upmu_bank_handler_set(bank, row, value, opening);
    }
    return fine;
}

#endif

#endif
