/* SPDX-License-Identifier: MIT */
/*
 * Which sessions run where not all can (R31): sessions of the CPU, those of the thread, then those that share, in the
 * order of their tickets.
 *
 * Each switch and each tick looks at a few sessions, however many wait.  One that has found no place waits for a change
 * of those beside which that was (upmu_program.refused).
 */
#include "core/engine/multiplex.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/port_call.h"
#include "core/place/placement.h"
#include "core/engine/chain.h"
#include "core/engine/claims.h"
#include "core/engine/estimate.h"
#include "core/engine/joint.h"
#include "core/engine/machine.h"
#include "core/engine/meter.h"
#include "core/engine/placed.h"
#include "core/engine/program.h"
#include "core/engine/queue.h"
#include "core/engine/run.h"
#include "core/engine/schedule.h"
#include "core/engine/session_core.h"
#include "core/engine/thread_core.h"
#include "core/engine/transition.h"
#include <upmu/thread.h>

/* Sessions without a controller. */
static void bury_zombies(struct upmu_meter *meter)
{
    bool bury = __atomic_load_n(&meter->machine->dropped, __ATOMIC_RELAXED) != 0;
    struct upmu_session *next;

    for (struct upmu_session *session = bury ? meter->sessions : NULL; session; session = next) {
        next = session->next;
        if (upmu_session_dropped(session))
            (void)upmu_session_leave(meter, session, false); /* (or with the next tick) */
    }
}

#if UPMU_THREADS

/* Sessions that wait: so many are looked at in a switch and in a tick, and for so many a tick searches a place. */
#define SWITCH_LOOKS 4u
#define TICK_LOOKS 8u
#define TICK_SEARCHES 3u

/* It goes to the end of its list. */
static void renew(struct upmu_meter *meter, struct upmu_session *session)
{
    upmu_queue_take(meter, session);
    session->ticket = ++meter->tickets;
    upmu_queue_put(meter, session);
}

/* Without a clock it is unknown how much it misses. */
static void wait_here(struct upmu_meter *meter, struct upmu_session *session)
{
    if (!port_has_clock(meter->machine->port))
        upmu_run_mar(session);
}

/* ---- Looks, which cost little ---- */

/* Counters of this CPU that sessions may have, but for those that are taken. */
static uint32_t free_beside(const struct upmu_meter *meter, uint32_t taken)
{
    return meter->pmu->counters & ~(taken | upmu_meter_blocked(meter));
}

/* Has each event one of these counters, and are there as many?  (A search finds out the rest.) */
static bool could_fit(const struct upmu_meter *meter, const struct upmu_set *set, uint32_t taken, bool may_move)
{
    uint32_t left = free_beside(meter, taken), counters = may_move ? free_beside(meter, 0) : left, any = 0;

    for (unsigned i = 0; i < set->count; i++) {
        uint32_t wanted = set->event[i].counters;

        if (upmu_machine_pmu_of(meter->machine, set->event[i].pmu) != meter->pmu)
            return false;
        /* (Metrics share one.) */
        if (!wanted || (wanted & UPMU_METRIC_COUNTERS(meter->pmu)))
            return true;
        if (!(wanted & counters))
            return false;
        any |= wanted & counters;
    }
    return upmu_bits_count(any) >= set->count && upmu_bits_count(left) >= set->count;
}

/* Is the place that it has good beside these?  Its counters may be taken. */
static bool has_place(const struct upmu_meter *meter, const struct upmu_session *session, uint64_t corunners)
{
    return upmu_program_fits(meter, upmu_active(session), corunners);
}

/* Can it come by a transition alone? */
static bool is_simple(const struct upmu_meter *meter, const struct upmu_session *session)
{
    const struct upmu_set *set = upmu_active(session);

    return upmu_session_is_just(session, UPMU_SESSION_WAITING) && set->program.placement && set->counters &&
           !(upmu_meter_domain(meter) && upmu_claims_share_set(meter, set));
}

/* Is a search beside these worth it?  (What other CPUs claim may have changed since one.) */
static bool is_worth_it(const struct upmu_meter *meter, const struct upmu_session *session, uint32_t taken,
                        uint64_t corunners, bool may_move)
{
    const struct upmu_set *set = upmu_active(session);

    return could_fit(meter, set, taken, may_move) &&
           (upmu_meter_domain(meter) || !upmu_placed_was_refused(meter, set, corunners, may_move));
}

