/* SPDX-License-Identifier: MIT */
/*
 * Events: what specifications mean on each PMU, their canonical text, the counters
 * and payload registers they may use, and refusals in words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"
#include <upmu/upmu.h>

#include "backends/x86_core/x86_core.h"
#include "core/hw/backend.h"
#include "core/catalog/catalog.h"
#include "tests/common/steps.h"
#include "tests/common/share.h"
#include "tests/common/table.h"

static const char *const pmu_names[] = { "core", "coreduo", "nhm", "wsm", "skl", "icl", "ix86arch" };
#define PMUS (sizeof pmu_names / sizeof pmu_names[0])

static struct upmu_pmu pmus[PMUS];

static const struct upmu_pmu *pmu_named(const char *name)
{
    for (unsigned i = 0; i < PMUS; i++)
        if (strcmp(pmu_names[i], name) == 0)
            return &pmus[i];
    fail_msg("no PMU \"%s\"", name);
    return NULL;
}

static int describe_all(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PMUS; i++)
        if (upmu_pmu_by_name(&pmus[i], pmu_names[i]) != UPMU_OK)
            return 1;
    return 0;
}

static struct upmu_event encoded(const char *pmu, const char *text)
{
    struct upmu_event event;
    struct upmu_why why;
    char line[256];

    if (upmu_event_parse(pmu_named(pmu), text, &event, &why) != UPMU_OK) {
        upmu_why_text(&why, line, sizeof line);
        fail_msg("%s on %s: %s", text, pmu, line);
    }
    return event;
}

static enum upmu_status refused(const char *pmu, const char *text)
{
    struct upmu_event event, before;
    struct upmu_why why;
    enum upmu_status status;

    memset(&event, 0x5a, sizeof event);
    before = event;
    status = upmu_event_parse(pmu_named(pmu), text, &event, &why);
    if (status != UPMU_OK) {
        assert_memory_equal(&event, &before, sizeof event);
        assert_int_equal(why.status, status);
    }
    return status;
}

/* ---- The golden table and the manual's examples ---- */

#define FIELDS 7

static void every_golden_specification_encodes_as_recorded(void **state)
{
    FILE *file = source_open("tests/golden/events.tsv");
    char line[512], words[64 * 3], *fields[FIELDS];
    uint64_t statuses = 0;
    unsigned rows = 0;

    (void)state;
    for (unsigned found; (found = table_row(file, line, sizeof line, fields, FIELDS)) != 0; rows++) {
        const struct upmu_pmu *pmu = pmu_named(fields[1]);
        struct upmu_event event;
        struct upmu_why why;
        char text[256];
        enum upmu_status status = upmu_event_parse(pmu, fields[0], &event, &why);

        assert_int_equal(found, FIELDS);
        statuses |= UINT64_C(1) << status;
        if (status == UPMU_OK) {
            upmu_event_format(pmu, &event, text, sizeof text);
            snprintf(words, sizeof words, "0x%llx 0x%llx 0x%x", (unsigned long long)event.config,
                     (unsigned long long)event.config1, event.counters);
        } else {
            upmu_why_text(&why, text, sizeof text);
            strcpy(words, "- - -");
        }
        snprintf(line + 256, sizeof line - 256, "%s %s %s", fields[3], fields[4], fields[5]);
        if (status != (enum upmu_status)atoi(fields[2]) || strcmp(words, line + 256) != 0 ||
            strcmp(text, fields[6]) != 0)
            fail_msg("%s on %s: %d, %s, %s", fields[0], fields[1], (int)status, words, text);
    }
    fclose(file);
    assert_compare(rows, >=, 100);
    /* Every status of the text, UNSUPPORTED and DOES_NOT_FIT among them. */
    assert_int_equal(statuses & 0x3fe, 0x3fe);
    assert_int_equal(statuses >> 32 & 0xa, 0xa);
}

static void every_example_of_the_manual_is_a_golden_row(void **state)
{
    FILE *manual = source_open("docs/EVENTS.md");
    char line[512], other[512], *fields[FIELDS];
    unsigned examples = 0;

    (void)state;
    while (fgets(line, sizeof line, manual)) {
        char *text = strncmp(line, "| `", 3) == 0 ? line + 3 : NULL;
        char *end = text ? strstr(text, "` | ") : NULL;
        char *close = end ? strstr(end + 4, " |") : NULL;
        bool known = false, found = false;
        FILE *file;

        if (!close)
            continue;
        *end = *close = '\0';
        for (unsigned i = 0; i < PMUS; i++)
            known |= strcmp(pmu_names[i], end + 4) == 0;
        if (!known)
            continue;
        file = source_open("tests/golden/events.tsv");
        while (!found && table_row(file, other, sizeof other, fields, FIELDS))
            found = strcmp(fields[0], text) == 0 && strcmp(fields[1], end + 4) == 0;
        fclose(file);
        if (!found)
            fail_msg("no golden row for %s on %s", text, end + 4);
        examples++;
    }
    fclose(manual);
    assert_compare(examples, >=, 40);
}

/* ---- Round trips ---- */

/* Encode, write, encode: equal.  False: the text is refused for a good reason. */
static bool round_trips(const struct upmu_pmu *pmu, const char *text)
{
    struct upmu_event event, again;
    struct upmu_why why;
    char canonical[256], line[256];
    size_t length;
    enum upmu_status status = upmu_event_parse(pmu, text, &event, &why);

    if (status == UPMU_ERR_CONTRADICTION || status == UPMU_ERR_DOES_NOT_FIT || status == UPMU_ERR_UNSUPPORTED ||
        status == UPMU_ERR_NO_SUCH_ATTRIBUTE || status == UPMU_ERR_NO_SUCH_MASK || status == UPMU_ERR_MASK_REQUIRED ||
        (status == UPMU_ERR_NOT_PRECISE && strstr(text, "precise")) ||
        (status == UPMU_ERR_BAD_VALUE && strstr(text, ":counter=16") && !(pmu->counters >> 16)))
        return false;
    if (status != UPMU_OK) {
        upmu_why_text(&why, line, sizeof line);
        fail_msg("%s on %s: %s", text, pmu->name, line);
    }
    length = upmu_event_format(pmu, &event, canonical, sizeof canonical);
    assert_true(length < sizeof canonical && length == strlen(canonical));
    status = upmu_event_parse(pmu, canonical, &again, &why);
    if (status != UPMU_OK || memcmp(&event, &again, sizeof event) != 0) {
        upmu_why_text(&why, line, sizeof line);
        fail_msg("%s on %s is written %s, which is not the same: %s", text, pmu->name, canonical, line);
    }
    return true;
}

static void every_event_with_every_attribute_encodes_again_as_written(void **state)
{
    static const char *const attributes[] = {
        "", ":u", ":k", ":uk", ":u=0", ":c=2", ":c=0", ":e", ":e=1:i=1:c=255", ":t=1", ",any,os", ":intx=1",
        ":intxcp=1:c=1", ":precise", ":counter=1", ":counter=16", ":u:e=1:c=3:counter=0", ":umask=0x41", ":ldlat=100",
        ":fe_thres=1", ":fe_thres=15", ":c=3:eq=1", ":offcore_rsp=0x1", ":c=1:precise=2:k",
    };
    unsigned written = 0, names = 0;

    (void)state;
    for (unsigned p = 0; p < PMUS; p++) {
        uint32_t cursor = 0;
        struct upmu_event_id id;
        char name[160], text[256];

        while (upmu_catalog_next(pmus[p].catalog, NULL, &cursor, &id, name, sizeof name, NULL) == UPMU_OK) {
            names++;
            for (unsigned i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
                snprintf(text, sizeof text, "%s%s", name, attributes[i]);
                written += round_trips(&pmus[p], text);
            }
        }
    }
    assert_compare(names, >, 800);
    assert_compare(written, >, 8 * names);
}

