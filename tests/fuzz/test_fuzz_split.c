/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: a hostile driver sends any messages to the privileged server of examples/split, which executes what the
 * allow-list lets pass, while the kernel's sessions count and sample and another client's counter runs.  Each write
 * changes bits of the driver's own counters alone, by the manuals' layouts; nothing but registers of the PMU is read;
 * a refused message writes nothing; no interrupt is the driver's; the kernel counts what ran, to the last event, and
 * finds no register changed.
 *
 * (Layouts: Intel SDM vol 3 (325384-059) 18.2, 35, tables 35-41, 35-42; AMD APM vol 2 (24593) 13.2; BKDG (26094) 13.)
 */
#include <string.h>

#include <upmu/cpu.h>
#include <upmu/session.h>
#include <upmu/upmu.h>

#include "models/sim/sim.h"
#include "tests/fuzz/fuzz.h"

#include <examples/split/split_server.c>

#define COUNT(array) (unsigned)(sizeof(array) / sizeof(array)[0])
#define DRIVER 0u
#define WATCHDOG 1u
#define BURST 64u /* messages of one seed */
#define PERIOD 1000u
#define RING_WORDS 1024u

enum family { INTEL, K8, ZEN, NETBURST };

static const struct {
    const char *profile, *pmu;
    enum family family;
    uint32_t kernel; /* counters that no client gets: the sessions have room */
} cases[] = {
    {"skylake", "skl", INTEL, 0x10003},           {"core2", "core", INTEL, 0x10001},
    {"icelake", "icl", INTEL, 0x10003},           {"nehalem", "nhm", INTEL, 0x10003},
    {"k8_revf", "amd64_k8_revf", K8, 0x3},        {"zen2", "amd64_fam17h_zen2", ZEN, 0x3},
    {"northwood", "netburst", NETBURST, 0x3f000},
};

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_session counting, sampling;
static uint64_t ring[RING_WORDS];
static struct upmu_permit rows[UPMU_PERMITS];
static struct split_server server;
static unsigned which;     /* of the cases */
static uint32_t asks;      /* the client's counters whose message is served */
static unsigned writes;    /* of this message */
static uint32_t refused;   /* messages */
static uint64_t executed;  /* instructions, while the sessions ran */
static uint64_t samples;   /* of the kernel, out of its ring */
static uint32_t other_msr; /* of the other client: its select, 0 if there is none */
static uint64_t other_value;

/* ---- What the manuals say ---- */

/* The bits of a register that are of these counters. */
static uint64_t bits_of(uint32_t msr, uint32_t counters)
{
    uint32_t general = counters & 0xffffu, fixed = counters >> 16 & 0xfu;
    uint64_t nibbles = 0, metrics = counters >> 24 == 0xf ? UINT64_C(1) << 48 : 0;

    if (cases[which].family == NETBURST)
        return ((msr >= 0x300 && msr <= 0x311) || (msr >= 0x360 && msr <= 0x371)) && counters >> (msr & 0x1f) & 1
                   ? ~UINT64_C(0)
                   : 0;
    if (cases[which].family == K8)
        return msr >= 0xc0010000u && msr <= 0xc0010007u && counters >> (msr & 3u) & 1u ? ~UINT64_C(0) : 0;
    if (cases[which].family == ZEN)
        return msr >= 0xc0010200u && msr <= 0xc001020bu && counters >> (msr >> 1 & 7u) & 1u ? ~UINT64_C(0) : 0;
    for (unsigned i = 0; i < 8; i++)
        if (general >> i & 1u && (msr == 0xc1 + i || msr == 0x186 + i || msr == 0x4c1 + i))
            return ~UINT64_C(0);
    for (unsigned i = 0; i < 4; i++) {
        if (fixed >> i & 1u && msr == 0x309 + i)
            return ~UINT64_C(0);
        nibbles |= fixed >> i & 1u ? UINT64_C(0xf) << 4 * i : 0;
    }
    if (msr == 0x38d)
        return nibbles;
    return msr == 0x38f || msr == 0x390 ? general | (uint64_t)fixed << 32 | metrics : 0;
}

