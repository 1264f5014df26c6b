/* SPDX-License-Identifier: MIT */
/*
 * When counters of uncore units count, which events they count and how much, what overflows do; functions by which
 * tests let events happen.
 */
#include "models/sim/sim_uncore_intern.h"

#define SELECT_THRESHOLD 24u
#define SELECT_INVERT SIM_BIT(23)
#define SELECT_EDGE SIM_BIT(18)
#define ENABLE_22 SIM_BIT(22)
#define KNL_NODES 0x23u /* FILTER1: REMOTE_NODE, LOCAL_NODE, NNC, which Linux always sets (knl_cha_hw_config) */

uint64_t upmu_sim_unit_range(const struct upmu_sim_uncore *u, const struct upmu_sim_unit *unit, unsigned counter)
{
    unsigned width = counter == unit->type->counters ? unit->type->fixed_width : unit->type->width;

    if (unit->type->style == UPMU_SIM_UNIT_FREE) {
        const struct upmu_sim_free *row = unit->type->free;

        for (unsigned left = counter; row->count != 0 && left >= row->count; row++)
            left -= row->count;
        width = su_on(u, UPMU_SIM_RULE_U_FREE_WIDTH) && row->count != 0 ? row->width : 64;
    }
    return ~UINT64_C(0) >> (64u - width);
}

/* Does box control keep a counter from counting? */
static bool su_frozen(const struct upmu_sim_uncore *u, const struct upmu_sim_unit *unit, unsigned counter)
{
    switch (unit->type->style) {
    case UPMU_SIM_UNIT_BOX:
        return unit->control & 1u << 8 &&
               (!(unit->type->quirks & UPMU_SIM_QUIRK_NEEDS_16) || unit->control & 1u << 16 ||
                !su_on(u, UPMU_SIM_RULE_U_FREEZE_ENABLE));
    case UPMU_SIM_UNIT_LIVE:
    case UPMU_SIM_UNIT_CLIENT:
        return unit->control & 1u || unit->frozen;
    case UPMU_SIM_UNIT_BITS:
        return !(unit->control >> (counter == unit->type->counters ? 31u : counter) & 1u);
    default:
        return false;
    }
}

/* Return the mask of the enable bit in this counter's select; 0: none, and any select that is not 0 is enabled. */
static uint64_t su_enable_bit(const struct upmu_sim_uncore *u, const struct upmu_sim_unit *unit, unsigned counter)
{
    const struct upmu_sim_unit_type *type = unit->type;
    bool live = type->style == UPMU_SIM_UNIT_LIVE || type->style == UPMU_SIM_UNIT_CLIENT;

    if (counter == type->counters)
        return type->quirks & UPMU_SIM_QUIRK_FIXED_BIT_0 && su_on(u, UPMU_SIM_RULE_U_ENABLE_FIXED) ? 1 : ENABLE_22;
    if (type->quirks & UPMU_SIM_QUIRK_ENABLE_0)
        return su_on(u, UPMU_SIM_RULE_U_ENABLE) ? 1 : 0;
    if (type->quirks & UPMU_SIM_QUIRK_ENABLE_31 && su_on(u, UPMU_SIM_RULE_U_ENABLE_UMC))
        return SIM_BIT(31);
    if (live)
        return su_on(u, UPMU_SIM_RULE_U_LIVE) ? 0 : ENABLE_22;
    return su_on(u, UPMU_SIM_RULE_U_ENABLE) ? ENABLE_22 : 0;
}

bool upmu_sim_uncore_count_enabled(const struct upmu_sim_uncore *u, const struct upmu_sim_unit *unit, unsigned counter,
                                   uint64_t select)
{
    uint64_t bit = su_enable_bit(u, unit, counter);

    return bit != 0 ? select & bit : select != 0;
}

