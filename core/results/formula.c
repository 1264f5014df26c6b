/* SPDX-License-Identifier: MIT */
/*
 * Formulas over counts: upmu_formula().
 *
 *     expression := sum [('<' | '>' | '<=' | '>=') sum]       1 or 0
 *     sum := product (('+' | '-') product)*
 *     product := sign (('*' | '/') sign)*
 *     sign := '-'* (number | '{' event '}' | name | '(' expression ')' | call)
 *     call := ('min' | 'max') '(' expression ',' expression ')' | 'if' '(' expression ',' expression ',' expression ')'
 *
 * The text is read once, by precedence, with a stack of numbers and a stack of operators, and without recursion. So the
 * function needs little of the caller's stack, and can be called by a handler.
 */
#include <upmu/config.h>
#include <upmu/metric.h>

#include "core/event/why.h"
#include "core/util/mem.h"
#include "core/util/muldiv.h"
#include "core/util/text.h"

#if UPMU_FORMULAS

#define FORMULA_TOP (UINT64_C(1) << 63)

/*
 * A number: `digits` × 2^`exponent`. The top bit of `digits` is set, or `digits` is 0. The number's text in the formula
 * goes from byte `begin` to before byte `end`.
 */
struct formula_number {
    uint64_t digits;
    int32_t exponent;
    bool negative, unknown;
    uint16_t begin, end;
};

/*
 * Tokens that are pending until the value behind them is complete: operators, brackets and calls.  Tokens from
 * FORMULA_OPEN on are pending until their ')'.
 */
enum formula_kind {
    FORMULA_ADD,
    FORMULA_SUBTRACT,
    FORMULA_MULTIPLY,
    FORMULA_DIVIDE,
    FORMULA_NEGATE,
    FORMULA_LESS,
    FORMULA_MORE,
    FORMULA_AT_MOST,
    FORMULA_AT_LEAST,
    FORMULA_OPEN,
    FORMULA_MIN,
    FORMULA_MAX,
    FORMULA_IF
};

/* By enum formula_kind: how strongly the token binds the value behind it; how many commas its brackets must have. */
static const uint8_t formula_binds[] = {2, 2, 3, 3, 4, 1, 1, 1, 1, 0, 0, 0, 0};
static const uint8_t formula_commas[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2};

/*
 * A pending token. `arguments`: how many values of its brackets are complete (each was followed by a comma). For an
 * `if`: `condition` is its condition; `undecided`: the condition's value is unknown; `skips`: by the condition, the
 * value that is being read is not the result.
 */
struct formula_pending {
    uint8_t kind, arguments;
    bool skips, condition, undecided;
    uint16_t begin;
};

struct formula {
    const char *text;
    const struct upmu_formula_values *values;
    struct upmu_why *why;
    size_t at;
    enum upmu_status status;
    bool estimated;
    unsigned skipping;  /* number of pending tokens with `skips`: events and names that are read get no value */
    unsigned undecided; /* number of pending tokens with `undecided`: a division by zero is no error */
    unsigned numbers, pendings;
    struct formula_number number[UPMU_FORMULA_DEPTH];
    struct formula_pending pending[UPMU_FORMULA_DEPTH];
};

/* ---- Numbers ---- */

static struct formula_number formula_normal(uint64_t digits, int32_t exponent, bool negative)
{
    struct formula_number number = {.digits = digits, .exponent = exponent, .negative = negative};

    if (!digits)
        return (struct formula_number){.digits = 0};
    for (; !(number.digits & FORMULA_TOP); number.exponent--)
        number.digits <<= 1;
    return number;
}

/*
 * Return the digits that a number has with a higher exponent, rounded down, to add it to a number with that exponent.
 */
static uint64_t formula_aligned(const struct formula_number *number, int32_t exponent)
{
    int32_t down = exponent - number->exponent;

    return down > 63 ? 0 : number->digits >> down;
}

static bool is_smaller(const struct formula_number *a, const struct formula_number *b)
{
    if (!a->digits || !b->digits)
        return !a->digits;
    return a->exponent != b->exponent ? a->exponent < b->exponent : a->digits < b->digits;
}

