/* SPDX-License-Identifier: MIT */
/*
 * A placed session on the hardware: registers loaded, gates opened, counts taken.
 *
 * Order (R4): configuration, then shadow of the gate, then the gate; a tally is
 * visible to handlers before its gate opens and is marked as being changed while
 * the local side works on it.
 */
#include "core/engine/run.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/hw/bank_inline.h"
#include "core/hw/port_call.h"
#include "core/engine/absent.h"
#include "core/engine/claims.h"
#include "core/engine/count.h"
#include "core/engine/features.h"
#include "core/engine/joint.h"
#include "core/engine/local.h"
#include "core/engine/meter.h"
#include "core/engine/metrics.h"
#include "core/engine/placed.h"
#include "core/engine/program.h"
#include "core/engine/report.h"
#include "core/engine/session_core.h"

void upmu_run_tag(struct upmu_meter *meter, uint32_t counters, uint32_t tag)
{
    for (; counters; counters &= counters - 1u)
        meter->last_tag[upmu_bits_lowest(counters)] = tag;
}

void upmu_run_untag(struct upmu_meter *meter, const struct upmu_tally *tally)
{
    upmu_run_tag(meter, upmu_meter_tagged(meter, tally), 0);
}

/* Its later counts are not on the counters that it leaves, if it is placed there again. */
void upmu_run_place(struct upmu_meter *meter, struct upmu_tally *tally, const struct upmu_place_result *result)
{
    if (tally->counter != result->counter[0])
        upmu_run_untag(meter, tally);
    upmu_joint_note(tally, result);
}

bool upmu_run_acknowledge(struct upmu_meter *meter, uint32_t counters)
{
    uint32_t flagged = meter->flagged & counters;

    if (!flagged)
        return true;
    if (!upmu_bank_acknowledge(&meter->bank, flagged))
        return false;
    __atomic_fetch_and(&meter->flagged, ~flagged, __ATOMIC_RELAXED);
    return true;
}

#if UPMU_UNCORE

/* A box of the unit was gone or reset: all that counts there has a hole, but for what begins. */
static UPMU_APART void mar_lacking(struct upmu_meter *meter, const struct upmu_tally *begun)
{
    uint32_t lacks = meter->bank.lacks;

    meter->bank.lacks = 0;
    for (struct upmu_session *session = meter->sessions; session; session = session->next)
        if (upmu_session_occupies(session))
            for UPMU_TALLIES(tally, upmu_active(session))
                if (tally != begun && (UPMU_BIT32(tally->counter) & lacks))
                    UPMU_STORE(tally->hole, true);
    for (; lacks; lacks &= lacks - 1u)
        meter->last_tag[upmu_bits_lowest(lacks)] = 0;
}

#endif

static inline void note_lacks(struct upmu_meter *meter, const struct upmu_tally *begun)
{
#if UPMU_UNCORE
    if (__builtin_expect(upmu_bank_lacks(&meter->bank) != 0, 0))
        mar_lacking(meter, begun);
#else
    (void)meter;
    (void)begun;
#endif
}

#if UPMU_UNCORE

/* The base of a unit's count, of which all boxes answer.  Apart: a handler has no units, and none of its stack. */
static UPMU_APART bool begin_unit(struct upmu_meter *meter, struct upmu_tally *tally)
{
    bool fine = upmu_bank_begin(&meter->bank, tally->counter, &tally->base);

    note_lacks(meter, tally);
    return fine;
}

#endif

/* The base of a count: what its counter holds. */
static bool begin_count(struct upmu_meter *meter, struct upmu_tally *tally)
{
#if UPMU_UNCORE
    if (upmu_bank_type(&meter->bank))
        return begin_unit(meter, tally);
#endif
    return upmu_bank_read(&meter->bank, tally->counter, &tally->base);
}

bool upmu_run_begin_at(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns)
{
    unsigned counter = tally->counter;

    if (upmu_tally_samples(tally)) {
        uint64_t load = upmu_count_load(meter->pmu, tally, counter);

        if (!upmu_bank_write(&meter->bank, counter, load))
            return false;
        UPMU_STORE(tally->base, load);
    } else if (!upmu_run_acknowledge(meter, tally->counters)) {
        return false;
    } else if (upmu_tally_is_lent(tally)) {
        UPMU_STORE(tally->base, (tally->total + tally->reset) & upmu_bits_ones(meter->pmu->counter[counter].width));
        if (!upmu_bank_write(&meter->bank, counter, tally->base))
            return false;
    } else if (upmu_meter_saturates(meter) || (upmu_features_hide(meter) && !upmu_tally_is_metric(tally))) {
        /* (What it held may be its end already, or another thread's.) */
        if (!upmu_bank_write(&meter->bank, counter, 0))
            return false;
        UPMU_STORE(tally->base, 0);
    } else if (!begin_count(meter, tally)) {
        return false;
    }
    meter->used |= tally->counters;
    tally->turned = upmu_count_stamp(now_ns);
    upmu_run_tag(meter, tally->counters, tally->tag);
    return true;
}

