/* SPDX-License-Identifier: MIT */
/*
 * Counters outside the cores, from facts/uncore: "u 3" is uncore.md section 3, "m 3" uncore_mock_semantics.md
 * section 3, and "boxes", "msr_map", "pci", "freerunning", "global" are tables/uncore_*.csv.  Kinds of gates: one
 * register with a bit for each counter (Nehalem), a freeze bit of the box (Skylake-X), none (clients' memory
 * controllers); and two devices of the host's own.  Not here: thresholds, edges, overflow interrupts, global freezes.
 */
#include "tests/host/hardware.h"

#include <string.h>

#define BIT(n) (UINT64_C(1) << (n))
#define COUNTERS 8
#define CLOCK 8 /* number of its counter and select here; outside it is 16 */
#define NONE 0xff

/* u 2.1: reset of selects, of counters; freeze; bits 16 and 17 may be written (discrepancies.csv 33). */
#define RESET_SELECTS BIT(0)
#define RESET_COUNTERS BIT(1)
#define FROZEN BIT(8)
#define FROZEN_TOO (BIT(16) | BIT(17))

/* boxes NHM; global NHM: 391h bits 7:0 and 32, 51:48, 63; u 2.3: 394h is the counter, 395h bit 0 its enable */
static const struct hardware_type nehalem = {
    .name = "uncore", .space = HARDWARE_MSR, .gate = HARDWARE_GLOBAL, .counters = 8, .width = 48, .bits = 64,
    .enable = 22, .clock = 0, .select_step = 1, .counter_step = 1, .filters = 1,
    .control = 0x391, .select = 0x3c0, .counter = 0x3b0, .clock_select = 0x395, .clock_counter = 0x394,
    .filter = {0x396}, .status = 0x392, .select_mask = 0xff84ffff, .filter_mask = {0xe000fffffffffff8},
    .code = {0x160, 0x260, 0x161, 0x261, 0xff},
};

/* boxes SKX cha: each 10h further; uncore_filters.csv: 5 and 6; constraints: event 36h has counter 0 alone */
static const struct hardware_type cha = {
    .name = "cha", .space = HARDWARE_MSR, .gate = HARDWARE_FREEZE, .counters = 4, .width = 48, .bits = 64,
    .enable = 22, .clock = NONE, .select_step = 1, .counter_step = 1, .filters = 2,
    .control = 0, .select = 1, .counter = 8, .filter = {5, 6}, .status = 7,
    .select_mask = 0xff8cffff, .filter_mask = {0x7fe1fff, 0xfffffffb},
    .code = {0x350, 0x15f, 0x137, 0x1136}, .first_only = 1u << 3,
};

/* boxes SKX imc: a function of its own, dwords; a counter is two of them (u 5.3) */
static const struct hardware_type imc = {
    .name = "imc", .space = HARDWARE_PCI, .gate = HARDWARE_FREEZE, .counters = 4, .width = 48, .bits = 32,
    .enable = 22, .clock = 22, .select_step = 4, .counter_step = 8,
    .control = 0xf4, .select = 0xd8, .counter = 0xa0, .clock_select = 0xf0, .clock_counter = 0xd0, .status = 0xf8,
    .select_mask = 0xff84ffff, .code = {0x304, 0xc04, 0x102, 0x10, 0xff},
};

/* freerunning SNB..ICL: codes 1 to 5; the offsets are those of client_offset() */
static const struct hardware_type client = {
    .name = "imc", .space = HARDWARE_MEMORY, .gate = HARDWARE_FREE, .counters = 5, .width = 32, .bits = 32,
    .enable = NONE, .clock = NONE, .code = {1, 2, 3, 4, 5},
};

