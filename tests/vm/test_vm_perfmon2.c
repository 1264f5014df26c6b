/* SPDX-License-Identifier: MIT */
/*
 * perfmon2's system calls with real instructions: a program in ring 3 counts itself and
 * another thread (examples/kernel/kernel_calls.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/common/workload.h"
#include "tests/vm/vm.h"
#include "tests/vm/vm_checks.h"

static struct vm vm;

static uint64_t said(const char *name)
{
    uint64_t value = 0;
    char key[40];

    snprintf(key, sizeof key, "perfmon2.%s", name);
    if (!vm_value(&vm, key, &value))
        fail_msg("the kernel did not say %s; it said: %.2000s", key, vm.serial);
    return value;
}

static void run_program(const char *profile, unsigned bits, const char *options)
{
    char elf[64], line[128];

    snprintf(elf, sizeof elf, "build/kernel/upmu%u.elf", bits);
    snprintf(line, sizeof line, "debug-exit %s; perfmon2; off", options);
    if (!vm_open(&vm, profile, elf, line))
        fail_msg("%s", vm.failure);
    if (!vm_run(&vm))
        fail_msg("%s; it said: %.2000s", vm.failure, vm.serial);
    if (vm.sim.violation_count)
        fail_msg("%s (register %x)", vm.sim.first_violation.text, (unsigned)vm.sim.first_violation.address);
    assert_int_equal(said("status"), 0);
    /* What is around the workload is the same each time: 200 passes more are 200 passes. */
    assert_int_equal(said("self.300") - said("self.100"), 200 * WORKLOAD_INSTRUCTIONS);
    assert_int_equal(said("other.300") - said("other.100"), 200 * WORKLOAD_INSTRUCTIONS);
    assert_in_range(said("self.100"), 100 * WORKLOAD_INSTRUCTIONS, 100 * WORKLOAD_INSTRUCTIONS + 200);
    assert_in_range(said("other.100"), 100 * WORKLOAD_INSTRUCTIONS, 100 * WORKLOAD_INSTRUCTIONS + 3000);
    /* The program's count while the other ran: its own few instructions. */
    assert_in_range(said("quiet"), 1, 1000 * WORKLOAD_INSTRUCTIONS / 10);
    assert_int_equal(said("contexts"), 0);
    vm_close(&vm);
}

static void a_program_counts_itself_and_another_thread_by_system_calls(void **state)
{
    (void)state;
    run_program("skylake", 64, "");
    run_program("core2", 32, "vector=0xe0");
    run_program("zen4", 64, "vector=0xe0");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_counts_itself_and_another_thread_by_system_calls),
    };

    if (!vm_able())
        return 0;
    return cmocka_run_group_tests_name("vm_perfmon2", tests, NULL, NULL);
}
