/* SPDX-License-Identifier: MIT */
/*
 * Which sessions run where there are not counters enough for all.  First come sessions of the CPU that do not share,
 * then sessions of the thread that do not share, last sharing sessions in the order of their tickets.
 *
 * Each switch and each tick looks at a few sessions, however many wait.  After a failed search no place is searched for
 * a session until other sessions run beside it (upmu_program.refused).
 */
#include "core/engine/waiting.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/port_call.h"
#include "core/place/placement.h"
#include "core/engine/claims.h"
#include "core/engine/estimate.h"
#include "core/engine/joint.h"
#include "core/engine/machine.h"
#include "core/engine/meter.h"
#include "core/engine/placed.h"
#include "core/engine/placing.h"
#include "core/engine/reconcile.h"
#include "core/engine/program.h"
#include "core/engine/sets.h"
#include "core/engine/thread_core.h"

/*
 * Stop and close all sessions of a meter whose last controller has dropped them.  A session that another call holds
 * stays until the next tick.
 */
static void bury_zombies(struct upmu_meter *meter)
{
    bool bury = __atomic_load_n(&meter->machine->dropped, __ATOMIC_RELAXED) != 0;
    struct upmu_session *next;

    for (struct upmu_session *session = bury ? meter->sessions : NULL; session; session = next) {
        next = session->next;
        if (upmu_session_dropped(session))
            (void)upmu_session_leave(meter, session, false); /* UPMU_ERR_BUSY: the next tick tries again */
    }
}

/* ---- One session ---- */

/*
 * Run a session on the counters of its last placement if that is valid; else search a place.  `may_move`: running
 * events may be moved for it.  Returns UPMU_OK, or why the session does not run.
 */
static enum upmu_status bring_session(struct upmu_meter *meter, struct upmu_session *session, bool may_move)
{
    struct upmu_set *set = upmu_active(session);
    enum upmu_status status = UPMU_OK;

    upmu_plan_begin(meter, UPMU_SESSION_WAITING);
    /* A set that needs claims always gets a search: the claims of other CPUs may have changed. */
    if (upmu_claims_share_set(meter, set) || !upmu_plan_fits(meter, set) || !upmu_plan_in(meter, session, set))
        status = upmu_placing_plan(meter, session, may_move);
    if (status != UPMU_OK)
        return status;
    upmu_reconcile(meter);
    return session->error;
}

#if UPMU_THREADS

/*
 * How many waiting sessions of a list a switch looks at, and how many a tick; for how many sessions a tick searches a
 * place.
 */
#define SWITCH_LOOKS 4u
#define TICK_LOOKS 8u
#define TICK_SEARCHES 3u

/* A walk by ticket over the sessions that wait here: those of the CPU, and those of the thread that runs here. */
struct waiters {
    struct upmu_session *own, *threads; /* the next ones of both lists */
};

static struct waiters all_waiters(const struct upmu_meter *meter, unsigned shares)
{
    return (struct waiters){meter->waiting[shares], meter->waiting[UPMU_WAIT_THREAD + shares]};
}

/* Returns the next session of a walk, or NULL.  It may leave its list afterwards. */
static struct upmu_session *next_waiter(struct waiters *walk)
{
    struct upmu_session *own = walk->own, *threads = walk->threads;

    if (!threads || (own && own->ticket < threads->ticket)) {
        walk->own = own ? own->next_waiting : NULL;
        return own;
    }
    walk->threads = threads->next_waiting;
    return threads;
}

/* Give a waiting session a new ticket, the highest one: it goes to the end of its list. */
static void renew_session(struct upmu_meter *meter, struct upmu_session *session)
{
    upmu_waiting_take(meter, session);
    session->ticket = ++meter->tickets;
    upmu_waiting_put(meter, session);
}

/* ---- Checks without a search ---- */

/*
 * Returns the counters that sessions may have and that are not in `taken`.  Counters of the host, of the firmware and
 * of foreign software are none of them.
 */
static uint32_t free_beside(const struct upmu_meter *meter, uint32_t taken)
{
    return meter->pmu->counters & ~(taken | upmu_meter_blocked(meter));
}

/*
 * Could the events of a set have counters beside those in `taken`?  Each event needs a free counter (`may_move`: also
 * one that a move could free), and there must be as many free counters as events.  Only a search tells whether they
 * fit.
 */
