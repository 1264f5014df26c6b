/* SPDX-License-Identifier: MIT */
/*
 * CPUs beyond upmu/upmu.h: sleep, other software's changes, counters of the host and of the firmware, what CPUs share.
 *
 * Fields of struct upmu_cpu to read: meter.pmu (NULL: the CPU has no PMU); meter.bank.accesses and .handler_accesses,
 * the numbers of register accesses by calls and by upmu_pmi_handle().
 */
#ifndef UPMU_CPU_H
#define UPMU_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/upmu.h>
#include <upmu/pmu.h>
#include <upmu/private/domain.h>

#ifdef __cplusplus
extern "C" {
#endif

struct upmu_place_work;

/* The owner of a counter. */
enum upmu_owner {
    UPMU_OWNER_FREE = 0,
    UPMU_OWNER_OURS = 1,     /* a session of upmu */
    UPMU_OWNER_FIRMWARE = 2, /* in use at take-over; left running */
    UPMU_OWNER_WATCHDOG = 3, /* reserved by upmu_cpu_reserve() */
    UPMU_OWNER_FOREIGN = 4,  /* used by other software since: its register was found changed, or in use */
    UPMU_OWNER_ABSENT = 5    /* no such counter */
};

/*
 * Initialise a domain: what several CPUs share.  Call it once per core, module or node, before the
 * first of its CPUs is initialised.
 *
 * Context: any.
 */
void upmu_domain_init(struct upmu_domain *domain, enum upmu_scope scope);

/*
 * End the use of a CPU and restore the registers as upmu_cpu_init() found them. Sessions of the CPU are detached;
 * sessions of threads stay attached and leave the CPU; units that the CPU drives go to another CPU, or sleep.
 *
 * Returns UPMU_OK (also if the CPU is not initialised); UPMU_ERR_PORT (all other registers were restored);
 * UPMU_ERR_BUSY, UPMU_ERR_WRONG_CPU (the CPU is unchanged).
 * Context: local.
 */
enum upmu_status upmu_cpu_fini(struct upmu_cpu *cpu);

/*
 * Stop the PMU of the executing CPU and make it as empty as after reset, whatever a firmware, a former kernel or a
 * driver has left: each register of the PMU's table (upmu_pmu.table) that can be written gets 0, in the order gates,
 * selects and control, payload, auxiliary registers, counters; then overflows are acknowledged.  So no counter runs,
 * interrupts, is loaded anew or writes records to memory, and no branch trace (BTS) does.  (On P6 and Core Duo a select
 * becomes 2Eh, an event that counts nothing; a register with inverted bits, as mcountinhibit of RISC-V, gets ones.)
 *
 * Left as they are: counters that the host has reserved, and what they need; bits that are not the PMU's (the others of
 * IA32_DEBUGCTL, mcycle and minstret); registers that another initialised CPU of a domain sees, too; registers that
 * CPUID does not promise, if upmu_port.msr_faults_are_safe is 0; branch records and their filters, IA32_DS_AREA, the
 * entry of the local APIC, user mode's right to read; units outside the cores (upmu/unit.h).
 *
 * The CPU need not be initialised: then `cpu` is zeroed, or was ended by upmu_cpu_fini(), and `machine` and `domains`
 * are as for upmu_cpu_init(), which may follow.  Call it so where upmu_cpu_init() fails because a register cannot be
 * read, or finds counters in use by software that is dead.  Else `machine` is the CPU's own, and `domains` is not
 * looked at: counters of the firmware and of other software are free afterwards, stopped sessions stay attached and
 * keep their counts, and upmu_cpu_fini() and upmu_cpu_suspend() leave the registers cleared.  One CPU at a time.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (a session or an IBS unit runs here: nothing was done); UPMU_ERR_PORT (a register
 * faulted, the first one is machine->why.address; all others were cleared); UPMU_ERR_NO_PMU, UPMU_ERR_NO_SPACE (as
 * upmu_cpu_init(), whose check for writes that are ignored is not made); UPMU_ERR_BUSY, UPMU_ERR_WRONG_CPU;
 * UPMU_ERR_COMPILED_OUT.  machine->why has the reason.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_clear(struct upmu_cpu *cpu, struct upmu_machine *machine, struct upmu_domain *const *domains);

/*
 * Call it before the registers lose their contents (sleep, offline).  It folds all counts, restores
 * the registers as found at take-over and clears the shadow.  Sessions stay attached; sessions that
 * ran continue after upmu_cpu_resume().  If a thread leaves the CPU meanwhile, its sessions wait
 * and continue where the thread runs next.
 *
 * Returns UPMU_OK (also if the CPU is not initialised or suspended already); UPMU_ERR_PORT
 * (suspended all the same); UPMU_ERR_BUSY, UPMU_ERR_WRONG_CPU (nothing was done).
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_suspend(struct upmu_cpu *cpu);

/*
 * Continue after upmu_cpu_suspend(): the same take-over as upmu_cpu_init(), then sessions that ran
 * are loaded again.  If the take-over fails (UPMU_ERR_NO_PMU, UPMU_ERR_PORT), the CPU sleeps on, and its
 * registers are restored: the next call begins anew.
 *
 * Returns UPMU_OK (also if the CPU was not suspended); UPMU_ERR_NO_PMU; UPMU_ERR_PORT;
 * UPMU_ERR_DOES_NOT_FIT (counters were reserved meanwhile); UPMU_ERR_BUSY; UPMU_ERR_WRONG_CPU.  A
 * session that could not be started again is stopped with its `error` set; other sessions run.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_resume(struct upmu_cpu *cpu);

/*
 * Call it after other software changed registers (a world switch, a microcode update, firmware).
 * Shadows are cleared and running sessions are loaded again.  Events counted since the last fold of
 * a running counter (upmu_cpu_poll(), an interrupt) are lost: the counts of affected sessions
 * become UPMU_QUALITY_PARTIAL.  Each session continues on its counters, whatever other CPUs started
 * meanwhile.
 *
 * Returns UPMU_OK; UPMU_ERR_PORT; UPMU_ERR_BUSY; UPMU_ERR_WRONG_CPU; UPMU_ERR_NO_PMU (not
 * initialised, or suspended).
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_changed(struct upmu_cpu *cpu);

/*
 * Read all bits that upmu owns and compare them with the shadow.  A counter whose own register
 * differs becomes UPMU_OWNER_FOREIGN, unless it runs.
 *
 * `why` may be NULL.
 * Returns UPMU_OK (also if the CPU is not initialised); UPMU_ERR_CHANGED (why->address is the first
 * register that differs); UPMU_ERR_PORT (why->address faulted); UPMU_ERR_BUSY (also if handlers of
 * overflows disturb it again and again); UPMU_ERR_WRONG_CPU.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_verify(struct upmu_cpu *cpu, struct upmu_why *why);

/*
 * Lend a CPU a work area for placements (struct upmu_place_work of upmu/place.h, 4 KiB, one for
 * each CPU).  With it no call needs more than 3 KiB of stack, without it 8 KiB (docs/PORTING.md,
 * "Stack").  Calls on this CPU use it with interrupts off; a handler never does.
 *
 * `work` must stay until upmu_cpu_fini() or the next call with another area or NULL; its contents
 * are not kept between calls.
 * Returns UPMU_OK; UPMU_ERR_NO_PMU (not initialised, or no PMU); UPMU_ERR_BUSY; UPMU_ERR_WRONG_CPU.
 * On error nothing was changed.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_use_work(struct upmu_cpu *cpu, struct upmu_place_work *work);

/*
 * Fold the running counters of this CPU into their 64-bit counts, and let throttled counters sample
 * again.  On a port without pmi_rearm call it at least once within half a counter's range (32 bits
 * on P6; with 40 bits at 4 GHz every two minutes).  On every other port call it, too, from the host's
 * clock tick, and at least once within half a counter's range: where the PMU has no status register (K7,
 * K8, and AMD before PerfMonV2) a counter that only counts does not tell of its wrap, and a whole round
 * without a poll is in no count.
 *
 * Returns UPMU_OK (also if the CPU is not initialised); UPMU_ERR_PORT; UPMU_ERR_BUSY;
 * UPMU_ERR_WRONG_CPU.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_poll(struct upmu_cpu *cpu);

/*
 * The owner of a counter of this CPU; UPMU_OWNER_ABSENT where there is no such counter.
 *
 * Context: any.
 */
enum upmu_owner upmu_cpu_owner(const struct upmu_cpu *cpu, unsigned counter);

/*
 * Keep counters for the host (a watchdog).  `counters` is a mask.  Reserve first, then program.
 * Counters that stopped sessions had loaded, or that static sessions left running, are made idle.
 * (Counters that two CPUs share must be reserved on both; they are closed.)  After that upmu leaves
 * their registers as they are, also in upmu_cpu_suspend() and upmu_cpu_fini().  A register with
 * bits of reserved and of other counters (IA32_PERF_GLOBAL_CTRL, the control of fixed counters) is
 * read before each write: 1 R more, in the handler, too.  You may enable and disable your counters
 * at any time except in an NMI.  On P6 bit 22 of select 0 enables both counters: with counter 0
 * reserved, leave it set while sessions run; with counter 1 reserved, upmu leaves it set.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (a running session uses one of them); UPMU_ERR_NO_PMU (not
 * initialised); UPMU_ERR_PORT; UPMU_ERR_BUSY; UPMU_ERR_WRONG_CPU.  On error nothing is reserved.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_reserve(struct upmu_cpu *cpu, uint32_t counters);

/*
 * Return reserved counters to sessions; close them first (on NetBurst by the enable bit of the CCCR: the ESCR is
 * restored as it was found, and lets the counter run again).  Others in the mask are ignored.  A counter that returns
 * without running does not run after upmu_cpu_suspend() and upmu_cpu_fini(), either: where the registers as found would
 * let it run, its enable bit stays clear.  Records and reloads (IA32_PEBS_ENABLE, CFG_B and CFG_C) that you have ended
 * are not begun again.  Context: local.
 */
void upmu_cpu_unreserve(struct upmu_cpu *cpu, uint32_t counters);

/*
 * Declare that the firmware no longer needs its counters: counters found in use at take-over become
 * free, except those that the host has reserved.  Two kinds count as in use although they stand
 * still: counters for which a former kernel left PEBS enabled, because their overflows would write
 * records to its memory; and counters that an overflow loads anew (auto counter reload).  This call
 * disables both features, and a branch trace to memory (BTS) that a former kernel left on and upmu_cpu_init() logged
 * (Intel from Core 2 on); on NetBurst, and where one of these counters is reserved, they stay the
 * firmware's.  upmu_cpu_fini() still restores the registers as found.
 *
 * Context: local.
 */
void upmu_cpu_take_firmware(struct upmu_cpu *cpu);

/* An owner in words: "free", "firmware"; constant text, "unknown" for other values.  Context: any. */
const char *upmu_owner_text(enum upmu_owner owner);

#ifdef __cplusplus
}
#endif

#endif
