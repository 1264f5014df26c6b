/* SPDX-License-Identifier: MIT */
/*
 * The random generator: documented numbers, whole range, no favourites.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include "tests/common/assertions.h"
#include "core/util/random.h"

/* From the definition, worked out by hand: 1 -> 1 ^ 1 << 25 ^ (both) >> 27, times the multiplier. */
static void random_numbers_are_xorshift64_star(void **state)
{
    uint64_t seed = 1;
    uint64_t word = UINT64_C(0x2000001);

    (void)state;
    assert_int_equal(upmu_random_next(&seed), word * UINT64_C(2685821657736338717));
    assert_int_equal(seed, word);
    assert_int_equal(word * UINT64_C(2685821657736338717), UINT64_C(0x47e4ce4b896cdd1d));
}

static void the_same_seed_gives_the_same_numbers_and_zero_is_a_seed(void **state)
{
    uint64_t one = 0, two = 0, other = 5;
    unsigned same = 0;

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t number = upmu_random_next(&one);
        assert_int_equal(number, upmu_random_next(&two));
        same += number == upmu_random_next(&other);
    }
    assert_int_not_equal(one, 0);
    assert_int_equal(same, 0);
}

/* 64 bits, each set in half of 10,000 numbers: six standard deviations are 300. */
static void every_bit_of_a_random_number_is_set_half_of_the_time(void **state)
{
    uint64_t seed = 42;
    unsigned set[64] = {0};

    (void)state;
    for (unsigned i = 0; i < 10000; i++) {
        uint64_t number = upmu_random_next(&seed);
        for (unsigned bit = 0; bit < 64; bit++)
            set[bit] += (unsigned)(number >> bit & 1u);
    }
    for (unsigned bit = 0; bit < 64; bit++)
        assert_in_range(set[bit], 4700, 5300, bit);
}

static void a_number_below_a_limit_takes_each_value_alike(void **state)
{
    uint64_t seed = 7;
    unsigned seen[7] = {0};

    (void)state;
    for (unsigned i = 0; i < 70000; i++) {
        uint32_t number = upmu_random_below(&seed, 7);
        assert_in_range(number, 0, 6);
        seen[number]++;
    }
    for (unsigned i = 0; i < 7; i++)
        assert_in_range(seen[i], 9400, 10600, i);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(upmu_random_below(&seed, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_numbers_are_xorshift64_star),
        cmocka_unit_test(the_same_seed_gives_the_same_numbers_and_zero_is_a_seed),
        cmocka_unit_test(every_bit_of_a_random_number_is_set_half_of_the_time),
        cmocka_unit_test(a_number_below_a_limit_takes_each_value_alike),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
