/* SPDX-License-Identifier: MIT */
/*
 * perf_event_open: programs count tasks and CPUs of the silicon model, alone and in groups; and 20,000 requests for
 * software events, as an administrator and as a user without rights, are answered as a Linux kernel answered
 * (tests/golden/perf_errors_*.txt, made by tests/perf/record_errors.c).
 */
#include "tests/common/perf_sources.h"

#include <stdio.h>

#include "tests/perf/perf_attrs.h"
#include "tests/perf/perf_host.h"

static struct perf_request request;

static int answer(unsigned long seed)
{
    const int pids[PERF_PIDS] = {0, -1, 0x3ffffff, -2};
    const int groups[PERF_GROUPS] = {-1, PERF_FIRST_FILE, PERF_FIRST_FILE + 1, 999, 0};
    int file;

    perf_request_make(&request, seed);
    file = perf_open(&request.attr, pids[request.pid], request.cpu, groups[request.group], request.flags);
    if (file > 0)
        perf_close(file);
    perf_request_make(&request, seed);
    return file > 0 ? 0 : -file;
}

/*
 * Requests that Linux grants and this layer refuses with EOPNOTSUPP: samples of these parts, or with these flags.  All
 * other answers are equal.  docs/PERF.md, "What differs from Linux", has them, too.
 */
static const struct difference {
    uint64_t parts, flags;
    unsigned by_administrator, by_user; /* how many of the recorded requests it explains */
    const char *reason;
} differences[] = {
    {UPMU_PERF_SAMPLE_PHYS_ADDR, 0, 2, 0, "PHYS_ADDR: no hook translates an address in an interrupt"},
    {UINT64_C(1) << 20, 0, 2, 0, "AUX: there are no traces beside the samples"},
    {UINT64_C(1) << 21, 0, 0, 0, "CGROUP: the layer knows no control groups"},
    {UINT64_C(3) << 22, 0, 5, 4, "DATA_PAGE_SIZE, CODE_PAGE_SIZE: no hook walks page tables in an interrupt"},
    {0, UPMU_PERF_SIGTRAP, 0, 0, "SIGTRAP: no hook sends a signal before the next instruction"},
};

#define DIFFERENCES (sizeof differences / sizeof *differences)

/* Add the request to each difference that explains it; false: none does. */
static bool explain(unsigned *explained)
{
    bool found = false;

    for (unsigned i = 0; i < DIFFERENCES; i++)
        if (request.attr.sample_period &&
            (request.attr.sample_type & differences[i].parts || request.attr.flags & differences[i].flags)) {
            explained[i]++;
            found = true;
        }
    return found;
}

static size_t no_stack(void *context, uint64_t address, void *to, size_t bytes)
{
    (void)context;
    (void)address;
    (void)to;
    (void)bytes;
    return 0;
}

static uint64_t clock_by_number(void *context, int32_t number)
{
    (void)number;
    return perf_clock(context);
}

/*
 * A host that has all hooks for samples answers as Linux, but for `differences`, of which none is too wide.
 * PERF_ERRORS_IN: another folder of recordings, of this machine's kernel (the step perf-errors of make soak).
 */
static void compare(const char *name, uint32_t caller)
{
    const char *folder = getenv("PERF_ERRORS_IN");
    char path[256];
    struct upmu_perf_attr dummy = {.type = UPMU_PERF_TYPE_SOFTWARE,
                                   .size = 64,
                                   .config = UPMU_PERF_DUMMY,
                                   .flags = UPMU_PERF_DISABLED | UPMU_PERF_EXCLUDE_KERNEL};
    unsigned explained[DIFFERENCES] = {0};
    unsigned long seeds, granted = 0;
    int recorded, leader, cpus = 0;
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder ? folder : "tests/golden", name);
    file = fopen(path, "r");
    assert_non_null(file);
    if (fscanf(file, "# %*s seeds %lu, attribute bytes 136, uid %*d, paranoid 2, rate 100000, stack 127, cpus %d",
               &seeds, &cpus) != 2 ||
        cpus != 2) {
        printf("skipped: %s is of a kernel with other limits: not compared\n", path);
        fclose(file);
        assert_non_null(folder);
        skip();
    }
    perf_host_set_up("skl");
    perf_host.perf.tick_rate = 100;
    perf_host.perf.frames_of_notes = true;
    perf_host.perf.registers = 0xff0fff;
    perf_host.perf.read_stack = no_stack;
    perf_host.perf.clock_of = clock_by_number;
    perf_host.caller = caller;
    leader = perf_open(&dummy, 0, -1, -1, 0);
    assert_int_equal(perf_open(&dummy, 0, -1, leader, 0), leader + 1);
    for (unsigned long seed = 0; seed < seeds; seed++) {
        int ours = answer(seed);

        assert_int_equal(fscanf(file, "%d", &recorded), 1);
        granted += !ours;
        if (ours != recorded && !(!recorded && ours == UPMU_PERF_EOPNOTSUPP && explain(explained)))
            fail_msg("seed %lu: errno %d here, %d of Linux", seed, ours, recorded);
    }
    fclose(file);
    assert_compare(granted, >, seeds / 4);
    for (unsigned i = 0; i < DIFFERENCES; i++) {
        printf("%u of %lu: %s\n", explained[i], seeds, differences[i].reason);
        if (!folder)
            assert_int_equal(explained[i],
                             caller == ADMINISTRATOR ? differences[i].by_administrator : differences[i].by_user, i);
    }
    perf_host_end();
}

static void an_administrator_is_refused_as_linux_does(void **state)
{
    (void)state;
    compare("perf_errors_root.txt", ADMINISTRATOR);
}

static void a_user_is_refused_as_linux_does(void **state)
{
    (void)state;
    compare("perf_errors_user.txt", USER);
}

/* ---- Counting ---- */

#define CYCLES 0u
#define INSTRUCTIONS 1u
#define BRANCHES 4u
#define WHOLE (UPMU_PERF_READ_ENABLED | UPMU_PERF_READ_RUNNING)

struct reading {
    uint64_t value, enabled, running;
};

static struct upmu_perf_attr attr_of(uint32_t type, uint64_t config, uint64_t flags)
{
    return (struct upmu_perf_attr){
        .type = type, .size = sizeof(struct upmu_perf_attr), .config = config, .read_format = WHOLE, .flags = flags};
}

static int open_hardware(uint64_t config, uint64_t flags, int pid, int cpu, int group)
{
    struct upmu_perf_attr attr = attr_of(UPMU_PERF_TYPE_HARDWARE, config, flags);

    return perf_open(&attr, pid, cpu, group, 0);
}

static int open_software(uint64_t config, uint64_t flags, int pid, int cpu, int group)
{
    struct upmu_perf_attr attr = attr_of(UPMU_PERF_TYPE_SOFTWARE, config, flags);

    return perf_open(&attr, pid, cpu, group, 0);
}

static struct reading read_file(int file)
{
    struct reading reading;

    assert_int_equal(upmu_perf_read(perf_event(file), &reading, sizeof reading), sizeof reading);
    return reading;
}

static uint64_t value_of(int file)
{
    return read_file(file).value;
}

/* Task 0 runs on CPU 0 and works. */
static void run_task(uint64_t user, uint64_t kernel)
{
    perf_switch(0, 0);
    perf_work(0, true, user);
    perf_work(0, false, kernel);
    perf_switch(0, 2);
}

