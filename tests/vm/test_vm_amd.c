/* SPDX-License-Identifier: MIT */
/*
 * The example kernel as guest on AMD: K8, family 15h, Zen 2 and Zen 4, in 64 and 32 bits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/vm/vm_checks.h"

static void zen_4_samples_in_64_bits_on_a_vector(void **state)
{
    (void)state;
    vm_check_samples(&(struct vm_guest){"zen4", "amd64_fam19h_zen4", 64, "vector=0xe0", false});
}

static void k8_in_64_bits_by_nmi(void **state)
{
    (void)state;
    vm_check_little(&(struct vm_guest){"k8_revc", "amd64_k8_revc", 64, "", true});
}

static void k7_in_32_bits_by_nmi(void **state)
{
    (void)state;
    vm_check_little(&(struct vm_guest){"k7", "amd64_k7", 32, "", true});
}

static void family_15h_in_64_bits_on_a_vector(void **state)
{
    (void)state;
    vm_check_little(&(struct vm_guest){"bulldozer", "amd64_fam15h_interlagos", 64, "vector=0xe0", true});
}

static void zen_2_in_32_bits_by_nmi(void **state)
{
    (void)state;
    vm_check_little(&(struct vm_guest){"zen2", "amd64_fam17h_zen2", 32, "noclock", true});
}

static void zen_4_in_64_bits_by_nmi(void **state)
{
    (void)state;
    vm_check_little(&(struct vm_guest){"zen4", "amd64_fam19h_zen4", 64, "", false});
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(zen_4_samples_in_64_bits_on_a_vector),
        cmocka_unit_test(k8_in_64_bits_by_nmi),
        cmocka_unit_test(k7_in_32_bits_by_nmi),
        cmocka_unit_test(family_15h_in_64_bits_on_a_vector),
    };
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(zen_4_in_64_bits_by_nmi),
        cmocka_unit_test(zen_2_in_32_bits_by_nmi),
    };
    int failed;

    if (!vm_able())
        return 0;
    failed = cmocka_run_group_tests_name("vm_amd", tests, NULL, NULL);
    if (vm_soaks())
        failed += cmocka_run_group_tests_name("vm_amd", others, NULL, NULL);
    else
        printf("4 of 6 guests: Zen 4 by NMI and Zen 2 in 32 bits in make soak (VM_RUNS=soak)\n");
    return failed;
}
