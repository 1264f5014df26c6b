/* SPDX-License-Identifier: MIT */
/*
 * The hooks that reach units outside the cores, and where CPUs and units are.
 */
#include <string.h>

#include "tests/common/garbage.h"
#include "tests/host/simulated.h"

/* Memory of boxes is reached by hooks alone: a pointer is a number that no code may follow. */
#define MAPPINGS 16u
#define MAPPED(slot, physical) ((uintptr_t)0x10000u * ((slot) + 1u) + (uintptr_t)((physical) & 0xfffu))

static struct mapping {
    uint64_t physical;
    size_t bytes;
    bool on;
} mappings[MAPPINGS];

static uint8_t package_of(unsigned cpu)
{
    const uint8_t *core = host.setting.family->models[host.setting.model].core;

    return (uint8_t)hardware_units_package(host.units.hardware, core[cpu]);
}

static void check_damage(void)
{
    const char *damage = hardware_units_damage(host.units.hardware);

    if (damage)
        rules_fail(RULE_DAMAGE, "CPU %u: %s", self->cpu, damage);
}

/* Between the two halves of a counter it may carry. */
static void tear(const struct hardware_place *place)
{
    unsigned kind = lots_below(&self->noise, HARDWARE_KINDS);
    const struct host_unit *unit = units_of_box(place->box);
    uint64_t carry;

    /* (What counts in a region is the region's own.) */
    if (place->role != HARDWARE_COUNTER || !place->half || !unit || unit->exclusive || !lots_one_in(&self->noise, 3))
        return;
    carry = hardware_units_to_carry(host.units.hardware, place->box, kind);
    if (carry)
        units_happen(place->box, kind, carry);
}

/* One access; false: it faults. */
static bool reach(const struct hardware_access *access, bool is_write, uint64_t *value)
{
    struct hardware_place place;
    bool fine, found = hardware_units_find(host.units.hardware, access, &place);

    host.verdict->figures.unit_accesses++;
    if (found)
        units_access(&place, is_write, *value);
    else if (is_write)
        rules_fail(RULE_WRITE, "CPU %u: a write of %llx to %llx (offset %x), where no box has a register", self->cpu,
                   (unsigned long long)*value, (unsigned long long)access->where, (unsigned)access->offset);
    fine = is_write ? hardware_units_write(host.units.hardware, access, *value)
                    : hardware_units_read(host.units.hardware, access, value);
    TRACE("%s %llx+%x: %llx, %u bits%s", is_write ? "unit write" : "unit read", (unsigned long long)access->where,
          (unsigned)access->offset, (unsigned long long)*value, access->bits, fine ? "" : " faults");
    check_damage();
    if (found && !is_write)
        tear(&place);
    return fine;
}

bool hooks_unit_msr(uint32_t msr, bool is_write, uint64_t *value, bool *out_fine)
{
    struct hardware_access access = {HARDWARE_MSR, package_of(self->cpu), 64, msr, 0};
    struct hardware_place place;

    if (!hardware_units_find(host.units.hardware, &access, &place))
        return false;
    *out_fine = reach(&access, is_write, value);
    return true;
}

/* ---- Configuration space ---- */

static bool hook_pci_read(void *context, uint32_t where, uint32_t offset, uint32_t *out_value)
{
    struct hardware_access access = {HARDWARE_PCI, package_of(self->cpu), 32, where, offset};
    bool open = host.units.finder != self, fine;
    uint64_t value = 0;

    (void)context;
    /* (A search asks thousands of functions: something happens at some of them.) */
    if (open || !(where & 0xff))
        hooks_begin();
    hooks_check_context("pci_read");
    fine = !(open && hooks_fault()) && reach(&access, false, &value);
    (void)garbage_unless(fine, &value);
    *out_value = (uint32_t)value;
    if (open || !(where & 0xff))
        hooks_end();
    return fine;
}

static bool hook_pci_write(void *context, uint32_t where, uint32_t offset, uint32_t value)
{
    struct hardware_access access = {HARDWARE_PCI, package_of(self->cpu), 32, where, offset};
    uint64_t written = value;
    bool fine;

    (void)context;
    hooks_begin();
    hooks_check_context("pci_write");
    fine = !hooks_fault() && reach(&access, true, &written);
    hooks_end();
    return fine;
}

