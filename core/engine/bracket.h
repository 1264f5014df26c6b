/* SPDX-License-Identifier: MIT */
/*
 * The bracket of a meter: interrupts are off, the executing CPU is the one that drives the meter, and one local call is
 * in progress.  Local calls that change what a meter does run inside.
 */
#ifndef UPMU_CORE_BRACKET_H
#define UPMU_CORE_BRACKET_H

#include "core/hw/port_call.h"
#include "core/hw/shared_page.h"
#include "core/engine/features.h"
#include "core/engine/interrupt.h"
#include <upmu/session.h>

/*
 * Enter the bracket of a meter: switch interrupts off, and mark the meter as busy.  Returns UPMU_OK, with the former
 * interrupt state in *out_state for upmu_bracket_leave().  The other results leave interrupts as before:
 * UPMU_ERR_WRONG_CPU (another CPU drives the meter), UPMU_ERR_BUSY (a local call on this meter is in progress, or the
 * unit is on its way to another CPU), UPMU_ERR_NO_CPU (no CPU drives the unit).
 */
enum upmu_status upmu_bracket_enter(struct upmu_meter *meter, uintptr_t *out_state);

/*
 * Do what handlers and the call itself have left: mail, due work, the repair after faults, claims that no session
 * needs, pages of user mode, counters that handlers stopped.  Then leave the bracket, and restore the interrupt state
 * `state`.
 */
void upmu_bracket_leave(struct upmu_meter *meter, uintptr_t state);

/*
 * Inside a bracket: mask full sessions, switch to sets that are due, start sessions that wait where counters became
 * free; stop the sessions whose counters have failed.
 */
void upmu_bracket_settle(struct upmu_meter *meter);

/*
 * Run a function on a meter, in the meter's bracket.  Returns the function's status; if the bracket could not be
 * entered, the status of upmu_bracket_enter(), and the function was not run.
 */
typedef enum upmu_status upmu_bracket_work(struct upmu_meter *meter, void *argument);
enum upmu_status upmu_bracket_run(struct upmu_meter *meter, upmu_bracket_work *work, void *argument);

/*
 * In any context on the meter's CPU: run a function as in a bracket, and call no hook but those of registers, unless an
 * interrupt of the PMU comes meanwhile.  Returns false if a bracket or a handler was interrupted: the function was not
 * run.
 */
bool upmu_bracket_run_briefly(struct upmu_meter *meter, void (*work)(struct upmu_meter *meter));

/*
 * Run a function, which accesses no register, on the meter of a unit that no CPU drives, without a bracket.  Returns
 * the function's status; or UPMU_ERR_BUSY, without running the function: another call is at work on the unit.
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
 * Run a function that needs a work area for a placement, but no particular CPU.  The area is that of the executing CPU,
 * in its bracket; if that CPU is not initialised or has no area, one on the stack.  Returns as upmu_bracket_run().
 */
typedef enum upmu_status upmu_placing_work(struct upmu_place_work *work, void *argument);
enum upmu_status upmu_bracket_place(const struct upmu_machine *machine, upmu_placing_work *placing, void *argument);

#endif
