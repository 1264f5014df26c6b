/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: the CPU that is made of numbers.
 *
 * Registers: Intel SDM vol 3 (325384-059) 18.2 and 35.1; full-width writes 18.2.5.
 */
#include <string.h>

#include "tests/fuzz/fake.h"

#define ONES(count) ((count) >= 64 ? UINT64_MAX : (UINT64_C(1) << (count)) - 1)

#define SELECT_INT (UINT64_C(1) << 20)
#define SELECT_EN (UINT64_C(1) << 22)

/* ---- The oracle: SDM vol 2 CPUID leaves 0, 1, 7, 0AH; vol 3 18.2; Linux arch/x86/events/intel/core.c ---- */

/* A hybrid's big core by its generation, 1: Golden Cove; 0: none.  Leaf 1AH knows better than the model. */
static unsigned big_core(const struct fake_leaves *leaves, unsigned family, unsigned model)
{
    static const struct {
        uint8_t family, model, core;
    } hybrids[] = {{6, 0x97, 1}, {6, 0x9a, 1}, {6, 0xb7, 1}, {6, 0xba, 1}, {6, 0xbf, 1}, {6, 0xd7, 1}, {6, 0xbe, 0},
                   {6, 0xaa, 2}, {6, 0xac, 2}, {6, 0xb5, 2}, {6, 0xaf, 0}, {6, 0xb6, 0}, {6, 0xbd, 3}, {6, 0xc5, 3},
                   {6, 0xc6, 3}, {6, 0xcc, 4}, {6, 0xd5, 4}, {6, 0xe5, 4}, {6, 0xdd, 0}, {18, 1, 5},   {18, 3, 5}};
    uint32_t type = leaves->leaf0[0] >= 0x1a ? leaves->leaf_1a[0] : 0, native = type & 0xffffff;

    for (unsigned i = 0; i < sizeof hybrids / sizeof hybrids[0]; i++)
        if (hybrids[i].family == family && hybrids[i].model == model) {
            if (type >> 24 == 0x20)
                return 0;
            return native - 1 <= 4 ? native : hybrids[i].core;
        }
    return 0;
}

/* P6 up to Pentium M: no leaf 0AH, two counters of 40 bits. */
static bool is_p6(const struct fake_leaves *leaves, unsigned family, unsigned model)
{
    return family == 6 && model < 14 && (0x2fea >> model & 1) && leaves->leaf0[0] < 0xa && !(leaves->leaf1[2] >> 31);
}

struct fake_promise fake_promised(const struct fake_leaves *leaves)
{
    uint32_t signature = leaves->leaf1[0], eax = leaves->leaf_a[0], edx = leaves->leaf_a[3];
    unsigned family = (signature >> 8 & 15) + ((signature >> 8 & 15) == 15 ? signature >> 20 & 255 : 0);
    unsigned model = (signature >> 4 & 15) + (family == 6 || family >= 15 ? signature >> 12 & 0xf0 : 0);
    unsigned count = eax >> 8 & 255, length = eax >> 24, fixed = edx & 31, core = big_core(leaves, family, model);
    struct fake_promise promise = {.version = eax & 255, .width = eax >> 16 & 255};
    bool extended = leaves->leaf0[0] >= 0x23 && leaves->leaf7[0] && leaves->leaf7_1[0] >> 8 & 1;
    bool genuine = leaves->leaf0[1] == 0x756e6547 && leaves->leaf0[3] == 0x49656e69 && leaves->leaf0[2] == 0x6c65746e;

