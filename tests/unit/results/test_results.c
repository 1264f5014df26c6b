/* SPDX-License-Identifier: MIT */
/*
 * Logs and what is made of them (upmu/results.h).  Class of mistakes: a file that looks whole and is not; a sample
 * that is in the log and in no form of it; a length that two parts of the code say differently.
 */
#include <stdlib.h>
#include <upmu/branches.h>
#include <upmu/catalogs.h>
#include <upmu/precise.h>
#include <upmu/results.h>
#include <upmu/session.h>

#include "tests/common/host.h"
#include "tests/common/logs.h"

#define WORK_WORDS 8192u

static uint64_t work[WORK_WORDS];
static uint8_t room[1 << 16];
static struct made_log made;

static enum upmu_status (*const forms[])(const struct upmu_results *, struct upmu_output *) = {
    upmu_results_folded, upmu_results_pprof, upmu_results_perf, upmu_results_kallsyms};
#define FORMS (sizeof forms / sizeof forms[0])

static struct upmu_results of_made(void)
{
    return (struct upmu_results){.log = made.bytes, .log_bytes = made.length, .work = work, .work_bytes = sizeof work};
}

static const char *folded(const struct upmu_results *results)
{
    struct upmu_output output = {.buffer = room, .size = sizeof room - 1};

    assert_int_equal(upmu_results_folded(results, &output), UPMU_OK);
    room[output.length] = '\0';
    return (const char *)room;
}

/* Two CPUs with two events each, callers, samples of every kind. */
static void make_mixed(void)
{
    struct made_sample sample = {.ip = 0x1004, .events = 1, .process = 7, .thread = 8, .time_ns = 50};

    made_open(&made, "made by hand");
    made_event(&made, 0, 0, 0x3c, 1000, "cycles");
    made_event(&made, 1, 0, 0x3c, 1000, "cycles");
    made_event(&made, 0, 1, 0xc0, 0, "instructions"); /* counted */
    made_event(&made, 0, 2, 0x2e, 50, "misses");
    made_symbol(&made, 0x2000, 0x2100, "second");
    made_symbol(&made, 0x1000, 0x1100, "first");
    made_task(&made, 7, 8, "worker");
    made_mapping(&made, 7, 0x400000, 0x401000, "/bin/worker");
    made_sample(&made, &sample);
    sample.ip = 0x1008; /* the same function */
    made_sample(&made, &sample);
    sample.source = 1;
    sample.cpu = 1;
    made_sample(&made, &sample);
    sample.source = 0;
    sample.events = 5; /* two events at once, with callers */
    sample.frames = 2;
    sample.frame[0] = 0x2050;
    sample.frame[1] = 0x9999;
    sample.lost = 3;
    made_sample(&made, &sample);
    sample.lost = sample.frames = 0;
    sample.events = 4;
    sample.period = 77;
    sample.ip = 0;
    sample.flags = UPMU_SAMPLE_NO_FRAME;
    made_sample(&made, &sample);
    sample.flags = UPMU_SAMPLE_USER;
    sample.ip = 0x400123;
    made_sample(&made, &sample);
    made_close(&made, 5, 2);
}

