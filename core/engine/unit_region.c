/* SPDX-License-Identifier: MIT */
/*
 * Regions over the dies of a machine: the same events are counted on each die, by a unit and a session each, and added
 * up.
 */
#include <upmu/unit.h>

#include "core/util/apart.h"
#include "core/util/mem.h"
#include "core/util/muldiv.h"
#include "core/event/unit_names.h"
#include "core/event/why.h"
#include "core/engine/session_core.h"
#include "core/engine/unit_core.h"

#if UPMU_UNCORE

/*
 * May `count`, a 0 that is UNPROVEN (no counter was seen to move), leave the quality of a sum as `other` has it?  Only
 * an exact `other` of 0, such as a sum that is still empty, says nothing.  If both are UNPROVEN, the sum stays so.
 */
static bool doubt_settled(const struct upmu_count *count, const struct upmu_count *other)
{
    return count->quality == UPMU_QUALITY_UNPROVEN && (other->value || other->quality != UPMU_QUALITY_EXACT);
}

void upmu_counts_add(struct upmu_count *sum, const struct upmu_count *count)
{
    uint64_t gap = sum->enabled_ns - sum->running_ns, other_gap = count->enabled_ns - count->running_ns;

    if (!doubt_settled(count, sum) && (doubt_settled(sum, count) || sum->quality < count->quality))
        sum->quality = count->quality;
    sum->value = upmu_add_saturating(sum->value, count->value);
    sum->raw = upmu_add_saturating(sum->raw, count->raw);
    sum->lost = upmu_add_saturating_32(sum->lost, count->lost);
    sum->error = upmu_add_saturating(sum->error, count->error);
    if (sum->enabled_ns < count->enabled_ns)
        sum->enabled_ns = count->enabled_ns;
    gap = gap > other_gap ? gap : other_gap;
    sum->running_ns = gap < sum->enabled_ns ? sum->enabled_ns - gap : 0;
}

#if UPMU_NAMES

static UPMU_APART enum upmu_status open_die(struct upmu_uncore_region *die, struct upmu_machine *machine,
                                            const struct upmu_unit_found *found, const char *list)
{
    struct upmu_session *session = &die->region.session;
    enum upmu_status status;

    (void)!upmu_session_init(session, machine); /* it cannot fail */
    session->pmu = (uint8_t)(UPMU_UNIT_PMU + found->unit->type);
    status = upmu_unit_open(&die->unit, machine, found->unit, found->boxes);
    if (status != UPMU_OK)
        return upmu_session_refuse(session, status);
    die->open = true;
    status = upmu_set_add(&session->set, list, NULL);
    if (status == UPMU_OK)
        status = upmu_session_attach_unit(session, &die->unit);
    if (status == UPMU_OK)
        status = upmu_session_start(session);
    die->region.events = session->set.count;
    return status;
}

/*
 * Store which part of the first specification in `list` names the units: the path or the PMU's name.  Not inlined: its
 * stack is not needed while units are opened.
 */
static UPMU_APART enum upmu_status find_path(const char *list, struct upmu_spec_part *out_part, struct upmu_why *why)
{
    struct upmu_spec spec;
    size_t begin = 0;
    enum upmu_status status = upmu_spec_next(list, &begin, &spec, why);

    if (status == UPMU_OK)
        *out_part = spec.unit.length ? spec.unit : spec.pmu;
    return status;
}

