/* SPDX-License-Identifier: MIT */
/*
 * The registers of the Arm door: a table by number, with the function of each and the bits of PMUSERENR_EL0 that let
 * EL0 use it.
 *
 * Arm ARM D24.5 has the registers. An access to a counter that does not exist is UNDEFINED: without FEAT_FGT that is
 * one of the permitted behaviours, with FEAT_FGT the only one. Linux KVM (arch/arm64/kvm/sys_regs.c) does the same.
 */
#include <abi/guest/arm/guest_arm.h>

/* The kinds of registers. Counters and selects with a number of their own are found by number, not in the table. */
enum arm_register {
    ARM_CONTROL,
    ARM_ENABLE_SET,
    ARM_ENABLE_CLEAR,
    ARM_OVERFLOW_CLEAR,
    ARM_OVERFLOW_SET,
    ARM_INCREMENT,
    ARM_SELECT,
    ARM_EVENTS0,
    ARM_EVENTS1,
    ARM_CYCLES,
    ARM_TYPE,
    ARM_VALUE,
    ARM_USERS,
    ARM_INTERRUPT_SET,
    ARM_INTERRUPT_CLEAR,
    ARM_SLOTS
};

/* In sysreg_row.read and .write: never by EL0, and never at all. ARM_EL0 in .read: EL0 may always read. */
#define ARM_EL1 0x10u
#define ARM_NEVER 0x20u
#define ARM_EL0 0x40u

static const struct sysreg_row {
    uint16_t number;
    uint8_t what;        /* enum arm_register */
    uint8_t read, write; /* mask of PMUSERENR_EL0: each of these bits permits EL0 the access; or ARM_... */
} sysreg_rows[] = {
    {UPMU_GUEST_SYSREG(3, 3, 9, 12, 0), ARM_CONTROL, GUEST_ARM_EN, GUEST_ARM_EN},
    {UPMU_GUEST_SYSREG(3, 3, 9, 12, 1), ARM_ENABLE_SET, GUEST_ARM_EN, GUEST_ARM_EN},
    {UPMU_GUEST_SYSREG(3, 3, 9, 12, 2), ARM_ENABLE_CLEAR, GUEST_ARM_EN, GUEST_ARM_EN},
    {UPMU_GUEST_SYSREG(3, 3, 9, 12, 3), ARM_OVERFLOW_CLEAR, GUEST_ARM_EN, GUEST_ARM_EN},
    {UPMU_GUEST_SYSREG(3, 3, 9, 12, 4), ARM_INCREMENT, ARM_NEVER, GUEST_ARM_EN | GUEST_ARM_SW},
    {UPMU_GUEST_SYSREG(3, 3, 9, 12, 5), ARM_SELECT, GUEST_ARM_EN | GUEST_ARM_ER, GUEST_ARM_EN | GUEST_ARM_ER},
    {UPMU_GUEST_SYSREG(3, 3, 9, 12, 6), ARM_EVENTS0, GUEST_ARM_EN, ARM_NEVER},
    {UPMU_GUEST_SYSREG(3, 3, 9, 12, 7), ARM_EVENTS1, GUEST_ARM_EN, ARM_NEVER},
    {UPMU_GUEST_SYSREG(3, 3, 9, 13, 0), ARM_CYCLES, GUEST_ARM_EN | GUEST_ARM_CR, GUEST_ARM_EN},
    {UPMU_GUEST_SYSREG(3, 3, 9, 13, 1), ARM_TYPE, GUEST_ARM_EN, GUEST_ARM_EN},
    {UPMU_GUEST_SYSREG(3, 3, 9, 13, 2), ARM_VALUE, GUEST_ARM_EN | GUEST_ARM_ER, GUEST_ARM_EN},
    {UPMU_GUEST_SYSREG(3, 3, 9, 14, 0), ARM_USERS, ARM_EL0, ARM_EL1},
    {UPMU_GUEST_SYSREG(3, 0, 9, 14, 1), ARM_INTERRUPT_SET, ARM_EL1, ARM_EL1},
    {UPMU_GUEST_SYSREG(3, 0, 9, 14, 2), ARM_INTERRUPT_CLEAR, ARM_EL1, ARM_EL1},
    {UPMU_GUEST_SYSREG(3, 3, 9, 14, 3), ARM_OVERFLOW_SET, GUEST_ARM_EN, GUEST_ARM_EN},
    {UPMU_GUEST_SYSREG(3, 0, 9, 14, 6), ARM_SLOTS, ARM_EL1, ARM_NEVER},
};

/* PMEVCNTRn_EL0 and PMEVTYPERn_EL0, n 0 to 30; PMCCFILTR_EL0 stands where PMEVTYPER31_EL0 would be. */
#define ARM_VALUES UPMU_GUEST_SYSREG(3, 3, 14, 8, 0)
#define ARM_TYPES UPMU_GUEST_SYSREG(3, 3, 14, 12, 0)
static const struct sysreg_row values_row = {0, ARM_VALUE, GUEST_ARM_EN | GUEST_ARM_ER, GUEST_ARM_EN};
static const struct sysreg_row types_row = {0, ARM_TYPE, GUEST_ARM_EN, GUEST_ARM_EN};

