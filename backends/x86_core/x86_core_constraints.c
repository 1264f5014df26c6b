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
#include "core/mem.h"

#if UPMU_BACKEND_X86_CORE

/* Models (UPMU_X86_RULES_…), bits of constraint.models. */
#define ON_YON UPMU_X86_RULES_YON
#define ON_COR UPMU_X86_RULES_COR
#define ON_NHM UPMU_X86_RULES_NHM
#define ON_WSM UPMU_X86_RULES_WSM
#define ON_SKL UPMU_X86_RULES_SKL
#define ON_ICL UPMU_X86_RULES_ICL
#define ON_ARC UPMU_X86_RULES_ARCHITECTURE
#define ON_NEH (ON_NHM | ON_WSM)
#define ON_ALL (ON_COR | ON_NEH | ON_SKL | ON_ICL | ON_ARC)

/* Kinds of rows; of each the first row that applies counts. */
enum {
    RULE_PLAIN, /* general and fixed counters */
    RULE_PEBS,  /* counters of precise events */
    RULE_FILE,  /* further limit by Intel's event file */
    RULE_EXTRA, /* `counters` is the kind of the payload register */
    RULES
};

/*
 * What a row asks of edge, inv, cmask, in_tx, in_txcp (and, for RULE_PEBS, any):
 * none of them, or just inv and this counter mask (counting cycles by instructions
 * retired: 16, or 10 in Intel's file for TOTAL_CYCLES_PS), or WITH_ANYTHING.
 */
#define WITH_NOTHING 0
#define WITH_ANYTHING 0xff

#define ALL_GENERAL 0xffu
#define ALL_FIXED 0xffff0000u
#define ANY_UMASK 0, 0
#define UMASK(u) (u), 0xff

struct constraint {
    uint8_t models;
    uint8_t kind;
    uint8_t event_low, event_span; /* the code: event_low to event_low + event_span */
    uint8_t umask, umask_bits;     /* the unit mask, in these bits, must be `umask` */
    uint8_t modifiers;
    uint8_t over_file; /* 1: counters that the event file gives do not count */
    uint32_t counters;
};

#define FIXED_ROW(models, event, umask, general, fixed)                                                                \
    {                                                                                                                  \
        models, RULE_PLAIN, event, 0, UMASK(umask), WITH_NOTHING, 0, (general) | 0x10000u << (fixed)                   \
    }
#define PLAIN_ROW(models, low, high, general)                                                                          \
    {                                                                                                                  \
        models, RULE_PLAIN, low, (high) - (low), ANY_UMASK, WITH_ANYTHING, 0, general                                  \
    }
#define UMASK_ROW(models, event, umask, general)                                                                       \
    {                                                                                                                  \
        models, RULE_PLAIN, event, 0, UMASK(umask), WITH_ANYTHING, 0, general                                          \
    }
#define PEBS_ROW(models, event, umask, general)                                                                        \
    {                                                                                                                  \
        models, RULE_PEBS, event, 0, UMASK(umask), WITH_NOTHING, 0, general                                            \
    }
#define PEBS_ANY(models, low, high, general)                                                                           \
    {                                                                                                                  \
        models, RULE_PEBS, low, (high) - (low), ANY_UMASK, WITH_NOTHING, 0, general                                    \
    }
#define FILE_ROW(models, event, umask, general)                                                                        \
    {                                                                                                                  \
        models, RULE_FILE, event, 0, UMASK(umask), WITH_ANYTHING, 0, (general) | ALL_FIXED                             \
    }
#define EXTRA_ROW(models, event, umask, payload)                                                                       \
    {                                                                                                                  \
        models, RULE_EXTRA, event, 0, UMASK(umask), WITH_ANYTHING, 0, payload                                          \
    }

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
    {ON_SKL, RULE_PLAIN, 0xC0, 0, UMASK(0x01), WITH_ANYTHING, 1, 0x2},
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
    {ON_COR, RULE_PEBS, 0xC0, 0, UMASK(0x00), 16, 0, 0x1},
    PEBS_ROW(ON_NEH, 0x0B, 0x10, 0xf), /* load latency */
    PEBS_ANY(ON_NEH, 0x0F, 0x0F, 0xf),
    PEBS_ROW(ON_NEH, 0x0C, 0x01, 0xf),
    PEBS_ANY(ON_NEH, 0xC0, 0xC0, 0xf),
    {ON_NEH, RULE_PEBS, 0xC2, 0, ANY_UMASK, WITH_ANYTHING, 0, 0xf},
    PEBS_ANY(ON_NEH, 0xC4, 0xC4, 0xf),
    PEBS_ROW(ON_NHM, 0xC5, 0x02, 0xf),
    PEBS_ANY(ON_WSM, 0xC5, 0xC5, 0xf),
    PEBS_ANY(ON_NEH, 0xC7, 0xC7, 0xf),
    PEBS_ROW(ON_NEH, 0xC8, 0x20, 0xf),
    PEBS_ANY(ON_NEH, 0xCB, 0xCB, 0xf),
    PEBS_ANY(ON_NEH, 0xF7, 0xF7, 0xf),
    {ON_NEH, RULE_PEBS, 0xC0, 0, UMASK(0x00), 16, 0, 0xf},
    {ON_SKL, RULE_PEBS, 0xC0, 0, UMASK(0x01), WITH_NOTHING, 1, 0x2},
    {ON_SKL, RULE_PEBS, 0xC0, 0, UMASK(0x01), 16, 1, 0x2},
    {ON_SKL, RULE_PEBS, 0xC0, 0, UMASK(0x01), 10, 1, 0x2},
    {ON_SKL, RULE_PEBS, 0xC0, 0, UMASK(0x00), 16, 0, 0xf},
    PEBS_ANY(ON_SKL, 0x00, 0xFF, 0xf),         /* any event without modifiers */
    PEBS_ROW(ON_ICL, 0xCD, 0x01, ALL_GENERAL), /* load latency */
    PEBS_ANY(ON_ICL, 0xD0, 0xD4, 0xf),

    EXTRA_ROW(ON_NEH, 0x0B, 0x10, UPMU_X86_PAYLOAD_LDLAT),
    EXTRA_ROW(ON_NEH | ON_SKL | ON_ICL, 0xB7, 0x01, UPMU_X86_PAYLOAD_OFFCORE),
    EXTRA_ROW(ON_WSM | ON_SKL | ON_ICL, 0xBB, 0x01, UPMU_X86_PAYLOAD_OFFCORE),
    EXTRA_ROW(ON_SKL | ON_ICL, 0xCD, 0x01, UPMU_X86_PAYLOAD_LDLAT),
    EXTRA_ROW(ON_SKL | ON_ICL, 0xC6, 0x01, UPMU_X86_PAYLOAD_FRONTEND),
};

