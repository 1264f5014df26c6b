/* SPDX-License-Identifier: MIT */
/*
 * Machines: the port's contract checked at the door, and which PMU a CPU has.
 */
#include "core/backend.h"
#include "core/cpu.h"
#include "core/mem.h"
#include "core/port_call.h"

enum upmu_status upmu_machine_init_checked(struct upmu_machine *machine, const struct upmu_port *port, uint32_t version,
                                           size_t machine_bytes, size_t cpu_bytes)
{
    if (version != UPMU_VERSION || machine_bytes != sizeof(struct upmu_machine) || cpu_bytes != sizeof(struct upmu_cpu))
        return UPMU_ERR_VERSION;
#if !UPMU_PORT_STATIC
    if (!port->rdmsr || !port->wrmsr || !port->cpuid || !port->irq_save != !port->irq_restore)
        return UPMU_ERR_HOOK_MISSING;
#endif
    memset(machine, 0, sizeof *machine);
    machine->port = port;
    return UPMU_OK;
}

struct reader {
    const struct upmu_port *port;
    bool hypervisor;
};

static void read_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    const struct reader *reader = context;

    port_cpuid(reader->port, leaf, subleaf, out);
}

static bool read_register(void *context, uint32_t msr, bool promised, uint64_t *out_value)
{
    const struct reader *reader = context;

    /* Hypervisors fault on registers that CPUID promises, too. */
    if (!reader->port->msr_faults_are_safe && (!promised || reader->hypervisor))
        return false;
    return port_rdmsr(reader->port, msr, out_value);
}

/* Family, model and stepping: Intel SDM vol 2, CPUID leaf 1; AMD extends family 15 alike. */
static void read_identity(struct upmu_detection *detection)
{
    uint32_t eax = detection->leaf1[0];
    uint32_t family = eax >> 8 & 0xfu;
    uint32_t model = eax >> 4 & 0xfu;

    if (family == 6 || family == 15)
        model |= eax >> 12 & 0xf0u;
    if (family == 15)
        family += eax >> 20 & 0xffu;
    detection->family = (uint16_t)family;
    detection->model = (uint16_t)model;
    detection->stepping = (uint8_t)(eax & 0xfu);
    detection->hypervisor = detection->leaf1[2] >> 31;
}

/* A PMU of this machine that is the same, or a place for a new one. */
static struct upmu_pmu *find_pmu(struct upmu_machine *machine, const struct upmu_pmu *pmu)
{
    for (unsigned i = 0; i < machine->pmu_count; i++)
        if (!memcmp(&machine->pmu[i], pmu, sizeof *pmu))
            return &machine->pmu[i];
    if (machine->pmu_count == UPMU_CORE_TYPES)
        return NULL;
    machine->pmu[machine->pmu_count] = *pmu;
    return &machine->pmu[machine->pmu_count++];
}

enum upmu_status upmu_machine_detect(struct upmu_machine *machine, const struct upmu_pmu **out_pmu)
{
    struct reader reader = { machine->port, false };
    struct upmu_detection detection;
    struct upmu_pmu pmu;
    bool found = false;

    memset(&detection, 0, sizeof detection);
    detection.context = &reader;
    detection.cpuid = read_cpuid;
    detection.rdmsr = read_register;
    port_cpuid(machine->port, 0, 0, detection.leaf0);
    port_cpuid(machine->port, 1, 0, detection.leaf1);
    read_identity(&detection);
    reader.hypervisor = detection.hypervisor;
    for (unsigned i = 0; !found && upmu_backend(i); i++)
        found = upmu_backend(i)->detect(&detection, &pmu);
    if (!found)
        return UPMU_ERR_NO_PMU;
    upmu_pmu_find_catalog(&pmu);
    *out_pmu = find_pmu(machine, &pmu);
    return *out_pmu ? UPMU_OK : UPMU_ERR_NO_SPACE;
}