/*
 * Give a counter that ran for another event, or has a new event, its start value. Its gate is
 * closed already, unless closing it faulted the last time or it stands still.  From those beside it
 * nothing is read, but they are not what others left there.  (A unit's counter is only read, and may
 * run for one that has left it so.)
 */
bool upmu_run_prime(struct upmu_meter *meter, struct upmu_tally *tally)
{
    uint32_t closes = upmu_meter_is_unit(meter) ? 0 : UPMU_BIT32(tally->counter);

    return upmu_bank_close(&meter->bank, closes & ~upmu_bank_kept_open(&meter->bank)) &&
           (!upmu_tally_is_wide(tally) ||
            upmu_bank_write(&meter->bank, tally->slot[UPMU_SECOND_SLOT], UPMU_WIDE_LOAD)) &&
           upmu_run_begin_at(meter, tally, upmu_meter_now(meter));
}

/* The initiator of a cascade begins anew with each start. */
static bool prime_initiator(struct upmu_meter *meter, const struct upmu_tally *tally)
{
    unsigned counter = tally->slot[UPMU_SECOND_SLOT];

    return !upmu_tally_cascades(tally) ||
           (upmu_bank_close(&meter->bank, UPMU_BIT32(counter)) &&
            upmu_bank_write(&meter->bank, counter, UINT64_C(0) - upmu_tally_sampling(tally)->period));
}

void upmu_run_publish(struct upmu_meter *meter)
{
    uint32_t running = 0, sampling = 0, quiet = 0, before = meter->running;
    uint64_t corunners = 0;

    for (unsigned counter = 0; counter < UPMU_COUNTERS; counter++) {
        struct upmu_session *session = meter->of_tally[counter];
        uint32_t mine = 0;

        /* (One that has moved is found where it was, too.) */
        if (!session || !(session->counters & ~running & UPMU_BIT32(counter)) || !upmu_session_occupies(session))
            continue;
        for UPMU_TALLIES(tally, upmu_active(session))
            if (upmu_tally_samples(tally))
                mine |= UPMU_BIT32(tally->counter);
        running |= session->counters;
        corunners += UPMU_THREADS && session->counters ? upmu_placed_stamp(upmu_active(session)) : 0;
        sampling |= mine;
        if (mine)
            quiet |= session->counters;
    }
    /*
     * What leaves is none of these first: what runs and is not sampled is not looked at, and keeps its interrupt
     * asserted for ever where that is by level.
     */
    meter->running = before & running;
    UPMU_BARRIER();
    meter->sampling = sampling;
    meter->quiet = quiet;
    meter->left |= running;
    meter->stop_bits = upmu_stop_bits(meter->pmu, quiet);
    meter->corunners = corunners;
    UPMU_BARRIER();
    meter->running = running;
    UPMU_BARRIER();
    if (upmu_absent_any(meter))
        upmu_absent_find(meter);
    /* A session that does not run any more may be freed. */
    for (uint32_t rest = before & ~running; rest; rest &= rest - 1u) {
        meter->tally[upmu_bits_lowest(rest)] = NULL;
        meter->of_tally[upmu_bits_lowest(rest)] = NULL;
    }
}

void upmu_run_take(struct upmu_meter *meter, struct upmu_session *session, struct upmu_tally *tally)
{
    for (uint32_t rest = tally->counters; rest; rest &= rest - 1u) {
        meter->of_tally[upmu_bits_lowest(rest)] = session;
        meter->tally[upmu_bits_lowest(rest)] = tally;
    }
}

struct upmu_tally *upmu_run_on(const struct upmu_meter *meter, unsigned counter)
{
    struct upmu_tally *tally = meter->tally[counter];

    return tally && tally->counter == counter ? tally : NULL;
}

bool upmu_run_still(const struct upmu_meter *meter, const struct upmu_tally *tally)
{
    return UPMU_BACKEND_AMD && !tally->shared && !tally->wide && upmu_bank_still(&meter->bank, tally->counters);
}

