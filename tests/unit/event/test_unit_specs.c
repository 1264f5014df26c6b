/* SPDX-License-Identifier: MIT */
/*
 * Specifications of events of units: the spellings of this library, of perf and of libpfm4 are one event.  Most types
 * and their encoder are written here: what is tested is which words reach it.  The last tests are of the library's own
 * types, with the words that docs/EVENTS.md shows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/common/assertions.h"
#include <upmu/event.h>
#include <upmu/unit.h>

#include "backends/uncore/uncore.h"
#include "backends/uncore/uncore_tables.h"
#include "core/event/unit_names.h"
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

static const char *unit_name(unsigned number)
{
    return number == 4 ? "cha" : NULL;
}

static const struct upmu_backend encoder = {
    .name = "test",
    .unit_name = unit_name,
    .attribute = give_attribute,
    .from_row = take_row,
    .finish = finish,
    .format = write_attributes,
};

static const struct upmu_unit_type imc = {.name = "imc", .pmu = "skx_unc_imc", .prefix = "UNC_M_", .number = 3};
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
                                      "skx_unc_imc::raw:config=0x304", "raw:config=0x304", "r304", "imc/r304"};
    static const char *const third[] = {"imc3/raw:config=0x304", "imc_3/raw:config=0x304", "imc/3/raw:config=0x304",
                                        "uncore_imc_3/event=0x04,umask=0x03/", "skx_unc_imc3::raw:config=0x304",
                                        "uncore_imc_3/umask=0x03,event=0x04/", "UNCORE_IMC_3/config=0x304/",
                                        "imc3/skx_unc_imc::r304", "imc3/skx_unc_imc3::r304"};

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
                                          "imc65535/r304", "uncore_imc_free/r304", "3/r304", "imc/cha::r304",
                                          /* (Where no units were found, none has a path.) */
                                          "package1/die0/imc/r304", "package1/die0/imc3/r304", "/imc3/r304"};
    static const char *const worlds[] = {"imc/r304:G", "imc/r304:host=1", "imc/event=4,guest=1/", "r304:h"};

    (void)state;
    for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++)
        assert_string_equal(encoded(&memory.pmu, refused[i]), "no such PMU");
    assert_string_equal(encoded(&memory.pmu, "imc65534/r304"), "304@65534");
    assert_string_equal(encoded(&memory.pmu, "imc//r304"), "no such PMU");
    assert_string_equal(encoded(&memory.pmu, "imc/r304:u"), "no such attribute");
    /* Units count for the host and its guests alike. */
    for (unsigned i = 0; i < sizeof worlds / sizeof worlds[0]; i++)
        assert_string_equal(encoded(&memory.pmu, worlds[i]), "no such attribute");
}

static void one_event_has_the_names_of_three_libraries(void **state)
{
    static const char *const names[] = {
        "imc0/skx_unc_imc::UNC_M_CAS_COUNT.RD", "skx_unc_imc0::UNC_M_CAS_COUNT:RD", "imc0/CAS_COUNT.RD",
        "imc/0/cas_count.rd",                   "uncore_imc_0/CAS_COUNT.RD/",       "imc0/UNC_M_CAS_COUNT.RD",
    };

    (void)state;
    memory.pmu.catalog = upmu_catalog_find("skx_uncore");
    assert_non_null(memory.pmu.catalog);
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_string_equal(encoded(&memory.pmu, names[i]), "304@0");
    assert_string_equal(encoded(&memory.pmu, "CAS_COUNT.WR:edge"), "40c04@-1");
    assert_string_equal(encoded(&memory.pmu, "imc2/CAS_COUNT:ALL"), "f04@2");
    assert_string_equal(encoded(&memory.pmu, "imc/CAS_COUNT.RD:u"), "no such attribute");
    assert_string_equal(encoded(&memory.pmu, "imc/COUNT.RD"), "no such event");
    memory.pmu.catalog = NULL;
    assert_string_equal(encoded(&memory.pmu, "imc/CAS_COUNT.RD"), "no such event");
}

