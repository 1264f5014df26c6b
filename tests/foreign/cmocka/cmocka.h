/* SPDX-License-Identifier: MIT */
/*
 * As much of cmocka as the unit tests use that run on foreign machines: an assertion that fails ends its test, and the
 * program goes on with the next. So does a test that skips itself, which is neither passed nor failed.
 */
#ifndef FOREIGN_CMOCKA_H
#define FOREIGN_CMOCKA_H

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*test)(void **state);
    int (*setup)(void **state);
    int (*teardown)(void **state);
};

enum { CMOCKA_FAILED = 1, CMOCKA_SKIPPED };

static jmp_buf cmocka_end;

__attribute__((noreturn)) static void cmocka_fail(const char *what, const char *file, int line)
{
    printf("%s:%d: %s\n", file, line, what);
    longjmp(cmocka_end, CMOCKA_FAILED);
}

static int cmocka_run(const struct CMUnitTest *tests, unsigned count)
{
    volatile unsigned failed = 0, skipped = 0;

    for (volatile unsigned i = 0; i < count; i++) {
        void *state = NULL;

        if (tests[i].setup)
            (void)tests[i].setup(&state);
        switch (setjmp(cmocka_end)) {
        case 0:
            tests[i].test(&state);
            printf("[       OK ] %s\n", tests[i].name);
            break;
        case CMOCKA_SKIPPED:
            skipped++;
            printf("[  SKIPPED ] %s\n", tests[i].name);
            break;
        default:
            failed++;
            printf("[  FAILED  ] %s\n", tests[i].name);
        }
        if (tests[i].teardown)
            (void)tests[i].teardown(&state);
    }
    printf("%u passed, %u failed\n", count - failed - skipped, failed);
    return failed != 0;
}

#define cmocka_unit_test(f) {#f, f, NULL, NULL}
#define cmocka_unit_test_setup_teardown(f, s, t) {#f, f, s, t}
#define cmocka_unit_test_setup(f, s) {#f, f, s, NULL}
#define cmocka_unit_test_teardown(f, t) {#f, f, NULL, t}
#define cmocka_run_group_tests(tests, a, b) cmocka_run(tests, sizeof tests / sizeof tests[0])
#define cmocka_run_group_tests_name(name, tests, a, b) cmocka_run(tests, sizeof tests / sizeof tests[0])
#define cmocka_number(n) ((unsigned long long)(n))
#define assert_true(c, ...) ((c) ? (void)0 : cmocka_fail(#c, __FILE__, __LINE__))
#define assert_false(c, ...) assert_true(!(c))
#define assert_compare(a, op, b, ...) assert_true((a)op(b))
#define assert_int_equal(a, b, ...) assert_true(cmocka_number(a) == cmocka_number(b))
#define assert_int_not_equal(a, b, ...) assert_true(cmocka_number(a) != cmocka_number(b))
#define assert_in_range(n, a, b, ...)                                                                                  \
    assert_true(cmocka_number(n) >= cmocka_number(a) && cmocka_number(n) <= cmocka_number(b))
#define assert_ptr_equal(a, b, ...) assert_true((const void *)(a) == (const void *)(b))
#define assert_ptr_not_equal(a, b, ...) assert_true((const void *)(a) != (const void *)(b))
#define assert_null(a, ...) assert_true(!(a))
#define assert_non_null(a, ...) assert_true(a)
#define assert_string_equal(a, b) assert_true(strcmp(a, b) == 0)
#define assert_string_not_equal(a, b) assert_true(strcmp(a, b) != 0)
#define assert_memory_equal(a, b, n) assert_true(memcmp(a, b, n) == 0)
#define assert_memory_not_equal(a, b, n) assert_true(memcmp(a, b, n) != 0)
#define skip() longjmp(cmocka_end, CMOCKA_SKIPPED)
#define fail() cmocka_fail("fail()", __FILE__, __LINE__)
#define fail_msg(...) (printf(__VA_ARGS__), cmocka_fail("", __FILE__, __LINE__))
#define print_message(...) printf(__VA_ARGS__)
#define print_error(...) printf(__VA_ARGS__)

#endif