/* The host's own: a copro whose selects enable their counters, and a bridge that freezes. */
static const struct hardware_type copro = {
    .name = "vectorcopro", .space = HARDWARE_MEMORY, .gate = HARDWARE_SELECT, .own = true, .counters = 2, .width = 40,
    .bits = 64, .enable = 31, .clock = NONE, .select_step = 8, .counter_step = 8, .filters = 1,
    .control = NONE, .select = 0x40, .counter = 0x80, .filter = {0x20}, .status = 0x28,
    .select_mask = 0xffff, .filter_mask = {0xffff}, .code = {0x21, 0x22, 0x23, 0x24},
};
static const struct hardware_type bridge = {
    .name = "bridge", .space = HARDWARE_PCI, .gate = HARDWARE_FREEZE, .own = true, .counters = 3, .width = 44,
    .bits = 32, .enable = 22, .clock = NONE, .select_step = 4, .counter_step = 8,
    .control = 0x80, .select = 0x84, .counter = 0x90, .status = 0xb0,
    .select_mask = 0xffff, .code = {0x701, 0x702, 0x703, 0x704}, .first_only = 1u << 2,
};

struct state {
    uint64_t value[COUNTERS + 1], select[COUNTERS + 1], control, filter[2];
    bool hidden;
};

struct units {
    struct hardware_box box[HARDWARE_BOXES];
    struct state state[HARDWARE_BOXES];
    unsigned boxes;
    uint8_t packages;
    uint32_t bridge_id; /* of the host bridge 0:0.0, or 0 */
    bool server, garbage;
    uint64_t random;
    const char *damage;
};

static uint64_t draw(uint64_t *state)
{
    uint64_t mixed = (*state += UINT64_C(0x9e3779b97f4a7c15));

    mixed = (mixed ^ mixed >> 31) * UINT64_C(0xd6e8feb86659fd93);
    return mixed ^ mixed >> 32;
}

static uint64_t width_mask(const struct hardware_type *type)
{
    return BIT(type->width) - 1;
}

static bool has_counter(const struct hardware_type *type, unsigned n)
{
    return n < type->counters || (n == CLOCK && type->clock != NONE);
}

static uint32_t client_offset(unsigned n)
{
    static const uint16_t offsets[] = {0x5050, 0x5054, 0x5040, 0x5044, 0x5048};

    return offsets[n];
}

size_t hardware_units_bytes(void)
{
    return sizeof(struct units);
}

unsigned hardware_units_package(const void *hardware, unsigned core)
{
    const struct units *units = hardware;

    return core % units->packages;
}

unsigned hardware_units_boxes(const void *hardware, const struct hardware_box **out_boxes)
{
    const struct units *units = hardware;

    *out_boxes = units->box;
    return units->boxes;
}

void hardware_units_reset(void *hardware, unsigned box)
{
    struct units *units = hardware;
    const struct hardware_type *type = units->box[box].type;
    struct state *state = &units->state[box];

    hardware_units_clear(hardware, box);
    /* (Undefined in the manuals: near a carry of all bits, of the low half, or anywhere.) */
    for (unsigned n = 0; units->garbage && n <= CLOCK; n++) {
        uint64_t lot = draw(&units->random);

        state->value[n] = (lot % 3 == 0 ? 0 - (lot >> 50) : lot % 3 == 1 ? (lot >> 32 << 32) - (lot >> 50) : lot >> 9) &
                          width_mask(type);
    }
}

static void add_box(struct units *units, const struct hardware_type *type, unsigned package, unsigned number,
                    uint64_t base)
{
    units->box[units->boxes++] = (struct hardware_box){type, (uint8_t)number, (uint8_t)package, base};
    hardware_units_reset(units, units->boxes - 1u);
}

/* A package's functions: the U-box, the bits of the slices, the channels (pci SKX: 10.2, 10.6). */
#define BUS_OF(package) ((package) ? 0x90u : 0x10u)
#define WHERE(bus, device, function) ((bus) << 8 | (device) << 3 | (function))

