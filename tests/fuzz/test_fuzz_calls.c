/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: any sequence of calls on the silicon model, with work in between.  What a
 * session reports is what happened while it ran, to the last event, whatever else was
 * started, moved, sampled or put to sleep beside it; the model saw nothing forbidden;
 * in the end every register is as it was found.
 */
#include <stdio.h>
#include <string.h>

#include <upmu/cpu.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/upmu.h>

#include "models/sim/sim.h"
#include "tests/fuzz/fuzz.h"

#define DUTIES 4u
#define EVENTS 4u
#define CALLS 300u
#define CPUS 2u

/* Kinds of events. */
enum { INSTRUCTIONS, CYCLES, BRANCHES, REFERENCES, MISSES, KINDS };

struct duty {
    struct upmu_session session;
    uint64_t ring[64];
    unsigned events;
    unsigned kind[EVENTS];
    unsigned rings[EVENTS]; /* bit 0: kernel, bit 1: user */
    uint64_t expected[EVENTS];
    uint64_t samples[EVENTS];
    uint64_t period;
    unsigned cpu;
    bool marred; /* lost something for a reason: at most what is expected */
};

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu[CPUS];
static struct upmu_domain domain;
static struct duty duties[DUTIES];
static bool asleep[CPUS];
static uint64_t found[CPUS][90];
static uint64_t reserved[CPUS]; /* ever */

/* ---- The model ---- */

static bool is_p4(void)
{
    return sim.profile->flags & UPMU_SIM_P4;
}

/* Hyper-threads of a Pentium 4 share all registers. */
static bool is_shared(void)
{
    return is_p4() && sim.profile->flags & UPMU_SIM_SMT;
}

/* Registers that are given back, 0 after the last: on a Pentium 4 CCCRs, ESCRs and those of tags. */
static uint32_t kept(unsigned i)
{
    static const uint32_t registers[] = {0x186, 0x187, 0x188, 0x189, 0x18a, 0x18b, 0x18c, 0x18d, 0x38d, 0x38f, 0x1d9};

    if (is_p4())
        return i < 18 ? 0x360 + i : i < 18 + 66 ? 0x3a0 + i - 18 : i < 86 ? 0x3f1 + i - 84 : 0;
    return i < sizeof registers / sizeof registers[0] ? registers[i] : 0;
}

/*
 * Bits of counters that are the host's: their gates, and their selects.  (These are idle, which on P6 is
 * not 0; those that hyper-threads share are closed.)
 */
static uint64_t left_alone(unsigned number, uint32_t address)
{
    unsigned counter = address - (is_p4() ? 0x360u : 0x186u);

    if (is_p4())
        return counter < 18 && ((reserved[0] | reserved[1]) >> counter & 1u) ? ~UINT64_C(0) : 0;
    /* The host's counter 1 of a P6 relies on the enable bit in select 0. */
    if (counter == 0 && (reserved[number] & 2u) && !(reserved[number] & 1u) &&
        (sim.profile->flags & (UPMU_SIM_P6 | UPMU_SIM_ONE_ENABLE)))
        return UINT64_C(1) << 22;
    if (counter < 8)
        return reserved[number] >> counter & 1u ? ~UINT64_C(0) : 0;
    return address == 0x38f ? reserved[number] : 0;
}

static void deliver(struct upmu_sim *model, unsigned number, const struct upmu_sim_interrupt *interrupt)
{
    const struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};
    enum upmu_pmi answer = upmu_pmi_handle(&cpu[number], &frame);

    (void)model;
    FUZZ_CHECK(answer <= UPMU_PMI_STALE, "an answer that there is not");
}

static uint64_t amount(unsigned kind, uint64_t work)
{
    static const uint8_t parts[KINDS] = {8, 16, 4, 2, 1};

    return work * parts[kind];
}

static bool runs(const struct duty *duty)
{
    return duty->session.state == UPMU_SESSION_RUNNING;
}

