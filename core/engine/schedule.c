/* SPDX-License-Identifier: MIT */
/*
 * A place beside what runs: found together with that, loaded, started and given up.
 */
#include "core/engine/schedule.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/engine/claims.h"
#include "core/engine/joint.h"
#include "core/engine/machine.h"
#include "core/engine/meter.h"
#include "core/engine/move.h"
#include "core/engine/placed.h"
#include "core/engine/run.h"
#include "core/engine/session_core.h"
#include "core/engine/transition.h"
#include "core/engine/unit_core.h"

enum place_mode {
    PLACE_ALONE,  /* could it run on an idle PMU? */
    PLACE_PINNED, /* could it run if those that share made room?  It has its place then, if none moves */
    PLACE_STILL,  /* only where nothing that runs must move */
    PLACE_MOVE    /* wherever it fits */
};

/* The next session beside which one is placed. */
static struct upmu_session *next_beside(const struct upmu_meter *meter, const struct upmu_session *session,
                                        enum place_mode mode, uint32_t *rest)
{
    struct upmu_session *other = NULL;

    while (mode != PLACE_ALONE && (other = upmu_meter_next_running(meter, rest)) != NULL)
        if (other != session && upmu_session_occupies(other) && !(mode == PLACE_PINNED && other->shares))
            break;
    return other;
}

static void note_place(struct upmu_meter *meter, struct upmu_session *session, const struct upmu_place_result *result)
{
    for UPMU_TALLIES(tally, upmu_active(session))
        upmu_run_place(meter, tally, result++);
    upmu_placed_note(meter, session);
}

/* Counters that never stop belong to no session: an event says which it reads. */
static void note_free(struct upmu_meter *meter, struct upmu_session *session)
{
    const struct upmu_set *set = upmu_active(session);

    for UPMU_TALLIES(tally, upmu_active(session)) {
        UPMU_STORE(tally->counter, (uint8_t)upmu_bits_lowest(set->event[tally->index].counters));
        tally->slot[0] = tally->counter;
        tally->counters = 0;
    }
    upmu_placed_note(meter, session);
}

/* With all these as one problem. */
static enum upmu_status place_together(struct upmu_meter *meter, struct upmu_session *session, enum place_mode mode,
                                  uint64_t corunners, struct upmu_joint *joint)
{
    uint32_t rest = meter->running;
    enum upmu_status status;
    unsigned first;

    upmu_joint_begin(joint, meter->pmu);
    for (struct upmu_session *other; (other = next_beside(meter, session, mode, &rest)) != NULL;)
        if (!upmu_joint_add(joint, other, true))
            return UPMU_ERR_NO_SPACE;
    first = joint->count;
    if (!upmu_joint_add(joint, session, false))
        return UPMU_ERR_NO_SPACE;
    status = upmu_joint_place(meter, joint, mode == PLACE_ALONE, &session->why);
    if (UPMU_THREADS && status == UPMU_ERR_DOES_NOT_FIT && mode != PLACE_ALONE)
        upmu_placed_refuse(meter, upmu_active(session), corunners, false);
    if (status != UPMU_OK || mode == PLACE_ALONE)
        return status;
    for (unsigned i = 0; (mode != PLACE_MOVE || !UPMU_MOVES) && i < first; i++)
        if (upmu_joint_moves(joint, i)) {
            if (UPMU_THREADS)
                upmu_placed_refuse(meter, upmu_active(session), corunners, true);
            return mode == PLACE_PINNED ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT;
        }
    if (mode != PLACE_PINNED && !upmu_claims_take(meter, joint))
        return UPMU_ERR_LOST_CLAIM;
    if (UPMU_MOVES && mode == PLACE_MOVE)
        status = upmu_move_all(meter, joint);
    if (status == UPMU_OK)
        note_place(meter, session, &joint->result[first]);
    return status;
}

static enum upmu_status place(struct upmu_meter *meter, struct upmu_session *session, enum place_mode mode)
{
    struct upmu_joint joint;
    enum upmu_status status = UPMU_OK;
    uint32_t taken = 0;
    uint64_t corunners = 0;

    for (unsigned i = 0; i < upmu_active(session)->count; i++)
        if (upmu_machine_pmu_of(meter->machine, upmu_active(session)->event[i].pmu) != meter->pmu)
            return upmu_session_refuse(session, UPMU_ERR_WRONG_PMU);
    if (upmu_bank_type(&meter->bank))
        status = upmu_session_refuse(session, upmu_unit_check(meter, upmu_active(session)));
    if (status != UPMU_OK)
        return status;
    if (upmu_meter_is_free(meter)) {
        note_free(meter, session);
        return UPMU_OK;
    }
#if UPMU_THREADS
    uint32_t rest = meter->running;

