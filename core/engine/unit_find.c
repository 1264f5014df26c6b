/* SPDX-License-Identifier: MIT */
/* Find the units of a machine: those that the backend's tables describe, and the host's own (hook own_unit). */
#include "core/util/apart.h"
#include "core/util/mem.h"
#include "core/util/text.h"
#include "core/hw/port_call.h"
#include "core/hw/unit_backend.h"
#include "core/event/why.h"
#include "core/engine/machine.h"
#include "core/engine/unit_core.h"
#include <upmu/unit_addr.h>

#if UPMU_UNCORE

/*
 * Functions of a search, which the backend calls.  Each one calls a hook of the port with interrupts off, as the whole
 * search is too long for that; but mmio_map and mmio_unmap may sleep: interrupts are not switched off for them.
 */
static void see_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    uintptr_t irq = port_irq_save(context);

    port_cpuid(context, leaf, subleaf, out);
    port_irq_restore(context, irq);
}

/*
 * Read an MSR.  If no document promises it for this CPU (not `promised`), it is read only where a fault is safe.
 * Returns false if the MSR was not read, or faulted.
 */
static bool see_msr(void *context, uint32_t msr, bool promised, uint64_t *out_value)
{
    const struct upmu_port *port = context;
    uintptr_t irq;
    bool fine;

    if (!promised && !port->msr_faults_are_safe)
        return false;
    irq = port_irq_save(port);
    fine = port_rdmsr(port, msr, out_value);
    port_irq_restore(port, irq);
    return fine;
}

static bool see_pci(void *context, uint32_t where, uint32_t offset, uint32_t *out_value)
{
    const struct upmu_port *port = context;
    uintptr_t irq;
    bool fine;

    if (!port_has_pci(port))
        return false;
    irq = port_irq_save(port);
    fine = port_pci_read(port, where, offset, out_value);
    port_irq_restore(port, irq);
    return fine;
}

static void *see_map(void *context, uint64_t physical, size_t bytes)
{
    return port_mmio_map(context, physical, bytes);
}

static void see_unmap(void *context, void *pointer, size_t bytes)
{
    port_mmio_unmap(context, pointer, bytes);
}

static bool see_mmio(void *context, const volatile void *pointer, unsigned bits, uint64_t *out_value)
{
    uintptr_t irq = port_irq_save(context);
    bool fine = port_mmio_read(context, pointer, bits, out_value);

    port_irq_restore(context, irq);
    return fine;
}

/*
 * Prepare a search: its hooks and what is known of the machine.  Family, model and stepping are those of the CPU's own
 * PMU.
 */
static void fill_seen(struct upmu_uncore_seen *seen, const struct upmu_cpu *cpu, unsigned flags)
{
    const struct upmu_port *port = cpu->meter.machine->port;
    uint32_t out[4];

    memset(seen, 0, sizeof *seen);
    seen->context = (void *)(uintptr_t)port;
    seen->cpuid = see_cpuid;
    seen->rdmsr = see_msr;
    seen->pci_read = see_pci;
    seen->map = see_map;
    seen->unmap = see_unmap;
    seen->mmio_read = see_mmio;
    seen->family = cpu->meter.pmu->family;
    seen->model = cpu->meter.pmu->model;
    seen->stepping = cpu->meter.pmu->stepping;
    seen->cpuid(seen->context, 1, 0, out);
    seen->hypervisor = out[2] >> 31;
    seen->force = flags & UPMU_UNITS_FORCE;
    seen->open = cpu->meter.machine->open_units != NULL;
    seen->each_cpu = flags & UPMU_UNITS_EACH_CPU;
    seen->number = cpu->number;
    seen->core = cpu->core;
    seen->place = cpu->place;
    upmu_uncore_count(seen);
}

/*
 * Returns the number of registers that a type needs, at most: a select and a value for each counter, also the fixed
 * one, filters, one that controls a box, and one that several types share.
 */
static unsigned rows_of(const struct upmu_unit_type *type)
{
    return 2u * type->counters + (type->fixed_width ? 2u : 0) + type->filters + 2u;
}

/*
 * Returns the PMU of a type, which is added to the list if it is new.  NULL where the list has no room, or the type has
 * too many registers.
 */
static struct upmu_uncore_pmu *type_pmu(struct upmu_unit_list *list, const struct upmu_unit_type *type)
{
    for (unsigned i = 0; i < list->pmu_count; i++)
        if (list->pmu[i].type == type)
            return &list->pmu[i];
    if (list->pmu_count == list->pmu_capacity || list->pmu_count == UPMU_UNIT_TYPES ||
        rows_of(type) > UPMU_UNIT_REGISTERS)
        return NULL;
    upmu_uncore_describe(type, &list->pmu[list->pmu_count]);
    return &list->pmu[list->pmu_count++];
}

/*
 * Can the backend enable counters of this type by its enable_bit?  Bit 22 fits every style; besides, bit 31 fits
 * UPMU_UNIT_SELECT; bit 0, and 0xff for no bit, fit the other styles.  UPMU_UNIT_FREE has no enable bits to be checked.
 */
static bool has_switch(const struct upmu_unit_type *type)
{
    if (type->enable_bit == 22 || type->style == UPMU_UNIT_FREE)
        return true;
    return type->style == UPMU_UNIT_SELECT ? type->enable_bit == 31 : !type->enable_bit || type->enable_bit == 0xff;
}

/*
 * Is the description of a host's type complete and in range: names, style, space, numbers and widths of counters and
 * registers, enable bit, freeze bits?  Offsets of registers are checked by upmu_uncore_clash().
 */