/* ---- Memory ---- */

static void *hook_mmio_map(void *context, uint64_t physical, size_t bytes)
{
    void *pointer = NULL;
    bool refused;

    (void)context;
    hooks_begin();
    if (here()->irq_off && !host.setting.no_irq)
        rules_fail(RULE_CONTEXT, "mmio_map with interrupts off");
    if (physical & 3)
        rules_fail(RULE_CONTEXT, "mmio_map of %llx", (unsigned long long)physical);
    refused = !host.units.finder && lots_one_in(&self->noise, 20);
    for (unsigned slot = 0; slot < MAPPINGS && !pointer && !refused; slot++)
        if (!mappings[slot].on) {
            mappings[slot] = (struct mapping){physical, bytes, true};
            pointer = (void *)MAPPED(slot, physical);
        }
    hooks_end();
    return pointer;
}

/* The mapping that an address lies in. */
static struct mapping *mapping_of(uintptr_t address, size_t bytes, size_t *out_offset)
{
    unsigned slot = (unsigned)(address / 0x10000u) - 1u;
    struct mapping *mapping = &mappings[slot % MAPPINGS];

    *out_offset = address - MAPPED(slot, mapping->physical);
    if (slot >= MAPPINGS || !mapping->on || *out_offset + bytes > mapping->bytes)
        rules_fail(RULE_FREED, "CPU %u: memory at %llx is not mapped", self->cpu, (unsigned long long)address);
    return mapping;
}

static void hook_mmio_unmap(void *context, void *pointer, size_t bytes)
{
    struct mapping *mapping;
    size_t offset;

    (void)context;
    hooks_begin();
    mapping = mapping_of((uintptr_t)pointer, bytes, &offset);
    if (offset || bytes != mapping->bytes)
        rules_fail(RULE_FREED, "a mapping of %u bytes is unmapped as %u", (unsigned)mapping->bytes, (unsigned)bytes);
    mapping->on = false;
    hooks_end();
}

static bool access_memory(uintptr_t address, unsigned bits, bool is_write, uint64_t *value)
{
    struct hardware_access access = {HARDWARE_MEMORY, package_of(self->cpu), (uint8_t)bits, 0, 0};
    size_t offset;
    bool fine;

    hooks_begin();
    hooks_check_context("access to memory of a box");
    access.where = mapping_of(address, bits / 8u, &offset)->physical + offset;
    fine = !hooks_fault() && reach(&access, is_write, value);
    hooks_end();
    return fine;
}

static bool hook_mmio_read(void *context, const volatile void *pointer, unsigned bits, uint64_t *out_value)
{
    (void)context;
    return garbage_unless(access_memory((uintptr_t)pointer, bits, false, out_value), out_value);
}

static bool hook_mmio_write(void *context, volatile void *pointer, unsigned bits, uint64_t value)
{
    (void)context;
    return access_memory((uintptr_t)pointer, bits, true, &value);
}

/* ---- Places ---- */

static bool hook_cpu_place(void *context, struct upmu_cpu *cpu, struct upmu_cpu_place *out_place)
{
    (void)context;
    hooks_begin();
    hooks_check_context("cpu_place");
    if (cpu != here()->cpu)
        rules_fail(RULE_CONTEXT, "cpu_place on CPU %u for another one", self->cpu);
    *out_place = (struct upmu_cpu_place){.package = package_of(self->cpu)};
    hooks_end();
    return true;
}

static struct upmu_cpu *hook_nearest_cpu(void *context, const struct upmu_unit_info *info,
                                         struct upmu_cpu *const *allowed, unsigned count)
{
    unsigned lot;

