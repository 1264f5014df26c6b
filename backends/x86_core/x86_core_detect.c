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
    uint32_t capabilities; /* UPMU_PMU_… that versions do not imply */
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

#define WITH_FULL UPMU_PMU_FULL_WRITE
#define WITH_ANY UPMU_PMU_ANYTHREAD
#define WITH_TSX UPMU_PMU_TSX
#define OFFCORE_SHARED ((1u << UPMU_X86_RESOURCE_OFFCORE0) | (1u << UPMU_X86_RESOURCE_OFFCORE1))

/* clang-format off */
/*
 * Valid payload bits: Linux arch/x86/events/intel/core.c, tables of extra
 * registers.  Shortest periods: erratum workaround for Nehalem there; elsewhere
 * two events, the shortest that Linux programs.  Threads of a core share the offcore
 * registers on Nehalem and Westmere only (ibid.).
 */
static const struct model models[] = {
    { "core", "Intel Core 2", { 0x0F, 0x16, 0x17, 0x1D }, { 2, 40, 40, 0x3, 0x7, 0x7f, 0 },
      { 0 }, 2, UPMU_X86_RULES_COR, 0 },
    { "coreduo", "Intel Core Duo", { 0x0E }, { 1, 40, 0, 0x3, 0, 0x7f, 0 },
      { 0 }, 2, UPMU_X86_RULES_YON, 0 },
    { "nhm", "Intel Nehalem", { 0x1A, 0x1E, 0x1F, 0x2E }, { 3, 48, 48, 0xf, 0x7, 0x3f, WITH_ANY },
      { 0xffff, 0, 0xffff, 0 }, 32, UPMU_X86_RULES_NHM, OFFCORE_SHARED },
    { "wsm", "Intel Westmere", { 0x25, 0x2C, 0x2F }, { 3, 48, 48, 0xf, 0x7, 0x7b, WITH_ANY },
      { 0xffff, 0xffff, 0xffff, 0 }, 2, UPMU_X86_RULES_WSM, OFFCORE_SHARED },
    { "skl", "Intel Skylake", { 0x4E, 0x5E, 0x8E, 0x9E, 0xA5, 0xA6 },
      { 4, 48, 48, 0xf, 0x7, 0x7f, WITH_FULL | WITH_ANY | WITH_TSX },
      { UINT64_C(0x3fffff8fff), UINT64_C(0x3fffff8fff), 0xffff, 0x7fff17 }, 2, UPMU_X86_RULES_SKL, 0 },
    { "icl", "Intel Ice Lake", { 0x7D, 0x7E, 0x8C, 0x8D, 0x9D, 0xA7 },
      { 5, 48, 48, 0xff, 0xf, 0xff, WITH_FULL | WITH_TSX },
      { UINT64_C(0x3fffffbfff), UINT64_C(0x3fffffbfff), 0xffff, 0x7fff17 }, 2, UPMU_X86_RULES_ICL, 0 },
    { "ix86arch", "Intel architectural PMU", { 0 }, { 4, 48, 48, 0xf, 0x7, 0x7f, WITH_FULL },
      { 0 }, 2, UPMU_X86_RULES_ARCHITECTURE, 0 },
};

/* A PMU of version 2 with counters of no width yet, which are written in 32 bits. */
#define GLOBAL_CAPABILITIES (UPMU_PMU_GLOBAL_CTRL | UPMU_PMU_STATUS | UPMU_PMU_DEBUGCTL)
#define GENERAL_ONE(n) \
    [n] = { UPMU_X86_ROW_PMC + (n), UPMU_X86_ROW_PMC + (n), UPMU_X86_ROW_SELECT + (n), UPMU_X86_ROW_GLOBAL_CTRL, \
            (n), 0, 32, (n) }
#define FIXED_ONE(n) \
    [UPMU_FIXED_COUNTER(n)] = { UPMU_X86_ROW_FIXED + (n), UPMU_X86_ROW_FIXED + (n), UPMU_X86_ROW_FIXED_CTRL, \
                                UPMU_X86_ROW_GLOBAL_CTRL, 32 + (n), 0, 0, UINT32_C(0x40000000) + (n) }
