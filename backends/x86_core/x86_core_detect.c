/* SPDX-License-Identifier: MIT */
/*
 * Detect Intel core PMUs and their features, by CPUID leaves 7, 0Ah, 1Ah and 23h with their known errors, the MSRs
 * PERF_CAPABILITIES and MISC_ENABLE, and the table of models in x86_core_models.h. Hardware is read only through the
 * functions of struct upmu_detection.
 *
 * Sources: Intel SDM vol 3 (325384-059) 18.2; CPUID dumps of InstLatx64; Linux arch/x86/events/intel/core.c for leaf
 * 23h, least numbers of fixed counters, core types and the hypervisor rule; names: libpfm4 4.13, where it has one.
 */
#include "backends/x86_core/x86_core.h"
#include "backends/x86_core/x86_core_registers.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/register.h"

#if UPMU_BACKEND_X86_CORE

#include "backends/x86_core/x86_core_models.h"

/* clang-format off */
/*
 * Entries of upmu_pmu.counter as in a PMU of version 2, in which 32 bits of a general counter can be written. In the
 * entries of a detected or described PMU add_counter() sets the widths, and the rows and bits in which other versions
 * differ.
 */
#define GENERAL_ONE(n) \
    [n] = { UPMU_X86_ROW_PMC + (n), UPMU_X86_ROW_PMC + (n), UPMU_X86_ROW_SELECT + (n), UPMU_X86_ROW_GLOBAL_CTRL, \
            (n), 0, 32, 0, (n) }
#define FIXED_ONE(n) \
    [UPMU_FIXED_COUNTER(n)] = { UPMU_X86_ROW_FIXED + (n), UPMU_X86_ROW_FIXED + (n), UPMU_X86_ROW_FIXED_CTRL, \
                                UPMU_X86_ROW_GLOBAL_CTRL, 32 + (n), 0, 0, 0, UINT32_C(0x40000000) + (n) }
#define METRIC_ONE(n) \
    [UPMU_X86_METRIC(n)] = { UPMU_X86_ROW_METRICS, UPMU_X86_ROW_METRICS, UPMU_X86_ROW_FIXED_CTRL, \
                             UPMU_X86_ROW_GLOBAL_CTRL, 48, 0, 0, 0, UINT32_C(0x20000000) }
static const struct upmu_pmu intel_common = {
    .shared_scope = UPMU_SCOPE_CORE,
    .counter = { GENERAL_ONE(0), GENERAL_ONE(1), GENERAL_ONE(2), GENERAL_ONE(3), GENERAL_ONE(4), GENERAL_ONE(5),
                 GENERAL_ONE(6), GENERAL_ONE(7), GENERAL_ONE(8), GENERAL_ONE(9),
                 FIXED_ONE(0), FIXED_ONE(1), FIXED_ONE(2), FIXED_ONE(3), FIXED_ONE(4), FIXED_ONE(5), FIXED_ONE(6),
                 METRIC_ONE(0), METRIC_ONE(1), METRIC_ONE(2), METRIC_ONE(3), METRIC_ONE(4), METRIC_ONE(5),
                 METRIC_ONE(6), METRIC_ONE(7) },
    .loop_config = UINT64_C(0xc0) | UPMU_X86_SELECT_USR | UPMU_X86_SELECT_OS, /* instructions retired */
    .cycles_config = UINT64_C(0x3c) | UPMU_X86_SELECT_USR | UPMU_X86_SELECT_OS,
    .limit = { [UPMU_X86_CLASS_SELECT] = 0xffd7ffff,
               [UPMU_X86_CLASS_STATUS] = ~UINT64_C(0), [UPMU_X86_CLASS_ACK] = ~UINT64_C(0),
               [UPMU_X86_CLASS_INUSE] = ~UINT64_C(0), [UPMU_X86_CLASS_DEBUGCTL] = ~UINT64_C(0),
               [UPMU_X86_CLASS_METRICS] = ~UINT64_C(0), [UPMU_X86_CLASS_PEBS] = ~UINT64_C(0),
               [UPMU_X86_CLASS_CFG] = ~UINT64_C(0) },
};

/*
 * Properties that follow from the version of a PMU. Index 0: P6 and Core Duo; 1: version 1 of other models; 2: versions
 * 2 and 3; 3: versions 4 and 5; 4: version 6 and later.
 */
