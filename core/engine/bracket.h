/* SPDX-License-Identifier: MIT */
/*
 * The bracket: interrupts off, this CPU, one local call at a time.  Each local call runs inside.
 */
#ifndef UPMU_CORE_BRACKET_H
#define UPMU_CORE_BRACKET_H

#include "core/hw/port_call.h"
#include "core/hw/shared_page.h"
#include "core/engine/features.h"
#include "core/engine/interrupt.h"
#include <upmu/session.h>

/*
 * Enter the bracket of a meter: switch interrupts off, and refuse another CPU, and a local call inside a local call.
 * Returns UPMU_OK, with *out_state for upmu_bracket_leave(); or UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY or (a unit)
 * UPMU_ERR_NO_CPU: interrupts are then as before.
 */
enum upmu_status upmu_bracket_enter(struct upmu_meter *meter, uintptr_t *out_state);

/*
 * Do what handlers and the call itself have left: mail, due work, faults, claims that no session needs.  Then leave the
 * bracket; interrupts are as `state` says.
 */
void upmu_bracket_leave(struct upmu_meter *meter, uintptr_t state);

/* Do the due work, and the repair after faults, in the middle of a call. */
void upmu_bracket_settle(struct upmu_meter *meter);

/*
 * Run a function on a meter, in its bracket.  Returns the function's status, or why the bracket could not be entered.
 */
typedef enum upmu_status upmu_bracket_work(struct upmu_meter *meter, void *argument);
enum upmu_status upmu_bracket_run(struct upmu_meter *meter, upmu_bracket_work *work, void *argument);

/*
 * Run a function on the meter of a unit that no CPU drives, without a bracket: it accesses no register.  Returns its
 * status, or UPMU_ERR_BUSY: another call is at work there.
 */
static inline enum upmu_status upmu_bracket_run_asleep(struct upmu_meter *meter, upmu_bracket_work *work,
                                                       void *argument)
{
    enum upmu_status status;

    if (upmu_byte_or(&meter->busy, 1))
        return UPMU_ERR_BUSY;
    status = work(meter, argument);
    __atomic_store_n(&meter->busy, 0, __ATOMIC_RELEASE);
    return status;
}

/*
 * Run a function that needs a work area for a placement, but no CPU.  The area is that of the executing CPU, in its
 * bracket, or lies on the stack.  Returns as upmu_bracket_run().
 */
typedef enum upmu_status upmu_placing_work(struct upmu_place_work *work, void *argument);
enum upmu_status upmu_bracket_place(const struct upmu_machine *machine, upmu_placing_work *placing, void *argument);

#endif
