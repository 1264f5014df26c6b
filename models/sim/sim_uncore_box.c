/* SPDX-License-Identifier: MIT */
/*
 * Registers of a box: which register is at an offset, values of reads, effects of writes, and violations that a write
 * can be.
 */
#include "models/sim/sim_uncore_intern.h"

/* ---- Where ---- */

/*
 * Return the index of the register at an offset among `count` registers of `step` each, the first one at `first`;
 * `count`: none of them is there. Any offset within a register's step is this register.
 */
static unsigned su_in_row(uint32_t offset, uint32_t first, unsigned step, unsigned count)
{
    if (first == UPMU_SIM_NO_REGISTER || step == 0 || offset < first || offset >= first + step * count)
        return count;
    return (offset - first) / step;
}

static struct su_register su_find_free(const struct upmu_sim_unit *unit, uint32_t offset)
{
    const struct upmu_sim_unit_type *type = unit->type;
    unsigned before = 0;

    for (const struct upmu_sim_free *row = type->free; row->count != 0; row++) {
        uint32_t first = row->address;
        unsigned index;

        if (type->space == UPMU_SIM_SPACE_MSR)
            first += row->list != NULL ? row->list[unit->index] : (uint32_t)row->unit_step * unit->index;
        index = su_in_row(offset, first, row->step, row->count);
        if (index < row->count)
            return (struct su_register){SU_COUNTER, before + index, (offset - first) % row->step != 0,
                                        type->bits == 64};
        before += row->count;
    }
    return (struct su_register){SU_NOTHING, 0, false, false};
}

/*
 * Find the general select or counter at an offset; kind SU_NOTHING: neither. In PCI and memory a register with a step
 * of 8 has two dwords; `high` of the result tells which one.
 */
static struct su_register su_find_counter(const struct upmu_sim_unit_type *type, uint32_t offset)
{
    bool msr = type->space == UPMU_SIM_SPACE_MSR;
    bool memory = type->space == UPMU_SIM_SPACE_MMIO;
    unsigned index = su_in_row(offset, type->select, type->select_step, type->counters);
    uint32_t beyond;

    if (index < type->counters) {
        beyond = msr ? (offset - type->select) % type->select_step : (offset - type->select) % type->select_step & ~3u;
        if (beyond == 0 || (!msr && beyond == 4))
            return (struct su_register){SU_SELECT, index, beyond != 0, memory && type->select_step == 8};
    }
    index = su_in_row(offset, type->counter, type->counter_step, type->counters);
    if (index < type->counters) {
        beyond = msr ? (offset - type->counter) % type->counter_step : (offset - type->counter) & 4u;
        if (beyond == 0 || !msr)
            return (struct su_register){SU_COUNTER, index, beyond != 0, memory};
    }
    return (struct su_register){SU_NOTHING, 0, false, false};
}

struct su_register upmu_sim_uncore_box_find(const struct upmu_sim_unit *unit, uint32_t offset)
{
    const struct upmu_sim_unit_type *type = unit->type;
    bool msr = type->space == UPMU_SIM_SPACE_MSR;
    bool wide = type->space == UPMU_SIM_SPACE_MMIO && type->select_step == 8;
    struct su_register found = {SU_NOTHING, 0, false, wide};
    uint32_t whole = offset;

    if (type->style == UPMU_SIM_UNIT_FREE)
        return su_find_free(unit, offset);
    if (wide) { /* each register of this type has 64 bits */
        found.high = offset & 4u;
        offset &= ~4u;
    }
    if (offset == type->control)
        found.kind = SU_CONTROL;
    else if (offset == type->global)
        found.kind = SU_GLOBAL_COPY;
    else if (offset == type->status)
        found.kind = SU_STATUS;
    else if (offset == type->fixed_select)
        found = (struct su_register){SU_SELECT, type->counters, false, false};
    else if (type->fixed_counter != UPMU_SIM_NO_REGISTER &&
             (offset == type->fixed_counter || (!msr && offset == type->fixed_counter + 4u)))
        found = (struct su_register){SU_COUNTER, type->counters, offset != type->fixed_counter,
                                     type->space == UPMU_SIM_SPACE_MMIO};
    if (found.kind != SU_NOTHING)
        return found;
    for (unsigned i = 0; i < type->filters; i++) {
        if (offset == type->filter[i] && !(type->quirks & UPMU_SIM_QUIRK_COMPANION))
            return (struct su_register){SU_FILTER, i, found.high, wide};
    }
    return su_find_counter(type, whole);
}

