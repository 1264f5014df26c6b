/* SPDX-License-Identifier: MIT */
/*
 * Every CPU that the silicon model can be, as guest: the kernel detects it, its probe
 * says what the PMU is worth, a count is exact, and no register is touched that faults.
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

static struct vm vm;

/* Those that do not count, and what the probe has to say. */
static const struct {
    const char *profile, *verdict;
    bool faults; /* something it promised does */
} special[] = {
    {"hypervisor_faults", "interrupts", true},
    {"ignores_writes", "ignores writes", false},
    {"counts_nothing", "counts nothing", false},
    {"no_pmu", "absent", false},
    {"tcg", "absent", false},
    {"p4_ignores_writes", "ignores writes", false},
    {"p4_faults", "absent", true},
    {"p4_no_perfmon", "absent", false},
    {"k7_model1", "counts", false},
    {"amd_ignores_writes", "ignores writes", false},
    {"amd_counts_nothing", "counts nothing", false},
    {"amd_faults", "absent", true},
};

static bool has_long_mode(const struct upmu_sim_profile *profile)
{
    static struct upmu_sim sim;
    uint32_t leaf[4];

    if (profile->flags & UPMU_SIM_P6 || strcmp(profile->name, "yonah") == 0)
        return false;
    upmu_sim_init(&sim, profile, 1);
    sim.cpu[0].irqs_on = false;
    sim.port.cpuid(sim.port.context, 0x80000001u, 0, leaf);
    return leaf[3] >> 29 & 1;
}

static bool expect(const struct upmu_sim_profile *profile, const char *key, const char *expected)
{
    char text[64] = "(nothing)";

    if (vm_text(&vm, key, text, sizeof text) && strcmp(text, expected) == 0)
        return true;
    print_error("%s: %s is \"%s\", not \"%s\"\n", profile->name, key, text, expected);
    return false;
}

static bool is_special(const struct upmu_sim_profile *profile)
{
    for (unsigned i = 0; i < sizeof special / sizeof special[0]; i++)
        if (strcmp(special[i].profile, profile->name) == 0)
            return true;
    return false;
}

static bool check(const struct upmu_sim_profile *profile, unsigned bits)
{
    const char *verdict = "interrupts";
    bool good, faults = false, counts;
    char elf[64];

    for (unsigned i = 0; i < sizeof special / sizeof special[0]; i++)
        if (strcmp(special[i].profile, profile->name) == 0) {
            verdict = special[i].verdict;
            faults = special[i].faults;
        }
    counts = strcmp(verdict, "interrupts") == 0 || strcmp(verdict, "counts") == 0;
    snprintf(elf, sizeof elf, "build/kernel/upmu%u.elf", bits);
    if (!vm_open(&vm, profile->name, elf, "debug-exit ; probe; off") || !vm_run(&vm)) {
        print_error("%s: %s\n", profile->name, vm.failure);
        vm_close(&vm);
        return false;
    }
    good = expect(profile, "probe.verdict", verdict) && expect(profile, "probe.end", "ok");
    if (counts)
        good = expect(profile, "probe.count.quality", "exact") && good;
    if (!faults && vm.msr_faults != 0)
        good = false, print_error("%s: %u accesses faulted\n", profile->name, (unsigned)vm.msr_faults);
    if (vm.sim.violation_count != 0)
        good = false, print_error("%s: %s (register %x)\n", profile->name, vm.sim.first_violation.text,
                                  (unsigned)vm.sim.first_violation.address);
    vm_close(&vm);
    return good;
}

static void every_cpu_of_the_model_is_judged_rightly(void **state)
{
    const struct upmu_sim_profile *profile;
    unsigned bad = 0, tried = 0, i;

    (void)state;
    for (i = 0; (profile = upmu_sim_profile_at(i)) != NULL; i++)
        if (vm_soaks() || i % 15 == 0 || is_special(profile)) {
            bad += !check(profile, has_long_mode(profile) && i % 3 != 2 ? 64 : 32);
            tried++;
        }
    printf("%u of %u CPUs (all with VM_RUNS=soak)\n", tried, i);
    assert_compare(i, >, 40);
    assert_int_equal(bad, 0);
}

/*
 * Real traps on the way into the panic.  The branches are those of the model's hooks, as it executes no code.
 * (CPUID of guests is KVM's, which hides architectural branch records.)
 */
static void a_panic_shows_the_last_branches(void **state)
{
    static const char *const profiles[] = {"haswell_smt", "skylake", "icelake", "zen4"};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        const char *shown;

        if (!vm_open(&vm, profiles[i], "build/kernel/upmu64.elf", "debug-exit branches; panic; off") || !vm_run(&vm))
            fail_msg("%s: %s", profiles[i], vm.failure);
        shown = strstr(vm.serial, "kernel: unexpected trap 6");
        if (!shown || !(shown = strstr(shown, "last branches, newest first:")) ||
            !strstr(shown, "  0xffffffff81008000 -> 0xffffffff81004000"))
            fail_msg("%s: it said: %.2000s", profiles[i], vm.serial);
        assert_int_equal(vm.sim.violation_count, 0);
        assert_int_equal(vm.exit_code, 0x11);
        vm_close(&vm);
    }
    if (!vm_open(&vm, "zen2", "build/kernel/upmu64.elf", "debug-exit branches; off") || !vm_run(&vm))
        fail_msg("%s", vm.failure);
    assert_non_null(strstr(vm.serial, "No branch records: not supported on amd64_fam17h_zen2"));
    vm_close(&vm);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cpu_of_the_model_is_judged_rightly),
        cmocka_unit_test(a_panic_shows_the_last_branches),
    };

    if (!vm_able())
        return 0;
    return cmocka_run_group_tests_name("vm_models", tests, NULL, NULL);
}
