/* SPDX-License-Identifier: MIT */
/*
 * Branches in precise records (core/sample/record_branches.h).
 *
 * With the group of branches in MSR_PEBS_DATA_CFG the hardware stores the branch stack into each adaptive record, as it
 * is at the sampled instruction: without skid, and without a freeze.  The records in the buffer have one size, so the
 * register is written only while the buffer is empty and no counter stores records.
 *
 * Sources: Linux 6.12 asm/perf_event.h (PEBS_DATACFG_LBRS), arch/x86/events/intel/ds.c, lbr.c (struct lbr_entry).
 */
#include "core/sample/record_branches.h"
#include "core/util/bits.h"
#include "core/hw/bank.h"
#include "core/engine/meter.h"
#include "core/engine/program.h"
#include "core/sample/branch_samples.h"

#if UPMU_BRANCH_SAMPLES

/* MSR_PEBS_DATA_CFG: the group of branches, and from this bit on the number of entries - 1. */
#define GROUP_LBR UPMU_BIT64(3)
#define GROUP_COUNT_SHIFT 24u

#define BYTES_ENTRY 24u
#define BYTES_SHORT (32u + UPMU_RECORD_GROUP_BYTES) /* a record with all other groups that the library asks for */

unsigned upmu_record_branches_bytes(const struct upmu_meter *meter)
{
    const struct upmu_pmu *pmu = meter->pmu;
    unsigned bytes = BYTES_ENTRY * pmu->branch_depth;

    if (!(pmu->record_capabilities & UPMU_RECORDS_ADAPTIVE) || !pmu->branch_stack)
        return 0;
    return (upmu_bits_count(pmu->record_counters) + 2u) * (BYTES_SHORT + bytes) <= meter->cpu->records.bytes ? bytes
                                                                                                            : 0;
}

/* Do the records of a set need the group of branches? */
static bool needs_group(const struct upmu_set *set)
{
    const unsigned both = UPMU_PROGRAM_PRECISE | UPMU_PROGRAM_BRANCHES;

    return (set->program.flags & both) == both;
}

/* ---- Plans ---- */

bool upmu_record_branches_lack(const struct upmu_meter *meter)
{
    const struct upmu_plan *plan = &meter->plan;
    bool needed = false;

    for (unsigned part = 0; part < plan->ins; part++)
        needed = needed || needs_group(plan->set[part]);
    return needed && meter->cpu->records.grown == UPMU_RECORD_SHORT && upmu_record_branches_bytes(meter);
}

void upmu_record_branches_come(struct upmu_meter *meter)
{
    struct upmu_records *records = &meter->cpu->records;
    uint64_t value = UPMU_RECORD_GROUP_BITS;
    const struct upmu_session *session;
    uint32_t rest = meter->running;
    bool needed = false;

    if (!upmu_record_branches_bytes(meter))
        return;
    while (!needed && (session = upmu_meter_next_running(meter, &rest)) != NULL)
        needed = needs_group(upmu_active(session));
    if (records->grown == needed)
        return;
    if (needed)
        value |= GROUP_LBR | (uint64_t)(meter->pmu->branch_depth - 1u) << GROUP_COUNT_SHIFT;
    records->grown = UPMU_RECORD_UNKNOWN;
    if (upmu_bank_write_address(&meter->bank, UPMU_RECORD_GROUPS, value) ||
        upmu_bank_write_address(&meter->bank, UPMU_RECORD_GROUPS, value))
        records->grown = needed;
}

/* ---- Samples ---- */

/* Decode the entries of a record that `record` wants into `out`, the newest first.  Returns their number. */
static unsigned decode_entries(const struct upmu_meter *meter, const struct upmu_precise *precise, uint32_t record,
                               struct upmu_branch *out)
{
    const struct upmu_pmu *pmu = meter->pmu;
    const enum upmu_branch_format format = (enum upmu_branch_format)pmu->branch_format;
    const uint64_t known = record & UPMU_BRANCH_NO_INFO ? 0 : upmu_branch_info_of(format, pmu->branch_lacks);
    struct upmu_branch branch;
    enum upmu_branch_entry entry;
    unsigned count = 0;

    for (unsigned i = 0; (entry = upmu_precise_branch(precise, format, i, &branch)) != UPMU_BRANCH_END; i++) {
        if (entry == UPMU_BRANCH_SKIP ||
            !upmu_branch_is_wanted(&branch, record, meter->cpu->branches.kernel_from))
            continue;
        branch.info &= known;
        out[count++] = branch;
    }
    return count;
}

void upmu_record_branches_take(struct upmu_overflow *overflow, const struct upmu_precise *record, unsigned counter)
{
    struct upmu_meter *meter = &overflow->cpu->meter;
    struct upmu_branch_unit *unit = &overflow->cpu->branches;
    uint32_t wanted = upmu_branch_samples_wanted(overflow->set);

    overflow->branches = 0;
    if (!upmu_record_branches_apply(meter) || !record->branches || !wanted || wanted != meter->branches ||
        unit->frozen || unit->stale || (overflow->cpu->records.outdated >> counter & 1u) ||
        upmu_branch_samples_hidden(overflow->session))
        return;
    upmu_branch_samples_forget(unit);
    overflow->branches = (uint8_t)decode_entries(meter, record, wanted, (void *)unit->newest);
    overflow->branch = (const void *)unit->newest;
    overflow->parts |= UPMU_PART_BRANCHES;
}

#endif
