/* SPDX-License-Identifier: MIT */
/*
 * Functions shared by the model's files.
 *
 *   sim_base.c         records of mistakes, requests of interrupts
 *   sim_access.c       what happens before and after an access, injection
 *   sim.c              the hooks, CPUs
 *   sim_pmi.c          NMI, vector: from the local APIC to sim->deliver
 *   sim_events.c       bursts: when something overflows
 *   sim_intel.c        registers of Intel's core PMU: what exists, reads, RDPMC
 *   sim_intel_write.c  what writes do
 *   sim_intel_count.c  what makes its counters count, what an overflow does
 *   sim_p4.c           registers of the Pentium 4's PMU
 *   sim_p4_count.c     what makes its counters count, what an overflow does
 *   sim_p4_profiles.c  which Pentium 4s, their CPUID
 *   sim_amd*.c         AMD (sim_amd.h)
 *   sim_branches.c     branch records of Intel and AMD
 *   sim_pebs.c         precise samples of Intel (PEBS), and the debug store area
 *   sim_traces.c       branch traces in memory of Intel (BTS)
 *   sim_family.c       calls the functions of the CPU's family: Intel core, Pentium 4 or AMD
 *   sim_profiles.c     which CPUs of Intel, without Pentium 4s
 *   sim_cpuid.c        their CPUID
 *   sim_rules.c        the table of rules
 *   sim_uncore*.c      units outside the cores (sim_uncore_intern.h)
 */
#ifndef UPMU_SIM_INTERN_H
#define UPMU_SIM_INTERN_H

#include "models/sim/sim.h"

#define SIM_BIT(n) (UINT64_C(1) << (n))

#define SIM_MSR_TSC 0x10u
#define SIM_MSR_COUNTER 0xc1u
#define SIM_MSR_FORCE_ABORT 0x10fu
#define SIM_MSR_SELECT 0x186u
#define SIM_MSR_MISC_ENABLE 0x1a0u
#define SIM_MSR_DEBUGCTL 0x1d9u
#define SIM_MSR_LOAD_LATENCY 0x3f6u
#define SIM_MSR_FIXED_COUNTER 0x309u
#define SIM_MSR_METRICS 0x329u
#define SIM_MSR_CAPABILITIES 0x345u
#define SIM_MSR_FIXED_CTRL 0x38du
#define SIM_MSR_STATUS 0x38eu
#define SIM_MSR_GLOBAL_CTRL 0x38fu
#define SIM_MSR_STATUS_RESET 0x390u
#define SIM_MSR_STATUS_SET 0x391u
#define SIM_MSR_INUSE 0x392u
#define SIM_MSR_PEBS_ENABLE 0x3f1u
#define SIM_MSR_PEBS_DATA_CFG 0x3f2u
#define SIM_MSR_PEBS_BASE 0x3f4u
#define SIM_MSR_PEBS_INDEX 0x3f5u
#define SIM_MSR_FULL_COUNTER 0x4c1u
#define SIM_MSR_DS_AREA 0x600u
#define SIM_MSR_V6_GENERAL 0x1900u
#define SIM_MSR_V6_FIXED 0x1980u

/* Bits of a select. upmu_sim_intel_config() gives a fixed counter's settings as these bits, too. */
#define SIM_SELECT_USR SIM_BIT(16)
#define SIM_SELECT_OS SIM_BIT(17)
#define SIM_SELECT_EDGE SIM_BIT(18)
#define SIM_SELECT_PIN SIM_BIT(19)
#define SIM_SELECT_INT SIM_BIT(20)
#define SIM_SELECT_ANY SIM_BIT(21)
#define SIM_SELECT_EN SIM_BIT(22)
#define SIM_SELECT_INV SIM_BIT(23)
#define SIM_SELECT_IN_TX SIM_BIT(32)
#define SIM_SELECT_IN_TXCP SIM_BIT(33)
#define SIM_SELECT_ADAPTIVE SIM_BIT(34)
#define SIM_SELECT_EQ SIM_BIT(36)
#define SIM_SELECT_HIDDEN SIM_BIT(37)
#define SIM_SELECT_UMASK2 (UINT64_C(0xff) << 40)

