/* SPDX-License-Identifier: MIT */
/*
 * Event catalogues: what stands in events/ is found, under every name, with its
 * encoding; ids and names lead to each other; damaged tables do no harm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/common/assertions.h"
#include "core/catalog/catalog.h"
#include "core/catalog/catalog_table.h"
#include "tests/common/table.h"

static const char *const reserved[] = {"os",        "usr",     "edge",       "inv",    "any",
                                       "anythread", "precise", "complement", "cascade"};

static const struct upmu_catalog *named(const char *name)
{
    const struct upmu_catalog *catalog = upmu_catalog_find(name);

    assert_non_null(catalog);
    return catalog;
}

static struct upmu_event_id id_of(const struct upmu_catalog *catalog, const char *name)
{
    struct upmu_event_id id = {0, 0, 0};

    if (upmu_catalog_lookup(catalog, name, strlen(name), &id) != UPMU_OK)
        fail_msg("%s: no %s", upmu_catalog_name(catalog), name);
    return id;
}

static struct upmu_row merged(const struct upmu_catalog *catalog, const char *name)
{
    struct upmu_row row;

    memset(&row, 0, sizeof row);
    assert_int_equal(upmu_catalog_merge(catalog, id_of(catalog, name), &row, NULL), UPMU_OK);
    return row;
}

static bool same_id(struct upmu_event_id a, struct upmu_event_id b)
{
    return a.catalogue == b.catalogue && a.row == b.row && a.masks == b.masks;
}

/* How many catalogues this library has. */
static unsigned catalogues(void)
{
    unsigned i = 0;

    while (upmu_catalog_builtin(i))
        i++;
    return i;
}

/* ---- The sources, read here on their own ---- */

struct line {
    char *field[12];
    unsigned fields;
};

static bool line_read(FILE *file, char *text, size_t size, struct line *out)
{
    out->fields = table_row(file, text, size, out->field, 12);
    return out->fields != 0;
}

static FILE *catalogue_open(const char *catalogue)
{
    char path[100];

    snprintf(path, sizeof path, "events/%s.tsv", catalogue);
    return source_open(path);
}

static unsigned flag(const char *flags, const char *word, unsigned bit)
{
    size_t length = strlen(word);

    for (; (flags = strstr(flags, word)) != NULL; flags += length)
        if (!flags[length] || flags[length] == ',')
            return bit;
    return 0;
}

static unsigned long long number(const char *text)
{
    return strtoull(text, NULL, 0);
}

/* The number that a source gives a unit: "# unit: NAME NUMBER". */
static unsigned unit_number(const char *catalogue, const char *unit)
{
    FILE *file = catalogue_open(catalogue);
    char text[1024], name[64];
    unsigned found = 0, each;

    while (!found && fgets(text, sizeof text, file))
        if (sscanf(text, "# unit: %63s %u", name, &each) == 2 && strcmp(name, unit) == 0)
            found = each;
    fclose(file);
    assert_int_not_equal(found, 0);
    return found;
}

/* E name code[/code] umask cmask flags counters register payload [unit] */
static void row_check(const struct upmu_catalog *catalog, const struct line *line, struct upmu_event_id id)
{
    static const struct {
        const char *word;
        unsigned bit;
    } words[] = {
        {"inv", UPMU_ROW_INV},
        {"edge", UPMU_ROW_EDGE},
        {"any", UPMU_ROW_ANY},
        {"payload", UPMU_ROW_PAYLOAD},
        {"fixed-only", UPMU_ROW_FIXED_ONLY},
        {"precise", UPMU_ROW_PRECISE},
        {"precise-only", UPMU_ROW_PRECISE_ONLY},
        {"deprecated", UPMU_ROW_DEPRECATED},
        {"composed", UPMU_ROW_COMPOSED},
        {"generic", UPMU_ROW_GENERIC},
        {"revisions", UPMU_ROW_REVISIONS},
    };
    const char *second = strchr(line->field[2], '/');
    unsigned flags = number(line->field[4]) ? UPMU_ROW_CMASK : 0, i;
    struct upmu_row row;

    for (i = 0; i < sizeof words / sizeof words[0]; i++)
        flags |= flag(line->field[5], words[i].word, words[i].bit);
    if (second)
        flags |= UPMU_ROW_PAIR;
    assert_true(upmu_catalog_row(catalog, id.row, &row));
    assert_int_equal(row.code, number(line->field[2]));
    assert_int_equal(row.code2, second ? number(second + 1) : 0);
    assert_int_equal(row.umask, number(line->field[3]));
    assert_int_equal(row.cmask, number(line->field[4]));
    assert_int_equal(row.flags & ~(unsigned)UPMU_ROW_MASKED, flags);
    assert_int_equal(row.counters, number(line->field[6]));
    assert_int_equal(row.msr, number(line->field[7]));
    assert_int_equal(row.payload, number(line->field[8]));
    assert_int_equal(row.unit, line->fields == 10 ? unit_number(upmu_catalog_name(catalog), line->field[9]) : 0);
    assert_int_equal(upmu_catalog_row_unit(catalog, id.row), row.unit);
}

