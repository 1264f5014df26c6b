/* SPDX-License-Identifier: MIT */
/*
 * Which CPU drives a unit.
 */
#ifndef UPMU_CORE_DRIVER_H
#define UPMU_CORE_DRIVER_H

#include <upmu/unit.h>

/* CPUs that may drive a unit, best first, but for `except`; returns how many stand in `out`. */
unsigned upmu_driver_list(const struct upmu_unit *unit, const struct upmu_cpu *except,
                          struct upmu_cpu *out[UPMU_UNIT_CPUS]);

/* May this one? */
bool upmu_driver_may(const struct upmu_unit *unit, const struct upmu_cpu *cpu);

/* The one that is to drive it, or NULL. */
struct upmu_cpu *upmu_driver_choose(const struct upmu_unit *unit, const struct upmu_cpu *except);

/* Where the executing CPU is, by the host or by CPUID. */
void upmu_driver_place(struct upmu_cpu *cpu);

#endif
