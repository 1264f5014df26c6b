/* SPDX-License-Identifier: MIT */
/*
 * Which AMD CPUs have which PMU: families K7 to Zen, Hygon's, hypervisors.
 */
#include "core/util/bits.h"
#include "core/hw/register.h"
#include "tests/common/amd_leaves.h"
#include "tests/common/steps.h"

/*
 * Linux 7.3 arch/x86/kernel/cpu/amd.c, libpfm4 4.13 lib/pfmlib_amd64.c: first and last model of
 * each range, and names of PMU and catalogue.
 */
static const struct {
    uint8_t family, model, stepping;
    const char *name, *catalog;
} expected[] = {
    {0x06, 1, 0, "amd64_k7", "k7"},
    {0x06, 10, 0, "amd64_k7", "k7"},
    {0x0f, 4, 0, "amd64_k8_revb", "k8"},
    {0x0f, 4, 8, "amd64_k8_revc", "k8"},
    {0x0f, 5, 0, "amd64_k8_revb", "k8"},
    {0x0f, 5, 1, "amd64_k8_revb", "k8"},
    {0x0f, 5, 8, "amd64_k8_revc", "k8"},
    {0x0f, 0x0c, 0, "amd64_k8_revc", "k8"},
    {0x0f, 0x10, 0, "amd64_k8_revd", "k8"},
    {0x0f, 0x1f, 0, "amd64_k8_revd", "k8"},
    {0x0f, 0x20, 0, "amd64_k8_reve", "k8"},
    {0x0f, 0x3f, 2, "amd64_k8_reve", "k8"},
    {0x0f, 0x40, 2, "amd64_k8_revf", "k8"},
    {0x0f, 0x5f, 2, "amd64_k8_revf", "k8"},
    {0x0f, 0xc1, 3, "amd64_k8_revf", "k8"},
    {0x0f, 0x60, 2, "amd64_k8_revg", "k8"},
    {0x0f, 0x8f, 2, "amd64_k8_revg", "k8"},
    {0x10, 2, 3, "amd64_fam10h_barcelona", "fam10h"},
    {0x10, 7, 0, "amd64_fam10h_barcelona", "fam10h"},
    {0x10, 4, 2, "amd64_fam10h_shanghai", "fam10h"},
    {0x10, 6, 2, "amd64_fam10h_shanghai", "fam10h"},
    {0x10, 8, 0, "amd64_fam10h_istanbul", "fam10h"},
    {0x10, 9, 1, "amd64_fam10h_istanbul", "fam10h"},
    {0x11, 3, 1, "amd64_fam11h_turion", "fam11h"},
    {0x12, 1, 0, "amd64_fam12h_llano", "fam12h"},
    {0x14, 2, 0, "amd64_fam14h_bobcat", "fam14h"},
    {0x15, 1, 2, "amd64_fam15h_interlagos", "fam15h"},
    {0x15, 0x70, 0, "amd64_fam15h_interlagos", "fam15h"},
    {0x16, 0, 1, "amd64_fam16h", "fam16h"},
    {0x16, 0x30, 1, "amd64_fam16h", "fam16h"},
    {0x17, 0x01, 1, "amd64_fam17h_zen1", "zen1"},
    {0x17, 0x2f, 1, "amd64_fam17h_zen1", "zen1"},
    {0x17, 0x50, 1, "amd64_fam17h_zen1", "zen1"},
    {0x17, 0x30, 0, "amd64_fam17h_zen2", "zen2"},
    {0x17, 0x4f, 0, "amd64_fam17h_zen2", "zen2"},
    {0x17, 0x71, 0, "amd64_fam17h_zen2", "zen2"},
    {0x17, 0x90, 0, "amd64_fam17h_zen2", "zen2"},
    {0x17, 0xa0, 0, "amd64_fam17h_zen2", "zen2"},
    {0x17, 0x92, 0, "amd64_zen", ""},
    {0x19, 0x01, 1, "amd64_fam19h_zen3", "zen3"},
    {0x19, 0x21, 0, "amd64_fam19h_zen3", "zen3"},
    {0x19, 0x5f, 0, "amd64_fam19h_zen3", "zen3"},
    {0x19, 0x11, 1, "amd64_fam19h_zen4", "zen4"},
    {0x19, 0x61, 2, "amd64_fam19h_zen4", "zen4"},
    {0x19, 0xaf, 0, "amd64_fam19h_zen4", "zen4"},
    {0x19, 0xb0, 0, "amd64_zen", ""},
    {0x1a, 0x02, 1, "amd64_fam1ah_zen5", "zen5"},
    {0x1a, 0x44, 0, "amd64_fam1ah_zen5", "zen5"},
    {0x1a, 0x70, 0, "amd64_fam1ah_zen5", "zen5"},
    {0x1a, 0xd7, 0, "amd64_fam1ah_zen5", "zen5"},
    {0x1a, 0x50, 0, "amd64_fam1ah_zen6", "zen6"},
    {0x1a, 0x9f, 0, "amd64_fam1ah_zen6", "zen6"},
    {0x1a, 0xcf, 0, "amd64_fam1ah_zen6", "zen6"},
    {0x1a, 0xd8, 0, "amd64_fam1ah_zen6", "zen6"},
    {0x1a, 0xf0, 0, "amd64_zen", ""},
    {0x1b, 0x00, 0, "amd64_zen", ""},
    {0x13, 0x00, 0, "amd64", ""},
};

