/* SPDX-License-Identifier: MIT */
/* The list of a machine's PMUs, of its core types and types of units: declarations for other core files. */
#ifndef UPMU_CORE_MACHINE_H
#define UPMU_CORE_MACHINE_H

#include <upmu/pmu.h>
#include <upmu/unit.h>

_Static_assert(UPMU_CORE_TYPES <= UPMU_UNIT_PMU, "core types and types of units are counted apart");

/*
 * Return the PMU that an event was encoded for; `index` is upmu_event.pmu.  A core type is an entry of machine->pmu;
 * the PMU of a type of units is searched for by upmu_machine_pmu(), which may return NULL.
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
 * Detect the PMU of the executing CPU, and set meter->pmu and meter->thread.  If it is of a kind that the machine has
 * already, that one is used; a new one is stored but not published yet.  Returns UPMU_OK, UPMU_ERR_NO_PMU, or
 * UPMU_ERR_NO_SPACE (the machine has UPMU_CORE_TYPES other kinds).
 */
enum upmu_status upmu_machine_detect(struct upmu_machine *machine, struct upmu_meter *meter);

/*
 * Publish the PMU of a CPU that was taken over, or that ignores writes: from now on sessions and guests on all CPUs
 * find it, complete.  A published PMU is never withdrawn, because others keep its address.
 */
void upmu_machine_publish(struct upmu_machine *machine, const struct upmu_pmu *pmu);

#endif
