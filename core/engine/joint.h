/* SPDX-License-Identifier: MIT */
/*
 * A joint problem: the events of running sessions and of a session that is to run, as requests that are placed
 * together.
 */
#ifndef UPMU_CORE_JOINT_H
#define UPMU_CORE_JOINT_H

#include <upmu/place.h>
#include "core/util/apart.h"
#include "core/util/mem.h"
#include "core/engine/session_core.h"

/*
 * How many resources at most a placement must leave as they are.  Of NetBurst's 18 counters each has an ESCR and a
 * helper's ESCR, and events that tag share two registers.
 */
#define UPMU_JOINT_HELD 40

struct upmu_joint {
    const struct upmu_pmu *pmu;
    struct upmu_session *session[UPMU_REQUESTS];
    uint8_t index[UPMU_REQUESTS]; /* by request: number of its tally in the active set of its session */
    uint8_t set[UPMU_REQUESTS];   /* by request: number of its session in this problem, from 0 */
    uint8_t sets;
    unsigned count;
    uint32_t taken; /* further counters that no request may get: those of sessions that are not in this problem */
    uint8_t thread; /* number of the hyper-thread, in its core, that the problem is for */
    uint8_t stay[UPMU_REQUESTS][UPMU_SLOTS];
    uint8_t stay_alternative[UPMU_REQUESTS];
    struct upmu_place_result result[UPMU_REQUESTS];
    uint32_t beside;  /* on a paired PMU: mask of the counters that the other hyper-thread uses */
    uint32_t spoiled; /* those of `beside` that count an exclusive event */
};

static inline struct upmu_tally *upmu_joint_tally(const struct upmu_joint *joint, unsigned i)
{
    return &upmu_active(joint->session[i])->tally[joint->index[i]];
}

void upmu_joint_begin(struct upmu_joint *joint, const struct upmu_pmu *pmu);

/*
 * Add the events of a session's active set.  `stays`: they run now, and keep their places if the solver need not move
 * them.  Returns false where the problem has no room for all of them: some may have been added.
 */
bool upmu_joint_add(struct upmu_joint *joint, struct upmu_session *session, bool stays);

/*
 * Search a place for each event.  `alone`: ignore the counters and resources that other CPUs have claimed.  `meter`
 * NULL: as on an idle PMU.  Returns the status of upmu_requests_place().  `why`, if not NULL, gets the cause of a
 * refusal, with the ids of the events that exclude each other.
 */
enum upmu_status upmu_joint_solve(const struct upmu_meter *meter, struct upmu_joint *joint, bool alone,
                                  struct upmu_place_work *work, struct upmu_why *why);

/* As upmu_joint_solve(), in the work area of the meter; if it has none, in one on the stack. */
enum upmu_status upmu_joint_place(const struct upmu_meter *meter, struct upmu_joint *joint, bool alone,
                                  struct upmu_why *why);

/*
 * Begin a problem of one session, whose places are to be outside of the counters `taken`.  Returns false where an event
 * has no other counter; where the session may share more than counters with others, as an event has a payload register,
 * or the PMU is a unit's, has a domain or is paired, or has not all enable bits in one dense register; or where the
 * problem has no room.
 */
bool upmu_joint_begin_apart(const struct upmu_meter *meter, struct upmu_joint *joint, struct upmu_session *session,
                            uint32_t taken);

/* Return the event of request number `i`. */
const struct upmu_event *upmu_joint_event(const struct upmu_joint *joint, unsigned i);

/* Does the event of request number `i` run, on other counters or in another way than the solution has for it? */
bool upmu_joint_moves(const struct upmu_joint *joint, unsigned i);

/* Store in a tally the counters and the way of a result. */
void upmu_joint_note(struct upmu_tally *tally, const struct upmu_place_result *result);

#if UPMU_GROUPS
/* Store in an entry of a group where the events of a set are; or store in the tallies of a set what an entry has. */
void upmu_joint_give(const struct upmu_set *set, struct upmu_compiled *compiled);
void upmu_joint_take(struct upmu_set *set, const struct upmu_compiled *compiled);
#endif

/* Note in a tally that its event has no place any more. */
static UPMU_INSIDE void upmu_joint_forget(struct upmu_tally *tally)
{
    memset(tally->slot, UPMU_NO_COUNTER, sizeof tally->slot);
    UPMU_STORE(tally->counter, UPMU_NO_COUNTER);
    tally->from = UPMU_NO_COUNTER;
    tally->counters = 0;
}

/* Note in a tally that its event reads a counter that never stops, and that belongs to no session. */
static inline void upmu_joint_note_free(struct upmu_tally *tally, unsigned counter)
{
    UPMU_STORE(tally->counter, (uint8_t)counter);
    tally->slot[0] = tally->counter;
    tally->counters = 0;
}

static inline bool upmu_event_is_exclusive(const struct upmu_event *event)
{
    return event->attributes & UPMU_ATTR_EXCLUSIVE;
}

static inline bool upmu_pmu_is_paired(const struct upmu_pmu *pmu)
{
    return UPMU_DOMAINS && (pmu->capabilities & UPMU_PMU_PAIRED);
}

#endif
