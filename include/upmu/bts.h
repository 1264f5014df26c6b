/* SPDX-License-Identifier: MIT */
/*
 * Traces of branches in memory (Intel's branch trace store, BTS): the hardware stores each taken branch, with source
 * and target, into memory of the host, the newest over the oldest.  After the end of the trace the host has the last
 * thousands of branches, where the branch stack (upmu/branches.h) has 4 to 32.  No session and no interrupt is needed.
 * A traced CPU is slower by a factor of 10 to 40: each branch is a store.
 *
 * Intel from Core 2 on, where CPUID has DS and DTES64 and IA32_MISC_ENABLE[11] is 0.  The branch stack, Processor Trace
 * and a trace exclude each other.  The trace was run on the silicon model only, not on silicon.
 *
 * THE HARDWARE WRITES TO THE MEMORY THAT A REGISTER NAMES.  Until the trace has ended, the memory must be mapped at the
 * same linear addresses whatever the CPU executes, user mode included: also in page tables that hide the kernel from
 * programs.  It must not be paged out, protected against writes, or freed.
 */
#ifndef UPMU_BTS_H
#define UPMU_BTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/branches.h>
#include <upmu/private/bts.h>
#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of an entry in memory, and sizes of the memory for entries. */
#define UPMU_BTS_ENTRY_BYTES 24u
#define UPMU_BTS_LEAST_BYTES 4096u
#define UPMU_BTS_MOST_BYTES (1u << 24)

/*
 * A trace of one CPU.  Zero the structure, and fill in the members before `state`.  The structure and the memory must
 * stay until the trace has ended: until upmu_bts_stop(), upmu_cpu_fini() or upmu_cpu_suspend() has returned UPMU_OK.
 */
struct upmu_bts {
    void *entries;           /* memory for entries, as the library accesses it; begins at a multiple of 4096 */
    uint64_t entries_linear; /* its linear address, as the hardware accesses it */
    size_t entry_bytes;      /* UPMU_BTS_LEAST_BYTES to UPMU_BTS_MOST_BYTES, a multiple of 4096 */
    /* 4096 bytes for the debug store area; NULL if upmu_cpu_use_records() has given the CPU one */
    void *area;
    uint64_t area_linear;        /* its linear address */
    uint32_t record;             /* UPMU_BRANCH_USER, UPMU_BRANCH_KERNEL; 0: both */
    uint64_t kernel_from;        /* the kernel is at this address and all above it; 0: at addresses with bit 63 set */
    struct upmu_bts_state state; /* the library's */
};

/*
 * Begin to trace the executing CPU.  Where the CPU has DS-CPL (CPUID.1:ECX[4]) the hardware leaves out branches of the
 * mode that is not wanted; upmu_bts_next() drops those that are left.  While a guest runs nothing is traced, if the
 * hypervisor calls upmu_cpu_enter_guest() and upmu_cpu_leave_guest() (upmu/world.h): it has to.
 *
 * Accesses: 3 W + 5 R at most.
 * `why` may be NULL.
 * Returns UPMU_OK; UPMU_ERR_INVALID (addresses that are not aligned or not canonical, the size, parts that overlap, an
 * unknown bit in `record`, an area beside that of the records, or none); UPMU_ERR_UNSUPPORTED (no such traces, or a
 * hypervisor drops the registers); UPMU_ERR_STATE (a trace runs, the branch stack is started or lent to sessions,
 * Processor Trace runs, the hardware changes worlds by itself, a guest runs, or other software traces: see
 * upmu_cpu_take_firmware()); UPMU_ERR_NO_PMU (not initialised, or suspended); UPMU_ERR_PORT (a register faulted: call
 * upmu_bts_stop() before the memory is freed); UPMU_ERR_BUSY; UPMU_ERR_WRONG_CPU; UPMU_ERR_COMPILED_OUT.  For
 * UPMU_ERR_UNSUPPORTED and UPMU_ERR_STATE why->word is the reason.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_bts_start(struct upmu_cpu *cpu, struct upmu_bts *bts, struct upmu_why *why);

/*
 * End a trace: its branches can be taken by upmu_bts_next().  upmu_cpu_suspend(), upmu_cpu_changed() and
 * upmu_cpu_fini() end it, too, and it does not begin again.  Cost: 2 W + 1 R at most.
 *
 * Returns UPMU_OK, also if the trace does not run; UPMU_ERR_PORT (a register faulted twice: the hardware may store into
 * the memory still, so do not free it before another call returns UPMU_OK); UPMU_ERR_NO_PMU (the CPU has no PMU);
 * UPMU_ERR_BUSY; UPMU_ERR_WRONG_CPU; UPMU_ERR_COMPILED_OUT.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_bts_stop(struct upmu_cpu *cpu, struct upmu_bts *bts);

/*
 * Take the oldest branch out of a trace that has ended.  `info` has UPMU_BRANCH_INFO_PREDICTED or nothing.  Returns
 * false where no branch is left, or the trace runs.  After upmu_records_emergency() it works, too, with what the
 * hardware has stored until then.
 * Context: any; one reader at a time.
 */
bool upmu_bts_next(struct upmu_bts *bts, struct upmu_branch *out_branch);

#ifdef __cplusplus
}
#endif

#endif
