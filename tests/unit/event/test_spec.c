/* SPDX-License-Identifier: MIT */
/*
 * The parser of specifications, its plain form, and the text tools beneath.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"
#include <upmu/event.h>
#include <upmu/upmu.h>

#include "core/util/text.h"

/* The plain forms of a list's specifications, joined by '|'. */
static const char *split(const char *list)
{
    static char out[4096];
    size_t cursor = 0, length = 0;
    struct upmu_spec spec;
    struct upmu_why why;

    out[0] = '\0';
    for (;;) {
        enum upmu_status status = upmu_spec_next(list, &cursor, &spec, &why);

        if (status == UPMU_ERR_END)
            return out;
        assert_int_equal(status, UPMU_OK);
        if (length)
            out[length++] = '|';
        length += upmu_spec_format(&spec, out + length, sizeof out - length);
    }
}

static void commas_and_blanks_separate_specifications(void **state)
{
    (void)state;
    assert_string_equal(split("instructions,cycles,branch-misses"), "instructions|cycles|branch-misses");
    assert_string_equal(split("  a b\tc\r\nd "), "a|b|c|d");
    assert_string_equal(split("a , b ,c"), "a|b|c");
    assert_string_equal(split(""), "");
    assert_string_equal(split(" \t\n"), "");
}

static void reserved_words_and_values_belong_to_what_precedes_a_comma(void **state)
{
    (void)state;
    assert_string_equal(split("cycles,os,instructions"), "cycles,os|instructions");
    assert_string_equal(split("x,usr,edge,inv,any,anythread,precise,complement,cascade,y"),
                        "x,usr,edge,inv,any,anythread,precise,complement,cascade|y");
    assert_string_equal(split("p4-branch-retired,mask=mmtm+mmnm,os,usr"), "p4-branch-retired,mask=mmtm+mmnm,os,usr");
    assert_string_equal(split("x,OS,foo"), "x,OS|foo");
    assert_string_equal(split("x, os , cmask=2,y"), "x,os,cmask=2|y");
    assert_string_equal(split("x,oss"), "x|oss");
    assert_string_equal(split("x:u,y:k,c=2:e"), "x:u|y:k,c=2:e");
}

static void prefixes_are_taken_off_the_name(void **state)
{
    struct upmu_spec spec;
    size_t cursor = 0;

    (void)state;
    assert_int_equal(upmu_spec_next("3 Socket/0/Core::A.B:C", &cursor, &spec, NULL), UPMU_OK);
    assert_memory_equal(spec.text + spec.row.position, "3", 1);
    assert_int_equal(spec.unit.length, 8);
    assert_memory_equal(spec.text + spec.unit.position, "Socket/0", 8);
    assert_int_equal(spec.pmu.length, 4);
    assert_int_equal(spec.name.length, 3);
    assert_int_equal(spec.attribute_count, 1);
    assert_int_equal(spec.attribute[0].separator, ':');
    assert_string_equal(split("3 Socket/0/Core::A.B:C"), "3 socket/0/core::A.B:C");
}

static void perf_spellings_lose_their_closing_slash(void **state)
{
    (void)state;
    assert_string_equal(split("cpu/cycles/"), "cpu/cycles");
    assert_string_equal(split("cpu/cycles/,cpu/instructions/"), "cpu/cycles|cpu/instructions");
    assert_string_equal(split("cpu/cycles/:u"), "cpu/cycles:u");
    assert_string_equal(split("cpu/event=0x3c,umask=0/,x"), "cpu/event=0x3c,umask=0|x");
    assert_string_equal(split("cpu/cycles,inv/"), "cpu/cycles,inv");
    assert_string_equal(split("cycles/"), "cycles");
}

static void an_index_pins_only_with_a_specification_behind_it(void **state)
{
    (void)state;
    assert_string_equal(split("12 p4-branch-retired,mask=mmtm 1 x"), "12 p4-branch-retired,mask=mmtm|1 x");
    assert_string_equal(split("12"), "12");
    assert_string_equal(split("12 , x"), "12|x");
    assert_string_equal(split("0x2 x"), "0x2|x");
}

static void native_names_with_equals_signs_are_kept_together(void **state)
{
    (void)state;
    assert_string_equal(split("OFFCORE_RESPONSE:request=DEMAND_DATA_RD:response=SUPPLIER_NONE.SNOOP_NONE"),
                        "OFFCORE_RESPONSE:request=DEMAND_DATA_RD:response=SUPPLIER_NONE.SNOOP_NONE");
    assert_string_equal(split("x:y=a=b"), "x:y=a=b");
}

