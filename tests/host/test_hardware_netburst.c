/* SPDX-License-Identifier: MIT */
/*
 * The NetBurst fake of the simulated host has the rules of the facts, by value (names of files as in
 * hardware_netburst.c).
 */
#include "tests/host/hardware.h"

#include <setjmp.h>
#include <stdarg.h>
#include "tests/common/assertions.h"

#include <stdlib.h>
#include <string.h>

static const struct hardware_family *const netburst = &hardware_netburst;
static const struct hardware_options plain;

static void *machine(const char *name, struct hardware_options options)
{
    void *hardware = calloc(1, netburst->bytes);
    assert_non_null(hardware);
    for (unsigned i = 0; i < netburst->model_count; i++)
        if (strcmp(netburst->models[i].name, name) == 0) {
            netburst->init(hardware, i, 1, &options);
            for (unsigned cpu = 0; cpu < netburst->models[i].cpus; cpu++)
                netburst->rearm(hardware, cpu);
            return hardware;
        }
    fail_msg("no model %s", name);
    return NULL;
}

static uint64_t get(void *hardware, unsigned cpu, uint32_t msr)
{
    uint64_t value = 0;
    assert_true(netburst->rdmsr(hardware, cpu, msr, &value));
    return value;
}

static void put(void *hardware, unsigned cpu, uint32_t msr, uint64_t value)
{
    assert_true(netburst->wrmsr(hardware, cpu, msr, value));
}

/* Cycles on counter 0 (FSB_ESCR0): p4_golden_encodings.csv's words. */
static void count_cycles(void *hardware, uint64_t escr, uint64_t cccr, uint64_t from)
{
    put(hardware, 0, 0x360, 0);
    put(hardware, 0, 0x3a2, escr);
    put(hardware, 0, 0x300, from);
    put(hardware, 0, 0x360, cccr);
}

/* P2, P5, P6, msrs */
static void bits_that_are_not_there_are_ignored(void **state)
{
    void *p4 = machine("prescott", plain);
    (void)state;
    put(p4, 0, 0x300, ~UINT64_C(0));
    assert_int_equal(get(p4, 0, 0x300), UINT64_C(0xffffffffff));
    put(p4, 0, 0x3b8, 0xffffffff7fffffff);
    assert_int_equal(get(p4, 0, 0x3b8), 0x0e01fe0f);
    put(p4, 0, 0x3b6, 0x7fffffff);
    assert_int_equal(get(p4, 0, 0x3b6), 0x70000e1f);
    put(p4, 0, 0x360, ~UINT64_C(0));
    assert_int_equal(get(p4, 0, 0x360), 0xfffff000);
    put(p4, 0, 0x36c, ~UINT64_C(0));
    assert_int_equal(get(p4, 0, 0x36c), 0xfffff800);
    put(p4, 0, 0x371, ~UINT64_C(0));
    assert_int_equal(get(p4, 0, 0x371), 0xffffff00);
    free(p4);
}

/* P5, P1, P9 */
static void what_faults(void **state)
{
    void *p4 = machine("prescott", plain);
    uint64_t value;
    (void)state;
    assert_false(netburst->wrmsr(p4, 0, 0x3a2, 0x80000000));
    assert_false(netburst->wrmsr(p4, 0, 0x1a0, 0x1000));
    assert_false(netburst->rdmsr(p4, 0, 0x3bf, &value));
    assert_false(netburst->rdmsr(p4, 0, 0x3c6, &value));
    assert_false(netburst->rdmsr(p4, 0, 0x3c7, &value));
    assert_false(netburst->rdmsr(p4, 0, 0x38d, &value));
    put(p4, 0, 0x1a0, 0);
    assert_int_equal(get(p4, 0, 0x1a0), 0x80);
    assert_null(netburst->damage(p4));
    put(p4, 0, 0x3ba, 0);
    assert_non_null(netburst->damage(p4));
    free(p4);
    p4 = machine("willamette", plain);
    put(p4, 0, 0x3ba, 0x200);
    assert_int_equal(get(p4, 0, 0x3ba), 0x200);
    put(p4, 0, 0x36c, 0x800);
    assert_int_equal(get(p4, 0, 0x36c), 0);
    assert_null(netburst->damage(p4));
    free(p4);
}

