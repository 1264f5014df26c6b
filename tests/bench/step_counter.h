/* SPDX-License-Identifier: MIT */
/*
 * Count the instructions of a call by single-stepping it: exact, and needs no tool.
 * x86-64 Linux only.  A repeated string instruction counts once per turn, and the
 * kernel's work does not count.
 */
#ifndef UPMU_STEP_COUNTER_H
#define UPMU_STEP_COUNTER_H

#include <stdint.h>

/* Instructions of function(argument), its own return included. */
uint64_t step_counter_run(void (*function)(void *argument), void *argument);

#endif
