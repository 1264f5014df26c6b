/* SPDX-License-Identifier: MIT */
/*
 * From raw counter values to 64-bit counts and due samples, and from these to start values.  In a bracket, or in a
 * handler that interrupted none; the sequence of the session is odd where its counts change.
 */
#ifndef UPMU_CORE_COUNT_H
#define UPMU_CORE_COUNT_H

#include "core/hw/bank_inline.h"
#include "core/hw/register.h"
#include "core/engine/session_core.h"

/* upmu_tally.to_switch: the next set is due. */
#define UPMU_SWITCH_NOW 0xffffffffu

/* Does this tally sample?  In a build without sampling none does. */
static inline bool upmu_tally_samples(const struct upmu_tally *tally)
{
    return UPMU_SAMPLING && UPMU_LOAD(tally->period);
}

/* Does the count of an event wrap as its counter does? */
static inline bool upmu_count_wraps(const struct upmu_set *set, unsigned i)
{
    return UPMU_SAMPLING && set->tally[i].wraps;
}

/* The count of such an event: of the width of its counter, or of the first that it can have. */
uint64_t upmu_count_wrapped(const struct upmu_session *session, const struct upmu_set *set, unsigned i,
                            uint64_t count);

/* Add what a counter counted since the tally's base. */
void upmu_count_fold(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t value);

/* The unit of upmu_tally.turned. */
static inline uint32_t upmu_count_stamp(uint64_t now_ns)
{
    return (uint32_t)(now_ns >> 20);
}

/*
 * Before a fold of a counter that only counts and whose overflow was flagged: did it
 * go all the way round since its base, so that the fold does not see it?  The flag of
 * an overflow that is folded already may come late; a round takes its time, too: of
 * 2^40 events a minute, of 2^48 nine.
 */
bool upmu_count_turned(const struct upmu_pmu *pmu, const struct upmu_tally *tally, unsigned counter, uint64_t value,
                       uint64_t now_ns);

/* Has a sampling counter passed zero?  The value decides. */
static inline bool upmu_count_overflowed(const struct upmu_pmu *pmu, unsigned counter, uint64_t value)
{
    return !(value >> (pmu->counter[counter].width - 1u) & 1u);
}

/*
 * After a fold: is a sample due?  Moves `due` on and counts periods that passed
 * without one.
 */
bool upmu_count_due(struct upmu_tally *tally);

/* A count gets a value, and a full period begins. */
void upmu_count_begin(struct upmu_set *set, struct upmu_tally *tally, uint64_t total);

/* The next wait: a period and its random part. */
void upmu_count_next(struct upmu_tally *tally, uint64_t period);

/* After a sample that was due: the period follows the frequency, which there is.  `now_ns`: enabled time. */
void upmu_count_adapt(struct upmu_tally *tally, uint64_t now_ns);

/* The longest period that can be asked for. */
#define UPMU_LONGEST_PERIOD (~UINT64_C(0) >> 1)

/* The value to load so that the counter overflows when the next sample is due. */
uint64_t upmu_count_load(const struct upmu_pmu *pmu, const struct upmu_tally *tally, unsigned counter);

/* Is a difference so large, where nothing tells of an overflow, that the counter may have gone round? */
static inline bool upmu_count_is_late(const struct upmu_pmu *pmu, unsigned counter, uint64_t delta)
{
    return (UPMU_UNCORE || UPMU_FOREIGN) && (pmu->capabilities & UPMU_PMU_NO_PMI) &&
           delta >> (pmu->counter[counter].width - 1u);
}

/* The base of a count: what its counter holds.  False: a register faulted. */
bool upmu_count_read_at(struct upmu_meter *meter, struct upmu_tally *tally);

/* Does an event write its counter when it begins?  Else what the counter holds is read. */
bool upmu_count_is_written(const struct upmu_meter *meter, const struct upmu_tally *tally);

/* Write such a counter, which is closed or stands still; read any other.  False: a register faulted. */
bool upmu_count_write_at(struct upmu_meter *meter, struct upmu_tally *tally);

/* Give a counter that is closed, or stands still, the value that its event begins with.  False: a register faulted. */
bool upmu_count_begin_at(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns);

