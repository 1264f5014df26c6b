/* SPDX-License-Identifier: MIT */
/*
 * Start, stop and restart of sessions, and what a session is to others while it runs.
 */
#include "core/util/bits.h"
#include "core/engine/bracket.h"
#include "core/engine/count.h"
#include "core/engine/features.h"
#include "core/engine/meter.h"
#include "core/engine/reconcile.h"
#include "core/engine/session_core.h"
#include "core/engine/sets.h"
#include "core/engine/special.h"
#include "core/engine/thread_core.h"
#include "core/engine/waiting.h"

/*
 * Run a call without arguments for a session; UPMU_ERR_STATE where the session has no target.  `joins`:
 * upmu_call.joins.
 */
static enum upmu_status on_cpu(struct upmu_session *session, enum upmu_status (*work)(const struct upmu_call *call),
                               bool joins)
{
    struct upmu_call call = {.work = work, .session = session, .follow = true, .targeted = true, .joins = joins};

    return upmu_session_attached(session) ? upmu_session_call(&call) : upmu_session_refuse(session, UPMU_ERR_STATE);
}

enum upmu_status upmu_session_share(struct upmu_session *session, bool share)
{
    if (share && !UPMU_SHARING)
        return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    session->shares = share;
    return UPMU_OK;
}

/*
 * Give each event of session->long_due its long period (upmu_sampling.long_period), if it has one: the next sample is
 * due after so many events.  The events are those whose overflows have masked the session.
 */
static void begin_long(struct upmu_session *session)
{
    struct upmu_set *set = upmu_active(session);

    for (uint32_t rest = session->long_due; rest; rest &= rest - 1u) {
        unsigned i = upmu_bits_lowest(rest);
        struct upmu_tally *tally = &set->tally[i];

        if (i >= set->count || !set->sampling[i].long_period)
            continue;
        upmu_count_next(tally, set->sampling[i].long_period, 0);
        if (session->meter && tally->counter < UPMU_COUNTERS)
            upmu_meter_untag(session->meter, tally);
        session->tagged_by = session->meter ? session->meter->life : 0;
    }
    session->long_due = 0;
}

enum upmu_status upmu_session_continue(struct upmu_session *session, uint32_t stopped_by, bool masked)
{
    if (session->state != UPMU_SESSION_STOPPED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    session->long_due = stopped_by;
    if (masked)
        upmu_waiting_end(session, UPMU_SESSION_MASKED);
    return upmu_session_refuse(session, UPMU_OK);
}

enum upmu_status upmu_session_alone(struct upmu_session *session, bool alone)
{
    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    session->alone = alone;
    return UPMU_OK;
}

enum upmu_status upmu_session_static(struct upmu_session *session, bool is_static)
{
    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    session->is_static = is_static;
    return UPMU_OK;
}

/*
 * Before a session that starts gets its counters: give the events in `long_due` their long periods, begin the first set
 * or switch to the next one if it is due, and clear session->why.
 */
static void begin_start(struct upmu_session *session)
{
    if (UPMU_SAMPLING && session->long_due)
        begin_long(session);
#if UPMU_SETS
    upmu_sets_begin(session);
    if (session->switch_due)
        upmu_sets_advance(session, NULL);
#endif
    upmu_features_start(session);
    (void)upmu_session_refuse(session, UPMU_OK);
}

static enum upmu_status start_work(const struct upmu_call *call)
{
    struct upmu_session *session = call->session;
    enum upmu_status status;

    if (upmu_session_is_started(session)) {
        if (UPMU_THREADS && call->meter)
            upmu_thread_spare(call->meter, session); /* the call has linked it */
        return UPMU_OK;
    }
    if ((!UPMU_THREADS || call->meter) && !call->meter->live)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    begin_start(session);
    if (UPMU_THREADS && !call->meter) {
        UPMU_STORE(session->error, UPMU_OK);
        return upmu_thread_start(session);
    }
    status = upmu_waiting_start(call->meter, session, true);
    UPMU_STORE(session->why.status, status);
    upmu_waiting_admit(call->meter, false);
    if (upmu_session_waits(session))
        upmu_thread_spare(call->meter, session);
    return status;
}

enum upmu_status upmu_session_start(struct upmu_session *session)
{
    enum upmu_status status = on_cpu(session, start_work, true);

