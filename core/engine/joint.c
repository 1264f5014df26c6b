/* SPDX-License-Identifier: MIT */
/*
 * Build and solve a joint problem: the events of running sessions and of a session that is to run are placed together.
 */
#include "core/engine/joint.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/hw/domain.h"
#include "core/engine/meter.h"
#include <upmu/group.h>

const struct upmu_event *upmu_joint_event(const struct upmu_joint *joint, unsigned i)
{
    return &upmu_active(joint->session[i])->event[joint->index[i]];
}

static bool joint_alternative(const void *context, unsigned request, unsigned i, struct upmu_alternative *out)
{
    const struct upmu_joint *joint = context;

    const struct upmu_event *event = upmu_joint_event(joint, request);

    if (!joint->pmu->backend->alternative(joint->pmu, event, joint->thread, i, out))
        return false;
    if (UPMU_DOMAINS)
        out->slot[0].counters &= ~(upmu_event_is_exclusive(event) ? joint->beside : joint->spoiled);
    return true;
}

/*
 * On a paired PMU: note which counters the other hyper-thread uses (`beside`), and which of them for an exclusive event
 * (`spoiled`).  If any exclusive event is on the core or in the problem, requests may have at most half of the general
 * counters (input->limited, limit): each hyper-thread uses half of them (Linux intel_ht_bug).
 */
static void look_at_pairs(struct upmu_joint *joint, struct upmu_place_input *input)
{
    bool exclusive;

    for (unsigned k = 0; k < input->held_count; k++) {
        uint32_t counter = (uint32_t)(UPMU_BIT64(input->held[k].resource) >> UPMU_PAIR_RESOURCE(0));

        joint->beside |= counter;
        if (input->held[k].value)
            joint->spoiled |= counter;
    }
    exclusive = joint->spoiled != 0;
    for (unsigned k = 0; k < joint->count; k++)
        exclusive |= upmu_event_is_exclusive(upmu_joint_event(joint, k));
    if (!exclusive)
        return;
    input->limited = joint->pmu->general;
    input->limit = (uint8_t)(upmu_bits_count(joint->pmu->general) >> 1);
}

bool upmu_joint_add(struct upmu_joint *joint, struct upmu_session *session, bool stays)
{
    for UPMU_TALLIES(tally, upmu_active(session)) {
        unsigned k = joint->count;

        if (k == UPMU_REQUESTS)
            return false;
        joint->session[k] = session;
        joint->index[k] = tally->index;
        joint->set[k] = joint->sets;
        joint->count++;
        memset(joint->stay[k], UPMU_NO_COUNTER, sizeof joint->stay[k]);
        joint->stay_alternative[k] = 0xff;
        if (!stays)
            continue;
        memcpy(joint->stay[k], tally->slot, sizeof tally->slot);
        memcpy(joint->result[k].counter, tally->slot, sizeof tally->slot);
        joint->stay_alternative[k] = tally->alternative;
        joint->result[k].alternative = tally->alternative;
    }
    joint->sets++;
    return true;
}

/*
 * Give why->culprit the ids of the events that the solver names by the bits of why->culprits.  A refused call on
 * another CPU may clear `why` meanwhile.
 */
static void name_culprits(const struct upmu_joint *joint, struct upmu_why *why)
{
    unsigned count = 0;

    UPMU_STORE(why->pmu, joint->pmu);
    for (uint32_t rest = UPMU_LOAD(why->culprits); rest && count < UPMU_WHY_CULPRITS; rest &= rest - 1u, count++)
        upmu_shared_copy(&why->culprit[count], &upmu_joint_event(joint, upmu_bits_lowest(rest))->id,
                         sizeof why->culprit[0]);
    UPMU_STORE(why->culprit_count, (uint8_t)count);
}

#define UNIT_FILTERS 8u /* resources of a unit with lower numbers are filters that its events need */

/*
 * Hold for each counter of other software the ESCR that it may need: its select value at take-over says which ESCR that
 * is.  Held resources keep their values in the solution.
 */
static void hold_for_others(const struct upmu_meter *meter, struct upmu_held *held, struct upmu_place_input *input)
{
    const struct upmu_pmu *pmu = meter->pmu;

    for (uint32_t rest = UPMU_BACKEND_X86_P4 && pmu->backend->seen_by ? input->taken : 0; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);
        unsigned resource = pmu->backend->seen_by(pmu, counter, meter->bank.found[pmu->counter[counter].select_row]);

        if (resource != UPMU_NO_RESOURCE && input->held_count < UPMU_JOINT_HELD)
            held[input->held_count++] = (struct upmu_held){ .resource = (uint8_t)resource };
    }
#if UPMU_UNCORE
    /*
     * If the firmware uses counters of a unit, its filters keep their values.  An event that wants the same value may
     * share a filter, but not where there are several boxes: each may have another value.
     */
    for (unsigned i = 0; meter->firmware && upmu_meter_is_unit(meter) && i < UNIT_FILTERS; i++) {
        struct upmu_held *filter = &held[input->held_count];

        *filter = (struct upmu_held){ .resource = (uint8_t)i, .shareable = meter->bank.boxes == 1 };
        input->held_count += pmu->backend->filter(pmu, i, meter->bank.found, &filter->value);
    }
