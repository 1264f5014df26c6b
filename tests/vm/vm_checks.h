/* SPDX-License-Identifier: MIT */
/*
 * What must hold for every kind of CPU that the example kernel finds in the monitor.
 */
#ifndef UPMU_TESTS_VM_VM_CHECKS_H
#define UPMU_TESTS_VM_VM_CHECKS_H

#include "tests/vm/vm_kernel.h"

/*
 * Boots the guest and runs all of "vmtest": counts for 10, 100 and 1000 passes in both
 * rings, 1000 samples of ring 3, samples of ring 0, interrupts inside calls.
 */
void vm_check_all(const struct vm_guest *guest);

/*
 * The same without the 1000 passes and with 200 samples; all of it with VM_RUNS=soak.
 */
void vm_check_briefly(const struct vm_guest *guest);

/*
 * The guest on the model, then on the guest engine, which shows that CPU on this host: "vmtest" and "switches NAMES"
 * print the same lines and make the same accesses, and all checks hold.  Once, and with VM_RUNS=soak 20 of 20 times.
 * `beside`: with sessions of the host's that count beside it.
 */
void vm_check_same(const struct vm_guest *guest, const char *host, const char *names, bool beside);

/* The same kernel with the page of the paravirtual PMU, on this host: all checks of "vmtest" hold. */
void vm_check_page(const struct vm_guest *guest, const char *host);

/* The samples of ring 3 alone; all of it with VM_RUNS=soak. */
void vm_check_little(const struct vm_guest *guest);

/* Only the samples, as many. */
void vm_check_samples(const struct vm_guest *guest);

/* These for Core 2 and Skylake in turn: once, with VM_RUNS=soak until it is ten with the `alone` that ran before. */
void vm_check_runs(unsigned bits, unsigned alone);

#endif
