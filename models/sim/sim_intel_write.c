/* SPDX-License-Identifier: MIT */
/*
 * Writes to registers of Intel's core PMU: accepted values and effects. Sources are with the rules in models/sim/sim.h.
 */
#include "models/sim/sim_intern.h"

#define MISC_READ_ONLY (SIM_BIT(7) | SIM_BIT(11) | SIM_BIT(12))

/*
 * PEBS_BASE: a physical address of up to 39 bits (leaf 8000_0008H), a multiple of 4 KiB, and the size in bits 4:0.
 * PEBS_INDEX: offset 26:4, full, enable, threshold 58:36.
 */
#define PEBS_BASE_BITS UINT64_C(0x7ffffff01f)
#define PEBS_INDEX_BITS UINT64_C(0x07fffff187fffff0)

static bool sim_any_allowed(const struct upmu_sim_profile *profile)
{
    return profile->version >= 3 && !profile->any_deprecated;
}

/* Does a counter sample: is INT set in its control, or does it store records? */
static bool sim_samples(const struct upmu_sim *sim, unsigned index, unsigned counter)
{
    return upmu_sim_intel_config(sim, index, counter) & SIM_SELECT_INT || upmu_sim_pebs_stores(sim, index, counter);
}

static bool sim_write_counter(struct upmu_sim *sim, unsigned index, unsigned counter, uint32_t msr, uint64_t value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint64_t mask = sim_width_mask(sim_is(sim, index), counter);
    bool legacy = msr - SIM_MSR_COUNTER < UPMU_SIM_GENERAL;

    if (legacy) {
        if (sim_on(sim, UPMU_SIM_RULE_LEGACY_EXTENDS))
            value = (value & 0x7fffffffu) - (value & 0x80000000u);
    } else if (value & ~mask) {
        if (sim_on(sim, sim_is_fixed(counter) ? UPMU_SIM_RULE_FIXED_WIDTH_FAULTS : UPMU_SIM_RULE_FULL_WIDTH_FAULTS))
            return false;
    }
    if (sim_on(sim, UPMU_SIM_RULE_CHECK_RUNNING_COUNTER) && upmu_sim_intel_runs(sim, index, counter))
        upmu_sim_violate(sim, "write of a running counter", msr, value);
    value &= mask;
    cpu->counter[counter].written = !sim_samples(sim, index, counter);
    if (!cpu->counter[counter].written)
        value = upmu_sim_intel_period(sim, index, counter, msr, value);
    cpu->counter[counter].value = value;
    cpu->counter[counter].loaded = value;
    if (counter == UPMU_SIM_FIXED + 3)
        cpu->metrics_wrong = true;
    if (!sim_on(sim, UPMU_SIM_RULE_WRITE_KEEPS_STATUS))
        cpu->status &= ~sim_global_bit(counter);
    return true;
}

static uint64_t sim_select_writable(const struct upmu_sim *sim, unsigned index, unsigned counter)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);
    uint32_t extended = sim_on(sim, UPMU_SIM_RULE_SELECT_EXTENDED) ? sim_extended(profile, 0, 1) : 0;
    uint64_t mask = 0xffffffffu & ~SIM_SELECT_ANY;

    if (sim_any_allowed(profile) && sim_on(sim, UPMU_SIM_RULE_SELECT_ANY))
        mask |= SIM_SELECT_ANY;
    if (profile->version >= 6 ? sim_on(sim, UPMU_SIM_RULE_SELECT_PIN_V6) : !sim_on(sim, UPMU_SIM_RULE_SELECT_PIN))
        mask &= ~SIM_SELECT_PIN;
    mask |= (extended & 1u ? SIM_SELECT_UMASK2 : 0) | (extended & 2u ? SIM_SELECT_EQ : 0) |
            (extended & 4u ? SIM_SELECT_HIDDEN : 0);
    if (profile->flags & UPMU_SIM_RTM) {
        mask |= SIM_SELECT_IN_TX;
        if (counter == 2 || !sim_on(sim, UPMU_SIM_RULE_SELECT_TXCP))
            mask |= SIM_SELECT_IN_TXCP;
    }
    if (profile->capabilities & SIM_CAP_BASELINE)
        mask |= SIM_SELECT_ADAPTIVE;
    return mask;
}

/*
 * AAK100: each general counter that begins to count a new event gets a wrong value, unless its select was written after
 * the sequence that sim_watch_magic() recognises. Once a counter runs, the sequence is needed again.
 */
