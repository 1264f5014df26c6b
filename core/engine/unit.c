/* SPDX-License-Identifier: MIT */
/* Units at work: open and close, the CPU that drives a unit, how a unit is handed to another CPU, polls, levels. */
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/util/text.h"
#include "core/hw/bank.h"
#include "core/hw/port_call.h"
#include "core/hw/register.h"
#include "core/hw/unit_backend.h"
#include "core/event/why.h"
#include "core/engine/claims.h"
#include "core/engine/driver.h"
#include "core/engine/life.h"
#include "core/engine/meter.h"
#include "core/engine/owners.h"
#include "core/engine/placed.h"
#include "core/engine/session_core.h"
#include "core/engine/unit_core.h"
#include "core/engine/unit_shared.h"

#if UPMU_UNCORE

/* ---- Calls ---- */

/* How often a call is tried, the first time included, if its unit goes to another CPU meanwhile. */
#define FOLLOW 4u

struct unit_call {
    struct upmu_meter *meter;
    upmu_bracket_work *work;
    void *argument; /* of `work` */
    bool puts_down; /* meter->cpu becomes NULL after the work, unless that was refused: no CPU drives the unit */
    enum upmu_status status;
};

/* Set the driver of a unit, or NULL.  Release: the next CPU that drives the unit sees all that the last one did. */
static void set_driver(struct upmu_meter *meter, struct upmu_cpu *cpu)
{
    __atomic_store_n(&meter->cpu, cpu, __ATOMIC_RELEASE);
}

static void call_here(void *argument)
{
    struct unit_call *call = argument;
    const struct upmu_port *port = call->meter->machine->port;
    uintptr_t irq = port_irq_save(port);

    call->status = upmu_bracket_run(call->meter, call->work, call->argument);
    /* Interrupts are still off: no other call can enter the unit's bracket on this CPU before the driver is cleared. */
    if (call->puts_down && (call->status == UPMU_OK || call->status == UPMU_ERR_PORT))
        set_driver(call->meter, NULL);
    port_irq_restore(port, irq);
}

/*
 * Do work on a unit, in the unit's bracket, on the CPU that drives it.  `puts_down`: after the work no CPU drives the
 * unit, unless the status is other than UPMU_OK and UPMU_ERR_PORT.  Returns the status of the work, UPMU_ERR_STATE if
 * the unit is not open, that of upmu_bracket_enter(), or UPMU_ERR_WRONG_CPU if the CPU is not reached.
 */
static UPMU_APART enum upmu_status call_unit(struct upmu_unit *unit, upmu_bracket_work *work, void *argument,
                                             bool puts_down)
{
    struct unit_call call = {&unit->meter, work, argument, puts_down, UPMU_ERR_STATE};

    if (!unit->meter.machine) /* the unit is not open */
        return call.status;
    for (unsigned i = 0; i < FOLLOW; i++) {
        struct upmu_cpu *cpu = __atomic_load_n(&unit->meter.cpu, __ATOMIC_RELAXED);

        call_here(&call);
        if (call.status == UPMU_ERR_WRONG_CPU && cpu)
            (void)port_run_on_cpu(unit->meter.machine->port, cpu, call_here, &call);
        if (call.status != UPMU_ERR_WRONG_CPU || __atomic_load_n(&unit->meter.cpu, __ATOMIC_RELAXED) == cpu)
            break;
    }
    return call.status;
}

/* ---- Lists ---- */

/*
 * The first open unit that this CPU drives, or NULL.  The list cpu->units is not enough: a unit whose new driver could
 * not be reached may have its former driver again, and be in no CPU's list.
 */
static struct upmu_unit *driven_by(const struct upmu_machine *machine, const struct upmu_cpu *cpu)
{
    struct upmu_unit *unit = machine->open_units;

    while (unit && unit->meter.cpu != cpu)
        unit = unit->next_open;
    return unit;
}

void upmu_units_unlink(struct upmu_machine *machine, const struct upmu_cpu *cpu)
{
    for (struct upmu_cpu **link = &machine->cpus; *link; link = &(*link)->next)
        if (*link == cpu) {
            *link = cpu->next;
            return;
        }
}

void upmu_units_link(struct upmu_cpu *cpu)
{
    upmu_driver_place(cpu);
    cpu->next = cpu->meter.machine->cpus;
    __atomic_store_n(&cpu->meter.machine->cpus, cpu, __ATOMIC_RELEASE);
}