static void a_task_is_counted_while_it_runs(void **state)
{
    static const char *const profiles[] = {"skl", "core", "zen4", "k8_revf", "adl_glc"};
    (void)state;
    for (unsigned i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        int all, user, kernel;

        perf_host_set_up(profiles[i]);
        all = open_hardware(INSTRUCTIONS, 0, 0, -1, -1);
        user = open_hardware(INSTRUCTIONS, UPMU_PERF_EXCLUDE_KERNEL, 0, -1, -1);
        kernel = open_hardware(INSTRUCTIONS, UPMU_PERF_EXCLUDE_USER, 0, -1, -1);
        perf_work(0, true, 500); /* another task's */
        run_task(1000, 300);
        perf_work(0, true, 500);
        assert_int_equal(value_of(user), 1000);
        assert_int_equal(value_of(kernel), 300);
        assert_int_equal(value_of(all), 1300);
        assert_int_equal(read_file(user).enabled, read_file(user).running);
        perf_host_end();
    }
}

static void a_task_that_runs_is_found_without_a_hook(void **state)
{
    struct upmu_perf_attr attr = {.type = UPMU_PERF_TYPE_HARDWARE, .config = 1, .flags = UPMU_PERF_EXCLUDE_KERNEL};
    uint64_t value = 0;
    int file;

    (void)state;
    perf_host_set_up("skl");
    perf_host.perf.task_cpu = NULL;
    perf_switch(0, 0);
    file = perf_open(&attr, 0, -1, -1, 0);
    assert_compare(file, >, 0);
    perf_work(0, true, 700);
    assert_int_equal(upmu_perf_read(perf_event(file), &value, sizeof value), sizeof value);
    assert_int_equal(value, 700);
    perf_switch(0, 2);
    perf_host_end();
}

static void exec_begins_what_waits_for_it(void **state)
{
    int leader, branches;

    (void)state;
    perf_host_set_up("skl");
    leader = open_hardware(INSTRUCTIONS, UPMU_PERF_DISABLED | UPMU_PERF_ENABLE_ON_EXEC, 0, -1, -1);
    branches = open_hardware(BRANCHES, 0, 0, -1, leader);
    perf_switch(0, 0);
    perf_work(0, true, 4000);
    assert_int_equal(upmu_perf_exec(&perf_host.task[0], true), 0);
    perf_work(0, true, 400);
    assert_int_equal(upmu_perf_exec(&perf_host.task[0], true), 0);
    perf_work(0, true, 400);
    assert_int_equal(value_of(leader), 800);
    assert_int_equal(value_of(branches), 200);
    assert_int_equal(perf_ioctl(leader, UPMU_PERF_IOC_DISABLE, 0), 0);
    assert_int_equal(upmu_perf_exec(&perf_host.task[0], true), 0); /* it has waited for one only */
    perf_work(0, true, 400);
    assert_int_equal(value_of(leader), 800);
    assert_int_equal(perf_ioctl(leader, UPMU_PERF_IOC_ENABLE, 0), 0);
    assert_int_equal(upmu_perf_exit(&perf_host.task[0]), UPMU_OK);
    perf_work(0, true, 400);
    assert_int_equal(value_of(leader), 800);
    assert_int_equal(perf_ioctl(leader, UPMU_PERF_IOC_ENABLE, 0), 0);
    perf_host.task[0].thread.pid = 0;
    perf_host.running[0] = 2;
    perf_work(0, true, 400);
    assert_int_equal(value_of(branches), 200);
    assert_ptr_equal(perf_event(leader)->next, perf_event(branches)); /* the group stays */
    perf_host_end();
}

/* Events wait for exec on a CPU that cannot be reached, alone and in a group that counts: the host calls again. */
static void an_exec_that_cannot_begin_an_event_says_so(void **state)
{
    const uint64_t waits = UPMU_PERF_DISABLED | UPMU_PERF_ENABLE_ON_EXEC;

    (void)state;
    for (unsigned alone_first = 0; alone_first < 2; alone_first++) {
        bool (*run_on_cpu)(void *, struct upmu_cpu *, void (*)(void *), void *);
        int leader, branches, alone = 0;

        perf_host_set_up("skl");
        if (!alone_first) /* the list of the task begins with the latest event */
            alone = open_hardware(BRANCHES, waits, 0, -1, -1);
        leader = open_hardware(INSTRUCTIONS, 0, 0, -1, -1);
        branches = open_hardware(BRANCHES, waits, 0, -1, leader);
        if (alone_first)
            alone = open_hardware(BRANCHES, waits, 0, -1, -1);
        perf_switch(1, 0);
        perf_work(1, true, 400);
        run_on_cpu = perf_host.host.sim.port.run_on_cpu;
        perf_host.host.sim.port.run_on_cpu = NULL;
        upmu_sim_switch_cpu(&perf_host.host.sim, 0);
        assert_int_equal(upmu_perf_exec(&perf_host.task[0], true), -UPMU_PERF_EBUSY, alone_first);
        perf_host.host.sim.port.run_on_cpu = run_on_cpu;
        assert_int_equal(upmu_perf_exec(&perf_host.task[0], true), 0, alone_first);
        perf_work(1, true, 400);
        assert_int_equal(value_of(leader), 800, alone_first);
        assert_int_equal(value_of(branches), 100, alone_first);
        assert_int_equal(value_of(alone), 100, alone_first);
        perf_switch(1, 3);
        perf_host_end();
    }
}

static void exec_ends_what_is_removed_by_it(void **state)
{
    int file;

    (void)state;
    perf_host_set_up("skl");
    file = open_hardware(INSTRUCTIONS, UPMU_PERF_REMOVE_ON_EXEC, 0, -1, -1);
    perf_switch(0, 0);
    perf_work(0, true, 40);
    assert_int_equal(upmu_perf_exec(&perf_host.task[0], true), 0);
    perf_work(0, true, 400);
    assert_int_equal(value_of(file), 40);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_ENABLE, 0), 0);
    perf_work(0, true, 400);
    assert_int_equal(value_of(file), 40);
    perf_switch(0, 2);
    perf_host_end();
}

/* A program with other rights (set-id) is counted by nothing that was opened before it. */
static void a_program_that_may_not_be_watched_is_not(void **state)
{
    struct upmu_perf_task child;
    int leader, sibling;

    (void)state;
    perf_host_set_up("skl");
    upmu_perf_task_init(&child, 10, 10);
    leader = open_hardware(INSTRUCTIONS, UPMU_PERF_INHERIT, 0, -1, -1);
    sibling = open_hardware(BRANCHES, UPMU_PERF_INHERIT, 0, -1, leader);
    perf_switch(0, 0);
    perf_work(0, true, 400);
    assert_int_equal(upmu_perf_fork(&perf_host.task[0], &child, false), 0);
    assert_int_equal(upmu_perf_exec(&perf_host.task[0], false), 0);
    assert_int_equal(upmu_perf_exec(&child, false), 0);
    assert_null(perf_host.task[0].events);
    assert_int_equal(perf_ioctl(leader, UPMU_PERF_IOC_ENABLE, UPMU_PERF_IOC_FLAG_GROUP), 0);
    perf_work(0, true, 400);
    assert_int_equal(upmu_perf_switch(&perf_host.perf, 0, &perf_host.task[0], &child), UPMU_OK);
    perf_work(0, true, 400);
    assert_int_equal(upmu_perf_switch(&perf_host.perf, 0, &child, &perf_host.task[2]), UPMU_OK);
    perf_host.running[0] = 2;
    assert_int_equal(value_of(leader), 400);
    assert_int_equal(value_of(sibling), 100);
    perf_close(leader);
    leader = open_hardware(INSTRUCTIONS, 0, 0, -1, -1); /* opened when the new program may be watched */
    run_task(70, 0);
    assert_int_equal(value_of(leader), 70);
    perf_host_end();
}

