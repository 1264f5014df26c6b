/* SPDX-License-Identifier: MIT */
/*
 * cmocka's assertions, with messages that say what was measured: both expressions and their values.  Variables behind
 * the arguments that cmocka has are printed, too, so that a loop says in which of its turns it failed.
 *
 *     assert_int_equal(read, 4);
 *     ERROR: a_ring_is_read: read is 3, not 4
 *     assert_int_equal(count[i].value, row[i].total, i);
 *     ERROR: totals: count[i].value is 7, not row[i].total, which is 9 (i = 2)
 *     assert_compare(steps, >, 20);
 *     ERROR: each_step: steps is 12, not > 20
 *
 * Numbers are hexadecimal where an expression is, and a status has its text.  The tests include this header in place of
 * cmocka's.
 */
#ifndef UPMU_TESTS_COMMON_ASSERTIONS_H
#define UPMU_TESTS_COMMON_ASSERTIONS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* On foreign machines tests run with another cmocka.h, which has these assertions with short messages. */
#ifndef FOREIGN_CMOCKA_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <upmu/status.h>

/* Weak: some programs of tests are linked without the library. */
extern __typeof__(upmu_status_text) upmu_status_text __attribute__((weak));

struct assertion {
    const char *text; /* the expressions on both sides, and the names of the variables: a line each */
    const char *relation; /* that has to hold between both sides, "" for ==; or what is wrong with one */
    const char *file, *function;
    int line;
    unsigned variables;
    const uintmax_t *value; /* of the variables */
};

#define ASSERTION_TEXT 200

/* Copy the first line of `text`, cut if it is long; returns the next line. */
static inline const char *assertion_line(const char *text, char out[ASSERTION_TEXT])
{
    size_t length = strcspn(text, "\n"), copied = length < ASSERTION_TEXT ? length : ASSERTION_TEXT - 1;

    memcpy(out, text, copied);
    out[copied] = '\0';
    return text + length + (text[length] == '\n');
}

static inline void assertion_number(char out[64], uintmax_t value, bool hexadecimal)
{
    if (value > UINTMAX_MAX - INT32_MAX)
        (void)snprintf(out, 64, hexadecimal ? "0x%jx" : "-%ju", hexadecimal ? value : 0 - value);
    else if (hexadecimal && value > 9)
        (void)snprintf(out, 64, "0x%jx", value);
    else if (value > UINT32_MAX)
        (void)snprintf(out, 64, "%ju (0x%jx)", value, value);
    else
        (void)snprintf(out, 64, "%ju", value);
}

static inline bool assertion_is_literal(const char *text)
{
    char *end;

    text += strncmp(text, "UINT64_C(", 9) == 0 ? 9 : 0;
    (void)strtoull(text, &end, 0);
    return end != text && end[strspn(end, "uUlL)")] == '\0';
}

/* End an error's line: which variables had which values; then end the test. */
static inline void assertion_end(const struct assertion *of, const char *names)
{
    char number[64];

    for (unsigned i = 0; i < of->variables; i++) {
        size_t length = strcspn(names += strspn(names, ", "), ",");

        assertion_number(number, of->value[i], false);
        print_error("%s%.*s = %s%s", i ? ", " : " (", (int)length, names, number, i + 1 == of->variables ? ")" : "");
        names += length;
    }
    print_error("\n");
    _fail(of->file, of->line);
}

/* Begin an error's line, behind the line with the test's name, which is in another stream. */
static inline void assertion_begin(const struct assertion *of, const char *side)
{
    (void)fflush(stdout);
    print_error("ERROR: %s: %s", of->function, side);
}

/* An expression that does not hold. */
__attribute__((noinline, cold, unused)) static void assertion_of_truth(const struct assertion *of)
{
    char side[ASSERTION_TEXT];
    const char *names = assertion_line(of->text, side);

    assertion_begin(of, side);
    print_error(" %s", of->relation);
    assertion_end(of, names);
}

/* A number that is not what it has to be. */
__attribute__((noinline, cold, unused)) static void assertion_of_numbers(const struct assertion *of, uintmax_t first,
                                                                         uintmax_t second)
{
    char side[2][ASSERTION_TEXT], number[2][64];
    const char *names = assertion_line(assertion_line(of->text, side[0]), side[1]);
    bool hexadecimal = strstr(side[0], "0x") != NULL || strstr(side[1], "0x") != NULL;
    bool is_status = strcmp(side[1], "UPMU_OK") == 0 || strncmp(side[1], "UPMU_ERR_", 9) == 0;

    assertion_number(number[0], first, hexadecimal);
    assertion_number(number[1], second, hexadecimal);
    assertion_begin(of, side[0]);
    print_error(" is %s", number[0]);
    if (is_status && upmu_status_text != NULL)
        print_error(" (%s)", upmu_status_text((enum upmu_status)first));
    print_error(", not %s%s", of->relation, side[1]);
    if (!is_status && !assertion_is_literal(side[1]))
        print_error(", which is %s", number[1]);
    assertion_end(of, names);
}

/* A text or a part of memory that is not what it has to be; cmocka says how they differ. */
__attribute__((noinline, cold, unused)) static void assertion_of_bytes(const struct assertion *of)
{
    char side[2][ASSERTION_TEXT];

    (void)assertion_line(assertion_line(of->text, side[0]), side[1]);
    assertion_begin(of, side[0]);
    print_error(" is not %s\n", side[1]);
}