static UPMU_APART void link_unit(struct upmu_unit *unit)
{
    unit->next = unit->meter.cpu->units;
    unit->meter.cpu->units = unit;
    unit->meter.work = unit->meter.cpu->meter.work;
}

static void unlink_unit(struct upmu_unit *unit)
{
    for (struct upmu_unit **link = &unit->meter.cpu->units; *link; link = &(*link)->next)
        if (*link == unit) {
            *link = unit->next;
            break;
        }
    unit->next = NULL;
    unit->meter.work = NULL;
}

/* ---- The life of a unit: begin, end, fold, taking it from the firmware ---- */

static enum upmu_status begin_life(struct upmu_meter *meter, void *unused)
{
    enum upmu_status status = upmu_unit_shared_begin(upmu_unit_of(meter));

    (void)unused;
    if (status == UPMU_OK)
        status = upmu_life_take_over(meter);
    if (status != UPMU_OK) {
        (void)upmu_unit_shared_end(upmu_unit_of(meter));
        (void)upmu_claims_restore(meter);
        return status;
    }
    link_unit(upmu_unit_of(meter));
    upmu_unit_of(meter)->folded_ns = upmu_meter_now(meter);
    UPMU_STORE(meter->live, 1);
    return UPMU_OK;
}

static enum upmu_status end_life(struct upmu_meter *meter, void *unused)
{
    enum upmu_status status = UPMU_OK;

    (void)unused;
    while (meter->sessions)
        if (upmu_session_leave(meter, meter->sessions, false) != UPMU_OK)
            status = UPMU_ERR_PORT;
    if (upmu_unit_shared_end(upmu_unit_of(meter)) != UPMU_OK)
        status = UPMU_ERR_PORT;
    upmu_life_end(meter);
    if (!upmu_claims_restore(meter))
        status = UPMU_ERR_PORT;
    unlink_unit(upmu_unit_of(meter));
    return status;
}

#if UPMU_FIRMWARE

static enum upmu_status take_left(struct upmu_meter *meter, void *unused)
{
    (void)unused;
    if (!upmu_bank_unkeep(&meter->bank))
        return UPMU_ERR_PORT;
    upmu_owners_free(meter, meter->firmware);
    return UPMU_OK;
}

enum upmu_status upmu_unit_take_firmware(struct upmu_unit *unit)
{
    return call_unit(unit, take_left, NULL, false);
}

#else

enum upmu_status upmu_unit_take_firmware(struct upmu_unit *unit)
{
    (void)unit;
    return UPMU_ERR_COMPILED_OUT;
}

#endif

/* ---- Hand-over ---- */

static enum upmu_status put_down(struct upmu_meter *meter, void *unused)
{
    enum upmu_status status = upmu_unit_fold(meter, unused);

    unlink_unit(upmu_unit_of(meter));
    return status;
}

/*
 * In the bracket of a unit that sleeps: take its registers over anew.  If that succeeds, link the unit to its CPU; else
 * restore them, shared registers first: another unit at work may need these.
 */
static enum upmu_status wake_up(struct upmu_meter *meter, void *unused)
{
    struct upmu_unit *unit = upmu_unit_of(meter);
    enum upmu_status status = upmu_unit_shared_begin(unit);
    bool begun = status == UPMU_OK;

    (void)unused;
    if (begun)
        status = upmu_life_take_over(meter);
    if (status != UPMU_OK) {
        (void)upmu_unit_shared_end(unit);
        if (begun)
            (void)upmu_life_return(meter);
        return status;
    }
    status = upmu_life_wake(meter);
    link_unit(unit);
    unit->folded_ns = upmu_meter_now(meter);
    return status;
}

static enum upmu_status lie_down(struct upmu_meter *meter, void *unused)
{
    enum upmu_status shared = upmu_unit_shared_end(upmu_unit_of(meter)), status = upmu_life_suspend(meter, unused);

    unlink_unit(upmu_unit_of(meter));
    return status == UPMU_OK ? shared : status;
}

#if UPMU_SUSPEND

enum upmu_status upmu_unit_start_over(struct upmu_meter *meter, void *unused)
{
    enum upmu_status shared = upmu_unit_shared_begin(upmu_unit_of(meter)), status = upmu_life_start_over(meter, unused);

    return status == UPMU_OK ? shared : status;
}

#endif

struct taking {
    struct upmu_unit *unit;
    struct upmu_cpu *cpu;
    enum upmu_status status;
};