/* Return the virtual counters that the bits of a register name; bits of counters that the shape lacks are dropped. */
static uint32_t guest_counters(const struct upmu_guest *guest, uint64_t bits)
{
    uint32_t counters = (uint32_t)bits & (UPMU_BIT32(GUEST_ARM_CYCLE) - 1u);

    return (counters | (uint32_t)(bits >> GUEST_ARM_CYCLE_BIT & 1u) << GUEST_ARM_CYCLE) & guest->counters;
}

static uint64_t guest_bits(uint32_t counters)
{
    return (counters & (UPMU_BIT32(GUEST_ARM_CYCLE) - 1u)) | (uint64_t)(counters >> GUEST_ARM_CYCLE & 1u)
                                                                 << GUEST_ARM_CYCLE_BIT;
}

/* Return the virtual counter that has this number in PMSELR_EL0; UPMU_NO_COUNTER: the shape has none. */
static unsigned guest_counter(const struct upmu_guest *guest, unsigned number)
{
    if (number == GUEST_ARM_CYCLE_BIT)
        return GUEST_ARM_CYCLE;
    return number < guest->shape.general ? number : UPMU_NO_COUNTER;
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
 * Say which counters overflow at 32 bits: the cycle counter without LC, all others without LP. Where that changes,
 * overflows until now are found by the old rule, and the next entry tells the sessions the new distance.
 */
static void set_halves(struct upmu_guest *guest, uint32_t halves)
{
    uint32_t changed = guest->halves ^ halves;

    upmu_guest_fold(guest, changed);
    guest->halves = halves;
    guest->dirty |= changed;
    for (uint32_t rest = changed; rest; rest &= rest - 1u)
        guest->counter[upmu_bits_lowest(rest)].flags |= GUEST_COUNTER_LOAD;
}

void upmu_guest_arm_set_control(struct upmu_guest *guest, uint32_t control)
{
    uint32_t general = guest->counters & (UPMU_BIT32(GUEST_ARM_CYCLE) - 1u);

    if ((control ^ guest->arm.control) & GUEST_ARM_E)
        guest->dirty |= guest->counters;
    guest->arm.control = (uint8_t)control;
    set_halves(guest,
               (control & GUEST_ARM_LP ? 0 : general) | (control & GUEST_ARM_LC ? 0 : guest->counters & ~general));
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
    if (!(guest->arm.control & GUEST_ARM_E) || guest->policy->level == UPMU_GUEST_OFF)
        return;
    for (uint32_t rest = counters & guest->arm.enabled; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);

        if (upmu_guest_arm_code(guest, counter) == GUEST_ARM_SW_INCR &&
            !(guest->counter[counter].select & (from_el0 ? GUEST_ARM_NOT_EL0 : GUEST_ARM_NOT_EL1)))
            upmu_guest_add(guest, counter, 1);
    }
}

/* Set or clear bits of a mask of counters; those that change are dirty. */
static void change_mask(struct upmu_guest *guest, uint32_t *mask, uint32_t counters, bool set)
{
    uint32_t changed = counters & (set ? ~*mask : *mask);

    *mask ^= changed;
    guest->dirty |= changed;
}

static void write_sysreg(struct upmu_guest *guest, unsigned what, unsigned counter, bool from_el0, uint64_t value)
{
    uint32_t counters = guest_counters(guest, value);

    switch (what) {
    case ARM_CONTROL:
        write_control(guest, value);
        break;
    case ARM_ENABLE_SET:
    case ARM_ENABLE_CLEAR:
        change_mask(guest, &guest->arm.enabled, counters, what == ARM_ENABLE_SET);
        break;
    case ARM_INTERRUPT_SET:
    case ARM_INTERRUPT_CLEAR:
        change_mask(guest, &guest->arm.interrupts, counters, what == ARM_INTERRUPT_SET);
        break;
    case ARM_OVERFLOW_SET:
    case ARM_OVERFLOW_CLEAR: /* overflows until now come before the write */
        upmu_guest_fold(guest, counters);
        guest->raised = what == ARM_OVERFLOW_SET ? guest->raised | counters : guest->raised & ~counters;
        break;
    case ARM_INCREMENT:
        increment_counters(guest, counters, from_el0);
        break;
    case ARM_SELECT:
        guest->arm.selected = value & 31u;
        break;
    case ARM_USERS:
        guest->arm.users = value & 15u;
        break;
    case ARM_TYPE:
        upmu_guest_set_select(guest, counter, value & upmu_guest_arm_select_bits(&guest->shape, counter));
        break;
    default: /* ARM_VALUE, ARM_CYCLES */
        upmu_guest_set_value(guest, counter, value);
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
    case ARM_ENABLE_SET:
    case ARM_ENABLE_CLEAR:
        return guest_bits(guest->arm.enabled);
    case ARM_INTERRUPT_SET:
    case ARM_INTERRUPT_CLEAR:
        return guest_bits(guest->arm.interrupts);
    case ARM_OVERFLOW_SET:
    case ARM_OVERFLOW_CLEAR:
        upmu_guest_fold(guest, guest->started);
        return guest_bits(guest->raised);
    case ARM_SELECT:
        return guest->arm.selected;
    case ARM_USERS:
        return guest->arm.users;
    case ARM_EVENTS0:
    case ARM_EVENTS1:
        return shown_events(&guest->shape, what == ARM_EVENTS1);
    case ARM_TYPE:
        return guest->counter[counter].select;
    case ARM_VALUE:
    case ARM_CYCLES:
        value = upmu_guest_value(guest, counter);
        return counter != GUEST_ARM_CYCLE && guest->shape.version < GUEST_ARM_V3P5 ? (uint32_t)value : value;
    default: /* ARM_SLOTS: no event counts slots */
        return 0;
    }
}

