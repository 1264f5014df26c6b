/* SPDX-License-Identifier: MIT */
/*
 * Registers that several units need.  An MSR of the package is a row of each unit's bank (kind AUX).  A register that
 * stops all units of a die is named by a processor's own table of units (struct upmu_unit_stop), and is in no bank.
 * Called by unit.c as units begin and end.
 */
#include "core/engine/unit_shared.h"
#include "core/hw/bank.h"
#include "core/hw/port_call.h"
#include "core/hw/register.h"
#include "core/hw/space.h"
#include "core/hw/unit_backend.h"

#if UPMU_UNCORE

#define STOPPED UINT64_C(1)

/* ---- Registers that stop all units of a die ---- */

/* The first of these registers from number `i` on that stops a unit; NULL: none does, or nothing stops its counters. */
static struct upmu_unit_stop *stop_from(const struct upmu_unit *unit, unsigned i)
{
    struct upmu_unit_list *list = unit->meter.machine->units;
    const struct upmu_uncore_pmu *pmu = &list->pmu[unit->box->type];

    for (; i < UPMU_UNIT_STOPS && pmu->packed && pmu->type->style != UPMU_UNIT_FREE; i++) {
        struct upmu_unit_stop *stop = &list->search.stop[i];

        if (stop->address && stop->package == unit->box->package && stop->die == unit->box->die)
            return stop;
    }
    return NULL;
}

static struct upmu_unit_stop *next_stop(const struct upmu_unit *unit, const struct upmu_unit_stop *stop)
{
    return stop_from(unit, (unsigned)(stop - unit->meter.machine->units->search.stop) + 1u);
}

/* Is another unit that this register can stop open (with `live`: at work)? */
static bool is_needed(const struct upmu_unit *unit, const struct upmu_unit_stop *stop, bool live)
{
    const struct upmu_unit *other = unit->meter.machine->open_units;

    for (; other; other = other->next_open)
        if (other != unit && (other->meter.live || !live) && stop_from(other, 0) &&
            stop->package == other->box->package && stop->die == other->box->die)
            return true;
    return false;
}

/* Set or clear the bit that stops units, unless it is so.  Returns false where the register faulted or is gone. */
static bool set_stop(struct upmu_unit *unit, const struct upmu_unit_stop *stop, bool stopped, bool *out_changed)
{
    const struct upmu_port *port = unit->meter.machine->port;
    struct upmu_bank *bank = &unit->meter.bank;
    struct upmu_place_in_space place = {.mapped = stop->mapped,
                                        .address = (uint32_t)stop->address,
                                        .space = stop->in_memory ? UPMU_SPACE_MMIO : UPMU_SPACE_MSR,
                                        .bits = 32};
    uint64_t value;

    *out_changed = false;
    if (!upmu_space_read(port, &place, &bank->accesses.reads, &value) || (stop->in_memory && value == UINT32_MAX))
        return upmu_bank_note_fault(bank, place.address);
    if ((value & STOPPED) == (stopped ? STOPPED : 0))
        return true;
    *out_changed = upmu_space_write(port, &place, &bank->accesses.writes, value ^ STOPPED);
    return *out_changed || upmu_bank_note_fault(bank, place.address);
}

bool upmu_unit_shared_is_local(const struct upmu_unit *unit)
{
    const struct upmu_unit_stop *stop = stop_from(unit, 0);

    while (stop && stop->in_memory)
        stop = next_stop(unit, stop);
    return stop;
}

enum upmu_status upmu_unit_shared_map(const struct upmu_unit *unit)
{
    for (struct upmu_unit_stop *stop = stop_from(unit, 0); stop; stop = next_stop(unit, stop)) {
        if (!stop->in_memory || stop->mapped)
            continue;
        if (port_has_mmio_map(unit->meter.machine->port))
            stop->mapped = port_mmio_map(unit->meter.machine->port, stop->address, sizeof(uint32_t));
        if (!stop->mapped)
            return UPMU_ERR_NO_SPACE;
    }
    return UPMU_OK;
}

void upmu_unit_shared_unmap(const struct upmu_unit *unit)
{
    for (struct upmu_unit_stop *stop = stop_from(unit, 0); stop; stop = next_stop(unit, stop))
        if (stop->mapped && !is_needed(unit, stop, false)) {
            port_mmio_unmap(unit->meter.machine->port, stop->mapped, sizeof(uint32_t));
            stop->mapped = NULL;
        }
}

enum upmu_status upmu_unit_shared_begin(struct upmu_unit *unit)
{
    bool changed;

    for (struct upmu_unit_stop *stop = stop_from(unit, 0); stop; stop = next_stop(unit, stop)) {
        if (!set_stop(unit, stop, false, &changed))
            return UPMU_ERR_PORT;
        stop->found |= changed;
    }
    return UPMU_OK;
}

/* ---- An MSR of the package, which is in the banks of several units ---- */

/*
 * Return the row of an MSR that several units of a package change, the last one of the unit's table; UPMU_NO_ROW: the
 * unit needs no such MSR.
 */
static unsigned shared_row(const struct upmu_unit *unit)
{
    unsigned last = unit->meter.pmu->table->row_count - 1u;

    return upmu_register_class_of(unit->meter.pmu, last)->kind == UPMU_KIND_AUX ? last : UPMU_NO_ROW;
}

/* If another unit at work needs the register of shared_row(), give it the found value: that unit will restore it. */
static void pass_on_register(struct upmu_unit *unit)
{
    struct upmu_bank *bank = &unit->meter.bank;
    unsigned row = shared_row(unit), k;

    if (row == UPMU_NO_ROW || !(bank->state[row] & UPMU_ROW_FOUND))
        return;
    for (struct upmu_unit *other = unit->meter.machine->open_units; other; other = other->next_open) {
        k = shared_row(other);
        if (other == unit || !other->meter.live || other->box->package != unit->box->package || k == UPMU_NO_ROW ||
            other->meter.bank.rows[k].address != bank->rows[row].address)
            continue;
        /* All units write the same bits. A bit that either unit found other than they write it was so originally. */
        other->meter.bank.found[k] ^= (other->meter.bank.found[k] ^ bank->found[row]) &
                                      (bank->found[row] ^ other->meter.bank.shadow[k]);
        upmu_bank_spare_row(bank, row);
        return;
    }
}

enum upmu_status upmu_unit_shared_end(struct upmu_unit *unit)
{
    enum upmu_status status = UPMU_OK;
    bool changed;

    pass_on_register(unit);
    for (struct upmu_unit_stop *stop = stop_from(unit, 0); stop; stop = next_stop(unit, stop)) {
        if (!stop->found || is_needed(unit, stop, true))
            continue;
        if (set_stop(unit, stop, true, &changed))
            stop->found = false;
        else
            status = UPMU_ERR_PORT;
    }
    return status;
}

#endif