static void take_here(void *argument)
{
    struct taking *taking = argument;
    struct upmu_meter *meter = &taking->unit->meter;
    const struct upmu_port *port = meter->machine->port;
    uintptr_t irq = port_irq_save(port);

    if (!port_has_this_cpu(port) || port_this_cpu(port) == taking->cpu) {
        set_driver(meter, taking->cpu);
        taking->status = UPMU_OK;
        if (meter->live) {
            unlink_unit(taking->unit); /* the unit may still be in this CPU's list */
            link_unit(taking->unit);
        } else {
            taking->status = upmu_bracket_run(meter, wake_up, NULL);
        }
        if (!meter->live)
            set_driver(meter, NULL);
    }
    port_irq_restore(port, irq);
}

/*
 * Let a CPU drive a unit that no other CPU drives.  The CPU does that itself: if it is not reached
 * (UPMU_ERR_WRONG_CPU), nothing has changed.  A unit that sleeps is woken; if its registers cannot be taken over, no
 * CPU drives it, and the status says why.
 */
static enum upmu_status take_unit(struct upmu_unit *unit, struct upmu_cpu *cpu)
{
    struct taking taking = {unit, cpu, UPMU_ERR_WRONG_CPU};

    take_here(&taking);
    if (taking.status == UPMU_ERR_WRONG_CPU)
        (void)port_run_on_cpu(unit->meter.machine->port, cpu, take_here, &taking);
    return taking.status;
}

enum upmu_status upmu_unit_manage(struct upmu_unit *unit, struct upmu_cpu *cpu)
{
    struct upmu_cpu *before;
    enum upmu_status status;

    if (!unit->meter.machine)
        return UPMU_ERR_STATE;
    before = unit->meter.cpu;
    if (before == cpu)
        return take_unit(unit, cpu);
    if (cpu->meter.machine != unit->meter.machine || !upmu_driver_may(unit, cpu))
        return UPMU_ERR_INVALID;
    if (!before)
        return take_unit(unit, cpu);
    status = call_unit(unit, put_down, NULL, true);
    if ((status != UPMU_OK && status != UPMU_ERR_PORT) || take_unit(unit, cpu) == UPMU_OK)
        return status;
    if (take_unit(unit, before) != UPMU_OK)
        set_driver(&unit->meter, before); /* the former driver again: the unit runs on, though in no CPU's list */
    return UPMU_ERR_WRONG_CPU;
}

/* Hand a unit to another CPU, because its driver `cpu` leaves or sleeps.  If no other can take it, the unit sleeps. */
static enum upmu_status hand_on(struct upmu_unit *unit, struct upmu_cpu *cpu)
{
    struct upmu_cpu *heir = upmu_driver_choose(unit, cpu);
    enum upmu_status status;

    if (heir) {
        status = call_unit(unit, put_down, NULL, true);
        if (status == UPMU_ERR_WRONG_CPU || status == UPMU_ERR_BUSY || take_unit(unit, heir) == UPMU_OK)
            return status;
        upmu_meter_log(&unit->meter, "upmu: a unit sleeps, as no CPU could be reached to drive it (run_on_cpu)");
        (void)take_unit(unit, cpu);
    }
    status = call_unit(unit, lie_down, NULL, false);
    if (status == UPMU_ERR_WRONG_CPU || status == UPMU_ERR_BUSY) /* the CPU still drives the unit */
        return status;
    set_driver(&unit->meter, NULL);
    return status;
}

enum upmu_status upmu_units_go(struct upmu_cpu *cpu)
{
    const struct upmu_port *port = cpu->meter.machine->port;
    enum upmu_status status = UPMU_OK;
    struct upmu_unit *unit = driven_by(cpu->meter.machine, cpu);

    if (!unit || (port_has_this_cpu(port) && port_this_cpu(port) != cpu))
        return UPMU_OK; /* `cpu` drives no unit, or is not the executing CPU: the caller refuses that call */
    for (; unit; unit = driven_by(cpu->meter.machine, cpu)) {
        enum upmu_status left = hand_on(unit, cpu);

        if (left == UPMU_ERR_BUSY || left == UPMU_ERR_WRONG_CPU)
            return left;
        if (left != UPMU_OK)
            status = left;
    }
    return status;
}

enum upmu_status upmu_units_come(struct upmu_cpu *cpu)
{
    enum upmu_status status = UPMU_OK, woken;

    for (struct upmu_unit *unit = cpu->meter.machine->open_units; unit; unit = unit->next_open) {
        if (unit->meter.cpu || !upmu_driver_may(unit, cpu))
            continue;
        woken = take_unit(unit, cpu);
        if (woken != UPMU_OK)
            status = woken;
    }
    return status;
}

