/* SPDX-License-Identifier: MIT */
/*
 * The overflow interrupt and polls: declarations for other core files.
 */
#ifndef UPMU_CORE_INTERRUPT_H
#define UPMU_CORE_INTERRUPT_H

#include "core/engine/session_core.h"

/*
 * Do what handlers left that interrupted this bracket.  Counters that they stopped stay so until upmu_interrupt_end().
 * Returns whether sessions wait for which a place may be searched.
 */
bool upmu_interrupt_read_mail(struct upmu_meter *meter);

/* After upmu_interrupt_read_mail(): let the counters that handlers stopped run again. */
void upmu_interrupt_end(struct upmu_meter *meter);

/*
 * Read the mail for the last time, where a bracket has read it too often.  Meanwhile other interrupts are answered
 * STALE, and leave no mail.  Their overflows are found with the next call or interrupt.
 */
void upmu_interrupt_finish(struct upmu_meter *meter);

/* Add the counts of all running events, before a counter goes round unseen, and find overflows without an interrupt. */
enum upmu_status upmu_interrupt_poll(struct upmu_meter *meter);

/*
 * A counter has overflowed, and no interrupt comes for it: make the end of the bracket look at all sampling counters.
 */
void upmu_interrupt_raise(struct upmu_meter *meter);

/* Has a handler left mail?  A unit never has mail. */
static inline bool upmu_interrupt_mail(const struct upmu_meter *meter)
{
    return UPMU_SAMPLING && meter->cpu && meter == &meter->cpu->meter && meter->cpu->mail.pending;
}

#endif
