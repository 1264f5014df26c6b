/* SPDX-License-Identifier: MIT */
/*
 * Polls: counters that run are folded before they go round unseen, and those that have overflowed without an interrupt
 * are found.
 */
#include "core/engine/poll.h"
#include "core/util/bits.h"
#include "core/hw/bank.h"
#include "core/hw/register.h"
#include "core/engine/count.h"
#include "core/engine/local.h"
#include "core/engine/meter.h"
#include "core/engine/metrics.h"
#include "core/engine/run.h"
#include "core/engine/session_core.h"

/* A sampling counter that has overflowed though no interrupt came: it was dropped, or LVTPC was masked by others. */
static bool look_for_silence(struct upmu_meter *meter, unsigned counter)
{
    uint32_t interrupts = meter->cpu->interrupts;
    uint64_t value;

    if ((meter->deferred >> counter & 1u) || !upmu_bank_read(&meter->bank, counter, &value) ||
        !upmu_count_overflowed(meter->pmu, counter, value))
        return false;
    if (meter->cpu->interrupts != interrupts) /* it was only late: the next poll looks again */
        return false;
    __atomic_fetch_or(&meter->deferred, UPMU_BIT32(counter), __ATOMIC_RELAXED);
    return true;
}

/* Of counters that never stop several sessions can have the same. */
static enum upmu_status fold_free(struct upmu_meter *meter)
{
    enum upmu_status status = UPMU_OK;

    for (struct upmu_session *session = meter->sessions; session; session = session->next)
        if (upmu_session_occupies(session))
            for UPMU_TALLIES(tally, upmu_active(session)) {
                upmu_tally_begin(tally);
                if (!upmu_run_fold(meter, tally))
                    status = UPMU_ERR_PORT;
                upmu_tally_end(tally);
            }
    return status;
}

/* A unit's counter that would stop at its end begins anew long before: its boxes together have counted 2^46. */
static bool begin_anew(struct upmu_meter *meter, struct upmu_tally *tally)
{
    struct upmu_bank *bank = &meter->bank;
    const struct upmu_counter *where = &meter->pmu->counter[tally->counter];
    uint32_t counter = UPMU_BIT32(tally->counter);
    uint64_t select = bank->shadow[where->select_row];
    bool folded = upmu_bank_close(bank, counter) && upmu_run_fold(meter, tally);
    bool fine = folded && upmu_bank_write(bank, tally->counter, 0);

    /* (A write that faulted may have reached some of its boxes.) */
    if (fine)
        UPMU_STORE(tally->base, 0);
    else if (folded)
        (void)upmu_bank_read(bank, tally->counter, &tally->base);
    /* Closed it names no event.  A fault is answered by a second attempt. */
    for (unsigned i = 0; i < 2; i++) {
        if (upmu_bank_merge(bank, where->select_row, ~UPMU_BIT64(where->gate_bit), select, counter) &&
            upmu_bank_gate(bank, counter, 0))
            break;
        fine = false;
    }
    return fine;
}

enum upmu_status upmu_poll_fold(struct upmu_meter *meter)
{
    enum upmu_status status = UPMU_OK;
    bool silent = false;
    uint32_t running = meter->running;

    if (upmu_meter_is_free(meter))
        return fold_free(meter);
    for (uint32_t rest = running; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);
        struct upmu_tally *tally = upmu_run_on(meter, counter);

        if (!tally || upmu_tally_is_metric(tally))
            continue;
        if (upmu_tally_samples(tally) && !tally->throttled) {
            silent |= look_for_silence(meter, counter);
            continue;
        }
        upmu_tally_begin(tally);
        tally->storm = 0;
        if (!upmu_run_fold(meter, tally))
            status = UPMU_ERR_PORT;
        if (upmu_meter_saturates(meter) && tally->base >> 46 && !begin_anew(meter, tally))
            status = UPMU_ERR_PORT;
        if (tally->throttled)
            __atomic_fetch_or(&meter->deferred, UPMU_BIT32(counter), __ATOMIC_RELAXED);
        upmu_tally_end(tally);
    }
    for (struct upmu_session *session; UPMU_METRICS && (session = upmu_meter_next_running(meter, &running)) != NULL;)
        if (upmu_session_occupies(session) && upmu_session_has_metrics(meter, session) &&
            upmu_metrics_update(meter, session) != UPMU_OK)
            status = UPMU_ERR_PORT;
    if (silent)
        upmu_meter_rearm(meter);
    return status;
}
