/* SPDX-License-Identifier: MIT */
/*
 * The fakes of the simulated host against the facts, by value.  A wrong fake makes the
 * host find defects that are none, or none that are: what is here was read again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "tests/common/assertions.h"
#include "tests/host/hardware.h"

#define BIT(n) (UINT64_C(1) << (n))

/* ---- Helpers: one machine at a time ---- */

static const struct hardware_family *family;
static void *machine;

static void machine_is(const struct hardware_family *which, const char *model, const struct hardware_options *options)
{
    family = which;
    free(machine);
    machine = calloc(1, family->bytes);
    for (unsigned i = 0; i < family->model_count; i++)
        if (!strcmp(family->models[i].name, model)) {
            family->init(machine, i, 1, options);
            return;
        }
    fail_msg("no model %s", model);
}

static int machine_goes(void **state)
{
    (void)state;
    free(machine);
    machine = NULL;
    return 0;
}

static uint64_t get(unsigned cpu, uint32_t msr)
{
    uint64_t value = 0;
    assert_true(family->rdmsr(machine, cpu, msr, &value));
    return value;
}

static void put(unsigned cpu, uint32_t msr, uint64_t value)
{
    assert_true(family->wrmsr(machine, cpu, msr, value));
}

static bool takes(unsigned cpu, uint32_t msr, uint64_t value)
{
    return family->wrmsr(machine, cpu, msr, value);
}

static bool is_there(uint32_t msr)
{
    uint64_t value;
    return family->rdmsr(machine, 0, msr, &value);
}

static bool can_be_counted(uint32_t selector)
{
    uint64_t value;
    return family->rdpmc(machine, 0, selector, &value);
}

static void cycles(unsigned cpu, uint64_t count)
{
    family->happen(machine, cpu, HARDWARE_CYCLES, false, count);
}

/* ---- Intel, versions 1 to 6 ---- */

static const char *const intel_names[] = {"version 1", "merom",    "penryn",       "bonnell",
                                          "nehalem",   "westmere", "sandy bridge", "haswell",
                                          "skylake",   "ice lake", "lunar lake p", "lunar lake e"};

static void intel_counters_are_those_of_cpuid(void **state)
{
    static const unsigned general[] = {2, 2, 2, 2, 4, 4, 4, 4, 4, 8, 10, 8}; /* mock_semantics.md 1 */
    static const unsigned fixed[] = {0, 7, 7, 7, 7, 7, 7, 7, 7, 0xF, 0xF, 0x77};
    (void)state;
    for (unsigned i = 0; i < 12; i++) {
        machine_is(&hardware_intel, intel_names[i], NULL);
        assert_int_equal(get(0, 0xC1), 0);
        for (unsigned n = 0; n < 12; n++) {
            assert_int_equal(is_there(0xC1 + n), n < general[i], n, i);
            assert_int_equal(is_there(0x186 + n), n < general[i], n, i);
            assert_int_equal(can_be_counted(n), n < general[i], n, i);
            assert_int_equal(is_there(0x1900 + 4 * n), i >= 10 && n < general[i], n, i);
        }
        for (unsigned n = 0; n < 9; n++) {
            assert_int_equal(is_there(0x309 + n), fixed[i] >> n & 1, n, i);
            assert_int_equal(can_be_counted(0x40000000 + n), fixed[i] >> n & 1, n, i);
        }
        assert_false(can_be_counted(64) || can_be_counted(0x80000000)); /* mock_semantics.md 9 */
    }
}

static void intel_registers_come_with_their_version(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 12; i++) {
        machine_is(&hardware_intel, intel_names[i], NULL);
        for (uint32_t msr = 0x38D; msr <= 0x390; msr++) /* intel_core.md 1.3 */
            assert_int_equal(is_there(msr), i >= 1, i);
        assert_int_equal(is_there(0x391), i >= 8, i);
        assert_int_equal(is_there(0x392), i >= 8, i);
        assert_int_equal(is_there(0x4C1), i >= 6, i); /* intel_core.md 1.6, bit 13 */
        assert_int_equal(is_there(0x1A6), i >= 4, i);
        assert_int_equal(is_there(0x1A7), i >= 5, i); /* intel_constraints.csv: no RSP_1 on Nehalem */
    }
}

