/* SPDX-License-Identifier: MIT */
/*
 * The registers of the Arm door: a table by number, with the function of each and the bits of PMUSERENR_EL0 that let
 * EL0 use it.
 *
 * Arm ARM D24.5 has the registers. An access to a counter that does not exist is UNDEFINED: without FEAT_FGT that is
 * one of the permitted behaviours, with FEAT_FGT the only one. Linux KVM (arch/arm64/kvm/sys_regs.c) does the same.
 */
#include <stddef.h>
#include <abi/guest/arm/guest_arm.h>

/*
 * The kinds of registers. The first six are masks of counters, in pairs with the same mask: the write of the first of a
 * pair sets the bits that are 1, that of the second one clears them.
 */
enum arm_register {
    ARM_ENABLE_SET,
    ARM_ENABLE_CLEAR,
    ARM_INTERRUPT_SET,
    ARM_INTERRUPT_CLEAR,
    ARM_OVERFLOW_SET,
    ARM_OVERFLOW_CLEAR,
    ARM_CONTROL,
    ARM_INCREMENT,
    ARM_SELECT,
    ARM_EVENTS0,
    ARM_EVENTS1,
    ARM_CYCLES,
    ARM_USERS,
    ARM_SLOTS,
    ARM_ABSENT, /* a register that no guest has: of a later version, or of statistical profiling */
    ARM_TYPE,   /* of the counter that the register's number or PMSELR_EL0 says, as ARM_VALUE */
    ARM_VALUE
};

/* In sysreg_row.permits: ARM_EL1: never by EL0; ARM_NEVER: never at all; ARM_EL0: always by EL0, too. */
#define ARM_EL1 0x10u
#define ARM_NEVER 0x20u
#define ARM_EL0 0x40u

/*
 * The rows are searched in their order; the first one that has a number decides. PMEVCNTRn_EL0 has n 0 to 30;
 * PMCCFILTR_EL0 stands where PMEVTYPER31_EL0 would be. The
 * overflow flags stand first: no other access takes as long.
 */
static const struct sysreg_row {
    uint16_t number;
    uint8_t numbers; /* how many registers of one kind have numbers from `number` on */
    uint8_t what;    /* enum arm_register */
    uint8_t permits
        [2]; /* of a read, of a write: mask of PMUSERENR_EL0, each of whose bits permits EL0 the access; or ARM_... */
} sysreg_rows[] = {
    {UPMU_GUEST_SYSREG(3, 3, 9, 14, 3), 1, ARM_OVERFLOW_SET, {GUEST_ARM_EN, GUEST_ARM_EN}},
    {UPMU_GUEST_SYSREG(3, 3, 9, 12, 3), 1, ARM_OVERFLOW_CLEAR, {GUEST_ARM_EN, GUEST_ARM_EN}},
    {UPMU_GUEST_SYSREG(3, 3, 9, 12, 0), 1, ARM_CONTROL, {GUEST_ARM_EN, GUEST_ARM_EN}},
    {UPMU_GUEST_SYSREG(3, 3, 9, 12, 1), 1, ARM_ENABLE_SET, {GUEST_ARM_EN, GUEST_ARM_EN}},
    {UPMU_GUEST_SYSREG(3, 3, 9, 12, 2), 1, ARM_ENABLE_CLEAR, {GUEST_ARM_EN, GUEST_ARM_EN}},
    {UPMU_GUEST_SYSREG(3, 3, 9, 12, 4), 1, ARM_INCREMENT, {ARM_NEVER, GUEST_ARM_EN | GUEST_ARM_SW}},
    {UPMU_GUEST_SYSREG(3, 3, 9, 12, 5), 1, ARM_SELECT, {GUEST_ARM_EN | GUEST_ARM_ER, GUEST_ARM_EN | GUEST_ARM_ER}},
    {UPMU_GUEST_SYSREG(3, 3, 9, 12, 6), 1, ARM_EVENTS0, {GUEST_ARM_EN, ARM_NEVER}},
    {UPMU_GUEST_SYSREG(3, 3, 9, 12, 7), 1, ARM_EVENTS1, {GUEST_ARM_EN, ARM_NEVER}},
    {UPMU_GUEST_SYSREG(3, 3, 9, 13, 0), 1, ARM_CYCLES, {GUEST_ARM_EN | GUEST_ARM_CR, GUEST_ARM_EN}},
    {UPMU_GUEST_SYSREG(3, 3, 9, 13, 1), 1, ARM_TYPE, {GUEST_ARM_EN, GUEST_ARM_EN}},
    {UPMU_GUEST_SYSREG(3, 3, 9, 13, 2), 1, ARM_VALUE, {GUEST_ARM_EN | GUEST_ARM_ER, GUEST_ARM_EN}},
    {UPMU_GUEST_SYSREG(3, 3, 9, 14, 0), 1, ARM_USERS, {ARM_EL0, ARM_EL1}},
    {UPMU_GUEST_SYSREG(3, 0, 9, 14, 1), 1, ARM_INTERRUPT_SET, {ARM_EL1, ARM_EL1}},
    {UPMU_GUEST_SYSREG(3, 0, 9, 14, 2), 1, ARM_INTERRUPT_CLEAR, {ARM_EL1, ARM_EL1}},
    {UPMU_GUEST_SYSREG(3, 0, 9, 14, 6), 1, ARM_SLOTS, {ARM_EL1, ARM_NEVER}},
    {UPMU_GUEST_SYSREG(3, 3, 14, 8, 0), 31, ARM_VALUE, {GUEST_ARM_EN | GUEST_ARM_ER, GUEST_ARM_EN}},
    {UPMU_GUEST_SYSREG(3, 3, 14, 12, 0), 32, ARM_TYPE, {GUEST_ARM_EN, GUEST_ARM_EN}},
    {UPMU_GUEST_SYSREG(3, 0, 9, 9, 0), 16, ARM_ABSENT, {ARM_NEVER, ARM_NEVER}}, /* statistical profiling */
    {UPMU_GUEST_SYSREG(3, 0, 9, 12, 0), 24, ARM_ABSENT, {ARM_NEVER, ARM_NEVER}},
    {UPMU_GUEST_SYSREG(3, 3, 9, 12, 0), 24, ARM_ABSENT, {ARM_NEVER, ARM_NEVER}},
    {UPMU_GUEST_SYSREG(3, 3, 14, 8, 0), 64, ARM_ABSENT, {ARM_NEVER, ARM_NEVER}},
};

