/* SPDX-License-Identifier: MIT */
/*
 * Chains of event sets (docs/DESIGN.md, "Threads, turns and sets").
 */
#include "core/sets.h"
#include "core/backend.h"
#include "core/joint.h"
#include "core/mem.h"
#include "core/muldiv.h"
#include "core/port_call.h"
#include "core/random.h"
#include "core/run.h"
#include "core/schedule.h"
#include "core/turns.h"

unsigned upmu_session_events(const struct upmu_session *session)
{
    unsigned events = 0;

    for (const struct upmu_set *set = session->sets; set; set = upmu_set_after(set))
        events += set->count;
    return events;
}

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
        return upmu_session_refuse(session, UPMU_ERR_HOOK_MISSING);
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

/* Without a clock nobody knows how much a set misses while others run. */
static void mar_set(const struct upmu_session *session, struct upmu_set *set)
{
    for (unsigned i = 0; !port_has_clock(session->machine->port) && i < set->count; i++)
        set->tally[i].hole = true;
}

void upmu_sets_advance(struct upmu_session *session, struct upmu_set *set)
{
    if (!set)
        set = following(session);
    if (set != session->active) {
        mar_set(session, session->active);
        mar_set(session, set);
        session->counters = 0; /* those of the other set's placement */
    }
    upmu_estimate_slot(session->active);
    session->switch_due = 0;
    session->active = set;
    begin_run(set);
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

void upmu_sets_switch(struct upmu_cpu *cpu, struct upmu_session *session, struct upmu_set *set)
{
    mark(session, set);
    upmu_change_run(cpu);
    upmu_turns_admit(cpu);
}

bool upmu_sets_expire(struct upmu_cpu *cpu, uint64_t now_ns)
{
    bool any = false;

    for (struct upmu_session *session = cpu->sessions; session; session = session->next) {
        const struct upmu_set *set = session->active;

        if (session->state != UPMU_SESSION_RUNNING || !(set->flags & UPMU_SET_TIME_SWITCH) ||
            now_ns - session->running_ns < set->left_ns)
            continue;
        mark(session, NULL);
        any = true;
    }
    return any;
}

static enum upmu_status switch_work(const struct upmu_call *call)
{
    struct upmu_session *session = call->session;

    if (upmu_session_holds(session)) {
        upmu_sets_switch(call->cpu, session, call->set);
        return UPMU_OK;
    }
    if (call->cpu && session->counters)
        (void)upmu_schedule_release(call->cpu, session);
    upmu_sets_advance(session, call->set);
    session->begun = 1;
    if (call->cpu)
        upmu_turns_admit(call->cpu);
    return UPMU_OK;
}

enum upmu_status upmu_session_switch(struct upmu_session *session, struct upmu_set *set)
{
    struct upmu_call call = { .work = switch_work, .session = session, .set = set, .follow = true };

    if (!upmu_session_attached(session))
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    if (set && upmu_session_find_set(session, set->number) != set)
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    return upmu_session_call(&call);
}

void upmu_set_ask(const struct upmu_session *session, const struct upmu_set *set, struct upmu_set_info *out_info)
{
    const struct upmu_cpu *cpu = session->cpu;
    const struct upmu_pmu *pmu = cpu ? cpu->pmu : &session->machine->pmu[set->count ? set->event[0].pmu : 0];

    out_info->number = set->number;
    out_info->flags = set->flags;
    out_info->active = set == session->active;
    out_info->overflowed = 0;
    for (unsigned i = 0; i < set->count; i++)
        if (set->tally[i].overflows)
            out_info->overflowed |= UINT32_C(1) << i;
    out_info->available_counters = pmu->counters & ~(cpu ? upmu_cpu_blocked(cpu) : 0);
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
