/* SPDX-License-Identifier: MIT */
/*
 * Which sessions run where there are not counters enough for all.  A session of the CPU that does not share is refused
 * at its start, or keeps its counters until it stops.  It waits only if its next set has no place, or if its counter is
 * lent and another session of the CPU needs one.  Sessions of the thread that do not share get the other counters;
 * sharing sessions, in the order of their tickets, get what both leave.
 *
 * Each call looks at a few sessions, however many wait.  After a failed search no place is searched for a session that
 * waits until other sessions run beside it (upmu_program.refused); with a domain it is, as other CPUs change claims.
 * waiting_tick.c has what a tick does.
 */
#include "core/engine/waiting.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/port_call.h"
#include "core/place/placement.h"
#include "core/engine/claims.h"
#include "core/engine/estimate.h"
#include "core/engine/features.h"
#include "core/engine/joint.h"
#include "core/engine/machine.h"
#include "core/engine/meter.h"
#include "core/engine/placed.h"
#include "core/engine/placing.h"
#include "core/engine/reconcile.h"
#include "core/engine/program.h"
#include "core/engine/sets.h"
#include "core/engine/thread_core.h"

/* ---- One session ---- */

enum upmu_status upmu_waiting_bring(struct upmu_meter *meter, struct upmu_session *session, bool may_move)
{
    struct upmu_set *set = upmu_active(session);
    enum upmu_status status = UPMU_OK;

    upmu_plan_begin(meter, UPMU_SESSION_WAITING);
    /* A set that needs claims always gets a search: the claims of other CPUs may have changed. */
    if (upmu_claims_share_set(meter, set) ||
        !(upmu_plan_fits(meter, set) || (upmu_program_take(meter, session) && upmu_plan_fits(meter, set))) ||
        !upmu_plan_in(meter, session, set))
        status = upmu_placing_plan(meter, session, may_move);
    if (status != UPMU_OK)
        return status;
    upmu_reconcile(meter);
    return session->error;
}

#if UPMU_THREADS

/* ---- Checks without a search ---- */

/*
 * Returns the counters that sessions may have and that are not in `taken`.  Counters of the host, of the firmware and
 * of foreign software are none of them.
 */
static uint32_t free_beside(const struct upmu_meter *meter, uint32_t taken)
{
    return meter->pmu->counters & ~(taken | upmu_meter_blocked(meter));
}

bool upmu_waiting_could_fit(const struct upmu_meter *meter, const struct upmu_set *set, uint32_t taken, bool may_move)
{
    uint32_t left = free_beside(meter, taken), counters = may_move ? free_beside(meter, 0) : left, any = 0;

    for (unsigned i = 0; i < set->count; i++) {
        uint32_t wanted = set->event[i].counters;

        if (upmu_machine_pmu_of(meter->machine, set->event[i].pmu) != meter->pmu)
            return false;
        /* an event that names no counters, or a metric (all share one counter): true, so that a search decides */
        if (!wanted || (wanted & UPMU_METRIC_COUNTERS(meter->pmu)))
            return true;
        if (!(wanted & counters))
            return false;
        any |= wanted & counters;
    }
    return upmu_bits_count(any) >= set->count && upmu_bits_count(left) >= set->count;
}

/*
 * Returns the counters of the running sessions that do not share.  *corunners: the sum of their stamps; *others: does a
 * sharing session run?
 */
static uint32_t find_private(const struct upmu_meter *meter, uint64_t *corunners, bool *others)
{
    uint32_t counters = 0, rest = meter->running;

    *corunners = UPMU_SHARING ? 0 : meter->corunners;
    *others = false;
    if (!UPMU_SHARING)
        return rest;
    for (const struct upmu_session *session; (session = upmu_meter_next_running(meter, &rest)) != NULL;) {
        if (upmu_session_shares(session)) {
            *others |= session->state == UPMU_SESSION_RUNNING;
            continue;
        }
        counters |= session->counters;
        *corunners += upmu_placed_stamp(upmu_active(session));
    }
    return counters;
}

