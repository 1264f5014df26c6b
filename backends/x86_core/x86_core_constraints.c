/* SPDX-License-Identifier: MIT */
/*
 * Evaluates the table of x86_core_rules.h: the counters that an event of an Intel core PMU may use,
 * and its payload register.
 */
#include "backends/x86_core/x86_core.h"
#include "backends/x86_core/x86_core_registers.h"
#include "core/bits.h"
#include "core/mem.h"

#if UPMU_BACKEND_X86_CORE

#include "backends/x86_core/x86_core_rules.h"

#define CONSTRAINTS (sizeof constraints / sizeof constraints[0])

#define ALL_FIXED 0xffff0000u

/* The bytes of PERF_METRICS, as counters. */
#define ALL_METRICS 0xff000000u

/* Select bits that modify an event; with `any`, for precise events. */
#define MODIFIERS                                                                                                      \
    (UPMU_X86_SELECT_EDGE | UPMU_X86_SELECT_INV | UPMU_X86_SELECT_CMASK | UPMU_X86_SELECT_IN_TX |                      \
     UPMU_X86_SELECT_IN_TXCP | UPMU_X86_SELECT_EQ | UPMU_X86_SELECT_UMASK2)
#define MODIFIERS_PRECISE (MODIFIERS | UPMU_X86_SELECT_ANY)
#define COUNT_CYCLES(least) (UPMU_X86_SELECT_INV | UINT64_C(least) << 24)

/* By kind and WITH_… of a row: the modifiers that it compares, and their required values. */
#define NO_MODIFIERS(kind, bits)                                                                                       \
    [RULE_##kind | WITH_NOTHING] = {bits, 0}, [RULE_##kind | WITH_INV16] = {bits, COUNT_CYCLES(16)},                   \
               [RULE_##kind | WITH_INV10] = {bits, COUNT_CYCLES(10)}
static const struct {
    uint64_t bits, value;
} modifiers[16] = {NO_MODIFIERS(PLAIN, MODIFIERS), NO_MODIFIERS(PEBS, MODIFIERS_PRECISE), NO_MODIFIERS(FILE, MODIFIERS),
                   NO_MODIFIERS(EXTRA, MODIFIERS)};

/* On these models every event without a row can be sampled precisely. */
#define PRECISE_BY_DEFAULT                                                                                             \
    (ON(ICL) | ON(GLC) | ON(RWC) | ON(LNC) | ON(CGC) | ON(PTC) | ON(CYC) | ON(GRT) | ON(CMT) | ON(SKT) | ON(DKT) |     \
     ON(AWF))

/* Does the row match the select word? */
static bool is_meant(uint64_t config, const struct constraint *row)
{
    unsigned code = (unsigned)config, umask = row->how & UMASK_IS ? 0xffu : row->umask;

    return (uint8_t)(code - row->event_low) <= row->event_span && !(((code >> 8) ^ row->umask) & umask) &&
           (config & modifiers[row->how & 0xfu].bits) == modifiers[row->how & 0xfu].value;
}

/* The first row of a kind that applies; NULL: none. */
static const struct constraint *find_rule(const struct upmu_pmu *pmu, uint64_t config, unsigned kind)
{
    uint32_t models = upmu_x86_core_rules(pmu);

    for (const struct constraint *row = constraints; row < constraints + CONSTRAINTS; row++)
        if ((row->how & 3u) == kind && (model_sets[row->models] & models) && is_meant(config, row))
            return row;
    return NULL;
}

static uint32_t counters_of(const struct constraint *row)
{
    return general_masks[row->counters & 0xfu] | (UINT32_C(0x8000) << (row->counters >> 4) & ALL_FIXED);
}

unsigned upmu_x86_core_payload(const struct upmu_pmu *pmu, uint64_t config, uint64_t *out_bits)
{
    const struct constraint *row = find_rule(pmu, config, RULE_EXTRA);

    *out_bits = row ? payload_bits[row->counters] : 0;
    return row ? payload_resources[row->counters] : UPMU_NO_RESOURCE;
}

void upmu_x86_core_add_payloads(struct upmu_pmu *pmu)
{
    for (const struct constraint *row = constraints; row < constraints + CONSTRAINTS; row++)
        if ((row->how & 3u) == RULE_EXTRA && (model_sets[row->models] & upmu_x86_core_rules(pmu))) {
            unsigned register_row = UPMU_X86_ROW_OFFCORE + payload_resources[row->counters];

            upmu_rows_set(pmu->present, register_row);
            pmu->limit[pmu->table->rows[register_row].class_index] |= payload_bits[row->counters];
        }
}

/* Pseudo codes 80h to 87h of event 00h are the bytes of PERF_METRICS. */
static uint32_t metric_of(uint64_t config)
{
    return (config & 0xf8ffu) == 0x8000 && !(config & MODIFIERS) ? UPMU_BIT32(UPMU_X86_METRIC(config >> 8 & 7u)) : 0;
}

uint32_t upmu_x86_core_counters(const struct upmu_pmu *pmu, const struct upmu_event *event)
{
    const struct constraint *row = NULL;
    uint32_t counters = pmu->counters;

    if (event->attributes & UPMU_ATTR_PRECISE) {
        row = find_rule(pmu, event->config, RULE_PEBS);
        if (!row && !(upmu_x86_core_rules(pmu) & PRECISE_BY_DEFAULT))
            return 0;
    }
    if (!row)
        row = find_rule(pmu, event->config, RULE_PLAIN);
    if (row)
        counters &= counters_of(row) & ~ALL_METRICS;
    else /* event 00h counts on fixed counters and in metrics only */
        counters &= event->config & UPMU_X86_SELECT_EVENT ? pmu->general : metric_of(event->config);
    /* If the event file and the row have no common counter, the row is used (Skylake's C0h/01h). */
    if (event->counters && (counters & (event->counters | ALL_FIXED)))
        counters &= event->counters | ALL_FIXED;
    row = find_rule(pmu, event->config, RULE_FILE);
    if (row)
        counters &= counters_of(row) | ALL_FIXED;
    /* Checkpointed counting: on counter 2, and not for both threads. */
    if (event->config & UPMU_X86_SELECT_IN_TXCP)
        counters &= event->config & UPMU_X86_SELECT_ANY ? 0 : UPMU_BIT32(2);
    return counters;
}

#undef ON
#undef RULE

#endif