void hardware_units_init(void *hardware, const char *model, uint64_t seed, bool garbage)
{
    struct units *units = hardware;
    bool is_client = !strcmp(model, "sandy bridge") || !strcmp(model, "haswell") || !strcmp(model, "skylake");

    memset(units, 0, sizeof *units);
    units->random = seed;
    units->garbage = garbage;
    units->server = !strcmp(model, "skylake-x");
    units->packages = units->server || !strcmp(model, "nehalem") || !strcmp(model, "westmere") ? 2 : 1;
    for (unsigned package = 0; package < units->packages; package++) {
        if (units->server)
            for (unsigned n = 0; n < 2; n++) {
                add_box(units, &cha, package, n, 0xe00 + 0x10 * n);
                add_box(units, &imc, package, n, WHERE(BUS_OF(package) + 4u, 10u, 2u + 4u * n));
            }
        else if (units->packages == 2)
            add_box(units, &nehalem, package, 0, 0);
    }
    if (is_client) {
        units->bridge_id = (*model == 's' ? model[1] == 'a' ? 0x0100u : 0x191fu : 0x0c00u) << 16 | 0x8086u;
        add_box(units, &client, 0, 0, 0xfed10000);
    }
    for (unsigned n = 0; n < 2; n++)
        add_box(units, &copro, 0, n, 0x2fd000000 + 0x1000 * n);
    add_box(units, &bridge, units->packages - 1u, 0, WHERE(0x41u, 3u, 0u));
}

/* Selects and controls with what is left of an earlier driver; a counter at work is far from its end. */
void hardware_units_leave(void *hardware, unsigned box, uint64_t seed)
{
    struct units *units = hardware;
    const struct hardware_type *type = units->box[box].type;
    struct state *state = &units->state[box];
    unsigned live = draw(&seed) % 2;

    if (type->gate == HARDWARE_FREE)
        return;
    for (unsigned n = 0; n <= CLOCK; n++) {
        uint64_t lot = draw(&seed);
        bool runs = live && lot % 4 == 0;

        if (!has_counter(type, n) || lot % 3 == 2)
            continue;
        state->select[n] = n == CLOCK ? 0 : type->code[lot >> 8 & 1];
        state->select[n] |= runs ? BIT(n == CLOCK ? type->clock : type->enable) : 0;
        state->value[n] = lot >> 32;
        if (runs && type->gate == HARDWARE_GLOBAL)
            state->control |= BIT(n == CLOCK ? 32 : n);
    }
    if (type->gate == HARDWARE_FREEZE && !live)
        state->control = draw(&seed) % 2 ? FROZEN : 0;
    for (unsigned n = 0; n < type->filters; n++)
        state->filter[n] = draw(&seed) % 2 ? draw(&seed) & type->filter_mask[n] : 0;
}

void hardware_units_hide(void *hardware, unsigned box, bool hidden)
{
    ((struct units *)hardware)->state[box].hidden = hidden;
}

void hardware_units_clear(void *hardware, unsigned box)
{
    struct state *state = &((struct units *)hardware)->state[box];

    *state = (struct state){.hidden = state->hidden};
}

/* ---- Counting ---- */

static bool runs(const struct units *units, unsigned box, unsigned n)
{
    const struct hardware_type *type = units->box[box].type;
    const struct state *state = &units->state[box];

    if (!has_counter(type, n))
        return false;
    if (type->gate == HARDWARE_FREE)
        return true;
    if (!(state->select[n] >> (n == CLOCK ? type->clock : type->enable) & 1))
        return false;
    if (type->gate == HARDWARE_GLOBAL)
        return state->control >> (n == CLOCK ? 32 : n) & 1;
    return type->gate != HARDWARE_FREEZE || !(state->control & FROZEN);
}

uint32_t hardware_units_running(const void *hardware, unsigned box)
{
    uint32_t running = 0;

    for (unsigned n = 0; n <= CLOCK; n++)
        running |= (uint32_t)runs(hardware, box, n) << (n == CLOCK ? 16 : n);
    return running;
}

static unsigned inside(unsigned counter)
{
    return counter == 16 ? CLOCK : counter;
}

