/* SPDX-License-Identifier: MIT */
/*
 * Catalogues from outside: which files are taken, where names are looked for then, and
 * that an event says where it comes from.
 */
#include "tests/common/host.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/unit.h>

#include "core/catalog/catalog_table.h"
#include "tests/common/blobs.h"
#include "tests/common/flipper.h"

#define NAME 160

struct blob {
    uint8_t bytes[BLOB_ROOM];
    size_t size;
};

/* The blob whose catalogue has a name. */
static void take(struct blob *blob, const char *name)
{
    for (unsigned i = 0; i < blob_count(); i++) {
        blob->size = blob_make(i, blob->bytes);
        if (strcmp(upmu_catalog_name(upmu_catalog_loaded(blob->bytes, 0)), name) == 0)
            return;
    }
    fail_msg("no file of %s", name);
}

/* The catalogue in a blob, to change. */
static uint8_t *header(struct blob *blob)
{
    return blob->bytes + upmu_offset(blob->bytes + UPMU_FILE_DIRECTORY);
}

static void rename_to(struct blob *blob, const char *name)
{
    memset(header(blob) + UPMU_OWN_NAME, 0, 24);
    memcpy(header(blob) + UPMU_OWN_NAME, name, strlen(name));
    blob_seal(blob->bytes, blob->size);
    assert_int_equal(upmu_catalog_load(blob->bytes, blob->size), UPMU_OK);
}

static struct upmu_pmu pmu_named(const char *name)
{
    struct upmu_pmu pmu;

    assert_int_equal(upmu_pmu_by_name(&pmu, name), UPMU_OK);
    return pmu;
}

/* ---- Which files are taken ---- */

static void packed_files_are_taken_and_say_what_built_in_tables_say(void **state)
{
    static struct blob blob;
    unsigned files = 0;

    (void)state;
    for (unsigned i = 0; i < blob_count(); i++, files++) {
        const struct upmu_catalog *catalog, *built_in;
        struct upmu_event_id id, other;
        char name[NAME];
        uint32_t cursor = 0;
        unsigned names = 0;

        blob.size = blob_make(i, blob.bytes);
        assert_int_equal(upmu_catalog_load(blob.bytes, blob.size), UPMU_OK);
        catalog = upmu_catalog_loaded(blob.bytes, 0);
        built_in = upmu_catalog_find(upmu_catalog_name(catalog));
        assert_non_null(built_in);
        assert_null(upmu_catalog_loaded(blob.bytes, 1));
        assert_int_equal(upmu_catalog_source(catalog), UPMU_SOURCE_IMPORTED);
        assert_int_equal(upmu_catalog_source(built_in), UPMU_SOURCE_BUILT_IN);
        assert_int_equal(upmu_catalog_number(catalog), upmu_catalog_number(built_in) + 256);
        assert_int_equal(upmu_catalog_rows(catalog), upmu_catalog_rows(built_in));
        while (upmu_catalog_next(catalog, NULL, &cursor, &id, name, sizeof name, NULL) == UPMU_OK) {
            struct upmu_row row, expected;
            enum upmu_status status = upmu_catalog_merge(catalog, id, &row, NULL);

            assert_int_equal(upmu_catalog_lookup(built_in, name, strlen(name), &other), UPMU_OK);
            assert_int_equal(upmu_catalog_merge(built_in, other, &expected, NULL), status);
            if (status != UPMU_OK)
                continue;
            assert_int_equal(row.code, expected.code);
            assert_int_equal(row.code2, expected.code2);
            assert_int_equal(row.umask, expected.umask);
            assert_int_equal(row.cmask, expected.cmask);
            assert_int_equal(row.flags, expected.flags);
            assert_int_equal(row.counters, expected.counters);
            assert_int_equal(row.msr, expected.msr);
            assert_int_equal(row.payload, expected.payload);
            names++;
        }
        assert_compare(names, >=, upmu_catalog_rows(catalog) / 2, i);
    }
    assert_true(files >= 6 && blob_small_count() >= 3);
}