#define ROW_BIT(row) UPMU_BIT32((row) & 31)
#define GLOBAL_ROWS (ROW_BIT(UPMU_X86_ROW_GLOBAL_CTRL) | ROW_BIT(UPMU_X86_ROW_STATUS) | \
                     ROW_BIT(UPMU_X86_ROW_ACK) | ROW_BIT(UPMU_X86_ROW_DEBUGCTL))
#define GLOBAL_CAPABILITIES (UPMU_PMU_GLOBAL_CTRL | UPMU_PMU_STATUS | UPMU_PMU_DEBUGCTL)
static const struct stage {
    const struct upmu_register_table *table;
    uint32_t present; /* rows 32 to 63 */
    uint16_t capabilities;
    uint8_t gate_bit; /* bit of the gate in a counter's select; 0: gates are in GLOBAL_CTRL */
    uint8_t rows[3];  /* status_row, ack_row and inuse_row of upmu_pmu */
} intel_stages[] = {
    /*
     * P6 and Core Duo; AE49: Core Duo has no separate enable bit for counter 1, either (Linux 2.6 perfctr-watchdog.c).
     */
    { &upmu_x86_core_p6_table, 0, 0, UPMU_X86_P6_GATE, { UPMU_NO_ROW, UPMU_NO_ROW, UPMU_NO_ROW } },
    { &upmu_x86_core_single_table, 0, 0, 22, { UPMU_NO_ROW, UPMU_NO_ROW, UPMU_NO_ROW } },
    { &upmu_x86_core_global_table, GLOBAL_ROWS, GLOBAL_CAPABILITIES, 0,
      { UPMU_X86_ROW_STATUS, UPMU_X86_ROW_ACK, UPMU_NO_ROW } },
    { &upmu_x86_core_global_table, GLOBAL_ROWS | ROW_BIT(UPMU_X86_ROW_INUSE), GLOBAL_CAPABILITIES | UPMU_PMU_INUSE, 0,
      { UPMU_X86_ROW_STATUS, UPMU_X86_ROW_ACK, UPMU_X86_ROW_INUSE } },
    { &upmu_x86_core_block_table, GLOBAL_ROWS | ROW_BIT(UPMU_X86_ROW_INUSE),
      GLOBAL_CAPABILITIES | UPMU_PMU_INUSE | UPMU_PMU_FULL_WRITE, 0,
      { UPMU_X86_ROW_STATUS, UPMU_X86_ROW_ACK, UPMU_X86_ROW_INUSE } },
};
_Static_assert(UPMU_X86_ROW_GLOBAL_CTRL / 32 == 1 && UPMU_X86_ROW_DEBUGCTL / 32 == 1, "rows in one word of `present`");
/* clang-format on */