/* Bits of GLOBAL_STATUS other than those of counters. */
#define SIM_STATUS_METRICS SIM_BIT(48)
#define SIM_STATUS_ARCH_PEBS SIM_BIT(54)
#define SIM_STATUS_PT SIM_BIT(55)
#define SIM_STATUS_LBR_FROZEN SIM_BIT(58)
#define SIM_STATUS_FROZEN SIM_BIT(59)
#define SIM_STATUS_ASCI SIM_BIT(60)
#define SIM_STATUS_UNCORE SIM_BIT(61)
#define SIM_STATUS_DS SIM_BIT(62)
#define SIM_STATUS_CHANGED SIM_BIT(63)

#define SIM_DEBUGCTL_LBR SIM_BIT(0)
#define SIM_DEBUGCTL_TR SIM_BIT(6)
#define SIM_DEBUGCTL_BTS SIM_BIT(7)
#define SIM_DEBUGCTL_BTINT SIM_BIT(8)
#define SIM_DEBUGCTL_BTS_OFF_OS SIM_BIT(9)
#define SIM_DEBUGCTL_BTS_OFF_USR SIM_BIT(10)
#define SIM_DEBUGCTL_FREEZE_LBR SIM_BIT(11)
#define SIM_DEBUGCTL_FREEZE SIM_BIT(12)
#define SIM_DEBUGCTL_FREEZE_SMM SIM_BIT(14)

#define SIM_CAP_PEBS_FORMAT(capabilities) ((capabilities) >> 8 & 0xfu)
#define SIM_CAP_FREEZE_SMM (1u << 12)
#define SIM_CAP_FULL_WRITE (1u << 13)
#define SIM_CAP_BASELINE (1u << 14)
#define SIM_CAP_METRICS (1u << 15)
#define SIM_CAP_TIMING (1u << 17)
#define SIM_CAP_METRICS_CLEAR (1u << 19)

static inline bool sim_on(const struct upmu_sim *sim, enum upmu_sim_rule_id rule)
{
    return sim->rule[rule] != 0;
}

static inline bool sim_is_fixed(unsigned counter)
{
    return counter >= UPMU_SIM_FIXED;
}

/* Return the profile of a CPU: its own, or that of the model. */
static inline const struct upmu_sim_profile *sim_is(const struct upmu_sim *sim, unsigned cpu)
{
    return sim->cpu[cpu].profile != NULL ? sim->cpu[cpu].profile : sim->profile;
}

/*
 * Has the CPU 64-bit mode? P6 and Core Duo have not. With it the debug store area has the 64-bit layout (DTES64), and
 * there is DS-CPL.
 */
static inline bool sim_is_wide(const struct upmu_sim_profile *profile)
{
    return !(profile->flags & (UPMU_SIM_P6 | UPMU_SIM_ONE_ENABLE));
}

static inline bool sim_has_counter(const struct upmu_sim_profile *profile, unsigned counter)
{
    unsigned fixed = counter - UPMU_SIM_FIXED;

    if (profile->flags & UPMU_SIM_P4)
        return counter < UPMU_SIM_P4_COUNTERS;
    if (profile->amd != NULL && sim_is_fixed(counter)) /* the two units of IBS */
        return fixed < 2 && profile->amd->features & UPMU_SIM_AMD_IBS;
    if (sim_is_fixed(counter))
        return fixed < profile->fixed && !((unsigned)profile->fixed_holes >> fixed & 1u);
    return counter < profile->general;
}

/* Return a word (0: EAX to 3: EDX) of a subleaf, 0 to 5, of leaf 23H; 0 if the CPU has no leaf 23H. */
static inline uint32_t sim_extended(const struct upmu_sim_profile *profile, unsigned subleaf, unsigned word)
{
    return profile->extended != NULL ? profile->extended[subleaf][word] : 0;
}

