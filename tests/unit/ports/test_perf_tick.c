/* SPDX-License-Identifier: MIT */
/*
 * What ticks and switches do for programs of perf_event_open: events that are throttled, clocks and counts of switches
 * that sample, hardware events that sample without interrupts, switches of a CPU.
 */
#include <pthread.h>
#include <sched.h>

#include "tests/common/perf_sources.h"

#include "tests/perf/perf_rings.h"

#define IP_AND_PERIOD (UPMU_PERF_SAMPLE_IP | UPMU_PERF_SAMPLE_PERIOD)

static const struct upmu_frame user_frame = {.ip = 0x4711, .user = true};
static const struct upmu_frame kernel_frame = {.ip = 0xffff8000};

static struct upmu_perf_attr software(uint64_t config, uint64_t period, uint64_t parts, uint64_t flags)
{
    struct upmu_perf_attr attr = attr_of(config, period, parts, flags);

    attr.type = UPMU_PERF_TYPE_SOFTWARE;
    return attr;
}

/* A tick of CPU 0. */
static void tick(const struct upmu_frame *frame)
{
    upmu_sim_switch_cpu(&perf_host.host.sim, 0);
    upmu_perf_tick(&perf_host.perf, 0, frame);
}

static void take_type(unsigned ring, uint32_t type)
{
    assert_true(take(ring), type);
    assert_int_equal(record.type, type);
}

/* ---- Throttling ---- */

static void too_many_samples_wait_for_the_next_tick(void **state)
{
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 10, UPMU_PERF_SAMPLE_IP, USER_ONLY | UPMU_PERF_SAMPLE_ID_ALL);
    int file;

    (void)state;
    set_up();
    perf_host.perf.max_rate = 5000;
    perf_host.perf.tick_rate = 1000;
    file = open_task(attr);
    map(file, 0);
    perf_switch(0, 0);
    for (unsigned round = 0; round < 3; round++) {
        perf_work(0, true, 40);
        for (unsigned i = 0; i < 4; i++)
            take_sample_of(0, 2);
        assert_false(take(0), round);
        perf_work(0, true, 60); /* the sixth is one too many */
        take_sample_of(0, 2);
        take_type(0, UPMU_PERF_RECORD_THROTTLE);
        assert_int_equal(record.words, 4);
        assert_int_equal(record.word[0], perf_host.host.sim.now_ns - 40);
        assert_int_equal(record.word[1], 1); /* ID */
        assert_int_equal(record.word[2], 1); /* STREAM_ID */
        assert_false(take(0), round);
        if (round == 1) { /* it runs again, on another CPU */
            perf_switch(0, 2);
            perf_switch(1, 0);
            take_type(0, UPMU_PERF_RECORD_UNTHROTTLE);
            perf_switch(1, 3);
            perf_switch(0, 0);
        }
        tick(NULL);
        if (round != 1)
            take_type(0, UPMU_PERF_RECORD_UNTHROTTLE);
        assert_false(take(0), round);
    }
    assert_int_equal(count_of(file), 300);
    perf_switch(0, 2);
    perf_host_end();
}

/* The event is limited to CPU 0.  Meanwhile the task runs on CPU 1, where nothing is told. */
static void a_throttled_event_waits_for_its_task_on_its_cpu(void **state)
{
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 10, UPMU_PERF_SAMPLE_IP, USER_ONLY);
    int file;

    (void)state;
    set_up();
    perf_host.perf.max_rate = 5000;
    perf_host.perf.tick_rate = 1000;
    file = perf_open(&attr, 0, 0, -1, 0);
    map(file, 0);
    perf_switch(0, 0);
    perf_work(0, true, 60);
    for (unsigned i = 0; i < 5; i++)
        take_type(0, UPMU_PERF_RECORD_SAMPLE);
    take_type(0, UPMU_PERF_RECORD_THROTTLE);
    perf_switch(0, 2);
    for (unsigned i = 0; i < 2; i++) {
        perf_switch(1, 0);
        perf_switch(1, 3);
        assert_false(take(0), i);
    }
    perf_switch(0, 0);
    take_type(0, UPMU_PERF_RECORD_UNTHROTTLE);
    perf_work(0, true, 10);
    take_type(0, UPMU_PERF_RECORD_SAMPLE);
    perf_switch(0, 2);
    perf_host_end();
}

