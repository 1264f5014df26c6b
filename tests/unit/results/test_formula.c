/* SPDX-License-Identifier: MIT */
/*
 * Formulas over counts (upmu_formula()): what they are worth, what they say of their quality, what is refused where.
 * The expected values are worked out by hand; tests/fuzz/test_fuzz_formula.c has an evaluator of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/assertions.h"

#include <upmu/metric.h>

/* {a} to {e}, seconds; what was asked for. */
static char asked[400];

static enum upmu_status value_of(void *context, const struct upmu_formula_word *word,
                                 struct upmu_formula_value *out_value)
{
    static const struct upmu_formula_value events[] = {{.value = 6000},
                                                       {.value = 4000},
                                                       {.value = 3, .quality = UPMU_QUALITY_SCALED},
                                                       {.value = 0},
                                                       {.value = UINT64_MAX}};
    const bool *unknown = context;

    assert_int_equal(out_value->value, 0);
    assert_int_equal(out_value->divisor, 0);
    snprintf(asked + strlen(asked), sizeof asked - strlen(asked), word->event ? "{%.*s}" : "%.*s ", (int)word->length,
             word->text);
    if (word->event && word->length == 1 && *word->text >= 'a' && *word->text <= 'e') {
        *out_value = events[*word->text - 'a'];
        out_value->unknown = unknown && *unknown;
        return UPMU_OK;
    }
    if (word->event) {
        out_value->quality = *word->text == 'P'   ? UPMU_QUALITY_PARTIAL
                             : *word->text == 'N' ? UPMU_QUALITY_NEVER_RAN
                                                  : UPMU_QUALITY_UNPROVEN;
        return strchr("PNU", *word->text) ? UPMU_OK : UPMU_ERR_NO_SUCH_EVENT;
    }
    *out_value = (struct upmu_formula_value){.value = 1500000000, .divisor = 1000000000};
    return word->length == 7 && memcmp(word->text, "seconds", 7) == 0 ? UPMU_OK : UPMU_ERR_NO_SUCH_NAME;
}

static const struct upmu_formula_values values = {.value = value_of};

static int64_t worth(const char *text)
{
    struct upmu_formula_result result;
    struct upmu_why why;

    asked[0] = '\0';
    if (upmu_formula(text, &values, &result, &why) != UPMU_OK)
        fail_msg("%s: status %d at byte %u", text, (int)why.status, why.position);
    assert_int_equal(why.status, UPMU_OK);
    assert_false(result.unknown);
    return result.millionths;
}

