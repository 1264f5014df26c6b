/* SPDX-License-Identifier: MIT */
/*
 * The models of Intel core PMUs, for x86_core_detect.c alone: names, typical CPUID values, errata, and
 * the rule set (UPMU_X86_RULES_…) by which rows of x86_core_rules.h are for the model.
 *
 * Sources: CPUID dumps of InstLatx64; Linux arch/x86/include/asm/intel-family.h and
 * arch/x86/events/intel/core.c (which models are alike, errata); libpfm4 4.13 (names,
 * where it has one).
 */
#ifndef UPMU_X86_CORE_MODELS_H
#define UPMU_X86_CORE_MODELS_H

#include "backends/x86_core/x86_core.h"
#include "backends/x86_core/x86_core_registers.h"

/* clang-format off */
/* Features of a CPU, from CPUID and PERF_CAPABILITIES or typical of a model: build_pmu() makes the PMU from them. */
struct shape {
    uint8_t version;
    uint8_t general_width, fixed_width;
    uint32_t general, fixed; /* bitmaps */
    uint32_t arch_events;
    uint32_t capabilities; /* bits of upmu_pmu.capabilities, besides those that follow from the version */
    uint64_t select;       /* select bits that exist, besides those that all PMUs have */
    bool metrics;
    bool by_index;         /* architectural records (format 15): there is no IA32_PEBS_ENABLE */
    uint8_t branch_format; /* PERF_CAPABILITIES[5:0], or UPMU_X86_NO_FORMAT */
#if UPMU_PRECISE
    uint64_t perf_capabilities; /* PERF_CAPABILITIES; 0 if the CPU has no such register */
#endif
};

/* A model.  `traits`, and the fields behind `quirks`, are its typical CPUID values: see typical_shape(). */
struct model {
    char name[10];
#if UPMU_TITLES
    char title[24];
#endif
    uint16_t traits;
    uint8_t rules; /* UPMU_X86_RULES_… */
    uint8_t min_period;
    uint32_t quirks; /* UPMU_X86_QUIRK_… */
    /* `general`: the number of general counters; `fixed`: a bitmap of fixed counters */
    uint8_t version, general, fixed;
    uint16_t arch_events;
};

/* Bits of model.traits: of upmu_pmu.capabilities (full-width writes, any thread, TSX), and those below. */
#define WITH_FULL UPMU_PMU_FULL_WRITE
#define WITH_ANY UPMU_PMU_ANYTHREAD
#define WITH_TSX UPMU_PMU_TSX
#define WITH_CAPABILITIES (WITH_FULL | WITH_ANY | WITH_TSX)
#define WITH_40_BITS 0x0100u   /* counters have 40 bits instead of 48 */
#define WITH_METRICS 0x0200u   /* PERF_METRICS exists, with 4 bytes */
#define WITH_8 0x0400u         /* PERF_METRICS has 8 bytes */
#define WITH_CORE_RSP 0x0800u  /* the hyper-threads of a core share the offcore registers */
#define WITH_MODULE_RSP 0x1000u /* the cores of a module share the offcore registers */
/* leaf 0Ah reports only what both core types have: this core type has 8 general and 4 fixed counters */
#define WITH_8_OF_4 0x2000u
#define WITH_UMASK2 0x4000u    /* the select has bits 47:40 (unit mask) and 36 (eq), as leaf 23h reports */
_Static_assert(!(WITH_CAPABILITIES & ~0xffu), "traits and capabilities share bits");

/* Indices of the models in `models`. */
enum {
    M_PPRO, M_PII, M_P6, M_PM, M_COREDUO, M_CORE, M_ATOM, M_NHM, M_NHM_EX, M_WSM, M_WSM_DP, M_SNB, M_SNB_EP, M_IVB,
    M_IVB_EP, M_HSW, M_HSW_EP, M_BDW, M_BDW_EP, M_SKL, M_SKX, M_CLX, M_ICL, M_ICX, M_SPR, M_EMR, M_GNR, M_SLM, M_GLM,
    M_GLP, M_TMT, M_KNL, M_KNM, M_PTC,
    /* Core types of hybrids, in the order of their native model id from 1 on, a big core and an Atom each: */
    M_HYBRID, M_ADL_GLC = M_HYBRID, M_ADL_GRT, M_MTL_RWC, M_MTL_CMT, M_LNC, M_SKT, M_CGC, M_DKT, M_CYC, M_AWF,
    M_HYBRID_END,
    M_UNKNOWN = M_HYBRID_END, M_UNKNOWN5, M_MODELS
};

