/* SPDX-License-Identifier: MIT */
/*
 * The boxes of a unit, accessed as one: what is written goes to all of them, a count is the sum of theirs.
 */
#ifndef UPMU_CORE_BOX_H
#define UPMU_CORE_BOX_H

#include "core/hw/bank.h"

/* Box control is the first row.  Gates of its counters are bits of its shadow from this one on, and of no register. */
#define UPMU_BOX_ROW 0u
#define UPMU_BOX_GATES 32u

/* Bits of box control that freeze all counters; 0: these are not the gates of this bank. */
static inline uint32_t upmu_box_freeze(const struct upmu_bank *bank)
{
    const struct upmu_unit_type *type = upmu_bank_type(bank);

    return type && type->style >= UPMU_UNIT_BOX && type->style <= UPMU_UNIT_CLIENT_IMC ? type->freeze : 0;
}

/* Has a shadow of box control a gate, or does what others use keep the boxes running? */
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

/* May the boxes count, by what is known of box control? */
static inline bool upmu_box_runs(const struct upmu_bank *bank)
{
    return !upmu_bank_knows(bank, UPMU_BOX_ROW) || upmu_box_counts(bank, bank->shadow[UPMU_BOX_ROW]);
}

/* Does a box lack the base from which a row's address counts? */
bool upmu_box_lacks(const struct upmu_bank *bank, unsigned row, const struct upmu_unit_info *box);

/*
 * A row; the accesses are counted.  False: one faulted, and a write has reached the other boxes.  No counter is
 * read so.  Of registers that differ from box to box: where the value is known, one that is another; else the bits that
 * any has.
 */
bool upmu_box_read(struct upmu_bank *bank, unsigned row, uint64_t *out_value);
bool upmu_box_write(struct upmu_bank *bank, unsigned row, uint64_t value);

/*
 * The count of a counter's boxes together, of 64 bits: what each has counted since its last look is added.  A box that
 * is gone, or has gone back, adds nothing, and sets the counter's bit in bank->lacks (bank->reset, too, if it has gone
 * back).  `begins`: from here on it is looked at, and no box may be gone.  *out_zero: a box's counter holds 0;
 * *out_doubtful: what such boxes added, which is nothing if they were reset.  False: a box faulted; *out_value has what
 * the others added.
 */
bool upmu_box_count(struct upmu_bank *bank, unsigned counter, bool begins, bool *out_zero, uint64_t *out_doubtful,
                    uint64_t *out_value);

/* Do these bits of a row have this value in all boxes?  *out_fault: a read faulted. */
bool upmu_box_holds(struct upmu_bank *bank, unsigned row, uint64_t value, uint64_t bits, bool *out_fault);

#endif
