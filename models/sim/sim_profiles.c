/* SPDX-License-Identifier: MIT */
/*
 * The CPUs of Intel that the silicon model can be, except Pentium 4s; functions that find a profile of any family.
 *
 * Numbers and widths of counters, and leaf 0AH, are those of InstLatx64's dumps. No dump has PERF_CAPABILITIES, so
 * these are put together from the bits that SDM vol 3 17, 18 and Linux arch/x86/events/intel name for the model.
 * Payload registers, their events and valid bits: Linux arch/x86/events/intel/core.c *_extra_regs.
 */
#include "models/sim/sim_intern.h"

/* clang-format off */
#define NHM_PAYLOADS                                                                                       \
    {                                                                                                      \
        {0x1a6, 0xb7, 0x01, 0xffff}, {0x3f6, 0x0b, 0x10, 0xffff}                                           \
    }
#define SKL_PAYLOADS                                                                                       \
    {                                                                                                      \
        {0x1a6, 0xb7, 0x01, UINT64_C(0x3fffff8fff)}, {0x1a7, 0xbb, 0x01, UINT64_C(0x3fffff8fff)},          \
            {0x3f6, 0xcd, 0x01, 0xffff}, {0x3f7, 0xc6, 0x01, 0x7fff17}                                     \
    }
#define ICL_PAYLOADS                                                                                       \
    {                                                                                                      \
        {0x1a6, 0xb7, 0x01, UINT64_C(0x3fffffbfff)}, {0x1a7, 0xbb, 0x01, UINT64_C(0x3fffffbfff)},          \
            {0x3f6, 0xcd, 0x01, 0xffff}, {0x3f7, 0xc6, 0x01, 0x7fff17}                                     \
    }

#define WSM_PAYLOADS                                                                                       \
    {                                                                                                      \
        {0x1a6, 0xb7, 0x01, 0xffff}, {0x1a7, 0xbb, 0x01, 0xffff}, {0x3f6, 0x0b, 0x10, 0xffff}              \
    }
#define SNB_PAYLOADS                                                                                       \
    {                                                                                                      \
        {0x1a6, 0xb7, 0x01, UINT64_C(0x3f807f8fff)}, {0x1a7, 0xbb, 0x01, UINT64_C(0x3f807f8fff)},          \
            {0x3f6, 0xcd, 0x01, 0xffff}                                                                    \
    }
#define HSW_PAYLOADS                                                                                       \
    {                                                                                                      \
        {0x1a6, 0xb7, 0x01, UINT64_C(0x3fffff8fff)}, {0x1a7, 0xbb, 0x01, UINT64_C(0x3fffff8fff)},          \
            {0x3f6, 0xcd, 0x01, 0xffff}                                                                    \
    }
#define GLC_PAYLOADS                                                                                       \
    {                                                                                                      \
        {0x1a6, 0x2a, 0x01, UINT64_C(0x3fffffffff)}, {0x1a7, 0x2b, 0x01, UINT64_C(0x3fffffffff)},          \
            {0x3f6, 0xcd, 0x01, 0xffff}, {0x3f7, 0xc6, 0x01, 0x7fff1f}, {0x3f7, 0xad, 0x40, 0x7},          \
            {0x3f7, 0xc2, 0x04, 0x8}                                                                       \
    }
#define LNC_PAYLOADS                                                                                       \
    {                                                                                                      \
        {0x1a6, 0x2a, 0x01, UINT64_C(0xfffffffffff)}, {0x1a7, 0x2b, 0x01, UINT64_C(0xfffffffffff)},        \
            {0x3f6, 0xcd, 0x01, 0xffff}, {0x3f7, 0xc6, 0x02, 0x9}, {0x3f7, 0xc6, 0x03, 0x7fff1f},          \
            {0x3f7, 0xad, 0x40, 0xf}, {0x3f7, 0xc2, 0x04, 0x8}                                             \
    }
