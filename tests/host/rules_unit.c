/* SPDX-License-Identifier: MIT */
/*
 * What must hold of units outside the cores: which CPU accesses them, what is written, what is as it was found; and
 * the events that happen on them.
 */
#include <upmu/session.h>
#include <string.h>

#include "tests/host/real.h"
#include "tests/host/simulated.h"

/* ---- Places ---- */

struct host_unit *units_of_box(unsigned box)
{
    for (unsigned i = 0; i < HOST_ALL_UNITS; i++)
        for (unsigned k = 0; host.units.unit[i].unit && k < host.units.unit[i].boxes; k++)
            if (host.units.unit[i].box[k] == box)
                return &host.units.unit[i];
    return NULL;
}

unsigned units_driver(const struct host_unit *unit)
{
    for (unsigned cpu = 0; cpu < host.setting.cpus; cpu++)
        if (host.cpu[cpu].cpu && host.cpu[cpu].cpu == unit->unit->meter.cpu)
            return cpu;
    return HOST_NONE;
}

static const struct hardware_box *box_of(const struct host_unit *unit)
{
    return &host.units.box[unit->box[0]];
}

bool units_may(const struct host_unit *unit, unsigned cpu)
{
    const uint8_t *core = host.setting.family->models[host.setting.model].core;

    return host.cpu[cpu].power == CPU_LIVE && !host.cpu[cpu].useless &&
           (box_of(unit)->type->space != HARDWARE_MSR ||
            hardware_units_package(host.units.hardware, core[cpu]) == box_of(unit)->package);
}

static unsigned number_of(const struct host_unit *unit)
{
    return (unsigned)(unit - host.units.unit);
}

static bool is_session_of(const struct host_session *session, const struct host_unit *unit)
{
    return session->session && session->target == TARGET_UNIT && session->where == number_of(unit);
}

bool units_calm(const struct host_unit *unit)
{
    unsigned driver = units_driver(unit);
    bool calm = !unit->exclusive && (driver == HOST_NONE || !host.cpu[driver].turning);

    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        if (is_session_of(&host.session[i], unit))
            calm &= !host.session[i].exclusive && !host.session[i].switching;
    return calm;
}

/* ---- Accesses ---- */

void units_access(const struct hardware_place *place, bool is_write, uint64_t value)
{
    struct host_unit *unit = units_of_box(place->box);
    const struct hardware_box *box = &host.units.box[place->box];

    if (!is_write && host.units.finder == self)
        return;
    if (!unit)
        rules_fail(RULE_WRITE, "CPU %u: %s %s%u of package %u, which is not open", self->cpu,
                   is_write ? "a write to" : "a read of", box->type->name, box->number, box->package);
    if (units_driver(unit) != self->cpu)
        rules_fail(RULE_WRITE, "CPU %u: %s %s%u, which CPU %u drives", self->cpu, is_write ? "a write to" : "a read of",
                   box->type->name, box->number, units_driver(unit));
    if (!is_write)
        return;
    if (place->role == HARDWARE_COUNTER)
        rules_fail(RULE_WRITE, "CPU %u: a write of %llx to counter %u of %s%u", self->cpu, (unsigned long long)value,
                   place->counter, box->type->name, box->number);
    if (place->role == HARDWARE_EVENT_SELECT && unit->firmware >> place->counter & 1) {
        for (unsigned k = 0; k < unit->boxes; k++) {
            uint64_t found = unit->found[k][place->number] >> (place->high ? 32 : 0);

            found &= place->half ? UINT32_MAX : UINT64_MAX;
            if (unit->box[k] == place->box && value != found && !unit->faulted)
                rules_fail(RULE_WRITE, "CPU %u: a write of %llx to select %u of %s%u, which was at work", self->cpu,
                           (unsigned long long)value, place->counter, box->type->name, box->number);
        }
    }
    unit->stirred |= !units_calm(unit);
    unit->writes += !here()->turning;
}

/* ---- What is found is restored ---- */