/* Those that run and do not share: their counters; the sum of their placements; does any other run? */
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

/* ---- One session ---- */

static bool has_no_room(enum upmu_status status)
{
    return status == UPMU_ERR_DOES_NOT_FIT || status == UPMU_ERR_TOO_HARD || status == UPMU_ERR_LOST_CLAIM ||
           status == UPMU_ERR_WRONG_PMU || status == UPMU_ERR_NO_SPACE;
}

/* It leaves its counters to others. */
static void displace(struct upmu_meter *meter, struct upmu_session *session)
{
    if ((upmu_transition_stop(meter, session) ? session->error : upmu_transition_take_off(meter, session)) != UPMU_OK)
        return;
    if (session->state == UPMU_SESSION_STOPPED)
        upmu_session_become(session, UPMU_SESSION_WAITING);
    upmu_estimate_turn(upmu_active(session));
    wait_here(meter, session);
}

/* Those that share leave: the ones in the place of one that does not, or all. */
static void clear(struct upmu_meter *meter, uint32_t counters)
{
    struct upmu_session *other;
    uint32_t rest = meter->running;

    while ((other = upmu_meter_next_running(meter, &rest)) != NULL)
        if (other->shares && other->state == UPMU_SESSION_RUNNING && (other->counters & counters))
            displace(meter, other);
}

static enum upmu_status try_start(struct upmu_meter *meter, struct upmu_session *session, bool may_move)
{
    enum upmu_status status = UPMU_ERR_DOES_NOT_FIT;
    uint64_t corunners;
    bool others;

    (void)find_private(meter, &corunners, &others);
    if (session->shares || !others)
        return upmu_schedule_start(meter, session, may_move);
    if (could_fit(meter, upmu_active(session), meter->running, may_move))
        status = upmu_schedule_start(meter, session, may_move);
    if (status != UPMU_ERR_DOES_NOT_FIT || !upmu_schedule_fits_pinned(meter, session) ||
        upmu_placed_was_refused(meter, upmu_active(session), corunners, may_move))
        return status;
    clear(meter, upmu_active(session)->counters);
    status = upmu_schedule_start(meter, session, may_move);
    if (status != UPMU_ERR_DOES_NOT_FIT)
        return status;
    clear(meter, meter->running);
    return upmu_schedule_start(meter, session, may_move);
}

/* It waits from now on. */
static void begin_to_wait(struct upmu_meter *meter, struct upmu_session *session)
{
    UPMU_STORE(session->started_ns, upmu_machine_clock_ns(meter->machine));
    UPMU_STORE(session->error, UPMU_OK);
    upmu_session_become(session, UPMU_SESSION_WAITING);
    wait_here(meter, session);
}

#if UPMU_WORLDS

/* A thread's session of guests, and one whose counters a guest reads. */
static bool yields(const struct upmu_session *session)
{
    return (session->thread && session->world == UPMU_WORLD_GUEST) ||
           upmu_tally_is_lent(upmu_active(session)->tally);
}

/* Such sessions leave their counters to one of this CPU; what still has room starts again at once. */
static UPMU_APART bool recall(struct upmu_meter *meter)
{
    bool any = false;
    struct upmu_session *other;
    uint32_t rest = meter->running;

    while ((other = upmu_meter_next_running(meter, &rest)) != NULL)
        if (yields(other) && other->state == UPMU_SESSION_RUNNING) {
            displace(meter, other);
            any = true;
        }
    return any;
}

#else

static bool recall(struct upmu_meter *meter)
{
    (void)meter;
    return false;
}

#endif

enum upmu_status upmu_multiplex_start(struct upmu_meter *meter, struct upmu_session *session, bool may_move)
{
    enum upmu_status status = try_start(meter, session, may_move);

    if (UPMU_WORLDS && has_no_room(status) && !(session->thread || session->shares) && recall(meter))
        status = try_start(meter, session, may_move);
    if (!has_no_room(status) || !(session->thread || session->shares))
        return status;
    begin_to_wait(meter, session);
    return UPMU_OK;
}

/* Was no place found for it beside those that run and do not share, or all if it shares? */
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

bool upmu_multiplex_come(struct upmu_meter *meter, struct upmu_session *session, bool search)
{
    search = search && !was_refused(meter, session, false);
    if (search)
        (void)upmu_multiplex_start(meter, session, false);
    else
        begin_to_wait(meter, session);
    return search;
}