static void syntax_errors_say_where(void **state)
{
    static const struct {
        const char *list;
        unsigned position;
    } bad[] = {
        { ",a", 0 },      { "a,,b", 1 },   { "a,", 1 },     { "a, ", 1 },    { "a:", 2 },    { "a::", 3 },
        { "a::b::c", 5 }, { "::a", 0 },    { "a:=1", 2 },   { "a:b=", 2 },   { "a,b=", 2 },  { "os", 0 },
        { "a b=1", 2 },   { "b=1", 0 },    { "/a", 1 },     { "a//", 2 },    { "a\x01", 1 }, { "a:b\x80", 3 },
        { "a::b/c", 3 },  { "a b:\x7f", 4 }, { ":", 0 },    { "a Any", 2 },
    };

    (void)state;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct upmu_why why;
        struct upmu_spec spec;
        size_t cursor = 0;
        enum upmu_status status;

        do
            status = upmu_spec_next(bad[i].list, &cursor, &spec, &why);
        while (status == UPMU_OK);
        if (status != UPMU_ERR_SYNTAX || why.position != bad[i].position)
            fail_msg("\"%s\": status %d at %d", bad[i].list, (int)status, why.position);
        assert_memory_equal(why.word, bad[i].list + why.position, why.length);
    }
}

static void too_many_attributes_are_refused_with_the_first_too_many(void **state)
{
    char text[256] = "x";
    struct upmu_spec spec;
    struct upmu_why why;
    size_t cursor = 0;

    (void)state;
    for (unsigned i = 0; i < UPMU_SPEC_ATTRIBUTES; i++)
        strcat(text, ":a");
    assert_int_equal(upmu_spec_next(text, &cursor, &spec, &why), UPMU_OK);
    strcat(text, ":b");
    cursor = 0;
    assert_int_equal(upmu_spec_next(text, &cursor, &spec, &why), UPMU_ERR_NO_SPACE);
    assert_int_equal(why.position, strlen(text) - 1);
    assert_int_equal(cursor, 0);
}

static void lists_beyond_65534_bytes_are_refused(void **state)
{
    static char text[70001];
    static const char fillers[] = { 'a', ' ', ':' };
    struct upmu_spec spec;
    struct upmu_why why;

    (void)state;
    for (unsigned i = 0; i < sizeof fillers; i++) {
        size_t cursor = 0;

        memset(text, fillers[i], 70000);
        if (fillers[i] == ':')
            memset(text, 'a', 65534);
        assert_int_equal(upmu_spec_next(text, &cursor, &spec, &why), UPMU_ERR_NO_SPACE);
    }
    memset(text, 'a', 65534);
    text[65534] = '\0';
    assert_int_equal(upmu_spec_next(text, &(size_t){ 0 }, &spec, &why), UPMU_OK);
    assert_int_equal(upmu_spec_next(text, &(size_t){ 70000 }, &spec, &why), UPMU_ERR_NO_SPACE);
}

/* The last one that both parsers accept, as text, with its place; or the refusal. */
static const char *split_once(const char *list, size_t bytes, size_t *cursor, char out[512])
{
    struct upmu_spec spec;
    struct upmu_why why;
    enum upmu_status status = upmu_spec_next_n(list, bytes, cursor, &spec, &why);
    size_t length = 0;

    if (status == UPMU_OK)
        length = upmu_spec_format(&spec, out, 512);
    snprintf(out + length, 512 - length, "!%d@%u+%u %zu", (int)status, status == UPMU_OK ? 0 : why.position,
             status == UPMU_OK ? 0 : why.length, *cursor);
    return status == UPMU_OK ? out : NULL;
}

/*
 * Each beginning of many lists, in memory of just its length, is what it is with a NUL behind it, whatever byte
 * follows.  Finds a look at the byte behind a text; the sanitizers find a read of it.
 */