/* ---- Reading ---- */

uint64_t upmu_sim_uncore_box_read(const struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, struct su_register at)
{
    switch (at.kind) {
    case SU_CONTROL:
        if (unit->type->style == UPMU_SIM_UNIT_BOX)
            return su_on(u, UPMU_SIM_RULE_U_CONTROL_READS_ZERO) ? 0 : unit->control;
        return unit->control;
    case SU_GLOBAL_COPY:
        return unit->frozen;
    case SU_SELECT:
        return (unit->counter[at.index].select & 0xffffffffu) |
               (unit->type->space == UPMU_SIM_SPACE_PCI ? (uint64_t)unit->counter[at.index].high << 32
                                                        : unit->counter[at.index].select & ~UINT64_C(0xffffffff));
    case SU_COUNTER:
        return unit->counter[at.index].value;
    case SU_STATUS:
        return unit->status;
    case SU_FILTER:
        return unit->filter[at.index];
    default:
        return 0;
    }
}

/* ---- Mistakes ---- */

static void su_violate(struct upmu_sim_uncore *u, enum upmu_sim_rule_id rule, const char *text,
                       const struct upmu_sim_unit *unit, uint64_t value)
{
    if (su_on(u, rule))
        upmu_sim_violate(u->sim, text, (uint32_t)(unit->base + unit->type->control), value);
}

static bool su_some_run(const struct upmu_sim_uncore *u, const struct upmu_sim_unit *unit)
{
    for (unsigned i = 0; i <= unit->type->counters; i++) {
        if (upmu_sim_unit_runs(u, unit, i))
            return true;
    }
    return false;
}

/* Return the mask of the bits of a filter that have an effect on a counter that runs now (type->uses). */
static uint64_t su_used(const struct upmu_sim_uncore *u, const struct upmu_sim_unit *unit, unsigned filter)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < unit->type->counters; i++) {
        const struct upmu_sim_unit_use *use = unit->type->uses;

        if (!upmu_sim_unit_runs(u, unit, i))
            continue;
        for (; use != NULL && use->mask != 0; use++) {
            if (use->filter == filter && (unit->counter[i].select & use->mask) == use->config)
                bits |= use->bits;
        }
    }
    return bits;
}

/* ---- Writing ---- */

static void su_reset(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, bool selects, bool counters)
{
    if ((selects || counters) && su_some_run(u, unit))
        su_violate(u, UPMU_SIM_RULE_CHECK_U_RESET, "box control resets running counters", unit, unit->control);
    if (selects && unit->strangers != 0)
        su_violate(u, UPMU_SIM_RULE_CHECK_U_FREEZE, "box control resets a stranger's counter", unit, unit->control);
    for (unsigned i = 0; i <= unit->type->counters; i++) {
        if (selects && su_on(u, UPMU_SIM_RULE_U_RESET_SELECTS)) {
            unit->counter[i].select = 0;
            unit->counter[i].high = 0;
        }
        if (counters && su_on(u, UPMU_SIM_RULE_U_RESET_COUNTERS))
            unit->counter[i].value = 0;
    }
}

void upmu_sim_uncore_box_reset(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit)
{
    su_reset(u, unit, true, true);
    unit->control = 0;
}

static bool su_write_control(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, uint32_t value)
{
    bool box = unit->type->style == UPMU_SIM_UNIT_BOX, bits = unit->type->style == UPMU_SIM_UNIT_BITS;
    bool stranger = upmu_sim_uncore_count_stranger(u, unit);
    uint32_t known = box ? 0x30103u : unit->type->style == UPMU_SIM_UNIT_LIVE ? 0x301u : 7u;

    if (bits)
        known = (uint32_t)(SIM_BIT(unit->type->counters) - 1u) | (unit->type->fixed_width != 0 ? 1u << 31 : 0);
    if (value & ~known)
        su_violate(u, UPMU_SIM_RULE_CHECK_U_RESERVED, "reserved bits of box control", unit, value);
    if (unit->type->quirks & UPMU_SIM_QUIRK_SBOX && su_on(u, UPMU_SIM_RULE_U_SBOX)) {
        uint32_t fresh = value & 0x10003u & ~unit->resets_seen;

        if (fresh & (fresh - 1u))
            return false;
    }
    unit->resets_seen |= value & 0x10003u;
    if (box)
        su_reset(u, unit, value & 1u, value & 2u);
    else if (unit->type->style == UPMU_SIM_UNIT_LIVE)
        su_reset(u, unit, value & 0x100u, value & 0x200u);
    else if (!bits)
        su_reset(u, unit, value & 2u, value & 4u);
    unit->control = value & (box ? 0x30100u : bits ? known : 1u);
    if (stranger && !upmu_sim_uncore_count_stranger(u, unit))
        su_violate(u, UPMU_SIM_RULE_CHECK_U_FREEZE, "a freeze stops a stranger's counter", unit, value);
    return true;
}