static void members_of_a_group_are_enabled_alone_or_together(void **state)
{
    int leader, sibling, software;

    (void)state;
    perf_host_set_up("zen4");
    leader = open_hardware(INSTRUCTIONS, 0, 0, -1, -1);
    sibling = open_hardware(BRANCHES, 0, 0, -1, leader);
    software = open_software(UPMU_PERF_TASK_CLOCK, 0, 0, -1, leader);
    run_task(400, 0);
    assert_int_equal(perf_ioctl(sibling, UPMU_PERF_IOC_DISABLE, 0), 0);
    run_task(400, 0);
    assert_int_equal(value_of(leader), 800);
    assert_int_equal(value_of(sibling), 100);
    assert_int_equal(value_of(software), 800);
    assert_int_equal(perf_ioctl(leader, UPMU_PERF_IOC_DISABLE, 0), 0); /* without its leader none counts */
    run_task(400, 0);
    assert_int_equal(perf_ioctl(leader, UPMU_PERF_IOC_ENABLE, UPMU_PERF_IOC_FLAG_GROUP), 0);
    run_task(400, 0);
    assert_int_equal(value_of(leader), 1200);
    assert_int_equal(value_of(sibling), 200);
    assert_int_equal(value_of(software), 1200);
    assert_int_equal(perf_ioctl(sibling, UPMU_PERF_IOC_DISABLE, UPMU_PERF_IOC_FLAG_GROUP), 0);
    run_task(400, 0);
    assert_int_equal(value_of(leader), 1200);
    perf_host_end();
}

static void a_reset_leaves_the_times(void **state)
{
    struct reading before, after;
    int leader, sibling;

    (void)state;
    perf_host_set_up("skl");
    leader = open_hardware(INSTRUCTIONS, 0, 0, -1, -1);
    sibling = open_hardware(BRANCHES, 0, 0, -1, leader);
    run_task(400, 0);
    before = read_file(sibling);
    assert_int_equal(perf_ioctl(sibling, UPMU_PERF_IOC_RESET, 0), 0);
    after = read_file(sibling);
    assert_int_equal(before.value, 100);
    assert_int_equal(after.value, 0);
    assert_int_equal(after.enabled, before.enabled);
    assert_int_equal(value_of(leader), 400);
    run_task(400, 0);
    assert_int_equal(value_of(sibling), 100);
    assert_int_equal(perf_ioctl(sibling, UPMU_PERF_IOC_RESET, UPMU_PERF_IOC_FLAG_GROUP), 0);
    assert_int_equal(value_of(leader), 0);
    perf_host_end();
}

static void a_group_is_closed_in_any_order(void **state)
{
    (void)state;
    for (unsigned order = 0; order < 24; order++) {
        unsigned left[4] = {0, 1, 2, 3}, code = order;
        int file[4];

        perf_host_set_up("skl");
        file[0] = open_hardware(INSTRUCTIONS, 0, 0, -1, -1);
        file[1] = open_hardware(BRANCHES, 0, 0, -1, file[0]);
        file[2] = open_software(UPMU_PERF_TASK_CLOCK, 0, 0, -1, file[0]);
        file[3] = open_hardware(CYCLES, 0, 0, -1, file[0]);
        perf_host.takes_left = 0; /* no close needs memory */
        for (unsigned members = 4; members; members--) {
            unsigned which = code % members;

            code /= members;
            run_task(400, 0);
            for (unsigned i = 0; i < members; i++)
                assert_int_equal(value_of(file[left[i]]), (5 - members) * (left[i] == 1 ? 100u : 400u), i);
            perf_close(file[left[which]]);
            memmove(&left[which], &left[which + 1], (3 - which) * sizeof *left);
        }
        perf_host.takes_left = 1000 - perf_host.given;
        perf_host_end();
    }
}

/* As many events as a group can have here, closed in random orders and without memory, change from exact to exact. */
static void a_large_group_is_closed_in_many_orders(void **state)
{
    uint64_t random = 1;

    (void)state;
    for (unsigned round = 0; round < 30; round++) {
        int file[UPMU_SET_EVENTS], leader;
        unsigned members = 0;
        uint64_t truth = 0;

        perf_host_set_up("lnl_p");
        leader = file[members++] = open_hardware(BRANCHES, 0, 0, -1, -1);
        while (members < UPMU_SET_EVENTS && (file[members] = open_hardware(BRANCHES, 0, 0, -1, leader)) > 0)
            members++;
        assert_compare(members, >=, 8);
        perf_host.takes_left = 0;
        while (members) {
            unsigned which;

            random = random * UINT64_C(6364136223846793005) + 1;
            which = (unsigned)(random >> 40) % members;
            run_task(400, 0);
            truth += 100;
            for (unsigned i = 0; i < members; i++)
                assert_int_equal(value_of(file[i]), truth, round, i);
            perf_close(file[which]);
            file[which] = file[--members];
        }
        perf_host.takes_left = 1000 - perf_host.given;
        perf_host_end();
    }
}

