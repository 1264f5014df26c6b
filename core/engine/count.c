/* SPDX-License-Identifier: MIT */
/*
 * From raw counter values to 64-bit counts and due samples.
 *
 * A counter that only counts is never written: `base` is its value when `total`
 * was right, and the difference modulo its width is what it counted since.  A
 * sampling counter is loaded negative, so that passing zero clears its top bit;
 * when the next sample is due is kept as a total, which carries every overshoot
 * and every shortest-period correction by itself.
 */
#include "core/engine/count.h"
#include "core/util/bits.h"
#include "core/util/muldiv.h"
#include "core/util/random.h"
#include "core/hw/port_call.h"
#include "core/hw/register.h"

uint64_t upmu_count_delta(const struct upmu_pmu *pmu, const struct upmu_tally *tally, unsigned counter,
                          uint64_t difference)
{
    unsigned width = pmu->counter[counter].width;
    uint64_t delta = difference & upmu_bits_ones(width);

    /* What closed it may have lost a carry; a sampling counter never waits for 2^32 events there. */
    if (upmu_pmu_is(pmu, UPMU_PMU_CARRY_LOST) && upmu_tally_samples(tally))
        delta = (uint32_t)delta;
    /* A rolled-back transaction can take a count back: no negative counts. */
    if (tally->falls && (delta >> (width - 1u) & 1u))
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
        UPMU_STORE(tally->hole, true);
    UPMU_STORE(tally->total, tally->total + delta);
    UPMU_STORE(tally->base, value);
}

bool upmu_count_turned(const struct upmu_pmu *pmu, const struct upmu_tally *tally, unsigned counter, uint64_t value,
                       uint64_t now_ns)
{
    unsigned width = pmu->counter[counter].width;

    /*
     * A counter of 64 bits goes no round in a life.  2^40 events take 2^36 ns at four in a clock
     * of 4 GHz, 2^48 take 2^39 at 512 in each ns; a stamp is 2^20.
     */
    return value >= tally->base && width >= 40 && width < 64 &&
           (upmu_count_stamp(now_ns) - tally->turned) >> (width < 48 ? 16 : 19);
}

bool upmu_count_overflowed(const struct upmu_pmu *pmu, unsigned counter, uint64_t value)
{
    return !(value >> (pmu->counter[counter].width - 1u) & 1u);
}

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

void upmu_count_next(struct upmu_tally *tally, uint64_t period)
{
    const struct upmu_kept *sampling = upmu_tally_sampling(tally);

    UPMU_STORE(tally->reset, period);
    if (sampling->random_mask)
        UPMU_STORE(tally->reset, tally->reset + (upmu_random_next(&tally->random) & sampling->random_mask));
}

void upmu_count_adapt(struct upmu_tally *tally, uint64_t now_ns)
{
    uint64_t elapsed_ns = now_ns - tally->adapted_ns, ideal, rest;
    uint32_t frequency = upmu_tally_sampling(tally)->frequency;

    if (!frequency)
        return;
    tally->adapted_ns = now_ns;
    if (!elapsed_ns)
        return;
    ideal = upmu_divide(upmu_muldiv(tally->ended, UINT64_C(1000000000), elapsed_ns), frequency, &rest);
    if (ideal > UPMU_LONGEST_PERIOD >> 1)
        ideal = UPMU_LONGEST_PERIOD >> 1;
    /* An eighth of the way, as far samples tell less of what is to come. */
    if (ideal > tally->period)
        UPMU_STORE(tally->period, tally->period + ((ideal - tally->period + 7u) >> 3));
    else
        UPMU_STORE(tally->period, tally->period - ((tally->period - ideal + 7u) >> 3));
    if (!tally->period)
        UPMU_STORE(tally->period, 1);
}

bool upmu_count_due(struct upmu_tally *tally)
{
    uint64_t over, periods = 0, rest;

    if (!upmu_tally_samples(tally) || tally->total < tally->due)
        return false;
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
    upmu_count_next(tally, tally->period);
    UPMU_STORE(tally->due, tally->total - over + tally->reset);
    return true;
}

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
    /* A sample that is due in the middle of a step comes at its end. */
    wait += steps;
    if (tally->throttled || wait > longest)
        wait = longest;
    wait &= ~steps;
    return (UINT64_C(0) - wait) & upmu_bits_ones(where->width);
}
