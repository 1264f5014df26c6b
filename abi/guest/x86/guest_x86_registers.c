/* SPDX-License-Identifier: MIT */
/*
 * Registers that the doors of Intel and of AMD have in common, and that belong to no single counter: the one that
 * enables all counters, status, payloads, DEBUGCTL.
 */
#include <abi/guest/x86/guest_x86.h>

void upmu_guest_x86_set_global(struct upmu_guest *guest, uint64_t value)
{
    guest->dirty |= upmu_guest_of_bits(value ^ guest->x86.global_ctrl) & guest->counters;
    guest->x86.global_ctrl = value;
}

uint64_t upmu_guest_status_bits(const struct upmu_guest *guest)
{
    return guest->x86.status | upmu_guest_bits(guest->raised);
}

void upmu_guest_x86_set_status(struct upmu_guest *guest, uint64_t status)
{
    uint64_t of_counters = upmu_guest_bits(guest->counters);

    if ((status ^ guest->x86.status) & GUEST_STATUS_FROZEN)
        guest->dirty |= guest->counters;
    guest->x86.status = status & ~of_counters;
    guest->raised = upmu_guest_of_bits(status & of_counters);
}

void upmu_guest_x86_change_status(struct upmu_guest *guest, uint64_t bits, bool set)
{
    uint64_t status;

    upmu_guest_fold(guest, upmu_guest_of_bits(bits));
    status = upmu_guest_status_bits(guest);
    upmu_guest_x86_set_status(guest, set ? status | bits : status & ~bits);
}

uint64_t upmu_guest_x86_status(struct upmu_guest *guest)
{
    upmu_guest_fold(guest, guest->started);
    return upmu_guest_status_bits(guest);
}

/*
 * Set OFFCORE_RSP_0 or _1. If the value changes, all counters become dirty, and each general one gets its event anew at
 * the next entry, because the event may use the register.
 */
void upmu_guest_x86_set_offcore(struct upmu_guest *guest, unsigned which, uint64_t value)
{
    if (guest->x86.offcore[which] == value)
        return;
    guest->x86.offcore[which] = value;
    for (unsigned i = 0; i < guest->shape.general; i++)
        guest->counter[i].flags &= (uint8_t)~GUEST_COUNTER_EVENT;
    guest->dirty |= guest->counters;
}

enum upmu_guest_access upmu_guest_x86_debugctl(struct upmu_guest *guest, uint64_t value)
{
    value &= GUEST_DEBUGCTL_FREEZE | GUEST_DEBUGCTL_FREEZE_LBR;
    if (!upmu_guest_has_global(guest))
        return value ? UPMU_GUEST_FAULT : UPMU_GUEST_SHARED;
    guest->x86.debugctl = value;
    return UPMU_GUEST_SHARED;
}
