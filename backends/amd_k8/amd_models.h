/* SPDX-License-Identifier: MIT */
/*
 * AMD's models, for amd_detect.c alone: names, signatures and typical features.
 *
 * Sources: Linux arch/x86/kernel/cpu/amd.c (generations of Zen), arch/x86/events/amd/core.c
 * (generic events, pairs, sharing of the northbridge); libpfm4 4.13 lib/pfmlib_amd64.c
 * (names, revisions of K8, families 10h to 16h); perfctr 2.6.42 (erratum of K8 revision E);
 * LKML 20220203095841 (erratum 1292).
 */
#ifndef UPMU_AMD_MODELS_H
#define UPMU_AMD_MODELS_H

#include "backends/amd_k8/amd_k8.h"

struct amd_model {
    char name[24];   /* upmu_pmu.name: libpfm4's name, if libpfm4 has the model */
#if UPMU_TITLES
    char title[27];  /* for display */
#endif
    char catalog[7]; /* catalogue of its events; "": none */
    uint8_t generic; /* UPMU_AMD_GENERIC_… */
    uint32_t traits;
};

/*
 * Bits of amd_model.traits. Bits from 8 on are UPMU_AMD_… and go into upmu_pmu.quirks. AMD_WITH_EXTENDED and
 * AMD_WITH_GLOBAL are for PMUs that are described by name alone: where CPUID is read, CPUID decides.
 */
#define AMD_HAS(quirk) UPMU_AMD_##quirk
#define AMD_WITH_EXTENDED 0x20u /* the typical CPU has PERFCTR_CORE */
#define AMD_WITH_GLOBAL 0x60u   /* the typical CPU has PerfMonV2; the bit of PERFCTR_CORE is included */
#define AMD_WITH_BITS_8 0x80u   /* event codes have 8 bits; pin control exists, bits for guests do not */
#define AMD_TRAIT_QUIRKS 0xffffff00u

enum {
    AMD_K7, AMD_K8_B, AMD_K8_C, AMD_K8_D, AMD_K8_E, AMD_K8_F, AMD_K8_G, AMD_10H_B, AMD_10H_C, AMD_10H_D,
    AMD_11H, AMD_12H, AMD_14H, AMD_15H, AMD_16H,
    AMD_ZEN1, AMD_ZEN2, AMD_HYGON, AMD_ZEN3_0, AMD_ZEN3, AMD_ZEN4, AMD_ZEN5, AMD_ZEN6, AMD_OLD, AMD_NEW, AMD_MODELS
};

/* clang-format off */
#if UPMU_TITLES
#define AMD_TITLED(title) title,
#define AMD_TITLE(model) ((model)->title)
#else
#define AMD_TITLED(title)
#define AMD_TITLE(model) ""
#endif
#define K8 UPMU_AMD_GENERIC_K8, AMD_WITH_BITS_8 | AMD_HAS(NB_SHARED)
#define NODE UPMU_AMD_GENERIC_K8, AMD_HAS(NB_SHARED)
#define ZEN AMD_WITH_EXTENDED | AMD_HAS(PAIRS)
static const struct amd_model amd_models[AMD_MODELS] = {
    [AMD_K7]     = {"amd64_k7", AMD_TITLED("AMD K7 (Athlon)") "k7", UPMU_AMD_GENERIC_K7, AMD_WITH_BITS_8},
    [AMD_K8_B]   = {"amd64_k8_revb", AMD_TITLED("AMD K8 revision B") "k8", K8},
    [AMD_K8_C]   = {"amd64_k8_revc", AMD_TITLED("AMD K8 revision C") "k8", K8},
    [AMD_K8_D]   = {"amd64_k8_revd", AMD_TITLED("AMD K8 revision D") "k8", K8},
    [AMD_K8_E]   = {"amd64_k8_reve", AMD_TITLED("AMD K8 revision E") "k8", K8},
    [AMD_K8_F]   = {"amd64_k8_revf", AMD_TITLED("AMD K8 revision F") "k8", K8},
    [AMD_K8_G]   = {"amd64_k8_revg", AMD_TITLED("AMD K8 revision G") "k8", K8},
    [AMD_10H_B]  = {"amd64_fam10h_barcelona", AMD_TITLED("AMD K10 (Barcelona)") "fam10h", NODE},
    [AMD_10H_C]  = {"amd64_fam10h_shanghai", AMD_TITLED("AMD K10 (Shanghai)") "fam10h", NODE},
    [AMD_10H_D]  = {"amd64_fam10h_istanbul", AMD_TITLED("AMD K10 (Istanbul)") "fam10h", NODE},
    [AMD_11H]    = {"amd64_fam11h_turion", AMD_TITLED("AMD family 11h (Turion)") "fam11h", NODE},
    [AMD_12H]    = {"amd64_fam12h_llano", AMD_TITLED("AMD family 12h (Llano)") "fam12h", NODE},
    [AMD_14H]    = {"amd64_fam14h_bobcat", AMD_TITLED("AMD family 14h (Bobcat)") "fam14h", NODE},
    [AMD_15H]    = {"amd64_fam15h_interlagos", AMD_TITLED("AMD family 15h (Bulldozer)") "fam15h",
                    UPMU_AMD_GENERIC_K8, AMD_WITH_EXTENDED | AMD_HAS(GROUPS) | AMD_HAS(NB_APART)},
    [AMD_16H]    = {"amd64_fam16h", AMD_TITLED("AMD family 16h (Jaguar)") "fam16h", UPMU_AMD_GENERIC_K8,
                    AMD_HAS(NB_APART)},
    [AMD_ZEN1]   = {"amd64_fam17h_zen1", AMD_TITLED("AMD Zen") "zen1", UPMU_AMD_GENERIC_ZEN1, ZEN},
    [AMD_ZEN2]   = {"amd64_fam17h_zen2", AMD_TITLED("AMD Zen 2") "zen2", UPMU_AMD_GENERIC_ZEN2, ZEN},
    [AMD_HYGON]  = {"hygon_fam18h", AMD_TITLED("Hygon family 18h (Dhyana)") "zen1", UPMU_AMD_GENERIC_ZEN1, ZEN},
    [AMD_ZEN3_0] = {"amd64_fam19h_zen3", AMD_TITLED("AMD Zen 3") "zen3", UPMU_AMD_GENERIC_ZEN2, ZEN | AMD_HAS(1292)},
    [AMD_ZEN3]   = {"amd64_fam19h_zen3", AMD_TITLED("AMD Zen 3") "zen3", UPMU_AMD_GENERIC_ZEN2, ZEN},
    [AMD_ZEN4]   = {"amd64_fam19h_zen4", AMD_TITLED("AMD Zen 4") "zen4", UPMU_AMD_GENERIC_ZEN4, ZEN | AMD_WITH_GLOBAL},
    [AMD_ZEN5]   = {"amd64_fam1ah_zen5", AMD_TITLED("AMD Zen 5") "zen5", UPMU_AMD_GENERIC_ZEN4, ZEN | AMD_WITH_GLOBAL},
    [AMD_ZEN6]   = {"amd64_fam1ah_zen6", AMD_TITLED("AMD Zen 6") "zen6", UPMU_AMD_GENERIC_ZEN4, ZEN | AMD_WITH_GLOBAL},
    [AMD_OLD]    = {"amd64", AMD_TITLED("AMD family unknown") "", UPMU_AMD_GENERIC_NONE, AMD_HAS(NB_SHARED)},
    [AMD_NEW]    = {"amd64_zen", AMD_TITLED("AMD Zen, model unknown") "", UPMU_AMD_GENERIC_NONE, ZEN},
};
#undef K8
#undef NODE
#undef ZEN

