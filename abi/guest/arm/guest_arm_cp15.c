/* SPDX-License-Identifier: MIT */
/*
 * Registers of the Arm door as AArch32 has them: a trapped MRC, MCR, MRRC or MCRR of coprocessor 15 becomes an access
 * to the same register by its AArch64 number (guest_arm_registers.c).
 *
 * Sources: Linux, arch/arm64/include/asm/esr.h (fields of the syndrome, exception classes 03h and 04h) and
 * arch/arm64/kvm/sys_regs.c (cp15_regs, cp15_64_regs, kvm_handle_cp_64()); Arm ARM (DDI 0487) G8.4 (registers).
 */
#include <abi/guest/arm/guest_arm.h>

/* Exception classes, ESR_EL2 bits 31:26. */
#define CP15_ONE_REGISTER 0x03u  /* MRC, MCR */
#define CP15_TWO_REGISTERS 0x04u /* MRRC, MCRR */

#define CP15_READ 1u /* bit 0 of the syndrome */

/* Numbers as MRC and MCR have them, with op1 0: CRn, CRm, op2, where UPMU_GUEST_SYSREG() has these. */
#define CP15_NUMBER(crn, crm, op2) UPMU_GUEST_SYSREG(0, 0, crn, crm, op2)

#define CP15_AT(esr, shift, bits) ((esr) >> (shift) & ((1u << (bits)) - 1u))

/*
 * Return the AArch64 number that a register of the PMU would have if the syndrome named one; 0: the syndrome is of
 * another instruction, or no register of the PMU has this op1. *out_high: the register is the upper half of the one of
 * AArch64.
 */
static uint32_t sysreg_of(uint32_t esr, bool *out_high)
{
    uint32_t crm = CP15_AT(esr, 1, 4), number = CP15_NUMBER(CP15_AT(esr, 10, 4), crm, CP15_AT(esr, 17, 3));

    *out_high = false;
    if (esr >> 26 == CP15_TWO_REGISTERS)
        return CP15_AT(esr, 16, 4) == 0 && crm == 9 ? UPMU_GUEST_SYSREG(3, 3, 9, 13, 0) : 0;
    if (esr >> 26 != CP15_ONE_REGISTER || CP15_AT(esr, 14, 3))
        return 0;
    switch (number) {
    case CP15_NUMBER(9, 14, 1): /* PMINTENSET, PMINTENCLR, PMMIR: AArch64 has them with op1 0 */
    case CP15_NUMBER(9, 14, 2):
    case CP15_NUMBER(9, 14, 6):
        return number | UPMU_GUEST_SYSREG(3, 0, 0, 0, 0);
    case CP15_NUMBER(9, 14, 4): /* PMCEID2, PMCEID3 */
    case CP15_NUMBER(9, 14, 5):
        *out_high = true;
        number += CP15_NUMBER(9, 12, 6) - CP15_NUMBER(9, 14, 4);
        break;
    }
    return number | UPMU_GUEST_SYSREG(3, 3, 0, 0, 0);
}

enum upmu_guest_access upmu_guest_cp15(struct upmu_guest *guest, uint32_t esr, bool from_el0, uint64_t *inout)
{
    bool two = esr >> 26 == CP15_TWO_REGISTERS, write = !(esr & CP15_READ), high;
    uint32_t reg = sysreg_of(esr, &high);
    uint64_t value = two ? *inout : (uint32_t)*inout;
    enum upmu_guest_access access;

    if (!reg)
        return UPMU_GUEST_NOT_OURS;
    access = upmu_guest_arm_access(guest, reg,
                                   (write ? GUEST_ARM_WRITE : 0) | (from_el0 ? GUEST_ARM_FROM_EL0 : 0) |
                                       (two ? 0 : GUEST_ARM_LOW_HALF), &value);
    if (access == UPMU_GUEST_DONE && !write)
        *inout = high ? value >> 32 : two ? value : (uint32_t)value;
    return access;
}
