/* SPDX-License-Identifier: MIT */
/*
 * Changes of what runs, in one step: a start, a stop, a thread switch, a set switch, a rotation
 * (docs/DESIGN.md, "Threads, multiplexing and sets").
 *
 * Close what stops or differs, take the counts, load what differs, open.  A counter
 * that both sides want with the same configuration runs on.
 */
#include "core/util/apart.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/util/bits.h"
#include "core/engine/claims.h"
#include "core/engine/count.h"
#include "core/engine/local.h"
#include "core/engine/metrics.h"
#include "core/engine/run.h"
#include "core/engine/schedule.h"
#include "core/engine/sets.h"
#include "core/engine/turns.h"
#include "core/engine/transition.h"

struct change {
    struct upmu_meter *meter;
    struct upmu_session *only; /* without threads: the one that changes */
    enum upmu_status status;   /* UPMU_ERR_PORT: a register faulted */
    uint32_t leaving; /* counters of those that leave */
    uint32_t coming;  /* counters of those that come, to be opened */
    uint32_t spoiled; /* counters that cannot run on */
    uint32_t staying; /* counters that run on from one to the other */
    uint32_t closed;  /* counters of those that leave, which handlers may have closed */
    uint32_t user;    /* counters of those that come, of user mode alone */
    uint32_t kept;    /* counters that run on, in no session's count */
};

/* Those that may change. */
#if UPMU_THREADS
#define EACH_CHANGING(session, change)                                                                                 \
    (struct upmu_session *session = (change)->meter->sessions; session; session = session->next)
#else
#define EACH_CHANGING(session, change) (struct upmu_session *session = (change)->only; session; session = NULL)
#endif

static bool leaves(const struct upmu_session *session)
{
    return session->change & UPMU_CHANGE_LEAVES;
}

static bool comes(const struct upmu_session *session)
{
    return session->change & UPMU_CHANGE_COMES;
}

/* Its placement is decided; or it stops for good. */
static bool alone(const struct upmu_session *session)
{
    return !UPMU_THREADS || (session->change & UPMU_CHANGE_ALONE);
}

#if UPMU_THREADS

bool upmu_set_is_plain(const struct upmu_set *set)
{
    for (unsigned i = 0; i < set->count; i++)
        if (upmu_tally_cascades(&set->tally[i]) || upmu_tally_is_metric(&set->tally[i]) ||
            upmu_tally_is_wide(&set->tally[i]))
            return false;
    return true;
}

bool upmu_set_was_tried(const struct upmu_meter *meter, const struct upmu_set *set, uint64_t company)
{
    return set->placed_class == upmu_schedule_class(meter) && set->placed_blocked == upmu_meter_blocked(meter) &&
           set->placed_beside == company;
}

/* Counters of an image that count user mode alone. */
static uint32_t user_only(const struct upmu_pmu *pmu, const struct upmu_image *image)
{
    uint32_t user = 0;

    for (unsigned i = 0; UPMU_BACKEND_AMD && pmu->kernel_select && i < image->count; i++)
        if (!(image->entry[i].value & pmu->kernel_select))
            user |= image->entry[i].guard;
    return user;
}

/* Counters whose registers do not hold what the set wants; false: it has to come by another way. */
static bool compare_image(const struct upmu_meter *meter, struct upmu_set *set, uint32_t *differ, uint32_t *user,
                          struct upmu_image *image)
{
    upmu_run_image(meter, set, image);
    *differ = upmu_bank_changes(&meter->bank, image);
    *user = user_only(meter->pmu, image);
    return !image->overfull && !(UPMU_PRELUDES && image->prelude && *differ);
}

static UPMU_APART bool compare_on_stack(const struct upmu_meter *meter, struct upmu_set *set, uint32_t *differ,
                                        uint32_t *user)
{
    struct upmu_image image;

    return compare_image(meter, set, differ, user, &image);
}

static bool compare(const struct upmu_meter *meter, struct upmu_set *set, uint32_t *differ, uint32_t *user)
{
    if (!upmu_set_is_plain(set))
        return false;
    return meter->work ? compare_image(meter, set, differ, user, upmu_meter_image(meter))
                     : compare_on_stack(meter, set, differ, user);
}

/* What other CPUs see is claimed as it was for the last placement; false: another CPU has it. */
static UPMU_APART bool claim(struct upmu_meter *meter, struct upmu_session *session)
{
    struct upmu_joint joint;

    upmu_joint_begin(&joint, meter->pmu);
    return upmu_joint_add(&joint, session, true) && upmu_claims_take(meter, &joint);
}

