/* SPDX-License-Identifier: MIT */
/*
 * The life of a meter: take-over, sleep, and changes of its registers by other software.  All functions: inside a local
 * bracket; upmu_life_take_over() also in upmu_cpu_init(), which has none.
 */
#ifndef UPMU_CORE_LIFE_H
#define UPMU_CORE_LIFE_H

#include "core/engine/bracket.h"

/*
 * Take the PMU over, the common part of init and resume: read the registers, leave counters that are in use alone,
 * close all others (shared ones only if no other CPU of the domain is at work).  Shared registers are unknown
 * afterwards: other CPUs may claim them.  Returns UPMU_OK, UPMU_ERR_PORT where a register faulted, or UPMU_ERR_NO_PMU
 * where writes have no effect.
 */
enum upmu_status upmu_life_take_over(struct upmu_meter *meter);

/* End a meter: handlers do nothing for it from now on.  Expects interrupts of used counters that still run. */
void upmu_life_end(struct upmu_meter *meter);

#if UPMU_SUSPEND || UPMU_UNCORE

enum upmu_status upmu_life_suspend(struct upmu_meter *meter, void *unused);

/* Work again after a sleep, when the registers are taken over: load what runs.  Returns as upmu_waiting_reload(). */
enum upmu_status upmu_life_wake(struct upmu_meter *meter);

/*
 * Restore the registers for a sleep, and make them unknown.  Returns false where a register faulted, or a box of a unit
 * is gone.
 */
bool upmu_life_return(struct upmu_meter *meter);

#endif

/* End the sleep of a CPU's PMU: take over, and wake.  If the take-over fails, the registers are restored. */
enum upmu_status upmu_life_resume(struct upmu_meter *meter, void *unused);

/*
 * Clear the registers of a CPU's PMU and forget them, also those that the firmware used, whose counters are free then.
 * Kept are registers of counters that the host reserved, and shared registers while another CPU of the domain is at
 * work.  Returns UPMU_OK, UPMU_ERR_STATE (a session runs on a counter, or an IBS unit runs) or UPMU_ERR_PORT (a
 * register faulted).
 */
enum upmu_status upmu_life_clear(struct upmu_meter *meter, void *unused);

/* Begin anew after other software has changed registers: all registers become unknown, and what ran is loaded again. */
enum upmu_status upmu_life_start_over(struct upmu_meter *meter, void *unused);

/*
 * Compare the known registers with the shadow.  Returns UPMU_OK if all are equal; UPMU_ERR_CHANGED if one differs,
 * which becomes unknown, and its counter foreign if no session runs there; UPMU_ERR_PORT if one could not be read;
 * UPMU_ERR_BUSY if handlers interrupted each of 16 attempts.
 */
enum upmu_status upmu_life_verify(struct upmu_meter *meter, void *unused);

#endif
