/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: CPUID that lies.  Whatever the leaves hold, nothing is written that they
 * do not promise, and what is found is what the oracle says (fake_promised() in
 * tests/fuzz/fake.c): the PMU, how the CPU comes up, the probe's verdict, counts.
 */
#include <string.h>
#include <upmu/cpu.h>
#include <upmu/probe.h>
#include <upmu/session.h>

#include "core/hw/backend.h"
#include "tests/common/share.h"
#include "tests/fuzz/fake.h"

/* Bits of the input's first byte. */
#define UNSAFE 1u /* faults are not survived */
#define NO_RDPMC 2u
#define NO_PMI 4u
#define NO_CLOCK 8u
#define FULL 16u     /* PERF_CAPABILITIES says full-width writes */
#define FIRMWARE 32u /* registers are not as after reset */
#define FORCE 64u
#define METRICS 128u /* PERF_CAPABILITIES says PERF_METRICS */

static struct fake fake, found;

/* The counters' range in a word of upmu's: all that there may be. */
#define COUNTERS 23u

/* Counters that a firmware uses: enabled, asking for interrupts, or waiting for another's overflow. */
static uint32_t in_use(struct fake *before)
{
    bool p6 = before->promise.one_enable;
    uint64_t used = before->promise.kind == FAKE_NETBURST ? 0x4c001000 : 0x500000;
    uint32_t counters = 0;

    /* Select 0 enables both; what counts in no ring does not count. */
    if (p6)
        used = *fake_register(before, 0x186) & 0x400000 ? 0x30000 : 0;
    for (unsigned i = 0; i < COUNTERS; i++) {
        const uint64_t *select = fake_select(before, i);

        if (select ? *select & used : fake_counter(before, i) && *fake_register(before, 0x38d) >> 4 * (i - 16) & 3)
            counters |= 1u << i;
    }
    /* Records (bits 25, 26 of PEBS_ENABLE) are of MSR_IQ_COUNTER4 and 5. */
    if (before->promise.kind == FAKE_NETBURST && before->promise.tags && *fake_register(before, 0x3f1) & 0x6000000)
        counters |= 0x30000;
    return counters;
}

/* Without the bytes of PERF_METRICS. */
static uint32_t all_counters(void)
{
    return fake.promise.general | fake.promise.fixed << 16;
}

/* May detection read a register of a hypervisor's? */
static bool may_read(void)
{
    return fake.port.msr_faults_are_safe || !fake.promise.hypervisor;
}

/* Leaves alone do not tell whether a NetBurst has a PMU. */
static bool has_pmu(void)
{
    /* Nor do they promise the four legacy registers of AMD's to a hypervisor's guest. */
    if (fake.promise.kind == FAKE_AMD && fake.promise.hypervisor && !fake.promise.extended)
        return may_read() && fake.manner != FAKE_FAULTS;
    return fake.promise.kind == FAKE_NETBURST ? may_read() && fake.manner != FAKE_FAULTS
                                              : fake.promise.kind != FAKE_NO_PMU;
}

static bool has_metrics(void)
{
    return fake_has_metrics(&fake) && (fake.promise.metrics || (may_read() && fake.manner != FAKE_FAULTS));
}

/* What leaf 0AH tells of its version. */
static void check_arch(const struct upmu_pmu *pmu)
{
    const struct fake_promise *promise = &fake.promise;

    FUZZ_CHECK(pmu->version == (uint8_t)promise->version, "version %u", pmu->version);
    FUZZ_CHECK(pmu->arch_events == promise->events, "events %x, not %x", (unsigned)pmu->arch_events,
               (unsigned)promise->events);
    FUZZ_CHECK(!(pmu->capabilities & UPMU_PMU_GLOBAL_CTRL) == (promise->version < 2), "global control");
    FUZZ_CHECK(!(pmu->capabilities & UPMU_PMU_INUSE) == (promise->version < 4), "INUSE");
}

