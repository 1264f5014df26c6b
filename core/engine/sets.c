/* SPDX-License-Identifier: MIT */
/*
 * Chains of event sets (docs/DESIGN.md, "Threads, multiplexing and sets").
 */
#include "core/engine/sets.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/util/muldiv.h"
#include "core/util/random.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/hw/port_call.h"
#include "core/event/why.h"
#include "core/engine/claims.h"
#include "core/engine/count.h"
#include "core/engine/estimate.h"
#include "core/engine/joint.h"
#include "core/engine/meter.h"
#include "core/engine/multiplex.h"
#include "core/engine/placed.h"
#include "core/engine/program.h"
#include "core/engine/run.h"
#include "core/engine/schedule.h"
#include "core/engine/transition.h"

void upmu_session_rewind(struct upmu_session *session)
{
    if (!session->begun)
        session->active = session->sets;
}

#if UPMU_SETS

struct upmu_set *upmu_session_find_set(struct upmu_session *session, uint16_t number)
{
    struct upmu_set *set = session->sets;

    while (set && set->number != number)
        set = set->next;
    return set;
}

/* Rounded up to what the host's tick can tell. */
static uint64_t effective(const struct upmu_session *session, uint64_t timeout_ns)
{
    uint64_t tick_ns = session->machine->port->tick_ns, rest;

    if (!tick_ns)
        return timeout_ns;
    (void)upmu_divide(timeout_ns, tick_ns, &rest);
    return rest && timeout_ns <= ~UINT64_C(0) - tick_ns ? timeout_ns - rest + tick_ns : timeout_ns;
}

/* A run that begins. */
static void begin_run(struct upmu_set *set)
{
    set->runs++;
    set->left_ns = set->timeout_ns;
    for (unsigned i = 0; i < set->count; i++)
        set->tally[i].to_switch = set->flags & UPMU_SET_OVERFLOW_SWITCH ? set->sampling[i].switch_after : 0;
}

enum upmu_status upmu_session_add_set(struct upmu_session *session, struct upmu_set *set, uint16_t number,
                                      unsigned flags, uint64_t timeout_ns)
{
    struct upmu_set **link = &session->sets;
    bool timed = flags & UPMU_SET_TIME_SWITCH;

    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    while (*link && (*link)->number < number)
        link = &(*link)->next;
    if ((flags & ~(UPMU_SET_TIME_SWITCH | UPMU_SET_OVERFLOW_SWITCH)) || timed != (timeout_ns != 0) ||
        (!set && !(*link && (*link)->number == number)))
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    if (timed && !port_has_clock(session->machine->port))
        return upmu_why_hook(&session->why, "clock_ns");
    if (!*link || (*link)->number != number) {
        memset(set, 0, sizeof *set);
        set->number = number;
        set->next = *link;
        *link = set;
    }
    (*link)->flags = (uint8_t)flags;
    (*link)->timeout_ns = effective(session, timeout_ns);
    (*link)->left_ns = (*link)->timeout_ns;
    (*link)->runs = 0;
    (*link)->duration_ns = 0;
    (*link)->slot_ns = 0;
    upmu_session_rewind(session);
    return upmu_session_refuse(session, UPMU_OK);
}

enum upmu_status upmu_session_remove_set(struct upmu_session *session, uint16_t number)
{
    struct upmu_set **link = &session->sets;

    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    while (*link && (*link)->number != number)
        link = &(*link)->next;
    if (!*link)
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    if (session->active == *link)
        session->begun = 0;
    *link = (*link)->next;
    upmu_session_rewind(session);
    /* (Its memory is the host's now.) */
    session->coming = NULL;
    session->overflow.set = NULL;
    return upmu_session_refuse(session, UPMU_OK);
}

enum upmu_status upmu_session_shuffle(struct upmu_session *session, bool shuffle, uint64_t seed)
{
    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    session->ordered = !shuffle;
    session->random = seed;
    return UPMU_OK;
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
        set->tally[i].hole = true;
}

void upmu_sets_begin(struct upmu_session *session)
{
    if (session->begun)
        return;
    session->begun = 1;
    session->round = 1;
    session->active->round = 1;
    begin_run(session->active);
}

static void mark(struct upmu_session *session, struct upmu_set *set)
{
    session->coming = set ? set : following(session);
    session->change = UPMU_CHANGE_LEAVES | UPMU_CHANGE_COMES;
    if (session->coming != session->active) {
        mar_set(session, session->active);
        mar_set(session, session->coming);
    }
}

void upmu_sets_switched(struct upmu_session *session, struct upmu_set *before)
{
    session->switch_due = 0;
    upmu_estimate_slot(before);
    begin_run(session->coming);
}

void upmu_sets_advance(struct upmu_session *session, struct upmu_set *set)
{
    mark(session, set);
    session->change = 0;
    if (session->coming != session->active)
        session->counters = 0; /* those of the other set's placement */
    upmu_sets_switched(session, session->active);
    session->active = session->coming;
}