static inline bool sim_has_metrics(const struct upmu_sim_profile *profile)
{
    return profile->capabilities & SIM_CAP_METRICS || profile->flags & UPMU_SIM_METRICS_HIDDEN;
}

static inline uint64_t sim_width_mask(const struct upmu_sim_profile *profile, unsigned counter)
{
    unsigned width = sim_is_fixed(counter) ? profile->fixed_width : profile->general_width;

    if (profile->flags & UPMU_SIM_P4)
        return SIM_BIT(40) - 1u;
    return width != 0 ? ~UINT64_C(0) >> (64u - width) : 0;
}

/* Return the mask of the counter's bit in GLOBAL_CTRL and GLOBAL_STATUS. */
static inline uint64_t sim_global_bit(unsigned counter)
{
    return sim_is_fixed(counter) ? SIM_BIT(32u + counter - UPMU_SIM_FIXED) : SIM_BIT(counter);
}

/* Do GLOBAL_CTRL, GLOBAL_STATUS, STATUS_RESET and FIXED_CTR_CTRL exist (from version 2 on)? */
static inline bool sim_has_global(const struct upmu_sim *sim, unsigned cpu)
{
    unsigned version = sim_is(sim, cpu)->version;

    return version >= 2 || (version == 1 && !sim_on(sim, UPMU_SIM_RULE_GLOBAL_NEEDS_V2));
}

/* sim_base.c */

/* Record a mistake of the caller of a hook; `address` and `value` are those of the access, `text` is static. */
void upmu_sim_violate(struct upmu_sim *sim, const char *text, uint32_t address, uint64_t value);

/*
 * Request the interrupt of a counter of this CPU. The request reaches the local APIC sim->skid steps later (0: now),
 * together with one that is already on its way.
 */
void upmu_sim_request_pmi(struct upmu_sim *sim, unsigned cpu);

/*
 * Let a request reach the local APIC of this CPU. If LVTPC is masked, the request is dropped (with rule LVTPC_DROPS off
 * it waits). Otherwise LVTPC becomes masked on Intel's CPUs, and by its delivery mode an NMI or a vector becomes
 * pending, for upmu_sim_poll(); a mode that the host's entry does not support is a violation. A CPU without local APIC
 * ignores the request.
 */
void upmu_sim_raise_pmi(struct upmu_sim *sim, unsigned cpu);

/* Return a / b; b is not 0. The operator / on 64-bit numbers would call libgcc on i386. */
uint64_t upmu_sim_divide(uint64_t a, uint64_t b);

/* sim_access.c */

/* Record a violation with this text if interrupts are on and the CPU is not in an NMI: a hook must not be called so. */
void upmu_sim_check_context(struct upmu_sim *sim, const char *text, uint32_t address);

/*
 * Begin a numbered access, and return its number; *out_injected: true if the test lets the access fault (fault_at and
 * so on). Events and interrupts before the access happen here. The second function ends the access: it records the
 * access in the trace, delivers pending interrupts and calls the test's after_access.
 */
uint32_t upmu_sim_begin_access(struct upmu_sim *sim, enum upmu_sim_kind kind, uint32_t address, bool *out_injected);
void upmu_sim_end_access(struct upmu_sim *sim, uint32_t number, enum upmu_sim_kind kind, uint32_t address,
                         uint64_t value, bool faulted);

/* sim_uncore.c; in a model without units these functions do nothing and return false. */

/*
 * Read or (`writes`) write an MSR of units. Returns false: no unit has the MSR. *out_done: false if the access faults.
 */
bool upmu_sim_uncore_msr(struct upmu_sim *sim, bool writes, uint32_t msr, uint64_t *value, bool *out_done);
bool upmu_sim_uncore_rdpmc(struct upmu_sim *sim, uint32_t index, uint64_t *out_value);
void upmu_sim_uncore_cpuid(const struct upmu_sim *sim, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);
void upmu_sim_uncore_count_access(struct upmu_sim *sim, uint32_t address);
void upmu_sim_uncore_remote_begin(struct upmu_sim *sim);
void upmu_sim_uncore_remote_end(struct upmu_sim *sim);