static void a_tick_allows_as_many_samples_as_the_engine(void **state)
{
    int file;

    (void)state;
    set_up();
    perf_host.perf.tick_rate = 100;
    file = open_task(attr_of(INSTRUCTIONS, 10, 0, USER_ONLY));
    map(file, 0);
    perf_switch(0, 0);
    for (unsigned i = 0; i < 500; i++) { /* 167 in one tick, 333 in the next one */
        if (i == 167)
            tick(NULL);
        perf_work(0, true, 10);
        take_type(0, UPMU_PERF_RECORD_SAMPLE);
    }
    assert_false(take(0));
    perf_work(0, true, 10);
    take_type(0, UPMU_PERF_RECORD_THROTTLE);
    tick(NULL);
    take_type(0, UPMU_PERF_RECORD_UNTHROTTLE);
    perf_host.perf.tick_rate = 1000000; /* one for each tick */
    perf_work(0, true, 20);
    take_type(0, UPMU_PERF_RECORD_SAMPLE);
    take_type(0, UPMU_PERF_RECORD_THROTTLE);
    perf_switch(0, 2);
    perf_host_end();
}

/* ---- Samples without overflows ---- */

static void clocks_are_sampled_by_ticks(void **state)
{
    int of_cpu, of_task;

    (void)state;
    set_up();
    perf_host.perf.tick_rate = 1000;
    for (uint64_t config = 0; config < 2; config++) {
        struct upmu_perf_attr attr = software(config, 1000, IP_AND_PERIOD, 0);

        of_cpu = perf_open(&attr, -1, 0, -1, 0);
        map(of_cpu, 0);
        of_task = open_task(attr);
        map(of_task, 1);
        upmu_sim_advance_ns(&perf_host.host.sim, 999);
        tick(&user_frame);
        assert_false(take(0));
        upmu_sim_advance_ns(&perf_host.host.sim, 1501);
        tick(&user_frame);
        take_sample_of(0, 3);
        assert_int_equal(record.misc, UPMU_PERF_MISC_USER);
        assert_int_equal(record.word[0], 0x4711);
        assert_int_equal(record.word[1], 2500);
        tick(&user_frame);
        assert_false(take(0)); /* the periods that it passed are over */
        assert_false(take(1)); /* the task has not run */
        perf_switch(0, 0);
        upmu_sim_advance_ns(&perf_host.host.sim, 600);
        assert_int_equal(perf_ioctl(of_task, UPMU_PERF_IOC_DISABLE, 0),
                         0); /* the period goes on where it was stopped */
        upmu_sim_advance_ns(&perf_host.host.sim, 600);
        assert_int_equal(perf_ioctl(of_task, UPMU_PERF_IOC_ENABLE, 0), 0);
        tick(&kernel_frame);
        assert_false(take(1));
        upmu_sim_advance_ns(&perf_host.host.sim, 500);
        tick(&kernel_frame);
        take_sample_of(1, 3);
        assert_int_equal(record.misc, UPMU_PERF_MISC_KERNEL);
        assert_int_equal(record.word[0], 0xffff8000);
        assert_int_equal(record.word[1], 1100);
        assert_int_equal(count_of(of_task), 1100);
        perf_switch(0, 2);
        perf_close(of_cpu);
        perf_close(of_task);
    }
    perf_host_end();
}

static void a_clock_samples_the_modes_that_it_counts(void **state)
{
    struct upmu_perf_attr attr = software(UPMU_PERF_CPU_CLOCK, 1000, IP_AND_PERIOD, USER_ONLY);
    uint64_t period = 3000;
    int file;

    (void)state;
    set_up();
    perf_host.perf.tick_rate = 1000;
    file = open_task(attr);
    map(file, 0);
    perf_switch(0, 0);
    upmu_sim_advance_ns(&perf_host.host.sim, 1000);
    tick(&kernel_frame);
    upmu_sim_advance_ns(&perf_host.host.sim, 1200);
    tick(&user_frame);
    take_sample_of(0, 3);
    assert_int_equal(record.word[1], 1200);
    assert_false(take(0));
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_PERIOD, (uintptr_t)&period), 0);
    upmu_sim_advance_ns(&perf_host.host.sim, 2999);
    tick(&user_frame);
    assert_false(take(0));
    upmu_sim_advance_ns(&perf_host.host.sim, 1);
    tick(NULL);
    take_sample_of(0, 3);
    assert_int_equal(record.misc, 0);
    assert_int_equal(record.word[0], 0);
    perf_close(file);
    attr = software(UPMU_PERF_TASK_CLOCK, 4000, UPMU_PERF_SAMPLE_PERIOD, UPMU_PERF_FREQ);
    file = open_task(attr);
    map(file, 0);
    upmu_sim_advance_ns(&perf_host.host.sim, 249999);
    tick(&user_frame);
    assert_false(take(0));
    upmu_sim_advance_ns(&perf_host.host.sim, 1);
    tick(&user_frame);
    take_sample_of(0, 2);
    assert_int_equal(record.word[0], 250000);
    perf_switch(0, 2);
    perf_host_end();
}

