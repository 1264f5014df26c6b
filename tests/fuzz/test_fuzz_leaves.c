/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: CPUID that lies.  Whatever the leaves hold, nothing is written that they
 * do not promise, and what is found is what the oracle says (fake_promised() in
 * tests/fuzz/fake.c): the PMU, how the CPU comes up, the probe's verdict, counts.
 */
#include <string.h>

#include "tests/fuzz/fake.h"

/* Bits of the input's first byte. */
#define UNSAFE 1u /* faults are not survived */
#define NO_RDPMC 2u
#define NO_PMI 4u
#define NO_CLOCK 8u
#define FULL 16u     /* PERF_CAPABILITIES says full-width writes */
#define FIRMWARE 32u /* registers are not as after reset */
#define FORCE 64u

#define FIRST_LEAVES 80u /* bytes: five leaves */

static struct fake fake, found;

/* Counters that a firmware uses: enabled, or asking for interrupts. */
static uint32_t in_use(const struct fake *before)
{
    uint32_t counters = 0;

    for (unsigned i = 0; i < FAKE_SELECT; i++)
        if (!before->promise.version) /* P6: select 0 enables both counters */
            counters |= before->value[FAKE_SELECT] & 0x400000 && before->value[FAKE_SELECT + i] & 0x30000 ? 1u << i : 0;
        else if (before->value[FAKE_SELECT + i] & 0x500000)
            counters |= 1u << i;
    for (unsigned i = 0; i < 7; i++)
        if (before->promise.fixed >> i & 1 && before->value[FAKE_OTHERS] >> 4 * i & 3)
            counters |= 0x10000u << i;
    return counters;
}

static uint32_t all_counters(void)
{
    return fake.promise.general | fake.promise.fixed << 16 | (fake.promise.metrics ? 0xff000000u : 0);
}

static void check_pmu(void)
{
    const struct fake_promise *promise = &fake.promise;
    const struct upmu_pmu *pmu = fake.cpu.pmu;
    uint32_t capabilities = pmu->capabilities;
    bool may_read =
        promise->capabilities && promise->version >= 2 && (fake.port.msr_faults_are_safe || !promise->hypervisor);

    FUZZ_CHECK(pmu->version == (uint8_t)promise->version, "version %u", pmu->version);
    FUZZ_CHECK(pmu->counters == all_counters() && pmu->general == promise->general, "counters %x, not %x",
               (unsigned)pmu->counters, (unsigned)all_counters());
    FUZZ_CHECK(pmu->arch_events == promise->events, "events %x, not %x", (unsigned)pmu->arch_events,
               (unsigned)promise->events);
    for (unsigned i = 0; i < UPMU_COUNTERS; i++)
        if (pmu->counters >> i & 1 && i < 24)
            FUZZ_CHECK(pmu->counter[i].width == (i < 16 ? promise->width : promise->fixed_width), "counter %u: %u bits",
                       i, pmu->counter[i].width);
    FUZZ_CHECK(!(capabilities & UPMU_PMU_ANYTHREAD) == !promise->any, "any thread");
    FUZZ_CHECK(!(capabilities & UPMU_PMU_TSX) == !promise->transactions, "transactions");
    FUZZ_CHECK(!(capabilities & UPMU_PMU_HYPERVISOR) == !promise->hypervisor, "hypervisor");
    FUZZ_CHECK(!(capabilities & UPMU_PMU_FULL_WRITE) == !((may_read && fake.full_write) || promise->version >= 6),
               "full-width writes");
    FUZZ_CHECK(!(capabilities & UPMU_PMU_GLOBAL_CTRL) == (promise->version < 2), "global control");
    FUZZ_CHECK(!(capabilities & UPMU_PMU_INUSE) == (promise->version < 4), "INUSE");
}

static enum upmu_status expected_init(void)
{
    if (!fake.promise.pmu)
        return UPMU_ERR_NO_PMU;
    if (fake.manner == FAKE_FAULTS)
        return UPMU_ERR_PORT;
    if (fake.manner == FAKE_IGNORES && (all_counters() & ~in_use(&found)))
        return UPMU_ERR_NO_PMU;
    return UPMU_OK;
}

static void loop(void *context)
{
    (void)context;
    fake_run(&fake, 1000);
}