enum upmu_status upmu_units_each(struct upmu_cpu *cpu, upmu_bracket_work *work, const struct upmu_meter **out_meter)
{
    enum upmu_status status = UPMU_OK, one;
    const struct upmu_port *port;
    uintptr_t irq;

    if (!cpu->units)
        return UPMU_OK;
    /* Interrupts are off: no call from another CPU changes cpu->units meanwhile. */
    port = cpu->meter.machine->port;
    irq = port_irq_save(port);
    for (struct upmu_unit *unit = cpu->units; unit; unit = unit->next) {
        one = upmu_bracket_run(&unit->meter, work, NULL);
        if (status != UPMU_OK || one == UPMU_OK)
            continue;
        status = one;
        *out_meter = &unit->meter;
    }
    port_irq_restore(port, irq);
    return status;
}

void upmu_units_use_work(struct upmu_cpu *cpu)
{
    for (struct upmu_unit *unit = cpu->units; unit; unit = unit->next)
        unit->meter.work = cpu->meter.work;
}

/* ---- Open and close ---- */

static UPMU_APART enum upmu_status refuse_opening(struct upmu_machine *machine, enum upmu_status status)
{
    return upmu_why_refuse(&machine->why, status, NULL, NULL, 0, 0);
}

/* Refuse with UPMU_ERR_STATE, because the unit of a box is open.  machine->why gets the path of the box. */
static UPMU_APART enum upmu_status refuse_box(struct upmu_machine *machine, const struct upmu_unit_info *box)
{
    (void)refuse_opening(machine, UPMU_ERR_STATE);
    (void)upmu_unit_path(machine->units, box, machine->why.word, sizeof machine->why.word);
    return UPMU_ERR_STATE;
}

enum upmu_status upmu_units_check(struct upmu_machine *machine, const struct upmu_cpu *cpu)
{
    const struct upmu_unit *unit = driven_by(machine, cpu);

    return unit ? refuse_box(machine, unit->box) : UPMU_OK;
}

/* Return how many bytes from the begin of a box's memory have to be mapped to reach all of its registers. */
static size_t box_extent(const struct upmu_pmu *pmu)
{
    size_t bytes = 0;

    for (unsigned row = 0; row < pmu->table->row_count; row++) {
        const struct upmu_register_class *class = upmu_register_class_of(pmu, row);
        size_t end = pmu->table->rows[row].address + (class->bits == 32 ? sizeof(uint32_t) : sizeof(uint64_t));

        if (class->kind != UPMU_KIND_AUX && end > bytes)
            bytes = end;
    }
    return bytes;
}

/* Returns the boxes of a unit in the machine's list of units, for writing. */
static struct upmu_unit_info *listed_boxes(const struct upmu_unit *unit)
{
    return (struct upmu_unit_info *)(uintptr_t)unit->box;
}

static void unmap_boxes(struct upmu_unit *unit)
{
    struct upmu_unit_info *info = listed_boxes(unit);

    upmu_unit_shared_unmap(unit);
    for (unsigned i = 0; unit->maps && i < unit->boxes; i++) {
        if (info[i].mapped)
            port_mmio_unmap(unit->meter.machine->port, info[i].mapped, box_extent(unit->meter.pmu));
        info[i].mapped = NULL;
    }
}

static enum upmu_status map_boxes(struct upmu_unit *unit)
{
    struct upmu_unit_info *info = listed_boxes(unit);
    size_t bytes = box_extent(unit->meter.pmu);

    unit->maps = upmu_bank_type(&unit->meter.bank)->space == UPMU_SPACE_MMIO;
    for (unsigned i = 0; unit->maps && i < unit->boxes; i++) {
        info[i].mapped = port_mmio_map(unit->meter.machine->port, info[i].base, bytes);
        if (!info[i].mapped)
            return UPMU_ERR_NO_SPACE;
    }
    return upmu_unit_shared_map(unit);
}

bool upmu_unit_is_open(const struct upmu_machine *machine, const struct upmu_unit *unit)
{
    const struct upmu_unit *open = machine->open_units;

    while (open && open != unit)
        open = open->next_open;
    return open;
}

/* Does an open unit have this box? */
static bool is_open(const struct upmu_machine *machine, const struct upmu_unit_info *box)
{
    for (const struct upmu_unit *unit = machine->open_units; unit; unit = unit->next_open)
        if (box >= unit->box && box < unit->box + unit->boxes)
            return true;
    return false;
}

