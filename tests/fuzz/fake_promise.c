/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: the oracle.  What a set of CPUID leaves promises, written from the
 * documents and not from the library; and leaves of real CPUs.
 *
 * Sources: Intel SDM vol 2 CPUID leaves 0, 1, 4, 7, 0AH; vol 3 (325384-059) 18.2, 18.15,
 * 18.18, 35.1; Linux arch/x86/events/intel/core.c (leaves 1AH and 23H, what leaf 0AH
 * understates, microcode that takes counter 3) and p6.c; CPUID dumps of InstLatx64;
 * perfctr 2.6.42 (threads of NetBurst).
 */
#include "tests/fuzz/fake.h"

#define ONES32(count) ((uint32_t)((UINT64_C(1) << ((count) > 32 ? 32 : (count))) - 1))

/* Models 0 to 63 of a family as bits. */
static bool among(uint64_t models, unsigned model)
{
    return model < 64 && models >> model & 1;
}

/* ---- NetBurst: 18 counters if bit 7 of IA32_MISC_ENABLE says so ---- */

static struct fake_promise promised_netburst(const struct fake_leaves *leaves, unsigned model)
{
    struct fake_promise promise = {.kind = FAKE_NETBURST, .general = 0x3ffff, .width = 40};
    unsigned logical = leaves->leaf1[3] >> 28 & 1 ? leaves->leaf1[1] >> 16 & 255 : 1;
    unsigned stepping = leaves->leaf1[0] & 15;

    /* Smithfield, Paxville and Tulsa have two cores. */
    unsigned two = model == 4 ? among(0x190, stepping) : model == 6 && stepping == 8;
    unsigned cores = leaves->leaf0[0] >= 4 ? (leaves->leaf4[0] >> 26) + 1 : 1 + two;

    /* Without leaf 4, two logical CPUs of other model 6 may be two cores or two threads: no PMU is taken for them. */
    bool unknown = leaves->leaf0[0] < 4 && model == 6 && !two && logical == 2;

    if (!among(0x5f, model) || !(leaves->misc_enable >> 7 & 1) || unknown)
        return (struct fake_promise){.kind = FAKE_NO_PMU};
    promise.threads = logical > cores;
    promise.tags = !(leaves->misc_enable >> 12 & 1);
    promise.iq_escrs = model < 3;
    promise.cascades = model >= 2;
    return promise;
}

/* ---- P6: only models that Intel made have it, none of them with a leaf 0AH ---- */

static struct fake_promise promised_p6(const struct fake_leaves *leaves, unsigned family, unsigned model)
{
    const struct fake_promise promise = {.kind = FAKE_P6, .general = 3, .width = 40, .one_enable = true};
    bool exists = family == 6 && among(0x2fea, model) && leaves->leaf0[0] < 0xa && !(leaves->leaf1[2] >> 31);

    return exists ? promise : (struct fake_promise){.kind = FAKE_NO_PMU};
}

/*
 * ---- AMD: AMD APM vol 2 (24593) 13.2; four counters by the family alone, six by a flag,
 * as many as CPUID says with PerfMonV2 ----
 */

static struct fake_promise promised_amd(const struct fake_leaves *leaves, unsigned family)
{
    struct fake_promise promise = {.kind = FAKE_AMD, .general = 0xf, .width = 48, .select = 0xffd7ffff};
    uint32_t leaf[4], highest, core = 0;

    promise.hypervisor = leaves->leaf1[2] >> 31;
    fake_leaf(leaves, 0x80000000, 0, leaf);
    highest = leaf[0];
    if (highest >= 0x80000001) {
        fake_leaf(leaves, 0x80000001, 0, leaf);
        core = leaf[2];
    }
    if (family == 6 || family == 15)
        promise.select |= 1u << 19;
    else
        promise.select |= UINT64_C(0xf) << 32 | (core >> 2 & 1 && family != 17 ? UINT64_C(3) << 40 : 0);
    promise.extended = core >> 23 & 1;
    if (promise.extended)
        promise.general = 0x3f;
    if (highest >= 0x80000022)
        fake_leaf(leaves, 0x80000022, 0, leaf);
    if (highest >= 0x80000022 && leaf[0] & 1 && leaf[1] & 15) {
        promise.version = 2;
        promise.general = ONES32(leaf[1] & 15);
        promise.extended = true;
        promise.freeze = leaf[0] >> 2 & 1;
    }
    return promise;
}

