/* SPDX-License-Identifier: MIT */
/*
 * Hooks that tell the library about the machine: where a CPU is; the host's own devices of the machine "lab", with
 * their paths. No other .c file of the model uses the types of upmu/unit.h.
 */
#include <upmu/unit.h>

#include "models/sim/sim_uncore_intern.h"

#define NONE UPMU_SIM_NO_REGISTER
#define PLAIN_BITS UINT64_C(0xff84ffff)
#define LAB_RATE_MHZ 3000u

bool upmu_sim_uncore_port_place(void *context, struct upmu_cpu *cpu, struct upmu_cpu_place *out_place)
{
    const struct upmu_sim *sim = context;
    const struct upmu_sim_uncore *u = sim->uncore;

    for (unsigned i = 0; u != NULL && i < sim->cpus; i++) {
        if (sim->cpu[i].bound != cpu)
            continue;
        out_place->package = u->place[i].package;
        out_place->die = u->place[i].die % u->machine->dies;
        out_place->node = u->place[i].die;
        out_place->llc = u->place[i].llc;
        return true;
    }
    return false;
}

/* ---- The hook own_unit of the machine "lab": types and paths of the host's own devices ---- */

static const struct upmu_unit_constraint copro_constraints[] = {{0x36, 0xff, 1}, {0, 0, 0}};

/* clang-format off */
static const struct upmu_unit_type lab_types[] = {
    {.name = "rackmeter", .pmu = "lab_rackmeter", .title = "power meter of a rack", .prefix = "",
     .style = UPMU_UNIT_SELECT,
     .space = UPMU_SPACE_MSR, .counters = 3, .width = 40, .select_step = 2, .counter_step = 2, .register_bits = 64,
     .enable_bit = 22, .scope = UPMU_SCOPE_DIE, .rdpmc = 0xffff, .control = NONE, .select = 0, .counter = 1,
     .select_mask = PLAIN_BITS, .rate_mhz = LAB_RATE_MHZ},
    {.name = "bladelink", .pmu = "lab_bladelink", .title = "link between blades", .prefix = "", .style = UPMU_UNIT_BOX,
     .space = UPMU_SPACE_PCI, .counters = 4, .width = 48, .select_step = 8, .counter_step = 8, .register_bits = 64,
     .enable_bit = 22, .filters = 1, .scope = UPMU_SCOPE_DIE, .rdpmc = 0xffff, .control = 0x110, .select = 0x120,
     .counter = 0x140, .filter = {0x160}, .freeze = 0x100, .reset = 3, .select_mask = PLAIN_BITS | UINT64_C(0xff) << 32,
     .filter_mask = {0xffff}, .rate_mhz = LAB_RATE_MHZ},
    {.name = "vectorcopro", .pmu = "lab_vectorcopro", .title = "vector coprocessor", .prefix = "",
     .style = UPMU_UNIT_BOX,
     .space = UPMU_SPACE_MMIO, .counters = 3, .width = 56, .select_step = 8, .counter_step = 8, .register_bits = 64,
     .enable_bit = 22, .filters = 1, .scope = UPMU_SCOPE_DIE, .rdpmc = 0xffff, .control = 0, .select = 0x10,
     .counter = 0x40, .filter = {0x60}, .freeze = 0x100, .reset = 3, .select_mask = PLAIN_BITS,
     .filter_mask = {0xffffffff}, .rate_mhz = LAB_RATE_MHZ, .constraints = copro_constraints},
    {.name = "chipsensor", .pmu = "lab_chipsensor", .title = "sensor of a chip", .prefix = "", .style = UPMU_UNIT_FREE,
     .space = UPMU_SPACE_MMIO, .counters = 2, .width = 64, .counter_step = 8, .register_bits = 64, .enable_bit = 0xff,
     .scope = UPMU_SCOPE_DIE, .rdpmc = 0xffff, .control = NONE, .select = NONE, .counter = 0x10,
     .rate_mhz = LAB_RATE_MHZ},
};

/* Paths of the devices: index 1 is the type as in lab_types, index 2 the package, index 3 the device's number. */
static const char *const lab_paths[][2][2] = {
    {{"rack1/rackmeter0", "rack1/rackmeter1"}, {"rack2/rackmeter0", "rack2/rackmeter1"}},
    {{"rack1/blade3/bladelink0", "rack1/blade3/bladelink1"}, {"rack1/blade4/bladelink0", "rack1/blade4/bladelink1"}},
    {{"blade4/cpu0/vectorcopro0", "blade4/cpu0/vectorcopro1"},
     {"blade4/cpu1/vectorcopro0", "blade4/cpu1/vectorcopro1"}},
    {{"blade4/cpu0/core2/chipsensor0", NULL}, {"blade4/cpu1/core2/chipsensor0", NULL}},
};
/* clang-format on */

bool upmu_sim_uncore_port_own(void *context, unsigned i, struct upmu_unit_info *out_info,
                              const struct upmu_unit_type **out_type)
{
    const struct upmu_sim *sim = context;
    const struct upmu_sim_uncore *u = sim->uncore;
    const struct upmu_sim_unit *unit;
    unsigned type = 0;

    if (u == NULL || i >= u->units)
        return false;
    unit = &u->unit[i];
    while (type < sizeof lab_types / sizeof *lab_types && lab_types[type].name[0] != unit->type->name[0])
        type++;
    if (type == sizeof lab_types / sizeof *lab_types)
        return false;
    __builtin_memset(out_info, 0, sizeof *out_info);
    *out_type = &lab_types[type];
    out_info->base = unit->base + (unit->type->space == UPMU_SIM_SPACE_MSR ? unit->type->select : 0);
    out_info->name = lab_paths[type][unit->die][unit->index];
    out_info->address = UPMU_UNIT_NO_ADDRESS;
    out_info->number = unit->number;
    out_info->package = unit->die;
    return true;
}
