/* SPDX-License-Identifier: MIT */
/*
 * Counters of sessions whose world is not the present one are absent (docs/DESIGN.md, "Worlds").
 */
#ifndef UPMU_CORE_ABSENT_H
#define UPMU_CORE_ABSENT_H

#include "core/engine/session_core.h"

/* Has a session of one world been on this PMU?  (Without one the mask of absent counters is 0.) */
static inline bool upmu_absent_any(const struct upmu_meter *meter)
{
#if UPMU_WORLDS
    return meter->worlds;
#else
    (void)meter;
    return false;
#endif
}

#if UPMU_WORLDS

/* These counters are that session's (NULL: no session's) from now on, and absent if its world is. */
void upmu_absent_give(struct upmu_meter *meter, const struct upmu_session *session, uint32_t counters);

/* The same for all that runs. */
void upmu_absent_find(struct upmu_meter *meter);

#else

static inline void upmu_absent_give(struct upmu_meter *meter, const struct upmu_session *session, uint32_t counters)
{
    (void)meter;
    (void)session;
    (void)counters;
}

static inline void upmu_absent_find(struct upmu_meter *meter)
{
    (void)meter;
}

#endif

#endif
