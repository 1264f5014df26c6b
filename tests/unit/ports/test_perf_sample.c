/* SPDX-License-Identifier: MIT */
/*
 * Samples of perf_event_open: programs map rings, and find a record for each n-th instruction that the silicon model
 * executed, with the words that they asked for.
 */
#include "tests/common/perf_sources.h"

#include "tests/perf/perf_rings.h"

/* ---- Tests ---- */

static void each_sample_is_the_nth_instruction(void **state)
{
    const uint64_t periods[] = {1000, 100, 7};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t period = periods[i], executed = 0;
        unsigned samples = 0;
        int file;

        set_up();
        file = open_task(attr_of(INSTRUCTIONS, period, UPMU_PERF_SAMPLE_IP, USER_ONLY));
        map(file, 0);
        for (unsigned run = 0; run < 50; run++) {
            uint64_t before = executed;

            run_task(61 + run, 40);
            executed += 61 + run;
            for (; (samples + 1) * period <= executed; samples++) {
                take_sample_of(0, 2);
                assert_int_equal(record.misc, UPMU_PERF_MISC_USER);
                assert_int_equal(record.word[0], 0x1000 + (samples + 1) * period - before, run, samples);
            }
            assert_false(take(0), run);
        }
        assert_int_equal(count_of(file), executed);
        perf_close(file);
        perf_host_end();
    }
}

static void a_sample_has_the_words_that_were_asked_for(void **state)
{
    const uint64_t all = ONE_WORD & ~UPMU_PERF_SAMPLE_WEIGHT;
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 100, all, 0);
    int file;

    (void)state;
    set_up();
    upmu_perf_task_init(&perf_host.task[0], 17, 18);
    file = open_task(attr);
    map(file, 0);
    upmu_sim_advance_ns(&perf_host.host.sim, 5000);
    run_task(0, 100);
    take_sample_of(0, 14);
    assert_int_equal(record.misc, UPMU_PERF_MISC_KERNEL);
    assert_int_equal(record.word[0], 1);                         /* IDENTIFIER */
    assert_int_equal(record.word[1], 0x1064);                    /* IP */
    assert_int_equal(record.word[2], 17 | UINT64_C(18) << 32);   /* TID */
    assert_int_equal(record.word[3], perf_host.host.sim.now_ns); /* TIME */
    assert_int_equal(record.word[4], 0);                         /* ADDR */
    assert_int_equal(record.word[5], 1);                         /* ID */
    assert_int_equal(record.word[6], 1);                         /* STREAM_ID */
    assert_int_equal(record.word[7], 0);                         /* CPU */
    assert_int_equal(record.word[8], 100);                       /* PERIOD */
    assert_int_equal(record.word[9], 4);                         /* RAW: 4 bytes of 0 */
    assert_int_equal(record.word[10], 0);                        /* WEIGHT_STRUCT */
    assert_int_equal(record.word[11], NO_DATA_SRC);              /* DATA_SRC */
    assert_int_equal(record.word[12], 0);                        /* TRANSACTION */
    perf_switch(1, 0);
    perf_work(1, true, 100);
    take_sample_of(0, 14);
    assert_int_equal(record.word[7], 1);
    perf_switch(1, 3);
    for (unsigned bit = 0; bit < 25; bit++) {
        int other;

        attr.sample_type = UINT64_C(1) << bit;
        if (!(attr.sample_type & ONE_WORD))
            continue;
        other = open_task(attr);
        map(other, 1);
        run_task(100, 0);
        take_sample_of(1, 2);
        assert_int_not_equal(record.word[0], UINT64_C(0xeeeeeeeeeeeeeeee), bit);
        assert_int_equal(*((uint64_t *)mappings[1].pages[1] + 2), UINT64_C(0xeeeeeeeeeeeeeeee), bit);
        perf_close(other);
    }
    perf_close(file);
    perf_host_end();
}

static void what_is_lost_is_told_and_counted(void **state)
{
    struct upmu_perf_attr attr =
        attr_of(INSTRUCTIONS, 10, UPMU_PERF_SAMPLE_IP | UPMU_PERF_SAMPLE_TID, UPMU_PERF_SAMPLE_ID_ALL | USER_ONLY);
    unsigned found = 0, told = 0;
    uint64_t word[2];
    int file;

    (void)state;
    set_up();
    attr.read_format = UPMU_PERF_READ_LOST;
    file = open_task(attr);
    assert_int_equal(map_pages(file, 0, 2, true), 0);
    run_task(3000, 0); /* 300 samples of 24 bytes for 4096 */
    assert_int_equal(upmu_perf_read(perf_event(file), word, sizeof word), sizeof word);
    assert_int_equal(word[0], 3000);
    assert_int_equal(word[1], 130);
    while (take(0))
        found++;
    assert_int_equal(found, 170);
    run_task(50, 0);
    assert_true(take(0));
    assert_int_equal(record.type, UPMU_PERF_RECORD_LOST);
    assert_int_equal(record.words, 4);
    assert_int_equal(record.word[0], 1);
    assert_int_equal(record.word[1], 130);
    assert_int_equal(record.word[2], 0); /* sample_id_all: TID */
    while (take(0))
        told++;
    assert_int_equal(told, 5);
    perf_close(file);
    perf_host_end();
}

