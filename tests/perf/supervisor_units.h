/* SPDX-License-Identifier: MIT */
/*
 * Part of supervisor.c: a machine of the model with units outside the cores, "machine=skx2", of which two CPUs run.
 * With each instruction the first package takes one unit of energy, and its first memory controller reads a line.
 */
#ifndef UPMU_TESTS_PERF_SUPERVISOR_UNITS_H
#define UPMU_TESTS_PERF_SUPERVISOR_UNITS_H

#include "models/sim/sim_uncore.h"
#include <upmu/unit.h>

#define OPEN_UNITS 32u

static const struct upmu_sim_machine *units_machine; /* NULL: the model has CPUs alone */
static struct upmu_sim_uncore units_uncore;
static struct upmu_unit_info units_info[UPMU_SIM_UNITS];
static struct upmu_uncore_pmu units_pmu[UPMU_UNIT_TYPES];
static struct upmu_unit_list units_list = {
    .unit = units_info, .unit_capacity = UPMU_SIM_UNITS, .pmu = units_pmu, .pmu_capacity = UPMU_UNIT_TYPES};
static struct upmu_unit units_memory[OPEN_UNITS];
static struct upmu_unit *units[OPEN_UNITS];

static void units_begin(struct upmu_sim *sim)
{
    upmu_sim_uncore_init(&units_uncore, sim, units_machine);
}

/* Is the name of a model that of a machine with units? Then the next kernel is made of it. */
static bool units_model(const char *model)
{
    const char prefix[] = "machine=";

    if (strncmp(model, prefix, sizeof prefix - 1) != 0)
        return false;
    units_machine = upmu_sim_machine(model + sizeof prefix - 1);
    if (!units_machine)
        die(model);
    perf_kernel_model = units_begin;
    return true;
}

static bool units_wants(const char *type)
{
    static const char *const wanted[] = {"imc", "power", "msr", "cstate_core", "cstate_pkg"};

    for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (strcmp(type, wanted[i]) == 0)
            return true;
    return false;
}

/* Find the units of both CPUs, and open those that programs may count. */
static void units_open(void)
{
    unsigned count = 0;

    for (unsigned i = PERF_KERNEL_CPUS; i-- > 0;) {
        upmu_sim_switch_cpu(&perf_kernel.sim, i);
        if (upmu_units_find(&perf_kernel.cpu[i], &units_list, UPMU_UNITS_EACH_CPU) != UPMU_OK)
            die("units");
    }
    for (unsigned i = 0; i < units_list.unit_count && count < OPEN_UNITS; i++) {
        const struct upmu_unit_info *info = &units_list.unit[i];

        if (!units_wants(units_list.pmu[info->type].type->name))
            continue;
        if (upmu_unit_open(&units_memory[count], &perf_kernel.machine, info, 1) != UPMU_OK)
            die("unit");
        units[count] = &units_memory[count];
        count++;
    }
    perf_kernel.perf.units = units;
    perf_kernel.perf.unit_count = count;
}

/* What an instruction of CPU 0 does to the units. */
static void units_step(void)
{
    struct upmu_sim_unit *unit;

    if (!units_machine)
        return;
    unit = upmu_sim_unit(&units_uncore, "power", 0, 0);
    if (unit)
        upmu_sim_flow(&units_uncore, unit, 1, 1);
    unit = upmu_sim_unit(&units_uncore, "imc", 0, 0);
    if (unit)
        upmu_sim_happen(&units_uncore, unit, &(struct upmu_sim_happening){.event = 4, .umask = 3, .count = 1});
}

#endif