/* A session of its own is made for an event that a leader has left behind, when an event joins it: else 6 must fit. */
static void an_event_left_behind_leads_a_group_again(void **state)
{
    int left[4], more[3];

    (void)state;
    perf_host_set_up("skl"); /* four general counters for each thread */
    for (unsigned i = 0; i < 4; i++)
        left[i] = open_hardware(BRANCHES, 0, 0, -1, i ? left[0] : -1);
    run_task(400, 0);
    perf_close(left[0]);
    assert_int_equal(perf_ioctl(left[1], UPMU_PERF_IOC_DISABLE, UPMU_PERF_IOC_FLAG_GROUP), 0); /* that one alone */
    run_task(400, 0);
    assert_int_equal(perf_ioctl(left[1], UPMU_PERF_IOC_ENABLE, 0), 0);
    assert_int_equal(value_of(left[1]), 100);
    assert_int_equal(value_of(left[2]), 200);
    perf_host.takes_left -= 1000 - 4;
    assert_int_equal(open_hardware(BRANCHES, 0, 0, -1, left[2]), -UPMU_PERF_ENOMEM);
    perf_host.takes_left += 1000 - 4;
    more[0] = open_hardware(BRANCHES, 0, 0, -1, left[2]);
    run_task(400, 0); /* two sessions of two events each */
    assert_int_equal(value_of(left[1]), 200);
    assert_int_equal(value_of(left[2]), 300);
    assert_int_equal(value_of(left[3]), 300);
    for (unsigned i = 1; i < 3; i++) {
        more[i] = open_hardware(BRANCHES, 0, 0, -1, left[2]);
        assert_compare(more[i], >, 0, i);
    }
    assert_int_equal(perf_ioctl(left[1], UPMU_PERF_IOC_DISABLE, 0), 0);
    assert_int_equal(perf_ioctl(left[3], UPMU_PERF_IOC_DISABLE, 0), 0);
    run_task(400, 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(value_of(more[i]), i ? 100 : 200, i);
    assert_int_equal(value_of(left[2]), 400);
    perf_close(left[2]); /* its group goes on, and the two others have the session of before */
    assert_int_equal(perf_ioctl(left[3], UPMU_PERF_IOC_ENABLE, 0), 0);
    assert_int_equal(perf_ioctl(more[0], UPMU_PERF_IOC_DISABLE, 0), 0);
    run_task(400, 0);
    assert_int_equal(value_of(left[1]), 200);
    assert_int_equal(value_of(left[3]), 400);
    assert_int_equal(value_of(more[0]), 200);
    assert_int_equal(value_of(more[2]), 200);
    perf_host_end();
}

/* Memory of an event and its part of the session: at most 2,048 bytes for a leader, 640 for each more. */
static void memory_of_a_group_grows_by_its_members(void **state)
{
    size_t before = 0;
    int leader = -1;

    (void)state;
    perf_host_set_up("lnl_p");
    for (unsigned i = 0; i < 8; i++) {
        int file = open_hardware(BRANCHES, 0, 0, -1, leader);
        size_t grown = sizeof(struct upmu_perf_event) + perf_host.taken_bytes - before;

        assert_compare(file, >, 0, i);
        assert_compare(grown, <=, i ? 640 : 2048, i);
        assert_int_equal(perf_host.taken_bytes, UPMU_SESSION_BYTES(i + 1), i);
        before = perf_host.taken_bytes;
        leader = i ? leader : file;
    }
    assert_compare(open_software(UPMU_PERF_DUMMY, 0, 0, -1, -1), >, 0);
    assert_int_equal(perf_host.taken_bytes, before); /* a software event has no session */
    perf_host_end();
}

/* A group whose session cannot grow counts on as it was. */
static void an_open_without_memory_changes_nothing(void **state)
{
    int leader;

    (void)state;
    perf_host_set_up("skl");
    perf_host.takes_left = 0;
    assert_int_equal(open_hardware(INSTRUCTIONS, 0, 0, -1, -1), -UPMU_PERF_ENOMEM);
    perf_host.takes_left = 1000;
    leader = open_hardware(INSTRUCTIONS, 0, 0, -1, -1);
    perf_host.takes_left = 0;
    perf_switch(0, 0);
    perf_work(0, true, 400);
    assert_int_equal(open_hardware(BRANCHES, 0, 0, -1, leader), -UPMU_PERF_ENOMEM);
    perf_work(0, true, 400);
    assert_int_equal(value_of(leader), 800);
    assert_int_equal(read_file(leader).enabled, 800);
    perf_switch(0, 2);
    perf_host.takes_left = 999;
    perf_host_end();
}

static void a_group_that_cannot_run_together_is_refused(void **state)
{
    (void)state;
    for (unsigned waits = 0; waits < 2; waits++) {
        int leader, last = 0, members = 1;

        perf_host_set_up("core"); /* two general counters */
        leader = open_hardware(BRANCHES, waits ? UPMU_PERF_DISABLED : 0, 0, -1, -1);
        while ((last = open_hardware(5, 0, 0, -1, leader)) > 0)
            members++;
        assert_int_equal(last, -UPMU_PERF_EINVAL, waits);
        assert_int_equal(members, 2, waits);
        assert_int_equal(open_software(UPMU_PERF_DUMMY, 0, 0, 0, leader), -UPMU_PERF_EINVAL); /* on one CPU alone */
        assert_int_equal(perf_ioctl(leader, UPMU_PERF_IOC_ENABLE, 0), 0, waits);
        run_task(400, 0);
        assert_int_equal(value_of(leader), 100, waits);
        perf_host_end();
    }
}

static void every_format_has_its_bytes(void **state)
{
    (void)state;
    for (uint64_t format = 0; format < 32; format++) {
        bool group = format & UPMU_PERF_READ_GROUP;
        struct upmu_perf_attr attr = attr_of(UPMU_PERF_TYPE_HARDWARE, INSTRUCTIONS, 0);
        unsigned words = 0, value, id;
        uint64_t out[16];
        int leader, sibling;

        perf_host_set_up("skl");
        attr.read_format = format;
        leader = perf_open(&attr, 0, -1, -1, 0);
        attr.config = BRANCHES;
        sibling = perf_open(&attr, 0, -1, leader, 0);
        run_task(400, 0);
        words += group;
        value = words;
        words += !group;
        words += !!(format & UPMU_PERF_READ_ENABLED) + !!(format & UPMU_PERF_READ_RUNNING);
        value = group ? words : value;
        words += group;
        id = words;
        words += !!(format & UPMU_PERF_READ_ID) + !!(format & UPMU_PERF_READ_LOST);
        if (group)
            words += words - value;
        assert_int_equal(upmu_perf_read(perf_event(leader), out, words * 8 - 1), -UPMU_PERF_ENOSPC);
        memset(out, 0xff, sizeof out);
        assert_int_equal(upmu_perf_read(perf_event(leader), out, sizeof out), words * 8);
        assert_int_equal(out[words], UINT64_MAX, words);
        assert_int_equal(out[value], 400, value);
        if (format & UPMU_PERF_READ_ID)
            assert_int_equal(out[id], 1, id);
        if (format & UPMU_PERF_READ_LOST)
            assert_int_equal(out[id + !!(format & UPMU_PERF_READ_ID)], 0, id);
        for (unsigned i = 1; i < (group ? value : id); i++) /* both times */
            assert_int_equal(out[i], 400, i);
        if (group) {
            assert_int_equal(out[0], 2);
            assert_int_equal(out[value + (words - value) / 2], 100, value, words);
            if (format & UPMU_PERF_READ_ID)
                assert_int_equal(out[id + (words - value) / 2], 2, id, words);
        }
        perf_host.copies_left = words;
        assert_int_equal(upmu_perf_read(perf_event(leader), out, sizeof out), -UPMU_PERF_EFAULT);
        perf_host.copies_left = 0;
        perf_close(sibling);
        perf_host_end();
    }
}

static void a_cpu_is_counted_whoever_runs(void **state)
{
    int on_one, limited, switches;

    (void)state;
    perf_host_set_up("skl");
    assert_int_equal(open_hardware(INSTRUCTIONS, 0, -1, 2, -1), -UPMU_PERF_EINVAL); /* there are two CPUs */
    on_one = open_hardware(INSTRUCTIONS, 0, -1, 1, -1);
    limited = open_hardware(INSTRUCTIONS, 0, 0, 1, -1);
    switches = open_software(UPMU_PERF_SWITCHES, 0, -1, 1, -1);
    perf_work(1, false, 50);
    perf_switch(1, 0);
    perf_work(1, true, 100);
    perf_switch(1, 3);
    run_task(1000, 0); /* on CPU 0 */
    assert_int_equal(value_of(limited), 100);
    upmu_sim_switch_cpu(&perf_host.host.sim, 0); /* a read from elsewhere */
    assert_int_equal(value_of(on_one), 150);
    assert_int_equal(value_of(switches), 2);
    perf_host_end();
}

static void a_cpu_that_is_offline_counts_nothing(void **state)
{
    int limited, on_one;

    (void)state;
    perf_host_set_up("skl");
    on_one = open_hardware(INSTRUCTIONS, 0, -1, 1, -1);
    perf_host.cpus[1].cpu = NULL;
    limited = open_hardware(INSTRUCTIONS, 0, 0, 1, -1);
    assert_int_equal(open_hardware(INSTRUCTIONS, 0, -1, 1, -1), -UPMU_PERF_ENODEV);
    run_task(100, 0);
    assert_int_equal(value_of(limited), 0);
    assert_int_equal(perf_ioctl(on_one, UPMU_PERF_IOC_DISABLE, 0), 0);
    assert_int_equal(perf_ioctl(on_one, UPMU_PERF_IOC_ENABLE, 0), 0);
    assert_int_equal(value_of(on_one), 0);
    perf_host_end();
}

/* What an open has refused is in no list of the CPU; what a close has refused stays open. */
static void a_cpu_out_of_reach_is_said_to_be(void **state)
{
    bool (*run_on_cpu)(void *, struct upmu_cpu *, void (*)(void *), void *);
    int file;

    (void)state;
    perf_host_set_up("skl");
    run_on_cpu = perf_host.host.sim.port.run_on_cpu;
    perf_host.host.sim.port.run_on_cpu = NULL;
    assert_int_equal(open_hardware(INSTRUCTIONS, 0, -1, 1, -1), -UPMU_PERF_EBUSY);
    memset(&perf_host.event[0], 0xa5, sizeof perf_host.event[0]);
    perf_work(1, true, 100);
    assert_int_equal(upmu_cpu_tick(&perf_host.host.cpu[1]), UPMU_OK);
    upmu_sim_switch_cpu(&perf_host.host.sim, 0);
    perf_host.host.sim.port.run_on_cpu = run_on_cpu;
    file = open_hardware(INSTRUCTIONS, 0, -1, 1, -1);
    perf_host.host.sim.port.run_on_cpu = NULL;
    assert_int_equal(upmu_perf_close(perf_event(file)), -UPMU_PERF_EBUSY);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_DISABLE, 0), -UPMU_PERF_EBUSY);
    perf_work(1, true, 100);
    assert_int_equal(value_of(file), 100);
    perf_host.host.sim.port.run_on_cpu = run_on_cpu;
    perf_host_end();
}

