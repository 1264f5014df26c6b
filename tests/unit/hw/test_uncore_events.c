/* SPDX-License-Identifier: MIT */
/*
 * Events of units: fields of selects and filters bit for bit, which filters an event is subject to, what is refused,
 * how an event is placed and rendered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "backends/uncore/uncore_tables.h"
#include "core/hw/image.h"
#include "core/util/bits.h"
#include "tests/common/table.h"
#include "tests/common/uncore_map.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static struct upmu_uncore_pmu pmu;

/* The type with this PMU name: "skx_unc_cha". */
static void use(const char *name)
{
    for (unsigned i = 0; upmu_uncore_pmu_at(i, &pmu); i++)
        if (!strcmp(pmu.pmu.name, name))
            return;
    fail_msg("no PMU %s", name);
}

/* "cpu/" stands for the unit. */
static enum upmu_status encode(const char *text, struct upmu_event *event)
{
    char spec[160];

    snprintf(spec, sizeof spec, "%s%s", !strncmp(text, "cpu/", 4) ? pmu.type->name : text,
             !strncmp(text, "cpu/", 4) ? text + 3 : "");
    return upmu_event_parse(&pmu.pmu, spec, event, NULL);
}

static void expect(const char *name, const char *text, uint64_t config, uint64_t config1, uint64_t config2)
{
    struct upmu_event event;
    enum upmu_status status;

    use(name);
    status = encode(text, &event);
    if (status != UPMU_OK || event.config != config || event.config1 != config1 || event.config2 != config2)
        printf("%s %s: %#x, %#llx %#llx %#llx\n", name, text, status, (unsigned long long)event.config,
               (unsigned long long)event.config1, (unsigned long long)event.config2);
    assert_int_equal(status, UPMU_OK);
    assert_int_equal(event.config, config);
    assert_int_equal(event.config1, config1);
    assert_int_equal(event.config2, config2);
}

static void expect_status(const char *name, const char *text, enum upmu_status status)
{
    struct upmu_event event;

    use(name);
    if (encode(text, &event) != status)
        printf("%s %s: %#x\n", name, text, encode(text, &event));
    assert_int_equal(encode(text, &event), status);
}

static void words_and_terms_reach_the_registers_bit_for_bit(void **state)
{
    (void)state;
    expect("skx_unc_imc", "raw:config=0x304", 0x304, 0, 0);
    expect("skx_unc_imc", "cpu/event=0x04,umask=0x03/", 0x304, 0, 0);
    expect("skx_unc_cha", "cpu/event=0x35,umask=0x31,edge=1,inv=1,thresh=0x12,tid_en=1/", 0x128c3135 | 0x40000, 0, 0);
    expect("skx_unc_cha", "raw:config=0xff8cff35:config1=0xfffffe3b07fe01ff", 0xff8cff35, UINT64_C(0xfffffe3b07fe01ff),
           0);
    expect("skx_unc_cha", "cpu/event=0x35,umask=0x31,filter_local=1/", 0x3135, UINT64_C(0x200000000), 0);
    expect("skx_unc_upi", "cpu/event=0x02,umask=0x1234/", UINT64_C(0x1200003402), 0, 0);
    expect("skx_unc_upi", "cpu/event=0x02,umask=0x0f,umask_ext=0x12/", UINT64_C(0x1200000f02), 0, 0);
    expect("skx_unc_iio", "cpu/event=0x83,umask=0x01,ch_mask=0xff,fc_mask=0x7,thresh=0xfff/", UINT64_C(0x7fffff000183),
           0, 0);
    expect("icx_unc_iio", "cpu/event=0x83,umask=0x01,ch_mask=0xfff,fc_mask=0x7/", UINT64_C(0x7fff000000183), 0, 0);
    expect("snbep_unc_qpi", "raw:config=0x38:config1=0xf000f8003fff8:config2=0xf000f8003fff8", 0x38,
           UINT64_C(0xf000f8003fff8), UINT64_C(0xf000f8003fff8));
    expect("snbep_unc_qpi", "UNC_Q_CLOCKTICKS:config1=0x8:config2=0x30008", 0x14, 0x8, 0x30008);
    expect("snbep_unc_qpi", "cpu/event=0x102,umask=0x08/", 0x200802, 0, 0);
    expect("snbep_unc_pcu", "cpu/event=0x80,occ_sel=3,occ_invert=1,occ_edge=1/", 0xc000c080, 0, 0);
    expect("snb_unc_cbo", "cpu/event=0x34,umask=0x11,cmask=0x1f/", 0x1f001134, 0, 0);
    expect("snb_unc_clock", "cpu/event=0xff/", 0xff, 0, 0);
    expect("nhm_unc", "raw:config=0x35:config1=0xe000fffffffffff8", 0x35, UINT64_C(0xe000fffffffffff8), 0);
    /* The enable and the interrupt bit are the library's. */
    expect("skx_unc_imc", "raw:config=0x500304", 0x304, 0, 0);
}

/* Class of mistake: a name that works in perf is unknown here, or counts something else. */
static void names_that_linux_gives_events_are_known(void **state)
{
    FILE *file = source_open("tests/golden/units_linux.tsv");
    char line[600], *field[5], *next;
    unsigned names = 0;

    (void)state;
    while (table_row(file, line, sizeof line, field, 5) > 0)
        for (char *name = strtok_r(field[0], " ", &next); name; name = strtok_r(NULL, " ", &next), names++) {
            struct upmu_event event;

            use(name);
            if (field[3][0] == '-')
                assert_int_not_equal(encode(field[1], &event), UPMU_OK);
            else
                expect(name, field[1], strtoull(field[field[3][0] == '=' ? 2 : 3], NULL, 16), 0, 0);
        }
    assert_compare(names, >, 240);
    fclose(file);
}