static void a_log_of_a_session_says_what_it_counted_and_sampled(void **state)
{
    struct upmu_sampling plain = {.period = 400}, extended = {.period = 100, .event_id = 9, .values = 1};
    struct upmu_output output = {.buffer = room, .size = sizeof room};
    struct upmu_count counts[2];
    struct upmu_log_reader reader;
    struct upmu_log_item item;
    struct upmu_session *sessions[1];
    struct upmu_log log;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    host.process = 5;
    host.thread = 6;
    assert_int_equal(upmu_set_add(&host.session.set, "cycles", &plain), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", &extended), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
    assert_int_equal(upmu_log_begin(&log, &output, "the model", 12345), UPMU_OK);
    assert_int_equal(upmu_log_session(&log, &host.session, 3), UPMU_OK);
    assert_int_equal(upmu_log_task(&log, 5, 6, "task"), UPMU_OK);
    assert_int_equal(upmu_log_symbol(&log, 0x1000, 0x2000, "code"), UPMU_OK);
    assert_int_equal(upmu_log_mapping(&log, 5, 0x1000, 0x3000, 0x40, "file"), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 250);
    assert_int_equal(upmu_log_samples(&log, &host.session, 3), UPMU_OK);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    host.session.set.tally[0].lost = 17; /* as if 17 periods had been too short */
    assert_int_equal(upmu_set_read(&host.session.set, 0, 2, counts), UPMU_OK);
    assert_int_equal(upmu_log_counts(&log, 3, 0, counts, 2), UPMU_OK);
    sessions[0] = &host.session;
    assert_int_equal(upmu_log_end(&log, sessions, 1, 99999), UPMU_OK);

    /* What stands at the places that the description names. */
    assert_memory_equal(room, "upmu-log\2\0\0\0\0\0\0\0", 16);
    assert_int_equal(output.length % 8, 0);
    {
        const uint32_t *first = (const uint32_t *)(const void *)(room + 16);
        uint32_t first_check = made_crc(0, room + 16, first[0] - 4), check;

        memcpy(&check, room + 16 + first[0] - 4, 4);
        assert_int_equal(check, first_check);
        memcpy(&check, room + output.length - 4, 4);
        assert_int_equal(check, made_crc(first_check + 11, room + output.length - 56, 52));
    }

    assert_int_equal(upmu_log_open(&reader, room, output.length), UPMU_OK);
    assert_true(upmu_log_next(&reader, &item) && item.kind == UPMU_LOG_MACHINE);
    assert_int_equal(item.of.machine.time_ns, 12345);
    assert_int_equal(item.of.machine.version, UPMU_VERSION);
    assert_memory_equal(item.of.machine.name.at, "the model", item.of.machine.name.length);
    for (unsigned i = 0; i < 2; i++) {
        const struct upmu_event *event = &host.session.set.event[i];
        char name[100];

        assert_true(upmu_log_next(&reader, &item) && item.kind == UPMU_LOG_EVENT);
        assert_int_equal(item.of.event.source, 3);
        assert_int_equal(item.of.event.event, i);
        assert_int_equal(item.of.event.period, i ? 100 : 400, i);
        assert_int_equal(item.of.event.event_id, i ? 9 : 0, i);
        assert_int_equal(item.of.event.values, i);
        assert_memory_equal(&item.of.event.id, &event->id, sizeof event->id);
        assert_int_equal(item.of.event.config, event->config);
        assert_int_equal(item.of.event.attributes, event->attributes);
        assert_int_equal(item.of.event.origin, UPMU_SOURCE_BUILT_IN);
        assert_int_equal(item.of.event.name.length, upmu_event_format(&host.machine.pmu[0], event, name, sizeof name));
        assert_memory_equal(item.of.event.name.at, name, strlen(name));
        assert_int_equal(item.of.event.pmu.length, strlen(host.machine.pmu[0].name));
        assert_int_not_equal(item.of.event.catalogue.length, 0);
    }
    assert_true(upmu_log_next(&reader, &item) && item.kind == UPMU_LOG_TASK);
    assert_int_equal(item.of.task.process, 5);
    assert_int_equal(item.of.task.thread, 6);
    assert_true(upmu_log_next(&reader, &item) && item.kind == UPMU_LOG_SYMBOL);
    assert_true(item.of.range.start == 0x1000 && item.of.range.end == 0x2000 && item.of.range.name.length == 4);
    assert_true(upmu_log_next(&reader, &item) && item.kind == UPMU_LOG_MAPPING);
    assert_true(item.of.range.offset == 0x40 && item.of.range.process == 5);
    for (unsigned i = 0; i < 3; i++) { /* instructions at 100, both at 200 in two records */
        const struct upmu_log_sample *sample = &item.of.sample;

        assert_true(upmu_log_next(&reader, &item) && item.kind == UPMU_LOG_SAMPLE);
        assert_int_equal(sample->source, 3);
        assert_int_equal(sample->ip, i ? 0x10c8 : 0x1064, i);
        assert_int_equal(sample->events, i == 2 ? 1 : 2, i);
        assert_int_equal(sample->values, i == 2 ? 0 : 1, i);
        assert_int_equal(sample->value.count, i == 2 ? 0 : 1, i);
        assert_int_equal(sample->period, i == 2 ? 0 : 100, i);
        assert_int_equal(sample->process, i == 2 ? 0 : 5, i);
        assert_int_equal(sample->thread, i == 2 ? 0 : 6, i);
        assert_int_equal(sample->event_id, i == 2 ? 0 : 9, i);
        if (sample->value.count)
            assert_in_range(upmu_log_word(sample->value, 0), i ? 399 : 199, i ? 400 : 200, i);
        assert_int_equal(upmu_log_word(sample->value, sample->value.count), 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_true(upmu_log_next(&reader, &item) && item.kind == UPMU_LOG_COUNT);
        assert_int_equal(item.of.count.event, i);
        assert_int_equal(item.of.count.value, counts[i].value, i);
        assert_int_equal(item.of.count.raw, counts[i].raw, i);
        assert_int_equal(item.of.count.quality, counts[i].quality, i);
        assert_int_equal(item.of.count.enabled_ns, counts[i].enabled_ns, i);
        assert_int_equal(item.of.count.running_ns, counts[i].running_ns, i);
        assert_int_equal(counts[i].lost, i ? 0 : 17, i);
        assert_int_equal(item.of.count.lost, counts[i].lost, i);
    }
    assert_true(upmu_log_next(&reader, &item) && item.kind == UPMU_LOG_END);
    assert_int_equal(item.of.total.records, 11);
    assert_int_equal(item.of.total.samples, 3);
    assert_int_equal(item.of.total.lost, 0);
    assert_int_equal(item.of.total.time_ns, 99999);
    assert_false(upmu_log_next(&reader, &item));
    host_end(&host);
}

/* The whole name of an event with many unit masks, longer than a short buffer has room for. */
static void a_log_has_long_names_of_events_whole(void **state)
{
    static const char text[] = "bsq_cache_reference:rd_2ndl_hits:rd_2ndl_hite:rd_2ndl_hitm:rd_3rdl_hits:rd_3rdl_hite:"
                               "rd_3rdl_hitm:rd_2ndl_miss:rd_3rdl_miss:wr_2ndl_miss:u:e:c=15:i:counter=1:g";
    struct upmu_output output = {.buffer = room, .size = sizeof room};
    struct upmu_log_reader reader;
    struct upmu_log_item item;
    struct upmu_log log;
    struct host host;
    char name[1024];
    size_t length;

    (void)state;
    host_set_up(&host, "northwood");
    assert_int_equal(upmu_set_add(&host.session.set, text, NULL), UPMU_OK);
    length = upmu_event_format(&host.machine.pmu[0], &host.session.set.event[0], name, sizeof name);
    assert_in_range(length, 161, 1023);
    assert_int_equal(upmu_log_begin(&log, &output, "the model", 1), UPMU_OK);
    assert_int_equal(upmu_log_session(&log, &host.session, 3), UPMU_OK);
    assert_int_equal(upmu_log_end(&log, NULL, 0, 2), UPMU_OK);
    assert_int_equal(upmu_log_open(&reader, room, output.length), UPMU_OK);
    do
        assert_true(upmu_log_next(&reader, &item));
    while (item.kind != UPMU_LOG_EVENT);
    assert_int_equal(item.of.event.name.length, length);
    assert_memory_equal(item.of.event.name.at, name, length);
    host_end(&host);
}

/* Losses of the ring, also those that no later sample reported, and what the log's buffer had no room for. */
static void a_short_buffer_and_a_short_ring_are_told_in_a_whole_log(void **state)
{
    struct upmu_sampling sampling = {.period = 100};

    (void)state;
    for (size_t size = 256; size < 2000; size += 40) {
        struct upmu_output output = {.buffer = room, .size = size};
        struct upmu_log_reader reader;
        struct upmu_log_item item = {0};
        struct upmu_session *sessions[1];
        struct upmu_log log;
        struct host host;
        uint64_t samples = 0;

        host_set_up(&host, "skylake");
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, 512), UPMU_OK);
        assert_int_equal(upmu_log_begin(&log, &output, "", 0), UPMU_OK);
        if (upmu_log_session(&log, &host.session, 0) != UPMU_OK)
            assert_compare(size, <, 320);
        host_begin(&host, &host.session);
        for (unsigned i = 0; i < 4; i++) {
            host_run(&host, 1000); /* ten samples, for nine places */
            if (i < 3)
                assert_int_equal(upmu_log_samples(&log, &host.session, 0), UPMU_OK);
        }
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(upmu_log_samples(&log, &host.session, 0), UPMU_OK);
        sessions[0] = &host.session;
        assert_int_equal(upmu_log_end(&log, sessions, 1, 0), UPMU_OK);
        assert_compare(output.length, <=, size);
        assert_int_equal(upmu_log_open(&reader, room, output.length), UPMU_OK);
        while (upmu_log_next(&reader, &item))
            samples += item.kind == UPMU_LOG_SAMPLE;
        assert_int_equal(item.of.total.samples, samples);
        assert_int_equal(item.of.total.samples + item.of.total.lost + item.of.total.cut, 40);
        assert_int_equal(item.of.total.lost, upmu_ring_lost(&host.session.ring));
        assert_true(size < 256 + 36 * 88 ? item.of.total.cut != 0 : true);
        host_end(&host);
    }
}

