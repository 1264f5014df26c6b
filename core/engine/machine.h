/* SPDX-License-Identifier: MIT */
/*
 * The PMUs of a machine, for other core files.
 */
#ifndef UPMU_CORE_MACHINE_H
#define UPMU_CORE_MACHINE_H

#include <upmu/pmu.h>
#include <upmu/unit.h>

_Static_assert(UPMU_CORE_TYPES <= UPMU_UNIT_PMU, "core types and types of units are counted apart");

/* The PMU that an event was encoded for.  Where there are units, the PMU is looked for. */
static inline const struct upmu_pmu *upmu_machine_pmu_of(const struct upmu_machine *machine, unsigned index)
{
    return !UPMU_UNCORE || index < UPMU_UNIT_PMU ? &machine->pmu[index] : upmu_machine_pmu(machine, index);
}

/* How many PMUs are known, and number i of them: first those of core types. */
unsigned upmu_machine_pmus(const struct upmu_machine *machine);

static inline unsigned upmu_machine_index(const struct upmu_machine *machine, unsigned i)
{
    unsigned cores = __atomic_load_n(&machine->pmu_count, __ATOMIC_ACQUIRE);

    return i < cores ? i : UPMU_UNIT_PMU + i - cores;
}

/*
 * Detect the PMU of the executing CPU: meter->pmu, meter->thread; UPMU_ERR_NO_PMU, _NO_SPACE.  A PMU that is new is not
 * published.
 */
enum upmu_status upmu_machine_detect(struct upmu_machine *machine, struct upmu_meter *meter);

/*
 * The PMU of a CPU whose take-over has succeeded: sessions and guests of other CPUs find it from now on, complete.  A
 * published PMU is never withdrawn, because they keep its address.
 */
void upmu_machine_publish(struct upmu_machine *machine, const struct upmu_pmu *pmu);

#endif
