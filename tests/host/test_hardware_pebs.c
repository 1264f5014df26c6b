/* SPDX-License-Identifier: MIT */
/*
 * Precise records of the fake against the facts, by value: facts/precise, rules.md ("r 2": item 2 of "A counter with
 * PEBS"), records.tsv, ds_area.tsv.
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
#define AREA UINT64_C(0xffff800000100000)
#define BUFFER UINT64_C(0xffff800000200000)
#define NONE (UINT64_C(1) << 47)

/* ---- A machine whose CPUs have one area and one buffer ---- */

static void *machine;
static uint64_t area[64], buffer[512];
static struct hardware_record last;
static unsigned made, stores;

static uint8_t *behind(uint64_t linear, size_t size)
{
    if (linear >= AREA && linear + size <= AREA + sizeof area)
        return (uint8_t *)area + (linear - AREA);
    return linear >= BUFFER && linear + size <= BUFFER + sizeof buffer ? (uint8_t *)buffer + (linear - BUFFER) : NULL;
}

static bool access_memory(unsigned cpu, uint64_t linear, void *bytes, size_t size, bool is_write)
{
    uint8_t *memory = behind(linear, size);
    (void)cpu;
    if (memory && is_write)
        memcpy(memory, bytes, size);
    else if (memory)
        memcpy(bytes, memory, size);
    stores += memory && is_write && linear >= BUFFER;
    return memory != NULL;
}

static void note_record(const struct hardware_record *record)
{
    last = *record;
    made++;
}

static const struct hardware_memory memory = {access_memory, note_record};

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

static void machine_is(const char *model, struct hardware_options options)
{
    options.memory = &memory;
    free(machine);
    machine = calloc(1, hardware_intel.bytes);
    for (unsigned i = 0; i < hardware_intel.model_count; i++)
        if (!strcmp(hardware_intel.models[i].name, model))
            hardware_intel.init(machine, i, 1, &options);
    memset(area, 0, sizeof area);
    memset(buffer, 0, sizeof buffer);
    made = stores = 0;
    area[4] = area[5] = BUFFER;
    area[6] = area[7] = BUFFER + sizeof buffer;
    put(0x600, AREA);
    hardware_intel.rearm(machine, 0);
}

/* General counter n counts instructions, `left` events before its overflow, and stores records. */
static void counter_records(unsigned n, uint64_t select, uint64_t left)
{
    uint64_t width = get(0x345) & BIT(13) ? BIT(48) : BIT(32);
    put(0x186 + n, select);
    put((width == BIT(48) ? 0x4C1 : 0xC1) + n, width - left);
    put(0x3F1, get(0x3F1) | BIT(n));
}

static void instructions(uint64_t count)
{
    hardware_intel.happen(machine, 0, HARDWARE_INSTRUCTIONS, true, count);
}

static int machine_goes(void **state)
{
    (void)state;
    free(machine);
    machine = NULL;
    return 0;
}

/* ---- What is recorded, and when ---- */

static void an_overflow_arms_and_the_next_event_is_recorded(void **state)
{
    (void)state;
    machine_is("skylake", (struct hardware_options){0});
    area[8] = BIT(48) - 5; /* r 3: the slot */
    counter_records(0, 0x4300C0, 10);
    instructions(10);
    assert_int_equal(made, 0); /* r 2 */
    assert_int_equal(get(0x38E), 1);
    assert_int_equal(get(0xC1), 0);
    instructions(1);
    assert_int_equal(made, 1);
    assert_int_equal(last.ordinal, 11);
    assert_int_equal(last.reduced, 0);
    assert_int_equal(get(0xC1), BIT(48) - 5);
    assert_int_equal(get(0x38E), 0); /* mock_semantics.md 5 */
    assert_int_equal(area[5], BUFFER + 200);
    assert_int_equal(buffer[22], last.instruction);
    instructions(7);
    assert_int_equal(made, 2);
    assert_int_equal(last.ordinal, 17);
}

