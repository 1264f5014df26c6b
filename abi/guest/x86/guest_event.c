/* SPDX-License-Identifier: MIT */
/*
 * From the select of a virtual counter to an event of the host: which events a guest may count,
 * and what the host counts for them.
 *
 * The codes of architectural events are those of Intel SDM vol 3 18.2.1.2 and AMD APM vol 2; the
 * filter is coded as in Linux Documentation/virt/kvm/api.rst, KVM_SET_PMU_EVENT_FILTER.
 */
#include <upmu/event.h>
#include <upmu/pmu.h>
#include <abi/guest/x86/guest_x86.h>

#define AMD_EVENT_HIGH (UINT64_C(0xf) << 32)
#define INTEL_IN_TX (UINT64_C(3) << 32)
#define EVENT_AND_UMASK 0xffffu

/*
 * Codes of architectural events: unit mask in bits 15:8, event number in bits 7:0. Below are their codes on AMD, and
 * names that every host's PMU knows. 0 or "": the event does not exist there.
 */
const uint16_t upmu_guest_codes[8] = {
    [GUEST_ARCH_CYCLES] = 0x003c,
    [GUEST_ARCH_INSTRUCTIONS] = 0x00c0,
    [GUEST_ARCH_REFERENCE] = 0x013c,
    [GUEST_ARCH_LLC_REFERENCES] = 0x4f2e,
    [GUEST_ARCH_LLC_MISSES] = 0x412e,
    [GUEST_ARCH_BRANCHES] = 0x00c4,
    [GUEST_ARCH_MISPREDICTS] = 0x00c5,
    [GUEST_ARCH_TSC] = 0x0300, /* the host's code for fixed counter 2; no other counter counts this event */
};
static const uint16_t amd_codes[] = {0x0076, 0x00c0, 0, 0, 0, 0x00c2, 0x00c3, 0};
static const char arch_names[][14] = {"cycles", "instructions", "", "", "", "branches", "branch-misses", ""};

/* The event of each fixed counter, by its number. */
static const uint8_t of_fixed[UPMU_GUEST_FIXED] = {GUEST_ARCH_INSTRUCTIONS, GUEST_ARCH_CYCLES, GUEST_ARCH_TSC};

#define NAMED_EVENTS                                                                                                   \
    (UPMU_BIT32(GUEST_ARCH_CYCLES) | UPMU_BIT32(GUEST_ARCH_INSTRUCTIONS) | UPMU_BIT32(GUEST_ARCH_BRANCHES) |           \
     UPMU_BIT32(GUEST_ARCH_MISPREDICTS))
#define IPC_EVENTS                                                                                                     \
    (UPMU_BIT32(GUEST_ARCH_CYCLES) | UPMU_BIT32(GUEST_ARCH_INSTRUCTIONS) | UPMU_BIT32(GUEST_ARCH_REFERENCE) |          \
     UPMU_BIT32(GUEST_ARCH_TSC))

bool upmu_guest_event_same_vendor(const struct upmu_pmu *pmu, unsigned door)
{
    return upmu_pmu_is_amd(pmu) == (door != UPMU_GUEST_INTEL);
}

/*
 * Does the host's PMU have the door's codes for architectural events? P6 has other codes for them, and the paravirtual
 * PMU (UPMU_PMU_PAGE), by which this host may itself be a guest, has event numbers of its own.
 */
static bool same_codes(const struct upmu_pmu *pmu, unsigned door)
{
    if (pmu->capabilities & UPMU_PMU_PAGE)
        return false;
    return door == UPMU_GUEST_INTEL ? pmu->version && pmu->arch_events : upmu_pmu_is_amd(pmu);
}

uint32_t upmu_guest_event_available(const struct upmu_pmu *pmu, unsigned door)
{
    if (!same_codes(pmu, door) || door != UPMU_GUEST_INTEL)
        return NAMED_EVENTS;
    return (pmu->arch_events & 0x7fu) | (pmu->counters >> UPMU_FIXED_COUNTER(2) & 1u) << GUEST_ARCH_TSC;
}

/*
 * Return how many counters architectural events can always have at the same time. NetBurst has two ESCRs for each
 * event, and several events share an ESCR: so two. P6 has two counters.
 */
unsigned upmu_guest_event_counters(const struct upmu_pmu *pmu)
{
    unsigned count = upmu_bits_count(pmu->general);
    bool alike = upmu_pmu_is_amd(pmu) || pmu->version || pmu->capabilities & UPMU_PMU_PAGE;

    return alike || count < 2 ? count : 2;
}

/*
 * Return the select of a counter. For a fixed counter it has only the bits USR and OS, made of the counter's control.
 */
static uint64_t event_select(const struct upmu_guest *guest, unsigned counter)
{
    uint64_t select = guest->counter[counter].select;

    if (counter < UPMU_FIXED_COUNTER(0))
        return select;
    return (select & 1u ? GUEST_SELECT_OS : 0) | (select & 2u ? GUEST_SELECT_USR : 0);
}

