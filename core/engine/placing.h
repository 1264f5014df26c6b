/* SPDX-License-Identifier: MIT */
/*
 * A place for a session's events beside what runs: search it, plan it, give it up.  All functions: inside a bracket.
 */
#ifndef UPMU_CORE_PLACING_H
#define UPMU_CORE_PLACING_H

#include "core/engine/plan.h"

/* Could the session run on this PMU if no other session ran? */
enum upmu_status upmu_placing_fits(struct upmu_meter *meter, struct upmu_session *session);

/*
 * Search a place for a session beside the running sessions that do not share.  UPMU_OK: there is one.  The session has
 * it, unless a running session would have to move.
 */
enum upmu_status upmu_placing_pinned(struct upmu_meter *meter, struct upmu_session *session);

/*
 * Search a place for a session beside all running sessions.  `may_move`: running events may be moved for it, at once.
 * UPMU_OK: the meter's plan, begun anew, has the session.
 */
enum upmu_status upmu_placing_plan(struct upmu_meter *meter, struct upmu_session *session, bool may_move);

/*
 * Note a place beside no other session for one that waits: it comes without a search where these counters are free.
 * `spared`: counters that the place leaves to others, if it can.
 */
void upmu_placing_later(struct upmu_meter *meter, struct upmu_session *session, uint32_t spared);

/* Store places in the tallies of a session's active set, and compile it.  Returns false where it cannot be compiled. */
bool upmu_placing_note(struct upmu_meter *meter, struct upmu_session *session, const struct upmu_place_result *result);

/* Place a session where no running event has to move, and load its registers; its counters stay stopped. */
enum upmu_status upmu_placing_preload(struct upmu_meter *meter, struct upmu_session *session);

/* Give up the counters of a session that does not run: their registers become idle. */
enum upmu_status upmu_placing_release(struct upmu_meter *meter, struct upmu_session *session);

/*
 * Make the registers of counters that do not run idle, except registers that other CPUs see.  Returns false where a
 * register faulted.
 */
bool upmu_placing_idle(struct upmu_meter *meter, uint32_t counters);

#endif
