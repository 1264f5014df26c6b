/* SPDX-License-Identifier: MIT */
/*
 * Branches in precise records themselves (adaptive records, formats 4 to 6; docs/PRECISE.md, "Branches").  Called where
 * plans and interrupts handle records.  Context: a bracket, or a handler that interrupted none.
 */
#ifndef UPMU_CORE_RECORD_BRANCHES_H
#define UPMU_CORE_RECORD_BRANCHES_H

#include "core/sample/precise_core.h"
#include "core/sample/records_core.h"

#if UPMU_BRANCH_SAMPLES

/* Values of upmu_records.grown: has the register of groups the group of branches? */
enum upmu_record_group {
    UPMU_RECORD_SHORT,  /* no */
    UPMU_RECORD_GROWN,  /* yes: samples of precise events have the branches of their records */
    UPMU_RECORD_UNKNOWN /* a write of the register has faulted */
};

/*
 * Return the bytes of the group of branches in a record; 0: records on this CPU cannot have it, or the memory has no
 * room for one such record of each counter, and two more.
 */
unsigned upmu_record_branches_bytes(const struct upmu_meter *meter);

/*
 * A plan is made.  Does a session that comes need the group of branches in its records, and has the register to be
 * written for it?  Then no counter may store records at the plan.
 */
bool upmu_record_branches_lack(const struct upmu_meter *meter);

/* No counter stores records, and the buffer is empty: let records have branches if a running session needs them. */
void upmu_record_branches_come(struct upmu_meter *meter);

/* The branch stack was cleared: records that are in the buffer by now have branches of before. */
static inline void upmu_record_branches_restart(struct upmu_records *records)
{
    uint64_t filled = records->area ? records->area[UPMU_AREA_INDEX] - records->buffer_linear : 0;

    records->restarted = (uint16_t)((filled < records->bytes ? filled : records->bytes) / 8u);
}

/* A look has found the records of these counters at place `at`: note whether their branches are of before a restart. */
static inline void upmu_record_branches_found(struct upmu_records *records, uint32_t counters, unsigned at)
{
    records->outdated = at < records->restarted ? records->outdated | counters : records->outdated & ~counters;
}

/* The area is set up, and the register is about to be written without the group of branches. */
static inline void upmu_record_branches_begin(struct upmu_records *records)
{
    records->grown = UPMU_RECORD_SHORT;
    records->outdated = 0;
    records->restarted = 0;
}

/* Have precise samples on this CPU the branches of their records, and never those of the interrupt? */
static inline bool upmu_record_branches_apply(const struct upmu_meter *meter)
{
    return meter->cpu->records.grown == UPMU_RECORD_GROWN;
}

/*
 * Give a precise sample of `counter` the branches of its record, if its session wants branches.  The sample gets none
 * of another session, of before a restart of the stack, or of a mode that the session does not want.
 */
void upmu_record_branches_take(struct upmu_overflow *overflow, const struct upmu_precise *record, unsigned counter);

#endif

#endif
