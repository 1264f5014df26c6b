/* SPDX-License-Identifier: MIT */
/*
 * The state of a vCPU as MSRs, for hypervisors that move a guest register by register. The host's own reads and writes
 * come in any order and have no consequences (no overflow, no interrupt), as those that Linux KVM calls host-initiated.
 */
#include <abi/guest/x86/guest_x86.h>

/*
 * Kinds of registers. NOTHING: the host's write does nothing, because the register acknowledges, or its value follows
 * from other registers. STATUS: the write sets the whole status. CONSTANT: the register's value follows from the shape.
 * OTHER: the write is one by the guest.
 */
enum { NOTHING, STATUS, CONSTANT, OTHER };

/* Registers that the host writes by other rules than the guest: by their addresses on Intel's and AMD's doors. */
static const struct {
    uint32_t intel, amd;
    uint8_t what;
} special[] = {{0x38e, 0xc0000300u, STATUS},
               {0x390, 0xc0000302u, NOTHING},
               {0x391, 0xc0000303u, NOTHING},
               {0x392, 0x392, NOTHING},
               {0x345, 0x345, CONSTANT}};

static unsigned what_is(const struct upmu_guest *guest, uint32_t msr)
{
    for (unsigned i = 0; i < sizeof special / sizeof special[0]; i++)
        if (msr == (guest->shape.door == UPMU_GUEST_INTEL ? special[i].intel : special[i].amd))
            return special[i].what;
    return OTHER;
}

bool upmu_guest_state_get(struct upmu_guest *guest, uint32_t msr, uint64_t *out_value)
{
    enum upmu_guest_access access = upmu_guest_x86_rdmsr(guest, msr, out_value);

    return access == UPMU_GUEST_DONE || access == UPMU_GUEST_SHARED;
}

/* Set the global status to `value`, overflow bits included; false: the value has bits that the shape lacks. */
static bool put_status(struct upmu_guest *guest, uint64_t value)
{
    uint64_t bits = guest->shape.door == UPMU_GUEST_INTEL ? upmu_guest_intel_status_bits(guest)
                                                          : upmu_guest_amd_status_bits(guest);

    if (value & ~bits)
        return false;
    upmu_guest_x86_set_status(guest, value);
    return true;
}

bool upmu_guest_state_set(struct upmu_guest *guest, uint32_t msr, uint64_t value)
{
    unsigned counter = guest->shape.door == UPMU_GUEST_INTEL ? upmu_guest_intel_counter(guest, msr)
                                                             : upmu_guest_amd_counter(guest, msr);
    enum upmu_guest_access access;
    uint64_t present;

    /* The read also finds overflows that happened until now: they come before the write. */
    if (!upmu_guest_state_get(guest, msr, &present))
        return false;
    if (counter != UPMU_NO_COUNTER) {
        if (value & ~guest->mask)
            return false;
        upmu_guest_set_value(guest, counter, value);
        return true;
    }
    switch (what_is(guest, msr)) {
    case STATUS:
        return put_status(guest, value);
    case NOTHING:
        return true;
    case CONSTANT:
        return value == present;
    default:
        if (guest->shape.door != UPMU_GUEST_INTEL && !upmu_guest_amd_holds(guest, msr, value))
            return false;
        access = upmu_guest_x86_wrmsr(guest, msr, value);
        return access == UPMU_GUEST_DONE || access == UPMU_GUEST_SHARED;
    }
}

bool upmu_guest_pending(const struct upmu_guest *guest)
{
    return guest->pending;
}

void upmu_guest_set_pending(struct upmu_guest *guest, bool pending)
{
    guest->pending = pending ? guest->counters & (0u - guest->counters) : 0;
}
