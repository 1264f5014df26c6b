/* SPDX-License-Identifier: MIT */
/* What a test asks of the kernel that stands for Zephyr, beyond what Zephyr has. */
#ifndef STAND_IN_H
#define STAND_IN_H

#include <zephyr/kernel.h>

/* Everything that was printed so far. */
const char *stand_in_printed(void);

/* Execution continues on this CPU.  `stand_in_moved`, if it is not NULL, is called after each change. */
void stand_in_move(unsigned cpu);
extern void (*stand_in_moved)(unsigned cpu);

/* This CPU switches to a thread without a stack, with the hooks that Zephyr calls.  NULL: its idle thread. */
void stand_in_switch(struct k_thread *to);

/* The two halves of it, for another CPU's steps between them. */
void stand_in_switch_out(void);
void stand_in_switch_in(struct k_thread *to);

/* The thread, which does not run or is this CPU's, has ended; its CPU switches to its idle thread. */
void stand_in_end(struct k_thread *thread);

/* Time passes; timers that are due run as interrupts of CPU 0. */
void stand_in_advance_ms(int64_t ms);

/* Run this as an interrupt of the executing CPU. */
void stand_in_interrupt(void (*function)(void *argument), void *argument);

/* While it is true, other CPUs do no work that they are sent. */
extern bool stand_in_signals_wait;

/* Work that other CPUs have done, and spin locks that were taken. */
extern unsigned stand_in_work_done, stand_in_locks_taken;

#endif
