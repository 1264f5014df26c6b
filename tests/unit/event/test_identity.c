/* SPDX-License-Identifier: MIT */
/*
 * What an event is called and what it is: an id that says which catalogue and which
 * row, beside the words for the registers, from the name to the end of its session.
 */
#include <upmu/catalogs.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include "tests/common/host.h"

#include "core/util/bits.h"

static const char *const pmu_names[] = {"coreduo", "core", "nhm", "skl", "icl"};
#define PMUS (sizeof pmu_names / sizeof pmu_names[0])
#define NAME 160

static bool same_id(struct upmu_event_id a, struct upmu_event_id b)
{
    return a.catalogue == b.catalogue && a.row == b.row && a.masks == b.masks;
}

static struct upmu_pmu pmu_named(const char *name)
{
    struct upmu_pmu pmu;

    assert_int_equal(upmu_pmu_by_name(&pmu, name), UPMU_OK);
    return pmu;
}

static struct upmu_event parsed(const struct upmu_pmu *pmu, const char *text)
{
    struct upmu_event event;

    assert_int_equal(upmu_event_parse(pmu, text, &event, NULL), UPMU_OK);
    return event;
}

/* The catalogue that an id itself says it is of. */
static const struct upmu_catalog *catalogue_of(struct upmu_event_id id)
{
    for (unsigned i = 0; upmu_catalog_builtin(i); i++)
        if (upmu_catalog_number(upmu_catalog_builtin(i)) == id.catalogue)
            return upmu_catalog_builtin(i);
    return NULL;
}

/* Numbers begin at 0 and have no gaps, every catalogue by itself; asking twice changes nothing. */
static void rows_are_numbered_from_0_and_lead_to_their_name_and_back(void **state)
{
    (void)state;
    for (unsigned i = 0; upmu_catalog_builtin(i); i++) {
        const struct upmu_catalog *catalog = upmu_catalog_builtin(i);

        assert_compare(upmu_catalog_rows(catalog), >, 2);
        for (unsigned row = 0; row < upmu_catalog_rows(catalog); row++) {
            struct upmu_event_id id;
            struct upmu_row contents;
            char name[NAME];

            assert_compare(upmu_catalog_row_name(catalog, row, name, sizeof name), <, sizeof name);
            assert_int_equal(upmu_catalog_lookup(catalog, name, strlen(name), &id), UPMU_OK);
            assert_int_equal(id.row, row);
            assert_int_equal(id.masks, 0);
            assert_int_equal(id.catalogue, upmu_catalog_number(catalog));
            assert_true(upmu_catalog_row(catalog, row, &contents));
        }
    }
}

/* Two levels: code that knows names makes an event; code that drives hardware takes it as it is, or as words. */
static void the_half_that_drives_hardware_needs_no_names(void **state)
{
    static const char *const texts[] = {"branches:u", "cycles:k", "br_misp_retired.all_branches:c=2",
                                        "offcore_response.demand_data_rd.any_response"};
    struct upmu_pmu user = pmu_named("skl");

    (void)state;
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct upmu_write writes[3][8];
        struct upmu_event event = parsed(&user, texts[i]), raw;
        size_t counts[3];

        for (unsigned way = 0; way < 3; way++) {
            struct upmu_dry_run dry = {writes[way], 8, 0};
            struct upmu_pmu kernel = pmu_named("skl");
            struct host host;

            host_prepare(&host, "skylake");
            host_start(&host);
            if (way)
                kernel.catalog = NULL;
            if (way == 0) {
                assert_int_equal(upmu_set_add(&host.session.set, texts[i], NULL), UPMU_OK, i);
            } else if (way == 1) {
                assert_int_equal(upmu_set_add_event(&host.session.set, &event, NULL), UPMU_OK);
                assert_true(same_id(host.session.set.event[0].id, event.id));
            } else {
                assert_int_equal(upmu_event_raw(&kernel, event.config, event.config1, event.config2, &raw), UPMU_OK);
                assert_int_equal(raw.id.catalogue, 0);
                raw.counters = event.counters;
                assert_int_equal(upmu_set_add_event(&host.session.set, &raw, NULL), UPMU_OK);
            }
            assert_int_equal(upmu_session_dry_run(&host.session, &kernel, &dry), UPMU_OK);
            assert_true(dry.count >= 2 && dry.count <= 8);
            counts[way] = dry.count;
            for (size_t k = 0; k < dry.count; k++) {
                assert_int_equal(writes[way][k].address, writes[0][k].address, way, k);
                assert_int_equal(writes[way][k].value, writes[0][k].value, way, k);
            }
            host_end(&host);
        }
        assert_true(counts[0] == counts[1] && counts[1] == counts[2]);
    }
}

