/* SPDX-License-Identifier: MIT */
/*
 * The hooks for configuration space and memory: registers of units, PCI functions without units, discovery tables,
 * mappings.
 */
#include "models/sim/sim_uncore_intern.h"

#define ALL_ONES 0xffffffffu
#define VENDOR_INTEL 0x8086u
#define CLASS_PERIPHERAL 0x08800000u
#define MANY_FUNCTIONS 0x00800000u
/* Vendor and device id of a function 0 that only exists because another function of its device does. */
#define OTHER_FUNCTION (0x7a00u << 16 | VENDOR_INTEL)

/*
 * Pointers that mmio_map returns: mapping i begins at MAP_FIRST + i * MAP_STEP, plus the low 12 bits of the physical
 * address. No memory is there: callers must use the hooks.
 */
#define MAP_FIRST 0x40000000u
#define MAP_STEP 0x200000u

/* All registers of a box in memory are less than this many bytes from the box's address. */
#define BOX_BYTES 0x6000u

#define TABLE_STRIDE 8u /* typical words from an entry to the next */
#define TABLE_BYTES 0x10000u

/*
 * Offset of the last extended capability in the discovery table's function, and bits that make its head point to the
 * capability before it (120H).
 */
#define TABLE_LAST_CAPABILITY 0x140u
#define TABLE_LOOP 0x12000000u

/* ---- Configuration space: which functions exist, their registers, the hooks ---- */

/* Has the machine a function on the bus of `where`? Most buses that a caller searches have none. */
static bool su_bus(const struct upmu_sim_uncore *u, uint32_t where)
{
    const struct upmu_sim_machine *machine = u->machine;

    for (unsigned i = 0; i < machine->packages * sizeof machine->bus[0]; i++) {
        if (where >> 8 == ((uint32_t)machine->segment << 8 | machine->bus[i / 6u][i % 6u]))
            return true;
    }
    return false;
}

static struct upmu_sim_unit *su_function(struct upmu_sim_uncore *u, uint32_t where)
{
    for (unsigned i = 0; i < u->units; i++) {
        if (u->unit[i].type->space == UPMU_SIM_SPACE_PCI && !u->unit[i].absent && u->unit[i].base == where)
            return &u->unit[i];
    }
    return NULL;
}

/* Return the present box whose filters are in this PCI function, its companion; NULL: no box's are. */
static struct upmu_sim_unit *su_companion(struct upmu_sim_uncore *u, uint32_t where)
{
    for (unsigned i = 0; i < u->units; i++) {
        if (u->unit[i].second != 0 && u->unit[i].second == where && !u->unit[i].absent)
            return &u->unit[i];
    }
    return NULL;
}

static bool su_is_u_box(uint32_t id)
{
    uint32_t device = id >> 16;

    return device == 0x2014 || device == 0x2f1e || device == 0x3450 || device == 0x3250;
}

/*
 * Read a register of a function that has no box (machine->functions); false: the function has no such register, or is
 * hidden. *out_exists: the function exists.
 */
static bool su_other(const struct upmu_sim_uncore *u, uint32_t where, uint32_t offset, uint32_t *out_value,
                     bool *out_exists)
{
    const struct upmu_sim_machine *machine = u->machine;
    const struct upmu_sim_pci_register *row = machine->functions;
    bool hidden = false;

    *out_exists = false;
    for (; row != NULL && (row->offset != 0 || row->value[0] != 0); row++) {
        for (unsigned package = 0; package < machine->packages; package++) {
            uint32_t bus = machine->bus[package][row->bus];
            uint32_t here = (uint32_t)machine->segment << 16 | bus << 8 | row->devfn;

            if (here != where)
                continue;
            if (row->offset == 0)
                hidden = u->no_u_boxes && su_is_u_box(row->value[0]);
            *out_exists = !hidden;
            if (row->offset == offset && !hidden) {
                *out_value = row->value[package];
                if (offset == 0x48 && u->bar_off)
                    *out_value &= ~1u;
                if (offset == TABLE_LAST_CAPABILITY && u->chain_loops)
                    *out_value |= TABLE_LOOP;
                return true;
            }
        }
    }
    return false;
}