/* A log that could begin can end: its head counts as well as its first record. */
static void every_log_that_begins_can_end(void **state)
{
    char name[600];
    struct upmu_log log;

    (void)state;
    for (size_t length = 0; length + 1 < sizeof name; length++) {
        memset(name, 'm', length);
        name[length] = '\0';
        for (size_t size = 256; size < 800; size += 8) {
            struct upmu_output output = {.buffer = room, .size = size};
            enum upmu_status status = upmu_log_begin(&log, &output, name, 0);
            bool fits = size >= 16 + 8 * ((8 + 14 + length + 4 + 7) / 8) + 56;

            assert_int_equal(status, fits ? UPMU_OK : UPMU_ERR_NO_SPACE);
            if (fits)
                assert_int_equal(upmu_log_end(&log, NULL, 0, 0), UPMU_OK);
        }
    }
}

/* ---- Outputs that fail ---- */

struct stopping {
    unsigned left; /* calls that succeed */
    bool failed;
    size_t length;
    uint8_t bytes[1 << 14];
};

static bool stopping_write(void *context, const void *bytes, size_t length)
{
    struct stopping *stopping = context;

    assert_false(stopping->failed); /* not called again */
    assert_in_range(length, 1, 64);
    if (!stopping->left--) {
        stopping->failed = true;
        return false;
    }
    memcpy(stopping->bytes + stopping->length, bytes, length);
    stopping->length += length;
    return true;
}

static void an_output_that_stops_is_an_error_at_every_place(void **state)
{
    static struct stopping stopping;

    (void)state;
    make_mixed();
    for (unsigned form = 0; form < FORMS; form++) {
        struct upmu_results results = of_made();
        enum upmu_status status = UPMU_ERR_WRITE;

        for (unsigned calls = 0; status != UPMU_OK; calls++) {
            struct upmu_output output = {.write = stopping_write, .context = &stopping};

            stopping.left = calls;
            stopping.failed = false;
            stopping.length = 0;
            status = forms[form](&results, &output);
            assert_int_equal(status, stopping.failed ? UPMU_ERR_WRITE : UPMU_OK);
            assert_int_equal(output.length, stopping.length);
        }
        /* The function gets the bytes of the buffer. */
        struct upmu_output output = {.buffer = room, .size = sizeof room};

        assert_int_equal(forms[form](&results, &output), UPMU_OK, form);
        assert_int_equal(output.length, stopping.length);
        assert_memory_equal(room, stopping.bytes, output.length);
    }
}

static void a_log_whose_output_stops_is_refused_by_every_reader(void **state)
{
    static struct stopping stopping;
    enum upmu_status status = UPMU_ERR_WRITE;

    (void)state;
    for (unsigned calls = 0; status != UPMU_OK; calls++) {
        struct upmu_output output = {.write = stopping_write, .context = &stopping};
        struct upmu_sample sample = {.ip = 0x1234, .events = 1};
        struct upmu_record record = {.sample = &sample};
        struct upmu_log_reader reader;
        struct upmu_log log;

        stopping.left = calls;
        stopping.failed = false;
        stopping.length = 0;
        status = upmu_log_begin(&log, &output, "machine", 1);
        if (status == UPMU_OK)
            status = upmu_log_sample(&log, &record, 0);
        if (status == UPMU_OK)
            status = upmu_log_task(&log, 1, 2, "a name that needs more than one call of the function that writes");
        if (status == UPMU_OK)
            status = upmu_log_end(&log, NULL, 0, 2);
        if (status != UPMU_OK) {
            assert_int_equal(status, UPMU_ERR_WRITE);
            assert_int_equal(upmu_log_sample(&log, &record, 0), UPMU_ERR_WRITE);
            assert_int_equal(upmu_log_symbol(&log, 1, 2, "x"), UPMU_ERR_WRITE);
            assert_int_equal(upmu_log_end(&log, NULL, 0, 2), UPMU_ERR_WRITE);
        }
        assert_int_equal(upmu_log_open(&reader, stopping.bytes, stopping.length),
                         status == UPMU_OK ? UPMU_OK : UPMU_ERR_DAMAGED);
    }
}

static void a_buffer_that_is_too_short_is_untouched_and_told_the_need(void **state)
{
    (void)state;
    make_mixed();
    for (unsigned form = 0; form < FORMS; form++) {
        struct upmu_results results = of_made();
        struct upmu_output output = {.buffer = NULL, .size = 0};
        size_t needed;

        assert_int_equal(forms[form](&results, &output), UPMU_ERR_NO_SPACE, form);
        needed = output.length;
        assert_true(needed > 20 && needed < sizeof room);
        for (size_t size = needed - 20; size <= needed; size++) {
            output = (struct upmu_output){.buffer = room, .size = size};
            memset(room, 0xee, needed + 1);
            assert_int_equal(forms[form](&results, &output), size < needed ? UPMU_ERR_NO_SPACE : UPMU_OK, form);
            assert_int_equal(output.length, needed);
            for (size_t i = size < needed ? 0 : needed; i <= needed; i++)
                assert_int_equal(room[i], 0xee, i);
        }
    }
}

static void a_short_work_area_is_refused_one_that_fits_changes_nothing(void **state)
{
    static uint8_t whole[1 << 14];

    (void)state;
    make_mixed();
    for (unsigned form = 0; form < FORMS; form++) {
        struct upmu_results results = of_made();
        struct upmu_output output = {.buffer = whole, .size = sizeof whole};
        enum upmu_status status = UPMU_ERR_NO_SPACE;
        size_t length;

        assert_int_equal(forms[form](&results, &output), UPMU_OK, form);
        length = output.length;
        for (size_t bytes = 0; status != UPMU_OK; bytes += 4) {
            output = (struct upmu_output){.buffer = room, .size = sizeof room};
            results.work_bytes = bytes;
            results.work = &work[WORK_WORDS - bytes / 8]; /* the sanitizer watches its end */
            status = forms[form](&results, &output);
            assert_true(status == UPMU_OK || status == UPMU_ERR_NO_SPACE);
            assert_int_equal(output.length, status == UPMU_OK ? length : 0);
            assert_compare(bytes, <, sizeof work);
        }
        assert_memory_equal(room, whole, length);
        /* As upmu/results.h says: four events, two symbols, six stacks, six addresses. */
        assert_compare(results.work_bytes, <=, 40 * (4 + 2) + 48 * 6 + 8 * 6);
    }
}