enum guest_arch upmu_guest_event_arch(const struct upmu_guest_shape *shape, unsigned counter, uint64_t select)
{
    bool intel = shape->door == UPMU_GUEST_INTEL;
    const uint16_t *codes = intel ? upmu_guest_codes : amd_codes;
    uint32_t available = intel ? shape->arch_events : NAMED_EVENTS;

    if (counter >= UPMU_FIXED_COUNTER(0))
        return of_fixed[counter - UPMU_FIXED_COUNTER(0)];
    if (select >> 32 & 0xfu)
        return GUEST_ARCH_NONE;
    for (unsigned i = 0; i < GUEST_ARCH_TSC; i++)
        if (available >> i & 1u && codes[i] == (select & EVENT_AND_UMASK))
            return i;
    return GUEST_ARCH_NONE;
}

/* ---- Policy and filter: which events a guest may count ---- */

#define ENTRY_EVENT (AMD_EVENT_HIGH | 0xffu)
#define ENTRY_EXCLUDE UPMU_BIT64(55)

enum upmu_status upmu_guest_filter_check(const struct upmu_guest_filter *filter)
{
    uint64_t known = ENTRY_EVENT | 0xff00u;

    if (filter->action > UPMU_GUEST_FILTER_DENY || filter->flags > UPMU_GUEST_FILTER_MASKED ||
        filter->count > UPMU_GUEST_FILTER_ENTRIES || (filter->count && !filter->entry))
        return UPMU_ERR_INVALID;
    if (filter->flags)
        known |= ENTRY_EXCLUDE | UINT64_C(0xff) << 56;
    for (unsigned i = 0; i < filter->count; i++)
        if (filter->entry[i] & ~known)
            return UPMU_ERR_INVALID;
    return UPMU_OK;
}

/*
 * Return the mask of the bits of a select, besides the unit mask, that an entry of a filter is compared with: the event
 * number, which on AMD has bits 35:32, too. Intel's bits 33:32 select transactions, which no entry asks for.
 */
static uint64_t event_bits(unsigned door)
{
    return door == UPMU_GUEST_INTEL ? 0xffu : ENTRY_EVENT;
}

/*
 * Can each entry of a filter match an event of this door? An entry that can match nothing would permit the events
 * that a filter with action DENY is to deny.
 */
bool upmu_guest_event_filter_fits(const struct upmu_guest_filter *filter, unsigned door)
{
    uint64_t high = 0;

    for (unsigned i = 0; i < filter->count; i++)
        high |= filter->entry[i] & AMD_EVENT_HIGH;
    return door != UPMU_GUEST_INTEL || !high;
}

/* Has the filter an entry that matches event number and unit mask of a select, and no exclusion that does? */
static bool filter_matches(const struct upmu_guest_filter *filter, unsigned door, uint64_t select)
{
    uint64_t event = event_bits(door);
    bool found = false;

    for (unsigned i = 0; i < filter->count; i++) {
        uint64_t entry = filter->entry[i];
        uint64_t mask = filter->flags ? entry >> 56 : 0xffu;

        if (((entry ^ (select & event)) & ENTRY_EVENT) || (select >> 8 & mask) != (entry >> 8 & 0xffu))
            continue;
        if (entry & ENTRY_EXCLUDE)
            return false;
        found = true;
    }
    return found;
}

static bool filter_allows(const struct upmu_guest_filter *filter, unsigned door, unsigned counter, uint64_t select)
{
    bool match = counter >= UPMU_FIXED_COUNTER(0) ? filter->fixed_bitmap >> (counter - UPMU_FIXED_COUNTER(0)) & 1u
                                                  : filter_matches(filter, door, select);

    return match == (filter->action == UPMU_GUEST_FILTER_ALLOW);
}

/*
 * Is a select without edge, invert and counter mask? With these a select counts something else than its event: stalls,
 * for example.
 */
static bool is_plain(unsigned counter, uint64_t select)
{
    return counter >= UPMU_FIXED_COUNTER(0) || !(select & GUEST_SELECT_MODIFIERS);
}

static bool policy_allows(const struct upmu_guest_policy *policy, unsigned door, unsigned counter, uint64_t select,
                          enum guest_arch arch)
{
    switch (policy->level) {
    case UPMU_GUEST_IPC:
        return IPC_EVENTS >> arch & 1u && is_plain(counter, select);
    case UPMU_GUEST_ARCH:
        return arch != GUEST_ARCH_NONE;
    case UPMU_GUEST_LIST:
        return filter_allows(policy->filter, door, counter, select);
    case UPMU_GUEST_ALL:
        return true;
    default:
        return false;
    }
}