static void sim_start_wrong(struct upmu_sim *sim, unsigned index)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    bool any = false;

    if (!(sim_is(sim, index)->flags & UPMU_SIM_AAK100) || cpu->magic == 1)
        return;
    for (unsigned i = 0; i < sim_is(sim, index)->general; i++) {
        if (!upmu_sim_intel_runs(sim, index, i))
            continue;
        any = true;
        if (cpu->counter[i].selected_new && sim_on(sim, UPMU_SIM_RULE_HAZARD_AAK100))
            cpu->counter[i].value = (cpu->counter[i].value + 1001u) & sim_width_mask(sim_is(sim, index), i);
        cpu->counter[i].selected_new = false;
    }
    if (any)
        cpu->magic = 0;
}

/*
 * AAK100: recognise the sequence that prevents the error (Linux intel_pmu_nhm_workaround): counters 0 to 3 are enabled
 * with the selects below (cpu->magic is 1), then GLOBAL_CTRL is 0 (cpu->magic is 2).
 */
static void sim_watch_magic(struct upmu_sim_cpu *cpu, uint64_t global)
{
    static const uint32_t magic[] = {0x4300b5, 0x4300d2, 0x4300b1, 0x4300b1};
    bool seen = true;

    for (unsigned i = 0; i < 4; i++)
        seen = seen && cpu->select[i] == magic[i];
    if (global == 0xfu && seen)
        cpu->magic = 1;
    else if (cpu->magic == 1 && global == 0)
        cpu->magic = 2;
}

/*
 * A write may have started counters: apply AAK100 to their values, and take the value that was written before the
 * control said that the counter samples as its period. Counter 3 must not run while transactions may use it
 * (UPMU_SIM_TFA).
 */
static void sim_started(struct upmu_sim *sim, unsigned index)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];

    sim_start_wrong(sim, index);
    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++) {
        if (!cpu->counter[i].written || !upmu_sim_intel_runs(sim, index, i))
            continue;
        cpu->counter[i].written = false;
        if (sim_samples(sim, index, i))
            cpu->counter[i].value = upmu_sim_intel_period(sim, index, i, SIM_MSR_COUNTER + i, cpu->counter[i].value);
    }
    if (sim_is(sim, index)->flags & UPMU_SIM_TFA && !(cpu->force_abort & 1u) && upmu_sim_intel_runs(sim, index, 3) &&
        sim_on(sim, UPMU_SIM_RULE_CHECK_TFA))
        upmu_sim_violate(sim, "counter 3 runs while transactions may use it", SIM_MSR_FORCE_ABORT, cpu->force_abort);
}

static bool sim_write_select(struct upmu_sim *sim, unsigned index, unsigned counter, uint64_t value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint64_t old = cpu->select[counter];

    if (value & ~sim_select_writable(sim, index, counter) && sim_on(sim, UPMU_SIM_RULE_SELECT_RESERVED))
        return false;
    /*
     * Where the enable bit of select 0 is for both counters, one counter can only be stopped by a select without USR
     * and OS (Linux arch/x86/events/intel/p6.c): this is allowed while the counter runs.
     */
    if (sim_on(sim, UPMU_SIM_RULE_CHECK_RUNNING_SELECT) && upmu_sim_intel_runs(sim, index, counter) && value != old &&
        value & SIM_SELECT_EN &&
        (value & (SIM_SELECT_OS | SIM_SELECT_USR) ||
         !(sim_is(sim, index)->flags & (UPMU_SIM_P6 | UPMU_SIM_ONE_ENABLE))))
        upmu_sim_violate(sim, "change of a running counter's select", SIM_MSR_SELECT + counter, value);
    if ((value ^ old) & 0xffffu)
        cpu->counter[counter].selected_new = cpu->magic != 2; /* 2: after the sequence the event starts right */
    cpu->select[counter] = value;
    if (!sim_on(sim, UPMU_SIM_RULE_SELECT_KEEPS_STATUS))
        cpu->status &= ~sim_global_bit(counter);
    sim_started(sim, index);
    return true;
}