static void every_log_that_is_cut_or_changed_is_refused(void **state)
{
    struct upmu_log_reader reader;

    (void)state;
    make_mixed();
    assert_int_equal(upmu_log_open(&reader, made.bytes, made.length), UPMU_OK);
    for (size_t length = 0; length < made.length; length++)
        assert_int_equal(upmu_log_open(&reader, made.bytes, length), UPMU_ERR_DAMAGED);
    for (size_t i = 0; i < made.length; i++) {
        made.bytes[i] ^= 0x10;
        assert_int_equal(upmu_log_open(&reader, made.bytes, made.length),
                         i >= 8 && i < 16 ? UPMU_ERR_VERSION : UPMU_ERR_DAMAGED, i);
        made.bytes[i] ^= 0x10;
    }
    made.bytes[made.length] = 0;
    assert_int_equal(upmu_log_open(&reader, made.bytes, made.length + 8), UPMU_ERR_DAMAGED);
}

/* Each record that is given stands at its place in the log of make_mixed(), byte for byte; how many are given. */
static unsigned given_as_written(const uint8_t *log, size_t length, struct upmu_log_salvaged *salvaged)
{
    struct upmu_log_reader reader;
    struct upmu_log_item item;
    unsigned given = 0;
    uint32_t bytes;

    if (upmu_log_salvage(&reader, log, length, salvaged) != UPMU_OK) {
        assert_int_equal(salvaged->records, 0);
        return 0;
    }
    while (upmu_log_next(&reader, &item)) {
        memcpy(&bytes, log + reader.item, 4);
        assert_compare(reader.item + bytes, <=, made.length);
        assert_memory_equal(log + reader.item, made.bytes + reader.item, bytes);
        given++;
    }
    assert_int_equal(given, salvaged->records);
    return given;
}

/* Class of mistake: a crash or one bad byte costs the whole log, or salvage gives what was never written. */
static void salvage_gives_each_sound_record_of_a_damaged_log(void **state)
{
    static uint8_t log[sizeof made.bytes];
    struct upmu_log_salvaged salvaged;
    unsigned all;

    (void)state;
    make_mixed();
    all = (unsigned)made.records;
    assert_int_equal(given_as_written(made.bytes, made.length, &salvaged), all);
    assert_true(salvaged.ended && salvaged.dropped == 0 && salvaged.left == 0);
    for (size_t length = 0; length < made.length; length++) {
        unsigned whole = 0;
        uint8_t *cut = malloc(length ? length : 1); /* the sanitizer watches its end */
        uint32_t bytes;
        size_t at;

        memcpy(cut, made.bytes, length);
        for (at = 16; at + 4 <= length; at += bytes, whole++) {
            memcpy(&bytes, made.bytes + at, 4);
            if (at + bytes > length)
                break;
        }
        assert_int_equal(given_as_written(cut, length, &salvaged), whole);
        assert_int_equal(salvaged.dropped, 0);
        assert_false(salvaged.ended);
        assert_int_equal(salvaged.left, whole ? length - at : 0);
        free(cut);
    }
    for (size_t at = 16, next; at < made.length; at = next) {
        uint32_t bytes;

        memcpy(&bytes, made.bytes + at, 4);
        next = at + bytes;
        for (size_t i = at; i < next; i++) {
            unsigned given;

            memcpy(log, made.bytes, made.length);
            log[i] ^= (uint8_t)(1u << i % 8);
            given = given_as_written(log, made.length, &salvaged);
            if (i >= at + 4) { /* all others */
                assert_int_equal(given, all - 1);
                assert_int_equal(salvaged.ended, next != made.length);
                assert_int_equal(salvaged.dropped, next != made.length);
                assert_int_equal(salvaged.left, next != made.length ? 0 : bytes);
            }
        }
    }
    /* Records that changed places, and records of another log, are not sound. */
    made_open(&made, "m");
    made_symbol(&made, 0x2000, 0x2100, "a");
    made_symbol(&made, 0x3000, 0x3100, "b");
    made_close(&made, 0, 0);
    memcpy(log, made.bytes, made.length);
    memcpy(log + 48, made.bytes + 96, 48);
    memcpy(log + 96, made.bytes + 48, 48);
    assert_int_equal(made.length, 48 + 2 * 48 + 56);
    assert_int_equal(given_as_written(log, made.length, &salvaged), 2);
    made_open(&made, "n");
    made_symbol(&made, 0x2000, 0x2100, "a");
    memcpy(made.bytes + made.length, log + made.length, sizeof log - made.length);
    assert_int_equal(given_as_written(made.bytes, 48 + 2 * 48 + 56, &salvaged), 2);
}

/* Class of mistake: what the engine knows to be missing is in no result. */
static void lost_periods_are_in_perf_data_and_in_pprofs_comments(void **state)
{
    struct upmu_output output = {.buffer = room, .size = sizeof room};
    struct upmu_results results;
    unsigned records = 0;

    (void)state;
    made_open(&made, "m");
    made_event(&made, 0, 0, 1, 10, "first");
    made_event(&made, 0, 1, 2, 10, "second");
    made_count(&made, 0, 1, 3);
    made_count(&made, 0, 0, 0);
    made_count(&made, 0, 1, 0x4d2); /* counts go on: the last one holds */
    made_close(&made, 0, 0);
    results = of_made();
    assert_int_equal(upmu_results_perf(&results, &output), UPMU_OK);
    for (size_t at = 104 + 16 + 2 * 144; room[at] == 2 || room[at] == 10; at += room[at + 6]) {
        records++;
        assert_int_equal(room[at], 2, at);     /* LOST */
        assert_int_equal(room[at + 8], 2, at); /* of the second */
        assert_int_equal(room[at + 16] | room[at + 17] << 8, 1234, at);
    }
    assert_int_equal(records, 1);
    assert_int_equal(upmu_results_pprof(&results, &output), UPMU_OK);
    for (size_t i = 0; i < output.length; i++)
        room[i] = room[i] ? room[i] : ' ';
    room[output.length] = '\0';
    assert_non_null(strstr((char *)room, "1234 periods without a sample: second"));
    assert_null(strstr((char *)room, "without a sample: first"));
}

