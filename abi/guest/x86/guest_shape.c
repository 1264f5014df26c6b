/* SPDX-License-Identifier: MIT */
/*
 * Shapes of x86 guests: limits, which shape a machine may show under a policy, the widest one, and the answer of CPUID.
 */
#include <upmu/pmu.h>
#include <abi/guest/x86/guest_x86.h>

#define EVERY 0xffu
#define HYPERVISOR (1u << 31) /* CPUID leaf 1, ECX */

bool upmu_guest_shape_is_valid(const struct upmu_guest_shape *shape)
{
    for (unsigned i = 0; i < sizeof shape->reserved; i++)
        if (shape->reserved[i])
            return false;
    if (shape->events[0] | shape->events[1])
        return false;
    if (shape->door == UPMU_GUEST_INTEL)
        return upmu_guest_intel_shape(shape);
    return shape->door > UPMU_GUEST_INTEL && shape->door <= UPMU_GUEST_AMD_V2 && upmu_guest_amd_shape(shape);
}

/* Can this host count all events and fixed counters that the shape shows? */
static bool shape_is_honest(const struct upmu_machine *machine, const struct upmu_guest_shape *shape)
{
    uint32_t available = upmu_guest_event_available(&machine->pmu[0], shape->door);

    return !(shape->arch_events & ~available) &&
           (shape->fixed <= GUEST_ARCH_REFERENCE || available >> GUEST_ARCH_TSC & 1u);
}

/*
 * Is the filter of a policy well formed, and can each entry match an event of this door? True for levels without a
 * filter.
 */
static bool filter_is_valid(const struct upmu_guest_policy *policy, unsigned door)
{
    return policy->level != UPMU_GUEST_LIST || (policy->filter && upmu_guest_filter_check(policy->filter) == UPMU_OK &&
                                                upmu_guest_event_filter_fits(policy->filter, door));
}

enum upmu_status upmu_guest_shape_can_show(const struct upmu_machine *machine, const struct upmu_guest_shape *shape,
                                           const struct upmu_guest_policy *policy)
{
    if (!upmu_guest_shape_is_valid(shape) || !shape_is_honest(machine, shape) || !filter_is_valid(policy, shape->door))
        return UPMU_ERR_INVALID;
    return upmu_guest_shape_denied(shape, policy) ? UPMU_ERR_UNSUPPORTED : UPMU_OK;
}

/*
 * Return how many counters a shape may show under a policy: max_counters; or UPMU_GUEST_COUNTERS if there is no limit,
 * or for the doors AMD_K7 and AMD_CORE, which have a fixed number of counters.
 */
static unsigned most_counters(const struct upmu_guest_shape *shape, const struct upmu_guest_policy *policy)
{
    bool can_be_fewer = shape->door == UPMU_GUEST_INTEL || shape->door == UPMU_GUEST_AMD_V2;

    return can_be_fewer && policy->max_counters ? policy->max_counters : UPMU_GUEST_COUNTERS;
}

uint32_t upmu_guest_shape_denied(const struct upmu_guest_shape *shape, const struct upmu_guest_policy *policy)
{
    uint32_t shown = shape->arch_events | (UPMU_BIT32(shape->fixed) - 1u) << UPMU_FIXED_COUNTER(0);

    policy = upmu_guest_policy(policy);
    return (shown & ~upmu_guest_event_permitted(policy)) |
           (shape->general + shape->fixed > most_counters(shape, policy) ? UPMU_GUEST_DENIED_COUNTERS : 0);
}

/*
 * Remove from a shape what the policy denies. CPUID has only the number of fixed counters: so those above a denied one
 * are not shown either. Where max_counters is too low for all counters, fixed ones are removed first, because general
 * counters can count every event.
 */
void upmu_guest_shape_limit(struct upmu_guest_shape *shape, const struct upmu_guest_policy *policy)
{
    uint32_t permitted = upmu_guest_event_permitted(policy);
    unsigned most = most_counters(shape, policy), fixed = 0;

    shape->arch_events &= (uint16_t)permitted;
    if (shape->general > most)
        shape->general = (uint8_t)most;
    while (fixed < shape->fixed && shape->general + fixed < most && permitted >> UPMU_FIXED_COUNTER(fixed) & 1u)
        fixed++;
    shape->fixed = (uint8_t)fixed;
}

