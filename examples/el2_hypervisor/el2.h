/* SPDX-License-Identifier: MIT */
/*
 * A small hypervisor for QEMU's "virt" with GICv3: one virtual CPU on one CPU, at EL2, for an example and not for use.
 */
#ifndef UPMU_EXAMPLES_EL2_H
#define UPMU_EXAMPLES_EL2_H

#include <abi/guest/arm/arm.h>

#define EL2_GUEST_RAM UINT64_C(0x41000000) /* the hypervisor has the 16 MB before it */
#define EL2_GUEST_ENTRY (EL2_GUEST_RAM + 0x200000)
#define EL2_PMU_INTERRUPT 23u /* PPI 7, of the host and of the guest */

/* The vCPU's registers, in the order in which el2_entry.S saves them. */
struct el2_vcpu {
    uint64_t x[31];
    uint64_t elr, spsr; /* where it goes on, and its PSTATE */
    uint64_t host_sp;   /* stack of el2_run() while the guest runs */
    /* From here on el2_entry.S knows nothing. */
    struct upmu_thread thread;
    struct upmu_session sessions[9]; /* one for each virtual counter */
    struct upmu_guest pmu;
    uint64_t exits, traps, interrupts; /* sums: exits, accesses of registers of the PMU, interrupts of the host's PMU */
};

/* Reasons of el2_run(). */
enum { EL2_SYNCHRONOUS = 0, EL2_INTERRUPT = 1 };

/* Run the guest until its next exit (el2_entry.S). */
unsigned el2_run(struct el2_vcpu *vcpu);
/* Stop: an exception of the hypervisor's own. */
void el2_dies(uint64_t elr, uint64_t esr, uint64_t far);

/* The part of the vGIC that the hardware does not have (el2_vgic.c): which interrupts are in list registers. */
void el2_vgic_open(void);
/* Take an interrupt of this CPU; false: it is the host's PMU's, which el2_vgic_end() ends. */
bool el2_vgic_take(void);
void el2_vgic_end(unsigned intid);
/* Put pending interrupts into list registers, and that of the PMU if `level` is set; call it before each entry. */
void el2_vgic_fill(bool level);

/* Put the address space of the guest into the table of stage 2: devices, and memory from EL2_GUEST_RAM on. */
void el2_memory_open(void);

/* Read an ID register (op0 3, op1 0, CRn 0) as the guest is to see it, but for the PMU (el2_id.c). */
uint64_t el2_id_register(uint32_t reg);

void el2_print(const char *text);
void el2_print_number(const char *name, uint64_t number);

#define EL2_READ(name)                                                                                                 \
    __extension__({                                                                                                    \
        uint64_t el2_value;                                                                                            \
        __asm__ volatile("mrs %0, " name : "=r"(el2_value) : : "memory");                                              \
        el2_value;                                                                                                     \
    })
#define EL2_WRITE(name, value) __asm__ volatile("msr " name ", %0" : : "r"((uint64_t)(value)) : "memory")

#endif