/* M name bits group flags cmask; which group the table says it is of. */
static unsigned mask_check(const struct upmu_catalog *catalog, const struct line *line, unsigned row)
{
    unsigned index = 99, flags = 0;
    struct upmu_mask mask;
    char name[64];

    assert_true(upmu_catalog_mask_lookup(catalog, row, line->field[1], strlen(line->field[1]), &index));
    assert_true(upmu_catalog_mask(catalog, row, index, &mask));
    assert_int_equal(upmu_catalog_mask_name(catalog, row, index, name, sizeof name), strlen(line->field[1]));
    assert_string_equal(name, line->field[1]);
    flags |= flag(line->field[4], "default", UPMU_MASK_DEFAULT);
    flags |= flag(line->field[4], "exclusive", UPMU_MASK_EXCLUSIVE);
    flags |= flag(line->field[4], "payload", UPMU_MASK_PAYLOAD);
    flags |= flag(line->field[4], "required", UPMU_MASK_REQUIRED);
    flags |= flag(line->field[4], "alone", UPMU_MASK_ALONE);
    flags |= flag(line->field[4], "last", UPMU_MASK_LAST);
    flags |= flag(line->field[4], "inv", UPMU_MASK_INV);
    flags |= flag(line->field[4], "edge", UPMU_MASK_EDGE);
    assert_int_equal(mask.flags, flags);
    assert_int_equal(mask.bits, number(line->field[2]));
    assert_int_equal(mask.cmask, number(line->field[5]));
    return mask.group;
}

/* Masks of one group say so, and those of two do not.  `groups` by mask of this row: the source's, the table's. */
static void group_check(unsigned (*groups)[2], unsigned masks)
{
    for (unsigned i = 0; i < masks; i++)
        for (unsigned j = 0; j < i; j++)
            assert_int_equal(groups[i][0] == groups[j][0], groups[i][1] == groups[j][1], i, j);
}

/* The listed names of a composed row besides its own: one mask of each group, none behind a closing one. */
static unsigned combinations_of(unsigned (*listed)[2])
{
    unsigned open = 1, closed = 0, masks = 0;

    for (unsigned group = 0; group < 16; group++)
        if (listed[group][0] + listed[group][1]) {
            masks += listed[group][0] + listed[group][1];
            closed += open * listed[group][1];
            open *= listed[group][0];
        }
    return masks ? open + closed : 0;
}

/* What a source promises to list of masks: per row, per group, of them closing ones. */
static unsigned source_combinations(const char *catalogue)
{
    unsigned listed[16][2] = {{0}}, total = 0;
    FILE *file = catalogue_open(catalogue);
    char text[1024];
    struct line line;
    bool composed = false;

    while (line_read(file, text, sizeof text, &line)) {
        if (line.field[0][0] == 'E') {
            total += combinations_of(listed);
            memset(listed, 0, sizeof listed);
            composed = flag(line.field[5], "composed", 1) != 0;
        } else if (line.field[0][0] == 'M' && composed && flag(line.field[4], "listed", 1)) {
            assert_compare(number(line.field[3]), <, 16);
            listed[number(line.field[3])][flag(line.field[4], "last", 1)]++;
        }
    }
    fclose(file);
    return total + combinations_of(listed);
}

/* A name row[:mask…] */
static void alias_check(const struct upmu_catalog *catalog, const struct line *line)
{
    char target[256], name[256];
    struct upmu_event_id id = id_of(catalog, line->field[1]), expected;
    char *mask = strchr(strcpy(target, line->field[2]), ':');

    if (mask)
        *mask++ = 0;
    expected = id_of(catalog, target);
    while (mask) {
        char *next = strchr(mask, ':');
        unsigned index;

        if (next)
            *next++ = 0;
        assert_true(upmu_catalog_mask_lookup(catalog, expected.row, mask, strlen(mask), &index));
        expected.masks |= 1u << index;
        mask = next;
    }
    assert_true(same_id(id, expected));
    /* alias -> id -> canonical name -> the same id */
    upmu_catalog_id_name(catalog, id, name, sizeof name);
    assert_string_not_equal(name, line->field[1]);
    assert_true(same_id(id_of(catalog, name), id));
}

