/* SPDX-License-Identifier: MIT */
/*
 * perf_event_open on a large machine: 100 threads have two events on each of 64 CPUs, as perf record opens them.  The
 * memory is what docs/PERF.md says, counts are exact, and a thread switch does not look at the sessions of other CPUs.
 *
 * The silicon model has one CPU here.  Its registers are exchanged when the test goes to another of the 64 CPUs.
 */
#define _GNU_SOURCE
#include "tests/common/perf_sources.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "models/sim/sim.h"
#include "tests/common/assertions.h"

#define CPUS 64u
#define THREADS 100u
#define EVENTS 2u /* of a thread on each CPU: instructions and branches of the model */
#define PER_THREAD (CPUS * EVENTS)
#define PAGE 4096u
#define WATCHED 0u /* this thread's sessions have a page each, and so have its events where they are watched */
#define PAGES (4u * PER_THREAD)
#define ALONE 1u   /* this thread has events on CPU 0 only */
#define LEADER_MOST 2048u
#define SIBLING_MOST 640u
#define SESSION_MOST(events) (1024u + 320u * (events))

static struct many {
    struct upmu_sim sim;
    struct upmu_sim_cpu registers[CPUS];
    struct upmu_machine machine;
    struct upmu_cpu cpu[CPUS];
    struct upmu_perf perf;
    struct upmu_perf_cpu perf_cpu[CPUS];
    struct upmu_perf_task task[THREADS], idle[CPUS];
    struct upmu_perf_task *running[CPUS];
    struct upmu_perf_event event[THREADS][CPUS][EVENTS];
    bool open[THREADS][CPUS][EVENTS];
    uint64_t executed[THREADS][CPUS];
    unsigned here; /* the CPU whose registers the model has */
    /* of the open that is in progress */
    unsigned thread, on;
    size_t taken_bytes;
} many;

/* Pages of thread WATCHED: those of its events, and then those of its sessions. */
static uint8_t *pages;
static unsigned pages_used;
static unsigned page_cpu[PAGES]; /* the CPU of the event or session */
static bool visited[PAGES];
static bool events_are_watched;

/* ---- The machine ---- */

static void go_to(unsigned cpu)
{
    many.registers[many.here] = many.sim.cpu[0];
    many.sim.cpu[0] = many.registers[cpu];
    many.here = cpu;
}

static bool copy(void *context, void *to, const void *from, size_t bytes)
{
    (void)context;
    memcpy(to, from, bytes);
    return true;
}

static struct upmu_perf_task *find_task(void *context, uint32_t caller, int32_t pid, bool *out_may)
{
    (void)context;
    (void)caller;
    *out_may = true;
    return &many.task[pid];
}

static struct upmu_cpu *task_cpu(void *context, struct upmu_perf_task *task)
{
    (void)context;
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        if (many.running[cpu] == task)
            return &many.cpu[cpu];
    return NULL;
}

static unsigned number_of(unsigned thread, unsigned cpu, unsigned i)
{
    return PER_THREAD * thread + EVENTS * cpu + i;
}

static struct upmu_perf_event *event_at(unsigned number)
{
    if (events_are_watched && number < PER_THREAD)
        return (struct upmu_perf_event *)(void *)(pages + PAGE * number);
    return &many.event[0][0][0] + number;
}

/* A descriptor is the number of its event. */
static struct upmu_perf_event *event_of(void *context, uint32_t caller, int file)
{
    (void)context;
    (void)caller;
    return event_at((unsigned)file);
}

static uint64_t clock_ns(void *context)
{
    (void)context;
    return many.sim.now_ns;
}

static void *take(void *context, size_t bytes)
{
    (void)context;
    many.taken_bytes += bytes;
    if (many.thread != WATCHED)
        return malloc(bytes);
    assert_compare(pages_used, <, PAGES);
    page_cpu[pages_used] = many.on;
    return pages + PAGE * pages_used++;
}

static void give(void *context, void *memory, size_t bytes)
{
    uint8_t *of_page = memory;

    (void)context;
    many.taken_bytes -= bytes;
    if (of_page < pages || of_page >= pages + PAGES * PAGE)
        free(memory);
}

