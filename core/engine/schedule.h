/* SPDX-License-Identifier: MIT */
/*
 * A session's place beside what runs.  All inside a local bracket.
 */
#ifndef UPMU_CORE_SCHEDULE_H
#define UPMU_CORE_SCHEDULE_H

#include <upmu/session.h>

/* Could the session run on this CPU at all? */
enum upmu_status upmu_schedule_fits(struct upmu_meter *meter, struct upmu_session *session);

/* Could it run with those alone that do not share?  It has its place there then, unless another one has to move. */
bool upmu_schedule_fits_pinned(struct upmu_meter *meter, struct upmu_session *session);

/* Place it where nothing that runs must move, and load its registers, gates closed. */
enum upmu_status upmu_schedule_preload(struct upmu_meter *meter, struct upmu_session *session);

/* Place if need be (what runs may move for it, or not), load if need be and open the gates. */
enum upmu_status upmu_schedule_start(struct upmu_meter *meter, struct upmu_session *session, bool may_move);

/* Give up its counters: registers idle, claims back. */
enum upmu_status upmu_schedule_release(struct upmu_meter *meter, struct upmu_session *session);

/* The registers of counters that do not run become idle, but for what other CPUs see; false: one faulted. */
bool upmu_schedule_idle(struct upmu_meter *meter, uint32_t counters);

#endif