static void intel_reset_leaves_general_counters_enabled(void **state)
{
    struct hardware_options garbage = {.garbage = true};
    (void)state;
    machine_is(&hardware_intel, "skylake", &garbage);
    assert_int_equal(get(0, 0x38F), 0xF); /* mock_semantics.md 2 */
    assert_int_equal(get(0, 0x38D) | get(0, 0x38E) | get(0, 0x186) | get(0, 0x3F1), 0);
    assert_true(get(0, 0xC1) | get(0, 0xC2) | get(0, 0x30A));
    assert_false(takes(0, 0x38F, 0x10)); /* mock_semantics.md 11.8 */
    assert_false(takes(0, 0x38F, BIT(35)));
    machine_is(&hardware_intel, "lunar lake p", NULL);
    assert_int_equal(get(0, 0x38F), 0x3FF);
}

static void intel_counter_writes_have_two_widths(void **state)
{
    (void)state;
    machine_is(&hardware_intel, "haswell", NULL);
    put(0, 0xC1, 0xffffff0123456789); /* mock_semantics.md 11.2 */
    assert_int_equal(get(0, 0xC1), 0x23456789);
    put(0, 0xC1, 0x89abcdef);
    assert_int_equal(get(0, 0x4C1), 0xffff89abcdef);
    assert_false(takes(0, 0x4C1, 0xffffff0123456789)); /* 11.3 */
    put(0, 0x4C1, 0xff0123456789);
    assert_int_equal(get(0, 0xC1), 0xff0123456789);
    assert_false(takes(0, 0x309, BIT(48))); /* 3: strict */
    machine_is(&hardware_intel, "merom", NULL);
    put(0, 0xC1, 0x80000000);
    assert_int_equal(get(0, 0xC1), 0xff80000000);
    machine_is(&hardware_intel, "lunar lake e", NULL);
    put(0, 0x1900, 0x123456789abc); /* intel_core.md 2: an alias */
    assert_int_equal(get(0, 0xC1), 0x123456789abc);
    put(0, 0x1905, 0x4300C0);
    assert_int_equal(get(0, 0x187), 0x4300C0);
}

static void intel_selects_have_reserved_bits(void **state)
{
    (void)state;
    machine_is(&hardware_intel, "haswell", NULL);
    assert_true(takes(0, 0x188, 0x30000003C) && takes(0, 0x186, 0x10000003C)); /* mock_semantics.md 11.7 */
    assert_false(takes(0, 0x186, 0x20000003C));
    assert_true(takes(0, 0x186, BIT(21) | BIT(19))); /* 12 */
    assert_false(takes(0, 0x186, BIT(36)) || takes(0, 0x186, BIT(40)) || takes(0, 0x186, BIT(34)));
    machine_is(&hardware_intel, "penryn", NULL);
    assert_false(takes(0, 0x186, BIT(21)) || takes(0, 0x38D, 4));
    machine_is(&hardware_intel, "bonnell", NULL);
    assert_true(takes(0, 0x38D, 0x444));
    assert_false(takes(0, 0x38D, 0x1000));
    machine_is(&hardware_intel, "ice lake", NULL);
    assert_false(takes(0, 0x186, BIT(21)) || takes(0, 0x38D, 4)); /* EDX[15] */
    assert_true(takes(0, 0x186, BIT(34)) && takes(0, 0x38D, BIT(44)));
    machine_is(&hardware_intel, "lunar lake e", NULL);
    assert_true(takes(0, 0x186, BIT(47) | BIT(36)));
    assert_false(takes(0, 0x186, BIT(37)) || takes(0, 0x186, BIT(19)));
    assert_false(takes(0, 0x38D, 0x3000) || takes(0, 0x38D, BIT(31)));
    assert_true(takes(0, 0x38D, 0xBBB0BBB));
}

