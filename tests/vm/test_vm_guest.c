/* SPDX-License-Identifier: MIT */
/*
 * The example kernel, the same bytes, on a PMU of the guest engine: it prints what it prints on the model itself.
 * Where the host counts beside it the guest uses no more counters than the host leaves.  Without a clock: how
 * many instructions it takes to read one depends on the time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/common/assertions.h"

#include "tests/vm/vm_checks.h"

static void skylake_in_64_bits_says_the_same_beside_a_counting_host(void **state)
{
    (void)state;
    vm_check_same(&(struct vm_guest){"skylake", "skl", 64, "noclock", true}, "skylake", "r00c4,instructions", true);
}

static void core2_in_32_bits_on_a_vector_says_the_same(void **state)
{
    (void)state;
    vm_check_same(&(struct vm_guest){"core2", "core", 32, "noclock vector=0xe0", true}, "core2",
                  "r00c4,r412e,instructions", false);
}

static void zen_4_in_64_bits_says_the_same_beside_a_counting_host(void **state)
{
    (void)state;
    vm_check_same(&(struct vm_guest){"zen4", "amd64_fam19h_zen4", 64, "noclock vector=0xe0", true}, "zen4",
                  "r00c2,r0076,r00c0", true);
}

static void k7_in_32_bits_says_the_same(void **state)
{
    (void)state;
    vm_check_same(&(struct vm_guest){"k7", "amd64_k7", 32, "noclock", true}, "k7", "r00c4,r00c5,r0076,r00c0", false);
}

static void with_a_page_in_64_bits_it_counts_the_same(void **state)
{
    (void)state;
    vm_check_page(&(struct vm_guest){"skylake", "pv", 64, "noclock", true}, "skylake");
}

static void with_a_page_in_32_bits_it_counts_the_same(void **state)
{
    (void)state;
    vm_check_page(&(struct vm_guest){"skylake", "pv", 32, "noclock", true}, "skylake");
}

int main(void)
{
    /* (in `make test` one of each maker, both beside sessions of the host's) */
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(skylake_in_64_bits_says_the_same_beside_a_counting_host),
        cmocka_unit_test(zen_4_in_64_bits_says_the_same_beside_a_counting_host),
        cmocka_unit_test(with_a_page_in_32_bits_it_counts_the_same),
    };
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(core2_in_32_bits_on_a_vector_says_the_same),
        cmocka_unit_test(k7_in_32_bits_says_the_same),
        cmocka_unit_test(with_a_page_in_64_bits_it_counts_the_same),
    };
    int failed;

    if (!vm_able())
        return 0;
    failed = cmocka_run_group_tests_name("vm_guest", tests, NULL, NULL);
    if (vm_soaks())
        failed += cmocka_run_group_tests_name("vm_guest", others, NULL, NULL);
    else
        printf("3 of 6 guests: Core 2 and K7 in 32 bits, the page in 64 bits in make soak (VM_RUNS=soak)\n");
    return failed;
}
