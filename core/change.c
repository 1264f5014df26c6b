/* SPDX-License-Identifier: MIT */
/*
 * A change of what runs, in one go: a thread switch, a set switch, a turn
 * (docs/DESIGN.md, "Threads, turns and sets").
 *
 * Close what stops or differs, take the counts, load what differs, open.  A counter
 * that both sides want with the same configuration runs on.
 */
#include "core/backend.h"
#include "core/bank.h"
#include "core/bits.h"
#include "core/claims.h"
#include "core/count.h"
#include "core/local.h"
#include "core/mem.h"
#include "core/metrics.h"
#include "core/run.h"
#include "core/schedule.h"
#include "core/sets.h"
#include "core/turns.h"

#if UPMU_THREADS

struct change {
    struct upmu_cpu *cpu;
    uint32_t leaving; /* counters of those that leave */
    uint32_t coming;  /* counters of those that come */
    uint32_t differ;  /* of these, with another configuration than the registers hold */
    uint32_t staying; /* counters that run on from one to the other */
    uint32_t kept;    /* counters that run on for nobody */
};

static bool leaves(const struct upmu_session *session)
{
    return session->change & UPMU_CHANGE_LEAVES;
}

static bool comes(const struct upmu_session *session)
{
    return session->change & UPMU_CHANGE_COMES;
}

/* Counters whose registers do not hold what the set wants; false: it has to come by another way. */
static bool compare(const struct upmu_cpu *cpu, const struct upmu_set *set, uint32_t *differ)
{
    struct upmu_image image;

    image.count = 0;
    image.overfull = false;
    image.prelude = NULL;
    for (unsigned i = 0; i < set->count; i++) {
        if (upmu_event_cascades(&set->event[i]) || upmu_tally_is_metric(&set->tally[i]) ||
            upmu_tally_is_wide(&set->tally[i]))
            return false;
        upmu_run_render(cpu, set, i, &image);
    }
    *differ = upmu_bank_changes(&cpu->bank, &image);
    return !image.overfull && !(UPMU_PRELUDES && image.prelude && *differ);
}

/* What other CPUs see is claimed as it was for the last placement; false: another CPU has it. */
static bool claim(struct upmu_cpu *cpu, struct upmu_session *session)
{
    struct upmu_joint joint;

    upmu_joint_begin(&joint, cpu->pmu);
    if (!upmu_joint_add(&joint, session, true))
        return false;
    for (unsigned i = 0; i < joint.count; i++) {
        joint.result[i].alternative = joint.stay_alternative[i];
        memcpy(joint.result[i].counter, joint.stay[i], sizeof joint.stay[i]);
    }
    return upmu_claims_take(cpu, &joint);
}

/* Is the last placement of a set good beside `company`, and are its counters free? */
static bool is_placed(const struct change *change, struct upmu_session *session, uint64_t company)
{
    struct upmu_cpu *cpu = change->cpu;
    const struct upmu_set *set = session->coming;

    return set->counters && set->placed_class == upmu_schedule_class(cpu) &&
           set->placed_blocked == upmu_cpu_blocked(cpu) && set->placed_beside == company &&
           !(set->counters & ((cpu->running & ~change->leaving) | change->coming)) &&
           (!upmu_session_shares(cpu, session) || (set == upmu_active(session) && claim(cpu, session)));
}

/* Those that have a placement come, the others later: one may be good only beside another. */
static void choose(struct change *change)
{
    struct upmu_cpu *cpu = change->cpu;
    uint64_t company = 0;
    bool found = true;

    for (struct upmu_session *session = cpu->sessions; session; session = session->next) {
        if (upmu_session_holds(session) && !leaves(session))
            company += upmu_schedule_stamp(upmu_active(session));
        if (comes(session))
            session->change ^= UPMU_CHANGE_COMES | UPMU_CHANGE_LATER;
    }
    while (found) {
        found = false;
        for (struct upmu_session *session = cpu->sessions; session; session = session->next) {
            uint32_t differ;

            if (!(session->change & UPMU_CHANGE_LATER) || !is_placed(change, session, company) ||
                !compare(cpu, session->coming, &differ))
                continue;
            session->change ^= UPMU_CHANGE_COMES | UPMU_CHANGE_LATER;
            change->coming |= session->coming->counters;
            change->differ |= differ;
            company += upmu_schedule_stamp(session->coming);
            found = true;
        }
    }
}

