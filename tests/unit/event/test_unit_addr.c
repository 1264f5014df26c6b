/* SPDX-License-Identifier: MIT */
/*
 * Packed addresses of uncore units: the layout that the header publishes, bit for bit.
 */
#include <upmu/unit_addr.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include "tests/common/assertions.h"

/* The layout again, as a table: first bit and number of bits of each field. */
enum { RACK, BLADE, CHIP, NODE, CORE, NUMBER, FIELDS };
static const struct {
    unsigned first, bits;
} layout[FIELDS] = {{17, 7}, {12, 5}, {9, 3}, {8, 1}, {4, 4}, {0, 4}};

static uint32_t address_of(const int64_t field[FIELDS])
{
    return UPMU_UNIT_ADDRESS(field[RACK], field[BLADE], field[CHIP], field[NODE], field[CORE], field[NUMBER]);
}

static uint32_t field_of(uint32_t address, unsigned field)
{
    switch (field) {
    case RACK:
        return UPMU_UNIT_RACK(address);
    case BLADE:
        return UPMU_UNIT_BLADE(address);
    case CHIP:
        return UPMU_UNIT_CHIP(address);
    case NODE:
        return UPMU_UNIT_NODE(address);
    case CORE:
        return UPMU_UNIT_CORE(address);
    default:
        return UPMU_UNIT_NUMBER(address);
    }
}

/* UN-020 number, UN-021 core, UN-022 node, UN-023 chip, UN-024 blade, UN-025 rack: a row of `layout` each. */
static void each_field_has_its_bits_and_no_value_beyond_them(void **state)
{
    static const int64_t beyond[] = {-1, INT32_MIN, INT64_MIN, INT64_MAX, INT64_C(1) << 32};

    (void)state;
    for (unsigned field = 0; field < FIELDS; field++) {
        int64_t values[FIELDS] = {0};
        const int64_t end = INT64_C(1) << layout[field].bits;

        for (int64_t value = 0; value < end; value++) {
            values[field] = value;
            assert_int_equal(address_of(values), (uint32_t)value << layout[field].first, field);
            for (unsigned other = 0; other < FIELDS; other++)
                assert_int_equal(field_of(address_of(values), other), other == field ? value : 0);
        }
        values[field] = end;
        assert_int_equal(address_of(values), UPMU_UNIT_NO_ADDRESS);
        for (unsigned i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
            values[field] = beyond[i];
            assert_int_equal(address_of(values), UPMU_UNIT_NO_ADDRESS);
        }
    }
}

/* The founding text says 0 to 128 for the rack, in seven bits. */
static void rack_128_and_number_16_are_no_other_unit(void **state)
{
    (void)state;
    assert_int_equal(UPMU_UNIT_ADDRESS(127, 0, 0, 0, 0, 0), 0xfe0000);
    assert_int_equal(UPMU_UNIT_ADDRESS(128, 0, 0, 0, 0, 0), UPMU_UNIT_NO_ADDRESS);
    assert_int_equal(UPMU_UNIT_ADDRESS(0, 0, 0, 0, 0, 15), 0xf);
    assert_int_equal(UPMU_UNIT_ADDRESS(0, 0, 0, 0, 0, 16), UPMU_UNIT_NO_ADDRESS);
    assert_int_equal(UPMU_UNIT_ADDRESS(127, 31, 7, 1, 15, 15), 0xffffff);
    assert_true(upmu_unit_address_valid(0xffffff));
    assert_false(upmu_unit_address_valid(0x1000000));
    assert_false(upmu_unit_address_valid(UPMU_UNIT_NO_ADDRESS));
}

static void all_addresses_round_trip(void **state)
{
    uint32_t different = 0;

    (void)state;
    for (uint32_t address = 0; address < UINT32_C(1) << 24; address++) {
        int64_t values[FIELDS];

        for (unsigned field = 0; field < FIELDS; field++)
            values[field] = field_of(address, field);
        different += address_of(values) != address || !upmu_unit_address_valid(address);
    }
    assert_int_equal(different, 0);
}

/* A table of a tool. */
static const uint32_t constant[] = {UPMU_UNIT_ADDRESS(1, 2, 3, 1, 5, 6), UPMU_UNIT_ADDRESS(-1, 0, 0, 0, 0, 0)};

static void addresses_are_constants(void **state)
{
    (void)state;
    assert_int_equal(constant[0], 1u << 17 | 2u << 12 | 3u << 9 | 1u << 8 | 5u << 4 | 6u);
    assert_int_equal(constant[1], UPMU_UNIT_NO_ADDRESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_has_its_bits_and_no_value_beyond_them),
        cmocka_unit_test(rack_128_and_number_16_are_no_other_unit),
        cmocka_unit_test(all_addresses_round_trip),
        cmocka_unit_test(addresses_are_constants),
    };

    return cmocka_run_group_tests_name("unit_addr", tests, NULL, NULL);
}