static uint64_t sim_fixed_writable(const struct upmu_sim *sim, unsigned index)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);
    uint64_t any = sim_any_allowed(profile) && sim_on(sim, UPMU_SIM_RULE_FIXED_ANY) ? 4u : 0;
    uint64_t mask = 0;

    for (unsigned i = 0; i < profile->fixed; i++) {
        if (!sim_has_counter(profile, UPMU_SIM_FIXED + i))
            continue;
        mask |= (i == 3 ? 0xbu : 0xbu | any) << 4u * i; /* slots have no AnyThread: bit 14 is METRICS_CLEAR_EN */
        if (profile->capabilities & SIM_CAP_BASELINE)
            mask |= SIM_BIT(32u + 4u * i);
        if (sim_extended(profile, 0, 1) & 4u && sim_on(sim, UPMU_SIM_RULE_SELECT_EXTENDED))
            mask |= SIM_BIT(33u + 4u * i);
    }
    if (profile->capabilities & SIM_CAP_METRICS_CLEAR && sim_has_counter(profile, UPMU_SIM_FIXED + 3))
        mask |= SIM_BIT(14);
    return mask;
}

static bool sim_write_fixed_ctrl(struct upmu_sim *sim, unsigned index, uint64_t value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];

    if (value & ~sim_fixed_writable(sim, index) && sim_on(sim, UPMU_SIM_RULE_FIXED_RESERVED))
        return false;
    for (unsigned i = 0; i < sim_is(sim, index)->fixed; i++) {
        uint64_t changed = (value ^ cpu->fixed_ctrl) >> 4u * i & 0xfu;

        if (changed != 0 && value >> 4u * i & 3u && upmu_sim_intel_runs(sim, index, UPMU_SIM_FIXED + i) &&
            sim_on(sim, UPMU_SIM_RULE_CHECK_RUNNING_SELECT))
            upmu_sim_violate(sim, "change of a running fixed counter's control", SIM_MSR_FIXED_CTRL, value);
    }
    cpu->fixed_ctrl = value;
    sim_started(sim, index);
    return true;
}

static bool sim_write_global_ctrl(struct upmu_sim *sim, unsigned index, uint64_t value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint64_t mask = upmu_sim_intel_counter_bits(sim_is(sim, index));

    if (sim_has_metrics(sim_is(sim, index)))
        mask |= SIM_STATUS_METRICS;
    if (value & ~mask && sim_on(sim, UPMU_SIM_RULE_GLOBAL_RESERVED))
        return false;
    sim_watch_magic(cpu, value & mask);
    cpu->global_ctrl = value & mask;
    sim_started(sim, index);
    upmu_sim_pebs_start(sim, index);
    return true;
}

static uint64_t sim_status_writable(const struct upmu_sim_profile *profile)
{
    uint64_t mask = upmu_sim_intel_counter_bits(profile) | SIM_STATUS_DS | SIM_STATUS_CHANGED;

    if (profile->flags & UPMU_SIM_PT)
        mask |= SIM_STATUS_PT;
    if (profile->version >= 3)
        mask |= SIM_STATUS_UNCORE;
    if (profile->version >= 4)
        mask |= SIM_STATUS_LBR_FROZEN | SIM_STATUS_FROZEN;
    if (profile->version >= 4 && profile->flags & UPMU_SIM_SGX)
        mask |= SIM_STATUS_ASCI;
    if (sim_has_metrics(profile))
        mask |= SIM_STATUS_METRICS;
    if (SIM_CAP_PEBS_FORMAT(profile->capabilities) == 0xf)
        mask |= SIM_STATUS_ARCH_PEBS;
    return mask;
}

static bool sim_write_status_reset(struct upmu_sim *sim, unsigned index, uint64_t value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    const uint64_t reference = SIM_BIT(34);

    if (value & ~sim_status_writable(sim_is(sim, index)) && sim_on(sim, UPMU_SIM_RULE_ACK_RESERVED))
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
    uint64_t mask = sim_status_writable(sim_is(sim, index));

    if (sim_on(sim, UPMU_SIM_RULE_SET_BIT63))
        mask &= ~SIM_STATUS_CHANGED;
    if (value & ~mask && sim_on(sim, UPMU_SIM_RULE_ACK_RESERVED))
        return false;
    sim->cpu[index].status |= value & mask;
    if (value & upmu_sim_intel_counter_bits(sim_is(sim, index)) && !sim_on(sim, UPMU_SIM_RULE_SET_IS_SILENT))
        upmu_sim_request_pmi(sim, index);
    return true;
}

