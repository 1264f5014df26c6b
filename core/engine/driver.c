/* SPDX-License-Identifier: MIT */
/*
 * Choose the CPU that drives a unit: of the CPUs that can access the unit's registers the one that the host chooses
 * (upmu_port.nearest_cpu), else the nearest one, and of equally near CPUs the one that drives the fewest units.
 */
#include "core/engine/driver.h"
#include "core/engine/unit_shared.h"
#include "core/hw/bank.h"
#include "core/hw/port_call.h"
#include "core/hw/unit_backend.h"

#if UPMU_UNCORE

/* ---- Where a CPU is ---- */

static void ask_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    port_cpuid(context, leaf, subleaf, out);
}

void upmu_driver_place(struct upmu_cpu *cpu)
{
    const struct upmu_port *port = cpu->meter.machine->port;
    struct upmu_uncore_seen seen = {.context = (void *)(uintptr_t)port, .cpuid = ask_cpuid};

    if (!port_cpu_place(port, cpu, &cpu->place))
        upmu_uncore_where(&seen, &cpu->place);
    upmu_uncore_number(&seen, &cpu->number, &cpu->core);
}

/* ---- The choice ---- */

static bool same_die(const struct upmu_unit_info *box, const struct upmu_cpu *cpu)
{
    return cpu->place.package == box->package && cpu->place.die == box->die;
}

/*
 * Can a CPU access the unit?  A unit in MSRs is seen by the CPUs of its die, L3 or core, or by one CPU only, any other
 * unit by all CPUs, unless an MSR of its die stops it.  *out_distance gets 0 on the same die, 1 in the same package,
 * else 2.
 */
static bool reaches_unit(const struct upmu_unit *unit, const struct upmu_cpu *cpu, unsigned *out_distance)
{
    const struct upmu_unit_type *type = upmu_bank_type(&unit->meter.bank);
    const struct upmu_uncore_pmu *uncore = (const struct upmu_uncore_pmu *)(const void *)unit->meter.pmu;
    const struct upmu_unit_info *box = unit->box;

    *out_distance = same_die(box, cpu) ? 0 : cpu->place.package == box->package ? 1 : 2;
    if (type->space != UPMU_SPACE_MSR)
        return *out_distance == 0 || !upmu_unit_shared_is_local(unit);
    if (upmu_uncore_is_narrow(uncore))
        return cpu->place.package == box->package &&
               (type->scope == UPMU_SCOPE_CORE ? cpu->core : cpu->number) == box->number;
    return type->scope == UPMU_SCOPE_LLC ? cpu->place.package == box->package && cpu->place.llc == box->llc
                                         : *out_distance == 0;
}

bool upmu_driver_may(const struct upmu_unit *unit, const struct upmu_cpu *cpu)
{
    unsigned distance;

    return cpu->meter.live && reaches_unit(unit, cpu, &distance);
}

bool upmu_unit_is_near(const struct upmu_unit *unit, const struct upmu_cpu *cpu)
{
    unsigned distance;

    return unit->meter.machine && cpu->meter.live && reaches_unit(unit, cpu, &distance) && distance == 0;
}

static unsigned driven_units(const struct upmu_cpu *cpu)
{
    unsigned count = 0;

    for (const struct upmu_unit *unit = cpu->units; unit; unit = unit->next)
        count++;
    return count;
}

/*
 * Is `cpu` a better driver of the unit than `than`?  The nearer CPU is; at equal distance the one that drives fewer
 * units, else the one that was initialised earlier.
 */
static bool is_better(const struct upmu_unit *unit, const struct upmu_cpu *cpu, const struct upmu_cpu *than)
{
    unsigned distance, other;

    (void)reaches_unit(unit, cpu, &distance);
    (void)reaches_unit(unit, than, &other);
    if (distance != other)
        return distance < other;
    distance = driven_units(cpu);
    other = driven_units(than);
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
        else if (!is_better(unit, cpu, out[--k]))
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
