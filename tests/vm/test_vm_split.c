/* SPDX-License-Identifier: MIT */
/*
 * A driver in ring 3 with real instructions: its RDMSR and WRMSR are system calls that the server of examples/split
 * checks (examples/kernel/kernel_split.c), and a hostile one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "tests/common/workload.h"
#include "tests/vm/vm.h"
#include "tests/vm/vm_kernel.h"

static struct vm vm;

/* The kernel as it ends gives the registers back: all are as a CPU has them that was just switched on. */
static void expect_registers_as_found(void)
{
    static const uint32_t msrs[] = {0x186,      0x187,      0x38d,      0x38f,      0x1d9, 0x600,
                                    0xc0010000, 0xc0010001, 0xc0010002, 0xc0010003, 0};
    static struct upmu_sim fresh;

    upmu_sim_init(&fresh, vm.sim.profile, 1);
    for (unsigned i = 0; msrs[i]; i++)
        if (upmu_sim_peek(&vm.sim, 0, msrs[i]) != upmu_sim_peek(&fresh, 0, msrs[i]))
            fail_msg("register %x is left as %llx", (unsigned)msrs[i],
                     (unsigned long long)upmu_sim_peek(&vm.sim, 0, msrs[i]));
}

static void run_kernel(const char *profile, unsigned bits, const char *command)
{
    vm_run_kernel(&vm, &(struct vm_guest){profile, NULL, bits, "", true}, NULL, "programs", command);
    vm_expect(&vm, "split.begin", "no error");
    vm_expect(&vm, "split.verify", "no error");
    vm_expect(&vm, "split.end", "ok");
    expect_registers_as_found();
}

/* Steps in ring 3 while the kernel's session counted: from its start to its stop one counter always runs. */
static void expect_kernels_count(void)
{
    uint64_t steps = 0;

    vm_expect(&vm, "split.kernel", "no error");
    for (unsigned i = 0; i < vm.spans && i < VM_SPANS; i++)
        if (vm.span[i].steps[1] > steps)
            steps = vm.span[i].steps[1];
    assert_int_equal(vm_said(&vm, "split.kernel.count"), steps);
}

static void check_driver(const char *profile, unsigned bits, const char *command)
{
    run_kernel(profile, bits, command);
    vm_expect_no_violation(&vm);
    vm_expect(&vm, "split.driver", "no error");
    vm_expect(&vm, "split.driver.end", "no error");
    /* What is around the workload is the same each time. */
    assert_int_equal(vm_said(&vm, "split.driver.300") - vm_said(&vm, "split.driver.100"), 200 * WORKLOAD_INSTRUCTIONS);
    assert_in_range(vm_said(&vm, "split.driver.100"), 100 * WORKLOAD_INSTRUCTIONS, 100 * WORKLOAD_INSTRUCTIONS + 3000);
    assert_compare(vm_said(&vm, "split.driver.messages"), >, 10);
    if (!strstr(command, "all"))
        expect_kernels_count();
    vm_close(&vm);
}

static void a_driver_in_ring_3_counts_by_the_servers_calls(void **state)
{
    (void)state;
    check_driver("core2", 64, "split all");
    check_driver("northwood", 32, "split all");
    check_driver("k8_revf", 32, "split");
    if (vm_soaks()) {
        check_driver("core2", 32, "split");
        check_driver("skylake", 64, "split");
        check_driver("k8_revf", 64, "split");
    }
}

static void check_hostile(const char *profile, unsigned bits)
{
    struct vm_accesses seen;
    uint64_t value;

    run_kernel(profile, bits, "split hostile");
    assert_int_equal(vm_said(&vm, "split.refused"), vm_said(&vm, "split.wishes"));
    assert_int_not_equal(vm_said(&vm, "split.foreign-memory"), 0);
    assert_true(vm_accesses_of(&vm, 'f', 0, &seen));
    assert_int_equal(seen.writes + seen.rearms, 0);
    assert_in_range(seen.reads, 0, 3); /* registers of the PMU are looked at before a write is refused */
    assert_true(vm_accesses_of(&vm, 'g', 0, &seen));
    assert_compare(seen.writes, >, 10);
    assert_int_equal(vm_said(&vm, "split.granted") + vm_said(&vm, "split.not-granted"), 300);
    assert_compare(vm_said(&vm, "split.not-granted"), >=, 100);
    assert_int_equal(vm_said(&vm, "split.server.refused"),
                     vm_said(&vm, "split.refused") + vm_said(&vm, "split.not-granted"));
    assert_true(vm_accesses_of(&vm, 'w', 0, &seen));
    assert_int_equal(seen.writes, 0);
    assert_false(vm_value(&vm, "split.wrmsr-of-ring-3", &value));
    expect_kernels_count();
    vm_close(&vm);
}

static void a_hostile_driver_in_ring_3_changes_nothing_of_others(void **state)
{
    (void)state;
    check_hostile("core2", 32);
    if (vm_soaks()) {
        check_hostile("k8_revf", 64);
        check_hostile("skylake", 64);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driver_in_ring_3_counts_by_the_servers_calls),
        cmocka_unit_test(a_hostile_driver_in_ring_3_changes_nothing_of_others),
    };

    if (!vm_able())
        return 0;
    return cmocka_run_group_tests_name("vm_split", tests, NULL, NULL);
}
