/* SPDX-License-Identifier: MIT */
/*
 * Services of a meter (a PMU at work) for all of the engine: clock, log, interrupt, and which event's value a counter
 * has.
 */
#ifndef UPMU_CORE_METER_H
#define UPMU_CORE_METER_H

#include <upmu/pmu.h>
#include <upmu/session.h>
#include <upmu/unit.h>

/* How long after its overflow an interrupt may still arrive: 100 ms, in the unit of upmu_count_stamp().  Until then an
 * interrupt that finds nothing is UPMU_PMI_STALE. */
#define UPMU_LATEST_STAMPS 95u

/* Returns the counters that sessions may not have: the firmware's, those that the host reserved, and foreign ones. */
static inline uint32_t upmu_meter_blocked(const struct upmu_meter *meter)
{
    return meter->firmware | meter->watchdog | meter->foreign;
}

/* Is the meter a unit's, not a CPU's?  A CPU's meter is the first member of its upmu_cpu. */
static inline bool upmu_meter_is_unit(const struct upmu_meter *meter)
{
    return UPMU_UNCORE && meter->pmu && meter->pmu->index >= UPMU_UNIT_PMU;
}

/* Do the counters of this PMU never stop? */
static inline bool upmu_meter_is_free(const struct upmu_meter *meter)
{
    return UPMU_UNCORE && (meter->pmu->capabilities & UPMU_PMU_FREE);
}

/* Do the counters of this PMU stop at their end instead of going round? */
static inline bool upmu_meter_saturates(const struct upmu_meter *meter)
{
    return UPMU_UNCORE && (meter->pmu->capabilities & UPMU_PMU_SATURATES);
}

/* Read the port's clock; returns 0 where the port has none. */
uint64_t upmu_meter_now(const struct upmu_meter *meter);

/* Write a line to the host's log, where the port has one. */
void upmu_meter_log(const struct upmu_meter *meter, const char *line);

/*
 * Note that `overflows` overflows were found at `now_ns`, or are possible on counters that are taken away: for each an
 * interrupt may still come, to be answered STALE. Call it before the overflow is removed from the counter or its
 * status.
 */
void upmu_meter_expect(struct upmu_meter *meter, unsigned overflows, uint64_t now_ns);

/* Re-arm the interrupt (unmask LVTPC), where the port has one. */
void upmu_meter_rearm(struct upmu_meter *meter);

/* Returns the counters of a tally that still have its tag: no other event has used them since. */
uint32_t upmu_meter_tagged(const struct upmu_meter *meter, const struct upmu_tally *tally);

/*
 * Note which event's value these counters hold, by the tag of its tally.  Tag 0: no event's; a counter is loaded before
 * it runs again.
 */
void upmu_meter_tag(struct upmu_meter *meter, uint32_t counters, uint32_t tag);

/* Note that a counter holds no event's value any more. */
static inline void upmu_meter_forget_value(struct upmu_meter *meter, unsigned counter)
{
    meter->slot[counter].tag = 0;
}

/* Note that these counters were set to 0: a program that reads them sees no other program's count (meter->left). */
static inline void upmu_meter_cleared(struct upmu_meter *meter, uint32_t counters)
{
    meter->left &= ~counters;
}

/* Remove the tag of each counter that still has this tally's tag.  Counters with another tally's tag keep it. */
void upmu_meter_untag(struct upmu_meter *meter, const struct upmu_tally *tally);

/* Make a tally the user of its counters, in meter->slot. */
void upmu_meter_give(struct upmu_meter *meter, struct upmu_session *session, struct upmu_tally *tally);

/*
 * The tally for whose count a counter is read, or NULL: an event can have further counters, which are not read for it.
 * A tally that moves is found under its old and its new counter.
 */
static inline struct upmu_tally *upmu_meter_on(const struct upmu_meter *meter, unsigned counter)
{
    struct upmu_tally *tally = meter->slot[counter].tally;

    return tally && (tally->counter == counter || (UPMU_MOVES && tally->from == counter)) ? tally : NULL;
}

/* Does the tally's counter stand still while the library runs, so that it may be written without a stop? */
bool upmu_meter_still(const struct upmu_meter *meter, const struct upmu_tally *tally);

#endif