static void a_text_with_a_length_is_the_same_with_a_nul_behind_it(void **state)
{
    static const char *const lists[] = {
        "instructions,cycles:u=1:k , branch-misses", "cpu/event=0xc0,umask=1/ adl_grt::cycles:cmask=0x2",
        "0 skl::BR_MISP_RETIRED.ALL_BRANCHES:i:c=3,os,usr\tx", "a::b/c=d/ 1 1 2::3,,4",
        "imc/CAS_COUNT.RD,imc/CAS_COUNT.WR/",
    };
    static const char behind[] = "x1:/=, ";
    char with_nul[64], one[512], other[512];

    (void)state;
    for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (size_t bytes = 0; bytes <= strlen(lists[i]); bytes++)
            for (unsigned next = 0; next < sizeof behind; next++) {
                char *text = malloc(bytes + (next > 0));
                size_t at = 0, at_other = 0;
                const char *more;

                memcpy(with_nul, lists[i], bytes);
                with_nul[bytes] = '\0';
                memcpy(text, lists[i], bytes);
                if (next)
                    text[bytes] = behind[next - 1];
                do {
                    more = split_once(text, bytes, &at, one);
                    (void)split_once(with_nul, UPMU_TO_NUL, &at_other, other);
                    assert_string_equal(one, other);
                } while (more);
                free(text);
            }
}

static void a_nul_ends_a_text_before_its_length(void **state)
{
    char out[512];
    size_t cursor = 0;

    (void)state;
    assert_non_null(split_once("a b\0c", 5, &cursor, out));
    assert_non_null(split_once("a b\0c", 5, &cursor, out));
    assert_memory_equal(out, "b!", 2);
    assert_null(split_once("a b\0c", 5, &cursor, out));
    assert_int_equal(cursor, 3);
}

static void success_clears_the_explanation_and_the_end_is_a_status(void **state)
{
    struct upmu_why why, zero;
    struct upmu_spec spec;
    size_t cursor = 0;

    (void)state;
    memset(&zero, 0, sizeof zero);
    memset(&why, 0xff, sizeof why);
    assert_int_equal(upmu_spec_next(" a", &cursor, &spec, &why), UPMU_OK);
    assert_memory_equal(&why, &zero, sizeof why);
    assert_int_equal(upmu_spec_next(" a", &cursor, &spec, &why), UPMU_ERR_END);
    assert_int_equal(why.status, UPMU_ERR_END);
}

static void a_short_buffer_gets_what_fits_and_the_whole_length(void **state)
{
    struct upmu_spec spec;
    char buffer[8];

    (void)state;
    assert_int_equal(upmu_spec_next("cpu/cycles:u", &(size_t){ 0 }, &spec, NULL), UPMU_OK);
    memset(buffer, '#', sizeof buffer);
    assert_int_equal(upmu_spec_format(&spec, buffer, 5), 12);
    assert_string_equal(buffer, "cpu/");
    assert_int_equal(buffer[5], '#');
    assert_int_equal(upmu_spec_format(&spec, NULL, 0), 12);
}

static uint32_t seed;

static uint32_t roll(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(seed >> 8) * below >> 24);
}

/* Random text of exactly its length on the heap, so that a read beyond it is seen. */
static char *random_text(void)
{
    static const char *const pieces[] = { "a",  "os", "usr", "x.y", "=", ":", ",", " ", "/", "::", "3", "cpu/", "=1",
                                          "\t", "any", "b",   "core", "\x01", "+", "0x1", ",c=", ":k", "\xff", "-" };
    char text[256];
    size_t length = 0;
    char *exact;

    for (uint32_t i = roll(14); i > 0; i--) {
        const char *piece = pieces[roll(sizeof pieces / sizeof pieces[0])];

        memcpy(text + length, piece, strlen(piece));
        length += strlen(piece);
    }
    text[length] = '\0';
    exact = malloc(length + 1);
    assert_non_null(exact);
    memcpy(exact, text, length + 1);
    return exact;
}

static void parts_are_equal(const struct upmu_spec *a, struct upmu_spec_part p, const struct upmu_spec *b,
                            struct upmu_spec_part q)
{
    assert_int_equal(p.length, q.length);
    assert_int_equal(p.value_length, q.value_length);
    assert_int_equal(p.separator, q.separator);
    for (unsigned i = 0; i < p.length; i++)
        assert_int_equal(upmu_text_lower(a->text[p.position + i]), upmu_text_lower(b->text[q.position + i]), i);
    assert_memory_equal(a->text + p.value, b->text + q.value, p.value_length);
}

