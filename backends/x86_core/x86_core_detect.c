/* SPDX-License-Identifier: MIT */
/*
 * Which Intel core PMU is this, and what has it: CPUID leaf 0Ah with its traps,
 * PERF_CAPABILITIES, the model's payload registers.  Pure: reads go through the
 * detection's functions.
 *
 * Sources: Intel SDM vol 3 (325384-059) 18.2; CPUID dumps; Linux
 * arch/x86/events/intel/core.c for the floors and the hypervisor rule.
 */
#include "backends/x86_core/x86_core.h"
#include "backends/x86_core/x86_core_registers.h"
#include "core/bits.h"
#include "core/mem.h"
#include "core/register.h"

#if UPMU_BACKEND_X86_CORE

/* What CPUID says, before it is turned into a PMU. */
struct shape {
    uint8_t version;
    uint8_t general_width, fixed_width;
    uint32_t general, fixed; /* bitmaps */
    uint32_t arch_events;
    bool full_write;
    bool anythread;
    bool tsx;
};

/* A model: its name, what CPUID reports on it, and its payload registers. */
struct model {
    const char *name;
    const char *title;
    uint8_t models[8]; /* of family 6; ends with 0 */
    struct shape typical;
    uint64_t payload[UPMU_X86_RESOURCES]; /* valid bits; 0: no such register */
    uint8_t min_period;
    uint8_t rules;  /* UPMU_X86_RULES_… */
    uint8_t shared; /* resources that both threads of a core see */
};

/*
 * Valid payload bits: Linux arch/x86/events/intel/core.c, tables of extra
 * registers.  Shortest periods: erratum workaround for Nehalem there; elsewhere
 * two events, the shortest that Linux programs.  Threads of a core share the offcore
 * registers on Nehalem and Westmere only (ibid.).
 */
#define OFFCORE_SHARED ((1u << UPMU_X86_RESOURCE_OFFCORE0) | (1u << UPMU_X86_RESOURCE_OFFCORE1))

static const struct model models[] = {
    {"core",
     "Intel Core 2",
     {0x0F, 0x16, 0x17, 0x1D},
     {2, 40, 40, 0x3, 0x7, 0x7f, false, false, false},
     {0},
     2,
     UPMU_X86_RULES_COR,
     0},
    {"coreduo", "Intel Core Duo", {0x0E}, {1, 40, 0, 0x3, 0, 0x7f, false, false, false}, {0}, 2, UPMU_X86_RULES_YON, 0},
    {"nhm",
     "Intel Nehalem",
     {0x1A, 0x1E, 0x1F, 0x2E},
     {3, 48, 48, 0xf, 0x7, 0x3f, false, true, false},
     {0xffff, 0, 0xffff, 0},
     32,
     UPMU_X86_RULES_NHM,
     OFFCORE_SHARED},
    {"wsm",
     "Intel Westmere",
     {0x25, 0x2C, 0x2F},
     {3, 48, 48, 0xf, 0x7, 0x7b, false, true, false},
     {0xffff, 0xffff, 0xffff, 0},
     2,
     UPMU_X86_RULES_WSM,
     OFFCORE_SHARED},
    {"skl",
     "Intel Skylake",
     {0x4E, 0x5E, 0x8E, 0x9E, 0xA5, 0xA6},
     {4, 48, 48, 0xf, 0x7, 0x7f, true, true, true},
     {UINT64_C(0x3fffff8fff), UINT64_C(0x3fffff8fff), 0xffff, 0x7fff17},
     2,
     UPMU_X86_RULES_SKL,
     0},
    {"icl",
     "Intel Ice Lake",
     {0x7D, 0x7E, 0x8C, 0x8D, 0x9D, 0xA7},
     {5, 48, 48, 0xff, 0xf, 0xff, true, false, true},
     {UINT64_C(0x3fffffbfff), UINT64_C(0x3fffffbfff), 0xffff, 0x7fff17},
     2,
     UPMU_X86_RULES_ICL,
     0},
    {"ix86arch",
     "Intel architectural PMU",
     {0},
     {4, 48, 48, 0xf, 0x7, 0x7f, true, false, false},
     {0},
     2,
     UPMU_X86_RULES_ARCHITECTURE,
     0},
};

#define MODELS (sizeof models / sizeof models[0])
#define UNKNOWN_MODEL (MODELS - 1)

