/* SPDX-License-Identifier: MIT */
/*
 * The example kernel as guest on Pentium 4s: CPUID F12, F29 and F43, the latter in 32 and 64 bits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/vm/vm_checks.h"

static void f12_in_32_bits_by_nmi(void **state)
{
    (void)state;
    vm_check_briefly(&(struct vm_guest){"willamette", "netburst", 32, "", true});
}

static void f29_in_32_bits_on_a_vector(void **state)
{
    (void)state;
    vm_check_samples(&(struct vm_guest){"northwood_smtoff", "netburst", 32, "vector=0xe0", true});
}

static void f43_in_64_bits_by_nmi(void **state)
{
    (void)state;
    vm_check_little(&(struct vm_guest){"nocona", "netburst_p", 64, "", true});
}

static void f43_in_32_bits_by_nmi(void **state)
{
    (void)state;
    vm_check_samples(&(struct vm_guest){"nocona", "netburst_p", 32, "noclock", true});
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(f12_in_32_bits_by_nmi),
        cmocka_unit_test(f29_in_32_bits_on_a_vector),
        cmocka_unit_test(f43_in_64_bits_by_nmi),
    };
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(f43_in_32_bits_by_nmi),
    };
    int failed;

    if (!vm_able())
        return 0;
    failed = cmocka_run_group_tests_name("vm_p4", tests, NULL, NULL);
    if (vm_soaks())
        failed += cmocka_run_group_tests_name("vm_p4", others, NULL, NULL);
    else
        printf("3 of 4 guests: F4.3 in 32 bits in make soak (VM_RUNS=soak)\n");
    return failed;
}