static void intel_counters_need_all_enables(void **state)
{
    (void)state;
    machine_is(&hardware_intel, "skylake", NULL);
    put(0, 0x10F, 1);
    put(0, 0x186, 0x43003C);
    put(0, 0x187, 0x41003C);
    put(0, 0x188, 0x03003C);
    put(0, 0x189, 0x4300C0);
    put(0, 0x38D, 0x010);
    cycles(0, 10); /* general counters run at reset, fixed ones do not */
    assert_int_equal(get(0, 0xC1), 10);
    assert_int_equal(get(0, 0xC2) | get(0, 0xC3) | get(0, 0xC4) | get(0, 0x30A), 0);
    put(0, 0x38F, BIT(33) | 2);
    cycles(0, 10);
    family->happen(machine, 0, HARDWARE_CYCLES, true, 5);
    assert_int_equal(get(0, 0xC1), 10);
    assert_int_equal(get(0, 0xC2), 5);
    assert_int_equal(get(0, 0x30A), 10);
    put(0, 0x391, BIT(59)); /* mock_semantics.md 4.4 */
    cycles(0, 10);
    assert_int_equal(get(0, 0x30A), 10);
    put(0, 0x390, BIT(59));
    cycles(0, 10);
    assert_int_equal(get(0, 0x30A), 20);
}

static void intel_overflow_sets_a_flag_and_masks_lvtpc(void **state)
{
    (void)state;
    machine_is(&hardware_intel, "penryn", NULL);
    put(0, 0x186, 0x43003C);
    put(0, 0xC1, (uint64_t)-9);
    family->rearm(machine, 0);
    cycles(0, 10);
    assert_int_equal(get(0, 0xC1), 1); /* mock_semantics.md 5 */
    assert_int_equal(get(0, 0x38E), 1);
    assert_false(family->interrupt(machine, 0)); /* without INT */
    assert_false(takes(0, 0x38E, 0));
    put(0, 0xC1, 0);
    put(0, 0x186, 0);
    assert_int_equal(get(0, 0x38E), 1);
    put(0, 0x390, 1);
    assert_int_equal(get(0, 0x38E) | get(0, 0x390), 0);
    put(0, 0x186, 0x53003C);
    put(0, 0xC1, (uint64_t)-10);
    cycles(0, 10);
    assert_true(family->interrupt(machine, 0));
    assert_false(family->interrupt(machine, 0));
    put(0, 0xC1, (uint64_t)-10); /* 11.14: masked now */
    cycles(0, 10);
    assert_false(family->interrupt(machine, 0));
    family->rearm(machine, 0);
    assert_false(family->interrupt(machine, 0)); /* dropped, not kept */
    put(0, 0xC1, (uint64_t)-10);
    cycles(0, 10);
    assert_true(family->interrupt(machine, 0));
}

static void intel_freeze_is_of_two_kinds(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) { /* mock_semantics.md 8, 11.13 */
        machine_is(&hardware_intel, i ? "skylake" : "penryn", NULL);
        put(0, 0x186, 0x43003C);
        put(0, 0x187, 0x4300C0);
        put(0, 0x1D9, 0x1801);
        put(0, 0xC1, (uint64_t)-10);
        cycles(0, 20);
        assert_int_equal(get(0, 0xC1), 10); /* no INT: nothing stops */
        put(0, 0x186, 0x53003C);
        put(0, 0xC1, (uint64_t)-10);
        cycles(0, 20);
        assert_int_equal(get(0, 0xC1), 0);
        assert_int_equal(get(0, 0x38F), i ? 0xF : 0, i);
        assert_int_equal(get(0, 0x1D9), i ? 0x1801 : 0x1800, i);
        assert_int_equal(get(0, 0x38E), i ? BIT(59) | BIT(58) | 1 : 1, i);
    }
}

