/* SPDX-License-Identifier: MIT */
/*
 * Instruction-based sampling (IBS): the register writes that start, restart and stop a unit, the registers of a sample,
 * and the correction of samples by errata. No hardware is accessed here.
 *
 * Sources: AMD APM vol 2 (24593) 13.3; Linux arch/x86/events/amd/ibs.c (errata 420, 1197, 1293; families 16h to 18h;
 * the alternate disable bit).
 */
#include "backends/amd_k8/amd_k8.h"
#include "backends/amd_k8/amd_registers.h"
#include "core/util/bits.h"
#include "core/hw/register.h"

#if UPMU_BACKEND_AMD && UPMU_IBS

#define FETCH_EN UPMU_BIT64(48)
#define FETCH_VAL UPMU_BIT64(49)
#define FETCH_RANDOM UPMU_BIT64(57)
#define OP_EN UPMU_BIT64(17)
#define OP_VAL UPMU_BIT64(18)
#define OP_COUNTS_OPS UPMU_BIT64(19)
#define OP_MAXIMUM_HIGH UINT64_C(0x07f00000) /* IbsOpCtl: bits 26:20 of the period, at bits 26:20 */
#define AMD_MAXIMUM UINT64_C(0xffff)             /* both controls: bits 19:4 of the period, at bits 15:0 */

#define LEAST_FETCHES 0x10u
#define LEAST_OPS 0x90u
#define AMD_LONGEST 0xffff0u
#define AMD_LONGEST_EXTENDED 0x7fffff0u

#define CAN_EXTENDED_COUNT 6u
#define CAN_RIP_INVALID 7u
#define CAN_DISABLE 13u

/* Bits in the data of an op sample: DATA1_… of IbsOpData, DATA3_… of IbsOpData3. */
#define DATA1_RIP_INVALID UPMU_BIT64(38)
#define DATA3_NO_MISS_BUFFER UPMU_BIT64(16)
#define DATA3_PREFETCH UPMU_BIT64(21)

static bool has_capability(const struct upmu_pmu *pmu, unsigned capability)
{
    return pmu->ibs >> capability & 1u;
}

static void add_step(struct upmu_ibs_plan *plan, unsigned row, uint64_t value)
{
    plan->step[plan->starts + plan->agains + plan->stops] = (struct upmu_ibs_step){(uint8_t)row, value};
}

#define ADD_START(plan, row, value) (add_step(plan, row, value), (plan)->starts++)
#define ADD_AGAIN(plan, row, value) (add_step(plan, row, value), (plan)->agains++)
#define ADD_STOP(plan, row, value) (add_step(plan, row, value), (plan)->stops++)

static bool control_word(const struct upmu_pmu *pmu, const struct upmu_ibs *ibs, uint64_t *out_word)
{
    uint32_t longest = AMD_LONGEST, least = LEAST_FETCHES;
    uint64_t word = (ibs->period >> 4 & AMD_MAXIMUM) | (ibs->random ? FETCH_RANDOM : 0) | FETCH_EN;

    if (ibs->kind == UPMU_IBS_OP) {
        least = LEAST_OPS;
        if (has_capability(pmu, CAN_EXTENDED_COUNT))
            longest = AMD_LONGEST_EXTENDED;
        word = (ibs->period >> 4 & AMD_MAXIMUM) | (ibs->period & OP_MAXIMUM_HIGH) | OP_EN;
        if (ibs->ops)
            word |= OP_COUNTS_OPS;
    }
    *out_word = word;
    return !(ibs->period & 0xfu) && ibs->period >= least && ibs->period <= longest;
}

bool upmu_amd_ibs(const struct upmu_pmu *pmu, const struct upmu_ibs *ibs, struct upmu_ibs_plan *plan)
{
    bool op = ibs->kind == UPMU_IBS_OP;
    unsigned control = op ? UPMU_AMD_ROW_OP : UPMU_AMD_ROW_FETCH, second = op ? UPMU_AMD_ROW_OP2 : UPMU_AMD_ROW_FETCH2;
    uint64_t word, enabled = op ? OP_EN : FETCH_EN;

    if (!control_word(pmu, ibs, &word))
        return false;
    plan->row_count = op ? UPMU_AMD_OP_ROWS : UPMU_AMD_FETCH_ROWS;
    for (unsigned i = 0; i < plan->row_count; i++)
        plan->row[i] = (uint8_t)(upmu_rows_has(pmu->present, control + i) ? control + i : UPMU_NO_ROW);
    plan->second_row = (uint8_t)(has_capability(pmu, CAN_DISABLE) ? second : UPMU_NO_ROW);
    plan->enabled = enabled;
    plan->valid = op ? OP_VAL : FETCH_VAL;
    ADD_START(plan, control, word);
    if (has_capability(pmu, CAN_DISABLE))
        ADD_START(plan, second, 0);
    /*
     * On families 16h to 18h fetches are counted anew only when the enable bit changes from 0 to 1. So the restart
     * after a sample writes the control without the enable bit first.
     */
    if (!op && pmu->family >= 0x16 && pmu->family <= 0x18)
        ADD_AGAIN(plan, control, word & ~enabled);
    ADD_AGAIN(plan, control, word);
    if (has_capability(pmu, CAN_DISABLE))
        ADD_STOP(plan, second, 1);
    /* Erratum 420 of family 10h: clear the field of the period first, then the enable bit. */
    if (pmu->family == 0x10)
        ADD_STOP(plan, control, enabled);
    ADD_STOP(plan, control, 0);
    return true;
}

bool upmu_amd_ibs_sample(const struct upmu_pmu *pmu, struct upmu_ibs_sample *sample)
{
    bool zen3 = pmu->family == 0x19 && pmu->model < 0x10;
    uint64_t *registers = sample->registers;

    /* Erratum 1197: discard a sample of a fetch at address 0, which did not happen. */
    if (sample->kind == UPMU_IBS_FETCH)
        return !(zen3 && !registers[UPMU_IBS_FETCH_LINEAR]);
    if (has_capability(pmu, CAN_RIP_INVALID) && (registers[UPMU_IBS_OP_DATA1] & DATA1_RIP_INVALID))
        sample->flags |= UPMU_IBS_NO_RIP;
    /* Erratum 1293: IbsOpData2 is not valid for software prefetches, and for ops without a miss buffer. */
    if (zen3 && (registers[UPMU_IBS_OP_DATA3] & (DATA3_PREFETCH | DATA3_NO_MISS_BUFFER))) {
        sample->flags |= UPMU_IBS_NO_DATA2;
        registers[UPMU_IBS_OP_DATA2] = 0;
    }
    return true;
}

#endif
