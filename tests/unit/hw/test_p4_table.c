/* SPDX-License-Identifier: MIT */
/*
 * The NetBurst register table against tests/conformance/p4_msrs.tsv, and what
 * every register table must hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "backends/amd_k8/amd_registers.h"
#include "backends/x86_core/x86_core_registers.h"
#include "backends/x86_p4/p4_registers.h"
#include "core/util/bits.h"
#include "core/hw/register.h"
#include "tests/common/table.h"
#include <upmu/upmu.h>

#define FACTS 83

struct fact {
    char kind[16], name[32], models[16], mask[20];
    unsigned number, address;
};

static struct fact facts[FACTS + 1];
static unsigned fact_count;

static int read_facts(void **state)
{
    FILE *file = source_open("tests/conformance/p4_msrs.tsv");
    char line[200];

    (void)state;
    while (fgets(line, sizeof line, file) && fact_count <= FACTS) {
        struct fact *fact = &facts[fact_count];

        if (line[0] == '#')
            continue;
        if (sscanf(line, "%15[^\t]\t%31[^\t]\t%u\t%x\t%15[^\t]\t%19[^\t]", fact->kind, fact->name, &fact->number,
                   &fact->address, fact->models, fact->mask) != 6)
            return -1;
        fact_count++;
    }
    fclose(file);
    return fact_count == FACTS ? 0 : -1;
}

static unsigned row_of_fact(const struct fact *fact)
{
    if (!strcmp(fact->kind, "counter"))
        return UPMU_P4_ROW_COUNTER + fact->number;
    if (!strcmp(fact->kind, "cccr"))
        return UPMU_P4_ROW_CCCR + fact->number;
    if (!strcmp(fact->kind, "escr"))
        return UPMU_P4_ROW_ESCR + fact->number;
    assert_string_equal(fact->kind, "tags");
    return UPMU_P4_ROW_PEBS_ENABLE + fact->number;
}

static bool fact_has_model(const struct fact *fact, unsigned model)
{
    for (const char *c = fact->models; *c; c++)
        if (*c == (char)('0' + model))
            return true;
    return false;
}

static struct upmu_pmu described(unsigned model)
{
    struct upmu_pmu pmu;

    memset(&pmu, 0, sizeof pmu);
    upmu_p4_describe_table(&pmu, model);
    return pmu;
}

static void every_register_is_as_the_facts_say(void **state)
{
    struct upmu_pmu pmu = described(4);
    struct upmu_pmu old = described(0);

    (void)state;
    assert_int_equal(pmu.table->row_count, FACTS);
    for (unsigned i = 0; i < fact_count; i++) {
        unsigned row = row_of_fact(&facts[i]);

        assert_int_equal(upmu_register_address(&pmu, row), facts[i].address, i);
        assert_string_equal(upmu_register_name(&old, row), facts[i].name);
        if (!strcmp(facts[i].mask, "absent"))
            assert_null(upmu_register_name(&pmu, row));
        else
            assert_int_equal(upmu_register_bits(&pmu, row), strtoull(facts[i].mask, NULL, 16), i);
    }
}

static void every_model_has_the_registers_that_the_facts_give_it(void **state)
{
    static const unsigned models[] = {0, 1, 2, 3, 4, 6};

    (void)state;
    for (unsigned m = 0; m < sizeof models / sizeof models[0]; m++) {
        struct upmu_pmu pmu = described(models[m]);

        for (unsigned i = 0; i < fact_count; i++) {
            unsigned row = upmu_register_find(&pmu, facts[i].address);

            assert_int_equal(row, fact_has_model(&facts[i], models[m]) ? row_of_fact(&facts[i]) : UPMU_NO_ROW, i, m);
        }
    }
}

/* Intel SDM vol 3 18.15: extended cascading came with model 2. */
static void extended_cascade_bits_exist_in_four_cccrs_from_model_2_on(void **state)
{
    struct upmu_pmu old = described(1), new = described(2);

    (void)state;
    for (unsigned n = 0; n < UPMU_P4_COUNTERS; n++) {
        uint64_t bit = UPMU_P4_CCCR_EXTENDED_CASCADE;
        bool has = n == 12 || n == 15 || n == 16 || n == 17;

        assert_int_equal(upmu_register_bits(&old, UPMU_P4_ROW_CCCR + n) & bit, 0, n);
        assert_int_equal(!(upmu_register_bits(&new, UPMU_P4_ROW_CCCR + n) & bit), !has, n);
    }
}