static const char *refusal(const char *text)
{
    static char out[200];
    struct upmu_event event;
    struct upmu_why why;

    assert_int_not_equal(upmu_event_parse(&memory.pmu, text, &event, &why), UPMU_OK);
    upmu_why_text(&why, out, sizeof out);
    return out;
}

static void an_event_of_another_unit_is_refused_with_that_unit(void **state)
{
    (void)state;
    memory.pmu.catalog = upmu_catalog_find("skx_uncore");
    assert_string_equal(encoded(&memory.pmu, "imc/UNC_CHA_TOR_INSERTS.IA"), "encoded for another PMU");
    assert_string_equal(refusal("imc/UNC_CHA_TOR_INSERTS.IA"),
                        "\"UNC_CHA_TOR_INSERTS.IA\": an event of cha, not of skx_unc_imc");
    assert_string_equal(refusal("UNC_UPI_CLOCKTICKS"),
                        "\"UNC_UPI_CLOCKTICKS\": an event of another unit, not of skx_unc_imc");
    /* The nearest name is one of the unit, however much of it was left out. */
    assert_string_equal(refusal("imc/CAS_CONT.RD"),
                        "\"CAS_CONT.RD\": no such event on skx_unc_imc; nearest: UNC_M_CAS_COUNT.RD");
    assert_string_equal(refusal("imc/UNC_M_CAS_CONT.RD"),
                        "\"UNC_M_CAS_CONT.RD\": no such event on skx_unc_imc; nearest: UNC_M_CAS_COUNT.RD");
    assert_string_equal(refusal("imc/UNC_CHA_TOR_INSRTS.IA"),
                        "\"UNC_CHA_TOR_INSRTS.IA\": no such event on skx_unc_imc");
    assert_string_equal(refusal("imc/FREQ_TRANS_CYCLES"), "\"FREQ_TRANS_CYCLES\": no such event on skx_unc_imc");
    memory.pmu.catalog = NULL;
}

static void a_canonical_text_has_the_number_of_the_box_that_was_named(void **state)
{
    static const struct {
        struct upmu_pmu *pmu;
        const char *text, *canonical;
    } texts[] = {
        {&memory.pmu, "uncore_imc_3/cas_count.rd/", "imc3/UNC_M_CAS_COUNT.RD"},
        {&memory.pmu, "imc/cas_count.rd:edge", "UNC_M_CAS_COUNT.RD:edge"},
        {&memory.pmu, "imc0/r304", "imc0/raw:config=0x304"},
        {&memory.pmu, "imc/event=4,umask=3,counter=2", "raw:config=0x304:counter=2"},
        {&cache.pmu, "amd_l3_1/r304", "l3_1/raw:config=0x304"},
    };

    (void)state;
    memory.pmu.catalog = upmu_catalog_find("skx_uncore");
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct upmu_event event, again;
        char canonical[64], cut[64];
        size_t length;

        assert_int_equal(upmu_event_parse(texts[i].pmu, texts[i].text, &event, NULL), UPMU_OK, i);
        length = upmu_event_format(texts[i].pmu, &event, canonical, sizeof canonical);
        assert_string_equal(canonical, texts[i].canonical);
        assert_int_equal(length, strlen(canonical));
        assert_int_equal(upmu_event_parse(texts[i].pmu, canonical, &again, NULL), UPMU_OK, i);
        assert_memory_equal(&again, &event, sizeof event);
        for (size_t room = 0; room <= length; room++) {
            memset(cut, '#', sizeof cut);
            assert_int_equal(upmu_event_format(texts[i].pmu, &event, cut, room), length, i);
            assert_memory_equal(cut, canonical, room ? room - 1 : 0);
            assert_int_equal(cut[room], '#', room);
        }
    }
    memory.pmu.catalog = NULL;
}

/* ---- Paths before an event ---- */

#define BOX(pmu, in_package, on_die, n) {.type = (pmu), .package = (in_package), .die = (on_die), .number = (n)}

