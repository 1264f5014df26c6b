/* SPDX-License-Identifier: MIT */
/*
 * Hooks for RISC-V in S-mode, of 32 and of 64 bits. Counters belong to the firmware, which is called by the SBI's PMU
 * extension. docs/riscv.md says what the host adds: the local interrupt of counter overflows, facts from its device
 * tree, and a clock. Compile port/riscv_native/riscv_native.c, too.
 */
#ifndef UPMU_RISCV_SBI_H
#define UPMU_RISCV_SBI_H

#include <port/riscv_native/riscv_native.h>

/* A copy of what the firmware was told for a hart, because the firmware cannot be asked. All fields are 0 at first. */
struct upmu_riscv_sbi_hart {
    uint64_t event[32];
    uint64_t value[32]; /* value of a stopped counter; running on a shared counter: distance from that */
    uint8_t at[32];     /* 1 + number of the CSR that the firmware gave for the counter; 0: no CSR */
    uint32_t running;
    uint32_t anew;  /* counters whose hardware another counter took: configure them at their start */
    uint32_t clean; /* stopped counters whose flag is not an overflow */
};

struct upmu_riscv_sbi {
    /* Set `sscofpmf` and `sbi_events` before upmu_riscv_sbi_port(), which finds the other fields. */
    struct upmu_riscv_identity identity;
    /* Return the executing hart's structure, if there are several harts; NULL: `first` is used. */
    struct upmu_riscv_sbi_hart *(*this_hart)(struct upmu_riscv_sbi *sbi);
    struct upmu_riscv_sbi_hart first;
    /* private */
    uint32_t known;    /* counters that the firmware has, by their CSRs */
    uint8_t index[32]; /* the firmware's numbers for the counters in `known` */
};

/*
 * Fill in context, rdmsr, wrmsr, cpuid, irq_save, irq_restore, pmi_rearm, msr_faults_are_safe and in_kernel_mode; other
 * members stay. The local interrupt 13 must call upmu_pmi_handle(). pmi_rearm is NULL without Sscofpmf; a host without
 * that interrupt sets it to NULL afterwards. Returns false if the firmware has no PMU extension, or no counter of the
 * hardware.
 */
bool upmu_riscv_sbi_port(struct upmu_riscv_sbi *sbi, struct upmu_port *port);

#endif
