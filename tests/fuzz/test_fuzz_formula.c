/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: formulas over counts.  Any text has the value that a second evaluator gives it, which is written after the
 * grammar in docs/METRICS.md, by recursive descent, in floating point, with a bound of the error; or it is refused for
 * a reason that it has.  Words that do not matter are not asked for.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include <upmu/metric.h>
#include <upmu/upmu.h>

/* ---- What words stand for: decided by their text ---- */

static struct upmu_formula_value meaning(const char *text, size_t length, bool event, enum upmu_status *out_status)
{
    static const enum upmu_quality qualities[] = {UPMU_QUALITY_EXACT, UPMU_QUALITY_SCALED, UPMU_QUALITY_PARTIAL,
                                                  UPMU_QUALITY_NEVER_RAN};
    uint64_t seed = 77 + event;
    struct upmu_formula_value value = {.value = 0};

    for (size_t i = 0; i < length; i++)
        seed = (seed ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
    value.value = fuzz_word(&seed);
    *out_status = fuzz_below(&seed, 20) ? UPMU_OK : event ? UPMU_ERR_NO_SUCH_EVENT : UPMU_ERR_NO_SUCH_NAME;
    if (!fuzz_below(&seed, 8))
        value.quality = qualities[fuzz_below(&seed, 4)];
    if (!fuzz_below(&seed, 4))
        value.divisor = (uint32_t)fuzz_word(&seed);
    return value;
}

struct asking {
    const char *begin, *end; /* of the formula */
    uint64_t words;
    bool unknown;
};

static enum upmu_status ask(void *context, const struct upmu_formula_word *word, struct upmu_formula_value *out_value)
{
    struct asking *asking = context;
    enum upmu_status status;

    FUZZ_CHECK(word->text >= asking->begin && word->length && word->text + word->length <= asking->end,
               "a word outside");
    asking->words++;
    *out_value = meaning(word->text, word->length, word->event, &status);
    out_value->unknown = asking->unknown;
    return asking->unknown ? UPMU_OK : status;
}

/* ---- The second evaluator ---- */

#define STEP 0x1p-60L

struct value {
    long double is, off; /* and it may be off by so much */
};

struct second {
    const char *at;
    unsigned skips;
    bool wrong;  /* not a formula */
    bool unsure; /* it depends on how numbers are rounded */
    bool estimated;
    uint64_t words;
    uint64_t reasons; /* to refuse it: statuses, bit by bit from 64 on */
    unsigned signs;   /* that could wait, and values */
    unsigned depth;
};

static struct value expression(struct second *s);

static void reason(struct second *s, enum upmu_status status)
{
    unsigned bit = status >= 64 ? (unsigned)status - 64 : 32 + (unsigned)status;

    if (!s->skips)
        s->reasons |= UINT64_C(1) << bit;
}

static bool has(const struct second *s, enum upmu_status status)
{
    return s->reasons >> (status >= 64 ? (unsigned)status - 64 : 32 + (unsigned)status) & 1u;
}

static long double size_of(long double x)
{
    return x < 0 ? -x : x;
}

static bool taken(struct second *s, const char *token)
{
    size_t length = strlen(token);

    while (*s->at == ' ')
        s->at++;
    if (strncmp(s->at, token, length) != 0)
        return false;
    s->at += length;
    return true;
}

static void must(struct second *s, const char *token)
{
    if (!taken(s, token))
        s->wrong = true;
}

/* Whole numbers below 2^62 are exact. */
static struct value bounded(long double is, long double off, long double greatest)
{
    if (off == 0 && size_of(is) < 0x1p62L && size_of(greatest) < 0x1p62L && (long double)(int64_t)is == is &&
        (long double)(int64_t)greatest == greatest)
        return (struct value){is, 0};
    return (struct value){is, off + (size_of(is) > size_of(greatest) ? size_of(is) : size_of(greatest)) * STEP};
}

static struct value divided(struct second *s, struct value a, struct value b)
{
    long double is;

