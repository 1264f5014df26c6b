/* SPDX-License-Identifier: MIT */
/*
 * A run of the example kernel: its image, its command line, what it said.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"
#include "tests/common/workload.h"

#include "tests/vm/vm_hypervisor.h"
#include "tests/vm/vm_kernel.h"

void vm_run_kernel(struct vm *vm, const struct vm_guest *guest, const struct vm_host *host, const char *image,
                   const char *commands)
{
    char elf[64], line[192];

    snprintf(elf, sizeof elf, "build/kernel/%s%u.elf", image, guest->bits);
    snprintf(line, sizeof line, "debug-exit %s; %s; off", guest->options, commands);
    if (!(host ? vm_hypervisor_open(vm, host->profile, guest->profile, elf, line, host->beside, host->page)
               : vm_open(vm, guest->profile, elf, line)))
        fail_msg("%s: %s", guest->profile, vm->failure);
    vm->enabling_counts = guest->enabling_counts;
    if (!(host ? vm_hypervisor_run(vm) : vm_run(vm)))
        fail_msg("%s: %s; it said: %.2000s", guest->profile, vm->failure, vm->serial);
}

void vm_expect_no_violation(const struct vm *vm)
{
    if (vm->sim.violation_count)
        fail_msg("%s (register %x)", vm->sim.first_violation.text, (unsigned)vm->sim.first_violation.address);
}

void vm_run_program(struct vm *vm, const char *image, const char *command, void (*check)(struct vm *vm))
{
    static const struct vm_guest guests[] = {{"skylake", NULL, 64, "", true},
                                             {"core2", NULL, 32, "vector=0xe0", true},
                                             {"zen4", NULL, 64, "vector=0xe0", true}};

    for (unsigned i = 0; i < sizeof guests / sizeof guests[0]; i++) {
        vm_run_kernel(vm, &guests[i], NULL, image, command);
        vm_expect_no_violation(vm);
        check(vm);
        vm_close(vm);
    }
}

uint64_t vm_expect_passes(const struct vm *vm, const char *name, unsigned around)
{
    uint64_t first = vm_said(vm, "%s.100", name);

    assert_int_equal(vm_said(vm, "%s.300", name) - first, 200 * WORKLOAD_INSTRUCTIONS);
    assert_in_range(first, 100 * WORKLOAD_INSTRUCTIONS, 100 * WORKLOAD_INSTRUCTIONS + around);
    return first;
}

uint64_t vm_said(const struct vm *vm, const char *format, ...)
{
    uint64_t value = 0;
    char key[64];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(key, sizeof key, format, arguments);
    va_end(arguments);
    if (!vm_value(vm, key, &value))
        fail_msg("the kernel did not say %s; it said: %.2000s", key, vm->serial);
    return value;
}

void vm_expect(const struct vm *vm, const char *key, const char *expected)
{
    char text[64] = "(nothing)";

    (void)vm_text(vm, key, text, sizeof text);
    if (strcmp(text, expected) != 0)
        fail_msg("%s is \"%s\", not \"%s\"; the kernel said: %.2000s", key, text, expected, vm->serial);
}

bool vm_soaks(void)
{
    const char *wanted = getenv("VM_RUNS");

    return wanted && !strcmp(wanted, "soak");
}

bool vm_able(void)
{
    const char *reason = vm_unable();

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!reason)
        return true;
    printf("skipped: no guest runs here: %s\n[  SKIPPED ] vm\n", reason);
    return false;
}