static void counters_know_their_registers_and_rdpmc_index(void **state)
{
    struct upmu_pmu pmu = described(3);

    (void)state;
    assert_int_equal(pmu.counters, 0x3ffff);
    for (unsigned n = 0; n < UPMU_P4_COUNTERS; n++) {
        const struct upmu_counter *counter = &pmu.counter[n];

        assert_int_equal(upmu_register_address(&pmu, counter->value_row), 0x300 + n, n);
        assert_int_equal(upmu_register_address(&pmu, counter->write_row), 0x300 + n, n);
        assert_int_equal(upmu_register_address(&pmu, counter->select_row), 0x360 + n, n);
        assert_int_equal(upmu_register_address(&pmu, counter->gate_row), 0x360 + n, n);
        assert_int_equal(counter->gate_bit, 12);
        assert_int_equal(counter->width, 40);
        assert_int_equal(counter->write_bits, 40);
        assert_int_equal(counter->rdpmc, n);
        assert_int_equal(pmu.table->rows[counter->value_row].counter, n);
        assert_int_equal(pmu.table->rows[counter->select_row].counter, n);
    }
}

static void everything_is_shared_by_the_threads_of_a_core(void **state)
{
    struct upmu_pmu pmu = described(3), old = described(2);

    (void)state;
    assert_int_equal(pmu.shared_scope, UPMU_SCOPE_CORE);
    assert_int_equal(pmu.shared_counters, pmu.counters);
    assert_int_equal(old.shared, upmu_bits_ones(UPMU_P4_RESOURCES));
    assert_int_equal(old.shared ^ pmu.shared, UPMU_BIT64(UPMU_P4_IQ_ESCR0) | UPMU_BIT64(UPMU_P4_IQ_ESCR1));
    for (unsigned row = 0; row < UPMU_P4_ROWS; row++)
        assert_int_equal(upmu_register_class_of(&pmu, row)->scope, UPMU_SCOPE_CORE);
}

/* Linux arch/x86/events/intel/p4.c; Intel SDM vol 3 18.15. */
static void ranks_give_the_documented_order(void **state)
{
    static const unsigned loading[] = {UPMU_P4_CLASS_ESCR, UPMU_P4_CLASS_MATRIX_VERT, UPMU_P4_CLASS_PEBS_ENABLE,
                                       UPMU_P4_CLASS_COUNTER, UPMU_P4_CLASS_CCCR};
    static const unsigned giving_up[] = {UPMU_P4_CLASS_CCCR, UPMU_P4_CLASS_ESCR, UPMU_P4_CLASS_PEBS_ENABLE,
                                         UPMU_P4_CLASS_MATRIX_VERT};
    const struct upmu_register_class *classes = upmu_p4_table.classes;

    (void)state;
    for (unsigned i = 1; i < 5; i++)
        assert_compare(classes[loading[i - 1]].load_rank, <, classes[loading[i]].load_rank, i);
    for (unsigned i = 1; i < 4; i++)
        assert_compare(classes[giving_up[i - 1]].release_rank, <, classes[giving_up[i]].release_rank, i);
}