static void set_up(void)
{
    struct upmu_domain *domains[1] = {NULL};

    memset(&many, 0, sizeof many);
    for (pages_used = 0; pages_used < PER_THREAD; pages_used++)
        page_cpu[pages_used] = pages_used / EVENTS;
    upmu_sim_init(&many.sim, upmu_sim_profile("skl"), 1);
    assert_int_equal(upmu_machine_init(&many.machine, upmu_sim_port(&many.sim)), UPMU_OK);
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        many.registers[cpu] = many.sim.cpu[0];
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        go_to(cpu);
        upmu_sim_bind_cpu(&many.sim, 0, &many.cpu[cpu]);
        assert_int_equal(upmu_cpu_init(&many.cpu[cpu], &many.machine, domains), UPMU_OK, cpu);
        many.perf_cpu[cpu].cpu = &many.cpu[cpu];
        many.running[cpu] = &many.idle[cpu];
        upmu_perf_task_init(&many.idle[cpu], 0, 0);
    }
    for (unsigned thread = 0; thread < THREADS; thread++)
        upmu_perf_task_init(&many.task[thread], 1, 1 + thread);
    many.perf = (struct upmu_perf){.machine = &many.machine,
                                   .cpus = many.perf_cpu,
                                   .cpu_count = CPUS,
                                   .paranoid = -1,
                                   .copy_in = copy,
                                   .copy_out = copy,
                                   .find_task = find_task,
                                   .task_cpu = task_cpu,
                                   .event_of = event_of,
                                   .clock_ns = clock_ns,
                                   .take = take,
                                   .give = give};
}

/* Open both events of a thread on a CPU, as a group or apart.  No event takes more memory than its kind may. */
static void open_pair(unsigned thread, unsigned cpu, bool group)
{
    static const uint64_t configs[EVENTS] = {1, 4};

    many.thread = thread;
    many.on = cpu;
    for (unsigned i = 0; i < EVENTS; i++) {
        struct upmu_perf_attr attr = {.type = UPMU_PERF_TYPE_HARDWARE,
                                      .size = sizeof attr,
                                      .config = configs[i],
                                      .read_format = UPMU_PERF_READ_ENABLED | UPMU_PERF_READ_RUNNING};
        size_t before = many.taken_bytes, grown;

        assert_int_equal(upmu_perf_open(&many.perf, 1, event_at(number_of(thread, cpu, i)), &attr, (int32_t)thread,
                                        (int32_t)cpu, group && i ? (int)number_of(thread, cpu, 0) : -1, 0),
                         0, thread, cpu, i);
        many.open[thread][cpu][i] = true;
        grown = sizeof(struct upmu_perf_event) + many.taken_bytes - before;
        assert_compare(grown, <=, group && i ? SIBLING_MOST : LEADER_MOST, thread, cpu, i);
    }
}

static void switch_to(unsigned cpu, struct upmu_perf_task *next)
{
    go_to(cpu);
    assert_int_equal(upmu_perf_switch(&many.perf, cpu, many.running[cpu], next), UPMU_OK, cpu);
    many.running[cpu] = next;
}

/* A thread runs on a CPU for a while. */
static void run(unsigned thread, unsigned cpu, uint64_t instructions)
{
    switch_to(cpu, &many.task[thread]);
    upmu_sim_events(&many.sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                        .cycles = instructions,
                                                        .branches = instructions / 4,
                                                        .user = true});
    many.executed[thread][cpu] += instructions;
    switch_to(cpu, &many.idle[cpu]);
}

/* Each event has what its thread executed on its CPU, and no more time. */
static void expect_counts(unsigned thread, unsigned cpu)
{
    for (unsigned i = 0; i < EVENTS; i++) {
        uint64_t word[3], executed = many.executed[thread][cpu];

        if (!many.open[thread][cpu][i])
            continue;
        assert_int_equal(upmu_perf_read(event_at(number_of(thread, cpu, i)), word, sizeof word), sizeof word, thread,
                         cpu, i);
        assert_int_equal(word[0], i ? executed / 4 : executed, thread, cpu, i);
        assert_int_equal(word[1], word[2], thread, cpu, i);
        assert_int_equal(word[1] != 0, executed != 0, thread, cpu, i);
    }
}

