/* SPDX-License-Identifier: MIT */
/*
 * Repairs of QEMU's RISC-V counters.  No board needs them.
 */
#ifndef UPMU_EXAMPLES_VIRT_QEMU_H
#define UPMU_EXAMPLES_VIRT_QEMU_H

#include <upmu/port.h>

/* Bits of a counter that are used: the halves of wider ones know nothing of each other. */
#define VIRT_QEMU_WIDTH __riscv_xlen

/* Put the repairs around rdmsr and wrmsr of port/riscv_native; bit n of `counters`: there is mhpmcounter n. */
void virt_qemu_repair(struct upmu_port *port, uint32_t counters);

/* mhpmevent n as it would read, and would be written. */
uint64_t virt_qemu_event(unsigned n);
void virt_qemu_set_event(unsigned n, uint64_t value);

#endif
