/* SPDX-License-Identifier: MIT */
/*
 * Hooks of the silicon model whose instructions callgrind does not count: what is counted while `counting` is the
 * library alone.
 */
#ifndef UPMU_TESTS_BENCH_UNCOUNTED_H
#define UPMU_TESTS_BENCH_UNCOUNTED_H

#include <upmu/upmu.h>
#include <valgrind/callgrind.h>

static struct upmu_port model; /* the model's own hooks */
static bool counting;

static void toggle(void)
{
    if (counting)
        CALLGRIND_TOGGLE_COLLECT;
}

static bool uncounted_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    bool fine;

    toggle();
    fine = model.rdmsr(context, msr, out_value);
    toggle();
    return fine;
}

static bool uncounted_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    bool fine;

    toggle();
    fine = model.wrmsr(context, msr, value);
    toggle();
    return fine;
}

static bool uncounted_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    bool fine;

    toggle();
    fine = model.rdpmc(context, index, out_value);
    toggle();
    return fine;
}

static struct upmu_cpu *uncounted_this_cpu(void *context)
{
    struct upmu_cpu *found;

    toggle();
    found = model.this_cpu(context);
    toggle();
    return found;
}

static uintptr_t uncounted_irq_save(void *context)
{
    uintptr_t state;

    toggle();
    state = model.irq_save(context);
    toggle();
    return state;
}

static void uncounted_irq_restore(void *context, uintptr_t state)
{
    toggle();
    model.irq_restore(context, state);
    toggle();
}

static void uncounted_pmi_rearm(void *context)
{
    toggle();
    model.pmi_rearm(context);
    toggle();
}

static uint64_t uncounted_clock_ns(void *context)
{
    uint64_t now;

    toggle();
    now = model.clock_ns(context);
    toggle();
    return now;
}

/* Give a port, which has the model's hooks, those that are not counted. */
static void uncounted_use(struct upmu_port *port)
{
    model = *port;
    port->rdmsr = uncounted_rdmsr;
    port->wrmsr = uncounted_wrmsr;
    port->rdpmc = uncounted_rdpmc;
    port->this_cpu = uncounted_this_cpu;
    port->irq_save = uncounted_irq_save;
    port->irq_restore = uncounted_irq_restore;
    port->pmi_rearm = uncounted_pmi_rearm;
    port->clock_ns = uncounted_clock_ns;
}

#endif