static void intel_in_use_follows_selects(void **state)
{
    (void)state;
    machine_is(&hardware_intel, "skylake", NULL);
    assert_int_equal(get(0, 0x392), 0);
    put(0, 0x187, 0x3C); /* mock_semantics.md 6: EN is no part of it */
    put(0, 0x38D, 0x200);
    assert_int_equal(get(0, 0x392), BIT(34) | 2);
    put(0, 0x3F1, 1);
    assert_int_equal(get(0, 0x392), BIT(63) | BIT(34) | 2);
    assert_false(takes(0, 0x392, 0) || takes(0, 0x345, get(0, 0x345)));
}

static void intel_stale_pebs_is_damage(void **state)
{
    (void)state;
    machine_is(&hardware_intel, "sandy bridge", NULL);
    assert_false(takes(0, 0x3F1, 0x10) || takes(0, 0x600, BIT(60))); /* mock_semantics.md 11.11 */
    put(0, 0x600, 0xffff800000001000);
    put(0, 0x3F1, BIT(32) | 2);
    put(0, 0x186, 0x43003C);
    put(0, 0xC1, (uint64_t)-1);
    put(0, 0x38D, 0x30);
    put(0, 0x38F, BIT(33) | 3);
    put(0, 0x30A, BIT(48) - 1);
    cycles(0, 1);
    assert_null(family->damage(machine)); /* bit 32 is load latency on this core: intel_core.md 14 */
    put(0, 0x187, 0x43003C);
    put(0, 0xC2, (uint64_t)-1);
    cycles(0, 2); /* the record is that of the event after the overflow: facts/precise, rules.md */
    assert_non_null(family->damage(machine));
}

static void intel_hyper_threads_share_what_the_facts_say(void **state)
{
    (void)state;
    machine_is(&hardware_intel, "nehalem", NULL); /* intel_core.md 17 */
    put(1, 0x1A6, 0x1234);
    assert_int_equal(get(0, 0x1A6), 0x1234);
    assert_int_equal(get(2, 0x1A6), 0);
    assert_false(takes(0, 0x1A6, 0x10000));
    family->reset(machine, 0, false);
    assert_int_equal(get(1, 0x1A6), 0x1234);
    put(1, 0x186, 0x63003C); /* AnyThread */
    put(2, 0x186, 0x63003C);
    cycles(0, 7);
    assert_int_equal(get(1, 0xC1), 7);
    assert_int_equal(get(2, 0xC1), 0);
    machine_is(&hardware_intel, "haswell", NULL);
    put(1, 0x1A6, 0x1234 & 0x8fff);
    assert_int_equal(get(0, 0x1A6), 0);
}

static void intel_early_core2_denies_its_fixed_counters(void **state)
{
    struct hardware_options hypervisor = {.hypervisor = true};
    uint32_t out[4];
    (void)state;
    machine_is(&hardware_intel, "merom", NULL); /* intel_quirks.md Q-A1, Q-E6 */
    family->cpuid(machine, 0, 0xA, 0, out);
    assert_int_equal(out[3], 0);
    assert_true(is_there(0x30B));
    machine_is(&hardware_intel, "merom", &hypervisor);
    assert_false(is_there(0x309));
    machine_is(&hardware_intel, "lunar lake e", NULL); /* intel_core.md 1.4 */
    family->cpuid(machine, 0, 0x23, 1, out);
    assert_int_equal(out[0], 0xFF);
    assert_int_equal(out[1], 0x77);
}

static void intel_leftovers_harm_without_a_driver_only(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 12; i++)
        for (uint64_t seed = 0; seed < 200; seed++) {
            machine_is(&hardware_intel, intel_names[i], NULL);
            family->leave(machine, 0, seed);
            for (enum hardware_event event = 0; event < HARDWARE_EVENTS; event++)
                family->happen(machine, 0, event, false, 1000000);
            assert_null(family->damage(machine));
            family->rearm(machine, 0);
            assert_false(family->interrupt(machine, 0));
        }
}

