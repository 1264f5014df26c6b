/* SPDX-License-Identifier: MIT */
/*
 * Which Intel core PMU is this, and what has it: CPUID leaves 0Ah and 23h with their
 * traps, PERF_CAPABILITIES, the table of models in x86_core_models.h.  Pure: reads go through the
 * detection's functions.
 *
 * Sources: Intel SDM vol 3 (325384-059) 18.2; CPUID dumps of InstLatx64; Linux
 * arch/x86/events/intel/core.c for leaf 23h, floors, core types and the hypervisor
 * rule; names: libpfm4 4.13, where it has one.
 */
#include "backends/x86_core/x86_core.h"
#include "backends/x86_core/x86_core_registers.h"
#include "core/bits.h"
#include "core/mem.h"
#include "core/register.h"

#if UPMU_BACKEND_X86_CORE

#include "backends/x86_core/x86_core_models.h"

/* What CPUID says, before it is turned into a PMU. */
struct shape {
    uint8_t version;
    uint8_t general_width, fixed_width;
    uint32_t general, fixed; /* bitmaps */
    uint32_t arch_events;
    uint32_t capabilities; /* UPMU_PMU_… that versions do not imply */
    uint64_t select;       /* select bits that versions do not imply */
    bool metrics;
    bool hybrid; /* leaf 7: core types differ */
};

/* clang-format off */
/* A PMU of version 2 with counters of no width yet, which are written in 32 bits. */
#define GLOBAL_CAPABILITIES (UPMU_PMU_GLOBAL_CTRL | UPMU_PMU_STATUS | UPMU_PMU_DEBUGCTL)
#define GENERAL_ONE(n) \
    [n] = { UPMU_X86_ROW_PMC + (n), UPMU_X86_ROW_PMC + (n), UPMU_X86_ROW_SELECT + (n), UPMU_X86_ROW_GLOBAL_CTRL, \
            (n), 0, 32, 0, (n) }
#define FIXED_ONE(n) \
    [UPMU_FIXED_COUNTER(n)] = { UPMU_X86_ROW_FIXED + (n), UPMU_X86_ROW_FIXED + (n), UPMU_X86_ROW_FIXED_CTRL, \
                                UPMU_X86_ROW_GLOBAL_CTRL, 32 + (n), 0, 0, 0, UINT32_C(0x40000000) + (n) }
#define METRIC_ONE(n) \
    [UPMU_X86_METRIC(n)] = { UPMU_X86_ROW_METRICS, UPMU_X86_ROW_METRICS, UPMU_X86_ROW_FIXED_CTRL, \
                             UPMU_X86_ROW_GLOBAL_CTRL, 48, 0, 0, 0, UINT32_C(0x20000000) }