    /* "GenuineIntel", a leaf 0AH, counters; not Knights Corner, not NetBurst, which have other registers. */
    promise.pmu = genuine && leaves->leaf0[0] >= 0xa && family >= 6 && family != 11 && family != 15 &&
                  promise.version && count && promise.width >= 32 && promise.width <= 64;
    if (!promise.pmu && genuine && is_p6(leaves, family, model)) {
        promise = (struct fake_promise){.pmu = true, .general = 3, .width = 40, .events = 0x7f};
        length = 0;
    } else if (!promise.pmu) {
        return (struct fake_promise){.pmu = false};
    }
    promise.hypervisor = leaves->leaf1[2] >> 31;
    promise.capabilities = leaves->leaf1[2] >> 15 & 1;
    promise.general |= (uint32_t)ONES(count > 31 ? 31 : count);
    /* Versions 2 to 4 have three fixed counters whatever they say, but for a hypervisor. */
    if (promise.version < 2)
        fixed = 0;
    else if (promise.version < 5 && !promise.hypervisor && fixed < 3)
        fixed = 3;
    promise.fixed = (uint32_t)ONES(fixed) | (promise.version >= 5 ? leaves->leaf_a[2] : 0);
    promise.fixed_width = edx >> 5 & 255 ? edx >> 5 & 255 : promise.width;
    if (promise.fixed_width < 32 || promise.fixed_width > 64)
        promise.fixed = promise.fixed_width = 0;
    for (unsigned i = 0; i < 31 && i < length; i++)
        promise.events |= (~leaves->leaf_a[1] >> i & 1) << i;
    promise.any = promise.version >= 3 && !(edx >> 15 & 1);
    /* Leaf 23H: what this core has, where 0AH tells what all have. */
    if (extended && promise.version >= 2) {
        promise.select = (leaves->leaf_23[0][1] & 1 ? UINT64_C(0xff) << 40 : 0) |
                         (leaves->leaf_23[0][1] & 2 ? UINT64_C(1) << 36 : 0);
        if (leaves->leaf_23[0][0] & 2) {
            promise.general = leaves->leaf_23[1][0] & 1 ? leaves->leaf_23[1][0] : promise.general;
            promise.fixed = promise.fixed_width ? leaves->leaf_23[1][1] : 0;
        }
        if (leaves->leaf_23[0][0] & 8)
            promise.events = leaves->leaf_23[3][0];
    }
    if (!promise.hypervisor && core == 1 && promise.version == 5) {
        promise.general = 0xff;
        promise.fixed = promise.fixed_width ? 0xf : 0;
    }
    promise.metrics = !promise.hypervisor && core && (promise.fixed & 8);
    promise.general &= promise.version ? 0x3ff : 3;
    promise.fixed &= 0x7f;
    if (leaves->leaf0[0] >= 7) {
        promise.transactions = leaves->leaf7[1] >> 4 & 1 || leaves->leaf7[1] >> 11 & 1;
        /* Microcode that aborts transactions takes counter 3. */
        promise.withdrawn = leaves->leaf7[3] >> 13 & 1 && !(leaves->leaf7[3] >> 11 & 1);
        promise.general &= promise.withdrawn ? ~8u : ~0u;
    }
    return promise;
}

/* ---- Registers ---- */

static const uint32_t single_registers[] = {0x38d, 0x38e, 0x38f, 0x390, 0x392, 0x1d9,
                                            0x345, 0x1a6, 0x1a7, 0x3f6, 0x3f7, 0x329};

static unsigned index_of(uint32_t msr)
{
    if (msr - 0xc1u < 10)
        return msr - 0xc1;
    if (msr - 0x4c1u < 10)
        return msr - 0x4c1;
    if (msr - 0x186u < 10)
        return FAKE_SELECT + msr - 0x186;
    if (msr - 0x309u < 7)
        return FAKE_FIXED + msr - 0x309;
    if (msr - 0x1900u < 40 && !(msr & 2))
        return (msr & 1 ? FAKE_SELECT : 0) + (msr - 0x1900) / 4;
    if (msr - 0x1980u < 28 && !(msr & 3))
        return FAKE_FIXED + (msr - 0x1980) / 4;
    for (unsigned i = 0; i < sizeof single_registers / sizeof single_registers[0]; i++)
        if (single_registers[i] == msr)
            return FAKE_OTHERS + i;
    return FAKE_REGISTERS;
}

/* Writes of general counters at this address are of 32 bits, sign-extended. */
static bool is_legacy(uint32_t msr)
{
    return msr - 0xc1u < 10;
}

static uint64_t control_bits(const struct fake_promise *promise)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < 7; i++)
        if (promise->fixed >> i & 1)
            bits |= (promise->any ? UINT64_C(15) : UINT64_C(11)) << 4 * i;
    return bits;
}