/* The initializer of a struct model. `general`: how many general counters; `fixed`: a bitmap of fixed counters. */
#define MODEL_OF(name, title, rules, version, general, fixed, arch_events, traits, quirks, min_period) \
    { name, TITLED(title) (traits) & 0xffffu, rules, min_period, quirks, version, general, fixed, arch_events }
#if UPMU_TITLES
#define TITLED(title) title,
#define TITLE_OF(model) ((model)->title)
#else
#define TITLED(title)
#define TITLE_OF(model) ""
#endif
#define MODEL(...) MODEL_OF(__VA_ARGS__)
#define QUIRK(name) UPMU_X86_QUIRK_##name
#define P6_SHAPE UPMU_X86_RULES_P6, 0, 2, 0, 0x7f, WITH_40_BITS, 0, 2
#define OLD_ATOM 3, 2, 7, 0x7f, WITH_ANY | WITH_40_BITS
#define CORE_I 3, 4, 7
#define BIG5 5, 8, 0xf
#define SNB_TRAITS WITH_FULL | WITH_ANY
/*
 * Shortest periods: 32 events on Nehalem and Haswell, two elsewhere, the shortest that Linux programs.  The offcore
 * registers are shared by hyper-threads of a core on Nehalem and Westmere, by cores of a module on Silvermont.
 */
