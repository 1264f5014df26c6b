/* SPDX-License-Identifier: MIT */
/*
 * What Arm's machines of 32 and of 64 bits have in common: the GICv2, its interrupt, clock and writes.  The file of a
 * machine says before it what is saved (struct saved), of which mode it came (WAS_USER), how a counter is read
 * (READ_COUNTER) and what lets interrupts come (INTERRUPTS_ON).
 */
#ifndef MACHINE_ARM_H
#define MACHINE_ARM_H
#include <upmu/upmu.h>

#define GICD ((volatile uint32_t *)0x08000000)
#define GICC ((volatile uint32_t *)0x08010000)
#define PMU_INTERRUPT 23u

volatile struct machine_seen machine_seen;
unsigned machine_writes;
struct machine_does machine_does = {.interrupt = true, .tell_modes = true, .count_twice = true};

static struct upmu_cpu *the_cpu;
static struct upmu_port native;
static bool looks_early; /* an overflow is looked for one event before it, and not again */

void machine_interrupt(struct saved *saved);

void machine_interrupt(struct saved *saved)
{
    uint32_t which = GICC[3];

    if ((which & 0x3ff) == PMU_INTERRUPT) {
        struct upmu_frame frame = {.ip = saved->ip, .sp = (uintptr_t)(saved + 1), .user = WAS_USER(saved->mode)};
        enum upmu_pmi answer;

        machine_seen.interrupts++;
        answer = upmu_pmi_handle(the_cpu, &frame);
        machine_seen.handled += answer == UPMU_PMI_HANDLED;
        machine_seen.stale += answer == UPMU_PMI_STALE;
    } else {
        machine_seen.strange++;
    }
    GICC[4] = which;
}

static void open_gic(void)
{
    GICD[0] = 1;
    GICD[0x100 / 4] = 1u << PMU_INTERRUPT;
    ((volatile uint8_t *)GICD)[0x400 + PMU_INTERRUPT] = 0x80;
    GICC[0] = 1;
    GICC[1] = 0xff;
}

extern const char loop_begin[], loop_end[];

bool machine_in_loop(uint64_t ip)
{
    return ip >= (uintptr_t)loop_begin && ip <= (uintptr_t)loop_end;
}

static uint64_t slow_clock(void *context)
{
    return native.clock_ns(context) * SLOWER;
}

static bool count_write(void *context, uint32_t number, uint64_t value)
{
    machine_writes++;
    return native.wrmsr(context, number, value);
}

void machine_go(struct upmu_cpu *cpu)
{
    the_cpu = cpu;
    __asm__ volatile(INTERRUPTS_ON : : : "memory");
}

/* A read of any counter lets QEMU look at all. */
void machine_work(uint64_t turns)
{
    uint64_t value;

    if (!looks_early) {
        machine_loop(turns);
        return;
    }
    for (; turns >= 500; turns -= 500) {
        machine_loop(500);
        READ_COUNTER(&value);
    }
    if (turns)
        machine_loop(turns);
}

#endif