/* Return the virtual counters that the bits of a register name; bits of counters that the shape lacks are dropped. */
static uint32_t guest_counters(const struct upmu_guest *guest, uint64_t bits)
{
    uint32_t counters = (uint32_t)bits & GUEST_ARM_EVENT_COUNTERS;

    return (counters | (uint32_t)(bits >> GUEST_ARM_CYCLE_BIT & 1u) << GUEST_ARM_CYCLE) & guest->counters;
}

static uint64_t guest_bits(uint32_t counters)
{
    return (counters & GUEST_ARM_EVENT_COUNTERS) | (uint64_t)(counters >> GUEST_ARM_CYCLE & 1u) << GUEST_ARM_CYCLE_BIT;
}

unsigned upmu_guest_arm_code(const struct upmu_guest *guest, unsigned counter)
{
    return counter == GUEST_ARM_CYCLE ? GUEST_ARM_CPU_CYCLES : (uint16_t)guest->counter[counter].select;
}

uint32_t upmu_guest_arm_select_bits(const struct upmu_guest_shape *shape, unsigned counter)
{
    if (counter == GUEST_ARM_CYCLE)
        return GUEST_ARM_NOWHERE;
    return GUEST_ARM_NOWHERE | (shape->version >= GUEST_ARM_V3P1 ? 0xffffu : 0x3ffu);
}

uint32_t upmu_guest_arm_control_bits(const struct upmu_guest_shape *shape)
{
    return GUEST_ARM_E | GUEST_ARM_DP | GUEST_ARM_LC | (shape->version >= GUEST_ARM_V3P5 ? GUEST_ARM_LP : 0);
}

/* ---- Writes ---- */

/*
 * The control register also says which counters overflow at 32 bits: the cycle counter without LC, all others without
 * LP. Where that changes, overflows until now are found by the old rule, and the next entry tells the sessions the new
 * distance.
 */
void upmu_guest_arm_set_control(struct upmu_guest *guest, uint32_t control)
{
    uint32_t halves = guest->counters, changed;

    if ((control ^ guest->arm.control) & GUEST_ARM_E)
        guest->dirty |= guest->counters;
    guest->arm.control = (uint8_t)control;
    if (control & GUEST_ARM_LP)
        halves &= UPMU_BIT32(GUEST_ARM_CYCLE);
    if (control & GUEST_ARM_LC)
        halves &= ~UPMU_BIT32(GUEST_ARM_CYCLE);
    changed = guest->halves ^ halves;
    upmu_guest_fold(guest, changed);
    guest->halves = halves;
    guest->dirty |= changed;
    for (uint32_t rest = changed; rest; rest &= rest - 1u)
        guest->counter[upmu_bits_lowest(rest)].flags |= GUEST_COUNTER_LOAD;
}

