/* SPDX-License-Identifier: MIT */
/*
 * What becomes of overflows: the way from the interrupt (or the local side that
 * replays it) to format, ring and queue.
 */
#ifndef UPMU_CORE_FORMAT_CORE_H
#define UPMU_CORE_FORMAT_CORE_H

#include <upmu/format.h>

/*
 * Events of one session overflowed: make records, messages, call hooks.  The caller
 * filled in all of session->overflow but `event`, and folded what events want to see.
 * UPMU_OVERFLOW_MASK in the answer: the session is to be masked; UPMU_OVERFLOW_RESET
 * beside it: with its long resets at once, not at restart.
 * Context: nmi, or local with the session's tallies held.
 */
unsigned upmu_overflow_report(struct upmu_overflow *overflow);

/* Ask the format of a masked session that is to be restarted. */
bool upmu_overflow_stays_masked(struct upmu_session *session);

/* The session ends, or gets another format. */
void upmu_overflow_end(struct upmu_session *session);

#endif