uint64_t hardware_units_count(const void *hardware, unsigned box, unsigned counter)
{
    return ((const struct units *)hardware)->state[box].value[inside(counter)];
}

/* m 2: occupancies are counted on counter 0 alone; the clock's counter ignores the event. */
bool hardware_units_counts(const void *hardware, unsigned box, unsigned counter, unsigned kind)
{
    const struct units *units = hardware;
    const struct hardware_type *type = units->box[box].type;
    unsigned n = inside(counter);

    if (type->gate == HARDWARE_FREE || n == CLOCK)
        return kind == (n == CLOCK ? HARDWARE_KINDS - 1u : n);
    return type->code[kind] && !(kind == HARDWARE_KINDS - 1u && type->clock != NONE) &&
           (units->state[box].select[n] & type->select_mask) == type->code[kind] &&
           (!n || !(type->first_only >> kind & 1));
}

void hardware_units_happen(void *hardware, unsigned box, unsigned kind, uint64_t count)
{
    struct units *units = hardware;

    for (unsigned n = 0; n <= CLOCK; n++)
        if (runs(units, box, n) && hardware_units_counts(units, box, n == CLOCK ? 16 : n, kind))
            units->state[box].value[n] = (units->state[box].value[n] + count) & width_mask(units->box[box].type);
}

uint64_t hardware_units_to_carry(const void *hardware, unsigned box, unsigned kind)
{
    const struct units *units = hardware;

    for (unsigned n = 0; n <= CLOCK; n++)
        if (runs(units, box, n) && hardware_units_counts(units, box, n == CLOCK ? 16 : n, kind))
            return (UINT64_C(1) << 32) - (units->state[box].value[n] & 0xffffffff);
    return 0;
}

/* ---- Registers ---- */

/* Registers of a box in a row: counters, selects, of both the clock's last, control, filters, status. */
static bool describe(const struct hardware_type *type, unsigned number, uint32_t *out_offset,
                     enum hardware_role *out_role, unsigned *out_n)
{
    unsigned n = number;

    *out_n = n <= CLOCK ? n : n - CLOCK - 1u;
    if (n <= CLOCK) {
        *out_role = HARDWARE_COUNTER;
        *out_offset = n == CLOCK                     ? type->clock_counter
                      : type->gate == HARDWARE_FREE ? n < type->counters ? client_offset(n) : 0
                                                    : type->counter + n * type->counter_step;
        return has_counter(type, n);
    }
    if (type->gate == HARDWARE_FREE)
        return false;
    n = *out_n;
    if (n <= CLOCK) {
        *out_role = HARDWARE_EVENT_SELECT;
        *out_offset = n == CLOCK ? type->clock_select : type->select + n * type->select_step;
        return has_counter(type, n);
    }
    *out_n = n -= CLOCK + 1u;
    *out_role = n == 0 ? HARDWARE_CONTROL : n < 3 ? HARDWARE_FILTER : HARDWARE_STATUS;
    *out_offset = n == 0 ? type->control : n < 3 ? type->filter[n - 1u] : type->status;
    return n == 0 ? type->gate != HARDWARE_SELECT : n < 3 ? n <= type->filters : n == 3;
}

#define REGISTERS (2u * (CLOCK + 1u) + 4u)

static uint64_t *cell(struct state *state, enum hardware_role role, unsigned n)
{
    return role == HARDWARE_COUNTER        ? &state->value[n]
           : role == HARDWARE_EVENT_SELECT ? &state->select[n]
           : role == HARDWARE_CONTROL      ? &state->control
           : role == HARDWARE_FILTER       ? &state->filter[n - 1u]
                                           : NULL;
}

bool hardware_units_peek(const void *hardware, unsigned box, unsigned number, uint64_t *out_value,
                         enum hardware_role *out_role)
{
    struct units *units = (struct units *)(uintptr_t)hardware;
    uint32_t offset;
    unsigned n;