static uint64_t word_at(size_t at, unsigned bytes)
{
    uint64_t value = 0;

    while (bytes--)
        value = value << 8 | (uint8_t)room[at + bytes];
    return value;
}

/*
 * Class of mistake: a file that perf reads and the compilers' tools do not: llvm-profgen and perf2bolt look at MMAP2
 * alone, llvm-profgen 14 refuses one of process -1, so the kernel's mapping is MMAP, of thread 0 as perf writes it; and
 * branch_sample_type is behind the end of an attribute of 64 bytes.
 * Offsets: include/uapi/linux/perf_event.h.
 */
static void perf_data_has_attributes_of_128_bytes_and_mmap2_mappings(void **state)
{
    struct upmu_output output = {.buffer = room, .size = sizeof room};
    struct upmu_results results;
    size_t at, end;
    unsigned mappings = 0, kernels = 0;

    (void)state;
    make_mixed();
    results = of_made();
    assert_int_equal(upmu_results_perf(&results, &output), UPMU_OK);
    assert_int_equal(word_at(16, 8), 128 + 16);
    for (at = word_at(24, 8), end = at + word_at(32, 8); at < end; at += 144) {
        assert_int_equal(word_at(at + 4, 4), 128);
        assert_true(word_at(at + 40, 8) >> 23 & 1);
        for (unsigned i = 64; i < 128; i++)
            assert_int_equal(room[at + i], 0, at, i);
    }
    for (at = word_at(40, 8), end = at + word_at(48, 8); at < end; at += word_at(at + 6, 2)) {
        if (word_at(at, 4) == 1) {
            kernels++;
            assert_int_equal(word_at(at + 4, 2), 1); /* PERF_RECORD_MISC_KERNEL */
            assert_int_equal(word_at(at + 8, 8), 0xffffffff);
            assert_int_equal(word_at(at + 16, 8) % 4096, 0);
            assert_int_equal(word_at(at + 24, 8) % 4096, 0);
            assert_int_equal(word_at(at + 32, 8), 0);
            assert_string_equal((char *)room + at + 40, "[kernel.kallsyms]_text");
            assert_int_equal(word_at(at + 6, 2), 40 + 24 + 32);
        }
        if (word_at(at, 4) != 10 || word_at(at + 8, 4) != 7)
            continue;
        mappings++;
        assert_int_equal(word_at(at + 16, 8), 0x400000);
        assert_int_equal(word_at(at + 24, 8), 0x1000);
        for (unsigned i = 40; i < 64; i++)
            assert_int_equal(room[at + i], 0, at, i);
        assert_int_equal(word_at(at + 64, 4), 5); /* read, execute */
        assert_int_equal(word_at(at + 68, 4), 2); /* private */
        assert_string_equal((char *)room + at + 72, "/bin/worker");
    }
    assert_int_equal(mappings, 1);
    assert_int_equal(kernels, 1);
}

/* A branch, with the words of its entry. */
static struct upmu_branch branch_number(unsigned n)
{
    return (struct upmu_branch){0x1000u + n, UINT64_C(0xffff800000002000) + n, UINT64_C(1) << (n & 63)};
}

/* Each set of parts comes out of a log as it went in; what stands at its place in the log is what the page says. */
static void a_log_keeps_the_parts_of_precise_samples(void **state)
{
    const unsigned kept = 0xbf; /* all but UPMU_PART_COUNTERS */
    static struct upmu_branch branch[255];
    uint64_t registers[18];

    (void)state;
    for (unsigned i = 0; i < 255; i++)
        branch[i] = branch_number(i);
    for (unsigned i = 0; i < 18; i++)
        registers[i] = UINT64_C(0x0101010101010101) * i;
    for (unsigned turn = 0; turn < 512; turn++) {
        static const unsigned branches[] = {0, 1, 32, 255};
        struct upmu_output output = {.buffer = room, .size = sizeof room};
        struct upmu_sample sample = {.ip = 0x1234, .events = 1};
        struct upmu_record record = {.sample = &sample,
                                     .parts = (uint16_t)(turn & 255u),
                                     .retire = 0x4321,
                                     .exact = turn >> 8,
                                     .address = 1,
                                     .source = UINT64_C(1) << 63,
                                     .weight = 3,
                                     .transaction = UINT64_MAX,
                                     .registers = registers,
                                     .branch = branch,
                                     .branches = branches[turn % 4]};
        struct upmu_log_reader reader;
        struct upmu_log_item item;
        struct upmu_log log;
        const struct upmu_log_sample *got = &item.of.sample;

        assert_int_equal(upmu_log_begin(&log, &output, "", 0), UPMU_OK);
        assert_int_equal(upmu_log_sample(&log, &record, 5), UPMU_OK);
        assert_int_equal(upmu_log_end(&log, NULL, 0, 0), UPMU_OK);
        assert_int_equal(upmu_log_open(&reader, room, output.length), UPMU_OK, turn);
        assert_true(upmu_log_next(&reader, &item) && item.kind == UPMU_LOG_MACHINE);
        assert_int_equal(room[16 + 32 + 4], record.exact || record.parts & kept ? 9 : 6, turn);
        assert_true(upmu_log_next(&reader, &item) && item.kind == UPMU_LOG_SAMPLE);
        assert_int_equal(got->source, 5);
        assert_int_equal(got->ip, 0x1234);
        assert_int_equal(got->parts, record.parts & kept, turn);
        assert_int_equal(got->exact, record.exact, turn);
        assert_int_equal(got->retire, record.parts & UPMU_PART_RETIRE ? 0x4321 : 0, turn);
        assert_int_equal(got->address, record.parts & UPMU_PART_ADDRESS ? 1 : 0, turn);
        assert_int_equal(got->data_source, record.parts & UPMU_PART_SOURCE ? UINT64_C(1) << 63 : 0, turn);
        assert_int_equal(got->weight, record.parts & UPMU_PART_WEIGHT ? 3 : 0, turn);
        assert_int_equal(got->transaction, record.parts & UPMU_PART_TRANSACTION ? UINT64_MAX : 0, turn);
        assert_int_equal(got->registers.count, record.parts & UPMU_PART_REGISTERS ? 18 : 0, turn);
        for (unsigned i = 0; i < got->registers.count; i++)
            assert_int_equal(upmu_log_word(got->registers, i), registers[i], i);
        assert_int_equal(got->branch.count, record.parts & UPMU_PART_BRANCHES ? 3 * record.branches : 0, turn);
        for (unsigned i = 0; i < got->branch.count; i++)
            assert_int_equal(upmu_log_word(got->branch, i),
                             i % 3 == 0   ? branch[i / 3].from
                             : i % 3 == 1 ? branch[i / 3].to
                                          : branch[i / 3].info,
                             i);
        assert_true(upmu_log_next(&reader, &item) && item.kind == UPMU_LOG_END);
        assert_int_equal(item.of.total.samples, 1);
    }
}