/* Interrupts take time: not more than a few hundred at once. */
static uint64_t bounded(uint64_t work)
{
    for (unsigned i = 0; i < DUTIES; i++)
        if (runs(&duties[i]) && duties[i].period && work > 20 * duties[i].period)
            work = 20 * duties[i].period;
    return work;
}

static void work_for(uint64_t work, bool user)
{
    struct upmu_sim_burst burst = {.user = user, .ip = 0x1000, .ip_step = 1, .sp = 0x8000};
    bool ran[DUTIES];

    work = bounded(work);
    burst.instructions = amount(INSTRUCTIONS, work);
    burst.cycles = amount(CYCLES, work);
    burst.ref_cycles = burst.cycles;
    burst.branches = amount(BRANCHES, work);
    burst.llc_references = amount(REFERENCES, work);
    burst.llc_misses = amount(MISSES, work);
    for (unsigned i = 0; i < DUTIES; i++)
        ran[i] = runs(&duties[i]) && duties[i].cpu == sim.current;
    upmu_sim_events(&sim, &burst);
    for (unsigned i = 0; i < DUTIES; i++) {
        for (unsigned k = 0; ran[i] && k < duties[i].events; k++)
            if (duties[i].rings[k] >> user & 1)
                duties[i].expected[k] += amount(duties[i].kind[k], work);
        duties[i].marred |= ran[i] && !runs(&duties[i]);
    }
    /* Where no interrupt tells of a wrap, the host polls in time. */
    if (work > UINT64_C(1) << 28 && !asleep[sim.current])
        FUZZ_CHECK(upmu_cpu_poll(&cpu[sim.current]) == UPMU_OK, "cpu_poll");
}

/* ---- What must hold ---- */

static void check_counts(struct duty *duty)
{
    struct upmu_count counts[EVENTS];
    enum upmu_status status = upmu_set_read(&duty->session.set, 0, duty->events, counts);
    /* One that a handler has masked is settled by the next call on its CPU. */
    bool holds = runs(duty) || duty->session.state == UPMU_SESSION_MASKED;
    bool elsewhere = holds && duty->cpu != sim.current;

    FUZZ_CHECK(status == UPMU_OK || (status == UPMU_ERR_WRONG_CPU && elsewhere && !sim.port.run_on_cpu),
               "session_read answers %d", status);
    for (unsigned i = 0; status == UPMU_OK && i < duty->events; i++)
        FUZZ_CHECK(duty->marred ? counts[i].raw <= duty->expected[i] : counts[i].raw == duty->expected[i],
                   "session %u, event %u counts %llu, not %llu", (unsigned)(duty - duties), i,
                   (unsigned long long)counts[i].raw, (unsigned long long)duty->expected[i]);
}

static void check_samples(struct duty *duty)
{
    struct upmu_sample sample;

    while (upmu_ring_next(&duty->session.ring, &sample))
        for (unsigned i = 0; i < duty->events; i++)
            duty->samples[i] += sample.events >> i & 1;
    for (unsigned i = 0; duty->period && i < duty->events; i++)
        FUZZ_CHECK(duty->samples[i] <= duty->expected[i] / duty->period, "%llu samples of %llu events at period %llu",
                   (unsigned long long)duty->samples[i], (unsigned long long)duty->expected[i],
                   (unsigned long long)duty->period);
}

/* At rest: each period that was completed is a sample, or was said to be lost. */
static void check_periods(struct duty *duty)
{
    check_samples(duty);
    for (unsigned i = 0; duty->period && !duty->marred && i < duty->events; i++) {
        const struct upmu_tally *tally = &duty->session.set.tally[i];
        uint64_t told = duty->samples[i] + tally->lost;

        FUZZ_CHECK(tally->overflows == duty->expected[i] / duty->period, "%u periods of %llu in %llu events",
                   (unsigned)tally->overflows, (unsigned long long)duty->period, (unsigned long long)duty->expected[i]);
        FUZZ_CHECK(!duty->session.ring.buffer ||
                       (told <= tally->overflows && told + upmu_ring_lost(&duty->session.ring) >= tally->overflows),
                   "%llu samples, %u lost, %u in the ring, of %u periods", (unsigned long long)duty->samples[i],
                   (unsigned)tally->lost, (unsigned)upmu_ring_lost(&duty->session.ring), (unsigned)tally->overflows);
    }
}

