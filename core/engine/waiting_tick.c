/* SPDX-License-Identifier: MIT */
/*
 * The work of a tick for sessions that wait: sessions that do not share are tried in turn, and it is chosen anew which
 * sharing sessions run.  waiting.c has what is done between ticks.
 */
#include "core/engine/waiting.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/place/placement.h"
#include "core/engine/features.h"
#include "core/engine/joint.h"
#include "core/engine/machine.h"
#include "core/engine/meter.h"
#include "core/engine/placed.h"
#include "core/engine/placing.h"
#include "core/engine/program.h"
#include "core/engine/reconcile.h"
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

#if UPMU_THREADS

/* Give a waiting session a new ticket, the highest one: it goes to the end of its list. */
static void renew_session(struct upmu_meter *meter, struct upmu_session *session)
{
    upmu_waiting_take(meter, session);
    session->ticket = ++meter->tickets;
    upmu_waiting_put(meter, session);
}

/*
 * A tick: start waiting sessions that do not share, up to the first that cannot start, not counting those for another
 * PMU.  A session that was looked at and still waits goes to the end of the list.  Returns whether a place may have
 * been searched for any of them.
 */
static bool admit_private(struct upmu_meter *meter)
{
    uint32_t last = meter->tickets;
    unsigned looks = UPMU_WAITING_LOOKS;
    bool searched = false, failed = false;
    struct upmu_waiters walk = upmu_waiters_of(meter, 0);
    struct upmu_session *session;

    for (; looks && !failed && (session = upmu_waiters_next(&walk)) != NULL && session->ticket <= last; looks--) {
        if (!upmu_waiting_was_refused(meter, session, true)) {
            enum upmu_status status = upmu_waiting_try(meter, session, true);

            failed = status != UPMU_OK && status != UPMU_ERR_WRONG_PMU;
            searched |= status != UPMU_ERR_WRONG_PMU;
        }
        if (upmu_session_waits(session))
            renew_session(meter, session);
    }
    return searched;
}

/* ---- The choice among sharing sessions ---- */

#if UPMU_SHARING

/* How many sharing sessions that wait a tick looks at, and how many searches for places it makes for them. */
#define TICK_LOOKS 8u
#define TICK_SEARCHES 3u

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

    return upmu_placed_may_join(session, taken, corunners) &&
           upmu_waiting_could_fit(meter, set, taken, may_move) &&
           (upmu_meter_domain(meter) || !upmu_placed_was_refused(meter, set, corunners, may_move));
}

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
    uint16_t branches;  /* what the stack records for the sessions on `taken`; 0: nothing */
    uint8_t runners, waiters, searches;
    bool moves;         /* one waiter alone was chosen, and it has a place only if running sessions move */
    struct upmu_session *runner[UPMU_PARTS]; /* rising tickets */
    struct upmu_session *waiter[TICK_LOOKS];
};

/* Note a session that is on `taken`: those that are chosen later run beside it. */
static void note_chosen(struct selection *selection, const struct upmu_session *session)
{
    selection->corunners += upmu_placed_stamp(upmu_active(session));
    selection->branches |= (uint16_t)upmu_branch_samples_wanted(upmu_active(session));
}

/* Can the samples of a session have their branches beside the sessions on `taken`?  A plan asks the same. */
static bool agrees_with_chosen(const struct selection *selection, const struct upmu_session *session)
{
    uint32_t wanted = selection->branches ? upmu_branch_samples_wanted(upmu_active(session)) : 0;

    return !wanted || wanted == selection->branches;
}

/* Find the runners: of the running sharing sessions the UPMU_PARTS with the lowest tickets.  Full sessions are none. */
static void find_runners(struct selection *selection)
{
    struct upmu_meter *meter = selection->meter;
    uint32_t rest = meter->running, movable = 0;
    struct upmu_session *session, **runner = selection->runner;

    while ((session = upmu_meter_next_running(meter, &rest)) != NULL) {
        unsigned k = selection->runners;

        if (!upmu_session_shares(session) || session->state != UPMU_SESSION_RUNNING || session->full)
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
        note_chosen(selection, session);
}

/*
 * Find the waiters: of the first TICK_LOOKS sharing sessions that wait, those that can run here, and may have a place
 * beside the sessions on `kept`: others would keep counters idle.  They get a new ticket, which puts them at the end of
 * the list; dropped ones are left alone.
 */
static void find_waiters(struct selection *selection)
{
    struct upmu_meter *meter = selection->meter;
    uint32_t last = meter->tickets;
    unsigned looks = TICK_LOOKS;
    struct upmu_waiters walk = upmu_waiters_of(meter, 1);
    struct upmu_session *session;

    for (; looks && (session = upmu_waiters_next(&walk)) != NULL && session->ticket <= last; looks--) {
        if (upmu_session_dropped(session))
            continue;
        if (agrees_with_chosen(selection, session) &&
            ((has_place(meter, session, selection->corunners) &&
              !(upmu_active(session)->counters & selection->kept)) ||
             (is_worth_it(meter, session, selection->kept, selection->corunners, UPMU_MOVES) &&
              !upmu_placing_lacks_hook(meter, session))))
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
 * sessions move, the waiter may be chosen if no other session was: `moves` is set, and it gets its place later.
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

    if (!agrees_with_chosen(selection, session))
        return false;
    if (!waits || (fits && !(set->counters & selection->later)))
        return fits;
    if (!upmu_placed_may_join(session, selection->taken, selection->corunners))
        return false;
    if (selection->later && selection->searches && upmu_waiting_could_fit(meter, set, both, false)) {
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
        note_chosen(selection, session);
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
        upmu_waiting_end_turns(meter);
    }
    /* If the one waiter that was chosen fits only if running sessions move (`moves`), a search moves them now. */
    for (uint32_t rest = selection->moves ? selection->coming : 0; rest; rest &= rest - 1u)
        (void)upmu_waiting_bring(meter, selection->waiter[upmu_bits_lowest(rest)], true);
}

/*
 * Give the first `leavers` runners new tickets and put them behind the other runners.  The counters of these others are
 * noted in `later`.  Not inlined: its stack is free during placements.
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
 * tickets first.  Not inlined: its stack is free during other searches of a tick.
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
            (void)upmu_waiting_bring(meter, selection.waiter[i], false);
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
        (void)upmu_waiting_search(meter, 1);
}

#endif

#if UPMU_SETS

/*
 * Switch the sets that have had their time (UPMU_SET_TIME_SWITCH), as many as a plan has room for.  The next set comes
 * in the same plan.  If a session has counters and shares, and other sharing sessions wait, it waits instead, at the
 * end of the list.
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
        if (upmu_session_shares(session) && upmu_waiting_of(meter, 1))
            passed_on |= UPMU_BIT32(meter->plan.outs - 1u);
    }
    for (session = meter->waiting[UPMU_WAIT_EMPTY]; session; session = next) {
        next = session->next_waiting;
        if (!upmu_sets_over(session, now_ns) || !upmu_plan_has_room(meter, meter->plan.outs, 0) ||
            !upmu_plan_out(meter, session))
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
#if UPMU_SHARING
    if (upmu_waiting_of(meter, 1))
        rotate_sessions(meter, searched ? 0 : TICK_SEARCHES);
#else
    (void)searched;
#endif
    if (thread && UPMU_LOAD(thread->unjoined))
        upmu_thread_rotate(meter, thread, last);
}

#else

void upmu_waiting_tick(struct upmu_meter *meter)
{
    bury_zombies(meter);
}

#endif