static void a_file_of_another_version_is_refused(void **state)
{
    static struct blob blob;

    (void)state;
    take(&blob, "k7");
    for (unsigned version = 0; version < 256; version++) {
        blob.bytes[3] = (uint8_t)version;
        blob_seal(blob.bytes, blob.size);
        assert_int_equal(upmu_catalog_load(blob.bytes, blob.size),
                         version == UPMU_FILE_VERSION ? UPMU_OK : UPMU_ERR_VERSION);
    }
    take(&blob, "k7");
    header(&blob)[3]++;
    blob_seal(blob.bytes, blob.size);
    assert_int_equal(upmu_catalog_load(blob.bytes, blob.size), UPMU_ERR_INVALID);
}

static void a_file_cut_or_changed_without_its_checksum_is_refused(void **state)
{
    static struct blob blob;

    (void)state;
    take(&blob, "ppro");
    for (size_t size = 0; size < blob.size; size++)
        assert_int_equal(upmu_catalog_load(blob.bytes, size), UPMU_ERR_INVALID);
    for (size_t at = 0; at < blob.size; at++) {
        blob.bytes[at] ^= 0x10;
        assert_int_not_equal(upmu_catalog_load(blob.bytes, blob.size), UPMU_OK);
        blob.bytes[at] ^= 0x10;
    }
    assert_int_equal(upmu_catalog_load(blob.bytes, blob.size), UPMU_OK);
}

static void a_file_that_takes_the_place_of_built_in_tables_is_refused(void **state)
{
    static struct blob blob;

    (void)state;
    take(&blob, "k7");
    header(&blob)[13] = 0; /* a built-in's number */
    blob_seal(blob.bytes, blob.size);
    assert_int_equal(upmu_catalog_load(blob.bytes, blob.size), UPMU_ERR_INVALID);
    take(&blob, "k7");
    header(&blob)[22] &= 127; /* from where it is not */
    blob_seal(blob.bytes, blob.size);
    assert_int_equal(upmu_catalog_load(blob.bytes, blob.size), UPMU_ERR_INVALID);
    take(&blob, "k7");
    header(&blob)[UPMU_OWN_NAME + 11] = 'x'; /* a name without an end */
    blob_seal(blob.bytes, blob.size);
    assert_int_equal(upmu_catalog_load(blob.bytes, blob.size), UPMU_ERR_INVALID);
}

/* Two names changed places: sorted no more, and what stands under them leads elsewhere. */
static void a_file_whose_names_are_out_of_order_is_refused(void **state)
{
    static struct blob blob;
    uint8_t *names, kept;

    (void)state;
    take(&blob, "k7");
    names = header(&blob) + upmu_offset(header(&blob) + (UPMU_OWN_NAMES & 255));
    for (unsigned i = 0; i < 20; i++) {
        kept = names[i];
        names[i] = names[i + 1];
        names[i + 1] = kept;
        blob_seal(blob.bytes, blob.size);
        assert_int_equal(upmu_catalog_load(blob.bytes, blob.size), UPMU_ERR_INVALID);
        names[i + 1] = names[i];
        names[i] = kept;
    }
    blob_seal(blob.bytes, blob.size);
    assert_int_equal(upmu_catalog_load(blob.bytes, blob.size), UPMU_OK);
}

/* ---- Where names are looked for ---- */

static void names_are_looked_for_outside_first_then_among_those_built_in(void **state)
{
    static struct blob blob;
    struct upmu_pmu pmu = pmu_named("skl");
    struct upmu_event built_in, outside;
    char name[NAME];

    (void)state;
    assert_int_equal(upmu_event_parse(&pmu, "cycles", &built_in, NULL), UPMU_OK);
    assert_int_equal(upmu_event_parse(&pmu, "emon_simd_instr_retired", &outside, NULL), UPMU_ERR_NO_SUCH_EVENT);
    take(&blob, "pm");
    assert_int_equal(upmu_pmu_import(&pmu, blob.bytes), UPMU_ERR_NO_SUCH_PMU);
    rename_to(&blob, "skl");
    assert_int_equal(upmu_pmu_import(&pmu, blob.bytes), UPMU_OK);
    /* In both: the one from outside. */
    assert_int_equal(upmu_event_parse(&pmu, "cycles", &outside, NULL), UPMU_OK);
    assert_int_equal(outside.id.catalogue, upmu_catalog_number(pmu.imported));
    assert_int_not_equal(outside.id.catalogue, built_in.id.catalogue);
    /* In one of them. */
    assert_int_equal(upmu_event_parse(&pmu, "emon_simd_instr_retired", &outside, NULL), UPMU_OK);
    assert_int_equal(outside.config & 0xff, 0xce);
    assert_compare(upmu_event_name(&pmu, outside.id, name, sizeof name), >, 0);
    assert_int_equal(upmu_event_parse(&pmu, name, &built_in, NULL), UPMU_OK);
    assert_memory_equal(&built_in.id, &outside.id, sizeof outside.id);
    assert_int_equal(upmu_event_parse(&pmu, "uops_executed.stall_cycles", &built_in, NULL), UPMU_OK);
    assert_int_equal(built_in.id.catalogue, upmu_catalog_number(pmu.catalog));
    (void)upmu_event_name(&pmu, built_in.id, name, sizeof name);
    assert_string_equal(name, "UOPS_EXECUTED.STALL_CYCLES");
    /* And no longer. */
    assert_int_equal(upmu_pmu_import(&pmu, NULL), UPMU_OK);
    assert_int_equal(upmu_event_parse(&pmu, "emon_simd_instr_retired", &outside, NULL), UPMU_ERR_NO_SUCH_EVENT);
}