/* A program scales all values of a group by its two times: they are those of counters. */
static void a_group_of_software_shows_the_times_of_its_counters(void **state)
{
    struct upmu_perf_attr clock = attr_of(UPMU_PERF_TYPE_SOFTWARE, UPMU_PERF_TASK_CLOCK, 0);
    uint64_t out[6];
    int leader[3];

    (void)state;
    perf_host_set_up("core");
    clock.read_format |= UPMU_PERF_READ_GROUP;
    for (unsigned i = 0; i < 3; i++) {
        leader[i] = perf_open(&clock, 0, -1, -1, 0);
        assert_compare(open_hardware(BRANCHES, 0, 0, -1, leader[i]), >, 0);
        assert_compare(open_hardware(BRANCHES, 0, 0, -1, leader[i]), >, 0);
    }
    perf_switch(0, 0);
    for (unsigned i = 0; i < 300; i++) {
        perf_work(0, true, 400);
        assert_int_equal(upmu_cpu_tick(&perf_host.host.cpu[0]), UPMU_OK);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(upmu_perf_read(perf_event(leader[i]), out, sizeof out), sizeof out, i);
        assert_in_range(out[4] * out[1] / out[2], 27000, 33000, i);
    }
    perf_switch(0, 2);
    perf_host_end();
}

static void software_events_count_what_is_noted(void **state)
{
    int faults, user, major, switches, migrations, clock, limited;
    int never[UPMU_PERF_SOFTWARE_EVENTS - UPMU_PERF_ALIGNMENT_FAULTS];
    struct reading reading;

    (void)state;
    perf_host_set_up("skl");
    faults = open_software(UPMU_PERF_FAULTS, 0, 0, -1, -1);
    user = open_software(UPMU_PERF_FAULTS, UPMU_PERF_EXCLUDE_KERNEL, 0, -1, -1);
    major = open_software(UPMU_PERF_FAULTS_MAJOR, 0, 0, -1, -1);
    switches = open_software(UPMU_PERF_SWITCHES, 0, 0, -1, -1);
    migrations = open_software(UPMU_PERF_MIGRATIONS, 0, 0, -1, -1);
    clock = open_software(UPMU_PERF_TASK_CLOCK, 0, 0, -1, -1);
    limited = open_software(UPMU_PERF_FAULTS, 0, 0, 1, -1);
    for (unsigned i = 0; i < sizeof never / sizeof *never; i++)
        never[i] = open_software(UPMU_PERF_ALIGNMENT_FAULTS + i, 0, 0, -1, -1);
    perf_switch(0, 0);
    for (unsigned i = 0; i < 7; i++)
        upmu_perf_note(&perf_host.perf, 0, &perf_host.task[0],
                       i < 2 ? UPMU_PERF_NOTE_FAULT_MAJOR : UPMU_PERF_NOTE_FAULT_MINOR, i % 2);
    perf_work(0, true, 300);
    assert_int_equal(value_of(clock), 300); /* while it runs */
    perf_switch(0, 2);
    perf_work(0, true, 1000);
    perf_switch(1, 0);
    upmu_perf_note(&perf_host.perf, 1, &perf_host.task[0], UPMU_PERF_NOTE_MIGRATION, false);
    upmu_perf_note(&perf_host.perf, 1, &perf_host.task[0], UPMU_PERF_NOTE_FAULT_MINOR, true);
    perf_work(1, true, 20);
    assert_int_equal(value_of(limited), 1);
    perf_switch(1, 3);
    perf_switch(0, 0);
    upmu_perf_note(&perf_host.perf, 0, &perf_host.task[0], UPMU_PERF_NOTE_FAULT_MINOR, false);
    perf_switch(0, 2);
    assert_int_equal(value_of(limited), 1);
    assert_int_equal(value_of(faults), 9);
    assert_int_equal(value_of(user), 4);
    assert_int_equal(value_of(major), 2);
    assert_int_equal(value_of(switches), 3);
    assert_int_equal(value_of(migrations), 1);
    for (unsigned i = 0; i < sizeof never / sizeof *never; i++)
        assert_int_equal(value_of(never[i]), 0, i);
    reading = read_file(clock);
    assert_int_equal(reading.value, 320);
    assert_int_equal(reading.enabled, 320);
    assert_int_equal(reading.running, 320);
    assert_int_equal(read_file(limited).enabled, 20);
    perf_host_end();
}

/* More groups than counters are multiplexed; a program scales what it reads: raw counts are less than the truth. */
static void sharing_groups_report_what_was_counted(void **state)
{
    enum { GROUPS = 12, TICKS = 240, PART = 400 };
    int file[GROUPS];

    (void)state;
    perf_host_set_up("skl");
    for (unsigned i = 0; i < GROUPS; i++)
        file[i] = open_hardware(BRANCHES, 0, 0, -1, -1);
    perf_switch(0, 0);
    for (unsigned i = 0; i < TICKS; i++) {
        perf_work(0, true, PART);
        assert_int_equal(upmu_cpu_tick(&perf_host.host.cpu[0]), UPMU_OK);
    }
    for (unsigned i = 0; i < GROUPS; i++) {
        struct reading reading = read_file(file[i]);
        uint64_t scaled = reading.value * reading.enabled / reading.running;

        assert_compare(reading.value, <, TICKS * PART / 4);
        assert_compare(reading.running, <, reading.enabled);
        assert_in_range(scaled, TICKS * PART / 4 * 9 / 10, TICKS * PART / 4 * 11 / 10);
    }
    perf_switch(0, 2);
    perf_host_end();
}

static void a_pinned_event_without_counter_ends(void **state)
{
    int file[5], last;
    uint64_t out[3];

    (void)state;
    perf_host_set_up("skl");
    for (unsigned i = 0; i < 4; i++)
        file[i] = open_hardware(BRANCHES, UPMU_PERF_PINNED, -1, 0, -1);
    last = open_hardware(BRANCHES, UPMU_PERF_PINNED, -1, 0, -1);
    assert_int_equal(upmu_perf_read(perf_event(last), out, sizeof out), 0);
    perf_close(file[0]);
    assert_int_equal(upmu_perf_read(perf_event(last), out, sizeof out), 0);
    assert_int_equal(perf_ioctl(last, UPMU_PERF_IOC_ENABLE, 0), 0);
    perf_work(0, true, 400);
    assert_int_equal(value_of(last), 100);
    perf_host_end();
}

/* ---- Children ---- */

