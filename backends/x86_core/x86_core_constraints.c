/* SPDX-License-Identifier: MIT */
/*
 * Which counters an event of an Intel core PMU may use, and which payload register
 * belongs to it.  One table; its rows are tried from the top.
 *
 * Sources: Linux arch/x86/events/intel/core.c and ds.c (event, RULE_PEBS and extra
 * register constraints), intersected with Intel's event files (rows of kind FILE:
 * the file is tighter there).
 */
#include "backends/x86_core/x86_core.h"
#include "backends/x86_core/x86_core_registers.h"
#include "core/bits.h"
#include "core/register.h"
#include "core/text.h"

#if UPMU_BACKEND_X86_CORE

/* Models, bits of constraint.models. */
#define ON_YON 0x01u
#define ON_COR 0x02u
#define ON_NHM 0x04u
#define ON_WSM 0x08u
#define ON_SKL 0x10u
#define ON_ICL 0x20u
#define ON_ARC 0x40u /* a model without rows of its own */
#define ON_NEH (ON_NHM | ON_WSM)
#define ON_ALL (ON_COR | ON_NEH | ON_SKL | ON_ICL | ON_ARC)

static const struct {
    char name[8];
    uint8_t bit;
} model_bits[] = {
    { "coreduo", ON_YON }, { "core", ON_COR }, { "nhm", ON_NHM },
    { "wsm", ON_WSM },     { "skl", ON_SKL },  { "icl", ON_ICL },
};

/* Kinds of rows. */
enum {
    RULE_FIXED, /* a fixed counter and `general`; only without modifiers */
    RULE_PLAIN, /* general counters */
    RULE_PEBS,  /* counters of precise events */
    RULE_FILE,  /* further limit by Intel's event file */
    RULE_EXTRA  /* `general` is the kind of the payload register */
};

/* What a row asks of edge, inv, cmask, in_tx, in_txcp (and, for RULE_PEBS, any); WITH_CYCLES: inv and a high cmask. */
enum { WITH_ANYTHING = 0, WITH_NOTHING = 1, WITH_CYCLES = 2 };

#define ALL_GENERAL 0xffu
#define NO_FIXED 0xffu
#define ANY_UMASK 0, 0
#define UMASK(u) (u), 0xff

struct constraint {
    uint8_t models;
    uint8_t kind;
    uint8_t event_low, event_high;
    uint8_t umask, umask_bits; /* the unit mask, in these bits, must be `umask` */
    uint8_t modifiers;
    uint8_t general;
    uint8_t fixed;       /* fixed counter, or NO_FIXED */
    uint8_t over_file;   /* 1: counters that the event file gives do not count */
};

#define FIXED_ROW(models, event, umask, general, fixed) \
    { models, RULE_FIXED, event, event, UMASK(umask), WITH_NOTHING, general, fixed, 0 }
#define PLAIN_ROW(models, low, high, general) \
    { models, RULE_PLAIN, low, high, ANY_UMASK, WITH_ANYTHING, general, NO_FIXED, 0 }
#define UMASK_ROW(models, event, umask, general) \
    { models, RULE_PLAIN, event, event, UMASK(umask), WITH_ANYTHING, general, NO_FIXED, 0 }
#define PEBS_ROW(models, event, umask, general) \
    { models, RULE_PEBS, event, event, UMASK(umask), WITH_NOTHING, general, NO_FIXED, 0 }
#define PEBS_ANY(models, low, high, general) \
    { models, RULE_PEBS, low, high, ANY_UMASK, WITH_NOTHING, general, NO_FIXED, 0 }
#define FILE_ROW(models, event, umask, general) \
    { models, RULE_FILE, event, event, UMASK(umask), WITH_ANYTHING, general, NO_FIXED, 0 }
#define EXTRA_ROW(models, event, umask, payload) \
    { models, RULE_EXTRA, event, event, UMASK(umask), WITH_ANYTHING, payload, NO_FIXED, 0 }