static bool has_no_room(enum upmu_status status)
{
    return status == UPMU_ERR_DOES_NOT_FIT || status == UPMU_ERR_TOO_HARD || status == UPMU_ERR_LOST_CLAIM ||
           status == UPMU_ERR_WRONG_PMU || status == UPMU_ERR_NO_SPACE;
}

/*
 * Has a CPU no memory for the precise records of a session, or no branch stack for its samples?  A start is refused
 * then, but a thread that comes to such a CPU runs there, and its session waits.
 */
static bool lacks_hook(enum upmu_status status)
{
    return UPMU_PRECISE && status == UPMU_ERR_HOOK_MISSING;
}

void upmu_waiting_end_turns(struct upmu_meter *meter)
{
    for (unsigned i = 0; i < meter->plan.outs; i++)
        if (meter->plan.out[i]->state == UPMU_SESSION_WAITING)
            upmu_estimate_turn(upmu_active(meter->plan.out[i]));
    upmu_waiting_leavers(meter);
}

#if UPMU_SHARING || UPMU_WORLDS

/*
 * Displace sessions that run on these counters: those for which leaves() is true, as many as a plan has room for.  They
 * wait then.  Returns whether a session was displaced.
 */
static bool clear_counters(struct upmu_meter *meter, uint32_t counters,
                           bool (*leaves)(const struct upmu_session *session))
{
    struct upmu_session *other;
    uint32_t rest = meter->running & counters;
    bool any = false;

    upmu_plan_begin(meter, UPMU_SESSION_WAITING);
    while ((other = upmu_meter_next_running(meter, &rest)) != NULL)
        any |= leaves(other) && upmu_plan_out(meter, other);
    if (any) {
        upmu_reconcile(meter);
        upmu_waiting_end_turns(meter);
    }
    return any;
}

#endif

#if UPMU_SHARING

static bool session_shares(const struct upmu_session *session)
{
    return upmu_session_shares(session);
}

enum upmu_status upmu_waiting_try(struct upmu_meter *meter, struct upmu_session *session, bool may_move)
{
    enum upmu_status status = UPMU_ERR_DOES_NOT_FIT;
    uint64_t corunners;
    bool others;

    (void)find_private(meter, &corunners, &others);
    if (upmu_session_shares(session) || !others)
        return upmu_waiting_bring(meter, session, may_move);
    if (upmu_waiting_could_fit(meter, upmu_active(session), meter->running, may_move))
        status = upmu_waiting_bring(meter, session, may_move);
    if (status != UPMU_ERR_DOES_NOT_FIT)
        return status;
    status = upmu_placing_pinned(meter, session);
    if (status != UPMU_OK)
        return status == UPMU_ERR_UNSUPPORTED || lacks_hook(status) ? status : UPMU_ERR_DOES_NOT_FIT;
    if (upmu_placed_was_refused(meter, upmu_active(session), corunners, may_move))
        return UPMU_ERR_DOES_NOT_FIT;
    (void)clear_counters(meter, upmu_active(session)->counters, session_shares);
    status = upmu_waiting_bring(meter, session, may_move);
    if (status != UPMU_ERR_DOES_NOT_FIT)
        return status;
    (void)clear_counters(meter, ~0u, session_shares);
    return upmu_waiting_bring(meter, session, may_move);
}

#else

enum upmu_status upmu_waiting_try(struct upmu_meter *meter, struct upmu_session *session, bool may_move)
{
    return upmu_waiting_bring(meter, session, may_move);
}

#endif

#if UPMU_WORLDS

/*
 * Does a session leave its counters for a session of the CPU?  A thread's session of guests does, and a session whose
 * first event's counter is lent (upmu_set_lend()).
 */
static bool session_yields(const struct upmu_session *session)
{
    return (session->thread && session->world == UPMU_WORLD_GUEST) ||
           upmu_tally_is_lent(upmu_active(session)->tally);
}