static bool could_fit(const struct upmu_meter *meter, const struct upmu_set *set, uint32_t taken, bool may_move)
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
 * Is the session's placement valid beside these co-runners (a sum of stamps)?  Whether its counters are free is not
 * asked.
 */
static bool has_place(const struct upmu_meter *meter, const struct upmu_session *session, uint64_t corunners)
{
    return upmu_program_fits(meter, upmu_active(session), corunners);
}

/*
 * Can a search succeed beside the counters `taken` and these co-runners?  Not if an earlier one beside the same
 * co-runners has failed.  With a domain such a failure is ignored, as claims of other CPUs may have changed since.
 */
static bool is_worth_it(const struct upmu_meter *meter, const struct upmu_session *session, uint32_t taken,
                        uint64_t corunners, bool may_move)
{
    const struct upmu_set *set = upmu_active(session);

    return upmu_placed_may_join(session, taken, corunners) && could_fit(meter, set, taken, may_move) &&
           (upmu_meter_domain(meter) || !upmu_placed_was_refused(meter, set, corunners, may_move));
}

/*
 * Returns the counters of the running sessions that do not share.  *corunners: the sum of their stamps; *others: does a
 * sharing session run?
 */
static uint32_t find_private(const struct upmu_meter *meter, uint64_t *corunners, bool *others)
{
    uint32_t counters = 0, rest = meter->running;

    *corunners = 0;
    *others = false;
    for (const struct upmu_session *session; (session = upmu_meter_next_running(meter, &rest)) != NULL;) {
        if (session->shares) {
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
 * After a plan: each session that left and is still started is put into the list of those that wait, and its turn is
 * over (upmu_estimate_turn()).
 */
static void end_turns(struct upmu_meter *meter)
{
    for (unsigned i = 0; i < meter->plan.outs; i++)
        if (meter->plan.out[i]->state == UPMU_SESSION_WAITING)
            upmu_estimate_turn(upmu_active(meter->plan.out[i]));
    upmu_waiting_leavers(meter);
}

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
        end_turns(meter);
    }
    return any;
}

static bool session_shares(const struct upmu_session *session)
{
    return session->shares;
}

static enum upmu_status try_start(struct upmu_meter *meter, struct upmu_session *session, bool may_move)
{
    enum upmu_status status = UPMU_ERR_DOES_NOT_FIT;
    uint64_t corunners;
    bool others;

    (void)find_private(meter, &corunners, &others);
    if (session->shares || !others)
        return bring_session(meter, session, may_move);
    if (could_fit(meter, upmu_active(session), meter->running, may_move))
        status = bring_session(meter, session, may_move);
    if (status != UPMU_ERR_DOES_NOT_FIT)
        return status;
    status = upmu_placing_pinned(meter, session);
    if (status != UPMU_OK)
        return status == UPMU_ERR_UNSUPPORTED ? status : UPMU_ERR_DOES_NOT_FIT;
    if (upmu_placed_was_refused(meter, upmu_active(session), corunners, may_move))
        return UPMU_ERR_DOES_NOT_FIT;
    (void)clear_counters(meter, upmu_active(session)->counters, session_shares);
    status = bring_session(meter, session, may_move);
    if (status != UPMU_ERR_DOES_NOT_FIT)
        return status;
    (void)clear_counters(meter, ~0u, session_shares);
    return bring_session(meter, session, may_move);
}

#if UPMU_WORLDS

/*
 * Does a session leave its counters for a session of the CPU?  A thread's session of guests does, and one whose first
 * event is lent (upmu_set_lend()).
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

/*
 * A session is about to wait: return counters that its place should leave to others.  They are those of the last
 * sessions of its list, at most 3, as far as the session could fit without them.  If counters for all of these come
 * free, the session can run beside them.
 */
static uint32_t find_spared(const struct upmu_meter *meter, const struct upmu_session *session)
{
    const struct upmu_session *other = meter->last_waiting[session->shares + (session->thread ? UPMU_WAIT_THREAD : 0)];
    uint32_t spared = 0;

    for (unsigned looks = SWITCH_LOOKS - 1u; other && looks; other = other->before_waiting, looks--) {
        if (!could_fit(meter, upmu_active(session), spared | upmu_active(other)->counters, false))
            break;
        spared |= upmu_active(other)->counters;
    }
    return spared;
}

enum upmu_status upmu_waiting_start(struct upmu_meter *meter, struct upmu_session *session, bool may_move)
{
    enum upmu_status status = try_start(meter, session, may_move);

    if (UPMU_WORLDS && has_no_room(status) && !(session->thread || session->shares) && recall_counters(meter))
        status = try_start(meter, session, may_move);
    if (!has_no_room(status) || !(session->thread || session->shares))
        return status;
    UPMU_STORE(session->error, UPMU_OK);
    /*
     * If the session has no place that is valid beside no other session, a start (`may_move`) searches one, so that no
     * stop has to search.  A switch does not.
     */
    if (may_move && status == UPMU_ERR_DOES_NOT_FIT && !has_place(meter, session, 0))
        upmu_placing_later(meter, session, find_spared(meter, session));
    upmu_waiting_begin(meter, session, upmu_meter_now(meter));
    return UPMU_OK;
}

/*
 * Has a search beside the same co-runners found no place for a session?  Its co-runners are all that run if the session
 * shares, else those that do not share.  With a domain: false, as claims of other CPUs may have changed since.
 */
static bool was_refused(const struct upmu_meter *meter, const struct upmu_session *session, bool may_move)
{
    uint64_t corunners = meter->corunners;
    bool others;

    if (upmu_meter_domain(meter))
        return false;
    if (!session->shares)
        (void)find_private(meter, &corunners, &others);
    return upmu_placed_was_refused(meter, upmu_active(session), corunners, may_move);
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

    if (!session->shares)
        taken = find_private(meter, &corunners, &others);
    return !upmu_session_dropped(session) && upmu_placed_may_join(session, taken, corunners) &&
           could_fit(meter, upmu_active(session), taken, false) && !was_refused(meter, session, false);
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
        search = could_fit(meter, set, taken, false);
        if (!search)
            note_counters(session);
        search = search && is_worth_a_search(meter, session);
    }
    if (search)
        (void)upmu_waiting_start(meter, session, false);
    else
        upmu_waiting_begin(meter, session, now_ns);
    return search;
}