static bool is_of_a_pmu(uint32_t msr)
{
    static const struct {
        uint32_t first, last;
    } ranges[][12] = {
        [INTEL] = {{0xc1, 0xc8},
                   {0x186, 0x18d},
                   {0x4c1, 0x4c8},
                   {0x309, 0x30c},
                   {0x38d, 0x392},
                   {0x1a6, 0x1a7},
                   {0x1d9, 0x1d9},
                   {0x3f1, 0x3f7},
                   {0x329, 0x329}},
        [K8] = {{0xc0010000, 0xc0010007}},
        [ZEN] = {{0xc0010200, 0xc001020b}, {0x1d9, 0x1d9}},
        [NETBURST] = {{0x300, 0x311}, {0x360, 0x371}, {0x3a0, 0x3be}, {0x3c0, 0x3e1}, {0x3f1, 0x3f2}},
    };

    for (unsigned i = 0; ranges[cases[which].family][i].last; i++)
        if (msr >= ranges[cases[which].family][i].first && msr <= ranges[cases[which].family][i].last)
            return true;
    return msr == 0x345 || msr == 0x1a0; /* which PMU it is */
}

/* ---- The server's instructions ---- */

static bool server_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    const struct upmu_port *port = upmu_sim_port(context);

    FUZZ_CHECK(is_of_a_pmu(msr), "%s: %x is read", cases[which].profile, (unsigned)msr);
    return port->rdmsr(port->context, msr, out_value);
}

static bool server_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    const struct upmu_port *port = upmu_sim_port(context);
    uint64_t before = msr == 0x390 ? 0 : upmu_sim_peek(&sim, 0, msr), own = bits_of(msr, asks);

    /* A client without rights: no AnyThread, no other hyper-thread, no interrupt. */
    FUZZ_CHECK(cases[which].family != INTEL || !(msr >= 0x186 && msr <= 0x18d ? value & 0x300000 : 0),
               "%s: select %x becomes %llx", cases[which].profile, (unsigned)msr, (unsigned long long)value);
    FUZZ_CHECK(msr != 0x38d || !((before ^ value) & value & UINT64_C(0xcccccccccccccccc)), "%s: fixed control %llx",
               cases[which].profile, (unsigned long long)value);
    FUZZ_CHECK(cases[which].family != K8 || msr > 0xc0010003u || (value & 0xe0) != 0xe0, "%s: a northbridge: %llx",
               cases[which].profile, (unsigned long long)value);
    FUZZ_CHECK(own && !((before ^ value) & ~own), "%s: %x becomes %llx, was %llx; the driver has counters %x",
               cases[which].profile, (unsigned)msr, (unsigned long long)value, (unsigned long long)before,
               (unsigned)asks);
    writes++;
    return port->wrmsr(port->context, msr, value);
}

static void server_set_pce(void *context, bool on)
{
    ((struct upmu_sim *)context)->cpu[0].cr4_pce = on;
}

static void serve(unsigned client, struct split_message *message)
{
    asks = client < SPLIT_CLIENTS ? server.mine[client] : 0;
    writes = 0;
    split_serve(&server, client, message);
    refused += message->answer == SPLIT_REFUSED || message->answer == SPLIT_OTHERS;
    FUZZ_CHECK(message->operation != SPLIT_RDMSR || message->answer != SPLIT_OK || !other_msr || client != DRIVER ||
                   message->number != other_msr,
               "%x of another client is read", (unsigned)other_msr);
    FUZZ_CHECK(!sim.cpu[0].cr4_pce || !other_msr || client != DRIVER || !upmu_sim_peek(&sim, 0, other_msr),
               "RDPMC shows a counter of another client");
    FUZZ_CHECK(message->answer <= SPLIT_OTHERS && server.refused == refused, "answer %u", (unsigned)message->answer);
    FUZZ_CHECK((message->answer != SPLIT_REFUSED && message->answer != SPLIT_OTHERS) || !writes,
               "refused, but written");
    FUZZ_CHECK(message->operation != SPLIT_WRMSR || message->answer != SPLIT_OK || writes == 1, "not written");
    fuzz_calls++;
}

/* ---- The machine ---- */

