/* SPDX-License-Identifier: MIT */
/* Counts in mapped pages: a program of perf_event_open reads by RDPMC what read(2) says. */
#include "tests/common/perf_sources.h"

#include "tests/perf/perf_host.h"

#define CYCLES 0u
#define INSTRUCTIONS 1u
#define BRANCHES 4u
#define PAGES 12u

static struct upmu_perf_page page[PAGES];
static void *pages[PAGES];
static bool allowed[2];
static void (*meanwhile)(void); /* once, between two accesses of the reader */
static const char *const models[] = {"skl", "core", "zen4", "k8_revf", "adl_glc"};

static void note_allowed(void *context, bool allow)
{
    (void)context;
    allowed[perf_host.host.sim.current] = allow;
}

static void set_up(const char *model, bool has_hook)
{
    memset(&perf_host, 0, sizeof perf_host);
    memset(page, 0xff, sizeof page);
    allowed[0] = allowed[1] = false;
    host_prepare(&perf_host.host, model);
    if (has_hook)
        perf_host.host.sim.port.allow_rdpmc = note_allowed;
    host_machine(&perf_host.host);
    host_take_over(&perf_host.host, 2, false);
    perf_host_begin();
    for (unsigned i = 0; i < PAGES; i++)
        pages[i] = &page[i];
}

static int open_event(uint32_t type, uint64_t config, int group, uint64_t flags)
{
    struct upmu_perf_attr attr = {.type = type,
                                  .size = sizeof attr,
                                  .config = config,
                                  .read_format = UPMU_PERF_READ_ENABLED | UPMU_PERF_READ_RUNNING,
                                  .flags = flags};

    return perf_open(&attr, 0, -1, group, 0);
}

/* The program maps one page of an event. */
static void map_one(int file, unsigned which)
{
    assert_int_equal(upmu_perf_map(perf_event(file), &pages[which], 1, true), 0, which);
}

static uint64_t rdpmc(uint32_t index)
{
    struct upmu_sim *sim = &perf_host.host.sim;
    uint64_t value = 0;
    uintptr_t irq;

    if (meanwhile) {
        void (*once)(void) = meanwhile;

        meanwhile = NULL;
        once();
    }
    if (!allowed[sim->current])
        fail_msg("RDPMC: #GP");
    irq = sim->port.irq_save(sim->port.context);
    assert_true(sim->port.rdpmc(sim->port.context, index, &value));
    sim->port.irq_restore(sim->port.context, irq);
    return value;
}

/* What a program reads of its page, as perf_event_open(2) tells it to. */
static uint64_t read_page(const struct upmu_perf_page *from)
{
    uint32_t lock, index;
    uint64_t count;

    do {
        lock = from->lock;
        assert_int_equal(lock & 1u, 0);
        assert_true(from->capabilities & UPMU_PERF_PAGE_RDPMC);
        index = from->index;
        count = (uint64_t)from->offset;
        if (index) {
            unsigned shift = 64u - from->pmc_width;
            int64_t value = (int64_t)(rdpmc(index - 1u) << shift) >> shift;

            count += (uint64_t)value;
        }
    } while (from->lock != lock);
    return count;
}

static void expect(int file, unsigned which, uint64_t count, bool has_counter)
{
    uint64_t word[3];

    assert_int_equal(read_page(&page[which]), count, which);
    assert_int_equal(page[which].index != 0, has_counter, which);
    assert_int_equal(upmu_perf_read(perf_event(file), word, sizeof word), sizeof word);
    assert_int_equal(word[0], count, which);
}

static void switch_away_and_back(unsigned cpu, unsigned task)
{
    perf_switch(cpu, 2 + cpu);
    perf_switch(cpu, task);
}