uint64_t fake_bits(const struct fake *fake, uint32_t msr)
{
    const struct fake_promise *promise = &fake->promise;
    uint64_t counters = promise->general | (promise->withdrawn && promise->version ? 8u : 0u) |
                        (uint64_t)promise->fixed << 32 | (uint64_t)promise->metrics << 48;
    unsigned i = index_of(msr);

    if (!promise->pmu || i == FAKE_REGISTERS || (msr >= 0x1900 && promise->version < 6))
        return 0;
    if (i < FAKE_FIXED && !(promise->general >> (i % FAKE_SELECT) & 1))
        return 0;
    if (i < FAKE_SELECT)
        return msr - 0x4c1u >= 10 || fake->full_write ? ONES(promise->width) : 0;
    if (i < FAKE_FIXED)
        return UINT64_C(0xffd7ffff) | (promise->any ? UINT64_C(1) << 21 : 0) |
               (promise->transactions ? UINT64_C(3) << 32 : 0) | promise->select;
    if (i < FAKE_OTHERS)
        return promise->fixed >> (i - FAKE_FIXED) & 1 ? ONES(promise->fixed_width) : 0;
    if (msr == 0x329)
        return promise->metrics ? UINT64_MAX : 0;
    if (msr == 0x345)
        return promise->capabilities ? UINT64_MAX : 0;
    if (msr == 0x1a6 || msr == 0x1a7 || msr >= 0x3f6)
        return fake->manner == FAKE_NOISE ? UINT64_MAX : 0;
    if (promise->version < (msr == 0x392 ? 4u : 2u))
        return 0;
    if (msr == 0x390 && promise->version >= 4)
        counters |= UINT64_C(3) << 58;
    return msr == 0x1d9 ? UINT64_C(0xffff) : msr == 0x38d ? control_bits(promise) : counters;
}

uint64_t *fake_register(struct fake *fake, uint32_t msr)
{
    return &fake->value[index_of(msr)];
}

/* ---- Interrupts and time ---- */

static void fake_interrupt(struct fake *fake)
{
    const struct upmu_frame frame = {0x1000 + fake->now_ns, 0x8000, false};

    if (fake->in_interrupt || fake->deaf || !fake->port.pmi_rearm)
        return;
    fake->in_interrupt = true;
    fake->interrupts++;
    FUZZ_CHECK(upmu_handle_pmi(&fake->cpu, &frame) <= UPMU_PMI_STALE, "an answer that there is not");
    fake->in_interrupt = false;
}

/* Once in `odds` of 256 times. */
static bool noise(struct fake *fake, unsigned odds)
{
    return odds && fuzz_below(&fake->noise, 256) < odds;
}

/* ---- Hooks ---- */

static bool fake_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    struct fake *fake = context;
    uint64_t bits = fake_bits(fake, msr);

    fake->reads++;
    if (!bits) {
        FUZZ_CHECK(fake->port.msr_faults_are_safe, "reads %x, which the leaves do not promise", (unsigned)msr);
        return false;
    }
    if (fake->manner == FAKE_NOISE && noise(fake, fake->garbage_odds / 4))
        fake_interrupt(fake);
    if (fake->manner == FAKE_FAULTS || noise(fake, fake->fault_odds)) {
        fake->faults++;
        return false;
    }
    *out_value = msr == 0x390 ? 0 : *fake_register(fake, msr) & bits;
    if (msr == 0x345)
        *out_value = fake->full_write ? UINT64_C(0x2000) : 0;
    if (noise(fake, fake->garbage_odds))
        *out_value = fuzz_word(&fake->noise);
    return true;
}

/* A write that a real register would not take, or that takes what is not ours. */
static void check_value(const struct fake *fake, uint32_t msr, uint64_t value, uint64_t before)
{
    bool legacy = is_legacy(msr);

    FUZZ_CHECK(msr != 0x38e && msr != 0x392 && msr != 0x345, "writes %x", (unsigned)msr);
    if (fake->manner == FAKE_NOISE)
        return;
    FUZZ_CHECK(legacy || !(value & ~fake_bits(fake, msr)), "writes %llx to %x, which has bits %llx",
               (unsigned long long)value, (unsigned)msr, (unsigned long long)fake_bits(fake, msr));
    FUZZ_CHECK(msr != 0x1d9 || !((value ^ before) & ~UINT64_C(0x1800)), "DEBUGCTL %llx becomes %llx",
               (unsigned long long)before, (unsigned long long)value);
}

static bool fake_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    struct fake *fake = context;
    uint64_t bits = fake_bits(fake, msr), *place = fake_register(fake, msr);

    fake->writes++;
    FUZZ_CHECK(bits, "writes %llx to %x, which the leaves do not promise", (unsigned long long)value, (unsigned)msr);
    if (fake->manner == FAKE_NOISE && noise(fake, fake->garbage_odds / 4))
        fake_interrupt(fake);
    check_value(fake, msr, value, *place);
    if (fake->manner == FAKE_FAULTS || noise(fake, fake->fault_odds)) {
        fake->faults++;
        return false;
    }
    if (fake->manner == FAKE_IGNORES || noise(fake, fake->garbage_odds / 2))
        return true;
    if (msr == 0x390)
        *fake_register(fake, 0x38e) &= ~value;
    else if (is_legacy(msr))
        *place = (uint64_t)(int64_t)(int32_t)value & bits;
    else
        *place = value & bits;
    return true;
}

