/* SPDX-License-Identifier: MIT */
/*
 * Choosing the CPU that drives a unit.
 */
#ifndef UPMU_CORE_DRIVER_H
#define UPMU_CORE_DRIVER_H

#include <upmu/unit.h>

/* List the CPUs that may drive a unit, except `except` (or NULL), the best first.  Returns how many are in `out`. */
unsigned upmu_driver_list(const struct upmu_unit *unit, const struct upmu_cpu *except,
                          struct upmu_cpu *out[UPMU_UNIT_CPUS]);

/* May this CPU drive the unit? */
bool upmu_driver_may(const struct upmu_unit *unit, const struct upmu_cpu *cpu);

/* Choose the CPU that is to drive a unit, but not `except` (or NULL).  Returns NULL where no CPU may. */
struct upmu_cpu *upmu_driver_choose(const struct upmu_unit *unit, const struct upmu_cpu *except);

/* Find out in which package and die the executing CPU is: from the host, else by CPUID.  Stores cpu->place. */
void upmu_driver_place(struct upmu_cpu *cpu);

#endif
