/* SPDX-License-Identifier: MIT */
/*
 * For the page and for single events: the select for a generic event or a raw word of the guest; additions to words in
 * the guest's memory.
 */
#include <abi/paravirt/pv_core.h>

/* The architectural event (enum guest_arch) for each generic event. Generic events that are not listed have none. */
#define PV_ARCH_EVENTS 7u
static const uint8_t pv_arch[8] = {
    [UPMU_PV_CYCLES] = GUEST_ARCH_CYCLES,
    [UPMU_PV_INSTRUCTIONS] = GUEST_ARCH_INSTRUCTIONS,
    [UPMU_PV_CACHE_REFERENCES] = GUEST_ARCH_LLC_REFERENCES,
    [UPMU_PV_CACHE_MISSES] = GUEST_ARCH_LLC_MISSES,
    [UPMU_PV_BRANCHES] = GUEST_ARCH_BRANCHES,
    [UPMU_PV_BRANCH_MISSES] = GUEST_ARCH_MISPREDICTS,
    [UPMU_PV_BUS_CYCLES] = GUEST_ARCH_REFERENCE,
};

/* Bits that a raw word may have: event, unit mask, edge, inv, counter mask. */
#define PV_RAW_BITS UINT64_C(0xff84ffff)

uint32_t upmu_pv_generic_events(const struct upmu_guest *guest)
{
    uint32_t events = 0;

    for (unsigned i = 0; i < PV_ARCH_EVENTS; i++)
        events |= (guest->shape.arch_events >> pv_arch[i] & 1u) << i;
    return events;
}

uint64_t upmu_pv_select(const struct upmu_guest *guest, uint64_t config, bool raw)
{
    if (raw)
        return config & ~PV_RAW_BITS ? 0 : config;
    if (config >= PV_ARCH_EVENTS || !(upmu_pv_generic_events(guest) >> config & 1u))
        return 0;
    return upmu_guest_codes[pv_arch[config & 7u]]; /* `& 7u` also limits a speculative index. */
}

bool upmu_pv_permits(const struct upmu_pv_vcpu *vcpu, unsigned counter)
{
    struct upmu_event event;

    return upmu_guest_event(vcpu->guest, counter, &event) == UPMU_OK;
}

/*
 * Add to a word of the guest by one atomic addition, which always succeeds. A loop of compare-and-exchange could be
 * kept from ending by a guest that changes the word all the time.
 */
void upmu_pv_add(uint32_t *field, uint32_t overflows)
{
    uint32_t room = UINT32_MAX - pv_load32(field);

    if (overflows)
        (void)__atomic_fetch_add(field, overflows < room ? overflows : room, __ATOMIC_RELEASE);
}
