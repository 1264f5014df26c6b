/* SPDX-License-Identifier: MIT */
/*
 * What a trapped access of an Arm guest costs with hooks that do nothing, and with as many counters counting as each
 * shape has: run under callgrind by tools/bench.py.
 *
 * The library is one source here, with the parts that a build for Arm has: no PMU of x86, no RDPMC.
 */
#define UPMU_FOR_X86 0
#define UPMU_BACKEND_ARM_PMUV3 1

#include <stdio.h>
#include <stdlib.h>

#include "tests/guest/arm_nest.h"
#include "tests/bench/callgrind_count.h"

#define PMCR ARM_REG(3, 3, 9, 12, 0)
#define PMCNTENSET ARM_REG(3, 3, 9, 12, 1)
#define PMOVSCLR ARM_REG(3, 3, 9, 12, 3)
#define PMOVSSET ARM_REG(3, 3, 9, 14, 3)
#define PMINTENSET ARM_REG(3, 0, 9, 14, 1)
#define PMEVCNTR0 ARM_REG(3, 3, 14, 8, 0)
#define PMEVTYPER0 ARM_REG(3, 3, 14, 12, 0)
#define EVENT_COUNTERS 8u

static struct arm_nest nest;
static uint64_t counted;

#define EMPTY_CPU (&nest.cpu)
#define EMPTY_READ counted++
#define EMPTY_CLOCK counted
#include "tests/bench/empty_hooks.h"

static void must(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

/* ---- A guest whose counters all count ---- */

struct trap {
    uint32_t reg;
    bool write;
    uint64_t value;
};

static void do_trap(void *argument)
{
    struct trap *trap = argument;

    must(upmu_guest_sysreg(&nest.guests[0].guest, trap->reg, trap->write, false, &trap->value) == UPMU_GUEST_DONE,
         "the access is not done");
}

static void write_of(uint32_t reg, uint64_t value)
{
    must(arm_nest_trap(&nest, reg, true, false, &value) == UPMU_GUEST_DONE, "a register of the guest");
}

/* A guest with so many event counters, which count and interrupt, as the cycle counter does; it has left its CPU. */
static void begin_guest(unsigned version, unsigned general)
{
    static struct upmu_guest_policy policy = {.level = UPMU_GUEST_ALL, .flags = UPMU_GUEST_BESIDE_STRANGERS};
    struct upmu_guest_shape shape;

    must(arm_nest_host_begin(&nest, version, EVENT_COUNTERS) == UPMU_OK, "a host");
    must(upmu_guest_shape_default(&nest.machine, UPMU_GUEST_ARM, &policy, &shape) == UPMU_OK, "a shape");
    shape.general = (uint8_t)general;
    must(arm_nest_guest_begin(&nest, 0, &shape, &policy) == UPMU_OK, "a guest");
    must(arm_nest_go(&nest, &nest.guests[0]), "a switch");
    for (unsigned i = 0; i < general; i++)
        write_of(PMEVTYPER0 + i, 0x08);
    write_of(PMINTENSET, UINT32_MAX);
    write_of(PMCNTENSET, UINT32_MAX);
    write_of(PMCR, 0x41);
    arm_nest_run(&nest, 1, 10);
    must(upmu_bits_count(nest.guests[0].guest.started) == general + 1u && !nest.guests[0].guest.waiting,
         "all counters count");
    arm_nest_exit(&nest);
}

/* ---- Figures ---- */

static void measure(const char *name, uint32_t reg, bool write, uint64_t value)
{
    struct trap trap = {reg, write, value};

    bench_count_run(do_trap, &trap);
    bench_count_name(name);
}

static void measure_guest(unsigned version, unsigned general)
{
    char name[64];

    begin_guest(version, general);
    empty_hooks(&nest.port); /* from here on the CPU of the tests is out of it */
#define MEASURE(what, ...)                                                                                             \
    do {                                                                                                               \
        (void)snprintf(name, sizeof name, "guest-arm-" what "-%u-v%u", general + 1u, version);                         \
        measure(name, __VA_ARGS__);                                                                                    \
    } while (0)
    MEASURE("flags", PMOVSSET, false, 0);
    MEASURE("flags-clear", PMOVSCLR, true, UINT32_MAX);
    MEASURE("value", PMEVCNTR0, false, 0);
    MEASURE("value-write", PMEVCNTR0, true, 7);
    MEASURE("event-write", PMEVTYPER0, true, 0x11);
    MEASURE("open", PMCNTENSET, true, 1);
    MEASURE("control", PMCR, true, 0x40);
    MEASURE("control-width", PMCR, true, version >= 6 ? 0x80 : 0);
#undef MEASURE
}

int main(void)
{
    static const unsigned general[] = {5, 6, 8};

    for (unsigned i = 0; i < sizeof general / sizeof general[0]; i++) {
        measure_guest(4, general[i]);
        measure_guest(6, general[i]);
    }
    return 0;
}
