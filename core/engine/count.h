/* SPDX-License-Identifier: MIT */
/*
 * From raw counter values to 64-bit counts and due samples, and from these to start values.  To be called in a bracket,
 * or in a handler that interrupted none.  While a session's counts change, its sequence is odd.
 */
#ifndef UPMU_CORE_COUNT_H
#define UPMU_CORE_COUNT_H

#include "core/util/apart.h"
#include "core/hw/bank_inline.h"
#include "core/hw/register.h"
#include "core/engine/session_core.h"

/* Value of upmu_tally.to_switch: the session's next set is due. */
#define UPMU_SWITCH_NOW 0xffffffffu

/* Does this tally sample?  In a build without sampling no tally does. */
static inline bool upmu_tally_samples(const struct upmu_tally *tally)
{
    return UPMU_SAMPLING && UPMU_LOAD(tally->period);
}

/* Does the count of an event wrap as its counter does (UPMU_SAMPLING_WRAP)? */
static inline bool upmu_count_wraps(const struct upmu_set *set, unsigned i)
{
    return UPMU_SAMPLING && set->tally[i].wraps;
}

/*
 * Reduce the count of an event for which upmu_count_wraps() is true to the width of its counter, or, if it is not
 * placed, of the first counter that it can have.
 */
uint64_t upmu_count_wrapped(const struct upmu_session *session, const struct upmu_set *set, unsigned i,
                            uint64_t count);

/* Note that an unknown part is missing in the count of an event (`hole`). */
static UPMU_INSIDE void upmu_count_mar_one(struct upmu_tally *tally)
{
    UPMU_STORE(tally->hole, true);
}

/* Add what a counter has counted since the base of its tally; `value` becomes the base. */
void upmu_count_fold(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t value);

/* Convert a time to the unit of upmu_tally.turned, 2^20 ns. */
static inline uint32_t upmu_count_stamp(uint64_t now_ns)
{
    return (uint32_t)(now_ns >> 20);
}

/*
 * As upmu_count_fold(), for a counter that only counts and whose overflow the status showed.  If the counter has gone
 * all the way round since its base, its value does not show the wrap: a whole round is added.
 */
void upmu_count_fold_flagged(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t value,
                             uint64_t now_ns);

/* Has a sampling counter passed zero?  The value decides. */
static inline bool upmu_count_overflowed(const struct upmu_pmu *pmu, unsigned counter, uint64_t value)
{
    return !(value >> (pmu->counter[counter].width - 1u) & 1u);
}

/* After a fold: is a sample due?  If so, moves `due` on, and counts periods that passed without a sample as lost. */
bool upmu_count_due(struct upmu_tally *tally);

/* Set a tally's count to `total`, and begin a full period. */
void upmu_count_begin(struct upmu_set *set, struct upmu_tally *tally, uint64_t total);

/* As upmu_count_begin(), with a count that the host has given: nothing is missing in it. */
static inline void upmu_count_write(struct upmu_set *set, struct upmu_tally *tally, uint64_t total)
{
    upmu_count_begin(set, tally, total);
    UPMU_STORE(tally->hole, false);
}

/* Set the count of a tally and when its next sample and switch are due as `from` says.  The session is detached. */
void upmu_count_continue(struct upmu_set *set, struct upmu_tally *tally, const struct upmu_progress *from);

/*
 * Begin the next period of a sampling event: `period` and its random part.  `over`: events of this period that are
 * counted already.
 */
void upmu_count_next(struct upmu_tally *tally, uint64_t period, uint64_t over);

/* Let the next sample of an event be due after `left` events, and later ones after `period` events each. */
static inline void upmu_count_wait(struct upmu_tally *tally, uint64_t left, uint64_t period)
{
    UPMU_STORE(tally->due, tally->total + left);
    UPMU_STORE(tally->reset, left);
    UPMU_STORE(tally->period, period);
}

/*
 * After a sample that was due: move the period towards the frequency that the event asks for.  `now_ns` is enabled
 * time.
 */
void upmu_count_adapt(struct upmu_tally *tally, uint64_t now_ns);

/* The longest period that a caller may ask for. */
#define UPMU_LONGEST_PERIOD (~UINT64_C(0) >> 1)

/* Returns the value to load so that the counter overflows when the next sample is due. */
uint64_t upmu_count_load(const struct upmu_pmu *pmu, const struct upmu_tally *tally, unsigned counter);

/*
 * May a counter have gone round, because it has counted more than half its range where no interrupt tells of overflows?
 */
static inline bool upmu_count_is_late(const struct upmu_pmu *pmu, unsigned counter, uint64_t delta)
{
    return (UPMU_UNCORE || UPMU_FOREIGN) && (pmu->capabilities & UPMU_PMU_NO_PMI) &&
           delta >> (pmu->counter[counter].width - 1u);
}

