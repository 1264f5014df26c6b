/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: records that interrupt each other in a ring of perf_event_open, while a program reads them, or writes any
 * byte of the pages.  Whatever it does, no byte outside the data and the head is written; while it is honest it finds
 * each record that found room, whole and in order, and each that found none is told once.
 */
#include <string.h>

#include "abi/perf/perf_ring.c"

#include "tests/fuzz/fuzz.h"

#define DATA_MOST 4u
#define NEST 3u
#define RECORDS 1024u
#define LOST_WORDS 3u
#define CANARY 0x5a

/* A record of the books, in the order in which room was taken. */
struct book {
    uint32_t words, lost;
    bool has_lost, ended;
};

static uint8_t memory[2 * DATA_MOST + 3][UPMU_PERF_PAGE_BYTES] __attribute__((aligned(4096)));
static void *pages[1 + DATA_MOST];
static struct upmu_perf_ring ring;
static struct book books[RECORDS];
static unsigned made, seen;                /* books; those that the program has read */
static struct upmu_perf_cursor open[NEST]; /* records that are being written */
static unsigned open_book[NEST], nest;
static unsigned data_pages;
static uint64_t refused, told; /* records without room; those that records of type LOST told the program */
static uintptr_t position;     /* of the program */
static bool honest, lost_last;

static struct upmu_perf_page *words(void)
{
    return pages[0];
}

static void set_up(struct fuzz_bytes *bytes)
{
    uint8_t how = fuzz_u8(bytes);

    memset(memory, CANARY, sizeof memory);
    data_pages = 1u << (how & 3u) % 3u;
    for (unsigned i = 0; i <= data_pages; i++)
        pages[i] = memory[2 * (data_pages - i) + 1];
    FUZZ_CHECK(!upmu_perf_ring_init(&ring, pages, data_pages + 1u, fuzz_u8(bytes) * 64u), "a ring");
    ring.backward = how & 4u;
    ring.overwrite = how & 8u;
    honest = how & 16u && !(how & 12u);
    made = seen = nest = 0;
    refused = told = position = 0;
    lost_last = false;
}

/* ---- Writers ---- */

/* Would there be room?  By the positions of the program, in numbers that cannot wrap here. */
static bool expect_room(uint32_t bytes)
{
    uint64_t used = 0;

    for (unsigned i = seen; i < made; i++)
        used += 8u * (books[i].words + (books[i].has_lost ? LOST_WORDS : 0));
    return used + bytes < (uint64_t)data_pages * UPMU_PERF_PAGE_BYTES;
}

static void begin(struct fuzz_bytes *bytes)
{
    uint8_t size = fuzz_u8(bytes);
    uint32_t count = size & 0x80u ? 1u + (size & 0x7fu) * 8u : 1u + size % 16u;
    bool expected = expect_room(8u * (count + (lost_last ? LOST_WORDS : 0)));
    bool begun;

    if (nest == NEST || made == RECORDS)
        return;
    begun = upmu_perf_ring_begin(&ring, 8u * count, 8u * LOST_WORDS, &open[nest]);
    fuzz_calls++;
    if (honest)
        FUZZ_CHECK(begun == expected, "%u words: %s room", count, expected ? "no" : "there is");
    refused += !begun;
    if (!begun) {
        lost_last = true;
        return;
    }
    FUZZ_CHECK(!honest || open[nest].has_lost == lost_last, "a record of type LOST");
    lost_last = false;
    books[made] = (struct book){.words = count, .lost = open[nest].lost, .has_lost = open[nest].has_lost};
    open_book[nest++] = made++;
}

