/* SPDX-License-Identifier: MIT */
/*
 * What the register tables of the Intel core PMUs promise the bank: the order in
 * which registers are loaded and given up, which bits hardware changes, which
 * registers never fault, what an idle select is, and which counter guards which
 * register.  Intel SDM vol 3 (325384-059) 18.2; for the order also Linux
 * arch/x86/events/intel/core.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "backends/x86_core/x86_core_registers.h"
#include "core/hw/backend.h"
#include "core/util/bits.h"
#include "core/hw/register.h"
#include "tests/common/steps.h"
#include <upmu/upmu.h>

static const struct upmu_register_table *const tables[] = {&upmu_x86_core_global_table, &upmu_x86_core_block_table,
                                                           &upmu_x86_core_single_table, &upmu_x86_core_p6_table};
#define TABLES (sizeof tables / sizeof tables[0])

static const struct upmu_register_class *class_of(const struct upmu_register_table *table, unsigned row)
{
    return &table->classes[table->rows[row].class_index];
}

/* Each before the next. */
static void expect_load_order(const struct upmu_register_table *table, const uint8_t *rows, unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        assert_compare(class_of(table, rows[i - 1])->load_rank, <, class_of(table, rows[i])->load_rank, i);
}

static void expect_release_order(const struct upmu_register_table *table, const uint8_t *rows, unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        assert_compare(class_of(table, rows[i - 1])->release_rank, <, class_of(table, rows[i])->release_rank, i);
}

/* A counter is written with its event chosen; what an overflow left behind is acknowledged before it may run. */
static void registers_are_loaded_from_freeze_bits_to_the_common_gate(void **state)
{
    static const uint8_t rows[] = {UPMU_X86_ROW_DEBUGCTL, UPMU_X86_ROW_OFFCORE, UPMU_X86_ROW_SELECT,
                                   UPMU_X86_ROW_FIXED_CTRL, UPMU_X86_ROW_PMC, UPMU_X86_ROW_ACK,
                                   UPMU_X86_ROW_GLOBAL_CTRL};

    (void)state;
    for (unsigned t = 0; t < 2; t++)
        expect_load_order(tables[t], rows, sizeof rows);
}

/* Slots are written before the metrics that are fractions of them (Linux icl_set_topdown_event_period). */
static void metrics_are_loaded_after_the_slots_they_divide(void **state)
{
    (void)state;
    for (unsigned t = 0; t < 2; t++)
        assert_compare(class_of(tables[t], UPMU_X86_ROW_METRICS)->load_rank, >,
                       class_of(tables[t], UPMU_X86_ROW_FIXED)->load_rank, t);
}

/* The common gate first; a payload only when no select asks for it any more; freeze bits are restored last. */
static void registers_are_given_up_from_the_gate_to_the_freeze_bits(void **state)
{
    static const uint8_t general[] = {UPMU_X86_ROW_GLOBAL_CTRL, UPMU_X86_ROW_SELECT, UPMU_X86_ROW_OFFCORE,
                                      UPMU_X86_ROW_DEBUGCTL, UPMU_X86_ROW_PMC};
    static const uint8_t fixed[] = {UPMU_X86_ROW_GLOBAL_CTRL, UPMU_X86_ROW_FIXED_CTRL, UPMU_X86_ROW_DEBUGCTL,
                                    UPMU_X86_ROW_FIXED, UPMU_X86_ROW_METRICS};
    static const uint8_t single[] = {UPMU_X86_ROW_SELECT, UPMU_X86_ROW_PMC};

    (void)state;
    for (unsigned t = 0; t < 2; t++) {
        expect_release_order(tables[t], general, sizeof general);
        expect_release_order(tables[t], fixed, sizeof fixed);
    }
    for (unsigned t = 2; t < TABLES; t++)
        expect_release_order(tables[t], single, sizeof single);
}

/* So no shadow of them is ever believed. */
static void hardware_changes_counters_status_and_acknowledgements_alone(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++)
        for (unsigned i = 0; i < tables[t]->class_count; i++) {
            const struct upmu_register_class *class = &tables[t]->classes[i];
            bool volatile_kind = class->kind == UPMU_KIND_COUNTER || class->kind == UPMU_KIND_STATUS ||
                                 class->kind == UPMU_KIND_ACK;

            assert_int_equal(class->hardware, volatile_kind ? ~UINT64_C(0) : 0);
            assert_int_equal(class->access == UPMU_ACCESS_RO, class->kind == UPMU_KIND_STATUS);
            assert_int_equal(class->access == UPMU_ACCESS_W1C, class->kind == UPMU_KIND_ACK);
        }
}

/* CPUID or PERF_CAPABILITIES enumerates every register but those that model-specific events bring along. */
static void only_payload_registers_may_fault(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++)
        for (unsigned i = 0; i < tables[t]->class_count; i++)
            assert_int_equal(tables[t]->classes[i].promised, tables[t]->classes[i].kind != UPMU_KIND_PAYLOAD, t, i);
}

/* Registers that other software may have configured are read at take-over, so they can be restored. */
static void configuration_is_read_at_take_over(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++)
        for (unsigned i = 0; i < tables[t]->class_count; i++) {
            unsigned kind = tables[t]->classes[i].kind;

            if (kind == UPMU_KIND_SELECT || kind == UPMU_KIND_CONTROL || kind == UPMU_KIND_AUX)
                assert_int_equal(tables[t]->classes[i].found, 1, t, i);
        }
}

