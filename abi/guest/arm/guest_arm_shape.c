/* SPDX-License-Identifier: MIT */
/*
 * Shapes and policies of Arm guests: which events a guest may count, which shape a machine may show, the widest one,
 * and the ID registers.
 *
 * The event filter is that of guest.h, in which an entry is an event number (bits 15:0). The event of the cycle counter
 * is CPU_CYCLES. Linux KVM (KVM_ARM_VCPU_PMU_V3_FILTER) treats cycles and SW_INCR in the same way.
 */
#include <upmu/event.h>
#include <upmu/pmu.h>
#include <abi/guest/arm/guest_arm.h>

/* Flags of a policy that have a meaning for this door. */
#define ARM_FLAGS (UPMU_GUEST_STRICT | UPMU_GUEST_POLLED | UPMU_GUEST_BESIDE_STRANGERS)

/* ---- Policies ---- */

enum upmu_status upmu_guest_filter_check(const struct upmu_guest_filter *filter)
{
    if (filter->action > UPMU_GUEST_FILTER_DENY || filter->flags | filter->fixed_bitmap ||
        filter->count > UPMU_GUEST_FILTER_ENTRIES || (filter->count && !filter->entry))
        return UPMU_ERR_INVALID;
    for (unsigned i = 0; i < filter->count; i++)
        if (filter->entry[i] >> 16)
            return UPMU_ERR_INVALID;
    return UPMU_OK;
}

static bool filter_allows(const struct upmu_guest_filter *filter, unsigned code)
{
    for (unsigned i = 0; i < filter->count; i++)
        if (filter->entry[i] == code)
            return filter->action == UPMU_GUEST_FILTER_ALLOW;
    return filter->action != UPMU_GUEST_FILTER_ALLOW;
}

static bool policy_allows(const struct upmu_guest_policy *policy, unsigned code)
{
    if (policy->level == UPMU_GUEST_OFF)
        return false;
    if (code == GUEST_ARM_SW_INCR || policy->level == UPMU_GUEST_ALL)
        return true;
    if (policy->level == UPMU_GUEST_LIST)
        return filter_allows(policy->filter, code);
    return policy->level == UPMU_GUEST_ARCH ? upmu_guest_arm_is_common(code)
                                            : code == GUEST_ARM_CPU_CYCLES || code == GUEST_ARM_INST_RETIRED;
}

/* Is a common event one of those that the shape shows? */
static bool is_shown(const struct upmu_guest_shape *shape, unsigned code)
{
    return shape->events[code >= GUEST_ARM_LATER] >> (code & (GUEST_ARM_COMMON - 1u)) & 1u;
}

enum upmu_status upmu_guest_arm_may_count(const struct upmu_guest_shape *shape, const struct upmu_guest_policy *policy,
                                          unsigned code)
{
    if (!policy_allows(policy, code))
        return UPMU_ERR_NOT_PERMITTED;
    /* The cycle counter counts cycles even if no event counter can. */
    return code == GUEST_ARM_CPU_CYCLES || !upmu_guest_arm_is_common(code) || is_shown(shape, code)
               ? UPMU_OK
               : UPMU_ERR_UNSUPPORTED;
}

static bool policy_is_valid(const struct upmu_guest_policy *policy)
{
    return upmu_guest_policy_is_valid(policy) && !(policy->flags & ~ARM_FLAGS) &&
           !(policy->payload[0] | policy->payload[1]) &&
           (policy->level != UPMU_GUEST_LIST || (policy->filter && upmu_guest_filter_check(policy->filter) == UPMU_OK));
}

/* ---- Shapes ---- */

/* Mask of the values of ID_AA64DFR0_EL1.PMUVer that a shape can have. */
#define ARM_VERSIONS                                                                                                   \
    (UPMU_BIT32(GUEST_ARM_V3) | UPMU_BIT32(GUEST_ARM_V3P1) | UPMU_BIT32(GUEST_ARM_V3P4) | UPMU_BIT32(GUEST_ARM_V3P5))

bool upmu_guest_arm_shape_is_valid(const struct upmu_guest_shape *shape)
{
    return shape->door == UPMU_GUEST_ARM && shape->version < 32u && ARM_VERSIONS >> shape->version & 1u &&
           shape->general <= UPMU_GUEST_GENERAL && shape->fixed == 1 && shape->width == 64 &&
           !(shape->full_write | shape->arch_events | shape->reserved[0] | shape->reserved[1] | shape->reserved[2]) &&
           !(shape->events[0] >> GUEST_ARM_CHAIN & 1u) && (shape->version >= GUEST_ARM_V3P1 || !shape->events[1]);
}

/*
 * Return a mask of common events that the policy permits: those from 0 on (`later` 0), or from 4000h on (1). With `pmu`
 * only those that this PMU counts.
 */
static uint64_t events_of(const struct upmu_pmu *pmu, unsigned later, const struct upmu_guest_policy *policy)
{
    struct upmu_event event;
    uint64_t events = 0;

    for (unsigned code = later * GUEST_ARM_LATER, i = 0; i < GUEST_ARM_COMMON; code++, i++)
        if (code != GUEST_ARM_CHAIN && policy_allows(policy, code) &&
            (!pmu || code == GUEST_ARM_SW_INCR || upmu_event_raw(pmu, code, 0, 0, &event) == UPMU_OK))
            events |= UPMU_BIT64(i);
    return events;
}

/* Is this PMU a PMUv3? Arm's PMUs alone have a counter with the number 31, and PMUv2 has version 2. */
static bool is_pmuv3(const struct upmu_pmu *pmu)
{
    return pmu->counters >> GUEST_ARM_CYCLE_BIT & 1u && pmu->version != 2;
}