static void check_probe(bool force)
{
    static const enum upmu_verdict verdicts[FAKE_MANNERS] = {UPMU_VERDICT_COUNTS_NOTHING, UPMU_VERDICT_COUNTS,
                                                             UPMU_VERDICT_IGNORES_WRITES, UPMU_VERDICT_ABSENT};
    struct upmu_probe probe = {.force = force, .loop = fake.manner == FAKE_COUNTS ? loop : NULL};
    /* P6 and Core Duo have no fixed counters, whatever they say: no event of theirs goes there. */
    uint32_t signature = fake.leaves.leaf1[0] & 0xf0ff0;
    bool core_duo = signature >> 4 < 0x6f && signature >> 4 > 0x60 && 0x6fea >> (signature >> 4 & 15) & 1;
    uint32_t available = all_counters() & ~in_use(&found) & (core_duo ? 0x3ff : 0x103ff);
    enum upmu_status status = upmu_cpu_probe(&fake.cpu, &probe), expected = UPMU_OK;
    enum upmu_verdict verdict = fake.promise.pmu ? verdicts[fake.manner] : UPMU_VERDICT_ABSENT;

    if (verdict == UPMU_VERDICT_COUNTS && fake.port.pmi_rearm)
        verdict = UPMU_VERDICT_INTERRUPTS;
    if (verdict != UPMU_VERDICT_ABSENT && fake.promise.hypervisor && !fake.port.msr_faults_are_safe && !force)
        expected = UPMU_ERR_UNSUPPORTED;
    else if (fake.cpu.live && !available)
        expected = UPMU_ERR_DOES_NOT_FIT;
    FUZZ_CHECK(status == expected, "the probe answers %d, not %d", status, expected);
    FUZZ_CHECK(status != UPMU_OK || probe.verdict == verdict, "verdict %u, not %u", probe.verdict, verdict);
    FUZZ_CHECK(status != UPMU_OK || verdict < UPMU_VERDICT_COUNTS || probe.counted == 1000, "the probe counts %llu",
               (unsigned long long)probe.counted);
}

/* What fits counts what happens. */
static void check_session(const char *list, uint64_t period)
{
    static struct upmu_session session;
    static uint64_t ring[64];
    const struct upmu_sampling sampling = {period};
    struct upmu_count counts[UPMU_SET_EVENTS];
    uint64_t happened = 0;

    FUZZ_CHECK(upmu_session_init(&session, &fake.machine) == UPMU_OK, "session_init");
    if (upmu_session_add(&session, list, &sampling) != UPMU_OK ||
        upmu_session_ring(&session, ring, sizeof ring) != UPMU_OK ||
        upmu_session_attach_cpu(&session, &fake.cpu) != UPMU_OK)
        return;
    if (upmu_session_start(&session) == UPMU_OK) {
        FUZZ_CHECK(fake.manner != FAKE_IGNORES && fake.manner != FAKE_FAULTS, "a session runs on nothing");
        for (unsigned i = 0; i < 5; i++) {
            fake_run(&fake, 1000);
            happened += fake.manner == FAKE_COUNTS ? 1000 : 0;
            FUZZ_CHECK(upmu_session_read(&session, 0, session.set.count, counts) == UPMU_OK, "session_read");
            for (unsigned k = 0; k < session.set.count; k++)
                FUZZ_CHECK(counts[k].raw == happened || fake.manner == FAKE_MEMORY, "\"%s\": event %u counts %llu",
                           list, k, (unsigned long long)counts[k].raw);
        }
        FUZZ_CHECK(upmu_session_stop(&session) == UPMU_OK, "session_stop");
    }
    FUZZ_CHECK(upmu_session_detach(&session) == UPMU_OK, "session_detach");
}

/* All but what counts, and what its register cannot take back. */
static void check_restored(void)
{
    static const uint32_t kept[] = {0x38d, 0x38f, 0x1d9};

    for (unsigned i = 0; i < FAKE_SELECT; i++)
        FUZZ_CHECK(fake.value[FAKE_SELECT + i] == found.value[FAKE_SELECT + i], "select %u is %llx, was %llx", i,
                   (unsigned long long)fake.value[FAKE_SELECT + i], (unsigned long long)found.value[FAKE_SELECT + i]);
    for (unsigned i = 0; i < sizeof kept / sizeof kept[0]; i++)
        FUZZ_CHECK(*fake_register(&fake, kept[i]) == *fake_register(&found, kept[i]), "%x is %llx, was %llx",
                   (unsigned)kept[i], (unsigned long long)*fake_register(&fake, kept[i]),
                   (unsigned long long)*fake_register(&found, kept[i]));
    for (unsigned i = 0; i < FAKE_OTHERS; i++)
        if ((i < FAKE_SELECT || i >= FAKE_FIXED) &&
            (i >= FAKE_FIXED || (fake.cpu.machine && found.value[i] < UINT64_C(0x80000000))) &&
            !(in_use(&found) >> (i < FAKE_SELECT ? i : i - FAKE_FIXED + 16) & 1))
            FUZZ_CHECK(fake.value[i] == found.value[i], "counter %u is %llx, was %llx", i,
                       (unsigned long long)fake.value[i], (unsigned long long)found.value[i]);
}

static void use_leaves(struct fuzz_bytes *input, struct fake_leaves *leaves)
{
    uint32_t *const leaf[5] = {leaves->leaf0, leaves->leaf1, leaves->leaf7, leaves->leaf_a, leaves->leaf_1a};

    for (unsigned i = 0; i < 20; i++)
        leaf[i / 4][i % 4] = fuzz_u32(input);
    leaves->others = fuzz_u64(input);
}

