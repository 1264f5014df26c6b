/* SPDX-License-Identifier: MIT */
/*
 * The AMD and Hygon CPUs that the silicon model can be, and their CPUID. Families, models, counters: Linux
 * arch/x86/kernel/cpu/amd.c, arch/x86/events/amd/core.c, libpfm4 4.13 pfmlib_amd64*.c. Feature words have only the bits
 * that concern the PMU; the highest leaf is the highest that the features need.
 */
#include "models/sim/sim_amd.h"

#define F10H_FEATURES (UPMU_SIM_AMD_SVM | 1u << 3 | UPMU_SIM_AMD_IBS)
#define F15H_FEATURES                                                                                                  \
    (F10H_FEATURES | UPMU_SIM_AMD_TOPOEXT | UPMU_SIM_AMD_CORE | UPMU_SIM_AMD_HAS_NB | UPMU_SIM_AMD_PTSC)
#define F16H_FEATURES (F10H_FEATURES | UPMU_SIM_AMD_TOPOEXT | UPMU_SIM_AMD_HAS_NB | UPMU_SIM_AMD_HAS_LLC)
#define ZEN_FEATURES                                                                                                   \
    (F10H_FEATURES | UPMU_SIM_AMD_TOPOEXT | UPMU_SIM_AMD_CORE | UPMU_SIM_AMD_HAS_NB | UPMU_SIM_AMD_HAS_LLC)
#define BRS (1u << 31)
#define IRPERF (1u << 1)

/* clang-format off */
static const struct upmu_sim_amd_facts k7 = {.highest = 0x80000006};
static const struct upmu_sim_amd_facts k8 = {.highest = 0x80000018};
static const struct upmu_sim_amd_facts k8_rev_e = {.highest = 0x80000018, .quirks = UPMU_SIM_AMD_REV_E};
static const struct upmu_sim_amd_facts k8_rev_f = {.highest = 0x8000001b, .features = UPMU_SIM_AMD_SVM | 1u << 3};
/* IBS without a leaf of capabilities: made up, for a driver that reads the leaf unasked (Linux ibs.c looks). */
static const struct upmu_sim_amd_facts f10h_b = {.highest = 0x8000001a, .features = F10H_FEATURES};
static const struct upmu_sim_amd_facts f10h = {.highest = 0x8000001b, .features = F10H_FEATURES, .ibs = 0x1f};
static const struct upmu_sim_amd_facts f11h = {.highest = 0x8000001a, .features = UPMU_SIM_AMD_SVM | 1u << 3};
static const struct upmu_sim_amd_facts f12h = {.highest = 0x8000001b, .features = F10H_FEATURES, .ibs = 0xff};
static const struct upmu_sim_amd_facts f15h = {.highest = 0x8000001e, .features = F15H_FEATURES, .ibs = 0xff};
static const struct upmu_sim_amd_facts f16h = {.highest = 0x8000001e, .features = F16H_FEATURES, .ibs = 0xff};
static const struct upmu_sim_amd_facts f17h = {.highest = 0x8000001f, .features = ZEN_FEATURES, .ibs = 0x3ff};
static const struct upmu_sim_amd_facts f17h_30h = {
    .highest = 0x8000001f, .features = ZEN_FEATURES, .features_8 = IRPERF, .ibs = 0x3ff};
static const struct upmu_sim_amd_facts f18h = {
    .highest = 0x8000001f, .features = ZEN_FEATURES, .ibs = 0x3ff, .quirks = UPMU_SIM_AMD_HYGON};
static const struct upmu_sim_amd_facts f19h = {
    .highest = 0x80000021, .features = ZEN_FEATURES, .features_8 = IRPERF | BRS, .ibs = 0x3ff,
    .quirks = UPMU_SIM_AMD_BIT_19 | UPMU_SIM_AMD_BIT_42 | UPMU_SIM_AMD_PRECISE | UPMU_SIM_AMD_1292};
/*
 * PerfMonV2: counters: 6 of the core, 16 of the data fabric, 8 of the memory (two controllers, whose numbers in ECX are
 * not adjacent, or four); 16 branch records. The CPU that is made up has other numbers.
 */
