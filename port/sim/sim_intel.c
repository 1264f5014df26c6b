/* SPDX-License-Identifier: MIT */
/*
 * Registers of Intel's core PMU: what exists, what a read gives, what a write
 * accepts, what makes a counter count.
 *
 * Sources are with the rules in port/sim/sim.h; layouts are those of Intel SDM
 * vol 3 (325384-059) 18.2.
 */
#include "port/sim/sim_intern.h"

#define MSR_TSC 0x10u
#define MSR_COUNTER 0xc1u
#define MSR_SELECT 0x186u
#define MSR_MISC_ENABLE 0x1a0u
#define MSR_DEBUGCTL 0x1d9u
#define MSR_FIXED_COUNTER 0x309u
#define MSR_METRICS 0x329u
#define MSR_CAPABILITIES 0x345u
#define MSR_FIXED_CTRL 0x38du
#define MSR_STATUS 0x38eu
#define MSR_GLOBAL_CTRL 0x38fu
#define MSR_STATUS_RESET 0x390u
#define MSR_STATUS_SET 0x391u
#define MSR_INUSE 0x392u
#define MSR_PEBS_ENABLE 0x3f1u
#define MSR_PEBS_DATA_CFG 0x3f2u
#define MSR_FULL_COUNTER 0x4c1u
#define MSR_DS_AREA 0x600u

#define GARBAGE UINT64_C(0x5a5a3c3c96)
#define MISC_PERFMON SIM_BIT(7)
#define MISC_READ_ONLY (SIM_BIT(7) | SIM_BIT(11) | SIM_BIT(12))

/* ---- What exists ---- */

static bool sim_has_v4(const struct upmu_sim *sim)
{
    return sim->profile->version >= 4 || (sim_has_global(sim) && !sim_on(sim, UPMU_SIM_RULE_V4_REGISTERS));
}

static bool sim_any_allowed(const struct upmu_sim_profile *profile)
{
    return profile->version >= 3 && !profile->any_deprecated;
}

static uint64_t sim_general_bits(const struct upmu_sim_profile *profile)
{
    return SIM_BIT(profile->general) - 1u;
}

static uint64_t sim_counter_bits(const struct upmu_sim_profile *profile)
{
    return sim_general_bits(profile) | (SIM_BIT(profile->fixed) - 1u) << 32;
}

/* The counter that this address reads and writes, or UPMU_SIM_COUNTERS. */
static unsigned sim_counter_at(const struct upmu_sim *sim, uint32_t msr)
{
    unsigned counter = UPMU_SIM_COUNTERS;

    if (msr - MSR_COUNTER < UPMU_SIM_GENERAL)
        counter = msr - MSR_COUNTER;
    else if (msr - MSR_FULL_COUNTER < UPMU_SIM_GENERAL &&
             (sim->profile->capabilities & SIM_CAP_FULL_WRITE || !sim_on(sim, UPMU_SIM_RULE_FULL_NEEDS_CAP)))
        counter = msr - MSR_FULL_COUNTER;
    else if (msr - MSR_FIXED_COUNTER < UPMU_SIM_COUNTERS - UPMU_SIM_FIXED)
        counter = UPMU_SIM_FIXED + msr - MSR_FIXED_COUNTER;
    return counter < UPMU_SIM_COUNTERS && sim_has_counter(sim->profile, counter) ? counter : UPMU_SIM_COUNTERS;
}

static unsigned sim_payload_at(const struct upmu_sim_profile *profile, uint32_t msr)
{
    for (unsigned i = 0; i < UPMU_SIM_PAYLOADS; i++) {
        if (profile->payload[i].address == msr && msr != 0)
            return i;
    }
    return UPMU_SIM_PAYLOADS;
}

/* ---- Reset ---- */