static void a_page_reads_what_a_call_reads(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof models / sizeof *models; i++) {
        int first, second, own;

        set_up(models[i], true);
        perf_switch(0, 0);
        first = open_event(UPMU_PERF_TYPE_HARDWARE, INSTRUCTIONS, -1, 0);
        second = open_event(UPMU_PERF_TYPE_HARDWARE, BRANCHES, first, 0);
        own = open_event(UPMU_PERF_TYPE_HARDWARE, CYCLES, -1, UPMU_PERF_DISABLED);
        perf_work(0, true, 400);
        map_one(first, 0);
        map_one(second, 1);
        map_one(own, 2);
        perf_work(0, true, 600);
        expect(first, 0, 1000, true);
        expect(second, 1, 250, true);
        expect(own, 2, 0, false);
        assert_int_equal(perf_ioctl(own, UPMU_PERF_IOC_ENABLE, 0), 0);
        perf_switch(0, 2);
        expect(first, 0, 1000, false);
        perf_switch(1, 0);
        perf_work(1, true, 4000);
        expect(first, 0, 5000, true);
        assert_int_equal(upmu_cpu_poll(&perf_host.host.cpu[1]), UPMU_OK); /* counts are folded: other bases */
        switch_away_and_back(1, 0);
        expect(second, 1, 1250, true);
        expect(own, 2, 4000, true);
        assert_int_equal(perf_ioctl(first, UPMU_PERF_IOC_RESET, 0), 0);
        assert_int_equal(perf_ioctl(own, UPMU_PERF_IOC_DISABLE, 0), 0);
        perf_work(1, true, 40);
        expect(first, 0, 40, true);
        expect(own, 2, 4000, false);
        assert_int_equal(perf_ioctl(own, UPMU_PERF_IOC_RESET, 0), 0);
        expect(own, 2, 0, false);
        perf_close(first);
        perf_work(1, true, 40);
        expect(second, 1, 1270, true);
        assert_int_equal(upmu_perf_unmap(perf_event(second)), 0);
        memset(&page[1], 0, sizeof page[1]);
        perf_work(1, true, 40);
        assert_int_equal(page[1].lock, 0);
        perf_switch(1, 3);
        assert_int_equal(upmu_perf_exit(&perf_host.task[0]), UPMU_OK);
        expect(own, 2, 0, false);
        perf_host_end();
    }
}

/* A counter passes the middle of its range, and its end. */
static void a_page_has_no_jump_at_the_sign_of_a_counter(void **state)
{
    uint64_t sum = 0;
    int file;

    (void)state;
    set_up("skl", true);
    perf_switch(0, 0);
    file = open_event(UPMU_PERF_TYPE_HARDWARE, BRANCHES, -1, 0);
    map_one(file, 0);
    for (unsigned i = 0; i < 6; i++) {
        perf_work(0, true, UINT64_C(1) << 48);
        sum += UINT64_C(1) << 46;
        expect(file, 0, sum, true);
    }
    perf_switch(0, 2);
    perf_host_end();
}

static void interrupt_reader(void)
{
    switch_away_and_back(0, 0);
}

static void a_reader_sees_that_it_was_interrupted(void **state)
{
    int file;

    (void)state;
    set_up("skl", true);
    perf_switch(0, 0);
    file = open_event(UPMU_PERF_TYPE_HARDWARE, INSTRUCTIONS, -1, 0);
    map_one(file, 0);
    perf_work(0, true, 100);
    meanwhile = interrupt_reader;
    expect(file, 0, 100, true);
    assert_null(meanwhile);
    memset(&page[0], 0xa5, 64); /* a program may write its page: the next change makes it whole */
    switch_away_and_back(0, 0);
    perf_work(0, true, 100);
    expect(file, 0, 200, true);
    assert_true(page[0].time_enabled >= 100 && page[0].time_running == page[0].time_enabled); /* at the switch */
    perf_switch(0, 2);
    perf_host_end();
}

static void events_that_wait_have_no_counter_in_their_pages(void **state)
{
    unsigned running = 0, waiting = 0;
    int file[PAGES];

    (void)state;
    set_up("core", true);
    perf_switch(0, 0);
    for (unsigned i = 0; i < 6; i++) {
        file[i] = open_event(UPMU_PERF_TYPE_HARDWARE, BRANCHES, -1, 0);
        map_one(file[i], i);
    }
    for (unsigned k = 0; k < 10; k++) {
        perf_work(0, true, 4000);
        assert_int_equal(upmu_cpu_tick(&perf_host.host.cpu[0]), UPMU_OK);
    }
    for (unsigned i = 0; i < 6; i++) {
        uint64_t word[3];

        assert_int_equal(upmu_perf_read(perf_event(file[i]), word, sizeof word), sizeof word);
        assert_int_equal(read_page(&page[i]), word[0], i);
        running += page[i].index != 0;
        waiting += page[i].index == 0;
    }
    assert_int_equal(running, 2);
    assert_int_equal(waiting, 4);
    perf_switch(0, 2);
    perf_host_end();
}

