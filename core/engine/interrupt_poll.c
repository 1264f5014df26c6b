/* SPDX-License-Identifier: MIT */
/*
 * Polls: what no interrupt tells in time is found by a look at the counters.
 */
#include "core/util/bits.h"
#include "core/hw/bank.h"
#include "core/engine/count.h"
#include "core/engine/interrupt.h"
#include "core/engine/meter.h"
#include "core/engine/reconcile.h"
#include "core/engine/report.h"
#include "core/engine/special.h"

/*
 * Has a sampling counter overflowed without an interrupt?  Its interrupt was dropped, or other software has masked
 * LVTPC.
 */
static bool look_for_silence(struct upmu_meter *meter, unsigned counter)
{
    uint32_t interrupts = meter->cpu->interrupts;
    uint64_t value;

    /* If an interrupt came during the read, the overflow's interrupt was only late, and not dropped: false. */
    return upmu_bank_read(&meter->bank, counter, &value) && upmu_count_overflowed(meter->pmu, counter, value) &&
           meter->cpu->interrupts == interrupts;
}

/* Let a throttled event sample again: take its count, load the next period, open the counter. */
static void end_throttling(struct upmu_meter *meter, struct upmu_session *session, struct upmu_tally *tally,
                           uint64_t now_ns)
{
    uint32_t counter = UPMU_BIT32(tally->counter);
    uint64_t value;

    if ((upmu_count_adds_first(meter) && !upmu_count_add(meter, tally, now_ns)) ||
        !upmu_bank_gate(&meter->bank, 0, counter) || !upmu_bank_read(&meter->bank, tally->counter, &value)) {
        upmu_meter_fails(meter, tally->counters);
        return;
    }
    if (upmu_count_take_one(meter, session, tally, tally->counter, value, now_ns))
        upmu_report_store(meter, session, UPMU_BIT32(tally->index), now_ns);
    if (!upmu_count_begin_at(meter, tally, now_ns))
        upmu_meter_loses(meter, tally);
    if (!upmu_bank_gate(&meter->bank, counter, 0))
        upmu_meter_fails(meter, tally->counters);
}

/*
 * Fold the running events of all sessions of a unit whose counters never stop.  Several sessions can read one such
 * counter, so they are not found by their counters.  Returns UPMU_ERR_PORT where a register faulted.
 */
static enum upmu_status add_free(struct upmu_meter *meter, uint64_t now_ns)
{
    enum upmu_status status = UPMU_OK;

    for (struct upmu_session *session = meter->sessions; session; session = session->next) {
        if (!upmu_session_occupies(session))
            continue;
        upmu_session_begin_change(session);
        for UPMU_TALLIES(tally, upmu_active(session))
            if (!upmu_count_add(meter, tally, now_ns))
                status = UPMU_ERR_PORT;
        upmu_session_end_change(session);
    }
    return status;
}

/*
 * Set a counter to 0 long before its end, where it would stop: the boxes of its unit together have counted 2^46 or
 * more.  Returns false where a register faulted.
 */
static bool begin_anew(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns)
{
    struct upmu_bank *bank = &meter->bank;
    const struct upmu_counter *where = &meter->pmu->counter[tally->counter];
    uint32_t counter = UPMU_BIT32(tally->counter);
    uint64_t select = bank->shadow[where->select_row];
    bool folded = upmu_bank_close(bank, counter) && upmu_count_add(meter, tally, now_ns);
    bool fine = folded && upmu_bank_write(bank, tally->counter, 0);

    /* A write that faulted may have reached some boxes: read the new base. */
    if (fine)
        upmu_count_from_zero(tally);
    else if (folded)
        (void)upmu_count_rebase(meter, tally);
    /*
     * Closing has removed the event from the select: write it again, and open the gate.  After a fault try both once
     * more.
     */
    for (unsigned i = 0; i < 2; i++) {
        if (upmu_bank_merge(bank, where->select_row, ~UPMU_BIT64(where->gate_bit), select, counter) &&
            upmu_bank_gate(bank, counter, 0))
            break;
        fine = false;
    }
    return fine;
}

enum upmu_status upmu_interrupt_poll(struct upmu_meter *meter)
{
    enum upmu_status status = UPMU_OK;
    bool silent = false;
    uint32_t running = meter->running;
    uint64_t now_ns = upmu_meter_now(meter);

    if (upmu_meter_is_free(meter))
        return add_free(meter, now_ns);
    for (uint32_t rest = running; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);
        struct upmu_tally *tally = upmu_meter_on(meter, counter);
        struct upmu_session *session = meter->slot[counter].session;

        if (!tally || upmu_tally_is_metric(tally))
            continue;
        if (upmu_tally_samples(tally) && !tally->throttled) {
            silent |= look_for_silence(meter, counter);
            continue;
        }
        upmu_session_begin_change(session);
        tally->storm = 0;
        if (tally->throttled)
            end_throttling(meter, session, tally, now_ns);
        else if (!upmu_count_add(meter, tally, now_ns))
            status = UPMU_ERR_PORT;
        if (upmu_meter_saturates(meter) && tally->base >> 46 && !begin_anew(meter, tally, now_ns))
            status = UPMU_ERR_PORT;
        upmu_session_end_change(session);
    }
    for (struct upmu_session *session; UPMU_METRICS && (session = upmu_meter_next_running(meter, &running)) != NULL;)
        if (upmu_session_occupies(session) && upmu_session_has_metrics(meter, session))
            upmu_special_update_metrics(meter, session);
    if (silent) {
        upmu_interrupt_raise(meter);
        upmu_meter_rearm(meter);
    }
    if (meter->failed) {
        upmu_reconcile_repair(meter);
        status = UPMU_ERR_PORT;
    }
    return status;
}