static void families_and_models_have_their_names(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct amd_leaves leaves = {
            .family = expected[i].family, .model = expected[i].model, .stepping = expected[i].stepping};
        struct upmu_pmu pmu;

        assert_true(amd_leaves_detect(&leaves, &pmu));
        if (strcmp(pmu.name, expected[i].name))
            fail_msg("%x/%x/%x: %s", leaves.family, leaves.model, leaves.stepping, pmu.name);
        assert_string_equal(upmu_amd_catalog(&pmu), expected[i].catalog);
        assert_int_equal(pmu.family, leaves.family);
        assert_int_equal(pmu.model, leaves.model);
        assert_int_equal(pmu.stepping, leaves.stepping);
    }
}

static void only_amd_and_hygon_from_family_6_on_have_it(void **state)
{
    static const struct {
        const char *vendor;
        unsigned family;
        bool found;
    } vendors[] = {
        {"AuthcAMDenti", 6, true},  {"AuthcAMDenti", 5, false},  {"HygouinenGen", 0x18, true},
        {"HygouinenGen", 6, false}, {"GenuntelineI", 15, false}, {"CentaulsaurH", 6, false},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof vendors / sizeof vendors[0]; i++) {
        struct amd_leaves leaves = {.family = vendors[i].family, .vendor = vendors[i].vendor};
        struct upmu_pmu pmu;

        assert_int_equal(amd_leaves_detect(&leaves, &pmu), vendors[i].found, i);
        if (vendors[i].family == 0x18)
            assert_string_equal(pmu.name, "hygon_fam18h");
    }
}

/* APM 13.2: four legacy registers; six with PERFCTR_CORE; as many as CPUID says with PerfMonV2. */
static void counters_and_registers_are_as_cpuid_says(void **state)
{
    static const struct {
        uint32_t features, highest, eax, ebx;
        unsigned counters;
        uint32_t select, value;
        bool global;
    } shapes[] = {
        {0, 0x80000018, 0, 0, 4, 0xc0010000, 0xc0010004, false},
        {0, 0x80000000, 0, 0, 4, 0xc0010000, 0xc0010004, false},
        {AMD_PERFCTR_CORE, 0x8000001e, 0, 0, 6, 0xc0010200, 0xc0010201, false},
        {AMD_PERFCTR_CORE, 0, 0, 6, 6, 0xc0010200, 0xc0010201, false},
        {AMD_PERFCTR_CORE, 0, AMD_V2, 6, 6, 0xc0010200, 0xc0010201, true},
        {AMD_PERFCTR_CORE, 0, AMD_V2, 8 | 16 << 4 | 16 << 10, 8, 0xc0010200, 0xc0010201, true},
        {AMD_PERFCTR_CORE, 0, AMD_V2, 15, 15, 0xc0010200, 0xc0010201, true},
        {AMD_PERFCTR_CORE, 0, AMD_V2, 1, 1, 0xc0010200, 0xc0010201, true},
        {AMD_PERFCTR_CORE, 0, AMD_V2, 0x10, 6, 0xc0010200, 0xc0010201, false},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct amd_leaves leaves = {.family = 0x19,
                                    .model = 0x61,
                                    .features = shapes[i].features,
                                    .highest = shapes[i].highest,
                                    .perfmon = {shapes[i].eax, shapes[i].ebx}};
        unsigned step = shapes[i].select == 0xc0010000 ? 1 : 2;
        struct upmu_pmu pmu;

        assert_true(amd_leaves_detect(&leaves, &pmu));
        assert_int_equal(pmu.counters, (1u << shapes[i].counters) - 1u, i);
        assert_int_equal(pmu.general, pmu.counters);
        assert_int_equal(!!(pmu.capabilities & UPMU_PMU_GLOBAL_CTRL), shapes[i].global, i);
        assert_int_equal(!!(pmu.capabilities & UPMU_PMU_STATUS), shapes[i].global, i);
        for (unsigned n = 0; n < shapes[i].counters; n++) {
            const struct upmu_counter *counter = &pmu.counter[n];

            assert_int_equal(upmu_register_address(&pmu, counter->select_row), shapes[i].select + step * n, i, n);
            assert_int_equal(upmu_register_address(&pmu, counter->value_row), shapes[i].value + step * n, i, n);
            assert_int_equal(counter->write_row, counter->value_row);
            assert_int_equal(counter->width, 48);
            assert_int_equal(counter->rdpmc, n < 6 ? n : UPMU_NO_RDPMC, n);
            assert_int_equal(upmu_register_address(&pmu, counter->gate_row),
                             shapes[i].global ? 0xc0000301 : shapes[i].select + step * n, i, n);
            assert_int_equal(counter->gate_bit, shapes[i].global ? n : 22, i, n);
        }
        /* Never both sets, and nothing that CPUID does not promise. */
        for (unsigned row = 0; row < pmu.table->row_count; row++) {
            uint32_t address = upmu_register_address(&pmu, row);

            if (!upmu_register_name(&pmu, row))
                continue;
            assert_true((address & ~0x7u) == 0xc0010000 ? step == 1 : step == 2);
            assert_true(address >= 0xc0010000 || shapes[i].global, i);
            assert_int_not_equal(address, 0x1d9);
        }
    }
}

