/* SPDX-License-Identifier: MIT */
/*
 * Arm's register of enable bits, which a write sets and the next address clears.
 * Skipped in builds without Arm.  By hand:
 * gcc -std=gnu11 -O1 -DUPMU_BACKEND_ARM_PMUV3=1 -I. -Iinclude tests/unit/hw/test_arm_gates.c \
 *     $(find core backends events -name '*.c') -lcmocka -o build/test_arm_gates && build/test_arm_gates
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include <upmu/upmu.h>

#if UPMU_BACKEND_ARM_PMUV3

extern const struct upmu_backend upmu_arm_pmuv3_backend;

static uint32_t gate_address;
static uint64_t enabled;

static bool arm_rdmsr(void *context, uint32_t address, uint64_t *out_value)
{
    (void)context;
    *out_value = address == gate_address ? enabled : 0;
    return true;
}

static bool arm_wrmsr(void *context, uint32_t address, uint64_t value)
{
    (void)context;
    if (address == gate_address)
        enabled |= value;
    if (address == gate_address + 1u)
        enabled &= ~value;
    return true;
}

/* Mistake: a write of the bits that change is taken for one that starts again what a handler has stopped. */
static void what_a_handler_stopped_is_kept_where_a_write_starts_nothing(void **state)
{
    static struct upmu_pmu pmu;
    static struct upmu_bank bank;
    static uint64_t memory[1024];
    const struct upmu_port port = {.rdmsr = arm_rdmsr, .wrmsr = arm_wrmsr};

    (void)state;
    assert_true(upmu_arm_pmuv3_backend.describe(upmu_arm_pmuv3_backend.names(0), &pmu));
    pmu.backend = &upmu_arm_pmuv3_backend;
    upmu_bank_init(&bank, &pmu, &port, true, memory);
    gate_address = upmu_register_address(&pmu, pmu.counter[0].gate_row);
    assert_true(upmu_bank_find(&bank));
    assert_true(upmu_bank_gate(&bank, 3, 0));
    assert_int_equal(enabled, 3);
    assert_true(upmu_bank_handler_close(&bank, 3));
    assert_int_equal(enabled, 0);
    assert_int_equal(bank.stopped, 3);
    assert_true(upmu_bank_gate(&bank, 4, 0)); /* a set that the handler's plan brings */
    print_message("shadow %llx enabled %llx stopped %x\n", (unsigned long long)bank.shadow[pmu.counter[0].gate_row],
                  (unsigned long long)enabled, bank.stopped);
    assert_int_equal(enabled | bank.stopped, 7);
}

/* Gates and interrupts are cleared by their second addresses, each bit of them, though no value was read before. */
static void a_clear_clears_each_bit_by_the_second_address(void **state)
{
    static struct upmu_pmu pmu;
    static struct upmu_bank bank;
    static uint64_t memory[1024];
    const struct upmu_port port = {.rdmsr = arm_rdmsr, .wrmsr = arm_wrmsr};

    (void)state;
    assert_true(upmu_arm_pmuv3_backend.describe(upmu_arm_pmuv3_backend.names(0), &pmu));
    pmu.backend = &upmu_arm_pmuv3_backend;
    upmu_bank_init(&bank, &pmu, &port, true, memory);
    gate_address = upmu_register_address(&pmu, pmu.counter[0].gate_row);
    enabled = pmu.counters;
    assert_true(upmu_bank_clear(&bank, true));
    assert_int_equal(enabled, 0);
    enabled = pmu.counters;
    upmu_bank_others(&bank, 4); /* the host's own */
    assert_true(upmu_bank_clear(&bank, true));
    assert_int_equal(enabled, 4);
    enabled = 0;
}

#else

static void a_clear_clears_each_bit_by_the_second_address(void **state)
{
    (void)state;
    print_message("this build is without Arm\n");
    skip();
}

static void what_a_handler_stopped_is_kept_where_a_write_starts_nothing(void **state)
{
    (void)state;
    print_message("this build is without Arm\n");
    skip();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clear_clears_each_bit_by_the_second_address),
        cmocka_unit_test(what_a_handler_stopped_is_kept_where_a_write_starts_nothing),
    };

    return cmocka_run_group_tests_name("arm_gates", tests, NULL, NULL);
}
