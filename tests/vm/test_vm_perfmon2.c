/* SPDX-License-Identifier: MIT */
/*
 * perfmon2's system calls with real instructions: a program in ring 3 counts itself and
 * another thread (examples/kernel/kernel_calls.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/common/assertions.h"

#include "tests/common/workload.h"
#include "tests/vm/vm.h"
#include "tests/vm/vm_kernel.h"

static struct vm vm;

static void run_program(const char *profile, unsigned bits, const char *options)
{
    uint64_t self, other;

    vm_run_kernel(&vm, &(struct vm_guest){profile, NULL, bits, options, true}, NULL, "upmu", "perfmon2");
    vm_expect_no_violation(&vm);
    assert_int_equal(vm_said(&vm, "perfmon2.status"), 0);
    /* What is around the workload is the same each time: 200 passes more are 200 passes. */
    self = vm_said(&vm, "perfmon2.self.100");
    other = vm_said(&vm, "perfmon2.other.100");
    assert_int_equal(vm_said(&vm, "perfmon2.self.300") - self, 200 * WORKLOAD_INSTRUCTIONS);
    assert_int_equal(vm_said(&vm, "perfmon2.other.300") - other, 200 * WORKLOAD_INSTRUCTIONS);
    assert_in_range(self, 100 * WORKLOAD_INSTRUCTIONS, 100 * WORKLOAD_INSTRUCTIONS + 200);
    assert_in_range(other, 100 * WORKLOAD_INSTRUCTIONS, 100 * WORKLOAD_INSTRUCTIONS + 3000);
    /* The program's count while the other ran: its own few instructions. */
    assert_in_range(vm_said(&vm, "perfmon2.quiet"), 1, 1000 * WORKLOAD_INSTRUCTIONS / 10);
    assert_int_equal(vm_said(&vm, "perfmon2.contexts"), 0);
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