static void a_program_is_woken_as_it_wants(void **state)
{
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 10, UPMU_PERF_SAMPLE_IP, USER_ONLY);
    int file;

    (void)state;
    set_up();
    attr.wakeup = 3;
    file = open_task(attr);
    assert_int_equal(upmu_perf_poll(perf_event(file)), UPMU_PERF_POLL_HUP);
    map(file, 0);
    assert_int_equal(upmu_perf_poll(perf_event(file)), 0);
    run_task(20, 0);
    assert_int_equal(upmu_perf_poll(perf_event(file)), 0);
    run_task(10, 0);
    assert_int_equal(upmu_perf_poll(perf_event(file)), UPMU_PERF_POLL_IN);
    assert_int_equal(upmu_perf_poll(perf_event(file)), 0);
    run_task(70, 0);
    assert_int_equal(wakes[0], 3);
    assert_int_equal(overflows[0], 10);
    perf_close(file);
    attr.flags |= UPMU_PERF_WATERMARK;
    attr.wakeup = 32;
    file = open_task(attr);
    map(file, 0);
    run_task(20, 0);
    assert_int_equal(upmu_perf_poll(perf_event(file)), 0);
    run_task(10, 0);
    assert_int_equal(upmu_perf_poll(perf_event(file)), UPMU_PERF_POLL_IN);
    assert_int_equal(upmu_perf_exit(&perf_host.task[0]), UPMU_OK);
    assert_int_equal(upmu_perf_poll(perf_event(file)), UPMU_PERF_POLL_HUP);
    perf_close(file);
    perf_host_end();
}

static void a_hangup_waits_for_the_last_child(void **state)
{
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 10, UPMU_PERF_SAMPLE_TID, UPMU_PERF_INHERIT | USER_ONLY);
    int file;

    (void)state;
    set_up();
    file = perf_open(&attr, 0, 0, -1, 0);
    map(file, 0);
    upmu_perf_task_init(&perf_host.task[1], 5, 6);
    perf_switch(0, 0);
    assert_int_equal(upmu_perf_fork(&perf_host.task[0], &perf_host.task[1], false), 0);
    perf_work(0, true, 10);
    perf_switch(0, 1);
    perf_work(0, true, 20);
    take_sample_of(0, 2);
    assert_int_equal(record.word[0], 0);
    for (unsigned i = 0; i < 2; i++) {
        take_sample_of(0, 2);
        assert_int_equal(record.word[0], 5 | UINT64_C(6) << 32, i);
    }
    assert_int_equal(upmu_perf_exit(&perf_host.task[0]), UPMU_OK);
    assert_int_equal(upmu_perf_poll(perf_event(file)), 0);
    perf_switch(0, 2);
    assert_int_equal(upmu_perf_exit(&perf_host.task[1]), UPMU_OK);
    assert_int_equal(upmu_perf_poll(perf_event(file)), UPMU_PERF_POLL_HUP);
    assert_int_equal(count_of(file), 30);
    perf_close(file);
    perf_host_end();
}

static void events_of_one_cpu_share_a_ring(void **state)
{
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 100, UPMU_PERF_SAMPLE_ID, USER_ONLY);
    struct upmu_perf_attr everywhere = attr_of(INSTRUCTIONS, 100, UPMU_PERF_SAMPLE_ID, UPMU_PERF_INHERIT);
    unsigned samples[4] = {0, 0, 0, 0};
    int first, second, third, elsewhere;

    (void)state;
    set_up();
    first = perf_open(&attr, 0, 0, -1, 0);
    assert_int_equal(perf_open(&attr, 1, 0, first, UPMU_PERF_FLAG_NO_GROUP | UPMU_PERF_FLAG_OUTPUT), -UPMU_PERF_EINVAL);
    second = perf_open(&attr, 1, 0, -1, 0);
    assert_int_equal(perf_ioctl(second, UPMU_PERF_IOC_SET_OUTPUT, (uint32_t)first), -UPMU_PERF_EINVAL);
    map(first, 0);
    assert_int_equal(perf_ioctl(second, UPMU_PERF_IOC_SET_OUTPUT, (uint32_t)first), 0);
    third = perf_open(&attr, -1, 0, first, UPMU_PERF_FLAG_NO_GROUP | UPMU_PERF_FLAG_OUTPUT);
    assert_compare(third, >, 0);
    assert_int_equal(perf_ioctl(first, UPMU_PERF_IOC_SET_OUTPUT, (uint32_t)-1), -UPMU_PERF_EINVAL); /* has pages */
    assert_int_equal(perf_ioctl(first, UPMU_PERF_IOC_SET_OUTPUT, (uint32_t)first), -UPMU_PERF_EINVAL);
    elsewhere = perf_open(&attr, 0, 1, -1, 0);
    assert_int_equal(perf_ioctl(elsewhere, UPMU_PERF_IOC_SET_OUTPUT, (uint32_t)first), -UPMU_PERF_EINVAL);
    perf_close(elsewhere);
    elsewhere = perf_open(&everywhere, 0, -1, -1, 0);
    assert_int_equal(map_pages(elsewhere, 1, 2, true), -UPMU_PERF_EINVAL);
    perf_close(elsewhere);
    assert_int_equal(map_pages(second, 1, 2, true), -UPMU_PERF_EINVAL); /* has a ring */
    run_task(100, 0);
    perf_switch(0, 1);
    perf_work(0, true, 100);
    for (unsigned i = 0; i < 4; i++) { /* the third event samples both tasks */
        take_sample_of(0, 2);
        assert_in_range(record.word[0], 1, 3);
        samples[record.word[0]]++;
    }
    assert_true(samples[1] == 1 && samples[2] == 1 && samples[3] == 2);
    assert_false(take(0));
    assert_int_equal(perf_ioctl(second, UPMU_PERF_IOC_SET_OUTPUT, (uint32_t)-1), 0);
    assert_int_equal(perf_ioctl(third, UPMU_PERF_IOC_DISABLE, 0), 0);
    perf_work(0, true, 100);
    assert_false(take(0));
    assert_int_equal(perf_ioctl(second, UPMU_PERF_IOC_SET_OUTPUT, (uint32_t)first), 0);
    perf_close(first); /* its pages end, and no event writes there any more */
    memset(&mappings[0], 0x77, sizeof mappings[0]);
    perf_work(0, true, 1000);
    for (unsigned i = 0; i < sizeof mappings[0].memory; i++)
        assert_int_equal(((uint8_t *)mappings[0].memory)[i], 0x77, i);
    perf_switch(0, 2);
    perf_host_end();
}