static bool su_global_runs(const struct upmu_sim_uncore *u, const struct upmu_sim_unit *unit, unsigned counter)
{
    const struct upmu_sim_global_state *global = &u->global[su_package(u, unit->die)];

    switch (u->machine->global) {
    case UPMU_SIM_GLOBAL_NHM:
        return global->control & SIM_BIT(counter == unit->type->counters ? 32 : counter) ||
               !su_on(u, UPMU_SIM_RULE_U_GLOBAL);
    case UPMU_SIM_GLOBAL_CLIENT:
        return !(unit->type->quirks & UPMU_SIM_QUIRK_PACKAGE) || global->control & SIM_BIT(29) ||
               !su_on(u, UPMU_SIM_RULE_U_GLOBAL);
    case UPMU_SIM_GLOBAL_EX:
        return (global->control & SIM_BIT(28) || !su_on(u, UPMU_SIM_RULE_U_GLOBAL)) &&
               (!(global->control & SIM_BIT(31)) || !su_on(u, UPMU_SIM_RULE_U_GLOBAL_FREEZE));
    case UPMU_SIM_GLOBAL_LATCH:
    case UPMU_SIM_GLOBAL_LEVEL:
        return !(unit->type->quirks & UPMU_SIM_QUIRK_PACKAGE) || !global->frozen ||
               !su_on(u, UPMU_SIM_RULE_U_GLOBAL_FREEZE);
    default:
        return true;
    }
}

bool upmu_sim_unit_runs(const struct upmu_sim_uncore *u, const struct upmu_sim_unit *unit, unsigned counter)
{
    if (unit->absent || counter >= UPMU_SIM_UNIT_COUNTERS)
        return false;
    if (unit->type->style == UPMU_SIM_UNIT_FREE)
        return counter < unit->type->counters;
    if (counter > unit->type->counters || (counter == unit->type->counters && unit->type->fixed_width == 0))
        return false;
    return upmu_sim_uncore_count_enabled(u, unit, counter, unit->counter[counter].select) &&
           su_global_runs(u, unit, counter) &&
           (!su_frozen(u, unit, counter) || !su_on(u, UPMU_SIM_RULE_U_FREEZE));
}

bool upmu_sim_uncore_count_stranger(const struct upmu_sim_uncore *u, const struct upmu_sim_unit *unit)
{
    for (unsigned i = 0; i <= unit->type->counters; i++) {
        if (unit->strangers >> i & 1u && upmu_sim_unit_runs(u, unit, i))
            return true;
    }
    return false;
}

/* ---- Does a counter count an event: event and unit mask of its select, ties, filters, threshold ---- */

struct su_event {
    uint32_t event;
    uint32_t umask;
    uint32_t extended;
};

static struct su_event su_named(const struct upmu_sim_unit_type *type, uint64_t select)
{
    struct su_event named = {.event = (uint32_t)(select & 0xffu), .umask = (uint32_t)(select >> 8 & 0xffu)};
    uint32_t high = (uint32_t)(select >> 32);

    switch (type->layout) {
    case UPMU_SIM_LAYOUT_INTEL:
        if (type->quirks & UPMU_SIM_QUIRK_EVENT_21)
            named.event |= (uint32_t)(select >> 13 & 0x100u);
        named.extended = type->threshold > 8 ? high & ~0xfu : high;
        if (type->quirks & UPMU_SIM_QUIRK_ENABLE_0)
            named.event &= ~1u;
        break;
    case UPMU_SIM_LAYOUT_AMD_NB:
        named.event |= (high & 0xfu) << 8;
        break;
    case UPMU_SIM_LAYOUT_AMD_DF:
        named.event |= (high & 0xfu) << 8 | (uint32_t)(select >> 59 & 3u) << 12;
        break;
    case UPMU_SIM_LAYOUT_AMD_V2:
        named.event |= (high & 0x3fu) << 8;
        named.umask |= (uint32_t)(select >> 24 & 0xfu) << 8;
        break;
    case UPMU_SIM_LAYOUT_AMD_UMC:
        named.umask &= 3u;
        if (named.umask == 0) /* reads, writes and what is neither */
            named.umask = 7u;
        break;
    default:
        break;
    }
    return named;
}

/* Return how many of an event's occurrences are those of the slices, cores and threads that a select asks for. */
static uint64_t su_part(const struct upmu_sim_uncore *u, const struct upmu_sim_unit *unit, uint64_t select,
                        uint64_t count)
{
    bool from_19h = unit->type->layout == UPMU_SIM_LAYOUT_AMD_19;

    if ((!from_19h && unit->type->layout != UPMU_SIM_LAYOUT_AMD_L3) || !su_on(u, UPMU_SIM_RULE_U_SLICES))
        return count;
    return upmu_sim_amd_l3_part(from_19h, select, count);
}

