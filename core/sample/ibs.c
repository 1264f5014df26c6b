/* SPDX-License-Identifier: MIT */
/*
 * Sampling units (IBS), which are independent of counters. A unit stores a sample in its registers, requests an
 * interrupt and waits; the handler reads the sample into the unit's queue and arms the unit again. The queue has one
 * writer: the handler, or the local side while `closing` is set.
 */
#include <upmu/ibs.h>

#include "core/util/mem.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/engine/bracket.h"
#include "core/engine/meter.h"
#include "core/sample/ibs_core.h"

#if UPMU_IBS

uint32_t upmu_ibs_capabilities(const struct upmu_pmu *pmu)
{
    return pmu->ibs;
}

/* Read the register of a unit that has the sampled instruction's linear address; false: the register faulted. */
static bool look_at_place(struct upmu_meter *meter, const struct upmu_ibs *ibs, uint64_t *out_value)
{
    return upmu_bank_look(&meter->bank, ibs->state.plan.row[UPMU_IBS_OP_RIP], out_value);
}
_Static_assert((unsigned)UPMU_IBS_OP_RIP == (unsigned)UPMU_IBS_FETCH_LINEAR, "at the same place");

/*
 * Write the stop steps of a unit, except the first `done`, which are written already; restore its second control
 * register; remove the unit from meter->cpu->ibs. After a fault all steps are written once more, because no later call
 * would stop a unit that still runs. Returns false if a register faulted again.
 */
static bool end_unit(struct upmu_meter *meter, struct upmu_ibs *ibs, unsigned done)
{
    struct upmu_ibs_plan *plan = &ibs->state.plan;
    bool fine = false;

    for (unsigned attempt = 0; attempt < 2 && !fine; attempt++) {
        fine = upmu_ibs_steps(&meter->bank, plan->step + plan->starts + plan->agains + done, plan->stops - done);
        if (plan->second_row != UPMU_NO_ROW)
            fine &= upmu_bank_command(&meter->bank, plan->second_row, ibs->state.second);
        done = 0;
    }
    UPMU_BARRIER();
    meter->cpu->ibs[ibs->kind] = NULL;
    return fine;
}

static enum upmu_status start_unit(struct upmu_meter *meter, void *argument)
{
    struct upmu_ibs *ibs = argument;
    struct upmu_ibs_plan *plan = &ibs->state.plan;
    uint64_t control;

    if (meter->cpu->ibs[ibs->kind])
        return UPMU_ERR_STATE;
    memset(plan, 0, sizeof *plan);
    if (!meter->pmu->backend->ibs(meter->pmu, ibs, plan))
        return UPMU_ERR_INVALID;
    if (!upmu_bank_look(&meter->bank, plan->row[0], &control) ||
        (plan->second_row != UPMU_NO_ROW && !upmu_bank_look(&meter->bank, plan->second_row, &ibs->state.second)))
        return UPMU_ERR_PORT;
    if (control & plan->enabled)
        return UPMU_ERR_STATE;
    /*
     * A sample found in the registers is older than this start: clear it, so that a handler that interrupts before the
     * start steps are written does not take it.
     */
    if ((control & plan->valid) && !upmu_ibs_steps(&meter->bank, plan->step + plan->starts + plan->agains, plan->stops))
        return UPMU_ERR_PORT;
    ibs->state.head = ibs->state.tail = ibs->state.lost = ibs->state.lost_told = 0;
    ibs->state.closing = 0;
    UPMU_BARRIER();
    meter->cpu->ibs[ibs->kind] = ibs;
    UPMU_BARRIER();
    if (upmu_ibs_steps(&meter->bank, plan->step, plan->starts))
        return UPMU_OK;
    (void)end_unit(meter, ibs, 0);
    return UPMU_ERR_PORT;
}