static void tasks_share_a_ring_with_themselves_alone(void **state)
{
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 100, UPMU_PERF_SAMPLE_ID, USER_ONLY), other = attr;
    uint64_t ids;
    int first, second;

    (void)state;
    set_up();
    first = open_task(attr);
    map(first, 0);
    second = perf_open(&attr, 1, -1, -1, 0);
    assert_int_equal(perf_ioctl(second, UPMU_PERF_IOC_SET_OUTPUT, (uint32_t)first), -UPMU_PERF_EINVAL);
    perf_close(second);
    other.flags |= UPMU_PERF_WRITE_BACKWARD;
    second = open_task(other);
    assert_int_equal(perf_ioctl(second, UPMU_PERF_IOC_SET_OUTPUT, (uint32_t)first), -UPMU_PERF_EINVAL);
    perf_close(second);
    other = attr;
    other.flags |= UPMU_PERF_USE_CLOCKID;
    other.clockid = UPMU_PERF_MONOTONIC;
    second = open_task(other);
    assert_int_equal(perf_ioctl(second, UPMU_PERF_IOC_SET_OUTPUT, (uint32_t)first), -UPMU_PERF_EINVAL);
    perf_close(second);
    second = open_task(attr);
    assert_int_equal(perf_ioctl(second, UPMU_PERF_IOC_SET_OUTPUT, (uint32_t)first), 0);
    run_task(100, 0);
    take_sample_of(0, 2);
    ids = record.word[0];
    take_sample_of(0, 2);
    ids |= record.word[0] << 8;
    assert_true(ids == (1 | UINT64_C(5) << 8) || ids == (5 | UINT64_C(1) << 8));
    perf_host_end();
}

static void pages_are_given_up_only_when_no_cpu_writes(void **state)
{
    bool (*run_on_cpu)(void *, struct upmu_cpu *, void (*)(void *), void *);
    int file;

    (void)state;
    set_up();
    file = open_task(attr_of(INSTRUCTIONS, 100, UPMU_PERF_SAMPLE_IP, USER_ONLY));
    assert_int_equal(upmu_perf_unmap(perf_event(file)), 0); /* there are none */
    map(file, 0);
    perf_switch(1, 0);
    upmu_sim_switch_cpu(&perf_host.host.sim, 0);
    run_on_cpu = perf_host.host.sim.port.run_on_cpu;
    perf_host.host.sim.port.run_on_cpu = NULL;
    assert_int_equal(upmu_perf_unmap(perf_event(file)), -UPMU_PERF_EBUSY);
    assert_int_equal(upmu_perf_close(perf_event(file)), -UPMU_PERF_EBUSY);
    perf_work(1, true, 100);
    take_sample_of(0, 2);
    upmu_sim_switch_cpu(&perf_host.host.sim, 0);
    perf_host.host.sim.port.run_on_cpu = run_on_cpu;
    assert_int_equal(upmu_perf_unmap(perf_event(file)), 0);
    perf_work(1, true, 100);
    assert_false(take(0));
    assert_int_equal(count_of(file), 200);
    perf_switch(1, 3);
    perf_host_end();
}

static void a_ring_can_be_paused(void **state)
{
    int file;

    (void)state;
    set_up();
    file = open_task(attr_of(INSTRUCTIONS, 100, UPMU_PERF_SAMPLE_IP, USER_ONLY));
    assert_int_equal(map_pages(file, 0, 1, true), 0);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_PAUSE_OUTPUT, 1), -UPMU_PERF_EINVAL); /* no data */
    run_task(300, 0);
    assert_int_equal(perf_event(file)->lost, 0); /* nothing was to be written */
    assert_int_equal(upmu_perf_unmap(perf_event(file)), 0);
    map(file, 0);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_PAUSE_OUTPUT, 1), 0);
    run_task(200, 0);
    assert_false(take(0));
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_PAUSE_OUTPUT, 0), 0);
    run_task(100, 0);
    assert_true(take(0));
    assert_int_equal(record.type, UPMU_PERF_RECORD_LOST);
    assert_int_equal(record.word[1], 2);
    take_sample_of(0, 2);
    perf_host_end();
}

static void a_program_that_only_looks_finds_the_newest(void **state)
{
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 10, UPMU_PERF_SAMPLE_IP, USER_ONLY | UPMU_PERF_WRITE_BACKWARD);
    uint64_t executed = 0;
    int file;

    (void)state;
    set_up();
    file = open_task(attr);
    assert_int_equal(map_pages(file, 0, 1 + DATA_PAGES, false), 0);
    for (; executed < 10000; executed += 1000)
        run_task(1000, 0);
    mappings[0].position = page_of(0)->head.whole;
    page_of(0)->head.whole = 0; /* where the oldest one ended: it is overwritten */
    for (unsigned i = 0; i < 100; i++) {
        take_sample_of(0, 2);
        assert_int_equal(record.word[0], 0x1000 + 1000 - 10 * i, i);
    }
    perf_host_end();
}

