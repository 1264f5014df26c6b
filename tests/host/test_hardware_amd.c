/* SPDX-License-Identifier: MIT */
/*
 * The AMD fake of the simulated host has the rules of the facts, by value (names of files as in hardware_amd.c).
 */
#include "tests/host/hardware.h"

#include <setjmp.h>
#include <stdarg.h>
#include "tests/common/assertions.h"

#include <stdlib.h>
#include <string.h>

static const struct hardware_family *const amd = &hardware_amd;
static const struct hardware_options plain;

static void *machine(const char *name, struct hardware_options options)
{
    void *hardware = calloc(1, amd->bytes);
    assert_non_null(hardware);
    for (unsigned i = 0; i < amd->model_count; i++)
        if (strcmp(amd->models[i].name, name) == 0) {
            amd->init(hardware, i, 1, &options);
            for (unsigned cpu = 0; cpu < amd->models[i].cpus; cpu++)
                amd->rearm(hardware, cpu);
            return hardware;
        }
    fail_msg("no model %s", name);
    return NULL;
}

static uint64_t get(void *hardware, unsigned cpu, uint32_t msr)
{
    uint64_t value = 0;
    assert_true(amd->rdmsr(hardware, cpu, msr, &value));
    return value;
}

static void put(void *hardware, unsigned cpu, uint32_t msr, uint64_t value)
{
    assert_true(amd->wrmsr(hardware, cpu, msr, value));
}

static void absent(void *hardware, uint32_t msr)
{
    uint64_t value;
    assert_false(amd->rdmsr(hardware, 0, msr, &value));
    assert_false(amd->wrmsr(hardware, 0, msr, 0));
}

/* M2 */
static void blocks_exist_where_cpuid_promises_them(void **state)
{
    void *k8 = machine("k8-revf", plain), *zen1 = machine("zen1", plain), *zen4 = machine("zen4", plain);
    (void)state;
    absent(k8, 0xc0010200);
    absent(k8, 0xc0000300);
    absent(k8, 0xc0011033);
    absent(zen1, 0xc0000301);
    absent(zen1, 0xc001020c);
    get(zen1, 0, 0xc001020b);
    get(zen4, 0, 0xc0000303);
    absent(zen1, 0xc001103f);
    get(zen1, 0, 0xc001103c);
    free(k8);
    free(zen1);
    free(zen4);
}

/* M2: write either, read the other. */
static void legacy_registers_are_the_first_four_extended_ones(void **state)
{
    void *zen = machine("zen1", plain);
    (void)state;
    put(zen, 0, 0xc0010003, 0x5300c0);
    assert_int_equal(get(zen, 0, 0xc0010206), 0x5300c0);
    put(zen, 0, 0xc0010203, 77);
    assert_int_equal(get(zen, 0, 0xc0010005), 77);
    free(zen);
}

/* M3, A3, P6 */
static void reserved_select_bits_are_dropped_without_a_fault(void **state)
{
    void *k8 = machine("k8-revf", plain), *f10h = machine("f10h", plain), *zen3 = machine("zen3", plain);
    (void)state;
    put(k8, 0, 0xc0010000, ~UINT64_C(0));
    assert_int_equal(get(k8, 0, 0xc0010000), 0xffdfffff);
    put(f10h, 0, 0xc0010000, ~UINT64_C(0));
    assert_int_equal(get(f10h, 0, 0xc0010000), 0x30fffd7ffff);
    put(zen3, 0, 0xc0010200, ~UINT64_C(0));
    assert_int_equal(get(zen3, 0, 0xc0010200), 0x70fffdfffff);
    put(zen3, 0, 0xc0010204, ~UINT64_C(0));
    assert_int_equal(get(zen3, 0, 0xc0010204), 0xf0fffdfffff); /* A8.4: PREC_RET */
    free(k8);
    free(f10h);
    free(zen3);
}

/* M4 */
static void counters_have_48_bits_and_go_on_after_an_overflow(void **state)
{
    void *k8 = machine("k8-revf", plain);
    (void)state;
    put(k8, 0, 0xc0010004, ~UINT64_C(0));
    assert_int_equal(get(k8, 0, 0xc0010004), 0xffffffffffff);
    put(k8, 0, 0xc0010000, 0x430076);
    amd->happen(k8, 0, HARDWARE_CYCLES, true, 10);
    assert_int_equal(get(k8, 0, 0xc0010004), 9);
    assert_false(amd->interrupt(k8, 0));
    free(k8);
}