    for (const struct upmu_session *other; (other = next_beside(meter, session, mode, &rest)) != NULL;) {
        corunners += upmu_placed_stamp(upmu_active(other));
        taken |= other->counters;
    }
#endif
    if (UPMU_THREADS && mode != PLACE_ALONE && upmu_joint_begin_apart(meter, &joint, session, taken) &&
        upmu_joint_place(meter, &joint, false, NULL) == UPMU_OK)
        note_place(meter, session, &joint.result[0]);
    else
        status = place_together(meter, session, mode, corunners, &joint);
    if (UPMU_THREADS && status == UPMU_OK && mode == PLACE_PINNED)
        upmu_active(session)->placed_beside = corunners;
    return status;
}

enum upmu_status upmu_schedule_fits(struct upmu_meter *meter, struct upmu_session *session)
{
    return place(meter, session, PLACE_ALONE);
}

bool upmu_schedule_fits_pinned(struct upmu_meter *meter, struct upmu_session *session)
{
    return place(meter, session, PLACE_PINNED) == UPMU_OK;
}

/* Is the placement that the session has still free? */
static UPMU_INSIDE bool still_placed(const struct upmu_meter *meter, const struct upmu_session *session)
{
    if (!session->counters || (session->counters & (meter->running | upmu_meter_blocked(meter))))
        return false;
    if (upmu_claims_share_set(meter, upmu_active(session)))
        return false;
    if (!meter->running)
        return true;
    for (unsigned i = 0; i < upmu_active(session)->count; i++)
        if (upmu_active(session)->event[i].payload)
            return false;
    return true;
}

/* Placed beside what runs, and what is shared is claimed; once more if another CPU was faster. */
static enum upmu_status reserve(struct upmu_meter *meter, struct upmu_session *session, enum place_mode mode)
{
    enum upmu_status status;

    if (still_placed(meter, session))
        return UPMU_OK;
    status = place(meter, session, mode);
    return status == UPMU_ERR_LOST_CLAIM ? place(meter, session, mode) : status;
}

enum upmu_status upmu_schedule_preload(struct upmu_meter *meter, struct upmu_session *session)
{
    enum upmu_status status = place(meter, session, PLACE_STILL);

    if (status == UPMU_OK)
        status = upmu_run_load(meter, session, 0);
    upmu_claims_trim(meter, false);
    return status == UPMU_ERR_PORT ? upmu_run_fail(meter, session) : status;
}

enum upmu_status upmu_schedule_start(struct upmu_meter *meter, struct upmu_session *session, bool may_move)
{
    uint8_t keep_claims = meter->keep_claims;
    enum upmu_status status;

    meter->keep_claims = 1;
    status = reserve(meter, session, may_move ? PLACE_MOVE : PLACE_STILL);
    if (status == UPMU_ERR_PORT)
        (void)upmu_session_fault(meter, session);
    else if (status == UPMU_OK)
        status = UPMU_THREADS && upmu_transition_start(meter, session) ? session->error
                                                                       : upmu_transition_bring(meter, session);
    meter->keep_claims = keep_claims;
    upmu_claims_trim(meter, false);
    return status;
}

bool upmu_schedule_idle(struct upmu_meter *meter, uint32_t counters)
{
    struct upmu_step step[UPMU_IMAGE_STEPS];
    struct upmu_image image = upmu_image_on(meter->pmu, step, UPMU_IMAGE_STEPS);
    uint32_t changed;

    if (upmu_meter_domain(meter))
        counters &= ~meter->pmu->shared_counters;
    image.released = true;
    meter->pmu->backend->release(meter->pmu, counters, &image);
    upmu_run_tag(meter, counters, 0);
    return upmu_bank_load(&meter->bank, step, image.count, 0, &changed);
}

enum upmu_status upmu_schedule_release(struct upmu_meter *meter, struct upmu_session *session)
{
    uint32_t mine = 0;

    for UPMU_TALLIES(tally, upmu_active(session))
        if (session->counters)
            mine |= upmu_meter_tagged(meter, tally);
    session->counters = 0;
    return upmu_schedule_idle(meter, mine & ~meter->running) ? UPMU_OK : UPMU_ERR_PORT;
}
