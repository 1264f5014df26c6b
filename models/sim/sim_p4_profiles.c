/* SPDX-License-Identifier: MIT */
/*
 * The Pentium 4s that the silicon model can be, and their CPUID: families, models and numbers of hyper-threads are
 * those of Intel SDM vol 2 CPUID and InstLatx64's dumps. They have no leaf 0AH.
 */
#include "models/sim/sim_p4.h"

/* clang-format off */
#define P4_COMMON .version = 1, .general = UPMU_SIM_P4_COUNTERS, .general_width = 40
#define P4_FLAGS (UPMU_SIM_P4 | UPMU_SIM_DS)

static const struct upmu_sim_profile nb_profiles[] = {
    {.name = "willamette", .about = "Pentium 4, model 1: no hyper-threads, no extended cascade",
     .source = "InstLatx64 0F12", .signature = 0xf12, P4_COMMON, .flags = P4_FLAGS},
    {.name = "northwood", .alias = "netburst", .about = "Pentium 4, model 2, two hyper-threads",
     .source = "InstLatx64 0F29", .signature = 0xf29, P4_COMMON, .flags = P4_FLAGS | UPMU_SIM_SMT},
    {.name = "northwood_smtoff", .about = "Pentium 4, model 2, hyper-threading off",
     .source = "InstLatx64 0F29", .signature = 0xf29, P4_COMMON, .flags = P4_FLAGS},
    {.name = "prescott", .alias = "netburst_p", .about = "Pentium 4, model 3, two hyper-threads",
     .source = "InstLatx64 0F34", .signature = 0xf34, P4_COMMON, .flags = P4_FLAGS | UPMU_SIM_SMT},
    {.name = "prescott_smtoff", .about = "Pentium 4, model 3, hyper-threading off",
     .source = "InstLatx64 0F34", .signature = 0xf34, P4_COMMON, .flags = P4_FLAGS},
    {.name = "nocona", .about = "64-bit Pentium 4, model 4, two hyper-threads: the one that was probed",
     .source = "VirtualBox CPU database, 0F43", .signature = 0xf43, P4_COMMON, .flags = P4_FLAGS | UPMU_SIM_SMT},
    {.name = "smithfield", .about = "two cores of model 4 without hyper-threads, a PMU each",
     .source = "InstLatx64 0F47", .signature = 0xf47, P4_COMMON, .flags = P4_FLAGS},
    {.name = "cedarmill", .about = "Pentium 4, model 6, two hyper-threads (four CPUs: two cores)",
     .source = "InstLatx64 0F64", .signature = 0xf64, P4_COMMON, .flags = P4_FLAGS | UPMU_SIM_SMT},
    {.name = "cedarmill_smtoff", .about = "Pentium 4, model 6, hyper-threading off",
     .source = "InstLatx64 0F64", .signature = 0xf64, P4_COMMON, .flags = P4_FLAGS},
    {.name = "p4_ignores_writes", .about = "a hypervisor's Pentium 4 whose PMU reads 0 and drops writes",
     .source = "Linux arch/x86/events/core.c check_hw_exists", .signature = 0xf43, P4_COMMON,
     .flags = P4_FLAGS | UPMU_SIM_HYPERVISOR | UPMU_SIM_IGNORES_WRITES},
    {.name = "p4_faults", .about = "a hypervisor's Pentium 4 that promises a PMU whose registers fault",
     .source = "Linux kvm/pmu.c", .signature = 0xf43, P4_COMMON,
     .flags = P4_FLAGS | UPMU_SIM_HYPERVISOR | UPMU_SIM_FEATURES_FAULT},
    {.name = "p4_no_perfmon", .about = "a hypervisor's Pentium 4 that admits to having no PMU",
     .source = "Linux arch/x86/kvm/x86.c MISC_ENABLE", .signature = 0xf43, .general = UPMU_SIM_P4_COUNTERS,
     .general_width = 40, .flags = UPMU_SIM_P4 | UPMU_SIM_HYPERVISOR | UPMU_SIM_FEATURES_FAULT},
};
/* clang-format on */

const struct upmu_sim_profile *upmu_sim_p4_profile_at(unsigned index)
{
    return index < sizeof nb_profiles / sizeof nb_profiles[0] ? &nb_profiles[index] : NULL;
}

static uint32_t nb_letters(const char *text)
{
    uint32_t word = 0;

    for (unsigned i = 0; i < 4; i++)
        word |= (uint32_t)(unsigned char)text[i] << (8u * i);
    return word;
}

/* Does the CPU have leaf 4, which has the number of cores? Models from 3 on have it. */
static bool nb_has_leaf_4(const struct upmu_sim_profile *profile)
{
    return upmu_sim_p4_model(profile) >= 3;
}