/* Each frame has the next one 16 bytes above it, and a return address; the sixth one has none. */
static bool read_stack(void *context, uint64_t fp, bool user, uint64_t *out_next, uint64_t *out_return)
{
    (void)context;
    (void)user;
    *out_next = fp + 16;
    *out_return = fp < 0x9050 ? fp + 1 : 0;
    return true;
}

static void a_clocks_sample_has_callers_and_hides_the_kernel(void **state)
{
    const struct upmu_callers callers = {.read = read_stack, .depth = 4};
    const struct upmu_frame frame = {.ip = 0x4711, .fp = 0x9000, .user = true};
    struct upmu_perf_attr attr =
        software(UPMU_PERF_CPU_CLOCK, 100, UPMU_PERF_SAMPLE_IP | UPMU_PERF_SAMPLE_CALLCHAIN, 0);
    int file;

    (void)state;
    set_up();
    perf_host.perf.tick_rate = 1000;
    perf_host.perf.callers = &callers;
    perf_host.perf.paranoid = 1;
    file = open_task(attr);
    map(file, 0);
    perf_switch(0, 0);
    upmu_sim_advance_ns(&perf_host.host.sim, 100);
    tick(&frame);
    take_sample_of(0, 2 + 1 + 2 + 4);
    assert_int_equal(record.word[1], 6);
    assert_int_equal(record.word[2], UPMU_PERF_CONTEXT_USER);
    assert_int_equal(record.word[3], 0x4711);
    assert_int_equal(record.word[4], 0x9001);
    assert_int_equal(record.word[7], 0x9031);
    perf_host.event[0].hides = true;
    upmu_sim_advance_ns(&perf_host.host.sim, 100);
    tick(&kernel_frame);
    take_sample_of(0, 2 + 1 + 2);
    assert_int_equal(record.misc, UPMU_PERF_MISC_KERNEL);
    assert_int_equal(record.word[0], 0);
    assert_int_equal(record.word[3], 0);
    perf_switch(0, 2);
    perf_host_end();
}

static void each_nth_switch_is_sampled(void **state)
{
    struct upmu_perf_attr attr = software(UPMU_PERF_SWITCHES, 2, UPMU_PERF_SAMPLE_TID | IP_AND_PERIOD, 0);
    int of_task, of_cpu;

    (void)state;
    set_up();
    upmu_perf_task_init(&perf_host.task[0], 17, 18);
    of_task = open_task(attr);
    map(of_task, 0);
    run_task(1, 1);
    assert_false(take(0));
    of_cpu = perf_open(&attr, -1, 0, -1, 0);
    map(of_cpu, 1);
    run_task(1, 1);
    take_sample_of(0, 4);
    assert_int_equal(record.misc, UPMU_PERF_MISC_KERNEL);
    assert_int_equal(record.word[0], 0); /* IP */
    assert_int_equal(record.word[1], 17 | UINT64_C(18) << 32);
    assert_int_equal(record.word[2], 2);
    take_sample_of(1, 4);
    assert_int_equal(record.word[1], 17 | UINT64_C(18) << 32); /* the task that stops: 2, then 0 */
    assert_false(take(1));
    assert_int_equal(perf_ioctl(of_task, UPMU_PERF_IOC_REFRESH, 1), 0);
    for (unsigned i = 0; i < 6; i++)
        run_task(1, 1);
    take_sample_of(0, 4);
    assert_false(take(0));
    assert_int_equal(count_of(of_task), 4);
    perf_host_end();
}

