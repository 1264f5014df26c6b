/* SPDX-License-Identifier: MIT */
/*
 * What a person reads at first contact.  Class of mistake: a refusal that repeats its status,
 * names the wrong thing, or knows the cause and keeps it.
 */
#include <stdio.h>
#include <upmu/event.h>

#include "tests/common/host.h"

static struct host host;
static bool (*real_wrmsr)(void *context, uint32_t msr, uint64_t value);
static void (*real_cpuid)(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);
static bool (*real_rdmsr)(void *context, uint32_t msr, uint64_t *out_value);
static bool no_leaf_10, hypervisor, other_maker, faults_harm, counters_fault;

static void cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    static const char signature[] = "KVMKVMKVM\0\0";

    real_cpuid(context, leaf, subleaf, out);
    if (leaf == 0 && other_maker)
        out[1] = out[2] = out[3] = 0x20202020;
    if (leaf == 1 && hypervisor)
        out[2] |= 0x80000000u;
    if (leaf == 10 && no_leaf_10)
        memset(out, 0, 16);
    if (leaf == 0x40000000 && hypervisor)
        memcpy(out + 1, signature, 12);
}

static bool forgetful_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    return real_wrmsr(context, msr, (msr & ~0x40fu) == 0xc0 ? 0 : value);
}

/* The first legacy select faults (AMD BKDG of family 0Fh, PerfEvtSel0). */
static bool faulting_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    return msr != 0xc0010000u && real_rdmsr(context, msr, out_value);
}

static void expect_no_pmu(const char *profile, const char *words)
{
    char text[200];

    host_prepare(&host, profile);
    real_cpuid = host.sim.port.cpuid;
    host.sim.port.cpuid = cpuid;
    host.sim.port.msr_faults_are_safe = !faults_harm;
    if (counters_fault) {
        real_rdmsr = host.sim.port.rdmsr;
        host.sim.port.rdmsr = faulting_rdmsr;
    }
    host_machine(&host);
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_ERR_NO_PMU);
    upmu_why_text(&host.machine.why, text, sizeof text);
    assert_string_equal(text, words);
}

static void a_cpu_without_a_pmu_says_why(void **state)
{
    (void)state;
    no_leaf_10 = true;
    expect_no_pmu("skl", "no usable PMU: leaf 0AH is 0");
    hypervisor = true;
    expect_no_pmu("skl", "no usable PMU: leaf 0AH is 0, under KVMKVMKVM");
    other_maker = true;
    expect_no_pmu("skl", "no usable PMU: an unknown CPU, under KVMKVMKVM");
    no_leaf_10 = hypervisor = other_maker = false;
}

/* No CPUID bit promises AMD's legacy counters: under a hypervisor they are tried only where a fault does no harm. */
static void an_amd_cpu_whose_counters_may_not_be_tried_is_not_unknown(void **state)
{
    (void)state;
    hypervisor = faults_harm = true;
    expect_no_pmu("k8_revf", "no usable PMU: CPUID promises no counters, under KVMKVMKVM");
    assert_int_equal(host.sim.access_count[UPMU_SIM_RDMSR], 0);
    faults_harm = false;
    host.sim.port.msr_faults_are_safe = true;
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    assert_int_equal(host.machine.why.word[0], 0);
    hypervisor = false;
    host_end(&host);
}

static void nor_is_one_whose_counters_fault(void **state)
{
    (void)state;
    hypervisor = counters_fault = true;
    expect_no_pmu("k8_revf", "no usable PMU: CPUID promises no counters, under KVMKVMKVM");
    hypervisor = counters_fault = false;
}

static void one_that_ignores_writes_says_so_and_a_later_success_nothing(void **state)
{
    char text[200];

    (void)state;
    host_prepare(&host, "skl");
    real_wrmsr = host.sim.port.wrmsr;
    host.sim.port.wrmsr = forgetful_wrmsr;
    host_machine(&host);
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_ERR_NO_PMU);
    upmu_why_text(&host.machine.why, text, sizeof text);
    assert_string_equal(text, "no usable PMU on skl: it ignores writes");
    host.sim.port.wrmsr = real_wrmsr;
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    assert_int_equal(host.machine.why.word[0], 0);
    host_end(&host);
}

