/* SPDX-License-Identifier: MIT */
/*
 * Functions that turn values of counters into 64-bit counts and due samples, and counts into the values that counters
 * are loaded with.  Functions that change counts are called in a bracket, or in a handler that interrupted none; that
 * call or handler changes session->sequence, too, so that a read which it interrupts, or which another CPU makes
 * meanwhile, is made again.
 */
#ifndef UPMU_CORE_COUNT_H
#define UPMU_CORE_COUNT_H

#include "core/util/apart.h"
#include "core/hw/bank_inline.h"
#include "core/hw/register.h"
#include "core/engine/session_core.h"

/*
 * Value of upmu_tally.to_switch: the session's next set is due.  Smaller values: so many overflows are left until then.
 * 0: overflows switch no set.
 */
#define UPMU_SWITCH_NOW 0xffffffffu

/* Does the event of this tally sample (has it a period)?  In a build without sampling none does. */
static inline bool upmu_tally_samples(const struct upmu_tally *tally)
{
    return UPMU_SAMPLING && UPMU_LOAD(tally->period);
}

/* Is an event precise, and sampled?  Such an event needs a counter that can store records (upmu/precise.h). */
static inline bool upmu_tally_is_precise(const struct upmu_tally *tally)
{
#if UPMU_PRECISE
    return tally->precise;
#else
    (void)tally;
    return false;
#endif
}

/*
 * Has the counter of a precise event stored a record that is not a sample yet?  Without such a record no sample of the
 * event is due.
 */
static inline bool upmu_tally_is_recorded(const struct upmu_tally *tally)
{
#if UPMU_PRECISE
    return tally->recorded;
#else
    (void)tally;
    return true;
#endif
}

/* Is an event sampled in batches (UPMU_SAMPLING_BATCH)?  A record loads its counter with the whole period. */
static inline bool upmu_tally_is_batch(const struct upmu_tally *tally)
{
#if UPMU_PRECISE
    return tally->batch;
#else
    (void)tally;
    return false;
#endif
}

/* Note whether the counter of an event has stored a record that is not a sample yet. */
static inline void upmu_tally_record(struct upmu_tally *tally, bool recorded)
{
#if UPMU_PRECISE
    tally->recorded = recorded;
#else
    (void)tally;
    (void)recorded;
#endif
}

/* Does the count of event number `i` wrap at the width of its counter (UPMU_SAMPLING_WRAP)? */
static inline bool upmu_count_wraps(const struct upmu_set *set, unsigned i)
{
    return UPMU_SAMPLING && set->tally[i].wraps;
}

/*
 * Return the low bits of `count`, as many as the counter of event number `i` has.  If the event is not placed, the
 * width is that of the lowest counter that it can have.  For events for which upmu_count_wraps() is true.
 */
uint64_t upmu_count_wrapped(const struct upmu_session *session, const struct upmu_set *set, unsigned i,
                            uint64_t count);

/* Note that an unknown part is missing in the count of an event (`hole`). */
static UPMU_INSIDE void upmu_count_mar_one(struct upmu_tally *tally)
{
    UPMU_STORE(tally->hole, true);
}

/*
 * Add to `total` what a counter, which may run, has counted since the tally's base; `value` becomes the base.  Sets
 * meter->seen_counting if that is not 0.  Sets `hole` if the counter may have gone round (upmu_count_is_late()).
 */
void upmu_count_fold(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t value);

/* Convert a time to a stamp, the unit of upmu_tally.turned: 2^20 ns.  A stamp has 32 bits, and wraps after 52 days. */
static inline uint32_t upmu_count_stamp(uint64_t now_ns)
{
    return (uint32_t)(now_ns >> 20);
}

/*
 * As upmu_count_fold(), for a counter that only counts and has wrapped, as the status or its value shows.  If the
 * counter has gone all the way round since its base, its value does not show the wrap: a whole round is added.
 */
void upmu_count_fold_flagged(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t value,
                             uint64_t now_ns);

/*
 * Has a sampling counter passed zero, as its value shows?  A counter is loaded with its top bit set, and a clear top
 * bit says yes.
 */
static inline bool upmu_count_overflowed(const struct upmu_pmu *pmu, unsigned counter, uint64_t value)
{
    return !(value >> (pmu->counter[counter].width - 1u) & 1u);
}

