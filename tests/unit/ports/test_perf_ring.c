/* SPDX-License-Identifier: MIT */
/*
 * Rings of perf_event_open: a program reads records by head and tail, as perf_event_open(2) says; it is slow, absent or
 * hostile, and records interrupt each other.
 */
#include "abi/perf/perf_ring.c"

#include "tests/common/assertions.h"

#define DATA_MOST 4u
#define CANARY 0x5a

/* Pages as the program maps them: the ring has them in a falling order, with a page of canaries between any two. */
static uint8_t memory[2 * DATA_MOST + 3][UPMU_PERF_PAGE_BYTES] __attribute__((aligned(4096)));
static void *pages[1 + DATA_MOST];
static struct upmu_perf_ring ring;
static unsigned data_pages;
static uint64_t position; /* of the program */

static struct upmu_perf_page *words(void)
{
    return pages[0];
}

static void prepare(unsigned data, uint32_t watermark)
{
    memset(memory, CANARY, sizeof memory);
    for (unsigned i = 0; i <= data; i++)
        pages[i] = memory[2 * (data - i) + 1];
    data_pages = data;
    position = 0;
    assert_int_equal(upmu_perf_ring_init(&ring, pages, data + 1, watermark), 0);
}

static void end(void)
{
    for (unsigned i = 0; i < 2 * DATA_MOST + 3; i++)
        if (!(i & 1u) || i > 2 * data_pages + 1)
            for (unsigned at = 0; at < UPMU_PERF_PAGE_BYTES; at++)
                assert_int_equal(memory[i][at], CANARY, i, at);
}

/* A record of `count` words: its number of words, then its own number and the words after that one. */
static bool begin(uint32_t count, struct upmu_perf_cursor *cursor)
{
    return upmu_perf_ring_begin(&ring, 8 * count, 24, cursor);
}

static void fill(struct upmu_perf_cursor *cursor, uint32_t count, uint64_t number)
{
    if (cursor->has_lost) {
        upmu_perf_ring_word(cursor, 3);
        upmu_perf_ring_word(cursor, UINT64_MAX);
        upmu_perf_ring_word(cursor, cursor->lost);
    }
    upmu_perf_ring_word(cursor, count);
    for (uint32_t i = 1; i < count; i++)
        upmu_perf_ring_word(cursor, number + i - 1);
}

static bool record(uint32_t count, uint64_t number)
{
    struct upmu_perf_cursor cursor;

    if (!begin(count, &cursor))
        return false;
    fill(&cursor, count, number);
    (void)upmu_perf_ring_end(&ring);
    return true;
}

static uint64_t word_at(uint64_t at)
{
    at &= data_pages * UPMU_PERF_PAGE_BYTES - 1u;
    return ((uint64_t *)pages[1 + at / UPMU_PERF_PAGE_BYTES])[at % UPMU_PERF_PAGE_BYTES / 8];
}

/* The program looks at its next record, of so many words with this number, and goes on. */
static void take(uint32_t count, uint64_t number)
{
    assert_int_not_equal(position, words()->head.whole);
    assert_int_equal(word_at(position), count);
    for (uint32_t i = 1; i < count; i++)
        assert_int_equal(word_at(position + 8 * i), number + i - 1, i);
    position += 8 * count;
    words()->tail.whole = position;
}

static void take_lost(uint64_t lost)
{
    assert_int_equal(word_at(position), 3);
    assert_int_equal(word_at(position + 8), UINT64_MAX);
    assert_int_equal(word_at(position + 16), lost);
    position += 24;
    words()->tail.whole = position;
}

static void a_program_finds_what_the_page_says(void **state)
{
    const uint32_t counts[] = {0, 4, 6, 65536, 65538, 131073, UINT32_MAX};

    (void)state;
    prepare(2, 0);
    assert_int_equal(words()->data_offset, 4096);
    assert_int_equal(words()->data_bytes, 8192);
    assert_int_equal(words()->capabilities, 2);
    assert_int_equal(words()->size, 96);
    assert_int_equal(words()->version | words()->compat_version | words()->index, 0);
    assert_int_equal(words()->head.whole | words()->tail.whole, 0);
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
        assert_int_equal(upmu_perf_ring_init(&ring, pages, counts[i], 0), -UPMU_PERF_EINVAL, i);
    prepare(0, 0);
    assert_false(record(1, 0));
    assert_int_equal(words()->data_bytes | words()->head.whole, 0);
    end();
}

static void records_stand_one_after_the_other(void **state)
{
    (void)state;
    prepare(2, 0);
    for (unsigned i = 0; i < 3000; i++) {
        assert_true(record(2 + i % 9, i), i);
        if (i % 3 == 2)
            for (unsigned j = i - 2; j <= i; j++)
                take(2 + j % 9, j);
    }
    assert_int_equal(words()->head.whole, position);
    end();
}

static void what_finds_no_room_is_told_before_the_next(void **state)
{
    (void)state;
    prepare(1, 0);
    for (unsigned i = 0; i < 63; i++)
        assert_true(record(8, i), i);
    assert_false(record(8, 63)); /* the data would be full, and look empty */
    assert_false(record(9, 64));
    assert_int_equal(ring.lost, 2);
    take(8, 0);
    assert_false(record(14, 65)); /* the record about the lost ones needs room, too */
    take(8, 1);
    assert_true(record(8, 66));
    for (unsigned i = 2; i < 63; i++)
        take(8, i);
    take_lost(3);
    take(8, 66);
    assert_int_equal(words()->head.whole, position);
    assert_int_equal(ring.lost, 0);
    assert_false(record(512, 0));
    assert_true(record(508, 5));
    end();
}

