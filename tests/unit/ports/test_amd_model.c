/* SPDX-License-Identifier: MIT */
/*
 * The silicon model of AMD's PMUs, through the hooks and without the library: what its
 * CPUID says agrees with the registers that it has, for every profile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "models/sim/sim.h"

static struct upmu_sim sim;

static void set_up(const struct upmu_sim_profile *profile, unsigned cpus)
{
    upmu_sim_init(&sim, profile, cpus);
    sim.expect_faults = true;
    for (unsigned i = 0; i < sim.cpus; i++)
        sim.cpu[i].irqs_on = false;
}

/* The i-th AMD profile. */
static const struct upmu_sim_profile *amd_profile(unsigned index)
{
    const struct upmu_sim_profile *profile;

    for (unsigned i = 0; (profile = upmu_sim_profile_at(i)); i++)
        if (profile->amd && index-- == 0)
            return profile;
    return NULL;
}

static void leaf(uint32_t number, uint32_t out[4])
{
    sim.port.cpuid(sim.port.context, number, 0, out);
}

static bool exists(uint32_t msr)
{
    uint64_t value;

    return sim.port.rdmsr(sim.port.context, msr, &value);
}

static bool rdpmc_exists(uint32_t index)
{
    uint64_t value;

    return sim.port.rdpmc(sim.port.context, index, &value);
}

static unsigned family_of(uint32_t signature)
{
    unsigned base = signature >> 8 & 0xf;

    return base == 0xf ? base + (signature >> 20 & 0xff) : base;
}

static bool lies(const struct upmu_sim_profile *profile)
{
    return profile->flags & (UPMU_SIM_IGNORES_WRITES | UPMU_SIM_FEATURES_FAULT);
}

/* Linux amd/core.c: PerfMonV2: EBX[3:0]; else PERFCTR_CORE: six; else four. */
static unsigned counters_by_cpuid(void)
{
    uint32_t highest[4], features[4], perfmon[4] = {0};

    leaf(0x80000000, highest);
    leaf(0x80000001, features);
    if (highest[0] >= 0x80000022)
        leaf(0x80000022, perfmon);
    if (perfmon[0] & 1)
        return perfmon[1] & 0xf;
    return features[2] >> 23 & 1 ? 6 : 4;
}

static void every_family_from_k7_to_zen_has_a_profile(void **state)
{
    static const unsigned families[] = {0x6, 0xf, 0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a};

    (void)state;
    for (unsigned i = 0; i < sizeof families / sizeof families[0]; i++) {
        bool seen = false;

        for (unsigned k = 0; amd_profile(k); k++)
            seen = seen || family_of(amd_profile(k)->signature) == families[i];
        assert_true(seen);
    }
}

static void registers_are_those_that_cpuid_counts(void **state)
{
    (void)state;
    for (unsigned k = 0; amd_profile(k); k++) {
        uint32_t features[4];
        unsigned counters;

        set_up(amd_profile(k), 1);
        if (lies(sim.profile))
            continue;
        leaf(0x80000001, features);
        counters = counters_by_cpuid();
        assert_int_equal(counters, sim.profile->general);
        for (unsigned i = 0; i < 4; i++)
            assert_true(exists(0xc0010000 + i) && exists(0xc0010004 + i), i);
        for (unsigned i = 0; i < 6; i++) {
            bool expected = features[2] >> 23 & 1 && i < counters;

            assert_int_equal(exists(0xc0010200 + 2 * i), expected, i);
            assert_int_equal(exists(0xc0010201 + 2 * i), expected, i);
        }
        for (unsigned i = 0; i < 6; i++)
            assert_int_equal(rdpmc_exists(i), i < counters, i);
        assert_int_equal(exists(0xc0010241), features[2] >> 24 & 1);
        assert_int_equal(rdpmc_exists(9), features[2] >> 24 & 1);
        assert_int_equal(exists(0xc0010231), features[2] >> 28 & 1);
        assert_int_equal(exists(0xc0011030), features[2] >> 10 & 1);
        assert_false(exists(0x186) || exists(0xc1) || exists(0x38f) || exists(0x345));
    }
}