static void tear_down(void)
{
    for (unsigned thread = 0; thread < THREADS; thread++) {
        for (unsigned cpu = 0; cpu < CPUS; cpu++)
            for (unsigned i = 0; i < EVENTS; i++)
                if (many.open[thread][cpu][i])
                    assert_int_equal(upmu_perf_close(event_at(number_of(thread, cpu, i))), 0, thread, cpu, i);
        assert_int_equal(upmu_perf_exit(&many.task[thread]), UPMU_OK, thread);
    }
    assert_int_equal(many.perf.events, 0);
    assert_int_equal(many.taken_bytes, 0);
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        go_to(cpu);
        assert_int_equal(upmu_cpu_fini(&many.cpu[cpu]), UPMU_OK, cpu);
    }
    assert_int_equal(many.sim.violation_count, 0);
}

/* ---- Memory and counts ---- */

static void thousands_of_events_take_what_the_page_says(void **state)
{
    const size_t event = sizeof(struct upmu_perf_event);

    (void)state;
    assert_compare(UPMU_SESSION_BYTES(1), <=, SESSION_MOST(1));
    assert_compare(UPMU_SESSION_BYTES(2), <=, SESSION_MOST(2));
    for (unsigned group = 0; group < 2; group++) {
        size_t pair = 2 * event + (group ? UPMU_SESSION_BYTES(2) : 2 * UPMU_SESSION_BYTES(1)), all;

        set_up();
        for (unsigned thread = 0; thread < THREADS; thread++)
            for (unsigned cpu = 0; cpu < CPUS; cpu++)
                open_pair(thread, cpu, group);
        all = many.taken_bytes + THREADS * PER_THREAD * event;
        assert_int_equal(many.perf.events, THREADS * PER_THREAD);
        assert_int_equal(all, THREADS * CPUS * pair);
        printf("%u events %s: %zu bytes, %zu each\n", THREADS * PER_THREAD, group ? "in groups of two" : "alone", all,
               all / (THREADS * PER_THREAD));
        for (unsigned thread = 0; thread < THREADS; thread++) /* each thread on some CPUs, on some of them again */
            for (unsigned i = 0; i < 4; i++)
                run(thread, (thread * 7 + i % 3 * 11) % CPUS, 400 * (1 + thread + i));
        for (unsigned thread = 0; thread < THREADS; thread++)
            for (unsigned cpu = 0; cpu < CPUS; cpu++)
                expect_counts(thread, cpu);
        tear_down();
    }
}

/* ---- What a switch looks at ---- */

static void note_visit(int signal, siginfo_t *info, void *context)
{
    uint8_t *at = info->si_addr;
    unsigned page = (unsigned)(((uintptr_t)at - (uintptr_t)pages) / PAGE);

    (void)signal;
    (void)context;
    if (at < pages || page >= pages_used)
        abort();
    visited[page] = true;
    mprotect(pages + PAGE * page, PAGE, PROT_READ | PROT_WRITE);
}

/* How many sessions of the watched thread that are limited to other CPUs a switch to it, or from it, looks at. */
static unsigned visits_of_switch(unsigned cpu, struct upmu_perf_task *next)
{
    unsigned visits = 0, events = 0;

    memset(visited, 0, sizeof visited);
    assert_int_equal(mprotect(pages, PAGE * pages_used, PROT_NONE), 0);
    switch_to(cpu, next);
    assert_int_equal(mprotect(pages, PAGE * pages_used, PROT_READ | PROT_WRITE), 0);
    for (unsigned page = PER_THREAD; page < pages_used; page++)
        visits += visited[page] && page_cpu[page] != cpu;
    for (unsigned page = 0; page < PER_THREAD; page++)
        events += visited[page] && page_cpu[page] != cpu;
    assert_int_equal(events, 0, cpu);
    return visits;
}

