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

static void check_program(struct vm *run)
{
    assert_int_equal(vm_said(run, "perfmon2.status"), 0);
    (void)vm_expect_passes(run, "perfmon2.self", 200);
    (void)vm_expect_passes(run, "perfmon2.other", 3000);
    /* The program's count while the other ran: its own few instructions. */
    assert_in_range(vm_said(run, "perfmon2.quiet"), 1, 1000 * WORKLOAD_INSTRUCTIONS / 10);
    assert_int_equal(vm_said(run, "perfmon2.contexts"), 0);
}

static void a_program_counts_itself_and_another_thread_by_system_calls(void **state)
{
    (void)state;
    vm_run_program(&vm, "upmu", "perfmon2", check_program);
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
