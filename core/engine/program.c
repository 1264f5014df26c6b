/* SPDX-License-Identifier: MIT */
/* Compile placements: let the backend render the registers of a set once, and sum up its events. */
#include "core/engine/program.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/hw/port_call.h"
#include "core/hw/register.h"
#include "core/place/placement.h"
#include "core/engine/count.h"
#include "core/engine/features.h"
#include "core/engine/joint.h"
#include "core/engine/meter.h"
#include "core/engine/placed.h"
#include "core/engine/special.h"
#include "core/engine/session_core.h"
#include <upmu/group.h>

bool upmu_program_interrupts(const struct upmu_port *port, const struct upmu_pmu *pmu, const struct upmu_tally *tally)
{
    /* The counter of a precise event must not request an interrupt: the buffer of records does (SDM 18.4.4). */
    return UPMU_SAMPLING && port_has_pmi(port) && !tally->wraps && !upmu_tally_is_precise(tally) &&
           (tally->period || (pmu->capabilities & UPMU_PMU_STATUS));
}

/* Let the backend store in `image` the register values for all events of a set. */
static void render_set(const struct upmu_meter *meter, const struct upmu_set *set, struct upmu_image *image)
{
    const struct upmu_pmu *pmu = meter->pmu;

    for (unsigned i = 0; i < set->count; i++) {
        const struct upmu_tally *tally = &set->tally[i];
        unsigned flags = meter->thread ? UPMU_RENDER_THREAD1 : 0;

        if (upmu_program_interrupts(meter->machine->port, pmu, tally))
            flags |= UPMU_RENDER_INTERRUPT;
        flags |= upmu_program_records(set, i);
        pmu->backend->render(pmu, &set->event[i], tally->alternative, tally->slot, flags, image);
    }
}

/*
 * If a step's guard has any counter of an event, add all counters of that event: they stand still together while the
 * step changes its register.
 */
static void widen_guards(struct upmu_set *set)
{
    for (unsigned i = 0; UPMU_SLOTS > 1 && i < set->program.steps; i++)
        for UPMU_TALLIES(tally, set)
            if (tally->counters & set->program.step[i].guard)
                set->program.step[i].guard |= tally->counters;
}

/*
 * Store in the program which counters only count, which sample and which count user mode alone, and the flags of all
 * events, so that later calls need not look at each event.  Returns false where the set samples slots beside their
 * metrics: each window of metrics sets the counter of slots to 0, and no sample would come.
 */
static bool sum_up(const struct upmu_meter *meter, struct upmu_set *set)
{
    struct upmu_program *program = &set->program;
    uint32_t metrics = 0;
    unsigned flags = program->flags | (upmu_pmu_is_paired(meter->pmu) ? 0 : UPMU_PROGRAM_FREE);

    program->counting = 0;
    program->sampling = 0;
    program->user = 0;
    for UPMU_TALLIES(tally, set) {
        bool odd = upmu_tally_is_wide(tally) || upmu_tally_cascades(tally) || upmu_tally_is_metric(tally) ||
                   (tally->counters & (tally->counters - 1u));

        if (upmu_tally_samples(tally))
            program->sampling |= tally->counters;
        else if (!upmu_tally_cascades(tally) && !upmu_tally_is_metric(tally))
            program->counting |= tally->counters;
        if (upmu_tally_is_metric(tally))
            metrics |= tally->counters | UPMU_BIT32(UPMU_SLOTS_COUNTER);
        if (odd || tally->falls)
            flags |= UPMU_PROGRAM_ODD;
        if (set->event[tally->index].payload)
            flags &= ~UPMU_PROGRAM_FREE;
        if (upmu_tally_is_precise(tally))
            flags = (flags & ~UPMU_PROGRAM_FREE) | UPMU_PROGRAM_ODD | UPMU_PROGRAM_PRECISE;
        if (UPMU_SAMPLING && tally->wraps)
            flags |= UPMU_PROGRAM_WRAPS;
        if (UPMU_SAMPLING && (set->sampling[tally->index].values | set->sampling[tally->index].resets))
            flags |= UPMU_PROGRAM_OTHERS;
        if (UPMU_SAMPLING && (set->sampling[tally->index].values || set->sampling[tally->index].event_id ||
                              tally->notifies))
            flags |= UPMU_PROGRAM_RECORDS;
#if UPMU_PRECISE
        if (set->sampling[tally->index].parts)
            flags |= UPMU_PROGRAM_RECORDS;
#endif
    }
    if (set->session->alone)
        flags &= ~UPMU_PROGRAM_FREE;
    if (upmu_set_wants_branches(set))
        flags = (flags & ~UPMU_PROGRAM_FREE) | UPMU_PROGRAM_ODD | UPMU_PROGRAM_RECORDS | UPMU_PROGRAM_BRANCHES;
    /* Metrics, and the counter of slots beside them, are not events that only count: each window sets them to 0. */
    program->counting &= ~metrics;
    for (unsigned i = 0; UPMU_BACKEND_AMD && i < program->steps; i++)
        if (upmu_step_mask(&program->step[i]) & ~upmu_step_value(&program->step[i]) & meter->pmu->kernel_select)
            program->user |= program->step[i].guard;
    if (program->user && meter->bank.port->in_kernel_mode)
        flags |= UPMU_PROGRAM_ODD;
    UPMU_STORE(program->flags, (uint8_t)flags);
    return !(program->sampling & metrics);
}