/* P4: select 6 means FSB to counters 0 to 3, even side for 0 and 1. */
static void a_counter_sees_the_escr_that_its_side_and_select_mean(void **state)
{
    void *p4 = machine("prescott", plain);
    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        put(p4, 0, 0x360 + i, i == 1 ? 0x39000 : 0x3d000);
    put(p4, 0, 0x3a2, 0x2600020c);
    netburst->happen(p4, 0, HARDWARE_CYCLES, true, 7);
    assert_int_equal(get(p4, 0, 0x300), 7);
    assert_int_equal(get(p4, 0, 0x301), 0);
    assert_int_equal(get(p4, 0, 0x302), 0);
    put(p4, 0, 0x3b9, 0x0400020c); /* instr_retired on CRU_ESCR1: counters 14, 15, 17 */
    put(p4, 0, 0x370, 0x39000);
    put(p4, 0, 0x371, 0x39000);
    netburst->happen(p4, 0, HARDWARE_INSTRUCTIONS, true, 7);
    assert_int_equal(get(p4, 0, 0x310), 0);
    assert_int_equal(get(p4, 0, 0x311), 7);
    free(p4);
}

/* P5: bits 0 to 3; P6: ACTIVE_THREAD. */
static void thread_and_privilege_bits(void **state)
{
    void *p4 = machine("prescott-ht", plain);
    (void)state;
    for (unsigned bits = 0; bits < 16; bits++) {
        count_cycles(p4, 0x26000200 | bits, 0x3d000, 0);
        netburst->happen(p4, 1, HARDWARE_CYCLES, true, 1);
        netburst->happen(p4, 1, HARDWARE_CYCLES, false, 2);
        netburst->happen(p4, 0, HARDWARE_CYCLES, true, 4);
        netburst->happen(p4, 0, HARDWARE_CYCLES, false, 8);
        assert_int_equal(get(p4, 1, 0x300), bits);
    }
    count_cycles(p4, 0x2600020f, 0x1d000, 0);
    netburst->happen(p4, 0, HARDWARE_CYCLES, true, 1);
    assert_int_equal(get(p4, 0, 0x300), 0); /* exactly one thread active: both are */
    free(p4);
    p4 = machine("prescott", plain);
    count_cycles(p4, 0x2600020c, 0x2d000, 0);
    netburst->happen(p4, 0, HARDWARE_CYCLES, true, 1);
    assert_int_equal(get(p4, 0, 0x300), 0); /* must be 11b without HT */
    free(p4);
}

/* P10.5 */
static void a_write_to_a_running_counter_is_lost(void **state)
{
    void *p4 = machine("prescott", plain);
    (void)state;
    count_cycles(p4, 0x2600020c, 0x3d000, 5);
    put(p4, 0, 0x300, 100);
    assert_int_equal(get(p4, 0, 0x300), 5);
    put(p4, 0, 0x3a2, 0);
    put(p4, 0, 0x300, 100);
    assert_int_equal(get(p4, 0, 0x300), 100);
    free(p4);
}

/* P2: of the counter whose flag it is. */
static void an_interrupt_comes_with_the_first_event_after_the_overflow(void **state)
{
    void *p4 = machine("prescott", plain);
    (void)state;
    count_cycles(p4, 0x26000204, 0x403d000, UINT64_C(0xffffffffff));
    netburst->happen(p4, 0, HARDWARE_CYCLES, true, 1);
    assert_int_equal(get(p4, 0, 0x360), 0x8403d000);
    assert_false(netburst->interrupt(p4, 0));
    netburst->happen(p4, 0, HARDWARE_CYCLES, false, 1);
    assert_false(netburst->interrupt(p4, 0));
    netburst->happen(p4, 0, HARDWARE_CYCLES, true, 1);
    assert_true(netburst->interrupt(p4, 0));
    free(p4);
}

