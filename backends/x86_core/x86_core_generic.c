/* SPDX-License-Identifier: MIT */
/*
 * Architectural events: which of them a CPU has, and which select word counts one where it is not the architectural
 * word.
 *
 * Sources: Intel SDM vol 3 (325384-059) 18.2.1.2, from bit 7 on and for generic names Linux
 * arch/x86/events/intel/core.c, for P6 events/intel/p6.c.
 */
#include "backends/x86_core/x86_core.h"
#include "backends/x86_core/x86_core_registers.h"
#include "core/util/apart.h"
#include "core/catalog/catalog.h"

#if UPMU_BACKEND_X86_CORE && UPMU_NAMES

#define IS(model) (UINT64_C(1) << UPMU_X86_RULES_##model)
#define EVERY UINT64_MAX
#define REFERENCE_TICKS_ALIKE                                                                                          \
    (IS(GLC) | IS(RWC) | IS(LNC) | IS(CGC) | IS(PTC) | IS(CYC) | IS(GRT) | IS(CMT) | IS(SKT) | IS(DKT) | IS(AWF))

#define TOPDOWN_EVENTS (IS(SKT) | IS(DKT) | IS(AWF))

/*
 * Translations: the models, the select word in the architectural catalogue, the select word on these models (0: they
 * have no such event). The first matching row is used. The whole select is compared: a word with bits above 31 is
 * another event.
 */
static const struct {
    uint64_t models;
    uint32_t from, to;
} translations[] = {
    {IS(P6), UPMU_WORD_CYCLES, 0x0079},
    {IS(P6), UPMU_WORD_CACHE_REFERENCES, 0x0f2e},
    {IS(P6), UPMU_WORD_CACHE_MISSES, 0x012e},
    {IS(P6), UPMU_WORD_BUS_CYCLES, 0x0062},
    {IS(P6) | IS(YON), UPMU_WORD_REF_CYCLES, 0},
    {IS(P6), UPMU_WORD_FRONTEND, 0x00a2},
    {IS(NHM) | IS(WSM) | IS(SNB) | IS(SNX) | IS(IVB) | IS(IVX), UPMU_WORD_FRONTEND, UPMU_WORD_FRONTEND},
    {EVERY, UPMU_WORD_FRONTEND, 0},
    {IS(NHM) | IS(WSM), UPMU_WORD_BACKEND, 0x01803fb1},
    {IS(SNB) | IS(SNX), UPMU_WORD_BACKEND, UPMU_WORD_BACKEND},
    {EVERY, UPMU_WORD_BACKEND, 0},
    /* The Atoms of TOPDOWN_EVENTS have no PERF_METRICS: a metric byte (event 00h) becomes the event of its slots. */
    {TOPDOWN_EVENTS, 0x8000, 0x02c2},
    {TOPDOWN_EVENTS, 0x8100, 0x0073},
    {TOPDOWN_EVENTS, 0x8200, 0x019c},
    {TOPDOWN_EVENTS, 0x8300, 0x02a4},
    /*
     * General counters count event 3Ch/01h at the rate of fixed counter 2 on these models, at the bus rate on others.
     */
    {REFERENCE_TICKS_ALIKE, UPMU_WORD_REF_CYCLES, 0x013c},
};
#define TRANSLATIONS (sizeof translations / sizeof translations[0])

/* Architectural events by their bit in EBX of CPUID leaf 0Ah: unit mask in bits 15:8, code in bits 7:0. */
static const uint16_t architectural[] = {0x003C, 0x00C0, 0x013C, 0x4F2E, 0x412E, 0x00C4, 0x00C5,
                                         0x01A4, 0x02A4, 0x0073, 0x019C, 0x02C2, 0x01E4};

/*
 * Is the event of a code and unit mask available by CPUID? Event 00h with unit mask 1 + n needs fixed counter n, with
 * unit mask 80h + n byte n of PERF_METRICS; with unit mask 0 it is never available. Of other events only the first
 * `known` architectural ones are looked up in upmu_pmu.arch_events; the rest is available.
 */
static UPMU_APART bool is_announced(const struct upmu_pmu *pmu, uint64_t code, unsigned known)
{
    uint64_t counter = code & 0x8000u ? UPMU_X86_METRIC(code >> 8 & 7u) : 15u + (code >> 8);

    /*
     * The code of an imported event can have bits above 15:0: then `counter` may be greater than any counter's number.
     */
    if (!(code & 0xffu))
        return counter < UPMU_COUNTERS && pmu->counters >> counter & 1u;
    for (unsigned i = 0; i < known; i++)
        if (architectural[i] == code)
            return pmu->arch_events >> i & 1u;
    return true;
}

bool upmu_x86_core_translate(const struct upmu_pmu *pmu, const struct upmu_row *row, struct upmu_event *event)
{
    uint64_t code = event->config, translated = code;
    bool own = !upmu_catalog_is_architectural(upmu_catalog_of(pmu, event->id));
    /* Codes of the architectural events from bit 7 on have other meanings in catalogues of earlier models. */
    unsigned known = own ? 7 : sizeof architectural / sizeof architectural[0], i = own ? TRANSLATIONS : 0;

    while (i < TRANSLATIONS && (translations[i].from != code || !(translations[i].models & upmu_x86_core_rules(pmu))))
        i++;
    if (i < TRANSLATIONS)
        translated = translations[i].to;
    /* AAJ80: C5h/00h counts mispredicted branches wrong. 89h/7Fh replaces it, and counts too many. */
    else if (code == 0x00C5 && (pmu->quirks & UPMU_X86_QUIRK_AAJ80))
        translated = 0x7F89;
    /*
     * On models of REFERENCE_TICKS_ALIKE fixed counter 2 replaces event 3Ch/01h if CPUID lacks that event (as in
     * Linux).
     */
    if (translated == 0x013C && (code != translated || (own && (REFERENCE_TICKS_ALIKE & upmu_x86_core_rules(pmu)))) &&
        !is_announced(pmu, translated, known))
        translated = UPMU_WORD_REF_CYCLES;
    if (code != translated)
        event->counters = 0;
    event->config = translated;
    /*
     * Without a hypervisor an event with a name of the model's own (UPMU_ROW_OWN_NAME) exists, even if CPUID lacks it.
     */
    if (own && (row->flags & UPMU_ROW_OWN_NAME) && !(pmu->capabilities & UPMU_PMU_HYPERVISOR))
        known = 0;
    return is_announced(pmu, translated, known);
}

#undef IS

#endif
