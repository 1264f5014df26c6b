/* SPDX-License-Identifier: MIT */
/* The overflow interrupt of a CPU and polls of a meter: declarations for other core files. */
#ifndef UPMU_CORE_INTERRUPT_H
#define UPMU_CORE_INTERRUPT_H

#include "core/engine/session_core.h"

/*
 * Do the work that handlers left when they interrupted this bracket, or that a poll asked for.  Counters that handlers
 * stopped run again after upmu_interrupt_end() at the latest.  Returns whether sessions wait for which a place may be
 * searched now.
 */
bool upmu_interrupt_read_mail(struct upmu_meter *meter);

/*
 * At the end of a handler, and of a bracket that has read mail: let those counters that handlers stopped run again that
 * still run for a session, or are unowned.
 */
void upmu_interrupt_end(struct upmu_meter *meter);

/*
 * Read the mail for the last time, at the end of a bracket that has read it too often.  Meanwhile other interrupts are
 * answered STALE, and leave no mail.  Their overflows are found by the next poll or interrupt, or when their sessions
 * leave.  Returns as upmu_interrupt_read_mail().
 */
bool upmu_interrupt_finish(struct upmu_meter *meter);

/*
 * Fold all running events that only count, before a counter goes round unseen.  Let throttled events sample again,
 * begin new windows of metrics, and find overflows without an interrupt.  Returns UPMU_OK, or UPMU_ERR_PORT where a
 * register faulted.
 */
enum upmu_status upmu_interrupt_poll(struct upmu_meter *meter);

/*
 * A sampling counter may have overflowed, and no interrupt came for it: store mail, so that the end of the bracket
 * looks at all sampling counters.
 */
void upmu_interrupt_raise(struct upmu_meter *meter);

/* Is there mail for this meter, of a handler or a poll?  A unit never has mail. */
static inline bool upmu_interrupt_mail(const struct upmu_meter *meter)
{
    return UPMU_SAMPLING && meter->cpu && meter == &meter->cpu->meter && meter->cpu->mail.pending;
}

#endif