    s->unsure |= !s->skips && b.off != 0 && size_of(b.is) <= b.off * 2;
    if (b.is == 0 || size_of(b.is) <= b.off * 2) {
        reason(s, UPMU_ERR_DIVISION);
        return (struct value){0, 0};
    }
    is = a.is / b.is;
    return bounded(is,
                   a.off == 0 && b.off == 0 && is == (long double)(int64_t)(size_of(is) < 0x1p60L ? is : 0)
                       ? 0
                       : (a.off + size_of(is) * b.off) / (size_of(b.is) - b.off) + size_of(is) * STEP,
                   0);
}

static struct value number(struct second *s)
{
    const char *begin = s->at;
    long double is = 0, scale = 1;
    unsigned digits = 0;
    bool point = false;

    for (; (*s->at >= '0' && *s->at <= '9') || (*s->at == '.' && !point); s->at++) {
        if (*s->at == '.') {
            point = true;
            continue;
        }
        is = is * 10 + (*s->at - '0');
        scale *= point ? 10 : 1;
        digits++;
    }
    if (!digits)
        s->wrong = true;
    /* More digits than a number of 64 binary ones surely has: it may be refused, wherever it stands. */
    if (s->at - begin > 18)
        s->unsure = true;
    return scale == 1 ? (struct value){is, is < 0x1p64L ? 0 : is * STEP}
                      : (struct value){is / scale, is / scale * STEP * 2};
}

static struct value word(struct second *s, const char *begin, size_t length, bool event)
{
    enum upmu_status status;
    struct upmu_formula_value found = meaning(begin, length, event, &status);
    long double is = (long double)found.value;

    if (s->skips)
        return (struct value){1, 0};
    s->words++;
    if (status != UPMU_OK)
        reason(s, status);
    else if (found.quality > UPMU_QUALITY_SCALED)
        reason(s, UPMU_ERR_NOT_COUNTED);
    s->estimated |= found.quality == UPMU_QUALITY_SCALED;
    return found.divisor ? (struct value){is / found.divisor, is / found.divisor * STEP} : (struct value){is, 0};
}

static bool in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

static struct value chosen(struct second *s)
{
    struct value condition = expression(s), first, other;
    bool matters = s->skips == 0, holds = condition.is != 0;

    s->unsure |= matters && condition.off != 0 && size_of(condition.is) <= condition.off;
    must(s, ",");
    s->skips += !holds;
    first = expression(s);
    s->skips -= !holds;
    must(s, ",");
    s->skips += holds;
    other = expression(s);
    s->skips -= holds;
    must(s, ")");
    return holds ? first : other;
}

static bool is_call(const char *begin, size_t length, const char *name)
{
    for (size_t i = 0; i < length; i++)
        if ((begin[i] | 0x20) != name[i])
            return false;
    return !name[length];
}

static struct value called(struct second *s, const char *begin, size_t length)
{
    struct value a, b;
    bool least = is_call(begin, length, "min");

    if (length == 2 && is_call(begin, length, "if"))
        return chosen(s);
    if (length != 3 || (!least && !is_call(begin, length, "max"))) {
        s->wrong = true;
        return (struct value){0, 0};
    }
    a = expression(s);
    must(s, ",");
    b = expression(s);
    must(s, ")");
    a.off = b.off = a.off > b.off ? a.off : b.off; /* (either, if they are near each other) */
    return (a.is < b.is) == least ? a : b;
}

static struct value single(struct second *s)
{
    struct value value;
    const char *begin;