/*
 * Those that do not share and wait.  A tick ends with the first for which a search finds no place, and sends those that
 * it has looked at to the end.  True: one was searched for.
 */
static bool admit_private(struct upmu_meter *meter, unsigned looks, bool is_tick)
{
    uint32_t last = meter->tickets;
    bool searched = false, failed = false;
    struct upmu_session *session, *next;

    for (session = meter->waiting[0]; session && looks && session->ticket <= last && !failed;
         session = next, looks--) {
        next = session->next_waiting;
        if (!was_refused(meter, session, is_tick)) {
            enum upmu_status status = try_start(meter, session, is_tick);

            searched = status != UPMU_ERR_WRONG_PMU;
            if (status == UPMU_OK)
                session->change = 0;
            else
                failed = searched && is_tick;
        }
        if (is_tick && upmu_session_waits(session))
            renew(meter, session);
    }
    return searched;
}

/* ---- Between ticks ---- */

bool upmu_multiplex_displace(struct upmu_transition *plan, uint32_t wanted)
{
    const struct upmu_meter *meter = plan->meter;
    struct upmu_session *session;
    uint32_t rest;

    for (rest = wanted; rest; rest &= rest - 1u)
        if (!meter->of_tally[upmu_bits_lowest(rest)]->shares)
            return false;
    plan->displaced = true;
    for (rest = wanted; (session = upmu_meter_next_running(meter, &rest)) != NULL;)
        if (!upmu_transition_out(plan, session))
            return false;
    return true;
}

void upmu_multiplex_fill(struct upmu_transition *plan, const struct upmu_thread *thread)
{
    const struct upmu_meter *meter = plan->meter;
    unsigned looks = SWITCH_LOOKS;

    for (struct upmu_session *session = meter->waiting[1]; session && looks; session = session->next_waiting) {
        const struct upmu_set *set = upmu_active(session);

        if (thread && session->thread == thread)
            continue;
        looks--;
        if (!(set->counters & ((meter->running & ~plan->leaving) | plan->coming)) && is_simple(meter, session) &&
            has_place(meter, session, upmu_transition_corunners(plan)))
            (void)upmu_transition_in(plan, session, upmu_active(session));
    }
}

void upmu_multiplex_settle(struct upmu_transition *plan, const struct upmu_thread *thread)
{
    for (unsigned i = 0; i < plan->outs; i++) {
        struct upmu_session *session = plan->out[i];

        if ((thread && session->thread == thread) || session->state == UPMU_SESSION_STOPPED)
            continue;
        upmu_estimate_turn(upmu_active(session));
        if (session->state == UPMU_SESSION_WAITING)
            upmu_queue_put(plan->meter, session);
        wait_here(plan->meter, session);
    }
}

void upmu_multiplex_search(struct upmu_meter *meter)
{
    struct upmu_session *session = free_beside(meter, meter->running) ? meter->waiting[1] : NULL;

    for (unsigned looks = SWITCH_LOOKS; session && looks; session = session->next_waiting, looks--)
        if (is_worth_it(meter, session, meter->running, meter->corunners, false)) {
            if (upmu_schedule_start(meter, session, false) == UPMU_OK)
                session->change = 0;
            return;
        }
}

static void fill_now(struct upmu_transition *plan, struct upmu_meter *meter)
{
    upmu_transition_begin(plan, meter);
    upmu_multiplex_fill(plan, NULL);
    if (plan->ins)
        (void)upmu_transition_run(plan, UPMU_SESSION_WAITING);
}

static UPMU_APART void fill_on_stack(struct upmu_meter *meter)
{
    struct upmu_transition plan;

    fill_now(&plan, meter);
}

/* The enabled time of those that a change has left waiting begins now. */
static void begin_waiting(struct upmu_meter *meter)
{
    uint64_t now_ns = meter->fresh ? upmu_machine_clock_ns(meter->machine) : 0;

    for (struct upmu_session *session = meter->fresh ? meter->sessions : NULL; session; session = session->next)
        if (session->change & UPMU_CHANGE_FRESH) {
            session->change = 0;
            UPMU_STORE(session->started_ns, now_ns);
            wait_here(meter, session);
        }
    meter->fresh = 0;
}

