/* SPDX-License-Identifier: MIT */
/*
 * What a kernel makes of its samples goes over the serial line as it is made: folded stacks, perf.data, pprof's file
 * (examples/kernel/kernel_results.c).  Their sums are the samples, and each sample is of the function that ring 3 was
 * in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "tests/vm/vm.h"
#include "tests/vm/vm_kernel.h"

#define FUNCTIONS 4u
#define PERF_RECORD_SAMPLE 9u
#define PERF_HEADER_DATA                                                                                               \
    40u /* where its offset and size stand (Linux, tools/perf/Documentation/perf.data-file-format.txt) */

static struct vm vm;
static const char *const functions[FUNCTIONS] = {"main", "render", "shade", "blend"};

/* The text between the lines "results.begin" and "results.end". */
static const char *run_kernel(const char *profile, unsigned bits, const char *command, size_t *out_length)
{
    const char *begin, *end;

    vm_run_kernel(&vm, &(struct vm_guest){profile, NULL, bits, "", true}, NULL, "programs", command);
    vm_expect_no_violation(&vm);
    vm_expect(&vm, "results.end", "no error");
    assert_int_equal(vm_said(&vm, "results.lost"), 0);
    begin = strstr(vm.serial, "results.begin");
    begin += strcspn(begin, "\n") + 1;
    end = strstr(begin, "results.end");
    *out_length = (size_t)(end - begin);
    return begin;
}

/* Samples by the function that the instruction behind each period led to, as the monitor saw them. */
static unsigned samples_in(const char *function)
{
    uint64_t begin = vm_said(&vm, "results.%s.begin", function), end = vm_said(&vm, "results.%s.end", function);
    uint64_t period = vm_said(&vm, "results.period");
    unsigned found = 0;

    for (uint64_t at = period - 1; at < vm.seen_count; at += period)
        found += vm.seen[at] >= begin && vm.seen[at] < end;
    return found;
}

static bool is_a_stack(const char *line, size_t length)
{
    /* (Before a frame pointer is set and after it is gone the caller's is missing.) */
    static const char *const stacks[] = {"main",
                                         "main;render",
                                         "main;shade",
                                         "main;render;shade",
                                         "main;blend",
                                         "main;render;blend",
                                         "main;render;shade;blend",
                                         "render"};

    for (unsigned i = 0; i < sizeof stacks / sizeof stacks[0]; i++)
        if (strlen(stacks[i]) == length && memcmp(stacks[i], line, length) == 0)
            return true;
    return false;
}

static void check_folded(const char *profile, unsigned bits)
{
    size_t length;
    const char *at = run_kernel(profile, bits, "results", &length), *end = at + length;
    unsigned of[FUNCTIONS] = {0}, sum = 0, deepest = 0;

    while (at < end) {
        size_t line = strcspn(at, "\r\n"), stack = line, leaf;
        unsigned samples;

        while (stack && at[stack - 1] != ' ')
            stack--;
        samples = (unsigned)strtoul(at + stack, NULL, 10);
        stack -= stack != 0;
        if (!is_a_stack(at, stack))
            fail_msg("no stack of this program: %.*s", (int)line, at);
        leaf = stack;
        while (leaf && at[leaf - 1] != ';')
            leaf--;
        for (unsigned i = 0; i < FUNCTIONS; i++)
            if (strlen(functions[i]) == stack - leaf && memcmp(functions[i], at + leaf, stack - leaf) == 0)
                of[i] += samples;
        deepest += stack == strlen("main;render;shade;blend") ? samples : 0;
        sum += samples;
        at += line + strspn(at + line, "\r\n");
    }
    assert_int_equal(sum, vm_said(&vm, "results.samples"));
    assert_compare(sum, >, 25);
    for (unsigned i = 0; i < FUNCTIONS; i++)
        assert_int_equal(of[i], samples_in(functions[i]), i);
    /* Of its calls of blend, shade has three of four. */
    assert_in_range(deepest, of[3] / 2, of[3]);
    vm_close(&vm);
}

static uint64_t word(const uint8_t *bytes, unsigned count)
{
    uint64_t value = 0;

    for (unsigned i = count; i--;)
        value = value << 8 | bytes[i];
    return value;
}