void upmu_sim_intel_reset(struct upmu_sim *sim, unsigned index)
{
    const struct upmu_sim_profile *profile = sim->profile;
    struct upmu_sim_cpu *cpu = &sim->cpu[index];

    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++) {
        bool garbage = sim_has_counter(profile, i) && !sim_on(sim, UPMU_SIM_RULE_RESET_COUNTERS);

        cpu->counter[i].value = garbage ? GARBAGE + i : 0;
        cpu->counter[i].late = 0;
        cpu->counter[i].pebs_reset = 0;
        cpu->counter[i].selected_new = false;
    }
    for (unsigned i = 0; i < UPMU_SIM_GENERAL; i++)
        cpu->select[i] = 0;
    for (unsigned i = 0; i < UPMU_SIM_PAYLOADS; i++)
        cpu->payload[i] = 0;
    cpu->fixed_ctrl = 0;
    cpu->global_ctrl = sim_has_global(sim) && sim_on(sim, UPMU_SIM_RULE_RESET_GLOBAL) ? sim_general_bits(profile) : 0;
    cpu->status = 0;
    cpu->debugctl = sim_on(sim, UPMU_SIM_RULE_RESET_LBR) ? 0 : SIM_DEBUGCTL_LBR;
    cpu->misc_enable = 1u | (profile->version != 0 ? MISC_PERFMON : 0) |
                       (profile->flags & UPMU_SIM_DS ? 0 : SIM_BIT(11) | SIM_BIT(12));
    cpu->pebs_enable = cpu->pebs_data_cfg = cpu->ds_area = cpu->metrics = 0;
    cpu->magic = 0;
    cpu->skid_left = cpu->sticky_left = 0;
    cpu->sticky_armed = false;
    cpu->lvtpc = sim_on(sim, UPMU_SIM_RULE_RESET_LVTPC) ? UPMU_SIM_LVTPC_MASKED : 0;
    cpu->nmi_pending = cpu->nmi_foreign = cpu->irq_pending = cpu->latched = false;
}

/* ---- Reads ---- */

static uint64_t sim_inuse(const struct upmu_sim *sim, unsigned index)
{
    const struct upmu_sim_cpu *cpu = &sim->cpu[index];
    bool pmi = cpu->pebs_enable != 0;
    uint64_t value = 0;

    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++) {
        uint64_t config = upmu_sim_intel_config(sim, index, i);

        if (config & (sim_is_fixed(i) ? SIM_SELECT_EN : 0xffu))
            value |= sim_global_bit(i);
        pmi = pmi || config & SIM_SELECT_INT;
    }
    if (pmi)
        value |= sim_on(sim, UPMU_SIM_RULE_INUSE_BIT63) ? SIM_BIT(63) : SIM_BIT(32);
    return value;
}

static bool sim_has_capabilities(const struct upmu_sim *sim)
{
    return sim->profile->flags & UPMU_SIM_PDCM || !sim_on(sim, UPMU_SIM_RULE_CAP_NEEDS_PDCM);
}

/* Control registers; false if there is none at this address. */
static bool sim_read_control(const struct upmu_sim *sim, unsigned index, uint32_t msr, uint64_t *out_value)
{
    const struct upmu_sim_profile *profile = sim->profile;
    const struct upmu_sim_cpu *cpu = &sim->cpu[index];

    switch (msr) {
    case MSR_TSC:
        *out_value = sim->now_ns + cpu->tsc_offset;
        return true;
    case MSR_MISC_ENABLE:
        *out_value = cpu->misc_enable;
        return true;
    case MSR_DEBUGCTL:
        *out_value = cpu->debugctl;
        return true;
    case MSR_METRICS:
        *out_value = cpu->metrics;
        return profile->capabilities & SIM_CAP_METRICS;
    case MSR_CAPABILITIES:
        *out_value = profile->capabilities;
        return sim_has_capabilities(sim);
    case MSR_FIXED_CTRL:
        *out_value = cpu->fixed_ctrl;
        return sim_has_global(sim);
    case MSR_STATUS:
        *out_value = cpu->status;
        return sim_has_global(sim);
    case MSR_GLOBAL_CTRL:
        *out_value = cpu->global_ctrl;
        return sim_has_global(sim);
    case MSR_STATUS_RESET:
        *out_value = 0;
        return sim_has_global(sim) && sim_on(sim, UPMU_SIM_RULE_ACK_READS_ZERO);
    case MSR_STATUS_SET:
        *out_value = 0;
        return sim_has_v4(sim) && sim_on(sim, UPMU_SIM_RULE_ACK_READS_ZERO);
    case MSR_INUSE:
        *out_value = sim_inuse(sim, index);
        return sim_has_v4(sim);
    case MSR_PEBS_ENABLE:
        *out_value = cpu->pebs_enable;
        return profile->flags & UPMU_SIM_DS;
    case MSR_PEBS_DATA_CFG:
        *out_value = cpu->pebs_data_cfg;
        return profile->capabilities & SIM_CAP_BASELINE;
    case MSR_DS_AREA:
        *out_value = cpu->ds_area;
        return profile->flags & UPMU_SIM_DS;
    default:
        return false;
    }
}

