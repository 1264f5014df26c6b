/* SPDX-License-Identifier: MIT */
/*
 * Something comes between at each instruction of a call, in one process: the call runs on a stack of its own, single
 * stepped; at an instruction a copy of everything is kept, what comes between happens there, the call goes on to its
 * end and is judged, and the copy is gone back to.
 *
 *     phase_step.memory = &all_that_changes; ...
 *     phase_step_run(call, act, judge);
 *
 * Hooks of the model are not stepped through: they stand between phase_step_hide() and phase_step_show().
 * x86 with Linux only.
 */
#ifndef UPMU_TESTS_INJECT_PHASE_STEP_H
#define UPMU_TESTS_INJECT_PHASE_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What `act` asks for. */
#define PHASE_LAST 0u /* nothing else comes between; else so many instructions later `act` comes again */

struct phase_step {
    void *memory;         /* all that call, act and judge change, but for the stack and what they count */
    void *copy;           /* room for its copy */
    size_t bytes;
    uint32_t stride;      /* one instruction of so many is taken, ... */
    uint32_t first;       /* ... from this one on */
    uint32_t only;        /* not 0: this one alone */
    uint32_t instruction; /* at which the present run was taken; 0: it was left alone */
    uint32_t instructions; /* of the call, hooks excepted */
    uint64_t points;      /* runs that were taken, in all calls */
};

extern struct phase_step phase_step;

/* A function of the test that runs inside the call: its instructions are not the library's. */
#define PHASE_OWN __attribute__((section("phase_own"), noinline))

/*
 * `call` once undisturbed, and once for each instruction that is taken.  `act(n)` comes between, n = 0 first; `judge`
 * follows the call each time.
 */
void phase_step_run(void (*call)(void), unsigned (*act)(unsigned n), void (*judge)(void));

void phase_step_hide(void);
void phase_step_show(void);

#endif
