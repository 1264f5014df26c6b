/* SPDX-License-Identifier: MIT */
/*
 * Hooks for AArch64: registers, interrupts, and a clock by the generic timer.  Sources: Arm ARM (DDI 0487 M.c) D13.1
 * (context synchronisation), D12 (the generic timer).
 */
#include "port/arm64_native/arm64_native.h"

#ifdef __aarch64__

#include "port/arm64_native/arm64_sysreg.h"

#define DAIF_INTERRUPTS 3 /* IRQ, FIQ */

/* Without the ISB, a counter could be read while earlier instructions are still executed. */
static bool read_register(void *context, uint32_t number, uint64_t *out_value)
{
    (void)context;
    __asm__ volatile("isb" : : : "memory");
    return upmu_a64_mrs(number, out_value);
}

/* With the ISB the write has taken effect before the next instruction. */
static bool write_register(void *context, uint32_t number, uint64_t value)
{
    bool known = upmu_a64_msr(number, value);

    (void)context;
    __asm__ volatile("isb" : : : "memory");
    return known;
}

static uintptr_t irq_save(void *context)
{
    uintptr_t state;

    (void)context;
    __asm__ volatile("mrs %0, daif\n\tmsr daifset, %1" : "=r"(state) : "i"(DAIF_INTERRUPTS) : "memory");
    return state;
}

static void irq_restore(void *context, uintptr_t state)
{
    (void)context;
    __asm__ volatile("msr daif, %0" : : "r"(state) : "memory");
}

/* Nothing is to be done: the interrupt is a level, which the PMU ends when the overflow is acknowledged. */
static void pmi_rearm(void *context)
{
    (void)context;
}

/*
 * Return the time of the generic timer in nanoseconds. Seconds and the rest of a second are converted apart, because
 * count * 10^9 exceeds 64 bits: at 1 GHz after 18 seconds.
 */
static uint64_t clock_ns(void *context)
{
    uint64_t count, frequency;

    (void)context;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tmrs %1, cntfrq_el0" : "=r"(count), "=r"(frequency) : : "memory");
    return count / frequency * 1000000000u + count % frequency * 1000000000u / frequency;
}

void upmu_arm64_port(struct upmu_port *port)
{
    port->rdmsr = read_register;
    port->wrmsr = write_register;
    port->irq_save = irq_save;
    port->irq_restore = irq_restore;
    port->pmi_rearm = pmi_rearm;
    port->clock_ns = clock_ns;
    port->in_kernel_mode = true;
}

#endif
