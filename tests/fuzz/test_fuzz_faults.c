/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: registers that fault, forget and lie while sessions are used and
 * interrupts come between any two accesses.  Nothing crashes, no register is
 * touched that does not exist, no count is negative, and what a session says of
 * itself is true.
 */
#include <string.h>
#include <upmu/cpu.h>
#include <upmu/probe.h>
#include <upmu/session.h>
#include <upmu/set.h>

#include "tests/common/state.h"
#include "tests/fuzz/fake.h"

#define SESSIONS 3u
#define CALLS 400u

static struct fake fake;
static struct upmu_session session[SESSIONS];
static uint64_t ring[SESSIONS][64];

static bool is_attached(const struct upmu_session *wanted)
{
    unsigned steps = 0;

    for (const struct upmu_session *at = fake.cpu.meter.sessions; at; at = at->next) {
        FUZZ_CHECK(++steps <= SESSIONS, "the list of sessions has no end");
        if (at == wanted)
            return true;
    }
    return false;
}

/* State, list and counters agree. */
static void check_sessions(void)
{
    struct upmu_test_state now;
    uint32_t taken = 0;

    for (unsigned i = 0; i < SESSIONS; i++) {
        const struct upmu_session *at = &session[i];
        bool attached = at->state != UPMU_SESSION_DETACHED && at->state != UPMU_SESSION_CLOSED;

        FUZZ_CHECK(at->state <= UPMU_SESSION_CLOSED, "state %u", at->state);
        FUZZ_CHECK(attached == is_attached(at), "session %u of state %u is %sattached", i, at->state,
                   attached ? "not " : "");
        /* Masked by a handler: it holds its counters until the next local call. */
        if (at->state != UPMU_SESSION_RUNNING && !(at->state == UPMU_SESSION_MASKED && at->full))
            continue;
        FUZZ_CHECK(fake.cpu.meter.live, "session %u runs on a CPU that does not", i);
        FUZZ_CHECK(!(taken & at->counters), "session %u shares counters %x", i, (unsigned)(taken & at->counters));
        FUZZ_CHECK(at->counters && !(at->counters & ~fake.cpu.meter.pmu->counters), "session %u runs on %x", i,
                   (unsigned)at->counters);
        taken |= at->counters;
        for (unsigned k = 0; k < at->set.count; k++)
            FUZZ_CHECK(at->counters >> at->set.tally[k].counter & 1, "session %u: event %u on counter %u of %x", i, k,
                       at->set.tally[k].counter, (unsigned)at->counters);
    }
    upmu_test_state(&fake.cpu, &now);
    FUZZ_CHECK(!(now.running & ~taken), "counters %x have no session", (unsigned)(now.running & ~taken));
}

static void check_counts(struct upmu_session *at)
{
    struct upmu_count counts[UPMU_SET_EVENTS];

    memset(counts, 0, sizeof counts);
    if (upmu_set_read(&at->set, 0, at->set.count, counts) != UPMU_OK)
        return;
    for (unsigned i = 0; i < at->set.count; i++) {
        FUZZ_CHECK(!(counts[i].raw >> 63) && !(counts[i].value >> 63), "event %u counts %llx", i,
                   (unsigned long long)counts[i].raw);
        FUZZ_CHECK(counts[i].quality <= UPMU_QUALITY_UNPROVEN, "quality %u", counts[i].quality);
        FUZZ_CHECK(counts[i].running_ns <= counts[i].enabled_ns, "runs longer than it is enabled");
    }
}

static void check_samples(struct upmu_session *at)
{
    struct upmu_sample sample;

    for (unsigned samples = 0; upmu_ring_next(&at->ring, &sample); samples++) {
        FUZZ_CHECK(samples <= sizeof ring[0] / 16, "the ring has no end");
        FUZZ_CHECK(sample.events && (at->state == UPMU_SESSION_CLOSED || !(sample.events >> at->set.count)),
                   "a sample of events %x", (unsigned)sample.events);
    }
}

