/* SPDX-License-Identifier: MIT */
/*
 * Specifications of events of units: the spellings of this library, of perf and of libpfm4 are one event.  The unit's
 * type and its encoder are written here: what is tested is which words reach it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <upmu/event.h>
#include <upmu/unit.h>

#include "core/hw/backend.h"
#include "core/util/text.h"

/* ---- A type with selects of code and unit mask ---- */

static enum upmu_status give_attribute(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                       size_t length, const uint64_t *value)
{
    (void)pmu;
    if (upmu_text_is(name, length, "event") || upmu_text_is(name, length, "umask")) {
        if (!value || *value > 0xff)
            return UPMU_ERR_BAD_VALUE;
        event->config |= *value << (upmu_text_is(name, length, "umask") ? 8 : 0);
        return UPMU_OK;
    }
    if (!upmu_text_is(name, length, "edge"))
        return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    event->config |= 1u << 18;
    return UPMU_OK;
}

static enum upmu_status take_row(const struct upmu_pmu *pmu, const struct upmu_row *row, struct upmu_event *event)
{
    (void)pmu;
    event->config = row->code | (uint64_t)row->umask << 8;
    return UPMU_OK;
}

static enum upmu_status finish(const struct upmu_pmu *pmu, struct upmu_event *event)
{
    event->counters = pmu->general;
    return event->config >> 32 ? UPMU_ERR_NOT_PERMITTED : UPMU_OK;
}

static void write_attributes(const struct upmu_pmu *pmu, const struct upmu_event *event, const struct upmu_row *row,
                             struct upmu_text *out)
{
    (void)pmu;
    if (!(event->attributes & UPMU_ATTR_RAW) && event->config != (row->code | (uint64_t)row->umask << 8))
        upmu_text_string(out, ":edge");
}

static const struct upmu_backend encoder = {
    .name = "test",
    .attribute = give_attribute,
    .from_row = take_row,
    .finish = finish,
    .format = write_attributes,
};

static const struct upmu_unit_type imc = {.name = "imc", .pmu = "skx_unc_imc", .prefix = "MEM_INST_RETIRED."};
static struct upmu_uncore_pmu memory = {
    .pmu = {.name = "skx_unc_imc", .backend = &encoder, .counters = 15, .general = 15, .index = UPMU_UNIT_PMU + 1},
    .type = &imc,
};
static const struct upmu_unit_type l3 = {.name = "l3", .pmu = "zen2_l3"};
static struct upmu_uncore_pmu cache = {
    .pmu = {.name = "zen2_l3", .backend = &encoder, .counters = 63, .general = 63, .index = UPMU_UNIT_PMU},
    .type = &l3,
};

/* "WORD@UNIT" of a specification's event, or its status. */
static const char *encoded(const struct upmu_pmu *pmu, const char *text)
{
    static char out[64];
    struct upmu_event event;
    struct upmu_why why;
    enum upmu_status status = upmu_event_parse(pmu, text, &event, &why);

    if (status == UPMU_OK)
        snprintf(out, sizeof out, "%llx@%d", (unsigned long long)event.config, event.unit - 1);
    else
        snprintf(out, sizeof out, "%s", upmu_status_text(status));
    return out;
}

static void raw_words_are_given_behind_the_unit(void **state)
{
    static const char *const all[] = {"imc/raw:config=0x304", "imc/event=0x04,umask=0x03/", "uncore_imc/config=0x304/",
                                      "skx_unc_imc::raw:config=0x304", "package1/die0/imc/raw:config=0x304",
                                      "raw:config=0x304", "r304", "imc/r304"};
    static const char *const third[] = {"imc3/raw:config=0x304", "imc_3/raw:config=0x304", "imc/3/raw:config=0x304",
                                        "uncore_imc_3/event=0x04,umask=0x03/", "skx_unc_imc3::raw:config=0x304",
                                        "uncore_imc_3/umask=0x03,event=0x04/", "UNCORE_IMC_3/config=0x304/",
                                        "imc3/skx_unc_imc::r304", "imc3/skx_unc_imc3::r304",
                                        "package1/die0/imc3/r304"};

    (void)state;
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        assert_string_equal(encoded(&memory.pmu, all[i]), "304@-1");
    for (unsigned i = 0; i < sizeof third / sizeof third[0]; i++)
        assert_string_equal(encoded(&memory.pmu, third[i]), "304@3");
    assert_string_equal(encoded(&cache.pmu, "l3/r304"), "304@-1");
    assert_string_equal(encoded(&cache.pmu, "l3_1/r304"), "304@1");
    assert_string_equal(encoded(&cache.pmu, "amd_l3/event=4,umask=3/"), "304@-1");
    assert_string_equal(encoded(&memory.pmu, "imc/raw:config=0x100000000"), "value out of range");
}