/* Task 0 makes tasks 1 and 2 (which idles on CPU 0 no more), task 1 makes another; all work, and end in any order. */
static void children_are_counted_once(void **state)
{
    (void)state;
    for (unsigned order = 0; order < 6; order++) {
        int leader, clock, thread_only, later;
        static struct upmu_perf_task child[3];
        uint64_t truth = 0;

        perf_host_set_up("skl");
        leader = open_hardware(INSTRUCTIONS, UPMU_PERF_INHERIT, 0, -1, -1);
        clock = open_software(UPMU_PERF_TASK_CLOCK, UPMU_PERF_INHERIT, 0, -1, leader);
        thread_only = open_hardware(INSTRUCTIONS, UPMU_PERF_INHERIT | UPMU_PERF_INHERIT_THREAD, 0, -1, -1);
        for (unsigned i = 0; i < 3; i++) {
            upmu_perf_task_init(&child[i], 10 + i, 10 + i);
            assert_int_equal(upmu_perf_fork(i < 2 ? &perf_host.task[0] : &child[0], &child[i], i == 1), 0, i);
        }
        later = open_hardware(INSTRUCTIONS, UPMU_PERF_INHERIT, 0, -1, -1);
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(upmu_perf_switch(&perf_host.perf, 0, &perf_host.task[2], &child[i]), UPMU_OK, i);
            perf_work(0, true, 100u << i);
            truth += 100u << i;
            assert_int_equal(upmu_perf_switch(&perf_host.perf, 0, &child[i], &perf_host.task[2]), UPMU_OK, i);
            assert_int_equal(value_of(leader), truth);
        }
        run_task(1000, 0);
        truth += 1000;
        for (unsigned left = 3, code = order, done = 0; left; left--) {
            unsigned which = code % left;

            code /= left;
            for (unsigned i = 0; i < 3; i++)
                if (!(done >> i & 1u) && !which--) {
                    assert_int_equal(upmu_perf_exit(&child[i]), UPMU_OK, i);
                    memset(&child[i], 0xa5, sizeof child[i]);
                    done |= 1u << i;
                }
            assert_int_equal(value_of(leader), truth);
            assert_int_equal(value_of(clock), truth);
            assert_int_equal(read_file(leader).enabled, truth);
            assert_int_equal(value_of(thread_only), 1000 + 200);
        }
        assert_int_equal(value_of(later), 1000);
        perf_host_end();
    }
}

static void children_follow_their_original(void **state)
{
    struct upmu_perf_task child;
    int leader, sibling;

    (void)state;
    perf_host_set_up("skl");
    upmu_perf_task_init(&child, 10, 10);
    leader = open_hardware(INSTRUCTIONS, UPMU_PERF_INHERIT, 0, -1, -1);
    sibling = open_hardware(BRANCHES, UPMU_PERF_INHERIT, 0, -1, leader);
    assert_int_equal(upmu_perf_fork(&perf_host.task[0], &child, true), 0);
    assert_int_equal(upmu_perf_switch(&perf_host.perf, 0, &perf_host.task[2], &child), UPMU_OK);
    perf_work(0, true, 400);
    assert_int_equal(perf_ioctl(sibling, UPMU_PERF_IOC_DISABLE, 0), 0);
    perf_work(0, true, 400);
    assert_int_equal(value_of(sibling), 100);
    assert_int_equal(perf_ioctl(leader, UPMU_PERF_IOC_DISABLE, UPMU_PERF_IOC_FLAG_GROUP), 0);
    perf_work(0, true, 400);
    assert_int_equal(value_of(leader), 800);
    assert_int_equal(perf_ioctl(sibling, UPMU_PERF_IOC_ENABLE, UPMU_PERF_IOC_FLAG_GROUP), 0);
    perf_work(0, true, 400);
    assert_int_equal(value_of(leader), 1200);
    assert_int_equal(value_of(sibling), 200);
    perf_close(leader); /* while the child runs: its sibling counts on, alone */
    perf_work(0, true, 400);
    assert_int_equal(value_of(sibling), 300);
    perf_close(sibling);
    assert_null(child.events);
    assert_int_equal(upmu_perf_switch(&perf_host.perf, 0, &child, &perf_host.task[2]), UPMU_OK);
    perf_host_end();
}

static void a_fork_without_memory_leaves_nothing(void **state)
{
    struct upmu_perf_task child;
    unsigned given;
    int leader;

    (void)state;
    for (unsigned takes = 0; takes < 5; takes++) { /* three events, two sessions */
        perf_host_set_up("skl");
        upmu_perf_task_init(&child, 10, 10);
        leader = open_hardware(INSTRUCTIONS, UPMU_PERF_INHERIT, 0, -1, -1);
        assert_compare(open_hardware(BRANCHES, UPMU_PERF_INHERIT, 0, -1, leader), >, 0);
        assert_compare(open_hardware(CYCLES, UPMU_PERF_INHERIT, 0, -1, -1), >, 0);
        given = perf_host.given;
        perf_host.takes_left = takes;
        assert_int_equal(upmu_perf_fork(&perf_host.task[0], &child, true), -UPMU_PERF_ENOMEM);
        assert_null(child.events);
        assert_int_equal(perf_host.given - given, takes);
        run_task(400, 0);
        assert_int_equal(value_of(leader), 400);
        perf_host.takes_left = 5;
        assert_int_equal(upmu_perf_fork(&perf_host.task[0], &child, true), 0);
        assert_int_equal(perf_host.takes_left, 0);
        assert_int_equal(upmu_perf_exit(&child), UPMU_OK);
        perf_host.takes_left = 1000 - 2 - perf_host.given;
        perf_host_end();
    }
}

/* ---- What may be counted ---- */

static int open_attr(uint32_t type, uint64_t config, uint64_t flags)
{
    struct upmu_perf_attr attr = attr_of(type, config, flags);
    int file = perf_open(&attr, 0, -1, -1, 0);

    if (file > 0)
        perf_close(file);
    return file > 0 ? 0 : file;
}

static void a_user_may_what_paranoid_grants(void **state)
{
    const uint64_t any_thread = 0x20003c;
    struct upmu_perf_attr attr = attr_of(UPMU_PERF_TYPE_RAW, 0x1b7, UPMU_PERF_EXCLUDE_KERNEL);

    (void)state;
    perf_host_set_up("skl");
    perf_host.caller = USER;
    attr.config1 = 0x10003; /* a payload register */
    for (int paranoid = 2; paranoid >= -1; paranoid--) {
        perf_host.perf.paranoid = paranoid;
        assert_int_equal(open_attr(UPMU_PERF_TYPE_HARDWARE, CYCLES, UPMU_PERF_EXCLUDE_KERNEL), 0);
        assert_int_equal(open_attr(UPMU_PERF_TYPE_HARDWARE, CYCLES, 0), paranoid > 1 ? -UPMU_PERF_EACCES : 0);
        assert_int_equal(open_attr(UPMU_PERF_TYPE_RAW, any_thread, UPMU_PERF_EXCLUDE_KERNEL),
                         paranoid > 0 ? -UPMU_PERF_EACCES : 0);
        assert_int_equal(open_hardware(CYCLES, UPMU_PERF_EXCLUDE_KERNEL, 2, -1, -1), -UPMU_PERF_EACCES);
        for (unsigned i = 0; i < 2; i++) {
            int file = i ? perf_open(&attr, 0, -1, -1, 0) : open_hardware(CYCLES, UPMU_PERF_EXCLUDE_KERNEL, -1, 0, -1);

            assert_int_equal(file > 0 ? 0 : file, paranoid > (i ? -1 : 0) ? -UPMU_PERF_EACCES : 0, i);
            if (file > 0)
                perf_close(file);
        }
    }
    perf_host_end();
}

