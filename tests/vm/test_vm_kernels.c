/* SPDX-License-Identifier: MIT */
/*
 * The example kernel as a guest, in 32 and 64 bits, on Intel's, NetBurst's and AMD's CPUs, by NMI and on a vector:
 * counts and samples of ring 3 and of ring 0, interrupts inside of calls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "tests/vm/vm_checks.h"

struct row {
    const char *name;
    void (*check)(const struct vm_guest *guest);
    struct vm_guest guest;
    bool soak; /* in make soak alone */
};

static void core2_and_skylake(const struct vm_guest *guest)
{
    vm_check_runs(guest->bits, 2);
}

static const struct row rows[] = {
    {"core2_in_64_bits_by_nmi", vm_check_briefly, {"core2", "core", 64, "", true}, false},
    {"skylake_in_64_bits_on_a_vector", vm_check_little, {"skylake", "skl", 64, "vector=0xe0", false}, false},
    {"samples_in_64_bits_are_right_in_every_run", core2_and_skylake, {.bits = 64}, false},
    {"core2_in_32_bits_on_a_vector", vm_check_little, {"core2", "core", 32, "vector=0xe0", true}, false},
    {"skylake_in_32_bits_by_nmi", vm_check_briefly, {"skylake", "skl", 32, "noclock", true}, false},
    {"samples_in_32_bits_are_right_in_every_run", core2_and_skylake, {.bits = 32}, false},
    {"f12_in_32_bits_by_nmi", vm_check_briefly, {"willamette", "netburst", 32, "", true}, false},
    {"f29_samples_in_32_bits_on_a_vector",
     vm_check_samples,
     {"northwood_smtoff", "netburst", 32, "vector=0xe0", true},
     false},
    {"f43_in_64_bits_by_nmi", vm_check_little, {"nocona", "netburst_p", 64, "", true}, false},
    {"f43_samples_in_32_bits_by_nmi", vm_check_samples, {"nocona", "netburst_p", 32, "noclock", true}, true},
    {"zen_4_samples_in_64_bits_on_a_vector",
     vm_check_samples,
     {"zen4", "amd64_fam19h_zen4", 64, "vector=0xe0", false},
     false},
    {"zen_4_in_64_bits_by_nmi", vm_check_little, {"zen4", "amd64_fam19h_zen4", 64, "", false}, true},
    {"k8_in_64_bits_by_nmi", vm_check_little, {"k8_revc", "amd64_k8_revc", 64, "", true}, false},
    {"k7_in_32_bits_by_nmi", vm_check_little, {"k7", "amd64_k7", 32, "", true}, false},
    {"family_15h_in_64_bits_on_a_vector",
     vm_check_little,
     {"bulldozer", "amd64_fam15h_interlagos", 64, "vector=0xe0", true},
     false},
    {"zen_2_in_32_bits_by_nmi", vm_check_little, {"zen2", "amd64_fam17h_zen2", 32, "noclock", true}, true},
};

#define ROWS (sizeof rows / sizeof rows[0])

static void check_row(void **state)
{
    const struct row *row = *state;

    row->check(&row->guest);
}

int main(void)
{
    static struct CMUnitTest tests[ROWS];
    size_t count = 0;

    if (!vm_able())
        return 0;
    for (size_t i = 0; i < ROWS; i++)
        if (!rows[i].soak || vm_soaks())
            tests[count++] = (struct CMUnitTest){rows[i].name, check_row, NULL, NULL, (void *)(uintptr_t)&rows[i]};
        else
            printf("left out: %s; make soak (VM_RUNS=soak) runs it\n", rows[i].name);
    return _cmocka_run_group_tests("vm_kernels", tests, count, NULL, NULL);
}
