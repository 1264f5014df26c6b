/* SPDX-License-Identifier: MIT */
/*
 * The monitor with a PMU of the guest engine (abi/guest): examples/hypervisor runs the vCPU, over a host's instance of
 * the library on the model of the host's CPU.  RDMSR, WRMSR and writes of the local APIC's entry are its exits, and
 * CPUID says what the engine shows.
 *
 * Each step of the guest is executed by the host's CPU, and each exit costs the host instructions of its own.  A second
 * model, vm->sim, is told of the same accesses and instructions, as if it were the guest's CPU: it says when to step,
 * and what each register read and how many interrupts should have been.
 */
#ifndef UPMU_TESTS_VM_VM_HYPERVISOR_H
#define UPMU_TESTS_VM_VM_HYPERVISOR_H

#include "tests/vm/vm.h"

/* What the host's own sessions counted beside the guest, and what they should have. */
struct vm_beside {
    uint64_t host, guest, both;
    uint64_t host_executed, guest_executed;
};

/*
 * As vm_open(), on a host with the CPU `host`; the guest sees `profile`.  `beside`: three sessions of the host's
 * count instructions: the host's own, the guest's, all.  `page`: the guest's door is the page (abi/paravirt), and its
 * call an access to an I/O port.
 */
bool vm_hypervisor_open(struct vm *vm, const char *host, const char *profile, const char *elf, const char *line,
                        bool beside, bool page);
/* As vm_run(); a register or an interrupt that was not as on the guest's CPU is a failure. */
bool vm_hypervisor_run(struct vm *vm);
/* As vm_close(), and the host stops its sessions; `out_beside` NULL if there are none. */
void vm_hypervisor_close(struct vm *vm, struct vm_beside *out_beside);

#endif
