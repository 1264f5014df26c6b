/* SPDX-License-Identifier: MIT */
/*
 * What differs from Linux, where no other test shows it: rows of the table in docs/PERF.md, each of which names the
 * test that shows it (tests/perf/test_perf.py compares).
 */
#include "tests/common/perf_sources.h"

#include "tests/perf/perf_rings.h"

#define BRANCHES 4u
#define TIMES (UPMU_PERF_READ_ENABLED | UPMU_PERF_READ_RUNNING)
#define KSYMBOL (UINT64_C(1) << 29)
#define BPF_EVENT (UINT64_C(1) << 30)

static struct upmu_perf_attr software(uint64_t config, uint64_t flags)
{
    struct upmu_perf_attr attr = attr_of(config, 0, 0, flags);

    attr.type = UPMU_PERF_TYPE_SOFTWARE;
    return attr;
}

static void inherited_samples_have_the_identity_that_was_opened(void **state)
{
    struct upmu_perf_attr attr =
        attr_of(INSTRUCTIONS, 100, UPMU_PERF_SAMPLE_ID | UPMU_PERF_SAMPLE_STREAM_ID | UPMU_PERF_SAMPLE_PERIOD,
                UPMU_PERF_INHERIT | USER_ONLY);
    uint64_t period = 50;
    int file;

    (void)state;
    set_up();
    file = perf_open(&attr, 0, 0, -1, 0);
    map(file, 0);
    perf_switch(0, 0);
    assert_int_equal(upmu_perf_fork(&perf_host.task[0], &perf_host.task[1], false), 0);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_PERIOD, (uintptr_t)&period), 0); /* of the event alone */
    perf_switch(0, 1);
    perf_work(0, true, 100);
    take_sample_of(0, 4);
    assert_int_equal(record.word[0], 1);
    assert_int_equal(record.word[1], 1);
    assert_int_equal(record.word[2], 100);
    perf_switch(0, 0);
    perf_work(0, true, 50);
    take_sample_of(0, 4);
    assert_int_equal(record.word[2], 50);
    perf_switch(0, 2);
    assert_int_equal(upmu_perf_exit(&perf_host.task[1]), UPMU_OK);
    perf_host_end();
}

static void refresh_of_a_member_stops_its_group(void **state)
{
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 100, 0, USER_ONLY | UPMU_PERF_DISABLED);
    int leader, member;

    (void)state;
    set_up();
    leader = open_task(attr_of(CYCLES, 0, 0, USER_ONLY));
    member = perf_open(&attr, 0, -1, leader, 0);
    map(member, 0);
    assert_int_equal(perf_ioctl(member, UPMU_PERF_IOC_REFRESH, 1), 0);
    run_task(300, 0);
    assert_int_equal(count_of(leader), 100);
    run_task(300, 0);
    assert_int_equal(count_of(leader), 100);
    assert_int_equal(perf_ioctl(leader, UPMU_PERF_IOC_ENABLE, 0), 0);
    run_task(300, 0);
    assert_int_equal(count_of(leader), 400);
    assert_int_equal(count_of(member), 100);
    perf_host_end();
}

static void records_of_the_kernels_own_code_are_never_written(void **state)
{
    struct upmu_perf_attr attr = software(UPMU_PERF_DUMMY, KSYMBOL | BPF_EVENT);
    int file;

    (void)state;
    set_up();
    file = open_task(attr);
    map(file, 0);
    perf_switch(0, 0);
    assert_int_equal(upmu_perf_exec(&perf_host.task[0], true), 0);
    upmu_perf_comm(&perf_host.task[0], "name", true);
    assert_int_equal(upmu_perf_fork(&perf_host.task[0], &perf_host.task[1], false), 0);
    perf_switch(0, 2);
    assert_false(take(0));
    perf_host_end();
}

static void the_event_of_the_pages_is_woken(void **state)
{
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 100, 0, USER_ONLY);
    int first, second;

    (void)state;
    set_up();
    attr.wakeup = 1;
    first = open_task(attr_of(CYCLES, 0, 0, USER_ONLY));
    map(first, 0);
    second = open_task(attr);
    assert_int_equal(perf_ioctl(second, UPMU_PERF_IOC_SET_OUTPUT, (uint32_t)first), 0);
    run_task(100, 0);
    assert_int_equal(wakes[first - PERF_FIRST_FILE], 1);
    assert_int_equal(wakes[second - PERF_FIRST_FILE], 0);
    perf_host_end();
}