static void global_registers_come_with_perfmon_v2(void **state)
{
    (void)state;
    for (unsigned k = 0; amd_profile(k); k++) {
        uint32_t highest[4], perfmon[4] = {0};

        set_up(amd_profile(k), 1);
        if (lies(sim.profile))
            continue;
        leaf(0x80000000, highest);
        leaf(0x80000022, perfmon);
        if (highest[0] < 0x80000022)
            assert_int_equal(perfmon[0] | perfmon[1] | perfmon[2] | perfmon[3], 0);
        for (uint32_t msr = 0xc0000300; msr < 0xc0000304; msr++)
            assert_int_equal(exists(msr), perfmon[0] & 1);
    }
}

static void vendor_and_family_are_told(void **state)
{
    (void)state;
    for (unsigned k = 0; amd_profile(k); k++) {
        uint32_t out[4];
        char vendor[13] = {0};

        set_up(amd_profile(k), 1);
        leaf(0, out);
        memcpy(vendor, &out[1], 4);
        memcpy(vendor + 4, &out[3], 4);
        memcpy(vendor + 8, &out[2], 4);
        leaf(1, out);
        assert_int_equal(out[0], sim.profile->signature);
        assert_string_equal(vendor, family_of(out[0]) == 0x18 ? "HygonGenuine" : "AuthenticAMD");
        assert_int_equal(out[2] >> 31, !!(sim.profile->flags & UPMU_SIM_HYPERVISOR));
        assert_int_equal(out[3] >> 9 & 1, !(sim.profile->flags & UPMU_SIM_NO_APIC));
        leaf(0xa, out);
        assert_int_equal(out[0] | out[1] | out[2] | out[3], 0);
    }
}

static void resets_to_garbage_where_the_manual_promises_nothing(void **state)
{
    uint64_t value = 0;

    (void)state;
    set_up(upmu_sim_profile("zen2"), 1);
    sim.rule[UPMU_SIM_RULE_RESET_COUNTERS] = 0;
    upmu_sim_reset_cpu(&sim, 0);
    assert_true(sim.port.rdmsr(sim.port.context, 0xc0010201, &value));
    assert_true(value != 0 && value >> 48 == 0);
}

static void nodes_have_a_northbridge_each(void **state)
{
    struct upmu_sim_burst burst = {.other = {{.count = 5, .event = 0xe0, .umask = 1, .unit = UPMU_SIM_UNIT_NB}}};
    uint64_t value;

    (void)state;
    set_up(upmu_sim_profile("k8_revf"), 4);
    sim.cpus_per_node = 2;
    for (unsigned cpu = 0; cpu < 4; cpu += 2) {
        upmu_sim_switch_cpu(&sim, cpu);
        assert_true(sim.port.wrmsr(sim.port.context, 0xc0010000, 0x4301e0));
    }
    assert_int_equal(sim.violation_count, 0);
    upmu_sim_switch_cpu(&sim, 1);
    upmu_sim_events(&sim, &burst);
    upmu_sim_switch_cpu(&sim, 0);
    assert_true(sim.port.rdmsr(sim.port.context, 0xc0010004, &value));
    assert_int_equal(value, 5);
    upmu_sim_switch_cpu(&sim, 2);
    assert_true(sim.port.rdmsr(sim.port.context, 0xc0010004, &value));
    assert_int_equal(value, 0);
}

/* ---- Selects, IBS, units, one at a time ---- */

static void begin(const char *profile)
{
    set_up(upmu_sim_profile(profile), 1);
}

static bool put(uint32_t msr, uint64_t value)
{
    return sim.port.wrmsr(sim.port.context, msr, value);
}

static uint64_t get(uint32_t msr)
{
    uint64_t value = 0;

    assert_true(sim.port.rdmsr(sim.port.context, msr, &value));
    return value;
}

/* Count `count` events with a control of a unit's first counter, and return what it has counted. */
static uint64_t counted(uint32_t control, uint64_t value, const struct upmu_sim_other *other)
{
    struct upmu_sim_burst burst = {.other = {*other}};

    assert_true(put(control, value));
    assert_true(put(control + 1, 0));
    upmu_sim_events(&sim, &burst);
    return get(control + 1);
}