static bool same_text(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

static const struct model *find_model(uint16_t family, uint16_t model)
{
    for (unsigned i = 0; family == 6 && i < UNKNOWN_MODEL; i++)
        for (unsigned k = 0; k < sizeof models[i].models && models[i].models[k]; k++)
            if (models[i].models[k] == model)
                return &models[i];
    return &models[UNKNOWN_MODEL];
}

/* General and fixed counters: the same description with other numbers. */
static void add_counter(struct upmu_pmu *pmu, const struct shape *shape, unsigned i)
{
    struct upmu_counter *counter = &pmu->counter[i];
    bool fixed = i >= UPMU_FIXED_COUNTER(0);
    bool global = shape->version >= 2;
    unsigned n = fixed ? i - UPMU_FIXED_COUNTER(0) : i;

    counter->value_row = (uint8_t)((fixed ? UPMU_X86_ROW_FIXED : UPMU_X86_ROW_PMC) + n);
    counter->write_row = counter->value_row;
    counter->select_row = (uint8_t)(fixed ? (unsigned)UPMU_X86_ROW_FIXED_CTRL : UPMU_X86_ROW_SELECT + n);
    counter->gate_row = global ? UPMU_X86_ROW_GLOBAL_CTRL : counter->select_row;
    counter->gate_bit = (uint8_t)(fixed ? 32u + n : global ? n : 22u);
    counter->width = fixed ? shape->fixed_width : shape->general_width;
    counter->write_bits = counter->width;
    counter->rdpmc = fixed ? UINT32_C(0x40000000) + n : n;
    if (!fixed && shape->full_write)
        counter->write_row = (uint8_t)(UPMU_X86_ROW_FULL + n);
    else if (!fixed)
        counter->write_bits = 32;
    upmu_register_add_counter(pmu, i, counter);
    pmu->preference[pmu->preference_count++] = (uint8_t)i;
}

/* Fixed counters are preferred: they can do nothing else. */
static void add_counters(struct upmu_pmu *pmu, const struct shape *shape)
{
    uint32_t counters = shape->general | shape->fixed << UPMU_FIXED_COUNTER(0);

    pmu->general = shape->general;
    for (unsigned k = 0; k < UPMU_COUNTERS; k++) {
        unsigned i = (k + UPMU_FIXED_COUNTER(0)) % UPMU_COUNTERS;

        if (counters >> i & 1u)
            add_counter(pmu, shape, i);
    }
}

static void set_limits(struct upmu_pmu *pmu, const struct model *model, const struct shape *shape)
{
    uint64_t any = shape->anythread ? UPMU_X86_FIXED_ANY : 0;
    uint64_t *limit = pmu->limit;

    memset(limit, 0xff, sizeof pmu->limit);
    limit[UPMU_X86_CLASS_PMC] = upmu_bits_ones(shape->general_width);
    limit[UPMU_X86_CLASS_FULL] = limit[UPMU_X86_CLASS_PMC];
    limit[UPMU_X86_CLASS_FIXED] = upmu_bits_ones(shape->fixed_width);
    limit[UPMU_X86_CLASS_SELECT] =
        UINT64_C(0xffd7ffff) | any << 19 | (shape->tsx ? UPMU_X86_SELECT_IN_TX | UPMU_X86_SELECT_IN_TXCP : 0);
    limit[UPMU_X86_CLASS_FIXED_CTRL] = 0;
    for (unsigned i = 0; i < UPMU_X86_FIXED; i++)
        if (shape->fixed >> i & 1u)
            limit[UPMU_X86_CLASS_FIXED_CTRL] |= (UINT64_C(0xb) | any) << (4u * i);
    limit[UPMU_X86_CLASS_GLOBAL_CTRL] = shape->general | (uint64_t)shape->fixed << 32;
    for (unsigned i = 0; i < UPMU_X86_RESOURCES; i++) {
        unsigned row = UPMU_X86_ROW_OFFCORE + i;

        if (model->payload[i]) {
            upmu_rows_set(pmu->present, row);
            limit[pmu->table->rows[row].class_index] = model->payload[i];
            pmu->shared |= model->shared & UPMU_BIT64(i);
        }
    }
}

static void add_global(struct upmu_pmu *pmu, const struct shape *shape)
{
    pmu->capabilities |= UPMU_PMU_GLOBAL_CTRL | UPMU_PMU_STATUS | UPMU_PMU_DEBUGCTL;
    pmu->table = &upmu_x86_core_global_table;
    pmu->status_row = UPMU_X86_ROW_STATUS;
    pmu->ack_row = UPMU_X86_ROW_ACK;
    for (unsigned row = UPMU_X86_ROW_GLOBAL_CTRL; row <= UPMU_X86_ROW_DEBUGCTL; row++)
        upmu_rows_set(pmu->present, row);
    if (shape->version < 4) {
        upmu_rows_clear(pmu->present, UPMU_X86_ROW_INUSE);
        return;
    }
    pmu->capabilities |= UPMU_PMU_INUSE;
    pmu->inuse_row = UPMU_X86_ROW_INUSE;
}

static void build(struct upmu_pmu *pmu, const struct model *model, const struct shape *shape)
{
    pmu->name = model->name;
    pmu->title = model->title;
    pmu->backend = &upmu_x86_core_backend;
    pmu->table = &upmu_x86_core_single_table;
    pmu->version = shape->version;
    pmu->arch_events = shape->arch_events;
    pmu->status_row = UPMU_NO_ROW;
    pmu->ack_row = UPMU_NO_ROW;
    pmu->inuse_row = UPMU_NO_ROW;
    pmu->min_period = model->min_period;
    pmu->quirks = model->rules;
    pmu->shared_scope = UPMU_SCOPE_CORE;
    pmu->loop_config = UINT64_C(0xc0) | UPMU_X86_SELECT_USR | UPMU_X86_SELECT_OS; /* instructions retired */
    pmu->max_period = upmu_bits_ones(shape->full_write ? shape->general_width - 1u : 31);
    pmu->capabilities |= (shape->full_write ? UPMU_PMU_FULL_WRITE : 0) | (shape->anythread ? UPMU_PMU_ANYTHREAD : 0) |
                         (shape->tsx ? UPMU_PMU_TSX : 0);
    if (shape->version >= 2)
        add_global(pmu, shape);
    set_limits(pmu, model, shape);
    add_counters(pmu, shape);
}

/* Fixed counters: CPUID understates them on early parts, and only a hypervisor means 0. */
static void read_fixed(const uint32_t leaf[4], bool hypervisor, struct shape *shape, struct upmu_pmu *pmu)
{
    unsigned contiguous = leaf[3] & 0x1fu;
    unsigned width = leaf[3] >> 5 & 0xffu;
    uint32_t bitmap = shape->version >= 5 ? leaf[2] : 0;

    if (shape->version < 2)
        return;
    if (shape->version < 5 && !hypervisor && contiguous < 3) {
        contiguous = 3;
        pmu->capabilities |= UPMU_PMU_FIXED_FLOORED;
    }
    if (!width)
        width = shape->general_width;
    shape->fixed = (bitmap | (uint32_t)upmu_bits_ones(contiguous)) & (uint32_t)upmu_bits_ones(UPMU_X86_FIXED);
    shape->fixed_width = (uint8_t)width;
}

/*
 * Leaf 0Ah.  A bit of EBX means "not available", and only those below the length
 * in EAX[31:24] mean anything.
 */
static bool read_shape(const struct upmu_detection *detection, struct shape *shape, struct upmu_pmu *pmu)
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
    if (general > UPMU_X86_GENERAL)
        general = UPMU_X86_GENERAL;
    shape->general = (uint32_t)upmu_bits_ones(general);
    shape->arch_events = ~leaf[1] & (uint32_t)upmu_bits_ones(events > 31 ? 31 : events);
    read_fixed(leaf, detection->hypervisor, shape, pmu);
    if (shape->fixed && (shape->fixed_width < 32 || shape->fixed_width > 64))
        shape->fixed = 0;
    shape->anythread = shape->version >= 3 && !(leaf[3] >> 15 & 1u);
    return true;
}