static bool su_names(const struct upmu_sim_uncore *u, const struct upmu_sim_unit *unit, uint64_t select,
                     const struct upmu_sim_happening *happening)
{
    struct su_event named = su_named(unit->type, select);
    bool unit_mask = happening->some ? (named.umask & happening->umask) != 0 : named.umask == happening->umask;

    if (unit->type->layout == UPMU_SIM_LAYOUT_AMD_UMC)
        unit_mask = named.umask & (happening->umask != 0 ? happening->umask : 4u);
    if (named.event != happening->event && su_on(u, UPMU_SIM_RULE_U_EVENT))
        return false;
    return (unit_mask && named.extended == happening->extended) || !su_on(u, UPMU_SIM_RULE_U_UMASK);
}

static bool su_tied_elsewhere(const struct upmu_sim_uncore *u, const struct upmu_sim_unit *unit, unsigned counter,
                              uint32_t event)
{
    const struct upmu_sim_unit_tie *tie = unit->type->ties;

    for (; tie != NULL && tie->mask != 0; tie++) {
        if ((event & tie->mask) == tie->code)
            return !(tie->counters >> counter & 1u) && su_on(u, UPMU_SIM_RULE_U_ONE_COUNTER);
    }
    return false;
}

static bool su_filtered_out(const struct upmu_sim_uncore *u, const struct upmu_sim_unit *unit,
                            const struct upmu_sim_happening *happening)
{
    bool by_node = happening->event == 0x35 || happening->event == 0x36;

    if (unit->type->quirks & UPMU_SIM_QUIRK_NODES && by_node && (unit->filter[1] & KNL_NODES) != KNL_NODES)
        return su_on(u, UPMU_SIM_RULE_U_FILTER);
    for (unsigned i = 0; i < happening->filtered && i < UPMU_SIM_UNIT_FILTERS; i++) {
        if ((unit->filter[i] & happening->filter_mask[i]) != happening->filter[i])
            return su_on(u, UPMU_SIM_RULE_U_FILTER);
    }
    return false;
}

/*
 * Return how much a counter counts of an event with the threshold, invert and edge of its select: without any of them
 * each occurrence, otherwise the cycles that meet the condition or, with edge, their runs.
 */
static uint64_t su_compared(const struct upmu_sim_uncore *u, const struct upmu_sim_unit *unit, uint64_t select,
                            const struct upmu_sim_happening *happening)
{
    uint64_t each = happening->each == 0 ? 1 : happening->each;
    uint64_t runs = happening->runs == 0 ? 1 : happening->runs;
    uint64_t threshold = 0;
    bool reached;

    if (unit->type->threshold != 0 && su_on(u, UPMU_SIM_RULE_U_THRESHOLD))
        threshold = select >> SELECT_THRESHOLD & (SIM_BIT(unit->type->threshold) - 1u);
    reached = each >= threshold;
    if (select & SELECT_INVERT && unit->type->layout == UPMU_SIM_LAYOUT_INTEL && su_on(u, UPMU_SIM_RULE_U_INVERT))
        reached = threshold == 0 || !reached;
    if (!reached)
        return 0;
    if (select & SELECT_EDGE && unit->type->layout == UPMU_SIM_LAYOUT_INTEL && su_on(u, UPMU_SIM_RULE_U_EDGE))
        return runs;
    return threshold == 0 && !(select & SELECT_INVERT) ? happening->count * each : happening->count;
}

/* ---- Adding ---- */

/* Return the mask of the select bit that lets an overflow of a counter set status bits. */
static uint64_t su_overflow_bit(const struct upmu_sim_unit *unit, unsigned counter)
{
    bool fixed = counter == unit->type->counters;

    return SIM_BIT(fixed && unit->type->quirks & UPMU_SIM_QUIRK_FIXED_BIT_0 ? 2u : SU_OVERFLOW_BIT);
}

/*
 * Return the mask of the bit that an overflow of a counter sets in the global status (SDM vol 4 392H). NHM: a bit for
 * each counter; clients: bit 0 for the clock, 1 for the arbiter, 3 for all C-boxes. 0, on servers: the model sets none
 * there, since only LIKWID says which bit is whose.
 */