/*
 * sim_uncore_traffic.c: after a burst, let units of the CPU's die count its references to the last-level cache, the
 * misses among these, and the memory lines that a miss reads or writes.
 */
void upmu_sim_uncore_traffic_after(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_burst *burst);

/* sim_pmi.c */

/*
 * Deliver the pending NMI and vector of a CPU, and those that come meanwhile, as far as the CPU is not in an NMI or
 * (for a vector) has interrupts off. Too many in a row are a violation, and the pending ones are dropped.
 */
void upmu_sim_poll(struct upmu_sim *sim, unsigned cpu);

/* Let a number of steps (see struct upmu_sim_burst) pass on this CPU: late status bits and interrupts arrive. */
void upmu_sim_step(struct upmu_sim *sim, unsigned cpu, uint64_t steps);

/* Return the steps until the next late status bit or interrupt of a CPU is due; UINT64_MAX: none is on its way. */
uint64_t upmu_sim_steps_left(const struct upmu_sim_cpu *cpu);

/*
 * Write the LVTPC of a CPU. If the new value is not masked, a request that waited, or that an OVF of a Pentium 4 keeps
 * asserted, reaches the local APIC now and is delivered if possible.
 */
void upmu_sim_write_lvtpc(struct upmu_sim *sim, unsigned cpu, uint32_t value);

/* sim_family.c: each function calls that of the family of the model's CPUs: sim_intel*.c, sim_p4*.c or sim_amd*.c. */

static inline bool sim_is_p4(const struct upmu_sim *sim)
{
    return sim->profile->flags & UPMU_SIM_P4;
}

/* Are the CPUs of the model AMD's (all of them: by the model's own profile)? */
static inline bool sim_is_amd(const struct upmu_sim *sim)
{
    return sim->profile->flags & UPMU_SIM_AMD;
}

void upmu_sim_family_reset(struct upmu_sim *sim, unsigned cpu);
bool upmu_sim_family_read(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t *out_value);
bool upmu_sim_family_write(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t value);
bool upmu_sim_family_rdpmc(struct upmu_sim *sim, unsigned cpu, uint32_t index, uint64_t *out_value);

/*
 * Return how much a counter of `cpu` counts of a whole burst on CPU `from`, if its registers stay as they are; 0 if the
 * counter does not exist or does not count.
 */
uint64_t upmu_sim_family_delta(const struct upmu_sim *sim, unsigned cpu, unsigned counter, unsigned from,
                               const struct upmu_sim_burst *burst);

/*
 * Return how many more events the counter counts until a burst must be cut: the counter wraps, IBS takes a sample, or
 * (on a Pentium 4) an interrupt is due or an overflow is forced at the next event.
 */
uint64_t upmu_sim_family_room(const struct upmu_sim *sim, unsigned cpu, unsigned counter);

/* Add `count` events of this burst to a counter; if the counter wraps, do what an overflow does. */
void upmu_sim_family_count(struct upmu_sim *sim, unsigned cpu, unsigned counter, uint64_t count,
                           const struct upmu_sim_burst *burst);

/* Set the status bit of a counter that overflowed sim->status_lag steps ago. */
void upmu_sim_family_flag(struct upmu_sim *sim, unsigned cpu, unsigned counter);

/*
 * sim_p4.c, sim_p4_count.c: `cpu` is a hyper-thread; `home` is the CPU that holds its core's registers, which the first
 * function returns. The others return the model number by CPUID, and whether the core has a second hyper-thread.
 */

unsigned upmu_sim_p4_home(const struct upmu_sim *sim, unsigned cpu);
unsigned upmu_sim_p4_model(const struct upmu_sim_profile *profile);
bool upmu_sim_p4_threads(const struct upmu_sim *sim, unsigned home);

/* Return the number of the ESCR with this MSR address; UPMU_SIM_P4_ESCRS: the CPU has no ESCR there. */
unsigned upmu_sim_p4_escr(const struct upmu_sim *sim, uint32_t address);