static bool sim_feature_faults(const struct upmu_sim_profile *profile, uint32_t msr)
{
    return profile->flags & UPMU_SIM_FEATURES_FAULT &&
           (msr == MSR_CAPABILITIES || sim_payload_at(profile, msr) < UPMU_SIM_PAYLOADS);
}

/* A register that does not exist is #GP (Linux KVM drops PMC0 and PMC1). */
static bool sim_missing(const struct upmu_sim *sim, uint32_t msr)
{
    if (msr - MSR_COUNTER < 2u && !sim_on(sim, UPMU_SIM_RULE_MISSING_COUNTER))
        return true;
    return !sim_on(sim, UPMU_SIM_RULE_MISSING_FAULTS);
}

bool upmu_sim_intel_read(struct upmu_sim *sim, unsigned index, uint32_t msr, uint64_t *out_value)
{
    const struct upmu_sim_profile *profile = sim->profile;
    unsigned counter = sim_counter_at(sim, msr);
    unsigned payload = sim_payload_at(profile, msr);

    *out_value = 0;
    if (profile->flags & UPMU_SIM_IGNORES_WRITES) {
        *out_value = msr == MSR_MISC_ENABLE ? 0x40001u : 0;
        return true;
    }
    if (sim_feature_faults(profile, msr))
        return false;
    if (counter < UPMU_SIM_COUNTERS) {
        *out_value = sim->cpu[index].counter[counter].value;
        return true;
    }
    if (msr - MSR_SELECT < profile->general) {
        *out_value = sim->cpu[index].select[msr - MSR_SELECT];
        return true;
    }
    if (payload < UPMU_SIM_PAYLOADS) {
        *out_value = sim->cpu[upmu_sim_intel_payload_home(sim, index, payload)].payload[payload];
        return true;
    }
    if (sim_read_control(sim, index, msr, out_value))
        return true;
    *out_value = 0;
    return sim_missing(sim, msr);
}

/* ---- Writes ---- */

static bool sim_write_counter(struct upmu_sim *sim, unsigned index, unsigned counter, uint32_t msr, uint64_t value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint64_t mask = sim_width_mask(sim->profile, counter);
    bool legacy = msr - MSR_COUNTER < UPMU_SIM_GENERAL;

    if (legacy) {
        if (sim_on(sim, UPMU_SIM_RULE_LEGACY_EXTENDS))
            value = (value & 0x7fffffffu) - (value & 0x80000000u);
    } else if (value & ~mask) {
        if (sim_on(sim, sim_is_fixed(counter) ? UPMU_SIM_RULE_FIXED_WIDTH_FAULTS : UPMU_SIM_RULE_FULL_WIDTH_FAULTS))
            return false;
    }
    if (sim_on(sim, UPMU_SIM_RULE_CHECK_RUNNING_COUNTER) && upmu_sim_runs(sim, index, counter))
        upmu_sim_violate(sim, "write of a running counter", msr, value);
    cpu->counter[counter].value = value & mask;
    if (!sim_on(sim, UPMU_SIM_RULE_WRITE_KEEPS_STATUS))
        cpu->status &= ~sim_global_bit(counter);
    return true;
}

static uint64_t sim_select_writable(const struct upmu_sim *sim, unsigned counter)
{
    const struct upmu_sim_profile *profile = sim->profile;
    uint64_t mask = 0xffffffffu & ~SIM_SELECT_ANY;

    if (sim_any_allowed(profile) && sim_on(sim, UPMU_SIM_RULE_SELECT_ANY))
        mask |= SIM_SELECT_ANY;
    if (!sim_on(sim, UPMU_SIM_RULE_SELECT_PIN))
        mask &= ~SIM_SELECT_PIN;
    if (profile->flags & UPMU_SIM_RTM) {
        mask |= SIM_SELECT_IN_TX;
        if (counter == 2 || !sim_on(sim, UPMU_SIM_RULE_SELECT_TXCP))
            mask |= SIM_SELECT_IN_TXCP;
    }
    if (profile->capabilities & SIM_CAP_BASELINE)
        mask |= SIM_SELECT_ADAPTIVE;
    return mask;
}