static void check_model(unsigned call)
{
    FUZZ_CHECK(!sim.violation_count, "call %u: %s (%x, %llx)", call, sim.first_violation.text,
               (unsigned)sim.first_violation.address, (unsigned long long)sim.first_violation.value);
    for (unsigned i = 0; i < CPUS; i++)
        FUZZ_CHECK(!sim.cpu[i].irq_depth && sim.cpu[i].irqs_on, "call %u leaves interrupts off", call);
}

/* ---- Calls ---- */

/* Byte: period, number of events; a byte for each: kind, rings. */
static void new_session(struct duty *duty, struct fuzz_bytes *input)
{
    static const char *const names[KINDS] = {"instructions", "cycles", "raw:config=0xc4", "raw:config=0x4f2e",
                                             "raw:config=0x412e"};
    static const char *const p4_names[KINDS] = {"instructions", "cycles", "branches", "cache-references",
                                                "cache-misses"};
    static const char *const rings[4] = {"", ":k", ":u", ""};
    static const uint64_t periods[] = {0, 0, 100, 1000, 12345, UINT64_C(0x7ffffff0), UINT64_C(1) << 36, 0};
    unsigned shape = fuzz_u8(input);
    struct upmu_sampling sampling = {.period = sim.port.pmi_rearm ? periods[shape & 7] : 0};
    char text[60];

    FUZZ_CHECK(upmu_session_init(&duty->session, &machine) == UPMU_OK, "session_init");
    memset(duty->expected, 0, sizeof duty->expected);
    memset(duty->samples, 0, sizeof duty->samples);
    duty->events = 0;
    duty->marred = false;
    duty->period = sampling.period;
    for (unsigned i = 0; i < 1 + (shape >> 3 & 3); i++) {
        unsigned which = fuzz_u8(input);

        snprintf(text, sizeof text, "%s%s", (is_p4() ? p4_names : names)[which % KINDS], rings[which >> 4 & 3]);
        if (upmu_set_add(&duty->session.set, text, &sampling) != UPMU_OK)
            continue;
        duty->kind[duty->events] = which % KINDS;
        duty->rings[duty->events++] = which >> 4 & 3 ? which >> 4 & 3 : 3;
    }
    upmu_session_mask_on_full(&duty->session, shape >> 6 & 1);
    if (duty->period && !(shape >> 7))
        FUZZ_CHECK(upmu_session_ring(&duty->session, duty->ring, sizeof duty->ring) == UPMU_OK, "session_ring");
}

static void check_status(enum upmu_status status, unsigned call, const struct duty *duty)
{
    bool wrong = status == UPMU_ERR_WRONG_CPU;

    FUZZ_CHECK(!wrong || (duty->cpu != sim.current && !sim.port.run_on_cpu), "call %u: the wrong CPU", call);
    FUZZ_CHECK(status == UPMU_OK || status == UPMU_ERR_STATE || status == UPMU_ERR_DOES_NOT_FIT ||
                   status == UPMU_ERR_NO_PMU || wrong,
               "call %u answers %d", call, status);
}