/* The interrupt for it may still come; its flag is cleared by that, by the end of the call or before the next event. */
UPMU_APART void upmu_run_turned(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns, bool passed)
{
    tally->turned = upmu_count_stamp(now_ns);
    if ((UPMU_UNCORE || UPMU_FOREIGN) && (meter->pmu->capabilities & UPMU_PMU_NO_PMI))
        return;
    upmu_meter_expect(meter, 1, now_ns);
    if (!passed)
        __atomic_fetch_or(&meter->flagged, tally->counters, __ATOMIC_RELAXED);
}

void upmu_run_expect(struct upmu_meter *meter, uint32_t counters)
{
    uint32_t open = (counters & meter->running) | upmu_bank_open(&meter->bank, counters & ~upmu_meter_blocked(meter));

    if (open)
        upmu_meter_expect(meter, upmu_bits_count(open), upmu_meter_now(meter));
}

UPMU_APART void upmu_run_unread(struct upmu_meter *meter, struct upmu_tally *tally)
{
    UPMU_STORE(tally->hole, true);
    meter->last_tag[tally->counter] = 0;
    upmu_meter_expect(meter, 1, upmu_meter_now(meter));
}

/* Before a fold that sees a counter pass zero. */
static void note_turn(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t value, bool passed)
{
    if (passed || value < tally->base)
        upmu_run_turned(meter, tally, upmu_meter_now(meter), passed);
}

bool upmu_run_fold(struct upmu_meter *meter, struct upmu_tally *tally)
{
    uint64_t value;
    bool fine = upmu_bank_read(&meter->bank, tally->counter, &value);

    note_lacks(meter, NULL);
    if (!fine)
        return false;
    note_turn(meter, tally, value, false);
    upmu_count_fold(meter, tally, tally->counter, value);
    return true;
}

/*
 * Take the value of a closed counter into its tally; true: a sample is due.  A
 * sampling counter that passed zero, or whose sample came before that because the
 * shortest load is longer than what was left, must be loaded again before it runs.
 */
bool upmu_run_settle(struct upmu_meter *meter, const struct upmu_session *session, struct upmu_tally *tally,
                     unsigned counter, uint64_t value)
{
    bool due, passed = upmu_tally_samples(tally) && upmu_count_overflowed(meter->pmu, counter, value);
    bool deferred = meter->deferred >> counter & 1u;

    /* What it counted since it was folded, just before it was closed, is little. */
    if (upmu_run_folds_first(meter))
        UPMU_STORE(tally->base, value - (uint32_t)(value - tally->base));
    passed = passed && !tally->throttled;
    note_turn(meter, tally, value, passed);
    upmu_count_fold(meter, tally, counter, value);
    if (!upmu_tally_samples(tally))
        return false;
    due = upmu_count_due(tally);
    if (due)
        upmu_count_adapt(tally, upmu_session_clock(session, upmu_meter_now(meter)));
    if (passed)
        __atomic_fetch_or(&meter->flagged, UPMU_BIT32(counter), __ATOMIC_RELAXED);
    /* (A handler's load may have faulted, and a lost carry looks as if it had not overflowed.) */
    if (due || passed || tally->throttled || deferred)
        meter->last_tag[counter] = 0;
    UPMU_BARRIER();
    /* (A handler that came before that has answered, and deferred it.) */
    if (passed && (meter->deferred >> counter & 1u))
        __atomic_fetch_and(&meter->deferred, ~UPMU_BIT32(counter), __ATOMIC_RELAXED);
    tally->throttled = false;
    return due;
}

bool upmu_run_value(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t *out_value)
{
    bool fine;

    if (upmu_tally_cascades(tally)) {
        if (!upmu_bank_read(&meter->bank, tally->slot[UPMU_SECOND_SLOT], out_value))
            return false;
        UPMU_STORE(tally->ran,
                   tally->ran || upmu_count_overflowed(meter->pmu, tally->slot[UPMU_SECOND_SLOT], *out_value));
    }
    fine = upmu_bank_read(&meter->bank, UPMU_LOAD(tally->counter), out_value);
    note_lacks(meter, NULL);
    return fine;
}

void upmu_run_mar(struct upmu_session *session)
{
    for UPMU_TALLIES(tally, upmu_active(session))
        UPMU_STORE(tally->hole, true);
}

static void mar(struct upmu_session *session, bool marred)
{
    if (marred)
        upmu_run_mar(session);
}

/* Registers that a box has lost are written before its counters run again. */
static void unlearn_reset(struct upmu_meter *meter, const struct upmu_session *session)
{
#if UPMU_UNCORE
    for (uint32_t rest = meter->bank.reset & session->counters; rest; rest &= rest - 1u)
        upmu_bank_unlearn(&meter->bank, upmu_bits_lowest(rest));
#else
    (void)meter;
    (void)session;
#endif
}

