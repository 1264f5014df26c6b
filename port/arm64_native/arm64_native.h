/* SPDX-License-Identifier: MIT */
/*
 * Hooks for kernels on AArch64, at EL1 or at EL2.  docs/PORTING.md says what the host adds: the interrupt
 * of the PMU, and for several CPUs upmu_port.this_cpu.
 */
#ifndef UPMU_ARM64_NATIVE_H
#define UPMU_ARM64_NATIVE_H

#include <upmu/port.h>

/*
 * Fill in rdmsr, wrmsr, irq_save, irq_restore, pmi_rearm, clock_ns and in_kernel_mode; other members stay. The
 * interrupt of the PMU must call upmu_pmi_handle(); a host without this interrupt sets pmi_rearm to NULL afterwards.
 */
void upmu_arm64_port(struct upmu_port *port);

#endif