static void without_interrupts_ticks_sample(void **state)
{
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 100, UPMU_PERF_SAMPLE_PERIOD | UPMU_PERF_SAMPLE_READ, USER_ONLY);
    uint64_t period = 50;
    int file;

    (void)state;
    set_up();
    perf_host.host.sim.port.pmi_rearm = NULL;
    assert_int_equal(open_task(attr), -UPMU_PERF_EOPNOTSUPP);
    perf_host.perf.tick_rate = 1000;
    file = open_task(attr);
    map(file, 0);
    perf_switch(0, 0);
    perf_work(0, true, 99);
    tick(&user_frame);
    assert_false(take(0));
    perf_work(0, true, 151);
    tick(&user_frame);
    take_sample_of(0, 3);
    assert_int_equal(record.word[0], 250); /* PERIOD */
    assert_int_equal(record.word[1], 250); /* READ */
    perf_work(0, true, 60);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_RESET, 0), 0);
    perf_work(0, true, 50);
    tick(&user_frame);
    take_sample_of(0, 3);
    assert_int_equal(record.word[0], 110);
    assert_int_equal(record.word[1], 50);
    perf_work(0, true, 40);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_PERIOD, (uintptr_t)&period), 0);
    perf_work(0, true, 49);
    tick(&user_frame);
    assert_false(take(0));
    perf_work(0, true, 1);
    tick(&user_frame);
    take_sample_of(0, 3);
    assert_int_equal(record.word[0], 50);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_REFRESH, 1), 0);
    perf_work(0, true, 50);
    tick(&user_frame);
    take_sample_of(0, 3);
    perf_work(0, true, 50);
    tick(&user_frame);
    assert_false(take(0));
    assert_int_equal(count_of(file), 190);
    perf_switch(0, 2);
    perf_close(file);
    attr.flags |= UPMU_PERF_FREQ;
    attr.sample_period = 1000;
    file = open_task(attr);
    map(file, 0);
    perf_switch(0, 0);
    upmu_sim_advance_ns(&perf_host.host.sim, 1000000);
    tick(&user_frame);
    assert_false(take(0)); /* nothing was counted */
    perf_work(0, true, 7);
    tick(&user_frame);
    take_sample_of(0, 3);
    assert_int_equal(record.word[0], 7);
    perf_work(0, true, 7);
    tick(&user_frame);
    assert_false(take(0)); /* too early */
    upmu_sim_advance_ns(&perf_host.host.sim, 1000000);
    tick(&user_frame);
    take_sample_of(0, 3);
    assert_int_equal(record.word[0], 7);
    perf_switch(0, 2);
    perf_host_end();
}

static void software_samples_that_this_layer_lacks_are_refused(void **state)
{
    struct upmu_perf_attr attr = software(UPMU_PERF_SWITCHES, 1, UPMU_PERF_SAMPLE_READ, 0);
    int file;

    (void)state;
    set_up();
    for (unsigned round = 0; round < 4; round++) {
        unsigned rate = round & 1u;

        perf_host.perf.tick_rate = rate;
        perf_host.perf.frames_of_notes = round >> 1;
        for (attr.config = 0; attr.config < UPMU_PERF_SOFTWARE_EVENTS; attr.config++) {
            bool fine = attr.config == UPMU_PERF_SWITCHES || attr.config >= UPMU_PERF_ALIGNMENT_FAULTS ||
                        (attr.config <= UPMU_PERF_TASK_CLOCK ? rate : round >> 1);

            file = open_task(attr);
            assert_int_equal(file > 0, fine, attr.config, round);
            if (file > 0)
                perf_close(file);
        }
    }
    perf_host_end();
}

/* ---- Samples by notes of the host ---- */