/* Read the closed counters of a session into its tallies. */
enum upmu_status upmu_run_counts(struct upmu_meter *meter, struct upmu_session *session)
{
    struct upmu_frame frame;
    bool framed = upmu_report_frame(meter, session->counters, &frame); /* before it is given free */
    uint32_t due = 0;
    enum upmu_status status = UPMU_OK;

    if (upmu_session_has_metrics(meter, session) && !upmu_metrics_take(meter, session)) {
        status = UPMU_ERR_PORT;
        mar(session, true);
    }
    for UPMU_TALLIES(tally, upmu_active(session)) {
        uint64_t value;

        if (upmu_tally_is_metric(tally))
            continue;
        if (!upmu_run_value(meter, tally, &value)) {
            status = UPMU_ERR_PORT;
            if (upmu_bank_type(&meter->bank)) /* (The boxes that answered, and what was read of the others.) */
                upmu_count_fold(meter, tally, tally->counter, value);
            upmu_run_unread(meter, tally);
        } else if (upmu_run_settle(meter, session, tally, tally->counter, value)) {
            due |= UPMU_BIT32(tally->index);
        }
    }
    unlearn_reset(meter, session);
    if (due)
        upmu_report_emit(meter->cpu, session, due, framed ? &frame : NULL);
    return status;
}

void upmu_run_hold(struct upmu_set *set, bool hold)
{
    for UPMU_TALLIES(tally, set)
        if (hold)
            upmu_tally_begin(tally);
        else
            upmu_tally_end(tally);
}

void upmu_run_begin(struct upmu_session *session)
{
    upmu_run_hold(upmu_active(session), true);
}

void upmu_run_end(struct upmu_session *session)
{
    upmu_run_hold(upmu_active(session), false);
}

/* Close gates; a fault is answered by a second attempt, with the register read. */
bool upmu_run_close(struct upmu_meter *meter, uint32_t counters)
{
    return upmu_bank_gate(&meter->bank, 0, counters) || upmu_bank_gate(&meter->bank, 0, counters);
}

/* The target of a cascade first: the end of its initiator's overflow would stop it, too. */
bool upmu_run_close_all(struct upmu_meter *meter, uint32_t counters, uint32_t dormant)
{
    bool fine = upmu_run_close(meter, counters & dormant);

    return upmu_run_close(meter, counters & ~dormant) && fine;
}

/* A register faulted: the session stops, the others run on. */
enum upmu_status upmu_run_fail(struct upmu_meter *meter, struct upmu_session *session)
{
    upmu_run_expect(meter, session->counters);
    (void)upmu_run_close_all(meter, session->counters, upmu_session_dormant(session));
    if (upmu_session_occupies(session))
        upmu_session_ran(session, upmu_meter_now(meter));
    else if (upmu_session_waits(session) && !(session->change & UPMU_CHANGE_FRESH))
        upmu_session_enabled(session, upmu_meter_now(meter));
    upmu_session_become(session, UPMU_SESSION_STOPPED);
    UPMU_STORE(session->full, 0);
    upmu_run_tag(meter, session->counters, 0);
    meter->running |= session->counters; /* (They were taken: what is published next forgets them.) */
    upmu_run_publish(meter);
    upmu_claims_trim(meter, false);
    if (!meter->in_handler)
        upmu_meter_log(meter, "upmu: a register faulted; a session was stopped");
    return upmu_session_fault(meter, session);
}

/* Left open by a static session: what they counted since then is in no session's count. */
static bool ran_unowned(const struct upmu_meter *meter, uint32_t counters)
{
    return UPMU_THREADS && upmu_bank_open(&meter->bank, counters & ~meter->running);
}

bool upmu_run_ready(struct upmu_meter *meter, struct upmu_tally *tally, uint32_t changed, uint32_t opening)
{
    if (upmu_tally_is_metric(tally))
        return true;
    return (!((changed & tally->counters) || upmu_meter_tagged(meter, tally) != tally->counters ||
              ran_unowned(meter, tally->counters & opening)) ||
            upmu_run_prime(meter, tally)) &&
           prime_initiator(meter, tally);
}

static enum upmu_status load_program(struct upmu_meter *meter, struct upmu_session *session, uint32_t opening)
{
    const struct upmu_program *program = &upmu_active(session)->program;
    uint32_t changed;