/*
 * Stop a unit, and take the sample that it has. An interrupt of the unit may still come. The write that stops a unit
 * also discards a sample that was completed after the last read. A unit with the alternate disable bit is read after it
 * is disabled, so that nothing is discarded. On other units a sample counts as lost if the address register has changed
 * by the stop.
 */
static bool stop_unit(struct upmu_meter *meter, struct upmu_ibs *ibs)
{
    const struct upmu_ibs_plan *plan = &ibs->state.plan;
    unsigned done = plan->second_row != UPMU_NO_ROW;
    bool exact = done, fine;
    uint64_t before = 0, after;

    upmu_meter_expect(meter, 1, upmu_meter_now(meter));
    ibs->state.closing = 1;
    UPMU_BARRIER();
    if (done)
        done = upmu_ibs_steps(&meter->bank, plan->step + plan->starts + plan->agains, 1);
    else
        exact = !look_at_place(meter, ibs, &before);
    exact |= upmu_ibs_take(meter, ibs, NULL);
    fine = end_unit(meter, ibs, done);
    if (!exact && look_at_place(meter, ibs, &after) && after != before)
        ibs->state.lost++;
    return fine;
}

bool upmu_ibs_end(struct upmu_meter *meter)
{
    bool fine = true;

    for (unsigned kind = 0; kind < UPMU_IBS_KINDS; kind++)
        if (meter->cpu->ibs[kind])
            fine &= stop_unit(meter, meter->cpu->ibs[kind]);
    return fine;
}

enum upmu_status upmu_ibs_start(struct upmu_cpu *cpu, struct upmu_ibs *ibs)
{
    if (!cpu->meter.live || !cpu->meter.pmu)
        return UPMU_ERR_NO_PMU;
    if ((unsigned)ibs->kind >= UPMU_IBS_KINDS || !(cpu->meter.pmu->ibs >> (1u + (unsigned)ibs->kind) & 1u) ||
        (ibs->ops && !(cpu->meter.pmu->ibs >> 4 & 1u)))
        return UPMU_ERR_UNSUPPORTED;
    if (!ibs->samples || !ibs->capacity || (ibs->capacity & (ibs->capacity - 1u)))
        return UPMU_ERR_INVALID;
    return upmu_bracket_run(&cpu->meter, start_unit, ibs);
}

static enum upmu_status stop_mine(struct upmu_meter *meter, void *argument)
{
    struct upmu_ibs *ibs = argument;

    return (unsigned)ibs->kind >= UPMU_IBS_KINDS || meter->cpu->ibs[ibs->kind] != ibs || stop_unit(meter, ibs) ? UPMU_OK
                                                                                                     : UPMU_ERR_PORT;
}

enum upmu_status upmu_ibs_stop(struct upmu_cpu *cpu, struct upmu_ibs *ibs)
{
    return cpu->meter.pmu ? upmu_bracket_run(&cpu->meter, stop_mine, ibs) : UPMU_ERR_NO_PMU;
}

#else

uint32_t upmu_ibs_capabilities(const struct upmu_pmu *pmu)
{
    (void)pmu;
    return 0;
}

enum upmu_status upmu_ibs_start(struct upmu_cpu *cpu, struct upmu_ibs *ibs)
{
    (void)cpu, (void)ibs;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_ibs_stop(struct upmu_cpu *cpu, struct upmu_ibs *ibs)
{
    (void)cpu, (void)ibs;
    return UPMU_ERR_COMPILED_OUT;
}

#endif

bool upmu_ibs_next(struct upmu_ibs *ibs, struct upmu_ibs_sample *out_sample)
{
    uint32_t tail = ibs->state.tail;

    if (tail == __atomic_load_n(&ibs->state.head, __ATOMIC_ACQUIRE))
        return false;
    *out_sample = ibs->samples[tail & (ibs->capacity - 1u)];
    __atomic_store_n(&ibs->state.tail, tail + 1u, __ATOMIC_RELEASE);
    return true;
}