/*
 * A tick: start waiting sessions that do not share, up to the first for which a search finds no place.  A session that
 * was looked at and still waits goes to the end of the list.  Returns whether a place may have been searched for the
 * last session that was tried.
 */
static bool admit_private(struct upmu_meter *meter)
{
    uint32_t last = meter->tickets;
    unsigned looks = SWITCH_LOOKS;
    bool searched = false, failed = false;
    struct waiters walk = all_waiters(meter, 0);
    struct upmu_session *session;

    for (; looks && !failed && (session = next_waiter(&walk)) != NULL && session->ticket <= last; looks--) {
        if (!was_refused(meter, session, true)) {
            enum upmu_status status = try_start(meter, session, true);

            failed = status != UPMU_OK && status != UPMU_ERR_WRONG_PMU;
            searched |= status != UPMU_ERR_WRONG_PMU;
        }
        if (upmu_session_waits(session))
            renew_session(meter, session);
    }
    return searched;
}

/* ---- Between ticks ---- */

/*
 * Plan out the sessions that have the counters `wanted`, if all of them share.  Returns false where one of them does
 * not share, or the plan has no room; some may be planned out then.
 */
static bool displace_sharers(struct upmu_meter *meter, uint32_t wanted)
{
    struct upmu_session *session;
    uint32_t rest;

    for (rest = wanted; rest; rest &= rest - 1u)
        if (!meter->slot[upmu_bits_lowest(rest)].session->shares)
            return false;
    for (rest = wanted; (session = upmu_meter_next_running(meter, &rest)) != NULL;)
        if (!upmu_plan_out(meter, session))
            return false;
    return true;
}

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
    if (taken && (session->shares || (taken & meter->plan.come) || !upmu_program_fits(meter, set, corunners) ||
                  !(alone || (set->program.flags & UPMU_PROGRAM_FREE)) || !displace_sharers(meter, taken)))
        return false;
    if (!upmu_plan_fits(meter, set))
        return false;
    if (!session->meter)
        upmu_thread_link(meter, session, 0);
    return upmu_plan_in(meter, session, set);
}

/* Plan in the first sessions that wait and do not share, SWITCH_LOOKS at most, where their placements are valid. */
static void fill_private(struct upmu_meter *meter)
{
    struct waiters walk = all_waiters(meter, 0);
    struct upmu_session *session;

    for (unsigned looks = SWITCH_LOOKS; looks && (session = next_waiter(&walk)) != NULL; looks--)
        if (!upmu_session_dropped(session))
            (void)upmu_waiting_plan(meter, session);
}