/* But a row whose masks are a choice, and what no PMU of the architecture, or not this one, announces. */
static void every_name_can_be_encoded_and_keeps_its_id(void **state)
{
    unsigned encoded = 0, others = 0;

    (void)state;
    for (unsigned p = 0; p < PMUS; p++) {
        uint32_t cursor = 0;
        struct upmu_event_id id;
        char name[160];

        while (upmu_catalog_next(pmus[p].catalog, NULL, &cursor, &id, name, sizeof name, NULL) == UPMU_OK) {
            struct upmu_event event;
            struct upmu_why why;
            enum upmu_status status = upmu_event_parse(&pmus[p], name, &event, &why);

            bool choice = status == UPMU_ERR_MASK_REQUIRED && !id.masks && !strpbrk(name, ":.");
            bool absent = status == UPMU_ERR_UNSUPPORTED &&
                          (strcmp(pmus[p].name, "ix86arch") == 0 || strcmp(name, "bus-cycles") == 0);

            others += choice || absent;
            if (choice || absent)
                continue;
            if (status != UPMU_OK || event.id.row != id.row || event.id.catalogue != id.catalogue ||
                (id.masks & ~event.id.masks))
                fail_msg("%s on %s: %d", name, pmus[p].name, (int)status);
            encoded++;
        }
    }
    assert_compare(encoded, >, 2500);
    assert_compare(others, <, 80);
}

static void raw_words_are_written_so_that_they_encode_again(void **state)
{
    static const uint64_t bits[] = { 0, 0x10000, 0x20000, 0x30000, 0x40000, 0x2800000, 0x1000000, 0x200000,
                                     UINT64_C(0x100000000) };
    static const uint64_t codes[] = { 0xC0, 0x3C, 0x300, 0x1B7, 0x1BB, 0x1C6, 0x1CD, 0x100B, 0x14 };
    unsigned written = 0;

    (void)state;
    for (unsigned p = 0; p < PMUS; p++)
        for (unsigned i = 0; i < sizeof bits / sizeof bits[0]; i++)
            for (unsigned k = 0; k < sizeof codes / sizeof codes[0]; k++) {
                struct upmu_event event;
                char text[160], parsed[160];

                if (upmu_event_raw(&pmus[p], bits[i] | codes[k], 0, 0, &event) != UPMU_OK)
                    continue;
                upmu_event_format(&pmus[p], &event, text, sizeof text);
                snprintf(parsed, sizeof parsed, "r%llx", (unsigned long long)(bits[i] | codes[k]));
                assert_true(round_trips(&pmus[p], text), p);
                assert_true(round_trips(&pmus[p], parsed), p);
                written++;
            }
    assert_compare(written, >, 200);
}

static void a_short_buffer_gets_what_fits_of_an_event(void **state)
{
    struct upmu_event event = encoded("core", "L2_LD,cachestate=m,core=all:u:c=2");
    const struct upmu_pmu *pmu = pmu_named("core");
    char whole[128], part[128];
    size_t length = upmu_event_format(pmu, &event, whole, sizeof whole);

    (void)state;
    assert_int_equal(upmu_event_format(pmu, &event, NULL, 0), length);
    for (size_t size = 1; size <= length; size++) {
        memset(part, '#', sizeof part);
        assert_int_equal(upmu_event_format(pmu, &event, part, size), length);
        assert_memory_equal(part, whole, size - 1);
        assert_int_equal(part[size - 1], '\0', size);
        assert_int_equal(part[size], '#', size);
    }
}

/* ---- Meaning ---- */

static void both_privileges_are_counted_unless_one_is_named(void **state)
{
    (void)state;
    assert_int_equal(encoded("skl", "cycles").attributes, UPMU_ATTR_USR | UPMU_ATTR_OS);
    assert_int_equal(encoded("skl", "cycles").config & 0x30000, 0x30000);
    assert_int_equal(encoded("skl", "cycles,os,usr").config & 0x30000, 0x30000);
    assert_int_equal(encoded("skl", "cycles:u").config & 0x30000, 0x10000);
    assert_int_equal(encoded("skl", "cycles,os").config & 0x30000, 0x20000);
    assert_int_equal(encoded("skl", "cycles:u=0").config & 0x30000, 0x20000);
    assert_int_equal(encoded("skl", "cycles:k=0").config & 0x30000, 0x10000);
}

static void gate_and_interrupt_bits_are_never_part_of_an_event(void **state)
{
    struct upmu_event event;

    (void)state;
    assert_int_equal(upmu_event_raw(pmu_named("skl"), 0x5300C0, 0, 0, &event), UPMU_OK);
    assert_int_equal(event.config, 0x300C0);
    assert_int_equal(encoded("skl", "r5300c0").config, 0x300C0);
}

static void equal_spellings_give_equal_events(void **state)
{
    static const char *const same[][2] = {
        { "cycles:u", "CYCLES,usr" },
        { "instructions:c=2", "instructions,cmask=0x2" },
        { "instructions:c=2", "instructions:threshold=2" },
        { "instructions:e", "instructions,edge" },
        { "instructions:i:c=1", "instructions,cmask=1,inv" },
        { "cycles:t", "cycles,anythread" },
        { "cycles:e=0", "cycles" },
        { "cycles:pp", "cycles,precise=2" },
        { "cycles:p", "cycles,precise" },
        { "INST_RETIRED:e=0:t", "INST_RETIRED:e=0:any" }, /* no unit mask was named before */
        { "3 cycles", "cycles:counter=3" },
        { "MEM_INST_RETIRED.ALL_LOADS", "mem-inst-retired:all-loads" },
        { "raw:config=0x3c", "r3c" },
        { "raw:config=0x3c:c=2", "cpu/event=0x3c,cmask=2/" },
        { "raw:config=0x3c", "cpu/config=0x3c/" },
    };

    (void)state;
    for (unsigned i = 0; i < sizeof same / sizeof same[0]; i++) {
        struct upmu_event a = encoded("skl", same[i][0]);
        struct upmu_event b = encoded("skl", same[i][1]);

        if (memcmp(&a, &b, sizeof a) != 0)
            fail_msg("%s and %s differ", same[i][0], same[i][1]);
    }
}

static void raw_words_are_held_to_what_a_session_may_set(void **state)
{
    const struct upmu_pmu *core = pmu_named("core");
    struct upmu_event event, before;

    (void)state;
    memset(&event, 0x5a, sizeof event);
    before = event;
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t word = UINT64_C(0xC0) | UINT64_C(1) << bit;
        /* Code, unit mask, USR, OS, edge, interrupt, enable, inv, counter mask. */
        bool valid = bit <= 18 || bit == 20 || (bit >= 22 && bit <= 31);

        if (upmu_event_raw(core, word, 0, 0, &event) != (valid ? UPMU_OK : UPMU_ERR_NOT_PERMITTED))
            fail_msg("bit %u", bit);
    }
    event = before;
    assert_int_equal(upmu_event_raw(core, 0x3C, 1, 0, &event), UPMU_ERR_NOT_PERMITTED);
    assert_int_equal(upmu_event_raw(core, 0x3C, 0, 1, &event), UPMU_ERR_NOT_PERMITTED);
    assert_int_equal(upmu_event_raw(core, 0x00, 0, 0, &event), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(upmu_event_raw(pmu_named("skl"), 0x1CD, 2, 0, &event), UPMU_ERR_NOT_PERMITTED);
    assert_int_equal(upmu_event_raw(pmu_named("skl"), 0x1C6, 0x8, 0, &event), UPMU_ERR_NOT_PERMITTED);
    assert_memory_equal(&event, &before, sizeof event);
}