/* Return the MSR address of the ESCR that a counter sees with the select of this CCCR value; 0: it sees none. */
uint32_t upmu_sim_p4_wired(const struct upmu_sim *sim, unsigned counter, uint64_t cccr);

/* Is there an ESCR select with which this counter sees the ESCR at `address`, or the other one of its pair? */
bool upmu_sim_p4_reaches(const struct upmu_sim *sim, unsigned counter, uint32_t address);

/* Is a counter enabled: by ENABLE of its CCCR, or because a cascade has started it? */
bool upmu_sim_p4_enabled(const struct upmu_sim *sim, unsigned home, unsigned counter);

void upmu_sim_p4_reset(struct upmu_sim *sim, unsigned cpu);
bool upmu_sim_p4_read(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t *out_value);
bool upmu_sim_p4_write(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t value);
bool upmu_sim_p4_rdpmc(struct upmu_sim *sim, unsigned cpu, uint32_t index, uint64_t *out_value);
uint64_t *upmu_sim_p4_place(struct upmu_sim *sim, unsigned cpu, uint32_t msr);
void upmu_sim_p4_firmware(struct upmu_sim *sim, unsigned cpu);

bool upmu_sim_p4_runs(const struct upmu_sim *sim, unsigned cpu, unsigned counter);
uint64_t upmu_sim_p4_delta(const struct upmu_sim *sim, unsigned cpu, unsigned counter, unsigned from,
                           const struct upmu_sim_burst *burst);
uint64_t upmu_sim_p4_room(const struct upmu_sim *sim, unsigned cpu, unsigned counter);
void upmu_sim_p4_count(struct upmu_sim *sim, unsigned cpu, unsigned counter, uint64_t count);
void upmu_sim_p4_flag(struct upmu_sim *sim, unsigned cpu, unsigned counter);

/* Is there an OVF in the core's CCCRs that keeps an interrupt request of this hyper-thread asserted? */
bool upmu_sim_p4_asserted(const struct upmu_sim *sim, unsigned cpu);

/* May a counter of `cpu` count what CPU `from` executes? If not, upmu_sim_family_delta() is not asked. */
bool upmu_sim_family_concerned(const struct upmu_sim *sim, unsigned cpu, unsigned from);

/* Does an access to this MSR fault although CPUID promises the register (UPMU_SIM_FEATURES_FAULT)? */
bool upmu_sim_family_withheld(const struct upmu_sim_profile *profile, uint32_t msr);

/* sim_amd.c, sim_amd_write.c, sim_amd_count.c, sim_amd_ibs.c, sim_amd_shared.c: see sim_amd.h */

void upmu_sim_amd_reset(struct upmu_sim *sim, unsigned cpu);
bool upmu_sim_amd_read(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t *out_value);
bool upmu_sim_amd_write(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t value);
bool upmu_sim_amd_rdpmc(struct upmu_sim *sim, unsigned cpu, uint32_t index, uint64_t *out_value);
uint64_t *upmu_sim_amd_place(struct upmu_sim *sim, unsigned cpu, uint32_t msr);
void upmu_sim_amd_firmware(struct upmu_sim *sim, unsigned cpu);
bool upmu_sim_amd_withheld(const struct upmu_sim_profile *profile, uint32_t msr);
bool upmu_sim_amd_runs(const struct upmu_sim *sim, unsigned cpu, unsigned counter);
uint64_t upmu_sim_amd_delta(const struct upmu_sim *sim, unsigned cpu, unsigned counter, unsigned from,
                            const struct upmu_sim_burst *burst);
uint64_t upmu_sim_amd_room(const struct upmu_sim *sim, unsigned cpu, unsigned counter);
void upmu_sim_amd_count(struct upmu_sim *sim, unsigned cpu, unsigned counter, uint64_t count,
                        const struct upmu_sim_burst *burst);

/* Complete the samples that IBS has just taken on this CPU: write the address of the instruction that was reached. */
void upmu_sim_amd_ibs_fill(struct upmu_sim *sim, unsigned cpu);

