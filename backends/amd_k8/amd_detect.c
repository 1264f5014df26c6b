/* SPDX-License-Identifier: MIT */
/*
 * Which AMD PMU is this: families K7 to Zen and Hygon's, counters by CPUID.  Pure: reads
 * go through the detection's functions.
 *
 * Sources: AMD APM vol 2 (24593) chapter 13 and vol 3 appendix E (CPUID); Linux
 * arch/x86/events/amd/core.c; perfctr 2.6.42 (K7 and K8 have counters that no CPUID flag
 * tells of).
 */
#include "backends/amd_k8/amd_k8.h"
#include "backends/amd_k8/amd_registers.h"
#include "core/bits.h"
#include "core/mem.h"
#include "core/register.h"
#include "core/text.h"

#if UPMU_BACKEND_AMD

#include "backends/amd_k8/amd_models.h"

#define AMD_EXTENDED_FEATURES UINT32_C(0x80000001)
#define AMD_ADDRESS_SIZES UINT32_C(0x80000008)
#define AMD_IBS_LEAF UINT32_C(0x8000001b)
#define AMD_PERFORMANCE UINT32_C(0x80000022)

/* Leaf 8000_0001h, ECX. */
#define AMD_CPUID_SVM UPMU_BIT32(2)
#define AMD_CPUID_PERFCTR_CORE UPMU_BIT32(23)

#define AMD_CPUID_IBS UPMU_BIT32(10)

/* Leaf 8000_001Bh, EAX: bit 0 says that the others mean anything; else there are both units. */
#define AMD_IBS_BASIC 7u

/* Leaf 8000_0022h, EAX. */
#define AMD_CPUID_PERFMON_V2 UPMU_BIT32(0)
#define AMD_CPUID_FREEZE UPMU_BIT32(2)

#define AMD_MSR_EFER UINT32_C(0xC0000080)
#define AMD_EFER_SVME UPMU_BIT64(12)
#define AMD_MSR_SELECT0 UINT32_C(0xC0010000)

/* Programming fewer than 2 events to wait for is never tried (Linux arch/x86/events/core.c). */
#define AMD_LEAST_PERIOD 2u
#define AMD_WIDTH 48u

/* What a CPU has. */
struct amd_shape {
    uint8_t model;
    uint8_t counters;
    uint32_t ibs;
    bool extended, global, freeze, svm, svme, cores;
};

/* One counter: where its registers are is the same in all tables. */
static void add_amd_counter(struct upmu_pmu *pmu, const struct amd_shape *shape, unsigned n)
{
    struct upmu_counter counter = {.value_row = (uint8_t)(UPMU_AMD_ROW_CTR + n),
                                   .write_row = (uint8_t)(UPMU_AMD_ROW_CTR + n),
                                   .select_row = (uint8_t)(UPMU_AMD_ROW_SELECT + n),
                                   .gate_row = (uint8_t)(UPMU_AMD_ROW_SELECT + n),
                                   .gate_bit = UPMU_AMD_SELECT_EN_BIT,
                                   .width = AMD_WIDTH,
                                   .write_bits = AMD_WIDTH,
                                   .rdpmc = n < UPMU_AMD_EXTENDED ? n : UPMU_NO_RDPMC};

    if (shape->global) {
        counter.gate_row = UPMU_AMD_ROW_GLOBAL_CTL;
        counter.gate_bit = (uint8_t)n;
        pmu->limit[UPMU_AMD_CLASS_GLOBAL_CTL] |= UPMU_BIT64(n);
    }
    upmu_register_add_counter(pmu, n, &counter);
    pmu->preference[pmu->preference_count++] = (uint8_t)n;
}