static void sources_are_found_row_by_row_mask_by_mask_alias_by_alias(void **state)
{
    (void)state;
    for (unsigned i = 0; i < catalogues(); i++) {
        const struct upmu_catalog *catalog = upmu_catalog_builtin(i);
        struct upmu_event_id id = {0, 0, 0};
        FILE *file = catalogue_open(upmu_catalog_name(catalog));
        char text[1024], name[256];
        struct line line;
        unsigned rows = 0, masks = 0, groups[32][2];
        struct upmu_row row;

        while (line_read(file, text, sizeof text, &line)) {
            if (line.field[0][0] == 'E') {
                assert_int_equal(line.fields, strstr(upmu_catalog_name(catalog), "_uncore") ? 10 : 9);
                id = id_of(catalog, line.field[1]);
                assert_int_equal(id.catalogue, upmu_catalog_number(catalog));
                assert_int_equal(id.masks, 0);
                row_check(catalog, &line, id);
                assert_int_equal(upmu_catalog_row_name(catalog, id.row, name, sizeof name), strlen(line.field[1]));
                assert_string_equal(name, line.field[1]);
                rows++;
                group_check(groups, masks);
                masks = 0;
            } else if (line.field[0][0] == 'M') {
                groups[masks][0] = (unsigned)number(line.field[3]);
                groups[masks++][1] = mask_check(catalog, &line, id.row);
                assert_true(upmu_catalog_row(catalog, id.row, &row));
                assert_true(row.flags & UPMU_ROW_MASKED);
                assert_compare(masks, <=, row.mask_count);
            } else if (line.field[0][0] == 'N') {
                unsigned alias, mask;

                assert_true(upmu_catalog_mask_lookup(catalog, id.row, line.field[1], strlen(line.field[1]), &alias));
                assert_true(upmu_catalog_mask_lookup(catalog, id.row, line.field[2], strlen(line.field[2]), &mask));
                assert_int_equal(alias, mask);
            } else {
                alias_check(catalog, &line);
            }
        }
        fclose(file);
        group_check(groups, masks);
        assert_int_equal(rows, upmu_catalog_rows(catalog));
    }
}

/* ---- Names ---- */

static unsigned char upper(char c)
{
    return (unsigned char)(c >= 'a' && c <= 'z' ? c - 32 : c);
}

static int order(const char *a, const char *b)
{
    for (; *a && upper(*a) == upper(*b); a++, b++)
        ;
    return upper(*a) - upper(*b);
}

static void folded(char *name)
{
    for (; *name; name++)
        if (strchr("_.:", *name))
            *name = '-';
        else
            *name = (char)(*name >= 'A' && *name <= 'Z' ? *name + 32 : *name);
}

static void names_lead_to_ids_and_back_exactly_and_folded(void **state)
{
    (void)state;
    for (unsigned i = 0; i < catalogues(); i++) {
        const struct upmu_catalog *catalog = upmu_catalog_builtin(i);
        char before[UPMU_CATALOG_NAME] = "", name[UPMU_CATALOG_NAME], back[UPMU_CATALOG_NAME];
        unsigned rows = 0, aliases = 0, combinations = 0;
        size_t length;
        struct upmu_event_id id;
        uint32_t cursor = 0;
        bool alias;

        while (upmu_catalog_next(catalog, NULL, &cursor, &id, name, sizeof name, &alias) == UPMU_OK) {
            /* The combinations of a row stand together, whatever comes between them by the alphabet. */
            if (alias || !id.masks) {
                assert_compare(order(before, name), <, 0);
                strcpy(before, name);
            }
            assert_true(same_id(id_of(catalog, name), id));
            length = upmu_catalog_id_name(catalog, id, back, sizeof back);
            assert_int_equal(length, strlen(back));
            if (!alias)
                assert_string_equal(back, name);
            assert_true(same_id(id_of(catalog, back), id));
            aliases += alias;
            rows += !alias && !id.masks;
            combinations += !alias && id.masks;
            folded(name);
            for (unsigned word = 0; word < sizeof reserved / sizeof reserved[0]; word++)
                assert_string_not_equal(name, reserved[word]);
            assert_true(same_id(id_of(catalog, name), id));
        }
        assert_int_equal(rows, upmu_catalog_rows(catalog));
        assert_true(aliases > 0 || strstr(upmu_catalog_name(catalog), "_uncore"));
        assert_int_equal(combinations, source_combinations(upmu_catalog_name(catalog)));
        /* Skylake's offcore: 4 requests x (8 suppliers x 8 snoops + any response); FP_ARITH_INST_RETIRED. */
        if (strcmp(upmu_catalog_name(catalog), "skl") == 0)
            assert_int_equal(combinations, 260 + 9);
    }
}

static void every_name_followed_by_a_wrong_letter_is_refused(void **state)
{
    (void)state;
    for (unsigned i = 0; i < catalogues(); i++) {
        const struct upmu_catalog *catalog = upmu_catalog_builtin(i);
        struct upmu_event_id id, untouched = {7, 7, 7}, found = untouched;
        char name[UPMU_CATALOG_NAME + 1];
        uint32_t cursor = 0;

        while (upmu_catalog_next(catalog, NULL, &cursor, &id, name, UPMU_CATALOG_NAME, NULL) == UPMU_OK) {
            size_t length = strlen(name);

            name[length] = '~';
            assert_int_equal(upmu_catalog_lookup(catalog, name, length + 1, &found), UPMU_ERR_NO_SUCH_EVENT);
            name[length - 1] = '~';
            assert_int_equal(upmu_catalog_lookup(catalog, name, length, &found), UPMU_ERR_NO_SUCH_EVENT);
            assert_true(same_id(found, untouched));
        }
    }
}