enum upmu_status upmu_uncore_region_open(struct upmu_uncore_region *dies, unsigned count, struct upmu_machine *machine,
                                         const char *list)
{
    struct upmu_why *first;
    struct upmu_spec_part part;
    struct upmu_unit_found found;
    unsigned cursor = 0, opened = 0;
    enum upmu_status status;

    if (!count)
        return UPMU_ERR_NO_SPACE;
    for (unsigned die = 0; die < count; die++)
        if (upmu_unit_is_open(machine, &dies[die].unit))
            return UPMU_ERR_STATE;
    memset(dies, 0, count * sizeof *dies);
    first = &dies->region.session.why;
    status = find_path(list, &part, first);
    if (status != UPMU_OK)
        return status;
    while (status == UPMU_OK && machine->units &&
           upmu_unit_next(machine->units, list + part.position, part.length, &cursor, &found)) {
        status = UPMU_ERR_NO_SPACE;
        if (opened == count)
            (void)upmu_why_refuse(&dies[opened - 1u].region.session.why, status, NULL, list, part.position,
                                  part.length);
        else
            status = open_die(&dies[opened++], machine, &found, list);
    }
    if (!opened)
        return upmu_why_refuse(first, UPMU_ERR_NO_SUCH_PMU, NULL, list, part.position, part.length);
    if (status != UPMU_OK) {
        enum upmu_status closed;

        /* keep the reason of the refusal in machine->why: the close may store another in `first` */
        machine->why = dies[opened - 1u].region.session.why;
        closed = upmu_uncore_region_close(dies, opened);
        *first = machine->why;
        if (closed == UPMU_ERR_BUSY || closed == UPMU_ERR_WRONG_CPU)
            status = closed;
    }
    return status;
}

#else

enum upmu_status upmu_uncore_region_open(struct upmu_uncore_region *dies, unsigned count, struct upmu_machine *machine,
                                         const char *list)
{
    (void)machine;
    (void)list;
    if (count)
        memset(dies, 0, count * sizeof *dies);
    return UPMU_ERR_COMPILED_OUT;
}

#endif

enum visit { BEGIN, END, READ };

static enum upmu_status visit_die(struct upmu_region *die, enum visit visit)
{
    if (visit == READ)
        return upmu_set_read(&die->session.set, 0, die->events, die->count);
    return visit == BEGIN ? upmu_region_begin(die) : upmu_region_end(die);
}

/*
 * Begin, end or read the region of each open die, and add up their counts.  Stops at the first status that is not
 * UPMU_OK, and returns it.  UPMU_ERR_STATE: no die is open.
 */
static enum upmu_status visit_dies(struct upmu_uncore_region *dies, unsigned count, enum visit visit,
                                   struct upmu_count *counts, unsigned events)
{
    enum upmu_status status = UPMU_ERR_STATE;

    if (events)
        memset(counts, 0, events * sizeof *counts);
    for (unsigned die = 0; die < count && dies[die].open; die++) {
        status = visit_die(&dies[die].region, visit);
        if (status != UPMU_OK)
            break;
        for (unsigned i = 0; i < events && i < dies[die].region.events; i++)
            upmu_counts_add(&counts[i], &dies[die].region.count[i]);
    }
    return status;
}

enum upmu_status upmu_uncore_region_begin(struct upmu_uncore_region *dies, unsigned count)
{
    return visit_dies(dies, count, BEGIN, NULL, 0);
}

enum upmu_status upmu_uncore_region_end(struct upmu_uncore_region *dies, unsigned count, struct upmu_count *counts,
                                        unsigned events)
{
    return visit_dies(dies, count, END, counts, events);
}

enum upmu_status upmu_uncore_region_read(struct upmu_uncore_region *dies, unsigned count, struct upmu_count *counts,
                                         unsigned events)
{
    return visit_dies(dies, count, READ, counts, events);
}

enum upmu_status upmu_uncore_region_close(struct upmu_uncore_region *dies, unsigned count)
{
    enum upmu_status result = UPMU_OK;

    for (unsigned die = 0; die < count; die++) {
        enum upmu_status status, closed;

        if (!dies[die].open)
            continue;
        status = upmu_session_close(&dies[die].region.session);
        /* UPMU_ERR_PORT: a register faulted, and the session is closed all the same. */
        closed = status == UPMU_OK || status == UPMU_ERR_PORT ? upmu_unit_close(&dies[die].unit) : status;
        if (closed == UPMU_OK || closed == UPMU_ERR_PORT)
            dies[die].open = false;
        if (closed != UPMU_OK)
            status = closed;
        if (status != UPMU_OK)
            result = status;
    }
    return result;
}

#endif