static const struct constraint constraints[] = {
    FIXED_ROW(ON_ALL, 0xC0, 0x00, ALL_GENERAL, 0),
    FIXED_ROW(ON_ICL, 0xC0, 0x01, ALL_GENERAL, 0), /* INST_RETIRED.PREC_DIST */
    FIXED_ROW(ON_ICL, 0x00, 0x01, 0, 0),
    FIXED_ROW(ON_ALL, 0x3C, 0x00, ALL_GENERAL, 1),
    FIXED_ROW(ON_ICL, 0x00, 0x02, 0, 1),
    FIXED_ROW(ON_ALL, 0x00, 0x03, 0, 2),
    FIXED_ROW(ON_ICL | ON_ARC, 0x00, 0x04, 0, 3),

    PLAIN_ROW(ON_YON, 0x11, 0x13, 0x2), /* FP_ASSIST, MUL, DIV */
    PLAIN_ROW(ON_YON, 0x14, 0x14, 0x1), /* CYCLES_DIV_BUSY */
    PLAIN_ROW(ON_YON, 0x19, 0x19, 0x2), /* DELAYED_BYPASS */
    PLAIN_ROW(ON_YON, 0xC1, 0xC1, 0x1), /* FP_COMP_INSTR_RET */

    PLAIN_ROW(ON_COR, 0x10, 0x10, 0x1), /* FP_COMP_OPS_EXE */
    PLAIN_ROW(ON_COR, 0x11, 0x13, 0x2), /* FP_ASSIST, MUL, DIV */
    PLAIN_ROW(ON_COR, 0x14, 0x14, 0x1), /* CYCLES_DIV_BUSY */
    PLAIN_ROW(ON_COR, 0x18, 0x18, 0x1), /* IDLE_DURING_DIV */
    PLAIN_ROW(ON_COR, 0x19, 0x19, 0x2), /* DELAYED_BYPASS */
    PLAIN_ROW(ON_COR, 0xA1, 0xA1, 0x1), /* RS_UOPS_DISPATCHED_CYCLES */
    PLAIN_ROW(ON_COR, 0xC9, 0xC9, 0x1), /* ITLB_MISS_RETIRED */
    PLAIN_ROW(ON_COR, 0xCB, 0xCB, 0x1), /* MEM_LOAD_RETIRED */

    PLAIN_ROW(ON_NHM, 0x40, 0x43, 0x3), /* L1D_CACHE_*, L1D_ALL_REF */
    PLAIN_ROW(ON_NHM, 0x48, 0x48, 0x3), /* L1D_PEND_MISS */
    PLAIN_ROW(ON_NHM, 0x4E, 0x4E, 0x3), /* L1D_PREFETCH */
    PLAIN_ROW(ON_NEH, 0x51, 0x51, 0x3), /* L1D */
    PLAIN_ROW(ON_WSM, 0x60, 0x60, 0x1), /* OFFCORE_REQUESTS_OUTSTANDING */
    PLAIN_ROW(ON_NEH, 0x63, 0x63, 0x3), /* CACHE_LOCK_CYCLES */
    PLAIN_ROW(ON_WSM, 0xB3, 0xB3, 0x1), /* SNOOPQ_REQUESTS_OUTSTANDING */

    /* INST_RETIRED.PREC_DIST, TOTAL_CYCLES_PS: the file and this row exclude each other. */
    { ON_SKL, RULE_PLAIN, 0xC0, 0xC0, UMASK(0x01), WITH_ANYTHING, 0x2, NO_FIXED, 1 },
    PLAIN_ROW(ON_SKL, 0xD0, 0xD2, 0xf),
    PLAIN_ROW(ON_SKL, 0xCD, 0xCD, 0xf),
    PLAIN_ROW(ON_SKL, 0xC6, 0xC6, 0xf),

    PLAIN_ROW(ON_ICL, 0x03, 0x0A, 0xf),
    PLAIN_ROW(ON_ICL, 0x1F, 0x28, 0xf),
    PLAIN_ROW(ON_ICL, 0x32, 0x32, 0xf),
    PLAIN_ROW(ON_ICL, 0x48, 0x56, 0xf),
    PLAIN_ROW(ON_ICL, 0x60, 0x8B, 0xf),
    UMASK_ROW(ON_ICL, 0xA3, 0x04, ALL_GENERAL), /* CYCLE_ACTIVITY.STALLS_TOTAL */
    UMASK_ROW(ON_ICL, 0xA3, 0x10, ALL_GENERAL),
    UMASK_ROW(ON_ICL, 0xA3, 0x14, ALL_GENERAL),
    PLAIN_ROW(ON_ICL, 0xA3, 0xA3, 0xf),
    PLAIN_ROW(ON_ICL, 0xA8, 0xB0, 0xf),
    PLAIN_ROW(ON_ICL, 0xB7, 0xBD, 0xf),
    PLAIN_ROW(ON_ICL, 0xD0, 0xE6, 0xf),
    PLAIN_ROW(ON_ICL, 0xEF, 0xF4, 0xf),

    FILE_ROW(ON_NEH, 0x4C, 0x01, 0x3), /* LOAD_HIT_PRE */
    FILE_ROW(ON_NEH, 0x52, 0x01, 0x3), /* L1D_CACHE_PREFETCH_LOCK_FB_HIT */
    FILE_ROW(ON_NHM, 0x53, 0x01, 0x3), /* L1D_CACHE_LOCK_FB_HIT */
    FILE_ROW(ON_WSM, 0x4E, 0x01, 0x3), /* L1D_PREFETCH */
    FILE_ROW(ON_WSM, 0x4E, 0x02, 0x3),
    FILE_ROW(ON_WSM, 0x4E, 0x04, 0x3),
    FILE_ROW(ON_SKL, 0xA3, 0x14, 0xf), /* CYCLE_ACTIVITY.STALLS_MEM_ANY */
    FILE_ROW(ON_SKL, 0xB7, 0x01, 0xf), /* OFFCORE_RESPONSE */
    FILE_ROW(ON_SKL, 0xBB, 0x01, 0xf),
    FILE_ROW(ON_SKL, 0xC4, 0x04, 0xf), /* BR_INST_RETIRED.ALL_BRANCHES_PEBS */
    FILE_ROW(ON_SKL, 0xC5, 0x04, 0xf), /* BR_MISP_RETIRED.ALL_BRANCHES_PEBS */
    FILE_ROW(ON_SKL, 0xD3, 0x01, 0xf), /* MEM_LOAD_L3_MISS_RETIRED */
    FILE_ROW(ON_SKL, 0xD3, 0x02, 0xf),
    FILE_ROW(ON_SKL, 0xD3, 0x04, 0xf),
    FILE_ROW(ON_SKL, 0xD3, 0x08, 0xf),
    FILE_ROW(ON_SKL, 0xD3, 0x10, 0xf),
    FILE_ROW(ON_SKL, 0xD4, 0x04, 0xf), /* MEM_LOAD_MISC_RETIRED.UC */

    PEBS_ROW(ON_COR, 0xC0, 0x00, 0x1),
    PEBS_ROW(ON_COR, 0xC1, 0xFE, 0x1),
    PEBS_ROW(ON_COR, 0xC5, 0x00, 0x1),
    PEBS_ROW(ON_COR, 0xC7, 0x1F, 0x1),
    PEBS_ANY(ON_COR, 0xCB, 0xCB, 0x1),
    { ON_COR, RULE_PEBS, 0xC0, 0xC0, UMASK(0x00), WITH_CYCLES, 0x1, NO_FIXED, 0 },
    PEBS_ROW(ON_NEH, 0x0B, 0x10, 0xf), /* load latency */
    PEBS_ANY(ON_NEH, 0x0F, 0x0F, 0xf),
    PEBS_ROW(ON_NEH, 0x0C, 0x01, 0xf),
    PEBS_ANY(ON_NEH, 0xC0, 0xC0, 0xf),
    { ON_NEH, RULE_PEBS, 0xC2, 0xC2, ANY_UMASK, WITH_ANYTHING, 0xf, NO_FIXED, 0 },
    PEBS_ANY(ON_NEH, 0xC4, 0xC4, 0xf),
    PEBS_ROW(ON_NHM, 0xC5, 0x02, 0xf),
    PEBS_ANY(ON_WSM, 0xC5, 0xC5, 0xf),
    PEBS_ANY(ON_NEH, 0xC7, 0xC7, 0xf),
    PEBS_ROW(ON_NEH, 0xC8, 0x20, 0xf),
    PEBS_ANY(ON_NEH, 0xCB, 0xCB, 0xf),
    PEBS_ANY(ON_NEH, 0xF7, 0xF7, 0xf),
    { ON_NEH, RULE_PEBS, 0xC0, 0xC0, UMASK(0x00), WITH_CYCLES, 0xf, NO_FIXED, 0 },
    { ON_SKL, RULE_PEBS, 0xC0, 0xC0, UMASK(0x01), WITH_NOTHING, 0x2, NO_FIXED, 1 },
    { ON_SKL, RULE_PEBS, 0xC0, 0xC0, UMASK(0x01), WITH_CYCLES, 0x2, NO_FIXED, 1 },
    { ON_SKL, RULE_PEBS, 0xC0, 0xC0, UMASK(0x00), WITH_CYCLES, 0xf, NO_FIXED, 0 },
    PEBS_ANY(ON_SKL, 0x00, 0xFF, 0xf), /* any event without modifiers */
    PEBS_ROW(ON_ICL, 0xCD, 0x01, ALL_GENERAL), /* load latency */
    PEBS_ANY(ON_ICL, 0xD0, 0xD4, 0xf),

    EXTRA_ROW(ON_NEH, 0x0B, 0x10, UPMU_X86_PAYLOAD_LDLAT),
    EXTRA_ROW(ON_NEH | ON_SKL | ON_ICL, 0xB7, 0x01, UPMU_X86_PAYLOAD_OFFCORE),
    EXTRA_ROW(ON_WSM | ON_SKL | ON_ICL, 0xBB, 0x01, UPMU_X86_PAYLOAD_OFFCORE),
    EXTRA_ROW(ON_SKL | ON_ICL, 0xCD, 0x01, UPMU_X86_PAYLOAD_LDLAT),
    EXTRA_ROW(ON_SKL | ON_ICL, 0xC6, 0x01, UPMU_X86_PAYLOAD_FRONTEND),
};

