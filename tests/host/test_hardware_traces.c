/* SPDX-License-Identifier: MIT */
/*
 * Branch traces of the fake against the facts, by value: facts/precise, rules.md ("bts": its section of this name),
 * registers.tsv, ds_area.tsv, records.tsv; and "manual" as in hardware_traces.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "tests/common/assertions.h"
#include "tests/host/hardware.h"

#define AREA UINT64_C(0xffff800000100000)
#define RING UINT64_C(0xffff800000200000)
#define LOW_AREA UINT64_C(0x100000) /* of 32 bits */
#define LOW_RING UINT64_C(0x200000)
#define ENTRIES 4u
#define TR_BTS 0xC0u

/* ---- A machine whose CPUs have one area and one ring ---- */

static void *machine;
static uint64_t area[4], ring[3 * (ENTRIES + 1)];
static uint32_t low_area[4], low_ring[3 * ENTRIES];
static struct hardware_branch branch[16]; /* that were stored */
static unsigned taken, on, stored, lost;

static uint8_t *part(void *memory, uint64_t at, size_t bytes, uint64_t linear, size_t size)
{
    return linear >= at && linear + size <= at + bytes ? (uint8_t *)memory + (linear - at) : NULL;
}

static bool access_memory(unsigned cpu, uint64_t linear, void *bytes, size_t size, bool is_write)
{
    uint8_t *memory = part(area, AREA, sizeof area, linear, size);
    (void)cpu;
    memory = memory ? memory : part(ring, RING, sizeof ring, linear, size);
    memory = memory ? memory : part(low_area, LOW_AREA, sizeof low_area, linear, size);
    memory = memory ? memory : part(low_ring, LOW_RING, sizeof low_ring, linear, size);
    if (memory)
        memcpy(is_write ? (void *)memory : bytes, is_write ? bytes : (void *)memory, size);
    return memory != NULL;
}

static void note_taken(const struct hardware_branch *it, bool is_on, bool is_stored)
{
    taken++;
    on += is_on;
    if (is_stored)
        branch[stored++ % 16] = *it;
}

static void note_lost(unsigned cpu)
{
    (void)cpu;
    lost++;
}

static const struct hardware_traces traces = {access_memory, note_taken, note_lost};

static void put(uint32_t msr, uint64_t value)
{
    assert_true(hardware_intel.wrmsr(machine, 0, msr, value));
}

static uint64_t get(uint32_t msr)
{
    uint64_t value = 0;
    assert_true(hardware_intel.rdmsr(machine, 0, msr, &value));
    return value;
}

static void machine_is(const char *model, unsigned ways)
{
    struct hardware_options options = {.traces = &traces, .trace_ways = (uint16_t)ways};
    free(machine);
    machine = calloc(1, hardware_intel.bytes);
    for (unsigned i = 0; i < hardware_intel.model_count; i++)
        if (!strcmp(hardware_intel.models[i].name, model))
            hardware_intel.init(machine, i, 1, &options);
    memset(ring, 0, sizeof ring);
    memset(low_ring, 0, sizeof low_ring);
    taken = on = stored = lost = 0;
    area[0] = area[1] = RING;
    area[2] = RING + ENTRIES * 24;
    area[3] = area[2] + 24;
    for (unsigned i = 0; i < 4; i++)
        low_area[i] = (uint32_t)(LOW_RING + (i < 2 ? 0 : ENTRIES * 12));
    low_area[3]++;
    hardware_intel.rearm(machine, 0);
}

static void trace(const char *model, unsigned ways, uint64_t control)
{
    machine_is(model, ways);
    put(0x600, AREA);
    put(0x1D9, TR_BTS | control);
}

static void branches(unsigned count, bool user)
{
    hardware_intel.branch(machine, 0, user, count);
}

static int machine_goes(void **state)
{
    (void)state;
    free(machine);
    machine = NULL;
    return 0;
}

static void entry_is(const uint64_t *entry, const struct hardware_branch *it)
{
    assert_int_equal(entry[0], it->from);
    assert_int_equal(entry[1], it->to);
    assert_int_equal(entry[2], it->mispredicted ? 0 : 0x10);
}

/* ---- What is stored, and where ---- */

static void each_branch_has_an_entry_on_each_model(void **state)
{
    (void)state;
    for (unsigned i = 0; i < hardware_intel.model_count; i++) {
        machine_is(hardware_intel.models[i].name, 0);
        if (i == 0) { /* version 1 has no debug store here, nor these bits */
            assert_int_equal(get(0x1A0) & 0x800, 0x800);
            assert_false(hardware_intel.wrmsr(machine, 0, 0x1D9, TR_BTS));
            continue;
        }
        trace(hardware_intel.models[i].name, 0, 0);
        branches(3, false);
        assert_int_equal(stored, 3, i);
        assert_int_equal(area[1], RING + 72, i);
        for (unsigned k = 0; k < 3; k++)
            entry_is(ring + 3 * k, &branch[k]);
        assert_int_equal(ring[9], 0, i);
        assert_int_equal(lost, 0, i);
    }
}

