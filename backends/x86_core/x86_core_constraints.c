/* SPDX-License-Identifier: MIT */
/*
 * Evaluate the tables of x86_core_rules.h: which counters an event of an Intel core PMU may use, which payload register
 * it needs, and which events can be sampled precisely.
 */
#include "backends/x86_core/x86_core.h"
#include "backends/x86_core/x86_core_registers.h"
#include "core/util/bits.h"
#include "core/util/mem.h"

#if UPMU_BACKEND_X86_CORE

#include "backends/x86_core/x86_core_rules.h"

#define COUNT(rules) (sizeof(rules) / sizeof(rules)[0])

#define ALL_FIXED 0xffff0000u

/* Mask of counters 24 to 31: each is a byte of PERF_METRICS (UPMU_X86_METRIC). */
#define ALL_METRICS 0xff000000u

/* The modifiers of a select: bits that a row's WITH_… compares. Rows of RULE_PEBS compare ANY, too. */
#define MODIFIERS                                                                                                      \
    (UPMU_X86_SELECT_EDGE | UPMU_X86_SELECT_INV | UPMU_X86_SELECT_CMASK | UPMU_X86_SELECT_IN_TX |                      \
     UPMU_X86_SELECT_IN_TXCP | UPMU_X86_SELECT_EQ | UPMU_X86_SELECT_UMASK2)
#define MODIFIERS_PRECISE (MODIFIERS | UPMU_X86_SELECT_ANY)
#define COUNT_CYCLES(least) (UPMU_X86_SELECT_INV | UINT64_C(least) << 24)

