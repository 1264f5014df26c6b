/* SPDX-License-Identifier: MIT */
/*
 * Intel's door: architectural perfmon, versions 1 to 5 (Intel SDM vol 3 18.2), with AnyThread
 * deprecated, no PEBS, no branch records, no metrics.
 */
#include <abi/guest/x86/guest_x86.h>
#include <upmu/pmu.h>

#define INTEL_COUNTER 0xc1u
#define INTEL_FULL_COUNTER 0x4c1u
#define INTEL_SELECT 0x186u
#define INTEL_FIXED_COUNTER 0x309u
#define INTEL_OFFCORE 0x1a6u
#define INTEL_CAPABILITIES 0x345u
#define INTEL_FIXED_CTRL 0x38du
#define INTEL_STATUS 0x38eu
#define INTEL_GLOBAL_CTRL 0x38fu
#define INTEL_STATUS_RESET 0x390u
#define INTEL_STATUS_SET 0x391u
#define INTEL_INUSE 0x392u

#define CPUID_PDCM (1u << 15) /* leaf 1, ECX: there is PERF_CAPABILITIES */
#define CAPABILITY_FULL_WRITE UPMU_BIT64(13)
#define STATUS_UNCORE UPMU_BIT64(61)
#define STATUS_DS UPMU_BIT64(62)
#define STATUS_CHANGED UPMU_BIT64(63)
#define INUSE_PMI UPMU_BIT64(63)
#define INTEL_SELECT_ANY UPMU_BIT64(21)
#define INTEL_SELECT_IN_TX UPMU_BIT64(32)

bool upmu_guest_intel_shape(const struct upmu_guest_shape *shape)
{
    return shape->version >= 1 && shape->version <= 5 && shape->general >= 1 && shape->general <= UPMU_GUEST_GENERAL &&
           shape->fixed <= (shape->version >= 2 ? UPMU_GUEST_FIXED : 0) && shape->width >= 32 && shape->width <= 48 &&
           shape->full_write <= 1 && !(shape->arch_events & ~0x7fu);
}

/* ---- CPUID ---- */

void upmu_guest_intel_cpuid(const struct upmu_guest *guest, uint32_t leaf, uint32_t out[4])
{
    const struct upmu_guest_shape *shape = &guest->shape;

    if (leaf == 0 && out[0] < 0xa) {
        out[0] = 0xa;
    } else if (leaf == 1) {
        out[2] |= shape->full_write ? CPUID_PDCM : 0;
    } else if (leaf == 0xa) {
        out[0] = shape->version | (uint32_t)shape->general << 8 | (uint32_t)shape->width << 16 | 7u << 24;
        out[1] = ~(uint32_t)shape->arch_events & 0x7fu;
        out[2] = shape->version < 5 ? 0 : UPMU_BIT32(shape->fixed) - 1u;
        out[3] = shape->version < 2 ? 0 : 1u << 15 | shape->fixed | (shape->fixed ? (uint32_t)shape->width << 5 : 0);
    }
}

/* ---- Registers ---- */

/*
 * Return the counter of an MSR in a block that has one MSR for each general counter and begins at `first`;
 * UPMU_NO_COUNTER: the MSR is not in the block.
 */
static unsigned intel_general(const struct upmu_guest *guest, uint32_t msr, uint32_t first)
{
    return msr - first < guest->shape.general ? msr - first : UPMU_NO_COUNTER;
}

unsigned upmu_guest_intel_counter(const struct upmu_guest *guest, uint32_t msr)
{
    unsigned counter = intel_general(guest, msr, INTEL_COUNTER);

    if (counter == UPMU_NO_COUNTER && guest->shape.full_write)
        counter = intel_general(guest, msr, INTEL_FULL_COUNTER);
    if (counter == UPMU_NO_COUNTER && msr - INTEL_FIXED_COUNTER < guest->shape.fixed)
        counter = UPMU_FIXED_COUNTER(msr - INTEL_FIXED_COUNTER);
    return counter;
}