static bool sim_write_debugctl(struct upmu_sim *sim, unsigned index, uint64_t value)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);
    uint64_t mask = SIM_BIT(0) | SIM_BIT(1);

    if (profile->flags & UPMU_SIM_DS) /* TR, BTS, BTINT; BTS_OFF_OS and BTS_OFF_USR are of DS-CPL */
        mask |= 0x1c0u | (sim_is_wide(profile) ? 0x600u : 0);
    if (profile->capabilities & SIM_CAP_FREEZE_SMM)
        mask |= SIM_DEBUGCTL_FREEZE_SMM;
    if (profile->version >= 2)
        mask |= SIM_DEBUGCTL_FREEZE | SIM_DEBUGCTL_FREEZE_LBR;
    if (profile->flags & UPMU_SIM_RTM)
        mask |= SIM_BIT(15);
    if (value & ~mask && sim_on(sim, UPMU_SIM_RULE_DEBUGCTL_RESERVED))
        return false;
    if (!sim_on(sim, UPMU_SIM_RULE_LBR_ENABLE))
        value &= ~SIM_DEBUGCTL_LBR;
    if (!sim_on(sim, UPMU_SIM_RULE_BTS_ENABLE))
        value &= ~(SIM_DEBUGCTL_TR | SIM_DEBUGCTL_BTS);
    sim->cpu[index].debugctl = value;
    return true;
}

static bool sim_write_pebs_enable(struct upmu_sim *sim, unsigned index, uint64_t value)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);
    uint64_t mask = upmu_sim_pebs_counters(profile);

    if (!(profile->capabilities & SIM_CAP_BASELINE) && upmu_sim_pebs_has_latency(profile))
        mask |= mask << 32;
    if (profile->flags & UPMU_SIM_PRECISE_STORE)
        mask |= SIM_BIT(63);
    if (value & ~mask && sim_on(sim, UPMU_SIM_RULE_PEBS_RESERVED))
        return false;
    upmu_sim_pebs_enable(sim, index, value);
    return true;
}

/* Return the bits of PEBS_DATA_CFG that can be set: from format 6 on those of counters and metrics, too. */
static uint64_t sim_data_config_writable(const struct upmu_sim_profile *profile)
{
    return UINT64_C(0xff00000f) |
           (SIM_CAP_PEBS_FORMAT(profile->capabilities) >= 6 ? UINT64_C(0x00ffffff00000030) : 0);
}

static bool sim_write_misc_enable(struct upmu_sim *sim, unsigned index, uint64_t value)
{
    uint64_t old = sim->cpu[index].misc_enable;

    if ((value ^ old) & MISC_READ_ONLY && !sim_on(sim, UPMU_SIM_RULE_MISC_READ_ONLY))
        return false;
    sim->cpu[index].misc_enable = (value & ~MISC_READ_ONLY) | (old & MISC_READ_ONLY);
    return true;
}

/* Return the mask of the bits that are valid in a payload register for at least one of its events. */
static uint64_t sim_payload_writable(const struct upmu_sim_profile *profile, uint32_t address)
{
    uint64_t mask = 0;

    for (unsigned i = 0; i < UPMU_SIM_PAYLOADS; i++)
        mask |= profile->payload[i].address == address ? profile->payload[i].valid : 0;
    return mask;
}

static bool sim_payload_in_use(const struct upmu_sim *sim, unsigned home, unsigned payload)
{
    for (unsigned cpu = 0; cpu < sim->cpus; cpu++) {
        if (upmu_sim_intel_payload_home(sim, cpu, payload) != home)
            continue;
        for (unsigned i = 0; i < sim_is(sim, cpu)->general; i++) {
            if (upmu_sim_intel_runs(sim, cpu, i) &&
                upmu_sim_intel_payload(sim_is(sim, cpu), sim->cpu[cpu].select[i]) == payload)
                return true;
        }
    }
    return false;
}

static bool sim_write_payload(struct upmu_sim *sim, unsigned index, unsigned payload, uint64_t value)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);
    unsigned home = upmu_sim_intel_payload_home(sim, index, payload);
    uint32_t address = profile->payload[payload].address;
    uint64_t *present = &sim->cpu[home].payload[payload];

    if (value & ~sim_payload_writable(profile, address) && sim_on(sim, UPMU_SIM_RULE_PAYLOAD_RESERVED))
        return false;
    if (*present != value && sim_on(sim, UPMU_SIM_RULE_CHECK_RUNNING_PAYLOAD) && sim_payload_in_use(sim, home, payload))
        upmu_sim_violate(sim, "payload changed under a running counter", address, value);
    *present = value;
    return true;
}

static bool sim_canonical(uint64_t address)
{
    return address >> 47 == 0 || address >> 47 == 0x1ffffu;
}