void upmu_waiting_fill(struct upmu_meter *meter, bool own)
{
    struct waiters walk = {meter->waiting[1], own ? NULL : meter->waiting[UPMU_WAIT_THREAD + 1u]};
    struct upmu_session *session;

    for (unsigned looks = SWITCH_LOOKS; looks && (session = next_waiter(&walk)) != NULL; looks--)
        if (!upmu_session_dropped(session) && upmu_plan_fits(meter, upmu_active(session)))
            (void)upmu_plan_in(meter, session, upmu_active(session));
}

/*
 * Look at the first 4 sessions that wait and share (1), or do not (0).  For the first one for which a search is worth
 * it, search a place and start it there.  Returns whether there was such a session.
 */
static bool search_in(struct upmu_meter *meter, unsigned shares)
{
    struct waiters walk = all_waiters(meter, shares);
    struct upmu_session *session;

    for (unsigned looks = SWITCH_LOOKS; looks && (session = next_waiter(&walk)) != NULL; looks--)
        if (is_worth_a_search(meter, session)) {
            (void)try_start(meter, session, false);
            return true;
        }
    return false;
}

void upmu_waiting_admit(struct upmu_meter *meter, bool searches)
{
    if (!meter->live)
        return;
    if (!upmu_waiting_any(meter)) {
        /* Where nothing would run, sessions of the thread that are no candidates are asked, too. */
        if (meter->running || upmu_meter_is_unit(meter) || !meter->cpu->current ||
            !UPMU_LOAD(meter->cpu->current->unjoined))
            return;
        (void)upmu_thread_fill(meter, meter->cpu->current);
        if (!upmu_waiting_any(meter))
            return;
    }
    upmu_plan_begin(meter, UPMU_SESSION_WAITING);
    fill_private(meter);
    if (upmu_waiting_of(meter, 1) && free_beside(meter, upmu_plan_taken(meter)))
        upmu_waiting_fill(meter, false);
    if (meter->plan.outs | meter->plan.ins) {
        upmu_reconcile(meter);
        end_turns(meter);
    }
    if ((searches || !meter->running) && !search_in(meter, 0))
        (void)search_in(meter, 1);
}

/* ---- Ticks ---- */

/*
 * The choice of a tick: which sharing sessions run together from now on.  Sessions that are neither runner nor waiter
 * stay as they are.
 */
struct selection {
    struct upmu_meter *meter;
    uint32_t kept;      /* counters of the running sessions that are no runners, and stay */
    uint32_t taken;     /* `kept`, and the counters of the runners and waiters that were chosen so far */
    uint32_t later;     /* counters of runners that keep their ticket, and about which nothing is decided yet */
    uint64_t corunners; /* sum of the stamps of the sessions on `taken` */
    uint32_t staying;   /* bit i: runner[i] was chosen */
    uint32_t coming;    /* bit i: waiter[i] was chosen */
    uint8_t runners, waiters, searches;
    bool moves;         /* one waiter alone was chosen, and it has a place only if running sessions move */
    struct upmu_session *runner[UPMU_PARTS]; /* rising tickets */
    struct upmu_session *waiter[TICK_LOOKS];
};

/* Find the runners: of the running sharing sessions the UPMU_PARTS with the lowest tickets.  Full sessions are none. */
static void find_runners(struct selection *selection)
{
    struct upmu_meter *meter = selection->meter;
    uint32_t rest = meter->running, movable = 0;
    struct upmu_session *session, **runner = selection->runner;

    while ((session = upmu_meter_next_running(meter, &rest)) != NULL) {
        unsigned k = selection->runners;

        if (!session->shares || session->state != UPMU_SESSION_RUNNING || session->full)
            continue;
        if (k < UPMU_PARTS)
            selection->runners++;
        else if (runner[--k]->ticket < session->ticket)
            continue;
        for (; k && runner[k - 1]->ticket > session->ticket; k--)
            runner[k] = runner[k - 1];
        runner[k] = session;
    }
    for (unsigned i = 0; i < selection->runners; i++)
        movable |= runner[i]->counters;
    selection->kept = selection->taken = meter->running & ~movable;
    for (rest = selection->kept; (session = upmu_meter_next_running(meter, &rest)) != NULL;)
        selection->corunners += upmu_placed_stamp(upmu_active(session));
}