static void freezing_is_kept_off_where_it_exists(void **state)
{
    struct amd_leaves leaves = {.family = 0x1a, .features = AMD_PERFCTR_CORE, .perfmon = {AMD_V2 | AMD_FREEZE, 6}};
    struct upmu_pmu pmu;
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image;

    (void)state;
    assert_true(amd_leaves_detect(&leaves, &pmu));
    assert_true(pmu.capabilities & UPMU_PMU_DEBUGCTL);
    image = upmu_image_on(&pmu, steps, UPMU_IMAGE_STEPS);
    pmu.backend->take_over(&pmu, &image);
    assert_int_equal(image.count, 2);
    assert_int_equal(upmu_register_address(&pmu, steps[0].row), 0x1d9);
    assert_true(image_mask(&image, steps[0].row) == 0x1800 && image_value(&image, steps[0].row) == 0);
    assert_int_equal(upmu_register_address(&pmu, steps[1].row), 0xc0000302);
    assert_int_equal(image_value(&image, steps[1].row), UINT64_C(3) << 58);
}

/* The status shows reserved bits on some microcode (Linux amd_pmu_v2_handle_irq): they are no counters. */
static void status_bits_beyond_the_counters_are_nobody(void **state)
{
    struct amd_leaves leaves = {.family = 0x1a, .features = AMD_PERFCTR_CORE, .perfmon = {AMD_V2, 6}};
    struct upmu_pmu pmu;

    (void)state;
    assert_true(amd_leaves_detect(&leaves, &pmu));
    assert_int_equal(pmu.backend->overflowed(&pmu, ~UINT64_C(0)), 0x3f);
    assert_int_equal(pmu.backend->overflowed(&pmu, UINT64_C(3) << 58 | 0xffc4), 0x04);
    assert_int_equal(pmu.backend->acknowledge(&pmu, 0x24), 0x24);
}

/* Guest and host bits: from family 10h on, not on 11h, with SVM; host alone once SVM is on. */
static void select_bits_exist_as_the_family_has_them(void **state)
{
    static const struct {
        unsigned family;
        uint32_t features;
        uint64_t bits;
    } limits[] = {
        {0x06, 0, 0xffdfffff},
        {0x0f, AMD_SVM, 0xffdfffff},
        {0x10, 0, UINT64_C(0xfffd7ffff)},
        {0x10, AMD_SVM, UINT64_C(0x30fffd7ffff)},
        {0x11, AMD_SVM, UINT64_C(0xfffd7ffff)},
        {0x16, AMD_SVM, UINT64_C(0x30fffd7ffff)},
        {0x19, AMD_SVM | AMD_PERFCTR_CORE, UINT64_C(0x30fffd7ffff)},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct amd_leaves leaves = {.family = limits[i].family, .features = limits[i].features};
        struct upmu_pmu pmu;

        assert_true(amd_leaves_detect(&leaves, &pmu));
        assert_int_equal(pmu.limit[UPMU_AMD_CLASS_SELECT], limits[i].bits, i);
        assert_int_equal(leaves.reads, (limits[i].bits >> 41 & 1) != 0, i);
        assert_false(pmu.quirks & UPMU_AMD_SVME);
        leaves.efer = 1u << 12;
        assert_true(amd_leaves_detect(&leaves, &pmu));
        assert_int_equal(!!(pmu.quirks & UPMU_AMD_SVME), (limits[i].bits >> 41 & 1) != 0, i);
        leaves.faults = true;
        assert_true(amd_leaves_detect(&leaves, &pmu));
        assert_false(pmu.quirks & UPMU_AMD_SVME);
    }
}

