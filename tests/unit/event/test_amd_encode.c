/* SPDX-License-Identifier: MIT */
/*
 * AMD's events: each bit of the select register, what is refused, generic names, and
 * what is loaded for host, guest, pairs and erratum 1292.
 */
#include <stdio.h>

#include "core/util/bits.h"
#include "core/hw/register.h"
#include "tests/common/amd_leaves.h"
#include "tests/common/steps.h"

enum { K7, K8, F10H, F11H, F15H, F16H, ZEN1, ZEN2, ZEN3, ZEN4, ZEN5, MODELS };
static struct upmu_pmu amd[MODELS];

static int describe_models(void **state)
{
    static const char *const names[MODELS] = {"amd64_k7",
                                              "amd64_k8_revf",
                                              "amd64_fam10h_shanghai",
                                              "amd64_fam11h_turion",
                                              "amd64_fam15h_interlagos",
                                              "amd64_fam16h",
                                              "amd64_fam17h_zen1",
                                              "amd64_fam17h_zen2",
                                              "amd64_fam19h_zen3",
                                              "amd64_fam19h_zen4",
                                              "amd64_fam1ah_zen5"};

    (void)state;
    for (unsigned i = 0; i < MODELS; i++)
        if (upmu_pmu_by_name(&amd[i], names[i]) != UPMU_OK)
            return 1;
    return 0;
}

static enum upmu_status raw(const struct upmu_pmu *pmu, uint64_t word, struct upmu_event *out_event)
{
    return upmu_event_raw(pmu, word, 0, 0, out_event);
}

/* What a select register gets for an event on a counter. */
static uint64_t rendered(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned counter, unsigned flags)
{
    uint8_t counters[UPMU_SLOTS] = {(uint8_t)counter, UPMU_NO_COUNTER, UPMU_NO_COUNTER};
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image = upmu_image_on(pmu, steps, UPMU_IMAGE_STEPS);
    unsigned row = pmu->counter[counter].select_row;

    if (event->attributes & UPMU_ATTR_WIDE)
        counters[1] = (uint8_t)(counter + 1);
    pmu->backend->render(pmu, event, 0, counters, flags, &image);
    assert_int_not_equal(image_mask(&image, row), 0);
    /* (Enable bits are not an image's.) */
    return image_value(&image, row) | upmu_register_class_of(pmu, row)->gates;
}

static struct upmu_event made(unsigned model, const char *text)
{
    struct upmu_event event;
    struct upmu_why why;
    char words[200];

    if (upmu_event_parse(&amd[model], text, &event, &why) != UPMU_OK) {
        (void)upmu_why_text(&why, words, sizeof words);
        fail_msg("%s: %s", text, words);
    }
    return event;
}

static enum upmu_status refused(unsigned model, const char *text)
{
    struct upmu_event event;

    return upmu_event_parse(&amd[model], text, &event, NULL);
}

/*
 * The Athlon example: selects C0010000h to C0010003h, counters C0010004h to C0010007h, and
 * each field of the select where AMD has it (22007 appendix D).
 * What shows which row: MX-051: counters is 0xf.  MX-064, MX-065: the two addresses.  In `fields`: MX-053 event
 * 0xc1, MX-054 umask, MX-055 usr, MX-056 os, MX-057 edge, MX-058 pc, MX-062 inv, MX-063 cmask.  rendered(): MX-061
 * bit 22, MX-059 bit 20.
 */