static struct formula_number formula_sum(struct formula_number a, struct formula_number b)
{
    uint64_t digits;

    if (is_smaller(&a, &b)) {
        struct formula_number swapped = a;

        a = b;
        b = swapped;
    }
    if (!b.digits)
        return a;
    digits = formula_aligned(&b, a.exponent);
    if (a.negative != b.negative)
        return formula_normal(a.digits - digits, a.exponent, a.negative);
    digits += a.digits;
    if (digits < a.digits)
        return formula_normal(digits >> 1 | FORMULA_TOP, a.exponent + 1, a.negative);
    return formula_normal(digits, a.exponent, a.negative);
}

/* The digits of the product are a / 2 × b / 2^63: 63 or 64 binary digits. */
static struct formula_number formula_product(const struct formula_number *a, const struct formula_number *b)
{
    return formula_normal(upmu_muldiv(a->digits >> 1, b->digits, FORMULA_TOP), a->exponent + b->exponent + 64,
                          a->negative != b->negative);
}

static struct formula_number formula_quotient(const struct formula_number *a, const struct formula_number *b)
{
    return formula_normal(upmu_muldiv(a->digits >> 1, FORMULA_TOP, b->digits), a->exponent - b->exponent - 62,
                          a->negative != b->negative);
}

static bool is_less(struct formula_number a, struct formula_number b)
{
    b.negative = !b.negative;
    a = formula_sum(a, b);
    return a.digits && a.negative;
}

/* Round a number to a whole number of millionths; false: it needs more than 63 bits. */
static bool to_millionths(const struct formula_number *number, int64_t *out_millionths)
{
    const struct formula_number million = formula_normal(1000000, 0, false);
    struct formula_number scaled = formula_product(number, &million);
    uint64_t value;

    *out_millionths = 0;
    if (!scaled.digits || scaled.exponent < -64)
        return true;
    if (scaled.exponent >= 0)
        return false;
    value = scaled.exponent > -64 ? scaled.digits >> -scaled.exponent : 0;
    value += scaled.digits >> (-scaled.exponent - 1) & 1u;
    if (value >= FORMULA_TOP)
        return false;
    *out_millionths = scaled.negative ? -(int64_t)value : (int64_t)value;
    return true;
}

/* ---- Stacks ---- */

static void formula_refuse(struct formula *f, enum upmu_status status, size_t begin, size_t end)
{
    if (f->status == UPMU_OK)
        f->status = upmu_why_refuse(f->why, status, NULL, f->text, begin, end - begin);
}

static void push_number(struct formula *f, struct formula_number number, size_t begin, size_t end)
{
    number.begin = (uint16_t)begin;
    number.end = (uint16_t)end;
    number.unknown |= f->skipping != 0;
    if (f->numbers == UPMU_FORMULA_DEPTH)
        formula_refuse(f, UPMU_ERR_NO_SPACE, begin, end);
    else
        f->number[f->numbers++] = number;
}

static void push_pending(struct formula *f, enum formula_kind kind, size_t begin)
{
    if (f->pendings == UPMU_FORMULA_DEPTH)
        formula_refuse(f, UPMU_ERR_NO_SPACE, begin, f->at);
    else
        f->pending[f->pendings++] = (struct formula_pending){.kind = (uint8_t)kind, .begin = (uint16_t)begin};
}

