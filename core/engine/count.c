/* SPDX-License-Identifier: MIT */
/*
 * From raw counter values to 64-bit counts and due samples.
 *
 * A counter that only counts is not written, with few exceptions (upmu_count_is_written()): `base` is its value when
 * `total` was right, and the difference modulo its width is what it has counted since.  A sampling counter is loaded
 * negative, so that passing zero clears its top bit.  `due`, when the next sample is due, is a total: so events that
 * were counted beyond it belong to the next period without further work, also where the shortest load is longer than
 * the rest of the period.
 */
#include "core/engine/count.h"
#include "core/util/bits.h"
#include "core/util/muldiv.h"
#include "core/util/random.h"
#include "core/util/apart.h"
#include "core/hw/bank.h"
#include "core/hw/bank_inline.h"
#include "core/hw/port_call.h"
#include "core/hw/register.h"
#include "core/engine/features.h"
#include "core/engine/meter.h"
#include "core/engine/special.h"

UPMU_APART uint64_t upmu_count_correct(const struct upmu_pmu *pmu, const struct upmu_tally *tally, unsigned counter,
                                       uint64_t delta)
{
    /*
     * A close may have lost the carry into bit 32: drop what is above bit 31.  On such a PMU a sampling counter never
     * waits for 2^32 events.
     */
    if (upmu_pmu_is(pmu, UPMU_PMU_CARRY_LOST) && upmu_tally_samples(tally))
        delta = (uint32_t)delta;
    /* A transaction that is rolled back can make the value smaller (`falls`): count 0, not a negative number. */
    if (tally->falls && (delta >> (pmu->counter[counter].width - 1u) & 1u))
        delta = 0;
    return delta;
}

uint64_t upmu_count_wrapped(const struct upmu_session *session, const struct upmu_set *set, unsigned i,
                            uint64_t count)
{
    const struct upmu_event *event = &set->event[i];
    unsigned counter = set->tally[i].counter;

    if (counter >= UPMU_COUNTERS)
        counter = upmu_bits_lowest(event->counters);
    return upmu_bits_low(count, session->machine->pmu[event->pmu].counter[counter].width);
}

void upmu_count_fold(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t value)
{
    uint64_t delta = upmu_count_delta(meter->pmu, tally, counter, value - tally->base);

    if (delta)
        UPMU_STORE(meter->seen_counting, 1);
    if (upmu_count_is_late(meter->pmu, counter, delta))
        upmu_count_mar_one(tally);
    UPMU_STORE(tally->total, tally->total + delta);
    UPMU_STORE(tally->base, value);
}

/*
 * Where a close can lose a carry, the counter was folded just before the close (upmu_special_before_close(),
 * fold_failed(), end_throttling()): the rest is below 2^32.
 */
uint64_t upmu_count_last(const struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t delta)
{
    if (upmu_count_is_late(meter->pmu, counter, delta))
        upmu_count_mar_one(tally);
    return upmu_count_adds_first(meter) ? (uint32_t)delta : upmu_count_correct(meter->pmu, tally, counter, delta);
}

#if UPMU_SAMPLING

/*
 * Has a counter whose overflow the status showed gone all the way round since its base?  The status bit may also belong
 * to an overflow that is folded already, and come late.  So a round must have had time enough: for 2^40 events a
 * minute, for 2^48 nine minutes.
 */
static inline bool has_turned(const struct upmu_pmu *pmu, const struct upmu_tally *tally, unsigned counter,
                              uint64_t value, uint64_t now_ns)
{
    unsigned width = pmu->counter[counter].width;

    /*
     * A counter of 64 bits never goes round.  2^40 events take 2^36 ns at four for each clock of 4 GHz; 2^48 events
     * take 2^39 ns at 512 for each ns.  A stamp is 2^20 ns.
     */
    return value >= tally->base && width >= 40 && width < 64 &&
           (upmu_count_stamp(now_ns) - tally->turned) >> (width < 48 ? 16 : 19);
}

void upmu_count_fold_flagged(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t value,
                             uint64_t now_ns)
{
    /* The status bit of a counter in meter->flagged belongs to an earlier wrap. */
    if (!(meter->flagged >> counter & 1u) && has_turned(meter->pmu, tally, counter, value, now_ns))
        UPMU_STORE(tally->total, tally->total + (UINT64_C(1) << meter->pmu->counter[counter].width));
    tally->turned = upmu_count_stamp(now_ns);
    upmu_count_fold(meter, tally, counter, value);
}

