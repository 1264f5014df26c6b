/* SPDX-License-Identifier: MIT */
/*
 * Registers and bits of AMD's PMUs, and functions shared by the model's AMD files. Layouts: AMD APM
 * vol 2 (24593) 13.2, 13.3; Linux arch/x86/include/asm/msr-index.h.
 *
 *   sim_amd.c           what exists, reads, RDPMC, reset
 *   sim_amd_write.c     what writes do
 *   sim_amd_count.c     what makes core counters count, what an overflow does
 *   sim_amd_ibs.c       instruction-based sampling
 *   sim_amd_shared.c    northbridge, data fabric, L2I, L3, memory controllers
 *   sim_amd_profiles.c  which CPUs, their CPUID
 */
#ifndef UPMU_SIM_AMD_H
#define UPMU_SIM_AMD_H

#include "models/sim/sim_intern.h"

#define SA_MSR_TSC 0x10u
#define SA_MSR_DEBUGCTL 0x1d9u
#define SA_MSR_EFER 0xc0000080u
#define SA_MSR_IRPERF 0xc00000e9u
#define SA_MSR_LBR_SELECT 0xc000010eu
#define SA_MSR_DEBUG_EXTENSION 0xc000010fu
#define SA_MSR_STATUS 0xc0000300u
#define SA_MSR_CONTROL 0xc0000301u
#define SA_MSR_CLEAR 0xc0000302u
#define SA_MSR_SET 0xc0000303u
#define SA_MSR_LEGACY_SELECT 0xc0010000u
#define SA_MSR_LEGACY_COUNTER 0xc0010004u
#define SA_MSR_HWCR 0xc0010015u
#define SA_MSR_CORE 0xc0010200u
#define SA_MSR_LLC 0xc0010230u
#define SA_MSR_NB 0xc0010240u
#define SA_MSR_PTSC 0xc0010280u
#define SA_MSR_LBR 0xc0010300u
#define SA_MSR_UMC 0xc0010800u
#define SA_MSR_IBS 0xc0011030u

#define SA_EFER_SVME SIM_BIT(12)
#define SA_HWCR_IRPERF SIM_BIT(30)

#define SA_GUEST_ONLY SIM_BIT(40)
#define SA_HOST_ONLY SIM_BIT(41)
#define SA_PRECISE SIM_BIT(43)

#define SA_COUNTER_MASK (SIM_BIT(48) - 1u)
#define SA_MERGE_SELECT UINT64_C(0xf004000ff) /* select of the odd counter of a merged pair: event FFFH and EN */

/* Registers of IBS: their MSR addresses less C001_1030H, which are indices in upmu_sim_amd.ibs. */
enum {
    SA_FETCH_CTL = 0,
    SA_FETCH_LINEAR = 1,
    SA_OP_CTL = 3,
    SA_OP_RIP = 4,
    SA_OP_DATA1 = 5,
    SA_IBS_CONTROL = 10,
    SA_BR_TARGET = 11,
    SA_FETCH_EXTENDED = 12,
    SA_OP_DATA4 = 13,
    SA_OP_CTL2 = 14,
    SA_FETCH_CTL2 = 15
};

#define SA_FETCH_EN SIM_BIT(48)
#define SA_FETCH_VAL SIM_BIT(49)
#define SA_OP_EN SIM_BIT(17)
#define SA_OP_VAL SIM_BIT(18)
#define SA_OP_COUNTS_OPS SIM_BIT(19)

/*
 * The kind of register at an address: none; select or counter of the core; control or counter of a node's unit;
 * PerfMonV2's global registers; IBS; any other.
 */
enum sa_kind { SA_NOTHING, SA_SELECT, SA_COUNTER, SA_NODE_CONTROL, SA_NODE_COUNTER, SA_GLOBAL, SA_IBS, SA_OTHER };

struct sa_where {
    enum sa_kind kind;
    unsigned index;  /* number of the counter; of SA_IBS: index in upmu_sim_amd.ibs */
    unsigned unit;   /* of SA_NODE_…: the unit, UPMU_SIM_UNIT_… */
    bool legacy;     /* a core register was named by its legacy address */
    uint64_t *place; /* where the value is kept; NULL: the register keeps no value of its own */
};