/* A log whose precise sample says what cannot be is refused. */
static void a_precise_sample_that_cannot_be_is_refused(void **state)
{
    static const struct {
        unsigned parts, retire, exact, branches;
        bool fine;
    } cases[] = {{0xbf, 9, 1, 2, true}, {0xbf | 64, 9, 1, 2, false}, {0x100, 0, 1, 0, false}, {0x8000, 0, 1, 0, false},
                 {1, 0, 2, 0, false},   {1, 9, 0, 0, false},         {1, 0, 0, 2, false},     {0, 0, 1, 0, true}};

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct made_sample sample = {.ip = 1, .events = 1, .parts = cases[i].parts, .retire = cases[i].retire};
        struct upmu_log_reader reader;

        sample.exact = cases[i].exact;
        sample.branches = cases[i].branches;
        made_open(&made, "m");
        made_event(&made, 0, 0, 1, 10, "e");
        made_sample(&made, &sample);
        made_close(&made, 0, 0);
        assert_int_equal(upmu_log_open(&reader, made.bytes, made.length), cases[i].fine ? UPMU_OK : UPMU_ERR_DAMAGED,
                         i);
    }
}

/*
 * Addresses, weights, sources and branches of samples in perf.data.  The order of a sample's fields, and the fields of
 * a source: include/uapi/linux/perf_event.h; what a code means: Linux 6.12 arch/x86/events/intel/ds.c.
 */
static void perf_data_has_the_parts_of_precise_samples(void **state)
{
    static const struct {
        const char *pmu;
        uint64_t config, word, source, weight;
    } cases[] = {
        /* load: 2, level << 5, snoop << 19, lock << 24, TLB << 26, number << 33, remote 37, forward 38, block << 40 */
        {"skl", 0x5301cd, 0x01, 0x10268100142, 0x21},  /* L1 */
        {"skl", 0x5301cd, 0x33, 0x10452100442, 0x21},  /* L2, TLB missed, locked */
        {"skl", 0x5301cd, 0x08, 0x10868200042, 0x21},  /* a cache of level 4, snoop hit */
        {"skx", 0x5301cd, 0x09, 0x13c68200042, 0x21},  /* persistent memory, remote */
        {"skl", 0x5301cd, 0x0c, 0x17668000042, 0x21},  /* another cache, forwarded */
        {"snb", 0x5301cd, 0x0c, 0x11a68501042, 0x21},  /* memory, no snoop or a miss */
        {"snb", 0x5301cd, 0x07, 0x10668800842, 0x21},  /* L3, modified */
        {"nhm", 0x53100b, 0x05, 0x10605200842, 0x21},  /* Nehalem: a snoop hit; no TLB, no lock */
        {"wsm", 0x53100b, 0x16, 0x10650800842, 0x21},  /* Westmere: modified, TLB missed */
        {"spr", 0x5301cd, 0x41, 0x20268100142, 0x154}, /* data blocked; the cache's latency */
        {"spr", 0x5301cd, 0xc1, 0x60268100142, 0x154}, /* and the address */
        {"skl", 0x5301d1, 0x01, 0x11e05080021, 0x21},  /* another event: not available */
        {"zen4", 0x5301cd, 0x01, 0x11e05080021, 0x21},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct upmu_output output = {.buffer = room, .size = sizeof room};
        struct made_sample sample = {
            .ip = 0x1004, .events = 1, .time_ns = 50, .parts = 0xbf, .exact = 1, .branches = 2};
        struct upmu_results results;
        size_t at, end;
        unsigned samples = 0;

        sample.part[0] = UINT64_C(0x7fff12345678);
        sample.part[1] = cases[i].word;
        sample.part[2] = UINT64_C(0x015400000021);
        for (unsigned k = 0; k < 6; k++)
            sample.branch[k] =
                k == 2   ? UINT64_C(0xe030000000000007) /* mispredicted, in a transaction, aborted; 3; 7 cycles */
                : k == 5 ? UINT64_C(0x0f8000ff0000ffff) /* predicted */
                         : 0x400000u + k;
        made_open(&made, "m");
        made.pmu = cases[i].pmu;
        made_event(&made, 0, 0, cases[i].config, 10, "e");
        made_sample(&made, &sample);
        sample.parts = sample.exact = sample.branches = 0;
        made_sample(&made, &sample);
        made_close(&made, 0, 0);
        results = of_made();
        assert_int_equal(upmu_results_perf(&results, &output), UPMU_OK);
        assert_int_equal(word_at(72, 8), UINT64_C(1) << 12 | UINT64_C(1) << 15 | UINT64_C(1) << 21);
        at = word_at(24, 8); /* the attribute */
        assert_int_equal(word_at(at + 24, 8), 0x10187 | 1u << 3 | 1u << 11 | 1u << 14 | 1u << 15);
        assert_int_equal(word_at(at + 72, 8), 0xb);
        for (at = word_at(40, 8), end = at + word_at(48, 8); at < end; at += word_at(at + 6, 2)) {
            size_t more = at + 8 + 7 * 8;

            if (word_at(at, 4) != 9)
                continue;
            assert_int_equal(word_at(at + 4, 2), samples ? 1 : 1 | 1u << 14, samples); /* kernel, exact */
            assert_int_equal(word_at(at + 6, 2), samples ? 8 + 7 * 8 + 3 * 8 : 8 + 7 * 8 + 9 * 8, samples);
            assert_int_equal(word_at(at + 16, 8), 0x1004);
            assert_int_equal(word_at(at + 40, 8), samples ? 0 : UINT64_C(0x7fff12345678), samples);
            assert_int_equal(word_at(more, 8), samples ? 0 : 2, samples);
            if (!samples) {
                assert_int_equal(word_at(more + 8, 8), 0x400000);
                assert_int_equal(word_at(more + 16, 8), 0x400001);
                assert_int_equal(word_at(more + 24, 8), 1 | 4 | 8 | 7 << 4 | 3 << 24);
                assert_int_equal(word_at(more + 48, 8), 2 | 0xffff << 4);
                more += 48;
            }
            assert_int_equal(word_at(more + 8, 8), samples ? 0 : cases[i].weight, i, samples);
            assert_int_equal(word_at(more + 16, 8), samples ? UINT64_C(0x11e05080021) : cases[i].source, i, samples);
            samples++;
        }
        assert_int_equal(samples, 2);
    }
}