static void a_period_goes_on_where_it_was_stopped(void **state)
{
    uint64_t period = 50;
    int file, other;

    (void)state;
    set_up();
    file = open_task(attr_of(INSTRUCTIONS, 100, UPMU_PERF_SAMPLE_PERIOD, USER_ONLY));
    map(file, 0);
    run_task(60, 0);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_DISABLE, 0), 0);
    run_task(60, 0);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_ENABLE, 0), 0);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_DISABLE, 0), 0); /* twice in one period */
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_ENABLE, 0), 0);
    run_task(39, 0);
    assert_false(take(0));
    run_task(1, 0);
    take_sample_of(0, 2);
    assert_int_equal(record.word[0], 100);
    run_task(70, 0);
    other = perf_open(&(struct upmu_perf_attr){.size = 64}, 0, -1, file, 0); /* the group gets another session */
    assert_compare(other, >, 0);
    run_task(29, 0);
    assert_false(take(0));
    run_task(1, 0);
    assert_true(take(0));
    run_task(20, 0);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_PERIOD, (uintptr_t)&period), 0);
    run_task(49, 0);
    assert_false(take(0));
    run_task(51, 0);
    take_sample_of(0, 2);
    take_sample_of(0, 2);
    assert_int_equal(record.word[0], 50);
    period = UINT64_C(1) << 63;
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_PERIOD, (uintptr_t)&period), -UPMU_PERF_EINVAL);
    period = 0;
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_PERIOD, (uintptr_t)&period), -UPMU_PERF_EINVAL);
    perf_host_end();
}

static void a_period_below_the_least_is_raised(void **state)
{
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 1, UPMU_PERF_SAMPLE_PERIOD, USER_ONLY);
    uint64_t period = 100;
    int file;

    (void)state;
    perf_host_set_up("zen4"); /* AMD's least is 2 */
    file = open_task(attr);
    map(file, 0);
    run_task(2, 0);
    take_sample_of(0, 2);
    assert_int_equal(record.word[0], 2);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_PERIOD, (uintptr_t)&period), 0);
    run_task(100, 0);
    take_sample_of(0, 2);
    assert_int_equal(record.word[0], 100);
    period = 1;
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_PERIOD, (uintptr_t)&period), 0);
    run_task(2, 0);
    take_sample_of(0, 2);
    assert_int_equal(record.word[0], 2);
    perf_host_end();
}

static bool (*run_on_cpu)(void *, struct upmu_cpu *, void (*)(void *), void *);
static unsigned reaches; /* how often the other CPU can still be reached */

static bool reach_some_times(void *context, struct upmu_cpu *cpu, void (*work)(void *), void *argument)
{
    return reaches && reaches-- && run_on_cpu(context, cpu, work, argument);
}

static void a_period_that_cannot_begin_leaves_the_former(void **state)
{
    uint64_t period = 50;
    unsigned granted;
    int file;

    (void)state;
    set_up();
    file = open_task(attr_of(INSTRUCTIONS, 100, UPMU_PERF_SAMPLE_PERIOD, USER_ONLY));
    map(file, 0);
    perf_switch(1, 0);
    upmu_sim_switch_cpu(&perf_host.host.sim, 0);
    run_on_cpu = perf_host.host.sim.port.run_on_cpu;
    perf_host.host.sim.port.run_on_cpu = reach_some_times;
    for (granted = 0;; granted++) {
        reaches = granted;
        if (perf_ioctl(file, UPMU_PERF_IOC_PERIOD, (uintptr_t)&period) == 0)
            break;
        assert_compare(granted, <, 8);
        perf_host.host.sim.port.run_on_cpu = run_on_cpu;
        assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_ENABLE, 0), 0);
        perf_work(1, true, 100);
        take_sample_of(0, 2);
        assert_int_equal(record.word[0], 100, granted);
        assert_false(take(0), granted);
        upmu_sim_switch_cpu(&perf_host.host.sim, 0);
        perf_host.host.sim.port.run_on_cpu = reach_some_times;
    }
    assert_compare(granted, >, 1); /* it failed at more than one place */
    perf_host.host.sim.port.run_on_cpu = run_on_cpu;
    perf_work(1, true, 50);
    take_sample_of(0, 2);
    assert_int_equal(record.word[0], 50);
    perf_switch(1, 3);
    perf_host_end();
}

static void periods_of_a_frequency_sum_up_to_the_count(void **state)
{
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 1000, UPMU_PERF_SAMPLE_PERIOD, USER_ONLY | UPMU_PERF_FREQ);
    uint64_t sum = 0, samples = 0, period = 100001;
    int file;

    (void)state;
    set_up();
    file = open_task(attr);
    map(file, 0);
    for (unsigned i = 0; i < 200; i++) {
        run_task(1000000, 0); /* of a ns each */
        for (; take(0); samples++)
            sum += record.word[0];
        if (i == 100) {
            assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_DISABLE, 0), 0);
            assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_ENABLE, 0), 0);
        }
    }
    assert_compare(samples, >, 160); /* 0.2 s */
    assert_compare(samples, <, 300);
    assert_compare(sum, <=, count_of(file));
    assert_compare(sum, >, count_of(file) - 3000000);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_PERIOD, (uintptr_t)&period), -UPMU_PERF_EINVAL);
    perf_host_end();
}

