/* SPDX-License-Identifier: MIT */
/*
 * Further calls for CPUs, besides those of upmu/upmu.h: sleep, changes by other software, counters of the host and of
 * the firmware, registers that CPUs share.
 *
 * Fields of struct upmu_cpu that may be read: meter.pmu (NULL: the CPU has no PMU, or is not initialised; not NULL
 * after UPMU_ERR_NO_PMU: the PMU ignores writes); meter.bank.accesses and meter.bank.handler_accesses, the numbers of
 * register accesses by calls and by upmu_pmi_handle().
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

/* The owner of a counter: what the counter is used by. */
enum upmu_owner {
    UPMU_OWNER_FREE = 0,
    UPMU_OWNER_OURS = 1,     /* a session that is attached to the CPU has the counter, running or stopped */
    UPMU_OWNER_FIRMWARE = 2, /* the counter was in use at take-over, and is left alone */
    UPMU_OWNER_WATCHDOG = 3, /* the host has reserved the counter by upmu_cpu_reserve() */
    UPMU_OWNER_FOREIGN = 4,  /* other software began to use it after take-over: a register was changed, or is in use */
    UPMU_OWNER_ABSENT = 5    /* the CPU has no such counter, or is not initialised */
};

/*
 * Initialise a domain, which stands for what several CPUs share.  Call it once for each core, module or node (`scope`),
 * before the first of its CPUs is initialised.
 *
 * Context: any.
 */
void upmu_domain_init(struct upmu_domain *domain, enum upmu_scope scope);

/*
 * End the use of a CPU and restore the registers as upmu_cpu_init() found them.  Sessions of the CPU are detached.
 * Sessions of threads stay attached to their threads and leave the CPU.  Units that the CPU drives are handed to
 * another CPU; if none can drive them, their sessions are suspended.
 *
 * Returns UPMU_OK (also if the CPU is not initialised); UPMU_ERR_PORT (all other registers were restored.  Do not free
 * memory for precise records: the hardware may have its address.  Another upmu_cpu_fini(), and an upmu_cpu_init(), try
 * to take it back; UPMU_OK says that the hardware has it no more); UPMU_ERR_BUSY, UPMU_ERR_WRONG_CPU (the CPU is as it
 * was, but some of its units may have been handed over).
 * Context: local.
 */
enum upmu_status upmu_cpu_fini(struct upmu_cpu *cpu);