static uint32_t accesses_of_switch(unsigned cpu, struct upmu_perf_task *next)
{
    uint32_t before = many.sim.accesses;

    switch_to(cpu, next);
    return many.sim.accesses - before;
}

/*
 * A switch accesses the registers that it accesses where the thread has no events of other CPUs.  It looks at one
 * session for each other CPU at most, the first of the CPU's list, and a switch away at none.  Neither looks at events
 * of other CPUs.
 */
static void a_switch_skips_the_sessions_of_other_cpus(void **state)
{
    struct sigaction action = {.sa_sigaction = note_visit, .sa_flags = SA_SIGINFO}, former;

    (void)state;
    assert_int_equal(sigaction(SIGSEGV, &action, &former), 0);
    events_are_watched = true;
    for (unsigned group = 0; group < 2; group++) {
        uint32_t alone[2], with_others[2];

        set_up();
        for (unsigned cpu = 0; cpu < CPUS; cpu++)
            open_pair(WATCHED, cpu, group);
        open_pair(ALONE, 0, group);
        for (unsigned i = 0; i < 2; i++) { /* the first switch of a thread compiles what later ones repeat */
            run(WATCHED, 0, 400);
            run(ALONE, 0, 400);
        }
        with_others[0] = accesses_of_switch(0, &many.task[WATCHED]);
        with_others[1] = accesses_of_switch(0, &many.idle[0]);
        alone[0] = accesses_of_switch(0, &many.task[ALONE]);
        alone[1] = accesses_of_switch(0, &many.idle[0]);
        printf("%s: a switch in has %u register accesses, a switch out %u\n", group ? "in groups of two" : "alone",
               (unsigned)with_others[0], (unsigned)with_others[1]);
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(with_others[i], alone[i], group, i);
            assert_compare(with_others[i], >, 0, group, i);
        }
        for (unsigned cpu = 0; cpu < CPUS; cpu += 21) {
            unsigned in = visits_of_switch(cpu, &many.task[WATCHED]), out = visits_of_switch(cpu, &many.idle[cpu]);

            printf("CPU %u: of %u sessions of other CPUs a switch in looks at %u, a switch out at %u\n", cpu,
                   (CPUS - 1u) * (group ? 1u : 2u), in, out);
            assert_compare(in, <=, CPUS - 1u, group, cpu);
            assert_int_equal(out, 0, group, cpu);
        }
        tear_down();
    }
    events_are_watched = false;
    assert_int_equal(sigaction(SIGSEGV, &former, NULL), 0);
}

/* Linux refuses a group whose read would have 16 KiB: 3 words, and 3 of each member here. */
static void a_group_whose_read_is_too_long_is_refused(void **state)
{
    const unsigned most = (16u * 1024u / 8u - 3u) / 3u;
    struct upmu_perf_event *all = &many.event[0][0][0];
    struct upmu_perf_attr attr = {.type = UPMU_PERF_TYPE_SOFTWARE,
                                  .size = sizeof attr,
                                  .config = UPMU_PERF_DUMMY,
                                  .read_format = UPMU_PERF_READS};

    (void)state;
    events_are_watched = false;
    set_up();
    for (unsigned i = 0; i < most; i++)
        assert_int_equal(upmu_perf_open(&many.perf, 1, &all[i], &attr, 0, -1, i ? 0 : -1, 0), 0, i);
    assert_int_equal(upmu_perf_open(&many.perf, 1, &all[most], &attr, 0, -1, 0, 0), -UPMU_PERF_E2BIG);
    attr.read_format = UPMU_PERF_READ_GROUP;
    assert_int_equal(upmu_perf_open(&many.perf, 1, &all[most], &attr, 0, -1, 0, 0), 0);
    for (unsigned i = 0; i <= most; i++)
        assert_int_equal(upmu_perf_close(&all[i]), 0, i);
    tear_down();
}

static int map_pages(void **state)
{
    (void)state;
    pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands_of_events_take_what_the_page_says),
        cmocka_unit_test(a_switch_skips_the_sessions_of_other_cpus),
        cmocka_unit_test(a_group_whose_read_is_too_long_is_refused),
    };

    return cmocka_run_group_tests(tests, map_pages, NULL);
}
