/* SPDX-License-Identifier: MIT */
/*
 * Hooks for RISC-V in S-mode, of 32 and of 64 bits: counters belong to the firmware, which is called by the SBI's PMU
 * extension.  docs/riscv.md says what the host adds: the local interrupt of counter overflows, what its device tree
 * says, and a clock.  Compile port/riscv_native/riscv_native.c, too.
 */
#ifndef UPMU_RISCV_SBI_H
#define UPMU_RISCV_SBI_H

#include <port/riscv_native/riscv_native.h>

/* A copy of what the firmware was told for a hart, because the firmware cannot be asked.  All 0 at first. */
struct upmu_riscv_sbi_hart {
    uint64_t event[32];
    uint64_t value[32]; /* of a stopped counter; of one that runs on a shared counter: its distance from that */
    uint8_t at[32];     /* the firmware's counter for it: one more than the number of its CSR; 0: none */
    uint32_t running;
    uint32_t anew;  /* have lost their counter to another, and need one to start */
    uint32_t clean; /* stopped: a flag of theirs is not an overflow */
};

struct upmu_riscv_sbi {
    /* Set `sscofpmf` and `sbi_events` before upmu_riscv_sbi_port(); it finds the others. */
    struct upmu_riscv_identity identity;
    /* The executing hart's, if there are several; NULL: `first` */
    struct upmu_riscv_sbi_hart *(*this_hart)(struct upmu_riscv_sbi *sbi);
    struct upmu_riscv_sbi_hart first;
    /* private */
    uint32_t known;    /* counters of the firmware, by their CSRs */
    uint8_t index[32]; /* its numbers for them */
};

/*
 * Fill in context, rdmsr, wrmsr, cpuid, irq_save, irq_restore, pmi_rearm, msr_faults_are_safe and in_kernel_mode; other
 * members stay.  The local interrupt 13 must call upmu_pmi_handle().  pmi_rearm is NULL without Sscofpmf; a host
 * without that interrupt sets it to NULL afterwards.  Returns false if the firmware has no PMU extension, or no counter
 * of the hardware.
 */
bool upmu_riscv_sbi_port(struct upmu_riscv_sbi *sbi, struct upmu_port *port);

#endif