/* Return the number of cores in the package. */
static unsigned nb_cores(const struct upmu_sim *sim)
{
    if (!nb_has_leaf_4(sim->profile))
        return 1;
    if (sim->profile->flags & UPMU_SIM_SMT)
        return (sim->cpus + 1u) >> 1;
    return upmu_sim_p4_model(sim->profile) == 4 ? sim->cpus : 1;
}

static void nb_leaf_1(const struct upmu_sim *sim, unsigned cpu, uint32_t out[4])
{
    const struct upmu_sim_profile *profile = sim->profile;
    unsigned model = upmu_sim_p4_model(profile), cores = nb_cores(sim);
    uint32_t logical = profile->flags & UPMU_SIM_SMT || model == 3 || model == 6 ? 2u * cores : cores;
    uint32_t apic = (uint32_t)cpu;

    /* With hyper-threading off, the missing hyper-thread keeps its APIC number, and CPUID still counts it. */
    if (!(profile->flags & UPMU_SIM_SMT) && model >= 2 && model != 4) {
        logical = 2;
        apic = 2u * (uint32_t)cpu;
    }
    out[0] = profile->signature;
    out[1] = apic << 24 | logical << 16 | 8u << 8;
    out[2] = (model >= 3 ? 1u << 3 | 1u << 4 | 1u << 0 : 0) | (model >= 4 ? 1u << 2 : 0) |
             (profile->flags & UPMU_SIM_HYPERVISOR ? 1u << 31 : 0);
    out[3] = 1u << 0 | 1u << 4 | 1u << 5 | 1u << 9 | 1u << 25 | 1u << 26 |
             (profile->flags & UPMU_SIM_DS ? 1u << 21 : 0) | (logical > 1 ? 1u << 28 : 0);
}

/* Answer leaf 4, the first data cache: how many hyper-threads share it, and the number of cores in the package. */
static void nb_leaf_4(const struct upmu_sim *sim, uint32_t subleaf, uint32_t out[4])
{
    if (subleaf != 0)
        return;
    out[0] = 1u | 1u << 5 | (sim->profile->flags & UPMU_SIM_SMT ? 1u << 14 : 0) | (uint32_t)(nb_cores(sim) - 1u) << 26;
    out[1] = 63u | 7u << 22;
    out[2] = 31;
}

static void nb_extended(const struct upmu_sim_profile *profile, uint32_t leaf, uint32_t out[4])
{
    static const char brand[] = "upmu silicon model, Pentium 4                   ";
    bool wide = upmu_sim_p4_model(profile) >= 4;

    if (leaf == 0x80000000u) {
        out[0] = wide ? 0x80000008u : 0x80000004u;
    } else if (leaf == 0x80000001u) {
        out[3] = wide ? 1u << 29 : 0;
    } else if (leaf >= 0x80000002u && leaf <= 0x80000004u) {
        for (unsigned i = 0; i < 4; i++)
            out[i] = nb_letters(brand + 16u * (leaf - 0x80000002u) + 4u * i);
    } else if (leaf == 0x80000008u && wide) {
        out[0] = 48u << 8 | 36u;
    }
}

void upmu_sim_p4_cpuid(const struct upmu_sim *sim, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    uint32_t highest = nb_has_leaf_4(sim->profile) ? 5 : 2;

    /* Bit 22 of MISC_ENABLE, which a BIOS may set on these models, limits the leaves to 0 to 3. */
    if (highest > 3 && sim->cpu[cpu].misc_enable & SIM_BIT(22) && sim_on(sim, UPMU_SIM_RULE_P4_LEAF_LIMIT))
        highest = 3;

    if (leaf >= 0x80000000u) {
        nb_extended(sim->profile, leaf, out);
        return;
    }
    if (leaf == 0x40000000u && sim->profile->flags & UPMU_SIM_HYPERVISOR) {
        out[0] = leaf;
        out[1] = out[2] = out[3] = nb_letters("upmu");
        return;
    }
    switch (leaf > highest ? highest : leaf) {
    case 0:
        out[0] = highest;
        out[1] = nb_letters("Genu");
        out[2] = nb_letters("ntel");
        out[3] = nb_letters("ineI");
        break;
    case 1:
        nb_leaf_1(sim, cpu, out);
        break;
    case 2:
        out[0] = 0x665b5001;
        out[3] = 0x007a7040;
        break;
    case 4:
        nb_leaf_4(sim, subleaf, out);
        break;
    case 5:
        out[0] = out[1] = 64;
        break;
    default:
        break;
    }
}