static void in_tx_and_anythread_need_a_pmu_that_has_them(void **state)
{
    (void)state;
    assert_int_equal(refused("skl", "instructions:intx"), UPMU_OK);
    assert_int_equal(refused("ix86arch", "instructions:intx"), UPMU_ERR_NO_SUCH_ATTRIBUTE);
    assert_int_equal(refused("nhm", "cycles:t"), UPMU_OK);
    assert_int_equal(refused("icl", "cycles:t"), UPMU_ERR_NO_SUCH_ATTRIBUTE);
    assert_int_equal(refused("nhm", "r3c:ldlat=3"), UPMU_ERR_NO_SUCH_ATTRIBUTE);
    assert_int_equal(refused("core", "r3c:frontend=1"), UPMU_ERR_NO_SUCH_ATTRIBUTE);
}

static void architectural_events_need_their_bit_in_cpuid(void **state)
{
    struct upmu_pmu pmu = *pmu_named("ix86arch");
    struct upmu_event event;

    (void)state;
    assert_int_equal(upmu_event_parse(&pmu, "LLC_MISSES", &event, NULL), UPMU_OK);
    pmu.arch_events &= ~(UINT32_C(1) << 4);
    assert_int_equal(upmu_event_parse(&pmu, "LLC_MISSES", &event, NULL), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_event_parse(&pmu, "r412e", &event, NULL), UPMU_OK);
}

/*
 * A model's own table lists its events; CPUID decides of architectural ones, and of what a hypervisor lets
 * its guest have.  Catches: events refused for a reason that holds for events of another catalogue.
 */
static void a_models_own_events_need_a_cpuid_bit_under_a_hypervisor(void **state)
{
    static const char *const models[] = {"nhm_ex", "wsm", "wsm_dp", "wsm_ex"};
    struct upmu_event event;
    struct upmu_pmu pmu;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(upmu_pmu_by_name(&pmu, models[i]), UPMU_OK, i);
        assert_false(pmu.arch_events >> 2 & 1u);
        assert_int_equal(upmu_event_parse(&pmu, "CPU_CLK_UNHALTED.REF_P", &event, NULL), UPMU_OK);
        assert_int_equal(event.config, 0x3013c);
        assert_int_equal(upmu_event_parse(&pmu, "bus-cycles", &event, NULL), UPMU_ERR_UNSUPPORTED);
        pmu.capabilities |= UPMU_PMU_HYPERVISOR;
        assert_int_equal(upmu_event_parse(&pmu, "CPU_CLK_UNHALTED.REF_P", &event, NULL), UPMU_ERR_UNSUPPORTED);
    }
}

static void without_a_catalogue_raw_words_still_encode(void **state)
{
    struct upmu_pmu pmu = *pmu_named("skl");
    struct upmu_event event;
    struct upmu_why why;
    char text[64];

    (void)state;
    pmu.catalog = NULL;
    assert_int_equal(upmu_event_parse(&pmu, "r1c2:u:counter=2", &event, &why), UPMU_OK);
    assert_int_equal(upmu_event_format(&pmu, &event, text, sizeof text), strlen("raw:config=0x101c2:counter=2"));
    assert_string_equal(text, "raw:config=0x101c2:counter=2");
    assert_int_equal(upmu_event_parse(&pmu, "cycles", &event, &why), UPMU_ERR_NO_SUCH_EVENT);
}

/* ---- Counters ---- */

static uint32_t counters_of(const char *pmu, const char *text)
{
    return encoded(pmu, text).counters;
}

static void a_modifier_takes_an_event_off_its_fixed_counter(void **state)
{
    (void)state;
    assert_int_equal(counters_of("skl", "instructions"), 0x1000f);
    assert_int_equal(counters_of("skl", "instructions:u"), 0x1000f);
    assert_int_equal(counters_of("skl", "cycles:t"), 0x2000f);
    assert_int_equal(counters_of("skl", "instructions:c=1"), 0xf);
    assert_int_equal(counters_of("skl", "instructions:e=1"), 0xf);
    assert_int_equal(counters_of("skl", "instructions:intx"), 0xf);
    assert_int_equal(counters_of("skl", "ref-cycles"), 0x40000);
    assert_int_equal(refused("skl", "ref-cycles:i"), UPMU_ERR_DOES_NOT_FIT);
}

static void checkpointed_counting_is_for_counter_two_only(void **state)
{
    (void)state;
    assert_int_equal(counters_of("skl", "instructions:intxcp"), 0x4);
    assert_int_equal(refused("skl", "INST_RETIRED.PREC_DIST:intxcp"), UPMU_ERR_DOES_NOT_FIT);
}

static void the_event_file_narrows_what_the_constraints_allow(void **state)
{
    struct upmu_pmu pmu = *pmu_named("skl");
    struct upmu_event event;

    (void)state;
    /* Hyper-threading off: eight general counters. */
    pmu.counters |= 0xf0;
    pmu.general |= 0xf0;
    assert_int_equal(upmu_event_parse(&pmu, "LONGEST_LAT_CACHE.MISS", &event, NULL), UPMU_OK);
    assert_int_equal(event.counters, 0xff);
    assert_int_equal(upmu_event_parse(&pmu, "CYCLE_ACTIVITY.STALLS_MEM_ANY", &event, NULL), UPMU_OK);
    assert_int_equal(event.counters, 0xf);
    assert_int_equal(upmu_event_parse(&pmu, "MEM_INST_RETIRED.ALL_LOADS", &event, NULL), UPMU_OK);
    assert_int_equal(event.counters, 0xf);
    assert_int_equal(upmu_event_parse(&pmu, "r14a3", &event, NULL), UPMU_OK);
    assert_int_equal(event.counters, 0xf);
}