/* Request the interrupt of IBS at the local APIC now: its delay is over. */
void upmu_sim_amd_ibs_fire(struct upmu_sim *sim, unsigned cpu);

/*
 * Add a whole burst, when it is over, to the counters whose overflows do not cut bursts: IRPERF, and the counters of
 * the node (sim_amd_shared.c).
 */
void upmu_sim_amd_after(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_burst *burst);

/*
 * Return how many of `count` events of an L3 a counter counts with the slices, cores and hyper-threads in its control
 * (LX amd/uncore.c). The events are spread evenly: before family 19H over 4 slices and 8 hyper-threads, each with a bit
 * in the control; from 19H on over 8 slices and 8 cores, of which a control names one or all, and 2 hyper-threads of a
 * core. The latency (90H), and from 19H on 9AH, are counted whole.
 */
uint64_t upmu_sim_amd_l3_part(bool from_19h, uint64_t control, uint64_t count);

/* sim_amd_profiles.c */

const struct upmu_sim_profile *upmu_sim_amd_profile_at(unsigned index);
void upmu_sim_amd_cpuid(const struct upmu_sim *sim, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);

/* sim_p4_profiles.c */

const struct upmu_sim_profile *upmu_sim_p4_profile_at(unsigned index);
void upmu_sim_p4_cpuid(const struct upmu_sim *sim, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);

/*
 * sim_intel.c, sim_intel_write.c, sim_intel_count.c: registers of one CPU. Reads, writes and RDPMC return false: #GP.
 */

bool upmu_sim_intel_runs(const struct upmu_sim *sim, unsigned cpu, unsigned counter);
uint64_t upmu_sim_intel_peek(struct upmu_sim *sim, unsigned cpu, uint32_t msr);
void upmu_sim_intel_poke(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t value);

void upmu_sim_intel_reset(struct upmu_sim *sim, unsigned cpu);
bool upmu_sim_intel_read(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t *out_value);
bool upmu_sim_intel_write(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t value);
bool upmu_sim_intel_rdpmc(struct upmu_sim *sim, unsigned cpu, uint32_t index, uint64_t *out_value);

/* Does the CPU have PEBS_ENABLE, and PEBS_DATA_CFG? Both are for records in the debug store area (formats 0 to 6). */
static inline bool sim_has_pebs_enable(const struct upmu_sim_profile *profile)
{
    return profile->flags & UPMU_SIM_DS && profile->version >= 2 && SIM_CAP_PEBS_FORMAT(profile->capabilities) != 0xf;
}

static inline bool sim_has_data_config(const struct upmu_sim_profile *profile)
{
    return sim_has_pebs_enable(profile) && profile->capabilities & SIM_CAP_BASELINE;
}

/*
 * Return the counter that an address accesses; UPMU_SIM_COUNTERS: none. The second function returns the first row of
 * profile->payload that has the address; UPMU_SIM_PAYLOADS: none.
 */
unsigned upmu_sim_intel_counter_at(const struct upmu_sim *sim, unsigned cpu, uint32_t msr);
unsigned upmu_sim_intel_payload_at(const struct upmu_sim_profile *profile, uint32_t msr);

/*
 * Return the number of the select with this address; UPMU_SIM_GENERAL: no select that exists has it. From version 6 on
 * a select has a second address.
 */
unsigned upmu_sim_intel_select_at(const struct upmu_sim *sim, unsigned cpu, uint32_t msr);

/*
 * Return where the value of the CFG_B or CFG_C at an address is kept (version 6), and in *out_writable the bits that
 * can be written; NULL: the address is that of neither, or the CPU lacks the register.
 */
uint64_t *upmu_sim_intel_reload_at(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t *out_writable);

/*
 * Is there a register at this address that is neither a counter, select or payload nor for reloads or branch records?
 */
bool upmu_sim_intel_has_control(const struct upmu_sim *sim, unsigned cpu, uint32_t msr);