static void a_reduced_counter_records_the_overflow(void **state)
{
    static const struct {
        const char *model;
        unsigned counter;
        uint64_t select, reduced;
    } rows[] = {
        {"skylake", 1, 0x4301C0, 2},      {"skylake", 1, 0x4300C0, 0},      {"skylake", 0, 0x4301C0, 0},
        {"nehalem", 1, 0x4301C0, 0},      {"ice lake", 0, 0x4300C0, 0},     {"lunar lake p", 0, 0x4300C0, 1},
        {"lunar lake p", 1, 0x4300C0, 0}, {"lunar lake e", 1, 0x4300C0, 2}, {"lunar lake e", 2, 0x4300C0, 0},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        machine_is(rows[i].model, (struct hardware_options){0});
        counter_records(rows[i].counter, rows[i].select, 10);
        instructions(11);
        assert_int_equal(made, 1, i);
        assert_int_equal(last.reduced, rows[i].reduced, i);
        assert_int_equal(last.ordinal, rows[i].reduced ? 10 : 11, i);
    }
    machine_is("ice lake", (struct hardware_options){0});
    put(0x38D, 3);
    put(0x309, BIT(48) - 10);
    put(0x3F1, BIT(32));
    put(0x38F, BIT(32));
    instructions(10);
    assert_int_equal(made, 1);
    assert_int_equal(last.counters, BIT(32));
}

/* ---- Layouts: records.tsv ---- */

static void each_format_has_its_layout(void **state)
{
    static const struct {
        const char *model;
        unsigned words, status, exact, weight;
    } rows[] = {{"penryn", 18, 0, 0, 0}, {"nehalem", 22, 18, 0, 21}, {"haswell", 24, 18, 22, 21},
                {"skylake", 25, 18, 22, 21}};
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        machine_is(rows[i].model, (struct hardware_options){0});
        counter_records(0, 0x4300C0, 1);
        instructions(2);
        assert_int_equal(area[5], BUFFER + 8 * rows[i].words, i);
        assert_int_equal(buffer[1], last.next, i);
        assert_int_equal(buffer[3], last.gpr[5], i); /* bx, which formats 4 on have behind dx */
        assert_int_equal(buffer[9], last.gpr[6], i); /* sp */
        assert_int_equal(!rows[i].status || buffer[18] == 1, 1, i);
        assert_int_equal(!rows[i].exact || buffer[22] == last.instruction, 1, i);
        assert_int_equal(!rows[i].weight || buffer[21] == last.weight, 1, i);
    }
}

static void adaptive_records_have_the_groups_asked_for(void **state)
{
    (void)state;
    machine_is("ice lake", (struct hardware_options){0});
    put(0x3F2, 0x0100000F); /* memory, registers, XMM, two branches */
    counter_records(1, 0x4300C0, 1);
    instructions(2);
    assert_int_equal(buffer[0], UINT64_C(32) << 48); /* without bit 34 the basic group alone */
    assert_int_equal(buffer[1], last.instruction);
    assert_int_equal(buffer[2], 2);
    machine_is("ice lake", (struct hardware_options){0});
    put(0x3F2, 0x0100000F);
    counter_records(1, BIT(34) | 0x4300C0, 1);
    instructions(2);
    assert_int_equal(buffer[0], ((uint64_t)(32 + 32 + 144 + 256 + 48) << 48) | 0x0100000F);
    assert_int_equal(buffer[4], last.address);
    assert_int_equal(buffer[8 + 1], last.next);
    assert_int_equal(buffer[8 + 3], last.gpr[3]); /* in the order of the group */
    assert_false(hardware_intel.wrmsr(machine, 0, 0x3F2, 0x10)); /* registers.tsv: counters are of format 6 */
    machine_is("lunar lake p", (struct hardware_options){0});
    put(0x3F2, 0x10 | BIT(32) | BIT(33) | BIT(48));
    counter_records(2, BIT(34) | 0x4300C0, 1);
    put(0x187, 0x4300C0);
    instructions(2);
    assert_int_equal(buffer[0], ((uint64_t)(32 + 16 + 24) << 48) | 0x10);
    assert_int_equal(buffer[4], 3 | BIT(32));
    assert_int_equal(buffer[7], 2); /* counter 1 at this moment */
    machine_is("lunar lake p", (struct hardware_options){.no_snapshots = true});
    assert_int_equal(get(0x345) >> 8 & 15, 5);
}

static void slots_of_fixed_counters_follow_the_general_ones(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) { /* area: behind 8 of format 4, behind 32 from format 5 on */
        machine_is(i ? "lunar lake p" : "ice lake", (struct hardware_options){0});
        area[8 + (i ? 32 : 8)] = 77;
        put(0x38D, 3);
        put(0x309, BIT(48) - 1);
        put(0x3F1, BIT(32));
        put(0x38F, BIT(32));
        instructions(1);
        assert_int_equal(get(0x309), 77, i);
    }
}