void upmu_multiplex_admit(struct upmu_meter *meter)
{
    if (!meter->live || !upmu_multiplex_wanted(meter))
        return;
    (void)admit_private(meter, SWITCH_LOOKS, false);
    if (meter->waiting[1] && free_beside(meter, meter->running)) {
        if (meter->work)
            fill_now(upmu_meter_plan(meter), meter);
        else
            fill_on_stack(meter);
        upmu_multiplex_search(meter);
    }
    begin_waiting(meter);
}

/* ---- Ticks ---- */

/* What runs together from now on, of those that share; the others stay as they are. */
struct selection {
    struct upmu_meter *meter;
    uint32_t kept;      /* counters of those that stay as they are */
    uint32_t taken;     /* and of those that were chosen */
    uint32_t later;     /* of runners that keep their ticket and are asked later */
    uint64_t corunners; /* sum of all these */
    uint32_t staying;   /* numbers of runners that were chosen */
    uint32_t coming;    /* and of waiters */
    uint8_t runners, waiters, searches;
    bool moves;         /* for the one that comes another session has to move */
    struct upmu_session *runner[UPMU_PARTS]; /* by ticket */
    struct upmu_session *waiter[TICK_LOOKS];
};

/* Those that run and share, the first of them by ticket. */
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

/* The first of those that wait; one without a place beside those that stay goes to the end. */
static void find_waiters(struct selection *selection)
{
    struct upmu_meter *meter = selection->meter;
    uint32_t last = meter->tickets;
    unsigned looks = TICK_LOOKS;
    struct upmu_session *session, *next;

    for (session = meter->waiting[1]; session && looks && session->ticket <= last; session = next, looks--) {
        next = session->next_waiting;
        if (upmu_session_dropped(session))
            continue;
        if (has_place(meter, session, selection->corunners) ||
            is_worth_it(meter, session, selection->kept, selection->corunners, UPMU_MOVES))
            selection->waiter[selection->waiters++] = session;
        else
            renew(meter, session);
    }
}

/* Is all that has a place already found where it is? */
static bool all_stay(const struct upmu_joint *joint, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (joint->stay_alternative[i] != joint->result[i].alternative ||
            memcmp(joint->stay[i], joint->result[i].counter, sizeof joint->stay[i]) != 0)
            return false;
    return true;
}

/* What was chosen, those on `later` and one that is searched for, as one problem.  False: it does not fit. */
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

/* Search a place beside all that were chosen, and those on `later`, for one that waits; it is compiled there. */
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
    for UPMU_TALLIES(tally, set)
        upmu_run_place(meter, tally, &joint.result[first++]);
    upmu_placed_note(meter, session);
    set->placed_beside = selection->corunners;
    (void)upmu_program_ready(meter, set);
    return true;
}

/* May it run beside those that were chosen?  Where that is possible it leaves to the later ones what they have. */
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

/* Those that run and those that wait are asked in the order of their tickets. */
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

/* By one transition; false: nothing was done. */
static bool rotate_at_once(struct upmu_transition *plan, struct selection *selection)
{
    struct upmu_meter *meter = selection->meter;

    if (selection->moves)
        return false;
    upmu_transition_begin(plan, meter);
    for (unsigned i = 0; i < selection->runners; i++)
        if (!(selection->staying >> i & 1u) && !upmu_transition_out(plan, selection->runner[i]))
            return false;
    for (uint32_t rest = selection->coming; rest; rest &= rest - 1u) {
        struct upmu_session *session = selection->waiter[upmu_bits_lowest(rest)];

        if (!is_simple(meter, session) || !upmu_transition_in(plan, session, upmu_active(session)))
            return false;
    }
    if ((plan->outs | plan->ins) && !upmu_transition_run(plan, UPMU_SESSION_WAITING))
        return false;
    upmu_multiplex_settle(plan, NULL);
    return true;
}

static UPMU_APART bool rotate_on_stack(struct selection *selection)
{
    struct upmu_transition plan;

    return rotate_at_once(&plan, selection);
}

/* Where one needs more than a transition. */
static UPMU_APART void rotate_one_by_one(struct selection *selection)
{
    struct upmu_meter *meter = selection->meter;

    for (unsigned i = 0; i < selection->runners; i++)
        if (!(selection->staying >> i & 1u))
            displace(meter, selection->runner[i]);
    for (uint32_t rest = selection->coming; rest; rest &= rest - 1u) {
        struct upmu_session *session = selection->waiter[upmu_bits_lowest(rest)];

        if (upmu_schedule_start(meter, session, selection->moves) == UPMU_OK)
            session->change = 0;
    }
}