static void call_session(unsigned call, struct duty *duty, uint64_t value)
{
    struct upmu_session *session = &duty->session;
    unsigned before = session->state;
    unsigned target = duty->cpu;
    enum upmu_status status = UPMU_OK;

    switch (call) {
    case 1:
        if (before == UPMU_SESSION_DETACHED)
            duty->cpu = target = value & (CPUS - 1);
        status = upmu_session_attach_cpu(session, &cpu[target]);
        break;
    case 2:
        status = upmu_session_start(session);
        break;
    case 3:
        status = upmu_session_stop(session);
        break;
    case 4:
        status = upmu_session_detach(session);
        break;
    case 5:
        if (!duty->events || duty->period || before == UPMU_SESSION_CLOSED)
            return;
        status = upmu_set_write(&session->set, 0, value);
        if (status == UPMU_OK)
            duty->expected[0] = value;
        break;
    default:
        status = upmu_session_restart(session);
    }
    check_status(status, call, duty);
    if (status == UPMU_OK && call == 2)
        FUZZ_CHECK(session->state == UPMU_SESSION_RUNNING || session->state == UPMU_SESSION_SUSPENDED ||
                       session->state == UPMU_SESSION_MASKED,
                   "started, state %u", session->state);
}

/* A measured piece of code. */
static void call_region(uint64_t work)
{
    static struct upmu_region region;
    enum upmu_status status = upmu_region_open(&region, &cpu[sim.current], "instructions,cycles:k");

    if (status != UPMU_OK)
        return;
    for (unsigned i = 0; i < 2; i++) {
        FUZZ_CHECK(upmu_region_begin(&region) == UPMU_OK, "region_begin");
        work = bounded(work);
        work_for(work, i);
        FUZZ_CHECK(upmu_region_end(&region) == UPMU_OK, "region_end");
        FUZZ_CHECK(region.count[0].raw == amount(INSTRUCTIONS, work) &&
                       region.count[1].raw == (i ? 0 : amount(CYCLES, work)),
                   "a region counts %llu, %llu for %llu", (unsigned long long)region.count[0].raw,
                   (unsigned long long)region.count[1].raw, (unsigned long long)work);
    }
    FUZZ_CHECK(upmu_region_close(&region) == UPMU_OK, "region_close");
}

static void sleep_or_wake(unsigned number, bool reset)
{
    unsigned here = sim.current;
    enum upmu_status status;

    upmu_sim_switch_cpu(&sim, number);
    if (!asleep[number]) {
        FUZZ_CHECK(upmu_cpu_suspend(&cpu[number]) == UPMU_OK, "cpu_suspend");
        asleep[number] = true;
    } else {
        if (reset && !is_shared()) {
            upmu_sim_reset_cpu(&sim, number);
            upmu_sim_set_delivery(&sim, number, UPMU_SIM_LVTPC_NMI);
            for (unsigned i = 0; kept(i); i++)
                found[number][i] = upmu_sim_peek(&sim, number, kept(i));
        }
        status = upmu_cpu_resume(&cpu[number]);
        /* Counters may have been reserved meanwhile. */
        FUZZ_CHECK(status == UPMU_OK || status == UPMU_ERR_DOES_NOT_FIT, "cpu_resume answers %d", status);
        asleep[number] = false;
    }
    upmu_sim_switch_cpu(&sim, here);
}

static void call_cpu(unsigned choice)
{
    struct upmu_cpu *here = &cpu[sim.current];
    enum upmu_status status = UPMU_OK;

    switch (choice & 7) {
    case 0:
        status = upmu_cpu_poll(here);
        break;
    case 1:
        status = upmu_cpu_verify(here, NULL);
        break;
    case 2:
        if (choice & 8)
            return;
        for (unsigned i = 0; i < DUTIES; i++)
            duties[i].marred |= duties[i].cpu == sim.current;
        status = asleep[sim.current] ? UPMU_OK : upmu_cpu_changed(here);
        break;
    case 3:
        sleep_or_wake(choice >> 4 & (CPUS - 1), choice & 8);
        break;
    case 4:
        status = upmu_cpu_reserve(here, choice >> 3);
        if (status == UPMU_OK)
            reserved[sim.current] |= choice >> 3;
        break;
    case 5:
        upmu_cpu_unreserve(here, choice >> 3 | 0xffff0000u);
        break;
    case 6:
        upmu_sim_foreign_nmi(&sim);
        break;
    default:
        upmu_sim_switch_cpu(&sim, choice >> 3 & (CPUS - 1));
    }
    FUZZ_CHECK(status == UPMU_OK || status == UPMU_ERR_STATE, "call %u of the CPU answers %d", choice & 7, status);
}