static void each_nth_fault_and_migration_is_sampled(void **state)
{
    const struct upmu_frame kernel = {.ip = 0x8000};
    struct upmu_perf_attr attr = software(UPMU_PERF_FAULTS, 2, IP_AND_PERIOD, UPMU_PERF_EXCLUDE_KERNEL);
    int of_task, of_cpu, major;

    (void)state;
    set_up();
    perf_host.perf.frames_of_notes = true;
    of_task = open_task(attr);
    map(of_task, 0);
    attr.flags = 0;
    attr.config = UPMU_PERF_MIGRATIONS;
    attr.sample_period = 1;
    of_cpu = perf_open(&attr, -1, 0, -1, 0);
    map(of_cpu, 1);
    attr.config = UPMU_PERF_FAULTS_MAJOR;
    attr.flags = UPMU_PERF_FREQ;
    attr.sample_period = 100;
    major = open_task(attr);
    map(major, 2);
    perf_switch(0, 0);
    upmu_perf_note_frame(&perf_host.perf, 0, &perf_host.task[0], UPMU_PERF_NOTE_FAULT_MINOR, 0x5000, &user_frame);
    upmu_perf_note_frame(&perf_host.perf, 0, &perf_host.task[0], UPMU_PERF_NOTE_FAULT_MINOR, 0x6000, &kernel);
    tick(&user_frame);
    assert_false(take(0));
    assert_false(take(2));
    upmu_perf_note_frame(&perf_host.perf, 0, &perf_host.task[0], UPMU_PERF_NOTE_FAULT_MAJOR, 0x7000, &user_frame);
    take_sample_of(0, 3);
    assert_int_equal(record.misc, UPMU_PERF_MISC_USER);
    assert_int_equal(record.word[0], user_frame.ip);
    assert_int_equal(record.word[1], 2); /* PERIOD */
    take_sample_of(2, 3); /* a frequency: each one */
    assert_int_equal(record.word[1], 1);
    assert_false(take(1));
    upmu_perf_note_frame(&perf_host.perf, 0, &perf_host.task[0], UPMU_PERF_NOTE_MIGRATION, 0, NULL);
    take_sample_of(1, 3);
    assert_int_equal(record.word[0], 0);
    assert_false(take(0));
    assert_int_equal(count_of(of_task), 2);
    perf_switch(0, 2);
    perf_host_end();
}

static void fault(uint64_t address, const struct upmu_frame *frame)
{
    upmu_perf_note_frame(&perf_host.perf, 0, &perf_host.task[0], UPMU_PERF_NOTE_FAULT_MINOR, address, frame);
}

/* A sample of a fault has the address that was accessed, but not one that only the kernel may know. */
static void a_faults_sample_has_its_address(void **state)
{
    struct upmu_perf_attr attr = software(UPMU_PERF_FAULTS, 1, UPMU_PERF_SAMPLE_IP | UPMU_PERF_SAMPLE_ADDR, 0);

    (void)state;
    set_up();
    perf_host.perf.frames_of_notes = true;
    perf_host.perf.tick_rate = 1000;
    map(open_task(attr), 0);
    attr.config = UPMU_PERF_CPU_CLOCK;
    attr.sample_period = 100;
    map(open_task(attr), 1);
    perf_switch(0, 0);
    for (unsigned hides = 0; hides < 2; hides++) {
        perf_host.event[0].hides = hides;
        fault(0x7fff00001234, &user_frame);
        take_sample_of(0, 3);
        assert_int_equal(record.word[0], user_frame.ip);
        assert_int_equal(record.word[1], 0x7fff00001234);
        fault(0xffff888800001234, &kernel_frame);
        take_sample_of(0, 3);
        assert_int_equal(record.word[1], hides ? 0 : 0xffff888800001234, hides);
        fault(0xffff888800005678, NULL);
        take_sample_of(0, 3);
        assert_int_equal(record.word[1], hides ? 0 : 0xffff888800005678, hides);
    }
    upmu_sim_advance_ns(&perf_host.host.sim, 100);
    tick(&user_frame);
    take_sample_of(1, 3);
    assert_int_equal(record.word[1], 0); /* a clock has no address */
    perf_switch(0, 2);
    perf_host_end();
}

