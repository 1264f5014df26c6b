/* SPDX-License-Identifier: MIT */
/*
 * The Intel core backend: register values of placed events, counters of a status word, take-over, events that count
 * other cores, too, and the table of the backend's functions.
 */
#include "backends/x86_core/x86_core.h"
#include "backends/x86_core/x86_core_registers.h"
#include "core/util/apart.h"
#include "core/util/bits.h"

#if UPMU_BACKEND_X86_CORE

static uint32_t overflowed_counters(const struct upmu_pmu *pmu, uint64_t status)
{
    return pmu->counters & (uint32_t)((status & 0xffffu) | (status >> 32 & 0xffu) << 16);
}

static uint64_t acknowledge_counters(const struct upmu_pmu *pmu, uint32_t counters)
{
    (void)pmu;
    return upmu_x86_core_bits(counters);
}

/*
 * AAK100, AAP53, BD53: on Nehalem and Westmere a counter that gets a new event counts wrong. The workaround is Intel's
 * sequence of three special events, and a fourth that Linux found to be needed (arch/x86/events/intel/core.c,
 * intel_pmu_nhm_workaround). After the sequence all selects are idle, and the bank writes the selects in use again.
 */
static const struct upmu_prelude_step nehalem_steps[] = {
    {UPMU_X86_ROW_SELECT + 0, 0x4300B5}, {UPMU_X86_ROW_SELECT + 1, 0x4300D2}, {UPMU_X86_ROW_SELECT + 2, 0x4300B1},
    {UPMU_X86_ROW_SELECT + 3, 0x4300B1}, {UPMU_X86_ROW_PMC + 0, 0},           {UPMU_X86_ROW_PMC + 1, 0},
    {UPMU_X86_ROW_PMC + 2, 0},           {UPMU_X86_ROW_PMC + 3, 0},           {UPMU_X86_ROW_GLOBAL_CTRL, 0xF},
    {UPMU_X86_ROW_GLOBAL_CTRL, 0},       {UPMU_X86_ROW_SELECT + 0, 0},        {UPMU_X86_ROW_SELECT + 1, 0},
    {UPMU_X86_ROW_SELECT + 2, 0},        {UPMU_X86_ROW_SELECT + 3, 0},
};
static const struct upmu_prelude nehalem_prelude = {
    nehalem_steps, sizeof nehalem_steps / sizeof nehalem_steps[0], 0xF
};

/*
 * Add a counter's control to an image: the select register of a general counter; of a fixed counter its four bits (a
 * nibble) in IA32_FIXED_CTR_CTRL.
 */
static void add_control(struct upmu_image *image, unsigned counter, uint64_t value)
{
    unsigned row = UPMU_X86_ROW_SELECT + counter, shift = 0;
    uint64_t mask = ~UINT64_C(0);

    if (counter >= UPMU_FIXED_COUNTER(0)) {
        row = UPMU_X86_ROW_FIXED_CTRL;
        shift = 4u * (counter - UPMU_FIXED_COUNTER(0));
        mask = 0xf;
    }
    upmu_image_add(image, row, mask << shift, value << shift, UPMU_BIT32(counter));
}

/* Return the nibble in IA32_FIXED_CTR_CTRL that has OS, USR, ANY and interrupt as a select word has them. */
static uint64_t fixed_nibble(uint64_t select)
{
    unsigned bits = (unsigned)select >> 16; /* USR is now bit 0, OS 1, interrupt 4, ANY 5 */

    return (bits >> 1 & UPMU_X86_FIXED_OS) | (bits << 1 & UPMU_X86_FIXED_USR) | (bits >> 3 & UPMU_X86_FIXED_ANY) |
           (bits >> 1 & UPMU_X86_FIXED_PMI);
}

/*
 * Add the control of an event. A metric has no control: its gate is a bit of GLOBAL_CTRL, and another slot of the
 * request has the counter of slots.
 */
static UPMU_APART void add_event(struct upmu_image *image, unsigned counter, uint64_t select)
{
    if (counter < UPMU_X86_METRIC(0))
        add_control(image, counter, counter < UPMU_FIXED_COUNTER(0) ? select : fixed_nibble(select));
}

/* Does one enable bit, that of select 0, let both counters count, as on P6 and Core Duo? */
static bool has_one_enable(const struct upmu_pmu *pmu)
{
    return pmu->table == &upmu_x86_core_p6_table;
}

