/* SPDX-License-Identifier: MIT */
/*
 * A run of the example kernel in the monitor, and the lines that it prints.  What is not as expected fails the test,
 * which tells what the kernel said.
 */
#ifndef UPMU_TESTS_VM_VM_KERNEL_H
#define UPMU_TESTS_VM_VM_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/vm/vm.h"

/* One guest: which CPU, how wide, which words on its command line before the commands. */
struct vm_guest {
    const char *profile;
    const char *pmu; /* libpfm4's name, as the kernel prints it; NULL: not compared */
    unsigned bits;
    const char *options;
    bool enabling_counts; /* the write that lets counters run is counted */
};

/* On the guest engine, on a host with the CPU `profile` (vm_hypervisor.h). */
struct vm_host {
    const char *profile;
    bool beside; /* with sessions of the host's that count beside the guest */
    bool page;   /* with the page of the paravirtual PMU */
};

/* `image` ("upmu", "programs") executes the commands, then "off"; `host` NULL: on the model. */
void vm_run_kernel(struct vm *vm, const struct vm_guest *guest, const struct vm_host *host, const char *image,
                   const char *commands);

/* No access was against the rules of the CPU. */
void vm_expect_no_violation(const struct vm *vm);

/*
 * Run a command of the kernel, whose program in ring 3 counts, on the model, once in each of three forms: Intel's with
 * 64 bits and NMIs, Intel's with 32 bits and a vector, AMD's. `check` looks at what is said.
 */
void vm_run_program(struct vm *vm, const char *image, const char *command, void (*check)(struct vm *vm));

/*
 * NAME.100 and NAME.300 are the instructions of 100 and 300 passes of the workload, and at most `around` more, which
 * are the same in both. Returns NAME.100.
 */
uint64_t vm_expect_passes(const struct vm *vm, const char *name, unsigned around);

/* The value of the line that begins with that key. */
__attribute__((format(printf, 2, 3))) uint64_t vm_said(const struct vm *vm, const char *format, ...);
void vm_expect(const struct vm *vm, const char *key, const char *expected);

/* VM_RUNS=soak: all that is left out otherwise. */
bool vm_soaks(void);

/* False, and a skipped test printed, if guests do not run here. */
bool vm_able(void);

#endif
