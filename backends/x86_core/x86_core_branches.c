/* SPDX-License-Identifier: MIT */
/*
 * The branch stacks of Intel's core PMUs: which model has which stack with which filters, or why upmu uses none.
 * Hardware is read only through the functions of struct upmu_detection.
 *
 * Sources: Linux 6.12 arch/x86/events/intel/lbr.c (depths, addresses, maps of filters), core.c (which models are alike;
 * lbr_pt_coexist), asm/perf_event.h (leaf 1Ch), asm/msr-index.h.
 */
#include "backends/x86_core/x86_core.h"
#include "backends/x86_core/x86_core_registers.h"
#include "core/util/bits.h"

#if UPMU_BACKEND_X86_CORE && UPMU_BRANCHES

#define MSR_DEBUGCTL 0x1D9u
#define MSR_LBR_SELECT 0x1C8u
#define MSR_LBR_TOS 0x1C9u
#define MSR_LBR_CTL 0x14CEu
#define MSR_LBR_DEPTH 0x14CFu

/* From this version on an interrupt freezes the stack by a status bit (Linux core.c, intel_pmu_lbr_enable). */
#define STREAMLINED_VERSION 4u

/*
 * Bits of LBR_SELECT, which keep branches out: 0 kernel, 1 user, 2 Jcc, 3 call, 4 indirect call, 5 return, 6 indirect
 * jump, 7 jump, 8 far. Bits of LBR_CTL, which let branches in: 0 enable, 1 kernel, 2 user, 16 Jcc, 17 jump, 18 indirect
 * jump, 19 call, 20 indirect call, 21 return, 22 other. `filter` has the bits for UPMU_BRANCH_USER, _KERNEL, _ANY, ...
 */
#define SELECT_BITS .all = 0x1ff, .filter = {2, 1, 0x1fc, 1u << 3, 1u << 4, 1u << 5, 1u << 2, 1u << 6}
#define CTL_BITS .filter = {4, 2, 0x7f0000, 1u << 19, 1u << 20, 1u << 21, 1u << 16, 1u << 18}
#define BY_DEBUGCTL .top = MSR_LBR_TOS, .control = MSR_DEBUGCTL, .enable = 1, .step = 1

#define MODE_FILTERS (UPMU_BRANCH_USER | UPMU_BRANCH_KERNEL)
#define KIND_FILTERS                                                                                                   \
    (UPMU_BRANCH_ANY | UPMU_BRANCH_CALL | UPMU_BRANCH_IND_CALL | UPMU_BRANCH_RETURN | UPMU_BRANCH_COND |               \
     UPMU_BRANCH_IND_JUMP)
#define ALL_FILTERS (MODE_FILTERS | KIND_FILTERS)
/* Silvermont has Nehalem's filters, which record calls only together with jumps: so no filter of calls is offered. */
#define SLM_FILTERS (MODE_FILTERS | UPMU_BRANCH_RETURN | UPMU_BRANCH_COND | UPMU_BRANCH_IND_JUMP)

#define MODELS_OF(name) (UINT64_C(1) << UPMU_X86_RULES_##name)

/* Bits of branch_model.quirks. */
#define NO_CAPABILITIES 1u /* PERF_CAPABILITIES may be missing; if so, the format is UPMU_BRANCH_FORMAT_32 */
#define SAYS_1_IS_3 2u     /* the format is UPMU_BRANCH_FORMAT_FLAGS (3), though PERF_CAPABILITIES states 1 */
#define NOT_WITH_TRACE 4u  /* the stack cannot record while Processor Trace runs */

/* clang-format off */
/*
 * The branch stacks, by model. A PMU that is described by name has this depth and format. A detected PMU has the depth,
 * if its stack is not the architectural one; PERF_CAPABILITIES has the format.
 */