static void a_sample_has_the_counts_of_its_group(void **state)
{
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 100, UPMU_PERF_SAMPLE_READ, USER_ONLY);
    struct upmu_perf_attr soft = {.type = UPMU_PERF_TYPE_SOFTWARE, .size = 64, .config = UPMU_PERF_FAULTS};
    struct upmu_perf_attr branches = attr_of(4, 0, 0, USER_ONLY);
    int file;

    (void)state;
    set_up();
    attr.read_format = UPMU_PERF_READ_GROUP | UPMU_PERF_READ_ID | UPMU_PERF_READ_LOST;
    file = open_task(attr);
    map(file, 0);
    assert_compare(perf_open(&branches, 0, -1, file, 0), >, 0);
    assert_compare(perf_open(&soft, 0, -1, file, 0), >, 0);
    perf_switch(0, 0);
    upmu_perf_note(&perf_host.perf, 0, &perf_host.task[0], UPMU_PERF_NOTE_FAULT_MINOR, true);
    perf_work(0, true, 400);
    for (unsigned i = 1; i <= 4; i++) {
        const uint64_t expected[] = {3, 100 * i, 1, 0, 25 * i, 2, 0, 1, 3, 0};

        take_sample_of(0, 11);
        for (unsigned j = 0; j < 10; j++)
            assert_int_equal(record.word[j], expected[j], i, j);
    }
    perf_switch(0, 2);
    perf_host_end();
    set_up();
    attr.read_format = UPMU_PERF_READ_ID;
    file = open_task(attr);
    map(file, 0);
    run_task(130, 0);
    take_sample_of(0, 3);
    assert_int_equal(record.word[0], 100);
    assert_int_equal(record.word[1], 1);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_DISABLE, 0), 0);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_ENABLE, 0), 0);
    run_task(70, 0);
    take_sample_of(0, 3);
    assert_int_equal(record.word[0], 200); /* with what an earlier session has counted */
    perf_host_end();
}

/* Callers 0x51, 0x52, ... of frames at 8, 16, ... */
static bool read_frame(void *context, uint64_t fp, bool user, uint64_t *out_next, uint64_t *out_return)
{
    (void)context;
    (void)user;
    *out_next = fp + 8;
    *out_return = 0x50 + fp / 8;
    return fp < 8 * 6;
}

static const struct upmu_callers callers = {.read = read_frame, .depth = 8};

/* As the host's own, with a frame pointer. */
static void deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    const struct upmu_frame frame = {.ip = interrupt->ip, .user = interrupt->user, .fp = 8};

    (void)sim;
    (void)upmu_pmi_handle(&perf_host.host.cpu[cpu], &frame);
}

static void a_chain_has_the_mode_the_code_and_its_callers(void **state)
{
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 100, UPMU_PERF_SAMPLE_CALLCHAIN, 0);
    int file;

    (void)state;
    set_up();
    perf_host.host.sim.deliver = deliver;
    file = open_task(attr);
    map(file, 0);
    run_task(100, 0); /* the host finds no callers */
    take_sample_of(0, 4);
    assert_int_equal(record.word[0], 2);
    assert_int_equal(record.word[1], UPMU_PERF_CONTEXT_USER);
    assert_int_equal(record.word[2], 0x1064);
    perf_close(file);
    perf_host.perf.callers = &callers;
    for (unsigned depth = 1; depth < 10; depth++) {
        attr.sample_max_stack = (uint16_t)depth;
        file = open_task(attr);
        map(file, 0);
        run_task(0, 100);
        take_sample_of(0, 3 + (depth < 6 ? depth : 6));
        assert_int_equal(record.word[0], record.words - 2, depth);
        assert_int_equal(record.word[1], UPMU_PERF_CONTEXT_KERNEL, depth);
        for (unsigned i = 1; i < depth && i < 6; i++)
            assert_int_equal(record.word[2 + i], 0x50 + i, depth, i);
        perf_close(file);
    }
    attr.flags |= UPMU_PERF_EXCLUDE_CALLERS_KERNEL;
    file = open_task(attr);
    map(file, 0);
    run_task(0, 100);
    take_sample_of(0, 2);
    assert_int_equal(record.word[0], 0);
    run_task(100, 0);
    assert_true(take(0));
    assert_compare(record.word[0], >, 2);
    perf_host_end();
}

static void a_user_does_not_learn_the_kernels_addresses(void **state)
{
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 100, UPMU_PERF_SAMPLE_IP, USER_ONLY);
    int file;

    (void)state;
    for (unsigned admin = 0; admin < 2; admin++) {
        set_up();
        perf_host.caller = admin ? ADMINISTRATOR : USER;
        perf_host.host.sim.skid = 10;
        file = open_task(attr);
        map(file, 0);
        run_task(100, 50); /* the interrupt comes ten instructions later, in the kernel */
        take_sample_of(0, 2);
        assert_int_equal(record.misc, UPMU_PERF_MISC_KERNEL, admin);
        assert_int_equal(!!record.word[0], admin);
        perf_close(file);
        attr.flags = USER_ONLY | UPMU_PERF_INHERIT;
        file = perf_open(&attr, 0, 0, -1, 0);
        map(file, 0);
        perf_switch(0, 0);
        assert_int_equal(upmu_perf_fork(&perf_host.task[0], &perf_host.task[1], false), 0);
        perf_switch(0, 1);
        perf_work(0, true, 100);
        perf_work(0, false, 50);
        take_sample_of(0, 2);
        assert_int_equal(!!record.word[0], admin); /* of a child, too */
        perf_switch(0, 2);
        assert_int_equal(upmu_perf_exit(&perf_host.task[1]), UPMU_OK);
        attr.flags = USER_ONLY;
        perf_host_end();
    }
}