/* The tally that is read from a counter and leaves it, or NULL. */
static struct upmu_tally *leaving_tally(const struct change *change, unsigned counter)
{
    struct upmu_tally *tally = change->leaving >> counter & 1u ? change->cpu->tally[counter] : NULL;

    return tally && tally->counter == counter && !upmu_tally_samples(tally) ? tally : NULL;
}

/* Left running by a static session, and known to be. */
static bool runs_for_nobody(const struct upmu_cpu *cpu, uint32_t counters)
{
    if ((counters & cpu->running) || upmu_bank_open(&cpu->bank, counters) != counters)
        return false;
    for (uint32_t rest = counters; rest; rest &= rest - 1u)
        if (!upmu_bank_knows(&cpu->bank, cpu->pmu->counter[upmu_bits_lowest(rest)].gate_row))
            return false;
    return true;
}

/* Counters that need not be closed: both sides only count there, the same. */
static void find_staying(struct change *change)
{
    uint32_t spoiled = change->differ;

    for (struct upmu_session *session = change->cpu->sessions; session; session = session->next)
        if (leaves(session) && (session->full || session->switch_due || upmu_session_has_metrics(session) ||
                                upmu_session_dormant(session)))
            spoiled |= session->counters;
    for (struct upmu_session *session = change->cpu->sessions; session; session = session->next)
        for (unsigned i = 0; comes(session) && i < session->coming->count; i++) {
            const struct upmu_tally *tally = &session->coming->tally[i];

            if (upmu_tally_samples(tally) || (tally->counters & spoiled))
                continue;
            if (runs_for_nobody(change->cpu, tally->counters) ||
                (!(tally->counters & ~change->leaving) && leaving_tally(change, tally->counter)))
                change->staying |= tally->counters;
        }
    for (struct upmu_session *session = change->cpu->sessions; session; session = session->next)
        for (unsigned i = 0; leaves(session) && session->is_static && i < session->leaving->count; i++)
            if (!upmu_tally_samples(&session->leaving->tally[i]))
                change->kept |= session->leaving->tally[i].counters & ~(spoiled | change->coming);
}

static void hold_set(struct upmu_set *set, bool hold)
{
    for (unsigned i = 0; i < set->count; i++)
        if (hold)
            upmu_tally_begin(&set->tally[i]);
        else
            upmu_tally_end(&set->tally[i]);
}

/* Handlers leave the tallies of both sides alone, readers come again. */
static void hold(const struct change *change, bool hold)
{
    for (struct upmu_session *session = change->cpu->sessions; session; session = session->next) {
        if (!leaves(session) && !comes(session))
            continue;
        session->sequence++;
        UPMU_BARRIER();
        if (leaves(session))
            hold_set(session->leaving, hold);
        if (comes(session) && !(leaves(session) && session->coming == session->leaving))
            hold_set(session->coming, hold);
    }
}

static void stop_leaving(struct change *change, struct upmu_session *session, bool closed, uint64_t now_ns)
{
    struct upmu_cpu *cpu = change->cpu;

    if (upmu_run_counts(cpu, session) != UPMU_OK)
        closed = false;
    upmu_session_ran(session, now_ns);
    session->state = session->full ? UPMU_SESSION_MASKED : UPMU_SESSION_WAITING;
    session->full = 0;
    if (UPMU_SETS && session->change & UPMU_CHANGE_COMES_OR_LATER)
        upmu_sets_switched(session, session->leaving);
    else if (session->change & UPMU_CHANGE_TURN)
        upmu_estimate_slot(session->leaving);
    if (closed)
        return;
    /* A register faulted: what it left is loaded anew by whoever comes. */
    upmu_run_tag(cpu, session->counters, 0);
    session->error = UPMU_ERR_PORT;
    session->state = UPMU_SESSION_STOPPED;
}

static void close_leaving(struct change *change)
{
    struct upmu_cpu *cpu = change->cpu;
    uint32_t dormant = 0, closing = change->leaving & ~(change->staying | change->kept);
    uint64_t now_ns;
    bool closed = true;

    for (struct upmu_session *session = cpu->sessions; session; session = session->next) {
        if (!leaves(session))
            continue;
        dormant |= upmu_session_dormant(session) & session->counters;
        for (unsigned i = 0; upmu_run_folds_first(cpu) && i < session->leaving->count; i++)
            closed &= upmu_run_fold(cpu, &session->leaving->tally[i]);
    }
    if (dormant)
        closed &= upmu_run_shut(cpu, dormant);
    if (closing & ~dormant)
        closed &= upmu_run_shut(cpu, closing & ~dormant);
    now_ns = port_clock_ns(cpu->machine->port);
    for (struct upmu_session *session = cpu->sessions; session; session = session->next)
        if (leaves(session))
            stop_leaving(change, session, closed, now_ns);
}

