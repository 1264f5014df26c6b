/* SPDX-License-Identifier: MIT */
/*
 * A kernel that wires perf_event_open to the silicon model: two CPUs, tasks, a table of descriptors, a clock.
 */
#ifndef UPMU_TESTS_PERF_HOST_H
#define UPMU_TESTS_PERF_HOST_H

#include <stdlib.h>

#include "abi/perf/perf_core.h"
#include "tests/common/host.h"

#define PERF_FILES 48
#define PERF_FIRST_FILE 3
#define PERF_TASKS 4 /* the last ones idle on the CPUs */
#define ADMINISTRATOR 1u
#define USER 7u /* its own task is task 0; it may observe task 1, too, and sees task 2 */

struct perf_host {
    struct host host;
    struct upmu_perf perf;
    struct upmu_perf_cpu cpus[2];
    struct upmu_perf_task task[PERF_TASKS];
    struct upmu_perf_event event[PERF_FILES];
    bool open[PERF_FILES];
    unsigned running[2];  /* tasks */
    unsigned copies_left; /* copies that still succeed; 0: all */
    unsigned takes_left, given;
    size_t taken_bytes; /* not given back */
    uint32_t caller;
};

static struct perf_host perf_host;

static bool perf_copy(void *to, const void *from, size_t bytes)
{
    if (perf_host.copies_left && !--perf_host.copies_left) {
        perf_host.copies_left = 1;
        return false;
    }
    memcpy(to, from, bytes);
    return true;
}

static bool perf_copy_in(void *context, void *to, const void *user, size_t bytes)
{
    (void)context;
    return perf_copy(to, user, bytes);
}

static bool perf_copy_out(void *context, void *user, const void *from, size_t bytes)
{
    (void)context;
    return perf_copy(user, from, bytes);
}

static struct upmu_perf_task *perf_find_task(void *context, uint32_t caller, int32_t pid, bool *out_may)
{
    (void)context;
    *out_may = pid != 2 || caller == ADMINISTRATOR;
    return pid < 0 || pid > 2 ? NULL : &perf_host.task[pid];
}

static struct upmu_cpu *perf_task_cpu(void *context, struct upmu_perf_task *task)
{
    (void)context;
    for (unsigned cpu = 0; cpu < 2; cpu++)
        if (&perf_host.task[perf_host.running[cpu]] == task)
            return &perf_host.host.cpu[cpu];
    return NULL;
}

static bool perf_may_all(void *context, uint32_t caller)
{
    (void)context;
    return caller == ADMINISTRATOR;
}

static uint64_t perf_clock(void *context)
{
    (void)context;
    return perf_host.host.sim.now_ns;
}

static struct upmu_perf_event *perf_event_of(void *context, uint32_t caller, int file)
{
    (void)context;
    (void)caller;
    return file >= PERF_FIRST_FILE && file < PERF_FIRST_FILE + PERF_FILES && perf_host.open[file - PERF_FIRST_FILE]
               ? &perf_host.event[file - PERF_FIRST_FILE]
               : NULL;
}

static void *perf_take(void *context, size_t bytes)
{
    (void)context;
    if (!perf_host.takes_left)
        return NULL;
    perf_host.takes_left--;
    perf_host.taken_bytes += bytes;
    return malloc(bytes);
}

static void perf_give(void *context, void *memory, size_t bytes)
{
    (void)context;
    perf_host.given++;
    perf_host.taken_bytes -= bytes;
    memset(memory, 0xa5, bytes); /* no list and no CPU has it any more */
    free(memory);
}

/* The CPUs of perf_host.host idle; tasks 0 to 2 do not run. */
static void perf_host_begin(void)
{
    perf_host.cpus[0].cpu = &perf_host.host.cpu[0];
    perf_host.cpus[1].cpu = &perf_host.host.cpu[1];
    perf_host.caller = ADMINISTRATOR;
    perf_host.perf = (struct upmu_perf){.machine = &perf_host.host.machine,
                                        .cpus = perf_host.cpus,
                                        .cpu_count = 2,
                                        .paranoid = 2,
                                        .copy_in = perf_copy_in,
                                        .copy_out = perf_copy_out,
                                        .find_task = perf_find_task,
                                        .task_cpu = perf_task_cpu,
                                        .may_all = perf_may_all,
                                        .clock_ns = perf_clock,
                                        .event_of = perf_event_of,
                                        .take = perf_take,
                                        .give = perf_give};
    perf_host.takes_left = 1000;
    for (unsigned i = 0; i < PERF_TASKS; i++)
        upmu_perf_task_init(&perf_host.task[i], i, i);
    perf_host.running[0] = 2 + 0;
    perf_host.running[1] = 2 + 1;
}

/* Two CPUs of a model. */
static inline void perf_host_set_up(const char *profile)
{
    memset(&perf_host, 0, sizeof perf_host);
    host_set_up_two(&perf_host.host, profile);
    perf_host_begin();
}

/* The program's call: a descriptor, or a negative errno. */
static int perf_open(struct upmu_perf_attr *attr, int pid, int cpu, int group, uint64_t flags)
{
    unsigned free_one = 0;
    int64_t result;

    while (perf_host.open[free_one])
        free_one++;
    assert_compare(free_one, <, PERF_FILES);
    result =
        upmu_perf_open(&perf_host.perf, perf_host.caller, &perf_host.event[free_one], attr, pid, cpu, group, flags);
    if (result)
        return (int)result;
    perf_host.open[free_one] = true;
    return PERF_FIRST_FILE + (int)free_one;
}

static struct upmu_perf_event *perf_event(int file)
{
    return perf_event_of(NULL, 0, file);
}

static int perf_ioctl(int file, uint32_t command, uint64_t argument)
{
    return (int)upmu_perf_ioctl(perf_event(file), perf_host.caller, command, argument);
}

static void perf_close(int file)
{
    assert_int_equal(upmu_perf_close(perf_event(file)), 0);
    memset(perf_event(file), 0xa5, sizeof(struct upmu_perf_event)); /* no list has it any more */
    perf_host.open[file - PERF_FIRST_FILE] = false;
}

/* The CPU switches to another task, and executes. */
static inline void perf_switch(unsigned cpu, unsigned next)
{
    upmu_sim_switch_cpu(&perf_host.host.sim, cpu);
    assert_int_equal(
        upmu_perf_switch(&perf_host.perf, cpu, &perf_host.task[perf_host.running[cpu]], &perf_host.task[next]), UPMU_OK,
        cpu, next);
    perf_host.running[cpu] = next;
}

/* Work of a CPU: each instruction takes a cycle, and a ns. */
static inline void perf_work(unsigned cpu, bool user, uint64_t instructions)
{
    upmu_sim_switch_cpu(&perf_host.host.sim, cpu);
    upmu_sim_events(&perf_host.host.sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                                  .cycles = instructions,
                                                                  .ref_cycles = instructions,
                                                                  .branches = instructions / 4,
                                                                  .mispredicts = instructions / 16,
                                                                  .llc_references = instructions / 8,
                                                                  .llc_misses = instructions / 32,
                                                                  .user = user,
                                                                  .ip = 0x1000,
                                                                  .ip_step = 1});
}

static inline void perf_host_end(void)
{
    for (int i = 0; i < PERF_FILES; i++)
        if (perf_host.open[i])
            perf_close(PERF_FIRST_FILE + i);
    assert_int_equal(perf_host.perf.events, 0);
    assert_int_equal(1000 - perf_host.takes_left, perf_host.given);
    assert_int_equal(perf_host.taken_bytes, 0);
    host_end_idle(&perf_host.host);
}

#endif