/* Class of mistake: a list that several processors share gives one of them an event of another one. */
static void an_event_of_another_processor_with_the_same_list_is_refused(void **state)
{
    static const char *const absent[][2] = {
        {"grr_unc_upi", "UNC_UPI_CLOCKTICKS"},           {"grr_unc_b2cmi", "UNC_B2CMI_TAG_MISS.DIRTY"},
        {"grr_unc_imc", "UNC_M_CAS_COUNT_SCH1.RD_PRE_REG"}, {"srf_unc_cha", "UNC_CHA_TOR_OCCUPANCY.IA_DRD"},
        {"cwf_unc_cha", "UNC_CHA_TOR_INSERTS.IA_MISS_DRD_LOCAL"}, {"clx_unc_imc", "UNC_M_DRAM_REFRESH.HIGH"},
        {"arl_unc_arb", "UNC_ARB_DAT_OCCUPANCY.RD"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(absent); i++)
        expect_status(absent[i][0], absent[i][1], UPMU_ERR_UNSUPPORTED);
    expect("gnr_unc_upi", "UNC_UPI_CLOCKTICKS", 0x1, 0, 0);
    expect("skx_unc_imc", "UNC_M_DRAM_REFRESH.HIGH", 0x405, 0, 0);
    /* The rows beside them. */
    expect("grr_unc_imc", "UNC_M_CAS_COUNT_SCH1.RD_REG", 0xc106, 0, 0);
    expect("srf_unc_cha", "UNC_CHA_CLOCKTICKS", 0x1, 0, 0);
    expect_status("srf_unc_cha", "cpu/event=0x36,umask=0x01,umask_ext=0xc817ff00/", UPMU_OK);
}

static void amd_fields_are_amds(void **state)
{
    (void)state;
    expect("amd64_fam15h_nb", "cpu/event=0x4e0,umask=0xf7/", UINT64_C(0x40000f7e0), 0, 0);
    expect("amd64_fam17h_zen2_df", "cpu/event=0x1c7,umask=0x02/", UINT64_C(0x1000002c7), 0, 0);
    expect("amd64_fam17h_zen2_df", "cpu/event=0x31c7,umask=0x02/", UINT64_C(0x18000001000002c7), 0, 0);
    expect("amd64_fam19h_zen4_df", "cpu/event=0x1f,umask=0xffe/", UINT64_C(0xf00fe1f), 0, 0);
    expect("amd64_fam19h_zen4_df", "cpu/event=0x3f1f,umask=0x01/", UINT64_C(0x3f0000011f), 0, 0);
    expect_status("amd64_fam19h_zen4_df", "cpu/event=0x7f1f,umask=0x01/", UPMU_ERR_BAD_VALUE);
    expect("amd64_fam19h_zen4_umc", "cpu/event=0x0a,rdwrmask=1/", 0x10a, 0, 0);
    /* No slices and threads given: all of them. */
    expect("amd64_fam17h_zen2_l3", "cpu/event=0x04,umask=0xff/", UINT64_C(0xff0f00000000ff04), 0, 0);
    expect("amd64_fam17h_zen2_l3", "cpu/event=0x04,umask=0xff,slicemask=3/", UINT64_C(0xff0300000000ff04), 0, 0);
    expect("amd64_fam17h_zen2_l3", "cpu/event=0x04,umask=0xff,threadmask=1/", UINT64_C(0x010f00000000ff04), 0, 0);
    expect("amd64_fam19h_zen3_l3", "cpu/event=0x04,umask=0xff/", UINT64_C(0x0300c0000000ff04), 0, 0);
    expect("amd64_fam19h_zen3_l3", "cpu/event=0x04,umask=0xff,threadmask=2,sliceid=5/", UINT64_C(0x020500000000ff04), 0,
           0);
    expect_status("amd64_fam19h_zen4_df", "cpu/event=0x1f,edge=1/", UPMU_ERR_NO_SUCH_ATTRIBUTE);
    expect_status("amd64_fam17h_zen2_l3", "cpu/event=0x04,thresh=1/", UPMU_ERR_NO_SUCH_ATTRIBUTE);
}

static void what_a_type_does_not_have_is_refused(void **state)
{
    (void)state;
    expect_status("skx_unc_imc", "raw:config=0x304:u", UPMU_ERR_NO_SUCH_ATTRIBUTE);
    expect_status("skx_unc_imc", "raw:config=0x304:k", UPMU_ERR_NO_SUCH_ATTRIBUTE);
    expect_status("skx_unc_imc", "cpu/event=0x04,tid_en=1/", UPMU_ERR_NO_SUCH_ATTRIBUTE);
    expect_status("skx_unc_imc", "raw:config=0x04:config1=1", UPMU_ERR_BAD_VALUE);
    expect_status("skx_unc_imc", "raw:config=0x10004", UPMU_ERR_BAD_VALUE);
    expect_status("skx_unc_imc", "raw:config=0x20004", UPMU_ERR_BAD_VALUE); /* would clear the counter */
    expect_status("skx_unc_imc", "cpu/event=0x04,umask=0x100/", UPMU_ERR_BAD_VALUE);
    expect_status("skx_unc_imc", "cpu/event=0x04,thresh=0x100/", UPMU_ERR_BAD_VALUE);
    expect_status("skx_unc_cha", "raw:config=0x35:config2=1", UPMU_ERR_BAD_VALUE);
    expect_status("spr_unc_upi", "raw:config=0", UPMU_ERR_UNSUPPORTED); /* the idle word */
    expect_status("snb_unc_imc", "raw:config=6", UPMU_ERR_BAD_VALUE);
    expect_status("skx_unc_iio_free_running", "raw:config=0x11ff", UPMU_ERR_BAD_VALUE);
    expect_status("snb_unc_clock", "raw:config=1", UPMU_ERR_BAD_VALUE);
}

/* Every field of every filter that was collected, its lowest and highest bit. */
static void fields_of_filters_have_their_bits(void **state)
{
    unsigned fields = 0;

    (void)state;
    for (size_t i = 0; i < LENGTH(uncore_fields); i++) {
        const char *generation = uncore_fields[i].generation, *box = uncore_fields[i].box,
                   *name = uncore_fields[i].name;
        unsigned low = uncore_fields[i].low, width = uncore_fields[i].high - low + 1;
        char pmu_name[64], text[96];

        /* Held out, or registers that the library leaves alone; whole words are config1 and config2. */
        if (strstr(generation, "EX") || width > 31)
            continue;
        snprintf(pmu_name, sizeof pmu_name, "%s_unc_%s", !strcmp(generation, "HSX") ? "hswep" : generation,
                 !strcmp(box, "cbox")   ? "cbo"
                 : !strcmp(box, "ubox") ? "ubo"
                                        : box);
        for (char *at = pmu_name; *at; at++)
            *at = (char)(*at >= 'A' && *at <= 'Z' ? *at | 0x20 : *at);
        /* Types made by a table; Linux shows one bit of five, and for Knights Landing a field that it never writes. */
        if (!strcmp(generation, "SPR") || !strcmp(name, "filter_cid") ||
            (!strcmp(generation, "KNL") && !strcmp(name, "filter_link")))
            continue;
        for (unsigned k = 0; k < 2; k++) {
            uint64_t value = k ? (UINT64_C(1) << width) - 1 : 1, always = 0;

            /* Linux: three bits of Knights Landing's second register are always 1. */
            if (!strcmp(generation, "KNL") && low >= 32)
                always = UINT64_C(0x2300000000);
            snprintf(text, sizeof text, "cpu/event=0x38,%s=%#llx/", name, (unsigned long long)value);
            expect(pmu_name, text, 0x38, uncore_fields[i].word == 1 ? value << low | always : 0,
                   uncore_fields[i].word == 2 ? value << low : 0);
        }
        fields++;
    }
    printf("%u fields\n", fields);
    assert_compare(fields, >, 60);
}

static unsigned resource_of(const char *name)
{
    const struct upmu_uncore_field *field = &upmu_uncore_fields[upmu_uncore_rows[pmu.packed - 1].fields];

    for (; field->width; field++)
        if (!strcmp(&upmu_uncore_text[field->name] + strlen("filter_"), name))
            return 1u << field->resource;
    return 0;
}

/* "nid opc+nc+c6+isoc": the resources of these filters. */
static unsigned resources(const char *text)
{
    unsigned all = 0;
    char word[16];

    if (strstr(text, "group"))
        return resource_of("opc0") | resource_of("opc");
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, " +");

        memcpy(word, at, length);
        word[length] = 0;
        all |= resource_of(word);
        at += length + (at[length] != 0);
    }
    return all;
}

