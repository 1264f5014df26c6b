/* SPDX-License-Identifier: MIT */
/*
 * NMIs of two sources on AMD's PMUs, where a counter's may be up to 16 steps late: each
 * that another source raised reaches it, each of ours is answered as ours or as stale,
 * and as NOT_OURS when its time has passed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "models/sim/sim.h"
#include <upmu/cpu.h>
#include <upmu/ibs.h>
#include <upmu/session.h>
#include <upmu/upmu.h>

static const char *const profiles[] = {"k7",    "k8_revc",    "k8_reve",        "barcelona",   "griffin",
                                       "llano", "bobcat",     "bulldozer",      "jaguar",      "zen1",
                                       "zen2",  "hygon",      "zen3",           "zen4",        "zen5",
                                       "zen6",  "amd_future", "amd_kvm_legacy", "amd_kvm_ext", "amd_kvm_v2_few"};
#define PROFILES (sizeof profiles / sizeof profiles[0])

#define SKIDS 17u
#define ROUNDS 60u

struct nmi_host {
    struct upmu_sim sim;
    struct upmu_machine machine;
    struct upmu_cpu cpu;
    struct upmu_session session;
    uint64_t ring[4096];
    bool tells;       /* the other source knows of itself: it is asked whatever the answer was */
    bool raised;      /* it has raised an NMI that it has not been asked about */
    unsigned reached; /* so often it was asked when it had */
    unsigned ours, not_ours, answers[3];
    uint32_t random;
};

static uint32_t next_random(struct nmi_host *host)
{
    host->random = host->random * 1664525u + 1013904223u;
    return host->random >> 8;
}

/* docs/PORTING.md: other sources are asked unless the answer is HANDLED. */
static void take_nmi(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct nmi_host *host = sim->test;
    enum upmu_pmi answer = upmu_pmi_handle(&host->cpu, NULL);

    (void)cpu;
    host->answers[answer]++;
    host->ours += !interrupt->foreign;
    host->not_ours += !interrupt->foreign && answer == UPMU_PMI_NOT_OURS;
    if ((answer != UPMU_PMI_HANDLED || host->tells) && host->raised) {
        host->raised = false;
        host->reached++;
    }
}

static void raise_foreign(struct nmi_host *host)
{
    host->raised = true;
    upmu_sim_foreign_nmi(&host->sim);
}

static void execute(struct nmi_host *host, uint64_t instructions)
{
    upmu_sim_events(&host->sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                         .cycles = instructions,
                                                         .branches = instructions / 3,
                                                         .ip = 0x1000,
                                                         .ip_step = 1});
}

static void nmi_host_up(struct nmi_host *host, const char *profile, unsigned skid, bool tells)
{
    struct upmu_sampling sampling = {.period = 97};

    memset(host, 0, sizeof *host);
    host->tells = tells;
    host->random = skid * 77u + 1u;
    upmu_sim_init(&host->sim, upmu_sim_profile(profile), 1);
    host->sim.test = host;
    host->sim.deliver = take_nmi;
    host->sim.skid = skid;
    host->sim.ns_per_access = 100;
    upmu_sim_bind_cpu(&host->sim, 0, &host->cpu);
    assert_int_equal(upmu_machine_init(&host->machine, upmu_sim_port(&host->sim)), UPMU_OK);
    assert_int_equal(upmu_cpu_init(&host->cpu, &host->machine, NULL), UPMU_OK);
    assert_int_equal(upmu_session_init(&host->session, &host->machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&host->session.set, "instructions,branches", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host->session, host->ring, sizeof host->ring), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host->session, &host->cpu), UPMU_OK);
}

static void nmi_host_down(struct nmi_host *host)
{
    assert_int_equal(upmu_session_detach(&host->session), UPMU_OK);
    assert_int_equal(upmu_cpu_fini(&host->cpu), UPMU_OK);
    if (host->sim.violation_count)
        fail_msg("%s (register %x)", host->sim.first_violation.text, (unsigned)host->sim.first_violation.address);
}

/* Sampling, starts and stops, and now and then an NMI of the other source, anywhere. */
static unsigned mix(struct nmi_host *host)
{
    unsigned raised = 0;

    for (unsigned round = 0; round < ROUNDS; round++) {
        assert_int_equal(upmu_session_start(&host->session), UPMU_OK);
        execute(host, 40 + next_random(host) % 300u);
        if (next_random(host) % 3u != 0) {
            raise_foreign(host);
            raised++;
        }
        execute(host, next_random(host) % 60u);
        assert_int_equal(upmu_session_stop(&host->session), UPMU_OK);
        /* What is late arrives. */
        execute(host, 40);
        if (host->raised) {
            /* Only an NMI that became one with a counter's is told as ours alone. */
            assert_true(!host->tells && host->sim.cpu[0].merged != 0);
            host->sim.cpu[0].merged--;
            host->raised = false;
            host->reached++;
        }
    }
    return raised;
}

