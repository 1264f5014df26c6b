/* SPDX-License-Identifier: MIT */
/*
 * A kernel for QEMU's "virt" machines, AArch64 and RISC-V: what the program needs of the machine.
 */
#ifndef UPMU_EXAMPLES_VIRT_H
#define UPMU_EXAMPLES_VIRT_H

#include <upmu/upmu.h>

/* For messages: "AArch64", "RISC-V". */
extern const char virt_machine[];

/* Traps, the interrupt controller, and the hooks of upmu; interrupts are off. */
void virt_open(struct upmu_port *port);

/* From now on the PMU's interrupts are this CPU's. */
void virt_go(struct upmu_cpu *cpu);

void virt_put(char c);

/* Ends QEMU. */
__attribute__((noreturn)) void virt_off(bool failed);

/* Two loops of 2 * turns instructions, and where they lie. */
void virt_loop_first(uint64_t turns);
void virt_loop_second(uint64_t turns);
extern const char virt_loop_end[];

/* The program; the stack and zeroed variables are there. */
__attribute__((noreturn)) void virt_main(void);

#endif