/*
 * On a PMU with adaptive records, let a counter store records with the groups of MSR_PEBS_DATA_CFG (`parts`), or with
 * the basic group alone: bit 34 of a select, bit 32 + 4n of IA32_FIXED_CTR_CTRL (Linux arch/x86/events/intel/core.c
 * intel_pmu_enable_fixed). The bit stays where a counter is given up: without PEBS the bit has no effect.
 */
static inline void add_adaptive(const struct upmu_pmu *pmu, unsigned counter, bool parts, struct upmu_image *image,
                                uint64_t *select)
{
#if UPMU_PRECISE
    uint64_t bit;

    if (!(pmu->record_capabilities & UPMU_RECORDS_ADAPTIVE))
        return;
    if (counter < UPMU_FIXED_COUNTER(0)) {
        *select |= parts ? UPMU_X86_SELECT_ADAPTIVE : 0;
    } else {
        bit = UPMU_BIT64(32u + 4u * (counter - UPMU_FIXED_COUNTER(0)));
        upmu_image_add(image, UPMU_X86_ROW_FIXED_CTRL, bit, parts ? bit : 0, UPMU_BIT32(counter));
    }
#else
    (void)pmu, (void)counter, (void)parts, (void)image, (void)select;
#endif
}

static void render_event(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned alternative,
                         const uint8_t *counters, unsigned flags, struct upmu_image *image)
{
    unsigned counter = counters[0];
    uint64_t select = upmu_x86_core_select(event, alternative) | UPMU_X86_SELECT_EN;

    if (flags & UPMU_RENDER_INTERRUPT)
        select |= UPMU_X86_SELECT_INT;
    if (UPMU_PRECISE && (flags & UPMU_RENDER_RECORDS))
        add_adaptive(pmu, counter, flags & UPMU_RENDER_PARTS, image, &select);
    add_event(image, counter, select);
    if (has_one_enable(pmu) && counter) /* select 0 has the enable bit of both, and may lack it */
        upmu_image_add(image, UPMU_X86_ROW_SELECT, UPMU_X86_SELECT_EN, UPMU_X86_SELECT_EN, UPMU_BIT32(counter));
    if (event->payload && counter < UPMU_FIXED_COUNTER(0))
        upmu_image_add(image, upmu_x86_core_resource_row(pmu, upmu_x86_core_resource(event, alternative)),
                       ~UINT64_C(0), event->config1, UPMU_BIT32(counter));
    if (UPMU_SLOTS > 1 && counters[1] != UPMU_NO_COUNTER)
        add_event(image, counters[1],
                  (select & ~(UPMU_X86_CODE | UPMU_X86_SELECT_INT)) | UPMU_X86_LDLAT_AUX);
    if ((pmu->quirks & UPMU_X86_QUIRK_PRELUDE) && counter < UPMU_FIXED_COUNTER(0))
        image->prelude = true;
}

/* Let released counters count nothing: write the idle select of general counters and nibble 0 of fixed ones. */
static void idle_counters(const struct upmu_pmu *pmu, uint32_t counters, struct upmu_image *image)
{
    for (; counters; counters &= counters - 1u)
        if (upmu_bits_lowest(counters) < UPMU_X86_METRIC(0))
            add_control(image, upmu_bits_lowest(counters), pmu->table->classes[UPMU_X86_CLASS_SELECT].idle_value);
}

/*
 * Return the counters that former software left writing records (PEBS) or being reloaded; if `image` is not NULL, add
 * writes that end this.
 *
 * IA32_PEBS_ENABLE: bit n is general counter n. Bit 32 + n is taken for fixed counter n since version 5; before, it is
 * general counter n with records of loads, and bit 63 is counter 3 with those of stores (SDM 18.4.4, 18.8.1, 18.9.4).
 * IA32_PMC_GPn_CFG_B, _FXn_CFG_B: the counters whose overflow loads this counter anew, without a status flag. CFG_C
 * bit 63: the counter writes records (Linux arch/x86/events/intel/core.c intel_pmu_config_acr, ds.c).
 * IA32_DEBUGCTL: TR and BTS store each branch to memory (SDM 17.4.1); no counter is concerned.
 */
