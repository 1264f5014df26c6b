/* SPDX-License-Identifier: MIT */
/*
 * Branch records: decode an entry of a branch stack, compute a filter, and stop the stack when its CPU is taken out of
 * the machine or suspended.
 */
#ifndef UPMU_CORE_BRANCHES_CORE_H
#define UPMU_CORE_BRANCHES_CORE_H

#include "core/hw/backend.h"
#include <upmu/branches.h>
#include <upmu/session.h>

#if UPMU_BRANCHES

/* Results of upmu_branch_decode(). UPMU_BRANCH_TAKEN: the entry has a branch. */
enum upmu_branch_entry {
    UPMU_BRANCH_END,  /* the entry is empty, and so are all older ones */
    UPMU_BRANCH_SKIP, /* the entry has no branch, but an older one may have */
    UPMU_BRANCH_TAKEN
};

/*
 * Decode the values of an entry's registers (from, to, info) into *out_branch. `info` is 0 if entries have no such
 * register, or if it was not read. Pure. *out_branch is written only with the result UPMU_BRANCH_TAKEN.
 */
enum upmu_branch_entry upmu_branch_decode(enum upmu_branch_format format, uint64_t from, uint64_t to, uint64_t info,
                                          struct upmu_branch *out_branch);

/*
 * Return the bits of upmu_branch.info that entries of a format can have, without those in `lacks`, UPMU_BRANCH_LACKS_….
 */
uint64_t upmu_branch_info_of(enum upmu_branch_format format, unsigned lacks);

/*
 * Does `record` (UPMU_BRANCH_USER, UPMU_BRANCH_KERNEL) ask for branches of this mode? A branch is the kernel's if its
 * source or its target is not below `kernel_from`, otherwise user mode's.
 */
bool upmu_branch_is_wanted(const struct upmu_branch *branch, uint32_t record, uint64_t kernel_from);

/*
 * Return the register value that filters branches as `record` (UPMU_BRANCH_…) says. Its register is the filter register
 * or, with the trait UPMU_BRANCH_OWN_CONTROL, the control register: then the value also has the enable bit.
 */
uint32_t upmu_branch_select(const struct upmu_branch_stack *stack, uint32_t record);

/*
 * Stop the branch stack of a CPU that is taken out of the machine or suspended, if it was started, restore its
 * registers, and forget that it was proved to work. Returns false if a register faulted. Context: a bracket on this
 * CPU.
 */
bool upmu_branches_end(struct upmu_meter *meter);

#else

static inline bool upmu_branches_end(struct upmu_meter *meter)
{
    (void)meter;
    return true;
}

#endif

#endif