static int refused(uint64_t parts, uint64_t read_format, uint64_t flags)
{
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 100, parts, flags);
    int file;

    attr.read_format = read_format;
    attr.clockid = 4;
    attr.sample_regs_user = attr.sample_regs_intr = 1;
    file = open_task(attr);
    if (file <= 0)
        return -file;
    perf_close(file);
    return 0;
}

static uint64_t clock_by_number(void *context, int32_t number)
{
    (void)context;
    return 1000000 + (uint64_t)number;
}

static void samples_that_this_layer_lacks_are_refused(void **state)
{
    struct upmu_perf_attr attr;
    int file;

    (void)state;
    set_up();
    for (unsigned bit = 0; bit < 25; bit++) {
        uint64_t part = UINT64_C(1) << bit;
        bool fine = part & (ONE_WORD | UPMU_PERF_SAMPLE_READ | UPMU_PERF_SAMPLE_CALLCHAIN);

        if (part != UPMU_PERF_SAMPLE_BRANCH_STACK)
            assert_int_equal(refused(part, 0, 0), fine ? 0 : UPMU_PERF_EOPNOTSUPP, bit);
    }
    assert_int_equal(refused(UPMU_PERF_SAMPLE_READ, UPMU_PERF_READ_ENABLED, 0), UPMU_PERF_EOPNOTSUPP);
    assert_int_equal(refused(UPMU_PERF_SAMPLE_READ, UPMU_PERF_READ_RUNNING, 0), UPMU_PERF_EOPNOTSUPP);
    assert_int_equal(refused(UPMU_PERF_SAMPLE_TIME, 0, UPMU_PERF_USE_CLOCKID), UPMU_PERF_EOPNOTSUPP);
    perf_host.perf.clock_of = clock_by_number;
    assert_int_equal(refused(UPMU_PERF_SAMPLE_TIME, 0, UPMU_PERF_USE_CLOCKID), 0);
    attr = attr_of(INSTRUCTIONS, 100, UPMU_PERF_SAMPLE_TIME, UPMU_PERF_USE_CLOCKID);
    attr.clockid = 7;
    file = open_task(attr);
    map(file, 0);
    run_task(100, 0);
    take_sample_of(0, 2);
    assert_int_equal(record.word[0], 1000007);
    perf_host_end();
    set_up();
    perf_host.host.sim.port.pmi_rearm = NULL;
    assert_int_equal(refused(UPMU_PERF_SAMPLE_IP, 0, 0), UPMU_PERF_EOPNOTSUPP);
    perf_host_end();
}

/* attr.sigtrap: refused where there would be a signal. */
static void a_signal_for_each_sample_is_refused(void **state)
{
    const uint64_t flags = UPMU_PERF_SIGTRAP | UPMU_PERF_REMOVE_ON_EXEC;
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 100, UPMU_PERF_SAMPLE_IP, flags);

    (void)state;
    set_up();
    perf_host.perf.tick_rate = 1000;
    attr.sig_data = 17;
    for (unsigned type = UPMU_PERF_TYPE_HARDWARE; type <= UPMU_PERF_TYPE_SOFTWARE; type++) {
        attr.type = type;
        attr.sample_period = 100;
        attr.flags = flags;
        assert_int_equal(open_task(attr), -UPMU_PERF_EOPNOTSUPP, type);
        assert_int_equal(perf_open(&attr, -1, 0, -1, 0), -UPMU_PERF_EINVAL, type); /* no task to signal */
        attr.flags = UPMU_PERF_SIGTRAP;
        assert_int_equal(open_task(attr), -UPMU_PERF_EINVAL, type); /* the next program would get it, too */
        attr.flags = flags;
        attr.sample_period = 0; /* nothing overflows */
        assert_compare(open_task(attr), >, 0, type);
    }
    perf_host_end();
}

static void a_ring_needs_memory_and_gives_it_back(void **state)
{
    int file;

    (void)state;
    set_up();
    file = open_task(attr_of(CYCLES, 0, 0, 0));
    perf_host.takes_left = 0;
    assert_int_equal(map_pages(file, 0, 2, true), -UPMU_PERF_ENOMEM);
    perf_host.takes_left = 999;
    assert_int_equal(map_pages(file, 0, 3 + 1, true), -UPMU_PERF_EINVAL);
    assert_int_equal(map_pages(file, 0, 2, true), 0);
    assert_int_equal(map_pages(file, 0, 2, true), -UPMU_PERF_EINVAL);
    perf_host_end();
}

static void expect_text(const char *text, unsigned first)
{
    assert_string_equal((const char *)&record.word[first], text);
    assert_int_equal(record.words, 1 + first + strlen(text) / 8 + 1, first);
}