static void compile_program(struct upmu_meter *meter, struct upmu_set *set)
{
    struct upmu_program *program = &set->program;
    struct upmu_image image = upmu_image_on(meter->pmu, program->step, UPMU_STEPS_OF(set->capacity));

    if (!set->placed_class)
        return;
    UPMU_STORE(program->placement, 0);
    program->seen = 0;
    render_set(meter, set, &image);
    if (image.overfull)
        return;
    program->steps = image.count;
    UPMU_STORE(program->flags, UPMU_PRELUDES && image.prelude ? UPMU_PROGRAM_PRELUDE : 0);
    widen_guards(set);
    if (!sum_up(meter, set))
        return;
    program->kind = upmu_placed_class(meter);
    UPMU_STORE(program->placement, upmu_placed_stamp(set));
}

#if UPMU_GROUPS

/* Return the entry of a session's group for this kind of CPU; NULL: the session has no group. */
static struct upmu_compiled *find_entry(const struct upmu_meter *meter, const struct upmu_session *session)
{
    return session->compiled ? session->compiled + (meter->kind & (UPMU_COMPILED_KINDS - 1u)) : NULL;
}

/* Store a program in the entry of its session's group, if it is the first one.  No event of a group samples. */
static void give_program(const struct upmu_meter *meter, const struct upmu_set *set)
{
    struct upmu_compiled *compiled = find_entry(meter, set->session);
    uint32_t state = UPMU_COMPILED_EMPTY;

    if (!compiled || !__atomic_compare_exchange_n(&compiled->state, &state, UPMU_COMPILED_STORING, false,
                                                  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    compiled->counters = set->counters;
    compiled->blocked = set->placed_blocked;
    compiled->stamp = set->stamp;
    compiled->program = set->program;
    upmu_joint_give(set, compiled);
    memcpy(compiled->step, set->program.step, set->program.steps * sizeof compiled->step[0]);
    __atomic_store_n(&compiled->state, UPMU_COMPILED_VALID, __ATOMIC_RELEASE);
}

bool upmu_program_take(struct upmu_meter *meter, struct upmu_session *session)
{
    const struct upmu_compiled *compiled = find_entry(meter, session);
    struct upmu_set *set = upmu_active(session);
    struct upmu_program *program = &set->program;

    if (!compiled || set->placed_class ||
        __atomic_load_n(&compiled->state, __ATOMIC_ACQUIRE) != UPMU_COMPILED_VALID ||
        compiled->program.kind != meter->kind)
        return false;
    upmu_joint_take(set, compiled);
    upmu_placed_take(set, compiled);
    memcpy(program->step, compiled->step, compiled->program.steps * sizeof program->step[0]);
    program->counting = compiled->program.counting;
    program->sampling = compiled->program.sampling;
    program->user = compiled->program.user;
    program->steps = compiled->program.steps;
    UPMU_STORE(program->flags, compiled->program.flags);
    program->kind = compiled->program.kind;
    UPMU_STORE(program->placement, compiled->program.placement);
    return true;
}

#else

static void give_program(const struct upmu_meter *meter, const struct upmu_set *set)
{
    (void)meter, (void)set;
}

#endif

bool upmu_program_ready(struct upmu_meter *meter, struct upmu_set *set)
{
    if (!set->program.kind) {
        compile_program(meter, set);
        if (set->program.kind)
            give_program(meter, set);
    }
    return set->program.kind != 0;
}

bool upmu_program_fits(const struct upmu_meter *meter, const struct upmu_set *set, uint64_t corunners)
{
    const struct upmu_program *program = &set->program;
    uint32_t blocked = upmu_meter_blocked(meter);

    return program->placement && (set->counters || upmu_meter_is_free(meter)) && program->kind == meter->kind &&
           !(set->counters & blocked) && !(corunners & UPMU_STAMP_ALONE) &&
           ((program->flags & UPMU_PROGRAM_FREE) ||
            ((set->placed_beside == corunners || !corunners) && set->placed_blocked == blocked &&
             !(UPMU_PRECISE && (program->flags & UPMU_PROGRAM_PRECISE) && !upmu_records_ready(meter)) &&
             !(UPMU_BRANCH_SAMPLES && (program->flags & UPMU_PROGRAM_BRANCHES) && upmu_branch_samples_wanted(set) &&
               !upmu_branch_samples_ready(meter))));
}