/*
 * Find the waiters: of the first TICK_LOOKS sharing sessions that wait, those that may have a place beside the sessions
 * on `kept`.  Others get a new ticket, which puts them at the end of the list.
 */
static void find_waiters(struct selection *selection)
{
    struct upmu_meter *meter = selection->meter;
    uint32_t last = meter->tickets;
    unsigned looks = TICK_LOOKS;
    struct waiters walk = all_waiters(meter, 1);
    struct upmu_session *session;

    for (; looks && (session = next_waiter(&walk)) != NULL && session->ticket <= last; looks--) {
        if (upmu_session_dropped(session))
            continue;
        if ((has_place(meter, session, selection->corunners) &&
             !(upmu_active(session)->counters & selection->kept)) ||
            is_worth_it(meter, session, selection->kept, selection->corunners, UPMU_MOVES))
            selection->waiter[selection->waiters++] = session;
        else
            renew_session(meter, session);
    }
}

/* Do the first `count` requests of a joint problem keep the counters and ways that they had before it? */
static bool all_stay(const struct upmu_joint *joint, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (joint->stay_alternative[i] != joint->result[i].alternative ||
            memcmp(joint->stay[i], joint->result[i].counter, sizeof joint->stay[i]) != 0)
            return false;
    return true;
}

/*
 * Solve one problem with the sessions on `kept` and `later`, the chosen sessions, and `session` as the last:
 * joint->result has their places.  Returns false where they do not fit.
 */
static bool place_chosen(const struct selection *selection, struct upmu_session *session, uint32_t later,
                      struct upmu_joint *joint)
{
    struct upmu_meter *meter = selection->meter;
    uint32_t rest = selection->kept | later;
    struct upmu_session *other;
    bool fine = true;

    upmu_joint_begin(joint, meter->pmu);
    while ((other = upmu_meter_next_running(meter, &rest)) != NULL)
        fine = fine && upmu_joint_add(joint, other, true);
    for (unsigned i = 0; i < selection->runners; i++)
        if (selection->staying >> i & 1u)
            fine = fine && upmu_joint_add(joint, selection->runner[i], true);
    for (rest = selection->coming; rest; rest &= rest - 1u)
        fine = fine && upmu_joint_add(joint, selection->waiter[upmu_bits_lowest(rest)], true);
    return fine && upmu_joint_add(joint, session, false) && upmu_joint_place(meter, joint, false, NULL) == UPMU_OK;
}

/*
 * Search a place for a waiter beside the chosen sessions and the sessions on the counters `later`.  The place is stored
 * in the waiter's set, and compiled.  Returns whether the waiter may be chosen.  If a place exists only where running
 * sessions move, it may be the first one chosen: `moves` is set, and it gets its place later.
 */
static UPMU_APART bool place_beside(struct selection *selection, struct upmu_session *session, uint32_t later)
{
    struct upmu_meter *meter = selection->meter;
    struct upmu_set *set = upmu_active(session);
    struct upmu_joint joint;
    unsigned first = 0;

    if (!upmu_joint_begin_apart(meter, &joint, session, selection->taken | later) ||
        upmu_joint_place(meter, &joint, false, NULL) != UPMU_OK) {
        bool fits = place_chosen(selection, session, later, &joint);

        first = joint.count - set->count;
        if (!fits || !all_stay(&joint, first)) {
            if (later)
                return false;
            upmu_placed_refuse(meter, set, selection->corunners, fits);
            selection->moves = UPMU_MOVES && fits && selection->taken == selection->kept;
            return selection->moves;
        }
    }
    if (!upmu_placing_note(meter, session, &joint.result[first]))
        return false;
    upmu_placed_beside(set, selection->corunners);
    return true;
}

/*
 * May a runner or waiter run beside the chosen sessions?  For a waiter a place is searched, if the tick has searches
 * left; first one that leaves the counters `later` alone.
 */
static bool choose_one(struct selection *selection, struct upmu_session *session)
{
    struct upmu_meter *meter = selection->meter;
    const struct upmu_set *set = upmu_active(session);
    uint32_t both = selection->taken | selection->later;
    bool waits = upmu_session_waits(session), is_first = selection->taken == selection->kept;
    bool fits = !(set->counters & selection->taken) && (has_place(meter, session, selection->corunners) ||
                                                        (!waits && !selection->coming));

    if (!waits || (fits && !(set->counters & selection->later)))
        return fits;
    if (!upmu_placed_may_join(session, selection->taken, selection->corunners))
        return false;
    if (selection->later && selection->searches && could_fit(meter, set, both, false)) {
        selection->searches--;
        if (place_beside(selection, session, selection->later))
            return true;
    }
    if (fits || !selection->searches ||
        !is_worth_it(meter, session, selection->taken, selection->corunners, UPMU_MOVES && is_first))
        return fits;
    selection->searches--;
    return place_beside(selection, session, 0);
}

