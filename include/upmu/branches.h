/* SPDX-License-Identifier: MIT */
/*
 * The last branches of a CPU, which the hardware keeps in registers: 4 to 32 taken branches with their source, their
 * target and what is known of them.  A panic handler or a debugger reads them at any moment; there is no session, no
 * interrupt and no memory for it.
 *
 * Intel: LBR from Core 2 on, architectural LBR; AMD: LBR of version 2 (Zen 4 on).  The stack belongs to the host: it is
 * one for all threads and processes of a CPU.  Do not show a program its entries unless the stack was started since
 * that program was switched to.  A guest's branches are recorded as well, where the hypervisor leaves the register that
 * records as it is.
 */
#ifndef UPMU_BRANCHES_H
#define UPMU_BRANCHES_H

#include <stdbool.h>
#include <stdint.h>
#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Entries of a stack, at most. */
#define UPMU_BRANCHES_MOST 64u

/* A taken branch.  Bits of `info` that the hardware does not know are 0 (upmu_branch_facts.info). */
struct upmu_branch {
    uint64_t from, to; /* linear addresses */
    uint64_t info;     /* UPMU_BRANCH_INFO_… */
};

/* Bits of upmu_branch.info, at the places that Intel's IA32_LBR_INFO has. */
#define UPMU_BRANCH_INFO_MISPREDICTED (UINT64_C(1) << 63)
#define UPMU_BRANCH_INFO_TRANSACTION (UINT64_C(1) << 62)  /* in a transaction */
#define UPMU_BRANCH_INFO_ABORT (UINT64_C(1) << 61)        /* of a transaction */
#define UPMU_BRANCH_INFO_CYCLES_VALID (UINT64_C(1) << 60) /* where the hardware says so of each entry */
#define UPMU_BRANCH_INFO_TYPE (UINT64_C(0xf) << 56)       /* 0 conditional, 1 indirect jump, 2 jump, 3 indirect call,
                                                             4 call, 5 return, 8 to 15 other */
#define UPMU_BRANCH_INFO_SPECULATION (UINT64_C(3) << 52)  /* AMD: 1 wrong path, 2 not speculative, 3 the right path */
#define UPMU_BRANCH_INFO_COUNTS (UINT64_C(0xff) << 32)    /* four counts of events, 2 bits each */
#define UPMU_BRANCH_INFO_CYCLES UINT64_C(0xffff)          /* since the branch before, at most so many */

/* Branches to record.  None of the first two: both; none of the kinds: any. */
#define UPMU_BRANCH_USER (1u << 0)     /* both ends in user mode */
#define UPMU_BRANCH_KERNEL (1u << 1)   /* an end in the kernel */
#define UPMU_BRANCH_ANY (1u << 2)      /* every kind */
#define UPMU_BRANCH_CALL (1u << 3)     /* direct near calls */
#define UPMU_BRANCH_IND_CALL (1u << 4) /* indirect near calls */
#define UPMU_BRANCH_RETURN (1u << 5)   /* near returns */
#define UPMU_BRANCH_COND (1u << 6)     /* conditional jumps */
#define UPMU_BRANCH_IND_JUMP (1u << 7) /* indirect near jumps */
#define UPMU_BRANCH_NO_INFO (1u << 8)  /* `info` is 0: a third of the register reads is saved where it has registers */
#define UPMU_BRANCH_TAKE (1u << 9)     /* also if other software records or filters; the stop restores what was found */

/* Branches to record, and whose. */
struct upmu_branch_filter {
    uint32_t record;      /* UPMU_BRANCH_USER to _TAKE */
    uint64_t kernel_from; /* first address of the kernel, which reaches up from there; 0: addresses with bit 63 set */
};

/* The abilities of a PMU to record branches. */
struct upmu_branch_facts {
    unsigned depth;  /* entries; 0: none, or left out by UPMU_BRANCHES=0 */
    uint32_t record; /* UPMU_BRANCH_… that upmu_branches_start() accepts */
    uint64_t info;   /* bits of upmu_branch.info that have a meaning */
};

/* The branch records of a PMU.  Context: any. */
struct upmu_branch_facts upmu_branches_facts(const struct upmu_pmu *pmu);

