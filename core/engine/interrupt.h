/* SPDX-License-Identifier: MIT */
/*
 * The interrupt, for other core files.
 */
#ifndef UPMU_CORE_INTERRUPT_H
#define UPMU_CORE_INTERRUPT_H

#include "core/engine/session_core.h"

/*
 * Do what a handler left that interrupted this bracket; what it stopped stays so until upmu_interrupt_end().  True:
 * sessions wait, and a place may be searched for them.
 */
bool upmu_interrupt_read_mail(struct upmu_meter *meter);

/* After that: counters that were stopped run again. */
void upmu_interrupt_end(struct upmu_meter *meter);

/*
 * Read the mail after the bracket, for the last time: other interrupts are answered as stale meanwhile, and find no end
 * of mail.  Their overflows are found with the next call or interrupt.
 */
void upmu_interrupt_finish(struct upmu_meter *meter);

/* Add the counts of everything that runs, before it goes round unseen, and find overflows without an interrupt. */
enum upmu_status upmu_interrupt_poll(struct upmu_meter *meter);

/* A counter has overflowed, and no interrupt comes for it: the end of the bracket looks at all that sample. */
void upmu_interrupt_raise(struct upmu_meter *meter);

/* Is there mail?  A unit has none. */
static inline bool upmu_interrupt_mail(const struct upmu_meter *meter)
{
    return UPMU_SAMPLING && meter->cpu && meter == &meter->cpu->meter && meter->cpu->mail.pending;
}

#endif
