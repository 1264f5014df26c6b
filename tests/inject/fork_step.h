/* SPDX-License-Identifier: MIT */
/*
 * Something comes between at each instruction of a call.  The process steps itself through the call and forks at the
 * instructions that are wanted; the child does there what comes between, ends the call and looks at what became of
 * both:
 *
 *     fork_step_begin(wanted, act);
 *     status = call();
 *     if (fork_step_end()) {
 *         (look, with _exit(1) where something is wrong)
 *         _exit(0);
 *     }
 *
 * x86 with Linux only.
 */
#ifndef UPMU_TESTS_INJECT_FORK_STEP_H
#define UPMU_TESTS_INJECT_FORK_STEP_H

#include <stdbool.h>
#include <stdint.h>

struct fork_step {
    unsigned forks;        /* in all calls */
    unsigned instructions; /* of this call, each once: those that fork_step_times() was asked about */
    int failed;            /* what the child that failed ended with; the call was not stepped through any further */
};

extern struct fork_step fork_step;

/* `wanted` is asked before each instruction of the process, also of its hooks. */
void fork_step_begin(bool (*wanted)(uintptr_t ip), void (*act)(void));

/* No steps any more.  True: this is a child, and `act` was done. */
bool fork_step_end(void);

/* How often `wanted` was asked about this instruction before, in this call: loops are long. */
unsigned fork_step_times(uintptr_t ip);

#endif
