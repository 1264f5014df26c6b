/* SPDX-License-Identifier: MIT */
/*
 * A guest of the Arm door and a CPU of its kind, which get the same random accesses at EL0 and EL1, and the same
 * instructions. An outcome, a value or a level of the interrupt that differs is told in arm_twin.wrong.
 */
#ifndef UPMU_TESTS_GUEST_ARM_TWIN_H
#define UPMU_TESTS_GUEST_ARM_TWIN_H

#include <stdio.h>

#include "tests/guest/arm_nest.h"

struct arm_twin {
    struct arm_cpu alone;
    uint64_t seed;
    unsigned long long operations; /* accesses until now */
    char wrong[160];
};

static inline uint64_t arm_twin_draw(struct arm_twin *twin)
{
    twin->seed ^= twin->seed << 13, twin->seed ^= twin->seed >> 7, twin->seed ^= twin->seed << 17;
    return twin->seed;
}

static inline void arm_twin_begin(struct arm_twin *twin, unsigned version, unsigned counters, uint64_t seed)
{
    memset(twin, 0, sizeof *twin);
    arm_cpu_init(&twin->alone, version, counters);
    twin->alone.level = 1;
    twin->seed = seed;
}

/* Values near an overflow, of few bits, or anything. */
static inline uint64_t arm_twin_value(struct arm_twin *twin)
{
    switch (arm_twin_draw(twin) % 5) {
    case 0:
        return UINT32_MAX - arm_twin_draw(twin) % 100;
    case 1:
        return UINT64_MAX - arm_twin_draw(twin) % 100;
    case 2:
        return arm_twin_draw(twin) & arm_twin_draw(twin) & arm_twin_draw(twin);
    case 3:
        return (arm_twin_draw(twin) % 4 ? 0x08u : 0x11u) | (arm_twin_draw(twin) % 4) << 30;
    default:
        return arm_twin_draw(twin);
    }
}

/* Any register but PMCEID0 and 1, which differ by CHAIN. */
static inline uint32_t arm_twin_register(struct arm_twin *twin)
{
    static const uint32_t others[] = {ARM_REG(3, 0, 9, 14, 1), ARM_REG(3, 0, 9, 14, 2), ARM_REG(3, 0, 9, 14, 4),
                                      ARM_REG(3, 0, 9, 14, 6), ARM_REG(3, 0, 9, 13, 3), ARM_REG(3, 0, 9, 9, 0)};
    uint32_t reg;

    switch (arm_twin_draw(twin) % 8) {
    case 0:
    case 1:
    case 2:
        return ARM_REG(3, 3, 14, 8, 0) + (uint32_t)(arm_twin_draw(twin) % 64);
    case 3:
        return others[arm_twin_draw(twin) % (sizeof others / sizeof others[0])];
    default:
        reg = ARM_REG(3, 3, 9, 12, 0) + (uint32_t)(arm_twin_draw(twin) % 24);
        return reg == ARM_REG(3, 3, 9, 12, 6) || reg == ARM_REG(3, 3, 9, 12, 7) ? ARM_REG(3, 3, 9, 12, 3) : reg;
    }
}

/* A value to write there: events are those that happen equally often whatever was executed before. */
static inline uint64_t arm_twin_written(struct arm_twin *twin, uint32_t reg)
{
    uint64_t value = arm_twin_value(twin);

    if ((reg & ~31u) == ARM_REG(3, 3, 14, 12, 0))
        return (value & UINT64_C(0xffffffffc0000000)) | (arm_twin_draw(twin) % 2   ? 0x08u
                                                         : arm_twin_draw(twin) % 2 ? 0x11u
                                                                                   : 0);
    return reg == ARM_REG(3, 3, 9, 13, 1) ? value & ~UINT64_C(0xffff) : value;
}

/*
 * The shortest period of Arm's PMUs is two events: a counter that was one event before its overflow interrupts one
 * event late (upmu_guest.late).
 */
static inline bool arm_twin_may_be_late(const struct arm_cpu *cpu)
{
    for (unsigned i = 0; i < 32; i++)
        if ((cpu->overflowed & cpu->interrupts) >> i & 1u && (cpu->value[i] & arm_cpu_round(cpu, i)))
            return false;
    return true;
}

/* An access of both, after some instructions; false: something differs. */
static inline bool arm_twin_step(struct arm_twin *twin, struct arm_nest *of)
{
    unsigned level = arm_twin_draw(twin) % 4 != 0, instructions = (unsigned)(arm_twin_draw(twin) % 64);
    uint32_t reg = arm_twin_register(twin);
    bool write = arm_twin_draw(twin) % 2;
    uint64_t value = write ? arm_twin_written(twin, reg) : 0, expected = value;
    enum upmu_guest_access access;
    enum arm_outcome outcome, answer;

    twin->alone.level = level;
    if (arm_twin_draw(twin) % 4 == 0) {
        arm_cpu_run(&twin->alone, instructions);
        arm_nest_run(of, level, instructions);
    }
    outcome = arm_cpu_access(&twin->alone, reg, write, &expected);
    access = arm_nest_trap(of, reg, write, level == 0, &value);
    answer = access == UPMU_GUEST_DONE ? ARM_DONE : access == UPMU_GUEST_TRAP_EL1 ? ARM_TRAP_EL1 : ARM_UNDEFINED;
    twin->operations++;
    arm_nest_exit(of);
    (void)arm_nest_enter(of);
    if (answer != outcome || (!write && outcome == ARM_DONE && value != expected))
        (void)snprintf(twin->wrong, sizeof twin->wrong, "%s of %x at EL%u: %llx (%d), the CPU has %llx (%d)",
                       write ? "write" : "read", (unsigned)reg, level, (unsigned long long)value, (int)answer,
                       (unsigned long long)expected, (int)outcome);
    else if ((of->wired != arm_cpu_requests(&twin->alone) && (of->wired || !arm_twin_may_be_late(&twin->alone))) ||
             of->wired != upmu_guest_irq_level(&of->present->guest))
        (void)snprintf(twin->wrong, sizeof twin->wrong, "the interrupt's level after %x is %d", (unsigned)reg,
                       of->wired);
    return !twin->wrong[0];
}

#endif