static uint64_t intel_fixed_ctrl(const struct upmu_guest *guest)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < guest->shape.fixed; i++)
        value |= guest->counter[UPMU_FIXED_COUNTER(i)].select << 4 * i;
    return value;
}

/* Return IA32_PERF_GLOBAL_INUSE: a bit for each counter whose select has an event; bit 63: a counter interrupts. */
static uint64_t intel_in_use(const struct upmu_guest *guest)
{
    uint64_t value = 0;

    for (uint32_t rest = guest->counters; rest; rest &= rest - 1u) {
        unsigned i = upmu_bits_lowest(rest);
        uint64_t select = guest->counter[i].select;
        bool fixed = i >= UPMU_FIXED_COUNTER(0);

        if (select & (fixed ? GUEST_FIXED_RINGS : 0xffu))
            value |= upmu_guest_bits(UPMU_BIT32(i));
        if (select & (fixed ? GUEST_FIXED_INT : GUEST_SELECT_INT))
            value |= INUSE_PMI;
    }
    return value;
}

/* The kinds of registers that an MSR of the guest can be. */
enum intel_register { INTEL_IS_COUNTER, INTEL_IS_SELECT, INTEL_IS_OFFCORE, INTEL_IS_GLOBAL, INTEL_IS_OTHER };

static enum intel_register intel_register(const struct upmu_guest *guest, uint32_t msr, unsigned *out_number)
{
    unsigned last = guest->shape.version >= 4 ? INTEL_INUSE : INTEL_STATUS_RESET;

    *out_number = upmu_guest_intel_counter(guest, msr);
    if (*out_number != UPMU_NO_COUNTER)
        return INTEL_IS_COUNTER;
    *out_number = intel_general(guest, msr, INTEL_SELECT);
    if (*out_number != UPMU_NO_COUNTER)
        return INTEL_IS_SELECT;
    *out_number = (msr - INTEL_OFFCORE) & 1u;
    if (msr - INTEL_OFFCORE < 2 && guest->policy->payload[*out_number])
        return INTEL_IS_OFFCORE;
    return guest->shape.version >= 2 && msr - INTEL_FIXED_CTRL <= last - INTEL_FIXED_CTRL ? INTEL_IS_GLOBAL
                                                                                            : INTEL_IS_OTHER;
}

static uint64_t intel_global(struct upmu_guest *guest, uint32_t msr)
{
    return msr == INTEL_FIXED_CTRL    ? intel_fixed_ctrl(guest)
           : msr == INTEL_STATUS      ? upmu_guest_x86_status(guest)
           : msr == INTEL_GLOBAL_CTRL ? guest->x86.global_ctrl
           : msr == INTEL_INUSE       ? intel_in_use(guest)
                                      : 0;
}

enum upmu_guest_access upmu_guest_intel_rdmsr(struct upmu_guest *guest, uint32_t msr, uint64_t *out_value)
{
    unsigned number;

    switch (intel_register(guest, msr, &number)) {
    case INTEL_IS_COUNTER:
        *out_value = upmu_guest_value(guest, number);
        break;
    case INTEL_IS_SELECT:
        *out_value = upmu_guest_counter(guest, number)->select;
        break;
    case INTEL_IS_OFFCORE:
        *out_value = guest->x86.offcore[number];
        break;
    case INTEL_IS_GLOBAL:
        *out_value = intel_global(guest, msr);
        break;
    default:
        if (msr == GUEST_DEBUGCTL) {
            *out_value = guest->x86.debugctl;
            return UPMU_GUEST_SHARED;
        }
        if (msr != INTEL_CAPABILITIES || !guest->shape.full_write)
            return UPMU_GUEST_FAULT;
        *out_value = CAPABILITY_FULL_WRITE;
    }
    return UPMU_GUEST_DONE;
}

/* ---- Writes ---- */

/*
 * Return the bits of a select that the guest may set. Bits 32 and 33 (transactions) need a policy of level LIST or
 * higher, and a host that counts them.
 */