#endif

void upmu_count_begin(struct upmu_set *set, struct upmu_tally *tally, uint64_t total)
{
    UPMU_STORE(tally->total, total);
    if (UPMU_THREADS)
        UPMU_STORE(set->estimate[tally->index].turn_total, total);
    UPMU_STORE(tally->due, total + tally->period);
    UPMU_STORE(tally->reset, tally->period);
    if (UPMU_LOANS)
        tally->lent = false;
}

void upmu_count_continue(struct upmu_set *set, struct upmu_tally *tally, const struct upmu_progress *from)
{
    upmu_count_begin(set, tally, from->count);
    if (!upmu_tally_samples(tally))
        return;
    UPMU_STORE(tally->due, from->due);
    UPMU_STORE(tally->reset, from->reset);
    tally->to_switch = from->to_switch;
}

void upmu_count_next(struct upmu_tally *tally, uint64_t period, uint64_t over)
{
    UPMU_STORE(tally->reset, period);
    if (tally->random_mask)
        UPMU_STORE(tally->reset, tally->reset + (upmu_random_next(&tally->random) & tally->random_mask));
    UPMU_STORE(tally->due, tally->total - over + tally->reset);
}

void upmu_count_adapt(const struct upmu_pmu *pmu, struct upmu_tally *tally, uint64_t now_ns)
{
    uint64_t least = UINT64_C(1) << tally->least_log2;
    uint64_t elapsed_ns = now_ns - tally->adapted_ns, ideal, rest;

    tally->adapted_ns = now_ns;
    if (!elapsed_ns)
        return;
    ideal = upmu_divide(upmu_muldiv(tally->ended, UINT64_C(1000000000), elapsed_ns), tally->frequency, &rest);
    if (ideal > UPMU_LONGEST_PERIOD >> 1)
        ideal = UPMU_LONGEST_PERIOD >> 1;
    /*
     * Go only an eighth of the way to the ideal period: it follows from one period alone, and the rate of events may
     * change.
     */
    if (ideal > tally->period)
        UPMU_STORE(tally->period, tally->period + ((ideal - tally->period + 7u) >> 3));
    else
        UPMU_STORE(tally->period, tally->period - ((tally->period - ideal + 7u) >> 3));
    /* No shorter than what upmu_count_load() loads: what comes in between would count as lost. */
    if (least < pmu->min_period)
        least = pmu->min_period;
    if (tally->period < least)
        UPMU_STORE(tally->period, least);
}

bool upmu_count_due(struct upmu_tally *tally)
{
    uint64_t over, periods = 0, rest;

    if (upmu_count_due_records(tally))
        return true;
    if (!upmu_tally_samples(tally) || tally->total < tally->due)
        return false;
    if (upmu_tally_is_precise(tally)) {
        /* The counter of a throttled event does not overflow: no record is to come, and the sample is lost. */
        if (!upmu_tally_is_recorded(tally) && !tally->throttled)
            return false;
        upmu_tally_record(tally, false);
    }
    over = tally->total - tally->due;
    tally->overflows++;
    if (over >= tally->period) {
        periods = upmu_divide(over, tally->period, &rest);
        tally->overflows += (uint32_t)periods;
        UPMU_STORE(tally->lost, tally->lost + (uint32_t)periods);
        over = rest;
    }
    if (UPMU_SETS && tally->to_switch && tally->to_switch != UPMU_SWITCH_NOW)
        tally->to_switch = tally->to_switch > 1u + (uint32_t)periods ? tally->to_switch - 1u - (uint32_t)periods
                                                                     : UPMU_SWITCH_NOW;
    tally->ended = tally->reset;
    upmu_count_next(tally, tally->period, over);
    return true;
}

#if UPMU_PRECISE

void upmu_count_fold_records(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t load,
                             uint32_t records)
{
    uint64_t bits = upmu_bits_ones(meter->pmu->counter[counter].width);

    load &= bits;
    UPMU_STORE(meter->seen_counting, 1);
    UPMU_STORE(tally->total, tally->total + ((load - tally->base + records * tally->period) & bits));
    UPMU_STORE(tally->base, load);
    UPMU_STORE(tally->due, tally->total + ((UINT64_C(0) - load) & bits));
    UPMU_STORE(tally->reset, tally->period);
    tally->ended = tally->period;
    tally->overflows += records;
}