/* The bytes that stand there in hexadecimal. */
static const uint8_t *run_binary(const char *profile, unsigned bits, const char *command, size_t *out_bytes)
{
    static uint8_t file[VM_SERIAL / 2];
    size_t length, bytes = 0;
    const char *text = run_kernel(profile, bits, command, &length);

    for (size_t i = 0; i + 1 < length; i++) {
        char digits[3] = {text[i], text[i + 1], 0};

        if (digits[0] == '\r' || digits[0] == '\n')
            continue;
        file[bytes++] = (uint8_t)strtoul(digits, NULL, 16);
        i++;
    }
    *out_bytes = bytes;
    return file;
}

static void check_perf(const char *profile, unsigned bits)
{
    size_t bytes, at, end;
    const uint8_t *file = run_binary(profile, bits, "results perf", &bytes);
    unsigned samples = 0;

    assert_true(bytes > 104 && memcmp(file, "PERFILE2", 8) == 0);
    at = (size_t)word(file + PERF_HEADER_DATA, 8);
    end = at + (size_t)word(file + PERF_HEADER_DATA + 8, 8);
    assert_compare(end, <=, bytes);
    while (at < end) {
        size_t record = (size_t)word(file + at + 6, 2);

        assert_true(record >= 8 && at + record <= end);
        samples += word(file + at, 4) == PERF_RECORD_SAMPLE;
        at += record;
    }
    assert_int_equal(samples, vm_said(&vm, "results.samples"));
    vm_close(&vm);
}

/* A number of protobuf's: seven bits in a byte, the lowest first (protobuf.dev, "Encoding"). */
static uint64_t take_varint(const uint8_t **at, const uint8_t *end)
{
    uint64_t value = 0;

    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        value |= (uint64_t)(**at & 0x7f) << shift;
        if (!(*(*at)++ & 0x80))
            return value;
    }
    fail_msg("a number has no end");
    return 0;
}

/* The first number of a message's field, or packed numbers; 0: the message does not have it. */
static uint64_t first_of(const uint8_t *at, const uint8_t *end, unsigned field)
{
    while (at < end) {
        uint64_t key = take_varint(&at, end), length;

        if ((key & 7) == 0) {
            uint64_t value = take_varint(&at, end);

            if (key >> 3 == field)
                return value;
            continue;
        }
        assert_int_equal(key & 7, 2);
        length = take_varint(&at, end);
        assert_compare(length, <=, (uint64_t)(end - at));
        if (key >> 3 == field)
            return take_varint(&at, at + length);
        at += length;
    }
    return 0;
}

/* profile.proto of pprof: field 2 is a sample, its field 2 the values, of which the first is how many. */
static void check_pprof(const char *profile, unsigned bits)
{
    size_t bytes;
    const uint8_t *at = run_binary(profile, bits, "results pprof", &bytes), *end = at + bytes;
    uint64_t samples = 0;

    while (at < end) {
        uint64_t key = take_varint(&at, end), length = take_varint(&at, end);

        if ((key & 7) == 0)
            continue;
        assert_true((key & 7) == 2 && length <= (uint64_t)(end - at));
        samples += key >> 3 == 2 ? first_of(at, at + length, 2) : 0;
        at += length;
    }
    assert_int_equal(samples, vm_said(&vm, "results.samples"));
    vm_close(&vm);
}

static void folded_stacks_over_the_serial_line_sum_up_to_the_samples(void **state)
{
    (void)state;
    check_folded("core2", 64);
    if (vm_soaks()) {
        check_folded("k8_revf", 32);
        check_folded("skylake", 64);
        check_folded("zen4", 32);
    }
}

static void perf_data_over_the_serial_line_has_each_sample(void **state)
{
    (void)state;
    check_perf("core2", 32);
    check_perf("zen4", 64);
}

static void pprofs_file_over_the_serial_line_has_each_sample(void **state)
{
    (void)state;
    check_pprof("core2", 64);
    check_pprof("k8_revf", 32);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(folded_stacks_over_the_serial_line_sum_up_to_the_samples),
    };
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(perf_data_over_the_serial_line_has_each_sample),
        cmocka_unit_test(pprofs_file_over_the_serial_line_has_each_sample),
    };
    int failed;

    if (!vm_able())
        return 0;
    failed = cmocka_run_group_tests_name("vm_results", tests, NULL, NULL);
    if (vm_soaks())
        failed += cmocka_run_group_tests_name("vm_results", others, NULL, NULL);
    else
        printf("1 of 4 guests, no perf.data and none of pprof's: all in make soak (VM_RUNS=soak)\n");
    return failed;
}