/* P6: OVF is sticky, cleared by 0; P10.2, P10.3: the mask, the order. */
static void an_interrupt_masks_lvtpc_and_stands_until_ovf_is_cleared(void **state)
{
    void *p4 = machine("prescott", plain);
    (void)state;
    count_cycles(p4, 0x2600020c, 0x403d000, UINT64_C(0xfffffffffe));
    netburst->happen(p4, 0, HARDWARE_CYCLES, true, 5);
    assert_int_equal(get(p4, 0, 0x300), 3);
    assert_int_equal(get(p4, 0, 0x360), 0x8403d000);
    assert_true(netburst->interrupt(p4, 0));
    assert_false(netburst->interrupt(p4, 0));
    netburst->rearm(p4, 0);
    assert_true(netburst->interrupt(p4, 0));
    put(p4, 0, 0x360, 0x403d000);
    assert_int_equal(get(p4, 0, 0x360), 0x403d000);
    netburst->rearm(p4, 0);
    assert_false(netburst->interrupt(p4, 0));
    free(p4);
}

/* P6: OVF_PMI_T0 and T1. */
static void an_interrupt_goes_to_the_threads_of_its_bits(void **state)
{
    void *p4 = machine("prescott-ht", plain);
    (void)state;
    for (unsigned bits = 0; bits < 4; bits++) {
        count_cycles(p4, 0x2600020c, 0x3d000 | (uint64_t)bits << 26, UINT64_C(0xffffffffff));
        netburst->happen(p4, 0, HARDWARE_CYCLES, true, 2);
        assert_int_equal(netburst->interrupt(p4, 0), (bits & 1) != 0);
        assert_int_equal(netburst->interrupt(p4, 1), (bits & 2) != 0);
        put(p4, 0, 0x360, 0);
        netburst->rearm(p4, 0);
        netburst->rearm(p4, 1);
    }
    free(p4);
}

/* P10.7 */
static void an_interrupt_under_way_arrives_after_its_flag_was_cleared(void **state)
{
    void *p4 = machine("prescott", (struct hardware_options){.late = 100});
    unsigned calls = 0;
    (void)state;
    count_cycles(p4, 0x2600020c, 0x403d000, UINT64_C(0xffffffffff));
    netburst->happen(p4, 0, HARDWARE_CYCLES, true, 2);
    put(p4, 0, 0x360, 0);
    while (!netburst->interrupt(p4, 0))
        assert_compare(++calls, <=, 100);
    free(p4);
}

/* P10.4 */
static void an_overflow_may_set_no_flag(void **state)
{
    void *p4 = machine("prescott", (struct hardware_options){.lost_flags = true});
    unsigned unflagged = 0;
    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        count_cycles(p4, 0x2600020c, 0x403d000, UINT64_C(0xffffffffff));
        assert_false(netburst->untold(p4, 0));
        netburst->happen(p4, 0, HARDWARE_CYCLES, true, 1);
        assert_true(netburst->untold(p4, 0)); /* P2: until the next event */
        netburst->happen(p4, 0, HARDWARE_CYCLES, true, 1);
        assert_false(netburst->untold(p4, 0));
        unflagged += get(p4, 0, 0x360) == 0x403d000;
        assert_true(netburst->interrupt(p4, 0));
        netburst->rearm(p4, 0);
    }
    assert_in_range(unflagged, 1, 100);
    free(p4);
}

