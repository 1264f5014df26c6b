/* SPDX-License-Identifier: MIT */
/*
 * The notes of a set about its last placement.
 */
#include "core/engine/placed.h"
#include "core/engine/meter.h"
#include "core/engine/program.h"
#include "core/engine/session_core.h"

/* Scattered, so that different groups of stamps have different sums (3 + 5 would be 8). */
uint64_t upmu_placed_stamp(const struct upmu_set *set)
{
    uint64_t mixed = set->stamp * UINT64_C(0x9e3779b97f4a7c15);

    return (mixed ^ mixed >> 32) * UINT64_C(0x9e3779b97f4a7c15);
}

/* The placements that run beside a session, as a sum of stamps. */
uint64_t upmu_placed_corunners(const struct upmu_meter *meter, const struct upmu_session *except)
{
    uint32_t rest = meter->running;
    uint64_t sum = 0;

    for (const struct upmu_session *other; (other = upmu_meter_next_running(meter, &rest)) != NULL;)
        if (other != except && upmu_session_occupies(other))
            sum += upmu_placed_stamp(upmu_active(other));
    return sum;
}

/* Co-runners, and what is not ours, in one word: even, never 0. */
static uint64_t refusal_of(const struct upmu_meter *meter, uint64_t corunners)
{
    return ((corunners ^ upmu_meter_blocked(meter) * UINT64_C(0x9e3779b97f4a7c15)) & ~UINT64_C(3)) | 2u;
}

/* The placement that it has stays: it may be good beside others. */
void upmu_placed_refuse(const struct upmu_meter *meter, struct upmu_set *set, uint64_t corunners, bool moving)
{
    set->program.refused = refusal_of(meter, corunners) | moving;
}

bool upmu_placed_was_refused(const struct upmu_meter *meter, const struct upmu_set *set, uint64_t corunners,
                             bool may_move)
{
    uint64_t refused = set->program.refused;

    return (may_move ? refused : refused & ~UINT64_C(1)) == refusal_of(meter, corunners);
}

bool upmu_placed_was_tried(const struct upmu_meter *meter, const struct upmu_set *set, uint64_t company)
{
    return set->placed_class == upmu_placed_class(meter) && set->placed_blocked == upmu_meter_blocked(meter) &&
           set->placed_beside == company;
}

/* Remember the PMU and the co-runners with which the active set was placed. */
static void remember_place(struct upmu_meter *meter, struct upmu_session *session, uint32_t counters)
{
    struct upmu_set *set = upmu_active(session);

    upmu_program_forget(set);
    set->counters = counters;
    /* The factor is 2^32 over the golden ratio: stamps of CPUs begin far from each other, of 1,000 CPUs more than
     * 2^20 apart. */
    set->stamp = meter->number * UINT32_C(0x9e3779b1) + ++meter->stamps;
    set->placed_beside = upmu_placed_corunners(meter, session);
    set->placed_blocked = upmu_meter_blocked(meter);
    set->placed_class = upmu_placed_class(meter);
}

void upmu_placed_note(struct upmu_meter *meter, struct upmu_session *session)
{
    upmu_session_sum(session);
    remember_place(meter, session, session->counters);
}