static const struct upmu_pmu version2 = {
    .backend = &upmu_x86_core_backend,
    .table = &upmu_x86_core_global_table,
    .capabilities = GLOBAL_CAPABILITIES,
    .shared_scope = UPMU_SCOPE_CORE,
    .counter = { GENERAL_ONE(0), GENERAL_ONE(1), GENERAL_ONE(2), GENERAL_ONE(3), GENERAL_ONE(4), GENERAL_ONE(5),
                 GENERAL_ONE(6), GENERAL_ONE(7),
                 FIXED_ONE(0), FIXED_ONE(1), FIXED_ONE(2), FIXED_ONE(3) },
    .status_row = UPMU_X86_ROW_STATUS,
    .ack_row = UPMU_X86_ROW_ACK,
    .inuse_row = UPMU_NO_ROW,
    .loop_config = UINT64_C(0xc0) | UPMU_X86_SELECT_USR | UPMU_X86_SELECT_OS, /* instructions retired */
    .present = { UPMU_BIT32(UPMU_X86_ROW_GLOBAL_CTRL) | UPMU_BIT32(UPMU_X86_ROW_STATUS) |
                     UPMU_BIT32(UPMU_X86_ROW_ACK),
                 UPMU_BIT32(UPMU_X86_ROW_DEBUGCTL - 32) },
    .limit = { [UPMU_X86_CLASS_SELECT] = 0xffd7ffff,
               [UPMU_X86_CLASS_STATUS] = ~UINT64_C(0), [UPMU_X86_CLASS_ACK] = ~UINT64_C(0),
               [UPMU_X86_CLASS_INUSE] = ~UINT64_C(0), [UPMU_X86_CLASS_DEBUGCTL] = ~UINT64_C(0) },
};
/* clang-format on */

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

/* What this CPU makes of a counter; fixed counters are preferred: they can do nothing else. */
static void add_counter(struct upmu_pmu *pmu, const struct shape *shape, unsigned i)
{
    struct upmu_counter *counter = &pmu->counter[i];

    counter->width = shape->general_width;
    if (i >= UPMU_FIXED_COUNTER(0)) {
        counter->width = shape->fixed_width;
        counter->write_bits = counter->width;
        pmu->limit[UPMU_X86_CLASS_FIXED_CTRL] |=
            (uint64_t)(shape->capabilities & UPMU_PMU_ANYTHREAD ? 0xf : 0xb) << (4u * (i - UPMU_FIXED_COUNTER(0)));
    } else if (shape->capabilities & UPMU_PMU_FULL_WRITE) {
        counter->write_row = (uint8_t)(UPMU_X86_ROW_FULL + i);
        counter->write_bits = counter->width;
    }
    if (shape->version < 2) {
        counter->gate_row = counter->select_row;
        counter->gate_bit = 22;
    }
    pmu->limit[UPMU_X86_CLASS_GLOBAL_CTRL] |= UPMU_BIT64(counter->gate_bit);
    upmu_register_add_counter(pmu, i, counter);
    pmu->preference[pmu->preference_count++] = (uint8_t)i;
}

static void add_payloads(struct upmu_pmu *pmu, const struct model *model)
{
    for (unsigned i = 0; i < UPMU_X86_RESOURCES; i++)
        if (model->payload[i]) {
            upmu_rows_set(pmu->present, UPMU_X86_ROW_OFFCORE + i);
            pmu->limit[pmu->table->rows[UPMU_X86_ROW_OFFCORE + i].class_index] = model->payload[i];
            pmu->shared |= model->shared & UPMU_BIT32(i);
        }
}