void upmu_count_skip(struct upmu_tally *tally)
{
    uint64_t rest, periods;

    if (tally->total < tally->due)
        return;
    periods = upmu_divide(tally->total - tally->due, tally->period, &rest) + 1u;
    tally->overflows += (uint32_t)periods;
    UPMU_STORE(tally->lost, tally->lost + (uint32_t)periods);
    UPMU_STORE(tally->due, tally->total + tally->period - rest);
}

bool upmu_count_lose_records(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter)
{
    upmu_count_mar_one(tally);
    UPMU_STORE(tally->lost, tally->lost + 1u);
    return upmu_bank_read(&meter->bank, counter, &tally->base);
}

#endif

uint64_t upmu_count_load(const struct upmu_pmu *pmu, const struct upmu_tally *tally, unsigned counter)
{
    const struct upmu_counter *where = &pmu->counter[counter];
    unsigned bits = where->write_bits < where->width ? where->write_bits : where->width;
    uint64_t longest = upmu_bits_ones((upmu_pmu_is(pmu, UPMU_PMU_CARRY_LOST) ? 32u : bits) - 1u);
    uint64_t wait = tally->due > tally->total ? tally->due - tally->total : 0;
    uint64_t steps = (UINT64_C(1) << tally->step_log2) - 1u;

    if (wait < pmu->min_period)
        wait = pmu->min_period;
    if (wait >> tally->least_log2 == 0)
        wait = UINT64_C(1) << tally->least_log2;
    /*
     * An erratum wants periods that are multiples of 1 << step_log2: round up to the first multiple at or after the due
     * count.  A wait that becomes `longest` is rounded down.
     */
    wait += steps;
    if (tally->throttled || wait > longest)
        wait = longest;
    wait &= ~steps;
    return (UINT64_C(0) - wait) & upmu_bits_ones(where->width);
}

/* ---- Counters ---- */

void upmu_count_suspect(struct upmu_meter *meter, uint32_t counters)
{
    if (!port_has_pmi(meter->machine->port)) /* where interrupts come, the handler clears the bit */
        upmu_count_flag(meter, counters);
}

bool upmu_count_acknowledge(struct upmu_meter *meter, uint32_t counters)
{
    uint32_t flagged = meter->flagged & counters;

    if (!flagged)
        return true;
    if (!upmu_bank_acknowledge(&meter->bank, flagged))
        return false;
    meter->flagged &= ~flagged;
    return true;
}

#if UPMU_UNCORE

/*
 * Set `hole` of the running events on counters in bank.lacks, of which a box was gone or reset, except of `begun`,
 * which begins to count there now (NULL: none does).  Remove the tags of these counters, and clear bank.lacks.
 */