#define RWC_PAYLOADS                                                                                       \
    {                                                                                                      \
        {0x1a6, 0x2a, 0x01, UINT64_C(0x3fffffffff)}, {0x1a7, 0x2b, 0x01, UINT64_C(0x3fffffffff)},          \
            {0x3f6, 0xcd, 0x01, 0xffff}, {0x3f7, 0xc6, 0x02, 0x9}, {0x3f7, 0xc6, 0x03, 0x7fff1f},          \
            {0x3f7, 0xad, 0x40, 0x7}, {0x3f7, 0xc2, 0x04, 0x8}                                             \
    }
#define ATOM_PAYLOADS(first, second)                                                                       \
    {                                                                                                      \
        {0x1a6, 0xb7, 0x01, UINT64_C(first)}, {0x1a7, 0xb7, 0x02, UINT64_C(second)}                        \
    }
#define GRT_PAYLOADS(first, second)                                                                        \
    {                                                                                                      \
        {0x1a6, 0xb7, 0x01, UINT64_C(first)}, {0x1a7, 0xb7, 0x02, UINT64_C(second)},                       \
            {0x3f6, 0xd0, 0x05, 0xffff}                                                                    \
    }
#define CMT_PAYLOADS                                                                                       \
    {                                                                                                      \
        {0x1a6, 0xb7, 0x01, UINT64_C(0x800ff3ffffffffff)}, {0x1a7, 0xb7, 0x02, UINT64_C(0xff3ffffffffff)}, \
            {0x3f6, 0xd0, 0x05, 0xffff}, {0x1328, 0x27, 0x01, UINT64_MAX}, {0x1329, 0x27, 0x02, UINT64_MAX} \
    }

#define SKL_FLAGS (UPMU_SIM_PDCM | UPMU_SIM_RTM | UPMU_SIM_DS | UPMU_SIM_PT | UPMU_SIM_SGX | UPMU_SIM_STICKY_REF)
#define NEW_FLAGS (UPMU_SIM_PDCM | UPMU_SIM_DS | UPMU_SIM_PT | UPMU_SIM_SGX | UPMU_SIM_ONE_REF_CLOCK)
#define BIG_FLAGS (NEW_FLAGS | UPMU_SIM_STICKY_REF)
#define GLC_FLAGS (BIG_FLAGS | UPMU_SIM_LOADS_AUX)
#define SKL_SIGNATURE 0x506e3
#define SKL_CAPABILITIES 0x33c5u

/* EAX, EBX, ECX and EDX of leaf 23H, a row for each of subleaves 0 to 5. */
static const uint32_t mtl_p_extended[6][4] = {{0xb}, {0xff, 0xf}, {0}, {0xdff}};
static const uint32_t mtl_e_extended[6][4] = {{0xb, 0, 6}, {0xff, 0x7}, {0}, {0x7f}};
static const uint32_t lnl_p_extended[6][4] = {{0xb, 3}, {0x3ff, 0xf}, {0}, {0x1dff}};
static const uint32_t lnl_e_extended[6][4] = {{0xf, 3, 8}, {0xff, 0x77}, {0xfc, 3, 0xfc, 3}, {0x1f7f}};
static const uint32_t ptl_p_extended[6][4] = {{0x3b, 3},  {0x3ff, 0xf},    {0},
                                              {0x1dff}, {0, 0x60060378}, {0x3ff, 3, 0xf, 1}};
static const uint32_t ptl_e_extended[6][4] = {{0x3f, 3, 8}, {0xff, 0x77},    {0xfc, 3, 0xfc, 3},
                                              {0x1f7f},     {0, 0x60060338}, {0xff, 3, 0x77, 1}};
static const uint32_t all_extended[6][4] = {{0xf, 7}, {0xff, 0xf}, {0xfc, 3, 0xfc, 3}, {0x1fff}};