/*
 * After a fold: has an event that samples reached `due`, and if it is precise, stored a record?  If so, begin the next
 * period: move `due`, keep the length of the period that ended in `ended`, and count it in `overflows`.  Further
 * periods that have passed count in `overflows` and `lost`.  If `to_switch` is a number of overflows, it falls by all
 * of these, and becomes UPMU_SWITCH_NOW in place of 0.
 */
bool upmu_count_due(struct upmu_tally *tally);

#if UPMU_PRECISE
/*
 * Count the periods of so many records of a batch, the last of which has loaded the counter with `load`, the new base.
 * The next sample is due when the counter passes zero.
 */
void upmu_count_fold_records(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t load,
                             uint32_t records);

/* After a fold of a batch whose counter has passed zero without a record: count lost periods, begin the next one. */
void upmu_count_skip(struct upmu_tally *tally);

/*
 * The records of a batch are lost: the counter's value becomes the base, and the count lacks an unknown part.  Returns
 * false where the register faulted.
 */
bool upmu_count_lose_records(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter);
#endif

/* Are samples of a batch due, whose records are counted already?  Then it is noted that they are taken. */
static inline bool upmu_count_due_records(struct upmu_tally *tally)
{
    if (!upmu_tally_is_batch(tally) || !upmu_tally_is_recorded(tally))
        return false;
    upmu_tally_record(tally, false);
    return true;
}

/*
 * Set a tally's count to `total`, and begin a period of full length without random part.  The event's counter is lent
 * no more.
 */
void upmu_count_begin(struct upmu_set *set, struct upmu_tally *tally, uint64_t total);

/* As upmu_count_begin(), with a count that the host has given: nothing is missing in it. */
static inline void upmu_count_write(struct upmu_set *set, struct upmu_tally *tally, uint64_t total)
{
    upmu_count_begin(set, tally, total);
    UPMU_STORE(tally->hole, false);
}

/*
 * Set the count of a tally to that of `from`, and if its event samples, its present period and when its next sample and
 * switch are due, too.  The session is detached.
 */
void upmu_count_continue(struct upmu_set *set, struct upmu_tally *tally, const struct upmu_progress *from);

/*
 * Begin the next period of a sampling event: `reset` becomes its length in events, `period` and a random part
 * (`random_mask`).  `over`: events of this period that are counted already.
 */
void upmu_count_next(struct upmu_tally *tally, uint64_t period, uint64_t over);

/*
 * Let the next sample of an event be due after `left` events, and later ones after `period` events each, plus their
 * random part.
 */
static inline void upmu_count_wait(struct upmu_tally *tally, uint64_t left, uint64_t period)
{
    UPMU_STORE(tally->due, tally->total + left);
    UPMU_STORE(tally->reset, left);
    UPMU_STORE(tally->period, period);
}

/*
 * After a sample that was due: move the period towards the frequency that the event asks for.  `now_ns` is the
 * session's enabled time.  Nothing changes if no time has passed since the last call.
 */
void upmu_count_adapt(const struct upmu_pmu *pmu, struct upmu_tally *tally, uint64_t now_ns);

/* The longest period of an event, in events: 2^63 - 1. */
#define UPMU_LONGEST_PERIOD (~UINT64_C(0) >> 1)

/*
 * Return the value to load so that the counter overflows when the next sample is due.  The counter waits for at least
 * the shortest period of the PMU and of the event, and for no more events than one load allows (UPMU_PMU_CARRY_LOST:
 * 2^31 - 1); a throttled event waits for that many.  Where an erratum demands it (`step_log2`), the wait is a multiple
 * of a power of 2.
 */
uint64_t upmu_count_load(const struct upmu_pmu *pmu, const struct upmu_tally *tally, unsigned counter);

/*
 * May a counter have gone round unseen, as `delta` is at least half of its range?  Only where a PMU reports no
 * overflows (UPMU_PMU_NO_PMI); false elsewhere.
 */
static inline bool upmu_count_is_late(const struct upmu_pmu *pmu, unsigned counter, uint64_t delta)
{
    return (UPMU_UNCORE || UPMU_FOREIGN) && (pmu->capabilities & UPMU_PMU_NO_PMI) &&
           delta >> (pmu->counter[counter].width - 1u);
}

