/* SPDX-License-Identifier: MIT */
/* Choose the CPU that drives a unit, and find out in which package and die a CPU is. */
#ifndef UPMU_CORE_DRIVER_H
#define UPMU_CORE_DRIVER_H

#include <upmu/unit.h>

/*
 * List the CPUs that may drive a unit, the best first, without the CPU `except` (NULL: without leaving one out).
 * Returns how many there are in `out`, at most UPMU_UNIT_CPUS.
 */
unsigned upmu_driver_list(const struct upmu_unit *unit, const struct upmu_cpu *except,
                          struct upmu_cpu *out[UPMU_UNIT_CPUS]);

/* May this CPU drive the unit? */
bool upmu_driver_may(const struct upmu_unit *unit, const struct upmu_cpu *cpu);

/*
 * Return the CPU that is to drive a unit, out of those of upmu_driver_list() for the same arguments: the one that the
 * host chooses (upmu_port.nearest_cpu), else the first one.  NULL: the list is empty.
 */
struct upmu_cpu *upmu_driver_choose(const struct upmu_unit *unit, const struct upmu_cpu *except);

/*
 * Find out in which package and die the executing CPU is, from the host, else by CPUID, and store that in cpu->place;
 * also its numbers by CPUID (cpu->number, cpu->core).
 */
void upmu_driver_place(struct upmu_cpu *cpu);

#endif