/* One name; each kind of PMU and each kind of counter has its own registers and codes for it. */
static void the_pmu_translates_a_name_for_its_own_counters(void **state)
{
    static const struct {
        const char *pmu, *text;
        uint32_t address; /* of the first write */
        uint64_t value;
    } expected[] = {
        {"skl", "instructions", 0x38d, 0x3},          {"skl", "instructions:counter=1", 0x187, 0x4300c0},
        {"core", "instructions", 0x38d, 0x3},         {"coreduo", "instructions", 0x186, 0x4300c0},
        {"skl", "cycles:k", 0x38d, 0x10},             {"coreduo", "cycles:k", 0x186, 0x42003c},
        {"skl", "branch-misses:u", 0x186, 0x4100c5},  {"core", "branch-misses:u", 0x186, 0x4100c5},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct upmu_pmu pmu = pmu_named(expected[i].pmu);
        struct upmu_event event = parsed(&pmu, expected[i].text);
        struct upmu_write writes[8];
        struct upmu_dry_run dry = {writes, 8, 0};
        struct host host;
        unsigned at = 0;

        host_set_up(&host, "skylake");
        assert_int_equal(upmu_set_add_event(&host.session.set, &event,
                                            &(struct upmu_sampling){.flags = UPMU_SAMPLING_WRAP}),
                         UPMU_OK); /* without interrupt */
        assert_int_equal(upmu_session_dry_run(&host.session, &pmu, &dry), UPMU_OK);
        while (at < dry.count && (writes[at].address != expected[i].address || writes[at].value != expected[i].value))
            at++;
        if (at == dry.count)
            fail_msg("%s on %s: nowhere %x := %llx", expected[i].text, expected[i].pmu, (unsigned)expected[i].address,
                     (unsigned long long)expected[i].value);
        host_end(&host);
    }
}

/* The words for the registers stand beside the id; a modifier changes them and never the id. */
static void words_and_id_are_fields_of_their_own(void **state)
{
    struct upmu_pmu pmu = pmu_named("skl");
    struct upmu_event plain = parsed(&pmu, "br_inst_retired.conditional");
    struct upmu_event changed = parsed(&pmu, "br_inst_retired.conditional:u:c=3:i");
    struct upmu_event payload = parsed(&pmu, "offcore_response.demand_data_rd.any_response");
    struct upmu_event raw;

    (void)state;
    assert_true(same_id(plain.id, changed.id));
    assert_int_not_equal(plain.config, changed.config);
    assert_int_equal(plain.config & 0xffff, 0x1c4);
    assert_int_equal(changed.config & 0xffff, 0x1c4);
    assert_int_not_equal(payload.id.catalogue, 0);
    assert_int_not_equal(payload.config1, 0);
    assert_int_equal(upmu_event_raw(&pmu, plain.config, 0, 0, &raw), UPMU_OK);
    assert_int_equal(raw.config, plain.config);
    assert_true(raw.id.catalogue == 0 && raw.id.row == 0 && raw.id.masks == 0);
    assert_true(raw.attributes & UPMU_ATTR_RAW);
}

/* A row number alone means a different event in each; the id says which. */
static void an_id_says_which_catalogue_it_is_of(void **state)
{
    struct upmu_pmu skl = pmu_named("skl"), core = pmu_named("core");

    (void)state;
    assert_int_not_equal(upmu_catalog_number(skl.catalog), upmu_catalog_number(core.catalog));
    for (unsigned row = 0; row < 50; row++) {
        char of_skl[NAME], of_core[NAME], foreign[NAME], again[NAME];
        struct upmu_event_id a, b;

        (void)upmu_catalog_row_name(skl.catalog, row, of_skl, sizeof of_skl);
        (void)upmu_catalog_row_name(core.catalog, row, of_core, sizeof of_core);
        assert_int_equal(upmu_catalog_lookup(skl.catalog, of_skl, strlen(of_skl), &a), UPMU_OK);
        assert_int_equal(upmu_catalog_lookup(core.catalog, of_core, strlen(of_core), &b), UPMU_OK);
        assert_int_equal(a.row, b.row);
        assert_false(same_id(a, b));
        assert_string_not_equal(of_skl, of_core);
        assert_ptr_equal(catalogue_of(a), skl.catalog);
        assert_ptr_equal(catalogue_of(b), core.catalog);
        /* No PMU takes another's id for one of its own. */
        assert_compare(upmu_event_name(&skl, a, again, sizeof again), >, 0);
        assert_string_equal(again, of_skl);
        foreign[0] = '\0';
        (void)upmu_event_name(&skl, b, foreign, sizeof foreign);
        assert_string_not_equal(foreign, of_skl);
    }
}