/* Is the last placement of a set valid beside the sessions that run, and are its counters free? */
static bool is_placed(const struct change *change, struct upmu_session *session, uint64_t company)
{
    struct upmu_meter *meter = change->meter;
    const struct upmu_set *set = session->coming;

    return set->counters && upmu_set_was_tried(meter, set, company) &&
           !(set->counters & ((meter->running & ~change->leaving) | change->coming)) &&
           (!upmu_set_shares(meter, set) || (set == upmu_active(session) && claim(meter, session)));
}

/* Those that have a placement come, the others later: one may be good only beside another. */
static void choose(struct change *change, uint64_t company)
{
    struct upmu_meter *meter = change->meter;
    bool found = true;

    while (found) {
        found = false;
        for EACH_CHANGING(session, change) {
            uint32_t differ, user;

            if (!(session->change & UPMU_CHANGE_LATER) || !is_placed(change, session, company) ||
                !compare(meter, session->coming, &differ, &user))
                continue;
            session->change ^= UPMU_CHANGE_COMES | UPMU_CHANGE_LATER;
            change->coming |= session->coming->counters;
            change->spoiled |= differ;
            change->user |= user;
            company += upmu_schedule_stamp(session->coming);
            found = true;
        }
    }
}

/* The tally that is read from a counter and leaves it, or NULL. */
static struct upmu_tally *leaving_tally(const struct change *change, unsigned counter)
{
    struct upmu_tally *tally = change->leaving >> counter & 1u ? upmu_run_on(change->meter, counter) : NULL;

    return tally && !upmu_tally_samples(tally) ? tally : NULL;
}

/* Left running by a static session, known to be, and in no session's count. */
static bool runs_unowned(const struct upmu_meter *meter, uint32_t counters)
{
    if ((counters & meter->running) || upmu_bank_open(&meter->bank, counters) != counters)
        return false;
    for (uint32_t rest = counters; rest; rest &= rest - 1u)
        if (!upmu_bank_knows(&meter->bank, meter->pmu->counter[upmu_bits_lowest(rest)].gate_row))
            return false;
    return true;
}

/* Both sides count user mode alone on its counter: it is changed while it runs. */
static bool stands_still(const struct change *change, const struct upmu_tally *coming)
{
    const struct upmu_tally *leaving;

    if (!(coming->counters & change->user & change->leaving & ~change->closed) || coming->shared)
        return false;
    leaving = upmu_run_on(change->meter, coming->counter);
    return leaving && upmu_run_still(change->meter, leaving);
}

/*
 * Counters that need not be closed: both sides only count there, the same, or they stand
 * still now.  Handlers leave the tallies alone: none closes a counter any more.
 */
static void find_staying(struct change *change)
{
    change->closed = change->meter->deferred;
    for EACH_CHANGING(session, change)
        if (leaves(session) && (session->full || session->switch_due || upmu_session_has_metrics(session) ||
                                upmu_session_dormant(session)))
            change->closed |= session->counters;
    change->spoiled |= change->closed;
    for EACH_CHANGING(session, change) {
        if (!comes(session))
            continue;
        for UPMU_TALLIES(tally, session->coming) {
            if (!upmu_tally_samples(tally) && !(tally->counters & change->spoiled) &&
                (runs_unowned(change->meter, tally->counters) ||
                 (!(tally->counters & ~change->leaving) && leaving_tally(change, tally->counter))))
                change->staying |= tally->counters;
            else if (stands_still(change, tally))
                change->meter->bank.still |= tally->counters;
        }
    }
}

#endif

/* The sessions that leave, those that come, and their counters. */
static void prepare(struct change *change)
{
    uint64_t company = 0;

    for EACH_CHANGING(session, change) {
        session->leaving = upmu_active(session);
        if (leaves(session)) {
            change->leaving |= session->counters; /* (none of an empty set) */
        } else if (UPMU_THREADS && upmu_session_holds(session)) {
            company += upmu_schedule_stamp(session->leaving);
        }
        if (comes(session) && alone(session)) {
            change->coming |= session->counters & ~upmu_session_dormant(session);
            change->spoiled |= session->counters;
        } else if (comes(session)) {
            session->change ^= UPMU_CHANGE_COMES | UPMU_CHANGE_LATER;
        }
    }
#if UPMU_THREADS
    choose(change, company);
#else
    (void)company;
#endif
}