/*
 * Every code and unit mask of the boxes with filters.  Expected: the union of the rows that match; where the collected
 * rows list unit masks one by one, others of the same kind are not in the rows, and only the listed ones are compared.
 */
static void events_are_subject_to_the_filters_that_apply(void **state)
{
    unsigned compared = 0;

    (void)state;
    for (size_t i = 0; i < LENGTH(uncore_filtered); i++) {
        const char *generation = uncore_filtered[i].generation;
        struct upmu_event event;
        unsigned expected = 0;

        use(!strcmp(generation, "SNBEP")   ? "snbep_unc_cbo"
            : !strcmp(generation, "IVBEP") ? "ivbep_unc_cbo"
            : !strcmp(generation, "HSX")   ? "hswep_unc_cbo"
            : !strcmp(generation, "BDX")   ? "bdx_unc_cbo"
            : !strcmp(generation, "KNL")   ? "knl_unc_cha"
                                           : "skx_unc_cha");
        for (size_t k = 0; k < LENGTH(uncore_filtered); k++)
            if (!strcmp(uncore_filtered[k].generation, generation) &&
                (uncore_filtered[i].config & uncore_filtered[k].mask) == uncore_filtered[k].config)
                expected |= resources(uncore_filtered[k].filters);
        memset(&event, 0, sizeof event);
        event.config = uncore_filtered[i].config;
        event.attributes = UPMU_ATTR_RAW;
        assert_int_equal(upmu_uncore_finish(&pmu.pmu, &event), UPMU_OK);
        if (event.flags != expected)
            printf("%s %#x: %#x, not %#x\n", generation, uncore_filtered[i].config, event.flags, expected);
        assert_int_equal(event.flags, expected);
        compared++;
    }
    printf("%u events\n", compared);
    assert_compare(compared, >, 90);
}

static bool way(const void *context, unsigned request, unsigned i, struct upmu_alternative *out)
{
    return upmu_uncore_alternative(&pmu.pmu, &((const struct upmu_event *)context)[request], 0, i, out);
}

static enum upmu_status place(const struct upmu_event *events, unsigned count, struct upmu_place_result *result)
{
    static struct upmu_place_work work;
    struct upmu_place_input input = {.alternative = way,
                                     .context = events,
                                     .request_count = count,
                                     .counters = pmu.pmu.counters,
                                     .preference = pmu.pmu.preference,
                                     .preference_count = pmu.pmu.preference_count};