static void both_bits_are_needed(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) { /* registers, row 1D9 */
        machine_is("skylake", 0);
        put(0x600, AREA);
        put(0x1D9, i == 1 ? 0x40 : i == 2 ? 0x80 : 0);
        branches(2, false);
        assert_int_equal(taken, 2, i);
        assert_int_equal(on + stored, 0, i);
        assert_int_equal(area[1], RING, i);
    }
}

static void a_ring_begins_anew(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        trace("haswell", i ? HARDWARE_TRACES_LAZY : 0, 0);
        branches(ENTRIES, false);
        assert_int_equal(area[1], i ? RING + ENTRIES * 24 : RING, i);
        branches(1, false);
        assert_int_equal(area[1], RING + 24, i);
        entry_is(ring, &branch[ENTRIES]);
        entry_is(ring + 3, &branch[1]);
        assert_int_equal(ring[3 * ENTRIES], 0, i); /* nothing is behind it */
        assert_int_equal(get(0x38E), 0, i);
        assert_false(hardware_intel.interrupt(machine, 0));
    }
}

static void the_threshold_interrupts(void **state)
{
    (void)state;
    trace("skylake", 0, 0x100);
    area[3] = RING + 48;
    branches(1, false);
    assert_false(hardware_intel.interrupt(machine, 0));
    branches(1, false);
    assert_int_equal(get(0x38E), UINT64_C(1) << 62);
    assert_true(hardware_intel.interrupt(machine, 0));
    branches(10, false); /* bts, r 5: with BTINT it does not wrap */
    assert_int_equal(area[1], RING + ENTRIES * 24);
    entry_is(ring, &branch[0]);
    for (unsigned i = 0; i < 4; i++) { /* manual: in a ring, too, unless it is beyond the maximum */
        trace("skylake", (i & 1) ? HARDWARE_TRACES_TELLS : 0, 0);
        area[3] = i & 2 ? area[2] : area[2] + 1;
        branches(2 * ENTRIES, false);
        assert_int_equal(get(0x38E), i == 3 ? UINT64_C(1) << 62 : 0, i);
        assert_int_equal(hardware_intel.interrupt(machine, 0), i == 3, i);
    }
}

static void a_mode_is_left_out(void **state)
{
    static const struct {
        unsigned ways, control, stored;
    } rows[] = {/* kernel to kernel, to user, user to user, to kernel */
                {0, 0, 4},
                {0, 0x200, 2},
                {0, 0x400, 2},
                {0, 0x600, 0},
                {HARDWARE_TRACES_AFTER, 0x200, 2},
                {HARDWARE_TRACES_AFTER, 0x400, 2}};
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        trace("westmere", rows[i].ways, rows[i].control);
        branches(1, false);
        branches(2, true);
        branches(1, false);
        assert_int_equal(taken, 4, i);
        assert_int_equal(stored, rows[i].stored, i);
        for (unsigned k = 0; k < stored && rows[i].control; k++)
            assert_int_equal(rows[i].ways ? branch[k].to_user : branch[k].from_user, rows[i].control == 0x200, i);
    }
    machine_is("westmere", HARDWARE_TRACES_PLAIN); /* registers: 9 and 10 need DS-CPL */
    assert_false(hardware_intel.wrmsr(machine, 0, 0x1D9, 0x200));
    assert_false(hardware_intel.wrmsr(machine, 0, 0x1D9, 0x400));
    put(0x1D9, 0x1C0);
}

static void words_of_32_bits_have_entries_of_12_bytes(void **state)
{
    (void)state;
    machine_is("nehalem", HARDWARE_TRACES_NARROW);
    put(0x600, LOW_AREA);
    put(0x1D9, TR_BTS);
    branches(ENTRIES + 1, false);
    assert_int_equal(low_area[1], LOW_RING + 12);
    assert_int_equal(low_ring[0], (uint32_t)branch[ENTRIES].from);
    assert_int_equal(low_ring[4], (uint32_t)branch[1].to);
    assert_int_equal(low_ring[5], branch[1].mispredicted ? 0 : 0x10);
    assert_int_equal(lost, 0);
}

static void the_last_records_land_with_the_next_write(void **state)
{
    (void)state;
    trace("skylake", HARDWARE_TRACES_LATE, 0);
    branches(2, false);
    assert_int_equal(stored, 2);
    assert_int_equal(area[1], RING);
    put(0x1D9, 0);
    assert_int_equal(area[1], RING + 48);
    entry_is(ring + 3, &branch[1]);
}

