/* SPDX-License-Identifier: MIT */
/*
 * The PMUs of a machine: declarations for other core files.
 */
#ifndef UPMU_CORE_MACHINE_H
#define UPMU_CORE_MACHINE_H

#include <upmu/pmu.h>
#include <upmu/unit.h>

_Static_assert(UPMU_CORE_TYPES <= UPMU_UNIT_PMU, "core types and types of units are counted apart");

/*
 * Returns the PMU that an event was encoded for (upmu_event.pmu).  A unit's PMU has to be looked up in the list of
 * units.
 */
static inline const struct upmu_pmu *upmu_machine_pmu_of(const struct upmu_machine *machine, unsigned index)
{
    return !UPMU_UNCORE || index < UPMU_UNIT_PMU ? &machine->pmu[index] : upmu_machine_pmu(machine, index);
}

/* Returns how many PMUs the machine has: of core types, and of types of units. */
unsigned upmu_machine_pmus(const struct upmu_machine *machine);

/* Returns the index, for upmu_machine_pmu(), of the i-th PMU of the machine.  Core types come first. */
static inline unsigned upmu_machine_index(const struct upmu_machine *machine, unsigned i)
{
    unsigned cores = __atomic_load_n(&machine->pmu_count, __ATOMIC_ACQUIRE);

    return i < cores ? i : UPMU_UNIT_PMU + i - cores;
}

/*
 * Detect the PMU of the executing CPU, and set meter->pmu and meter->thread.  A new PMU is not published yet.  Returns
 * UPMU_OK, UPMU_ERR_NO_PMU or UPMU_ERR_NO_SPACE.
 */
enum upmu_status upmu_machine_detect(struct upmu_machine *machine, struct upmu_meter *meter);

/*
 * Publish the PMU of a CPU whose take-over has succeeded: sessions and guests on other CPUs find it, complete, from now
 * on.  A published PMU is never withdrawn, because they keep its address.
 */
void upmu_machine_publish(struct upmu_machine *machine, const struct upmu_pmu *pmu);

#endif