/* Behind all that older inputs have. */
static void use_extension(struct fuzz_bytes *input, struct fake_leaves *leaves)
{
    for (unsigned i = 0; i < 4; i++)
        leaves->leaf7_1[i] = fuzz_u32(input);
    for (unsigned i = 0; i < 16; i++)
        leaves->leaf_23[i / 4][i % 4] = fuzz_u32(input);
}

/* Byte: options; byte: manner; five leaves; seeds of the others and of the registers; leaves 7/1 and 23H. */
static void run(const uint8_t *bytes, size_t length)
{
    struct fuzz_bytes input = {bytes, bytes + length};
    unsigned options = fuzz_u8(&input);
    enum fake_manner manner = fuzz_u8(&input) % FAKE_MANNERS;
    struct fake_leaves leaves;
    enum upmu_status status;
    uint64_t seed;

    use_leaves(&input, &leaves);
    seed = fuzz_u64(&input);
    use_extension(&input, &leaves);
    fake_init(&fake, &leaves, manner, options & FIRMWARE ? seed | 1 : 0);
    fake.full_write = fake.promise.capabilities && (options & FULL);
    fake.port.msr_faults_are_safe = !(options & UNSAFE);
    if (options & NO_RDPMC)
        fake.port.rdpmc = NULL;
    if (options & NO_PMI)
        fake.port.pmi_rearm = NULL;
    if (options & NO_CLOCK)
        fake.port.clock_ns = NULL;
    found = fake;
    FUZZ_CHECK(upmu_machine_init(&fake.machine, &fake.port) == UPMU_OK, "machine_init");
    status = upmu_cpu_init(&fake.cpu, &fake.machine, NULL);
    FUZZ_CHECK(status == expected_init(), "cpu_init answers %d, not %d", status, expected_init());
    FUZZ_CHECK(fake.promise.pmu || !fake.writes, "writes without a PMU");
    if (fake.cpu.pmu)
        check_pmu();
    check_probe(options & FORCE);
    if (status == UPMU_OK) {
        check_session("cycles,instructions", 0);
        check_session("instructions,branches:u,cycles", 0);
        if (fake.port.pmi_rearm)
            check_session("instructions", 300);
        FUZZ_CHECK(upmu_cpu_verify(&fake.cpu, NULL) == UPMU_OK || manner == FAKE_IGNORES, "cpu_verify");
    }
    FUZZ_CHECK(upmu_cpu_fini(&fake.cpu) == UPMU_OK || fake.manner == FAKE_FAULTS, "cpu_fini");
    check_restored();
}

static void make(uint64_t *random, struct fuzz_draft *draft)
{
    struct fake_leaves leaves = fake_known_leaves[fuzz_below(random, fake_known_count)];
    uint32_t *const leaf[5] = {leaves.leaf0, leaves.leaf1, leaves.leaf7, leaves.leaf_a, leaves.leaf_1a};
    unsigned kind = fuzz_below(random, 4);

    /* As they are, with changed bits and bytes, or anything behind the vendor's name. */
    for (unsigned changes = kind ? fuzz_below(random, 6) : 0; changes; changes--) {
        uint32_t *at = &leaf[fuzz_below(random, 3) ? 3 : fuzz_below(random, 5)][fuzz_below(random, 4)];
        unsigned shift = 8 * fuzz_below(random, 4);

        if (!fuzz_below(random, 6))
            at = fuzz_below(random, 4) ? &leaves.leaf_23[fuzz_below(random, 4)][fuzz_below(random, 4)] : leaves.leaf7_1;
        if (fuzz_below(random, 2))
            *at ^= 1u << fuzz_below(random, 32);
        else
            *at = (*at & ~(0xffu << shift)) | (uint32_t)(fuzz_word(random) & 0xff) << shift;
    }
    for (unsigned i = 0; kind == 3 && i < 20; i++)
        if (i == 0 || i >= 4 || !fuzz_below(random, 8))
            leaf[i / 4][i % 4] = (uint32_t)fuzz_word(random);
    fuzz_put(draft, fuzz_random(random), 1);
    fuzz_put(draft, fuzz_below(random, 3) ? (uint64_t)fuzz_below(random, 2) : fuzz_random(random), 1);
    for (unsigned i = 0; i < FIRST_LEAVES / 4; i++)
        fuzz_put(draft, leaf[i / 4][i % 4], 4);
    fuzz_put(draft, leaves.others, 8);
    fuzz_put(draft, fuzz_random(random), 8);
    for (unsigned i = 0; i < 4; i++)
        fuzz_put(draft, leaves.leaf7_1[i], 4);
    for (unsigned i = 0; i < 16; i++)
        fuzz_put(draft, leaves.leaf_23[i / 4][i % 4], 4);
}

/* All of the million where that takes seconds. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define RUNS 1000000
#else
#define RUNS 10000
#endif

const struct fuzz_target fuzz_target = {"leaves", "any_leaves_give_the_verdict_of_the_oracle", RUNS, 1000000, run,
                                        make};