static void sessions_may_not_raise_interrupts_or_make_records(void **state)
{
    struct upmu_pmu pmu = described(4);
    unsigned cccr = UPMU_P4_ROW_CCCR + 12, tags = UPMU_P4_ROW_PEBS_ENABLE;
    uint64_t pmi = UPMU_P4_CCCR_OVF_PMI_T0 | UPMU_P4_CCCR_OVF_PMI_T1 | UPMU_P4_CCCR_FORCE_OVF;

    (void)state;
    assert_int_equal(upmu_register_settable(&pmu, cccr, UPMU_LEVEL_SESSION) & (pmi | UPMU_P4_CCCR_OVF), 0);
    assert_int_equal(upmu_register_settable(&pmu, cccr, UPMU_LEVEL_PRIVILEGED) & pmi, pmi);
    assert_int_equal(upmu_register_settable(&pmu, cccr, UPMU_LEVEL_PRIVILEGED) & UPMU_P4_CCCR_OVF, 0);
    assert_int_equal(upmu_register_settable(&pmu, cccr, UPMU_LEVEL_SESSION), UINT64_C(0x41fff800));
    assert_int_equal(upmu_register_settable(&pmu, UPMU_P4_ROW_CCCR, UPMU_LEVEL_SESSION), UINT64_C(0x41fff000));
    assert_int_equal(upmu_register_settable(&pmu, tags, UPMU_LEVEL_SESSION), 0);
    assert_int_equal(upmu_register_settable(&pmu, tags, UPMU_LEVEL_PRIVILEGED), UPMU_P4_PEBS_TAGS);
    assert_int_equal(upmu_register_settable(&pmu, tags, UPMU_LEVEL_LIBRARY), UINT64_C(0x07ffffff));
    assert_int_equal(upmu_register_settable(&pmu, UPMU_P4_ROW_ESCR, UPMU_LEVEL_SESSION), UINT64_C(0x7fffffff));
    assert_int_equal(upmu_register_settable(&pmu, UPMU_P4_ROW_ESCR + UPMU_P4_IQ_ESCR0, UPMU_LEVEL_LIBRARY), 0);
    /* OVF_PMI of each hyper-thread (SDM 18.15.2). */
    assert_int_equal(upmu_p4_table.classes[UPMU_P4_CLASS_CCCR].interrupt, UINT64_C(3) << 26);
    /* Bits 25, 26 of PEBS_ENABLE write records to memory: upmu never owns them. */
    assert_int_equal(upmu_p4_table.classes[UPMU_P4_CLASS_PEBS_ENABLE].owned & (UINT64_C(3) << 25), 0);
}

static void table_is_well_formed(const struct upmu_register_table *table, const char *source)
{
    assert_compare(table->row_count, <=, UPMU_REGISTERS);
    assert_compare(table->class_count, <=, UPMU_REGISTER_CLASSES);
    for (unsigned i = 0; i < table->class_count; i++) {
        const struct upmu_register_class *class = &table->classes[i];

        assert_true(class->load_rank < 8 && class->release_rank < 8);
        assert_int_equal(class->gates & ~class->owned, 0);
        assert_int_equal(class->gates & class->hardware, 0);
        assert_true((class->idle_keep & (class->gates | class->hardware)) == 0 || class->kind != UPMU_KIND_SELECT ||
                    !class->gates);
        assert_int_equal(class->idle_value & class->gates, 0);
        assert_int_equal(strncmp(table->text + class->source, source, strlen(source)), 0, i);
    }
    for (unsigned i = 0; i < table->row_count; i++) {
        if (!table->rows[i].address) /* (AMD's table of four counters has rows of fifteen) */
            continue;
        assert_compare(table->rows[i].class_index, <, table->class_count, i);
        assert_compare(strlen(table->text + table->rows[i].name), >, 4, i);
        for (unsigned k = 0; k < i; k++) {
            assert_int_not_equal(table->rows[i].address, table->rows[k].address, i, k);
            assert_string_not_equal(table->text + table->rows[i].name, table->text + table->rows[k].name);
        }
    }
}

static void names_are_unique_and_classes_make_sense_in_every_table(void **state)
{
    (void)state;
    table_is_well_formed(&upmu_p4_table, "SDM ");
    table_is_well_formed(&upmu_x86_core_global_table, "SDM ");
    table_is_well_formed(&upmu_x86_core_block_table, "SDM ");
    table_is_well_formed(&upmu_x86_core_single_table, "SDM ");
    table_is_well_formed(&upmu_x86_core_p6_table, "SDM ");
    table_is_well_formed(&upmu_amd_legacy_table, "APM ");
    table_is_well_formed(&upmu_amd_extended_table, "APM ");
    table_is_well_formed(&upmu_amd_global_table, "APM ");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_register_is_as_the_facts_say),
        cmocka_unit_test(every_model_has_the_registers_that_the_facts_give_it),
        cmocka_unit_test(extended_cascade_bits_exist_in_four_cccrs_from_model_2_on),
        cmocka_unit_test(counters_know_their_registers_and_rdpmc_index),
        cmocka_unit_test(everything_is_shared_by_the_threads_of_a_core),
        cmocka_unit_test(ranks_give_the_documented_order),
        cmocka_unit_test(sessions_may_not_raise_interrupts_or_make_records),
        cmocka_unit_test(names_are_unique_and_classes_make_sense_in_every_table),
    };

    return cmocka_run_group_tests_name("p4_table", tests, read_facts, NULL);
}
