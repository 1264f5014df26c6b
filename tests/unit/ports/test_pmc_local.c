/* SPDX-License-Identifier: MIT */
/*
 * libpmc that reads names in the program (PMC_LOCAL_NAMES): the kernel gets register words, and needs no catalogue.
 * Here the kernel is its parser alone, on the same PMU without a catalogue.
 */
#define PMC_LOCAL_NAMES 1
#include "abi/pmc/pmc_client.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include "tests/common/assertions.h"

#include <upmu/upmu.h>

static const char *type; /* of the kernel's PMU */
static struct upmu_pmu kernel;
static struct upmu_event got; /* what the kernel read */
static char text[PMC_SPEC_BYTES];
static unsigned calls;

int pmc_syscall(unsigned operation, void *argument, uint32_t bytes)
{
    struct pmc_cpuinfo *info = argument;
    struct pmc_op_allocate *asked = argument;

    calls++;
    if (operation == PMC_OP_CPUINFO) {
        assert_int_equal(bytes, sizeof *info);
        info->pm_ncpu = 1;
        info->pm_class[0] = PMC_CLASS_IAF;
        info->pm_class[1] = PMC_CLASS_IAP;
        strncpy(info->pm_cputype, type, sizeof info->pm_cputype - 1);
    }
    if (operation != PMC_OP_ALLOCATE)
        return 0;
    memcpy(text, asked->pm_spec, sizeof text);
    asked->pm.pm_pmcid = 5;
    return upmu_event_parse(&kernel, text, &got, NULL) == UPMU_OK ? 0 : 22;
}

static void begin(const char *pmu)
{
    type = pmu;
    memset(&cpus, 0, sizeof cpus);
    assert_int_equal(upmu_pmu_by_name(&kernel, pmu), UPMU_OK);
    kernel.catalog = NULL;
    assert_int_equal(pmc_init(), 0);
}

static int allocate(const char *spec)
{
    pmc_id_t id;
    int result;

    memset(text, 0, sizeof text);
    result = pmc_allocate(spec, PMC_MODE_TC, 0, -1, &id, 0);
    assert_int_equal(id, result ? PMC_ID_INVALID : 5);
    return result;
}

static void the_kernel_gets_words(void **state)
{
    (void)state;
    begin("skl");
    assert_int_equal(upmu_event_parse(&kernel, "LONGEST_LAT_CACHE.MISS", &got, NULL), UPMU_ERR_NO_SUCH_EVENT);
    assert_int_equal(allocate("LONGEST_LAT_CACHE.MISS,usr"), 0);
    assert_string_equal(text, "raw:config=0x1412e");
    assert_int_equal(allocate("1 instructions"), 0);
    assert_string_equal(text, "raw:config=0x300c0:counter=1");
    begin("netburst");
    assert_int_equal(allocate("12 p4-branch-retired,mask=mmtm+mmnm"), 0);
    assert_int_equal(got.counters, 1u << 12);
    assert_int_equal(strncmp(text, "raw:", 4), 0);
    /* A name that the answer of the kernel cuts off. */
    begin("amd64_fam15h_interlagos");
    assert_int_equal(allocate("RETIRED_INSTRUCTIONS"), 0);
    assert_int_equal(got.config & 0xff, 0xc0);
}

/* Words, counters and attributes are those that a kernel with the names would have. */
static void every_name_of_every_model_is_read_in_the_program(void **state)
{
    const struct upmu_catalog *catalog;
    unsigned events = 0, pinned = 0;

    (void)state;
    for (unsigned n = 0; (catalog = upmu_catalog_builtin(n)) != NULL; n++) {
        struct upmu_event_id id;
        struct upmu_event event;
        uint32_t cursor = 0;
        char name[200];

        if (strstr(upmu_catalog_name(catalog), "uncore") || upmu_pmu_by_name(&kernel, upmu_catalog_name(catalog)))
            continue;
        begin(upmu_catalog_name(catalog));
        while (upmu_catalog_next(catalog, NULL, &cursor, &id, name, sizeof name, NULL) == UPMU_OK) {
            if (upmu_event_parse(&own, name, &event, NULL) != UPMU_OK)
                continue;
            events++;
            if (allocate(name) || got.config != event.config || got.config1 != event.config1 ||
                got.config2 != event.config2 || !got.counters || got.counters & ~event.counters)
                fail_msg("%s: %s is %s, on counters %x of %x", type, name, text, got.counters, event.counters);
            pinned += got.counters != event.counters;
        }
    }
    assert_compare(events, >, 20000);
    assert_compare(pinned, <, 100);
}

static void what_cannot_be_read_does_not_reach_the_kernel(void **state)
{
    unsigned before;

    (void)state;
    begin("skl");
    before = calls;
    assert_int_equal(allocate("NO_SUCH_EVENT"), -1);
    assert_int_equal(pmc_errno, 22);
    assert_int_equal(allocate("instructions,nosuch=1"), -1);
    assert_int_equal(allocate(""), -1);
    assert_int_equal(calls, before);
    /* A PMU that this program does not know. */
    type = "future";
    memset(&cpus, 0, sizeof cpus);
    assert_int_equal(pmc_init(), -1);
    assert_int_equal(pmc_errno, 19);
    before = calls;
    assert_int_equal(allocate("instructions"), -1);
    assert_int_equal(pmc_errno, 19);
    assert_int_equal(calls, before);
}

static void names_are_listed_from_the_programs_own_catalogue(void **state)
{
    char name[80];
    unsigned before;

    (void)state;
    begin("skl");
    before = calls;
    assert_int_equal(pmc_event_name_of_class(PMC_CLASS_IAP, 0, name, sizeof name), 0);
    assert_int_not_equal(name[0], '\0');
    assert_int_equal(pmc_event_name_of_class(PMC_CLASS_K8, 0, name, sizeof name), -1);
    assert_int_equal(pmc_event_name_of_class(PMC_CLASS_IAP, 60000, name, sizeof name), -1);
    assert_int_equal(pmc_event_name_of_class(PMC_CLASS_IAP, 0x10000, name, sizeof name), -1);
    assert_int_equal(pmc_event_name_of_class(PMC_CLASS_IAP, 0, name, 0), -1);
    assert_int_equal(pmc_event_name_of_class(PMC_CLASS_IAP, 0, name, 3), 0);
    assert_int_equal(strlen(name), 2);
    assert_int_equal(calls, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_gets_words),
        cmocka_unit_test(every_name_of_every_model_is_read_in_the_program),
        cmocka_unit_test(what_cannot_be_read_does_not_reach_the_kernel),
        cmocka_unit_test(names_are_listed_from_the_programs_own_catalogue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