/* Linux amd/uncore.c, PerfMonV2: bits 27:24 of a control are bits 11:8 of the unit mask. */
static void the_data_fabrics_unit_mask_has_12_bits(void **state)
{
    struct upmu_sim_other other = {.count = 5, .event = 0x1f, .umask = 0xfe, .umask2 = 0xf, .unit = UPMU_SIM_UNIT_NB};

    (void)state;
    begin("zen4");
    assert_int_equal(counted(0xc0010240, 0x0f40fe1f, &other), 5);
    assert_int_equal(counted(0xc0010240, 0x0740fe1f, &other), 0);
    assert_int_equal(counted(0xc0010240, 0x0040fe1f, &other), 0);
    begin("zen3");
    other.umask2 = 0;
    assert_int_equal(counted(0xc0010240, 0x0040fe1f, &other), 5);
}

/* Linux amd/uncore.c: without slices, cores or threads in its control an L3 counter counts a part, or nothing. */
static void an_l3_counter_needs_slices_and_threads(void **state)
{
    const struct upmu_sim_other other = {.count = 64, .event = 4, .umask = 0xff, .unit = UPMU_SIM_UNIT_LLC};

    (void)state;
    begin("zen2");
    assert_int_equal(counted(0xc0010230, UINT64_C(0xff0f00000040ff04), &other), 64);
    assert_int_equal(counted(0xc0010230, UINT64_C(0xff0300000040ff04), &other), 32);
    assert_int_equal(counted(0xc0010230, UINT64_C(0x000f00000040ff04), &other), 0);
    begin("zen4");
    assert_int_equal(counted(0xc0010230, UINT64_C(0x0300c0000040ff04), &other), 64);
    assert_int_equal(counted(0xc0010230, UINT64_C(0x030040000040ff04), &other), 8);
    assert_int_equal(counted(0xc0010230, UINT64_C(0x0000c0000040ff04), &other), 0);
    begin("jaguar");
    assert_int_equal(counted(0xc0010230, 0x40ff04, &other), 64);
}

/* Linux amdzen4 memory-controller.json: bits 9:8 are reads and writes; 0 in both counts all. */
static void a_umc_counts_reads_or_writes_or_all(void **state)
{
    struct upmu_sim_other other = {.count = 5, .event = 0xa, .umask = 1, .unit = UPMU_SIM_UNIT_UMC};

    (void)state;
    begin("zen4");
    assert_int_equal(counted(0xc0010800, 0x8000000a, &other), 5);
    assert_int_equal(counted(0xc0010800, 0x8000010a, &other), 5);
    assert_int_equal(counted(0xc0010800, 0x8000020a, &other), 0);
    assert_int_equal(counted(0xc0010800, 0x8000030a, &other), 5);
    other.umask = 2;
    assert_int_equal(counted(0xc0010800, 0x8000010a, &other), 0);
    assert_int_equal(counted(0xc0010800, 0x8000020a, &other), 5);
}

/* Linux amd/core.c AMD_MERGE_EVENT_ENABLE: event FFFH and the enable bit, nothing else. */
static void a_merge_event_has_no_bit_but_its_enable_bit(void **state)
{
    (void)state;
    begin("zen2");
    assert_true(put(0xc0010202, UINT64_C(0xf004000ff)));
    assert_int_equal(sim.violation_count, 0);
    assert_true(put(0xc0010202, UINT64_C(0xf000000ff)));
    assert_int_equal(sim.violation_count, 0);
    assert_true(put(0xc0010202, UINT64_C(0xf005000ff)));
    assert_int_equal(sim.violation_count, 1);
    begin("bulldozer");
    assert_true(put(0xc0010202, UINT64_C(0xf004300cf)));
    assert_int_equal(sim.violation_count, 0);
}

/* Linux amd/uncore.c: 1E0H and 4E0H are the northbridge's as E0H is. */
static void northbridge_codes_have_any_high_bits(void **state)
{
    static const uint64_t codes[] = {0xe0, UINT64_C(0x1000000e0), UINT64_C(0x4000000e3), 0xf8};

    (void)state;
    for (unsigned i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        begin("jaguar");
        assert_true(put(0xc0010000, 0x430000 | codes[i]));
        assert_int_equal(sim.violation_count, 1);
    }
}

/* perfctr x86.c: only K8s with several cores lose northbridge counts when a select is written. */
static void one_core_of_revision_e_keeps_its_northbridge_counts(void **state)
{
    const struct upmu_sim_burst burst = {.other = {{.count = 5, .event = 0xe0, .umask = 1, .unit = UPMU_SIM_UNIT_NB}}};

    (void)state;
    for (unsigned cpus = 1; cpus <= 2; cpus++) {
        set_up(upmu_sim_profile("k8_reve"), cpus);
        assert_true(put(0xc0010004, 0) && put(0xc0010000, 0x4301e0));
        upmu_sim_events(&sim, &burst);
        assert_true(put(0xc0010001, 0x430076));
        assert_int_equal(get(0xc0010004), cpus == 1 ? 5 : 0);
    }
}