/*
 * Stop the PMU of the executing CPU and make it as empty as after reset, whatever a firmware, a former kernel or a
 * driver has left.  Each register of the PMU's table (upmu_pmu.table) that can be written gets 0, in the order gates,
 * selects and control, payload, auxiliary registers, counters; then overflows are acknowledged.  So no counter runs,
 * interrupts, is reloaded at an overflow or writes records to memory, and no branch trace (BTS) does.  On P6 and Core
 * Duo a select becomes 2Eh, an event that counts nothing; in a register with inverted bits, as mcountinhibit of RISC-V,
 * these bits become 1.
 *
 * Left as they are: counters that the host has reserved, and the registers that these need; bits that do not belong to
 * the PMU (others of IA32_DEBUGCTL, mcycle and minstret); registers that another initialised CPU of a domain shares;
 * registers that CPUID does not promise, if upmu_port.msr_faults_are_safe is false; branch records and their filters,
 * IA32_DS_AREA, the entry of the local APIC, the right of user mode to read counters; units outside the cores
 * (upmu/unit.h).
 *
 * The CPU need not be initialised.  If it is not, `cpu` is zeroed memory, or was ended by upmu_cpu_fini(), and
 * `machine` and `domains` are as for upmu_cpu_init(), which may follow.  Call it so where upmu_cpu_init() fails because
 * a register cannot be read, or finds counters in use by software that no longer runs.  If the CPU is initialised,
 * `machine` is its own and `domains` is not used: counters of the firmware and of other software are free afterwards,
 * stopped sessions stay attached and keep their counts, and upmu_cpu_fini() and upmu_cpu_suspend() leave the registers
 * cleared.  Only one CPU at a time may be cleared.
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
 * Suspend the PMU of a CPU.  Call it before the registers lose their contents (sleep, offline).  All running counters
 * are folded, the registers are restored as found at take-over, and the shadow is cleared.  Sessions stay attached;
 * sessions that ran continue after upmu_cpu_resume().  If a thread leaves the CPU meanwhile, its sessions wait and
 * continue where the thread runs next.
 *
 * Returns UPMU_OK (also if the CPU is not initialised or suspended already); UPMU_ERR_PORT (suspended all the same);
 * UPMU_ERR_BUSY, UPMU_ERR_WRONG_CPU (the CPU runs on as it was, but some of its units may have been handed over);
 * UPMU_ERR_COMPILED_OUT.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_suspend(struct upmu_cpu *cpu);

/*
 * Continue after upmu_cpu_suspend(): take the PMU over as upmu_cpu_init() does, then start the sessions again that ran.
 * If the take-over fails (UPMU_ERR_NO_PMU, UPMU_ERR_PORT), the registers are restored and the CPU stays suspended: call
 * again to try once more.
 *
 * Returns UPMU_OK (also if the CPU was not suspended); UPMU_ERR_NO_PMU (also if it is not initialised); UPMU_ERR_PORT;
 * UPMU_ERR_BUSY; UPMU_ERR_WRONG_CPU; UPMU_ERR_COMPILED_OUT; those of upmu_session_start() if a session could not be
 * started again (UPMU_ERR_DOES_NOT_FIT: counters were reserved meanwhile): it is stopped with its `error` set, and
 * other sessions run.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_resume(struct upmu_cpu *cpu);

/*
 * Load all registers of a CPU anew, and those of the units that it drives.  Call it after other software has changed
 * registers (a world switch, a microcode update, firmware).  Shadows are cleared and running sessions are loaded again.
 * Events counted since the last fold of a running counter (upmu_cpu_poll(), an interrupt) are lost: the counts of
 * affected sessions become UPMU_QUALITY_PARTIAL.  Each session continues on the same counters, whatever sessions other
 * CPUs of a domain have started meanwhile.
 *
 * Returns UPMU_OK; UPMU_ERR_PORT; UPMU_ERR_BUSY; UPMU_ERR_WRONG_CPU; UPMU_ERR_NO_PMU (not
 * initialised, or suspended); UPMU_ERR_COMPILED_OUT.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_changed(struct upmu_cpu *cpu);

/*
 * Read the registers of a CPU, and of the units that it drives, and compare all bits that upmu owns with the shadow.
 * The comparison of a PMU ends at the first register that differs; if that register belongs to a counter that does not
 * run, the counter becomes UPMU_OWNER_FOREIGN, but in a build without UPMU_FIRMWARE.  Units are compared only if no
 * register of the CPU differs.  To find all changes, repeat the call until it no longer returns UPMU_ERR_CHANGED.
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
 * Give a CPU a work area for placements (struct upmu_place_work of upmu/place.h, 4 KiB, another one for each CPU).
 * With a work area no call needs more than 3 KiB of stack, without it 8 KiB (docs/PORTING.md, "Stack").  Calls on this
 * CPU use the area with interrupts off; a handler never uses it.
 *
 * `work` must stay until upmu_cpu_fini() or the next call with another area or NULL.  The contents are not kept between
 * calls.
 * Returns UPMU_OK; UPMU_ERR_NO_PMU (not initialised, or no PMU); UPMU_ERR_BUSY; UPMU_ERR_WRONG_CPU.
 * On error nothing was changed.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_use_work(struct upmu_cpu *cpu, struct upmu_place_work *work);

/*
 * Fold the running counters of a CPU that only count, and the counters of the units that it drives; let throttled
 * counters sample again; handle overflows of sampling counters whose interrupt was lost.  upmu_cpu_tick() does the same
 * for the CPU's counters, every 16th time.  On a port without pmi_rearm a fold is needed at least once in the time in
 * which a counter can pass half its range (32 bits on P6; with 40 bits at 4 GHz every two minutes).  On every other
 * port call it, or upmu_cpu_tick(), from the host's clock tick, and at least as often: on PMUs without a status
 * register (Intel's before architectural version 2, NetBurst, K7, K8, and AMD before PerfMonV2) a wrap of a counter
 * that only counts cannot be seen later, and the events of a whole round of the counter are in no count.
 *
 * Returns UPMU_OK (also if the CPU is not initialised); UPMU_ERR_PORT; UPMU_ERR_BUSY;
 * UPMU_ERR_WRONG_CPU.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_poll(struct upmu_cpu *cpu);

/*
 * Return the owner of a counter of a CPU.  In a build without UPMU_FIRMWARE it is UPMU_OWNER_FREE, UPMU_OWNER_OURS or
 * UPMU_OWNER_ABSENT.
 *
 * Context: any.
 */