/* Global control, status and acknowledgement of PerfMonV2. */
static void add_global(struct upmu_pmu *pmu, const struct amd_shape *shape)
{
    pmu->version = 2;
    pmu->table = &upmu_amd_global_table;
    pmu->capabilities |= UPMU_PMU_GLOBAL_CTRL | UPMU_PMU_STATUS;
    pmu->status_row = UPMU_AMD_ROW_STATUS;
    pmu->ack_row = UPMU_AMD_ROW_ACK;
    upmu_rows_set(pmu->present, UPMU_AMD_ROW_STATUS);
    upmu_rows_set(pmu->present, UPMU_AMD_ROW_ACK);
    pmu->limit[UPMU_AMD_CLASS_STATUS] = ~UINT64_C(0);
    pmu->limit[UPMU_AMD_CLASS_ACK] = ~UINT64_C(0);
    pmu->limit[UPMU_AMD_CLASS_DEBUGCTL] = ~UINT64_C(0);
    if (!shape->freeze)
        return;
    pmu->capabilities |= UPMU_PMU_DEBUGCTL;
    upmu_rows_set(pmu->present, UPMU_AMD_ROW_DEBUGCTL);
}

/* Select bits: event bits 11:8 came with family 10h, guest and host with SVM's counters there. */
static uint64_t select_limit(const struct amd_model *model, const struct amd_shape *shape)
{
    uint64_t bits = UPMU_AMD_SELECT_EVENT | UINT64_C(0xffd7ff00);

    if (model->traits & AMD_WITH_BITS_8)
        return (bits | UPMU_AMD_SELECT_PC) & UINT64_C(0xffffffff);
    return shape->svm ? bits | UPMU_AMD_SELECT_GUEST | UPMU_AMD_SELECT_HOST : bits;
}

/* Registers of IBS; some are there with a capability only. */
static void add_ibs(struct upmu_pmu *pmu, uint32_t capabilities)
{
    static const struct {
        uint8_t row;
        uint16_t with; /* one of these, in bits 31:4 of the capabilities */
    } optional[] = {
        {UPMU_AMD_ROW_FETCH + 3, 1u << 5}, {UPMU_AMD_ROW_OP + 7, 1u << 1}, {UPMU_AMD_ROW_OP + 8, 1u << 6},
        {UPMU_AMD_ROW_FETCH2, 1u << 9},    {UPMU_AMD_ROW_OP2, 1u << 9},
    };

    pmu->ibs = capabilities;
    pmu->limit[UPMU_AMD_CLASS_IBS_CTL] = ~UINT64_C(0);
    pmu->limit[UPMU_AMD_CLASS_IBS_DATA] = ~UINT64_C(0);
    for (unsigned row = UPMU_AMD_ROW_FETCH; row < UPMU_AMD_ROW_FETCH2; row++)
        upmu_rows_set(pmu->present, row);
    for (unsigned i = 0; i < sizeof optional / sizeof optional[0]; i++)
        if (capabilities >> 4 & optional[i].with)
            upmu_rows_set(pmu->present, optional[i].row);
        else
            upmu_rows_clear(pmu->present, optional[i].row);
}

static void build_amd(struct upmu_pmu *pmu, const struct amd_shape *shape)
{
    const struct amd_model *model = &amd_models[shape->model];

    memset(pmu, 0, sizeof *pmu);
    pmu->name = model->name;
    pmu->title = model->title;
    pmu->backend = &upmu_amd_k8_backend;
    pmu->table = shape->extended ? &upmu_amd_extended_table : &upmu_amd_legacy_table;
    pmu->capabilities = UPMU_PMU_FULL_WRITE | UPMU_PMU_LATE;
    pmu->quirks = shape->model | (uint32_t)(model->traits & AMD_TRAIT_QUIRKS) << 8;
    if (shape->svme)
        pmu->quirks |= UPMU_AMD_SVME;
    if (shape->model == AMD_K8_E && shape->cores)
        pmu->quirks |= UPMU_AMD_NB_RESET;
    pmu->status_row = UPMU_NO_ROW;
    pmu->ack_row = UPMU_NO_ROW;
    pmu->inuse_row = UPMU_NO_ROW;
    pmu->max_period = upmu_bits_ones(AMD_WIDTH - 1u);
    pmu->min_period = AMD_LEAST_PERIOD;
    pmu->loop_config = UINT64_C(0xc0) | UPMU_AMD_SELECT_USR | UPMU_AMD_SELECT_OS; /* instructions retired */
    pmu->limit[UPMU_AMD_CLASS_CTR] = upmu_bits_ones(AMD_WIDTH);
    pmu->limit[UPMU_AMD_CLASS_SELECT] = select_limit(model, shape);
    if (pmu->quirks & UPMU_AMD_NB_SHARED) {
        pmu->shared = UPMU_BIT64(UPMU_AMD_RESOURCE_NB);
        pmu->shared_scope = UPMU_SCOPE_NODE;
    }
    if (UPMU_IBS && shape->ibs)
        add_ibs(pmu, shape->ibs);
    if (shape->global)
        add_global(pmu, shape);
    for (unsigned n = 0; n < shape->counters; n++)
        add_amd_counter(pmu, shape, n);
    pmu->general = pmu->counters;
}

