/* SPDX-License-Identifier: MIT */
/*
 * The one function that changes what runs, and what follows from faults and from work that a handler found
 * (docs/ENGINE.md, "What runs").  All inside a bracket, or in a handler that interrupted none.
 */
#ifndef UPMU_CORE_RECONCILE_H
#define UPMU_CORE_RECONCILE_H

#include "core/engine/plan.h"

/* Carry out the plan. */
void upmu_reconcile(struct upmu_meter *meter);

/*
 * Sessions for which a handler or a take found work: full ones are masked, and where the next set is due, it comes.  If
 * that set has no place beside what runs, the session waits.  True: a session waits, and a place may be searched for.
 */
bool upmu_reconcile_due(struct upmu_meter *meter);

/* Sessions whose registers have faulted (meter->failed) stop, with `error` set; the others run on. */
void upmu_reconcile_repair(struct upmu_meter *meter);

/* Tell the host's log of repairs. */
void upmu_reconcile_log(struct upmu_meter *meter);

/* The hardware has lost what runs: all sessions leave without a register access. */
void upmu_reconcile_lose(struct upmu_meter *meter);

#endif