static uint32_t find_records(const struct upmu_pmu *pmu, const uint64_t *found, struct upmu_image *image)
{
    uint64_t enabled = upmu_rows_has(pmu->present, UPMU_X86_ROW_PEBS) ? found[UPMU_X86_ROW_PEBS] : 0;
    uint32_t low = (uint32_t)enabled, high = (uint32_t)(enabled >> 32), configured = 0;

    if (enabled && image)
        upmu_image_add(image, UPMU_X86_ROW_PEBS, ~UINT64_C(0), 0, 0);
    if (image && (pmu->capabilities & UPMU_PMU_DEBUGCTL) && (found[UPMU_X86_ROW_DEBUGCTL] & UPMU_X86_DEBUGCTL_TRACE))
        upmu_image_add(image, UPMU_X86_ROW_DEBUGCTL, UPMU_X86_DEBUGCTL_TRACE, 0, 0);
    for (unsigned row = UPMU_X86_ROW_CFG_B; row < UPMU_X86_ROWS; row++) {
        unsigned n = (row - UPMU_X86_ROW_CFG_B) % (UPMU_X86_ROW_CFG_C - UPMU_X86_ROW_CFG_B);
        uint64_t bits = row < UPMU_X86_ROW_CFG_C ? ~UINT64_C(0) : UINT64_C(1) << 63;

        if (!upmu_rows_has(pmu->present, row) || !(found[row] & bits))
            continue;
        configured |= UPMU_BIT32(n < UPMU_X86_GENERAL ? n : UPMU_FIXED_COUNTER(n - UPMU_X86_GENERAL));
        if (image)
            upmu_image_add(image, row, bits, 0, 0);
    }
    low &= pmu->general;
    return configured | (pmu->version >= 5 ? low | (high << UPMU_FIXED_COUNTER(0) & pmu->counters)
                                           : low | ((high | high >> 31 << 3) & pmu->general));
}

#if UPMU_PRECISE

/*
 * Return the value that a counter gets when it has stored a record. In general its overflow only arms the counter, and
 * the record is that of the next event: 1, because this event has been counted (SDM 18.4.4). 0: a counter without a
 * shadow. General counter 1 has none from Sandy Bridge to Skylake with INST_RETIRED.PREC_DIST.
 */
static uint64_t value_after_record(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned counter)
{
    uint64_t with_shadow = UINT64_C(1) << UPMU_X86_RULES_NHM | UINT64_C(1) << UPMU_X86_RULES_WSM;

    if (upmu_x86_core_shadowless(pmu) >> counter & 1u)
        return 0;
    if (counter != 1 || (pmu->record_capabilities & UPMU_RECORDS_ADAPTIVE))
        return 1;
    return (event->config & UPMU_X86_CODE) != 0x01c0 || (upmu_x86_core_rules(pmu) & with_shadow);
}

/*
 * IA32_PEBS_ENABLE: bit n is general counter n. With adaptive records bit 32 + n is fixed counter n; without, the
 * facility that measures loads for general counter n, which load latency needs. Bit 63 is the one that finds the data
 * of stores for counter 3 on Sandy Bridge and Ivy Bridge (Linux arch/x86/events/intel/ds.c intel_pmu_pebs_enable).
 */
static uint64_t record_bits(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned counter)
{
    const uint64_t with_stores = UINT64_C(1) << UPMU_X86_RULES_SNB | UINT64_C(1) << UPMU_X86_RULES_SNX |
                                 UINT64_C(1) << UPMU_X86_RULES_IVB | UINT64_C(1) << UPMU_X86_RULES_IVX;
    uint64_t bits = UPMU_BIT64(pmu->counter[counter].gate_bit), stores = 0;

    if (pmu->record_capabilities & UPMU_RECORDS_ADAPTIVE)
        return bits;
    if (counter == 3 && (upmu_x86_core_rules(pmu) & with_stores))
        stores = UPMU_BIT64(63);
    if (!event)
        return bits | bits << 32 | stores;
    if (event->payload == UPMU_X86_PAYLOAD_LDLAT)
        return bits | bits << 32;
    return bits | ((event->config & UPMU_X86_CODE) == 0x02cd ? stores : 0);
}

#endif

/*
 * Return the bits of a counter in a register that several counters share, IA32_FIXED_CTR_CTRL or IA32_PEBS_ENABLE (see
 * find_records()). The control of fixed counters has four bits for each and, since adaptive records, four more 32 bits
 * higher. The bits of the slots counter belong to metrics, too: software that counts slots may read metrics, and a
 * write would end its measurement.
 */
static uint64_t bits_of(const struct upmu_pmu *pmu, unsigned row, unsigned counter)
{
    unsigned gate_bit = pmu->counter[counter].gate_bit;
    uint64_t bits = UPMU_BIT64(gate_bit);

    if (row == UPMU_X86_ROW_FIXED_CTRL) {
        unsigned fixed = counter < UPMU_X86_METRIC(0) ? counter : UPMU_X86_SLOTS;

        return fixed < UPMU_FIXED_COUNTER(0) ? 0 : UINT64_C(0xf0000000f) << 4u * (fixed - UPMU_FIXED_COUNTER(0));
    }
    if (pmu->version < 5)
        bits |= UPMU_BIT64(gate_bit | 32u) | (gate_bit == 3 ? UPMU_BIT64(63) : 0);
    return bits;
}