/* P6: COMPARE, THRESHOLD, EDGE, COMPLEMENT, FORCE_OVF; P7: clocks whatever the privilege. */
static void filters(void **state)
{
    static const struct {
        uint64_t cccr, count;
    } cases[] = {{0x7d000, 10}, {0x17d000, 0}, {0x107d000, 1}, {0x103d000, 10}, {0xffd000, 20}};
    void *p4 = machine("prescott", plain);
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        count_cycles(p4, 0x26000204, cases[i].cccr, 0);
        netburst->happen(p4, 0, HARDWARE_CYCLES, true, 10);
        netburst->happen(p4, 0, HARDWARE_CYCLES, false, 10);
        assert_int_equal(get(p4, 0, 0x300), cases[i].count, i);
    }
    count_cycles(p4, 0x26000204, 0x203d000, 0);
    netburst->happen(p4, 0, HARDWARE_CYCLES, true, 1);
    assert_int_equal(get(p4, 0, 0x360), 0x8203d000);
    free(p4);
}

/* P11: 2 starts 0; P10.9. */
static void a_cascade_starts_at_its_initiators_overflow(void **state)
{
    static const char *const names[] = {"willamette", "northwood", "prescott"};
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        void *p4 = machine(names[i], plain);
        put(p4, 0, 0x3a3, 0x2600020c);
        put(p4, 0, 0x302, UINT64_C(0xffffffffff) - 3);
        put(p4, 0, 0x362, 0x3d000);
        count_cycles(p4, 0x2600020c, 0x4403c000, UINT64_C(0xffffffffff) - 5);
        netburst->happen(p4, 0, HARDWARE_CYCLES, true, 4);
        assert_int_equal(get(p4, 0, 0x300), UINT64_C(0xffffffffff) - 5);
        assert_int_equal(get(p4, 0, 0x362), 0x8003d000);
        netburst->happen(p4, 0, HARDWARE_CYCLES, true, 10);
        assert_int_equal(get(p4, 0, 0x300), 4);
        assert_int_equal(netburst->interrupt(p4, 0), i != 1, i);
        put(p4, 0, 0x362, 0);
        netburst->happen(p4, 0, HARDWARE_CYCLES, true, 10);
        assert_int_equal(get(p4, 0, 0x300), 4);
        free(p4);
    }
}

/* P11: bit 11: 17 starts 16, models 2 and later. */
static void an_extended_cascade(void **state)
{
    static const char *const names[] = {"willamette", "prescott"};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        void *p4 = machine(names[i], plain);
        put(p4, 0, 0x3b8, 0x0400020c);
        put(p4, 0, 0x3b9, 0x0400020c);
        put(p4, 0, 0x311, UINT64_C(0xffffffffff));
        put(p4, 0, 0x370, 0x38800);
        put(p4, 0, 0x371, 0x39000);
        netburst->happen(p4, 0, HARDWARE_INSTRUCTIONS, true, 5);
        assert_int_equal(get(p4, 0, 0x310), i == 0 ? 0 : 4, i);
        free(p4);
    }
}

/* P2 */
static void rdpmc_has_a_fast_form(void **state)
{
    void *p4 = machine("prescott", plain);
    uint64_t value;
    (void)state;
    put(p4, 0, 0x311, UINT64_C(0x1234567890));
    assert_true(netburst->rdpmc(p4, 0, 17, &value) && value == UINT64_C(0x1234567890));
    assert_true(netburst->rdpmc(p4, 0, 0x80000011, &value) && value == 0x34567890);
    assert_false(netburst->rdpmc(p4, 0, 18, &value));
    free(p4);
}

/* P13: the example's words, a buffer that is no more. */
static void a_record_to_a_stale_buffer_is_damage(void **state)
{
    void *p4 = machine("prescott", plain);
    (void)state;
    put(p4, 0, 0x3cc, 0x12000204);
    put(p4, 0, 0x310, UINT64_C(0xffffffffff));
    put(p4, 0, 0x370, 0x3b000);
    netburst->happen(p4, 0, HARDWARE_CACHE_MISSES, true, 1);
    assert_null(netburst->damage(p4));
    put(p4, 0, 0x370, 0);
    put(p4, 0, 0x310, UINT64_C(0xffffffffff));
    put(p4, 0, 0x370, 0x3b000);
    put(p4, 0, 0x3f1, 0x3000001);
    netburst->happen(p4, 0, HARDWARE_CACHE_MISSES, true, 1);
    assert_non_null(netburst->damage(p4));
    free(p4);
}

