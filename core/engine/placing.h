/* SPDX-License-Identifier: MIT */
/*
 * A place for a session's events beside the running sessions: search it, plan it, give it up.  All functions: inside a
 * bracket.
 */
#ifndef UPMU_CORE_PLACING_H
#define UPMU_CORE_PLACING_H

#include "core/engine/plan.h"
#include "core/engine/program.h"

/* Could the active set of the session run on this PMU if no other session ran?  Returns UPMU_OK, or why not. */
enum upmu_status upmu_placing_fits(struct upmu_meter *meter, struct upmu_session *session);

/*
 * Search a place for a session beside the running sessions that do not share.  UPMU_OK: there is a place.  The place is
 * stored in the session's set, unless a running session would have to move for it.
 */
enum upmu_status upmu_placing_pinned(struct upmu_meter *meter, struct upmu_session *session);

/*
 * Search a place for a session beside all running sessions.  `may_move`: running events may be moved for it; they are
 * moved at once, even if the session gets no place then.  UPMU_OK: the meter's plan, begun anew, has the session as its
 * only one.  Else returns why there is no place.
 */
enum upmu_status upmu_placing_plan(struct upmu_meter *meter, struct upmu_session *session, bool may_move);

/*
 * Note a place beside no other session for a session that waits: the session comes without a search when the counters
 * of that place are free.  `spared`: counters that the place leaves to other sessions, if possible.
 */
void upmu_placing_later(struct upmu_meter *meter, struct upmu_session *session, uint32_t spared);

/*
 * Has this CPU no memory for the precise events of a session's active set, or no branch stack for its samples?  Then
 * the session cannot run here, and each search for a place is refused with UPMU_ERR_HOOK_MISSING.
 */
bool upmu_placing_misses_hook(const struct upmu_meter *meter, const struct upmu_session *session);

/* As upmu_placing_misses_hook(): the flags of a compiled program answer for sessions that need neither. */
static inline bool upmu_placing_lacks_hook(const struct upmu_meter *meter, const struct upmu_session *session)
{
    const struct upmu_program *program = &upmu_active(session)->program;

    return (!program->placement || (program->flags & (UPMU_PROGRAM_PRECISE | UPMU_PROGRAM_BRANCHES))) &&
           upmu_placing_misses_hook(meter, session);
}

/*
 * Store places in the tallies of a session's active set, and compile them.  Returns false where they cannot be
 * compiled.
 */
bool upmu_placing_note(struct upmu_meter *meter, struct upmu_session *session, const struct upmu_place_result *result);

/*
 * Attach: search a place for a session for which no running event has to move, note it, and load the registers and
 * start values.  The counters stay closed.  Nothing is loaded while counters run that a static session left.  Returns
 * UPMU_OK, or why there is no place, or UPMU_ERR_PORT where a register faulted.
 */
enum upmu_status upmu_placing_preload(struct upmu_meter *meter, struct upmu_session *session);

/*
 * Give up the counters of a session that does not run: session->counters becomes 0, and registers are made idle.
 * Counters that another event has used since, or that run, are left alone.  Returns UPMU_OK, or UPMU_ERR_PORT where a
 * register faulted.
 */
enum upmu_status upmu_placing_release(struct upmu_meter *meter, struct upmu_session *session);

/*
 * Make the registers of counters on which no session runs idle, and remove the tags of these counters; they are unowned
 * no more.  Counters that other CPUs of a domain share are left as they are.  Returns false where a register faulted
 * twice.
 */
bool upmu_placing_idle(struct upmu_meter *meter, uint32_t counters);

#endif