static void only_own_counts_are_offered(void **state)
{
    struct upmu_perf_attr of_cpu = {.size = sizeof of_cpu, .config = INSTRUCTIONS};
    struct upmu_perf_attr sampled = {.size = sizeof of_cpu, .config = INSTRUCTIONS, .sample_period = 100000};
    struct upmu_perf_attr inherited = {.size = sizeof of_cpu, .config = INSTRUCTIONS, .flags = UPMU_PERF_INHERIT};

    (void)state;
    set_up("skl", true);
    perf_switch(0, 0);
    map_one(perf_open(&of_cpu, -1, 0, -1, 0), 0);
    map_one(perf_open(&sampled, 0, -1, -1, 0), 1);
    map_one(perf_open(&inherited, 0, 0, -1, 0), 2);
    map_one(open_event(UPMU_PERF_TYPE_SOFTWARE, UPMU_PERF_TASK_CLOCK, -1, 0), 3);
    perf_work(0, true, 1000);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(page[i].capabilities, UPMU_PERF_PAGE_CAPABILITIES, i);
        assert_int_equal(page[i].index, 0, i);
    }
    assert_false(allowed[0]);
    perf_switch(0, 2);
    perf_host_end();
    set_up("skl", true); /* RDPMC reads other values than the counters, as some emulators do */
    perf_switch(0, 0);
    perf_host.host.cpu[0].meter.bank.by_rdpmc = 0;
    map_one(open_event(UPMU_PERF_TYPE_HARDWARE, INSTRUCTIONS, -1, 0), 0);
    perf_work(0, true, 1000);
    assert_int_equal(page[0].capabilities, UPMU_PERF_PAGE_CAPABILITIES);
    assert_int_equal(page[0].index, 0);
    perf_switch(0, 2);
    perf_host_end();
    set_up("skl", false); /* the host gives no right */
    perf_switch(0, 0);
    map_one(open_event(UPMU_PERF_TYPE_HARDWARE, INSTRUCTIONS, -1, 0), 0);
    perf_work(0, true, 1000);
    assert_int_equal(page[0].capabilities, UPMU_PERF_PAGE_CAPABILITIES);
    assert_int_equal(page[0].index, 0);
    perf_switch(0, 2);
    perf_host_end();
}

/* ---- Time ---- */

#define CYCLES_A_NS 2u

/* The TSC of the model's clock: it began to count 700 ns before the clock. */
static uint64_t tsc(void)
{
    return CYCLES_A_NS * (perf_host.host.sim.now_ns + 700);
}

/* ns of cycles, as perf_event_open(2) tells a program to make them. */
static uint64_t ns_of(const struct upmu_perf_page *from, uint64_t cycles)
{
    uint64_t rest = cycles & ((UINT64_C(1) << from->time_shift) - 1);

    return (cycles >> from->time_shift) * from->time_mult + ((rest * from->time_mult) >> from->time_shift);
}

/* The times of a page at this moment are those that read(2) says. */
static void expect_times(int file, unsigned which, bool runs)
{
    const uint64_t time = UPMU_PERF_PAGE_TIME;
    uint64_t word[3], enabled = page[which].time_enabled, running = page[which].time_running;

    assert_int_equal(page[which].capabilities & time, runs ? time : 0, which);
    if (runs) {
        uint64_t since = page[which].time_offset + ns_of(&page[which], tsc());

        enabled += since;
        running += since;
    } else {
        assert_int_equal(page[which].time_offset, 0, which);
    }
    assert_int_equal(upmu_perf_read(perf_event(file), word, sizeof word), sizeof word);
    assert_int_equal(enabled, word[1], which);
    assert_int_equal(running, word[2], which);
}

