/* SPDX-License-Identifier: MIT */
/* The boxes of a unit, accessed as one: a write goes to all boxes, and a count is the sum of their counts. */
#ifndef UPMU_CORE_BOX_H
#define UPMU_CORE_BOX_H

#include "core/hw/bank.h"

/*
 * The row of box control, the register that freezes and resets a box.  In its shadow the bits from UPMU_BOX_GATES on
 * are the gates of the boxes' counters (bit UPMU_BOX_GATES + n: counter n); the register does not have these bits.
 */
#define UPMU_BOX_ROW 0u
#define UPMU_BOX_GATES 32u

/* Returns the bits of box control that freeze all counters; 0: the bank is a CPU's, or its gates are other bits. */
static inline uint32_t upmu_box_freeze(const struct upmu_bank *bank)
{
    const struct upmu_unit_type *type = upmu_bank_type(bank);

    return type && type->style >= UPMU_UNIT_BOX && type->style <= UPMU_UNIT_CLIENT_IMC ? type->freeze : 0;
}

/*
 * May box control read as 0, whatever was written?  Manuals call it write-only, and drivers read it.  So a value of 0
 * does not show a change by other software.
 */
static inline bool upmu_box_is_blind(const struct upmu_bank *bank)
{
    const struct upmu_unit_type *type = upmu_bank_type(bank);

    return type && type->style == UPMU_UNIT_BOX;
}

/*
 * Do the boxes count with this shadow of box control, as a gate in it is open, or as counters that other software uses
 * keep them running (bank->kept)?
 */
static inline bool upmu_box_counts(const struct upmu_bank *bank, uint64_t control)
{
#if UPMU_UNCORE
    return control >> UPMU_BOX_GATES || bank->kept;
#else
    (void)bank;
    (void)control;
    return true;
#endif
}

/* May the boxes be counting?  True also if box control is unknown. */
static inline bool upmu_box_runs(const struct upmu_bank *bank)
{
    return !upmu_bank_knows(bank, UPMU_BOX_ROW) || upmu_box_counts(bank, bank->shadow[UPMU_BOX_ROW]);
}

/* Does a row's address count from the second base (upmu_unit_info.second), and has the box no such base? */
bool upmu_box_lacks(const struct upmu_bank *bank, unsigned row, const struct upmu_unit_info *box);

/*
 * Read or write a row of all boxes; each access is counted.  Returns false where an access faulted; a write has reached
 * the other boxes then.  A read is not for counters.  If the boxes differ, a read of a known register gives the first
 * value that differs from the shadow, and a read of an unknown one the OR of all values.  A register that cannot be
 * read gives its idle value.
 */
bool upmu_box_read(struct upmu_bank *bank, unsigned row, uint64_t *out_value);
bool upmu_box_write(struct upmu_bank *bank, unsigned row, uint64_t value);

/*
 * Read a counter in all boxes: add what each box has counted since its last look to a sum of 64 bits, which is the
 * shadow of the counter's row: the caller stores the new sum there.  A box that is gone, or whose counter has gone
 * back, adds nothing, and sets the counter's bit in bank->lacks; also in bank->reset if the counter has gone back, in
 * bank->missed if the box is gone.  `begins`: a count begins with this look, so only a free-running counter adds what
 * it has counted before, and a box that is gone is a fault.  *out_zero: the counter of a box holds 0; *out_doubtful:
 * what such boxes added now, which is wrong if they were reset.  Returns false where a box faulted; *out_value has the
 * sum with what the other boxes added.
 */
bool upmu_box_count(struct upmu_bank *bank, unsigned counter, bool begins, bool *out_zero, uint64_t *out_doubtful,
                    uint64_t *out_value);

/*
 * Do the bits `bits` of a row's register have the value `value` in all boxes?  False also where a read faulted:
 * *out_fault is true then.
 */
bool upmu_box_holds(struct upmu_bank *bank, unsigned row, uint64_t value, uint64_t bits, bool *out_fault);

#endif