/* Samples that ticks and switches take have the counts of the group, of their moment. */
static void a_groups_counts_are_in_polled_samples(void **state)
{
    struct upmu_perf_attr attr = software(UPMU_PERF_CPU_CLOCK, 100, UPMU_PERF_SAMPLE_READ, 0);
    struct upmu_perf_attr member = {.size = sizeof member, .config = INSTRUCTIONS, .flags = USER_ONLY};
    int leader;

    (void)state;
    set_up();
    attr.read_format = UPMU_PERF_READ_GROUP;
    perf_host.perf.tick_rate = 1000;
    leader = open_task(attr);
    assert_compare(perf_open(&member, 0, -1, leader, 0), >, 0);
    map(leader, 0);
    perf_switch(0, 0);
    perf_work(0, true, 250);
    tick(&user_frame);
    take_sample_of(0, 4);
    assert_int_equal(record.word[0], 2);
    assert_int_equal(record.word[1], 250);
    assert_int_equal(record.word[2], 250);
    perf_switch(0, 2);
    perf_close(leader);
    attr.config = UPMU_PERF_SWITCHES;
    attr.sample_period = 1;
    leader = open_task(attr);
    assert_compare(perf_open(&member, 0, -1, leader, 0), >, 0);
    map(leader, 0);
    perf_switch(0, 0);
    perf_work(0, true, 70);
    perf_switch(0, 2);
    take_sample_of(0, 4);
    assert_int_equal(record.word[1], 1);
    assert_int_equal(record.word[2], 70);
    perf_close(leader);
    perf_host.host.sim.port.pmi_rearm = NULL; /* hardware events are sampled by ticks, too */
    attr = attr_of(INSTRUCTIONS, 50, UPMU_PERF_SAMPLE_READ, USER_ONLY);
    attr.read_format = UPMU_PERF_READ_GROUP;
    leader = open_task(attr);
    member.config = 4; /* branches: each fourth instruction */
    assert_compare(perf_open(&member, 0, -1, leader, 0), >, 0);
    map(leader, 0);
    perf_switch(0, 0);
    perf_work(0, true, 80);
    tick(&user_frame);
    take_sample_of(0, 4);
    assert_int_equal(record.word[1], 80);
    assert_int_equal(record.word[2], 20);
    perf_switch(0, 2);
    perf_host_end();
}

/* ---- Registers and stacks ---- */

#define STACK_AT UINT64_C(0x7000)
#define STATE (UPMU_PERF_SAMPLE_REGS_USER | UPMU_PERF_SAMPLE_STACK_USER | UPMU_PERF_SAMPLE_REGS_INTR)

static size_t stack_readable; /* bytes of the stack */

/* Each byte of the stack is the low byte of its address. */
static size_t read_bytes(void *context, uint64_t address, void *to, size_t bytes)
{
    uint64_t left = STACK_AT + stack_readable - address;

    (void)context;
    if (address < STACK_AT || address > STACK_AT + stack_readable)
        return 0;
    if (bytes > left)
        bytes = (size_t)left;
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)to)[i] = (uint8_t)(address + i);
    return bytes;
}

static uint64_t stack_word(uint64_t at)
{
    uint64_t word = 0;

    for (unsigned i = 8; i-- > 0;)
        word = word << 8 | ((at + i) & 0xff);
    return word;
}

static void a_sample_has_registers_and_stack(void **state)
{
    const uint64_t registers[] = {0xa0, 0xb1, 0xc2, 0xd3};
    struct upmu_frame frame = {.ip = 1, .sp = STACK_AT, .registers = registers, .register_mask = 11};
    struct upmu_perf_attr attr = software(UPMU_PERF_CPU_CLOCK, 100, STATE | UPMU_PERF_SAMPLE_WEIGHT, 0);
    int file;

    (void)state;
    set_up();
    perf_host.perf.tick_rate = 1000;
    perf_host.perf.registers = 15;
    perf_host.perf.read_stack = read_bytes;
    attr.sample_regs_user = 9;
    attr.sample_regs_intr = 6;
    attr.sample_stack_user = 24;
    stack_readable = 20;
    file = open_task(attr);
    map(file, 0);
    perf_switch(0, 0);
    frame.user = true;
    upmu_sim_advance_ns(&perf_host.host.sim, 100);
    tick(&frame);
    take_sample_of(0, 1 + 3 + 5 + 1 + 3);
    assert_int_equal(record.word[0], sizeof(void *) / 4); /* REGS_USER: registers of this width */
    assert_int_equal(record.word[1], 0xa0);
    assert_int_equal(record.word[2], 0xd3);
    assert_int_equal(record.word[3], 24); /* STACK_USER */
    assert_int_equal(record.word[4], stack_word(STACK_AT));
    assert_int_equal(record.word[5], stack_word(STACK_AT + 8));
    assert_int_equal(record.word[6], stack_word(STACK_AT + 16) & 0xffffffff); /* four bytes cannot be read */
    assert_int_equal(record.word[7], 20);
    assert_int_equal(record.word[8], 0); /* WEIGHT */
    assert_int_equal(record.word[9], sizeof(void *) / 4);
    assert_int_equal(record.word[10], 0xb1);
    assert_int_equal(record.word[11], 0); /* a register that this frame lacks */
    frame.user = false;
    upmu_sim_advance_ns(&perf_host.host.sim, 100);
    tick(&frame); /* the kernel: no user's state */
    take_sample_of(0, 1 + 1 + 1 + 1 + 3);
    assert_int_equal(record.word[0], 0);
    assert_int_equal(record.word[1], 0);
    assert_int_equal(record.word[4], 0xb1);
    perf_host.event[0].hides = true;
    upmu_sim_advance_ns(&perf_host.host.sim, 100);
    tick(&frame); /* the kernel's registers are hidden */
    take_sample_of(0, 1 + 1 + 1 + 1 + 1);
    assert_int_equal(record.word[3], 0);
    perf_switch(0, 2);
    perf_host_end();
}

