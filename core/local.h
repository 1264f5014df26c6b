/* SPDX-License-Identifier: MIT */
/*
 * The bracket around every local call, and the two-writer rule (R4).
 */
#ifndef UPMU_CORE_LOCAL_H
#define UPMU_CORE_LOCAL_H

#include "core/port_call.h"
#include <upmu/session.h>

/*
 * Interrupts off; refuse the wrong CPU and a local call inside a local call.
 * UPMU_OK, UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY (interrupts are then as before).
 */
enum upmu_status upmu_local_enter(struct upmu_cpu *cpu, uintptr_t *out_state);

/* Replay what handlers had to defer, then undo the bracket. */
void upmu_local_leave(struct upmu_cpu *cpu, uintptr_t state);

/* Work on a CPU in its bracket: its status, or upmu_local_enter()'s. */
typedef enum upmu_status upmu_local_work(struct upmu_cpu *cpu, void *argument);
enum upmu_status upmu_local_run(struct upmu_cpu *cpu, upmu_local_work *work, void *argument);

/*
 * Work that needs a work area for a placement, but no CPU: that of the executing CPU, in its bracket, or one on the
 * stack.  As upmu_local_run().
 */
typedef enum upmu_status upmu_placing_work(struct upmu_place_work *work, void *argument);
enum upmu_status upmu_local_place(const struct upmu_machine *machine, upmu_placing_work *placing, void *argument);

/* The port's clock, 0 without one. */
uint64_t upmu_cpu_now(const struct upmu_cpu *cpu);

/* A tally is being changed: handlers leave it alone and defer its overflow. */
static inline void upmu_tally_begin(struct upmu_tally *tally)
{
    tally->sequence |= 1u;
    UPMU_BARRIER();
}

static inline void upmu_tally_end(struct upmu_tally *tally)
{
    UPMU_BARRIER();
    tally->sequence += 1u;
}

#endif
