/* SPDX-License-Identifier: MIT */
/*
 * Set up a machine with uncore units: the profile of its CPUs, where each CPU is, its boxes.
 */
#include "models/sim/sim_uncore_intern.h"

/* Return the value that a counter of a box has at the begin: made up, and different on each die. */
static uint64_t su_found(const struct upmu_sim_unit *unit, unsigned counter)
{
    uint64_t word = ((uint64_t)unit->die + 1u) * UINT64_C(0x9e3779b97f4a7c15) ^
                    (uint64_t)(unit->index + 1u) * UINT64_C(0xc2b2ae3d27d4eb4f) ^
                    (uint64_t)(counter + 1u) * UINT64_C(0x165667b19e3779f9) ^ (uint64_t)unit->type->name[0] << 37;

    return word ^ word >> 29;
}

static void su_place_box(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit)
{
    const struct upmu_sim_unit_row *row = unit->row;
    unsigned index = unit->index, package = su_package(u, unit->die), inner = index;
    uint32_t where = (uint32_t)u->machine->segment << 16;

    switch (unit->type->space) {
    case UPMU_SIM_SPACE_MSR:
        if (row->list != NULL)
            unit->base = (uint64_t)(int64_t)(int16_t)row->list[index];
        else
            unit->base = unit->type->quirks & (UPMU_SIM_QUIRK_LLC | UPMU_SIM_QUIRK_CPU | UPMU_SIM_QUIRK_CORE)
                             ? 0
                             : (uint64_t)row->step * index;
        break;
    case UPMU_SIM_SPACE_PCI:
        unit->base = where | (uint32_t)u->machine->bus[package][row->place[index].bus] << 8 | row->place[index].devfn;
        if (index < row->seconds)
            unit->second =
                where | (uint32_t)u->machine->bus[package][row->second[index].bus] << 8 | row->second[index].devfn;
        break;
    default:
        unit->base = row->physical + UPMU_SIM_DIE_BYTES * unit->die;
        if (row->group != 0) {
            unit->base += (uint64_t)row->group_step * (index / row->group);
            inner = index % row->group;
        }
        unit->base += (uint64_t)row->step * inner;
        break;
    }
}

/* IA32_THERM_STATUS of a CPU, if the box has it: a valid reading (bit 31), 40 degrees and more below the limit. */
static void su_set_temperature(struct upmu_sim_unit *unit)
{
    struct su_register at = {SU_NOTHING, 0, false, false};

    if (unit->type->quirks & UPMU_SIM_QUIRK_CPU)
        at = upmu_sim_uncore_box_find(unit, 0x19c);
    if (at.kind == SU_COUNTER)
        unit->counter[at.index].value = SIM_BIT(31) | (uint64_t)(40u + unit->index) << 16;
}

static void su_add_box(struct upmu_sim_uncore *u, const struct upmu_sim_unit_row *row, unsigned die, unsigned index)
{
    struct upmu_sim_unit *unit;

    if (u->units >= UPMU_SIM_UNITS)
        return;
    unit = &u->unit[u->units++];
    unit->type = row->type;
    unit->row = row;
    unit->die = (uint8_t)die;
    unit->llc = (uint8_t)(die * u->machine->llcs + (row->type->quirks & UPMU_SIM_QUIRK_LLC ? index : 0));
    unit->index = (uint8_t)index;
    unit->number = row->ids != NULL ? row->ids[index] : (uint16_t)index;
    unit->absent = row->absent >> index & 1u;
    unit->manager = -1;
    su_place_box(u, unit);
    for (unsigned i = 0; i < row->type->counters; i++)
        unit->counter[i].value = su_found(unit, i) & upmu_sim_unit_range(u, unit, i) >> 2;
    if (row->type->fixed_width != 0)
        unit->counter[row->type->counters].value =
            su_found(unit, row->type->counters) & upmu_sim_unit_range(u, unit, row->type->counters) >> 2;
    su_set_temperature(unit);
}

static void su_add_boxes(struct upmu_sim_uncore *u)
{
    for (const struct upmu_sim_unit_row *row = u->machine->units; row->type != NULL; row++) {
        unsigned count = row->type->quirks & UPMU_SIM_QUIRK_LLC ? u->machine->llcs : row->count;

        if (row->type->quirks & (UPMU_SIM_QUIRK_CPU | UPMU_SIM_QUIRK_CORE))
            count = u->machine->cpus / su_dies(u->machine);
        if (row->type->quirks & UPMU_SIM_QUIRK_CORE)
            count /= su_threads(u->machine);
        for (unsigned die = 0; die < su_dies(u->machine); die++) {
            for (unsigned i = 0; i < count; i++)
                su_add_box(u, row, die, i);
        }
    }
}

void upmu_sim_uncore_init(struct upmu_sim_uncore *u, struct upmu_sim *sim, const struct upmu_sim_machine *machine)
{
    unsigned dies = su_dies(machine);

    __builtin_memset(u, 0, sizeof *u);
    u->machine = machine;
    u->core = *upmu_sim_profile(machine->core);
    u->core.name = machine->name;
    u->core.alias = NULL;
    u->core.about = machine->about;
    if (machine->signature != 0)
        u->core.signature = machine->signature;
    u->core.flags &= ~UPMU_SIM_SMT; /* each CPU is a core of its own, without hyper-threads */
    upmu_sim_init(sim, &u->core, machine->cpus);
    u->sim = sim;
    sim->uncore = u;
    upmu_sim_uncore_bus_fill(u, &sim->port);
    if (machine->segment != 0)
        sim->port.own_unit = upmu_sim_uncore_port_own;
    for (unsigned i = 0; i < sim->cpus; i++) {
        struct upmu_sim_place *place = &u->place[i];

        place->die = (uint8_t)(i % dies);
        place->package = (uint8_t)(place->die / machine->dies);
        place->core = (uint8_t)(i / dies / su_threads(machine));
        place->thread = (uint8_t)(i / dies % su_threads(machine));
        place->llc = (uint8_t)(place->die * machine->llcs + place->core % machine->llcs);
    }
    for (unsigned i = 0; i < machine->packages; i++)
        u->global[i].frozen = machine->starts_frozen && sim_on(sim, UPMU_SIM_RULE_U_STARTS_FROZEN);
    su_add_boxes(u);
}
