/* SPDX-License-Identifier: MIT */
/*
 * Branch records: the decoder of an entry, and the end of a CPU's life.
 */
#ifndef UPMU_CORE_BRANCHES_CORE_H
#define UPMU_CORE_BRANCHES_CORE_H

#include "core/hw/backend.h"
#include <upmu/branches.h>
#include <upmu/session.h>

#if UPMU_BRANCHES

/* The content of an entry of a stack. */
enum upmu_branch_entry {
    UPMU_BRANCH_END,  /* nothing, nor does an older one */
    UPMU_BRANCH_SKIP, /* nothing */
    UPMU_BRANCH_TAKEN
};

/* Decode the registers of an entry; `info` is 0 where there is no such register, or it was not read.  Pure. */
enum upmu_branch_entry upmu_branch_decode(enum upmu_branch_format format, uint64_t from, uint64_t to, uint64_t info,
                                          struct upmu_branch *out_branch);

/* Bits of upmu_branch.info that a format has. */
uint64_t upmu_branch_info_of(enum upmu_branch_format format);

/* Is a branch of the modes that are wanted?  Addresses from `kernel_from` on are the kernel's. */
bool upmu_branch_is_wanted(const struct upmu_branch *branch, uint32_t record, uint64_t kernel_from);

/* The value for the register of filters, or for the control that has them. */
uint32_t upmu_branch_select(const struct upmu_branch_stack *stack, uint32_t record);

/* Stop the stack of a CPU that leaves or sleeps; false: a register faulted.  In a local bracket. */
bool upmu_branches_end(struct upmu_meter *meter);

#else

static inline bool upmu_branches_end(struct upmu_meter *meter)
{
    (void)meter;
    return true;
}

#endif

#endif
