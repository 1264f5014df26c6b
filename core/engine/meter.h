/* SPDX-License-Identifier: MIT */
/*
 * Services of a PMU at work for all of the engine: its clock, its log, its interrupt.
 */
#ifndef UPMU_CORE_METER_H
#define UPMU_CORE_METER_H

#include <upmu/pmu.h>
#include <upmu/session.h>
#include <upmu/unit.h>

/* How long after its overflow an interrupt may still arrive: 100 ms, in the unit of upmu_count_stamp().  Until then an
 * interrupt that finds nothing is UPMU_PMI_STALE. */
#define UPMU_LATEST_STAMPS 95u

/* Counters that sessions may not have. */
static inline uint32_t upmu_meter_blocked(const struct upmu_meter *meter)
{
    return meter->firmware | meter->watchdog | meter->foreign;
}

/* Is it a unit's?  A CPU's is the first member of its upmu_cpu. */
static inline bool upmu_meter_is_unit(const struct upmu_meter *meter)
{
    return UPMU_UNCORE && meter->pmu && meter->pmu->index >= UPMU_UNIT_PMU;
}

/* Do its counters never stop? */
static inline bool upmu_meter_is_free(const struct upmu_meter *meter)
{
    return UPMU_UNCORE && (meter->pmu->capabilities & UPMU_PMU_FREE);
}

/* Do its counters stop at their end instead of going round? */
static inline bool upmu_meter_saturates(const struct upmu_meter *meter)
{
    return UPMU_UNCORE && (meter->pmu->capabilities & UPMU_PMU_SATURATES);
}

/* The port's clock, 0 without one. */
uint64_t upmu_meter_now(const struct upmu_meter *meter);

/* Write a line to the host's log, where the port has one. */
void upmu_meter_log(const struct upmu_meter *meter, const char *line);

/*
 * So many overflows were found at this time, or could have been and are thrown away: interrupts for them may come from
 * now on.  To be called before a handler could see that an overflow is settled.
 */
void upmu_meter_expect(struct upmu_meter *meter, unsigned overflows, uint64_t now_ns);

/* Unmask the interrupt, where the port has one. */
void upmu_meter_rearm(struct upmu_meter *meter);

/* Counters of a tally that were not used since it ran. */
uint32_t upmu_meter_tagged(const struct upmu_meter *meter, const struct upmu_tally *tally);

/* Whose event's value these counters have; 0: no event's, and they are loaded before they run again. */
void upmu_meter_tag(struct upmu_meter *meter, uint32_t counters, uint32_t tag);

/* Counters that still have this tally's value lose their tag.  Counters that have another tally's value since keep
 * theirs. */
void upmu_meter_untag(struct upmu_meter *meter, const struct upmu_tally *tally);

/* Make a tally the user of its counters. */
void upmu_meter_give(struct upmu_meter *meter, struct upmu_session *session, struct upmu_tally *tally);

/* The tally that a counter is read for, or NULL: several counters may be one event's.  A tally that moves has two. */
static inline struct upmu_tally *upmu_meter_on(const struct upmu_meter *meter, unsigned counter)
{
    struct upmu_tally *tally = meter->slot[counter].tally;

    return tally && (tally->counter == counter || (UPMU_MOVES && tally->from == counter)) ? tally : NULL;
}

/* Does it run, but stand still while the library does, so that it need not be stopped to be written? */
bool upmu_meter_still(const struct upmu_meter *meter, const struct upmu_tally *tally);

#endif