    s->signs++;
    if (s->wrong || s->depth > 200) {
        s->wrong = true;
        return (struct value){0, 0};
    }
    if (taken(s, "-")) {
        s->depth++;
        value = single(s);
        s->depth--;
        value.is = -value.is;
        return value;
    }
    if (taken(s, "(")) {
        value = expression(s);
        must(s, ")");
        return value;
    }
    begin = s->at;
    if (*begin == '{') {
        do
            s->at++;
        while (*s->at && *s->at != '}' && *s->at != '{');
        if (*s->at != '}' || s->at == begin + 1) {
            s->wrong = true;
            return (struct value){0, 0};
        }
        return word(s, begin + 1, (size_t)(s->at++ - begin - 1), true);
    }
    if (!in_name(*begin) || (*begin >= '0' && *begin <= '9'))
        return number(s);
    while (in_name(*s->at))
        s->at++;
    value.is = (long double)(s->at - begin);
    return taken(s, "(") ? called(s, begin, (size_t)value.is) : word(s, begin, (size_t)value.is, false);
}

static struct value product(struct second *s)
{
    struct value a = single(s);

    for (;;) {
        bool times = taken(s, "*");
        struct value b;

        if (!times && !taken(s, "/"))
            return a;
        s->signs++;
        b = single(s);
        a = times ? bounded(a.is * b.is, size_of(a.is) * b.off + size_of(b.is) * a.off + a.off * b.off, 0)
                  : divided(s, a, b);
    }
}

static struct value sum(struct second *s)
{
    struct value a = product(s);

    for (;;) {
        bool plus = taken(s, "+");
        struct value b;

        if (!plus && !taken(s, "-"))
            return a;
        s->signs++;
        b = product(s);
        a = bounded(plus ? a.is + b.is : a.is - b.is, a.off + b.off, size_of(a.is) > size_of(b.is) ? a.is : b.is);
    }
}

static struct value expression(struct second *s)
{
    static const char signs[][3] = {"<=", ">=", "<", ">"};
    struct value a, b;