/* M3: OS and USR; A3.1: host and guest bits with SVME 0. */
static void privilege_and_guest_bits_filter(void **state)
{
    void *zen = machine("zen1", plain);
    (void)state;
    put(zen, 0, 0xc0010200, 0x4100c0);
    put(zen, 0, 0xc0010202, 0x4200c0);
    put(zen, 0, 0xc0010204, 0x4000c0);
    put(zen, 0, 0xc0010206, UINT64_C(0x200004300c0));
    amd->happen(zen, 0, HARDWARE_INSTRUCTIONS, true, 5);
    amd->happen(zen, 0, HARDWARE_INSTRUCTIONS, false, 3);
    assert_int_equal(get(zen, 0, 0xc0010201), 5);
    assert_int_equal(get(zen, 0, 0xc0010203), 3);
    assert_int_equal(get(zen, 0, 0xc0010205), 0);
    assert_int_equal(get(zen, 0, 0xc0010207), 0);
    free(zen);
}

/* M6: delivery leaves LVTPC alone; K7 model 1 has no local APIC. */
static void two_interrupts_come_without_a_write_to_lvtpc(void **state)
{
    void *k8 = machine("k8-revf", plain), *k7 = machine("k7-model1", plain);
    (void)state;
    for (unsigned round = 0; round < 2; round++) {
        put(k8, 0, 0xc0010004, ~UINT64_C(0));
        put(k8, 0, 0xc0010000, 0x530076);
        amd->happen(k8, 0, HARDWARE_CYCLES, false, 1);
        assert_true(amd->interrupt(k8, 0));
        assert_false(amd->interrupt(k8, 0));
    }
    put(k7, 0, 0xc0010004, ~UINT64_C(0));
    put(k7, 0, 0xc0010000, 0x530076);
    amd->happen(k7, 0, HARDWARE_CYCLES, false, 1);
    assert_false(amd->interrupt(k7, 0));
    free(k8);
    free(k7);
}

/* M6: late; of an overflow before a disable, too. */
static void an_interrupt_may_come_after_its_counter_was_closed(void **state)
{
    void *k8 = machine("k8-revf", (struct hardware_options){.late = 100});
    unsigned calls = 0;
    (void)state;
    put(k8, 0, 0xc0010004, ~UINT64_C(0));
    put(k8, 0, 0xc0010000, 0x530076);
    amd->happen(k8, 0, HARDWARE_CYCLES, false, 1);
    put(k8, 0, 0xc0010000, 0);
    while (!amd->interrupt(k8, 0))
        assert_compare(++calls, <=, 100);
    free(k8);
}

/* M5, A9 */
static void global_registers_of_perfmon_v2(void **state)
{
    void *zen4 = machine("zen4", plain);
    (void)state;
    assert_int_equal(get(zen4, 0, 0xc0000301), 0x3f);
    put(zen4, 0, 0xc0000301, 0xffff);
    assert_int_equal(get(zen4, 0, 0xc0000301), 0x3f);
    put(zen4, 0, 0xc0000301, 2);
    put(zen4, 0, 0xc0010200, 0x4300c0);
    put(zen4, 0, 0xc0010202, 0x4300c0);
    put(zen4, 0, 0xc0010203, ~UINT64_C(0));
    amd->happen(zen4, 0, HARDWARE_INSTRUCTIONS, true, 4);
    assert_int_equal(get(zen4, 0, 0xc0010201), 0);
    assert_int_equal(get(zen4, 0, 0xc0010203), 3);
    assert_int_equal(get(zen4, 0, 0xc0000300), 2);
    assert_false(amd->interrupt(zen4, 0));
    put(zen4, 0, 0xc0000300, 0);
    assert_int_equal(get(zen4, 0, 0xc0000300), 2);
    put(zen4, 0, 0xc0000302, ~UINT64_C(0));
    assert_int_equal(get(zen4, 0, 0xc0000300), 0);
    put(zen4, 0, 0xc0000303, 1);
    assert_int_equal(get(zen4, 0, 0xc0000300), 1);
    assert_int_equal(get(zen4, 0, 0xc0000303), 0);
    assert_false(amd->interrupt(zen4, 0));
    free(zen4);
}

/* M5: freeze */
static void an_interrupting_overflow_freezes_until_bit_59_is_cleared(void **state)
{
    void *zen4 = machine("zen4", plain);
    (void)state;
    put(zen4, 0, 0x1d9, 0x1000);
    put(zen4, 0, 0xc0010200, 0x5300c0);
    put(zen4, 0, 0xc0010201, (UINT64_C(1) << 48) - 10);
    put(zen4, 0, 0xc0010202, 0x4300c0);
    amd->happen(zen4, 0, HARDWARE_INSTRUCTIONS, true, 100);
    assert_int_equal(get(zen4, 0, 0xc0010201), 0);
    assert_int_equal(get(zen4, 0, 0xc0010203), 10);
    assert_int_equal(get(zen4, 0, 0xc0000300), (UINT64_C(1) << 59) | 1);
    put(zen4, 0, 0xc0000302, UINT64_C(1) << 59);
    amd->happen(zen4, 0, HARDWARE_INSTRUCTIONS, true, 5);
    assert_int_equal(get(zen4, 0, 0xc0010203), 15);
    free(zen4);
}

