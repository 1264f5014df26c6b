/* SPDX-License-Identifier: MIT */
/*
 * From raw counter values to 64-bit counts and due samples, and from these to start values.  In a bracket, or in a
 * handler that interrupted none; the sequence of the session is odd where its counts change.
 */
#ifndef UPMU_CORE_COUNT_H
#define UPMU_CORE_COUNT_H

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
bool upmu_count_overflowed(const struct upmu_pmu *pmu, unsigned counter, uint64_t value);

/*
 * After a fold: is a sample due?  Moves `due` on and counts periods that passed
 * without one.
 */
bool upmu_count_due(struct upmu_tally *tally);

/* A count gets a value, and a full period begins. */
void upmu_count_begin(struct upmu_set *set, struct upmu_tally *tally, uint64_t total);

/* The next wait: a period and its random part. */
void upmu_count_next(struct upmu_tally *tally, uint64_t period);

/* After a sample that was due: the period follows the frequency.  `now_ns`: enabled time of its session. */
void upmu_count_adapt(struct upmu_tally *tally, uint64_t now_ns);

/* The longest period that can be asked for. */
#define UPMU_LONGEST_PERIOD (~UINT64_C(0) >> 1)

/* The value to load so that the counter overflows when the next sample is due. */
uint64_t upmu_count_load(const struct upmu_pmu *pmu, const struct upmu_tally *tally, unsigned counter);

/* The count of a tally's counter, by the difference of two values. */
uint64_t upmu_count_delta(const struct upmu_pmu *pmu, const struct upmu_tally *tally, unsigned counter,
                          uint64_t difference);

/* Is a difference so large, where nothing tells of an overflow, that the counter may have gone round? */
static inline bool upmu_count_is_late(const struct upmu_pmu *pmu, unsigned counter, uint64_t delta)
{
    return (UPMU_UNCORE || UPMU_FOREIGN) && (pmu->capabilities & UPMU_PMU_NO_PMI) &&
           delta >> (pmu->counter[counter].width - 1u);
}

/*
 * Give a counter that is closed, or stands still, the value that its event begins with: a load for sampling, else it is
 * read.  False: a register faulted.
 */
bool upmu_count_begin_at(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns);

/* The counter of an event; of a cascade, note whether its initiator has overflowed.  False: a register faulted. */
bool upmu_count_value(struct upmu_meter *meter, struct upmu_tally *tally, unsigned counter, uint64_t *out_value);

/* Add the value of a counter that does not run any more.  True: a sample is due. */
bool upmu_count_take(struct upmu_meter *meter, const struct upmu_session *session, struct upmu_tally *tally,
                     unsigned counter, uint64_t value, uint64_t now_ns);

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

#endif
