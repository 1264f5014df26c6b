/* SPDX-License-Identifier: MIT */
/*
 * The bit arithmetic that stands in for the compiler's builtins.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include "tests/common/assertions.h"
#include "core/util/bits.h"

static void bits_count_agrees_with_a_loop_over_all_16_bit_masks(void **state)
{
    (void)state;
    for (uint32_t mask = 0; mask < 0x10000u; mask++) {
        unsigned count = 0;
        for (unsigned bit = 0; bit < 16; bit++)
            count += mask >> bit & 1u;
        assert_int_equal(upmu_bits_count(mask), count);
        assert_int_equal(upmu_bits_count(mask << 16), count);
        assert_int_equal(upmu_bits_count(mask | mask << 16), 2 * count);
    }
}

static void bits_lowest_is_the_index_of_the_lowest_one(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 32; bit++) {
        assert_int_equal(upmu_bits_lowest(UPMU_BIT32(bit)), bit);
        assert_int_equal(upmu_bits_lowest(UINT32_MAX << bit), bit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_count_agrees_with_a_loop_over_all_16_bit_masks),
        cmocka_unit_test(bits_lowest_is_the_index_of_the_lowest_one),
    };
    return cmocka_run_group_tests_name("bits", tests, NULL, NULL);
}
