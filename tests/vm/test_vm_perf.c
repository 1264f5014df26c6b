/* SPDX-License-Identifier: MIT */
/*
 * perf_event_open with real instructions: a program in ring 3 counts and samples itself by six system calls
 * (examples/kernel/kernel_perf.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/common/assertions.h"

#include "tests/common/workload.h"
#include "tests/vm/vm.h"
#include "tests/vm/vm_kernel.h"

#define EACCES 13u
#define POLLIN 1u

static struct vm vm;

static void run_program(const char *profile, unsigned bits, const char *options)
{
    uint64_t self, sampled, samples, inside;

    vm_run_kernel(&vm, &(struct vm_guest){profile, NULL, bits, options, true}, NULL, "programs", "perf");
    vm_expect_no_violation(&vm);
    vm_expect(&vm, "perf.end", "no error");
    assert_int_equal(vm_said(&vm, "perf.failed"), 0);
    assert_int_equal(vm_said(&vm, "perf.refused"), EACCES);
    /* What is around the workload is the same each time: 200 passes more are 200 passes. */
    self = vm_said(&vm, "perf.self.100");
    assert_int_equal(vm_said(&vm, "perf.self.300") - self, 200 * WORKLOAD_INSTRUCTIONS);
    assert_in_range(self, 100 * WORKLOAD_INSTRUCTIONS, 100 * WORKLOAD_INSTRUCTIONS + 200);
    assert_int_equal(vm_said(&vm, "perf.group.instructions"), self);
    assert_in_range(vm_said(&vm, "perf.group.cycles"), self - 20, self + 20);
    sampled = vm_said(&vm, "perf.sampled");
    samples = vm_said(&vm, "perf.samples");
    inside = vm_said(&vm, "perf.inside");
    assert_int_equal(sampled, vm_said(&vm, "perf.self.300"));
    assert_int_equal(samples, sampled / vm_said(&vm, "perf.period"));
    assert_in_range(inside, samples - 1, samples);
    assert_int_equal(vm_said(&vm, "perf.polled"), POLLIN);
    assert_int_equal(vm_said(&vm, "perf.left"), 0);
    vm_close(&vm);
}

static void a_program_counts_and_samples_itself_by_six_calls(void **state)
{
    (void)state;
    run_program("skylake", 64, "");
    run_program("core2", 32, "vector=0xe0");
    run_program("zen4", 64, "vector=0xe0");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_counts_and_samples_itself_by_six_calls),
    };

    if (!vm_able())
        return 0;
    return cmocka_run_group_tests_name("vm_perf", tests, NULL, NULL);
}
