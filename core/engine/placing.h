/* SPDX-License-Identifier: MIT */
/*
 * A session's place beside what runs: searched, made ready for a plan, and given up.  All inside a bracket.
 */
#ifndef UPMU_CORE_PLACING_H
#define UPMU_CORE_PLACING_H

#include "core/engine/plan.h"

/* Could the session run on this CPU at all? */
enum upmu_status upmu_placing_fits(struct upmu_meter *meter, struct upmu_session *session);

/*
 * Search a place beside those that run and do not share.  UPMU_OK: the session has it, unless another one would have to
 * move.
 */
enum upmu_status upmu_placing_pinned(struct upmu_meter *meter, struct upmu_session *session);

/*
 * Search a place beside all that runs; `may_move`: events that run may get another one, and have it afterwards.
 * UPMU_OK: the meter's plan, begun anew, has the session.
 */
enum upmu_status upmu_placing_plan(struct upmu_meter *meter, struct upmu_session *session, bool may_move);

/* Give its events these places, and compile them; false: that is not possible. */
bool upmu_placing_note(struct upmu_meter *meter, struct upmu_session *session, const struct upmu_place_result *result);

/* Place it where nothing that runs must move, and load its registers, its counters stopped. */
enum upmu_status upmu_placing_preload(struct upmu_meter *meter, struct upmu_session *session);

/* Give up its counters: registers idle. */
enum upmu_status upmu_placing_release(struct upmu_meter *meter, struct upmu_session *session);

/* The registers of counters that do not run become idle, but for what other CPUs see; false: one faulted. */
bool upmu_placing_idle(struct upmu_meter *meter, uint32_t counters);

#endif