/* ---- P6 and Core Duo ---- */

static void p6_one_enable_serves_both_counters(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t code = i ? 0x3C : 0x79; /* intel_generic_map.csv */
        machine_is(&hardware_p6, i ? "core duo" : "pentium iii", NULL);
        put(0, 0x187, 0x430000 | code); /* intel_core.md 16: EN of select 1 is ignored */
        cycles(0, 5);
        assert_int_equal(get(0, 0xC2), 0);
        put(0, 0x186, 0x40002E);
        put(0, 0x187, 0x030000 | code);
        cycles(0, 5);
        assert_int_equal(get(0, 0xC2), 5);
        assert_int_equal(get(0, 0xC1), 0);
        put(0, 0x187, 0x010000 | code);
        cycles(0, 5);
        family->happen(machine, 0, HARDWARE_CYCLES, true, 2);
        assert_int_equal(get(0, 0xC2), 7);
        put(0, 0x186, 0);
        family->happen(machine, 0, HARDWARE_CYCLES, true, 2);
        assert_int_equal(get(0, 0xC2), 7);
        assert_int_equal(get(1, 0xC2), 0);
    }
}

static void p6_counters_are_40_bits_written_by_32(void **state)
{
    (void)state;
    machine_is(&hardware_p6, "pentium iii", NULL);
    put(0, 0xC1, 0x1280000000); /* mock_semantics.md 3 */
    assert_int_equal(get(0, 0xC1), 0xFF80000000);
    put(0, 0xC1, 0x127fffffff);
    assert_int_equal(get(0, 0xC1), 0x7fffffff);
    assert_false(takes(0, 0x186, BIT(21)) || takes(0, 0x186, BIT(32)));
    assert_false(is_there(0xC3) || is_there(0x188) || is_there(0x309) || is_there(0x38F) || is_there(0x38E));
    assert_false(is_there(0x345) || is_there(0x3F1));
    machine_is(&hardware_p6, "core duo", NULL);
    assert_true(is_there(0x345)); /* mock_semantics.md 1: PDCM */
    assert_false(is_there(0x38F) || takes(0, 0x1D9, 0x1000));
}

static void p6_reads_fast_and_core_duo_does_not(void **state)
{
    uint64_t value = 0;
    (void)state;
    machine_is(&hardware_p6, "pentium iii", NULL);
    put(0, 0xC2, (uint64_t)-2);
    assert_true(family->rdpmc(machine, 0, 1, &value));
    assert_int_equal(value, 0xFFFFFFFFFE);
    assert_true(family->rdpmc(machine, 0, 0x80000001, &value)); /* intel_core.md 10 */
    assert_int_equal(value, 0xFFFFFFFE);
    assert_false(can_be_counted(2));
    machine_is(&hardware_p6, "core duo", NULL);
    assert_true(can_be_counted(1));
    assert_false(can_be_counted(0x80000001) || can_be_counted(0x40000000));
}

/* foreign.md 6.1: a hidden flag keeps the next interrupt away until it is cleared.  Version 1 has no flags. */
static void intel_hidden_flags(void **state)
{
    static const char *const names[] = {"version 1", "skylake"};
    const struct hardware_options options = {.lost_flags = true};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        unsigned hidden = 0;

        machine_is(&hardware_intel, names[i], &options);
        put(0, 0x186, 0x53003C);
        for (unsigned round = 0; round < 100; round++) {
            family->rearm(machine, 0);
            put(0, 0xC1, (uint64_t)-10);
            cycles(0, 10);
            assert_true(family->interrupt(machine, 0));
            family->rearm(machine, 0);
            hidden += family->untold(machine, 0);
            assert_true(!i || family->untold(machine, 0) == !get(0, 0x38E), i);
            put(0, 0xC1, (uint64_t)-10);
            cycles(0, 10);
            assert_int_equal(family->interrupt(machine, 0), !i, i);
            if (i)
                put(0, 0x390, 1);
            assert_false(family->untold(machine, 0));
        }
        assert_in_range(hidden, i ? 10 : 0, i ? 50 : 0, i);
    }
}