/* Choose among runners and waiters, each in the order of tickets, until `moves` is set. */
static void choose_all(struct selection *selection)
{
    struct upmu_session **runner = selection->runner;
    unsigned runners = selection->runners, waiters = selection->waiters, at = 0, waiter = 0;

    while ((at < runners || waiter < waiters) && !selection->moves) {
        bool waits = at == runners || (waiter < waiters && selection->waiter[waiter]->ticket < runner[at]->ticket);
        struct upmu_session *session = waits ? selection->waiter[waiter++] : runner[at++];

        if (!waits)
            selection->later &= ~upmu_active(session)->counters;
        if (!choose_one(selection, session))
            continue;
        if (waits)
            selection->coming |= UPMU_BIT32(waiter - 1u);
        else
            selection->staying |= UPMU_BIT32(at - 1u);
        selection->taken |= upmu_active(session)->counters;
        selection->corunners += upmu_placed_stamp(upmu_active(session));
    }
}

/*
 * Carry the choice out by one plan: runners that were not chosen leave, waiters that were chosen come if their
 * placements are valid.  If `moves` is set, the chosen waiter comes by a search of its own, after that plan.
 */
static void rotate_chosen(struct selection *selection)
{
    struct upmu_meter *meter = selection->meter;

    upmu_plan_begin(meter, UPMU_SESSION_WAITING);
    for (unsigned i = 0; i < selection->runners; i++)
        if (!(selection->staying >> i & 1u))
            (void)upmu_plan_out(meter, selection->runner[i]);
    for (uint32_t rest = selection->moves ? 0 : selection->coming; rest; rest &= rest - 1u) {
        struct upmu_session *session = selection->waiter[upmu_bits_lowest(rest)];

        if (upmu_plan_fits(meter, upmu_active(session)))
            (void)upmu_plan_in(meter, session, upmu_active(session));
    }
    if (meter->plan.outs | meter->plan.ins) {
        upmu_reconcile(meter);
        end_turns(meter);
    }
    /* If the one waiter that was chosen fits only if running sessions move (`moves`), a search moves them now. */
    for (uint32_t rest = selection->moves ? selection->coming : 0; rest; rest &= rest - 1u)
        (void)bring_session(meter, selection->waiter[upmu_bits_lowest(rest)], true);
}

/*
 * Give the first `leavers` runners new tickets and put them behind the other runners.  The counters of these others are
 * noted in `later`.  Not inlined: a placement needs its stack.
 */
static UPMU_APART void renew_runners(struct selection *selection, unsigned leavers)
{
    struct upmu_session *leaver[UPMU_PARTS], **runner = selection->runner;

    for (unsigned i = 0; i < leavers; i++) {
        runner[i]->ticket = ++selection->meter->tickets;
        leaver[i] = runner[i];
    }
    for (unsigned i = leavers; i < selection->runners; i++) {
        selection->later |= upmu_active(runner[i])->counters;
        runner[i - leavers] = runner[i];
    }
    memcpy(runner + selection->runners - leavers, leaver, leavers * sizeof(leaver[0]));
}

/*
 * Choose anew which sharing sessions run.  As many runners as there are waiters get new tickets, those with the lowest
 * tickets first.  Not inlined: other searches of a tick need its stack.
 */
static UPMU_APART void rotate_sessions(struct upmu_meter *meter, unsigned searches)
{
    struct selection selection;
    unsigned leavers;

    memset(&selection, 0, offsetof(struct selection, runner));
    selection.meter = meter;
    selection.searches = (uint8_t)searches;
    find_runners(&selection);
    find_waiters(&selection);
    if (upmu_meter_is_free(meter)) { /* counters that never stop belong to no session: no waiter has to wait */
        for (unsigned i = 0; i < selection.waiters; i++)
            (void)bring_session(meter, selection.waiter[i], false);
        return;
    }
    leavers = selection.runners < selection.waiters ? selection.runners : selection.waiters;
    renew_runners(&selection, leavers);
    choose_all(&selection);
    rotate_chosen(&selection);
    /*
     * Search a place on free counters for a session that still waits.  Sessions that were placed on the same counters,
     * and run there in alternation, would else leave other counters idle.
     */
    if (selection.searches)
        (void)search_in(meter, 1);
}