static void formulas_follow_the_rules_of_arithmetic(void **state)
{
    static const struct {
        const char *text;
        int64_t millionths;
    } rows[] = {
        {"1", 1000000},
        {" 2 + 3 * 4 - 10/ 4 ", 11500000},
        {"(2 + 3) * (4 - 10) / 4", -7500000},
        {"2 - 3 - 4", -5000000},
        {"100 / 10 / 5", 2000000},
        {"-2 * -3 + --4 - -(1)", 11000000},
        {"1 / 3", 333333},
        {"2 / 3", 666667},
        {"-2 / 3", -666667},
        {"1 / 3 * 3", 1000000},
        {"0.0001", 100},
        {"4.4 * 10", 44000000},
        {".5 + 5.", 5500000},
        {"0.0000006", 1},
        {"0.0000004", 0},
        {"0 - 0.0000006", -1},
        {"{a} / {b}", 1500000},
        {"100 * ({a} - {b}) / {a}", 33333333},
        {"{a} * 64 / 1000 / seconds", 256000000},
        {"9223372036854775807 - 9223372036854775806", 1000000},
        {"{e} - 18446744073709551614", 1000000},
        {"({e} + {e}) / {e}", 2000000},
        {"{e} * {e} * {e} / {e} / {e} / {e}", 1000000},
        {"9223372036854", INT64_C(9223372036854000000)},
        {"-9223372036854.5", -INT64_C(9223372036854500000)},
        {"1 / {e} / {e}", 0},
        {"3037000499 * 3037000499 - 9223372030926249000", 1000000},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (worth(rows[i].text) != rows[i].millionths)
            fail_msg("%s is worth %lld millionths", rows[i].text, (long long)worth(rows[i].text));
}

static void comparisons_are_1_or_0_and_choose(void **state)
{
    (void)state;
    assert_int_equal(worth("2 > 1"), 1000000);
    assert_int_equal(worth("1 > 2"), 0);
    assert_int_equal(worth("1 < 2"), 1000000);
    assert_int_equal(worth("2 < 2"), 0);
    assert_int_equal(worth("2 <= 2"), 1000000);
    assert_int_equal(worth("3 <= 2"), 0);
    assert_int_equal(worth("2 >= 2"), 1000000);
    assert_int_equal(worth("1 >= 2"), 0);
    assert_int_equal(worth("-1 < 0"), 1000000);
    assert_int_equal(worth("0 < -1"), 0);
    assert_int_equal(worth("1 + 1 < 1 + 2 * 1"), 1000000);
    assert_int_equal(worth("(3 < 4) + (5 > 4)"), 2000000);
    assert_int_equal(worth("min(3, 4) + max(3, 4) * 10"), 43000000);
    assert_int_equal(worth("max(1 - 2, 0)"), 0);
    assert_int_equal(worth("min(-1, max(-2, -3))"), -2000000);
    assert_int_equal(worth("if(2 > 1, 7, 8)"), 7000000);
    assert_int_equal(worth("if(0, 7, 8) + 1"), 9000000);
    assert_int_equal(worth("if(-1, if(0, 1, 2), if(1, 3, 4))"), 2000000);
}

/* What does not matter is neither asked for nor computed, however deep. */
static void the_other_part_of_a_condition_does_not_matter(void **state)
{
    (void)state;
    assert_int_equal(worth("if(1, {a}, {b} / {d})"), INT64_C(6000000000));
    assert_string_equal(asked, "{a}");
    assert_int_equal(worth("if({d}, {nosuch} + if(1, 1 / 0, nosuch), {b})"), INT64_C(4000000000));
    assert_string_equal(asked, "{d}{b}");
    assert_int_equal(worth("if(0, if(1, {P}, {N}), 2) + {a} * 0"), 2000000);
    assert_string_equal(asked, "{a}");
    assert_int_equal(worth("if(1, 2, if(0, {P}, {N})) + {a} * 0"), 2000000);
    assert_string_equal(asked, "{a}");
}

static void an_estimate_makes_the_result_one(void **state)
{
    struct upmu_formula_result result;

    (void)state;
    assert_int_equal(upmu_formula("{a} / {b}", &values, &result, NULL), UPMU_OK);
    assert_int_equal(result.quality, UPMU_QUALITY_EXACT);
    assert_int_equal(upmu_formula("{c} - {c} + {a} / {b}", &values, &result, NULL), UPMU_OK);
    assert_int_equal(result.quality, UPMU_QUALITY_SCALED);
    assert_int_equal(result.millionths, 1500000);
    assert_int_equal(upmu_formula("if(1, {a}, {c})", &values, &result, NULL), UPMU_OK);
    assert_int_equal(result.quality, UPMU_QUALITY_EXACT);
}

/* Before counting: both parts of a condition that is not known, nothing divides by zero. */
static void unknown_words_are_collected(void **state)
{
    bool unknown = true;
    const struct upmu_formula_values names = {.value = value_of, .context = &unknown};
    struct upmu_formula_result result;
    struct upmu_why why;

    (void)state;
    asked[0] = '\0';
    assert_int_equal(upmu_formula("if({a}, {b}, {c}) / {d} + if(0, {e}, max({a}, 1))", &names, &result, &why), UPMU_OK);
    assert_string_equal(asked, "{a}{b}{c}{d}{a}");
    assert_true(result.unknown);
    assert_int_equal(result.millionths, 0);
    assert_int_equal(upmu_formula("if(1, 2, {a})", &names, &result, &why), UPMU_OK);
    assert_false(result.unknown);
    assert_int_equal(result.millionths, 2000000);
    assert_int_equal(upmu_formula("{a} < 1 / 0", &names, &result, &why), UPMU_ERR_DIVISION);
    /* The part with the 0 may not matter: that is known after counting. */
    assert_int_equal(upmu_formula("if({d}, 1 / 0, {b}) + if({b}, 2, if(1, 1 / 0, 3))", &names, &result, &why), UPMU_OK);
    assert_true(result.unknown);
    assert_int_equal(upmu_formula("if({d}, 1, 2) + 1 / 0", &names, &result, &why), UPMU_ERR_DIVISION);
    assert_int_equal(worth("if({d}, 1 / 0, {b}) + if({b}, 2, if(1, 1 / 0, 3))"), INT64_C(4002000000));
}

static void a_refusal_says_where_and_why(void **state)
{
    static const struct {
        const char *text, *word;
        enum upmu_status status;
        unsigned position;
    } rows[] = {
        {"", "", UPMU_ERR_FORMULA, 0},
        {"1 +", "", UPMU_ERR_FORMULA, 3},
        {"1 2", "2", UPMU_ERR_FORMULA, 2},
        {"1 ? 2", "?", UPMU_ERR_FORMULA, 2},
        {"* 2", "*", UPMU_ERR_FORMULA, 0},
        {"(1", "(1", UPMU_ERR_FORMULA, 0},
        {"1)", ")", UPMU_ERR_FORMULA, 1},
        {"(1, 2)", ",", UPMU_ERR_FORMULA, 2},
        {"1, 2", ",", UPMU_ERR_FORMULA, 1},
        {"min(1)", ")", UPMU_ERR_FORMULA, 5},
        {"max(1, 2, 3)", ",", UPMU_ERR_FORMULA, 8},
        {"if(1, 2)", ")", UPMU_ERR_FORMULA, 7},
        {"if(1, 2, 3, 4)", ",", UPMU_ERR_FORMULA, 10},
        {"sqrt(4)", "sqrt", UPMU_ERR_FORMULA, 0},
        {"1 < 2 < 3", "<", UPMU_ERR_FORMULA, 6},
        {"{a", "{a", UPMU_ERR_FORMULA, 0},
        {"1 + {}", "{", UPMU_ERR_FORMULA, 4},
        {"1 + .", ".", UPMU_ERR_FORMULA, 4},
        {"1.2.3", ".", UPMU_ERR_FORMULA, 3},
        {"1e9", "e", UPMU_ERR_FORMULA, 1},
        {"2 * volts", "volts", UPMU_ERR_NO_SUCH_NAME, 4},
        {"2 * {x.y} / {z}", "x.y", UPMU_ERR_NO_SUCH_EVENT, 5},
        {"{a} / {d}", "{d}", UPMU_ERR_DIVISION, 6},
        {"{a} / ( {a} - 6000 ) * 2", "( {a} - 6000 )", UPMU_ERR_DIVISION, 6},
        {"1 / -{d}", "-{d}", UPMU_ERR_DIVISION, 4},
        {"1 / max({d}, 0)", "max({d}, 0)", UPMU_ERR_DIVISION, 4},
        {"1 + {P}", "P", UPMU_ERR_NOT_COUNTED, 5},
        {"{N}", "N", UPMU_ERR_NOT_COUNTED, 1},
        {"{U}", "U", UPMU_ERR_NOT_COUNTED, 1},
        {"18446744073709551616", "18446744073709551616", UPMU_ERR_BAD_VALUE, 0},
        {"9223372036855", "9223372036855", UPMU_ERR_BAD_VALUE, 0},
        {"-{e} * 2", "-{e} * 2", UPMU_ERR_BAD_VALUE, 0},
    };
    struct upmu_formula_result result;
    struct upmu_why why;
    char text[200];

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        memset(&result, 0xee, sizeof result);
        if (upmu_formula(rows[i].text, &values, &result, &why) != rows[i].status || why.status != rows[i].status)
            fail_msg("%s: status %d", rows[i].text, (int)why.status);
        if (why.position != rows[i].position || strcmp(why.word, rows[i].word) != 0)
            fail_msg("%s: byte %u, \"%s\"", rows[i].text, why.position, why.word);
        assert_int_equal(result.millionths, 0);
        assert_false(result.unknown);
        assert_int_equal(upmu_formula(rows[i].text, &values, &result, NULL), rows[i].status, i);
    }
    assert_int_equal(upmu_formula("1 / ({a} - {a})", &values, &result, &why), UPMU_ERR_DIVISION);
    upmu_why_text(&why, text, sizeof text);
    assert_string_equal(text, "\"({a} - {a})\": division by zero");
    assert_int_equal(upmu_formula("1 2", &values, &result, &why), UPMU_ERR_FORMULA);
    upmu_why_text(&why, text, sizeof text);
    assert_string_equal(text, "\"2\": not a formula, at byte 2");
}