static void an_idle_select_is_disabled_but_for_the_enable_bit_of_p6(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++) {
        const struct upmu_register_class *class = class_of(tables[t], UPMU_X86_ROW_SELECT);
        uint64_t idle = (~UINT64_C(0) & class->idle_keep) | class->idle_value;

        if (tables[t] == &upmu_x86_core_p6_table)
            assert_int_equal(idle & (UPMU_X86_SELECT_USR | UPMU_X86_SELECT_OS), 0);
        else
            assert_int_equal(idle & UPMU_X86_SELECT_EN, 0);
    }
}

/* SDM 18.2.1.1, 18.2.2. */
static void an_overflow_requests_an_interrupt_by_a_bit_of_its_counter(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++)
        assert_int_equal(class_of(tables[t], UPMU_X86_ROW_SELECT)->interrupt, UINT64_C(1) << 20, t);
    for (unsigned t = 0; t < 2; t++)
        assert_int_equal(class_of(tables[t], UPMU_X86_ROW_FIXED_CTRL)->interrupt, 0x8888888, t);
}

/*
 * Four bits of the control of fixed counters, and since adaptive records as many 32 higher; of IA32_PEBS_ENABLE one,
 * and before version 5 those of loads and stores (SDM 18.4.4, 18.8.1, 18.9.4, 18.13.2).
 */
static void a_register_of_several_counters_has_bits_of_each(void **state)
{
    static const struct {
        const char *pmu;
        unsigned row, counter;
        uint64_t bits;
    } rows[] = {
        {"skl", UPMU_X86_ROW_FIXED_CTRL, 0, 0},
        {"skl", UPMU_X86_ROW_FIXED_CTRL, 16, UINT64_C(0xf0000000f)},
        {"skl", UPMU_X86_ROW_FIXED_CTRL, 18, UINT64_C(0xf0000000f00)},
        {"icl", UPMU_X86_ROW_FIXED_CTRL, 19, UINT64_C(0xf0000000f000)},
        {"icl", UPMU_X86_ROW_FIXED_CTRL, 24, UINT64_C(0xf0000000f000)},
        {"icl", UPMU_X86_ROW_FIXED_CTRL, 31, UINT64_C(0xf0000000f000)},
        {"skl", UPMU_X86_ROW_PEBS, 1, UINT64_C(0x200000002)},
        {"skl", UPMU_X86_ROW_PEBS, 3, UINT64_C(0x8000000800000008)},
        {"icl", UPMU_X86_ROW_PEBS, 3, 8},
        {"icl", UPMU_X86_ROW_PEBS, 17, UINT64_C(0x200000000)},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct upmu_pmu pmu;

        assert_int_equal(upmu_pmu_by_name(&pmu, rows[i].pmu), UPMU_OK, i);
        assert_int_equal(class_of(pmu.table, rows[i].row)->by_counter, 1, i);
        assert_int_equal(pmu.backend->bits_of(&pmu, rows[i].row, rows[i].counter), rows[i].bits, i);
    }
}

/* Neither may change while the counter that looks at it runs. */
static void the_counter_of_an_event_guards_its_select_and_its_payload(void **state)
{
    struct upmu_pmu pmu;
    struct upmu_event event;
    struct upmu_why why;

    (void)state;
    assert_int_equal(upmu_pmu_by_name(&pmu, "skl"), UPMU_OK);
    assert_int_equal(upmu_event_parse(&pmu, "raw:config=0x1b7:config1=0x10001", &event, &why), UPMU_OK);
    for (unsigned counter = 0; counter < 4; counter++) {
        struct upmu_step steps[UPMU_IMAGE_STEPS];
        struct upmu_image image = upmu_image_on(&pmu, steps, UPMU_IMAGE_STEPS);
        uint8_t counters[UPMU_SLOTS];

        memset(counters, UPMU_NO_COUNTER, sizeof counters);
        counters[0] = (uint8_t)counter;
        pmu.backend->render(&pmu, &event, 0, counters, 0, &image);
        assert_int_equal(image_guard(&image, UPMU_X86_ROW_SELECT + counter), UPMU_BIT32(counter));
        assert_int_equal(image_guard(&image, UPMU_X86_ROW_OFFCORE), UPMU_BIT32(counter));
        assert_int_equal(image_value(&image, UPMU_X86_ROW_OFFCORE), 0x10001);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_are_loaded_from_freeze_bits_to_the_common_gate),
        cmocka_unit_test(metrics_are_loaded_after_the_slots_they_divide),
        cmocka_unit_test(registers_are_given_up_from_the_gate_to_the_freeze_bits),
        cmocka_unit_test(an_overflow_requests_an_interrupt_by_a_bit_of_its_counter),
        cmocka_unit_test(a_register_of_several_counters_has_bits_of_each),
        cmocka_unit_test(hardware_changes_counters_status_and_acknowledgements_alone),
        cmocka_unit_test(only_payload_registers_may_fault),
        cmocka_unit_test(configuration_is_read_at_take_over),
        cmocka_unit_test(an_idle_select_is_disabled_but_for_the_enable_bit_of_p6),
        cmocka_unit_test(the_counter_of_an_event_guards_its_select_and_its_payload),
    };

    return cmocka_run_group_tests_name("intel_registers", tests, NULL, NULL);
}