static void an_athlon_has_four_selects_with_each_bit_in_its_place(void **state)
{
    static const struct {
        const char *text;
        uint64_t word;
    } fields[] = {
        {"cpu/event=0xc1,u=1,k=1/", 0x300c1},    {"cpu/event=0x42,umask=0x1f,u=1,k=1/", 0x31f42},
        {"cpu/event=0xc1,usr/", 0x100c1},        {"cpu/event=0xc1,os/", 0x200c1},
        {"cpu/event=0xc1,edge/", 0x700c1},       {"cpu/event=0xc1,pc=1/", 0xb00c1},
        {"cpu/event=0xc1,inv=1/", 0x8300c1},     {"cpu/event=0xc1,cmask=0xff/", 0xff0300c1},
        {"cpu/event=0xc1,count=3/", 0x030300c1}, {"cpu/event=0x40,u=1,k=0/", 0x10040},
    };

    (void)state;
    assert_int_equal(amd[K7].counters, 0xf);
    for (unsigned n = 0; n < 4; n++) {
        assert_int_equal(upmu_register_address(&amd[K7], amd[K7].counter[n].select_row), 0xc0010000 + n, n);
        assert_int_equal(upmu_register_address(&amd[K7], amd[K7].counter[n].value_row), 0xc0010004 + n, n);
    }
    for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        struct upmu_event event = made(K7, fields[i].text);

        if (event.config != fields[i].word)
            fail_msg("%s: %llx", fields[i].text, (unsigned long long)event.config);
        for (unsigned n = 0; n < 4; n++) {
            assert_int_equal(rendered(&amd[K7], &event, n, 0), fields[i].word | 1u << 22, n, i);
            assert_int_equal(rendered(&amd[K7], &event, n, UPMU_RENDER_INTERRUPT),
                             fields[i].word | 1u << 22 | 1u << 20, n, i);
        }
    }
}

/* Enable and interrupt are the library's and are ignored; bits that a register lacks are refused. */
static void every_raw_bit_is_taken_or_refused_as_the_family_has_it(void **state)
{
    static const uint64_t exist[MODELS] = {0xffdfffff,
                                           0xffdfffff,
                                           UINT64_C(0x30fffd7ffff),
                                           UINT64_C(0xfffd7ffff),
                                           UINT64_C(0x30fffd7ffff),
                                           UINT64_C(0x30fffd7ffff),
                                           UINT64_C(0x30fffd7ffff),
                                           UINT64_C(0x30fffd7ffff),
                                           UINT64_C(0x30fffd7ffff),
                                           UINT64_C(0x30fffd7ffff),
                                           UINT64_C(0x30fffd7ffff)};

    (void)state;
    for (unsigned model = 0; model < MODELS; model++)
        for (unsigned bit = 0; bit < 64; bit++) {
            struct upmu_event event;
            enum upmu_status status = raw(&amd[model], UINT64_C(0x300c1) ^ UINT64_C(1) << bit, &event);

            if (!(exist[model] >> bit & 1))
                assert_int_equal(status, UPMU_ERR_NOT_PERMITTED);
            else if (status == UPMU_OK)
                assert_int_equal(event.config, (UINT64_C(0x300c1) ^ UINT64_C(1) << bit) & ~UINT64_C(0x500000));
            else /* a code that family 15h counts nowhere */
                assert_true(status == UPMU_ERR_DOES_NOT_FIT || status == UPMU_ERR_UNSUPPORTED);
        }
    assert_int_equal(upmu_event_raw(&amd[ZEN4], 0xc0, 1, 0, &(struct upmu_event){.pin = 0}), UPMU_ERR_NOT_PERMITTED);
    assert_int_equal(upmu_event_raw(&amd[ZEN4], 0xc0, 0, 1, &(struct upmu_event){.pin = 0}), UPMU_ERR_NOT_PERMITTED);
}