static inline const struct upmu_sim_amd_facts *sa_facts(const struct upmu_sim *sim, unsigned cpu)
{
    return sim_is(sim, cpu)->amd;
}

/* Return the number of branch records of a CPU: by CPUID with version 2, 16 with Zen 3's branch sampling, else 0. */
static inline unsigned sa_branch_depth(const struct upmu_sim_amd_facts *facts)
{
    if (facts->perfmon[0] & 2u)
        return facts->perfmon[1] >> 4 & 0x3fu;
    return facts->features_8 >> 31 ? UPMU_SIM_AMD_LBR : 0;
}

static inline unsigned sa_family(const struct upmu_sim_profile *profile)
{
    unsigned base = profile->signature >> 8 & 0xfu;

    return base == 0xf ? base + (profile->signature >> 20 & 0xffu) : base;
}

static inline unsigned sa_model(const struct upmu_sim_profile *profile)
{
    unsigned base = profile->signature >> 4 & 0xfu;

    return (profile->signature >> 8 & 0xfu) == 0xf ? base | (profile->signature >> 12 & 0xf0u) : base;
}

static inline bool sa_v2(const struct upmu_sim *sim, unsigned cpu)
{
    return sa_facts(sim, cpu)->perfmon[0] & 1u || !sim_on(sim, UPMU_SIM_RULE_AMD_GLOBAL);
}

static inline uint32_t sa_event(uint64_t select)
{
    return (uint32_t)(select & 0xffu) | (uint32_t)(select >> 24 & 0xf00u);
}

static inline uint32_t sa_umask(uint64_t select)
{
    return (uint32_t)(select >> 8 & 0xffu);
}

/* sim_amd.c */

struct sa_where upmu_sim_amd_find(struct upmu_sim *sim, unsigned cpu, uint32_t msr);

/* sim_amd_count.c */

/*
 * Does a core counter's select ask for an event of the northbridge? Core counters of families 0FH to 14H count these.
 */
bool upmu_sim_amd_is_nb(const struct upmu_sim *sim, unsigned cpu, uint64_t select);

/*
 * Return the mask of the core counters that can count the event of a select, without regard to how many counters exist.
 */
uint32_t upmu_sim_amd_counters(const struct upmu_sim *sim, unsigned cpu, uint64_t select);

/*
 * Are `counter` and `counter` + 1 a merged pair: `counter` is even and has event 003H, and the other one is enabled
 * with the merge event?
 */
bool upmu_sim_amd_merged(const struct upmu_sim *sim, unsigned cpu, unsigned counter);

/* sim_amd_ibs.c */

bool upmu_sim_amd_ibs_exists(const struct upmu_sim *sim, unsigned cpu, unsigned index);
/* Return what a read of an IBS register shows: the controls of both units have the unit's present count. */
uint64_t upmu_sim_amd_ibs_control(const struct upmu_sim *sim, unsigned cpu, unsigned index);

void upmu_sim_amd_ibs_write(struct upmu_sim *sim, unsigned cpu, unsigned index, uint64_t value);
bool upmu_sim_amd_ibs_runs(const struct upmu_sim *sim, unsigned cpu, unsigned counter);
uint64_t upmu_sim_amd_ibs_delta(const struct upmu_sim *sim, unsigned cpu, unsigned counter,
                                const struct upmu_sim_burst *burst);
uint64_t upmu_sim_amd_ibs_room(const struct upmu_sim *sim, unsigned cpu, unsigned counter);
void upmu_sim_amd_ibs_count(struct upmu_sim *sim, unsigned cpu, unsigned counter, uint64_t count,
                            const struct upmu_sim_burst *burst);

/* sim_amd_shared.c */

/* Return the first CPU of the node of a CPU, which holds the node's registers; `cpu` if rule AMD_SHARED_ONE is off. */
unsigned upmu_sim_amd_home(const struct upmu_sim *sim, unsigned cpu);

/*
 * Return the number of counters of a unit (UPMU_SIM_UNIT_NB, LLC or UMC) of the CPU's node; 0: no such unit. The second
 * function returns the bits that can be set in the unit's controls.
 */
unsigned upmu_sim_amd_units(const struct upmu_sim *sim, unsigned cpu, unsigned unit);
uint64_t upmu_sim_amd_unit_bits(const struct upmu_sim *sim, unsigned cpu, unsigned unit);

#endif