static void begin_session(unsigned i, unsigned choice)
{
    static const char *const lists[] = {"cycles",
                                        "instructions,cycles:u",
                                        "branches,branch-misses",
                                        "instructions:k",
                                        "cycles:c=1,cycles:counter=0",
                                        "LLC-misses",
                                        "raw:config=0x1b7:config1=0x1",
                                        "instructions,cycles,branches,branch-misses"};
    static const uint64_t periods[] = {0, 0, 100, 1000, 1000000, UINT64_C(0x7fffffff), UINT64_C(1) << 40};
    const struct upmu_sampling sampling = {.period = periods[(choice >> 3) % 7]};

    FUZZ_CHECK(upmu_session_init(&session[i], &fake.machine) == UPMU_OK, "session_init");
    if (upmu_set_add(&session[i].set, lists[choice & 7], &sampling) != UPMU_OK)
        FUZZ_CHECK(!session[i].set.count, "refused, but added");
    else if (sampling.period && upmu_session_ring(&session[i], ring[i], sizeof ring[i]) != UPMU_OK)
        fuzz_fail("session_ring");
    upmu_session_mask_on_full(&session[i], choice >> 6 & 1);
}

/* A call's answer goes with the state afterwards. */
static void check_answer(enum upmu_status status, unsigned call, const struct upmu_session *at, unsigned before)
{
    unsigned state = at->state;

    FUZZ_CHECK(status != UPMU_ERR_BUSY, "call %u: busy", call);
    FUZZ_CHECK(status != UPMU_ERR_LOST_CLAIM && status != UPMU_ERR_WRONG_CPU, "call %u answers %d", call, status);
    if (call == 1 && status == UPMU_OK)
        FUZZ_CHECK(state == UPMU_SESSION_STOPPED, "attached, state %u", state);
    if (call == 2 && status == UPMU_OK)
        FUZZ_CHECK(state == UPMU_SESSION_RUNNING || state == UPMU_SESSION_MASKED || state == UPMU_SESSION_SUSPENDED ||
                       (state == UPMU_SESSION_STOPPED && at->error != UPMU_OK),
                   "started, state %u", state);
    if (call == 2 && status == UPMU_ERR_PORT)
        FUZZ_CHECK(state != UPMU_SESSION_RUNNING, "not started, but running");
    if (call == 3 && status != UPMU_ERR_STATE)
        FUZZ_CHECK(state == UPMU_SESSION_STOPPED || before == UPMU_SESSION_DETACHED || before == UPMU_SESSION_CLOSED,
                   "stopped, state %u", state);
    if (call == 11)
        FUZZ_CHECK(state == UPMU_SESSION_CLOSED, "closed (%d), state %u", status, state);
    if (call == 4)
        FUZZ_CHECK(state == (before == UPMU_SESSION_CLOSED ? UPMU_SESSION_CLOSED : UPMU_SESSION_DETACHED),
                   "detached (%d), state %u", status, state);
}

static enum upmu_status call_session(unsigned call, struct upmu_session *at, unsigned choice)
{
    switch (call) {
    case 1:
        return upmu_session_attach_cpu(at, &fake.cpu);
    case 2:
        return upmu_session_start(at);
    case 3:
        return upmu_session_stop(at);
    case 4:
        return upmu_session_detach(at);
    case 5:
        return at->set.count ? upmu_set_write(&at->set, choice % at->set.count, (uint64_t)choice << 20) : UPMU_OK;
    case 10:
        return upmu_session_restart(at);
    case 11:
        return upmu_session_close(at);
    default:
        return at->set.count ? upmu_set_replace(&at->set, choice % at->set.count, "instructions", NULL) : UPMU_OK;
    }
}

static void call_cpu(unsigned choice)
{
    struct upmu_probe probe = {.force = choice & 8};
    enum upmu_status status = UPMU_OK;

    switch (choice & 7) {
    case 0:
        status = upmu_cpu_poll(&fake.cpu);
        break;
    case 1:
        status = upmu_cpu_verify(&fake.cpu, NULL);
        break;
    case 2:
        status = upmu_cpu_changed(&fake.cpu);
        break;
    case 3:
        status = upmu_cpu_suspend(&fake.cpu);
        break;
    case 4:
        status = upmu_cpu_resume(&fake.cpu);
        break;
    case 5:
        status = upmu_cpu_probe(&fake.cpu, &probe);
        break;
    case 6:
        status = upmu_cpu_reserve(&fake.cpu, choice >> 3);
        break;
    default:
        upmu_cpu_unreserve(&fake.cpu, choice >> 3 | 0xffff0000u);
    }
    FUZZ_CHECK(status != UPMU_ERR_BUSY && status != UPMU_ERR_WRONG_CPU, "call %u of the CPU answers %d", choice & 7,
               status);
}

