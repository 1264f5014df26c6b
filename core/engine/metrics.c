/* SPDX-License-Identifier: MIT */
/*
 * Top-down metrics.  Order: slots are read before metrics and zeroed before them
 * (Linux arch/x86/events/intel/core.c, icl_update_topdown_event and
 * icl_set_topdown_event_period).
 */
#include "core/engine/metrics.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/muldiv.h"
#include "core/hw/bank.h"
#include "core/engine/run.h"

#if UPMU_METRICS

/* A byte is exact to half of a 255th. */
#define WHOLE 255u

static UPMU_APART struct upmu_tally *slots_of(struct upmu_session *session)
{
    for (unsigned i = 0; i < upmu_active(session)->count; i++)
        if (upmu_active(session)->tally[i].counter == UPMU_SLOTS_COUNTER)
            return &upmu_active(session)->tally[i];
    return NULL;
}

static unsigned register_of(const struct upmu_session *session)
{
    return upmu_bits_lowest(session->counters & UPMU_METRIC_COUNTERS(session->meter->pmu));
}

enum upmu_status upmu_metrics_begin(struct upmu_meter *meter, struct upmu_session *session)
{
    struct upmu_tally *slots = slots_of(session);

    if (slots && slots->period)
        return UPMU_ERR_UNSUPPORTED;
    if (!upmu_bank_write(&meter->bank, UPMU_SLOTS_COUNTER, 0) ||
        !upmu_bank_write(&meter->bank, register_of(session), 0))
        return UPMU_ERR_PORT;
    meter->used |= UPMU_BIT32(UPMU_SLOTS_COUNTER);
    meter->last_tag[UPMU_SLOTS_COUNTER] = slots ? slots->tag : 0;
    if (slots)
        UPMU_STORE(slots->base, 0);
    return UPMU_OK;
}

/* `base` of a metric is the error of its count so far. */
bool upmu_metrics_take(struct upmu_meter *meter, struct upmu_session *session)
{
    uint64_t slots, metrics, rest;

    if (!upmu_bank_read(&meter->bank, UPMU_SLOTS_COUNTER, &slots) ||
        !upmu_bank_read(&meter->bank, register_of(session), &metrics))
        return false;
    for (unsigned i = 0; slots && i < upmu_active(session)->count; i++) {
        struct upmu_tally *tally = &upmu_active(session)->tally[i];

        if (!upmu_tally_is_metric(tally))
            continue;
        UPMU_STORE(tally->total,
                   tally->total + upmu_muldiv(slots, metrics >> 8u * (tally->counter & 7u) & WHOLE, WHOLE));
        UPMU_STORE(tally->base, tally->base + (upmu_divide(slots, 2 * WHOLE, &rest) + 1u));
        UPMU_STORE(meter->seen_counting, 1);
    }
    return true;
}

enum upmu_status upmu_metrics_update(struct upmu_meter *meter, struct upmu_session *session)
{
    uint32_t counters = session->counters & (UPMU_METRIC_COUNTERS(meter->pmu) | UPMU_BIT32(UPMU_SLOTS_COUNTER));
    struct upmu_tally *slots = slots_of(session);
    bool fine;

    upmu_run_begin(session);
    fine = upmu_bank_gate(&meter->bank, 0, counters) && upmu_metrics_take(meter, session) &&
           (!slots || upmu_run_fold(meter, slots)) && upmu_metrics_begin(meter, session) == UPMU_OK &&
           upmu_bank_gate(&meter->bank, counters, 0);
    for UPMU_TALLIES(tally, upmu_active(session))
        if (!fine && (upmu_tally_is_metric(tally) || tally == slots || !upmu_run_fold(meter, tally)))
            UPMU_STORE(tally->hole, true);
    upmu_run_end(session);
    return fine ? UPMU_OK : upmu_run_fail(meter, session);
}

#endif