static void words_and_names_are_those_of_the_cpu(void **state)
{
    static const struct {
        const char *profile;
        uint32_t type;
        uint64_t config;
        int error;
    } rows[] = {
        {"skl", UPMU_PERF_TYPE_RAW, 0x4300c0, 0},            /* instructions, modes and enable bit are ignored */
        {"skl", UPMU_PERF_TYPE_RAW, 0x80000000000000c0, 22}, /* no such bit */
        {"skl", UPMU_PERF_TYPE_HARDWARE, 7, 2},              /* stalled-cycles-frontend: Skylake has none */
        {"zen4", UPMU_PERF_TYPE_HARDWARE, 7, 0},
        {"skl", UPMU_PERF_TYPE_HARDWARE, 10, 22},
        {"skl", UPMU_PERF_TYPE_HARDWARE, UINT64_C(9) << 32, 2}, /* another PMU's */
        {"skl", UPMU_PERF_TYPE_HARDWARE, UINT64_C(4) << 32, 0}, /* the CPU's */
        {"zen4", UPMU_PERF_TYPE_CACHE, 0x10000, 0},             /* L1-dcache-load-misses */
        {"skl", UPMU_PERF_TYPE_CACHE, 7, 22},
        {"skl", UPMU_PERF_TYPE_CACHE, 0x300, 22},
        {"skl", UPMU_PERF_TYPE_CACHE, 0x20000, 22},
        {"zen4", UPMU_PERF_TYPE_CACHE, 0x10206, 2}, /* node-prefetch-misses */
        {"skl", UPMU_PERF_TYPE_TRACEPOINT, 1, 2},
        {"skl", UPMU_PERF_TYPE_BREAKPOINT, 0, 2},
        {"skl", 8, 0, 2},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        perf_host_set_up(rows[i].profile);
        if (open_attr(rows[i].type, rows[i].config, 0) != -rows[i].error)
            fail_msg("row %u: not errno %d", i, rows[i].error);
        assert_int_equal(open_attr(rows[i].type, rows[i].config, UPMU_PERF_PRECISE & UINT64_C(1) << 15),
                         rows[i].error && rows[i].config >> 32 == 9 ? -2
                         : rows[i].type > 4 || rows[i].type == 2    ? -2
                                                                    : -95,
                         i);
        perf_host_end();
    }
}

/* Bits of modes and of the interrupt are those of Intel's and AMD's selects alone. */
/* Bits that Linux's own PMUs of x86 know, and config3, which none of them has. */
static void hosts_cannot_be_excluded(void **state)
{
    struct upmu_perf_attr attr = attr_of(UPMU_PERF_TYPE_HARDWARE, INSTRUCTIONS, UPMU_PERF_EXCLUDE_HOST);

    (void)state;
    perf_host_set_up("skl");
    assert_int_equal(perf_open(&attr, 0, -1, -1, 0), -UPMU_PERF_EOPNOTSUPP);
    attr.flags = UPMU_PERF_EXCLUDE_GUEST | UPMU_PERF_EXCLUDE_HV | UPMU_PERF_EXCLUDE_IDLE;
    assert_compare(perf_open(&attr, 0, -1, -1, 0), >, 0);
    attr.config3 = 1;
    assert_int_equal(perf_open(&attr, 0, -1, -1, 0), -UPMU_PERF_EINVAL);
    attr.config3 = 0;
    attr.sample_type = UPMU_PERF_SAMPLE_BRANCH_STACK;
    attr.branch_sample_type = 1u << 3; /* any branch */
    assert_int_equal(perf_open(&attr, 0, -1, -1, 0), -UPMU_PERF_EOPNOTSUPP);
    perf_host_end();
}

static void raw_words_of_netburst_are_as_they_are(void **state)
{
    struct upmu_perf_attr attr = attr_of(UPMU_PERF_TYPE_RAW, 0, 0);
    struct upmu_event named, raw;

    (void)state;
    perf_host_set_up("northwood");
    assert_int_equal(upmu_event_parse(perf_host.host.cpu[0].meter.pmu, "BSQ_cache_reference:RD_2ndL_HITS:RD_2ndL_MISS",
                                      &named, NULL),
                     UPMU_OK);
    attr.config = named.config;
    attr.config2 = named.config2;
    assert_int_equal(upmu_perf_encode(perf_host.host.cpu[0].meter.pmu, &attr, &raw), 0);
    assert_int_equal(raw.config, named.config);
    perf_host_end();
}

/* A PMU with a version, the registers of Skylake, and the kernel's mode in another bit of a select, as Arm's are. */
static struct upmu_pmu pmu_like_arm(void)
{
    static struct upmu_register_class classes[UPMU_REGISTER_CLASSES];
    static struct upmu_register_table table;
    struct upmu_pmu pmu;

    assert_int_equal(upmu_pmu_by_name(&pmu, "skl"), UPMU_OK);
    table = *pmu.table;
    memcpy(classes, table.classes, table.class_count * sizeof *classes);
    classes[table.rows[pmu.counter[0].select_row].class_index].kernel = UPMU_BIT64(27);
    table.classes = classes;
    pmu.table = &table;
    return pmu;
}

/* Bits of modes and of the interrupt are those of Intel's and AMD's selects alone, though Arm's PMUs have versions. */
static void raw_words_of_arm_are_as_they_are(void **state)
{
    struct upmu_perf_attr attr = attr_of(UPMU_PERF_TYPE_RAW, 0x530011, 0);
    struct upmu_perf_text text = {.length = 0};
    struct upmu_pmu pmu = pmu_like_arm();

    (void)state;
    assert_compare(pmu.version, >, 0);
    assert_true(text_add_event(&text, &pmu, &attr));
    assert_string_equal(text.bytes, "raw:config=0x0000000000530011");
}

static char files[4096];

static void note_file(void *context, const char *path, const char *text)
{
    (void)context;
    assert_compare(strlen(files) + strlen(path) + strlen(text) + 2, <, sizeof files);
    strcat(strcat(strcat(files, path), " "), text);
}

/* As Linux shows them for the same CPU, but for what this layer lacks. */
static void files_say_what_a_raw_word_is(void **state)
{
    static const struct {
        const char *profile, *has, *lacks;
    } rows[] = {
        {"skl", "/cpu/type 4\n", "stalled"},
        {"skl", "/cpu/format/event config:0-7\n", "NULL"},
        {"skl", "/cpu/format/offcore_rsp config1:0-63\n", "NULL"},
        {"skl", "/cpu/events/cpu-cycles event=0x3c\n", "NULL"},
        {"skl", "/cpu/events/cache-misses event=0x2e,umask=0x41\n", "NULL"},
        {"skl", "/cpu/events/bus-cycles event=0x3c,umask=0x01\n", "NULL"},
        {"zen4", "/cpu/format/event config:0-7,32-35\n", "offcore"},
        {"zen4", "/cpu/events/branch-instructions event=0xc2\n", "in_tx"},
        {"zen4", "/cpu/events/stalled-cycles-frontend event=0xa9\n", "stalled-cycles-backend"},
        {"zen4", "/cpu/events/cache-misses event=0x64,umask=0x09\n", "NULL"},
        {"p6", "/cpu/format/cmask config:24-31\n", "config1"},
        {"northwood", "/cpu/type 4\n", "format"},
        {"skl", "/software/type 1\n", "NULL"},
        {"skl", "/proc/sys/kernel/perf_event_paranoid -1\n", "NULL"},
        {"skl", "/proc/sys/kernel/perf_event_max_sample_rate 100000\n", "NULL"},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        perf_host_set_up(rows[i].profile);
        perf_host.perf.paranoid = -1;
        files[0] = 0;
        upmu_perf_files(&perf_host.perf, note_file);
        if (!strstr(files, rows[i].has) || strstr(files, rows[i].lacks))
            fail_msg("row %u: %s", i, files);
        perf_host_end();
    }
}

static void files_of_arm_say_its_type_alone(void **state)
{
    struct upmu_pmu pmu = pmu_like_arm();

    (void)state;
    perf_host_set_up("skl");
    files[0] = 0;
    emit_pmu(&(struct upmu_perf_folder){.perf = &perf_host.perf, .emit = note_file, .pmu = &pmu, .name = "cpu"},
             UPMU_PERF_TYPE_RAW);
    assert_non_null(strstr(files, "/cpu/type 4\n"));
    assert_null(strstr(files, "format"));
    perf_host_end();
}