/* Does any function of the device exist whose function 0 is `where`? If so, function 0 exists, too. */
static bool su_device(struct upmu_sim_uncore *u, uint32_t where)
{
    for (uint32_t function = 0; function < 8; function++) {
        uint32_t value;
        bool exists;

        (void)su_other(u, where | function, 0, &value, &exists);
        if (exists || su_function(u, where | function) != NULL || su_companion(u, where | function) != NULL)
            return true;
    }
    return false;
}

static uint32_t su_device_id(const struct upmu_sim_unit *unit)
{
    return (uint32_t)unit->row->place[unit->index].device << 16 | VENDOR_INTEL;
}

static unsigned su_filter_at(const struct upmu_sim_unit *unit, uint32_t offset)
{
    unsigned i = 0;

    while (i < unit->type->filters && unit->type->filter[i] != offset)
        i++;
    return i;
}

/*
 * Return a dword of the header that every function has in its first 64 bytes (`id`: vendor and device); 0 at other
 * offsets.
 */
static uint32_t su_header(uint32_t id, uint32_t offset)
{
    return offset == 0 ? id : offset == 8 ? CLASS_PERIPHERAL : offset == 0xc ? MANY_FUNCTIONS : 0;
}

static uint32_t su_pci_value(struct upmu_sim_uncore *u, uint32_t where, uint32_t offset)
{
    struct upmu_sim_unit *unit;
    uint32_t value;
    bool exists;

    if (!su_bus(u, where))
        return su_on(u, UPMU_SIM_RULE_U_ABSENT_PCI) ? ALL_ONES : 0;
    unit = su_function(u, where);
    if (unit != NULL) {
        struct su_register at = upmu_sim_uncore_box_find(unit, offset);
        uint64_t whole;

        if (offset < 0x40 || at.kind == SU_NOTHING)
            return su_header(su_device_id(unit), offset);
        upmu_sim_uncore_touch(u, unit, offset, false);
        whole = upmu_sim_uncore_box_read(u, unit, at);
        return at.high ? (uint32_t)(whole >> 32) : (uint32_t)whole;
    }
    unit = su_companion(u, where);
    if (unit != NULL) {
        unsigned filter = su_filter_at(unit, offset);

        return filter < unit->type->filters
                   ? (uint32_t)unit->filter[filter]
                   : su_header((uint32_t)unit->row->second[unit->index].device << 16 | VENDOR_INTEL, offset);
    }
    if (su_other(u, where, offset, &value, &exists))
        return value;
    if (exists)
        return su_header(0, offset);
    if ((where & 7u) == 0 && su_device(u, where))
        return su_header(OTHER_FUNCTION, offset);
    return su_on(u, UPMU_SIM_RULE_U_ABSENT_PCI) ? ALL_ONES : 0;
}

static void su_pci_store(struct upmu_sim_uncore *u, uint32_t where, uint32_t offset, uint32_t value)
{
    struct upmu_sim_unit *unit = su_function(u, where);
    struct su_register at = {SU_NOTHING, 0, false, false};

    if (unit != NULL) {
        at = upmu_sim_uncore_box_find(unit, offset);
    } else if ((unit = su_companion(u, where)) != NULL) {
        at.index = su_filter_at(unit, offset);
        at.kind = at.index < unit->type->filters ? SU_FILTER : SU_NOTHING;
    }
    if (unit == NULL || at.kind == SU_NOTHING) {
        if (su_on(u, UPMU_SIM_RULE_CHECK_U_READ_ONLY))
            upmu_sim_violate(u->sim, "write of a configuration register without counters", where << 12 | offset, value);
        return;
    }
    upmu_sim_uncore_touch(u, unit, where << 12 | offset, true);
    (void)upmu_sim_uncore_box_write(u, unit, at, 32, value);
}

/*
 * Record a violation if the offset of an access is no multiple of 4 or above FFFH. Returns false if the access fails:
 * from offset 100H on in a configuration space without ECAM.
 */
static bool su_check_offset(struct upmu_sim_uncore *u, uint32_t where, uint32_t offset)
{
    if ((offset & 3u || offset >= 0x1000) && su_on(u, UPMU_SIM_RULE_CHECK_U_WIDTH))
        upmu_sim_violate(u->sim, "configuration space is accessed by aligned dwords", where << 12 | offset, offset);
    return offset < 0x100 || !u->no_ecam || !su_on(u, UPMU_SIM_RULE_U_ECAM);
}