static void software_members_count_while_their_group_waits(void **state)
{
    struct upmu_perf_attr attr = attr_of(BRANCHES, 0, 0, USER_ONLY);
    int leader[3], clock[3];

    (void)state;
    perf_host_set_up("core"); /* two counters */
    attr.read_format = TIMES;
    for (unsigned i = 0; i < 3; i++) {
        struct upmu_perf_attr task_clock = software(UPMU_PERF_TASK_CLOCK, 0);

        leader[i] = open_task(attr);
        assert_compare(perf_open(&attr, 0, -1, leader[i], 0), >, 0);
        clock[i] = perf_open(&task_clock, 0, -1, leader[i], 0);
    }
    perf_switch(0, 0);
    for (unsigned i = 0; i < 30; i++) {
        perf_work(0, true, 400);
        assert_int_equal(upmu_cpu_tick(&perf_host.host.cpu[0]), UPMU_OK);
    }
    for (unsigned i = 0; i < 3; i++) {
        uint64_t word[3];

        assert_int_equal(upmu_perf_read(perf_event(leader[i]), word, sizeof word), sizeof word, i);
        assert_compare(word[2], <, word[1], i);
        assert_int_equal(count_of(clock[i]), word[1], i);
    }
    perf_switch(0, 2);
    perf_host_end();
}

static void a_pinned_event_of_a_task_waits_for_its_counter(void **state)
{
    struct upmu_perf_attr attr = attr_of(BRANCHES, 0, 0, UPMU_PERF_PINNED);
    uint64_t word[3];
    int file[4], last;

    (void)state;
    set_up();
    attr.read_format = TIMES;
    for (unsigned i = 0; i < 4; i++)
        file[i] = perf_open(&attr, -1, 0, -1, 0);
    last = open_task(attr);
    perf_switch(0, 0);
    perf_work(0, true, 400);
    assert_int_equal(upmu_perf_read(perf_event(last), word, sizeof word), sizeof word);
    assert_int_equal(word[0], 0);
    assert_compare(word[2], <, word[1]);
    perf_close(file[0]);
    perf_switch(0, 2);
    perf_switch(0, 0);
    perf_work(0, true, 400);
    assert_int_equal(count_of(last), 100);
    perf_switch(0, 2);
    perf_host_end();
}

/* The CPU executes while the kernel copies a word to the program. */
static bool copy_slowly(void *context, void *user, const void *from, size_t bytes)
{
    perf_work(0, true, 10);
    return perf_copy_out(context, user, from, bytes);
}

static void the_values_of_a_group_are_read_one_after_the_other(void **state)
{
    struct upmu_perf_attr attr = attr_of(CYCLES, 0, 0, USER_ONLY);
    uint64_t word[3];
    int leader;

    (void)state;
    set_up();
    attr.read_format = UPMU_PERF_READ_GROUP;
    leader = open_task(attr);
    assert_compare(perf_open(&attr, 0, -1, leader, 0), >, 0);
    perf_switch(0, 0);
    perf_work(0, true, 100);
    perf_host.perf.copy_out = copy_slowly;
    assert_int_equal(upmu_perf_read(perf_event(leader), word, sizeof word), sizeof word);
    assert_int_equal(word[2] - word[1], 10);
    perf_switch(0, 2);
    perf_host_end();
}

static void a_cgroup_is_no_target(void **state)
{
    struct upmu_perf_attr attr = software(UPMU_PERF_DUMMY, 0);

    (void)state;
    set_up();
    assert_int_equal(perf_open(&attr, PERF_FIRST_FILE, 0, -1, UPMU_PERF_FLAG_PID_CGROUP), -UPMU_PERF_EBADF);
    perf_host_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inherited_samples_have_the_identity_that_was_opened),
        cmocka_unit_test(refresh_of_a_member_stops_its_group),
        cmocka_unit_test(records_of_the_kernels_own_code_are_never_written),
        cmocka_unit_test(the_event_of_the_pages_is_woken),
        cmocka_unit_test(software_members_count_while_their_group_waits),
        cmocka_unit_test(a_pinned_event_of_a_task_waits_for_its_counter),
        cmocka_unit_test(the_values_of_a_group_are_read_one_after_the_other),
        cmocka_unit_test(a_cgroup_is_no_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
