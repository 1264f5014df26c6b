/* SPDX-License-Identifier: MIT */
/*
 * Which CPU drives a unit.
 */
#include "core/engine/driver.h"
#include "core/hw/bank.h"
#include "core/hw/port_call.h"

#if UPMU_UNCORE

/* ---- Where a CPU is ---- */

/* Kinds of levels in CPUID leaf 1FH, ECX[15:8] (Intel SDM vol 2, CPUID). */
#define LEVEL_DIE 5u

static unsigned log2_above(unsigned count)
{
    unsigned bits = 0;

    while (bits < 16 && (1u << bits) < count)
        bits++;
    return bits;
}

/* Leaf 1FH or 0BH: what of the APIC's number stands above a package, and above what is in a die. */
static bool place_by_levels(const struct upmu_port *port, uint32_t leaf, struct upmu_cpu_place *place)
{
    unsigned below = 0, die = 0, package;
    bool has_die = false, any = false;
    uint32_t out[4], number = 0;

    for (unsigned i = 0; i < 8; i++) {
        port_cpuid(port, leaf, i, out);
        if (!(out[2] >> 8 & 0xffu))
            break;
        if ((out[2] >> 8 & 0xffu) == LEVEL_DIE) {
            die = below;
            has_die = true;
        }
        below = out[0] & 31u;
        number = out[3];
        any = true;
    }
    package = below;
    place->package = (uint16_t)(number >> package);
    place->die = (uint16_t)(has_die ? (number & ((UINT32_C(1) << package) - 1u)) >> die : 0);
    return any;
}

static void place_by_cpuid(const struct upmu_port *port, struct upmu_cpu_place *place)
{
    uint32_t first[4], out[4], number, highest;
    bool amd, levels;

    port_cpuid(port, 0, 0, first);
    amd = first[1] == 0x68747541u || first[1] == 0x6f677948u; /* "Auth", "Hygo" */
    port_cpuid(port, 1, 0, out);
    number = out[1] >> 24;
    levels = first[0] >= 0x1f && place_by_levels(port, 0x1f, place);
    if (!levels && first[0] >= 0xb)
        levels = place_by_levels(port, 0xb, place);
    if (first[0] >= 0xb) {
        port_cpuid(port, 0xb, 0, out);
        if (out[2] >> 8 & 0xffu)
            number = out[3];
    }
    port_cpuid(port, 0x80000000u, 0, out);
    highest = out[0];
    /* AMD APM vol 3: 8000_0008H ECX[15:12] is how many bits of an APIC id are within its processor, or 0. */
    if (amd && !levels && highest >= 0x80000008u) {
        port_cpuid(port, 0x80000008u, 0, out);
        if (out[2] >> 12 & 0xfu)
            place->package = (uint16_t)(number >> (out[2] >> 12 & 0xfu));
    }
    /* AMD APM vol 3, E.4.16 and 17: 8000_001EH ECX[7:0] is the node, [10:8] how many a processor has, less 1. */
    if (amd && highest >= 0x8000001eu) {
        port_cpuid(port, 0x8000001eu, 0, out);
        place->node = (uint16_t)(out[2] & 0xffu);
        place->die = (uint16_t)(place->node % ((out[2] >> 8 & 7u) + 1u));
    }
    /* Leaf 4, or 8000_001DH: EAX[7:5] is the level of a cache, [25:14] how many share it, less 1. */
    if (amd ? highest >= 0x8000001du : first[0] >= 4)
        for (unsigned i = 0; i < 8; i++) {
            port_cpuid(port, amd ? 0x8000001du : 4, i, out);
            if (!(out[0] & 31u))
                break;
            if ((out[0] >> 5 & 7u) == 3)
                place->llc = (uint16_t)(number >> log2_above((out[0] >> 14 & 0xfffu) + 1u));
        }
}

void upmu_driver_place(struct upmu_cpu *cpu)
{
    const struct upmu_port *port = cpu->meter.machine->port;

    if (!port_cpu_place(port, cpu, &cpu->place)) {
        cpu->place = (struct upmu_cpu_place){0};
        place_by_cpuid(port, &cpu->place);
    }
}

/* ---- The choice ---- */

static bool same_die(const struct upmu_unit_info *box, const struct upmu_cpu *cpu)
{
    return cpu->place.package == box->package && cpu->place.die == box->die;
}

/* How near: 0 is the nearest.  What is an MSR is seen by its own CPUs alone. */
static bool reaches(const struct upmu_unit *unit, const struct upmu_cpu *cpu, unsigned *out_distance)
{
    const struct upmu_unit_type *type = upmu_bank_type(&unit->meter.bank);
    const struct upmu_unit_info *box = unit->box;

    *out_distance = same_die(box, cpu) ? 0 : cpu->place.package == box->package ? 1 : 2;
    if (type->space != UPMU_SPACE_MSR)
        return true;
    return type->scope == UPMU_SCOPE_LLC ? cpu->place.package == box->package && cpu->place.llc == box->llc
                                         : *out_distance == 0;
}

bool upmu_driver_may(const struct upmu_unit *unit, const struct upmu_cpu *cpu)
{
    unsigned distance;

    return cpu->meter.live && reaches(unit, cpu, &distance);
}

static unsigned drives(const struct upmu_cpu *cpu)
{
    unsigned count = 0;

    for (const struct upmu_unit *unit = cpu->units; unit; unit = unit->next)
        count++;
    return count;
}

/* Before: nearer, with fewer units, initialised earlier. */
static bool is_better(const struct upmu_unit *unit, const struct upmu_cpu *cpu, const struct upmu_cpu *than)
{
    unsigned distance, other;

    (void)reaches(unit, cpu, &distance);
    (void)reaches(unit, than, &other);
    if (distance != other)
        return distance < other;
    distance = drives(cpu);
    other = drives(than);
    return distance != other ? distance < other : cpu->meter.number < than->meter.number;
}

unsigned upmu_driver_list(const struct upmu_unit *unit, const struct upmu_cpu *except,
                          struct upmu_cpu *out[UPMU_UNIT_CPUS])
{
    unsigned count = 0;

    for (struct upmu_cpu *cpu = unit->meter.machine->cpus; cpu; cpu = cpu->next) {
        unsigned k = count;

        if (cpu == except || !upmu_driver_may(unit, cpu))
            continue;
        if (count < UPMU_UNIT_CPUS)
            count++;
        else if (is_better(unit, cpu, out[--k]))
            continue;
        for (; k && is_better(unit, cpu, out[k - 1]); k--)
            out[k] = out[k - 1];
        out[k] = cpu;
    }
    return count;
}

struct upmu_cpu *upmu_driver_choose(const struct upmu_unit *unit, const struct upmu_cpu *except)
{
    struct upmu_cpu *allowed[UPMU_UNIT_CPUS], *chosen;
    unsigned count = upmu_driver_list(unit, except, allowed);

    if (!count)
        return NULL;
    chosen = port_nearest_cpu(unit->meter.machine->port, unit->box, allowed, count);
    for (unsigned i = 0; i < count; i++)
        if (allowed[i] == chosen)
            return chosen;
    return allowed[0];
}

#endif
