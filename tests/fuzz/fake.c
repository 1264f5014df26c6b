/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: the CPU that is made of numbers.
 *
 * Registers: Intel SDM vol 3 (325384-059) 18.2, 18.15 and 35.1; full-width writes
 * 18.2.5; those at 1900H, 1980H: Linux arch/x86/include/asm/msr-index.h; P6: 18.17 and
 * Linux arch/x86/events/intel/p6.c; which bits NetBurst's registers have, and that
 * bit 31 of an ESCR faults: VirtualBox's CPU database, probed on hardware.
 */
#include <string.h>

#include "tests/common/garbage.h"
#include "tests/fuzz/fake.h"

#define ONES(count) ((count) >= 64 ? UINT64_MAX : (UINT64_C(1) << (count)) - 1)

#define SELECT_INT (UINT64_C(1) << 20)
#define SELECT_EN (UINT64_C(1) << 22)
#define SELECT_RINGS (UINT64_C(3) << 16)

/* ---- Registers ---- */

/* Places: 10 general counters, their selects, 7 fixed counters, and these; the last place is unused. */
#define SELECTS 10u
#define FIXED 20u
#define SINGLES 27u
#define NOBODY (FAKE_REGISTERS - 1)
static const uint32_t single_registers[] = {0x38d, 0x38e, 0x38f, 0x390, 0x392, 0x1d9, 0x345, 0x329,  0x1a6,
                                            0x1a7, 0x3f6, 0x3f7, 0x3e0, 0x3e1, 0x3e2, 0x3e3, 0x1328, 0x1329};
#define FIRST_PAYLOAD 8u

/* NetBurst: 18 counters, their CCCRs, ESCRs by address, PEBS_ENABLE, PEBS_MATRIX_VERT, IA32_MISC_ENABLE. */
#define CCCRS 18u
#define ESCRS 36u
#define TAGS 102u
#define CCCR_ENABLE (UINT64_C(1) << 12)
#define CCCR_THREADS (UINT64_C(3) << 16)
#define CCCR_PMI (UINT64_C(3) << 26)
#define CCCR_OVF (UINT64_C(1) << 31)

static unsigned netburst_index(uint32_t msr)
{
    if (msr >= 0x300 && msr < 0x312)
        return msr - 0x300;
    if (msr >= 0x360 && msr < 0x372)
        return CCCRS + msr - 0x360;
    if (msr >= 0x3a0 && msr < 0x3e2)
        return ESCRS + msr - 0x3a0;
    return msr == 0x3f1 ? TAGS : msr == 0x3f2 ? TAGS + 1 : msr == 0x1a0 ? TAGS + 2 : NOBODY;
}

/* AMD: 15 counters where the others have theirs, 15 selects where NetBurst has its CCCRs, and these. */
#define AMD_SINGLES 40u
#define AMD_EFER 0xc0000080u
static const uint32_t amd_singles[] = {0xc0000300, 0xc0000301, 0xc0000302, 0x1d9, AMD_EFER};

static unsigned amd_index(const struct fake *fake, uint32_t msr)
{
    if (!fake->promise.extended && msr >= 0xc0010000 && msr < 0xc0010008)
        return (msr & 4 ? 0 : CCCRS) + (msr & 3);
    if (fake->promise.extended && msr >= 0xc0010200 && msr < 0xc001021e)
        return (msr & 1 ? 0 : CCCRS) + (msr - 0xc0010200) / 2;
    for (unsigned i = 0; i < sizeof amd_singles / sizeof amd_singles[0]; i++)
        if (amd_singles[i] == msr)
            return AMD_SINGLES + i;
    return NOBODY;
}

static uint64_t amd_bits(const struct fake_promise *promise, uint32_t msr, unsigned i)
{
    if (i < CCCRS)
        return promise->general >> i & 1 ? ONES(promise->width) : 0;
    if (i < AMD_SINGLES)
        return promise->general >> (i - CCCRS) & 1 ? promise->select : 0;
    if (msr == AMD_EFER)
        return UINT64_MAX;
    if (promise->version < 2)
        return 0;
    if (msr == 0x1d9)
        return promise->freeze ? 0xffff : 0;
    return promise->general | (msr == 0xc0000302 ? UINT64_C(3) << 58 : 0);
}