uint64_t upmu_guest_intel_select_bits(const struct upmu_guest *guest, unsigned counter)
{
    uint64_t bits = UINT32_MAX & ~INTEL_SELECT_ANY;

    if (guest->policy->level >= UPMU_GUEST_LIST && upmu_guest_pmu(guest)->capabilities & UPMU_PMU_TSX)
        bits |= INTEL_SELECT_IN_TX | (counter == 2 ? GUEST_SELECT_IN_TXCP : 0);
    return bits;
}

uint64_t upmu_guest_intel_status_bits(const struct upmu_guest *guest)
{
    uint64_t bits = upmu_guest_bits(guest->counters) | STATUS_DS | STATUS_CHANGED;

    if (guest->shape.version >= 3)
        bits |= STATUS_UNCORE;
    if (guest->shape.version >= 4)
        bits |= GUEST_STATUS_LBR_FROZEN | GUEST_STATUS_FROZEN;
    return bits;
}

/*
 * Write a counter; false: the value is too wide. The older addresses (C1h + n) take 32 bits of a value and extend their
 * sign; those of full width (4C1h + n) and of fixed counters take every bit.
 */
static bool write_intel_counter(struct upmu_guest *guest, uint32_t msr, unsigned counter, uint64_t value)
{
    if (msr - INTEL_COUNTER < UPMU_GUEST_GENERAL)
        value = ((value & 0x7fffffffu) - (value & 0x80000000u)) & guest->mask;
    if (value & ~guest->mask)
        return false;
    upmu_guest_set_value(guest, counter, value);
    return true;
}

static bool write_intel_fixed(struct upmu_guest *guest, uint64_t value)
{
    const uint64_t each = GUEST_FIXED_RINGS | GUEST_FIXED_INT;

    for (unsigned i = 0; i < 16; i++)
        if (value >> 4 * i & 0xfu & ~(i < guest->shape.fixed ? each : 0))
            return false;
    for (unsigned i = 0; i < guest->shape.fixed; i++)
        upmu_guest_set_select(guest, UPMU_FIXED_COUNTER(i), value >> 4 * i & 0xfu);
    return true;
}

static bool write_intel_global(struct upmu_guest *guest, uint32_t msr, uint64_t value)
{
    uint64_t allowed =
        msr == INTEL_GLOBAL_CTRL ? upmu_guest_bits(guest->counters) : upmu_guest_intel_status_bits(guest);

    if (msr == INTEL_FIXED_CTRL)
        return write_intel_fixed(guest, value);
    if (msr == INTEL_STATUS_SET)
        allowed &= ~STATUS_CHANGED;
    if (msr == INTEL_STATUS || msr == INTEL_INUSE || value & ~allowed)
        return false;
    if (msr == INTEL_GLOBAL_CTRL)
        upmu_guest_x86_set_global(guest, value);
    else
        upmu_guest_x86_change_status(guest, value, msr == INTEL_STATUS_SET);
    return true;
}

static bool write_intel_offcore(struct upmu_guest *guest, unsigned which, uint64_t value)
{
    if (value & ~guest->policy->payload[which])
        return false;
    upmu_guest_x86_set_offcore(guest, which, value);
    return true;
}

enum upmu_guest_access upmu_guest_intel_wrmsr(struct upmu_guest *guest, uint32_t msr, uint64_t value)
{
    bool accepted = false;
    unsigned number;

    switch (intel_register(guest, msr, &number)) {
    case INTEL_IS_COUNTER:
        accepted = write_intel_counter(guest, msr, number, value);
        break;
    case INTEL_IS_SELECT:
        accepted = !(value & ~upmu_guest_intel_select_bits(guest, number));
        if (accepted)
            upmu_guest_set_select(guest, number, value);
        break;
    case INTEL_IS_OFFCORE:
        accepted = write_intel_offcore(guest, number, value);
        break;
    case INTEL_IS_GLOBAL:
        accepted = write_intel_global(guest, msr, value);
        break;
    default:
        return msr == GUEST_DEBUGCTL ? upmu_guest_x86_debugctl(guest, value) : UPMU_GUEST_FAULT;
    }
    return accepted ? UPMU_GUEST_DONE : UPMU_GUEST_FAULT;
}