#define ROW_BIT(row) UPMU_BIT32((row) & 31)
static const struct upmu_pmu version2 = {
    .backend = &upmu_x86_core_backend,
    .table = &upmu_x86_core_global_table,
    .capabilities = GLOBAL_CAPABILITIES,
    .shared_scope = UPMU_SCOPE_CORE,
    .counter = { GENERAL_ONE(0), GENERAL_ONE(1), GENERAL_ONE(2), GENERAL_ONE(3), GENERAL_ONE(4), GENERAL_ONE(5),
                 GENERAL_ONE(6), GENERAL_ONE(7), GENERAL_ONE(8), GENERAL_ONE(9),
                 FIXED_ONE(0), FIXED_ONE(1), FIXED_ONE(2), FIXED_ONE(3), FIXED_ONE(4), FIXED_ONE(5), FIXED_ONE(6),
                 METRIC_ONE(0), METRIC_ONE(1), METRIC_ONE(2), METRIC_ONE(3), METRIC_ONE(4), METRIC_ONE(5),
                 METRIC_ONE(6), METRIC_ONE(7) },
    .status_row = UPMU_X86_ROW_STATUS,
    .ack_row = UPMU_X86_ROW_ACK,
    .inuse_row = UPMU_NO_ROW,
    .loop_config = UINT64_C(0xc0) | UPMU_X86_SELECT_USR | UPMU_X86_SELECT_OS, /* instructions retired */
    .present = { 0, ROW_BIT(UPMU_X86_ROW_GLOBAL_CTRL) | ROW_BIT(UPMU_X86_ROW_STATUS) |
                        ROW_BIT(UPMU_X86_ROW_ACK) | ROW_BIT(UPMU_X86_ROW_DEBUGCTL) },
    .limit = { [UPMU_X86_CLASS_SELECT] = 0xffd7ffff,
               [UPMU_X86_CLASS_STATUS] = ~UINT64_C(0), [UPMU_X86_CLASS_ACK] = ~UINT64_C(0),
               [UPMU_X86_CLASS_INUSE] = ~UINT64_C(0), [UPMU_X86_CLASS_DEBUGCTL] = ~UINT64_C(0),
               [UPMU_X86_CLASS_METRICS] = ~UINT64_C(0) },
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

/* What this CPU makes of a counter; fixed counters are preferred: they can do nothing else. */
static void add_counter(struct upmu_pmu *pmu, const struct shape *shape, unsigned i)
{
    struct upmu_counter *counter = &pmu->counter[i];

    counter->width = shape->general_width;
    if (i >= UPMU_FIXED_COUNTER(0)) {
        counter->width = i < UPMU_X86_METRIC(0) ? shape->fixed_width : 64;
        counter->write_bits = counter->width;
        if (i < UPMU_X86_METRIC(0))
            pmu->limit[UPMU_X86_CLASS_FIXED_CTRL] |= (uint64_t)(shape->capabilities & UPMU_PMU_ANYTHREAD ? 0xf : 0xb)
                                                     << (4u * (i - UPMU_FIXED_COUNTER(0)));
    } else if (pmu->capabilities & UPMU_PMU_FULL_WRITE) {
        if (shape->version < 6)
            counter->write_row = (uint8_t)(UPMU_X86_ROW_FULL + i);
        counter->write_bits = counter->width;
    }
    if (shape->version < 2) {
        counter->gate_row = counter->select_row;
        counter->gate_bit = pmu->table == &upmu_x86_core_single_table ? 22 : UPMU_X86_P6_GATE;
    }
    pmu->limit[UPMU_X86_CLASS_GLOBAL_CTRL] |= UPMU_BIT64(counter->gate_bit);
    upmu_register_add_counter(pmu, i, counter);
    pmu->preference[pmu->preference_count++] = (uint8_t)i;
}

/* Tables and registers that go with the version. */
static void apply_version(struct upmu_pmu *pmu, unsigned version)
{
    if (version < 2) {
        /* AE49: nor has Core Duo an enable bit of its own for counter 1 (Linux 2.6 perfctr-watchdog.c). */
        pmu->table =
            (pmu->quirks & 31u) > UPMU_X86_RULES_YON ? &upmu_x86_core_single_table : &upmu_x86_core_p6_table;
        pmu->capabilities = 0;
        pmu->status_row = UPMU_NO_ROW;
        pmu->ack_row = UPMU_NO_ROW;
        memset(pmu->present, 0, sizeof pmu->present);
    }
    if (version >= 4) {
        pmu->capabilities |= UPMU_PMU_INUSE;
        pmu->inuse_row = UPMU_X86_ROW_INUSE;
        upmu_rows_set(pmu->present, UPMU_X86_ROW_INUSE);
    }
    if (version >= 6) {
        pmu->table = &upmu_x86_core_block_table;
        pmu->capabilities |= UPMU_PMU_FULL_WRITE;
    }
}

static void build(struct upmu_pmu *pmu, const struct model *model, const struct shape *shape)
{
    uint32_t counters = shape->general | shape->fixed << UPMU_FIXED_COUNTER(0);

    if (shape->metrics)
        counters |= ((model->traits & WITH_8_METRICS) == WITH_8_METRICS ? 0xffu : 0xfu) << UPMU_X86_METRIC(0);
    memcpy(pmu, &version2, sizeof *pmu);
    pmu->name = model->name;
    pmu->title = model->title;
    pmu->version = shape->version;
    pmu->arch_events = shape->arch_events;
    pmu->min_period = model->min_period;
    pmu->quirks = model->rules | (uint32_t)model->quirks << 8;
    if (shape->version < 2 || (shape->general & 0xfu) != 0xfu) /* nor have hypervisors the registers of the sequence */
        pmu->quirks &= ~UPMU_X86_QUIRK_PRELUDE;
    if (pmu->quirks & UPMU_X86_QUIRK_PRELUDE)
        pmu->capabilities |= UPMU_PMU_PRELUDE;
    /* AAJ80: Nehalems say that mispredicted branches miscount. */
    if (model->rules == UPMU_X86_RULES_NHM && !(shape->arch_events >> 6 & 1u))
        pmu->quirks |= UPMU_X86_QUIRK_AAJ80;
    pmu->general = shape->general;
    apply_version(pmu, shape->version);
    pmu->capabilities |= shape->capabilities;
    pmu->limit[UPMU_X86_CLASS_PMC] = upmu_bits_ones(shape->general_width);
    pmu->max_period =
        pmu->capabilities & UPMU_PMU_FULL_WRITE ? pmu->limit[UPMU_X86_CLASS_PMC] >> 1 : 0x7fffffff;
    pmu->limit[UPMU_X86_CLASS_FULL] = pmu->limit[UPMU_X86_CLASS_PMC];
    pmu->limit[UPMU_X86_CLASS_FIXED] = upmu_bits_ones(shape->fixed_width);
    pmu->limit[UPMU_X86_CLASS_SELECT] |= shape->select;
    if (shape->capabilities & UPMU_PMU_ANYTHREAD)
        pmu->limit[UPMU_X86_CLASS_SELECT] |= UPMU_X86_SELECT_ANY;
    if (shape->capabilities & UPMU_PMU_TSX)
        pmu->limit[UPMU_X86_CLASS_SELECT] |= UPMU_X86_SELECT_IN_TX | UPMU_X86_SELECT_IN_TXCP;
    upmu_x86_core_add_payloads(pmu);
    if (model->traits & (WITH_CORE_RSP | WITH_MODULE_RSP))
        pmu->shared = 1u << UPMU_X86_RESOURCE_OFFCORE0 | 1u << UPMU_X86_RESOURCE_OFFCORE1;
    if (pmu->quirks & UPMU_X86_QUIRK_EXCLUSIVE) {
        pmu->capabilities |= UPMU_PMU_PAIRED;
        pmu->shared |= UINT64_C(0xff) << UPMU_PAIR_RESOURCE(0);
    }
    if (model->traits & WITH_MODULE_RSP)
        pmu->shared_scope = UPMU_SCOPE_MODULE;
    for (unsigned k = 0; k < UPMU_COUNTERS; k++)
        if (counters >> (k ^ UPMU_FIXED_COUNTER(0)) & 1u)
            add_counter(pmu, shape, k ^ UPMU_FIXED_COUNTER(0));
}

/* What is typical for a model. */
static void typical_shape(const struct model *model, struct shape *shape)
{
    memset(shape, 0, sizeof *shape);
    shape->version = model->version;
    shape->general_width = model->traits & WITH_40_BITS ? 40 : 48;
    shape->fixed_width = shape->general_width;
    shape->general = UPMU_BIT32(model->general) - 1u;
    shape->fixed = model->fixed;
    shape->arch_events = model->arch_events;
    shape->capabilities = model->traits & WITH_CAPABILITIES;
    shape->select = model->traits & WITH_UMASK2 ? UPMU_X86_SELECT_EQ | UPMU_X86_SELECT_UMASK2 : 0;
    shape->metrics = model->traits & WITH_METRICS;
}

/* Fixed counters: CPUID understates them on early parts, and only a hypervisor means 0. */
static void read_fixed(const struct upmu_detection *detection, const uint32_t leaf[4], struct shape *shape)
{
    unsigned contiguous = leaf[3] & 0x1fu;
    unsigned width = leaf[3] >> 5 & 0xffu;
    uint32_t bitmap = 0;

    if (shape->version >= 5) {
        bitmap = leaf[2];
    } else if (!detection->hypervisor && contiguous < 3) {
        contiguous = 3;
        shape->capabilities |= UPMU_PMU_FIXED_FLOORED;
    }
    if (!width)
        width = shape->general_width;
    if (width < 32 || width > 64)
        return;
    shape->fixed = bitmap | (UPMU_BIT32(contiguous) - 1u);
    shape->fixed_width = (uint8_t)width;
}

/*
 * Leaf 0Ah.  A bit of EBX means "not available", and only those below the length
 * in EAX[31:24] mean anything.
 */
static bool read_shape(const struct upmu_detection *detection, struct shape *shape)
{
    uint32_t leaf[4];
    unsigned general, events;

    if (detection->leaf0[0] < 0xA)
        return false;
    detection->cpuid(detection->context, 0xA, 0, leaf);
    shape->version = (uint8_t)leaf[0];
    general = leaf[0] >> 8 & 0xffu;
    shape->general_width = (uint8_t)(leaf[0] >> 16);
    events = leaf[0] >> 24;
    if (!shape->version || !general || shape->general_width < 32 || shape->general_width > 64)
        return false;
    shape->general = UPMU_BIT32(general > 31 ? 31 : general) - 1u;
    shape->arch_events = ~leaf[1] & (UPMU_BIT32(events > 31 ? 31 : events) - 1u);
    if (shape->version >= 2)
        read_fixed(detection, leaf, shape);
    if (shape->version >= 3 && !(leaf[3] >> 15 & 1u))
        shape->capabilities |= UPMU_PMU_ANYTHREAD;
    return true;
}

/* Leaf 23h: what this core type has, where 0Ah tells what all have; 1 means available. */
static void read_extension(const struct upmu_detection *detection, struct shape *shape)
{
    uint32_t leaf[4], subleaves;

    detection->cpuid(detection->context, 0x23, 0, leaf);
    subleaves = leaf[0];
    if (leaf[1] & 1u)
        shape->select |= UPMU_X86_SELECT_UMASK2;
    if (leaf[1] & 2u)
        shape->select |= UPMU_X86_SELECT_EQ;
    if (subleaves >> 1 & 1u) {
        detection->cpuid(detection->context, 0x23, 1, leaf);
        if (leaf[0])
            shape->general = leaf[0];
        shape->fixed = leaf[1];
    }
    if (subleaves >> 3 & 1u) {
        detection->cpuid(detection->context, 0x23, 3, leaf);
        shape->arch_events = leaf[0];
    }
}

/* Leaf 7: transactional counting, microcode that takes counter 3 for it (*out_tfa), and whether leaf 23h is there. */
static void read_features(const struct upmu_detection *detection, struct shape *shape, bool *out_tfa)
{
    uint32_t leaf[4], subleaf[4];

    *out_tfa = false;
    if (detection->leaf0[0] < 7)
        return;
    detection->cpuid(detection->context, 7, 0, leaf);
    if (leaf[1] & (UPMU_BIT32(11) | UPMU_BIT32(4)))
        shape->capabilities |= UPMU_PMU_TSX;
    shape->hybrid = leaf[3] >> 15 & 1u;
    *out_tfa = (leaf[3] & (UPMU_BIT32(13) | UPMU_BIT32(11))) == UPMU_BIT32(13);
    if (!leaf[0] || detection->leaf0[0] < 0x23 || shape->version < 2)
        return;
    detection->cpuid(detection->context, 7, 1, subleaf);
    if (subleaf[0] >> 8 & 1u)
        read_extension(detection, shape);
}

/*
 * The model by family and model, and its core type by leaf 1Ah: type in EAX[31:24],
 * native model below.  A leaf of zeros (E-cores disabled) means a big core.
 */
static const struct model *find_model(const struct upmu_detection *detection, unsigned version, uint8_t *out_type,
                                      uint8_t *out_native)
{
    unsigned row = version >= 5 ? M_UNKNOWN5 : M_UNKNOWN, native;
    uint32_t leaf[4] = {0};

    for (unsigned i = 0; i < SIGNATURES; i++)
        if (signatures[i].family == detection->family && signatures[i].model == detection->model) {
            row = signatures[i].row;
            break;
        }
    if (row == M_SKX && detection->stepping >= 5)
        row = M_CLX;
    if (detection->leaf0[0] >= 0x1A)
        detection->cpuid(detection->context, 0x1A, 0, leaf);
    *out_type = (uint8_t)(leaf[0] >> 24);
    *out_native = (uint8_t)leaf[0];
    if (row < M_HYBRID || row >= M_HYBRID_END)
        return &models[row];
    native = leaf[0] & 0xffffffu;
    if (native - 1u < (M_HYBRID_END - M_HYBRID) / 2)
        row = M_HYBRID + 2 * (native - 1u);
    if (*out_type == 0x20)
        row |= 1u;
    return &models[row];
}
_Static_assert(M_HYBRID % 2 == 0, "an Atom is one above its big core");

/* Where CPUID is known to say too little or too much. */
static void correct_shape(const struct upmu_detection *detection, const struct model *model, struct shape *shape)
{
    if (shape->hybrid && !detection->hypervisor && (model->traits & WITH_8_OF_4) && shape->version == 5) {
        shape->general = 0xff;
        shape->fixed = 0xf;
    }
    if (!shape->fixed_width)
        shape->fixed = 0;
    /* RPL018, and hybrids' PERF_CAPABILITIES tell what both core types have. */
    if (!detection->hypervisor && (model->quirks & QUIRK(NO_CAP_15)))
        shape->metrics = true;
    shape->metrics &= shape->fixed >> 3 & 1u; /* fractions of what fixed counter 3 counts */
    shape->general &= UPMU_BIT32(UPMU_X86_GENERAL) - 1u;
    shape->fixed &= UPMU_BIT32(UPMU_X86_FIXED) - 1u;
}

/* P6 has no leaf 0Ah; a hypervisor that shows one has no counters. */
static bool is_p6(const struct upmu_detection *detection, const struct model *model)
{
    return !model->version && !detection->hypervisor && detection->leaf0[0] < 0xA;
}

bool upmu_x86_core_detect(const struct upmu_detection *detection, struct upmu_pmu *out_pmu)
{
    const struct model *model;
    struct shape shape;
    uint64_t capabilities;
    uint8_t core_type, native;
    bool tfa;

    memset(&shape, 0, sizeof shape);
    /* EBX, ECX, EDX of "GenuineIntel" */
    if (memcmp(&detection->leaf0[1], "GenuntelineI", 12) != 0 || detection->family < 6 || detection->family == 11 ||
        detection->family == 15)
        return false;
    if (!read_shape(detection, &shape))
        shape.version = 0;
    model = find_model(detection, shape.version, &core_type, &native);
    if (!shape.version) {
        if (!is_p6(detection, model))
            return false;
        typical_shape(model, &shape);
    }
    read_features(detection, &shape, &tfa);
    if ((detection->leaf1[2] >> 15 & 1u) && detection->rdmsr(detection->context, 0x345, true, &capabilities)) {
        /* Before version 2, where only a hypervisor has it, the tables have no rows for it. */
        if (shape.version >= 2 && (capabilities >> 13 & 1u))
            shape.capabilities |= UPMU_PMU_FULL_WRITE;
        shape.metrics = shape.version >= 5 && (capabilities >> 15 & 1u);
    }
    if (detection->hypervisor)
        shape.capabilities |= UPMU_PMU_HYPERVISOR;
    correct_shape(detection, model, &shape);
    if (tfa)
        shape.general &= ~UPMU_BIT32(3);
    if (!(shape.general | shape.fixed))
        return false;
    build(out_pmu, model, &shape);
    if (tfa)
        out_pmu->quirks |= UPMU_X86_QUIRK_TFA;
    out_pmu->core_type = core_type;
    out_pmu->native = native;
    out_pmu->family = detection->family;
    out_pmu->model = detection->model;
    out_pmu->stepping = detection->stepping;
    return true;
}

bool upmu_x86_core_describe(const char *name, struct upmu_pmu *out_pmu)
{
    struct shape shape;

    if (same_text(name, "core2"))
        name = models[M_CORE].name;
    for (unsigned i = 0; i < M_UNKNOWN5; i++) {
        if (!same_text(models[i].name, name))
            continue;
        typical_shape(&models[i], &shape);
        build(out_pmu, &models[i], &shape);
        out_pmu->family = 6;
        for (unsigned k = SIGNATURES; k-- > 0;)
            if (signatures[k].row == i || (i >= M_HYBRID && (signatures[k].row | 1u) == i)) {
                out_pmu->family = signatures[k].family;
                out_pmu->model = signatures[k].model;
            }
        return true;
    }
    return false;
}

const char *upmu_x86_core_names(unsigned i)
{
    return i < M_UNKNOWN5 ? models[i].name : NULL;
}

#endif