/*
 * Write the control of all boxes of the type on the die, which box 1 has and which resets and freezes both (ADL's IMC;
 * LX uncore_snb.c). What such a write to box 0 does is not known: a violation.
 */
static void su_write_global_copy(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, uint32_t value)
{
    if (unit->index != 1) {
        su_violate(u, UPMU_SIM_RULE_CHECK_U_READ_ONLY, "write of another controller's control of all", unit, value);
        return;
    }
    for (unsigned i = 0; i < u->units; i++) {
        if (u->unit[i].type != unit->type || u->unit[i].die != unit->die)
            continue;
        su_reset(u, &u->unit[i], value & 2u, value & 4u);
        u->unit[i].frozen = value & 1u;
    }
}

static uint64_t su_writable(const struct upmu_sim_unit *unit, unsigned counter)
{
    const struct upmu_sim_unit_type *type = unit->type;

    if (counter == type->counters)
        return type->quirks & UPMU_SIM_QUIRK_FIXED_BIT_0 ? 5u : SIM_BIT(22) | SIM_BIT(SU_OVERFLOW_BIT);
    if (type->layout != UPMU_SIM_LAYOUT_INTEL)
        return type->select_bits | (type->quirks & UPMU_SIM_QUIRK_ENABLE_31 ? SIM_BIT(31) : SIM_BIT(22));
    if (type->quirks & UPMU_SIM_QUIRK_ENABLE_0)
        return type->select_bits | 1u;
    if (type->style == UPMU_SIM_UNIT_LIVE || type->style == UPMU_SIM_UNIT_CLIENT)
        return type->select_bits | SIM_BIT(SU_RESET_BIT) | SIM_BIT(SU_OVERFLOW_BIT);
    return type->select_bits | SIM_BIT(SU_RESET_BIT) | SIM_BIT(SU_OVERFLOW_BIT) | SIM_BIT(22);
}

static void su_check_select(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, unsigned index, uint64_t value)
{
    uint64_t old = unit->counter[index].select;
    uint64_t enables = SIM_BIT(22) | SIM_BIT(SU_RESET_BIT);

    if (unit->type->quirks & UPMU_SIM_QUIRK_ENABLE_31)
        enables = SIM_BIT(31);
    else if (unit->type->quirks & UPMU_SIM_QUIRK_ENABLE_0)
        enables = 1;
    else if (unit->type->style == UPMU_SIM_UNIT_LIVE || unit->type->style == UPMU_SIM_UNIT_CLIENT)
        enables = 0;
    if (unit->strangers >> index & 1u && old != value)
        su_violate(u, UPMU_SIM_RULE_CHECK_U_FREEZE, "a stranger's select is written", unit, value);
    if (index == unit->type->counters || !upmu_sim_unit_runs(u, unit, index) || ((old ^ value) & ~enables) == 0)
        return;
    if (upmu_sim_uncore_count_enabled(u, unit, index, value))
        su_violate(u, UPMU_SIM_RULE_CHECK_U_RUNNING_SELECT, "another event under a running counter", unit, value);
}

static bool su_write_select(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, unsigned index, uint64_t value)
{
    const struct upmu_sim_unit_type *type = unit->type;
    uint64_t reserved = value & ~su_writable(unit, index);

    if (reserved != 0) {
        bool faults = type->space == UPMU_SIM_SPACE_MSR && type->layout == UPMU_SIM_LAYOUT_INTEL;

        if (faults && su_on(u, UPMU_SIM_RULE_U_RESERVED))
            return false;
        if (!faults)
            su_violate(u, UPMU_SIM_RULE_CHECK_U_RESERVED, "reserved bits of a select", unit, value);
    }
    value &= ~reserved;
    su_check_select(u, unit, index, value);
    if (value >> SU_RESET_BIT & 1u && type->layout == UPMU_SIM_LAYOUT_INTEL && su_on(u, UPMU_SIM_RULE_U_RESET_BIT)) {
        unit->counter[index].value = 0;
        value &= ~SIM_BIT(SU_RESET_BIT);
    }
    unit->counter[index].select = value;
    unit->counter[index].high = (uint32_t)(value >> 32);
    return true;
}