/*
 * May the `boxes` boxes from `info` on become a unit?  They must be in the machine's list, of one type, die and L3, and
 * in no open unit; a box of a CPU or core must be alone.  Returns UPMU_OK, or the refusal, which machine->why gets.
 */
static enum upmu_status check_boxes(struct upmu_machine *machine, const struct upmu_unit_info *info, unsigned boxes)
{
    const struct upmu_unit_list *list = machine->units;
    unsigned left;

    if (!list || info < list->unit || info >= list->unit + list->unit_count)
        return refuse_opening(machine, UPMU_ERR_INVALID);
    left = (unsigned)(list->unit + list->unit_count - info);
    if (!boxes || boxes > left || (boxes > 1 && upmu_uncore_is_narrow(&list->pmu[info->type])))
        return refuse_opening(machine, UPMU_ERR_INVALID);
    for (unsigned i = 0; i < boxes; i++) {
        if (info[i].type != info->type || info[i].package != info->package || info[i].die != info->die ||
            info[i].llc != info->llc)
            return refuse_opening(machine, UPMU_ERR_INVALID);
        if (is_open(machine, info + i))
            return refuse_box(machine, info + i);
    }
    return UPMU_OK;
}

#define DEAF "it ignores writes"

/* Unmap the boxes of a unit whose opening failed, and return `status`.  machine->why gets it and a faulted address. */
static UPMU_APART enum upmu_status refuse_unit(struct upmu_unit *unit, enum upmu_status status)
{
    struct upmu_why *why = &unit->meter.machine->why;

    unmap_boxes(unit);
    (void)upmu_why_refuse(why, status, unit->meter.pmu, status == UPMU_ERR_NO_PMU ? DEAF : NULL, 0, sizeof DEAF - 1u);
    why->length = 0; /* no text is refused: why->word, if set, is DEAF */
    why->address = unit->meter.bank.faulted;
    return status;
}

static enum upmu_status open_unit(struct upmu_unit *unit)
{
    struct upmu_machine *machine = unit->meter.machine;
    const struct upmu_unit_type *type = machine->units->pmu[unit->box->type].type;
    enum upmu_status status;

    if (type->space == UPMU_SPACE_PCI && !port_has_pci(machine->port))
        return upmu_why_hook_of(machine, "pci_read");
    if (type->space == UPMU_SPACE_MMIO && !port_has_mmio_map(machine->port))
        return upmu_why_hook_of(machine, "mmio_map");
    upmu_bank_init(&unit->meter.bank, unit->meter.pmu, machine->port, true, unit->registers);
    upmu_bank_begin_life(&unit->meter.bank, unit->meter.life);
    upmu_bank_reach(&unit->meter.bank, unit->box, unit->boxes);
    unit->meter.cpu = upmu_driver_choose(unit, NULL);
    if (!unit->meter.cpu)
        return refuse_opening(machine, UPMU_ERR_NO_CPU);
    status = map_boxes(unit);
    if (status == UPMU_OK)
        status = call_unit(unit, begin_life, NULL, false);
    return status == UPMU_OK ? status : refuse_unit(unit, status);
}

enum upmu_status upmu_unit_open(struct upmu_unit *unit, struct upmu_machine *machine,
                                const struct upmu_unit_info *info, unsigned boxes)
{
    enum upmu_status status;

    if (upmu_unit_is_open(machine, unit))
        return refuse_opening(machine, UPMU_ERR_STATE);
    memset(unit, 0, sizeof *unit);
    upmu_why_clear(&machine->why);
    status = check_boxes(machine, info, boxes);
    if (status != UPMU_OK)
        return status;
    if (!++machine->lives)
        machine->lives = 1;
    UPMU_STORE(unit->meter.machine, machine);
    UPMU_STORE(unit->meter.pmu, &machine->units->pmu[info->type].pmu);
    unit->meter.life = machine->lives;
    unit->meter.kind = upmu_placed_class(&unit->meter);
    unit->meter.number = info->number;
    unit->box = info;
    unit->boxes = (uint16_t)boxes;
    unit->base = unit->every = 1;
    status = open_unit(unit);
    if (status != UPMU_OK) {
        UPMU_STORE(unit->meter.machine, NULL);
        return status;
    }
    unit->next_open = machine->open_units;
    machine->open_units = unit;
    return UPMU_OK;
}

enum upmu_status upmu_unit_open_text(struct upmu_unit *unit, struct upmu_machine *machine, const char *path)
{
    struct upmu_unit_found found;
    enum upmu_status status;