static bool is_legacy(const struct fake *fake, uint32_t msr)
{
    return fake->promise.kind != FAKE_NETBURST && fake->promise.kind != FAKE_AMD && msr >= 0xc1 && msr < 0xcb;
}

/* Of version 6 counters and selects have a second address. */
static unsigned index_of(const struct fake *fake, uint32_t msr)
{
    if (fake->promise.kind == FAKE_NETBURST)
        return netburst_index(msr);
    if (fake->promise.kind == FAKE_AMD)
        return amd_index(fake, msr);
    if (fake->promise.version >= 6 && msr >= 0x1900 && msr < 0x1928 && (msr & 3) < 2)
        return (msr & 1) * SELECTS + (msr - 0x1900) / 4;
    if (fake->promise.version >= 6 && msr >= 0x1980 && msr < 0x199c && !(msr & 3))
        return FIXED + (msr - 0x1980) / 4;
    if (is_legacy(fake, msr))
        return msr - 0xc1;
    if (msr >= 0x4c1 && msr < 0x4cb)
        return msr - 0x4c1;
    if (msr >= 0x186 && msr < 0x190)
        return SELECTS + msr - 0x186;
    if (msr >= 0x309 && msr < 0x310)
        return FIXED + msr - 0x309;
    for (unsigned i = 0; i < sizeof single_registers / sizeof single_registers[0]; i++)
        if (single_registers[i] == msr)
            return SINGLES + i;
    return NOBODY;
}

static uint64_t control_bits(const struct fake_promise *promise)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < 7; i++)
        if (promise->fixed >> i & 1)
            bits |= (promise->any ? UINT64_C(15) : UINT64_C(11)) << 4 * i;
    return bits;
}

bool fake_has_metrics(const struct fake *fake)
{
    const struct fake_promise *promise = &fake->promise;

    return promise->metrics || (fake->metrics && promise->kind == FAKE_ARCH && promise->capabilities &&
                                promise->version >= 5 && promise->fixed >> 3 & 1);
}

/* ESCRs: no SSU_ESCR1 (3BFH), nothing at 3C6H, 3C7H, 3CEH to 3DFH; bit 31 faults. */
static uint64_t netburst_bits(const struct fake_promise *promise, uint32_t msr)
{
    unsigned i = netburst_index(msr);
    bool cascades = promise->cascades && (msr == 0x36c || msr == 0x36f || msr == 0x370 || msr == 0x371);

    if (i < CCCRS)
        return ONES(promise->width);
    if (i < ESCRS)
        return UINT64_C(0xcffff000) - (promise->threads ? 0 : UINT64_C(0x8000000)) + (cascades ? 0x800 : 0);
    if (msr == 0x3bf || msr == 0x3c6 || msr == 0x3c7 || (msr >= 0x3ce && msr < 0x3e0))
        return 0;
    if (i < TAGS)
        return (msr == 0x3ba || msr == 0x3bb) && !promise->iq_escrs ? 0
               : promise->threads                                   ? UINT64_C(0x7fffffff)
                                                                    : UINT64_C(0x7ffffffc);
    return msr == 0x1a0 ? UINT32_MAX : i == NOBODY || !promise->tags ? 0 : msr == 0x3f1 ? 0x7ffffff : 0x1fff;
}

/* Counters and selects of Intel's core PMUs. */
static uint64_t counter_bits(const struct fake *fake, uint32_t msr, unsigned i)
{
    const struct fake_promise *promise = &fake->promise;

    if (i >= FIXED)
        return promise->fixed >> (i - FIXED) & 1 ? ONES(promise->fixed_width) : 0;
    if (!(promise->general >> (i < SELECTS ? i : i - SELECTS) & 1))
        return 0;
    if (i < SELECTS)
        return msr < 0x4c1 || msr >= 0x1900 || fake->full_write ? ONES(promise->width) : 0;
    return UINT64_C(0xffd7ffff) | (promise->any ? UINT64_C(1) << 21 : 0) |
           (promise->transactions ? UINT64_C(3) << 32 : 0) | (promise->equal ? UINT64_C(1) << 36 : 0) |
           (promise->umask2 ? UINT64_C(0xff) << 40 : 0);
}

