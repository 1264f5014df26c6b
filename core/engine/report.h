/* SPDX-License-Identifier: MIT */
/*
 * Overflows of a session's events become samples, in the handler and in the local side.
 */
#ifndef UPMU_CORE_REPORT_H
#define UPMU_CORE_REPORT_H

#include "core/engine/session_core.h"

/* session->switch_due: the handler has not yet tried. */
#define UPMU_SWITCH_FRESH 2u

/* The local side changes it: it is left as it is. */
static inline bool upmu_tally_is_held(const struct upmu_meter *meter, const struct upmu_tally *tally)
{
    return ((tally->sequence & 1u) | (meter->held & tally->counters)) != 0;
}

/*
 * Events of a session have overflowed together: for the handler, or the local side, which holds all tallies.  (The time
 * by its place: fewer bytes of stack on i386.)
 */
void upmu_report_overflow(struct upmu_session *session, uint32_t events, const struct upmu_frame *frame,
                          const uint64_t *now_ns);

/*
 * From the local side, which holds all tallies of the session: one sample for the
 * events whose overflow it found.  `frame`: upmu_report_frame()'s, or NULL.
 */
void upmu_report_emit(struct upmu_cpu *cpu, struct upmu_session *session, uint32_t events,
                      const struct upmu_frame *frame);

/* What the interrupt that deferred one of these counters had interrupted; false: it is not known. */
bool upmu_report_frame(const struct upmu_meter *meter, uint32_t counters, struct upmu_frame *out_frame);

#endif