/* One line per kind of row of the constraint table. */
static void constraints_hold_on_each_model(void **state)
{
    static const struct {
        const char *pmu, *text;
        uint32_t counters; /* 0: does not fit */
    } cases[] = {
        { "core", "r10", 0x1 },       { "core", "r12", 0x2 },         { "core", "r13", 0x2 },
        { "core", "r18", 0x1 },       { "core", "r19", 0x2 },         { "core", "ra1", 0x1 },
        { "core", "rc9", 0x1 },       { "core", "r1cb", 0x1 },        { "core", "r24", 0x3 },
        { "core", "rfec1:p", 0x1 },   { "core", "r1c1:p", 0 },        { "core", "rc5:p:e", 0 },
        { "core", "rc0:p:i:c=16", 0x1 }, { "core", "rc0:p:i:c=10", 0 }, { "core", "r100", 0 },
        { "coreduo", "r13", 0x2 },    { "coreduo", "r19", 0x2 },      { "coreduo", "rc0", 0x3 },
        { "coreduo", "r300", 0 },     { "nhm", "r43", 0x3 },          { "nhm", "r44", 0xf },
        { "nhm", "r153", 0x3 },       { "nhm", "r253", 0xf },         { "nhm", "r60", 0xf },
        { "nhm", "rc2:p:c=1", 0xf },  { "nhm", "r1c5:p", 0 },         { "wsm", "r1c5:p", 0xf },
        { "wsm", "r60", 0x1 },        { "wsm", "rb3", 0x1 },          { "wsm", "r24e", 0x3 },
        { "wsm", "r43", 0xf },        { "skl", "r1c0", 0x2 },         { "skl", "r1c0:p", 0x2 },
        { "skl", "r1c0:p:i:c=10", 0x2 }, { "skl", "rc0:p:i:c=16", 0xf }, { "skl", "rc0:p:i:c=2", 0 },
        { "skl", "r2:p", 0xf },       { "skl", "r2:p:t", 0 },         { "icl", "r1c0", 0x100ff },
        { "icl", "r1c0:c=1", 0xff },  { "icl", "r200", 0x20000 },     { "icl", "r8000", 0x1000000 },
        { "icl", "r8400", 0 },
        { "icl", "r2a", 0xff },       { "icl", "r20", 0xf },          { "icl", "r14a3", 0xff },
        { "icl", "r6a3", 0xf },       { "icl", "r1b7", 0xf },         { "icl", "re7", 0xff },
        { "icl", "rd1:p", 0xf },      { "icl", "rc4:p", 0xff },       { "icl", "rd1:p:c=1", 0xf },
        { "ix86arch", "r400", 0 },    { "ix86arch", "rd0", 0xf },     { "ix86arch", "rc0:p", 0 },
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct upmu_event event;
        enum upmu_status status = upmu_event_parse(pmu_named(cases[i].pmu), cases[i].text, &event, NULL);

        enum upmu_status refusal = strstr(cases[i].text, ":p") ? UPMU_ERR_NOT_PRECISE : UPMU_ERR_DOES_NOT_FIT;

        if (status != (cases[i].counters ? UPMU_OK : refusal) ||
            (cases[i].counters && event.counters != cases[i].counters))
            fail_msg("%s on %s: status %d, counters %#x", cases[i].text, cases[i].pmu, (int)status,
                     status == UPMU_OK ? event.counters : 0);
    }
}