static void texts_that_no_name_can_be_are_refused(void **state)
{
    const struct upmu_catalog *catalog = named("skl");
    struct upmu_event_id id;
    char text[300];

    (void)state;
    memset(text, 'A', sizeof text);
    for (size_t length = 0; length < sizeof text; length++)
        assert_int_equal(upmu_catalog_lookup(catalog, text, length, &id), UPMU_ERR_NO_SUCH_EVENT);
    memset(text, '_', sizeof text);
    for (size_t length = 0; length < sizeof text; length++)
        assert_int_equal(upmu_catalog_lookup(catalog, text, length, &id), UPMU_ERR_NO_SUCH_EVENT);
    assert_int_equal(upmu_catalog_lookup(catalog, "cycles\xe1", 7, &id), UPMU_ERR_NO_SUCH_EVENT);
    assert_int_equal(upmu_catalog_lookup(catalog, "c\x79\xe3les", 6, &id), UPMU_ERR_NO_SUCH_EVENT);
    assert_int_equal(upmu_catalog_lookup(catalog, "OFFCORE_RESPONSE.", 17, &id), UPMU_ERR_NO_SUCH_EVENT);
    assert_int_equal(upmu_catalog_lookup(catalog, "OFFCORE_RESPONSE..OTHER", 23, &id), UPMU_ERR_NO_SUCH_EVENT);
}

static void names_are_cut_to_the_buffer_and_their_whole_length_returned(void **state)
{
    const struct upmu_catalog *catalog = named("skl");
    const char *whole = "OFFCORE_RESPONSE.DEMAND_RFO.L3_HIT.SNOOP_NONE";
    struct upmu_event_id id = id_of(catalog, whole);
    char name[80];

    (void)state;
    for (size_t size = 0; size < sizeof name; size++) {
        size_t kept = size <= strlen(whole) ? size - 1 : strlen(whole);

        memset(name, '#', sizeof name);
        assert_int_equal(upmu_catalog_id_name(catalog, id, name, size), strlen(whole));
        if (size) {
            assert_memory_equal(name, whole, kept);
            assert_int_equal(name[kept], 0, kept);
        }
        for (size_t i = size; i < sizeof name; i++)
            assert_int_equal(name[i], '#', i);
    }
    assert_int_equal(upmu_catalog_row_name(catalog, id.row, NULL, 0), strlen("OFFCORE_RESPONSE"));
    assert_int_equal(upmu_catalog_row_name(catalog, 9999, name, sizeof name), 0);
    assert_string_equal(name, "");
    assert_int_equal(upmu_catalog_mask_name(catalog, id.row, 31, name, sizeof name), 0);
}

static void globs_select_names_whatever_their_case_and_separators(void **state)
{
    static const struct {
        const char *glob;
        unsigned names;
    } cases[] = {
        {"branch-*", 3},
        {"BR_MISP_EXEC.*", 2},
        {"br-misp-exec?all-branches", 1},
        {"*snoop_none", 32},
        {"offcore?response", 1},
        {"offcore_response.*any*", 36},
        {"nothing*", 0},
        {"", 0},
    };
    const struct upmu_catalog *catalog = named("skl");

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct upmu_event_id id;
        uint32_t cursor = 0;
        unsigned names = 0;
        char name[UPMU_CATALOG_NAME];

        while (upmu_catalog_next(catalog, cases[i].glob, &cursor, &id, name, sizeof name, NULL) == UPMU_OK)
            names++;
        assert_int_equal(names, cases[i].names, i);
    }
}

static void nearest_finds_a_misspelt_name_and_nothing_for_noise(void **state)
{
    static const char *const cases[][2] = {
        {"brnch-misses", "branch-misses"},
        {"cylces", "cycles"},
        {"instuctions", "instructions"},
        {"UOPS_EXECUTED.STAL_CYCLES", "UOPS_EXECUTED.STALL_CYCLES"},
        {"L1D_PEND_MISS.PENDIN", "L1D_PEND_MISS.PENDING"},
    };
    const struct upmu_catalog *catalog = named("skl");
    char name[UPMU_CATALOG_NAME];
    struct upmu_event_id id;

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(upmu_catalog_nearest(catalog, cases[i][0], strlen(cases[i][0]), &id), i);
        assert_true(same_id(id, id_of(catalog, cases[i][1])), i);
        assert_true(upmu_catalog_nearest_name(catalog, cases[i][0], strlen(cases[i][0]), &id, name), i);
        assert_string_equal(name, cases[i][1]);
    }
    assert_false(upmu_catalog_nearest(catalog, "xyzzyplugh", 10, &id));
    assert_false(upmu_catalog_nearest(catalog, "", 0, &id));
}