/* Indexed by a row's kind and WITH_…: the modifiers that are compared (none: 0), and the value that they must have. */
#define NO_MODIFIERS(kind, bits)                                                                                       \
    [RULE_##kind | WITH_NOTHING] = {bits, 0}, [RULE_##kind | WITH_INV16] = {bits, COUNT_CYCLES(16)},                   \
               [RULE_##kind | WITH_INV10] = {bits, COUNT_CYCLES(10)}
static const struct {
    uint64_t bits, value;
} modifiers[16] = {NO_MODIFIERS(PLAIN, MODIFIERS), NO_MODIFIERS(PEBS, MODIFIERS_PRECISE), NO_MODIFIERS(FILE, MODIFIERS),
                   NO_MODIFIERS(EXTRA, MODIFIERS)};

/*
 * On these models every event without a row in pebs_rules can be sampled precisely, also an event that retires nothing.
 */
#define PRECISE_BY_DEFAULT                                                                                             \
    (ON(GLP) | ON(TNT) | ON(ICL) | ON(GLC) | ON(RWC) | ON(LNC) | ON(CGC) | ON(PTC) | ON(CYC) | ON(GRT) | ON(CMT) |     \
     ON(SKT) | ON(DKT) | ON(AWF))

/*
 * On these models a PEBS record has the address of the sampled instruction itself, as far as is known without the CPU:
 * PERF_CAPABILITIES says it of the CPU itself.
 */
#define ITSELF (ON(HSW) | ON(BDW) | ON(SKL) | ON(GLM) | PRECISE_BY_DEFAULT)

/*
 * On these models a named event has PEBS records only if it has a row in pebs_rules and Intel's event file marks it
 * (UPMU_ROW_PRECISE). On Core 2 the row is enough. Goldmont has records of any event without modifiers; Goldmont Plus,
 * Ice Lake and later models have records of any event; all other models have none.
 */
#define BY_FILE                                                                                                        \
    (ON(BNL) | ON(NHM) | ON(WSM) | ON(SNB) | ON(SNX) | ON(IVB) | ON(IVX) | ON(HSW) | ON(BDW) | ON(SKL) | ON(SLM) |     \
     ON(KNL))

/* Does a row whose event code matches a select word also match the unit mask and the modifiers? */
static bool is_meant(uint64_t config, const struct constraint *row)
{
    unsigned code = (unsigned)config, umask = row->how & UMASK_IS ? 0xffu : row->umask;

    return !(((code >> 8) ^ row->umask) & umask) &&
           (config & modifiers[row->how & 0xfu].bits) == modifiers[row->how & 0xfu].value;
}

/*
 * Return the first of `count` rows that applies to a select word on this PMU; NULL: no row applies. Most rows have
 * other codes, so codes are compared first.
 */
static const struct constraint *find_rule(const struct upmu_pmu *pmu, uint64_t config, const struct constraint *row,
                                          size_t count)
{
    uint64_t models = upmu_x86_core_rules(pmu);

    for (; count-- != 0; row++)
        if ((uint8_t)(config - row->event_low) <= row->event_span && (model_sets[row->models] & models) &&
            is_meant(config, row))
            return row;
    return NULL;
}

/*
 * Do as find_rule(), but by a binary search: the rows must be in the order of event_low, and a row must be for at most
 * RULE_SPAN codes beyond event_low.
 */
static const struct constraint *search_rule(const struct upmu_pmu *pmu, uint64_t config, const struct constraint *rows,
                                            size_t count)
{
    unsigned code = (uint8_t)config;
    size_t first = 0, end = count;

    while (first < end) {
        size_t middle = (first + end) / 2;

        if (rows[middle].event_low + RULE_SPAN < code)
            first = middle + 1;
        else
            end = middle;
    }
    while (end < count && rows[end].event_low <= code)
        end++;
    return find_rule(pmu, config, rows + first, end - first);
}

#define FIND_RULE(pmu, config, rules) find_rule(pmu, config, rules, COUNT(rules))
#define SEARCH_RULE(pmu, config, rules) search_rule(pmu, config, rules, COUNT(rules))

static uint32_t counters_of(const struct constraint *row)
{
    return general_masks[row->counters & 0xfu] | (UINT32_C(0x8000) << (row->counters >> 4) & ALL_FIXED);
}

unsigned upmu_x86_core_payload(const struct upmu_pmu *pmu, uint64_t config, uint64_t *out_bits)
{
    const struct constraint *row = SEARCH_RULE(pmu, config, extra_rules);

    *out_bits = row ? payload_bits[row->counters] : 0;
    return row ? payload_resources[row->counters] : UPMU_NO_RESOURCE;
}

void upmu_x86_core_add_payloads(struct upmu_pmu *pmu)
{
    for (const struct constraint *row = extra_rules; row < extra_rules + COUNT(extra_rules); row++)
        if (model_sets[row->models] & upmu_x86_core_rules(pmu)) {
            unsigned register_row = UPMU_X86_ROW_OFFCORE + payload_resources[row->counters];

            upmu_rows_set(pmu->present, register_row);
            pmu->limit[pmu->table->rows[register_row].class_index] |= payload_bits[row->counters];
        }
}

/*
 * Return a mask with the counter of the metric that a select word names: event 00h with unit mask 80h to 87h is byte 0
 * to 7 of PERF_METRICS. 0: the word names no metric, or has modifiers.
 */
static uint32_t metric_of(uint64_t config)
{
    return (config & 0xf8ffu) == 0x8000 && !(config & MODIFIERS) ? UPMU_BIT32(UPMU_X86_METRIC(config >> 8 & 7u)) : 0;
}

bool upmu_x86_core_needs_row(const struct upmu_pmu *pmu)
{
    return (upmu_x86_core_rules(pmu) & BY_FILE) != 0;
}

/*
 * Count cycles by a precise event with inv and counter mask 16: the cycles in which fewer than 16 instructions retire
 * are all cycles. Sandy Bridge to Broadwell count micro-operations instead, except at level 3 from Ivy Bridge on (Linux
 * arch/x86/events/intel/core.c intel_pebs_aliases_...).
 */
bool upmu_x86_core_recipe(const struct upmu_pmu *pmu, struct upmu_event *event)
{
    uint64_t models = upmu_x86_core_rules(pmu);
    unsigned level = UPMU_PRECISE_LEVEL(event->attributes), code;

    if (!level || (event->config & (UPMU_X86_CODE | MODIFIERS_PRECISE)) != 0x3c)
        return false;
    if (level == 3 && (models & model_sets[ON_IVB_TO_SKL]))
        code = 0x01c0;
    else if (models & model_sets[ON_SNB_TO_BDW])
        code = 0x01c2;
    else if (models & (model_sets[ON_COR_TO_KNL] | model_sets[ON_NHM_WSM_SKL]))
        code = 0x00c0;
    else
        return false;
    event->config = (event->config & ~UPMU_X86_CODE) | code | COUNT_CYCLES(16);
    event->counters = 0;
    return true;
}

/*
 * Have records the address of the sampled instruction itself, as level 2 needs? They do from format 2 on. Without it
 * (level 1) the address is that of the next instruction.
 */
static bool has_exact_address(const struct upmu_pmu *pmu)
{
#if UPMU_PRECISE
    if (pmu->record_counters)
        return (pmu->record_capabilities >> 8 & 0xfu) >= 2;
#endif
    return (upmu_x86_core_rules(pmu) & ITSELF) != 0;
}

/*
 * Return the counters on which an event is possible at its level of precision; 0: none. Up to level 2 they are
 * `counters`. Level 3 needs a row of shadowless_rules, which limits `counters`. A row with a fixed counter gives the
 * counters alone, because on Golden Cove and Redwood Cove `counters` of precise instructions are general counters only.
 */
static uint32_t counters_at(const struct upmu_pmu *pmu, const struct upmu_event *event, uint32_t counters)
{
    unsigned level = UPMU_PRECISE_LEVEL(event->attributes);
    const struct constraint *row;

    if (level == 2 && !has_exact_address(pmu))
        return 0;
    if (level < 3)
        return counters;
    row = FIND_RULE(pmu, event->config, shadowless_rules);
    if (!row)
        return 0;
    return counters_of(row) & (counters_of(row) & ALL_FIXED ? pmu->counters : counters);
}

uint32_t upmu_x86_core_counters(const struct upmu_pmu *pmu, const struct upmu_event *event)
{
    const struct constraint *row = NULL;
    uint32_t counters = pmu->counters;

    if (event->attributes & UPMU_ATTR_PRECISE) {
        /* A counter that stores records counts neither edges nor both hyper-threads, on any model (SDM 18.4.4). */
        if (event->config & (UPMU_X86_SELECT_EDGE | UPMU_X86_SELECT_ANY))
            return 0;
        row = FIND_RULE(pmu, event->config, pebs_rules);
        if (!row && !(upmu_x86_core_rules(pmu) & PRECISE_BY_DEFAULT))
            return 0;
    }
    if (!row)
        row = SEARCH_RULE(pmu, event->config, plain_rules);
    if (!row)
        row = FIND_RULE(pmu, event->config, wide_rules);
    if (row)
        counters &= counters_of(row) & ~ALL_METRICS;
    else /* no general counter has event 00h: without a row it is a metric or nothing */
        counters &= event->config & UPMU_X86_SELECT_EVENT ? pmu->general : metric_of(event->config);
    /*
     * event->counters are those of the event file, which limit the general counters. If no counter would remain, they
     * are ignored (Skylake's C0h/01h).
     */
    if (event->counters && (counters & (event->counters | ALL_FIXED)))
        counters &= event->counters | ALL_FIXED;
    row = SEARCH_RULE(pmu, event->config, file_rules);
    if (row)
        counters &= counters_of(row) | ALL_FIXED;
    counters = counters_at(pmu, event, counters);
    /* Where there is AnyThread: bit 2 of the slots counter's nibble is METRICS_CLEAR_EN. */
    if ((event->config & UPMU_X86_SELECT_ANY) && (pmu->capabilities & UPMU_PMU_ANYTHREAD))
        counters &= ~UPMU_BIT32(UPMU_X86_SLOTS);
    /* Checkpointed counting (in_txcp) works on counter 2 alone, and not with `any` (both hyper-threads). */
    if (event->config & UPMU_X86_SELECT_IN_TXCP)
        counters &= event->config & UPMU_X86_SELECT_ANY ? 0 : UPMU_BIT32(2);
    return counters;
}

#if UPMU_PRECISE

/* P-cores and E-cores whose counters without a shadow need long periods, and the E-cores of them with two of these. */
#define GOLDEN_COVE_ON (ON(GLC) | ON(RWC) | ON(LNC) | ON(CGC) | ON(PTC) | ON(CYC))
#define CRESTMONT_ON (ON(CMT) | ON(SKT) | ON(DKT) | ON(AWF))
#define GRACEMONT_ON (ON(GRT) | CRESTMONT_ON)

/* From Redwood Cove on a P-core's fixed counter 0 has no latency of the retirement (rwc_get_event_constraints). */
#define REDWOOD_COVE_ON (GOLDEN_COVE_ON & ~ON(GLC))

/* A model that upmu does not know is as new as its format. */
uint32_t upmu_x86_core_shadowless(const struct upmu_pmu *pmu)
{
    const uint64_t first = ON(GLP) | ON(TNT) | GOLDEN_COVE_ON | GRACEMONT_ON;
    uint64_t model = upmu_x86_core_rules(pmu);
    uint32_t counters = UPMU_BIT32(UPMU_FIXED_COUNTER(0));

    if ((pmu->record_capabilities >> 8 & 0xfu) >= 5 || (model & first))
        counters |= UPMU_BIT32(0);
    return model & CRESTMONT_ON ? counters | UPMU_BIT32(1) : counters;
}

void upmu_x86_core_limit_records(struct upmu_pmu *pmu)
{
    uint64_t model = upmu_x86_core_rules(pmu);

    pmu->record_untimed = (model & REDWOOD_COVE_ON) != 0;
    if ((pmu->record_capabilities >> 8 & 0xfu) >= 5 || (model & (GOLDEN_COVE_ON | GRACEMONT_ON))) {
        pmu->record_long = upmu_x86_core_shadowless(pmu) & pmu->record_counters;
        pmu->record_least_log2 = 7;
    }
}

#endif

#undef ON
#undef RULE

#endif
