/* SPDX-License-Identifier: MIT */
/*
 * Steps that work on units outside the cores.
 */
#include <stdio.h>
#include <string.h>

#include "tests/host/real.h"
#include "tests/host/simulated.h"

#define LIST_UNITS 96u
#define LIST_TYPES 24u

static unsigned package_of(unsigned cpu)
{
    return hardware_units_package(host.units.hardware, host.setting.family->models[host.setting.model].core[cpu]);
}

/* One at a time, and not while a CPU comes or goes: unit.h. */
static void begin(void)
{
    host.hotplug = true;
    real_accept(&host.hotplug);
    self->stay++;
}

static void end(void)
{
    self->stay--;
    real_offer(&host.hotplug);
    host.hotplug = false;
}

/* ---- Finding ---- */

static struct upmu_unit_info *info_of(unsigned box)
{
    const struct hardware_box *wanted = &host.units.box[box];
    struct upmu_unit_list *list = host.units.list;

    for (unsigned i = 0; i < list->unit_count; i++)
        if (!strcmp(list->pmu[list->unit[i].type].type->name, wanted->type->name) &&
            list->unit[i].number == wanted->number && list->unit[i].package == wanted->package)
            return &list->unit[i];
    return NULL;
}

static void make_list(void)
{
    struct upmu_unit_list *list = arena_take(sizeof *list, "list of units");

    memset(list, 0, sizeof *list);
    list->unit = arena_take(LIST_UNITS * sizeof *list->unit, "units found");
    list->unit_capacity = LIST_UNITS;
    list->pmu = arena_take(LIST_TYPES * sizeof *list->pmu, "types of units");
    list->pmu_capacity = LIST_TYPES;
    host.units.list = list;
}

/* On a CPU of each package once. */
static void find_units(void)
{
    unsigned package = package_of(self->cpu), flags = host.setting.force ? UPMU_UNITS_FORCE : 0;
    bool hidden = host.setting.options.hypervisor && !host.setting.force;
    enum upmu_status status;

    begin();
    if (!host.units.list)
        make_list();
    host.units.finder = self;
    status = HOST_CALL(upmu_units_find(here()->cpu, host.units.list, flags));
    host.units.finder = NULL;
    rules_status("upmu_units_find", status, hidden ? "NO_PMU" : "PORT");
    host.units.refused = hidden;
    host.units.found[package] = status == UPMU_OK;
    for (unsigned box = 0; status == UPMU_OK && box < host.units.boxes && !host.verdict->figures.faults; box++)
        if (!info_of(box) &&
            (host.units.box[box].type->space != HARDWARE_MSR || host.units.box[box].package == package))
            rules_fail(RULE_STATE, "%s%u of package %u is not found", host.units.box[box].type->name,
                       host.units.box[box].number, host.units.box[box].package);
    end();
}

/* ---- Opening and closing ---- */

static bool has_cpu(const struct host_unit *unit)
{
    for (unsigned cpu = 0; cpu < host.setting.cpus; cpu++)
        if (units_may(unit, cpu))
            return true;
    return false;
}

static void prepare(struct host_unit *unit, unsigned box, struct lots *lots)
{
    const struct upmu_unit_info *info = info_of(box);
    unsigned other = box + 1u;

    *unit = (struct host_unit){.boxes = 1, .box = {(uint8_t)box}, .exclusive = true, .polled_ns = host.now_ns};
    while (other < host.units.boxes && (host.units.box[other].type != host.units.box[box].type ||
                                        host.units.box[other].package != host.units.box[box].package))
        other++;
    if (other < host.units.boxes && info_of(other) == info + 1 && !units_of_box(other) && lots_below(lots, 2))
        unit->box[unit->boxes++] = (uint8_t)other;
    for (unsigned k = 0; k < unit->boxes; k++) {
        if (host.setting.leavings && lots_one_in(lots, host.setting.leavings)) {
            hardware_units_reset(host.units.hardware, unit->box[k]);
            hardware_units_leave(host.units.hardware, unit->box[k], lots_draw(lots));
        }
        if (host.units.box[box].type->space != HARDWARE_MSR && lots_one_in(lots, 12)) {
            hardware_units_hide(host.units.hardware, unit->box[k], true);
            unit->hidden = true;
        }
    }
    units_snapshot(unit);
}

static void show_all(const struct host_unit *unit)
{
    for (unsigned k = 0; k < unit->boxes; k++) {
        if (unit->gone >> k & 1u)
            hardware_units_clear(host.units.hardware, unit->box[k]);
        hardware_units_hide(host.units.hardware, unit->box[k], false);
    }
}

