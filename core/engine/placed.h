/* SPDX-License-Identifier: MIT */
/*
 * Notes in a set about its last placement: for which kind of CPU and beside which co-runners it is valid, and beside
 * which co-runners no place was found for the set.
 */
#ifndef UPMU_CORE_PLACED_H
#define UPMU_CORE_PLACED_H

#include "core/engine/session_core.h"

/*
 * Return the kind of CPU that a placement made on this meter is for, as a number that is never 0.  Two CPUs are of one
 * kind if they have the same PMU and the same answer to: is meter->thread 0?  A backend renders registers differently
 * only for these (UPMU_RENDER_THREAD1).  AMD's numbers of cores (meter->thread) serve claims alone, so number 0 is a
 * kind of its own there without need.
 */
static inline uint8_t upmu_placed_class(const struct upmu_meter *meter)
{
    return (uint8_t)(0x80u | (unsigned)meter->pmu->index << 1 | (meter->thread != 0));
}

/*
 * A bit of stamps, which only the stamp of a session that runs alone has (upmu_session_alone()).  While such a session
 * runs, no other set is in the sum of stamps, so this bit of the sum tells whether one runs.
 */
#define UPMU_STAMP_ALONE UINT64_C(1)

/*
 * May a session get counters, where other sessions have the counters `taken` and this sum of stamps?  If no counter is
 * taken, always; else not if the session or one of the others runs alone.
 */
static inline bool upmu_placed_may_join(const struct upmu_session *session, uint32_t taken, uint64_t corunners)
{
    return !taken || !(session->alone || (corunners & UPMU_STAMP_ALONE));
}

/*
 * upmu_placed_stamp() returns the stamp of a set: the number of its placement, scattered. upmu_placed_corunners()
 * returns the sum of the stamps of all running sessions but `except`.
 */
uint64_t upmu_placed_stamp(const struct upmu_set *set);
uint64_t upmu_placed_corunners(const struct upmu_meter *meter, const struct upmu_session *except);

/* Note that no place was found for a set beside these co-runners.  `moving`: there is a place if a co-runner moves. */
void upmu_placed_refuse(const struct upmu_meter *meter, struct upmu_set *set, uint64_t corunners, bool moving);

/*
 * Has upmu_placed_refuse() been called for this set with the same co-runners and with the same counters blocked for
 * sessions?  With `may_move` the answer is no if that refusal was only because a co-runner would have to move.
 */
bool upmu_placed_was_refused(const struct upmu_meter *meter, const struct upmu_set *set, uint64_t corunners,
                          bool may_move);

/* Note that the placement of a set is valid beside these co-runners, which need not be those that run now. */
void upmu_placed_beside(struct upmu_set *set, uint64_t corunners);

#if UPMU_GROUPS
/*
 * Note the placement of a group's entry in a set that was never placed.  It has the entry's stamp, as one placement.
 * `placed_beside` stays 0: the placement is valid alone, and beside all others if the program needs no register that
 * others may need (UPMU_PROGRAM_FREE).
 */
void upmu_placed_take(struct upmu_set *set, const struct upmu_compiled *compiled);
#endif

/*
 * Note the new placement of a session's active set: its counters, its stamp, the co-runners, the kind of CPU.  A
 * program that was compiled before is forgotten.
 */
void upmu_placed_note(struct upmu_meter *meter, struct upmu_session *session);

#endif