    return upmu_requests_place(&input, &work, result, NULL);
}

static void filters_are_shared_by_equal_values_only(void **state)
{
    static const struct {
        const char *pmu, *a, *b;
        bool fit;
    } pairs[] = {
        {"skx_unc_cha", "cpu/event=0x34,umask=0x11,filter_state=1/", "cpu/event=0x34,umask=0x11,filter_state=1/", true},
        {"skx_unc_cha", "cpu/event=0x34,umask=0x11,filter_state=1/", "cpu/event=0x34,umask=0x11,filter_state=2/",
         false},
        {"skx_unc_cha", "cpu/event=0x34,umask=0x11,filter_state=1/", "cpu/event=0x34,umask=0x11/", false},
        {"skx_unc_cha", "cpu/event=0x34,umask=0x11,filter_state=1/", "cpu/event=0x35,umask=0x21,filter_opc0=1/", true},
        {"skx_unc_cha", "cpu/event=0x35,umask=0x21,filter_opc0=1/", "cpu/event=0x35,umask=0x21,filter_opc1=1/", false},
        {"skx_unc_cha", "cpu/event=0x35,umask=0x21,filter_opc0=1/", "cpu/event=0x35,umask=0x21/", false},
        {"skx_unc_cha", "cpu/event=0x35,umask=0x21,filter_opc0=1/", "cpu/event=0x50,umask=0x03/", true},
        {"snbep_unc_cbo", "cpu/event=0x35,umask=0x41,filter_nid=1/", "cpu/event=0x34,umask=0x41,filter_nid=2/", false},
        {"snbep_unc_cbo", "cpu/event=0x35,umask=0x41,filter_nid=1/", "cpu/event=0x35,umask=0x01,filter_opc=2/", false},
        {"snbep_unc_cbo", "cpu/event=0x37,umask=0x41,filter_nid=1/", "cpu/event=0x35,umask=0x01,filter_opc=2/", true},
        {"snbep_unc_qpi", "raw:config=0x38:config1=0x8:config2=0x8", "raw:config=0x38:config1=0x8:config2=0x8", true},
        {"snbep_unc_qpi", "raw:config=0x38:config1=0x8:config2=0x8", "raw:config=0x38:config1=0x8:config2=0x10", false},
        {"snbep_unc_qpi", "raw:config=0x38:config1=0x8:config2=0x8", "raw:config=0x38:config1=0x10:config2=0x8", false},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(pairs); i++) {
        struct upmu_place_result result[2];
        struct upmu_event events[2];

        use(pairs[i].pmu);
        assert_int_equal(encode(pairs[i].a, &events[0]), UPMU_OK, i);
        assert_int_equal(encode(pairs[i].b, &events[1]), UPMU_OK, i);
        if ((place(events, 2, result) == UPMU_OK) != pairs[i].fit)
            printf("%s %s %s\n", pairs[i].pmu, pairs[i].a, pairs[i].b);
        assert_int_equal(place(events, 2, result) == UPMU_OK, pairs[i].fit, i);
    }
}

/* What a session with this image writes: register rows in order. */
static uint64_t value_of(const struct upmu_image *image, unsigned row, uint64_t *out_mask)
{
    uint64_t value = 0;

    *out_mask = 0;
    for (unsigned i = 0; i < image->count; i++)
        if (image->step[i].row == row) {
            value |= upmu_step_value(&image->step[i]);
            *out_mask |= upmu_step_mask(&image->step[i]);
        }
    return value;
}

/* Four events of one band each, all of them event 0Bh: each gets a band of its own, a fifth one none. */
static void bands_move_to_a_free_byte(void **state)
{
    struct upmu_place_result result[4];
    struct upmu_event events[5];
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image;
    unsigned used = 0;
    uint64_t mask, filter;

    (void)state;
    use("skx_unc_pcu");
    image = upmu_image_on(&pmu.pmu, steps, UPMU_IMAGE_STEPS);
    for (unsigned i = 0; i < 4; i++) {
        char text[64];

        snprintf(text, sizeof text, "cpu/event=0x0b,filter_band0=%u/", 10 + i);
        assert_int_equal(encode(text, &events[i]), UPMU_OK, i);
    }
    assert_int_equal(place(events, 4, result), UPMU_OK);
    for (unsigned i = 0; i < 4; i++)
        upmu_uncore_render(&pmu.pmu, &events[i], result[i].alternative, result[i].counter, 0, &image);
    filter = value_of(&image, pmu.table.row_count - 1u, &mask);
    assert_int_equal(mask, 0xffffffff);
    for (unsigned i = 0; i < 4; i++) {
        unsigned row = pmu.pmu.counter[result[i].counter[0]].select_row;
        unsigned band = (unsigned)(value_of(&image, row, &mask) & 0xff) - 0x0b;

        assert_true(band < 4 && !(used >> band & 1u));
        used |= 1u << band;
        assert_int_equal(filter >> 8 * band & 0xff, 10 + i, i);
        assert_true(value_of(&image, row, &mask) >> 22 & 1u);
    }
    events[4] = events[0];
    events[4].config1 = 99;
    assert_int_not_equal(place(events, 5, result), UPMU_OK);
}

