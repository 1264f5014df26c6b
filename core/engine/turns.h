/* SPDX-License-Identifier: MIT */
/*
 * Which sessions run where not all can (docs/DESIGN.md, "Threads, multiplexing and sets"), and
 * changes of what runs.  All inside a local bracket.
 */
#ifndef UPMU_CORE_TURNS_H
#define UPMU_CORE_TURNS_H

#include "core/engine/session_core.h"

/* The host's clock tick. */
void upmu_turns_tick(struct upmu_meter *meter);

#if UPMU_THREADS

/*
 * Start a session; those that share make room for one that does not, and one that may wait does.  Those that gave
 * way are admitted by the caller.
 */
enum upmu_status upmu_turns_start(struct upmu_meter *meter, struct upmu_session *session);

/* Does any session wait? */
static inline bool upmu_turns_wanted(const struct upmu_meter *meter)
{
    return meter->waiting[0] || meter->waiting[1];
}

/* Start waiting sessions that fit without moving others. */
void upmu_turns_admit(struct upmu_meter *meter);

/*
 * A session of the running thread, whose list is held, joins that of the CPU, to come with
 * the next change; false: a call works on it.
 */
bool upmu_thread_join(struct upmu_meter *meter, struct upmu_session *session);

#else

#include "core/engine/schedule.h"

static inline bool upmu_turns_wanted(const struct upmu_meter *meter)
{
    (void)meter;
    return false;
}

static inline enum upmu_status upmu_turns_start(struct upmu_meter *meter, struct upmu_session *session)
{
    return upmu_schedule_start(meter, session, true);
}

static inline void upmu_turns_admit(struct upmu_meter *meter)
{
    (void)meter;
}

#endif

#endif