/* The first CPU that a catalogue is for: behind its header and the PMU's name. */
#define FIRST_CPU (UPMU_OWN_HEADER + 12)

/*
 * A hybrid's core types have one family and model: the core type chooses among catalogues, on
 * paper as on a CPU.
 * Catches: a PMU that is described without what detection reads, and then matches too much.
 */
static void a_pmu_on_paper_takes_the_events_of_its_core_type_only(void **state)
{
    static const char *const names[][2] = {
        {"cyc", "awf"}, {"cgc", "dkt"}, {"lnc", "skt"}, {"mtl_rwc", "mtl_cmt"}, {"adl_glc", "adl_grt"}};
    static struct blob blob;

    (void)state;
    take(&blob, "skl");
    rename_to(&blob, "some");
    memcpy(header(&blob) + UPMU_OWN_HEADER, "other", 6);
    for (unsigned i = 0; i < 5; i++)
        for (unsigned atom = 0; atom < 2; atom++) {
            struct upmu_pmu pmu = pmu_named(names[i][atom]), twin = pmu_named(names[i][!atom]);
            uint8_t *cpu = header(&blob) + FIRST_CPU;

            assert_int_equal(pmu.core_type, atom ? 0x20 : 0x40);
            assert_int_equal(pmu.family, twin.family);
            assert_int_equal(pmu.model, twin.model);
            cpu[0] = (uint8_t)pmu.family;
            cpu[1] = (uint8_t)pmu.model;
            cpu[2] = cpu[3] = 0xff;
            cpu[4] = pmu.core_type;
            cpu[5] = (uint8_t)(i & 1u ? 0 : pmu.native);
            blob_seal(blob.bytes, blob.size);
            assert_int_equal(upmu_catalog_load(blob.bytes, blob.size), UPMU_OK);
            assert_int_equal(upmu_pmu_import(&pmu, blob.bytes), UPMU_OK);
            assert_int_equal(upmu_pmu_import(&twin, blob.bytes), UPMU_ERR_NO_SUCH_PMU);
        }
}

/* The PMU of a unit; its name stays. */
static struct upmu_uncore_pmu *unit_named(const char *name)
{
    static struct upmu_uncore_pmu unit;

    for (unsigned i = 0; upmu_uncore_pmu_at(i, &unit); i++)
        if (strcmp(unit.pmu.name, name) == 0)
            return &unit;
    fail_msg("no unit has the PMU %s", name);
    return NULL;
}

/*
 * Processors whose built-in list of units is that of another one, or none.  Class of mistake: an importer and a library
 * that call one thing by two names, each right by its own tests.
 */