static UPMU_APART void mar_lacking(struct upmu_meter *meter, const struct upmu_tally *begun)
{
    uint32_t lacks = meter->bank.lacks;

    meter->bank.lacks = 0;
    for (struct upmu_session *session = meter->sessions; session; session = session->next)
        if (upmu_session_occupies(session))
            for UPMU_TALLIES(tally, upmu_active(session))
                if (tally != begun && (UPMU_BIT32(tally->counter) & lacks))
                    upmu_count_mar_one(tally);
    upmu_meter_tag(meter, lacks, 0);
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

void upmu_count_unlearn(struct upmu_meter *meter, uint32_t counters)
{
#if UPMU_UNCORE
    counters &= meter->bank.reset;
    if (__builtin_expect(counters != 0, 0))
        upmu_bank_unlearn(&meter->bank, counters);
#else
    (void)meter;
    (void)counters;
#endif
}

#if UPMU_UNCORE

/*
 * Make the sum of all boxes the base of a unit's count.  Returns false where a box did not answer or its register
 * faulted.  Not inlined: handlers need no stack for units.
 */
static UPMU_APART bool begin_unit(struct upmu_meter *meter, struct upmu_tally *tally)
{
    bool fine = upmu_bank_begin(&meter->bank, tally->counter, &tally->base);
    uint32_t idle = meter->pmu->counters & ~(meter->running | upmu_meter_blocked(meter));

    note_lacks(meter, tally);
    /*
     * A box that is gone loses what was written to it.  So the next event on an idle counter (no running session has
     * it, and it is not blocked) writes the counter's select again.
     */
    if (!fine) {
        upmu_bank_unlearn(&meter->bank, idle);
        upmu_meter_tag(meter, idle, 0);
    }
    return fine;
}

#endif

bool upmu_count_read_at(struct upmu_meter *meter, struct upmu_tally *tally)
{
#if UPMU_UNCORE
    if (upmu_bank_type(&meter->bank))
        return begin_unit(meter, tally);
#endif
    return upmu_bank_read(&meter->bank, tally->counter, &tally->base);
}

/*
 * Does an event begin with 0 in its counter, though it only counts?  Where counters stop at their end, the value there
 * may be near that end; where programs may read counters, it may be the count of another thread.
 */
static bool begins_at_zero(const struct upmu_meter *meter, const struct upmu_tally *tally)
{
    return upmu_meter_saturates(meter) || (upmu_features_hide(meter) && !upmu_tally_is_metric(tally));
}

bool upmu_count_is_written(const struct upmu_meter *meter, const struct upmu_tally *tally)
{
    return upmu_tally_is_wide(tally) || upmu_tally_samples(tally) || upmu_tally_is_lent(tally) ||
           begins_at_zero(meter, tally);
}

bool upmu_count_write_at(struct upmu_meter *meter, struct upmu_tally *tally)
{
    unsigned counter = tally->counter;
    uint64_t load = 0;

    if (upmu_tally_is_wide(tally) && !upmu_bank_write(&meter->bank, tally->slot[UPMU_SECOND_SLOT], UPMU_WIDE_LOAD))
        return false;
    if (upmu_tally_samples(tally))
        load = upmu_count_load(meter->pmu, tally, counter);
    else if (!upmu_count_acknowledge(meter, tally->counters))
        return false;
    else if (upmu_tally_is_lent(tally))
        load = (tally->total + tally->reset) & upmu_bits_ones(meter->pmu->counter[counter].width);
    else if (!begins_at_zero(meter, tally)) /* read the base; so for the lower counter of a wide event, too */
        return upmu_count_read_at(meter, tally);
    if (!upmu_bank_write(&meter->bank, counter, load))
        return false;
    UPMU_STORE(tally->base, load);
    return true;
}

bool upmu_count_begin_at(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns)
{
    if (!(upmu_count_is_written(meter, tally)
              ? upmu_count_write_at(meter, tally)
              : upmu_count_acknowledge(meter, tally->counters) && upmu_count_read_at(meter, tally)))
        return false;
    meter->used |= tally->counters;
    tally->turned = upmu_count_stamp(now_ns);
    upmu_meter_tag(meter, tally->counters, tally->tag);
    return true;
}

void upmu_count_note_lacks(struct upmu_meter *meter)
{
    note_lacks(meter, NULL);
}

bool upmu_count_armed(struct upmu_meter *meter, struct upmu_tally *tally)
{
    uint64_t value;

    if (!upmu_tally_cascades(tally))
        return true;
    if (!upmu_bank_read(&meter->bank, tally->slot[UPMU_SECOND_SLOT], &value))
        return false;
    UPMU_STORE(tally->ran, tally->ran || upmu_count_overflowed(meter->pmu, tally->slot[UPMU_SECOND_SLOT], value));
    return true;
}

bool upmu_count_value(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t *out_value)
{
    bool fine = upmu_count_armed(meter, tally) && upmu_bank_read(&meter->bank, counter, out_value);

    note_lacks(meter, NULL);
    return fine;
}

/*
 * The interrupt of this wrap may still come.  If the wrap was not seen in the value of a sampling counter, its status
 * bit may be set, too: `flagged` has the event's counters until the bit is cleared, by the handler of that interrupt,
 * at the end of the call, or before the next event begins on the counter.
 */
UPMU_APART void upmu_count_note_wrap(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns, bool passed)
{
    tally->turned = upmu_count_stamp(now_ns);
    if ((UPMU_UNCORE || UPMU_FOREIGN) && (meter->pmu->capabilities & UPMU_PMU_NO_PMI))
        return;
    upmu_meter_expect(meter, 1, now_ns);
    if (!passed)
        upmu_count_flag(meter, tally->counters);
}

UPMU_APART void upmu_count_lose(struct upmu_meter *meter, struct upmu_tally *tally)
{
    upmu_count_mar_one(tally);
    upmu_meter_expect(meter, 1, upmu_meter_now(meter));
    upmu_meter_loses(meter, tally);
}

void upmu_count_expect(struct upmu_meter *meter, uint32_t counters)
{
    uint32_t open = (counters & meter->running) | upmu_bank_open(&meter->bank, counters & ~upmu_meter_blocked(meter));

    if (open)
        upmu_meter_expect(meter, upmu_bits_count(open), upmu_meter_now(meter));
}

bool upmu_count_add(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns)
{
    uint64_t value;
    bool fine = upmu_bank_read(&meter->bank, tally->counter, &value);

    note_lacks(meter, NULL);
    if (!fine)
        return false;
    if (value < tally->base)
        upmu_count_note_wrap(meter, tally, now_ns, false);
    upmu_count_fold(meter, tally, tally->counter, value);
    return true;
}

#if UPMU_METRICS

/*
 * The value of a metric's byte that stands for all slots.  A count is slots * byte / 255, exact to half a 255th of the
 * slots.
 */
#define WHOLE 255u

/* A metric's tally has no counter value: its `base` is the error of its count so far. */
void upmu_count_add_metric(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t slots, uint64_t metrics)
{
    uint64_t rest;

    UPMU_STORE(tally->total,
               tally->total + upmu_muldiv(slots, metrics >> 8u * (tally->counter & 7u) & WHOLE, WHOLE));
    UPMU_STORE(tally->base, tally->base + (upmu_divide(slots, 2 * WHOLE, &rest) + 1u));
    UPMU_STORE(meter->seen_counting, 1);
}

#endif

/*
 * A sampling counter loses its tag, so that it is loaded before it runs again, if it passed zero, if it was throttled,
 * or if its sample came early because the shortest load is longer than the rest of the period.
 */
UPMU_APART bool upmu_count_end(struct upmu_meter *meter, const struct upmu_session *session, struct upmu_tally *tally,
                               unsigned counter, bool wrapped, uint64_t now_ns)
{
    bool due, samples = upmu_tally_samples(tally);
    bool passed = samples && upmu_count_overflowed(meter->pmu, counter, tally->base) && !tally->throttled;

    if (passed || wrapped)
        upmu_count_note_wrap(meter, tally, now_ns, passed);
    if (!samples)
        return false;
    due = upmu_count_due(tally);
    if (due && tally->frequency)
        upmu_count_adapt(meter->pmu, tally, upmu_session_clock(session, now_ns));
    if (passed)
        upmu_count_flag(meter, UPMU_BIT32(counter));
    /* An overflow whose record has not come has set its status bit, too, and no interrupt of ours will clear it. */
    if (passed && !due && upmu_tally_is_precise(tally))
        (void)upmu_count_acknowledge(meter, UPMU_BIT32(counter));
    /*
     * Without its tag the counter is loaded anew.  Where a close loses a carry, its value may not show an overflow:
     * there it always loses the tag.
     */
    if (due || passed || tally->throttled || upmu_count_adds_first(meter))
        upmu_meter_forget_value(meter, counter);
    tally->throttled = false;
    return due;
}

bool upmu_count_take_one(struct upmu_meter *meter, const struct upmu_session *session, struct upmu_tally *tally,
                         unsigned counter, uint64_t value, uint64_t now_ns)
{
    uint64_t seen = 0;
    bool due = upmu_count_take(meter, session, tally, counter, upmu_bank_value_bits(&meter->bank, counter), value,
                               now_ns, true, &seen);

    if (seen)
        UPMU_STORE(meter->seen_counting, 1);
    return due;
}

void upmu_count_take_failed(struct upmu_meter *meter, const struct upmu_session *session, struct upmu_tally *tally,
                            uint64_t value, uint64_t now_ns)
{
    if (upmu_count_take_one(meter, session, tally, tally->counter, value, now_ns))
        UPMU_STORE(tally->lost, tally->lost + 1u);
}

void upmu_count_mar(struct upmu_session *session)
{
    for UPMU_TALLIES(tally, upmu_active(session))
        upmu_count_mar_one(tally);
}
