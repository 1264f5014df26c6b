/* SPDX-License-Identifier: MIT */
/*
 * The CPUs that the silicon model can be, and their CPUID.
 *
 * Counter numbers, widths and leaf 0AH are those of InstLatx64's dumps; no dump
 * holds PERF_CAPABILITIES, so these are put together from the bits that SDM vol 3
 * 17, 18 and Linux arch/x86/events/intel name for the model.  Payload registers,
 * their events and valid bits: Linux arch/x86/events/intel/core.c *_extra_regs.
 */
#include "port/sim/sim_intern.h"

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

#define SKL_FLAGS (UPMU_SIM_PDCM | UPMU_SIM_RTM | UPMU_SIM_DS | UPMU_SIM_PT | UPMU_SIM_SGX)
#define SKL_SIGNATURE 0x506e3
#define SKL_CAPABILITIES 0x33c5u

static const struct upmu_sim_profile sim_profiles[] = {
    {.name = "core2", .alias = "core", .about = "Core 2 (Penryn): version 2, 2 + 3 counters of 40 bits",
     .source = "InstLatx64 06_17", .signature = 0x10676, .version = 2, .general = 2, .general_width = 40,
     .fixed_reported = 3, .fixed = 3, .fixed_width = 40, .events_length = 7,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS, .capabilities = 0xc2},
    {.name = "merom_early", .about = "early Core 2: CPUID hides its 3 fixed counters",
     .source = "InstLatx64 06_0F; Linux core.c intel_pmu_init", .signature = 0x6f6, .version = 2, .general = 2,
     .general_width = 40, .fixed_reported = 0, .fixed = 3, .fixed_width = 40, .events_length = 7,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS, .capabilities = 0xc2},
    {.name = "yonah", .about = "Core Duo: version 1, no GLOBAL_CTRL, 2 counters of 40 bits",
     .source = "InstLatx64 06_0E", .signature = 0x6e8, .version = 1, .general = 2, .general_width = 40,
     .events_length = 7, .flags = UPMU_SIM_PDCM | UPMU_SIM_DS},
    {.name = "nehalem", .alias = "nhm", .about = "Nehalem: version 3, 4 + 3 counters of 48 bits, no full-width writes",
     .source = "InstLatx64 06_1A", .signature = 0x106a5, .version = 3, .general = 4, .general_width = 48,
     .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7, .events_unavailable = 0x40,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS | UPMU_SIM_SMT | UPMU_SIM_SHARED_PAYLOAD | UPMU_SIM_NEHALEM,
     .capabilities = 0x11c3, .payload = NHM_PAYLOADS},
    {.name = "skylake", .alias = "skl", .about = "Skylake: version 4, 4 + 3 counters of 48 bits, hyper-threads",
     .source = "InstLatx64 06_5E", .signature = SKL_SIGNATURE, .version = 4, .general = 4, .general_width = 48,
     .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7, .flags = SKL_FLAGS | UPMU_SIM_SMT,
     .capabilities = SKL_CAPABILITIES, .payload = SKL_PAYLOADS},
    {.name = "skylake_nofw", .about = "Skylake without full-width writes, as some hypervisors show it",
     .source = "InstLatx64 06_5E; Linux kvm/vmx", .signature = SKL_SIGNATURE, .version = 4, .general = 4,
     .general_width = 48, .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7,
     .flags = SKL_FLAGS | UPMU_SIM_SMT, .capabilities = SKL_CAPABILITIES & ~SIM_CAP_FULL_WRITE,
     .payload = SKL_PAYLOADS},
    {.name = "skylake_smtoff", .about = "Skylake with hyper-threading off: 8 + 3 counters",
     .source = "InstLatx64 06_5E", .signature = SKL_SIGNATURE, .version = 4, .general = 8, .general_width = 48,
     .fixed_reported = 3, .fixed = 3, .fixed_width = 48, .events_length = 7, .flags = SKL_FLAGS,
     .capabilities = SKL_CAPABILITIES, .payload = SKL_PAYLOADS},
    {.name = "icelake", .alias = "icl", .about = "Ice Lake: version 5, 8 + 4 counters of 48 bits, PERF_METRICS",
     .source = "InstLatx64 06_7E", .signature = 0x706e5, .version = 5, .general = 8, .general_width = 48,
     .fixed_reported = 4, .fixed = 4, .fixed_width = 48, .events_length = 8, .fixed_bitmap = 0xf,
     .any_deprecated = true,
     .flags = UPMU_SIM_PDCM | UPMU_SIM_DS | UPMU_SIM_PT | UPMU_SIM_SGX | UPMU_SIM_SMT, .capabilities = 0xf4c5,
     .payload = ICL_PAYLOADS},
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
     .payload = SKL_PAYLOADS},
    {.name = "no_pmu", .about = "leaf 0AH is zero and PMU registers fault", .source = "Linux kvm/pmu.c",
     .signature = SKL_SIGNATURE, .flags = UPMU_SIM_HYPERVISOR},
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
    return index < sizeof sim_profiles / sizeof sim_profiles[0] ? &sim_profiles[index] : NULL;
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

