/* SPDX-License-Identifier: MIT */
/*
 * NetBurst register words against published ones: every event and unit mask for each
 * hyper-thread (tests/golden/p4_encodings.tsv), and every FreeBSD spelling
 * (tests/golden/p4_freebsd.tsv).
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "backends/x86_p4/p4_registers.h"
#include "core/hw/backend.h"
#include "tests/common/steps.h"
#include "tests/common/table.h"
#include <upmu/upmu.h>

#define GOLDEN_ROWS 181u
#define FIELDS 8

static struct upmu_pmu prescott;

static int describe_prescott(void **state)
{
    (void)state;
    return upmu_pmu_by_name(&prescott, "netburst_p") == UPMU_OK ? 0 : 1;
}

static struct upmu_event parsed_p4(const char *text)
{
    struct upmu_event event;
    struct upmu_why why;
    char words[200];

    if (upmu_event_parse(&prescott, text, &event, &why) != UPMU_OK) {
        (void)upmu_why_text(&why, words, sizeof words);
        fail_msg("%s: %s", text, words);
    }
    return event;
}

/* CCCR (with ENABLE, as the core adds it) and ESCR of the first way to run an event. */
static void rendered(const char *text, unsigned flags, uint64_t *cccr, uint64_t *escr)
{
    struct upmu_event event = parsed_p4(text);
    struct upmu_alternative way;
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image = upmu_image_on(&prescott, steps, UPMU_IMAGE_STEPS);
    uint8_t counters[UPMU_SLOTS] = {0, UPMU_NO_COUNTER, UPMU_NO_COUNTER};
    unsigned first = 0;

    /* (One without counters is none.) */
    do
        assert_true(prescott.backend->alternative(&prescott, &event, flags & UPMU_RENDER_THREAD1 ? 1 : 0, first, &way));
    while (way.slot[0].counters == 0 && ++first);
    assert_int_equal(way.slot_count, 1);
    while (!(way.slot[0].counters >> counters[0] & 1u))
        counters[0]++;
    prescott.backend->render(&prescott, &event, first, counters, flags, &image);
    *cccr = *escr = 0;
    for (unsigned i = 0; i < image.count; i++) {
        assert_int_equal(steps[i].guard, 1u << counters[0], i);
        if (steps[i].row == UPMU_P4_ROW_CCCR + counters[0]) {
            assert_int_equal(image_mask(&image, steps[i].row) & (UPMU_P4_CCCR_ENABLE | UPMU_P4_CCCR_OVF), 0, i);
            *cccr = image_value(&image, steps[i].row) | UPMU_P4_CCCR_ENABLE;
        } else if (!*escr) {
            *escr = image_value(&image, steps[i].row);
        }
    }
}

static void every_event_and_mask_gives_the_published_words(void **state)
{
    FILE *file = source_open("tests/golden/p4_encodings.tsv");
    char line[200], text[100], *field[FIELDS];
    unsigned rows = 0;

    (void)state;
    while (table_row(file, line, sizeof line, field, FIELDS)) {
        uint64_t cccr, escr;

        snprintf(text, sizeof text, "%s:%s", field[0], field[1]);
        if (strstr(field[0], "active_entries"))
            snprintf(text, sizeof text, "raw:escr=%s:cccr=%s", field[2], field[5]);
        rendered(text, 0, &cccr, &escr);
        assert_int_equal(escr, strtoull(field[2], NULL, 16));
        assert_int_equal(cccr, strtoull(field[5], NULL, 16));
        rendered(text, UPMU_RENDER_INTERRUPT, &cccr, &escr);
        assert_int_equal(cccr, strtoull(field[6], NULL, 16));
        rendered(text, UPMU_RENDER_INTERRUPT | UPMU_RENDER_THREAD1, &cccr, &escr);
        assert_int_equal(escr, strtoull(field[3], NULL, 16));
        assert_int_equal(cccr, strtoull(field[7], NULL, 16));
        /* The name gives the same words as the numbers, for both threads together, too. */
        snprintf(text, sizeof text, "%s:%s", field[0], field[1]);
        assert_int_equal(parsed_p4(text).config & 0xffffffff, strtoull(field[2], NULL, 16));
        assert_int_equal(parsed_p4(text).config >> 32 | UPMU_P4_CCCR_ENABLE, strtoull(field[5], NULL, 16));
        strcat(text, ":any");
        assert_int_equal(parsed_p4(text).config & 0xffffffff, strtoull(field[4], NULL, 16));
        rows++;
    }
    fclose(file);
    assert_int_equal(rows, GOLDEN_ROWS);
}

