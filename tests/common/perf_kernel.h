/* SPDX-License-Identifier: MIT */
/*
 * A kernel that gives programs perf_event_open on the silicon model, without cmocka: its CPUs, which are two threads of
 * one core, and the hooks of abi/perf that are the same in each such kernel.  The file that includes this one knows the
 * programs, and adds four hooks: copy_in, copy_out, find_task and event_of.
 */
#ifndef UPMU_TESTS_PERF_KERNEL_H
#define UPMU_TESTS_PERF_KERNEL_H

#include <stdlib.h>
#include <string.h>
#include <upmu/cpu.h>

#include "abi/perf/perf.h"
#include "models/sim/sim.h"

#define PERF_KERNEL_CPUS 2u

struct perf_kernel {
    struct upmu_sim sim;
    struct upmu_machine machine;
    struct upmu_cpu cpu[PERF_KERNEL_CPUS];
    struct upmu_domain domain;
    struct upmu_perf perf;
    struct upmu_perf_cpu perf_cpu[PERF_KERNEL_CPUS];
    struct upmu_perf_task *running[PERF_KERNEL_CPUS];
    unsigned takes;            /* how often take() still has memory */
    size_t taken_bytes;        /* not given back */
    const uint64_t *registers; /* of the code that is interrupted, or NULL */
    uint64_t register_mask;
    bool reads[PERF_KERNEL_CPUS]; /* may programs there execute RDPMC? */
};

static struct perf_kernel perf_kernel;
static const struct upmu_sim_profile *perf_kernel_second; /* model of the CPUs but the first, of a hybrid; or NULL */
static void (*perf_kernel_model)(struct upmu_sim *sim); /* begins a model that is more than CPUs; or NULL */

static struct upmu_cpu *perf_kernel_task_cpu(void *context, struct upmu_perf_task *task)
{
    (void)context;
    for (unsigned i = 0; i < PERF_KERNEL_CPUS; i++)
        if (perf_kernel.running[i] == task)
            return &perf_kernel.cpu[i];
    return NULL;
}

static bool perf_kernel_may_all(void *context, uint32_t caller)
{
    (void)context;
    (void)caller;
    return true;
}

static uint64_t perf_kernel_clock(void *context)
{
    (void)context;
    return perf_kernel.sim.now_ns;
}

static void *perf_kernel_take(void *context, size_t bytes)
{
    (void)context;
    if (!perf_kernel.takes)
        return NULL;
    perf_kernel.takes--;
    perf_kernel.taken_bytes += bytes;
    return malloc(bytes);
}

static void perf_kernel_give(void *context, void *memory, size_t bytes)
{
    (void)context;
    perf_kernel.taken_bytes -= bytes;
    free(memory);
}

static void perf_kernel_deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    const struct upmu_frame frame = {.ip = interrupt->ip,
                                     .sp = interrupt->sp,
                                     .user = interrupt->user,
                                     .registers = perf_kernel.registers,
                                     .register_mask = perf_kernel.register_mask};

    (void)sim;
    (void)upmu_pmi_handle(&perf_kernel.cpu[cpu], &frame);
}

static void perf_kernel_allow(void *context, bool allow)
{
    (void)context;
    if (perf_kernel.sim.current < PERF_KERNEL_CPUS)
        perf_kernel.reads[perf_kernel.sim.current] = allow;
}

/*
 * Both CPUs of this model begin, and idle: `idle` has a task for each, which the caller initialises.  NULL, or the part
 * that does not begin.
 */
static const char *perf_kernel_set_up(const struct upmu_sim_profile *model, struct upmu_perf_task *idle, unsigned takes)
{
    struct perf_kernel *kernel = &perf_kernel;
    struct upmu_domain *domains[] = {&kernel->domain, NULL};

    memset(kernel, 0, sizeof *kernel);
    if (perf_kernel_model)
        perf_kernel_model(&kernel->sim);
    else
        upmu_sim_init(&kernel->sim, model, PERF_KERNEL_CPUS);
    for (unsigned i = 1; perf_kernel_second && i < PERF_KERNEL_CPUS; i++)
        upmu_sim_set_profile(&kernel->sim, i, perf_kernel_second);
    kernel->sim.deliver = perf_kernel_deliver;
    kernel->sim.port.allow_rdpmc = perf_kernel_allow;
    upmu_domain_init(&kernel->domain, UPMU_SCOPE_CORE);
    if (upmu_machine_init(&kernel->machine, upmu_sim_port(&kernel->sim)) != UPMU_OK)
        return "machine";
    for (unsigned i = PERF_KERNEL_CPUS; i-- > 0;) {
        upmu_sim_bind_cpu(&kernel->sim, i, &kernel->cpu[i]);
        upmu_sim_switch_cpu(&kernel->sim, i);
        if (upmu_cpu_init(&kernel->cpu[i], &kernel->machine, domains) != UPMU_OK)
            return "CPU";
        kernel->perf_cpu[i].cpu = &kernel->cpu[i];
        kernel->running[i] = &idle[i];
    }
    kernel->takes = takes;
    kernel->perf = (struct upmu_perf){.machine = &kernel->machine,
                                      .cpus = kernel->perf_cpu,
                                      .cpu_count = PERF_KERNEL_CPUS,
                                      .task_cpu = perf_kernel_task_cpu,
                                      .may_all = perf_kernel_may_all,
                                      .clock_ns = perf_kernel_clock,
                                      .take = perf_kernel_take,
                                      .give = perf_kernel_give};
    return NULL;
}

/* The CPU runs another task from now on. */
static enum upmu_status perf_kernel_switch(unsigned cpu, struct upmu_perf_task *next)
{
    struct perf_kernel *kernel = &perf_kernel;
    enum upmu_status status = UPMU_OK;

    upmu_sim_switch_cpu(&kernel->sim, cpu);
    if (next != kernel->running[cpu])
        status = upmu_perf_switch(&kernel->perf, cpu, kernel->running[cpu], next);
    if (status == UPMU_OK)
        kernel->running[cpu] = next;
    return status;
}

#endif
