/* SPDX-License-Identifier: MIT */
/*
 * Hooks for AArch32: registers, interrupts, and a clock by the generic timer. Sources: Arm ARM for Armv8 (DDI 0487
 * M.c), G8 (PMU, generic timer); Cortex-A15 TRM (DDI 0438), 11. Armv8-R has the same registers; Armv7-R has no PMUv2.
 */
#include "port/arm32_native/arm32_native.h"

#if defined __arm__ && (__ARM_ARCH_PROFILE == 'A' || __ARM_ARCH_PROFILE == 'R')

#include "port/arm32_native/arm32_cp15.h"

/* Without the ISB, a counter could be read while earlier instructions are still executed. */
static bool read_register(void *context, uint32_t number, uint64_t *out_value)
{
    (void)context;
    __asm__ volatile("isb" : : : "memory");
    return upmu_a32_read(number, out_value);
}

/* With the ISB the write has taken effect before the next instruction. */
static bool write_register(void *context, uint32_t number, uint64_t value)
{
    bool known = upmu_a32_write(number, (uint32_t)value);

    (void)context;
    __asm__ volatile("isb" : : : "memory");
    return known;
}

static uintptr_t irq_save(void *context)
{
    uintptr_t state;

    (void)context;
    __asm__ volatile("mrs %0, cpsr\n\tcpsid if" : "=r"(state) : : "memory");
    return state;
}

static void irq_restore(void *context, uintptr_t state)
{
    (void)context;
    __asm__ volatile("msr cpsr_c, %0" : : "r"(state) : "memory");
}

/* Nothing is to be done: the interrupt is a level, which the PMU ends when the overflow is acknowledged. */
static void pmi_rearm(void *context)
{
    (void)context;
}

static uint32_t frequency(void)
{
    uint32_t hz;

    UPMU_A32_MRC(hz, 14, 0, 0);
    return hz;
}

/*
 * Return the length of a tick of `hz` ticks a second: nanoseconds in bits 63:32, their fraction in bits 31:0. The loop
 * divides bit by bit, because the compiler's division would be a call of its runtime library.
 */
static uint64_t tick_ns(uint32_t hz)
{
    uint64_t dividend = UINT64_C(1000000000) << 32, rest = 0;

    for (unsigned i = 0; i < 64; i++) {
        rest = rest << 1 | dividend >> 63;
        dividend <<= 1;
        if (rest >= hz) {
            rest -= hz;
            dividend |= 1;
        }
    }
    return dividend;
}

static uint64_t clock_ns(void *context)
{
    uint32_t low, high;
    uint64_t tick = tick_ns(frequency()), fraction = (uint32_t)tick;

    (void)context;
    __asm__ volatile("isb\n\tmrrc p15, 1, %0, %1, c14" : "=r"(low), "=r"(high) : : "memory"); /* CNTVCT */
    return ((uint64_t)high << 32 | low) * (tick >> 32) + high * fraction + (low * fraction >> 32);
}

static bool has_timer(void)
{
    uint32_t features;

    UPMU_A32_MRC(features, 0, 1, 1);
    return (features >> 16 & 15u) && frequency();
}

void upmu_arm32_port(struct upmu_port *port)
{
    port->rdmsr = read_register;
    port->wrmsr = write_register;
    port->irq_save = irq_save;
    port->irq_restore = irq_restore;
    port->pmi_rearm = pmi_rearm;
    if (has_timer())
        port->clock_ns = clock_ns;
    port->in_kernel_mode = true;
}

#endif