/*
 * Remove from a shape what the policy denies, and with `pmu` events that this PMU does not count. The cycle counter,
 * which every PMUv3 has, stays.
 */
static void limit_shape(struct upmu_guest_shape *shape, const struct upmu_pmu *pmu,
                        const struct upmu_guest_policy *policy)
{
    for (unsigned i = 0; i < 2; i++)
        shape->events[i] &= events_of(pmu, i, policy);
    if (policy->max_counters && shape->general >= policy->max_counters)
        shape->general = (uint8_t)(policy->max_counters - 1u);
}

void upmu_guest_arm_shape_limit(struct upmu_guest_shape *shape, const struct upmu_guest_policy *policy)
{
    limit_shape(shape, NULL, policy);
}

uint32_t upmu_guest_shape_denied(const struct upmu_guest_shape *shape, const struct upmu_guest_policy *policy)
{
    struct upmu_guest_shape limited = *shape;

    limit_shape(&limited, NULL, upmu_guest_policy(policy));
    return (limited.events[0] != shape->events[0] ? 1u : 0u) | (limited.events[1] != shape->events[1] ? 2u : 0u) |
           (limited.general != shape->general ? UPMU_GUEST_DENIED_COUNTERS : 0u);
}

enum upmu_status upmu_guest_shape_default(const struct upmu_machine *machine, enum upmu_guest_door door,
                                          const struct upmu_guest_policy *policy, struct upmu_guest_shape *out_shape)
{
    const struct upmu_pmu *pmu = upmu_machine_pmu(machine, 0);
    unsigned general;

    policy = upmu_guest_policy(policy);
    if (door != UPMU_GUEST_ARM || !policy_is_valid(policy))
        return UPMU_ERR_INVALID;
    if (!pmu || !is_pmuv3(pmu))
        return UPMU_ERR_NO_PMU;
    general = upmu_bits_count(pmu->general);
    *out_shape = (struct upmu_guest_shape){
        .door = UPMU_GUEST_ARM,
        .version = pmu->version < GUEST_ARM_V3P5 ? pmu->version : GUEST_ARM_V3P5,
        .general = (uint8_t)(general < UPMU_GUEST_GENERAL ? general : UPMU_GUEST_GENERAL),
        .fixed = 1,
        .width = 64,
        .family = pmu->family,
        .model = pmu->model,
        .stepping = pmu->stepping,
        .events = {UINT64_MAX, UINT64_MAX},
    };
    limit_shape(out_shape, pmu, policy);
    return UPMU_OK;
}

/* The machine can show version and events of its widest shape, and any number of event counters: some may wait. */
enum upmu_status upmu_guest_arm_can_show(const struct upmu_machine *machine, const struct upmu_guest_shape *shape,
                                         const struct upmu_guest_policy *policy)
{
    static const struct upmu_guest_policy all = {.level = UPMU_GUEST_ALL};
    struct upmu_guest_shape widest;

    if (!upmu_guest_arm_shape_is_valid(shape) || !policy_is_valid(policy) ||
        upmu_guest_shape_default(machine, UPMU_GUEST_ARM, &all, &widest) != UPMU_OK ||
        shape->version > widest.version || shape->events[0] & ~widest.events[0] || shape->events[1] & ~widest.events[1])
        return UPMU_ERR_INVALID;
    return upmu_guest_shape_denied(shape, policy) ? UPMU_ERR_UNSUPPORTED : UPMU_OK;
}

/* ---- ID registers ---- */

#define ID_FIELD(shift) (UINT64_C(15) << (shift))

/*
 * ID registers: the fields, 4 bits each, that the shape decides, and the one that has the version of the PMU. Linux
 * (arch/arm64/tools/sysreg, after DDI 0601) names them.
 */
static const struct {
    uint64_t fields;
    uint32_t versions; /* bits 4n + 3 to 4n: what shows version n */
    uint16_t reg;
    uint8_t shift; /* of the version */
} id_registers[] = {
    /*
     * ID_AA64DFR0_EL1: PMUVer, PMSS (snapshots), SEBEP (synchronous exceptions), PMSVer (statistical profiling), BRBE
     * (branch records), HPMN0.
     */
    {ID_FIELD(8) | ID_FIELD(16) | ID_FIELD(24) | ID_FIELD(32) | ID_FIELD(52) | ID_FIELD(60), 0x6540010,
     UPMU_GUEST_SYSREG(3, 0, 0, 5, 0), 8},
    /*
     * ID_AA64DFR1_EL1: SPMU (system PMUs), PMICNTR (the instruction counter), EBEP (exceptions in the place of the
     * interrupt).
     */
    {ID_FIELD(32) | ID_FIELD(36) | ID_FIELD(48), 0, UPMU_GUEST_SYSREG(3, 0, 0, 5, 1), 0},
    /* ID_DFR0_EL1: PerfMon, which has the values of PMUVer, except that PMUv3 is 3 there. */
    {ID_FIELD(24), 0x6540030, UPMU_GUEST_SYSREG(3, 0, 0, 1, 2), 24},
};

bool upmu_guest_id_register(const struct upmu_guest *guest, uint32_t reg, uint64_t *inout)
{
    uint64_t before = *inout;

    for (unsigned i = 0; i < sizeof id_registers / sizeof id_registers[0]; i++)
        if (id_registers[i].reg == reg)
            *inout = (before & ~id_registers[i].fields) |
                     (uint64_t)(id_registers[i].versions >> guest->shape.version * 4u & 15u) << id_registers[i].shift;
    return *inout != before;
}
