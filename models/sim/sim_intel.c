/* SPDX-License-Identifier: MIT */
/*
 * Registers of Intel's core PMU: which exist, reads, RDPMC, reset.
 *
 * Sources are with the rules in models/sim/sim.h; layouts are those of Intel SDM vol 3 (325384-059) 18.2 and, from
 * version 6 on, of Linux arch/x86/include/asm/msr-index.h and perf_event.h.
 */
#include "models/sim/sim_intern.h"

#define GARBAGE UINT64_C(0x5a5a3c3c96)
#define MISC_PERFMON SIM_BIT(7)

/* ---- What exists ---- */

static bool sim_has_v4(const struct upmu_sim *sim, unsigned index)
{
    return sim_is(sim, index)->version >= 4 || (sim_has_global(sim, index) && !sim_on(sim, UPMU_SIM_RULE_V4_REGISTERS));
}

static bool sim_has_v6(const struct upmu_sim *sim, unsigned index)
{
    unsigned version = sim_is(sim, index)->version;

    return version >= 6 || (version != 0 && !sim_on(sim, UPMU_SIM_RULE_V6_BLOCK));
}

static uint64_t sim_general_bits(const struct upmu_sim_profile *profile)
{
    return SIM_BIT(profile->general) - 1u;
}

uint64_t upmu_sim_intel_counter_bits(const struct upmu_sim_profile *profile)
{
    return sim_general_bits(profile) | ((SIM_BIT(profile->fixed) - 1u) & ~(uint64_t)profile->fixed_holes) << 32;
}

/* Return the counter whose block of four registers contains this address (version 6), or UPMU_SIM_COUNTERS. */
static unsigned sim_block_counter(uint32_t msr)
{
    if (msr - SIM_MSR_V6_GENERAL < 4u * UPMU_SIM_GENERAL)
        return (msr - SIM_MSR_V6_GENERAL) >> 2;
    if (msr - SIM_MSR_V6_FIXED < 4u * (UPMU_SIM_COUNTERS - UPMU_SIM_FIXED))
        return UPMU_SIM_FIXED + ((msr - SIM_MSR_V6_FIXED) >> 2);
    return UPMU_SIM_COUNTERS;
}

/* Return the counter whose value an address accesses; UPMU_SIM_COUNTERS: no counter that exists has the address. */
unsigned upmu_sim_intel_counter_at(const struct upmu_sim *sim, unsigned cpu, uint32_t msr)
{
    const struct upmu_sim_profile *profile = sim_is(sim, cpu);
    unsigned counter = UPMU_SIM_COUNTERS;

    if (msr - SIM_MSR_COUNTER < UPMU_SIM_GENERAL)
        counter = msr - SIM_MSR_COUNTER;
    else if (msr - SIM_MSR_FULL_COUNTER < UPMU_SIM_GENERAL &&
             (profile->capabilities & SIM_CAP_FULL_WRITE || !sim_on(sim, UPMU_SIM_RULE_FULL_NEEDS_CAP)))
        counter = msr - SIM_MSR_FULL_COUNTER;
    else if (msr - SIM_MSR_FIXED_COUNTER < UPMU_SIM_COUNTERS - UPMU_SIM_FIXED)
        counter = UPMU_SIM_FIXED + msr - SIM_MSR_FIXED_COUNTER;
    else if ((msr & 3u) == 0 && sim_has_v6(sim, cpu))
        counter = sim_block_counter(msr);
    return counter < UPMU_SIM_COUNTERS && sim_has_counter(profile, counter) ? counter : UPMU_SIM_COUNTERS;
}

unsigned upmu_sim_intel_select_at(const struct upmu_sim *sim, unsigned cpu, uint32_t msr)
{
    unsigned counter = msr - SIM_MSR_SELECT;

    if (counter >= UPMU_SIM_GENERAL && (msr & 3u) == 1 && msr < SIM_MSR_V6_FIXED && sim_has_v6(sim, cpu))
        counter = sim_block_counter(msr);
    return counter < sim_is(sim, cpu)->general ? counter : UPMU_SIM_GENERAL;
}