static void events_have_a_limit(void **state)
{
    int file;

    (void)state;
    perf_host_set_up("skl");
    perf_host.perf.most_events = 1;
    file = open_software(UPMU_PERF_DUMMY, 0, 0, -1, -1);
    assert_compare(file, >, 0);
    assert_int_equal(open_software(UPMU_PERF_DUMMY, 0, 0, -1, -1), -UPMU_PERF_EMFILE);
    perf_close(file);
    assert_int_equal(open_attr(UPMU_PERF_TYPE_SOFTWARE, UPMU_PERF_DUMMY, 0), 0);
    perf_host_end();
}

static void each_copy_may_fail(void **state)
{
    struct {
        struct upmu_perf_attr attr;
        uint8_t more[120];
    } program;

    (void)state;
    perf_host_set_up("skl");
    for (unsigned copy = 1; copy <= 4; copy++) { /* size, two pieces of the rest, attributes */
        memset(&program, 0, sizeof program);
        program.attr = attr_of(UPMU_PERF_TYPE_SOFTWARE, UPMU_PERF_DUMMY, 0);
        program.attr.size = sizeof program;
        perf_host.copies_left = copy;
        assert_int_equal(perf_open(&program.attr, 0, -1, -1, 0), -UPMU_PERF_EFAULT);
        perf_host.copies_left = 0;
    }
    perf_close(perf_open(&program.attr, 0, -1, -1, 0));
    program.more[119] = 1;
    assert_int_equal(perf_open(&program.attr, 0, -1, -1, 0), -UPMU_PERF_E2BIG);
    assert_int_equal(program.attr.size, sizeof program.attr);
    perf_host_end();
}

static void commands_that_do_nothing_here_say_why(void **state)
{
    struct upmu_perf_attr attr = attr_of(UPMU_PERF_TYPE_SOFTWARE, UPMU_PERF_DUMMY, 0);
    uint64_t word = 5;
    int file;

    (void)state;
    perf_host_set_up("skl");
    file = perf_open(&attr, 0, -1, -1, 0);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_ID, (uintptr_t)&word), 0);
    assert_int_equal(word, 1);
    word = 0;
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_ID_32, (uintptr_t)&word), 0);
    assert_int_equal(word, 1);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_REFRESH, 1), -UPMU_PERF_EINVAL);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_PERIOD, (uintptr_t)&word), -UPMU_PERF_EINVAL);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_SET_OUTPUT, (uint32_t)-1), 0);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_SET_OUTPUT, (uint32_t)file), -UPMU_PERF_EINVAL);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_SET_OUTPUT, 999), -UPMU_PERF_EBADF);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_MODIFY_ATTRIBUTES, (uintptr_t)&attr), -UPMU_PERF_EOPNOTSUPP);
    attr.type = UPMU_PERF_TYPE_BREAKPOINT;
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_MODIFY_ATTRIBUTES, (uintptr_t)&attr), -UPMU_PERF_EINVAL);
    attr.reserved_2 = 1;
    attr.type = UPMU_PERF_TYPE_SOFTWARE;
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_MODIFY_ATTRIBUTES, (uintptr_t)&attr), -UPMU_PERF_EINVAL);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_PAUSE_OUTPUT, 1), -UPMU_PERF_EINVAL);
    assert_int_equal(perf_ioctl(file, 0x1234, 1), -UPMU_PERF_ENOTTY);
    perf_host.copies_left = 1;
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_ID, (uintptr_t)&word), -UPMU_PERF_EFAULT);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_PERIOD, (uintptr_t)&word), -UPMU_PERF_EFAULT);
    perf_host.copies_left = 0;
    perf_host_end();
}

/* While an event with `exclusive` has its counter, no other one of the PMU has any. */
static void an_exclusive_event_counts_alone(void **state)
{
    struct upmu_perf_attr attr = {.size = sizeof attr,
                                  .config = 1,
                                  .read_format = UPMU_PERF_READ_ENABLED | UPMU_PERF_READ_RUNNING,
                                  .flags = UPMU_PERF_EXCLUSIVE};
    uint64_t alone[3], other[3];
    int first, second;

    (void)state;
    perf_host_set_up("skl");
    first = perf_open(&attr, 0, -1, -1, 0);
    assert_compare(first, >, 0);
    assert_int_equal(perf_open(&attr, 0, -1, first, 0), -UPMU_PERF_EINVAL); /* it is the leader that is exclusive */
    perf_switch(0, 0);
    perf_work(0, true, 100);
    assert_int_equal(upmu_perf_read(perf_event(first), alone, sizeof alone), sizeof alone);
    assert_int_equal(alone[0], 100);
    assert_int_equal(alone[1], alone[2]);
    attr.flags = 0;
    attr.config = 4;
    second = perf_open(&attr, 0, -1, -1, 0);
    for (unsigned i = 0; i < 40; i++) {
        perf_work(0, true, 1000);
        assert_int_equal(upmu_cpu_tick(&perf_host.host.cpu[0]), UPMU_OK);
    }
    assert_int_equal(upmu_perf_read(perf_event(first), alone, sizeof alone), sizeof alone);
    assert_int_equal(upmu_perf_read(perf_event(second), other, sizeof other), sizeof other);
    assert_true(alone[2] < alone[1] && other[2] < other[1] && other[2]);
    assert_in_range(alone[2] + other[2], alone[1] - 1000, alone[1]); /* never at the same time */
    perf_switch(0, 2);
    perf_host_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_administrator_is_refused_as_linux_does),
        cmocka_unit_test(a_user_is_refused_as_linux_does),
        cmocka_unit_test(a_task_is_counted_while_it_runs),
        cmocka_unit_test(a_task_that_runs_is_found_without_a_hook),
        cmocka_unit_test(exec_begins_what_waits_for_it),
        cmocka_unit_test(an_exec_that_cannot_begin_an_event_says_so),
        cmocka_unit_test(exec_ends_what_is_removed_by_it),
        cmocka_unit_test(a_program_that_may_not_be_watched_is_not),
        cmocka_unit_test(members_of_a_group_are_enabled_alone_or_together),
        cmocka_unit_test(a_reset_leaves_the_times),
        cmocka_unit_test(a_group_is_closed_in_any_order),
        cmocka_unit_test(a_large_group_is_closed_in_many_orders),
        cmocka_unit_test(an_event_left_behind_leads_a_group_again),
        cmocka_unit_test(memory_of_a_group_grows_by_its_members),
        cmocka_unit_test(an_open_without_memory_changes_nothing),
        cmocka_unit_test(a_group_that_cannot_run_together_is_refused),
        cmocka_unit_test(every_format_has_its_bytes),
        cmocka_unit_test(a_cpu_is_counted_whoever_runs),
        cmocka_unit_test(a_group_of_software_shows_the_times_of_its_counters),
        cmocka_unit_test(a_cpu_out_of_reach_is_said_to_be),
        cmocka_unit_test(a_cpu_that_is_offline_counts_nothing),
        cmocka_unit_test(software_events_count_what_is_noted),
        cmocka_unit_test(sharing_groups_report_what_was_counted),
        cmocka_unit_test(a_pinned_event_without_counter_ends),
        cmocka_unit_test(children_are_counted_once),
        cmocka_unit_test(children_follow_their_original),
        cmocka_unit_test(a_fork_without_memory_leaves_nothing),
        cmocka_unit_test(a_user_may_what_paranoid_grants),
        cmocka_unit_test(words_and_names_are_those_of_the_cpu),
        cmocka_unit_test(hosts_cannot_be_excluded),
        cmocka_unit_test(raw_words_of_netburst_are_as_they_are),
        cmocka_unit_test(raw_words_of_arm_are_as_they_are),
        cmocka_unit_test(files_say_what_a_raw_word_is),
        cmocka_unit_test(files_of_arm_say_its_type_alone),
        cmocka_unit_test(events_have_a_limit),
        cmocka_unit_test(each_copy_may_fail),
        cmocka_unit_test(commands_that_do_nothing_here_say_why),
        cmocka_unit_test(an_exclusive_event_counts_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
