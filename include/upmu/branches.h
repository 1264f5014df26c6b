/* SPDX-License-Identifier: MIT */
/*
 * The branch stack of a CPU: the hardware keeps the last 4 to 64 taken branches in registers, with their source, their
 * target and further facts (upmu_branch.info).  A panic handler or a debugger reads them at any moment.  No session, no
 * interrupt and no memory is needed.  Or the CPU lends its stack to sessions that sample: then each sample has the
 * branches that led to it.
 *
 * Intel: LBR from Core 2 on, architectural LBR; AMD: LBR of version 2 (Zen 4 on).  The stack belongs to the host: all
 * threads and processes of a CPU have one stack.  Do not show a program the entries unless the stack was started since
 * that program was switched to.  A guest's branches are recorded as well, where the hypervisor does not change the
 * register that switches recording on.
 *
 * Costs are in register writes (W) and reads (R).
 */
#ifndef UPMU_BRANCHES_H
#define UPMU_BRANCHES_H

#include <stdbool.h>
#include <stdint.h>
#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* No stack has more entries than this. */
#define UPMU_BRANCHES_MOST 64u

/* A taken branch.  Bits of `info` that this CPU's hardware does not give (upmu_branch_facts.info) are 0. */
struct upmu_branch {
    uint64_t from, to; /* linear addresses of source and target */
    uint64_t info;     /* UPMU_BRANCH_INFO_… */
};

/* Bits of upmu_branch.info, but for two at the same bit positions as in Intel's IA32_LBR_INFO. */
#define UPMU_BRANCH_INFO_MISPREDICTED (UINT64_C(1) << 63)
#define UPMU_BRANCH_INFO_TRANSACTION (UINT64_C(1) << 62)  /* the branch was in a transaction */
#define UPMU_BRANCH_INFO_ABORT (UINT64_C(1) << 61)        /* the entry is the abort of a transaction */
/* UPMU_BRANCH_INFO_CYCLES has a value, else they are 0; 0 on CPUs without such a bit */
#define UPMU_BRANCH_INFO_CYCLES_VALID (UINT64_C(1) << 60)
#define UPMU_BRANCH_INFO_TYPE (UINT64_C(0xf) << 56)       /* kind of branch: 0 conditional, 1 indirect jump, 2 jump,
                                                             3 indirect call, 4 call, 5 return, 8 to 15 other */
/* upmu's bit: the branch was predicted right; if MISPREDICTED is 0, too, the hardware does not know */
#define UPMU_BRANCH_INFO_PREDICTED (UINT64_C(1) << 55)
/* AMD: 1 speculative, on the wrong path; 2 not speculative; 3 speculative, on the right path */
#define UPMU_BRANCH_INFO_SPECULATION (UINT64_C(3) << 52)
/* architectural LBR: four counts of events, 2 bits each */
#define UPMU_BRANCH_INFO_COUNTS (UINT64_C(0xff) << 32)
#define UPMU_BRANCH_INFO_CYCLES UINT64_C(0xffff)          /* cycles since the branch before; stops at ffffh */

/* Branches to record: bits of upmu_branch_filter.record.  If neither USER nor KERNEL is set, both are recorded; if no
   kind (ANY to IND_JUMP) is set, all kinds are. */
#define UPMU_BRANCH_USER (1u << 0)     /* branches with both ends in user mode */
#define UPMU_BRANCH_KERNEL (1u << 1)   /* branches with an end in the kernel; a filter register may leave out exits */
#define UPMU_BRANCH_ANY (1u << 2)      /* branches of every kind */
#define UPMU_BRANCH_CALL (1u << 3)     /* direct near calls */
#define UPMU_BRANCH_IND_CALL (1u << 4) /* indirect near calls */
#define UPMU_BRANCH_RETURN (1u << 5)   /* near returns */
#define UPMU_BRANCH_COND (1u << 6)     /* conditional jumps */
#define UPMU_BRANCH_IND_JUMP (1u << 7) /* indirect near jumps */
/* `info` of each entry is 0; where info has registers of its own, a third of the reads is saved */
#define UPMU_BRANCH_NO_INFO (1u << 8)
#define UPMU_BRANCH_TAKE (1u << 9)     /* start also if other software records or filters branches;
                                          upmu_branches_stop() restores the registers of that software */

/* The filter of a branch stack. */
struct upmu_branch_filter {
    uint32_t record;      /* bits UPMU_BRANCH_USER to UPMU_BRANCH_TAKE: the branches to record, and how */
    uint64_t kernel_from; /* the kernel is at this address and all above it; 0: at addresses with bit 63 set */
};