/* ---- What names mean ---- */

static void generic_names_mean_what_linux_and_the_manual_say(void **state)
{
    static const char *const models[] = {"ix86arch", "core", "skl", "nhm"};
    static const struct {
        const char *name;
        uint16_t code, umask;
    } cases[] = {
        {"cycles", 0x3c, 0},
        {"instructions", 0xc0, 0},
        {"branches", 0xc4, 0},
        {"branch-misses", 0xc5, 0},
        {"cache-references", 0x2e, 0x4f},
        {"cache-misses", 0x2e, 0x41},
        {"bus-cycles", 0x3c, 1},
        {"ref-cycles", 0, 3},
        {"unhalted-cycles", 0x3c, 0},
        {"branch-mispredicts", 0xc5, 0},
    };

    (void)state;
    for (unsigned k = 0; k < sizeof models / sizeof models[0]; k++)
        for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct upmu_row row = merged(named(models[k]), cases[i].name);

            /* Nehalem's architectural event for mispredictions miscounts (AAJ80). */
            bool erratum = strcmp(models[k], "nhm") == 0 && cases[i].code == 0xc5;

            assert_int_equal(row.code, erratum ? 0x89 : cases[i].code, i);
            assert_int_equal(row.umask, erratum ? 0x7f : cases[i].umask, i);
            assert_int_equal(!!(row.flags & UPMU_ROW_FIXED_ONLY), cases[i].code == 0, i);
        }
    assert_int_equal(merged(named("skl"), "LLC-misses").umask, 0x41);
    assert_int_equal(merged(named("core"), "LLC-misses").umask, 0x41);
}

static void fixed_events_of_intels_file_count_on_general_counters(void **state)
{
    const struct upmu_catalog *catalog = named("skl");
    struct upmu_row row = merged(catalog, "INST_RETIRED.ANY");

    (void)state;
    assert_int_equal(row.code, 0xc0);
    assert_int_equal(row.umask, 0);
    row = merged(catalog, "CPU_CLK_UNHALTED.THREAD_ANY");
    assert_int_equal(row.code, 0x3c);
    assert_true(row.flags & UPMU_ROW_ANY);
    row = merged(catalog, "CPU_CLK_UNHALTED.REF_TSC");
    assert_int_equal(row.code << 8 | row.umask, 0x0003);
    assert_true(row.flags & UPMU_ROW_FIXED_ONLY);
}

static void payload_events_carry_register_and_value(void **state)
{
    const struct upmu_catalog *catalog = named("skl");
    struct upmu_row row = merged(catalog, "FRONTEND_RETIRED.LATENCY_GE_2_BUBBLES_GE_3");

    (void)state;
    assert_int_equal(row.msr, 0x3f7);
    assert_int_equal(row.payload, 0x300206);
    assert_true(row.flags & UPMU_ROW_PAYLOAD);
    row = merged(catalog, "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_512");
    assert_int_equal(row.msr, 0x3f6);
    assert_int_equal(row.payload, 0x200);
    row = merged(catalog, "OFFCORE_RESPONSE.DEMAND_DATA_RD.L3_MISS.SNOOP_NONE");
    assert_int_equal(row.msr, 0x1a6);
    assert_int_equal(row.code, 0xb7);
    assert_int_equal(row.code2, 0xbb);
    assert_int_equal(row.payload, 0xBC400001);
    assert_true(row.flags & UPMU_ROW_PAYLOAD);
    assert_int_equal(merged(catalog, "OFFCORE_RESPONSE.OTHER.L3_HIT.ANY_SNOOP").payload, UINT64_C(0x3FC01C8000));
    assert_int_equal(merged(catalog, "offcore-response-other-l3-hit-any-snoop").payload, UINT64_C(0x3FC01C8000));
    assert_int_equal(merged(catalog, "OFFCORE_RESPONSE.DEMAND_RFO.ANY_RESPONSE").payload, 0x10002);
    assert_int_equal(merged(catalog, "OFFCORE_RESPONSE.OTHER.L4_HIT_LOCAL_L4.SPL_HIT").payload, 0x40408000);
    /* libpfm4's default, which a payload given by the caller replaces */
    row = merged(catalog, "OFFCORE_RESPONSE_0");
    assert_int_equal(row.payload, 0x18007);
    assert_false(row.flags & UPMU_ROW_PAYLOAD);
    /* a supplier without a snoop: any snoop, as in libpfm4 */
    assert_int_equal(merged(catalog, "OFFCORE_RESPONSE.DEMAND_DATA_RD.L3_HIT").payload, UINT64_C(0x3f801c0001));
}

static enum upmu_status merge_status(const char *event, const char *const *masks, uint16_t *out_umask)
{
    const struct upmu_catalog *catalog = named("core");
    struct upmu_event_id id = id_of(catalog, event);
    struct upmu_row row = {0};
    enum upmu_status status;
    unsigned mask;