bool upmu_guest_event_is_allowed(const struct upmu_guest *guest, unsigned counter, enum guest_arch arch)
{
    return policy_allows(guest->policy, guest->shape.door, counter, guest->counter[counter].select, arch);
}

uint32_t upmu_guest_event_permitted(const struct upmu_guest_policy *policy)
{
    uint32_t permitted = 0;

    for (unsigned i = 0; i < GUEST_ARCH_TSC; i++)
        if (policy_allows(policy, UPMU_GUEST_INTEL, 0, upmu_guest_codes[i], i))
            permitted |= UPMU_BIT32(i);
    for (unsigned i = 0; i < UPMU_GUEST_FIXED; i++)
        if (policy_allows(policy, UPMU_GUEST_INTEL, UPMU_FIXED_COUNTER(i), GUEST_FIXED_RINGS, of_fixed[i]))
            permitted |= UPMU_BIT32(UPMU_FIXED_COUNTER(i));
    return permitted;
}

/* ---- From the select of a virtual counter to the event that the host's PMU counts for it ---- */

bool upmu_guest_event_raw_here(const struct upmu_guest_shape *shape, const struct upmu_pmu *pmu)
{
    return shape->family && shape->family == pmu->family && shape->model == pmu->model &&
           upmu_guest_event_same_vendor(pmu, shape->door);
}

/*
 * Does a select count an event of AMD's northbridge, which counts for all cores? Before family 17h event numbers with
 * bits 7:5 set are such events.
 */
static bool is_of_northbridge(const struct upmu_pmu *pmu, uint64_t select)
{
    return upmu_pmu_is_amd(pmu) && pmu->family < 0x17 && (select & 0xe0u) == 0xe0u;
}

/*
 * Return the payload of an event: for OFFCORE_RESPONSE 0 and 1 (event numbers of all models) the guest's register,
 * without the bits that the policy does not permit now; for other events 0.
 */
static uint64_t payload_of(const struct upmu_guest *guest, uint64_t select)
{
    unsigned code = select & 0xffu;

    if (guest->shape.door != UPMU_GUEST_INTEL)
        return 0;
    if (code == 0xb7 || code == 0x2a)
        return guest->x86.offcore[0] & guest->policy->payload[0];
    return code == 0xbb || code == 0x2b ? guest->x86.offcore[1] & guest->policy->payload[1] : 0;
}

static char *put_text(char *to, const char *text)
{
    while (*text)
        *to++ = *text++;
    return to;
}

/* Find the host's event by a name that the catalogue of every PMU has, with the rings and modifiers of the select. */
static enum upmu_status by_name(const struct upmu_pmu *pmu, const char *name, uint64_t select,
                                struct upmu_event *out_event)
{
    static const char digits[] = "0123456789abcdef";
    char text[64];
    char *to = put_text(text, name);

    if ((select & GUEST_SELECT_RINGS) != GUEST_SELECT_RINGS)
        to = put_text(to, select & GUEST_SELECT_USR ? ":usr" : ":os");
    if (select & GUEST_SELECT_EDGE)
        to = put_text(to, ":edge");
    if (select & GUEST_SELECT_INV)
        to = put_text(to, ":inv");
    if (select & GUEST_SELECT_CMASK) {
        to = put_text(to, ":cmask=0x");
        *to++ = digits[select >> 28 & 0xfu];
        *to++ = digits[select >> 24 & 0xfu];
    }
    *to = '\0';
    return upmu_event_parse(pmu, text, out_event, NULL);
}

enum upmu_status upmu_guest_event(const struct upmu_guest *guest, unsigned counter, struct upmu_event *out_event)
{
    const struct upmu_pmu *pmu = upmu_guest_pmu(guest);
    enum guest_arch arch = upmu_guest_event_arch(&guest->shape, counter, guest->counter[counter].select);
    uint64_t select = event_select(guest, counter);
    uint64_t word = select & (EVENT_AND_UMASK | GUEST_SELECT_RINGS | GUEST_SELECT_MODIFIERS);

    if (!upmu_guest_event_is_allowed(guest, counter, arch))
        return UPMU_ERR_NOT_PERMITTED;
    if (arch != GUEST_ARCH_NONE && !same_codes(pmu, guest->shape.door))
        return arch_names[arch][0] ? by_name(pmu, arch_names[arch], word, out_event) : UPMU_ERR_UNSUPPORTED;
    if (counter >= UPMU_FIXED_COUNTER(0))
        word |= upmu_guest_codes[arch];
    if (arch == GUEST_ARCH_NONE) {
        if (!upmu_guest_event_raw_here(&guest->shape, pmu) || is_of_northbridge(pmu, select))
            return UPMU_ERR_UNSUPPORTED;
        word |= select & (guest->shape.door == UPMU_GUEST_INTEL ? INTEL_IN_TX : AMD_EVENT_HIGH);
    }
    return upmu_event_raw(pmu, word, payload_of(guest, select), 0, out_event);
}
