/* SPDX-License-Identifier: MIT */
/* Report overflows of events: declarations for other core files. */
#ifndef UPMU_CORE_REPORT_H
#define UPMU_CORE_REPORT_H

#include "core/engine/session_core.h"

/*
 * Report that events of a session have overflowed together (bit i of `events`: event i of its active set).  `frame` may
 * be NULL.  The time is passed by pointer, as that takes fewer bytes of stack on i386.
 */
void upmu_report(struct upmu_session *session, uint32_t events, const struct upmu_frame *frame, const uint64_t *now_ns);

/*
 * upmu_report() for overflows that a plan finds when it takes counts.  The frame is that of the first interrupt in this
 * bracket that found an overflow, if it found these; else there is none.
 */
void upmu_report_store(struct upmu_meter *meter, struct upmu_session *session, uint32_t events, uint64_t now_ns);

#endif
