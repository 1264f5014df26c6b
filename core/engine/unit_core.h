/* SPDX-License-Identifier: MIT */
/*
 * Units at work: declarations for other core files.  Among them the functions that a CPU calls when its life changes,
 * for the units that it drives.
 */
#ifndef UPMU_CORE_UNIT_CORE_H
#define UPMU_CORE_UNIT_CORE_H

#include "core/engine/bracket.h"
#include <upmu/unit.h>

#if UPMU_UNCORE

/*
 * upmu_units_come(): a CPU begins to drive the open units that no CPU drives and that it can access.  Function
 * upmu_units_go(): a CPU leaves or sleeps, and another CPU drives its units from now on, or they sleep; on another CPU
 * than `cpu` nothing is done.  Both return UPMU_OK if each unit gave UPMU_OK, else the last other status;
 * upmu_units_go() stops at UPMU_ERR_BUSY and UPMU_ERR_WRONG_CPU.
 */
enum upmu_status upmu_units_come(struct upmu_cpu *cpu);
enum upmu_status upmu_units_go(struct upmu_cpu *cpu);

/*
 * May a CPU be initialised?  UPMU_ERR_STATE while it drives a unit: machine->why gets the path of the unit's first box.
 */
enum upmu_status upmu_units_check(struct upmu_machine *machine, const struct upmu_cpu *cpu);

/*
 * Do work on each unit in the list cpu->units of the executing CPU, in the bracket of the unit.  Returns the first
 * status that is not UPMU_OK, with the meter of its unit in *out_meter; else UPMU_OK.
 */
enum upmu_status upmu_units_each(struct upmu_cpu *cpu, upmu_bracket_work *work, const struct upmu_meter **out_meter);

/*
 * Do a tick's work for a unit.  Fold its running events if that is due; in each unit->every-th tick let waiting
 * sessions run.
 */
enum upmu_status upmu_unit_tick(struct upmu_meter *meter, void *unused);

/*
 * Fold all running events of a unit.  If they were folded last more than 2 * upmu_unit_poll_interval() ago, a counter
 * may have gone all the way round: set `hole` of the events.
 */
enum upmu_status upmu_unit_fold(struct upmu_meter *meter, void *unused);

/* As upmu_life_start_over(), for a unit: also what stops all units of its die is cleared. */
enum upmu_status upmu_unit_start_over(struct upmu_meter *meter, void *unused);

/*
 * May the events of a set be counted on this unit?  Returns UPMU_OK; UPMU_ERR_WRONG_PMU: the text of an event names
 * other boxes, by number or path; UPMU_ERR_UNSUPPORTED: an event needs filters in a companion of the box, and a box has
 * none.
 */
enum upmu_status upmu_unit_check(const struct upmu_meter *meter, const struct upmu_set *set);

/* The unit of a meter, which is the unit's first member. */
static inline struct upmu_unit *upmu_unit_of(struct upmu_meter *meter)
{
    return (struct upmu_unit *)(void *)meter;
}

/* Is the unit in the machine's list of open units?  The fields of `unit` are not read. */
bool upmu_unit_is_open(const struct upmu_machine *machine, const struct upmu_unit *unit);

/* Give the units that a CPU drives the CPU's new work area for placements. */
void upmu_units_use_work(struct upmu_cpu *cpu);

/*
 * Put the executing CPU into the machine's list of CPUs, from which the drivers of units are chosen, and find out where
 * it is; or take a CPU out of this list.
 */
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
#define upmu_unit_start_over NULL

#endif

#endif