bool upmu_sim_uncore_pci_read(void *context, uint32_t where, uint32_t offset, uint32_t *out_value)
{
    struct upmu_sim *sim = context;
    bool injected;
    uint32_t number = upmu_sim_begin_access(sim, UPMU_SIM_PCI_READ, where << 12 | offset, &injected);
    bool done = !injected && su_check_offset(sim->uncore, where, offset);

    *out_value = done ? su_pci_value(sim->uncore, where, offset & ~3u) : ALL_ONES;
    upmu_sim_end_access(sim, number, UPMU_SIM_PCI_READ, where << 12 | offset, *out_value, !done);
    return done;
}

bool upmu_sim_uncore_pci_write(void *context, uint32_t where, uint32_t offset, uint32_t value)
{
    struct upmu_sim *sim = context;
    bool injected;
    uint32_t number = upmu_sim_begin_access(sim, UPMU_SIM_PCI_WRITE, where << 12 | offset, &injected);
    bool done = !injected && su_check_offset(sim->uncore, where, offset);

    if (done)
        su_pci_store(sim->uncore, where, offset & ~3u, value);
    upmu_sim_end_access(sim, number, UPMU_SIM_PCI_WRITE, where << 12 | offset, value, !done);
    return done;
}

/* ---- Discovery tables: what a read finds in them ---- */

/*
 * Read the word of 8 bytes at a physical address from a package's table; false: the address is outside of the tables.
 */
static bool su_table_word(struct upmu_sim_uncore *u, uint64_t physical, uint64_t *out_word)
{
    const struct upmu_sim_machine *machine = u->machine;
    uint64_t from = machine->table_address;
    unsigned stride = machine->table_stride != 0 ? machine->table_stride : TABLE_STRIDE;
    unsigned package = 0, word, row;

    if (machine->table == NULL)
        return false;
    while (package + 1u < machine->packages && physical >= from + UPMU_SIM_DIE_BYTES) {
        package++;
        from += UPMU_SIM_DIE_BYTES;
    }
    if (physical < from || physical - from >= TABLE_BYTES)
        return false;
    word = (unsigned)((physical - from) >> 3);
    row = word / stride;
    *out_word = 0;
    if (row == 0) {
        if (word == 0)
            *out_word = (uint64_t)stride << 8 | (uint64_t)machine->table_rows << 16 |
                        (machine->global_memory != 0 ? UINT64_C(1) << 62 : 0);
        else if (word == 1)
            *out_word = machine->global_memory != 0 ? machine->global_memory + UPMU_SIM_DIE_BYTES * package
                                                    : machine->global_control;
    } else if (row <= machine->table_rows) {
        const struct upmu_sim_table_row *entry = &machine->table[row - 1u];

        if (entry->access == 0xff)
            *out_word = ~UINT64_C(0);
        else if (word % stride == 0)
            *out_word = entry->counters | (uint64_t)entry->select << 8 | (uint64_t)entry->width << 16 |
                        (uint64_t)entry->counter << 24 | (uint64_t)entry->access << 62;
        else if (word % stride == 1)
            *out_word = entry->address != 0 ? entry->address + entry->package * package : 0;
        else if (word % stride == 2)
            *out_word = entry->type | (uint64_t)entry->id << 16;
    }
    if (u->table != NULL)
        u->table(u->sim, package, word, out_word);
    return true;
}

/* ---- Memory ---- */

void *upmu_sim_uncore_map(void *context, uint64_t physical, size_t bytes)
{
    struct upmu_sim *sim = context;
    struct upmu_sim_uncore *u = sim->uncore;

    u->maps++;
    if (u->refused_map != 0 && --u->refused_map == 0)
        return NULL;
    if (bytes == 0 || bytes > MAP_STEP - 0x1000u)
        return NULL;
    if (physical & 3u && su_on(u, UPMU_SIM_RULE_CHECK_U_MAPPING))
        upmu_sim_violate(sim, "a mapping that is not aligned", (uint32_t)physical, bytes);
    for (unsigned i = 0; i < UPMU_SIM_MAPPINGS; i++) {
        unsigned slot = (u->next_mapping + i) % UPMU_SIM_MAPPINGS;

        if (u->mapping[slot].live)
            continue;
        u->next_mapping = slot + 1u;
        u->mapping[slot] = (struct upmu_sim_mapping){.physical = physical, .bytes = bytes, .live = true};
        return (void *)(uintptr_t)(MAP_FIRST + slot * MAP_STEP + (uint32_t)(physical & 0xfffu));
    }
    return NULL;
}

