/* SPDX-License-Identifier: MIT */
/*
 * CPUID of the profiles in sim_profiles.c; the other families' CPUID is called from here.
 */
#include "models/sim/sim_intern.h"

static uint32_t sim_four_letters(const char *text)
{
    uint32_t word = 0;

    for (unsigned i = 0; i < 4; i++)
        word |= (uint32_t)(unsigned char)text[i] << (8u * i);
    return word;
}

/* Return the highest basic leaf of CPUID that a CPU of the profile has: as high as its features need. */
static uint32_t sim_max_leaf(const struct upmu_sim_profile *profile)
{
    if (profile->flags & UPMU_SIM_P6)
        return 2;
    if (profile->extended != NULL)
        return 0x23;
    if ((profile->signature & 0xf0000u) == 0)
        return 0xa;
    if (upmu_sim_branches_architectural(profile))
        return 0x1c;
    return profile->version >= 4 ? 0x1b : 0xd;
}

static void cpuid_signature(const struct upmu_sim *sim, unsigned cpu, uint32_t out[4])
{
    const struct upmu_sim_profile *profile = sim_is(sim, cpu);

    out[0] = profile->signature;
    out[1] = (uint32_t)cpu << 24 | (uint32_t)sim->cpus << 16 | 8u << 8;
    if (profile->flags & UPMU_SIM_DS && sim_is_wide(profile))
        out[2] = (profile->flags & UPMU_SIM_NARROW_DS ? 0 : 1u << 2) | 1u << 4; /* DTES64, DS-CPL */
    out[2] |= (profile->flags & UPMU_SIM_PDCM ? 1u << 15 : 0) | (profile->flags & UPMU_SIM_HYPERVISOR ? 1u << 31 : 0);
    out[3] = 1u << 0 | 1u << 4 | 1u << 5 | 1u << 9 | (profile->flags & UPMU_SIM_DS ? 1u << 21 : 0) |
             (sim->cpus > 1 ? 1u << 28 : 0);
}

static void cpuid_perfmon(const struct upmu_sim_profile *profile, uint32_t out[4])
{
    uint32_t width = profile->fixed_reported != 0 ? profile->fixed_width : 0;
    uint32_t general = profile->general_reported != 0 ? profile->general_reported : profile->general;

    if (profile->version == 0)
        return;
    out[0] = (uint32_t)profile->version | general << 8 | (uint32_t)profile->general_width << 16 |
             (uint32_t)profile->events_length << 24;
    out[1] = profile->events_unavailable;
    out[2] = profile->fixed_bitmap;
    out[3] = profile->fixed_reported | width << 5 | (profile->any_deprecated ? 1u << 15 : 0) | profile->fixed_odd;
}

/* Answer leaf 0BH: subleaf 0 is the level of hyper-threads, 1 that of cores, others are empty (SDM vol 3 8.9.1). */
static void cpuid_topology(const struct upmu_sim *sim, unsigned cpu, uint32_t subleaf, uint32_t out[4])
{
    uint32_t threads = sim_is(sim, cpu)->flags & UPMU_SIM_SMT && sim->cpus > 1 ? 2 : 1;

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

/*
 * Answer leaf 7. Subleaf 0: transactions, processor trace, forced aborts, hybrid, architectural branch records; subleaf
 * 1: leaf 23H exists.
 */
static void cpuid_features(const struct upmu_sim_profile *profile, uint32_t subleaf, uint32_t out[4])
{
    if (subleaf == 0) {
        out[0] = profile->extended != NULL ? 1 : 0;
        out[1] = profile->flags & UPMU_SIM_RTM ? 1u << 4 | 1u << 11 : 0;
        out[1] |= profile->flags & UPMU_SIM_PT ? 1u << 25 : 0;
        out[3] = (profile->flags & UPMU_SIM_TFA ? 1u << 13 : 0) | (profile->flags & UPMU_SIM_HYBRID ? 1u << 15 : 0) |
                 (upmu_sim_branches_architectural(profile) ? 1u << 19 : 0);
    } else if (subleaf == 1) {
        out[0] = profile->extended != NULL ? 1u << 8 : 0;
    }
}

static void cpuid_extended(const struct upmu_sim_profile *profile, uint32_t leaf, uint32_t out[4])
{
    static const char brand[] = "upmu silicon model, Intel core                  ";

    if (leaf == 0x80000000u) {
        out[0] = 0x80000008u;
    } else if (leaf == 0x80000001u) {
        out[3] = sim_is_wide(profile) ? 1u << 29 : 0;
    } else if (leaf >= 0x80000002u && leaf <= 0x80000004u) {
        for (unsigned i = 0; i < 4; i++)
            out[i] = sim_four_letters(brand + 16u * (leaf - 0x80000002u) + 4u * i);
    } else if (leaf == 0x80000008u) {
        out[0] = 48u << 8 | 39u;
    }
}

/*
 * Answer CPUID in `out`, EAX to EDX; 0 in all four for leaves without meaning here. A basic leaf above the highest one
 * has the values of the highest one, as on Intel's CPUs (SDM vol 2A, CPUID): a caller that does not look at leaf 0
 * first reads wrong values. AMD and Pentium 4 have functions of their own.
 */
void upmu_sim_cpuid(const struct upmu_sim *sim, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    const struct upmu_sim_profile *profile = sim_is(sim, cpu);

    for (unsigned i = 0; i < 4; i++)
        out[i] = 0;
    if (profile->amd != NULL) {
        upmu_sim_amd_cpuid(sim, cpu, leaf, subleaf, out);
        return;
    }
    if (sim_is_p4(sim)) {
        upmu_sim_p4_cpuid(sim, cpu, leaf, subleaf, out);
        return;
    }
    if (leaf >= 0x80000000u) {
        cpuid_extended(profile, leaf, out);
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
        cpuid_features(profile, subleaf, out);
        break;
    case 0xa:
        cpuid_perfmon(profile, out);
        break;
    case 0xb:
        cpuid_topology(sim, cpu, subleaf, out);
        break;
    case 0x1a:
        out[0] = profile->core_type;
        break;
    case 0x1c:
        upmu_sim_branches_cpuid(profile, out);
        break;
    case 0x23:
        for (unsigned i = 0; i < 4 && profile->extended != NULL && subleaf < 6; i++)
            out[i] = profile->extended[subleaf][i];
        break;
    case 0xd:
        out[0] = 3;
        out[1] = out[2] = 0x240;
        break;
    default:
        break;
    }
}
