/* SPDX-License-Identifier: MIT */
/*
 * Counts for each process of a kernel: what its scheduler calls (examples/processes/README.md).
 *
 * For one CPU.  The calls need 3 KiB of stack, and interrupts off where it is said.
 */
#ifndef UPMU_COUNTS_H
#define UPMU_COUNTS_H

#include <stdbool.h>

/* Processes that are counted at the same time; each takes 5 KB of static memory. */
#ifndef COUNTS_PROCESSES
#define COUNTS_PROCESSES 16
#endif

/* Begin, once, before the first process runs; `write` writes text to the console and stays.  Interrupts are off. */
bool counts_begin(void (*write)(const char *text));

/*
 * The CPU is given to process `number` now; 0: to none.  `name` is copied, at most 15 bytes.  The scheduler calls it
 * before each switch, with interrupts off.
 */
void counts_switch(unsigned number, const char *name);

/* The process has ended and will not run again: its counts are written, and its place is free.  Interrupts are off. */
void counts_end(unsigned number);

/* Write a line for each process; before counts_begin() nothing.  Interrupts are off. */
void counts_write(void);

/*
 * Without a PMU a silicon model counts, and has to be told what the processes do: as many cycles as the time-stamp
 * counter has moved.  A kernel that knows better says it by a function of its own of this type.
 */
struct upmu_sim;
extern void (*counts_tell)(struct upmu_sim *sim);

#endif
