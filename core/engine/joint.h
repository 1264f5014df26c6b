/* SPDX-License-Identifier: MIT */
/*
 * The sessions that run on a CPU and those that are to run, as one placement problem.
 */
#ifndef UPMU_CORE_JOINT_H
#define UPMU_CORE_JOINT_H

#include <upmu/place.h>
#include "core/engine/session_core.h"

/* Resource values held by others, at most: NetBurst's 18 counters have an ESCR and a helper's each, and tag alike. */
#define UPMU_JOINT_HELD 40

struct upmu_joint {
    const struct upmu_pmu *pmu;
    struct upmu_session *session[UPMU_REQUESTS];
    uint8_t index[UPMU_REQUESTS]; /* its tally in the active set of its session */
    uint8_t set[UPMU_REQUESTS];   /* its session's number here */
    uint8_t sets;
    unsigned count;
    uint32_t taken; /* counters of sessions that are not in it */
    uint8_t thread; /* that asks */
    uint8_t stay[UPMU_REQUESTS][UPMU_SLOTS];
    uint8_t stay_alternative[UPMU_REQUESTS];
    struct upmu_place_result result[UPMU_REQUESTS];
    uint32_t beside;  /* of a paired PMU: counters that the other hyper-thread uses */
    uint32_t spoiled; /* of these, with an exclusive event */
};

static inline struct upmu_tally *upmu_joint_tally(const struct upmu_joint *joint, unsigned i)
{
    return &upmu_active(joint->session[i])->tally[joint->index[i]];
}

void upmu_joint_begin(struct upmu_joint *joint, const struct upmu_pmu *pmu);

/* Add a session's events; `stays`: where they are now, which is their result until it is solved.  False: too many. */
bool upmu_joint_add(struct upmu_joint *joint, struct upmu_session *session, bool stays);

/*
 * Place them: beside what other CPUs occupy, or `alone`; cpu NULL: on an idle PMU.
 * As upmu_requests_place(), with the culprits named.
 */
enum upmu_status upmu_joint_solve(const struct upmu_meter *meter, struct upmu_joint *joint, bool alone,
                                  struct upmu_place_work *work, struct upmu_why *why);

/* As upmu_joint_solve(), in the work area of the CPU or, if it has none, on the stack. */
enum upmu_status upmu_joint_place(const struct upmu_meter *meter, struct upmu_joint *joint, bool alone,
                                  struct upmu_why *why);

/* A session on counters that are not taken, as a problem by itself.  False: its events share more with others. */
bool upmu_joint_begin_apart(const struct upmu_meter *meter, struct upmu_joint *joint, struct upmu_session *session,
                            uint32_t taken);

/* Event of a request. */
const struct upmu_event *upmu_joint_event(const struct upmu_joint *joint, unsigned i);

/* Does a running event have to move for this solution? */
bool upmu_joint_moves(const struct upmu_joint *joint, unsigned i);

/* Note where a tally runs. */
void upmu_joint_note(struct upmu_tally *tally, const struct upmu_place_result *result);

static inline bool upmu_event_is_exclusive(const struct upmu_event *event)
{
    return event->attributes & UPMU_ATTR_EXCLUSIVE;
}

static inline bool upmu_pmu_is_paired(const struct upmu_pmu *pmu)
{
    return UPMU_DOMAINS && (pmu->capabilities & UPMU_PMU_PAIRED);
}

#endif
