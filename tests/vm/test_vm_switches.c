/* SPDX-License-Identifier: MIT */
/*
 * What thread switches, set switches and an interrupt of the example kernel cost, with
 * real instructions: the monitor counts the RDMSRs and WRMSRs that left the guest, and
 * compares them with the budgets that the silicon model asserts
 * (test_budget_profiles.c).  RDPMC always #GPs in a guest: each P is an RDMSR here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "tests/vm/vm.h"
#include "tests/vm/vm_kernel.h"

#define ROUNDS 1u

enum protocol { GLOBAL, SELECT, NETBURST };

static struct vm vm;

struct guest {
    const char *profile;
    unsigned bits;
    const char *options;
    enum protocol protocol;
    const char *events;
};

#define INTEL4 "r00c4,r412e,r4f2e,r00c5,instructions"
#define INTEL2 "r00c4,r412e,instructions"
#define AMD4 "r00c2,r00c3,r0076,r00c0"
#define P4 "branches,cache-references,instructions,branch-misses"
static const struct guest guests[] = {
    {"skylake", 64, "", GLOBAL, INTEL4},       {"core2", 32, "vector=0xe0", GLOBAL, INTEL2},
    {"zen4", 64, "vector=0xe0", GLOBAL, AMD4}, {"version1", 32, "", SELECT, "r00c4,r412e"},
    {"k8_revc", 64, "", SELECT, AMD4},         {"nocona", 64, "", NETBURST, P4},
};

static void costs(const struct guest *guest, char code, unsigned n, unsigned writes, unsigned reads, unsigned rearms)
{
    struct vm_accesses seen;

    if (!vm_accesses_of(&vm, (uint8_t)code, n, &seen))
        fail_msg("%s: no switch %u of %c; it said: %.2000s", guest->profile, n, code, vm.serial);
    if (seen.writes != writes || seen.reads != reads || seen.rearms != rearms)
        fail_msg("%s: %c: %u W %u P %u LVT instead of %u W %u P %u LVT", guest->profile, code, (unsigned)seen.writes,
                 (unsigned)seen.reads, (unsigned)seen.rearms, writes, reads, rearms);
}

static void check(const struct guest *guest)
{
    char command[128];
    unsigned n, gates, changed;
    /* The sampled event is of user mode alone: AMD's counters stand still in the handler. */
    bool still = guest->protocol == SELECT && strstr(guest->events, AMD4);
    unsigned writes = guest->protocol == GLOBAL ? 4 : still ? 1 : 3, reads = still ? 1 : 2;

    snprintf(command, sizeof command, "switches %s", guest->events);
    vm_run_kernel(&vm, &(struct vm_guest){guest->profile, NULL, guest->bits, guest->options, true}, NULL, "upmu",
                  command);
    vm_expect_no_violation(&vm);
    vm_expect(&vm, "switches.status", "no error");
    n = (unsigned)vm_said(&vm, "switches.events");
    assert_in_range(vm_said(&vm, "switches.events"), 2, 5);
    gates = guest->protocol == GLOBAL ? 1 : n;
    changed = guest->protocol == GLOBAL ? 2 + n : guest->protocol == SELECT ? 2 * n : 3 * n;
    for (unsigned round = 0; round < 2 * ROUNDS; round++) {
        costs(guest, 's', round, 0, n, 0);
        costs(guest, 'c', round, changed, 2 * n, 0);
        costs(guest, 'e', round, changed, 2 * n, 0);
        if (round >= ROUNDS)
            continue;
        costs(guest, 'a', round, gates, n, 0);
        costs(guest, 'b', round, gates, 0, 0);
    }
    costs(guest, 'i', 0, writes, reads, 1);
    printf("%-16s %u-bit, %u events: same 0 W %u P, changed %2u W %2u P, sets %2u W %2u P, unmonitored %u W %u P, "
           "interrupt %u W %u R/P 1 LVT\n",
           guest->profile, guest->bits, n, n, changed, 2 * n, changed, 2 * n, gates, n,
           writes, reads);
    vm_close(&vm);
}

static void switches_of_a_real_kernel_cost_what_the_model_says(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof guests / sizeof guests[0]; i++)
        check(&guests[i]);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(switches_of_a_real_kernel_cost_what_the_model_says),
    };

    if (!vm_able())
        return 0;
    return cmocka_run_group_tests_name("vm_switches", tests, NULL, NULL);
}
