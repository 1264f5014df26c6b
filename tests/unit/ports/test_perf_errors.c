/* SPDX-License-Identifier: MIT */
/*
 * perf_event_open's refusals: 20,000 requests for software events, as an administrator and as a user without rights, are
 * answered as a Linux kernel did (tests/golden/perf_errors_*.txt, made by tests/perf/record_errors.c).
 */
#include "abi/perf/perf_attr.c"
#include "abi/perf/perf_control.c"
#include "abi/perf/perf_group.c"
#include "abi/perf/perf_names.c"
#include "abi/perf/perf_open.c"
#include "abi/perf/perf_soft.c"
#include "abi/perf/perf_task.c"

#include <stdio.h>

#include "tests/common/host.h"
#include "tests/perf/perf_attrs.h"

#define LEADER 3
#define SIBLING 4
#define CALLER 7
#define ADMINISTRATOR 1

static struct host host;
static struct upmu_perf perf;
static struct upmu_perf_cpu cpus[2];
static struct upmu_perf_task task;
static struct upmu_perf_event leader, sibling, event;
static struct perf_request request;

static bool copy_in(void *context, void *to, const void *user, size_t bytes)
{
    (void)context;
    memcpy(to, user, bytes);
    return true;
}

static bool copy_out(void *context, void *user, const void *from, size_t bytes)
{
    (void)context;
    memcpy(user, from, bytes);
    return true;
}

static struct upmu_perf_task *find_task(void *context, uint32_t caller, int32_t pid, bool *out_may)
{
    (void)context;
    (void)caller;
    *out_may = true;
    return pid ? NULL : &task;
}

static struct upmu_perf_event *event_of(void *context, uint32_t caller, int file)
{
    (void)context;
    (void)caller;
    return file == LEADER ? &leader : file == SIBLING ? &sibling : NULL;
}

static bool may_all(void *context, uint32_t caller)
{
    (void)context;
    return caller == ADMINISTRATOR;
}

static void set_up(void)
{
    host_set_up_two(&host, "skl");
    memset(&perf, 0, sizeof perf);
    memset(cpus, 0, sizeof cpus);
    cpus[0].cpu = &host.cpu[0];
    cpus[1].cpu = &host.cpu[1];
    perf.machine = &host.machine;
    perf.cpus = cpus;
    perf.cpu_count = 2;
    perf.paranoid = 2;
    perf.copy_in = copy_in;
    perf.copy_out = copy_out;
    perf.find_task = find_task;
    perf.event_of = event_of;
    perf.may_all = may_all;
    upmu_perf_task_init(&task, CALLER, CALLER);
}

static void open_group(uint32_t caller)
{
    struct upmu_perf_attr dummy = {.type = UPMU_PERF_TYPE_SOFTWARE, .size = 64, .config = UPMU_PERF_DUMMY,
                                   .flags = UPMU_PERF_DISABLED | UPMU_PERF_EXCLUDE_KERNEL};

    assert_int_equal(upmu_perf_open(&perf, caller, &leader, &dummy, 0, -1, -1, 0), 0);
    assert_int_equal(upmu_perf_open(&perf, caller, &sibling, &dummy, 0, -1, LEADER, 0), 0);
}

static int answer(uint32_t caller, unsigned long seed)
{
    const int pids[PERF_PIDS] = {0, -1, 0x3ffffff, -2}, groups[PERF_GROUPS] = {-1, LEADER, SIBLING, 999, 5};
    int64_t result;

    perf_request_make(&request, seed);
    result = upmu_perf_open(&perf, caller, &event, request.bytes, pids[request.pid], request.cpu, groups[request.group],
                            request.flags);
    if (!result)
        assert_int_equal(upmu_perf_close(&event), 0);
    perf_request_make(&request, seed);
    return (int)-result;
}

/* Is a request one that Linux grants and this layer does not: it samples, or is inherited? */
static bool is_of_later_stages(void)
{
    return request.attr.sample_period || request.attr.flags & UPMU_PERF_INHERIT;
}

static void compare(const char *path, uint32_t caller)
{
    FILE *file = fopen(path, "r");
    unsigned long seeds, differ = 0, later = 0;
    unsigned granted = 0;
    int recorded;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "# %*s seeds %lu, attribute bytes 136, uid %*d, paranoid 2, rate 100000, stack 127, cpus 2",
                            &seeds), 1);
    set_up();
    open_group(caller);
    for (unsigned long seed = 0; seed < seeds; seed++) {
        int ours = answer(caller, seed);

        assert_int_equal(fscanf(file, "%d", &recorded), 1);
        granted += !ours;
        if (ours == recorded)
            continue;
        if (!recorded && ours == UPMU_PERF_EOPNOTSUPP && is_of_later_stages()) {
            later++;
            continue;
        }
        if (differ++ < 10)
            fprintf(stderr, "seed %lu: Linux %d, here %d: size %u config %llu flags %#llx type %#llx pid %d cpu %d group %d open %#llx clock %d action %x\n", seed,
                    recorded, ours, request.attr.size, (unsigned long long)request.attr.config, (unsigned long long)request.attr.flags,
                    (unsigned long long)request.attr.sample_type, request.pid, request.cpu, request.group, (unsigned long long)request.flags, request.attr.clockid, request.attr.aux_action);
    }
    fclose(file);
    printf("%s: %lu requests, %u granted, %lu of later stages\n", path, seeds, granted, later);
    assert_int_equal(differ, 0);
    assert_int_equal(upmu_perf_close(&sibling), 0);
    assert_int_equal(upmu_perf_close(&leader), 0);
    assert_int_equal(perf.events, 0);
    host_end(&host);
}

static void an_administrator_is_refused_as_linux_does(void **state)
{
    (void)state;
    compare("tests/golden/perf_errors_root.txt", ADMINISTRATOR);
}

static void a_user_is_refused_as_linux_does(void **state)
{
    (void)state;
    compare("tests/golden/perf_errors_user.txt", CALLER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_administrator_is_refused_as_linux_does),
        cmocka_unit_test(a_user_is_refused_as_linux_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