static void filters_of_four_registers_have_the_halves_of_two_words(void **state)
{
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image;
    struct upmu_event event;
    uint8_t counter = 1;
    uint64_t mask;
    unsigned row;

    (void)state;
    use("hswep_unc_qpi");
    assert_int_equal(encode("raw:config=0x38:config1=0x5000280000008:config2=0x3000180000010", &event), UPMU_OK);
    image = upmu_image_on(&pmu.pmu, steps, UPMU_IMAGE_STEPS);
    upmu_uncore_render(&pmu.pmu, &event, 0, &counter, 0, &image);
    row = pmu.table.row_count - 4u;
    assert_int_equal(value_of(&image, row, &mask), 0x80000008);
    assert_int_equal(value_of(&image, row + 1, &mask), 0x50002);
    assert_int_equal(value_of(&image, row + 2, &mask), 0x80000010);
    assert_int_equal(value_of(&image, row + 3, &mask), 0x30001);
    assert_int_equal(value_of(&image, pmu.pmu.counter[1].select_row, &mask), 0x400038);
    assert_int_equal(pmu.row[row].address, 0x228, row);
    assert_int_equal(pmu.row[row + 3].address, 0x23c, row);
    assert_int_equal(pmu.table.classes[pmu.row[row].class_index].second, 1, row);
}

/* A free-running counter has no register but itself; the fixed counter's select has its enable bit alone. */
static void counters_without_a_choice(void **state)
{
    static const struct {
        const char *pmu, *text;
        unsigned counter;
        uint32_t address;
    } free[] = {
        {"snb_unc_imc", "raw:config=1", 0, 0x50},
        {"snb_unc_imc", "raw:config=5", 4, 0x48},
        {"skx_unc_iio_free_running", "cpu/event=0xff,umask=0x10/", 16, 0},
        {"skx_unc_iio_free_running", "cpu/event=0xff,umask=0x27/", 7, 7},
        {"skx_unc_iio_free_running", "cpu/event=0xff,umask=0x30/", 8, 8},
        {"gnr_unc_iio_free_running", "cpu/event=0xff,umask=0x21/", 1, 0x810},
        {"gnr_unc_iio_free_running", "cpu/event=0xff,umask=0x31/", 9, 0x10},
        {"icx_unc_imc_free_running", "cpu/event=0xff,umask=0x31/", 3, 0x18},
        {"adl_unc_imc_free_running", "cpu/event=0xff,umask=0x30/", 2, 0xa0},
        {"rapl", "raw:config=2", 1, 0x611},
        {"rapl", "energy-ram", 2, 0x619},
        {"x86_msr", "smi", 4, 0x34},
        {"intel_cstate_core", "c6-residency", 2, 0x3fd},
        {"intel_cstate_pkg", "c6-residency", 2, 0x3f9},
    };
    static const struct {
        const char *pmu;
        uint64_t value;
    } fixed[] = {{"nhm_unc", 1}, {"icx_unc_imc", 0x400000}, {"skx_unc_imc", 0x400000}};
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image;
    struct upmu_event event;
    uint8_t counter;
    uint64_t mask;

    (void)state;
    for (size_t i = 0; i < LENGTH(free); i++) {
        use(free[i].pmu);
        if (encode(free[i].text, &event) != UPMU_OK || event.counters != UPMU_BIT32(free[i].counter))
            printf("%s %s: %#x\n", free[i].pmu, free[i].text, event.counters);
        assert_int_equal(encode(free[i].text, &event), UPMU_OK, i);
        assert_int_equal(event.counters, UPMU_BIT32(free[i].counter), i);
        assert_int_equal(pmu.row[pmu.pmu.counter[free[i].counter].value_row].address, free[i].address, i);
        counter = (uint8_t)free[i].counter;
        image = upmu_image_on(&pmu.pmu, steps, UPMU_IMAGE_STEPS);
        upmu_uncore_render(&pmu.pmu, &event, 0, &counter, 0, &image);
        upmu_uncore_release(&pmu.pmu, event.counters, &image);
        assert_int_equal(image.count, 0);
    }
    for (size_t i = 0; i < LENGTH(fixed); i++) {
        use(fixed[i].pmu);
        assert_int_equal(encode("raw:config=0xff", &event), UPMU_OK);
        assert_int_equal(event.counters, UPMU_BIT32(UPMU_FIXED_COUNTER(0)));
        counter = UPMU_FIXED_COUNTER(0);
        image = upmu_image_on(&pmu.pmu, steps, UPMU_IMAGE_STEPS);
        upmu_uncore_render(&pmu.pmu, &event, 0, &counter, 0, &image);
        assert_int_equal(value_of(&image, pmu.pmu.counter[counter].select_row, &mask), fixed[i].value, counter, i);
    }
}

/*
 * A name of a fixed counter: the counter, where the unit has it, else a refusal.  Mistake: pseudo code FFh of a
 * row that says "fixed only" in the select of a general counter, whose start is OK and whose count is of nothing.
 */
static void a_fixed_counters_name_needs_a_unit_with_that_counter(void **state)
{
    static const char *const clocks[] = {"mtl_unc_cncu", "arl_unc_cncu", "ptl_unc_cncu"};
    static const char *const others[] = {"lnl_unc_sncu", "lnl_unc_arb", "lnl_unc_imc", "ptl_unc_sncu", "ptl_unc_santa",
                                         "mtl_unc_sncu"};
    struct upmu_row row = {.code = 0xff, .flags = UPMU_ROW_FIXED_ONLY};
    struct upmu_event event;

    (void)state;
    for (size_t i = 0; i < LENGTH(clocks); i++) {
        use(clocks[i]);
        assert_int_equal(encode("UNC_CLOCK.SOCKET", &event), UPMU_OK);
        assert_int_equal(event.counters, UPMU_BIT32(UPMU_FIXED_COUNTER(0)));
        assert_int_equal(event.config, 0xff);
    }
    for (size_t i = 0; i < LENGTH(others); i++) {
        use(others[i]);
        assert_int_not_equal(encode("UNC_CLOCK.SOCKET", &event), UPMU_OK);
    }
    /* The same row in a list from outside. */
    use("lnl_unc_sncu");
    row.unit = pmu.type->number;
    assert_int_equal(upmu_uncore_from_row(&pmu.pmu, &row, &event), UPMU_ERR_UNSUPPORTED);
    row.flags = 0;
    assert_int_equal(upmu_uncore_from_row(&pmu.pmu, &row, &event), UPMU_OK);
}