    *out_value = 0;
    *out_role = HARDWARE_STATUS;
    if (number < REGISTERS && describe(units->box[box].type, number, &offset, out_role, &n) &&
        *out_role != HARDWARE_STATUS)
        *out_value = *cell(&units->state[box], *out_role, n);
    return number < REGISTERS;
}

bool hardware_units_find(const void *hardware, const struct hardware_access *access, struct hardware_place *out_place)
{
    const struct units *units = hardware;

    for (unsigned box = 0; box < units->boxes; box++) {
        const struct hardware_box *at = &units->box[box];
        uint64_t offset = access->space == HARDWARE_PCI ? access->offset : access->where - at->base;

        /* m 1: an MSR is that of the executing CPU's die. */
        if (at->type->space != access->space || (access->space == HARDWARE_PCI && access->where != at->base) ||
            (access->space == HARDWARE_MSR && access->package != at->package))
            continue;
        for (unsigned number = 0; number < REGISTERS; number++) {
            uint32_t place;
            unsigned n;
            bool wide;

            if (!describe(at->type, number, &place, &out_place->role, &n))
                continue;
            wide = at->type->width > 32 && out_place->role == HARDWARE_COUNTER;
            wide |= at->type->bits == 64;
            out_place->half = access->bits == 32 && wide;
            out_place->high = out_place->half && offset == place + 4u;
            if (offset != place && !out_place->high)
                continue;
            out_place->box = box;
            out_place->number = number;
            out_place->counter = out_place->role <= HARDWARE_EVENT_SELECT ? (n == CLOCK ? 16 : n) : NONE;
            return true;
        }
    }
    return false;
}

/* m 1, m 6: dwords of configuration space, MSRs of 64 bits, memory by the width of its row. */
static bool check_width(struct units *units, const struct hardware_access *access, const struct hardware_type *type,
                        enum hardware_role role)
{
    unsigned bits = role > HARDWARE_EVENT_SELECT ? 32 : type->bits; /* (the host's device: its filter is a dword) */
    bool halves = sizeof(void *) == 4 && bits == 64 && access->bits == 32; /* (32-bit code has no other way.) */

    if (access->space == HARDWARE_MSR || access->bits == bits || halves)
        return true;
    units->damage = "an access of another width than the register's";
    return false;
}

/* Functions that are there beside those with counters. */
static uint32_t configuration(const struct units *units, uint64_t where, uint32_t offset)
{
    uint32_t id = 0xffffffff, value = 0;
    bool several = false;

    if (where == 0 && units->bridge_id) {
        id = units->bridge_id;
        value = offset == 0x48 ? 0xfed10001 : 0; /* freerunning: base, bit 0 enables it */
    }
    for (unsigned package = 0; units->server && package < units->packages; package++) {
        unsigned bus = BUS_OF(package);

        if (where == WHERE(bus, 8u, 2u)) { /* u 5.4: the node C0h, the map D4h; node 2 is package 0, 1 package 1 */
            id = 0x20148086;
            value = offset == 0xc0 ? (package ? 1 : 2) : offset == 0xd4 ? 077777712 : 0;
        } else if (where == WHERE(bus + 2u, 30u, 3u)) { /* u 5.6 */
            id = 0x20838086;
            value = offset == 0x9c ? 3 : 0;
        } else if (where == WHERE(bus, 8u, 0u) || where == WHERE(bus + 2u, 30u, 0u) ||
                   where == WHERE(bus + 4u, 10u, 0u)) {
            id = 0x20808086;
            several = true;
        }
    }
    for (unsigned box = 0; box < units->boxes; box++)
        if (units->box[box].type->space == HARDWARE_PCI && units->box[box].base == where)
            id = units->box[box].type->own ? 0xabcd1234 : units->box[box].number ? 0x20468086 : 0x20428086;
    if (id == 0xffffffff)
        return id;
    return offset == 0 ? id : offset == 0xc ? (uint32_t)several << 23 : value;
}