    /*
     * An interrupt that met a fault may have stopped the session since the start: return its error.  A session that
     * waits is started.
     */
    return status == UPMU_OK && !upmu_session_waits(session) ? UPMU_LOAD(session->error) : status;
}

enum upmu_status upmu_session_restart(struct upmu_session *session)
{
    if (UPMU_LOAD(session->state) != UPMU_SESSION_MASKED || !upmu_features_restart(session))
        return UPMU_OK;
    return upmu_session_start(session);
}

static enum upmu_status stop_work(const struct upmu_call *call)
{
    enum upmu_status status = upmu_session_halt(call->meter, call->session);

    if (call->meter)
        upmu_waiting_admit(call->meter, false);
    else
        upmu_thread_stopped(call->session);
    return status;
}

enum upmu_status upmu_session_stop(struct upmu_session *session)
{
    return on_cpu(session, stop_work, false);
}

/* Arguments of upmu_sessions_change(): arrays of the sessions to start and to stop, and their lengths. */
struct these {
    struct upmu_session *const *start, *const *stop;
    unsigned starts, stops;
};

/*
 * Stop and start by one plan as many of `these` as can be: stop the running sessions of this meter, and start those
 * that have a valid placement.  If any session waits on this meter, or the meter sleeps, nothing is changed.
 */
static void change_at_once(struct upmu_meter *meter, const struct these *these)
{
    struct upmu_plan *plan = &meter->plan;
    struct upmu_session *session;

    if (!meter->live || upmu_waiting_any(meter))
        return;
    upmu_plan_begin(meter, UPMU_SESSION_STOPPED);
    for (unsigned i = 0; i < these->stops; i++) {
        session = these->stop[i];
        if (UPMU_LOAD(session->meter) == meter && upmu_session_occupies(session))
            (void)upmu_plan_out(meter, session);
    }
    for (unsigned i = 0; i < these->starts; i++) {
        session = these->start[i];
        if (UPMU_LOAD(session->meter) != meter || upmu_session_is_started(session))
            continue;
        begin_start(session);
        if (upmu_plan_fits(meter, upmu_active(session)))
            (void)upmu_plan_in(meter, session, upmu_active(session));
    }
    if (!(plan->outs | plan->ins))
        return;
    upmu_reconcile(meter);
    for (unsigned i = 0; i < plan->outs; i++)
        /* as the session leaves, a last sample made it full, and the plan masked it: stop it, as was asked for */
        if (plan->out[i]->state == UPMU_SESSION_MASKED)
            upmu_waiting_end(plan->out[i], UPMU_SESSION_STOPPED);
}

/*
 * Stop and start all sessions: by one plan where possible, the others one by one.  A session that is not on this meter
 * is refused (UPMU_ERR_WRONG_CPU).  Returns the first status that is not UPMU_OK.
 */
static enum upmu_status change_work(struct upmu_meter *meter, void *argument)
{
    const struct these *these = argument;
    enum upmu_status status = UPMU_OK;

    /*
     * Link the sessions of the running thread that no switch has linked yet.  Each session that then still is not on
     * this meter is refused below (UPMU_ERR_WRONG_CPU); the others are stopped or started all the same.
     */
    for (unsigned i = 0; UPMU_THREADS && i < these->stops + these->starts; i++)
        (void)upmu_thread_admit(meter, i < these->stops ? these->stop[i] : these->start[i - these->stops]);
    change_at_once(meter, these);
    for (unsigned i = 0; i < these->stops + these->starts; i++) {
        bool stops = i < these->stops;
        struct upmu_call call = {.session = stops ? these->stop[i] : these->start[i - these->stops], .meter = meter};
        enum upmu_status one = UPMU_ERR_WRONG_CPU;

        if (UPMU_LOAD(call.session->meter) != meter)
            (void)upmu_session_refuse(call.session, one);
        else if (stops ? call.session->state == UPMU_SESSION_STOPPED : upmu_session_is_started(call.session))
            one = call.session->error;
        else
            one = stops ? stop_work(&call) : start_work(&call);
        if (status == UPMU_OK)
            status = one;
    }
    upmu_waiting_admit(meter, false);
    return status;
}

enum upmu_status upmu_sessions_change(struct upmu_cpu *cpu, struct upmu_session *const *start, unsigned starts,
                                   struct upmu_session *const *stop, unsigned stops)
{
    struct these these = {start, stop, starts, stops};

    return cpu->meter.pmu ? upmu_bracket_run(&cpu->meter, change_work, &these) : UPMU_ERR_NO_PMU;
}