static void flags_may_have_noise_but_for_one_bit(void **state)
{
    (void)state;
    trace("skylake", HARDWARE_TRACES_NOISE, 0);
    branches(ENTRIES, false);
    for (unsigned i = 0; i < ENTRIES; i++)
        assert_int_equal(ring[3 * i + 2] & 0x10, branch[i].mispredicted ? 0 : 0x10, i);
    assert_int_not_equal(ring[2] & ~UINT64_C(0x10), 0);
}

/* ---- What there is ---- */

static void cpuid_and_misc_enable_tell_what_there_is(void **state)
{
    static const struct {
        unsigned ways, cpuid, misc, stored;
    } rows[] = {{0, 0x14, 0, 1},
                {HARDWARE_TRACES_PLAIN, 4, 0, 1},
                {HARDWARE_TRACES_NARROW, 0x10, 0, 1},
                {HARDWARE_TRACES_DENIED, 0x14, 0x800, 0}};
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t out[4];
        trace("sandy bridge", rows[i].ways, 0);
        put(0x600, i == 2 ? LOW_AREA : AREA);
        hardware_intel.cpuid(machine, 0, 1, 0, out);
        assert_int_equal(out[2] & 0x14, rows[i].cpuid, i);
        assert_int_equal(out[3] >> 21 & 1, 1, i);
        assert_int_equal(get(0x1A0) & 0x1800, rows[i].misc, i);
        put(0x1A0, 0);
        assert_int_equal(get(0x1A0) & 0x800, rows[i].misc, i); /* read only */
        branches(1, false);
        assert_int_equal(stored, rows[i].stored, i);
        assert_int_equal(lost, 0, i);
    }
}

static void memory_that_is_not_there_is_told(void **state)
{
    (void)state;
    trace("skylake", 0, 0);
    put(0x600, AREA + 4096);
    branches(1, false);
    assert_int_equal(lost, 1);
    trace("skylake", 0, 0);
    area[1] = RING - 24;
    branches(1, false);
    assert_int_equal(lost, 1);
    assert_int_equal(area[1], RING - 24);
    hardware_intel.reset(machine, 0, true); /* the register has lost it */
    branches(1, false);
    assert_int_equal(lost, 1);
}

/* manual: of Atoms alone */
static void a_freeze_of_branches_ends_messages_of_atoms(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        trace(i ? "bonnell" : "nehalem", 0, 0x800);
        put(0x186, 0x5300C0);
        put(0x38F, 1);
        put(0xC1, 0xFFFFFFFF);
        hardware_intel.happen(machine, 0, HARDWARE_INSTRUCTIONS, false, 1);
        assert_int_equal(get(0x1D9) & TR_BTS, i ? 0x80 : 0xC0, i);
    }
}

/* One that a former kernel left goes to memory that is gone; without the ways it leaves out no mode. */
static void a_former_kernel_may_have_left_one_on(void **state)
{
    unsigned left = 0, modes = 0;
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        machine_is("haswell", i & 1 ? HARDWARE_TRACES_LEFT : 0);
        hardware_intel.leave(machine, 0, i);
        left += (get(0x1D9) & TR_BTS) == TR_BTS;
        modes += (get(0x1D9) & 0x600) != 0;
        assert_true((i & 1) || !(get(0x1D9) & 0x600));
    }
    assert_in_range(left, 15, 60);
    assert_in_range(modes, 5, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(each_branch_has_an_entry_on_each_model, machine_goes),
        cmocka_unit_test_teardown(both_bits_are_needed, machine_goes),
        cmocka_unit_test_teardown(a_ring_begins_anew, machine_goes),
        cmocka_unit_test_teardown(the_threshold_interrupts, machine_goes),
        cmocka_unit_test_teardown(a_mode_is_left_out, machine_goes),
        cmocka_unit_test_teardown(words_of_32_bits_have_entries_of_12_bytes, machine_goes),
        cmocka_unit_test_teardown(the_last_records_land_with_the_next_write, machine_goes),
        cmocka_unit_test_teardown(flags_may_have_noise_but_for_one_bit, machine_goes),
        cmocka_unit_test_teardown(cpuid_and_misc_enable_tell_what_there_is, machine_goes),
        cmocka_unit_test_teardown(memory_that_is_not_there_is_told, machine_goes),
        cmocka_unit_test_teardown(a_freeze_of_branches_ends_messages_of_atoms, machine_goes),
        cmocka_unit_test_teardown(a_former_kernel_may_have_left_one_on, machine_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