/*
 * Displace the running sessions for which session_yields() is true; returns whether there was one.  A displaced session
 * for which there is still room runs again at the end of the bracket.
 */
static UPMU_APART bool recall_counters(struct upmu_meter *meter)
{
    return clear_counters(meter, ~0u, session_yields);
}

#else

static bool recall_counters(struct upmu_meter *meter)
{
    (void)meter;
    return false;
}

#endif

#if UPMU_SHARING

/*
 * A session is about to wait: return counters that its place should leave to others.  They are those of the last
 * sessions of its list, at most 3, as far as the session could fit without them.  If counters for all of these come
 * free, the session can run beside them.
 */
static uint32_t find_spared(const struct upmu_meter *meter, const struct upmu_session *session)
{
    unsigned list = upmu_session_shares(session) + (session->thread ? UPMU_WAIT_THREAD : 0);
    const struct upmu_session *other = meter->last_waiting[list];
    uint32_t spared = 0;

    for (unsigned looks = UPMU_WAITING_LOOKS - 1u; other && looks; other = other->before_waiting, looks--) {
        if (!upmu_waiting_could_fit(meter, upmu_active(session), spared | upmu_active(other)->counters, false))
            break;
        spared |= upmu_active(other)->counters;
    }
    return spared;
}

#endif

enum upmu_status upmu_waiting_start(struct upmu_meter *meter, struct upmu_session *session, bool may_move)
{
    enum upmu_status status = upmu_waiting_try(meter, session, may_move);

    if (UPMU_WORLDS && has_no_room(status) && !(session->thread || upmu_session_shares(session)) &&
        recall_counters(meter))
        status = upmu_waiting_try(meter, session, may_move);
    if (!(has_no_room(status) && (session->thread || upmu_session_shares(session))) &&
        !(lacks_hook(status) && session->thread && !may_move))
        return status;
    UPMU_STORE(session->error, UPMU_OK);
#if UPMU_SHARING
    /*
     * If the session has no place that is valid on an idle PMU, a start (`may_move`) searches one, so that no stop has
     * to search.  A switch does not.
     */
    if (may_move && status == UPMU_ERR_DOES_NOT_FIT && !upmu_program_fits(meter, upmu_active(session), 0))
        upmu_placing_later(meter, session, find_spared(meter, session));
#endif
    upmu_waiting_begin(meter, session, upmu_meter_now(meter));
    return UPMU_OK;
}

bool upmu_waiting_was_refused(const struct upmu_meter *meter, const struct upmu_session *session, bool may_move)
{
    uint64_t corunners = meter->corunners;
    bool others;

    if (!upmu_meter_domain(meter)) {
        if (!upmu_session_shares(session))
            (void)find_private(meter, &corunners, &others);
        if (upmu_placed_was_refused(meter, upmu_active(session), corunners, may_move))
            return true;
    }
    return upmu_placing_lacks_hook(meter, session);
}

/*
 * Could a search find a place for a waiting session?  The place must be beside all that runs if the session shares,
 * else beside the sessions that do not share.
 */
static bool is_worth_a_search(const struct upmu_meter *meter, const struct upmu_session *session)
{
    uint32_t taken = meter->running;
    uint64_t corunners = meter->corunners;
    bool others;

    if (!upmu_session_shares(session))
        taken = find_private(meter, &corunners, &others);
    return !upmu_session_dropped(session) && upmu_placed_may_join(session, taken, corunners) &&
           upmu_waiting_could_fit(meter, upmu_active(session), taken, false) &&
           !upmu_waiting_was_refused(meter, session, false);
}

/* Has the set an event of another PMU?  A search refuses it, and session->why says so. */
static bool has_other_pmu(const struct upmu_meter *meter, const struct upmu_set *set)
{
    for (unsigned i = 0; i < set->count; i++)
        if (upmu_machine_pmu_of(meter->machine, set->event[i].pmu) != meter->pmu)
            return true;
    return false;
}