uint64_t fake_bits(const struct fake *fake, uint32_t msr)
{
    const struct fake_promise *promise = &fake->promise;
    uint64_t counters = promise->general | (uint64_t)promise->fixed << 32 | (uint64_t)fake_has_metrics(fake) << 48;
    unsigned i = index_of(fake, msr);

    /* Family 15 has IA32_MISC_ENABLE, PMU or not. */
    if (msr == 0x1a0 && (fake->leaves.leaf1[0] & 0xff00f00) == 0xf00)
        return UINT32_MAX;
    if (promise->kind == FAKE_NO_PMU || i == NOBODY)
        return 0;
    if (promise->kind == FAKE_NETBURST)
        return netburst_bits(promise, msr);
    if (promise->kind == FAKE_AMD)
        return amd_bits(promise, msr, i);
    if (i < SINGLES)
        return counter_bits(fake, msr, i);
    if (msr == 0x345)
        return promise->capabilities ? UINT64_MAX : 0;
    if (msr == 0x329)
        return fake_has_metrics(fake) ? UINT64_MAX : 0;
    if (i >= SINGLES + FIRST_PAYLOAD)
        return fake->manner == FAKE_NOISE ? UINT64_MAX : 0;
    if (promise->version < (msr == 0x392 ? 4u : 2u))
        return 0;
    /* Freezes of version 4, buffers, changed conditions. */
    if (msr == 0x390)
        counters |= UINT64_C(3) << 62 | (promise->version >= 4 ? UINT64_C(3) << 58 : 0);
    return msr == 0x1d9 ? UINT64_C(0xffff) : msr == 0x38d ? control_bits(promise) : counters;
}

uint64_t *fake_register(struct fake *fake, uint32_t msr)
{
    return &fake->value[index_of(fake, msr)];
}

uint64_t *fake_counter(struct fake *fake, unsigned counter)
{
    if (fake->promise.kind == FAKE_NETBURST)
        return counter < 18 ? &fake->value[counter] : NULL;
    if (fake->promise.kind == FAKE_AMD)
        return counter < 15 && fake->promise.general >> counter & 1 ? &fake->value[counter] : NULL;
    if (counter < 10 && fake->promise.general >> counter & 1)
        return &fake->value[counter];
    return counter >= 16 && counter < 23 && fake->promise.fixed >> (counter - 16) & 1
               ? &fake->value[FIXED + counter - 16]
               : NULL;
}

uint64_t *fake_select(struct fake *fake, unsigned counter)
{
    if (!fake_counter(fake, counter))
        return NULL;
    if (fake->promise.kind == FAKE_NETBURST || fake->promise.kind == FAKE_AMD)
        return &fake->value[CCCRS + counter];
    return counter < 16 ? &fake->value[SELECTS + counter] : NULL;
}

/* ---- Interrupts and time ---- */

static void fake_interrupt(struct fake *fake)
{
    const struct upmu_frame frame = {.ip = 0x1000 + fake->now_ns, .sp = 0x8000};

    if (fake->in_interrupt || fake->deaf || !fake->port.pmi_rearm)
        return;
    fake->in_interrupt = true;
    fake->interrupts++;
    FUZZ_CHECK(upmu_pmi_handle(&fake->cpu, &frame) <= UPMU_PMI_STALE, "an answer that there is not");
    fake->in_interrupt = false;
}

/* Once in `odds` of 256 times. */
static bool noise(struct fake *fake, unsigned odds)
{
    return odds && fuzz_below(&fake->noise, 256) < odds;
}

/* ---- Hooks ---- */