static struct formula_number formula_compute(struct formula *f, enum formula_kind kind, const struct formula_number *a,
                                             const struct formula_number *b)
{
    struct formula_number result = *b;

    if (a->unknown || b->unknown)
        return (struct formula_number){.unknown = true};
    switch (kind) {
    case FORMULA_ADD:
        return formula_sum(*a, *b);
    case FORMULA_SUBTRACT:
        result.negative = !b->negative;
        return formula_sum(*a, result);
    case FORMULA_MULTIPLY:
        return formula_product(a, b);
    case FORMULA_DIVIDE:
        if (b->digits)
            return formula_quotient(a, b);
        if (!f->undecided)
            formula_refuse(f, UPMU_ERR_DIVISION, b->begin, b->end);
        return *b;
    case FORMULA_LESS:
        return formula_normal(is_less(*a, *b), 0, false);
    case FORMULA_MORE:
        return formula_normal(is_less(*b, *a), 0, false);
    case FORMULA_AT_MOST:
        return formula_normal(!is_less(*b, *a), 0, false);
    case FORMULA_AT_LEAST:
        return formula_normal(!is_less(*a, *b), 0, false);
    case FORMULA_MIN:
        return is_less(*a, *b) ? *a : *b;
    case FORMULA_MAX:
    default:
        return is_less(*a, *b) ? *b : *a;
    }
}

/* Replace the two numbers on top of the stack by the result of an operation on them. */
static void formula_join(struct formula *f, enum formula_kind kind, size_t begin, size_t end)
{
    struct formula_number result;

    f->numbers -= 2;
    result = formula_compute(f, kind, &f->number[f->numbers], &f->number[f->numbers + 1]);
    push_number(f, result, begin, end);
}

/* Apply pending operators, the last one first, as long as they bind their values at least as strongly as `least`. */
static void formula_reduce(struct formula *f, unsigned least)
{
    while (f->status == UPMU_OK && f->pendings && formula_binds[f->pending[f->pendings - 1].kind] >= least) {
        const struct formula_pending *last = &f->pending[--f->pendings];

        if (last->kind == FORMULA_NEGATE) {
            f->number[f->numbers - 1].negative ^= true;
            f->number[f->numbers - 1].begin = last->begin;
        } else {
            formula_join(f, (enum formula_kind)last->kind, f->number[f->numbers - 2].begin,
                         f->number[f->numbers - 1].end);
        }
    }
}

/* ---- Words ---- */

static char byte_at(const struct formula *f)
{
    return f->text[f->at];
}

static bool is_formula_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    c = upmu_text_lower(c);
    return (c >= 'a' && c <= 'z') || c == '_';
}

static void skip_blanks(struct formula *f)
{
    while (byte_at(f) == ' ')
        f->at++;
}

/* Read a number (digits, and optionally a point with more digits), and push its value. */
static void take_formula_number(struct formula *f)
{
    size_t begin = f->at;
    uint64_t digits = 0, scale = 1;
    unsigned digit;
    bool point = false, fits = true;
    struct formula_number number, below;

    for (; is_formula_digit(byte_at(f)) || (byte_at(f) == '.' && !point); f->at++) {
        if (byte_at(f) == '.') {
            point = true;
            continue;
        }
        digit = (unsigned)(byte_at(f) - '0');
        fits = fits && (digits < UINT64_MAX / 10 || (digits == UINT64_MAX / 10 && digit <= UINT64_MAX % 10)) &&
               scale <= UINT64_MAX / 10;
        digits = digits * 10 + digit;
        scale *= point ? 10 : 1;
    }
    if (f->at == begin + point)
        formula_refuse(f, UPMU_ERR_FORMULA, begin, f->at);
    else if (!fits)
        formula_refuse(f, UPMU_ERR_BAD_VALUE, begin, f->at);
    number = formula_normal(digits, 0, false);
    below = formula_normal(scale, 0, false);
    push_number(f, scale > 1 ? formula_quotient(&number, &below) : number, begin, f->at);
}

/* Push the value that the caller's function gives for an event or name, whose text goes from `begin` to f->at. */
static void take_formula_value(struct formula *f, size_t begin, const struct upmu_formula_word *word)
{
    struct upmu_formula_value value = {.value = 0};
    struct formula_number number, divisor;
    enum upmu_status status = f->skipping ? UPMU_OK : f->values->value(f->values->context, word, &value);

    if (status == UPMU_OK && !value.unknown && value.quality != UPMU_QUALITY_EXACT &&
        value.quality != UPMU_QUALITY_SCALED)
        status = UPMU_ERR_NOT_COUNTED;
    if (status != UPMU_OK) {
        begin = (size_t)(word->text - f->text);
        formula_refuse(f, status, begin, begin + word->length);
        return;
    }
    f->estimated |= value.quality == UPMU_QUALITY_SCALED;
    number = formula_normal(value.value, 0, false);
    divisor = formula_normal(value.divisor, 0, false);
    if (value.divisor)
        number = formula_quotient(&number, &divisor);
    number.unknown = value.unknown;
    push_number(f, number, begin, f->at);
}