/*
 * Does an access to a register that CPUID promises fault (UPMU_SIM_FEATURES_FAULT)? The second function: is an access
 * to a register that does not exist ignored? False: the access meets #GP.
 */
bool upmu_sim_intel_feature_faults(const struct upmu_sim_profile *profile, uint32_t msr);
bool upmu_sim_intel_missing(const struct upmu_sim *sim, uint32_t msr);

/* Return the bits that all counters of a profile have in GLOBAL_CTRL and GLOBAL_STATUS. */
uint64_t upmu_sim_intel_counter_bits(const struct upmu_sim_profile *profile);

/*
 * Return the settings of a counter in the layout of a select; 0: the counter does not exist. For a fixed counter these
 * are OS, USR, ANY, INT and EN; where select 0 enables both counters, EN is that of select 0.
 */
uint64_t upmu_sim_intel_config(const struct upmu_sim *sim, unsigned cpu, unsigned counter);

/* Return how much a counter of `cpu` counts of a whole burst on CPU `from`, if its registers stay as they are. */
uint64_t upmu_sim_intel_delta(const struct upmu_sim *sim, unsigned cpu, unsigned counter, unsigned from,
                              const struct upmu_sim_burst *burst);

/*
 * A counter gets `value`, by a write of `msr` or with a PEBS record, and has begun to sample or is about to: return the
 * value that it really gets. A value in the upper half is a period: one that is too short is a violation, and BDM55
 * drops the low 6 bits of INST_RETIRED's.
 */
uint64_t upmu_sim_intel_period(struct upmu_sim *sim, unsigned cpu, unsigned counter, uint32_t msr, uint64_t value);

/* Do what the overflow of a counter without PEBS does: a reload, or else status bit, freeze and interrupt request. */
void upmu_sim_intel_overflow(struct upmu_sim *sim, unsigned cpu, unsigned counter);

/* Stop counters and branch records, if DEBUGCTL says that an interrupt of a counter does so. */
void upmu_sim_intel_freeze(struct upmu_sim *sim, unsigned cpu);

/*
 * Return the payload register that the event of a select uses, as the first row of profile->payload with its address;
 * UPMU_SIM_PAYLOADS: the event uses none.
 */
unsigned upmu_sim_intel_payload(const struct upmu_sim_profile *profile, uint64_t select);

/* Return the CPU that holds a payload register for `cpu`: with UPMU_SIM_SHARED_PAYLOAD two CPUs share OFFCORE_RSP. */
unsigned upmu_sim_intel_payload_home(const struct upmu_sim *sim, unsigned cpu, unsigned payload);

/* Update PERF_METRICS by the slots that fixed counter 3 has just counted of this burst, if metrics are enabled. */
void upmu_sim_intel_metrics(struct upmu_sim *sim, unsigned cpu, uint64_t slots, const struct upmu_sim_burst *burst);

/*
 * Apply erratum BJ122 after a counter has counted `count` events: the other hyper-thread's counter may count them, too.
 */
void upmu_sim_intel_side_effects(struct upmu_sim *sim, unsigned cpu, unsigned counter, uint64_t count);

/* sim_cpuid.c */

void upmu_sim_cpuid(const struct upmu_sim *sim, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);

/* sim_branches.c */

/* Does the CPU have architectural branch records? The second function answers CPUID leaf 1CH, which describes them. */
bool upmu_sim_branches_architectural(const struct upmu_sim_profile *profile);
void upmu_sim_branches_cpuid(const struct upmu_sim_profile *profile, uint32_t out[4]);

void upmu_sim_branches_reset(struct upmu_sim *sim, unsigned cpu);

/* Record a branch of the current CPU in its stack, as far as that records. */
void upmu_sim_branches_take(struct upmu_sim *sim, const struct upmu_sim_branch *branch);

/*
 * Intel's registers of branch records. The first function returns where the value of an MSR is kept (NULL: no such
 * register); a read returns false if there is no such register; a write returns false for #GP and needs an MSR that has
 * a place. Accesses to entries while branches are recorded are violations.
 */