enum upmu_owner upmu_cpu_owner(const struct upmu_cpu *cpu, unsigned counter);

/*
 * Reserve the counters of the mask `counters` for the host (a watchdog).  Reserve counters before you program them.
 * Counters that stopped sessions had loaded, or that static sessions left running, are made idle.  A counter that two
 * CPUs share must be reserved on both CPUs.  Sessions, also static ones, close it when they leave it; a shared counter
 * that runs at the call is left as it is.  After the call upmu leaves the registers of these counters as they are, also
 * in upmu_cpu_suspend() and upmu_cpu_fini().  A register with bits of reserved and of other counters
 * (IA32_PERF_GLOBAL_CTRL, the control of fixed counters) is read before each write: one register read more, in the
 * handler, too.  You may enable and disable your counters at any time except in an NMI.  On P6 bit 22 of select 0
 * enables both counters: with counter 0 reserved, leave this bit set while sessions run; with counter 1 reserved, upmu
 * leaves it set.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (a running session uses one of them); UPMU_ERR_NO_PMU (not
 * initialised); UPMU_ERR_PORT; UPMU_ERR_BUSY; UPMU_ERR_WRONG_CPU; UPMU_ERR_COMPILED_OUT.  On error
 * nothing is reserved.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_reserve(struct upmu_cpu *cpu, uint32_t counters);

/*
 * End the reservation of the counters of a mask, so that sessions may use them.  Close these counters before the call
 * (on NetBurst by the enable bit of the CCCR: the ESCR is restored as it was found, and would let the counter run
 * again).  Counters of the mask that are not reserved are ignored.  A counter that does not run at this call does not
 * run after upmu_cpu_suspend() and upmu_cpu_fini(), either: where the registers as found would let it run, its enable
 * bit stays clear.  Records and reloads (IA32_PEBS_ENABLE, CFG_B and CFG_C) that you have ended are not begun again.
 * In a build without UPMU_FIRMWARE nothing is done.
 *
 * Context: local; inside another local call nothing is done.
 */
void upmu_cpu_unreserve(struct upmu_cpu *cpu, uint32_t counters);

/*
 * Declare that the firmware no longer needs its counters: counters found in use at take-over are closed and become
 * free, except those that the host has reserved.  Two kinds of counters were found in use although they do not run:
 * counters for which a former kernel left PEBS enabled, because their overflows would write records to its memory; and
 * counters that are reloaded at an overflow (auto counter reload).  This call disables both features, and a branch
 * trace to memory (BTS) that a former kernel left on and upmu_cpu_init() logged (Intel from Core 2 on).  On NetBurst,
 * where one of these counters is reserved, and where a register faults, these two kinds stay the firmware's.
 * upmu_cpu_fini() still restores the registers as found.  In a build without UPMU_FIRMWARE nothing is done:
 * upmu_cpu_init() has taken these counters.
 *
 * Context: local; inside another local call, and while the CPU is suspended, nothing is done.
 */
void upmu_cpu_take_firmware(struct upmu_cpu *cpu);

/* Return an owner in words: "free", "firmware"; "unknown" for other values.  The text is constant.  Context: any. */
const char *upmu_owner_text(enum upmu_owner owner);

#ifdef __cplusplus
}
#endif

#endif