/* ---- A run ---- */

/* What a firmware left: only bits that the registers have. */
static void leave_behind(unsigned number)
{
    uint64_t fixed = ((UINT64_C(1) << sim.profile->fixed) - 1) & ~(uint64_t)sim.profile->fixed_holes;

    upmu_sim_firmware(&sim, number);
    if (is_p4())
        return;
    upmu_sim_poke(&sim, number, 0x38f, ((UINT64_C(1) << sim.profile->general) - 1) | fixed << 32);
    upmu_sim_poke(&sim, number, 0x38d, sim.profile->fixed ? 0x222 : 0);
}

/* Bytes: profile; hooks; interrupts; what was left behind. */
static bool set_up(struct fuzz_bytes *input)
{
    unsigned profile = fuzz_u8(input), hooks = fuzz_u8(input), interrupts = fuzz_u8(input), left = fuzz_u8(input);
    unsigned profiles = 0, p4s = 0;
    struct upmu_domain *domains[] = {&domain, NULL};

    while (!(upmu_sim_profile_at(profiles)->flags & UPMU_SIM_P4)) /* those come next */
        profiles++;
    while (upmu_sim_profile_at(profiles + p4s)->flags & UPMU_SIM_P4)
        p4s++;
    profile = profile < 192 ? profile % profiles : profiles + profile % p4s;
    upmu_sim_init(&sim, upmu_sim_profile_at(profile), CPUS);
    if (!(is_p4() ? !(sim.profile->flags & UPMU_SIM_HYPERVISOR) : sim.profile->version) ||
        sim.profile->flags & (UPMU_SIM_IGNORES_WRITES | UPMU_SIM_COUNTS_NOTHING))
        return false;
    upmu_domain_init(&domain, UPMU_SCOPE_CORE);
    sim.deliver = deliver;
    sim.skid = interrupts & 16 ? interrupts & 15 : 0;
    sim.status_lag = interrupts & 32 ? interrupts & 7 : 0;
    sim.rule[UPMU_SIM_RULE_LVTPC_DROPS] = !(interrupts & 64);
    sim.rule[UPMU_SIM_RULE_RESET_COUNTERS] = !(left & 1);
    memset(asleep, 0, sizeof asleep);
    for (unsigned i = 0; i < CPUS; i++) {
        upmu_sim_switch_cpu(&sim, i);
        upmu_sim_reset_cpu(&sim, i);
        if (left & 2)
            leave_behind(i);
        upmu_sim_set_delivery(&sim, i, interrupts & 128 ? 0x40 : UPMU_SIM_LVTPC_NMI);
        upmu_sim_bind_cpu(&sim, i, &cpu[i]);
    }
    for (unsigned i = 0; i < CPUS; i++) {
        for (unsigned k = 0; kept(k); k++)
            found[i][k] = upmu_sim_peek(&sim, i, kept(k));
        reserved[i] = 0;
    }
    if (hooks & 1)
        sim.port.rdpmc = NULL;
    if (hooks & 2)
        sim.port.clock_ns = NULL;
    if (hooks & 4)
        sim.port.pmi_rearm = NULL;
    if (hooks & 8)
        sim.port.run_on_cpu = NULL;
    FUZZ_CHECK(upmu_machine_init(&machine, upmu_sim_port(&sim)) == UPMU_OK, "machine_init");
    for (unsigned i = 0; i < CPUS; i++) {
        upmu_sim_switch_cpu(&sim, i);
        FUZZ_CHECK(upmu_cpu_init(&cpu[i], &machine, is_shared() ? domains : NULL) == UPMU_OK, "cpu_init");
    }
    upmu_sim_switch_cpu(&sim, 0);
    return true;
}