/*
 * A code that is too wide for the select, in a text and in a list from outside.  Class of mistake: a bit that marks the
 * code as wrong is one that is ignored later, so that another event counts.
 */
static void a_code_that_the_select_has_no_room_for_is_no_event(void **state)
{
    static const struct {
        const char *name;
        uint16_t most, more; /* codes; 0: none */
    } selects[] = {{"skx_unc_imc", 0xff, 0x105}, {"skx_unc_imc", 0xff, 0x205},     {"snbep_unc_qpi", 0x1ff, 0x205},
                   {"snb_unc_cbo", 0xff, 0x305}, {"skx_unc_cha", 0xff, 0xff05},    {"icx_unc_iio", 0xff, 0x283},
                   {"snbep_unc_pcu", 0xff, 0x280}, {"amd64_fam17h_zen2_df", 0x3fff, 0x4001}};

    (void)state;
    for (size_t i = 0; i < LENGTH(selects); i++)
        for (unsigned wide = 0; wide < 2; wide++) {
            struct upmu_row row = {.code = wide ? selects[i].more : selects[i].most};
            struct upmu_event event = {.config = 0};
            enum upmu_status status;
            char text[40];

            use(selects[i].name);
            snprintf(text, sizeof text, "cpu/event=%#x/", row.code);
            assert_int_equal(encode(text, &event), wide ? UPMU_ERR_BAD_VALUE : UPMU_OK, i);
            row.unit = pmu.type->number;
            event = (struct upmu_event){.config = 0};
            status = upmu_uncore_from_row(&pmu.pmu, &row, &event);
            if (status == UPMU_OK)
                status = upmu_uncore_finish(&pmu.pmu, &event);
            if (wide)
                assert_true(status == UPMU_ERR_UNSUPPORTED || status == UPMU_ERR_NOT_PERMITTED, i);
            else
                assert_int_equal(status, UPMU_OK, i);
        }
}

/*
 * Counters that event files list for an event.  Class of mistake: a limit that all events of a unit share is taken for
 * the unit's number of counters, or a processor lacks the rules of the one whose types it has: an event on a counter
 * where the hardware does not count it.
 */
static void events_have_only_the_counters_that_their_file_lists(void **state)
{
    static const struct {
        const char *pmu, *text;
        uint32_t counters;
    } limits[] = {
        {"gnr_unc_cxlcm", "UNC_CXLCM_RxC_PACK_BUF_INSERTS.MEM_DATA", 0xf0},
        {"srf_unc_cxlcm", "UNC_CXLCM_RxC_PACK_BUF_INSERTS.MEM_DATA", 0xf0},
        {"cwf_unc_cxlcm", "UNC_CXLCM_RxC_PACK_BUF_INSERTS.MEM_DATA", 0xf0},
        {"gnr_unc_cxlcm", "raw:config=0x1041", 0xf0},
        {"gnr_unc_cxlcm", "raw:config=0x52", 0xf0},
        {"gnr_unc_cxlcm", "raw:config=0x05", 0x0f},
        {"gnr_unc_cxlcm", "raw:config=0x01", 0xff},
        {"spr_unc_cxlcm", "UNC_CXLCM_CLOCKTICKS", 0xff},
        {"mtl_unc_arb", "UNC_ARB_DAT_OCCUPANCY.RD", 0x1},
        {"ivbep_unc_irp", "UNC_I_CLOCKTICKS", 0x3},
        {"ivbep_unc_irp", "UNC_I_TRANSACTIONS.READS", 0x3},
        {"ivbep_unc_irp", "raw:config=0x00", 0xf},
        {"icl_unc_arb", "UNC_ARB_TRK_REQUESTS.ALL", 0x1}, /* number 1 of two, which is the library's 0 */
        {"skx_unc_imc", "UNC_M_CAS_COUNT.RD", 0xf},
    };
    struct upmu_event event;

    (void)state;
    for (size_t i = 0; i < LENGTH(limits); i++) {
        unsigned at = 0;

        while (upmu_uncore_pmu_at(at, &pmu) && strcmp(pmu.pmu.name, limits[i].pmu) != 0)
            at++;
        assert_string_equal(pmu.pmu.name, limits[i].pmu);
        if (encode(limits[i].text, &event) != UPMU_OK || event.counters != limits[i].counters)
            printf("%s %s: %#x\n", limits[i].pmu, limits[i].text, event.counters);
        assert_int_equal(encode(limits[i].text, &event), UPMU_OK, i);
        assert_int_equal(event.counters, limits[i].counters, i);
    }
}

/* ---- AMD's L3: slices, cores, threads ---- */

/* "event:name=value", or without it where the value is -1. */
static void give(char text[128], const char *name, int value)
{
    size_t length = strlen(text);

    if (value >= 0)
        snprintf(text + length, 128 - length, ":%s=%d", name, value);
}

