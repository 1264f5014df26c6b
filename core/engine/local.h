/* SPDX-License-Identifier: MIT */
/*
 * The bracket around every local call, and the two-writer rule (R4).
 */
#ifndef UPMU_CORE_LOCAL_H
#define UPMU_CORE_LOCAL_H

#include "core/hw/port_call.h"
#include "core/hw/shared_page.h"
#include "core/engine/features.h"
#include <upmu/session.h>

/*
 * Interrupts off; refuse the wrong CPU and a local call inside a local call.
 * UPMU_OK, UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY (interrupts are then as before).
 */
enum upmu_status upmu_local_enter(struct upmu_meter *meter, uintptr_t *out_state);

/* The same where nothing is to be replayed; else the caller goes the long way. */
static inline bool upmu_local_try(struct upmu_meter *meter, const struct upmu_port *port, uintptr_t *out_state)
{
    struct upmu_cpu *cpu;

    *out_state = port_irq_save(port);
    cpu = __atomic_load_n(&meter->cpu, __ATOMIC_ACQUIRE);
    /* (Neither an executing CPU that is not initialised nor the driver of a unit on its way is any CPU.) */
    if (__builtin_expect(cpu && (!port_has_this_cpu(port) || port_this_cpu(port) == cpu) &&
                             !(UPMU_LOAD(meter->busy) | meter->mask_due) && UPMU_LOAD(meter->live), 1)) {
        UPMU_STORE(meter->busy, 1);
        UPMU_BARRIER();
        upmu_shared_page_stale(&meter->bank);
        return true;
    }
    port_irq_restore(port, *out_state);
    return false;
}

/* Replay what handlers had to defer, then undo the bracket. */
void upmu_local_leave(struct upmu_meter *meter, uintptr_t state);

/* The same, mostly without anything to replay. */
static inline void upmu_local_end(struct upmu_meter *meter, const struct upmu_port *port, uintptr_t state)
{
    if (__builtin_expect((meter->deferred | meter->mask_due) || upmu_features_wait(meter->cpu), 0)) {
        upmu_local_leave(meter, state);
        return;
    }
    UPMU_BARRIER();
    UPMU_STORE(meter->busy, 0);
    UPMU_BARRIER();
    if (__builtin_expect((meter->deferred | meter->mask_due) != 0, 0)) {
        UPMU_STORE(meter->busy, 1);
        UPMU_BARRIER();
        upmu_local_leave(meter, state);
        return;
    }
    port_irq_restore(port, state);
}

/* Work on a CPU in its bracket: its status, or upmu_local_enter()'s. */
typedef enum upmu_status upmu_local_work(struct upmu_meter *meter, void *argument);
enum upmu_status upmu_local_run(struct upmu_meter *meter, upmu_local_work *work, void *argument);

/*
 * Work that needs a work area for a placement, but no CPU: that of the executing CPU, in its bracket, or one on the
 * stack.  As upmu_local_run().
 */
typedef enum upmu_status upmu_placing_work(struct upmu_place_work *work, void *argument);
enum upmu_status upmu_local_place(const struct upmu_machine *machine, upmu_placing_work *placing, void *argument);

/* A tally is being changed: handlers leave it alone and defer its overflow. */
static inline void upmu_tally_begin(struct upmu_tally *tally)
{
    UPMU_STORE(tally->sequence, tally->sequence | 1u);
    UPMU_BARRIER();
}

static inline void upmu_tally_end(struct upmu_tally *tally)
{
    UPMU_BARRIER();
    UPMU_STORE(tally->sequence, tally->sequence + 1u);
}

#endif