static const struct upmu_sim_profile sim_profiles[] = {
    {.name = "core2", .alias = "core", .about = "Core 2 (Penryn): version 2, 2 + 3 counters of 40 bits",
     .source = "InstLatx64 06_17", .signature = 0x10676, .version = 2, .general = 2, .general_width = 40,
     .fixed_reported = 3, .fixed = 3, .fixed_width = 40, .events_length = 7,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS, .capabilities = 0xc2, .pebs = 1},
    {.name = "merom_early", .about = "early Core 2: CPUID hides its 3 fixed counters",
     .source = "InstLatx64 06_0F; Linux core.c intel_pmu_init", .signature = 0x6f6, .version = 2, .general = 2,
     .general_width = 40, .fixed_reported = 0, .fixed = 3, .fixed_width = 40, .events_length = 7,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS, .capabilities = 0xc2, .pebs = 1},
    {.name = "yonah", .about = "Core Duo: version 1, no GLOBAL_CTRL, 2 counters of 40 bits",
     .source = "InstLatx64 06_0E; Linux 2.6 perfctr-watchdog.c (AE49)", .signature = 0x6e8, .version = 1,
     .general = 2, .general_width = 40, .events_length = 7,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS | UPMU_SIM_ONE_ENABLE},
    {.name = "version1", .about = "no real part: version 1 as the manual has it, by the name of a Core 2",
     .source = "SDM vol 3 18.2.1", .signature = 0x10676, .version = 1, .general = 2, .general_width = 40,
     .events_length = 7, .flags = UPMU_SIM_PDCM | UPMU_SIM_DS},
    {.name = "nehalem", .alias = "nhm", .about = "Nehalem: version 3, 4 + 3 counters of 48 bits, no full-width writes",
     .source = "InstLatx64 06_1A", .signature = 0x106a5, .version = 3, .general = 4, .general_width = 48,
     .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7, .events_unavailable = 0x40,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS | UPMU_SIM_SMT | UPMU_SIM_SHARED_PAYLOAD | UPMU_SIM_AAJ80 |
              UPMU_SIM_AAK100,
     .capabilities = 0x11c3, .payload = NHM_PAYLOADS, .shortest = 32},
    {.name = "skylake", .alias = "skl", .about = "Skylake: version 4, 4 + 3 counters of 48 bits, hyper-threads",
     .source = "InstLatx64 06_5E", .signature = SKL_SIGNATURE, .version = 4, .general = 4, .general_width = 48,
     .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7, .flags = SKL_FLAGS | UPMU_SIM_SMT,
     .capabilities = SKL_CAPABILITIES, .payload = SKL_PAYLOADS, .reduced = 2},
    {.name = "skylake_nofw", .about = "Skylake without full-width writes, as some hypervisors show it",
     .source = "InstLatx64 06_5E; Linux kvm/vmx", .signature = SKL_SIGNATURE, .version = 4, .general = 4,
     .general_width = 48, .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7,
     .flags = SKL_FLAGS | UPMU_SIM_SMT, .capabilities = SKL_CAPABILITIES & ~SIM_CAP_FULL_WRITE,
     .payload = SKL_PAYLOADS, .reduced = 2},
    {.name = "skylake_smtoff", .about = "Skylake with hyper-threading off: 8 + 3 counters",
     .source = "InstLatx64 06_5E", .signature = SKL_SIGNATURE, .version = 4, .general = 8, .general_width = 48,
     .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7, .flags = SKL_FLAGS,
     .capabilities = SKL_CAPABILITIES, .payload = SKL_PAYLOADS, .reduced = 2},
    {.name = "icelake", .alias = "icl", .about = "Ice Lake: version 5, 8 + 4 counters of 48 bits, PERF_METRICS",
     .source = "InstLatx64 06_7E", .signature = 0x706e5, .version = 5, .general = 8, .general_width = 48,
     .fixed_reported = 4, .fixed = 4, .fixed_width = 48, .events_length = 8, .fixed_bitmap = 0xf,
     .any_deprecated = true,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS | UPMU_SIM_PT | UPMU_SIM_SGX | UPMU_SIM_SMT | UPMU_SIM_STICKY_REF,
     .capabilities = 0xf4c5, .payload = ICL_PAYLOADS, .metrics = 4},
    {.name = "hypervisor_v2_nofixed", .about = "a hypervisor's version 2 with 8 general counters and none fixed",
     .source = "Linux kvm/pmu.c, events/intel/core.c", .signature = SKL_SIGNATURE, .version = 2, .general = 8,
     .general_width = 48, .events_length = 7, .flags = UPMU_SIM_HYPERVISOR},
    {.name = "hypervisor_faults", .about = "a hypervisor that promises Skylake's features and faults on them",
     .source = "Linux kvm/vmx/pmu_intel.c, events/intel/core.c check_msr", .signature = SKL_SIGNATURE, .version = 4,
     .general = 4, .general_width = 48, .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_HYPERVISOR | UPMU_SIM_FEATURES_FAULT, .capabilities = 0,
     .payload = SKL_PAYLOADS},
    {.name = "ignores_writes", .about = "a hypervisor that promises a PMU, reads 0 and drops writes",
     .source = "Linux arch/x86/events/core.c check_hw_exists", .signature = SKL_SIGNATURE, .version = 4,
     .general = 4, .general_width = 48, .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_HYPERVISOR | UPMU_SIM_IGNORES_WRITES, .payload = SKL_PAYLOADS},
    {.name = "counts_nothing", .about = "a hypervisor whose PMU registers are plain memory",
     .source = "Linux arch/x86/events/core.c check_hw_exists", .signature = SKL_SIGNATURE, .version = 4,
     .general = 4, .general_width = 48, .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7,
     .flags = SKL_FLAGS | UPMU_SIM_HYPERVISOR | UPMU_SIM_COUNTS_NOTHING, .capabilities = SKL_CAPABILITIES,
     .payload = SKL_PAYLOADS, .reduced = 2},
    {.name = "no_pmu", .about = "leaf 0AH is zero and PMU registers fault", .source = "Linux kvm/pmu.c",
     .signature = SKL_SIGNATURE, .flags = UPMU_SIM_HYPERVISOR},
    {.name = "p6", .about = "Pentium III: no leaf 0AH, 2 counters of 40 bits, one enable", .source = "Linux p6.c",
     .signature = 0x673, .general = 2, .general_width = 40, .flags = UPMU_SIM_P6},
    {.name = "pentium_m", .alias = "pm", .about = "Pentium M: P6's counters", .source = "Linux p6.c",
     .signature = 0x6d6, .general = 2, .general_width = 40, .flags = UPMU_SIM_P6},
    {.name = "bonnell_odd", .about = "Atom (Diamondville): CPUID shows 1 of 3 fixed counters, and a reserved bit",
     .source = "InstLatx64 06_1C", .signature = 0x106c2, .version = 3, .general = 2, .general_width = 40,
     .fixed_reported = 1, .fixed = 3, .fixed_width = 40, .fixed_odd = 0x2000, .events_length = 7,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS | UPMU_SIM_SMT, .capabilities = 0xc1, .pebs = 1},
    {.name = "westmere", .alias = "wsm", .about = "Westmere: Nehalem with a second OFFCORE_RSP",
     .source = "InstLatx64 06_2C", .signature = 0x206c2, .version = 3, .general = 4, .general_width = 48,
     .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7, .events_unavailable = 4,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS | UPMU_SIM_SMT | UPMU_SIM_SHARED_PAYLOAD | UPMU_SIM_AAK100,
     .capabilities = 0x11c3, .payload = WSM_PAYLOADS},
    {.name = "sandybridge", .alias = "snb", .about = "Sandy Bridge: version 3, full-width writes, hyper-threads",
     .source = "InstLatx64 06_2A", .signature = 0x206a7, .version = 3, .general = 4, .general_width = 48,
     .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS | UPMU_SIM_SMT | UPMU_SIM_BJ122 | UPMU_SIM_PRECISE_STORE,
     .capabilities = 0x31c3, .payload = SNB_PAYLOADS, .reduced = 2},
    {.name = "ivb_smtoff", .about = "Ivy Bridge with hyper-threading off: 8 + 3 counters",
     .source = "InstLatx64 06_3A", .signature = 0x306a9, .version = 3, .general = 8, .general_width = 48,
     .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS | UPMU_SIM_BJ122 | UPMU_SIM_PRECISE_STORE, .capabilities = 0x31c3,
     .payload = SNB_PAYLOADS, .reduced = 2},
    {.name = "haswell_smt", .alias = "hsw", .about = "Haswell: version 3, transactions, periods from 32 and 128",
     .source = "InstLatx64 06_3C; Linux core.c hsw_limit_period", .signature = 0x306c3, .version = 3, .general = 4,
     .general_width = 48, .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS | UPMU_SIM_RTM | UPMU_SIM_SMT | UPMU_SIM_BJ122 | UPMU_SIM_HSW11,
     .capabilities = 0x32c4, .payload = HSW_PAYLOADS, .shortest = 32, .reduced = 2},
    {.name = "haswell_notsx", .about = "Haswell whose transactions are disabled: branch records keep their layout",
     .source = "InstLatx64 06_3C; Linux lbr.c lbr_from_signext_quirk_needed", .signature = 0x306c3, .version = 3,
     .general = 4, .general_width = 48, .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS | UPMU_SIM_SMT | UPMU_SIM_BJ122 | UPMU_SIM_HSW11, .capabilities = 0x32c4,
     .payload = HSW_PAYLOADS, .shortest = 32, .reduced = 2},
    {.name = "broadwell", .alias = "bdw", .about = "Broadwell: INST_RETIRED's periods are multiples of 64 from 128",
     .source = "InstLatx64 06_3D; Linux core.c bdw_limit_period", .signature = 0x306d4, .version = 3, .general = 4,
     .general_width = 48, .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS | UPMU_SIM_RTM | UPMU_SIM_SMT | UPMU_SIM_HSW11 | UPMU_SIM_BDM55 |
              UPMU_SIM_STICKY_REF,
     .capabilities = 0x32c4, .payload = HSW_PAYLOADS, .reduced = 2},
    {.name = "skylake_tfa", .about = "Skylake whose microcode may take counter 3 for transactions",
     .source = "Linux core.c intel_tfa_pmu_enable_all", .signature = SKL_SIGNATURE, .version = 4, .general = 4,
     .general_width = 48, .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7,
     .flags = SKL_FLAGS | UPMU_SIM_SMT | UPMU_SIM_TFA, .capabilities = SKL_CAPABILITIES, .payload = SKL_PAYLOADS,
     .reduced = 2},
    {.name = "silvermont", .alias = "slm", .about = "Silvermont: 2 + 3 counters of 40 bits, modules share OFFCORE_RSP",
     .source = "InstLatx64 06_37", .signature = 0x30678, .version = 3, .general = 2, .general_width = 40,
     .fixed_reported = 3, .fixed = 3, .fixed_width = 40, .fixed_odd = 0x4000, .events_length = 7,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS | UPMU_SIM_SHARED_PAYLOAD, .capabilities = 0x22c1,
     .payload = ATOM_PAYLOADS(0x768005ffff, 0x368005ffff), .pebs = 1},
    {.name = "knl", .about = "Knights Landing: 2 + 3 counters of 40 bits", .source = "InstLatx64 06_57",
     .signature = 0x50671, .version = 3, .general = 2, .general_width = 40, .fixed_reported = 3, .fixed = 3,
     .fixed_width = 40, .events_length = 7, .flags = UPMU_SIM_PDCM | UPMU_SIM_DS | UPMU_SIM_SMT,
     .capabilities = 0x21c1, .payload = ATOM_PAYLOADS(0x799ffbb6e7, 0x399ffbffe7), .pebs = 1},
    {.name = "goldmont", .about = "Goldmont: version 4, PEBS on counter 0, cycles in the target of a branch record",
     .source = "InstLatx64 06_5C; Linux lbr.c intel_pmu_lbr_read_64", .signature = 0x506c9, .version = 4,
     .general = 4, .general_width = 48, .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS | UPMU_SIM_PT, .capabilities = 0x33c6,
     .payload = ATOM_PAYLOADS(0x760005ffbf, 0x360005ffbf), .pebs = 1},
    {.name = "goldmont_plus", .about = "Goldmont Plus: version 4 without AnyThread", .source = "InstLatx64 06_7A",
     .signature = 0x706a1, .version = 4, .general = 4, .general_width = 48, .fixed_reported = 3, .fixed = 3,
     .fixed_width = 48, .events_length = 7, .any_deprecated = true,
     .flags = UPMU_SIM_PEBS_FIXED | UPMU_SIM_PDCM | UPMU_SIM_DS | UPMU_SIM_PT, .capabilities = 0x33c5,
     .payload = ATOM_PAYLOADS(0x760005ffbf, 0x360005ffbf), .reduced = 1},
    {.name = "tremont", .alias = "tmt", .about = "Tremont: version 5, 4 + 3 counters", .source = "InstLatx64 06_96",
     .signature = 0x90661, .version = 5, .general = 4, .general_width = 48, .fixed_reported = 3, .fixed = 3,
     .fixed_width = 48, .events_length = 7, .fixed_bitmap = 7, .any_deprecated = true, .core_type = 0x20000000,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS | UPMU_SIM_PT | UPMU_SIM_ONE_REF_CLOCK, .capabilities = 0x74c5,
     .payload = ATOM_PAYLOADS(0x800ff0ffffff9fff, 0xff0ffffff9fff), .reduced = 1},
    {.name = "rkl_es", .about = "early Rocket Lake: version 5 without a bitmap of fixed counters",
     .source = "InstLatx64 06_A7", .signature = 0xa0670, .version = 5, .general = 8, .general_width = 48,
     .fixed_reported = 4, .fixed = 4, .fixed_width = 48, .events_length = 8,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS | UPMU_SIM_PT | UPMU_SIM_SGX | UPMU_SIM_SMT | UPMU_SIM_STICKY_REF,
     .capabilities = 0xf4c5, .payload = ICL_PAYLOADS, .metrics = 4},
    {.name = "sapphirerapids", .alias = "spr", .about = "Sapphire Rapids: version 5, 8 + 4 counters, 8 metrics",
     .source = "InstLatx64 06_8F", .signature = 0x806f8, .version = 5, .general = 8, .general_width = 48,
     .fixed_reported = 4, .fixed = 4, .fixed_width = 48, .events_length = 8, .fixed_bitmap = 0xf,
     .any_deprecated = true, .flags = GLC_FLAGS | UPMU_SIM_SMT, .capabilities = 0x8f5c5, .payload = GLC_PAYLOADS,
     .metrics = 8, .reduced = 1},
    {.name = "adl_p", .alias = "adl_glc", .about = "Alder Lake's P-core: leaf 0AH shows 6 + 3 of its 8 + 4 counters",
     .source = "InstLatx64 06_97; Linux core.c", .signature = 0x90672, .version = 5, .general = 8,
     .general_width = 48, .general_reported = 6, .fixed_reported = 3, .fixed = 4, .fixed_width = 48,
     .events_length = 7, .fixed_bitmap = 7, .any_deprecated = true, .core_type = 0x40000001,
     .flags = GLC_FLAGS | UPMU_SIM_SMT | UPMU_SIM_HYBRID, .capabilities = 0xf5c5, .payload = GLC_PAYLOADS,
     .metrics = 8, .reduced = 1},
    {.name = "adl_e", .alias = "adl_grt", .about = "Alder Lake's E-core: 6 + 3 counters",
     .source = "InstLatx64 06_97", .signature = 0x90672, .version = 5, .general = 6, .general_width = 48,
     .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7, .fixed_bitmap = 7,
     .any_deprecated = true, .core_type = 0x20000001, .flags = NEW_FLAGS | UPMU_SIM_HYBRID, .capabilities = 0x75c5,
     .payload = GRT_PAYLOADS(0x8003f03fffffffff, 0x3f03fffffffff), .reduced = 1},
    {.name = "rpl_p", .about = "Raptor Lake's P-core: as Alder Lake's, but denies its metrics",
     .source = "InstLatx64 06_B7; Linux core.c intel_pmu_broken_perf_cap", .signature = 0xb0671, .version = 5,
     .general = 8, .general_width = 48, .general_reported = 6, .fixed_reported = 3, .fixed = 4, .fixed_width = 48,
     .events_length = 7, .fixed_bitmap = 7, .any_deprecated = true, .core_type = 0x40000001,
     .flags = GLC_FLAGS | UPMU_SIM_SMT | UPMU_SIM_HYBRID | UPMU_SIM_METRICS_HIDDEN, .capabilities = 0x75c5,
     .payload = GLC_PAYLOADS, .metrics = 8, .reduced = 1},
    {.name = "mtl_p", .about = "Meteor Lake's P-core: leaf 23H shows 8 + 4 counters, metrics denied",
     .source = "InstLatx64 06_AA", .signature = 0xa06a4, .version = 5, .general = 8, .general_width = 48,
     .fixed_reported = 3, .fixed = 4, .fixed_width = 48, .events_length = 7, .fixed_bitmap = 7,
     .any_deprecated = true, .core_type = 0x40000002,
     .flags = UPMU_SIM_UNTIMED | BIG_FLAGS | UPMU_SIM_SMT | UPMU_SIM_HYBRID | UPMU_SIM_METRICS_HIDDEN,
     .capabilities = 0x275c5, .payload = RWC_PAYLOADS, .metrics = 8, .extended = mtl_p_extended, .reduced = 1},
    {.name = "mtl_e", .about = "Meteor Lake's E-core: 8 + 3 counters", .source = "InstLatx64 06_AA",
     .signature = 0xa06a4, .version = 5, .general = 8, .general_width = 48, .fixed_reported = 3, .fixed = 3,
     .fixed_width = 48, .events_length = 7, .fixed_bitmap = 7, .any_deprecated = true, .core_type = 0x20000002,
     .flags = NEW_FLAGS | UPMU_SIM_HYBRID, .capabilities = 0x75c5, .payload = CMT_PAYLOADS,
     .extended = mtl_e_extended, .reduced = 3},
    {.name = "arl_h_p", .about = "Arrow Lake-H's P-core: version 5 with leaf 23H's select bits",
     .source = "InstLatx64 06_C5", .signature = 0xc0652, .version = 5, .general = 10, .general_width = 48,
     .general_reported = 8, .fixed_reported = 3, .fixed = 4, .fixed_width = 48, .events_length = 7,
     .fixed_bitmap = 7, .any_deprecated = true, .core_type = 0x40000003,
     .flags = UPMU_SIM_UNTIMED | BIG_FLAGS | UPMU_SIM_HYBRID,
     .capabilities = 0x2f6c5, .payload = LNC_PAYLOADS, .metrics = 8,
     .extended = lnl_p_extended, .reduced = 1},
    {.name = "lnl_p", .about = "Lunar Lake's P-core: version 6, 10 + 4 counters", .source = "InstLatx64 06_BD",
     .signature = 0xb06d1, .version = 6, .general = 10, .general_width = 48, .general_reported = 8,
     .fixed_reported = 3, .fixed = 4, .fixed_width = 48, .events_length = 13, .events_unavailable = 0x280,
     .fixed_bitmap = 7, .any_deprecated = true, .core_type = 0x40000003,
     .flags = UPMU_SIM_UNTIMED | BIG_FLAGS | UPMU_SIM_HYBRID,
     .capabilities = 0x2f6c5, .payload = LNC_PAYLOADS, .metrics = 8,
     .extended = lnl_p_extended, .reduced = 1},
    {.name = "lnl_e", .about = "Lunar Lake's E-core: version 6, no fixed 3 but 4 to 6", .source = "InstLatx64 06_BD",
     .signature = 0xb06d1, .version = 6, .general = 8, .general_width = 48, .fixed_reported = 3, .fixed = 7,
     .fixed_holes = 8, .fixed_width = 48, .events_length = 13, .events_unavailable = 0x280, .fixed_bitmap = 7,
     .any_deprecated = true, .core_type = 0x20000003, .flags = NEW_FLAGS | UPMU_SIM_HYBRID, .capabilities = 0x76c5,
     .payload = CMT_PAYLOADS, .extended = lnl_e_extended, .reduced = 3},
    {.name = "ptl_p", .about = "Panther Lake's P-core: version 6, architectural PEBS", .source = "InstLatx64 06_CC",
     .signature = 0xc06c0, .version = 6, .general = 10, .general_width = 48, .general_reported = 8,
     .fixed_reported = 3, .fixed = 4, .fixed_width = 48, .events_length = 13, .events_unavailable = 0x280,
     .fixed_bitmap = 7, .any_deprecated = true, .core_type = 0x40000004,
     .flags = UPMU_SIM_UNTIMED | BIG_FLAGS | UPMU_SIM_HYBRID,
     .capabilities = 0xffc5, .payload = LNC_PAYLOADS, .metrics = 8,
     .extended = ptl_p_extended},
    {.name = "ptl_e", .about = "Panther Lake's E-core: version 6, architectural PEBS and reloads share CFG_C",
     .source = "InstLatx64 06_CC", .signature = 0xc06c0, .version = 6, .general = 8, .general_width = 48,
     .fixed_reported = 3, .fixed = 7, .fixed_holes = 8, .fixed_width = 48, .events_length = 13,
     .events_unavailable = 0x280, .fixed_bitmap = 7, .any_deprecated = true, .core_type = 0x20000004,
     .flags = NEW_FLAGS | UPMU_SIM_HYBRID, .capabilities = 0x7fc5, .payload = CMT_PAYLOADS,
     .extended = ptl_e_extended},
    {.name = "everything", .about = "made up: version 5, everything that leaf 23H can announce",
     .source = "Linux asm/perf_event.h", .signature = 0xc0652, .version = 5, .general = 8, .general_width = 48,
     .fixed_reported = 4, .fixed = 4, .fixed_width = 48, .events_length = 8, .fixed_bitmap = 0xf,
     .any_deprecated = true, .flags = BIG_FLAGS, .capabilities = 0x2f6c5,
     .payload = LNC_PAYLOADS, .metrics = 8, .extended = all_extended, .reduced = 1},
    {.name = "tcg", .about = "leaf 0AH is zero, registers read 0 and drop writes",
     .source = "QEMU 7.2 TCG, measured", .signature = SKL_SIGNATURE,
     .flags = UPMU_SIM_HYPERVISOR | UPMU_SIM_IGNORES_WRITES},
};
/* clang-format on */

static bool sim_text_equal(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

const struct upmu_sim_profile *upmu_sim_profile_at(unsigned index)
{
    const unsigned count = sizeof sim_profiles / sizeof sim_profiles[0];

    const struct upmu_sim_profile *profile = index < count ? &sim_profiles[index] : NULL;
    unsigned i;

    if (profile == NULL)
        profile = upmu_sim_p4_profile_at(index - count);
    for (i = 0; profile == NULL && upmu_sim_p4_profile_at(i) != NULL; i++)
        ;
    return profile != NULL ? profile : upmu_sim_amd_profile_at(index - count - i);
}

const struct upmu_sim_profile *upmu_sim_profile(const char *name)
{
    const struct upmu_sim_profile *profile;

    for (unsigned i = 0; (profile = upmu_sim_profile_at(i)) != NULL; i++) {
        if (sim_text_equal(profile->name, name) || (profile->alias != NULL && sim_text_equal(profile->alias, name)))
            return profile;
    }
    return NULL;
}
