/* SPDX-License-Identifier: MIT */
/*
 * Hooks for kernels on AArch32, at PL1 or in Hyp mode: PMUv2 (Cortex-A7, A15 and similar ones) and PMUv3.
 * docs/PORTING.md says what the host adds: the interrupt of the PMU, and for several CPUs upmu_port.this_cpu.
 */
#ifndef UPMU_ARM32_NATIVE_H
#define UPMU_ARM32_NATIVE_H

#include <upmu/port.h>

/*
 * Fill in rdmsr, wrmsr, irq_save, irq_restore, pmi_rearm and in_kernel_mode, and clock_ns if the CPU has the generic
 * timer and its frequency is set (CNTFRQ); other members stay. The interrupt of the PMU must call upmu_pmi_handle(); a
 * host without this interrupt sets pmi_rearm to NULL afterwards.
 */
void upmu_arm32_port(struct upmu_port *port);

#endif