static void build(struct upmu_pmu *pmu, const struct model *model, const struct shape *shape)
{
    uint32_t counters = shape->general | shape->fixed << UPMU_FIXED_COUNTER(0);

    memcpy(pmu, &version2, sizeof *pmu);
    pmu->name = model->name;
    pmu->title = model->title;
    pmu->version = shape->version;
    pmu->arch_events = shape->arch_events;
    pmu->min_period = model->min_period;
    pmu->quirks = model->rules;
    pmu->general = shape->general;
    if (shape->version < 2) {
        pmu->table = &upmu_x86_core_single_table;
        pmu->capabilities = 0;
        pmu->status_row = UPMU_NO_ROW;
        pmu->ack_row = UPMU_NO_ROW;
        memset(pmu->present, 0, sizeof pmu->present);
    }
    if (shape->version >= 4) {
        pmu->capabilities |= UPMU_PMU_INUSE;
        pmu->inuse_row = UPMU_X86_ROW_INUSE;
        upmu_rows_set(pmu->present, UPMU_X86_ROW_INUSE);
    }
    pmu->capabilities |= shape->capabilities;
    pmu->limit[UPMU_X86_CLASS_PMC] = upmu_bits_ones(shape->general_width);
    pmu->max_period = shape->capabilities & UPMU_PMU_FULL_WRITE ? pmu->limit[UPMU_X86_CLASS_PMC] >> 1 : 0x7fffffff;
    pmu->limit[UPMU_X86_CLASS_FULL] = pmu->limit[UPMU_X86_CLASS_PMC];
    pmu->limit[UPMU_X86_CLASS_FIXED] = upmu_bits_ones(shape->fixed_width);
    if (shape->capabilities & UPMU_PMU_ANYTHREAD)
        pmu->limit[UPMU_X86_CLASS_SELECT] |= UPMU_X86_SELECT_ANY;
    if (shape->capabilities & UPMU_PMU_TSX)
        pmu->limit[UPMU_X86_CLASS_SELECT] |= UPMU_X86_SELECT_IN_TX | UPMU_X86_SELECT_IN_TXCP;
    add_payloads(pmu, model);
    for (unsigned k = 0; k < UPMU_COUNTERS; k++)
        if (counters >> (k ^ UPMU_FIXED_COUNTER(0)) & 1u)
            add_counter(pmu, shape, k ^ UPMU_FIXED_COUNTER(0));
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
    shape->fixed = (bitmap | (UPMU_BIT32(contiguous) - 1u)) & (UPMU_BIT32(UPMU_X86_FIXED) - 1u);
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
    shape->general = UPMU_BIT32(general > UPMU_X86_GENERAL ? UPMU_X86_GENERAL : general) - 1u;
    shape->arch_events = ~leaf[1] & (UPMU_BIT32(events > 31 ? 31 : events) - 1u);
    if (shape->version >= 2)
        read_fixed(detection, leaf, shape);
    if (shape->version >= 3 && !(leaf[3] >> 15 & 1u))
        shape->capabilities |= UPMU_PMU_ANYTHREAD;
    return true;
}

/* Leaf 7: transactional counting, and the microcode that takes counter 3 for itself. */
static void read_transactions(const struct upmu_detection *detection, struct shape *shape)
{
    uint32_t leaf[4];

    if (detection->leaf0[0] < 7)
        return;
    detection->cpuid(detection->context, 7, 0, leaf);
    if (leaf[1] & (UPMU_BIT32(11) | UPMU_BIT32(4)))
        shape->capabilities |= UPMU_PMU_TSX;
    if ((leaf[3] & (UPMU_BIT32(13) | UPMU_BIT32(11))) == UPMU_BIT32(13))
        shape->general &= ~UPMU_BIT32(3);
}

bool upmu_x86_core_detect(const struct upmu_detection *detection, struct upmu_pmu *out_pmu)
{
    struct shape shape;
    uint64_t capabilities;
    uint32_t leaf[4];

    memset(&shape, 0, sizeof shape);
    /* EBX, ECX, EDX of "GenuineIntel" */
    if (memcmp(&detection->leaf0[1], "GenuntelineI", 12) != 0 || detection->family < 6 || detection->family == 11 ||
        detection->family == 15 || !read_shape(detection, &shape))
        return false;
    read_transactions(detection, &shape);
    if ((detection->leaf1[2] >> 15 & 1u) && detection->rdmsr(detection->context, 0x345, true, &capabilities) &&
        (capabilities >> 13 & 1u))
        shape.capabilities |= UPMU_PMU_FULL_WRITE;
    if (detection->hypervisor)
        shape.capabilities |= UPMU_PMU_HYPERVISOR;
    build(out_pmu, find_model(detection->family, detection->model), &shape);
    if (detection->leaf0[0] >= 0x1A) {
        detection->cpuid(detection->context, 0x1A, 0, leaf);
        out_pmu->core_type = (uint8_t)(leaf[0] >> 24);
    }
    out_pmu->family = detection->family;
    out_pmu->model = detection->model;
    out_pmu->stepping = detection->stepping;
    return true;
}

bool upmu_x86_core_describe(const char *name, struct upmu_pmu *out_pmu)
{
    if (same_text(name, "core2"))
        name = "core";
    for (unsigned i = 0; i < MODELS; i++) {
        if (!same_text(models[i].name, name))
            continue;
        build(out_pmu, &models[i], &models[i].typical);
        out_pmu->family = 6;
        out_pmu->model = models[i].models[0];
        return true;
    }
    return false;
}

const char *upmu_x86_core_names(unsigned i)
{
    return i < MODELS ? models[i].name : NULL;
}

#endif