/* P1: threads, cores; P2: reset values; P12. */
static void identity_and_reset(void **state)
{
    void *p4 = machine("presler-ht", plain);
    uint32_t out[4];
    uint64_t value;
    (void)state;
    netburst->cpuid(p4, 3, 1, 0, out);
    assert_int_equal(out[0], 0xf64);
    assert_int_equal(out[1], 0x03040000);
    assert_int_equal(out[3] >> 28 & 1, 1);
    netburst->cpuid(p4, 3, 4, 0, out);
    assert_int_equal(out[0] >> 26, 1);
    netburst->cpuid(p4, 3, 10, 0, out);
    assert_int_equal(out[0], 0);
    netburst->leave(p4, 2, 1);
    netburst->reset(p4, 2, true);
    for (uint32_t msr = 0x300; msr < 0x3f0; msr++)
        if (netburst->rdmsr(p4, 2, msr, &value))
            assert_int_equal(value, 0);
    assert_int_equal(get(p4, 2, 0x3f0), 0xfc00);
    put(p4, 2, 0x300, 9);
    assert_int_equal(get(p4, 3, 0x300), 9);
    assert_int_equal(get(p4, 1, 0x300), 0);
    free(p4);
}

static void a_watchdog_counts_its_own_threads_cycles(void **state)
{
    void *p4 = machine("prescott-ht", plain);
    (void)state;
    for (unsigned counter = 0; counter < 18; counter++)
        assert_int_equal(netburst->watchdog(p4, 1, counter, true, true, 100), counter < 4 || counter >= 8);
    for (unsigned i = 0; i < 7; i++) {
        netburst->happen(p4, 0, HARDWARE_CYCLES, false, 60);
        netburst->happen(p4, 1, HARDWARE_CYCLES, i % 2 != 0, 60);
        if (netburst->interrupt(p4, 1))
            for (unsigned counter = 0; counter < 18; counter++)
                assert_int_equal(netburst->watchdog_interrupt(p4, 1, counter), counter < 4 || counter >= 8);
        assert_false(netburst->interrupt(p4, 1));
    }
    assert_int_equal(netburst->watchdog_cycles(p4, 1, 0), 420);
    assert_int_equal(netburst->watchdog_cycles(p4, 1, 17), 420);
    free(p4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_that_are_not_there_are_ignored),
        cmocka_unit_test(what_faults),
        cmocka_unit_test(a_counter_sees_the_escr_that_its_side_and_select_mean),
        cmocka_unit_test(thread_and_privilege_bits),
        cmocka_unit_test(a_write_to_a_running_counter_is_lost),
        cmocka_unit_test(an_interrupt_comes_with_the_first_event_after_the_overflow),
        cmocka_unit_test(an_interrupt_masks_lvtpc_and_stands_until_ovf_is_cleared),
        cmocka_unit_test(an_interrupt_goes_to_the_threads_of_its_bits),
        cmocka_unit_test(an_interrupt_under_way_arrives_after_its_flag_was_cleared),
        cmocka_unit_test(an_overflow_may_set_no_flag),
        cmocka_unit_test(filters),
        cmocka_unit_test(a_cascade_starts_at_its_initiators_overflow),
        cmocka_unit_test(an_extended_cascade),
        cmocka_unit_test(rdpmc_has_a_fast_form),
        cmocka_unit_test(a_record_to_a_stale_buffer_is_damage),
        cmocka_unit_test(identity_and_reset),
        cmocka_unit_test(a_watchdog_counts_its_own_threads_cycles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