/* Select bits from edge on. */
#define MODIFIERS(select) ((unsigned)((select) >> 18))

/* The row of each kind that applies; NULL: none. */
static void find_constraints(const struct upmu_pmu *pmu, uint64_t config, const struct constraint *found[RULES])
{
    const unsigned all = MODIFIERS(UPMU_X86_SELECT_EDGE | UPMU_X86_SELECT_INV | UPMU_X86_SELECT_CMASK |
                                   UPMU_X86_SELECT_IN_TX | UPMU_X86_SELECT_IN_TXCP);
    unsigned code = (unsigned)config;

    memset(found, 0, RULES * sizeof *found);
    for (const struct constraint *row = constraints + sizeof constraints / sizeof constraints[0];
         row-- > constraints;) {
        unsigned given = MODIFIERS(config) & (row->kind == RULE_PEBS ? all | MODIFIERS(UPMU_X86_SELECT_ANY) : all);
        unsigned asked = row->modifiers ? MODIFIERS(UPMU_X86_SELECT_INV | (uint64_t)row->modifiers << 24) : 0;

        if ((row->models & pmu->quirks) && (uint8_t)(code - row->event_low) <= row->event_span &&
            ((code >> 8 ^ row->umask) & row->umask_bits) == 0 && (row->modifiers == WITH_ANYTHING || given == asked))
            found[row->kind] = row;
    }
}

uint8_t upmu_x86_core_payload(const struct upmu_pmu *pmu, uint64_t config)
{
    const struct constraint *found[RULES];

    find_constraints(pmu, config, found);
    return found[RULE_EXTRA] ? (uint8_t)found[RULE_EXTRA]->counters : 0;
}

#if UPMU_NAMES

/* Architectural events by their bit in CPUID leaf 0Ah: code, unit mask.
   (Intel SDM vol 3 (325384-059) 18.2.1.2; from bit 7: Linux arch/x86/events/intel/core.c) */
static const uint16_t architectural[] = {0x003C, 0x00C0, 0x013C, 0x4F2E, 0x412E, 0x00C4, 0x00C5,
                                         0x01A4, 0x02A4, 0x0073, 0x019C, 0x02C2, 0x01E4};

bool upmu_x86_core_announced(const struct upmu_pmu *pmu, uint64_t config)
{
    if (memcmp(upmu_catalog_name(pmu->catalog), "ix86arch", sizeof "ix86arch") != 0)
        return true;
    for (unsigned i = 0; i < sizeof architectural / sizeof architectural[0]; i++)
        if (architectural[i] == (config & 0xffffu))
            return pmu->arch_events >> i & 1u;
    return true;
}

#endif

uint32_t upmu_x86_core_counters(const struct upmu_pmu *pmu, const struct upmu_event *event)
{
    const struct constraint *found[RULES], *row;
    uint32_t counters = pmu->counters;

    find_constraints(pmu, event->config, found);
    row = found[RULE_PLAIN];
    if (event->attributes & UPMU_ATTR_PRECISE) {
        if (found[RULE_PEBS])
            row = found[RULE_PEBS];
        else if (pmu->quirks != ON_ICL)
            return 0;
    }
    if (row)
        counters &= row->counters;
    else /* event 00h counts on fixed counters only */
        counters &= event->config & UPMU_X86_SELECT_EVENT ? pmu->general : 0;
    if (event->counters && !(row && row->over_file))
        counters &= event->counters | ALL_FIXED;
    if (found[RULE_FILE])
        counters &= found[RULE_FILE]->counters;
    if (event->config & UPMU_X86_SELECT_IN_TXCP)
        counters &= UPMU_BIT32(2);
    return counters;
}

#endif
