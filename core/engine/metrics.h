/* SPDX-License-Identifier: MIT */
/*
 * Top-down metrics (R29): bytes of PERF_METRICS, fractions of the slots that fixed counter 3 has
 * counted since both were zeroed.  A session's metrics are read together; each read ends a window
 * and begins a new one.
 */
#ifndef UPMU_CORE_METRICS_H
#define UPMU_CORE_METRICS_H

#include "core/engine/joint.h"

/* Is this a placement of a metric? */
static inline bool upmu_tally_is_metric(const struct upmu_tally *tally)
{
    return UPMU_METRICS && tally->metric;
}

/* One that is attached to this PMU. */
static inline bool upmu_session_has_metrics(const struct upmu_meter *meter, const struct upmu_session *session)
{
    /* (Mostly it has no such numbers: that is seen without its PMU.) */
    return UPMU_METRICS && session->counters >> 24 && (session->counters & UPMU_METRIC_COUNTERS(meter->pmu));
}

#if UPMU_METRICS

/*
 * Begin a window; the gates are closed.  UPMU_OK, UPMU_ERR_PORT, UPMU_ERR_UNSUPPORTED
 * (slots are sampled beside their metrics).
 */
enum upmu_status upmu_metrics_begin(struct upmu_meter *meter, struct upmu_session *session);

/* Add the window to the tallies; the gates are closed.  False: a register faulted. */
bool upmu_metrics_take(struct upmu_meter *meter, struct upmu_session *session);

/* Both, while the session runs, in a local bracket; a fault stops the session. */
enum upmu_status upmu_metrics_update(struct upmu_meter *meter, struct upmu_session *session);

#else

static inline enum upmu_status upmu_metrics_begin(struct upmu_meter *meter, struct upmu_session *session)
{
    (void)meter;
    (void)session;
    return UPMU_OK;
}

static inline bool upmu_metrics_take(struct upmu_meter *meter, struct upmu_session *session)
{
    (void)meter;
    (void)session;
    return true;
}

static inline enum upmu_status upmu_metrics_update(struct upmu_meter *meter, struct upmu_session *session)
{
    (void)meter;
    (void)session;
    return UPMU_OK;
}

#endif

#endif
