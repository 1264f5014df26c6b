/* SPDX-License-Identifier: MIT */
/*
 * K8's events by FreeBSD's names and masks and by libpfm4's, and which revisions have
 * them: tests/golden/k8_names.tsv, row by row.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/common/host.h"

#include "core/catalog/catalog.h"
#include "tests/common/table.h"

#define TEXT 200
#define FIELDS 5

static struct upmu_pmu revision(char letter)
{
    char name[] = "amd64_k8_rev?";
    struct upmu_pmu pmu;

    name[sizeof name - 2] = letter;
    assert_int_equal(upmu_pmu_by_name(&pmu, name), UPMU_OK);
    return pmu;
}

/* The words of a specification, and of its own text again. */
static void check_spelling(const struct upmu_pmu *pmu, const char *spec, unsigned code, unsigned umask)
{
    struct upmu_event event, again;
    char text[TEXT], name[TEXT];

    if (upmu_event_parse(pmu, spec, &event, NULL) != UPMU_OK)
        fail_msg("%s is refused", spec);
    if ((event.config & 0xffff) != (code | umask << 8))
        fail_msg("%s is %04x, not %04x", spec, (unsigned)(event.config & 0xffff), code | umask << 8);
    assert_compare(upmu_event_format(pmu, &event, text, sizeof text), <, sizeof text);
    assert_int_equal(upmu_event_parse(pmu, text, &again, NULL), UPMU_OK);
    assert_int_equal(again.config, event.config);
    assert_memory_equal(&again.id, &event.id, sizeof event.id);
    /* The id alone leads to a name that leads to it. */
    assert_compare(upmu_event_name(pmu, event.id, name, sizeof name), >, 0);
    assert_int_equal(upmu_event_parse(pmu, name, &again, NULL), UPMU_OK);
    assert_memory_equal(&again.id, &event.id, sizeof event.id);
}

static void every_event_of_k8_is_found_in_both_spellings_and_comes_back(void **state)
{
    FILE *file = source_open("tests/golden/k8_names.tsv");
    struct upmu_pmu pmu = revision('g');
    unsigned freebsd = 0, libpfm4 = 0;
    char line[400], *field[FIELDS];

    (void)state;
    while (table_row(file, line, sizeof line, field, FIELDS)) {
        unsigned code = (unsigned)strtoul(field[0], NULL, 0);

        if (*field[1] != '-') {
            check_spelling(&pmu, field[1], code, (unsigned)strtoul(field[2], NULL, 0));
            freebsd++;
        }
        if (*field[3] != '-') {
            check_spelling(&pmu, field[3], code, (unsigned)strtoul(field[4], NULL, 0));
            libpfm4++;
        }
    }
    fclose(file);
    assert_true(freebsd > 160 && libpfm4 > 200);
}

static void words_of_a_mask_add_up_and_an_event_of_one_refuses_two(void **state)
{
    static const char two[] = "k8-ls-locked-operation,mask=locked-instructions+cycles-to-complete";
    struct upmu_pmu pmu = revision('f');
    struct upmu_event event;

    (void)state;
    check_spelling(&pmu, "k8-dc-refill-from-l2,mask=modified+owner", 0x42, 0x18);
    check_spelling(&pmu, "DATA_CACHE_REFILLS:L2_MODIFIED:L2_OWNED", 0x42, 0x18);
    check_spelling(&pmu, "dc-refill-from-l2,mask=Modified+OWNER+owner", 0x42, 0x18);
    check_spelling(&pmu, "k8-ls-locked-operation", 0x24, 0x01);
    check_spelling(&pmu, "k8-ls-locked-operation,mask=cycles-to-complete", 0x24, 0x04);
    assert_int_equal(upmu_event_parse(&pmu, two, &event, NULL), UPMU_ERR_MASKS_EXCLUSIVE);
    assert_int_equal(upmu_event_parse(&pmu, "k8-dc-refill-from-l2,mask=modifed", &event, NULL), UPMU_ERR_NO_SUCH_MASK);
}

/* Event, the first revision that has it, and the unit mask there and on the last. */
static void what_a_revision_lacks_is_refused_or_left_out_of_all(void **state)
{
    static const struct {
        const char *spec;
        char from;
        unsigned first, last;
    } cases[] = {
        {"SIZED_BLOCKS", 'd', 0x3c, 0x3c},
        {"THERMAL_STATUS_AND_ECC_ERRORS", 'e', 0x80, 0x8f},
        {"THERMAL_STATUS_AND_ECC_ERRORS:DRAM_ECC_ERRORS", 'e', 0x80, 0x80},
        {"THERMAL_STATUS_AND_ECC_ERRORS:CLKS_CPU_ACTIVE", 'f', 0x01, 0x01},
        {"CACHE_BLOCK", 'e', 0x3d, 0x3d},
        {"PROBE", 'b', 0x3f, 0x7f},
        {"PROBE:UPSTREAM_WRITES", 'd', 0x40, 0x40},
        {"L2_FILL_WRITEBACK", 'b', 0x01, 0x03},
        {"L2_FILL_WRITEBACK:L2_WRITEBACKS", 'f', 0x02, 0x02},
        {"k8-bu-fill-into-l2", 'b', 0x03, 0x03},
        {"k8-dc-dcache-accesses-by-locks", 'c', 0x03, 0x03},
        {"LOCKED_OPS", 'b', 0x00, 0x07},
        {"k8-ls-locked-operation,mask=cycles-in-request", 'b', 0x00, 0x02},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (char letter = 'b'; letter <= 'g'; letter++) {
            struct upmu_pmu pmu = revision(letter);
            struct upmu_event event;

            if (letter < cases[i].from) {
                assert_int_equal(upmu_event_parse(&pmu, cases[i].spec, &event, NULL), UPMU_ERR_UNSUPPORTED, i);
                continue;
            }
            assert_int_equal(upmu_event_parse(&pmu, cases[i].spec, &event, NULL), UPMU_OK, i);
            if (letter == cases[i].from || letter == 'g')
                assert_int_equal(event.config >> 8 & 0xff, letter == 'g' ? cases[i].last : cases[i].first, i);
        }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_of_k8_is_found_in_both_spellings_and_comes_back),
        cmocka_unit_test(words_of_a_mask_add_up_and_an_event_of_one_refuses_two),
        cmocka_unit_test(what_a_revision_lacks_is_refused_or_left_out_of_all),
    };

    return cmocka_run_group_tests_name("catalog_k8", tests, NULL, NULL);
}
