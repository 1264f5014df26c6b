/* SPDX-License-Identifier: MIT */
/*
 * Programs that use perf_event_open in a fuzz: their tasks, files and mapped pages, on the kernel of perf_kernel.h.
 * The bytes beside each page, and those of pages that were unmapped, are watched.
 */
#ifndef UPMU_TESTS_PERF_PROGRAM_H
#define UPMU_TESTS_PERF_PROGRAM_H

#include "tests/common/perf_kernel.h"
#include "tests/fuzz/fuzz.h"

#include "tests/common/perf_sources.h"

#define CPUS PERF_KERNEL_CPUS
#define TASKS 6u /* the first ones idle */
#define FILES 12u
#define FIRST_FILE 100
#define DATA_PAGES 2u
#define GUARD 64u /* bytes on each side of a page */
#define UNWRITTEN 0x5a
#define GONE 0x77 /* pages that were unmapped */

/* What the program has mapped of a file. */
struct mapping {
    uint8_t memory[1 + DATA_PAGES][UPMU_PERF_PAGE_BYTES + 2 * GUARD] __attribute__((aligned(64)));
    void *pages[1 + DATA_PAGES];
    unsigned count; /* 0: nothing is mapped */
    bool used;      /* something was mapped */
    bool honest;    /* the program has written nothing but the tail */
    uint64_t position;
};

static struct upmu_perf_task task[TASKS];
static bool alive[TASKS];
static struct upmu_perf_event *event[FILES];
static struct mapping mappings[FILES];

static struct upmu_perf_event *event_of(void *nothing, uint32_t caller, int file)
{
    (void)nothing;
    (void)caller;
    return file >= FIRST_FILE && file < FIRST_FILE + (int)FILES ? event[file - FIRST_FILE] : NULL;
}

/* Return the number of an open file, chosen by `which`; without one 0. */
static unsigned any_file(unsigned which)
{
    for (unsigned i = 0; i < FILES; i++)
        if (event[(which + i) % FILES])
            return (which + i) % FILES;
    return 0;
}

/* The first task runs, and nothing is open. */
static void begin_program(void)
{
    memset(event, 0, sizeof event);
    memset(alive, 0, sizeof alive);
    for (unsigned i = 0; i < FILES; i++)
        mappings[i].count = mappings[i].used = 0;
    for (unsigned i = 0; i < TASKS; i++)
        upmu_perf_task_init(&task[i], i, i);
    alive[CPUS] = true;
    FUZZ_CHECK(perf_kernel_switch(0, &task[CPUS]) == UPMU_OK, "switch");
}

/* No byte beside the pages was written; nor were pages that the program has given back. */
static void check_pages(const struct mapping *mapping)
{
    for (unsigned i = 0; mapping->used && i < 1 + DATA_PAGES; i++) {
        for (unsigned at = 0; at < GUARD; at++)
            FUZZ_CHECK(mapping->memory[i][at] == UNWRITTEN &&
                           mapping->memory[i][GUARD + UPMU_PERF_PAGE_BYTES + at] == UNWRITTEN,
                       "byte %u beside page %u was written", at, i);
        for (unsigned at = 0; !mapping->count && at < UPMU_PERF_PAGE_BYTES; at++)
            FUZZ_CHECK(mapping->memory[i][GUARD + at] == GONE, "byte %u of page %u was written too late", at, i);
    }
}

/* The program gets so many pages, the last one first in memory; whether they are mapped is the caller's to find out. */
static void take_pages(struct mapping *mapping, unsigned count)
{
    check_pages(mapping);
    memset(mapping->memory, UNWRITTEN, sizeof mapping->memory);
    for (unsigned i = 0; i < count; i++)
        mapping->pages[i] = mapping->memory[count - 1u - i] + GUARD;
    mapping->used = true;
    mapping->count = count;
    mapping->position = 0;
}

static void pages_are_gone(struct mapping *mapping)
{
    if (!mapping->count)
        return;
    mapping->count = 0;
    for (unsigned i = 0; i < 1 + DATA_PAGES; i++)
        memset(mapping->memory[i] + GUARD, GONE, UPMU_PERF_PAGE_BYTES);
}

/* Return the number of a task that is free, TASKS: there is none. */
static unsigned free_task(void)
{
    unsigned child = CPUS;

    while (child < TASKS && alive[child])
        child++;
    return child;
}

static void switch_task(unsigned where, unsigned next)
{
    if (next < CPUS ? next != where : !alive[next])
        return;
    for (unsigned i = 0; i < CPUS; i++)
        if (perf_kernel.running[i] == &task[next])
            return;
    FUZZ_CHECK(perf_kernel_switch(where, &task[next]) == UPMU_OK, "switch");
}

/* Before a task exits: CPUs that run it idle. */
static void leave_cpus(unsigned which)
{
    for (unsigned i = 0; i < CPUS; i++)
        if (perf_kernel.running[i] == &task[which])
            FUZZ_CHECK(perf_kernel_switch(i, &task[i]) == UPMU_OK, "switch");
}

/* A task tells its name, or a mapping; `how` draws which. */
static void tell_name_or_mapping(unsigned which, uint8_t how)
{
    static const char *const names[] = {"", "name", "program7", "fifteen letters"};
    const struct upmu_perf_mapping mapping = {
        .address = 0x1000, .bytes = 0x2000, .protection = how & 4u ? 5 : 3, .path = names[how & 3u]};

    if (how & 8u)
        upmu_perf_comm(&task[which], names[how & 3u], how & 16u);
    else
        upmu_perf_mmap(&task[which], &mapping);
}

/* All events are closed and all tasks have ended: nothing is left, and nothing runs on. */
static void check_end(void)
{
    FUZZ_CHECK(!perf_kernel.taken_bytes, "%zu bytes were not given back", perf_kernel.taken_bytes);
    for (unsigned i = 0; i < CPUS; i++) {
        upmu_sim_switch_cpu(&perf_kernel.sim, i);
        FUZZ_CHECK(upmu_cpu_fini(&perf_kernel.cpu[i]) == UPMU_OK, "CPU %u does not end", i);
        for (unsigned counter = 0; counter < UPMU_SIM_COUNTERS; counter++)
            FUZZ_CHECK(!upmu_sim_runs(&perf_kernel.sim, i, counter), "counter %u runs on", counter);
    }
    FUZZ_CHECK(!perf_kernel.sim.violation_count, "%s", perf_kernel.sim.first_violation.text);
}

#endif