    for (; *masks; masks++) {
        assert_true(upmu_catalog_mask_lookup(catalog, id.row, *masks, strlen(*masks), &mask));
        id.masks |= 1u << mask;
    }
    status = upmu_catalog_merge(catalog, id, &row, NULL);
    *out_umask = row.umask;
    return status;
}

static void masks_of_core_2_merge_with_the_defaults_of_unnamed_groups(void **state)
{
    static const struct {
        const char *event, *masks[4];
        enum upmu_status status;
        uint16_t umask;
    } cases[] = {
        {"L2_LD", {NULL}, UPMU_OK, 0x7f},
        {"L2_LD", {"BOTH_CORES", NULL}, UPMU_OK, 0xff},
        {"L2_LD", {"self", "prefetch", "m-state", NULL}, UPMU_OK, 0x58},
        {"L2_LD", {"I_STATE", "S_STATE", NULL}, UPMU_OK, 0x73},
        {"L2_LD", {"MESI", "I_STATE", NULL}, UPMU_OK, 0x7f},
        {"L2_LD", {"SELF", "BOTH_CORES", NULL}, UPMU_ERR_MASKS_EXCLUSIVE, 0},
        {"L2_LD", {"ANY", "PREFETCH", NULL}, UPMU_ERR_MASKS_EXCLUSIVE, 0},
        {"BUS_TRANS_ANY", {"ALL_AGENTS", NULL}, UPMU_OK, 0x60},
        {"BR_INST_RETIRED", {NULL}, UPMU_OK, 0},
        {"BR_INST_RETIRED", {"PRED_TAKEN", "MISPRED_TAKEN", NULL}, UPMU_OK, 0xc},
        {"BR_INST_RETIRED", {"ANY", "PRED_TAKEN", NULL}, UPMU_ERR_MASKS_EXCLUSIVE, 0},
        {"SSE_PRE_EXEC", {NULL}, UPMU_ERR_MASK_REQUIRED, 0},
        {"SSE_PRE_EXEC", {"L2", NULL}, UPMU_OK, 2},
        {"LOAD_BLOCK", {NULL}, UPMU_ERR_MASK_REQUIRED, 0},
        {"LOAD_BLOCK", {"STA", "L1D", NULL}, UPMU_OK, 0x22},
        {"DELAYED_BYPASS", {"LOAD", NULL}, UPMU_OK, 2},
        {"INST_RETIRED", {"VM_H", NULL}, UPMU_OK, 8},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint16_t umask;

        assert_int_equal(merge_status(cases[i].event, cases[i].masks, &umask), cases[i].status, i);
        if (cases[i].status == UPMU_OK)
            assert_int_equal(umask, cases[i].umask, i);
    }
}

static void merging_refuses_ids_that_mean_nothing(void **state)
{
    const struct upmu_catalog *skl = named("skl"), *core = named("core");
    struct upmu_event_id flat = id_of(skl, "INST_RETIRED.ANY"), masked = id_of(core, "L2_LD"), id;
    struct upmu_row row;
    uint32_t masks = 0;

    (void)state;
    id = flat;
    id.masks = 1;
    assert_int_equal(upmu_catalog_merge(skl, id, &row, NULL), UPMU_ERR_NO_SUCH_MASK);
    id = masked;
    id.masks = 1u << 31;
    assert_int_equal(upmu_catalog_merge(core, id, &row, NULL), UPMU_ERR_NO_SUCH_MASK);
    id = flat;
    id.row = 9999;
    assert_int_equal(upmu_catalog_merge(skl, id, &row, NULL), UPMU_ERR_NO_SUCH_EVENT);
    assert_int_equal(upmu_catalog_merge(core, flat, &row, NULL), UPMU_ERR_NO_SUCH_EVENT);
    /* (A row that both have.) */
    id = masked;
    id.catalogue = flat.catalogue;
    assert_int_equal(upmu_catalog_merge(core, id, &row, NULL), UPMU_ERR_NO_SUCH_EVENT);
    assert_int_equal(upmu_catalog_merge(core, masked, &row, &masks), UPMU_OK);
    assert_int_not_equal(masks, 0);
    /* a response that excludes later groups */
    id = id_of(skl, "OFFCORE_RESPONSE.DEMAND_RFO.ANY_RESPONSE");
    id.masks |= id_of(skl, "OFFCORE_RESPONSE.DEMAND_RFO.L3_HIT.SNOOP_MISS").masks &
                ~id_of(skl, "OFFCORE_RESPONSE.DEMAND_RFO.L3_HIT").masks;
    assert_int_equal(upmu_catalog_merge(skl, id, &row, NULL), UPMU_ERR_MASKS_EXCLUSIVE);
}

