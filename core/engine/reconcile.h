/* SPDX-License-Identifier: MIT */
/*
 * upmu_reconcile(), the one function that changes what runs, and the answers to faults and to work that a handler found
 * (docs/ENGINE.md, "What runs").  All functions: inside a bracket, or in a handler that interrupted none.
 */
#ifndef UPMU_CORE_RECONCILE_H
#define UPMU_CORE_RECONCILE_H

#include "core/engine/plan.h"

/* Carry out the meter's plan. */
void upmu_reconcile(struct upmu_meter *meter);

/*
 * Do the work that a handler or a take found: mask full sessions, and switch the sets that are due.  A session whose
 * next set has no place beside what runs waits.  Returns whether a session waits, so that a place may be searched for
 * it.
 */
bool upmu_reconcile_due(struct upmu_meter *meter);

/* Stop the sessions whose registers have faulted (meter->failed), and set their `error`.  The others run on. */
void upmu_reconcile_repair(struct upmu_meter *meter);

/* Write a line about repairs to the host's log. */
void upmu_reconcile_log(struct upmu_meter *meter);

/* Registers are given back, or may have changed: all are unknown, none has failed, and no counter holds a value. */
void upmu_reconcile_forget(struct upmu_meter *meter);

/* The hardware has lost what runs: take all sessions off without a register access.  Their counts have a hole. */
void upmu_reconcile_lose(struct upmu_meter *meter);

#endif