/* libpfm4's rule of K8's revision B: model 5 below stepping 2, model 4 of stepping 0. */
static bool is_revision_b(unsigned model, unsigned stepping)
{
    return (model == 5 && stepping < 2) || (model == 4 && !stepping);
}

static unsigned find_amd_model(const struct upmu_detection *detection)
{
    if (detection->family == 0xf && is_revision_b(detection->model, detection->stepping))
        return AMD_K8_B;
    for (unsigned i = 0; i < AMD_SIGNATURES; i++)
        if (amd_signatures[i].family == detection->family && amd_signatures[i].first <= detection->model &&
            detection->model <= amd_signatures[i].last)
            return amd_signatures[i].model;
    return detection->family < 0x17 ? AMD_OLD : AMD_NEW;
}

/* K7, K8 and family 11h have no bits for guest and host, though some have SVM. */
static bool knows_guests(unsigned model)
{
    return !(amd_models[model].traits & AMD_WITH_BITS_8) && model != AMD_11H;
}

static uint32_t read_ibs(const struct upmu_detection *detection, uint32_t most)
{
    uint32_t leaf[4] = {0, 0, 0, 0};

    if (most >= AMD_IBS_LEAF)
        detection->cpuid(detection->context, AMD_IBS_LEAF, 0, leaf);
    return leaf[0] & 1u ? leaf[0] : AMD_IBS_BASIC;
}

/* Counters by CPUID: PerfMonV2 says how many, the extended block has six, the legacy one four. */
static void read_amd_shape(const struct upmu_detection *detection, struct amd_shape *shape)
{
    uint32_t leaf[4], most;
    uint64_t efer;

    memset(shape, 0, sizeof *shape);
    shape->model = (uint8_t)find_amd_model(detection);
    shape->counters = UPMU_AMD_LEGACY;
    detection->cpuid(detection->context, UINT32_C(0x80000000), 0, leaf);
    most = leaf[0];
    if (most < AMD_EXTENDED_FEATURES)
        return;
    detection->cpuid(detection->context, AMD_EXTENDED_FEATURES, 0, leaf);
    shape->svm = (leaf[2] & AMD_CPUID_SVM) && knows_guests(shape->model);
    shape->extended = leaf[2] & AMD_CPUID_PERFCTR_CORE;
    if (shape->extended)
        shape->counters = UPMU_AMD_EXTENDED;
    if (shape->svm && detection->rdmsr(detection->context, AMD_MSR_EFER, true, &efer))
        shape->svme = efer & AMD_EFER_SVME;
    if (leaf[2] & AMD_CPUID_IBS)
        shape->ibs = read_ibs(detection, most);
    if (most >= AMD_ADDRESS_SIZES) {
        detection->cpuid(detection->context, AMD_ADDRESS_SIZES, 0, leaf);
        shape->cores = leaf[2] & 0xffu;
    }
    if (most < AMD_PERFORMANCE)
        return;
    detection->cpuid(detection->context, AMD_PERFORMANCE, 0, leaf);
    if (!(leaf[0] & AMD_CPUID_PERFMON_V2) || !(leaf[1] & 0xfu))
        return;
    shape->counters = leaf[1] & 0xfu;
    shape->extended = true;
    shape->global = true;
    shape->freeze = leaf[0] & AMD_CPUID_FREEZE;
}