static bool is_vendor(const struct fake_leaves *leaves, uint32_t ebx, uint32_t ecx, uint32_t edx)
{
    return leaves->leaf0[1] == ebx && leaves->leaf0[2] == ecx && leaves->leaf0[3] == edx;
}

/* ---- Leaves 0AH, 1AH and 23H ---- */

static bool listed(const uint8_t *models, unsigned count, unsigned model)
{
    while (count && models[count - 1] != model)
        count--;
    return count;
}

/*
 * Alder Lake to Nova Lake: leaf 1AH tells which core this is (of those that only have
 * Atoms: if it names one of the five); leaf 0AH of the oldest tells what all cores have,
 * while leaf 7 says that they differ.
 */
static void correct_hybrid(const struct fake_leaves *leaves, unsigned family, unsigned model,
                           struct fake_promise *promise)
{
    static const uint8_t alder[] = {0x97, 0x9a, 0xb7, 0xba, 0xbf, 0xd7}, atoms[] = {0xaf, 0xb6, 0xbe, 0xdd};
    static const uint8_t later[] = {0xaa, 0xac, 0xb5, 0xbd, 0xc5, 0xc6, 0xcc, 0xd5, 0xe5};
    uint32_t core = leaves->leaf0[0] >= 0x1a ? leaves->leaf_1a[0] : 0, native = core & 0xffffff;
    bool named = native >= 1 && native <= 5, is_alder = family == 6 && listed(alder, sizeof alder, model);
    bool is_hybrid = is_alder || (family == 6 && listed(later, sizeof later, model)) ||
                     (family == 6 && named && listed(atoms, sizeof atoms, model)) ||
                     (family == 18 && (model == 1 || model == 3));

    if (!is_hybrid || core >> 24 == 0x20 || promise->hypervisor)
        return;
    promise->metrics = true; /* PERF_CAPABILITIES, too, tells what all cores have */
    if (promise->version == 5 && leaves->leaf7[3] >> 15 & 1 && (native == 1 || (is_alder && !named))) {
        promise->general = 0xff;
        promise->fixed = 0xf;
    }
}

static void read_leaf23(const struct fake_leaves *leaves, struct fake_promise *promise)
{
    if (leaves->leaf0[0] < 0x23 || !leaves->leaf7[0] || !(leaves->leaf7_1[0] >> 8 & 1) || promise->version < 2)
        return;
    promise->umask2 = leaves->leaf23_0[1] & 1;
    promise->equal = leaves->leaf23_0[1] >> 1 & 1;
    if (leaves->leaf23_0[0] >> 1 & 1) {
        promise->general = leaves->leaf23_1[0] ? leaves->leaf23_1[0] : promise->general;
        promise->fixed = leaves->leaf23_1[1];
    }
    if (leaves->leaf23_0[0] >> 3 & 1)
        promise->events = leaves->leaf23_3[0];
}

static struct fake_promise promised_arch(const struct fake_leaves *leaves, unsigned family, unsigned model)
{
    uint32_t eax = leaves->leaf_a[0], edx = leaves->leaf_a[3];
    unsigned fixed = edx & 31;
    struct fake_promise promise = {.kind = FAKE_ARCH, .version = eax & 255, .width = eax >> 16 & 255};