/* AAK100: what a counter holds when it starts with a new event unprepared. */
static void sim_start_wrong(struct upmu_sim *sim, unsigned index)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    bool any = false;

    if (!(sim->profile->flags & UPMU_SIM_NEHALEM) || cpu->magic == 1)
        return;
    for (unsigned i = 0; i < sim->profile->general; i++) {
        if (!cpu->counter[i].selected_new || !upmu_sim_runs(sim, index, i))
            continue;
        any = true;
        cpu->counter[i].selected_new = false;
        if (cpu->magic != 2 && sim_on(sim, UPMU_SIM_RULE_HAZARD_AAK100))
            cpu->counter[i].value = (cpu->counter[i].value + 1001u) & sim_width_mask(sim->profile, i);
    }
    if (any)
        cpu->magic = 0;
}

/* AAK100: the sequence that prevents it (Linux intel_pmu_nhm_workaround). */
static void sim_watch_magic(struct upmu_sim_cpu *cpu, uint64_t global)
{
    static const uint32_t magic[] = {0x4300b5, 0x4300d2, 0x4300b1, 0x4300b1};
    bool seen = true;

    for (unsigned i = 0; i < 4; i++)
        seen = seen && cpu->select[i] == magic[i];
    if (global == 0xfu && seen)
        cpu->magic = 1;
    else if (cpu->magic == 1)
        cpu->magic = global == 0 ? 2 : 0;
}

static bool sim_write_select(struct upmu_sim *sim, unsigned index, unsigned counter, uint64_t value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint64_t old = cpu->select[counter];

    if (value & ~sim_select_writable(sim, counter) && sim_on(sim, UPMU_SIM_RULE_SELECT_RESERVED))
        return false;
    if (sim_on(sim, UPMU_SIM_RULE_CHECK_RUNNING_SELECT) && upmu_sim_runs(sim, index, counter) && value != old &&
        value & SIM_SELECT_EN)
        upmu_sim_violate(sim, "change of a running counter's select", MSR_SELECT + counter, value);
    if ((value ^ old) & 0xffffu)
        cpu->counter[counter].selected_new = true;
    cpu->select[counter] = value;
    if (!sim_on(sim, UPMU_SIM_RULE_SELECT_KEEPS_STATUS))
        cpu->status &= ~sim_global_bit(counter);
    sim_start_wrong(sim, index);
    return true;
}

static uint64_t sim_fixed_writable(const struct upmu_sim *sim)
{
    const struct upmu_sim_profile *profile = sim->profile;
    uint64_t nibble = 0xb | (sim_any_allowed(profile) && sim_on(sim, UPMU_SIM_RULE_FIXED_ANY) ? 4u : 0);
    uint64_t mask = 0;

    for (unsigned i = 0; i < profile->fixed; i++) {
        mask |= nibble << 4u * i;
        if (profile->capabilities & SIM_CAP_BASELINE)
            mask |= SIM_BIT(32u + 4u * i);
    }
    if (profile->capabilities & SIM_CAP_METRICS_CLEAR && profile->fixed > 3)
        mask |= SIM_BIT(14);
    return mask;
}

static bool sim_write_fixed_ctrl(struct upmu_sim *sim, unsigned index, uint64_t value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];

    if (value & ~sim_fixed_writable(sim) && sim_on(sim, UPMU_SIM_RULE_FIXED_RESERVED))
        return false;
    for (unsigned i = 0; i < sim->profile->fixed; i++) {
        uint64_t changed = (value ^ cpu->fixed_ctrl) >> 4u * i & 0xfu;

        if (changed != 0 && value >> 4u * i & 3u && upmu_sim_runs(sim, index, UPMU_SIM_FIXED + i) &&
            sim_on(sim, UPMU_SIM_RULE_CHECK_RUNNING_SELECT))
            upmu_sim_violate(sim, "change of a running fixed counter's control", MSR_FIXED_CTRL, value);
    }
    cpu->fixed_ctrl = value;
    return true;
}

static bool sim_write_global_ctrl(struct upmu_sim *sim, unsigned index, uint64_t value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint64_t mask = sim_counter_bits(sim->profile);

    if (sim->profile->capabilities & SIM_CAP_METRICS)
        mask |= SIM_STATUS_METRICS;
    if (value & ~mask && sim_on(sim, UPMU_SIM_RULE_GLOBAL_RESERVED))
        return false;
    sim_watch_magic(cpu, value & mask);
    cpu->global_ctrl = value & mask;
    sim_start_wrong(sim, index);
    return true;
}