/*
 * Find CFG_B or CFG_C of a counter. Leaf 23H subleaf 2 says which counters can be reloaded (EAX, EBX) and which
 * counters' overflows can cause it (ECX, EDX); subleaf 5 says which counters have architectural PEBS.
 */
uint64_t *upmu_sim_intel_reload_at(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t *out_writable)
{
    const struct upmu_sim_profile *profile = sim_is(sim, cpu);
    unsigned counter = sim_block_counter(msr);
    unsigned word = counter >= UPMU_SIM_FIXED ? 1 : 0;
    unsigned bit = counter >= UPMU_SIM_FIXED ? counter - UPMU_SIM_FIXED : counter;
    uint32_t reload, pebs;

    *out_writable = 0;
    if (counter >= UPMU_SIM_COUNTERS || (msr & 3u) < 2 || !sim_has_counter(profile, counter))
        return NULL;
    reload = sim_extended(profile, 2, word);
    pebs = sim_extended(profile, 5, word == 0 ? 0 : 2);
    if (!sim_on(sim, UPMU_SIM_RULE_V6_RELOAD) && sim_has_v6(sim, cpu))
        reload = UINT32_MAX;
    if ((msr & 3u) == 2 && reload >> bit & 1u)
        *out_writable = sim_extended(profile, 2, 2) | (uint64_t)sim_extended(profile, 2, 3) << 32;
    else if ((msr & 3u) == 3 && (reload | pebs) >> bit & 1u)
        *out_writable = UINT32_MAX | (pebs >> bit & 1u ? (uint64_t)sim_extended(profile, 4, 1) << 32 | SIM_BIT(63) : 0);
    else
        return NULL;
    return &sim->cpu[cpu].reload[counter][(msr & 3u) - 2u];
}

/* ---- Reset ---- */

void upmu_sim_intel_reset(struct upmu_sim *sim, unsigned index)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);
    struct upmu_sim_cpu *cpu = &sim->cpu[index];

    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++) {
        bool garbage = sim_has_counter(profile, i) && !sim_on(sim, UPMU_SIM_RULE_RESET_COUNTERS);

        cpu->counter[i].value = garbage ? GARBAGE + i : 0;
        cpu->counter[i].late = 0;
        cpu->counter[i].pebs = 0;
        cpu->counter[i].selected_new = cpu->counter[i].written = false;
    }
    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
        cpu->reload[i][0] = cpu->reload[i][1] = 0;
    for (unsigned i = 0; i < UPMU_SIM_GENERAL; i++)
        cpu->select[i] = 0;
    for (unsigned i = 0; i < UPMU_SIM_PAYLOADS; i++)
        cpu->payload[i] = 0;
    for (unsigned i = 0; i < UPMU_SIM_METRICS; i++)
        cpu->metric_sum[i] = 0;
    cpu->metric_slots = 0;
    cpu->metrics_wrong = cpu->pebs_due = false;
    cpu->fixed_ctrl = 0;
    cpu->global_ctrl = 0;
    if (sim_has_global(sim, index) && sim_on(sim, UPMU_SIM_RULE_RESET_GLOBAL))
        cpu->global_ctrl = sim_general_bits(profile);
    cpu->status = 0;
    cpu->debugctl = sim_on(sim, UPMU_SIM_RULE_RESET_LBR) ? 0 : SIM_DEBUGCTL_LBR;
    cpu->misc_enable = 1u | (profile->general != 0 ? MISC_PERFMON : 0) |
                       (profile->flags & UPMU_SIM_DS ? 0 : SIM_BIT(11) | SIM_BIT(12));
    cpu->pebs_enable = cpu->pebs_data_cfg = cpu->ds_area = cpu->metrics = 0;
    cpu->pebs_base[0] = cpu->pebs_base[1] = cpu->force_abort = 0;
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
    bool pmi = cpu->pebs_enable != 0 && sim_on(sim, UPMU_SIM_RULE_INUSE_PEBS);
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