static void a_leading_index_is_held_to_the_counters_of_the_events_class(void **state)
{
    (void)state;
    assert_int_equal(counters_of("core", "0 L2_LINES_IN"), 0x1);
    assert_int_equal(counters_of("core", "1 L2_LINES_IN"), 0x2);
    assert_int_equal(refused("core", "2 L2_LINES_IN"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(refused("core", "18 L2_LINES_IN"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(counters_of("skl", "3 LONGEST_LAT_CACHE.MISS"), 0x8);
    assert_int_equal(counters_of("core", "2 CPU_CLK_UNHALTED.REF"), 0x40000);
    assert_int_equal(refused("core", "1 CPU_CLK_UNHALTED.REF"), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(refused("core", "3 CPU_CLK_UNHALTED.REF"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(refused("core", "0 MUL"), UPMU_ERR_DOES_NOT_FIT);
}

/*
 * What shows which row: MX-072: the names in `own`.  MX-039, MX-040, MX-041: event 0, 1 and 2 on each of the three
 * counters.  MX-066: the counter is asked for and refused by one call.
 */
static void each_fixed_counter_takes_its_own_event_only(void **state)
{
    static const char *const own[] = { "INSTR_RETIRED.ANY", "CPU_CLK_UNHALTED.CORE", "CPU_CLK_UNHALTED.REF" };
    static const char *const enumerators[] = {"PMC_EV_IAF_INSTR_RETIRED_ANY", "PMC_EV_IAF_CPU_CLK_UNHALTED_CORE",
                                              "PMC_EV_IAF_CPU_CLK_UNHALTED_REF"};
    char text[64];

    (void)state;
    /* MX-039, MX-040, MX-041: fixed counters 0, 1 and 2, each with its own event and with no other; MX-066: they are
       asked for in the same words as any counter. */
    for (unsigned event = 0; event < 3; event++)
        for (unsigned i = 0; i < 3; i++) {
            snprintf(text, sizeof text, "%s,counter=%u", own[event], UPMU_FIXED_COUNTER(i));
            assert_int_equal(refused("core", text), i == event ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT, i);
        }
    /* MX-072: FreeBSD's enumerators mean the same. */
    for (unsigned event = 0; event < 3; event++) {
        struct upmu_event a = encoded("core", own[event]), b = encoded("core", enumerators[event]);

        assert_memory_equal(&a, &b, sizeof a);
    }
}

static void freebsd_specifications_are_names_with_tags_and_values(void **state)
{
    (void)state;
    assert_int_equal(encoded("core", "L2_LD").config, 0x37f29);
    assert_int_equal(encoded("core", "L2_LD,core=all,prefetch=only,cachestate=m,usr").config, 0x1d829);
    assert_int_equal(encoded("core", "l2-ld,os,edge,inv,cmask=3").config, 0x3867f29);
    assert_int_equal(encoded("core", "BUS_TRANS_MEM,agent=any,os,usr").config, 0x3606f);
    assert_int_equal(encoded("core", "L2_LD,mask=m_state+prefetch").config, 0x35829);
    /* A word that no mask has: a number, to which the masks' attributes are left. */
    assert_int_equal(encoded("nhm", "ARITH,mask=div,cachestate=m,usr").config, 0x1850814);
    assert_true(encoded("nhm", "ARITH,mask=div,cachestate=m,usr").attributes & UPMU_ATTR_EDGE);
    assert_int_equal(encoded("core", "CMP_SNOOP,snooptype=cmp2i").config & 0x0300, 0x0200);
}

static void general_events_exist_on_every_model_and_others_are_its_own(void **state)
{
    static const char *const models[] = { "core", "skl", "ix86arch" };
    static const char *const general[] = { "cycles",     "unhalted-cycles",  "instructions", "branches",
                                           "branch-misses", "branch-mispredicts", "cache-misses", "cache-references" };

    (void)state;
    for (unsigned m = 0; m < sizeof models / sizeof models[0]; m++)
        for (unsigned i = 0; i < sizeof general / sizeof general[0]; i++)
            assert_int_equal(refused(models[m], general[i]), UPMU_OK, m, i);
    assert_int_equal(refused("core", "L2_LINES_IN,core=all"), UPMU_OK);
    assert_int_equal(refused("skl", "L2_LINES_IN,core=all"), UPMU_ERR_NO_SUCH_ATTRIBUTE);
    assert_int_equal(refused("core", "FRONTEND_RETIRED.DSB_MISS"), UPMU_ERR_NO_SUCH_EVENT);
}

/* ---- Payload registers ---- */

static unsigned ways(const char *pmu_name, const char *text, struct upmu_alternative *out)
{
    const struct upmu_pmu *pmu = pmu_named(pmu_name);
    struct upmu_event event = encoded(pmu_name, text);
    unsigned count = 0;

    while (count < 4 && pmu->backend->alternative(pmu, &event, 0, count, &out[count]))
        count++;
    return count;
}

static void an_offcore_event_runs_with_either_register_and_its_code(void **state)
{
    const struct upmu_pmu *skl = pmu_named("skl");
    struct upmu_event event = encoded("skl", "r1b7:offcore_rsp=0x10001");
    struct upmu_alternative how[4];
    static const uint8_t counter[UPMU_SLOTS] = { 1, UPMU_NO_COUNTER, UPMU_NO_COUNTER };

    (void)state;
    assert_int_equal(ways("skl", "r1b7:offcore_rsp=0x10001", how), 2);
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_step steps[UPMU_IMAGE_STEPS];
        struct upmu_image image = upmu_image_on(skl, steps, UPMU_IMAGE_STEPS);
        bool select = false, payload = false;

        assert_int_equal(how[i].slot_count, 1, i);
        assert_int_equal(how[i].slot[0].counters, 0xf, i);
        assert_int_equal(how[i].slot[0].resource_count, 1, i);
        assert_int_equal(how[i].slot[0].value[0], 0x10001, i);
        assert_string_equal(skl->backend->resource_name(skl, how[i].slot[0].resource[0]),
                            i ? "OFFCORE_RSP_1" : "OFFCORE_RSP_0");
        skl->backend->render(skl, &event, i, counter, 0, &image);
        for (unsigned k = 0; k < image.count; k++) {
            uint32_t address = upmu_register_address(skl, steps[k].row);

            select |= address == 0x187 && (image_value(&image, steps[k].row) & 0xffff) == (i ? 0x1bb : 0x1b7);
            payload |= address == (i ? 0x1A7u : 0x1A6u) && image_value(&image, steps[k].row) == 0x10001;
        }
        assert_true(select && payload);
    }
    assert_int_equal(ways("skl", "r1bb:offcore_rsp=0x10001", how), 2);
    assert_int_equal(how[0].slot[0].resource[0], 1);
    assert_int_equal(how[1].slot[0].resource[0], 0);
}

/* Words that an event writes in its i-th way, on general counter 0. */
static void words_of(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned i, uint64_t *out_select,
                     uint32_t *out_register, uint64_t *out_payload)
{
    static const uint8_t counter[UPMU_SLOTS] = {0, UPMU_NO_COUNTER, UPMU_NO_COUNTER};
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image = upmu_image_on(pmu, steps, UPMU_IMAGE_STEPS);

    *out_register = 0;
    pmu->backend->render(pmu, event, i, counter, 0, &image);
    for (unsigned k = 0; k < image.count; k++) {
        uint32_t address = upmu_register_address(pmu, steps[k].row);

        if (address == 0x186 || address == 0x1901) {
            *out_select = image_value(&image, steps[k].row) & 0xffff;
        } else if (address != 0x38f) {
            *out_register = address;
            *out_payload = image_value(&image, steps[k].row);
        }
    }
}

/*
 * Each of the four OMR registers goes with a bit of the unit mask; four such events run together.
 * Catches: a choice of registers that the placement is not told of.
 */
static void an_event_of_the_omr_registers_runs_with_each_of_the_four(void **state)
{
    static const char *const models[] = {"cyc", "ptc", "awf"};
    static const uint16_t codes[] = {0x01d6, 0x042a, 0x08b7};

    (void)state;
    for (unsigned m = 0; m < 3; m++) {
        struct upmu_event event;
        struct upmu_pmu pmu;
        char text[64];
        unsigned seen = 0;

        assert_int_equal(upmu_pmu_by_name(&pmu, models[m]), UPMU_OK, m);
        snprintf(text, sizeof text, "r%x:offcore_rsp=0x1", codes[m]);
        assert_int_equal(upmu_event_parse(&pmu, text, &event, NULL), UPMU_OK);
        for (unsigned i = 0; i < 4; i++) {
            struct upmu_alternative how;
            uint32_t address;
            uint64_t select, payload;

            assert_true(pmu.backend->alternative(&pmu, &event, 0, i, &how), i);
            words_of(&pmu, &event, i, &select, &address, &payload);
            assert_in_range(address, 0x3e0, 0x3e3);
            assert_int_equal(select, (codes[m] & 0xff) | 0x100u << (address - 0x3e0), m);
            assert_int_equal(payload, 1);
            assert_int_equal(how.slot[0].resource[0], pmu.backend->resource_name(&pmu, how.slot[0].resource[0])[4] -
                                                          '0' + UPMU_X86_RESOURCE_OMR0);
            if (i == 0)
                assert_int_equal(select, codes[m], m);
            seen |= 1u << (address & 3u);
        }
        assert_int_equal(seen, 0xf);
        assert_false(pmu.backend->alternative(&pmu, &event, 0, 4, &(struct upmu_alternative){.slot_count = 0}));
    }
}

/*
 * What one of two registers reserves is never written there: the event runs with the other alone, and a
 * named one begins with that.  Catches: a value held to one register's bits that goes into the other.
 */
static void a_value_goes_into_no_register_that_reserves_a_bit_of_it(void **state)
{
    static const struct {
        const char *pmu, *text;
        unsigned ways;
        uint32_t address;
    } cases[] = {
        {"knl", "r1b7:offcore_rsp=0x4000000001", 1, 0x1a6}, {"knl", "r2b7:offcore_rsp=0x14800", 1, 0x1a7},
        {"knl", "r2b7:offcore_rsp=0x10001", 2, 0x1a7},      {"knl", "OFFCORE_RESPONSE:offcore_rsp=0x14800", 1, 0x1a7},
        {"slm", "r1b7:offcore_rsp=0x4000000001", 1, 0x1a6}, {"tmt", "r1b7:offcore_rsp=0x8000000000000001", 1, 0x1a6},
    };

    struct upmu_event event;
    struct upmu_pmu pmu;

    (void)state;
    for (unsigned k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct upmu_alternative how;
        uint64_t select, payload;
        uint32_t address;
        unsigned ways = 0;

        assert_int_equal(upmu_pmu_by_name(&pmu, cases[k].pmu), UPMU_OK, k);
        assert_int_equal(upmu_event_parse(&pmu, cases[k].text, &event, NULL), UPMU_OK, k);
        while (pmu.backend->alternative(&pmu, &event, 0, ways, &how))
            ways++;
        assert_int_equal(ways, cases[k].ways, k);
        words_of(&pmu, &event, 0, &select, &address, &payload);
        assert_int_equal(address, cases[k].address, k);
        assert_int_equal(select, address == 0x1a6 ? 0x1b7 : 0x2b7);
    }
    assert_int_equal(upmu_pmu_by_name(&pmu, "knl"), UPMU_OK);
    assert_int_equal(upmu_event_parse(&pmu, "r1b7:offcore_rsp=0x14800", &event, NULL), UPMU_ERR_BAD_VALUE);
    assert_int_equal(upmu_event_parse(&pmu, "OFFCORE_RESPONSE:offcore_rsp=0x10", &event, NULL), UPMU_ERR_BAD_VALUE);
}

/*
 * Events whose published record lists several registers, one that is not the first, or a value that stands
 * for any.  Catches: an importer that takes the first of each list.
 */
static void records_with_lists_of_registers_have_their_words(void **state)
{
    static const struct {
        const char *pmu, *text;
        uint32_t select, address;
        uint64_t payload;
    } cases[] = {
        {"knl", "OFFCORE_RESPONSE.FULL_STREAMING_STORES.ANY_RESPONSE", 0x2b7, 0x1a7, 0x10800},
        {"knl", "OFFCORE_RESPONSE.PARTIAL_STREAMING_STORES.ANY_RESPONSE", 0x2b7, 0x1a7, 0x14000},
        {"knl", "OFFCORE_RESPONSE.PARTIAL_WRITES.DDR_FAR", 0x2b7, 0x1a7, 0x101000100},
        {"knl", "OFFCORE_RESPONSE.ANY_REQUEST.L2_MISS", 0x2b7, 0x1a7, 0x18001981e0},
        {"knl", "OFFCORE_RESPONSE.ANY_PF_L2.ANY_RESPONSE", 0x1b7, 0x1a6, 0x10060}, /* not the reserved bit 4 */
        {"knl", "OFFCORE_RESPONSE.ANY_DATA_RD.OUTSTANDING", 0x1b7, 0x1a6, 0x4000003081},
        {"cyc", "MEM_LOAD_L2_MISS_RETIRED.L3_MISS", 0x1d6, 0x3e0, 0xff03f000000001},
        {"dkt", "MEM_UOPS_RETIRED.LOAD_LATENCY", 0x5d0, 0x3f6, 3},
        {"dkt", "MEM_UOPS_RETIRED.LOAD_LATENCY:ldlat=50", 0x5d0, 0x3f6, 50},
        {"dkt", "MEM_UOPS_RETIRED.LOAD_LATENCY_GT_64", 0x5d0, 0x3f6, 64},
        {"cyc", "UOPS_EXECUTED.STALLS", 0x1b1, 0, 0},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct upmu_event event;
        struct upmu_pmu pmu;
        uint64_t select = 0, payload = 0;
        uint32_t address;

        assert_int_equal(upmu_pmu_by_name(&pmu, cases[i].pmu), UPMU_OK, i);
        if (upmu_event_parse(&pmu, cases[i].text, &event, NULL) != UPMU_OK)
            fail_msg("%s is refused", cases[i].text);
        words_of(&pmu, &event, 0, &select, &address, &payload);
        assert_int_equal(select, cases[i].select, i);
        assert_int_equal(address, cases[i].address, i);
        assert_int_equal(payload, cases[i].payload, i);
    }
}

static void other_events_run_in_one_way(void **state)
{
    struct upmu_alternative how[4];

    (void)state;
    assert_int_equal(ways("nhm", "r1b7:offcore_rsp=0x1", how), 1);
    assert_int_equal(ways("skl", "cycles", how), 1);
    assert_int_equal(how[0].slot[0].resource_count, 0);
    assert_int_equal(how[0].slot[0].counters, 0x2000f);
    assert_int_equal(ways("skl", "FRONTEND_RETIRED.DSB_MISS", how), 1);
    assert_int_equal(how[0].slot[0].value[0], 0x11);
    assert_string_equal(pmu_named("skl")->backend->resource_name(pmu_named("skl"), how[0].slot[0].resource[0]),
                        "FRONTEND");
    assert_int_equal(ways("nhm", "r100b:ldlat=9", how), 1);
    assert_int_equal(how[0].slot[0].value[0], 9);
}

static void payloads_are_held_to_the_registers_bits(void **state)
{
    (void)state;
    assert_int_equal(refused("skl", "r1b7:offcore_rsp=0x7000"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(refused("nhm", "r1b7:offcore_rsp=0x10000"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(refused("skl", "r1c6:frontend=0x8"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(refused("skl", "r1cd:ldlat=2"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(refused("skl", "r1cd:ldlat=3:ldlat=4"), UPMU_ERR_CONTRADICTION);
    assert_int_equal(refused("skl", "r1cd:ldlat=3:ldlat=3"), UPMU_OK);
    assert_int_equal(refused("skl", "r1cd:frontend=1"), UPMU_ERR_NO_SUCH_ATTRIBUTE);
    assert_int_equal(encoded("skl", "r1cd").config1, 3);
}

static void a_front_end_event_of_latency_takes_a_threshold(void **state)
{
    (void)state;
    assert_int_equal(encoded("skl", "FRONTEND_RETIRED:IDQ_2_BUBBLES").config1, 0x200106);
    assert_int_equal(encoded("skl", "FRONTEND_RETIRED:IDQ_2_BUBBLES:fe_thres=1").config1, 0x200106);
    assert_int_equal(encoded("skl", "FRONTEND_RETIRED:IDQ_2_BUBBLES:fe_thres=255").config1, 0x20ff06);
    assert_int_equal(encoded("skl", "FRONTEND_RETIRED.IDQ_1_BUBBLE:fe_thres=4095").config1, 0x1fff06);
    assert_int_equal(refused("skl", "FRONTEND_RETIRED:IDQ_2_BUBBLES:fe_thres=4096"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(refused("skl", "FRONTEND_RETIRED:IDQ_2_BUBBLES:fe_thres=0"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(refused("skl", "FRONTEND_RETIRED:IDQ_2_BUBBLES:fe_thres=2:fe_thres=3"), UPMU_ERR_CONTRADICTION);
    assert_int_equal(refused("skl", "FRONTEND_RETIRED:LATENCY_GE_16:fe_thres=2"), UPMU_ERR_CONTRADICTION);
    assert_int_equal(refused("skl", "FRONTEND_RETIRED:LATENCY_GE_16:fe_thres=16"), UPMU_OK);
    assert_int_equal(refused("skl", "FRONTEND_RETIRED:ITLB_MISS:fe_thres=2"), UPMU_ERR_NO_SUCH_ATTRIBUTE);
    assert_int_equal(refused("skl", "BR_INST_RETIRED:ALL_BRANCHES:fe_thres=2"), UPMU_ERR_NO_SUCH_ATTRIBUTE);
    assert_int_equal(refused("nhm", "r1c6:fe_thres=2"), UPMU_ERR_NO_SUCH_ATTRIBUTE);
}

static void equality_is_asked_for_where_leaf_23h_has_it(void **state)
{
    struct upmu_pmu lnc;
    struct upmu_event event;
    char text[64];

    (void)state;
    assert_int_equal(upmu_pmu_by_name(&lnc, "lnc"), UPMU_OK);
    assert_int_equal(upmu_event_parse(&lnc, "r3c:c=2:eq=1", &event, NULL), UPMU_OK);
    assert_true(event.config >> 36 & 1u);
    assert_int_equal(upmu_event_parse(&lnc, "cycles:c=2:eq:counter=0", &event, NULL), UPMU_OK);
    assert_true(event.config >> 36 & 1u);
    assert_compare(upmu_event_format(&lnc, &event, text, sizeof text), <, sizeof text);
    assert_non_null(strstr(text, ":eq=1"));
    assert_int_equal(upmu_event_parse(&lnc, text, &event, NULL), UPMU_OK);
    assert_true(event.config >> 36 & 1u);
    assert_int_equal(upmu_event_parse(&lnc, "cycles:eq=2", &event, NULL), UPMU_ERR_BAD_VALUE);
    assert_int_equal(refused("skl", "r3c:c=2:eq=1"), UPMU_ERR_NO_SUCH_ATTRIBUTE);
}

/* ---- Explanations ---- */

static const char *explained(const struct upmu_why *why)
{
    static char text[400];

    assert_compare(upmu_why_text(why, text, sizeof text), <, sizeof text);
    return text;
}

static struct upmu_why collision(enum upmu_collision kind, uint32_t counters, const char *const *events, unsigned count)
{
    struct upmu_why why;

    memset(&why, 0, sizeof why);
    why.status = UPMU_ERR_DOES_NOT_FIT;
    why.collision = kind;
    why.pmu = pmu_named("skl");
    why.counters = counters;
    why.culprits = (1u << count) - 1u;
    for (unsigned i = 0; i < count && i < UPMU_WHY_CULPRITS; i++) {
        why.culprit[i] = encoded("skl", events[i]).id;
        why.culprit_count++;
    }
    return why;
}

static void collisions_are_explained_in_one_line(void **state)
{
    static const char *const pending[] = { "L1D_PEND_MISS.PENDING", "L1D_PEND_MISS.PENDING_CYCLES" };
    static const char *const many[] = { "BACLEARS.ANY", "LONGEST_LAT_CACHE.MISS", "DTLB_LOAD_MISSES.WALK_COMPLETED",
                                        "ITLB_MISSES.WALK_COMPLETED", "r1c2" };
    struct upmu_why why = collision(UPMU_COLLISION_COUNTERS, 0x4, pending, 2);

    (void)state;
    assert_string_equal(explained(&why),
                        "L1D_PEND_MISS.PENDING and L1D_PEND_MISS.PENDING_CYCLES both need counter 2");
    why = collision(UPMU_COLLISION_RESOURCE, 0, pending, 2);
    why.resource = 0;
    assert_string_equal(
        explained(&why),
        "L1D_PEND_MISS.PENDING and L1D_PEND_MISS.PENDING_CYCLES need OFFCORE_RSP_0 with different values");
    why = collision(UPMU_COLLISION_RESOURCE, 0, pending, 1);
    why.resource = 3;
    assert_string_equal(explained(&why), "L1D_PEND_MISS.PENDING needs FRONTEND, which holds another value");
    why = collision(UPMU_COLLISION_COUNTERS, 0xf, many, 5);
    assert_string_equal(explained(&why), "5 events for 4 counters (PMC0-PMC3): BACLEARS.ANY, LONGEST_LAT_CACHE.MISS, "
                                         "DTLB_LOAD_MISSES.WALK_COMPLETED, ITLB_MISSES.WALK_COMPLETED, a raw event");
    why = collision(UPMU_COLLISION_COUNTERS, 0x20000, pending, 2);
    assert_string_equal(explained(&why), "L1D_PEND_MISS.PENDING and L1D_PEND_MISS.PENDING_CYCLES both need FIXED1");
    why = collision(UPMU_COLLISION_CLAIMED, 0x1000c, pending, 1);
    assert_string_equal(explained(&why), "L1D_PEND_MISS.PENDING needs PMC2-PMC3, FIXED0, in use by others");
    why = collision(UPMU_COLLISION_LIMIT, 0x3, many, 3);
    assert_string_equal(explained(&why), "3 events for 2 usable counters (PMC0-PMC1): BACLEARS.ANY, "
                                         "LONGEST_LAT_CACHE.MISS, DTLB_LOAD_MISSES.WALK_COMPLETED");
    why.culprits = 0xfff;
    assert_non_null(strstr(explained(&why), "12 events for"));
    assert_non_null(strstr(explained(&why), "WALK_COMPLETED, ..."));
}

static void refusals_without_an_event_are_explained_by_their_status(void **state)
{
    struct upmu_why why;
    char small[8];

    (void)state;
    memset(&why, 0, sizeof why);
    why.status = UPMU_ERR_PORT;
    why.address = 0x38F;
    assert_string_equal(explained(&why), "register access faulted: register 0x38f");
    why.address = 0;
    why.status = UPMU_ERR_STATE;
    assert_string_equal(explained(&why), "not possible in this state");
    memset(small, '#', sizeof small);
    assert_int_equal(upmu_why_text(&why, small, 4), 26);
    assert_string_equal(small, "not");
    assert_int_equal(small[4], '#');
}

static void every_status_has_words_of_its_own(void **state)
{
    (void)state;
    for (int a = 0; a < 80; a++)
        for (int b = 0; b < a; b++) {
            const char *text = upmu_status_text((enum upmu_status)a);

            if (strcmp(text, "unknown status") != 0 &&
                strcmp(text, upmu_status_text((enum upmu_status)b)) == 0)
                fail_msg("%d and %d are both \"%s\"", a, b, text);
        }
    assert_string_equal(upmu_status_text(UPMU_ERR_NO_SUCH_EVENT), "no such event");
    assert_string_equal(upmu_status_text((enum upmu_status)11), "unknown status");
}

static void counters_have_names(void **state)
{
    char text[16];

    (void)state;
    assert_int_equal(upmu_counter_text(pmu_named("skl"), 3, text, sizeof text), 4);
    assert_string_equal(text, "PMC3");
    upmu_counter_text(pmu_named("skl"), UPMU_FIXED_COUNTER(1), text, sizeof text);
    assert_string_equal(text, "FIXED1");
}

/* ---- Random text ---- */

static uint32_t seed;

static uint32_t roll(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(seed >> 8) * below >> 24);
}

static void random_text_never_harms_and_refusals_change_nothing(void **state)
{
    static const char *const pieces[] = {
        "cycles", "instructions", "L2_LD", "OFFCORE_RESPONSE", "raw", "r", "3c", ":", ":", ",", "=", ":config=0x",
        "M_STATE", "core=all", ":umask=", "ANY", ":c=", "2", "0x", "ff", ":e=1", ":u", ":counter=", "cachestate=m+e",
        ":ldlat=", ":offcore_rsp=", "/", "cpu/", "skl::", "event=", " ", "L3_HIT", ".", "_", "mask=", "+", ":uk",
        ":precise", "1 ", "18446744073709551616", "MEM_TRANS_RETIRED.LOAD_LATENCY", "INST_RETIRED", "\x80", ":c=3:c=2",
        "L2_LD:SELF:BOTH_CORES",
    };
    unsigned good = 0, by_status[128] = { 0 }, rounds = share_of("texts", 20000, 1, 2);

    (void)state;
    seed = 9;
    for (unsigned round = 0; round < rounds; round++) {
        const struct upmu_pmu *pmu = &pmus[roll(PMUS)];
        struct upmu_event event, before;
        struct upmu_why why;
        char text[512], *exact, line[300];
        size_t length = 0;
        enum upmu_status status;

        for (uint32_t i = 1 + roll(7); i > 0; i--) {
            const char *piece = pieces[roll(sizeof pieces / sizeof pieces[0])];

            memcpy(text + length, piece, strlen(piece));
            length += strlen(piece);
        }
        text[length] = '\0';
        exact = malloc(length + 1);
        assert_non_null(exact);
        memcpy(exact, text, length + 1);
        memset(&event, 0x5a, sizeof event);
        before = event;
        status = upmu_event_parse(pmu, exact, &event, &why);
        by_status[status]++;
        if (status != UPMU_OK) {
            assert_memory_equal(&event, &before, sizeof event);
            assert_int_equal(why.status, status);
            assert_compare(why.position + why.length, <=, length);
            assert_compare(upmu_why_text(&why, line, sizeof line), >, 0);
        } else {
            assert_true(event.counters && !(event.counters & ~pmu->counters));
            assert_true(round_trips(pmu, exact));
            good++;
        }
        free(exact);
    }
    assert_compare(good, >, rounds / 100);
    for (unsigned i = UPMU_ERR_SYNTAX; i <= UPMU_ERR_MASKS_EXCLUSIVE; i++)
        if (i != UPMU_ERR_MASK_REQUIRED && !by_status[i])
            fail_msg("status %u never seen", i);
}

/* ---- Unit masks in any order ---- */

#define TOGETHER 6u

/* Texts of a row with masks that it takes together, in the order of the row and backwards; how many masks. */
static unsigned write_masks(const struct upmu_pmu *pmu, unsigned row, unsigned masks, char *forwards, char *backwards,
                            size_t size)
{
    char name[UPMU_CATALOG_NAME], mask[UPMU_CATALOG_NAME], tried[800], tail[600] = "";
    struct upmu_event event;
    unsigned count = 0;

    upmu_catalog_row_name(pmu->catalog, row, name, sizeof name);
    snprintf(forwards, size, "%s", name);
    for (unsigned i = 0; i < masks && count < TOGETHER; i++) {
        enum upmu_status status;

        upmu_catalog_mask_name(pmu->catalog, row, i, mask, sizeof mask);
        snprintf(tried, sizeof tried, "%s:%s", forwards, mask);
        status = upmu_event_parse(pmu, tried, &event, NULL);
        if (status != UPMU_OK && status != UPMU_ERR_MASK_REQUIRED)
            continue;
        assert_compare(snprintf(forwards, size, "%s", tried), <, (int)size);
        snprintf(tried, sizeof tried, ":%s%s", mask, tail);
        memcpy(tail, tried, sizeof tail);
        count++;
    }
    assert_compare(snprintf(backwards, size, "%s%s", name, tail), <, (int)size);
    return count;
}

/*
 * Masks are looked up with the event if they stand in the order of the row, and one by one if not: a mask that is
 * lost or another one there makes another event.
 */
static void unit_masks_in_any_order_are_the_same_event(void **state)
{
    char forwards[600], backwards[600];
    unsigned compared = 0;
    const char *name;

    (void)state;
    for (unsigned k = 0; (name = upmu_pmu_known(k)) != NULL; k++) {
        static struct upmu_pmu pmu;
        struct upmu_event one, other;
        struct upmu_row row;

        if (upmu_pmu_by_name(&pmu, name) != UPMU_OK || !pmu.catalog)
            continue;
        for (unsigned i = 0; upmu_catalog_row(pmu.catalog, i, &row); i++) {
            if (row.mask_count < 3 || write_masks(&pmu, i, row.mask_count, forwards, backwards, sizeof forwards) < 3 ||
                upmu_event_parse(&pmu, forwards, &one, NULL) != UPMU_OK)
                continue;
            if (upmu_event_parse(&pmu, backwards, &other, NULL) != UPMU_OK || memcmp(&one, &other, sizeof one) != 0)
                fail_msg("%s: %s is not %s", name, backwards, forwards);
            compared++;
            memcpy(backwards + strlen(backwards), ":SLARTIBARTFAST", sizeof ":SLARTIBARTFAST");
            assert_int_equal(upmu_event_parse(&pmu, backwards, &other, NULL), UPMU_ERR_NO_SUCH_MASK);
        }
    }
    printf("%u events\n", compared);
    assert_compare(compared, >, 200);
}

/*
 * Linux calls the offcore responses of Nehalem and its like without the number that Intel's files have: composed names
 * and flat ones.
 */
static void offcore_responses_have_linuxs_names_too(void **state)
{
    static const char *const models[] = {"nhm", "nhm_ex", "wsm_ex"};

    (void)state;
    for (unsigned i = 0; i < sizeof models / sizeof models[0]; i++) {
        char name[UPMU_CATALOG_NAME], linuxs[UPMU_CATALOG_NAME];
        static struct upmu_pmu pmu;
        struct upmu_event one, other;
        struct upmu_event_id id;
        unsigned compared = 0;
        uint32_t cursor = 0;
        bool alias;

        assert_int_equal(upmu_pmu_by_name(&pmu, models[i]), UPMU_OK, i);
        while (upmu_catalog_next(pmu.catalog, "OFFCORE_RESPONSE_0.*", &cursor, &id, name, sizeof name, &alias) ==
               UPMU_OK) {
            snprintf(linuxs, sizeof linuxs, "OFFCORE_RESPONSE%s", name + strlen("OFFCORE_RESPONSE_0"));
            assert_int_equal(upmu_event_parse(&pmu, name, &one, NULL), UPMU_OK);
            if (upmu_event_parse(&pmu, linuxs, &other, NULL) != UPMU_OK || memcmp(&one, &other, sizeof one) != 0)
                fail_msg("%s: %s is not %s", models[i], linuxs, name);
            compared++;
        }
        assert_compare(compared, >, 100);
    }
}

/* A listed name that begins like an event with one of its masks is found behind no fewer parts. */
static void a_longer_name_wins_over_an_event_with_masks(void **state)
{
    struct upmu_event one, other;
    static struct upmu_pmu pmu;

    (void)state;
    assert_int_equal(upmu_pmu_by_name(&pmu, "clx"), UPMU_OK);
    assert_int_equal(upmu_event_parse(&pmu, "OFFCORE_RESPONSE.PF_L3_RFO.L3_HIT.SNOOP_HIT_WITH_FWD:u", &one, NULL),
                     UPMU_OK);
    assert_int_equal(upmu_event_parse(&pmu, "OFFCORE_RESPONSE:PF_L3_RFO:L3_HIT:SNOOP_HIT_WITH_FWD:u", &other, NULL),
                     UPMU_OK);
    assert_memory_equal(&one, &other, sizeof one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_golden_specification_encodes_as_recorded),
        cmocka_unit_test(every_example_of_the_manual_is_a_golden_row),
        cmocka_unit_test(every_event_with_every_attribute_encodes_again_as_written),
        cmocka_unit_test(every_name_can_be_encoded_and_keeps_its_id),
        cmocka_unit_test(raw_words_are_written_so_that_they_encode_again),
        cmocka_unit_test(a_short_buffer_gets_what_fits_of_an_event),
        cmocka_unit_test(both_privileges_are_counted_unless_one_is_named),
        cmocka_unit_test(gate_and_interrupt_bits_are_never_part_of_an_event),
        cmocka_unit_test(equal_spellings_give_equal_events),
        cmocka_unit_test(raw_words_are_held_to_what_a_session_may_set),
        cmocka_unit_test(in_tx_and_anythread_need_a_pmu_that_has_them),
        cmocka_unit_test(architectural_events_need_their_bit_in_cpuid),
        cmocka_unit_test(a_models_own_events_need_a_cpuid_bit_under_a_hypervisor),
        cmocka_unit_test(without_a_catalogue_raw_words_still_encode),
        cmocka_unit_test(a_modifier_takes_an_event_off_its_fixed_counter),
        cmocka_unit_test(checkpointed_counting_is_for_counter_two_only),
        cmocka_unit_test(the_event_file_narrows_what_the_constraints_allow),
        cmocka_unit_test(constraints_hold_on_each_model),
        cmocka_unit_test(a_leading_index_is_held_to_the_counters_of_the_events_class),
        cmocka_unit_test(each_fixed_counter_takes_its_own_event_only),
        cmocka_unit_test(freebsd_specifications_are_names_with_tags_and_values),
        cmocka_unit_test(general_events_exist_on_every_model_and_others_are_its_own),
        cmocka_unit_test(an_offcore_event_runs_with_either_register_and_its_code),
        cmocka_unit_test(an_event_of_the_omr_registers_runs_with_each_of_the_four),
        cmocka_unit_test(a_value_goes_into_no_register_that_reserves_a_bit_of_it),
        cmocka_unit_test(records_with_lists_of_registers_have_their_words),
        cmocka_unit_test(other_events_run_in_one_way),
        cmocka_unit_test(payloads_are_held_to_the_registers_bits),
        cmocka_unit_test(a_front_end_event_of_latency_takes_a_threshold),
        cmocka_unit_test(equality_is_asked_for_where_leaf_23h_has_it),
        cmocka_unit_test(collisions_are_explained_in_one_line),
        cmocka_unit_test(refusals_without_an_event_are_explained_by_their_status),
        cmocka_unit_test(every_status_has_words_of_its_own),
        cmocka_unit_test(counters_have_names),
        cmocka_unit_test(random_text_never_harms_and_refusals_change_nothing),
        cmocka_unit_test(unit_masks_in_any_order_are_the_same_event),
        cmocka_unit_test(offcore_responses_have_linuxs_names_too),
        cmocka_unit_test(a_longer_name_wins_over_an_event_with_masks),
    };

    return cmocka_run_group_tests_name("encode", tests, describe_all, NULL);
}