/* Class of mistake: a form gives a salvaged sample without its event to another event, or refuses the rest. */
static void forms_of_a_damaged_log_have_what_is_sound_if_asked_to(void **state)
{
    struct upmu_output output = {.buffer = room, .size = sizeof room};
    struct upmu_results results;
    uint32_t bytes;

    (void)state;
    make_mixed();
    memcpy(&bytes, made.bytes + 16, 4);
    for (unsigned i = 0; i < 3; i++) /* the fourth event, misses */
        bytes += made.bytes[16 + bytes];
    made.bytes[16 + bytes + 40] ^= 1;
    made.length -= 8;
    results = of_made();
    for (unsigned form = 0; form < FORMS; form++)
        assert_int_equal(forms[form](&results, &output), UPMU_ERR_DAMAGED, form);
    results.salvage = true;
    for (unsigned form = 0; form < FORMS; form++)
        assert_int_equal(forms[form](&results, &output), UPMU_OK, form);
    assert_string_equal(folded(&results), "first 3\n0x9999;second;first 1\n");
}

/* Class of mistake: a checksum is right, and what stands under it is believed. */
static void a_log_with_a_right_checksum_is_refused_for_what_it_says(void **state)
{
    struct upmu_output output = {.buffer = room, .size = sizeof room};
    struct upmu_log_reader reader;
    struct upmu_results results;
    struct made_sample sample = {.ip = 1, .events = 1};

    (void)state;
    for (unsigned wrong = 0; wrong < 8; wrong++) {
        made_open(&made, "machine");
        made_event(&made, 0, wrong == 1 ? 32 : 0, 0x3c, 5, "cycles");
        if (wrong == 2)
            made_symbol(&made, 8, 8, "empty");
        if (wrong == 3)
            made_open(&made, "machine"), made.bytes[20] = 99, made_check(&made), made_event(&made, 0, 0, 0, 5, "e");
        sample.events = wrong == 4 ? 0 : 1;
        sample.frames = 0;
        made_sample(&made, &sample);
        if (wrong == 5)
            made.bytes[made.record + 8 + 6] = 1, made_check(&made); /* a frame that is not there */
        if (wrong == 6)
            made.samples++;
        made_close(&made, 0, 0);
        if (wrong == 7) /* an end in the middle */
            made_close(&made, 0, 0);
        assert_int_equal(upmu_log_open(&reader, made.bytes, made.length), wrong ? UPMU_ERR_DAMAGED : UPMU_OK);
    }
    /* A record of a kind that this version does not know is passed over. */
    made_open(&made, "machine");
    made_event(&made, 0, 0, 0x3c, 5, "cycles");
    made_begin(&made, 77);
    made_put(&made, 1, 3);
    made_end(&made);
    sample.events = 1;
    made_sample(&made, &sample);
    made_close(&made, 0, 0);
    results = of_made();
    assert_string_equal(folded(&results), "0x1 1\n");
    /* A sample names an event that there is not. */
    made_open(&made, "machine");
    made_event(&made, 0, 0, 0x3c, 5, "cycles");
    sample.events = 2;
    made_sample(&made, &sample);
    made_close(&made, 0, 0);
    results = of_made();
    for (unsigned form = 0; form < FORMS; form++)
        assert_int_equal(forms[form](&results, &output), UPMU_ERR_DAMAGED, form);
}

static void refusals_add_nothing_to_a_log(void **state)
{
    struct upmu_output output = {.buffer = room, .size = 255};
    struct upmu_sample sample = {.events = 1};
    struct upmu_record record = {.sample = &sample};
    struct upmu_log_reader reader;
    struct upmu_count counts[3] = {{0}};
    char text[200] = "";
    struct upmu_log log;
    size_t before;

    (void)state;
    assert_int_equal(upmu_log_begin(&log, &output, "", 0), UPMU_ERR_NO_SPACE);
    assert_int_equal(upmu_log_task(&log, 0, 0, ""), UPMU_ERR_STATE);
    output.size = 256;
    memset(text, 'a', sizeof text - 1);
    assert_int_equal(upmu_log_begin(&log, &output, text, 0), UPMU_ERR_NO_SPACE);
    assert_int_equal(upmu_log_end(&log, NULL, 0, 0), UPMU_ERR_STATE);
    assert_int_equal(upmu_log_begin(&log, &output, "m", 0), UPMU_OK);
    before = output.length;
    assert_int_equal(upmu_log_symbol(&log, 5, 5, "s"), UPMU_ERR_INVALID);
    assert_int_equal(upmu_log_mapping(&log, 1, 6, 5, 0, "s"), UPMU_ERR_INVALID);
    assert_int_equal(upmu_log_task(&log, 0, 0, text), UPMU_ERR_NO_SPACE);
    assert_int_equal(output.length, before);
    assert_int_equal(upmu_log_counts(&log, 0, 0, counts, 3), UPMU_ERR_NO_SPACE); /* the third */
    assert_int_equal(upmu_log_sample(&log, &record, 0), UPMU_OK);                /* and is counted: */
    assert_int_equal(log.cut, 1);
    assert_int_equal(upmu_log_end(&log, NULL, 0, 0), UPMU_OK);
    assert_int_equal(upmu_log_open(&reader, room, output.length), UPMU_OK);
    assert_int_equal(upmu_log_task(&log, 0, 0, ""), UPMU_ERR_STATE);
    assert_int_equal(upmu_log_sample(&log, &record, 0), UPMU_ERR_STATE);
    assert_int_equal(upmu_log_end(&log, NULL, 0, 0), UPMU_ERR_STATE);
    assert_string_equal(upmu_status_text(UPMU_ERR_WRITE), "output took no more bytes");
    assert_string_equal(upmu_status_text(UPMU_ERR_DAMAGED), "not a whole log");
}