    s->depth++;
    a = sum(s);
    for (unsigned i = 0; i < 4; i++) {
        if (!taken(s, signs[i]))
            continue;
        s->signs++;
        b = sum(s);
        s->unsure |= !s->skips && a.off + b.off != 0 && size_of(a.is - b.is) <= a.off + b.off;
        a = (struct value){i == 0 ? a.is <= b.is : i == 1 ? a.is >= b.is : i == 2 ? a.is < b.is : a.is > b.is, 0};
        break;
    }
    s->depth--;
    return a;
}

/* ---- Both ---- */

static void run(const uint8_t *bytes, size_t length)
{
    char *text = malloc(length + 1);
    struct asking asking = {.begin = text, .end = text + length};
    const struct upmu_formula_values values = {.value = ask, .context = &asking};
    struct upmu_formula_result result, again;
    struct second second = {.at = text};
    struct upmu_why why;
    enum upmu_status status;
    struct value expected;
    bool may_be_deep;

    memcpy(text, bytes, length);
    text[length] = '\0';
    asking.end = text + strlen(text);
    status = upmu_formula(text, &values, &result, &why);
    expected = expression(&second);
    (void)taken(&second, "");
    second.wrong |= *second.at != '\0';
    if (second.depth || second.wrong)
        second.wrong = true;
    may_be_deep = second.signs > UPMU_FORMULA_DEPTH || second.wrong;
    FUZZ_CHECK(why.status == status, "%s: why %d, status %d", text, (int)why.status, (int)status);
    FUZZ_CHECK(why.position + why.length <= asking.end - asking.begin || status == UPMU_ERR_NO_SPACE, "%s: place %u",
               text, why.position);
    FUZZ_CHECK(upmu_formula(text, &values, &again, NULL) == status && memcmp(&again, &result, sizeof result) == 0,
               "%s: another result", text);
    if (second.wrong) {
        FUZZ_CHECK(status != UPMU_OK, "%s is a formula", text);
    } else if (status == UPMU_ERR_NO_SPACE) {
        FUZZ_CHECK(may_be_deep, "%s is too deep", text);
    } else if (status == UPMU_ERR_BAD_VALUE) {
        FUZZ_CHECK(second.unsure || second.reasons || size_of(expected.is) + expected.off > 9.2e12L ||
                       expected.is != expected.is,
                   "%s: value %Lg", text, expected.is);
    } else if (status != UPMU_OK) {
        FUZZ_CHECK(second.unsure || (status != UPMU_ERR_FORMULA && has(&second, status)), "%s: status %d", text,
                   (int)status);
    } else if (!second.unsure) {
        long double off = (long double)result.millionths - expected.is * 1000000;

        FUZZ_CHECK(!second.reasons, "%s has a value", text);
        FUZZ_CHECK(asking.words == 2 * second.words, "%s: asked for %u words, of %u", text,
                   (unsigned)(asking.words / 2), (unsigned)second.words);
        FUZZ_CHECK((result.quality == UPMU_QUALITY_SCALED) == second.estimated, "%s: quality", text);
        if (size_of(expected.is) < 9.2e12L)
            FUZZ_CHECK(size_of(off) <= 0.51L + expected.off * 1000000, "%s: %lld millionths for %Lg", text,
                       (long long)result.millionths, expected.is);
    }
    /* Looked through without values: nothing but the form can be wrong. */
    asking.unknown = true;
    status = upmu_formula(text, &values, &result, NULL);
    FUZZ_CHECK(second.wrong ? status != UPMU_OK
                            : status == UPMU_OK || (status == UPMU_ERR_NO_SPACE && may_be_deep) ||
                                  status == UPMU_ERR_BAD_VALUE || status == UPMU_ERR_DIVISION,
               "%s: status %d without values", text, (int)status);
    free(text);
}

static void make(uint64_t *random, struct fuzz_draft *draft)
{
    static const char *const values[] = {"0",
                                         "1",
                                         "2",
                                         "64",
                                         "100",
                                         "1000000",
                                         "0.5",
                                         "4.4",
                                         ".0001",
                                         "{a}",
                                         "{b}",
                                         "{c}",
                                         "{imc/CAS_COUNT.RD}",
                                         "{e}",
                                         "seconds",
                                         "smt",
                                         "3",
                                         "7",
                                         "9223372036854775807"};
    static const char *const signs[] = {"+", " - ", "*", " / ", "/", "<", " > ", "<=", ">="};
    unsigned open = 0;
    bool commas[12] = {false};

    for (unsigned i = 1 + fuzz_below(random, fuzz_below(random, 4) ? 10 : 40); i || open; i -= i != 0) {
        unsigned what = fuzz_below(random, 10);

        if (what == 0 && open < 12 && i) {
            fuzz_put_text(draft, "(");
            commas[open++] = false;
            continue;
        }
        if (what == 1 && open < 12 && i) {
            static const char *const calls[] = {"min(", "max(", "if(", "if("};
            unsigned call = fuzz_below(random, 4);

            fuzz_put_text(draft, calls[call]);
            if (call > 1) { /* the condition at once */
                fuzz_put_text(draft, values[fuzz_below(random, sizeof values / sizeof values[0])]);
                fuzz_put_text(draft, ",");
            }
            commas[open++] = true;
            continue;
        }
        if (what == 2)
            fuzz_put_text(draft, "-");
        fuzz_put_text(draft, values[fuzz_below(random, sizeof values / sizeof values[0])]);
        while (open && (!i || !fuzz_below(random, 3))) {
            if (commas[open - 1])
                break;
            fuzz_put_text(draft, ")");
            open--;
        }
        if (open && commas[open - 1] && (!i || !fuzz_below(random, 2))) {
            fuzz_put_text(draft, ",");
            commas[open - 1] = false;
        } else if (i > 1 || open) {
            fuzz_put_text(draft, signs[fuzz_below(random, fuzz_below(random, 12) ? 5 : 9)]);
        }
    }
    if (!fuzz_below(random, 4) && draft->length)
        draft->bytes[fuzz_below(random, (unsigned)draft->length)] =
            (uint8_t) "(){},.+-*/<>=x0 \n?"[fuzz_below(random, 18)];
}

const struct fuzz_target fuzz_target = {
    "formula", "any_text_has_the_value_of_a_second_evaluator_or_none", 40000, 20000000, run, make,
    0};