static const struct upmu_sim_amd_facts f19h_v2 = {
    .highest = 0x80000022, .features = ZEN_FEATURES, .features_8 = IRPERF, .ibs = 0xfff,
    .perfmon = {7, 6u | 16u << 4 | 16u << 10 | 8u << 16, 5}};
static const struct upmu_sim_amd_facts f1ah = {
    .highest = 0x80000022, .features = ZEN_FEATURES, .features_8 = IRPERF, .ibs = 0x1fff,
    .perfmon = {7, 6u | 16u << 4 | 16u << 10 | 8u << 16, 0xf}};
static const struct upmu_sim_amd_facts f1ah_50h = {
    .highest = 0x80000022, .features = ZEN_FEATURES, .features_8 = IRPERF, .ibs = 0x9ffff,
    .perfmon = {7, 6u | 16u << 4 | 16u << 10 | 8u << 16, 0x81}};
static const struct upmu_sim_amd_facts made_up = {
    .highest = 0x80000022, .features = ZEN_FEATURES, .features_8 = IRPERF, .ibs = 0xfff,
    .perfmon = {7, 6u | 8u << 4 | 10u << 10 | 6u << 16, 0x25}};
/* CPUs that hypervisors show: without IBS and without counters of the node. */
static const struct upmu_sim_amd_facts guest_k8 = {.highest = 0x80000008};
static const struct upmu_sim_amd_facts guest_ext = {.highest = 0x8000001f, .features = UPMU_SIM_AMD_CORE};
static const struct upmu_sim_amd_facts guest_v2 = {
    .highest = 0x80000022, .features = UPMU_SIM_AMD_CORE, .perfmon = {1, 6, 0}};
static const struct upmu_sim_amd_facts guest_v2_few = {
    .highest = 0x80000022, .features = UPMU_SIM_AMD_CORE, .perfmon = {1, 4, 0}};

#define LEGACY .version = 1, .general = 4, .general_width = 48, .fixed_width = 48
#define EXTENDED .version = 1, .general = 6, .general_width = 48, .fixed_width = 48
#define V2 .version = 2, .general = 6, .general_width = 48, .fixed_width = 48
#define GUEST (UPMU_SIM_AMD | UPMU_SIM_HYPERVISOR)
#define LX_MODELS "Linux kernel/cpu/amd.c"
#define LIBPFM "libpfm4 4.13 pfmlib_amd64.c"