    (void)context;
    hooks_begin();
    for (unsigned i = 0; i < count; i++) {
        unsigned cpu = 0;

        while (cpu < host.setting.cpus && host.cpu[cpu].cpu != allowed[i])
            cpu++;
        if (cpu == host.setting.cpus || (host.units.list->pmu[info->type].type->space == UPMU_SPACE_MSR &&
                                         package_of(cpu) != info->package))
            rules_fail(RULE_STATE, "nearest_cpu: CPU %u may not drive that unit", cpu);
    }
    lot = lots_below(&self->noise, count + 2u);
    hooks_end();
    /* (No opinion; or one that is forbidden.) */
    return lot < count ? allowed[lot] : lot == count ? NULL : host.cpu[lots_below(&self->noise, host.setting.cpus)].cpu;
}

/* Units that the fake has not are another partition's. */
static bool hook_show_unit(void *context, struct upmu_unit_info *info)
{
    const char *name = host.units.list->pmu[info->type].type->name;
    bool shown = false;

    (void)context;
    for (unsigned i = 0; i < host.units.boxes && !shown; i++) {
        const struct hardware_box *box = &host.units.box[i];

        shown = !strcmp(box->type->name, name) && box->number == info->number && box->package == info->package;
        if (shown && box->type->space == HARDWARE_PCI && box->base != info->base)
            rules_fail(RULE_STATE, "%s%u of package %u is found at %llx", name, info->number, info->package,
                       (unsigned long long)info->base);
    }
    return shown;
}

/* The host's own types as the library wants them. */
static const struct upmu_unit_type *own_type(const struct hardware_type *type)
{
    static struct upmu_unit_type own[2];
    bool freezes = type->gate == HARDWARE_FREEZE;
    struct upmu_unit_type *made = &own[freezes];

    *made = (struct upmu_unit_type){
        .name = type->name,
        .pmu = type->name,
        .title = type->name,
        .prefix = "",
        .style = freezes ? UPMU_UNIT_BOX : UPMU_UNIT_SELECT,
        .space = type->space == HARDWARE_PCI ? UPMU_SPACE_PCI : UPMU_SPACE_MMIO,
        .counters = type->counters,
        .width = type->width,
        .select_step = type->select_step,
        .counter_step = type->counter_step,
        .register_bits = type->bits,
        .enable_bit = type->enable,
        .filters = type->filters,
        .scope = UPMU_SCOPE_DIE,
        .rdpmc = 0xffff,
        .control = freezes ? type->control : 0,
        .select = type->select,
        .counter = type->counter,
        .filter = {type->filter[0]},
        .freeze = freezes ? 0x100 : 0,
        .reset = freezes ? 3 : 0,
        .select_mask = type->select_mask,
        .filter_mask = {type->filter_mask[0]},
        .rate_mhz = 1,
    };
    if (type->first_only) {
        static struct upmu_unit_constraint only[2];

        only[0] = (struct upmu_unit_constraint){type->code[2] & 0xff, 0xff, 1};
        made->constraints = only;
    }
    return made;
}

static bool hook_own_unit(void *context, unsigned i, struct upmu_unit_info *out_info,
                          const struct upmu_unit_type **out_type)
{
    (void)context;
    for (unsigned box = 0; box < host.units.boxes; box++) {
        const struct hardware_box *at = &host.units.box[box];

        if (!at->type->own || i--)
            continue;
        *out_info = (struct upmu_unit_info){.base = at->base,
                                            .number = at->number,
                                            .package = at->package,
                                            .address = UPMU_UNIT_NO_ADDRESS};
        *out_type = own_type(at->type);
        return true;
    }
    return false;
}

void hooks_units_port(const struct setting *setting, struct upmu_port *out_port)
{
    if (setting->no_units)
        return;
    out_port->pci_read = hook_pci_read;
    out_port->pci_write = hook_pci_write;
    out_port->mmio_map = hook_mmio_map;
    out_port->mmio_unmap = hook_mmio_unmap;
    out_port->mmio_read = hook_mmio_read;
    out_port->mmio_write = hook_mmio_write;
    out_port->cpu_place = setting->no_place && !package_of(setting->cpus - 1u) ? NULL : hook_cpu_place;
    out_port->nearest_cpu = setting->no_nearest ? NULL : hook_nearest_cpu;
    out_port->show_unit = hook_show_unit;
    out_port->own_unit = hook_own_unit;
}
