/* SPDX-License-Identifier: MIT */
/*
 * Branch records: decode an entry of a branch stack, compute a filter, access the registers of a stack, and stop the
 * stack when its CPU is taken out of the machine or suspended.
 */
#ifndef UPMU_CORE_BRANCHES_CORE_H
#define UPMU_CORE_BRANCHES_CORE_H

#include "core/hw/backend.h"
#include <upmu/branches.h>
#include <upmu/session.h>

#if UPMU_BRANCH_SAMPLES

/* Values of upmu_branch_unit.halted, beside 0. */
#define UPMU_BRANCH_FROZEN 1u /* the status bit has stopped recording: its acknowledgement ends that */
#define UPMU_BRANCH_OFF 2u    /* the enable bit is off, too, or may be */

#endif

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
 * Return the address of the register of entry i that says whether the entry has a branch.  In AMD's entries (step 2) it
 * is that of the target, in others that of the source, which is then not 0.
 */
static inline uint32_t upmu_branch_place(const struct upmu_branch_stack *stack, unsigned i)
{
    return (stack->step > 1 ? stack->to : stack->from) + i * stack->step;
}

/* Does the stack have a filter register that is not shared by hyper-threads?  A shared one is not used. */
static inline bool upmu_branch_is_filtered(const struct upmu_branch_stack *stack)
{
    return stack->select && !(stack->traits & UPMU_BRANCH_SHARED_SELECT);
}

/*
 * Switch recording off or on.  `record`: the filter, for a stack whose control register has it.  Returns false if a
 * register faulted.  Context: any.
 */
bool upmu_branch_stack_off(struct upmu_bank *bank, const struct upmu_branch_stack *stack);

/*
 * As upmu_branch_stack_off().  *out_recorded: the stack was switched on; not known of a stack whose control register is
 * its own (UPMU_BRANCH_OWN_CONTROL), which is told to have been off.
 */
bool upmu_branch_stack_halt(struct upmu_bank *bank, const struct upmu_branch_stack *stack, bool *out_recorded);
bool upmu_branch_stack_on(struct upmu_bank *bank, const struct upmu_branch_stack *stack, uint32_t record);

/*
 * Switch recording on.  If interrupts meanwhile have frozen the stack or ended its sessions, switch it off again; if
 * they have changed the filter, write that one.  False: a register faulted.
 */
bool upmu_branch_stack_go_on(struct upmu_cpu *cpu, const struct upmu_branch_stack *stack);

/*
 * Has an interrupt stopped recording for its samples?  Then these are stored first, and what stores them switches
 * recording on.
 */
static inline bool upmu_branch_stack_halted(struct upmu_branch_unit *unit)
{
#if UPMU_BRANCH_SAMPLES
    if (unit->halted)
        unit->halted = UPMU_BRANCH_OFF;
    return unit->halted;
#else
    (void)unit;
    return false;
#endif
}

/*
 * Return the stack that records, or is frozen; NULL: none.  A stack that is lent stays the unit's while it is frozen,
 * though its sessions have stopped.
 */
static inline const struct upmu_branch_stack *upmu_branch_stack_of(const struct upmu_cpu *cpu)
{
#if UPMU_BRANCH_SAMPLES
    if (cpu->branches.given && !cpu->meter.branches && !cpu->branches.frozen)
        return NULL;
#endif
    return cpu->branches.stack;
}

/* Clear the entries of a stack that is off.  Returns false if a register faulted. */
bool upmu_branch_stack_clear(struct upmu_bank *bank, const struct upmu_branch_stack *stack);

/* Store the number of the newest entry: 0 if the stack has no top register.  Returns false if a register faulted. */
bool upmu_branch_stack_newest(struct upmu_bank *bank, const struct upmu_branch_stack *stack, unsigned *out_newest);

/*
 * Read the entries of a stack that is off, and store in `out` those branches that the modes of unit->record want, the
 * newest first.  Returns false if a register faulted; *out_count is unchanged then, or the number of branches before.
 */
bool upmu_branch_stack_entries(struct upmu_bank *bank, const struct upmu_branch_unit *unit,
                               const struct upmu_branch_stack *stack, struct upmu_branch *out, unsigned room,
                               unsigned *out_count);

/*
 * Stop the branch stack of a CPU that is taken out of the machine or suspended, if it was started or lent to sessions,
 * restore its registers, and forget that it was proved to work. Returns false if a register faulted. Context: a bracket
 * on this CPU.
 */
bool upmu_branches_end(struct upmu_meter *meter);

#else

static inline bool upmu_branches_end(struct upmu_meter *meter)
{
    (void)meter;
    return true;
}

#endif

#if UPMU_BRANCH_SAMPLES

/* Status bit 58, Intel's and AMD's: the stack is frozen; its acknowledgement lets it record: Linux asm/msr-index.h. */
#define UPMU_BRANCH_STATUS_FROZEN UPMU_BIT64(58)

/* Let a stack that an interrupt has frozen record again, as far as its own bit allows.  False: a register faulted. */
bool upmu_branch_stack_release(struct upmu_bank *bank);

/*
 * Registers were lost in a sleep, or other software may have changed them, and no session runs: let sessions have the
 * stack again, if it is lent to them.  Context: a bracket on this CPU.
 */
void upmu_branches_again(struct upmu_meter *meter);

/* A CPU has left: its stack is not lent to sessions any more. */
void upmu_branches_forget(struct upmu_cpu *cpu);

#endif

#endif