/* Samples and what was lost are the count divided by the period. */
static void check_counts(struct nmi_host *host)
{
    uint64_t samples[2] = {0, 0};
    struct upmu_sample sample;

    while (upmu_ring_next(&host->session.ring, &sample))
        for (unsigned i = 0; i < 2; i++)
            samples[i] += sample.events >> i & 1u;
    for (unsigned i = 0; i < 2; i++) {
        const struct upmu_tally *tally = &host->session.set.tally[i];

        assert_int_equal(samples[i] + tally->lost, tally->total / 97, i);
        assert_int_equal(tally->total, host->sim.cpu[0].counter[tally->counter].counted);
    }
}

static void every_foreign_nmi_reaches_its_source(void **state)
{
    static struct nmi_host host;

    (void)state;
    for (unsigned p = 0; p < PROFILES; p++)
        for (unsigned skid = 0; skid < SKIDS; skid++)
            for (unsigned tells = 0; tells < 2; tells++) {
                unsigned raised;

                nmi_host_up(&host, profiles[p], skid, tells);
                raised = mix(&host);
                if (host.reached != raised)
                    fail_msg("%s, skid %u: %u of %u foreign NMIs reached their source", profiles[p], skid, host.reached,
                             raised);
                if (host.not_ours)
                    fail_msg("%s, skid %u: %u interrupts of ours were answered NOT_OURS", profiles[p], skid,
                             host.not_ours);
                assert_true(host.ours > 50 && raised > 20);
                check_counts(&host);
                nmi_host_down(&host);
            }
}

/* Beside IBS, whose interrupts come by the same way. */
static void foreign_nmis_reach_their_source_beside_ibs(void **state)
{
    static const char *const some[] = {"barcelona", "llano", "bulldozer", "jaguar", "zen1", "zen3", "zen4", "zen6"};
    static struct upmu_ibs_sample samples[256];
    static struct nmi_host host;

    (void)state;
    for (unsigned p = 0; p < sizeof some / sizeof some[0]; p++)
        for (unsigned skid = 0; skid < SKIDS; skid += 2) {
            struct upmu_ibs op = {.kind = UPMU_IBS_OP, .period = 400, .samples = samples, .capacity = 256};
            unsigned raised;

            nmi_host_up(&host, some[p], skid, false);
            upmu_sim_poke(&host.sim, 0, 0xc001103a, 0x101); /* on family 10h the host gives it an interrupt */
            assert_int_equal(upmu_ibs_start(&host.cpu, &op), UPMU_OK);
            raised = mix(&host);
            assert_int_equal(upmu_ibs_stop(&host.cpu, &op), UPMU_OK);
            execute(&host, 40);
            assert_int_equal(host.reached, raised);
            assert_int_equal(host.not_ours, 0);
            assert_compare(host.sim.cpu[0].ibs_requests, >, 10);
            check_counts(&host);
            nmi_host_down(&host);
        }
}

/* A source that takes its time: 100 ms after the last overflow nothing is taken for ours. */
static void after_a_while_nothing_is_taken_for_ours(void **state)
{
    static struct nmi_host host;

    (void)state;
    for (unsigned p = 0; p < PROFILES; p++)
        for (unsigned skid = 0; skid < SKIDS; skid += 4) {
            nmi_host_up(&host, profiles[p], skid, false);
            (void)mix(&host);
            upmu_sim_advance_ns(&host.sim, 101000000);
            memset(host.answers, 0, sizeof host.answers);
            for (unsigned i = 0; i < 20; i++)
                raise_foreign(&host);
            assert_int_equal(host.answers[UPMU_PMI_NOT_OURS], 20);
            nmi_host_down(&host);
        }
}

/* A storm of another source is not ours, however much we sample: it reaches the source each time. */
static void a_storm_of_another_source_starves_nobody(void **state)
{
    static struct nmi_host host;

    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        nmi_host_up(&host, profiles[p], 3, false);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        for (unsigned i = 0; i < 1000; i++) {
            unsigned reached = host.reached, handled = host.answers[UPMU_PMI_HANDLED];

            raise_foreign(&host);
            /* Answered with an overflow of ours that came late: then that one's own reaches the source. */
            if (host.answers[UPMU_PMI_HANDLED] == handled)
                assert_int_equal(host.reached, reached + 1);
            execute(&host, 10);
        }
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        execute(&host, 20);
        assert_compare(host.reached + host.sim.cpu[0].merged, >=, 990);
        check_counts(&host);
        nmi_host_down(&host);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_foreign_nmi_reaches_its_source),
        cmocka_unit_test(foreign_nmis_reach_their_source_beside_ibs),
        cmocka_unit_test(after_a_while_nothing_is_taken_for_ours),
        cmocka_unit_test(a_storm_of_another_source_starves_nobody),
    };

    return cmocka_run_group_tests_name("amd_nmi", tests, NULL, NULL);
}