/* Read a counter, and make its value the base of the tally.  Returns false where a register faulted. */
bool upmu_count_read_at(struct upmu_meter *meter, struct upmu_tally *tally);

/*
 * As upmu_count_read_at(), at `now_ns`, for an event that goes on with the value in its counter: the time from which a
 * round is looked for begins now.
 */
static inline bool upmu_count_go_on_at(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns)
{
    if (!upmu_count_read_at(meter, tally))
        return false;
    tally->turned = upmu_count_stamp(now_ns);
    return true;
}

/* Does an event write its counter when it begins to count?  If not, the counter is read instead. */
bool upmu_count_is_written(const struct upmu_meter *meter, const struct upmu_tally *tally);

/*
 * If the event writes its counter, which is closed or stands still: write the start value.  If not: read the counter.
 * The value becomes the base.  Returns false where a register faulted.
 */
bool upmu_count_write_at(struct upmu_meter *meter, struct upmu_tally *tally);

/*
 * Give a counter that is closed, or stands still, its event's start value and tag.  Returns false where a register
 * faulted.
 */
bool upmu_count_begin_at(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns);

/* An event comes to the counter of the event `left`, and the counter runs on: take the base of `left` at this time. */
static inline void upmu_count_take_base(struct upmu_tally *tally, const struct upmu_tally *left, uint32_t stamp)
{
    UPMU_STORE(tally->base, left->base);
    tally->turned = stamp;
}

/*
 * As upmu_count_begin_at(), for an event that a plan brings to a CPU; no tag is given.  `written`: the event writes its
 * counter.  `bits`: the counter's upmu_bank_value_bits(); `stamp`: the time.
 */
static inline bool upmu_count_come_at(struct upmu_meter *meter, struct upmu_tally *tally, bool written, uint64_t bits,
                                      uint32_t stamp)
{
    if (__builtin_expect(!(written ? upmu_count_write_at(meter, tally)
                                   : upmu_bank_count(&meter->bank, tally->counter, bits, &tally->base)), 0))
        return false;
    tally->turned = stamp;
    return true;
}

/*
 * A close may have lost the carry into bit 32 of a counter, whose value is `value`: move the base, so that the
 * difference is below 2^32.
 */
static inline void upmu_count_drop_carry(struct upmu_tally *tally, uint64_t value)
{
    UPMU_STORE(tally->base, value - (uint32_t)(value - tally->base));
}

/* A write may have changed a counter whose events are counted: read the base.  Returns false after a fault. */
static inline bool upmu_count_rebase(struct upmu_meter *meter, struct upmu_tally *tally)
{
    return upmu_bank_read(&meter->bank, tally->counter, &tally->base);
}

/* The counter of an event was set to 0: its count goes on from there. */
static inline void upmu_count_from_zero(struct upmu_tally *tally)
{
    UPMU_STORE(tally->base, 0);
}

/*
 * For the target of a cascade: note in `ran` whether its initiator has overflowed.  Returns false where a register
 * faulted.
 */
bool upmu_count_armed(struct upmu_meter *meter, struct upmu_tally *tally);

/* If a box of a unit was found gone or reset: mark the count of each event that runs on its counters (`hole`). */
void upmu_count_note_lacks(struct upmu_meter *meter);

/* Read the counter of an event, after upmu_count_armed().  Returns false where a register faulted. */
bool upmu_count_value(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t *out_value);

/*
 * Returns the last difference of a counter that stops, corrected.  If the counter may have gone round, the tally is
 * marked (`hole`).
 */
uint64_t upmu_count_last(const struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t delta);

/*
 * The end of upmu_count_take() for an event that has wrapped or samples, whose base is already the counter's value.
 * Returns whether a sample is due.
 */
bool upmu_count_end(struct upmu_meter *meter, const struct upmu_session *session, struct upmu_tally *tally,
                    unsigned counter, bool wrapped, uint64_t now_ns);

/* upmu_count_take() for a single event of any kind, with its corrections.  Returns whether a sample is due. */
bool upmu_count_take_one(struct upmu_meter *meter, const struct upmu_session *session, struct upmu_tally *tally,
                         unsigned counter, uint64_t value, uint64_t now_ns);

/*
 * As upmu_count_take_one(), for the counter that a moved event has left: `base` is of that counter.  The base of its
 * new counter stays.
 */
static inline bool upmu_count_take_rest(struct upmu_meter *meter, const struct upmu_session *session,
                                        struct upmu_tally *tally, uint64_t base, uint64_t value, uint64_t now_ns)
{
    uint64_t kept = tally->base;
    bool due;