static void freebsds_names_masks_and_defaults_mean_what_the_manual_says(void **state)
{
    FILE *file = source_open("tests/golden/p4_freebsd.tsv");
    char line[200], text[100], *field[FIELDS];
    unsigned events = 0, masks = 0, defaults = 0;

    (void)state;
    while (table_row(file, line, sizeof line, field, FIELDS)) {
        uint64_t escr;

        if (!strcmp(field[0], "mask")) {
            snprintf(text, sizeof text, "%s,mask=%s", field[1], field[2]);
            escr = parsed_p4(text).config;
            assert_int_equal((escr & UPMU_P4_ESCR_MASK) >> 9, 1u << atoi(field[4]));
            masks++;
            continue;
        }
        escr = parsed_p4(field[1]).config;
        if (!strcmp(field[0], "event")) {
            char enumerator[100] = "PMC_EV_P4_";

            for (char *c = field[1] + 3, *out = enumerator + 10; *c; c++)
                *out++ = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
            assert_int_equal(parsed_p4(enumerator).config, escr);
            assert_int_equal((escr & UPMU_P4_ESCR_SELECT) >> 25, strtoull(field[3], NULL, 16));
            assert_int_equal(parsed_p4(field[2]).config & UPMU_P4_ESCR_SELECT, escr & UPMU_P4_ESCR_SELECT);
            events++;
        } else {
            assert_string_equal(field[0], "default");
            assert_int_equal((escr & UPMU_P4_ESCR_MASK) >> 9, strtoull(field[2], NULL, 16));
            defaults++;
        }
    }
    fclose(file);
    assert_int_equal(events, 45);
    assert_int_equal(masks, 144);
    assert_int_equal(defaults, 45);
}

/* Intel SDM vol 3 tables 19-32 to 19-34; libpfm 3.x has a stray bit 0 in Tagged_mispred_branch. */
static void replay_metrics_program_the_tag_registers(void **state)
{
    static const struct {
        const char *name;
        uint64_t config2;
        uint64_t upstream; /* ESCR, 0: none */
    } metrics[] = {
        {"1stL_cache_load_miss_retired", UINT64_C(0x101000001), 0},
        {"2ndL_cache_load_miss_retired", UINT64_C(0x101000002), 0},
        {"DTLB_load_miss_retired", UINT64_C(0x101000004), 0},
        {"DTLB_store_miss_retired", UINT64_C(0x201000004), 0},
        {"DTLB_all_miss_retired", UINT64_C(0x301000004), 0},
        {"Tagged_mispred_branch", UINT64_C(0x1001018000), 0},
        {"MOB_load_replay_retired", UINT64_C(0x101000200), 0x0600600c},
        {"split_load_retired", UINT64_C(0x101000400), 0x0800040c},
        {"split_store_retired", UINT64_C(0x201000400), 0x0a00040c},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        struct upmu_event event = parsed_p4(metrics[i].name);

        assert_int_equal(event.config2, metrics[i].config2, i);
        assert_int_equal(event.config & 0xffffffff, 0x1200020c);
        assert_int_equal(event.config1 & 0xffffffff, metrics[i].upstream, i);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_and_mask_gives_the_published_words),
        cmocka_unit_test(freebsds_names_masks_and_defaults_mean_what_the_manual_says),
        cmocka_unit_test(replay_metrics_program_the_tag_registers),
    };

    return cmocka_run_group_tests_name("p4_golden", tests, describe_prescott, NULL);
}
