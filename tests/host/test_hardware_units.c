/* SPDX-License-Identifier: MIT */
/*
 * The fake of units outside the cores against the facts, by value: what is here was read again.
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

static void *units;
static const struct hardware_box *boxes;
static unsigned count;

static void machine_is(const char *model)
{
    free(units);
    units = calloc(1, hardware_units_bytes());
    hardware_units_init(units, model, 1, false);
    count = hardware_units_boxes(units, &boxes);
}

static int machine_goes(void **state)
{
    (void)state;
    free(units);
    units = NULL;
    return 0;
}

static unsigned box_of(const char *type, unsigned package, unsigned number)
{
    for (unsigned i = 0; i < count; i++)
        if (!strcmp(boxes[i].type->name, type) && boxes[i].package == package && boxes[i].number == number)
            return i;
    fail_msg("no %s%u", type, number);
    return 0;
}

static uint64_t read_at(enum hardware_space space, unsigned package, unsigned bits, uint64_t where, uint32_t offset)
{
    struct hardware_access access = {space, (uint8_t)package, (uint8_t)bits, where, offset};
    uint64_t value;

    assert_true(hardware_units_read(units, &access, &value));
    return value;
}

static void write_at(enum hardware_space space, unsigned package, unsigned bits, uint64_t where, uint32_t offset,
                     uint64_t value)
{
    struct hardware_access access = {space, (uint8_t)package, (uint8_t)bits, where, offset};

    assert_true(hardware_units_write(units, &access, value));
}

/* uncore.md 2.1, 2.3: 391h is the switch; 394h is the clock, 395h bit 0 enables it; each package has its own. */
static void nehalem_has_one_switch(void **state)
{
    unsigned box;

    (void)state;
    machine_is("nehalem");
    box = box_of("uncore", 1, 0);
    write_at(HARDWARE_MSR, 1, 64, 0x3c7, 0, 0x160 | BIT(22));
    write_at(HARDWARE_MSR, 1, 64, 0x395, 0, 1);
    hardware_units_happen(units, box, 0, 5);
    assert_int_equal(read_at(HARDWARE_MSR, 1, 64, 0x3b7, 0), 0);
    write_at(HARDWARE_MSR, 1, 64, 0x391, 0, BIT(7) | BIT(32));
    assert_int_equal(hardware_units_running(units, box), 0x10080);
    hardware_units_happen(units, box, 0, 5);
    hardware_units_happen(units, box, 1, 50);
    hardware_units_happen(units, box, 4, 7);
    assert_int_equal(read_at(HARDWARE_MSR, 1, 64, 0x3b7, 0), 5);
    assert_int_equal(read_at(HARDWARE_MSR, 1, 64, 0x394, 0), 7);
    assert_int_equal(read_at(HARDWARE_MSR, 0, 64, 0x3b7, 0), 0);
    assert_int_equal(read_at(HARDWARE_MSR, 0, 64, 0x391, 0), 0);
    assert_null(hardware_units_damage(units));
    write_at(HARDWARE_MSR, 1, 64, 0x3c7, 0, BIT(21));
    assert_non_null(hardware_units_damage(units));
}

/* uncore_pci_devices.csv: functions 10.2 and 10.6; F4h bit 8 freezes, bits 0 and 1 reset; a counter is two dwords. */
static void channels_of_skylake_x_freeze(void **state)
{
    uint64_t where;
    unsigned box;

    (void)state;
    machine_is("skylake-x");
    box = box_of("imc", 0, 1);
    where = boxes[box].base;
    assert_int_equal(where & 0xff, 10 << 3 | 6);
    assert_int_equal(read_at(HARDWARE_PCI, 0, 32, where, 0), 0x20468086);
    assert_int_equal(read_at(HARDWARE_PCI, 0, 32, where & ~UINT64_C(7), 0xc), BIT(23));
    write_at(HARDWARE_PCI, 0, 32, where, 0xdc, 0x304 | BIT(22));
    hardware_units_happen(units, box, 0, UINT64_C(0x1fffffffe));
    assert_int_equal(read_at(HARDWARE_PCI, 0, 32, where, 0xa8), 0xfffffffe);
    assert_int_equal(read_at(HARDWARE_PCI, 0, 32, where, 0xac), 1);
    assert_int_equal(hardware_units_to_carry(units, box, 0), 2);
    assert_int_equal(hardware_units_to_carry(units, box, 1), 0);
    write_at(HARDWARE_PCI, 0, 32, where, 0xf4, BIT(8));
    hardware_units_happen(units, box, 0, 5);
    assert_int_equal(read_at(HARDWARE_PCI, 0, 32, where, 0xa8), 0xfffffffe);
    assert_int_equal(read_at(HARDWARE_PCI, 0, 32, where, 0xf4), BIT(8));
    write_at(HARDWARE_PCI, 0, 32, where, 0xf4, 3);
    assert_int_equal(read_at(HARDWARE_PCI, 0, 32, where, 0xf4), 0);
    assert_int_equal(read_at(HARDWARE_PCI, 0, 32, where, 0xa8), 0);
    assert_int_equal(read_at(HARDWARE_PCI, 0, 32, where, 0xdc), 0);
    hardware_units_hide(units, box, true);
    assert_int_equal(read_at(HARDWARE_PCI, 0, 32, where, 0xf4), 0xffffffff);
    assert_null(hardware_units_damage(units));
}