void units_snapshot(struct host_unit *unit)
{
    unit->firmware = 0;
    memset(unit->watched, 0, sizeof unit->watched);
    for (unsigned k = 0; k < unit->boxes; k++) {
        enum hardware_role role;
        uint32_t running = box_of(unit)->type->gate == HARDWARE_FREE
                               ? 0
                               : hardware_units_running(host.units.hardware, unit->box[k]);

        for (unsigned i = 0; hardware_units_peek(host.units.hardware, unit->box[k], i, &unit->found[k][i], &role); i++)
            continue;
        unit->firmware |= running;
        for (unsigned counter = 0; counter < 17; counter++)
            for (unsigned kind = 0; running >> counter & 1 && kind < HARDWARE_KINDS; kind++)
                if (hardware_units_counts(host.units.hardware, unit->box[k], counter, kind)) {
                    unit->watched[k][counter].on = true;
                    unit->watched[k][counter].kind = (uint8_t)kind;
                    unit->watched[k][counter].count =
                        hardware_units_count(host.units.hardware, unit->box[k], counter);
                }
    }
}

/* Of one box all is as it was found; of several selects are idle. */
void units_restored(const struct host_unit *unit)
{
    for (unsigned k = 0; k < unit->boxes && !unit->faulted && !unit->hidden; k++) {
        const struct hardware_box *box = &host.units.box[unit->box[k]];
        enum hardware_role role;
        uint64_t value;

        for (unsigned i = 0; hardware_units_peek(host.units.hardware, unit->box[k], i, &value, &role); i++)
            if (role != HARDWARE_COUNTER && value != unit->found[k][i] && unit->boxes == 1)
                rules_fail(RULE_RESTORE, "%s%u of package %u: register %u holds %llx; it was found with %llx",
                           box->type->name, box->number, box->package, i, (unsigned long long)value,
                           (unsigned long long)unit->found[k][i]);
        if (box->type->gate != HARDWARE_FREE &&
            hardware_units_running(host.units.hardware, unit->box[k]) & ~unit->firmware)
            rules_fail(RULE_RESTORE, "%s%u of package %u: counters %x run", box->type->name, box->number, box->package,
                       (unsigned)hardware_units_running(host.units.hardware, unit->box[k]));
    }
}

/* Counters that were at work when the unit was opened count on. */
static void check_watched(const struct host_unit *unit)
{
    for (unsigned k = 0; k < unit->boxes && !unit->faulted && !unit->hidden; k++)
        for (unsigned counter = 0; counter < 17; counter++) {
            const struct hardware_box *box = &host.units.box[unit->box[k]];
            uint64_t mask = (UINT64_C(1) << box->type->width) - 1u, count;

            if (!unit->watched[k][counter].on)
                continue;
            count = hardware_units_count(host.units.hardware, unit->box[k], counter);
            if ((count ^ unit->watched[k][counter].count) & mask)
                rules_fail(RULE_WATCHDOG, "%s%u: counter %u, which was at work before, holds %llx, not %llx",
                           box->type->name, box->number, counter, (unsigned long long)count,
                           (unsigned long long)(unit->watched[k][counter].count & mask));
        }
}

static bool has_runner(const struct host_unit *unit)
{
    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        if (is_session_of(&host.session[i], unit) && (host.session[i].started || host.session[i].zombie))
            return true;
    return false;
}

