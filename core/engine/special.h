/* SPDX-License-Identifier: MIT */
/*
 * Parts of upmu_reconcile() for sessions and PMUs that are not plain: each function adds to a step, and none changes
 * what runs.
 */
#ifndef UPMU_CORE_SPECIAL_H
#define UPMU_CORE_SPECIAL_H

#include "core/engine/plan.h"

/* Does a PMU ask for some of this in every change? */
bool upmu_special_pmu(const struct upmu_meter *meter);

/* Before anything is closed: what stays open, and how events begin.  plan->carried has the counters proposed. */
void upmu_special_prepare(struct upmu_meter *meter);

/* Before the counts of a session are taken: its metrics. */
void upmu_special_begin_take(struct upmu_meter *meter, struct upmu_session *session);

/* Of one event: the counter that is to be read for it, or UPMU_NO_COUNTER. */
unsigned upmu_special_take(struct upmu_meter *meter, struct upmu_tally *tally);

/* After the counts are taken: boxes that were gone or reset. */
void upmu_special_end_take(struct upmu_meter *meter, const struct upmu_session *session);

/*
 * Where closing a counter loses a carry: what leaves is added before.  Returns targets of cascades that leave: closed
 * before their initiators, whose end would stop them, too.
 */
uint32_t upmu_special_before_close(struct upmu_meter *meter);

/* After the counts are taken: the erratum's sequence.  False: what is selected next counts wrong. */
bool upmu_special_sequence(struct upmu_meter *meter);

/*
 * Before the start values of a set: how its events begin, after the counts were taken.  False: they have begun, and no
 * counter belongs to them, as it never stops.
 */
bool upmu_special_before_load(struct upmu_meter *meter, struct upmu_set *set);

/* After the start values: other counters of an event, initiators of cascades, windows of metrics. */
void upmu_special_load(struct upmu_meter *meter, struct upmu_session *session);

/* After the counters are open: what moved from another counter, and what a sequence cost. */
void upmu_special_opened(struct upmu_meter *meter);

/* Which counters belong to sessions of one world, after the plan; what is absent. */
void upmu_special_worlds(struct upmu_meter *meter);

/* Is this a placement of a metric? */
static inline bool upmu_tally_is_metric(const struct upmu_tally *tally)
{
    return UPMU_METRICS && tally->metric;
}

#if UPMU_METRICS

/* Has a session metrics that this PMU counts? */
static inline bool upmu_session_has_metrics(const struct upmu_meter *meter, const struct upmu_session *session)
{
    /* Most sessions have no counter above 23: that is seen without their PMU. */
    return session->counters >> 24 && (session->counters & UPMU_METRIC_COUNTERS(meter->pmu));
}

/* Add the window of metrics of a session whose counters are stopped; false: a register faulted. */
bool upmu_special_take_metrics(struct upmu_meter *meter, struct upmu_session *session);

/* Are slots sampled beside their metrics?  Then the session cannot start. */
bool upmu_special_clash(const struct upmu_meter *meter, struct upmu_session *session);

/* The window so far is added, and the next one begins; while the session runs, in a bracket. */
void upmu_special_update_metrics(struct upmu_meter *meter, struct upmu_session *session);

#else

static inline bool upmu_session_has_metrics(const struct upmu_meter *meter, const struct upmu_session *session)
{
    (void)meter;
    (void)session;
    return false;
}

static inline bool upmu_special_take_metrics(struct upmu_meter *meter, struct upmu_session *session)
{
    (void)meter;
    (void)session;
    return true;
}

static inline bool upmu_special_clash(const struct upmu_meter *meter, struct upmu_session *session)
{
    (void)meter;
    (void)session;
    return false;
}

static inline void upmu_special_update_metrics(struct upmu_meter *meter, struct upmu_session *session)
{
    (void)meter;
    (void)session;
}

#endif

#endif
