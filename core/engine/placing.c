/* SPDX-License-Identifier: MIT */
/* Search a place for a session beside the running ones, move running events for it, and give the place up. */
#include "core/engine/placing.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/event/why.h"
#include "core/engine/claims.h"
#include "core/engine/count.h"
#include "core/engine/features.h"
#include "core/engine/joint.h"
#include "core/engine/machine.h"
#include "core/engine/meter.h"
#include "core/engine/placed.h"
#include "core/engine/reconcile.h"
#include "core/engine/special.h"
#include "core/engine/unit_core.h"

enum place_mode {
    PLACE_ALONE,  /* could the session run on an idle PMU?  Only a place on counters that never stop is stored */
    /*
     * could the session run if all sharing sessions left?  The place is stored, unless running events would have to
     * move
     */
    PLACE_PINNED,
    PLACE_STILL,  /* only a place for which no running event moves */
    PLACE_MOVE    /* any place: running events may move for it */
};

/*
 * Return the next running session beside which `session` is to be placed in this mode: none in PLACE_ALONE, none that
 * shares in PLACE_PINNED.  NULL: none is left.  *rest has the counters of the sessions that are not looked at yet; it
 * is meter->running at first.
 */
static struct upmu_session *next_beside(const struct upmu_meter *meter, const struct upmu_session *session,
                                        enum place_mode mode, uint32_t *rest)
{
    struct upmu_session *other = NULL;

    while (mode != PLACE_ALONE && (other = upmu_meter_next_running(meter, rest)) != NULL)
        if (other != session && upmu_session_occupies(other) &&
            !(mode == PLACE_PINNED && upmu_session_shares(other)))
            break;
    return other;
}

/* Store a new place in the tally of an event that does not run. */
static void note_event(struct upmu_meter *meter, struct upmu_tally *tally, const struct upmu_place_result *result)
{
    /*
     * The event leaves its counters, which lose its tag: if it is placed there again, their value lacks what it has
     * counted elsewhere meanwhile.
     */
    if (tally->counter != result->counter[0] && tally->counter < UPMU_COUNTERS)
        upmu_meter_untag(meter, tally);
    upmu_joint_note(tally, result);
}

bool upmu_placing_note(struct upmu_meter *meter, struct upmu_session *session, const struct upmu_place_result *result)
{
    for UPMU_TALLIES(tally, upmu_active(session))
        note_event(meter, tally, result++);
    upmu_placed_note(meter, session);
    return upmu_program_ready(meter, upmu_active(session));
}

/*
 * Store a place that was found, and compile it.  In mode PLACE_PINNED the place is valid beside `corunners`, the
 * sessions that do not share; else beside all that run now.
 */
static enum upmu_status note_place(struct upmu_meter *meter, struct upmu_session *session, enum place_mode mode,
                                   uint64_t corunners, const struct upmu_place_result *result)
{
    if (!upmu_placing_note(meter, session, result))
        return UPMU_ERR_UNSUPPORTED;
    if (mode == PLACE_PINNED)
        upmu_placed_beside(upmu_active(session), corunners);
    return UPMU_OK;
}

/*
 * Place a session of a unit whose counters never stop.  Several sessions may read such a counter, and none has it: a
 * tally only notes which counter it reads.
 */
static bool note_free(struct upmu_meter *meter, struct upmu_session *session)
{
    const struct upmu_set *set = upmu_active(session);

    for UPMU_TALLIES(tally, upmu_active(session))
        upmu_joint_note_free(tally, upmu_bits_lowest(set->event[tally->index].counters));
    upmu_placed_note(meter, session);
    return upmu_program_ready(meter, upmu_active(session));
}

/* ---- Moves ---- */

#if UPMU_MOVES

/*
 * Can the event move without a gap?  Yes if one register has all gates, no erratum needs a sequence, the event has no
 * payload register and one counter before and after, and its new counter does not run.  A lent counter does not move
 * so: its value is known only when it stands still.  Nor does one that stores records: they are taken at its close.
 */
static bool moves_alone(const struct upmu_meter *meter, const struct upmu_joint *joint, unsigned i)
{
    const struct upmu_event *event = upmu_joint_event(joint, i);
    const struct upmu_tally *tally = upmu_joint_tally(joint, i);

    return (meter->pmu->capabilities & (UPMU_PMU_GLOBAL_CTRL | UPMU_PMU_PRELUDE)) == UPMU_PMU_GLOBAL_CTRL &&
           !event->payload && !upmu_tally_is_lent(tally) && !upmu_tally_is_precise(tally) &&
           (UPMU_SLOTS == 1 || (tally->slot[UPMU_SECOND_SLOT] == UPMU_NO_COUNTER &&
                                joint->result[i].counter[UPMU_SECOND_SLOT] == UPMU_NO_COUNTER)) &&
           !(meter->running >> joint->result[i].counter[0] & 1u);
}

