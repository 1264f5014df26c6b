/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: the reader of logs and all that is made of them (`upmu convert`).  Any bytes are a log or are refused.  Of
 * a log, folded stacks and perf.data have as many samples as it, lengths that were counted are those that are
 * written, and no work area is written beyond its end.  A sound log is then cut and changed: each record that salvage
 * gives is at its place as it was written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/logs.h"
#include "tests/fuzz/fuzz.h"
#include <upmu/results.h>
#include <upmu/upmu.h>

/* Samples, one for each event of each; 0 if some name no event. */
static uint64_t samples_of(const uint8_t *bytes, size_t length)
{
    struct upmu_log_reader reader;
    struct upmu_log_item item;
    uint64_t samples = 0;

    FUZZ_CHECK(upmu_log_open(&reader, bytes, length) == UPMU_OK, "opened once only");
    while (upmu_log_next(&reader, &item)) {
        volatile uint8_t seen;

        FUZZ_CHECK(item.kind >= UPMU_LOG_MACHINE && item.kind <= UPMU_LOG_END, "kind %u", item.kind);
        if (item.kind == UPMU_LOG_EVENT && item.of.event.catalogue.length)
            seen = (uint8_t)item.of.event.catalogue.at[item.of.event.catalogue.length - 1];
        if (item.kind != UPMU_LOG_SAMPLE)
            continue;
        samples += (unsigned)__builtin_popcount(item.of.sample.events);
        FUZZ_CHECK(item.of.sample.value.count == (unsigned)__builtin_popcount(item.of.sample.values), "values");
        for (unsigned i = 0; i < item.of.sample.frame.count; i++)
            seen = (uint8_t)upmu_log_word(item.of.sample.frame, i);
        for (unsigned i = 0; i < item.of.sample.registers.count; i++)
            seen = (uint8_t)upmu_log_word(item.of.sample.registers, i);
        for (unsigned i = 0; i < item.of.sample.branch.count; i++)
            seen = (uint8_t)upmu_log_word(item.of.sample.branch, i);
        FUZZ_CHECK(item.of.sample.branch.count % 3 == 0 && !(item.of.sample.parts >> 8), "parts");
        (void)seen;
    }
    return samples;
}

/* The numbers behind the last blanks of the lines. */
static uint64_t folded_samples(const uint8_t *bytes, size_t length)
{
    uint64_t sum = 0, number = 0;

    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '\n')
            sum += number;
        number = bytes[i] == ' ' ? 0 : number * 10 + (bytes[i] - (unsigned)'0');
    }
    return sum;
}

static uint64_t word(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;

    while (bytes--)
        value = value << 8 | at[bytes];
    return value;
}

/* Records of the data section, which end where it does. */
static uint64_t perf_samples(const uint8_t *bytes, size_t length)
{
    uint64_t at = word(bytes + 40, 8), end = at + word(bytes + 48, 8), samples = 0;

    FUZZ_CHECK(length >= 104 && end <= length && word(bytes + 8, 8) == 104, "sections of perf.data");
    while (at < end) {
        uint64_t size = word(bytes + at + 6, 2);

        FUZZ_CHECK(size >= 8 && size % 8 == 0 && size <= end - at, "%u bytes in a record", (unsigned)size);
        samples += word(bytes + at, 4) == 9;
        at += size;
    }
    return samples;
}

static void convert(const uint8_t *bytes, size_t length, size_t work_bytes, bool salvage)
{
    static enum upmu_status (*const forms[])(const struct upmu_results *, struct upmu_output *) = {
        upmu_results_folded, upmu_results_pprof, upmu_results_perf, upmu_results_kallsyms};
    uint64_t samples = salvage ? 0 : samples_of(bytes, length);

    for (unsigned form = 0; form < 4; form++) {
        void *work = malloc(work_bytes ? work_bytes : 1); /* the sanitizer watches its end */
        struct upmu_results results = {
            .log = bytes, .log_bytes = length, .work = work, .work_bytes = work_bytes, .salvage = salvage};
        struct upmu_output output = {.buffer = NULL, .size = 0};
        enum upmu_status status = forms[form](&results, &output);

        FUZZ_CHECK(status == UPMU_OK || status == UPMU_ERR_NO_SPACE || status == UPMU_ERR_DAMAGED, "status %d", status);
        if (status == UPMU_ERR_NO_SPACE && output.length) {
            size_t needed = output.length;
            uint8_t *room = malloc(needed);

            output = (struct upmu_output){.buffer = room, .size = needed};
            FUZZ_CHECK(forms[form](&results, &output) == UPMU_OK && output.length == needed, "form %u: what it needs",
                       form);
            FUZZ_CHECK(form != 0 || salvage || folded_samples(room, needed) == samples, "folded samples");
            FUZZ_CHECK(form != 2 || perf_samples(room, needed) == samples || salvage, "samples of perf.data");
            free(room);
        }
        free(work);
    }
}