static void records_that_interrupt_are_seen_with_the_outermost(void **state)
{
    struct upmu_perf_cursor outer, inner;

    (void)state;
    prepare(1, 0);
    assert_true(begin(4, &outer));
    assert_true(begin(3, &inner));
    fill(&inner, 3, 20);
    assert_false(upmu_perf_ring_end(&ring));
    assert_int_equal(words()->head.whole, 0);
    assert_true(record(2, 30));
    assert_int_equal(words()->head.whole, 0);
    fill(&outer, 4, 10);
    (void)upmu_perf_ring_end(&ring);
    take(4, 10);
    take(3, 20);
    take(2, 30);
    assert_true(begin(500, &outer));
    assert_false(record(20, 0)); /* lost inside another one, which publishes as before */
    assert_int_equal(words()->head.whole, position);
    fill(&outer, 500, 40);
    (void)upmu_perf_ring_end(&ring);
    take(500, 40);
    assert_true(begin(4, &outer));
    assert_true(record(2, 60)); /* interrupts before the other has told */
    fill(&outer, 4, 70);
    (void)upmu_perf_ring_end(&ring);
    take_lost(1);
    take(4, 70);
    take(2, 60);
    assert_int_equal(words()->head.whole, position);
    end();
}

static void the_newest_are_kept_where_the_program_only_looks(void **state)
{
    (void)state;
    prepare(2, 0);
    ring.overwrite = true;
    for (unsigned i = 0; i < 1000; i++)
        assert_true(record(8, i), i);
    words()->tail.whole = UINT64_C(0x123456789);
    assert_true(record(8, 1000));
    position = words()->head.whole - 64 * 128;
    for (unsigned i = 873; i < 1001; i++)
        take(8, i);
    end();
}

static void records_grow_downward_where_that_is_asked_for(void **state)
{
    (void)state;
    prepare(1, 0);
    ring.overwrite = ring.backward = true;
    for (unsigned i = 0; i < 100; i++)
        assert_true(record(8, i), i);
    assert_int_equal(words()->head.low, (uintptr_t)0 - 6400);
    for (unsigned i = 100; i-- > 36;) {
        position = words()->head.low + 64 * (99 - i);
        assert_int_equal(word_at(position), 8, i);
        assert_int_equal(word_at(position + 8), i, i);
    }
    prepare(1, 0);
    ring.backward = true;
    for (unsigned i = 0; i < 63; i++)
        assert_true(record(8, i), i);
    assert_false(record(8, 63));
    words()->tail.low = (uintptr_t)0 - 128;
    assert_true(record(5, 64));
    end();
}

static void a_tail_that_cannot_be_loses_records(void **state)
{
    const uintptr_t tails[] = {
        1, 65, 4096, UINTPTR_MAX / 2, UINTPTR_MAX / 2 + 1, UINTPTR_MAX - 4095, UINTPTR_MAX - 4096};

    (void)state;
    prepare(1, 0);
    for (unsigned i = 0; i < sizeof tails / sizeof *tails; i++) {
        words()->tail.low = tails[i];
        assert_false(record(3, i), i);
        assert_int_equal(words()->head.whole, 0, i);
    }
    words()->tail.whole = 0;
    memset(pages[0], 0xff, 1024); /* the program may write what it likes */
    memset(pages[1], 0xff, UPMU_PERF_PAGE_BYTES);
    words()->data_bytes = words()->data_offset = words()->head.whole = UINT64_MAX;
    words()->tail.whole = 0;
    assert_true(record(3, 9));
    assert_int_equal(words()->head.low, 48);
    end();
}

static void a_paused_ring_takes_nothing(void **state)
{
    (void)state;
    prepare(1, 0);
    assert_true(record(3, 0));
    ring.paused = true;
    assert_false(record(3, 1));
    ring.paused = false;
    assert_true(record(3, 2));
    take(3, 0);
    take_lost(1);
    take(3, 2);
    end();
}

static unsigned wakes(unsigned records, uint32_t count)
{
    struct upmu_perf_cursor cursor;
    unsigned told = 0;

    for (unsigned i = 0; i < records; i++) {
        assert_true(begin(count, &cursor));
        fill(&cursor, count, i);
        told += upmu_perf_ring_end(&ring);
        take(count, i);
    }
    return told;
}

static void a_program_is_woken_by_bytes(void **state)
{
    (void)state;
    prepare(1, 0);
    assert_int_equal(wakes(32, 8), 0); /* half of the ring, and not more */
    assert_int_equal(wakes(1, 8), 1);
    assert_int_equal(wakes(31, 8), 0);
    assert_int_equal(wakes(1, 8), 1);
    prepare(1, 64);
    assert_int_equal(wakes(20, 8), 19);
    prepare(1, 1000000);
    assert_int_equal(wakes(64, 8), 0);
    assert_int_equal(wakes(1, 8), 1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_finds_what_the_page_says),
        cmocka_unit_test(records_stand_one_after_the_other),
        cmocka_unit_test(what_finds_no_room_is_told_before_the_next),
        cmocka_unit_test(records_that_interrupt_are_seen_with_the_outermost),
        cmocka_unit_test(the_newest_are_kept_where_the_program_only_looks),
        cmocka_unit_test(records_grow_downward_where_that_is_asked_for),
        cmocka_unit_test(a_tail_that_cannot_be_loses_records),
        cmocka_unit_test(a_paused_ring_takes_nothing),
        cmocka_unit_test(a_program_is_woken_by_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
