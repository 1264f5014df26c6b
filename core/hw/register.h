/* SPDX-License-Identifier: MIT */
/*
 * Questions to a PMU's register table.  Pure.
 */
#ifndef UPMU_CORE_REGISTER_H
#define UPMU_CORE_REGISTER_H

#include <upmu/pmu.h>

/* Class of a row. */
static inline const struct upmu_register_class *upmu_register_class_of(const struct upmu_pmu *pmu, unsigned row)
{
    return &pmu->table->classes[pmu->table->rows[row].class_index];
}

/* Capabilities that only NetBurst has.  A build without NetBurst has no code for them. */
#define UPMU_PMU_NETBURST (UPMU_PMU_REARM_LAST | UPMU_PMU_CARRY_LOST)

/* Has a PMU a capability? */
static inline bool upmu_pmu_is(const struct upmu_pmu *pmu, uint32_t capability)
{
    return (UPMU_BACKEND_X86_P4 || !(capability & UPMU_PMU_NETBURST)) && (pmu->capabilities & capability);
}

/* Returns the bits of a row that exist on this PMU. */
static inline uint64_t upmu_register_bits(const struct upmu_pmu *pmu, unsigned row)
{
    uint64_t bits = pmu->limit[pmu->table->rows[row].class_index];

    return pmu->table->row_bits ? bits & (pmu->table->row_bits[row] | ~UINT64_C(0xffffffff)) : bits;
}

/*
 * Is a counter in use by what its select holds (upmu_register_class.in_use)?  `first` is the value of counter 0's
 * select, which may enable all counters (upmu_register_class.enables_all).
 */
bool upmu_register_in_use(const struct upmu_pmu *pmu, unsigned counter, uint64_t select, uint64_t first);

/* Returns the counters that other software uses, by the values found at take-over (`found`, by row). */
uint32_t upmu_register_claims(const struct upmu_pmu *pmu, const uint64_t *found);

/* Returns the bits that raw programming may set at a level; 0 for a row that the PMU lacks. */
uint64_t upmu_register_settable(const struct upmu_pmu *pmu, unsigned row, enum upmu_level level);

/* Returns the PMU's row that has an address; UPMU_NO_ROW: there is none. */
unsigned upmu_register_find(const struct upmu_pmu *pmu, uint32_t address);

/* Add a counter to a PMU: store its description, and mark its four rows in `present`. */
void upmu_register_add_counter(struct upmu_pmu *pmu, unsigned counter, const struct upmu_counter *description);

#endif