static void check_pmu(void)
{
    const struct fake_promise *promise = &fake.promise;
    const struct upmu_pmu *pmu = fake.cpu.meter.pmu;
    uint32_t capabilities = pmu->capabilities, metrics = pmu->counters >> 24;
    /* A version 1 is not asked to use them. */
    bool wide =
        (promise->capabilities && may_read() && fake.full_write && promise->version >= 2) || promise->version >= 6;

    if (promise->kind == FAKE_NETBURST)
        metrics = 0;
    wide |= promise->kind == FAKE_AMD;
    FUZZ_CHECK((pmu->counters & 0xffffff) == all_counters() && pmu->general == promise->general, "counters %x, not %x",
               (unsigned)pmu->counters, (unsigned)all_counters());
    FUZZ_CHECK(metrics == 0 || metrics == 0xf || metrics == 0xff, "metrics %x", (unsigned)metrics);
    FUZZ_CHECK(!metrics == !has_metrics(), "metrics %x", (unsigned)metrics);
    for (unsigned i = 0; i < COUNTERS; i++)
        if (pmu->counters >> i & 1)
            FUZZ_CHECK(pmu->counter[i].width == (fake_select(&fake, i) ? promise->width : promise->fixed_width),
                       "counter %u: %u bits", i, pmu->counter[i].width);
    FUZZ_CHECK(!strcmp(pmu->backend->name, promise->kind == FAKE_NETBURST ? "x86_p4"
                                           : promise->kind == FAKE_AMD    ? "amd_k8"
                                                                          : "x86_core"),
               "backend");
    if (promise->kind == FAKE_ARCH)
        check_arch(pmu);
    else
        FUZZ_CHECK(pmu->version == promise->version, "version %u", pmu->version);
    FUZZ_CHECK(!(capabilities & UPMU_PMU_ANYTHREAD) == !promise->any, "any thread");
    FUZZ_CHECK(!(capabilities & UPMU_PMU_TSX) == !promise->transactions, "transactions");
    FUZZ_CHECK(!(capabilities & UPMU_PMU_HYPERVISOR) == !promise->hypervisor, "hypervisor");
    FUZZ_CHECK(!(capabilities & UPMU_PMU_FULL_WRITE) == !wide, "full-width writes");
}

