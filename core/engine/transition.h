/* SPDX-License-Identifier: MIT */
/*
 * Transitions (docs/DESIGN.md, "Transitions"): which compiled placements leave the hardware and which come, planned
 * first and then executed in one go.  All inside a local bracket.
 */
#ifndef UPMU_CORE_TRANSITION_H
#define UPMU_CORE_TRANSITION_H

#include "core/engine/program.h"
#include <upmu/place.h>

/* Sessions of one transition, each way; registers that they find other than they want. */
#define UPMU_PARTS (UPMU_THREADS ? 8u : 1u)
#define UPMU_WRITES (UPMU_THREADS ? 48u : 1u)

/* A plan.  Until upmu_transition_run() nothing has changed, and it may be dropped. */
struct upmu_transition {
    struct upmu_meter *meter;
    uint32_t leaving, coming; /* counters */
    uint32_t changed;         /* counters whose registers differ */
    uint32_t carried;         /* counters that run on from one side to the other */
    uint32_t counting_out, counting_in, quiet_in;
    uint64_t corunners;       /* what it changes in meter->corunners */
    uint32_t closed;          /* counters that leave, which handlers may have closed */
    uint8_t outs, ins;
    uint8_t slow;             /* bit for each that comes, and needs more than writes */
    bool general;             /* anything may leave and come; nothing is refused but for room */
    bool displaced;           /* sessions leave that share, and are not of the thread that leaves */
    bool alone;               /* one session starts where it is placed, or stops for good */
    bool walks;               /* what runs is found by walking the sessions at the end */
    bool failed;              /* a session that comes has failed */
    uint8_t state;            /* of sessions that have left */
    uint8_t status;           /* enum upmu_status: UPMU_ERR_PORT if a register faulted */
    bool careful;             /* registers are unknown, shared or not of the common kind */
    bool hides;               /* no counter keeps what another session counted */
    struct upmu_session *out[UPMU_PARTS], *in[UPMU_PARTS];
    struct upmu_set *set[UPMU_PARTS]; /* of each that comes */
    struct upmu_masked_write {
        uint64_t mask, value;
        uint32_t row;
        uint8_t enables;
    } write[UPMU_WRITES], *written;       /* up to there */
    struct upmu_masked_write *first_write[UPMU_PARTS + 1]; /* of each that comes */
};

/* The lower half of the CPU's work area, if it has one, for a plan that is executed before the next placement. */
static inline struct upmu_transition *upmu_meter_plan(const struct upmu_meter *meter)
{
    return (struct upmu_transition *)(void *)meter->work;
}
_Static_assert(sizeof(struct upmu_transition) <= sizeof(struct upmu_place_work) / 2, "the work area is too small");

/* What runs after it: the sum of the placements. */
static inline uint64_t upmu_transition_corunners(const struct upmu_transition *plan)
{
    return plan->meter->corunners + plan->corunners;
}

void upmu_transition_begin(struct upmu_transition *plan, struct upmu_meter *meter);

/*
 * Add a session that leaves, or one that comes with a set where that is placed; the counters of that
 * are free then.  False: this session has to go another way.
 */
bool upmu_transition_out(struct upmu_transition *plan, struct upmu_session *session);
bool upmu_transition_in(struct upmu_transition *plan, struct upmu_session *session, struct upmu_set *set);

/* Those that leave get this state.  False: nothing was done, as a handler has left work that comes first. */
bool upmu_transition_run(struct upmu_transition *plan, uint8_t state);

/* One session alone, quickly, where nothing about it needs thought; false: nothing was done. */
bool upmu_transition_start(struct upmu_meter *meter, struct upmu_session *session);
bool upmu_transition_stop(struct upmu_meter *meter, struct upmu_session *session);

/*
 * Take the sessions of the list marked UPMU_CHANGE_LEAVES off the hardware, and put those marked UPMU_CHANGE_COMES on
 * it, as far as session->coming has a valid placement; the others, and those without room, are left waiting and marked
 * UPMU_CHANGE_FRESH.
 */
void upmu_transition_all(struct upmu_meter *meter);

/* Close the gates and take the counts. */
enum upmu_status upmu_transition_take_off(struct upmu_meter *meter, struct upmu_session *session);

/* Load a placed session and open its gates. */
enum upmu_status upmu_transition_bring(struct upmu_meter *meter, struct upmu_session *session);

#endif