/* The flags P and C set counters to 0, and leave overflow flags as they are. */
static void write_control(struct upmu_guest *guest, uint64_t value)
{
    upmu_guest_arm_set_control(guest, (uint32_t)value & upmu_guest_arm_control_bits(&guest->shape));
    for (unsigned i = 0; value & GUEST_ARM_P && i < guest->shape.general; i++)
        upmu_guest_set_value(guest, i, 0);
    if (value & GUEST_ARM_C)
        upmu_guest_set_value(guest, GUEST_ARM_CYCLE, 0);
}

/*
 * Add 1 to each named counter that is enabled, has the event SW_INCR and counts at the level of the write. Level OFF
 * denies it; no other policy does, because the guest counts nothing but its own writes.
 */
static void increment_counters(struct upmu_guest *guest, uint32_t counters, bool from_el0)
{
    uint32_t other = UINT16_MAX | (from_el0 ? GUEST_ARM_NOT_EL0 : GUEST_ARM_NOT_EL1);

    if (!(guest->arm.control & GUEST_ARM_E) || guest->policy->level == UPMU_GUEST_OFF)
        return;
    /* The number of SW_INCR is 0. */
    for (uint32_t rest = counters & guest->arm.enabled & GUEST_ARM_EVENT_COUNTERS; rest; rest &= rest - 1u)
        if (!(guest->counter[upmu_bits_lowest(rest)].select & other))
            upmu_guest_add(guest, upmu_bits_lowest(rest), 1);
}

/* Return the mask of counters that a register of the first six kinds has. */
static uint32_t *mask_of(struct upmu_guest *guest, unsigned what)
{
    static const uint16_t at[] = {offsetof(struct upmu_guest, arm.enabled), offsetof(struct upmu_guest, arm.interrupts),
                                  offsetof(struct upmu_guest, raised)};

    return (uint32_t *)(void *)((uint8_t *)guest + at[what >> 1]);
}

/*
 * Set or clear bits of a register with one bit for each counter. Before overflow flags are cleared, overflows until now
 * are found. Counters whose enable or interrupt bit changes are programmed anew before the guest runs on (`dirty`).
 */
static void write_mask(struct upmu_guest *guest, unsigned what, uint32_t counters)
{
    uint32_t *mask = mask_of(guest, what), changed;

    if (what == ARM_OVERFLOW_CLEAR)
        upmu_guest_fold(guest, counters);
    changed = counters & (*mask ^ ((what & 1u) - 1u)); /* to be set are the bits that are 0, and the other way round */
    *mask ^= changed;
    if (what < ARM_OVERFLOW_SET)
        guest->dirty |= changed;
}

static void write_sysreg(struct upmu_guest *guest, unsigned what, unsigned counter, unsigned how, uint64_t value)
{
    uint32_t counters = guest_counters(guest, value);

    switch (what) {
    case ARM_CONTROL:
        write_control(guest, value);
        break;
    case ARM_INCREMENT:
        increment_counters(guest, counters, how & GUEST_ARM_FROM_EL0);
        break;
    case ARM_SELECT:
        guest->arm.selected = (uint8_t)(value & 31u);
        break;
    case ARM_USERS:
        guest->arm.users = value & 15u;
        break;
    case ARM_TYPE:
        upmu_guest_set_select(guest, counter, value & upmu_guest_arm_select_bits(&guest->shape, counter));
        break;
    case ARM_CYCLES:
    case ARM_VALUE:
        if (how & GUEST_ARM_LOW_HALF)
            value |= upmu_guest_value(guest, counter) >> 32 << 32;
        upmu_guest_set_value(guest, counter, value);
        break;
    default:
        write_mask(guest, what, counters);
        break;
    }
}

/* ---- Reads ---- */

/* Return PMCEID0_EL0 or PMCEID1_EL0: 32 of the common events each in bits 31:0, and as many of the later ones above. */
static uint64_t shown_events(const struct upmu_guest_shape *shape, bool second)
{
    unsigned shift = second ? 32 : 0;

    return (uint32_t)(shape->events[0] >> shift) | (shape->events[1] >> shift) << 32;
}