/* No CPUID bit promises legacy registers: under a hypervisor they are tried, where a fault does no harm. */
static void a_hypervisor_without_the_registers_has_no_pmu(void **state)
{
    struct amd_leaves legacy = {.family = 0x0f, .model = 0x41, .hypervisor = true, .faults = true};
    struct amd_leaves extended = {.family = 0x17, .features = AMD_PERFCTR_CORE, .hypervisor = true, .faults = true};
    struct upmu_pmu pmu;

    (void)state;
    assert_false(amd_leaves_detect(&legacy, &pmu));
    legacy.faults = false;
    assert_true(amd_leaves_detect(&legacy, &pmu));
    assert_true(pmu.capabilities & UPMU_PMU_HYPERVISOR);
    assert_true(amd_leaves_detect(&extended, &pmu));
    legacy.hypervisor = false;
    legacy.faults = true;
    assert_true(amd_leaves_detect(&legacy, &pmu));
    assert_false(pmu.capabilities & UPMU_PMU_HYPERVISOR);
}

/* BKDG; Linux amd/core.c: northbridge events are the node's on K8, 10h, 11h, 12h and 14h. */
static void the_northbridge_is_shared_by_the_cores_of_a_node(void **state)
{
    static const uint8_t families[] = {0x06, 0x0f, 0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a};

    (void)state;
    for (unsigned i = 0; i < sizeof families; i++) {
        struct amd_leaves leaves = {.family = families[i], .model = 0x41, .apic_id = 0x85};
        bool shares = families[i] >= 0x0f && families[i] <= 0x14;
        struct upmu_detection detection;
        struct upmu_pmu pmu;

        assert_true(amd_leaves_detect(&leaves, &pmu));
        assert_int_equal(pmu.shared != 0, shares);
        assert_int_equal(pmu.shared_counters, 0);
        if (shares)
            assert_int_equal(pmu.shared_scope, UPMU_SCOPE_NODE);
        amd_leaves_fill(&leaves, &detection);
        assert_int_equal(pmu.backend->thread(&detection), 0x85);
    }
}

static void models_are_described_by_either_name(void **state)
{
    static const char *const pairs[][2] = {
        {"k7", "amd64_k7"},
        {"k8", "amd64_k8_revg"},
        {"fam10h", "amd64_fam10h_istanbul"},
        {"zen1", "amd64_fam17h_zen1"},
        {"zen3", "amd64_fam19h_zen3"},
        {"zen4", "amd64_fam19h_zen4"},
        {"zen5", "amd64_fam1ah_zen5"},
        {"fam15h", "amd64_fam15h_interlagos"},
    };
    struct upmu_pmu a, b;
    unsigned count = 0;

    (void)state;
    for (unsigned i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        assert_int_equal(upmu_pmu_by_name(&a, pairs[i][0]), UPMU_OK, i);
        assert_int_equal(upmu_pmu_by_name(&b, pairs[i][1]), UPMU_OK, i);
        assert_memory_equal(&a, &b, sizeof a);
        assert_string_equal(a.name, pairs[i][1]);
    }
    for (const char *name; (name = upmu_amd_names(count)) != NULL; count++) {
        assert_int_equal(upmu_pmu_by_name(&a, name), UPMU_OK);
        assert_string_equal(a.name, name);
        for (unsigned k = 0; k < count; k++)
            assert_string_not_equal(name, upmu_amd_names(k));
    }
    assert_int_equal(count, 24);
    assert_int_equal(upmu_pmu_by_name(&a, ""), UPMU_ERR_NO_SUCH_PMU);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_and_models_have_their_names),
        cmocka_unit_test(only_amd_and_hygon_from_family_6_on_have_it),
        cmocka_unit_test(counters_and_registers_are_as_cpuid_says),
        cmocka_unit_test(freezing_is_kept_off_where_it_exists),
        cmocka_unit_test(status_bits_beyond_the_counters_are_nobody),
        cmocka_unit_test(select_bits_exist_as_the_family_has_them),
        cmocka_unit_test(a_hypervisor_without_the_registers_has_no_pmu),
        cmocka_unit_test(the_northbridge_is_shared_by_the_cores_of_a_node),
        cmocka_unit_test(models_are_described_by_either_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