    promise.hypervisor = leaves->leaf1[2] >> 31;
    promise.general = ONES32(eax >> 8 & 255);
    promise.events = ~leaves->leaf_a[1] & ONES32((eax >> 24) > 31 ? 31 : eax >> 24);
    promise.any = promise.version >= 3 && !(edx >> 15 & 1);
    if (leaves->leaf0[0] < 0xa || !promise.version || !promise.general || promise.width < 32 || promise.width > 64)
        return promised_p6(leaves, family, model);
    /* Versions 2 to 4 have three fixed counters whatever they say, but for a hypervisor. */
    if (promise.version < 5 && !promise.hypervisor && fixed < 3)
        fixed = 3;
    promise.fixed = promise.version < 2 ? 0 : ONES32(fixed) | (promise.version >= 5 ? leaves->leaf_a[2] : 0);
    promise.fixed_width = edx >> 5 & 255 ? edx >> 5 & 255 : promise.width;
    read_leaf23(leaves, &promise);
    correct_hybrid(leaves, family, model, &promise);
    if (promise.fixed_width < 32 || promise.fixed_width > 64)
        promise.fixed = 0;
    promise.one_enable = promise.version == 1 && family == 6 && among(0x6fea, model);
    promise.general &= 0x3ff;
    promise.fixed &= 0x7f;
    promise.metrics &= promise.fixed >> 3 & 1;
    return promise;
}

/* "GenuineIntel"; not Knights Corner (family 11), which has other registers. */
struct fake_promise fake_promised(const struct fake_leaves *leaves)
{
    uint32_t signature = leaves->leaf1[0];
    unsigned family = (signature >> 8 & 15) + ((signature >> 8 & 15) == 15 ? signature >> 20 & 255 : 0);
    unsigned model = (signature >> 4 & 15) | ((signature >> 8 & 15) == 6 || family >= 15 ? signature >> 12 & 240 : 0);
    struct fake_promise promise = {.kind = FAKE_NO_PMU};

    /* "AuthenticAMD", and "HygonGenuine" from family 17H on. */
    if ((is_vendor(leaves, 0x68747541, 0x444d4163, 0x69746e65) && family >= 6) ||
        (is_vendor(leaves, 0x6f677948, 0x656e6975, 0x6e65476e) && family >= 23))
        return promised_amd(leaves, family);
    if (leaves->leaf0[1] == 0x756e6547 && leaves->leaf0[3] == 0x49656e69 && leaves->leaf0[2] == 0x6c65746e &&
        family >= 6 && family != 11)
        promise = family == 15 ? promised_netburst(leaves, model) : promised_arch(leaves, family, model);
    if (promise.kind == FAKE_NO_PMU)
        return promise;
    promise.hypervisor = leaves->leaf1[2] >> 31;
    promise.capabilities = promise.kind != FAKE_NETBURST && leaves->leaf1[2] >> 15 & 1;
    if (promise.kind != FAKE_NETBURST && leaves->leaf0[0] >= 7) {
        promise.transactions = leaves->leaf7[1] >> 4 & 1 || leaves->leaf7[1] >> 11 & 1;
        /* Microcode that aborts transactions takes counter 3. */
        if (leaves->leaf7[3] >> 13 & 1 && !(leaves->leaf7[3] >> 11 & 1))
            promise.general &= ~8u;
    }
    if (!(promise.general | promise.fixed))
        promise.kind = FAKE_NO_PMU;
    return promise;
}

/* ---- Leaves of real CPUs ---- */

#define GENUINE(leaf)                                                                                                  \
    {                                                                                                                  \
        leaf, 0x756e6547, 0x6c65746e, 0x49656e69                                                                       \
    }
#define BIG_LEAF23 .leaf23_0 = {0xb, 3, 0, 0}, .leaf23_1 = {0x3ff, 0xf, 0, 0}, .leaf23_3 = {0x1dff, 0, 0, 0}