/* Leaf 7: transactional counting, and the microcode that takes counter 3 for itself. */
static void read_transactions(const struct upmu_detection *detection, struct shape *shape)
{
    uint32_t leaf[4];

    if (detection->leaf0[0] < 7)
        return;
    detection->cpuid(detection->context, 7, 0, leaf);
    shape->tsx = (leaf[1] >> 11 & 1u) || (leaf[1] >> 4 & 1u);
    if ((leaf[3] >> 13 & 1u) && !(leaf[3] >> 11 & 1u))
        shape->general &= ~UPMU_BIT32(3);
}

static bool is_intel(const uint32_t leaf0[4])
{
    return leaf0[1] == UINT32_C(0x756e6547) && leaf0[3] == UINT32_C(0x49656e69) && leaf0[2] == UINT32_C(0x6c65746e);
}

bool upmu_x86_core_detect(const struct upmu_detection *detection, struct upmu_pmu *out_pmu)
{
    struct shape shape;
    uint64_t capabilities;
    uint32_t leaf[4];

    memset(out_pmu, 0, sizeof *out_pmu);
    memset(&shape, 0, sizeof shape);
    if (!is_intel(detection->leaf0) || detection->family < 6 || detection->family == 11 || detection->family == 15 ||
        !read_shape(detection, &shape, out_pmu))
        return false;
    read_transactions(detection, &shape);
    if ((detection->leaf1[2] >> 15 & 1u) && detection->rdmsr(detection->context, 0x345, true, &capabilities))
        shape.full_write = capabilities >> 13 & 1u;
    if (detection->leaf0[0] >= 0x1A) {
        detection->cpuid(detection->context, 0x1A, 0, leaf);
        out_pmu->core_type = (uint8_t)(leaf[0] >> 24);
    }
    out_pmu->family = detection->family;
    out_pmu->model = detection->model;
    out_pmu->stepping = detection->stepping;
    if (detection->hypervisor)
        out_pmu->capabilities |= UPMU_PMU_HYPERVISOR;
    build(out_pmu, find_model(detection->family, detection->model), &shape);
    return true;
}

bool upmu_x86_core_describe(const char *name, struct upmu_pmu *out_pmu)
{
    if (same_text(name, "core2"))
        name = "core";
    for (unsigned i = 0; i < MODELS; i++) {
        if (!same_text(models[i].name, name))
            continue;
        memset(out_pmu, 0, sizeof *out_pmu);
        out_pmu->family = 6;
        out_pmu->model = models[i].models[0];
        build(out_pmu, &models[i], &models[i].typical);
        return true;
    }
    return false;
}

const char *upmu_x86_core_names(unsigned i)
{
    return i < MODELS ? models[i].name : NULL;
}

#endif
