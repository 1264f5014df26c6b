/* SPDX-License-Identifier: MIT */
/*
 * Hooks that do nothing, for counts of instructions.  The program defines before, so that each hook costs what its
 * figures say: EMPTY_CPU (a pointer to its CPU), EMPTY_READ (the value of each register) and EMPTY_CLOCK (ns).
 */
#ifndef UPMU_TESTS_BENCH_EMPTY_HOOKS_H
#define UPMU_TESTS_BENCH_EMPTY_HOOKS_H

#include <upmu/upmu.h>

static inline bool empty_read(void *context, uint32_t reg, uint64_t *out_value)
{
    (void)context, (void)reg;
    *out_value = EMPTY_READ;
    return true;
}

static inline bool empty_write(void *context, uint32_t reg, uint64_t value)
{
    (void)context, (void)reg, (void)value;
    return true;
}

static inline uintptr_t empty_save(void *context)
{
    (void)context;
    return 0;
}

static inline void empty_restore(void *context, uintptr_t before)
{
    (void)context, (void)before;
}

static inline struct upmu_cpu *empty_this_cpu(void *context)
{
    (void)context;
    return EMPTY_CPU;
}

static inline uint64_t empty_clock(void *context)
{
    (void)context;
    return EMPTY_CLOCK;
}

/* Give a port these hooks; all others stay. */
static void empty_hooks(struct upmu_port *port)
{
    port->rdmsr = empty_read;
    port->wrmsr = empty_write;
    port->irq_save = empty_save;
    port->irq_restore = empty_restore;
    port->this_cpu = empty_this_cpu;
    port->clock_ns = empty_clock;
}

#endif