/* The event of a text, and that its canonical text gives the event again. */
static enum upmu_status l3_event(const char *text, struct upmu_event *event)
{
    struct upmu_event again;
    char canonical[128];
    enum upmu_status status = upmu_event_parse(&pmu.pmu, text, event, NULL);

    if (status != UPMU_OK)
        return status;
    assert_compare(upmu_event_format(&pmu.pmu, event, canonical, sizeof canonical), <, sizeof canonical);
    assert_int_equal(upmu_event_parse(&pmu.pmu, canonical, &again, NULL), UPMU_OK);
    if (memcmp(event, &again, sizeof again))
        printf("%s, as text %s\n", text, canonical);
    assert_memory_equal(event, &again, sizeof again);
    return status;
}

/* Families 17h and 18h: two masks, each all ones unless it is given with a bit (Linux amd/uncore.c). */
static void a_mask_of_slices_or_threads_that_is_not_given_is_all_of_them(void **state)
{
    static const char *const pmus[] = {"amd64_fam17h_zen1_l3", "amd64_fam17h_zen2_l3", "hygon_fam18h_l3"};
    static const int slices[] = {-1, 0, 1, 15}, threads[] = {-1, 0, 1, 255};

    (void)state;
    for (size_t i = 0; i < LENGTH(pmus); i++) {
        use(pmus[i]);
        for (unsigned choice = 0; choice < 16; choice++) {
            int slice = slices[choice % 4], thread = threads[choice / 4];
            char text[128] = "l3_lookup_state.all_l3_req_typs";
            struct upmu_event event;

            give(text, "slicemask", slice);
            give(text, "threadmask", thread);
            assert_int_equal(l3_event(text, &event), UPMU_OK);
            assert_int_equal(event.config >> 48,
                             (slice > 0 ? (unsigned)slice : 15u) | (thread > 0 ? (unsigned)thread : 255u) << 8);
            assert_int_equal(event.config & 0xffffffffffff, 0xff04);
        }
        /* Slices are a mask here, no number. */
        expect_status(pmus[i], "cpu/event=0x04,sliceid=2/", UPMU_ERR_NO_SUCH_ATTRIBUTE);
        expect_status(pmus[i], "cpu/event=0x04,coreid=2/", UPMU_ERR_NO_SUCH_ATTRIBUTE);
        expect_status(pmus[i], "cpu/event=0x04,enallcores=1/", UPMU_ERR_NO_SUCH_ATTRIBUTE);
    }
}

/*
 * From family 19h on.  With threads the fields are taken as they are given (as Linux does); without, threads are both,
 * and cores and slices are all unless the text says something of them.
 */
static void cores_and_slices_are_those_that_are_given_else_all(void **state)
{
    static const char *const pmus[] = {"amd64_fam19h_zen3_l3", "amd64_fam19h_zen4_l3", "amd64_fam1ah_zen5_l3",
                                       "amd64_fam1ah_zen6_l3"};
    static const int threads[] = {-1, 0, 1, 2, 3}, cores[] = {-1, 0, 5}, slices[] = {-1, 0, 3}, flags[] = {-1, 0, 1};

    (void)state;
    for (size_t i = 0; i < LENGTH(pmus); i++) {
        use(pmus[i]);
        for (unsigned choice = 0; choice < 5 * 81; choice++) {
            int thread = threads[choice / 81], core = cores[choice % 3], all_cores = flags[choice / 3 % 3],
                slice = slices[choice / 9 % 3], all_slices = flags[choice / 27 % 3];
            bool whole = thread <= 0;
            uint64_t expected = 0;
            char text[128] = "raw:config=0xff04";
            struct upmu_event event;

            give(text, "coreid", core);
            give(text, "enallcores", all_cores);
            give(text, "sliceid", slice);
            give(text, "enallslices", all_slices);
            give(text, "threadmask", thread);
            if (core >= 0 && all_cores > 0) {
                assert_int_equal(l3_event(text, &event), UPMU_ERR_CONTRADICTION);
                continue;
            }
            assert_int_equal(upmu_event_parse(&pmu.pmu, text, &event, NULL), UPMU_OK);
            expected |= (uint64_t)(whole ? 3 : thread) << 56 | (uint64_t)(core > 0 ? core : 0) << 42 |
                        (uint64_t)(slice > 0 ? slice : 0) << 48;
            if (all_cores > 0 || (whole && core < 0 && all_cores < 0))
                expected |= UINT64_C(1) << 47;
            if (all_slices > 0 || (whole && slice < 0 && all_slices < 0))
                expected |= UINT64_C(1) << 46;
            if (event.config != (expected | 0xff04))
                printf("%s: %#llx\n", text, (unsigned long long)event.config);
            assert_int_equal(event.config, expected | 0xff04);
        }
        expect_status(pmus[i], "cpu/event=0x04,slicemask=3/", UPMU_ERR_NO_SUCH_ATTRIBUTE);
    }
}