/* Return a word of the data of a ring of 33 pages. */
static uint64_t word_of(void *const *addresses, uint64_t number)
{
    return ((uint64_t *)addresses[1 + number % 16384 / 512])[number % 512];
}

/* Stacks that end in another page than they begin, and one that a record cannot hold. */
static void a_stack_fits_into_its_record(void **state)
{
    const struct upmu_frame frame = {.ip = 1, .sp = STACK_AT, .user = true};
    struct upmu_perf_attr attr = software(UPMU_PERF_CPU_CLOCK, 100, UPMU_PERF_SAMPLE_STACK_USER, 0);
    static uint64_t pages[33][UPMU_PERF_PAGE_BYTES / 8];
    void *addresses[33];
    int file;

    (void)state;
    set_up();
    perf_host.perf.tick_rate = 1000;
    perf_host.perf.read_stack = read_bytes;
    stack_readable = 100000;
    attr.sample_stack_user = 65528;
    file = open_task(attr);
    for (unsigned i = 0; i < 33; i++)
        addresses[i] = pages[32 - i]; /* no page stands behind the one before */
    assert_int_equal(upmu_perf_map(perf_event(file), addresses, 33, true), 0);
    perf_switch(0, 0);
    for (unsigned round = 0; round < 3; round++) {
        uint64_t begin = round * 65528 / 8, size;

        upmu_sim_advance_ns(&perf_host.host.sim, 100);
        tick(&frame);
        size = word_of(addresses, begin + 1);
        assert_int_equal(word_of(addresses, begin) >> 48, 65528, round);
        assert_int_equal(size, 65528 - 24, round);
        for (uint64_t i = 0; i < size / 8; i++)
            assert_int_equal(word_of(addresses, begin + 2 + i), stack_word(STACK_AT + 8 * i), i);
        assert_int_equal(word_of(addresses, begin + 2 + size / 8), size, round);
        ((struct upmu_perf_page *)addresses[0])->tail.whole = ((struct upmu_perf_page *)addresses[0])->head.whole;
    }
    perf_switch(0, 2);
    perf_host_end();
}

static void a_host_without_registers_or_stacks_refuses_them(void **state)
{
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 100, 0, USER_ONLY);
    int file;

    (void)state;
    set_up();
    perf_host.perf.registers = 3;
    attr.sample_regs_user = 4;
    attr.sample_regs_intr = 4;
    attr.sample_stack_user = 8;
    for (unsigned bit = 0; bit < 25; bit++) {
        attr.sample_type = STATE & UINT64_C(1) << bit;
        if (!attr.sample_type)
            continue;
        perf_host.perf.registers = 3;
        perf_host.perf.read_stack = NULL;
        assert_int_equal(open_task(attr), -UPMU_PERF_EOPNOTSUPP, bit);
        perf_host.perf.registers = 4;
        perf_host.perf.read_stack = read_bytes;
        file = open_task(attr);
        assert_compare(file, >, 0);
        map(file, 0);
        run_task(100, 0);
        take_sample_of(0, 2 + 2 * (attr.sample_type == UPMU_PERF_SAMPLE_STACK_USER)); /* the frame has no registers */
        assert_int_equal(record.word[0], 8 * (attr.sample_type == UPMU_PERF_SAMPLE_STACK_USER), bit);
        perf_close(file);
    }
    perf_host_end();
}

/* ---- Switches of a CPU ---- */