static const struct upmu_sim_profile sa_profiles[] = {
    {.name = "k7", .alias = "amd64_k7", .about = "Athlon, family 6 model 4: four counters",
     .source = "AMD 22007 appendix D",
     .signature = 0x642, LEGACY, .flags = UPMU_SIM_AMD, .amd = &k7},
    {.name = "k7_model1", .about = "the first Athlon: no local APIC, nothing interrupts",
     .source = "perfctr 2.6.42 x86.c",
     .signature = 0x612, LEGACY, .flags = UPMU_SIM_AMD | UPMU_SIM_NO_APIC, .amd = &k7},
    {.name = "k8_revb", .alias = "amd64_k8_revb", .about = "Opteron, revision B", .source = LIBPFM, .signature = 0xf51,
     LEGACY, .flags = UPMU_SIM_AMD, .amd = &k8},
    {.name = "k8_revc", .alias = "amd64_k8_revc", .about = "Opteron, revision C", .source = LIBPFM, .signature = 0xf58,
     LEGACY, .flags = UPMU_SIM_AMD, .amd = &k8},
    {.name = "k8_revd", .alias = "amd64_k8_revd", .about = "Athlon 64, revision D", .source = LIBPFM,
     .signature = 0x10ff0, LEGACY, .flags = UPMU_SIM_AMD, .amd = &k8},
    {.name = "k8_reve", .alias = "amd64_k8_reve", .about = "Athlon 64 X2, revision E: selects zero northbridge counts",
     .source = "perfctr 2.6.42 x86.c", .signature = 0x20fb1, LEGACY, .flags = UPMU_SIM_AMD, .amd = &k8_rev_e},
    {.name = "k8_revf", .alias = "amd64_k8_revf", .about = "Opteron, revision F", .source = LIBPFM,
     .signature = 0x40f12, LEGACY, .flags = UPMU_SIM_AMD, .amd = &k8_rev_f},
    {.name = "k8_revg", .alias = "amd64_k8_revg", .about = "Athlon 64 X2, revision G", .source = LIBPFM,
     .signature = 0x60fb1, LEGACY, .flags = UPMU_SIM_AMD, .amd = &k8_rev_f},
    {.name = "barcelona", .alias = "amd64_fam10h_barcelona", .about = "family 10H model 2: IBS, host and guest bits",
     .source = LIBPFM, .signature = 0x100f23, LEGACY, .flags = UPMU_SIM_AMD, .amd = &f10h_b},
    {.name = "shanghai", .alias = "amd64_fam10h_shanghai", .about = "family 10H model 4", .source = LIBPFM,
     .signature = 0x100f42, LEGACY, .flags = UPMU_SIM_AMD, .amd = &f10h},
    {.name = "istanbul", .alias = "amd64_fam10h_istanbul", .about = "family 10H model 8", .source = LIBPFM,
     .signature = 0x100f80, LEGACY, .flags = UPMU_SIM_AMD, .amd = &f10h},
    {.name = "griffin", .alias = "amd64_fam11h_turion", .about = "family 11H: no host and guest bits", .source = LIBPFM,
     .signature = 0x200f31, LEGACY, .flags = UPMU_SIM_AMD, .amd = &f11h},
    {.name = "llano", .alias = "amd64_fam12h_llano", .about = "family 12H", .source = LIBPFM, .signature = 0x300f10,
     LEGACY, .flags = UPMU_SIM_AMD, .amd = &f12h},
    {.name = "bobcat", .alias = "amd64_fam14h_bobcat", .about = "family 14H", .source = LIBPFM, .signature = 0x500f10,
     LEGACY, .flags = UPMU_SIM_AMD, .amd = &f12h},
    {.name = "bulldozer", .alias = "amd64_fam15h_interlagos",
     .about = "family 15H model 1: six counters, masks by event",
     .source = "Linux arch/x86/events/amd/core.c", .signature = 0x600f12, EXTENDED, .flags = UPMU_SIM_AMD,
     .amd = &f15h},
    {.name = "piledriver", .about = "family 15H model 2", .source = LIBPFM, .signature = 0x600f20, EXTENDED,
     .flags = UPMU_SIM_AMD, .amd = &f15h},
    {.name = "steamroller", .about = "family 15H model 30H", .source = LIBPFM, .signature = 0x630f01, EXTENDED,
     .flags = UPMU_SIM_AMD, .amd = &f15h},
    {.name = "excavator", .about = "family 15H model 60H", .source = LIBPFM, .signature = 0x660f01, EXTENDED,
     .flags = UPMU_SIM_AMD, .amd = &f15h},
    {.name = "jaguar", .alias = "amd64_fam16h", .about = "family 16H: four legacy counters, NB and L2I of their own",
     .source = LIBPFM, .signature = 0x700f01, LEGACY, .flags = UPMU_SIM_AMD, .amd = &f16h},
    {.name = "zen1", .alias = "amd64_fam17h_zen1", .about = "family 17H model 1: six counters, merged pairs",
     .source = LX_MODELS, .signature = 0x800f11, EXTENDED, .flags = UPMU_SIM_AMD | UPMU_SIM_SMT, .amd = &f17h},
    {.name = "zen2", .alias = "amd64_fam17h_zen2", .about = "family 17H model 31H", .source = LX_MODELS,
     .signature = 0x830f10, EXTENDED, .flags = UPMU_SIM_AMD | UPMU_SIM_SMT, .amd = &f17h_30h},
    {.name = "hygon", .about = "Hygon Dhyana, family 18H", .source = "Linux kernel/cpu/hygon.c",
     .signature = 0x900f01, EXTENDED, .flags = UPMU_SIM_AMD | UPMU_SIM_SMT, .amd = &f18h},
    {.name = "zen3", .alias = "amd64_fam19h_zen3", .about = "family 19H model 1: branch sampling, erratum 1292",
     .source = LX_MODELS, .signature = 0xa00f11, EXTENDED, .flags = UPMU_SIM_AMD | UPMU_SIM_SMT, .amd = &f19h},
    {.name = "zen4", .alias = "amd64_fam19h_zen4", .about = "family 19H model 11H: PerfMonV2", .source = LX_MODELS,
     .signature = 0xa10f11, V2, .flags = UPMU_SIM_AMD | UPMU_SIM_SMT, .amd = &f19h_v2},
    {.name = "zen5", .alias = "amd64_fam1ah_zen5", .about = "family 1AH model 2", .source = LX_MODELS,
     .signature = 0xb00f21, V2, .flags = UPMU_SIM_AMD | UPMU_SIM_SMT, .amd = &f1ah},
    {.name = "zen6", .about = "family 1AH model 50H: IBS with the alternate disable bit", .source = LX_MODELS,
     .signature = 0xb50f00, V2, .flags = UPMU_SIM_AMD | UPMU_SIM_SMT, .amd = &f1ah_50h},
    {.name = "amd_future", .about = "made up: family 1BH with PerfMonV2", .source = "AMD APM vol 3, 8000_0022H",
     .signature = 0xc00f00, V2, .flags = UPMU_SIM_AMD | UPMU_SIM_SMT, .amd = &made_up},
    {.name = "amd_kvm_legacy", .about = "a hypervisor's family 15H with the four legacy counters",
     .source = "Linux arch/x86/kvm/svm/pmu.c", .signature = 0x600f12, LEGACY, .flags = GUEST, .amd = &guest_k8},
    {.name = "amd_kvm_ext", .about = "a hypervisor's Zen 2 with the extended counters",
     .source = "Linux arch/x86/kvm/svm/pmu.c", .signature = 0x830f10, EXTENDED, .flags = GUEST, .amd = &guest_ext},
    {.name = "amd_kvm_v2", .about = "a hypervisor's Zen 4 with PerfMonV2", .source = "Linux arch/x86/kvm/svm/pmu.c",
     .signature = 0xa10f11, V2, .flags = GUEST, .amd = &guest_v2},
    {.name = "amd_kvm_v2_few", .about = "a hypervisor's Zen 4 with PerfMonV2 and four counters",
     .source = "Linux arch/x86/kvm/svm/pmu.c", .signature = 0xa10f11, .version = 2, .general = 4, .general_width = 48,
     .fixed_width = 48, .flags = GUEST, .amd = &guest_v2_few},
    {.name = "amd_ignores_writes", .about = "a hypervisor's K8 whose PMU reads 0 and drops writes",
     .source = "Linux arch/x86/events/core.c check_hw_exists", .signature = 0xf58, LEGACY,
     .flags = GUEST | UPMU_SIM_IGNORES_WRITES, .amd = &guest_k8},
    {.name = "amd_counts_nothing", .about = "a hypervisor's Zen 2 whose registers are memory",
     .source = "Linux arch/x86/events/core.c check_hw_exists", .signature = 0x830f10, EXTENDED,
     .flags = GUEST | UPMU_SIM_COUNTS_NOTHING, .amd = &guest_ext},
    {.name = "amd_faults", .about = "a hypervisor's Zen 4 that promises a PMU whose registers fault",
     .source = "Linux kvm/pmu.c", .signature = 0xa10f11, V2, .flags = GUEST | UPMU_SIM_FEATURES_FAULT,
     .amd = &guest_v2},
};
/* clang-format on */