/* The first runners get new tickets and become the last.  (Apart: nothing of it is on the stack of a placement.) */
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

/* As many as may come leave, those that have run longest.  (Apart: what else a tick places goes without its stack.) */
static UPMU_APART void rotate(struct upmu_meter *meter, unsigned searches)
{
    struct selection selection;
    unsigned leavers;

    memset(&selection, 0, offsetof(struct selection, runner));
    selection.meter = meter;
    selection.searches = (uint8_t)searches;
    find_runners(&selection);
    find_waiters(&selection);
    if (upmu_meter_is_free(meter)) { /* none has to leave, and no counter belongs to one */
        selection.coming = UPMU_BIT32(selection.waiters) - 1u;
        rotate_one_by_one(&selection);
        return;
    }
    leavers = selection.runners < selection.waiters ? selection.runners : selection.waiters;
    renew_runners(&selection, leavers);
    choose_all(&selection);
    if (!(meter->work ? rotate_at_once(upmu_meter_plan(meter), &selection) : rotate_on_stack(&selection)))
        rotate_one_by_one(&selection);
}

/* Sessions of the thread that runs, which a call held when it was switched to. */
static void join_current(struct upmu_meter *meter)
{
    struct upmu_thread *thread = meter->cpu->current;

    if (!thread || !thread->unjoined || !upmu_thread_hold(thread))
        return;
    thread->unjoined = 0;
    for (struct upmu_session *session = thread->sessions; session; session = session->next_of_thread) {
        if (session->meter)
            continue;
        if (!upmu_thread_join(meter, session)) {
            thread->unjoined = 1;
            continue;
        }
        UPMU_STORE(session->started_ns, upmu_machine_clock_ns(meter->machine));
        session->change = 0;
        if (upmu_session_waits(session))
            wait_here(meter, session);
    }
    upmu_thread_release(thread);
}

#if UPMU_SETS

void upmu_multiplex_switch(struct upmu_meter *meter, struct upmu_session *session, struct upmu_set *set)
{
    upmu_chain_mark(session, set);
    upmu_transition_all(meter);
    upmu_multiplex_admit(meter);
}

/* A set that has had its time leaves for others that wait; the next one waits as they do. */
static void pass_on(struct upmu_meter *meter, struct upmu_session *session)
{
    displace(meter, session);
    if (!upmu_session_waits(session))
        return;
    upmu_chain_advance(session, NULL);
    renew(meter, session);
}

static void expire_sets(struct upmu_meter *meter)
{
    uint64_t now_ns = upmu_machine_clock_ns(meter->machine);
    struct upmu_session *session;

    for (uint32_t rest = meter->running; (session = upmu_chain_next_over(meter, &rest, now_ns)) != NULL;) {
        if (session->shares && meter->waiting[1])
            pass_on(meter, session);
        rest &= meter->running;
    }
    if (upmu_chain_expire(meter, now_ns))
        upmu_transition_all(meter);
}

#endif

void upmu_multiplex_tick(struct upmu_meter *meter)
{
    bool searched;

    if (!upmu_meter_is_unit(meter))
        join_current(meter);
    bury_zombies(meter);
#if UPMU_SETS
    expire_sets(meter);
#endif
    searched = meter->waiting[0] && admit_private(meter, SWITCH_LOOKS, true);
    if (meter->waiting[1])
        rotate(meter, searched ? 0 : TICK_SEARCHES);
    begin_waiting(meter);
}

#else

void upmu_multiplex_tick(struct upmu_meter *meter)
{
    bury_zombies(meter);
}

#endif

enum upmu_status upmu_multiplex_reload(struct upmu_meter *meter)
{
    enum upmu_status status = UPMU_OK;

    for (struct upmu_session *session = meter->sessions; session; session = session->next) {
        if (upmu_session_waits(session))
            UPMU_STORE(session->started_ns, upmu_meter_now(meter));
        if (session->state != UPMU_SESSION_SUSPENDED)
            continue;
        UPMU_STORE(session->state, UPMU_SESSION_STOPPED);
        /* With its claims kept it goes on where it was.  (What waits comes with the next tick: not on its counters.) */
        UPMU_STORE(session->error, meter->keep_claims ? upmu_transition_bring(meter, session)
                                                      : upmu_multiplex_start(meter, session, true));
        if (session->error != UPMU_OK)
            status = session->error;
    }
    return status;
}
