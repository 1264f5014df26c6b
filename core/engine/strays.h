/* SPDX-License-Identifier: MIT */
/* Stray counters of NetBurst: counters that no session has, and that request interrupts all the same. */
#ifndef UPMU_CORE_STRAYS_H
#define UPMU_CORE_STRAYS_H

#include <upmu/session.h>

/*
 * Close stray counters; called where no sampling counter was found past zero.  A fault left such a counter running, or
 * the interrupted call is starting it; its overflow flag keeps the interrupt asserted, which would come without end.
 * Returns whether one was closed: the interrupt, which may have been of that counter, is answered STALE at least.
 */
bool upmu_strays_close(struct upmu_cpu *cpu, uint64_t now_ns);

#endif
