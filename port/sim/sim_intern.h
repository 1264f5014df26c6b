/* SPDX-License-Identifier: MIT */
/*
 * What the model's files tell each other.
 *
 *   sim.c              the hooks, CPUs, what is injected and recorded
 *   sim_pmi.c          LVTPC, NMI, vector: from a request to sim->deliver
 *   sim_events.c       bursts: when something overflows
 *   sim_intel.c        registers of Intel's core PMU
 *   sim_intel_count.c  what makes its counters count, what an overflow does
 *   sim_profiles.c     which CPUs, CPUID
 *   sim_rules.c        the table of rules
 */
#ifndef UPMU_SIM_INTERN_H
#define UPMU_SIM_INTERN_H

#include "port/sim/sim.h"

#define SIM_BIT(n) (UINT64_C(1) << (n))

/* Bits of a select; a fixed counter's are given in the same places. */
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

/* Bits of GLOBAL_STATUS that are not overflows. */
#define SIM_STATUS_METRICS SIM_BIT(48)
#define SIM_STATUS_PT SIM_BIT(55)
#define SIM_STATUS_LBR_FROZEN SIM_BIT(58)
#define SIM_STATUS_FROZEN SIM_BIT(59)
#define SIM_STATUS_ASCI SIM_BIT(60)
#define SIM_STATUS_UNCORE SIM_BIT(61)
#define SIM_STATUS_DS SIM_BIT(62)
#define SIM_STATUS_CHANGED SIM_BIT(63)

#define SIM_DEBUGCTL_LBR SIM_BIT(0)
#define SIM_DEBUGCTL_FREEZE_LBR SIM_BIT(11)
#define SIM_DEBUGCTL_FREEZE SIM_BIT(12)
#define SIM_DEBUGCTL_FREEZE_SMM SIM_BIT(14)

#define SIM_CAP_FULL_WRITE (1u << 13)
#define SIM_CAP_BASELINE (1u << 14)
#define SIM_CAP_METRICS (1u << 15)
#define SIM_CAP_METRICS_CLEAR (1u << 19)

static inline bool sim_on(const struct upmu_sim *sim, enum upmu_sim_rule_id rule)
{
    return sim->rule[rule] != 0;
}

static inline bool sim_is_fixed(unsigned counter)
{
    return counter >= UPMU_SIM_FIXED;
}

static inline bool sim_has_counter(const struct upmu_sim_profile *profile, unsigned counter)
{
    if (sim_is_fixed(counter))
        return counter - UPMU_SIM_FIXED < profile->fixed;
    return counter < profile->general;
}

static inline uint64_t sim_width_mask(const struct upmu_sim_profile *profile, unsigned counter)
{
    return SIM_BIT(sim_is_fixed(counter) ? profile->fixed_width : profile->general_width) - 1u;
}

/* The counter's bit in GLOBAL_CTRL and GLOBAL_STATUS. */
static inline uint64_t sim_global_bit(unsigned counter)
{
    return sim_is_fixed(counter) ? SIM_BIT(32u + counter - UPMU_SIM_FIXED) : SIM_BIT(counter);
}

/* GLOBAL_CTRL, GLOBAL_STATUS and their like exist. */
static inline bool sim_has_global(const struct upmu_sim *sim)
{
    return sim->profile->version >= 2 || (sim->profile->version == 1 && !sim_on(sim, UPMU_SIM_RULE_GLOBAL_NEEDS_V2));
}

/* sim.c */

/* Record that the caller did something forbidden. */
void upmu_sim_violate(struct upmu_sim *sim, const char *text, uint32_t address, uint64_t value);

/* sim_pmi.c */

/* A counter of this CPU asks for its interrupt now. */
void upmu_sim_request_pmi(struct upmu_sim *sim, unsigned cpu);

/* Deliver what is pending and can be delivered. */
void upmu_sim_poll(struct upmu_sim *sim, unsigned cpu);

/* So many steps have passed on this CPU: late status bits and interrupts arrive. */
void upmu_sim_step(struct upmu_sim *sim, unsigned cpu, uint64_t steps);

/* Steps until upmu_sim_step() has something to do; UINT32_MAX if nothing is late. */
uint32_t upmu_sim_steps_left(const struct upmu_sim_cpu *cpu);

/* The LVTPC is written. */
void upmu_sim_write_lvtpc(struct upmu_sim *sim, unsigned cpu, uint32_t value);

/* sim_intel.c, sim_intel_count.c: one CPU's registers.  The accesses return false for #GP. */

void upmu_sim_intel_reset(struct upmu_sim *sim, unsigned cpu);
bool upmu_sim_intel_read(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t *out_value);
bool upmu_sim_intel_write(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t value);
bool upmu_sim_intel_rdpmc(struct upmu_sim *sim, unsigned cpu, uint32_t index, uint64_t *out_value);

/* The counter's configuration in the layout of a select; 0 if there is none. */
uint64_t upmu_sim_intel_config(const struct upmu_sim *sim, unsigned cpu, unsigned counter);

/*
 * How much a counter of `cpu` counts of a burst that runs on `from` if its
 * configuration stays as it is.
 */
uint64_t upmu_sim_intel_delta(const struct upmu_sim *sim, unsigned cpu, unsigned counter, unsigned from,
                              const struct upmu_sim_burst *burst);

/* The counter wrapped: status, freeze, request. */
void upmu_sim_intel_overflow(struct upmu_sim *sim, unsigned cpu, unsigned counter);

/* The payload register that this select uses, or UPMU_SIM_PAYLOADS. */
unsigned upmu_sim_intel_payload(const struct upmu_sim_profile *profile, uint64_t select);

/* The CPU that holds a payload register for `cpu`: on Nehalem siblings share OFFCORE_RSP. */
unsigned upmu_sim_intel_payload_home(const struct upmu_sim *sim, unsigned cpu, unsigned payload);

/* sim_profiles.c */

void upmu_sim_cpuid(const struct upmu_sim *sim, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);

/* sim_events.c */

/* a / b, b not 0.  (A 64-bit division would call libgcc on i386.) */
uint64_t upmu_sim_divide(uint64_t a, uint64_t b);

#endif
