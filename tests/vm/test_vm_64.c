/* SPDX-License-Identifier: MIT */
/*
 * The example kernel as guest in 64 bits.
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

static void core2_by_nmi(void **state)
{
    (void)state;
    vm_check_briefly(&(struct vm_guest){"core2", "core", 64, "", true});
}

static void skylake_on_a_vector(void **state)
{
    (void)state;
    vm_check_little(&(struct vm_guest){"skylake", "skl", 64, "vector=0xe0", false});
}

static void samples_are_at_the_right_instruction_in_every_run(void **state)
{
    (void)state;
    vm_check_runs(64, 2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(core2_by_nmi),
        cmocka_unit_test(skylake_on_a_vector),
        cmocka_unit_test(samples_are_at_the_right_instruction_in_every_run),
    };

    if (!vm_able())
        return 0;
    return cmocka_run_group_tests_name("vm_64", tests, NULL, NULL);
}
