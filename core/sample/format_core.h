/* SPDX-License-Identifier: MIT */
/*
 * Declarations for reporting an overflow, which a handler or a bracket has found, to the session's format, ring and
 * message queue.
 */
#ifndef UPMU_CORE_FORMAT_CORE_H
#define UPMU_CORE_FORMAT_CORE_H

#include <upmu/format.h>

/*
 * Report the events of one session that have overflowed (overflow->events): write records and messages, and call the
 * host's format. The caller has filled in *overflow except `event`, and has folded the events whose counts are to be in
 * records. In the result the bit UPMU_OVERFLOW_MASK is set if the session must be masked; other bits have no meaning
 * for the caller. Context: a bracket, or a handler that interrupted none.
 */
unsigned upmu_format_report(struct upmu_overflow *overflow);

/* At the restart of a masked session: does the session's format, one of the host's, want it to stay masked? */
bool upmu_format_stays_masked(struct upmu_session *session);

/*
 * Call the end function of the session's format, if the session has one of the host's, and set session->format to NULL.
 * Called when the session ends or gets another format.
 */
void upmu_format_end(struct upmu_session *session);

#endif
