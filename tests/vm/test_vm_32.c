/* SPDX-License-Identifier: MIT */
/*
 * The example kernel as guest in 32 bits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/vm/vm_checks.h"

#define ALONE 2u /* guests that are tested in full */

static void core2_on_a_vector(void **state)
{
    (void)state;
    vm_check_all(&(struct vm_guest){"core2", "core", 32, "vector=0xe0", true});
}

static void skylake_by_nmi(void **state)
{
    (void)state;
    vm_check_all(&(struct vm_guest){"skylake", "skl", 32, "noclock", true});
}

/* Together with the one of each above; with VM_RUNS=soak ten of each width. */
static void a_thousand_samples_in_every_run(void **state)
{
    static const char *const options[] = {"", "vector=0xe0", "nordpmc", "noclock"};
    const char *wanted = getenv("VM_RUNS");
    unsigned runs = wanted && !strcmp(wanted, "soak") ? 10 - ALONE : 1;

    (void)state;
    for (unsigned i = 0; i < runs; i++) {
        bool skylake = i & 1;

        vm_check_samples(
            &(struct vm_guest){skylake ? "skylake" : "core2", skylake ? "skl" : "core", 32, options[i / 2 % 4], true});
    }
    printf("%u of %u runs: 1000 samples, 100 instructions apart, all at the right instruction\n", runs + ALONE,
           runs + ALONE);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(core2_on_a_vector),
        cmocka_unit_test(skylake_by_nmi),
        cmocka_unit_test(a_thousand_samples_in_every_run),
    };

    if (!vm_able())
        return 0;
    return cmocka_run_group_tests_name("vm_32", tests, NULL, NULL);
}