/* Handlers leave the tallies of both sides alone, readers come again. */
static void hold(const struct change *change, bool hold)
{
    for EACH_CHANGING(session, change) {
        if (UPMU_THREADS && !leaves(session) && !comes(session))
            continue;
        session->sequence++;
        UPMU_BARRIER();
        if (!UPMU_THREADS || leaves(session))
            upmu_run_hold(session->leaving, hold);
        if (UPMU_THREADS && comes(session) && !(leaves(session) && session->coming == session->leaving))
            upmu_run_hold(session->coming, hold);
    }
}

static void stop_leaving(struct change *change, struct upmu_session *session, bool closed, uint64_t now_ns)
{
    struct upmu_meter *meter = change->meter;

    if (upmu_run_counts(meter, session) != UPMU_OK)
        closed = false;
    upmu_session_ran(session, now_ns);
    upmu_session_become(session, session->full   ? UPMU_SESSION_MASKED
                                 : alone(session) ? UPMU_SESSION_STOPPED
                                                  : UPMU_SESSION_WAITING);
    session->full = 0;
    if (UPMU_SETS && session->change & UPMU_CHANGE_COMES_OR_LATER)
        upmu_sets_switched(session, session->leaving);
    else if (UPMU_THREADS && session->change & UPMU_CHANGE_TURN)
        upmu_estimate_slot(session->leaving);
    if (closed)
        return;
    /* A register faulted: the sessions that come load their counters anew. */
    upmu_run_tag(meter, session->counters, 0);
    upmu_session_become(session, UPMU_SESSION_STOPPED);
    change->status = upmu_session_fault(meter, session);
}

static void close_leaving(struct change *change)
{
    struct upmu_meter *meter = change->meter;
    uint32_t dormant = 0;
    uint64_t now_ns;
    bool closed = true;

    for EACH_CHANGING(session, change) {
        if (!leaves(session))
            continue;
        dormant |= upmu_session_dormant(session) & session->counters;
        for UPMU_TALLIES(tally, session->leaving)
            if (!alone(session) && session->is_static && !upmu_tally_samples(tally))
                change->kept |= tally->counters & ~(change->spoiled | change->coming);
    }
    /* An overflow found from here on may mask what leaves: a handler leaves open what runs on. */
    meter->staying = change->staying | change->kept | upmu_bank_kept_open(&meter->bank);
    for EACH_CHANGING(session, change)
        if (leaves(session) && upmu_run_folds_first(meter))
            for UPMU_TALLIES(tally, session->leaving)
                closed &= upmu_run_fold(meter, tally);
    closed &= upmu_run_shut_all(meter, change->leaving & ~meter->staying, dormant);
    now_ns = upmu_meter_now(meter);
    for EACH_CHANGING(session, change)
        if (leaves(session))
            stop_leaving(change, session, closed, now_ns);
    UPMU_BARRIER();
    meter->staying = 0;
}

#if UPMU_THREADS

/* The value at which one side left a counter is the other's base. */
static void take_staying(struct change *change, struct upmu_session *session)
{
    struct upmu_meter *meter = change->meter;

    for UPMU_TALLIES(tally, session->coming) {
        const struct upmu_tally *leaving;

        if (!(tally->counters & (change->staying | upmu_bank_kept_open(&meter->bank))) || upmu_tally_samples(tally))
            continue;
        tally->turned = upmu_count_stamp(upmu_meter_now(meter));
        /* (Where another one has failed meanwhile, those that leave are forgotten.) */
        leaving = change->leaving & tally->counters ? meter->tally[tally->counter] : NULL;
        if (leaving)
            tally->base = leaving->base;
        else if (!upmu_bank_read(&meter->bank, tally->counter, &tally->base))
            meter->last_tag[tally->counter] = 0;
        /* A read that faulted left no base. */
        if (meter->last_tag[tally->counter])
            upmu_run_tag(meter, tally->counters, tally->tag);
        else
            change->staying &= ~tally->counters;
    }
}

#endif

