/* SPDX-License-Identifier: MIT */
/* Machines: check the port, detect a CPU's PMU, and keep the list of PMUs. */
#include "core/engine/machine.h"
#include "core/util/apart.h"
#include "core/util/mem.h"
#include "core/util/shared.h"
#include "core/util/text.h"
#include "core/hw/backend.h"
#include "core/hw/port_call.h"
#include "core/event/why.h"

/* Only Arm's PMUs are detected by registers alone, without CPUID. */
#define UPMU_CPUID_NEEDED                                                                                              \
    (UPMU_BACKEND_X86_CORE || UPMU_BACKEND_X86_P4 || UPMU_BACKEND_AMD || UPMU_BACKEND_PARAVIRT ||                      \
     UPMU_BACKEND_RISCV_HPM)

/*
 * Check that the port has the mandatory hooks, and irq_save and irq_restore both or neither.  If not, machine->why
 * names the hook that is missing.  In a build with a static port the compiler checks that.
 */
static UPMU_INSIDE enum upmu_status check_hooks(struct upmu_machine *machine)
{
#if !UPMU_PORT_STATIC
    const struct upmu_port *port = machine->port;
    const char *missing = !port->rdmsr                            ? "rdmsr"
                          : !port->wrmsr                          ? "wrmsr"
                          : UPMU_CPUID_NEEDED && !port->cpuid     ? "cpuid"
                          : !port->irq_save == !port->irq_restore ? NULL
                          : port->irq_save                        ? "irq_restore"
                                                                  : "irq_save";

    if (missing)
        return upmu_why_hook_of(machine, missing);
#endif
    (void)machine;
    return UPMU_OK;
}

/* A pointer to itself, in the section of the tables: 0 if the section was lost, wrong if nothing has relocated it. */
static const struct link_probe {
    const struct link_probe *volatile self;
} link_probe = {&link_probe};

enum upmu_status upmu_machine_init_checked(struct upmu_machine *machine, const struct upmu_port *port, uint32_t version,
                                           size_t machine_bytes, size_t cpu_bytes)
{
    if (version != UPMU_VERSION || machine_bytes != sizeof(struct upmu_machine) || cpu_bytes != sizeof(struct upmu_cpu))
        return UPMU_ERR_VERSION;
    if (link_probe.self != &link_probe || (upmu_backend(0) && !upmu_backend(0)->detect))
        return UPMU_ERR_NOT_LINKED;
    memset(machine, 0, sizeof *machine);
    machine->port = port;
    return check_hooks(machine);
}

/* Define the function of this name: the macro of this name passes the sizes that its caller was compiled with. */
#undef upmu_machine_init
enum upmu_status upmu_machine_init(struct upmu_machine *machine, const struct upmu_port *port)
{
    return upmu_machine_init_checked(machine, port, UPMU_VERSION, sizeof(struct upmu_machine), sizeof(struct upmu_cpu));
}

const struct upmu_pmu *upmu_machine_pmu(const struct upmu_machine *machine, unsigned index)
{
    if (index < UPMU_UNIT_PMU)
        return index < __atomic_load_n(&machine->pmu_count, __ATOMIC_ACQUIRE) ? &machine->pmu[index] : NULL;
#if UPMU_UNCORE
    const struct upmu_unit_list *units = __atomic_load_n(&machine->units, __ATOMIC_ACQUIRE);

    if (units && index - UPMU_UNIT_PMU < __atomic_load_n(&units->pmu_count, __ATOMIC_ACQUIRE))
        return &units->pmu[index - UPMU_UNIT_PMU].pmu;
#endif
    return NULL;
}

unsigned upmu_machine_pmus(const struct upmu_machine *machine)
{
    unsigned count = __atomic_load_n(&machine->pmu_count, __ATOMIC_ACQUIRE);

#if UPMU_UNCORE
    const struct upmu_unit_list *units = __atomic_load_n(&machine->units, __ATOMIC_ACQUIRE);

    if (units)
        count += __atomic_load_n(&units->pmu_count, __ATOMIC_ACQUIRE);
#endif
    return count;
}

/* The context of a detection's hooks: the port through which they read. */
struct reader {
    struct upmu_detection detection;
    const struct upmu_port *port;
    bool lacks; /* a register that CPUID does not promise has faulted, or was not read because faults are not safe */
};

static void read_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    const struct reader *reader = context;

    port_cpuid(reader->port, leaf, subleaf, out);
}

static bool read_register(void *context, uint32_t msr, bool promised, uint64_t *out_value)
{
    struct reader *reader = context;
    /*
     * Where a fault is not safe, read only what CPUID promises, and under a hypervisor nothing: even a promised
     * register may fault there.
     */
    bool may = reader->port->msr_faults_are_safe || (promised && !reader->detection.hypervisor);
    bool read = may && port_rdmsr(reader->port, msr, out_value);

    reader->lacks |= !promised && !read;
    return read;
}

/*
 * Set family, model, stepping and `hypervisor` from CPUID leaf 1: Intel SDM vol 2; AMD extends family 15 in the same
 * way.
 */
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

