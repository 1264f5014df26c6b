/* SPDX-License-Identifier: MIT */
/*
 * Detect NetBurst PMUs, describe a model by its name, and find the hyper-thread of the executing CPU. Hardware is read
 * only through the functions of struct upmu_detection.
 *
 * Sources: Intel SDM vol 3 (325384-059) 18.15 to 18.17, tables 35-41 and 35-42 (IA32_MISC_ENABLE); perfctr 2.6.42
 * (numbers of hyper-threads on dual-core parts); Todd Allen's cpuid (steppings of dual-core parts, from Intel's
 * specification updates); errata N17 (249199) and O9 (290741) of the stopping counter.
 */
#include "backends/x86_p4/x86_p4.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/util/text.h"

#if UPMU_BACKEND_X86_P4

#define MISC_ENABLE 0x1A0u
#define MISC_ENABLE_PERFMON UPMU_BIT64(7)   /* there is a PMU */
#define MISC_ENABLE_NO_PEBS UPMU_BIT64(12)  /* no PEBS_ENABLE, no PEBS_MATRIX_VERT: no replay tagging */

/* CPUID leaf 1, EDX. */
#define CPUID_HTT UPMU_BIT32(28)

/*
 * Limits of a sampling period in events. A counter that started at -8 to -1 was seen to interrupt the same instruction
 * for ever (perfctr), so 9 is the least. A clear sign bit of a counter shows an overflow, so half of the counter's
 * range is the most.
 */
#define LEAST_PERIOD 9u
#define LONGEST_PERIOD ((UINT64_C(1) << 39) - 1u)

/* CCCR and ESCR of instr_retired, mask NBOGUSNTAG, for the probe: the event happens in every loop. */
#define LOOP_EVENT (UINT64_C(0x38000) << 32 | 0x0400020c)

static const struct known {
    char name[14];
    uint8_t model;
    uint8_t stepping;
    bool threads;
} known_models[] = {
    {"netburst", 2, 9, true},      {"netburst_p", 4, 3, true},     {"p4_willamette", 1, 2, false},
    {"p4_northwood", 2, 9, true},  {"p4_prescott", 3, 4, true},    {"p4_cedarmill", 6, 4, false},
};
#define LISTED 2u

/* Titles by CPUID model. A model with an empty title does not exist. */
static const char titles[7][30] = {"Intel Pentium 4 (Willamette)", "Intel Pentium 4 (Willamette)",
                                   "Intel Pentium 4 (Northwood)",  "Intel Pentium 4 (Prescott)",
                                   "Intel Pentium 4 (Prescott)",   "",
                                   "Intel Pentium 4 (Cedar Mill)"};

/*
 * Set the order in which placement tries the counters (upmu_pmu.preference): by number, but counter 1 last, because
 * Linux says that its ENABLE bit does not work properly.
 */
static void prefer_counters(struct upmu_pmu *pmu)
{
    for (unsigned n = 0; n < UPMU_P4_COUNTERS; n++)
        if (n != 1)
            pmu->preference[pmu->preference_count++] = (uint8_t)n;
    pmu->preference[pmu->preference_count++] = 1;
}

static void build_p4(struct upmu_pmu *pmu, unsigned model, unsigned stepping, bool threads, bool tags)
{
    memset(pmu, 0, sizeof *pmu);
    pmu->name = known_models[model < 3 ? 0 : 1].name;
    pmu->title = titles[model];
    pmu->family = 15;
    pmu->model = (uint16_t)model;
    pmu->stepping = (uint8_t)stepping;
    upmu_p4_describe_table(pmu, model);
    prefer_counters(pmu);
    /* The resources of thread-independent events have no register, but the hyper-threads share them. */
    pmu->shared |= ~upmu_bits_ones(UPMU_P4_RESOURCE_TI);
    pmu->capabilities = UPMU_PMU_REARM_LAST;
    /* Errata N17, O9: the carry of a counter that is being stopped can be lost; known of models 0 and 1 only. */
    if (model < 2)
        pmu->capabilities |= UPMU_PMU_CARRY_LOST;
    pmu->max_period = LONGEST_PERIOD;
    pmu->min_period = LEAST_PERIOD;
    pmu->loop_config = LOOP_EVENT;
    if (model < 2 || (model == 2 && stepping < 7))
        pmu->quirks |= UPMU_P4_EARLY_BUS;
    if (threads) {
        pmu->quirks |= UPMU_P4_HT;
    } else {
        pmu->limit[UPMU_P4_CLASS_ESCR] &= ~(UPMU_P4_ESCR_T1_USR | UPMU_P4_ESCR_T1_OS);
        pmu->limit[UPMU_P4_CLASS_CCCR] &= ~UPMU_P4_CCCR_OVF_PMI_T1;
    }
    if (!tags)
        for (unsigned n = UPMU_P4_RESOURCE_PEBS_ENABLE; n <= UPMU_P4_RESOURCE_MATRIX_VERT; n++) {
            upmu_rows_clear(pmu->present, UPMU_P4_ROW_ESCR + n);
            pmu->shared &= ~UPMU_BIT64(n);
        }
}