bool hardware_units_read(void *hardware, const struct hardware_access *access, uint64_t *out_value)
{
    struct units *units = hardware;
    struct hardware_place place;
    uint64_t value = 0;
    uint32_t offset;
    unsigned n;

    *out_value = access->bits == 64 ? ~UINT64_C(0) : 0xffffffff;
    if (access->space == HARDWARE_PCI && access->offset >= 0x100)
        return false;
    if (!hardware_units_find(units, access, &place)) {
        if (access->space == HARDWARE_PCI)
            *out_value = configuration(units, access->where, access->offset);
        return access->space != HARDWARE_MSR;
    }
    if (!check_width(units, access, units->box[place.box].type, place.role))
        return true;
    if (units->state[place.box].hidden)
        return access->space != HARDWARE_MSR;
    (void)describe(units->box[place.box].type, place.number, &offset, &place.role, &n);
    if (place.role != HARDWARE_STATUS)
        value = *cell(&units->state[place.box], place.role, n);
    value >>= place.high ? 32 : 0;
    *out_value = access->bits == 64 ? value : value & 0xffffffff;
    return true;
}

static uint64_t allowed(const struct hardware_type *type, enum hardware_role role, unsigned n)
{
    switch (role) {
    case HARDWARE_EVENT_SELECT: /* u 2.2: bits 17 and 20 reset the counter, and ask for an interrupt */
        return n == CLOCK ? BIT(type->clock) | BIT(20) | (type->clock ? 0 : BIT(2))
                          : type->select_mask | BIT(type->enable) | (type->own ? 0 : BIT(17) | BIT(20));
    case HARDWARE_CONTROL:
        return type->gate == HARDWARE_GLOBAL ? 0x800f0001000000ff
                                             : RESET_SELECTS | RESET_COUNTERS | FROZEN | (type->own ? 0 : FROZEN_TOO);
    case HARDWARE_FILTER:
        return type->filter_mask[n - 1u];
    default:
        return ~UINT64_C(0);
    }
}

bool hardware_units_write(void *hardware, const struct hardware_access *access, uint64_t value)
{
    struct units *units = hardware;
    const struct hardware_type *type;
    struct hardware_place place;
    struct state *state;
    uint32_t offset;
    unsigned n;

    if (!hardware_units_find(units, access, &place)) {
        units->damage = "a write to a register that no box has";
        return access->space != HARDWARE_MSR;
    }
    type = units->box[place.box].type;
    state = &units->state[place.box];
    if (!check_width(units, access, type, place.role))
        return true;
    if (state->hidden)
        return access->space != HARDWARE_MSR;
    (void)describe(type, place.number, &offset, &place.role, &n);
    if (type->gate == HARDWARE_FREE || place.role == HARDWARE_STATUS) {
        units->damage = "a write to a register that is read";
        return true;
    }
    if (place.high) /* (All of them are 0 but a counter's.) */
        value = value << 32 | (*cell(state, place.role, n) & 0xffffffff);
    else if (access->bits == 32)
        value |= *cell(state, place.role, n) >> 32 << 32;
    if (value & ~allowed(type, place.role, n))
        units->damage = "a write of reserved bits";
    if (place.role == HARDWARE_CONTROL && type->gate == HARDWARE_FREEZE) {
        if (value & RESET_SELECTS)
            memset(state->select, 0, sizeof state->select);
        if (value & RESET_COUNTERS)
            memset(state->value, 0, sizeof state->value);
        value &= ~(RESET_SELECTS | RESET_COUNTERS);
    }
    if (place.role == HARDWARE_EVENT_SELECT && !type->own && (value & BIT(17))) {
        state->value[n] = 0;
        value &= ~BIT(17);
    }
    *cell(state, place.role, n) = place.role == HARDWARE_COUNTER ? value & width_mask(type) : value;
    return true;
}

const char *hardware_units_damage(const void *hardware)
{
    return ((const struct units *)hardware)->damage;
}