static enum upmu_status expected_init(void)
{
    if (!has_pmu())
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

/* Counters that instructions retired are counted on. */
static uint32_t loop_counters(void)
{
    static const uint32_t sides[2] = {0x13000, 0x2c000};
    uint32_t signature = fake.leaves.leaf1[0], counters = 0x3f000;
    unsigned model = (signature >> 4 & 15) | (signature >> 12 & 240);

    /* Beside a firmware's counter that looks at MSR_CRU_ESCR0 (of the other side: 1) it must not be set. */
    for (unsigned i = 12; i < 18 && fake.promise.kind == FAKE_NETBURST; i++)
        if (in_use(&found) >> i & 1 && (*fake_select(&found, i) >> 13 & 7) == 4)
            counters &= ~sides[sides[1] >> i & 1];
    if (fake.promise.kind == FAKE_NETBURST)
        return counters;
    /* Family 15h counts retired instructions on six counters, however many there are. */
    if (fake.promise.kind == FAKE_AMD)
        return (signature & 0xff00f00) == 0x600f00 ? 0x3f : 0x7fff;
    /* Models up to Core Duo have no fixed counters, whatever they say: no event of their own goes there. */
    return (signature & 0xf00) == 0x600 && model < 0xf && (0x6fea >> model & 1) ? 0x3ff : 0x103ff;
}

static void check_probe(bool force)
{
    static const enum upmu_verdict verdicts[FAKE_MANNERS] = {UPMU_VERDICT_COUNTS_NOTHING, UPMU_VERDICT_COUNTS,
                                                             UPMU_VERDICT_IGNORES_WRITES, UPMU_VERDICT_ABSENT};
    struct upmu_probe probe = {.force = force, .loop = fake.manner == FAKE_COUNTS ? loop : NULL};
    uint32_t available = all_counters() & ~in_use(&found) & loop_counters();
    enum upmu_status status = upmu_cpu_probe(&fake.cpu, &probe), expected = UPMU_OK;
    enum upmu_verdict verdict = has_pmu() ? verdicts[fake.manner] : UPMU_VERDICT_ABSENT;

    if (verdict == UPMU_VERDICT_COUNTS && fake.port.pmi_rearm)
        verdict = UPMU_VERDICT_INTERRUPTS;
    if (verdict != UPMU_VERDICT_ABSENT && fake.promise.hypervisor && !fake.port.msr_faults_are_safe && !force)
        expected = UPMU_ERR_UNSUPPORTED;
    else if (fake.cpu.meter.live && !available)
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
    const struct upmu_sampling sampling = {.period = period};
    struct upmu_count counts[UPMU_SET_EVENTS];
    uint64_t happened = 0;

    FUZZ_CHECK(upmu_session_init(&session, &fake.machine) == UPMU_OK, "session_init");
    if (upmu_set_add(&session.set, list, &sampling) != UPMU_OK ||
        upmu_session_ring(&session, ring, sizeof ring) != UPMU_OK ||
        upmu_session_attach_cpu(&session, &fake.cpu) != UPMU_OK)
        return;
    if (upmu_session_start(&session) == UPMU_OK) {
        FUZZ_CHECK(fake.manner != FAKE_IGNORES && fake.manner != FAKE_FAULTS, "a session runs on nothing");
        for (unsigned i = 0; i < 5; i++) {
            fake_run(&fake, 1000);
            happened += fake.manner == FAKE_COUNTS ? 1000 : 0;
            FUZZ_CHECK(upmu_set_read(&session.set, 0, session.set.count, counts) == UPMU_OK, "session_read");
            for (unsigned k = 0; k < session.set.count; k++)
                FUZZ_CHECK(counts[k].raw == happened || fake.manner == FAKE_MEMORY, "\"%s\": event %u counts %llu",
                           list, k, (unsigned long long)counts[k].raw);
        }
        FUZZ_CHECK(upmu_session_stop(&session) == UPMU_OK, "session_stop");
    }
    FUZZ_CHECK(upmu_session_detach(&session) == UPMU_OK, "session_detach");
}

static void check_register_restored(uint32_t msr, uint64_t bits)
{
    uint64_t now = *fake_register(&fake, msr), then = *fake_register(&found, msr);

    FUZZ_CHECK(!((now ^ then) & bits), "%x is %llx, was %llx", (unsigned)msr, (unsigned long long)now,
               (unsigned long long)then);
}

/* All but what counts, and what its register cannot take back. */
static void check_restored(void)
{
    bool netburst = fake.promise.kind == FAKE_NETBURST;

    for (unsigned i = 0; i < COUNTERS; i++) {
        const uint64_t *now = fake_counter(&fake, i), *then = fake_counter(&found, i);

        if (!now)
            continue;
        if ((netburst || i >= 16 || *then < UINT64_C(0x80000000)) && !(in_use(&found) >> i & 1))
            FUZZ_CHECK(*now == *then, "counter %u is %llx, was %llx", i, (unsigned long long)*now,
                       (unsigned long long)*then);
        now = fake_select(&fake, i);
        then = fake_select(&found, i);
        if (now)
            FUZZ_CHECK(!((*now ^ *then) & ~(netburst ? UINT64_C(0x80000000) : 0)), "select %u is %llx, was %llx", i,
                       (unsigned long long)*now, (unsigned long long)*then);
    }
    for (uint32_t msr = 0x3a0; netburst && msr < 0x3e2; msr++)
        check_register_restored(msr, UINT64_MAX);
    for (uint32_t msr = 0x38d; msr <= 0x38f && !netburst && fake.promise.kind != FAKE_AMD; msr += 2)
        check_register_restored(msr, UINT64_MAX);
    if (fake.promise.kind == FAKE_AMD)
        check_register_restored(0xc0000301, UINT64_MAX);
    check_register_restored(netburst ? 0x3f1 : 0x1d9, UINT64_MAX);
}

/* Five leaves, seed of the others and of registers, five leaves, IA32_MISC_ENABLE. */
#define LEAVES 10u
struct parts {
    uint32_t *leaf[LEAVES];
};

static struct parts parts_of(struct fake_leaves *leaves)
{
    return (struct parts){{leaves->leaf0, leaves->leaf1, leaves->leaf7, leaves->leaf_a, leaves->leaf_1a, leaves->leaf4,
                           leaves->leaf7_1, leaves->leaf23_0, leaves->leaf23_1, leaves->leaf23_3}};
}

static void use_leaves(struct fuzz_bytes *input, struct fake_leaves *leaves, uint64_t *out_seed)
{
    const struct parts parts = parts_of(leaves);

    for (unsigned i = 0; i < 4 * LEAVES; i++) {
        if (i == 20) {
            leaves->others = fuzz_u64(input);
            *out_seed = fuzz_u64(input);
        }
        parts.leaf[i / 4][i % 4] = fuzz_u32(input);
    }
    leaves->misc_enable = fuzz_u32(input);
}

/* Byte: options; byte: manner; leaves. */
static void run(const uint8_t *bytes, size_t length)
{
    struct fuzz_bytes input = {bytes, bytes + length};
    unsigned options = fuzz_u8(&input);
    enum fake_manner manner = fuzz_u8(&input) % FAKE_MANNERS;
    struct fake_leaves leaves;
    enum upmu_status status;
    uint64_t seed = 0;

    use_leaves(&input, &leaves, &seed);
    fake_init(&fake, &leaves, manner, options & FIRMWARE ? seed | 1 : 0);
    fake.full_write = fake.promise.capabilities && (options & FULL);
    fake.metrics = fake.promise.capabilities && (options & METRICS);
    fake.port.msr_faults_are_safe = !(options & UNSAFE);
    if (options & NO_RDPMC)
        fake.port.rdpmc = NULL;
    if (options & NO_PMI)
        fake.port.pmi_rearm = NULL;
    if (options & NO_CLOCK)
        fake.port.clock_ns = NULL;
    found = fake;
    fake.foreign = in_use(&found);
    FUZZ_CHECK(upmu_machine_init(&fake.machine, &fake.port) == UPMU_OK, "machine_init");
    status = upmu_cpu_init(&fake.cpu, &fake.machine, NULL);
    FUZZ_CHECK(status == expected_init(), "cpu_init answers %d, not %d", status, expected_init());
    FUZZ_CHECK(has_pmu() || !fake.writes, "writes without a PMU");
    if (fake.cpu.meter.pmu)
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

/* As they are, with changed bits and bytes, or anything behind the vendor's name. */
static void make(uint64_t *random, struct fuzz_draft *draft)
{
    struct fake_leaves leaves = fake_known_leaves[fuzz_below(random, fake_known_count)];
    const struct parts parts = parts_of(&leaves);
    unsigned kind = fuzz_below(random, 4);

    for (unsigned changes = kind ? fuzz_below(random, 6) : 0; changes; changes--) {
        uint32_t *at = &parts.leaf[fuzz_below(random, 2) ? 3 : fuzz_below(random, LEAVES)][fuzz_below(random, 4)];
        unsigned shift = 8 * fuzz_below(random, 4);

        if (fuzz_below(random, 2))
            *at ^= 1u << fuzz_below(random, 32);
        else
            *at = (*at & ~(0xffu << shift)) | (uint32_t)(fuzz_word(random) & 0xff) << shift;
    }
    for (unsigned i = 0; kind == 3 && i < 4 * LEAVES; i++)
        if (i == 0 || i >= 4 || !fuzz_below(random, 8))
            parts.leaf[i / 4][i % 4] = (uint32_t)fuzz_word(random);
    /* Any family and model, and as often those that there are. */
    if (kind == 2)
        leaves.leaf1[0] = (uint32_t)(fuzz_below(random, 4) ? 0x600 | (fuzz_random(random) & 0xf00ff)
                                                           : 0xf00 | (fuzz_random(random) & 0xff0fff));
    if (!fuzz_below(random, 8))
        leaves.misc_enable = (uint32_t)fuzz_word(random);
    fuzz_put(draft, fuzz_random(random), 1);
    fuzz_put(draft, fuzz_below(random, 3) ? (uint64_t)fuzz_below(random, 2) : fuzz_random(random), 1);
    for (unsigned i = 0; i < 4 * LEAVES; i++) {
        if (i == 20) {
            fuzz_put(draft, leaves.others, 8);
            fuzz_put(draft, fuzz_random(random), 8);
        }
        fuzz_put(draft, parts.leaf[i / 4][i % 4], 4);
    }
    fuzz_put(draft, leaves.misc_enable, 4);
}

/* Of a million a tenth; a hundredth in 32 bits and with sanitizers. */
#define RUNS (SHARE_SLOW_BUILD ? 10000 : 100000)

const struct fuzz_target fuzz_target = {"leaves", "any_leaves_give_the_verdict_of_the_oracle", RUNS, 1000000, run,
                                        make, 0};
