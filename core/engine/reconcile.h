/* SPDX-License-Identifier: MIT */
/*
 * upmu_reconcile(), the one function by which sessions get and leave counters in normal work; what is done after
 * faults; and work that a handler found due (docs/ENGINE.md, "What runs").  All functions: inside a bracket, or in a
 * handler that interrupted none.
 */
#ifndef UPMU_CORE_RECONCILE_H
#define UPMU_CORE_RECONCILE_H

#include "core/engine/plan.h"

/*
 * Carry out the meter's plan: sessions leave and come, samples that are due are stored, and sessions whose registers
 * fault are stopped.
 */
void upmu_reconcile(struct upmu_meter *meter);

/*
 * Do the work that a handler or a plan found due: mask full sessions, and switch to the sets that are due.  A session
 * whose next set has no place beside the running ones waits.  Returns whether any session left its counters and any
 * session waits: then a place may be searched.
 */
bool upmu_reconcile_due(struct upmu_meter *meter);

/*
 * Stop the sessions that have a counter in meter->failed, with their `error` set, and clear meter->failed.  Their
 * counts are taken as far as counters can be read.  Other sessions run on.
 */
void upmu_reconcile_repair(struct upmu_meter *meter);

/* Write to the host's log that a register faulted and a session was stopped; the line is due no more. */
void upmu_reconcile_log(struct upmu_meter *meter);

/* Registers are given back, or may have changed: all are unknown, none has failed, and no counter holds a value. */
void upmu_reconcile_forget(struct upmu_meter *meter);

/*
 * Other software may have changed the registers: take all sessions off their counters without accessing a register.
 * They are suspended, or masked if they were full, and `hole` of their events is set.  Sessions that run with an empty
 * set stay as they are.
 */
void upmu_reconcile_lose(struct upmu_meter *meter);

#endif