/*
 * End the moves of a plan.  No tally has a former counter (`from`) any more; if a former counter still has the event's
 * tag, the tag is removed.  The new placements are valid beside the sessions that run now.
 */
static void end_moves(struct upmu_meter *meter)
{
    const struct upmu_plan *plan = &meter->plan;

    for (unsigned part = 0; part < plan->outs; part++)
        for UPMU_TALLIES(tally, upmu_active(plan->out[part])) {
            if (tally->from != UPMU_NO_COUNTER && tally->from != tally->counter &&
                meter->slot[tally->from].tag == tally->tag)
                upmu_meter_forget_value(meter, tally->from);
            tally->from = UPMU_NO_COUNTER;
        }
    for (unsigned part = 0; part < plan->ins; part++)
        if (plan->in[part])
            upmu_placed_beside(plan->set[part], meter->corunners - plan->set[part]->program.placement);
}

/*
 * Move the running events whose place differs in the solution: their sessions are on both sides of one plan, which is
 * carried out here.  Their former counters are free afterwards.  If there are at most UPMU_PARTS moves, each of which
 * is possible without a gap (moves_alone()), all are made so.  `count`: the first requests of `joint`, which run.
 * Returns false where the plan has no room: nothing has moved.
 */
static bool move_all(struct upmu_meter *meter, const struct upmu_joint *joint, unsigned count)
{
    struct upmu_plan *plan = &meter->plan;
    unsigned moves = 0;
    bool alone = true;

    for (unsigned i = 0; i < count; i++) {
        if (!upmu_joint_moves(joint, i))
            continue;
        alone = alone && ++moves <= UPMU_PARTS && moves_alone(meter, joint, i);
        if (!(plan->leave & joint->session[i]->counters) && !upmu_plan_out(meter, joint->session[i]))
            return false;
    }
    for (unsigned i = 0; i < count; i++) {
        struct upmu_tally *tally = upmu_joint_tally(joint, i);

        if (!upmu_joint_moves(joint, i))
            continue;
        tally->from = tally->counter;
        if (alone)
            plan->moved |= UPMU_BIT32(tally->from);
        upmu_plan_hook(plan);
    }
    /* Make the sequences odd until the events have new counters: a read on another CPU is made again till then. */
    for (unsigned part = 0; part < plan->outs; part++)
        upmu_session_begin_change(plan->out[part]);
    for (unsigned i = 0; i < count; i++)
        if (upmu_joint_tally(joint, i)->from != UPMU_NO_COUNTER)
            upmu_joint_note(upmu_joint_tally(joint, i), &joint->result[i]);
    if (!plan->outs)
        return true;
    for (unsigned part = 0; part < plan->outs; part++) {
        upmu_placed_note(meter, plan->out[part]);
        if (!upmu_program_ready(meter, upmu_active(plan->out[part])) ||
            !upmu_plan_in(meter, plan->out[part], upmu_active(plan->out[part])))
            upmu_meter_fails(meter, plan->leave); /* no program, or no room in the plan: the repair stops them */
        upmu_session_end_change(plan->out[part]);
    }
    upmu_reconcile(meter);
    end_moves(meter);
    return true;
}

#else

static bool move_all(struct upmu_meter *meter, const struct upmu_joint *joint, unsigned count)
{
    (void)meter;
    (void)joint;
    (void)count;
    return true;
}

#endif

/*
 * Place a session and all sessions beside it (next_beside()) as one problem.  Running events are moved at once where
 * the mode allows it.  Returns UPMU_OK, or why there is no place.
 */
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
    if (status == UPMU_ERR_DOES_NOT_FIT && mode != PLACE_ALONE)
        upmu_placed_refuse(meter, upmu_active(session), corunners, false);
    if (status != UPMU_OK || mode == PLACE_ALONE)
        return status;
    for (unsigned i = 0; (mode != PLACE_MOVE || !UPMU_MOVES) && i < first; i++)
        if (upmu_joint_moves(joint, i)) {
            upmu_placed_refuse(meter, upmu_active(session), corunners, true);
            return mode == PLACE_PINNED ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT;
        }
    if (mode != PLACE_PINNED && !upmu_claims_take(meter, joint))
        return UPMU_ERR_LOST_CLAIM;
    if (mode == PLACE_MOVE && !move_all(meter, joint, first))
        return UPMU_ERR_TOO_HARD;
    return note_place(meter, session, mode, corunners, &joint->result[first]);
}