/*
 * Of version 6: configurations B and C of a counter, which leaf 23H promises by subleaves 2 and 5; all 0.  The DS
 * flag promises IA32_MISC_ENABLE and IA32_PEBS_ENABLE, which is 0.
 */
static bool is_configuration(const struct fake *fake, uint32_t msr)
{
    uint32_t words[4];

    if (msr == 0x1a0 || msr == 0x3f1)
        return fake->leaves.leaf1[3] >> 21 & 1;
    fake_leaf(&fake->leaves, 0x23, 0, words);
    return msr >= 0x1900 && msr < 0x1a00 && (msr & 2) && (words[0] >> (msr & 1 ? 5 : 2) & 1);
}

static bool fake_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    struct fake *fake = context;
    uint64_t bits = fake_bits(fake, msr);

    fake->reads++;
    if (!bits && is_configuration(fake, msr)) {
        *out_value = msr == 0x1a0 ? fake->leaves.misc_enable : 0;
        return true;
    }
    if (!bits) {
        FUZZ_CHECK(fake->port.msr_faults_are_safe, "reads %x, which the leaves do not promise", (unsigned)msr);
        return garbage(out_value);
    }
    if (fake->manner == FAKE_NOISE && noise(fake, fake->garbage_odds / 4))
        fake_interrupt(fake);
    if (fake->manner == FAKE_FAULTS || noise(fake, fake->fault_odds)) {
        fake->faults++;
        return garbage(out_value);
    }
    *out_value = msr == 0x390 || msr == 0xc0000302 ? 0 : *fake_register(fake, msr) & bits;
    if (msr == 0x345)
        *out_value = (fake->full_write ? 0x2000 : 0) | (fake->metrics ? 0x8000 : 0);
    if (msr == 0x1a0)
        *out_value = fake->leaves.misc_enable;
    if (noise(fake, fake->garbage_odds))
        *out_value = fuzz_word(&fake->noise);
    return true;
}

/* What belongs to a counter in others' hands: its registers, and its bits of common ones. */
static void check_foreign(struct fake *fake, uint32_t msr, uint64_t value, uint64_t before)
{
    const uint64_t *place = fake_register(fake, msr);
    bool netburst = fake->promise.kind == FAKE_NETBURST;

    for (unsigned i = 0; i < 23; i++) {
        uint64_t bit = UINT64_C(1) << (i < 16 ? i : i + 16);

        if (!(fake->foreign >> i & 1))
            continue;
        FUZZ_CHECK(place != fake_counter(fake, i) && place != fake_select(fake, i), "writes %llx to %x, not its own",
                   (unsigned long long)value, (unsigned)msr);
        FUZZ_CHECK(msr != 0xc0000302 || !(value >> i & 1), "acknowledges what is not its own: %llx",
                   (unsigned long long)value);
        FUZZ_CHECK(msr != 0xc0000301 || !((value ^ before) >> i & 1), "PerfCntrGlobalCtl %llx becomes %llx",
                   (unsigned long long)before, (unsigned long long)value);
        FUZZ_CHECK(netburst || msr != 0x390 || !(value & bit), "acknowledges what is not its own: %llx",
                   (unsigned long long)value);
        FUZZ_CHECK(netburst || msr != 0x38f || !((value ^ before) & bit), "GLOBAL_CTRL %llx becomes %llx",
                   (unsigned long long)before, (unsigned long long)value);
        FUZZ_CHECK(netburst || msr != 0x38d || i < 16 || !((value ^ before) >> 4 * (i - 16) & 15),
                   "FIXED_CTR_CTRL %llx becomes %llx", (unsigned long long)before, (unsigned long long)value);
    }
}

