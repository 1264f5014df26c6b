/* SPDX-License-Identifier: MIT */
/*
 * The way of an overflow from the interrupt, or the bracket that found it, to format, ring and queue.
 */
#ifndef UPMU_CORE_FORMAT_CORE_H
#define UPMU_CORE_FORMAT_CORE_H

#include <upmu/format.h>

/*
 * Events of one session overflowed: make records, messages, call hooks.  The caller filled in
 * session->overflow except `event`, and folded the values that the events ask for.  Returns
 * UPMU_OVERFLOW_MASK: mask the session.
 * Context: a bracket, or a handler that interrupted none.
 */
unsigned upmu_format_report(struct upmu_overflow *overflow);

/* Does the format keep a masked session masked at its restart? */
bool upmu_format_stays_masked(struct upmu_session *session);

/* The session ends, or gets another format. */
void upmu_format_end(struct upmu_session *session);

#endif