static void finish(void)
{
    struct upmu_perf_cursor *cursor = &open[nest - 1];
    unsigned number = open_book[nest - 1];

    if (cursor->has_lost) {
        upmu_perf_ring_word(cursor, UINT64_MAX);
        upmu_perf_ring_word(cursor, number);
        upmu_perf_ring_word(cursor, cursor->lost);
    }
    for (uint32_t i = 0; i < books[number].words; i++)
        upmu_perf_ring_word(cursor, i ? number + i : books[number].words);
    books[number].ended = true;
    nest--;
    (void)upmu_perf_ring_end(&ring);
}

/* ---- The program ---- */

static uint64_t word_at(uintptr_t at)
{
    at &= data_pages * UPMU_PERF_PAGE_BYTES - 1u;
    return ((uint64_t *)pages[1 + at / UPMU_PERF_PAGE_BYTES])[at % UPMU_PERF_PAGE_BYTES / 8];
}

static void read_one(void)
{
    const struct book *book = &books[seen];

    if (position == words()->head.low)
        return;
    FUZZ_CHECK(seen < made && book->ended, "a record is published too early");
    if (book->has_lost) {
        FUZZ_CHECK(word_at(position) == UINT64_MAX && word_at(position + 8) == seen, "no record of type LOST");
        told += word_at(position + 16);
        position += 8 * LOST_WORDS;
    }
    FUZZ_CHECK(word_at(position) == book->words, "record %u", seen);
    for (uint32_t i = 1; i < book->words; i++)
        FUZZ_CHECK(word_at(position + 8 * i) == seen + i, "word %u of record %u", i, seen);
    position += 8 * book->words;
    seen++;
    words()->tail.low = position;
}

static void write_anything(struct fuzz_bytes *bytes)
{
    uint8_t where = fuzz_u8(bytes);

    if (where & 1u)
        words()->tail.whole = where & 2u ? fuzz_u64(bytes) : words()->head.whole - where / 4u;
    else
        memset((uint8_t *)pages[where / 2u % (data_pages + 1u)] + fuzz_u8(bytes) * 16, fuzz_u8(bytes), 16);
}

static void check_canaries(void)
{
    for (unsigned i = 0; i < 2 * DATA_MOST + 3; i++)
        for (unsigned at = 0; at < UPMU_PERF_PAGE_BYTES && (!(i & 1u) || i > 2 * data_pages + 1); at++)
            FUZZ_CHECK(memory[i][at] == CANARY, "byte %u of page %u", at, i);
}

static void run_ring(const uint8_t *input, size_t length)
{
    struct fuzz_bytes bytes = {input, input + length};

    set_up(&bytes);
    while (fuzz_more(&bytes))
        switch (fuzz_u8(&bytes) % 5u) {
        case 0:
        case 1:
            begin(&bytes);
            break;
        case 2:
            if (nest)
                finish();
            break;
        case 3:
            if (honest)
                read_one();
            else
                write_anything(&bytes);
            break;
        default:
            ring.paused = !honest && fuzz_u8(&bytes) > 200;
        }
    while (nest)
        finish();
    while (honest && seen < made)
        read_one();
    check_canaries();
    FUZZ_CHECK(!ring.writers, "%u writers are left", (unsigned)ring.writers);
    if (honest)
        FUZZ_CHECK(told + ring.lost == refused && position == words()->head.low, "%u of %u lost records are told",
                   (unsigned)told, (unsigned)refused);
}

static void make_ring(uint64_t *random, struct fuzz_draft *draft)
{
    unsigned steps = 20 + fuzz_below(random, 400);

    fuzz_put(draft, fuzz_random(random) | (fuzz_below(random, 2) ? 16u : 0), 1);
    fuzz_put(draft, fuzz_random(random), 1);
    while (steps-- > 0 && draft->length + 2 < FUZZ_INPUT)
        fuzz_put(draft, fuzz_random(random), 2);
}

const struct fuzz_target fuzz_target = {.name = "perf_ring",
                                        .holds = "a_hostile_program_loses_its_own_records",
                                        .runs = 3000,
                                        .runs_of_soak = 1000000,
                                        .run = run_ring,
                                        .make = make_ring};
