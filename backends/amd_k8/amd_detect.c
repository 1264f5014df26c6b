/* SPDX-License-Identifier: MIT */
/*
 * Detect AMD's PMUs: families K7 to Zen and Hygon's, counters by CPUID. Pure: reads go through the detection's
 * functions.
 *
 * Sources: AMD APM vol 2 (24593) chapter 13 and vol 3 appendix E (CPUID); Linux arch/x86/events/amd/core.c; perfctr
 * 2.6.42 (the counters of K7 and K8, which no CPUID flag announces).
 */
#include "backends/amd_k8/amd_k8.h"
#include "backends/amd_k8/amd_registers.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/register.h"
#include "core/util/text.h"

#if UPMU_BACKEND_AMD

#include "backends/amd_k8/amd_models.h"

/* Leaf 8000_0001h, ECX. */
#define AMD_CPUID_SVM UPMU_BIT32(2)
#define AMD_CPUID_PERFCTR_CORE UPMU_BIT32(23)

#define AMD_CPUID_IBS UPMU_BIT32(10)

/*
 * Capabilities of IBS where leaf 8000_001Bh does not exist or bit 0 of its EAX is clear, so that its other bits are not
 * valid: bits 2:0, that is, both units exist and nothing more.
 */
#define AMD_IBS_BASIC 7u

/* Leaf 8000_0022h, EAX. */
#define AMD_CPUID_PERFMON_V2 UPMU_BIT32(0)
#define AMD_CPUID_FREEZE UPMU_BIT32(2)

#define AMD_MSR_EFER UINT32_C(0xC0000080)
#define AMD_EFER_SVME UPMU_BIT64(12)
#define AMD_MSR_SELECT0 UINT32_C(0xC0010000)

/* The shortest period is 2 events (Linux arch/x86/events/core.c). */
#define AMD_LEAST_PERIOD 2u
#define AMD_WIDTH 48u

/*
 * Bits of `has` in the functions below, besides AMD_WITH_EXTENDED, AMD_WITH_GLOBAL and UPMU_AMD_…: features of this
 * CPU.
 */
#define AMD_HAS_FREEZE 0x01u
#define AMD_HAS_GUESTS 0x02u

/* The bit in upmu_pmu.present[1] of a row from 32 to 63. */
#define AMD_ROW_BIT(row) UPMU_BIT32((row) - 32)

/* Add counter n to a PMU. The registers of a counter have the same rows in all tables. */
static void add_amd_counter(struct upmu_pmu *pmu, unsigned n)
{
    struct upmu_counter *counter = &pmu->counter[n];

    counter->value_row = counter->write_row = (uint8_t)(UPMU_AMD_ROW_CTR + n);
    counter->select_row = counter->gate_row = (uint8_t)(UPMU_AMD_ROW_SELECT + n);
    counter->gate_bit = UPMU_AMD_SELECT_EN_BIT;
    if (pmu->capabilities & UPMU_PMU_GLOBAL_CTRL) {
        counter->gate_row = UPMU_AMD_ROW_GLOBAL_CTL;
        counter->gate_bit = (uint8_t)n;
    }
    counter->width = counter->write_bits = AMD_WIDTH;
    counter->rdpmc = n < UPMU_AMD_EXTENDED ? n : UPMU_NO_RDPMC;
    upmu_register_add_counter(pmu, n, counter);
    pmu->preference[pmu->preference_count++] = (uint8_t)n;
}

/*
 * Add the registers of PerfMonV2: global control, status and acknowledgement, and DebugCtl if counters can be frozen.
 */