static void refuse(const struct upmu_pmu *pmu, const char *name, char text[200])
{
    struct upmu_event event;
    struct upmu_why why;

    assert_int_not_equal(upmu_event_parse(pmu, name, &event, &why), UPMU_OK);
    upmu_why_text(&why, text, 200);
}

/* Each one that is named can be given. */
static void an_attribute_that_there_is_not_names_those_that_there_are(void **state)
{
    static const char *const pmus[] = {"skl", "nhm", "core", "adl_grt", "zen2", "k8", "netburst"};
    char text[200], name[80];
    struct upmu_event event;

    (void)state;
    for (unsigned i = 0; i < sizeof pmus / sizeof pmus[0]; i++) {
        struct upmu_pmu pmu;
        const char *at;
        unsigned named = 0;

        assert_int_equal(upmu_pmu_by_name(&pmu, pmus[i]), UPMU_OK, i);
        refuse(&pmu, i == 6 ? "cycles:z" : "instructions:z", text);
        assert_non_null(strstr(text, "\"z\": no such "));
        assert_null(strstr(text, "nearest"));
        at = strstr(text, "; attributes: ");
        assert_non_null(at);
        for (at += 14; *at; named++) {
            size_t length = strcspn(at, ",");

            snprintf(name, sizeof name, "%s:%.*s=1", i == 6 ? "cycles" : "instructions", (int)length, at);
            assert_int_not_equal(upmu_event_parse(&pmu, name, &event, NULL), UPMU_ERR_NO_SUCH_ATTRIBUTE);
            at += length + (at[length] ? 2 : 0);
        }
        assert_compare(named, >=, 4);
    }
}

static void an_abbreviation_is_near_the_shortest_name_that_begins_so(void **state)
{
    struct upmu_pmu pmu;
    char text[200];

    (void)state;
    assert_int_equal(upmu_pmu_by_name(&pmu, "skl"), UPMU_OK);
    refuse(&pmu, "instrs", text);
    assert_string_equal(text, "\"instrs\": no such event on skl; nearest: instructions");
    refuse(&pmu, "bran", text);
    assert_string_equal(text, "\"bran\": no such event on skl; nearest: branches");
    refuse(&pmu, "brnch-misses", text); /* a slip goes before an abbreviation */
    assert_string_equal(text, "\"brnch-misses\": no such event on skl; nearest: branch-misses");
    refuse(&pmu, "zzzzzz", text);
    assert_string_equal(text, "\"zzzzzz\": no such event on skl");
}

/* Catches the model's name in place of that of the catalogue which was asked for, and one that only fills in. */
static void a_refused_name_is_told_with_the_catalogue_that_lacks_it(void **state)
{
    static const struct {
        const char *pmu, *text;
    } row[] = {{"cwf", "\"zzzzzz\": no such event on cwf"},
               {"dkt", "\"zzzzzz\": no such event on dkt"},
               {"srf", "\"zzzzzz\": no such event on srf"},
               {"skylake", "\"zzzzzz\": no such event on skl"},
               {"ptc", "\"zzzzzz\": no such event on ptc"}}; /* of the architectural catalogue */
    struct upmu_pmu pmu;
    char text[200];

    (void)state;
    for (unsigned i = 0; i < sizeof row / sizeof row[0]; i++) {
        assert_int_equal(upmu_pmu_by_name(&pmu, row[i].pmu), UPMU_OK, i);
        refuse(&pmu, "zzzzzz", text);
        assert_string_equal(text, row[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cpu_without_a_pmu_says_why),
        cmocka_unit_test(an_amd_cpu_whose_counters_may_not_be_tried_is_not_unknown),
        cmocka_unit_test(nor_is_one_whose_counters_fault),
        cmocka_unit_test(one_that_ignores_writes_says_so_and_a_later_success_nothing),
        cmocka_unit_test(an_attribute_that_there_is_not_names_those_that_there_are),
        cmocka_unit_test(an_abbreviation_is_near_the_shortest_name_that_begins_so),
        cmocka_unit_test(a_refused_name_is_told_with_the_catalogue_that_lacks_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
