/* SPDX-License-Identifier: MIT */
/*
 * Hooks for RISC-V in S-mode, of 32 and of 64 bits. Counters belong to the firmware, which is called by the SBI's PMU
 * extension. docs/riscv.md says what the host adds: the local interrupt of counter overflows, facts from its device
 * tree, and a clock. Compile port/riscv_native/riscv_native.c, too.
 */
#ifndef UPMU_RISCV_SBI_H
#define UPMU_RISCV_SBI_H

#include <port/riscv_native/riscv_native.h>

/*
 * The state that the port has given the firmware for a hart, because the firmware cannot be asked for it. All fields
 * are 0 at first.
 */
struct upmu_riscv_sbi_hart {
    uint64_t event[32];
    /*
     * stopped counter: its value; running: its value at the start, or for cycle and instret its value minus the CSR's
     */
    uint64_t value[32];
    uint8_t at[32];     /* 1 + m: the firmware gave this counter the CSR cycle + m; 0: the counter has no hardware */
    uint32_t running;
    uint32_t anew;  /* mask of counters whose hardware another one took: configure them at their start */
    uint32_t clean; /* mask of stopped counters whose flag in scountovf is no new overflow */
};

struct upmu_riscv_sbi {
    /* Set `sscofpmf` and `sbi_events` before upmu_riscv_sbi_port(), which finds the other fields. */
    struct upmu_riscv_identity identity;
    /* Return the executing hart's structure, if there are several harts; NULL: `first` is used. */
    struct upmu_riscv_sbi_hart *(*this_hart)(struct upmu_riscv_sbi *sbi);
    struct upmu_riscv_sbi_hart first;
    /* private */
    uint32_t known;    /* bit m: the firmware has a counter whose CSR is cycle + m */
    uint8_t index[32]; /* [m]: the firmware's number of the counter whose CSR is cycle + m */
};

/*
 * Fill in context, rdmsr, wrmsr, cpuid, irq_save, irq_restore, pmi_rearm, msr_faults_are_safe and in_kernel_mode; other
 * members stay. The local interrupt 13 must call upmu_pmi_handle(). pmi_rearm is NULL without Sscofpmf; a host without
 * that interrupt sets it to NULL afterwards. Returns false if the firmware has no PMU extension, or no counter of the
 * hardware.
 */
bool upmu_riscv_sbi_port(struct upmu_riscv_sbi *sbi, struct upmu_port *port);

#endif