/* Of a cascade, note whether its initiator has overflowed.  False: a register faulted. */
bool upmu_count_armed(struct upmu_meter *meter, struct upmu_tally *tally);

/* A box of a unit was gone or reset: all that counts there has a hole. */
void upmu_count_note_lacks(struct upmu_meter *meter);

/* The counter of an event, and upmu_count_armed().  False: a register faulted. */
bool upmu_count_value(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t *out_value);

/* The last count of a counter, by the difference of two values; a tally whose counter may have gone round is marked. */
uint64_t upmu_count_last(const struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t delta);

/* The end of upmu_count_take() of an event that has wrapped or samples; its base is the counter's value. */
bool upmu_count_end(struct upmu_meter *meter, const struct upmu_session *session, struct upmu_tally *tally,
                    unsigned counter, bool wrapped, uint64_t now_ns);

/* upmu_count_take() of an event of any kind, alone. */
bool upmu_count_take_one(struct upmu_meter *meter, const struct upmu_session *session, struct upmu_tally *tally,
                         unsigned counter, uint64_t value, uint64_t now_ns);

/* As upmu_count_take_one(), where a fault ends the session: a sample that is due is not stored, but lost. */
void upmu_count_take_failed(struct upmu_meter *meter, const struct upmu_session *session, struct upmu_tally *tally,
                            uint64_t value, uint64_t now_ns);

/* Add the value of a counter that may run.  False: a register faulted. */
bool upmu_count_add(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns);

/* A counter of an event that leaves could not be read: what it holds is in no count, and it may have overflowed. */
void upmu_count_lose(struct upmu_meter *meter, struct upmu_tally *tally);

/* An unknown part is missing in the counts of a session's active set. */
void upmu_count_mar(struct upmu_session *session);

/* A counter has passed zero; `passed`: what it samples says so. */
void upmu_count_note_wrap(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns, bool passed);

/* Status bits of these counters may be set, from a time when they were in no count, on a port without interrupts. */
void upmu_count_suspect(struct upmu_meter *meter, uint32_t counters);

/*
 * Clear what meter->flagged has of these counters: a status bit that was set before would look like an overflow of what
 * is counted from now on.  False: a register faulted.
 */
bool upmu_count_acknowledge(struct upmu_meter *meter, uint32_t counters);

/* Counters are taken away, unread: those that run may have overflowed, in no session's count, too. */
void upmu_count_expect(struct upmu_meter *meter, uint32_t counters);

/* Registers that a box of a unit has lost are written before these counters run again. */
void upmu_count_unlearn(struct upmu_meter *meter, uint32_t counters);

/* Does closing a counter lose a carry?  Then it is added before that. */
static inline bool upmu_count_adds_first(const struct upmu_meter *meter)
{
    return upmu_pmu_is(meter->pmu, UPMU_PMU_CARRY_LOST);
}

/*
 * The second counter of a wide event has 16 bits more; so loaded, the two overflow
 * together when the first one does.
 */
#define UPMU_WIDE_LOAD UINT64_C(0xffff)

static inline bool upmu_tally_is_wide(const struct upmu_tally *tally)
{
    return UPMU_BACKEND_AMD && tally->wide;
}

/* A difference of two values, corrected: of PMUs that lose carries, and of counts that can fall. */
uint64_t upmu_count_correct(const struct upmu_pmu *pmu, const struct upmu_tally *tally, unsigned counter,
                            uint64_t delta);

/* The count of a tally's counter, by the difference of two values. */
static inline uint64_t upmu_count_delta(const struct upmu_pmu *pmu, const struct upmu_tally *tally, unsigned counter,
                                        uint64_t difference)
{
    uint64_t delta = difference & upmu_bits_ones(pmu->counter[counter].width);

    return __builtin_expect(upmu_pmu_is(pmu, UPMU_PMU_CARRY_LOST) || tally->falls, 0)
               ? upmu_count_correct(pmu, tally, counter, delta)
               : delta;
}

/*
 * Add the value of a counter that does not run any more, and has these bits; `odd`: its PMU or event is not plain.
 * *seen gets bits of what was counted.  True: a sample is due.
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
