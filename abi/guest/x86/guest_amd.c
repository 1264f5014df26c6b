/* SPDX-License-Identifier: MIT */
/*
 * AMD's doors: the registers of K7, of PerfCtrExtCore, and of PerfMonV2 (AMD APM vol 2 13.2). A write drops bits that
 * do not exist; an access to a register that the door does not have faults.
 */
#include <abi/guest/x86/guest_x86.h>

#define AMD_LEGACY_SELECT 0xc0010000u
#define AMD_LEGACY_COUNTER 0xc0010004u
#define AMD_STATUS 0xc0000300u
#define AMD_GLOBAL_CTRL 0xc0000301u
#define AMD_STATUS_RESET 0xc0000302u
#define AMD_STATUS_SET 0xc0000303u

#define AMD_LEGACY 4u
#define AMD_CORE_COUNTERS 6u

/*
 * Bits 19 and 21 have no function and are dropped; bits 35:32 belong to the event. Bits 40 and 41, guest-only and
 * host-only, are dropped from the selects of a guest without SVM, as are all other bits (reserved_bits in Linux
 * arch/x86/kvm/svm/pmu.c drops them, too).
 */
#define AMD_SELECT_BITS UINT64_C(0xfffd7ffff)

#define FEATURE_CORE (1u << 23)
#define V2_FREEZE 4u

bool upmu_guest_amd_shape(const struct upmu_guest_shape *shape)
{
    bool general = shape->door == UPMU_GUEST_AMD_K7     ? shape->general == AMD_LEGACY
                   : shape->door == UPMU_GUEST_AMD_CORE ? shape->general == AMD_CORE_COUNTERS
                                                        : shape->general >= 1 && shape->general <= AMD_CORE_COUNTERS;

    return general && shape->width == 48 && !(shape->version | shape->fixed | shape->full_write | shape->arch_events);
}

void upmu_guest_amd_cpuid(const struct upmu_guest *guest, uint32_t leaf, uint32_t out[4])
{
    unsigned door = guest->shape.door;

    if (leaf == 0x80000001u) {
        out[2] |= door >= UPMU_GUEST_AMD_CORE ? FEATURE_CORE : 0;
    } else if (door == UPMU_GUEST_AMD_V2 && leaf == 0x80000000u && out[0] < 0x80000022u) {
        out[0] = 0x80000022u;
    } else if (door == UPMU_GUEST_AMD_V2 && leaf == 0x80000022u) {
        out[0] = 1u | V2_FREEZE;
        out[1] = guest->shape.general;
    }
}

/* ---- Registers ---- */

/*
 * Return the counter that an MSR belongs to, or UPMU_NO_COUNTER; *out_select: true: the MSR is the counter's select,
 * false: its value.
 */
static unsigned amd_counter(const struct upmu_guest *guest, uint32_t msr, bool *out_select)
{
    unsigned counter = UPMU_NO_COUNTER;

    if (msr - AMD_LEGACY_SELECT < 2 * AMD_LEGACY) {
        *out_select = msr < AMD_LEGACY_COUNTER;
        counter = (msr - AMD_LEGACY_SELECT) & (AMD_LEGACY - 1u);
    } else if (guest->shape.door >= UPMU_GUEST_AMD_CORE && msr - GUEST_AMD_CORE < 2 * AMD_CORE_COUNTERS) {
        *out_select = !(msr & 1u);
        counter = (msr - GUEST_AMD_CORE) >> 1;
    }
    return counter < guest->shape.general ? counter : UPMU_NO_COUNTER;
}

unsigned upmu_guest_amd_counter(const struct upmu_guest *guest, uint32_t msr)
{
    bool select = false;
    unsigned counter = amd_counter(guest, msr, &select);

    return select ? UPMU_NO_COUNTER : counter;
}

static bool is_amd_global(const struct upmu_guest *guest, uint32_t msr)
{
    return guest->shape.door == UPMU_GUEST_AMD_V2 && msr - AMD_STATUS < 4;
}

enum upmu_guest_access upmu_guest_amd_rdmsr(struct upmu_guest *guest, uint32_t msr, uint64_t *out_value)
{
    bool select = false;
    unsigned counter = amd_counter(guest, msr, &select);

    if (counter != UPMU_NO_COUNTER) {
        *out_value = select ? upmu_guest_counter(guest, counter)->select : upmu_guest_value(guest, counter);
        return UPMU_GUEST_DONE;
    }
    if (msr == GUEST_DEBUGCTL) {
        *out_value = guest->x86.debugctl;
        return UPMU_GUEST_SHARED;
    }
    if (!is_amd_global(guest, msr))
        return UPMU_GUEST_FAULT;
    *out_value = msr == AMD_STATUS ? upmu_guest_x86_status(guest) : msr == AMD_GLOBAL_CTRL ? guest->x86.global_ctrl : 0;
    return UPMU_GUEST_DONE;
}

uint64_t upmu_guest_amd_select_bits(const struct upmu_guest *guest)
{
    return AMD_SELECT_BITS | (guest->policy->flags & UPMU_GUEST_NESTED_SVM ? GUEST_SELECT_MODES : 0);
}

uint64_t upmu_guest_amd_status_bits(const struct upmu_guest *guest)
{
    return upmu_guest_bits(guest->counters) | GUEST_STATUS_FROZEN | GUEST_STATUS_LBR_FROZEN;
}

bool upmu_guest_amd_holds(const struct upmu_guest *guest, uint32_t msr, uint64_t value)
{
    bool select = false;
    uint64_t bits = ~UINT64_C(0);

    if (amd_counter(guest, msr, &select) != UPMU_NO_COUNTER)
        bits = select ? upmu_guest_amd_select_bits(guest) : guest->mask;
    else if (is_amd_global(guest, msr) && msr == AMD_GLOBAL_CTRL)
        bits = upmu_guest_bits(guest->counters);
    return !(value & ~bits);
}

static void write_amd_global(struct upmu_guest *guest, uint32_t msr, uint64_t value)
{
    if (msr == AMD_STATUS)
        return;
    if (msr == AMD_GLOBAL_CTRL) {
        upmu_guest_x86_set_global(guest, value & upmu_guest_bits(guest->counters));
        return;
    }
    upmu_guest_x86_change_status(guest, value & upmu_guest_amd_status_bits(guest), msr == AMD_STATUS_SET);
}

enum upmu_guest_access upmu_guest_amd_wrmsr(struct upmu_guest *guest, uint32_t msr, uint64_t value)
{
    bool select = false;
    unsigned counter = amd_counter(guest, msr, &select);

    if (counter != UPMU_NO_COUNTER) {
        if (select)
            upmu_guest_set_select(guest, counter, value & upmu_guest_amd_select_bits(guest));
        else
            upmu_guest_set_value(guest, counter, value & guest->mask);
        return UPMU_GUEST_DONE;
    }
    if (msr == GUEST_DEBUGCTL)
        return upmu_guest_x86_debugctl(guest, value);
    if (!is_amd_global(guest, msr))
        return UPMU_GUEST_FAULT;
    write_amd_global(guest, msr, value);
    return UPMU_GUEST_DONE;
}