static void formulas_have_a_length_and_a_depth(void **state)
{
    static char text[UPMU_FORMULA_BYTES + 2];
    struct upmu_formula_result result;
    struct upmu_why why;

    (void)state;
    for (unsigned depth = 1; depth <= 40; depth++) {
        memset(text, 0, sizeof text);
        memset(text, '(', depth);
        text[depth] = '1';
        memset(text + depth + 1, ')', depth);
        assert_int_equal(upmu_formula(text, &values, &result, &why),
                         depth <= UPMU_FORMULA_DEPTH ? UPMU_OK : UPMU_ERR_NO_SPACE);
        assert_int_equal(why.position, depth <= UPMU_FORMULA_DEPTH ? 0 : UPMU_FORMULA_DEPTH);
    }
    /* 1<(1<(1<(...: two values wait at each level but the last. */
    for (unsigned depth = 1; depth <= 40; depth++) {
        memset(text, 0, sizeof text);
        for (unsigned i = 0; i < depth; i++)
            memcpy(text + 3 * i, "1<(", 3);
        text[3 * depth] = '1';
        memset(text + 3 * depth + 1, ')', depth);
        assert_int_equal(upmu_formula(text, &values, &result, &why),
                         2 * depth <= UPMU_FORMULA_DEPTH ? UPMU_OK : UPMU_ERR_NO_SPACE);
    }
    /* So many values wait behind the commas of calls. */
    for (unsigned depth = 1; depth <= 40; depth++) {
        memset(text, 0, sizeof text);
        for (unsigned i = 0; i < depth; i++)
            memcpy(text + 6 * i, "max(1,", 6);
        text[6 * depth] = '2';
        memset(text + 6 * depth + 1, ')', depth);
        assert_int_equal(upmu_formula(text, &values, &result, &why),
                         depth < UPMU_FORMULA_DEPTH ? UPMU_OK : UPMU_ERR_NO_SPACE);
    }
    memset(text, ' ', UPMU_FORMULA_BYTES);
    text[UPMU_FORMULA_BYTES - 1] = '1';
    text[UPMU_FORMULA_BYTES] = '\0';
    assert_int_equal(upmu_formula(text, &values, &result, &why), UPMU_OK);
    text[UPMU_FORMULA_BYTES] = '1';
    assert_int_equal(upmu_formula(text, &values, &result, &why), UPMU_ERR_NO_SPACE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_follow_the_rules_of_arithmetic),
        cmocka_unit_test(comparisons_are_1_or_0_and_choose),
        cmocka_unit_test(the_other_part_of_a_condition_does_not_matter),
        cmocka_unit_test(an_estimate_makes_the_result_one),
        cmocka_unit_test(unknown_words_are_collected),
        cmocka_unit_test(a_refusal_says_where_and_why),
        cmocka_unit_test(formulas_have_a_length_and_a_depth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