static void freebsds_names_of_core_2_are_found(void **state)
{
    static const struct {
        const char *name;
        uint16_t code, umask;
    } cases[] = {
        {"br-inst-retired.mispred", 0xc5, 0},
        {"rs-uops-dispatched.port0", 0xa1, 1},
        {"l2-rqsts.self.demand.i_state", 0x2e, 0x41},
        {"l1d-cache-lock-duration", 0x42, 0x10},
        {"fp-mmx-trans-to-fp", 0xcc, 2},
        {"l1d_prefetch.requests", 0x4e, 0x10},
        {"instr-retired.any", 0xc0, 0},
        {"ic-misses", 0x81, 0},
        {"interrupts", 0xc8, 0},
        {"llc-reference", 0x2e, 0x4f},
        {"rat-stalls.other-serialization-stalls", 0xd2, 0x10},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct upmu_row row = merged(named("core2"), cases[i].name);

        assert_int_equal(row.code, cases[i].code, i);
        assert_int_equal(row.umask, cases[i].umask, i);
    }
}

static void encodings_lead_to_an_id_with_the_same_encoding(void **state)
{
    (void)state;
    for (unsigned i = 0; i < catalogues(); i++) {
        const struct upmu_catalog *catalog = upmu_catalog_builtin(i);
        char name[UPMU_CATALOG_NAME];
        struct upmu_event_id id, found;
        struct upmu_row row, again;
        uint32_t cursor = 0;

        while (upmu_catalog_next(catalog, NULL, &cursor, &id, name, sizeof name, NULL) == UPMU_OK) {
            enum upmu_status status = upmu_catalog_merge(catalog, id, &row, NULL);

            if (status == UPMU_ERR_MASK_REQUIRED)
                continue;
            assert_int_equal(status, UPMU_OK);
            if (upmu_catalog_by_encoding(catalog, &row, &found) != UPMU_OK)
                fail_msg("%s", name);
            assert_int_equal(upmu_catalog_merge(catalog, found, &again, NULL), UPMU_OK);
            assert_int_equal(again.unit, row.unit);
            assert_int_equal(again.code, row.code);
            assert_int_equal(again.cmask, row.cmask);
            /* What limits a row to revisions may differ. */
            if ((again.flags | row.flags) & UPMU_ROW_REVISIONS)
                again.payload = row.payload, again.umask = (again.umask & 0xff) | (row.umask & 0xff00);
            assert_int_equal(again.umask, row.umask);
            assert_int_equal(again.payload, row.payload);
        }
        row.code = 0xfe;
        row.umask = 0x77;
        assert_int_equal(upmu_catalog_by_encoding(catalog, &row, &found), UPMU_ERR_NO_SUCH_EVENT);
    }
}

/* ---- Catalogues ---- */

static void catalogues_are_found_under_their_names_and_numbers(void **state)
{
    const struct upmu_catalog *catalog;
    unsigned i, j;

    (void)state;
    for (i = 0; (catalog = upmu_catalog_builtin(i)) != NULL; i++) {
        assert_ptr_equal(upmu_catalog_find(upmu_catalog_name(catalog)), catalog);
        assert_int_not_equal(upmu_catalog_number(catalog), 0);
        assert_int_equal(upmu_catalog_source(catalog), UPMU_SOURCE_BUILT_IN);
        for (j = 0; j < i; j++)
            assert_int_not_equal(upmu_catalog_number(catalog), upmu_catalog_number(upmu_catalog_builtin(j)), j);
    }
    assert_int_equal(i, catalogues());
    assert_null(upmu_catalog_builtin(199));
    assert_ptr_equal(upmu_catalog_find("core2"), upmu_catalog_find("core"));
    assert_ptr_equal(upmu_catalog_find("SKYLAKE"), upmu_catalog_find("skl"));
    assert_null(upmu_catalog_find(""));
    assert_null(upmu_catalog_find("cor"));
    assert_null(upmu_catalog_find("core22"));
}

static void rows_and_masks_out_of_range_are_refused(void **state)
{
    (void)state;
    for (unsigned i = 0; i < catalogues(); i++) {
        const struct upmu_catalog *catalog = upmu_catalog_builtin(i);
        unsigned rows = upmu_catalog_rows(catalog), number;
        struct upmu_mask mask;
        struct upmu_row row;

        for (number = 0; number < rows; number++) {
            assert_true(upmu_catalog_row(catalog, number, &row));
            assert_int_equal(!!row.mask_count, !!(row.flags & UPMU_ROW_MASKED));
            for (unsigned j = 0; j < row.mask_count; j++)
                assert_true(upmu_catalog_mask(catalog, number, j, &mask), j);
            assert_false(upmu_catalog_mask(catalog, number, row.mask_count, &mask));
            assert_false(upmu_catalog_mask(catalog, number, 0x10000000, &mask));
        }
        assert_false(upmu_catalog_row(catalog, rows, &row));
        assert_false(upmu_catalog_row(catalog, 65535, &row));
        assert_false(upmu_catalog_row(catalog, UINT32_MAX, &row));
        assert_int_equal(upmu_catalog_row_unit(catalog, rows), 0);
    }
}

