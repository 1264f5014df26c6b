/* SPDX-License-Identifier: MIT */
/*
 * Which sessions run on a CPU now: joint placement, start, stop, and what handlers
 * left to do.
 */
#include "core/schedule.h"
#include "core/apart.h"
#include "core/backend.h"
#include "core/bank.h"
#include "core/bits.h"
#include "core/claims.h"
#include "core/count.h"
#include "core/cpu.h"
#include "core/joint.h"
#include "core/local.h"
#include "core/metrics.h"
#include "core/run.h"
#include "core/turns.h"
#include "core/program.h"

enum place_mode {
    PLACE_ALONE,  /* could it run on an idle PMU? */
    PLACE_PINNED, /* could it run if those that share made room? */
    PLACE_STILL,  /* only where nothing that runs must move */
    PLACE_MOVE    /* wherever it fits */
};

#if UPMU_THREADS

/* Scattered, so that different groups of stamps have different sums (3 + 5 would be 8). */
uint64_t upmu_schedule_stamp(const struct upmu_set *set)
{
    uint64_t mixed = set->stamp * UINT64_C(0x9e3779b97f4a7c15);

    return (mixed ^ mixed >> 32) * UINT64_C(0x9e3779b97f4a7c15);
}

/* The placements that run beside a session, as a sum of stamps. */
uint64_t upmu_schedule_company(const struct upmu_cpu *cpu, const struct upmu_session *except)
{
    uint32_t rest = cpu->running;
    uint64_t sum = 0;

    for (const struct upmu_session *other; (other = upmu_cpu_next_running(cpu, &rest)) != NULL;)
        if (other != except && upmu_session_holds(other))
            sum += upmu_schedule_stamp(upmu_active(other));
    return sum;
}

/* Co-runners, and what is not ours, in one word. */
static uint64_t refusal_of(const struct upmu_cpu *cpu, uint64_t corunners)
{
    return (corunners ^ upmu_cpu_blocked(cpu) * UINT64_C(0x9e3779b97f4a7c15)) | 1u;
}

bool upmu_set_was_refused(const struct upmu_cpu *cpu, const struct upmu_set *set, uint64_t corunners)
{
    return set->program.refused == refusal_of(cpu, corunners);
}

/* The placement that it has stays: it may be good beside others. */
static void remember_refusal(const struct upmu_cpu *cpu, struct upmu_session *session)
{
    upmu_active(session)->program.refused = refusal_of(cpu, upmu_schedule_company(cpu, session));
}

/* Remember the PMU and the co-runners with which the active set was placed. */
static void remember(struct upmu_cpu *cpu, struct upmu_session *session, uint32_t counters)
{
    struct upmu_set *set = upmu_active(session);

    upmu_program_forget(set);
    set->counters = counters;
    /* (By 2^32 over the golden ratio CPUs begin far from each other: 1,000 of them more than 2^20 stamps.) */
    set->stamp = cpu->number * UINT32_C(0x9e3779b1) + ++cpu->stamps;
    set->placed_beside = upmu_schedule_company(cpu, session);
    set->placed_blocked = upmu_cpu_blocked(cpu);
    set->placed_class = upmu_schedule_class(cpu);
}

#else

static void remember(struct upmu_cpu *cpu, struct upmu_session *session, uint32_t counters)
{
    (void)cpu;
    (void)session;
    (void)counters;
}

static void remember_refusal(const struct upmu_cpu *cpu, struct upmu_session *session)
{
    (void)cpu;
    (void)session;
}

#endif

void upmu_session_placed(struct upmu_cpu *cpu, struct upmu_session *session)
{
    upmu_session_sum(session);
    remember(cpu, session, session->counters);
}

static enum upmu_status place(struct upmu_cpu *cpu, struct upmu_session *session, enum place_mode mode)
{
    struct upmu_joint joint;
    enum upmu_status status;
    unsigned first;
    uint32_t rest = cpu->running;