/* A kernel may be compiled with its own stdint.h, stddef.h and stdbool.h: check their types. */
_Static_assert(sizeof(uint8_t) == 1 && sizeof(uint16_t) == 2 && sizeof(uint32_t) == 4 && sizeof(uint64_t) == 8 &&
                   sizeof(int32_t) == 4 && sizeof(int64_t) == 8 && sizeof(uintptr_t) == sizeof(void *) &&
                   sizeof(size_t) == sizeof(void *) && (uint64_t)-1 > 0 && (int64_t)-1 < 0 && (bool)2 == 1,
               "stdint.h, stddef.h or stdbool.h has types of wrong sizes (docs/PORTING.md)");

/* PMUs are compared by memcmp().  Padding, which is copied along with a structure, could differ. */
_Static_assert(sizeof(struct upmu_counter) == 8 * sizeof(uint8_t) + sizeof(uint32_t), "a counter has padding");

/*
 * Find the machine's PMU that is equal to `pmu` (but for imported events), or store `pmu` behind the last one.
 * UPMU_ERR_NO_SPACE: there is no room.
 */
static enum upmu_status find_pmu(struct upmu_machine *machine, struct upmu_pmu *pmu, const struct upmu_pmu **out_pmu)
{
    struct upmu_pmu *place = machine->pmu;

    for (unsigned i = 0; i < UPMU_CORE_TYPES; i++, place++) {
        pmu->index = (uint8_t)i;
        pmu->imported = place->imported;
        if (i == machine->pmu_count)
            memcpy(place, pmu, sizeof *place);
        if (memcmp(place, pmu, sizeof *pmu) == 0) {
            UPMU_STORE(*out_pmu, place);
            return UPMU_OK;
        }
    }
    return UPMU_ERR_NO_SPACE;
}

/*
 * Store in machine->why.word why no backend detects this CPU, such as "leaf 0AH is 0, under KVMKVMKVM".  Returns
 * UPMU_ERR_NO_PMU.
 */
static UPMU_APART enum upmu_status say_why_none(struct upmu_machine *machine, const struct reader *reader)
{
    const struct upmu_detection *detection = &reader->detection;
    struct upmu_why *why = &machine->why;
    struct upmu_text out;
    uint32_t leaf[4] = {0};

    upmu_text_begin(&out, why->word, sizeof why->word);
    if (detection->leaf0[0] >= 10u)
        port_cpuid(machine->port, 10, 0, leaf);
    /* A BIOS may limit the CPUID of a Pentium 4 to leaf 3 by bit 22 of IA32_MISC_ENABLE (SDM table 35-41). */
    if (detection->family == 15 && detection->leaf0[0] == 3u)
        upmu_text_string(&out, "switch off Limit CPUID (BIOS)");
    /* EBX of leaf 0 is "Genu" of "GenuineIntel": Intel's CPUs report their PMU in leaf 0AH (SDM vol 2, CPUID). */
    else if (detection->leaf0[1] == 0x756e6547u && !(leaf[0] & 0xffu))
        upmu_text_string(&out, "leaf 0AH is 0");
    else if (reader->lacks)
        upmu_text_string(&out, "CPUID promises no counters");
    else
        upmu_text_string(&out, "an unknown CPU");
    if (detection->hypervisor) {
        port_cpuid(machine->port, UINT32_C(0x40000000), 0, leaf);
        upmu_text_string(&out, ", under ");
        for (unsigned i = 0; i < 12; i++) {
            char c = (char)(leaf[1 + i / 4] >> i % 4 * 8 & 0x7fu);

            if (c >= ' ')
                upmu_text_char(&out, c);
        }
    }
    (void)upmu_text_end(&out);
    return UPMU_ERR_NO_PMU;
}

void upmu_machine_publish(struct upmu_machine *machine, const struct upmu_pmu *pmu)
{
    if (pmu->index == machine->pmu_count)
        __atomic_store_n(&machine->pmu_count, (uint8_t)(pmu->index + 1u), __ATOMIC_RELEASE);
}

enum upmu_status upmu_machine_detect(struct upmu_machine *machine, struct upmu_meter *meter)
{
    const struct upmu_backend *backend;
    struct reader reader;
    struct upmu_pmu pmu;
    unsigned i = 0;

    memset(&reader, 0, sizeof reader);
    reader.port = machine->port;
    reader.detection.context = &reader;
    reader.detection.cpuid = read_cpuid;
    reader.detection.rdmsr = read_register;
    if (UPMU_CPUID_NEEDED) {
        read_cpuid(&reader, 0, 0, reader.detection.leaf0);
        read_cpuid(&reader, 1, 0, reader.detection.leaf1);
    }
    read_identity(&reader.detection);
#if UPMU_BACKEND_PARAVIRT
    reader.detection.page = port_has_page(machine->port);
#endif
    do {
        backend = upmu_backend(i++);
        if (!backend)
            return UPMU_WHY_TEXT ? say_why_none(machine, &reader) : UPMU_ERR_NO_PMU;
    } while (!backend->detect(&reader.detection, &pmu));
    pmu.backend = backend;
    if (!UPMU_PRELUDES && (pmu.capabilities & UPMU_PMU_PRELUDE))
        return UPMU_ERR_NO_PMU;
    if (backend->thread)
        meter->thread = (uint8_t)backend->thread(&reader.detection);
    upmu_pmu_find_catalog(&pmu);
    return find_pmu(machine, &pmu, &meter->pmu);
}