static void open_unit(struct host_unit *unit, unsigned box, struct lots *lots)
{
    struct upmu_unit_info *info = info_of(box);
    enum upmu_status status;
    char path[64];

    if (!info)
        return;
    begin();
    prepare(unit, box, lots);
    unit->unit = arena_take(sizeof *unit->unit, "unit outside the cores");
    unit->unit->meter.cpu = NULL;
    real_accept(unit);
    (void)upmu_unit_path(host.units.list, info, path, sizeof path);
    if (unit->boxes == 1 && lots_below(lots, 2))
        status = HOST_CALL(upmu_unit_open_text(unit->unit, host.machine, path));
    else
        status = HOST_CALL(upmu_unit_open(unit->unit, host.machine, info, unit->boxes));
    /* (What reads all ones is not there.) */
    if (unit->hidden && host.units.box[box].type->gate != HARDWARE_FREE && status == UPMU_OK)
        rules_fail(RULE_STATUS, "upmu_unit_open: a box that reads all ones is open");
    if (!unit->hidden || status != UPMU_ERR_PORT)
        rules_status("upmu_unit_open", status, "NO_CPU WRONG_CPU BUSY PORT NO_SPACE");
    if (status == UPMU_ERR_NO_CPU && has_cpu(unit))
        rules_fail(RULE_STATUS, "upmu_unit_open: no CPU, and one may drive it");
    real_offer(unit);
    if (status == UPMU_OK) {
        unit->interval_ns = upmu_unit_poll_interval(unit->unit);
        unit->exclusive = false;
        host.verdict->figures.units++;
        if (unit->unit->meter.firmware != unit->firmware && !unit->faulted && !unit->hidden)
            rules_fail(RULE_WATCHDOG, "unit: counters %x were at work, and it was opened with %x",
                       (unsigned)unit->firmware, (unsigned)unit->unit->meter.firmware);
    } else {
        units_restored(unit);
        show_all(unit);
        arena_give(unit->unit);
        unit->unit = NULL;
        arena_forgotten();
    }
    end();
}

/* It is open, and its boxes are: nothing of it changes. */
static void open_again(const struct host_unit *unit)
{
    struct upmu_unit *other = arena_take(sizeof *other, "unit outside the cores");

    begin();
    if (HOST_CALL(upmu_unit_open(unit->unit, host.machine, info_of(unit->box[0]), unit->boxes)) != UPMU_ERR_STATE ||
        HOST_CALL(upmu_unit_open(other, host.machine, info_of(unit->box[0]), 1)) != UPMU_ERR_STATE)
        rules_fail(RULE_STATUS, "upmu_unit_open: a unit that is open is opened again");
    end();
    arena_give(other);
}

/* All its sessions, for this step alone; false: some are in use. */
static bool hold_sessions(unsigned number, bool hold)
{
    for (unsigned i = 0; i < HOST_SESSIONS; i++) {
        struct host_session *session = &host.session[i];

        if (session->target != TARGET_UNIT || session->where != number || !session->session)
            continue;
        /* (A drop may be on its way; what is left after it is the library's.) */
        if (session->zombie && hold && session->users)
            return false;
        if (session->zombie)
            continue;
        if (hold ? session->users != 0 : !session->exclusive)
            return false;
        if (!hold) {
            session->target = TARGET_NONE;
            session->started = false;
            act_end(session);
        }
    }
    for (unsigned i = 0; hold && i < HOST_SESSIONS; i++)
        if (host.session[i].target == TARGET_UNIT && host.session[i].where == number)
            (void)act_begin(&host.session[i], true);
    return true;
}

static void release_sessions(unsigned number)
{
    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        if (host.session[i].target == TARGET_UNIT && host.session[i].where == number && host.session[i].exclusive)
            act_end(&host.session[i]);
}

static void close_unit(struct host_unit *unit)
{
    unsigned number = (unsigned)(unit - host.units.unit);
    enum upmu_status status;

    if (unit->users || unit->exclusive || !hold_sessions(number, true))
        return;
    begin();
    unit->exclusive = true;
    real_accept(unit);
    status = HOST_CALL(upmu_unit_close(unit->unit));
    rules_status("upmu_unit_close", status, "WRONG_CPU BUSY PORT");
    if (status == UPMU_OK || status == UPMU_ERR_PORT) {
        units_restored(unit);
        show_all(unit);
        units_look_last(unit);
        (void)hold_sessions(number, false);
        for (unsigned i = 0; i < HOST_SESSIONS; i++)
            if (host.session[i].target == TARGET_UNIT && host.session[i].where == number)
                host.session[i].target = TARGET_NONE;
        arena_give(unit->unit);
        unit->unit = NULL;
        act_reap();
        arena_forgotten();
    } else {
        release_sessions(number);
    }
    unit->exclusive = false;
    end();
}

void act_units_end(void)
{
    for (unsigned i = 0; i < HOST_UNITS; i++)
        if (host.units.unit[i].unit) {
            close_unit(&host.units.unit[i]);
            if (host.units.unit[i].unit)
                rules_fail(RULE_STATE, "unit %u cannot be closed", i);
        }
}