/* The value at which one side left a counter is the other's base. */
static void take_staying(struct change *change, struct upmu_session *session)
{
    struct upmu_cpu *cpu = change->cpu;

    for (unsigned i = 0; i < session->coming->count; i++) {
        struct upmu_tally *tally = &session->coming->tally[i];

        if (!(tally->counters & change->staying))
            continue;
        tally->turned = upmu_count_stamp(port_clock_ns(cpu->machine->port));
        if (change->leaving & tally->counters)
            tally->base = cpu->tally[tally->counter]->base;
        else if (!upmu_bank_read(&cpu->bank, tally->counter, &tally->base))
            cpu->last_tag[tally->counter] = 0;
        /* A read that faulted left no base. */
        if (cpu->last_tag[tally->counter])
            upmu_run_tag(cpu, tally->counters, tally->tag);
        else
            change->staying &= ~tally->counters;
    }
}

/* Bring one in, gates closed but for those that stay. */
static void load_coming(struct change *change, struct upmu_session *session)
{
    struct upmu_cpu *cpu = change->cpu;

    bool failed = session->state != UPMU_SESSION_WAITING;

    session->active = session->coming;
    session->counters = session->coming->counters;
    if (!failed)
        take_staying(change, session);
    if (!failed && upmu_run_load(cpu, session, change->coming & ~change->staying) == UPMU_OK)
        return;
    change->coming &= ~session->counters;
    session->change &= (uint8_t)~UPMU_CHANGE_COMES;
    if (!leaves(session) || session->coming != session->leaving)
        hold_set(session->coming, false);
    session->sequence += !leaves(session);
    (void)upmu_run_fail(cpu, session);
}

static void announce_coming(struct change *change, struct upmu_session *session, uint64_t now_ns)
{
    struct upmu_set *set = session->coming;

    for (unsigned i = 0; i < set->count; i++) {
        upmu_run_take(change->cpu, session, &set->tally[i]);
        set->tally[i].ran = true;
    }
    session->error = UPMU_OK;
    session->full = 0;
    /* While it left and came, or its thread was switched to, it was not enabled: that time is nobody's. */
    if (!(session->change & (UPMU_CHANGE_LEAVES | UPMU_CHANGE_FRESH)))
        upmu_session_enabled(session, now_ns);
    session->started_ns = now_ns;
    session->running_ns = now_ns;
    session->state = UPMU_SESSION_RUNNING;
}

static void open_coming(struct change *change)
{
    struct upmu_cpu *cpu = change->cpu;
    uint32_t opening = change->coming & ~change->staying;

    if (!opening || upmu_bank_gate(&cpu->bank, opening, 0))
        return;
    for (struct upmu_session *session = cpu->sessions; session; session = session->next)
        if (comes(session)) {
            upmu_run_mar(session);
            (void)upmu_run_fail(cpu, session);
        }
}

void upmu_change_run(struct upmu_cpu *cpu)
{
    struct change change = { .cpu = cpu };
    uint64_t now_ns;
    bool some_leave = false;

    for (struct upmu_session *session = cpu->sessions; session; session = session->next) {
        session->leaving = upmu_active(session);
        if (!leaves(session))
            continue;
        some_leave = true;
        change.leaving |= session->counters; /* (none of an empty set) */
    }
    cpu->keep_claims = 1;
    choose(&change);
    find_staying(&change);
    hold(&change, true);
    if (some_leave)
        close_leaving(&change);
    for (struct upmu_session *session = cpu->sessions; session; session = session->next)
        if (comes(session)) {
            load_coming(&change, session);
        } else if (session->active != session->coming && leaves(session)) {
            session->active = session->coming;
            session->counters = 0;
        }
    now_ns = port_clock_ns(cpu->machine->port);
    for (struct upmu_session *session = cpu->sessions; session; session = session->next)
        if (comes(session))
            announce_coming(&change, session, now_ns);
        else if (session->change & UPMU_CHANGE_LATER)
            session->change |= UPMU_CHANGE_FRESH;
    upmu_schedule_publish(cpu);
    hold(&change, false);
    open_coming(&change);
    for (struct upmu_session *session = cpu->sessions; session; session = session->next)
        session->change &= UPMU_CHANGE_FRESH;
    cpu->keep_claims = 0;
    upmu_claims_trim(cpu, false);
}

#endif
