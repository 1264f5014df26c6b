/* SPDX-License-Identifier: MIT */
/*
 * A session's times and counters, and notes in it of refusals and faults (upmu_session.why): functions that change
 * nothing but the session and its sets.
 */
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/engine/session_core.h"

/* Is the session linked to a CPU or unit that sleeps?  There a waiting session has no enabled time. */
static bool is_asleep(const struct upmu_session *session)
{
    /* Load `meter` once: another CPU may link or unlink the session meanwhile. */
    const struct upmu_meter *meter = __atomic_load_n(&session->meter, __ATOMIC_RELAXED);

    return meter && !UPMU_LOAD(meter->live);
}

void upmu_session_enabled(struct upmu_session *session, uint64_t now_ns)
{
    if (!is_asleep(session))
        UPMU_STORE(session->enabled_ns, session->enabled_ns + (now_ns - session->started_ns));
    UPMU_STORE(session->started_ns, now_ns);
}

#if UPMU_THREADS

void upmu_session_settle(struct upmu_session *session, uint64_t missed_ns, uint64_t clock_ns)
{
    UPMU_STORE(session->enabled_ns, session->enabled_ns + missed_ns);
    upmu_session_note(session, clock_ns);
}

/* Number of tries to hold a session; a read holds it for a moment. */
#define HOLD_TRIES 1000u

bool upmu_session_hold_at_last(struct upmu_session *session)
{
    for (unsigned i = 0; i < HOLD_TRIES; i++)
        if (!__atomic_exchange_n(&session->held, 1, __ATOMIC_ACQUIRE))
            return true;
    return false;
}

#endif

void upmu_session_ran(struct upmu_session *session, uint64_t now_ns)
{
    if (UPMU_THREADS || UPMU_SETS) {
        struct upmu_set *set = upmu_active(session);
        uint64_t ran_ns = now_ns - session->running_ns;

        UPMU_STORE(set->duration_ns, set->duration_ns + ran_ns);
        set->left_ns = set->left_ns > ran_ns ? set->left_ns - ran_ns : 0;
    }
    upmu_session_enabled(session, now_ns);
}

uint64_t upmu_session_missed(const struct upmu_session *session, const struct upmu_set *set, uint64_t now_ns,
                             uint64_t *out_enabled_ns)
{
    uint64_t enabled_ns = UPMU_LOAD(session->enabled_ns), ran_ns = UPMU_LOAD(set->duration_ns);
    bool occupies = upmu_session_occupies(session); /* a session that is to be masked (`full`) still runs */

    if (occupies || (UPMU_THREADS && UPMU_LOAD(session->queued) && upmu_session_waits(session) && !is_asleep(session)))
        enabled_ns += now_ns - UPMU_LOAD(session->started_ns);
    if (occupies && set == upmu_active_seen(session))
        ran_ns += now_ns - UPMU_LOAD(session->running_ns);
    *out_enabled_ns = enabled_ns;
    return UPMU_THREADS || UPMU_SETS ? enabled_ns - ran_ns : 0;
}

enum upmu_status upmu_session_fault(struct upmu_meter *meter, struct upmu_session *session)
{
    UPMU_STORE(session->error, UPMU_ERR_PORT);
    UPMU_STORE(session->why.status, UPMU_ERR_PORT);
    UPMU_STORE(session->why.pmu, meter->pmu);
    UPMU_STORE(session->why.address, meter->bank.faulted);
    return UPMU_ERR_PORT;
}

uint32_t upmu_session_targets(const struct upmu_session *session)
{
    uint32_t dormant = 0;

    for (unsigned i = 0; i < upmu_active(session)->count; i++)
        if (upmu_tally_cascades(&upmu_active(session)->tally[i]))
            dormant |= UPMU_BIT32(upmu_active(session)->tally[i].counter & 31u);
    return dormant;
}

void upmu_session_sum(struct upmu_session *session)
{
    uint32_t counters = 0;

    for UPMU_TALLIES(tally, upmu_active(session))
        counters |= tally->counters;
    UPMU_STORE(session->counters, counters);
}

unsigned upmu_session_events(const struct upmu_session *session)
{
    unsigned events = 0;

    for (const struct upmu_set *set = session->sets; set; set = upmu_set_after(set))
        events += set->count;
    return events;
}

enum upmu_status upmu_session_refuse(struct upmu_session *session, enum upmu_status status)
{
    if (!session)
        return UPMU_ERR_STATE;
    upmu_shared_clear(&session->why, sizeof session->why);
    UPMU_STORE(session->why.status, status);
    return status;
}

void upmu_session_rewind(struct upmu_session *session)
{
    if (!session->begun)
        UPMU_STORE(session->active, session->sets);
}
