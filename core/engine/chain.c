/* SPDX-License-Identifier: MIT */
/*
 * Chains of event sets: which is next, and the switch by a handler.
 */
#include "core/engine/chain.h"
#include "core/util/random.h"
#include "core/hw/bank.h"
#include "core/hw/port_call.h"
#include "core/engine/claims.h"
#include "core/engine/count.h"
#include "core/engine/estimate.h"
#include "core/engine/meter.h"
#include "core/engine/multiplex.h"
#include "core/engine/placed.h"
#include "core/engine/program.h"
#include "core/engine/run.h"
#include "core/engine/session_core.h"

#if UPMU_SETS

/* A run that begins. */
static void begin_run(struct upmu_set *set)
{
    set->runs++;
    set->left_ns = set->timeout_ns;
    for (unsigned i = 0; i < set->count; i++)
        set->tally[i].to_switch = set->flags & UPMU_SET_OVERFLOW_SWITCH ? set->sampling[i].switch_after : 0;
}

/* One of those that were not drawn in this round; all were: a new round. */
static struct upmu_set *draw(struct upmu_session *session)
{
    unsigned left = 0;
    uint32_t skip;
    struct upmu_set *set;

    for (set = session->sets; set; set = set->next)
        left += set->round != session->round;
    if (!left) {
        session->round++;
        for (set = session->sets; set; set = set->next)
            left++;
    }
    skip = upmu_random_below(&session->random, left);
    for (set = session->sets; set->round == session->round || skip; set = set->next)
        if (set->round != session->round)
            skip--;
    set->round = session->round;
    return set;
}

static struct upmu_set *following(struct upmu_session *session)
{
    struct upmu_set *next = session->active->next;

    if (!session->ordered)
        return draw(session);
    return next ? next : session->sets;
}

/* Without a clock it is unknown how much a set misses while other sets run. */
static void mar_set(const struct upmu_session *session, struct upmu_set *set)
{
    for (unsigned i = 0; !port_has_clock(session->machine->port) && i < set->count; i++)
        UPMU_STORE(set->tally[i].hole, true);
}

void upmu_chain_begin(struct upmu_session *session)
{
    if (session->begun)
        return;
    session->begun = 1;
    session->round = 1;
    session->active->round = 1;
    begin_run(session->active);
}

void upmu_chain_mark(struct upmu_session *session, struct upmu_set *set)
{
    session->coming = set ? set : following(session);
    session->change = UPMU_CHANGE_LEAVES | UPMU_CHANGE_COMES;
    if (session->coming != session->active) {
        mar_set(session, session->active);
        mar_set(session, session->coming);
    }
}

void upmu_chain_switched(struct upmu_session *session, struct upmu_set *before)
{
    session->switch_due = 0;
    upmu_estimate_turn(before);
    begin_run(session->coming);
}

void upmu_chain_advance(struct upmu_session *session, struct upmu_set *set)
{
    upmu_chain_mark(session, set);
    session->change = 0;
    if (session->coming != session->active)
        session->counters = 0; /* those of the other set's placement */
    upmu_chain_switched(session, session->active);
    UPMU_STORE(session->active, session->coming);
}

#if UPMU_SAMPLING

/*
 * The counts of a set that is closed; false: one overflowed since the handler looked at it, faulted or is throttled,
 * which the local side finds, too.
 */
static bool take_counts(struct upmu_meter *meter, struct upmu_set *set)
{
    for UPMU_TALLIES(tally, set)
        if (tally->throttled || !upmu_run_fold(meter, tally) ||
            (upmu_tally_samples(tally) &&
             (tally->total >= tally->due || upmu_count_overflowed(meter->pmu, tally->counter, tally->base))))
            return false;
    return true;
}

bool upmu_chain_relieve(struct upmu_meter *meter, struct upmu_session *session)
{
    struct upmu_set *old = session->active, *next;
    uint64_t random = session->random;

    if (session->state != UPMU_SESSION_RUNNING || (session->counters & meter->deferred) ||
        upmu_multiplex_wanted(meter) || upmu_run_folds_first(meter) ||
        !upmu_program_handler_may(&meter->bank, &old->program))
        return false;
    UPMU_STORE(session->sequence, session->sequence + 2);
    upmu_chain_mark(session, NULL);
    session->change = 0;
    next = session->coming;
    /* (Others have none of its counters, or a fault has left one open.) */
    if (!next->counters || !upmu_placed_was_tried(meter, next, upmu_placed_corunners(meter, session)) ||
        upmu_bank_open(&meter->bank, next->counters & ~session->counters) || upmu_claims_share_set(meter, next) ||
        !upmu_program_handler_may(&meter->bank, &next->program) || !take_counts(meter, old)) {
        session->random = random; /* the lot was not drawn */
        next->round = session->round - 1u;
        return false;
    }
    upmu_session_ran(session, session->closed_ns);
    upmu_chain_switched(session, old);
    return true;
}

void upmu_chain_put_on(struct upmu_meter *meter, struct upmu_session *session)
{
    struct upmu_bank *bank = &meter->bank;
    struct upmu_set *next = session->coming;
    /* (Its interrupt may come when its world has been left.) */
    bool absent = session->counters & upmu_bank_absent(bank), fine;

    upmu_bank_handler_gate(bank, session->counters, false);
    UPMU_STORE(session->running_ns, session->closed_ns);
    UPMU_STORE(session->active, next);
    session->counters = next->counters;
    fine = upmu_program_handler_load(bank, &next->program, next->counters);
    for UPMU_TALLIES(tally, next) {
        upmu_run_take(meter, session, tally);
        UPMU_STORE(tally->ran, true);
        fine = fine && (upmu_meter_tagged(meter, tally) == tally->counters ||
                        upmu_run_begin_at(meter, tally, session->closed_ns));
    }
    upmu_bank_handler_gate(bank, next->counters, fine && !absent);
    if (!fine) {
        upmu_run_tag(meter, next->counters, 0);
        UPMU_STORE(session->state, UPMU_SESSION_STOPPED);
        (void)upmu_session_fault(meter, session);
        meter->running |= next->counters; /* (They were taken: what is published next forgets them.) */
    }
    upmu_run_publish(meter);
}

#endif

/* Has its set had its time? */
static bool is_over(const struct upmu_session *session, uint64_t now_ns)
{
    const struct upmu_set *set = session->active;

    return session->state == UPMU_SESSION_RUNNING && (set->flags & UPMU_SET_TIME_SWITCH) &&
           now_ns - session->running_ns >= set->left_ns;
}

struct upmu_session *upmu_chain_next_over(const struct upmu_meter *meter, uint32_t *rest, uint64_t now_ns)
{
    struct upmu_session *session;

    while ((session = upmu_meter_next_running(meter, rest)) != NULL && !is_over(session, now_ns))
        ;
    return session;
}

bool upmu_chain_expire(struct upmu_meter *meter, uint64_t now_ns)
{
    uint32_t rest = meter->running;
    bool any = false;
    struct upmu_session *session;

    while ((session = upmu_chain_next_over(meter, &rest, now_ns)) != NULL) {
        upmu_chain_mark(session, NULL);
        any = true;
    }
    for (session = meter->waiting[UPMU_WAIT_EMPTY]; session; session = session->next_waiting)
        if (is_over(session, now_ns)) {
            upmu_chain_mark(session, NULL);
            any = true;
        }
    return any;
}

#endif
