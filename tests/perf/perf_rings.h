/* SPDX-License-Identifier: MIT */
/* Programs of the host of perf_host.h that map rings, and what they find there. */
#ifndef UPMU_TESTS_PERF_RINGS_H
#define UPMU_TESTS_PERF_RINGS_H

#include "tests/perf/perf_host.h"

#define RINGS 3u
#define DATA_PAGES 2u
#define INSTRUCTIONS 1u
#define CYCLES 0u
#define UNWRITTEN 0xee
#define USER_ONLY UPMU_PERF_EXCLUDE_KERNEL

/* What a program has mapped. */
struct mapping {
    uint64_t memory[1 + DATA_PAGES][UPMU_PERF_PAGE_BYTES / 8];
    void *pages[1 + DATA_PAGES];
    uint64_t position;
};

struct record {
    uint32_t type, misc, words; /* words: header included */
    uint64_t word[160];         /* those after the header */
};

static struct mapping mappings[RINGS];
static unsigned wakes[PERF_FILES], overflows[PERF_FILES], limits[PERF_FILES];
static struct record record;

static void note_wake(void *context, struct upmu_perf_event *event, unsigned what)
{
    unsigned file = (unsigned)(event - perf_host.event);

    (void)context;
    wakes[file] += !!(what & UPMU_PERF_WAKE_READABLE);
    overflows[file] += !!(what & UPMU_PERF_WAKE_OVERFLOW);
    limits[file] += !!(what & UPMU_PERF_WAKE_LIMIT);
}

static inline void set_up(void)
{
    perf_host_set_up("skl");
    perf_host.perf.wake = note_wake;
    memset(wakes, 0, sizeof wakes);
    memset(overflows, 0, sizeof overflows);
    memset(limits, 0, sizeof limits);
}

static struct upmu_perf_attr attr_of(uint64_t config, uint64_t period, uint64_t parts, uint64_t flags)
{
    return (struct upmu_perf_attr){.type = UPMU_PERF_TYPE_HARDWARE,
                                   .size = sizeof(struct upmu_perf_attr),
                                   .config = config,
                                   .sample_period = period,
                                   .sample_type = parts,
                                   .flags = flags};
}

static inline int open_task(struct upmu_perf_attr attr)
{
    return perf_open(&attr, 0, -1, -1, 0);
}

static int map_pages(int file, unsigned ring, unsigned count, bool writable)
{
    struct mapping *mapping = &mappings[ring];

    memset(mapping, 0, sizeof *mapping);
    memset(mapping->memory, UNWRITTEN, sizeof mapping->memory);
    for (unsigned i = 0; i < count && i < 1 + DATA_PAGES; i++) /* a wrong count is refused before more are read */
        mapping->pages[i] = mapping->memory[(i + 1) % (1 + DATA_PAGES)];
    return (int)upmu_perf_map(perf_event(file), mapping->pages, count, writable);
}

static void map(int file, unsigned ring)
{
    assert_int_equal(map_pages(file, ring, 1 + DATA_PAGES, true), 0);
}

static struct upmu_perf_page *page_of(unsigned ring)
{
    return mappings[ring].pages[0];
}

/* The program takes its next record. */
static bool take(unsigned ring)
{
    struct mapping *mapping = &mappings[ring];
    uint64_t words[161] = {0};

    if (page_of(ring)->head.whole == mapping->position)
        return false;
    for (unsigned i = 0; i == 0 || i < words[0] >> 51; i++) {
        uint64_t at = (mapping->position + 8 * i) & (page_of(ring)->data_bytes - 1);

        words[i] = ((uint64_t *)mapping->pages[1 + at / UPMU_PERF_PAGE_BYTES])[at % UPMU_PERF_PAGE_BYTES / 8];
    }
    record = (struct record){
        .type = (uint32_t)words[0], .misc = words[0] >> 32 & 0xffff, .words = (uint32_t)(words[0] >> 51)};
    memcpy(record.word, words + 1, sizeof record.word - 8);
    mapping->position += 8 * record.words;
    page_of(ring)->tail.whole = mapping->position;
    return true;
}

static inline void take_sample_of(unsigned ring, uint32_t words)
{
    assert_true(take(ring));
    assert_int_equal(record.type, UPMU_PERF_RECORD_SAMPLE);
    assert_int_equal(record.words, words);
}

/* Task 0 runs on CPU 0, executes, and leaves. */
static inline void run_task(uint64_t user, uint64_t kernel)
{
    perf_switch(0, 0);
    perf_work(0, true, user);
    perf_work(0, false, kernel);
    perf_switch(0, 2);
}

static inline uint64_t count_of(int file)
{
    uint64_t word[8];

    assert_compare(upmu_perf_read(perf_event(file), word, sizeof word), >, 0);
    return word[0];
}

#endif