/* Are all events of a set encoded for the PMU of this meter? */
static bool is_of_pmu(const struct upmu_meter *meter, const struct upmu_set *set)
{
    for (unsigned i = 0; i < set->count; i++)
        if (upmu_machine_pmu_of(meter->machine, set->event[i].pmu) != meter->pmu)
            return false;
    return true;
}

/* Does a set need memory for precise records, which this CPU was not given? */
static bool lacks_memory(const struct upmu_meter *meter, const struct upmu_set *set)
{
#if UPMU_PRECISE
    for (unsigned i = 0; !upmu_records_ready(meter) && i < set->count; i++)
        if (upmu_tally_is_precise(&set->tally[i]))
            return true;
#else
    (void)meter;
    (void)set;
#endif
    return false;
}

bool upmu_placing_misses_hook(const struct upmu_meter *meter, const struct upmu_session *session)
{
    return (upmu_branch_samples_wanted(upmu_active(session)) && !upmu_branch_samples_ready(meter)) ||
           lacks_memory(meter, upmu_active(session));
}

/*
 * May a session whose set needs the branch stack have it here, and do the sets beside it want no branches, or the
 * same?  False: the
 * refusal is *out_status and session->why.
 */
static bool has_branches(struct upmu_meter *meter, struct upmu_session *session, enum place_mode mode,
                         enum upmu_status *out_status)
{
#if UPMU_BRANCH_SAMPLES
    static const char reason[] = "other sessions record other branches";
    uint32_t rest = meter->running;
    uint64_t corunners = 0;
    bool agree = true;

    *out_status = upmu_branch_samples_check(meter, session);
    if (*out_status != UPMU_OK)
        return false;
    for (const struct upmu_session *other; (other = next_beside(meter, session, mode, &rest)) != NULL;) {
        corunners += upmu_placed_stamp(upmu_active(other));
        agree = agree && upmu_branch_samples_agree(upmu_active(session), upmu_active(other));
    }
    if (agree)
        return true;
    upmu_placed_refuse(meter, upmu_active(session), corunners, false);
    *out_status = upmu_why_refuse(&session->why, UPMU_ERR_DOES_NOT_FIT, meter->pmu, reason, 0, sizeof reason - 1);
    UPMU_STORE(session->why.length, 0);
    return false;
#else
    (void)meter, (void)session, (void)mode, (void)out_status;
    return true;
#endif
}

static enum upmu_status place_session(struct upmu_meter *meter, struct upmu_session *session, enum place_mode mode)
{
    struct upmu_joint joint;
    enum upmu_status status = UPMU_OK;
    uint32_t taken = 0, rest = meter->running;
    uint64_t corunners = 0;

    if (!is_of_pmu(meter, upmu_active(session)))
        return upmu_session_refuse(session, UPMU_ERR_WRONG_PMU);
    if (UPMU_PRECISE && lacks_memory(meter, upmu_active(session)))
        return upmu_why_hook(&session->why, "upmu_cpu_use_records");
    if (upmu_branch_samples_wanted(upmu_active(session)) && !has_branches(meter, session, mode, &status))
        return status;
    if (upmu_bank_type(&meter->bank))
        status = upmu_session_refuse(session, upmu_unit_check(meter, upmu_active(session)));
    if (status != UPMU_OK)
        return status;
    if (upmu_meter_is_free(meter))
        return !session->alone && note_free(meter, session)
                   ? UPMU_OK
                   : upmu_session_refuse(session, UPMU_ERR_UNSUPPORTED);
    for (const struct upmu_session *other; (other = next_beside(meter, session, mode, &rest)) != NULL;) {
        corunners += upmu_placed_stamp(upmu_active(other));
        taken |= other->counters;
    }
    if (!upmu_placed_may_join(session, taken, corunners))
        return upmu_session_refuse(session, UPMU_ERR_DOES_NOT_FIT);
    if (mode != PLACE_ALONE && upmu_joint_begin_apart(meter, &joint, session, taken) &&
        upmu_joint_place(meter, &joint, false, NULL) == UPMU_OK)
        return note_place(meter, session, mode, corunners, &joint.result[0]);
    return place_together(meter, session, mode, corunners, &joint);
}

enum upmu_status upmu_placing_fits(struct upmu_meter *meter, struct upmu_session *session)
{
    return place_session(meter, session, PLACE_ALONE);
}