/* A8.1, M8 */
static void northbridge_counts_are_the_nodes(void **state)
{
    void *k8 = machine("k8-revf", plain);
    (void)state;
    put(k8, 0, 0xc0010001, 0x4398e9);
    put(k8, 1, 0xc0010001, 0x398e9);
    put(k8, 2, 0xc0010001, 0x398e9);
    amd->happen(k8, 1, HARDWARE_CACHE_MISSES, true, 6);
    amd->happen(k8, 2, HARDWARE_CACHE_MISSES, true, 100);
    assert_int_equal(get(k8, 0, 0xc0010005), 6);
    assert_int_equal(get(k8, 1, 0xc0010005), 6);
    assert_int_equal(get(k8, 2, 0xc0010005), 0);
    assert_null(amd->damage(k8));
    put(k8, 1, 0xc0010001, 0x4398e9);
    assert_non_null(amd->damage(k8));
    free(k8);
}

/* M8: rev E */
static void any_select_written_resets_northbridge_counts_of_rev_e(void **state)
{
    void *k8 = machine("k8-reve-dual", plain);
    (void)state;
    put(k8, 0, 0xc0010001, 0x4398e9);
    amd->happen(k8, 0, HARDWARE_CACHE_MISSES, true, 6);
    assert_int_equal(get(k8, 0, 0xc0010005), 6);
    put(k8, 1, 0xc0010003, 0);
    assert_int_equal(get(k8, 0, 0xc0010005), 0);
    free(k8);
}

/* A8.2: cycles (76h) on counters 0 to 2, instructions (C0h) on all. */
static void groups_of_family_15h(void **state)
{
    void *f15h = machine("f15h", plain);
    (void)state;
    for (uint32_t i = 0; i < 6; i++)
        put(f15h, 0, 0xc0010200 + 2 * i, i % 2 == 0 ? 0x430076 : 0x4300c0);
    amd->happen(f15h, 0, HARDWARE_CYCLES, true, 8);
    amd->happen(f15h, 0, HARDWARE_INSTRUCTIONS, true, 4);
    assert_int_equal(get(f15h, 0, 0xc0010201), 8);
    assert_int_equal(get(f15h, 0, 0xc0010209), 0);
    assert_int_equal(get(f15h, 0, 0xc001020b), 4);
    free(f15h);
}

/* A5 */
static void rdpmc_reads_core_counters_by_index(void **state)
{
    void *k8 = machine("k8-revf", plain), *zen = machine("zen1", plain);
    uint64_t value;
    (void)state;
    put(k8, 0, 0xc0010007, 33);
    assert_true(amd->rdpmc(k8, 0, 3, &value) && value == 33);
    assert_false(amd->rdpmc(k8, 0, 4, &value));
    assert_false(amd->rdpmc(k8, 0, 0x80000000, &value));
    put(zen, 0, 0xc001020b, 44);
    assert_true(amd->rdpmc(zen, 0, 5, &value) && value == 44);
    free(k8);
    free(zen);
}

/* M9 */
static void ibs_takes_one_sample_until_valid_is_cleared(void **state)
{
    void *zen = machine("zen1", plain);
    (void)state;
    put(zen, 0, 0xc0011033, 0xa0009); /* EN, ops, every 90h */
    amd->happen(zen, 0, HARDWARE_CYCLES, true, 1000);
    assert_false(amd->interrupt(zen, 0));
    amd->happen(zen, 0, HARDWARE_INSTRUCTIONS, true, 0x8f);
    assert_int_equal(get(zen, 0, 0xc0011033) >> 32, 0x8f);
    assert_false(amd->interrupt(zen, 0));
    amd->happen(zen, 0, HARDWARE_INSTRUCTIONS, true, 1);
    assert_int_equal(get(zen, 0, 0xc0011033) & 0xfffff, 0xe0009);
    assert_compare(get(zen, 0, 0xc0011033) >> 32, <, 0x80);
    assert_true(amd->interrupt(zen, 0));
    amd->happen(zen, 0, HARDWARE_INSTRUCTIONS, true, 1000);
    assert_false(amd->interrupt(zen, 0));
    put(zen, 0, 0xc0011033, 0xa0009);
    amd->happen(zen, 0, HARDWARE_INSTRUCTIONS, true, 0x90);
    assert_true(amd->interrupt(zen, 0));
    free(zen);
}