    for (unsigned i = 0; i < upmu_active(session)->count; i++)
        if (&cpu->machine->pmu[upmu_active(session)->event[i].pmu] != cpu->pmu)
            return upmu_session_refuse(session, UPMU_ERR_WRONG_PMU);
    upmu_joint_begin(&joint, cpu->pmu);
    for (struct upmu_session *other; mode != PLACE_ALONE && (other = upmu_cpu_next_running(cpu, &rest)) != NULL;)
        if (other != session && upmu_session_holds(other) && !(mode == PLACE_PINNED && other->shares) &&
            !upmu_joint_add(&joint, other, true))
            return UPMU_ERR_NO_SPACE;
    first = joint.count;
    if (!upmu_joint_add(&joint, session, false))
        return UPMU_ERR_NO_SPACE;
    status = upmu_joint_place(cpu, &joint, mode == PLACE_ALONE, &session->why);
    if (status == UPMU_ERR_DOES_NOT_FIT && mode == PLACE_STILL)
        remember_refusal(cpu, session);
    if (status != UPMU_OK || mode < PLACE_STILL)
        return status;
    for (unsigned i = 0; (mode == PLACE_STILL || !UPMU_MOVES) && i < first; i++)
        if (upmu_joint_moves(&joint, i))
            return UPMU_ERR_DOES_NOT_FIT;
    if (!upmu_claims_take(cpu, &joint))
        return UPMU_ERR_LOST_CLAIM;
    if (UPMU_MOVES)
        status = upmu_move_all(cpu, &joint);
    if (status != UPMU_OK)
        return status;
    for UPMU_TALLIES(tally, upmu_active(session))
        upmu_run_place(cpu, tally, &joint.result[first++]);
    upmu_session_placed(cpu, session);
    return UPMU_OK;
}

enum upmu_status upmu_schedule_fits(struct upmu_cpu *cpu, struct upmu_session *session)
{
    return place(cpu, session, PLACE_ALONE);
}

bool upmu_schedule_fits_pinned(struct upmu_cpu *cpu, struct upmu_session *session)
{
    return place(cpu, session, PLACE_PINNED) == UPMU_OK;
}

/* Is the placement that the session has still free? */
static UPMU_INSIDE bool still_placed(const struct upmu_cpu *cpu, const struct upmu_session *session)
{
    if (!session->counters || (session->counters & (cpu->running | upmu_cpu_blocked(cpu))))
        return false;
    if (upmu_set_shares(cpu, upmu_active(session)))
        return false;
    if (!cpu->running)
        return true;
    for (unsigned i = 0; i < upmu_active(session)->count; i++)
        if (upmu_active(session)->event[i].payload)
            return false;
    return true;
}

/* Placed beside what runs, and what is shared is claimed; once more if another CPU was faster. */
static enum upmu_status reserve(struct upmu_cpu *cpu, struct upmu_session *session, enum place_mode mode)
{
    enum upmu_status status;

    if (still_placed(cpu, session))
        return UPMU_OK;
    status = place(cpu, session, mode);
    return status == UPMU_ERR_LOST_CLAIM ? place(cpu, session, mode) : status;
}

enum upmu_status upmu_schedule_preload(struct upmu_cpu *cpu, struct upmu_session *session)
{
    enum upmu_status status = place(cpu, session, PLACE_STILL);

    if (status == UPMU_OK)
        status = upmu_run_load(cpu, session, 0);
    upmu_claims_trim(cpu, false);
    return status == UPMU_ERR_PORT ? upmu_run_fail(cpu, session) : status;
}

enum upmu_status upmu_schedule_start(struct upmu_cpu *cpu, struct upmu_session *session, bool may_move)
{
    uint8_t keep_claims = cpu->keep_claims;
    enum upmu_status status;