static uint32_t sim_four_letters(const char *text)
{
    uint32_t word = 0;

    for (unsigned i = 0; i < 4; i++)
        word |= (uint32_t)(unsigned char)text[i] << (8u * i);
    return word;
}

/* Leaves exist up to the one that the model's features need. */
static uint32_t sim_max_leaf(const struct upmu_sim_profile *profile)
{
    if ((profile->signature & 0xf0000u) == 0)
        return 0xa;
    return profile->version >= 4 ? 0x1b : 0xd;
}

static void cpuid_signature(const struct upmu_sim *sim, unsigned cpu, uint32_t out[4])
{
    const struct upmu_sim_profile *profile = sim->profile;

    out[0] = profile->signature;
    out[1] = (uint32_t)cpu << 24 | (uint32_t)sim->cpus << 16 | 8u << 8;
    out[2] = (profile->flags & UPMU_SIM_PDCM ? 1u << 15 : 0) | (profile->flags & UPMU_SIM_HYPERVISOR ? 1u << 31 : 0);
    out[3] = 1u << 0 | 1u << 4 | 1u << 5 | 1u << 9 | (profile->flags & UPMU_SIM_DS ? 1u << 21 : 0) |
             (sim->cpus > 1 ? 1u << 28 : 0);
}

static void cpuid_perfmon(const struct upmu_sim_profile *profile, uint32_t out[4])
{
    uint32_t width = profile->fixed_reported != 0 ? profile->fixed_width : 0;

    if (profile->version == 0)
        return;
    out[0] = (uint32_t)profile->version | (uint32_t)profile->general << 8 | (uint32_t)profile->general_width << 16 |
             (uint32_t)profile->events_length << 24;
    out[1] = profile->events_unavailable;
    out[2] = profile->fixed_bitmap;
    out[3] = profile->fixed_reported | width << 5 | (profile->any_deprecated ? 1u << 15 : 0);
}

/* Leaf 0BH: hyper-threads, then cores (SDM vol 3 8.9.1). */
static void cpuid_topology(const struct upmu_sim *sim, unsigned cpu, uint32_t subleaf, uint32_t out[4])
{
    uint32_t threads = sim->profile->flags & UPMU_SIM_SMT && sim->cpus > 1 ? 2 : 1;

    out[2] = subleaf & 0xffu;
    out[3] = (uint32_t)cpu;
    if (subleaf == 0) {
        out[0] = threads - 1u;
        out[1] = threads;
        out[2] |= 1u << 8;
    } else if (subleaf == 1) {
        out[0] = 2;
        out[1] = (uint32_t)sim->cpus;
        out[2] |= 2u << 8;
    }
}

static void cpuid_extended(uint32_t leaf, uint32_t out[4])
{
    static const char brand[] = "upmu silicon model, Intel core                  ";

    if (leaf == 0x80000000u) {
        out[0] = 0x80000008u;
    } else if (leaf == 0x80000001u) {
        out[3] = 1u << 29;
    } else if (leaf >= 0x80000002u && leaf <= 0x80000004u) {
        for (unsigned i = 0; i < 4; i++)
            out[i] = sim_four_letters(brand + 16u * (leaf - 0x80000002u) + 4u * i);
    } else if (leaf == 0x80000008u) {
        out[0] = 48u << 8 | 39u;
    }
}

/*
 * A basic leaf above the highest answers with the highest one's values (SDM
 * vol 2A, CPUID): a caller that does not look at leaf 0 first reads nonsense.
 */
void upmu_sim_cpuid(const struct upmu_sim *sim, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    const struct upmu_sim_profile *profile = sim->profile;

    for (unsigned i = 0; i < 4; i++)
        out[i] = 0;
    if (leaf >= 0x80000000u) {
        cpuid_extended(leaf, out);
        return;
    }
    if (leaf == 0x40000000u && profile->flags & UPMU_SIM_HYPERVISOR) {
        out[0] = leaf;
        out[1] = sim_four_letters("upmu");
        out[2] = sim_four_letters("upmu");
        out[3] = sim_four_letters("upmu");
        return;
    }
    if (leaf > sim_max_leaf(profile))
        leaf = sim_max_leaf(profile);
    switch (leaf) {
    case 0:
        out[0] = sim_max_leaf(profile);
        out[1] = sim_four_letters("Genu");
        out[2] = sim_four_letters("ntel");
        out[3] = sim_four_letters("ineI");
        break;
    case 1:
        cpuid_signature(sim, cpu, out);
        break;
    case 7:
        if (subleaf == 0 && profile->flags & UPMU_SIM_RTM)
            out[1] = 1u << 4 | 1u << 11;
        break;
    case 0xa:
        cpuid_perfmon(profile, out);
        break;
    case 0xb:
        cpuid_topology(sim, cpu, subleaf, out);
        break;
    case 0xd:
        out[0] = 3;
        out[1] = out[2] = 0x240;
        break;
    default:
        break;
    }
}