static void take_formula_event(struct formula *f)
{
    struct upmu_formula_word word = {.event = true};
    size_t begin = f->at++;

    word.text = f->text + f->at;
    while (byte_at(f) && byte_at(f) != '}' && byte_at(f) != '{')
        f->at++;
    word.length = f->at - begin - 1;
    if (byte_at(f) != '}' || !word.length) {
        formula_refuse(f, UPMU_ERR_FORMULA, begin, f->at);
        return;
    }
    f->at++;
    take_formula_value(f, begin, &word);
}

/* Read a name and push its value, or read the name of a call and its '('. Returns true for a call. */
static bool take_name_or_call(struct formula *f)
{
    static const struct {
        char name[4];
        uint8_t kind;
    } calls[] = {{"min", FORMULA_MIN}, {"max", FORMULA_MAX}, {"if", FORMULA_IF}};
    struct upmu_formula_word word = {.text = f->text + f->at};
    size_t begin = f->at;

    while (is_letter(byte_at(f)) || is_formula_digit(byte_at(f)))
        f->at++;
    word.length = f->at - begin;
    skip_blanks(f);
    if (byte_at(f) != '(') {
        f->at = begin + word.length;
        take_formula_value(f, begin, &word);
        return false;
    }
    f->at++;
    for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (upmu_text_is(word.text, word.length, calls[i].name)) {
            push_pending(f, (enum formula_kind)calls[i].kind, begin);
            return true;
        }
    }
    formula_refuse(f, UPMU_ERR_FORMULA, begin, begin + word.length);
    return true;
}

/* ---- Tokens where a value must begin, and behind a value ---- */

/* Read a value, or a token that stands before a value. Returns true if it was a value: then an operator must follow. */
static bool before_value(struct formula *f)
{
    char c = byte_at(f);

    if (is_formula_digit(c) || c == '.') {
        take_formula_number(f);
    } else if (c == '{') {
        take_formula_event(f);
    } else if (is_letter(c)) {
        return !take_name_or_call(f);
    } else {
        f->at += c != '\0';
        if (c == '-' || c == '(')
            push_pending(f, c == '-' ? FORMULA_NEGATE : FORMULA_OPEN, f->at - 1);
        else
            formula_refuse(f, UPMU_ERR_FORMULA, f->at - (c != '\0'), f->at);
        return false;
    }
    return true;
}

/*
 * Remove from the stack the condition of an `if`, which has been read, and decide by it which of the two values that
 * follow is the result.
 */
static void formula_decide(struct formula *f, struct formula_pending *last)
{
    const struct formula_number *condition = &f->number[--f->numbers];

    last->undecided = condition->unknown;
    f->undecided += last->undecided;
    last->condition = condition->digits != 0;
    last->skips = !last->undecided && !last->condition;
    f->skipping += last->skips;
}

static void next_part(struct formula *f, struct formula_pending *last)
{
    f->skipping -= last->skips;
    last->skips = !last->undecided && last->condition;
    f->skipping += last->skips;
}

/* Handle a ',', which ends an argument of a call. */
static void next_argument(struct formula *f)
{
    struct formula_pending *last;

    formula_reduce(f, 1);
    last = f->pendings ? &f->pending[f->pendings - 1] : NULL;
    if (!last || last->arguments == formula_commas[last->kind]) {
        formula_refuse(f, UPMU_ERR_FORMULA, f->at - 1, f->at);
        return;
    }
    last->arguments++;
    if (f->status == UPMU_OK && last->kind == FORMULA_IF && last->arguments == 1)
        formula_decide(f, last);
    else if (last->kind == FORMULA_IF)
        next_part(f, last);
}