/* Two packages of two dies, two channels each, and two caches; then a host's tree. */
static struct upmu_unit_info server[] = {
    BOX(0, 0, 0, 0), BOX(0, 0, 0, 1), BOX(0, 0, 1, 0), BOX(0, 0, 1, 1), BOX(0, 1, 0, 0), BOX(0, 1, 0, 1),
    BOX(0, 1, 1, 0), BOX(0, 1, 1, 1), BOX(1, 0, 0, 0), BOX(1, 0, 0, 1), BOX(1, 1, 0, 0),
    {.type = 0, .name = "blade4/cpu0/imc1", .number = 1}, {.type = 0, .name = "rack2/blade4/cpu0/imc1", .number = 1},
    {.type = 0, .name = "rack2/blade4/cpu0/uncore_imc2", .number = 2}, {.type = 1, .name = "rack2/blade4/l3"},
    {.type = 0, .name = "rack2/xblade4/cpu0/imc1", .number = 1},
};
#define SERVER (sizeof server / sizeof server[0])

static struct upmu_uncore_pmu server_pmus[2];

static struct upmu_unit_list list_of_server(void)
{
    server_pmus[0] = memory;
    server_pmus[0].pmu.index = UPMU_UNIT_PMU;
    server_pmus[1] = cache;
    server_pmus[1].pmu.index = UPMU_UNIT_PMU + 1;
    return (struct upmu_unit_list){.unit = server, .pmu = server_pmus, .unit_count = SERVER, .pmu_count = 2};
}

/* Of which units is an event of a text?  Also, its canonical text gives it again. */
static const char *meant(unsigned pmu, struct upmu_unit_list *list, const char *text)
{
    static char out[40];
    struct upmu_event event, again;
    char canonical[128];
    size_t length = 0;

    if (upmu_event_parse(&server_pmus[pmu].pmu, text, &event, NULL) != UPMU_OK)
        return "none";
    assert_compare(upmu_event_format(&server_pmus[pmu].pmu, &event, canonical, sizeof canonical), <, sizeof canonical,
                   pmu);
    if (upmu_event_parse(&server_pmus[pmu].pmu, canonical, &again, NULL) != UPMU_OK)
        printf("%s: %s\n", text, canonical);
    assert_int_equal(upmu_event_parse(&server_pmus[pmu].pmu, canonical, &again, NULL), UPMU_OK, pmu);
    assert_memory_equal(&again, &event, sizeof event);
    for (unsigned i = 0; i < SERVER; i++)
        if (server[i].type == pmu && (!event.unit || upmu_unit_is_meant(list, &server[i], &event)))
            length += (size_t)snprintf(out + length, sizeof out - length, "%s%u", length ? " " : "", i);
    return out;
}