static bool same_text(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/*
 * Add counter i to the PMU. A counter that is added earlier is preferred: fixed counters come first, because each has
 * one event only.
 */
static void add_counter(struct upmu_pmu *pmu, const struct shape *shape, const struct stage *stage, unsigned i)
{
    struct upmu_counter *counter = &pmu->counter[i];

    counter->width = shape->general_width;
    if (i >= UPMU_X86_METRIC(0)) {
        counter->width = counter->write_bits = 64;
    } else if (i >= UPMU_FIXED_COUNTER(0)) {
        bool any = i != UPMU_X86_SLOTS && (shape->capabilities & UPMU_PMU_ANYTHREAD);

        counter->width = counter->write_bits = shape->fixed_width;
        pmu->limit[UPMU_X86_CLASS_FIXED_CTRL] |= (uint64_t)(any ? 0xf : 0xb) << (4u * (i - UPMU_FIXED_COUNTER(0)));
    } else if (pmu->capabilities & UPMU_PMU_FULL_WRITE) {
        counter->write_bits = shape->general_width;
        if (shape->version < 6)
            counter->write_row = (uint8_t)(UPMU_X86_ROW_FULL + i);
    }
    if (stage->gate_bit) {
        counter->gate_row = counter->select_row;
        counter->gate_bit = stage->gate_bit;
    }
    upmu_register_add_counter(pmu, i, counter);
    pmu->preference[pmu->preference_count++] = (uint8_t)i;
}

/*
 * Return the quirks of a CPU with the features of `shape`: those of its model; but the prelude only from version 2 on
 * and with general counters 0 to 3; and UPMU_X86_QUIRK_AAJ80 on a Nehalem whose CPUID hides branch-misses.
 */
static uint32_t quirks_of(const struct model *model, const struct shape *shape)
{
    uint32_t quirks = model->quirks;

    if (shape->version < 2 || (shape->general & 0xfu) != 0xfu) /* a hypervisor hides registers */
        quirks &= ~UPMU_X86_QUIRK_PRELUDE;
    /* Bit 6 of arch_events is branch-misses. */
    if (model->rules == UPMU_X86_RULES_NHM && !(shape->arch_events >> 6 & 1u))
        quirks |= UPMU_X86_QUIRK_AAJ80;
    return quirks;
}

/* Quirks for which upmu_pmu.capabilities has a bit, too: UPMU_PMU_PRELUDE and UPMU_PMU_PAIRED. */
#define SHOWN (UPMU_X86_QUIRK_PRELUDE | UPMU_X86_QUIRK_EXCLUSIVE)
_Static_assert(UPMU_X86_QUIRK_PRELUDE << 3 == UPMU_PMU_PRELUDE && UPMU_X86_QUIRK_EXCLUSIVE << 3 == UPMU_PMU_PAIRED,
               "the same distance");

static void build_pmu(struct upmu_pmu *pmu, const struct model *model, const struct shape *shape)
{
    unsigned number =
        shape->version < 2 ? model->rules > UPMU_X86_RULES_YON : 2u + (shape->version >= 4) + (shape->version >= 6);
    const struct stage *stage = &intel_stages[number];
    uint32_t counters = shape->general | shape->fixed << UPMU_FIXED_COUNTER(0);

    memcpy(pmu, &intel_common, sizeof *pmu);
    if (shape->metrics)
        pmu->metrics = model->traits & WITH_8 ? 0xffu : 0xfu;
    counters |= UPMU_METRIC_COUNTERS(pmu);
    pmu->name = model->name;
    pmu->title = TITLE_OF(model);
    pmu->table = stage->table;
    pmu->version = shape->version;
    pmu->arch_events = shape->arch_events;
    pmu->min_period = model->min_period;
    pmu->variant = model->rules;
    if (model->rules == UPMU_X86_RULES_P6)
        pmu->cycles_config ^= 0x3c ^ 0x79;
    pmu->quirks = quirks_of(model, shape);
    pmu->capabilities = stage->capabilities | shape->capabilities | (pmu->quirks & SHOWN) << 3;
    pmu->general = shape->general;
    pmu->present[1] = stage->present;
    pmu->status_row = stage->rows[0];
    pmu->ack_row = stage->rows[1];
    pmu->inuse_row = stage->rows[2];
    pmu->limit[UPMU_X86_CLASS_PMC] = upmu_bits_low(~UINT64_C(0), shape->general_width);
    pmu->max_period = pmu->capabilities & UPMU_PMU_FULL_WRITE ? pmu->limit[UPMU_X86_CLASS_PMC] >> 1 : 0x7fffffff;
    pmu->limit[UPMU_X86_CLASS_FULL] = pmu->limit[UPMU_X86_CLASS_PMC];
    pmu->limit[UPMU_X86_CLASS_FIXED] = upmu_bits_low(~UINT64_C(0), shape->fixed_width);
    pmu->limit[UPMU_X86_CLASS_GLOBAL_CTRL] = upmu_x86_core_bits(counters);
    pmu->limit[UPMU_X86_CLASS_SELECT] |= shape->select;
    if (shape->capabilities & UPMU_PMU_ANYTHREAD)
        pmu->limit[UPMU_X86_CLASS_SELECT] |= UPMU_X86_SELECT_ANY;
    if (shape->capabilities & UPMU_PMU_TSX)
        pmu->limit[UPMU_X86_CLASS_SELECT] |= UPMU_X86_SELECT_IN_TX | UPMU_X86_SELECT_IN_TXCP;
    upmu_x86_core_add_payloads(pmu);
    if (model->traits & (WITH_CORE_RSP | WITH_MODULE_RSP))
        pmu->shared = 1u << UPMU_X86_RESOURCE_OFFCORE0 | 1u << UPMU_X86_RESOURCE_OFFCORE1;
    if (pmu->quirks & UPMU_X86_QUIRK_EXCLUSIVE)
        pmu->shared |= UINT64_C(0xff) << UPMU_PAIR_RESOURCE(0);
    if (model->traits & WITH_MODULE_RSP)
        pmu->shared_scope = UPMU_SCOPE_MODULE;
    for (unsigned k = 0; k < UPMU_COUNTERS; k++)
        if (counters >> (k ^ UPMU_FIXED_COUNTER(0)) & 1u)
            add_counter(pmu, shape, stage, k ^ UPMU_FIXED_COUNTER(0));
}

/* Return the features that CPUID has on a typical CPU of a model. */
static UPMU_APART struct shape typical_shape(const struct model *model)
{
    struct shape shape = {.version = model->version,
                          .general_width = model->traits & WITH_40_BITS ? 40 : 48,
                          .general = UPMU_BIT32(model->general) - 1u,
                          .fixed = model->fixed,
                          .arch_events = model->arch_events,
                          .capabilities = model->traits & WITH_CAPABILITIES,
                          .metrics = model->traits & WITH_METRICS,
                          .branch_format = UPMU_X86_NO_FORMAT};

    shape.fixed_width = shape.general_width;
    if (model->traits & WITH_UMASK2)
        shape.select = UPMU_X86_SELECT_EQ | UPMU_X86_SELECT_UMASK2;
    return shape;
}

/* Indices in intel_leaves and `words`: the CPUID leaves that detection reads. */
enum {
    LEAF_PMU,
    LEAF_FEATURES,
    LEAF_FEATURES_1,
    LEAF_TYPE,
    LEAF_23,
    LEAF_23_COUNTERS,
    LEAF_23_EVENTS,
    LEAF_23_RELOAD,
    LEAF_23_RECORD,
    INTEL_LEAVES
};

static const struct upmu_leaf intel_leaves[INTEL_LEAVES] = {
    [LEAF_PMU] = {.leaf = 0xA},
    [LEAF_FEATURES] = {.leaf = 7},
    [LEAF_FEATURES_1] = {.leaf = 7, .subleaf = 1, .gate = UPMU_LEAF_WORD(LEAF_FEATURES, 0), .bits = ~UINT32_C(0)},
    [LEAF_TYPE] = {.leaf = 0x1A},
    [LEAF_23] = {.leaf = 0x23, .gate = UPMU_LEAF_WORD(LEAF_FEATURES_1, 0), .bits = UPMU_BIT32(8)},
    [LEAF_23_COUNTERS] = {.leaf = 0x23, .subleaf = 1, .gate = UPMU_LEAF_WORD(LEAF_23, 0), .bits = UPMU_BIT32(1)},
    [LEAF_23_EVENTS] = {.leaf = 0x23, .subleaf = 3, .gate = UPMU_LEAF_WORD(LEAF_23, 0), .bits = UPMU_BIT32(3)},
    [LEAF_23_RELOAD] = {.leaf = 0x23, .subleaf = 2, .gate = UPMU_LEAF_WORD(LEAF_23, 0), .bits = UPMU_BIT32(2)},
    [LEAF_23_RECORD] = {.leaf = 0x23, .subleaf = 5, .gate = UPMU_LEAF_WORD(LEAF_23, 0), .bits = UPMU_BIT32(5)},
};

/*
 * Set bitmap and width of the fixed counters. Without a hypervisor versions 2 to 4 have three at least, though early
 * parts report fewer. Under a hypervisor the number, even 0, is true. From version 5 on ECX has more counters as a
 * bitmap.
 */
static UPMU_APART void read_fixed(const struct upmu_detection *detection, const uint32_t leaf[4], struct shape *shape)
{
    unsigned contiguous = leaf[3] & 0x1fu;
    unsigned width = leaf[3] >> 5 & 0xffu;

    if (shape->version >= 5) {
        shape->fixed = leaf[2];
    } else if (!detection->hypervisor && contiguous < 3) {
        contiguous = 3;
        shape->capabilities |= UPMU_PMU_FIXED_FLOORED;
    }
    if (!width)
        width = shape->general_width;
    if (width - 32u > 32u)
        return;
    shape->fixed |= UPMU_BIT32(contiguous) - 1u;
    shape->fixed_width = (uint8_t)width;
}

/*
 * Set the features that CPUID leaf 23h reports, which are those of this core type, in place of leaf 0Ah's, which all
 * core types share: select bits, general and fixed counters, architectural events (a bit of 1: available). Features
 * whose subleaf the leaf lacks stay.
 */
static UPMU_APART void read_extension(const uint32_t words[][4], struct shape *shape)
{
    if (words[LEAF_23][1] & 1u)
        shape->select = UPMU_X86_SELECT_UMASK2;
    if (words[LEAF_23][1] & 2u)
        shape->select |= UPMU_X86_SELECT_EQ;
    if (words[LEAF_23_COUNTERS][0])
        shape->general = words[LEAF_23_COUNTERS][0];
    if (words[LEAF_23][0] & intel_leaves[LEAF_23_COUNTERS].bits)
        shape->fixed = words[LEAF_23_COUNTERS][1];
    if (words[LEAF_23][0] & intel_leaves[LEAF_23_EVENTS].bits)
        shape->arch_events = words[LEAF_23_EVENTS][0];
}

/*
 * Set the features that leaf 0Ah has. Version 0: the leaf reports no counter, or an impossible width. A bit of EBX
 * means "not available"; only bits below the length in EAX[31:24] are valid.
 */
static void read_shape(const struct upmu_detection *detection, const uint32_t words[][4], struct shape *shape)
{
    const uint32_t *leaf = words[LEAF_PMU];
    unsigned general = leaf[0] >> 8 & 0xffu, events = leaf[0] >> 24;

    memset(shape, 0, sizeof *shape);
    shape->general_width = (uint8_t)(leaf[0] >> 16);
    if (!general || shape->general_width - 32u > 32u)
        return;
    shape->version = (uint8_t)leaf[0];
    shape->general = UPMU_BIT32(general > 31 ? 31 : general) - 1u;
    shape->arch_events = ~leaf[1] & (UPMU_BIT32(events > 31 ? 31 : events) - 1u);
    if (shape->version < 2)
        return;
    if (shape->version >= 3 && !(leaf[3] >> 15 & 1u))
        shape->capabilities |= UPMU_PMU_ANYTHREAD;
    read_fixed(detection, leaf, shape);
    read_extension(words, shape);
}

#define CLX_STEPPING 5u /* from this stepping on a CPU of model 55h is a Cascade Lake, below a Skylake-SP */

/*
 * Return the model of a CPU with this family and model of CPUID. On hybrids EAX of leaf 1Ah (`type`) decides, too: core
 * type in bits 31:24, native model in bits 23:0. EAX may be 0 (E-cores disabled): then family and model alone decide.
 * The stepping tells Cascade Lake from Skylake-SP. An unknown CPU has a row by its version.
 */
static const struct model *find_model(const struct upmu_detection *detection, unsigned version, uint32_t type)
{
    unsigned row = version >= 5 ? M_UNKNOWN5 : M_UNKNOWN, native = (type & 0xffffffu) - 1u;

    for (unsigned i = 0; i < SIGNATURES; i++)
        if (signatures[i].family == detection->family && signatures[i].model == detection->model) {
            row = signatures[i].row;
            break;
        }
    if (row == M_SKX && detection->stepping >= CLX_STEPPING)
        row = M_CLX;
    if (row >= M_HYBRID && row < M_HYBRID_END) {
        if (native < (M_HYBRID_END - M_HYBRID) / 2)
            row = M_HYBRID + 2 * native;
        if (type >> 24 == 0x20)
            row += ~(row - M_HYBRID) & 1u; /* the Atom of the pair */
    }
    return &models[row];
}

/*
 * Correct the features where CPUID is known to report too little, and remove those that upmu does not have registers
 * for. `hybrid`: the package has different core types (EDX[15] of leaf 7).
 */
static UPMU_APART void correct_shape(const struct upmu_detection *detection, const struct model *model, bool hybrid,
                                     struct shape *shape)
{
    if (!detection->hypervisor) {
        if (hybrid && (model->traits & WITH_8_OF_4) && shape->version == 5) {
            shape->general = 0xff;
            shape->fixed = 0xf;
        }
        /* RPL018: on hybrids PERF_CAPABILITIES hides PERF_METRICS, which this core type has, and the other lacks. */
        if (model->quirks & QUIRK(NO_CAP_15))
            shape->metrics = true;
    }
    if (!shape->fixed_width)
        shape->fixed = 0;
    shape->metrics &= shape->fixed >> 3 & 1u; /* no metrics without fixed counter 3, which counts the slots */
    shape->general &= UPMU_BIT32(UPMU_X86_GENERAL) - 1u;
    shape->fixed &= UPMU_BIT32(UPMU_X86_FIXED) - 1u;
}

#if UPMU_PRECISE

#define MODEL_MEROM 0x0fu

/* shape.perf_capabilities where CPUID says that the register exists, and its read faulted. */
#define UNREAD_CAPABILITIES UINT64_MAX

/*
 * Note what PERF_CAPABILITIES says of precise records: bits 11:8 are their format. The library drives formats 0 to 6.
 * Without the baseline (bit 14) general counters 0 to 3 alone store records; rows of pebs_rules have those of a model.
 * Format 0 is taken for Core 2 and Bonnell alone: a hypervisor that hides the register does not say which one a CPU
 * has. For the same reason there is no format where the read of the register faults. Records of model 0FH are wrong
 * (AJ67, AJ68, AJ69, AJ106).
 */
static void note_records(const struct upmu_detection *detection, uint64_t capabilities, struct upmu_pmu *pmu)
{
    static const uint8_t words[] = {18, 22, 24, 25, 4, 4, 4};
    const uint64_t with_first = UINT64_C(1) << UPMU_X86_RULES_COR | UINT64_C(1) << UPMU_X86_RULES_BNL;
    unsigned format = (unsigned)(capabilities >> 8) & 0xfu;

    /* DTES64 (CPUID.1:ECX[2]): without it the debug store area and records have words of 32 bits (SDM 17.4.9). */
    if (!(detection->leaf1[2] >> 2 & 1u))
        return;
    if (capabilities == UNREAD_CAPABILITIES) {
        pmu->record_capabilities = UPMU_RECORDS_UNREAD;
        return;
    }
    if (!format && (!(upmu_x86_core_rules(pmu) & with_first) || detection->model == MODEL_MEROM))
        return;
    if (format < sizeof words / sizeof words[0] && words[format]) {
        pmu->record_capabilities = (uint32_t)capabilities;
        pmu->record_counters =
            pmu->counters & (capabilities & UPMU_RECORDS_ADAPTIVE ? UPMU_BIT32(UPMU_X86_METRIC(0)) - 1u : 0xfu);
        pmu->record_row = UPMU_X86_ROW_PEBS;
        pmu->record_bytes = (uint8_t)(8u * words[format]);
        upmu_x86_core_limit_records(pmu);
    }
}

#endif

/* Set the features that PERF_CAPABILITIES reports, if CPUID says that it exists and it can be read. */
static void read_capabilities(const struct upmu_detection *detection, struct shape *shape)
{
    uint64_t capabilities;

    if (UPMU_BRANCHES)
        shape->branch_format = UPMU_X86_NO_FORMAT;
    if (!(detection->leaf1[2] >> 15 & 1u))
        return;
#if UPMU_PRECISE
    shape->perf_capabilities = UNREAD_CAPABILITIES;
#endif
    if (!detection->rdmsr(detection->context, 0x345, true, &capabilities))
        return;
    if (UPMU_BRANCHES)
        shape->branch_format = (uint8_t)(capabilities & 0x3fu);
#if UPMU_PRECISE
    shape->perf_capabilities = capabilities;
#endif
    /* Before version 2 only a hypervisor reports full-width writes. Ignore it: the tables have no rows for them. */
    if (shape->version >= 2 && (capabilities >> 13 & 1u))
        shape->capabilities |= UPMU_PMU_FULL_WRITE;
    shape->metrics = shape->version >= 5 && (capabilities >> 15 & 1u);
    shape->by_index = (capabilities >> 8 & 0xfu) == 0xfu;
}

/*
 * Can a register be read? Only two failed reads say no: if a register were missed by mistake, its counter would look
 * free and still write records, or be reloaded.
 */
static bool is_readable(const struct upmu_detection *detection, uint32_t address)
{
    uint64_t value;

    return detection->rdmsr(detection->context, address, true, &value) ||
           detection->rdmsr(detection->context, address, true, &value);
}

/*
 * Return the bits of MISC_ENABLE that deny what the CPU's debug store can do (SDM 18.4.4, 17.4.5), or all bits where
 * the DS flag of CPUID says that there is none. A register that cannot be read denies nothing.
 */
static uint64_t read_denied(const struct upmu_detection *detection)
{
    uint64_t enable;

    if (!(detection->leaf1[3] >> 21 & 1u))
        return ~UINT64_C(0);
    return detection->rdmsr(detection->context, 0x1A0, true, &enable) ? enable : 0;
}

#define DENIES_TRACES UPMU_BIT64(11)
#define DENIES_RECORDS UPMU_BIT64(12)

#if UPMU_BTS

/* Note whether branches can be stored into memory, with words of 64 bits (DTES64), and left out by ring (DS-CPL). */
static void note_traces(const struct upmu_detection *detection, uint64_t denied, struct upmu_pmu *pmu)
{
    if ((denied & DENIES_TRACES) || !(detection->leaf1[2] >> 2 & 1u) || !(pmu->capabilities & UPMU_PMU_DEBUGCTL))
        return;
    pmu->traces = UPMU_TRACES_STORED;
    if (detection->leaf1[2] >> 4 & 1u)
        pmu->traces |= UPMU_TRACES_BY_RING;
}

#endif

/*
 * Mark rows of registers, from `row` on, as present: IA32_PMC_GPn_CFG_B, by which counters reload each other (leaf 23H
 * subleaf 2, EAX and EBX), or CFG_C, by which they write records (subleaf 5, EAX and ECX), and those of fixed counters
 * (FXn). Former software may have left them set. `general` and `fixed` are these words of the leaf, `address` is the
 * register of general counter 0. A register that cannot be read is left out.
 */
static UPMU_APART void add_configurations(const struct upmu_detection *detection, uint32_t general, uint32_t fixed,
                                          unsigned row, uint32_t address, struct upmu_pmu *pmu)
{
    general &= pmu->counters & (UPMU_BIT32(UPMU_X86_GENERAL) - 1u);
    fixed &= pmu->counters >> UPMU_FIXED_COUNTER(0) & (UPMU_BIT32(UPMU_X86_FIXED) - 1u);
    for (unsigned n = 0; n < UPMU_X86_GENERAL + UPMU_X86_FIXED; n++) {
        unsigned place = n < UPMU_X86_GENERAL ? n : n - UPMU_X86_GENERAL + 32u; /* fixed ones are at 1980H */

        if (((n < UPMU_X86_GENERAL ? general >> n : fixed >> (place - 32u)) & 1u) &&
            is_readable(detection, address + 4u * place))
            upmu_rows_set(pmu->present, row + n);
    }
}

/*
 * Erratum 26 of the Pentium Pro, before stepping 9: RDPMC in user mode reads wrong values (Linux
 * arch/x86/events/intel/p6.c p6_pmu_rdpmc_quirk). Counters without an index of RDPMC give user mode no right to it.
 */
static void forbid_rdpmc(const struct upmu_detection *detection, struct upmu_pmu *pmu)
{
    if (detection->family != 6 || detection->model != 1 || detection->stepping >= 9)
        return;
    for (uint32_t rest = pmu->general; rest; rest &= rest - 1u)
        pmu->counter[upmu_bits_lowest(rest)].rdpmc = UPMU_NO_RDPMC;
}

/*
 * Is the vendor "GenuineIntel", and does the family have this kind of PMU: 6 or above, but not 11 or 15? leaf0 has the
 * vendor's name in the order EBX, ECX, EDX.
 */
static bool is_intel_core(const struct upmu_detection *detection)
{
    return memcmp(&detection->leaf0[1], "GenuntelineI", 12) == 0 && detection->family >= 6 && detection->family != 11 &&
           detection->family != 15;
}

bool upmu_x86_core_detect(const struct upmu_detection *detection, struct upmu_pmu *out_pmu)
{
    uint32_t words[INTEL_LEAVES][4], features;
    const struct model *model;
    struct shape shape;
    uint64_t denied;
    bool tfa;

    if (!is_intel_core(detection))
        return false;
    upmu_detection_read(detection, detection->leaf0[0], intel_leaves, INTEL_LEAVES, words[0]);
    read_shape(detection, (const uint32_t(*)[4])words, &shape);
    model = find_model(detection, shape.version, words[LEAF_TYPE][0]);
    if (!shape.version) {
        /*
         * Without features in leaf 0Ah the CPU has counters only if it is a P6, which has no leaf 0Ah, and there is no
         * hypervisor.
         */
        if (model->version || detection->hypervisor || detection->leaf0[0] >= 0xA)
            return false;
        shape = typical_shape(model);
    }
    /* Transactional counting (in_tx, in_txcp), and whether microcode takes counter 3 (TSX_FORCE_ABORT). */
    if (words[LEAF_FEATURES][1] & (UPMU_BIT32(11) | UPMU_BIT32(4)))
        shape.capabilities |= UPMU_PMU_TSX;
    features = words[LEAF_FEATURES][3];
    tfa = (features & (UPMU_BIT32(13) | UPMU_BIT32(11))) == UPMU_BIT32(13);
    read_capabilities(detection, &shape);
    correct_shape(detection, model, features >> 15 & 1u, &shape);
    if (tfa)
        shape.general &= ~UPMU_BIT32(3);
    if (!(shape.general | shape.fixed))
        return false;
    build_pmu(out_pmu, model, &shape);
    forbid_rdpmc(detection, out_pmu);
    if (tfa)
        out_pmu->quirks |= UPMU_X86_QUIRK_TFA;
    denied = shape.version >= 2 ? read_denied(detection) : ~UINT64_C(0);
#if UPMU_BTS
    note_traces(detection, denied, out_pmu);
#endif
    /* A hypervisor may show records and refuse the register: then there are none. */
    if (!shape.by_index && !(denied & DENIES_RECORDS) && is_readable(detection, 0x3F1)) {
        upmu_rows_set(out_pmu->present, UPMU_X86_ROW_PEBS);
#if UPMU_PRECISE
        note_records(detection, shape.perf_capabilities, out_pmu);
#endif
    }
    add_configurations(detection, words[LEAF_23_RELOAD][0], words[LEAF_23_RELOAD][1], UPMU_X86_ROW_CFG_B, 0x1902,
                       out_pmu);
    add_configurations(detection, words[LEAF_23_RECORD][0], words[LEAF_23_RECORD][2], UPMU_X86_ROW_CFG_C, 0x1903,
                       out_pmu);
    out_pmu->core_type = (uint8_t)(words[LEAF_TYPE][0] >> 24);
    out_pmu->native = (uint8_t)words[LEAF_TYPE][0];
    if (UPMU_BRANCHES)
        upmu_x86_core_branches(detection, words[LEAF_FEATURES], shape.branch_format, out_pmu);
    return upmu_detection_identify(detection, out_pmu);
}

bool upmu_x86_core_describe(const char *name, struct upmu_pmu *out_pmu)
{
    if (same_text(name, "core2"))
        name = models[M_CORE].name;
    for (unsigned i = 0; i < M_UNKNOWN5; i++) {
        struct shape shape;

        if (!same_text(models[i].name, name))
            continue;
        shape = typical_shape(&models[i]);
        build_pmu(out_pmu, &models[i], &shape);
        out_pmu->family = 6;
        for (unsigned k = SIGNATURES; k-- > 0;)
            if (signatures[k].row == i || (i >= M_HYBRID && (signatures[k].row | 1u) == i)) {
                out_pmu->family = signatures[k].family;
                out_pmu->model = signatures[k].model;
            }
        /* The choice of the catalogue needs stepping, core type and native model, too. */
        if (i == M_CLX)
            out_pmu->stepping = CLX_STEPPING;
        if (i >= M_HYBRID && i < M_HYBRID_END) {
            out_pmu->core_type = i & 1u ? 0x20 : 0x40;
            out_pmu->native = (uint8_t)((i - M_HYBRID) / 2 + 1);
        }
        if (UPMU_BRANCHES)
            upmu_x86_core_branches(NULL, NULL, UPMU_X86_NO_FORMAT, out_pmu);
        return true;
    }
    return false;
}

const char *upmu_x86_core_names(unsigned i)
{
    return i < M_UNKNOWN5 ? models[i].name : NULL;
}

#endif