/* Handle a ')', which ends a bracket or a call. */
static void close_bracket(struct formula *f)
{
    struct formula_pending *last;
    struct formula_number *number;

    formula_reduce(f, 1);
    last = f->pendings ? &f->pending[--f->pendings] : NULL;
    if (!last || last->arguments < formula_commas[last->kind])
        formula_refuse(f, UPMU_ERR_FORMULA, f->at - 1, f->at);
    if (f->status != UPMU_OK)
        return;
    if (last->kind == FORMULA_IF) {
        f->skipping -= last->skips;
        f->undecided -= last->undecided;
        number = &f->number[--f->numbers - 1];
        if (last->undecided)
            number->unknown = true;
        else if (!last->condition)
            *number = number[1];
    } else if (last->kind != FORMULA_OPEN) {
        formula_join(f, (enum formula_kind)last->kind, last->begin, f->at);
    }
    f->number[f->numbers - 1].begin = last->begin;
    f->number[f->numbers - 1].end = (uint16_t)f->at;
}

/* Read an operator, a comma or a ')' behind a value. Returns true if another value must follow. */
static bool behind_value(struct formula *f)
{
    static const char signs[] = "+-*/?<>";
    char c = f->text[f->at++];
    unsigned kind = 0;

    if (c == ')') {
        close_bracket(f);
        return false;
    }
    if (c == ',') {
        next_argument(f);
        return true;
    }
    while (signs[kind] && signs[kind] != c)
        kind++;
    if (!signs[kind] || c == '?') {
        formula_refuse(f, UPMU_ERR_FORMULA, f->at - 1, f->at);
        return true;
    }
    if (kind >= FORMULA_LESS && byte_at(f) == '=') {
        kind += FORMULA_AT_MOST - FORMULA_LESS;
        f->at++;
    }
    formula_reduce(f, kind >= FORMULA_LESS ? 2 : formula_binds[kind]);
    if (kind >= FORMULA_LESS && f->pendings && formula_binds[f->pending[f->pendings - 1].kind] == 1)
        formula_refuse(f, UPMU_ERR_FORMULA, f->at - 1, f->at); /* a second comparison: a < b < c */
    push_pending(f, (enum formula_kind)kind, f->at - 1);
    return true;
}

static void read_formula(struct formula *f)
{
    bool value_next = true;

    skip_blanks(f);
    while (f->status == UPMU_OK && (value_next || byte_at(f))) {
        value_next = value_next ? !before_value(f) : behind_value(f);
        skip_blanks(f);
    }
    formula_reduce(f, 1);
    if (f->status == UPMU_OK && f->pendings)
        formula_refuse(f, UPMU_ERR_FORMULA, f->pending[f->pendings - 1].begin, f->at);
}

enum upmu_status upmu_formula(const char *text, const struct upmu_formula_values *values,
                              struct upmu_formula_result *out_result, struct upmu_why *why)
{
    struct formula f = {.text = text, .values = values, .why = why};

    memset(out_result, 0, sizeof *out_result);
    upmu_why_clear(why);
    if (upmu_text_length(text) > UPMU_FORMULA_BYTES)
        return upmu_why_refuse(why, UPMU_ERR_NO_SPACE, NULL, text, UPMU_FORMULA_BYTES, 1);
    read_formula(&f);
    if (f.status != UPMU_OK)
        return f.status;
    out_result->unknown = f.number[0].unknown;
    if (out_result->unknown)
        return UPMU_OK;
    if (!to_millionths(&f.number[0], &out_result->millionths)) {
        memset(out_result, 0, sizeof *out_result);
        return upmu_why_refuse(why, UPMU_ERR_BAD_VALUE, NULL, text, 0, f.at);
    }
    out_result->quality = f.estimated ? UPMU_QUALITY_SCALED : UPMU_QUALITY_EXACT;
    return UPMU_OK;
}

#endif