#if UPMU_SHARING

enum upmu_status upmu_placing_pinned(struct upmu_meter *meter, struct upmu_session *session)
{
    return place_session(meter, session, PLACE_PINNED);
}

#endif

enum upmu_status upmu_placing_plan(struct upmu_meter *meter, struct upmu_session *session, bool may_move)
{
    enum place_mode mode = may_move ? PLACE_MOVE : PLACE_STILL;
    enum upmu_status status;

    upmu_plan_begin(meter, UPMU_SESSION_WAITING);
    status = place_session(meter, session, mode);
    if (status == UPMU_ERR_LOST_CLAIM) { /* another CPU was first with a claim: search once more, beside that CPU */
        upmu_plan_begin(meter, UPMU_SESSION_WAITING);
        status = place_session(meter, session, mode);
    }
    if (status != UPMU_OK)
        return status;
    upmu_plan_begin(meter, UPMU_SESSION_WAITING);
    return upmu_plan_in(meter, session, upmu_active(session)) ? UPMU_OK : UPMU_ERR_LOST_CLAIM;
}

#if UPMU_SHARING

void upmu_placing_later(struct upmu_meter *meter, struct upmu_session *session, uint32_t spared)
{
    struct upmu_joint joint;
    bool fits;

    if (!is_of_pmu(meter, upmu_active(session)) || (UPMU_PRECISE && lacks_memory(meter, upmu_active(session))))
        return;
    fits = spared && upmu_joint_begin_apart(meter, &joint, session, spared) &&
           upmu_joint_place(meter, &joint, false, NULL) == UPMU_OK;
    if (!fits) {
        upmu_joint_begin(&joint, meter->pmu);
        fits = upmu_joint_add(&joint, session, false) && upmu_joint_place(meter, &joint, false, NULL) == UPMU_OK;
    }
    if (fits && upmu_placing_note(meter, session, joint.result))
        upmu_placed_beside(upmu_active(session), 0);
}

#endif

enum upmu_status upmu_placing_preload(struct upmu_meter *meter, struct upmu_session *session)
{
    const struct upmu_program *program = &upmu_active(session)->program;
    enum upmu_status status;

    upmu_plan_begin(meter, UPMU_SESSION_STOPPED);
    status = place_session(meter, session, PLACE_STILL);
    if (status != UPMU_OK)
        return status;
    /* While a counter that a static session left runs on, load nothing: the start takes it over or closes it. */
    if (meter->unowned)
        return UPMU_OK;
    /*
     * The sequence overwrites all general counters.  None runs here: on such a PMU the caller loads nothing while one
     * does.
     */
    if (UPMU_PRELUDES && (program->flags & UPMU_PROGRAM_PRELUDE) &&
        upmu_bank_changes(&meter->bank, program->step, program->steps) && !upmu_special_sequence(meter))
        return upmu_session_fault(meter, session);
    if (!upmu_bank_load(&meter->bank, program->step, program->steps, 0, 0))
        return upmu_session_fault(meter, session);
    for UPMU_TALLIES(tally, upmu_active(session))
        if (!upmu_tally_is_metric(tally) && !upmu_meter_is_free(meter) &&
            !upmu_count_begin_at(meter, tally, upmu_meter_now(meter)))
            return upmu_session_fault(meter, session);
    return UPMU_OK;
}

bool upmu_placing_idle(struct upmu_meter *meter, uint32_t counters)
{
    struct upmu_step step[UPMU_IMAGE_STEPS];
    struct upmu_image image = upmu_image_on(meter->pmu, step, UPMU_IMAGE_STEPS);

    if (upmu_meter_domain(meter))
        counters &= ~meter->pmu->shared_counters;
    image.released = true;
    meter->pmu->backend->release(meter->pmu, counters, &image);
    upmu_special_empty(meter, counters);
    /* After a fault try once more: no session has these counters any more, and no later code would close them. */
    return upmu_bank_load(&meter->bank, step, image.count, 0, 0) ||
           upmu_bank_load(&meter->bank, step, image.count, 0, 0);
}

enum upmu_status upmu_placing_release(struct upmu_meter *meter, struct upmu_session *session)
{
    uint32_t mine = 0;

    for UPMU_TALLIES(tally, upmu_active(session))
        if (session->counters)
            mine |= upmu_meter_tagged(meter, tally);
    upmu_session_lose_place(session);
    return upmu_placing_idle(meter, mine & ~meter->running) ? UPMU_OK : UPMU_ERR_PORT;
}