static bool sim_has_capabilities(const struct upmu_sim *sim, unsigned index)
{
    return sim_is(sim, index)->flags & UPMU_SIM_PDCM || !sim_on(sim, UPMU_SIM_RULE_CAP_NEEDS_PDCM);
}

/*
 * Return the value that a read of PERF_METRICS shows. The bits are inverted if fixed counter 3, which counts the slots,
 * was written and PERF_METRICS was not written after it: the fractions have no meaning then (rule METRICS_ORDER).
 */
static uint64_t sim_metrics_shown(const struct upmu_sim *sim, unsigned index)
{
    const struct upmu_sim_cpu *cpu = &sim->cpu[index];

    return cpu->metrics_wrong && sim_on(sim, UPMU_SIM_RULE_METRICS_ORDER) ? ~cpu->metrics : cpu->metrics;
}

/* Does the CPU have MISC_ENABLE? All have it but those of UPMU_SIM_P6 with a model number below 9 (Pentium M). */
static bool sim_has_misc_enable(const struct upmu_sim_profile *profile)
{
    return !(profile->flags & UPMU_SIM_P6) || (profile->signature & 0xf0u) >= 0x90u;
}

/* Read a register of PEBS or DS_AREA; false: the CPU has no such register at this address. */
static bool sim_read_pebs(const struct upmu_sim *sim, unsigned index, uint32_t msr, uint64_t *out_value)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);
    const struct upmu_sim_cpu *cpu = &sim->cpu[index];

    switch (msr) {
    case SIM_MSR_PEBS_ENABLE:
        *out_value = cpu->pebs_enable;
        return sim_has_pebs_enable(profile);
    case SIM_MSR_PEBS_DATA_CFG:
        *out_value = cpu->pebs_data_cfg;
        return sim_has_data_config(profile);
    case SIM_MSR_PEBS_BASE:
    case SIM_MSR_PEBS_INDEX:
        *out_value = cpu->pebs_base[msr - SIM_MSR_PEBS_BASE];
        return SIM_CAP_PEBS_FORMAT(profile->capabilities) == 0xf;
    case SIM_MSR_DS_AREA:
        *out_value = cpu->ds_area;
        return profile->flags & UPMU_SIM_DS;
    default:
        return false;
    }
}

/*
 * Read a register that is neither a counter, select or payload nor for reloads or branch records; false: the CPU has no
 * such register at this address, or its read meets #GP.
 */
static bool sim_read_control(const struct upmu_sim *sim, unsigned index, uint32_t msr, uint64_t *out_value)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);
    const struct upmu_sim_cpu *cpu = &sim->cpu[index];

    switch (msr) {
    case SIM_MSR_TSC:
        *out_value = sim->now_ns + cpu->tsc_offset;
        return true;
    case SIM_MSR_MISC_ENABLE:
        *out_value = cpu->misc_enable;
        return sim_has_misc_enable(profile);
    case SIM_MSR_FORCE_ABORT:
        *out_value = cpu->force_abort;
        return profile->flags & UPMU_SIM_TFA;
    case SIM_MSR_DEBUGCTL:
        *out_value = cpu->debugctl;
        return true;
    case SIM_MSR_METRICS:
        *out_value = sim_metrics_shown(sim, index);
        return sim_has_metrics(profile);
    case SIM_MSR_CAPABILITIES:
        *out_value = profile->capabilities;
        return sim_has_capabilities(sim, index);
    case SIM_MSR_FIXED_CTRL:
        *out_value = cpu->fixed_ctrl;
        return sim_has_global(sim, index);
    case SIM_MSR_STATUS:
        *out_value = cpu->status;
        return sim_has_global(sim, index);
    case SIM_MSR_GLOBAL_CTRL:
        *out_value = cpu->global_ctrl;
        return sim_has_global(sim, index);
    case SIM_MSR_STATUS_RESET:
        *out_value = 0;
        return sim_has_global(sim, index) && sim_on(sim, UPMU_SIM_RULE_ACK_READS_ZERO);
    case SIM_MSR_STATUS_SET:
        *out_value = 0;
        return sim_has_v4(sim, index) && sim_on(sim, UPMU_SIM_RULE_ACK_READS_ZERO);
    case SIM_MSR_INUSE:
        *out_value = sim_inuse(sim, index);
        return sim_has_v4(sim, index);
    default:
        return sim_read_pebs(sim, index, msr, out_value);
    }
}