static uint64_t read_sysreg(struct upmu_guest *guest, unsigned what, unsigned counter)
{
    uint64_t value;

    switch (what) {
    case ARM_CONTROL:
        return guest->arm.control | (uint32_t)guest->shape.general << 11;
    case ARM_SELECT:
        return guest->arm.selected;
    case ARM_USERS:
        return guest->arm.users;
    case ARM_EVENTS0:
    case ARM_EVENTS1:
        return shown_events(&guest->shape, what == ARM_EVENTS1);
    case ARM_TYPE:
        return guest->counter[counter].select;
    case ARM_CYCLES:
    case ARM_VALUE:
        value = upmu_guest_value(guest, counter);
        return counter != GUEST_ARM_CYCLE && guest->shape.version < GUEST_ARM_V3P5 ? (uint32_t)value : value;
    case ARM_SLOTS: /* no event counts slots */
        return 0;
    case ARM_OVERFLOW_SET:
    case ARM_OVERFLOW_CLEAR: /* counters whose flag is set already are not looked at */
        upmu_guest_fold(guest, guest->started & ~guest->raised);
        break;
    }
    return guest_bits(*mask_of(guest, what));
}

/* ---- Accesses ---- */

/* Find a number; NULL: it is none of the PMU's, nor of statistical profiling. */
static const struct sysreg_row *find_sysreg(uint32_t reg)
{
    const struct sysreg_row *const end = sysreg_rows + sizeof sysreg_rows / sizeof sysreg_rows[0];

    for (const struct sysreg_row *row = sysreg_rows; row != end; row++)
        if (reg - row->number < row->numbers)
            return row;
    return NULL;
}

/*
 * Return the virtual counter that a register belongs to, and the cycle counter for registers that belong to none;
 * UPMU_NO_COUNTER: the shape lacks the counter.
 */
static unsigned counter_of(const struct upmu_guest *guest, const struct sysreg_row *row, uint32_t reg)
{
    unsigned number = row->numbers > 1u ? reg - row->number : guest->arm.selected;

    if (row->what < ARM_TYPE || (row->what == ARM_TYPE && number == GUEST_ARM_CYCLE_BIT))
        return GUEST_ARM_CYCLE;
    return number < guest->shape.general ? number : UPMU_NO_COUNTER;
}

/* May the access be made at this level? By EL0 if a bit of PMUSERENR_EL0 permits it. */
static enum upmu_guest_access judge_level(const struct upmu_guest *guest, unsigned permits, bool from_el0)
{
    if (permits & (from_el0 ? ARM_NEVER | ARM_EL1 : ARM_NEVER))
        return UPMU_GUEST_FAULT;
    return !from_el0 || permits & (guest->arm.users | ARM_EL0) ? UPMU_GUEST_DONE : UPMU_GUEST_TRAP_EL1;
}

static enum upmu_guest_access access_sysreg(struct upmu_guest *guest, uint32_t reg, unsigned how, uint64_t *inout)
{
    const struct sysreg_row *row = find_sysreg(reg);
    bool write = how & GUEST_ARM_WRITE;
    enum upmu_guest_access access;
    unsigned counter;

    if (!row)
        return UPMU_GUEST_NOT_OURS;
    counter = counter_of(guest, row, reg);
    if (counter == UPMU_NO_COUNTER || (row->what == ARM_SLOTS && guest->shape.version < GUEST_ARM_V3P4))
        return UPMU_GUEST_FAULT;
    access = judge_level(guest, row->permits[write], how & GUEST_ARM_FROM_EL0);
    if (access != UPMU_GUEST_DONE)
        return access;
    counter &= UPMU_GUEST_COUNTERS - 1u;
    if (write)
        write_sysreg(guest, row->what, counter, how, *inout);
    else
        *inout = read_sysreg(guest, row->what, counter);
    return UPMU_GUEST_DONE;
}

enum upmu_guest_access upmu_guest_arm_access(struct upmu_guest *guest, uint32_t reg, unsigned how, uint64_t *inout)
{
    enum upmu_guest_access access = access_sysreg(guest, reg, how, inout);

    return upmu_guest_note_trap(guest, access, how & GUEST_ARM_WRITE);
}

enum upmu_guest_access upmu_guest_sysreg(struct upmu_guest *guest, uint32_t reg, bool write, bool from_el0,
                                         uint64_t *inout)
{
    return upmu_guest_arm_access(guest, reg, (write ? GUEST_ARM_WRITE : 0) | (from_el0 ? GUEST_ARM_FROM_EL0 : 0),
                                 inout);
}