#if UPMU_SETS

/*
 * Switch the sets that have had their time (UPMU_SET_TIME_SWITCH), as many as a plan has room for.  The next set comes
 * in the same plan.  If its session shares and other sharing sessions wait, it waits instead, at the end of the list.
 */
static void expire_sets(struct upmu_meter *meter)
{
    uint64_t now_ns = upmu_machine_clock_ns(meter->machine);
    uint32_t rest = meter->running, passed_on = 0;
    struct upmu_session *session, *next;

    upmu_plan_begin(meter, UPMU_SESSION_WAITING);
    while ((session = upmu_meter_next_running(meter, &rest)) != NULL) {
        if (!upmu_sets_over(session, now_ns) || !upmu_plan_out(meter, session))
            continue;
        upmu_sets_choose(session, NULL);
        if (session->shares && upmu_waiting_of(meter, 1))
            passed_on |= UPMU_BIT32(meter->plan.outs - 1u);
    }
    for (session = meter->waiting[UPMU_WAIT_EMPTY]; session; session = next) {
        next = session->next_waiting;
        if (!upmu_sets_over(session, now_ns) || !upmu_plan_out(meter, session))
            continue;
        upmu_sets_choose(session, NULL);
    }
    if (!meter->plan.outs)
        return;
    for (unsigned i = 0; i < meter->plan.outs; i++) {
        session = meter->plan.out[i];
        if (!(passed_on >> i & 1u) && upmu_plan_fits(meter, session->following))
            (void)upmu_plan_in(meter, session, session->following);
    }
    upmu_reconcile(meter);
    for (unsigned i = 0; i < meter->plan.outs; i++)
        if ((passed_on >> i & 1u) && meter->plan.out[i]->state == UPMU_SESSION_WAITING)
            meter->plan.out[i]->ticket = ++meter->tickets;
    upmu_waiting_leavers(meter);
}

#endif

void upmu_waiting_tick(struct upmu_meter *meter)
{
    struct upmu_thread *thread = upmu_meter_is_unit(meter) ? NULL : meter->cpu->current;
    bool searched;
    uint32_t last;

    if (thread && (UPMU_LOAD(thread->unjoined) || upmu_thread_any_dropped(meter->machine)))
        (void)upmu_thread_fill(meter, thread);
    last = meter->tickets;
    bury_zombies(meter);
#if UPMU_SETS
    expire_sets(meter);
#endif
    searched = upmu_waiting_of(meter, 0) && admit_private(meter);
    if (upmu_waiting_of(meter, 1))
        rotate_sessions(meter, searched ? 0 : TICK_SEARCHES);
    if (thread && UPMU_LOAD(thread->unjoined))
        upmu_thread_rotate(meter, thread, last);
}

#else

enum upmu_status upmu_waiting_start(struct upmu_meter *meter, struct upmu_session *session, bool may_move)
{
    return bring_session(meter, session, may_move);
}

void upmu_waiting_admit(struct upmu_meter *meter, bool searches)
{
    (void)meter;
    (void)searches;
}

void upmu_waiting_tick(struct upmu_meter *meter)
{
    bury_zombies(meter);
}

#endif

enum upmu_status upmu_waiting_reload(struct upmu_meter *meter, bool where_it_was)
{
    enum upmu_status status = UPMU_OK;

    for (struct upmu_session *session = meter->sessions; session; session = session->next) {
        if (upmu_session_waits(session))
            UPMU_STORE(session->started_ns, upmu_meter_now(meter));
        if (session->state != UPMU_SESSION_SUSPENDED)
            continue;
        upmu_waiting_end(session, UPMU_SESSION_STOPPED);
        /*
         * The session kept its claims and runs again on its counters, without a search.  Sessions that wait come at the
         * next tick, on other counters.
         */
        if (where_it_was) {
            upmu_plan_begin(meter, UPMU_SESSION_WAITING);
            (void)upmu_plan_in(meter, session, upmu_active(session));
            upmu_reconcile(meter);
        } else {
            UPMU_STORE(session->error, upmu_waiting_start(meter, session, true));
        }
        if (session->error != UPMU_OK)
            status = session->error;
    }
    return status;
}