    UPMU_STORE(tally->base, base);
    due = upmu_count_take_one(meter, session, tally, tally->from, value, now_ns);
    UPMU_STORE(tally->base, kept);
    return due;
}

/* As upmu_count_take_one(), for a session that a fault ends: a due sample counts as lost. */
void upmu_count_take_failed(struct upmu_meter *meter, const struct upmu_session *session, struct upmu_tally *tally,
                            uint64_t value, uint64_t now_ns);

/* Read a counter that may run, and add to its tally what it has counted.  Returns false where a register faulted. */
bool upmu_count_add(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns);

/* End a window of `slots` slots for a metric, which is a byte of `metrics`: add its part of them. */
void upmu_count_add_metric(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t slots, uint64_t metrics);

/*
 * Note that the counter of an event that leaves could not be read: its last part is in no count (`hole`), the counter
 * is failed, and an interrupt of it may come.
 */
void upmu_count_lose(struct upmu_meter *meter, struct upmu_tally *tally);

/* Mark the events of a session's active set (`hole`): an unknown part is missing in their counts. */
void upmu_count_mar(struct upmu_session *session);

/* Note that a counter has passed zero: its interrupt may still come.  `passed`: a sampling counter's value shows it. */
void upmu_count_note_wrap(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns, bool passed);

/* Flag counters (meter->flagged): their status bits may be set though no new overflow belongs to them. */
static inline void upmu_count_flag(struct upmu_meter *meter, uint32_t counters)
{
    meter->flagged |= counters;
}

/*
 * Flag these counters on a port without interrupts: their status bits may be set since a time when no session counted
 * them.
 */
void upmu_count_suspect(struct upmu_meter *meter, uint32_t counters);

/*
 * Clear the status bits of these counters that meter->flagged has: an old bit would look like an overflow of the event
 * that counts there from now on.  Returns false where a register faulted.
 */
bool upmu_count_acknowledge(struct upmu_meter *meter, uint32_t counters);

/* Expect interrupts of counters that are taken away unread: those that are open may have overflowed. */
void upmu_count_expect(struct upmu_meter *meter, uint32_t counters);

/* Make registers unknown that a box of a unit has lost, so that they are written before these counters run again. */
void upmu_count_unlearn(struct upmu_meter *meter, uint32_t counters);

/* Does closing a counter lose a carry?  Then the engine adds its count just before the close. */
static inline bool upmu_count_adds_first(const struct upmu_meter *meter)
{
    return upmu_pmu_is(meter->pmu, UPMU_PMU_CARRY_LOST);
}

/*
 * The second counter of a wide event has the 16 upper bits.  It is loaded with all of them set, so that both counters
 * overflow together when the first one does.
 */
#define UPMU_WIDE_LOAD UINT64_C(0xffff)

static inline bool upmu_tally_is_wide(const struct upmu_tally *tally)
{
    return UPMU_BACKEND_AMD && tally->wide;
}

/* Returns the difference of two values, corrected on PMUs that lose a carry and for counts that can fall. */
uint64_t upmu_count_correct(const struct upmu_pmu *pmu, const struct upmu_tally *tally, unsigned counter,
                            uint64_t delta);

/* Returns the events between two values of a tally's counter, given their difference. */
static inline uint64_t upmu_count_delta(const struct upmu_pmu *pmu, const struct upmu_tally *tally, unsigned counter,
                                        uint64_t difference)
{
    uint64_t delta = difference & upmu_bits_ones(pmu->counter[counter].width);

    return __builtin_expect(upmu_pmu_is(pmu, UPMU_PMU_CARRY_LOST) || tally->falls, 0)
               ? upmu_count_correct(pmu, tally, counter, delta)
               : delta;
}

/*
 * Add what a counter has counted that does not run any more; `value`: its value.  `bits`: the mask of its width; `odd`:
 * its PMU or event needs a correction.  The difference is ORed into *seen.  Returns whether a sample is due.
 */
static inline bool upmu_count_take(struct upmu_meter *meter, const struct upmu_session *session,
                                   struct upmu_tally *tally, unsigned counter, uint64_t bits, uint64_t value,
                                   uint64_t now_ns, bool odd, uint64_t *seen)
{
    uint64_t delta = (value - tally->base) & bits;

    if (__builtin_expect(odd, 0))
        delta = upmu_count_last(meter, tally, counter, delta);
    *seen |= delta;
    UPMU_STORE(tally->total, tally->total + delta);
    UPMU_STORE(tally->base, value);
    return __builtin_expect(value < delta || upmu_tally_samples(tally), 0) &&
           upmu_count_end(meter, session, tally, counter, value < delta, now_ns);
}

#endif