    cpu->keep_claims = 1;
    status = reserve(cpu, session, may_move ? PLACE_MOVE : PLACE_STILL);
    if (status == UPMU_ERR_PORT)
        (void)upmu_session_fault(cpu, session);
    else if (status == UPMU_OK)
        status = upmu_run_start(cpu, session);
    cpu->keep_claims = keep_claims;
    upmu_claims_trim(cpu, false);
    return status;
}

bool upmu_schedule_idle(struct upmu_cpu *cpu, uint32_t counters)
{
    struct upmu_image image;
    uint32_t changed;

    if (upmu_cpu_domain(cpu))
        counters &= ~cpu->pmu->shared_counters;
    upmu_image_clear(&image);
    cpu->pmu->backend->release(cpu->pmu, counters, &image);
    for (unsigned i = 0; i < image.count; i++)
        image.entry[i].release = true;
    upmu_run_tag(cpu, counters, 0);
    return upmu_bank_load(&cpu->bank, &image, 0, &changed);
}

enum upmu_status upmu_schedule_release(struct upmu_cpu *cpu, struct upmu_session *session)
{
    uint32_t mine = 0;

    for UPMU_TALLIES(tally, upmu_active(session))
        if (session->counters)
            mine |= upmu_run_tagged(cpu, tally);
    session->counters = 0;
    return upmu_schedule_idle(cpu, mine & ~cpu->running) ? UPMU_OK : UPMU_ERR_PORT;
}

/* A sampling counter that has overflowed though no interrupt came: it was dropped, or LVTPC was masked by others. */
static bool look_for_silence(struct upmu_cpu *cpu, unsigned counter)
{
    uint32_t interrupts = cpu->interrupts;
    uint64_t value;

    if ((cpu->deferred >> counter & 1u) || !upmu_bank_read(&cpu->bank, counter, &value) ||
        !upmu_count_overflowed(cpu->pmu, counter, value))
        return false;
    if (cpu->interrupts != interrupts) /* it was only late: the next poll looks again */
        return false;
    __atomic_fetch_or(&cpu->deferred, UPMU_BIT32(counter), __ATOMIC_RELAXED);
    return true;
}

enum upmu_status upmu_schedule_fold(struct upmu_cpu *cpu)
{
    enum upmu_status status = UPMU_OK;
    bool silent = false;

    for (uint32_t rest = cpu->running; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);
        struct upmu_tally *tally = upmu_run_on(cpu, counter);

        if (!tally || upmu_tally_is_metric(tally))
            continue;
        if (upmu_tally_samples(tally) && !tally->throttled) {
            silent |= look_for_silence(cpu, counter);
            continue;
        }
        upmu_tally_begin(tally);
        tally->storm = 0;
        if (!upmu_run_fold(cpu, tally))
            status = UPMU_ERR_PORT;
        if (tally->throttled)
            __atomic_fetch_or(&cpu->deferred, UPMU_BIT32(counter), __ATOMIC_RELAXED);
        upmu_tally_end(tally);
    }
    for (struct upmu_session *session = cpu->sessions; UPMU_METRICS && session; session = session->next)
        if (upmu_session_has_metrics(session) && upmu_session_holds(session) &&
            upmu_metrics_update(cpu, session) != UPMU_OK)
            status = UPMU_ERR_PORT;
    if (silent)
        upmu_cpu_rearm(cpu);
    return status;
}

enum upmu_status upmu_schedule_reload(struct upmu_cpu *cpu)
{
    enum upmu_status status = UPMU_OK;

    for (struct upmu_session *session = cpu->sessions; session; session = session->next) {
        if (upmu_session_waits(session))
            session->started_ns = upmu_cpu_now(cpu);
        if (session->state != UPMU_SESSION_SUSPENDED)
            continue;
        session->state = UPMU_SESSION_STOPPED;
        /* With its claims kept it goes on where it was.  (What waits comes with the next tick: not on its counters.) */
        session->error = cpu->keep_claims ? upmu_run_start(cpu, session) : upmu_turns_start(cpu, session);
        if (session->error != UPMU_OK)
            status = session->error;
    }
    return status;
}
