/* SPDX-License-Identifier: MIT */
/*
 * Units outside the cores as PMUs of perf_event_open. Units of one type that different packages, caches, cores or CPUs
 * have are one PMU; a program chooses among them by the CPU. Boxes of one type in the same package are PMUs of their
 * own, with their numbers.
 *
 * Source of the names and of the refusals: Linux 6.12, arch/x86/events/intel/uncore.c, intel/cstate.c, rapl.c, msr.c,
 * amd/uncore.c.
 */
#include "abi/perf/perf_core.h"
#include <upmu/session.h>
#include <upmu/unit.h>

#define EXCLUDES                                                                                                       \
    (UPMU_PERF_EXCLUDE_USER | UPMU_PERF_EXCLUDE_KERNEL | UPMU_PERF_EXCLUDE_HV | UPMU_PERF_EXCLUDE_IDLE |               \
     UPMU_PERF_EXCLUDE_HOST | UPMU_PERF_EXCLUDE_GUEST)

bool upmu_perf_is_unit(const struct upmu_perf_event *event)
{
    return event->attr.type >= UPMU_PERF_TYPE_UNIT;
}

#if UPMU_UNCORE

const struct upmu_uncore_pmu *upmu_perf_unit_pmu(const struct upmu_unit *unit)
{
    return (const struct upmu_uncore_pmu *)(const void *)unit->meter.pmu;
}

/* ---- Names ---- */

static bool text_is(const char *text, const char *other)
{
    while (*text && *text == *other) {
        text++;
        other++;
    }
    return *text == *other;
}

/*
 * Is the number of a unit's box a part of its PMU's name? Readings of CPUs and cores, and caches, have numbers that
 * programs know as CPUs.
 */
static bool is_numbered(const struct upmu_unit *unit)
{
    const struct upmu_uncore_pmu *pmu = upmu_perf_unit_pmu(unit);
    const struct upmu_unit_list *list = pmu->list;
    struct upmu_unit_facts facts;

    upmu_unit_ask(unit, &facts);
    if (facts.boxes != 1u || (pmu->packed && pmu->type->scope <= UPMU_SCOPE_CORE) ||
        pmu->type->scope == UPMU_SCOPE_LLC)
        return false;
    for (unsigned i = 0; i < list->unit_count; i++)
        if (&list->pmu[list->unit[i].type] == pmu && list->unit[i].number)
            return true;
    return false;
}

/* Do two units have the same PMU? */
static bool have_one_pmu(const struct upmu_unit *unit, const struct upmu_unit *other)
{
    return unit->meter.pmu == other->meter.pmu && is_numbered(unit) == is_numbered(other) &&
           (!is_numbered(unit) || unit->box->number == other->box->number);
}

bool upmu_perf_unit_is_reading(const struct upmu_unit *unit)
{
    static const char *const readings[] = {"power", "msr", "cstate_core", "cstate_pkg"};

    for (unsigned i = 0; i < sizeof readings / sizeof *readings; i++)
        if (text_is(upmu_perf_unit_pmu(unit)->type->name, readings[i]))
            return true;
    return false;
}

void upmu_perf_unit_name(const struct upmu_perf *perf, const struct upmu_unit *unit, struct upmu_perf_text *out_name)
{
    const struct upmu_pmu *core = upmu_machine_pmu(perf->machine, 0);

    out_name->length = 0;
    if (!upmu_perf_unit_is_reading(unit))
        upmu_perf_text_add(out_name, core && upmu_pmu_is_amd(core) ? "amd_" : "uncore_");
    upmu_perf_text_add(out_name, upmu_perf_unit_pmu(unit)->type->name);
    if (!is_numbered(unit))
        return;
    upmu_perf_text_add(out_name, "_");
    upmu_perf_text_add_digits(out_name, unit->box->number);
}

/* ---- Which unit counts ---- */

const struct upmu_unit *upmu_perf_unit_first(const struct upmu_perf *perf, unsigned index)
{
    const struct upmu_unit *unit = index < perf->unit_count ? perf->units[index] : NULL;

    for (unsigned i = 0; unit && i < index; i++)
        if (have_one_pmu(perf->units[i], unit))
            return NULL;
    return unit;
}

/* Return the unit that counts for a CPU, of those that have one PMU; NULL: there is none. */
static struct upmu_unit *unit_of_cpu(const struct upmu_perf *perf, const struct upmu_unit *first, unsigned number)
{
    const struct upmu_cpu *cpu = perf->cpus[number].cpu;

    for (unsigned i = 0; cpu && i < perf->unit_count; i++)
        if (have_one_pmu(perf->units[i], first) && upmu_unit_is_near(perf->units[i], cpu))
            return perf->units[i];
    return NULL;
}

bool upmu_perf_unit_is_driven(const struct upmu_perf *perf, const struct upmu_unit *first, unsigned cpu)
{
    const struct upmu_unit *unit = unit_of_cpu(perf, first, cpu);

    return unit && unit->meter.cpu == perf->cpus[cpu].cpu;
}

int upmu_perf_unit_check(const struct upmu_perf *perf, const struct upmu_perf_attr *attr, struct upmu_perf_event *event)
{
    const struct upmu_unit *first = upmu_perf_unit_first(perf, attr->type - UPMU_PERF_TYPE_UNIT);
    struct upmu_unit *unit;

    if (!first)
        return -UPMU_PERF_ENOENT;
    if (event->of_task || attr->sample_period || attr->flags & EXCLUDES || attr->config3)
        return -UPMU_PERF_EINVAL;
    if (attr->flags & UPMU_PERF_EXCLUSIVE)
        return -UPMU_PERF_EOPNOTSUPP;
    if (!perf->cpus[event->cpu].cpu)
        return 0; /* the check of the CPU, which comes later, refuses the event */
    unit = unit_of_cpu(perf, first, (unsigned)event->cpu);
    if (!unit)
        return -UPMU_PERF_EINVAL;
    event->unit = unit;
    return upmu_perf_errno(
        upmu_event_raw(unit->meter.pmu, attr->config, attr->config1, attr->config2, &event->event));
}

enum upmu_status upmu_perf_unit_attach(struct upmu_session *session, const struct upmu_perf_event *event)
{
    return upmu_session_attach_unit(session, event->unit);
}

#else

int upmu_perf_unit_check(const struct upmu_perf *perf, const struct upmu_perf_attr *attr, struct upmu_perf_event *event)
{
    (void)perf;
    (void)attr;
    (void)event;
    return -UPMU_PERF_ENOENT;
}

enum upmu_status upmu_perf_unit_attach(struct upmu_session *session, const struct upmu_perf_event *event)
{
    (void)session;
    (void)event;
    return UPMU_ERR_NO_PMU;
}

#endif

bool upmu_perf_unit_differs(const struct upmu_perf_event *event, const struct upmu_perf_event *other)
{
    const struct upmu_unit *unit = upmu_perf_is_unit(event) ? event->unit : NULL;

    return !upmu_perf_is_software(event) && !upmu_perf_is_software(other) &&
           unit != (upmu_perf_is_unit(other) ? other->unit : NULL);
}