uint64_t *upmu_sim_branches_place(struct upmu_sim *sim, unsigned cpu, uint32_t msr);
bool upmu_sim_branches_read(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t *out_value);
bool upmu_sim_branches_write(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t value);

/* Record a violation if an MSR is an entry of AMD's branch stack, and branches are being recorded. */
void upmu_sim_branches_amd_access(struct upmu_sim *sim, unsigned cpu, uint32_t msr);

/* Copy source, target and information of an entry of Intel's stack, 0 the newest; zeros if the stack has fewer. */
void upmu_sim_branches_entry(const struct upmu_sim *sim, unsigned cpu, unsigned entry, uint64_t out[3]);

/* sim_pebs.c */

/*
 * A counter has overflowed: does it store records? If so it is armed, and its overflow requests no interrupt; the
 * counter's status bit is set until the record is stored. The second function: is the counter armed, so that its next
 * event is recorded? The third says that the counter has had an event.
 */
bool upmu_sim_pebs_overflow(struct upmu_sim *sim, unsigned cpu, unsigned counter);
bool upmu_sim_pebs_waits(const struct upmu_sim *sim, unsigned cpu, unsigned counter);
void upmu_sim_pebs_count(struct upmu_sim *sim, unsigned cpu, unsigned counter);

/*
 * Store the records that are due: instruction `number` (from 0) of the burst, at `ip`, has just retired, and `next_ip`
 * comes next.
 */
void upmu_sim_pebs_store(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_burst *burst, uint64_t number,
                         uint64_t ip, uint64_t next_ip);

/* Does a counter store records when it overflows? */
bool upmu_sim_pebs_stores(const struct upmu_sim *sim, unsigned cpu, unsigned counter);

/* Return the counters that PEBS_ENABLE can give PEBS, as its bits; 0: none, as with format 15. */
uint64_t upmu_sim_pebs_counters(const struct upmu_sim_profile *profile);

/*
 * Has the CPU a load latency register (3F6H)? Before PEBS baseline, bits 32 and up of PEBS_ENABLE, one for each general
 * counter with PEBS, can then be set.
 */
bool upmu_sim_pebs_has_latency(const struct upmu_sim_profile *profile);

/* Write PEBS_ENABLE and PEBS_DATA_CFG; check the buffer after a write of GLOBAL_CTRL. */
void upmu_sim_pebs_enable(struct upmu_sim *sim, unsigned cpu, uint64_t value);
void upmu_sim_pebs_data_config(struct upmu_sim *sim, unsigned cpu, uint64_t value);
void upmu_sim_pebs_start(struct upmu_sim *sim, unsigned cpu);
/* Check the counters with PEBS before an entry into a guest. */
void upmu_sim_pebs_cross(struct upmu_sim *sim, unsigned cpu);

/*
 * Without DTES64 in CPUID the debug store area and records have words of 32 bits, and a record has the first ten alone
 * (UPMU_SIM_NARROW_DS).
 */
bool upmu_sim_debug_narrow(const struct upmu_sim *sim, unsigned cpu);

/*
 * Access a word of `length` bytes of the test's memory; a failure is a mistake of the software that gave the hardware
 * this address.
 */
bool upmu_sim_debug_store(struct upmu_sim *sim, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address,
                          uint64_t *word, unsigned length);

/* Access a word of the debug store area, by its offset where words have 64 bits. */
bool upmu_sim_debug_area(struct upmu_sim *sim, unsigned cpu, bool writes, unsigned offset, uint64_t *word);

/* Let the CPU be as after a threshold of the debug store: the status says so, counters freeze, an interrupt is due. */
void upmu_sim_debug_full(struct upmu_sim *sim, unsigned cpu);

/* sim_traces.c */

/* Does the CPU store its taken branches into memory? */
bool upmu_sim_traces(const struct upmu_sim *sim, unsigned cpu);

/* Let the call of a hook of the port, or its return, be a branch of the current CPU (rule LBR_HOOKS on). */
void upmu_sim_traces_hook(struct upmu_sim *sim, bool returns);

#endif