/*
 * Write one dword of a select of two dwords. The high one is only kept in counter->high: the whole select takes effect
 * when the low one is written. With rule U_HIGH_HALF off both take effect at once.
 */
static bool su_write_select_half(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, struct su_register at,
                                 uint32_t value)
{
    struct upmu_sim_unit_counter *counter = &unit->counter[at.index];

    if (!at.high)
        return su_write_select(u, unit, at.index, (uint64_t)counter->high << 32 | value);
    if ((uint64_t)value << 32 & ~unit->type->select_bits)
        su_violate(u, UPMU_SIM_RULE_CHECK_U_RESERVED, "reserved bits of a select", unit, value);
    counter->high = value & (uint32_t)(unit->type->select_bits >> 32);
    if (!su_on(u, UPMU_SIM_RULE_U_HIGH_HALF))
        return su_write_select(u, unit, at.index, (uint64_t)counter->high << 32 | (counter->select & 0xffffffffu));
    return true;
}

static void su_write_counter(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, struct su_register at,
                             unsigned bits, uint64_t value)
{
    struct upmu_sim_unit_counter *counter = &unit->counter[at.index];

    if (unit->type->style == UPMU_SIM_UNIT_FREE) {
        su_violate(u, UPMU_SIM_RULE_CHECK_U_READ_ONLY, "write of a free-running counter", unit, value);
        if (su_on(u, UPMU_SIM_RULE_U_FREE))
            return;
    } else if (upmu_sim_unit_runs(u, unit, at.index)) {
        su_violate(u, UPMU_SIM_RULE_CHECK_U_RUNNING_COUNTER, "write of a running counter", unit, value);
    }
    if (unit->strangers >> at.index & 1u)
        su_violate(u, UPMU_SIM_RULE_CHECK_U_FREEZE, "a stranger's counter is written", unit, value);
    if (bits == 32)
        value = at.high ? value << 32 | (counter->value & 0xffffffffu)
                        : (counter->value & ~UINT64_C(0xffffffff)) | (value & 0xffffffffu);
    counter->value = su_on(u, UPMU_SIM_RULE_U_WIDTH) ? value & upmu_sim_unit_range(u, unit, at.index) : value;
}

static bool su_write_filter(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, unsigned index, uint64_t value)
{
    uint64_t known = unit->type->filter_bits[index];

    if (value & ~known) {
        if (unit->type->space == UPMU_SIM_SPACE_MSR && su_on(u, UPMU_SIM_RULE_U_RESERVED))
            return false;
        su_violate(u, UPMU_SIM_RULE_CHECK_U_RESERVED, "reserved bits of a filter", unit, value);
    }
    value &= known;
    if ((unit->filter[index] ^ value) & su_used(u, unit, index))
        su_violate(u, UPMU_SIM_RULE_CHECK_U_RUNNING_FILTER, "a filter changes under a running counter", unit, value);
    unit->filter[index] = value;
    return true;
}

bool upmu_sim_uncore_box_write(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, struct su_register at,
                               unsigned bits, uint64_t value)
{
    if (at.high && (at.kind == SU_CONTROL || at.kind == SU_FILTER))
        return true; /* the high half has no bits: ignore the write */
    switch (at.kind) {
    case SU_CONTROL:
        return su_write_control(u, unit, (uint32_t)value);
    case SU_GLOBAL_COPY:
        su_write_global_copy(u, unit, (uint32_t)value);
        return true;
    case SU_SELECT:
        if (bits == 32 && at.index < unit->type->counters && unit->type->select_step == 8)
            return su_write_select_half(u, unit, at, (uint32_t)value);
        return su_write_select(u, unit, at.index, value);
    case SU_COUNTER:
        su_write_counter(u, unit, at, bits, value);
        return true;
    case SU_STATUS:
        unit->status &= su_on(u, UPMU_SIM_RULE_U_STATUS_CLEARS) ? ~value : value;
        return true;
    case SU_FILTER:
        return su_write_filter(u, unit, at.index, value);
    default:
        return false;
    }
}
