/* SPDX-License-Identifier: MIT */
/*
 * What handlers left for the local side: overflows of tallies that were being
 * changed, throttled counters that may sample again, sessions to be masked.
 */
#include "core/engine/deferred.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/hw/bank.h"
#include "core/hw/port_call.h"
#include "core/engine/count.h"
#include "core/engine/local.h"
#include "core/engine/meter.h"
#include "core/engine/multiplex.h"
#include "core/engine/report.h"
#include "core/engine/run.h"
#include "core/engine/transition.h"

#if UPMU_SAMPLING

static UPMU_APART void forget_deferred(struct upmu_meter *meter, unsigned counter)
{
    __atomic_fetch_and(&meter->deferred, ~UPMU_BIT32(counter), __ATOMIC_RELAXED);
}

/* Take the value of a running counter, emit what is due, load it again. */
static bool replay_counter(struct upmu_meter *meter, struct upmu_session *session, struct upmu_tally *tally,
                           unsigned counter)
{
    struct upmu_frame frame;
    bool framed = upmu_report_frame(meter, UPMU_BIT32(counter), &frame); /* before it is given free */
    uint64_t value;

    if ((upmu_run_folds_first(meter) && !upmu_run_fold(meter, tally)) ||
        !upmu_bank_gate(&meter->bank, 0, UPMU_BIT32(counter)) || !upmu_bank_read(&meter->bank, counter, &value))
        return false;
    if (upmu_run_settle(meter, session, tally, counter, value))
        upmu_report_emit(meter->cpu, session, UPMU_BIT32(tally->index), framed ? &frame : NULL);
    forget_deferred(meter, counter);
    return upmu_run_prime(meter, tally) && upmu_bank_gate(&meter->bank, UPMU_BIT32(counter), 0);
}

/* A counter that only counts wrapped while a call worked on its tally; the handler has cleared its flag. */
static void fold_late(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter)
{
    uint64_t value;

    forget_deferred(meter, counter);
    if (meter->last_tag[counter] != tally->tag)
        return;
    upmu_tally_begin(tally);
    if (!upmu_bank_read(&meter->bank, counter, &value)) {
        UPMU_STORE(tally->hole, true);
    } else {
        if (value < tally->base)
            upmu_run_turned(meter, tally, upmu_meter_now(meter), true);
        upmu_count_fold(meter, tally, counter, value);
    }
    upmu_tally_end(tally);
}

/*
 * An overflow that a handler found while its tally was being changed, or a
 * throttled counter that may sample again.  All tallies of the session are held:
 * its ring has one writer at a time.
 */
static void replay_one(struct upmu_meter *meter, unsigned counter)
{
    struct upmu_tally *tally = upmu_run_on(meter, counter);
    struct upmu_session *session = meter->of_tally[counter];
    bool fine;

    if (!(meter->running >> counter & 1u) || !tally) {
        forget_deferred(meter, counter);
        return;
    }
    if (!upmu_tally_samples(tally)) {
        fold_late(meter, tally, counter);
        return;
    }
    upmu_run_begin(session);
    fine = replay_counter(meter, session, tally, counter);
    if (!fine) {
        forget_deferred(meter, counter);
        UPMU_STORE(tally->hole, true);
    }
    upmu_run_end(session);
    if (fine)
        return;
    /* Its other counters hold what they counted. */
    (void)upmu_transition_take_off(meter, session);
    (void)upmu_run_fail(meter, session);
}

/* Counters can overflow faster than that is replayed.  After so many replays the rest waits for the next local call. */
#define REPLAYS 16u

static UPMU_APART void replay_deferred(struct upmu_meter *meter)
{
    unsigned left = REPLAYS;

    /* (A handler may serve one that is noted here: it is looked at once.) */
    for (uint32_t deferred; (deferred = meter->deferred) != 0 && left; left--)
        replay_one(meter, upmu_bits_lowest(deferred));
    if (!left)
        port_request_tick(meter->machine->port);
}

void upmu_deferred_run(struct upmu_meter *meter)
{
    if (meter->deferred)
        replay_deferred(meter);
    if (!meter->mask_due)
        return;
    meter->mask_due = 0;
    for (struct upmu_session *session = meter->sessions; session; session = session->next) {
        if (UPMU_SETS && session->switch_due && session->state == UPMU_SESSION_RUNNING)
            upmu_multiplex_switch(meter, session, NULL);
        if (session->full)
            (void)upmu_transition_take_off(meter, session);
    }
}

#else

void upmu_deferred_run(struct upmu_meter *meter)
{
    (void)meter;
}

#endif