/* The abilities of a PMU to record branches (upmu_branches_facts()). */
struct upmu_branch_facts {
    unsigned depth;  /* number of entries of the stack; 0: there is no stack, or UPMU_BRANCHES is 0 */
    uint32_t record; /* UPMU_BRANCH_… bits that upmu_branches_start() accepts */
    uint64_t info;   /* bits of upmu_branch.info that the hardware gives */
};

/* Return the abilities of a PMU to record branches.  Context: any. */
struct upmu_branch_facts upmu_branches_facts(const struct upmu_pmu *pmu);

/*
 * Clear the stack and record from now on.  The first start on a CPU makes a branch of its own and looks for its entry,
 * so that hardware or a hypervisor that records nothing is refused.  Where no register filters by user and kernel mode
 * (Core 2, Bonnell), or two hyper-threads share that register (Nehalem, Westmere), upmu_branches_read() drops the
 * entries that the filter excludes.
 *
 * Accesses, with n entries: Intel and AMD n + 2 W + 3 R (of these 1 W + 1 R are for the filter register, where there is
 * one; Broadwell and Skylake with Processor Trace: 1 R more); Intel architectural 2 W + 2 R.  The first start: n + 3 W
 * + 5 R more, at most; architectural 3 W + 2 R.
 *
 * `why` may be NULL.
 * Returns UPMU_OK; UPMU_ERR_INVALID (an unknown bit in filter->record); UPMU_ERR_UNSUPPORTED (no branch records, not
 * this filter, a stack that records nothing, or a hypervisor where faults are not safe); UPMU_ERR_STATE (started
 * already, other software uses the registers, or Processor Trace runs); UPMU_ERR_NO_PMU (not initialised, or
 * suspended); UPMU_ERR_PORT (why->address faulted); UPMU_ERR_BUSY; UPMU_ERR_WRONG_CPU; UPMU_ERR_COMPILED_OUT.  For
 * UPMU_ERR_UNSUPPORTED and UPMU_ERR_STATE why->word is the reason.  After an error the control and filter registers are
 * as they were found, as far as they can be written, so that what recorded before records on; entries may have been
 * cleared.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_branches_start(struct upmu_cpu *cpu, const struct upmu_branch_filter *filter,
                                     struct upmu_why *why);

/*
 * Stop recording, and restore the control and filter registers as the start found them; the entries stay in their
 * registers.  Cost: 2 W + 1 R at most, and one write more for each register that UPMU_BRANCH_TAKE took from other
 * software.  A filter that hyper-threads share (Nehalem, Westmere) is restored by the last CPU of the core's domain
 * that stops (upmu/cpu.h); a CPU without a domain counts as alone.  upmu_cpu_suspend() and upmu_cpu_fini() stop a stack
 * and do not start it again; upmu_cpu_changed() does not touch it.
 *
 * Returns UPMU_OK, also if the stack was not started; UPMU_ERR_PORT (the stack counts as stopped); UPMU_ERR_NO_PMU,
 * UPMU_ERR_BUSY, UPMU_ERR_WRONG_CPU; UPMU_ERR_COMPILED_OUT.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_branches_stop(struct upmu_cpu *cpu);

/*
 * Copy the newest branches of the executing CPU to `out`, the newest first.  At most `room` branches are copied;
 * *out_count is their number.  A read begins by switching recording off, and ends by switching it on, unless the stack
 * is frozen or this read has interrupted another read.  The newest entries are the branches that lead into this call:
 * the call itself, and three branches more where hooks are functions, so that a stack of 4 has no others.  Freeze the
 * stack earlier, or use UPMU_PORT_STATIC.  Haswell records an abort twice: the newer entry is dropped, unless `room`
 * ends before the older one.
 *
 * Accesses, with n branches in the stack: Intel 2 W + 3 R + 2 n R, from Skylake on 3 n R in place of 2 n R; Intel
 * architectural 2 W + 3 n R; AMD 2 W + 2 R + 2 n R.  On Intel an empty entry ends the read early.
 *
 * `cpu` must be the executing CPU: this is not checked.
 * Returns UPMU_OK; UPMU_ERR_STATE (not started); UPMU_ERR_PORT (a register faulted; the *out_count branches that were
 * read before are in `out`); UPMU_ERR_COMPILED_OUT.
 * Context: local, nmi, fault handlers, a panic.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_branches_read(struct upmu_cpu *cpu, struct upmu_branch *out, unsigned room, unsigned *out_count);

/*
 * Stop recording and keep the entries, until upmu_branches_resume() or upmu_branches_stop().  A resume in an NMI that
 * interrupts this call does not end it.  At most 1 R + 1 W (Intel architectural: 1 W).  Where the stack has few
 * entries, call it as the first thing in the host's entry for a fault.
 *
 * `cpu` must be the executing CPU: this is not checked.
 * Returns UPMU_OK; UPMU_ERR_STATE (not started); UPMU_ERR_PORT; UPMU_ERR_COMPILED_OUT.
 * Context: local, nmi, fault handlers, a panic.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_branches_freeze(struct upmu_cpu *cpu);

/*
 * Continue recording after upmu_branches_freeze().  Cost, return values and context: as upmu_branches_freeze().  If the
 * sessions that had the frozen stack have stopped, the freeze ends, and the result is UPMU_ERR_STATE.  If others have
 * started, or another thread runs, the stack is cleared: that costs as much as the start of a session with branches.
 * In an NMI that has interrupted a local call, the end of that call does it, and the stack stays off until then; in
 * one that has interrupted upmu_pmi_handle(), the next local call may be the first that does.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_branches_resume(struct upmu_cpu *cpu);

/*
 * Lend the branch stack of the executing CPU to sessions that sample (upmu_session_branches()); `use` NULL: take it
 * back.  use->record is 0 or UPMU_BRANCH_TAKE, use->kernel_from as for a start.  The stack is tried as by a first
 * upmu_branches_start(), and then off: it records while sessions that want branches run.  Then upmu_branches_read(),
 * _freeze() and _resume() work, too; samples that come between a freeze and the resume have no branches.  Frozen
 * entries stay, whatever sessions do, until the resume, upmu_cpu_changed() or a sleep, or until the stack is taken
 * back.
 * upmu_branches_start() is refused until the stack is taken back.  upmu_cpu_fini() takes it back.  After a sleep
 * (upmu_cpu_suspend()) sessions have it again.
 *
 * Where the hardware can, an interrupt freezes the stack (bit 11 of IA32_DEBUGCTL), so that samples have no branches of
 * the host's handler.
 *
 * Accesses: those of a first upmu_branches_start(), and 1 W + 1 R; to take it back those of upmu_branches_stop(), and 2
 * W + 1 R at most.
 * `why` may be NULL.
 * Returns UPMU_OK; UPMU_ERR_STATE (the stack is lent, or was started; other software uses the registers; Processor
 * Trace runs; the hardware changes worlds, upmu_cpu_world_by_hardware(); or it is taken back while sessions record
 * branches); else as upmu_branches_start().
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_use_branches(struct upmu_cpu *cpu, const struct upmu_branch_filter *use,
                                       struct upmu_why *why);

/*
 * Choose the branches that the samples of a detached session have: `record` as in upmu_branch_filter, without
 * UPMU_BRANCH_TAKE; 0, as after upmu_session_init(): none.  Each sampled event then has records of its own, and
 * upmu_record.branch has the last branches before its overflow (UPMU_PART_BRANCHES in upmu_record.parts); a format of
 * the host finds them in upmu_overflow.branch.  A sample without a frame of its interrupt has none, but for those of
 * records that have branches themselves (docs/PRECISE.md, "Branches").
 *
 * The session counts in the host alone (UPMU_WORLD_HOST).  On a CPU one filter is in use at a time: sessions with
 * another one do not fit beside it (UPMU_ERR_DOES_NOT_FIT, or they wait).  A set without an event that samples needs no
 * stack, and excludes no other session.  Of a session that hides the kernel at its start (upmu_session_hide_kernel())
 * UPMU_BRANCH_KERNEL has no effect; if it hides the kernel later, its samples have no branches.  upmu_thread_switch()
 * clears the stack, so that no sample has branches of another thread.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (not detached); UPMU_ERR_INVALID (an unknown bit); UPMU_ERR_NO_PMU (no CPU was ever
 * initialised); UPMU_ERR_HOOK_MISSING (no CPU lends its stack, upmu_cpu_use_branches()); UPMU_ERR_UNSUPPORTED (the PMU
 * cannot record this, or the session counts guests; why->word is the reason); UPMU_ERR_COMPILED_OUT.  A start on a CPU
 * that does not lend its stack is refused with UPMU_ERR_HOOK_MISSING.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_branches(struct upmu_session *session, uint32_t record);

/*
 * End what upmu lets the executing CPU record by itself, before another kernel or a dump takes over: branches, and
 * precise samples, which the hardware writes to memory (upmu/precise.h).  The call makes one write for branches and
 * three for precise samples, and takes no lock; it reads one register if the host has reserved counters.  It restores
 * no filter, and on Intel clears the bits of other software in IA32_DEBUGCTL, IA32_PEBS_ENABLE and IA32_DS_AREA, too.
 * After this call no call but upmu_cpu_init() is allowed for this CPU.
 *
 * Context: nmi, a panic.
 */
void upmu_records_emergency(struct upmu_cpu *cpu);

#ifdef __cplusplus
}
#endif

#endif