/*
 * Models by CPUID family and CPUID model (`first` to `last`): the first matching row is used. K8 of revision B has no
 * row: see is_revision_b(). The last row of a family below 17h, and that of 18h, is for all other models of the family.
 * Unknown models of 17h, 19h and 1Ah have no row.
 */
static const struct {
    uint8_t family, first, last, model;
} amd_signatures[] = {
    {0x06, 0x00, 0xff, AMD_K7},
    {0x0f, 0x10, 0x1f, AMD_K8_D}, {0x0f, 0x20, 0x3f, AMD_K8_E},
    {0x0f, 0x40, 0x5f, AMD_K8_F}, {0x0f, 0xc0, 0xcf, AMD_K8_F},
    {0x0f, 0x60, 0x8f, AMD_K8_G}, {0x0f, 0x00, 0xff, AMD_K8_C},
    {0x10, 0x04, 0x06, AMD_10H_C}, {0x10, 0x08, 0x09, AMD_10H_D}, {0x10, 0x00, 0xff, AMD_10H_B},
    {0x11, 0x00, 0xff, AMD_11H}, {0x12, 0x00, 0xff, AMD_12H}, {0x14, 0x00, 0xff, AMD_14H}, {0x15, 0x00, 0xff, AMD_15H},
    {0x16, 0x00, 0xff, AMD_16H},
    {0x17, 0x00, 0x2f, AMD_ZEN1}, {0x17, 0x50, 0x5f, AMD_ZEN1},
    {0x17, 0x30, 0x4f, AMD_ZEN2}, {0x17, 0x60, 0x7f, AMD_ZEN2},
    {0x17, 0x90, 0x91, AMD_ZEN2}, {0x17, 0xa0, 0xaf, AMD_ZEN2},
    {0x18, 0x00, 0xff, AMD_HYGON},
    {0x19, 0x00, 0x0f, AMD_ZEN3_0}, {0x19, 0x20, 0x5f, AMD_ZEN3},
    {0x19, 0x10, 0x1f, AMD_ZEN4}, {0x19, 0x60, 0xaf, AMD_ZEN4},
    {0x1a, 0x00, 0x2f, AMD_ZEN5}, {0x1a, 0x40, 0x4f, AMD_ZEN5},
    {0x1a, 0x60, 0x7f, AMD_ZEN5}, {0x1a, 0xd0, 0xd7, AMD_ZEN5},
    {0x1a, 0x50, 0x5f, AMD_ZEN6}, {0x1a, 0x80, 0xaf, AMD_ZEN6},
    {0x1a, 0xc0, 0xcf, AMD_ZEN6}, {0x1a, 0xd8, 0xef, AMD_ZEN6},
};
/* clang-format on */
#define AMD_SIGNATURES (sizeof amd_signatures / sizeof amd_signatures[0])

#endif
