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

/* As vm_open(); `show` may change each answer of CPUID. */
typedef void vm_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t inout[4]);
bool vm_open_shown(struct vm *vm, const char *profile, const char *elf, const char *line, vm_cpuid *show);

/*
 * The parts of vm_run(): what is before the first entry and behind the last exit; the guest runs as far as
 * its next access (RDMSR, WRMSR, I/O, the local APIC) or until vm->left, false if it has ended; the model
 * answers that access; the guest stands behind it.
 */
void vm_begin(struct vm *vm);
bool vm_end(struct vm *vm);
bool vm_enter(struct vm *vm);
void vm_answer(struct vm *vm);
void vm_finish(struct vm *vm);

/* Registers that are neither the PMU's nor KVM's; false: there is none. */
bool vm_other_msr(const struct vm *vm, uint32_t msr, uint64_t *out_value);

/* Is the access a write of the local APIC's performance-counter entry? */
bool vm_writes_lvtpc(const struct vm *vm, uint32_t *out_value);

#endif