static void a_unit_takes_the_list_of_its_own_processor(void **state)
{
    static const char *const names[][3] = {{"clx_uncore", "clx_unc_imc", "skx_unc_imc"},
                                           {"nvl_uncore", "nvl_unc_imc", "ptl_unc_imc"},
                                           {"srf_uncore", "srf_unc_imc", "gnr_unc_imc"},
                                           {"nhm_uncore", "nhm_unc", "skx_unc_imc"},
                                           {"hsx_uncore", "hswep_unc_imc", "hsw_unc_imc"}};
    static struct blob blob;

    (void)state;
    take(&blob, "k7");
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        rename_to(&blob, names[i][0]);
        assert_int_equal(upmu_pmu_import(&unit_named(names[i][1])->pmu, blob.bytes), UPMU_OK, i);
        assert_int_equal(upmu_pmu_import(&unit_named(names[i][2])->pmu, blob.bytes), UPMU_ERR_NO_SUCH_PMU, i);
    }
    rename_to(&blob, "uncore");
    assert_int_equal(upmu_pmu_import(&unit_named("clx_unc_imc")->pmu, blob.bytes), UPMU_ERR_NO_SUCH_PMU);
}

/* Skylake-SP and Cascade Lake are told apart by their stepping. */
static void a_pmu_on_paper_takes_the_events_of_its_stepping_only(void **state)
{
    static const char *const names[2] = {"skx", "clx"};
    static const uint16_t steppings[2] = {0x001f, 0xffe0};
    static struct blob blob;

    (void)state;
    take(&blob, "skl");
    rename_to(&blob, "some");
    memcpy(header(&blob) + UPMU_OWN_HEADER, "other", 6);
    memcpy(header(&blob) + FIRST_CPU, "\x06\x55", 2);
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_pmu pmu = pmu_named(names[i]), twin = pmu_named(names[!i]);

        header(&blob)[FIRST_CPU + 2] = (uint8_t)steppings[i];
        header(&blob)[FIRST_CPU + 3] = (uint8_t)(steppings[i] >> 8);
        blob_seal(blob.bytes, blob.size);
        assert_int_equal(upmu_pmu_import(&pmu, blob.bytes), UPMU_OK);
        assert_int_equal(upmu_pmu_import(&twin, blob.bytes), UPMU_ERR_NO_SUCH_PMU);
    }
}

/* AMD and NetBurst, whose codes are of another kind. */
static void amd_and_netburst_take_catalogues_from_outside_too(void **state)
{
    static const char *const names[][3] = {
        {"amd64_fam17h_zen2", "zen2", "l2_request_g1.rd_blk_l"},
        {"amd64_k7", "k7", "data_cache_refills:l2_modified"},
        {"netburst", "netburst", "branch_retired:mmtm:mmnm"},
    };
    static struct blob blob;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct upmu_pmu pmu = pmu_named(names[i][0]);
        struct upmu_event built_in, outside;

        take(&blob, names[i][1]);
        assert_int_equal(upmu_event_parse(&pmu, names[i][2], &built_in, NULL), UPMU_OK, i);
        assert_int_equal(upmu_pmu_import(&pmu, blob.bytes), UPMU_OK);
        assert_int_equal(upmu_event_parse(&pmu, names[i][2], &outside, NULL), UPMU_OK, i);
        assert_true(outside.config == built_in.config && outside.config1 == built_in.config1);
        assert_int_equal(outside.id.catalogue, built_in.id.catalogue + 256);
    }
}

/*
 * The catalogue that a row is of says whether it is architectural and translated, not the one
 * built in: a row of its model's own stands as it is, beside whatever is built in.
 * Catches: a question to the PMU that the event's own source has to answer.
 */
static void rows_are_translated_if_their_own_catalogue_is_architectural(void **state)
{
    static const struct {
        const char *pmu, *blob, *name, *event;
        uint64_t config, built_in; /* 0: none */
    } cases[] = {
        {"ptc", "skl", "ptc", "uops_executed.stall_cycles", 0x18301b1, 0},
        {"skl", "skl", "ix86arch", "uops_executed.stall_cycles", 0, 0x18301b1},
        {"amd64_fam17h_zen2", "zen2", "zen2", "l2_request_g1.rd_blk_l", 0x38060, 0},
    };
    static struct blob blob;

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct upmu_pmu pmu = pmu_named(cases[i].pmu);
        struct upmu_event event = {.config = 0};
        enum upmu_status status;

        if (!cases[i].built_in) /* left out of the build */
            pmu.catalog = upmu_catalog_find("ix86arch");
        status = upmu_event_parse(&pmu, cases[i].event, &event, NULL);
        assert_int_equal(status, cases[i].built_in ? UPMU_OK : UPMU_ERR_NO_SUCH_EVENT, i);
        assert_int_equal(event.config, cases[i].built_in, i);
        take(&blob, cases[i].blob);
        rename_to(&blob, cases[i].name);
        pmu.imported = upmu_catalog_loaded(blob.bytes, 0); /* for whatever PMU */
        status = upmu_event_parse(&pmu, cases[i].event, &event, NULL);
        assert_int_equal(status, cases[i].config ? UPMU_OK : UPMU_ERR_UNSUPPORTED, i);
        if (cases[i].config)
            assert_int_equal(event.config, cases[i].config, i);
    }
}

