/* SPDX-License-Identifier: MIT */
/*
 * Hooks of upmu_reconcile() for plans, sessions and PMUs that are not plain (plan.odd).  Each hook adds something to
 * one step of upmu_reconcile(); none adds or removes sessions of the plan.
 */
#ifndef UPMU_CORE_SPECIAL_H
#define UPMU_CORE_SPECIAL_H

#include "core/engine/plan.h"

/* Does each plan of this meter need these hooks? */
bool upmu_special_pmu(const struct upmu_meter *meter);

/*
 * Before counters are closed: find the counters that stay open (plan->carried, still, kept), and decide how the events
 * that come begin (written, based, begun, dormant).  On entry plan->carried has the counters that may run on.
 */
void upmu_special_prepare(struct upmu_meter *meter);

/* Before the counts of a session are taken: end the window of its metrics, and add their counts. */
void upmu_special_begin_take(struct upmu_meter *meter, struct upmu_session *session);

/*
 * Returns the counter that is to be read for an event that leaves.  UPMU_NO_COUNTER: none, as the event is a metric, is
 * read later, or could not be read.
 */
unsigned upmu_special_take(struct upmu_meter *meter, struct upmu_tally *tally);

/*
 * After the counts of a session are taken: note boxes that were gone or reset (`hole`), and make the registers that
 * such a box has lost unknown.
 */
void upmu_special_end_take(struct upmu_meter *meter, const struct upmu_session *session);

/*
 * Before the close: fold the events that move, and where the close would lose a carry all events that leave.  Returns
 * the targets of cascades that leave.  They are to be closed first, as the close of an initiator would stop its target,
 * too.
 */
uint32_t upmu_special_before_close(struct upmu_meter *meter);

/*
 * After the counts are taken: write the erratum's sequence, at most twice.  Counters that it overwrites, and all
 * unowned ones, hold no event's value then, and each event that comes is loaded anew.  Returns false where a register
 * faulted both times: an event that is selected then counts wrong.
 */
bool upmu_special_sequence(struct upmu_meter *meter);

/*
 * Before the start values of a set are loaded: correct which events have a base to take (plan->based) and which begin
 * anew (plan->begun), as the counts are taken now; take over unowned counters.  Returns false on a PMU whose counters
 * never stop: the events have begun here, and are not to be loaded.
 */
bool upmu_special_before_load(struct upmu_meter *meter, struct upmu_set *set);

/*
 * After the start values of a session: note the user of each counter, load initiators of cascades, begin the window of
 * metrics.
 */
void upmu_special_load(struct upmu_meter *meter, struct upmu_session *session);

/*
 * After the counters are open: add what events have counted on their former counters since upmu_special_before_close(),
 * and add the gaps of moves and sequences.
 */
void upmu_special_opened(struct upmu_meter *meter);

/* Note that these counters hold no event's value, and that no static session has left one of them running. */
void upmu_special_empty(struct upmu_meter *meter, uint32_t counters);

/*
 * After a change of what runs, in a build with worlds: sum up which running counters are of host sessions and which of
 * guest sessions (meter->of_world), and which of them are absent (bank.absent).
 */
void upmu_special_worlds(struct upmu_meter *meter);

/* Is this the tally of a metric?  False in a build without metrics. */
static inline bool upmu_tally_is_metric(const struct upmu_tally *tally)
{
    return UPMU_METRICS && tally->metric;
}

#if UPMU_METRICS

/* Has a session counters that stand for metrics of this PMU? */
static inline bool upmu_session_has_metrics(const struct upmu_meter *meter, const struct upmu_session *session)
{
    /* Most sessions have no counter above 23: for them the PMU is not looked at. */
    return session->counters >> 24 && (session->counters & UPMU_METRIC_COUNTERS(meter->pmu));
}

/*
 * End the window of a session's metrics, whose counters are stopped: add their counts.  Returns false where a register
 * faulted.
 */
bool upmu_special_take_metrics(struct upmu_meter *meter, struct upmu_session *session);

/* End the window of a running session's metrics, add their counts, and begin the next window.  Inside a bracket. */
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

static inline void upmu_special_update_metrics(struct upmu_meter *meter, struct upmu_session *session)
{
    (void)meter;
    (void)session;
}

#endif

#endif