/* clang-format off */
const struct fake_leaves fake_known_leaves[] = {
    {.leaf0 = GENUINE(0x16), .leaf1 = {0x506e3, 0, 0x8000, 0}, .leaf7 = {0, 0x810, 0, 0},
     .leaf_a = {0x07300404, 0, 0, 0x603}, .others = 1},
    {.leaf0 = GENUINE(0xa), .leaf1 = {0x10676, 0, 0x8000, 0}, .leaf_a = {0x07280202, 0, 0, 0x503}, .others = 2},
    {.leaf0 = GENUINE(0xa), .leaf1 = {0x6f6, 0, 0x8000, 0}, .leaf_a = {0x07280202, 0, 0, 0}, .others = 3},
    {.leaf0 = GENUINE(0xa), .leaf1 = {0x6e8, 0, 0x8000, 0}, .leaf_a = {0x07280201, 0, 0, 0}, .others = 4},
    {.leaf0 = GENUINE(0xb), .leaf1 = {0x106a5, 0, 0x8000, 0}, .leaf_a = {0x07300403, 0x44, 0, 0x603}, .others = 5},
    {.leaf0 = GENUINE(0x1b), .leaf1 = {0x706e5, 0, 0x8000, 0}, .leaf_a = {0x08300805, 0, 0xf, 0x8604}, .others = 6},
    {.leaf0 = GENUINE(0x16), .leaf1 = {0x506e3, 0, 0x80008000, 0}, .leaf_a = {0x07300802, 0, 0, 0x600}, .others = 7},
    {.leaf0 = GENUINE(0xa), .leaf1 = {0x106c2, 0, 0x8000, 0}, .leaf_a = {0x07280203, 0, 0, 0x2501}, .others = 8},
    {.leaf0 = GENUINE(0x20), .leaf1 = {0x90672, 0, 0x8000, 0}, .leaf7 = {0, 0, 0, 0x8000},
     .leaf_a = {0x07300605, 0, 7, 0x8603}, .leaf_1a = {0x40000001, 0, 0, 0}, .others = 9},
    {.leaf0 = GENUINE(0x16), .leaf1 = {0x506e3, 0, 0x8000, 0}, .leaf7 = {0, 0x810, 0, 0x2000},
     .leaf_a = {0x07300404, 0, 0, 0x603}, .others = 10},
    /* Pentium III, Pentium M */
    {.leaf0 = GENUINE(2), .leaf1 = {0x68a, 0, 0, 0}, .others = 11},
    {.leaf0 = GENUINE(2), .leaf1 = {0x6d8, 0, 0, 0}, .others = 12},
    /* Pentium 4: Willamette, Northwood with two threads, Prescott, Cedar Mill; dual core without threads */
    {.leaf0 = GENUINE(2), .leaf1 = {0xf12, 0x800, 0, 0x3febfbff}, .others = 13, .misc_enable = 0x89},
    {.leaf0 = GENUINE(2), .leaf1 = {0xf29, 0x1020809, 0, 0xbfebfbff}, .others = 14, .misc_enable = 0x89},
    {.leaf0 = GENUINE(5), .leaf1 = {0xf43, 0x20800, 0, 0xbfebfbff}, .others = 15, .misc_enable = 0x22850089},
    {.leaf0 = GENUINE(6), .leaf1 = {0xf64, 0x1020800, 0, 0xbfebfbff}, .others = 16, .leaf4 = {0x4004121, 0, 0, 0},
     .misc_enable = 0x1089},
    /* Westmere, Ivy Bridge without threads, Skymont, Lion Cove, Redwood Cove and Crestmont of Meteor Lake, Gracemont */
    {.leaf0 = GENUINE(0xb), .leaf1 = {0x206c2, 0, 0x8000, 0}, .leaf_a = {0x07300403, 4, 0, 0x603}, .others = 17},
    {.leaf0 = GENUINE(0xd), .leaf1 = {0x306a9, 0, 0x8000, 0}, .leaf_a = {0x07300803, 0, 0, 0x603}, .others = 18},
    {.leaf0 = GENUINE(0x23), .leaf1 = {0xb06d1, 0, 0x8000, 0}, .leaf7 = {1, 0, 0, 0x8000},
     .leaf_a = {0x0d300806, 0x280, 7, 0x8603}, .leaf_1a = {0x20000003, 0, 0, 0}, .others = 19,
     .leaf7_1 = {0x100, 0, 0, 0}, .leaf23_0 = {0xf, 3, 8, 0}, .leaf23_1 = {0xff, 0x77, 0, 0},
     .leaf23_3 = {0x1f7f, 0, 0, 0}},
    {.leaf0 = GENUINE(0x23), .leaf1 = {0xb06d1, 0, 0x8000, 0}, .leaf7 = {1, 0, 0, 0x8000},
     .leaf_a = {0x0d300806, 0x280, 7, 0x8603}, .leaf_1a = {0x40000003, 0, 0, 0}, .others = 20,
     .leaf7_1 = {0x100, 0, 0, 0}, BIG_LEAF23},
    {.leaf0 = GENUINE(0x23), .leaf1 = {0xa06a4, 0, 0x8000, 0}, .leaf7 = {1, 0, 0, 0x8000},
     .leaf_a = {0x07300805, 0, 7, 0x8603}, .leaf_1a = {0x40000002, 0, 0, 0}, .others = 21,
     .leaf7_1 = {0x100, 0, 0, 0}, .leaf23_0 = {0xb, 0, 0, 0}, .leaf23_1 = {0xff, 0xf, 0, 0},
     .leaf23_3 = {0xdff, 0, 0, 0}},
    {.leaf0 = GENUINE(0x23), .leaf1 = {0xa06a4, 0, 0x8000, 0}, .leaf7 = {1, 0, 0, 0x8000},
     .leaf_a = {0x07300805, 0, 7, 0x8603}, .leaf_1a = {0x20000002, 0, 0, 0}, .others = 22,
     .leaf7_1 = {0x100, 0, 0, 0}, .leaf23_0 = {0xb, 0, 6, 0}, .leaf23_1 = {0xff, 7, 0, 0},
     .leaf23_3 = {0x7f, 0, 0, 0}},
    {.leaf0 = GENUINE(0x20), .leaf1 = {0x90672, 0, 0x8000, 0}, .leaf7 = {0, 0, 0, 0x8000},
     .leaf_a = {0x07300605, 0, 7, 0x8603}, .leaf_1a = {0x20000001, 0, 0, 0}, .others = 23},
    /* Arrow Lake-H, which is of version 5 with leaf 23H; Haswell; Alder Lake with its E-cores off */
    {.leaf0 = GENUINE(0x23), .leaf1 = {0xc0652, 0, 0x8000, 0}, .leaf7 = {1, 0, 0, 0x8000},
     .leaf_a = {0x07300805, 0, 7, 0x8603}, .leaf_1a = {0x40000003, 0, 0, 0}, .others = 24,
     .leaf7_1 = {0x100, 0, 0, 0}, BIG_LEAF23},
    {.leaf0 = GENUINE(0xd), .leaf1 = {0x306c3, 0, 0x8000, 0}, .leaf7 = {0, 0x810, 0, 0},
     .leaf_a = {0x07300403, 0, 0, 0x603}, .others = 25},
    {.leaf0 = GENUINE(0x20), .leaf1 = {0x90672, 0, 0x8000, 0}, .leaf_a = {0x08300805, 0, 0xf, 0x8604}, .others = 26},
    /* Other vendors: AMD, Hygon's family 24, Zhaoxin, which has a leaf 0AH */
    {.leaf0 = {0x10, 0x68747541, 0x444d4163, 0x69746e65}, .leaf1 = {0xa20f10, 0, 0, 0}, .others = 27},
    {.leaf0 = {0x10, 0x68747541, 0x444d4163, 0x69746e65}, .leaf1 = {0x20fb1, 0x10000, 0, 0}, .others = 30},
    {.leaf0 = {0xd, 0x68747541, 0x444d4163, 0x69746e65}, .leaf1 = {0x600f12, 0, 0, 0}, .others = 31},
    {.leaf0 = {0x10, 0x68747541, 0x444d4163, 0x69746e65}, .leaf1 = {0xa60f12, 0, 0, 0}, .others = 32},
    {.leaf0 = {1, 0x68747541, 0x444d4163, 0x69746e65}, .leaf1 = {0x662, 0, 0, 0}, .others = 33},
    {.leaf0 = {0xd, 0x6f677948, 0x656e6975, 0x6e65476e}, .leaf1 = {0x900f02, 0, 0, 0}, .others = 28},
    {.leaf0 = {0xd, 0x68532020, 0x20206961, 0x68676e61}, .leaf1 = {0x107b0, 0, 0x8000, 0},
     .leaf_a = {0x07300402, 0, 0, 0x603}, .others = 29},
};
/* clang-format on */
const unsigned fake_known_count = sizeof fake_known_leaves / sizeof fake_known_leaves[0];
