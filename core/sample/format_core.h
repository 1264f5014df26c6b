/* SPDX-License-Identifier: MIT */
/*
 * Declarations for reporting an overflow, found by an interrupt or a bracket, to format, ring and queue.
 */
#ifndef UPMU_CORE_FORMAT_CORE_H
#define UPMU_CORE_FORMAT_CORE_H

#include <upmu/format.h>

/*
 * Report events of one session that overflowed: make records and messages, call hooks. The caller has filled in
 * cpu->overflow except `event`, and folded the values that the events ask for. Returns UPMU_OVERFLOW_MASK if the
 * session is to be masked.
 * Context: a bracket, or a handler that interrupted none.
 */
unsigned upmu_format_report(struct upmu_overflow *overflow);

/* Does the host's format want a masked session to stay masked when it is restarted? */
bool upmu_format_stays_masked(struct upmu_session *session);

/*
 * Tell the host's format, if the session has one, that the format is no longer used: the session ends, or gets another
 * format.
 */
void upmu_format_end(struct upmu_session *session);

#endif