static bool is_sound(const struct upmu_unit_type *type)
{
    bool boxed;

    if (!type || !type->name || !type->name[0] || !type->pmu || !type->title || type->style > UPMU_UNIT_FREE ||
        type->space > UPMU_SPACE_MMIO)
        return false;
    if (type->counters > UPMU_FIXED_COUNTER(0) || type->filters > 4 || type->fixed_width > 64 || type->width > 64 ||
        (type->counters ? !type->width : !type->fixed_width) ||
        (type->register_bits != 32 && type->register_bits != 64))
        return false;
    boxed = type->style >= UPMU_UNIT_BOX && type->style <= UPMU_UNIT_CLIENT_IMC;
    return has_switch(type) && (type->freeze || !boxed);
}

/*
 * Add the host's own devices (hook own_unit) to the list.  A device whose type is not sound, or whose registers
 * overlap, is left out: UPMU_ERR_UNSUPPORTED.  Returns UPMU_ERR_NO_SPACE at the first device for which the list has no
 * room, or whose type has too many registers.
 */
static UPMU_APART enum upmu_status find_own(const struct upmu_port *port, struct upmu_unit_list *list)
{
    const struct upmu_unit_type *type = NULL;
    enum upmu_status status = UPMU_OK;

    for (unsigned i = 0;; i++, type = NULL) {
        struct upmu_unit_info info = {.address = UPMU_UNIT_NO_ADDRESS};
        const struct upmu_uncore_pmu *pmu = NULL;
        uint8_t types = list->pmu_count;

        if (!port_own_unit(port, i, &info, &type))
            return status;
        if (is_sound(type)) {
            pmu = type_pmu(list, type);
            if (!pmu || list->unit_count == list->unit_capacity)
                return UPMU_ERR_NO_SPACE;
        }
        if (!pmu || upmu_uncore_clash(pmu, 0)) {
            list->pmu_count = types;
            status = UPMU_ERR_UNSUPPORTED;
            if (i == UINT16_MAX) /* so many devices: the hook own_unit names devices without end; stop here */
                return status;
            continue;
        }
        info.type = (uint8_t)(pmu - list->pmu);
        info.mapped = NULL;
        list->unit[list->unit_count++] = info;
    }
}

/*
 * For the boxes from entry `first` on: give those without an address one made of package, die, L3 (0 where the type
 * belongs to none) and number, and let the host change or hide them (hook show_unit).  A hidden box leaves the list.
 */
static void show_units(const struct upmu_port *port, struct upmu_unit_list *list, unsigned first)
{
    unsigned count = first;

    for (unsigned i = first; i < list->unit_count; i++) {
        struct upmu_unit_info *info = &list->unit[i];

        if (info->address == UPMU_UNIT_NO_ADDRESS)
            info->address = UPMU_UNIT_ADDRESS(0, 0, info->package, info->die,
                                              list->pmu[info->type].type->scope == UPMU_SCOPE_LLC ? info->llc : 0,
                                              info->number);
        if (port_show_unit(port, info))
            list->unit[count++] = *info;
    }
    list->unit_count = (uint16_t)count;
}

static UPMU_APART enum upmu_status refuse_search(struct upmu_machine *machine, enum upmu_status status,
                                                 const char *failure)
{
    return upmu_why_refuse(&machine->why, status, NULL, failure, 0, failure ? upmu_text_length(failure) : 0);
}

static bool is_executing(const struct upmu_port *port, const struct upmu_cpu *cpu)
{
    uintptr_t irq = port_irq_save(port);
    bool executing = !port_has_this_cpu(port) || port_this_cpu(port) == cpu;

    port_irq_restore(port, irq);
    return executing;
}

enum upmu_status upmu_units_find(struct upmu_cpu *cpu, struct upmu_unit_list *list, unsigned flags)
{
    struct upmu_machine *machine = cpu->meter.machine;
    const struct upmu_port *port;
    struct upmu_uncore_seen seen;
    enum upmu_status status, own = UPMU_OK;
    unsigned types = list->pmu_count;
    bool is_first = !list->machine;

    if (!machine || !cpu->meter.live)
        return UPMU_ERR_NO_PMU;
    port = machine->port;
    upmu_why_clear(&machine->why);
    if (machine->units && machine->units != list)
        return refuse_search(machine, UPMU_ERR_STATE, NULL);
    if (!is_executing(port, cpu))
        return refuse_search(machine, UPMU_ERR_WRONG_CPU, NULL);
    list->machine = machine;
    fill_seen(&seen, cpu, flags);
    list->search.guest = seen.hypervisor;
    status = upmu_uncore_find(&seen, list);
    if (is_first)
        own = find_own(port, list);
    if (own == UPMU_ERR_UNSUPPORTED && !seen.failure)
        seen.failure = "a type of own_unit";
    if (status == UPMU_ERR_NO_SPACE || own == UPMU_ERR_NO_SPACE)
        seen.failure = list->unit_count == list->unit_capacity ? "unit_capacity"
                       : seen.stops_full                       ? "UPMU_UNIT_STOPS"
                                                               : "pmu_capacity";
    show_units(port, list, seen.first);
    for (unsigned i = types; i < list->pmu_count; i++) { /* new types only: units of earlier ones may be open */
        list->pmu[i].pmu.index = (uint8_t)(UPMU_UNIT_PMU + i);
        list->pmu[i].list = list;
    }
    __atomic_store_n(&machine->units, list, __ATOMIC_RELEASE);
    /*
     * UPMU_ERR_NO_PMU: the backend found no unit, or did not search under a hypervisor.  If it searched, this is no
     * error: the list has the host's own units (hook own_unit) alone, if there are any.
     */
    if (status == UPMU_ERR_NO_PMU && (!seen.hypervisor || seen.force))
        status = UPMU_OK;
    if (status == UPMU_OK)
        status = own;
    return status == UPMU_OK ? status : refuse_search(machine, status, seen.failure);
}

#endif