/* A sound log with one byte changed, and cut. */
static void salvage(const struct made_log *log, size_t change, size_t cut, size_t work)
{
    struct upmu_log_salvaged salvaged;
    struct upmu_log_reader reader;
    struct upmu_log_item item;
    uint8_t *bytes = malloc(cut ? cut : 1); /* the sanitizer watches its end */

    memcpy(bytes, log->bytes, cut);
    if (change < cut)
        bytes[change] ^= (uint8_t)(1u << change % 8);
    if (upmu_log_salvage(&reader, bytes, cut, &salvaged) == UPMU_OK) {
        while (upmu_log_next(&reader, &item)) {
            uint64_t size = word(bytes + reader.item, 4);

            FUZZ_CHECK(reader.item + size <= cut && !memcmp(bytes + reader.item, log->bytes + reader.item, size),
                       "a record that was not written");
        }
        FUZZ_CHECK(salvaged.left < cut && (!salvaged.ended || cut == log->length), "what is left");
        convert(bytes, cut, work, true);
    }
    free(bytes);
}

/* As it is; and with the numbers of the end and the checks made right, so that more than these is tried. */
static void run(const uint8_t *bytes, size_t length)
{
    static struct made_log mended;
    struct upmu_log_reader reader;
    size_t work = length ? bytes[length / 2] * UINT64_C(64) : 0;

    if (upmu_log_open(&reader, bytes, length) == UPMU_OK)
        convert(bytes, length, work, false);
    if (length < 16)
        return;
    memcpy(mended.bytes, bytes, length);
    memcpy(mended.bytes, "upmu-log\2\0\0\0\0\0\0\0", 16);
    mended.length = 16;
    mended.records = mended.samples = 0;
    while (mended.length + 8 <= length) { /* as many records as there are */
        uint64_t size = word(mended.bytes + mended.length, 4), kind = word(mended.bytes + mended.length + 4, 4);

        if (size < 16 || size % 8 || size > length - mended.length || kind == 8)
            break;
        mended.record = mended.length;
        mended.length += size;
        mended.records++;
        made_check(&mended);
        mended.samples += kind == 6 || kind == 9;
    }
    made_close(&mended, bytes[15], bytes[14]);
    if (upmu_log_open(&reader, mended.bytes, mended.length) != UPMU_OK)
        return;
    convert(mended.bytes, mended.length, work, false);
    salvage(&mended, (size_t)(bytes[0] * 77u + bytes[length - 1]) % mended.length, mended.length, work);
    salvage(&mended, mended.length, (size_t)(bytes[length - 2] * 91u + bytes[length / 3]) % mended.length, work);
}

static void make(uint64_t *random, struct fuzz_draft *draft)
{
    static struct made_log log;
    static const char *const names[] = {"", "a", "main;x", "function\n\377", "a name of a function that is longer"};

    made_open(&log, names[fuzz_below(random, 5)]);
    for (unsigned i = fuzz_below(random, 4); i; i--)
        made_event(&log, fuzz_below(random, 2), fuzz_below(random, 3), fuzz_word(random), fuzz_word(random),
                   names[fuzz_below(random, 5)]);
    for (unsigned i = fuzz_below(random, 3); i; i--)
        made_symbol(&log, fuzz_below(random, 64), 64 + fuzz_word(random) / 2, names[fuzz_below(random, 5)]);
    if (!fuzz_below(random, 3))
        made_task(&log, fuzz_below(random, 3), fuzz_below(random, 3), names[fuzz_below(random, 5)]);
    if (!fuzz_below(random, 3))
        made_mapping(&log, 1, fuzz_below(random, 64), fuzz_word(random), names[fuzz_below(random, 5)]);
    while (log.length + 200 < FUZZ_INPUT && fuzz_below(random, 8)) {
        struct made_sample sample = {
            .source = fuzz_below(random, 2), .flags = fuzz_below(random, 16), .cpu = fuzz_below(random, 4),
            .events = 1u << fuzz_below(random, 3) | fuzz_below(random, 2), .lost = fuzz_below(random, 2),
            .ip = fuzz_below(random, 3) ? fuzz_below(random, 128) : fuzz_word(random), .time_ns = fuzz_word(random),
            .period = fuzz_below(random, 2) ? fuzz_word(random) : 0, .frames = fuzz_below(random, 4)};

        for (unsigned i = 0; i < sample.frames; i++)
            sample.frame[i] = fuzz_below(random, 128);
        if (!fuzz_below(random, 3)) {
            sample.parts = fuzz_below(random, 256) & 0xbfu;
            sample.exact = fuzz_below(random, 2);
            sample.retire = sample.parts & 128 ? fuzz_below(random, 99) : 0;
            sample.branches = sample.parts & 32 ? fuzz_below(random, 4) : 0;
            sample.part[fuzz_below(random, 4)] = fuzz_word(random);
            sample.branch[fuzz_below(random, 9)] = fuzz_word(random);
        }
        made_sample(&log, &sample);
    }
    made_close(&log, fuzz_below(random, 3), fuzz_below(random, 3));
    if (log.length > FUZZ_INPUT)
        log.length = FUZZ_INPUT;
    memcpy(draft->bytes, log.bytes, log.length);
    draft->length = log.length;
    if (!fuzz_below(random, 3))
        for (unsigned changes = 1 + fuzz_below(random, 3); changes; changes--)
            draft->bytes[fuzz_below(random, (unsigned)draft->length)] = (uint8_t)fuzz_word(random);
}

const struct fuzz_target fuzz_target = {
    "log", "any_bytes_are_a_log_with_all_its_samples_or_refused", 4000, 1000000, run, make, 0};