/* ---- Threshold, maximum, status ---- */

static void the_threshold_interrupts_and_the_maximum_stops(void **state)
{
    (void)state;
    machine_is("skylake", (struct hardware_options){0});
    area[8] = BIT(48) - 1;
    area[6] = BUFFER + 800; /* r 5 */
    area[7] = BUFFER + 400;
    counter_records(0, 0x4300C0, 1);
    instructions(2);
    assert_int_equal(get(0x38E), 0);
    assert_false(hardware_intel.interrupt(machine, 0));
    instructions(2);
    assert_int_equal(get(0x38E), BIT(62));
    assert_true(hardware_intel.interrupt(machine, 0));
    instructions(20);
    assert_int_equal(stores, 4); /* and no more, silently */
    assert_int_equal(area[5], BUFFER + 800);
    assert_int_equal(last.dropped, true);
    assert_null(hardware_intel.damage(machine));
}

/* Each counter has its slot; the interrupt is that of the record with which the index passes the threshold. */
static void records_of_several_counters_are_one_batch(void **state)
{
    (void)state;
    machine_is("skylake", (struct hardware_options){0});
    area[8] = BIT(48) - 9; /* a period of 10, loaded by the hardware */
    area[9] = BIT(48) - 4;
    area[6] = BUFFER + 2000;
    area[7] = BUFFER + 1000;
    counter_records(0, 0x4300C0, 10);
    counter_records(1, 0x4300C4, 5);
    for (unsigned i = 1; i <= 4; i++) {
        assert_false(hardware_intel.interrupt(machine, 0));
        instructions(5);
        hardware_intel.happen(machine, 0, HARDWARE_BRANCHES, true, 4);
    }
    assert_int_equal(made, 4);       /* instructions 11; branches 6, 11, 16 */
    assert_int_equal(get(0x38E), 1); /* counter 0 is armed */
    instructions(1);
    assert_int_equal(made, 5);
    assert_int_equal(get(0x38E), BIT(62));
    assert_true(hardware_intel.interrupt(machine, 0));
    for (unsigned i = 0, expected[] = {2, 1, 2, 2, 1}; i < 5; i++)
        assert_int_equal(buffer[25 * i + 18], expected[i], i);
    instructions(10); /* beyond the threshold records go on */
    assert_int_equal(made, 6);
}

/* mock_semantics.md 5: the write of a record loads its counter. */
static void a_full_buffer_loads_no_counter(void **state)
{
    (void)state;
    machine_is("skylake", (struct hardware_options){0});
    area[8] = BIT(48) - 9;
    area[6] = area[7] = BUFFER + 400;
    counter_records(0, 0x4300C0, 10);
    instructions(21);
    assert_int_equal(area[5], BUFFER + 400);
    assert_int_equal(get(0xC1), BIT(48) - 9);
    instructions(10);
    assert_true(last.dropped);
    assert_int_equal(get(0xC1), 1);
    instructions(100);
    assert_int_equal(get(0xC1), 101);
    assert_int_equal(made, 3);
}

static void old_formats_name_all_that_overflowed(void **state)
{
    (void)state;
    machine_is("haswell", (struct hardware_options){0});
    counter_records(0, 0x4300C0, 1);
    counter_records(1, 0x4300C4, 1);
    hardware_intel.happen(machine, 0, HARDWARE_BRANCHES, true, 1);
    instructions(2);
    assert_int_equal(last.counters, 1);
    assert_int_equal(buffer[18], 3); /* counter 1 waits for its next event */
    put(0x390, 2);                   /* errata: and none if the flag was cleared */
    hardware_intel.happen(machine, 0, HARDWARE_BRANCHES, true, 1);
    assert_int_equal(last.counters, 2);
    assert_int_equal(buffer[24 + 18], 0);
    machine_is("haswell", (struct hardware_options){0}); /* errata: both at once are one record */
    counter_records(0, 0x4300C0, 1);
    counter_records(1, 0x4300C0, 1);
    instructions(2);
    assert_int_equal(made, 1);
    assert_int_equal(last.counters, 3);
}