/* The same for the event that starts a cascade: its name, or the event's own id, may be from outside. */
static void a_cascade_begins_with_an_event_of_its_own_catalogue(void **state)
{
    static const char *const texts[] = {"branch_retired:mmtm:cascade",
                                        "instr_retired:nbogusntag:cascade=uops_retired.nbogus"};
    static struct blob blob;
    char again[2][NAME];

    (void)state;
    take(&blob, "netburst");
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_pmu pmu = pmu_named("netburst");
        struct upmu_event built_in, outside;

        assert_int_equal(upmu_event_parse(&pmu, texts[i], &built_in, NULL), UPMU_OK, i);
        (void)upmu_event_format(&pmu, &built_in, again[0], NAME);
        assert_int_equal(upmu_pmu_import(&pmu, blob.bytes), UPMU_OK);
        pmu.catalog = upmu_catalog_find("ix86arch");
        assert_int_equal(upmu_event_parse(&pmu, texts[i], &outside, NULL), UPMU_OK, i);
        assert_true(outside.config == built_in.config && outside.config1 == built_in.config1);
        (void)upmu_event_format(&pmu, &outside, again[1], NAME);
        assert_string_equal(again[1], again[0]);
    }
}

/*
 * A catalogue with capitals in its name is found by a PMU of that name, and by a text before "::" in any case.
 * Catches: a text is folded and then compared with a name as the file has it.
 */
static void a_catalogue_with_capitals_in_its_name_is_found(void **state)
{
    static const char *const texts[] = {"SomeCPU::branches", "somecpu::branches", "SOMECPU::BRANCHES", "skl::branches"};
    static struct blob blob;
    struct upmu_pmu pmu = pmu_named("skl");
    struct upmu_event event;

    (void)state;
    take(&blob, "skl");
    memset(header(&blob) + FIRST_CPU, 0, 6); /* for no CPU: the name decides */
    rename_to(&blob, "SKL");
    assert_int_equal(upmu_pmu_import(&pmu, blob.bytes), UPMU_OK);
    rename_to(&blob, "SomeCPU");
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(upmu_event_parse(&pmu, texts[i], &event, NULL), UPMU_OK, i);
        assert_int_equal(event.id.catalogue, upmu_catalog_number(pmu.imported), i);
    }
    assert_int_equal(upmu_event_parse(&pmu, "some::branches", &event, NULL), UPMU_ERR_NO_SUCH_PMU);
}

/* A PMU may take events of one kind, of the other, or of both. */
static void a_pmu_refuses_events_of_a_source_that_it_does_not_take(void **state)
{
    static struct blob blob;
    struct upmu_event event;

    (void)state;
    take(&blob, "skl");
    for (unsigned refused = 0; refused < 4; refused++) {
        struct upmu_pmu pmu = pmu_named("skl");
        bool built_in = !(refused >> UPMU_SOURCE_BUILT_IN & 1u), outside = !(refused >> UPMU_SOURCE_IMPORTED & 1u);

        pmu.refuses = (uint8_t)refused;
        assert_int_equal(upmu_event_parse(&pmu, "branches", &event, NULL), built_in ? UPMU_OK : UPMU_ERR_NO_SUCH_EVENT);
        assert_int_equal(upmu_pmu_import(&pmu, blob.bytes), outside ? UPMU_OK : UPMU_ERR_NOT_PERMITTED);
        assert_int_equal(upmu_event_parse(&pmu, "branches", &event, NULL),
                         built_in || outside ? UPMU_OK : UPMU_ERR_NO_SUCH_EVENT);
        if (outside)
            assert_int_equal(event.id.catalogue, upmu_catalog_number(pmu.imported));
    }
}