static void a_page_tells_the_time_of_the_tsc(void **state)
{
    const uint64_t zero = UPMU_PERF_PAGE_TIME_ZERO;
    struct upmu_perf_attr sampled = {.size = sizeof sampled, .config = INSTRUCTIONS, .sample_period = 100000};
    int file, disabled;

    (void)state;
    set_up("skl", true);
    upmu_perf_tsc_set(&perf_host.perf.tsc, CYCLES_A_NS * 1000000, tsc(), perf_host.host.sim.now_ns);
    perf_switch(0, 0);
    file = open_event(UPMU_PERF_TYPE_HARDWARE, INSTRUCTIONS, -1, 0);
    disabled = open_event(UPMU_PERF_TYPE_HARDWARE, INSTRUCTIONS, -1, UPMU_PERF_DISABLED);
    perf_work(0, true, 100);
    map_one(file, 0);
    map_one(disabled, 1);
    map_one(perf_open(&sampled, 0, -1, -1, 0), 2);
    sampled.flags = UPMU_PERF_USE_CLOCKID;
    sampled.clockid = UPMU_PERF_MONOTONIC;
    map_one(perf_open(&sampled, 0, -1, -1, 0), 3);
    perf_work(0, true, 12345);
    expect_times(file, 0, true);
    expect_times(disabled, 1, false);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(page[i].capabilities & zero, i < 3 ? zero : 0, i);
        if (i < 3)
            assert_int_equal(page[i].time_zero + ns_of(&page[i], tsc()), perf_host.host.sim.now_ns, i);
    }
    assert_int_equal(page[2].capabilities & ~zero, UPMU_PERF_PAGE_CAPABILITIES);
    assert_int_equal(upmu_perf_tsc_ns(&perf_host.perf.tsc, tsc()), perf_host.host.sim.now_ns);
    memset(&page[0], 0xa5, 96); /* a program may write its page: the next change makes it whole */
    perf_switch(0, 2);
    expect_times(file, 0, false);
    perf_work(0, true, 50000);
    perf_switch(0, 0);
    perf_work(0, true, 33);
    expect_times(file, 0, true);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_DISABLE, 0), 0);
    perf_work(0, true, 100);
    expect_times(file, 0, false);
    perf_switch(0, 2);
    perf_host_end();
}

/* Rates from 1 kHz to 3 THz: after an hour the time is at most 8 microseconds wrong. */
static void a_time_is_made_from_any_rate(void **state)
{
    const uint32_t rates[] = {1, 1000, 32768, 465661, 465662, 500000, 1000000, 2399999, 3000000000};
    struct upmu_perf_tsc found;

    (void)state;
    for (unsigned i = 0; i < sizeof rates / sizeof *rates; i++) {
        uint64_t cycles = UINT64_C(3600000) * rates[i], now;

        upmu_perf_tsc_set(&found, rates[i], 5 * (uint64_t)rates[i], 77);
        assert_compare(found.shift, <, 32, i);
        assert_compare(found.mult, >, 0, i);
        now = upmu_perf_tsc_ns(&found, cycles);
        if (rates[i] < 10000000)
            assert_in_range(now - 77, UINT64_C(3599995000000) - 8000, UINT64_C(3599995000000));
    }
    upmu_perf_tsc_set(&found, 0, 1, 1);
    assert_int_equal(found.mult, 0);
    assert_int_equal(found.zero_ns, 0);
}

static void a_page_without_memory_is_refused(void **state)
{
    int file;

    (void)state;
    set_up("skl", true);
    perf_switch(0, 0);
    file = open_event(UPMU_PERF_TYPE_HARDWARE, INSTRUCTIONS, -1, 0);
    perf_work(0, true, 100);
    for (unsigned takes = 0; takes < 2; takes++) {
        unsigned left = perf_host.takes_left - takes;

        perf_host.takes_left = takes;
        assert_int_equal(upmu_perf_map(perf_event(file), &pages[0], 1, true), -UPMU_PERF_ENOMEM);
        perf_host.takes_left = left;
    }
    map_one(file, 0);
    perf_work(0, true, 100);
    expect(file, 0, 200, true);
    perf_switch(0, 2);
    perf_host_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_reads_what_a_call_reads),
        cmocka_unit_test(a_page_has_no_jump_at_the_sign_of_a_counter),
        cmocka_unit_test(a_reader_sees_that_it_was_interrupted),
        cmocka_unit_test(events_that_wait_have_no_counter_in_their_pages),
        cmocka_unit_test(only_own_counts_are_offered),
        cmocka_unit_test(a_page_tells_the_time_of_the_tsc),
        cmocka_unit_test(a_time_is_made_from_any_rate),
        cmocka_unit_test(a_page_without_memory_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