/*
 * Read a tally's counter, and make its value the base; for a unit the sum of all its boxes.  Returns false where a
 * register faulted or a box did not answer.
 */
bool upmu_count_read_at(struct upmu_meter *meter, struct upmu_tally *tally);

/*
 * As upmu_count_read_at(), for an event that comes to its counter while that runs on: `turned` becomes `now_ns`, as a
 * full round of the counter begins anew with its present value.
 */
static inline bool upmu_count_go_on_at(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns)
{
    if (!upmu_count_read_at(meter, tally))
        return false;
    tally->turned = upmu_count_stamp(now_ns);
    return true;
}

/*
 * Is a counter written when this event begins to count?  Yes if the event samples, is wide, or its counter is lent; if
 * counters stop at their end; or if programs may read counters (then not for a metric).  If not, the counter is read
 * instead.
 */
bool upmu_count_is_written(const struct upmu_meter *meter, const struct upmu_tally *tally);

/*
 * Write the start value of an event to its counter, which is closed or stands still; if the event writes none
 * (upmu_count_is_written()), read the counter.  The value becomes the base.  If the event does not sample, flagged
 * status bits of its counters are cleared first.  Returns false where a register faulted or a box did not answer.
 */
bool upmu_count_write_at(struct upmu_meter *meter, struct upmu_tally *tally);

/*
 * Begin an event on its counter, which is closed or stands still: write the start value or read the counter, as
 * upmu_count_is_written() says; give its counters its tag; note in `turned` that its value began now, and in
 * meter->used that its registers are written.  Returns false where a register faulted or a box did not answer.
 */
bool upmu_count_begin_at(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns);

/*
 * An event comes to the counter of the event `left`, and the counter keeps its value: take the base of `left`, whose
 * count was taken up to this value.  `turned` becomes `stamp`.
 */
static inline void upmu_count_take_base(struct upmu_tally *tally, const struct upmu_tally *left, uint32_t stamp)
{
    UPMU_STORE(tally->base, left->base);
    tally->turned = stamp;
}

/*
 * As upmu_count_begin_at(), for an event that comes by a plan: upmu_reconcile() gives the tag and sets meter->used.
 * `written`: the event writes its counter.  `bits`: the counter's upmu_bank_value_bits(); `stamp`: the time.
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

/* A write may have changed a counter that was folded just before: read the base.  Returns false after a fault. */
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
 * For the target of a cascade: set `ran` if the counter that starts it (its initiator) has overflowed.  For other
 * events nothing is done.  Returns false where a register faulted.
 */
bool upmu_count_armed(struct upmu_meter *meter, struct upmu_tally *tally);

/*
 * If a box of a unit was found gone or reset: set `hole` of each running event on its counters, and remove the tags of
 * these counters.
 */
void upmu_count_note_lacks(struct upmu_meter *meter);

/*
 * Call upmu_count_armed(), read `counter` for an event, then do as upmu_count_note_lacks() does.  Returns false where a
 * register faulted.
 */
bool upmu_count_value(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t *out_value);

/*
 * Return `delta`, the last difference of a counter that stops, corrected where a close loses a carry and where a count
 * can fall.  If the counter may have gone round, the tally is marked (`hole`).
 */
uint64_t upmu_count_last(const struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t delta);

/*
 * The part of upmu_count_take() for an event that has wrapped or samples, after `base` has become the counter's value.
 * Notes the wrap; if the event samples, begins the next period when one has ended, adapts it to a frequency, and
 * removes the counter's tag if it must be loaded anew.  Returns whether a sample is due.
 */
bool upmu_count_end(struct upmu_meter *meter, const struct upmu_session *session, struct upmu_tally *tally,
                    unsigned counter, bool wrapped, uint64_t now_ns);

/*
 * Add what the counter of one event, which no longer runs, has counted since the tally's base; `value` becomes the
 * base.  For callers that have no `bits` and `odd` for upmu_count_take(): all corrections are made.  Sets
 * meter->seen_counting if anything was counted.  Returns whether a sample is due.
 */
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

/*
 * As upmu_count_take_one(), for a session that is stopped because a register faulted: a sample that is due is not
 * stored, but counts in `lost`.
 */
void upmu_count_take_failed(struct upmu_meter *meter, const struct upmu_session *session, struct upmu_tally *tally,
                            uint64_t value, uint64_t now_ns);