bool upmu_sim_intel_has_control(const struct upmu_sim *sim, unsigned index, uint32_t msr)
{
    uint64_t ignored;

    if (msr == SIM_MSR_STATUS_RESET)
        return sim_has_global(sim, index);
    if (msr == SIM_MSR_STATUS_SET)
        return sim_has_v4(sim, index);
    return sim_read_control(sim, index, msr, &ignored);
}

bool upmu_sim_intel_feature_faults(const struct upmu_sim_profile *profile, uint32_t msr)
{
    return profile->flags & UPMU_SIM_FEATURES_FAULT &&
           (msr == SIM_MSR_CAPABILITIES || upmu_sim_intel_payload_at(profile, msr) < UPMU_SIM_PAYLOADS);
}

/*
 * Is an access to a register that does not exist ignored? False: #GP. If rule MISSING_COUNTER is off, accesses to PMC0
 * and PMC1 are ignored, as Linux KVM does it.
 */
bool upmu_sim_intel_missing(const struct upmu_sim *sim, uint32_t msr)
{
    if (msr - SIM_MSR_COUNTER < 2u && !sim_on(sim, UPMU_SIM_RULE_MISSING_COUNTER))
        return true;
    return !sim_on(sim, UPMU_SIM_RULE_MISSING_FAULTS);
}

bool upmu_sim_intel_read(struct upmu_sim *sim, unsigned index, uint32_t msr, uint64_t *out_value)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);
    unsigned counter = upmu_sim_intel_counter_at(sim, index, msr);
    unsigned payload = upmu_sim_intel_payload_at(profile, msr);
    unsigned select = upmu_sim_intel_select_at(sim, index, msr);
    uint64_t writable;
    const uint64_t *reload = upmu_sim_intel_reload_at(sim, index, msr, &writable);

    *out_value = 0;
    if (profile->flags & UPMU_SIM_IGNORES_WRITES) {
        *out_value = msr == SIM_MSR_MISC_ENABLE ? 0x40001u : 0;
        return true;
    }
    if (upmu_sim_intel_feature_faults(profile, msr))
        return false;
    if (counter < UPMU_SIM_COUNTERS) {
        *out_value = sim->cpu[index].counter[counter].value;
        return true;
    }
    if (select < UPMU_SIM_GENERAL) {
        *out_value = sim->cpu[index].select[select];
        return true;
    }
    if (reload != NULL) {
        *out_value = *reload;
        return true;
    }
    if (payload < UPMU_SIM_PAYLOADS) {
        *out_value = sim->cpu[upmu_sim_intel_payload_home(sim, index, payload)].payload[payload];
        return true;
    }
    if (sim_read_control(sim, index, msr, out_value) || upmu_sim_branches_read(sim, index, msr, out_value))
        return true;
    *out_value = 0;
    return upmu_sim_intel_missing(sim, msr);
}

/* ---- RDPMC ---- */