static void tear_down(void)
{
    for (unsigned i = 0; i < CPUS; i++)
        if (asleep[i])
            sleep_or_wake(i, false);
    for (unsigned i = 0; i < DUTIES; i++) {
        upmu_sim_switch_cpu(&sim, duties[i].cpu);
        check_counts(&duties[i]);
        FUZZ_CHECK(upmu_session_detach(&duties[i].session) == UPMU_OK, "session_detach");
        check_counts(&duties[i]);
        check_periods(&duties[i]);
    }
    for (unsigned i = 0; i < CPUS; i++) {
        upmu_sim_switch_cpu(&sim, i);
        FUZZ_CHECK(upmu_cpu_fini(&cpu[i]) == UPMU_OK, "cpu_fini");
    }
    for (unsigned i = 0; i < CPUS; i++)
        for (unsigned k = 0; kept(k); k++)
            FUZZ_CHECK(!((upmu_sim_peek(&sim, i, kept(k)) ^ found[i][k]) & ~left_alone(i, kept(k))),
                       "%x of CPU %u is %llx, was %llx", (unsigned)kept(k), i,
                       (unsigned long long)upmu_sim_peek(&sim, i, kept(k)), (unsigned long long)found[i][k]);
    check_model(99);
}

/* Header: see set_up() and new_session(); then calls: what, with what. */
static void run(const uint8_t *bytes, size_t length)
{
    struct fuzz_bytes input = {bytes, bytes + length};

    if (!set_up(&input))
        return;
    for (unsigned i = 0; i < DUTIES; i++) {
        duties[i].cpu = 0;
        new_session(&duties[i], &input);
    }
    for (unsigned calls = 0; calls < CALLS && fuzz_more(&input); calls++) {
        unsigned what = fuzz_u8(&input), choice = fuzz_u8(&input), call = what & 15;
        struct duty *duty = &duties[what >> 4 & (DUTIES - 1)];

        if (call == 0 && duty->session.state == UPMU_SESSION_DETACHED)
            new_session(duty, &input);
        else if (call >= 1 && call <= 6)
            call_session(call, duty, choice);
        else if (call == 7)
            check_counts(duty);
        else if (call == 8)
            call_cpu(choice);
        else if (call == 9)
            check_samples(duty);
        else if (call == 10)
            call_region(choice);
        else
            /* A status that is late is not late by seconds. */
            work_for(choice < 192 ? choice : UINT64_C(1) << (choice & (sim.status_lag ? 15 : 31)), what >> 6 & 1);
        check_model(call);
    }
    tear_down();
}

static void make(uint64_t *random, struct fuzz_draft *draft)
{
    fuzz_put(draft, fuzz_random(random), 1);
    fuzz_put(draft, fuzz_below(random, 2) ? 0 : fuzz_random(random), 1);
    fuzz_put(draft, fuzz_below(random, 2) ? 0 : fuzz_random(random), 2);
    for (unsigned i = 0; i < DUTIES; i++) {
        unsigned shape = (unsigned)(fuzz_random(random) >> 56);

        fuzz_put(draft, shape, 1);
        fuzz_put(draft, fuzz_random(random), 1 + (shape >> 3 & 3));
    }
    for (unsigned i = 0; i < 2 * DUTIES; i++)
        if (fuzz_below(random, 5))
            fuzz_put(draft, i / 2 << 4 | (1 + i % 2) | (fuzz_below(random, 4) ? 0u : 0x100u), 2);
    for (unsigned calls = fuzz_below(random, 50); calls; calls--)
        fuzz_put(draft, fuzz_random(random), 2);
}

const struct fuzz_target fuzz_target = {"calls", "any_calls_count_what_happened_to_the_last_event", 10000, 500000, run,
                                        make, 0};