static unsigned model_bit(const struct upmu_pmu *pmu)
{
    size_t length = upmu_text_length(pmu->name);

    for (unsigned i = 0; i < sizeof model_bits / sizeof model_bits[0]; i++)
        if (upmu_text_is(pmu->name, length, model_bits[i].name))
            return model_bits[i].bit;
    return ON_ARC;
}

static bool modifiers_match(const struct constraint *row, uint64_t config)
{
    uint64_t modifiers = config & (UPMU_X86_SELECT_EDGE | UPMU_X86_SELECT_INV | UPMU_X86_SELECT_CMASK |
                                   UPMU_X86_SELECT_IN_TX | UPMU_X86_SELECT_IN_TXCP);

    if (row->kind == RULE_PEBS)
        modifiers |= config & UPMU_X86_SELECT_ANY;
    if (row->modifiers == WITH_NOTHING)
        return modifiers == 0;
    /* Counting cycles by instructions retired: inv and 16, or 10 in Intel's file for TOTAL_CYCLES_PS. */
    return row->modifiers == WITH_ANYTHING || modifiers == (UPMU_X86_SELECT_INV | UINT64_C(16) << 24) ||
           (row->umask == 1 && modifiers == (UPMU_X86_SELECT_INV | UINT64_C(10) << 24));
}

