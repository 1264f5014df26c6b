/* SPDX-License-Identifier: MIT */
/*
 * The bracket around every local call.
 */
#ifndef UPMU_CORE_BRACKET_H
#define UPMU_CORE_BRACKET_H

#include "core/hw/port_call.h"
#include "core/hw/shared_page.h"
#include "core/engine/features.h"
#include "core/engine/interrupt.h"
#include <upmu/session.h>

/*
 * Interrupts off; refuse the wrong CPU and a local call inside a local call.
 * UPMU_OK, UPMU_ERR_WRONG_CPU, UPMU_ERR_BUSY (interrupts are then as before).
 */
enum upmu_status upmu_bracket_enter(struct upmu_meter *meter, uintptr_t *out_state);

/*
 * Do what handlers and the call itself left: mail, work that is due, faults, claims that nothing needs.  Then undo the
 * bracket.
 */
void upmu_bracket_leave(struct upmu_meter *meter, uintptr_t state);

/* Do the work that is due, and answer faults, in the middle of a call. */
void upmu_bracket_settle(struct upmu_meter *meter);

/* Work on a CPU in its bracket: its status, or upmu_bracket_enter()'s. */
typedef enum upmu_status upmu_bracket_work(struct upmu_meter *meter, void *argument);
enum upmu_status upmu_bracket_run(struct upmu_meter *meter, upmu_bracket_work *work, void *argument);

/*
 * Work that needs a work area for a placement, but no CPU: that of the executing CPU, in its bracket, or one on the
 * stack.  As upmu_bracket_run().
 */
typedef enum upmu_status upmu_placing_work(struct upmu_place_work *work, void *argument);
enum upmu_status upmu_bracket_place(const struct upmu_machine *machine, upmu_placing_work *placing, void *argument);

#endif