static void sim_write_metrics(struct upmu_sim_cpu *cpu, uint64_t value)
{
    cpu->metrics = value;
    for (unsigned i = 0; i < UPMU_SIM_METRICS; i++)
        cpu->metric_sum[i] = 0;
    cpu->metric_slots = 0;
    cpu->metrics_wrong = false;
}

/*
 * Write a register for which upmu_sim_intel_has_control() is true, as the caller has checked. Returns false, #GP, if
 * the register is read-only or does not accept the value.
 */
static bool sim_write_control(struct upmu_sim *sim, unsigned index, uint32_t msr, uint64_t value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];

    switch (msr) {
    case SIM_MSR_TSC:
        cpu->tsc_offset = value - sim->now_ns;
        return true;
    case SIM_MSR_MISC_ENABLE:
        return sim_write_misc_enable(sim, index, value);
    case SIM_MSR_DEBUGCTL:
        return sim_write_debugctl(sim, index, value);
    case SIM_MSR_METRICS:
        sim_write_metrics(cpu, value);
        return true;
    case SIM_MSR_FORCE_ABORT:
        if (value & ~UINT64_C(1))
            return false;
        cpu->force_abort = value;
        return true;
    case SIM_MSR_PEBS_BASE:
    case SIM_MSR_PEBS_INDEX:
        if (value & ~(msr == SIM_MSR_PEBS_BASE ? PEBS_BASE_BITS : PEBS_INDEX_BITS) &&
            sim_on(sim, UPMU_SIM_RULE_PEBS_RESERVED))
            return false;
        cpu->pebs_base[msr - SIM_MSR_PEBS_BASE] = value;
        return true;
    case SIM_MSR_CAPABILITIES:
        return !sim_on(sim, UPMU_SIM_RULE_CAP_READ_ONLY);
    case SIM_MSR_FIXED_CTRL:
        return sim_write_fixed_ctrl(sim, index, value);
    case SIM_MSR_STATUS:
        if (sim_on(sim, UPMU_SIM_RULE_STATUS_READ_ONLY))
            return false;
        cpu->status = value;
        return true;
    case SIM_MSR_GLOBAL_CTRL:
        return sim_write_global_ctrl(sim, index, value);
    case SIM_MSR_STATUS_RESET:
        return sim_write_status_reset(sim, index, value);
    case SIM_MSR_STATUS_SET:
        return sim_write_status_set(sim, index, value);
    case SIM_MSR_INUSE:
        return !sim_on(sim, UPMU_SIM_RULE_INUSE_READ_ONLY);
    case SIM_MSR_PEBS_ENABLE:
        return sim_write_pebs_enable(sim, index, value);
    case SIM_MSR_PEBS_DATA_CFG:
        if (value & ~sim_data_config_writable(sim_is(sim, index)) && sim_on(sim, UPMU_SIM_RULE_PEBS_RESERVED))
            return false;
        upmu_sim_pebs_data_config(sim, index, value);
        return true;
    default: /* SIM_MSR_DS_AREA */
        if (!sim_canonical(value) && sim_on(sim, UPMU_SIM_RULE_DS_CANONICAL))
            return false;
        cpu->ds_area = value;
        return true;
    }
}

bool upmu_sim_intel_write(struct upmu_sim *sim, unsigned index, uint32_t msr, uint64_t value)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);
    unsigned counter = upmu_sim_intel_counter_at(sim, index, msr);
    unsigned payload = upmu_sim_intel_payload_at(profile, msr);
    unsigned select = upmu_sim_intel_select_at(sim, index, msr);
    uint64_t writable;
    uint64_t *reload = upmu_sim_intel_reload_at(sim, index, msr, &writable);

    if (profile->flags & UPMU_SIM_IGNORES_WRITES)
        return true;
    if (upmu_sim_intel_feature_faults(profile, msr))
        return false;
    if (counter < UPMU_SIM_COUNTERS)
        return sim_write_counter(sim, index, counter, msr, value);
    if (select < UPMU_SIM_GENERAL)
        return sim_write_select(sim, index, select, value);
    if (reload != NULL) {
        *reload = value & ~writable ? *reload : value;
        return !(value & ~writable);
    }
    if (payload < UPMU_SIM_PAYLOADS)
        return sim_write_payload(sim, index, payload, value);
    if (upmu_sim_intel_has_control(sim, index, msr))
        return sim_write_control(sim, index, msr, value);
    if (upmu_sim_branches_place(sim, index, msr) != NULL)
        return upmu_sim_branches_write(sim, index, msr, value);
    return upmu_sim_intel_missing(sim, msr);
}