static void names_of_other_units_and_pmus_are_refused(void **state)
{
    static const char *const refused[] = {"cpu/r304", "cha/r304", "l3/r304", "imcs/r304", "imc3x/r304", "im/r304",
                                          "imc/imc3/3/x/r304", "skl::r304", "imc3/skx_unc_imc2::r304",
                                          "imc65535/r304", "uncore_imc_free/r304", "3/r304", "imc/cha::r304"};

    (void)state;
    for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++)
        assert_string_equal(encoded(&memory.pmu, refused[i]), "no such PMU");
    assert_string_equal(encoded(&memory.pmu, "imc65534/r304"), "304@65534");
    assert_string_equal(encoded(&memory.pmu, "imc//r304"), "no such PMU");
    assert_string_equal(encoded(&memory.pmu, "imc/r304:u"), "no such attribute");
}

static void a_name_may_leave_out_the_prefix_of_its_unit(void **state)
{
    char whole[32];

    (void)state;
    memory.pmu.catalog = upmu_catalog_find("skl");
    assert_non_null(memory.pmu.catalog);
    strcpy(whole, encoded(&memory.pmu, "imc/MEM_INST_RETIRED.ALL_LOADS"));
    assert_string_equal(whole, "81d0@-1");
    assert_string_equal(encoded(&memory.pmu, "imc/ALL_LOADS"), whole);
    assert_string_equal(encoded(&memory.pmu, "uncore_imc/all_loads/"), whole);
    assert_string_equal(encoded(&memory.pmu, "skx_unc_imc::MEM_INST_RETIRED:ALL_LOADS"), whole);
    assert_string_equal(encoded(&memory.pmu, "imc2/ALL_LOADS"), "81d0@2");
    assert_string_equal(encoded(&memory.pmu, "imc2/ALL_LOADS:edge"), "481d0@2");
    /* As written comes first. */
    assert_string_equal(encoded(&memory.pmu, "imc/LONGEST_LAT_CACHE.MISS"), "412e@-1");
    assert_string_equal(encoded(&memory.pmu, "imc/LOADS_ALL"), "no such event");
    assert_string_equal(encoded(&memory.pmu, "imc/ALL_LOADS:u"), "no such attribute");
    memory.pmu.catalog = NULL;
    assert_string_equal(encoded(&memory.pmu, "imc/ALL_LOADS"), "no such event");
}

static void a_canonical_text_has_the_number_of_the_box_that_was_named(void **state)
{
    static const struct {
        struct upmu_pmu *pmu;
        const char *text, *canonical;
    } texts[] = {
        {&memory.pmu, "uncore_imc_3/all_loads/", "imc3/MEM_INST_RETIRED.ALL_LOADS"},
        {&memory.pmu, "imc/all_loads:edge", "MEM_INST_RETIRED.ALL_LOADS:edge"},
        {&memory.pmu, "imc0/r304", "imc0/raw:config=0x304"},
        {&memory.pmu, "imc/event=4,umask=3,counter=2", "raw:config=0x304:counter=2"},
        {&cache.pmu, "amd_l3_1/r304", "l3_1/raw:config=0x304"},
    };

    (void)state;
    memory.pmu.catalog = upmu_catalog_find("skl");
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct upmu_event event, again;
        char canonical[64], cut[64];
        size_t length;

        assert_int_equal(upmu_event_parse(texts[i].pmu, texts[i].text, &event, NULL), UPMU_OK);
        length = upmu_event_format(texts[i].pmu, &event, canonical, sizeof canonical);
        assert_string_equal(canonical, texts[i].canonical);
        assert_int_equal(length, strlen(canonical));
        assert_int_equal(upmu_event_parse(texts[i].pmu, canonical, &again, NULL), UPMU_OK);
        assert_memory_equal(&again, &event, sizeof event);
        for (size_t room = 0; room <= length; room++) {
            memset(cut, '#', sizeof cut);
            assert_int_equal(upmu_event_format(texts[i].pmu, &event, cut, room), length);
            assert_memory_equal(cut, canonical, room ? room - 1 : 0);
            assert_int_equal(cut[room], '#');
        }
    }
    memory.pmu.catalog = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_words_are_given_behind_the_unit),
        cmocka_unit_test(names_of_other_units_and_pmus_are_refused),
        cmocka_unit_test(a_name_may_leave_out_the_prefix_of_its_unit),
        cmocka_unit_test(a_canonical_text_has_the_number_of_the_box_that_was_named),
    };

    return cmocka_run_group_tests_name("unit_specs", tests, NULL, NULL);
}