/*
 * Read the counter of an event, which may run, and fold it; note the interrupt that may come if the counter has
 * wrapped.  Returns false where a register faulted: nothing is added.
 */
bool upmu_count_add(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns);

/* End a window of `slots` slots for a metric, which is a byte of `metrics`: add its part of them. */
void upmu_count_add_metric(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t slots, uint64_t metrics);

/*
 * Note that the counter of an event that leaves could not be read: its last part is in no count (`hole`), the counter
 * loses its tag, the event's counters are failed, and an interrupt may still come.
 */
void upmu_count_lose(struct upmu_meter *meter, struct upmu_tally *tally);

/* Set `hole` of all events of a session's active set: an unknown part is missing in their counts. */
void upmu_count_mar(struct upmu_session *session);

/*
 * Note that an event's counter has passed zero: `turned` becomes now, and its interrupt may still come.  `passed`: the
 * value of a sampling counter shows it.  If it is false, as for each counter that only counts, the event's counters are
 * flagged (meter->flagged), too.  On a PMU without interrupts only `turned` changes.
 */
void upmu_count_note_wrap(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns, bool passed);

/* Flag counters (meter->flagged): their status bits may be set though no new overflow belongs to them. */
static inline void upmu_count_flag(struct upmu_meter *meter, uint32_t counters)
{
    meter->flagged |= counters;
}

/*
 * On a port without interrupts: note in meter->flagged that the status bits of these counters may be set from a time
 * when no session counted on them.  Elsewhere nothing is done: the handler clears such bits.
 */
void upmu_count_suspect(struct upmu_meter *meter, uint32_t counters);

/*
 * Clear the status bits of those of these counters that are in meter->flagged, and remove them from it.  An old bit
 * would look like an overflow of the event that counts there from now on.  Returns false where a register faulted.
 */
bool upmu_count_acknowledge(struct upmu_meter *meter, uint32_t counters);

/*
 * Expect interrupts of those of these counters that are open: they are stopped or given away, and an overflow that has
 * just come is not handled as one.
 */
void upmu_count_expect(struct upmu_meter *meter, uint32_t counters);

/*
 * Make the selects of those of these counters unknown of which a box was reset (bank.reset), so that they are written
 * before the counters run again.
 */
void upmu_count_unlearn(struct upmu_meter *meter, uint32_t counters);

/* Can closing a counter lose a carry (UPMU_PMU_CARRY_LOST)?  Then the engine adds its count just before the close. */
static inline bool upmu_count_adds_first(const struct upmu_meter *meter)
{
    return upmu_pmu_is(meter->pmu, UPMU_PMU_CARRY_LOST);
}

/*
 * The value that the second counter of a wide event is loaded with.  That counter has the upper 16 bits of the event's
 * value.  With all of them set, both counters overflow together when the first one does.
 */
#define UPMU_WIDE_LOAD UINT64_C(0xffff)

static inline bool upmu_tally_is_wide(const struct upmu_tally *tally)
{
    return UPMU_BACKEND_AMD && tally->wide;
}

/*
 * Return `delta`, the difference of two values of a counter, corrected on PMUs that lose a carry and for counts that
 * can fall.
 */
uint64_t upmu_count_correct(const struct upmu_pmu *pmu, const struct upmu_tally *tally, unsigned counter,
                            uint64_t delta);

/*
 * Return how many events the difference of two values of a tally's counter stands for: its low bits, as many as the
 * counter has, corrected by upmu_count_correct() where that is needed.
 */
static inline uint64_t upmu_count_delta(const struct upmu_pmu *pmu, const struct upmu_tally *tally, unsigned counter,
                                        uint64_t difference)
{
    uint64_t delta = difference & upmu_bits_ones(pmu->counter[counter].width);

    return __builtin_expect(upmu_pmu_is(pmu, UPMU_PMU_CARRY_LOST) || tally->falls, 0)
               ? upmu_count_correct(pmu, tally, counter, delta)
               : delta;
}

/*
 * As an event leaves its counter: add to its tally what the counter has counted since the base; `value`, the counter's
 * value, becomes the base.  `bits`: the mask of the counter's width; `odd`: its PMU or event needs a correction.  The
 * difference is ORed into *seen.  Returns whether a sample is due.
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