/* Where an event comes from is known as long as its session is. */
static void an_events_origin_lives_as_long_as_its_session(void **state)
{
    struct upmu_event_id id;
    struct upmu_count count;
    struct host host;
    char name[NAME];

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "branches,br_misp_retired.all_branches:u", NULL), UPMU_OK);
    id = host.session.set.event[1].id;
    for (unsigned step = 0; step < 5; step++) {
        if (step == 1)
            host_begin(&host, &host.session);
        if (step == 2)
            host_run(&host, 1000);
        if (step == 3)
            assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        if (step == 4)
            assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
        assert_true(same_id(host.session.set.event[1].id, id));
        assert_ptr_equal(catalogue_of(host.session.set.event[1].id), host.cpu[0].meter.pmu->catalog);
        assert_int_equal(upmu_catalog_source(catalogue_of(id)), UPMU_SOURCE_BUILT_IN);
        (void)upmu_event_name(host.cpu[0].meter.pmu, host.session.set.event[1].id, name, sizeof name);
        assert_string_equal(name, "BR_MISP_RETIRED.ALL_BRANCHES");
        assert_int_equal(upmu_set_read(&host.session.set, 1, 1, &count), UPMU_OK);
    }
    host_end(&host);
}

/* name -> event -> name -> the same event, for every name of every PMU; no two names of one id differ. */
static void every_name_comes_back_from_its_id_alone(void **state)
{
    unsigned names = 0;

    (void)state;
    for (unsigned p = 0; p < PMUS; p++) {
        struct upmu_pmu pmu = pmu_named(pmu_names[p]);
        struct upmu_event_id id;
        uint32_t cursor = 0;
        char name[NAME], back[NAME];
        bool alias;

        while (upmu_catalog_next(pmu.catalog, NULL, &cursor, &id, name, sizeof name, &alias) == UPMU_OK) {
            struct upmu_event event, again;

            assert_compare(upmu_event_name(&pmu, id, back, sizeof back), <, sizeof back);
            if (!alias)
                assert_string_equal(back, name);
            if (upmu_event_parse(&pmu, name, &event, NULL) != UPMU_OK)
                continue; /* not on this PMU, or a mask must be chosen */
            (void)upmu_event_name(&pmu, event.id, back, sizeof back);
            assert_int_equal(upmu_event_parse(&pmu, back, &again, NULL), UPMU_OK);
            assert_true(same_id(again.id, event.id));
            assert_true(again.config == event.config && again.config1 == event.config1);
            names++;
        }
    }
    assert_compare(names, >, 800);
}

/* What no catalogue has is given no name at all. */
static void an_id_that_means_nothing_is_given_no_name(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PMUS; p++) {
        struct upmu_pmu pmu = pmu_named(pmu_names[p]);
        struct upmu_event_id none[] = {
            {0, 0, 0},
            {upmu_catalog_number(pmu.catalog), (uint16_t)upmu_catalog_rows(pmu.catalog), 0},
            {upmu_catalog_number(pmu.catalog), 0xffff, 0},
            {0x7777, 0, 0},
        };

        for (unsigned i = 0; i < sizeof none / sizeof none[0]; i++) {
            char name[NAME];

            memset(name, 'x', sizeof name);
            if (upmu_event_name(&pmu, none[i], name, sizeof name))
                fail_msg("%s: id %x/%x is called %.40s", pmu_names[p], none[i].catalogue, none[i].row, name);
            assert_string_equal(name, "");
        }
    }
}

/* The same call reads traditional events with unit masks (Core 2), published tables (Skylake), the architecture's. */
static void one_format_holds_events_of_every_origin(void **state)
{
    unsigned masked = 0, flat = 0, payloads = 0;

    (void)state;
    for (unsigned i = 0; upmu_catalog_builtin(i); i++)
        for (unsigned row = 0; row < upmu_catalog_rows(upmu_catalog_builtin(i)); row++) {
            const struct upmu_catalog *catalog = upmu_catalog_builtin(i);
            struct upmu_row contents;
            struct upmu_mask mask;

            assert_true(upmu_catalog_row(catalog, row, &contents));
            for (unsigned m = 0; m < contents.mask_count; m++)
                assert_true(upmu_catalog_mask(catalog, row, m, &mask), m);
            masked += contents.mask_count > 0 && !strcmp(upmu_catalog_name(catalog), "core");
            flat += !contents.mask_count && !strcmp(upmu_catalog_name(catalog), "skl");
            payloads += contents.msr != 0;
        }
    assert_compare(masked, >, 50);
    assert_compare(flat, >, 300);
    assert_compare(payloads, >, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_numbered_from_0_and_lead_to_their_name_and_back),
        cmocka_unit_test(the_half_that_drives_hardware_needs_no_names),
        cmocka_unit_test(the_pmu_translates_a_name_for_its_own_counters),
        cmocka_unit_test(words_and_id_are_fields_of_their_own),
        cmocka_unit_test(an_id_says_which_catalogue_it_is_of),
        cmocka_unit_test(an_events_origin_lives_as_long_as_its_session),
        cmocka_unit_test(every_name_comes_back_from_its_id_alone),
        cmocka_unit_test(an_id_that_means_nothing_is_given_no_name),
        cmocka_unit_test(one_format_holds_events_of_every_origin),
    };

    return cmocka_run_group_tests_name("identity", tests, NULL, NULL);
}
