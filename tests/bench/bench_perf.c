/* SPDX-License-Identifier: MIT */
/*
 * What perf_event_open (abi/perf) costs above the library: a sample in a ring above an interrupt whose overflow is
 * ignored, and a read above upmu_set_read(), on the silicon model, whose hooks are not counted: run under callgrind
 * by tools/bench.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <upmu/session.h>
#include <upmu/upmu.h>
#include "models/sim/sim.h"
#include "tests/bench/callgrind_count.h"
#include "tests/bench/uncounted.h"
#include "tests/common/perf_sources.h"

#define PERIOD 1000u
#define PAGES 3u

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_session session;
static struct upmu_perf perf;
static struct upmu_perf_cpu perf_cpu;
static struct upmu_perf_task task, idle;
static struct upmu_perf_event event;
static uint64_t ring[PAGES][UPMU_PERF_PAGE_BYTES / 8];
static const char *figure;
static unsigned interrupts;

static void must(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s: %s\n", figure, what);
        exit(1);
    }
}

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
    (void)context, (void)caller, (void)pid;
    *out_may = true;
    return &task;
}

static struct upmu_cpu *task_cpu(void *context, struct upmu_perf_task *of)
{
    (void)context;
    return of == &task ? &cpu : NULL;
}

static bool may_all(void *context, uint32_t caller)
{
    (void)context, (void)caller;
    return true;
}

static void *take(void *context, size_t bytes)
{
    (void)context;
    return malloc(bytes);
}

static void give(void *context, void *memory, size_t bytes)
{
    (void)context, (void)bytes;
    free(memory);
}

static void do_interrupt(void *argument)
{
    const struct upmu_frame frame = {.ip = 0x1000, .sp = 0x2000};

    counting = true;
    must(upmu_pmi_handle(argument, &frame) == UPMU_PMI_HANDLED, "the interrupt is not handled");
    counting = false;
}

static void deliver(struct upmu_sim *of, unsigned number, const struct upmu_sim_interrupt *interrupt)
{
    (void)of, (void)number, (void)interrupt;
    if (interrupts == 2) {
        bench_count_run(do_interrupt, &cpu);
        bench_count_name(figure);
    } else {
        (void)upmu_pmi_handle(&cpu, NULL);
    }
    interrupts++;
}

static void set_up(void)
{
    upmu_sim_init(&sim, upmu_sim_profile("skylake"), 1);
    memset(&cpu, 0, sizeof cpu);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    sim.deliver = deliver;
    uncounted_use(&sim.port);
    interrupts = 0;
    must(upmu_machine_init(&machine, upmu_sim_port(&sim)) == UPMU_OK, "machine");
    must(upmu_cpu_init(&cpu, &machine, NULL) == UPMU_OK, "cpu");
}

/* The third interrupt: what the first ones do once is not counted. */
static void interrupt_three_times(const char *name)
{
    figure = name;
    for (unsigned i = 0; i < 10000 && interrupts < 3; i++) {
        sim.now_ns += 20000000; /* no throttle */
        upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = PERIOD / 4, .cycles = PERIOD / 4, .ip = 0x1000});
    }
    must(interrupts == 3, "no interrupt comes");
}

static uint64_t counts[4];
static struct upmu_count count;

static void do_read(void *argument)
{
    (void)argument;
    counting = true;
    must(upmu_set_read(&session.set, 0, 1, &count) == UPMU_OK, "read");
    counting = false;
}

static void do_perf_read(void *argument)
{
    (void)argument;
    counting = true;
    must(upmu_perf_read(&event, counts, sizeof counts) == 3 * sizeof *counts, "read");
    counting = false;
}

static void measure_library(void)
{
    const struct upmu_sampling sampling = {.period = PERIOD};

    set_up();
    must(upmu_session_init(&session, &machine) == UPMU_OK &&
             upmu_set_add(&session.set, "INST_RETIRED.ANY_P", &sampling) == UPMU_OK &&
             upmu_session_attach_cpu(&session, &cpu) == UPMU_OK && upmu_session_start(&session) == UPMU_OK,
         "session");
    interrupt_three_times("perf-none");
    bench_count_run(do_read, NULL);
    bench_count_name("perf-read-none");
    must(upmu_session_stop(&session) == UPMU_OK && upmu_session_detach(&session) == UPMU_OK &&
             upmu_cpu_fini(&cpu) == UPMU_OK,
         "end");
}

static uint64_t clock_ns(void *context)
{
    return uncounted_clock_ns(context);
}

static void measure_perf(const char *name, uint64_t parts)
{
    struct upmu_perf_attr attr = {.type = UPMU_PERF_TYPE_HARDWARE,
                                  .size = sizeof attr,
                                  .config = 1, /* instructions */
                                  .sample_period = PERIOD,
                                  .sample_type = parts,
                                  .read_format = UPMU_PERF_READ_ENABLED | UPMU_PERF_READ_RUNNING};
    void *pages[PAGES] = {ring[0], ring[1], ring[2]};

    set_up();
    perf_cpu = (struct upmu_perf_cpu){.cpu = &cpu};
    perf = (struct upmu_perf){.machine = &machine,
                              .cpus = &perf_cpu,
                              .cpu_count = 1,
                              .context = sim.port.context,
                              .copy_in = copy_in,
                              .copy_out = copy_out,
                              .find_task = find_task,
                              .task_cpu = task_cpu,
                              .may_all = may_all,
                              .clock_ns = clock_ns,
                              .take = take,
                              .give = give};
    upmu_perf_task_init(&task, 1, 1);
    upmu_perf_task_init(&idle, 0, 0);
    memset(ring, 0, sizeof ring);
    must(upmu_perf_switch(&perf, 0, &idle, &task) == UPMU_OK, "switch");
    must(upmu_perf_open(&perf, 0, &event, &attr, 0, -1, -1, 0) == 0, "open");
    must(upmu_perf_map(&event, pages, PAGES, true) == 0, "map");
    interrupt_three_times(name);
    if (parts == UPMU_PERF_SAMPLE_IP) {
        bench_count_run(do_perf_read, NULL);
        bench_count_name("perf-read");
    }
    must(upmu_perf_close(&event) == 0 && upmu_perf_switch(&perf, 0, &task, &idle) == UPMU_OK &&
             upmu_cpu_fini(&cpu) == UPMU_OK,
         "end");
}

int main(void)
{
    measure_library();
    measure_perf("perf-ip", UPMU_PERF_SAMPLE_IP);
    measure_perf("perf-record",
                 UPMU_PERF_SAMPLE_IP | UPMU_PERF_SAMPLE_TID | UPMU_PERF_SAMPLE_TIME | UPMU_PERF_SAMPLE_PERIOD);
    return 0;
}
