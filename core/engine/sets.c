/* SPDX-License-Identifier: MIT */
/*
 * Calls for the chain of sets of a session: add, remove, shuffle and switch sets (docs/ENGINE.md, "Threads,
 * multiplexing and sets").
 */
#include "core/util/mem.h"
#include "core/util/muldiv.h"
#include "core/hw/port_call.h"
#include "core/event/why.h"
#include "core/engine/machine.h"
#include "core/engine/meter.h"
#include "core/engine/placing.h"
#include "core/engine/reconcile.h"
#include "core/engine/room.h"
#include "core/engine/sets.h"
#include "core/engine/waiting.h"
#include "core/engine/session_core.h"

#if UPMU_SETS

struct upmu_set *upmu_session_find_set(struct upmu_session *session, uint16_t number)
{
    struct upmu_set *set = session->sets;

    while (set && set->number != number)
        set = set->next;
    return set;
}

/*
 * Round a timeout up to a multiple of the host's tick (port->tick_ns).  If the host gives no tick, or the result would
 * exceed 64 bits, return the timeout unchanged.
 */
static uint64_t effective_timeout(const struct upmu_session *session, uint64_t timeout_ns)
{
    uint64_t tick_ns = session->machine->port->tick_ns, rest;

    if (!tick_ns)
        return timeout_ns;
    (void)upmu_divide(timeout_ns, tick_ns, &rest);
    return rest && timeout_ns <= ~UINT64_C(0) - tick_ns ? timeout_ns - rest + tick_ns : timeout_ns;
}

/* Is this memory already a set of the session's chain?  Linked a second time, it would make the chain a circle. */
static bool is_chained(const struct upmu_session *session, const void *memory)
{
    const struct upmu_set *set = session->sets;

    while (set && set != memory)
        set = set->next;
    return set;
}

static void note_chain(struct upmu_session *session)
{
    session->chain = session->sets && (session->sets->next || session->sets->flags);
}

enum upmu_status upmu_session_add_set_sized(struct upmu_session *session, void *memory, size_t bytes, uint16_t number,
                                            unsigned flags, uint64_t timeout_ns)
{
    struct upmu_set **link = &session->sets, *set = memory;
    bool timed = flags & UPMU_SET_TIME_SWITCH, is_new;
    unsigned events = upmu_room_events(memory, bytes);

    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    while (*link && (*link)->number < number)
        link = &(*link)->next;
    is_new = !*link || (*link)->number != number;
    if ((flags & ~(UPMU_SET_TIME_SWITCH | UPMU_SET_OVERFLOW_SWITCH)) || timed != (timeout_ns != 0) ||
        (is_new && (!set || is_chained(session, set))))
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    if (is_new && !events)
        return upmu_session_refuse(session, UPMU_ERR_NO_SPACE);
    if (timed && !port_has_clock(session->machine->port))
        return upmu_why_hook(&session->why, "clock_ns");
    if (is_new) {
        upmu_room_begin(set, events);
        upmu_session_keep_set(session, set);
        set->number = number;
        set->next = *link;
        *link = set;
    }
    /* The set's duration becomes 0: subtract it from the gaps, so that running times stay as they are. */
    for UPMU_TALLIES(tally, *link)
        UPMU_STORE(tally->gap_ns, tally->gap_ns - (*link)->duration_ns);
    (*link)->flags = (uint8_t)flags;
    (*link)->timeout_ns = effective_timeout(session, timeout_ns);
    (*link)->left_ns = (*link)->timeout_ns;
    (*link)->runs = 0;
    UPMU_STORE((*link)->duration_ns, 0);
    UPMU_STORE((*link)->turn_ns, 0);
    note_chain(session);
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
    upmu_session_keep_set(NULL, *link);
    *link = (*link)->next;
    note_chain(session);
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

static enum upmu_status switch_work(const struct upmu_call *call)
{
    struct upmu_session *session = call->session;
    struct upmu_meter *meter = call->meter;

    if (upmu_session_occupies(session)) {
        upmu_plan_begin(meter, UPMU_SESSION_WAITING);
        (void)upmu_plan_out(meter, session);
        upmu_sets_choose(session, call->set);
        if (upmu_plan_fits(meter, session->following))
            (void)upmu_plan_in(meter, session, session->following);
        upmu_reconcile(meter);
        upmu_waiting_leavers(meter);
        upmu_waiting_admit(meter, true);
        return UPMU_OK;
    }
    if (meter && session->counters)
        (void)upmu_placing_release(meter, session);
    upmu_sets_advance(session, call->set);
    session->begun = 1;
    if (meter)
        upmu_waiting_admit(meter, true);
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

void upmu_set_ask(const struct upmu_set *set, struct upmu_set_info *out_info)
{
    const struct upmu_session *session = set->session;
    const struct upmu_meter *meter;
    const struct upmu_pmu *pmu;

    memset(out_info, 0, sizeof *out_info);
    if (!session)
        return;
    meter = session->meter;
    pmu = meter ? meter->pmu : upmu_machine_pmu_of(session->machine, set->count ? set->event[0].pmu : 0);
    out_info->number = set->number;
    out_info->flags = set->flags;
    out_info->active = set == session->active;
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

enum upmu_status upmu_session_add_set_sized(struct upmu_session *session, void *memory, size_t bytes, uint16_t number,
                                            unsigned flags, uint64_t timeout_ns)
{
    (void)memory;
    (void)bytes;
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

void upmu_set_ask(const struct upmu_set *set, struct upmu_set_info *out_info)
{
    (void)set;
    memset(out_info, 0, sizeof *out_info);
}

#endif

enum upmu_status upmu_session_add_set(struct upmu_session *session, struct upmu_set *set, uint16_t number,
                                      unsigned flags, uint64_t timeout_ns)
{
    return upmu_session_add_set_sized(session, set, sizeof *set, number, flags, timeout_ns);
}