const struct upmu_sim_profile *upmu_sim_amd_profile_at(unsigned index)
{
    return index < sizeof sa_profiles / sizeof sa_profiles[0] ? &sa_profiles[index] : NULL;
}

/* ---- CPUID ---- */

static uint32_t sa_letters(const char *text)
{
    uint32_t word = 0;

    for (unsigned i = 0; i < 4; i++)
        word |= (uint32_t)(unsigned char)text[i] << (8u * i);
    return word;
}

static void sa_vendor(const struct upmu_sim_amd_facts *facts, uint32_t out[4])
{
    bool hygon = facts->quirks & UPMU_SIM_AMD_HYGON;

    out[1] = sa_letters(hygon ? "Hygo" : "Auth");
    out[2] = sa_letters(hygon ? "uine" : "cAMD");
    out[3] = sa_letters(hygon ? "nGen" : "enti");
}

static void sa_leaf_1(const struct upmu_sim *sim, unsigned cpu, uint32_t out[4])
{
    const struct upmu_sim_profile *profile = sim_is(sim, cpu);

    out[0] = profile->signature;
    out[1] = (uint32_t)cpu << 24 | (sim->cpus > 1 ? (uint32_t)sim->cpus << 16 : 0) | 8u << 8;
    out[2] = profile->flags & UPMU_SIM_HYPERVISOR ? 1u << 31 : 0;
    out[3] = 1u << 0 | 1u << 4 | 1u << 5 | (profile->flags & UPMU_SIM_NO_APIC ? 0 : 1u << 9) | 1u << 24 |
             (sa_family(profile) >= 0xf ? 1u << 25 | 1u << 26 : 0) | (sim->cpus > 1 ? 1u << 28 : 0);
}