enum upmu_status upmu_guest_shape_default(const struct upmu_machine *machine, enum upmu_guest_door door,
                                          const struct upmu_guest_policy *policy, struct upmu_guest_shape *out_shape)
{
    const struct upmu_pmu *pmu = upmu_machine_pmu(machine, 0);
    struct upmu_guest_shape shape;
    bool same = pmu && upmu_guest_event_same_vendor(pmu, door);
    unsigned general;

    policy = upmu_guest_policy(policy);
    if (door < UPMU_GUEST_INTEL || door > UPMU_GUEST_AMD_V2 || !upmu_guest_policy_is_valid(policy) ||
        !filter_is_valid(policy, door))
        return UPMU_ERR_INVALID;
    if (!pmu)
        return UPMU_ERR_NO_PMU;
    __builtin_memset(&shape, 0, sizeof shape);
    general = upmu_guest_event_counters(pmu);
    shape.door = (uint8_t)door;
    shape.width = 48;
    if (same) {
        shape.family = pmu->family;
        shape.model = pmu->model;
        shape.stepping = pmu->stepping;
    }
    if (door == UPMU_GUEST_INTEL) {
        uint32_t available = upmu_guest_event_available(pmu, door);

        shape.version = same && pmu->version ? (uint8_t)(pmu->version < 5 ? pmu->version : 5) : 2;
        shape.general = (uint8_t)(general < UPMU_GUEST_GENERAL ? general : UPMU_GUEST_GENERAL);
        shape.full_write = shape.version >= 2;
        shape.arch_events = (uint16_t)(available & 0x7fu);
        if (available >> GUEST_ARCH_TSC & 1u && shape.version >= 2)
            shape.fixed = UPMU_GUEST_FIXED;
    } else {
        shape.general = (uint8_t)(door == UPMU_GUEST_AMD_K7                    ? 4
                                  : door == UPMU_GUEST_AMD_CORE || general > 6 ? 6
                                                                               : general);
    }
    upmu_guest_shape_limit(&shape, policy);
    *out_shape = shape;
    return UPMU_OK;
}

/* ---- CPUID ---- */

/*
 * Bits by which the host's CPUID shows its own PMU, by leaf and subleaf. upmu_guest_cpuid() clears them in every
 * answer, and then sets those that the guest's shape has.
 */
static const struct {
    uint32_t leaf, bits;
    uint8_t subleaf, word; /* `word`: 0 to 3: EAX to EDX; EVERY: all subleaves, all words */
} hidden[] = {
    {1, 1u << 2 | 1u << 4 | 1u << 15, EVERY, 2}, /* debug store (64-bit form, by privilege); PERF_CAPABILITIES */
    {1, 1u << 21, EVERY, 3},                     /* debug store */
    {7, 1u << 25, 0, 1},                         /* processor trace */
    /* EDX, hidden from guests: MSR TSX_FORCE_ABORT (forced aborts of transactions); architectural branch records */
    {7, 1u << 13 | 1u << 19, 0, 3},
    {7, 1u << 8, 1, 0},                          /* leaf 23h */
    {0xa, UINT32_MAX, EVERY, EVERY},
    {0x14, UINT32_MAX, EVERY, EVERY}, /* processor trace */
    {0x1c, UINT32_MAX, EVERY, EVERY}, /* branch records */
    {0x23, UINT32_MAX, EVERY, EVERY},
    /* IBS; more counters of the core, of the northbridge, of the L3 cache */
    {0x80000001u, 1u << 10 | 1u << 23 | 1u << 24 | 1u << 28, EVERY, 2},
    {0x8000001bu, UINT32_MAX, EVERY, EVERY},                            /* IBS */
    {0x80000022u, UINT32_MAX, EVERY, EVERY},
};

bool upmu_guest_cpuid(const struct upmu_guest *guest, uint32_t leaf, uint32_t subleaf, uint32_t inout[4])
{
    uint32_t before[4];

    __builtin_memcpy(before, inout, sizeof before);
    for (unsigned i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        for (unsigned word = 0; word < 4 && leaf == hidden[i].leaf; word++)
            if ((hidden[i].subleaf == EVERY || hidden[i].subleaf == subleaf) &&
                (hidden[i].word == EVERY || hidden[i].word == word))
                inout[word] &= ~hidden[i].bits;
    if (leaf == 1 && !(guest->policy->flags & UPMU_GUEST_NO_HYPERVISOR_BIT))
        inout[2] |= HYPERVISOR;
    if (guest->shape.door == UPMU_GUEST_INTEL)
        upmu_guest_intel_cpuid(guest, leaf, inout);
    else
        upmu_guest_amd_cpuid(guest, leaf, inout);
    return __builtin_memcmp(before, inout, sizeof before) != 0;
}
