/* SPDX-License-Identifier: MIT */
/* Registers that several units of a package or die need: the first unit changes them, the last one restores them. */
#ifndef UPMU_CORE_UNIT_SHARED_H
#define UPMU_CORE_UNIT_SHARED_H

#include <upmu/unit.h>

#if UPMU_UNCORE

/*
 * Map the registers in memory that stop the units of a unit's die, before it is opened; or unmap them, unless another
 * unit of the die is open.  Returns UPMU_OK, or UPMU_ERR_NO_SPACE (nothing is mapped).
 */
enum upmu_status upmu_unit_shared_map(const struct upmu_unit *unit);
void upmu_unit_shared_unmap(const struct upmu_unit *unit);

/*
 * Does an MSR stop all units of a unit's die?  CPUs of other dies have that number for a register of their own: then
 * the unit must be driven on its die.
 */
bool upmu_unit_shared_is_local(const struct upmu_unit *unit);

/*
 * Let the units of a unit's die run, where a register stops them: processors begin so.  Call it in the unit's bracket,
 * before its registers are taken over.  Returns UPMU_OK, or UPMU_ERR_PORT (a register faulted).
 */
enum upmu_status upmu_unit_shared_begin(struct upmu_unit *unit);

/*
 * Before the registers of a unit are restored, in its bracket: restore shared registers that no other unit at work
 * needs.  The last unit restores the others.  Returns UPMU_OK, or UPMU_ERR_PORT (a register was not restored).
 */
enum upmu_status upmu_unit_shared_end(struct upmu_unit *unit);

#endif

#endif