static uint64_t sim_status_writable(const struct upmu_sim_profile *profile)
{
    uint64_t mask = sim_counter_bits(profile) | SIM_STATUS_DS | SIM_STATUS_CHANGED;

    if (profile->flags & UPMU_SIM_PT)
        mask |= SIM_STATUS_PT;
    if (profile->version >= 3)
        mask |= SIM_STATUS_UNCORE;
    if (profile->version >= 4)
        mask |= SIM_STATUS_LBR_FROZEN | SIM_STATUS_FROZEN;
    if (profile->version >= 4 && profile->flags & UPMU_SIM_SGX)
        mask |= SIM_STATUS_ASCI;
    if (profile->capabilities & SIM_CAP_METRICS)
        mask |= SIM_STATUS_METRICS;
    return mask;
}

static bool sim_write_status_reset(struct upmu_sim *sim, unsigned index, uint64_t value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    const uint64_t reference = SIM_BIT(34);

    if (value & ~sim_status_writable(sim->profile) && sim_on(sim, UPMU_SIM_RULE_ACK_RESERVED))
        return false;
    if (!sim_on(sim, UPMU_SIM_RULE_ACK_UNFREEZES))
        value &= ~SIM_STATUS_FROZEN;
    if (value & cpu->status & reference && cpu->sticky_armed) {
        cpu->sticky_armed = false;
        cpu->sticky_left = 2;
    }
    if (sim_on(sim, UPMU_SIM_RULE_ACK_CLEARS))
        cpu->status &= ~value;
    return true;
}

static bool sim_write_status_set(struct upmu_sim *sim, unsigned index, uint64_t value)
{
    uint64_t mask = sim_status_writable(sim->profile);

    if (sim_on(sim, UPMU_SIM_RULE_SET_BIT63))
        mask &= ~SIM_STATUS_CHANGED;
    if (value & ~mask && sim_on(sim, UPMU_SIM_RULE_ACK_RESERVED))
        return false;
    sim->cpu[index].status |= value & mask;
    if (value & sim_counter_bits(sim->profile) && !sim_on(sim, UPMU_SIM_RULE_SET_IS_SILENT))
        upmu_sim_request_pmi(sim, index);
    return true;
}

static bool sim_write_debugctl(struct upmu_sim *sim, unsigned index, uint64_t value)
{
    uint64_t mask = SIM_BIT(0) | SIM_BIT(1) | 0x7c0u | SIM_DEBUGCTL_FREEZE_SMM;

    if (sim->profile->version >= 2)
        mask |= SIM_DEBUGCTL_FREEZE | SIM_DEBUGCTL_FREEZE_LBR;
    if (sim->profile->flags & UPMU_SIM_RTM)
        mask |= SIM_BIT(15);
    if (value & ~mask && sim_on(sim, UPMU_SIM_RULE_DEBUGCTL_RESERVED))
        return false;
    sim->cpu[index].debugctl = value;
    return true;
}

static bool sim_write_pebs_enable(struct upmu_sim *sim, unsigned index, uint64_t value)
{
    const struct upmu_sim_profile *profile = sim->profile;
    uint64_t mask = sim_general_bits(profile);

    if (profile->capabilities & SIM_CAP_BASELINE)
        mask = sim_counter_bits(profile);
    else if (profile->version >= 3)
        mask |= sim_general_bits(profile) << 32;
    if (value & ~mask && sim_on(sim, UPMU_SIM_RULE_PEBS_RESERVED))
        return false;
    sim->cpu[index].pebs_enable = value;
    return true;
}

static bool sim_write_misc_enable(struct upmu_sim *sim, unsigned index, uint64_t value)
{
    uint64_t old = sim->cpu[index].misc_enable;

    if ((value ^ old) & MISC_READ_ONLY && !sim_on(sim, UPMU_SIM_RULE_MISC_READ_ONLY))
        return false;
    sim->cpu[index].misc_enable = (value & ~MISC_READ_ONLY) | (old & MISC_READ_ONLY);
    return true;
}