static bool sim_read_metrics(struct upmu_sim *sim, unsigned index, uint64_t *out_value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];

    *out_value = sim_metrics_shown(sim, index);
    if (cpu->fixed_ctrl & SIM_BIT(14) && sim_is(sim, index)->capabilities & SIM_CAP_METRICS_CLEAR &&
        sim_on(sim, UPMU_SIM_RULE_METRICS_CLEAR)) {
        cpu->metrics = 0;
        for (unsigned i = 0; i < UPMU_SIM_METRICS; i++)
            cpu->metric_sum[i] = 0;
        cpu->metric_slots = 0;
        cpu->counter[UPMU_SIM_FIXED + 3].value = 0;
    }
    return true;
}

/* Erratum 26 of the Pentium Pro: user mode reads wrong values (Linux p6.c p6_pmu_rdpmc_quirk). */
static bool sim_is_wrong_for_users(const struct upmu_sim *sim, unsigned index)
{
    uint32_t signature = sim_is(sim, index)->signature;

    return signature >> 4 == 0x61 && (signature & 0xfu) < 9 && sim->cpu[index].user &&
           sim_on(sim, UPMU_SIM_RULE_RDPMC_P6_USER);
}

/*
 * Execute RDPMC on a P6: `which` is the counter, without a type; with bit 31 only the low 32 bits are read. Returns
 * false, #GP, if the counter does not exist.
 */
static bool sim_rdpmc_p6(const struct upmu_sim *sim, unsigned index, uint32_t which, uint64_t *out_value)
{
    bool fast = which >> 31 && sim_on(sim, UPMU_SIM_RULE_RDPMC_FAST);
    unsigned counter = which & 0x7fffffffu;

    if (counter >= sim_is(sim, index)->general)
        return false;
    *out_value = sim->cpu[index].counter[counter].value & (fast ? 0xffffffffu : UINT64_MAX);
    if (sim_is_wrong_for_users(sim, index))
        *out_value ^= 0x5a5a;
    return true;
}

/*
 * Does RDPMC of a counter meet #GP because it is executed outside ring 0 and the counter's control hides the counter
 * (bit 37 of a select, bit 33 + 4i of FIXED_CTR_CTRL)? Leaf 23H EBX[2] tells that these bits exist.
 */
static bool sim_hidden(const struct upmu_sim *sim, unsigned index, unsigned counter)
{
    const struct upmu_sim_cpu *cpu = &sim->cpu[index];

    if (!cpu->user || !sim_on(sim, UPMU_SIM_RULE_RDPMC_HIDDEN))
        return false;
    if (sim_is_fixed(counter))
        return cpu->fixed_ctrl >> (33u + 4u * (counter - UPMU_SIM_FIXED)) & 1u;
    return cpu->select[counter] & SIM_SELECT_HIDDEN;
}

bool upmu_sim_intel_rdpmc(struct upmu_sim *sim, unsigned index, uint32_t which, uint64_t *out_value)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);
    const struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint32_t type = which >> 16;
    unsigned counter = which & 0xffffu;

    *out_value = 0;
    if (profile->version == 0 && !(profile->flags & UPMU_SIM_P6))
        return false;
    if (profile->flags & UPMU_SIM_IGNORES_WRITES)
        return true;
    if (profile->flags & UPMU_SIM_P6)
        return sim_rdpmc_p6(sim, index, which, out_value);
    if (type == 0x8000 && !sim_on(sim, UPMU_SIM_RULE_RDPMC_BIT31))
        type = 0x4000;
    if (type == 0x2000 && sim_has_metrics(profile) && counter == 0)
        return sim_read_metrics(sim, index, out_value);
    if (type != 0 && type != 0x4000 && sim_on(sim, UPMU_SIM_RULE_RDPMC_TYPE))
        return false;
    if (counter >= (type == 0x4000 ? UPMU_SIM_COUNTERS - UPMU_SIM_FIXED : UPMU_SIM_GENERAL))
        return !sim_on(sim, UPMU_SIM_RULE_RDPMC_RANGE);
    counter += type == 0x4000 ? UPMU_SIM_FIXED : 0;
    if (!sim_has_counter(profile, counter))
        return !sim_on(sim, UPMU_SIM_RULE_RDPMC_RANGE);
    if (sim_hidden(sim, index, counter))
        return false;
    *out_value = cpu->counter[counter].value;
    return true;
}

