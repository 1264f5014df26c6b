/* SPDX-License-Identifier: MIT */
/*
 * Notes of a set about its last placement: for which kind of CPU and beside which co-runners it is valid, and beside
 * which co-runners no place was found.
 */
#ifndef UPMU_CORE_PLACED_H
#define UPMU_CORE_PLACED_H

#include "core/engine/session_core.h"

/*
 * Returns the kind of CPU that a placement is for, as a number that is never 0: its PMU, and whether it is a second
 * hyper-thread, which is all that a backend renders registers for (UPMU_RENDER_THREAD1).  The numbers of AMD's cores
 * (meter->thread) say whose a claim is: a placement is good on each core.
 */
static inline uint8_t upmu_placed_class(const struct upmu_meter *meter)
{
    return (uint8_t)(0x80u | (unsigned)meter->pmu->index << 1 | (meter->thread != 0));
}

/*
 * A bit of stamps, and so of their sum: only a session that runs alone (upmu_session_alone()) has it in its stamp.  No
 * other stamp has a part in the sum then, so the bit of the sum says whether such a session runs.
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
 * Has upmu_placed_refuse() been called for a set with the same co-runners, while sessions might not have the same
 * counters?  With `may_move`, a refusal only because a co-runner would have to move does not count.
 */
bool upmu_placed_was_refused(const struct upmu_meter *meter, const struct upmu_set *set, uint64_t corunners,
                          bool may_move);

/* Note that the placement of a set is valid beside these co-runners, which need not be those that run now. */
void upmu_placed_beside(struct upmu_set *set, uint64_t corunners);

/*
 * Note the new placement of a session's active set: its counters, its stamp, the co-runners, the kind of CPU.  A
 * program that was compiled before is forgotten.
 */
void upmu_placed_note(struct upmu_meter *meter, struct upmu_session *session);

#endif