/* ---- Accesses ---- */

/*
 * Is a number one of those for registers of the PMU, or of statistical profiling (CRm 9 and 10), which no guest has?
 */
static bool is_ours(uint32_t reg)
{
    uint32_t crm = reg >> 3 & 15u;

    switch (reg >> 7) {
    case UPMU_GUEST_SYSREG(3, 0, 9, 0, 0) >> 7:
        return crm >= 9 && crm <= 14 && crm != 11;
    case UPMU_GUEST_SYSREG(3, 3, 9, 0, 0) >> 7:
        return crm >= 12 && crm <= 14;
    case UPMU_GUEST_SYSREG(3, 3, 14, 0, 0) >> 7:
        return crm >= 8;
    default:
        return false;
    }
}

/* Find a register; NULL: no guest has it. *out_number: the counter that it belongs to, as PMSELR_EL0 numbers them. */
static const struct sysreg_row *find_sysreg(const struct upmu_guest *guest, uint32_t reg, unsigned *out_number)
{
    *out_number = GUEST_ARM_CYCLE_BIT;
    if (reg - ARM_VALUES < GUEST_ARM_CYCLE_BIT) {
        *out_number = reg - ARM_VALUES;
        return &values_row;
    }
    if (reg - ARM_TYPES <= GUEST_ARM_CYCLE_BIT) {
        *out_number = reg - ARM_TYPES;
        return &types_row;
    }
    for (unsigned i = 0; i < sizeof sysreg_rows / sizeof sysreg_rows[0]; i++) {
        if (sysreg_rows[i].number != reg)
            continue;
        if (sysreg_rows[i].what == ARM_TYPE || sysreg_rows[i].what == ARM_VALUE)
            *out_number = guest->arm.selected;
        return sysreg_rows[i].what == ARM_SLOTS && guest->shape.version < GUEST_ARM_V3P4 ? NULL : &sysreg_rows[i];
    }
    return NULL;
}

/* May the access be made at this level? By EL0 if a bit of PMUSERENR_EL0 permits it. */
static enum upmu_guest_access judge_level(const struct upmu_guest *guest, unsigned permits, bool from_el0)
{
    if (permits & ARM_NEVER || (from_el0 && permits & ARM_EL1))
        return UPMU_GUEST_FAULT;
    return !from_el0 || permits & (guest->arm.users | ARM_EL0) ? UPMU_GUEST_DONE : UPMU_GUEST_TRAP_EL1;
}

static enum upmu_guest_access access_sysreg(struct upmu_guest *guest, uint32_t reg, bool write, bool from_el0,
                                            uint64_t *inout)
{
    unsigned number, counter;
    const struct sysreg_row *row;
    enum upmu_guest_access access;

    if (!is_ours(reg))
        return UPMU_GUEST_NOT_OURS;
    row = find_sysreg(guest, reg, &number);
    if (!row)
        return UPMU_GUEST_FAULT;
    counter = guest_counter(guest, number);
    if (counter == UPMU_NO_COUNTER || (row->what == ARM_VALUE && counter == GUEST_ARM_CYCLE))
        return UPMU_GUEST_FAULT;
    access = judge_level(guest, write ? row->write : row->read, from_el0);
    if (access != UPMU_GUEST_DONE)
        return access;
    if (write)
        write_sysreg(guest, row->what, counter & (UPMU_GUEST_COUNTERS - 1u), from_el0, *inout);
    else
        *inout = read_sysreg(guest, row->what, counter & (UPMU_GUEST_COUNTERS - 1u));
    return UPMU_GUEST_DONE;
}

enum upmu_guest_access upmu_guest_sysreg(struct upmu_guest *guest, uint32_t reg, bool write, bool from_el0,
                                         uint64_t *inout)
{
    enum upmu_guest_access access = access_sysreg(guest, reg, write, from_el0, inout);

    return upmu_guest_note_trap(guest, access, write);
}