static void names_and_mappings_are_told_to_those_who_ask(void **state)
{
    const uint64_t flags[] = {UPMU_PERF_COMM, UPMU_PERF_MMAP, UPMU_PERF_MMAP2, UPMU_PERF_MMAP_DATA};
    const struct upmu_perf_mapping code = {.address = 0x400000,
                                           .bytes = 0x2000,
                                           .offset = 0x1000,
                                           .major = 8,
                                           .minor = 3,
                                           .inode = 77,
                                           .generation = 5,
                                           .protection = 5,
                                           .flags = 2,
                                           .path = "/bin/sixteen.char"};
    struct upmu_perf_mapping data = code;

    (void)state;
    data.protection = 3;
    data.path = "/bin/15.letters";
    for (unsigned i = 0; i < 4; i++) {
        struct upmu_perf_attr attr = {.type = UPMU_PERF_TYPE_SOFTWARE,
                                      .size = 64,
                                      .config = UPMU_PERF_DUMMY,
                                      .sample_type = UPMU_PERF_SAMPLE_CPU | UPMU_PERF_SAMPLE_IDENTIFIER,
                                      .flags = flags[i]};
        int file;

        set_up();
        upmu_perf_task_init(&perf_host.task[0], 17, 18);
        file = open_task(attr);
        map(file, 0);
        upmu_perf_comm(&perf_host.task[0], "early", false); /* the task has not run yet */
        assert_false(take(0));
        perf_switch(1, 0);
        upmu_perf_comm(&perf_host.task[0], "name", false);
        upmu_perf_mmap(&perf_host.task[0], &code);
        upmu_perf_mmap(&perf_host.task[0], &data);
        upmu_perf_comm(&perf_host.task[0], "program7", true);
        assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_DISABLE, 0), 0);
        upmu_perf_comm(&perf_host.task[0], "disabled", false);
        upmu_perf_mmap(&perf_host.task[0], &code);
        assert_true(take(0), i);
        if (i == 0) {
            assert_int_equal(record.type, UPMU_PERF_RECORD_COMM);
            assert_int_equal(record.misc, 0);
            assert_int_equal(record.word[0], 17 | UINT64_C(18) << 32);
            expect_text("name", 1);
            assert_true(take(0));
            assert_int_equal(record.misc, UPMU_PERF_MISC_EXEC);
            expect_text("program7", 1);
        } else {
            const struct upmu_perf_mapping *seen = i == 3 ? &data : &code;

            assert_int_equal(record.type, i == 2 ? UPMU_PERF_RECORD_MMAP2 : UPMU_PERF_RECORD_MMAP, i);
            assert_int_equal(record.misc, UPMU_PERF_MISC_USER | (i == 3 ? UPMU_PERF_MISC_MMAP_DATA : 0), i);
            assert_int_equal(record.word[0], 17 | UINT64_C(18) << 32);
            assert_int_equal(record.word[1], 0x400000);
            assert_int_equal(record.word[2], 0x2000);
            assert_int_equal(record.word[3], 0x1000);
            expect_text(seen->path, i == 2 ? 8 : 4);
            if (i == 2) {
                assert_int_equal(record.word[4], 8 | UINT64_C(3) << 32);
                assert_int_equal(record.word[5], 77);
                assert_int_equal(record.word[6], 5);
                assert_int_equal(record.word[7], 5 | UINT64_C(2) << 32);
            }
        }
        assert_false(take(0), i);
        perf_switch(1, 3);
        perf_host_end();
    }
}

static void forks_and_ends_are_told_with_the_identity_of_the_event(void **state)
{
    struct upmu_perf_attr attr = {.type = UPMU_PERF_TYPE_SOFTWARE,
                                  .size = 64,
                                  .config = UPMU_PERF_DUMMY,
                                  .sample_type = IDENTITY,
                                  .flags = UPMU_PERF_TASK | UPMU_PERF_SAMPLE_ID_ALL | UPMU_PERF_INHERIT};
    int file;

    (void)state;
    set_up();
    upmu_perf_task_init(&perf_host.task[0], 17, 18);
    upmu_perf_task_init(&perf_host.task[1], 21, 22);
    upmu_sim_advance_ns(&perf_host.host.sim, 3000);
    file = perf_open(&attr, 0, 1, -1, 0);
    map(file, 0);
    perf_switch(0, 0);
    assert_int_equal(upmu_perf_fork(&perf_host.task[0], &perf_host.task[1], false), 0);
    assert_false(take(0)); /* on another CPU than that of the event */
    perf_switch(0, 2);
    assert_int_equal(upmu_perf_exit(&perf_host.task[1]), UPMU_OK);
    upmu_perf_task_init(&perf_host.task[1], 21, 22);
    perf_switch(1, 0);
    assert_int_equal(upmu_perf_fork(&perf_host.task[0], &perf_host.task[1], false), 0);
    assert_true(take(0));
    assert_int_equal(record.type, UPMU_PERF_RECORD_FORK);
    assert_int_equal(record.words, 10);
    assert_int_equal(record.word[0], 21 | UINT64_C(17) << 32);
    assert_int_equal(record.word[1], 22 | UINT64_C(18) << 32);
    assert_int_equal(record.word[2], perf_host.host.sim.now_ns);
    assert_int_equal(record.word[3], 17 | UINT64_C(18) << 32);   /* TID */
    assert_int_equal(record.word[4], perf_host.host.sim.now_ns); /* TIME */
    assert_int_equal(record.word[5], 1);                         /* ID */
    assert_int_equal(record.word[6], 1);                         /* STREAM_ID */
    assert_int_equal(record.word[7], 1);                         /* CPU */
    assert_int_equal(record.word[8], 1);                         /* IDENTIFIER */
    perf_switch(1, 1);
    assert_false(take(0));
    perf_switch(1, 3);
    assert_int_equal(upmu_perf_exit(&perf_host.task[1]), UPMU_OK); /* by the copy that it inherited */
    assert_true(take(0));
    assert_int_equal(record.type, UPMU_PERF_RECORD_EXIT);
    assert_int_equal(record.word[0], 21 | UINT64_C(21) << 32);
    assert_int_equal(record.word[1], 22 | UINT64_C(22) << 32);
    perf_close(file);
    attr.flags &= ~UPMU_PERF_INHERIT;
    file = perf_open(&attr, -1, 1, -1, 0); /* of a CPU: all that runs there */
    map(file, 0);
    perf_switch(1, 0);
    upmu_perf_comm(&perf_host.task[0], "name", false);
    assert_false(take(0)); /* not asked for */
    assert_int_equal(upmu_perf_fork(&perf_host.task[0], &perf_host.task[1], true), 0);
    assert_true(take(0));
    assert_int_equal(record.type, UPMU_PERF_RECORD_FORK);
    perf_close(file);
    assert_int_equal(upmu_perf_fork(&perf_host.task[0], &perf_host.task[1], true), 0);
    perf_switch(1, 3);
    perf_host_end();
}

