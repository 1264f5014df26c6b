/* SPDX-License-Identifier: MIT */
/*
 * Units at work, for other core files: what the life of a CPU does to those that it drives.
 */
#ifndef UPMU_CORE_UNIT_CORE_H
#define UPMU_CORE_UNIT_CORE_H

#include "core/engine/bracket.h"
#include <upmu/unit.h>

#if UPMU_UNCORE

/* A CPU comes: it drives units that have none.  It goes: others drive its units, or they sleep.  On that CPU. */
enum upmu_status upmu_units_come(struct upmu_cpu *cpu);
enum upmu_status upmu_units_go(struct upmu_cpu *cpu);

/* May a CPU be initialised?  Not while it drives a unit: machine->why has its path. */
enum upmu_status upmu_units_check(struct upmu_machine *machine, const struct upmu_cpu *cpu);

/*
 * Work on each unit that the executing CPU drives, in the bracket of each; the first status that is not UPMU_OK, and
 * `*out_meter`: of which unit.
 */
enum upmu_status upmu_units_each(struct upmu_cpu *cpu, upmu_bracket_work *work, const struct upmu_meter **out_meter);

/* With each tick of its CPU; take the counts of what runs. */
enum upmu_status upmu_unit_tick(struct upmu_meter *meter, void *unused);
enum upmu_status upmu_unit_fold(struct upmu_meter *meter, void *unused);

/*
 * May a session of a unit have these events?  UPMU_ERR_WRONG_PMU: the text of one named other boxes, by number or path.
 * UPMU_ERR_UNSUPPORTED: one needs filters in a companion of the box, which a box lacks.
 */
enum upmu_status upmu_unit_check(const struct upmu_meter *meter, const struct upmu_set *set);

/* Is it one of those that are open?  (What stands in it is not looked at.) */
bool upmu_unit_is_open(const struct upmu_machine *machine, const struct upmu_unit *unit);

/* Give the units of a CPU its new work area. */
void upmu_units_use_work(struct upmu_cpu *cpu);

/* A CPU, which may drive units, joins or leaves the machine's list. */
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