/*
 * Return the index of the mapping with `bytes` at a pointer, and their physical address; UPMU_SIM_MAPPINGS: none has.
 */
static unsigned su_mapping_of(const struct upmu_sim_uncore *u, uintptr_t pointer, size_t bytes, uint64_t *out_physical)
{
    unsigned slot = (unsigned)((pointer - MAP_FIRST) / MAP_STEP);
    uintptr_t inside;

    if (pointer < MAP_FIRST || slot >= UPMU_SIM_MAPPINGS || !u->mapping[slot].live)
        return UPMU_SIM_MAPPINGS;
    inside = pointer - MAP_FIRST - slot * (uintptr_t)MAP_STEP - (uintptr_t)(u->mapping[slot].physical & 0xfffu);
    if (inside > u->mapping[slot].bytes || u->mapping[slot].bytes - inside < bytes)
        return UPMU_SIM_MAPPINGS;
    *out_physical = u->mapping[slot].physical + inside;
    return slot;
}

void upmu_sim_uncore_unmap(void *context, void *pointer, size_t bytes)
{
    struct upmu_sim *sim = context;
    struct upmu_sim_uncore *u = sim->uncore;
    uint64_t physical = 0;
    unsigned slot = su_mapping_of(u, (uintptr_t)pointer, bytes, &physical);

    u->unmaps++;
    if (slot == UPMU_SIM_MAPPINGS || u->mapping[slot].physical != physical || u->mapping[slot].bytes != bytes) {
        if (su_on(u, UPMU_SIM_RULE_CHECK_U_MAPPING))
            upmu_sim_violate(sim, "unmapped what is not mapped", (uint32_t)(uintptr_t)pointer, bytes);
        return;
    }
    u->mapping[slot].live = false;
}

/* Return the present box with a register at a physical address, and the register; NULL: no box has one there. */
static struct upmu_sim_unit *su_memory_box(struct upmu_sim_uncore *u, uint64_t physical, struct su_register *out_at)
{
    if (u->machine->bar_bit_0 && u->bar_off && su_on(u, UPMU_SIM_RULE_U_BAR))
        return NULL;
    for (unsigned i = 0; i < u->units; i++) {
        struct upmu_sim_unit *unit = &u->unit[i];

        if (unit->type->space != UPMU_SIM_SPACE_MMIO || unit->absent || physical < unit->base ||
            physical - unit->base >= BOX_BYTES)
            continue;
        *out_at = upmu_sim_uncore_box_find(unit, (uint32_t)(physical - unit->base));
        if (out_at->kind != SU_NOTHING)
            return unit;
    }
    return NULL;
}

static void su_check_width(struct upmu_sim_uncore *u, uint64_t physical, unsigned bits, bool wide)
{
    bool aligned = bits == 64 ? (physical & 7u) == 0 : bits == 32 && (physical & 3u) == 0;

    if ((!aligned || (bits == 64 && !wide)) && su_on(u, UPMU_SIM_RULE_CHECK_U_WIDTH))
        upmu_sim_violate(u->sim, "memory is accessed unaligned or too wide", (uint32_t)physical, bits);
}

/* Return the state of the global control in memory that is at a physical address; NULL: none is there. */
static struct upmu_sim_global_state *su_memory_global(struct upmu_sim_uncore *u, uint64_t physical)
{
    for (unsigned package = 0; u->machine->global_memory != 0 && package < u->machine->packages; package++)
        if (physical == u->machine->global_memory + UPMU_SIM_DIE_BYTES * package)
            return &u->global[package];
    return NULL;
}

/* Return the 32 bits at a physical address: of a box's register or of a discovery table; else all ones. */
static uint32_t su_memory_dword(struct upmu_sim_uncore *u, uint64_t physical)
{
    struct su_register at;
    struct upmu_sim_unit *unit = su_memory_box(u, physical, &at);
    uint64_t whole;

    if (unit == NULL && su_memory_global(u, physical) != NULL)
        return su_memory_global(u, physical)->frozen;
    if (unit == NULL) {
        if (!su_table_word(u, physical, &whole))
            return su_on(u, UPMU_SIM_RULE_U_ABSENT_MMIO) ? ALL_ONES : 0;
        return physical & 4u ? (uint32_t)(whole >> 32) : (uint32_t)whole;
    }
    whole = upmu_sim_uncore_box_read(u, unit, at);
    return at.high ? (uint32_t)(whole >> 32) : (uint32_t)whole;
}