/* Linux kvm/svm/pmu.c: bits 41:40 are reserved for guests that have no SVM. */
static void guests_without_svm_have_no_bits_for_guest_and_host(void **state)
{
    (void)state;
    begin("amd_kvm_ext");
    assert_true(put(0xc0010200, UINT64_C(0x200000000c0)));
    assert_int_equal(sim.violation_count, 1);
    assert_int_equal(get(0xc0010200), 0xc0);
    begin("zen2");
    assert_true(put(0xc0010200, UINT64_C(0x200000000c0)));
    assert_int_equal(sim.violation_count, 0);
}

static void irperf_is_read_only(void **state)
{
    (void)state;
    begin("zen3");
    assert_true(put(0xc00000e9, 5));
    assert_int_equal(get(0xc00000e9), 0);
}

/* Linux amd/ibs.c: bits of the controls, and of the maximum, that need a capability. */
static void ibs_controls_have_the_bits_of_the_capabilities(void **state)
{
    static const struct {
        const char *without, *with;
        uint32_t msr;
        uint64_t value;
    } rows[] = {{"barcelona", "shanghai", 0xc0011033, 0xa0009},
                {"shanghai", "llano", 0xc0011033, 0x100009},
                {"zen3", "zen4", 0xc0011033, 0x10009},
                {"zen4", "zen5", 0xc0011033, UINT64_C(0x8000000000000009)},
                {"zen3", "zen4", 0xc0011030, UINT64_C(0x800000000000010)},
                {"zen4", NULL, 0xc0011030, UINT64_C(0x4000000000000010)},
                {"zen4", NULL, 0xc0011033, 0x80000009},
                {"zen4", NULL, 0xc0011033, 0x20008}};

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(rows[i].without);
        assert_true(put(rows[i].msr, rows[i].value));
        assert_int_equal(sim.violation_count, 1, i);
        if (rows[i].with == NULL)
            continue;
        begin(rows[i].with);
        assert_true(put(rows[i].msr, rows[i].value));
        assert_int_equal(sim.violation_count, 0, i);
        assert_int_equal(get(rows[i].msr), rows[i].value, i);
    }
}

/* APM vol 2 13.3: the op unit's present count can be written with capability 3; else the unit counts from 0. */
static void an_op_count_is_written_with_its_capability(void **state)
{
    const struct upmu_sim_burst burst = {.cycles = 140};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        begin(i ? "shanghai" : "barcelona");
        assert_true(put(0xc0011033, UINT64_C(0x500020009)));
        upmu_sim_events(&sim, &burst);
        assert_int_equal(get(0xc0011033) >> 18 & 1, i);
    }
    begin("zen6");
    assert_true(put(0xc001103d, 5));
    assert_int_equal(get(0xc001103d), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_family_from_k7_to_zen_has_a_profile),
        cmocka_unit_test(registers_are_those_that_cpuid_counts),
        cmocka_unit_test(global_registers_come_with_perfmon_v2),
        cmocka_unit_test(vendor_and_family_are_told),
        cmocka_unit_test(resets_to_garbage_where_the_manual_promises_nothing),
        cmocka_unit_test(nodes_have_a_northbridge_each),
        cmocka_unit_test(the_data_fabrics_unit_mask_has_12_bits),
        cmocka_unit_test(an_l3_counter_needs_slices_and_threads),
        cmocka_unit_test(a_umc_counts_reads_or_writes_or_all),
        cmocka_unit_test(a_merge_event_has_no_bit_but_its_enable_bit),
        cmocka_unit_test(northbridge_codes_have_any_high_bits),
        cmocka_unit_test(one_core_of_revision_e_keeps_its_northbridge_counts),
        cmocka_unit_test(guests_without_svm_have_no_bits_for_guest_and_host),
        cmocka_unit_test(irperf_is_read_only),
        cmocka_unit_test(ibs_controls_have_the_bits_of_the_capabilities),
        cmocka_unit_test(an_op_count_is_written_with_its_capability),
    };

    return cmocka_run_group_tests_name("amd_model", tests, NULL, NULL);
}