static bool fake_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    bool fixed = index >> 30 & 1;

    return fake_rdmsr(context, (fixed ? 0x309 : 0xc1) + (index & 0xff), out_value);
}

static void fake_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    const struct fake *fake = context;
    uint64_t random = fake->leaves.others ^ (uint64_t)leaf << 32 ^ subleaf;
    const uint32_t *known = leaf == 0      ? fake->leaves.leaf0
                            : leaf == 1    ? fake->leaves.leaf1
                            : leaf == 7    ? subleaf ? fake->leaves.leaf7_1 : fake->leaves.leaf7
                            : leaf == 0xa  ? fake->leaves.leaf_a
                            : leaf == 0x1a ? fake->leaves.leaf_1a
                            : leaf == 0x23 ? fake->leaves.leaf_23[subleaf & 3]
                                           : NULL;

    random += !random;
    for (unsigned i = 0; i < 4; i++)
        out[i] = known ? known[i] : (uint32_t)fuzz_random(&random);
}

static void fake_rearm(void *context)
{
    (void)context;
}

static uint64_t fake_clock(void *context)
{
    struct fake *fake = context;

    return fake->now_ns += 100;
}

/* ---- Life ---- */

void fake_init(struct fake *fake, const struct fake_leaves *leaves, enum fake_manner manner, uint64_t seed)
{
    static const uint32_t selects[] = {0, 0x5300c0, 0x51013c, 0x1000c0, 0x410000, 0xc4};

    memset(fake, 0, sizeof *fake);
    fake->leaves = *leaves;
    fake->promise = fake_promised(leaves);
    fake->manner = manner;
    fake->noise = seed + !seed;
    fake->port = (struct upmu_port){fake,       fake_rdmsr, fake_wrmsr, fake_cpuid, NULL, NULL, NULL,
                                    fake_rdpmc, fake_rearm, fake_clock, NULL,       NULL, true};
    for (unsigned i = 0; seed && i < FAKE_SELECT; i++) {
        fake->value[i] = fuzz_word(&seed) & fake_bits(fake, 0xc1 + i);
        fake->value[FAKE_SELECT + i] = selects[fuzz_below(&seed, 6)] & fake_bits(fake, 0x186 + i);
        if (i < FAKE_OTHERS - FAKE_FIXED)
            fake->value[FAKE_FIXED + i] = fuzz_word(&seed) & fake_bits(fake, 0x309 + i);
    }
    for (unsigned i = 0; seed && i < 6; i++)
        fake->value[FAKE_OTHERS + i] = fuzz_word(&seed) & fake_bits(fake, single_registers[i]);
}

/* Counters are numbered as upmu does: fixed ones from 16 on. */
static uint64_t *runs(struct fake *fake, unsigned counter, bool *out_interrupts)
{
    bool fixed = counter >= 16;
    uint64_t global = *fake_register(fake, 0x38f) >> (fixed ? counter + 16 : counter);
    uint64_t control = *fake_register(fake, 0x38d) >> 4 * (counter & 15);
    uint64_t select = fake->value[FAKE_SELECT + counter % FAKE_SELECT], enable = select;

    /* P6: select 0 enables both, and what has no privilege counts nothing. */
    if (!fake->promise.version)
        enable = select & 0x30000 ? fake->value[FAKE_SELECT] : 0;
    if (!((fake->promise.general | fake->promise.fixed << 16) >> counter & 1) ||
        (fake->promise.version >= 2 && !(global & 1)) || (fixed ? !(control & 3) : !(enable & SELECT_EN)))
        return NULL;
    *out_interrupts = fixed ? control >> 3 & 1 : (select & SELECT_INT) != 0;
    return &fake->value[fixed ? FAKE_FIXED + counter - 16 : counter];
}