/* Comes up without noise, or not at all. */
static bool set_up(struct fuzz_bytes *input)
{
    unsigned which = fuzz_u8(input), options = fuzz_u8(input);
    unsigned faults = fuzz_u8(input), garbage = fuzz_u8(input);
    uint64_t seed = fuzz_u64(input);

    fake_init(&fake, &fake_known_leaves[which % fake_known_count], FAKE_NOISE, options & 1 ? seed : 0);
    fake.noise = seed + !seed;
    fake.full_write = options & 2;
    if (options & 4)
        fake.port.rdpmc = NULL;
    if (options & 8)
        fake.port.clock_ns = NULL;
    if (options & 16)
        fake.port.pmi_rearm = NULL;
    FUZZ_CHECK(upmu_machine_init(&fake.machine, &fake.port) == UPMU_OK, "machine_init");
    if (options & 32)
        fake.fault_odds = (uint8_t)(faults & 31);
    if (upmu_cpu_init(&fake.cpu, &fake.machine, NULL) != UPMU_OK)
        return false;
    fake.fault_odds = faults & 64 ? (uint8_t)faults : (uint8_t)(faults & 15);
    fake.garbage_odds = garbage & 64 ? (uint8_t)garbage : (uint8_t)(garbage & 15);
    return true;
}

/* Header: see set_up(); then calls: what, with what. */
static void run(const uint8_t *bytes, size_t length)
{
    struct fuzz_bytes input = {bytes, bytes + length};

    if (!set_up(&input))
        return;
    for (unsigned i = 0; i < SESSIONS; i++)
        begin_session(i, fuzz_u8(&input));
    check_sessions();
    for (unsigned calls = 0; calls < CALLS && fuzz_more(&input); calls++) {
        unsigned what = fuzz_u8(&input), choice = fuzz_u8(&input), call = what % 12;
        struct upmu_session *at = &session[(what >> 4) % SESSIONS];
        unsigned before = at->state;

        if (call == 0 && (before == UPMU_SESSION_DETACHED || before == UPMU_SESSION_CLOSED))
            begin_session((unsigned)(at - session), choice);
        else if ((call >= 1 && call <= 6) || call == 10 || call == 11)
            check_answer(call_session(call, at, choice), call, at, before);
        else if (call == 7)
            check_counts(at);
        else if (call == 8)
            call_cpu(choice);
        else if (call == 9)
            check_samples(at);
        else
            fake_run(&fake, (uint64_t)choice << (what >> 4));
        check_sessions();
    }
    for (unsigned i = 0; i < SESSIONS; i++) {
        check_counts(&session[i]);
        check_samples(&session[i]);
    }
    FUZZ_CHECK(upmu_cpu_fini(&fake.cpu) != UPMU_ERR_BUSY, "cpu_fini is busy");
    for (unsigned i = 0; i < SESSIONS; i++)
        FUZZ_CHECK(session[i].state == UPMU_SESSION_DETACHED || session[i].state == UPMU_SESSION_CLOSED,
                   "session %u has state %u after all", i, session[i].state);
    FUZZ_CHECK(upmu_pmi_handle(&fake.cpu, NULL) <= UPMU_PMI_STALE, "an answer that there is not");
}

static void make(uint64_t *random, struct fuzz_draft *draft)
{
    fuzz_put(draft, fuzz_random(random), 2);
    fuzz_put(draft, fuzz_below(random, 3) ? fuzz_random(random) & 15 : fuzz_random(random), 1);
    fuzz_put(draft, fuzz_below(random, 3) ? fuzz_random(random) & 15 : fuzz_random(random), 1);
    fuzz_put(draft, fuzz_random(random), 8);
    for (unsigned i = 0; i < SESSIONS; i++) {
        fuzz_put(draft, fuzz_random(random), 1);
        /* Most sessions get going. */
        if (fuzz_below(random, 4)) {
            draft->bytes[draft->length] = (uint8_t)0;
        }
    }
    for (unsigned i = 0; i < SESSIONS; i++)
        if (fuzz_below(random, 4)) {
            fuzz_put(draft, i << 4 | (i == 0 ? 1 : i == 1 ? 9 : 5), 1);
            fuzz_put(draft, 0, 1);
        }
    for (unsigned calls = fuzz_below(random, 60); calls; calls--)
        fuzz_put(draft, fuzz_random(random), 2);
}

const struct fuzz_target fuzz_target = {
    "faults", "any_faults_and_lies_leave_sessions_whole", 10000, 1000000, run, make, 0,
};