/* Bring one in, gates closed but for those that stay. */
static void load_coming(struct change *change, struct upmu_session *session)
{
    struct upmu_meter *meter = change->meter;
    enum upmu_status status = UPMU_ERR_STATE; /* it left, and is masked or failed */

#if UPMU_THREADS
    if (!alone(session)) {
        session->active = session->coming;
        session->counters = session->coming->counters;
        if (session->state == UPMU_SESSION_WAITING)
            take_staying(change, session);
    }
#endif
    if (alone(session) || session->state == UPMU_SESSION_WAITING)
        status = upmu_run_load(meter, session, change->coming & ~change->staying);
    if (status == UPMU_OK)
        return;
    change->status = status;
    if (UPMU_THREADS)
        (void)upmu_run_shut(meter, session->coming->counters & upmu_bank_kept_open(&meter->bank));
    change->coming &= ~session->counters;
    session->change &= (uint8_t)~UPMU_CHANGE_COMES;
    if (UPMU_THREADS && (!leaves(session) || session->coming != session->leaving))
        upmu_run_hold(session->coming, false);
    session->sequence += UPMU_THREADS && !leaves(session);
    if (status == UPMU_ERR_PORT)
        (void)upmu_run_fail(meter, session);
}

static void announce_coming(struct change *change, struct upmu_session *session, uint64_t now_ns)
{
    for UPMU_TALLIES(tally, upmu_active(session)) {
        upmu_run_take(change->meter, session, tally);
        tally->ran |= !upmu_tally_cascades(tally);
    }
    session->error = UPMU_OK;
    session->full = 0;
    /* Time spent switching, or leaving and coming, counts as no session's enabled time. */
    if (upmu_session_waits(session) && !(session->change & (UPMU_CHANGE_LEAVES | UPMU_CHANGE_FRESH)))
        upmu_session_enabled(session, now_ns);
    session->change &= (uint8_t)~UPMU_CHANGE_FRESH;
    session->started_ns = now_ns;
    session->running_ns = now_ns;
    upmu_session_become(session, UPMU_SESSION_RUNNING);
    /* The stop before found an overflow that wants the next set: as soon as the call is done. */
    if (UPMU_SETS && session->switch_due) {
        session->closed_ns = now_ns;
        change->meter->mask_due = 1;
    }
}

static void open_coming(struct change *change)
{
    if (upmu_run_open(change->meter, change->coming & ~change->staying))
        return;
    for EACH_CHANGING(session, change)
        if (comes(session)) {
            upmu_run_mar(session);
            change->status = upmu_run_fail(change->meter, session);
        }
}

/* In a build without threads `only` changes. */
static enum upmu_status run_change(struct upmu_meter *meter, struct upmu_session *only)
{
    struct change change = { .meter = meter, .only = only };
    uint8_t keep_claims = meter->keep_claims;
    uint64_t now_ns;

    meter->keep_claims = 1;
    prepare(&change);
    hold(&change, true);
#if UPMU_THREADS
    find_staying(&change);
#endif
    close_leaving(&change);
    for EACH_CHANGING(session, &change)
        if (comes(session)) {
            load_coming(&change, session);
        } else if (UPMU_SETS && session->active != session->coming && leaves(session)) {
            session->active = session->coming;
            session->counters = 0;
        }
    meter->bank.still = 0;
    now_ns = upmu_meter_now(meter);
    for EACH_CHANGING(session, &change)
        if (comes(session))
            announce_coming(&change, session, now_ns);
        else if (session->change & UPMU_CHANGE_LATER)
            session->change |= UPMU_CHANGE_FRESH;
    upmu_schedule_publish(meter);
    hold(&change, false);
    open_coming(&change);
    for EACH_CHANGING(session, &change) {
        session->change &= UPMU_CHANGE_FRESH;
        meter->fresh |= session->change != 0;
    }
    meter->keep_claims = keep_claims;
    upmu_claims_trim(meter, false);
    return change.status;
}

/* One session; no other one is marked. */
static enum upmu_status change_one(struct upmu_meter *meter, struct upmu_session *session, unsigned part)
{
    session->coming = upmu_active(session);
    session->change |= (uint8_t)(part | UPMU_CHANGE_ALONE);
    return run_change(meter, session);
}

enum upmu_status upmu_run_start(struct upmu_meter *meter, struct upmu_session *session)
{
    if (UPMU_THREADS && upmu_transition_start(meter, session))
        return session->error;
    return change_one(meter, session, UPMU_CHANGE_COMES);
}

enum upmu_status upmu_schedule_stop(struct upmu_meter *meter, struct upmu_session *session)
{
    if (UPMU_THREADS && upmu_transition_stop(meter, session))
        return session->error;
    return change_one(meter, session, UPMU_CHANGE_LEAVES);
}

#if UPMU_THREADS

void upmu_change_run(struct upmu_meter *meter)
{
    (void)run_change(meter, NULL);
}

#endif