/* In pieces, so that an interrupt comes where its counter passes zero. */
void fake_run(struct fake *fake, uint64_t events)
{
    while (events) {
        uint64_t piece = events;
        bool interrupts, due = false;

        for (unsigned i = 0; i < 23; i++) {
            uint64_t *value = i < 10 || i >= 16 ? runs(fake, i, &interrupts) : NULL;
            uint64_t left = ONES(i >= 16 ? fake->promise.fixed_width : fake->promise.width);

            if (value && interrupts && left - *value < piece)
                piece = left - *value + 1;
        }
        piece += !piece;
        for (unsigned i = 0; i < 23; i++) {
            uint64_t *value = i < 10 || i >= 16 ? runs(fake, i, &interrupts) : NULL;
            uint64_t ones = ONES(i >= 16 ? fake->promise.fixed_width : fake->promise.width);

            if (!value)
                continue;
            if (ones - *value < piece) {
                *fake_register(fake, 0x38e) |= UINT64_C(1) << (i >= 16 ? i + 16 : i);
                due |= interrupts;
            }
            *value = (*value + piece) & ones;
        }
        fake->now_ns += piece;
        events -= piece;
        if (due)
            fake_interrupt(fake);
    }
}

/* ---- Leaves of real CPUs ---- */

#define GENUINE(leaf)                                                                                                  \
    {                                                                                                                  \
        leaf, 0x756e6547, 0x6c65746e, 0x49656e69                                                                       \
    }

const struct fake_leaves fake_known_leaves[] = {
#define KNOWN(leaves...)                                                                                               \
    {                                                                                                                  \
        leaves, {0},                                                                                                   \
        {                                                                                                              \
            {                                                                                                          \
                0                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
    KNOWN(GENUINE(0x16), {0x506e3, 0, 0x8000, 0}, {0, 0x810, 0, 0}, {0x07300404, 0, 0, 0x603}, {0}, 1),
    KNOWN(GENUINE(0xa), {0x10676, 0, 0x8000, 0}, {0}, {0x07280202, 0, 0, 0x503}, {0}, 2),
    KNOWN(GENUINE(0xa), {0x6f6, 0, 0x8000, 0}, {0}, {0x07280202, 0, 0, 0}, {0}, 3),
    KNOWN(GENUINE(0xa), {0x6e8, 0, 0x8000, 0}, {0}, {0x07280201, 0, 0, 0}, {0}, 4),
    KNOWN(GENUINE(0xb), {0x106a5, 0, 0x8000, 0}, {0}, {0x07300403, 0x44, 0, 0x603}, {0}, 5),
    KNOWN(GENUINE(0x1b), {0x706e5, 0, 0x8000, 0}, {0}, {0x08300805, 0, 0xf, 0x8604}, {0}, 6),
    KNOWN(GENUINE(0x16), {0x506e3, 0, 0x80008000, 0}, {0}, {0x07300802, 0, 0, 0x600}, {0}, 7),
    KNOWN(GENUINE(0xa), {0x106c2, 0, 0x8000, 0}, {0}, {0x07280203, 0, 0, 0x2501}, {0}, 8),
    KNOWN(GENUINE(0x20), {0x90672, 0, 0x8000, 0}, {0, 0, 0, 0x8000}, {0x07300605, 0, 7, 0x8603}, {0x40000001}, 9),
    KNOWN(GENUINE(0x16), {0x506e3, 0, 0x8000, 0}, {0, 0x810, 0, 0x2000}, {0x07300404, 0, 0, 0x603}, {0}, 10),
    KNOWN(GENUINE(0x20), {0x90672, 0, 0x8000, 0}, {0, 0, 0, 0x8000}, {0x07300605, 0, 7, 0x8603}, {0x20000001}, 11),
    {GENUINE(0x23),
     {0xa06a4, 0, 0x8000, 0},
     {1, 0, 0, 0x8000},
     {0x07300805, 0, 7, 0x8603},
     {0x40000002},
     12,
     {0x100},
     {{0xb}, {0xff, 0xf}, {0}, {0xdff}}},
    {GENUINE(0x23),
     {0xb06d1, 0, 0x8000, 0},
     {1, 0, 0, 0x8000},
     {0x0d300806, 0x280, 7, 0x8603},
     {0x40000003},
     13,
     {0x100},
     {{0xb, 3}, {0x3ff, 0xf}, {0}, {0x1dff}}},
    {GENUINE(0x23),
     {0xb06d1, 0, 0x8000, 0},
     {1, 0, 0, 0x8000},
     {0x0d300806, 0x280, 7, 0x8603},
     {0x20000003},
     14,
     {0x100},
     {{0xf, 3, 8}, {0xff, 0x77}, {0xfc, 3, 0xfc, 3}, {0x1f7f}}},
    KNOWN(GENUINE(2), {0x673, 0, 0, 0}, {0}, {0}, {0}, 15),
    KNOWN(GENUINE(2), {0x6d6, 0, 0, 0}, {0}, {0}, {0}, 16),
};
const unsigned fake_known_count = sizeof fake_known_leaves / sizeof fake_known_leaves[0];