/*
 * Does the stepping say that a package has two cores? Smithfield (0F44H, 0F47H), Paxville (0F48H) and Tulsa (0F68H)
 * have. All other steppings of model 4 have one; of model 6 they are one core or two.
 */
static bool has_two_cores(const struct upmu_detection *detection)
{
    unsigned model = detection->model, stepping = detection->stepping;

    return (model == 4 && (stepping == 4 || stepping == 7 || stepping == 8)) || (model == 6 && stepping == 8);
}

/*
 * Return the number of hyper-threads of a core: the logical CPUs of the package divided by its cores, rounded up to a
 * power of two. Leaf 4 has the cores; where CPUID is limited, the stepping says them.
 */
static unsigned core_threads(const struct upmu_detection *detection)
{
    unsigned logical = detection->leaf1[3] & CPUID_HTT ? detection->leaf1[1] >> 16 & 0xffu : 1, threads = 1;
    uint32_t leaf[4] = {(uint32_t)has_two_cores(detection) << 26, 0, 0, 0};

    if (detection->leaf0[0] >= 4)
        detection->cpuid(detection->context, 4, 0, leaf);
    while (threads * ((leaf[0] >> 26) + 1u) < logical)
        threads <<= 1;
    return threads;
}

unsigned upmu_p4_thread(const struct upmu_detection *detection)
{
    return detection->leaf1[1] >> 24 & (core_threads(detection) - 1u) & 1u;
}

/*
 * Does the CPU hide its number of cores (leaf 4), and could be of either kind: two cores, or two hyper-threads of one?
 * Bit 22 of IA32_MISC_ENABLE, which a BIOS may set, limits CPUID to leaf 3. Steppings of model 6 have parts of both
 * kinds (Cedar Mill, Presler). A core that is taken for a hyper-thread would count nothing. Four logical CPUs are two
 * of each.
 */
static bool hides_cores(const struct upmu_detection *detection)
{
    return detection->model == 6 && !has_two_cores(detection) && detection->leaf0[0] < 4 &&
           (detection->leaf1[3] & CPUID_HTT) && (detection->leaf1[1] >> 16 & 0xffu) == 2;
}

bool upmu_p4_detect(const struct upmu_detection *detection, struct upmu_pmu *out_pmu)
{
    uint64_t enable;

    /* "GenuineIntel", as EBX, ECX and EDX of leaf 0 have it */
    if (memcmp(&detection->leaf0[1], "GenuntelineI", 12) != 0 || detection->family != 15 || detection->model > 6 ||
        !titles[detection->model][0] || hides_cores(detection))
        return false;
    /* Under a hypervisor a CPU of family 15 may have no PMU: bit 7 is clear, or the read of the register faults. */
    if (!detection->rdmsr(detection->context, MISC_ENABLE, true, &enable) || !(enable & MISC_ENABLE_PERFMON))
        return false;
    build_p4(out_pmu, detection->model, detection->stepping, core_threads(detection) > 1,
             !(enable & MISC_ENABLE_NO_PEBS));
    return upmu_detection_identify(detection, out_pmu);
}

bool upmu_p4_describe(const char *name, struct upmu_pmu *out_pmu)
{
    for (unsigned i = 0; i < sizeof known_models / sizeof known_models[0]; i++) {
        const struct known *known = &known_models[i];

        if (!upmu_text_is(name, upmu_text_length(name), known->name))
            continue;
        build_p4(out_pmu, known->model, known->stepping, known->threads, true);
        return true;
    }
    return false;
}

const char *upmu_p4_names(unsigned i)
{
    return i < LISTED ? known_models[i].name : NULL;
}

#endif
