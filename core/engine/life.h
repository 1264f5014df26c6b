/* SPDX-License-Identifier: MIT */
/*
 * The life of a PMU at work: take-over, sleep, changes behind our back.  All inside a local bracket.
 */
#ifndef UPMU_CORE_LIFE_H
#define UPMU_CORE_LIFE_H

#include "core/engine/bracket.h"

/*
 * The common part of init and resume: registers are found, counters in use are left alone, the rest is closed.  Shared
 * registers are unknown afterwards: other CPUs may claim them.
 */
enum upmu_status upmu_life_take_over(struct upmu_meter *meter);

/* Handlers act no more. */
void upmu_life_end(struct upmu_meter *meter);

enum upmu_status upmu_life_suspend(struct upmu_meter *meter, void *unused);
enum upmu_status upmu_life_resume(struct upmu_meter *meter, void *unused);

/* Registers are not what the shadow says. */
enum upmu_status upmu_life_start_over(struct upmu_meter *meter, void *unused);

/* Are they? */
enum upmu_status upmu_life_verify(struct upmu_meter *meter, void *unused);

#endif