#define ASSERTION(text, relation, ...)                                                                                 \
    (&(const struct assertion){text, relation, __FILE__, __func__, __LINE__,                                           \
                               sizeof((const uintmax_t[]){0, ##__VA_ARGS__}) / sizeof(uintmax_t) - 1,                  \
                               &((const uintmax_t[]){0, ##__VA_ARGS__})[1]})
#define ASSERTION_NUMBERS(a, op, b, texts, relation, ...)                                                              \
    ({                                                                                                                 \
        const uintmax_t first_ = cast_to_largest_integral_type(a), second_ = cast_to_largest_integral_type(b);         \
        if (!(first_ op second_))                                                                                      \
            assertion_of_numbers(ASSERTION(texts, relation, ##__VA_ARGS__), first_, second_);                          \
    })

#undef assert_true
#undef assert_false
#undef assert_null
#undef assert_non_null
#undef assert_int_equal
#undef assert_int_not_equal
#undef assert_ptr_equal
#undef assert_ptr_not_equal
#undef assert_in_range
#undef assert_string_equal
#undef assert_string_not_equal
#undef assert_memory_equal
#undef assert_memory_not_equal

#define ASSERTION_TRUTH(holds, texts, relation, ...)                                                                   \
    ({                                                                                                                 \
        if (!(holds))                                                                                                  \
            assertion_of_truth(ASSERTION(texts, relation, ##__VA_ARGS__));                                             \
    })

#define assert_true(c, ...)                                                                                            \
    ASSERTION_TRUTH(cast_to_largest_integral_type(c), #c "\n" #__VA_ARGS__, "does not hold", ##__VA_ARGS__)
#define assert_false(c, ...)                                                                                           \
    ASSERTION_TRUTH(!cast_to_largest_integral_type(c), #c "\n" #__VA_ARGS__, "holds", ##__VA_ARGS__)
#define assert_null(c, ...)                                                                                            \
    ASSERTION_TRUTH(!cast_ptr_to_largest_integral_type(c), #c "\n" #__VA_ARGS__, "is not NULL", ##__VA_ARGS__)
#define assert_non_null(c, ...)                                                                                        \
    ASSERTION_TRUTH(cast_ptr_to_largest_integral_type(c), #c "\n" #__VA_ARGS__, "is NULL", ##__VA_ARGS__)
#define assert_int_equal(a, b, ...)                                                                                    \
    ASSERTION_NUMBERS(a, ==, b, #a "\n" #b "\n" #__VA_ARGS__, "", ##__VA_ARGS__)
#define assert_int_not_equal(a, b, ...)                                                                                \
    ASSERTION_NUMBERS(a, !=, b, #a "\n" #b "\n" #__VA_ARGS__, "!= ", ##__VA_ARGS__)
#define assert_ptr_equal(a, b, ...)                                                                                    \
    ASSERTION_NUMBERS((uintptr_t)(a), ==, (uintptr_t)(b), #a "\n" #b "\n" #__VA_ARGS__, "", ##__VA_ARGS__)
#define assert_ptr_not_equal(a, b, ...)                                                                                \
    ASSERTION_NUMBERS((uintptr_t)(a), !=, (uintptr_t)(b), #a "\n" #b "\n" #__VA_ARGS__, "!= ", ##__VA_ARGS__)
#define assert_in_range(a, least, most, ...)                                                                           \
    ({                                                                                                                 \
        const uintmax_t first_ = cast_to_largest_integral_type(a), least_ = cast_to_largest_integral_type(least);      \
        const uintmax_t most_ = cast_to_largest_integral_type(most);                                                   \
        if (first_ < least_)                                                                                           \
            assertion_of_numbers(ASSERTION(#a "\n" #least "\n" #__VA_ARGS__, ">= ", ##__VA_ARGS__), first_, least_);   \
        if (first_ > most_)                                                                                            \
            assertion_of_numbers(ASSERTION(#a "\n" #most "\n" #__VA_ARGS__, "<= ", ##__VA_ARGS__), first_, most_);     \
    })
/* Two numbers as C compares them: a signed one with a signed one may be negative. */
#define assert_compare(a, op, b, ...)                                                                                  \
    ({                                                                                                                 \
        const __typeof__(1 ? +(a) : +(b)) first_ = (a), second_ = (b);                                                 \
        if (!(first_ op second_))                                                                                      \
            assertion_of_numbers(ASSERTION(#a "\n" #b "\n" #__VA_ARGS__, #op " ", ##__VA_ARGS__), (uintmax_t)first_,   \
                                 (uintmax_t)second_);                                                                  \
    })

#define assert_string_equal(a, b)                                                                                      \
    ({                                                                                                                 \
        const char *const first_ = (const char *)(a), *const second_ = (const char *)(b);                              \
        if (strcmp(first_, second_) != 0)                                                                              \
            assertion_of_bytes(ASSERTION(#a "\n" #b, ""));                                                             \
        _assert_string_equal(first_, second_, __FILE__, __LINE__);                                                     \
    })
#define assert_memory_equal(a, b, size)                                                                                \
    ({                                                                                                                 \
        const void *const first_ = (a), *const second_ = (b);                                                          \
        const size_t size_ = (size);                                                                                   \
        if (memcmp(first_, second_, size_) != 0)                                                                       \
            assertion_of_bytes(ASSERTION(#a "\n" #b, ""));                                                             \
        _assert_memory_equal(first_, second_, size_, __FILE__, __LINE__);                                              \
    })
#define assert_string_not_equal(a, b) assert_compare(strcmp(a, b), !=, 0)
#define assert_memory_not_equal(a, b, size) assert_compare(memcmp(a, b, size), !=, 0)

#endif
#endif
