/* SPDX-License-Identifier: MIT */
/*
 * The handler's part of sampling units (IBS): a sample that a unit has stored in its registers goes into the unit's
 * queue, and the unit is armed again. These functions have a file of their own: core/sample/ibs.c calls brackets, and
 * the end of a bracket calls what handlers call.
 */
#include <upmu/ibs.h>

#include "core/util/mem.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/hw/port_call.h"
#include "core/engine/meter.h"
#include "core/sample/ibs_core.h"

#if UPMU_IBS

bool upmu_ibs_steps(struct upmu_bank *bank, const struct upmu_ibs_step *step, unsigned count)
{
    bool fine = true;

    for (; count; count--, step++)
        fine &= upmu_bank_command(bank, step->row, step->value);
    return fine;
}

/*
 * Read the sample in a unit's registers into the next place of its queue. `control` is the value of the first register,
 * which was read already. If the queue is full or a register faults twice, the sample is counted as lost. A sample that
 * the backend discards for an erratum is neither stored nor counted.
 */
static void queue_sample(struct upmu_meter *meter, struct upmu_ibs *ibs, uint64_t control,
                         const struct upmu_frame *frame)
{
    uint32_t head = ibs->state.head;
    struct upmu_ibs_sample *sample = &ibs->samples[head & (ibs->capacity - 1u)];

    if (head - __atomic_load_n(&ibs->state.tail, __ATOMIC_ACQUIRE) == ibs->capacity) {
        ibs->state.lost++;
        return;
    }
    memset(sample, 0, sizeof *sample);
    sample->registers[0] = control;
    for (unsigned i = 1; i < ibs->state.plan.row_count; i++)
        if (ibs->state.plan.row[i] != UPMU_NO_ROW &&
            !upmu_bank_look(&meter->bank, ibs->state.plan.row[i], &sample->registers[i]) &&
            !upmu_bank_look(&meter->bank, ibs->state.plan.row[i], &sample->registers[i])) {
            ibs->state.lost++;
            return;
        }
    sample->cpu = meter->number;
    sample->kind = (uint8_t)ibs->kind;
    if (frame)
        sample->ip = frame->ip;
    else
        sample->flags = UPMU_IBS_NO_FRAME;
    if (!meter->pmu->backend->ibs_sample(meter->pmu, sample))
        return;
    sample->lost = ibs->state.lost - ibs->state.lost_told;
    ibs->state.lost_told = ibs->state.lost;
    sample->time_ns = upmu_machine_clock_ns(meter->machine);
    __atomic_store_n(&ibs->state.head, head + 1u, __ATOMIC_RELEASE);
}

bool upmu_ibs_take(struct upmu_meter *meter, struct upmu_ibs *ibs, const struct upmu_frame *frame)
{
    uint64_t control;

    if (!upmu_bank_look(&meter->bank, ibs->state.plan.row[0], &control) &&
        !upmu_bank_look(&meter->bank, ibs->state.plan.row[0], &control)) {
        /* A sample may stay in the unit, and this interrupt may have been its own: one more is noted as expected. */
        upmu_meter_expect(meter, 1, upmu_meter_now(meter));
        return false;
    }
    if (!(control & ibs->state.plan.valid))
        return false;
    queue_sample(meter, ibs, control, frame);
    return true;
}

unsigned upmu_ibs_handle(struct upmu_meter *meter, const struct upmu_frame *frame)
{
    unsigned taken = 0;

    for (unsigned kind = 0; kind < UPMU_IBS_KINDS; kind++) {
        struct upmu_ibs *ibs = meter->cpu->ibs[kind];

        if (!ibs || ibs->state.closing || !upmu_ibs_take(meter, ibs, frame))
            continue;
        taken++;
        /* After a fault the steps are written once more: a unit that is not armed again would never interrupt. */
        if (!upmu_ibs_steps(&meter->bank, ibs->state.plan.step + ibs->state.plan.starts, ibs->state.plan.agains))
            (void)upmu_ibs_steps(&meter->bank, ibs->state.plan.step + ibs->state.plan.starts, ibs->state.plan.agains);
    }
    return taken;
}

#endif