static void switches_of_a_cpu_tell_the_other_task(void **state)
{
    struct upmu_perf_attr attr =
        software(UPMU_PERF_DUMMY, 0, UPMU_PERF_SAMPLE_TID, UPMU_PERF_CONTEXT_SWITCH | UPMU_PERF_SAMPLE_ID_ALL);
    int file;

    (void)state;
    set_up();
    upmu_perf_task_init(&perf_host.task[0], 17, 18);
    upmu_perf_task_init(&perf_host.task[1], 21, 22);
    file = perf_open(&attr, -1, 0, -1, 0);
    map(file, 0);
    perf_switch(1, 1);
    perf_switch(1, 3);
    assert_false(take(0)); /* another CPU */
    perf_switch(0, 0);
    perf_switch(0, 1);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t seventeen = 17 | UINT64_C(18) << 32, twenty_one = 21 | UINT64_C(22) << 32,
                 idle = 2 | UINT64_C(2) << 32;
        const uint64_t others[] = {seventeen, idle, twenty_one, seventeen};
        const uint64_t own[] = {idle, seventeen, seventeen, twenty_one};

        take_type(0, UPMU_PERF_RECORD_SWITCH_CPU_WIDE);
        assert_int_equal(record.words, 3);
        assert_int_equal(record.misc, i % 2 ? 0 : UPMU_PERF_MISC_SWITCH_OUT, i);
        assert_int_equal(record.word[0], others[i], i);
        assert_int_equal(record.word[1], own[i], i);
    }
    assert_false(take(0));
    perf_close(file);
    perf_switch(0, 2);
    perf_host_end();
}

static int closing;
static bool is_closed;
static unsigned walks_seen;

static void *close_it(void *nothing)
{
    (void)nothing;
    assert_int_equal(upmu_perf_close(perf_event(closing)), 0);
    __atomic_store_n(&is_closed, true, __ATOMIC_SEQ_CST);
    return NULL;
}

static pthread_t closer;

/* Called while the CPU switches and writes a record of the event: another CPU closes the event, and has to wait. */
static void close_elsewhere(void *context, struct upmu_perf_event *event, unsigned what)
{
    (void)context;
    (void)event;
    (void)what;
    if (walks_seen++)
        return;
    assert_int_equal(pthread_create(&closer, NULL, close_it, NULL), 0);
    for (unsigned i = 0; i < 2000 && !__atomic_load_n(&is_closed, __ATOMIC_SEQ_CST); i++)
        (void)sched_yield();
    assert_false(__atomic_load_n(&is_closed, __ATOMIC_SEQ_CST));
}

static void no_event_goes_while_a_switch_looks_at_it(void **state)
{
    struct upmu_perf_attr attr = software(UPMU_PERF_DUMMY, 0, 0, UPMU_PERF_CONTEXT_SWITCH | UPMU_PERF_WATERMARK);

    (void)state;
    set_up();
    is_closed = false;
    walks_seen = 0;
    attr.wakeup = 1;
    closing = perf_open(&attr, -1, 0, -1, 0);
    map(closing, 0);
    perf_host.perf.wake = close_elsewhere;
    perf_switch(0, 0);
    assert_int_equal(walks_seen > 0, 1);
    assert_int_equal(pthread_join(closer, NULL), 0);
    assert_true(is_closed);
    perf_host.open[closing - PERF_FIRST_FILE] = false;
    memset(&mappings[0], 0x77, sizeof mappings[0]);
    perf_switch(0, 2);
    assert_int_equal(*(uint8_t *)mappings[0].memory, 0x77);
    perf_host_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_many_samples_wait_for_the_next_tick),
        cmocka_unit_test(a_throttled_event_waits_for_its_task_on_its_cpu),
        cmocka_unit_test(a_tick_allows_as_many_samples_as_the_engine),
        cmocka_unit_test(clocks_are_sampled_by_ticks),
        cmocka_unit_test(a_clock_samples_the_modes_that_it_counts),
        cmocka_unit_test(a_clocks_sample_has_callers_and_hides_the_kernel),
        cmocka_unit_test(each_nth_switch_is_sampled),
        cmocka_unit_test(without_interrupts_ticks_sample),
        cmocka_unit_test(software_samples_that_this_layer_lacks_are_refused),
        cmocka_unit_test(each_nth_fault_and_migration_is_sampled),
        cmocka_unit_test(a_faults_sample_has_its_address),
        cmocka_unit_test(a_groups_counts_are_in_polled_samples),
        cmocka_unit_test(a_sample_has_registers_and_stack),
        cmocka_unit_test(a_stack_fits_into_its_record),
        cmocka_unit_test(a_host_without_registers_or_stacks_refuses_them),
        cmocka_unit_test(switches_of_a_cpu_tell_the_other_task),
        cmocka_unit_test(no_event_goes_while_a_switch_looks_at_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