static void deliver(struct upmu_sim *from, unsigned number, const struct upmu_sim_interrupt *interrupt)
{
    (void)from;
    (void)number;
    (void)interrupt;
    FUZZ_CHECK(upmu_pmi_handle(&cpu, NULL) == UPMU_PMI_HANDLED, "%s: an interrupt that is not the kernel's",
               cases[which].profile);
}

static bool open_session(struct upmu_session *session, const struct upmu_sampling *how)
{
    return upmu_session_init(session, &machine) == UPMU_OK &&
           upmu_set_add(&session->set, "instructions", how) == UPMU_OK &&
           (!how || upmu_session_ring(session, ring, sizeof ring) == UPMU_OK) &&
           upmu_session_attach_cpu(session, &cpu) == UPMU_OK && upmu_session_start(session) == UPMU_OK;
}

/* A counter of the driver's for another client, which lets it count; it stays as that client left it. */
static void give_to_another(uint32_t counters)
{
    uint32_t one = counters & (0u - counters);
    unsigned counter = 0;
    struct split_message message = {.operation = SPLIT_WRMSR, .value = 0x4100c0};

    other_msr = 0;
    if (one == counters || cases[which].family == NETBURST || one > 0xffffu)
        return;
    server.mine[DRIVER] = counters & ~one;
    server.mine[WATCHDOG] = one;
    while (!(one >> counter & 1u))
        counter++;
    other_msr = cases[which].family == INTEL ? 0x186 + counter
                : cases[which].family == K8  ? 0xc0010000u + counter
                                             : 0xc0010200u + 2u * counter;
    message.number = other_msr;
    serve(WATCHDOG, &message);
    FUZZ_CHECK(message.answer == SPLIT_OK, "the other client may not write %x", (unsigned)other_msr);
    other_value = upmu_sim_peek(&sim, 0, other_msr);
}

static void begin(struct fuzz_bytes *in)
{
    struct upmu_pmu pmu;
    uint32_t mine;

    which = fuzz_u8(in) % COUNT(cases);
    upmu_sim_init(&sim, upmu_sim_profile(cases[which].profile), 1);
    sim.deliver = deliver;
    memset(&cpu, 0, sizeof cpu);
    FUZZ_CHECK(upmu_machine_init(&machine, upmu_sim_port(&sim)) == UPMU_OK, "machine");
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    FUZZ_CHECK(upmu_cpu_init(&cpu, &machine, NULL) == UPMU_OK && upmu_pmu_by_name(&pmu, cases[which].pmu) == UPMU_OK,
               "CPU");
    mine = fuzz_u32(in) & cpu.meter.pmu->counters & ~cases[which].kernel;
    server = (struct split_server){.rows = rows,
                                   .count = upmu_permit_list(&pmu, rows, UPMU_PERMITS),
                                   .mine = {mine},
                                   .rdmsr = server_rdmsr,
                                   .wrmsr = server_wrmsr,
                                   .set_pce = server_set_pce,
                                   .context = &sim};
    split_begin(&server);
    refused = 0;
    executed = samples = 0;
    FUZZ_CHECK(!mine || upmu_cpu_reserve(&cpu, mine) == UPMU_OK, "counters of the clients");
    give_to_another(mine);
    FUZZ_CHECK(open_session(&counting, NULL) && open_session(&sampling, &(struct upmu_sampling){.period = PERIOD}),
               "%s: sessions", cases[which].profile);
}

static void check_counts(void)
{
    struct upmu_sample sample;
    struct upmu_count count;
    struct upmu_session *const sessions[] = {&counting, &sampling};

    for (unsigned i = 0; i < COUNT(sessions); i++)
        FUZZ_CHECK(upmu_set_read(&sessions[i]->set, 0, 1, &count) == UPMU_OK && count.value == executed,
                   "%s: %llu executed, session %u says %llu", cases[which].profile, (unsigned long long)executed, i,
                   (unsigned long long)count.value);
    while (upmu_ring_next(&sampling.ring, &sample))
        samples++;
    /* (NetBurst interrupts with the event after the overflow: SDM 18.15.) */
    FUZZ_CHECK((samples == executed / PERIOD ||
                (cases[which].family == NETBURST && executed % PERIOD == 0 && samples + 1 == executed / PERIOD)) &&
                   !upmu_ring_lost(&sampling.ring),
               "%s: %llu executed, %llu samples", cases[which].profile, (unsigned long long)executed,
               (unsigned long long)samples);
    FUZZ_CHECK(!other_msr || upmu_sim_peek(&sim, 0, other_msr) == other_value, "%s: %x of the other client is %llx",
               cases[which].profile, (unsigned)other_msr, (unsigned long long)upmu_sim_peek(&sim, 0, other_msr));
}