#endif
}

enum upmu_status upmu_joint_solve(const struct upmu_meter *meter, struct upmu_joint *joint, bool alone,
                                  struct upmu_place_work *work, struct upmu_why *why)
{
    struct upmu_held held[UPMU_JOINT_HELD];
    struct upmu_place_input input;
    enum upmu_status status;

    /* An empty set needs no place. */
    if (!joint->count)
        return UPMU_OK;
    memset(&input, 0, sizeof input);
    input.alternative = joint_alternative;
    input.context = joint;
    /* NULL tells the solver that all requests are of one set, which it places faster */
    input.set_of = joint->sets > 1 ? joint->set : NULL;
    input.request_count = joint->count;
    input.counters = joint->pmu->counters;
    input.preference = joint->pmu->preference;
    input.preference_count = joint->pmu->preference_count;
    joint->thread = meter ? meter->thread : 0;
    if (meter) {
        input.taken = upmu_meter_blocked(meter) | joint->taken;
        input.held = held;
        hold_for_others(meter, held, &input);
        if (UPMU_DOMAINS && meter->domain && !alone) {
            input.taken |= upmu_domain_taken(meter->domain, meter->domain_number);
            input.held_count +=
                upmu_domain_held(meter->domain, meter->domain_number, held + input.held_count,
                                 UPMU_JOINT_HELD - input.held_count);
            if (upmu_pmu_is_paired(joint->pmu) && upmu_domain_others(meter->domain, meter->domain_number))
                look_at_pairs(joint, &input);
        }
        input.stay = (const uint8_t(*)[UPMU_SLOTS])joint->stay;
        input.stay_alternative = joint->stay_alternative;
    }
    status = upmu_requests_place(&input, work, joint->result, why);
    if (status != UPMU_OK && why)
        name_culprits(joint, why);
    return status;
}

static UPMU_APART enum upmu_status place_on_stack(const struct upmu_meter *meter, struct upmu_joint *joint, bool alone,
                                                  struct upmu_why *why)
{
    struct upmu_place_work work;

    return upmu_joint_solve(meter, joint, alone, &work, why);
}

enum upmu_status upmu_joint_place(const struct upmu_meter *meter, struct upmu_joint *joint, bool alone,
                                  struct upmu_why *why)
{
    return meter->work ? upmu_joint_solve(meter, joint, alone, meter->work, why)
                       : place_on_stack(meter, joint, alone, why);
}

void upmu_joint_begin(struct upmu_joint *joint, const struct upmu_pmu *pmu)
{
    joint->pmu = pmu;
    joint->count = 0;
    joint->sets = 0;
    joint->beside = 0;
    joint->spoiled = 0;
    joint->taken = 0;
}

bool upmu_joint_begin_apart(const struct upmu_meter *meter, struct upmu_joint *joint, struct upmu_session *session,
                            uint32_t taken)
{
    const struct upmu_set *set = upmu_active(session);

    for (unsigned i = 0; i < set->count; i++)
        if (set->event[i].payload || !(set->event[i].counters & ~(taken | upmu_meter_blocked(meter))))
            return false;
    upmu_joint_begin(joint, meter->pmu);
    joint->taken = taken;
    return meter->bank.gates == UPMU_GATES_DENSE && !upmu_meter_is_unit(meter) && !meter->domain &&
           !upmu_pmu_is_paired(meter->pmu) && upmu_joint_add(joint, session, false);
}

void upmu_joint_note(struct upmu_tally *tally, const struct upmu_place_result *result)
{
    memcpy(tally->slot, result->counter, sizeof tally->slot);
    UPMU_STORE(tally->counter, tally->slot[0]);
    tally->alternative = result->alternative;
    tally->counters = 0;
    for (unsigned slot = 0; slot < UPMU_SLOTS; slot++)
        if (tally->slot[slot] != UPMU_NO_COUNTER)
            tally->counters |= UPMU_BIT32(tally->slot[slot]);
}

bool upmu_joint_moves(const struct upmu_joint *joint, unsigned i)
{
    const struct upmu_tally *tally = upmu_joint_tally(joint, i);
    const struct upmu_place_result *result = &joint->result[i];

    return upmu_session_occupies(joint->session[i]) &&
           (tally->alternative != result->alternative ||
            memcmp(tally->slot, result->counter, sizeof tally->slot) != 0);
}

#if UPMU_GROUPS

void upmu_joint_give(const struct upmu_set *set, struct upmu_compiled *compiled)
{
    for (unsigned i = 0; i < set->count; i++) {
        struct upmu_compiled_event *event = &compiled->event[i];

        event->counters = set->tally[i].counters;
        memcpy(event->slot, set->tally[i].slot, sizeof event->slot);
        event->alternative = set->tally[i].alternative;
    }
}

void upmu_joint_take(struct upmu_set *set, const struct upmu_compiled *compiled)
{
    const struct upmu_compiled_event *event = compiled->event;

    for UPMU_TALLIES(tally, set) {
        tally->counters = event->counters;
        memcpy(tally->slot, event->slot, sizeof tally->slot);
        UPMU_STORE(tally->counter, tally->slot[0]);
        tally->alternative = event->alternative;
        event++;
    }
}

#endif