static bool sim_write_payload(struct upmu_sim *sim, unsigned index, unsigned payload, uint64_t value)
{
    unsigned home = upmu_sim_intel_payload_home(sim, index, payload);
    uint64_t *present = &sim->cpu[home].payload[payload];

    if (value & ~sim->profile->payload[payload].valid && sim_on(sim, UPMU_SIM_RULE_PAYLOAD_RESERVED))
        return false;
    for (unsigned cpu = 0; cpu < sim->cpus; cpu++) {
        for (unsigned i = 0; i < sim->profile->general; i++) {
            if (upmu_sim_intel_payload_home(sim, cpu, payload) == home && *present != value &&
                upmu_sim_runs(sim, cpu, i) &&
                upmu_sim_intel_payload(sim->profile, sim->cpu[cpu].select[i]) == payload &&
                sim_on(sim, UPMU_SIM_RULE_CHECK_RUNNING_PAYLOAD))
                upmu_sim_violate(sim, "payload changed under a running counter", sim->profile->payload[payload].address,
                                 value);
        }
    }
    *present = value;
    return true;
}

static bool sim_canonical(uint64_t address)
{
    return address >> 47 == 0 || address >> 47 == 0x1ffffu;
}

/* Registers that exist; the caller has looked. */
static bool sim_write_control(struct upmu_sim *sim, unsigned index, uint32_t msr, uint64_t value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];

    switch (msr) {
    case MSR_TSC:
        cpu->tsc_offset = value - sim->now_ns;
        return true;
    case MSR_MISC_ENABLE:
        return sim_write_misc_enable(sim, index, value);
    case MSR_DEBUGCTL:
        return sim_write_debugctl(sim, index, value);
    case MSR_METRICS:
        cpu->metrics = value;
        return true;
    case MSR_CAPABILITIES:
        return !sim_on(sim, UPMU_SIM_RULE_CAP_READ_ONLY);
    case MSR_FIXED_CTRL:
        return sim_write_fixed_ctrl(sim, index, value);
    case MSR_STATUS:
        if (sim_on(sim, UPMU_SIM_RULE_STATUS_READ_ONLY))
            return false;
        cpu->status = value;
        return true;
    case MSR_GLOBAL_CTRL:
        return sim_write_global_ctrl(sim, index, value);
    case MSR_STATUS_RESET:
        return sim_write_status_reset(sim, index, value);
    case MSR_STATUS_SET:
        return sim_write_status_set(sim, index, value);
    case MSR_INUSE:
        return !sim_on(sim, UPMU_SIM_RULE_INUSE_READ_ONLY);
    case MSR_PEBS_ENABLE:
        return sim_write_pebs_enable(sim, index, value);
    case MSR_PEBS_DATA_CFG:
        if (value & ~UINT64_C(0xff00000f) && sim_on(sim, UPMU_SIM_RULE_PEBS_RESERVED))
            return false;
        cpu->pebs_data_cfg = value;
        return true;
    default: /* MSR_DS_AREA */
        if (!sim_canonical(value) && sim_on(sim, UPMU_SIM_RULE_DS_CANONICAL))
            return false;
        cpu->ds_area = value;
        return true;
    }
}

static bool sim_has_control(const struct upmu_sim *sim, uint32_t msr)
{
    uint64_t ignored;

    if (msr == MSR_STATUS_RESET)
        return sim_has_global(sim);
    if (msr == MSR_STATUS_SET)
        return sim_has_v4(sim);
    return sim_read_control(sim, 0, msr, &ignored);
}

bool upmu_sim_intel_write(struct upmu_sim *sim, unsigned index, uint32_t msr, uint64_t value)
{
    const struct upmu_sim_profile *profile = sim->profile;
    unsigned counter = sim_counter_at(sim, msr);
    unsigned payload = sim_payload_at(profile, msr);

    if (profile->flags & UPMU_SIM_IGNORES_WRITES)
        return true;
    if (sim_feature_faults(profile, msr))
        return false;
    if (counter < UPMU_SIM_COUNTERS)
        return sim_write_counter(sim, index, counter, msr, value);
    if (msr - MSR_SELECT < profile->general)
        return sim_write_select(sim, index, msr - MSR_SELECT, value);
    if (payload < UPMU_SIM_PAYLOADS)
        return sim_write_payload(sim, index, payload, value);
    if (sim_has_control(sim, msr))
        return sim_write_control(sim, index, msr, value);
    return sim_missing(sim, msr);
}

