/* SPDX-License-Identifier: MIT */
/*
 * Branch records: the decoder of an entry, and what happens to the stack when a CPU leaves or sleeps.
 */
#ifndef UPMU_CORE_BRANCHES_CORE_H
#define UPMU_CORE_BRANCHES_CORE_H

#include "core/hw/backend.h"
#include <upmu/branches.h>
#include <upmu/session.h>

#if UPMU_BRANCHES

/* Results of upmu_branch_decode(). */
enum upmu_branch_entry {
    UPMU_BRANCH_END,  /* the entry is empty, and so are all older ones */
    UPMU_BRANCH_SKIP, /* the entry has no branch */
    UPMU_BRANCH_TAKEN
};

/*
 * Decode the registers of an entry. `info` is 0 if there is no such register, or if that register was not read. Pure.
 */
enum upmu_branch_entry upmu_branch_decode(enum upmu_branch_format format, uint64_t from, uint64_t to, uint64_t info,
                                          struct upmu_branch *out_branch);

/* Return the bits of upmu_branch.info that a format has, without parts that the CPU lacks (UPMU_BRANCH_LACKS_…). */
uint64_t upmu_branch_info_of(enum upmu_branch_format format, unsigned lacks);

/* Does `record` name the mode of a branch? A branch with an address from `kernel_from` on is the kernel's. */
bool upmu_branch_is_wanted(const struct upmu_branch *branch, uint32_t record, uint64_t kernel_from);

/*
 * Return the value that filters branches as `record` says: for the filter register, or for the control if the control
 * has the filter.
 */
uint32_t upmu_branch_select(const struct upmu_branch_stack *stack, uint32_t record);

/* Stop the stack of a CPU that leaves or sleeps; false: a register faulted. Context: a local bracket. */
bool upmu_branches_end(struct upmu_meter *meter);

#else

static inline bool upmu_branches_end(struct upmu_meter *meter)
{
    (void)meter;
    return true;
}

#endif

#endif