/* A write that a real register would not take, or that takes what is not ours. */
static void check_value(const struct fake *fake, uint32_t msr, uint64_t value, uint64_t before)
{
    bool netburst = fake->promise.kind == FAKE_NETBURST, legacy = is_legacy(fake, msr);

    FUZZ_CHECK(msr != AMD_EFER && msr != 0xc0000300 && msr != 0x38e && msr != 0x392 && msr != 0x345 && msr != 0x1a0,
               "writes %x", (unsigned)msr);
    if (fake->manner == FAKE_NOISE)
        return;
    /* Erratum 1292: bit 43 of select 2 on early Zen 3. */
    if (fake->promise.kind == FAKE_AMD && (msr == 0xc0010204 || msr == 0xc0010002) &&
        (fake->leaves.leaf1[0] & 0xff00000) == 0xa00000 && !fake->promise.hypervisor)
        value &= ~(UINT64_C(1) << 43);
    FUZZ_CHECK(legacy || !(value & ~fake_bits(fake, msr)), "writes %llx to %x, which has bits %llx",
               (unsigned long long)value, (unsigned)msr, (unsigned long long)fake_bits(fake, msr));
    FUZZ_CHECK(!netburst || msr != 0x3f1 || !((value ^ before) & 0x6000000), "PEBS_ENABLE becomes %llx",
               (unsigned long long)value);
    FUZZ_CHECK(msr != 0x1d9 || !((value ^ before) & ~UINT64_C(0x1800)), "DEBUGCTL %llx becomes %llx",
               (unsigned long long)before, (unsigned long long)value);
}

static bool fake_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    struct fake *fake = context;
    uint64_t bits = fake_bits(fake, msr), *place = fake_register(fake, msr);

    fake->writes++;
    if (!bits && msr != 0x1a0 && is_configuration(fake, msr))
        return true;
    FUZZ_CHECK(bits, "writes %llx to %x, which the leaves do not promise", (unsigned long long)value, (unsigned)msr);
    if (fake->manner == FAKE_NOISE && noise(fake, fake->garbage_odds / 4))
        fake_interrupt(fake);
    check_value(fake, msr, value, *place);
    check_foreign(fake, msr, value, *place);
    if (fake->manner == FAKE_FAULTS || noise(fake, fake->fault_odds)) {
        fake->faults++;
        return false;
    }
    if (fake->manner == FAKE_IGNORES || noise(fake, fake->garbage_odds / 2))
        return true;
    if (msr == 0x390)
        *fake_register(fake, 0x38e) &= ~value;
    else if (msr == 0xc0000302)
        *fake_register(fake, 0xc0000300) &= ~value;
    else if (is_legacy(fake, msr))
        *place = (uint64_t)(int64_t)(int32_t)value & bits;
    else
        *place = value & bits;
    return true;
}

/* Indices that no counter has fault. */
static bool fake_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    const struct fake *fake = context;
    unsigned number = index & 0xffff;
    uint32_t first = fake->promise.kind == FAKE_NETBURST ? 0x300 : 0xc1;

    if (fake->promise.kind == FAKE_AMD) {
        FUZZ_CHECK(index < 6, "RDPMC %x", (unsigned)index);
        return fake_rdmsr(context, fake->promise.extended ? 0xc0010201 + 2 * index : 0xc0010004 + index, out_value);
    }
    FUZZ_CHECK(index >> 16 == 0 || index >> 16 == 0x4000 || index == 0x20000000, "RDPMC %x", (unsigned)index);
    FUZZ_CHECK(number < (index >> 30                           ? 7u
                         : fake->promise.kind == FAKE_NETBURST ? 18u
                                                               : 10u),
               "RDPMC %x", (unsigned)index);
    return fake_rdmsr(context, index == 0x20000000 ? 0x329 : (index >> 30 ? 0x309 : first) + number, out_value);
}

void fake_leaf(const struct fake_leaves *leaves, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    uint64_t random = leaves->others ^ (uint64_t)leaf << 32 ^ subleaf;
    const uint32_t *const seven[2] = {leaves->leaf7, leaves->leaf7_1};
    const uint32_t *const extension[4] = {leaves->leaf23_0, leaves->leaf23_1, NULL, leaves->leaf23_3};
    const uint32_t *known = leaf == 0                     ? leaves->leaf0
                            : leaf == 1                   ? leaves->leaf1
                            : leaf == 4 && subleaf == 0   ? leaves->leaf4
                            : leaf == 7 && subleaf < 2    ? seven[subleaf]
                            : leaf == 0xa                 ? leaves->leaf_a
                            : leaf == 0x1a                ? leaves->leaf_1a
                            : leaf == 0x23 && subleaf < 4 ? extension[subleaf]
                                                          : NULL;

    random += !random;
    for (unsigned i = 0; i < 4; i++)
        out[i] = known ? known[i] : (uint32_t)fuzz_random(&random);
}