/*
 * The paravirtual PMU as it ships: a hypervisor has numbers of architectural events alone, so a file of events is
 * refused, also one for this PMU, and built-in events are counted as before.
 * Class of mistake: a file is taken whose events the PMU can never count.
 */
static void a_shipped_pmu_that_knows_built_in_events_alone_takes_no_file(void **state)
{
    static struct blob blob;
    struct upmu_pmu pmu = pmu_named("pv");
    struct upmu_event event;

    (void)state;
    take(&blob, "k7");
    rename_to(&blob, "pv");
    assert_int_equal(upmu_pmu_import(&pmu, blob.bytes), UPMU_ERR_NOT_PERMITTED);
    assert_null(pmu.imported);
    assert_int_equal(upmu_event_parse(&pmu, "snoop_hits", &event, NULL), UPMU_ERR_NO_SUCH_EVENT);
    assert_int_equal(upmu_event_parse(&pmu, "branches", &event, NULL), UPMU_OK);
    assert_int_equal(event.id.catalogue, upmu_catalog_number(pmu.catalog));
}

static bool knows(const struct upmu_pmu *pmu, const char *name)
{
    struct upmu_event event;

    return upmu_event_parse(pmu, name, &event, NULL) != UPMU_ERR_NO_SUCH_EVENT;
}

/*
 * All other PMUs as they ship: each takes a file for its catalogue, whose event is found beside the built-in ones.
 * Class of mistake: a family whose PMUs take events of one source only.
 */
static void shipped_pmus_take_events_of_both_sources(void **state)
{
    static struct blob blob;
    unsigned both = 0;
    const char *pmu_name;

    (void)state;
    for (unsigned i = 0; (pmu_name = upmu_pmu_known(i)) != NULL; i++) {
        struct upmu_pmu pmu = pmu_named(pmu_name);
        struct upmu_event_id id;
        uint32_t cursor = 0;
        char own[NAME];

        if (strcmp(pmu_name, "pv") == 0 || strcmp(upmu_catalog_name(pmu.catalog), "k7") == 0)
            continue;
        assert_int_equal(upmu_catalog_next(pmu.catalog, NULL, &cursor, &id, own, NAME, NULL), UPMU_OK);
        assert_false(knows(&pmu, "snoop_resyncs"));
        take(&blob, "k7");
        rename_to(&blob, upmu_catalog_name(pmu.catalog));
        assert_int_equal(upmu_pmu_import(&pmu, blob.bytes), UPMU_OK);
        assert_true(knows(&pmu, "snoop_resyncs"));
        assert_true(knows(&pmu, own));
        both++;
    }
    assert_compare(both, >, 60);
}