static uint64_t su_global_status(const struct upmu_sim_uncore *u, const struct upmu_sim_unit *unit, unsigned counter)
{
    if (u->machine->global == UPMU_SIM_GLOBAL_NHM)
        return SIM_BIT(counter == unit->type->counters ? 32 : counter);
    if (u->machine->global != UPMU_SIM_GLOBAL_CLIENT)
        return 0;
    if (counter == unit->type->counters)
        return 1;
    return unit->type->name[0] == 'a' ? 2 : 8;
}

static void su_overflow(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, unsigned counter)
{
    struct upmu_sim_global_state *global = &u->global[su_package(u, unit->die)];
    unsigned bit = counter;

    unit->counter[counter].wraps++;
    if (unit->type->style == UPMU_SIM_UNIT_FREE)
        return;
    if (unit->type->quirks & UPMU_SIM_QUIRK_STATUS_1)
        bit = counter == unit->type->counters ? 0 : counter + 1u;
    if (unit->counter[counter].select & su_overflow_bit(unit, counter) ||
        !su_on(u, UPMU_SIM_RULE_U_OVERFLOW_NEEDS_BIT)) {
        unit->status |= SIM_BIT(bit);
        global->status |= su_global_status(u, unit, counter);
    }
    if (u->machine->global == UPMU_SIM_GLOBAL_CLIENT && global->control >> 31 & 1u &&
        su_on(u, UPMU_SIM_RULE_U_OVERFLOW_STOPS))
        global->control &= ~SIM_BIT(29);
}

static void su_add(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, unsigned index, uint64_t count)
{
    struct upmu_sim_unit_counter *counter = &unit->counter[index];
    uint64_t mask = upmu_sim_unit_range(u, unit, index);
    bool full = counter->value > mask; /* bit 48 is set */
    bool wraps = full || count > mask - counter->value;

    counter->counted += count;
    if (wraps && unit->type->quirks & UPMU_SIM_QUIRK_SATURATES && su_on(u, UPMU_SIM_RULE_U_UMC_SATURATES))
        counter->value = mask | (mask + 1u);
    else
        counter->value = (counter->value + count) & mask;
    if (wraps)
        su_overflow(u, unit, index);
}

void upmu_sim_happen(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, const struct upmu_sim_happening *happening)
{
    for (unsigned i = 0; i < unit->type->counters; i++) {
        uint64_t select = unit->counter[i].select;

        if (unit->type->style == UPMU_SIM_UNIT_FREE || !upmu_sim_unit_runs(u, unit, i))
            continue;
        if (su_names(u, unit, select, happening) && !su_filtered_out(u, unit, happening) &&
            !su_tied_elsewhere(u, unit, i, happening->event))
            su_add(u, unit, i, su_part(u, unit, select, su_compared(u, unit, select, happening)));
    }
}

void upmu_sim_clock(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, uint64_t clocks)
{
    if (unit->type->style != UPMU_SIM_UNIT_FREE && upmu_sim_unit_runs(u, unit, unit->type->counters))
        su_add(u, unit, unit->type->counters, clocks);
}

void upmu_sim_flow(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, unsigned counter, uint64_t count)
{
    if (unit->type->style == UPMU_SIM_UNIT_FREE && upmu_sim_unit_runs(u, unit, counter))
        su_add(u, unit, counter, count);
}

void upmu_sim_unit_set(struct upmu_sim_unit *unit, unsigned counter, uint64_t value)
{
    unit->counter[counter].value = value;
}

void upmu_sim_stranger(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, unsigned counter, uint64_t select)
{
    struct upmu_sim_global_state *global = &u->global[su_package(u, unit->die)];

    unit->counter[counter].select = select;
    unit->counter[counter].high = (uint32_t)(select >> 32);
    unit->strangers |= 1u << counter;
    if (u->machine->global == UPMU_SIM_GLOBAL_NHM)
        global->control |= SIM_BIT(counter == unit->type->counters ? 32 : counter);
    if (u->machine->global == UPMU_SIM_GLOBAL_CLIENT)
        global->control |= SIM_BIT(29);
    if (u->machine->global == UPMU_SIM_GLOBAL_EX)
        global->control |= SIM_BIT(28);
    global->frozen = false;
    if (unit->type->style == UPMU_SIM_UNIT_BITS)
        unit->control |= 1u << (counter == unit->type->counters ? 31u : counter);
}
