/* SPDX-License-Identifier: MIT */
/*
 * abi/sbi against a model of the SBI's PMU: the same random calls, events and memory on a hart whose firmware has it,
 * and on the model. Each answer, each counter that S-mode reads, each overflow flag and its memory are equal.
 */
#include <stdlib.h>

#include "tests/common/assertions.h"
#include "tests/guest/operations.h"
#include "tests/guest/sbi_pair.h"

#define LIFE 4000u /* calls between two resets of the hart */

static struct sbi_pair pair = {.seed = 1};
static struct upmu_sbi_config config;

static void begin(void)
{
    sbi_pair_config(&pair, &config);
    config.port = &hart_port;
    config.context = &hart;
    config.copy = sbi_pair_below(&pair, 8) ? hart_copy : NULL;
    assert_true(sbi_pair_begin(&pair, &config));
}

/* S-mode writes its memory, loses it, or changes each byte as soon as it was read. */
static void change_memory(void)
{
    hart.denied = pair.model.denied = sbi_pair_below(&pair, 12) == 0;
    hart.flips = pair.model.flips = sbi_pair_below(&pair, 6) == 0;
    for (unsigned i = 0, entry = sbi_pair_below(&pair, 16); i < 4; i++) {
        uint64_t word[2] = {sbi_pair_numbers[sbi_pair_below(&pair, SBI_PAIR_COUNT(sbi_pair_numbers))],
                            sbi_pair_below(&pair, 4) ? 0 : sbi_pair_value(&pair)};

        memcpy(hart.ram + 16 * (entry + i), word, sizeof word);
        memcpy(pair.model.ram + 16 * (entry + i), word, sizeof word);
    }
}

static void s_mode_sees_what_the_model_says(void **state)
{
    unsigned long long calls = guest_operations(200000, 20000000), errors[16] = {0};

    (void)state;
    for (unsigned long long step = 0; step < calls; step++) {
        if (step % LIFE == 0)
            begin();
        if (sbi_pair_below(&pair, 3) == 0) {
            sbi_pair_pass_time(&pair);
            change_memory();
        }
        errors[-sbi_pair_call(&pair) & 15]++;
        if (step % 4 == 0)
            sbi_pair_compare(&pair);
        if (pair.wrong[0])
            fail_msg("call %llu: %s", step, pair.wrong);
        if (step % 256 == 0)
            assert_memory_equal(hart.ram, pair.model.ram, sizeof hart.ram);
    }
    /* Each error came, and not seldom. */
    for (unsigned error = 0; calls >= 100000 && error < 10; error++)
        if (error != 4 && error != 6)
            assert_compare(errors[error], >=, 20, error);
    guest_operations_made("of the SBI", calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s_mode_sees_what_the_model_says),
    };

    return cmocka_run_group_tests_name("sbi_operations", tests, NULL, NULL);
}