static void an_event_is_of_the_units_that_its_path_names(void **state)
{
    static const struct {
        unsigned pmu;
        const char *text, *units;
    } texts[] = {
        {0, "package1/die0/imc1/r304", "5"},
        {0, "package0/die1/uncore_imc_1/event=4,umask=3/", "3"},
        {0, "PACKAGE0/die1/IMC/1/r304", "3"},
        {0, "package0/die1/skx_unc_imc0/r304", "2"},
        {0, "package0/die1/imc/skx_unc_imc::r304", "2 3"},
        {0, "die1/imc1/r304", "3 7"},
        {0, "die1/imc/r304", "2 3 6 7"},
        {0, "package1/die1/imc/r304", "6 7"},
        {0, "imc1/r304", "1 3 5 7 11 12 15"},
        {0, "imc/r304", "0 1 2 3 4 5 6 7 11 12 13 15"},
        {0, "r304", "0 1 2 3 4 5 6 7 11 12 13 15"},
        {0, "blade4/cpu0/imc1/r304", "11 12"},
        {0, "rack2/blade4/cpu0/imc1/r304", "12"},
        {0, "cpu0/imc/r304", "11 12 13 15"},
        {0, "cpu0/uncore_imc/r304", "11 12 13 15"},
        {0, "cpu0/uncore_imc2/r304", "13"},
        {1, "package0/die0/l3_1/r304", "9"},
        {1, "package0/die0/l3/r304", "8 9"},
        {1, "package1/die0/amd_l3_0/r304", "10"},
        {1, "blade4/l3/r304", "14"},
        {0, "package2/die0/imc0/r304", "none"},
        {0, "package0/die2/imc0/r304", "none"},
        {0, "package0/die0/imc2/r304", "none"},
        {0, "package0/imc0/r304", "none"},
        {0, "x/package0/die0/imc0/r304", "none"},
        {0, "package0/die0/l3_1/r304", "none"},
        {0, "package0/die0/cha1/r304", "none"},
        {0, "ackage0/die0/imc0/r304", "none"},
        /* A number that is left out before the last component stands for no one unit; and a path is no whole one. */
        {0, "package0/die/imc0/r304", "none"},
        {0, "/package0/die0/imc0/r304", "none"},
        /* Two different boxes. */
        {0, "package0/die0/imc0/skx_unc_imc1::r304", "none"},
        {0, "package0/die1/imc0/skx_unc_imc2::r304", "none"},
    };
    struct upmu_unit_list list = list_of_server();

    (void)state;
    server_pmus[0].list = server_pmus[1].list = &list;
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(meant(texts[i].pmu, &list, texts[i].text), texts[i].units))
            printf("%s: %s\n", texts[i].text, meant(texts[i].pmu, &list, texts[i].text));
        assert_string_equal(meant(texts[i].pmu, &list, texts[i].text), texts[i].units);
    }
}

/* An event outlives the list that it was encoded with: a shorter one has no such unit. */
static void a_unit_that_is_not_in_the_list_any_more_is_not_meant(void **state)
{
    struct upmu_unit_list list = list_of_server();
    struct upmu_event event;
    char text[64];

    (void)state;
    server_pmus[0].list = server_pmus[1].list = &list;
    assert_int_equal(upmu_event_parse(&server_pmus[0].pmu, "package1/die1/imc1/r304", &event, NULL), UPMU_OK);
    list.unit_count = 7;
    for (unsigned i = 0; i < SERVER; i++)
        assert_false(upmu_unit_is_meant(&list, &server[i], &event), i);
    assert_int_equal(upmu_event_format(&server_pmus[0].pmu, &event, text, sizeof text), strlen("imc/raw:config=0x304"));
    /* Where another list has a shorter path. */
    list.unit_count = SERVER;
    server[7].name = "a/imc1";
    for (unsigned i = 0; i < SERVER; i++)
        assert_false(upmu_unit_is_meant(&list, &server[i], &event), i);
    assert_int_equal(upmu_event_format(&server_pmus[0].pmu, &event, text, sizeof text), strlen("imc/raw:config=0x304"));
    server[7].name = NULL;
}

/* The library's type of a PMU. */
static const struct upmu_pmu *own(const char *name)
{
    static struct upmu_uncore_pmu pmu;

    for (unsigned g = 0; g < upmu_uncore_generation_count; g++)
        for (unsigned i = 0; i < upmu_uncore_generations[g].rows; i++) {
            upmu_uncore_make(g, upmu_uncore_generations[g].first + i, NULL, &pmu);
            if (!strcmp(pmu.pmu.name, name))
                return &pmu.pmu;
        }
    fail_msg("no type %s", name);
    return NULL;
}