static void add_global(struct upmu_pmu *pmu, unsigned has)
{
    pmu->version = 2;
    pmu->kernel_select = 0; /* one write closes all gates: no counter runs while it is written */
    pmu->table = &upmu_amd_global_table;
    pmu->capabilities |= UPMU_PMU_GLOBAL_CTRL | UPMU_PMU_STATUS;
    pmu->status_row = UPMU_AMD_ROW_STATUS;
    pmu->ack_row = UPMU_AMD_ROW_ACK;
    pmu->present[1] = AMD_ROW_BIT(UPMU_AMD_ROW_STATUS) | AMD_ROW_BIT(UPMU_AMD_ROW_ACK);
    memset(&pmu->limit[UPMU_AMD_CLASS_STATUS], 0xff, 3 * sizeof pmu->limit[0]);
    if (!(has & AMD_HAS_FREEZE))
        return;
    pmu->capabilities |= UPMU_PMU_DEBUGCTL;
    pmu->present[1] |= AMD_ROW_BIT(UPMU_AMD_ROW_DEBUGCTL);
}
_Static_assert(UPMU_AMD_CLASS_STATUS + 1 == UPMU_AMD_CLASS_ACK && UPMU_AMD_CLASS_ACK + 1 == UPMU_AMD_CLASS_DEBUGCTL,
               "the three of PerfMonV2");

/*
 * Return the bits that a select of this PMU has (upmu_pmu.limit). Event bits 11:8 exist from family 10h on, pin control
 * exists before; guest and host exist with SVM.
 */
static uint64_t select_limit(unsigned has)
{
    uint64_t bits = UPMU_AMD_SELECT_EVENT | UINT64_C(0xffd7ff00);

    if (has & AMD_WITH_BITS_8)
        return UINT64_C(0xffd7ffff) | UPMU_AMD_SELECT_PC;
    return has & AMD_HAS_GUESTS ? bits | UPMU_AMD_SELECT_GUEST | UPMU_AMD_SELECT_HOST : bits;
}

/*
 * Add the registers of IBS. with[i] is for row UPMU_AMD_ROW_FETCH + i: the row exists if with[i] is 0, or if bits 19:4
 * of `capabilities` have one of its bits.
 */
static void add_ibs(struct upmu_pmu *pmu, uint32_t capabilities)
{
    static const uint16_t with[] = {[3] = 1u << 5, [11] = 1u << 1, [12] = 1u << 6, [13] = 1u << 9, [14] = 1u << 9};

    pmu->ibs = capabilities;
    pmu->limit[UPMU_AMD_CLASS_IBS_CTL] = ~UINT64_C(0);
    pmu->limit[UPMU_AMD_CLASS_IBS_DATA] = ~UINT64_C(0);
    for (unsigned i = 0; i < sizeof with / sizeof with[0]; i++)
        if (!with[i] || (capabilities >> 4 & with[i]))
            upmu_rows_set(pmu->present, UPMU_AMD_ROW_FETCH + i);
}
_Static_assert(UPMU_AMD_ROW_OP == UPMU_AMD_ROW_FETCH + 4 && UPMU_AMD_ROW_OP2 == UPMU_AMD_ROW_FETCH + 14,
               "rows of `with`");

static void build_amd(struct upmu_pmu *pmu, unsigned index, unsigned counters, unsigned has)
{
    const struct amd_model *model = &amd_models[index];

    memset(pmu, 0, sizeof *pmu);
    pmu->name = model->name;
    pmu->title = AMD_TITLE(model);
    pmu->table = has & AMD_WITH_EXTENDED ? &upmu_amd_extended_table : &upmu_amd_legacy_table;
    pmu->capabilities = UPMU_PMU_FULL_WRITE;
    pmu->variant = (uint8_t)index;
    pmu->quirks = (model->traits & AMD_TRAIT_QUIRKS) | (has & (UPMU_AMD_SVME | UPMU_AMD_NB_RESET));
    pmu->status_row = pmu->ack_row = pmu->inuse_row = UPMU_NO_ROW;
    pmu->kernel_select = UPMU_AMD_SELECT_OS; /* not 0: running counters may be written (perfctr 2.6.42, x86.c) */
    pmu->max_period = upmu_bits_ones(AMD_WIDTH - 1u);
    pmu->min_period = AMD_LEAST_PERIOD;
    pmu->loop_config = UINT64_C(0xc0) | UPMU_AMD_SELECT_USR | UPMU_AMD_SELECT_OS; /* instructions retired */
    pmu->cycles_config = UINT64_C(0x76) | UPMU_AMD_SELECT_USR | UPMU_AMD_SELECT_OS;
    pmu->limit[UPMU_AMD_CLASS_CTR] = upmu_bits_ones(AMD_WIDTH);
    pmu->limit[UPMU_AMD_CLASS_SELECT] = select_limit(has | model->traits);
    if (pmu->quirks & UPMU_AMD_NB_SHARED) {
        pmu->shared = UPMU_BIT64(UPMU_AMD_RESOURCE_NB);
        pmu->shared_scope = UPMU_SCOPE_NODE;
    }
    if ((has & AMD_WITH_GLOBAL) == AMD_WITH_GLOBAL)
        add_global(pmu, has);
    for (unsigned n = 0; n < counters; n++)
        add_amd_counter(pmu, n);
    pmu->general = pmu->counters;
    pmu->limit[UPMU_AMD_CLASS_GLOBAL_CTL] = pmu->counters;
}