void upmu_sets_switch(struct upmu_meter *meter, struct upmu_session *session, struct upmu_set *set)
{
    mark(session, set);
    upmu_transition_all(meter);
    upmu_multiplex_admit(meter);
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

bool upmu_sets_relieve(struct upmu_meter *meter, struct upmu_session *session)
{
    struct upmu_set *old = session->active, *next;
    uint64_t random = session->random;

    if (session->state != UPMU_SESSION_RUNNING || (session->counters & meter->deferred) ||
        upmu_multiplex_wanted(meter) || upmu_run_folds_first(meter) ||
        !upmu_program_handler_may(&meter->bank, &old->program))
        return false;
    session->sequence += 2;
    mark(session, NULL);
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
    upmu_sets_switched(session, old);
    return true;
}

void upmu_sets_put_on(struct upmu_meter *meter, struct upmu_session *session)
{
    struct upmu_bank *bank = &meter->bank;
    struct upmu_set *next = session->coming;
    bool fine;

    upmu_bank_handler_gate(bank, session->counters, false);
    session->running_ns = session->closed_ns;
    session->active = next;
    session->counters = next->counters;
    fine = upmu_program_handler_load(bank, &next->program, next->counters);
    for UPMU_TALLIES(tally, next) {
        upmu_run_take(meter, session, tally);
        tally->ran = true;
        fine = fine && (upmu_run_tagged(meter, tally) == tally->counters ||
                        upmu_run_begin_at(meter, tally, session->closed_ns));
    }
    upmu_bank_handler_gate(bank, next->counters, fine);
    if (!fine) {
        upmu_run_tag(meter, next->counters, 0);
        session->state = UPMU_SESSION_STOPPED;
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

struct upmu_session *upmu_sets_next_over(const struct upmu_meter *meter, uint32_t *rest, uint64_t now_ns)
{
    struct upmu_session *session;

    while ((session = upmu_meter_next_running(meter, rest)) != NULL && !is_over(session, now_ns))
        ;
    return session;
}

bool upmu_sets_expire(struct upmu_meter *meter, uint64_t now_ns)
{
    uint32_t rest = meter->running;
    bool any = false;
    struct upmu_session *session;

    while ((session = upmu_sets_next_over(meter, &rest, now_ns)) != NULL) {
        mark(session, NULL);
        any = true;
    }
    for (session = meter->waiting[UPMU_WAIT_EMPTY]; session; session = session->next_waiting)
        if (is_over(session, now_ns)) {
            mark(session, NULL);
            any = true;
        }
    return any;
}

static enum upmu_status switch_work(const struct upmu_call *call)
{
    struct upmu_session *session = call->session;

    if (upmu_session_holds(session)) {
        upmu_sets_switch(call->meter, session, call->set);
        return UPMU_OK;
    }
    if (call->meter && session->counters)
        (void)upmu_schedule_release(call->meter, session);
    upmu_sets_advance(session, call->set);
    session->begun = 1;
    if (call->meter)
        upmu_multiplex_admit(call->meter);
    return UPMU_OK;
}

enum upmu_status upmu_session_switch(struct upmu_session *session, struct upmu_set *set)
{
    struct upmu_call call = {
        .work = switch_work, .session = session, .set = set, .follow = true, .targeted = true
    };

    if (!upmu_session_attached(session))
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    if (set && upmu_session_find_set(session, set->number) != set)
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    return upmu_session_call(&call);
}

void upmu_set_ask(const struct upmu_session *session, const struct upmu_set *set, struct upmu_set_info *out_info)
{
    const struct upmu_meter *meter = session->meter;
    const struct upmu_pmu *pmu = meter ? meter->pmu : &session->machine->pmu[set->count ? set->event[0].pmu : 0];

    out_info->number = set->number;
    out_info->flags = set->flags;
    out_info->active = set == session->active;
    out_info->overflowed = 0;
    for (unsigned i = 0; i < set->count; i++)
        if (set->tally[i].overflows)
            out_info->overflowed |= UINT32_C(1) << i;
    out_info->available_counters = pmu->counters & ~(meter ? upmu_meter_blocked(meter) : 0);
    out_info->runs = set->runs;
    out_info->timeout_ns = set->timeout_ns;
    out_info->left_ns = set->left_ns;
    out_info->duration_ns = set->duration_ns;
}

#else

enum upmu_status upmu_session_add_set(struct upmu_session *session, struct upmu_set *set, uint16_t number,
                                      unsigned flags, uint64_t timeout_ns)
{
    (void)set;
    (void)number;
    (void)flags;
    (void)timeout_ns;
    return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
}

enum upmu_status upmu_session_remove_set(struct upmu_session *session, uint16_t number)
{
    (void)number;
    return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
}

struct upmu_set *upmu_session_find_set(struct upmu_session *session, uint16_t number)
{
    return number ? NULL : &session->set;
}

enum upmu_status upmu_session_shuffle(struct upmu_session *session, bool shuffle, uint64_t seed)
{
    (void)shuffle;
    (void)seed;
    return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
}

enum upmu_status upmu_session_switch(struct upmu_session *session, struct upmu_set *set)
{
    (void)set;
    return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
}

void upmu_set_ask(const struct upmu_session *session, const struct upmu_set *set, struct upmu_set_info *out_info)
{
    (void)session;
    (void)set;
    memset(out_info, 0, sizeof *out_info);
}

#endif