/* perf's names and words: Linux 6.12, the events and formats of these PMUs. */
static void perfs_names_of_events_are_known_to_the_units(void **state)
{
    static const struct {
        const char *pmu, *text, *word;
    } events[] = {
        {"skx_unc_imc", "uncore_imc_0/cas_count_read/", "304@0"},
        {"skx_unc_imc", "uncore_imc_0/event=0x04,umask=0x03/", "304@0"},
        {"skx_unc_imc", "uncore_imc/cas_count_write/", "c04@-1"},
        {"skx_unc_imc", "imc0/skx_unc_imc::UNC_M_CAS_COUNT.RD", "304@0"},
        {"skx_unc_imc", "skx_unc_imc0::UNC_M_CAS_COUNT:RD", "304@0"},
        {"skx_unc_imc", "imc0/CAS_COUNT.RD", "304@0"},
        {"skx_unc_imc", "imc0/raw:config=0x304", "304@0"},
        {"hswep_unc_imc", "uncore_imc_3/cas_count_read/", "304@3"},
        {"icx_unc_imc", "uncore_imc_3/cas_count_read/", "f04@3"},
        {"snb_unc_imc", "uncore_imc/data_reads/", "1@-1"},
        {"snb_unc_imc", "uncore_imc/data_writes/", "2@-1"},
        {"skl_unc_imc", "imc/io_requests", "5@-1"},
        {"adl_unc_imc_free_running", "uncore_imc_free_running_1/data_read/", "20ff@1"},
        {"nhm_unc", "uncore/qhl_request_local_reads/", "1020@-1"},
        {"skx_unc_cha", "uncore_cha_5/UNC_CHA_TOR_INSERTS.IA:thresh=2:edge/", "2043135@5"},
        {"skx_unc_cha", "cha/event=0x35,umask=0x31,thresh=2,edge=1/", "2043135@-1"},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof events / sizeof events[0]; i++)
        assert_string_equal(encoded(own(events[i].pmu), events[i].text), events[i].word);
}

static void filters_are_given_by_field_or_by_word(void **state)
{
    static const char *const same[] = {
        "cha/TOR_INSERTS.IA:filter_opc0=0x202:filter_nc=1", "cha/TOR_INSERTS.IA:config1=0x4004040000000000",
        "cha/event=0x35,umask=0x31,filter_opc0=0x202,filter_nc=1/", "cha/raw:config=0x3135:config1=0x4004040000000000",
        "cha/TOR_INSERTS.IA:filter=0x4004040000000000"};
    const struct upmu_pmu *cha = own("skx_unc_cha");

    (void)state;
    for (unsigned i = 0; i < sizeof same / sizeof same[0]; i++) {
        struct upmu_event event;
        struct upmu_why why;

        if (upmu_event_parse(cha, same[i], &event, &why) != UPMU_OK)
            fail_msg("%s: %s", same[i], upmu_status_text(why.status));
        assert_int_equal(event.config, 0x3135);
        assert_int_equal(event.config1, UINT64_C(0x4004040000000000));
    }
    assert_string_equal(encoded(cha, "cha/TOR_INSERTS.IA:match_opc=1"), "no such attribute");
    assert_string_equal(encoded(cha, "cha/TOR_INSERTS.IA:filter_opc0=0x400"), "value out of range");
}

static void the_librarys_units_say_whose_an_event_is(void **state)
{
    struct upmu_event event;
    struct upmu_why why;
    char text[200];

    (void)state;
    assert_int_equal(upmu_event_parse(own("skx_unc_cha"), "cha/UNC_M_CAS_COUNT.RD", &event, &why),
                     UPMU_ERR_WRONG_PMU);
    upmu_why_text(&why, text, sizeof text);
    assert_string_equal(text, "\"UNC_M_CAS_COUNT.RD\": an event of imc, not of skx_unc_cha");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_words_are_given_behind_the_unit),
        cmocka_unit_test(names_of_other_units_and_pmus_are_refused),
        cmocka_unit_test(one_event_has_the_names_of_three_libraries),
        cmocka_unit_test(an_event_of_another_unit_is_refused_with_that_unit),
        cmocka_unit_test(a_canonical_text_has_the_number_of_the_box_that_was_named),
        cmocka_unit_test(an_event_is_of_the_units_that_its_path_names),
        cmocka_unit_test(a_unit_that_is_not_in_the_list_any_more_is_not_meant),
        cmocka_unit_test(perfs_names_of_events_are_known_to_the_units),
        cmocka_unit_test(filters_are_given_by_field_or_by_word),
        cmocka_unit_test(the_librarys_units_say_whose_an_event_is),
    };

    return cmocka_run_group_tests_name("unit_specs", tests, NULL, NULL);
}