static void a_late_record_lands_with_the_next_write(void **state)
{
    unsigned late = 0;
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        machine_is("skylake", (struct hardware_options){.late = 60});
        for (unsigned turn = 0; turn < i; turn++) {
            counter_records(0, 0x4300C0, 1);
            instructions(2);
            put(0x38F, 0xF);
        }
        made = stores = 0;
        counter_records(0, 0x4300C0, 1);
        instructions(2);
        assert_int_equal(made, 1, i);
        late += !stores;
        put(0x38F, 0); /* "Order of writes": the write is complete with it */
        assert_int_equal(stores, 1, i);
    }
    assert_compare(late, >, 4);
}

static void a_bit_that_is_cleared_disarms(void **state)
{
    (void)state;
    machine_is("skylake", (struct hardware_options){0});
    counter_records(0, 0x4300C0, 1);
    instructions(1);
    put(0x38F, 0);
    put(0x3F1, 0);
    put(0x38F, 0xF);
    put(0x3F1, 1);
    instructions(5);
    assert_int_equal(made, 0);
    assert_false(hardware_intel.interrupt(machine, 0));
    counter_records(0, 0x4300C0, 1); /* while it runs a stray interrupt comes: "Order of writes" */
    instructions(1);
    put(0x3F1, 0);
    assert_true(hardware_intel.interrupt(machine, 0));
}

/* ---- What corrupts ---- */

static bool is_damaged(const char *model, uint64_t area_at, uint64_t select, unsigned counter)
{
    machine_is(model, (struct hardware_options){0});
    put(0x600, area_at);
    counter_records(counter, select, 1);
    instructions(2);
    hardware_intel.rearm(machine, 0);
    return hardware_intel.damage(machine) != NULL;
}

static void records_where_none_may_be_are_damage(void **state)
{
    (void)state;
    assert_false(is_damaged("skylake", AREA, 0x4300C0, 0));
    assert_true(is_damaged("skylake", NONE - 4096, 0x4300C0, 0)); /* a stale area */
    assert_true(is_damaged("skylake", AREA, 0x5300C0, 0));        /* r 1: INT is set */
    assert_true(is_damaged("penryn", AREA, 0x4300C0, 1));         /* format 0: counter 0 alone */
    machine_is("penryn", (struct hardware_options){0});
    area[6] = BUFFER + 8192; /* errata: one page */
    put(0x3F1, 1);
    assert_null(hardware_intel.damage(machine));
    put(0x38F, 3);
    assert_non_null(hardware_intel.damage(machine));
}

static void each_event_has_an_instruction_of_its_own(void **state)
{
    struct hardware_record one = {.cpu = 2, .user = false, .event = HARDWARE_BRANCHES, .ordinal = 12345}, found;
    (void)state;
    hardware_record_fill(&one);
    assert_true(hardware_record_find(one.instruction, false, &found));
    assert_int_equal(found.ordinal, 12345);
    assert_int_equal(found.cpu, 2);
    assert_true(hardware_record_find(one.next, true, &found));
    assert_int_equal(found.event, HARDWARE_BRANCHES);
    assert_false(hardware_record_find(one.instruction, true, &found));
    assert_false(hardware_record_find(one.next, false, &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(an_overflow_arms_and_the_next_event_is_recorded, machine_goes),
        cmocka_unit_test_teardown(a_reduced_counter_records_the_overflow, machine_goes),
        cmocka_unit_test_teardown(each_format_has_its_layout, machine_goes),
        cmocka_unit_test_teardown(adaptive_records_have_the_groups_asked_for, machine_goes),
        cmocka_unit_test_teardown(slots_of_fixed_counters_follow_the_general_ones, machine_goes),
        cmocka_unit_test_teardown(the_threshold_interrupts_and_the_maximum_stops, machine_goes),
        cmocka_unit_test_teardown(records_of_several_counters_are_one_batch, machine_goes),
        cmocka_unit_test_teardown(a_full_buffer_loads_no_counter, machine_goes),
        cmocka_unit_test_teardown(old_formats_name_all_that_overflowed, machine_goes),
        cmocka_unit_test_teardown(a_late_record_lands_with_the_next_write, machine_goes),
        cmocka_unit_test_teardown(a_bit_that_is_cleared_disarms, machine_goes),
        cmocka_unit_test_teardown(records_where_none_may_be_are_damage, machine_goes),
        cmocka_unit_test_teardown(each_event_has_an_instruction_of_its_own, machine_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