/*
 * Add the writes of take-over. The freeze bits of DEBUGCTL are cleared: an interrupt that freezes counters would stop
 * those of other sessions, too. On a PMU where select 0 enables both counters (UPMU_X86_P6_GATE) its enable bit is set,
 * whether counter 0 is used or not.
 */
static void rest_at_take_over(const struct upmu_pmu *pmu, struct upmu_image *image)
{
    if (pmu->capabilities & UPMU_PMU_DEBUGCTL)
        upmu_image_add(image, UPMU_X86_ROW_DEBUGCTL, UPMU_X86_DEBUGCTL_FREEZE, 0, 0);
    /* Version 4 and later: release counters and branch records that were frozen before take-over (SDM 18.2.4.1). */
    if (pmu->capabilities & UPMU_PMU_INUSE)
        upmu_image_add(image, UPMU_X86_ROW_ACK, UPMU_X86_STATUS_FROZEN, UPMU_X86_STATUS_FROZEN, 0);
    if (has_one_enable(pmu))
        upmu_image_add(image, UPMU_X86_ROW_SELECT, UPMU_X86_SELECT_EN, UPMU_X86_SELECT_EN, 0);
}

static const char *counter_prefix(const struct upmu_pmu *pmu, unsigned counter, unsigned *out_index)
{
    static const char prefixes[][8] = {"PMC", "PMC", "FIXED", "METRIC"};

    (void)pmu;
    *out_index = counter < UPMU_FIXED_COUNTER(0) ? counter : counter & 7u;
    return prefixes[counter >> 3 & 3u];
}

/*
 * Events that also count what other cores or agents do. In their unit masks bits 7:6 are 01b for this core, 11b for all
 * cores; bit 5 is 0 for this agent of the bus, 1 for all agents. Codes 20H to 3FH are events of the second-level cache,
 * which cores share, and have bits 7:6; codes 60H to 7FH are those of the bus, and have bits 7:6 and bit 5. P6, which
 * has one core, has bit 5 of the bus events alone. Source: the masks BOTH_CORES, ALL_AGENTS and ANY in events/core.tsv,
 * coreduo.tsv, atom.tsv, p6.tsv, pm.tsv.
 */
#define ALL_CORES UINT64_C(0x8000)
#define ALL_AGENTS UINT64_C(0x2000)
#define SELECTS UPMU_X86_ROW_SELECT, UPMU_X86_GENERAL

static const struct upmu_beyond *beyond_events(const struct upmu_pmu *pmu)
{
    static const struct upmu_beyond shared[] = {{SELECTS, ALL_CORES | 0xa0u, ALL_CORES | 0x20u},
                                                {SELECTS, ALL_AGENTS | 0xe0u, ALL_AGENTS | 0x60u},
                                                {0}};
    const uint64_t with_cores = UINT64_C(1) << UPMU_X86_RULES_YON | UINT64_C(1) << UPMU_X86_RULES_COR |
                                UINT64_C(1) << UPMU_X86_RULES_BNL;

    if (upmu_x86_core_rules(pmu) & with_cores)
        return shared;
    return upmu_x86_core_rules(pmu) & UINT64_C(1) << UPMU_X86_RULES_P6 ? &shared[1] : NULL;
}

const struct upmu_backend upmu_x86_core_backend = {
    .name = "x86_core",
    .detect = upmu_x86_core_detect,
#if UPMU_NAMES
    .describe = upmu_x86_core_describe,
    .names = upmu_x86_core_names,
    .attribute = upmu_x86_core_attribute,
    .from_row = upmu_x86_core_from_row,
    .qualifier = upmu_x86_core_qualifier,
    .prefixes = "pmc_ev_iaf_\0",
    .format = upmu_x86_core_format,
#endif
    .finish = upmu_x86_core_finish,
    .alternative = upmu_x86_core_alternative,
    .render = render_event,
    .prelude = &nehalem_prelude,
    .release = idle_counters,
    .overflowed = overflowed_counters,
    .acknowledge = acknowledge_counters,
    .bits_of = bits_of,
    .records = find_records,
#if UPMU_PRECISE
    .value_after_record = value_after_record,
    .record_bits = record_bits,
#endif
    .take_over = rest_at_take_over,
    .resource_name = upmu_x86_core_resource_name,
    .counter_prefix = counter_prefix,
    .resource_row = upmu_x86_core_resource_row,
    .beyond = beyond_events,
};

#endif