/* With nothing under way. */
void units_quiet(void)
{
    for (unsigned i = 0; i < HOST_UNITS; i++) {
        const struct host_unit *unit = &host.units.unit[i];
        unsigned driver;
        bool possible = false;

        if (!unit->unit)
            continue;
        driver = units_driver(unit);
        if (driver == HOST_NONE ? unit->unit->meter.cpu != NULL : !units_may(unit, driver))
            rules_fail(RULE_STATE, "unit %u: CPU %u drives it, and may not", i, driver);
        for (unsigned cpu = 0; cpu < host.setting.cpus; cpu++)
            possible |= units_may(unit, cpu);
        if (driver == HOST_NONE && possible && !unit->unreached && !unit->faulted)
            rules_fail(RULE_STATE, "unit %u: no CPU drives it, and one may", i);
        check_watched(unit);
        for (unsigned k = 0; k < unit->boxes && !unit->faulted && !unit->hidden && !has_runner(unit) &&
                             !setting_has(&host.setting, THEME_STATIC);
             k++)
            if (box_of(unit)->type->gate != HARDWARE_FREE &&
                hardware_units_running(host.units.hardware, unit->box[k]) & ~unit->firmware)
                rules_fail(RULE_RESTORE, "unit %u: counters %x are open, and no session runs there", i,
                           (unsigned)hardware_units_running(host.units.hardware, unit->box[k]));
    }
}

/* ---- Events ---- */

void units_happen(unsigned box, unsigned kind, uint64_t count)
{
    struct host_unit *unit = units_of_box(box);

    if (!host.units.box[box].type->code[kind])
        return;
    host.verdict->figures.unit_events++;
    TRACE("%llu events %u on %s%u of package %u", (unsigned long long)count, kind, host.units.box[box].type->name,
          host.units.box[box].number, host.units.box[box].package);
    for (unsigned k = 0; unit && k < unit->boxes; k++)
        for (unsigned counter = 0; unit->box[k] == box && counter < 17; counter++)
            if (unit->watched[k][counter].on && unit->watched[k][counter].kind == kind)
                unit->watched[k][counter].count += count;
    if (unit && !unit->hidden)
        units_deliver(number_of(unit), kind, count);
    hardware_units_happen(host.units.hardware, box, kind, count);
}

void units_work(struct lots *lots, bool soon)
{
    unsigned box = lots_below(lots, HOST_UNITS), kind = lots_below(lots, HARDWARE_KINDS);
    const struct host_unit *unit = &host.units.unit[box];
    uint64_t carry, count = lots_size(lots, soon ? 6 : 14);

    if (!unit->unit)
        return;
    box = unit->box[lots_below(lots, unit->boxes)];
    /* (So that the next few are between the two halves of a counter; of 32 bits that would be a round.) */
    carry = host.units.box[box].type->width > 32 ? hardware_units_to_carry(host.units.hardware, box, kind) : 0;
    if (!soon && carry > 20 && lots_one_in(lots, 8))
        count = carry - lots_below(lots, 20);
    units_happen(box, kind, count);
}

/* ---- CPUs come and go ---- */

void units_spoil(void)
{
    for (unsigned i = 0; i < HOST_ALL_UNITS; i++)
        host.units.unit[i].faulted = true;
}

void units_lose(struct host_unit *unit)
{
    unit->lost = unit->faulted = true;
    host.verdict->figures.faults++; /* (Calls may say so.) */
    for (unsigned i = 0; i < HOST_SESSIONS; i++) {
        struct host_session *session = &host.session[i];

        for (unsigned k = 0; is_session_of(session, unit) && k < session->sets; k++)
            for (unsigned n = 0; n < session->set[k].events; n++)
                session->set[k].event[n].low = session->set[k].event[n].kept;
        session->spoiled |= is_session_of(session, unit);
    }
}

bool units_lost(const struct host_session *session)
{
    return session->target == TARGET_UNIT && host.units.unit[session->where].lost;
}

void units_look_last(const struct host_unit *unit)
{
    for (unsigned i = 0; i < HOST_SESSIONS && host.now_ns - unit->polled_ns >= unit->interval_ns; i++)
        host.session[i].slow |= is_session_of(&host.session[i], unit);
}

void units_look_late(void)
{
    for (unsigned i = 0; i < HOST_UNITS; i++)
        if (host.units.unit[i].unit && !host.units.unit[i].exclusive)
            units_look_last(&host.units.unit[i]);
}