static void refresh_allows_so_many_overflows(void **state)
{
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 100, UPMU_PERF_SAMPLE_IP, USER_ONLY | UPMU_PERF_DISABLED);
    int file, other;

    (void)state;
    set_up();
    file = open_task(attr);
    map(file, 0);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_REFRESH, 3), 0);
    assert_int_equal(limits[0], 0);
    run_task(1000, 0);
    for (unsigned i = 1; i <= 3; i++) {
        take_sample_of(0, 2);
        assert_int_equal(record.word[0], 0x1000 + 100 * i, i);
    }
    assert_false(take(0));
    assert_int_equal(count_of(file), 300);
    assert_int_equal(overflows[0], 3);
    assert_int_equal(limits[0], 1);
    run_task(1000, 0);
    assert_int_equal(count_of(file), 300);
    other = perf_open(&attr, 0, -1, file, 0); /* the group begins anew */
    run_task(1000, 0);
    assert_int_equal(count_of(file), 300);
    perf_close(other);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_REFRESH, 1), 0);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_REFRESH, 1), 0);
    run_task(1000, 0);
    assert_int_equal(count_of(file), 500);
    assert_int_equal(limits[0], 2);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_ENABLE, 0), 0);
    run_task(1000, 0);
    assert_int_equal(count_of(file), 1500);
    attr.flags |= UPMU_PERF_INHERIT;
    other = open_task(attr);
    assert_int_equal(perf_ioctl(other, UPMU_PERF_IOC_REFRESH, 1), -UPMU_PERF_EINVAL);
    perf_host_end();
}

static void switches_are_told_by_the_task_that_switches(void **state)
{
    struct upmu_perf_attr attr = {.type = UPMU_PERF_TYPE_SOFTWARE,
                                  .size = 64,
                                  .config = UPMU_PERF_DUMMY,
                                  .sample_type = UPMU_PERF_SAMPLE_CPU | UPMU_PERF_SAMPLE_TIME,
                                  .flags = UPMU_PERF_CONTEXT_SWITCH | UPMU_PERF_SAMPLE_ID_ALL};
    int file;

    (void)state;
    set_up();
    file = open_task(attr);
    map(file, 0);
    perf_switch(1, 0);
    upmu_sim_advance_ns(&perf_host.host.sim, 700);
    perf_switch(1, 1);
    perf_switch(1, 3);
    assert_true(take(0));
    assert_int_equal(record.type, UPMU_PERF_RECORD_SWITCH);
    assert_int_equal(record.misc, 0);
    assert_int_equal(record.words, 3);
    assert_int_equal(record.word[0], perf_host.host.sim.now_ns - 700);
    assert_int_equal(record.word[1], 1);
    assert_true(take(0));
    assert_int_equal(record.misc, UPMU_PERF_MISC_SWITCH_OUT);
    assert_int_equal(record.word[0], perf_host.host.sim.now_ns);
    assert_false(take(0));
    perf_close(file);
    perf_host_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sample_is_the_nth_instruction),
        cmocka_unit_test(a_sample_has_the_words_that_were_asked_for),
        cmocka_unit_test(what_is_lost_is_told_and_counted),
        cmocka_unit_test(a_program_is_woken_as_it_wants),
        cmocka_unit_test(a_hangup_waits_for_the_last_child),
        cmocka_unit_test(events_of_one_cpu_share_a_ring),
        cmocka_unit_test(tasks_share_a_ring_with_themselves_alone),
        cmocka_unit_test(pages_are_given_up_only_when_no_cpu_writes),
        cmocka_unit_test(a_ring_can_be_paused),
        cmocka_unit_test(a_program_that_only_looks_finds_the_newest),
        cmocka_unit_test(a_period_goes_on_where_it_was_stopped),
        cmocka_unit_test(a_period_below_the_least_is_raised),
        cmocka_unit_test(a_period_that_cannot_begin_leaves_the_former),
        cmocka_unit_test(periods_of_a_frequency_sum_up_to_the_count),
        cmocka_unit_test(a_sample_has_the_counts_of_its_group),
        cmocka_unit_test(a_chain_has_the_mode_the_code_and_its_callers),
        cmocka_unit_test(a_user_does_not_learn_the_kernels_addresses),
        cmocka_unit_test(samples_that_this_layer_lacks_are_refused),
        cmocka_unit_test(a_signal_for_each_sample_is_refused),
        cmocka_unit_test(a_ring_needs_memory_and_gives_it_back),
        cmocka_unit_test(names_and_mappings_are_told_to_those_who_ask),
        cmocka_unit_test(forks_and_ends_are_told_with_the_identity_of_the_event),
        cmocka_unit_test(refresh_allows_so_many_overflows),
        cmocka_unit_test(switches_are_told_by_the_task_that_switches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
