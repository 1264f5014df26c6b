/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: the program around a target.
 *
 * As a test: FUZZ_SEED chooses the made inputs, FUZZ_RUNS how many (or "soak");
 * FUZZ_ONLY runs the one of that number; with files as arguments it runs just
 * these.  FUZZ_WRITE keeps made inputs in a folder instead of running them.
 * An input that fails is kept as build/fuzz/failed-TARGET.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

#define SEED UINT64_C(20160601)

uint64_t fuzz_calls;

static const uint8_t *current;
static size_t current_length;
static char current_name[300];

/* ---- Bytes ---- */

uint64_t fuzz_take(struct fuzz_bytes *bytes, unsigned count)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < count; i++)
        if (fuzz_more(bytes))
            value |= (uint64_t)*bytes->at++ << (8u * i);
    return value;
}

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled" (2016). */
uint64_t fuzz_random(uint64_t *state)
{
    uint64_t x = *state;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(2685821657736338717);
}

unsigned fuzz_below(uint64_t *state, unsigned limit)
{
    return (unsigned)((fuzz_random(state) >> 32) % limit);
}

uint64_t fuzz_word(uint64_t *state)
{
    uint64_t word = fuzz_random(state);

    switch (fuzz_below(state, 7)) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX >> (word & 63u);
    case 2:
        return UINT64_C(1) << (word & 63u);
    case 3:
        return word & 0xffu;
    case 4:
        return word & fuzz_random(state) & fuzz_random(state);
    case 5:
        return word & UINT32_MAX;
    default:
        return word;
    }
}

void fuzz_put(struct fuzz_draft *draft, uint64_t value, unsigned count)
{
    for (; count && draft->length < FUZZ_INPUT; count--, value >>= 8)
        draft->bytes[draft->length++] = (uint8_t)value;
}

void fuzz_put_text(struct fuzz_draft *draft, const char *text)
{
    while (*text)
        fuzz_put(draft, (uint8_t)*text++, 1);
}

/* ---- Failing ---- */

static void keep_input(void)
{
    char path[sizeof UPMU_SOURCE_DIR + 80];
    FILE *file;

    if (!current)
        return;
    mkdir(UPMU_SOURCE_DIR "/build", 0777);
    mkdir(UPMU_SOURCE_DIR "/build/fuzz", 0777);
    snprintf(path, sizeof path, UPMU_SOURCE_DIR "/build/fuzz/failed-%s", fuzz_target.name);
    file = fopen(path, "wb");
    if (!file)
        return;
    fwrite(current, 1, current_length, file);
    fclose(file);
    printf("input: %s; kept as %s\n", current_name, path);
    fflush(stdout);
}

#if FUZZ_LIBFUZZER

void fuzz_fail(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    keep_input();
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    if (length > FUZZ_INPUT)
        return -1;
    current = bytes;
    current_length = length;
    fuzz_target.run(bytes, length);
    return 0;
}

#else

#include "tests/common/assertions.h"

static int files_given;
static char **files;

void fuzz_fail(const char *format, ...)
{
    char text[300];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    keep_input();
    fail_msg("%s", text);
    abort();
}

/* A sanitizer ends the program: say with which input. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

/* An exact copy on the heap, so that reading behind the end is seen. */
static void run_one(const uint8_t *bytes, size_t length)
{
    uint8_t *copy = malloc(length ? length : 1);

    memcpy(copy, bytes, length);
    current = copy;
    current_length = length;
    fuzz_target.run(copy, length);
    current = NULL;
    free(copy);
}

static void run_file(const char *path)
{
    static uint8_t bytes[FUZZ_INPUT];
    FILE *file = fopen(path, "rb");
    size_t length;

    assert_non_null(file);
    length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    snprintf(current_name, sizeof current_name, "%s", path);
    run_one(bytes, length);
}

static void run_corpus(void **state)
{
    char path[sizeof UPMU_SOURCE_DIR + 400];
    unsigned count = 0;
    struct dirent *entry;
    DIR *folder;

    (void)state;
    for (int i = 0; i < files_given; i++)
        run_file(files[i]);
    if (files_given)
        return;
    snprintf(path, sizeof path, UPMU_SOURCE_DIR "/tests/fuzz/corpus/%s", fuzz_target.name);
    folder = opendir(path);
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, UPMU_SOURCE_DIR "/tests/fuzz/corpus/%s/%s", fuzz_target.name, entry->d_name);
        run_file(path);
        count++;
    }
    closedir(folder);
    printf("%s: %u inputs of the corpus\n", fuzz_target.name, count);
    assert_compare(count, >, 0);
}

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);

    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static void write_input(const char *folder, uint32_t number, const struct fuzz_draft *draft)
{
    char path[400];
    FILE *file;

    snprintf(path, sizeof path, "%s/made-%u", folder, (unsigned)number);
    file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(draft->bytes, 1, draft->length, file);
    fclose(file);
}

static void run_made(void **state)
{
    static uint8_t bytes[FUZZ_INPUT];
    const char *asked = getenv("FUZZ_RUNS"), *folder = getenv("FUZZ_WRITE");
    uint64_t seed = number_of("FUZZ_SEED", SEED), only = number_of("FUZZ_ONLY", 0);
    bool soak = asked && !strcmp(asked, "soak");
    uint64_t runs = soak ? fuzz_target.runs_of_soak : number_of("FUZZ_RUNS", fuzz_target.runs);

    (void)state;
    printf("%s: seed %llu, %llu made inputs", fuzz_target.name, (unsigned long long)seed, (unsigned long long)runs);
    if (runs < fuzz_target.runs_of_soak)
        printf(" (make soak: %u)", (unsigned)fuzz_target.runs_of_soak);
    printf("\n");
    for (uint32_t i = 1; i <= runs; i++) {
        struct fuzz_draft draft = {bytes, 0};
        uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15) + i * UINT64_C(0xD1B54A32D192ED03);

        if (only && only != i)
            continue;
        random += !random;
        (void)fuzz_random(&random);
        fuzz_target.make(&random, &draft);
        snprintf(current_name, sizeof current_name, "FUZZ_SEED=%llu FUZZ_ONLY=%u", (unsigned long long)seed, i);
        if (folder)
            write_input(folder, i, &draft);
        else
            run_one(draft.bytes, draft.length);
    }
    if (fuzz_calls)
        printf("%s: %llu calls of the library\n", fuzz_target.name, (unsigned long long)fuzz_calls);
    /* A target that counts keeps its promise in `make soak`, and a hundredth of ten million here. */
    if (fuzz_calls && !only && runs >= fuzz_target.runs)
        assert_compare(fuzz_calls, >=, !soak                       ? UINT64_C(100000)
                                   : fuzz_target.calls_of_soak ? fuzz_target.calls_of_soak
                                                               : UINT64_C(10000000));
}

int main(int count, char **arguments)
{
    char corpus[200], made[200];
    const struct CMUnitTest tests[] = {
        {corpus, run_corpus, NULL, NULL, NULL},
        {made, run_made, NULL, NULL, NULL},
    };

    snprintf(corpus, sizeof corpus, "%s_corpus", fuzz_target.holds);
    snprintf(made, sizeof made, "%s_seeded", fuzz_target.holds);
    files_given = count - 1;
    files = arguments + 1;
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(keep_input);
    if (files_given)
        return _cmocka_run_group_tests(fuzz_target.name, tests, 1, NULL, NULL);
    return cmocka_run_group_tests_name(fuzz_target.name, tests, NULL, NULL);
}

#endif
