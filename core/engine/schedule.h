/* SPDX-License-Identifier: MIT */
/*
 * Which sessions run on a CPU now.  All inside a local bracket.
 */
#ifndef UPMU_CORE_SCHEDULE_H
#define UPMU_CORE_SCHEDULE_H

#include <upmu/session.h>

/* Could the session run on this CPU at all? */
enum upmu_status upmu_schedule_fits(struct upmu_meter *meter, struct upmu_session *session);

/* Could it run with those alone that do not share?  It has its place there then, unless another one has to move. */
bool upmu_schedule_fits_pinned(struct upmu_meter *meter, struct upmu_session *session);

/* The sum of placements that run, but for one session's; one placement in it. */
uint64_t upmu_schedule_company(const struct upmu_meter *meter, const struct upmu_session *except);
uint64_t upmu_schedule_stamp(const struct upmu_set *set);

/* What kind of CPU a placement is for: never 0. */
static inline uint8_t upmu_schedule_class(const struct upmu_meter *meter)
{
    return (uint8_t)(0x80u | (unsigned)(meter->pmu - meter->machine->pmu) << 1 | meter->thread);
}

/* Was a set placed on such a CPU beside the same sessions?  A new placement would be the same (or none). */
bool upmu_set_was_tried(const struct upmu_meter *meter, const struct upmu_set *set, uint64_t company);

/* Note that no place was found for a set beside these co-runners, unless one of them moves (`moving`). */
void upmu_set_refuse(const struct upmu_meter *meter, struct upmu_set *set, uint64_t corunners, bool moving);

/* Was that so, where what is not ours was the same? */
bool upmu_set_was_refused(const struct upmu_meter *meter, const struct upmu_set *set, uint64_t corunners,
                          bool may_move);

/* Has a set that is placed nothing that only a start can bring: a cascade, metrics, a wide event? */
bool upmu_set_is_plain(const struct upmu_set *set);

/* Place it where nothing that runs must move, and load its registers, gates closed. */
enum upmu_status upmu_schedule_preload(struct upmu_meter *meter, struct upmu_session *session);

/* Place if need be (what runs may move for it, or not), load if need be and open the gates. */
enum upmu_status upmu_schedule_start(struct upmu_meter *meter, struct upmu_session *session, bool may_move);

/* Close the gates and take the counts. */
enum upmu_status upmu_schedule_stop(struct upmu_meter *meter, struct upmu_session *session);

/* Give up its counters: registers idle, claims back. */
enum upmu_status upmu_schedule_release(struct upmu_meter *meter, struct upmu_session *session);

/* The registers of counters that do not run become idle, but for what other CPUs see; false: one faulted. */
bool upmu_schedule_idle(struct upmu_meter *meter, uint32_t counters);

/* Fold the counts of everything that runs. */
enum upmu_status upmu_schedule_fold(struct upmu_meter *meter);

/*
 * Replay overflows that handlers deferred, mask sessions that they found full.  Where overflows come faster, some wait
 * for the next local call.
 */
void upmu_schedule_replay(struct upmu_meter *meter);

/* Registers were lost: load and open again all that ran; with meter->keep_claims where it was. */
enum upmu_status upmu_schedule_reload(struct upmu_meter *meter);

/* Move what must move for a joint placement; its results are then where events run. */
struct upmu_joint;
enum upmu_status upmu_move_all(struct upmu_meter *meter, struct upmu_joint *joint);

/* Handlers' masks after a change of what runs. */
void upmu_schedule_publish(struct upmu_meter *meter);

#endif
