/* SPDX-License-Identifier: MIT */
/*
 * Programs, the register values of compiled placements (docs/ENGINE.md, "What runs"), in the order in which they are
 * written.
 */
#ifndef UPMU_CORE_PROGRAM_H
#define UPMU_CORE_PROGRAM_H

#include "core/hw/backend.h"
#include "core/engine/session_core.h"

/* Bits of upmu_program.flags.  Each tells something of the events of the set. */
/*
 * no event needs a register that events of other sets may need, too, none is precise, and the session need not run
 * alone: the placement is valid wherever its counters are free
 */
#define UPMU_PROGRAM_FREE 1u
#define UPMU_PROGRAM_WRAPS 2u /* the count of at least one event wraps at the width of its counter */
#define UPMU_PROGRAM_BRANCHES 4u /* samples have branches: no program with this flag has UPMU_PROGRAM_FREE */
#define UPMU_PROGRAM_OTHERS 8u /* an overflow of an event also stores or resets counts of other events of the set */
#define UPMU_PROGRAM_PRELUDE 16u /* an erratum's sequence is written before any register of the set that differs */
/* an event's records have values, parts, branches or an id, or its overflows send messages */
#define UPMU_PROGRAM_RECORDS 32u
/* an event is a cascade, a metric or precise, has branches, two counters, a count that can fall, or can stand still */
#define UPMU_PROGRAM_ODD 64u
#define UPMU_PROGRAM_PRECISE 128u /* an event samples precisely: no program with this flag has UPMU_PROGRAM_FREE */

/*
 * Does an overflow of the event's counter request an interrupt?  Only if the port has interrupts, the event is not
 * precise and its count does not wrap at its counter's width, and if the event samples or the PMU has a status
 * register.
 */
bool upmu_program_interrupts(const struct upmu_port *port, const struct upmu_pmu *pmu, const struct upmu_tally *tally);

/* Return the flags (UPMU_RENDER_…) with which registers of an event are rendered because of its records. */
static inline unsigned upmu_program_records(const struct upmu_set *set, unsigned index)
{
#if UPMU_PRECISE
    bool parts = set->sampling[index].parts;

#if UPMU_BRANCH_SAMPLES
    parts = parts || set->session->branches;
#endif
    if (set->tally[index].precise)
        return UPMU_RENDER_RECORDS | (parts ? UPMU_RENDER_PARTS : 0);
#else
    (void)set, (void)index;
#endif
    return 0;
}

/*
 * Compile the placement of a set, if that is not done.  Returns false where the set has no placement, the placement has
 * more steps than the set has room for, or the set samples slots beside their metrics.
 */
bool upmu_program_ready(struct upmu_meter *meter, struct upmu_set *set);

/* Values of upmu_compiled.state. */
#define UPMU_COMPILED_EMPTY 0u
#define UPMU_COMPILED_STORING 1u /* a CPU stores the entry */
#define UPMU_COMPILED_VALID 2u   /* the entry is constant from now on */

/*
 * Give the active set of a session, if it was never placed, the placement and the program that a member of the
 * session's group had first on a CPU of this kind.  Returns false where there is none, or where the session has no
 * group.  Whether the program fits here the caller asks, as for any other.
 */
#if UPMU_GROUPS
bool upmu_program_take(struct upmu_meter *meter, struct upmu_session *session);
#else
static inline bool upmu_program_take(struct upmu_meter *meter, struct upmu_session *session)
{
    (void)meter, (void)session;
    return false;
}
#endif

/*
 * May the set run with its compiled program?  It is compiled for this kind of CPU, its counters are not blocked for
 * sessions (upmu_meter_blocked()), and its placement is valid beside these co-runners, of which none runs alone.  If an
 * event is precise, the CPU has memory for records; if samples have branches, it lends its stack.
 */
bool upmu_program_fits(const struct upmu_meter *meter, const struct upmu_set *set, uint64_t corunners);

/*
 * The placement of a set is no longer valid: forget its kind of CPU and its program, and beside which co-runners no
 * place was found.
 */
static inline void upmu_program_forget(struct upmu_set *set)
{
    set->placed_class = 0;
    set->program.kind = 0;
    UPMU_STORE(set->program.placement, 0);
    set->program.refused = 0;
}

#endif
