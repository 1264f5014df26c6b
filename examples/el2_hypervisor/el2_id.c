/* SPDX-License-Identifier: MIT */
/* ID registers of the guest (HCR_EL2.TID3): those of the CPU, without EL2 and EL3. */
#include <examples/el2_hypervisor/el2.h>

#define ID(crm, op2)                                                                                                   \
    case crm << 3 | op2:                                                                                               \
        return EL2_READ("s3_0_c0_c" #crm "_" #op2);
#define IDS(crm) ID(crm, 0) ID(crm, 1) ID(crm, 2) ID(crm, 3) ID(crm, 4) ID(crm, 5) ID(crm, 6) ID(crm, 7)

static uint64_t read_id(unsigned crm_op2)
{
    switch (crm_op2) {
        IDS(1)
        IDS(2)
        IDS(3)
        IDS(4)
        IDS(5)
        IDS(6)
        IDS(7)
    default:
        return 0;
    }
}

uint64_t el2_id_register(uint32_t reg)
{
    uint64_t value = read_id(reg & 0x7fu);

    return reg == UPMU_GUEST_SYSREG(3, 0, 0, 4, 0) ? value & ~UINT64_C(0xff00) : value; /* ID_AA64PFR0_EL1 */
}
