/* SPDX-License-Identifier: MIT */
/*
 * Machines with uncore units at work: finding a box, checks of accesses and of run_on_cpu, MSRs of units and global
 * registers, RDPMC of AMD's units, CPUID of the topology.
 */
#include "models/sim/sim_uncore_intern.h"

#define APIC_PACKAGE_SHIFT 6u
#define APIC_LLC_SHIFT 4u

#define CLIENT_GLOBAL_BITS UINT64_C(0xe000000f)
/* U-box of Nehalem-EX, C00H: 0 enable, 4:1 PMI cores, 28 all boxes, 29 reset, 31 freeze (LX NHMEX_U_PMON_GLOBAL_*). */
#define EX_GLOBAL_BITS UINT64_C(0xb000001f)
#define EX_RESET_ALL SIM_BIT(29)
#define NHM_GLOBAL_BITS (UINT64_C(0xff) | SIM_BIT(32) | UINT64_C(0xf) << 48 | SIM_BIT(63))

/* ---- Boxes ---- */

static bool su_same_text(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

struct upmu_sim_unit *upmu_sim_unit(struct upmu_sim_uncore *u, const char *type, unsigned die, unsigned index)
{
    for (unsigned i = 0; i < u->units; i++) {
        if (u->unit[i].die == die && u->unit[i].index == index && su_same_text(u->unit[i].type->name, type))
            return &u->unit[i];
    }
    return NULL;
}

void upmu_sim_hand_over(struct upmu_sim_uncore *u)
{
    for (unsigned i = 0; i < u->units; i++)
        u->unit[i].manager = -1;
}

/* ---- Counts and checks of each access to a unit, and of each numbered access ---- */

void upmu_sim_uncore_touch(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, uint32_t address, bool writes)
{
    int8_t cpu = (int8_t)u->sim->current;

    u->sim->now_ns += u->ns_per_access;
    *(writes ? &u->unit_writes : &u->unit_reads) += 1;
    if (unit->type->space == UPMU_SIM_SPACE_MSR && u->dies_excluded >> unit->die & 1u &&
        su_on(u, UPMU_SIM_RULE_CHECK_U_DIE))
        upmu_sim_violate(u->sim, "a unit's MSR on an excluded die", address, unit->die);
    if (!writes || u->many_managers)
        return;
    if (unit->manager >= 0 && unit->manager != cpu && su_on(u, UPMU_SIM_RULE_CHECK_U_MANAGER))
        upmu_sim_violate(u->sim, "a unit is written by two CPUs", address, (uint64_t)cpu);
    unit->manager = cpu;
}

void upmu_sim_uncore_count_access(struct upmu_sim *sim, uint32_t address)
{
    struct upmu_sim_uncore *u = sim->uncore;

    if (u == NULL)
        return;
    if (sim->cpu[sim->current].offline && su_on(u, UPMU_SIM_RULE_CHECK_U_RUN_ON_CPU))
        upmu_sim_violate(sim, "an access on a CPU that is offline", address, sim->current);
    if (u->accesses_left != 0 && --u->accesses_left == 0 && su_on(u, UPMU_SIM_RULE_CHECK_U_ACCESSES))
        upmu_sim_violate(sim, "more accesses than allowed", address, 0);
}

/* ---- run_on_cpu ---- */

void upmu_sim_uncore_remote_begin(struct upmu_sim *sim)
{
    struct upmu_sim_uncore *u = sim->uncore;

    if (u == NULL)
        return;
    u->remote_calls++;
    if (u->remote_depth != 0 && su_on(u, UPMU_SIM_RULE_CHECK_U_RUN_ON_CPU))
        upmu_sim_violate(sim, "run_on_cpu inside run_on_cpu", 0, sim->current);
    if (sim->cpu[sim->current].in_nmi && su_on(u, UPMU_SIM_RULE_CHECK_U_RUN_ON_CPU))
        upmu_sim_violate(sim, "run_on_cpu in an NMI", 0, sim->current);
    u->remote_depth++;
}

void upmu_sim_uncore_remote_end(struct upmu_sim *sim)
{
    if (sim->uncore != NULL)
        sim->uncore->remote_depth--;
}

/* ---- MSRs ---- */

/* The index, among the boxes of its type and die, of the box that is the executing CPU's or its core's. */
static unsigned su_own_index(const struct upmu_sim_uncore *u, const struct upmu_sim_unit *unit)
{
    const struct upmu_sim_place *place = &u->place[u->sim->current];

    if (!su_on(u, UPMU_SIM_RULE_U_OWN))
        return 0;
    return unit->type->quirks & UPMU_SIM_QUIRK_CORE ? place->core
                                                    : place->core * su_threads(u->machine) + place->thread;
}

/*
 * Can the executing CPU access the MSRs of a box? A CPU accesses the boxes of its die; a box of the type quirk LLC
 * (AMD's L3), CORE or CPU only if the box is its own LLC's, its core's or its own.
 */
static bool su_seen(const struct upmu_sim_uncore *u, const struct upmu_sim_unit *unit)
{
    const struct upmu_sim_place *place = &u->place[u->sim->current];

    if (unit->type->space != UPMU_SIM_SPACE_MSR)
        return false;
    if (unit->type->quirks & (UPMU_SIM_QUIRK_CPU | UPMU_SIM_QUIRK_CORE) && unit->index != su_own_index(u, unit))
        return false;
    if (!su_on(u, UPMU_SIM_RULE_U_DIE))
        return unit->die == 0 && (unit->llc == 0 || !(unit->type->quirks & UPMU_SIM_QUIRK_LLC));
    return unit->type->quirks & UPMU_SIM_QUIRK_LLC ? unit->llc == place->llc : unit->die == place->die;
}

static struct upmu_sim_unit *su_box_at(struct upmu_sim_uncore *u, uint32_t msr, struct su_register *out_at)
{
    for (unsigned i = 0; i < u->units; i++) {
        if (!su_seen(u, &u->unit[i]))
            continue;
        *out_at = upmu_sim_uncore_box_find(&u->unit[i], msr - (uint32_t)u->unit[i].base);
        if (out_at->kind != SU_NOTHING)
            return &u->unit[i];
    }
    return NULL;
}

enum su_answer { SU_NOT_MINE, SU_DONE, SU_FAULTS };

static bool su_global_stranger(const struct upmu_sim_uncore *u, unsigned package)
{
    for (unsigned i = 0; i < u->units; i++) {
        if (su_package(u, u->unit[i].die) == package && upmu_sim_uncore_count_stranger(u, &u->unit[i]))
            return true;
    }
    return false;
}

static enum su_answer su_write_global(struct upmu_sim_uncore *u, unsigned package, uint64_t value)
{
    const struct upmu_sim_machine *machine = u->machine;
    struct upmu_sim_global_state *global = &u->global[package];
    uint64_t known = machine->global == UPMU_SIM_GLOBAL_NHM  ? NHM_GLOBAL_BITS
                     : machine->global == UPMU_SIM_GLOBAL_EX ? EX_GLOBAL_BITS
                                                             : CLIENT_GLOBAL_BITS;
    bool stranger = su_global_stranger(u, package);

    switch (machine->global) {
    case UPMU_SIM_GLOBAL_LATCH:
        if (value >> machine->freeze_bit & 1u)
            global->frozen = true;
        else if (value >> machine->unfreeze_bit & 1u)
            global->frozen = false;
        break;
    case UPMU_SIM_GLOBAL_LEVEL:
        global->frozen = value & 1u;
        break;
    default:
        if (value & ~known && su_on(u, UPMU_SIM_RULE_U_RESERVED))
            return SU_FAULTS;
        global->control = value & known;
        break;
    }
    if (machine->global == UPMU_SIM_GLOBAL_EX) {
        for (unsigned i = 0; value & EX_RESET_ALL && i < u->units; i++)
            if (su_package(u, u->unit[i].die) == package)
                upmu_sim_uncore_box_reset(u, &u->unit[i]);
        global->control &= ~EX_RESET_ALL;
    }
    if (stranger && !su_global_stranger(u, package) && su_on(u, UPMU_SIM_RULE_CHECK_U_FREEZE))
        upmu_sim_violate(u->sim, "the global control stops a stranger's counter", machine->global_control, value);
    return SU_DONE;
}

static uint64_t su_read_global(const struct upmu_sim_uncore *u, unsigned package)
{
    if (u->machine->global == UPMU_SIM_GLOBAL_LATCH)
        return 0;
    return u->machine->global == UPMU_SIM_GLOBAL_LEVEL ? u->global[package].frozen : u->global[package].control;
}

/*
 * Access a global register of the executing CPU's package. A status bit is cleared by a written 1: on NHM and clients
 * in the register after the status (which reads 0; a write of the status itself is #GP), on others in the status.
 * Returns SU_NOT_MINE if the MSR is no global register of the machine.
 */
static enum su_answer su_global(struct upmu_sim_uncore *u, bool writes, uint32_t msr, uint64_t *value)
{
    const struct upmu_sim_machine *machine = u->machine;
    unsigned package = u->place[u->sim->current].package;
    bool after = machine->global == UPMU_SIM_GLOBAL_NHM || machine->global == UPMU_SIM_GLOBAL_CLIENT;

    if (machine->global == UPMU_SIM_GLOBAL_NONE || machine->global_memory != 0)
        return SU_NOT_MINE;
    if (msr == machine->global_control) {
        if (writes)
            return su_write_global(u, package, *value);
        *value = su_read_global(u, package);
        return SU_DONE;
    }
    if (machine->global_status == 0)
        return SU_NOT_MINE;
    if (msr == machine->global_status) {
        if (writes && after)
            return SU_FAULTS;
        if (writes)
            u->global[package].status &= ~*value;
        else
            *value = u->global[package].status;
        return SU_DONE;
    }
    if (!after || msr != machine->global_status + 1u)
        return SU_NOT_MINE;
    if (writes)
        u->global[package].status &= ~*value;
    else
        *value = 0;
    return SU_DONE;
}

static enum su_answer su_known_value(const struct upmu_sim_uncore *u, bool writes, uint32_t msr, uint64_t *value)
{
    const struct upmu_sim_msr_value *row = u->machine->values;

    for (; row != NULL && row->msr != 0; row++) {
        if (row->msr != msr)
            continue;
        if (writes)
            return SU_FAULTS;
        *value = row->value[u->place[u->sim->current].package];
        return SU_DONE;
    }
    return SU_NOT_MINE;
}

static enum su_answer su_msr(struct upmu_sim_uncore *u, bool writes, uint32_t msr, uint64_t *value)
{
    enum su_answer answer = su_global(u, writes, msr, value);
    struct su_register at;
    struct upmu_sim_unit *unit;

    if (answer == SU_NOT_MINE)
        answer = su_known_value(u, writes, msr, value);
    if (answer != SU_NOT_MINE)
        return answer;
    unit = su_box_at(u, msr, &at);
    if (unit == NULL)
        return SU_NOT_MINE;
    if (unit->absent) {
        if (!writes)
            *value = 0;
        return su_on(u, UPMU_SIM_RULE_U_ABSENT_MSR) ? SU_FAULTS : SU_DONE;
    }
    upmu_sim_uncore_touch(u, unit, msr, writes);
    if (writes)
        return upmu_sim_uncore_box_write(u, unit, at, 64, *value) ? SU_DONE : SU_FAULTS;
    *value = upmu_sim_uncore_box_read(u, unit, at);
    return SU_DONE;
}

bool upmu_sim_uncore_msr(struct upmu_sim *sim, bool writes, uint32_t msr, uint64_t *value, bool *out_done)
{
    enum su_answer answer = sim->uncore != NULL ? su_msr(sim->uncore, writes, msr, value) : SU_NOT_MINE;

    *out_done = answer == SU_DONE;
    return answer != SU_NOT_MINE;
}

/*
 * Read a counter of a unit that the executing CPU sees by RDPMC, on AMD's machines. Indices: 6 to 9 northbridge or data
 * fabric, 10 to 15 L3, from 16 on the fabric's fifth and later counters. Returns false: no unit has this index.
 */
bool upmu_sim_uncore_rdpmc(struct upmu_sim *sim, uint32_t index, uint64_t *out_value)
{
    struct upmu_sim_uncore *u = sim->uncore;
    bool llc = index >= 10 && index < 16;
    uint32_t counter = llc ? index - 10u : index < 10 ? index - 6u : index - 12u;

    if (u == NULL || u->core.amd == NULL || index < 6 || index >= 32)
        return false;
    for (unsigned i = 0; i < u->units; i++) {
        struct upmu_sim_unit *unit = &u->unit[i];

        if (!su_seen(u, unit) || llc != (unit->type->select == 0xc0010230u) ||
            (!llc && unit->type->select != 0xc0010240u) || counter >= unit->type->counters)
            continue;
        upmu_sim_uncore_touch(u, unit, index, false);
        *out_value = unit->counter[counter].value;
        return true;
    }
    return false;
}

/* ---- CPUID: APIC numbers, and how many cores and caches a package has ---- */

static uint32_t su_apic(const struct upmu_sim_uncore *u, unsigned cpu)
{
    const struct upmu_sim_place *place = &u->place[cpu];
    uint32_t llc = (uint32_t)place->llc - (uint32_t)place->package * u->machine->dies * u->machine->llcs;

    return (uint32_t)place->package << APIC_PACKAGE_SHIFT | llc << APIC_LLC_SHIFT |
           (place->core * su_threads(u->machine) + place->thread);
}

static uint32_t su_cores(const struct upmu_sim_uncore *u)
{
    return u->machine->cores != 0 ? u->machine->cores
                                  : u->machine->cpus / u->machine->packages / su_threads(u->machine);
}

static void su_leaf_extended(const struct upmu_sim_uncore *u, unsigned cpu, uint32_t leaf, uint32_t subleaf,
                             uint32_t out[4])
{
    const struct upmu_sim_place *place = &u->place[cpu];

    if (leaf == 0x80000008u) {
        out[2] = APIC_PACKAGE_SHIFT << 12 | (su_cores(u) - 1u);
    } else if (leaf == 0x8000001du && subleaf < 4) {
        out[0] = (subleaf == 3 ? ((1u << APIC_LLC_SHIFT) - 1u) << 14 | 3u << 5 : 1u << 5) | (subleaf == 0 ? 1u : 3u);
        out[1] = 63;
        out[2] = 1023;
    } else if (leaf == 0x8000001eu) {
        out[0] = su_apic(u, cpu);
        out[1] = place->core;
        out[2] = place->die | (uint32_t)(u->machine->dies - 1u) << 8;
    }
}

void upmu_sim_uncore_cpuid(const struct upmu_sim *sim, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    const struct upmu_sim_uncore *u = sim->uncore;

    if (u == NULL)
        return;
    if (leaf == 0 && u->machine->aperf && out[0] < 6)
        out[0] = 6;
    if (leaf == 6) {
        out[0] |= u->machine->thermal;
        out[2] |= u->machine->aperf;
    }
    if (leaf == 1) {
        out[1] = (out[1] & 0xff00u) | (uint32_t)(su_cores(u) * su_threads(u->machine)) << 16 | su_apic(u, cpu) << 24;
    } else if (u->core.amd != NULL) {
        su_leaf_extended(u, cpu, leaf, subleaf, out);
    } else if (leaf == 4) {
        out[0] = subleaf < 4 ? (su_cores(u) - 1u) << 26 | (subleaf == 3 ? 63u << 14 | 3u << 5 | 3u : 1u << 5 | 1u) : 0;
    } else if (leaf == 0xb) {
        out[0] = subleaf == 1 ? APIC_PACKAGE_SHIFT : subleaf == 0 ? su_threads(u->machine) - 1u : 0;
        out[1] = subleaf == 0 ? su_threads(u->machine) : subleaf == 1 ? su_cores(u) * su_threads(u->machine) : 0;
        out[2] = (subleaf & 0xffu) | (subleaf < 2 ? (subleaf + 1u) << 8 : 0);
        out[3] = su_apic(u, cpu);
    }
}
