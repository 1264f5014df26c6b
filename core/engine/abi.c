/* SPDX-License-Identifier: MIT */
/*
 * Questions of layers above the library (upmu/abi.h), which have no hooks and no backend.
 */
#include "core/hw/backend.h"
#include "core/hw/port_call.h"
#include <upmu/abi.h>
#include <upmu/world.h>

struct upmu_cpu *upmu_machine_this_cpu(const struct upmu_machine *machine)
{
    const struct upmu_port *port = machine->port;
    struct upmu_cpu *cpu;
    uintptr_t irqs;

    if (!port_has_this_cpu(port))
        return machine->only_cpu;
    irqs = port_irq_save(port);
    cpu = port_this_cpu(port);
    port_irq_restore(port, irqs);
    return cpu;
}

bool upmu_machine_runs_on(const struct upmu_machine *machine, const struct upmu_cpu *cpu)
{
    return !port_has_this_cpu(machine->port) || upmu_machine_this_cpu(machine) == cpu;
}

bool upmu_machine_has_clock(const struct upmu_machine *machine)
{
    return port_has_clock(machine->port);
}

bool upmu_machine_has_pmi(const struct upmu_machine *machine)
{
    return port_has_pmi(machine->port);
}

#if UPMU_WORLDS

uint64_t upmu_cpu_guest_gate(struct upmu_cpu *cpu)
{
    const struct upmu_port *port;
    uint64_t value;
    uintptr_t irqs;

    if (!cpu->meter.by_hardware)
        return 0;
    port = cpu->meter.machine->port;
    irqs = port_irq_save(port);
    value = upmu_cpu_gate_value(cpu, UPMU_WORLD_GUEST);
    port_irq_restore(port, irqs);
    return value;
}

#else

uint64_t upmu_cpu_guest_gate(struct upmu_cpu *cpu)
{
    (void)cpu;
    return 0;
}

#endif

bool upmu_pmu_is_amd(const struct upmu_pmu *pmu)
{
    return pmu->backend->vendor == UPMU_VENDOR_AMD;
}

bool upmu_event_uses_row(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned counter, unsigned row)
{
    struct upmu_alternative alternative;

    if (!pmu->backend->resource_row)
        return false;
    for (unsigned i = 0; pmu->backend->alternative(pmu, event, 0, i, &alternative); i++)
        for (unsigned k = 0; k < alternative.slot[0].resource_count; k++)
            if ((alternative.slot[0].counters >> counter & 1u) &&
                pmu->backend->resource_row(pmu, alternative.slot[0].resource[k]) == row)
                return true;
    return false;
}