static uint64_t su_memory_read(struct upmu_sim_uncore *u, uint64_t physical, unsigned bits)
{
    struct su_register at = {SU_NOTHING, 0, false, true};
    struct upmu_sim_unit *unit = su_memory_box(u, physical, &at);
    uint64_t low;

    su_check_width(u, physical, bits, unit == NULL || at.wide);
    if (unit != NULL)
        upmu_sim_uncore_touch(u, unit, (uint32_t)physical, false);
    low = su_memory_dword(u, physical);
    if (bits == 32)
        return low;
    if (unit != NULL && !at.wide && !su_on(u, UPMU_SIM_RULE_U_PAIR))
        return low;
    return low | (uint64_t)su_memory_dword(u, physical + 4u) << 32;
}

static void su_memory_write(struct upmu_sim_uncore *u, uint64_t physical, unsigned bits, uint64_t value)
{
    struct su_register at = {SU_NOTHING, 0, false, true};
    struct upmu_sim_unit *unit = su_memory_box(u, physical, &at);

    su_check_width(u, physical, bits, (unit == NULL && su_memory_global(u, physical) == NULL) || at.wide);
    if (unit == NULL && su_memory_global(u, physical) != NULL) {
        su_memory_global(u, physical)->frozen = value & 1u;
        return;
    }
    if (unit == NULL) {
        if (su_on(u, UPMU_SIM_RULE_CHECK_U_READ_ONLY))
            upmu_sim_violate(u->sim, "write of memory without counters", (uint32_t)physical, value);
        return;
    }
    upmu_sim_uncore_touch(u, unit, (uint32_t)physical, true);
    (void)upmu_sim_uncore_box_write(u, unit, at, bits, value);
}

/* Find the physical address of an access; false, and a violation: the access is not within one mapping. */
static bool su_resolve(struct upmu_sim_uncore *u, const volatile void *pointer, unsigned bits, uint64_t *out_physical)
{
    if (su_mapping_of(u, (uintptr_t)pointer, bits / 8u, out_physical) < UPMU_SIM_MAPPINGS)
        return true;
    if (su_on(u, UPMU_SIM_RULE_CHECK_U_MAPPING))
        upmu_sim_violate(u->sim, "an access outside of what is mapped", (uint32_t)(uintptr_t)pointer, bits);
    return false;
}

bool upmu_sim_uncore_mmio_read(void *context, const volatile void *pointer, unsigned bits, uint64_t *out_value)
{
    struct upmu_sim *sim = context;
    uint64_t physical = 0;
    bool mapped = su_resolve(sim->uncore, pointer, bits, &physical), injected;
    uint32_t number = upmu_sim_begin_access(sim, UPMU_SIM_MMIO_READ, (uint32_t)physical, &injected);

    *out_value = mapped && !injected ? su_memory_read(sim->uncore, physical, bits) : ~UINT64_C(0) >> (64u - bits);
    upmu_sim_end_access(sim, number, UPMU_SIM_MMIO_READ, (uint32_t)physical, *out_value, injected || !mapped);
    return mapped && !injected;
}

bool upmu_sim_uncore_mmio_write(void *context, volatile void *pointer, unsigned bits, uint64_t value)
{
    struct upmu_sim *sim = context;
    uint64_t physical = 0;
    bool mapped = su_resolve(sim->uncore, pointer, bits, &physical), injected;
    uint32_t number = upmu_sim_begin_access(sim, UPMU_SIM_MMIO_WRITE, (uint32_t)physical, &injected);

    if (mapped && !injected)
        su_memory_write(sim->uncore, physical, bits, value);
    upmu_sim_end_access(sim, number, UPMU_SIM_MMIO_WRITE, (uint32_t)physical, value, injected || !mapped);
    return mapped && !injected;
}

void upmu_sim_uncore_bus_fill(struct upmu_sim_uncore *u, struct upmu_port *port)
{
    (void)u;
    port->pci_read = upmu_sim_uncore_pci_read;
    port->pci_write = upmu_sim_uncore_pci_write;
    port->mmio_map = upmu_sim_uncore_map;
    port->mmio_unmap = upmu_sim_uncore_unmap;
    port->mmio_read = upmu_sim_uncore_mmio_read;
    port->mmio_write = upmu_sim_uncore_mmio_write;
}