/* ---- Peek and poke: accesses without rules, checks and effects, for tests ---- */

/* Return where the value of an MSR is kept; NULL: no such register, or its value is computed (INUSE, for example). */
static uint64_t *sim_place_of(struct upmu_sim *sim, unsigned index, uint32_t msr)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    unsigned payload = upmu_sim_intel_payload_at(sim_is(sim, index), msr);

    uint64_t writable;

    if (msr - SIM_MSR_COUNTER < UPMU_SIM_GENERAL)
        return &cpu->counter[msr - SIM_MSR_COUNTER].value;
    if (msr - SIM_MSR_FULL_COUNTER < UPMU_SIM_GENERAL)
        return &cpu->counter[msr - SIM_MSR_FULL_COUNTER].value;
    if (msr - SIM_MSR_FIXED_COUNTER < UPMU_SIM_COUNTERS - UPMU_SIM_FIXED)
        return &cpu->counter[UPMU_SIM_FIXED + msr - SIM_MSR_FIXED_COUNTER].value;
    if (msr - SIM_MSR_SELECT < UPMU_SIM_GENERAL)
        return &cpu->select[msr - SIM_MSR_SELECT];
    if (sim_block_counter(msr) < UPMU_SIM_COUNTERS && (msr & 3u) == 0)
        return &cpu->counter[sim_block_counter(msr)].value;
    if (sim_block_counter(msr) < UPMU_SIM_GENERAL && (msr & 3u) == 1)
        return &cpu->select[sim_block_counter(msr)];
    if (sim_block_counter(msr) < UPMU_SIM_COUNTERS)
        return upmu_sim_intel_reload_at(sim, index, msr, &writable);
    if (payload < UPMU_SIM_PAYLOADS)
        return &sim->cpu[upmu_sim_intel_payload_home(sim, index, payload)].payload[payload];
    switch (msr) {
    case SIM_MSR_MISC_ENABLE:
        return &cpu->misc_enable;
    case SIM_MSR_DEBUGCTL:
        return &cpu->debugctl;
    case SIM_MSR_METRICS:
        return &cpu->metrics;
    case SIM_MSR_FIXED_CTRL:
        return &cpu->fixed_ctrl;
    case SIM_MSR_STATUS:
        return &cpu->status;
    case SIM_MSR_GLOBAL_CTRL:
        return &cpu->global_ctrl;
    case SIM_MSR_PEBS_ENABLE:
        return &cpu->pebs_enable;
    case SIM_MSR_PEBS_DATA_CFG:
        return &cpu->pebs_data_cfg;
    case SIM_MSR_PEBS_BASE:
    case SIM_MSR_PEBS_INDEX:
        return &cpu->pebs_base[msr - SIM_MSR_PEBS_BASE];
    case SIM_MSR_FORCE_ABORT:
        return &cpu->force_abort;
    case SIM_MSR_DS_AREA:
        return &cpu->ds_area;
    default:
        return upmu_sim_branches_place(sim, index, msr);
    }
}

void upmu_sim_intel_poke(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t value)
{
    uint64_t *place = sim_place_of(sim, cpu, msr);

    if (place != NULL)
        *place = value;
}

uint64_t upmu_sim_intel_peek(struct upmu_sim *sim, unsigned cpu, uint32_t msr)
{
    const uint64_t *place = sim_place_of(sim, cpu, msr);

    if (place != NULL)
        return *place;
    if (msr == SIM_MSR_INUSE)
        return sim_inuse(sim, cpu);
    return msr == SIM_MSR_CAPABILITIES ? sim_is(sim, cpu)->capabilities : 0;
}