static const struct model models[] = {
    [M_PPRO] = MODEL("ppro", "Intel Pentium Pro", P6_SHAPE),
    [M_PII] = MODEL("pii", "Intel Pentium II", P6_SHAPE),
    [M_P6] = MODEL("p6", "Intel Pentium III", P6_SHAPE),
    [M_PM] = MODEL("pm", "Intel Pentium M", P6_SHAPE),
    [M_COREDUO] = MODEL("coreduo", "Intel Core Duo", UPMU_X86_RULES_YON, 1, 2, 0, 0x7f, WITH_40_BITS, 0, 2),
    [M_CORE] = MODEL("core", "Intel Core 2", UPMU_X86_RULES_COR, 2, 2, 7, 0x7f, WITH_40_BITS, 0, 2),
    [M_ATOM] = MODEL("atom", "Intel Atom Bonnell", UPMU_X86_RULES_BNL, OLD_ATOM, 0, 2),
    [M_NHM] = MODEL("nhm", "Intel Nehalem", UPMU_X86_RULES_NHM, CORE_I, 0x3f, WITH_ANY | WITH_CORE_RSP,
              QUIRK(PRELUDE), 32),
    [M_NHM_EX] = MODEL("nhm_ex", "Intel Nehalem-EX", UPMU_X86_RULES_NHM, CORE_I, 0x3b, WITH_ANY | WITH_CORE_RSP,
                 QUIRK(PRELUDE), 32),
    [M_WSM] = MODEL("wsm", "Intel Westmere", UPMU_X86_RULES_WSM, CORE_I, 0x7b, WITH_ANY | WITH_CORE_RSP,
              QUIRK(PRELUDE), 2),
    [M_WSM_DP] = MODEL("wsm_dp", "Intel Westmere-EP", UPMU_X86_RULES_WSM, CORE_I, 0x7b, WITH_ANY | WITH_CORE_RSP,
                 QUIRK(PRELUDE), 2),
    [M_SNB] = MODEL("snb", "Intel Sandy Bridge", UPMU_X86_RULES_SNB, CORE_I, 0x7f, SNB_TRAITS, QUIRK(EXCLUSIVE), 2),
    [M_SNB_EP] = MODEL("snb_ep", "Intel Sandy Bridge-EP", UPMU_X86_RULES_SNX, CORE_I, 0x7f, SNB_TRAITS,
                 QUIRK(EXCLUSIVE), 2),
    [M_IVB] = MODEL("ivb", "Intel Ivy Bridge", UPMU_X86_RULES_IVB, CORE_I, 0x7f, SNB_TRAITS, QUIRK(EXCLUSIVE), 2),
    [M_IVB_EP] = MODEL("ivb_ep", "Intel Ivy Bridge-EP", UPMU_X86_RULES_IVX, CORE_I, 0x7f, SNB_TRAITS,
                 QUIRK(EXCLUSIVE), 2),
    [M_HSW] = MODEL("hsw", "Intel Haswell", UPMU_X86_RULES_HSW, CORE_I, 0x7f, SNB_TRAITS | WITH_TSX,
              QUIRK(EXCLUSIVE) | QUIRK(HSW11), 32),
    [M_HSW_EP] = MODEL("hsw_ep", "Intel Haswell-EP", UPMU_X86_RULES_HSW, CORE_I, 0x7f, SNB_TRAITS | WITH_TSX,
                 QUIRK(EXCLUSIVE) | QUIRK(HSW11), 32),
    [M_BDW] = MODEL("bdw", "Intel Broadwell", UPMU_X86_RULES_BDW, CORE_I, 0x7f, SNB_TRAITS | WITH_TSX, QUIRK(BDM55), 2),
    [M_BDW_EP] = MODEL("bdw_ep", "Intel Broadwell-EP", UPMU_X86_RULES_BDW, CORE_I, 0x7f, SNB_TRAITS | WITH_TSX,
                 QUIRK(BDM55), 2),
    [M_SKL] = MODEL("skl", "Intel Skylake", UPMU_X86_RULES_SKL, 4, 4, 7, 0x7f, SNB_TRAITS | WITH_TSX, 0, 2),
    [M_SKX] = MODEL("skx", "Intel Skylake-SP", UPMU_X86_RULES_SKL, 4, 4, 7, 0x7f, SNB_TRAITS | WITH_TSX, 0, 2),
    [M_CLX] = MODEL("clx", "Intel Cascade Lake", UPMU_X86_RULES_SKL, 4, 4, 7, 0x7f, SNB_TRAITS | WITH_TSX, 0, 2),
    [M_ICL] = MODEL("icl", "Intel Ice Lake", UPMU_X86_RULES_ICL, BIG5, 0xff, WITH_FULL | WITH_TSX | WITH_METRICS, 0, 2),
    [M_ICX] = MODEL("icx", "Intel Ice Lake-SP", UPMU_X86_RULES_ICL, BIG5, 0xff,
                WITH_FULL | WITH_TSX | WITH_METRICS, 0, 2),
    [M_SPR] = MODEL("spr", "Intel Sapphire Rapids", UPMU_X86_RULES_GLC, BIG5, 0xff,
                WITH_FULL | WITH_TSX | WITH_METRICS | WITH_8,
              QUIRK(LDLAT_AUX), 2),
    [M_EMR] = MODEL("emr", "Intel Emerald Rapids", UPMU_X86_RULES_GLC, BIG5, 0xff,
                WITH_FULL | WITH_TSX | WITH_METRICS | WITH_8,
              QUIRK(LDLAT_AUX), 2),
    [M_GNR] = MODEL("gnr", "Intel Granite Rapids", UPMU_X86_RULES_RWC, BIG5, 0xdff,
                WITH_FULL | WITH_TSX | WITH_METRICS | WITH_8,
              0, 2),
    [M_SLM] = MODEL("slm", "Intel Silvermont", UPMU_X86_RULES_SLM, OLD_ATOM | WITH_FULL | WITH_MODULE_RSP, 0, 2),
    [M_GLM] = MODEL("glm", "Intel Goldmont", UPMU_X86_RULES_GLM, 4, 4, 7, 0x7f, WITH_FULL | WITH_ANY, 0, 2),
    [M_GLP] = MODEL("glp", "Intel Goldmont Plus", UPMU_X86_RULES_GLP, 4, 4, 7, 0x7f, WITH_FULL, 0, 2),
    [M_TMT] = MODEL("tmt", "Intel Tremont", UPMU_X86_RULES_TNT, 5, 4, 7, 0x7f, WITH_FULL, 0, 2),
    [M_KNL] = MODEL("knl", "Intel Knights Landing", UPMU_X86_RULES_KNL, OLD_ATOM | WITH_FULL, 0, 2),
    [M_KNM] = MODEL("knm", "Intel Knights Mill", UPMU_X86_RULES_KNL, OLD_ATOM | WITH_FULL, 0, 2),
    [M_PTC] = MODEL("ptc", "Intel Panther Cove", UPMU_X86_RULES_PTC, 6, 8, 0xf, 0xdff,
              WITH_FULL | WITH_TSX | WITH_METRICS | WITH_8 | WITH_UMASK2, 0, 2),
    [M_ADL_GLC] = MODEL("adl_glc", "Intel Golden Cove", UPMU_X86_RULES_GLC, BIG5, 0x7f,
                  WITH_FULL | WITH_METRICS | WITH_8 | WITH_8_OF_4, QUIRK(LDLAT_AUX) | QUIRK(NO_CAP_15), 2),
    [M_ADL_GRT] = MODEL("adl_grt", "Intel Gracemont", UPMU_X86_RULES_GRT, 5, 6, 7, 0x7f, WITH_FULL, 0, 2),
    [M_MTL_RWC] = MODEL("mtl_rwc", "Intel Redwood Cove", UPMU_X86_RULES_RWC, BIG5, 0xdff,
                WITH_FULL | WITH_METRICS | WITH_8,
                  QUIRK(NO_CAP_15), 2),
    [M_MTL_CMT] = MODEL("mtl_cmt", "Intel Crestmont", UPMU_X86_RULES_CMT, 5, 8, 7, 0x7f, WITH_FULL, 0, 2),
    [M_LNC] = MODEL("lnc", "Intel Lion Cove", UPMU_X86_RULES_LNC, 6, 10, 0xf, 0x1dff,
              WITH_FULL | WITH_METRICS | WITH_8 | WITH_UMASK2, QUIRK(NO_CAP_15), 2),
    [M_SKT] = MODEL("skt", "Intel Skymont", UPMU_X86_RULES_SKT, 6, 8, 0x77, 0x1f7f, WITH_FULL | WITH_UMASK2, 0, 2),
    [M_CGC] = MODEL("cgc", "Intel Cougar Cove", UPMU_X86_RULES_CGC, 6, 10, 0xf, 0x1dff,
              WITH_FULL | WITH_METRICS | WITH_8 | WITH_UMASK2, QUIRK(NO_CAP_15), 2),
    [M_DKT] = MODEL("dkt", "Intel Darkmont", UPMU_X86_RULES_DKT, 6, 8, 0x77, 0x1f7f, WITH_FULL | WITH_UMASK2, 0, 2),
    [M_CYC] = MODEL("cyc", "Intel Coyote Cove", UPMU_X86_RULES_CYC, 6, 8, 0xf, 0x1dff,
              WITH_FULL | WITH_METRICS | WITH_8 | WITH_UMASK2, QUIRK(NO_CAP_15), 2),
    [M_AWF] = MODEL("awf", "Intel Arctic Wolf", UPMU_X86_RULES_AWF, 6, 8, 0x77, 0x1f7f, WITH_FULL | WITH_UMASK2, 0, 2),
    [M_UNKNOWN] = MODEL("ix86arch", "Intel architectural PMU", UPMU_X86_RULES_GEN, 4, 4, 7, 0x7f, WITH_FULL, 0, 2),
    [M_UNKNOWN5] = MODEL("ix86arch", "Intel architectural PMU", UPMU_X86_RULES_GN5, 5, 8, 0xf, 0xff,
                   WITH_FULL | WITH_METRICS, 0, 2),
};