/* uncore_constraints.csv: event 36h is counter 0's alone; slices are 10h apart. */
static void an_occupancy_has_counter_0_alone(void **state)
{
    unsigned box;

    (void)state;
    machine_is("skylake-x");
    box = box_of("cha", 0, 1);
    for (unsigned n = 0; n < 4; n++)
        write_at(HARDWARE_MSR, 0, 64, 0xe11 + n, 0, 0x1136 | BIT(22));
    hardware_units_happen(units, box, 3, 9);
    assert_int_equal(read_at(HARDWARE_MSR, 0, 64, 0xe18, 0), 9);
    for (unsigned n = 1; n < 4; n++)
        assert_int_equal(read_at(HARDWARE_MSR, 0, 64, 0xe18 + n, 0), 0, n);
    assert_null(hardware_units_damage(units));
}

/* uncore_freerunning.csv: 32 bits, which wrap; read by one load of 32, never written. */
static void a_clients_controller_is_read(void **state)
{
    unsigned box;

    (void)state;
    machine_is("skylake");
    box = box_of("imc", 0, 0);
    assert_int_equal(read_at(HARDWARE_PCI, 0, 32, 0, 0), 0x191f8086);
    assert_int_equal(read_at(HARDWARE_PCI, 0, 32, 0, 0x48) & ~UINT64_C(0xfff), boxes[box].base, box);
    hardware_units_happen(units, box, 1, UINT64_C(0x100000003));
    hardware_units_happen(units, box, 2, 8);
    assert_int_equal(read_at(HARDWARE_MEMORY, 0, 32, boxes[box].base + 0x5054, 0), 3, box);
    assert_int_equal(read_at(HARDWARE_MEMORY, 0, 32, boxes[box].base + 0x5040, 0), 8, box);
    assert_null(hardware_units_damage(units));
    (void)read_at(HARDWARE_MEMORY, 0, 64, boxes[box].base + 0x5050, 0);
    assert_non_null(hardware_units_damage(units));
}

/* What is left counts or is dead, and a reset clears it. */
static void leavings_are_of_a_box_in_use_or_out_of_use(void **state)
{
    unsigned live = 0, frozen = 0;

    (void)state;
    machine_is("skylake-x");
    for (uint64_t seed = 0; seed < 200; seed++)
        for (unsigned box = 0; box < count; box++) {
            enum hardware_role role;
            uint64_t value;

            hardware_units_leave(units, box, seed);
            live += hardware_units_running(units, box) != 0;
            for (unsigned i = 0; hardware_units_peek(units, box, i, &value, &role); i++)
                frozen += role == HARDWARE_CONTROL && value != 0;
            hardware_units_reset(units, box);
            assert_int_equal(hardware_units_running(units, box), 0);
        }
    assert_in_range(live, 200, 1200);
    assert_in_range(frozen, 50, 1000);
}

/* Power-on brings no function back. */
static void a_reset_leaves_a_box_away(void **state)
{
    unsigned box;

    (void)state;
    machine_is("skylake");
    box = box_of("vectorcopro", 0, 0);
    hardware_units_hide(units, box, true);
    hardware_units_reset(units, box);
    assert_int_equal(read_at(HARDWARE_MEMORY, 0, 64, boxes[box].base + 0x40, 0), ~UINT64_C(0), box);
    hardware_units_hide(units, box, false);
    assert_int_equal(read_at(HARDWARE_MEMORY, 0, 64, boxes[box].base + 0x40, 0), 0, box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nehalem_has_one_switch),
        cmocka_unit_test(channels_of_skylake_x_freeze),
        cmocka_unit_test(an_occupancy_has_counter_0_alone),
        cmocka_unit_test(a_clients_controller_is_read),
        cmocka_unit_test(leavings_are_of_a_box_in_use_or_out_of_use),
        cmocka_unit_test(a_reset_leaves_a_box_away),
    };

    return cmocka_run_group_tests(tests, NULL, machine_goes);
}