/* The first row of a kind from `i` on that applies; NULL: none. */
static const struct constraint *find_constraint(unsigned models, unsigned first_kind, unsigned last_kind,
                                                uint64_t config, unsigned *i)
{
    unsigned event = config & 0xffu, umask = config >> 8 & 0xffu;

    while (*i < sizeof constraints / sizeof constraints[0]) {
        const struct constraint *row = &constraints[(*i)++];

        if ((row->models & models) && row->kind >= first_kind && row->kind <= last_kind && event >= row->event_low &&
            event <= row->event_high && (umask & row->umask_bits) == row->umask && modifiers_match(row, config))
            return row;
    }
    return NULL;
}

uint8_t upmu_x86_core_payload(const struct upmu_pmu *pmu, uint64_t config)
{
    unsigned i = 0;
    const struct constraint *row = find_constraint(model_bit(pmu), RULE_EXTRA, RULE_EXTRA, config, &i);

    return row ? row->general : 0;
}

#if UPMU_NAMES

/* Architectural events by their bit in CPUID leaf 0Ah: code, unit mask.
   (Intel SDM vol 3 (325384-059) 18.2.1.2; from bit 7: Linux arch/x86/events/intel/core.c) */
static const uint16_t architectural[] = { 0x003C, 0x00C0, 0x013C, 0x4F2E, 0x412E, 0x00C4, 0x00C5,
                                          0x01A4, 0x02A4, 0x0073, 0x019C, 0x02C2, 0x01E4 };

bool upmu_x86_core_announced(const struct upmu_pmu *pmu, uint64_t config)
{
    const char *catalog = upmu_catalog_name(pmu->catalog);

    if (!upmu_text_is(catalog, upmu_text_length(catalog), "ix86arch"))
        return true;
    for (unsigned i = 0; i < sizeof architectural / sizeof architectural[0]; i++)
        if (architectural[i] == (config & 0xffffu))
            return pmu->arch_events >> i & 1u;
    return true;
}

#endif

uint32_t upmu_x86_core_counters(const struct upmu_pmu *pmu, const struct upmu_event *event)
{
    const uint32_t fixed = ~pmu->general;
    unsigned models = model_bit(pmu);
    const struct constraint *row = NULL;
    uint32_t counters;
    unsigned i = 0;

    if (event->attributes & UPMU_ATTR_PRECISE) {
        row = find_constraint(models, RULE_PEBS, RULE_PEBS, event->config, &i);
        if (!row && models != ON_ICL)
            return 0;
        i = 0;
    }
    if (!row)
        row = find_constraint(models, RULE_FIXED, RULE_PLAIN, event->config, &i);
    if (row)
        counters = row->general | (row->fixed != NO_FIXED ? UPMU_BIT32(UPMU_FIXED_COUNTER(row->fixed)) : 0);
    else /* event 00h counts on fixed counters only */
        counters = event->config & UPMU_X86_SELECT_EVENT ? pmu->general : 0;
    if (event->counters && !(row && row->over_file))
        counters &= event->counters | fixed;
    for (i = 0; (row = find_constraint(models, RULE_FILE, RULE_FILE, event->config, &i)) != NULL;)
        counters &= row->general | fixed;
    if (event->config & UPMU_X86_SELECT_IN_TXCP)
        counters &= UPMU_BIT32(2);
    return counters & pmu->counters;
}

#endif