/* M9: erratum 420 */
static void ibs_of_family_10h_is_closed_in_two_steps(void **state)
{
    void *f10h = machine("f10h", plain);
    (void)state;
    put(f10h, 0, 0xc0011033, 0x20009);
    put(f10h, 0, 0xc0011033, 0x20000);
    put(f10h, 0, 0xc0011033, 0);
    assert_false(amd->interrupt(f10h, 0));
    put(f10h, 0, 0xc0011033, 0x20009);
    put(f10h, 0, 0xc0011033, 0);
    assert_true(amd->interrupt(f10h, 0));
    assert_true(amd->interrupt(f10h, 0));
    put(f10h, 0, 0xc0011033, 0);
    assert_false(amd->interrupt(f10h, 0));
    free(f10h);
}

/* M9: 16h to 18h */
static void a_fetch_count_restarts_only_when_enable_rises(void **state)
{
    void *zen = machine("zen1", plain);
    (void)state;
    for (unsigned round = 0; round < 3; round++) {
        if (round != 1)
            put(zen, 0, 0xc0011030, 0);
        put(zen, 0, 0xc0011030, (UINT64_C(1) << 48) | 1);
        amd->happen(zen, 0, HARDWARE_INSTRUCTIONS, true, 16);
        assert_int_equal(amd->interrupt(zen, 0), round != 1);
    }
    free(zen);
}

/* M4, M3 */
static void a_reset_clears_selects_and_leaves_counters_undefined(void **state)
{
    void *zen4 = machine("zen4", (struct hardware_options){.garbage = true});
    uint64_t any = 0;
    (void)state;
    amd->leave(zen4, 1, 3);
    amd->reset(zen4, 1, true);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(get(zen4, 1, 0xc0010200 + 2 * i), 0, i);
        any |= get(zen4, 1, 0xc0010201 + 2 * i);
    }
    assert_int_not_equal(any, 0);
    assert_int_equal(get(zen4, 1, 0xc0000301), 0x3f);
    assert_int_equal(get(zen4, 1, 0xc0000300), 0);
    free(zen4);
}

static void a_watchdog_counts_cycles_over_its_interrupts(void **state)
{
    void *zen4 = machine("zen4", plain);
    (void)state;
    put(zen4, 0, 0xc0000301, 0);
    assert_true(amd->watchdog(zen4, 0, 2, true, true, 100));
    for (unsigned i = 0; i < 7; i++) {
        amd->happen(zen4, 0, HARDWARE_CYCLES, i % 2 != 0, 60);
        assert_int_equal(amd->interrupt(zen4, 0), amd->watchdog_interrupt(zen4, 0, 2));
    }
    assert_int_equal(amd->watchdog_cycles(zen4, 0, 2), 420);
    assert_true(amd->watchdog(zen4, 0, 2, false, false, 0));
    assert_int_equal(get(zen4, 0, 0xc0000301), 0);
    assert_false(amd->watchdog(zen4, 0, 6, true, false, 0));
    free(zen4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_exist_where_cpuid_promises_them),
        cmocka_unit_test(legacy_registers_are_the_first_four_extended_ones),
        cmocka_unit_test(reserved_select_bits_are_dropped_without_a_fault),
        cmocka_unit_test(counters_have_48_bits_and_go_on_after_an_overflow),
        cmocka_unit_test(privilege_and_guest_bits_filter),
        cmocka_unit_test(two_interrupts_come_without_a_write_to_lvtpc),
        cmocka_unit_test(an_interrupt_may_come_after_its_counter_was_closed),
        cmocka_unit_test(global_registers_of_perfmon_v2),
        cmocka_unit_test(an_interrupting_overflow_freezes_until_bit_59_is_cleared),
        cmocka_unit_test(northbridge_counts_are_the_nodes),
        cmocka_unit_test(any_select_written_resets_northbridge_counts_of_rev_e),
        cmocka_unit_test(groups_of_family_15h),
        cmocka_unit_test(rdpmc_reads_core_counters_by_index),
        cmocka_unit_test(ibs_takes_one_sample_until_valid_is_cleared),
        cmocka_unit_test(ibs_of_family_10h_is_closed_in_two_steps),
        cmocka_unit_test(a_fetch_count_restarts_only_when_enable_rises),
        cmocka_unit_test(a_reset_clears_selects_and_leaves_counters_undefined),
        cmocka_unit_test(a_watchdog_counts_cycles_over_its_interrupts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