/* Bits 11:8 of an event stand at 35:32 (not at 43:40, as illumos had them). */
static void event_bits_11_to_8_stand_at_35_to_32(void **state)
{
    (void)state;
    assert_int_equal(made(F10H, "cpu/event=0x4e1,umask=0xf3/").config, UINT64_C(0x40003f3e1));
    assert_int_equal(made(ZEN4, "cpu/event=0x120,umask=1/").config, UINT64_C(0x100030120));
    assert_int_equal(refused(K8, "cpu/event=0x1e0/"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(refused(F10H, "cpu/event=0x1000/"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(made(ZEN2, "raw:config=0x1000301c0").config, UINT64_C(0x1000301c0));
}

static void neither_privilege_means_both_and_raw_words_keep_theirs(void **state)
{
    struct upmu_event event;

    (void)state;
    assert_int_equal(raw(&amd[ZEN2], 0xc0, &event), UPMU_OK);
    assert_int_equal(event.config, 0x300c0);
    assert_int_equal(raw(&amd[ZEN2], 0x200c0, &event), UPMU_OK);
    assert_int_equal(event.config, 0x200c0);
    assert_int_equal(event.attributes, UPMU_ATTR_RAW | UPMU_ATTR_OS);
    assert_int_equal(refused(ZEN2, "cpu/event=0xc0,u=0,k=0/"), UPMU_ERR_CONTRADICTION);
    assert_int_equal(refused(ZEN2, "cpu/event=0xc0,u=2/"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(refused(ZEN2, "cpu/event=0xc0,c=256/"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(refused(ZEN2, "cpu/event=0xc0,pc=1/"), UPMU_ERR_NO_SUCH_ATTRIBUTE);
    assert_int_equal(refused(ZEN2, "cpu/event=0xc0,c=1,c=2/"), UPMU_ERR_CONTRADICTION);
    assert_int_equal(refused(ZEN2, "cpu/event=0xc0,any/"), UPMU_ERR_NO_SUCH_ATTRIBUTE);
}

/* The session's world stands for the bits. */
static void families_without_the_bits_note_the_world(void **state)
{
    (void)state;
    assert_int_equal(made(K8, "cpu/event=0xc0,h=1/").world, UPMU_WORLD_HOST);
    assert_int_equal(made(F11H, "cpu/event=0xc0,g=1/").world, UPMU_WORLD_GUEST);
    assert_int_equal(made(F11H, "cpu/event=0xc0,g=1,h=1/").world, UPMU_WORLD_BOTH);
    assert_int_equal(made(K8, "cpu/event=0xc0,g=1/").config, 0x300c0);
    assert_int_equal(made(ZEN4, "cpu/event=0xc0,g=1/").world, UPMU_WORLD_BOTH);
    assert_int_equal(refused(K8, "cpu/event=0xc0,h=2/"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(refused(K8, "cpu/event=0xc0,h=1,h=0/"), UPMU_ERR_CONTRADICTION);
}

/*
 * APM table 13-4: with EFER.SVME = 0 either bit stops the counter, and both mean both:
 * host alone is loaded once SVM is on, both are neither.
 */
static void guest_and_host_are_loaded_so_that_they_count(void **state)
{
    struct upmu_pmu on = amd[ZEN4];

    (void)state;
    on.quirks |= UPMU_AMD_SVME;
    for (unsigned bits = 0; bits < 4; bits++) {
        struct upmu_event event;
        uint64_t word = UINT64_C(0x300c0) | (uint64_t)bits << 40;

        assert_int_equal(raw(&amd[ZEN4], word, &event), UPMU_OK);
        assert_int_equal(event.config >> 40, bits == 3 ? 0 : bits);
        assert_int_equal(rendered(&on, &event, 0, 0) >> 40, bits == 3 ? 0 : bits);
        assert_int_equal(rendered(&amd[ZEN4], &event, 0, 0) >> 40, bits == 1);
    }
    assert_int_equal(made(ZEN4, "cpu/event=0xc0,h=1/").config, UINT64_C(0x200000300c0));
    assert_int_equal(made(ZEN4, "cpu/event=0xc0,g=1/").config, UINT64_C(0x100000300c0));
}

/* Linux arch/x86/events/amd/core.c, amd_pmu_event_map and those of Zen. */
static void generic_names_stand_for_what_linux_counts(void **state)
{
    static const struct {
        const char *name;
        uint64_t word[5]; /* K8 … 16h, Zen, Zen 2 and 3, Zen 4 and 5, K7; 0: none */
    } names[] = {
        {"cycles", {0x76, 0x76, 0x76, 0x76, 0x76}},
        {"instructions", {0xc0, 0xc0, 0xc0, 0xc0, 0xc0}},
        {"branches", {0xc2, 0xc2, 0xc2, 0xc2, 0xc2}},
        {"branch-misses", {0xc3, 0xc3, 0xc3, 0xc3, 0xc3}},
        {"cache-references", {0x77d, 0xff60, 0xff60, 0xff60}},
        {"cache-misses", {0x77e, 0x964, 0x964, 0x964}},
        {"stalled-cycles-frontend", {0xd0, 0x287, 0xa9, 0xa9, 0xd0}},
        {"stalled-cycles-backend", {0xd1, 0x187, 0, 0, 0xd1}},
        {"ref-cycles", {0, 0, 0, UINT64_C(0x100000120)}},
    };
    static const uint8_t columns[MODELS] = {4, 0, 0, 0, 0, 0, 1, 2, 2, 3, 3};
    const struct upmu_catalog *architectural = upmu_catalog_find("ix86arch");

    (void)state;
    for (unsigned model = 0; model < MODELS; model++)
        for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
            uint64_t word = names[i].word[columns[model]];
            struct upmu_pmu pmu = amd[model];
            struct upmu_event event;

            /* By its own catalogue, and by the architectural one, which a model without has. */
            for (unsigned own = 0; own < 2; own++) {
                enum upmu_status status;

                if (!own)
                    pmu.catalog = architectural;
                else
                    pmu.catalog = amd[model].catalog;
                status = upmu_event_parse(&pmu, names[i].name, &event, NULL);
                if (!word)
                    assert_int_equal(status, own ? UPMU_ERR_NO_SUCH_EVENT : UPMU_ERR_UNSUPPORTED);
                else if (status != UPMU_OK || event.config != (word | 0x30000))
                    fail_msg("%s on %s (%u): %d, %llx", names[i].name, pmu.name, own, status,
                             (unsigned long long)event.config);
            }
        }
}

/* FreeBSD 10.4 lib/libpmc: pmc.k7.3, pmc.k8.3. */
static void freebsds_specifications_are_taken(void **state)
{
    static const struct {
        unsigned model;
        const char *text;
        uint64_t word;
    } specifications[] = {
        {K8, "k8-dc-refill-from-l2,mask=modified+owner", 0x31842},
        {K8, "k8-dc-refill-from-l2,mask=modified+owner,usr", 0x11842},
        {K8, "k8-bu-fill-into-l2,mask=dirty-l2-victim,os", 0x2017f},
        {K8, "k8-fr-retired-x86-instructions,count=2,inv,edge", 0x028700c0},
        {K8, "2 k8-dc-miss", 0x30041},
        {K7, "k7-dc-refills-from-l2,unitmask=m+o", 0x31842},
        {K7, "k7-dc-refills-from-l2,unitmask=mo+e", 0x31c42},
        {K7, "k7-dc-refills-from-l2", 0x31f42},
        {K7, "k7-retired-instructions,count=1,usr", 0x010100c0},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof specifications / sizeof specifications[0]; i++) {
        struct upmu_event event = made(specifications[i].model, specifications[i].text);

        if (event.config != specifications[i].word)
            fail_msg("%s: %llx", specifications[i].text, (unsigned long long)event.config);
    }
    assert_int_equal(refused(K7, "k7-dc-refills-from-l2,unitmask=m+x"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(refused(K7, "k7-dc-accesses,unitmask=m"), UPMU_ERR_NO_SUCH_ATTRIBUTE);
    assert_int_equal(refused(K8, "k8-dc-miss,mask=modified"), UPMU_ERR_NO_SUCH_ATTRIBUTE);
}

/* libpfm4 4.13 amd64_events_k8.h, amd64_events_fam10h.h: what revisions lack. */
static void revisions_lack_what_came_later(void **state)
{
    static const char *const k8[] = {"amd64_k8_revb", "amd64_k8_revc", "amd64_k8_revd",
                                     "amd64_k8_reve", "amd64_k8_revf", "amd64_k8_revg"};
    static const char *const k10[] = {"amd64_fam10h_barcelona", "amd64_fam10h_shanghai", "amd64_fam10h_istanbul"};
    struct upmu_event event;
    struct upmu_pmu pmu;

    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(upmu_pmu_by_name(&pmu, k8[i]), UPMU_OK, i);
        assert_int_equal(upmu_event_parse(&pmu, "CACHE_BLOCK", &event, NULL), i < 3 ? UPMU_ERR_UNSUPPORTED : UPMU_OK,
                         i);
        assert_int_equal(upmu_event_parse(&pmu, "PROBE:ALL", &event, NULL), UPMU_OK);
        assert_int_equal(event.config, i < 2 ? 0x33fec : 0x37fec, i);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(upmu_pmu_by_name(&pmu, k10[i]), UPMU_OK, i);
        assert_int_equal(upmu_event_parse(&pmu, "IBS_OPS_TAGGED", &event, NULL), i ? UPMU_OK : UPMU_ERR_UNSUPPORTED, i);
    }
}

static void an_unknown_family_has_raw_words_and_what_all_families_count(void **state)
{
    struct amd_leaves leaves = {.family = 0x1c, .features = AMD_PERFCTR_CORE, .perfmon = {AMD_V2, 6}};
    struct upmu_pmu pmu;
    struct upmu_event event;

    (void)state;
    assert_true(amd_leaves_detect(&leaves, &pmu));
    pmu.catalog = upmu_catalog_find("ix86arch");
    assert_int_equal(upmu_event_parse(&pmu, "branches:u", &event, NULL), UPMU_OK);
    assert_int_equal(event.config, 0x100c2);
    assert_int_equal(upmu_event_parse(&pmu, "cache-misses", &event, NULL), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_event_parse(&pmu, "raw:config=0x1003ff64", &event, NULL), UPMU_OK);
    assert_int_equal(event.counters, 0x3f);
}

static void canonical_text_is_the_event_again(void **state)
{
    static const char *const texts[] = {
        "instructions:u",
        "instructions:k:e:c=3",
        "cycles:i:c=1",
        "cycles:h",
        "cycles:g:counter=2",
        "raw:config=0x100c0",
        "cpu/event=0x1c0,umask=2/",
        "raw:config=0x200000300c0",
    };

    (void)state;
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct upmu_event event = made(ZEN2, texts[i]), again;
        char text[100];

        assert_compare(upmu_event_format(&amd[ZEN2], &event, text, sizeof text), <, sizeof text);
        again = made(ZEN2, text);
        assert_memory_equal(&event, &again, sizeof event);
    }
}

/* MX-003: the row index of a K8 counter is 0 to 3. */
static void a_counter_is_chosen_by_its_number(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 8; n++) {
        char text[40];

        (void)snprintf(text, sizeof text, "cycles:counter=%u", n);
        if (n < 4)
            assert_int_equal(made(K8, text).counters, 1u << n, n);
        else
            assert_int_equal(refused(K8, text), UPMU_ERR_BAD_VALUE);
        (void)snprintf(text, sizeof text, "%u cycles", n);
        if (n < 4)
            assert_int_equal(made(K8, text).counters, 1u << n, n);
        else
            assert_int_equal(refused(K8, text), UPMU_ERR_BAD_VALUE);
    }
    assert_int_equal(refused(F15H, "cpu/event=0x76,counter=4/"), UPMU_ERR_DOES_NOT_FIT);
}

/* Linux amd/core.c: 003h counts on an even counter, the next one holds F004000FFh. */
static void a_wide_event_takes_an_even_counter_and_the_merge_event(void **state)
{
    struct upmu_alternative way;
    struct upmu_event event;

    (void)state;
    for (unsigned model = ZEN1; model < MODELS; model++) {
        assert_int_equal(raw(&amd[model], 0xff03, &event), UPMU_OK, model);
        assert_true(event.attributes & UPMU_ATTR_WIDE);
        assert_int_equal(event.counters, 0x15);
        assert_true(amd[model].backend->alternative(&amd[model], &event, 0, 0, &way), model);
        assert_int_equal(way.slot_count, 2);
        assert_int_equal(way.slot[0].counters, 0x15);
        assert_int_equal(way.slot[1].counters, 0x2a);
        assert_false(amd[model].backend->alternative(&amd[model], &event, 0, 1, &way), model);
        for (unsigned n = 0; n < 6; n += 2) {
            uint8_t counters[UPMU_SLOTS] = {(uint8_t)n, (uint8_t)(n + 1), UPMU_NO_COUNTER};
            struct upmu_step steps[UPMU_IMAGE_STEPS];
            struct upmu_image image = upmu_image_on(&amd[model], steps, UPMU_IMAGE_STEPS);
            unsigned row = amd[model].counter[n].select_row, upper = amd[model].counter[n + 1].select_row;

            amd[model].backend->render(&amd[model], &event, 0, counters, UPMU_RENDER_INTERRUPT, &image);
            assert_int_equal(image_value(&image, upper) | UPMU_AMD_SELECT_EN, UINT64_C(0xf004000ff));
            assert_int_equal(image_value(&image, row) | UPMU_AMD_SELECT_EN, 0x53ff03);
            assert_int_equal(image_guard(&image, upper), 3u << n, n);
        }
        /* The merge event by itself would lend its counter to another's. */
        assert_int_equal(raw(&amd[model], UINT64_C(0xf000000ff), &event), UPMU_ERR_UNSUPPORTED, model);
    }
    for (unsigned model = K7; model < ZEN1; model++)
        if (model != F15H) {
            assert_int_equal(raw(&amd[model], 0x03, &event), UPMU_OK, model);
            assert_int_equal(event.attributes & UPMU_ATTR_WIDE, 0);
            assert_int_equal(event.counters, 0xf);
        }
}

/* An odd number of counters: the last one has no pair. */
static void a_wide_event_needs_a_whole_pair(void **state)
{
    struct amd_leaves leaves = {.family = 0x1a, .features = AMD_PERFCTR_CORE, .perfmon = {AMD_V2, 5}};
    struct upmu_event event;
    struct upmu_pmu pmu;

    (void)state;
    assert_true(amd_leaves_detect(&leaves, &pmu));
    assert_int_equal(raw(&pmu, 0x03, &event), UPMU_OK);
    assert_int_equal(event.counters, 0x05);
}

/* Erratum 1292 (LKML 20220203095841): counter 2 with bit 43 and without interrupt counts right. */
static void retire_events_of_early_zen_3_prefer_counter_2_with_bit_43(void **state)
{
    static const uint16_t listed[] = {0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc8, 0xc9, 0xca, 0xcc, 0xd1, 0x1c7, 0x1d0};
    struct amd_leaves leaves = {.family = 0x19, .model = 1, .features = AMD_PERFCTR_CORE};
    struct upmu_pmu pmu;
    unsigned found = 0;

    (void)state;
    assert_true(amd_leaves_detect(&leaves, &pmu));
    for (unsigned code = 0; code < 0x1000; code++) {
        struct upmu_alternative way;
        struct upmu_event event;
        bool erratum = false;

        for (unsigned i = 0; i < sizeof listed / sizeof listed[0]; i++)
            erratum |= listed[i] == code;
        if (code == 3 || code == 0xfff || raw(&pmu, upmu_amd_word(code), &event) != UPMU_OK)
            continue;
        found += erratum;
        assert_true(pmu.backend->alternative(&pmu, &event, 0, 0, &way));
        assert_int_equal(way.slot[0].counters, erratum ? 0x04 : 0x3f);
        assert_int_equal(pmu.backend->alternative(&pmu, &event, 0, 1, &way), erratum);
        if (erratum)
            assert_int_equal(way.slot[0].counters, 0x3b);
        assert_false(pmu.backend->alternative(&pmu, &event, 0, 2, &way));
        assert_int_equal(rendered(&pmu, &event, 2, 0) >> 43, erratum);
        assert_int_equal(rendered(&pmu, &event, 2, UPMU_RENDER_INTERRUPT) >> 43, 0);
        assert_int_equal(rendered(&pmu, &event, 3, 0) >> 43, 0);
        assert_int_equal(upmu_amd_overcounts(&amd[ZEN3], event.config), false);
    }
    assert_int_equal(found, 13);
}

/* BKDG; Linux amd/core.c: codes E0h to FFh, with bits 11:8 as well. */
static void the_northbridge_of_k8_has_an_owner_of_15h_its_own_counters(void **state)
{
    struct upmu_alternative way;
    struct upmu_event event;

    (void)state;
    for (unsigned code = 0xe0; code < 0x100; code++) {
        assert_int_equal(raw(&amd[K8], code | 0x100, &event), UPMU_OK);
        assert_int_equal(event.payload, UPMU_AMD_PAYLOAD_NB);
        assert_true(amd[K8].backend->alternative(&amd[K8], &event, 7, 0, &way));
        assert_int_equal(way.slot[0].resource_count, 1);
        assert_int_equal(way.slot[0].value[0], 7);
        assert_int_equal(raw(&amd[F10H], UINT64_C(0x400000000) | code, &event), UPMU_OK);
        assert_int_equal(event.payload, UPMU_AMD_PAYLOAD_NB);
        assert_int_equal(raw(&amd[F15H], code, &event), UPMU_ERR_DOES_NOT_FIT);
        assert_int_equal(raw(&amd[F16H], code, &event), UPMU_ERR_DOES_NOT_FIT);
        assert_int_equal(raw(&amd[K7], code, &event), UPMU_OK);
        assert_int_equal(event.payload, 0);
        assert_int_equal(raw(&amd[ZEN1], code, &event), UPMU_OK);
        assert_int_equal(event.payload, 0);
    }
    assert_int_equal(raw(&amd[K8], 0xdf, &event), UPMU_OK);
    assert_int_equal(event.payload, 0);
}

/* perfctr: on K8 revision E with several cores any write of a select clears the northbridge's counts. */
static void revision_e_with_two_cores_counts_no_northbridge(void **state)
{
    struct amd_leaves leaves = {.family = 0x0f, .model = 0x23, .stepping = 2, .highest = 0x80000018, .cores = 1};
    struct upmu_event event;
    struct upmu_pmu pmu;

    (void)state;
    assert_true(amd_leaves_detect(&leaves, &pmu));
    assert_int_equal(raw(&pmu, 0x1e0, &event), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(raw(&pmu, 0xc0, &event), UPMU_OK);
    leaves.cores = 0;
    assert_true(amd_leaves_detect(&leaves, &pmu));
    assert_int_equal(raw(&pmu, 0x1e0, &event), UPMU_OK);
    leaves.model = 0x43;
    leaves.cores = 1;
    assert_true(amd_leaves_detect(&leaves, &pmu));
    assert_int_equal(raw(&pmu, 0x1e0, &event), UPMU_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_athlon_has_four_selects_with_each_bit_in_its_place),
        cmocka_unit_test(every_raw_bit_is_taken_or_refused_as_the_family_has_it),
        cmocka_unit_test(event_bits_11_to_8_stand_at_35_to_32),
        cmocka_unit_test(neither_privilege_means_both_and_raw_words_keep_theirs),
        cmocka_unit_test(families_without_the_bits_note_the_world),
        cmocka_unit_test(guest_and_host_are_loaded_so_that_they_count),
        cmocka_unit_test(generic_names_stand_for_what_linux_counts),
        cmocka_unit_test(freebsds_specifications_are_taken),
        cmocka_unit_test(revisions_lack_what_came_later),
        cmocka_unit_test(an_unknown_family_has_raw_words_and_what_all_families_count),
        cmocka_unit_test(canonical_text_is_the_event_again),
        cmocka_unit_test(a_counter_is_chosen_by_its_number),
        cmocka_unit_test(a_wide_event_takes_an_even_counter_and_the_merge_event),
        cmocka_unit_test(a_wide_event_needs_a_whole_pair),
        cmocka_unit_test(retire_events_of_early_zen_3_prefer_counter_2_with_bit_43),
        cmocka_unit_test(the_northbridge_of_k8_has_an_owner_of_15h_its_own_counters),
        cmocka_unit_test(revision_e_with_two_cores_counts_no_northbridge),
    };

    return cmocka_run_group_tests(tests, describe_models, NULL);
}
