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

#include "tests/vm/vm.h"
#include "tests/vm/vm_kernel.h"

#define EACCES 13u
#define POLLIN 1u

static struct vm vm;

static void check_program(struct vm *run)
{
    uint64_t self, sampled, samples, inside;

    vm_expect(run, "perf.end", "no error");
    assert_int_equal(vm_said(run, "perf.failed"), 0);
    assert_int_equal(vm_said(run, "perf.refused"), EACCES);
    self = vm_expect_passes(run, "perf.self", 200);
    assert_int_equal(vm_said(run, "perf.group.instructions"), self);
    assert_in_range(vm_said(run, "perf.group.cycles"), self - 20, self + 20);
    sampled = vm_said(run, "perf.sampled");
    samples = vm_said(run, "perf.samples");
    inside = vm_said(run, "perf.inside");
    assert_int_equal(sampled, vm_said(run, "perf.self.300"));
    assert_int_equal(samples, sampled / vm_said(run, "perf.period"));
    assert_in_range(inside, samples - 1, samples);
    assert_int_equal(vm_said(run, "perf.polled"), POLLIN);
    assert_int_equal(vm_said(run, "perf.left"), 0);
}

static void a_program_counts_and_samples_itself_by_six_calls(void **state)
{
    (void)state;
    vm_run_program(&vm, "programs", "perf", check_program);
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