static void fake_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    const struct fake *fake = context;

    fake_leaf(&fake->leaves, leaf, subleaf, out);
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

/* What a firmware may leave in a register. */
static uint64_t leftover(const struct fake *fake, unsigned place, uint64_t *seed)
{
    static const uint64_t selects[] = {0, 0x5300c0, 0x51013c, 0x1000c0, 0x410000, 0xc4};
    static const uint64_t cccrs[] = {0, 0x39000, 0x4039000, 0x4030000, 0x40030000, 0x3d000, 0x30000, 0x80030000};

    if (fake->promise.kind == FAKE_NETBURST ? place >= CCCRS && place < ESCRS : place >= SELECTS && place < FIXED)
        return fake->promise.kind == FAKE_NETBURST ? cccrs[fuzz_below(seed, 8)] : selects[fuzz_below(seed, 6)];
    return fuzz_word(seed);
}

static void fill_amd(struct fake *fake, uint64_t seed)
{
    static const uint64_t selects[] = {0, 0x5300c0, 0x510076, 0x1000c0, 0x410000, 0xc4};

    for (unsigned i = 0; i < 15; i++)
        if (fake_counter(fake, i)) {
            *fake_counter(fake, i) = fuzz_word(&seed) & ONES(48);
            *fake_select(fake, i) = selects[fuzz_below(&seed, 6)];
        }
    for (unsigned i = 0; i < sizeof amd_singles / sizeof amd_singles[0]; i++)
        if (fake_bits(fake, amd_singles[i]))
            fake->value[AMD_SINGLES + i] = fuzz_word(&seed) & fake_bits(fake, amd_singles[i]);
}

static void fill(struct fake *fake, uint64_t seed)
{
    static const uint32_t netburst[] = {0x300, 0x360, 0x3a0, 0x3f1}, core[] = {0xc1, 0x186, 0x309, 0};
    static const uint8_t netburst_counts[] = {18, 18, 66, 2}, core_counts[] = {10, 10, 7, 0};
    bool is_netburst = fake->promise.kind == FAKE_NETBURST;
    const uint32_t *first = is_netburst ? netburst : core;
    const uint8_t *counts = is_netburst ? netburst_counts : core_counts;

    if (fake->promise.kind == FAKE_AMD) {
        fill_amd(fake, seed);
        return;
    }

    for (unsigned block = 0; block < 4; block++)
        for (unsigned i = 0; i < counts[block]; i++) {
            uint64_t *place = fake_register(fake, first[block] + i);
            uint64_t value = leftover(fake, (unsigned)(place - fake->value), &seed);

            *place = value & fake_bits(fake, first[block] + i);
        }
    for (unsigned i = 0; !is_netburst && i < FIRST_PAYLOAD; i++)
        fake->value[SINGLES + i] = fuzz_word(&seed) & fake_bits(fake, single_registers[i]);
}

void fake_init(struct fake *fake, const struct fake_leaves *leaves, enum fake_manner manner, uint64_t seed)
{
    memset(fake, 0, sizeof *fake);
    fake->leaves = *leaves;
    fake->promise = fake_promised(leaves);
    fake->manner = manner;
    fake->noise = seed + !seed;
    fake->port = (struct upmu_port){.context = fake,
                                    .rdmsr = fake_rdmsr,
                                    .wrmsr = fake_wrmsr,
                                    .cpuid = fake_cpuid,
                                    .rdpmc = fake_rdpmc,
                                    .pmi_rearm = fake_rearm,
                                    .clock_ns = fake_clock,
                                    .msr_faults_are_safe = true};
    if (fake_bits(fake, 0xc0000301))
        *fake_register(fake, 0xc0000301) = fake->promise.general;
    if (fake_bits(fake, 0x38f))
        *fake_register(fake, 0x38f) = fake->promise.general;
    if (seed && fake->promise.kind != FAKE_NO_PMU)
        fill(fake, seed);
}