/* ---- Hand-over, polls ---- */

static void manage(struct host_unit *unit, unsigned cpu)
{
    bool had = unit->unit->meter.cpu != NULL;
    enum upmu_status status;

    if (unit->exclusive || !units_may_wake() || !host.cpu[cpu].cpu || host.cpu[cpu].unreachable)
        return;
    begin();
    if (had)
        units_hand(unit);
    else
        units_wake();
    real_accept(unit);
    status = HOST_CALL(upmu_unit_manage(unit->unit, host.cpu[cpu].cpu));
    rules_status("upmu_unit_manage", status,
                 units_may(unit, cpu) ? "WRONG_CPU BUSY PORT DOES_NOT_FIT" : "INVALID");
    real_offer(unit);
    if (had)
        units_handed(unit, true);
    else
        units_awake();
    if (status == UPMU_OK && units_driver(unit) != cpu)
        rules_fail(RULE_STATE, "upmu_unit_manage: OK, and CPU %u drives it, not CPU %u", units_driver(unit), cpu);
    end();
}

static void poll(struct host_unit *unit)
{
    uint64_t now_ns = host.now_ns;
    enum upmu_status status;

    if (unit->exclusive)
        return;
    unit->users++;
    self->stay++;
    real_accept(unit);
    status = HOST_CALL(upmu_unit_poll(unit->unit));
    rules_status("upmu_unit_poll", status, "WRONG_CPU BUSY PORT NO_CPU");
    real_offer(unit);
    units_look_late();
    if (status == UPMU_OK)
        unit->polled_ns = now_ns;
    self->stay--;
    unit->users--;
}

/*
 * A box at work vanishes, or returns: as it was, or with nothing in its registers.  (An MSR that is gone faults as
 * any may; where a counter has the width of an access all ones may be its count.)
 */
static void vanish(struct host_unit *unit, struct lots *lots)
{
    unsigned k = lots_below(lots, unit->boxes);
    const struct hardware_type *type = host.units.box[unit->box[k]].type;
    bool gone = unit->gone >> k & 1u;

    if (unit->exclusive || unit->hidden || type->space == HARDWARE_MSR || type->width == type->bits)
        return;
    if (gone && lots_below(lots, 2))
        hardware_units_clear(host.units.hardware, unit->box[k]);
    hardware_units_hide(host.units.hardware, unit->box[k], !gone);
    unit->gone ^= (uint8_t)(1u << k);
    host.verdict->figures.vanished++;
    units_lose(unit);
    TRACE("%s%u of package %u %s", type->name, host.units.box[unit->box[k]].number,
          host.units.box[unit->box[k]].package, gone ? "returns" : "vanishes");
}

/* ---- Events, sessions ---- */

void act_unit_specification(const struct hardware_type *type, unsigned kind, char *text, size_t size)
{
    (void)snprintf(text, size, "%s/raw:config=0x%x", type->name, type->code[kind]);
}

struct host_unit *act_unit_find(const struct hardware_type *type, unsigned lot)
{
    for (unsigned i = 0; i < HOST_UNITS; i++) {
        struct host_unit *unit = &host.units.unit[(lot + i) % HOST_UNITS];

        if (unit->unit && !unit->exclusive && (!type || host.units.box[unit->box[0]].type == type))
            return unit;
    }
    return NULL;
}

/* ---- Regions over packages ---- */