static void an_event_from_outside_counts_as_long_as_its_session_lives(void **state)
{
    static struct blob blob;
    struct upmu_pmu pmu = pmu_named("skl");
    struct upmu_event event;
    struct upmu_count count;
    struct host host;
    char name[NAME];

    (void)state;
    take(&blob, "skl");
    assert_int_equal(upmu_catalog_load(blob.bytes, blob.size), UPMU_OK);
    assert_int_equal(upmu_pmu_import(&pmu, blob.bytes), UPMU_OK);
    assert_int_equal(upmu_event_parse(&pmu, "br_misp_retired.all_branches:u", &event, NULL), UPMU_OK);
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add_event(&host.session.set, &event, NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_memory_equal(&host.session.set.event[0].id, &event.id, sizeof event.id);
    assert_int_equal(event.id.catalogue, upmu_catalog_number(pmu.imported));
    (void)upmu_event_name(&pmu, event.id, name, sizeof name);
    assert_string_equal(name, "BR_MISP_RETIRED.ALL_BRANCHES");
    (void)upmu_event_format(&pmu, &event, name, sizeof name);
    assert_string_equal(name, "BR_MISP_RETIRED.ALL_BRANCHES:u");
    /* Without the file it has no name, and not another's. */
    assert_int_equal(upmu_pmu_import(&pmu, NULL), UPMU_OK);
    assert_int_equal(upmu_event_name(&pmu, event.id, name, sizeof name), 0);
    host_end(&host);
}

/*
 * FB-024: there is one call to allocate with, whatever the event comes from: it takes a name's, one from outside, a raw
 * one, and each counts beside the others under its own id.
 * Catches: an origin that is lost on the way, or that needs a call of its own.
 */
static void one_call_takes_events_of_every_origin(void **state)
{
    static struct blob blob;
    struct upmu_pmu pmu = pmu_named("skl"), plain = pmu_named("skl");
    struct upmu_event event[3];
    struct host host;
    char name[NAME];

    (void)state;
    take(&blob, "skl");
    assert_int_equal(upmu_pmu_import(&pmu, blob.bytes), UPMU_OK);
    assert_int_equal(upmu_event_parse(&plain, "br_inst_retired.all_branches", &event[0], NULL), UPMU_OK);
    assert_int_equal(upmu_event_parse(&pmu, "br_inst_retired.all_branches", &event[1], NULL), UPMU_OK);
    assert_int_equal(upmu_event_raw(&plain, event[0].config, 0, 0, &event[2]), UPMU_OK);
    host_set_up(&host, "skylake");
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(upmu_set_add_event(&host.session.set, &event[i], NULL), UPMU_OK, i);
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    for (unsigned i = 0; i < 3; i++) {
        const struct upmu_event_id id = host.session.set.event[i].id;

        assert_int_equal(host_value(&host.session, i), 500, i);
        assert_memory_equal(&id, &event[i].id, sizeof id);
        assert_int_equal(id.catalogue, i == 0   ? upmu_catalog_number(plain.catalog)
                                       : i == 1 ? upmu_catalog_number(pmu.imported)
                                                : 0, i);
        (void)upmu_event_name(&pmu, id, name, sizeof name);
        assert_string_equal(name, i < 2 ? "BR_INST_RETIRED.ALL_BRANCHES" : "");
    }
    host_end(&host);
}

/* ---- Bytes that change ---- */

/* A file behind which no page is, and one of its rows. */
static struct changing {
    uint8_t *file;
    const struct upmu_catalog *catalog;
    unsigned row;
    char name[NAME];
} changing;

static void place_at_the_end(const struct blob *blob)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (blob->size + page - 1) / page * page;
    uint8_t *room = mmap(NULL, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_int_not_equal(room, MAP_FAILED);
    assert_int_equal(mprotect(room + pages, page, PROT_NONE), 0);
    changing.file = room + pages - blob->size;
    memcpy(changing.file, blob->bytes, blob->size);
    changing.catalog = upmu_catalog_loaded(changing.file, 0);
}

static void ask_for_masks(void)
{
    struct upmu_event_id id = {.catalogue = upmu_catalog_number(changing.catalog), .row = (uint16_t)changing.row};
    struct upmu_mask mask;
    struct upmu_row row;

    (void)upmu_catalog_mask(changing.catalog, changing.row, 1, &mask);
    id.masks = 2;
    (void)!upmu_catalog_merge(changing.catalog, id, &row, NULL);
}

static void ask_by_name(void)
{
    struct upmu_event_id id;
    char name[NAME];
    unsigned mask;

    (void)!upmu_catalog_lookup(changing.catalog, changing.name, strlen(changing.name), &id);
    (void)upmu_catalog_mask_lookup(changing.catalog, changing.row, changing.name, 3, &mask);
    (void)upmu_catalog_mask_name(changing.catalog, changing.row, 1, name, sizeof name);
}

/* A row with masks, and its first name with one. */
static const uint8_t *masked_row(void)
{
    struct upmu_event_id id = {.catalogue = upmu_catalog_number(changing.catalog), .masks = 2};

    for (changing.row = 0;; changing.row++) {
        const uint8_t *set = upmu_row_set(changing.catalog, changing.row);
        struct upmu_row row;

        assert_true(upmu_catalog_row(changing.catalog, changing.row, &row));
        id.row = (uint16_t)changing.row;
        if (set && row.mask_count > 2 && upmu_catalog_id_name(changing.catalog, id, changing.name, NAME) < NAME)
            return set;
    }
}

/*
 * A set of masks that changes while it is walked leads nowhere but to wrong masks.  The class: what is read twice, and
 * trusted the second time because it was checked the first.
 */
static void masks_that_change_during_a_call_lead_nowhere(void **state)
{
    static const char *const names[] = {"k7", "coreduo"};
    static const uint8_t values[] = {0, 0x3f, 0xff};
    static struct blob blob;
    unsigned asked = 0;

    (void)state;
    for (unsigned n = 0; n < 2; n++) {
        const uint8_t *set;

        take(&blob, names[n]);
        place_at_the_end(&blob);
        set = masked_row();
        for (unsigned byte = 0; byte < 5; byte++)
            for (unsigned v = 0; v < 3; v++) {
                flipper_begin(changing.file + (set - changing.file) + byte, values[v]);
                for (unsigned i = 0; i < 3000; i++, asked++) {
                    ask_for_masks();
                    ask_by_name();
                }
                flipper_end();
            }
    }
    printf("%u questions about masks that changed\n", asked);
}

/* The same, if everything behind the header of the set becomes 0 after the walk has begun. */
static void a_walk_through_masks_that_are_gone_ends(void **state)
{
    static struct blob blob;
    struct upmu_masks masks;
    unsigned walked = 0;
    const uint8_t *set;
    uint8_t *at;

    (void)state;
    take(&blob, "k7");
    place_at_the_end(&blob);
    set = masked_row();
    at = changing.file + (set - changing.file);
    upmu_masks_begin(changing.file, set, &masks);
    memset(at + 1, 0, (size_t)(changing.file + blob.size - at) - 1);
    while (upmu_masks_next(&masks))
        assert_compare(++walked, <, 64);
    assert_compare(masks.run, <=, masks.heads);
}

static void a_copy_does_not_change_with_what_it_is_of(void **state)
{
    static struct blob blob, copy;

    (void)state;
    take(&blob, "k7");
    assert_int_equal(upmu_catalog_copy(copy.bytes, blob.size - 1, blob.bytes, blob.size), UPMU_ERR_NO_SPACE);
    assert_int_equal(upmu_catalog_copy(copy.bytes, sizeof copy.bytes, blob.bytes, blob.size), UPMU_OK);
    memset(blob.bytes, 0xff, sizeof blob.bytes);
    assert_string_equal(upmu_catalog_name(upmu_catalog_loaded(copy.bytes, 0)), "k7");
    assert_int_equal(upmu_catalog_load(copy.bytes, upmu_word(copy.bytes + 4)), UPMU_OK);
    assert_int_equal(upmu_catalog_copy(copy.bytes, sizeof copy.bytes, blob.bytes, 4096), UPMU_ERR_INVALID);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_files_are_taken_and_say_what_built_in_tables_say),
        cmocka_unit_test(a_file_of_another_version_is_refused),
        cmocka_unit_test(a_file_cut_or_changed_without_its_checksum_is_refused),
        cmocka_unit_test(a_file_that_takes_the_place_of_built_in_tables_is_refused),
        cmocka_unit_test(a_file_whose_names_are_out_of_order_is_refused),
        cmocka_unit_test(names_are_looked_for_outside_first_then_among_those_built_in),
        cmocka_unit_test(a_pmu_on_paper_takes_the_events_of_its_core_type_only),
        cmocka_unit_test(a_unit_takes_the_list_of_its_own_processor),
        cmocka_unit_test(a_pmu_on_paper_takes_the_events_of_its_stepping_only),
        cmocka_unit_test(amd_and_netburst_take_catalogues_from_outside_too),
        cmocka_unit_test(rows_are_translated_if_their_own_catalogue_is_architectural),
        cmocka_unit_test(a_cascade_begins_with_an_event_of_its_own_catalogue),
        cmocka_unit_test(a_catalogue_with_capitals_in_its_name_is_found),
        cmocka_unit_test(a_pmu_refuses_events_of_a_source_that_it_does_not_take),
        cmocka_unit_test(a_shipped_pmu_that_knows_built_in_events_alone_takes_no_file),
        cmocka_unit_test(shipped_pmus_take_events_of_both_sources),
        cmocka_unit_test(masks_that_change_during_a_call_lead_nowhere),
        cmocka_unit_test(a_walk_through_masks_that_are_gone_ends),
        cmocka_unit_test(a_copy_does_not_change_with_what_it_is_of),
        cmocka_unit_test(an_event_from_outside_counts_as_long_as_its_session_lives),
        cmocka_unit_test(one_call_takes_events_of_every_origin),
    };

    return cmocka_run_group_tests_name("catalog_load", tests, NULL, NULL);
}