static void run_code(unsigned instructions, bool user)
{
    executed += instructions;
    upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                   .cycles = 2u * instructions,
                                                   .ref_cycles = instructions,
                                                   .branches = instructions / 4u,
                                                   .user = user});
}

/* ---- The driver ---- */

/* Mostly registers that there are and values that they may have; the rest is anything. */
static void invent(uint64_t *random, struct split_message *message)
{
    uint64_t choice = fuzz_random(random);

    message->operation = choice & 7 ? (choice & 1 ? SPLIT_WRMSR : SPLIT_RDMSR) : (uint32_t)(choice >> 8) % 6u;
    message->number = choice & 0x300000   ? rows[(choice >> 32) % server.count].address
                      : choice & 0x400000 ? (uint32_t)(choice >> 32) & 0x1fffu
                                          : (uint32_t)(choice >> 32);
    if (message->operation == SPLIT_LEVEL0 && choice & 0x400)
        message->number &= 3u;
    message->value = fuzz_word(random);
    if (choice & 0x3000)
        message->value &= choice & 0x4000 ? UINT64_C(0xf0000ffff) : 0xffd7ffffu;
    if (choice & 0x8000) /* instructions, with an interrupt or without, and an overflow soon */
        message->value = choice & 0x10000 ? (choice & 0x800000 ? 0x5300c0u : 0x4300c0u)
                                          : (UINT64_MAX >> (choice & 0x20000 ? 16 : 24)) - (message->value & 0xffu);
    message->answer = (uint32_t)fuzz_random(random);
    message->unused = message->answer;
}

static void run(const uint8_t *bytes, size_t length)
{
    struct fuzz_bytes in = {bytes, bytes + length};
    struct split_message message;
    struct upmu_why why;
    uint64_t random;

    begin(&in);
    while (fuzz_more(&in)) {
        uint8_t what = fuzz_u8(&in);

        switch (what & 7u) {
        case 0:
            check_counts();
            break;
        case 1:
            run_code(what, what & 8);
            break;
        case 2:
        case 3: /* one message, each bit of it from the input */
            message = (struct split_message){.operation = what >> 3, .number = fuzz_u32(&in), .value = fuzz_u64(&in)};
            serve(what & 1u ? DRIVER : what >> 5, &message);
            break;
        default:
            random = fuzz_u32(&in) + 1u;
            for (unsigned i = 0; i < BURST; i++) {
                invent(&random, &message);
                serve(DRIVER, &message);
                if (!(i % 8u))
                    run_code(what, what & 8);
            }
        }
    }
    check_counts();
    FUZZ_CHECK(upmu_cpu_verify(&cpu, &why) == UPMU_OK, "%s: %x is changed", cases[which].profile,
               (unsigned)why.address);
    FUZZ_CHECK(upmu_session_close(&sampling) == UPMU_OK && upmu_session_close(&counting) == UPMU_OK &&
                   upmu_cpu_fini(&cpu) == UPMU_OK,
               "%s: end", cases[which].profile);
}

static void make(uint64_t *random, struct fuzz_draft *draft)
{
    unsigned steps = 4 + fuzz_below(random, 16);

    fuzz_put(draft, fuzz_random(random), 1);
    fuzz_put(draft, fuzz_below(random, 4) ? ~UINT64_C(0) : fuzz_random(random), 4);
    while (steps--) {
        unsigned what = fuzz_below(random, 256);

        fuzz_put(draft, what, 1);
        if ((what & 7u) > 1)
            fuzz_put(draft, fuzz_random(random), (what & 7u) > 3 ? 4 : 12);
    }
}

const struct fuzz_target fuzz_target = {"split",  "any_driver_reaches_its_own_counters_only", 400, 300000, run, make,
                                        100000000};