static void region(struct lots *lots)
{
    unsigned first = lots_below(lots, host.units.boxes), kind = lots_below(lots, HARDWARE_KINDS), dies = 0;
    const struct hardware_type *type = host.units.box[first].type;
    struct upmu_uncore_region *region;
    unsigned restarts = host.restarts;
    bool restarted;
    uint64_t least = 0;
    struct upmu_count count;
    enum upmu_status status;
    char text[64];
    bool open;

    if (!type->code[kind] || !info_of(first))
        return;
    /* (Counters that are at work stay so: a session might not fit.) */
    for (unsigned box = 0; box < host.units.boxes; box++)
        if (host.units.box[box].type == type &&
            (units_of_box(box) ||
             (type->gate != HARDWARE_FREE && hardware_units_running(host.units.hardware, box))))
            return;
    begin();
    region = arena_take(2 * sizeof *region, "region of units");
    memset(region, 0, 2 * sizeof *region);
    /* (Packages come as they were found.) */
    for (unsigned i = 0; i < host.units.list->unit_count; i++) {
        struct host_unit *unit = &host.units.unit[HOST_UNITS + dies];
        unsigned box = 0;

        while (box < host.units.boxes && info_of(box) != &host.units.list->unit[i])
            box++;
        if (host.units.box[box].type != type)
            continue;
        if (dies && host.units.box[unit[-1].box[0]].package == host.units.box[box].package) {
            unit[-1].box[unit[-1].boxes++] = (uint8_t)box;
            continue;
        }
        *unit = (struct host_unit){.boxes = 1, .box = {(uint8_t)box}, .exclusive = true, .unit = &region[dies++].unit};
    }
    for (unsigned i = 0; i < dies; i++)
        units_snapshot(&host.units.unit[HOST_UNITS + i]);
    act_unit_specification(type, kind, text, sizeof text);
    status = HOST_CALL(upmu_uncore_region_open(region, 2, host.machine, text));
    rules_status("upmu_uncore_region_open", status, "NO_CPU WRONG_CPU BUSY PORT NO_SPACE");
    open = status == UPMU_OK;
    if (open) {
        status = HOST_CALL(upmu_uncore_region_begin(region, 2));
        /* (STATE: the CPU that drives it may be starting over.) */
        rules_status("upmu_uncore_region_begin", status, "WRONG_CPU BUSY PORT NO_CPU STATE");
        if (status == UPMU_OK) {
            for (unsigned i = 0; i < 4; i++) {
                unsigned box = lots_below(lots, host.units.boxes);
                uint64_t amount = lots_size(lots, 14);

                if (host.units.box[box].type == type && info_of(box)) {
                    units_happen(box, kind, amount);
                    least += amount;
                }
            }
            status = HOST_CALL(upmu_uncore_region_end(region, 2, &count, 1));
            /* (STATE as in its begin.) */
            rules_status("upmu_uncore_region_end", status,
                         host.real || host.restarts != restarts ? "WRONG_CPU BUSY PORT NO_CPU STATE"
                                                                : "WRONG_CPU BUSY PORT NO_CPU");
            /* (What a start over meanwhile has thrown away is missing, and said to be.) */
            restarted = host.restarts != restarts && count.quality == UPMU_QUALITY_PARTIAL;
            if (status == UPMU_OK && (restarted ? count.raw > least : count.raw != least) &&
                !host.verdict->figures.faults)
                rules_fail(RULE_COUNT, "region of units \"%s\": %llu, not %llu", text, (unsigned long long)count.raw,
                           (unsigned long long)least);
        }
    }
    /* (A part of it may be open after these, too.) */
    for (unsigned tries = 0; tries < 50 && (open || status == UPMU_ERR_BUSY || status == UPMU_ERR_WRONG_CPU); tries++) {
        status = HOST_CALL(upmu_uncore_region_close(region, 2));
        rules_status("upmu_uncore_region_close", status, "WRONG_CPU BUSY PORT");
        open = false;
    }
    if (status == UPMU_ERR_WRONG_CPU || status == UPMU_ERR_BUSY)
        rules_fail(RULE_STATE, "a region of units cannot be closed: %s", upmu_status_text(status));
    for (unsigned i = 0; i < dies; i++)
        if (status == UPMU_OK)
            units_restored(&host.units.unit[HOST_UNITS + i]);
    memset(&host.units.unit[HOST_UNITS], 0, 2 * sizeof host.units.unit[0]);
    arena_give(region);
    arena_forgotten();
    end();
}

/* ---- All of them ---- */

void act_unit(const struct step *step, struct lots *lots)
{
    struct host_unit *unit = &host.units.unit[step->what % HOST_UNITS];

    if (step->kind == STEP_UNIT_WORK) {
        for (unsigned i = 1u + lots_below(lots, 8); i; i--)
            units_work(&self->noise, false);
        return;
    }
    if (step->kind == STEP_UNIT_POLL) {
        if (unit->unit && here()->power == CPU_LIVE)
            poll(unit);
        if (unit->unit && host.setting.faults && !host.real && lots_one_in(lots, 4))
            vanish(unit, lots);
        return;
    }
    if (host.hotplug || here()->power != CPU_LIVE || here()->useless || here()->coming != HOST_NONE ||
        host.setting.no_units)
        return;
    if (!host.units.found[package_of(self->cpu)] && !host.units.refused) {
        if (step->kind == STEP_UNIT_OPEN)
            find_units();
        return;
    }
    switch (step->kind) {
    case STEP_UNIT_OPEN:
        if (!unit->unit && host.units.list) {
            unsigned box = step->where % host.units.boxes;

            if (!units_of_box(box))
                open_unit(unit, box, lots);
        } else if (unit->unit && !unit->exclusive && lots_one_in(lots, 4)) {
            open_again(unit);
        }
        break;
    case STEP_UNIT_CLOSE:
        if (unit->unit)
            close_unit(unit);
        break;
    case STEP_UNIT_MANAGE:
        if (unit->unit)
            manage(unit, step->where % host.setting.cpus);
        break;
    default:
        if (host.units.list)
            region(lots);
        break;
    }
}