/* Is a CPU of family 0Fh a K8 of revision B? libpfm4's rule: model 5 below stepping 2, or model 4 of stepping 0. */
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

/*
 * Do the selects of a model, an index of amd_models, have bits for guest and host? Those of K7, K8 and family 11h do
 * not, though some have SVM.
 */
static bool knows_guests(unsigned model)
{
    return !(amd_models[model].traits & AMD_WITH_BITS_8) && model != AMD_11H;
}

/* Indices in amd_leaves and `words`: the CPUID leaves that detection reads. */
enum { AMD_LEAF_FEATURES, AMD_LEAF_SIZES, AMD_LEAF_IBS, AMD_LEAF_PERFORMANCE, AMD_LEAVES };

static const struct upmu_leaf amd_leaves[AMD_LEAVES] = {
    [AMD_LEAF_FEATURES] = {.leaf = UINT32_C(0x80000001)},
    [AMD_LEAF_SIZES] = {.leaf = UINT32_C(0x80000008)},
    [AMD_LEAF_IBS] = {.leaf = UINT32_C(0x8000001b),
                      .gate = UPMU_LEAF_WORD(AMD_LEAF_FEATURES, 2),
                      .bits = AMD_CPUID_IBS},
    [AMD_LEAF_PERFORMANCE] = {.leaf = UINT32_C(0x80000022)},
};

/*
 * Fill in the PMU of a CPU. Number of counters: with PerfMonV2 CPUID has it; with PERFCTR_CORE alone it is six, else
 * four.
 */
static void describe_cpu(const struct upmu_detection *detection, const uint32_t words[][4], struct upmu_pmu *out_pmu)
{
    uint32_t features = words[AMD_LEAF_FEATURES][2], performance = words[AMD_LEAF_PERFORMANCE][0];
    unsigned model = find_amd_model(detection), counters = UPMU_AMD_LEGACY, has = 0;
    uint64_t efer;

    if (features & AMD_CPUID_PERFCTR_CORE) {
        has = AMD_WITH_EXTENDED;
        counters = UPMU_AMD_EXTENDED;
    }
    if ((features & AMD_CPUID_SVM) && knows_guests(model)) {
        has |= AMD_HAS_GUESTS;
        if (detection->rdmsr(detection->context, AMD_MSR_EFER, true, &efer) && (efer & AMD_EFER_SVME))
            has |= UPMU_AMD_SVME;
    }
    if (model == AMD_K8_E && (words[AMD_LEAF_SIZES][2] & 0xffu))
        has |= UPMU_AMD_NB_RESET;
    if ((performance & AMD_CPUID_PERFMON_V2) && (words[AMD_LEAF_PERFORMANCE][1] & 0xfu)) {
        counters = words[AMD_LEAF_PERFORMANCE][1] & 0xfu;
        has |= performance & AMD_CPUID_FREEZE ? AMD_WITH_GLOBAL | AMD_HAS_FREEZE : AMD_WITH_GLOBAL;
    }
    build_amd(out_pmu, model, counters, has);
    if (UPMU_IBS && (features & AMD_CPUID_IBS))
        add_ibs(out_pmu, words[AMD_LEAF_IBS][0] & 1u ? words[AMD_LEAF_IBS][0] : AMD_IBS_BASIC);
    if (UPMU_BRANCHES)
        upmu_amd_branches(words[AMD_LEAF_SIZES][1], words[AMD_LEAF_PERFORMANCE], out_pmu);
}