/* Answer leaf 8000_001EH: the APIC number, the hyper-threads of a core and the core's number, the node's number. */
static void sa_leaf_1e(const struct upmu_sim *sim, unsigned cpu, uint32_t out[4])
{
    uint32_t threads = sim_is(sim, cpu)->flags & UPMU_SIM_SMT && sim->cpus > 1 ? 2 : 1;
    uint32_t per_node = sim->cpus_per_node != 0 ? sim->cpus_per_node : sim->cpus;

    out[0] = (uint32_t)cpu;
    out[1] = (threads - 1u) << 8 | (threads == 2 ? (uint32_t)cpu >> 1 : (uint32_t)cpu);
    out[2] = (uint32_t)cpu / per_node;
}

static void sa_extended(const struct upmu_sim *sim, unsigned cpu, uint32_t leaf, uint32_t out[4])
{
    static const char brand[] = "upmu silicon model, AMD                         ";
    const struct upmu_sim_profile *profile = sim_is(sim, cpu);
    const struct upmu_sim_amd_facts *facts = profile->amd;

    switch (leaf) {
    case 0x80000000u:
        sa_vendor(facts, out);
        out[0] = facts->highest;
        break;
    case 0x80000001u:
        out[0] = profile->signature;
        out[2] = facts->features;
        out[3] = sa_family(profile) >= 0xf ? 1u << 29 : 0;
        break;
    case 0x80000002u:
    case 0x80000003u:
    case 0x80000004u:
        for (unsigned i = 0; i < 4; i++)
            out[i] = sa_letters(brand + 16u * (leaf - 0x80000002u) + 4u * i);
        break;
    case 0x80000008u:
        out[0] = 48u << 8 | 40u;
        out[1] = facts->features_8;
        out[2] = (uint32_t)sim->cpus - 1u;
        break;
    case 0x8000001bu:
        out[0] = facts->ibs;
        break;
    case 0x8000001eu:
        if (facts->features & UPMU_SIM_AMD_TOPOEXT)
            sa_leaf_1e(sim, cpu, out);
        break;
    case 0x80000022u:
        for (unsigned i = 0; i < 3; i++)
            out[i] = facts->perfmon[i];
        break;
    default:
        break;
    }
}

void upmu_sim_amd_cpuid(const struct upmu_sim *sim, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    const struct upmu_sim_profile *profile = sim_is(sim, cpu);

    (void)subleaf;
    if (leaf >= 0x80000000u) {
        if (leaf <= profile->amd->highest)
            sa_extended(sim, cpu, leaf, out);
        return;
    }
    if (leaf == 0x40000000u && profile->flags & UPMU_SIM_HYPERVISOR) {
        out[0] = leaf;
        out[1] = out[2] = out[3] = sa_letters("upmu");
        return;
    }
    if (leaf == 0) {
        sa_vendor(profile->amd, out);
        out[0] = sa_family(profile) >= 0x10 ? 5 : 1;
    } else if (leaf == 1) {
        sa_leaf_1(sim, cpu, out);
    }
}