static const struct branch_model {
    uint64_t rules; /* mask of the models that have the stack: bits UPMU_X86_RULES_… */
    uint8_t depth, format, quirks;
    uint16_t filters;
    struct upmu_branch_stack stack;
} branch_models[] = {
    {MODELS_OF(COR), 4, UPMU_BRANCH_FORMAT_EFFECTIVE, NO_CAPABILITIES, 0,
     {.from = 0x40, .to = 0x60, BY_DEBUGCTL}},
    {MODELS_OF(BNL), 8, UPMU_BRANCH_FORMAT_32, NO_CAPABILITIES, 0,
     {.from = 0x40, .to = 0x60, BY_DEBUGCTL}},
    {MODELS_OF(SLM), 8, UPMU_BRANCH_FORMAT_LINEAR, 0, SLM_FILTERS,
     {.from = 0x40, .to = 0x60, BY_DEBUGCTL, .select = MSR_LBR_SELECT, SELECT_BITS}},
    {MODELS_OF(NHM) | MODELS_OF(WSM), 16, UPMU_BRANCH_FORMAT_FLAGS, 0, 0,
     {.from = 0x680, .to = 0x6C0, BY_DEBUGCTL, .select = MSR_LBR_SELECT, .traits = UPMU_BRANCH_SHARED_SELECT}},
    {MODELS_OF(SNB) | MODELS_OF(SNX) | MODELS_OF(IVB) | MODELS_OF(IVX), 16, UPMU_BRANCH_FORMAT_FLAGS, 0, ALL_FILTERS,
     {.from = 0x680, .to = 0x6C0, BY_DEBUGCTL, .select = MSR_LBR_SELECT, SELECT_BITS}},
    {MODELS_OF(HSW), 16, UPMU_BRANCH_FORMAT_TSX, 0, ALL_FILTERS,
     {.from = 0x680, .to = 0x6C0, BY_DEBUGCTL, .select = MSR_LBR_SELECT, SELECT_BITS,
      .traits = UPMU_BRANCH_ABORTS_TWICE}},
    {MODELS_OF(BDW), 16, UPMU_BRANCH_FORMAT_TSX, NOT_WITH_TRACE, ALL_FILTERS,
     {.from = 0x680, .to = 0x6C0, BY_DEBUGCTL, .select = MSR_LBR_SELECT, SELECT_BITS}},
    {MODELS_OF(KNL), 8, UPMU_BRANCH_FORMAT_FLAGS, SAYS_1_IS_3, ALL_FILTERS,
     {.from = 0x680, .to = 0x6C0, BY_DEBUGCTL, .select = MSR_LBR_SELECT, SELECT_BITS}},
    {MODELS_OF(SKL), 32, UPMU_BRANCH_FORMAT_INFO, NOT_WITH_TRACE, ALL_FILTERS,
     {.from = 0x680, .to = 0x6C0, .info = 0xDC0, BY_DEBUGCTL, .select = MSR_LBR_SELECT, SELECT_BITS}},
    {MODELS_OF(ICL) | MODELS_OF(GLP) | MODELS_OF(TNT), 32, UPMU_BRANCH_FORMAT_INFO, 0, ALL_FILTERS,
     {.from = 0x680, .to = 0x6C0, .info = 0xDC0, BY_DEBUGCTL, .select = MSR_LBR_SELECT, SELECT_BITS}},
    /* Goldmont: the register of a branch's target also has the cycles, and an entry has no third register. */
    {MODELS_OF(GLM), 32, UPMU_BRANCH_FORMAT_TIME, 0, ALL_FILTERS,
     {.from = 0x680, .to = 0x6C0, BY_DEBUGCTL, .select = MSR_LBR_SELECT, SELECT_BITS}},
    {MODELS_OF(GLC) | MODELS_OF(RWC) | MODELS_OF(LNC) | MODELS_OF(CGC) | MODELS_OF(PTC) | MODELS_OF(CYC) |
         MODELS_OF(GRT) | MODELS_OF(CMT) | MODELS_OF(SKT) | MODELS_OF(DKT) | MODELS_OF(AWF),
     32, UPMU_BRANCH_FORMAT_ARCHITECTURAL, 0, ALL_FILTERS,
     {.from = 0x1500, .to = 0x1600, .info = 0x1200, .control = MSR_LBR_CTL, .enable = 1, .size = MSR_LBR_DEPTH,
      .step = 1, .traits = UPMU_BRANCH_OWN_CONTROL, CTL_BITS}},
};
/* clang-format on */
#define BRANCH_MODELS (sizeof branch_models / sizeof branch_models[0])
#define ARCHITECTURAL (&branch_models[BRANCH_MODELS - 1u])

/* Leaf 7 */
#define HAS_TRACE UPMU_BIT32(25)         /* bit of EBX */
#define HAS_ARCHITECTURAL UPMU_BIT32(19) /* bit of EDX */
/* Leaf 1Ch, EBX */
#define SORTS_MODES 1u
#define SORTS_KINDS 2u
/*
 * Leaf 1Ch, ECX: what an entry has besides its two addresses. Bits 2:0 are those of UPMU_BRANCH_LACKS_…, but a bit of 1
 * means that the entry has it.
 */