/*
 * Clear the stack and record from now on.  The first start on a CPU records a branch of its own and looks for it, so
 * that hardware or a hypervisor that records nothing is refused.  Where no register sorts out user and kernel mode
 * (Core 2, Bonnell), or two hyper-threads share it (Nehalem, Westmere), upmu_branches_read() drops entries.
 *
 * Accesses, with n entries: Intel and AMD n + 2 W + 3 R (a register of filters is 1 W + 1 R of them; Broadwell and
 * Skylake with Processor Trace: 1 R more); Intel architectural 2 W + 2 R.  The first start: n + 3 W + 5 R more, at
 * most; architectural 3 W + 2 R.
 *
 * `why` may be NULL.
 * Returns UPMU_OK; UPMU_ERR_INVALID (filter->record); UPMU_ERR_UNSUPPORTED (no branch records, or not this filter:
 * why->word is the reason); UPMU_ERR_STATE (started already, or other software uses the registers: the same);
 * UPMU_ERR_NO_PMU (not initialised, or suspended); UPMU_ERR_PORT (why->address faulted); UPMU_ERR_BUSY;
 * UPMU_ERR_WRONG_CPU; UPMU_ERR_COMPILED_OUT.  On error nothing records, and registers are as they were found.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_branches_start(struct upmu_cpu *cpu, const struct upmu_branch_filter *filter,
                                     struct upmu_why *why);

/*
 * Stop recording, and restore the registers as the start found them; entries stay where they are.  2 W + 1 R at most,
 * and one write for each thing that UPMU_BRANCH_TAKE took.  A filter that hyper-threads share (Nehalem, Westmere) is
 * restored by the last CPU of the core's domain that stops (upmu/cpu.h); a CPU without a domain counts as alone.
 * upmu_cpu_suspend() and upmu_cpu_fini() stop a stack and do not start it again; upmu_cpu_changed() ignores it.
 *
 * Returns UPMU_OK, also if it was not started; UPMU_ERR_PORT (the stack counts as stopped); UPMU_ERR_NO_PMU,
 * UPMU_ERR_BUSY, UPMU_ERR_WRONG_CPU; UPMU_ERR_COMPILED_OUT.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_branches_stop(struct upmu_cpu *cpu);

/*
 * Copy the newest branches of the executing CPU, newest first: at most `room`, *out_count in all.  The first thing that
 * a read does is to stop recording, the last is to continue, unless the stack is frozen or another read was
 * interrupted.  The entries begin with the way here: the call itself, and with hooks that are functions three branches
 * more, so that a stack of 4 is full of them.  Freeze it earlier, or use UPMU_PORT_STATIC.  Haswell records an abort
 * twice; the second entry is dropped where the first one is read, too: not at the end of a small `room`.
 *
 * Accesses, with n branches in the stack: Intel 2 W + 3 R + 2 n R, from Skylake on 3 n; Intel architectural
 * 2 W + 3 n R; AMD 2 W + 2 R + 2 n R.  An empty entry ends a read of Intel's early.
 *
 * `cpu` must be the executing CPU: no hook is called that would tell.
 * Returns UPMU_OK; UPMU_ERR_STATE (not started); UPMU_ERR_PORT (a register faulted: *out_count branches before it are
 * there); UPMU_ERR_COMPILED_OUT.
 * Context: local, nmi, fault handlers, a panic.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_branches_read(struct upmu_cpu *cpu, struct upmu_branch *out, unsigned room, unsigned *out_count);

/*
 * Stop recording and keep the entries, until upmu_branches_resume() or the stop.  At most 1 R + 1 W (Intel
 * architectural: 1 W).  Where entries are few, call it first in the entry of a fault.
 *
 * `cpu` must be the executing CPU.
 * Returns UPMU_OK; UPMU_ERR_STATE (not started); UPMU_ERR_PORT; UPMU_ERR_COMPILED_OUT.
 * Context: local, nmi, fault handlers, a panic.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_branches_freeze(struct upmu_cpu *cpu);

/* Continue after upmu_branches_freeze(); otherwise the same. */
UPMU_MUST_CHECK
enum upmu_status upmu_branches_resume(struct upmu_cpu *cpu);

/*
 * End all recording by the hardware that upmu began on the executing CPU, before another kernel or a dump takes over:
 * one write, no read, no lock, nothing restored.  (Bits of other software in IA32_DEBUGCTL are cleared, too.)  After it
 * no call but upmu_cpu_init() is allowed for this CPU.
 *
 * Context: nmi, a panic.
 */
void upmu_records_emergency(struct upmu_cpu *cpu);

#ifdef __cplusplus
}
#endif

#endif
