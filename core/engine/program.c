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

void upmu_program_render(const struct upmu_meter *meter, const struct upmu_set *set, unsigned i,
                         struct upmu_image *image)
{
    const struct upmu_pmu *pmu = meter->pmu;
    const struct upmu_tally *tally = &set->tally[i];
    unsigned flags = meter->thread ? UPMU_RENDER_THREAD1 : 0;

    if (UPMU_SAMPLING && port_has_pmi(meter->machine->port) && !(set->sampling[i].flags & UPMU_SAMPLING_WRAP) &&
        (tally->period || (pmu->capabilities & UPMU_PMU_STATUS)))
        flags |= UPMU_RENDER_INTERRUPT;
    pmu->backend->render(pmu, &set->event[i], tally->alternative, tally->slot, flags, image);
}

void upmu_program_image(const struct upmu_meter *meter, const struct upmu_set *set, struct upmu_image *image)
{
    upmu_image_clear(image);
    for (unsigned i = 0; i < set->count; i++)
        upmu_program_render(meter, set, i, image);
}

#if UPMU_THREADS

bool upmu_program_is_plain(const struct upmu_set *set)
{
    for (unsigned i = 0; i < set->count; i++)
        if (upmu_tally_cascades(&set->tally[i]) || upmu_tally_is_metric(&set->tally[i]) ||
            upmu_tally_is_wide(&set->tally[i]))
            return false;
    return true;
}

/*
 * Some bits of a register, as many steps as that takes: the bits of one are not further apart than 31, but for ones up
 * to the top, nor those of its value than 32.  False: no room.
 */
static bool add_steps(struct upmu_program *program, const struct upmu_image_entry *entry, uint64_t mask,
                      unsigned enables)
{
    while (mask) {
        unsigned shift = upmu_bits_lowest64(mask);
        uint64_t value = (entry->value & mask) >> shift;
        struct upmu_step *step = &program->step[program->steps];

        if (program->steps == UPMU_STEPS)
            return false;
        *step = (struct upmu_step){
            .mask = (int32_t)(uint32_t)(mask >> shift),
            .guard = entry->guard,
            .row = entry->row,
            .shift = (uint8_t)shift,
            .enables = (uint8_t)enables
        };
        if ((upmu_step_mask(step) & ~mask) || value > UINT32_MAX)
            step->mask &= INT32_MAX;
        step->value = (uint32_t)(value & (uint64_t)(int64_t)step->mask);
        mask &= ~upmu_step_mask(step);
        program->steps++;
    }
    return true;
}

/* Those of one register together: they have one rank. */
static void sort_steps(struct upmu_program *program, unsigned first)
{
    for (unsigned i = first + 1; i < program->steps; i++)
        for (unsigned k = i; k > first && program->step[k].row < program->step[k - 1].row; k--) {
            struct upmu_step step = program->step[k];

            program->step[k] = program->step[k - 1];
            program->step[k - 1] = step;
        }
}

/* The registers of one rank; false: no room. */
static bool compile_rank(const struct upmu_pmu *pmu, struct upmu_program *program, const struct upmu_image *image,
                         unsigned rank)
{
    unsigned first = program->steps;

    for (unsigned i = 0; i < image->count; i++) {
        const struct upmu_image_entry *entry = &image->entry[i];
        const struct upmu_register_class *class = upmu_register_class_of(pmu, entry->row);

        if (class->load_rank != rank)
            continue;
        if (UPMU_BACKEND_AMD && pmu->kernel_select && !(entry->value & pmu->kernel_select))
            program->user |= entry->guard;
        if (!add_steps(program, entry, entry->mask & class->owned & ~class->gates,
                       class->gates ? pmu->table->rows[entry->row].counter + 1u : 0))
            return false;
    }
    sort_steps(program, first);
    return true;
}

/* What is known of the events without looking at each of them. */
static void sum_up(const struct upmu_meter *meter, struct upmu_set *set)
{
    struct upmu_program *program = &set->program;

    program->counting = 0;
    program->sampling = 0;
    program->flags = meter->straight ? UPMU_PROGRAM_FREE : 0;
    for UPMU_TALLIES(tally, set) {
        if (upmu_tally_samples(tally))
            program->sampling |= tally->counters;
        else
            program->counting |= tally->counters;
        if (set->event[tally->index].payload || tally->counters != UPMU_BIT32(tally->counter))
            program->flags &= (uint8_t)~UPMU_PROGRAM_FREE;
        if (UPMU_SAMPLING && (set->sampling[tally->index].flags & UPMU_SAMPLING_WRAP))
            program->flags |= UPMU_PROGRAM_WRAPS;
        if (tally->falls)
            program->flags |= UPMU_PROGRAM_FALLS;
        if (UPMU_SAMPLING && (set->sampling[tally->index].values | set->sampling[tally->index].resets))
            program->flags |= UPMU_PROGRAM_OTHERS;
        if (UPMU_SAMPLING && (set->sampling[tally->index].values || set->sampling[tally->index].event_id ||
                              (set->sampling[tally->index].flags & UPMU_SAMPLING_NOTIFY)))
            program->flags |= UPMU_PROGRAM_RECORDS;
    }
}

/* All counters of an event stand still while one of its registers changes. */
static void widen_guards(struct upmu_set *set)
{
    for (unsigned i = 0; i < set->program.steps; i++)
        for UPMU_TALLIES(tally, set)
            if (tally->counters & set->program.step[i].guard)
                set->program.step[i].guard |= tally->counters;
}

/* From its image; one that needs more than writes of registers is not compiled. */
static void compile(struct upmu_meter *meter, struct upmu_set *set, const struct upmu_image *image)
{
    struct upmu_program *program = &set->program;

    program->placement = 0;
    program->steps = 0;
    program->user = 0;
    if (image->overfull || !set->placed_class || !upmu_program_is_plain(set))
        return;
    for (unsigned rank = 0; rank < 8; rank++)
        if (!compile_rank(meter->pmu, program, image, rank))
            return;
    sum_up(meter, set);
    if (UPMU_PRELUDES && image->prelude)
        program->flags |= UPMU_PROGRAM_PRELUDE;
    widen_guards(set);
    program->kind = set->placed_class;
    program->placement = upmu_placed_stamp(set);
}

static UPMU_APART void compile_on_stack(struct upmu_meter *meter, struct upmu_set *set)
{
    struct upmu_image image;

    upmu_program_image(meter, set, &image);
    compile(meter, set, &image);
}

bool upmu_program_ready(struct upmu_meter *meter, struct upmu_set *set)
{
    if (!set->program.placement && meter->work) {
        upmu_program_image(meter, set, upmu_meter_image(meter));
        compile(meter, set, upmu_meter_image(meter));
    } else if (!set->program.placement) {
        compile_on_stack(meter, set);
    }
    return set->program.placement != 0;
}

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

/* A register with what a step wants.  (Apart: the handler's stack is short.) */
static UPMU_APART uint64_t with_step(const struct upmu_step *step, uint64_t value)
{
    return (value & ~upmu_step_mask(step)) | upmu_step_value(step);
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
