/* SPDX-License-Identifier: MIT */
/*
 * What the monitor's files tell each other: vm_open.c makes the machine, vm.c runs it.
 */
#ifndef UPMU_TESTS_VM_VM_INTERN_H
#define UPMU_TESTS_VM_VM_INTERN_H

#include <linux/kvm.h>

#include "tests/vm/vm.h"

#define MEMORY_BYTES (64u << 20)
#define APIC_PHYSICAL 0xfee00000u

double vm_seconds(void);

/* Note why it cannot go on, with errno; false. */
bool vm_refuse(struct vm *vm, const char *what);

/* A flat 32-bit segment of ring 0. */
void vm_flat_segment(struct kvm_segment *segment, bool code);

/* The model's interrupts go to the guest. */
void vm_inject(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt);

#endif
