/* SPDX-License-Identifier: MIT */
/*
 * What handlers left for the local side: overflows of tallies that were being
 * changed, throttled counters that may sample again, sessions to be masked.
 */
#include "core/apart.h"
#include "core/bank.h"
#include "core/bits.h"
#include "core/joint.h"
#include "core/local.h"
#include "core/pmi.h"
#include "core/run.h"
#include "core/schedule.h"
#include "core/sets.h"

#if UPMU_SAMPLING

static UPMU_APART void forget_deferred(struct upmu_cpu *cpu, unsigned counter)
{
    __atomic_fetch_and(&cpu->deferred, ~UPMU_BIT32(counter), __ATOMIC_RELAXED);
}

/* Take the value of a running counter, emit what is due, load it again. */
static bool replay_counter(struct upmu_cpu *cpu, struct upmu_session *session, struct upmu_tally *tally,
                           unsigned counter)
{
    uint64_t value;

    if ((upmu_run_folds_first(cpu) && !upmu_run_fold(cpu, tally)) ||
        !upmu_bank_gate(&cpu->bank, 0, UPMU_BIT32(counter)) || !upmu_bank_read(&cpu->bank, counter, &value))
        return false;
    if (upmu_run_settle(cpu, tally, counter, value))
        upmu_pmi_emit(cpu, session, UPMU_BIT32(tally->index), true);
    forget_deferred(cpu, counter);
    return upmu_run_prime(cpu, tally) && upmu_bank_gate(&cpu->bank, UPMU_BIT32(counter), 0);
}

/*
 * An overflow that a handler found while its tally was being changed, or a
 * throttled counter that may sample again.  All tallies of the session are held:
 * its ring has one writer at a time.
 */
static void replay_one(struct upmu_cpu *cpu, unsigned counter)
{
    struct upmu_tally *tally = upmu_run_on(cpu, counter);
    struct upmu_session *session = cpu->of_tally[counter];
    bool fine;

    if (!(cpu->running >> counter & 1u) || !tally) {
        forget_deferred(cpu, counter);
        return;
    }
    upmu_run_begin(session);
    fine = replay_counter(cpu, session, tally, counter);
    if (!fine) {
        forget_deferred(cpu, counter);
        tally->hole = true;
    }
    upmu_run_end(session);
    if (fine)
        return;
    /* Its other counters hold what they counted. */
    (void)upmu_schedule_stop(cpu, session);
    (void)upmu_run_fail(cpu, session);
}

/* Counters can overflow faster than that is replayed.  After so many replays the rest waits for the next local call. */
#define REPLAYS 16u

static UPMU_APART void replay_deferred(struct upmu_cpu *cpu)
{
    unsigned left = REPLAYS;

    /* (A handler may serve one that is noted here: it is looked at once.) */
    for (uint32_t deferred; (deferred = cpu->deferred) != 0 && left; left--)
        replay_one(cpu, upmu_bits_lowest(deferred));
    if (!left)
        port_request_tick(cpu->machine->port);
}

void upmu_schedule_replay(struct upmu_cpu *cpu)
{
    if (cpu->deferred)
        replay_deferred(cpu);
    if (!cpu->mask_due)
        return;
    cpu->mask_due = 0;
    for (struct upmu_session *session = cpu->sessions; session; session = session->next) {
        if (UPMU_SETS && session->switch_due && session->state == UPMU_SESSION_RUNNING)
            upmu_sets_switch(cpu, session, NULL);
        if (session->full)
            (void)upmu_schedule_stop(cpu, session);
    }
}

#else

void upmu_schedule_replay(struct upmu_cpu *cpu)
{
    (void)cpu;
}

#endif