/*
 * Family and model of CPUID, and their row in `models`. Of several lines with one row the first has the typical CPU.
 * The line of M_CLX is for upmu_x86_core_describe() alone: find_model() uses the first line of a model.
 */
static const struct {
    uint8_t family, model, row;
} signatures[] = {
    { 6, 0x01, M_PPRO }, { 6, 0x03, M_PII }, { 6, 0x05, M_PII }, { 6, 0x06, M_PII }, { 6, 0x07, M_P6 },
    { 6, 0x08, M_P6 }, { 6, 0x0A, M_P6 }, { 6, 0x0B, M_P6 }, { 6, 0x09, M_PM }, { 6, 0x0D, M_PM },
    { 6, 0x0E, M_COREDUO }, { 6, 0x0F, M_CORE }, { 6, 0x16, M_CORE }, { 6, 0x17, M_CORE }, { 6, 0x1D, M_CORE },
    { 6, 0x1C, M_ATOM }, { 6, 0x26, M_ATOM }, { 6, 0x27, M_ATOM }, { 6, 0x35, M_ATOM }, { 6, 0x36, M_ATOM },
    { 6, 0x1A, M_NHM }, { 6, 0x1E, M_NHM }, { 6, 0x1F, M_NHM }, { 6, 0x2E, M_NHM_EX }, { 6, 0x25, M_WSM },
    { 6, 0x2C, M_WSM_DP }, { 6, 0x2F, M_WSM_DP }, { 6, 0x2A, M_SNB }, { 6, 0x2D, M_SNB_EP }, { 6, 0x3A, M_IVB },
    { 6, 0x3E, M_IVB_EP }, { 6, 0x3C, M_HSW }, { 6, 0x45, M_HSW }, { 6, 0x46, M_HSW }, { 6, 0x3F, M_HSW_EP },
    { 6, 0x3D, M_BDW }, { 6, 0x47, M_BDW }, { 6, 0x4F, M_BDW_EP }, { 6, 0x56, M_BDW_EP }, { 6, 0x4E, M_SKL },
    { 6, 0x5E, M_SKL }, { 6, 0x8E, M_SKL }, { 6, 0x9E, M_SKL }, { 6, 0xA5, M_SKL }, { 6, 0xA6, M_SKL },
    { 6, 0x55, M_SKX }, { 6, 0x55, M_CLX }, { 6, 0x7D, M_ICL }, { 6, 0x7E, M_ICL }, { 6, 0x8C, M_ICL },
    { 6, 0x8D, M_ICL }, { 6, 0x9D, M_ICL }, { 6, 0xA7, M_ICL }, { 6, 0x6C, M_ICL }, { 6, 0x6A, M_ICX },
    { 6, 0x8F, M_SPR }, { 6, 0xCF, M_EMR }, { 6, 0xAD, M_GNR }, { 6, 0xAE, M_GNR }, { 6, 0x37, M_SLM },
    { 6, 0x4A, M_SLM }, { 6, 0x4C, M_SLM }, { 6, 0x4D, M_SLM }, { 6, 0x5A, M_SLM }, { 6, 0x75, M_SLM },
    { 6, 0x5C, M_GLM }, { 6, 0x5F, M_GLM }, { 6, 0x7A, M_GLP }, { 6, 0x86, M_TMT }, { 6, 0x96, M_TMT },
    { 6, 0x9C, M_TMT }, { 6, 0x57, M_KNL }, { 6, 0x85, M_KNM }, { 6, 0x97, M_ADL_GLC }, { 6, 0x9A, M_ADL_GLC },
    { 6, 0xB7, M_ADL_GLC }, { 6, 0xBA, M_ADL_GLC }, { 6, 0xBF, M_ADL_GLC }, { 6, 0xD7, M_ADL_GLC },
    { 6, 0xBE, M_ADL_GRT }, { 6, 0xAA, M_MTL_RWC }, { 6, 0xAC, M_MTL_RWC }, { 6, 0xB5, M_MTL_RWC },
    { 6, 0xAF, M_MTL_CMT }, { 6, 0xB6, M_MTL_CMT }, { 6, 0xBD, M_LNC }, { 6, 0xC5, M_LNC }, { 6, 0xC6, M_LNC },
    { 6, 0xCC, M_CGC }, { 6, 0xD5, M_CGC }, { 6, 0xE5, M_CGC }, { 6, 0xDD, M_DKT }, { 18, 0x01, M_CYC },
    { 18, 0x03, M_CYC }, { 19, 0x01, M_PTC },
};
#define SIGNATURES (sizeof signatures / sizeof signatures[0])
_Static_assert(M_MODELS <= 256, "a signature has a byte for its row");
/* clang-format on */

#endif