/* Everything that reads a catalogue, on one whose bytes may be anything. */
static void exercise(const struct upmu_catalog *catalog, const char *name, unsigned row)
{
    char text[UPMU_CATALOG_NAME];
    struct upmu_event_id id;
    struct upmu_row contents;
    struct upmu_mask mask;
    uint32_t cursor = (uint32_t)row << 16;
    unsigned i, found;

    if (upmu_catalog_lookup(catalog, name, strlen(name), &id) == UPMU_OK) {
        upmu_catalog_id_name(catalog, id, text, sizeof text);
        if (upmu_catalog_merge(catalog, id, &contents, NULL) == UPMU_OK)
            row ^= id.row & 1u;
    }
    if (upmu_catalog_row(catalog, row, &contents))
        for (i = 0; i < contents.mask_count && upmu_catalog_mask(catalog, row, i, &mask); i++)
            upmu_catalog_mask_name(catalog, row, i, text, sizeof text);
    upmu_catalog_mask_lookup(catalog, row, "L3_HIT", 6, &found);
    upmu_catalog_row_name(catalog, row, text, sizeof text);
    for (i = 0; i < 12; i++)
        if (upmu_catalog_next(catalog, "*a*", &cursor, &id, text, sizeof text, NULL) != UPMU_OK)
            break;
}

static void damaged_tables_are_read_within_their_bounds(void **state)
{
    static const char *const names[] = {"cycles", "LLC-misses", "L2_LD.SELF.PREFETCH.MESI",
                                        "OFFCORE_RESPONSE.DEMAND_RFO.L3_HIT.SNOOP_NONE", "UOPS_EXECUTED.CORE"};
    uint32_t seed = 20261121;
    uint8_t *file = malloc(upmu_word(upmu_catalog_data + 4));

    (void)state;
    assert_non_null(file);
    for (unsigned round = 0; round < 6000; round++) {
        const uint8_t *whole = upmu_catalog_file_at(round % 8 < 4 ? round % 4 : 0);
        uint32_t size = upmu_word(whole + 4);
        unsigned i, at = 0, count = upmu_half(whole + 8);
        const struct upmu_catalog *catalog;

        assert_compare(size, <=, upmu_word(upmu_catalog_data + 4));
        memcpy(file, whole, size);
        catalog = (const void *)(file + upmu_offset(file + UPMU_FILE_DIRECTORY + 3 * (round / 8 % count)));
        for (i = 0; i < 1 + round % 40; i++) {
            seed = seed * 1664525u + 1013904223u;
            at = (seed >> 8) % (round % 3 ? size : 128);
            /* Sizes and the way to the file's begin are its loader's to check. */
            if (at < 8 || (at >= UPMU_FILE_DIRECTORY && at < UPMU_FILE_DIRECTORY + 3 * count))
                continue;
            if (file + at >= catalog->byte && file + at < catalog->byte + 12)
                continue;
            file[at] = (uint8_t)(seed >> 3);
        }
        exercise(catalog, names[round % 5], round % 400);
        if (round % 100 == 0) {
            struct upmu_event_id id;
            struct upmu_row row = {.code = 0xb7, .umask = 1, .msr = 0x1a6, .payload = 0x10002};

            (void)upmu_catalog_nearest(catalog, "brnch-misses", 12, &id);
            if (upmu_catalog_by_encoding(catalog, &row, &id) == UPMU_OK)
                at = id.row;
        }
    }
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_are_found_row_by_row_mask_by_mask_alias_by_alias),
        cmocka_unit_test(names_lead_to_ids_and_back_exactly_and_folded),
        cmocka_unit_test(every_name_followed_by_a_wrong_letter_is_refused),
        cmocka_unit_test(texts_that_no_name_can_be_are_refused),
        cmocka_unit_test(names_are_cut_to_the_buffer_and_their_whole_length_returned),
        cmocka_unit_test(globs_select_names_whatever_their_case_and_separators),
        cmocka_unit_test(nearest_finds_a_misspelt_name_and_nothing_for_noise),
        cmocka_unit_test(generic_names_mean_what_linux_and_the_manual_say),
        cmocka_unit_test(fixed_events_of_intels_file_count_on_general_counters),
        cmocka_unit_test(payload_events_carry_register_and_value),
        cmocka_unit_test(masks_of_core_2_merge_with_the_defaults_of_unnamed_groups),
        cmocka_unit_test(merging_refuses_ids_that_mean_nothing),
        cmocka_unit_test(freebsds_names_of_core_2_are_found),
        cmocka_unit_test(encodings_lead_to_an_id_with_the_same_encoding),
        cmocka_unit_test(catalogues_are_found_under_their_names_and_numbers),
        cmocka_unit_test(rows_and_masks_out_of_range_are_refused),
        cmocka_unit_test(damaged_tables_are_read_within_their_bounds),
    };
    return cmocka_run_group_tests_name("catalog", tests, NULL, NULL);
}
