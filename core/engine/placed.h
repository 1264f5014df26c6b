/* SPDX-License-Identifier: MIT */
/*
 * The notes of a set about its last placement: for which CPU, beside which co-runners, and beside which none was found.
 */
#ifndef UPMU_CORE_PLACED_H
#define UPMU_CORE_PLACED_H

#include "core/engine/session_core.h"

/* The kind of CPU that a placement is for: never 0. */
static inline uint8_t upmu_placed_class(const struct upmu_meter *meter)
{
    return (uint8_t)(0x80u | (unsigned)meter->pmu->index << 1 | meter->thread);
}

/* The sum of placements that run, but for one session's; one placement in it. */
uint64_t upmu_placed_stamp(const struct upmu_set *set);
uint64_t upmu_placed_corunners(const struct upmu_meter *meter, const struct upmu_session *except);

/* Was a set placed on such a CPU beside the same sessions?  A new placement would be the same (or none). */
bool upmu_placed_was_tried(const struct upmu_meter *meter, const struct upmu_set *set, uint64_t company);

/* Note that no place was found for a set beside these co-runners, unless one of them moves (`moving`). */
void upmu_placed_refuse(const struct upmu_meter *meter, struct upmu_set *set, uint64_t corunners, bool moving);

/* Was that so, where what is not ours was the same? */
bool upmu_placed_was_refused(const struct upmu_meter *meter, const struct upmu_set *set, uint64_t corunners,
                          bool may_move);

/* The session got a new placement: its counters, and what it occupies beside. */
void upmu_placed_note(struct upmu_meter *meter, struct upmu_session *session);

#endif