/* ---- RDPMC ---- */

static bool sim_read_metrics(struct upmu_sim *sim, unsigned index, uint64_t *out_value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];

    *out_value = cpu->metrics;
    if (cpu->fixed_ctrl & SIM_BIT(14) && sim->profile->capabilities & SIM_CAP_METRICS_CLEAR &&
        sim_on(sim, UPMU_SIM_RULE_METRICS_CLEAR)) {
        cpu->metrics = 0;
        cpu->counter[UPMU_SIM_FIXED + 3].value = 0;
    }
    return true;
}

bool upmu_sim_intel_rdpmc(struct upmu_sim *sim, unsigned index, uint32_t which, uint64_t *out_value)
{
    const struct upmu_sim_profile *profile = sim->profile;
    const struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint32_t type = which >> 16;
    unsigned counter = which & 0xffffu;

    *out_value = 0;
    if (profile->version == 0)
        return false;
    if (cpu->user && !cpu->cr4_pce && sim_on(sim, UPMU_SIM_RULE_RDPMC_PCE))
        return false;
    if (profile->flags & UPMU_SIM_IGNORES_WRITES)
        return true;
    if (type == 0x8000 && !sim_on(sim, UPMU_SIM_RULE_RDPMC_BIT31))
        type = 0x4000;
    if (type == 0x2000 && profile->capabilities & SIM_CAP_METRICS && counter == 0)
        return sim_read_metrics(sim, index, out_value);
    if (type != 0 && type != 0x4000 && sim_on(sim, UPMU_SIM_RULE_RDPMC_TYPE))
        return false;
    if (counter >= (type == 0x4000 ? profile->fixed : profile->general))
        return !sim_on(sim, UPMU_SIM_RULE_RDPMC_RANGE);
    *out_value = cpu->counter[type == 0x4000 ? UPMU_SIM_FIXED + counter : counter].value;
    return true;
}

/* ---- Behind the rules ---- */

/* Where the value of a register is kept, NULL if it has no place of its own. */
static uint64_t *sim_place_of(struct upmu_sim *sim, unsigned index, uint32_t msr)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    unsigned payload = sim_payload_at(sim->profile, msr);

    if (msr - MSR_COUNTER < UPMU_SIM_GENERAL)
        return &cpu->counter[msr - MSR_COUNTER].value;
    if (msr - MSR_FULL_COUNTER < UPMU_SIM_GENERAL)
        return &cpu->counter[msr - MSR_FULL_COUNTER].value;
    if (msr - MSR_FIXED_COUNTER < UPMU_SIM_COUNTERS - UPMU_SIM_FIXED)
        return &cpu->counter[UPMU_SIM_FIXED + msr - MSR_FIXED_COUNTER].value;
    if (msr - MSR_SELECT < UPMU_SIM_GENERAL)
        return &cpu->select[msr - MSR_SELECT];
    if (payload < UPMU_SIM_PAYLOADS)
        return &sim->cpu[upmu_sim_intel_payload_home(sim, index, payload)].payload[payload];
    switch (msr) {
    case MSR_MISC_ENABLE:
        return &cpu->misc_enable;
    case MSR_DEBUGCTL:
        return &cpu->debugctl;
    case MSR_METRICS:
        return &cpu->metrics;
    case MSR_FIXED_CTRL:
        return &cpu->fixed_ctrl;
    case MSR_STATUS:
        return &cpu->status;
    case MSR_GLOBAL_CTRL:
        return &cpu->global_ctrl;
    case MSR_PEBS_ENABLE:
        return &cpu->pebs_enable;
    case MSR_PEBS_DATA_CFG:
        return &cpu->pebs_data_cfg;
    case MSR_DS_AREA:
        return &cpu->ds_area;
    default:
        return NULL;
    }
}

void upmu_sim_poke(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t value)
{
    uint64_t *place = sim_place_of(sim, cpu, msr);

    if (place != NULL)
        *place = value;
}

uint64_t upmu_sim_peek(struct upmu_sim *sim, unsigned cpu, uint32_t msr)
{
    const uint64_t *place = sim_place_of(sim, cpu, msr);

    if (place != NULL)
        return *place;
    if (msr == MSR_INUSE)
        return sim_inuse(sim, cpu);
    return msr == MSR_CAPABILITIES ? sim->profile->capabilities : 0;
}