static void set_pending(const struct host_unit *unit, bool count)
{
    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        for (unsigned k = 0; is_session_of(&host.session[i], unit) && k < host.session[i].sets; k++)
            for (unsigned n = 0; n < host.session[i].set[k].events; n++) {
                struct host_event *event = &host.session[i].set[k].event[n];

                event->low += count && host.session[i].session->state == UPMU_SESSION_RUNNING ? event->pending : 0;
                event->pending = 0;
            }
}

void units_hand(struct host_unit *unit)
{
    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        host.session[i].changed |= is_session_of(&host.session[i], unit) && rules_starts_over(&host.session[i]);
    set_pending(unit, false);
    unit->handing = true;
    unit->stirred = false;
    unit->writes = 0;
}

void units_handed(struct host_unit *unit, bool awake)
{
    unit->handing = false;
    if (awake && unit->writes && !unit->stirred && !unit->faulted)
        rules_fail(RULE_WRITE, "unit %u: %u writes while it gets another CPU", number_of(unit), unit->writes);
    set_pending(unit, awake && !unit->stirred && !unit->faulted);
    host.verdict->figures.hand_overs += awake;
}

void units_go(unsigned cpu)
{
    for (unsigned i = 0; i < HOST_UNITS; i++)
        if (host.units.unit[i].unit && units_driver(&host.units.unit[i]) == cpu) {
            units_hand(&host.units.unit[i]);
            host.units.slept = true; /* (It may, and calls say so.) */
        }
}

/* Has a CPU been left that could drive it? */
static bool has_heir(const struct host_unit *unit)
{
    for (unsigned cpu = 0; cpu < host.setting.cpus; cpu++)
        if (units_may(unit, cpu))
            return true;
    return false;
}

void units_gone(unsigned number)
{
    bool all_asleep = true;

    for (unsigned i = 0; i < HOST_UNITS; i++) {
        struct host_unit *unit = &host.units.unit[i];
        bool awake;

        if (!unit->unit || !unit->handing)
            continue;
        awake = unit->unit->meter.cpu != NULL;
        if (awake && units_driver(unit) == number)
            rules_fail(RULE_STATE, "unit %u: CPU %u still drives it", i, number);
        units_handed(unit, awake);
        if (!awake) {
            unit->unreached = has_heir(unit);
            units_restored(unit);
        }
        host.verdict->figures.orphans += !awake;
    }
    for (unsigned i = 0; i < host.setting.cpus; i++)
        all_asleep &= host.cpu[i].power != CPU_LIVE;
    /* (A machine that is off loses what its boxes hold.) */
    for (unsigned box = 0; all_asleep && number & 1 && box < host.units.boxes; box++) {
        struct host_unit *unit = units_of_box(box);

        if (unit && (unit->unit->meter.cpu || unit->hidden))
            continue;
        hardware_units_reset(host.units.hardware, box);
        if (unit)
            units_snapshot(unit);
    }
}

bool units_may_wake(void)
{
    for (unsigned i = 0; i < HOST_UNITS; i++)
        for (unsigned k = 0; host.units.unit[i].unit && !host.units.unit[i].unit->meter.cpu && k < HOST_SESSIONS; k++)
            if (is_session_of(&host.session[k], &host.units.unit[i]) && host.session[k].users)
                return false;
    return true;
}

void units_called(const struct host_session *session)
{
    if (session->target == TARGET_UNIT)
        real_offer(&host.units.unit[session->where].unit);
}

void units_wake(void)
{
    for (unsigned i = 0; i < HOST_UNITS; i++) {
        struct host_unit *unit = &host.units.unit[i];

        if (!unit->unit || unit->unit->meter.cpu)
            continue;
        unit->exclusive = true;
        real_accept(&unit->unit);
        /* (What could not be restored is restored after the next life.) */
        if (!unit->faulted)
            units_snapshot(unit);
    }
}

void units_awake(void)
{
    for (unsigned i = 0; i < HOST_UNITS; i++)
        if (host.units.unit[i].exclusive) {
            host.units.unit[i].exclusive = false;
            real_offer(&host.units.unit[i].exclusive);
        }
}