/* Is the vendor "AuthenticAMD" or "HygonGenuine" (EBX, ECX, EDX of leaf 0)? */
static bool is_amd_or_hygon(const struct upmu_detection *detection)
{
    return memcmp(&detection->leaf0[1], "AuthcAMDenti", 12) == 0 ||
           (memcmp(&detection->leaf0[1], "HygouinenGen", 12) == 0 && detection->family >= 0x17);
}

bool upmu_amd_detect(const struct upmu_detection *detection, struct upmu_pmu *out_pmu)
{
    uint32_t words[AMD_LEAVES][4];
    uint64_t select;

    if (!is_amd_or_hygon(detection) || detection->family < 6)
        return false;
    detection->cpuid(detection->context, UINT32_C(0x80000000), 0, words[0]);
    upmu_detection_read(detection, words[0][0], amd_leaves, AMD_LEAVES, words[0]);
    describe_cpu(detection, (const uint32_t(*)[4])words, out_pmu);
    (void)upmu_detection_identify(detection, out_pmu);
    if (!detection->hypervisor)
        return true;
    out_pmu->quirks &= ~UPMU_AMD_1292; /* hypervisors do not let guests set bit 43, which the workaround needs */
    /* No CPUID bit promises the legacy registers: a hypervisor may have none. */
    return out_pmu->table != &upmu_amd_legacy_table ||
           detection->rdmsr(detection->context, AMD_MSR_SELECT0, false, &select);
}

/* Describe the typical CPU of a model, by libpfm4's name or by the name of its catalogue. */
bool upmu_amd_describe(const char *name, struct upmu_pmu *out_pmu)
{
    size_t length = upmu_text_length(name);

    for (unsigned i = 0; length && i < AMD_MODELS; i++) {
        const struct amd_model *model = &amd_models[i];
        unsigned has = model->traits & AMD_WITH_GLOBAL;

        /*
         * A catalogue's name stands for the last one of adjacent models with that catalogue; "zen1" is Zen, not
         * Hygon's.
         */
        if (i == AMD_ZEN3_0 || (!upmu_text_is(name, length, model->name) &&
                                (!upmu_text_is(name, length, model->catalog) || i == AMD_HYGON ||
                                 (i + 1u < AMD_MODELS && upmu_text_is(name, length, model[1].catalog)))))
            continue;
        if (has == AMD_WITH_GLOBAL)
            has |= AMD_HAS_FREEZE;
        if (knows_guests(i))
            has |= AMD_HAS_GUESTS;
        build_amd(out_pmu, i, has & AMD_WITH_EXTENDED ? UPMU_AMD_EXTENDED : UPMU_AMD_LEGACY, has);
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
    i += i >= AMD_ZEN3_0; /* skip AMD_ZEN3_0: two rows have one name */
    return i < AMD_MODELS ? amd_models[i].name : NULL;
}

const char *upmu_amd_catalog(const struct upmu_pmu *pmu)
{
    return amd_models[pmu->variant].catalog;
}

unsigned upmu_amd_revision(const struct upmu_pmu *pmu)
{
    unsigned model = pmu->variant;

    if (model >= AMD_10H_B && model <= AMD_10H_D)
        return model - AMD_10H_B;
    return model >= AMD_K8_B && model <= AMD_K8_G ? model - AMD_K8_B : 0;
}

unsigned upmu_amd_generic(const struct upmu_pmu *pmu)
{
    return amd_models[pmu->variant].generic;
}

/* Return the number that tells a core from the others of its node: the initial APIC id. */
unsigned upmu_amd_thread(const struct upmu_detection *detection)
{
    return detection->leaf1[1] >> 24;
}

#endif