uint32_t upmu_waiting_taken(const struct upmu_meter *meter)
{
    uint64_t corunners;
    bool others;

    return find_private(meter, &corunners, &others);
}

/* A session waits because too few counters are free: say so in session->why. */
static void note_counters(struct upmu_session *session)
{
    if (UPMU_LOAD(session->why.status) != UPMU_OK)
        (void)upmu_session_refuse(session, UPMU_ERR_DOES_NOT_FIT);
    UPMU_STORE(session->why.status, UPMU_ERR_DOES_NOT_FIT);
    UPMU_STORE(session->why.collision, UPMU_COLLISION_COUNTERS);
}

bool upmu_waiting_come(struct upmu_meter *meter, struct upmu_session *session, bool search, uint32_t taken,
                       uint64_t now_ns)
{
    const struct upmu_set *set = upmu_active(session);

    if (search && !has_other_pmu(meter, set)) {
        search = upmu_waiting_could_fit(meter, set, taken, false);
        if (!search)
            note_counters(session);
        /* a search that is refused at once is made, so that session->why says what the CPU was not given */
        search = search && (upmu_placing_lacks_hook(meter, session) || is_worth_a_search(meter, session));
    }
    if (search)
        (void)upmu_waiting_start(meter, session, false);
    else
        upmu_waiting_begin(meter, session, now_ns);
    return search && !upmu_placing_lacks_hook(meter, session);
}

/* ---- Between ticks ---- */

#if UPMU_SHARING

/*
 * Plan out the sessions that have the counters `wanted`, if all of them share.  Returns false where one of them does
 * not share, or the plan has no room; some may be planned out then.
 */
static bool displace_sharers(struct upmu_meter *meter, uint32_t wanted)
{
    struct upmu_session *session;
    uint32_t rest;

    for (rest = wanted; rest; rest &= rest - 1u)
        if (!upmu_session_shares(meter->slot[upmu_bits_lowest(rest)].session))
            return false;
    for (rest = wanted; (session = upmu_meter_next_running(meter, &rest)) != NULL;)
        if (!upmu_plan_out(meter, session))
            return false;
    return true;
}

#else

static bool displace_sharers(struct upmu_meter *meter, uint32_t wanted)
{
    (void)meter;
    (void)wanted;
    return false;
}

#endif

bool upmu_waiting_plan(struct upmu_meter *meter, struct upmu_session *session)
{
    struct upmu_set *set = upmu_active(session);
    uint64_t corunners = meter->plan.corunners;
    uint32_t taken = upmu_plan_taken(meter);
    /* counters are taken, and the session or a co-runner runs alone: all sessions that have counters must leave */
    bool alone = set->counters && !upmu_placed_may_join(session, taken, corunners);

    if (alone)
        corunners = 0;
    else
        taken &= set->counters;
    if (taken && (upmu_session_shares(session) || (taken & meter->plan.come) ||
                  !upmu_program_fits(meter, set, corunners) ||
                  !(alone || (set->program.flags & UPMU_PROGRAM_FREE)) || !displace_sharers(meter, taken)))
        return false;
    if (!upmu_plan_fits(meter, set))
        return false;
    if (!session->meter)
        upmu_thread_link(meter, session, 0);
    return upmu_plan_in(meter, session, set);
}

/* Plan in the first UPMU_WAITING_LOOKS sessions that wait and do not share, where their placements are valid. */
static void fill_private(struct upmu_meter *meter)
{
    struct upmu_waiters walk = upmu_waiters_of(meter, 0);
    struct upmu_session *session;

    for (unsigned looks = UPMU_WAITING_LOOKS; looks && (session = upmu_waiters_next(&walk)) != NULL; looks--)
        if (!upmu_session_dropped(session))
            (void)upmu_waiting_plan(meter, session);
}

#if UPMU_SHARING