#define KNOWS_BITS 7u
#define COUNTERS_OF(ecx) ((ecx) >> 16 & 0xfu)

static void use_stack(struct upmu_pmu *pmu, const struct branch_model *model, unsigned depth, unsigned format,
                      unsigned filters)
{
    pmu->branch_stack = &model->stack;
    pmu->branch_depth = (uint8_t)depth;
    pmu->branch_format = (uint8_t)format;
    pmu->branch_filters = (uint16_t)filters;
    if (UPMU_BRANCH_SAMPLES && (pmu->capabilities & UPMU_PMU_DEBUGCTL)) {
        pmu->freeze_row = UPMU_X86_ROW_DEBUGCTL;
        pmu->branch_freeze = pmu->version < STREAMLINED_VERSION ? UPMU_BRANCH_FREEZE_CLEARS : UPMU_BRANCH_FREEZE_STATUS;
    }
}

/*
 * Set the fields of a PMU for architectural branch records, as CPUID leaf 1Ch describes them: the greatest depth that
 * the leaf lists, the filters, and the parts that an entry lacks. Returns NULL; if the leaf is missing or lists no
 * depth, a text that says so, and the fields stay.
 */
static const char *use_architectural(const struct upmu_detection *detection, struct upmu_pmu *pmu)
{
    uint32_t words[4] = {0, 0, 0, 0};
    unsigned depth = 8;

    if (detection->leaf0[0] >= 0x1C)
        detection->cpuid(detection->context, 0x1C, 0, words);
    if (!(words[0] & 0xffu))
        return "CPUID 1CH has no depth of branch records";
    for (uint32_t rest = (words[0] & 0xffu) >> 1; rest; rest >>= 1)
        depth += 8;
    use_stack(pmu, ARCHITECTURAL, depth, UPMU_BRANCH_FORMAT_ARCHITECTURAL,
              (words[1] & SORTS_MODES ? MODE_FILTERS : 0) | (words[1] & SORTS_KINDS ? KIND_FILTERS : 0));
    pmu->branch_lacks = (uint8_t)((~words[2] & KNOWS_BITS) | (COUNTERS_OF(words[2]) ? 0 : UPMU_BRANCH_LACKS_COUNTS));
    return NULL;
}

static const char *use_model(const struct upmu_detection *detection, const struct branch_model *model, unsigned format,
                             struct upmu_pmu *pmu)
{
    if (detection->hypervisor && (format == UPMU_X86_NO_FORMAT || !format))
        return "the hypervisor shows no branch records";
    if (format == UPMU_X86_NO_FORMAT && !(model->quirks & NO_CAPABILITIES))
        return "PERF_CAPABILITIES cannot be read";
    if (format == UPMU_X86_NO_FORMAT)
        format = UPMU_BRANCH_FORMAT_32;
    if (model->quirks & SAYS_1_IS_3)
        format = UPMU_BRANCH_FORMAT_FLAGS;
    if (format > UPMU_BRANCH_FORMAT_INFO2 ||
        ((format == UPMU_BRANCH_FORMAT_INFO || format == UPMU_BRANCH_FORMAT_INFO2) != (model->stack.info != 0)))
        return "PERF_CAPABILITIES[5:0] is not this model's";
    use_stack(pmu, model, model->depth, format, model->filters);
    return NULL;
}

void upmu_x86_core_branches(const struct upmu_detection *detection, const uint32_t features[4], unsigned format,
                            struct upmu_pmu *pmu)
{
    const struct branch_model *model = NULL;

    for (unsigned i = 0; i < BRANCH_MODELS && !model; i++)
        if (branch_models[i].rules & upmu_x86_core_rules(pmu))
            model = &branch_models[i];
    if (!detection) {
        if (model)
            use_stack(pmu, model, model->depth, model->format, model->filters);
        return;
    }
    if (features[3] & HAS_ARCHITECTURAL)
        pmu->no_branches = use_architectural(detection, pmu);
    else if (!model)
        pmu->no_branches = "upmu knows no branch records of this model";
    else if (model == ARCHITECTURAL)
        pmu->no_branches = "CPUID shows no architectural branch records";
    else if (detection->model == 0x1C && detection->stepping < 10)
        pmu->no_branches = "steppings below 10 record wrong";
    else
        pmu->no_branches = use_model(detection, model, format, pmu);
    pmu->branch_trace = model && (model->quirks & NOT_WITH_TRACE) && (features[1] & HAS_TRACE);
}

#endif
