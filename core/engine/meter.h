/* SPDX-License-Identifier: MIT */
/*
 * Services of a meter (a PMU at work) for all of the engine: its clock, log and interrupt, and the tags and users of
 * its counters.
 */
#ifndef UPMU_CORE_METER_H
#define UPMU_CORE_METER_H

#include <upmu/pmu.h>
#include <upmu/session.h>
#include <upmu/unit.h>

/*
 * How long after its overflow an interrupt may still arrive: 100 ms, in the unit of upmu_count_stamp().  Until then an
 * interrupt for which the handler finds no overflow is answered UPMU_PMI_STALE, later UPMU_PMI_NOT_OURS.
 */
#define UPMU_LATEST_STAMPS 95u

/*
 * Return the mask of the counters that no session may have: used by other software at take-over (`firmware`) or since
 * (`foreign`), or reserved by the host (`watchdog`).
 */
static inline uint32_t upmu_meter_blocked(const struct upmu_meter *meter)
{
    return UPMU_FIRMWARE ? meter->firmware | meter->watchdog | meter->foreign : 0;
}

/* Is the meter a unit's, not a CPU's?  False for a CPU without a PMU. */
static inline bool upmu_meter_is_unit(const struct upmu_meter *meter)
{
    return UPMU_UNCORE && meter->pmu && meter->pmu->index >= UPMU_UNIT_PMU;
}

/* Can the meter's counters not be stopped (UPMU_PMU_FREE)?  True of some units, false of each CPU's PMU. */
static inline bool upmu_meter_is_free(const struct upmu_meter *meter)
{
    return UPMU_UNCORE && (meter->pmu->capabilities & UPMU_PMU_FREE);
}

/* Do the meter's counters stop at their highest value, not pass zero?  True of some units, false of each CPU's PMU. */
static inline bool upmu_meter_saturates(const struct upmu_meter *meter)
{
    return UPMU_UNCORE && (meter->pmu->capabilities & UPMU_PMU_SATURATES);
}

/* Does the hardware change worlds, with no call to the library (upmu_cpu_world_by_hardware())? */
static inline bool upmu_meter_by_hardware(const struct upmu_meter *meter)
{
#if UPMU_WORLDS
    return meter->by_hardware;
#else
    (void)meter;
    return false;
#endif
}

/* Read the port's clock, in ns; 0 where the port has none. */
uint64_t upmu_meter_now(const struct upmu_meter *meter);

/* Write a line to the host's log; without a log in the port nothing is done. */
void upmu_meter_log(const struct upmu_meter *meter, const char *line);

/*
 * Note that `overflows` overflows were found at `now_ns`, or are possible on counters that sessions lose.  For each an
 * interrupt of this CPU may still come, which the handler answers UPMU_PMI_STALE.  A local call does this before the
 * overflow is removed from the counter or its status.  Nothing is done for a unit.
 */
void upmu_meter_expect(struct upmu_meter *meter, unsigned overflows, uint64_t now_ns);

/* Re-arm the interrupt (unmask LVTPC), and count that in accesses.rearms; nothing is done where the port has none. */
void upmu_meter_rearm(struct upmu_meter *meter);

/* Return the mask of those counters of a tally that have its tag: no other event has used them since. */
uint32_t upmu_meter_tagged(const struct upmu_meter *meter, const struct upmu_tally *tally);

/*
 * Give these counters a tag: they hold the value of the event with this tag.  Tag 0: they hold no event's value, and
 * the next event on them begins anew.
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

/* Note in meter->slot, for each counter of a tally, that this session and this tally use it. */
void upmu_meter_give(struct upmu_meter *meter, struct upmu_session *session, struct upmu_tally *tally);

/*
 * Return the tally whose count `counter` is read for, or NULL.  A counter that an event has besides (not read for its
 * count) gives NULL.  The tally of an event that moves is found under its old and its new counter.
 */
static inline struct upmu_tally *upmu_meter_on(const struct upmu_meter *meter, unsigned counter)
{
    struct upmu_tally *tally = meter->slot[counter].tally;

    return tally && (tally->counter == counter || (UPMU_MOVES && tally->from == counter)) ? tally : NULL;
}

/*
 * May the tally's counters be written while they are enabled, because they count user mode alone and so stand still
 * now?  AMD only; false for counters that count for other CPUs, too, and for wide events.
 */
bool upmu_meter_still(const struct upmu_meter *meter, const struct upmu_tally *tally);

#endif