/* ---- Counting ---- */

static uint64_t *runs_netburst(struct fake *fake, unsigned counter, bool *out_interrupts)
{
    uint64_t *value = fake_counter(fake, counter);

    if (!value || !(fake->value[CCCRS + counter] & CCCR_ENABLE) || !(fake->value[CCCRS + counter] & CCCR_THREADS))
        return NULL;
    *out_interrupts = fake->value[CCCRS + counter] & CCCR_PMI;
    return value;
}

static uint64_t *runs_amd(struct fake *fake, unsigned counter, bool *out_interrupts)
{
    const uint64_t *select = fake_select(fake, counter);

    if (!select || !(*select & SELECT_EN) || !(*select & SELECT_RINGS) ||
        (fake->promise.version >= 2 && !(*fake_register(fake, 0xc0000301) >> counter & 1)))
        return NULL;
    *out_interrupts = *select & SELECT_INT;
    return fake_counter(fake, counter);
}

/* P6: select 0 enables both counters. */
static uint64_t *runs(struct fake *fake, unsigned counter, bool *out_interrupts)
{
    bool fixed = counter >= 16, p6 = fake->promise.one_enable;
    uint64_t global, control, select;

    if (fake->promise.kind == FAKE_NETBURST)
        return runs_netburst(fake, counter, out_interrupts);
    if (fake->promise.kind == FAKE_AMD)
        return runs_amd(fake, counter, out_interrupts);
    if (!fake_counter(fake, counter))
        return NULL;
    global = *fake_register(fake, 0x38f) >> (fixed ? counter + 16 : counter);
    control = *fake_register(fake, 0x38d) >> 4 * (counter & 15);
    select = fixed ? 0 : fake->value[SELECTS + counter];
    if ((fake->promise.version >= 2 && !(global & 1)) ||
        (fixed ? !(control & 3) : !((p6 ? fake->value[SELECTS] : select) & SELECT_EN) || !(select & SELECT_RINGS)))
        return NULL;
    *out_interrupts = fixed ? control >> 3 & 1 : (select & SELECT_INT) != 0;
    return fake_counter(fake, counter);
}

static uint64_t top_of(const struct fake *fake, unsigned counter)
{
    bool fixed = fake->promise.kind != FAKE_NETBURST && counter >= 16;

    return ONES(fixed ? fake->promise.fixed_width : fake->promise.width);
}

static void flag(struct fake *fake, unsigned counter)
{
    if (fake->promise.kind == FAKE_NETBURST)
        fake->value[CCCRS + counter] |= CCCR_OVF;
    else if (fake->promise.kind == FAKE_AMD && fake->promise.version >= 2)
        *fake_register(fake, 0xc0000300) |= UINT64_C(1) << counter;
    else if (fake->promise.version >= 2)
        *fake_register(fake, 0x38e) |= UINT64_C(1) << (counter >= 16 ? counter + 16 : counter);
}

/* In pieces, so that an interrupt comes where its counter passes zero. */
void fake_run(struct fake *fake, uint64_t events)
{
    while (events) {
        uint64_t piece = events;
        bool interrupts, due = false;

        for (unsigned i = 0; i < 23; i++) {
            uint64_t *value = runs(fake, i, &interrupts), top = top_of(fake, i);

            if (value && interrupts && top - *value < piece)
                piece = top - *value + 1;
        }
        piece += !piece;
        for (unsigned i = 0; i < 23; i++) {
            uint64_t *value = runs(fake, i, &interrupts), top = top_of(fake, i);

            if (!value)
                continue;
            if (top - *value < piece) {
                flag(fake, i);
                due |= interrupts;
            }
            *value = (*value + piece) & top;
        }
        fake->now_ns += piece;
        events -= piece;
        if (due)
            fake_interrupt(fake);
    }
}