    if (upmu_unit_is_open(machine, unit))
        return refuse_opening(machine, UPMU_ERR_STATE);
    UPMU_STORE(unit->meter.machine, NULL);
    status = machine->units ? upmu_unit_find(machine->units, UPMU_UNIT_PATH, 0, path, &found) : UPMU_ERR_NO_SUCH_PMU;
    if (status != UPMU_OK)
        return upmu_why_refuse(&machine->why, status, NULL, path, 0, upmu_text_length(path));
    return upmu_unit_open(unit, machine, found.unit, found.boxes);
}

static enum upmu_status restore_late(struct upmu_meter *meter, void *unused)
{
    enum upmu_status status = upmu_unit_shared_end(upmu_unit_of(meter));

    (void)unused;
    return upmu_claims_restore(meter) ? status : UPMU_ERR_PORT;
}

/*
 * End a unit that no CPU drives: its sessions leave.  If registers were not restored when the unit fell asleep, a CPU
 * that can drive it restores them.  Returns UPMU_OK, or UPMU_ERR_PORT if a register could not be restored.
 */
static enum upmu_status end_asleep(struct upmu_unit *unit)
{
    enum upmu_status status;

    while (unit->meter.sessions)
        (void)upmu_session_leave(&unit->meter, unit->meter.sessions, false);
    if (!upmu_bank_owes(&unit->meter.bank))
        return UPMU_OK;
    set_driver(&unit->meter, upmu_driver_choose(unit, NULL));
    status = call_unit(unit, restore_late, NULL, false);
    set_driver(&unit->meter, NULL);
    return status == UPMU_OK ? UPMU_OK : UPMU_ERR_PORT;
}

enum upmu_status upmu_unit_close(struct upmu_unit *unit)
{
    struct upmu_machine *machine = unit->meter.machine;
    enum upmu_status status;

    if (!machine)
        return UPMU_OK;
    status = call_unit(unit, end_life, NULL, false);
    if (status == UPMU_ERR_NO_CPU)
        status = end_asleep(unit);
    if (status != UPMU_OK && status != UPMU_ERR_PORT)
        return status;
    for (struct upmu_unit **link = &machine->open_units; *link; link = &(*link)->next_open)
        if (*link == unit) {
            *link = unit->next_open;
            break;
        }
    unmap_boxes(unit);
    UPMU_STORE(unit->meter.machine, NULL);
    return status;
}

/* ---- Polls, levels, facts ---- */

enum upmu_status upmu_unit_poll(struct upmu_unit *unit)
{
    return call_unit(unit, upmu_unit_fold, NULL, false);
}

struct level_read {
    struct upmu_level_place level;
    uint64_t value;
};

static enum upmu_status read_level(struct upmu_meter *meter, void *argument)
{
    struct level_read *read = argument;

    return port_rdmsr(meter->machine->port, read->level.msr, &read->value) ? UPMU_OK : UPMU_ERR_PORT;
}

enum upmu_status upmu_unit_level(struct upmu_unit *unit, const char *name, struct upmu_unit_level *out_level)
{
    struct level_read read = {.value = 0};
    enum upmu_status status;

    if (unit->meter.machine && !upmu_uncore_level_of(unit->meter.pmu, name, &read.level))
        return UPMU_ERR_NO_SUCH_NAME;
    status = call_unit(unit, read_level, &read, false);
    if (status != UPMU_OK)
        return status;
    if (!(read.value >> read.level.valid & 1u))
        return UPMU_ERR_NOT_COUNTED;
    *out_level = (struct upmu_unit_level){read.level.measure,
                                          read.value >> read.level.low & upmu_bits_ones(read.level.bits)};
    return UPMU_OK;
}

void upmu_unit_ask(const struct upmu_unit *unit, struct upmu_unit_facts *out_facts)
{
    memset(out_facts, 0, sizeof *out_facts);
    if (!unit->meter.machine)
        return;
    out_facts->cpu = unit->meter.cpu;
    out_facts->allowed_count = upmu_driver_list(unit, NULL, out_facts->allowed);
    out_facts->boxes = unit->boxes;
    out_facts->cost_ns = unit->cost_ns;
    out_facts->poll_interval_ns = upmu_unit_poll_interval(unit);
    out_facts->every = unit->every;
    out_facts->rotations = unit->rotations;
    out_facts->firmware = unit->meter.firmware;
    out_facts->accesses = unit->meter.bank.accesses;
}

#endif