static void random_text_never_harms_and_plain_forms_parse_to_themselves(void **state)
{
    unsigned good = 0, bad = 0;

    (void)state;
    seed = 20;
    for (unsigned round = 0; round < 21000; round++) {
        char *text = random_text();
        size_t cursor = 0;

        for (;;) {
            struct upmu_spec spec, again, before;
            struct upmu_why why;
            char plain[512];
            size_t start = cursor, second = 0;
            enum upmu_status status;

            memset(&spec, 0x5a, sizeof spec);
            before = spec;
            status = upmu_spec_next(text, &cursor, &spec, &why);
            if (status != UPMU_OK) {
                assert_memory_equal(&spec, &before, sizeof spec);
                assert_int_equal(cursor, start);
                assert_compare(why.position + why.length, <=, strlen(text));
                bad += status != UPMU_ERR_END;
                break;
            }
            good++;
            assert_true(cursor > start && cursor <= strlen(text));
            assert_compare(upmu_spec_format(&spec, plain, sizeof plain), <, sizeof plain);
            assert_int_equal(upmu_spec_next(plain, &second, &again, NULL), UPMU_OK);
            assert_int_equal(plain[second], '\0', second);
            parts_are_equal(&spec, spec.unit, &again, again.unit);
            parts_are_equal(&spec, spec.pmu, &again, again.pmu);
            parts_are_equal(&spec, spec.name, &again, again.name);
            parts_are_equal(&spec, spec.row, &again, again.row);
            assert_int_equal(spec.attribute_count, again.attribute_count);
            for (unsigned i = 0; i < spec.attribute_count; i++)
                parts_are_equal(&spec, spec.attribute[i], &again, again.attribute[i]);
        }
        free(text);
    }
    assert_true(good > 5000 && bad > 2000);
}

static void numbers_are_read_and_written_exactly(void **state)
{
    static const uint64_t values[] = { 0, 1, 9, 10, 99, 255, 256, 1000000007, UINT32_MAX, UINT64_C(1) << 32,
                                       UINT64_C(9999999999999999999), UINT64_MAX };
    uint64_t value;

    (void)state;
    for (unsigned i = 0; i < sizeof values / sizeof values[0]; i++) {
        char mine[32], theirs[32];
        struct upmu_text text;

        upmu_text_begin(&text, mine, sizeof mine);
        upmu_text_decimal(&text, values[i]);
        upmu_text_end(&text);
        snprintf(theirs, sizeof theirs, "%llu", (unsigned long long)values[i]);
        assert_string_equal(mine, theirs);
        assert_true(upmu_text_number(mine, strlen(mine), &value) && value == values[i], i);
        upmu_text_begin(&text, mine, sizeof mine);
        upmu_text_hex(&text, values[i]);
        upmu_text_end(&text);
        snprintf(theirs, sizeof theirs, "0x%llx", (unsigned long long)values[i]);
        assert_string_equal(mine, theirs);
        assert_true(upmu_text_number(mine, strlen(mine), &value) && value == values[i], i);
    }
}

static void numbers_that_are_none_or_too_big_are_refused(void **state)
{
    static const char *const bad[] = { "",     "x",    "1x",   "0x",  "0xg", "-1", "1 ", "18446744073709551616",
                                       "18446744073709551620", "99999999999999999999", "0x10000000000000000" };
    uint64_t value = 7;

    (void)state;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(upmu_text_number(bad[i], strlen(bad[i]), &value), i);
    assert_int_equal(value, 7);
    assert_true(upmu_text_number("0XfF", 4, &value) && value == 255);
    assert_true(upmu_text_number("007", 3, &value) && value == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_and_blanks_separate_specifications),
        cmocka_unit_test(reserved_words_and_values_belong_to_what_precedes_a_comma),
        cmocka_unit_test(prefixes_are_taken_off_the_name),
        cmocka_unit_test(perf_spellings_lose_their_closing_slash),
        cmocka_unit_test(an_index_pins_only_with_a_specification_behind_it),
        cmocka_unit_test(native_names_with_equals_signs_are_kept_together),
        cmocka_unit_test(syntax_errors_say_where),
        cmocka_unit_test(too_many_attributes_are_refused_with_the_first_too_many),
        cmocka_unit_test(lists_beyond_65534_bytes_are_refused),
        cmocka_unit_test(a_text_with_a_length_is_the_same_with_a_nul_behind_it),
        cmocka_unit_test(a_nul_ends_a_text_before_its_length),
        cmocka_unit_test(success_clears_the_explanation_and_the_end_is_a_status),
        cmocka_unit_test(a_short_buffer_gets_what_fits_and_the_whole_length),
        cmocka_unit_test(random_text_never_harms_and_plain_forms_parse_to_themselves),
        cmocka_unit_test(numbers_are_read_and_written_exactly),
        cmocka_unit_test(numbers_that_are_none_or_too_big_are_refused),
    };

    return cmocka_run_group_tests_name("spec", tests, NULL, NULL);
}