/* ---- What is in the forms (perf and protoc read them in tests/build/check_results.py) ---- */

static void folded_stacks_join_addresses_and_keep_events_callers_apart(void **state)
{
    struct upmu_results results;

    (void)state;
    make_mixed();
    results = of_made();
    assert_string_equal(folded(&results), "cycles;first 3\n"
                                          "cycles;0x9999;second;first 1\n"
                                          "misses;0x9999;second;first 1\n"
                                          "misses;[no address] 1\n"
                                          "misses;0x400123 1\n");
}

/* A call has found the record of a precise sample: there is no frame, and still an address. */
static void a_precise_sample_without_a_frame_has_its_address(void **state)
{
    struct made_sample sample = {.ip = 0x1004, .events = 1, .flags = UPMU_SAMPLE_PRECISE};
    struct upmu_results results;

    (void)state;
    made_open(&made, "m");
    made_event(&made, 0, 0, 0xd0, 10, "loads");
    made_symbol(&made, 0x1000, 0x1100, "first");
    made_sample(&made, &sample);
    sample.flags |= UPMU_SAMPLE_NO_FRAME;
    made_sample(&made, &sample);
    sample.ip = 0;
    sample.flags |= UPMU_SAMPLE_HIDDEN;
    made_sample(&made, &sample);
    sample.flags = UPMU_SAMPLE_NO_FRAME;
    made_sample(&made, &sample);
    made_close(&made, 0, 0);
    results = of_made();
    assert_string_equal(folded(&results), "first 2\n"
                                          "[kernel] 1\n"
                                          "[no address] 1\n");
}

static bool only_one(void *context, uint64_t ip, struct upmu_symbol *out_symbol)
{
    ++*(unsigned *)context;
    if (ip != 0x400123)
        return false;
    *out_symbol = (struct upmu_symbol){0x400100, 0x400200, "main;of it\n\xff", 12};
    return true;
}

static void symbols_of_the_caller_replace_those_of_the_log(void **state)
{
    struct upmu_results results;
    unsigned calls = 0;

    (void)state;
    make_mixed();
    results = of_made();
    results.symbol = only_one;
    results.context = &calls;
    assert_string_equal(folded(&results), "cycles;0x1004 1\n"
                                          "cycles;0x1008 2\n"
                                          "cycles;0x9999;0x2050;0x1008 1\n"
                                          "misses;0x9999;0x2050;0x1008 1\n"
                                          "misses;[no address] 1\n"
                                          "misses;main:of it_? 1\n");
    assert_int_not_equal(calls, 0);
}

static void kallsyms_come_in_rising_order(void **state)
{
    struct upmu_results results;
    struct upmu_output output = {.buffer = room, .size = sizeof room};

    (void)state;
    make_mixed();
    results = of_made();
    assert_int_equal(upmu_results_kallsyms(&results, &output), UPMU_OK);
    room[output.length] = '\0';
    assert_string_equal((char *)room, "0000000000001000 t first\n0000000000002000 t second\n");
}

/* A kernel's hidden samples are no address 0; sorting and the hash are right for many. */
static void a_thousand_addresses_are_each_found_once(void **state)
{
    struct made_sample sample = {.events = 1};
    uint64_t seed = 88172645463325252u;
    struct upmu_results results;
    unsigned lines = 0, sum = 0;
    const char *at;

    (void)state;
    made_open(&made, "m");
    made_event(&made, 0, 0, 1, 10, "e");
    for (unsigned i = 0; i < 200; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        sample.ip = seed % 100 * 16;
        sample.flags = 0;
        made_sample(&made, &sample);
        sample.ip = 0;
        sample.flags = UPMU_SAMPLE_HIDDEN;
        made_sample(&made, &sample);
    }
    for (unsigned i = 0; i < 100; i++) {
        char name[8] = {'f', (char)('0' + i * 37 % 100 / 10), (char)('0' + i * 37 % 100 % 10)};

        made_symbol(&made, i * 37 % 100 * 16, i * 37 % 100 * 16 + 16, name);
    }
    made_close(&made, 0, 0);
    results = of_made();
    for (at = folded(&results); *at; at = strchr(at, '\n') + 1) {
        unsigned count = (unsigned)strtoul(strchr(at, ' ') + 1, NULL, 10);

        assert_true(at[0] == 'f' || (!strncmp(at, "[kernel] ", 9) && count == 200));
        sum += count;
        lines++;
    }
    assert_int_equal(sum, 400);
    assert_in_range(lines, 70, 101);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_of_a_session_says_what_it_counted_and_sampled),
        cmocka_unit_test(a_log_has_long_names_of_events_whole),
        cmocka_unit_test(a_short_buffer_and_a_short_ring_are_told_in_a_whole_log),
        cmocka_unit_test(every_log_that_begins_can_end),
        cmocka_unit_test(an_output_that_stops_is_an_error_at_every_place),
        cmocka_unit_test(a_log_whose_output_stops_is_refused_by_every_reader),
        cmocka_unit_test(a_buffer_that_is_too_short_is_untouched_and_told_the_need),
        cmocka_unit_test(a_short_work_area_is_refused_one_that_fits_changes_nothing),
        cmocka_unit_test(every_log_that_is_cut_or_changed_is_refused),
        cmocka_unit_test(salvage_gives_each_sound_record_of_a_damaged_log),
        cmocka_unit_test(lost_periods_are_in_perf_data_and_in_pprofs_comments),
        cmocka_unit_test(perf_data_has_attributes_of_128_bytes_and_mmap2_mappings),
        cmocka_unit_test(a_log_keeps_the_parts_of_precise_samples),
        cmocka_unit_test(a_precise_sample_that_cannot_be_is_refused),
        cmocka_unit_test(perf_data_has_the_parts_of_precise_samples),
        cmocka_unit_test(forms_of_a_damaged_log_have_what_is_sound_if_asked_to),
        cmocka_unit_test(a_log_with_a_right_checksum_is_refused_for_what_it_says),
        cmocka_unit_test(refusals_add_nothing_to_a_log),
        cmocka_unit_test(folded_stacks_join_addresses_and_keep_events_callers_apart),
        cmocka_unit_test(a_precise_sample_without_a_frame_has_its_address),
        cmocka_unit_test(symbols_of_the_caller_replace_those_of_the_log),
        cmocka_unit_test(kallsyms_come_in_rising_order),
        cmocka_unit_test(a_thousand_addresses_are_each_found_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
