/* SPDX-License-Identifier: MIT */
/*
 * The PMU that a hypervisor at EL2 shows one virtual CPU at EL1: PMUv3, of AArch64 and of AArch32.
 *
 * The hypervisor traps the guest's accesses to registers of the PMU (MDCR_EL2.TPM and TPMCR) and passes them on. All
 * that is not about registers is in abi/guest/guest.h: shapes, policies, entries, exits, saving. Of that header an Arm
 * guest has no upmu_guest_cpuid(), rdmsr, wrmsr, rdpmc, lvtpc, lapic, mode, msr_range, msr_bitmap, passes, state_get,
 * state_set, pending and set_pending calls; the calls below stand in their place.
 *
 *     status = upmu_guest_enter(&vcpu->pmu, &entry);
 *     set_ppi(vcpu, 23, entry.irq_level);
 *     reason = run(vcpu);
 *     status = upmu_guest_exit(&vcpu->pmu);
 *     if (reason == TRAPPED_REGISTER) {
 *         answer = upmu_guest_sysreg(&vcpu->pmu, reg, write, from_el0, &value);
 *         if (answer == UPMU_GUEST_DONE) {
 *             skip_instruction(vcpu);
 *             upmu_guest_retired(&vcpu->pmu, 1, 0, from_el0);
 *         }
 *     }
 *
 * What the hypervisor sets while the guest runs: MDCR_EL2.TPM and TPMCR 1, so that each access traps; PMUSERENR_EL0
 * with its bit EN (0) set and no other, so that an access by EL0 traps to EL2 too, and not to the guest's EL1;
 * HCR_EL2.TID3 1, to answer ID registers by upmu_guest_id_register(). The guest's ID registers must show neither EL2
 * nor EL3 (ID_AA64PFR0_EL1): the filter bits of these levels do not exist.
 */
#ifndef UPMU_ABI_GUEST_ARM_H
#define UPMU_ABI_GUEST_ARM_H

#include <abi/guest/guest.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The number of a system register: bits 20:5 of the MRS or MSR that names it. The hooks of upmu's Arm ports use the
 * same numbers.
 */
#define UPMU_GUEST_SYSREG(op0, op1, crn, crm, op2)                                                                     \
    ((uint32_t)(op0) << 14 | (uint32_t)(op1) << 11 | (uint32_t)(crn) << 7 | (uint32_t)(crm) << 3 | (uint32_t)(op2))

/*
 * Answer a trapped access to a register of the PMU. `reg`: a number as UPMU_GUEST_SYSREG() makes it. `from_el0`: the
 * guest executed the MRS or MSR at EL0. A read stores the value in *inout, a write takes it from there. A read of a
 * counter that counts reads its session; a read of the overflow flags reads those of the counters that count and whose
 * flag is not set yet, a write of PMOVSCLR those of the counters that it names, a write of PMCR_EL0 those of the
 * counters for which it changes LC or LP. No other access reaches the hardware: writes take effect at the next entry.
 *
 * Returns UPMU_GUEST_DONE; UPMU_GUEST_FAULT (inject an Undefined Instruction exception to EL1: the register does not
 * exist, is read-only, write-only or not EL0's, or is that of a counter that the shape lacks); UPMU_GUEST_TRAP_EL1 (the
 * guest's PMUSERENR_EL0 does not permit EL0 this access: inject the trap to EL1, exception class 18h with the syndrome
 * of this access); UPMU_GUEST_NOT_OURS (no register of the PMU). *inout is written by a read with DONE alone.
 * Context: local, outside guest mode.
 */
enum upmu_guest_access upmu_guest_sysreg(struct upmu_guest *guest, uint32_t reg, bool write, bool from_el0,
                                         uint64_t *inout);

/*
 * Answer a trapped access to a register of the PMU that AArch32 code of the guest has made: an MRC, MCR, MRRC or MCRR
 * of coprocessor 15. `esr`: bits 31:0 of ESR_EL2, with exception class 03h or 04h; of it Rt, Rt2 and the condition are
 * the hypervisor's, which skips an instruction whose condition does not hold. `from_el0`: the guest was in User mode.
 * *inout is a value of 32 bits; of MRRC and MCRR 64 bits, with Rt in bits 31:0 and Rt2 in bits 63:32.
 *
 * Registers are those of upmu_guest_sysreg(), and so are accesses to the hardware, with these differences: an access
 * of 32 bits reads bits 31:0 of a counter and leaves bits 63:32 as they are; PMCEID2 and PMCEID3 are the upper halves
 * of PMCEID0_EL0 and PMCEID1_EL0 (before PMUv3p1 they are 0). ID_DFR0 is no register of the PMU: use
 * upmu_guest_id_register() with the number UPMU_GUEST_SYSREG(3, 0, 0, 1, 2).
 *
 * Returns as upmu_guest_sysreg(). UPMU_GUEST_FAULT, and UPMU_GUEST_TRAP_EL1 where the guest's EL1 is AArch32: inject an
 * Undefined Instruction exception. UPMU_GUEST_TRAP_EL1 where EL1 is AArch64: inject the trap, with the exception class
 * and the syndrome of `esr`. UPMU_GUEST_NOT_OURS also for every other exception class.
 * Context: local, outside guest mode.
 */
enum upmu_guest_access upmu_guest_cp15(struct upmu_guest *guest, uint32_t esr, bool from_el0, uint64_t *inout);

/*
 * Does the PMU request its interrupt now? The request is a level: it stays until the guest clears the overflow flag,
 * the interrupt enable bit or PMCR_EL0.E. upmu_guest_entry.irq_level has the same at each entry; this call is for a
 * virtual interrupt controller that wants to know the level after an access, too. Overflows of counters that the
 * handler of the host has noted since the last entry are not known yet.
 * Context: local, outside guest mode.
 */
bool upmu_guest_irq_level(const struct upmu_guest *guest);

/*
 * Put the PMU of the shape into the value of an ID register that the hypervisor shows: ID_AA64DFR0_EL1,
 * ID_AA64DFR1_EL1 and ID_DFR0_EL1. Parts that no guest has are removed: statistical profiling, branch records,
 * snapshots, synchronous exceptions, the instruction counter, system PMUs. Returns true if *inout was changed; other
 * registers are left as they are.
 * Context: any.
 */
bool upmu_guest_id_register(const struct upmu_guest *guest, uint32_t reg, uint64_t *inout);

#ifdef __cplusplus
}
#endif

#endif