/* EBX, ECX, EDX of "AuthenticAMD" and of "HygonGenuine". */
static bool is_amd_or_hygon(const struct upmu_detection *detection)
{
    return memcmp(&detection->leaf0[1], "AuthcAMDenti", 12) == 0 ||
           (memcmp(&detection->leaf0[1], "HygouinenGen", 12) == 0 && detection->family >= 0x17);
}

bool upmu_amd_detect(const struct upmu_detection *detection, struct upmu_pmu *out_pmu)
{
    struct amd_shape shape;
    uint64_t select;

    if (!is_amd_or_hygon(detection) || detection->family < 6)
        return false;
    read_amd_shape(detection, &shape);
    /* No CPUID bit promises the legacy registers: a hypervisor may have none. */
    if (detection->hypervisor && !shape.extended &&
        !detection->rdmsr(detection->context, AMD_MSR_SELECT0, false, &select))
        return false;
    build_amd(out_pmu, &shape);
    if (detection->hypervisor) {
        out_pmu->capabilities |= UPMU_PMU_HYPERVISOR;
        out_pmu->quirks &= ~UPMU_AMD_1292; /* its bit is none that guests are given */
    }
    out_pmu->family = detection->family;
    out_pmu->model = detection->model;
    out_pmu->stepping = detection->stepping;
    return true;
}

/* What is typical for a model, found by libpfm4's name or that of its catalogue. */
bool upmu_amd_describe(const char *name, struct upmu_pmu *out_pmu)
{
    size_t length = upmu_text_length(name);
    struct amd_shape shape;

    for (unsigned i = 0; length && i < AMD_MODELS; i++) {
        /* A catalogue of several models: the last of them. */
        if (i == AMD_ZEN3_0 || (!upmu_text_is(name, length, amd_models[i].name) &&
                                (!upmu_text_is(name, length, amd_models[i].catalog) || i == AMD_HYGON ||
                                 (i + 1u < AMD_MODELS && upmu_text_is(name, length, amd_models[i + 1u].catalog)))))
            continue;
        memset(&shape, 0, sizeof shape);
        shape.model = (uint8_t)i;
        shape.extended = amd_models[i].traits & AMD_WITH_EXTENDED;
        shape.global = (amd_models[i].traits & AMD_WITH_GLOBAL) == AMD_WITH_GLOBAL;
        shape.freeze = shape.global;
        shape.counters = shape.extended ? UPMU_AMD_EXTENDED : UPMU_AMD_LEGACY;
        shape.svm = knows_guests(i);
        build_amd(out_pmu, &shape);
        for (unsigned k = AMD_SIGNATURES; k-- > 0;)
            if (amd_signatures[k].model == i) {
                out_pmu->family = amd_signatures[k].family;
                out_pmu->model = amd_signatures[k].first;
            }
        return true;
    }
    return false;
}

const char *upmu_amd_names(unsigned i)
{
    i += i >= AMD_ZEN3_0; /* two rows have one name */
    return i < AMD_MODELS ? amd_models[i].name : NULL;
}

const char *upmu_amd_catalog(const struct upmu_pmu *pmu)
{
    return amd_models[pmu->quirks & UPMU_AMD_MODEL].catalog;
}

unsigned upmu_amd_revision(const struct upmu_pmu *pmu)
{
    unsigned model = pmu->quirks & UPMU_AMD_MODEL;

    if (model >= AMD_10H_B && model <= AMD_10H_D)
        return model - AMD_10H_B;
    return model >= AMD_K8_B && model <= AMD_K8_G ? model - AMD_K8_B : 0;
}

unsigned upmu_amd_generic(const struct upmu_pmu *pmu)
{
    return amd_models[pmu->quirks & UPMU_AMD_MODEL].generic;
}

/* Cores of a node are told apart by their initial APIC ids. */
unsigned upmu_amd_thread(const struct upmu_detection *detection)
{
    return detection->leaf1[1] >> 24;
}

#endif
