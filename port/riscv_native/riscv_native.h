/* SPDX-License-Identifier: MIT */
/*
 * Hooks for RISC-V in M-mode, of 32 and of 64 bits. docs/PORTING.md says what the host adds: the local interrupt of
 * counter overflows, facts about the PMU from its device tree, and a clock.
 */
#ifndef UPMU_RISCV_NATIVE_H
#define UPMU_RISCV_NATIVE_H

#include <upmu/port.h>

/* Facts about a hart that no instruction tells. */
struct upmu_riscv_identity {
    uint32_t counters; /* usable counters: bit n is mhpmcounter n, 3 to 31 */
    uint8_t width;     /* bits of each counter */
    bool sscofpmf;     /* overflows interrupt, and an event can exclude modes */
    bool sbi_events;   /* mhpmevent takes the event numbers of the SBI, as QEMU's does */
};

/* Answer the hook cpuid from the identity of a hart: leaf 0, subleaf 0 has its fields, all others are 0. */
void upmu_riscv_cpuid(const struct upmu_riscv_identity *identity, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);

/*
 * Fill in rdmsr, wrmsr, irq_save, irq_restore, pmi_rearm and in_kernel_mode; other members stay. The local interrupt 13
 * must call upmu_pmi_handle(); a host without this interrupt sets pmi_rearm to NULL afterwards.
 */
void upmu_riscv_port(struct upmu_port *port);

/*
 * Fill in the same as upmu_riscv_port(), for harts without Sscofpmf: pmi_rearm is NULL, and on RV32 mhpmevent has no
 * upper half.
 */
void upmu_riscv_port_without_sscofpmf(struct upmu_port *port);

#endif