void upmu_waiting_fill(struct upmu_meter *meter, bool own)
{
    struct upmu_waiters walk = {meter->waiting[1], own ? NULL : meter->waiting[UPMU_WAIT_THREAD + 1u]};
    struct upmu_session *session;

    for (unsigned looks = UPMU_WAITING_LOOKS; looks && (session = upmu_waiters_next(&walk)) != NULL; looks--)
        if (!upmu_session_dropped(session) && upmu_plan_fits(meter, upmu_active(session)))
            (void)upmu_plan_in(meter, session, upmu_active(session));
}

bool upmu_waiting_search(struct upmu_meter *meter, unsigned shares)
{
    struct upmu_waiters walk = upmu_waiters_of(meter, shares);
    struct upmu_session *session;

    for (unsigned looks = UPMU_WAITING_LOOKS; looks && (session = upmu_waiters_next(&walk)) != NULL; looks--)
        if (is_worth_a_search(meter, session)) {
            (void)upmu_waiting_try(meter, session, false);
            return true;
        }
    return false;
}

#endif

void upmu_waiting_admit(struct upmu_meter *meter, bool searches)
{
    if (!meter->live)
        return;
    if (!upmu_waiting_any(meter)) {
        /* Where nothing would run, sessions of the thread that are no candidates are asked, too. */
        if (!UPMU_SHARING || meter->running || upmu_meter_is_unit(meter) || !meter->cpu->current ||
            !UPMU_LOAD(meter->cpu->current->unjoined))
            return;
        (void)upmu_thread_fill(meter, meter->cpu->current);
        if (!upmu_waiting_any(meter))
            return;
    }
    upmu_plan_begin(meter, UPMU_SESSION_WAITING);
    fill_private(meter);
    if (UPMU_SHARING && upmu_waiting_of(meter, 1) && free_beside(meter, upmu_plan_taken(meter)))
        upmu_waiting_fill(meter, false);
    if (meter->plan.outs | meter->plan.ins) {
        upmu_reconcile(meter);
        upmu_waiting_end_turns(meter);
    }
    if (UPMU_SHARING && (searches || !meter->running) && !upmu_waiting_search(meter, 0))
        (void)upmu_waiting_search(meter, 1);
}

#else

enum upmu_status upmu_waiting_start(struct upmu_meter *meter, struct upmu_session *session, bool may_move)
{
    return upmu_waiting_bring(meter, session, may_move);
}

void upmu_waiting_admit(struct upmu_meter *meter, bool searches)
{
    (void)meter;
    (void)searches;
}

#endif

#if UPMU_SUSPEND || UPMU_UNCORE

enum upmu_status upmu_waiting_reload(struct upmu_meter *meter, bool where_it_was)
{
    enum upmu_status status = UPMU_OK;

    for (struct upmu_session *session = meter->sessions; session; session = session->next) {
        bool lacks;

        if (upmu_session_waits(session))
            upmu_session_note(session, upmu_meter_now(meter));
        if (session->state != UPMU_SESSION_SUSPENDED)
            continue;
        upmu_waiting_end(session, UPMU_SESSION_STOPPED);
        lacks = upmu_placing_lacks_hook(meter, session);
        /*
         * `where_it_was`: the session has kept its claims, and runs again on its counters without a search.  Sessions
         * that wait get other counters, at the next tick.  Where the CPU has lost its memory for records or its branch
         * stack, a start is refused, and says why; a thread's session waits, as other CPUs may have them.
         */
        if (where_it_was && !lacks) {
            upmu_plan_begin(meter, UPMU_SESSION_WAITING);
            if (!upmu_plan_in(meter, session, upmu_active(session)))
                UPMU_STORE(session->error, upmu_session_refuse(session, UPMU_ERR_LOST_CLAIM));
            upmu_reconcile(meter);
        } else {
            UPMU_STORE(session->error, upmu_waiting_start(meter, session, !(session->thread && lacks)));
        }
        if (session->error != UPMU_OK)
            status = session->error;
    }
    return status;
}

#endif