/* The same by name, with the canonical text. */
static void the_text_of_an_event_of_one_core_or_slice_says_so(void **state)
{
    static const struct {
        const char *text;
        uint64_t high; /* bits 63:32 */
    } events[] = {
        {"l3_lookup_state.l3_miss", 0x0300c000},
        {"l3_lookup_state.l3_miss:coreid=0", 0x03004000},
        {"l3_lookup_state.l3_miss:coreid=2", 0x03004800},
        {"l3_lookup_state.l3_miss:enallcores=0", 0x03004000},
        {"l3_lookup_state.l3_miss:sliceid=0", 0x03008000},
        {"l3_lookup_state.l3_miss:sliceid=7", 0x03078000},
        {"l3_lookup_state.l3_miss:enallslices=0", 0x03008000},
        {"l3_lookup_state.l3_miss:coreid=2:sliceid=7", 0x03070800},
        {"l3_lookup_state.l3_miss:threadmask=1", 0x01000000},
        {"l3_lookup_state.l3_miss:threadmask=1:enallcores:enallslices", 0x0100c000},
        {"l3_xi_sampled_latency.all", 0x0303c000},
        {"l3_xi_sampled_latency.all:sliceid=3:enallslices", 0x0303c000},
    };
    struct upmu_event event;

    (void)state;
    use("amd64_fam19h_zen4_l3");
    for (size_t i = 0; i < LENGTH(events); i++) {
        assert_int_equal(l3_event(events[i].text, &event), UPMU_OK, i);
        if (event.config >> 32 != events[i].high)
            printf("%s: %#llx\n", events[i].text, (unsigned long long)event.config);
        assert_int_equal(event.config >> 32, events[i].high, i);
    }
    /* It is counted for all cores and threads, or not at all. */
    assert_int_equal(l3_event("l3_xi_sampled_latency.all:coreid=2", &event), UPMU_ERR_CONTRADICTION);
    assert_int_equal(l3_event("l3_xi_sampled_latency.all:coreid=0", &event), UPMU_ERR_CONTRADICTION);
    assert_int_equal(l3_event("l3_xi_sampled_latency.all:threadmask=1", &event), UPMU_ERR_CONTRADICTION);
    /* Words say what they say: nothing of threads, but a core. */
    assert_int_equal(upmu_event_raw(&pmu.pmu, UINT64_C(0x0000080000000104), 0, 0, &event), UPMU_OK);
    assert_int_equal(event.config, UINT64_C(0x0300480000000104));
    assert_int_equal(upmu_event_raw(&pmu.pmu, UINT64_C(0x0002000000000104), 0, 0, &event), UPMU_OK);
    assert_int_equal(event.config, UINT64_C(0x0302800000000104));
    assert_int_equal(upmu_event_raw(&pmu.pmu, UINT64_C(0x0200000000000104), 0, 0, &event), UPMU_OK);
    assert_int_equal(event.config, UINT64_C(0x0200000000000104));
    assert_int_equal(event.flags | event.flags1, 0);
}

static void text_of_an_event_gives_the_event(void **state)
{
    static const char *const texts[][2] = {
        {"hswep_unc_cbo", "UNC_C_LLC_LOOKUP.DATA_READ:filter_state=0x20:thresh=2:edge"},
        {"skx_unc_imc", "UNC_M_CAS_COUNT.RD:inv:thresh=3"},
        {"snbep_unc_pcu", "UNC_P_FREQ_BAND0_CYCLES:filter_band0=0x20"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct upmu_event event, again;
        char text[128];

        use(texts[i][0]);
        assert_int_equal(encode(texts[i][1], &event), UPMU_OK, i);
        assert_compare(upmu_event_format(&pmu.pmu, &event, text, sizeof text), <, sizeof text);
        if (encode(text, &again) != UPMU_OK)
            printf("%s\n", text);
        assert_int_equal(encode(text, &again), UPMU_OK);
        assert_memory_equal(&event, &again, sizeof event);
    }
}

/* A default of the row is replaced, part of the event is not. */
static void defaults_of_filters_are_replaced(void **state)
{
    struct upmu_event plain, given;

    (void)state;
    use("hswep_unc_cbo");
    assert_int_equal(encode("UNC_C_LLC_LOOKUP.DATA_READ", &plain), UPMU_OK);
    assert_int_not_equal(plain.config1, 0);
    assert_int_equal(encode("UNC_C_LLC_LOOKUP.DATA_READ:filter_state=1", &given), UPMU_OK);
    assert_int_equal(given.config1, 0x20000);
    assert_int_equal(encode("UNC_C_LLC_LOOKUP.DATA_READ:config1=0x40000", &given), UPMU_OK);
    assert_int_equal(given.config1, 0x40000);
    assert_int_equal(encode("UNC_C_LLC_LOOKUP.DATA_READ:filter_state=1:filter_state=2", &given),
                     UPMU_ERR_CONTRADICTION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_linux_gives_events_are_known),
        cmocka_unit_test(an_event_of_another_processor_with_the_same_list_is_refused),
        cmocka_unit_test(words_and_terms_reach_the_registers_bit_for_bit),
        cmocka_unit_test(amd_fields_are_amds),
        cmocka_unit_test(what_a_type_does_not_have_is_refused),
        cmocka_unit_test(fields_of_filters_have_their_bits),
        cmocka_unit_test(events_are_subject_to_the_filters_that_apply),
        cmocka_unit_test(filters_are_shared_by_equal_values_only),
        cmocka_unit_test(bands_move_to_a_free_byte),
        cmocka_unit_test(filters_of_four_registers_have_the_halves_of_two_words),
        cmocka_unit_test(counters_without_a_choice),
        cmocka_unit_test(a_fixed_counters_name_needs_a_unit_with_that_counter),
        cmocka_unit_test(a_code_that_the_select_has_no_room_for_is_no_event),
        cmocka_unit_test(events_have_only_the_counters_that_their_file_lists),
        cmocka_unit_test(a_mask_of_slices_or_threads_that_is_not_given_is_all_of_them),
        cmocka_unit_test(cores_and_slices_are_those_that_are_given_else_all),
        cmocka_unit_test(the_text_of_an_event_of_one_core_or_slice_says_so),
        cmocka_unit_test(text_of_an_event_gives_the_event),
        cmocka_unit_test(defaults_of_filters_are_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