    if (!upmu_bank_load(&meter->bank, program->step, program->steps, opening, &changed))
        return UPMU_ERR_PORT;
    for UPMU_TALLIES(tally, upmu_active(session))
        if (!upmu_run_ready(meter, tally, changed, opening))
            return UPMU_ERR_PORT;
    return upmu_session_has_metrics(meter, session) ? upmu_metrics_begin(meter, session) : UPMU_OK;
}

/* All that runs is closed and its counts are taken: the counters of a prelude lose what they hold. */
static bool pause_others(struct upmu_meter *meter)
{
    bool fine;

    meter->paused = meter->running;
    meter->paused_ns = upmu_meter_now(meter);
    for (struct upmu_session *other = meter->sessions; other; other = other->next)
        if (upmu_session_occupies(other))
            upmu_run_begin(other);
    fine = upmu_run_close(meter, meter->paused);
    for (struct upmu_session *other = meter->sessions; other; other = other->next)
        if (upmu_session_occupies(other))
            (void)upmu_run_counts(meter, other);
    return fine;
}

/* A session that was paused and cannot go on. */
static void give_up(struct upmu_meter *meter, struct upmu_session *other)
{
    meter->paused &= ~other->counters;
    mar(other, true);
    /* (Its counters are not what it left: it is held until no handler sees it.) */
    (void)upmu_run_fail(meter, other);
    upmu_run_end(other);
}

/*
 * The accesses of a prelude, and of all that it makes necessary, are counted apart.
 * Those that ran are loaded again, but open together with the new one: the sequence
 * is good for one start (Linux arch/x86/events/intel/core.c, intel_pmu_nhm_enable_all).
 */
static bool run_prelude(struct upmu_meter *meter)
{
    const struct upmu_prelude *prelude = meter->pmu->backend->prelude;
    struct upmu_accesses *now = &meter->bank.accesses, before = *now;
    bool fine = pause_others(meter), broken = false;

    /* What a static session left running stands still meanwhile: its base is no more. */
    upmu_run_tag(meter, prelude->counters | upmu_bank_open(&meter->bank, meter->pmu->counters & ~meter->running), 0);
    meter->used |= prelude->counters & ~upmu_meter_blocked(meter);
    if (fine) /* a fault is answered by a second attempt: what was selected without the whole sequence counts wrong */
        broken = !upmu_bank_prelude(&meter->bank, prelude, upmu_meter_blocked(meter)) &&
                 !upmu_bank_prelude(&meter->bank, prelude, upmu_meter_blocked(meter));
    for (struct upmu_session *other = meter->sessions; other; other = other->next) {
        if (!upmu_session_occupies(other))
            continue;
        mar(other, !fine);
        if (broken || !upmu_program_ready(meter, upmu_active(other)) ||
            load_program(meter, other, other->counters) != UPMU_OK)
            give_up(meter, other);
    }
    before.prelude += now->writes - before.writes + now->reads - before.reads + now->rdpmcs - before.rdpmcs;
    *now = before;
    return fine && !broken;
}

/* Open these, and what a prelude had paused: the time between is a gap in its counts. */
bool upmu_run_open(struct upmu_meter *meter, uint32_t opening)
{
    const struct upmu_port *port = meter->machine->port;
    bool fine = upmu_bank_gate(&meter->bank, opening | meter->paused, 0);

    if (!UPMU_PRELUDES || !meter->paused)
        return fine;
    for (struct upmu_session *other = meter->sessions; other; other = other->next) {
        /* One that is stopped still says which counters it had. */
        if (!upmu_session_occupies(other) || !(other->counters & meter->paused))
            continue;
        if (!fine) {
            give_up(meter, other);
            continue;
        }
        mar(other, !port_has_clock(port));
        for UPMU_TALLIES(tally, upmu_active(other))
            UPMU_STORE(tally->gap_ns, tally->gap_ns + (upmu_meter_now(meter) - meter->paused_ns));
        upmu_run_end(other);
    }
    meter->paused = 0;
    return fine;
}

enum upmu_status upmu_run_load(struct upmu_meter *meter, struct upmu_session *session, uint32_t opening)
{
    struct upmu_set *set = upmu_active(session);
    const struct upmu_program *program = &set->program;

    if (!upmu_program_ready(meter, set))
        return UPMU_ERR_UNSUPPORTED;
    if (UPMU_PRELUDES && (program->flags & UPMU_PROGRAM_PRELUDE) &&
        upmu_bank_changes(&meter->bank, program->step, program->steps) && !run_prelude(meter))
        return UPMU_ERR_PORT;
    return load_program(meter, session, opening);
}