static void p6_overflow_interrupts_and_masks_lvtpc(void **state)
{
    (void)state;
    machine_is(&hardware_p6, "core duo", NULL);
    family->rearm(machine, 0);
    put(0, 0x186, 0x43003C);
    put(0, 0x187, 0x13003C);
    put(0, 0xC1, (uint64_t)-3);
    put(0, 0xC2, (uint64_t)-5);
    cycles(0, 4);
    assert_false(family->interrupt(machine, 0)); /* without INT */
    cycles(0, 4);
    assert_true(family->interrupt(machine, 0));
    assert_int_equal(get(0, 0xC2), 3);
    put(0, 0xC2, (uint64_t)-5);
    cycles(0, 5);
    family->rearm(machine, 0); /* mock_semantics.md 7: what came while it was masked is dropped */
    assert_false(family->interrupt(machine, 0));
}

static void p6_watchdog_keeps_the_common_enable(void **state)
{
    (void)state;
    machine_is(&hardware_p6, "pentium iii", NULL);
    assert_true(family->watchdog(machine, 0, 1, true, true, 100));
    cycles(0, 250);
    assert_true(family->interrupt(machine, 0));
    assert_true(family->watchdog_interrupt(machine, 0, 1));
    assert_false(family->watchdog_interrupt(machine, 0, 1));
    cycles(0, 50);
    assert_int_equal(family->watchdog_cycles(machine, 0, 1), 300);
    put(0, 0x187, 0x0300C0);
    assert_true(family->watchdog(machine, 0, 0, true, false, 0));
    assert_true(family->watchdog(machine, 0, 0, false, false, 0));
    family->happen(machine, 0, HARDWARE_INSTRUCTIONS, false, 9);
    assert_int_equal(get(0, 0x186), 0x40002E); /* counter 1 still counts: intel_core.md 8 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(intel_counters_are_those_of_cpuid, machine_goes),
        cmocka_unit_test_teardown(intel_registers_come_with_their_version, machine_goes),
        cmocka_unit_test_teardown(intel_reset_leaves_general_counters_enabled, machine_goes),
        cmocka_unit_test_teardown(intel_counter_writes_have_two_widths, machine_goes),
        cmocka_unit_test_teardown(intel_selects_have_reserved_bits, machine_goes),
        cmocka_unit_test_teardown(intel_counters_need_all_enables, machine_goes),
        cmocka_unit_test_teardown(intel_overflow_sets_a_flag_and_masks_lvtpc, machine_goes),
        cmocka_unit_test_teardown(intel_hidden_flags, machine_goes),
        cmocka_unit_test_teardown(intel_freeze_is_of_two_kinds, machine_goes),
        cmocka_unit_test_teardown(intel_in_use_follows_selects, machine_goes),
        cmocka_unit_test_teardown(intel_stale_pebs_is_damage, machine_goes),
        cmocka_unit_test_teardown(intel_hyper_threads_share_what_the_facts_say, machine_goes),
        cmocka_unit_test_teardown(intel_early_core2_denies_its_fixed_counters, machine_goes),
        cmocka_unit_test_teardown(intel_leftovers_harm_without_a_driver_only, machine_goes),
        cmocka_unit_test_teardown(p6_one_enable_serves_both_counters, machine_goes),
        cmocka_unit_test_teardown(p6_counters_are_40_bits_written_by_32, machine_goes),
        cmocka_unit_test_teardown(p6_reads_fast_and_core_duo_does_not, machine_goes),
        cmocka_unit_test_teardown(p6_overflow_interrupts_and_masks_lvtpc, machine_goes),
        cmocka_unit_test_teardown(p6_watchdog_keeps_the_common_enable, machine_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
