/* SPDX-License-Identifier: MIT */
/* Notes in a set about its last placement, and about the co-runners beside which no place was found. */
#include "core/engine/placed.h"
#include "core/engine/meter.h"
#include "core/engine/program.h"
#include "core/engine/session_core.h"
#include <upmu/group.h>

/*
 * Scatter the numbers of placements, so that different groups have different sums: plain numbers would not (3 + 5 is
 * also 8).
 */
uint64_t upmu_placed_stamp(const struct upmu_set *set)
{
    uint64_t mixed = set->stamp * UINT64_C(0x9e3779b97f4a7c15);

    mixed = (mixed ^ mixed >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (mixed & ~UPMU_STAMP_ALONE) | (set->session->alone ? UPMU_STAMP_ALONE : 0);
}

/* Sum the stamps of all running sessions but `except`. */
uint64_t upmu_placed_corunners(const struct upmu_meter *meter, const struct upmu_session *except)
{
    uint32_t rest = meter->running;
    uint64_t sum = 0;

    for (const struct upmu_session *other; (other = upmu_meter_next_running(meter, &rest)) != NULL;)
        if (other != except && upmu_session_occupies(other))
            sum += upmu_placed_stamp(upmu_active(other));
    return sum;
}

/*
 * Mix the co-runners and the counters that sessions may not have into one number.  Its bit 1 is set, so that it is not
 * 0; its bit 0 is free for `moving`.
 */
static uint64_t refusal_of(const struct upmu_meter *meter, uint64_t corunners)
{
    return ((corunners ^ upmu_meter_blocked(meter) * UINT64_C(0x9e3779b97f4a7c15)) & ~UINT64_C(3)) | 2u;
}

/* The set's last placement stays noted: it may be valid beside other co-runners. */
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

void upmu_placed_beside(struct upmu_set *set, uint64_t corunners)
{
    set->placed_beside = corunners;
}

/* Note a new placement of the active set: its counters, its stamp, the co-runners and the kind of CPU. */
static void remember_place(struct upmu_meter *meter, struct upmu_session *session, uint32_t counters)
{
    struct upmu_set *set = upmu_active(session);
    uint64_t refused = set->program.refused;

    upmu_program_forget(set);
    set->program.refused = refused; /* no place was found beside the co-runners noted here: that stays so */
    set->counters = counters;
    /*
     * The factor is 2^32 divided by the golden ratio: the first stamps of different CPUs lie far apart, for up to 1,000
     * CPUs more than 2^20.
     */
    set->stamp = meter->number * UINT32_C(0x9e3779b1) + ++meter->stamps;
    upmu_placed_beside(set, upmu_placed_corunners(meter, session));
    set->placed_blocked = upmu_meter_blocked(meter);
    set->placed_class = upmu_placed_class(meter);
}

void upmu_placed_note(struct upmu_meter *meter, struct upmu_session *session)
{
    upmu_session_sum(session);
    remember_place(meter, session, session->counters);
}

#if UPMU_GROUPS

void upmu_placed_take(struct upmu_set *set, const struct upmu_compiled *compiled)
{
    set->counters = compiled->counters;
    set->stamp = compiled->stamp;
    set->placed_blocked = compiled->blocked;
    set->placed_class = compiled->program.kind;
}

#endif
