/* SPDX-License-Identifier: MIT */
/*
 * A guest of the Arm door for tests: registers by their names, its life on a host whose own session counts EL2, and
 * what its counters count.
 */
#ifndef UPMU_TESTS_GUEST_ARM_GUEST_H
#define UPMU_TESTS_GUEST_ARM_GUEST_H

#include "tests/common/assertions.h"
#include "tests/guest/arm_nest.h"

#define COUNTERS 6u

static struct arm_nest nest;
static struct upmu_guest_policy policy;

static const unsigned versions[] = {1, 4, 5, 6};

/* ---- Registers by name ---- */

static const struct {
    const char *name;
    uint32_t number;
} names[] = {
    {"PMCR", ARM_REG(3, 3, 9, 12, 0)},       {"PMCNTENSET", ARM_REG(3, 3, 9, 12, 1)},
    {"PMCNTENCLR", ARM_REG(3, 3, 9, 12, 2)}, {"PMOVSCLR", ARM_REG(3, 3, 9, 12, 3)},
    {"PMSWINC", ARM_REG(3, 3, 9, 12, 4)},    {"PMSELR", ARM_REG(3, 3, 9, 12, 5)},
    {"PMCEID0", ARM_REG(3, 3, 9, 12, 6)},    {"PMCEID1", ARM_REG(3, 3, 9, 12, 7)},
    {"PMCCNTR", ARM_REG(3, 3, 9, 13, 0)},    {"PMXEVTYPER", ARM_REG(3, 3, 9, 13, 1)},
    {"PMXEVCNTR", ARM_REG(3, 3, 9, 13, 2)},  {"PMZR", ARM_REG(3, 3, 9, 13, 4)},
    {"PMUSERENR", ARM_REG(3, 3, 9, 14, 0)},  {"PMINTENSET", ARM_REG(3, 0, 9, 14, 1)},
    {"PMINTENCLR", ARM_REG(3, 0, 9, 14, 2)}, {"PMOVSSET", ARM_REG(3, 3, 9, 14, 3)},
    {"PMUACR", ARM_REG(3, 0, 9, 14, 4)},     {"PMECR", ARM_REG(3, 0, 9, 14, 5)},
    {"PMMIR", ARM_REG(3, 0, 9, 14, 6)},      {"PMIAR", ARM_REG(3, 0, 9, 14, 7)},
    {"PMICNTR", ARM_REG(3, 3, 9, 4, 0)},     {"PMSSCR", ARM_REG(3, 0, 9, 13, 3)},
    {"PMSCR", ARM_REG(3, 0, 9, 9, 0)},       {"PMBLIMITR", ARM_REG(3, 0, 9, 10, 0)},
    {"PMCCFILTR", ARM_REG(3, 3, 14, 15, 7)},
};

static uint32_t number_of(const char *name)
{
    unsigned n;

    if (sscanf(name, "PMEVCNTR%u", &n) == 1)
        return ARM_REG(3, 3, 14, 8, 0) + n;
    if (sscanf(name, "PMEVTYPER%u", &n) == 1)
        return ARM_REG(3, 3, 14, 12, 0) + n;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(names[i].name, name))
            return names[i].number;
    fail_msg("no register %s", name);
    return 0;
}

/* ---- A guest ---- */

static struct upmu_guest_policy policy_of(unsigned level)
{
    return (struct upmu_guest_policy){.level = (uint8_t)level, .flags = UPMU_GUEST_BESIDE_STRANGERS, .min_period = 1};
}

/* The host has `counters` event counters, of which its session uses one; the guest sees at most COUNTERS. */
static void begin_on(unsigned version, unsigned counters)
{
    struct upmu_guest_shape shape;

    policy = policy_of(UPMU_GUEST_ALL);
    assert_int_equal(arm_nest_host_begin(&nest, version, counters), UPMU_OK);
    assert_int_equal(upmu_guest_shape_default(&nest.machine, UPMU_GUEST_ARM, &policy, &shape), UPMU_OK);
    shape.general = COUNTERS;
    assert_int_equal(arm_nest_guest_begin(&nest, 0, &shape, &policy), UPMU_OK);
    assert_int_equal(arm_nest_session(&nest), UPMU_OK);
    assert_true(arm_nest_go(&nest, &nest.guests[0]));
}

static void begin(unsigned version)
{
    begin_on(version, COUNTERS);
}

/* The host's session counted what EL2 executed while no guest ran; then everything is as it was found. */
static void end(void)
{
    struct upmu_count count;

    assert_true(arm_nest_go(&nest, NULL));
    assert_int_equal(upmu_set_read(&nest.session.set, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.value, nest.executed);
    assert_int_equal(upmu_guest_fini(&nest.guests[0].guest), UPMU_OK);
    assert_int_equal(upmu_session_close(&nest.session), UPMU_OK);
    assert_int_equal(upmu_cpu_fini(&nest.cpu), UPMU_OK);
    assert_int_equal(nest.hw.enabled | nest.hw.interrupts | nest.hw.pmcr | nest.not_ours | nest.failures, 0);
}

static uint64_t read_of(const char *name)
{
    uint64_t value = 0;

    if (arm_nest_trap(&nest, number_of(name), false, false, &value) != UPMU_GUEST_DONE)
        fail_msg("MRS %s faults", name);
    return value;
}

static void write_of(const char *name, uint64_t value)
{
    if (arm_nest_trap(&nest, number_of(name), true, false, &value) != UPMU_GUEST_DONE)
        fail_msg("MSR %s faults", name);
}

static inline bool counts(unsigned code)
{
    write_of("PMCR", 0);
    write_of("PMEVTYPER0", code);
    write_of("PMEVCNTR0", 0);
    write_of("PMCNTENSET", 1);
    write_of("PMCR", 0x41);
    arm_nest_run(&nest, 1, 50);
    return read_of("PMEVCNTR0");
}

#endif
