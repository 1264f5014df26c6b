/* SPDX-License-Identifier: MIT */
/*
 * Units at work: declarations for other core files.  What the life of a CPU means for the units that it drives.
 */
#ifndef UPMU_CORE_UNIT_CORE_H
#define UPMU_CORE_UNIT_CORE_H

#include "core/engine/bracket.h"
#include <upmu/unit.h>

#if UPMU_UNCORE

/*
 * A CPU comes: it begins to drive units that no CPU drives.  A CPU goes: another one drives its units, or they sleep.
 * To be called on that CPU.
 */
enum upmu_status upmu_units_come(struct upmu_cpu *cpu);
enum upmu_status upmu_units_go(struct upmu_cpu *cpu);

/* May a CPU be initialised?  Not while it drives a unit, whose path machine->why has. */
enum upmu_status upmu_units_check(struct upmu_machine *machine, const struct upmu_cpu *cpu);

/*
 * Work on each unit that the executing CPU drives, in the bracket of each.  Returns the first status that is not
 * UPMU_OK; *out_meter is the unit that gave it.
 */
enum upmu_status upmu_units_each(struct upmu_cpu *cpu, upmu_bracket_work *work, const struct upmu_meter **out_meter);

/* Do a tick's work for a unit: fold its running events if that is due; in each unit->every-th tick rotate sessions. */
enum upmu_status upmu_unit_tick(struct upmu_meter *meter, void *unused);

/* Fold all running events of a unit; mark the counts if the call is so late that a counter may have wrapped twice. */
enum upmu_status upmu_unit_fold(struct upmu_meter *meter, void *unused);

/*
 * May a session of this unit have these events?  UPMU_ERR_WRONG_PMU: the text of an event names other boxes, by number
 * or path.  UPMU_ERR_UNSUPPORTED: an event needs filters in a companion of the box, which a box lacks.
 */
enum upmu_status upmu_unit_check(const struct upmu_meter *meter, const struct upmu_set *set);

/* Is the unit in the machine's list of open units?  The fields of `unit` are not read. */
bool upmu_unit_is_open(const struct upmu_machine *machine, const struct upmu_unit *unit);

/* Give the units of a CPU the CPU's new work area. */
void upmu_units_use_work(struct upmu_cpu *cpu);

/* Put a CPU, which may drive units then, into the machine's list, or take it out. */
void upmu_units_link(struct upmu_cpu *cpu);
void upmu_units_unlink(struct upmu_machine *machine, const struct upmu_cpu *cpu);

#else

static inline enum upmu_status upmu_units_come(struct upmu_cpu *cpu)
{
    (void)cpu;
    return UPMU_OK;
}

static inline enum upmu_status upmu_units_go(struct upmu_cpu *cpu)
{
    (void)cpu;
    return UPMU_OK;
}

static inline enum upmu_status upmu_units_check(struct upmu_machine *machine, const struct upmu_cpu *cpu)
{
    (void)machine;
    (void)cpu;
    return UPMU_OK;
}

static inline void upmu_units_link(struct upmu_cpu *cpu)
{
    (void)cpu;
}

static inline void upmu_units_unlink(struct upmu_machine *machine, const struct upmu_cpu *cpu)
{
    (void)machine;
    (void)cpu;
}

static inline enum upmu_status upmu_units_each(struct upmu_cpu *cpu, upmu_bracket_work *work,
                                               const struct upmu_meter **out_meter)
{
    (void)cpu;
    (void)work;
    (void)out_meter;
    return UPMU_OK;
}

static inline void upmu_units_use_work(struct upmu_cpu *cpu)
{
    (void)cpu;
}

static inline enum upmu_status upmu_unit_check(const struct upmu_meter *meter, const struct upmu_set *set)
{
    (void)meter;
    (void)set;
    return UPMU_OK;
}

#define upmu_unit_tick NULL
#define upmu_unit_fold NULL

#endif

#endif
